/* Every function of kernels/ptx_hopper.cuh, as ptx.cuh beside this has those of kernels/ptx.cuh: the same lines open a case. It may go on with `block`, how many threads make
   one, `cluster`, how many blocks, and `box 64x16 of 200x600`: the words of all threads are then a tensor of 16-bit elements too, its rows a multiple of 16 bytes apart, and the case gets the map by
   which such boxes of it are copied; of `pixels 64 of 75x9x7x3 from -1x-2 to 0x1 by 1x2` it is in im2col mode: columns of so many pixels of 64 elements, corners of the bounding box, and elements from pixel to pixel. Shared memory is 48 KB. */

// first_word: that of the launch's first thread, each of which has N: where the tensor begins
template <int N>
FX_DEVICE const unsigned *first_word(const unsigned *x) {
  return x - (int)(blockIdx.x * blockDim.x + threadIdx.x) * N;
}

// ---- products of doubles ----

// test_doubles: of what floats hold, the product and that of the magnitudes, rounded to floats
FX_DEVICE void test_doubles(const unsigned *x, unsigned *y) {
  double a[2], b, d[4], e[4];
  unsigned words[4], magnitudes[4], of_b[2];
  for (int i = 0; i < 2; ++i) a[i] = fx_from_bits(x[i]);
  b = fx_from_bits(x[2]);
  for (int i = 0; i < 4; ++i) d[i] = fx_from_bits(x[3 + i]), e[i] = fabs(d[i]);
  memcpy(words, a, 16), memcpy(of_b, &b, 8);
  fx_mma_f64(d, words, of_b[0], of_b[1]);
  for (int i = 0; i < 4; ++i) magnitudes[i] = i % 2 ? words[i] & 0x7fffffffu : words[i];
  fx_mma_f64(e, magnitudes, of_b[0], of_b[1] & 0x7fffffffu);
  for (int i = 0; i < 4; ++i) y[i] = fx_bits((float)d[i]), y[4 + i] = fx_bits((float)e[i]);
}

// case fx_mma_f64: tttmmmm -> 8, sum of 4
FX_DEVICE void test_mma_f64(const unsigned *x, unsigned *y, const fx_tensor_map *) { test_doubles(x, y); }

// case fx_mma_f64: TTTMMMM -> 8, sum of 4
FX_DEVICE void test_mma_f64_special(const unsigned *x, unsigned *y, const fx_tensor_map *) { test_doubles(x, y); }

// case fx_mma_f64: rrrssss -> 8, exact
FX_DEVICE void test_mma_f64_integers(const unsigned *x, unsigned *y, const fx_tensor_map *) { test_doubles(x, y); }

// ---- reductions of a warp's words ----

// case fx_reduce_max, fx_reduce_and, fx_reduce_or: w3 -> 3, exact
// A lane decides about one bit of what all have and of what some have: each of random words has any value.
FX_DEVICE void test_reduce(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  const unsigned bit = 1u << threadIdx.x % 32;
  y[0] = fx_reduce_max(x[0]);
  y[1] = fx_reduce_and(x[1] | ~bit);
  y[2] = fx_reduce_or(x[2] & bit);
}

// ---- memory barriers, named barriers, registers ----

// case fx_mbarrier_init, fx_mbarrier_publish, fx_mbarrier_arrive, fx_mbarrier_wait: w6 -> 7, exact
// In every round all threads arrive at one barrier, and a lane of every warp at the other once its warp has read.
FX_DEVICE void test_mbarrier(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  unsigned *s = (unsigned *)fx_smem();
  const unsigned full = fx_shared(s + 128), empty = full + 8;
  if (threadIdx.x == 0) {
    fx_mbarrier_init(full, 128);
    fx_mbarrier_init(empty, 4);
    fx_mbarrier_publish();
  }
  fx_barrier();
  fx_mbarrier_wait(full, 1);  // before the first phase: nobody waits
  for (int round = 0; round < 6; ++round) {
    fx_mbarrier_wait(empty, round % 2 ^ 1);
    s[threadIdx.x] = x[round];
    fx_mbarrier_arrive(full);
    fx_mbarrier_wait(full, round % 2);
    y[round] = s[(threadIdx.x * 5 + 77 + round) % 128];
    fx_warp_barrier();
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty);
  }
  fx_mbarrier_wait(full, 1);  // the sixth phase has ended
  y[6] = s[threadIdx.x];
}

// case fx_named_barrier, fx_named_arrive: w4 -> 5, exact, block 256
// Between two warpgroups, of which one does not wait; within each; within pairs of warps.
FX_DEVICE void test_named(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  unsigned *s = (unsigned *)fx_smem();
  const int group = threadIdx.x / 128, t = threadIdx.x % 128, pair = threadIdx.x / 64;
  if (group == 0) {
    s[t] = x[0];
    fx_named_arrive(1, 256);
    fx_named_barrier(2, 256);
    y[0] = s[128 + (t * 3 + 7) % 128];
  } else {
    fx_named_barrier(1, 256);
    y[0] = s[(t * 5 + 77) % 128];
    s[128 + t] = y[0] ^ x[0];
    fx_named_arrive(2, 256);
  }
  for (int i = 0; i < 2; ++i) {
    s[256 + i * 256 + threadIdx.x] = x[1 + i];
    fx_named_barrier(14 + group, 128);
    y[1 + i] = s[256 + i * 256 + group * 128 + (t * 9 + 1) % 128];
  }
  s[768 + threadIdx.x] = x[3];
  fx_named_barrier(3 + pair, 64);
  y[3] = s[768 + pair * 64 + (t * 7 + 5) % 64];
  fx_named_barrier(1, 256);
  y[4] = s[768 + 255 - threadIdx.x];
}

// case fx_take_registers, fx_give_registers: w4 -> 5, exact, block 384
// As many as the driver's warpgroups have; what was in them before is there after, and so is what fills them then.
FX_DEVICE void test_registers(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  unsigned *s = (unsigned *)fx_smem();
  unsigned w[4] = {x[0], x[1], x[2], x[3]};
  if (threadIdx.x < 128) {
    fx_give_registers<40>();
    s[threadIdx.x] = w[0] + w[1] * 3;
  } else {
    fx_take_registers<232>();
    unsigned many[160];
#pragma unroll
    for (int i = 0; i < 160; ++i) many[i] = w[i % 4] * (2 * i + 1);
    fx_named_barrier(1, 256);  // nothing is computed ahead of it but these
#pragma unroll
    for (int i = 0; i < 160; ++i) many[i] = fx_shuffle_xor(many[i], i % 31 + 1);
    fx_named_barrier(1, 256);
#pragma unroll
    for (int i = 0; i < 160; ++i) w[i % 4] = w[i % 4] * 5 + many[i];
    s[threadIdx.x] = w[0];
  }
  fx_barrier();
  for (int i = 0; i < 4; ++i) y[i] = w[i];
  y[4] = s[(threadIdx.x * 5 + 77) % 384];
}

// case fx_let_next_start, fx_wait_for_kernel: w1 -> 1, exact
// No kernel is ahead or behind that was started early: neither does anything.
FX_DEVICE void test_early(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  fx_let_next_start();
  fx_wait_for_kernel();
  y[0] = x[0] + 1;
}

// ---- boxes ----

// copy_box: a box that every block copies and reads back word by word; it lies inside, or along an axis across the end of the tensor or behind it
// The first blocks try the three along each axis in turns, the others anything along all of them. No coordinate is negative: a driver has none.
// The box begins at a multiple of 16 bytes of a row: an H200 stops at others, with an illegal instruction.
template <int RANK>
FX_DEVICE void copy_box(const unsigned *x, unsigned *y, const fx_tensor_map *map, const int (&extents)[RANK], const int (&box)[RANK]) {
  int bytes = 2, at[RANK];
  for (int i = 0; i < RANK; ++i) bytes *= box[i];
  const unsigned to = fx_shared(fx_smem()), barrier = to + bytes;
  for (int i = 0; i < RANK; ++i) {
    const int block = blockIdx.x, r = (int)(x[i] / 3 % 65536);
    const int where = block < 3 * RANK ? (block / 3 == i ? block % 3 : 0) : (int)(x[i] % 3);
    at[i] = where == 0   ? r % (extents[i] - box[i] + 1)
            : where == 1 ? extents[i] - 1 - r % (box[i] - 1)
                         : extents[i] + r % 3;
    if (i == 0) at[i] = (at[i] + (where == 2 ? 7 : 0)) / 8 * 8;
  }
  if (threadIdx.x == 0) {
    fx_tma_prefetch(map);
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, bytes);
    fx_tma_load(to, map, barrier, at);
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  for (int i = 0; i < bytes / 512; ++i) y[i] = ((const unsigned *)fx_smem())[i * 128 + threadIdx.x];
}

// case fx_tma_load, fx_tma_prefetch, fx_tensor_map: w8 -> 16, exact, box 64x64 of 203x300
FX_DEVICE void test_box_2(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_box<2>(x, y, map, {203, 300}, {64, 64}); }

// case fx_tma_load, fx_tma_prefetch: w8 -> 8, exact, box 64x8x4 of 150x31x17
FX_DEVICE void test_box_3(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_box<3>(x, y, map, {150, 31, 17}, {64, 8, 4}); }

// case fx_tma_load, fx_tma_prefetch: w8 -> 8, exact, box 64x4x4x2 of 97x11x9x7
FX_DEVICE void test_box_4(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_box<4>(x, y, map, {97, 11, 9, 7}, {64, 4, 4, 2}); }

// case fx_tma_load, fx_tma_prefetch: w8 -> 8, exact, box 64x4x2x2x2 of 75x9x6x5x4
FX_DEVICE void test_box_5(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_box<5>(x, y, map, {75, 9, 6, 5, 4}, {64, 4, 2, 2, 2}); }

// case fx_bulk_load: w8 -> 8, exact
// Every block copies the words of some of its threads, to any 16 bytes.
FX_DEVICE void test_bulk(const unsigned *x, unsigned *y, const fx_tensor_map *) {
  const unsigned at = fx_shared(fx_smem()), barrier = at + 2 * 4096;
  unsigned *s = (unsigned *)fx_smem();
  for (int i = 0; i < 16; ++i) s[i * 128 + threadIdx.x] = i;
  fx_barrier();
  const int first = blockIdx.x % 120, bytes = (blockIdx.x % 7 + 1) * 16, to = blockIdx.x % 61 * 64;
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, bytes);
    fx_bulk_load(at + to, x + first * 8, bytes, barrier);
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  for (int i = 0; i < 8; ++i) y[i] = s[i * 128 + threadIdx.x];
}

// copy_pixels: a column of pixels that every block copies and reads back word by word: from any channel, inside and behind, any pixel of the bounding box of any image, the last ones and behind them too
// The first blocks have offsets up to the largest that there are, the others small ones.
template <int RANK>
FX_DEVICE void copy_pixels(const unsigned *x, unsigned *y, const fx_tensor_map *map, const int (&extents)[RANK], const int (&lower)[RANK - 2], const int (&upper)[RANK - 2], const int (&steps)[RANK - 2]) {
  constexpr int BYTES = 64 * 128, MOST = RANK == 3 ? 65535 : RANK == 4 ? 255 : 31;
  const unsigned to = fx_shared(fx_smem()), barrier = to + BYTES;
  int at[RANK];
  unsigned short offset[RANK - 2];
  at[0] = (int)(x[0] / 3 % (extents[0] + 16)) / 8 * 8;
  for (int i = 0; i < RANK - 2; ++i) {
    const int pixels = (extents[1 + i] + upper[i] - lower[i] - 1) / steps[i] + 1;
    at[1 + i] = lower[i] + steps[i] * (int)(x[1 + i] / 3 % pixels);
    offset[i] = (unsigned short)(x[4 + i] / 3 % (blockIdx.x < 8 ? MOST + 1 : 4));
  }
  at[RANK - 1] = blockIdx.x % 3 ? (int)(x[7] / 3 % extents[RANK - 1]) : extents[RANK - 1] - 1 + (int)(x[7] / 3 % 3 / 2);
  if (threadIdx.x == 0) {
    fx_tma_prefetch(map);
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, BYTES);
    fx_tma_load_im2col(to, map, barrier, at, offset);
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  for (int i = 0; i < BYTES / 512; ++i) y[i] = ((const unsigned *)fx_smem())[i * 128 + threadIdx.x];
}

// case fx_tma_load_im2col: w8 -> 16, exact, pixels 64 of 75x97x13 from -3 to 5 by 1
FX_DEVICE void test_pixels_3(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_pixels<3>(x, y, map, {75, 97, 13}, {-3}, {5}, {1}); }

// case fx_tma_load_im2col: w8 -> 16, exact, pixels 64 of 75x37x33 from 2 to -4 by 3
FX_DEVICE void test_pixels_3_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_pixels<3>(x, y, map, {75, 37, 33}, {2}, {-4}, {3}); }

// case fx_tma_load_im2col: w8 -> 16, exact, pixels 64 of 75x9x7x20 from -1x-2 to -1x1 by 1x1
FX_DEVICE void test_pixels_4(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_pixels<4>(x, y, map, {75, 9, 7, 20}, {-1, -2}, {-1, 1}, {1, 1}); }

// case fx_tma_load_im2col: w8 -> 16, exact, pixels 64 of 128x14x11x6 from -3x0 to -2x3 by 2x3
FX_DEVICE void test_pixels_4_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_pixels<4>(x, y, map, {128, 14, 11, 6}, {-3, 0}, {-2, 3}, {2, 3}); }

// case fx_tma_load_im2col: w8 -> 16, exact, pixels 64 of 72x7x5x4x8 from -1x-2x0 to 0x1x-1 by 1x2x1
FX_DEVICE void test_pixels_5(const unsigned *x, unsigned *y, const fx_tensor_map *map) { copy_pixels<5>(x, y, map, {72, 7, 5, 4, 8}, {-1, -2, 0}, {0, 1, -1}, {1, 2, 1}); }

// send_box: a box of the thread's words that every block stores, each to another place of the outermost axis but one; it lies inside, or across the ends of the others
// Two boxes take turns, as groups of their own: the first is written again once it has been read.
template <int RANK>
FX_DEVICE void send_box(const unsigned *x, const fx_tensor_map *map, const int (&box)[RANK], const int (&step)[RANK]) {
  int words = 1, at[RANK];
  for (int i = 0; i < RANK; ++i) words *= box[i], at[i] = 0;
  words /= 2;
  unsigned *s = (unsigned *)fx_smem();
  for (int turn = 0; turn < 3; ++turn) {
    const int first = turn % 2 * words;
    if (threadIdx.x == 0) fx_tma_wait<1>();
    fx_barrier();
    for (int i = 0; i < words / 128; ++i) s[first + i * 128 + threadIdx.x] = x[i % 8] * (2 * turn + 1) + i;
    fx_tma_publish();
    fx_barrier();
    for (int i = 1; i < RANK; ++i) at[i] = ((int)blockIdx.x * 3 + turn) * step[i];
    if (threadIdx.x == 0) {
      fx_tma_store(map, fx_shared(s + first), at);
      fx_tma_commit();
    }
  }
  if (threadIdx.x == 0) fx_tma_wait<0>();
}

// case fx_tma_store, fx_tma_publish, fx_tma_commit, fx_tma_wait: w8 -> 8, exact, to box 64x8 of 61x6139
FX_DEVICE void test_send_2(const unsigned *x, unsigned *, const fx_tensor_map *map) { send_box<2>(x, map, {64, 8}, {0, 8}); }

// case fx_tma_store: w8 -> 8, exact, to box 64x4x4 of 61x2x3070
FX_DEVICE void test_send_3(const unsigned *x, unsigned *, const fx_tensor_map *map) { send_box<3>(x, map, {64, 4, 4}, {0, 0, 4}); }

// case fx_tma_store: w8 -> 8, exact, to box 64x2x4x2 of 57x2x2x1535
FX_DEVICE void test_send_4(const unsigned *x, unsigned *, const fx_tensor_map *map) { send_box<4>(x, map, {64, 2, 4, 2}, {0, 0, 0, 2}); }

// case fx_tma_store: w8 -> 8, exact, to box 64x2x2x2x2 of 58x2x2x1x1535
FX_DEVICE void test_send_5(const unsigned *x, unsigned *, const fx_tensor_map *map) { send_box<5>(x, map, {64, 2, 2, 2, 2}, {0, 0, 0, 0, 2}); }

// case fx_mbarrier_expect, fx_tma_load: w8 -> 16, exact, box 64x16 of 200x600
// A phase of four arrivals and the bytes of four boxes, each a warp's.
FX_DEVICE void test_expect(const unsigned *, unsigned *y, const fx_tensor_map *map) {
  const unsigned to = fx_shared(fx_smem()), barrier = to + 8192;
  const int warp = threadIdx.x / 32, at[2] = {(int)blockIdx.x * 8 + warp * 8, (int)blockIdx.x * 9 + warp};
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 4);
    fx_mbarrier_publish();
  }
  fx_barrier();
  if (threadIdx.x % 32 == 0) {
    fx_mbarrier_expect(barrier, 2048);
    fx_tma_load(to + warp * 2048, map, barrier, at);
  }
  fx_mbarrier_wait(barrier, 0);
  for (int i = 0; i < 16; ++i) y[i] = ((const unsigned *)fx_smem())[i * 128 + threadIdx.x];
}

// case fx_mbarrier_end, fx_tma_publish_all: w8 -> 16, exact, box 64x16 of 200x600
// A memory barrier of four arrivals ends; its memory and that of the boxes hold words, then a barrier of one arrival and the boxes of one thread.
FX_DEVICE void test_end(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  unsigned *s = (unsigned *)fx_smem();
  const unsigned to = fx_shared(s), barrier = to + 8192;
  const int warp = threadIdx.x / 32, at[2] = {(int)blockIdx.x * 8 + warp * 8, (int)blockIdx.x * 9 + warp};
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 4);
    fx_mbarrier_publish();
  }
  fx_barrier();
  if (threadIdx.x % 32 == 0) {
    fx_mbarrier_expect(barrier, 2048);
    fx_tma_load(to + warp * 2048, map, barrier, at);
  }
  fx_mbarrier_wait(barrier, 0);
  fx_barrier();
  if (threadIdx.x == 0) fx_mbarrier_end(barrier);
  fx_barrier();
  for (int i = threadIdx.x; i < 2050; i += 128) s[i] = x[i % 8];
  fx_tma_publish_all();
  fx_barrier();
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 4096);
    fx_tma_load(to, map, barrier, at);
    fx_tma_load(to + 4096, map, barrier, at);
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  for (int i = 0; i < 16; ++i) y[i] = s[i * 128 + threadIdx.x];
}

// case fx_mbarrier_expect, fx_mbarrier_arrive, fx_mbarrier_wait, fx_tensor_maps: w8 -> 24, exact, block 256, box 64x16 of 200x600
// A thread of one warpgroup fills two stages in turns, the other reads and gives them back.
FX_DEVICE void test_ring(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  const fx_tensor_maps<1> *maps = (const fx_tensor_maps<1> *)map;
  const unsigned to = fx_shared(fx_smem()), full = to + 4096, empty = full + 16;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) fx_mbarrier_init(full + i * 8, 1), fx_mbarrier_init(empty + i * 8, 4);
    fx_mbarrier_publish();
  }
  fx_barrier();
  if (threadIdx.x < 128) {
    for (int i = 0; threadIdx.x == 0 && i < 6; ++i) {
      const int stage = i % 2, at[2] = {(int)blockIdx.x * 8 + i * 16, (int)blockIdx.x * 8 + i * 16};
      fx_mbarrier_wait(empty + stage * 8, i / 2 % 2 ^ 1);
      fx_mbarrier_expect(full + stage * 8, 2048);
      fx_tma_load(to + stage * 2048, maps->of, full + stage * 8, at);
    }
    for (int i = 0; i < 24; ++i) y[i] = x[i % 8];
  } else {
    for (int i = 0; i < 6; ++i) {
      const int stage = i % 2;
      fx_mbarrier_wait(full + stage * 8, i / 2 % 2);
      for (int j = 0; j < 4; ++j) y[i * 4 + j] = ((const unsigned *)fx_smem())[stage * 512 + j * 128 + threadIdx.x - 128];
      fx_warp_barrier();
      if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty + stage * 8);
    }
  }
}

// ---- clusters ----

// send_around: every thread sends each block of its cluster two numbers, three times over, as one phase of a memory barrier; blocks say when they have read them
FX_DEVICE void send_around(const unsigned *x, unsigned *y) {
  const unsigned to = fx_shared(fx_smem()), sent = to + 8192, read = sent + 8;
  const int rank = fx_cluster_rank(), blocks = fx_cluster_blocks();
  if (threadIdx.x == 0) {
    fx_mbarrier_init(sent, 1);
    fx_mbarrier_init(read, blocks);
    fx_mbarrier_publish();
  }
  fx_barrier();
  fx_cluster_arrive();  // every block has its memory barriers
  y[0] = rank, y[1] = blocks;
  fx_cluster_wait();
  for (int round = 0; round < 3; ++round) {
    if (round > 0) fx_mbarrier_wait(read, round % 2 ^ 1);
    if (threadIdx.x == 0) fx_mbarrier_expect(sent, blocks * 128 * 8);
    for (int b = 0; b < blocks; ++b)
      fx_send2(fx_shared_of(to + (rank * 128 + threadIdx.x) * 8, b), (float)(x[round * 2] % 65536 + b), (float)(x[round * 2 + 1] % 65536), fx_shared_of(sent, b));
    fx_mbarrier_wait_sent(sent, round % 2);
    float sum = 0;
    for (int b = 0; b < blocks; ++b) {
      float other[2];
      fx_shared_get<2>(other, to + (b * 128 + (threadIdx.x * 5 + 77 + round) % 128) * 8);
      sum += other[0] * (b + 1) - other[1];
    }
    y[2 + round] = fx_bits(sum);
    fx_barrier();  // all have read
    if (round < 2 && threadIdx.x < blocks) fx_mbarrier_arrive_of(fx_shared_of(read, threadIdx.x));
  }
}

// case fx_cluster_rank, fx_cluster_blocks, fx_cluster_arrive, fx_cluster_wait, fx_shared_of, fx_send2: w6 -> 5, exact, cluster 8
FX_DEVICE void test_cluster_8(const unsigned *x, unsigned *y, const fx_tensor_map *) { send_around(x, y); }

// case fx_mbarrier_arrive_of, fx_mbarrier_wait_sent, fx_send2, fx_shared_of: w6 -> 5, exact, cluster 2
FX_DEVICE void test_cluster_2(const unsigned *x, unsigned *y, const fx_tensor_map *) { send_around(x, y); }

// case fx_cluster_rank, fx_cluster_blocks: w1 -> 2, exact
// A launch without clusters: a block is alone. What reaches into other blocks is then an illegal instruction.
FX_DEVICE void test_cluster_none(const unsigned *x, unsigned *y, const fx_tensor_map *) { y[0] = x[0] + fx_cluster_rank(), y[1] = fx_cluster_blocks(); }

// share_box: every block of a cluster of four copies a box of 16 rows into a place of its own in the shared memory of all four, then another one in that of itself and one other block
template <int RANK>
FX_DEVICE void share_box(const unsigned *x, unsigned *y, const fx_tensor_map *map, const int (&extents)[RANK]) {
  const int BYTES = 2048, rank = fx_cluster_rank();
  const unsigned to = fx_shared(fx_smem()), barrier = to + 4 * BYTES;
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 4 * BYTES);
  }
  fx_barrier();
  fx_cluster_arrive();
  fx_cluster_wait();
  for (int round = 0; round < 2; ++round) {
    int at[RANK];
    for (int i = 0; i < RANK; ++i) at[i] = (int)(x[i + round] / 3 % 65536) % extents[i];
    at[0] = at[0] / 8 * 8;
    if (threadIdx.x == 0) fx_tma_load_cluster(to + rank * BYTES, map, barrier, at, (unsigned short)(round ? 1u << rank | 1u << (rank ^ 1) : 15));
    fx_mbarrier_wait(barrier, round);
    for (int i = 0; i < 16; ++i) y[round * 16 + i] = ((const unsigned *)fx_smem())[i * 128 + threadIdx.x];
    fx_barrier();
    if (threadIdx.x == 0 && round == 0) fx_mbarrier_expect(barrier, 2 * BYTES);
    fx_cluster_arrive();  // all have read what was sent, and expect what is sent next
    fx_cluster_wait();
  }
}

// case fx_tma_load_cluster: w8 -> 32, exact, box 64x16 of 203x300, cluster 4
FX_DEVICE void test_share_2(const unsigned *x, unsigned *y, const fx_tensor_map *map) { share_box<2>(x, y, map, {203, 300}); }

// case fx_tma_load_cluster: w8 -> 32, exact, box 64x8x2 of 150x31x17, cluster 4
FX_DEVICE void test_share_3(const unsigned *x, unsigned *y, const fx_tensor_map *map) { share_box<3>(x, y, map, {150, 31, 17}); }

// case fx_tma_load_cluster: w8 -> 32, exact, box 64x4x2x2 of 97x11x9x7, cluster 4
FX_DEVICE void test_share_4(const unsigned *x, unsigned *y, const fx_tensor_map *map) { share_box<4>(x, y, map, {97, 11, 9, 7}); }

// case fx_tma_load_cluster: w8 -> 32, exact, box 64x2x2x2x2 of 75x9x6x5x4, cluster 4
FX_DEVICE void test_share_5(const unsigned *x, unsigned *y, const fx_tensor_map *map) { share_box<5>(x, y, map, {75, 9, 6, 5, 4}); }

// ---- products of warpgroups ----

// descriptor: of boxes of 64 x 64 elements from an address on; MN: where m or n is contiguous, so that the next 64 of it are the next box
template <bool MN>
FX_DEVICE unsigned long long descriptor(unsigned address, int step) {
  const unsigned leading = MN ? 8192 : 16, at = address + step * (MN ? 2048 : 32);
  return (unsigned long long)((at & 0x3ffff) >> 4 | leading >> 4 << 16) | (unsigned long long)(1024 >> 4 | 1u << 30) << 32;
}

// value: an element of the tensor, whose rows have 64
template <bool BF16>
FX_DEVICE float value(const unsigned *tensor, int row, int column) {
  const unsigned short bits = (unsigned short)(tensor[row * 32 + column / 2] >> column % 2 * 16);
  return BF16 ? fx_from_bits((unsigned)bits << 16) : fx_f16_to_f32(bits);
}

// row_of_b: of the tensor, where the box of B's columns from 64 j on begins
FX_DEVICE int row_of_b(int j) { return 1024 + (blockIdx.x * 3 + j * 5) % 16 * 64; }

template <int N, bool BF16, bool A_MN, bool B_MN, bool TF32 = false>
FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (N == 64) fx_wgmma_64<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  if constexpr (N == 128) fx_wgmma_128<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  if constexpr (N == 192) fx_wgmma_192<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  if constexpr (N == 256) fx_wgmma_256<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
}

// product: the sums of STEPS times 16 products of the block's rows and columns and, computed by each thread itself, those of the magnitudes; one step is another one of four
// in every fourth block. In half of the blocks the sums begin with the thread's values, in the other half the first product replaces them.
template <int N, bool BF16, int STEPS, bool A_MN, bool B_MN>
FX_DEVICE void product(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  const unsigned a = fx_shared(fx_smem()), b = a + 8192, barrier = b + N / 64 * 8192;
  const int row = blockIdx.x * 64, first = STEPS == 4 ? 0 : blockIdx.x / 4 % 4, adds = blockIdx.x / 8 % 2 == 0;
  const unsigned *tensor = first_word<32>(x);
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 8192 + N / 64 * 8192);
    const int at[2] = {0, row};
    fx_tma_load(a, map, barrier, at);
    for (int j = 0; j < N / 64; ++j) {
      const int at_b[2] = {0, row_of_b(j)};
      fx_tma_load(b + j * 8192, map, barrier, at_b);
    }
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = value<BF16>(x, 0, i % 64);
  fx_wgmma_begin();
#pragma unroll 1
  for (int step = first; step < first + STEPS; ++step) multiply<N, BF16, A_MN, B_MN>(d, descriptor<A_MN>(a, step), descriptor<B_MN>(b, step), step > first || adds);
  fx_wgmma_commit();
  fx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) y[i] = fx_bits(d[i]);
#pragma unroll 1
  for (int i = 0; i < N / 2; ++i) {
    const int m = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8, n = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = adds ? fabsf(value<BF16>(x, 0, i % 64)) : 0.0f;
    for (int k = first * 16; k < (first + STEPS) * 16; ++k)
      sum += fabsf(value<BF16>(tensor, A_MN ? row + k : row + m, A_MN ? m : k) * value<BF16>(tensor, row_of_b(n / 64) + (B_MN ? k : n % 64), B_MN ? n % 64 : k));
    y[N / 2 + i] = fx_bits(sum);
  }
}

// product_tf32: the same of 32 k of f32, words of the tensor whose low bits do not count, k contiguous in both operands
template <int N>
FX_DEVICE void product_tf32(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  const unsigned a = fx_shared(fx_smem()), b = a + 8192, barrier = b + N / 64 * 8192;
  const int row = blockIdx.x * 64, adds = blockIdx.x / 8 % 2 == 0;
  const unsigned *tensor = first_word<32>(x), high = 0xffffe000u;
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 8192 + N / 64 * 8192);
    const int at[2] = {0, row};
    fx_tma_load(a, map, barrier, at);
    for (int j = 0; j < N / 64; ++j) {
      const int at_b[2] = {0, row_of_b(j)};
      fx_tma_load(b + j * 8192, map, barrier, at_b);
    }
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = fx_from_bits(x[i % 32]);
  fx_wgmma_begin();
#pragma unroll 1
  for (int step = 0; step < 4; ++step) multiply<N, false, false, false, true>(d, descriptor<false>(a, step), descriptor<false>(b, step), step > 0 || adds);
  fx_wgmma_commit();
  fx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) y[i] = fx_bits(d[i]);
#pragma unroll 1
  for (int i = 0; i < N / 2; ++i) {
    const int m = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8, n = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = adds ? fabsf(fx_from_bits(x[i % 32])) : 0.0f;
    for (int k = 0; k < 32; ++k)
      sum += fabsf(fx_from_bits(tensor[(row + m) * 32 + k] & high) * fx_from_bits(tensor[(row_of_b(n / 64) + n % 64) * 32 + k] & high));
    y[N / 2 + i] = fx_bits(sum);
  }
}

// products: in block b, A's m is contiguous where b is odd, B's n where b / 2 is
template <int N, bool BF16, int STEPS>
FX_DEVICE void products(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  switch (blockIdx.x % 4) {
    case 0: product<N, BF16, STEPS, false, false>(x, y, map); break;
    case 1: product<N, BF16, STEPS, true, false>(x, y, map); break;
    case 2: product<N, BF16, STEPS, false, true>(x, y, map); break;
    case 3: product<N, BF16, STEPS, true, true>(x, y, map); break;
  }
}

// case fx_wgmma_begin, fx_wgmma_commit, fx_wgmma_wait: p32 -> 112, exact, box 64x64 of 64x2048
// Three batches, of which as many may be under way as the wait before their sums are read says; what the first has read is copied over before the others are done.
FX_DEVICE void test_wgmma_wait(const unsigned *, unsigned *y, const fx_tensor_map *map) {
  const unsigned a = fx_shared(fx_smem()), b = a + 3 * 8192, barrier = b + 8192;
  float d[3][32];
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 4 * 8192);
    for (int i = 0; i < 4; ++i) {
      const int at[2] = {0, ((int)blockIdx.x * 4 + i) * 31};
      fx_tma_load(a + i * 8192, map, barrier, at);
    }
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
#pragma unroll
  for (int i = 0; i < 96; ++i) d[i / 32][i % 32] = (float)i;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    fx_wgmma_begin();
#pragma unroll
    for (int step = 0; step < 4; ++step) fx_wgmma_64<true, false, false>(d[i], descriptor<false>(a + i * 8192, step), descriptor<false>(b, step), 1);
    fx_wgmma_commit();
  }
  fx_wgmma_wait<2>();
#pragma unroll
  for (int i = 0; i < 32; ++i) y[i] = fx_bits(d[0][i]);
  fx_barrier();  // all warps have read the first batch's rows
  if (threadIdx.x == 0) {
    const int at[2] = {0, (int)blockIdx.x * 64 + 1000};
    fx_mbarrier_expect(barrier, 8192);
    fx_tma_load(a, map, barrier, at);
  }
  fx_wgmma_wait<1>();
#pragma unroll
  for (int i = 0; i < 32; ++i) y[32 + i] = fx_bits(d[1][i]);
  fx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 32; ++i) y[64 + i] = fx_bits(d[2][i]);
  fx_mbarrier_wait(barrier, 1);
  for (int i = 0; i < 16; ++i) y[96 + i] = ((const unsigned *)fx_smem())[i * 128 + threadIdx.x];
}

// multiply_bytes, product_of_bytes: the sums of 128 products of 8 bits, k contiguous in both operands: words of the tensor as integers, or as 1, 1.5, -1 and -1.5 of f8
template <int N, int KIND, class SUM>
FX_DEVICE void multiply_bytes(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (N == 64) fx_wgmma_bytes_64<KIND>(d, a, b, adds);
  if constexpr (N == 128) fx_wgmma_bytes_128<KIND>(d, a, b, adds);
  if constexpr (N == 192) fx_wgmma_bytes_192<KIND>(d, a, b, adds);
  if constexpr (N == 256) fx_wgmma_bytes_256<KIND>(d, a, b, adds);
}
template <int N, int KIND, class SUM>
FX_DEVICE void product_of_bytes(unsigned *y, const fx_tensor_map *map) {
  const unsigned a = fx_shared(fx_smem()), b = a + 8192, barrier = b + N / 64 * 8192;
  const int adds = blockIdx.x / 8 % 2 == 0;
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, 8192 + N / 64 * 8192);
    const int at[2] = {0, (int)blockIdx.x * 64};
    fx_tma_load(a, map, barrier, at);
    for (int j = 0; j < N / 64; ++j) {
      const int at_b[2] = {0, row_of_b(j)};
      fx_tma_load(b + j * 8192, map, barrier, at_b);
    }
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  const bool is_f8 = (SUM)1 / 2 != 0;
  for (int i = threadIdx.x; is_f8 && i < (8192 + N / 64 * 8192) / 4; i += blockDim.x) {
    unsigned *word = (unsigned *)fx_smem() + i;
    *word = (KIND >> (i >= 2048) & 1) ? (*word & 0x82828282u) | 0x3c3c3c3cu : (*word & 0x84848484u) | 0x38383838u;
  }
  fx_tma_publish();
  fx_barrier();
  SUM d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = (SUM)(i - (int)threadIdx.x);
  fx_wgmma_begin();
#pragma unroll 1
  for (int step = 0; step < 4; ++step) multiply_bytes<N, KIND>(d, descriptor<false>(a, step), descriptor<false>(b, step), step > 0 || adds);
  fx_wgmma_commit();
  fx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) memcpy(y + i, d + i, 4);
}

// products_of_bytes: either operand of either kind, in turns
template <int N, class SUM>
FX_DEVICE void products_of_bytes(unsigned *y, const fx_tensor_map *map) {
  if (blockIdx.x % 4 == 0) product_of_bytes<N, 0, SUM>(y, map);
  if (blockIdx.x % 4 == 1) product_of_bytes<N, 1, SUM>(y, map);
  if (blockIdx.x % 4 == 2) product_of_bytes<N, 2, SUM>(y, map);
  if (blockIdx.x % 4 == 3) product_of_bytes<N, 3, SUM>(y, map);
}

// case fx_wgmma_bytes_64: w32 -> 32, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_64_integers(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<64, int>(y, map); }

// case fx_wgmma_bytes_64: w32 -> 32, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_64_f8(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<64, float>(y, map); }

// case fx_wgmma_bytes_128: w32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_128_integers(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<128, int>(y, map); }

// case fx_wgmma_bytes_128: w32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_128_f8(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<128, float>(y, map); }

// case fx_wgmma_bytes_192: w32 -> 96, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_192_integers(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<192, int>(y, map); }

// case fx_wgmma_bytes_192: w32 -> 96, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_192_f8(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<192, float>(y, map); }

// case fx_wgmma_bytes_256: w32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_256_integers(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<256, int>(y, map); }

// case fx_wgmma_bytes_256: w32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_bytes_256_f8(const unsigned *, unsigned *y, const fx_tensor_map *map) { products_of_bytes<256, float>(y, map); }

// case fx_wgmma_64: b32 -> 64, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_64: p32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_64_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<64, true, 4>(x, y, map); }

// case fx_wgmma_64: b32 -> 64, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_64: B32 -> 64, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_64_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<64, true, 1>(x, y, map); }

// case fx_wgmma_64: h32 -> 64, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_64: q32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_64_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<64, false, 4>(x, y, map); }

// case fx_wgmma_64: h32 -> 64, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_64: H32 -> 64, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_64_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<64, false, 1>(x, y, map); }

// case fx_wgmma_128: b32 -> 128, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_128: p32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_128_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<128, true, 4>(x, y, map); }

// case fx_wgmma_128: b32 -> 128, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_128: B32 -> 128, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_128_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<128, true, 1>(x, y, map); }

// case fx_wgmma_128: h32 -> 128, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_128: q32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_128_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<128, false, 4>(x, y, map); }

// case fx_wgmma_128: h32 -> 128, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_128: H32 -> 128, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_128_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<128, false, 1>(x, y, map); }

// case fx_wgmma_192: b32 -> 192, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_192: p32 -> 192, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_192_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<192, true, 4>(x, y, map); }

// case fx_wgmma_192: b32 -> 192, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_192: B32 -> 192, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_192_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<192, true, 1>(x, y, map); }

// case fx_wgmma_192: h32 -> 192, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_192: q32 -> 192, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_192_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<192, false, 4>(x, y, map); }

// case fx_wgmma_192: h32 -> 192, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_192: H32 -> 192, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_192_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<192, false, 1>(x, y, map); }

// case fx_wgmma_256: b32 -> 256, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_256: p32 -> 256, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_256_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<256, true, 4>(x, y, map); }

// case fx_wgmma_256: b32 -> 256, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_256: B32 -> 256, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_256_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<256, true, 1>(x, y, map); }

// case fx_wgmma_256: h32 -> 256, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_256: q32 -> 256, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_256_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<256, false, 4>(x, y, map); }

// case fx_wgmma_256: h32 -> 256, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_256: H32 -> 256, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_256_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { products<256, false, 1>(x, y, map); }

// case fx_wgmma_64: b32 -> 64, sum of 32, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_64_tf32(const unsigned *x, unsigned *y, const fx_tensor_map *map) { product_tf32<64>(x, y, map); }

// case fx_wgmma_128: b32 -> 128, sum of 32, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_128_tf32(const unsigned *x, unsigned *y, const fx_tensor_map *map) { product_tf32<128>(x, y, map); }

// case fx_wgmma_192: b32 -> 192, sum of 32, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_192_tf32(const unsigned *x, unsigned *y, const fx_tensor_map *map) { product_tf32<192>(x, y, map); }

// case fx_wgmma_256: b32 -> 256, sum of 32, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_256_tf32(const unsigned *x, unsigned *y, const fx_tensor_map *map) { product_tf32<256>(x, y, map); }

template <int N, bool BF16, bool B_MN>
FX_DEVICE void multiply_held(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int adds) {
  if constexpr (N == 64) fx_wgmma_held_64<BF16, B_MN>(d, a, b, adds);
  if constexpr (N == 128) fx_wgmma_held_128<BF16, B_MN>(d, a, b, adds);
  if constexpr (N == 256) fx_wgmma_held_256<BF16, B_MN>(d, a, b, adds);
}

// held_product: as product, with the block's rows in registers; four steps are under way at once, each of words of its own
template <int N, bool BF16, int STEPS, bool B_MN>
FX_DEVICE void held_product(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  const unsigned b = fx_shared(fx_smem()), barrier = b + N / 64 * 8192;
  const int row = blockIdx.x * 64, first = STEPS == 4 ? 0 : blockIdx.x / 4 % 4, adds = blockIdx.x / 8 % 2 == 0;
  const unsigned *tensor = first_word<32>(x);
  if (threadIdx.x == 0) {
    fx_mbarrier_init(barrier, 1);
    fx_mbarrier_publish();
    fx_mbarrier_expect(barrier, N / 64 * 8192);
    for (int j = 0; j < N / 64; ++j) {
      const int at_b[2] = {0, row_of_b(j)};
      fx_tma_load(b + j * 8192, map, barrier, at_b);
    }
  }
  fx_barrier();
  fx_mbarrier_wait(barrier, 0);
  const int m0 = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  unsigned a[STEPS][4];
#pragma unroll
  for (int i = 0; i < STEPS * 4; ++i) a[i / 4][i % 4] = tensor[(row + m0 + i % 2 * 8) * 32 + (first + i / 4) * 8 + i % 4 / 2 * 4 + threadIdx.x % 4];
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = value<BF16>(x, 0, i % 64);
  fx_wgmma_begin();
#pragma unroll
  for (int step = 0; step < STEPS; ++step) multiply_held<N, BF16, B_MN>(d, a[step], descriptor<B_MN>(b, first + step), step > 0 || adds);
  fx_wgmma_commit();
  fx_wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) y[i] = fx_bits(d[i]);
#pragma unroll 1
  for (int i = 0; i < N / 2; ++i) {
    const int m = m0 + i / 2 % 2 * 8, n = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    float sum = adds ? fabsf(value<BF16>(x, 0, i % 64)) : 0.0f;
    for (int k = first * 16; k < (first + STEPS) * 16; ++k)
      sum += fabsf(value<BF16>(tensor, row + m, k) * value<BF16>(tensor, row_of_b(n / 64) + (B_MN ? k : n % 64), B_MN ? n % 64 : k));
    y[N / 2 + i] = fx_bits(sum);
  }
}

// held_products: in block b, B's n is contiguous where b is odd
template <int N, bool BF16, int STEPS>
FX_DEVICE void held_products(const unsigned *x, unsigned *y, const fx_tensor_map *map) {
  if (blockIdx.x % 2) held_product<N, BF16, STEPS, true>(x, y, map);
  else held_product<N, BF16, STEPS, false>(x, y, map);
}

// case fx_wgmma_held_64: b32 -> 64, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_64: p32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_64_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<64, true, 4>(x, y, map); }

// case fx_wgmma_held_64: b32 -> 64, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_64: B32 -> 64, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_64_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<64, true, 1>(x, y, map); }

// case fx_wgmma_held_64: h32 -> 64, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_64: q32 -> 64, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_64_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<64, false, 4>(x, y, map); }

// case fx_wgmma_held_64: h32 -> 64, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_64: H32 -> 64, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_64_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<64, false, 1>(x, y, map); }

// case fx_wgmma_held_128: b32 -> 128, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_128: p32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_128_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<128, true, 4>(x, y, map); }

// case fx_wgmma_held_128: b32 -> 128, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_128: B32 -> 128, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_128_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<128, true, 1>(x, y, map); }

// case fx_wgmma_held_128: h32 -> 128, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_128: q32 -> 128, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_128_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<128, false, 4>(x, y, map); }

// case fx_wgmma_held_128: h32 -> 128, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_128: H32 -> 128, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_128_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<128, false, 1>(x, y, map); }

// case fx_wgmma_held_256: b32 -> 256, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_256: p32 -> 256, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_256_bf16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<256, true, 4>(x, y, map); }

// case fx_wgmma_held_256: b32 -> 256, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_256: B32 -> 256, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_256_bf16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<256, true, 1>(x, y, map); }

// case fx_wgmma_held_256: h32 -> 256, sum of 64, box 64x64 of 64x2048
// case fx_wgmma_held_256: q32 -> 256, exact, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_256_f16(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<256, false, 4>(x, y, map); }

// case fx_wgmma_held_256: h32 -> 256, sum of 16, box 64x64 of 64x2048
// case fx_wgmma_held_256: H32 -> 256, sum of 16, box 64x64 of 64x2048
FX_DEVICE void test_wgmma_held_256_f16_step(const unsigned *x, unsigned *y, const fx_tensor_map *map) { held_products<256, false, 1>(x, y, map); }
