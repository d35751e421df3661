/* Two chains of sm_90a in one: they have the first contractions in common, one of them perhaps only one of the two, and rows and the intermediate's axis; each makes a P of its own of S,
   and a D. What is added up first is added up once, and so is what elements of both compute.
   The C of either is the B of a first contraction: its blocks stand in shared memory already, and are read as rows of the other product. A tile has all columns of both.
   The rest is as in driver_chain_wgmma.cuh: consumers of 64 rows take turns, P's registers are the first factor of the second products.
   Invariant: as there; one pass, no maxima and no reductions of rows. */

// fx_chain_twin: a problem, and the other one, whose only first contraction is number SUM of the first's; their C's are the B's of the first contractions C0 and C1
template <class PROBLEM, class OTHER, int SUM_, int C0_, int C1_>
struct fx_chain_twin : PROBLEM {
  typedef OTHER other_problem;
  static constexpr int SUM = SUM_, C0 = C0_, C1 = C1_;
  static_assert(OTHER::INNER_SUMS == 1 && PROBLEM::PASSES == 1 && OTHER::PASSES == 1 && PROBLEM::LIMITS == OTHER::LIMITS, "no such twins");
  OTHER other;
};

// fx_twin_consumer: the products of a consumer's rows
template <class ENGINE, class PROBLEM>
struct fx_twin_consumer {
  typedef typename ENGINE::T T;
  typedef typename PROBLEM::other_problem other_problem;
  static constexpr int BT = ENGINE::BT, BN = ENGINE::BN, BOX = ENGINE::BOX_BYTES, CONSUMERS = ENGINE::CONSUMERS;

  fx_chain_rows<ENGINE, PROBLEM> rows;            // this thread's
  fx_chain_rows<ENGINE, other_problem> others;    // the same rows
  const int number;                               // of the consumer
  fx_wgmma_ring<typename ENGINE::b_stages> b, c;  // B's blocks: the next one, and the one whose second products are still to come
  unsigned a_parity;                              // of A's rows
  float s[2][BT / 2];                             // S of a block; then each P
  unsigned a[2][BT / 16][4];                      // each P, rounded
  fx_wgmma_sums<ENGINE> d[2];                     // each D

  FX_DEVICE fx_twin_consumer(const PROBLEM &p, int consumer)
      : rows(p, consumer * 64),
        others(p.other, consumer * 64),
        number(consumer),
        b{fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0},
        c(b),
        a_parity(0) {}
  FX_DEVICE int anew() const {  // beside so many sums nothing that follows from it is kept
    int n = number;
    fx_hide(n);
    return n;
  }
  FX_DEVICE void wait_turn() const { fx_named_barrier(1 + anew(), 256); }  // the one before has started its products
  FX_DEVICE void pass_turn() const { fx_named_arrive(1 + (anew() + 1) % CONSUMERS, 256); }
  FX_DEVICE unsigned a_barrier() const { return fx_shared(fx_smem()) + ENGINE::A_BARRIERS + anew() * 16; }
  template <int J>
  FX_DEVICE void multiply_first() {
    typedef fx_chain_first<PROBLEM, J> first;
    typedef fx_wgmma_operand<first::a::LAYOUT> rows_of_a;
    typedef fx_wgmma_operand<first::b::LAYOUT> rows_of_b;
    const unsigned long long x = rows_of_a::at(fx_shared(fx_smem()) + (first::A * (ENGINE::BK / 64) * CONSUMERS + anew()) * BOX), y = rows_of_b::at(b.address() + J * (ENGINE::BK / 64) * BOX);
#pragma unroll
    for (int step = 0; step < ENGINE::BK / 16; ++step)
      ENGINE::inner::template multiply<fx_is_bf16<T>::VALUE, first::a::LAYOUT == FX_MN_MAJOR, first::b::LAYOUT == FX_MN_MAJOR, false>(
          s[first::SUM], x + step / 4 * (CONSUMERS * BOX >> 4) + step % 4 * (rows_of_a::STEP >> 4), y + step / 4 * (BOX >> 4) + step % 4 * (rows_of_b::STEP >> 4), step > 0);
  }
  FX_DEVICE void start_first() {
    multiply_first<0>();
    multiply_first<1>();
    fx_wgmma_commit();
  }
  template <int I, int C>
  FX_DEVICE void multiply_second() {
    const unsigned long long y = fx_wgmma_operand<FX_MN_MAJOR>::at(c.address() + C * (ENGINE::BK / 64) * BOX);
#pragma unroll
    for (int step = 0; step < BT / 16; ++step) ENGINE::outer::template multiply<fx_is_bf16<T>::VALUE, true>(d[I].of[0][0], a[I][step], y + step * (fx_wgmma_operand<FX_MN_MAJOR>::STEP >> 4));
  }
  FX_DEVICE void start_second() {
    multiply_second<1, PROBLEM::C1>();
    multiply_second<0, PROBLEM::C0>();
    fx_wgmma_commit();
  }
  // Of the second products of the oldest block nothing is left to read.
  FX_DEVICE void give_back() {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(c.empty());
    c.next();
  }
  FX_DEVICE void give_back_a() const {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(a_barrier() + 8);
  }
  // Makes both P's of a block of S.
  template <bool IS_WHOLE>
  FX_DEVICE void make(int t0) {
    typedef typename PROBLEM::along along;
    typedef typename other_problem::along other_along;
    const fx_chain_pass<0> pass;
    const int first = t0 + threadIdx.x % 4 * 2;
    along u[2];
    other_along w[2];
#pragma unroll
    for (int i = 0; i < BT / 4; ++i) {
      float x[2][2], y[1][2];
      const int t = first + i / 2 * 8, h = i % 2, n_valid = IS_WHOLE || (PROBLEM::LIMITS && !PROBLEM::LOADS) ? 2 : rows.p.t() - t;
      rows.get(x, s, i);
      y[0][0] = x[PROBLEM::SUM][0], y[0][1] = x[PROBLEM::SUM][1];
      if (h == 0) {
        rows.get_along(u, t0, t);
        static_assert(sizeof(along) == sizeof(other_along), "both have what either reads");
        memcpy(w, u, sizeof w);
      }
      rows.p.template fold<2, !IS_WHOLE>(pass, rows.sums[h], x, rows.r[h], rows.q[h], u, rows.at.batch, rows.m[h], t, n_valid);
      others.p.template fold<2, !IS_WHOLE>(pass, others.sums[h], y, others.r[h], others.q[h], w, rows.at.batch, rows.m[h], t, n_valid);
      s[0][i * 2] = x[0][0], s[0][i * 2 + 1] = x[0][1];
      s[1][i * 2] = y[0][0], s[1][i * 2 + 1] = y[0][1];
    }
  }
  // S of the next block, whose products have started, is whole: makes each P of it, to be rounded once the registers may change.
  template <bool IS_WHOLE>
  FX_DEVICE void first_is_done(bool is_last, int t0) {
    b.next();
    if (is_last) give_back_a();
    make<IS_WHOLE>(t0);
  }
  FX_DEVICE void pack() {
    rows.pack(a[0], s[0]);
    rows.pack(a[1], s[1]);
  }
  // A tile's first block, of S: nothing was added to D.
  FX_DEVICE void begin(const fx_chain_work &work) {
    const int block = fx_chain_nth<PROBLEM>(work.first, work.first, work.end);
    fx_mbarrier_wait(a_barrier(), a_parity);
    a_parity ^= 1;
    rows.begin(work.at);
    others.begin(work.at);
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) d[0].of[0][0][i] = d[1].of[0][0][i] = 0.0f;
    fx_mbarrier_wait(b.full(), b.parity);
    wait_turn();
    fx_wgmma_begin();
    start_first();
    pass_turn();
    rows.bring_along(block * BT);
    fx_wgmma_wait<0>();
    if (block >= work.whole_first && block < work.whole_end) first_is_done<true>(work.first + 1 == work.end, block * BT);
    else first_is_done<false>(work.first + 1 == work.end, block * BT);
    pack();
  }
  template <bool IS_WHOLE>
  FX_DEVICE void next_block(int i, int end) {
    const int t0 = (PROBLEM::LIMITS ? i : i - 1) * BT;  // of fx_chain_nth
    fx_mbarrier_wait(b.full(), b.parity);
    wait_turn();
    fx_wgmma_begin();
    if constexpr (ENGINE::IS_EAGER) {
      start_first();
      start_second();
      pass_turn();
      rows.bring_along(t0);
      fx_wgmma_wait<1>();
      first_is_done<IS_WHOLE>(i + 1 == end, t0);
      fx_wgmma_wait<0>();  // from here on P's registers may change
      give_back();
    } else {
      start_second();
      fx_wgmma_wait<0>();
      give_back();
      fx_wgmma_begin();
      start_first();
      pass_turn();
      rows.bring_along(t0);
      fx_wgmma_wait<0>();
      first_is_done<IS_WHOLE>(i + 1 == end, t0);
    }
    pack();
  }
  FX_DEVICE void run_tile(const fx_chain_work &work) {
    begin(work);
    int i = work.first + 1;
    if constexpr (PROBLEM::LIMITS) {
#pragma unroll 1
      for (; i < work.whole_first && i < work.end; ++i) next_block<false>(i, work.end);
#pragma unroll 1
      for (; i < work.whole_end && i < work.end; ++i) next_block<true>(i, work.end);
    }
#pragma unroll 1
    for (; i < work.end; ++i) next_block<!PROBLEM::LIMITS>(i, work.end);
    wait_turn();
    fx_wgmma_begin();
    start_second();
    pass_turn();
    fx_wgmma_wait<0>();
    give_back();
  }
  template <class OF>
  FX_DEVICE void store(const OF &p, const fx_wgmma_sums<ENGINE> &sums) {
    typedef fx_chain_outer<OF, ENGINE::BM> outer;
    int thread = threadIdx.x;
    fx_hide(thread);
    const int warp = thread / 32 % 4;
    const outer of_rows = {p, (const unsigned *)(fx_smem() + ENGINE::ROWS)};
    fx_wgmma_columns<ENGINE, outer> columns;
    if (ENGINE::HAS_ROOM) columns.fetch(of_rows, rows.at.batch, rows.at.n);
    fx_wgmma_epilogue<ENGINE>(of_rows, rows.at, anew() * 64 + warp * 16, columns, sums, fx_shared(fx_smem()) + ENGINE::STAGING + (anew() * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  // Both D's are whole.
  FX_DEVICE void end(int tile) {
    if constexpr (PROBLEM::LIMITS) {
      // Where a C holds what is not finite, neither is its D.
      if (number == 0 && threadIdx.x / 32 % 4 == 0) {
        float z = 0.0f;
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) z = fmaf(d[0].of[0][0][i], 0.0f, fmaf(d[1].of[0][0][i], 0.0f, z));
        unsigned is_special = z != 0.0f;
#pragma unroll
        for (int mask = 1; mask < 32; mask *= 2) is_special |= fx_shuffle_xor(is_special, mask);
        if (threadIdx.x % 32 == 0) fx_chain_list<ENGINE, PROBLEM>::beside()[tile % 2] = is_special;
      }
      fx_overwrites(!fx_chain_list<ENGINE, PROBLEM>::place(tile)[11]);
    }
    rows.finish();
    store<PROBLEM>(rows.p, d[0]);
    store<other_problem>(others.p, d[1]);
    fx_warp_barrier();  // all lanes have stored
    fx_chain_list<ENGINE, PROBLEM>::give_back(tile);
  }
  FX_DEVICE void run(long long batches) {
    fx_chain_list<ENGINE, PROBLEM> list = {0};
    fx_chain_work work;
    if (number == CONSUMERS - 1) pass_turn();  // the first consumer goes first
#pragma unroll 1
    for (int none = 0; none < 2;) {
      if (!list.next(rows.p, batches, work, number)) {
        ++none;
        continue;
      }
      none = 0;
      run_tile(work);
      end(list.i - 1);
    }
    if (number == 0) wait_turn();  // nobody is left behind at a barrier
  }
};

// fx_chain_wgmma_twin: computes the block's tiles of both problems, of all `batches`; tallies as of fx_chain_wgmma
template <class ENGINE, int SUM, int C0, int C1, class PROBLEM, class OTHER>
FX_DEVICE void fx_chain_wgmma_twin(const PROBLEM &problem, const OTHER &other, const fx_tensor_map *maps, long long batches, unsigned long long *tallies) {
  const fx_chain_twin<PROBLEM, OTHER, SUM, C0, C1> p = {problem, other};
  fx_chain_wgmma_run<ENGINE, fx_twin_consumer<ENGINE, fx_chain_twin<PROBLEM, OTHER, SUM, C0, C1>>>(p, maps, batches, tallies);
}
