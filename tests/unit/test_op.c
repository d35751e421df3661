/* The table of ops: every op's value at chosen points against closed forms, and what it makes of NaN and infinities.
 *
 * Every row of ops.def must be reached by `points`, so a new op comes with its points. */
#define FX_EVERY_OP
#include "base/op.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct point {
    enum op op;
    double a, b, c, want;
} points[] = {
    {O_ADD, 2, 3, 0, 5},
    {O_SUB, 2, 3, 0, -1},
    {O_MUL, -2, 3, 0, -6},
    {O_DIV, 3, 4, 0, 0.75},
    {O_DIV, 1, 0, 0, INFINITY},
    {O_DIV, -1, 0, 0, -INFINITY},
    {O_DIV, 0, 0, 0, NAN},
    {O_NEG, 2.5, 0, 0, -2.5},
    {O_POW, 2, 10, 0, 1024},
    {O_POW, 9, 0.5, 0, 3},
    {O_POW, -3, 2, 0, 9},
    {O_POW, -3, 3, 0, -27},
    {O_POW, -8, 1, 0, -8},
    {O_POW, -8, 0.5, 0, NAN},
    {O_POW, NAN, 0, 0, 1},
    {O_MAX, 2, 3, 0, 3},
    {O_MAX, -2, -3, 0, -2},
    {O_MAX, INFINITY, 3, 0, INFINITY},
    {O_MAX, NAN, 3, 0, NAN},
    {O_MAX, 3, NAN, 0, NAN},
    {O_MAX, NAN, INFINITY, 0, NAN},
    {O_MIN, 2, 3, 0, 2},
    {O_MIN, -2, -3, 0, -3},
    {O_MIN, NAN, 3, 0, NAN},
    {O_MIN, 3, NAN, 0, NAN},
    {O_FMA, 2, 3, 4, 10},
    {O_FMA, 2, 3, -6, 0},
    {O_ABS, -3, 0, 0, 3},
    {O_ABS, -INFINITY, 0, 0, INFINITY},
    {O_SIGN, -3, 0, 0, -1},
    {O_SIGN, 0, 0, 0, 0},
    {O_SIGN, 7, 0, 0, 1},
    {O_SIGN, NAN, 0, 0, NAN},
    {O_FLOOR, -1.5, 0, 0, -2},
    {O_CEIL, -1.5, 0, 0, -1},
    {O_ROUND, 2.5, 0, 0, 2},
    {O_ROUND, 3.5, 0, 0, 4},
    {O_ROUND, -0.5, 0, 0, 0},
    {O_EXP, 1, 0, 0, 2.718281828459045},
    {O_EXP, -INFINITY, 0, 0, 0},
    {O_EXP, INFINITY, 0, 0, INFINITY},
    {O_EXP2, -3, 0, 0, 0.125},
    {O_EXPM1, 1e-20, 0, 0, 1e-20},
    {O_EXPM1, 1, 0, 0, 1.718281828459045},
    {O_EXPM1, -INFINITY, 0, 0, -1},
    {O_EXPM1, INFINITY, 0, 0, INFINITY},
    {O_LOG, 1, 0, 0, 0},
    {O_LOG, 0, 0, 0, -INFINITY},
    {O_LOG, -1, 0, 0, NAN},
    {O_LOG1P, 1e-20, 0, 0, 1e-20},
    {O_LOG1P, 1, 0, 0, 0.6931471805599453},
    {O_LOG1P, -1, 0, 0, -INFINITY},
    {O_LOG1P, -2, 0, 0, NAN},
    {O_LOG2, 8, 0, 0, 3},
    {O_SQRT, 2.25, 0, 0, 1.5},
    {O_SQRT, -1, 0, 0, NAN},
    {O_RSQRT, 4, 0, 0, 0.5},
    {O_RSQRT, 0, 0, 0, INFINITY},
    {O_ERF, 0.5, 0, 0, 0.5204998778130465},
    {O_ERF, INFINITY, 0, 0, 1},
    {O_SIN, 0.5, 0, 0, 0.479425538604203},
    {O_SIN, INFINITY, 0, 0, NAN},
    {O_COS, 0.5, 0, 0, 0.8775825618903728},
    {O_TANH, 0.5, 0, 0, 0.46211715726000973},
    {O_TANH, -INFINITY, 0, 0, -1},
    {O_SIGMOID, 0, 0, 0, 0.5},
    {O_SIGMOID, 2, 0, 0, 0.8807970779778823},
    {O_SIGMOID, -2, 0, 0, 0.11920292202211755},
    {O_SIGMOID, -800, 0, 0, 0},
    {O_SIGMOID, 800, 0, 0, 1},
    {O_SILU, 2, 0, 0, 1.7615941559557646},
    {O_GELU, 1, 0, 0, 0.8413447460685429},
    {O_GELU, -1, 0, 0, -0.15865525393145707},
    {O_GELU, -10, 0, 0, -7.619853024160527e-23},
    {O_GELU, INFINITY, 0, 0, INFINITY},
    {O_GELU, -INFINITY, 0, 0, 0},
    {O_ISNAN, NAN, 0, 0, 1},
    {O_ISNAN, INFINITY, 0, 0, 0},
    {O_LT, 1, 2, 0, 1},
    {O_LT, 2, 2, 0, 0},
    {O_LE, 2, 2, 0, 1},
    {O_LE, 3, 2, 0, 0},
    {O_GT, 3, 2, 0, 1},
    {O_GT, 2, 2, 0, 0},
    {O_GE, 2, 2, 0, 1},
    {O_GE, 1, 2, 0, 0},
    {O_EQ, 2, 2, 0, 1},
    {O_EQ, 1, 2, 0, 0},
    {O_NE, 1, 2, 0, 1},
    {O_NE, 2, 2, 0, 0},
    {O_LT, NAN, 1, 0, 0},
    {O_LE, NAN, 1, 0, 0},
    {O_GT, NAN, 1, 0, 0},
    {O_GE, NAN, 1, 0, 0},
    {O_EQ, NAN, NAN, 0, 0},
    {O_NE, NAN, NAN, 0, 1},
    {O_DETACH, -2.5, 0, 0, -2.5},
    {O_FLOORDIV, 7, 2, 0, 3},
    {O_FLOORDIV, -7, 2, 0, -4},
    {O_FLOORDIV, 7, 0, 0, 0},
    {O_MOD, 7, 3, 0, 1},
    {O_MOD, -7, 3, 0, 2},
    {O_MOD, 7, -3, 0, -2},
    {O_MOD, 7, 0, 0, 0},
    {O_PHILOX, 0, 0, 0, 0},
    {O_AND, 1, 1, 0, 1},
    {O_AND, 1, 0, 0, 0},
    {O_OR, 0, 1, 0, 1},
    {O_OR, 0, 0, 0, 0},
    {O_NOT, 0, 0, 0, 1},
    {O_NOT, 1, 0, 0, 0},
    {O_WHERE, 1, 2, 3, 2},
    {O_WHERE, 0, 2, 3, 3},
    {O_WHERE, 1, 2, NAN, 2},
    {O_WHERE, 0, NAN, 3, 3},
};
enum { N_POINTS = sizeof points / sizeof *points };

START_TEST(test_point) {
    const struct point *p = &points[_i];
    double got = op_eval(p->op, p->a, p->b, p->c);
    bool same = isnan(p->want) ? isnan(got) : got == p->want || fabs(got - p->want) <= 2e-14 * fabs(p->want);
    ck_assert_msg(same, "%s(%g, %g, %g) = %.17g, expected %.17g", op_info[p->op].name, p->a, p->b, p->c, got, p->want);
}
END_TEST

START_TEST(test_every_op_has_points) {
    int n = 0;
    for (int i = 0; i < N_POINTS; i++) n += points[i].op == (enum op)_i;
    ck_assert_msg(n > 0, "no point for %s", op_info[_i].id);
}
END_TEST

/* NaN in any operand of arithmetic comes out; conditions are 0 or 1 whatever goes in. */
START_TEST(test_nan) {
    const struct op_info *op = &op_info[_i];
    for (int j = 0; j < op->arity; j++) {
        double x[3] = {0.5, 0.25, 0.75};
        x[j] = NAN;
        double got = op_eval(_i, x[0], x[1], x[2]);
        if (op->rule == RULE_ARITH || op->rule == RULE_FLOAT) ck_assert_msg(isnan(got), "%s loses NaN %d", op->id, j);
        if (op->rule == RULE_COMPARE || op->rule == RULE_LOGIC)
            ck_assert_msg(got == 0 || got == 1, "%s gives %g", op->id, got);
    }
}
END_TEST

START_TEST(test_row) {
    const struct op_info *op = &op_info[_i];
    ck_assert(op->arity >= 1 && op->arity <= 3 && op_ulps(_i, 0) >= 0);
    ck_assert((op->rule == RULE_SELECT) == (op->arity == 3 && strcmp(op->id, "WHERE") == 0));
    /* called by name or by an operator, never both */
    enum op found = N_OPS;
    ck_assert(op_find(op->name, (unsigned)strlen(op->name), &found) == !op->is_infix);
    ck_assert_int_eq(found, op->is_infix ? N_OPS : _i);
    if (!*op->cuda) return; /* no schedule runs it */
    /* the emitted form reads every operand and no other */
    ck_assert(strstr(op->cuda, "$a") != NULL);
    ck_assert((strstr(op->cuda, "$b") != NULL) == (op->arity > 1));
    ck_assert((strstr(op->cuda, "$c") != NULL) == (op->arity > 2));
}
END_TEST

static const struct integer_point {
    enum op op;
    enum fx_dtype t;
    int64_t a, b, c, want;
} integer_points[] = {
    {O_ADD, FX_I32, INT32_MAX, 1, 0, INT32_MIN},
    {O_ADD, FX_I64, INT64_MAX, 1, 0, INT64_MIN},
    {O_ADD, FX_U32, UINT32_MAX, 2, 0, 1},
    {O_SUB, FX_U64, 0, 1, 0, -1},
    {O_SUB, FX_I32, INT32_MIN, 1, 0, INT32_MAX},
    {O_MUL, FX_I32, 65536, 65536, 0, 0},
    {O_MUL, FX_U64, -1, -1, 0, 1},
    {O_MUL, FX_I64, INT64_MIN, -1, 0, INT64_MIN},
    {O_NEG, FX_I32, INT32_MIN, 0, 0, INT32_MIN},
    {O_NEG, FX_U32, 1, 0, 0, UINT32_MAX},
    {O_FLOORDIV, FX_I64, -7, 2, 0, -4},
    {O_FLOORDIV, FX_I64, 7, -2, 0, -4},
    {O_FLOORDIV, FX_I64, -8, 2, 0, -4},
    {O_FLOORDIV, FX_I64, 5, 0, 0, 0},
    {O_FLOORDIV, FX_I64, INT64_MIN, -1, 0, INT64_MIN},
    {O_FLOORDIV, FX_U64, -1, 2, 0, INT64_MAX},
    {O_MOD, FX_I32, -7, 3, 0, 2},
    {O_MOD, FX_I32, 7, -3, 0, -2},
    {O_MOD, FX_I32, 7, 0, 0, 0},
    {O_MOD, FX_U64, -1, 10, 0, 5},
    {O_MAX, FX_U64, -1, 1, 0, -1},
    {O_MAX, FX_I64, -1, 1, 0, 1},
    {O_MIN, FX_U64, -1, 1, 0, 1},
    {O_ABS, FX_I32, -5, 0, 0, 5},
    {O_SIGN, FX_I64, -9, 0, 0, -1},
    {O_SIGN, FX_U64, -9, 0, 0, 1},
    {O_FLOOR, FX_I32, -3, 0, 0, -3},
    {O_FMA, FX_I32, 3, 4, -5, 7},
    {O_LT, FX_U64, 1, -1, 0, 1},
    {O_LT, FX_I64, 1, -1, 0, 0},
    {O_GE, FX_U64, -1, 1, 0, 1},
    {O_EQ, FX_I64, 4, 4, 0, 1},
    {O_ISNAN, FX_I32, 4, 0, 0, 0},
    {O_WHERE, FX_I64, 1, -5, 7, -5},
    {O_WHERE, FX_U32, 0, 5, 7, 7},
    {O_DETACH, FX_I32, -5, 0, 0, -5},
};
enum { N_INTEGER_POINTS = sizeof integer_points / sizeof *integer_points };

START_TEST(test_integer_point) {
    const struct integer_point *p = &integer_points[_i];
    int64_t got = op_eval_integer(p->op, p->t, p->a, p->b, p->c);
    ck_assert_msg(got == p->want, "%s of %s(%lld, %lld, %lld) = %lld, expected %lld", op_info[p->op].name,
        fx_dtype_name(p->t), (long long)p->a, (long long)p->b, (long long)p->c, (long long)got, (long long)p->want);
}
END_TEST

/* The vectors published with the generator (Random123, kat_vectors, philox4x32 10). */
START_TEST(test_philox) {
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
            {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t out[4];
        fx_philox_block(vectors[i].counter, vectors[i].key, out);
        for (int w = 0; w < 4; w++) ck_assert_uint_eq(out[w], vectors[i].want[w]);
    }
    /* element 4 * (2^32 * 0x85a308d3 + 0x243f6a88) + 2 does not fit 64 bits; the words of a block that does */
    uint32_t counter[4] = {7, 0, 0x13198a2e, 0x03707344}, key[2] = {0xa4093822, 0x299f31d0}, out[4];
    fx_philox_block(counter, key, out);
    for (int w = 0; w < 4; w++)
        ck_assert_int_eq(op_eval_integer(O_PHILOX, FX_U64, 28 + w, 0x299f31d0a4093822, 0x0370734413198a2e), out[w]);
}
END_TEST

/* A derivative for every operand or none, and none where no gradient passes. */
START_TEST(test_derivative) {
    const struct op_info *op = &op_info[_i];
    int parts = 1;
    for (const char *s = op->derivative; *s; s++) parts += *s == ';';
    ck_assert(!*op->derivative || parts == op->arity);
    if (op->rule == RULE_COMPARE || op->rule == RULE_LOGIC || op->rule == RULE_INTEGER || op->rule == RULE_BITS)
        ck_assert_str_eq(op->derivative, "");
}
END_TEST

START_TEST(test_find) {
    enum op op = N_OPS;
    ck_assert(op_find("gelu", 4, &op) && op == O_GELU);
    ck_assert(op_find("max_of", 3, &op) && op == O_MAX);
    ck_assert(op_find("gelu_tanh", 4, &op) && op == O_GELU);
    ck_assert(!op_find("gelu_tanh", 9, &op));
    ck_assert(!op_find("a + b", 5, &op));
    ck_assert(!op_find("", 0, &op));
    ck_assert(isnan(op_eval(N_OPS, 1, 1, 1)));
}
END_TEST

/* max and min commute to the bit. */
START_TEST(test_zero_sign) {
    ck_assert(!signbit(op_eval(O_MAX, 0.0, -0.0, 0)) && !signbit(op_eval(O_MAX, -0.0, 0.0, 0)));
    ck_assert(signbit(op_eval(O_MIN, 0.0, -0.0, 0)) && signbit(op_eval(O_MIN, -0.0, 0.0, 0)));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("op");
    TCase *tests = tcase_create("op");
    tcase_add_loop_test(tests, test_point, 0, N_POINTS);
    tcase_add_loop_test(tests, test_every_op_has_points, 0, N_OPS);
    tcase_add_loop_test(tests, test_nan, 0, N_OPS);
    tcase_add_loop_test(tests, test_row, 0, N_OPS);
    tcase_add_loop_test(tests, test_integer_point, 0, N_INTEGER_POINTS);
    tcase_add_test(tests, test_philox);
    tcase_add_loop_test(tests, test_derivative, 0, N_OPS);
    tcase_add_test(tests, test_find);
    tcase_add_test(tests, test_zero_sign);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
