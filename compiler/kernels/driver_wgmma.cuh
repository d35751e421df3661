/* The contraction driver of sm_90a: a problem as for driver_gemm.cuh, whose operands of 16-bit floats, of f32 as tf32, or of 8 bits, lie in memory as tensor maps say, on wgmma.
   A block walks over output tiles, as many blocks as multiprocessors. One thread of its first warpgroup, the producer, copies boxes of the operands into a ring of stages; two or
   three warpgroups, the consumers, multiply what has landed. In turns (IS_PINGPONG) each of two has a tile of its own, and its epilogue runs under the other's products; else they
   share a tile, as many of its rows each. A stage holds 128 bytes of k of A's rows and of the columns of every B in boxes of 64 x 64 elements, of tf32 64 x 32 and of 8 bits 64 x 128 with k contiguous, 8 KB, swizzled in 128 bytes. Two memory
   barriers a stage say that it is full, by the bytes of its boxes, and that it is empty, by a lane of every warp that read it; both count phases throughout the tiles.
   Grid: any number of blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: any m and n, k of at least 1 in every segment; what lies outside an operand counts as zero, and nothing outside the tensors is written. */

// fx_columns_64: the instruction of 64 columns
struct fx_columns_64 {
  static constexpr int N = 64;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_64<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_128: the instruction of 128 columns
struct fx_columns_128 {
  static constexpr int N = 128;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_128<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_192: the instruction of 192 columns
struct fx_columns_192 {
  static constexpr int N = 192;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_192<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_256: the instruction of 256 columns
struct fx_columns_256 {
  static constexpr int N = 256;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_256<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_wgmma_sum: what products of operands of type T are added up in
template <class T> FX_DEVICE constexpr auto fx_wgmma_sum(int) -> typename T::sum { return 0; }
template <class T> FX_DEVICE constexpr float fx_wgmma_sum(...) { return 0; }

// fx_wgmma_single: blocks that are in no cluster: each copies what it reads
struct fx_wgmma_single {
  static constexpr int ROWS = 1, COLUMNS = 1, BLOCKS = 1, SHARING = 1;  // tiles of a cluster, one below the other and beside each other; blocks that read what one of them copies or that copy what it reads
  static FX_DEVICE int row() { return 0; }
  static FX_DEVICE int column() { return 0; }
  static FX_DEVICE void meet() {}
  template <bool IS_A> static FX_DEVICE bool copies(int) { return true; }
  template <bool IS_A, int RANK>
  static FX_DEVICE void load(unsigned to, const fx_tensor_map *map, unsigned full, const int (&at)[RANK]) { fx_tma_load(to, map, full, at); }
  static FX_DEVICE void give_back(unsigned empty) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty);
  }
};

// fx_wgmma: tiles of BM x COLUMNS::N / BESIDE elements of every sum, by CONSUMERS warpgroups; an instruction covers the columns of BESIDE B's of a stage, which has room for B_TILES; the epilogue stages
// CHUNK columns at a time, and takes one at a time where what it reads and writes is not ALIGNED. With SLABS what is stored goes by tensor maps: a warp has so many boxes of 16 rows, 128 bytes each.
// CLUSTER: what blocks share of their operands.
template <class T_, class COLUMNS, int BESIDE_, int BM_, int B_TILES, int STAGES_, int CONSUMERS_, bool IS_PINGPONG_, int SUMS_, int CHUNK_, int SLABS_, bool ALIGNED_, class CLUSTER = fx_wgmma_single>
struct fx_wgmma {
  typedef T_ T;
  typedef decltype(fx_wgmma_sum<T>(0)) sum;
  typedef COLUMNS columns;
  typedef CLUSTER cluster;
  static constexpr int SUMS = SUMS_, BESIDE = BESIDE_, BM = BM_, BN = COLUMNS::N / BESIDE, BK = 128 / (int)sizeof(T), STAGES = STAGES_, CHUNK = CHUNK_, SLABS = SLABS_;
  static constexpr bool IS_PINGPONG = IS_PINGPONG_, ALIGNED = ALIGNED_;
  static constexpr bool PROMOTES = sizeof(T) == 1 && sum(1) / 2 != 0;  // sums of f8 (driver_wgmma_bytes.cuh)
  // Several sums are begun by their first products: where a later segment's are set to 0 ptxas lets no products overlap (C7515), as of integers. Of one, setting it takes fewer registers.
  static constexpr bool IS_SET = sizeof(T) == 1 ? PROMOTES : SUMS == BESIDE;
  static constexpr int CONSUMERS = CONSUMERS_, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int ROWS = IS_PINGPONG ? BM : BM / CONSUMERS;  // of a tile, of one consumer
  static constexpr int PARTS = ROWS / 64;                         // instructions that cover them
  static constexpr int BOX_BYTES = 64 * 128;
  static constexpr int A_BYTES = BM / 64 * BOX_BYTES, B_BYTES = BN / 64 * BOX_BYTES, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;  // bytes of a staged row: the rows that a warp writes at once lie in different banks
  static constexpr int SLAB_BYTES = 16 * 128;          // a box of what is stored
  static constexpr int STAGING_BYTES = SLABS ? SLABS * SLAB_BYTES : 16 * PITCH;  // of a warp: 16 rows of a chunk of what is stored or of every sum
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + CONSUMERS * 4 * STAGING_BYTES + 2 * STAGES * 8;
  static constexpr bool HAS_ROOM = CONSUMERS == 2 && SUMS * PARTS * BN / 2 <= 128;  // registers beside the sums, to ask for more ahead of its use
  static constexpr bool IS_SHARED = CLUSTER::BLOCKS > 1 && !IS_PINGPONG;  // beside what a cluster shares, and a window's corners, the producer has little room
  static constexpr int PRODUCER_REGISTERS = !HAS_ROOM ? 24 : IS_SHARED ? 56 : 40, CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : !HAS_ROOM ? 240 : IS_SHARED ? 224 : 232;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(CHUNK % 8 == 0 && BN % CHUNK == 0 && ROWS % 64 == 0 && BM % ROWS == 0, "no such tile");
  static_assert(BN % 64 == 0 && SUMS % BESIDE == 0 && (BESIDE == 1 || BESIDE == B_TILES), "no such B's beside each other");
  static_assert(CONSUMERS == 2 || (CONSUMERS == 3 && !IS_PINGPONG), "no such consumers");
};

// fx_wgmma_sums: those that a thread of a consumer has; those of B's beside each other are one array, as an instruction has them
template <class ENGINE>
struct fx_wgmma_sums {
  typedef typename ENGINE::sum sum;
  sum of[ENGINE::SUMS / ENGINE::BESIDE][ENGINE::PARTS][ENGINE::BESIDE * ENGINE::BN / 2];

  FX_DEVICE sum get(int sum, int part, int i) const { return of[sum / ENGINE::BESIDE][part][sum % ENGINE::BESIDE * (ENGINE::BN / 2) + i]; }
};

// fx_wgmma_columns: what is the same for all rows of a chunk of columns, as far as a thread takes these: V adjacent ones, or V of every eight as the sums lie
template <class ENGINE, class PROBLEM>
struct fx_wgmma_columns {
  static constexpr int V = ENGINE::SLABS ? 2 : ENGINE::ALIGNED ? PROBLEM::V : 1, N = ENGINE::SLABS ? ENGINE::CHUNK / 8 : 1;
  typename PROBLEM::template columns<V> of[N];

  // Number i of them, in the chunk that begins at column n.
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n, int i) {
    const int at = n + i * 8 + (ENGINE::SLABS ? threadIdx.x % 4 * 2 : threadIdx.x % (ENGINE::CHUNK / V) * V);
    if (at < p.n()) fx_fetch_columns<V, ENGINE::ALIGNED>(p, of[i], batch, at, p.n() - at < V ? p.n() - at : V);
  }
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n) {
#pragma unroll
    for (int i = 0; i < N; ++i) fetch(p, batch, n, i);
  }
};

// fx_sum_row: the row of eight whose sums a lane has
template <class ENGINE> FX_DEVICE constexpr auto fx_sum_row(int lane, int) -> decltype(ENGINE::sum_row(lane)) { return ENGINE::sum_row(lane); }
template <class ENGINE> FX_DEVICE constexpr int fx_sum_row(int lane, long) { return lane / 4; }

// fx_wgmma_rows: what the rows of a thread read, where elements are computed as the sums lie: number 0 and 8 of a warp's 16 of each part, the same for all columns
template <class ENGINE, class PROBLEM>
struct fx_wgmma_rows {
  typename PROBLEM::template frag<2> of[ENGINE::PARTS][2];

  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int first_row) {
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) {
      const int m = at.m + first_row + i / 2 * 64 + i % 2 * 8 + fx_sum_row<ENGINE>(threadIdx.x % 32, 0);
      if (m < p.m()) fx_fetch<2, true>(p, of[i / 2][i % 2], at.batch, m, at.n, 2);
    }
  }
};

// fx_ring: where a thread stands in a ring of stages
template <int STAGES, int BYTES>
struct fx_ring {
  unsigned first;     // of the stages, in shared memory
  unsigned barriers;  // likewise: of every stage that it is full, then that it is empty
  int stage;          // at hand
  unsigned parity;    // of its phase: turns when the ring has been walked once

  // Every phase that a stage is full, or empty, ends with so many arrivals.
  FX_DEVICE void begin(int fills, int empties) const {
    for (int s = 0; s < STAGES; ++s) {
      fx_mbarrier_init(barriers + s * 8, fills);
      fx_mbarrier_init(empty(s), empties);
    }
  }
  FX_DEVICE void end() const {
    for (int s = 0; s < 2 * STAGES; ++s) fx_mbarrier_end(barriers + s * 8);
  }
  FX_DEVICE unsigned address() const { return first + stage * BYTES; }
  FX_DEVICE unsigned full() const { return barriers + stage * 8; }
  FX_DEVICE unsigned empty() const { return empty(stage); }
  FX_DEVICE unsigned empty(int of) const { return barriers + (STAGES + of) * 8; }
  FX_DEVICE void next() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
  FX_DEVICE void skip(int blocks) {
    stage += blocks % STAGES, parity ^= blocks / STAGES & 1;
    if (stage >= STAGES) stage -= STAGES, parity ^= 1;
  }
};

// fx_wgmma_ring: the ring of an engine
template <class ENGINE>
using fx_wgmma_ring = fx_ring<ENGINE::STAGES, ENGINE::STAGE_BYTES>;

// fx_takes_maps: whether a mainloop takes the operands of a segment by tensor maps
template <class MAINLOOP> FX_DEVICE constexpr auto fx_takes_maps(int) -> decltype(MAINLOOP::TAKES_MAPS, true) { return true; }
template <class MAINLOOP> FX_DEVICE constexpr bool fx_takes_maps(...) { return false; }

// fx_wgmma_blocks: counts the blocks of k that a problem's segments have together
template <class ENGINE>
struct fx_wgmma_blocks {
  static constexpr bool TAKES_MAPS = true;

  int n;  // so far

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    n += SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  }
  FX_DEVICE void next_segment() {}
};

// fx_is_im2col: whether an operand comes by a tensor map in im2col mode, as columns of pixels, and has a function that loads one
template <class OPERAND> FX_DEVICE constexpr auto fx_is_im2col(int) -> decltype(&OPERAND::load_pixels, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_im2col(...) { return false; }

// fx_is_placed: whether an operand's tensor map is indexed by more than m or n and k
template <class OPERAND> FX_DEVICE constexpr auto fx_is_placed(int) -> decltype(&OPERAND::place, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_placed(...) { return false; }

// fx_has_tail: whether an operand has a tensor map of its last rows, those beyond multiples of 64
template <class OPERAND> FX_DEVICE constexpr auto fx_has_tail(int) -> decltype(OPERAND::TAIL, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_has_tail(...) { return false; }

// fx_wgmma_bytes: how many bytes the boxes of one operand of a tile have, whose m or n ends `left` behind the tile's first: a box that lies outside as a whole is not copied, nor are rows beyond a tail.
// What stays in the stage there reaches no sum inside.
template <int SIZE, class OPERAND>
FX_DEVICE unsigned fx_wgmma_bytes(int left) {
  if (left <= 0) return 0;  // of a tile that a cluster has too much
  if constexpr (fx_has_tail<OPERAND>(0)) return min(left, SIZE) * 128;
  else if constexpr (fx_is_im2col<OPERAND>(0)) return SIZE * 128;
  else return min((left + 63) / 64, SIZE / 64) * 8192;
}

// fx_wgmma_load: starts copying the boxes of one operand of a tile, SIZE of its m or n, which ends `left` behind the first, and a block of k, of a tile's the one of this number; tail: the map of its last rows
template <int SIZE, class OPERAND, class CLUSTER = fx_wgmma_single, bool IS_A = true, class PROBLEM>
FX_DEVICE void fx_wgmma_load(const PROBLEM &p, const fx_tensor_map *map, const fx_tensor_map *tail, unsigned to, unsigned full, int j, int batch, int outer, int mn, int left, int k, int block = 0) {
#pragma unroll
  for (int i = 0; i < SIZE / 64; ++i) {
    if constexpr (!fx_is_im2col<OPERAND>(0)) {
      const int rows = fx_has_tail<OPERAND>(0) || left <= i * 64 ? left - i * 64 : 64;
      if (rows < 64) fx_unwritten(to + i * 8192 + max(rows, 0) * 128, 8192 - max(rows, 0) * 128);
      if (rows <= 0) continue;
    }
    if (!CLUSTER::template copies<IS_A>(block * (SIZE / 64) + i)) continue;
    if constexpr (fx_is_im2col<OPERAND>(0)) {
      OPERAND::load_pixels(p, map, to + i * 8192, full, outer, mn + i * 64, k);
    } else {
      int at[OPERAND::RANK];
      at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 64 : k;
      at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i * 64;
      if constexpr (fx_is_placed<OPERAND>(0)) OPERAND::place(p, j, batch, outer, at);
      CLUSTER::template load<IS_A>(to + i * 8192, fx_has_tail<OPERAND>(0) && i * 64 + 64 > left ? tail : map, full, at);
    }
  }
}

// fx_wgmma_producer: the mainloop as the producer runs it: every block of k of a tile into the next stage
template <class ENGINE>
struct fx_wgmma_producer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_ring<ENGINE> &ring;  // of the block
  const fx_tile &at;            // the tile
  const fx_tensor_map *maps;    // of the launch
  const fx_tensor_map *map = maps;  // of the segment's first operand
  int block = 0;                    // of the tile

  template <class OPERAND>
  FX_DEVICE const fx_tensor_map *tail(int j) const {
    if constexpr (fx_has_tail<OPERAND>(0)) return maps + (OPERAND::TAIL + j);
    else return nullptr;
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::template b<J> operand;
      fx_wgmma_load<ENGINE::BN, operand, typename ENGINE::cluster, false>(p, map + 1 + J, tail<operand>(J), ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), J, at.batch, outer, at.n, p.n() - at.n, k, block);
      load_b<SEGMENT, J + 1>(p, outer, k);
    }
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int outer, int k) {
    typedef typename SEGMENT::a operand;
    fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
    fx_mbarrier_expect(ring.full(), fx_wgmma_bytes<ENGINE::BM, operand>(p.m() - at.m) + SEGMENT::SUMS * fx_wgmma_bytes<ENGINE::BN, typename SEGMENT::template b<0>>(p.n() - at.n));
    fx_wgmma_load<ENGINE::BM, operand, typename ENGINE::cluster, true>(p, map, tail<operand>(0), ring.address(), ring.full(), 0, at.batch, outer, at.m, p.m() - at.m, k, block);
    load_b<SEGMENT, 0>(p, outer, k);
    ++block;
    ring.next();
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int n_outer = SEGMENT::k_outer(p), k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
      for (int k = 0; k < k_end; k += ENGINE::BK) load<SEGMENT>(p, outer, k);
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_wgmma_operand: the descriptor of an operand that begins at an address: boxes of 64 rows of 128 swizzled bytes; steps of 16 k within it, of 8 of tf32
// PTX ISA, "Matrix descriptor format": address, leading and stride byte offsets in units of 16 bytes, and the swizzle. Where m or n is contiguous, the next 64 of it are the next box.
template <int LAYOUT>
struct fx_wgmma_operand {
  static constexpr unsigned LEADING = LAYOUT == FX_MN_MAJOR ? 8192 : 16, STEP = LAYOUT == FX_MN_MAJOR ? 2048 : 32;
  static FX_DEVICE unsigned long long at(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4 | LEADING >> 4 << 16) | (unsigned long long)(1024 >> 4 | 1u << 30) << 32;
  }
};

// fx_wgmma_consumer: the mainloop as a consumer runs it: the products of a block start while those of the one before end, whose stage is given back then
template <class ENGINE>
struct fx_wgmma_consumer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_sums<ENGINE> &acc;            // the sums
  fx_wgmma_ring<ENGINE> &ring;           // of the block
  unsigned a_offset;                     // of the consumer's rows in a stage
  int before;                            // the stage of the block before; -1: none
  int adds[ENGINE::SUMS / ENGINE::BESIDE];  // whether there is something to add to
  fx_tile at;                            // the tile

  template <class SEGMENT, int J>
  FX_DEVICE void multiply(unsigned long long a, unsigned b_address, int step) {
    if constexpr (J < SEGMENT::SUMS) {
      constexpr int SUM = SEGMENT::sum(J) / ENGINE::BESIDE;
      typedef fx_wgmma_operand<SEGMENT::a::LAYOUT> operand_a;
      typedef fx_wgmma_operand<SEGMENT::template b<J>::LAYOUT> operand_b;
      const unsigned long long b = operand_b::at(b_address + J * ENGINE::B_BYTES) + step * (operand_b::STEP >> 4);
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) {
        const unsigned long long of_part = a + part * (ENGINE::BOX_BYTES >> 4) + step * (operand_a::STEP >> 4);
        if constexpr (sizeof(typename ENGINE::T) == 1) ENGINE::columns::template multiply<ENGINE::T::KIND>(acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
        else
          ENGINE::columns::template multiply<fx_is_bf16<typename ENGINE::T>::VALUE, SEGMENT::a::LAYOUT == FX_MN_MAJOR, SEGMENT::template b<J>::LAYOUT == FX_MN_MAJOR, sizeof(typename ENGINE::T) == 4>(
              acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
      }
      multiply<SEGMENT, J + ENGINE::BESIDE>(a, b_address, step);
      adds[SUM] = 1;
    }
  }
  FX_DEVICE void give_back() {
    if (before >= 0) ENGINE::cluster::give_back(ring.empty(before));
  }
  template <class SEGMENT>
  FX_DEVICE void run(int blocks) {
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      fx_mbarrier_wait(ring.full(), ring.parity);
      const unsigned long long a = fx_wgmma_operand<SEGMENT::a::LAYOUT>::at(ring.address() + a_offset);
      fx_wgmma_begin();
#pragma unroll
      for (int step = 0; step < 4; ++step) multiply<SEGMENT, 0>(a, ring.address() + ENGINE::A_BYTES, step);
      fx_wgmma_commit();
      fx_wgmma_wait<1>();
      give_back();
      before = ring.stage;
      ring.next();
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK));
  }
  FX_DEVICE void next_segment() {}
  FX_DEVICE void end() {
    fx_wgmma_wait<0>();
    give_back();
  }
};

// fx_wgmma_mainloop: the mainloop as consumers run it, of operands of type T
template <class T, class ENGINE>
struct fx_wgmma_mainloop {
  typedef fx_wgmma_consumer<ENGINE> type;
};

// fx_wgmma_get: V staged sums; lanes whose bit 2 is set read the upper half of eight first: eight lanes then read all banks
template <class T, int V>
FX_DEVICE void fx_wgmma_get(T (&x)[V], unsigned from) {
  if constexpr (V == 8) {
    const bool is_swapped = threadIdx.x & 4;
    T first[4], second[4];
    fx_shared_get<4>(first, from + (is_swapped ? 16 : 0));
    fx_shared_get<4>(second, from + (is_swapped ? 0 : 16));
#pragma unroll
    for (int v = 0; v < 4; ++v) x[v] = is_swapped ? second[v] : first[v], x[v + 4] = is_swapped ? first[v] : second[v];
  } else {
    fx_shared_get<V>(x, from);
  }
}

// fx_wgmma_epilogue: hands a consumer's sums to the problem, V columns of a row at a time; each warp stages its 16 rows of a chunk of columns after another in shared memory of its own
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, V = fx_wgmma_columns<ENGINE, PROBLEM>::V, CHUNK = ENGINE::CHUNK, ACROSS = CHUNK / V, STEP = 32 / ACROSS, STEPS = 16 / STEP;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr bool IS_AHEAD = sizeof(frag) * STEPS <= 128 && ENGINE::HAS_ROOM && ENGINE::ALIGNED;  // registers allow asking for what all steps read before the sums are staged
  constexpr int AT_ONCE = ENGINE::HAS_ROOM ? STEPS : 1;  // steps whose sums are read ahead of their use
  static_assert(V <= 8 && ACROSS <= 32 && STEP <= 16, "a warp does not cover whole rows of a chunk");
  const int lane = threadIdx.x % 32, row = lane / ACROSS, col = lane % ACROSS * V;
  const unsigned put = staging + fx_sum_row<ENGINE>(lane, 0) * ENGINE::PITCH + lane % 4 * 8, get = staging + row * ENGINE::PITCH + col * 4;
#pragma unroll
  for (int chunk = 0; chunk < ENGINE::BN / CHUNK; ++chunk) {
    const int n = at.n + chunk * CHUNK + col, n_valid = p.n() - n < V ? p.n() - n : V;
    if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, at.n + chunk * CHUNK);
    const typename PROBLEM::template columns<V> c = columns.of[0];
    if (ENGINE::HAS_ROOM && chunk + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, at.n + (chunk + 1) * CHUNK);
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      const int m = at.m + first_row + part * 64 + row, rows = n_valid > 0 ? p.m() - m : 0;
      frag read[IS_AHEAD ? STEPS : 1] = {};  // what is not asked for has no value to be kept from chunk to chunk
      if constexpr (IS_AHEAD) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
          if (s * STEP < rows) fx_fetch<V, ENGINE::ALIGNED>(p, read[s], at.batch, m + s * STEP, n, n_valid);
      }
      fx_warp_barrier();  // every lane has read the rows staged before
#pragma unroll
      for (int j = 0; j < SUMS; ++j) {
#pragma unroll
        for (int i = 0; i < CHUNK / 8; ++i) {
          const int x = (chunk * (CHUNK / 8) + i) * 4;
          fx_shared_put2(put + (j * CHUNK + i * 8) * 4, acc.get(j, part, x), acc.get(j, part, x + 1));
          fx_shared_put2(put + 8 * ENGINE::PITCH + (j * CHUNK + i * 8) * 4, acc.get(j, part, x + 2), acc.get(j, part, x + 3));
        }
      }
      fx_warp_barrier();  // the chunk of these rows is staged
      if constexpr (ENGINE::ALIGNED) {
#pragma unroll
        for (int first = 0; first < STEPS; first += AT_ONCE) {
          typename ENGINE::sum x[AT_ONCE][SUMS][V];
#pragma unroll
          for (int i = 0; i < AT_ONCE * SUMS; ++i)
            fx_wgmma_get(x[i / SUMS][i % SUMS], get + (first + i / SUMS) * STEP * ENGINE::PITCH + i % SUMS * CHUNK * 4);
#pragma unroll
          for (int s = first; s < first + AT_ONCE; ++s) {
            if (s * STEP >= rows) continue;
            if constexpr (!IS_AHEAD) fx_fetch<V, true>(p, read[0], at.batch, m + s * STEP, n, n_valid);
            p.template store<V, true>(x[s - first], c, read[IS_AHEAD ? s : 0], at.batch, m + s * STEP, n, n_valid);
          }
        }
      } else {
#pragma unroll ENGINE::HAS_ROOM ? 4 : 1
        for (int s = 0; s < STEPS && s * STEP < rows; ++s) {
          typename ENGINE::sum x[SUMS][V];
#pragma unroll
          for (int j = 0; j < SUMS; ++j) fx_wgmma_get(x[j], get + s * STEP * ENGINE::PITCH + j * CHUNK * 4);
          fx_fetch<V, false>(p, read[0], at.batch, m + s * STEP, n, n_valid);
          p.template store<V, false>(x, c, read[0], at.batch, m + s * STEP, n, n_valid);
        }
      }
    }
  }
}

// fx_to_slabs: where store leaves what it has computed of two adjacent columns of tensor number I: in a box of shared memory
template <class ENGINE>
struct fx_to_slabs {
  unsigned at;  // in the box of the first tensor

  template <int I, int V, bool ALIGNED, class T>
  FX_DEVICE void put(T *p, const float (&x)[V], int) const {
    unsigned w[V * (int)sizeof(T) / 4];
    fx_pack<V>(w, x, p);
    fx_shared_put<V * (int)sizeof(T) / 4>(at + I * ENGINE::SLAB_BYTES, w);
  }
};

// fx_wgmma_send: starts copying a warp's boxes of 16 rows, which all its lanes have written, to tensor number I and those behind
template <int I, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_send(const PROBLEM &p, const fx_tensor_map *maps, unsigned slab, int batch, int m, int n) {
  if constexpr (I < PROBLEM::STORED) {
    typedef typename PROBLEM::template stored<I> stored;
    int at[stored::RANK];
    at[0] = n, at[1] = m;
    if constexpr (stored::RANK > 2) stored::place(p, batch, at);
    fx_tma_store(maps + stored::MAP, slab, at);
    fx_wgmma_send<I + 1, ENGINE>(p, maps, slab + ENGINE::SLAB_BYTES, batch, m, n);
  }
}

// fx_wgmma_boxes: the epilogue of a problem that stores by tensor maps: computes where the sums are, two columns at a time, and packs a chunk of a warp's 16 rows into a box while the one before is read; then the chunks behind
template <int CHUNK_NUMBER, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_boxes(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns,
                              const fx_wgmma_rows<ENGINE, PROBLEM> &rows, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, CHUNK = ENGINE::CHUNK, PIECE = 128 / (CHUNK / 8);
  constexpr int BOXES = ENGINE::BN / CHUNK * ENGINE::PARTS, TURNS = BOXES % 2 ? 1 : ENGINE::SLABS / PROBLEM::STORED;  // the first box of the next tile takes the next turn, too
  const int lane = threadIdx.x % 32, row = fx_sum_row<ENGINE>(lane, 0), n = at.n + CHUNK_NUMBER * CHUNK;
  const fx_wgmma_columns<ENGINE, PROBLEM> c = columns;
  if (ENGINE::HAS_ROOM && CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, n + CHUNK);
#pragma unroll
  for (int part = 0; part < ENGINE::PARTS; ++part) {
    const unsigned slab = staging + (CHUNK_NUMBER * ENGINE::PARTS + part) % TURNS * PROBLEM::STORED * ENGINE::SLAB_BYTES;
    const int m = at.m + first_row + part * 64;
    if (lane == 0) fx_tma_wait<TURNS - 1>();
    fx_warp_barrier();  // the box has been read
#pragma unroll
    for (int i = 0; i < CHUNK / 8; ++i) {
      if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, n, i);
      const unsigned to = slab + row * 128 + ((i * PIECE + lane % 4 * (PIECE / 4)) ^ row << 4);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        typename ENGINE::sum x[SUMS][2];
#pragma unroll
        for (int v = 0; v < SUMS * 2; ++v) x[v / 2][v % 2] = acc.get(v / 2, part, (CHUNK_NUMBER * (CHUNK / 8) + i) * 4 + half * 2 + v % 2);
        p.template store<2, true>(x, ENGINE::HAS_ROOM ? c.of[i] : columns.of[i], rows.of[part][half], at.batch, m + row + half * 8, n + i * 8 + lane % 4 * 2, 2,
                                  fx_to_slabs<ENGINE>{to + half * 1024});
      }
    }
    fx_tma_publish();
    fx_warp_barrier();  // the box is whole
    if (lane == 0) {
      if (n < p.n() && m < p.m()) fx_wgmma_send<0, ENGINE>(p, maps, slab, at.batch, m, n);
      fx_tma_commit();
    }
  }
  if constexpr (CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) fx_wgmma_boxes<CHUNK_NUMBER + 1, ENGINE>(p, maps, at, first_row, columns, rows, acc, staging);
}

// fx_reduces: whether an engine's epilogue reduces elements (driver_wgmma_reduce.cuh)
template <class ENGINE> FX_DEVICE constexpr auto fx_reduces(int) -> decltype(ENGINE::STAGED, true) { return true; }
template <class ENGINE> FX_DEVICE constexpr bool fx_reduces(...) { return false; }

// fx_wgmma_start: what all threads of a block do once the first has begun the memory barriers
FX_DEVICE void fx_wgmma_start(const fx_tensor_map *maps) {
  if (threadIdx.x == 0) {
    fx_tma_prefetch(maps);
    fx_tma_prefetch(maps + 1);
    fx_mbarrier_publish();
  }
  fx_barrier();  // the memory barriers are there
  fx_let_next_start();
  fx_wait_for_kernel();
}

// fx_wgmma_produce: the work of the first warpgroup: one thread runs a producer over this block's tiles
template <class ENGINE, class PRODUCER, class PROBLEM, class... RINGS>
FX_DEVICE void fx_wgmma_produce(const PROBLEM &p, const fx_tensor_map *maps, unsigned tiles, RINGS &...rings) {
  fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
      const fx_tile at = fx_nth_tile<ENGINE>(p, number);
      PRODUCER producer = {rings..., at, maps};
      p.accumulate(producer);
    }
  }
}

// fx_wgmma_load_tile: what the producer does for a tile
template <class RING>
struct fx_wgmma_load_tile {
  RING ring;  // of the block

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    fx_wgmma_producer<ENGINE> producer = {ring, at, maps};
    p.accumulate(producer);
  }
};

// fx_wgmma_count_tile: how many blocks of k a tile has
struct fx_wgmma_count_tile {
  int n;

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *, const fx_tile &) {
    fx_wgmma_blocks<ENGINE> blocks = {0};
    p.accumulate(blocks);
    n = blocks.n;
  }
};

// fx_wgmma_tile: what a consumer does for a tile: its products, then the epilogue; IS_ALONE: all tiles are of one problem
template <class RING, bool IS_ALONE>
struct fx_wgmma_tile {
  RING ring;         // of the block
  int consumer;      // its number
  unsigned staging;  // of the warp, in shared memory
  int skipped;       // blocks of k of the tile of the other consumer
  bool hands_over;   // whether that one has a tile to come

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
    const int warp = threadIdx.x / 32 % 4, part = IS_PINGPONG ? 0 : consumer * ENGINE::PARTS;  // of the tile's 64 rows each, the first of this consumer
    fx_wgmma_columns<ENGINE, PROBLEM> columns;  // of the first chunk; those of the next are asked for while one is worked on
    if constexpr (ENGINE::HAS_ROOM && !fx_reduces<ENGINE>(0)) columns.fetch(p, at.batch, at.n);
    constexpr bool IS_SET = ENGINE::IS_SET;
    constexpr int EACH = ENGINE::BESIDE * ENGINE::BN / 2;
    fx_wgmma_sums<ENGINE> acc;
#pragma unroll
    for (int i = 0; IS_SET && i < ENGINE::PARTS * EACH; ++i) acc.of[0][i / EACH][i % EACH] = 0;
#pragma unroll
    for (int i = ENGINE::PARTS * EACH; ENGINE::PROMOTES && i < ENGINE::SUMS / ENGINE::BESIDE * ENGINE::PARTS * EACH; ++i) acc.of[i / (ENGINE::PARTS * EACH)][i / EACH % ENGINE::PARTS][i % EACH] = 0;
    if constexpr (IS_PINGPONG) fx_named_barrier(1 + consumer, 256);  // the other one has started all its products
    typename fx_wgmma_mainloop<typename ENGINE::T, ENGINE>::type mainloop = {acc, ring, (unsigned)part * ENGINE::BOX_BYTES, -1, {IS_SET}, at};
    p.accumulate(mainloop);
    if (IS_PINGPONG && hands_over) fx_named_arrive(2 - consumer, 256);
    typename fx_choose<(ENGINE::SLABS > 0), fx_wgmma_rows<ENGINE, PROBLEM>, fx_nothing>::type rows;
    if constexpr (ENGINE::SLABS > 0) rows.fetch(p, at, part * 64 + warp * 16);
    mainloop.end();
    if constexpr (IS_PINGPONG) ring.skip(skipped);
    if constexpr (!IS_ALONE) {  // the boxes of another problem's tile lay elsewhere
      if (threadIdx.x % 32 == 0) fx_tma_wait<0>();
      fx_warp_barrier();
    }
    if constexpr (fx_reduces<ENGINE>(0)) ENGINE::reduce(p, at, part * 64, acc);
    else if constexpr (ENGINE::SLABS > 0) fx_wgmma_boxes<0, ENGINE>(p, maps, at, part * 64 + warp * 16, columns, rows, acc, staging);
    else fx_wgmma_epilogue<ENGINE>(p, at, part * 64 + warp * 16, columns, acc, staging);
  }
};

// fx_wgmma_alone: one problem, as a list
template <class ENGINE_, class PROBLEM>
struct fx_wgmma_alone {
  typedef ENGINE_ ENGINE;
  static constexpr bool IS_LAST = true;

  const PROBLEM &p;           // the problem
  const fx_tensor_map *maps;  // of the launch

  static FX_DEVICE constexpr int staging_bytes() { return ENGINE::STAGING_BYTES; }
  FX_DEVICE int columns() const { return (fx_count_columns<ENGINE>(p) - 1) / ENGINE::cluster::COLUMNS + 1; }
  template <class ACTION>
  FX_DEVICE void at_column(ACTION &action, int batch, int row, int column) const {
    typedef typename ENGINE::cluster cluster;
    action.template run<ENGINE>(p, maps, fx_tile{batch, (row * cluster::ROWS + cluster::row()) * ENGINE::BM, (column * cluster::COLUMNS + cluster::column()) * ENGINE::BN});
  }
};

// fx_gemm_wgmma_beside: computes this block's tile and those a whole grid on, of all problems of a list (beside.cuh) and all `batches`; tiles are fewer than 2**31. The engines of a list have one ring
// IS_INNER: phases behind this one need the registers as they lie
template <class LIST, bool IS_INNER = false>
FX_DEVICE void fx_gemm_wgmma_beside(const LIST &list, long long batches) {
  typedef typename LIST::ENGINE ENGINE;
  typedef fx_wgmma_ring<ENGINE> ring;
  constexpr int CONSUMERS = ENGINE::CONSUMERS;
  constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
  constexpr unsigned STAGING_BYTES = LIST::staging_bytes();
  const unsigned stages = fx_shared(fx_smem()), staging = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const ring begin = {stages, staging + CONSUMERS * 4 * STAGING_BYTES, 0, 0};
  typedef typename ENGINE::cluster cluster;  // what follows counts clusters, and tiles as many at a time
  const unsigned first = blockIdx.x / cluster::BLOCKS, step = gridDim.x / cluster::BLOCKS;
  const int rows = (fx_count_rows<ENGINE>(list.p) - 1) / cluster::ROWS + 1, columns = list.columns();
  const unsigned tiles = (unsigned)((long long)rows * columns * batches);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) begin.begin(1, (IS_PINGPONG ? 4 : 4 * CONSUMERS) * cluster::SHARING);
  fx_wgmma_start(list.maps);
  cluster::meet();  // all blocks have their memory barriers

  if (group == 0) {
    if constexpr (!IS_INNER) fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
      fx_wgmma_load_tile<ring> load = {begin};
#pragma unroll 1
      for (unsigned number = first; number < tiles; number += step) {
        const fx_tile at = fx_find_place((int)number, rows, columns);
        list.at_column(load, at.batch, at.m, at.n);
      }
    }
    cluster::meet();  // nobody ends while others send it boxes or give it stages back
    return;
  }

  if constexpr (!IS_INNER) fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1;
  const unsigned turn = IS_PINGPONG ? step : 0;
  fx_wgmma_tile<ring, LIST::IS_LAST> tile = {begin, consumer, staging + (consumer * 4 + threadIdx.x / 32 % 4) * STAGING_BYTES, 0, false};
  fx_wgmma_count_tile blocks = {0};
  if (LIST::IS_LAST || (IS_PINGPONG && first < tiles)) {
    const fx_tile at = fx_find_place((int)first, rows, columns);
    list.at_column(blocks, at.batch, at.m, at.n);
  }
  if (IS_PINGPONG && consumer == 1) {
    tile.ring.skip(blocks.n);
    if (first < tiles) fx_named_arrive(1, 256);  // the first consumer goes first
  }
#pragma unroll 1
  for (unsigned number = first + consumer * turn; number < tiles; number += step + turn) {
    tile.hands_over = number + step < tiles;
    if (IS_PINGPONG && !LIST::IS_LAST && tile.hands_over) {
      const fx_tile next = fx_find_place((int)(number + step), rows, columns);
      list.at_column(blocks, next.batch, next.m, next.n);
    }
    tile.skipped = blocks.n;
    const fx_tile at = fx_find_place((int)number, rows, columns);
    list.at_column(tile, at.batch, at.m, at.n);
  }
  if ((ENGINE::SLABS > 0 || !LIST::IS_LAST) && threadIdx.x % 32 == 0) fx_tma_wait<0>();
  cluster::meet();
}

// fx_gemm_wgmma: likewise of one problem
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  fx_gemm_wgmma_beside(fx_wgmma_alone<ENGINE, PROBLEM>{p, maps}, batches);
}

// fx_gemm_wgmma_inner: likewise, as a phase of a launch that has others behind it, which have the block's shared memory to themselves
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma_inner(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  typedef fx_wgmma_alone<ENGINE, PROBLEM> list;
  fx_gemm_wgmma_beside<list, true>(list{p, maps}, batches);
  fx_barrier();  // nobody waits at a memory barrier
  const unsigned stages = fx_shared(fx_smem());
  const fx_wgmma_ring<ENGINE> ring = {stages, stages + ENGINE::STAGES * ENGINE::STAGE_BYTES + ENGINE::CONSUMERS * 4 * ENGINE::STAGING_BYTES, 0, 0};
  if (threadIdx.x == 0) ring.end();
}
