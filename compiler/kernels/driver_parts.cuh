/* The contraction driver of sm_90a for f32 that splits its operands on the way: a problem as for driver_wgmma.cuh, whose operands of f32 lie in memory as tensor maps say. An f32 is three bf16, and
   a product six products of these, added up as in driver_split.cuh: x = x0 + (x1 + x2 / 256) / 256, x0 cut off, the others the nearest to what is left. A sum that is not finite is computed again:
   of an infinity or a NaN x1 is a NaN, and a subnormal number puts a NaN in its row.
   Four warpgroups: the producer, one thread, copies boxes of f32 into two rings, of A's rows and of the columns of every B, 64 k a stage. The converter splits a stage of the B's into three planes of
   bf16, as tensor cores read them, k contiguous. Two consumers have 64 rows each: a thread splits its elements of A in registers, which are the first factor of all six products.
   Where A has k contiguous a thread reads four adjacent k at a time. Its k are then not those of the fragment: k is permuted within 32, for A and B alike.
   Grid, barriers: as in driver_wgmma.cuh and driver_wgmma_mainloop.cuh.
   Invariant: as in driver_split.cuh. */

// fx_wgmma_parts: tiles of 128 x COLUMNS::N / BESIDE elements of every sum; a stage has the B's of BESIDE sums, all that a segment has; stages of A, of the B's, and of their planes; where elements are reduced or share something STAGED bytes for the sums of 64 columns of a tile and the slots behind them, else 0; otherwise as fx_wgmma
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
  static constexpr int A_BYTES = BM / 32 * BOX_BYTES, B_BYTES = N / 32 * BOX_BYTES, PLANE_BYTES = N * BK * 2, PLANES_BYTES = 3 * PLANE_BYTES;
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;
  static constexpr int STAGING_BYTES = 16 * PITCH;
  static constexpr int STAGING_AT = A_STAGES * A_BYTES + B_STAGES * B_BYTES + PLANES * PLANES_BYTES, BARRIERS_AT = STAGING_AT + (STAGED ? STAGED : CONSUMERS * 4 * STAGING_BYTES);
  static constexpr int SHARED_BYTES = BARRIERS_AT + 2 * (A_STAGES + B_STAGES + PLANES) * 8;
  static constexpr int PRODUCER_REGISTERS = 24, CONVERTER_REGISTERS = 72, CONSUMER_REGISTERS = 208;
  static_assert(CHUNK % 8 == 0 && BN % CHUNK == 0 && BN % 64 == 0 && (N == 64 || N == 128) && SUMS % BESIDE == 0 && SUMS / BESIDE * N <= 128, "no such tile");
};

// fx_parts_rings: stages of A's rows, of the columns of every B, and of their planes
template <class ENGINE>
struct fx_parts_rings {
  typedef fx_ring<ENGINE::A_STAGES, ENGINE::A_BYTES> of_a;
  typedef fx_ring<ENGINE::B_STAGES, ENGINE::B_BYTES> of_b;
  typedef fx_ring<ENGINE::PLANES, ENGINE::PLANES_BYTES> of_planes;
  static constexpr int B_AT = ENGINE::A_STAGES * ENGINE::A_BYTES, PLANES_AT = B_AT + ENGINE::B_STAGES * ENGINE::B_BYTES, BARRIERS = 2 * (ENGINE::A_STAGES + ENGINE::B_STAGES + ENGINE::PLANES);
  of_a a;
  of_b b;
  of_planes planes;

  FX_DEVICE fx_parts_rings(unsigned memory)
      : a{memory, memory + ENGINE::BARRIERS_AT, 0, 0},
        b{memory + B_AT, memory + ENGINE::BARRIERS_AT + 2 * ENGINE::A_STAGES * 8, 0, 0},
        planes{memory + PLANES_AT, memory + ENGINE::BARRIERS_AT + 2 * (ENGINE::A_STAGES + ENGINE::B_STAGES) * 8, 0, 0} {}
  FX_DEVICE void begin() {
    a.begin(1, 4 * ENGINE::CONSUMERS);
    b.begin(1, 4);
    planes.begin(4, 4 * ENGINE::CONSUMERS);
  }
};

// fx_parts_arrive: a warp is done with a stage, or has filled it
FX_DEVICE void fx_parts_arrive(unsigned barrier) {
  fx_warp_barrier();
  if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(barrier);
}

// fx_parts_pair: two adjacent floats as three words of two bf16; least: of all floats that it has seen, twice the bits, less 1, is below 0xffffff where one is subnormal
FX_DEVICE void fx_parts_pair(unsigned &first, unsigned &second, unsigned &third, unsigned &least, float lo, float hi) {
  least = min(least, min(fx_bits(lo) + fx_bits(lo) - 1, fx_bits(hi) + fx_bits(hi) - 1));
  first = fx_permute(fx_bits(lo), fx_bits(hi), 0x7632);
  const float rest_lo = (lo - fx_from_bits(fx_bits(lo) & 0xffff0000u)) * 256.0f, rest_hi = (hi - fx_from_bits(fx_bits(hi) & 0xffff0000u)) * 256.0f;
  second = fx_pack_bf16(rest_lo, rest_hi);
  third = fx_pack_bf16((rest_lo - fx_from_bits(second << 16)) * 256.0f, (rest_hi - fx_from_bits(second & 0xffff0000u)) * 256.0f);
}

// fx_parts_load: starts copying the boxes of an operand of a tile, SIZE of its m or n and 64 k: with k contiguous, as windows have it, 64 rows of 32 k each, else 64 k of 32
template <int SIZE, class OPERAND, class PROBLEM>
FX_DEVICE void fx_parts_load(const PROBLEM &p, const fx_tensor_map *map, unsigned to, unsigned full, int j, int batch, int outer, int mn, int k) {
#pragma unroll
  for (int i = 0; i < SIZE / 32; ++i) {
    if constexpr (fx_is_im2col<OPERAND>(0)) {
      OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, mn + i / 2 * 64, k + i % 2 * 32);
    } else {
      int at[OPERAND::RANK];
      at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 32 : k + i % 2 * 32;
      at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i / 2 * 64;
      if constexpr (fx_is_placed<OPERAND>(0)) OPERAND::place(p, j, batch, outer, at);
      fx_tma_load(to + i * 8192, map, full, at);
    }
  }
}

// fx_parts_blocks: blocks of k of a segment
template <class ENGINE, class SEGMENT, class PROBLEM>
FX_DEVICE int fx_parts_blocks(const PROBLEM &p) { return SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK); }

// fx_parts_producer: the mainloop as the producer runs it
template <class ENGINE>
struct fx_parts_producer {
  static constexpr bool TAKES_MAPS = true;

  typename fx_parts_rings<ENGINE>::of_a &ring_a;
  typename fx_parts_rings<ENGINE>::of_b &ring_b;
  const fx_tile &at;         // the tile
  const fx_tensor_map *map;  // of the segment's first operand

  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      fx_parts_load<ENGINE::BN, typename SEGMENT::template b<J>>(p, map + 1 + J, ring_b.address() + J * (ENGINE::B_BYTES / ENGINE::BESIDE), ring_b.full(), J, at.batch, outer, at.n, k);
      load_b<SEGMENT, J + 1>(p, outer, k);
    }
  }
  // Blocks of k from `block` on.
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, int block, int end) {
    const int blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    int outer = block > 0 ? block / blocks : 0, k = (block - outer * blocks) * ENGINE::BK;
#pragma unroll 1
    for (; block < end; ++block) {
      fx_mbarrier_wait(ring_b.empty(), ring_b.parity ^ 1);
      fx_mbarrier_expect(ring_b.full(), ENGINE::B_BYTES);
      load_b<SEGMENT, 0>(p, outer, k);
      ring_b.next();
      fx_mbarrier_wait(ring_a.empty(), ring_a.parity ^ 1);
      fx_mbarrier_expect(ring_a.full(), ENGINE::A_BYTES);
      fx_parts_load<ENGINE::BM, typename SEGMENT::a>(p, map, ring_a.address(), ring_a.full(), 0, at.batch, outer, at.m, k);
      ring_a.next();
      k += ENGINE::BK;
      if (k >= blocks * ENGINE::BK) k = 0, ++outer;
    }
    map += 1 + SEGMENT::SUMS;
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(p, 0, fx_parts_blocks<ENGINE, SEGMENT>(p));
  }
  FX_DEVICE void next_segment() {}
};

// fx_parts_row: 16 k of a row or column of a stage, number `step` of four, in the order of fragments; IS_PERMUTED: where A has k contiguous
template <int LAYOUT, bool IS_PERMUTED>
FX_DEVICE void fx_parts_row(float (&x)[16], unsigned stage, int mn, int step) {
  if constexpr (LAYOUT == FX_K_MAJOR) {
    const unsigned row = stage + mn / 64 * 16384 + step / 2 * 8192 + mn % 64 * 128;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      float four[4];
      fx_shared_get<4>(four, row + (((IS_PERMUTED ? 2 * q + step % 2 : step % 2 * 4 + q) ^ mn % 8) << 4));
#pragma unroll
      for (int i = 0; i < 4; ++i) x[IS_PERMUTED ? 2 * q + i % 2 + i / 2 * 8 : q * 4 + i] = four[i];
    }
  } else {
    const unsigned column = stage + mn / 32 * 8192 + mn % 4 * 4;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int k = IS_PERMUTED ? step / 2 * 32 + (i % 8 / 2 * 2 + step % 2) * 4 + i / 8 * 2 + i % 2 : step * 16 + i;
      fx_shared_get<1>(&x[i], column + k * 128 + ((mn % 32 / 4 ^ k % 8) << 4));
    }
  }
}

// fx_parts_converter: the mainloop as the converter runs it: a thread has a column, or half of its k
template <class ENGINE>
struct fx_parts_converter {
  static constexpr bool TAKES_MAPS = true;

  typename fx_parts_rings<ENGINE>::of_b &ring_b;
  typename fx_parts_rings<ENGINE>::of_planes &planes;

  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &, int block, int end) {
    constexpr int STEPS = ENGINE::N / 32;  // of the four, those of a thread
#pragma unroll 1
    for (; block < end; ++block) {
      int thread = threadIdx.x;
      fx_hide(thread);  // as for a consumer
      const int column = thread % ENGINE::N, first = thread % 128 / ENGINE::N * STEPS;
      const unsigned from = ring_b.address(), to = planes.address() + column * 128;
      fx_mbarrier_wait(ring_b.full(), ring_b.parity);
      fx_mbarrier_wait(planes.empty(), planes.parity ^ 1);
      unsigned least = ~0u;
#pragma unroll
      for (int s = 0; s < STEPS; ++s) {
        float x[16];
        fx_parts_row<SEGMENT::template b<0>::LAYOUT, SEGMENT::a::LAYOUT == FX_K_MAJOR>(x, from, column, first + s);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unsigned part[3][4];
#pragma unroll
          for (int i = 0; i < 4; ++i) fx_parts_pair(part[0][i], part[1][i], part[2][i], least, x[half * 8 + i * 2], x[half * 8 + i * 2 + 1]);
#pragma unroll
          for (int i = 0; i < 3; ++i) fx_shared_put4(to + i * ENGINE::PLANE_BYTES + (((first + s) * 2 + half ^ column % 8) << 4), part[i]);
        }
      }
      if (least < 0xffffffu) fx_shared_put1(to + ((first * 2 ^ column % 8) << 4), 0x7fff7fffu);
      fx_parts_arrive(ring_b.empty());
      fx_tma_publish();
      fx_parts_arrive(planes.full());
      ring_b.next();
      planes.next();
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(p, 0, fx_parts_blocks<ENGINE, SEGMENT>(p));
  }
  FX_DEVICE void next_segment() {}
};

// fx_parts_consumer: the mainloop as a consumer runs it
template <class ENGINE>
struct fx_parts_consumer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_sums<ENGINE> &acc;   // the sums
  float (&total)[ENGINE::N / 2];  // of a block
  typename fx_parts_rings<ENGINE>::of_a &ring_a;
  typename fx_parts_rings<ENGINE>::of_planes &planes;
  int consumer;  // 0 or 1

  // Starts the products of a part of A and one of the B's; begins: they are the first of the total.
  FX_DEVICE void multiply(const unsigned (&a)[4][4], int part, bool begins) {
    const unsigned long long b = fx_wgmma_operand<FX_K_MAJOR>::at(planes.address() + part * ENGINE::PLANE_BYTES);
#pragma unroll
    for (int step = 0; step < ENGINE::BK / 16; ++step) ENGINE::columns::template multiply<true, 0>(total, a[step], b + step * 2, step > 0 || !begins);
  }
  FX_DEVICE void scale() {
#pragma unroll
    for (int i = 0; i < ENGINE::N / 2; ++i) total[i] *= 0x1p-8f;
  }
  template <int LAYOUT>
  FX_DEVICE void read(unsigned (&a)[3][4][4]) {
    int thread = threadIdx.x;
    fx_hide(thread);  // addresses are computed for each block, not kept beside the sums
    const int lane = thread % 32, row = consumer * 64 + thread / 32 % 4 * 16 + lane / 4;
    unsigned least[2] = {~0u, ~0u};  // of either row
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int below = 0; below < 2; ++below) {
        const int m = row + below * 8;
        float x[4];
        if constexpr (LAYOUT == FX_K_MAJOR) {
          fx_shared_get<4>(x, ring_a.address() + consumer * 16384 + step / 2 * 8192 + m % 64 * 128 + ((lane % 4 * 2 + step % 2 ^ m % 8) << 4));
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int k = step * 16 + lane % 4 * 2 + i % 2 + i / 2 * 8;
            fx_shared_get<1>(&x[i], ring_a.address() + m / 32 * 8192 + k * 128 + ((m % 32 / 4 ^ k % 8) << 4) + m % 4 * 4);
          }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) fx_parts_pair(a[0][step][i * 2 + below], a[1][step][i * 2 + below], a[2][step][i * 2 + below], least[below], x[i * 2], x[i * 2 + 1]);
      }
    }
#pragma unroll
    for (int below = 0; below < 2; ++below)
      if (least[below] < 0xffffffu) a[0][0][below] = 0x7fff7fffu;
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &, int block, int end) {
#pragma unroll 1
    for (; block < end; ++block) {
      unsigned a[3][4][4];
      fx_mbarrier_wait(ring_a.full(), ring_a.parity);
      read<SEGMENT::a::LAYOUT>(a);
      fx_parts_arrive(ring_a.empty());
      ring_a.next();
      fx_mbarrier_wait(planes.full(), planes.parity);
      fx_named_barrier(1 + consumer, 256);  // the other one has started most of its products
      fx_wgmma_begin();
      multiply(a[1], 1, true);
      multiply(a[0], 2, false);
      multiply(a[2], 0, false);
      fx_wgmma_commit();
      fx_wgmma_wait<0>();
      scale();
      fx_wgmma_begin();
      multiply(a[0], 1, false);
      multiply(a[1], 0, false);
      fx_wgmma_commit();
      fx_named_arrive(2 - consumer, 256);
      fx_wgmma_wait<0>();
      scale();
      fx_wgmma_begin();
      multiply(a[0], 0, false);
      fx_wgmma_commit();
      fx_wgmma_wait<0>();
      fx_parts_arrive(planes.empty());
      planes.next();
#pragma unroll
      for (int i = 0; i < ENGINE::N / 2; ++i) acc.of[SEGMENT::sum(0) / ENGINE::BESIDE][0][i] += total[i];
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(p, 0, fx_parts_blocks<ENGINE, SEGMENT>(p));
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
  const amended p = {problem};
  const unsigned memory = fx_shared(fx_smem()), staging = memory + ENGINE::STAGING_AT;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128;
  fx_parts_rings<ENGINE> of(memory);
  if (threadIdx.x == 0) of.begin();
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_parts_producer<ENGINE>>(p, maps, tiles, of.a, of.b);
    return;
  }
  if (group == 1) {
    fx_give_registers<ENGINE::CONVERTER_REGISTERS>();
#pragma unroll 1
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
      fx_parts_converter<ENGINE> converter = {of.b, of.planes};
      p.accumulate(converter);
    }
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 2, warp = threadIdx.x / 32 % 4;
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
    fx_parts_consumer<ENGINE> mainloop = {acc, total, of.a, of.planes, consumer};
    p.accumulate(mainloop);
    if constexpr (ENGINE::STAGED > 0) fx_parts_reduce<ENGINE>(p, at, consumer, acc);
    else fx_wgmma_epilogue<ENGINE>(p, at, consumer * 64 + warp * 16, columns, acc, staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES);
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
}
