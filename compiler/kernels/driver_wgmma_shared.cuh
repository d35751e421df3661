/* Clusters whose blocks share operands, for the contraction driver of sm_90a (driver_wgmma.cuh): where the L2 cache feeds tiles too slowly, each block copies a part of what they have in common into
   the shared memory of all.
   Blocks of a cluster have tiles beside each other, whose rows of A are the same, and below each other, whose columns of B are. All walk over tiles and over blocks of k alike. A stage is full by the bytes
   of its boxes, whoever copied them; it is empty once the consumers of all blocks have read theirs that one of its readers copies to, or that copies to it.
   Invariant: every block waits for the others before its first copy and before it ends. A tile that lies outside as a whole is computed and not stored. */

// fx_wgmma_shared: ROWS tiles below each other by COLUMNS beside each other; of what is shared, each block copies every so many-th box, counted over all blocks of k of a tile
template <int ROWS_, int COLUMNS_>
struct fx_wgmma_shared {
  static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, BLOCKS = ROWS * COLUMNS, SHARING = ROWS + COLUMNS - 1;
  static_assert(BLOCKS > 1 && BLOCKS <= 8, "no such cluster");

  static FX_DEVICE int row() { return fx_cluster_rank() / COLUMNS; }
  static FX_DEVICE int column() { return fx_cluster_rank() % COLUMNS; }
  static FX_DEVICE void meet() {
    fx_cluster_arrive();
    fx_cluster_wait();
  }
  template <bool IS_A>
  static FX_DEVICE bool copies(int box) { return IS_A ? box % COLUMNS == column() : box % ROWS == row(); }
  template <bool IS_A, int RANK>
  static FX_DEVICE void load(unsigned to, const fx_tensor_map *map, unsigned full, const int (&at)[RANK]) {
    if constexpr ((IS_A ? COLUMNS : ROWS) == 1) {
      fx_tma_load(to, map, full, at);
    } else {
      unsigned blocks = 0;
      for (int i = 0; i < (IS_A ? COLUMNS : ROWS); ++i) blocks |= 1u << (IS_A ? row() * COLUMNS + i : i * COLUMNS + column());
      fx_tma_load_cluster(to, map, full, at, (unsigned short)blocks);
    }
  }
  // The first lanes of a warp tell the blocks of its row, those behind the others of its column.
  static FX_DEVICE void give_back(unsigned empty) {
    const int lane = threadIdx.x % 32;
    const int block = BLOCKS == SHARING ? lane : lane < COLUMNS ? row() * COLUMNS + lane : (row() + lane - COLUMNS + 1) % ROWS * COLUMNS + column();
    if (lane < SHARING) fx_mbarrier_arrive_of(fx_shared_of(empty, block));
  }
};
