/* The engine of the chain driver of sm_90a, and its producer: the blocks of A, B and C, copied into rings of stages by boxes of tensor maps. */

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
  static constexpr int A_STAGES = CONSUMERS == 1 ? 2 : 1;  // of A's rows: those of the next tile are there before the last product of this one
  typedef fx_chain_stages<STAGES, FIRST * (BK / 64) * (BT / 64) * BOX_BYTES> b_stages;
  static constexpr bool IS_TWIN = IS_TWIN_, IS_EAGER = BN <= 64;  // of twins: whether registers allow starting both kinds of products together
  typedef fx_chain_stages<STAGES, IS_TWIN ? 0 : BT / 64 * (BN / 64) * BOX_BYTES> c_stages;
  // The epilogue, as fx_wgmma_epilogue asks for it.
  static constexpr int BLOCKS = CONSUMERS > 1 ? 1 : BK <= 64 && BN <= 64 ? 3 : 2;  // that an SM holds
  static constexpr bool ALIGNED = true, HAS_ROOM = BLOCKS < 3 && CONSUMERS < 3 && BN * (1 + IS_TWIN) <= 128;
  static constexpr int SUMS = 1, BESIDE = 1, SLABS = 0, PARTS = 1, CHUNK = 32, PITCH = CHUNK * 4 + 32, STAGING_BYTES = 16 * PITCH, ALONG_BYTES = STAGING_BYTES;
  // In shared memory, in bytes: A's rows, B's blocks, C's blocks, a chunk of the result for every warp, barriers, what the scheduler writes, results of the rows.
  static constexpr int B = A_STAGES * A_BYTES, C = B + STAGES * b_stages::STAGE_BYTES, STAGING = C + STAGES * c_stages::STAGE_BYTES;
  static constexpr int BARRIERS = STAGING + CONSUMERS * 4 * STAGING_BYTES, A_BARRIERS = BARRIERS, WORK_BARRIERS = A_BARRIERS + CONSUMERS * A_STAGES * 16, B_BARRIERS = WORK_BARRIERS + 32;
  static constexpr int C_BARRIERS = B_BARRIERS + STAGES * 16, WORK = C_BARRIERS + STAGES * 16, WORK_WORDS = 12, ROWS = WORK + (3 * WORK_WORDS + 8) * 4, SHARED_BYTES = ROWS;
  static constexpr int PRODUCER_REGISTERS = BLOCKS == 3 ? 32 : HAS_ROOM ? 40 : CONSUMERS == 3 ? 32 : 24;
  static constexpr int CONSUMER_REGISTERS = BLOCKS == 3 ? 128 : BLOCKS == 2 ? 216 : CONSUMERS == 3 ? 160 : HAS_ROOM ? 232 : 240;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / BLOCKS / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(BK % 64 == 0 && BT % 64 == 0 && BN % 64 == 0 && CONSUMERS <= 3, "no such tile");
};

// fx_chain_a_barrier: of a consumer's rows of A, of which tile number `turn` has the stage; the one that says that they were read is 8 bytes further
template <class ENGINE>
FX_DEVICE unsigned fx_chain_a_barrier(int consumer, unsigned turn) { return fx_shared(fx_smem()) + ENGINE::A_BARRIERS + (consumer * ENGINE::A_STAGES + turn % ENGINE::A_STAGES) * 16; }
template <class ENGINE>
FX_DEVICE unsigned fx_chain_a_parity(unsigned turn) { return turn / ENGINE::A_STAGES & 1; }
template <class ENGINE>
FX_DEVICE unsigned fx_chain_a_stage(unsigned turn) { return turn % ENGINE::A_STAGES * ENGINE::A_BYTES; }

// fx_chain_copies: starts copying, of tiles one after the other, A's rows and blocks of B and of C
template <class ENGINE, class PROBLEM>
struct fx_chain_copies {
  typedef typename ENGINE::b_stages b_stages;
  typedef typename ENGINE::c_stages c_stages;

  const PROBLEM &p;
  const fx_tensor_map *const maps;
  fx_wgmma_ring<b_stages> b = {fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0};
  fx_wgmma_ring<c_stages> c = {fx_shared(fx_smem()) + ENGINE::C, fx_shared(fx_smem()) + ENGINE::C_BARRIERS, 0, 0};
  unsigned a_turn = 0;  // tiles whose rows of A were asked for

  FX_DEVICE void start_a(const fx_tile &at) {
#pragma unroll 1
    for (int consumer = 0; consumer < ENGINE::CONSUMERS; ++consumer) {
      const unsigned full = fx_chain_a_barrier<ENGINE>(consumer, a_turn);
      fx_mbarrier_wait(full + 8, fx_chain_a_parity<ENGINE>(a_turn) ^ 1);
      fx_mbarrier_expect(full, ENGINE::A_BYTES / ENGINE::CONSUMERS);
      load_a<0>(at, consumer, full);
      if constexpr (ENGINE::FIRST > 1) load_a<1>(at, consumer, full);
    }
    ++a_turn;
  }
  template <int J>
  FX_DEVICE void load_a(const fx_tile &at, int consumer, unsigned full) {
    typedef fx_chain_first<PROBLEM, J> first;
    if constexpr (first::HAS_A) {
#pragma unroll
      for (int k = 0; k < ENGINE::BK; k += 64)
        fx_wgmma_load<64, typename first::a>(p, maps + first::MAP_A, nullptr,
                                             fx_shared(fx_smem()) + ((first::A * (ENGINE::BK / 64) + k / 64) * ENGINE::CONSUMERS + consumer) * ENGINE::BOX_BYTES +
                                                 fx_chain_a_stage<ENGINE>(a_turn), full, 0, at.batch, 0,
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
    for (int c = 0; c < ENGINE::CONSUMERS * ENGINE::A_STAGES; ++c) fx_ring<1, 0>{0, shared + ENGINE::A_BARRIERS + c * 16, 0, 0}.begin(1, 4);
    fx_wgmma_ring<typename ENGINE::b_stages>{0, shared + ENGINE::B_BARRIERS, 0, 0}.begin(1, 4 * ENGINE::CONSUMERS);
    fx_wgmma_ring<typename ENGINE::c_stages>{0, shared + ENGINE::C_BARRIERS, 0, 0}.begin(1, 4 * ENGINE::CONSUMERS);
  }
  fx_wgmma_start(maps);
}
