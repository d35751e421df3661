/* What a thread of a consumer of the chain driver of sm_90a knows of its two rows: their sums and maxima so far, what shifts exponentials, and
   how four lanes that share a row tell each other. */

// fx_chain_rows: what a thread of a consumer knows of its two rows
template <class ENGINE, class PROBLEM>
struct fx_chain_rows {
  static constexpr int LAST = PROBLEM::PASSES - 1;
  typedef decltype(((const PROBLEM *)0)->identity(fx_chain_pass<LAST>())) sums_type;
  static constexpr bool HAS_SUMS = !__is_empty(sums_type);
  typedef typename ENGINE::T T;
  typedef typename PROBLEM::along along;
  static constexpr int BT = ENGINE::BT, STEPS = BT / 16;
  static constexpr bool STAGES_ALONG = !__is_empty(along) && BT * (int)sizeof(along) <= ENGINE::ALONG_BYTES;

  const PROBLEM &p;                     // the problem
  fx_tile at;                           // the tile of the result
  const int row;                        // of the tile: the first of the two, the other is 8 further
  int m[2];                             // of the problem; rows that do not exist stand for its last one, and are not stored
  typename PROBLEM::results r[2];       // reductions
  typename PROBLEM::values q[2];        // values made of them that elements read
  sums_type sums[2];                    // of the last pass so far

  FX_DEVICE fx_chain_rows(const PROBLEM &problem, int first_row) : p(problem), row(first_row + (int)threadIdx.x / 32 % 4 * 16 + (int)threadIdx.x % 32 / 4) {}

  // Begins with a tile.
  FX_DEVICE void begin(const fx_tile &tile) {
    at = tile;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      m[h] = at.m + row + 8 * h < p.m() ? at.m + row + 8 * h : p.m() - 1;
      r[h] = {}, q[h] = {};
    }
    if constexpr (LAST == 0) begin_pass<0>(sums);
  }
  // Begins with pass W.
  template <int W, class SUMS>
  FX_DEVICE void begin_pass(SUMS (&sums)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (PROBLEM::PREPARES[W]) p.prepare(fx_chain_pass<W>(), q[h], r[h], at.batch, m[h]);
      sums[h] = p.identity(fx_chain_pass<W>());
    }
  }

  // What elements of a block read that is the same for all rows: each lane finds it for some of them, and puts it where the warp's part of the result is staged later.
  FX_DEVICE unsigned staged_along(int t) const { return fx_shared(fx_smem()) + ENGINE::STAGING + row / 16 * ENGINE::STAGING_BYTES + t * 4; }
  FX_DEVICE void bring_along(int t0) const {
    if constexpr (STAGES_ALONG) {
      fx_words<along> w[BT / 32];
#pragma unroll
      for (int i = 0; i < BT / 32; ++i) {
        const int t = t0 + i * 32 + (int)threadIdx.x % 32;
        along u;
        p.prepare_along(u, at.batch, t < p.t() ? t : p.t() - 1);
        w[i] = fx_words<along>::of(u);
      }
      fx_warp_barrier();  // all lanes have read those of the block before
#pragma unroll
      for (int i = 0; i < BT / 32; ++i) {
#pragma unroll
        for (int k = 0; k < fx_words<along>::N; ++k) fx_shared_put1(staged_along(k * BT + i * 32 + (int)threadIdx.x % 32), w[i].w[k]);
      }
      fx_warp_barrier();  // they are there, for all lanes
    }
  }
  // Those of two adjacent elements.
  FX_DEVICE void get_along(along (&u)[2], int t0, int t) const {
    if constexpr (STAGES_ALONG) {
      fx_words<along> w[2];
#pragma unroll
      for (int k = 0; k < fx_words<along>::N; ++k) {
        unsigned x[2];
        fx_shared_get<2>(x, staged_along(k * BT + t - t0));
        w[0].w[k] = x[0], w[1].w[k] = x[1];
      }
      u[0] = w[0].get(), u[1] = w[1].get();
    } else if constexpr (!__is_empty(along)) {
#pragma unroll
      for (int v = 0; v < 2; ++v) p.prepare_along(u[v], at.batch, t + v < p.t() ? t + v : p.t() - 1);
    }
  }

  // Of a block of S in pass W: in the last one makes P in the place of it, and what sums and D so far are scaled by. IS_WHOLE: every row takes all of the block.
  template <int W, bool IS_WHOLE, class SUMS>
  FX_DEVICE void make(SUMS (&sums)[2], float (&s)[ENGINE::FIRST][BT / 2], float (&scale)[2], int t0) {
    constexpr bool MASKS_REST = PROBLEM::LIMITS && (PROBLEM::KEEPS[W] || !PROBLEM::LOADS);  // what lies beyond the axis counts as beyond limits
    const fx_chain_pass<W> pass;
    const int first = t0 + threadIdx.x % 4 * 2;
    along u[2];
    if constexpr (PROBLEM::FINDS_MAXIMA[W]) {
      if constexpr (PROBLEM::FACTORED[W]) {
        if (p.late(pass) != p.factor(pass)) {
#pragma unroll
          for (int i = 0; i < BT / 2; ++i) s[0][i] *= p.factor(pass);
        }
      }
      decltype(p.maxima(pass)) maxima[2] = {p.maxima(pass), p.maxima(pass)};
#pragma unroll
      for (int i = 0; i < BT / 4; ++i) {
        float x[ENGINE::FIRST][2];
        get(x, s, i);
        const fx_chain_at t(first, i / 2 * 8);
        const int h = i % 2;
        if (h == 0) get_along(u, t0, t);
        p.template find_maxima<2, !IS_WHOLE>(pass, maxima[h], x, r[h], q[h], u, at.batch, m[h], t, IS_WHOLE || MASKS_REST ? 2 : p.t() - t);
        if constexpr (PROBLEM::KEEPS[W]) s[0][i * 2] = x[0][0], s[0][i * 2 + 1] = x[0][1];
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if constexpr (PROBLEM::FACTORED[W]) p.multiply(pass, maxima[h]);
#pragma unroll
        for (int mask = 1; mask < 4; mask *= 2) p.combine(pass, maxima[h], fx_from_lane_xor(maxima[h], mask));
        scale[h] = p.rescale(pass, sums[h], maxima[h], r[h], q[h]);
      }
    }
#pragma unroll
    for (int i = 0; i < BT / 4; ++i) {
      float x[ENGINE::FIRST][2];
      get(x, s, i);
      const fx_chain_at t(first, i / 2 * 8);
      const int h = i % 2;
      if (h == 0) get_along(u, t0, t);
      p.template fold<2, !IS_WHOLE>(pass, sums[h], x, r[h], q[h], u, at.batch, m[h], t, IS_WHOLE || MASKS_REST ? 2 : p.t() - t);
      s[0][i * 2] = x[0][0], s[0][i * 2 + 1] = x[0][1];
    }
  }
  // Two adjacent elements of every first contraction.
  static FX_DEVICE void get(float (&x)[ENGINE::FIRST][2], const float (&s)[ENGINE::FIRST][BT / 2], int i) {
#pragma unroll
    for (int j = 0; j < ENGINE::FIRST; ++j) x[j][0] = s[j][i * 2], x[j][1] = s[j][i * 2 + 1];
  }

  // P as the first factor's registers of each step of 16.
  static FX_DEVICE void pack(unsigned (&a)[STEPS][4], const float (&s)[BT / 2]) {
#pragma unroll
    for (int i = 0; i < BT / 4; ++i) {
      const float x[2] = {s[i * 2], s[i * 2 + 1]};
      unsigned w[1];
      fx_pack<2>(w, x, (T *)0);
      a[i / 4][i % 4] = w[0];
    }
  }

  // The end of pass W.
  template <int W, class SUMS>
  FX_DEVICE void end_pass(SUMS (&sums)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int mask = 1; mask < 4; mask *= 2) p.combine(fx_chain_pass<W>(), sums[h], fx_from_lane_xor(sums[h], mask));
      p.finish(fx_chain_pass<W>(), r[h], sums[h], q[h]);
    }
  }
  // The end of the last pass, and what is stored of rows; the results go where the epilogue finds them.
  FX_DEVICE void finish() {
    if constexpr (HAS_SUMS) end_pass<LAST>(sums);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (threadIdx.x % 4 != 0) continue;
      fx_words<typename PROBLEM::results>::of(r[h]).put((unsigned *)(fx_smem() + ENGINE::ROWS), ENGINE::BM, row + 8 * h);
      if constexpr (PROBLEM::STORES_ROWS) {
        if (at.n == 0 && at.m + row + 8 * h < p.m()) p.store_row(r[h], at.batch, m[h]);
      }
    }
  }
};
