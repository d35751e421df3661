/* The chain driver of sm_90a: a problem as for driver_chain.cuh, of one first contraction of 16-bit floats and one pass over the intermediate, on wgmma.
   A block owns 64 rows of one batch for each of its consumers, warpgroups, and BN columns. A's rows stay in shared memory; one thread of the first warpgroup, the producer, copies
   blocks of B and of C into two rings, boxes of tensor maps as for driver_wgmma.cuh. A consumer has S of its rows in registers, makes P of it there, and P's registers are the
   second product's first factor: the intermediate is nowhere else. The first product of a block and the second one of the block before are started together; while they run for one
   consumer, another makes P: they take turns. A thread has, as PTX lays accumulators out, two rows of a tile, 8 apart, and of both every 8 columns two; four lanes share a row.
   Grid: ceil(m / BM) * ceil(n / BN) * batches blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES and ENGINE::BM results of rows.
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

// fx_wgmma_chain: 64 rows a consumer, INNER::N of the intermediate at a time, OUTER::N columns, k up to BK
template <class T_, class INNER, class OUTER, int BK_, int CONSUMERS_, int STAGES_>
struct fx_wgmma_chain {
  typedef T_ T;
  typedef INNER inner;
  typedef OUTER outer;
  static constexpr int BK = BK_, BT = INNER::N, BN = OUTER::N, CONSUMERS = CONSUMERS_, BM = 64 * CONSUMERS, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int BOX_BYTES = 64 * 64 * (int)sizeof(T), STAGES = STAGES_;
  static constexpr int A_BYTES = BK / 64 * CONSUMERS * BOX_BYTES;
  typedef fx_chain_stages<STAGES, BK / 64 * (BT / 64) * BOX_BYTES> b_stages;
  typedef fx_chain_stages<STAGES, BT / 64 * (BN / 64) * BOX_BYTES> c_stages;
  // The epilogue, as fx_wgmma_epilogue asks for it.
  static constexpr bool ALIGNED = true, HAS_ROOM = CONSUMERS == 2 && BN <= 128;
  static constexpr int SUMS = 1, BESIDE = 1, SLABS = 0, PARTS = 1, CHUNK = 32, PITCH = CHUNK * 4 + 32, STAGING_BYTES = 16 * PITCH;
  // In shared memory, in bytes: A's rows, B's blocks, C's blocks, a chunk of the result for every warp, barriers, words that threads leave for others, results of the rows.
  static constexpr int B = A_BYTES, C = B + STAGES * b_stages::STAGE_BYTES, STAGING = C + STAGES * c_stages::STAGE_BYTES;
  static constexpr int BARRIERS = STAGING + CONSUMERS * 4 * STAGING_BYTES, HAS_A = BARRIERS, HAS_LOOKED = BARRIERS + 8, B_BARRIERS = BARRIERS + 16, C_BARRIERS = B_BARRIERS + STAGES * 16;
  static constexpr int WORDS = C_BARRIERS + STAGES * 16, ROWS = WORDS + (8 * CONSUMERS + 4) * 4, SHARED_BYTES = ROWS;
  static constexpr int PRODUCER_REGISTERS = HAS_ROOM ? 40 : 24, CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : HAS_ROOM ? 232 : 240;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(BK % 64 == 0 && BT % 64 == 0 && BN % 64 == 0 && (CONSUMERS == 2 || CONSUMERS == 3), "no such tile");
};

// fx_chain_tile: where a problem's rows end the last ones come first, as they take longest, of as many batches in turns as have their B and C in the L2 cache together
template <class ENGINE, class PROBLEM>
FX_DEVICE fx_tile fx_chain_tile(const PROBLEM &p, int number, long long batches) {
  if constexpr (!PROBLEM::ENDS) return fx_find_tile(number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
  const long long CACHE = 40 << 20;
  const int tiles_m = (p.m() - 1) / ENGINE::BM + 1, tiles_n = (p.n() - 1) / ENGINE::BN + 1, tiles = tiles_m * tiles_n;
  const long long bytes = (long long)p.t() * (ENGINE::BK + p.n()) * (int)sizeof(typename ENGINE::T), fitting = CACHE / bytes;
  const int group = fitting < 1 ? 1 : fitting < batches ? (int)fitting : (int)batches;
  const int first = (unsigned)number / (tiles * group) * group, in_group = (unsigned)number % (tiles * group);
  const int n_batches = batches - first < group ? (int)(batches - first) : group, tile = in_group / n_batches;
  return fx_tile{first + in_group % n_batches, (tiles_m - 1 - tile / tiles_n) * ENGINE::BM, tile % tiles_n * ENGINE::BN};
}

// fx_chain_walk: which blocks of the intermediate a block of threads walks over
template <class ENGINE, class PROBLEM>
struct fx_chain_walk {
  int n;      // blocks, for all that is known; at least one, which is under way early
  int n_all;  // blocks of the whole axis

  static FX_DEVICE unsigned *words() { return (unsigned *)(fx_smem() + ENGINE::WORDS); }
  FX_DEVICE fx_chain_walk(int end, int t) : n(end > 1 ? (end + ENGINE::BT - 1) / ENGINE::BT : 1), n_all((t + ENGINE::BT - 1) / ENGINE::BT) {}
  // Whether there is block i. Where no row takes anything from i on, C may yet hold there what is not 0 when multiplied by 0: three warps look it up meanwhile.
  FX_DEVICE bool has(int i) {
    if (i < n) return true;
    if (!PROBLEM::ENDS || n == n_all) return false;
    fx_mbarrier_wait(fx_shared(fx_smem()) + ENGINE::HAS_LOOKED, 0);
    const unsigned *found = words() + 8 * ENGINE::CONSUMERS;
    if (!(found[1] | found[2] | found[3])) return false;
    n = n_all;
    return true;
  }
};

// fx_chain_flag: the flag by which a tile of the last rows tells another of the same batch and columns whether all of C is finite there
// Either puts its word in the place of what was there; who finds the other's puts 0. So nobody waits, flags need no preparation: they may hold anything but these words, and none is
// left behind.
struct fx_chain_flag {
  static constexpr unsigned long long ASKED = 0xa5ced7e11a7e0001ull, FINITE = 0xf1417ec0175a5a01ull, SPECIAL = 0x5bec1a1c07a5a502ull;
  // Whether it is known that all of C is finite.
  static FX_DEVICE bool ask(unsigned long long *flag) {
    const unsigned long long told = fx_exchange(flag, ASKED);
    if (told == FINITE || told == SPECIAL) fx_exchange(flag, 0);
    return told == FINITE;
  }
  static FX_DEVICE void tell(unsigned long long *flag, bool is_finite) {
    if (fx_exchange(flag, is_finite ? FINITE : SPECIAL) == ASKED) fx_exchange(flag, 0);
  }
  // That of the tile whose first row is m.
  template <class ENGINE, class PROBLEM>
  static FX_DEVICE unsigned long long *of(const PROBLEM &p, unsigned long long *flags, const fx_tile &at, int m) {
    const long long tiles_m = (p.m() + (ENGINE::BM - 1ll)) / ENGINE::BM, tiles_n = (p.n() + (ENGINE::BN - 1ll)) / ENGINE::BN;
    return flags + (at.batch * tiles_n + at.n / ENGINE::BN) * tiles_m + m / ENGINE::BM;
  }
};

// fx_chain_look: has three warps leave word whether C, from row t of the intermediate on, holds what is not 0 when multiplied by 0; a tile of the last rows may have told
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_look(const PROBLEM &p, const fx_tile &at, int t, bool is_last, unsigned long long *flags) {
  typedef typename PROBLEM::second_segment::template b<0> operand;
  constexpr int V = 8, ACROSS = ENGINE::BN / V, WARPS = 3;
  const int thread = threadIdx.x - 32, lane = threadIdx.x % 32, n_rows = ENGINE::BN < p.n() - at.n ? ENGINE::BN : p.n() - at.n;
  unsigned *found = fx_chain_walk<ENGINE, PROBLEM>::words() + 8 * ENGINE::CONSUMERS;
  if (thread == 0) found[0] = !is_last && fx_chain_flag::ask(fx_chain_flag::of<ENGINE>(p, flags, at, at.m));
  fx_named_barrier(15, WARPS * 32);  // what was told is there
  if (t >= p.t()) return;
  float z = 0.0f;
  if (!found[0]) {
    const auto *from = operand::at(p, 0, at.batch, 0) + at.n * operand::stride_mn(p, 0);
    float x[V];
    if constexpr (operand::LAYOUT == FX_MN_MAJOR) {
      static_assert(WARPS * 32 % ACROSS == 0, "threads do not keep to columns");
      const int col = thread % ACROSS * V;
      const long long step = operand::stride_k(p, 0);
#pragma unroll 2
      for (int i = t + thread / ACROSS; i < p.t(); i += WARPS * 32 / ACROSS) {
        if (col >= n_rows) break;
        fx_load<V, true>(x, from + col + i * step, V);
#pragma unroll
        for (int v = 0; v < V; ++v) z = fmaf(x[v], 0.0f, z);
      }
    } else {
      const long long step = operand::stride_mn(p, 0);
#pragma unroll 1
      for (int row = thread / 32; row < n_rows; row += WARPS) {
#pragma unroll 4
        for (int i = t / V * V + lane * V; i < p.t(); i += 32 * V) {
          fx_load<V, true>(x, from + row * step + i, V);
#pragma unroll
          for (int v = 0; v < V; ++v) z = fmaf(x[v], 0.0f, z);
        }
      }
    }
  }
  unsigned is_found = z != 0.0f;
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) is_found |= fx_shuffle_xor(is_found, mask);
  if (lane != 0) return;
  found[threadIdx.x / 32] = is_found;
  fx_mbarrier_arrive(fx_shared(fx_smem()) + ENGINE::HAS_LOOKED);
}

// fx_chain_load_b: starts copying block i of B
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_load_b(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, const fx_wgmma_ring<typename ENGINE::b_stages> &b, int i) {
  fx_mbarrier_expect(b.full(), ENGINE::b_stages::STAGE_BYTES);
#pragma unroll
  for (int k = 0; k < ENGINE::BK; k += 64)
    fx_wgmma_load<ENGINE::BT, typename PROBLEM::first_segment::template b<0>>(p, maps + 1, nullptr, b.address() + k / 64 * (ENGINE::BT / 64) * ENGINE::BOX_BYTES, b.full(), 0, at.batch, 0,
                                                                              i * ENGINE::BT, ENGINE::BT, k);
}

// fx_chain_producer: starts copying the blocks of B, the first of which is under way, and of C, one after the other
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_producer(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, fx_wgmma_ring<typename ENGINE::b_stages> &b, fx_chain_walk<ENGINE, PROBLEM> walk) {
  typedef typename ENGINE::c_stages c_stages;
  const unsigned shared = fx_shared(fx_smem());
  fx_wgmma_ring<c_stages> c = {shared + ENGINE::C, shared + ENGINE::C_BARRIERS, 0, 0};
#pragma unroll 1
  for (int i = 0; walk.has(i); ++i) {
    if (i > 0) {
      fx_mbarrier_wait(b.empty(), b.parity ^ 1);
      fx_chain_load_b<ENGINE>(p, maps, at, b, i);
    }
    b.next();
    fx_mbarrier_wait(c.empty(), c.parity ^ 1);
    fx_mbarrier_expect(c.full(), c_stages::STAGE_BYTES);
#pragma unroll
    for (int t = 0; t < ENGINE::BT; t += 64)
      fx_wgmma_load<ENGINE::BN, typename PROBLEM::second_segment::template b<0>>(p, maps + 2, nullptr, c.address() + t / 64 * (ENGINE::BN / 64) * ENGINE::BOX_BYTES, c.full(), 0, at.batch, 0, at.n,
                                                                                 ENGINE::BN, i * ENGINE::BT + t);
    c.next();
  }
}

// fx_chain_rows: what a thread of a consumer knows of its two rows
template <class ENGINE, class PROBLEM>
struct fx_chain_rows {
  typedef decltype(((const PROBLEM *)0)->identity(fx_chain_pass<0>())) sums_type;
  static constexpr bool HAS_SUMS = !__is_empty(sums_type);
  typedef typename ENGINE::T T;
  static constexpr int BT = ENGINE::BT, STEPS = BT / 16;

  const PROBLEM &p;                     // the problem
  const fx_tile at;                     // the tile of the result
  const int row;                        // of the tile: the first of the two, the other is 8 further
  int m[2];                             // of the problem; rows that do not exist stand for its last one, and are not stored
  typename PROBLEM::results r[2];       // reductions
  typename PROBLEM::values q[2];        // values made of them that elements read
  sums_type sums[2];                    // of the pass so far

  FX_DEVICE fx_chain_rows(const PROBLEM &problem, const fx_tile &tile, int first_row)
      : p(problem), at(tile), row(first_row + (int)threadIdx.x / 32 % 4 * 16 + (int)threadIdx.x % 32 / 4), r(), q() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      m[h] = at.m + row + 8 * h < p.m() ? at.m + row + 8 * h : p.m() - 1;
      if constexpr (PROBLEM::PREPARES[0]) p.prepare(fx_chain_pass<0>(), q[h], r[h], at.batch, m[h]);
      sums[h] = p.identity(fx_chain_pass<0>());
    }
  }

  // Makes P of a block of S in the place of it, and what sums and D so far are scaled by. IS_WHOLE: every row takes all of the block.
  template <bool IS_WHOLE>
  FX_DEVICE void make(float (&s)[BT / 2], float (&scale)[2], int t0) {
    const int first = t0 + threadIdx.x % 4 * 2;
    if constexpr (PROBLEM::FINDS_MAXIMA[0]) {
      decltype(p.maxima(fx_chain_pass<0>())) maxima[2] = {p.maxima(fx_chain_pass<0>()), p.maxima(fx_chain_pass<0>())};
#pragma unroll
      for (int i = 0; i < BT / 4; ++i) {
        float x[1][2] = {{s[i * 2], s[i * 2 + 1]}};
        const int t = first + i / 2 * 8, h = i % 2;
        p.template find_maxima<2, !IS_WHOLE>(fx_chain_pass<0>(), maxima[h], x, r[h], q[h], at.batch, m[h], t, IS_WHOLE ? 2 : p.t() - t);
        if constexpr (PROBLEM::KEEPS[0]) s[i * 2] = x[0][0], s[i * 2 + 1] = x[0][1];
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int mask = 1; mask < 4; mask *= 2) p.combine(fx_chain_pass<0>(), maxima[h], fx_from_lane_xor(maxima[h], mask));
        scale[h] = p.rescale(fx_chain_pass<0>(), sums[h], maxima[h], r[h], q[h]);
      }
    }
#pragma unroll
    for (int i = 0; i < BT / 4; ++i) {
      float x[1][2] = {{s[i * 2], s[i * 2 + 1]}};
      const int t = first + i / 2 * 8, h = i % 2;
      p.fold(fx_chain_pass<0>(), sums[h], x, r[h], q[h], at.batch, m[h], t, IS_WHOLE ? 2 : p.t() - t);
      s[i * 2] = x[0][0], s[i * 2 + 1] = x[0][1];
    }
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

  // The last of the pass, and what is stored of rows; the results go where the epilogue finds them.
  FX_DEVICE void finish() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (HAS_SUMS) {
#pragma unroll
        for (int mask = 1; mask < 4; mask *= 2) p.combine(fx_chain_pass<0>(), sums[h], fx_from_lane_xor(sums[h], mask));
        p.finish(fx_chain_pass<0>(), r[h], sums[h], q[h]);
      }
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
  typedef typename PROBLEM::first_segment::a operand_a;
  typedef typename PROBLEM::first_segment::template b<0> operand_b;
  typedef typename PROBLEM::second_segment::template b<0> operand_c;
  static constexpr int BT = ENGINE::BT, BN = ENGINE::BN, BOX = ENGINE::BOX_BYTES, CONSUMERS = ENGINE::CONSUMERS;

  fx_chain_rows<ENGINE, PROBLEM> rows;             // this thread's
  const int number;                                // of the consumer
  fx_wgmma_ring<typename ENGINE::b_stages> b;      // B's blocks
  fx_wgmma_ring<typename ENGINE::c_stages> c;      // and C's
  float s[BT / 2];                                 // S of a block, then P
  unsigned a[BT / 16][4];                          // P of the block before, rounded
  fx_wgmma_sums<ENGINE> d;                            // D

  FX_DEVICE fx_chain_consumer(const fx_chain_rows<ENGINE, PROBLEM> &own_rows, int consumer)
      : rows(own_rows),
        number(consumer),
        b{fx_shared(fx_smem()) + ENGINE::B, fx_shared(fx_smem()) + ENGINE::B_BARRIERS, 0, 0},
        c{fx_shared(fx_smem()) + ENGINE::C, fx_shared(fx_smem()) + ENGINE::C_BARRIERS, 0, 0} {
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) d.of[0][0][i] = 0.0f;
  }
  FX_DEVICE void wait_turn() { fx_named_barrier(1 + number, 256); }  // the one before has started its products
  FX_DEVICE void pass_turn() { fx_named_arrive(1 + (number + 1) % CONSUMERS, 256); }
  template <class RING>
  static FX_DEVICE void give_back(RING &ring) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty());
    ring.next();
  }
  FX_DEVICE void start_first() {
    const unsigned long long x = fx_wgmma_operand<operand_a::LAYOUT>::at(fx_shared(fx_smem()) + number * BOX), y = fx_wgmma_operand<operand_b::LAYOUT>::at(b.address());
#pragma unroll
    for (int step = 0; step < ENGINE::BK / 16; ++step)
      ENGINE::inner::template multiply<fx_is_bf16<T>::VALUE, operand_a::LAYOUT == FX_MN_MAJOR, operand_b::LAYOUT == FX_MN_MAJOR, false>(
          s, x + step / 4 * (CONSUMERS * BOX >> 4) + step % 4 * (fx_wgmma_operand<operand_a::LAYOUT>::STEP >> 4),
          y + step / 4 * (BT / 64 * BOX >> 4) + step % 4 * (fx_wgmma_operand<operand_b::LAYOUT>::STEP >> 4), step > 0);
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
  template <bool IS_WHOLE>
  FX_DEVICE void first_block() {
    float scale[2];
    fx_mbarrier_wait(b.full(), b.parity);
    wait_turn();
    fx_wgmma_begin();
    start_first();
    pass_turn();
    fx_wgmma_wait<0>();
    give_back(b);
    rows.template make<IS_WHOLE>(s, scale, 0);
    rows.pack(a, s);
  }
  template <bool IS_WHOLE>
  FX_DEVICE void next_block(int t) {
    float scale[2];
    fx_mbarrier_wait(b.full(), b.parity);
    fx_mbarrier_wait(c.full(), c.parity);
    wait_turn();
    fx_wgmma_begin();
    start_first();
    start_second();
    pass_turn();
    fx_wgmma_wait<1>();
    give_back(b);
    rows.template make<IS_WHOLE>(s, scale, t);
    fx_wgmma_wait<0>();  // from here on P's registers may change
    give_back(c);
    if constexpr (PROBLEM::SCALED) {
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) d.of[0][0][i] *= scale[i / 2 % 2];
    }
    rows.pack(a, s);
  }
  // All blocks, of which the first n_whole are whole.
  FX_DEVICE void run(fx_chain_walk<ENGINE, PROBLEM> walk, int n_whole) {
    if (number == CONSUMERS - 1) pass_turn();  // the first consumer goes first
    fx_mbarrier_wait(fx_shared(fx_smem()) + ENGINE::HAS_A, 0);
    int i = 1;
    if (n_whole > 0) first_block<true>();
    else first_block<false>();
#pragma unroll 1
    for (; i < n_whole; ++i) next_block<true>(i * BT);
#pragma unroll 1
    for (; walk.has(i); ++i) next_block<false>(i * BT);
    fx_mbarrier_wait(c.full(), c.parity);
    fx_wgmma_begin();
    start_second();
    fx_wgmma_wait<0>();
    if (number == 0) wait_turn();  // nobody is left behind at a barrier
  }
  // Of the tile of the last rows, once all blocks that matter were walked over and the rest of C looked at: tells the others whether C is finite. Where it is not, neither is D.
  FX_DEVICE void tell(unsigned long long *flags) {
    float z = 0.0f;
#pragma unroll
    for (int i = 0; i < BN / 2; ++i) z = fmaf(d.of[0][0][i], 0.0f, z);
    unsigned is_special = z != 0.0f;
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) is_special |= fx_shuffle_xor(is_special, mask);
    for (int m = threadIdx.x % 32 * ENGINE::BM; m < rows.at.m; m += 32 * ENGINE::BM) fx_chain_flag::tell(fx_chain_flag::of<ENGINE>(rows.p, flags, rows.at, m), !is_special);
  }
};

// fx_chain_wgmma: computes this block's tile; flags: one for every tile, where the problem's rows end
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_wgmma(const PROBLEM &p, const fx_tensor_map *maps, long long batches, unsigned long long *flags) {
  typedef fx_chain_walk<ENGINE, PROBLEM> walk_type;
  constexpr int CONSUMERS = ENGINE::CONSUMERS;
  const unsigned shared = fx_shared(fx_smem());
  const int group = threadIdx.x / 128, consumer = group - 1, warp = threadIdx.x / 32 % 4;
  const fx_tile at = fx_chain_tile<ENGINE>(p, blockIdx.x, batches);
  fx_wgmma_ring<typename ENGINE::b_stages> b = {shared + ENGINE::B, shared + ENGINE::B_BARRIERS, 0, 0};
  if (threadIdx.x == 0) {
    fx_tma_prefetch(maps);
    fx_tma_prefetch(maps + 1);
    fx_tma_prefetch(maps + 2);
    fx_mbarrier_init(shared + ENGINE::HAS_A, 1);
    fx_mbarrier_init(shared + ENGINE::HAS_LOOKED, 3);
    for (int s = 0; s < ENGINE::STAGES; ++s) {
      fx_mbarrier_init(shared + ENGINE::B_BARRIERS + s * 8, 1);
      fx_mbarrier_init(shared + ENGINE::B_BARRIERS + (ENGINE::STAGES + s) * 8, 4 * CONSUMERS);
      fx_mbarrier_init(shared + ENGINE::C_BARRIERS + s * 8, 1);
      fx_mbarrier_init(shared + ENGINE::C_BARRIERS + (ENGINE::STAGES + s) * 8, 4 * CONSUMERS);
    }
    fx_mbarrier_publish();
  }
  fx_wait_for_kernel();
  if (threadIdx.x == 0) {
    fx_mbarrier_expect(shared + ENGINE::HAS_A, ENGINE::A_BYTES);
#pragma unroll
    for (int k = 0; k < ENGINE::BK; k += 64)
      fx_wgmma_load<ENGINE::BM, typename PROBLEM::first_segment::a>(p, maps, nullptr, shared + k / 64 * CONSUMERS * ENGINE::BOX_BYTES, shared + ENGINE::HAS_A, 0, at.batch, 0, at.m, ENGINE::BM, k);
    fx_chain_load_b<ENGINE>(p, maps, at, b, 0);
  }
  fx_chain_rows<ENGINE, PROBLEM> rows(p, at, (consumer < 0 ? 0 : consumer) * 64);
  int end = p.t(), whole = p.t();
  if constexpr (PROBLEM::ENDS) {
    // From which element of the intermediate on no row of the block takes any, and up to which all of this consumer's rows take each.
    int *words = (int *)walk_type::words();
    if (consumer >= 0) {
      int last = p.end(rows.q[0], rows.r[0], at.batch, rows.m[0]), other = p.end(rows.q[1], rows.r[1], at.batch, rows.m[1]), first = min(last, other);
      last = max(last, other);
#pragma unroll
      for (int mask = 4; mask < 32; mask *= 2) last = max(last, (int)fx_shuffle_xor((unsigned)last, mask)), first = min(first, (int)fx_shuffle_xor((unsigned)first, mask));
      if (threadIdx.x % 32 == 0) words[consumer * 8 + warp * 2] = last, words[consumer * 8 + warp * 2 + 1] = first;
    }
    fx_barrier();  // the memory barriers are there, and every warp's ends
    end = 0;
#pragma unroll
    for (int w = 0; w < 4 * CONSUMERS; ++w) end = max(end, words[w * 2]);
#pragma unroll
    for (int w = 0; w < 4; ++w) whole = min(whole, words[(consumer < 0 ? 0 : consumer) * 8 + w * 2 + 1]);
  } else {
    fx_barrier();  // the memory barriers are there
  }
  fx_let_next_start();
  const walk_type walk(end, p.t());
  if (group == 0) {
    fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) fx_chain_producer<ENGINE>(p, maps, at, b, walk);
    if constexpr (PROBLEM::ENDS) {
      if (threadIdx.x >= 32) fx_chain_look<ENGINE>(p, at, walk.n * ENGINE::BT, at.m + ENGINE::BM >= p.m(), flags);
    }
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  typedef fx_chain_outer<PROBLEM, ENGINE::BM> outer;
  fx_wgmma_columns<ENGINE, outer> columns;
  fx_chain_consumer<ENGINE, PROBLEM> products(rows, consumer);
  products.run(walk, whole / ENGINE::BT);
  if constexpr (PROBLEM::ENDS) {
    if (consumer == 0 && warp == 0 && at.m + ENGINE::BM >= p.m()) products.tell(flags);
  }
  const outer of_rows = {p, (const unsigned *)(fx_smem() + ENGINE::ROWS)};
  if (ENGINE::HAS_ROOM) columns.fetch(of_rows, at.batch, at.n);
  products.rows.finish();
  fx_wgmma_epilogue<ENGINE>(of_rows, at, consumer * 64 + warp * 16, columns, products.d, shared + ENGINE::STAGING + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
}
