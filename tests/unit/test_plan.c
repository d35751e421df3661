/* The pure functions of plan.h: expressions with their edges, every refusal of fx_bind_extents, the choice of a variant, the
 * layout of the workspace. Input: plans written out here. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "suite.h"

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
    static const struct { enum fx_term_op op; int64_t a, b, want; } rows[] = {
        {FX_T_ADD, 2, 3, 5},     {FX_T_SUB, 2, 3, -1},   {FX_T_MUL, -4, 3, -12},  {FX_T_DIV, 7, 2, 3},     {FX_T_DIV, -7, 2, -4},
        {FX_T_DIV, 7, -2, -4},   {FX_T_DIV, -7, -2, 3},  {FX_T_DIV, 7, 0, 0},     {FX_T_MOD, 7, 3, 1},     {FX_T_MOD, -7, 3, 2},
        {FX_T_MOD, 7, -3, -2},   {FX_T_MOD, 7, 0, 0},    {FX_T_CDIV, 7, 2, 4},    {FX_T_CDIV, 8, 2, 4},    {FX_T_CDIV, -7, 2, -3},
        {FX_T_CDIV, 7, 0, 0},    {FX_T_MIN, 2, 3, 2},    {FX_T_MAX, 2, 3, 3},     {FX_T_LT, 2, 3, 1},      {FX_T_LT, 3, 3, 0},
        {FX_T_LE, 3, 3, 1},      {FX_T_LE, 4, 3, 0},     {FX_T_EQ, 3, 3, 1},      {FX_T_EQ, 3, 4, 0},      {FX_T_AND, 2, 4, 1},
        {FX_T_AND, 2, 0, 0},     {FX_T_OR, 0, 4, 1},     {FX_T_OR, 0, 0, 0},      {FX_T_MOD, INT64_MIN, -1, 0},
        {FX_T_CDIV, INT64_MAX, 1, INT64_MAX}};
    for (int i = 0; i < COUNT(rows); i++) {
        int64_t out;
        ck_assert_msg(binary(rows[i].op, rows[i].a, rows[i].b, &out) && out == rows[i].want, "row %d gives %lld", i, (long long)out);
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
}
END_TEST

START_TEST(leaves) {
    const int64_t extents[] = {5, 7};
    const unsigned align[] = {1, 16};
    const struct fx_expr extent = EXPR(X(1)), aligned = EXPR({FX_T_ALIGN, 1}), sms = EXPR({FX_T_SM_COUNT, 0}),
                         not = EXPR(X(0), OP(NOT)), empty = {0, NULL};
    struct fx_env env = {extents, align, 132};
    int64_t out;
    ck_assert(fx_expr_eval(&extent, &env, &out) && out == 7);
    ck_assert(fx_expr_eval(&aligned, &env, &out) && out == 16);
    ck_assert(fx_expr_eval(&sms, &env, &out) && out == 132);
    ck_assert(fx_expr_eval(&not, &env, &out) && out == 0);
    ck_assert(fx_expr_eval(&empty, &env, &out) && out == 0);
    ck_assert(fx_expr_holds(&empty, &env) && fx_expr_holds(&extent, &env) && !fx_expr_holds(&not, &env));
    env.align = NULL;
    ck_assert(fx_expr_eval(&aligned, &env, &out) && out == 256);
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
static const struct fx_extent extents_of[] = {{"M", -1}, {"K", -1}, {"N", -1}, {"H", 2}};
static const struct fx_param params_of[] = {
    {.name = "x", .dtype = FX_F16, .rank = 2, .extents = {M, K}},
    {.name = "w", .dtype = FX_F16, .rank = 2, .extents = {K, N}},
    {.name = "s", .dtype = FX_F32, .is_scalar = true},
    {.name = "y", .dtype = FX_F32, .is_output = true, .rank = 3, .extents = {M, N, H}}};
static const struct fx_check checks_of[] = {{EXPR(X(N), C(5), OP(MOD), C(0), OP(EQ)), "N is no multiple of 5"}};
static const struct fx_buffer buffers_of[] = {{"h", FX_BUFFER_WORKSPACE, EXPR(X(M), X(K), OP(MUL))},
                                              {"z", FX_BUFFER_WORKSPACE, EXPR(C(0))},
                                              {"g", FX_BUFFER_WORKSPACE, EXPR(X(N), C(256), OP(MUL))}};
static const struct fx_kernel linear = {.name = "linear", .n_extents = 4, .n_params = 4, .n_buffers = 3, .n_checks = 1,
                                        .extents = extents_of, .params = params_of, .buffers = buffers_of, .checks = checks_of};

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

/* ---- variants, workspace, kernels ---- */

START_TEST(variants) {
    const struct fx_variant rows[] = {
        {.entry = "big", .needs = EXPR({FX_T_ALIGN, 0}, C(16), OP(EQ)), .prefers = EXPR(C(100), X(0), OP(LT))},
        {.entry = "any", .prefers = EXPR(C(100), X(0), OP(LT))},
        {.entry = "small", .prefers = EXPR(X(0), C(10), OP(LT))}};
    const struct fx_launch l = {.n_variants = 3, .variants = rows}, strict = {.n_variants = 1, .variants = rows};
    int64_t extent = 200;
    unsigned align = 16;
    struct fx_env env = {&extent, &align, 1};
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

START_TEST(workspace) {
    int64_t extents[] = {3, 100, 2, 2};
    struct fx_env env = {.extents = extents};
    size_t offsets[3], total;
    ck_assert(fx_workspace_layout(&linear, &env, offsets, &total));
    ck_assert(offsets[0] == 0 && offsets[1] == 512 && offsets[2] == 512 && total == 1024);
    ck_assert(fx_workspace_layout(&linear, &env, NULL, &total) && total == 1024);
    extents[M] = INT64_C(1) << 40, extents[K] = INT64_C(1) << 40;
    ck_assert(!fx_workspace_layout(&linear, &env, offsets, &total));
    extents[M] = -1, extents[K] = 1;
    ck_assert(!fx_workspace_layout(&linear, &env, offsets, &total));
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
    tcase_add_test(tests, leaves);
    tcase_add_test(tests, malformed);
    tcase_add_test(tests, binds);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, empty_is_never_huge);
    tcase_add_test(tests, variants);
    tcase_add_test(tests, workspace);
    tcase_add_test(tests, kernels);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
