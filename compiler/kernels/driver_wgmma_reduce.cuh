/* Epilogues of the contraction driver of sm_90a (driver_wgmma.cuh) that reduce elements, or whose elements share something with their runs: each consumer stages 64 rows of 64 columns of its sums and
   runs fx_gemm_reduce over them, by itself, so that in turns the other one's products run meanwhile.
   Where nothing but columns is reduced, over rows, and the elements are stored as boxes, nothing is staged: what a thread has of a column is reduced where it is, then lanes give each
   other columns until each has some to itself, then warps by way of shared memory. Nor of a problem that HOLDS.
   Invariant: as in driver_gemm.cuh: runs are 64 columns and 64 rows of a tile. */

// fx_wgmma_staged: the staged sums of 64 rows and columns, as fx_gemm_reduce sees an engine; the threads of one consumer run it
template <class ENGINE>
struct fx_wgmma_staged {
  typedef float sum;
  static constexpr int BM = 64, BN = 64, THREADS = 128, MAX_V = 8, PITCH = ENGINE::SUMS * BN * 4 + 16;

  static FX_DEVICE constexpr int staging_pitch(int) { return PITCH; }
  static FX_DEVICE int consumer() { return (int)threadIdx.x / 128 - 1; }
  static FX_DEVICE int at() { return ENGINE::STAGES * ENGINE::STAGE_BYTES + consumer() * ENGINE::STAGED; }
  static FX_DEVICE unsigned staged(int row, int col) { return fx_shared(fx_smem()) + at() + row * PITCH + col * 4; }
  template <int SUMS, int V>
  static FX_DEVICE void get(float (&x)[V], int row, int col) {
    fx_shared_get<V>(x, staged(row, col));
  }
};
template <class ENGINE>
struct fx_team<fx_wgmma_staged<ENGINE>> {
  static FX_DEVICE int thread() { return (int)threadIdx.x % 128; }
  static FX_DEVICE void wait() { fx_named_barrier(3 + fx_wgmma_staged<ENGINE>::consumer(), 128); }
  static FX_DEVICE char *memory() { return fx_smem() + fx_wgmma_staged<ENGINE>::at(); }
};

// fx_wgmma_reduce: the epilogue of a consumer whose first row of the tile is first_row
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_reduce(const PROBLEM &p, const fx_tile &tile, int first_row, const fx_wgmma_sums<ENGINE> &acc) {
  typedef fx_wgmma_staged<ENGINE> staged;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
  for (int first = 0; first < ENGINE::BN; first += staged::BN) {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < ENGINE::SUMS * (staged::BN / 8); ++i) {
        const int sum = i / (staged::BN / 8), column = i % (staged::BN / 8) * 8, x = first / 2 + i % (staged::BN / 8) * 4;
        fx_shared_put2(staged::staged(row, sum * staged::BN + column + lane % 4 * 2), acc.get(sum, part, x), acc.get(sum, part, x + 1));
        fx_shared_put2(staged::staged(row + 8, sum * staged::BN + column + lane % 4 * 2), acc.get(sum, part, x + 2), acc.get(sum, part, x + 3));
      }
      fx_team<staged>::wait();  // the columns are staged
      fx_tile at = tile;
      at.m += first_row + part * 64, at.n += first;
      fx_gemm_reduce<staged, ENGINE::ALIGNED, ENGINE::SUMS>(p, at);
      fx_team<staged>::wait();  // everyone has read them
    }
  }
}

// fx_wgmma_held: the sums of 64 rows and columns as the threads of a consumer hold them, as reductions of runs see an engine
template <class ENGINE>
struct fx_wgmma_held {
  static constexpr int BM = 64, BN = 64, THREADS = 128;
};
template <class ENGINE, class PROBLEM>
struct fx_width_of<fx_wgmma_held<ENGINE>, PROBLEM> {
  static constexpr int N = fx_held_columns;
};

// fx_wgmma_reduce_held: the same of a problem that takes columns as they lie: four lanes have a run of a row, nothing is staged
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_reduce_held(const PROBLEM &p, const fx_tile &tile, int first_row, const fx_wgmma_sums<ENGINE> &acc) {
  constexpr int V = fx_held_columns, RUN = 64, SUMS = ENGINE::SUMS;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4, col = lane % 4 * 2;
  typename PROBLEM::template partials<fx_wgmma_held<ENGINE>> reduced;
  typename PROBLEM::template frag<V> f[ENGINE::PARTS * 2] = {};
#pragma unroll
  for (int i = 0; i < ENGINE::PARTS * 2; ++i)
    if (tile.m + first_row + i * 8 + i / 2 * 48 + row < p.m()) fx_fetch<V, ENGINE::ALIGNED>(p, f[i], tile.batch, tile.m + first_row + i * 8 + i / 2 * 48 + row, tile.n, V);
#pragma unroll
  for (int first = 0; first < ENGINE::BN; first += RUN) {
    const int n = tile.n + first + col, n_valid = PROBLEM::WHOLE_RUNS ? RUN : p.n() - n;
    typename PROBLEM::template columns<V> c = {};
    if (n < p.n()) fx_fetch_columns<V, ENGINE::ALIGNED>(p, c, tile.batch, n, n_valid);
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) {  // 64 rows further on, or 8 of them
      const int m = tile.m + first_row + i * 8 + i / 2 * 48 + row;
      typename ENGINE::sum x[SUMS][V];
      typename PROBLEM::template elements<V> of;
#pragma unroll
      for (int k = 0; k < SUMS * V; ++k) x[k / V][k % V] = acc.get(k / V, i / 2, first / 2 + k % V / 2 * 4 + i % 2 * 2 + k % 2);
      p.template store<V, ENGINE::ALIGNED>(x, c, f[i], of, tile.batch, m, n, n_valid);
      reduced.add_run(p, of, tile.batch, m, n, n_valid, col == 0 && m < p.m() && n < p.n());
    }
  }
}

// fx_wgmma_reducing: ENGINE with such an epilogue, for which each consumer has STAGED bytes: the staged sums and the slots behind them
template <class ENGINE, int STAGED_>
struct fx_wgmma_reducing : ENGINE {
  static constexpr int STAGED = STAGED_, STAGING_BYTES = STAGED / 4;  // of a warp, as the driver counts
  static constexpr int SHARED_BYTES = ENGINE::SHARED_BYTES + ENGINE::CONSUMERS * (STAGED - 4 * ENGINE::STAGING_BYTES);
  static_assert(STAGED % 64 == 0 && ENGINE::SLABS == 0, "no such epilogue");

  template <class PROBLEM, class SUMS>
  static FX_DEVICE void reduce(const PROBLEM &p, const fx_tile &at, int first_row, const SUMS &acc) {
    if constexpr (fx_holds<PROBLEM>(0)) fx_wgmma_reduce_held<fx_wgmma_reducing>(p, at, first_row, acc);
    else fx_wgmma_reduce<fx_wgmma_reducing>(p, at, first_row, acc);
  }
};

// fx_column_sums: what PARTIALS make of N columns of a thread, two of every eight; then what each lane has of N / 8 of them
template <int N, class PROBLEM, class... PARTIALS>
struct fx_column_sums {
  static constexpr int WORDS = 0;
  FX_DEVICE void begin() {}
  template <class ELEMENTS>
  FX_DEVICE void add(int, const ELEMENTS &) {}
  FX_DEVICE void join_lanes() {}
  FX_DEVICE void leave(unsigned *, int, int) const {}
  static FX_DEVICE void combine(const PROBLEM &, const char *, int, int, int, int, int, int) {}
};
template <int N, class PROBLEM, class FIRST, class... REST>
struct fx_column_sums<N, PROBLEM, FIRST, REST...> {
  typedef typename FIRST::value value;
  typedef fx_column_sums<N, PROBLEM, REST...> rest_type;
  static constexpr int WORDS = fx_words<value>::N + rest_type::WORDS;
  value of[N];
  rest_type rest;

  FX_DEVICE void begin() {
#pragma unroll
    for (int i = 0; i < N; ++i) of[i] = FIRST::none();
    rest.begin();
  }
  // Takes two columns, number i and the next one, of a row.
  template <class ELEMENTS>
  FX_DEVICE void add(int i, const ELEMENTS &x) {
#pragma unroll
    for (int v = 0; v < 2; ++v) of[i + v] = FIRST::combine(of[i + v], FIRST::get(x, v));
    rest.add(i, x);
  }
  // The eight lanes that have the same columns: each keeps half of what it has, and gives the other half away.
  FX_DEVICE void join_lanes() {
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      const int mask = 16 >> step, n = N / 2 >> step;
      const bool is_upper = threadIdx.x & mask;
#pragma unroll
      for (int i = 0; i < n; ++i) {
        const fx_words<value> lower = fx_words<value>::of(of[i]), upper = fx_words<value>::of(of[n + i]);
        fx_words<value> kept, other;
#pragma unroll
        for (int k = 0; k < fx_words<value>::N; ++k) {
          kept.w[k] = is_upper ? upper.w[k] : lower.w[k];
          other.w[k] = fx_shuffle_xor(is_upper ? lower.w[k] : upper.w[k], mask);
        }
        of[i] = FIRST::combine(kept.get(), other.get());
      }
    }
    rest.join_lanes();
  }
  // The number of the lane's first column.
  static FX_DEVICE int first() {
    const int lane = threadIdx.x;
    return (lane >> 4 & 1) * (N / 2) + (lane >> 3 & 1) * (N / 4) + (lane >> 2 & 1) * (N / 8);
  }
  // Leaves the lane's columns among `columns` of the warp.
  FX_DEVICE void leave(unsigned *slots, int columns, int lane) const {
#pragma unroll
    for (int i = 0; i < N / 8; ++i) {
      const int at = first() + i;
      fx_words<value>::of(of[i]).put(slots, columns, at / 2 * 8 + lane % 4 * 2 + at % 2);
    }
    rest.leave(slots + fx_words<value>::N * columns, columns, lane);
  }
  // What the four warps have left of a column together to the problem; from: the first warp's, `step` bytes ahead of the next one's.
  static FX_DEVICE void combine(const PROBLEM &p, const char *from, int step, int columns, int column, int batch, int m, int n) {
    value x = FIRST::none();
#pragma unroll
    for (int warp = 0; warp < 4; ++warp) x = FIRST::combine(x, fx_words<value>::from((const unsigned *)(from + warp * step), columns, column));
    p.put(FIRST(), x, batch, m, n);
    rest_type::combine(p, from + fx_words<value>::N * columns * 4, step, columns, column, batch, m, n);
  }
};

// fx_columns_of: those for a problem's list of partials
template <int N, class PARTIALS>
struct fx_columns_of;
template <int N, class ENGINE, class PROBLEM, class... PARTIALS>
struct fx_columns_of<N, fx_gemm_partials<ENGINE, PROBLEM, PARTIALS...>> {
  typedef fx_column_sums<N, PROBLEM, PARTIALS...> type;
};

// fx_wgmma_by_columns: ENGINE with such an epilogue, for which each warp has BEHIND bytes behind its boxes
template <class ENGINE, int BEHIND_>
struct fx_wgmma_by_columns : ENGINE {
  static constexpr int BEHIND = BEHIND_, STAGING_BYTES = ENGINE::STAGING_BYTES + BEHIND;
  static constexpr int SHARED_BYTES = ENGINE::SHARED_BYTES + ENGINE::CONSUMERS * 4 * BEHIND;
  static constexpr int CHUNKS = ENGINE::BN / ENGINE::CHUNK, COLUMNS = ENGINE::CHUNK;
  static_assert(BEHIND % 1024 == 0 && ENGINE::SLABS > 0, "no such epilogue");

  // Chunk NUMBER of the columns, and those behind it.
  template <int NUMBER, class PROBLEM, class SUMS, class VECTORS, class ROWS>
  static FX_DEVICE void chunks(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, int first_row, VECTORS &columns, const ROWS &rows, const SUMS &acc, unsigned staging) {
    typedef typename fx_columns_of<COLUMNS / 4, typename PROBLEM::template partials<ENGINE>>::type sums_type;
    constexpr int PIECE = 128 / (COLUMNS / 8), PARTS = ENGINE::PARTS, BYTES = sums_type::WORDS * COLUMNS * 4;
    constexpr int TURNS = CHUNKS * PARTS % 2 ? 1 : ENGINE::SLABS / PROBLEM::STORED;  // as of fx_wgmma_boxes
    static_assert(2 * PARTS * BYTES <= BEHIND, "no room for what warps leave");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, row = fx_sum_row<ENGINE>(lane, 0), n = at.n + NUMBER * COLUMNS;
    char *const behind = fx_smem() + (staging - fx_shared(fx_smem())) + ENGINE::STAGING_BYTES + NUMBER % 2 * PARTS * BYTES;
    const VECTORS c = columns;
    if (ENGINE::HAS_ROOM && NUMBER + 1 < CHUNKS) columns.fetch(p, at.batch, n + COLUMNS);
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const unsigned slab = staging + (NUMBER * PARTS + part) % TURNS * PROBLEM::STORED * ENGINE::SLAB_BYTES;
      const int m = at.m + first_row + warp * 16 + part * 64;
      sums_type sums;
      sums.begin();
      if (lane == 0) fx_tma_wait<TURNS - 1>();
      fx_warp_barrier();  // the box has been read
#pragma unroll
      for (int i = 0; i < COLUMNS / 8; ++i) {
        if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, n, i);
        const unsigned to = slab + row * 128 + ((i * PIECE + lane % 4 * (PIECE / 4)) ^ row << 4);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          typename ENGINE::sum x[ENGINE::SUMS][2];
          typename PROBLEM::template elements<2> e;
#pragma unroll
          for (int v = 0; v < ENGINE::SUMS * 2; ++v) x[v / 2][v % 2] = acc.get(v / 2, part, (NUMBER * (COLUMNS / 8) + i) * 4 + half * 2 + v % 2);
          p.template store<2, true>(x, ENGINE::HAS_ROOM ? c.of[i] : columns.of[i], rows.of[part][half], e, at.batch, m + row + half * 8, n + i * 8 + lane % 4 * 2, 2,
                                    fx_to_slabs<ENGINE>{to + half * 1024});
          if (m + row + half * 8 < p.m()) sums.add(i * 2, e);
        }
      }
      fx_tma_publish();
      fx_warp_barrier();  // the box is whole
      if (lane == 0) {
        if (n < p.n() && m < p.m()) fx_wgmma_send<0, ENGINE>(p, maps, slab, at.batch, m, n);
        fx_tma_commit();
      }
      sums.join_lanes();
      sums.leave((unsigned *)(behind + part * BYTES), COLUMNS, lane);
    }
    fx_named_barrier(2 + threadIdx.x / 128, 128);  // what every warp has of these columns is there; what they had two chunks ago has been read
#pragma unroll
    for (int i = 0; i < PARTS * COLUMNS; i += 128) {
      const int each = i + threadIdx.x % 128, part = each / COLUMNS, column = each % COLUMNS, m = at.m + first_row + part * 64;
      if (part < PARTS && n + column < p.n() && m < p.m())
        sums_type::combine(p, behind - warp * STAGING_BYTES + part * BYTES, STAGING_BYTES, COLUMNS, column, at.batch, m, n + column);
    }
    if constexpr (NUMBER + 1 < CHUNKS) chunks<NUMBER + 1>(p, maps, at, first_row, columns, rows, acc, staging);
    else if (CHUNKS % 2) fx_named_barrier(2 + threadIdx.x / 128, 128);  // the next tile's first chunk takes the place of this one
  }
};
