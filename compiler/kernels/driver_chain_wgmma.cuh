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

// fx_held_64: the instruction of 64 columns whose first factor is in registers
struct fx_held_64 {
  static constexpr int N = 64;
  template <bool BF16, int B_MN>
  static FX_DEVICE void multiply(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int adds = 1) {
    fx_wgmma_held_64<BF16, B_MN>(d, a, b, adds);
  }
};

// fx_held_128: the instruction of 128 columns whose first factor is in registers
struct fx_held_128 {
  static constexpr int N = 128;
  template <bool BF16, int B_MN>
  static FX_DEVICE void multiply(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int adds = 1) {
    fx_wgmma_held_128<BF16, B_MN>(d, a, b, adds);
  }
};

// fx_held_256: the instruction of 256 columns whose first factor is in registers
struct fx_held_256 {
  static constexpr int N = 256;
  template <bool BF16, int B_MN>
  static FX_DEVICE void multiply(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int adds = 1) {
    fx_wgmma_held_256<BF16, B_MN>(d, a, b, adds);
  }
};

// fx_chain_stages: a ring of blocks, as fx_wgmma_ring sees it
template <int STAGES_, int BYTES>
struct fx_chain_stages {
  static constexpr int STAGES = STAGES_, STAGE_BYTES = BYTES;
};

// fx_wgmma_chain: 64 rows a consumer, INNER::N of the intermediate at a time, OUTER::N columns, k up to BK; FIRST first contractions, of as many A's as AS
// IS_TWIN: there are two results, and C's blocks are those of B's (driver_chain_twin.cuh)
template <class T_, class INNER, class OUTER, int BK_, int CONSUMERS_, int STAGES_, int FIRST_ = 1, int AS = 1, bool IS_TWIN_ = false>
struct fx_wgmma_chain {
  typedef float sum;
  typedef T_ T;
  typedef INNER inner;
  typedef OUTER outer;
  static constexpr int BK = BK_, BT = INNER::N, BN = OUTER::N, CONSUMERS = CONSUMERS_, BM = 64 * CONSUMERS, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int BOX_BYTES = 64 * 64 * (int)sizeof(T), STAGES = STAGES_;
  static constexpr int FIRST = FIRST_, A_BYTES = AS * (BK / 64) * CONSUMERS * BOX_BYTES;
  typedef fx_chain_stages<STAGES, FIRST * (BK / 64) * (BT / 64) * BOX_BYTES> b_stages;
  static constexpr bool IS_TWIN = IS_TWIN_, IS_EAGER = BN <= 64;  // of twins: whether registers allow starting both kinds of products together
  typedef fx_chain_stages<STAGES, IS_TWIN ? 0 : BT / 64 * (BN / 64) * BOX_BYTES> c_stages;
  // The epilogue, as fx_wgmma_epilogue asks for it.
  static constexpr bool ALIGNED = true, HAS_ROOM = CONSUMERS == 2 && BN * (1 + IS_TWIN) <= 128;
  static constexpr int SUMS = 1, BESIDE = 1, SLABS = 0, PARTS = 1, CHUNK = 32, PITCH = CHUNK * 4 + 32, STAGING_BYTES = 16 * PITCH, ALONG_BYTES = STAGING_BYTES;
  // In shared memory, in bytes: A's rows, B's blocks, C's blocks, a chunk of the result for every warp, barriers, what the scheduler writes, results of the rows.
  static constexpr int B = A_BYTES, C = B + STAGES * b_stages::STAGE_BYTES, STAGING = C + STAGES * c_stages::STAGE_BYTES;
  static constexpr int BARRIERS = STAGING + CONSUMERS * 4 * STAGING_BYTES, A_BARRIERS = BARRIERS, WORK_BARRIERS = A_BARRIERS + CONSUMERS * 16, B_BARRIERS = WORK_BARRIERS + 32;
  static constexpr int C_BARRIERS = B_BARRIERS + STAGES * 16, WORK = C_BARRIERS + STAGES * 16, WORK_WORDS = 12, ROWS = WORK + (2 * WORK_WORDS + 8) * 4, SHARED_BYTES = ROWS;
  static constexpr int PRODUCER_REGISTERS = HAS_ROOM ? 40 : CONSUMERS == 3 ? 32 : 24, CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : HAS_ROOM ? 232 : 240;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(BK % 64 == 0 && BT % 64 == 0 && BN % 64 == 0 && (CONSUMERS == 2 || CONSUMERS == 3), "no such tile");
};

// fx_chain_copies: starts copying, of tiles one after the other, A's rows and blocks of B and of C
template <class ENGINE, class PROBLEM>
struct fx_chain_copies {
  typedef typename ENGINE::b_stages b_stages;
  typedef typename ENGINE::c_stages c_stages;

  const PROBLEM &p;
  const fx_tensor_map *const maps;
  fx_wgmma_ring<b_stages> b = {fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0};
  fx_wgmma_ring<c_stages> c = {fx_shared(fx_smem()) + ENGINE::C, fx_shared(fx_smem()) + ENGINE::C_BARRIERS, 0, 0};
  unsigned parity = 0;  // of A's rows

  FX_DEVICE void start_a(const fx_tile &at) {
#pragma unroll 1
    for (int consumer = 0; consumer < ENGINE::CONSUMERS; ++consumer) {
      const unsigned full = fx_shared(fx_smem()) + ENGINE::A_BARRIERS + consumer * 16;
      fx_mbarrier_wait(full + 8, parity ^ 1);
      fx_mbarrier_expect(full, ENGINE::A_BYTES / ENGINE::CONSUMERS);
      load_a<0>(at, consumer, full);
      if constexpr (ENGINE::FIRST > 1) load_a<1>(at, consumer, full);
    }
    parity ^= 1;
  }
  template <int J>
  FX_DEVICE void load_a(const fx_tile &at, int consumer, unsigned full) {
    typedef fx_chain_first<PROBLEM, J> first;
    if constexpr (first::HAS_A) {
#pragma unroll
      for (int k = 0; k < ENGINE::BK; k += 64)
        fx_wgmma_load<64, typename first::a>(p, maps + first::MAP_A, nullptr,
                                             fx_shared(fx_smem()) + ((first::A * (ENGINE::BK / 64) + k / 64) * ENGINE::CONSUMERS + consumer) * ENGINE::BOX_BYTES, full, 0, at.batch, 0,
                                             at.m + consumer * 64, 64, k);
    }
  }
  template <int J>
  FX_DEVICE void load_b(const fx_tile &at, int t0) {
    typedef fx_chain_first<PROBLEM, J> first;
#pragma unroll
    for (int k = 0; k < ENGINE::BK; k += 64)
      fx_wgmma_load<ENGINE::BT, typename first::b>(p, maps + first::MAP_B, nullptr, b.address() + (J * (ENGINE::BK / 64) + k / 64) * (ENGINE::BT / 64) * ENGINE::BOX_BYTES, b.full(), 0, at.batch,
                                                   0, t0, ENGINE::BT, k);
  }
  FX_DEVICE void start_b(const fx_tile &at, int t0) {
    fx_mbarrier_wait(b.empty(), b.parity ^ 1);
    fx_mbarrier_expect(b.full(), b_stages::STAGE_BYTES);
    load_b<0>(at, t0);
    if constexpr (ENGINE::FIRST > 1) load_b<1>(at, t0);
    b.next();
  }
  // Blocks `first` up to `end` of a tile, in every pass.
  FX_DEVICE void start(const fx_tile &at, int first, int end) {
#pragma unroll 1
    for (int pass = 0; pass + 1 < PROBLEM::PASSES; ++pass) {
#pragma unroll 1
      for (int i = first; i < end; ++i) {
        start_b(at, fx_chain_nth<PROBLEM>(i, first, end) * ENGINE::BT);
        if (pass == 0 && i == first) start_a(at);
      }
    }
#pragma unroll 1
    for (int i = first; i < end; ++i) {
      const int t0 = fx_chain_nth<PROBLEM>(i, first, end) * ENGINE::BT;
      start_b(at, t0);
      if (PROBLEM::PASSES == 1 && i == first) start_a(at);
      if constexpr (ENGINE::IS_TWIN) continue;
      fx_mbarrier_wait(c.empty(), c.parity ^ 1);
      fx_mbarrier_expect(c.full(), c_stages::STAGE_BYTES);
#pragma unroll
      for (int t = 0; t < ENGINE::BT; t += 64)
        fx_wgmma_load<ENGINE::BN, typename PROBLEM::second_segment::template b<0>>(p, maps + fx_chain_map_c<PROBLEM>(), nullptr, c.address() + t / 64 * (ENGINE::BN / 64) * ENGINE::BOX_BYTES, c.full(), 0, at.batch, 0, at.n,
                                                                                   ENGINE::BN, t0 + t);
      c.next();
    }
  }
};

// fx_chain_producer: starts copying the block's tiles
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_producer(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  fx_chain_copies<ENGINE, PROBLEM> copies = {p, maps};
  fx_chain_list<ENGINE, PROBLEM> list = {0};
  fx_chain_work work;
#pragma unroll 1
  for (int none = 0; none < 2;) {
    if (!list.next(p, batches, work, 0)) {
      ++none;
      continue;
    }
    none = 0;
    copies.start(work.at, work.first, work.end);
    list.give_back(list.i - 1);
  }
}

// fx_chain_start: what all threads of a block do at first
template <class ENGINE>
FX_DEVICE void fx_chain_start(const fx_tensor_map *maps) {
  const unsigned shared = fx_shared(fx_smem());
  if (threadIdx.x == 0) {
    fx_tma_prefetch(maps + 2);
    for (int c = 0; c < ENGINE::CONSUMERS; ++c) fx_ring<1, 0>{0, shared + ENGINE::A_BARRIERS + c * 16, 0, 0}.begin(1, 4);
    fx_wgmma_ring<typename ENGINE::b_stages>{0, shared + ENGINE::B_BARRIERS, 0, 0}.begin(1, 4 * ENGINE::CONSUMERS);
    fx_wgmma_ring<typename ENGINE::c_stages>{0, shared + ENGINE::C_BARRIERS, 0, 0}.begin(1, 4 * ENGINE::CONSUMERS);
  }
  fx_wgmma_start(maps);
}

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
        const int t = first + i / 2 * 8, h = i % 2;
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
      const int t = first + i / 2 * 8, h = i % 2;
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

// fx_chain_consumer: the products of a consumer's rows
template <class ENGINE, class PROBLEM>
struct fx_chain_consumer {
  typedef typename ENGINE::T T;
  typedef typename PROBLEM::second_segment::template b<0> operand_c;
  static constexpr int BT = ENGINE::BT, BN = ENGINE::BN, BOX = ENGINE::BOX_BYTES, CONSUMERS = ENGINE::CONSUMERS, LAST = PROBLEM::PASSES - 1;

  fx_chain_rows<ENGINE, PROBLEM> rows;             // this thread's
  const int number;                                // of the consumer
  fx_wgmma_ring<typename ENGINE::b_stages> b;      // B's blocks
  fx_wgmma_ring<typename ENGINE::c_stages> c;      // and C's
  unsigned a_parity;                               // of A's rows
  float s[ENGINE::FIRST][BT / 2];                  // S of a block, of every first contraction; then P in the place of the first one
  unsigned a[BT / 16][4];                          // P of the block before, rounded
  fx_wgmma_sums<ENGINE> d;                            // D

  FX_DEVICE fx_chain_consumer(const PROBLEM &p, int consumer)
      : rows(p, consumer * 64),
        number(consumer),
        b{fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0},
        c{fx_shared(fx_smem()) + ENGINE::C, fx_shared(fx_smem()) + ENGINE::C_BARRIERS, 0, 0},
        a_parity(0) {}
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
  FX_DEVICE unsigned a_barrier() const { return fx_shared(fx_smem()) + ENGINE::A_BARRIERS + anew() * 16; }
  template <class RING>
  static FX_DEVICE void give_back(RING &ring) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty());
    ring.next();
  }
  FX_DEVICE void give_back_a() const {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(a_barrier() + 8);
  }
  template <int J>
  FX_DEVICE void multiply_first() {
    typedef fx_chain_first<PROBLEM, J> first;
    typedef fx_wgmma_operand<first::a::LAYOUT> rows_of_a;
    typedef fx_wgmma_operand<first::b::LAYOUT> rows_of_b;
    const unsigned long long x = rows_of_a::at(fx_shared(fx_smem()) + (first::A * (ENGINE::BK / 64) * CONSUMERS + anew()) * BOX),
                             y = rows_of_b::at(b.address() + J * (ENGINE::BK / 64) * (BT / 64) * BOX);
#pragma unroll
    for (int step = 0; step < ENGINE::BK / 16; ++step)
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
    a_parity ^= 1;
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
      fx_mbarrier_wait(a_barrier(), a_parity);
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
    fx_mbarrier_wait(a_barrier(), a_parity);
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
      fx_mbarrier_wait(a_barrier(), a_parity);
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
        fx_chain_scheduler<ENGINE, PROBLEM> scheduler = {p, batches, tallies, {-1, 0, 0}, {-1, 0, 0}, 0, false, false};
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
