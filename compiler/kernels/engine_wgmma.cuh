/* The engine of the drivers of sm_90a: what a tile is, which instruction multiplies, and which (sum, lane, warp) is which (row, column).
   driver_wgmma_mainloop.cuh and the files of other operands fill stages and multiply them. */

// fx_columns_64: the instruction of 64 columns
struct fx_columns_64 {
  static constexpr int N = 64;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_64<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_128: the instruction of 128 columns
struct fx_columns_128 {
  static constexpr int N = 128;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_128<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_192: the instruction of 192 columns
struct fx_columns_192 {
  static constexpr int N = 192;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_192<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_256: the instruction of 256 columns
struct fx_columns_256 {
  static constexpr int N = 256;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_256<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_wgmma_sum: what products of operands of type T are added up in
template <class T> FX_DEVICE constexpr auto fx_wgmma_sum(int) -> typename T::sum { return 0; }
template <class T> FX_DEVICE constexpr float fx_wgmma_sum(...) { return 0; }

// fx_wgmma_single: blocks that are in no cluster: each copies what it reads
struct fx_wgmma_single {
  static constexpr int ROWS = 1, COLUMNS = 1, BLOCKS = 1, SHARING = 1;  // tiles of a cluster, one below the other and beside each other; blocks that read what one of them copies or that copy what it reads
  static FX_DEVICE int row() { return 0; }
  static FX_DEVICE int column() { return 0; }
  static FX_DEVICE void meet() {}
  template <bool IS_A> static FX_DEVICE bool copies(int) { return true; }
  template <bool IS_A, int RANK>
  static FX_DEVICE void load(unsigned to, const fx_tensor_map *map, unsigned full, const int (&at)[RANK]) { fx_tma_load(to, map, full, at); }
  static FX_DEVICE void give_back(unsigned empty) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty);
  }
};

// fx_wgmma: tiles of BM x COLUMNS::N / BESIDE elements of every sum, by CONSUMERS warpgroups; an instruction covers the columns of BESIDE B's of a stage, which has room for B_TILES; the epilogue stages
// CHUNK columns at a time, and takes one at a time where what it reads and writes is not ALIGNED. With SLABS what is stored goes by tensor maps: a warp has so many boxes of 16 rows, 128 bytes each.
// CLUSTER: what blocks share of their operands.
template <class T_, class COLUMNS, int BESIDE_, int BM_, int B_TILES, int STAGES_, int CONSUMERS_, bool IS_PINGPONG_, int SUMS_, int CHUNK_, int SLABS_, bool ALIGNED_, class CLUSTER = fx_wgmma_single>
struct fx_wgmma {
  typedef T_ T;
  typedef decltype(fx_wgmma_sum<T>(0)) sum;
  typedef COLUMNS columns;
  typedef CLUSTER cluster;
  static constexpr int SUMS = SUMS_, BESIDE = BESIDE_, BM = BM_, BN = COLUMNS::N / BESIDE, BK = 128 / (int)sizeof(T), STAGES = STAGES_, CHUNK = CHUNK_, SLABS = SLABS_;
  static constexpr bool IS_PINGPONG = IS_PINGPONG_, ALIGNED = ALIGNED_;
  static constexpr bool PROMOTES = sizeof(T) == 1 && sum(1) / 2 != 0;  // sums of f8 (driver_wgmma_bytes.cuh)
  // Several sums are begun by their first products: where a later segment's are set to 0 ptxas lets no products overlap (C7515), as of integers. Of one, setting it takes fewer registers.
  static constexpr bool IS_SET = sizeof(T) == 1 ? PROMOTES : SUMS == BESIDE;
  static constexpr int CONSUMERS = CONSUMERS_, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int ROWS = IS_PINGPONG ? BM : BM / CONSUMERS;  // of a tile, of one consumer
  static constexpr int PARTS = ROWS / 64;                         // instructions that cover them
  static constexpr int BOX_BYTES = 64 * 128;
  static constexpr int A_BYTES = BM / 64 * BOX_BYTES, B_BYTES = BN / 64 * BOX_BYTES, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;  // bytes of a staged row: the rows that a warp writes at once lie in different banks
  static constexpr int SLAB_BYTES = 16 * 128;          // a box of what is stored
  static constexpr int STAGING_BYTES = SLABS ? SLABS * SLAB_BYTES : 16 * PITCH;  // of a warp: 16 rows of a chunk of what is stored or of every sum
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + CONSUMERS * 4 * STAGING_BYTES + 2 * STAGES * 8;
  static constexpr bool HAS_ROOM = CONSUMERS == 2 && SUMS * PARTS * BN / 2 <= 128;  // registers beside the sums, to ask for more ahead of its use
  static constexpr bool IS_SHARED = CLUSTER::BLOCKS > 1 && !IS_PINGPONG;  // beside what a cluster shares, and a window's corners, the producer has little room
  static constexpr int PRODUCER_REGISTERS = !HAS_ROOM ? 24 : IS_SHARED ? 56 : 40, CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : !HAS_ROOM ? 240 : IS_SHARED ? 224 : 232;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(CHUNK % 8 == 0 && BN % CHUNK == 0 && ROWS % 64 == 0 && BM % ROWS == 0, "no such tile");
  static_assert(BN % 64 == 0 && SUMS % BESIDE == 0 && (BESIDE == 1 || BESIDE == B_TILES), "no such B's beside each other");
  static_assert(CONSUMERS == 2 || (CONSUMERS == 3 && !IS_PINGPONG), "no such consumers");
};

// fx_wgmma_sums: those that a thread of a consumer has; those of B's beside each other are one array, as an instruction has them
template <class ENGINE>
struct fx_wgmma_sums {
  typedef typename ENGINE::sum sum;
  sum of[ENGINE::SUMS / ENGINE::BESIDE][ENGINE::PARTS][ENGINE::BESIDE * ENGINE::BN / 2];

  FX_DEVICE sum get(int sum, int part, int i) const { return of[sum / ENGINE::BESIDE][part][sum % ENGINE::BESIDE * (ENGINE::BN / 2) + i]; }
};

// fx_wgmma_columns: what is the same for all rows of a chunk of columns, as far as a thread takes these: V adjacent ones, or V of every eight as the sums lie
template <class ENGINE, class PROBLEM>
struct fx_wgmma_columns {
  static constexpr int V = ENGINE::SLABS ? 2 : ENGINE::ALIGNED ? PROBLEM::V : 1, N = ENGINE::SLABS ? ENGINE::CHUNK / 8 : 1;
  typename PROBLEM::template columns<V> of[N];

  // Number i of them, in the chunk that begins at column n.
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n, int i) {
    const int at = n + i * 8 + (ENGINE::SLABS ? threadIdx.x % 4 * 2 : threadIdx.x % (ENGINE::CHUNK / V) * V);
    if (at < p.n()) fx_fetch_columns<V, ENGINE::ALIGNED>(p, of[i], batch, at, p.n() - at < V ? p.n() - at : V);
  }
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n) {
#pragma unroll
    for (int i = 0; i < N; ++i) fetch(p, batch, n, i);
  }
};

// fx_sum_row: the row of eight whose sums a lane has
template <class ENGINE> FX_DEVICE constexpr auto fx_sum_row(int lane, int) -> decltype(ENGINE::sum_row(lane)) { return ENGINE::sum_row(lane); }
template <class ENGINE> FX_DEVICE constexpr int fx_sum_row(int lane, long) { return lane / 4; }

// fx_wgmma_rows: what the rows of a thread read, where elements are computed as the sums lie: number 0 and 8 of a warp's 16 of each part, the same for all columns
template <class ENGINE, class PROBLEM>
struct fx_wgmma_rows {
  typename PROBLEM::template frag<2> of[ENGINE::PARTS][2];

  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int first_row) {
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) {
      const int m = at.m + first_row + i / 2 * 64 + i % 2 * 8 + fx_sum_row<ENGINE>(threadIdx.x % 32, 0);
      if (m < p.m()) fx_fetch<2, true>(p, of[i / 2][i % 2], at.batch, m, at.n, 2);
    }
  }
};
