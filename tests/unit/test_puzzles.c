/* The puzzles of examples/s2_puzzles, evaluated by the oracle and compared with plain loops over the same data: what a
 * spec says, held to what its puzzle asks, where the kernels that the compiler makes are compared with the oracle
 * alone. Inputs are few multiples of 1/8 from -2 to 2, zeros among them, so that corners are hit and most results are
 * exact; shapes have no two axes alike, so that no index can stand for another. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

#define FOLDER "examples/s2_puzzles/"

enum { MOST = 4096 }; /* elements of a tensor here */

static fx_compilation *compile(const char *file, const char *kernel) {
    struct fx_options options = FX_OPTIONS;
    char path[128];
    static char text[1 << 14];
    fx_compilation *c;
    snprintf(path, sizeof path, FOLDER "%s.fx", file);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    options.kernel = kernel;
    options.oracle_only = true;
    fx_status status = fx_compile(text, n, path, &options, &c);
    ck_assert_msg(status == FX_OK, "%s: %s", path, fx_messages(c));
    return c;
}

static struct fx_host host(enum fx_dtype dtype, const void *data, int rank, int64_t a, int64_t b, int64_t c) {
    return (struct fx_host){.dtype = dtype, .rank = rank, .extents = {a, b, c}, .data = data};
}

/* The first output, all n elements of it. */
static void evaluate(const char *file, const char *kernel, const struct fx_host *inputs, int n_inputs, int64_t n,
    double *value, int64_t *integer) {
    char message[256] = "";
    fx_compilation *c = compile(file, kernel);
    ck_assert_int_le(n, MOST);
    fx_status status = fx_evaluate(
        c, kernel, inputs, n_inputs, 0, NULL, n, value, integer, FX_BOUND_WORST, NULL, message, sizeof message);
    ck_assert_msg(status == FX_OK, "%s of %s: %s", kernel, file, message);
    fx_close(c);
}

static void compare(const char *kernel, const double *got, const double *want, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i])),
            "%s: element %lld is %.17g, %.17g by loops", kernel, (long long)i, got[i], want[i]);
}

/* Multiples of 1/8 between -2 and 2, the same every time. */
static void draw(float *x, int64_t n, unsigned seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 20) % 33 - 16) / 8;
    }
}

static float x[MOST], y[MOST], w[MOST];
static double got[MOST], want[MOST];

/* ---- pointwise ---- */

START_TEST(add) {
    int32_t whole[5] = {-2147483647, -10, 0, 7, 16777217};
    int64_t integer[5];
    draw(x, 200, 1);
    for (int i = 0; i < 200; i++) want[i] = (double)x[i] + 10;
    for (int n = 32; n <= 200; n += 168) {
        struct fx_host in = host(FX_F32, x, 1, n, 0, 0);
        evaluate(n == 32 ? "p01_add" : "p02_add_blocked", n == 32 ? "add" : "add_blocked", &in, 1, n, got, NULL);
        compare("add", got, want, n);
    }
    struct fx_host in = host(FX_I32, whole, 1, 5, 0, 0);
    evaluate("p01_add", "add_i32", &in, 1, 5, got, integer);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(integer[i], (int64_t)whole[i] + 10);
}
END_TEST

START_TEST(outer) {
    static const struct {
        const char *file, *kernel;
        int ni, nj;
    } cases[] = {{"p03_outer_add", "outer_add", 32, 31}, {"p04_outer_add_blocked", "outer_add_blocked", 100, 40},
        {"p05_mul_relu", "mul_relu", 100, 40}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int ni = cases[c].ni, nj = cases[c].nj;
        draw(x, ni, 2), draw(y, nj, 3);
        for (int j = 0; j < nj; j++)
            for (int i = 0; i < ni; i++)
                want[j * ni + i] = c < 2 ? (double)x[i] + (double)y[j] : fmax((double)x[i] * (double)y[j], 0);
        struct fx_host in[] = {host(FX_F32, x, 1, ni, 0, 0), host(FX_F32, y, 1, nj, 0, 0)};
        evaluate(cases[c].file, cases[c].kernel, in, 2, ni * nj, got, NULL);
        compare(cases[c].kernel, got, want, ni * nj);
    }
}
END_TEST

/* Where the product is 0, by either factor, dx is 0 whatever dz is; relu by `x * y < 0 ? 0 : 1` would pass dz on times
 * y. */
START_TEST(gradient_at_zero) {
    enum { J = 9, I = 10 };
    int n_zero = 0;
    draw(x, J * I, 4), draw(y, J, 5);
    for (int i = 0; i < J * I; i++) w[i] = (float)(i + 1);
    y[3] = 0;
    for (int i = 0; i < I; i += 2) x[4 * I + i] = 0;
    y[4] = 2;
    for (int j = 0; j < J; j++)
        for (int i = 0; i < I; i++) {
            double product = (double)x[j * I + i] * (double)y[j];
            want[j * I + i] = product > 0 ? (double)w[j * I + i] * (double)y[j] : 0;
            n_zero += product == 0 && y[j] != 0;
        }
    ck_assert_int_ge(n_zero, I / 2);
    struct fx_host in[] = {host(FX_F32, x, 2, J, I, 0), host(FX_F32, y, 1, J, 0, 0), host(FX_F32, w, 2, J, I, 0)};
    evaluate("p06_mul_relu_bwd", "mul_relu_2d_bwd", in, 3, J * I, got, NULL);
    compare("mul_relu_2d_bwd", got, want, J * I);
}
END_TEST

/* ---- rows ---- */

static double largest(const double *s, int n) {
    double top = -INFINITY;
    for (int i = 0; i < n; i++) top = fmax(top, s[i]);
    return top;
}

START_TEST(rows) {
    enum { B = 4, T = 200 };
    draw(x, B * T, 6);
    struct fx_host in = host(FX_F32, x, 2, B, T, 0);
    for (int b = 0; b < B; b++) {
        want[b] = 0;
        for (int t = 0; t < T; t++) want[b] += (double)x[b * T + t];
    }
    evaluate("p07_long_sum", "long_sum", &in, 1, B, got, NULL);
    compare("long_sum", got, want, B);
    for (int b = 0; b < B; b++) {
        double sum = 0;
        for (int t = 0; t < T; t++) sum += exp((double)x[b * T + t]);
        for (int t = 0; t < T; t++) want[b * T + t] = exp((double)x[b * T + t]) / sum;
    }
    evaluate("p08_softmax", "softmax_rows", &in, 1, B * T, got, NULL);
    compare("softmax_rows", got, want, B * T);
}
END_TEST

/* Negative q as much as positive, and k of one sign, so that a padded key times a negative q would be the largest; T a
 * multiple of 32 and not. */
START_TEST(attention) {
    enum { S = 20 };
    for (int t = 192; t <= 200; t += 8) {
        draw(x, S, 7), draw(y, t, 8), draw(w, t, 9);
        for (int j = 0; j < t; j++) y[j] = fabsf(y[j]) + 1;
        for (int i = 0; i < S; i++) {
            double s[200], sum = 0, z = 0;
            for (int j = 0; j < t; j++) s[j] = (double)x[i] * (double)y[j];
            double top = largest(s, t);
            for (int j = 0; j < t; j++) sum += exp(s[j] - top), z += exp(s[j] - top) * (double)w[j];
            want[i] = z / sum;
        }
        ck_assert(x[0] < 0 || x[1] < 0 || x[2] < 0 || x[3] < 0);
        struct fx_host in[] = {host(FX_F32, x, 1, S, 0, 0), host(FX_F32, y, 1, t, 0, 0), host(FX_F32, w, 1, t, 0, 0)};
        evaluate("p09_flash_scalar", "flash_scalar", in, 3, S, got, NULL);
        compare("flash_scalar", got, want, S);
    }
}
END_TEST

/* ---- products ---- */

/* No square image and no symmetric window; beyond the image, right and below, there are zeros. */
START_TEST(convolution) {
    enum { B = 3, H = 8, W = 6, U = 4 };
    draw(x, B * H * W, 10), draw(y, U * U, 11);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int c = 0; c < W; c++) {
                double z = 0;
                for (int u = 0; u < U; u++)
                    for (int v = 0; v < U; v++)
                        if (h + u < H && c + v < W) z += (double)y[u * U + v] * (double)x[(b * H + h + u) * W + c + v];
                want[(b * H + h) * W + c] = z;
            }
    struct fx_host in[] = {host(FX_F32, x, 3, B, H, W), host(FX_F32, y, 2, U, U, 0)};
    evaluate("p10_conv2d", "conv2d", in, 2, B * H * W, got, NULL);
    compare("conv2d", got, want, B * H * W);
}
END_TEST

START_TEST(batch) {
    enum { B = 4, M = 5, K = 7, N = 6 };
    draw(x, B * M * K, 12), draw(y, B * K * N, 13);
    for (int b = 0; b < B; b++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                double z = 0;
                for (int k = 0; k < K; k++) z += (double)x[(b * M + m) * K + k] * (double)y[(b * K + k) * N + n];
                want[(b * M + m) * N + n] = z;
            }
    struct fx_host in[] = {host(FX_F32, x, 3, B, M, K), host(FX_F32, y, 3, B, K, N)};
    evaluate("p11_bmm", "bmm", in, 2, B * M * N, got, NULL);
    compare("bmm", got, want, B * M * N);
}
END_TEST

static int field(int32_t word, int i) { return (int)((uint32_t)word >> 4 * i & 15u); }

/* Neither scale nor offset is left out: with either missing nearly every element would be another. */
START_TEST(quantised) {
    enum { J = 5, L = 64, G = 8, C = 3 };
    int32_t offset[J], weight[J * G];
    int n_other = 0;
    draw(x, J * G, 14), draw(y, L * C, 15);
    for (int i = 0; i < J * G; i++) weight[i] = (int32_t)((uint32_t)i * 2654435761u + 0x9abcdefu);
    for (int j = 0; j < J; j++) offset[j] = (int32_t)((uint32_t)j * 2246822519u + 0xf1234567u);
    for (int j = 0; j < J; j++)
        for (int c = 0; c < C; c++) {
            double z = 0, bare = 0;
            for (int l = 0; l < L; l++) {
                int q = field(weight[j * G + l / 8], l % 8);
                z += (double)x[j * G + l / 8] * (q - field(offset[j], l / 8)) * (double)y[l * C + c];
                bare += q * (double)y[l * C + c];
            }
            want[j * C + c] = z;
            n_other += z != bare;
        }
    ck_assert_int_ge(n_other, J * C - 1);
    struct fx_host in[] = {host(FX_F32, x, 2, J, G, 0), host(FX_I32, offset, 2, J, 1, 0),
        host(FX_I32, weight, 2, J, L / 8, 0), host(FX_F32, y, 2, L, C, 0)};
    evaluate("p12_quant_dot", "quant_dot", in, 4, J * C, got, NULL);
    compare("quant_dot", got, want, J * C);
    in[1] = host(FX_I32, offset, 1, J, 0, 0);
    evaluate("p12_quant_dot", "quant_dot_8", in, 4, J * C, got, NULL);
    compare("quant_dot_8", got, want, J * C);
}
END_TEST

/* What the notebook's cells print: offsets 0, 1, 2 as eight fields each, every one of them for eight columns; the words
 * 0 .. 23, eight a row, as 64 fields a row. */
START_TEST(helper_cells) {
    int32_t offset[3] = {0, 1, 2}, words[24];
    int64_t integer[192];
    for (int i = 0; i < 24; i++) words[i] = i;
    struct fx_host in = host(FX_I32, offset, 2, 3, 1, 0);
    evaluate("p12_unpack", "expand_offset", &in, 1, 192, got, integer);
    for (int i = 0; i < 192; i++) ck_assert_int_eq(integer[i], i % 64 < 8 ? i / 64 : 0);
    in = host(FX_I32, words, 2, 3, 8, 0);
    evaluate("p12_unpack", "unpack", &in, 1, 192, got, integer);
    for (int i = 0; i < 192; i++)
        ck_assert_int_eq(integer[i], i % 8 == 0 ? i / 8 % 16 : i % 8 == 1 && i / 8 >= 16 ? 1 : 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("puzzles");
    TCase *t = tcase_create("puzzles");
    tcase_add_test(t, add);
    tcase_add_test(t, outer);
    tcase_add_test(t, gradient_at_zero);
    tcase_add_test(t, rows);
    tcase_add_test(t, attention);
    tcase_add_test(t, convolution);
    tcase_add_test(t, batch);
    tcase_add_test(t, quantised);
    tcase_add_test(t, helper_cells);
    suite_add_tcase(s, t);
    return run_suite(s);
}
