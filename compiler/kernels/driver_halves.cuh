/* The contraction driver of sm_90a for f32 stored as two f16: a problem as for driver_split.cuh, whose operands are of type fx_halves. Of 64 k of a row of A, or of a column of B, a power of two
   brings the largest below 2^15; what that makes of x is x0 + x1 / 2^11, each the f16 nearest to what is left. Of x y it adds up x0 y0, x0 y1, x1 y0 and x1 y1. Tensor cores cut off low bits of
   what they add to: so the products of 64 k are added up apart from the sums, x0 y0 in registers of their own, the others from the least on, and then added to the sums as f32 are, times both powers.
   Where two f16 do not do, flags of blocks of 64 x 64 of either operand say so (fx_halves_exact). A consumer then adds up that block of k by multiply-adds in order of k, as f32 are: infinities,
   NaN, subnormal numbers and what lies near either end of the range give what f32 gives.
   A stage holds one part of A's rows and of the columns of every B, 64 k of each, in boxes of 64 x 64; two stages in a row, the second part first, are a block of k.
   Two consumers take turns: one starts its products when the other has started all of its own. What a block needs of memory beside the stages, flags and powers, is asked for a block ahead, and
   the powers of columns are staged where the epilogue stages sums.
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

// fx_halves: an f32 of BATCH matrices of R rows (columns) by K, stored as two f16, each in a plane of all elements. Behind them stand, where flags are SPECIAL or WIDE, the f32 as they are; for every
// 64 k a power of two of each row, of zeros for as many as make up 128; the flags; and of each tile of 64 x 64 what two f16 leave, a unit in the last place or nothing: digits to the base 4,
// of what is to be added and 1; a word has those of a thread of fx_halve, the first one's highest
template <long long BATCH_, int R_, int K_, bool IS_K_LAST_>
struct fx_halves {
  static constexpr long long BATCH = BATCH_;
  static constexpr int R = R_, K = K_;
  static constexpr bool IS_K_LAST = IS_K_LAST_;
  static constexpr int BLOCKS = (K + 63) / 64, ROWS = (R + 127) / 128 * 128, ROOM = ROWS / 64;
  static constexpr unsigned TILES = BATCH * BLOCKS * ROOM;  // a kilobyte each has room in memory
  static constexpr long long N = BATCH * R * K, POWERS_AT = 8 * N, FLAGS_AT = POWERS_AT + 4 * BATCH * BLOCKS * ROWS;
  static constexpr long long RESTS_AT = FLAGS_AT + (BATCH * BLOCKS * ROOM + 15) / 16 * 16;

  unsigned short bits;  // of the first f16; those of the second lie N elements on

  static FX_DEVICE long long element(long long batch, int mn, int k) { return IS_K_LAST ? (batch * R + mn) * K + k : (batch * K + k) * R + mn; }
  static FX_DEVICE long long power(long long batch, int mn, int block) { return (batch * BLOCKS + block) * ROWS + mn; }
  static FX_DEVICE long long flag(long long batch, int mn, int block) { return (batch * BLOCKS + block) * ROOM + mn / 64; }
  FX_DEVICE float *whole() { return (float *)((char *)this + 4 * N); }
  FX_DEVICE const float *whole() const { return (const float *)((const char *)this + 4 * N); }
  FX_DEVICE float *powers() { return (float *)((char *)this + POWERS_AT); }
  FX_DEVICE const float *powers() const { return (const float *)((const char *)this + POWERS_AT); }
  FX_DEVICE unsigned char *flags() { return (unsigned char *)this + FLAGS_AT; }
  FX_DEVICE const unsigned char *flags() const { return (const unsigned char *)this + FLAGS_AT; }
  // A word for each thread of fx_halve.
  FX_DEVICE unsigned *rests(long long flag) { return (unsigned *)((char *)this + RESTS_AT) + flag * 256; }
  FX_DEVICE const unsigned *rests(long long flag) const { return (const unsigned *)((const char *)this + RESTS_AT) + flag * 256; }
  // The f32 of an element; 0 outside.
  FX_DEVICE float value(long long batch, int mn, int k) const {
    if (mn >= R || k >= K) return 0;
    const long long e = element(batch, mn, k);
    const int all = flags()[flag(batch, mn, k / 64)];
    if (all & (FX_HALVES_SPECIAL | FX_HALVES_WIDE)) return whole()[e];
    float x = fx_f16_to_f32(this[e].bits) + fx_f16_to_f32(this[N + e].bits) * 0x1p-11f;
    if (all & FX_HALVES_RESTS) {
      const int side = IS_K_LAST ? mn % 64 : k % 64, along = IS_K_LAST ? k % 64 : mn % 64;
      const unsigned digit = rests(flag(batch, mn, k / 64))[side / 8 * 32 + along / 2] >> (15 - side % 8 * 2 - along % 2) * 2 & 3;
      x = fx_from_bits(fx_bits(x) + digit - 1);
    }
    return x * powers()[power(batch, mn, k / 64)];
  }
};

// fx_halve: writes an operand as two f16: 256 threads take tiles of 64 x 64, with 8 of the side that is not contiguous and a pair of the other one each; PROBLEM: where from, and to
template <class PROBLEM>
FX_DEVICE void fx_halve(const PROBLEM &p) {
  typedef typename PROBLEM::halves halves;
  constexpr bool IS_K_LAST = halves::IS_K_LAST;
  constexpr bool IS_WHOLE = halves::R % 128 == 0 && halves::K % 64 == 0;  // no tile has anything outside
  constexpr int SIDES = IS_K_LAST ? 8 : 2, STRIDE = IS_K_LAST ? halves::K : halves::R;  // rows, or columns, that a thread has elements of; from one element of it to the next
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned sides = fx_shared(fx_smem());
  int turn = 0;  // flags of all warps have two places, in turns
  const float *from = p.from();
  halves *to = p.to();
  const bool are_pairs = fx_is_aligned<2>(from);
  for (unsigned tile = blockIdx.x; tile < halves::TILES; tile += gridDim.x) {
    const int block = (int)(tile % (unsigned)halves::BLOCKS), first = (int)(tile / (unsigned)halves::BLOCKS % (unsigned)halves::ROOM) * 64, mn = first + (IS_K_LAST ? warp * 8 : lane * 2);
    const int k = block * 64 + (IS_K_LAST ? lane * 2 : warp * 8);
    const long long batch = tile / (unsigned)(halves::BLOCKS * halves::ROOM), e = halves::element(batch, mn, k), flag = halves::flag(batch, first, block);
    // Of the side that is not contiguous, those inside; both of a pair are.
    const int n_inside = IS_WHOLE ? 8 : (IS_K_LAST ? k < halves::K : mn < halves::R) ? IS_K_LAST ? halves::R - mn : halves::K - k : 0;
    unsigned x[8][2];  // bits of floats
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      x[i][0] = x[i][1] = 0;
      if (i < n_inside) {
        if (are_pairs) fx_load_words(x[i], from + e + i * STRIDE);
        else x[i][0] = fx_bits(from[e + i * STRIDE]), x[i][1] = fx_bits(from[e + i * STRIDE + 1]);
      }
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
      fx_barrier();
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
    unsigned *powers = (unsigned *)to->powers() + halves::power(batch, mn, block);
    if (IS_K_LAST ? lane == 0 : warp == 0) fx_store_words(powers, power);
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
        fx_store_words(to + e + i * STRIDE, words[0]);
        fx_store_words(to + halves::N + e + i * STRIDE, words[1]);
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
          if (i < n_inside && !(x[i][j] << 1) && most[side % SIDES]) of_thread |= FX_HALVES_UNEVEN;
        }
      }
    }
    if (rests) of_thread |= FX_HALVES_RESTS;
    to->rests(flag)[threadIdx.x] = rests + 0x55555555u;
    of_thread = (int)fx_reduce_or((unsigned)of_thread);
    const unsigned flags = sides + 8 * 32 * 16 + turn;
    if (lane == 0) fx_shared_put1(flags + warp * 4, (unsigned)of_thread);
    fx_barrier();
    int all = 0;
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      int other[4];
      fx_shared_get<4>(other, flags + i * 4);
      all |= other[0] | other[1] | other[2] | other[3];
    }
    turn ^= 32;  // who reads these is a barrier ahead of who writes them again
    if (threadIdx.x == 0) to->flags()[flag] = (unsigned char)all;
    if (all & (FX_HALVES_SPECIAL | FX_HALVES_WIDE)) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < n_inside) fx_store_words(to->whole() + e + i * STRIDE, x[i]);
    }
  }
}

// fx_halves_producer: the mainloop as the producer runs it: either part of every block of k of a tile into the next stage
template <class ENGINE>
struct fx_halves_producer {
  fx_wgmma_ring<ENGINE> &ring;  // of the block
  const fx_tile &at;            // the tile
  const fx_tensor_map *map;     // of the segment's first operand

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int part, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      fx_split_load<ENGINE::BN, typename SEGMENT::template b<J>>(p, map + 1 + J, ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), part, J, at.batch, 0, at.n, k);
      load_b<SEGMENT, J + 1>(p, part, k);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int k = 0; k < k_end; k += ENGINE::BK) {
#pragma unroll 1
      for (int part = 1; part >= 0; --part) {
        fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
        fx_mbarrier_expect(ring.full(), ENGINE::A_BYTES + SEGMENT::SUMS * ENGINE::B_BYTES);
        fx_split_load<ENGINE::BM, typename SEGMENT::a>(p, map, ring.address(), ring.full(), part, 0, at.batch, 0, at.m, k);
        load_b<SEGMENT, 0>(p, part, k);
        ring.next();
      }
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_halves_place: an operand of a tile: where it is stored, which of the matrices it is, its first row or column
template <class HALVES>
struct fx_halves_place {
  const HALVES *base;
  long long batch;
  int mn;
};

// fx_halves_ahead: what a thread asks for a block of k ahead
template <class ENGINE, int SUMS>
struct fx_halves_ahead {
  static constexpr int PER_LANE = ENGINE::BN / 32;  // columns of a sum whose powers a lane stages

  int of_a, of_b[SUMS][ENGINE::BN / 64];  // flags
  float rows[2];                          // the powers of its rows
  unsigned columns[SUMS][PER_LANE];
};

// fx_halves_consumer: the mainloop as a consumer runs it
template <class ENGINE, int SUMS>
struct fx_halves_consumer {
  fx_wgmma_sums<ENGINE> &acc;                                           // the sums
  float (&first)[SUMS][ENGINE::BN / 2], (&rest)[SUMS][ENGINE::BN / 2];  // of a block: of the first parts; of the others, times 2^11
  fx_wgmma_ring<ENGINE> &ring;                                          // of the block
  int consumer;                                                         // 0 or 1
  const fx_tile &at;                                                    // the tile
  unsigned staging;                                                     // shared memory of the warp's own: powers of the columns of every sum

  template <class OPERAND, class PROBLEM>
  FX_DEVICE auto place(const PROBLEM &p, int j, int mn) const {
    typedef typename OPERAND::halves halves;
    const halves *base = OPERAND::base(p, j), *first = OPERAND::at(p, j, at.batch, 0);
    return fx_halves_place<halves>{base, (first - base) / ((long long)halves::R * halves::K), mn};
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE auto place_a(const PROBLEM &p) const {
    return place<typename SEGMENT::a>(p, 0, at.m + consumer * 64);
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE auto place_b(const PROBLEM &p) const {
    return place<typename SEGMENT::template b<J>>(p, J, at.n);
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void ask_b(fx_halves_ahead<ENGINE, SUMS> &x, const PROBLEM &p, int block) const {
    if constexpr (J < SEGMENT::SUMS) {
      const auto b = place_b<SEGMENT, J>(p);
#pragma unroll
      for (int i = 0; i < ENGINE::BN / 64; ++i) x.of_b[J][i] = b.base->flags()[b.base->flag(b.batch, b.mn + i * 64, block)];
      fx_load_words(x.columns[J], b.base->powers() + b.base->power(b.batch, b.mn, block) + threadIdx.x % 32 * fx_halves_ahead<ENGINE, SUMS>::PER_LANE);
      ask_b<SEGMENT, J + 1>(x, p, block);
    }
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void ask(fx_halves_ahead<ENGINE, SUMS> &x, const PROBLEM &p, int block) const {
    const auto a = place_a<SEGMENT>(p);
    x.of_a = a.base->flags()[a.base->flag(a.batch, a.mn, block)];
    const float *powers = a.base->powers() + a.base->power(a.batch, a.mn, block) + (threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4);
    x.rows[0] = powers[0], x.rows[1] = powers[8];
    ask_b<SEGMENT, 0>(x, p, block);
  }
  // Whether a block is added up as f32: the same for all threads, which the compiler then knows. What was asked for is not looked at before.
  template <class SEGMENT>
  FX_DEVICE bool is_exact(fx_halves_ahead<ENGINE, SUMS> &x) const {
    fx_hide(x.of_a);
    int of_b = 0;
#pragma unroll
    for (int i = 0; i < SEGMENT::SUMS * (ENGINE::BN / 64); ++i) {
      fx_hide(x.of_b[i / (ENGINE::BN / 64)][i % (ENGINE::BN / 64)]);
      of_b |= x.of_b[i / (ENGINE::BN / 64)][i % (ENGINE::BN / 64)];
    }
    return fx_ballot(fx_halves_exact(x.of_a, of_b)) != 0;
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
  template <class SEGMENT>
  FX_DEVICE void stage_columns(const fx_halves_ahead<ENGINE, SUMS> &x) const {
    constexpr int PER_LANE = fx_halves_ahead<ENGINE, SUMS>::PER_LANE;
    fx_warp_barrier();  // every lane has read those of the block before
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) fx_shared_put<PER_LANE>(staging + (j * ENGINE::BN + threadIdx.x % 32 * PER_LANE) * 4, x.columns[j]);
    fx_warp_barrier();
  }
  // Adds the totals of a block to its sums: the first parts' have the powers of rows already; power: those, by row of a thread.
  template <class SEGMENT>
  FX_DEVICE void total(const float (&power)[2]) {
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
#pragma unroll
      for (int i = 0; i < ENGINE::BN / 8; ++i) {
        float of_columns[2];
        fx_shared_get<2>(of_columns, staging + (j * ENGINE::BN + i * 8 + threadIdx.x % 4 * 2) * 4);
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
      const auto a = place_a<SEGMENT>(p);
      const auto b = place_b<SEGMENT, J>(p);
      const int row = a.mn + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4, column = b.mn + threadIdx.x % 4 * 2;
      const int k_end = min((block + 1) * ENGINE::BK, SEGMENT::k(p));
#pragma unroll 1
      for (int k = block * ENGINE::BK; k < k_end; ++k) {
        const float x[2] = {a.base->value(a.batch, row, k), a.base->value(a.batch, row + 8, k)};
#pragma unroll
        for (int i = 0; i < ENGINE::BN / 4; ++i) {
          const float y = b.base->value(b.batch, column + i / 2 * 8 + i % 2, k);
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
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    fx_halves_ahead<ENGINE, SUMS> ahead;
    ask<SEGMENT>(ahead, p, 0);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      const bool exact = is_exact<SEGMENT>(ahead);
      const int next = min(block + 1, blocks - 1);
      int stages[2];
      unsigned from[2];  // by part
#pragma unroll
      for (int i = 1; i >= 0; --i) {
        stages[i] = ring.stage, from[i] = ring.address();
        fx_mbarrier_wait(ring.full(), ring.parity);
        ring.next();
      }
      fx_named_barrier(1 + consumer, 256);  // the other one has started its products
      if (exact) {
        fx_named_arrive(2 - consumer, 256);
        add_exact<SEGMENT, 0>(p, block);
        give_back(stages[1]);
        give_back(stages[0]);
        ask<SEGMENT>(ahead, p, next);
        continue;
      }
      fx_wgmma_begin();
      multiply<SEGMENT>(rest, from[1], from[1], true);
      fx_wgmma_commit();
      fx_wgmma_begin();
      multiply<SEGMENT>(first, from[0], from[0], true);
      fx_wgmma_commit();
      stage_columns<SEGMENT>(ahead);
      const float power[2] = {ahead.rows[0], ahead.rows[1]};
      ask<SEGMENT>(ahead, p, next);
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
      total<SEGMENT>(power);
    }
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
  if (threadIdx.x == 0) ring.begin(1, 4 * CONSUMERS);
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_halves_producer<ENGINE>>(p, maps, tiles, ring);
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1, warp = threadIdx.x / 32 % 4;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_columns<ENGINE, PROBLEM> columns;
    if (ENGINE::HAS_ROOM) columns.fetch(p, at.batch, at.n);
    fx_wgmma_sums<ENGINE> acc;
    float first[SUMS][ENGINE::BN / 2], rest[SUMS][ENGINE::BN / 2];
#pragma unroll
    for (int i = 0; i < SUMS * ENGINE::BN / 2; ++i) acc.of[i / (ENGINE::BN / 2)][0][i % (ENGINE::BN / 2)] = 0;
    fx_halves_consumer<ENGINE, SUMS> mainloop = {acc, first, rest, ring, consumer, at, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES};
    p.accumulate(mainloop);
    fx_wgmma_epilogue<ENGINE>(p, at, consumer * 64 + warp * 16, columns, acc, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
}
