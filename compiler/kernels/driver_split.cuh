/* The contraction driver of sm_90a for f32, by products of bf16: a problem as for driver_wgmma.cuh, whose operands are stored in parts (fx_split). Of x = x0 + (x1 + x2 / 256) / 256, and y
   likewise, it adds up x0 y0, x0 y1, x1 y0, x1 y1, x0 y2 and x2 y0; what it leaves out is below 2^-22 of x y. Tensor cores cut off low bits of what they add to: so the products of 64 k
   are added up apart from the sums, those of x0 y0 in registers of their own, the others from the least on, and then added to the sums as f32 are. A sum that is not finite is computed again
   from the operands, by multiply-adds in order of k: infinities, NaN and subnormal numbers, whose first part is NaN, and totals that overflow on the way, give what f32 gives.
   A stage holds one part of A's rows and of the columns of every B, 64 k of each, in boxes of 64 x 64; three stages in a row, the third part first, are a block of k.
   Two consumers share a tile, 64 of its rows each, or half of the columns where it has 64 rows. They start the products of a block in turns, so that what one does between two waits runs under the other's products.
   Grid, barriers: as in driver_wgmma.cuh and driver_wgmma_mainloop.cuh.
   Invariant: as there. Of finite operands a sum is within 2^-22 of its magnitudes, and the rounding of every 64 k, of the true one; sums of integers are exact where their magnitudes add
   up to no more than 2^24, as x0 y0 is no larger than x y. */

// fx_wgmma_split: tiles of BM = 128 rows and COLUMNS::N columns of every sum, or of 64 and twice as many; otherwise as fx_wgmma
template <class COLUMNS, int BM_, int B_TILES, int STAGES_, int SUMS_, int CHUNK_, bool ALIGNED_>
struct fx_wgmma_split {
  typedef float sum;
  typedef fx_bf16 T;
  typedef COLUMNS columns;
  static constexpr int CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int BM = BM_, BN = COLUMNS::N * (64 * CONSUMERS / BM), BK = 64, STAGES = STAGES_, CHUNK = CHUNK_, PARTS = 1;
  static constexpr int SUMS = SUMS_, BESIDE = 1, SLABS = 0;
  static constexpr bool ALIGNED = ALIGNED_, HAS_ROOM = SUMS * COLUMNS::N <= 64;
  static constexpr int A_BYTES = BM / 64 * 8192, B_BYTES = BN / 64 * 8192, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;
  static constexpr int STAGING_BYTES = 16 * PITCH;
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + CONSUMERS * 4 * STAGING_BYTES + 2 * STAGES * 8;
  static constexpr int PRODUCER_REGISTERS = HAS_ROOM ? 40 : 24, CONSUMER_REGISTERS = HAS_ROOM ? 232 : 240;
  static_assert(CHUNK % 8 == 0 && COLUMNS::N % CHUNK == 0 && STAGES >= 4 && SUMS * COLUMNS::N <= 128 && (BM == 64 || BM == 128), "no such tile");
};

// fx_split_half: what a consumer has of a tile
template <class ENGINE>
struct fx_split_half : ENGINE {
  static constexpr int BN = ENGINE::columns::N;
  static FX_DEVICE constexpr int row(int consumer) { return ENGINE::BM == 64 ? 0 : consumer * 64; }  // at which it begins
  static FX_DEVICE constexpr int column(int consumer) { return ENGINE::BM == 64 ? consumer * BN : 0; }
};

// fx_split_load: starts copying the boxes of one part of an operand of a tile, SIZE of its m or n and 64 k
template <int SIZE, class OPERAND, class PROBLEM>
FX_DEVICE void fx_split_load(const PROBLEM &p, const fx_tensor_map *map, unsigned to, unsigned full, int part, int j, int batch, int outer, int mn, int k) {
#pragma unroll
  for (int i = 0; i < SIZE / 64; ++i) {
    if constexpr (fx_is_im2col<OPERAND>(0)) {
      OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, mn + i * 64, k, part);
    } else {
      int at[OPERAND::RANK];
      at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 64 : k;
      at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i * 64;
      if constexpr (OPERAND::RANK > 3) OPERAND::place(p, j, batch, outer, at);
      at[OPERAND::RANK - 1] = part;
      fx_tma_load(to + i * 8192, map, full, at);
    }
  }
}

// fx_split_producer: the mainloop as the producer runs it: every part of every block of k of a tile into the next stage
template <class ENGINE>
struct fx_split_producer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_ring<ENGINE> &ring;  // of the block
  const fx_tile &at;            // the tile
  const fx_tensor_map *map;     // of the segment's first operand

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int part, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      fx_split_load<ENGINE::BN, typename SEGMENT::template b<J>>(p, map + 1 + J, ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), part, J, at.batch, outer, at.n, k);
      load_b<SEGMENT, J + 1>(p, part, outer, k);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int n_outer = SEGMENT::k_outer(p), k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
      for (int k = 0; k < k_end; k += ENGINE::BK) {
#pragma unroll 1
        for (int part = 2; part >= 0; --part) {
          fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
          fx_mbarrier_expect(ring.full(), ENGINE::A_BYTES + SEGMENT::SUMS * ENGINE::B_BYTES);
          fx_split_load<ENGINE::BM, typename SEGMENT::a>(p, map, ring.address(), ring.full(), part, 0, at.batch, outer, at.m, k);
          load_b<SEGMENT, 0>(p, part, outer, k);
          ring.next();
        }
      }
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_split_consumer: the mainloop as a consumer runs it; ENGINE: fx_split_half
template <class ENGINE, int SUMS>
struct fx_split_consumer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_sums<ENGINE> &acc;                                           // the sums
  float (&first)[SUMS][ENGINE::BN / 2], (&rest)[SUMS][ENGINE::BN / 2];  // of a block: of the first parts; of the others, times 256
  fx_wgmma_ring<ENGINE> &ring;                                          // of the block
  int consumer;                                                         // 0 or 1

  // Starts the products of a part of A and one of every B, of 16 k a step; begins: they are the first of `to`.
  template <class SEGMENT>
  FX_DEVICE void multiply(float (&to)[SUMS][ENGINE::BN / 2], unsigned a_stage, unsigned b_stage, bool begins, int steps) {
    constexpr int A = SEGMENT::a::LAYOUT, B = SEGMENT::template b<0>::LAYOUT;
    const unsigned long long a = fx_wgmma_operand<A>::at(a_stage + ENGINE::row(consumer) * 128);
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
      const unsigned long long b = fx_wgmma_operand<B>::at(b_stage + ENGINE::A_BYTES + j * ENGINE::B_BYTES + ENGINE::column(consumer) * 128);
#pragma unroll
      for (int step = 0; step < ENGINE::BK / 16; ++step)
        if (step < steps) ENGINE::columns::template multiply<true, A == FX_MN_MAJOR, B == FX_MN_MAJOR, false>(
            to[j], a + step * (fx_wgmma_operand<A>::STEP >> 4), b + step * (fx_wgmma_operand<B>::STEP >> 4), step > 0 || !begins);
    }
  }
  FX_DEVICE void give_back(int stage) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty(stage));
  }
  // Adds the totals of a block to its sums.
  template <class SEGMENT>
  FX_DEVICE void total(const float (&from)[SUMS][ENGINE::BN / 2], float scale) {
#pragma unroll
    for (int j = 0; j < SEGMENT::SUMS; ++j) {
#pragma unroll
      for (int i = 0; i < ENGINE::BN / 2; ++i) acc.of[SEGMENT::sum(j)][0][i] += from[j][i] * scale;
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int k = SEGMENT::k(p), blocks = SEGMENT::k_outer(p) * ((k + (ENGINE::BK - 1)) / ENGINE::BK);
    const int steps = k < ENGINE::BK ? (k + 15) / 16 : ENGINE::BK / 16;  // known as the kernel is compiled, as k is
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      int stages[3];
      unsigned at[3];  // by part
#pragma unroll
      for (int i = 2; i >= 0; --i) {
        stages[i] = ring.stage, at[i] = ring.address();
        fx_mbarrier_wait(ring.full(), ring.parity);
        ring.next();
      }
      fx_named_barrier(1 + consumer, 256);  // the other one has started its products
      fx_wgmma_begin();
      multiply<SEGMENT>(rest, at[1], at[1], true, steps);
      multiply<SEGMENT>(rest, at[0], at[2], false, steps);
      multiply<SEGMENT>(rest, at[2], at[0], false, steps);
      fx_wgmma_commit();
      fx_wgmma_begin();
      multiply<SEGMENT>(first, at[0], at[0], true, steps);
      fx_wgmma_commit();
      fx_named_arrive(2 - consumer, 256);
      fx_wgmma_wait<1>();
      give_back(stages[2]);
#pragma unroll
      for (int i = 0; i < SEGMENT::SUMS * ENGINE::BN / 2; ++i) rest[i / (ENGINE::BN / 2)][i % (ENGINE::BN / 2)] *= 0x1p-8f;
      fx_wgmma_begin();
      multiply<SEGMENT>(rest, at[0], at[1], false, steps);
      multiply<SEGMENT>(rest, at[1], at[0], false, steps);
      fx_wgmma_commit();
      fx_wgmma_wait<1>();
      total<SEGMENT>(first, 1.0f);
      fx_wgmma_wait<0>();
      give_back(stages[1]);
      give_back(stages[0]);
      total<SEGMENT>(rest, 0x1p-8f);
    }
  }
  FX_DEVICE void next_segment() {}
};

// fx_split_at: an element of an operand in parts, or of a window of one, at any index of k
template <class OPERAND, class PROBLEM>
FX_DEVICE float fx_split_at(const PROBLEM &p, int j, int batch, int outer, int mn, int k) {
  if constexpr (fx_is_im2col<OPERAND>(0)) return OPERAND::element(p, batch, outer, mn, k);
  else return fx_split_value(OPERAND::at(p, j, batch, outer) + mn * OPERAND::stride_mn(p, j) + k * OPERAND::stride_k(p, j));
}

// fx_split_element: a mainloop that adds up one element of one sum by multiply-adds
struct fx_split_element {
  int which, batch, m, n;  // the sum, its element
  float sum;               // so far

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void add_b(const PROBLEM &p) {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::a a;
      typedef typename SEGMENT::template b<J> b;
      const int n_outer = SEGMENT::sum(J) == which ? SEGMENT::k_outer(p) : 0, k_end = SEGMENT::k(p);
#pragma unroll 1
      for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
        for (int k = 0; k < k_end; ++k) sum = fmaf(fx_split_at<a>(p, 0, batch, outer, m, k), fx_split_at<b>(p, J, batch, outer, n, k), sum);
      }
      add_b<SEGMENT, J + 1>(p);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    add_b<SEGMENT, 0>(p);
  }
  FX_DEVICE void next_segment() {}
};

// fx_split_problem: a problem whose sums that are not finite are computed again before they are made use of
template <class PROBLEM>
struct fx_split_problem : PROBLEM {
  template <int V>
  FX_DEVICE void amend(float (&acc)[PROBLEM::SUMS][V], int batch, int m, int n, int n_valid) const {
    float zero = 0;  // unless some sum is not finite
#pragma unroll
    for (int i = 0; i < PROBLEM::SUMS * V; ++i) zero += acc[i / V][i % V] * 0.0f;
    if (zero != 0) {
#pragma unroll 1
      for (int e = 0; e < PROBLEM::SUMS * V; ++e) {
        float x = 0;
#pragma unroll
        for (int i = 0; i < PROBLEM::SUMS * V; ++i) x = i == e ? acc[i / V][i % V] : x;
        if (e % V >= n_valid || fabsf(x) < fx_from_bits(0x7f800000u)) continue;
        fx_split_element again = {e / V, batch, m, n + e % V, 0};
        PROBLEM::accumulate(again);
#pragma unroll
        for (int i = 0; i < PROBLEM::SUMS * V; ++i) acc[i / V][i % V] = i == e ? again.sum : acc[i / V][i % V];
      }
    }
  }
  template <int V, bool ALIGNED, class COLUMNS, class FRAG>
  FX_DEVICE void store(float (&acc)[PROBLEM::SUMS][V], const COLUMNS &c, const FRAG &f, int batch, int m, int n, int n_valid) const {
    amend<V>(acc, batch, m, n, n_valid);
    PROBLEM::template store<V, ALIGNED>(acc, c, f, batch, m, n, n_valid);
  }
  template <int V, bool ALIGNED, class COLUMNS, class FRAG, class ELEMENTS>
  FX_DEVICE void store(float (&acc)[PROBLEM::SUMS][V], const COLUMNS &c, const FRAG &f, ELEMENTS &x, int batch, int m, int n, int n_valid) const {
    amend<V>(acc, batch, m, n, n_valid);
    PROBLEM::template store<V, ALIGNED>(acc, c, f, x, batch, m, n, n_valid);
  }
};

// fx_gemm_split: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_split(const PROBLEM &problem, const fx_tensor_map *maps, long long batches) {
  constexpr int SUMS = PROBLEM::SUMS, CONSUMERS = ENGINE::CONSUMERS;
  typedef fx_split_half<ENGINE> half;
  typedef fx_split_problem<PROBLEM> amended;
  const amended p = {problem};
  const unsigned stages = fx_shared(fx_smem()), staging = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const unsigned barriers = staging + CONSUMERS * 4 * ENGINE::STAGING_BYTES;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128;
  fx_wgmma_ring<ENGINE> ring = {stages, barriers, 0, 0};
  if (threadIdx.x == 0) ring.begin(1, 4 * CONSUMERS);
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_split_producer<ENGINE>>(p, maps, tiles, ring);
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1, warp = threadIdx.x / 32 % 4;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    fx_tile at = fx_nth_tile<ENGINE>(p, number);
    at.n += half::column(consumer);
    fx_wgmma_columns<half, amended> columns;
    if (ENGINE::HAS_ROOM) columns.fetch(p, at.batch, at.n);
    fx_wgmma_sums<half> acc;
    float first[SUMS][half::BN / 2], rest[SUMS][half::BN / 2];
#pragma unroll
    for (int i = 0; i < SUMS * half::BN / 2; ++i) acc.of[i / (half::BN / 2)][0][i % (half::BN / 2)] = 0;
    fx_split_consumer<half, SUMS> mainloop = {acc, first, rest, ring, consumer};
    p.accumulate(mainloop);
    fx_wgmma_epilogue<half>(p, at, half::row(consumer) + warp * 16, columns, acc, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
}
