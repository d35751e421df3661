/* The pure functions of plan.h: expressions with their edges, every refusal of fx_bind_extents, the choice of a
 * variant, the layout of the workspace. Input: plans written out here. */
#include <check.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "graph/terms.h"
#include "plan.h"
#include "suite.h"
#include "symbolic/plan_expr.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define EXPR(...) {COUNT(((const struct fx_term[]){__VA_ARGS__})), (const struct fx_term[]){__VA_ARGS__}}
#define C(v) {FX_T_CONST, v}
#define X(e) {FX_T_EXTENT, e}
#define OP(op) {FX_T_##op, 0}

/* ---- expressions ---- */

static bool binary(enum fx_term_op op, int64_t a, int64_t b, int64_t *out) {
    const struct fx_term terms[] = {C(a), C(b), {op, 0}};
    return fx_expr_eval(&(struct fx_expr){3, terms}, &(struct fx_env){0}, out);
}

START_TEST(arithmetic) {
    static const struct {
        enum fx_term_op op;
        int64_t a, b, want;
    } rows[] = {
        {FX_T_ADD, 2, 3, 5},
        {FX_T_SUB, 2, 3, -1},
        {FX_T_MUL, -4, 3, -12},
        {FX_T_DIV, 7, 2, 3},
        {FX_T_DIV, -7, 2, -4},
        {FX_T_DIV, 7, -2, -4},
        {FX_T_DIV, -7, -2, 3},
        {FX_T_DIV, 7, 0, 0},
        {FX_T_MOD, 7, 3, 1},
        {FX_T_MOD, -7, 3, 2},
        {FX_T_MOD, 7, -3, -2},
        {FX_T_MOD, 7, 0, 0},
        {FX_T_DIV_EXACT, 6, -2, -3},
        {FX_T_DIV_EXACT, 0, 5, 0},
        {FX_T_CDIV, 7, 2, 4},
        {FX_T_CDIV, 8, 2, 4},
        {FX_T_CDIV, -7, 2, -3},
        {FX_T_CDIV, 7, 0, 0},
        {FX_T_MIN, 2, 3, 2},
        {FX_T_MAX, 2, 3, 3},
        {FX_T_LT, 2, 3, 1},
        {FX_T_LT, 3, 3, 0},
        {FX_T_LE, 3, 3, 1},
        {FX_T_LE, 4, 3, 0},
        {FX_T_EQ, 3, 3, 1},
        {FX_T_EQ, 3, 4, 0},
        {FX_T_AND, 2, 4, 1},
        {FX_T_AND, 2, 0, 0},
        {FX_T_OR, 0, 4, 1},
        {FX_T_OR, 0, 0, 0},
        {FX_T_MOD, INT64_MIN, -1, 0},
        {FX_T_CDIV, INT64_MAX, 1, INT64_MAX},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        int64_t out;
        ck_assert_msg(binary(rows[i].op, rows[i].a, rows[i].b, &out) && out == rows[i].want, "row %d gives %lld", i,
            (long long)out);
    }
}
END_TEST

START_TEST(overflow) {
    int64_t out;
    ck_assert(!binary(FX_T_ADD, INT64_MAX, 1, &out));
    ck_assert(!binary(FX_T_SUB, INT64_MIN, 1, &out));
    ck_assert(!binary(FX_T_MUL, INT64_MAX, 2, &out));
    ck_assert(!binary(FX_T_DIV, INT64_MIN, -1, &out));
    ck_assert(!binary(FX_T_CDIV, INT64_MIN, -1, &out));
    ck_assert(!binary(FX_T_DIV_EXACT, INT64_MIN, -1, &out));
}
END_TEST

START_TEST(exact_division) {
    int64_t out;
    ck_assert(!binary(FX_T_DIV_EXACT, 7, 2, &out));
    ck_assert(!binary(FX_T_DIV_EXACT, -7, 7000, &out));
    ck_assert(!binary(FX_T_DIV_EXACT, 7, 0, &out));
    ck_assert(!binary(FX_T_DIV_EXACT, 0, 0, &out));
}
END_TEST

/* Whatever the padding of terms holds. */
START_TEST(equal) {
    struct fx_term a[2], b[2];
    const struct fx_expr x = {2, a}, y = {2, b}, shorter = {1, b};
    memset(a, 0x55, sizeof a);
    memset(b, 0xaa, sizeof b);
    for (int i = 0; i < 2; i++) a[i].op = b[i].op = FX_T_CONST, a[i].v = b[i].v = i;
    ck_assert(expr_equal(&x, &y) && !expr_equal(&x, &shorter));
    b[1].v = 7;
    ck_assert(!expr_equal(&x, &y));
    b[1].v = a[1].v;
    b[0].op = FX_T_EXTENT;
    ck_assert(!expr_equal(&x, &y));
}
END_TEST

START_TEST(leaves) {
    const int64_t extents[] = {5, 7};
    const unsigned align[] = {1, 16};
    const struct fx_expr extent = EXPR(X(1)), aligned = EXPR({FX_T_ALIGN, 1}), sms = EXPR({FX_T_SM_COUNT, 0}),
                         not = EXPR(X(0), OP(NOT)), empty = {0, NULL}, stride = EXPR({FX_T_STRIDE, 9}),
                         rest = EXPR({FX_T_STRIDE, 9}, C(4), OP(MOD));
    const int64_t strides[10] = {[9] = -6};
    struct fx_env env = {extents, align, 132, strides};
    int64_t out;
    ck_assert(fx_expr_eval(&extent, &env, &out) && out == 7);
    ck_assert(fx_expr_eval(&aligned, &env, &out) && out == 16);
    ck_assert(fx_expr_eval(&sms, &env, &out) && out == 132);
    ck_assert(fx_expr_eval(&not, &env, &out) && out == 0);
    ck_assert(fx_expr_eval(&empty, &env, &out) && out == 0);
    ck_assert(fx_expr_holds(&empty, &env) && fx_expr_holds(&extent, &env) && !fx_expr_holds(&not, &env));
    ck_assert(fx_expr_eval(&stride, &env, &out) && out == -6);
    ck_assert(fx_expr_eval(&rest, &env, &out) && out == 2);
    env.align = NULL;
    env.strides = NULL;
    ck_assert(fx_expr_eval(&stride, &env, &out) && out == 0);
    ck_assert(fx_expr_eval(&aligned, &env, &out) && out == 256);
}
END_TEST

/* What terms_op leaves of `a o b`: constants, or an extent for -1. */
START_TEST(terms_leave_out_what_is_neutral) {
    static const struct {
        enum fx_term_op op;
        int a, b, want_n, want; /* the terms left, and the last one: an operation, or of a single one its value */
    } rows[] = {{FX_T_MUL, -1, 1, 1, 0}, {FX_T_MUL, 1, -1, 1, 0}, {FX_T_ADD, 0, -1, 1, 0}, {FX_T_ADD, -1, 0, 1, 0},
        {FX_T_DIV, -1, 1, 1, 0}, {FX_T_CDIV, -1, 1, 1, 0}, {FX_T_MUL, 3, 1, 1, 3}, {FX_T_ADD, 3, 4, 1, 7},
        {FX_T_DIV, 1, -1, 3, FX_T_DIV}, {FX_T_CDIV, 1, -1, 3, FX_T_CDIV}, {FX_T_MUL, -1, 0, 3, FX_T_MUL},
        {FX_T_ADD, -1, 1, 3, FX_T_ADD}, {FX_T_SUB, 0, -1, 3, FX_T_SUB}, {FX_T_MOD, -1, 1, 3, FX_T_MOD}};
    static jmp_buf oom;
    struct arena a;
    arena_init(&a, &oom);
    for (int after = 0; after < 2; after++) /* behind a whole expression that ends in an operation, or alone */
        for (int i = 0; i < COUNT(rows); i++) {
            struct terms x = {.a = &a};
            if (after) terms_push(&x, FX_T_EXTENT, 1), terms_constant(&x, 2), terms_op(&x, FX_T_MUL);
            terms_push(&x, rows[i].a < 0 ? FX_T_EXTENT : FX_T_CONST, rows[i].a < 0 ? 0 : rows[i].a);
            terms_push(&x, rows[i].b < 0 ? FX_T_EXTENT : FX_T_CONST, rows[i].b < 0 ? 0 : rows[i].b);
            terms_op(&x, rows[i].op);
            const struct fx_expr e = terms_done(&x);
            ck_assert_msg(e.n == rows[i].want_n + 3 * after, "row %d: %d terms", i, e.n);
            ck_assert_int_eq(rows[i].want_n == 1 ? (int)e.terms[e.n - 1].v : (int)e.terms[e.n - 1].op, rows[i].want);
        }
    struct terms x = {.a = &a}; /* the second operand is an expression that begins with 1: it stays */
    terms_push(&x, FX_T_EXTENT, 0), terms_constant(&x, 1), terms_push(&x, FX_T_EXTENT, 1), terms_op(&x, FX_T_SUB);
    terms_op(&x, FX_T_MUL);
    ck_assert_int_eq(x.n, 5);
    arena_release(&a);
}
END_TEST

START_TEST(row_major_strides) {
    const struct fx_param params[] = {{.name = "x", .rank = 3, .extents = {0, 1, 2}, .is_strided = true},
        {.name = "y", .rank = 1, .extents = {0}},
        {.name = "q",
            .rank = 2,
            .extents = {2, 0},
            .is_strided = true,
            .packed = {.factor = 8, .storage = FX_I32, .axis = 1}}};
    const struct fx_kernel k = {.n_params = 3, .params = params};
    int64_t s[3 * FX_MAX_RANK], extents[] = {17, 1, 5};
    memset(s, 0x55, sizeof s);
    const int64_t untouched = s[FX_MAX_RANK];
    fx_row_major_strides(&k, extents, s);
    ck_assert_int_eq(s[0], 5);
    ck_assert_int_eq(s[1], 0); /* one element: no stride */
    ck_assert_int_eq(s[2], 1);
    ck_assert_int_eq(s[FX_MAX_RANK], untouched);
    ck_assert_int_eq(s[2 * FX_MAX_RANK], 3); /* 17 fields take three words */
    ck_assert_int_eq(s[2 * FX_MAX_RANK + 1], 1);
    extents[0] = 0;
    fx_row_major_strides(&k, extents, s);
    ck_assert_int_eq(s[0], 0);
    ck_assert_int_eq(s[2], 0);
    extents[0] = 3, extents[1] = extents[2] = INT64_C(1) << 40;
    fx_row_major_strides(&k, extents, s);
    ck_assert_int_eq(s[0], INT64_MAX);
    ck_assert_int_eq(s[1], INT64_C(1) << 40);
}
END_TEST

START_TEST(malformed) {
    const struct fx_expr two = EXPR(C(1), C(2)), lone = EXPR(OP(ADD)), none = EXPR(OP(NOT)), one = EXPR(C(1), OP(MIN)),
                         unknown = EXPR(C(1), C(1), {(enum fx_term_op)99, 0}), negative = EXPR(X(-1));
    const struct fx_expr *all[] = {&two, &lone, &none, &one, &unknown, &negative};
    struct fx_term deep[200];
    int64_t out;
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert(!fx_expr_eval(all[i], &(struct fx_env){0}, &out));
        ck_assert(!fx_expr_holds(all[i], &(struct fx_env){0}));
    }
    for (int i = 0; i < COUNT(deep); i++) deep[i] = (struct fx_term)C(1);
    ck_assert(!fx_expr_eval(&(struct fx_expr){COUNT(deep), deep}, &(struct fx_env){0}, &out));
}
END_TEST

/* ---- extents: linear(x: f16[M,K], w: f16[K,N], s: f32) -> y: f32[M,N,H], H = 2 ---- */

enum { M, K, N, H };
static const struct fx_extent extents_of[] = {{"M", -1, false}, {"K", -1, false}, {"N", -1, false}, {"H", 2, false}};
static const struct fx_param params_of[] = {
    {.name = "x", .dtype = FX_F16, .is_input = true, .rank = 2, .extents = {M, K}},
    {.name = "w", .dtype = FX_F16, .is_input = true, .rank = 2, .extents = {K, N}},
    {.name = "s", .dtype = FX_F32, .is_scalar = true, .is_input = true},
    {.name = "y", .dtype = FX_F32, .is_output = true, .rank = 3, .extents = {M, N, H}}};
static const struct fx_check checks_of[] = {{EXPR(X(N), C(5), OP(MOD), C(0), OP(EQ)), "N is no multiple of 5"}};
static const struct fx_buffer buffers_of[] = {{"h", FX_BUFFER_WORKSPACE, EXPR(X(M), X(K), OP(MUL))},
                                              {"z", FX_BUFFER_WORKSPACE, EXPR(C(0))},
                                              {"g", FX_BUFFER_WORKSPACE, EXPR(X(N), C(256), OP(MUL))}};
static const struct fx_kernel linear = {.name = "linear",
    .n_extents = 4,
    .n_params = 4,
    .n_buffers = 3,
    .n_checks = 1,
    .extents = extents_of,
    .params = params_of,
    .buffers = buffers_of,
    .checks = checks_of};

struct shapes { struct fx_shape x, w, y; };
static struct shapes good(void) {
    return (struct shapes){{FX_F16, 2, {3, 4}}, {FX_F16, 2, {4, 5}}, {FX_F32, 3, {3, 5, 2}}};
}

static char message[256];
static int64_t bound[4];
static fx_status bind(const struct shapes *s) {
    const struct fx_shape *all[] = {&s->x, &s->w, NULL, &s->y};
    message[0] = 0;
    return fx_bind_extents(&linear, all, bound, message, sizeof message);
}

static void refused(const struct shapes *s, const char *want) {
    ck_assert_int_eq(bind(s), FX_ERR_USAGE);
    ck_assert_str_eq(message, want);
}

START_TEST(binds) {
    struct shapes s = good();
    ck_assert_int_eq(bind(&s), FX_OK);
    ck_assert(bound[M] == 3 && bound[K] == 4 && bound[N] == 5 && bound[H] == 2);
    const struct fx_shape *inputs[] = {&s.x, &s.w, NULL, NULL};
    ck_assert_int_eq(fx_bind_extents(&linear, inputs, bound, message, sizeof message), FX_OK);
    s.x.extents[0] = s.y.extents[0] = 0;
    ck_assert_int_eq(bind(&s), FX_OK);
    s.x.extents[0] = s.y.extents[0] = INT64_C(1) << 40;
    ck_assert_int_eq(bind(&s), FX_OK);
}
END_TEST

START_TEST(refusals) {
    struct shapes s = good();
    s.x.rank = 1;
    refused(&s, "x has rank 1, but f16[M,K] is expected");
    s = good(), s.w.dtype = FX_BF16;
    refused(&s, "w is bf16, but f16[K,N] is expected");
    s = good(), s.w.extents[0] = 7;
    refused(&s, "axis K of w is 7, but of x it is 4");
    s = good(), s.y.extents[1] = 15;
    refused(&s, "axis N of y is 15, but of w it is 5");
    s = good(), s.y.extents[0] = 8;
    refused(&s, "axis M of y is 8, but of x it is 3");
    s = good(), s.y.extents[2] = 3;
    refused(&s, "axis H of y is 3, but the spec fixes H = 2");
    s = good(), s.x.extents[1] = -1;
    refused(&s, "axis K of x is -1, but an extent lies between 0 and 2^40");
    s = good(), s.x.extents[0] = (INT64_C(1) << 40) + 1;
    refused(&s, "axis M of x is 1099511627777, but an extent lies between 0 and 2^40");
    s = good(), s.x.extents[0] = INT64_C(1) << 40, s.x.extents[1] = 257;
    refused(&s, "x has more than 2^48 elements");
    s = good(), s.w.extents[1] = s.y.extents[1] = 6;
    refused(&s, "N is no multiple of 5");
    const struct fx_shape *first[] = {&s.x, NULL, NULL, NULL};
    ck_assert_int_eq(fx_bind_extents(&linear, first, bound, message, sizeof message), FX_ERR_USAGE);
    ck_assert_str_eq(message, "extent N is not known: no argument with that axis was given");
    ck_assert_int_eq(fx_bind_extents(&linear, first, bound, message, 8), FX_ERR_USAGE);
    ck_assert_str_eq(message, "extent ");
}
END_TEST

START_TEST(empty_is_never_huge) {
    struct shapes s = good();
    s.x = (struct fx_shape){FX_F16, 2, {INT64_C(1) << 40, 0}};
    s.w.extents[0] = 0, s.y.extents[0] = INT64_C(1) << 40;
    ck_assert_int_eq(bind(&s), FX_OK);
}
END_TEST

/* ---- packed: w4(w: u4[M,K] packed(i32, K, lsb), s: f32[K]) ---- */

static const struct fx_extent packed_extents[] = {{"M", -1, false}, {"K", -1, false}};
static const struct fx_param packed_params[] = {
    {.name = "w", .dtype = FX_U4, .is_input = true, .packed = {8, FX_I32, 1, false}, .rank = 2, .extents = {0, 1}},
    {.name = "s", .dtype = FX_F32, .is_input = true, .rank = 1, .extents = {1}}};
static const struct fx_kernel w4 = {
    .name = "w4", .n_extents = 2, .n_params = 2, .extents = packed_extents, .params = packed_params};

START_TEST(packed) {
    static const struct { enum fx_dtype dtype; int64_t words, k; const char *says; } rows[] = {
        {FX_I32, 2, 16, NULL}, {FX_I32, 3, 17, NULL}, {FX_I32, 0, 0, NULL}, {FX_I32, 1, 1, NULL},
        {FX_I32, 2, 17, "w has 2 words of i32 along K, but K = 17, 8 a word, takes 3"},
        {FX_I32, 16, 16, "w has 16 words of i32 along K, but K = 16, 8 a word, takes 2"},
        {FX_U4, 2, 16, "w is u4, but i32[M,K/8] is expected"}};
    for (int i = 0; i < COUNT(rows); i++) {
        const struct fx_shape w = {rows[i].dtype, 2, {3, rows[i].words}}, s = {FX_F32, 1, {rows[i].k}};
        const struct fx_shape *shapes[] = {&w, &s}, *alone[] = {&w, NULL};
        fx_status status = fx_bind_extents(&w4, shapes, bound, message, sizeof message);
        ck_assert_int_eq(status, rows[i].says ? FX_ERR_USAGE : FX_OK);
        if (rows[i].says) ck_assert_str_eq(message, rows[i].says);
        else ck_assert(bound[0] == 3 && bound[1] == rows[i].k);
        ck_assert_int_eq(
            fx_bind_extents(&w4, alone, bound, message, sizeof message), FX_ERR_USAGE); /* words do not tell K */
    }
    ck_assert_int_eq(fx_argument_dtype(&packed_params[0]), FX_I32);
    ck_assert_int_eq(fx_argument_extent(&packed_params[0], 1, (int64_t[]){3, 17}), 3);
    ck_assert_int_eq(fx_argument_extent(&packed_params[0], 0, (int64_t[]){3, 17}), 3);
    ck_assert_int_eq(fx_argument_extent(&packed_params[1], 0, (int64_t[]){3, 17}), 17);
}
END_TEST

/* ---- conditions on scalars: s(i: i64, u: u64, b: bool, d: f64, h: f16), one extent ---- */

enum { S_I, S_U, S_B, S_D, S_H };
#define S(p) {FX_T_SCALAR, p}
static const struct fx_param scalar_params[] = {{.name = "i", .dtype = FX_I64, .is_scalar = true, .is_input = true},
    {.name = "u", .dtype = FX_U64, .is_scalar = true, .is_input = true},
    {.name = "b", .dtype = FX_BOOL, .is_scalar = true, .is_input = true},
    {.name = "d", .dtype = FX_F64, .is_scalar = true, .is_input = true},
    {.name = "h", .dtype = FX_F16, .is_scalar = true, .is_input = true}};

static const struct {
    struct fx_expr holds;
    int64_t i;
    uint64_t u;
    double d;
    const char *says; /* NULL: holds */
} scalar_rows[] = {
    {EXPR(S(S_U), C(1), OP(ADD), C(0), OP(LT), OP(NOT)), 0, UINT64_MAX - 1, 0, NULL},
    {EXPR(S(S_U), C(1), OP(ADD), C(0), OP(LT), OP(NOT)), 0, UINT64_MAX, 0,
        "c: it goes beyond 64 bits, as u is 18446744073709551615"},
    {EXPR(S(S_U), C(10), OP(MOD), C(5), OP(EQ)), 0, UINT64_MAX, 0, NULL}, /* a double would have 6 */
    {EXPR(S(S_U), C(3), OP(DIV_EXACT), C(3), OP(MUL), S(S_U), OP(EQ)), 0, UINT64_MAX, 0, NULL},
    {EXPR(S(S_U), C(7), OP(DIV_EXACT), C(0), OP(LT), OP(NOT)), 0, UINT64_MAX, 0,
        "c: `/` must divide exactly, but u is 18446744073709551615"},
    {EXPR(S(S_U), C(2), OP(DIV), C(INT64_MAX), OP(EQ)), 0, UINT64_MAX, 0, NULL},
    {EXPR(S(S_I), C(2), OP(DIV), C(-4), OP(EQ)), -7, 0, 0, NULL},
    {EXPR(S(S_I), C(-2), OP(DIV), C(-4), OP(EQ)), 7, 0, 0, NULL},
    {EXPR(S(S_I), C(3), OP(MOD), C(2), OP(EQ)), -7, 0, 0, NULL},
    {EXPR(S(S_I), C(-3), OP(MOD), C(-2), OP(EQ)), 7, 0, 0, NULL},
    {EXPR(S(S_I), C(0), OP(DIV), S(S_I), C(0), OP(MOD), OP(ADD), C(0), OP(EQ)), 7, 0, 0, NULL},
    {EXPR(S(S_I), S(S_U), OP(LT)), -1, UINT64_MAX, 0, NULL}, /* as numbers, not as words */
    {EXPR(S(S_I), C(INT64_MIN), OP(EQ)), INT64_MIN, 0, 0, NULL},
    {EXPR(S(S_I), S(S_D), OP(DIV_EXACT), {FX_T_REAL, 0x3ff8000000000000}, OP(EQ)), 3, 0, 2, NULL}, /* 3 / 2.0 == 1.5 */
    {EXPR(S(S_I), S(S_D), OP(DIV), C(1), OP(EQ)), 3, 0, 2, NULL},
    {EXPR({FX_T_REAL, 0x3ff0000000000000}, {FX_T_REAL, 0x4000000000000000}, OP(DIV_EXACT), S(S_D), OP(EQ)), 0, 0, 0.5,
        NULL}, /* 1.0 / 2.0 == d, of reals alone */
    {EXPR({FX_T_REAL, 0x4008000000000000}, C(2), OP(DIV_EXACT), S(S_D), OP(EQ)), 0, 0, 1.5, NULL},
    {EXPR(S(S_B), X(0), C(12), OP(EQ), OP(AND)), 0, 0, 0, NULL},
    {EXPR(S(S_B), OP(NOT), X(0), C(13), OP(EQ), OP(OR)), 0, 0, 0, "c: b is 1, E is 12"},
    {EXPR(S(S_D), S(S_H), OP(LT)), 0, 0, 0.4, NULL},
    {EXPR(S(S_D), S(S_H), OP(LT), S(S_H), C(0), OP(LT), OP(OR)), 0, 0, 0.1, NULL},
    {EXPR(S(S_H), S(S_D), OP(LT)), 0, 0, 0.1, "c: h is 0.5, d is 0.10000000000000001"},
    {EXPR(S(S_I), S(S_U), OP(MIN)), 0, 0, 0, "c: it cannot be evaluated"},
    {EXPR(S(S_I), {FX_T_SM_COUNT, 0}, OP(LT)), 0, 0, 0, "c: it cannot be evaluated"},
    {EXPR({FX_T_SCALAR, 9}, C(0), OP(EQ)), 0, 0, 0, "c: it cannot be evaluated"},
    {EXPR(X(0), C(13), OP(EQ)), 0, 0, 0, NULL}, /* on extents alone: the business of fx_bind_extents */
};

START_TEST(conditions_on_scalars) {
    const struct fx_extent extents[] = {{"E", -1, false}};
    const struct fx_check check = {scalar_rows[_i].holds, "c"};
    const struct fx_kernel k = {.name = "s",
        .n_extents = 1,
        .n_params = 5,
        .n_checks = 1,
        .extents = extents,
        .params = scalar_params,
        .checks = &check};
    const bool b = true;
    const uint16_t half = 0x3800;
    const int64_t extent = 12;
    const void *scalars[] = {&scalar_rows[_i].i, &scalar_rows[_i].u, &b, &scalar_rows[_i].d, &half};
    message[0] = 0;
    fx_status status = fx_check_scalars(&k, &extent, scalars, message, sizeof message);
    ck_assert_str_eq(message, scalar_rows[_i].says ? scalar_rows[_i].says : "");
    ck_assert_int_eq(status, scalar_rows[_i].says ? FX_ERR_USAGE : FX_OK);
}
END_TEST

/* ---- variants, workspace, kernels ---- */

START_TEST(variants) {
    const struct fx_variant rows[] = {
        {.entry = "big", .needs = EXPR({FX_T_ALIGN, 0}, C(16), OP(EQ)), .prefers = EXPR(C(100), X(0), OP(LT))},
        {.entry = "any", .prefers = EXPR(C(100), X(0), OP(LT))},
        {.entry = "small", .prefers = EXPR(X(0), C(10), OP(LT))}};
    const struct fx_launch l = {.n_variants = 3, .variants = rows}, strict = {.n_variants = 1, .variants = rows};
    int64_t extent = 200;
    unsigned align = 16;
    struct fx_env env = {&extent, &align, 1, NULL};
    ck_assert_int_eq(fx_choose_variant(&l, &env), 0);
    extent = 50;
    ck_assert_int_eq(fx_choose_variant(&l, &env), 0);
    extent = 5;
    ck_assert_int_eq(fx_choose_variant(&l, &env), 2);
    align = 4;
    ck_assert_int_eq(fx_choose_variant(&strict, &env), -1);
    extent = 50;
    ck_assert_int_eq(fx_choose_variant(&l, &env), 1);
}
END_TEST

/* Of a kind the cheapest that may run; of equal ones the first. Behind one of a kind another kind is not asked. */
START_TEST(variants_by_cost) {
    const struct fx_variant rows[] = {{.entry = "never", .kind = 1, .needs = EXPR(C(0)), .cost = EXPR(C(1))},
        {.entry = "steep", .kind = 1, .cost = EXPR(X(0), X(0), OP(MUL))},
        {.entry = "flat", .kind = 1, .needs = EXPR({FX_T_ALIGN, 0}, C(16), OP(EQ)), .cost = EXPR(C(100))},
        {.entry = "as_flat", .kind = 1, .cost = EXPR(C(100))},
        {.entry = "other", .kind = 2, .cost = EXPR(C(2))},
        {.entry = "plain", .kind = 1}};
    const struct fx_launch l = {.n_variants = 6, .variants = rows}, last = {.n_variants = 2, .variants = rows + 4};
    int64_t extent = 9;
    unsigned align = 16;
    struct fx_env env = {&extent, &align, 1, NULL};
    ck_assert_int_eq(fx_choose_variant(&l, &env), 1);
    extent = 11;
    ck_assert_int_eq(fx_choose_variant(&l, &env), 2);
    align = 8;
    ck_assert_int_eq(fx_choose_variant(&l, &env), 3);
    extent = INT64_C(1) << 40; /* beyond 64 bits: the dearest */
    ck_assert_int_eq(fx_choose_variant(&l, &env), 3);
    ck_assert_int_eq(fx_choose_variant(&last, &env), 0);
}
END_TEST

START_TEST(workspace) {
    int64_t extents[] = {3, 100, 2, 2};
    struct fx_env env = {.extents = extents};
    const struct fx_partition all = fx_get_partition(&linear, 0);
    size_t offsets[3], total;
    ck_assert(fx_workspace_layout(&linear, &all, &env, offsets, &total));
    ck_assert(offsets[0] == 0 && offsets[1] == 512 && offsets[2] == 512 && total == 1024);
    ck_assert(fx_workspace_layout(&linear, &all, &env, NULL, &total) && total == 1024);
    extents[M] = INT64_C(1) << 40, extents[K] = INT64_C(1) << 40;
    ck_assert(!fx_workspace_layout(&linear, &all, &env, offsets, &total));
    extents[M] = -1, extents[K] = 1;
    ck_assert(!fx_workspace_layout(&linear, &all, &env, offsets, &total));
}
END_TEST

/* Of several partitions the first that takes the extents is taken, the last one where none does; each has a workspace
 * of its own. */
START_TEST(partitions) {
    const struct fx_partition of[] = {
        {.name = "few", .n_launches = 1, .n_buffers = 1, .takes = EXPR(X(M), C(16), OP(LE))},
        {.name = "beside",
            .first_launch = 1,
            .n_launches = 2,
            .first_buffer = 1,
            .takes = EXPR(X(M), {FX_T_SM_COUNT, 0}, OP(LE))},
        {.name = "many", .first_launch = 3, .n_launches = 1, .first_buffer = 1, .n_buffers = 2, .takes = EXPR(C(0))}};
    struct fx_kernel k = linear;
    int64_t extents[] = {16, 100, 2, 2};
    struct fx_env env = {.extents = extents, .sm_count = 20};
    size_t offsets[] = {7, 7, 7}, total;
    ck_assert_int_eq(fx_partition_count(&k), 1);
    ck_assert_int_eq(fx_choose_partition(&k, &env), 0);
    ck_assert_int_eq(fx_get_partition(&k, 0).n_buffers, 3);
    const struct fx_variant even = {.needs = EXPR(X(M), C(2), OP(MOD), C(0), OP(EQ))};
    const struct fx_launch launches[] = {{0}, {0}, {.n_variants = 1, .variants = &even}, {0}};
    k.n_launches = 4, k.launches = launches, k.n_partitions = 3, k.partitions = of;
    ck_assert_int_eq(fx_partition_count(&k), 3);
    ck_assert_int_eq(fx_choose_partition(&k, &env), 0);
    extents[M] = 20;
    ck_assert_int_eq(fx_choose_partition(&k, &env), 1);
    extents[M] = 19;
    ck_assert_int_eq(fx_choose_partition(&k, &env), 2); /* no variant of a launch fits */
    extents[M] = 21;
    ck_assert_int_eq(fx_choose_partition(&k, &env), 2);
    for (int i = 0; i < 3; i++) ck_assert_str_eq(fx_get_partition(&k, i).name, of[i].name);
    ck_assert(fx_workspace_layout(&k, &of[0], &env, offsets, &total));
    ck_assert(offsets[0] == 0 && offsets[1] == 7 && total == 2304);
    ck_assert(fx_workspace_layout(&k, &of[1], &env, offsets, &total) && total == 0);
    ck_assert(fx_workspace_layout(&k, &of[2], &env, offsets, &total));
    ck_assert(offsets[1] == 0 && offsets[2] == 0 && total == 512);
}
END_TEST

START_TEST(kernels) {
    const struct fx_kernel two[] = {{.name = "a"}, {.name = "b"}};
    const struct fx_plan plan = {.n_kernels = 2, .kernels = two}, none = {0};
    ck_assert_ptr_eq(fx_find_kernel(&plan, NULL), &two[0]);
    ck_assert_ptr_eq(fx_find_kernel(&plan, "b"), &two[1]);
    ck_assert_ptr_null(fx_find_kernel(&plan, "c"));
    ck_assert_ptr_null(fx_find_kernel(&none, NULL));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("plan");
    tcase_add_test(tests, arithmetic);
    tcase_add_test(tests, overflow);
    tcase_add_test(tests, exact_division);
    tcase_add_test(tests, equal);
    tcase_add_test(tests, leaves);
    tcase_add_test(tests, terms_leave_out_what_is_neutral);
    tcase_add_test(tests, row_major_strides);
    tcase_add_test(tests, malformed);
    tcase_add_test(tests, binds);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, empty_is_never_huge);
    tcase_add_test(tests, packed);
    tcase_add_loop_test(tests, conditions_on_scalars, 0, COUNT(scalar_rows));
    tcase_add_test(tests, variants);
    tcase_add_test(tests, variants_by_cost);
    tcase_add_test(tests, workspace);
    tcase_add_test(tests, partitions);
    tcase_add_test(tests, kernels);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
