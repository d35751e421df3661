/* The emulator by itself: kernels written here over the functions of ptx.cuh, through the table that stands for the
 * driver. What is right comes out right: fragments against products computed here, conversions against dtype.c. What is
 * wrong is said to be, with the thread whose fault it is. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dtype.h"
#include "fx_runtime.h"
#include "lib/runtime.h"
#include "emu/emu.h"
#include "emu/observer.h"
#include "emulated.h"
#include "suite.h"

enum { N = 1024 };

/* One kernel `k(const float *x, float *y, n)` of one block of 64 threads with 1024 bytes of shared memory, on the
 * numbers from 0. */
static bool run(const char *body, float *y) {
    char source[4096];
    float numbers[64];
    long long n = 64;
    for (int i = 0; i < 64; i++) numbers[i] = (float)i;
    snprintf(source, sizeof source,
        ENTRY
        "k(const float *x_, float *y_, long long n_) {\n  const int t = threadIdx.x;\n  float *s = (float *)fx_smem();\n%s\n}\n",
        body);
    void *module = compile(source, "k"), *x = take(sizeof numbers, numbers), *out = take(sizeof numbers, numbers);
    bool is_fine = launch(1, 64, 1024, false, (void *[]){&x, &out, &n});
    if (y) memcpy(y, out, sizeof numbers);
    cuda_driver.cuMemFree((uintptr_t)x), cuda_driver.cuMemFree((uintptr_t)out), cuda_driver.cuModuleUnload(module);
    return is_fine;
}

static void fails(const char *body, const char *because) {
    ck_assert_msg(!run(body, NULL), "it was not found that %s: %s", because, body);
    ck_assert_msg(strstr(words, because) != NULL, "'%s' is not in: %s", because, words);
}

/* ---- threads ---- */

START_TEST(test_threads) {
    float y[64];
    ck_assert_msg(run("  s[t] = x_[t];\n  fx_barrier();\n  y_[t] = 2 * s[63 - t];", y), "%s", words);
    for (int i = 0; i < 64; i++) ck_assert(y[i] == 2.0f * (float)(63 - i));
    ck_assert_msg(
        run("  y_[t] = fx_from_bits(fx_shuffle_xor(fx_bits(x_[t]), 5)) + 100 * fx_from_bits(fx_shuffle_up(fx_bits(x_[t]), 3));",
            y),
        "%s", words);
    for (int i = 0; i < 64; i++) ck_assert(y[i] == (float)((i ^ 5) + 100 * (i % 32 < 3 ? i : i - 3)));
    ck_assert_msg(run("  y_[t] = fx_from_bits(fx_shuffle_from(fx_bits(x_[t]), (t * 7 + 3) % 32));", y), "%s", words);
    for (int i = 0; i < 64; i++) ck_assert(y[i] == (float)(i / 32 * 32 + (i * 7 + 3) % 32));
    ck_assert_msg(
        run("  fx_cp_async4(fx_shared(s + t), x_ + t, t % 2);\n  fx_cp_async_commit();\n  fx_cp_async_wait<0>();\n  fx_barrier();\n  y_[t] = s[t ^ 1];",
            y),
        "%s", words);
    for (int i = 0; i < 64; i++) ck_assert(y[i] == (float)((i ^ 1) % 2 ? i ^ 1 : 0));
}
END_TEST

/* A block's last warp may have fewer lanes. */
START_TEST(test_part_of_a_warp) {
    static const char source[] = ENTRY
        "k(float *y_) {\n  y_[threadIdx.x] = fx_from_bits(fx_shuffle_xor(fx_bits((float)threadIdx.x), 3));\n}\n";
    void *module = compile(source, "k"), *y = take(40 * sizeof(float), NULL);
    ck_assert_msg(launch(1, 40, 0, false, (void *[]){&y}), "%s", words);
    for (int i = 0; i < 40; i++) ck_assert(((float *)y)[i] == (float)(i ^ 3));
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* Code on a CPU takes any number of threads, and nothing that a GPU has little of. */
START_TEST(test_attributes) {
    static const struct {
        int attribute, value;
    } of[] = {{FUNCTION_ATTRIBUTE_MAX_THREADS, 1024}, {FUNCTION_ATTRIBUTE_REGISTERS, 0}, {FUNCTION_ATTRIBUTE_LOCAL, 0},
        {FUNCTION_ATTRIBUTE_STATIC_SHARED, 0}};
    void *module = compile(ENTRY "k(float *y_) {\n  y_[0] = 1;\n}\n", "k");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int value = -1;
        ck_assert_int_eq(cuda_driver.cuFuncGetAttribute(&value, of[i].attribute, function), 0);
        ck_assert_int_eq(value, of[i].value);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

START_TEST(test_order) {
    fails("  s[t] = x_[t];\n  y_[t] = s[63 - t];", "leaves something else");
    /* the second value overwrites what another warp may not have read yet */
    fails(
        "  s[t] = x_[t];\n  fx_barrier();\n  const float r = s[63 - t];\n  s[t] = r + 1;\n  fx_barrier();\n  y_[t] = s[t];",
        "leaves something else");
    fails("  y_[0] = x_[t];", "leaves something else");
}
END_TEST

START_TEST(test_copies) {
    fails("  fx_cp_async4(fx_shared(s + t), x_ + t, true);\n  fx_cp_async_commit();\n  fx_barrier();\n  y_[t] = s[t];",
        "copies land when waited for");
    fails(
        "  fx_cp_async4(fx_shared(s + t), x_ + t, true);\n  fx_cp_async_commit();\n  fx_cp_async_wait<1>();\n  y_[t] = s[t];",
        "copies land when waited for");
    fails("  fx_cp_async4(fx_shared(s + t), x_ + t, true);\n  fx_cp_async_wait<0>();\n  y_[t] = s[t];",
        "copies land when waited for");
    fails("  fx_cp_async4(fx_shared(s + t), x_ + t + 1, true);", "block 0, thread 63");
    fails("  fx_cp_async16(fx_shared(s + 4 * (t % 16)), x_ + 2, true);", "not aligned");
}
END_TEST

START_TEST(test_deadlock) {
    fails("  if (t < 40) fx_barrier();\n  y_[t] = x_[t];",
        "deadlock: in block 0 40 threads wait at its barrier, 0 at the grid's, 24 have returned");
    fails("  if (t != 7) y_[t] = fx_from_bits(fx_shuffle_xor(fx_bits(x_[t]), 1));",
        "of warp 0 lanes 0xffffff7f wait at shuffle_xor");
    fails("  unsigned w = 1;\n  if (t % 2) w = fx_shuffle_xor(w, 1); else w = fx_shuffle_up(w, 1);\n  y_[t] = w;",
        "is at shuffle");
    fails("  fx_grid_barrier((unsigned long long *)x_ + 1000);", "outside of what it was given");
}
END_TEST

/* ---- memory ---- */

START_TEST(test_outside) {
    fails("  y_[t] = x_[t + (t == 9) * 55];",
        "block 0, thread 9, line 5 reads outside of what it was given: 256 bytes from the start of x_, which has 256");
    fails("  y_[t + 1] = x_[t];",
        "thread 63, line 5 writes outside of what it was given: 256 bytes from the start of y_");
    fails("  y_[t - 1] = x_[t];", "writes outside of what it was given: 4 bytes before y_");
    fails("  y_[t] = x_[t - 100000];", "400000 bytes before x_");
    fails("  y_[t] = s[t + 256];", "reads outside of what it was given");
    fails("  unsigned w[4];\n  fx_load_words(w, x_ + t);\n  y_[t] = fx_from_bits(w[0]);",
        "reads 16 bytes at an address that is not aligned to them: byte 4 of the 256 of x_");
    fails("  fx_shared_put1(fx_shared(s + t + 200), 1.0f);",
        "thread 56, line 5 writes 4 bytes at 1024 of the block's 1024 bytes");
    fails("  y_[t] = (float)(100 / ((int)n_ - 64));", "divides an integer by zero");
    ck_assert_msg(run("  y_[t] = x_[t];", NULL), "%s", words); /* nothing is lost by what went wrong */
}
END_TEST

START_TEST(test_poison) {
    float y[64];
    ck_assert(run("  y_[t] = s[t];", y));
    for (int i = 0; i < 64; i++) ck_assert(isnan(y[i]));
}
END_TEST

/* What holds a launch's shadows is no more there once it is given back. */
START_TEST(test_given_back) {
    unsigned char is_resident[4];
    size_t n_bytes = 4 * 4096;
    char *p = memory_zeros(n_bytes);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < n_bytes; i++) ck_assert_int_eq(p[i], 0);
    ck_assert_int_eq(mincore(p, n_bytes, is_resident), 0);
    memory_zeros_give(p, n_bytes);
    ck_assert_int_ne(mincore(p, n_bytes, is_resident), 0);
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(test_grid) {
    static const char source[] = ENTRY
        "k(float *y_, unsigned long long *flags_) {\n  y_[blockIdx.x] = blockIdx.x + 1;\n  fx_grid_barrier(flags_);\n  float sum = 0;\n"
        "  for (int i = 0; i < gridDim.x; ++i) sum += y_[i];\n  fx_grid_barrier(flags_);\n  y_[blockIdx.x] = sum;\n}\n";
    void *module = compile(source, "k"), *y = take(5 * sizeof(float), NULL), *flags = take(5 * 8, NULL);
    ck_assert_msg(launch(5, 96, 0, true, (void *[]){&y, &flags}), "%s", words);
    for (int i = 0; i < 5; i++) ck_assert(((float *)y)[i] == 15);
    ck_assert(!launch(5, 96, 0, false, (void *[]){&y, &flags}));
    ck_assert_msg(strstr(words, "not cooperative") != NULL, "%s", words);
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* ---- matrices ---- */

static const struct { /* mma.sync by its name, k, bits of an element, which operands are signed,
                       * how a number is stored */
    const char *name;
    int k, bits;
    bool a_signed, b_signed, is_float;
    enum fx_dtype dtype;
} shapes[] = {{"fx_mma_f16", 16, 16, true, true, true, FX_F16}, {"fx_mma_bf16", 16, 16, true, true, true, FX_BF16},
    {"fx_mma_tf32", 8, 32, true, true, true, FX_F32}, {"fx_mma_i8_i8", 32, 8, true, true, false, FX_I8},
    {"fx_mma_i8_u8", 32, 8, true, false, false, FX_I8}, {"fx_mma_u8_i8", 32, 8, false, true, false, FX_I8},
    {"fx_mma_u8_u8", 32, 8, false, false, false, FX_I8}};

/* Both operands with k contiguous, through ldmatrix, whose fragments are those that mma.sync wants whatever is within a
 * row of 16 bytes. */
static void put(unsigned char *to, int i, int bits, enum fx_dtype t, int value) {
    if (bits == 8) to[i] = (unsigned char)value;
    else fx_store_double(t, to, (size_t)i, value);
}

START_TEST(test_mma) {
    int k = shapes[_i].k, bits = shapes[_i].bits, row_bytes = k * bits / 8, a[16][32], b[8][32];
    unsigned char stored_a[16 * 32], stored_b[8 * 32];
    char source[2048];
    for (int i = 0; i < 16 * k; i++)
        put(stored_a, i, bits, shapes[_i].dtype, a[i / k][i % k] = shapes[_i].a_signed ? i * 7 % 23 - 11 : i * 7 % 251);
    for (int i = 0; i < 8 * k; i++)
        put(stored_b, i, bits, shapes[_i].dtype, b[i / k][i % k] = shapes[_i].b_signed ? i * 5 % 19 - 9 : i * 5 % 239);
    snprintf(source, sizeof source,
        ENTRY
        "k(const unsigned *a_, const unsigned *b_, %s *d_) {\n  unsigned *s = (unsigned *)fx_smem(), a[4], b[4];\n  const int t = threadIdx.x;\n"
        "  for (int i = t; i < 4 * %d; i += 32) s[i] = a_[i];\n  for (int i = t; i < 2 * %d; i += 32) s[256 + i] = b_[i];\n  fx_barrier();\n"
        "  fx_ldmatrix(a, fx_shared(s) + t %% 16 * %d + t / 16 * 16);\n  fx_ldmatrix(b, fx_shared(s) + 1024 + t %% 8 * %d + t / 8 %% 2 * 16);\n"
        "  %s d[4] = {1, 2, 3, 4};\n  %s(d, a, b[0], b[1]);\n  for (int i = 0; i < 4; ++i) d_[(t / 4 + i / 2 * 8) * 8 + t %% 4 * 2 + i %% 2] = d[i] - i;\n}\n",
        shapes[_i].is_float ? "float" : "int", row_bytes, row_bytes, row_bytes, row_bytes,
        shapes[_i].is_float ? "float" : "int", shapes[_i].name);
    void *module = compile(source, "k"), *at = take((size_t)(16 * row_bytes), stored_a),
         *bt = take((size_t)(8 * row_bytes), stored_b), *d = take(16 * 8 * 4, NULL);
    ck_assert_msg(launch(1, 32, 2048, false, (void *[]){&at, &bt, &d}), "%s", words);
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            int want = 1;
            for (int i = 0; i < k; i++) want += a[m][i] * b[n][i];
            ck_assert_int_eq(shapes[_i].is_float ? (int)((float *)d)[m * 8 + n] : ((int *)d)[m * 8 + n], want);
        }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

START_TEST(test_ldmatrix_trans) {
    static const char source[] = ENTRY
        "k(const unsigned short *x_, unsigned *y_) {\n  unsigned short *s = (unsigned short *)fx_smem();\n  unsigned r[4];\n  const int t = threadIdx.x;\n"
        "  for (int i = t; i < 256; i += 32) s[i] = x_[i];\n  fx_barrier();\n  fx_ldmatrix_trans(r, fx_shared(s) + t * 16);\n"
        "  for (int i = 0; i < 4; ++i) y_[t * 4 + i] = r[i];\n}\n";
    unsigned short x[256];
    for (int i = 0; i < 256; i++) x[i] = (unsigned short)(i * 3);
    void *module = compile(source, "k"), *at = take(sizeof x, x), *y = take(512, NULL);
    ck_assert_msg(launch(1, 32, 512, false, (void *[]){&at, &y}), "%s", words);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < 4;
             i++) /* of matrix i element (t / 4, 2 (t % 4)) of the transposed one, and its neighbour */
            ck_assert_uint_eq(((unsigned *)y)[t * 4 + i],
                x[64 * i + 8 * (t % 4 * 2) + t / 4] | (unsigned)x[64 * i + 8 * (t % 4 * 2 + 1) + t / 4] << 16);
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* ---- numbers ---- */

static const char numbers_source[] = ENTRY
    "k(const float *x_, unsigned short *half_, unsigned short *bf_, float *back_, unsigned *pack_) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  half_[i] = fx_f32_to_f16(x_[i]);\n  bf_[i] = fx_f32_to_bf16(x_[i]);\n  back_[i] = fx_f16_to_f32(i);\n  pack_[i] = fx_pack_f16(x_[i], -x_[i]) ^ fx_pack_bf16(-x_[i], x_[i]);\n}\n";

START_TEST(test_numbers) {
    enum { MANY = 65536 };
    float *x = malloc(MANY * sizeof *x);
    unsigned bits = 1;
    for (int i = 0; i < MANY; i++) {
        bits = bits * 1664525u + 1013904223u;
        unsigned b = i % 3 ? bits : (bits & 0x8fffffffu) | 0x30000000u; /* most of a half's exponents among them */
        memcpy(&x[i], &b, sizeof b);
    }
    void *module = compile(numbers_source, "k"), *at = take(MANY * 4, x), *half = take(MANY * 2, NULL),
         *bf = take(MANY * 2, NULL), *back = take(MANY * 4, NULL), *pack = take(MANY * 4, NULL);
    ck_assert_msg(launch(MANY / 256, 256, 0, false, (void *[]){&at, &half, &bf, &back, &pack}), "%s", words);
    for (int i = 0; i < MANY; i++) {
        unsigned short want_half, want_bf, h = (unsigned short)i, self = ((unsigned short *)half)[i],
                                           bself = ((unsigned short *)bf)[i];
        double value = fx_load_double(FX_F16, &h, 0);
        float got = ((float *)back)[i];
        fx_store_double(FX_F16, &want_half, 0, x[i]), fx_store_double(FX_BF16, &want_bf, 0, x[i]);
        ck_assert_msg(isnan(value) ? isnan(got) : (double)got == value, "f16 %#x is %g", h, got);
        ck_assert_msg(
            isnan(x[i]) ? self == 0x7fff : self == want_half, "%a to f16 is %#x, not %#x", x[i], self, want_half);
        ck_assert_msg(
            isnan(x[i]) ? bself == 0x7fff : bself == want_bf, "%a to bf16 is %#x, not %#x", x[i], bself, want_bf);
        if (!isnan(x[i]))
            ck_assert_uint_eq(((unsigned *)pack)[i],
                (self | (unsigned)(self ^ 0x8000) << 16) ^ ((bself ^ 0x8000u) | (unsigned)bself << 16));
    }
    cuda_driver.cuModuleUnload(module);
    free(x);
}
END_TEST

/* ---- every access ---- */

/* What is wrong however the threads run, beside what is right and looks like it. */
static const struct {
    const char *wrong, *because, *right;
} watched[] = {
    /* no barrier between a write and a read; between a read and a write; between two writes. Values that hide it, so
       that only the access shows */
    {"  s[t] = 0;\n  fx_barrier();\n  s[t] = 0;\n  y_[t] = s[63 - t] * 0;",
        "thread 32, line 7 writes 4 bytes at byte 128 of the block's 1024 of shared memory, which thread 31 reads at line 8, and nothing orders the two",
        "  s[t] = 0;\n  fx_barrier();\n  y_[t] = s[63 - t] * 0;"},
    {"  s[t] = 0;\n  y_[t] = s[t & 31];",
        "thread 32, line 6 reads 4 bytes at byte 0 of the block's 1024 of shared memory, which thread 0 writes at line 5, and nothing orders the two",
        "  s[t] = 0;\n  y_[t] = s[t];"},
    {"  s[t] = 0;\n  fx_barrier();\n  const float r = s[63 - t];\n  s[t] = r;\n  y_[t] = r;",
        "thread 32, line 7 reads 4 bytes at byte 124 of the block's 1024 of shared memory, which thread 31 writes at line 8",
        "  s[t] = 0;\n  fx_barrier();\n  const float r = s[63 - t];\n  fx_barrier();\n  s[t] = r;\n  y_[t] = r;"},
    {"  s[t / 2] = 1;\n  y_[t] = 0;",
        "line 5 writes 4 bytes at byte 0 of the block's 1024 of shared memory, which thread 0 writes at line 5",
        "  ((short *)s)[t] = 1;\n  y_[t] = 0;"},
    /* a write that is behind two readers of which one is its own warp's */
    {"  if (t < 1) s[0] = 1;\n  fx_barrier();\n  y_[t] = s[0];\n  fx_warp_barrier();\n  if (t == 35) s[0] = 1;",
        "thread 35, line 9 writes 4 bytes at byte 0 of the block's 1024 of shared memory, which thread 0 reads at line 7",
        "  if (t < 1) s[0] = 1;\n  fx_barrier();\n  y_[t] = t < 32 ? 0 : s[0];\n  fx_warp_barrier();\n  if (t == 35) s[0] = 1;"},
    /* a warp's barrier orders its lanes, no others; shuffles order nobody */
    {"  s[t] = 1;\n  fx_shuffle_xor(0, 1);\n  y_[t] = s[t ^ 1];", "nothing orders the two",
        "  s[t] = 1;\n  fx_warp_barrier();\n  y_[t] = s[t ^ 1];"},
    {"  s[t] = 1;\n  fx_warp_barrier();\n  y_[t] = s[t & 31];", "thread 63, line 7 reads 4 bytes at byte 124",
        "  s[t] = 1;\n  fx_barrier();\n  y_[t] = s[t ^ 32];"},
    /* bytes of one word */
    {"  char *c = fx_smem();\n  c[t] = 1;\n  fx_barrier();\n  if (t % 4 == 1) c[t] = 2;\n  y_[t] = c[t / 4 * 4 + 1];",
        "thread 1, line 8 writes 1 bytes at byte 1 of the block's 1024 of shared memory, which thread 0 reads at line 9",
        "  char *c = fx_smem();\n  c[t] = 1;\n  fx_barrier();\n  if (t % 4 == 1) c[t] = 2;\n  y_[t] = t % 4 == 1 ? 0 : c[t];"},
    /* never written */
    {"  s[t] = 1;\n  fx_barrier();\n  y_[t] = t == 7 ? s[64] * 0 : 0;",
        "thread 7, line 7 reads 4 bytes that nobody has written: byte 256 of the block's 1024 of shared memory",
        "  s[t] = s[t + 64] = 1;\n  fx_barrier();\n  y_[t] = t == 7 ? s[64] * 0 : 0;"},
    {"  ((short *)s)[t] = 1;\n  fx_barrier();\n  y_[t] = s[32] > 0;", "reads 4 bytes that nobody has written",
        "  ((short *)s)[t] = 1;\n  fx_barrier();\n  y_[t] = s[31] > 0;"},
    /* copies: read before they are waited for, by their own thread; by another behind a barrier that the wait is not;
       written over */
    {"  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  y_[t] = s[t] * 0;",
        "where a copy has not been waited for",
        "  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  fx_cp_async_wait<0>();\n  y_[t] = s[t] * 0;"},
    {"  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  fx_barrier();\n  if (t == 9) y_[0] = s[40];\n  fx_cp_async_wait<0>();",
        "copy has not been waited for: thread 40 writes at line 5",
        "  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  fx_cp_async_wait<0>();\n  fx_barrier();\n  if (t == 9) y_[0] = s[40];"},
    {"  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  fx_cp_async_wait<0>();\n  y_[t] = s[t / 2] * 0;",
        "thread 1, line 8 reads 4 bytes at byte 0 of the block's 1024 of shared memory, which thread 0 writes at line 5, and nothing orders the two",
        "  fx_cp_async4(fx_shared(s + t), x_ + t, false);\n  fx_cp_async_commit();\n  fx_cp_async_wait<0>();\n  fx_warp_barrier();\n  y_[t] = s[t ^ 1] * 0;"},
    {"  s[t] = 1;\n  fx_barrier();\n  y_[t] = s[t / 2 * 2];\n  fx_cp_async4(fx_shared(s + t / 2), x_ + t, t % 2);",
        "thread 1, line 7 reads 4 bytes at byte 0 of the block's 1024 of shared memory, where a copy has not been waited for: thread 0 writes at line 8",
        "  s[t] = 1;\n  fx_barrier();\n  y_[t] = s[t ^ 1];\n  fx_barrier();\n  fx_cp_async4(fx_shared(s + t), x_ + t, false);"},
    /* wide accesses and matrices */
    {"  s[t] = s[t + 64] = s[t + 128] = 1;\n  fx_barrier();\n  unsigned w[4];\n  if (t < 16) fx_load_words(w, s + 4 * t + 132), y_[t] = w[0];",
        "thread 15, line 8 reads 16 bytes that nobody has written",
        "  s[t] = s[t + 64] = s[t + 128] = 1;\n  fx_barrier();\n  unsigned w[4];\n  if (t < 16) fx_load_words(w, s + 4 * t + 128), y_[t] = w[0];"},
    {"  s[t] = s[t + 64] = 0;\n  unsigned r[4];\n  fx_barrier();\n  s[t] = s[t + 64] = 0;\n  fx_ldmatrix(r, fx_shared(s) + t % 32 * 16);\n  y_[t] = 0;",
        "thread 1, line 8 writes 4 bytes at byte 4 of the block's 1024 of shared memory, which thread 0 reads at line 9",
        "  s[t] = s[t + 64] = 0;\n  unsigned r[4];\n  fx_barrier();\n  fx_ldmatrix(r, fx_shared(s) + t % 32 * 16);\n  y_[t] = 0;"},
    {"  s[t] = 0;\n  unsigned r[4];\n  fx_barrier();\n  fx_ldmatrix(r, fx_shared(s) + t % 32 * 16);\n  y_[t] = 0;",
        "thread 16, line 8 reads 16 bytes that nobody has written",
        "  s[t] = s[t + 64] = 0;\n  unsigned r[4];\n  fx_barrier();\n  fx_ldmatrix(r, fx_shared(s) + t % 32 * 16);\n  y_[t] = 0;"},
    {"  fx_shared_put4(fx_shared(s) + t / 2 * 16, 1.0f, 1.0f, 1.0f, 1.0f);\n  y_[t] = 0;",
        "writes 16 bytes at byte 0 of",
        "  if (t % 2) fx_shared_put4(fx_shared(s) + t / 2 * 16, 1.0f, 1.0f, 1.0f, 1.0f);\n  y_[t] = 0;"},
    /* global memory, within a block; values that are the same whoever writes last */
    {"  y_[0] = 0;", "line 5 writes 4 bytes at byte 0 of the 256 of y_, which thread 0 writes at line 5",
        "  y_[t] = 0;"},
    {"  y_[t] = 0;\n  const float r = y_[t ^ 1];\n  fx_barrier();\n  y_[t] = r * 0;",
        "thread 1, line 5 writes 4 bytes at byte 4 of the 256 of y_, which thread 0 reads at line 6",
        "  y_[t] = 0;\n  fx_barrier();\n  const float r = y_[t ^ 1];\n  fx_barrier();\n  y_[t] = r * 0;"},
    /* exact to the byte, where no page ends */
    {"  y_[t] = x_[t];\n  if (t == 5) y_[5] = ((const char *)x_)[-1] > 0;",
        "thread 5, line 6 reads outside of what it was given: 1 bytes before x_",
        "  y_[t] = x_[t];\n  if (t == 5) y_[5] = ((const char *)x_)[0] > 0;"},
    {"  y_[t] = 0;\n  ((float *)x_)[t] = 0;", "writes 4 bytes to what is only to be read: byte 0 of the 256 of x_",
        "  y_[t] = x_[t];"},
};

START_TEST(test_watched) {
    fails(watched[_i].wrong, watched[_i].because);
    ck_assert_msg(run(watched[_i].right, NULL), "%s: %s", watched[_i].right, words);
}
END_TEST

/* Blocks of a launch, which nothing orders but a barrier of the grid. */
START_TEST(test_watched_grid) {
    static const char *const bodies[] = {"y_[blockIdx.x / 2] = 1;",
        "y_[blockIdx.x] = 1;\n  if (blockIdx.x == 3) y_[3] = y_[2];",
        "y_[blockIdx.x] = 1;\n  fx_grid_barrier(flags_);\n  if (blockIdx.x == 3) y_[3] = y_[2];"};
    static const char *const because[] = {"which thread 0 of block 0 writes at line 3",
        "block 3, thread 0, line 4 reads 4 bytes at byte 8 of the 32 of y_, which thread 0 of block 2 writes at line 3",
        NULL};
    for (int i = 0; i < 3; i++) {
        char source[1024];
        snprintf(source, sizeof source,
            ENTRY "k(float *y_, unsigned long long *flags_) {\n  if (threadIdx.x == 0) %s\n}\n", bodies[i]);
        if (i)
            snprintf(source, sizeof source,
                ENTRY
                "k(float *y_, unsigned long long *flags_) {\n  if (threadIdx.x == 0) y_[blockIdx.x] = 1;\n%s  if (blockIdx.x == 3 && threadIdx.x == 0) y_[3] = y_[2];\n}\n",
                i == 1 ? "" : "  fx_grid_barrier(flags_);\n");
        void *module = compile(source, "k"), *y = take(8 * 4, NULL), *flags = take(8 * 8, NULL);
        bool is_fine = launch(8, 64, 0, true, (void *[]){&y, &flags});
        ck_assert_msg(is_fine == !because[i], "%d: %s", i, words);
        if (because[i]) ck_assert_msg(strstr(words, because[i]) != NULL, "'%s' is not in: %s", because[i], words);
        cuda_driver.cuModuleUnload(module);
    }
}
END_TEST

/* What a block writes before it releases a flag, others may touch behind their acquiring it: those of its threads that
 * have met the one that releases. */
START_TEST(test_watched_flag) {
    static const char *const meets[] = {"  fx_barrier();\n", "  if (t < 32) fx_warp_barrier();\n", "  fx_barrier();\n"},
                             *const waits[] = {"  fx_barrier();\n", "  fx_barrier();\n", ""};
    static const char *const because[] = {NULL, "of block 0 writes at line 5, and nothing orders the two",
        "of block 0 writes at line 5, and nothing orders the two"};
    for (int i = 0; i < 3; i++) {
        char source[1024];
        snprintf(source, sizeof source,
            ENTRY
            "k(float *y_, unsigned long long *flags_) {\n  const int t = threadIdx.x;\n  if (blockIdx.x == 0) {\n  y_[t] = t;\n%s  if (t == 0) fx_store_release(flags_, 7);\n"
            "  } else {\n  if (t == 0) while (fx_load_acquire(flags_) != 7) continue;\n%s  y_[64 + t] = y_[63 - t];\n  }\n}\n",
            meets[i], waits[i]);
        void *module = compile(source, "k"), *y = take(128 * 4, NULL), *flags = take(8, &(unsigned long long){0});
        bool is_fine = launch(2, 64, 0, true, (void *[]){&y, &flags});
        ck_assert_msg(is_fine == !because[i], "%d: %s", i, words);
        if (because[i]) ck_assert_msg(strstr(words, because[i]) != NULL, "'%s' is not in: %s", because[i], words);
        cuda_driver.cuModuleUnload(module);
    }
}
END_TEST

/* What an H200 was seen to do where nothing else says it: the NaNs of conversions, selectors with their highest bit
 * set. tests/gpu/ptx.cuh has the rest. */
START_TEST(test_as_h200) {
    static const unsigned want[] = {
        0xe3b7b7af, 0x7fffffff, 0x7fffffff, 0x7f800000, 0xff812000, 0x7fc00000, 0x7fffffff, 0x7fffffff, 0x7f800000};
    float y[64];
    ck_assert_msg(
        run("  const unsigned w[] = {fx_permute(0x37b7f8adu, 0xe3deaf36u, 0xa2257a25u), fx_bits(fx_f16_to_f32(0x7c01)), fx_bits(fx_f16_to_f32(0xfe00)), fx_cvt_tf32(0x7f800001u),\n"
            "    fx_cvt_tf32(0xff812345u), fx_cvt_tf32(0x7fc00fffu), fx_round_tf32(0x7f800001u), fx_round_tf32(0xffc00000u), fx_round_tf32(0x7f7fffffu)};\n"
            "  if (t < 9) y_[t] = fx_from_bits(w[t]);",
            y),
        "%s", words);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        unsigned got;
        memcpy(&got, &y[i], sizeof got);
        ck_assert_msg(got == want[i], "word %zu: %#x, not %#x", i, got, want[i]);
    }
}
END_TEST

/* As fx_launch does: x is read, y written, both within one allocation, with room between and around them. */
static const struct {
    const char *body, *because; /* NULL: nothing is wrong */
} given[] = {
    {"  y_[t] = x_[t];", NULL},
    {"  if (t != 7 && t != 9) y_[t] = x_[t];", "2 elements of y are never written, [0,7] the first of them"},
    {"  if (t != 7) y_[t] = x_[t]; else ((short *)y_)[14] = 0;", "1 elements of y are never written, [0,7]"},
    {"  y_[t] = x_[t];\n  if (t == 63) y_[t] = x_[0];",
        "thread 63, line 6 writes 4 bytes that hold a result already, at byte 252 of the 256 of y: thread 63 writes"},
    {"  y_[t] = x_[t];\n  fx_barrier();\n  if (t == 62) y_[63] = x_[0];",
        "thread 62, line 7 writes 4 bytes that hold a result already, at byte 252 of the 256 of y: thread 63 writes at line 5"},
    {"  y_[t] = y_[t] * 0 + x_[t];", "reads 4 bytes that nobody has written: byte 0 of the 256 of y"},
    {"  y_[t] = x_[t];\n  fx_warp_barrier();\n  y_[t] = y_[t] * 2;",
        "line 7 writes 4 bytes that hold a result already"},
    {"  y_[t] = x_[t + (t == 63)];",
        "thread 63, line 5 reads outside of what it was given: 256 bytes from the start of x, which has 256"},
    {"  y_[t] = x_[t];\n  if (t == 0) y_[64] = 1;",
        "writes outside of what it was given: 256 bytes from the start of y, which has 256"},
    {"  y_[t] = x_[t - (t == 0)];", "reads outside of what it was given: 4 bytes before x"},
};

START_TEST(test_given) {
    char source[1024], *at = take(1024, NULL), *x = at + 64, *y = at + 512;
    int64_t shape[] = {1, 64, 0}; /* behind the extents is none of them */
    snprintf(source, sizeof source,
        ENTRY
        "k(const float *x_, float *y_, long long n_) {\n  const int t = threadIdx.x;\n  float *s = (float *)fx_smem();\n%s\n}\n",
        given[_i].body);
    void *module = compile(source, "k");
    memset(x, 0, 256);
    struct launch_memory memory[] = {{.name = "x",
                                         .address = (uintptr_t)x,
                                         .start = (uintptr_t)x,
                                         .n_bytes = 256,
                                         .is_read = true,
                                         .is_tensor = true,
                                         .rank = 2,
                                         .element_bytes = 4,
                                         .shape = shape},
        {.name = "y",
            .address = (uintptr_t)y,
            .start = (uintptr_t)y,
            .n_bytes = 256,
            .is_written = true,
            .is_tensor = true,
            .rank = 2,
            .element_bytes = 4,
            .shape = shape}};
    long long n = 64;
    for (int again = 0; again < 2; again++) { /* what an earlier launch has written is not what this one writes */
        emu_announce(memory, 2);
        bool is_fine = launch(1, 64, 1024, false, (void *[]){&x, &y, &n});
        if (emu_conclude(is_fine ? FX_OK : FX_ERR_GPU) != FX_OK && is_fine)
            snprintf(words, sizeof words, "%s", fx_last_error()), is_fine = false;
        ck_assert_msg(is_fine == !given[_i].because, "%s: %s", given[_i].body, words);
        if (!is_fine)
            ck_assert_msg(strstr(words, given[_i].because) != NULL, "'%s' is not in: %s", given[_i].because, words);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* Of tensors that share memory any may do what one may: what one was given with contents may be read by way of all. */
START_TEST(test_given_twice) {
    char *at = take(1024, NULL), *x = at + 64, *y = at + 512;
    int64_t shape[] = {64};
    void *module = compile(ENTRY "k(const float *x_, float *y_) {\n  y_[threadIdx.x] += x_[threadIdx.x];\n}\n", "k");
    memset(at, 0, 1024);
    for (int n = 2; n <= 3; n++) {
        struct launch_memory memory[3];
        for (int i = 0; i < n; i++)
            memory[i] = (struct launch_memory){.name = i == 0 ? "x" : i == 1 ? "y" : "z",
                .address = (uintptr_t)(i ? y : x),
                .start = (uintptr_t)(i ? y : x),
                .n_bytes = 256,
                .is_read = i != 1,
                .is_written = i != 0,
                .is_tensor = true,
                .rank = 1,
                .element_bytes = 4,
                .shape = shape};
        emu_announce(memory, n);
        bool is_fine = launch(1, 64, 0, false, (void *[]){&x, &y});
        emu_conclude(is_fine ? FX_OK : FX_ERR_GPU);
        ck_assert_msg(is_fine == (n == 3), "%d tensors: %s", n, words);
        if (!is_fine) ck_assert_msg(strstr(words, "nobody has written") != NULL, "%s", words);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* Of several tensors those that share memory are one, whatever lies before them: x and y apart, z, which is written,
 * over the end of y, which is only read. */
START_TEST(test_given_beside) {
    char *at = take(2048, NULL), *x = at + 64, *y = at + 512, *z = at + 640;
    int64_t shape[] = {64};
    void *module = compile(ENTRY "k(const float *x_, const float *y_, float *z_, int from) {\n"
                                 "  const float v = x_[threadIdx.x] + y_[threadIdx.x];\n  fx_barrier();\n"
                                 "  z_[(int)threadIdx.x - from] = v;\n}\n", "k");
    char *const places[] = {x, y, z};
    for (int from = 0; from < 2; from++) {
        struct launch_memory memory[3];
        memset(at, 0, 2048);
        for (int i = 0; i < 3; i++)
            memory[i] = (struct launch_memory){.name = i == 0 ? "x" : i == 1 ? "y" : "z",
                .address = (uintptr_t)places[i],
                .start = (uintptr_t)places[i],
                .n_bytes = 256,
                .is_read = i != 2,
                .is_written = i == 2,
                .is_tensor = true,
                .rank = 1,
                .element_bytes = 4,
                .shape = shape};
        int before = from ? 100 : 0; /* over the end of y, and within x */
        emu_announce(memory, 3);
        bool is_fine = launch(1, 64, 0, false, (void *[]){&x, &y, &z, &before});
        emu_conclude(is_fine ? FX_OK : FX_ERR_GPU);
        ck_assert_msg(is_fine == !from, "%d before z: %s", before, words);
        if (!is_fine) ck_assert_msg(strstr(words, "what is only to be read") != NULL, "%s", words);
    }
    cuda_driver.cuModuleUnload(module);
}
END_TEST

/* ---- what is seen ---- */

enum { MOST_SEEN = 4096 };
static struct emu_seen seen[MOST_SEEN];
static int n_seen, n_begun, n_ended;

static void on_begin(void *data, const struct emu_seen_launch *l) {
    ck_assert_ptr_eq(data, seen);
    ck_assert_str_eq(l->entry, "k");
    ck_assert_uint_eq(l->n_threads, 64);
    n_begun++, n_seen = 0;
}

static void on_access(void *data, const struct emu_seen *s) {
    (void)data;
    ck_assert_int_lt(n_seen, MOST_SEEN);
    ck_assert_uint_eq(s->order, (uint64_t)n_seen);
    seen[n_seen] = *s;
    if (s->memory)
        seen[n_seen].memory = strcmp(s->memory, "x_") == 0   ? "x_"
                              : strcmp(s->memory, "y_") == 0 ? "y_"
                                                             : "another"; /* the name ends with the launch */
    n_seen++;
}

static void on_end(void *data, bool is_fine) {
    (void)data;
    n_ended += is_fine;
}

static const struct emu_observer observer = {.data = seen, .begin = on_begin, .access = on_access, .end = on_end};

START_TEST(test_observer) {
    emu_observe(&observer);
    ck_assert_msg(run("  s[t] = x_[t];\n  fx_barrier();\n  y_[t] = s[63 - t];", NULL), "%s", words);
    ck_assert_int_eq(n_begun, 1); /* of three schedules one */
    ck_assert_int_eq(n_ended, 1);
    ck_assert_int_eq(n_seen, 256);
    int n_of[4] = {0};
    for (int i = 0; i < n_seen; i++) {
        const struct emu_seen *e = &seen[i];
        int which = e->epoch ? 2 + (e->memory != NULL) : e->memory == NULL;
        static const char *const memories[] = {"x_", NULL, NULL, "y_"};
        n_of[which]++;
        ck_assert_uint_eq(e->n_bytes, 4);
        ck_assert_uint_eq(e->offset, 4 * (which == 2 ? 63 - e->thread : e->thread));
        ck_assert_int_eq(e->access, which % 2 ? EMU_WRITE : EMU_READ);
        ck_assert(e->memory == memories[which] || strcmp(e->memory, memories[which]) == 0);
        ck_assert_uint_eq(e->turn, e->epoch);
    }
    for (int i = 0; i < 4; i++) ck_assert_int_eq(n_of[i], 64);
    emu_observe(NULL);
}
END_TEST

/* Every function that is wider than a word, or checks its address itself, is seen as wide as it is. */
static const struct {
    const char *call;
    enum emu_access access;
    bool is_shared;
    int n; /* accesses of that kind */
    unsigned n_bytes;
} wide[] = {
    {"unsigned w[4]; fx_load_words(w, x_); y_[0] = w[0];", EMU_READ, false, 1, 16},
    {"unsigned w[2]; fx_load_words(w, x_); y_[0] = w[0] + w[1];", EMU_READ, false, 1, 8},
    {"unsigned w[8]; fx_load_words(w, x_); y_[0] = w[0] + w[7];", EMU_READ, false, 2, 16},
    {"unsigned w[4] = {1, 2, 3, 4}; fx_store_words(y_, w);", EMU_WRITE, false, 1, 16},
    {"y_[0] = fx_load_u8_if(x_, true) + fx_load_u8_if(x_ + 1, false);", EMU_READ, false, 1, 1},
    {"y_[0] = fx_load_u16_if(x_, true) + fx_load_u16_if(x_ + 1, false);", EMU_READ, false, 1, 2},
    {"y_[0] = fx_load_u32_if(x_, true) + fx_load_u32_if(x_ + 1, false);", EMU_READ, false, 1, 4},
    {"unsigned w[6]; fx_load_24_if(w, x_, true); y_[0] = w[0] + w[5];", EMU_READ, false, 3, 8},
    {"fx_shared_put_byte(fx_shared(s) + 3, 5);", EMU_WRITE, true, 1, 1},
    {"fx_shared_put1(fx_shared(s), 5u);", EMU_WRITE, true, 1, 4},
    {"fx_shared_put2(fx_shared(s), 1.0f, 2.0f);", EMU_WRITE, true, 1, 8},
    {"fx_shared_put4(fx_shared(s), 1.0f, 2.0f, 3.0f, 4.0f);", EMU_WRITE, true, 1, 16},
    {"double d[2] = {1, 2}; fx_shared_put<2>(fx_shared(s), d);", EMU_WRITE, true, 1, 16},
    {"float f[4]; fx_shared_put4(fx_shared(s), 1.0f, 2.0f, 3.0f, 4.0f); fx_shared_get<4>(f, fx_shared(s)); y_[0] = f[0] + f[3];",
        EMU_READ, true, 1, 16},
    {"fx_cp_async16(fx_shared(s), x_, true);", EMU_COPY, true, 1, 16},
    {"fx_cp_async8(fx_shared(s), x_, true);", EMU_READ, false, 1, 8},
    {"fx_cp_async4(fx_shared(s), x_, false);", EMU_COPY, true, 1, 4},
};

START_TEST(test_wide) {
    char body[512];
    int n = 0;
    emu_observe(&observer);
    snprintf(body, sizeof body, "  if (t == 0) { %s }", wide[_i].call);
    ck_assert_msg(run(body, NULL), "%s: %s", body, words);
    for (int i = 0; i < n_seen; i++) {
        if (seen[i].access != wide[_i].access || (seen[i].memory == NULL) != wide[_i].is_shared) continue;
        ck_assert_msg(seen[i].n_bytes == wide[_i].n_bytes, "%s: %u bytes", body, seen[i].n_bytes);
        n++;
    }
    ck_assert_msg(n == wide[_i].n, "%s: %d accesses", body, n);
    emu_observe(NULL);
}
END_TEST

static const struct { /* of the two warps: requests, what they take, the least, at line 6 */
    const char *line;
    bool is_shared;
    enum emu_access access;
    uint64_t n_requests, n_taken, n_least;
} counts[] = {
    {"s[t] = 1;", true, EMU_WRITE, 2, 2, 2}, {"s[2 * t] = 1;", true, EMU_WRITE, 2, 4, 2},
    {"((char *)s)[t] = 1;", true, EMU_WRITE, 2, 2, 2},
    {"s[t] = 1;", true, EMU_COPY, 0, 0, 0}, /* nothing is copied there */
    {"y_[t] = s[t % 8 * 32 + t % 2];", true, EMU_READ, 2, 8, 2}, {"y_[t] = s[5];", true, EMU_READ, 2, 2, 2},
    {"y_[t] = s[t * 33 % 256];", true, EMU_READ, 2, 2, 2},
    {"unsigned w[4]; fx_load_words(w, s + t * 4); y_[t] = w[0] + w[3];", true, EMU_READ, 2, 8, 8},
    {"unsigned w[4]; fx_load_words(w, s + t % 8 * 32); y_[t] = w[0] + w[3];", true, EMU_READ, 2, 64, 8},
    {"unsigned w[4]; fx_load_words(w, s + t % 8 * 32 + (t % 8) * 4); y_[t] = w[0] + w[3];", true, EMU_READ, 2, 8, 8},
    {"unsigned r[4]; fx_ldmatrix(r, fx_shared(s) + t % 8 * 128); y_[t] = r[0];", true, EMU_READ, 2, 64, 8},
    {"fx_cp_async16(fx_shared(s + t * 4), x_, false);", true, EMU_COPY, 2, 8, 8},
    {"y_[t] = x_[t];", false, EMU_READ, 2, 8, 8}, {"y_[t] = x_[t];", false, EMU_WRITE, 2, 8, 8},
    {"y_[t] = x_[t * 8 % 64];", false, EMU_READ, 2, 16, 2}, {"y_[t] = x_[0];", false, EMU_READ, 2, 2, 2},
    {"y_[t] = x_[(t + 1) % 64];", false, EMU_READ, 2, 10, 8},
    {"float f = 0; for (int i = 0; i <= t % 2; ++i) f += x_[t / 2 + 32 * i]; y_[t] = f;", false, EMU_READ, 4, 8,
        8}, /* each lane's second visit is one request */
};

START_TEST(test_counts) {
    char body[512];
    int n, n_found = 0;
    struct emu_counter *counter = emu_counter_open();
    emu_observe(emu_counter_observer(counter));
    snprintf(body, sizeof body,
        "  for (int i = t; i < 256; i += 64) s[i] = 1; fx_barrier();  // line 3: what is there\n  %s", counts[_i].line);
    ck_assert_msg(run(body, NULL), "%s: %s", body, words);
    const struct emu_count *c = emu_counter_result(counter, &n);
    ck_assert_int_gt(n, 0);
    for (int i = 0; i < n; i++) {
        int line = 0;
        for (int d = 0; d < EMU_DEPTH && c[i].line.lines[d]; d++) line = c[i].line.lines[d];
        ck_assert(line == 5 || line == 6);
        ck_assert_int_eq(c[i].line.spec_line, 3);
        if (line != 6 || c[i].is_shared != counts[_i].is_shared || c[i].access != counts[_i].access) continue;
        ck_assert_msg(c[i].n_requests == counts[_i].n_requests && c[i].n_taken == counts[_i].n_taken &&
                          c[i].n_least == counts[_i].n_least,
            "%s: %lu requests, %lu, at least %lu", counts[_i].line, (unsigned long)c[i].n_requests,
            (unsigned long)c[i].n_taken, (unsigned long)c[i].n_least);
        n_found++;
    }
    ck_assert_int_eq(n_found, counts[_i].n_requests != 0);
    emu_observe(NULL);
    emu_counter_close(counter);
}
END_TEST

/* Of more places than a counter has room for at first each has its own count. */
START_TEST(test_many_places) {
    enum { PLACES = 65 };
    char body[4096] = "";
    int n, n_at[PLACES] = {0};
    size_t length = 0;
    struct emu_counter *counter = emu_counter_open();
    emu_observe(emu_counter_observer(counter));
    for (int i = 0; i + 1 < PLACES; i++)
        length += (size_t)snprintf(
            body + length, sizeof body - length, "%s x_[t ^ %d];\n", i ? "f +=" : "float f =", i);
    snprintf(body + length, sizeof body - length, "y_[t] = f;");
    ck_assert_msg(run(body, NULL), "%s", words);
    const struct emu_count *c = emu_counter_result(counter, &n);
    ck_assert_int_eq(n, PLACES);
    for (int i = 0; i < n; i++) {
        ck_assert_uint_eq(c[i].n_requests, 2); /* two warps */
        ck_assert(c[i].line.lines[0] >= 5 && c[i].line.lines[0] < 5 + PLACES);
        n_at[c[i].line.lines[0] - 5]++;
    }
    for (int i = 0; i < PLACES; i++) ck_assert_int_eq(n_at[i], 1);
    emu_observe(NULL);
    emu_counter_close(counter);
}
END_TEST

/* ---- the compiler ---- */

START_TEST(test_compiler) {
    struct compile c = {.source = ENTRY "k(float *y_) {\n  y_[0] = nothing;\n}\n",
        .file = "test.cu",
        .arch = "sm_90a",
        .only = NO_ENTRY,
        .entry = "k"};
    ck_assert_int_eq(nvrtc_compile(&c), FX_ERR_TOOLCHAIN);
    ck_assert_msg(strstr(fx_last_error(), "kernel.cu:3") != NULL, "%s", fx_last_error());
    setenv("FX_CXX", "/nowhere/g++", 1);
    ck_assert_int_eq(nvrtc_compile(&c), FX_ERR_TOOLCHAIN);
    ck_assert_msg(strstr(fx_last_error(), "there is no /nowhere/g++") != NULL, "%s", fx_last_error());
    ck_assert_int_eq(fx_emulate(&(struct fx_emulation){0}), FX_ERR_TOOLCHAIN);
}
END_TEST

/* Two entries of a text, of which a third does not compile. */
START_TEST(test_together) {
    const char *source = "#if !defined(FX_ONLY) || FX_ONLY == 1\n" ENTRY "one(float *y_) {\n  y_[0] = 1;\n}\n#endif\n"
                         "#if !defined(FX_ONLY) || FX_ONLY == 2\n" ENTRY "two(float *y_) {\n  nothing;\n}\n#endif\n"
                         "#if !defined(FX_ONLY) || FX_ONLY == 12\n" ENTRY "twelve(float *y_) {\n  y_[0] = 12;\n}\n#endif\n";
    struct compile of[] = {{.source = source, .file = "test.cu", .arch = "sm_90a", .only = 1, .entry = "one"},
        {.source = source, .file = "test.cu", .arch = "sm_90a", .only = 12, .entry = "twelve"},
        {.source = source, .file = "test.cu", .arch = "sm_90a", .only = 2, .entry = "two"}};
    struct compile *const all[] = {&of[0], &of[1], &of[2]};
    float *y = take(sizeof *y, NULL);
    void *arguments[] = {&y}, *module;
    ck_assert_int_eq(nvrtc_compile_together(all, 3), FX_ERR_TOOLCHAIN);
    ck_assert(!of[0].image && !of[1].image && !of[2].image);
    ck_assert_msg(nvrtc_compile_together(all, 2) == FX_OK, "%s", fx_last_error());
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cuda_driver.cuModuleLoadData(&module, of[i].image), 0);
        ck_assert_int_ne(cuda_driver.cuModuleGetFunction(&function, module, "two"), 0);
        ck_assert_int_eq(cuda_driver.cuModuleGetFunction(&function, module, of[i].entry), 0);
        ck_assert_msg(launch(1, 32, 0, false, arguments), "%s", words);
        ck_assert(y[0] == (float)of[i].only);
        ck_assert_int_eq(cuda_driver.cuModuleUnload(module), 0);
        free(of[i].image);
        free(of[i].log);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("emu");
    TCase *t = tcase_create("emu");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_threads);
    tcase_add_test(t, test_part_of_a_warp);
    tcase_add_test(t, test_attributes);
    tcase_add_test(t, test_order);
    tcase_add_test(t, test_copies);
    tcase_add_test(t, test_deadlock);
    tcase_add_test(t, test_outside);
    tcase_add_test(t, test_poison);
    tcase_add_test(t, test_given_back);
    tcase_add_test(t, test_grid);
    tcase_add_loop_test(t, test_mma, 0, (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(t, test_ldmatrix_trans);
    tcase_add_test(t, test_numbers);
    tcase_add_test(t, test_as_h200);
    tcase_add_test(t, test_compiler);
    tcase_add_test(t, test_together);
    suite_add_tcase(s, t);
    t = tcase_create("watched");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup_watched, NULL);
    tcase_add_loop_test(t, test_watched, 0, (int)(sizeof watched / sizeof *watched));
    tcase_add_test(t, test_watched_grid);
    tcase_add_test(t, test_watched_flag);
    tcase_add_test(t, test_observer);
    tcase_add_loop_test(t, test_wide, 0, (int)(sizeof wide / sizeof *wide));
    tcase_add_loop_test(t, test_counts, 0, (int)(sizeof counts / sizeof *counts));
    tcase_add_test(t, test_many_places);
    tcase_add_loop_test(t, test_given, 0, (int)(sizeof given / sizeof *given));
    tcase_add_test(t, test_given_twice);
    tcase_add_test(t, test_given_beside);
    suite_add_tcase(s, t);
    return run_suite(s);
}
