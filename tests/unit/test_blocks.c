/* Test and bench blocks as fx_tests gives them, and when a result is within a stated tolerance (fx_is_within):
 * expectations written by hand. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

static fx_compilation *compile(const char *text, struct fx_options options) {
    fx_compilation *c;
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &options, &c) == FX_OK, "%s", fx_messages(c));
    return c;
}

static void expect_list(const char *const *list, int n, const char *joined) {
    char text[512] = "";
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", list[i]);
    ck_assert_str_eq(text, joined);
}

static const char spec[] =
    "const alpha = 0.5\n"
    "fn act(v) = relu(v)\n"
    "kernel linear(x: f16[M,K], w: f16[K,N], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }\n"
    "kernel wide[C, D=C*2](x: f32[M,F=2*N], t: f32[O=3]) -> (y: f32[M,F], z: f32[N,D], u: f32[C]) {\n"
    "  y = x\n  z = 1\n  u = 1\n}\n"
    "test linear { M=3 K=4 N=0 s=-inf alpha=0.25 act=tanh init: normal w.init: integers(-2, 3)"
    " seed: 18446744073709551615 tol: exact }\n"
    "\nbench linear { vs: [unfused, cublaslt] warmup: 100 rep: 1000 init: ones tol: abs <= 0.063 x.init: normal(30,1.5) }\n"
    "test wide { M=3 N=2 C=5 O=3 t.init: uniform(-1e-3,1) tol: f16_ulp <= 2 }\n"
    "test wide { F=4 D=2 init: -2 tol: rel <= 0.5 }\n"
    "bench linear { vs: unfused }\n";

static void check_all(const struct fx_test *t, int n) {
    ck_assert_int_eq(n, 5);
    ck_assert_str_eq(t[0].kernel, "linear");
    ck_assert_str_eq(t[0].file, "spec.fx");
    ck_assert_int_eq(t[0].line, 9);
    ck_assert(!t[0].is_bench && t[0].has_seed && t[0].seed == UINT64_MAX && t[0].tolerance.kind == FX_TOL_EXACT);
    ck_assert(t[0].n_beside == 0 && t[0].warmup == 0 && t[0].rep == 0);
    expect_list(t[0].extents, t[0].n_extents, "M=3 K=4 N=0");
    expect_list(t[0].defines, t[0].n_defines, "alpha=0.25 act=tanh");
    expect_list(t[0].inputs, t[0].n_inputs, "s=-inf x=normal w=integers(-2,3)");
    ck_assert(t[1].is_bench && !t[1].has_seed && t[1].line == 11 && t[1].warmup == 100 && t[1].rep == 1000);
    ck_assert(t[1].tolerance.kind == FX_TOL_ABS && t[1].tolerance.value == 0.063);
    expect_list(t[1].beside, t[1].n_beside, "unfused cublaslt");
    expect_list(t[1].inputs, t[1].n_inputs, "w=ones x=normal(30,1.5)");
    ck_assert_int_eq(t[1].n_extents + t[1].n_defines, 0);
    /* F binds N; nothing binds C but -D; O is fixed and agrees */
    expect_list(t[2].extents, t[2].n_extents, "M=3 N=2");
    expect_list(t[2].defines, t[2].n_defines, "C=5");
    expect_list(t[2].inputs, t[2].n_inputs, "t=uniform(-0.001,1)");
    ck_assert(t[2].tolerance.kind == FX_TOL_F16_ULP && t[2].tolerance.value == 2);
    expect_list(t[3].extents, t[3].n_extents, "F=4");
    expect_list(t[3].defines, t[3].n_defines, "D=2");
    expect_list(t[3].inputs, t[3].n_inputs, "x=-2 t=-2");
    ck_assert(t[3].tolerance.kind == FX_TOL_REL && t[3].tolerance.value == 0.5);
    expect_list(t[4].beside, t[4].n_beside, "unfused");
    ck_assert(t[4].tolerance.kind == FX_TOL_DERIVED);
}

START_TEST(blocks_as_data) {
    int n;
    const char *const defines[] = {"C=5"};
    struct fx_options only = FX_OPTIONS, oracle = FX_OPTIONS;
    only.tests_only = true;
    fx_compilation *c = compile(spec, only);
    const struct fx_test *t = fx_tests(c, &n);
    check_all(t, n);
    ck_assert_ptr_null(fx_get_plan(c));
    fx_close(c);
    /* `wide` does not compile without C; with it the blocks are the same */
    oracle.oracle_only = true;
    oracle.defines = defines;
    oracle.n_defines = 1;
    c = compile(spec, oracle);
    t = fx_tests(c, &n);
    check_all(t, n);
    fx_close(c);
}
END_TEST

START_TEST(blocks_of_one_kernel) {
    int n;
    struct fx_options o = FX_OPTIONS;
    o.kernel = "linear";
    fx_compilation *c = compile(spec, o);
    const struct fx_test *t = fx_tests(c, &n);
    ck_assert_int_eq(n, 3);
    for (int i = 0; i < n; i++) ck_assert_str_eq(t[i].kernel, "linear");
    fx_close(c);
}
END_TEST

/* What a gradient takes is named by the rules of grad.c, also where it is of a gradient or of what is written in place;
 * `init:` is of these inputs. */
START_TEST(blocks_of_gradients) {
    static const char text[] =
        "kernel f(x: f16[M,K], s: f32, e: inout f32[M]) -> (l: f32, at: i64[M], z: f32[M,O=2*M]) {\n"
        "  at = argmax[K](x)\n  l = sum[M,K](x * x * s) * s\n  e = e * sum[K](x)\n  z = e * l\n}\n"
        "kernel g = grad(f, wrt: x, s, e, saved: z)\n"
        "kernel h = grad(g, wrt: x, s, dl, de)\n"
        "kernel h2 = grad(h, wrt: x, ddx)\n"
        "test g { M=5 K=7 s=2 init: 1 dl.init: 2 }\n"
        "test h2 { M=5 O=10 s=2 init: 1 ddx_.init: 2 }\n"
        "test h { s=2 init: 1 }\n";
    static const char *const inputs[] = {"s=2 x=1 e=1 z=1 de=1 dz=1 dl=2",
        "s=2 x=1 e=1 z=1 de=1 dl=1 dz=1 ddx=1 dds=1 dde_=1 dds_=1 dddl=1 ddde=1 ddx_=2",
        "s=2 x=1 e=1 z=1 de=1 dl=1 dz=1 ddx=1 dds=1 dde_=1"};
    int n;
    fx_compilation *c = compile(text, (struct fx_options)FX_OPTIONS);
    const struct fx_test *t = fx_tests(c, &n);
    ck_assert_int_eq(n, 3);
    for (int i = 0; i < n; i++) {
        const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), t[i].kernel);
        int n_inputs = 0;
        expect_list(t[i].inputs, t[i].n_inputs, inputs[i]);
        for (int p = 0; p < k->n_params; p++) {
            bool is_given = false;
            for (int j = 0; j < t[i].n_inputs; j++)
                is_given |= strncmp(t[i].inputs[j], k->params[p].name, strlen(k->params[p].name)) == 0 &&
                            t[i].inputs[j][strlen(k->params[p].name)] == '=';
            ck_assert_msg(is_given == k->params[p].is_input, "%s of %s", k->params[p].name, k->name);
            n_inputs += k->params[p].is_input;
        }
        ck_assert_int_eq(n_inputs, t[i].n_inputs);
    }
    fx_close(c);
}
END_TEST

START_TEST(no_blocks_after_errors) {
    int n = 7;
    fx_compilation *c;
    const char text[] = "kernel f(x: f32[M]) -> y: f32[M] { y = x + z }\ntest f { M=3 }";
    ck_assert_int_eq(fx_compile(text, sizeof text - 1, "spec.fx", NULL, &c), FX_ERR_COMPILE);
    ck_assert(fx_tests(c, &n) == NULL && n == 0);
    fx_close(c);
}
END_TEST

/* A label that stands in an equation alone is bound by nothing, and the search for what is bound ends all the same. */
START_TEST(labels_of_equations_alone) {
    static const struct {
        const char *text;
        int status;
        const char *message;
    } rows[] = {
        {"kernel p(x: f32[D=2*E]) -> y: f32[D] { y = x }\ntest p { D=4 }", FX_OK, ""},
        {"kernel p(x: f32[D=2*E]) -> y: f32[D] { y = x }\ntest p { E=4 }", FX_ERR_COMPILE, "FX2041"},
        {"kernel p(x: f32[P=G*C]) -> y: f32[P] { y = x{P->(G=4,C)}{(G,C)->P} }\ntest p { P=8 }", FX_OK, ""},
        {"kernel p(x: f32[A=B+C, D=B]) -> y: f32[A] { y = sum[D](x) }\ntest p { A=8 D=2 }", FX_OK, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fx_compilation *c;
        struct fx_options only = FX_OPTIONS;
        only.tests_only = true;
        ck_assert_int_eq(fx_compile(rows[i].text, strlen(rows[i].text), "spec.fx", &only, &c), rows[i].status);
        ck_assert_msg(strstr(fx_messages(c), rows[i].message), "%s", fx_messages(c));
        fx_close(c);
        ck_assert_int_eq(fx_compile(rows[i].text, strlen(rows[i].text), "spec.fx", NULL, &c), FX_ERR_COMPILE);
        ck_assert_msg(strstr(fx_messages(c), "FX2001"), "%s", fx_messages(c));
        fx_close(c);
    }
}
END_TEST

/* What a block gives compiles in, alone with its kernel, whether or not the kernel uses it. */
START_TEST(defines_compile) {
    const char *const defines[] = {"alpha=2", "act=tanh", "unused=3"};
    char text[2048];
    struct fx_options o = FX_OPTIONS;
    o.kernel = "linear";
    o.defines = defines;
    o.n_defines = 3;
    snprintf(text, sizeof text, "%sconst unused = 1\n", spec);
    fx_close(compile(text, o));
}
END_TEST

START_TEST(unfused_sets_aside_the_contract) {
    const char text[] =
        "kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require, kernels: 1 } { y = relu(x @ w) }";
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c = compile(text, o);
    ck_assert_int_eq(fx_get_plan(c)->kernels[0].n_launches, 1);
    fx_close(c);
    o.unfused = true;
    c = compile(text, o);
    ck_assert_int_eq(fx_get_plan(c)->kernels[0].n_launches, 2);
    fx_close(c);
}
END_TEST

/* ---- tolerances ---- */

struct point {
    enum fx_tolerance_kind kind;
    double tolerance, largest;
    enum fx_dtype t;
    double got, value, bound;
    bool is_right;
};

static const struct point points[] = {
    /* the unrounded value counts: 0.1 lies 2.4e-5 from the nearest f16 */
    {FX_TOL_ABS, 2.5e-5, 1, FX_F16, 0.0999755859375, 0.1, 0, true},
    {FX_TOL_ABS, 2.4e-5, 1, FX_F16, 0.0999755859375, 0.1, 0, false},
    {FX_TOL_ABS, 0, 1, FX_F32, 1.5, 1.5, 0, true},
    {FX_TOL_ABS, 0, 1, FX_F32, 1.5, nextafter(1.5, 2), 0, false},
    /* the derived bound is set aside, narrow or wide */
    {FX_TOL_ABS, 0.25, 1, FX_F32, 1.25, 1, 0, true},
    {FX_TOL_ABS, 0.25, 1, FX_F32, 1.2500001, 1, INFINITY, false},
    {FX_TOL_REL, 0.25, 1, FX_F32, -7.5, -10, 0, true},
    {FX_TOL_REL, 0.25, 1, FX_F32, -7.4, -10, 100, false},
    {FX_TOL_REL, 0.25, 1, FX_F32, 1e-30, 0, 1, false},
    /* NaN and infinities are demanded, and only where the value has them */
    {FX_TOL_ABS, 1e30, 1, FX_F32, NAN, NAN, 0, true},
    {FX_TOL_ABS, 1e30, 1, FX_F32, 1, NAN, 0, false},
    {FX_TOL_ABS, 1e30, 1, FX_F32, NAN, 1, INFINITY, false},
    {FX_TOL_ABS, 1e30, 1, FX_F32, INFINITY, INFINITY, 0, true},
    {FX_TOL_ABS, 1e30, 1, FX_F32, -INFINITY, INFINITY, 0, false},
    {FX_TOL_REL, 1e30, 1, FX_F32, FLT_MAX, INFINITY, 0, false},
    {FX_TOL_REL, 0.5, 1, FX_F32, INFINITY, 1, 0, false},
    {FX_TOL_ABS, 100, 1, FX_F16, INFINITY, 65530, 0, true}, /* rounds to infinity */
    {FX_TOL_ABS, 100, 1, FX_F16, 65504, 65530, 0, false},
    /* exact: the rounded value and no other, whatever the bound */
    {FX_TOL_EXACT, 0, 1, FX_F16, 0.0999755859375, 0.1, 1, true},
    {FX_TOL_EXACT, 0, 1, FX_F16, 0.10003662109375, 0.1, 1, false},
    {FX_TOL_EXACT, 0, 1, FX_F32, NAN, NAN, 0, true},
    {FX_TOL_EXACT, 0, 1, FX_F32, 1, 2, INFINITY, false},
    {FX_TOL_EXACT, 0, 1, FX_F32, -0.0, 0, 0, true},
    /* ulps of f16 at the tensor's largest: 2^-10 up to below 2, 1 at 1024, 32 at 65504, 2^-24 below 2^-14 and at 0 */
    {FX_TOL_F16_ULP, 1, 1, FX_F32, 0x1p-10, 0, 0, true},
    {FX_TOL_F16_ULP, 1, 1, FX_F32, 0x1.01p-10, 0, 0, false},
    {FX_TOL_F16_ULP, 1, 1.999, FX_F32, 0x1.01p-10, 0, 0, false},
    {FX_TOL_F16_ULP, 1, 2, FX_F32, 0x1p-9, 0, 0, true},
    {FX_TOL_F16_ULP, 1, 1024, FX_F32, 1, 0, 0, true},
    {FX_TOL_F16_ULP, 1, 1023, FX_F32, 1, 0, 0, false},
    {FX_TOL_F16_ULP, 0.5, 65504, FX_F32, 16, 0, 0, true},
    {FX_TOL_F16_ULP, 0.5, 65504, FX_F32, 16.1, 0, 0, false},
    {FX_TOL_F16_ULP, 1, 0x1p-20, FX_F32, 0x1p-24, 0, 0, true},
    {FX_TOL_F16_ULP, 1, 0, FX_F32, 0x1p-24, 0, 0, true},
    {FX_TOL_F16_ULP, 1, 0, FX_F32, 0x1.1p-24, 0, 0, false},
    {FX_TOL_F16_ULP, 8, 1, FX_F32, NAN, 0, 0, false},
    /* derived: fx_is_right */
    {FX_TOL_DERIVED, 0, 1, FX_F32, 1.25, 1, 0.25, true},
    {FX_TOL_DERIVED, 0, 1, FX_F32, 1.2500001, 1, 0.25, false},
    {FX_TOL_DERIVED, 0, 1, FX_F32, NAN, 1, INFINITY, true},
};

START_TEST(within) {
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const struct point *p = &points[i];
        struct fx_tolerance tolerance = {p->kind, p->tolerance};
        double allowed = -1;
        bool is_right = fx_is_within(&tolerance, p->largest, p->t, p->got, p->value, p->bound, &allowed);
        ck_assert_msg(is_right == p->is_right, "point %zu: %.17g for %.17g is taken as %s", i, p->got, p->value,
            is_right ? "right" : "wrong");
        ck_assert_msg(
            is_right == fx_is_within(&tolerance, p->largest, p->t, p->got, p->value, p->bound, NULL), "point %zu", i);
        /* what is allowed covers every right finite result */
        if (is_right && isfinite(p->got))
            ck_assert_msg(fabs(p->got - p->value) <= allowed, "point %zu: %.17g allowed", i, allowed);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("blocks");
    TCase *t = tcase_create("blocks");
    tcase_add_test(t, blocks_as_data);
    tcase_add_test(t, blocks_of_one_kernel);
    tcase_add_test(t, blocks_of_gradients);
    tcase_add_test(t, no_blocks_after_errors);
    tcase_add_test(t, labels_of_equations_alone);
    tcase_add_test(t, defines_compile);
    tcase_add_test(t, unfused_sets_aside_the_contract);
    tcase_add_test(t, within);
    suite_add_tcase(s, t);
    return run_suite(s);
}
