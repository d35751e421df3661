/* The contraction driver of sm_90a for few tiles and a long k: a cluster of blocks computes a tile, each a slice of its blocks of k.
   The ring, the producer and the consumers are those of driver_wgmma.cuh, side by side. A warp then sends the others its partial sums: the 8-column groups of a tile are dealt
   out to the blocks of the cluster, and the warp of the same number in each adds up what all have sent it, in the order of their ranks, and hands it to the epilogue.
   Two memory barriers a warp: all that it is sent has come; the blocks have read what it sent for the tile before.
   Grid: any number of clusters of 1, 2, 4 or 8 blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: as of driver_wgmma.cuh. The order of additions depends on the extents and the size of a cluster alone. A block may have no block of k. */

// fx_wgmma_cluster: as fx_wgmma, by CONSUMERS warpgroups side by side; in the place of staged sums each warp has room for what it is sent
template <class T_, class COLUMNS, int BM_, int B_TILES, int STAGES_, int CONSUMERS_, int SUMS_, bool ALIGNED_>
struct fx_wgmma_cluster {
  typedef float sum;
  typedef T_ T;
  typedef COLUMNS columns;
  typedef fx_wgmma_single cluster;  // a block copies its own slice
  static constexpr int SUMS = SUMS_, BESIDE = 1, SLABS = 0, BM = BM_, BN = COLUMNS::N, BK = 64, STAGES = STAGES_;
  static constexpr bool ALIGNED = ALIGNED_;
  static constexpr int CONSUMERS = CONSUMERS_, THREADS = 128 * (1 + CONSUMERS), WARPS = 4 * CONSUMERS;
  static constexpr int PARTS = BM / CONSUMERS / 64;
  static constexpr int BOX_BYTES = 64 * 64 * (int)sizeof(T);
  static constexpr int A_BYTES = BM / 64 * BOX_BYTES, B_BYTES = BN / 64 * BOX_BYTES, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int GROUPS = BN / 8, GROUPS_SHIFT = GROUPS == 8 ? 3 : GROUPS == 16 ? 4 : 5, GROUP_BYTES = 16 * 32 + 32;  // of 16 rows of 8 sums; groups begin in different banks
  static constexpr int SENT_BYTES = SUMS * PARTS * GROUPS * 16 * 32, ROOM_BYTES = SUMS * PARTS * GROUPS * GROUP_BYTES;  // of a warp, whatever the size of the cluster
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + WARPS * ROOM_BYTES + (2 * STAGES + 2 * WARPS) * 8;
  static_assert(BM % (CONSUMERS * 64) == 0 && GROUPS == 1 << GROUPS_SHIFT, "no such tile");
};

// fx_wgmma_slice: which blocks of k are this block's, of those that a problem's segments have one after the other
struct fx_wgmma_slice {
  int first, last;  // behind the last
  int passed;       // of the segments so far

  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void next(const PROBLEM &p, int &begin, int &end) {
    const int n = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + 63) / 64);
    begin = max(first - passed, 0);
    end = min(last - passed, n);
    passed += n;
  }
};

// fx_wgmma_slice_producer: fx_wgmma_producer of a slice
template <class ENGINE>
struct fx_wgmma_slice_producer : fx_wgmma_producer<ENGINE> {
  fx_wgmma_slice slice;

  FX_DEVICE fx_wgmma_slice_producer(fx_wgmma_ring<ENGINE> &ring, const fx_tile &at, const fx_tensor_map *maps, fx_wgmma_slice slice_)
      : fx_wgmma_producer<ENGINE>{ring, at, maps}, slice(slice_) {}
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    int begin, end;
    slice.next<SEGMENT>(p, begin, end);
    int outer = begin / blocks, block = begin % blocks;
#pragma unroll 1
    for (; begin < end; ++begin) {
      this->template load<SEGMENT>(p, outer, block * ENGINE::BK);
      if (++block == blocks) block = 0, ++outer;
    }
    this->map += 1 + SEGMENT::SUMS;
  }
};

// fx_wgmma_slice_consumer: fx_wgmma_consumer of a slice
template <class ENGINE>
struct fx_wgmma_slice_consumer : fx_wgmma_consumer<ENGINE> {
  fx_wgmma_slice slice;

  FX_DEVICE fx_wgmma_slice_consumer(fx_wgmma_sums<ENGINE> &acc, fx_wgmma_ring<ENGINE> &ring, unsigned a_offset, fx_wgmma_slice slice_)
      : fx_wgmma_consumer<ENGINE>{acc, ring, a_offset, -1, {}}, slice(slice_) {
#pragma unroll
    for (int j = 0; j < ENGINE::SUMS; ++j) this->adds[j] = 1;  // a slice may have no products of a sum: all begin with 0
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    int begin, end;
    slice.next<SEGMENT>(p, begin, end);
    this->template run<SEGMENT>(end - begin);
  }
};

// fx_wgmma_room: what a warp is sent for a tile, in shared memory: by rank of who sends it, sum, 64 rows of the consumer and group of 8 columns, 16 rows of 8 sums
template <class ENGINE, int SUMS>
struct fx_wgmma_room {
  unsigned at;                    // where it begins, in every block of the cluster
  unsigned received, free;        // memory barriers
  int blocks, share, share_shift;  // of the cluster; groups of columns that a block adds up, a power of two

  FX_DEVICE unsigned group(int rank, int j, int part, int i) const { return at + (((rank * SUMS + j) * ENGINE::PARTS + part) * share + i) * ENGINE::GROUP_BYTES; }

  // What this block adds up itself stays in it.
  FX_DEVICE void send(const fx_wgmma_sums<ENGINE> &acc, int rank) const {
    const unsigned lane = threadIdx.x % 32 * 8;
#pragma unroll
    for (int i = 0; i < ENGINE::GROUPS; ++i) {
      const int to_rank = i >> share_shift;
      const unsigned barrier = to_rank == rank ? 0 : fx_shared_of(received, to_rank);
#pragma unroll
      for (int e = 0; e < SUMS * ENGINE::PARTS; ++e) {
        const float *x = acc.of[e / ENGINE::PARTS][e % ENGINE::PARTS] + i * 4;
        const unsigned here = group(rank, e / ENGINE::PARTS, e % ENGINE::PARTS, i & (share - 1)) + lane;
        if (to_rank == rank) {
          fx_shared_put2(here, x[0], x[1]);
          fx_shared_put2(here + 256, x[2], x[3]);
        } else {
          const unsigned to = fx_shared_of(here, to_rank);
          fx_send2(to, x[0], x[1], barrier);
          fx_send2(to + 256, x[2], x[3], barrier);
        }
      }
    }
  }

  // The sums of V columns of each of N rows, which begin at these offsets in the groups of a sum.
  template <int N, int V>
  FX_DEVICE void get(float (&x)[N][SUMS][V], const unsigned (&offset)[N]) const {
    const unsigned of_sum = ENGINE::PARTS * share * ENGINE::GROUP_BYTES;
    unsigned from = at;
#pragma unroll
    for (int i = 0; i < N * SUMS; ++i) fx_wgmma_get(x[i / SUMS][i % SUMS], from + offset[i / SUMS] + i % SUMS * of_sum);
#pragma unroll 1
    for (int rank = 1; rank < blocks; ++rank) {
      float more[N * SUMS][V];
      from += SUMS * of_sum;
#pragma unroll
      for (int i = 0; i < N * SUMS; ++i) fx_wgmma_get(more[i], from + offset[i / SUMS] + i % SUMS * of_sum);
#pragma unroll
      for (int i = 0; i < N * SUMS * V; ++i) x[i / V / SUMS][i / V % SUMS][i % V] += more[i / V][i % V];
    }
  }
};

// fx_wgmma_cluster_epilogue: hands what a warp was sent to the problem, V columns of a row a lane
template <class ENGINE, int SUMS, class PROBLEM>
FX_DEVICE void fx_wgmma_cluster_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, int first_column, const fx_wgmma_room<ENGINE, SUMS> &room) {
  constexpr int V = ENGINE::ALIGNED ? PROBLEM::V : 1, V_SHIFT = V == 8 ? 0 : V == 4 ? 1 : V == 2 ? 2 : 3;
  static_assert(V == 8 >> V_SHIFT, "a group has no such columns");
  constexpr int AT_ONCE = SUMS == 1 ? 4 : SUMS == 2 ? 2 : 1;  // vectors whose loads are under way together
  const int shift = room.share_shift + V_SHIFT, vectors = 16 * ENGINE::PARTS << shift;
#pragma unroll 1
  for (int first = threadIdx.x % 32; first < vectors; first += 32 * AT_ONCE) {
    typename PROBLEM::template columns<V> columns[AT_ONCE];
    typename PROBLEM::template frag<V> frag[AT_ONCE];
    int m[AT_ONCE], n[AT_ONCE], n_valid[AT_ONCE];
    unsigned offset[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      const int vector = min(first + 32 * i, vectors - 1), line = vector >> shift, column = (vector - (line << shift)) * V, part = line / 16, row = line % 16;
      m[i] = at.m + first_row + part * 64 + row, n[i] = at.n + first_column + column;
      n_valid[i] = first + 32 * i < vectors && m[i] < p.m() ? min(p.n() - n[i], V) : 0;
      offset[i] = (part * room.share + column / 8) * ENGINE::GROUP_BYTES + row * 32 + column % 8 * 4;
      if (n_valid[i] <= 0) continue;
      fx_fetch_columns<V, ENGINE::ALIGNED>(p, columns[i], at.batch, n[i], n_valid[i]);
      fx_fetch<V, ENGINE::ALIGNED>(p, frag[i], at.batch, m[i], n[i], n_valid[i]);
    }
    float x[AT_ONCE][SUMS][V];
    room.get(x, offset);
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i)
      if (n_valid[i] > 0) p.template store<V, ENGINE::ALIGNED>(x[i], columns[i], frag[i], at.batch, m[i], n[i], n_valid[i]);
  }
}

// fx_wgmma_sliced: a mainloop that runs a slice of the blocks of k
template <class MAINLOOP>
struct fx_wgmma_sliced : MAINLOOP {
  fx_wgmma_slice slice;

  FX_DEVICE fx_wgmma_sliced(const MAINLOOP &whole, fx_wgmma_slice slice_) : MAINLOOP(whole), slice(slice_) {}
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    int begin, end;
    slice.next<SEGMENT>(p, begin, end);
    this->template run<SEGMENT>(p, begin, end);
  }
};

// fx_wgmma_share: which blocks of k are those of a block of the cluster, computed for every tile anew: registers are few
template <class ENGINE, class PROBLEM>
FX_DEVICE fx_wgmma_slice fx_wgmma_share(const PROBLEM &p, int rank, int blocks) {
  fx_wgmma_blocks<ENGINE> all = {0};
  p.accumulate(all);
  fx_hide(blocks);
  const int shift = (blocks > 1) + (blocks > 2) + (blocks > 4);
  return {all.n * rank >> shift, all.n * (rank + 1) >> shift, 0};
}

// fx_wgmma_rooms: those of all warps, and their memory barriers; of the cluster: blocks, and this one's rank
struct fx_wgmma_rooms {
  unsigned at, barriers;
  int blocks, rank;
};

// fx_wgmma_join: adds up the slices of a tile, and hands its sums to the problem; warp: which of the consumers' it is; false: no row of it is inside, in any tile
template <class ENGINE, class PROBLEM>
FX_DEVICE bool fx_wgmma_join(const PROBLEM &p, const fx_tile &at, const fx_wgmma_sums<ENGINE> &acc, int warp, const fx_wgmma_rooms &rooms, unsigned parity, bool is_first, bool is_last) {
  constexpr int SUMS = PROBLEM::SUMS;
  int blocks = rooms.blocks;
  fx_hide(warp), fx_hide(blocks);    // else what follows is kept in registers throughout the mainloop
  const int first_row = warp * 16;  // of a tile
  if (first_row >= p.m()) return false;
  const unsigned received = rooms.barriers + warp * 16;
  const int share_shift = ENGINE::GROUPS_SHIFT - (blocks > 1) - (blocks > 2) - (blocks > 4);
  const fx_wgmma_room<ENGINE, SUMS> room = {rooms.at + warp * ENGINE::ROOM_BYTES, received, received + 8, blocks, 1 << share_shift, share_shift};
  if (rooms.blocks > 1) {
    if (is_first) fx_cluster_wait();               // all blocks have their memory barriers
    else fx_mbarrier_wait(room.free, parity ^ 1);  // all blocks have read what this warp sent them
    if (threadIdx.x % 32 == 0) fx_mbarrier_expect(room.received, ENGINE::SENT_BYTES / rooms.blocks * (rooms.blocks - 1));
  }
  room.send(acc, rooms.rank);
  if (rooms.blocks > 1) fx_mbarrier_wait_sent(room.received, parity);
  fx_warp_barrier();  // what the warp keeps is there, too
  fx_wgmma_cluster_epilogue<ENGINE, SUMS>(p, at, first_row, rooms.rank << (share_shift + 3), room);
  fx_warp_barrier();  // all lanes have read what was sent
  if (rooms.blocks > 1 && !is_last && threadIdx.x % 32 < rooms.blocks) fx_mbarrier_arrive_of(fx_shared_of(room.free, threadIdx.x % 32));
  return true;
}

// fx_gemm_wgmma_cluster: computes this cluster's tile and those a whole grid of clusters on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma_cluster(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  constexpr int SUMS = PROBLEM::SUMS, PARTS = ENGINE::PARTS;
  const unsigned stages = fx_shared(fx_smem()), rooms = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const unsigned barriers = rooms + ENGINE::WARPS * ENGINE::ROOM_BYTES, of_warps = barriers + 2 * ENGINE::STAGES * 8;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int rank = fx_cluster_rank(), blocks = fx_cluster_blocks();
  const unsigned first = blockIdx.x / blocks, step = gridDim.x / blocks;  // of clusters
  fx_wgmma_ring<ENGINE> ring = {stages, barriers, 0, 0};
  if (threadIdx.x == 0) {
    ring.begin(1, ENGINE::WARPS);
    for (int w = 0; w < ENGINE::WARPS; ++w) {
      fx_mbarrier_init(of_warps + w * 16, 1);
      fx_mbarrier_init(of_warps + w * 16 + 8, blocks);
    }
  }
  fx_wgmma_start(maps);
  if (blocks > 1) fx_cluster_arrive();  // the memory barriers are there for the other blocks, too, once waited for
  fx_wgmma_blocks<ENGINE> all = {0};
  p.accumulate(all);
  const fx_wgmma_slice slice = {(int)((long long)all.n * rank / blocks), (int)((long long)all.n * (rank + 1) / blocks), 0};

  if (threadIdx.x < 128) {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (unsigned number = first; number < tiles; number += step) {
        const fx_tile at = fx_nth_tile<ENGINE>(p, number);
        fx_wgmma_slice_producer<ENGINE> producer(ring, at, maps, slice);
        p.accumulate(producer);
      }
    }
    if (blocks > 1) fx_cluster_wait();
    return;
  }

  const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4;
  const int first_row = consumer * PARTS * 64 + warp % 4 * 16;  // of a tile
  const bool is_idle = first_row >= p.m();                      // in every tile: no row of the only ones that there are
  const unsigned received = of_warps + warp * 16;
  const int share_shift = ENGINE::GROUPS_SHIFT - (blocks > 1) - (blocks > 2) - (blocks > 4);
  const fx_wgmma_room<ENGINE, SUMS> room = {rooms + warp * ENGINE::ROOM_BYTES, received, received + 8, blocks, 1 << share_shift, share_shift};
  unsigned parity = 0;
#pragma unroll 1
  for (unsigned number = first; number < tiles; number += step) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_sums<ENGINE> acc;
#pragma unroll
    for (int i = 0; i < SUMS * PARTS * ENGINE::BN / 2; ++i) acc.of[i / (PARTS * ENGINE::BN / 2)][i / (ENGINE::BN / 2) % PARTS][i % (ENGINE::BN / 2)] = 0;
    fx_wgmma_slice_consumer<ENGINE> mainloop(acc, ring, (unsigned)consumer * PARTS * ENGINE::BOX_BYTES, slice);
    p.accumulate(mainloop);
    mainloop.end();
    if (is_idle) continue;
    if (blocks > 1) {
      if (number == first) fx_cluster_wait();        // all blocks have their memory barriers
      else fx_mbarrier_wait(room.free, parity ^ 1);  // all blocks have read what this warp sent them
      if (threadIdx.x % 32 == 0) fx_mbarrier_expect(room.received, ENGINE::SENT_BYTES / blocks * (blocks - 1));
    }
    room.send(acc, rank);
    if (blocks > 1) fx_mbarrier_wait_sent(room.received, parity);
    fx_warp_barrier();  // what the warp keeps is there, too
    fx_wgmma_cluster_epilogue<ENGINE, SUMS>(p, at, first_row, rank << (share_shift + 3), room);
    fx_warp_barrier();  // all lanes have read what was sent
    if (blocks > 1 && number + step < tiles && threadIdx.x % 32 < blocks) fx_mbarrier_arrive_of(fx_shared_of(room.free, threadIdx.x % 32));
    parity ^= 1;
  }
  if (blocks > 1 && (is_idle || first >= tiles)) fx_cluster_wait();
}
