/* Functions with axis parameters, bodies and several results, and the prelude's softmax and logsumexp: expanded by the
 * checker, evaluated by the oracle, whether or not a schedule takes them, and compared with closed forms. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

static fx_compilation *compile(const char *text) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &options, &c) == FX_OK, "%s", fx_messages(c));
    return c;
}

enum { ROWS = 6, COLUMNS = 5 };
static const float rows[ROWS][COLUMNS] = {
    {1, 2, 3, 4, 5},
    {1000, 1001, 999, 1000, 1000},
    {-1000, -1001, -999, -1000, -1000},
    {-INFINITY, 0, -INFINITY, 1, -INFINITY},
    {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
    {0.5f, NAN, 1, 2, 3},
};

static void evaluate(const char *text, int output, int64_t n, double *value) {
    fx_compilation *c = compile(text);
    struct fx_host x = {.dtype = FX_F32, .rank = 2, .extents = {ROWS, COLUMNS}, .data = rows};
    char message[256];
    fx_status status = fx_evaluate(
        c, NULL, &x, 1, output, NULL, n, value, NULL, FX_BOUND_WORST, NULL, message, sizeof message);
    ck_assert_msg(status == FX_OK, "%s", message);
    fx_close(c);
}

static void expect(double got, double want, int row, int column) {
    bool same = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= 1e-12 * (1 + fabs(want));
    ck_assert_msg(same, "[%d,%d]: got %.17g, expected %.17g", row, column, got, want);
}

/* The sum of exp(x - shift) over a row in long double. */
static long double sum_exp(const float *row, long double shift) {
    long double s = 0;
    for (int t = 0; t < COLUMNS; t++) s += expl((long double)row[t] - shift);
    return s;
}

START_TEST(softmax_of_rows) {
    double z[ROWS * COLUMNS], l[ROWS];
    evaluate("kernel f(x: f32[B,T]) -> z: f32[B,T] { z = softmax[T](x) }", 0, ROWS * COLUMNS, z);
    evaluate("kernel f(x: f32[B,T]) -> l: f32[B] { l = logsumexp[T](x) }", 0, ROWS, l);
    for (int b = 0; b < ROWS; b++) {
        long double top = rows[b][0], s;
        for (int t = 1; t < COLUMNS; t++) top = isnan(rows[b][t]) || rows[b][t] > top ? rows[b][t] : top;
        if (!isfinite((double)top)) top = 0;
        s = sum_exp(rows[b], top);
        bool has_nan = b == 5;
        expect(l[b], has_nan ? NAN : s == 0 ? -INFINITY : (double)(logl(s) + top), b, 0);
        for (int t = 0; t < COLUMNS; t++)
            expect(z[b * COLUMNS + t],
                has_nan  ? NAN
                : s == 0 ? 0
                         : (double)(expl((long double)rows[b][t] - top) / s),
                b, t);
    }
}
END_TEST

START_TEST(several_results) {
    static const char text[] =
        "fn ends[K](v, scale = 2) -> lo, hi {\n  lo = scale * min[K](v)\n  t = max[K](v)\n  hi = scale * t\n}\n"
        "fn twice[A,B](v) -> r { r = sum[A](max[B](v)) }\n"
        "kernel f(x: f32[B,T]) -> (lo: f32[B], hi: f32[B], all: f32[], r: f32[]) {\n"
        "  lo, hi = ends[T](x, scale: 3)\n  a, all = ends[B,T](x)\n  r = twice[B,T](where(x < 0, 0, x))\n}\n";
    double lo[ROWS], hi[ROWS], all, r;
    evaluate(text, 0, ROWS, lo);
    evaluate(text, 1, ROWS, hi);
    evaluate(text, 2, 1, &all);
    evaluate(text, 3, 1, &r);
    expect(lo[0], 3, 0, 0);
    expect(hi[0], 15, 0, 0);
    expect(hi[1], 3003, 1, 0);
    expect(lo[3], -INFINITY, 3, 0);
    expect(all, NAN, 0, 0);
    expect(r, NAN, 0, 0);
}
END_TEST

static const struct {
    const char *text, *code, *says;
} rejects[] = {
    {"fn g[K](v) = sum[K](v)\nkernel f(x: f32[M]) -> y: f32[M] { y = x - g(x) }", "FX2011", "g takes 1 label"},
    {"fn g[A,B](v) = sum[A,B](v)\nkernel f(x: f32[M]) -> y: f32[M] { y = x - g[M](x) }", "FX2011",
        "g takes 2 labels, 1 was given"},
    {"fn g(v) = v\nkernel f(x: f32[M]) -> y: f32[M] { y = g[M](x) }", "FX2011", "g takes 0 labels"},
    {"fn g(v) = sum[M](v)\nkernel f(x: f32[M]) -> y: f32[M] { y = x - g(x) }", "FX2003", "fn g[M](..)"},
    {"fn g[K](v) = sum[K](v)\nkernel f(x: f32[M], z: f32[N]) -> y: f32[M] { y = x - g[N](x) }", "FX2003",
        "the operand has no axis N"},
    {"fn g(v) -> a, b { a = v\n b = v }\nkernel f(x: f32[M]) -> y: f32[M] { y = g(x) }", "FX2011",
        "g has 2 results, 1 is wanted"},
    {"fn g(v) -> a, b { a = v\n b = v }\nkernel f(x: f32[M]) -> y: f32[M] { y, p, q = g(x) }", "FX2011",
        "g has 2 results, 3 are wanted"},
    {"fn g(v) -> a, b { a = v }\nkernel f(x: f32[M]) -> y: f32[M] { y, p = g(x) }", "FX2014", "the result b of g"},
    {"kernel f(x: f32[M]) -> y: f32[M] { y, p = x + 1 }", "FX2011", "2 targets"},
    {"fn g(v) -> a { a = g(v) }\nkernel f(x: f32[M]) -> y: f32[M] { y = g(x) }", "FX2012", "g calls itself"},
    {"fn g(v) -> a { t = v + v\n a = t }\nkernel f(x: f32[M]) -> y: f32[M] { y = g(x) + t }", "FX2001",
        "nothing here is named t"},
    {"fn g[K](v) -> a { a = sum[K,K](v) }\nkernel f(x: f32[M]) -> y: f32[M] { y = g[M](x) + x }", "FX2004",
        "M is named twice"},
};

START_TEST(rejects_text) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(rejects[_i].text, strlen(rejects[_i].text), "spec.fx", &options, &c), FX_ERR_COMPILE);
    ck_assert_msg(strstr(fx_messages(c), rejects[_i].code) && strstr(fx_messages(c), rejects[_i].says), "%s:\n%s",
        rejects[_i].text, fx_messages(c));
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("fns");
    TCase *t = tcase_create("expanded");
    tcase_add_test(t, softmax_of_rows);
    tcase_add_test(t, several_results);
    tcase_add_loop_test(t, rejects_text, 0, sizeof rejects / sizeof *rejects);
    suite_add_tcase(s, t);
    return run_suite(s);
}
