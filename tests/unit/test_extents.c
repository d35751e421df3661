/* Equations between extents and conditions: compiled from text, solved by fx_bind_extents from every side, refused with
 * both sides named; what else a parameter may be than a plain tensor. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

static const char spec[] =
    "kernel f[Q=2*R](x: f32[M, F=2*N+Q], w: f32[N], r: f32[R], z: f32[Q]) -> y: f32[M,F] {\n"
    "  require M % 16 == 0 && F >= 4\n"
    "  y = x\n"
    "}\n"
    "kernel g(x: f32[L], s: f32[G=L/8]) -> y: f32[L] { y = x * 1 }\n"
    "kernel h[H=L//3](x: f32[L], s: f32[T=L%4]) -> y: f32[H,T] { y = 1 }\n";

static fx_compilation *compile(const char *text, const char *define) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.defines = &define;
    options.n_defines = define != NULL;
    fx_status status = fx_compile(text, strlen(text), "spec.fx", &options, &c);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    return c;
}

static int64_t extent_of(const struct fx_kernel *k, const int64_t *extents, const char *name) {
    for (int i = 0; i < k->n_extents; i++)
        if (strcmp(k->extents[i].name, name) == 0) return extents[i];
    ck_abort_msg("no extent %s", name);
    return -1;
}

/* Binds the first n inputs of kernel `name` to one-dimensional or given shapes; -1 as an extent leaves the parameter
 * out. */
static fx_status bind(
    fx_compilation *c, const char *name, const int64_t (*shapes)[2], int n, int64_t *extents, char *message) {
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), name);
    struct fx_shape s[8];
    const struct fx_shape *p[8] = {0};
    for (int i = 0; i < n; i++) {
        if (shapes[i][0] < 0) continue;
        s[i] = (struct fx_shape){
            .dtype = FX_F32, .rank = shapes[i][1] >= 0 ? 2 : 1, .extents = {shapes[i][0], shapes[i][1]}};
        p[i] = &s[i];
    }
    return fx_bind_extents(k, p, extents, message, 256);
}

START_TEST(solves_from_every_side) {
    fx_compilation *c = compile(spec, NULL);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), "f");
    int64_t e[16];
    char message[256];
    /* F, R known: N and Q follow. N, R known: F follows. */
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{32, 14}, {-1, -1}, {2, -1}, {-1, -1}}, 4, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "N"), 5);
    ck_assert_int_eq(extent_of(k, e, "Q"), 4);
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{32, 14}, {5, -1}, {-1, -1}, {4, -1}}, 4, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "R"), 2);
    k = fx_find_kernel(fx_get_plan(c), "h");
    ck_assert_int_eq(bind(c, "h", (int64_t[][2]){{14, -1}, {2, -1}}, 2, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "H"), 4);
    fx_close(c);
}
END_TEST

static const struct {
    const char *kernel;
    int64_t shapes[4][2];
    int n;
    const char *says; /* part of the message; NULL: accepted */
} cases[] = {
    {"f", {{32, 14}, {5, -1}, {2, -1}, {4, -1}}, 4, NULL},
    {"f", {{32, 14}, {5, -1}, {3, -1}, {4, -1}}, 4, "Q = 2 * R does not hold"},
    {"f", {{32, 13}, {-1, -1}, {2, -1}, {4, -1}}, 4, "no extent N satisfies F = 2 * N + Q"},
    {"f", {{32, 3}, {-1, -1}, {2, -1}, {4, -1}}, 4, "no extent N satisfies"}, /* it would be negative */
    {"f", {{30, 14}, {5, -1}, {2, -1}, {4, -1}}, 4, "`require M % 16 == 0 && F >= 4` does not hold"},
    {"g", {{16, -1}, {2, -1}}, 2, NULL},
    {"g", {{17, -1}, {2, -1}}, 2, "G = L / 8 does not hold: `/` must divide exactly, but L is 17, G is 2"},
    {"g", {{16, -1}, {3, -1}}, 2, "G = L / 8 does not hold"},
    {"h", {{14, -1}, {3, -1}}, 2, "T = L % 4 does not hold"},
};

START_TEST(refuses) {
    fx_compilation *c = compile(spec, NULL);
    int64_t e[16];
    char message[256] = "";
    fx_status status = bind(c, cases[_i].kernel, cases[_i].shapes, cases[_i].n, e, message);
    ck_assert_msg((status == FX_OK) == (cases[_i].says == NULL), "case %d: %s", _i, message);
    if (cases[_i].says) ck_assert_msg(strstr(message, cases[_i].says) != NULL, "case %d says: %s", _i, message);
    fx_close(c);
}
END_TEST

START_TEST(fixed_extents_fix_others) {
    static const char *const text = "kernel f(x: f32[F=2*N, M=T], w: f32[N], t: f32[T]) -> y: f32[F,M] { y = x }\n";
    fx_compilation *c = compile(text, "N=6");
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int64_t fixed[8];
    for (int i = 0; i < k->n_extents; i++) fixed[i] = k->extents[i].value;
    ck_assert_int_eq(extent_of(k, fixed, "F"), 12);
    ck_assert_int_eq(extent_of(k, fixed, "M"), -1);
    fx_close(c);
    c = compile(text, "F=8");
    k = &fx_get_plan(c)->kernels[0];
    for (int i = 0; i < k->n_extents; i++) fixed[i] = k->extents[i].value;
    ck_assert_int_eq(extent_of(k, fixed, "N"), 4);
    fx_close(c);
}
END_TEST

/* One unknown extent, x[N] and s[A] given where their extents are known: found, or refused. */
static const struct {
    const char *equation; /* of L over A and B */
    int64_t l, a, b;      /* -1: unknown */
    int64_t want;         /* what the unknown comes to; -1: refused */
} solved[] = {
    {"A/8", 3, -1, 0, 24}, {"A/8", -1, 24, 0, 3}, {"A/8", -1, 25, 0, -1}, {"(A+1)*B", 12, 3, -1, 3},
    {"(A+1)*B", 12, -1, 4, 2}, {"(A+1)*B", 12, -1, 5, -1}, {"(A+1)*B", 3, -1, 4, -1}, {"3*(A+B)-A", 17, -1, 5, 1},
    {"3*(A+B)-A", 17, 1, -1, 5}, {"3*(A+B)-A", 16, -1, 5, -1}, {"2*L-A", -1, 7, 0, 7}, {"L*A-B", -1, 3, 10, 5},
    {"L*A-B", -1, 1, 10, -1}, {"A*B", 0, 0, -1, -1}, {"A*B", 5, 0, -1, -1}, {"A-B", 3, -1, 4, 7}, {"A-B", 3, 4, -1, 1},
    {"A-B", 5, 4, -1, -1}, {"A/2+A/3", 5, -1, 0, 6}, {"A/2+A/3", 10, -1, 0, 12}, {"A/2+A/2", 3, -1, 0, -1},
    {"(A+B)/B-1", 4, -1, 3, 12}, {"B/2*A", 6, -1, 4, 3}, {"B//2*A", 4, -1, 5, 2}, {"B%4+A", 9, -1, 7, 6},
    {"0-A+B", 2, -1, 9, 7}, {"(B-A)*(0-3)", 12, -1, 5, 9}, {"A*1099511627776*1048576*B", 0, -1, 4, 0},
    {"A*1099511627776*1048576*B", 0, -1, 65536, -1}, /* beyond 64 bits */
};

START_TEST(solves_what_is_linear) {
    char text[256], message[256] = "";
    int64_t e[16], got;
    const char *unknown = solved[_i].l < 0 ? "L" : solved[_i].a < 0 ? "A" : "B";
    snprintf(text, sizeof text, "kernel f[A,B,L=%s](x: f32[%s%s%s]) -> y: f32[L,A,B] { y = 1 }\n", solved[_i].equation,
        solved[_i].l < 0   ? ""
        : solved[_i].a < 0 ? "L,"
                           : "L,",
        solved[_i].a < 0 ? "" : "A",
        solved[_i].b < 0   ? ""
        : solved[_i].a < 0 ? "B"
                           : ",B");
    fx_compilation *c = compile(text, NULL);
    struct fx_shape s = {.dtype = FX_F32};
    const struct fx_shape *shapes[] = {&s, NULL};
    if (solved[_i].l >= 0) s.extents[s.rank++] = solved[_i].l;
    if (solved[_i].a >= 0) s.extents[s.rank++] = solved[_i].a;
    if (solved[_i].b >= 0) s.extents[s.rank++] = solved[_i].b;
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    fx_status status = fx_bind_extents(k, shapes, e, message, sizeof message);
    got = status == FX_OK ? extent_of(k, e, unknown) : -1;
    ck_assert_msg(got == solved[_i].want, "%s: %s is %lld; %s", solved[_i].equation, unknown, (long long)got, message);
    if (status) ck_assert_msg(strstr(message, " satisfies L = ") && strstr(message, " is "), "%s", message);
    fx_close(c);
}
END_TEST

/* A label that only a rounded quotient mentions: the arguments must give it. */
START_TEST(rounding_is_not_undone) {
    fx_compilation *c = compile("kernel f(x: f32[Q=(T-1)//2], t: f32[T]) -> y: f32[Q] { y = x }", NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_shape x = {.dtype = FX_F32, .rank = 1, .extents = {3}},
                          t = {.dtype = FX_F32, .rank = 1, .extents = {8}};
    const struct fx_shape *one[] = {&x, NULL, NULL}, *both[] = {&x, &t, NULL};
    int64_t e[8];
    char message[256];
    ck_assert_int_eq(fx_bind_extents(k, both, e, message, sizeof message), FX_OK);
    ck_assert_int_eq(fx_bind_extents(k, one, e, message, sizeof message), FX_ERR_USAGE);
    ck_assert_str_eq(message,
        "extent T is not known: no argument with that axis was given, and Q = (T - 1) // 2 may hold for more than one");
    fx_close(c);
}
END_TEST

/* ---- labels of outputs alone ---- */

static const char outputs_alone[] =
    "kernel f(x: f32[M]) -> (y: f32[M,N], z: f32[P,Q=2*P]) {\n  y = x + f32(idx(N))\n  z = f32(idx(P) + idx(Q))\n}\n";

START_TEST(outputs_bind) {
    fx_compilation *c = compile(outputs_alone, NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    struct fx_shape x = {.dtype = FX_F32, .rank = 1, .extents = {5}},
                    y = {.dtype = FX_F32, .rank = 2, .extents = {5, 7}},
                    z = {.dtype = FX_F32, .rank = 2, .extents = {3, 6}};
    const struct fx_shape *all[] = {&x, &y, &z}, *without[] = {&x, NULL, &z};
    int64_t e[4];
    char message[256] = "";
    ck_assert_msg(fx_bind_extents(k, all, e, message, sizeof message) == FX_OK, "%s", message);
    ck_assert(e[0] == 5 && e[1] == 7 && e[2] == 3 && e[3] == 6);
    z.extents[1] = 7; /* the equation is held to */
    ck_assert_int_eq(fx_bind_extents(k, all, e, message, sizeof message), FX_ERR_USAGE);
    z.extents[1] = 6;
    y.extents[0] = 4; /* the input comes first */
    ck_assert_int_eq(fx_bind_extents(k, all, e, message, sizeof message), FX_ERR_USAGE);
    ck_assert_msg(strstr(message, "axis M of y is 4, but of x it is 5") != NULL, "%s", message);
    ck_assert_int_eq(fx_bind_extents(k, without, e, message, sizeof message), FX_ERR_USAGE);
    ck_assert_msg(strstr(message, "extent N is not known") != NULL, "%s", message);
    fx_close(c);
}
END_TEST

/* ---- conditions on scalars, as fx_evaluate sees them ---- */

static const struct {
    const char *require, *p, *q; /* of f(x: f32[M], p: f32, q: f32), M = 12 */
    const char *says;            /* how the message ends; NULL: holds */
} conditions[] = {
    {"0 <= p && p < 1", "0.5", "0", NULL},
    {"0 <= p && p < 1", "1", "0", "`require 0 <= p && p < 1` does not hold (f, line 2): p is 1"},
    {"0 <= p && p < 1", "nan", "0", "): p is nan"},
    {"p <= 0.1", "0.1", "0", NULL}, /* the literal is what f32 holds, as in an expression */
    {"p == 0.1 && q == -0.7", "0.1", "-0.7", NULL},
    {"M % 4 == 0 && q > 0.5", "0", "0.75", NULL},
    {"M % 4 == 0 && q > 0.5", "0", "0.25", "): M is 12, q is 0.25"},
    {"M % 5 == 0 && q > 0.5", "0", "0.75", "): M is 12, q is 0.75"},
    {"M / p == 24", "0.5", "0", NULL},  /* real division: one is floating-point */
    {"M // p == 4", "2.5", "0", NULL},  /* 4.8 */
    {"M // p == -5", "-2.5", "0", NULL},
    {"M % p == 2", "2.5", "0", NULL},
    {"M / 8 * p > 0", "1", "0", "`M / 8` must divide exactly (f, line 2)"},
    {"p != q || p > 3", "2", "2", "): p is 2, q is 2"},
    {"!(p > q)", "2", "inf", NULL},
    {"-p < 0", "2", "0", NULL},
    {"scale == 0.25 && !(scale * 8 != 2)", "0", "0", NULL}, /* a constant, checked at once */
    {"p * 1000 > 0.1 - scale", "0", "0", NULL}, /* a constant: 0.25 */
};

START_TEST(requires_of_scalars) {
    char text[512], message[256] = "";
    snprintf(text, sizeof text,
        "const scale = 0.25\nkernel f(x: f32[M], p: f32, q: f32) -> y: f32[M] { require %s\n y = x * p + q }\n",
        conditions[_i].require);
    fx_compilation *c = compile(text, NULL);
    const float x[12] = {0}, p = strtof(conditions[_i].p, NULL), q = strtof(conditions[_i].q, NULL);
    const struct fx_host inputs[] = {{.dtype = FX_F32, .rank = 1, .extents = {12}, .data = x},
        {.dtype = FX_F32, .data = &p}, {.dtype = FX_F32, .data = &q}};
    double y[12];
    fx_status status = fx_evaluate(
        c, NULL, inputs, 3, 0, NULL, 12, y, NULL, FX_BOUND_WORST, NULL, message, sizeof message);
    ck_assert_msg(status == (conditions[_i].says ? FX_ERR_USAGE : FX_OK), "%s: %s", conditions[_i].require, message);
    if (conditions[_i].says)
        ck_assert_msg(strstr(message, conditions[_i].says) != NULL, "%s says: %s", conditions[_i].require, message);
    fx_close(c);
}
END_TEST

/* What a fn requires of its labels, scalars and constants is required of the kernel that calls it, at each call for
 * itself. */
static const char fns[] =
    "fn part[K](v, n, s = 1) -> r {\n  require K % n == 0 && n > 1\n  require s > 0\n  r = v * s\n}\n"
    "kernel f(x: f32[M,N], p: f32) -> y: f32[M,N] {\n  y = part[N](x, 4, p) + part[N](x, 4, p) + part[M,N](x, 5)\n}\n";

START_TEST(fns_require) {
    fx_compilation *c = compile(fns, NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    struct fx_shape x = {.dtype = FX_F32, .rank = 2, .extents = {5, 8}};
    const struct fx_shape *shapes[] = {&x, NULL, NULL};
    const float p = -1;
    const void *scalars[] = {NULL, &p, NULL};
    int64_t e[8];
    char message[256];
    ck_assert_int_eq(k->n_checks, 3); /* N % 4, p > 0 once, M * N % 5; 1 > 0 is known */
    ck_assert_int_eq(fx_bind_extents(k, shapes, e, message, sizeof message), FX_OK);
    ck_assert_int_eq(fx_check_scalars(k, e, scalars, message, sizeof message), FX_ERR_USAGE);
    ck_assert_str_eq(message, "`require s > 0` of part does not hold (f, line 3): p is -1");
    x.extents[0] = 3;
    ck_assert_int_eq(fx_bind_extents(k, shapes, e, message, sizeof message), FX_ERR_USAGE);
    ck_assert_msg(strstr(message, "`require K % n == 0 && n > 1` of part does not hold") == message, "%s", message);
    fx_close(c);
}
END_TEST

/* ---- parameters that are not plain tensors ---- */

START_TEST(in_place) {
    static const char text[] = "kernel f(x: inout f32[M,N], b: f32[N]) -> s: f32[M,N] { s = x * 2\n x = x + b\n }";
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    char message[256] = "";
    const float x[6] = {1, 2, 3, 4, 5, 6}, b[3] = {10, 20, 30};
    const struct fx_host inputs[] = {{.dtype = FX_F32, .rank = 2, .extents = {2, 3}, .data = x},
        {.dtype = FX_F32, .rank = 1, .extents = {3}, .data = b}};
    double v[6];
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(text, strlen(text), "spec.fx", &options, &c), FX_OK);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    ck_assert_int_eq(k->n_params, 3);
    ck_assert(k->params[0].is_input && k->params[0].is_output && k->params[1].is_input && !k->params[1].is_output &&
              !k->params[2].is_input);
    ck_assert_msg(
        fx_evaluate(c, NULL, inputs, 2, 0, NULL, 6, v, NULL, FX_BOUND_WORST, NULL, message, sizeof message) == FX_OK,
        "%s", message);
    for (int i = 0; i < 6; i++) ck_assert_double_eq(v[i], (double)(x[i] + b[i % 3]));
    ck_assert_int_eq(
        fx_evaluate(c, NULL, inputs, 2, 1, NULL, 6, v, NULL, FX_BOUND_WORST, NULL, message, sizeof message), FX_OK);
    for (int i = 0; i < 6; i++) ck_assert_double_eq(v[i], (double)(2 * x[i]));
    fx_close(c);
}
END_TEST

/* The kernels of a spec by structure: how many there are, and how many of its buffers hold what goes to a parameter
 * last. */
static const struct {
    const char *text;
    int n_launches, n_buffers;
} in_places[] = {
    {"kernel f(x: inout f32[M,N], b: f32[N]) { x = relu(x + b) }", 1, 0},
    {"kernel f(x: inout f32[M,N] strided, b: f32[N,M] strided) { x = relu(x + b) }", 1, 0},
    {"kernel f(x: inout f32[B,T]) { x = softmax[T](x) }", 1, 0},
    {"kernel f(x: inout f32[B,T]) { x = exp(x - max[T](x)) / sum[T](exp(x - max[T](x))) }", 1, 0},
    {"kernel f(x: inout f32[T,B]) { x = x - mean[T](x) }", 1, 0},
    {"kernel f(x: inout f32[B,T]) { x = cumsum[T](x) }", 1, 0},
    {"kernel f(s: inout f32[R], a: f32[R,K]) { s = s + sum[K](a) }", 1, 0},
    {"kernel f(s: inout f32[R], a: f32[R,K]) -> y: f32[R] { s = s + sum[K](a)\n y = s * 2 }", 1, 0},
    /* every thread of a row reads what one of them writes */
    {"kernel f(s: inout f32[R], a: inout f32[R,K]) { t = s + sum[K](a)\n a = a * s / t\n s = t }", 2, 1},
    {"kernel f(c: inout f32[M,N], a: f16[M,K], b: f16[K,N]) with { fuse: require } { c = c + a @ b }", 1, 0},
    {"kernel f(a: inout f32[M,N], b: inout f32[M,N]) { t = a\n a = b\n b = t }", 1, 0},
    {"kernel f(x: inout f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = x @ w\n x = 0.5 * x }", 2, 0},
    {"kernel f(x: inout f32[M]) { x = x[M: size(M) - 1 - idx(M)] }", 2, 1},
    /* phases of one launch: all blocks wait, then the copy runs */
    {"kernel f(x: inout f32[M]) with { fuse: require } { x = x[M: size(M) - 1 - idx(M)] }", 1, 2},
    /* accumulators of several sums; a factor that is computed as it is loaded */
    {"kernel f(c: inout f32[M,N], a: f16[M,K], b: f16[K,F=2*N]) with { fuse: require } { l, r = halves[F->N](a @ b)\n c = c + l * r }",
        1, 0},
    {"kernel f(x: inout f16[M,K], s: f32[K], w: f16[K,N]) -> y: f16[M,N] { y = (x * s) @ w\n x = 0.5 * x }", 3, 1},
    {"kernel f(x: inout f16[M,K], w: f16[L,N], i: i64[M]) -> y: f16[M,N] with { fuse: require } { y = (x[M: i] ?? 0){K->L} @ w\n x = 0.5 * x }",
        1, 2},
    {"kernel f(x: inout f32[M,N], i: i64[M]) { x = x[M: i] ?? 0 }", 2, 1},
    {"kernel f(x: inout i64[N], t: i64[V]) { x = t[V: x] ?? 0 }", 1, 0},
    {"kernel f(x: inout f32[M,K=8], w: f32[K,N=K]) { x = (x @ w)[N: idx(K)] }", 2, 1},
    {"kernel f(x: inout f32[M,N], y: inout f32[N,M]) { s = x\n x = x + sum[N](y)\n y = y + sum[M](s) }", 3, 1},
};

START_TEST(in_place_kernels) {
    fx_compilation *c = compile(in_places[_i].text, NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_partition p = fx_get_partition(k, fx_partition_count(k) - 1); /* at nominal extents */
    ck_assert_msg(p.n_launches == in_places[_i].n_launches && p.n_buffers == in_places[_i].n_buffers,
        "%s: %d launches, %d buffers\n%s", in_places[_i].text, p.n_launches, p.n_buffers, k->receipt);
    fx_close(c);
}
END_TEST

/* What a variant that takes vectors needs of strides: 1 along the last axis, whole vectors elsewhere; the other variant
 * needs nothing. */
START_TEST(strides_are_conditions) {
    fx_compilation *c = compile("kernel f(x: f32[M,N] strided, w: f32[N]) -> y: f32[M,N] strided { y = x * w }", NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_launch *l = &k->launches[0];
    int64_t extents[] = {4, 8},
            strides[3 * FX_MAX_RANK] = {[0] = -12, [1] = 1, [2 * FX_MAX_RANK] = 8, [2 * FX_MAX_RANK + 1] = 1};
    struct fx_env env = {.extents = extents, .sm_count = 132, .strides = strides};
    int n_strides = 0;
    for (int i = 0; i < l->n_args; i++) n_strides += l->args[i].kind == FX_ARG_STRIDE;
    ck_assert_int_eq(n_strides, 4);
    ck_assert_int_eq(l->n_variants, 2);
    ck_assert(fx_expr_holds(&l->variants[0].needs, &env));
    for (int i = 0; i < 3 * FX_MAX_RANK; i++) {
        int64_t was = strides[i];
        if (was == 0) continue;
        strides[i] = was == 1 ? 2 : was + 2;
        ck_assert(!fx_expr_holds(&l->variants[0].needs, &env));
        ck_assert(fx_expr_holds(&l->variants[1].needs, &env));
        strides[i] = was;
    }
    fx_close(c);
}
END_TEST

/* Operands of mma: 16-byte copies, words side by side, anything. */
START_TEST(strides_choose_variants) {
    static const struct {
        int64_t x[2];       /* strides */
        const char *suffix; /* of the entry that is chosen */
    } views[] = {{{128, 1}, "64x64"}, {{-128, 1}, "64x64"}, {{0, 1}, "64x64"}, {{67, 1}, "64x64_unit"},
        {{1, 64}, "64x64_any"}, {{192, 3}, "64x64_any"}, {{-64, -1}, "64x64_any"}};
    fx_compilation *c = compile("kernel f(x: f16[M,K] strided, w: f16[K,N]) -> y: f16[M,N] { y = x @ w }", NULL);
    const struct fx_launch *l = &fx_get_plan(c)->kernels[0].launches[0];
    int64_t extents[] = {64, 64, 64}, strides[3 * FX_MAX_RANK] = {0};
    struct fx_env env = {.extents = extents, .sm_count = 132, .strides = strides};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        strides[0] = views[i].x[0], strides[1] = views[i].x[1];
        int v = fx_choose_variant(l, &env);
        ck_assert_int_ge(v, 0);
        ck_assert_msg(strcmp(l->variants[v].entry + strlen("fx_f_"), views[i].suffix) == 0,
            "strides %lld, %lld choose %s", (long long)views[i].x[0], (long long)views[i].x[1], l->variants[v].entry);
    }
    fx_close(c);
}
END_TEST

/* Which variant is the faster choice does not depend on whether the extents stand in the spec or come with the
 * arguments. */
START_TEST(fixed_extents_choose_alike) {
    static const struct {
        int64_t b, t;
        const char *fixed; /* of rows that are known to be short, which have teams of their own: the entry */
    } shapes[] = {{4, 100, NULL}, {4, 1000, NULL}, {37, 4000, NULL}, {4, 20000, NULL}, {3, 71, NULL}, {5, 2001, NULL},
        {4096, 8192, NULL}, {3, 7, "fx_f_128x2_keep4_any"}};
    fx_compilation *free_ones = compile("kernel f(x: f32[B,T]) -> z: f32[B] { z = sum[T](x) }", NULL);
    const struct fx_kernel *k = &fx_get_plan(free_ones)->kernels[0];
    int n_kinds = 0;
    const char *last = "";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[128];
        int64_t extents[] = {shapes[i].b, shapes[i].t};
        struct fx_env env = {.extents = extents, .sm_count = 132};
        snprintf(text, sizeof text, "kernel f(x: f32[B=%d,T=%d]) -> z: f32[B] { z = sum[T](x) }", (int)shapes[i].b,
            (int)shapes[i].t);
        fx_compilation *fixed = compile(text, NULL);
        const struct fx_launch *l = &k->launches[fx_get_partition(k, fx_choose_partition(k, &env)).first_launch];
        const struct fx_launch *other = &fx_get_plan(fixed)->kernels[0].launches[0];
        const char *want = l->variants[fx_choose_variant(l, &env)].entry,
                   *got = other->variants[fx_choose_variant(other, &env)].entry;
        ck_assert_msg(strcmp(shapes[i].fixed ? shapes[i].fixed : want, got) == 0, "B=%d T=%d: %s, in the spec %s",
            (int)shapes[i].b, (int)shapes[i].t, want, got);
        n_kinds += strcmp(last, want) != 0;
        last = want;
        fx_close(fixed);
    }
    ck_assert_int_ge(n_kinds, 5);
    fx_close(free_ones);
}
END_TEST

/* Long rows that begin anywhere are read in vectors all the same, where their memory begins at a boundary; a thread of
 * a row that stands in the spec has as many single elements as it needs. */
START_TEST(odd_rows_take_vectors) {
    static const struct {
        const char *extents;
        int64_t m, d;
        unsigned align;
        const char *entry;
    } rows[] = {
        {"M, D", 4096, 1024, 16, "fx_f_8x32_keep4"},
        {"M, D", 4096, 1025, 16, "fx_f_1x128_keep16_any_tight"},
        {"M, D", 4096, 50257, 16, "fx_f_1x1024_keep8_skewed"},
        {"M, D", 4096, 50257, 2, "fx_f_1x1024_any"},
        {"M, D", 4096, 20480, 16, "fx_f_1x512_keep6_pair"},
        {"M, D", 4096, 45056, 16, "fx_f_1x1024_keep6"},
        {"M, D=1000", 4096, 1000, 16, "fx_f_8x32_keep4"},
        {"M, D=515", 4096, 515, 16, "fx_f_1x128_keep5_any_tight"},
        {"M, D=20482", 4096, 20482, 16, "fx_f_1x512"}, /* vectors of two begin where rows do */
        {"M, D=40961", 4096, 40961, 16, "fx_f_1x1024_keep6_skewed"},
        {"M, D=20481", 4096, 20481, 2, "fx_f_1x512_keep41_any_pair"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        const unsigned align[] = {rows[i].align, rows[i].align};
        int64_t extents[] = {rows[i].m, rows[i].d};
        struct fx_env env = {.extents = extents, .align = align, .sm_count = 132};
        snprintf(text, sizeof text, "kernel f(x: bf16[%s]) -> y: bf16[M,D] { y = x - max[D](x) }", rows[i].extents);
        fx_compilation *c = compile(text, NULL);
        const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
        const struct fx_launch *l = &k->launches[fx_get_partition(k, fx_choose_partition(k, &env)).first_launch];
        const char *entry = l->variants[fx_choose_variant(l, &env)].entry;
        ck_assert_msg(strcmp(entry, rows[i].entry) == 0, "%s, M=%d, aligned to %u: %s, not %s", rows[i].extents,
            (int)rows[i].m, rows[i].align, entry, rows[i].entry);
        fx_close(c);
    }
}
END_TEST

/* Lanes along k take an open k from the length on that keeps them busy; a k in the spec has one entry for its rows. */
START_TEST(short_k_leaves_lanes) {
    static const struct {
        const char *text;
        int64_t m, n, k;
        bool is_skinny;
    } products[] = {{"kernel f(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }", 4, 4096, 32, false},
        {"kernel f(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }", 4, 4096, 60, false},
        {"kernel f(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }", 4, 4096, 64, true},
        {"kernel f(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }", 1, 65536, 7, false},
        {"kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }", 4, 4096, 32, true},
        {"kernel f(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }", 4, 4096, 32, true},
        {"kernel f(x: f32[M,K=32], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }", 4, 4096, 32, true}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        fx_compilation *c = compile(products[i].text, NULL);
        const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
        int64_t extents[FX_MAX_EXTENTS];
        char message[256];
        for (int e = 0; e < k->n_extents; e++)
            extents[e] = strcmp(k->extents[e].name, "M") == 0   ? products[i].m
                         : strcmp(k->extents[e].name, "N") == 0 ? products[i].n
                         : strcmp(k->extents[e].name, "K") == 0 ? products[i].k
                                                                : -1;
        ck_assert_int_eq(fx_solve_extents(k, extents, message, sizeof message), FX_OK);
        struct fx_env env = {.extents = extents, .sm_count = 132};
        const struct fx_launch *l = &k->launches[fx_get_partition(k, fx_choose_partition(k, &env)).first_launch];
        const char *entry = l->variants[fx_choose_variant(l, &env)].entry;
        ck_assert_msg((strstr(entry, "skinny") != NULL) == products[i].is_skinny, "%s K=%lld takes %s",
            products[i].text, (long long)products[i].k, entry);
        fx_close(c);
    }
}
END_TEST

/* A running sum over 2^40 elements is more than the oracle keeps. */
START_TEST(oracle_out_of_memory) {
    fx_compilation *c = compile(
        "kernel long_sum(x: f32[M]) -> (s: f32[M], y: f32[T=1099511627776]) { s = 2 * x\n y = cumsum[T](idx(T) * (x[M: 0] ?? 0)) }",
        NULL);
    const float x = 1;
    const struct fx_host input = {.dtype = FX_F32, .rank = 1, .extents = {1}, .data = &x};
    const int64_t last = (INT64_C(1) << 40) - 1;
    char message[256] = "";
    double v;
    ck_assert_int_eq(
        fx_evaluate(c, NULL, &input, 1, 0, NULL, 1, &v, NULL, FX_BOUND_WORST, NULL, message, sizeof message), FX_OK);
    ck_assert_int_eq(
        fx_evaluate(c, NULL, &input, 1, 1, &last, 1, &v, NULL, FX_BOUND_WORST, NULL, message, sizeof message),
        FX_ERR_NOMEM);
    ck_assert_str_eq(message,
        "long_sum: the elements of y asked for need more intermediate values at a time than the oracle keeps, 67108864, or more memory than there is: ask for fewer");
    fx_close(c);
}
END_TEST

/* Operands of a concat have extents that the user wrote under other names. */
START_TEST(concat_names_its_operands) {
    fx_compilation *c = compile(
        "kernel f(x: f32[A], z: f32[B], s: f32[D,E], w: f32[P]) -> y: f32[P] { y = concat[P](x{A->P}, z{B->P}, s{(D,E)->P}) * w }",
        NULL);
    int64_t e[16];
    char message[256];
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{2, -1}, {3, -1}, {2, 4}, {13, -1}}, 4, e, message), FX_OK);
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{2, -1}, {3, -1}, {2, 4}, {6, -1}}, 4, e, message), FX_ERR_USAGE);
    ck_assert_str_eq(message, "P = A + B + D * E does not hold: A is 2, B is 3, D is 2, E is 4, P is 6");
    fx_close(c);
}
END_TEST

/* The promise takes the place of the test of the address in every variant. */
START_TEST(align_is_a_promise) {
    fx_compilation *c = compile("kernel f(x: f32[M=64,N=64] align 64) -> y: f32[M,N] align 16 { y = x * 2 }", NULL);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    ck_assert_int_eq(k->params[0].align, 64);
    ck_assert_int_eq(k->params[1].align, 16);
    for (int v = 0; v < k->launches[0].n_variants; v++)
        for (int i = 0; i < k->launches[0].variants[v].needs.n; i++)
            ck_assert_int_ne(k->launches[0].variants[v].needs.terms[i].op, FX_T_ALIGN);
    fx_close(c);
}
END_TEST

static const struct {
    const char *text, *code;
} rejects[] = {
    {"kernel f(x: f32[F=2*Z]) -> y: f32[F] { y = x }", "FX2001"},
    {"kernel f[P](x: f32[M]) -> y: f32[M] { y = x }", "FX2006"},
    {"kernel f[P=Q, Q=P](x: f32[M]) -> y: f32[M] { y = x }", "FX2006"},
    {"kernel f(x: f32[M], w: f32[F=M*1.5]) -> y: f32[M] { y = x }", "FX2007"},
    {"kernel f(x: f32[M], w: f32[F=relu(M)]) -> y: f32[M] { y = x }", "FX2007"},
    {"kernel f(x: f32[M=3], w: f32[F=2*M], v: f32[F=7]) -> y: f32[M] { y = x }", "FX2005"},
    {"kernel f(x: f32[M], s: f32) -> y: f32[M] { require s\n y = x }", "FX2047"},
    {"kernel f(x: f32[M]) -> y: f32[M] { require 1 < 2\n y = x }", "FX2007"},
    {"const a = 0.5\nkernel f(x: f32[M]) -> y: f32[M] { require a > 1\n y = x }", "FX2047"},
    {"kernel f[T](x: f32[Q=(T-1)//2]) -> y: f32[Q] { y = x }", "FX2006"},
    {"kernel f[T](x: f32[Q=T*T]) -> y: f32[Q] { y = x }", "FX2006"},
    {"kernel f[T](x: f32[Q=8/T]) -> y: f32[Q] { y = x }", "FX2006"},
    {"kernel f(x: f32[M]) -> y: f32[M] { require M % 16\n y = x }", "FX2047"},
    {"kernel f(x: f32[M=3]) -> y: f32[M] { require M % 16 == 0\n y = x }", "FX2047"},
    {"fn g(v, n) -> r { require n > 4\n r = v }\nkernel f(x: f32[M]) -> y: f32[M] { y = g(x, 3) }", "FX2047"},
    {"fn g(v, n) -> r { require n > 4\n r = v }\nkernel f(x: f32[M], p: f32) -> y: f32[M] { y = g(x, 2 * p) }",
        "FX2007"},
    {"fn g(v) -> r { require M > 4\n r = v }\nkernel f(x: f32[M]) -> y: f32[M] { y = g(x) }", "FX2001"},
    {"kernel f(x: f32[M]) -> y: f32[M] { require x > 0\n y = x }", "FX2007"},
    {"kernel f(x: f32[M], M: f32) -> y: f32[M] { require M > 0\n y = x }", "FX2016"},
    {"kernel f(x: f32[M], p: f32) -> y: f32[M] { require exp(p) > 0\n y = x }", "FX2007"},
    {"kernel f(x: f32[M], p: f32 align 16) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M] align 12) -> y: f32[M] { y = x }", "FX1002"},
    {"kernel f(x: f32[M] align 512) -> y: f32[M] { y = x }", "FX1002"},
    {"kernel f(x: f32[M]) -> y: u4[M] packed(i32, M, lsb) { y = x }", "FX2046"},
    {"kernel f(x: inout f32[M]) { y = x }", "FX2014"},
    {"kernel f(x: inout f32) { x = x }", "FX2046"},
    {"kernel f(x: f32[M], z: u4[M]) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M], z: f16[M] packed(i32, M, lsb)) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M], z: u4[M] packed(f32, M, lsb)) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M], z: u4[M] packed(i4, M, lsb)) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M], z: u4[M] packed(i32, N, lsb)) -> y: f32[M] { y = x }", "FX2046"},
    {"kernel f(x: f32[M], z: u4[M] packed(i32, M, middle)) -> y: f32[M] { y = x }", "FX2046"},
};

START_TEST(rejects_text) {
    fx_compilation *c;
    ck_assert_int_eq(fx_compile(rejects[_i].text, strlen(rejects[_i].text), "spec.fx", NULL, &c), FX_ERR_COMPILE);
    ck_assert_msg(strstr(fx_messages(c), rejects[_i].code) != NULL, "%s: %s", rejects[_i].text, fx_messages(c));
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("extents");
    TCase *t = tcase_create("equations");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, solves_from_every_side);
    tcase_add_loop_test(t, refuses, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(t, solves_what_is_linear, 0, sizeof solved / sizeof *solved);
    tcase_add_test(t, rounding_is_not_undone);
    tcase_add_test(t, outputs_bind);
    tcase_add_loop_test(t, requires_of_scalars, 0, sizeof conditions / sizeof *conditions);
    tcase_add_test(t, fns_require);
    tcase_add_test(t, in_place);
    tcase_add_loop_test(t, in_place_kernels, 0, sizeof in_places / sizeof *in_places);
    tcase_add_test(t, strides_are_conditions);
    tcase_add_test(t, strides_choose_variants);
    tcase_add_test(t, fixed_extents_choose_alike);
    tcase_add_test(t, odd_rows_take_vectors);
    tcase_add_test(t, short_k_leaves_lanes);
    tcase_add_test(t, concat_names_its_operands);
    tcase_add_test(t, oracle_out_of_memory);
    tcase_add_test(t, align_is_a_promise);
    tcase_add_test(t, fixed_extents_fix_others);
    tcase_add_loop_test(t, rejects_text, 0, sizeof rejects / sizeof *rejects);
    suite_add_tcase(s, t);
    return run_suite(s);
}
