/* Drawn data: Philox's published vectors, the same bits everywhere, moments, bounds, and what is no distribution. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/draw.h"
#include "suite.h"

START_TEST(philox_known_answers) {
    /* kat_vectors of the authors' Random123. */
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } t[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        uint32_t got[4];
        philox4x32(t[i].counter, t[i].key, got);
        ck_assert_mem_eq(got, t[i].want, sizeof got);
    }
}
END_TEST

static struct draw parse(const char *text) {
    struct draw d;
    char message[128];
    ck_assert_msg(draw_parse(text, &d, message, sizeof message), "%s: %s", text, message);
    return d;
}

/* An independent Box-Muller with libm, from the same words. */
static double normal_by_libm(uint64_t seed, uint64_t i) {
    uint32_t counter[4] = {(uint32_t)(i / 2), (uint32_t)(i / 2 >> 32), 0, 0},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t w[4];
    philox4x32(counter, key, w);
    double u = (double)(((uint64_t)w[1] << 32 | w[0]) >> 11) * 0x1p-53,
           v = (double)(((uint64_t)w[3] << 32 | w[2]) >> 11) * 0x1p-53;
    double r = sqrt(-2 * log1p(-u)), angle = 2 * acos(-1) * v;
    return i % 2 ? r * sin(angle) : r * cos(angle);
}

START_TEST(normal_is_box_muller) {
    enum { N = 100000 };
    double *x = malloc(N * sizeof *x), sum = 0, squares = 0, fourth = 0;
    struct draw d = parse("normal");
    draw_fill(&d, 42, FX_F64, x, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert_double_eq_tol(x[i], normal_by_libm(42, i), 1e-14);
        sum += x[i], squares += x[i] * x[i], fourth += x[i] * x[i] * x[i] * x[i];
    }
    ck_assert_double_eq_tol(sum / N, 0, 0.02);
    ck_assert_double_eq_tol(squares / N, 1, 0.02);
    ck_assert_double_eq_tol(fourth / N, 3, 0.15);
    free(x);
}
END_TEST

START_TEST(bits_are_fixed) {
    /* Written down once: a change of these is a change of everybody's data. */
    double x[4];
    struct draw d = parse("normal");
    draw_fill(&d, 0, FX_F64, x, 4);
    static const double want[4] = {
        -0x1.9ffd9aa3bc9b3p+0, -0x1.44b28888d8c93p+0, 0x1.d85c966f9a5f4p-1, 0x1.c085bbe7cc121p-3};
    for (int i = 0; i < 4; i++) ck_assert_msg(x[i] == want[i], "%d: %a", i, x[i]);
}
END_TEST

START_TEST(an_element_depends_on_its_index_alone) {
    float a[7], b[4];
    struct draw d = parse("normal(3,0.5)");
    draw_fill(&d, 7, FX_F32, a, 7);
    draw_fill(&d, 7, FX_F32, b, 4);
    ck_assert_mem_eq(a, b, sizeof b);
    draw_fill(&d, 8, FX_F32, b, 4);
    ck_assert_mem_ne(a, b, sizeof b);
}
END_TEST

START_TEST(bounds_hold) {
    enum { N = 20000 };
    double *x = malloc(N * sizeof *x);
    int seen[5] = {0};
    struct draw u = parse("uniform(-2,3)"), n = parse("integers(-2,2)");
    draw_fill(&u, 1, FX_F64, x, N);
    for (int i = 0; i < N; i++) ck_assert(x[i] >= -2 && x[i] < 3);
    draw_fill(&n, 1, FX_F64, x, N);
    for (int i = 0; i < N; i++) {
        ck_assert(x[i] == floor(x[i]) && x[i] >= -2 && x[i] <= 2);
        seen[(int)x[i] + 2]++;
    }
    for (int i = 0; i < 5; i++) ck_assert_int_gt(seen[i], N / 5 - N / 25);
    struct draw wide = parse("integers(-4503599627370496,4503599627370496)"); /* 2^52 */
    int64_t *whole = malloc(N * sizeof *whole), low = 0;
    draw_fill(&wide, 1, FX_I64, whole, N);
    for (int i = 0; i < N; i++) {
        ck_assert(whole[i] >= -(INT64_C(1) << 52) && whole[i] <= INT64_C(1) << 52);
        low += whole[i] & 1;
    }
    ck_assert(low > N / 2 - N / 25 && low < N / 2 + N / 25); /* the lowest bit is drawn too */
    free(whole);
    free(x);
}
END_TEST

START_TEST(every_dtype_is_filled) {
    for (int t = 0; t < FX_N_DTYPES; t++) {
        unsigned char bytes[3 * 8 + 1];
        struct draw d = draw_default((enum fx_dtype)t), ones = parse("ones");
        if (fx_dtype_bits((enum fx_dtype)t) < 8) continue;
        size_t each = (size_t)fx_dtype_bits((enum fx_dtype)t) / 8;
        memset(bytes, 0xA5, sizeof bytes);
        draw_fill(&d, 5, (enum fx_dtype)t, bytes, 3);
        ck_assert_uint_eq(bytes[3 * each], 0xA5);
        draw_fill(&ones, 5, (enum fx_dtype)t, bytes, 3);
        for (size_t i = 0; i < 3; i++) ck_assert(fx_load_double((enum fx_dtype)t, bytes, i) == 1);
    }
}
END_TEST

START_TEST(one_outlier_a_row) {
    enum { ROWS = 200, ROW = 37, N_OF = ROWS * ROW - 30 }; /* the last row is cut */
    static double plain[N_OF], x[N_OF];
    struct draw n = parse("normal(5,1)"), d = parse("outlier(5,-1000)");
    int n_at[ROW] = {0}, n_places = 0, at[ROWS] = {0}, n_alike = 0;
    draw_fill(&n, 9, FX_F64, plain, N_OF);
    draw_rows(&d, 9, FX_F64, x, N_OF, ROW);
    for (int r = 0; r < ROWS; r++) {
        int n_outliers = 0;
        for (int k = 0; k < ROW && r * ROW + k < N_OF; k++) {
            double more = x[r * ROW + k] - plain[r * ROW + k];
            ck_assert_msg(more == 0 || fabs(more + 1000) < 1e-9, "row %d, element %d: %g more", r, k, more);
            n_outliers += more != 0, n_at[k] += more != 0;
            if (more != 0) at[r] = k;
        }
        ck_assert_msg(n_outliers == 1 || r == ROWS - 1, "row %d has %d", r, n_outliers);
    }
    for (int k = 0; k < ROW; k++) n_places += n_at[k] > 0;
    ck_assert_int_ge(n_places, 30);
    draw_rows(&n, 9, FX_F64, x, N_OF, ROW);
    ck_assert_mem_eq(x, plain, sizeof x);
    /* All of a seed counts. */
    draw_rows(&d, 9 | 1ull << 32, FX_F64, x, N_OF, ROW);
    for (int r = 0; r + 1 < ROWS; r++) n_alike += x[r * ROW + at[r]] < -500;
    ck_assert_int_lt(n_alike, 30);
}
END_TEST

START_TEST(fills) {
    ck_assert(parse("0.25").a == 0.25 && parse("0.25").kind == DRAW_FILL);
    ck_assert(parse("-3").a == -3);
    ck_assert(parse("1e-5").a == 1e-5);
    ck_assert(isinf(parse("inf").a));
}
END_TEST

START_TEST(refused) {
    static const char *const wrong[] = {"normal(", "normal()", "normal(1)", "normal(0,-1)", "normal(0,1",
        "normal(0,1)x", "uniform(2,1)", "uniform(0,inf)", "uniform(nan,1)", "integers(0.5,2)", "integers(2,1)",
        "integers(0,1e300)", "integers(0,4503599627370497)", "integers(1,2,3)", "outlier(1)", "outlier(0,inf)"};
    static const char *const paths[] = {"", "x.npy", "normals", "uniform", "ones.npy", "1.npy", "./1", "-"};
    struct draw d;
    char message[128];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!draw_parse(wrong[i], &d, message, sizeof message), "%s", wrong[i]);
        ck_assert_msg(*message, "%s", wrong[i]);
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_msg(!draw_parse(paths[i], &d, message, sizeof message), "%s", paths[i]);
        ck_assert_msg(!*message, "%s", paths[i]);
    }
}
END_TEST

/* Words of packed tensors: every bit drawn, of any width, the same whatever the length. */
START_TEST(bits) {
    const struct draw d = {DRAW_BITS, 0, 0};
    uint32_t words[1000], again[10], ones[32] = {0};
    uint8_t bytes[4];
    draw_fill(&d, 7, FX_I32, words, 1000);
    draw_fill(&d, 7, FX_U32, again, 10);
    draw_fill(&d, 7, FX_U8, bytes, 4);
    ck_assert(memcmp(words, again, sizeof again) == 0);
    for (int i = 0; i < 4; i++) ck_assert_uint_eq(bytes[i], words[i] & 0xff);
    for (int i = 0; i < 1000; i++)
        for (int b = 0; b < 32; b++) ones[b] += words[i] >> b & 1;
    for (int b = 0; b < 32; b++)
        ck_assert_msg(ones[b] > 400 && ones[b] < 600, "bit %d is 1 in %u of 1000", b, ones[b]); /* 6 deviations */
}
END_TEST

int main(void) {
    Suite *s = suite_create("draw");
    TCase *t = tcase_create("draw");
    tcase_add_test(t, philox_known_answers);
    tcase_add_test(t, normal_is_box_muller);
    tcase_add_test(t, bits_are_fixed);
    tcase_add_test(t, an_element_depends_on_its_index_alone);
    tcase_add_test(t, bounds_hold);
    tcase_add_test(t, every_dtype_is_filled);
    tcase_add_test(t, one_outlier_a_row);
    tcase_add_test(t, fills);
    tcase_add_test(t, refused);
    tcase_add_test(t, bits);
    suite_add_tcase(s, t);
    return run_suite(s);
}
