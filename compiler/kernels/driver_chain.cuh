/* The chain driver: contractions, one or several over the same m and t, whose results are made into another one's factor without leaving the chip.
     S[m,t] = sum over k of A[m,k] B[t,k];  P = what the problem makes of S and of reductions of its rows over t;  D[m,n] = sum over t of P[m,t] C[t,n]
   A block owns BM rows of one batch and BN columns, and goes over t, the axis of the intermediate, in blocks of BT, PASSES times: a pass ends in reductions that the next may read; the
   last one adds D up. Reductions that only shift an exponential are taken in the same pass as the sums they shift (find_maxima, rescale): as a shift changes, those sums and D
   are scaled. LANES neighbouring threads own a row of the intermediate, in chunks of V elements. Grid: ceil(m / BM) * ceil(n / BN) * batches blocks; with several tiles along n
   each computes the intermediate again.
   Invariant: any m, n, t, k, strides; nothing outside the tensors is read or written. */

// fx_chain_pass: names pass W over the intermediate
template <int W> struct fx_chain_pass {};

// fx_chain_at: an element of the intermediate; `step` is known when the text is compiled, where a loop over elements is unrolled: what is made of `from` alone is made once for all of them
struct fx_chain_at {
  int from, step;
  FX_DEVICE fx_chain_at(int t, int more = 0) : from(t), step(more) {}
  FX_DEVICE operator int() const { return from + step; }
};

// fx_chain_shift: what the exponentials of a pass are shifted by, where the whole row's shift may yet turn out not finite
FX_DEVICE float fx_chain_shift(float c) { return fabsf(c) < fx_from_bits(0x7f800000u) ? c : 0.0f; }

// fx_chain_raised_shift: the same of a shift that may be above the maximum so far, which stands in for it where it is not finite
FX_DEVICE float fx_chain_raised_shift(float c, float maximum) { return fx_chain_shift(fabsf(c) < fx_from_bits(0x7f800000u) ? c : maximum); }

// fx_chain_unit: what differences from a shift are multiplied by to be exponents of 2. From 1.86e8 on floats up to it are 16 and more apart, and a rounded multiple may be off by as much,
// which f16 does not hold: 1, by which little but 0 is left
FX_DEVICE float fx_chain_unit(float shift) { return fabsf(shift) < 1.86e8f ? 1.44269504f : 1.0f; }

// fx_chain_exp: exp(x - shift); the shift's multiple is rounded once for all elements, so that it cancels where sums of them are divided
FX_DEVICE float fx_chain_exp(float x, float shift) { return fx_exp2_approx(fmaf(x, fx_chain_unit(shift), -(shift * fx_chain_unit(shift)))); }

// fx_chain_late: a factor of elements that maxima and exponents take in their place, by which no order and no infinity changes; or 1: elements are multiplied
FX_DEVICE float fx_chain_late(float factor) { return factor >= 1e-30f && factor <= 1e30f ? factor : 1.0f; }

// fx_chain_exp_of: exp(x * factor - shift)
FX_DEVICE float fx_chain_exp_of(float x, float factor, float shift) { return fx_exp2_approx(fmaf(x, factor * fx_chain_unit(shift), -(shift * fx_chain_unit(shift)))); }

// fx_chain_tanh: within 2^-21, by one exponential and one reciprocal; fx_tanh is exact near 0, too
FX_DEVICE float fx_chain_tanh(float x) { return fmaf(-2.0f, fx_rcp_approx(fx_exp2_approx(2.8853900818f * x) + 1.0f), 1.0f); }

// fx_chain_change: the exponent of 2 by which exponentials so shifted change with their shift
FX_DEVICE float fx_chain_change(float from, float to) {
  const float unit = fx_chain_unit(to);
  return fx_chain_unit(from) == unit ? __fmul_rn(from, unit) - __fmul_rn(to, unit) : fx_from_bits(0xff800000u);
}

// fx_chain_exact: the factor that exponentials so shifted lack to be exact ones, the same for all: their multiple of the shift is rounded. What leaves the chain is multiplied by it
FX_DEVICE float fx_chain_exact(float shift) {
  const float unit = fx_chain_unit(shift);
  return exp2f(-fmaf(shift, unit, -(shift * unit)));
}

// fx_chain_rescale: exp2(by), by which sums go on after a shift has changed; 0 where they are empty so far, never infinite, so that 0 stays 0
FX_DEVICE float fx_chain_rescale(bool is_empty, float by) { return is_empty ? 0.0f : fminf(exp2f(by), 3.402823466e38f); }

// fx_chain_inner: the first contractions as the gemm driver sees them; their columns are those of the intermediate
template <class PROBLEM>
struct fx_chain_inner {
  const PROBLEM &p;  // the chain
  FX_DEVICE operator const PROBLEM &() const { return p; }  // what operands and segments ask
  FX_DEVICE int m() const { return p.m(); }
  FX_DEVICE int n() const { return p.t(); }
};

// fx_chain_outer: the second contraction as the gemm driver's epilogue sees one; what is known of the BM rows stands in shared memory, word by word
template <class PROBLEM, int BM>
struct fx_chain_outer {
  static constexpr int V = PROBLEM::V;
  template <int N> using columns = typename PROBLEM::template columns<N>;
  template <int N> using frag = typename PROBLEM::template frag<N>;
  const PROBLEM &p;      // the chain
  const unsigned *rows;  // results of the tile's rows
  FX_DEVICE int m() const { return p.m(); }
  FX_DEVICE int n() const { return p.n(); }
  template <int N, bool ALIGNED>
  FX_DEVICE void fetch_columns(columns<N> &c, int batch, int n, int n_valid) const {
    p.template fetch_columns<N, ALIGNED>(c, batch, n, n_valid);
  }
  template <int N, bool ALIGNED>
  FX_DEVICE void fetch(frag<N> &f, int batch, int m, int n, int n_valid) const {
    p.template fetch<N, ALIGNED>(f, batch, m, n, n_valid);
  }
  template <int N, bool ALIGNED>
  FX_DEVICE void store(const float (&acc)[1][N], const columns<N> &c, const frag<N> &f, int batch, int m, int n, int n_valid) const {
    p.template store<N, ALIGNED>(acc, c, f, fx_words<typename PROBLEM::results>::from(rows, BM, m % BM), batch, m, n, n_valid);
  }
};

// fx_chain_mma: a chain by tensor cores: BM rows, BT of the intermediate at a time, BN columns; k in blocks of BK, or, KEPT, at most BK and A's rows kept
template <class T, int BM_, int BT_, int BN_, int BK_, int WARPS_M, int WARPS_N, bool KEPT_>
struct fx_chain_mma {
  typedef fx_mma<fx_mma_16<T>, BM_, BT_, BK_, WARPS_M, WARPS_N, 3> inner;
  typedef fx_mma<fx_mma_16<T>, BM_, BN_, BT_, WARPS_M, WARPS_N, 3> outer;
  typedef fx_mma_operand<outer, T, BM_, outer::WM, false, FX_K_MAJOR, true> intermediate;  // the second contraction's A
  static constexpr bool KEPT = KEPT_;
  static constexpr int V = 8;
  static FX_DEVICE void put(int at, int row, int t, const float (&x)[V]) {
    unsigned w[4];
    fx_pack<V>(w, x, (T *)0);
    fx_shared_put4(fx_shared(fx_smem()) + at + intermediate::chunk_offset(row, t / 8), w);
  }
  static FX_DEVICE void leave(int at, int row, int t) { fx_unwritten(fx_shared(fx_smem()) + at + intermediate::chunk_offset(row, t / 8), 16); }
};

// fx_chain_simt: a chain in f32, likewise
template <int BM_, int BT_, int BN_, int BK_, int WARPS_M, int WARPS_N, bool KEPT_>
struct fx_chain_simt {
  typedef fx_simt<float, BM_, BT_, BK_, WARPS_M, WARPS_N, 3> inner;
  typedef fx_simt<float, BM_, BN_, BT_, WARPS_M, WARPS_N, 3> outer;
  typedef fx_simt_operand<outer, BM_, outer::TM, 4, FX_K_MAJOR, true> intermediate;
  static constexpr bool KEPT = KEPT_;
  static constexpr int V = 4;
  static FX_DEVICE void put(int at, int row, int t, const float (&x)[V]) {
#pragma unroll
    for (int v = 0; v < V; ++v) *(float *)(fx_smem() + at + (t + v) * intermediate::PITCH + row * 4) = x[v];
  }
  static FX_DEVICE void leave(int at, int row, int t) {
#pragma unroll
    for (int v = 0; v < V; ++v) fx_unwritten(fx_shared(fx_smem()) + at + (t + v) * intermediate::PITCH + row * 4, 4);
  }
};

// fx_chain_map: what lies where in a block's shared memory, in bytes; SUMS first contractions, of which at most BESIDE share an A
template <class CHAIN, int SUMS, int BESIDE, int RESULT_WORDS>
struct fx_chain_map {
  typedef typename CHAIN::inner inner;
  typedef typename CHAIN::outer outer;
  static FX_DEVICE constexpr int up(int bytes) { return (bytes + 1023) / 1024 * 1024; }
  static FX_DEVICE constexpr int max(int x, int y) { return x > y ? x : y; }
  static constexpr int STAGED = inner::BM * inner::staging_pitch(SUMS), STAGES = inner::STAGES * (inner::A_BYTES + BESIDE * inner::B_BYTES);
  static constexpr int A = up(CHAIN::KEPT ? STAGED : max(STAGES, STAGED));                        // at 0: the staged intermediate, over the mainloop's stages; A's rows
  static constexpr int B = A + (CHAIN::KEPT ? up(inner::A_BYTES) : 0);                            // a block of B
  static constexpr int C = B + (CHAIN::KEPT ? up(BESIDE * inner::B_BYTES) : 0);                   // a block of C
  static constexpr int P = C + up(outer::B_BYTES);                                                // the intermediate as a factor
  static constexpr int SCALES = max(P + up(outer::A_BYTES), up(outer::BM * outer::staging_pitch(1)));  // behind what the staged result takes at the end
  static constexpr int ROWS = SCALES + inner::BM * 4;                                             // results of the rows
  static constexpr int BYTES = ROWS + inner::BM * RESULT_WORDS * 4;
};

// fx_chain_nothing: in the place of an operand that is not kept
struct fx_chain_nothing {
  template <class PROBLEM>
  FX_DEVICE fx_chain_nothing(const PROBLEM &, int, int, int, int, int) {}
};

// fx_chain_multiply: adds the products of blocks in shared memory; the fragments of a step are read under the products of the one before
template <class ENGINE, int SUMS, class OPERAND_A, class OPERANDS_B>
FX_DEVICE void fx_chain_multiply(float (&acc)[SUMS][ENGINE::ACCUMULATORS], const OPERAND_A &oa, unsigned at_a, const OPERANDS_B &ob, unsigned at_b) {
  constexpr int STEPS = ENGINE::STEPS, UNROLL = STEPS < 8 ? STEPS : 8 / ENGINE::PARTS;
  typename OPERAND_A::fragment a[2];
  typename OPERANDS_B::fragment b[2][SUMS];
#pragma unroll
  for (int part = 0; part < ENGINE::PARTS; ++part) oa.fetch(a[0], at_a, 0, part), ob.fetch(b[0], at_b, 0, part);
#pragma unroll(UNROLL)
  for (int step = 0; step < STEPS; ++step) {
    if (step + 1 < STEPS) {
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) oa.fetch(a[(step + 1) % 2], at_a, step + 1, part), ob.fetch(b[(step + 1) % 2], at_b, step + 1, part);
    }
#pragma unroll
    for (int q = 0; q < ENGINE::QUARTERS; ++q)
#pragma unroll
      for (int j = 0; j < SUMS; ++j) ENGINE::multiply(acc[j], a[step % 2], b[step % 2][j], q);
  }
}

// fx_chain_block: one block of the chain
template <class CHAIN, bool ALIGNED, class PROBLEM>
struct fx_chain_block {
  typedef typename CHAIN::inner inner;
  typedef typename CHAIN::outer outer;
  typedef fx_chain_inner<PROBLEM> first;
  typedef fx_chain_outer<PROBLEM, inner::BM> second;
  typedef typename PROBLEM::first_segment first_segment;
  typedef typename PROBLEM::second_segment second_segment;
  typedef fx_gemm_a<inner, ALIGNED, first_segment> kept_rows;
  typedef typename first_segment::template all_b<inner, ALIGNED> all_b;
  typedef fx_gemm_b<outer, ALIGNED, second_segment> columns_of_c;
  static constexpr bool SKIPS = PROBLEM::LIMITS && PROBLEM::LOOKS == 0 && !decltype(columns_of_c::x)::IS_COMPUTED;  // what lies behind all rows' ends, as C can be looked at there
  static constexpr int SUMS = PROBLEM::INNER_SUMS;        // first contractions
  typedef fx_chain_map<CHAIN, SUMS, PROBLEM::BESIDE, PROBLEM::RESULT_WORDS> map;
  static constexpr int BM = inner::BM, BT = inner::BN, V = CHAIN::V;
  static constexpr int LANES = inner::THREADS / BM;      // threads that share a row of the intermediate
  static constexpr int SHARE = BT / LANES;               // what one of them owns of a block of it
  static_assert(inner::THREADS % BM == 0 && (LANES & (LANES - 1)) == 0 && LANES <= 32 && SHARE % V == 0, "the threads do not cover the rows evenly");

  const PROBLEM &p;                      // the problem
  const fx_tile at;                      // the tile of the result
  const int row, lane;                   // of the tile: this thread's row of the intermediate, and its place among those that share it
  const bool is_row;                     // whether the row exists
  typename PROBLEM::results r;           // what is known of it: reductions
  typename PROBLEM::values q;            // and values made of them that elements read
  typename fx_choose<CHAIN::KEPT, kept_rows, fx_chain_nothing>::type a;  // A's rows
  columns_of_c c;                        // C's columns
  typename CHAIN::intermediate intermediate;  // the intermediate as a factor
  float acc[1][outer::ACCUMULATORS];     // of D

  FX_DEVICE fx_chain_block(const PROBLEM &problem, const fx_tile &tile)
      : p(problem),
        at(tile),
        row((int)threadIdx.x / LANES),
        lane((int)threadIdx.x % LANES),
        is_row(at.m + row < p.m()),
        r(),
        q(),
        a(problem, 0, tile.batch, tile.m, problem.m(), inner::warp_m()),
        c(problem, 0, tile.batch, tile.n, problem.n(), outer::warp_n()),
        intermediate(0, 0, 0, 0, outer::warp_m()) {
#pragma unroll
    for (int i = 0; i < outer::ACCUMULATORS; ++i) acc[0][i] = 0.0f;
  }
  static FX_DEVICE unsigned shared(int offset) { return fx_shared(fx_smem()) + offset; }
  static FX_DEVICE float *scales() { return (float *)(fx_smem() + map::SCALES); }
  static FX_DEVICE unsigned *rows() { return (unsigned *)(fx_smem() + map::ROWS); }

  // B's rows t .. t + BT - 1 as the first contractions' columns.
  FX_DEVICE all_b columns(int t) const { return all_b(first{p}, 0, at.batch, t, p.t(), inner::warp_n()); }
  FX_DEVICE void bring_b(int t) const {
    if (t < p.t()) columns(t).fill(shared(map::B));
    fx_cp_async_commit();
  }
  FX_DEVICE void bring_c() {
    c.fill(shared(map::C));
    fx_cp_async_commit();
  }

  // S over a block of the intermediate, staged; A's rows are kept and B's block is on its way, or both come through the gemm driver's stages.
  template <bool LAST>
  FX_DEVICE void first_contraction(int t) {
    float s[SUMS][inner::ACCUMULATORS];
#pragma unroll
    for (int i = 0; i < SUMS * inner::ACCUMULATORS; ++i) s[i / inner::ACCUMULATORS][i % inner::ACCUMULATORS] = 0.0f;
    if constexpr (CHAIN::KEPT) {
      fx_cp_async_wait<0>();
      fx_barrier();  // A's rows and B's block have arrived; nobody reads C's block or P of the block before any more
      if (LAST) bring_c();
      fx_chain_multiply<inner, SUMS>(s, a.x, shared(map::A), columns(t), shared(map::B));
    } else {
      if (LAST) bring_c();
      p.template accumulate<inner, ALIGNED>(s, first{p}, fx_tile{at.batch, at.m, t});
      fx_cp_async_wait<0>();
      fx_barrier();  // nobody reads or fills the stages any more: the sums take their place
    }
#pragma unroll
    for (int j = 0; j < SUMS; ++j) inner::template put<SUMS>(s[j], j * BT);
    fx_barrier();  // the sums are staged; nobody reads B's block any more
    if constexpr (CHAIN::KEPT) bring_b(t + BT);
  }

  // The staged sums of V elements of this thread's row.
  FX_DEVICE void get(float (&x)[SUMS][V], int i) const {
#pragma unroll
    for (int j = 0; j < SUMS; ++j) inner::template get<SUMS>(x[j], row, j * BT + i);
  }

  // What V elements read that is the same for all rows.
  FX_DEVICE void prepare_along(typename PROBLEM::along (&u)[V], int t) const {
    if constexpr (!__is_empty(typename PROBLEM::along)) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (t + v < p.t()) p.prepare_along(u[v], at.batch, t + v);
    }
  }

  // This thread's share of a block of the intermediate: first what shifts exponentials, then sums and P. WHOLE: none of it lies beyond the axis.
  template <int W, bool LAST, bool WHOLE, class RUNNING>
  FX_DEVICE void intermediate_of(RUNNING &sums, int t) {
    const int begin = lane * SHARE;
    float x[SUMS][V];
    typename PROBLEM::along u[V];
    if constexpr (PROBLEM::FINDS_MAXIMA[W]) {
      auto maxima = p.maxima(fx_chain_pass<W>());
      if (is_row) {
#pragma unroll 1
        for (int i = begin; i < begin + SHARE; i += V) {
          get(x, i);
          if constexpr (PROBLEM::FACTORED[W]) {
            if (p.late(fx_chain_pass<W>()) != p.factor(fx_chain_pass<W>())) {
#pragma unroll
              for (int v = 0; v < V; ++v) x[0][v] *= p.factor(fx_chain_pass<W>());
            }
          }
          prepare_along(u, t + i);
          p.find_maxima(fx_chain_pass<W>(), maxima, x, r, q, u, at.batch, at.m + row, t + i, WHOLE ? V : p.t() - t - i);
          if constexpr (PROBLEM::KEEPS[W]) {
#pragma unroll
            for (int v = 0; v < V; v += 4) fx_shared_put4(inner::template staged<SUMS>(row, i + v), x[0][v], x[0][v + 1], x[0][v + 2], x[0][v + 3]);
          }
        }
      }
      if constexpr (PROBLEM::FACTORED[W]) p.multiply(fx_chain_pass<W>(), maxima);
#pragma unroll
      for (int mask = 1; mask < LANES; mask *= 2) p.combine(fx_chain_pass<W>(), maxima, fx_from_lane_xor(maxima, mask));
      const float scale = p.rescale(fx_chain_pass<W>(), sums, maxima, r, q);
      if (LAST && PROBLEM::SCALED && lane == 0) scales()[row] = scale;
    }
    if (is_row) {
#pragma unroll 1
      for (int i = begin; i < begin + SHARE; i += V) {
        get(x, i);
        prepare_along(u, t + i);
        p.fold(fx_chain_pass<W>(), sums, x, r, q, u, at.batch, at.m + row, t + i, WHOLE ? V : p.t() - t - i);
        if constexpr (LAST) CHAIN::put(map::P, row, i, x[0]);
      }
    }
  }

  FX_DEVICE void second_contraction() {
    if constexpr (CHAIN::KEPT) fx_cp_async_wait<1>();
    fx_barrier();  // P, the rows' scales and C's block are there; nobody reads the staged sums any more
    if constexpr (PROBLEM::SCALED) {
#pragma unroll
      for (int i = 0; i < outer::ACCUMULATORS; ++i) acc[0][i] *= scales()[outer::acc_row(i)];
    }
    fx_chain_multiply<outer, 1>(acc, intermediate, shared(map::P), c, shared(map::C));
    if constexpr (!CHAIN::KEPT) fx_barrier();  // nobody reads P, the scales and C's block any more
  }

  // The largest x of the block.
  static FX_DEVICE int largest(int x) {
    unsigned *words = (unsigned *)scales();
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) x = max(x, (int)fx_shuffle_xor((unsigned)x, mask));
    fx_barrier();  // nobody reads the rows' scales any more
    if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = (unsigned)x;
    fx_barrier();  // every warp's is there
#pragma unroll
    for (int w = 0; w < inner::THREADS / 32; ++w) x = max(x, (int)words[w]);
    fx_barrier();  // nobody reads them any more
    return x;
  }

  // Whether C, from row t of the intermediate on, holds what is not 0 when multiplied by 0.
  FX_DEVICE bool is_tail_special(int t) const {
    typedef typename second_segment::template b<0> operand;
    constexpr int N = ALIGNED && operand::LAYOUT == FX_MN_MAJOR ? V : 1, ACROSS = outer::BN / N, STEP = inner::THREADS / ACROSS;
    const int col = (int)threadIdx.x % ACROSS * N;
    float z = 0.0f;
    if (at.n + col < p.n()) {
      const auto *from = operand::at(p, 0, at.batch, 0) + (at.n + col) * operand::stride_mn(p, 0);
#pragma unroll 4
      for (int i = t + (int)threadIdx.x / ACROSS; i < p.t(); i += STEP) {
        float x[N];
        fx_load<N, N != 1>(x, from + i * operand::stride_k(p, 0), N);
#pragma unroll
        for (int v = 0; v < N; ++v) z = fmaf(x[v], 0.0f, z);
      }
    }
    return largest(z != 0.0f) != 0;
  }

  // From which element of the intermediate on no row of the block takes any.
  FX_DEVICE int find_end() const {
    if constexpr (SKIPS) return largest(is_row && p.t() > 0 ? p.end(q, r, at.batch, at.m + row) : 0);
    return p.t();
  }

  template <int W>
  FX_DEVICE void passes() {
    constexpr bool LAST = W + 1 == PROBLEM::PASSES;
    if constexpr (PROBLEM::PREPARES[W])
      if (is_row) p.prepare(fx_chain_pass<W>(), q, r, at.batch, at.m + row);
    auto sums = p.identity(fx_chain_pass<W>());
    if constexpr (CHAIN::KEPT) bring_b(0);
    int end = find_end();
#pragma unroll 1
    for (int t = 0;; t += BT) {
      if (t >= end) {
        if constexpr (!SKIPS) break;
        else if (t >= p.t() || !is_tail_special(t)) break;
        end = p.t();
      }
      first_contraction<LAST>(t);
      if (t + BT <= p.t()) intermediate_of<W, LAST, true>(sums, t);
      else intermediate_of<W, LAST, false>(sums, t);
      if constexpr (LAST) second_contraction();
      else fx_barrier();  // nobody reads the staged sums any more
    }
    if constexpr (!__is_empty(decltype(sums))) {
#pragma unroll
      for (int mask = 1; mask < LANES; mask *= 2) p.combine(fx_chain_pass<W>(), sums, fx_from_lane_xor(sums, mask));
      p.finish(fx_chain_pass<W>(), r, sums, q);
    }
    if constexpr (!LAST) passes<W + 1>();
  }

  FX_DEVICE void run() {
    if constexpr (CHAIN::KEPT) {
      if (p.t() > 0) a.fill(shared(map::A));
    }
    if (!is_row)  // of rows that do not exist P is never written: it makes rows of the result that are never stored
      for (int i = lane * SHARE; i < (lane + 1) * SHARE; i += V) CHAIN::leave(map::P, row, i);
    passes<0>();
    if (lane == 0 && is_row) fx_words<typename PROBLEM::results>::of(r).put(rows(), BM, row);
    if constexpr (PROBLEM::STORES_ROWS) {
      if (lane == 0 && is_row && at.n == 0) p.store_row(r, at.batch, at.m + row);
    }
    fx_cp_async_wait<0>();
    fx_barrier();  // nobody reads or fills what the passes used any more: the result takes its place
    outer::template put<1>(acc[0], 0);
    fx_barrier();  // the whole tile is staged, the rows' results are there
    fx_gemm_epilogue<outer, ALIGNED, 1>(second{p, rows()}, at);
  }
};

// fx_chain: computes this block's tile
template <class CHAIN, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_chain(const PROBLEM &p) {
  fx_chain_block<CHAIN, ALIGNED, PROBLEM>(p, fx_find_tile(blockIdx.x, p.m(), p.n(), CHAIN::inner::BM, CHAIN::outer::BN)).run();
}

// fx_chain_tiles: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class CHAIN, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_chain_tiles(const PROBLEM &p, long long batches) {
  constexpr int BM = CHAIN::inner::BM, BN = CHAIN::outer::BN;
  const int n = PROBLEM::STORES_ROWS && p.n() == 0 ? 1 : p.n();
  const long long tiles = (p.m() + (BM - 1ll)) / BM * ((n + (BN - 1ll)) / BN) * batches;
#pragma unroll 1
  for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
    fx_chain_block<CHAIN, ALIGNED, PROBLEM>(p, fx_find_tile((int)number, p.m(), p.n(), BM, BN)).run();
    if (number + gridDim.x < tiles) fx_barrier();  // everyone has read the staged result and the rows' results: the next tile takes their place
  }
}
