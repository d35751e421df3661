/* The oracle on kernels built by hand: values against closed forms, bounds against what float implementations do.
 *
 * A right implementation (float arithmetic, any order of summation) must lie within every bound; a wrong one (a term
 * dropped, an index off, an accumulator of 16 bits) must not. */
#define FX_EVERY_OP
#include "base/op.h"
#include "oracle/eval.h"
#include "fx.h"
#include "kernel_build.h"
#include "oracle/eval_internal.h"
#include "suite.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

START_TEST(test_gemm_bias_relu) {
    struct build *b = BUILD("MNK", 7, 300, 17); /* N longer than a line */
    struct value *x = integer_load(b, FX_F16, "MK"), *w = integer_load(b, FX_F16, "KN"),
                 *c = integer_load(b, FX_F16, "N");
    struct value *y = op2(b, O_MAX, op2(b, O_ADD, contract(b, x, w, "K"), c), num(b, 0));
    struct result r = eval(b, "MN", y);
    for (int m = 0; m < 7; m++)
        for (int n = 0; n < 300; n++) {
            double want = element(b, c, n);
            for (int k = 0; k < 17; k++) want += element(b, x, m * 17 + k) * element(b, w, k * 300 + n);
            ck_assert_double_eq(r.v[m * 300 + n], want > 0 ? want : 0);
            ck_assert_double_eq(r.e[m * 300 + n], 0); /* integers: exact in any order */
        }
    release(b);
}
END_TEST

/* The same sum whatever the order the operands and the output are stored in. */
START_TEST(test_storage_orders) {
    static const char *const xs[] = {"MK", "KM"}, *const ws[] = {"KN", "NK"}, *const ys[] = {"MN", "NM"};
    struct build *b = BUILD("MNK", 5, 6, 3);
    const char *xl = xs[_i & 1], *wl = ws[_i >> 1 & 1], *yl = ys[_i >> 2];
    struct value *x = integer_load(b, FX_F32, xl), *w = integer_load(b, FX_F32, wl);
    struct result r = eval(b, yl, contract(b, x, w, "K"));
    for (int m = 0; m < 5; m++)
        for (int n = 0; n < 6; n++) {
            double want = 0;
            for (int k = 0; k < 3; k++)
                want += element(b, x, _i & 1 ? k * 5 + m : m * 3 + k) *
                        element(b, w, _i >> 1 & 1 ? n * 3 + k : k * 6 + n);
            ck_assert_double_eq(r.v[_i >> 2 ? n * 5 + m : m * 6 + n], want);
        }
    release(b);
}
END_TEST

START_TEST(test_batch) {
    struct build *b = BUILD("BMNK", 3, 4, 5, 6);
    struct value *x = integer_load(b, FX_F32, "BMK"), *w = integer_load(b, FX_F32, "BKN"),
                 *c = integer_load(b, FX_F32, "B");
    struct result r = eval(b, "BMN", op2(b, O_ADD, contract(b, x, w, "K"), c));
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < 4; m++)
            for (int n = 0; n < 5; n++) {
                double want = element(b, c, i);
                for (int k = 0; k < 6; k++)
                    want += element(b, x, (i * 4 + m) * 6 + k) * element(b, w, (i * 6 + k) * 5 + n);
                ck_assert_double_eq(r.v[(i * 4 + m) * 5 + n], want);
            }
    release(b);
}
END_TEST

/* Operands that lack axes of each other, an output that has one more than its value and stores
 * them in another order. */
START_TEST(test_broadcast) {
    struct build *b = BUILD("ABC", 2, 3, 4);
    struct value *x = integer_load(b, FX_F32, "A"), *y = integer_load(b, FX_F32, "C"), *s = scalar(b, FX_F32, 10);
    struct result r = eval(b, "CBA", op2(b, O_SUB, op2(b, O_MUL, x, s), y));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < 4; l++)
                ck_assert_double_eq(r.v[(l * 3 + j) * 2 + i], element(b, x, i) * 10 - element(b, y, l));
    release(b);
}
END_TEST

START_TEST(test_conditions) {
    struct build *b = BUILD("M", 5);
    struct value *keep = load(b, FX_BOOL, "M", (double[]){1, 0, 1, 0, 1}),
                 *x = load(b, FX_F32, "M", (double[]){1, 2, 3, 4, 5});
    struct value *both = op2(b, O_AND, keep, op2(b, O_LT, x, num(b, 4)));
    struct result r = eval(b, "M", op3(b, O_WHERE, both, x, op2(b, O_ADD, keep, num(b, 0.5))));
    static const double want[] = {1, 0.5, 3, 0.5, 1.5};
    for (int i = 0; i < 5; i++) {
        ck_assert_double_eq(r.v[i], want[i]);
        ck_assert_double_eq(r.e[i], 0);
    }
    release(b);
}
END_TEST

START_TEST(test_two_layers_sampled) { /* h is read by every n and evaluated once */
    struct build *b = BUILD("MHNK", 6, 9, 700, 5);
    struct value *x = integer_load(b, FX_F32, "MK"), *w1 = integer_load(b, FX_F32, "HK"),
                 *w2 = integer_load(b, FX_F32, "NH");
    struct value *h = op2(b, O_MAX, contract(b, x, w1, "K"), num(b, 0)), *y = contract(b, h, w2, "H");
    struct result all = eval(b, "MN", y), some;
    static const int64_t elements[] = {0, 4199, 699, 700, 1234, 0};
    ck_assert_int_eq(evaluate(b, "MN", y, elements, 6, &some), FX_OK);
    for (int i = 0; i < 6; i++) {
        double want = 0;
        int64_t m = elements[i] / 700, n = elements[i] % 700;
        for (int j = 0; j < 9; j++) {
            double sum = 0;
            for (int k = 0; k < 5; k++) sum += element(b, x, m * 5 + k) * element(b, w1, j * 5 + k);
            want += (sum > 0 ? sum : 0) * element(b, w2, n * 9 + j);
        }
        ck_assert_double_eq(some.v[i], want);
        ck_assert_double_eq(all.v[elements[i]], want);
        ck_assert_double_eq(some.e[i], all.e[elements[i]]);
    }
    release(b);
}
END_TEST

START_TEST(test_softmax) { /* statistics read from two places, an intermediate shared */
    struct build *b = BUILD("MT", 3, 1000);
    struct value *x = random_load(b, FX_F32, "MT");
    struct value *p = op1(b, O_EXP, op2(b, O_SUB, x, reduce(b, RED_MAX, x, "T")));
    struct result r = eval(b, "MT", op2(b, O_DIV, p, reduce(b, RED_SUM, p, "T")));
    for (int m = 0; m < 3; m++) {
        double max = -INFINITY, sum = 0;
        for (int t = 0; t < 1000; t++) max = fmax(max, element(b, x, m * 1000 + t));
        for (int t = 0; t < 1000; t++) sum += exp(element(b, x, m * 1000 + t) - max);
        for (int t = 0; t < 1000; t++) {
            double want = exp(element(b, x, m * 1000 + t) - max) / sum;
            ck_assert(fabs(r.v[m * 1000 + t] - want) <= 1e-14 * want);
            ck_assert(r.e[m * 1000 + t] > 0 && r.e[m * 1000 + t] < 1e-3 * want);
        }
    }
    release(b);
}
END_TEST

START_TEST(test_reductions) {
    struct build *b = BUILD("MAB", 2, 3, 300);
    struct value *x = random_load(b, FX_F32, "MAB");
    for (int r = 0; r < RED_ARGMAX; r++) {
        struct result got = eval(b, "M", reduce(b, (enum reduction)r, x, "AB"));
        for (int m = 0; m < 2; m++) {
            double want = r == RED_SUM ? 0 : r == RED_PROD ? 1 : element(b, x, m * 900);
            for (int i = 0; i < 900; i++) {
                double t = element(b, x, m * 900 + i);
                want = r == RED_SUM    ? want + t
                       : r == RED_PROD ? want * t
                       : r == RED_MAX  ? fmax(want, t)
                                       : fmin(want, t);
            }
            ck_assert(fabs(got.v[m] - want) <= 1e-13 * fabs(want));
        }
    }
    release(b);
}
END_TEST

START_TEST(test_nested_reduction) { /* a reduction inside another's operand, over all its axes: not stored */
    struct build *b = BUILD("MJK", 3, 4, 5);
    struct value *x = integer_load(b, FX_F32, "MJK"), *w = integer_load(b, FX_F32, "MJ");
    struct result r = eval(b, "M", contract(b, w, reduce(b, RED_MAX, x, "K"), "J"));
    for (int m = 0; m < 3; m++) {
        double want = 0;
        for (int j = 0; j < 4; j++) {
            double max = -INFINITY;
            for (int k = 0; k < 5; k++) max = fmax(max, element(b, x, (m * 4 + j) * 5 + k));
            want += element(b, w, m * 4 + j) * max;
        }
        ck_assert_double_eq(r.v[m], want);
    }
    release(b);
}
END_TEST

START_TEST(test_empty) {
    static const double want[] = {[RED_SUM] = 0, [RED_PROD] = 1, [RED_MAX] = -INFINITY, [RED_MIN] = INFINITY};
    struct build *b = BUILD("MKN", 3, 0, 0);
    struct value *x = load(b, FX_F32, "MK", NULL);
    for (int r = 0; r < RED_ARGMAX; r++) {
        struct result got = eval(b, "M", reduce(b, (enum reduction)r, x, "K"));
        for (int m = 0; m < 3; m++) {
            ck_assert_double_eq(got.v[m], want[r]);
            ck_assert_double_eq(got.e[m], 0);
        }
    }
    ck_assert_int_eq(eval(b, "MN", contract(b, x, load(b, FX_F32, "KN", NULL), "K")).n, 0);
    release(b);
}
END_TEST

START_TEST(test_usage) {
    struct build *b = BUILD("MN", 3, 4);
    struct value *x = integer_load(b, FX_F32, "MN");
    struct result r;
    ck_assert_int_eq(evaluate(b, "MN", x, (int64_t[]){0, 12}, 2, &r), FX_ERR_USAGE);
    ck_assert_int_eq(evaluate(b, "MN", x, (int64_t[]){-1}, 1, &r), FX_ERR_USAGE);
    ck_assert_int_eq(evaluate(b, "MN", x, NULL, 13, &r), FX_ERR_USAGE);
    ck_assert_int_eq(oracle_eval(&b->arena, &b->k, b->extents, b->inputs, 0, NULL, 0, NULL, NULL, FX_BOUND_WORST, NULL),
        FX_ERR_USAGE);
    b->extents[0] = b->extents[1] = (int64_t)1 << 40;
    ck_assert_int_eq(evaluate(b, "MN", x, NULL, 0, &r), FX_ERR_USAGE);
    release(b);
}
END_TEST

/* Far more elements than cells: only those needed are kept. */
/* Where elements are: by the axes that a layout has, whatever lies behind them. */
START_TEST(test_layout) {
    static const int axes[] = {3, 0, 2};
    static const int64_t extents[] = {4, 9, 5, 2}, strides[] = {5, 0, 1, 20};
    struct oracle_layout l;
    for (int i = 0; i < MAX_AXES; i++) l.axes[i] = 1, l.extents[i] = 9, l.strides[i] = 77;
    ck_assert(layout_init(&l, 3, axes, extents));
    ck_assert_int_eq(l.numel, 40);
    for (int a = 0; a < 4; a++) {
        ck_assert_int_eq(layout_stride(&l, a), strides[a]);
        ck_assert(layout_has(&l, a) == (a != 1));
    }
    for (int64_t i = 0; i < 40; i++) {
        int64_t at[4] = {-1, 8, -1, -1};
        layout_locate(&l, i, at);
        ck_assert(at[3] == i / 20 && at[0] == i / 5 % 4 && at[2] == i % 5 && at[1] == 8);
        ck_assert_int_eq(layout_offset(&l, at), i);
    }
    const int64_t huge[] = {INT64_C(1) << 31, 1, INT64_C(1) << 31, 2}, none[] = {4, 9, -1, 2};
    ck_assert(!layout_init(&l, 3, axes, huge) && !layout_init(&l, 3, axes, none));
    ck_assert(layout_init(&l, 0, axes, extents) && l.numel == 1 && layout_stride(&l, 0) == 0 && !layout_has(&l, 3));
}
END_TEST

START_TEST(test_sparse) {
    struct build *b = BUILD("MNK", 1 << 20, 1 << 20, 2);
    struct value *x = integer_load(b, FX_F32, "MK"), *w = integer_load(b, FX_F32, "NK"),
                 *c = load(b, FX_F32, "", (double[]){3});
    struct value *s = contract(b, x, w, "K"),
                 *y = op2(b, O_MUL, s, op2(b, O_ADD, reduce(b, RED_MAX, op2(b, O_ADD, s, w), "K"), c));
    enum { N = 3000 };
    int64_t elements[N];
    for (int i = 0; i < N; i++) elements[i] = (int64_t)(fabs(uniform(b)) * 0x1p40);
    struct result r;
    ck_assert_int_eq(evaluate(b, "MN", y, elements, N, &r), FX_OK);
    for (int i = 0; i < N; i++) {
        int64_t m = elements[i] >> 20, n = elements[i] & ((1 << 20) - 1);
        double w0 = element(b, w, 2 * n), w1 = element(b, w, 2 * n + 1);
        double sum = element(b, x, 2 * m) * w0 + element(b, x, 2 * m + 1) * w1;
        ck_assert_double_eq(r.v[i], sum * (sum + fmax(w0, w1) + 3));
    }
    release(b);
}
END_TEST

START_TEST(test_large_shared) { /* too large to be kept for its two readers: evaluated for each */
    struct build *b = BUILD("MN", 1 << 12, 1 << 11);
    struct value *x = integer_load(b, FX_F32, "M"), *w = integer_load(b, FX_F32, "N"), *p = op2(b, O_MUL, x, w);
    struct result r;
    int64_t elements[] = {5, 1 << 22, (1 << 23) - 1};
    ck_assert_int_eq(evaluate(b, "MN", op2(b, O_SUB, p, reduce(b, RED_SUM, p, "N")), elements, 3, &r), FX_OK);
    double sum = 0;
    for (int n = 0; n < 1 << 11; n++) sum += element(b, w, n);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(r.v[i], element(b, x, elements[i] >> 11) * (element(b, w, elements[i] & 2047) - sum));
    release(b);
}
END_TEST

/* What the definition says, by plain recursion: for small kernels. */
static double naive(struct build *b, const struct value *v, int64_t *at) {
    if (v->kind == V_NUM) return v->num;
    if (v->kind == V_LOAD) {
        int64_t i = 0;
        for (int j = 0; j < v->n_axes; j++) i = i * b->extents[v->axes[j]] + at[v->axes[j]];
        return element(b, v, i);
    }
    if (v->kind == V_OP) {
        double x[3] = {0};
        for (int j = 0; j < op_info[v->op].arity; j++) x[j] = naive(b, v->args[j], at);
        return op_eval(v->op, x[0], x[1], x[2]);
    }
    int64_t total = 1, inner[26];
    double result = v->reduction == RED_SUM ? 0 : -INFINITY;
    memcpy(inner, at, sizeof inner);
    for (int j = 0; j < v->n_reduced; j++) total *= b->extents[v->reduced[j]];
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        for (int j = 0; j < v->n_reduced; j++) {
            inner[v->reduced[j]] = rest % b->extents[v->reduced[j]];
            rest /= b->extents[v->reduced[j]];
        }
        double x = naive(b, v->args[0], inner);
        result = v->reduction == RED_SUM ? result + x : fmax(result, x);
    }
    return result;
}

static int pick(struct build *b, int n) { return (int)(fabs(uniform(b)) * n) % n; }

/* Random kernels over a few axes, operands preferably recent and often shared, compared at every element. */
START_TEST(test_random) {
    static const char *const loads[] = {"A", "BA", "CB", "DAC", "", "D"};
    static const enum op ops[] = {O_ADD, O_SUB, O_MAX, O_MIN, O_ADD, O_ABS, O_MUL};
    struct build *b = BUILD("ABCD", _i % 4, 1 + _i % 3, 2, 3);
    b->random += (uint64_t)_i * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 6; i++) integer_load(b, FX_F32, loads[i]);
    while (b->k.n_values < 18) {
        int n = b->k.n_values, recent = n > 9 ? n - 6 : 0;
        struct value *x = b->values[recent + pick(b, n - recent)], *y = b->values[pick(b, n)];
        int kind = pick(b, 3);
        if (kind > 0 || x->n_axes == 0) op2(b, ops[pick(b, 7)], x, y);
        else reduce(b, pick(b, 2) ? RED_SUM : RED_MAX, x, (char[]){b->labels[x->axes[pick(b, x->n_axes)]], 0});
    }
    struct value *y = b->values[b->k.n_values - 1];
    struct result r = eval(b, "DCBA", y);
    for (int64_t i = 0; i < r.n; i++) {
        int64_t at[26] = {0}, rest = i;
        for (int j = 0; j < 4; j++) {
            at[j] = rest % b->extents[j];
            rest /= b->extents[j];
        }
        double want = naive(b, y, at);
        ck_assert_msg(
            r.v[i] == want || (isnan(r.v[i]) && isnan(want)), "element %d: %g, expected %g", (int)i, r.v[i], want);
    }
    release(b);
}
END_TEST

START_TEST(test_deep) { /* thousands of values in a row, and of reductions */
    struct build *b = BUILD("MN", 2, 2);
    struct value *x = load(b, FX_F32, "MN", (double[]){1, 0, 0, 1}), *y = x,
                 *z = load(b, FX_F32, "M", (double[]){1, 2});
    for (int i = 0; i < 3000; i++) y = op2(b, O_ADD, y, num(b, 1));
    ck_assert_double_eq(eval(b, "MN", y).v[3], 3001);
    for (int i = 0; i < 500; i++) z = contract(b, z, x, i % 2 ? "N" : "M");
    struct result r = eval(b, "M", z);
    ck_assert_double_eq(r.v[0], 1);
    ck_assert_double_eq(r.v[1], 2);
    release(b);
}
END_TEST

/* ---- bounds ---- */

START_TEST(test_exact) {
    struct build *b = BUILD("K", 4);
    double e;
    struct value *big = scalar(b, FX_F32, 0x1p24), *one = num(b, 1), *three = num(b, 3);
    ck_assert_double_eq(bound_of(b, op2(b, O_ADD, big, num(b, 2))), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_ADD, big, one)), (0x1p24 + 1) * 0x1p-24);
    e = bound_of(b, op2(b, O_ADD, num(b, 0x1p100), num(b, 0x1p-100)));
    ck_assert(e > 0); /* exact not even in double */
    ck_assert_double_eq(bound_of(b, op2(b, O_MUL, three, num(b, 0.375))), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_DIV, three, num(b, 4))), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_DIV, one, three)), 0x1p-24 * (1.0 / 3));
    ck_assert_double_eq(bound_of(b, op1(b, O_SQRT, num(b, 2.25))), 0);
    ck_assert_double_eq(bound_of(b, op1(b, O_SQRT, three)), 0x1p-24 * sqrt(3));
    ck_assert_double_eq(bound_of(b, op3(b, O_FMA, three, three, one)), 0);
    ck_assert_double_eq(bound_of(b, op1(b, O_EXP, num(b, 0))), 4 * 0x1p-24); /* no promise that exp(0) is 1 */
    ck_assert_double_eq(bound_of(b, op1(b, O_EXP, num(b, -INFINITY))), 0); /* but that exp(-inf) is 0 */
    ck_assert_double_eq(bound_of(b, op1(b, O_EXP2, num(b, -INFINITY))), 0);
    ck_assert_double_eq(bound_of(b, op1(b, O_ABS, num(b, -3))), 0);
    ck_assert_double_eq(bound_of(b, num(b, 0.1)), fabs((double)0.1f - 0.1));
    ck_assert_double_eq(bound_of(b, scalar(b, FX_F64, 0.1)), fabs((double)0.1f - 0.1));
    ck_assert_double_eq(bound_of(b, op2(b, O_MUL, num(b, 0x1.8p-100), num(b, 0x1.8p-49))), 0x1p-126); /* below 2^-102 */
    /* a sum whose terms are exact but whose partial sums are not */
    struct value *x = load(b, FX_F32, "K", (double[]){0x1p24, 1, 1, 1});
    ck_assert_double_eq(bound_of(b, reduce(b, RED_SUM, x, "K")), 20 * 0x1p-24 * (0x1p24 + 3));
    struct value *fine = load(b, FX_F32, "K", (double[]){0x1p10, 0x1p-14, 0, 1});
    struct value *fits = load(b, FX_F32, "K", (double[]){0x1p10, 0x1p-13, 0, 1});
    ck_assert(bound_of(b, reduce(b, RED_SUM, fine, "K")) > 0);
    ck_assert_double_eq(bound_of(b, reduce(b, RED_SUM, fits, "K")), 0);
    ck_assert_double_eq(bound_of(b, reduce(b, RED_PROD, load(b, FX_F32, "K", (double[]){-7, 3, 0, 5}), "K")), 0);
    e = bound_of(b, reduce(b, RED_PROD, load(b, FX_F32, "K", (double[]){0.1, 3, 7, 5}), "K"));
    ck_assert(e > 0);
    /* products of integers are exact up to 2^24, and no further */
    ck_assert_double_eq(bound_of(b, reduce(b, RED_PROD, load(b, FX_F32, "K", (double[]){4096, 2, -2048, 1}), "K")), 0);
    ck_assert(bound_of(b, reduce(b, RED_PROD, load(b, FX_F32, "K", (double[]){4096, 1, 4097, 1}), "K")) > 0);
    release(b);
}
END_TEST

START_TEST(test_propagation) {
    struct build *b = BUILD("K", 1);
    double e, third = 1.0 / 3, u = 0x1p-24;
    struct value *x = op2(b, O_DIV, num(b, 1), num(b, 3)), *zero = num(b, 0);
    e = bound_of(b, op1(b, O_NEG, x));
    ck_assert(fabs(e - u * third) < 1e-6 * e);
    e = bound_of(b, op2(b, O_MUL, x, num(b, 3)));
    ck_assert(e >= 3 * u * third + u && e < 3 * u * third + 1.01 * u);
    ck_assert_double_eq(bound_of(b, op2(b, O_MUL, x, zero)), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_MAX, op1(b, O_NEG, x), zero)), 0); /* surely negative */
    /* cancellation keeps the absolute error */
    e = bound_of(b, op2(b, O_SUB, x, x));
    ck_assert(e >= 2 * u * third && e < 2.01 * u * third);
    /* comparisons: open where operands may be equal */
    ck_assert_double_eq(bound_of(b, op2(b, O_LT, x, x)), 1);
    ck_assert_double_eq(bound_of(b, op2(b, O_LT, x, num(b, 0.5))), 0);
    struct value *open = op2(b, O_EQ, x, x);
    ck_assert_double_eq(bound_of(b, op1(b, O_NOT, open)), 1);
    ck_assert_double_eq(bound_of(b, op3(b, O_WHERE, open, num(b, 2), num(b, 5))), 3);
    ck_assert_double_eq(bound_of(b, op3(b, O_WHERE, op2(b, O_LT, x, zero), op2(b, O_DIV, x, zero), x)), u * third);
    e = bound_of(b, op2(b, O_ADD, open, zero));
    ck_assert(e >= 1 && e < 1.001);
    /* a pole within reach */
    struct value *near = op2(b, O_SUB, x, x);
    e = bound_of(b, op2(b, O_DIV, num(b, 1), near));
    ck_assert(isinf(e));
    e = bound_of(b, op1(b, O_RSQRT, near));
    ck_assert(isinf(e));
    /* explicit casts: exact unless the operand's error reaches a rounding boundary */
    ck_assert_double_eq(bound_of(b, cast(b, FX_F16, x)), 0);
    ck_assert_double_eq(eval_one(b, cast(b, FX_F16, x), NULL), fx_round_to(FX_F16, third));
    struct value *boundary = op2(b, O_ADD, op2(b, O_MUL, x, num(b, 3)), num(b, 0x1p-11));
    ck_assert_double_eq(bound_of(b, cast(b, FX_F16, boundary)), 0x1p-10);
    release(b);
}
END_TEST

START_TEST(test_special_values) {
    struct build *b = BUILD("K", 3);
    double e;
    struct value *inf = scalar(b, FX_F32, INFINITY), *nan = scalar(b, FX_F32, NAN), *big = scalar(b, FX_F32, 3e38);
    struct value *third = op2(b, O_DIV, num(b, 1), num(b, 3)), *one = num(b, 1);
    ck_assert(isnan(eval_one(b, op2(b, O_SUB, inf, inf), &e)) && e == 0);
    ck_assert(isnan(eval_one(b, op2(b, O_MUL, inf, num(b, 0)), &e)) && e == 0);
    ck_assert(isnan(eval_one(b, op2(b, O_MUL, nan, third), &e)) && e == 0);
    ck_assert(isnan(eval_one(b, op2(b, O_MAX, nan, num(b, 0)), &e)) && e == 0);
    ck_assert(eval_one(b, op2(b, O_MUL, inf, third), &e) == INFINITY && e == 0);
    ck_assert(eval_one(b, op2(b, O_DIV, one, num(b, 0)), &e) == INFINITY && e == 0);
    ck_assert(
        eval_one(b, op2(b, O_ADD, big, big), &e) == 2 * (double)3e38f && isinf(e)); /* f32 overflows, double not */
    e = bound_of(b, op1(b, O_SIGMOID, op2(b, O_ADD, big, big)));
    ck_assert(isinf(e));
    ck_assert(eval_one(b, op1(b, O_SIGMOID, inf), &e) == 1);
    ck_assert(isfinite(e));
    /* sums */
    ck_assert(
        eval_one(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){1, INFINITY, 0.1}), "K"), &e) == INFINITY &&
        e == 0);
    ck_assert(
        isnan(eval_one(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){1, INFINITY, -INFINITY}), "K"), &e)) &&
        e == 0);
    ck_assert(isnan(eval_one(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){NAN, 1, 2}), "K"), &e)) && e == 0);
    e = bound_of(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){3e38, 3e38, -3e38}), "K"));
    ck_assert(isinf(e));
    double half = FLT_MAX * 0x1p-25; /* constant factors of up to 2^24 may be moved into the sum */
    e = bound_of(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){half, half, 0}), "K"));
    ck_assert(isfinite(e));
    e = bound_of(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){half, half, half * 0x1p-20}), "K"));
    ck_assert(isinf(e));
    e = bound_of(b, reduce(b, RED_PROD, load(b, FX_F32, "K", (double[]){1e30, 1e30, 1e-30}), "K"));
    ck_assert(isinf(e));
    ck_assert(isnan(eval_one(b, reduce(b, RED_MAX, load(b, FX_F32, "K", (double[]){1, NAN, 2}), "K"), &e)));
    ck_assert(eval_one(b, reduce(b, RED_MIN, load(b, FX_F32, "K", (double[]){1, -INFINITY, 2}), "K"), &e) == -INFINITY);
    ck_assert(eval_one(b, cast(b, FX_F16, num(b, 70000)), &e) == INFINITY && e == 0);
    release(b);
}
END_TEST

/* The licence to round a computed operand beside a stored 16-bit tensor. */
START_TEST(test_licence) {
    struct build *b = BUILD("K", 1);
    double e;
    struct value *w = load(b, FX_F16, "K", (double[]){2}), *f32 = load(b, FX_F32, "K", (double[]){1 + 0x1p-20});
    struct value *computed = op1(b, O_NEG, f32), *coarse = op1(b, O_NEG, load(b, FX_F32, "K", (double[]){1.5}));
    struct value *large = op1(b, O_NEG, load(b, FX_F32, "K", (double[]){70000}));
    e = bound_of(b, contract(b, computed, w, "K"));
    ck_assert(e >= 0x1p-10 && e < 0x1.01p-10);
    e = bound_of(b, contract(b, w, computed, "K"));
    ck_assert(e >= 0x1p-10 && e < 0x1.01p-10);
    ck_assert_double_eq(bound_of(b, contract(b, f32, w, "K")), 0);      /* stored, not computed */
    ck_assert_double_eq(bound_of(b, contract(b, coarse, w, "K")), 0);   /* exact in f16 */
    e = bound_of(b, contract(b, large, w, "K"));
    ck_assert(isinf(e));          /* overflows f16 */
    ck_assert_double_eq(bound_of(b, contract(b, cast(b, FX_F16, computed), w, "K")), 0);
    e = bound_of(b, contract(b, cast(b, FX_F32, computed), w, "K"));
    ck_assert(e >= 0x1p-10);
    eval_one(b, op2(b, O_MUL, computed, w), NULL);                             /* no sum, no licence */
    struct value *shared = op2(b, O_MUL, computed, w);
    struct value *y = op2(b, O_ADD, reduce(b, RED_SUM, shared, "K"), reduce(b, RED_MAX, shared, "K"));
    e = bound_of(b, y);
    ck_assert(e >= 0x1p-10);                               /* whoever else reads the product */
    ck_assert_double_eq(bound_of(b, reduce(b, RED_MAX, shared, "K")), 0);
    b->k.precision = PRECISION_IEEE;
    ck_assert_double_eq(bound_of(b, contract(b, computed, w, "K")), 0);
    release(b);
}
END_TEST

START_TEST(test_is_right) {
    ck_assert(fx_is_right(FX_F16, fx_round_to(FX_F16, 0.1), 0.1, 0));
    ck_assert(!fx_is_right(FX_F16, fx_round_to(FX_F16, 0.1) + 0x1p-14, 0.1, 0));
    ck_assert(fx_is_right(FX_F32, -0.0, 0, 0));
    ck_assert(!fx_is_right(FX_F32, FLT_TRUE_MIN, 0, 0));
    ck_assert(fx_is_right(FX_F32, 1.25, 1, 0.25) && !fx_is_right(FX_F32, 1.2500001, 1, 0.25));
    ck_assert(fx_is_right(FX_F16, 1 + 0x1p-10, 1, 0x1.1p-11) && !fx_is_right(FX_F16, 1 + 0x1p-9, 1, 0x1.1p-11));
    ck_assert(
        fx_is_right(FX_F32, NAN, NAN, 0) && !fx_is_right(FX_F32, 1, NAN, 0) && !fx_is_right(FX_F32, NAN, 1, 1e30));
    ck_assert(fx_is_right(FX_F32, NAN, 1, INFINITY) && fx_is_right(FX_F32, 5, NAN, INFINITY));
    ck_assert(fx_is_right(FX_F32, INFINITY, INFINITY, 0) && !fx_is_right(FX_F32, FLT_MAX, INFINITY, 0));
    ck_assert(!fx_is_right(FX_F32, INFINITY, -INFINITY, 0) && !fx_is_right(FX_F32, INFINITY, 1, 1));
    ck_assert(fx_is_right(FX_F16, INFINITY, 70000, 0) && !fx_is_right(FX_F16, 65504, 70000, 0));
    ck_assert(fx_is_right(FX_F16, INFINITY, 65510, 20) && fx_is_right(FX_F16, 65504, 65510, 20));
    ck_assert(!fx_is_right(FX_F16, -INFINITY, 65510, 20));
    ck_assert(
        fx_is_right(FX_I32, 2, 3, 0.001) && fx_is_right(FX_I32, 3, 3, 0.001) && !fx_is_right(FX_I32, 4, 3, 0.001));
    ck_assert(fx_is_right(FX_BOOL, 0, 1, 1) && fx_is_right(FX_BOOL, 1, 1, 0) && !fx_is_right(FX_BOOL, 0, 1, 0));
}
END_TEST

/* ---- bounds against float implementations ---- */

enum order { FORWARD, BACKWARD, FOUR_LANES, TREE, FUSED, N_ORDERS };

static float tree(const float *t, int n) { return n == 1 ? t[0] : tree(t, n / 2) + tree(t + n / 2, n - n / 2); }

static float dot(const float *a, const float *b, int n, enum order order) {
    float sum = 0, lane[4] = {0}, terms[256];
    for (int i = 0; i < n; i++) {
        int k = order == BACKWARD ? n - 1 - i : i;
        terms[i] = a[k] * b[k];
        lane[i % 4] += terms[i];
        sum = order == FUSED ? fmaf(a[k], b[k], sum) : sum + terms[i];
    }
    return order == FOUR_LANES ? (lane[0] + lane[1]) + (lane[2] + lane[3]) : order == TREE ? tree(terms, n) : sum;
}

static float gelu_float(float x) { return 0.5f * x * erfcf(-x * 0.70710678f); }
static float sigmoid_float(float x) { return 1 / (1 + expf(-x)); }

struct gemm { /* sigmoid(gelu(x @ w + c) * c) of one seed */
    struct build *b;
    struct value *x, *w, *c, *y;
    float row[256], column[256];
};
enum { GM = 6, GN = 5, GK = 96 };

static struct gemm gemm_of(int seed, enum fx_dtype t, bool with_epilogue) {
    struct gemm g = {.b = BUILD("MNK", GM, GN, GK)};
    g.b->random += (uint64_t)seed * 0x9e3779b97f4a7c15u;
    g.x = random_load(g.b, t, "MK");
    g.w = random_load(g.b, t, "KN");
    g.c = random_load(g.b, t, "N");
    g.y = contract(g.b, g.x, g.w, "K");
    if (with_epilogue) g.y = op1(g.b, O_SIGMOID, op2(g.b, O_MUL, op1(g.b, O_GELU, op2(g.b, O_ADD, g.y, g.c)), g.c));
    return g;
}

static void gemm_operands(struct gemm *g, int m, int n) {
    for (int k = 0; k < GK; k++) {
        g->row[k] = (float)element(g->b, g->x, m * GK + k);
        g->column[k] = (float)element(g->b, g->w, k * GN + n);
    }
}

/* How many of 4096 elements of the cast of gelu, or of a product with it, may be either of two neighbours, the function
 * being read once more or not. */
static int count_open(enum fx_dtype t, bool is_read_again, bool is_factor) {
    enum { N = 4096 };
    struct build *b = BUILD("N", N);
    struct value *x = random_load(b, FX_F32, "N"), *f = op1(b, O_GELU, x);
    struct value *y = cast(b, t, is_factor ? op2(b, O_MUL, f, num(b, 3)) : f);
    if (is_read_again) y = op3(b, O_WHERE, op2(b, O_LT, x, num(b, 2)), y, f);
    struct result r = eval(b, "N", y);
    int n = 0;
    for (int i = 0; i < N; i++) n += r.e[i] > 0;
    release(b);
    return n;
}

/* Of an op that casts to one 16-bit float alone read, of it or of its products, 2^-12 and 2^-13 of the result are
 * allowed. */
START_TEST(test_rounded_at_once) {
    ck_assert_int_gt(count_open(FX_BF16, false, false), 4096 / 20);
    ck_assert_int_lt(count_open(FX_BF16, false, false), 4096 / 4);
    ck_assert_int_gt(count_open(FX_F16, false, false), 4096 / 4);
    ck_assert_int_lt(count_open(FX_BF16, true, false), 4096 / 40);
    ck_assert_int_gt(count_open(FX_BF16, false, true), 4096 / 20);
    ck_assert_int_lt(count_open(FX_BF16, true, true), 4096 / 40);
    ck_assert_int_eq(count_open(FX_F32, false, false), count_open(FX_F32, true, false));
}
END_TEST

START_TEST(test_right_within) {
    for (int t = 0; t < 3; t++) {
        static const enum fx_dtype types[] = {FX_F32, FX_F16, FX_BF16};
        struct gemm g = gemm_of(_i, types[t], true);
        struct result r = eval(g.b, "MN", g.y);
        for (int i = 0; i < GM * GN; i++)
            for (int order = 0; order < N_ORDERS; order++) {
                gemm_operands(&g, i / GN, i % GN);
                float c = (float)element(g.b, g.c, i % GN);
                float got = sigmoid_float(gelu_float(dot(g.row, g.column, GK, (enum order)order) + c) * c);
                ck_assert_msg(
                    fabs(got - r.v[i]) <= r.e[i], "order %d: %g from %g, bound %g", order, got, r.v[i], r.e[i]);
                ck_assert(fx_is_right(FX_F16, fx_round_to(FX_F16, got), r.v[i], r.e[i]));
            }
        release(g.b);
    }
}
END_TEST

START_TEST(test_wrong_outside) {
    struct gemm g = gemm_of(_i, FX_F16, false);
    struct result r = eval(g.b, "MN", g.y);
    int dropped = 0, shifted = 0, narrow = 0, narrow_stored = 0;
    for (int i = 0; i < GM * GN; i++) {
        gemm_operands(&g, i / GN, i % GN);
        double sum = 0;
        for (int k = 0; k < GK; k++) sum = fx_round_to(FX_F16, sum + (double)(g.row[k] * g.column[k]));
        ck_assert(r.e[i] < 2e-3);
        dropped += fx_is_right(FX_F32, dot(g.row, g.column, GK - 1, FORWARD), r.v[i], r.e[i]);
        narrow += fx_is_right(FX_F32, sum, r.v[i], r.e[i]);
        narrow_stored += fx_is_right(FX_F16, sum, r.v[i], r.e[i]);
        gemm_operands(&g, i / GN, (i + 1) % GN);
        shifted += fx_is_right(FX_F32, dot(g.row, g.column, GK, FORWARD), r.v[i], r.e[i]);
    }
    ck_assert_msg(dropped <= 3 && shifted <= 3 && narrow <= 8 && narrow_stored <= GM * GN * 3 / 4,
        "passed: %d dropped, %d shifted, %d narrow, %d narrow and stored so", dropped, shifted, narrow, narrow_stored);
    release(g.b);
}
END_TEST

/* A normalised row times a weight, its operand rounded as licensed or not; two reductions deep. */
START_TEST(test_licensed_within) {
    struct build *b = BUILD("MNK", 4, 3, 64);
    b->random += (uint64_t)_i * 0x9e3779b97f4a7c15u;
    struct value *x = random_load(b, FX_F32, "MK"), *w = random_load(b, FX_BF16, "KN");
    struct value *square = reduce(b, RED_SUM, op2(b, O_MUL, x, x), "K");
    struct value *z = op2(b, O_MUL, x, op1(b, O_RSQRT, square));
    struct result r = eval(b, "MN", contract(b, z, w, "K"));
    for (int i = 0; i < 12; i++) {
        float squares = 0, rounded = 0, plain = 0, coarse = 0;
        for (int k = 0; k < 64; k++) {
            float t = (float)element(b, x, i / 3 * 64 + k);
            squares += t * t;
        }
        for (int k = 0; k < 64; k++) {
            float t = (float)element(b, x, i / 3 * 64 + k) * (1 / sqrtf(squares)),
                  c = (float)element(b, w, k * 3 + i % 3);
            plain += t * c;
            rounded += (float)fx_round_to(FX_BF16, t) * c;
            coarse += (float)fx_round_to(FX_F8E4M3, t) * c;
        }
        ck_assert(fabs(plain - r.v[i]) <= r.e[i] && fabs(rounded - r.v[i]) <= r.e[i]);
        ck_assert(r.e[i] < 0.05 && coarse != rounded);
    }
    release(b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("eval");
    TCase *values = tcase_create("values"), *bounds = tcase_create("bounds");
    tcase_add_test(values, test_gemm_bias_relu);
    tcase_add_loop_test(values, test_storage_orders, 0, 8);
    tcase_add_test(values, test_batch);
    tcase_add_test(values, test_broadcast);
    tcase_add_test(values, test_conditions);
    tcase_add_test(values, test_two_layers_sampled);
    tcase_add_test(values, test_softmax);
    tcase_add_test(values, test_reductions);
    tcase_add_test(values, test_nested_reduction);
    tcase_add_test(values, test_empty);
    tcase_add_test(values, test_usage);
    tcase_add_test(values, test_layout);
    tcase_add_test(values, test_sparse);
    tcase_add_test(values, test_large_shared);
    tcase_add_loop_test(values, test_random, 0, 200);
    tcase_add_test(values, test_deep);
    tcase_add_test(bounds, test_exact);
    tcase_add_test(bounds, test_propagation);
    tcase_add_test(bounds, test_special_values);
    tcase_add_test(bounds, test_licence);
    tcase_add_test(bounds, test_is_right);
    tcase_add_test(bounds, test_rounded_at_once);
    tcase_add_loop_test(bounds, test_right_within, 0, 40);
    tcase_add_loop_test(bounds, test_wrong_outside, 0, 20);
    tcase_add_loop_test(bounds, test_licensed_within, 0, 20);
    tcase_set_timeout(values, 60);
    tcase_set_timeout(bounds, 60);
    suite_add_tcase(suite, values);
    suite_add_tcase(suite, bounds);
    return run_suite(suite);
}
