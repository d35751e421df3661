/* The contraction driver of sm_90a for f32 stored as two f16: a problem as for driver_split.cuh, whose operands are of type fx_halves. Of 64 k of a row of A, or of a column of B, a power of two
   brings the largest below 2^15; what that makes of x is x0 + x1 / 2^11, each the f16 nearest to what is left. Of x y it adds up x0 y0, x0 y1, x1 y0 and x1 y1. Tensor cores cut off low bits of
   what they add to: so the products of 64 k are added up apart from the sums, x0 y0 in registers of their own, the others from the least on, and then added to the sums as f32 are, times both powers.
   Where two f16 do not do, flags of blocks of 64 x 64 of either operand say so (fx_halves_exact). A consumer then adds up that block of k by multiply-adds in order of k, as f32 are: infinities,
   NaN, subnormal numbers and what lies near either end of the range give what f32 gives.
   A stage holds one part of A's rows and of the columns of every B, 64 k of each, in boxes of 64 x 64; two stages in a row, the second part first, are a block of k.
   Flags and powers of a block come with its second part, into slots beside the stages.
   Two consumers take turns: one starts its products when the other has started all of its own.
   Grid, barriers: as in driver_wgmma.cuh.
   Invariant: as there. An operand is the whole of what is stored, matrices whose k and m or n lie contiguous, in either order. Of finite operands a sum is within 2^-22 of its
   magnitudes, and the rounding of every 64 k, of the true one; sums of integers of up to 23 bits are exact where their magnitudes add up to no more than 2^23. */

// FX_HALVES_SPECIAL, FX_HALVES_WIDE, FX_HALVES_UNEVEN, FX_HALVES_RESTS, FX_HALVES_POWERS: of 64 x 64 elements: of some row (column) the largest lies outside 2^-80 to 2^58; some that is not 0 lies below 2^-27 of its row's largest; some below 2^-20 of it, 0 too; two f16 leave something of some;
// some row has at most 8 that are not 0, but one, all powers of two
// What one operand must not be where the other is, stands four bits further up.
enum { FX_HALVES_WIDE = 1, FX_HALVES_RESTS = 2, FX_HALVES_UNEVEN = FX_HALVES_WIDE << 4, FX_HALVES_POWERS = FX_HALVES_RESTS << 4, FX_HALVES_SPECIAL = 64 };

// fx_halves_exact: whether 64 k of operands with such flags are added up as f32
// What is WIDE has an error of 2^-50 of the largest, which matters to sums alone whose other factors are small, or 0, where the largest stands. Powers of two that are not SPECIAL bring no total out of the range of f32.
// A product alone of 24 bits and a power of two is exact in f32: so RESTS matter beside rows of such.
FX_DEVICE bool fx_halves_exact(int a, int b) { return ((a & b >> 4) | (b & a >> 4) | ((a | b) & FX_HALVES_SPECIAL)) != 0; }

// fx_halves: matrices of `rows` rows (columns) by k of f32, stored as two f16, one after the other: of each a plane of the first f16 and one of the second, whose contiguous axis is padded to 8; where flags
// are SPECIAL or WIDE, the f32 as they are; for every 64 k, and 64 of rows as make up a multiple of 128, a record: powers of two and flags; and of each such tile what two f16 leave, a unit in the
// last place or nothing: digits to the base 4, of what is to be added and 1; a word has those of a thread of fx_halve, the first one's highest
template <bool IS_K_LAST_>
struct fx_halves {
  static constexpr bool IS_K_LAST = IS_K_LAST_;
  static constexpr int FLAGS = 64 * 4, RECORD = FLAGS + 16, RESTS = 256 * 4;  // bytes: where the flags stand in a record, what it takes, what the rests of a tile take
  int rows, k;

  // Elements of memory from one row of the contiguous axis to the next; of a plane; where one stands there.
  FX_DEVICE int pitch() const { return ((IS_K_LAST ? k : rows) + 7) / 8 * 8; }
  FX_DEVICE long long plane() const { return (long long)(IS_K_LAST ? rows : k) * pitch(); }
  FX_DEVICE long long element(int mn, int at) const { return IS_K_LAST ? (long long)mn * pitch() + at : (long long)at * pitch() + mn; }
  FX_DEVICE int blocks() const { return (k + 63) / 64; }
  FX_DEVICE int room() const { return (rows + 127) / 128 * 2; }  // tiles
  // Bytes from where a matrix begins; what it takes.
  FX_DEVICE long long second() const { return 2 * plane(); }
  FX_DEVICE long long whole() const { return 4 * plane(); }
  FX_DEVICE long long tile(int mn, int block) const { return (long long)block * room() + mn / 64; }
  FX_DEVICE long long record(int mn, int block) const { return 8 * plane() + tile(mn, block) * RECORD; }
  FX_DEVICE long long next() const { return (long long)room() * RECORD; }  // from a record to that of the next block
  FX_DEVICE long long rests(int mn, int block) const { return record(0, blocks()) + tile(mn, block) * RESTS; }
  FX_DEVICE long long bytes() const { return 8 * plane() + tile(0, blocks()) * (RECORD + RESTS); }
  // The f32 of an element of a matrix; 0 outside.
  FX_DEVICE float value(const char *matrix, int mn, int at) const {
    if (mn >= rows || at >= k) return 0;
    const long long e = element(mn, at);
    const char *of_tile = matrix + record(mn, at / 64);
    const int all = *(const int *)(of_tile + FLAGS);
    if (all & (FX_HALVES_SPECIAL | FX_HALVES_WIDE)) return ((const float *)(matrix + whole()))[e];
    const unsigned short *first = (const unsigned short *)matrix + e, *second_ = (const unsigned short *)(matrix + second()) + e;
    float x = fx_f16_to_f32(*first) + fx_f16_to_f32(*second_) * 0x1p-11f;
    if (all & FX_HALVES_RESTS) {
      const int side = IS_K_LAST ? mn % 64 : at % 64, along = IS_K_LAST ? at % 64 : mn % 64;
      const unsigned digit = ((const unsigned *)(matrix + rests(mn, at / 64)))[side / 8 * 32 + along / 2] >> (15 - side % 8 * 2 - along % 2) * 2 & 3;
      x = fx_from_bits(fx_bits(x) + digit - 1);
    }
    return x * ((const float *)of_tile)[mn % 64];
  }
};

// fx_halve_place: a tile of 64 x 64 of an operand, and what a thread has of it: 8 of the side that is not contiguous, and a pair of the other one
template <class PROBLEM>
struct fx_halve_place {
  static constexpr bool IS_K_LAST = PROBLEM::halves::IS_K_LAST;
  unsigned row;                   // of tiles, of all matrices
  int block, first, mn, k;        // of k; where the tile begins; the thread's first element
  const float *from;              // that one
  int n_inside, stride;           // of the side that is not contiguous, those inside; from one to the next
  bool has_second;                // whether the second of a pair is inside

  FX_DEVICE fx_halve_place(const PROBLEM &p, const typename PROBLEM::halves &of, unsigned tile, bool is_whole) {
    const unsigned blocks = of.blocks(), room = of.room();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = tile / blocks, block = (int)(tile - row * blocks), first = (int)(row % room) * 64;
    mn = first + (IS_K_LAST ? warp * 8 : lane * 2), k = block * 64 + (IS_K_LAST ? lane * 2 : warp * 8);
    stride = IS_K_LAST ? of.k : of.rows;
    from = p.from() + (long long)(row / room) * of.rows * of.k + (IS_K_LAST ? (long long)mn * stride + k : (long long)k * stride + mn);
    n_inside = is_whole ? 8 : (IS_K_LAST ? k < of.k : mn < of.rows) ? IS_K_LAST ? of.rows - mn : of.k - k : 0;
    has_second = is_whole || (IS_K_LAST ? k + 1 < of.k : mn + 1 < of.rows);
  }
  // Starts copying pairs that are aligned to where the thread finds them.
  FX_DEVICE void ask(unsigned to) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) fx_cp_async8(to + i * 2048, from + (long long)i * stride, i < n_inside);
  }
  FX_DEVICE void load(unsigned (&x)[8][2], bool are_pairs) const {
    if (are_pairs && n_inside >= 8) {
#pragma unroll
      for (int i = 0; i < 8; ++i) fx_load_words(x[i], from + (long long)i * stride);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        x[i][0] = i < n_inside ? fx_bits(from[(long long)i * stride]) : 0;
        x[i][1] = i < n_inside && has_second ? fx_bits(from[(long long)i * stride + 1]) : 0;
      }
    }
  }
};

// fx_halve_barrier: of the threads that halve
template <int AHEAD>
FX_DEVICE void fx_halve_barrier() {
  if constexpr (AHEAD > 0) fx_named_barrier(1, 256);
  else fx_barrier();
}

// fx_halve: writes an operand as two f16: 256 threads take tiles of 64 x 64; PROBLEM: where from, and to
// AHEAD: of a block of more threads, that an SM has one of, so many tiles are asked for ahead of the one at hand; else 0
// Dynamic shared memory: 4160 + AHEAD * 16384 bytes.
template <int AHEAD = 0, class PROBLEM>
FX_DEVICE void fx_halve(const PROBLEM &p) {
  typedef typename PROBLEM::halves halves;
  constexpr bool IS_K_LAST = halves::IS_K_LAST;
  constexpr int SIDES = IS_K_LAST ? 8 : 2;  // rows, or columns, that a thread has elements of
  if (AHEAD && threadIdx.x >= 256) return;
  const halves of = p.shape();
  const int stride = IS_K_LAST ? of.k : of.rows;  // from one element of a thread to the next
  const unsigned room = of.room(), tiles = (unsigned)p.matrices() * of.blocks() * room;
  const bool is_whole = of.rows % 128 == 0 && of.k % 64 == 0;  // no tile has anything outside
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned sides = fx_shared(fx_smem()), asked = sides + 8 * 32 * 16 + 64 + threadIdx.x * 8;
  int turn = 0;   // flags of all warps have two places, in turns
  int stage = 0;  // of what is asked for
  const bool are_pairs = fx_is_aligned<2>(p.from()) && stride % 2 == 0;
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) {
    if (are_pairs && blockIdx.x + i * gridDim.x < tiles) fx_halve_place<PROBLEM>(p, of, blockIdx.x + i * gridDim.x, is_whole).ask(asked + i * 16384);
    fx_cp_async_commit();
  }
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const fx_halve_place<PROBLEM> place(p, of, tile, is_whole);
    const int first = place.first, mn = place.mn, k = place.k, block = place.block, n_inside = place.n_inside;
    const bool has_second = place.has_second;
    char *matrix = p.to() + place.row / room * of.bytes(), *record = matrix + of.record(first, block);
    unsigned x[8][2];  // bits of floats
    if (AHEAD && are_pairs) {
      fx_cp_async_wait<(AHEAD ? AHEAD - 1 : 0)>();
#pragma unroll
      for (int i = 0; i < 8; ++i) fx_shared_get<2>(x[i], asked + stage * 16384 + i * 2048);
      const unsigned next = tile + AHEAD * gridDim.x;
      if (next < tiles) fx_halve_place<PROBLEM>(p, of, next, is_whole).ask(asked + stage * 16384);
      fx_cp_async_commit();
      stage = stage + 1 == AHEAD ? 0 : stage + 1;
    } else {
      place.load(x, are_pairs);
    }
    unsigned most[SIDES];  // the largest of a row, as bits: more than those of infinity where it is a NaN
    bool has_powers = false;
    if constexpr (IS_K_LAST) {
      unsigned even = 0;  // rows of whose elements none has a bit below the first
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        most[i] = fx_reduce_max(max(x[i][0] & 0x7fffffff, x[i][1] & 0x7fffffff));
        if (((x[i][0] | x[i][1]) & 0x7fffff) == 0) even |= 1u << i;
      }
      even = fx_reduce_and(even);
      if (even) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int n = fx_count_bits(fx_ballot(x[i][0] << 1 != 0)) + fx_count_bits(fx_ballot(x[i][1] << 1 != 0));
          has_powers |= (even >> i & 1) && n >= 1 && n <= 8;
        }
      }
    } else {
      unsigned own[4] = {0, 0, 0, 0};  // of either column the largest, and all bits below the first of its elements or, where there are none, how many are not 0, times 2^23
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) own[j] = max(own[j], x[i][j] & 0x7fffffff), own[2 + j] |= x[i][j];
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        own[2 + j] &= 0x7fffff;
        if (own[2 + j] == 0) {
#pragma unroll
          for (int i = 0; i < 8; ++i) own[2 + j] += x[i][j] << 1 ? 1 << 23 : 0;
        }
      }
      fx_shared_put4(sides + (warp * 32 + lane) * 16, own);
      fx_halve_barrier<AHEAD>();
      unsigned bits[2] = {0, 0}, n[2] = {0, 0};
      most[0] = most[1] = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        unsigned other[4];
        fx_shared_get<4>(other, sides + (i * 32 + lane) * 16);
#pragma unroll
        for (int j = 0; j < 2; ++j) most[j] = max(most[j], other[j]), bits[j] |= other[2 + j], n[j] += other[2 + j] >> 23;
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) has_powers |= (bits[j] & 0x7fffff) == 0 && n[j] >= 1 && n[j] <= 8;
    }
    int of_thread = has_powers ? FX_HALVES_POWERS : 0;
    float up[SIDES];
    unsigned power[SIDES], largest = 0, smallest = ~0u;  // of all that are not 0, less 1
#pragma unroll
    for (int i = 0; i < SIDES; ++i) {
      largest = max(largest, most[i]), smallest = min(smallest, most[i] - 1);
      const unsigned of_power = most[i] - (47u << 23) < 138u << 23 ? most[i] & 0x7f800000 : 127u << 23;  // from 2^-80 to 2^58
      up[i] = fx_from_bits((268u << 23) - of_power);
      power[i] = of_power - (14u << 23);
    }
    if (largest >= 185u << 23 || smallest < (47u << 23) - 1) of_thread |= FX_HALVES_SPECIAL;
    if (IS_K_LAST ? lane == 0 : warp == 0) fx_store_words(record + (mn - first) * 4, power);
    unsigned short *halved = (unsigned short *)matrix + of.element(mn, k), *halved_second = (unsigned short *)(matrix + of.second()) + of.element(mn, k);
    const long long pitch = of.pitch();
    unsigned least = ~0u, zero = 0, rests = 0;  // twice the bits of the least that is not 0, less 1; ~0 where one is 0; a digit to the base 4 for each element
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float lo = fmaf(fx_from_bits(x[i][0]), up[IS_K_LAST ? i : 0], 0.0f), hi = fmaf(fx_from_bits(x[i][1]), up[IS_K_LAST ? i : SIDES - 1], 0.0f);  // no -0
      const unsigned twice[2] = {fx_bits(lo) + fx_bits(lo) - 1, fx_bits(hi) + fx_bits(hi) - 1};
      least = min(least, min(twice[0], twice[1])), zero = max(zero, max(twice[0], twice[1]));
      unsigned words[2][1];
      words[0][0] = fx_pack_f16(lo, hi);
      const float rest_lo = (lo - fx_f16_to_f32((unsigned short)words[0][0])) * 0x1p11f, rest_hi = (hi - fx_f16_to_f32((unsigned short)(words[0][0] >> 16))) * 0x1p11f;
      words[1][0] = fx_pack_f16(rest_lo, rest_hi);
      rests = rests * 4 + (fx_bits(lo) - fx_bits(fmaf(fx_f16_to_f32((unsigned short)words[1][0]), 0x1p-11f, fx_f16_to_f32((unsigned short)words[0][0]))));
      rests = rests * 4 + (fx_bits(hi) - fx_bits(fmaf(fx_f16_to_f32((unsigned short)(words[1][0] >> 16)), 0x1p-11f, fx_f16_to_f32((unsigned short)(words[0][0] >> 16)))));
      if (i < n_inside) {
        fx_store_words(halved + i * pitch, words[0]);
        fx_store_words(halved_second + i * pitch, words[1]);
      }
    }
    if (least < 0x72000000u - 1) of_thread |= FX_HALVES_WIDE;    // below 2^-13, where the largest is 2^14
    if (least < 0x79000000u - 1) of_thread |= FX_HALVES_UNEVEN;  // below 2^-6
    if (zero == ~0u) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int side = IS_K_LAST ? i : j;
          if (x[i][j] << 1 && fx_from_bits(x[i][j]) * up[side % SIDES] == 0) of_thread |= FX_HALVES_WIDE;
          if (i < n_inside && (j == 0 || has_second) && !(x[i][j] << 1) && most[side % SIDES]) of_thread |= FX_HALVES_UNEVEN;
        }
      }
    }
    if (rests) of_thread |= FX_HALVES_RESTS;
    ((unsigned *)(matrix + of.rests(first, block)))[threadIdx.x] = rests + 0x55555555u;
    of_thread = (int)fx_reduce_or((unsigned)of_thread);
    const unsigned flags = sides + 8 * 32 * 16 + turn;
    if (lane == 0) fx_shared_put1(flags + warp * 4, (unsigned)of_thread);
    fx_halve_barrier<AHEAD>();
    int all = 0;
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      int other[4];
      fx_shared_get<4>(other, flags + i * 4);
      all |= other[0] | other[1] | other[2] | other[3];
    }
    turn ^= 32;  // who reads these is a barrier ahead of who writes them again
    const unsigned flags_of_record[4] = {(unsigned)all, 0, 0, 0};
    if (threadIdx.x == 0) fx_store_words(record + halves::FLAGS, flags_of_record);
    if (all & (FX_HALVES_SPECIAL | FX_HALVES_WIDE)) {
      float *whole = (float *)(matrix + of.whole()) + of.element(mn, k);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < n_inside) fx_store_words(whole + i * pitch, x[i]);
    }
  }
}

// fx_wgmma_halves: as fx_wgmma_split, and slots for the records of blocks of k: those of A's rows, then those of the columns of every B; so many that one is given back with the stages of the block after its own
template <class SPLIT>
struct fx_wgmma_halves : SPLIT {
  static constexpr int RECORD = fx_halves<true>::RECORD, OF_A = SPLIT::BM / 64 * RECORD, OF_B = SPLIT::BN / 64 * RECORD;
  static constexpr int SLOTS = (SPLIT::STAGES + 1) / 2 + 1, SLOT_BYTES = OF_A + (SPLIT::STAGE_BYTES - SPLIT::A_BYTES) / SPLIT::B_BYTES * OF_B;
  static constexpr int SHARED_BYTES = SPLIT::SHARED_BYTES + SLOTS * SLOT_BYTES;
};

// fx_halves_slots: where a thread stands in a ring of slots
template <class ENGINE>
struct fx_halves_slots {
  unsigned first;  // of the slots, in shared memory
  int slot;        // at hand

  FX_DEVICE unsigned address() const { return first + slot * ENGINE::SLOT_BYTES; }
  FX_DEVICE void next() { slot = slot + 1 == ENGINE::SLOTS ? 0 : slot + 1; }
};

// fx_halves_producer: the mainloop as the producer runs it: either part of every block of k of a tile into the next stage, with the second one the records of the block
template <class ENGINE>
struct fx_halves_producer {
  fx_wgmma_ring<ENGINE> &ring;  // of the block
  fx_halves_slots<ENGINE> &slots;
  const fx_tile &at;            // the tile
  const fx_tensor_map *map;     // of the segment's first operand

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void find_b(const PROBLEM &p, const char *(&records)[SEGMENT::SUMS], int block) const {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::template b<J> b;
      records[J] = b::matrix(p, J, at.batch) + b::shape(p).record(at.n, block);
      find_b<SEGMENT, J + 1>(p, records, block);
    }
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, const char *(&records)[SEGMENT::SUMS], int part, int k) const {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::template b<J> b;
      fx_split_load<ENGINE::BN, b>(p, map + 1 + J, ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), part, J, at.batch, 0, at.n, k);
      if (part) {
        fx_bulk_load(slots.address() + ENGINE::OF_A + J * ENGINE::OF_B, records[J], ENGINE::OF_B, ring.full());
        records[J] += b::shape(p).next();
      }
      load_b<SEGMENT, J + 1>(p, records, part, k);
    }
  }
  // Blocks of k from one on.
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, int begin, int end) {
    typedef typename SEGMENT::a a;
    const char *of_a = a::matrix(p, 0, at.batch) + a::shape(p).record(at.m, begin), *of_b[SEGMENT::SUMS];
    find_b<SEGMENT, 0>(p, of_b, begin);
#pragma unroll 1
    for (int k = begin * ENGINE::BK; k < end * ENGINE::BK; k += ENGINE::BK) {
#pragma unroll
      for (int part = 1; part >= 0; --part) {
        fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
        fx_mbarrier_expect(ring.full(), ENGINE::A_BYTES + SEGMENT::SUMS * ENGINE::B_BYTES + part * (ENGINE::OF_A + SEGMENT::SUMS * ENGINE::OF_B));
        fx_split_load<ENGINE::BM, a>(p, map, ring.address(), ring.full(), part, 0, at.batch, 0, at.m, k);
        if (part) fx_bulk_load(slots.address(), of_a, ENGINE::OF_A, ring.full());
        load_b<SEGMENT, 0>(p, of_b, part, k);
        ring.next();
      }
      of_a += a::shape(p).next();
      slots.next();
    }
    map += 1 + SEGMENT::SUMS;
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(p, 0, (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  }
  FX_DEVICE void next_segment() {}
};

// fx_halves_consumer: the mainloop as a consumer runs it
template <class ENGINE, int SUMS>
struct fx_halves_consumer {
  fx_wgmma_sums<ENGINE> &acc;                                           // the sums
  float (&first)[SUMS][ENGINE::BN / 2], (&rest)[SUMS][ENGINE::BN / 2];  // of a block: of the first parts; of the others, times 2^11
  fx_wgmma_ring<ENGINE> &ring;                                          // of the block
  fx_halves_slots<ENGINE> &slots;
  int consumer;                                                         // 0 or 1
  const fx_tile &at;                                                    // the tile

  // Whether a block is added up as f32: the same for all threads, which the compiler then knows.
  template <class SEGMENT>
  FX_DEVICE bool is_exact(unsigned records) const {
    constexpr int FLAGS = fx_halves<true>::FLAGS;
    int of_a, of_b = 0;
    fx_shared_get<1>(&of_a, records + consumer * ENGINE::RECORD + FLAGS);
#pragma unroll
    for (int i = 0; i < SEGMENT::SUMS * (ENGINE::BN / 64); ++i) {
      int flags;
      fx_shared_get<1>(&flags, records + ENGINE::OF_A + i * ENGINE::RECORD + FLAGS);
      of_b |= flags;
    }
    return fx_ballot(fx_halves_exact(of_a, of_b)) != 0;
  }
  // Starts the products of a part of A and one of every B; begins: they are the first of `to`.
  template <class SEGMENT>
  FX_DEVICE void multiply(float (&to)[SUMS][ENGINE::BN / 2], unsigned a_stage, unsigned b_stage, bool begins) {
    constexpr int A = SEGMENT::a::LAYOUT, B = SEGMENT::template b<0>::LAYOUT;
    const unsigned long long a = fx_wgmma_operand<A>::at(a_stage + consumer * 8192);
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
      const unsigned long long b = fx_wgmma_operand<B>::at(b_stage + ENGINE::A_BYTES + j * ENGINE::B_BYTES);
#pragma unroll
      for (int step = 0; step < ENGINE::BK / 16; ++step)
        ENGINE::columns::template multiply<false, A == FX_MN_MAJOR, B == FX_MN_MAJOR, false>(
            to[j], a + step * (fx_wgmma_operand<A>::STEP >> 4), b + step * (fx_wgmma_operand<B>::STEP >> 4), step > 0 || !begins);
    }
  }
  template <class SEGMENT>
  FX_DEVICE void scale(float (&of)[SUMS][ENGINE::BN / 2], float even, float odd) {
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
#pragma unroll
      for (int i = 0; i < ENGINE::BN / 2; ++i) of[j][i] *= i / 2 % 2 ? odd : even;
    }
  }
  FX_DEVICE void give_back(int stage) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty(stage));
  }
  // Adds the totals of a block to its sums: the first parts' have the powers of rows already; power: those, by row of a thread.
  template <class SEGMENT>
  FX_DEVICE void total(const float (&power)[2], unsigned records) {
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
#pragma unroll
      for (int i = 0; i < ENGINE::BN / 8; ++i) {
        float of_columns[2];
        fx_shared_get<2>(of_columns, records + ENGINE::OF_A + j * ENGINE::OF_B + i / 8 * ENGINE::RECORD + (i % 8 * 8 + threadIdx.x % 4 * 2) * 4);
#pragma unroll
        for (int e = 0; e < 4; ++e)
          acc.of[SEGMENT::sum(j)][0][i * 4 + e] += (first[j][i * 4 + e] + rest[j][i * 4 + e] * (power[e / 2] * 0x1p-11f)) * of_columns[e % 2];
      }
    }
  }
  // Adds 64 k to its sums by multiply-adds.
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void add_exact(const PROBLEM &p, int block) {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::a a;
      typedef typename SEGMENT::template b<J> b;
      constexpr int PER_LANE = ENGINE::BN / 32;
      const auto of_a = a::shape(p);
      const auto of_b = b::shape(p);
      const char *from_a = a::matrix(p, 0, at.batch), *from_b = b::matrix(p, J, at.batch);
      // A lane has one of the rows, and of the columns those that it adds to from PER_LANE * (lane / 4) on.
      const int lane = threadIdx.x % 32, column = at.n + lane % 4 * 2;
      int row = at.m + consumer * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 + lane % 2 * 8, own = lane / 4 * PER_LANE;
      fx_hide(row), fx_hide(own);  // else addresses are kept in registers for blocks most of which need none
      const int k_end = min((block + 1) * ENGINE::BK, SEGMENT::k(p));
#pragma unroll 1
      for (int k = block * ENGINE::BK; k < k_end; ++k) {
        const unsigned of_row = fx_bits(of_a.value(from_a, row, k));
        unsigned of_column[PER_LANE];
#pragma unroll
        for (int i = 0; i < PER_LANE; ++i) of_column[i] = fx_bits(of_b.value(from_b, column + (own + i) / 2 * 8 + (own + i) % 2, k));
        const float x[2] = {fx_from_bits(fx_shuffle_from(of_row, lane / 4 * 4)), fx_from_bits(fx_shuffle_from(of_row, lane / 4 * 4 + 1))};
#pragma unroll
        for (int i = 0; i < ENGINE::BN / 4; ++i) {
          const float y = fx_from_bits(fx_shuffle_from(of_column[i % PER_LANE], i / PER_LANE * 4 + lane % 4));
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            float &sum = acc.of[SEGMENT::sum(J)][0][i / 2 * 4 + r * 2 + i % 2];
            sum = fmaf(x[r], y, sum);
          }
        }
      }
      add_exact<SEGMENT, J + 1>(p, block);
    }
  }
  // Blocks of k from `block` on.
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, int block, int end) {
    const unsigned own_row = consumer * ENGINE::RECORD + (threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4) * 4;  // of a slot
#pragma unroll 1
    for (; block < end; ++block) {
      const unsigned records = slots.address();
      bool exact = false;
      int stages[2];
      unsigned from[2];  // by part
#pragma unroll
      for (int i = 1; i >= 0; --i) {
        stages[i] = ring.stage, from[i] = ring.address();
        fx_mbarrier_wait(ring.full(), ring.parity);
        if (i) exact = is_exact<SEGMENT>(records);
        ring.next();
      }
      slots.next();
      fx_named_barrier(1 + consumer, 256);  // the other one has started its products
      if (exact) {
        fx_named_arrive(2 - consumer, 256);
        add_exact<SEGMENT, 0>(p, block);
        give_back(stages[1]);
        give_back(stages[0]);
        continue;
      }
      fx_wgmma_begin();
      multiply<SEGMENT>(rest, from[1], from[1], true);
      fx_wgmma_commit();
      fx_wgmma_begin();
      multiply<SEGMENT>(first, from[0], from[0], true);
      fx_wgmma_commit();
      float power[2];
      fx_shared_get<1>(&power[0], records + own_row);
      fx_shared_get<1>(&power[1], records + own_row + 8 * 4);
      fx_wgmma_wait<1>();
      scale<SEGMENT>(rest, 0x1p-11f, 0x1p-11f);
      fx_wgmma_begin();
      multiply<SEGMENT>(rest, from[0], from[1], false);
      multiply<SEGMENT>(rest, from[1], from[0], false);
      fx_wgmma_commit();
      fx_named_arrive(2 - consumer, 256);
      fx_wgmma_wait<1>();
      scale<SEGMENT>(first, power[0], power[1]);
      fx_wgmma_wait<0>();
      give_back(stages[1]);
      give_back(stages[0]);
      total<SEGMENT>(power, records);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(p, 0, (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  }
  FX_DEVICE void next_segment() {}
};

// fx_gemm_halves: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_halves(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  constexpr int SUMS = PROBLEM::SUMS, CONSUMERS = ENGINE::CONSUMERS;
  const unsigned stages = fx_shared(fx_smem()), staging = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const unsigned barriers = staging + CONSUMERS * 4 * ENGINE::STAGING_BYTES;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128;
  fx_wgmma_ring<ENGINE> ring = {stages, barriers, 0, 0};
  fx_halves_slots<ENGINE> slots = {barriers + 2 * ENGINE::STAGES * 8, 0};
  if (threadIdx.x == 0) ring.begin(1, 4 * CONSUMERS);
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_halves_producer<ENGINE>>(p, maps, tiles, ring, slots);
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1, warp = threadIdx.x / 32 % 4;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_columns<ENGINE, PROBLEM> columns;
    if constexpr (ENGINE::HAS_ROOM && !fx_reduces<ENGINE>(0)) columns.fetch(p, at.batch, at.n);
    fx_wgmma_sums<ENGINE> acc;
    float first[SUMS][ENGINE::BN / 2], rest[SUMS][ENGINE::BN / 2];
#pragma unroll
    for (int i = 0; i < SUMS * ENGINE::BN / 2; ++i) acc.of[i / (ENGINE::BN / 2)][0][i % (ENGINE::BN / 2)] = 0;
    fx_halves_consumer<ENGINE, SUMS> mainloop = {acc, first, rest, ring, slots, consumer, at};
    p.accumulate(mainloop);
    if constexpr (fx_reduces<ENGINE>(0)) ENGINE::reduce(p, at, consumer * 64, acc);
    else fx_wgmma_epilogue<ENGINE>(p, at, consumer * 64 + warp * 16, columns, acc, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
}
