/* The contraction driver of sm_90a for f32 that splits its operands on the way: a problem as for driver_wgmma.cuh, whose operands of f32 lie in memory as tensor maps say.
   An f32 is two f16, and a product four products of these. Of 64 k of a row of A, or of a column of a B, a power of two brings the largest below 2^15; what that makes of x is x0 + x1 / 2^11 and a rest,
   each part the nearest f16 to what is left: the rest is at most a unit in the last place of x. Tensor cores cut off low bits of what they add to: so the products of 64 k are added up apart from
   the sums, x1 y1 first and x0 y0 last, and then added to the sums as f32 are, times the powers of two.
   Levels: what is below 2^-13 once it is multiplied waits for the next level, which has a power of two of its own. A block of k has as many levels as its row, or column, of the widest range has, ten
   at most; all those of A meet all those of B.
   Rests: x0 y2 and x2 y0 are two more products. They can matter to a sum alone whose magnitudes add up to no more than 2^24 units of the last bit of any term, which f32 has exactly; every product of
   it has at most 24 significant bits. Where every row and every column of a tile have a k in common at which both have 14 bits or more, there is no such sum. So there is where the least number of
   such elements in a row, among the first 64 k, and the least in a column are together more than 64. Else the tile takes its rests along.
   A sum that is not finite is computed again, as in driver_split.cuh: an infinity or a NaN makes x1 a NaN.
   Four warpgroups: the producer, one thread, copies boxes of f32 into two rings, of A's rows and of the columns of every B, 64 k a stage. The converter splits a stage of the B's into planes of
   f16, as tensor cores read them, k contiguous: x0 and x1 of a level, or x2. Two consumers have 64 rows each: a thread splits its elements of A in registers, which are the first factor of all products.
   Where A has k contiguous a thread reads four adjacent k at a time. Its k are then not those of the fragment: k is permuted within 32, for A and B alike.
   Grid, barriers: as in driver_wgmma.cuh.
   Invariant: as there. Of finite operands a sum is within 2^-22 of its magnitudes, and the rounding of every 64 k, of the true one; sums of integers are exact where their magnitudes add up to no
   more than 2^24. */

// fx_wgmma_parts: tiles of 128 x COLUMNS::N / BESIDE elements of every sum; a stage has the B's of BESIDE sums, all that a segment has; stages of A, of the B's, and of their planes, behind which stand one over the power of two of every column and a word of every warp of the converter; where elements are reduced or share something STAGED bytes for the sums of 64 columns of a tile and the slots behind them, else 0; otherwise as fx_wgmma
template <class COLUMNS, int BESIDE_, int SUMS_, int A_STAGES_, int B_STAGES_, int PLANES_, int CHUNK_, int STAGED_, bool ALIGNED_>
struct fx_wgmma_parts {
  typedef float sum;
  typedef COLUMNS columns;
  static constexpr int CONSUMERS = 2, THREADS = 128 * (2 + CONSUMERS);
  static constexpr int SUMS = SUMS_, BESIDE = BESIDE_, PARTS = 1, SLABS = 0, N = COLUMNS::N;
  static constexpr int BM = 64 * CONSUMERS, BN = N / BESIDE, BK = 64, CHUNK = CHUNK_;
  static constexpr int A_STAGES = A_STAGES_, B_STAGES = B_STAGES_, PLANES = PLANES_, STAGED = STAGED_;
  static constexpr bool ALIGNED = ALIGNED_, HAS_ROOM = SUMS / BESIDE * N <= 64;
  static constexpr int BOX_BYTES = 8192;  // 64 x 32 elements of f32, swizzled
  static constexpr int A_BYTES = BM / 32 * BOX_BYTES, B_BYTES = N / 32 * BOX_BYTES, PLANE_BYTES = N * BK * 2, PLANES_BYTES = 2 * PLANE_BYTES + 1024;
  static constexpr int SCALES_AT = 2 * PLANE_BYTES, FLAGS_AT = SCALES_AT + N * 4;  // of a stage of planes
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;
  static constexpr int STAGING_BYTES = 16 * PITCH;
  static constexpr int STAGING_AT = A_STAGES * A_BYTES + B_STAGES * B_BYTES + PLANES * PLANES_BYTES, BARRIERS_AT = STAGING_AT + (STAGED ? STAGED : CONSUMERS * 4 * STAGING_BYTES);
  static constexpr int WORDS_AT = (BARRIERS_AT + 2 * (A_STAGES + B_STAGES + PLANES) * 8 + 15) / 16 * 16, LIMITS_AT = WORDS_AT + 96, SHARED_BYTES = LIMITS_AT + 2 * BM * 4;  // words of the warps: of either consumer and of the converter, in two turns; limits of rows, of levels in turn
  static constexpr int PRODUCER_REGISTERS = 24, CONVERTER_REGISTERS = BESIDE == 1 ? 88 : 72, CONSUMER_REGISTERS = BESIDE == 1 ? 200 : 208;  // as ptxas spills none
  static_assert(CHUNK % 8 == 0 && BN % CHUNK == 0 && BN % 64 == 0 && (N == 64 || N == 128) && SUMS % BESIDE == 0 && SUMS / BESIDE * N <= 128, "no such tile");
};

// fx_parts_arrive: a warp is done with a stage, or has filled it
FX_DEVICE void fx_parts_arrive(unsigned barrier) {
  fx_warp_barrier();
  if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(barrier);
}

// FX_PARTS_MORE, FX_PARTS_REST, FX_PARTS_EXACT, FX_PARTS_FAR: of a stage of planes: smaller elements of some column wait for a further level; it holds rests; these are taken along; some power of two is far
enum { FX_PARTS_MORE = 1, FX_PARTS_REST = 2, FX_PARTS_EXACT = 4, FX_PARTS_FAR = 8 };

// fx_parts_is_far: whether such a power of two, times another one that is not far, may leave the range of f32
FX_DEVICE bool fx_parts_is_far(float power) { return power < 0x1p-60f || power > 0x1p60f; }

// fx_parts_scale: of the elements of a row or column at one level: the power of two that they are multiplied by, one over it, and the size below which they wait for the next level; 0: none do
// From 2^-112 down the power stays, and nothing waits: everything there is a multiple of 2^-23 once it is multiplied, which x0 and x1 hold.
struct fx_parts_scale {
  float up, down, least;

  FX_DEVICE void set(float most) {
    const unsigned exponent = most > 0 ? fx_bits(most) >> 23 : 127;
    up = fx_from_bits((268 - max(exponent, 15u)) << 23);
    down = fx_from_bits((max(exponent, 15u) - 14) << 23);
    least = most > 0 && exponent > 15 && exponent < 255 ? down * 0x1p-13f : 0.0f;
  }
};

// fx_parts_level: one level of a row or column: sizes below `limit`, infinite at the first one, of which those below scale.least wait for the next
struct fx_parts_level {
  float limit, most = 0;
  unsigned smallest = ~0u;  // of the thread's, of all but 0: twice the bits, less 1
  fx_parts_scale scale;

  FX_DEVICE fx_parts_level(float limit) : limit(limit) {}
  FX_DEVICE bool is_first() const { return limit == fx_from_bits(0x7f800000u); }
  template <int N>
  FX_DEVICE void see(const float (&x)[N]) {
    if (is_first()) {
#pragma unroll
      for (int i = 0; i < N; ++i) most = fmaxf(most, fabsf(x[i])), smallest = min(smallest, fx_bits(x[i]) + fx_bits(x[i]) - 1);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float of = fabsf(x[i]) < limit ? x[i] : 0.0f;
        most = fmaxf(most, fabsf(of)), smallest = min(smallest, fx_bits(of) + fx_bits(of) - 1);
      }
    }
  }
  // Once LANES adjacent threads have seen what they have of it.
  template <int LANES>
  FX_DEVICE void join() {
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) most = fmaxf(most, fx_from_bits(fx_shuffle_xor(fx_bits(most), mask)));
    scale.set(most);
  }
  FX_DEVICE bool waits() const { return scale.least > 0 && smallest < fx_bits(scale.least) * 2 - 1; }
  // Leaves what is of this level.
  template <int N>
  FX_DEVICE void keep(float (&x)[N]) const {
    if (is_first() && !waits()) return;
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = fabsf(x[i]) < scale.least || !(is_first() || fabsf(x[i]) < limit) ? 0.0f : x[i];
  }
};

// fx_parts_count_long: counts elements of 14 significant bits or more; of none but 0 all 64 of a row count, as no sum comes of them
template <int N>
FX_DEVICE void fx_parts_count_long(const float (&x)[N], unsigned &n, float &most) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    n += fabsf(x[i]) >= 0x1p-126f && (fx_bits(x[i]) & 0x7ff) != 0;
    most = fmaxf(most, fabsf(x[i]));
  }
}

// fx_parts_pair: two adjacent elements, multiplied, as two words of two f16
FX_DEVICE void fx_parts_pair(unsigned &first, unsigned &second, float lo, float hi, float up) {
  lo *= up, hi *= up;
  first = fx_pack_f16(lo, hi);
  second = fx_pack_f16((lo - fx_f16_to_f32((unsigned short)first)) * 0x1p11f, (hi - fx_f16_to_f32((unsigned short)(first >> 16))) * 0x1p11f);
}

// fx_parts_rest: what these two leave of them, times 2^22
FX_DEVICE unsigned fx_parts_rest(float lo, float hi, float up) {
  unsigned first, second;
  fx_parts_pair(first, second, lo, hi, up);
  lo = (lo * up - fx_f16_to_f32((unsigned short)first)) * 0x1p11f - fx_f16_to_f32((unsigned short)second);
  hi = (hi * up - fx_f16_to_f32((unsigned short)(first >> 16))) * 0x1p11f - fx_f16_to_f32((unsigned short)(second >> 16));
  return fx_pack_f16(lo * 0x1p11f, hi * 0x1p11f);
}

// fx_parts_words: the words of the four warps of a warpgroup, joined
FX_DEVICE unsigned fx_parts_words(unsigned from) {
  int of[4];
  fx_shared_get<4>(of, from);
  return of[0] | of[1] | of[2] | of[3];
}

// fx_parts_load: starts copying the boxes of an operand of a tile, SIZE of its m or n and 64 k: with k contiguous 64 rows of 32 k each, else 64 k of 32
template <int SIZE, class OPERAND, class PROBLEM>
FX_DEVICE void fx_parts_load(const PROBLEM &p, const fx_tensor_map *map, unsigned to, unsigned full, int j, int batch, int outer, int mn, int k) {
#pragma unroll
  for (int i = 0; i < SIZE / 32; ++i) {
    int at[OPERAND::RANK];
    at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 32 : k + i % 2 * 32;
    at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i / 2 * 64;
    if constexpr (fx_is_placed<OPERAND>(0)) OPERAND::place(p, j, batch, outer, at);
    fx_tma_load(to + i * 8192, map, full, at);
  }
}

// fx_parts_producer: the mainloop as the producer runs it
template <class ENGINE, class RING_A, class RING_B>
struct fx_parts_producer {
  RING_A &ring_a;
  RING_B &ring_b;
  const fx_tile &at;         // the tile
  const fx_tensor_map *map;  // of the segment's first operand

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      fx_parts_load<ENGINE::BN, typename SEGMENT::template b<J>>(p, map + 1 + J, ring_b.address() + J * (ENGINE::B_BYTES / ENGINE::BESIDE), ring_b.full(), J, at.batch, outer, at.n, k);
      load_b<SEGMENT, J + 1>(p, outer, k);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int n_outer = SEGMENT::k_outer(p), k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
      for (int k = 0; k < k_end; k += ENGINE::BK) {
        fx_mbarrier_wait(ring_b.empty(), ring_b.parity ^ 1);
        fx_mbarrier_expect(ring_b.full(), ENGINE::B_BYTES);
        load_b<SEGMENT, 0>(p, outer, k);
        ring_b.next();
        fx_mbarrier_wait(ring_a.empty(), ring_a.parity ^ 1);
        fx_mbarrier_expect(ring_a.full(), ENGINE::A_BYTES);
        fx_parts_load<ENGINE::BM, typename SEGMENT::a>(p, map, ring_a.address(), ring_a.full(), 0, at.batch, outer, at.m, k);
        ring_a.next();
      }
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_parts_row: N of the k of a row or column of a stage, 8 or 16, number `number` of 64 / N, in the order of fragments; IS_PERMUTED: where A has k contiguous
template <int LAYOUT, bool IS_PERMUTED, int N>
FX_DEVICE void fx_parts_row(float (&x)[N], unsigned stage, int mn, int number) {
  const int first = number * N, step = first / 16, half = N == 8 ? number % 2 : 0;
  if constexpr (LAYOUT == FX_K_MAJOR) {
    const unsigned row = stage + mn / 64 * 16384 + step / 2 * 8192 + mn % 64 * 128;
    float four[4];
    if constexpr (IS_PERMUTED && N == 8) {  // a pair of each four
#pragma unroll
      for (int q = 0; q < 4; ++q) fx_shared_get<2>(&x[q * 2], row + ((2 * q + step % 2 ^ mn % 8) << 4) + half * 8);
    } else {
#pragma unroll
      for (int q = 0; q < N / 4; ++q) {
        fx_shared_get<4>(four, row + (((IS_PERMUTED ? 2 * q + step % 2 : step % 2 * 4 + half * 2 + q) ^ mn % 8) << 4));
#pragma unroll
        for (int i = 0; i < 4; ++i) x[IS_PERMUTED ? 2 * q + i % 2 + i / 2 * 8 : q * 4 + i] = four[i];
      }
    }
  } else {
    const unsigned column = stage + mn / 32 * 8192 + mn % 4 * 4;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int i = half * 8 + j, k = IS_PERMUTED ? step / 2 * 32 + (i % 8 / 2 * 2 + step % 2) * 4 + i / 8 * 2 + i % 2 : step * 16 + i;
      fx_shared_get<1>(&x[j], column + k * 128 + ((mn % 32 / 4 ^ k % 8) << 4));
    }
  }
}

// fx_parts_converter: the mainloop as the converter runs it: a thread has a column, or half of its k
template <class ENGINE, class RING_A, class RING_B, class RING_PLANES>
struct fx_parts_converter {
  RING_A &ring_a;
  RING_B &ring_b;
  RING_PLANES &planes;
  unsigned words;  // of its warps, in shared memory
  int turn;        // which of two

  static constexpr int STEPS = ENGINE::N / 32, LANES = 4 / STEPS;  // of the four steps of a column, those of a thread; threads of a column

  // The least numbers of long elements of a row of A and of a column, of a warp: in the second and the third byte.
  template <class SEGMENT>
  FX_DEVICE unsigned count(int column, int first) {
    unsigned of_a = 0, of_b = 0;
    float most_a = 0, most_b = 0, y[16];
    fx_mbarrier_wait(ring_a.full(), ring_a.parity);
#pragma unroll 1
    for (int step = 0; step < 4; ++step) {
      fx_parts_row<SEGMENT::a::LAYOUT, false>(y, ring_a.address(), threadIdx.x % 128, step);
      fx_parts_count_long(y, of_a, most_a);
    }
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
      fx_parts_row<SEGMENT::template b<0>::LAYOUT, false>(y, ring_b.address(), column, first + step);
      fx_parts_count_long(y, of_b, most_b);
    }
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) of_b += fx_shuffle_xor(of_b, mask), most_b = fmaxf(most_b, fx_from_bits(fx_shuffle_xor(fx_bits(most_b), mask)));
    unsigned both = (most_a > 0 ? of_a : 64) << 8 | (most_b > 0 ? of_b : 64) << 16;
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      const unsigned other = fx_shuffle_xor(both, mask);
      both = min(both & 0xff00, other & 0xff00) | min(both & 0xff0000, other & 0xff0000);
    }
    return both;
  }
  // N adjacent elements of a column, in the order of fragments.
  template <class SEGMENT, int N>
  FX_DEVICE void read(float (&x)[N], int column, int number) {
    fx_parts_row<SEGMENT::template b<0>::LAYOUT, SEGMENT::a::LAYOUT == FX_K_MAJOR>(x, ring_b.address(), column, number);
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
    bool is_exact = false;
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      float limit = fx_from_bits(0x7f800000u);
      bool is_rest = false, is_first = true, goes_on;
      fx_mbarrier_wait(ring_b.full(), ring_b.parity);
#pragma unroll 1
      do {
        int thread = threadIdx.x;
        fx_hide(thread);  // as for a consumer
        const int column = thread % 128 / LANES, first = thread % LANES * STEPS, warp = thread / 32 % 4;
        unsigned word = is_first && block == 0 ? count<SEGMENT>(column, first) : 0;
        float kept[16];  // of the first step; the others are read again
        fx_parts_level level(limit);
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
          float x[16];
          read<SEGMENT>(s == 0 ? kept : x, column, first + s);
          level.see(s == 0 ? kept : x);
        }
        level.template join<LANES>();
        const fx_parts_scale &scale = level.scale;
        word |= (fx_ballot(level.waits()) ? FX_PARTS_MORE : 0) | (fx_ballot(fx_parts_is_far(scale.down)) ? FX_PARTS_FAR : 0);
        const unsigned of_turn = words + turn * 16;
        if (thread % 32 == 0) fx_shared_put1(of_turn + warp * 4, word);
        fx_named_barrier(6, 128);
        turn ^= 1;
        unsigned of[4];
        fx_shared_get<4>(of, of_turn);
        if (is_first && block == 0)
          is_exact = min(min(of[0] & 0xff00, of[1] & 0xff00), min(of[2] & 0xff00, of[3] & 0xff00)) / 256 + min(min(of[0] & 0xff0000, of[1] & 0xff0000), min(of[2] & 0xff0000, of[3] & 0xff0000)) / 65536 <= ENGINE::BK;
        const unsigned flags = (of[0] | of[1] | of[2] | of[3]) & (FX_PARTS_MORE | FX_PARTS_FAR) | (is_exact ? FX_PARTS_EXACT : 0) | (is_rest ? FX_PARTS_REST : 0);
        const bool has_rest = is_exact && !is_rest;
        goes_on = has_rest || flags & FX_PARTS_MORE;
        fx_mbarrier_wait(planes.empty(), planes.parity ^ 1);
        int again = column;
        fx_hide(again);  // where the rest of it is read is computed anew
        const unsigned to = planes.address() + column * 128;
#pragma unroll
        for (int i = 0; i < STEPS * 2; ++i) {
          float x[8];
          if (i < 2) {
#pragma unroll
            for (int j = 0; j < 8; ++j) x[j] = kept[i * 8 + j];
          } else {
            read<SEGMENT>(x, again, first * 2 + i);
          }
          level.keep(x);
          const unsigned at = to + ((first * 2 + i ^ column % 8) << 4);
          unsigned part[2][4];
          if (is_rest) {
#pragma unroll
            for (int j = 0; j < 4; ++j) part[0][j] = fx_parts_rest(x[j * 2], x[j * 2 + 1], scale.up);
          } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) fx_parts_pair(part[0][j], part[1][j], x[j * 2], x[j * 2 + 1], scale.up);
            fx_shared_put4(at + ENGINE::PLANE_BYTES, part[1]);
          }
          fx_shared_put4(at, part[0]);
        }
        if (!goes_on) fx_parts_arrive(ring_b.empty());
        if (first == 0) fx_shared_put1(planes.address() + ENGINE::SCALES_AT + column * 4, fx_bits(scale.down));
        if (thread % 128 == 0) fx_shared_put1(planes.address() + ENGINE::FLAGS_AT, flags);
        fx_tma_publish();
        fx_parts_arrive(planes.full());
        planes.next();
        if (!has_rest) limit = fminf(limit, scale.least);
        is_rest = has_rest;
        is_first = false;
      } while (goes_on);
      ring_b.next();
    }
    ring_a.skip(blocks);
  }
  FX_DEVICE void next_segment() {}
};

// fx_parts_consumer: the mainloop as a consumer runs it
template <class ENGINE, class RING_A, class RING_PLANES>
struct fx_parts_consumer {
  fx_wgmma_sums<ENGINE> &acc;     // the sums
  float (&total)[ENGINE::N / 2];  // of a block
  RING_A &ring_a;
  RING_PLANES &planes;
  int consumer;  // 0 or 1
  int &turn;     // of the words of its warps, which of two

  // Starts the products of a part of A and one of the B's; begins: they are the first of the total.
  FX_DEVICE void multiply(const unsigned (&a)[4][4], int part, bool begins) {
    const unsigned long long b = fx_wgmma_operand<FX_K_MAJOR>::at(planes.address() + part * ENGINE::PLANE_BYTES);
#pragma unroll
    for (int step = 0; step < ENGINE::BK / 16; ++step) ENGINE::columns::template multiply<false, 0>(total, a[step], b + step * 2, step > 0 || !begins);
  }
  FX_DEVICE void scale(float by) {
#pragma unroll
    for (int i = 0; i < ENGINE::N / 2; ++i) total[i] *= by;
  }
  FX_DEVICE unsigned words(int warp) const { return ring_a.first + ENGINE::WORDS_AT + consumer * 32 + turn * 16 + warp * 4; }
  // Both parts of the consumer's elements of a level, or in place of the first their rests; one over their powers of two; whether some wait for the next level.
  template <int LAYOUT>
  FX_DEVICE bool read(unsigned (&a)[2][4][4], float (&down)[2], int level, bool is_rest) {
    int thread = threadIdx.x;
    fx_hide(thread);  // addresses are computed for each block, not kept beside the sums
    const int lane = thread % 32, row = consumer * 64 + thread / 32 % 4 * 16 + lane / 4;
    const unsigned limits = ring_a.first + ENGINE::LIMITS_AT + row * 4;
    bool waits = false;
    float x[2][16];
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int m = row + below * 8;
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        if constexpr (LAYOUT == FX_K_MAJOR) {
          fx_shared_get<4>(&x[below][step * 4], ring_a.address() + consumer * 16384 + step / 2 * 8192 + m % 64 * 128 + ((lane % 4 * 2 + step % 2 ^ m % 8) << 4));
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int k = step * 16 + lane % 4 * 2 + i % 2 + i / 2 * 8;
            fx_shared_get<1>(&x[below][step * 4 + i], ring_a.address() + m / 32 * 8192 + k * 128 + ((m % 32 / 4 ^ k % 8) << 4) + m % 4 * 4);
          }
        }
      }
    }
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      float limit = fx_from_bits(0x7f800000u);
      if (level > 0) fx_shared_get<1>(&limit, limits + below * 32 + level % 2 * (ENGINE::BM * 4));
      fx_parts_level at_hand(limit);
      const fx_parts_scale &scale = at_hand.scale;
      at_hand.see(x[below]);
      at_hand.template join<4>();
      at_hand.keep(x[below]);
      waits |= at_hand.waits();
      if (lane % 4 == 0) fx_shared_put1(limits + below * 32 + (level + 1) % 2 * (ENGINE::BM * 4), fx_bits(fminf(limit, scale.least)));
      down[below] = scale.down;
#pragma unroll
      for (int i = 0; i < 8; ++i) fx_parts_pair(a[0][i / 2][i % 2 * 2 + below], a[1][i / 2][i % 2 * 2 + below], x[below][i * 2], x[below][i * 2 + 1], scale.up);
      if (is_rest) {
#pragma unroll
        for (int i = 0; i < 8; ++i) a[0][i / 2][i % 2 * 2 + below] = fx_parts_rest(x[below][i * 2], x[below][i * 2 + 1], scale.up);
      }
    }
    return waits;
  }
  // Adds the total to the sums: times the powers of two of rows and columns.
  FX_DEVICE void promote(float (&to)[ENGINE::N / 2], const float (&down)[2], bool is_far) {
    is_far |= fx_parts_is_far(down[0]) || fx_parts_is_far(down[1]);
#pragma unroll
    for (int i = 0; i < ENGINE::N / 2; i += 4) {
      float of[2];
      fx_shared_get<2>(of, planes.address() + ENGINE::SCALES_AT + (i * 2 + threadIdx.x % 4 * 2) * 4);
      if (!is_far) {
#pragma unroll
        for (int j = 0; j < 4; ++j) to[i + j] = fmaf(total[i + j], down[j / 2] * of[j % 2], to[i + j]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int both = (int)(fx_bits(down[j / 2]) >> 23) + (int)(fx_bits(of[j % 2]) >> 23) - 254;
          to[i + j] += total[i + j] * fx_from_bits((unsigned)(both / 2 + 127) << 23) * fx_from_bits((unsigned)(both - both / 2 + 127) << 23);
        }
      }
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      bool is_last;
      fx_mbarrier_wait(ring_a.full(), ring_a.parity);
#pragma unroll 1
      do {
        int flags, level = 0;
        bool is_rest = false, is_first = true, goes_on;
        fx_mbarrier_wait(planes.full(), planes.parity);
        fx_shared_get<1>(&flags, planes.address() + ENGINE::FLAGS_AT);
        is_last = !(flags & FX_PARTS_MORE) && (flags & FX_PARTS_REST || !(flags & FX_PARTS_EXACT));
#pragma unroll 1
        do {
          fx_hide(planes.stage);  // descriptors and what else comes of these likewise
          fx_hide(ring_a.stage);
          fx_hide(consumer);
          fx_hide(turn);
          unsigned a[2][4][4];
          float down[2];
          const bool waits = fx_ballot(read<SEGMENT::a::LAYOUT>(a, down, level, is_rest)) != 0, has_rest = (flags & (FX_PARTS_EXACT | FX_PARTS_REST)) == FX_PARTS_EXACT && !is_rest;
          if (threadIdx.x % 32 == 0) fx_shared_put1(words(threadIdx.x / 32 % 4), (unsigned)waits);
          if (is_first) fx_named_barrier(1 + consumer, 256);  // the other one has started most of its products
          else fx_named_barrier(4 + consumer, 128);
          goes_on = has_rest || fx_parts_words(words(0));
          turn ^= 1;
          if (is_last && !goes_on) fx_parts_arrive(ring_a.empty());
          if (!is_rest && !(flags & FX_PARTS_REST)) {
            fx_wgmma_begin();
            multiply(a[1], 1, true);
            fx_wgmma_commit();
            fx_wgmma_wait<0>();
            scale(0x1p-11f);
            fx_wgmma_begin();
            multiply(a[0], 1, false);
            multiply(a[1], 0, false);
            fx_wgmma_commit();
            if (is_first) fx_named_arrive(2 - consumer, 256);
            fx_wgmma_wait<0>();
            scale(0x1p-11f);
            fx_wgmma_begin();
            multiply(a[0], 0, false);
            fx_wgmma_commit();
            fx_wgmma_wait<0>();
          } else {
            if (is_first) fx_named_arrive(2 - consumer, 256);
            fx_wgmma_begin();
            multiply(a[0], 0, true);
            fx_wgmma_commit();
            fx_wgmma_wait<0>();
            scale(0x1p-22f);
          }
          promote(acc.of[SEGMENT::sum(0) / ENGINE::BESIDE][0], down, flags & FX_PARTS_FAR);
          level += !has_rest;
          is_rest = has_rest;
          is_first = false;
        } while (goes_on);
        fx_parts_arrive(planes.empty());
        planes.next();
      } while (!is_last);
      ring_a.next();
    }
  }
  FX_DEVICE void next_segment() {}
};

// fx_parts_staged: the staged sums of 64 columns of a tile, as fx_gemm_reduce sees an engine; all threads of both consumers run it
template <class ENGINE>
struct fx_parts_staged {
  typedef float sum;
  static constexpr int BM = ENGINE::BM, BN = 64, THREADS = 128 * ENGINE::CONSUMERS, MAX_V = 8, PITCH = BN * 4 + 16;

  static FX_DEVICE constexpr int staging_pitch(int) { return PITCH; }
  static FX_DEVICE unsigned staged(int row, int col) { return fx_shared(fx_smem()) + ENGINE::STAGING_AT + row * PITCH + col * 4; }
  template <int SUMS, int V>
  static FX_DEVICE void get(float (&x)[V], int row, int col) {
    fx_shared_get<V>(x, staged(row, col));
  }
};
template <class ENGINE>
struct fx_team<fx_parts_staged<ENGINE>> {
  static FX_DEVICE int thread() { return (int)threadIdx.x - 256; }
  static FX_DEVICE void wait() { fx_named_barrier(3, 256); }
  static FX_DEVICE char *memory() { return fx_smem() + ENGINE::STAGING_AT; }
};

// fx_parts_reduce: the epilogue where elements are reduced, or share something with their runs: 64 columns of the tile at a time
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_parts_reduce(const PROBLEM &p, const fx_tile &at, int consumer, const fx_wgmma_sums<ENGINE> &acc) {
  typedef fx_parts_staged<ENGINE> staged;
  const int lane = threadIdx.x % 32, row = consumer * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
  for (int first = 0; first < ENGINE::BN; first += staged::BN) {
#pragma unroll
    for (int i = 0; i < staged::BN / 8; ++i) {
      const int x = (first / 8 + i) * 4;
      fx_shared_put2(staged::staged(row, i * 8 + lane % 4 * 2), acc.get(0, 0, x), acc.get(0, 0, x + 1));
      fx_shared_put2(staged::staged(row + 8, i * 8 + lane % 4 * 2), acc.get(0, 0, x + 2), acc.get(0, 0, x + 3));
    }
    fx_team<staged>::wait();  // the columns are staged
    fx_tile columns = at;
    columns.n += first;
    fx_gemm_reduce<staged, ENGINE::ALIGNED, 1>(p, columns);
    fx_team<staged>::wait();  // everyone has read them
  }
}

// fx_gemm_parts: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_parts(const PROBLEM &problem, const fx_tensor_map *maps, long long batches) {
  typedef fx_split_problem<PROBLEM> amended;
  typedef fx_ring<ENGINE::A_STAGES, ENGINE::A_BYTES> ring_of_a;
  typedef fx_ring<ENGINE::B_STAGES, ENGINE::B_BYTES> ring_of_b;
  typedef fx_ring<ENGINE::PLANES, ENGINE::PLANES_BYTES> ring_of_planes;
  const amended p = {problem};
  const unsigned a = fx_shared(fx_smem()), b = a + ENGINE::A_STAGES * ENGINE::A_BYTES, split = b + ENGINE::B_STAGES * ENGINE::B_BYTES, staging = a + ENGINE::STAGING_AT;
  const unsigned barriers = a + ENGINE::BARRIERS_AT, words = a + ENGINE::WORDS_AT;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128;
  ring_of_a ring_a = {a, barriers, 0, 0};
  ring_of_b ring_b = {b, barriers + 2 * ENGINE::A_STAGES * 8, 0, 0};
  ring_of_planes planes = {split, barriers + 2 * (ENGINE::A_STAGES + ENGINE::B_STAGES) * 8, 0, 0};
  if (threadIdx.x == 0) {
    ring_a.begin(1, 4 * ENGINE::CONSUMERS);
    ring_b.begin(1, 4);
    planes.begin(4, 4 * ENGINE::CONSUMERS);
  }
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_parts_producer<ENGINE, ring_of_a, ring_of_b>>(p, maps, tiles, ring_a, ring_b);
    return;
  }
  if (group == 1) {
    fx_give_registers<ENGINE::CONVERTER_REGISTERS>();
    fx_parts_converter<ENGINE, ring_of_a, ring_of_b, ring_of_planes> converter = {ring_a, ring_b, planes, words + 64, 0};
#pragma unroll 1
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
      p.accumulate(converter);
    }
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 2, warp = threadIdx.x / 32 % 4;
  int turn = 0;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_columns<ENGINE, amended> columns;
    if (ENGINE::HAS_ROOM && !ENGINE::STAGED) columns.fetch(p, at.batch, at.n);
    fx_wgmma_sums<ENGINE> acc;
    float total[ENGINE::N / 2];
#pragma unroll
    for (int i = 0; i < ENGINE::SUMS / ENGINE::BESIDE * (ENGINE::N / 2); ++i) acc.of[i / (ENGINE::N / 2)][0][i % (ENGINE::N / 2)] = 0;
    fx_parts_consumer<ENGINE, ring_of_a, ring_of_planes> mainloop = {acc, total, ring_a, planes, consumer, turn};
    p.accumulate(mainloop);
    if constexpr (ENGINE::STAGED > 0) fx_parts_reduce<ENGINE>(p, at, consumer, acc);
    else fx_wgmma_epilogue<ENGINE>(p, at, consumer * 64 + warp * 16, columns, acc, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
}
