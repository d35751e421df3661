/* dtype.c: every value of the small floats there and back, rounding against methods that share nothing with it. */
#include "dtype.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const enum fx_dtype small_floats[] = {FX_F8E4M3, FX_F8E5M2, FX_F16, FX_BF16};
enum { N_SMALL = sizeof small_floats / sizeof *small_floats };

static uint32_t n_bits_patterns(enum fx_dtype t) { return 1u << fx_dtype_bits(t); }

static double value_of(enum fx_dtype t, uint32_t bits) { return fx_load_double(t, &bits, 0); }

static uint32_t bits_of(enum fx_dtype t, double v) {
    uint32_t bits = 0;
    fx_store_double(t, &bits, 0, v);
    return bits;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11 ^ *state << 40;
}

static double random_double(uint64_t *state) {
    uint64_t bits = next_random(state);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

START_TEST(every_pattern_round_trips) {
    for (int k = 0; k < N_SMALL; k++) {
        enum fx_dtype t = small_floats[k];
        for (uint32_t bits = 0; bits < n_bits_patterns(t); bits++) {
            double v = value_of(t, bits);
            if (isnan(v))
                ck_assert(isnan(value_of(t, bits_of(t, v))));
            else if (isinf(v) && t == FX_F8E5M2)
                ck_assert_uint_eq(bits_of(t, v), (bits & 0x80) | 0x7b);
            else
                ck_assert_uint_eq(bits_of(t, v), bits);
        }
    }
}
END_TEST

/* _Float16 is the compiler's own arithmetic; bf16 is the upper half of a float. */
START_TEST(values_agree_with_the_compiler) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t narrow = (uint16_t)bits;
        _Float16 h;
        memcpy(&h, &narrow, sizeof h);
        double v = value_of(FX_F16, bits);
        ck_assert(isnan(v) ? isnan((double)h) : v == (double)h);
        uint32_t wide = bits << 16;
        float f;
        memcpy(&f, &wide, sizeof f);
        v = value_of(FX_BF16, bits);
        ck_assert(isnan(v) ? isnan((double)f) : v == (double)f);
    }
}
END_TEST

/* The value nearest to v among all the dtype holds, ties to the even pattern, found by bisection: the reference. Beyond
 * the largest finite value the next pattern stands for the value one spacing further. */
static double nearest(enum fx_dtype t, double v) {
    uint32_t most = bits_of(t, fx_dtype_bits(t) == 16 ? INFINITY : 1e300);
    if (fx_dtype_bits(t) == 16) most--;
    double magnitude = fabs(v), top = value_of(t, most), step = top - value_of(t, most - 1);
    double overflow = fx_dtype_bits(t) == 16 ? INFINITY : top;
    if (isnan(v)) return v;
    if (magnitude >= top) return copysign(magnitude < top + step / 2 ? top : overflow, v);
    uint32_t low = 0, high = most;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(value_of(t, middle) <= magnitude ? &low : &high) = middle;
    }
    double below = magnitude - value_of(t, low), above = value_of(t, high) - magnitude;
    return copysign(value_of(t, below < above || (below == above && low % 2 == 0) ? low : high), v);
}

static void check_rounding(enum fx_dtype t, double v) {
    double expected = nearest(t, v), got = fx_round_to(t, v);
    ck_assert_msg(isnan(v) ? isnan(got) : got == expected && signbit(got) == signbit(v), "%s of %a: %a, expected %a",
                  fx_dtype_name(t), v, got, expected);
}

/* All midpoints and what lies a hair to either side: where a second rounding would show. */
START_TEST(midpoints_round_to_even) {
    for (int k = 0; k < N_SMALL; k++) {
        enum fx_dtype t = small_floats[k];
        for (uint32_t bits = 0; bits + 1 < n_bits_patterns(t) / 2; bits++) {
            double low = value_of(t, bits), high = value_of(t, bits + 1);
            if (!isfinite(low) || !isfinite(high)) break;
            double middle = (low + high) / 2;
            double around[] = {middle, nextafter(middle, 0), nextafter(middle, INFINITY), low, nextafter(high, 0)};
            for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
                check_rounding(t, around[i]);
                check_rounding(t, -around[i]);
            }
        }
    }
}
END_TEST

START_TEST(random_doubles_round_to_nearest) {
    uint64_t state = 1;
    for (int i = 0; i < 50000; i++) {
        double v = random_double(&state);
        double scaled = ldexp((double)(int64_t)next_random(&state), -40 - (int)(next_random(&state) % 60));
        for (int k = 0; k < N_SMALL; k++) {
            check_rounding(small_floats[k], v);
            check_rounding(small_floats[k], scaled);
        }
        ck_assert(isnan(v) || fx_round_to(FX_F16, scaled) == (double)(_Float16)scaled);
        ck_assert(isnan(v) || fx_round_to(FX_F32, v) == (double)(float)v);
    }
}
END_TEST

START_TEST(no_double_rounding) {
    /* Over float this would land on the midpoint first, then on the even neighbour. */
    double v = 1 + ldexp(1, -11) + ldexp(1, -40);
    ck_assert_double_eq(fx_round_to(FX_F16, v), 1 + ldexp(1, -10));
    ck_assert_double_eq(fx_round_to(FX_BF16, 1 + ldexp(1, -8) + ldexp(1, -40)), 1 + ldexp(1, -7));
}
END_TEST

START_TEST(overflow_as_each_format_says) {
    ck_assert(isinf(fx_round_to(FX_F16, 65520)));
    ck_assert_double_eq(fx_round_to(FX_F16, 65519.99), 65504);
    ck_assert(isinf(fx_round_to(FX_BF16, 3.4e38)));
    ck_assert(isinf(fx_round_to(FX_F32, 1e39)));
    ck_assert_double_eq(fx_round_to(FX_F8E4M3, 1e9), 448);
    ck_assert_double_eq(fx_round_to(FX_F8E4M3, -INFINITY), -448);
    ck_assert_double_eq(fx_round_to(FX_F8E5M2, INFINITY), 57344);
    ck_assert_uint_eq(bits_of(FX_F8E4M3, NAN) & 0x7f, 0x7f);
    ck_assert(isnan(fx_round_to(FX_F8E5M2, NAN)));
}
END_TEST

START_TEST(integers_truncate_and_saturate) {
    static const struct {
        enum fx_dtype t;
        double v, expected;
    } cases[] = {
        {FX_I8, 1e9, 127},
        {FX_I8, -1e9, -128},
        {FX_I8, -128.9, -128},
        {FX_U8, 255.99, 255},
        {FX_U8, -3, 0},
        {FX_I4, 7.9, 7},
        {FX_I4, -9, -8},
        {FX_U4, 16, 15},
        {FX_I16, 32768, 32767},
        {FX_I32, 3e9, 2147483647},
        {FX_I32, -3e9, -2147483648.0},
        {FX_U32, 1e10, 4294967295.0},
        {FX_U32, 4294967295.0, 4294967295.0},
        {FX_I64, 1e300, 9223372036854775808.0},
        {FX_I64, -INFINITY, -9223372036854775808.0},
        {FX_U64, INFINITY, 18446744073709551616.0},
        {FX_I32, NAN, 0},
        {FX_U64, NAN, 0},
        {FX_I32, -0.9, 0},
        {FX_BOOL, 0.1, 1},
        {FX_BOOL, -0.0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_double_eq(fx_round_to(cases[i].t, cases[i].v), cases[i].expected);
        if (fx_dtype_bits(cases[i].t) < 8) continue;
        unsigned char stored[24] = {0};
        fx_store_double(cases[i].t, stored, 1, cases[i].v);
        ck_assert_double_eq(fx_load_double(cases[i].t, stored, 1), cases[i].expected);
    }
}
END_TEST

START_TEST(arrays_are_indexed_by_element) {
    for (int t = 0; t < FX_N_DTYPES; t++) {
        if (fx_dtype_bits(t) < 8) continue;
        unsigned char array[6 * 8 + 1];
        memset(array, 0xa5, sizeof array);
        for (size_t i = 0; i < 5; i++) fx_store_double(t, array + 1, i, (double)(i % 2));
        for (size_t i = 0; i < 5; i++) ck_assert_double_eq(fx_load_double(t, array + 1, i), (double)(i % 2));
        ck_assert_uint_eq(array[0], 0xa5);
        ck_assert_uint_eq(array[1 + 5 * fx_dtype_bits(t) / 8], 0xa5);
    }
}
END_TEST

START_TEST(grain_of_each_float) {
    for (int t = 0; t < FX_N_DTYPES; t++) {
        double u = fx_unit_roundoff(t), least = fx_smallest(t);
        if (fx_dtype_class_of(t) != FX_CLASS_F) {
            ck_assert(u == 0 && least == 0);
            continue;
        }
        ck_assert_double_eq(fx_round_to(t, 1 + u), 1);
        ck_assert_double_eq(fx_round_to(t, 1 + 2 * u), 1 + 2 * u);
        ck_assert_double_eq(fx_round_to(t, least), least);
        ck_assert_double_eq(fx_round_to(t, least / 2), 0);
    }
    ck_assert_double_eq(fx_unit_roundoff(FX_F16), ldexp(1, -11));
    ck_assert_double_eq(fx_unit_roundoff(FX_BF16), ldexp(1, -8));
    ck_assert_str_eq(fx_dtype_name(FX_F8E4M3), "f8e4m3");
}
END_TEST

int main(void) {
    Suite *s = suite_create("dtype");
    TCase *t = tcase_create("dtype");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_pattern_round_trips);
    tcase_add_test(t, values_agree_with_the_compiler);
    tcase_add_test(t, midpoints_round_to_even);
    tcase_add_test(t, random_doubles_round_to_nearest);
    tcase_add_test(t, no_double_rounding);
    tcase_add_test(t, overflow_as_each_format_says);
    tcase_add_test(t, integers_truncate_and_saturate);
    tcase_add_test(t, arrays_are_indexed_by_element);
    tcase_add_test(t, grain_of_each_float);
    suite_add_tcase(s, t);
    return run_suite(s);
}
