/* The contraction driver: sums over k of A[m,k] B[k,n], batched, one or several over the same m and n, then the problem's epilogue. An engine moves and
   multiplies; a problem says what the operands are and what becomes of the sums. Its segments are walks along a k of their own, each of one A and a B for
   every sum that it adds to; an operand lies in memory, or is computed: fetched and made chunk by chunk on its way to shared memory. Its `loader` says which.
   Grid: ceil(m / BM) * ceil(n / BN) * batches blocks of ENGINE::THREADS threads, any number for fx_gemm_tiles. Dynamic shared memory: the larger of STAGES * (A_BYTES + sums * B_BYTES), for
   the segment with most sums, and BM * ENGINE::staging_pitch(all sums), behind which a reduction of rows has THREADS / 32 * BN values, BN / 64 where it is of columns too. ALIGNED: bases, strides and extents of contiguous axes are multiples of 16 bytes, n one of PROBLEM::V.
   Invariant: any m, n, k, strides; nothing outside the tensors is read or written. */

// fx_tile: which output tile a block computes
struct fx_tile {
  int batch;  // index over all batch axes
  int m;      // first row
  int n;      // first column
};

// fx_find_place: tiles in groups of 8 rows of tiles, column by column within a group, so that concurrent blocks share operands in the L2 cache; m and n of the place are numbers of tiles
FX_DEVICE fx_tile fx_find_place(int number, int tiles_m, int tiles_n) {
  const int GROUP = 8;
  const int batch = (unsigned)number / (tiles_m * tiles_n), tile = (unsigned)number % (tiles_m * tiles_n);
  const int group_m = tile / (GROUP * tiles_n) * GROUP, in_group = tile % (GROUP * tiles_n);
  const int rows = tiles_m - group_m < GROUP ? tiles_m - group_m : GROUP;
  return fx_tile{batch, group_m + in_group % rows, in_group / rows};
}

// fx_find_tile: where a tile begins
FX_DEVICE fx_tile fx_find_tile(int number, int m, int n, int BM, int BN) {
  const fx_tile at = fx_find_place(number, (m - 1) / BM + 1, (n - 1) / BN + 1);
  return fx_tile{at.batch, at.m * BM, at.n * BN};
}

// fx_nth_tile: a tile of a problem by its number
template <class ENGINE, class PROBLEM>
FX_DEVICE fx_tile fx_nth_tile(const PROBLEM &p, unsigned number) {
  return fx_find_tile((int)number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
}

// fx_count_rows, fx_count_columns: of tiles, of a problem
template <class ENGINE, class PROBLEM> FX_DEVICE int fx_count_rows(const PROBLEM &p) { return (int)((p.m() + (ENGINE::BM - 1ll)) / ENGINE::BM); }
template <class ENGINE, class PROBLEM> FX_DEVICE int fx_count_columns(const PROBLEM &p) { return (int)((p.n() + (ENGINE::BN - 1ll)) / ENGINE::BN); }

// fx_count_tiles: how many tiles all `batches` have, fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE unsigned fx_count_tiles(const PROBLEM &p, long long batches) { return (unsigned)((long long)fx_count_rows<ENGINE>(p) * fx_count_columns<ENGINE>(p) * batches); }

// fx_k_left: how much of its k a segment has at a batch: less than k() where that is a slice, the last of a longer one
template <class SEGMENT, class PROBLEM>
FX_DEVICE auto fx_k_left(const PROBLEM &p, int batch, int) -> decltype(SEGMENT::k_left(p, batch)) { return SEGMENT::k_left(p, batch); }
template <class SEGMENT, class PROBLEM> FX_DEVICE int fx_k_left(const PROBLEM &p, int, long) { return SEGMENT::k(p); }

// fx_gemm_copied: an operand that lies in memory; copied asynchronously where the engine can, else by way of registers
template <class ENGINE, class ENGINE_OPERAND, class PROBLEM, class SEGMENT, class OPERAND, bool ALIGNED>
struct fx_gemm_copied : ENGINE_OPERAND {
  static constexpr bool IS_COMPUTED = false;

  const PROBLEM &p;   // the problem
  const int j;        // which of the segment's
  const int batch;    // index over the batch axes
  const int tile_mn;  // first m or n of the tile
  int outer;          // index over the outer k axes
  int left;           // k not yet begun at this index

  FX_DEVICE fx_gemm_copied(const PROBLEM &problem, int a_j, int a_batch, int a_tile_mn, int mn_end, int warp_mn)
      : ENGINE_OPERAND(OPERAND::stride_mn(problem, a_j), OPERAND::stride_k(problem, a_j), a_tile_mn, mn_end, warp_mn),
        p(problem),
        j(a_j),
        batch(a_batch),
        tile_mn(a_tile_mn) {}
  FX_DEVICE void start_outer() {
    left = fx_k_left<SEGMENT>(p, batch, 0);
    ENGINE_OPERAND::start(OPERAND::at(p, j, batch, outer) + tile_mn * OPERAND::stride_mn(p, j), left);
  }
  FX_DEVICE void start() {
    outer = 0;
    start_outer();
  }
  FX_DEVICE void next() {
    left -= ENGINE_OPERAND::BK;
    if (outer + 1 < SEGMENT::k_outer(p) && left <= 0) {
      ++outer;
      start_outer();
    } else {
      ENGINE_OPERAND::next();
    }
  }
};

// fx_any_stride: an engine that takes operands whose strides only the launch knows, whatever they are
template <class ENGINE> struct fx_any_stride : ENGINE {};

// fx_strided_a, fx_strided_b: such an operand in an engine: BASE, by which its elements lie side by side where the layout says so, or in fx_any_stride any
template <class ENGINE, class BASE> struct fx_strided_a { typedef BASE type; };
template <class ENGINE, class BASE> struct fx_strided_a<fx_any_stride<ENGINE>, BASE> { typedef typename ENGINE::template operand_a<FX_STRIDED, false> type; };
template <class ENGINE, class BASE> struct fx_strided_b { typedef BASE type; };
template <class ENGINE, class BASE> struct fx_strided_b<fx_any_stride<ENGINE>, BASE> { typedef typename ENGINE::template operand_b<FX_STRIDED, false> type; };

// fx_gemm_operand: one operand on its way through the mainloop, in whichever manner
// IS_LATE: what passes through registers is stored late in a block.
template <int STEPS, class OPERAND, bool IS_LATE>
struct fx_gemm_operand {
  typedef typename OPERAND::fragment fragment;

  OPERAND x;  // the operand

  template <class PROBLEM>
  FX_DEVICE fx_gemm_operand(const PROBLEM &p, int j, int batch, int tile_mn, int mn_end, int warp_mn) : x(p, j, batch, tile_mn, mn_end, warp_mn) {
    x.start();
  }
  // Shared memory from there on that is its own, besides the stages; returns where that ends.
  FX_DEVICE unsigned place(unsigned at) {
    if constexpr (OPERAND::IS_COMPUTED) return x.place(at);
    return at;
  }
  // A block before the mainloop, in two steps: what passes through registers is on its way in the first one.
  FX_DEVICE void begin_fill() {
    if constexpr (!OPERAND::IS_COMPUTED && !OPERAND::IS_COPIED) x.load();
  }
  FX_DEVICE void end_fill(unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) {
      x.fill(stage);
    } else if constexpr (OPERAND::IS_COPIED) {
#pragma unroll
      for (int step = 0; step < STEPS - 1; ++step) x.issue(step, stage);
      x.next();
    } else {
      x.store(stage);
      x.next();
    }
  }
  FX_DEVICE void fill(unsigned stage) { begin_fill(), end_fill(stage); }
  FX_DEVICE void begin() {
    if constexpr (OPERAND::IS_COMPUTED) x.begin();
    else if constexpr (!OPERAND::IS_COPIED) x.load();
  }
  // In a step of the mainloop, before the products.
  FX_DEVICE void issue(int step, unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) {
      x.ready_step(step);
    } else if constexpr (OPERAND::IS_COPIED) {
      if (step < STEPS - 1) x.issue(step, stage);
      else x.next();
    }
  }
  // Likewise at the end of a block, before its barrier: what is loaded here stays before it.
  FX_DEVICE void load() {
    if constexpr (!OPERAND::IS_COMPUTED && !OPERAND::IS_COPIED) {
      x.next();
      x.load();
    }
  }
  // And after the products; the last step of a block belongs to the stage that it began with.
  FX_DEVICE void store(int step, unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) x.work(step, stage);
    else if constexpr (!OPERAND::IS_COPIED)
      if (step == (IS_LATE ? STEPS - 2 : (STEPS - 2) / 2)) x.store(stage);
  }
  FX_DEVICE void fetch(fragment *f, unsigned stage, int step, int part) const { x.fetch(*f, stage, step, part); }
};

// fx_gemm_a, fx_gemm_b: an operand of a segment in an engine: its A, or the B of sum number J
template <class ENGINE, bool ALIGNED, class SEGMENT, class A = typename SEGMENT::a>
using fx_gemm_a =
    fx_gemm_operand<ENGINE::STEPS, typename A::template loader<ENGINE, typename ENGINE::template operand_a<A::LAYOUT, ALIGNED>, SEGMENT, ALIGNED>, false>;
template <class ENGINE, bool ALIGNED, class SEGMENT, int J = 0, class B = typename SEGMENT::template b<J>>
using fx_gemm_b =
    fx_gemm_operand<ENGINE::STEPS, typename B::template loader<ENGINE, typename ENGINE::template operand_b<B::LAYOUT, ALIGNED>, SEGMENT, ALIGNED>, true>;

// fx_gemm_all_b: the B's of a segment of several sums, from number J on; they lie in a stage one after the other
template <class ENGINE, bool ALIGNED, class SEGMENT, int J = 0>
struct fx_gemm_all_b {
  typedef fx_gemm_b<ENGINE, ALIGNED, SEGMENT, J> one;
  typedef typename one::fragment fragment;

  one first;  // number J
  // Those after it.
  typename fx_choose<J + 2 == SEGMENT::SUMS, fx_gemm_b<ENGINE, ALIGNED, SEGMENT, J + 1>, fx_gemm_all_b<ENGINE, ALIGNED, SEGMENT, J + 1>>::type rest;

  template <class PROBLEM>
  FX_DEVICE fx_gemm_all_b(const PROBLEM &p, int j, int batch, int tile_n, int n_end, int warp_n)
      : first(p, j, batch, tile_n, n_end, warp_n), rest(p, j + 1, batch, tile_n, n_end, warp_n) {}
  FX_DEVICE unsigned place(unsigned at) { return rest.place(first.place(at)); }
  FX_DEVICE void begin_fill() { first.begin_fill(), rest.begin_fill(); }
  FX_DEVICE void end_fill(unsigned stage) { first.end_fill(stage), rest.end_fill(stage + ENGINE::B_BYTES); }
  FX_DEVICE void fill(unsigned stage) { first.fill(stage), rest.fill(stage + ENGINE::B_BYTES); }
  FX_DEVICE void begin() { first.begin(), rest.begin(); }
  FX_DEVICE void issue(int step, unsigned stage) { first.issue(step, stage), rest.issue(step, stage + ENGINE::B_BYTES); }
  FX_DEVICE void load() { first.load(), rest.load(); }
  FX_DEVICE void store(int step, unsigned stage) { first.store(step, stage), rest.store(step, stage + ENGINE::B_BYTES); }
  FX_DEVICE void fetch(fragment *f, unsigned stage, int step, int part) const {
    first.fetch(f, stage, step, part);
    rest.fetch(f + 1, stage + ENGINE::B_BYTES, step, part);
  }
};

// fx_gemm_source: the operands of one tile in a segment, walking through the k-blocks; past the last block there are only zeros
template <class ENGINE, bool ALIGNED, class PROBLEM, class SEGMENT>
struct fx_gemm_source {
  typedef fx_gemm_a<ENGINE, ALIGNED, SEGMENT> operand_a;
  typedef typename SEGMENT::template all_b<ENGINE, ALIGNED> operands_b;
  typedef typename operand_a::fragment fragment_a;
  typedef typename operands_b::fragment fragment_b;
  static constexpr int SUMS = SEGMENT::SUMS;
  static constexpr unsigned STAGE_BYTES = ENGINE::A_BYTES + SUMS * ENGINE::B_BYTES;

  operand_a a;   // A's rows of the tile
  operands_b b;  // the columns of the tile of every B

  FX_DEVICE fx_gemm_source(const PROBLEM &p, const fx_tile &at)
      : a(p, 0, at.batch, at.m, p.m(), ENGINE::warp_m()), b(p, 0, at.batch, at.n, p.n(), ENGINE::warp_n()) {}
  FX_DEVICE void place(unsigned at) { b.place(a.place(at)); }
  FX_DEVICE void fill(unsigned stage) { a.begin_fill(), b.begin_fill(), a.end_fill(stage), b.end_fill(stage + ENGINE::A_BYTES); }
  FX_DEVICE void begin() { a.begin(), b.begin(); }
  FX_DEVICE void issue(int step, unsigned stage) { a.issue(step, stage), b.issue(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void load() { a.load(), b.load(); }
  FX_DEVICE void store(int step, unsigned stage) { a.store(step, stage), b.store(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void fetch(fragment_a &fa, fragment_b (&fb)[SUMS], unsigned stage, int step) const {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      a.fetch(&fa, stage, step, part);
      b.fetch(fb, stage + ENGINE::A_BYTES, step, part);
    }
  }
};

// fx_gemm_ring: the stages of a mainloop in shared memory, offsets
struct fx_gemm_ring {
  unsigned first, end;  // of all
  unsigned read;        // the stage of the block at hand
  unsigned write;       // the one that is filled meanwhile
  unsigned from;        // the one that the next fragments are read from
};

// fx_gemm_steps: the steps of a block from STEP on. Written out by recursion: a compiler leaves a long loop rolled, and what its number chooses then lies in local memory
template <class ENGINE, class SEGMENT, int STEP, class SOURCE, int SUMS>
FX_DEVICE void fx_gemm_steps(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], SOURCE &source, typename SOURCE::fragment_a (&a)[2],
                             typename SOURCE::fragment_b (&b)[2][SOURCE::SUMS], fx_gemm_ring &ring) {
  constexpr int STEPS = ENGINE::STEPS, STAGES = ENGINE::STAGES;
  constexpr bool IS_STAGING = ENGINE::IS_STAGING;
  if constexpr (STEP < STEPS) {
    if constexpr (STEP == STEPS - 1) {
      ring.from = ring.read + SOURCE::STAGE_BYTES == ring.end ? ring.first : ring.read + SOURCE::STAGE_BYTES;
      fx_cp_async_wait<STAGES - 2 - IS_STAGING>();
      source.load();
      fx_barrier();  // everyone's part of the next block has arrived, and everyone has read all of this one: its stage may be overwritten
    }
    source.fetch(a[(STEP + 1) % 2], b[(STEP + 1) % 2], ring.from, (STEP + 1) % STEPS);
    source.issue(STEP, ring.write);
    if constexpr (STEP == STEPS - 2 && !IS_STAGING) fx_cp_async_commit();
#pragma unroll
    for (int q = 0; q < ENGINE::QUARTERS; ++q) {
#pragma unroll
      for (int j = 0; j < SEGMENT::SUMS; ++j) ENGINE::multiply(acc[SEGMENT::sum(j)], a[STEP % 2], b[STEP % 2][j], q);
      if (q == ENGINE::QUARTERS / 2) source.store(STEP, ring.write);
    }
    if constexpr (STEP == STEPS - 1 && IS_STAGING) fx_cp_async_commit();
    fx_gemm_steps<ENGINE, SEGMENT, STEP + 1>(acc, source, a, b, ring);
  }
}

// fx_gemm_accumulate: the mainloop of a segment; the fragments of a step are read under the products of the one before
// STAGES - 1 blocks are in shared memory or on their way there. Operands that pass through registers are stored to the stage of a block that everyone has read. Where
// some are staged, copies begin in the last step of a block too: its group ends behind it, and one group fewer may be on its way.
template <class ENGINE, bool ALIGNED, class SEGMENT, class PROBLEM, int SUMS>
FX_DEVICE void fx_gemm_accumulate(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], const PROBLEM &p, const fx_tile &at) {
  typedef fx_gemm_source<ENGINE, ALIGNED, PROBLEM, SEGMENT> source_type;
  constexpr int STAGES = ENGINE::STAGES;
  int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  if (blocks == 0) return;  // nothing to add up, and with an empty outer axis no element to point at
  fx_hide(blocks);          // were it known to be 1, compilers would keep what the one block reads in registers, all of it

  source_type source(p, at);
  const unsigned first = fx_shared(fx_smem()), end = first + STAGES * source_type::STAGE_BYTES;
  fx_gemm_ring ring = {first, end, first, first, first};

  if constexpr (ENGINE::IS_STAGING) {
    source.place(end);
    fx_cp_async_commit();
    fx_cp_async_wait<0>();
    fx_barrier();  // what lanes copied for each other has arrived
  }
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    source.fill(ring.write);
    fx_cp_async_commit();
    ring.write += source_type::STAGE_BYTES;
  }
  fx_cp_async_wait<STAGES - 2>();
  fx_barrier();  // everyone's part of block 0 has arrived
  source.begin();

  typename source_type::fragment_a a[2];
  typename source_type::fragment_b b[2][SEGMENT::SUMS];
  source.fetch(a[0], b[0], first, 0);

#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    ring.from = ring.read;
    fx_gemm_steps<ENGINE, SEGMENT, 0>(acc, source, a, b, ring);
    ring.write = ring.read;
    ring.read = ring.from;
  }
}

// fx_fetch: what the epilogue reads besides the sums, if anything
template <int V, bool ALIGNED, class PROBLEM, class FRAG>
FX_DEVICE void fx_fetch(const PROBLEM &p, FRAG &f, int batch, int m, int n, int n_valid) {
  if constexpr (!__is_empty(FRAG)) p.template fetch<V, ALIGNED>(f, batch, m, n, n_valid);
}

// fx_fetch_columns: what it reads that is the same for all rows, if anything
template <int V, bool ALIGNED, class PROBLEM, class COLUMNS>
FX_DEVICE void fx_fetch_columns(const PROBLEM &p, COLUMNS &c, int batch, int n, int n_valid) {
  if constexpr (!__is_empty(COLUMNS)) p.template fetch_columns<V, ALIGNED>(c, batch, n, n_valid);
}

// fx_gemm_epilogue: hands the staged sums to the problem, V columns of a row at a time; what it reads from memory is asked for AHEAD rows early
// where registers allow
template <class ENGINE, bool ALIGNED, int SUMS, class PROBLEM>
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
  typename PROBLEM::template columns<V> c;
  frag ahead[AHEAD + 1];
  fx_fetch_columns<V, ALIGNED>(p, c, at.batch, at.n + col, n_valid);
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    if (row + i * STEP < rows) fx_fetch<V, ALIGNED>(p, ahead[i], at.batch, at.m + row + i * STEP, at.n + col, n_valid);
#pragma unroll 1
  for (; row < rows; row += STEP) {
    if (row + AHEAD * STEP < rows)
      fx_fetch<V, ALIGNED>(p, ahead[AHEAD], at.batch, at.m + row + AHEAD * STEP, at.n + col, n_valid);
    typename ENGINE::sum acc[SUMS][V];
#pragma unroll
    for (int j = 0; j < SUMS; ++j) ENGINE::template get<SUMS>(acc[j], row, j * ENGINE::BN + col);
    p.template store<V, ALIGNED>(acc, c, ahead[0], at.batch, at.m + row, at.n + col, n_valid);
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = ahead[i + 1];
  }
}

// fx_team: the threads that run the epilogue of an engine, those of the whole block unless it says otherwise, and where its tile is staged
template <class ENGINE>
struct fx_team {
  static FX_DEVICE int thread() { return (int)threadIdx.x; }
  static FX_DEVICE void wait() { fx_barrier(); }
  static FX_DEVICE char *memory() { return fx_smem(); }
};

// fx_holds: whether columns of a problem may be taken as the sums of wgmma lie, by threads that hold them
template <class PROBLEM> FX_DEVICE constexpr auto fx_holds(int) -> decltype(PROBLEM::HOLDS) { return PROBLEM::HOLDS; }
template <class PROBLEM> FX_DEVICE constexpr bool fx_holds(long) { return false; }

// fx_held_columns: how many of a run of 64 a thread holds, two of every eight; an enumerator, of which no compiler says that nothing reads it
enum { fx_held_columns = 16 };

// fx_column: which column number v of those that a thread takes at a time is, from the first one on
template <int V> FX_DEVICE constexpr int fx_column(int v) { return V == fx_held_columns ? v / 2 * 8 + v % 2 : v; }

// fx_load_held: such columns of a row in memory, p being at the first; zeros from n_valid on
template <int V, class T>
FX_DEVICE void fx_load_held(float (&x)[V], const T *p, int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = fx_column<V>(v) < n_valid ? fx_load_one(p + fx_column<V>(v)) : 0.0f;
}

// fx_width_of: how many columns an engine's threads take at a time
template <class ENGINE, class PROBLEM>
struct fx_width_of {
  static constexpr int N = PROBLEM::V;
};

// fx_is_shared: whether all elements of a run have what a reduction makes of them already
template <class PARTIAL> FX_DEVICE constexpr auto fx_is_shared(int) -> decltype(PARTIAL::IS_SHARED) { return PARTIAL::IS_SHARED; }
template <class PARTIAL> FX_DEVICE constexpr bool fx_is_shared(long) { return false; }

// fx_gemm_partial: elements of a tile reduced in runs of RUN columns, of RUN rows, or of both, as PARTIAL says; every run has one order, given by the shape alone
// The V columns of a row first and, in a thread, the rows of a run; then lanes, and then warps by way of shared memory.
template <class ENGINE, class PROBLEM, class PARTIAL>
struct fx_gemm_partial {
  typedef typename PARTIAL::value value;
  static constexpr bool OVER_M = PARTIAL::OVER_M, OVER_N = PARTIAL::OVER_N;
  static constexpr int RUN = 64, V = fx_width_of<ENGINE, PROBLEM>::N, ACROSS = ENGINE::BN / V, TEAM = ACROSS < 32 ? 32 : ACROSS;
  static constexpr int TEAMS = ENGINE::THREADS / TEAM;                    // that hold something of every column once a warp's lanes are combined
  static constexpr int SLOTS = OVER_N ? ENGINE::BN / RUN : ENGINE::BN;    // results of a run of rows
  static constexpr int WORDS = OVER_M ? TEAMS * SLOTS * fx_words<value>::N : 0;
  static_assert(ENGINE::BM % RUN == 0 && ENGINE::BN % RUN == 0 && RUN / V <= 32, "a tile is whole runs, and the columns of one lie in a warp");
  value so_far[OVER_M && !OVER_N ? V : 1];  // of the run of rows at hand

  template <int FROM, int TO>
  static FX_DEVICE void join_lanes(value &x) {
#pragma unroll
    for (int mask = FROM; mask < TO; mask *= 2) x = PARTIAL::combine(x, fx_from_lane_xor(x, mask));
  }
  FX_DEVICE void begin() {
#pragma unroll
    for (int i = 0; i < (int)(sizeof so_far / sizeof *so_far); ++i) so_far[i] = PARTIAL::none();
  }

  // Takes V columns of row m from n on; all threads are here, those without any with n_valid <= 0.
  template <class ELEMENTS>
  FX_DEVICE void add(const PROBLEM &p, const ELEMENTS &x, int batch, int m, int n, int n_valid) {
    if constexpr (OVER_M && !OVER_N) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (v < n_valid) so_far[v] = PARTIAL::combine(so_far[v], PARTIAL::get(x, v));
    } else if constexpr (OVER_M) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (v < n_valid) so_far[0] = PARTIAL::combine(so_far[0], PARTIAL::get(x, v));
    } else {
      add_run(p, x, batch, m, n, n_valid, n % RUN == 0 && n_valid > 0);
    }
  }

  // Of runs of columns alone: the lane that `speaks` puts what all lanes of the run have.
  template <class ELEMENTS>
  FX_DEVICE void add_run(const PROBLEM &p, const ELEMENTS &x, int batch, int m, int n, int n_valid, bool speaks) {
    if constexpr (fx_is_shared<PARTIAL>(0)) {
      so_far[0] = PARTIAL::get(x, 0);
    } else {
      begin();
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (fx_column<V>(v) < n_valid) so_far[0] = PARTIAL::combine(so_far[0], PARTIAL::get(x, v));
      join_lanes<1, RUN / V>(so_far[0]);
    }
    if (speaks) p.put(PARTIAL(), so_far[0], batch, m, n);
  }

  // Ends a run of rows: what each warp has into shared memory; then, behind a barrier, what they have together to the problem.
  FX_DEVICE void leave(unsigned *slots) {
    if constexpr (OVER_M) {
      const int thread = fx_team<ENGINE>::thread(), col = thread % ACROSS * V, team = thread / TEAM;
#pragma unroll
      for (int i = 0; i < (OVER_N ? 1 : V); ++i) {
        if (OVER_N) join_lanes<1, RUN / V>(so_far[i]);
        join_lanes<ACROSS, 32>(so_far[i]);
        const bool speaks = thread % TEAM < ACROSS && (!OVER_N || col % RUN == 0);
        if (speaks) fx_words<value>::of(so_far[i]).put(slots, TEAMS * SLOTS, team * SLOTS + (OVER_N ? col / RUN : col + i));
      }
      begin();
    }
  }
  FX_DEVICE void combine(const PROBLEM &p, const unsigned *slots, int batch, int m, int n) const {
    if constexpr (OVER_M) {
      for (int i = fx_team<ENGINE>::thread(); i < SLOTS; i += ENGINE::THREADS) {
        const int at = n + i * (OVER_N ? RUN : 1);
        value x = PARTIAL::none();
#pragma unroll
        for (int team = 0; team < TEAMS; ++team) x = PARTIAL::combine(x, fx_words<value>::from(slots, TEAMS * SLOTS, team * SLOTS + i));
        if (at < p.n()) p.put(PARTIAL(), x, batch, m, at);
      }
    }
  }
};

// fx_spread: how many elements, their mean, and the sum of the squares of their distances from it
struct fx_spread {
  float n = 0, mean = 0, around = 0;
};

// fx_join_spreads: that of the elements of both
FX_DEVICE fx_spread fx_join_spreads(const fx_spread &a, const fx_spread &b) {
  const float n = a.n + b.n, of_b = b.n * fx_rcp_approx(fmaxf(n, 1.0f)), apart = b.mean - a.mean, off = apart * of_b;
  return fx_spread{n, a.mean + off, a.around + b.around + apart * (off * a.n)};
}

// fx_gemm_partials: all that a problem reduces of its tiles; their slots lie one after the other
template <class ENGINE, class PROBLEM, class... PARTIALS>
struct fx_gemm_partials {
  static constexpr bool OVER_M = false;  // whether any of them is over rows
  FX_DEVICE void begin() {}
  template <class ELEMENTS>
  FX_DEVICE void add(const PROBLEM &, const ELEMENTS &, int, int, int, int) {}
  template <class ELEMENTS>
  FX_DEVICE void add_run(const PROBLEM &, const ELEMENTS &, int, int, int, int, bool) {}
  FX_DEVICE void leave(unsigned *) {}
  FX_DEVICE void combine(const PROBLEM &, const unsigned *, int, int, int) const {}
};
template <class ENGINE, class PROBLEM, class FIRST, class... REST>
struct fx_gemm_partials<ENGINE, PROBLEM, FIRST, REST...> {
  typedef fx_gemm_partial<ENGINE, PROBLEM, FIRST> first_type;
  typedef fx_gemm_partials<ENGINE, PROBLEM, REST...> rest_type;
  static constexpr bool OVER_M = first_type::OVER_M || rest_type::OVER_M;
  first_type first;
  rest_type rest;
  FX_DEVICE void begin() { first.begin(), rest.begin(); }
  template <class ELEMENTS>
  FX_DEVICE void add(const PROBLEM &p, const ELEMENTS &x, int batch, int m, int n, int n_valid) {
    first.add(p, x, batch, m, n, n_valid), rest.add(p, x, batch, m, n, n_valid);
  }
  template <class ELEMENTS>
  FX_DEVICE void add_run(const PROBLEM &p, const ELEMENTS &x, int batch, int m, int n, int n_valid, bool speaks) {
    first.add_run(p, x, batch, m, n, n_valid, speaks), rest.add_run(p, x, batch, m, n, n_valid, speaks);
  }
  FX_DEVICE void leave(unsigned *slots) { first.leave(slots), rest.leave(slots + first_type::WORDS); }
  FX_DEVICE void combine(const PROBLEM &p, const unsigned *slots, int batch, int m, int n) const {
    first.combine(p, slots, batch, m, n), rest.combine(p, slots + first_type::WORDS, batch, m, n);
  }
};

// fx_share: every element gets what `combine` makes of its run, RUN columns of a row in neighbouring threads
// A thread has V columns: adjacent ones or, if V is fx_held_columns, those that fx_column names.
template <int RUN, int V, class T, class COMBINE>
FX_DEVICE void fx_share(T (&x)[V], COMBINE combine) {
  constexpr int OWN = V == fx_held_columns ? (RUN > 8 ? RUN / 4 : 2) : RUN < V ? RUN : V;  // of a run, in a thread
  static_assert(RUN / OWN <= 32, "a run lies in a warp");
#pragma unroll
  for (int first = 0; first < V; first += OWN) {
    T all = x[first];
#pragma unroll
    for (int i = 1; i < OWN; ++i) all = combine(all, x[first + i]);
#pragma unroll
    for (int mask = 1; mask < RUN / OWN; mask *= 2) all = combine(all, fx_from_lane_xor(all, mask));
#pragma unroll
    for (int i = 0; i < OWN; ++i) x[first + i] = all;
  }
}

// fx_gemm_reduce: fx_gemm_epilogue where elements are also reduced (PROBLEM::partials), or share something with their runs (PROBLEM::SHARES): every thread stays to the
// end, whatever it has of the tile. The slots of partials over rows lie behind the staged tile.
template <class ENGINE, bool ALIGNED, int SUMS, class PROBLEM>
FX_DEVICE void fx_gemm_reduce(const PROBLEM &p, const fx_tile &at) {
  constexpr int V = PROBLEM::V, ACROSS = ENGINE::BN / V, STEP = ENGINE::THREADS / ACROSS, RUN = 64;
  typedef typename PROBLEM::template frag<V> frag;
  typedef typename PROBLEM::template partials<ENGINE> partials;
  constexpr int AHEAD = sizeof(frag) <= 64 ? 2 : sizeof(frag) <= 96 ? 1 : 0;
  static_assert(V <= ENGINE::MAX_V && ENGINE::THREADS % ACROSS == 0 && RUN % STEP == 0, "the threads do not cover a row, or a run of rows, evenly");
  const int rows = p.m() - at.m < ENGINE::BM ? p.m() - at.m : ENGINE::BM;
  int thread = fx_team<ENGINE>::thread();
  fx_hide(thread);  // what follows from it is computed here, not kept throughout the tiles
  const int col = thread % ACROSS * V;
  const int n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
  const int last = n_valid > 0 ? rows : 0;  // rows of which this thread has columns
  unsigned *const slots = (unsigned *)(fx_team<ENGINE>::memory() + ENGINE::BM * ENGINE::staging_pitch(SUMS));
  typename PROBLEM::template columns<V> c;
  frag ahead[AHEAD + 1];
  partials reduced;
  reduced.begin();
  int row = thread / ACROSS;
  if (n_valid > 0) fx_fetch_columns<V, ALIGNED>(p, c, at.batch, at.n + col, n_valid);
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    if (row + i * STEP < last) fx_fetch<V, ALIGNED>(p, ahead[i], at.batch, at.m + row + i * STEP, at.n + col, n_valid);
#pragma unroll 1
  for (int run = 0; run < rows; run += RUN) {
#pragma unroll 1
    for (int end = row + RUN; row < end; row += STEP) {
      typename PROBLEM::template elements<V> x;
      if (row + AHEAD * STEP < last)
        fx_fetch<V, ALIGNED>(p, ahead[AHEAD], at.batch, at.m + row + AHEAD * STEP, at.n + col, n_valid);
      if (PROBLEM::SHARES || row < last) {
        typename ENGINE::sum acc[SUMS][V];
#pragma unroll
        for (int j = 0; j < SUMS; ++j) ENGINE::template get<SUMS>(acc[j], row, j * ENGINE::BN + col);
        p.template store<V, ALIGNED>(acc, c, ahead[0], x, at.batch, at.m + row, at.n + col, row < last ? n_valid : 0);
      }
      reduced.add(p, x, at.batch, at.m + row, at.n + col, row < last ? n_valid : 0);
#pragma unroll
      for (int i = 0; i < AHEAD; ++i) ahead[i] = ahead[i + 1];
    }
    if constexpr (partials::OVER_M) {
      reduced.leave(slots);
      fx_team<ENGINE>::wait();  // what every warp has of this run of rows is there
      reduced.combine(p, slots, at.batch, at.m + run, at.n);
      if (run + RUN < rows) fx_team<ENGINE>::wait();  // everyone has read it: the next run's takes its place
    }
  }
}

// fx_gemm_next_segment: before the ring is filled anew
FX_DEVICE void fx_gemm_next_segment() {
  fx_cp_async_wait<0>();
  fx_barrier();  // nobody reads or fills the stages any more: the next segment's operands take their place
}

// fx_gemm_mainloop: what a problem hands its segments to, one after the other; IS_RAGGED: this one is never aligned
template <class ENGINE, bool ALIGNED, int SUMS>
struct fx_gemm_mainloop {
  typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS];  // the sums
  const fx_tile &at;                                        // the tile

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    fx_gemm_accumulate<ENGINE, ALIGNED && !IS_RAGGED, SEGMENT>(acc, p, at);
  }
  FX_DEVICE void next_segment() { fx_gemm_next_segment(); }
};

// fx_gemm_tile: computes a tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_tile(const PROBLEM &p, const fx_tile &at) {
  constexpr int SUMS = PROBLEM::SUMS;
  typename ENGINE::sum acc[SUMS][ENGINE::ACCUMULATORS];
#pragma unroll
  for (int i = 0; i < SUMS * ENGINE::ACCUMULATORS; ++i) acc[i / ENGINE::ACCUMULATORS][i % ENGINE::ACCUMULATORS] = 0;
  fx_gemm_mainloop<ENGINE, ALIGNED, SUMS> mainloop = {acc, at};
  p.accumulate(mainloop);
  fx_cp_async_wait<0>();
  fx_barrier();  // nobody reads or fills the stages any more: the sums take their place
#pragma unroll
  for (int j = 0; j < SUMS; ++j) ENGINE::template put<SUMS>(acc[j], j * ENGINE::BN);
  fx_barrier();  // the whole tile is staged
  p.template finish<ENGINE, ALIGNED>(at);
}

// fx_gemm: computes this block's tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm(const PROBLEM &p) {
  fx_gemm_tile<ENGINE, ALIGNED>(p, fx_nth_tile<ENGINE>(p, blockIdx.x));
}

// fx_gemm_tiles: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_tiles(const PROBLEM &p, long long batches) {
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {  // both below 2**31
    fx_gemm_tile<ENGINE, ALIGNED>(p, fx_nth_tile<ENGINE>(p, number));
    if (number + gridDim.x < tiles) fx_barrier();  // everyone has read the staged sums: the stages of the next tile take their place
  }
}
