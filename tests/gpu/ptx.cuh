/* Every function of kernels/ptx.cuh called on what a thread reads, for test_ptx.c, which compiles this behind it for the GPU and for the emulator and compares
   what both write. A case opens with `// case FUNCTION, ..: words in -> words out, how they are compared`. x has the thread's words in, y gets its words out; 128
   threads make a block. Words in, a letter each: w any, v 0 or 1, f a float, e one that exp2 takes, dd a double, ll an integer of 64 bits; of matrices, moderate
   numbers b (two bf16) h (two f16) t (tf32) m (f32), with infinities, NaNs and zeros among them B H T M, small integers p q r s.
   grid: few blocks, all alive at once. */

// case fx_smem, fx_shared: w -> 2, exact
FX_DEVICE void test_smem(const unsigned *x, unsigned *y, unsigned long long *) {
  char *s = fx_smem();
  const unsigned at = x[0] % 16384;
  y[0] = fx_shared(s) % 1024;
  y[1] = fx_shared(s + at) - fx_shared(s);
}

// case fx_barrier: w -> 2, exact
FX_DEVICE void test_barrier(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem();
  s[threadIdx.x] = x[0];
  fx_barrier();
  y[0] = s[(threadIdx.x * 5 + 77) % 128];
  fx_barrier();
  s[127 - threadIdx.x] = y[0];
  fx_barrier();
  y[1] = s[(threadIdx.x * 3 + 40) % 128];
}

// case fx_warp_barrier, fx_unwritten: w -> 2, exact
FX_DEVICE void test_warp_barrier(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem(), *mine = s + threadIdx.x / 32 * 32;
  const int lane = threadIdx.x % 32;
  s[threadIdx.x] = x[0];
  fx_warp_barrier();
  y[0] = mine[(lane * 5 + 17) % 32];
  fx_warp_barrier();
  mine[31 - lane] = y[0];
  fx_unwritten(fx_shared(s + threadIdx.x), 4);
  fx_warp_barrier();
  y[1] = mine[(lane * 3 + 40) % 32];
}

// case fx_store_release, fx_load_acquire: ww -> 2, exact, grid
// Each block waits for the one before it and reads what that one has written.
FX_DEVICE void test_release(const unsigned *x, unsigned *y, unsigned long long *flags) {
  const int i = blockIdx.x * 128 + threadIdx.x, block = blockIdx.x;
  y[0] = x[0] ^ x[1];
  fx_barrier();
  if (threadIdx.x == 0) {
    fx_store_release(flags + block, 0x123456789abcdef0ull + block);
    const int before = block > 0 ? block - 1 : gridDim.x - 1;
    while (fx_load_acquire(flags + before) != 0x123456789abcdef0ull + before) continue;
  }
  fx_barrier();
  const int other = block > 0 ? i - 128 : i + ((int)gridDim.x - 1) * 128;
  y[1] = *(y + 2 * (other - i));
}

// case fx_compare_exchange: ww -> 1, exact, grid
// All threads of a block add their words to one flag: none is lost, and a word that is not expected stays.
FX_DEVICE void test_compare_exchange(const unsigned *x, unsigned *y, unsigned long long *flags) {
  const unsigned long long mine = (unsigned long long)x[0] << 32 | x[1], zero = 0;
  unsigned long long *at = flags + blockIdx.x;
  fx_barrier();
  if (threadIdx.x == 0) fx_store_release(at, zero);
  fx_barrier();
  unsigned long long seen = zero;
  for (;;) {
    const unsigned long long found = fx_compare_exchange(at, seen, seen + mine);
    if (found == seen) break;
    seen = found;
  }
  fx_barrier();
  const unsigned long long all = fx_load_acquire(at), kept = fx_compare_exchange(at, all + 1, zero);
  y[0] = (unsigned)(all ^ all >> 32 ^ (kept - all));
}

// case fx_fetch_add, fx_overwrites: ww -> 1, exact, grid
// All threads of a block add their words to one flag; what they found and left, each once, cancels but for the last sum. The result takes the place of another.
FX_DEVICE void test_fetch_add(const unsigned *x, unsigned *y, unsigned long long *flags) {
  const unsigned long long mine = (unsigned long long)x[0] << 32 | x[1], zero = 0;
  unsigned long long *at = flags + blockIdx.x;
  fx_barrier();
  if (threadIdx.x == 0) fx_store_release(at, zero);
  fx_barrier();
  const unsigned long long before = fx_fetch_add(at, mine);
  unsigned long long *shared = (unsigned long long *)fx_smem();
  shared[threadIdx.x] = before ^ before + mine;
  fx_barrier();
  unsigned long long all = fx_load_acquire(at);
  for (int i = 0; i < (int)blockDim.x; ++i) all ^= shared[i];
  const unsigned long long sum = fx_load_acquire(at);
  y[0] = 0;
  fx_overwrites(true);
  y[0] = (unsigned)(all | all >> 32) ^ (unsigned)(sum ^ sum >> 32);
  fx_overwrites(false);
}

// case fx_grid_barrier: w -> 3, exact, grid
FX_DEVICE void test_grid_barrier(const unsigned *x, unsigned *y, unsigned long long *flags) {
  const int i = blockIdx.x * 128 + threadIdx.x, n = gridDim.x * 128;
  y[0] = x[0];
  fx_grid_barrier(flags);
  y[1] = y[3 * ((i + 133) % n - i)];
  fx_grid_barrier(flags);
  y[2] = y[3 * ((i + 517) % n - i) + 1];
}

// case fx_shuffle_xor: w -> 31, exact
FX_DEVICE void test_shuffle_xor(const unsigned *x, unsigned *y, unsigned long long *) {
  for (int mask = 1; mask < 32; ++mask) y[mask - 1] = fx_shuffle_xor(x[0], mask);
}

// case fx_shuffle_up: w -> 31, exact
FX_DEVICE void test_shuffle_up(const unsigned *x, unsigned *y, unsigned long long *) {
  for (int delta = 1; delta < 32; ++delta) y[delta - 1] = fx_shuffle_up(x[0], delta);
}

// case fx_shuffle_from: ww -> 32, exact
FX_DEVICE void test_shuffle_from(const unsigned *x, unsigned *y, unsigned long long *) {
  for (int i = 0; i < 32; ++i) y[i] = fx_shuffle_from(x[0], (int)(x[1] >> i & 31));
}

// case fx_ballot, fx_count_bits: w -> 33, exact
FX_DEVICE void test_ballot(const unsigned *x, unsigned *y, unsigned long long *) {
  for (int bit = 0; bit < 32; ++bit) y[bit] = fx_ballot(x[0] >> bit & 1);
  y[32] = (unsigned)fx_count_bits(x[0]);
}

// case fx_shared_add: w -> 1, exact
FX_DEVICE void test_shared_add(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *shared = (unsigned *)fx_smem();
  shared[threadIdx.x] = threadIdx.x;
  fx_barrier();
  for (int i = 0; i < 4; ++i) fx_shared_add(fx_shared(shared + (threadIdx.x + 5 * i) % 7), x[0]);
  fx_barrier();
  y[0] = shared[threadIdx.x];
}

// case fx_bits, fx_from_bits: wf -> 2, exact
FX_DEVICE void test_bits(const unsigned *x, unsigned *y, unsigned long long *) {
  y[0] = fx_bits(fx_from_bits(x[0]));
  y[1] = fx_bits(fx_from_bits(x[1]));
}

// case fx_f64_from_bits: dd -> 2, exact
FX_DEVICE void test_f64_from_bits(const unsigned *x, unsigned *y, unsigned long long *) {
  const double d = fx_f64_from_bits((unsigned long long)x[1] << 32 | x[0]);
  memcpy(y, &d, 8);
}

// case fx_f64_to_f32_odd: dd -> 1, exact
FX_DEVICE void test_f64_to_f32_odd(const unsigned *x, unsigned *y, unsigned long long *) {
  y[0] = fx_bits(fx_f64_to_f32_odd(fx_f64_from_bits((unsigned long long)x[1] << 32 | x[0])));
}

// case fx_i64_to_f64_odd: ll -> 2, exact
FX_DEVICE void test_i64_to_f64_odd(const unsigned *x, unsigned *y, unsigned long long *) {
  const double d = fx_i64_to_f64_odd((long long)((unsigned long long)x[1] << 32 | x[0]));
  memcpy(y, &d, 8);
}

// case fx_u64_to_f64_odd: ll -> 2, exact
FX_DEVICE void test_u64_to_f64_odd(const unsigned *x, unsigned *y, unsigned long long *) {
  const double d = fx_u64_to_f64_odd((unsigned long long)x[1] << 32 | x[0]);
  memcpy(y, &d, 8);
}

// case fx_funnel: www -> 1, exact
FX_DEVICE void test_funnel(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_funnel(x[0], x[1], x[2] % 32); }

// case fx_and_or: www -> 1, exact
FX_DEVICE void test_and_or(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_and_or(x[0], x[1], x[2]); }

// case fx_fma_f16x2: www -> 1, exact
FX_DEVICE void test_fma_f16x2(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_fma_f16x2(x[0], x[1], x[2]); }

// case fx_fma_bf16x2: www -> 1, exact
FX_DEVICE void test_fma_bf16x2(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_fma_bf16x2(x[0], x[1], x[2]); }

// case fx_permute: www -> 1, exact
FX_DEVICE void test_permute(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_permute(x[0], x[1], x[2]); }

// case fx_pack_bytes: wwww -> 1, exact
FX_DEVICE void test_pack_bytes(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_pack_bytes((int)x[0], (int)x[1], (int)x[2], (int)x[3]); }

// case fx_hide: ww -> 2, exact
FX_DEVICE void test_hide(const unsigned *x, unsigned *y, unsigned long long *) {
  int i = (int)x[0];
  const unsigned *p = x + 1;
  fx_hide(i);
  fx_hide(p);
  y[0] = (unsigned)i, y[1] = *p;
}

// case fx_max: ff -> 1, exact
FX_DEVICE void test_max(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_bits(fx_max(fx_from_bits(x[0]), fx_from_bits(x[1]))); }

// case fx_min: ff -> 1, exact
FX_DEVICE void test_min(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_bits(fx_min(fx_from_bits(x[0]), fx_from_bits(x[1]))); }

// case fx_exp2_approx: e -> 1, exp2
FX_DEVICE void test_exp2_approx(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_bits(fx_exp2_approx(fx_from_bits(x[0]))); }

// case fx_rcp_approx: f -> 1, rcp
FX_DEVICE void test_rcp_approx(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_bits(fx_rcp_approx(fx_from_bits(x[0]))); }

// case fx_f16_to_f32: w -> 2, exact
// All of them: the threads are half as many.
FX_DEVICE void test_f16_to_f32(const unsigned *, unsigned *y, unsigned long long *) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  y[0] = fx_bits(fx_f16_to_f32((unsigned short)i));
  y[1] = fx_bits(fx_f16_to_f32((unsigned short)(i + 32768)));
}

// case fx_f32_to_f16: f -> 1, exact
FX_DEVICE void test_f32_to_f16(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_f32_to_f16(fx_from_bits(x[0])); }

// case fx_f32_to_bf16: f -> 1, exact
FX_DEVICE void test_f32_to_bf16(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_f32_to_bf16(fx_from_bits(x[0])); }

// case fx_pack_f16: ff -> 1, exact
FX_DEVICE void test_pack_f16(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_pack_f16(fx_from_bits(x[0]), fx_from_bits(x[1])); }

// case fx_pack_bf16: ff -> 1, exact
FX_DEVICE void test_pack_bf16(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_pack_bf16(fx_from_bits(x[0]), fx_from_bits(x[1])); }

// case fx_f32_to_e4m3: f -> 1, exact
FX_DEVICE void test_f32_to_e4m3(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_f32_to_e4m3(fx_from_bits(x[0])); }

// case fx_f32_to_e5m2: f -> 1, exact
FX_DEVICE void test_f32_to_e5m2(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_f32_to_e5m2(fx_from_bits(x[0])); }

// case fx_cvt_tf32: f -> 1, exact
FX_DEVICE void test_cvt_tf32(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_cvt_tf32(x[0]); }

// case fx_round_tf32: f -> 1, exact
FX_DEVICE void test_round_tf32(const unsigned *x, unsigned *y, unsigned long long *) { y[0] = fx_round_tf32(x[0]); }

// case fx_load_words, fx_store_words: wwwwwwwwwwwwwwww -> 32, exact
FX_DEVICE void test_words(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned a[1], b[2], c[4], d[8];
  fx_load_words(a, x + 1), fx_load_words(b, x + 2), fx_load_words(c, x + 4), fx_load_words(d, x + 8);
  for (int i = 0; i < 16; ++i) y[i] = 0;
  fx_store_words(y + 1, a), fx_store_words(y + 2, b), fx_store_words(y + 4, c), fx_store_words(y + 8, d);
  for (int i = 16; i < 32; ++i) y[i] = x[i - 16] + 1;
}

// case fx_load_u8_if, fx_load_u16_if, fx_load_u32_if: wwvv -> 4, exact
FX_DEVICE void test_load_if(const unsigned *x, unsigned *y, unsigned long long *) {
  const char *p = (const char *)x;
  y[0] = fx_load_u8_if(x[2] ? p + x[0] % 8 : nullptr, x[2]);
  y[1] = fx_load_u16_if(x[3] ? p + x[0] % 4 * 2 : nullptr, x[3]);
  y[2] = fx_load_u32_if(x[2] ? p + x[0] % 2 * 4 : nullptr, x[2]);
  y[3] = fx_load_u8_if(p + x[1] % 8, true) << 16 | fx_load_u16_if(p + x[1] % 4 * 2, true);
}

// case fx_load_once: wwwwwwwwwwwwwwww -> 12, exact
FX_DEVICE void test_load_once(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned c[4], d[8];
  fx_load_once(c, x + 4), fx_load_once(d, x + 8);
  for (int i = 0; i < 12; ++i) y[i] = i < 4 ? c[i] : d[i - 4];
}

// case fx_load_24_if: wwwwwwv -> 6, exact
// Threads with an even number: the others' words are not aligned to 8.
FX_DEVICE void test_load_24_if(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned w[6];
  const bool valid = x[6] && threadIdx.x % 2 == 0;
  fx_load_24_if(w, valid ? x : nullptr, valid);
  for (int i = 0; i < 6; ++i) y[i] = w[i];
}

// case fx_shared_put_byte: www -> 3, exact
FX_DEVICE void test_shared_put_byte(const unsigned *x, unsigned *y, unsigned long long *) {
  char *s = fx_smem();
  unsigned *words = (unsigned *)s;
  for (int i = 0; i < 3; ++i) words[threadIdx.x * 3 + i] = 0;
  fx_barrier();
  for (int i = 0; i < 12; ++i)
    if (x[0] >> i & 1) fx_shared_put_byte(fx_shared(s + (threadIdx.x * 5 + i * 128) % 1536), (int)(x[1 + i % 2] >> i));
  fx_barrier();
  for (int i = 0; i < 3; ++i) y[i] = words[threadIdx.x * 3 + i];
}

// case fx_shared_put1, fx_shared_put2, fx_shared_put4: wwwwfffwwwfffwww -> 16, exact
FX_DEVICE void test_shared_put(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem() + threadIdx.x * 16;
  const unsigned at = fx_shared(s), w[4] = {x[0], x[1], x[2], x[3]};
  fx_shared_put4(at, w);
  fx_shared_put4(at + 16, fx_from_bits(x[4]), fx_from_bits(x[5]), fx_from_bits(x[6]), fx_from_bits(x[7]));
  fx_shared_put2(at + 32, (int)x[8], (int)x[9]);
  fx_shared_put2(at + 40, fx_from_bits(x[10]), fx_from_bits(x[11]));
  for (int i = 12; i < 16; ++i) fx_shared_put1(at + i * 4, x[i]);
  fx_barrier();
  const unsigned *other = (const unsigned *)fx_smem() + (threadIdx.x * 7 + 3) % 128 * 16;
  for (int i = 0; i < 16; ++i) y[i] = other[i];
}

// case fx_shared_put, fx_shared_get: wwwwwwwwwwwwwwww -> 32, exact
FX_DEVICE void test_shared_get(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem() + threadIdx.x * 16;
  const unsigned at = fx_shared(s), other = fx_shared(fx_smem()) + (threadIdx.x * 9 + 50) % 128 * 64;
  double d[2];
  float f[8];
  int i[8];
  long long l[4];
  memcpy(d, x + 8, 16);
  fx_shared_put<1>(at, x), fx_shared_put<1>(at + 4, x + 1), fx_shared_put<2>(at + 8, (const float *)x + 2), fx_shared_put<4>(at + 16, (const int *)x + 4);
  fx_shared_put<2>(at + 32, d), fx_shared_put<1>(at + 48, (const long long *)(x + 12)), fx_shared_put<1>(at + 56, (const double *)(x + 14));
  fx_barrier();
  fx_shared_get<8>(f, other), fx_shared_get<4>(l, other + 32);
  memcpy(y, f, 32), memcpy(y + 8, l, 32);
  fx_shared_get<1>(i, other + 4), fx_shared_get<2>(i + 1, other + 8), fx_shared_get<4>(i + 3, other + 48), fx_shared_get<1>(i + 7, other + 60);
  fx_shared_get<1>(d, other + 40), fx_shared_get<1>(d + 1, other + 24);
  memcpy(y + 16, i, 32), memcpy(y + 24, d, 16);
  for (int k = 28; k < 32; ++k) y[k] = 0;
}

// case fx_cp_async16, fx_cp_async8, fx_cp_async4, fx_cp_async_commit, fx_cp_async_wait: wwwwwwwwwwwwvvvw -> 24, exact
// Three groups, of which as many may be under way as the wait before a read says.
FX_DEVICE void test_cp_async(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem() + threadIdx.x * 16;
  const unsigned at = fx_shared(s);
  for (int i = 0; i < 16; ++i) s[i] = x[15];
  fx_cp_async16(at, x[12] ? x : nullptr, x[12]);
  fx_cp_async16(at + 16, x + 4, true);
  fx_cp_async_commit();
  fx_cp_async8(at + 32, x[13] ? x + 8 : nullptr, x[13]);
  fx_cp_async4(at + 40, x + 9, true);
  fx_cp_async_commit();
  fx_cp_async4(at + 44, x[14] ? x + 11 : nullptr, x[14]);
  fx_cp_async8(at + 48, x + 6, true);
  fx_cp_async_commit();
  fx_cp_async_wait<2>();
  for (int i = 0; i < 8; ++i) y[i] = s[i];
  fx_cp_async_wait<1>();
  for (int i = 8; i < 11; ++i) y[i] = s[i];
  fx_cp_async_wait<0>();
  for (int i = 11; i < 16; ++i) y[i] = s[i];
  fx_barrier();
  const unsigned *other = (const unsigned *)fx_smem() + (threadIdx.x * 11 + 9) % 128 * 16;
  for (int i = 0; i < 8; ++i) y[16 + i] = other[2 * i] ^ other[2 * i + 1] << 1;
}

// case fx_ldmatrix: wwwww -> 4, exact
FX_DEVICE void test_ldmatrix(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem() + threadIdx.x / 32 * 128, r[4];
  for (int i = 0; i < 4; ++i) s[threadIdx.x % 32 * 4 + i] = x[i];
  fx_barrier();
  fx_ldmatrix(r, fx_shared(s) + x[4] % 32 * 16);
  for (int i = 0; i < 4; ++i) y[i] = r[i];
}

// case fx_ldmatrix_trans: wwwww -> 4, exact
FX_DEVICE void test_ldmatrix_trans(const unsigned *x, unsigned *y, unsigned long long *) {
  unsigned *s = (unsigned *)fx_smem() + threadIdx.x / 32 * 128, r[4];
  for (int i = 0; i < 4; ++i) s[threadIdx.x % 32 * 4 + i] = x[i];
  fx_barrier();
  fx_ldmatrix_trans(r, fx_shared(s) + x[4] % 32 * 16);
  for (int i = 0; i < 4; ++i) y[i] = r[i];
}

// test_matrix: the product by `multiply` and, of floats, that of the magnitudes, the sum of which bounds its error; SIGNS are the signs within a word
#define TEST_MATRIX(multiply, SIGNS)                                                                                       \
  float d[4], e[4];                                                                                                        \
  unsigned a[4], b[4];                                                                                                     \
  for (int i = 0; i < 4; ++i) a[i] = x[i], b[i] = x[i] & ~SIGNS, d[i] = fx_from_bits(x[6 + i]), e[i] = fabsf(d[i]);        \
  multiply(d, a, x[4], x[5]);                                                                                              \
  multiply(e, b, x[4] & ~SIGNS, x[5] & ~SIGNS);                                                                            \
  for (int i = 0; i < 4; ++i) y[i] = fx_bits(d[i]), y[4 + i] = fx_bits(e[i])
#define TEST_INTEGERS(multiply)                                             \
  int d[4] = {(int)x[6], (int)x[7], (int)x[8], (int)x[9]};                  \
  const unsigned a[4] = {x[0], x[1], x[2], x[3]};                           \
  multiply(d, a, x[4], x[5]);                                               \
  for (int i = 0; i < 4; ++i) y[i] = (unsigned)d[i]

// case fx_mma_bf16: bbbbbbmmmm -> 8, sum of 16
FX_DEVICE void test_mma_bf16(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_bf16, 0x80008000u); }

// case fx_mma_bf16: BBBBBBMMMM -> 8, sum of 16
FX_DEVICE void test_mma_bf16_special(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_bf16, 0x80008000u); }

// case fx_mma_bf16: ppppppssss -> 8, exact
FX_DEVICE void test_mma_bf16_integers(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_bf16, 0x80008000u); }

// case fx_mma_f16: hhhhhhmmmm -> 8, sum of 16
FX_DEVICE void test_mma_f16(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_f16, 0x80008000u); }

// case fx_mma_f16: HHHHHHMMMM -> 8, sum of 16
FX_DEVICE void test_mma_f16_special(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_f16, 0x80008000u); }

// case fx_mma_f16: qqqqqqssss -> 8, exact
FX_DEVICE void test_mma_f16_integers(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_f16, 0x80008000u); }

// case fx_mma_tf32: ttttttmmmm -> 8, sum of 8
FX_DEVICE void test_mma_tf32(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_tf32, 0x80000000u); }

// case fx_mma_tf32: TTTTTTMMMM -> 8, sum of 8
FX_DEVICE void test_mma_tf32_special(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_tf32, 0x80000000u); }

// case fx_mma_tf32: rrrrrrssss -> 8, exact
FX_DEVICE void test_mma_tf32_integers(const unsigned *x, unsigned *y, unsigned long long *) { TEST_MATRIX(fx_mma_tf32, 0x80000000u); }

// case fx_mma_i8_i8: wwwwwwwwww -> 4, exact
FX_DEVICE void test_mma_i8_i8(const unsigned *x, unsigned *y, unsigned long long *) { TEST_INTEGERS(fx_mma_i8_i8); }

// case fx_mma_i8_u8: wwwwwwwwww -> 4, exact
FX_DEVICE void test_mma_i8_u8(const unsigned *x, unsigned *y, unsigned long long *) { TEST_INTEGERS(fx_mma_i8_u8); }

// case fx_mma_u8_i8: wwwwwwwwww -> 4, exact
FX_DEVICE void test_mma_u8_i8(const unsigned *x, unsigned *y, unsigned long long *) { TEST_INTEGERS(fx_mma_u8_i8); }

// case fx_mma_u8_u8: wwwwwwwwww -> 4, exact
FX_DEVICE void test_mma_u8_u8(const unsigned *x, unsigned *y, unsigned long long *) { TEST_INTEGERS(fx_mma_u8_u8); }


// test_f8: numbers 1, 1.5, -1 and -1.5, whose sums are exact on any hardware; A and B: those of f8e4m3 or of f8e5m2
#define NUMBERS_e4m3(word) (((word) & 0x84848484u) | 0x38383838u)
#define NUMBERS_e5m2(word) (((word) & 0x82828282u) | 0x3c3c3c3cu)
#define TEST_F8(multiply, A, B)                                                                         \
  float d[4] = {fx_from_bits(x[6]), fx_from_bits(x[7]), fx_from_bits(x[8]), fx_from_bits(x[9])};        \
  const unsigned a[4] = {NUMBERS_##A(x[0]), NUMBERS_##A(x[1]), NUMBERS_##A(x[2]), NUMBERS_##A(x[3])};   \
  multiply(d, a, NUMBERS_##B(x[4]), NUMBERS_##B(x[5]));                                                 \
  for (int i = 0; i < 4; ++i) y[i] = fx_bits(d[i])

// case fx_mma_e4m3_e4m3: wwwwwwssss -> 4, exact
FX_DEVICE void test_mma_e4m3_e4m3(const unsigned *x, unsigned *y, unsigned long long *) { TEST_F8(fx_mma_e4m3_e4m3, e4m3, e4m3); }

// case fx_mma_e5m2_e4m3: wwwwwwssss -> 4, exact
FX_DEVICE void test_mma_e5m2_e4m3(const unsigned *x, unsigned *y, unsigned long long *) { TEST_F8(fx_mma_e5m2_e4m3, e5m2, e4m3); }

// case fx_mma_e4m3_e5m2: wwwwwwssss -> 4, exact
FX_DEVICE void test_mma_e4m3_e5m2(const unsigned *x, unsigned *y, unsigned long long *) { TEST_F8(fx_mma_e4m3_e5m2, e4m3, e5m2); }

// case fx_mma_e5m2_e5m2: wwwwwwssss -> 4, exact
FX_DEVICE void test_mma_e5m2_e5m2(const unsigned *x, unsigned *y, unsigned long long *) { TEST_F8(fx_mma_e5m2_e5m2, e5m2, e5m2); }