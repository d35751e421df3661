/* The contraction driver: D[m,n] = sum over k of A[m,k] B[k,n], batched, then the problem's epilogue. An engine moves and multiplies; a problem says where
   the operands lie and what becomes of the sums. Grid: ceil(m / BM) * ceil(n / BN) * batches blocks of ENGINE::THREADS threads, any for fx_gemm_tiles, with
   ENGINE::SMEM_BYTES of dynamic shared memory. ALIGNED: bases, strides and extents of contiguous axes are multiples of 16 bytes, n one of PROBLEM::V.
   Invariant: any m, n, k, strides; nothing outside the tensors is read or written. */

// fx_tile: which output tile a block computes
struct fx_tile {
  int batch;  // index over all batch axes
  int m;      // first row
  int n;      // first column
};

// fx_find_tile: tiles in groups of 8 rows of tiles, column by column within a group, so that concurrent blocks share operands in the L2 cache
FX_DEVICE fx_tile fx_find_tile(int number, int m, int n, int BM, int BN) {
  const int GROUP = 8;
  const int tiles_m = (m - 1) / BM + 1, tiles_n = (n - 1) / BN + 1;
  const int batch = (unsigned)number / (tiles_m * tiles_n), tile = (unsigned)number % (tiles_m * tiles_n);
  const int group_m = tile / (GROUP * tiles_n) * GROUP, in_group = tile % (GROUP * tiles_n);
  const int rows = tiles_m - group_m < GROUP ? tiles_m - group_m : GROUP;
  return fx_tile{batch, (group_m + in_group % rows) * BM, in_group / rows * BN};
}

// fx_gemm_source: both operands of one tile, walking through the k-blocks; past the last block there are only zeros
template <class ENGINE, bool ALIGNED, class PROBLEM>
struct fx_gemm_source {
  const PROBLEM &p;                                                           // the problem
  const fx_tile at;                                                           // the tile
  typename ENGINE::template operand_a<PROBLEM, ALIGNED> a;                    // A's rows of the tile
  typename ENGINE::template operand_b<PROBLEM, ALIGNED> b;                    // B's columns of the tile
  int outer;                                                                  // index over the outer k axes
  int left;                                                                   // k not yet begun at this index

  FX_DEVICE fx_gemm_source(const PROBLEM &problem, const fx_tile &tile)
      : p(problem),
        at(tile),
        a(p.a_stride_m(), p.a_stride_k(), at.m, p.m(), ENGINE::warp_m()),
        b(p.b_stride_n(), p.b_stride_k(), at.n, p.n(), ENGINE::warp_n()),
        outer(0) {
    start();
  }
  FX_DEVICE void start() {
    left = p.k();
    a.start(p.a(at.batch, outer) + at.m * p.a_stride_m(), left);
    b.start(p.b(at.batch, outer) + at.n * p.b_stride_n(), left);
  }
  FX_DEVICE void next() {
    left -= ENGINE::BK;
    if (outer + 1 < p.k_outer() && left <= 0) {
      ++outer;
      start();
    } else {
      a.next();
      b.next();
    }
  }
  FX_DEVICE void issue(int step, unsigned stage) {
    a.issue(step, stage);
    b.issue(step, stage + ENGINE::A_BYTES);
  }
  FX_DEVICE void load() {
    a.load();
    b.load();
  }
  FX_DEVICE void land(int step, unsigned stage) {
    if (step == (ENGINE::STEPS - 2) / 2) a.land(stage);
    if (step == ENGINE::STEPS - 2) b.land(stage + ENGINE::A_BYTES);
  }
  template <class FRAGMENT_A, class FRAGMENT_B>
  FX_DEVICE void fetch(FRAGMENT_A &fa, FRAGMENT_B &fb, unsigned stage, int step) const {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      a.fetch(fa, stage, step, part);
      b.fetch(fb, stage + ENGINE::A_BYTES, step, part);
    }
  }
};

// fx_gemm_accumulate: the mainloop; the fragments of a step are read under the products of the one before
// STAGES - 1 blocks are in shared memory or on their way there. Operands that are not copied asynchronously wait in registers for a block: they are loaded
// before the barrier that ends one block, across which loads stay where they are, and land before the next.
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_accumulate(typename ENGINE::sum (&acc)[ENGINE::ACCUMULATORS], const PROBLEM &p, const fx_tile &at) {
  constexpr int STEPS = ENGINE::STEPS, STAGES = ENGINE::STAGES;
  constexpr bool COPIED = ENGINE::template COPIED<PROBLEM, ALIGNED>;
#pragma unroll
  for (int i = 0; i < ENGINE::ACCUMULATORS; ++i) acc[i] = 0;
  const int blocks = p.k_outer() * ((p.k() + (ENGINE::BK - 1)) / ENGINE::BK);
  if (blocks == 0) return;  // nothing to add up, and with an empty outer axis no element to point at

  fx_gemm_source<ENGINE, ALIGNED, PROBLEM> source(p, at);
  const unsigned ring = fx_shared(fx_smem()), ring_end = ring + STAGES * ENGINE::STAGE_BYTES;
  unsigned read = ring, write = ring;

#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    if constexpr (COPIED) {
#pragma unroll
      for (int step = 0; step < STEPS; ++step) source.issue(step, write);
      fx_cp_async_commit();
    } else {
      source.load();
#pragma unroll
      for (int step = 0; step < STEPS; ++step) source.land(step, write);
    }
    source.next();
    write += ENGINE::STAGE_BYTES;
  }
  if constexpr (COPIED) fx_cp_async_wait<STAGES - 2>();
  else source.load();
  fx_barrier();  // everyone's part of block 0 has landed

  typename decltype(source.a)::fragment a[2];
  typename decltype(source.b)::fragment b[2];
  source.fetch(a[0], b[0], read, 0);

#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    unsigned from = read;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (step == STEPS - 1) {
        from = read + ENGINE::STAGE_BYTES == ring_end ? ring : read + ENGINE::STAGE_BYTES;
        if constexpr (COPIED) {
          fx_cp_async_wait<STAGES - 2>();
        } else {
          source.next();
          source.load();
        }
        fx_barrier();  // everyone's part of the next block has landed, and everyone has read all of this one: its stage may be overwritten
      }
      source.fetch(a[(step + 1) % 2], b[(step + 1) % 2], from, (step + 1) % STEPS);
      if constexpr (COPIED) {
        source.issue(step, write);
        if (step == STEPS - 2) fx_cp_async_commit();
      }
      ENGINE::multiply(acc, a[step % 2], b[step % 2]);
      if constexpr (!COPIED) source.land(step, write);
    }
    if constexpr (COPIED) source.next();
    write = read;
    read = from;
  }
}

// fx_gemm_epilogue: hands the staged sums to the problem, V columns of a row at a time; what it reads from memory is asked for AHEAD rows early
// where registers allow
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_epilogue(const PROBLEM &p, const fx_tile &at) {
  constexpr int V = PROBLEM::V, ACROSS = ENGINE::BN / V, STEP = ENGINE::THREADS / ACROSS;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr int AHEAD = sizeof(frag) <= 64 ? 2 : sizeof(frag) <= 96 ? 1 : 0;
  static_assert(V <= ENGINE::MAX_V && ENGINE::THREADS % ACROSS == 0, "the threads do not cover a row evenly");
  const int rows = p.m() - at.m < ENGINE::BM ? p.m() - at.m : ENGINE::BM;
  const int col = (int)threadIdx.x % ACROSS * V;
  const int n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
  if (n_valid <= 0) return;
  int row = threadIdx.x / ACROSS;
  frag ahead[AHEAD + 1];
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    if (row + i * STEP < rows) p.template fetch<V, ALIGNED>(ahead[i], at.batch, at.m + row + i * STEP, at.n + col, n_valid);
#pragma unroll 1
  for (; row < rows; row += STEP) {
    if (row + AHEAD * STEP < rows) p.template fetch<V, ALIGNED>(ahead[AHEAD], at.batch, at.m + row + AHEAD * STEP, at.n + col, n_valid);
    typename ENGINE::sum acc[V];
    ENGINE::get(acc, row, col);
    p.template store<V, ALIGNED>(acc, ahead[0], at.batch, at.m + row, at.n + col, n_valid);
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = ahead[i + 1];
  }
}

// fx_gemm_tile: computes a tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_tile(const PROBLEM &p, const fx_tile &at) {
  typename ENGINE::sum acc[ENGINE::ACCUMULATORS];
  fx_gemm_accumulate<ENGINE, ALIGNED>(acc, p, at);
  fx_cp_async_wait<0>();
  fx_barrier();  // nobody reads or fills the stages any more: the sums take their place
  ENGINE::put(acc);
  fx_barrier();  // the whole tile is staged
  fx_gemm_epilogue<ENGINE, ALIGNED>(p, at);
}

// fx_gemm: computes this block's tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm(const PROBLEM &p) {
  fx_gemm_tile<ENGINE, ALIGNED>(p, fx_find_tile(blockIdx.x, p.m(), p.n(), ENGINE::BM, ENGINE::BN));
}

// fx_gemm_tiles: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_tiles(const PROBLEM &p, long long batches) {
  const long long tiles = (p.m() + (ENGINE::BM - 1ll)) / ENGINE::BM * ((p.n() + (ENGINE::BN - 1ll)) / ENGINE::BN) * batches;
#pragma unroll 1
  for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
    fx_gemm_tile<ENGINE, ALIGNED>(p, fx_find_tile((int)number, p.m(), p.n(), ENGINE::BM, ENGINE::BN));
    if (number + gridDim.x < tiles) fx_barrier();  // everyone has read the staged sums: the stages of the next tile take their place
  }
}
