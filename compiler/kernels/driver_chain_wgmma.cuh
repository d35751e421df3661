/* The chain driver of sm_90a: a problem as for driver_chain.cuh, of one or two first contractions of 16-bit floats, on wgmma.
   A block walks over tiles, as many blocks as multiprocessors. It owns 64 rows of one batch for each of its consumers, warpgroups, and BN columns. A's rows stay in shared memory; one
   thread of the first warpgroup, the producer, copies blocks of B and of C into two rings, boxes of tensor maps as for driver_wgmma.cuh. A consumer has S of its rows in registers, makes
   P of it there, and P's registers are the second product's first factor: the intermediate is nowhere else. The first product of a block and the second one of the block before are
   started together, over the ends of tiles too; while they run for one consumer, another makes P: they take turns. A thread has, as PTX lays accumulators out, two rows of a tile, 8
   apart, and of both every 8 columns two; four lanes share a row.
   Where rows have limits, the other three warps of the first warpgroup are the scheduler: they take tiles from a tally in memory, find out which blocks a tile needs, and look at C where
   no block does.
   Grid: any number of blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES and ENGINE::BM results of rows.
   Invariant: any m and n, k from 1 to BK, t of at least 1; what lies outside an operand counts as zero, and nothing outside the tensors is written. */

// fx_chain_consumer: the products of a consumer's rows
template <class ENGINE, class PROBLEM>
struct fx_chain_consumer {
  typedef typename ENGINE::T T;
  typedef typename PROBLEM::second_segment::template b<0> operand_c;
  static constexpr int BT = ENGINE::BT, BN = ENGINE::BN, BOX = ENGINE::BOX_BYTES, CONSUMERS = ENGINE::CONSUMERS, LAST = PROBLEM::PASSES - 1;

  static constexpr int STEPS_K = PROBLEM::KNOWN_K > 0 && PROBLEM::KNOWN_K < ENGINE::BK ? (PROBLEM::KNOWN_K + 15) / 16 : ENGINE::BK / 16;  // of a first product: beyond are zeros

  fx_chain_rows<ENGINE, PROBLEM> rows;             // this thread's
  const int number;                                // of the consumer
  fx_wgmma_ring<typename ENGINE::b_stages> b;      // B's blocks
  fx_wgmma_ring<typename ENGINE::c_stages> c;      // and C's
  unsigned a_turn;                                 // tiles whose rows of A were read
  float s[ENGINE::FIRST][BT / 2];                  // S of a block, of every first contraction; then P in the place of the first one
  unsigned a[BT / 16][4];                          // P of the block before, rounded
  fx_wgmma_sums<ENGINE> d;                            // D

  FX_DEVICE fx_chain_consumer(const PROBLEM &p, int consumer)
      : rows(p, consumer * 64),
        number(consumer),
        b{fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0},
        c{fx_shared(fx_smem()) + ENGINE::C, fx_shared(fx_smem()) + ENGINE::C_BARRIERS, 0, 0},
        a_turn(0) {}
  // Where sums and what the epilogue reads leave few registers, what follows from the consumer's number is kept in none.
  static constexpr bool IS_FULL = !ENGINE::HAS_ROOM || !__is_empty(typename PROBLEM::template frag<8>);
  FX_DEVICE int anew() const {
    int n = number;
    if (IS_FULL) fx_hide(n);
    return n;
  }
  FX_DEVICE void wait_turn() {  // the one before has started its products
    if constexpr (CONSUMERS > 1) fx_named_barrier(1 + anew(), 256);
  }
  FX_DEVICE void pass_turn() {
    if constexpr (CONSUMERS > 1) fx_named_arrive(1 + (anew() + 1) % CONSUMERS, 256);
  }
  FX_DEVICE void wait_a() const { fx_mbarrier_wait(fx_chain_a_barrier<ENGINE>(anew(), a_turn), fx_chain_a_parity<ENGINE>(a_turn)); }
  template <class RING>
  static FX_DEVICE void give_back(RING &ring) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty());
    ring.next();
  }
  FX_DEVICE void give_back_a() {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(fx_chain_a_barrier<ENGINE>(anew(), a_turn) + 8);
    ++a_turn;
  }
  template <int J>
  FX_DEVICE void multiply_first() {
    typedef fx_chain_first<PROBLEM, J> first;
    typedef fx_wgmma_operand<first::a::LAYOUT> rows_of_a;
    typedef fx_wgmma_operand<first::b::LAYOUT> rows_of_b;
    const unsigned long long x = rows_of_a::at(fx_shared(fx_smem()) + (first::A * (ENGINE::BK / 64) * CONSUMERS + anew()) * BOX + fx_chain_a_stage<ENGINE>(a_turn)),
                             y = rows_of_b::at(b.address() + J * (ENGINE::BK / 64) * (BT / 64) * BOX);
#pragma unroll
    for (int step = 0; step < STEPS_K; ++step)
      ENGINE::inner::template multiply<fx_is_bf16<T>::VALUE, first::a::LAYOUT == FX_MN_MAJOR, first::b::LAYOUT == FX_MN_MAJOR, false>(
          s[first::SUM], x + step / 4 * (CONSUMERS * BOX >> 4) + step % 4 * (rows_of_a::STEP >> 4), y + step / 4 * (BT / 64 * BOX >> 4) + step % 4 * (rows_of_b::STEP >> 4), step > 0);
  }
  FX_DEVICE void start_first() {
    multiply_first<0>();
    if constexpr (ENGINE::FIRST > 1) multiply_first<1>();
    fx_wgmma_commit();
  }
  FX_DEVICE void start_second() {
    const unsigned long long y = fx_wgmma_operand<operand_c::LAYOUT>::at(c.address());
#pragma unroll
    for (int step = 0; step < BT / 16; ++step)
      ENGINE::outer::template multiply<fx_is_bf16<T>::VALUE, operand_c::LAYOUT == FX_MN_MAJOR>(
          d.of[0][0], a[step], y + step / 4 * (BN / 64 * BOX >> 4) + step % 4 * (fx_wgmma_operand<operand_c::LAYOUT>::STEP >> 4));
    fx_wgmma_commit();
  }
  // P of a tile's first block, of S: nothing was added to D.
  FX_DEVICE void begin(const fx_chain_work &work) {
    float scale[2];
    if (work.first + 1 == work.end) give_back_a();
    if constexpr (LAST == 0) rows.begin(work.at);
    else rows.template begin_pass<LAST>(rows.sums);
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) d.of[0][0][i] = 0.0f;
    const int block = fx_chain_nth<PROBLEM>(work.first, work.first, work.end);
    rows.bring_along(block * BT);
    if (block >= work.whole_first && block < work.whole_end) rows.template make<LAST, true>(rows.sums, s, scale, block * BT);
    else rows.template make<LAST, false>(rows.sums, s, scale, block * BT);
    rows.pack(a, s[0]);
  }
  template <bool IS_WHOLE>
  FX_DEVICE void next_block(int i, int end) {
    float scale[2];
    fx_mbarrier_wait(b.full(), b.parity);
    fx_mbarrier_wait(c.full(), c.parity);
    wait_turn();
    fx_wgmma_begin();
    start_first();
    start_second();
    pass_turn();
    rows.bring_along((PROBLEM::LIMITS ? i : i - 1) * BT);
    fx_wgmma_wait<1>();
    give_back(b);
    if (i + 1 == end) give_back_a();
    rows.template make<LAST, IS_WHOLE>(rows.sums, s, scale, (PROBLEM::LIMITS ? i : i - 1) * BT);  // of fx_chain_nth
    fx_wgmma_wait<0>();  // from here on P's registers may change
    give_back(c);
    if constexpr (PROBLEM::SCALED) {
#pragma unroll
      for (int j = 0; j < BN / 2; ++j) d.of[0][0][j] *= scale[j / 2 % 2];
    }
    rows.pack(a, s[0]);
  }
  // D is whole: hands it to the problem.
  FX_DEVICE void end(int tile) {
    typedef fx_chain_outer<PROBLEM, ENGINE::BM> outer;
    int thread = threadIdx.x;
    if (IS_FULL) fx_hide(thread);
    const int warp = thread / 32 % 4;
    const outer of_rows = {rows.p, (const unsigned *)(fx_smem() + ENGINE::ROWS)};
    if constexpr (PROBLEM::LIMITS) {
      // Where C holds what is not finite, neither is D.
      if (number == 0 && warp == 0) {
        float z = 0.0f;
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) z = fmaf(d.of[0][0][i], 0.0f, z);
        unsigned is_special = z != 0.0f;
#pragma unroll
        for (int mask = 1; mask < 32; mask *= 2) is_special |= fx_shuffle_xor(is_special, mask);
        if (threadIdx.x % 32 == 0) fx_chain_list<ENGINE, PROBLEM>::beside()[tile % 2] = is_special;
      }
    }
    if constexpr (PROBLEM::LIMITS) fx_overwrites(!fx_chain_list<ENGINE, PROBLEM>::place(tile)[11]);
    fx_wgmma_columns<ENGINE, outer> columns;
    if (ENGINE::HAS_ROOM) columns.fetch(of_rows, rows.at.batch, rows.at.n);
    rows.finish();
    fx_wgmma_epilogue<ENGINE>(of_rows, rows.at, number * 64 + warp * 16, columns, d, fx_shared(fx_smem()) + ENGINE::STAGING + (number * 4 + warp) * ENGINE::STAGING_BYTES);
    fx_warp_barrier();  // all lanes have stored, and read the results of rows
    fx_chain_list<ENGINE, PROBLEM>::give_back(tile);
  }
  // S of the next block.
  FX_DEVICE void first_product() {
    fx_mbarrier_wait(b.full(), b.parity);
    wait_turn();
    fx_wgmma_begin();
    start_first();
    pass_turn();
    fx_wgmma_wait<0>();
    give_back(b);
  }
  // Pass W and those behind it but for the last: their first products alone.
  template <int W>
  FX_DEVICE void run_pass(const fx_chain_work &work) {
    decltype(rows.p.identity(fx_chain_pass<W>())) sums[2];
    float scale[2];
    rows.template begin_pass<W>(sums);
#pragma unroll 1
    for (int i = work.first; i < work.end; ++i) {
      first_product();
      const int block = fx_chain_nth<PROBLEM>(i, work.first, work.end);
      rows.bring_along(block * BT);
      if (block >= work.whole_first && block < work.whole_end) rows.template make<W, true>(sums, s, scale, block * BT);
      else rows.template make<W, false>(sums, s, scale, block * BT);
    }
    if constexpr (!__is_empty(decltype(rows.p.identity(fx_chain_pass<W>())))) rows.template end_pass<W>(sums);
    if constexpr (W + 1 < LAST) run_pass<W + 1>(work);
  }
  // The last pass over a tile, from its second block on.
  FX_DEVICE void run_blocks(const fx_chain_work &work) {
    int i = work.first + 1;
    if constexpr (PROBLEM::LIMITS) {
#pragma unroll 1
      for (; i < work.whole_first && i < work.end; ++i) next_block<false>(i, work.end);
#pragma unroll 1
      for (; i < work.whole_end && i < work.end; ++i) next_block<true>(i, work.end);
    }
#pragma unroll 1
    for (; i < work.end; ++i) next_block<!PROBLEM::LIMITS>(i, work.end);
  }
  // Tiles one after another, of several passes each.
  FX_DEVICE void run_passes(fx_chain_list<ENGINE, PROBLEM> &list, fx_chain_work &work, long long batches) {
    do {
      const int tile = list.i - 1;
      wait_a();
      rows.begin(work.at);
      run_pass<0>(work);
      first_product();
      begin(work);
      run_blocks(work);
      fx_mbarrier_wait(c.full(), c.parity);
      fx_wgmma_begin();
      start_second();
      fx_wgmma_wait<0>();
      give_back(c);
      end(tile);
    } while (list.next(rows.p, batches, work, number));
  }
  // Tiles one after another, as long as the next one is known: its first product starts beside the last second one, and runs on while D is handed over.
  FX_DEVICE void run_tiles(fx_chain_list<ENGINE, PROBLEM> &list, fx_chain_work &work, long long batches) {
    wait_a();
    first_product();
#pragma unroll 1
    for (;;) {
      begin(work);
      const int tile = list.i - 1;
      run_blocks(work);
      const bool has_next = list.next(rows.p, batches, work, number);
      fx_mbarrier_wait(c.full(), c.parity);
      if (!has_next) {
        fx_wgmma_begin();
        start_second();
        fx_wgmma_wait<0>();
        give_back(c);
        end(tile);
        return;
      }
      wait_a();
      fx_mbarrier_wait(b.full(), b.parity);
      wait_turn();
      fx_wgmma_begin();
      start_second();
      start_first();
      pass_turn();
      fx_wgmma_wait<1>();
      give_back(c);
      end(tile);
      fx_wgmma_wait<0>();
      give_back(b);
    }
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
      if constexpr (LAST > 0) run_passes(list, work, batches);
      else run_tiles(list, work, batches);
      none = 1;
    }
    if (number == 0) wait_turn();  // nobody is left behind at a barrier
  }
};

// fx_chain_wgmma_run: gives the warps of a block their parts
template <class ENGINE, class CONSUMER, class PROBLEM>
FX_DEVICE void fx_chain_wgmma_run(const PROBLEM &p, const fx_tensor_map *maps, long long batches, unsigned long long *tallies) {
  constexpr int CONSUMERS = ENGINE::CONSUMERS;
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) fx_ring<2, 0>{0, fx_shared(fx_smem()) + ENGINE::WORK_BARRIERS, 0, 0}.begin(1, 4 * CONSUMERS + 1);
  fx_chain_start<ENGINE>(maps);
  if (group == 0) {
    fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) fx_chain_producer<ENGINE>(p, maps, batches);
    if constexpr (PROBLEM::LIMITS) {
      if (threadIdx.x >= 32) {
        fx_chain_scheduler<ENGINE, PROBLEM> scheduler = {p, batches, tallies, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}, 0, false, false};
        scheduler.run();
      }
    }
    return;
  }
  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  CONSUMER consumer(p, group - 1);
  consumer.run(batches);
}

// fx_chain_wgmma: computes the block's tiles, of all `batches`; tallies: one, and one for every batch and BN columns, where rows have limits
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_wgmma(const PROBLEM &p, const fx_tensor_map *maps, long long batches, unsigned long long *tallies) {
  fx_chain_wgmma_run<ENGINE, fx_chain_consumer<ENGINE, PROBLEM>>(p, maps, batches, tallies);
}

// fx_chain_masked: a problem whose limits are masks and no more: tiles take all of the intermediate, everybody knows the next one, and C is multiplied wherever it lies
template <class PROBLEM>
struct fx_chain_masked : PROBLEM {
  static constexpr bool LIMITS = false;
  FX_DEVICE fx_chain_masked(const PROBLEM &p) : PROBLEM(p) {}
  template <int N, bool, class PASS, class MAXIMA, class ELEMENTS, class RESULTS, class VALUES, class ALONG>
  FX_DEVICE void find_maxima(PASS pass, MAXIMA &b, ELEMENTS &acc, const RESULTS &r, const VALUES &q, const ALONG &u, int batch, int m, fx_chain_at t, int n_valid) const {
    PROBLEM::template find_maxima<N, true>(pass, b, acc, r, q, u, batch, m, t, n_valid);
  }
  template <int N, bool, class PASS, class SUMS, class ELEMENTS, class RESULTS, class VALUES, class ALONG>
  FX_DEVICE void fold(PASS pass, SUMS &a, ELEMENTS &acc, const RESULTS &r, const VALUES &q, const ALONG &u, int batch, int m, fx_chain_at t, int n_valid) const {
    PROBLEM::template fold<N, true>(pass, a, acc, r, q, u, batch, m, t, n_valid);
  }
};

// fx_chain_wgmma_masked: computes the block's tiles, likewise, of a problem with limits
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_wgmma_masked(const PROBLEM &p, const fx_tensor_map *maps, long long batches, unsigned long long *) {
  fx_chain_wgmma<ENGINE>(fx_chain_masked<PROBLEM>(p), maps, batches, nullptr);
}
