/* The oracle on every kind of value beyond float ops and reductions: integers, f64, accesses, running totals, indices
 * of extremes, licences.
 *
 * Values are compared with plain loops written here, or with a recursive evaluator that shares nothing with the oracle
 * but the table of float ops; bounds with what right float implementations give,
 * and with wrong ones they must refuse. */
#include "fx.h"
#include "kernel_build.h"
#include "suite.h"

#include <check.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define ACCESS(b, x, at, fill, ...) access_at(b, x, at, (struct value *[]){__VA_ARGS__}, fill)

static struct value *i64(struct build *b, int64_t x) { return integer(b, FX_I64, x); }
static struct value *plus(struct build *b, struct value *x, int64_t c) { return op2(b, O_ADD, x, i64(b, c)); }
static struct value *times(struct build *b, struct value *x, int64_t c) { return op2(b, O_MUL, x, i64(b, c)); }

/* ---- random kernels against the definitions ---- */

struct any { /* a value of either class */
    double v;
    int64_t i;
};

static int64_t wrapped(enum fx_dtype t, int64_t v) {
    if (t == FX_I8) return (int8_t)v;
    if (t == FX_U8) return (uint8_t)v;
    if (t == FX_I32) return (int32_t)v;
    return t == FX_U32 ? (int64_t)(uint32_t)v : v;
}

static bool less(enum fx_dtype t, int64_t a, int64_t b) { return t == FX_U64 ? (uint64_t)a < (uint64_t)b : a < b; }

static int64_t naive_integer(enum op op, enum fx_dtype t, int64_t a, int64_t b) {
    __extension__ typedef __int128 wide;
    wide x = t == FX_U64 ? (wide)(uint64_t)a : a, y = t == FX_U64 ? (wide)(uint64_t)b : b, q = 0;
    if (y != 0)
        for (q = x / y; q * y > x ? y > 0 : q * y < x ? y < 0 : false;) q--;
    switch (op) {
    case O_ADD: return wrapped(t, (int64_t)((uint64_t)a + (uint64_t)b));
    case O_SUB: return wrapped(t, (int64_t)((uint64_t)a - (uint64_t)b));
    case O_MUL: return wrapped(t, (int64_t)((uint64_t)a * (uint64_t)b));
    case O_FLOORDIV: return wrapped(t, (int64_t)q);
    case O_MOD: return y == 0 ? 0 : wrapped(t, (int64_t)(x - q * y));
    case O_MAX: return less(t, a, b) ? b : a;
    case O_MIN: return less(t, b, a) ? b : a;
    case O_LT: return less(t, a, b);
    case O_GE: return !less(t, a, b);
    default: ck_abort_msg("op %d", op);
    }
    return 0;
}

static struct any naive(struct build *b, const struct value *v, const int64_t *at);

static struct any naive_cast(const struct value *v, struct any x) {
    enum fx_dtype from = v->args[0]->dtype, to = v->to;
    bool is_unsigned = from == FX_U64;
    if (to == FX_BOOL) return (struct any){.v = fx_is_integer(from) ? x.i != 0 : x.v != 0};
    if (from == FX_BOOL) return (struct any){x.v, (int64_t)x.v};
    if (fx_is_integer(from) && fx_is_integer(to)) return (struct any){.i = wrapped(to, x.i)};
    if (to == FX_F64)
        return (struct any){.v = is_unsigned ? (double)(uint64_t)x.i : fx_is_integer(from) ? (double)x.i : x.v};
    if (fx_is_integer(from)) return (struct any){.v = is_unsigned ? (float)(uint64_t)x.i : (float)x.i};
    if (fx_is_float(to)) return (struct any){.v = fx_round_to(to, x.v)};
    double least = to == FX_I32 ? INT32_MIN : to == FX_I64 ? (double)INT64_MIN : 0;
    double most = to == FX_I32 ? INT32_MAX : to == FX_I64 ? 0x1p63 : to == FX_U32 ? UINT32_MAX : 0x1p64;
    if (isnan(x.v)) return (struct any){.i = 0};
    if (x.v >= most)
        return (struct any){.i = to == FX_I32   ? INT32_MAX
                                 : to == FX_I64 ? INT64_MAX
                                 : to == FX_U32 ? (int64_t)UINT32_MAX
                                                : -1};
    if (x.v <= least) return (struct any){.i = to == FX_U64 ? 0 : (int64_t)least};
    return (struct any){.i = to == FX_U64 ? (int64_t)(uint64_t)x.v : (int64_t)x.v};
}

static struct any naive_op(struct build *b, const struct value *v, const int64_t *at) {
    struct any x[3] = {{0, 0}};
    for (int j = 0; j < v->n_args; j++) x[j] = naive(b, v->args[j], at);
    if (v->op == O_WHERE) return x[0].v != 0 ? x[1] : x[2];
    enum fx_dtype t = v->args[0]->dtype;
    if (!fx_is_integer(t)) return (struct any){.v = op_eval(v->op, x[0].v, x[1].v, x[2].v)};
    int64_t r = naive_integer(v->op, t, x[0].i, x[1].i);
    return v->dtype == FX_BOOL ? (struct any){.v = (double)r} : (struct any){.i = r};
}

static struct any naive_recurrence(struct build *b, const struct value *v, const int64_t *at) {
    struct any h = {0, 0};
    int64_t inner[26];
    memcpy(inner, at, sizeof inner);
    for (inner[v->axis] = 0; inner[v->axis] <= at[v->axis]; inner[v->axis]++) {
        struct any t = naive(b, v->args[0], inner), a = naive(b, v->args[1], inner);
        bool is_first = inner[v->axis] == 0;
        h.v = is_first ? t.v : a.v * h.v + t.v;
        h.i = is_first ? t.i : wrapped(v->dtype, (int64_t)((uint64_t)a.i * (uint64_t)h.i + (uint64_t)t.i));
    }
    return h;
}

/* Over the terms in order; a scan's are those up to where it stands. */
static struct any naive_total(struct build *b, const struct value *v, const int64_t *at) {
    if (v->reduction == RED_RECUR) return naive_recurrence(b, v, at);
    int along = v->kind == V_SCAN ? v->axis : v->reduced[0];
    enum fx_dtype t = v->args[0]->dtype;
    int64_t n = v->kind == V_SCAN ? at[along] + 1 : b->extents[along], inner[26], first = 0;
    bool is_integer = fx_is_integer(t);
    struct any total = {0, 0};
    memcpy(inner, at, sizeof inner);
    if (v->reduction == RED_PROD) total = (struct any){1, 1};
    if (v->reduction == RED_MAX && n == 0)
        total = (struct any){t == FX_BOOL ? 0 : -INFINITY, t == FX_I32 ? INT32_MIN : t == FX_I64 ? INT64_MIN : 0};
    if (v->reduction == RED_MIN && n == 0)
        total = (struct any){t == FX_BOOL ? 1 : INFINITY, t == FX_I32   ? INT32_MAX
                                                          : t == FX_I64 ? INT64_MAX
                                                          : t == FX_U32 ? (int64_t)UINT32_MAX
                                                                        : -1};
    for (inner[along] = 0; inner[along] < n; inner[along]++) {
        struct any x = naive(b, v->args[0], inner);
        bool is_larger = is_integer ? less(t, total.i, x.i) : x.v > total.v,
             is_smaller = is_integer ? less(t, x.i, total.i) : x.v < total.v;
        bool is_first = inner[along] == 0;
        if (!is_integer && isnan(x.v) && !isnan(total.v)) is_larger = is_smaller = true;
        switch (v->reduction) {
        case RED_SUM:
            total = (struct any){total.v + x.v, wrapped(t, (int64_t)((uint64_t)total.i + (uint64_t)x.i))};
            break;
        case RED_PROD:
            total = (struct any){total.v * x.v, wrapped(t, (int64_t)((uint64_t)total.i * (uint64_t)x.i))};
            break;
        case RED_MAX:
        case RED_ARGMAX:
            if (is_first || is_larger) total = x, first = inner[along];
            break;
        default:
            if (is_first || is_smaller) total = x, first = inner[along];
        }
    }
    return v->reduction == RED_ARGMAX || v->reduction == RED_ARGMIN ? (struct any){.i = first} : total;
}

static struct any naive(struct build *b, const struct value *v, const int64_t *at) {
    int64_t there[26], flat = 0;
    switch (v->kind) {
    case V_NUM: return (struct any){v->num, v->integer};
    case V_INDEX: return (struct any){.i = at[v->axis]};
    case V_SIZE: return (struct any){.i = b->extents[v->axis]};
    case V_OP: return naive_op(b, v, at);
    case V_CAST: return naive_cast(v, naive(b, v->args[0], at));
    case V_REDUCE:
    case V_SCAN: return naive_total(b, v, at);
    case V_ACCESS:
        memcpy(there, at, sizeof there);
        for (int j = 0; j < v->n_at; j++) {
            int64_t p = naive(b, v->args[1 + j], at).i;
            if (p < 0 || p >= b->extents[v->at[j]]) return naive(b, v->args[1 + v->n_at], at);
            there[v->at[j]] = p;
        }
        return naive(b, v->args[0], there);
    default:
        for (int j = 0; j < v->n_axes; j++) flat = flat * b->extents[v->axes[j]] + at[v->axes[j]];
        if (!fx_is_integer(v->dtype)) return (struct any){.v = element(b, v, flat)};
        return (struct any){.i = fx_load_integer(b->inputs[v->param].dtype, b->inputs[v->param].data, (size_t)flat)};
    }
}

static int pick(struct build *b, int n) { return (int)(fabs(uniform(b)) * n) % n; }

static struct value *pick_value(struct build *b) {
    int n = b->k.n_values, recent = n > 20 ? n - 12 : 0;
    return b->values[pick(b, 3) ? recent + pick(b, n - recent) : pick(b, n)];
}

static struct value *as(struct build *b, enum fx_dtype t, struct value *x) { return x->dtype == t ? x : cast(b, t, x); }

static struct value *random_access(struct build *b, struct value *x) {
    struct value *positions[2];
    char at[3] = "";
    int n = x->n_axes > 1 && pick(b, 3) == 0 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        at[i] = b->labels[x->axes[(pick(b, x->n_axes) * (n == 1) + i) % x->n_axes]];
        struct value *p = pick(b, 2) ? running_index(b, b->labels[pick(b, 4)]) : as(b, FX_I64, pick_value(b));
        if (pick(b, 2)) p = op2(b, O_MOD, plus(b, p, pick(b, 3) - 1), size_of(b, at[i]));
        positions[i] = pick(b, 3) ? p : plus(b, p, pick(b, 5) - 2);
    }
    return access_at(b, x, at, positions, as(b, x->dtype, pick_value(b)));
}

static void random_value(struct build *b) {
    static const enum op ops[] = {O_ADD, O_SUB, O_MUL, O_MAX, O_MIN, O_LT, O_GE, O_FLOORDIV, O_MOD};
    static const enum fx_dtype to[] = {FX_I32, FX_I64, FX_U32, FX_U64, FX_F32, FX_BOOL, FX_I8, FX_U8, FX_F64};
    static const enum reduction reductions[] = {RED_SUM, RED_MAX, RED_MIN, RED_ARGMAX, RED_ARGMIN, RED_PROD};
    struct value *x = pick_value(b), *y = pick_value(b);
    char label[2] = {x->n_axes ? b->labels[x->axes[pick(b, x->n_axes)]] : 0, 0};
    int kind = pick(b, 8), most = x->dtype == FX_BOOL ? 7 : fx_is_integer(x->dtype) ? 9 : 7;
    bool is_number = x->dtype != FX_BOOL;
    if (kind == 0) {
        enum fx_dtype t = to[pick(b, 9)];
        bool is_narrow = t == FX_I8 || t == FX_U8;
        if (fx_is_integer(fx_compute_type(t)) || is_number)
            cast(b, is_narrow && !fx_is_integer(x->dtype) ? FX_I32 : t, x);
    } else if (kind == 1) {
        op3(b, O_WHERE, as(b, FX_BOOL, pick_value(b)), x, as(b, x->dtype, y));
    } else if (kind <= 3 && x->n_axes) {
        random_access(b, x);
    } else if (kind == 4 && x->n_axes) {
        reduce(b,
            is_number    ? reductions[pick(b, fx_is_integer(x->dtype) ? 6 : 5)]
            : pick(b, 2) ? RED_MAX
                         : RED_MIN,
            x, label);
    } else if (kind == 5 && x->n_axes && is_number) {
        scan(b, RED_SUM, x, label[0]);
    } else {
        op2(b, is_number ? ops[pick(b, most)] : pick(b, 2) ? O_AND : O_OR, x, as(b, x->dtype, y));
    }
}

static void compare_with_naive(
    struct build *b, const struct value *y, const struct result *r, const int64_t *elements) {
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at[26] = {0}, rest = elements ? elements[i] : i;
        for (int j = 0; j < 4; j++) {
            at[j] = rest % b->extents[j];
            rest /= b->extents[j];
        }
        struct any want = naive(b, y, at);
        if (fx_is_integer(y->dtype))
            ck_assert_msg(
                r->i[i] == want.i, "element %d: %lld, expected %lld", (int)i, (long long)r->i[i], (long long)want.i);
        else
            ck_assert_msg(r->v[i] == want.v || (isnan(r->v[i]) && isnan(want.v)), "element %d: %g, expected %g", (int)i,
                r->v[i], want.v);
        if (fx_is_integer(y->dtype))
            ck_assert(r->v[i] == (y->dtype == FX_U64 ? (double)(uint64_t)want.i : (double)want.i));
        if (y->dtype == FX_BOOL) ck_assert_int_eq(r->i[i], want.v != 0);
    }
}

/* Random kernels of every kind, compared at every element, or at some. */
START_TEST(test_random) {
    struct build *b = BUILD("ABCD", _i % 5, 1 + _i % 3, 2, 3);
    b->random += (uint64_t)_i * 0x9e3779b97f4a7c15u;
    integer_load(b, FX_F32, "A"), integer_load(b, FX_F32, "CB"), integer_load(b, FX_I32, "BA"),
        integer_load(b, FX_I64, "DC");
    integer_load(b, FX_U8, "DAC"), integer_load(b, FX_U64, "D"), integer_load(b, FX_BOOL, "B");
    running_index(b, 'A'), running_index(b, 'D'), size_of(b, 'B');
    int n = 20 + pick(b, 12);
    while (b->k.n_values < n) random_value(b);
    struct value *y = b->values[b->k.n_values - 1];
    struct result r = eval(b, "DCBA", y);
    compare_with_naive(b, y, &r, NULL);
    if (r.n == 0) {
        release(b);
        return;
    }
    int64_t elements[3] = {r.n - 1, 0, r.n / 2};
    ck_assert_int_eq(evaluate(b, "DCBA", y, elements, 3, &r), FX_OK);
    compare_with_naive(b, y, &r, elements);
    release(b);
}
END_TEST

/* Windows of windows of a parameter, of a running index, and of what is computed: axes moved, met again, left and
 * passed through. */
START_TEST(test_chains) {
    struct build *b = BUILD("ABCD", 3, 4, 2, 3);
    b->random += (uint64_t)_i * 0x9e3779b97f4a7c15u;
    struct value *starts[] = {integer_load(b, FX_I32, "ABC"), integer_load(b, FX_I32, "BA"),
        cast(b, FX_I32, running_index(b, 'A'))},
                 *x = starts[_i % 3];
    if (_i % 5 == 0) x = op2(b, O_MUL, x, integer(b, FX_I32, -1));
    for (int depth = 1 + pick(b, 20); depth > 0 && x->n_axes > 0; depth--) {
        char at[2] = {b->labels[x->axes[pick(b, x->n_axes)]], 0};
        struct value *p = running_index(b, b->labels[pick(b, 4)]);
        if (pick(b, 3) == 0) p = op2(b, O_SUB, plus(b, size_of(b, at[0]), -1), p);
        if (pick(b, 3) == 0) p = op2(b, O_ADD, p, running_index(b, b->labels[pick(b, 4)]));
        if (pick(b, 2)) p = op2(b, O_MOD, p, size_of(b, at[0]));
        struct value *fill = pick(b, 2) ? cast(b, FX_I32, times(b, running_index(b, b->labels[pick(b, 4)]), 100))
                                        : integer(b, FX_I32, -7);
        x = access_at(b, x, at, &p, fill);
    }
    x = op2(b, O_ADD, x, cast(b, FX_I32, times(b, running_index(b, 'B'), 1000)));
    struct result r = eval(b, "DCBA", x);
    compare_with_naive(b, x, &r, NULL);
    release(b);
}
END_TEST

/* ---- accesses ---- */

/* The axis H is both the source's and the result's: inside the source it is the position. */
START_TEST(test_window) {
    struct build *b = BUILD("HUC", 300, 3, 2);
    struct value *x = integer_load(b, FX_F16, "CH"), *k = integer_load(b, FX_F16, "U"), *h = running_index(b, 'H'),
                 *u = running_index(b, 'U');
    struct value *window = ACCESS(b, _i ? op1(b, O_NEG, x) : x, "H", num(b, 100), plus(b, op2(b, O_ADD, h, u), -1));
    struct result r = eval(b, "HC", contract(b, k, window, "U"));
    for (int i = 0; i < 300; i++)
        for (int c = 0; c < 2; c++) {
            double want = 0;
            for (int j = 0; j < 3; j++) {
                int p = i + j - 1;
                double at = p < 0 || p >= 300 ? 100 : _i ? -element(b, x, c * 300 + p) : element(b, x, c * 300 + p);
                want += element(b, k, j) * at;
            }
            ck_assert_double_eq(r.v[i * 2 + c], want);
            ck_assert_double_eq(r.e[i * 2 + c], 0);
        }
    release(b);
}
END_TEST

/* A strided maximum, a diagonal, a reversal, of a parameter and of a computed value. */
START_TEST(test_positions) {
    struct build *b = BUILD("TQUIJ", 9, 4, 3, 5, 5);
    struct value *x = integer_load(b, FX_F32, "T"), *m = integer_load(b, FX_F32, "JI"), *y = _i ? op1(b, O_NEG, x) : x;
    double sign = _i ? -1 : 1;
    struct value *two_q = times(b, running_index(b, 'Q'), 2);
    struct result r = eval(
        b, "Q", reduce(b, RED_MAX, ACCESS(b, y, "T", NULL, op2(b, O_ADD, two_q, running_index(b, 'U'))), "U"));
    for (int q = 0; q < 4; q++) {
        double pair = fmax(sign * element(b, x, 2 * q), sign * element(b, x, 2 * q + 1));
        ck_assert_double_eq(r.v[q], fmax(pair, sign * element(b, x, 2 * q + 2)));
    }
    r = eval(b, "I", ACCESS(b, _i ? op1(b, O_NEG, m) : m, "J", NULL, running_index(b, 'I')));
    for (int i = 0; i < 5; i++) ck_assert_double_eq(r.v[i], sign * element(b, m, i * 6));
    struct value *last = op2(b, O_SUB, plus(b, size_of(b, 'T'), -1), running_index(b, 'T'));
    r = eval(b, "T", ACCESS(b, y, "T", NULL, last));
    for (int t = 0; t < 9; t++) ck_assert_double_eq(r.v[t], sign * element(b, x, 8 - t));
    r = eval(b, "JI", ACCESS(b, _i ? op1(b, O_NEG, m) : m, "IJ", NULL, running_index(b, 'J'), running_index(b, 'I')));
    for (int i = 0; i < 25; i++) ck_assert_double_eq(r.v[i], sign * element(b, m, i % 5 * 5 + i / 5));
    release(b);
}
END_TEST

/* Positions from data: below, inside, beyond, and beyond 2^53; of a stored and of a computed table, sampled too. */
START_TEST(test_gather) {
    static const int64_t ids[] = {0, 6, -1, 7, INT64_MIN, INT64_MAX, 3, (int64_t)1 << 60};
    struct build *b = BUILD("SVE", 8, 7, 300);
    struct value *table = integer_load(b, FX_F32, "VE"), *id = load_integers(b, FX_I64, "S", ids);
    struct value *y = ACCESS(b, _i ? op1(b, O_NEG, table) : table, "V", num(b, 0.5), id);
    struct result r = eval(b, "SE", y), some;
    for (int i = 0; i < 8 * 300; i++) {
        int64_t row = ids[i / 300];
        double want = row < 0 || row >= 7 ? 0.5 : (_i ? -1 : 1) * element(b, table, row * 300 + i % 300);
        ck_assert_double_eq(r.v[i], want);
    }
    ck_assert_int_eq(evaluate(b, "SE", y, (int64_t[]){6 * 300 + 5, 299}, 2, &some), FX_OK);
    ck_assert_double_eq(some.v[0], r.v[6 * 300 + 5]);
    ck_assert_double_eq(some.v[1], r.v[299]);
    struct value *big = load_integers(b, FX_U64, "S", (int64_t[]){0, 1, 2, 3, 4, 5, 6, -1}); /* 2^64 - 1 lies outside */
    ck_assert_double_eq(eval(b, "SE", ACCESS(b, table, "V", num(b, 0.5), big)).v[7 * 300], 0.5);
    release(b);
}
END_TEST

START_TEST(
    test_halves) { /* of a contraction, at few elements: only their columns are computed; and an access of an access */
    struct build *b = BUILD("MKFNP", 1 << 12, 3, 1 << 13, 1 << 12, 2);
    struct value *x = integer_load(b, FX_F32, "MK"), *w = integer_load(b, FX_F32, "KF"), *n = running_index(b, 'N'),
                 *s = contract(b, x, w, "K");
    struct value *l = ACCESS(b, s, "F", NULL, n), *right = ACCESS(b, s, "F", NULL, op2(b, O_ADD, n, size_of(b, 'N')));
    struct value *split = ACCESS(b, s, "F", NULL, op2(b, O_ADD, times(b, n, 2), running_index(b, 'P')));
    struct value *odd = ACCESS(b, split, "P", NULL, i64(b, 1));
    int64_t elements[] = {0, 4095, ((int64_t)1 << 24) - 1, 77777};
    struct result r;
    ck_assert_int_eq(evaluate(b, "MN", op2(b, O_ADD, op2(b, O_SUB, l, right), odd), elements, 4, &r), FX_OK);
    for (int i = 0; i < 4; i++) {
        int64_t m = elements[i] >> 12, column = elements[i] & 4095, at[3] = {column, column + 4096, 2 * column + 1};
        double sum[3] = {0};
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) sum[j] += element(b, x, m * 3 + k) * element(b, w, k * 8192 + at[j]);
        ck_assert_double_eq(r.v[i], sum[0] - sum[1] + sum[2]);
    }
    release(b);
}
END_TEST

START_TEST(test_outside) { /* a position no fill covers is the checker's bug, never a read outside */
    struct build *b = BUILD("T", 4);
    struct value *x = integer_load(b, FX_F32, "T"), *p = plus(b, running_index(b, 'T'), _i / 2 ? 1 : -1);
    struct value *y = _i % 2 ? op1(b, O_NEG, x) : x;
    struct result r;
    ck_assert_int_eq(evaluate(b, "T", ACCESS(b, y, "T", NULL, p), NULL, 4, &r), FX_ERR_INTERNAL);
    ck_assert_int_eq(evaluate(b, "T", op2(b, O_ADD, x, p), NULL, 4, &r), FX_ERR_INTERNAL); /* a float and an integer */
    release(b);
}
END_TEST

START_TEST(test_zero_extents) {
    struct build *b = BUILD("ZTV", 0, 3, 2);
    struct value *empty = load(b, FX_F32, "Z", NULL), *wide = load(b, FX_F32, "ZV", NULL), *t = running_index(b, 'T'),
                 *seven = num(b, 7);
    for (int computed = 0; computed < 2; computed++) {
        struct value *x = computed ? op1(b, O_NEG, empty) : empty;
        struct result r = eval(b, "T", ACCESS(b, x, "Z", seven, t));
        for (int i = 0; i < 3; i++) ck_assert_double_eq(r.v[i], 7);
        r = eval(b, "T", ACCESS(b, x, "Z", seven, load_integers(b, FX_I64, "T", (int64_t[]){0, 1, -1})));
        for (int i = 0; i < 3; i++) ck_assert_double_eq(r.v[i], 7);
        ck_assert_int_eq(eval(b, "Z", ACCESS(b, computed ? op1(b, O_NEG, wide) : wide, "V", NULL, i64(b, 1))).n, 0);
        ck_assert_double_eq(
            eval_one(b,
                reduce(b, RED_SUM, ACCESS(b, integer_load(b, FX_F32, "T"), "T", seven, running_index(b, 'Z')), "Z"),
                NULL),
            0);
    }
    ck_assert_int_eq(eval(b, "Z", scan(b, RED_SUM, empty, 'Z')).n, 0);
    ck_assert_int_eq(eval(b, "ZV", scan(b, RED_SUM, wide, 'V')).n, 0);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_ARGMAX, empty, "Z")).i[0], 0);
    struct value *i8 = load_integers(b, FX_I8, "Z", NULL), *u64 = load_integers(b, FX_U64, "Z", NULL),
                 *flag = load(b, FX_BOOL, "Z", NULL);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MAX, i8, "Z")).i[0], INT32_MIN);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MIN, i8, "Z")).i[0], INT32_MAX);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MIN, u64, "Z")).i[0], -1);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MAX, u64, "Z")).i[0], 0);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MAX, flag, "Z")).i[0], 0);
    ck_assert_int_eq(eval(b, "", reduce(b, RED_MIN, flag, "Z")).i[0], 1);
    release(b);
}
END_TEST

/* ---- integers ---- */

static int64_t one_integer(struct build *b, struct value *x, double *bound) {
    struct result r = eval(b, "", x);
    if (bound) *bound = r.e[0];
    return r.i[0];
}

START_TEST(test_64_bits) {
    struct build *b = BUILD("K", 3);
    int64_t big = ((int64_t)1 << 53) + 1;
    double e;
    ck_assert_int_eq(one_integer(b, plus(b, i64(b, big), 2), &e), big + 2);
    ck_assert_double_eq(e, 0);
    ck_assert_int_eq(one_integer(b, op2(b, O_LT, i64(b, big), i64(b, big + 1)), NULL), 1);
    ck_assert_int_eq(one_integer(b, op2(b, O_EQ, i64(b, big), i64(b, big - 1)), NULL), 0);
    ck_assert_int_eq(one_integer(b, op2(b, O_LT, integer(b, FX_U64, -1), integer(b, FX_U64, 1)), NULL), 0);
    ck_assert_int_eq(
        one_integer(b, op2(b, O_FLOORDIV, integer(b, FX_U64, -1), integer(b, FX_U64, 10)), NULL), 1844674407370955161);
    ck_assert_double_eq(eval(b, "", integer(b, FX_U64, -1)).v[0], 0x1p64);
    int64_t data[] = {INT64_MAX, 2, big};
    struct value *x = load_integers(b, FX_I64, "K", data), *u = load_integers(b, FX_U64, "K", data);
    ck_assert_int_eq(
        one_integer(b, reduce(b, RED_SUM, x, "K"), &e), (int64_t)((uint64_t)INT64_MAX + 2 + (uint64_t)big));
    ck_assert_double_eq(e, 0);
    ck_assert_int_eq(
        one_integer(b, reduce(b, RED_PROD, u, "K"), NULL), (int64_t)((uint64_t)INT64_MAX * 2 * (uint64_t)big));
    ck_assert_int_eq(one_integer(b, reduce(b, RED_MAX, u, "K"), NULL), INT64_MAX);
    ck_assert_int_eq(one_integer(b, reduce(b, RED_ARGMIN, x, "K"), NULL), 1);
    struct result r = eval(b, "K", x);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(r.i[i], data[i]);
    /* random bits read their operands as words of 64 bits */
    struct value *word = op3(b, O_PHILOX, i64(b, 5), integer(b, FX_I32, -1), i64(b, 3));
    ck_assert_int_eq(one_integer(b, word, NULL), fx_philox(5, UINT64_MAX, 3));
    /* the contraction of bytes: in i32, exactly */
    struct value *bytes = load_integers(b, FX_I8, "K", (int64_t[]){-128, 127, -128});
    ck_assert_int_eq(one_integer(b, contract(b, bytes, bytes, "K"), NULL), 2 * 16384 + 127 * 127);
    release(b);
}
END_TEST

START_TEST(test_casts) {
    struct build *b = BUILD("K", 1);
    double e;
    ck_assert_int_eq(one_integer(b, cast(b, FX_I8, i64(b, 200)), NULL), -56);
    ck_assert_int_eq(one_integer(b, cast(b, FX_U8, i64(b, -1)), NULL), 255);
    ck_assert_int_eq(one_integer(b, cast(b, FX_U64, i64(b, -1)), NULL), -1);
    ck_assert_int_eq(one_integer(b, cast(b, FX_I8, num(b, 300)), NULL), 127);
    ck_assert_int_eq(one_integer(b, cast(b, FX_U8, num(b, -3)), NULL), 0);
    ck_assert_int_eq(one_integer(b, cast(b, FX_I32, num(b, -2.75)), NULL), -2);
    ck_assert_int_eq(one_integer(b, cast(b, FX_I64, num(b, NAN)), NULL), 0);
    ck_assert_int_eq(one_integer(b, cast(b, FX_I64, num(b, INFINITY)), NULL), INT64_MAX);
    ck_assert_int_eq(one_integer(b, cast(b, FX_BOOL, num(b, NAN)), NULL), 1);
    ck_assert_int_eq(one_integer(b, cast(b, FX_BOOL, i64(b, 0)), NULL), 0);
    ck_assert_int_eq(one_integer(b, cast(b, FX_I32, op2(b, O_LT, i64(b, 1), i64(b, 2))), NULL), 1);
    ck_assert_double_eq(eval_one(b, cast(b, FX_F16, op2(b, O_LT, i64(b, 1), i64(b, 2))), NULL), 1);
    ck_assert_double_eq(eval_one(b, cast(b, FX_F32, i64(b, 16777217)), &e), 16777216);
    ck_assert_double_eq(e, 0);
    /* a double between would lose the last bit, and round the tie down */
    int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 54), over = tie + 1;
    ck_assert_double_eq(eval_one(b, cast(b, FX_BF16, i64(b, tie)), NULL), 0x1p62);
    ck_assert_double_eq(eval_one(b, cast(b, FX_BF16, i64(b, over)), NULL), 0x1p62 + 0x1p55);
    ck_assert_double_eq(eval_one(b, cast(b, FX_BF16, i64(b, -over)), NULL), -(0x1p62 + 0x1p55));
    ck_assert_double_eq(eval_one(b, cast(b, FX_F16, i64(b, INT64_MIN)), NULL), -INFINITY);
    ck_assert_double_eq(eval_one(b, cast(b, FX_F32, integer(b, FX_U64, -1)), NULL), 0x1p64);
    ck_assert_double_eq(eval_one(b, cast(b, FX_F64, i64(b, INT64_MAX)), NULL), 0x1p63);
    /* to f32 from f64: one rounding, which is the value */
    ck_assert_double_eq(eval_one(b, cast(b, FX_F32, in_f64(num(b, 0.1))), &e), (double)0.1f);
    ck_assert_double_eq(e, 0);
    release(b);
}
END_TEST

/* An error among integers comes from a float that was cast. */
START_TEST(test_integer_errors) {
    struct build *b = BUILD("K", 4);
    double e, third = 0;
    struct value *x = op2(b, O_MUL, op2(b, O_DIV, num(b, 1), num(b, 3)), num(b, 3)); /* 1, give or take */
    struct value *i = cast(b, FX_I32, x), *ten = integer(b, FX_I32, 10);
    ck_assert_int_eq(one_integer(b, i, &e), 1);
    ck_assert_double_eq(e, 1);
    ck_assert_int_eq(one_integer(b, op2(b, O_MUL, op2(b, O_SUB, i, ten), ten), &e), -90);
    ck_assert_double_eq(e, 10);
    ck_assert_double_eq(bound_of(b, op1(b, O_ABS, i)), 1);
    ck_assert_double_eq(bound_of(b, op1(b, O_ABS, op2(b, O_SUB, i, integer(b, FX_I32, 1)))), 1);
    ck_assert_double_eq(bound_of(b, op2(b, O_MIN, i, ten)), 1);
    ck_assert_double_eq(bound_of(b, op2(b, O_MAX, i, ten)), 0);
    ck_assert(isinf(bound_of(b, op2(b, O_MOD, i, ten))));
    ck_assert(isinf(bound_of(b, op2(b, O_ADD, i, integer(b, FX_I32, INT32_MAX)))));
    ck_assert_double_eq(bound_of(b, op2(b, O_ADD, i, integer(b, FX_I32, INT32_MAX - 2))), 1);
    ck_assert(isinf(bound_of(b, cast(b, FX_I8, op2(b, O_ADD, i, integer(b, FX_I32, 126))))));
    ck_assert_double_eq(bound_of(b, op2(b, O_LT, i, ten)), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_LE, i, integer(b, FX_I32, 0))), 1);
    ck_assert_double_eq(bound_of(b, cast(b, FX_BOOL, i)), 1);
    ck_assert_double_eq(bound_of(b, cast(b, FX_F32, i)), 1);
    ck_assert_double_eq(bound_of(b, op3(b, O_WHERE, op2(b, O_LT, x, num(b, 1)), ten, i)), 9);
    struct value *row = op2(b, O_ADD, load_integers(b, FX_I32, "K", (int64_t[]){5, 6, 7, 8}), i);
    ck_assert_double_eq(bound_of(b, reduce(b, RED_SUM, row, "K")), 4);
    ck_assert_double_eq(bound_of(b, reduce(b, RED_MAX, row, "K")), 1);
    /* a position in doubt opens the result, whatever lies there */
    struct value *table = integer_load(b, FX_F32, "K");
    eval_one(b, ACCESS(b, table, "K", NULL, i), &e);
    ck_assert(isinf(e));
    eval_one(b, ACCESS(b, op1(b, O_NEG, table), "K", NULL, op2(b, O_ADD, i, ten)), &third);
    ck_assert(isinf(third));
    release(b);
}
END_TEST

START_TEST(test_right_integer) {
    int64_t big = (int64_t)1 << 60;
    ck_assert(fx_is_right_integer(FX_I64, big, big, 0) && !fx_is_right_integer(FX_I64, big + 1, big, 0));
    ck_assert(fx_is_right_integer(FX_I64, big + 2, big, 2) && !fx_is_right_integer(FX_I64, big - 3, big, 2));
    ck_assert(fx_is_right_integer(FX_I64, INT64_MIN, INT64_MAX, INFINITY) &&
              !fx_is_right_integer(FX_I64, INT64_MIN, INT64_MAX, 100));
    ck_assert(!fx_is_right_integer(FX_U64, -1, 1, 5) && fx_is_right_integer(FX_I32, -1, 1, 2));
    ck_assert(fx_is_right_integer(FX_BOOL, 0, 1, 1) && !fx_is_right_integer(FX_BOOL, 0, 1, 0) &&
              !fx_is_right_integer(FX_BOOL, 2, 1, 1));
}
END_TEST

/* u4 and i4 in words, the axis in the middle and not a multiple of a word. */
START_TEST(test_packed) {
    enum { J = 3, L = 11, C = 2, WORDS = 2 };
    struct build *b = BUILD("JLC", J, L, C);
    bool is_msb = _i & 1;
    enum fx_dtype t = _i & 2 ? FX_I4 : FX_U4;
    uint32_t words[J * WORDS * C];
    for (int i = 0; i < J * WORDS * C; i++) words[i] = 0x9e3779b9u * (uint32_t)(i + 1);
    struct value *x = integer_load(b, FX_I8, "JLC");
    b->params[x->param].dtype = t;
    b->params[x->param].packed = (struct fx_packing){.factor = 8, .storage = FX_I32, .axis = 1, .is_msb = is_msb};
    b->inputs[x->param] = (struct oracle_input){FX_I32, words};
    struct result r = eval(b, "JLC", x);
    for (int j = 0; j < J; j++)
        for (int l = 0; l < L; l++)
            for (int c = 0; c < C; c++) {
                uint32_t word = words[(j * WORDS + l / 8) * C + c],
                         field = word >> 4 * (is_msb ? 7 - l % 8 : l % 8) & 15;
                ck_assert_int_eq(r.i[(j * L + l) * C + c], t == FX_I4 && field > 7 ? (int)field - 16 : (int)field);
            }
    release(b);
}
END_TEST

/* ---- f64 ---- */

START_TEST(test_f64) {
    struct build *b = BUILD("K", 200);
    double e, tenth = 0.1;
    struct value *x = in_f64(random_load(b, FX_F64, "K")), *y = in_f64(random_load(b, FX_F64, "K"));
    double v = eval_one(b, contract(b, x, y, "K"), &e);
    long double want = 0, size = 0;
    for (int i = 0; i < 200; i++) {
        want += (long double)element(b, x, i) * element(b, y, i);
        size += fabsl((long double)element(b, x, i) * element(b, y, i));
    }
    ck_assert(fabsl(want - v) <= e && e > 0 && e < 0x1p-43 * size);
    float single = 0;
    for (int i = 0; i < 200; i++) single += (float)element(b, x, i) * (float)element(b, y, i);
    ck_assert(!fx_is_right(FX_F64, single, v, e));
    ck_assert_double_eq(bound_of(b, in_f64(num(b, tenth))), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_ADD, in_f64(num(b, tenth)), in_f64(num(b, 1)))), 0x1p-52 * (tenth + 1));
    ck_assert_double_eq(bound_of(b, op2(b, O_ADD, in_f64(num(b, 0x1p40)), in_f64(num(b, 1)))), 0);
    ck_assert_double_eq(bound_of(b, op2(b, O_MUL, in_f64(num(b, 0x1.00000001p0)), in_f64(num(b, 3)))), 0);
    ck_assert_double_eq(
        bound_of(b, op2(b, O_MUL, in_f64(num(b, tenth)), in_f64(num(b, tenth)))), 0x1p-52 * (tenth * tenth));
    ck_assert_double_eq(bound_of(b, op2(b, O_DIV, in_f64(num(b, 3)), in_f64(num(b, 4)))), 0);
    ck_assert_double_eq(bound_of(b, op1(b, O_SQRT, in_f64(num(b, 2.25)))), 0);
    ck_assert(bound_of(b, op1(b, O_LOG, in_f64(num(b, 3)))) == 4 * 0x1p-52 * log(3));
    ck_assert_double_eq(
        bound_of(b, op2(b, O_MUL, in_f64(num(b, 1e30)), in_f64(num(b, 1e30)))), 0x1p-52 * (1e30 * 1e30)); /* no f32 */
    ck_assert(isinf(bound_of(b, op2(b, O_MUL, in_f64(num(b, 1e300)), in_f64(num(b, 1e300))))));
    /* sums that 53 bits hold are exact in any order */
    struct value *large = in_f64(load(b, FX_F64, "K", draw(b, "K", 1 << 30)));
    ck_assert_double_eq(bound_of(b, reduce(b, RED_SUM, large, "K")), 0);
    release(b);
}
END_TEST

/* ---- running totals ---- */

START_TEST(
    test_scan) { /* along the last axis, longer than a line, and along the first; sampled: what comes before counts */
    struct build *b = BUILD("MT", 3, 700);
    struct value *x = integer_load(b, FX_F32, _i ? "TM" : "MT");
    struct value *s = scan(b, RED_SUM, op1(b, O_NEG, x), 'T');
    struct result r = eval(b, "MT", s), some;
    for (int m = 0; m < 3; m++) {
        double sum = 0;
        for (int t = 0; t < 700; t++) {
            sum -= element(b, x, _i ? t * 3 + m : m * 700 + t);
            ck_assert_double_eq(r.v[m * 700 + t], sum);
            ck_assert_double_eq(r.e[m * 700 + t], 0);
        }
    }
    int64_t elements[] = {700 + 513, 0, 1399, 2000, 700 + 513};
    ck_assert_int_eq(evaluate(b, "MT", s, elements, 5, &some), FX_OK);
    for (int i = 0; i < 5; i++) ck_assert_double_eq(some.v[i], r.v[elements[i]]);
    /* read back to front by an access */
    struct value *back = op2(b, O_SUB, i64(b, 699), running_index(b, 'T'));
    struct result reversed = eval(b, "MT", ACCESS(b, s, "T", NULL, back));
    for (int i = 0; i < 2100; i++) ck_assert_double_eq(reversed.v[i], r.v[i / 700 * 700 + 699 - i % 700]);
    release(b);
}
END_TEST

START_TEST(test_scan_within) {
    struct build *b = BUILD("T", 500);
    struct value *x = random_load(b, FX_F32, "T");
    struct result sums = eval(b, "T", scan(b, RED_SUM, x, 'T')), products = eval(b, "T", scan(b, RED_PROD, x, 'T'));
    float sum = 0, product = 1;
    for (int t = 0; t < 500; t++) {
        float v = (float)element(b, x, t);
        sum += v, product *= v;
        ck_assert(fabs(sum - sums.v[t]) <= sums.e[t] && sums.e[t] < 2e-2);
        ck_assert(isinf(products.e[t]) || fabs(product - products.v[t]) <= products.e[t]);
        if (t == 0) ck_assert_double_eq(sums.e[t], 0);
        if (t > 100) ck_assert(!fx_is_right(FX_F32, sum + v * 0.5, sums.v[t], sums.e[t]) || fabs(v) < 1e-2);
    }
    release(b);
}
END_TEST

/* In runs of 7 that are joined, as an implementation may: of a run the product of its a's and what it gives from 0. */
static float by_runs(const float *a, const float *x, int n) {
    float h = 0;
    for (int first = 0; first < n; first += 7) {
        float product = 1, sum = 0;
        for (int t = first; t < n && t < first + 7; t++) product *= t ? a[t] : 0, sum = (t ? a[t] : 0) * sum + x[t];
        h = product * h + sum;
    }
    return h;
}

START_TEST(test_recurrence) {
    enum { T = 300 };
    struct build *b = BUILD("MT", 3, T);
    struct value *x = random_load(b, FX_F32, "T"), *a = random_load(b, FX_F32, "T");
    struct result r = eval(b, "T", recurrence(b, a, x, 'T'));
    float as[T], xs[T];
    for (int t = 0; t < T; t++) as[t] = (float)element(b, a, t), xs[t] = (float)element(b, x, t);
    for (int t = 0; t < T; t++) {
        double h = by_runs(as, xs, t + 1);
        ck_assert_msg(fabs(h - r.v[t]) <= r.e[t], "%d: %g is not %g within %g", t, h, r.v[t], r.e[t]);
        if (isfinite(r.e[t]) && fabs(xs[t]) > 1e-2) ck_assert(!fx_is_right(FX_F32, h + 0.5 * xs[t], r.v[t], r.e[t]));
    }
    struct result m = eval(b, "MT", recurrence(b, load(b, FX_F32, "M", (double[]){1, -1, 2}), integer_load(b, FX_F32, "T"), 'T'));
    for (int t = 0; t < 2 * T; t++) ck_assert_double_eq(m.e[t], 0); /* integers, none beyond 2^24 */
    ck_assert(isinf(m.e[3 * T - 1]));                               /* a product of 2s overflows */
    double ends[T] = {0x1p24 - 1, 1, 1};
    m = eval(b, "T", recurrence(b, num(b, 1), load(b, FX_F32, "T", ends), 'T'));
    ck_assert(m.e[1] == 0 && m.e[2] > 0 && m.e[3] > 0); /* 2^24 is exact, 2^24 + 1 is not, nor what follows */
    release(b);
}
END_TEST

START_TEST(test_recurrence_specials) {
    struct build *b = BUILD("T", 5);
    struct value *x = load(b, FX_F32, "T", (double[]){3, 1, INFINITY, 2, 1});
    struct result r = eval(b, "T", recurrence(b, load(b, FX_F32, "T", (double[]){NAN, 2, 1, 0.5, 0}), x, 'T'));
    const double want[] = {3, 7, INFINITY, INFINITY, NAN}; /* nothing stands before the first */
    for (int t = 0; t < 5; t++) ck_assert(r.e[t] == 0 && (isnan(want[t]) ? isnan(r.v[t]) : r.v[t] == want[t]));
    x = load(b, FX_F32, "T", (double[]){0, 0, 0, 0, 1});
    r = eval(b, "T", recurrence(b, load(b, FX_F32, "T", (double[]){1, 1e30, 1e30, 1e-30, 0}), x, 'T'));
    ck_assert(r.e[1] < 1e-6 && isinf(r.e[2]) && isinf(r.e[4])); /* the product of a run may overflow where h does not */
    struct value *n = load(b, FX_I32, "T", (double[]){5, 1 << 20, 1 << 20, 3, -1});
    r = eval(b, "T", recurrence(b, n, n, 'T'));
    uint32_t h = 0;
    for (int t = 0; t < 5; t++) {
        uint32_t v = (uint32_t)(int32_t)element(b, n, t);
        h = t ? v * h + v : v;
        ck_assert(r.i[t] == (int32_t)h && r.e[t] == 0);
    }
    release(b);
}
END_TEST

START_TEST(test_scan_sparse) { /* more elements than cells: rows up to what is needed */
    struct build *b = BUILD("MNT", 1 << 14, 1 << 10, 8);
    struct value *x = integer_load(b, FX_F32, "MT"), *w = integer_load(b, FX_F32, "NT");
    struct value *s = scan(b, RED_SUM, op2(b, O_MUL, x, w), 'T');
    int64_t elements[500];
    struct result r;
    for (int i = 0; i < 500; i++) elements[i] = (int64_t)(fabs(uniform(b)) * 0x1p27);
    ck_assert_int_eq(evaluate(b, "MNT", s, elements, 500, &r), FX_OK);
    for (int i = 0; i < 500; i++) {
        int64_t t = elements[i] & 7, n = elements[i] >> 3 & 1023, m = elements[i] >> 13;
        double want = 0;
        for (int64_t j = 0; j <= t; j++) want += element(b, x, m * 8 + j) * element(b, w, n * 8 + j);
        ck_assert_double_eq(r.v[i], want);
    }
    release(b);
}
END_TEST

/* ---- extremes and their indices ---- */

START_TEST(test_argmax) {
    static const double rows[][5] = {{1, 3, 3, 2, 0}, {1, NAN, 9, NAN, 0}, {-1, -1, -1, -1, -1},
                                     {-INFINITY, -INFINITY, 0, INFINITY, INFINITY}, {0.0, -0.0, 0, -2, 0}};
    static const int most[] = {1, 1, 0, 3, 0}, least[] = {4, 1, 0, 0, 3};
    struct build *b = BUILD("MT", 5, 5);
    struct value *x = load(b, FX_F32, "MT", rows[0]);
    struct result r = eval(b, "M", reduce(b, RED_ARGMAX, x, "T")), s = eval(b, "M", reduce(b, RED_ARGMIN, x, "T"));
    for (int m = 0; m < 5; m++) {
        ck_assert_int_eq(r.i[m], most[m]);
        ck_assert_int_eq(s.i[m], least[m]);
        ck_assert_double_eq(r.e[m], 0);
    }
    release(b);
}
END_TEST

START_TEST(test_argmax_open) { /* with errors: the indices that may be the extreme, and no others */
    struct build *b = BUILD("T", 600);
    double *data = NEW_ARRAY(&b->arena, double, 600), e;
    data[7] = 3, data[300] = 3, data[500] = 1, data[590] = 2.999;
    struct value *third = op2(b, O_DIV, num(b, 1), num(b, 3)), *x = load(b, FX_F32, "T", data);
    ck_assert_int_eq(one_integer(b, reduce(b, RED_ARGMAX, op2(b, O_MUL, x, third), "T"), &e), 7);
    ck_assert_double_eq(e, 293); /* 300 may be larger by rounding, 590 not */
    struct value *least = reduce(b, RED_ARGMIN, op2(b, O_MUL, x, op1(b, O_NEG, third)), "T");
    ck_assert_int_eq(one_integer(b, least, &e), 7);
    ck_assert_double_eq(e, 293);
    /* exact ties among terms in doubt elsewhere do not count */
    struct value *late = op3(b, O_WHERE, op2(b, O_EQ, running_index(b, 'T'), i64(b, 500)), op2(b, O_MUL, x, third), x);
    ck_assert_int_eq(one_integer(b, reduce(b, RED_ARGMAX, late, "T"), &e), 7);
    ck_assert_double_eq(e, 0);
    release(b);
}
END_TEST

START_TEST(test_any_all) {
    struct build *b = BUILD("K", 3);
    double e;
    struct value *x = op2(b, O_DIV, load(b, FX_F32, "K", (double[]){1, 2, 3}), num(b, 3)),
                 *third = op2(b, O_DIV, num(b, 1), num(b, 3));
    struct value *open = op2(b, O_LT, third, x); /* in doubt, true, true */
    ck_assert_int_eq(one_integer(b, reduce(b, RED_MAX, open, "K"), &e), 1);
    ck_assert_double_eq(e, 0);
    one_integer(b, reduce(b, RED_MIN, open, "K"), &e);
    ck_assert_double_eq(e, 1);
    ck_assert_int_eq(one_integer(b, reduce(b, RED_MIN, op2(b, O_LT, x, third), "K"), &e), 0);
    ck_assert_double_eq(e, 0);
    release(b);
}
END_TEST

/* ---- licences ---- */

static float to_tf32(float x) {
    return (float)(ldexp(nearbyint(ldexp(frexp(x, &(int){0}), 11)), 0) * ldexp(1, ilogbf(x) - 10));
}

START_TEST(test_tf32) {
    struct build *b = BUILD("MNK", 3, 4, 64);
    b->random += (uint64_t)_i;
    struct value *x = random_load(b, FX_F32, "MK"), *w = random_load(b, FX_F32, "KN"), *y = contract(b, x, w, "K");
    struct value *row = reduce(b, RED_SUM, op2(b, O_MUL, x, random_load(b, FX_F32, "M")),
        "K"); /* one factor does not carry K: no contraction */
    double strict = eval(b, "MN", y).e[0], plain = eval(b, "M", row).e[0];
    b->k.precision = PRECISION_TF32;
    struct result r = eval(b, "MN", y);
    ck_assert_double_eq(eval(b, "M", row).e[0], plain);
    int n_outside = 0;
    for (int i = 0; i < 12; i++) {
        float sum = 0;
        double magnitude = 0;
        for (int k = 0; k < 64; k++) {
            float p = (float)element(b, x, i / 4 * 64 + k), q = (float)element(b, w, k * 4 + i % 4);
            sum += to_tf32(p) * to_tf32(q);
            magnitude += fabs(p * q);
        }
        ck_assert(fabs(sum - r.v[i]) <= r.e[i] && r.e[i] > 100 * strict && r.e[i] < 0x1.1p-10 * magnitude);
        n_outside += fabs(sum - r.v[i]) > strict * 2;
    }
    ck_assert_int_ge(n_outside, 6);
    struct value *coarse = load(b, FX_F32, "MK", draw(b, "MK", 300)); /* exact in tf32, and their sums in f32 */
    ck_assert_double_eq(eval(b, "MN", contract(b, coarse, load(b, FX_F32, "KN", draw(b, "KN", 300)), "K")).e[0], 0);
    release(b);
}
END_TEST

START_TEST(test_stored_through_access) { /* a renamed, reversed or padded weight is still stored */
    struct build *b = BUILD("KJ", 1, 1);
    struct value *w = load(b, FX_F16, "J", (double[]){2}), *j = running_index(b, 'K'),
                 *f32 = load(b, FX_F32, "K", (double[]){1 + 0x1p-20});
    struct value *computed = op1(b, O_NEG, f32), *renamed = ACCESS(b, w, "J", NULL, j),
                 *padded = ACCESS(b, w, "J", num(b, 0), j);
    double e = bound_of(b, contract(b, computed, renamed, "K"));
    ck_assert(e >= 0x1p-10 && e < 0x1.01p-10);
    e = bound_of(b, contract(b, padded, computed, "K"));
    ck_assert(e >= 0x1p-10 && e < 0x1.01p-10);
    struct value *moved = ACCESS(b, computed, "K", NULL, running_index(b, 'J'));
    e = bound_of(b, contract(b, ACCESS(b, moved, "J", NULL, j), renamed, "K")); /* the computed one too */
    ck_assert(e >= 0x1p-10 && e < 0x1.01p-10);
    ck_assert_double_eq(
        bound_of(b, contract(b, ACCESS(b, f32, "K", NULL, i64(b, 0)), w, "J")), 0); /* stored, not computed */
    ck_assert_double_eq(bound_of(b, contract(b, op1(b, O_NEG, renamed), renamed, "K")), 0);
    release(b);
}
END_TEST

/* (x A) B and x (A B) are both right: sums of sums in either order; what loses a term is not. */
START_TEST(test_either_order) {
    enum { K = 40, R = 30 };
    struct build *b = BUILD("KR", K, R);
    b->random += (uint64_t)_i * 0x9e3779b97f4a7c15u;
    struct value *x = random_load(b, FX_F32, "K"), *a = random_load(b, FX_F32, "KR"), *w = random_load(b, FX_F32, "R");
    double offset = _i % 2 ? 1e4 : 0, e; /* cancels inside: large terms, small sums */
    struct value *shifted = op2(b, O_ADD, a, num(b, offset)),
                 *balanced = op2(b, O_SUB, x, op2(b, O_DIV, reduce(b, RED_SUM, x, "K"), num(b, K)));
    double v = eval_one(b, contract(b, op2(b, O_MUL, contract(b, balanced, shifted, "K"), num(b, 0.5)), w, "R"), &e);
    float mean = 0, right = 0, wrong = 0;
    for (int k = 0; k < K; k++) mean += (float)element(b, x, k);
    mean /= K;
    for (int k = 0; k < K; k++) {
        float inner = 0;
        for (int r = 0; r < R; r++)
            inner += ((float)element(b, a, k * R + r) + (float)offset) * (float)element(b, w, r);
        right += ((float)element(b, x, k) - mean) * (inner * 0.5f);
        if (k > 0) wrong += ((float)element(b, x, k) - mean) * (inner * 0.5f);
    }
    ck_assert_msg(fabs(right - v) <= e, "%g from %g, bound %g", right, v, e);
    ck_assert(offset > 0 || fabs(wrong - v) > e);
    /* on integers both are exact */
    struct value *i = integer_load(b, FX_F32, "K"), *j = integer_load(b, FX_F32, "KR"),
                 *l = integer_load(b, FX_F32, "R");
    ck_assert_double_eq(bound_of(b, contract(b, contract(b, i, j, "K"), l, "R")), 0);
    release(b);
}
END_TEST

/* The inner sums cancel, so that the terms of the outer one say nothing of what its partial sums are in the other
 * order. */
START_TEST(test_flattened) {
    enum { R = 4096 };
    struct build *b = BUILD("KR", 2, R);
    double a[2 * R], e, v;
    float upper = 0, lower = 0;
    for (int r = 0; r < R; r++) a[r] = 0.1f, a[R + r] = 0.1001f;
    struct value *x = load(b, FX_F32, "K", (double[]){1, -1}), *inner = contract(b, x, load(b, FX_F32, "KR", a), "K");
    struct value *nested[] = {inner, op2(b, O_MUL, num(b, 1), inner), op1(b, O_NEG, inner),
        ACCESS(b, inner, "R", NULL, running_index(b, 'R')),
        op3(b, O_WHERE, op2(b, O_LT, inner, num(b, 9)), inner, num(b, 0)), cast(b, FX_F32, inner),
        op2(b, O_DIV, inner, num(b, 1))};
    for (int r = 0; r < R; r++) upper += 0.1f, lower += 0.1001f;
    for (int i = 0; i < 7; i++) {
        v = eval_one(b, reduce(b, RED_SUM, nested[i], "R"), &e);
        double got = i == 2 ? lower - upper : upper - lower;
        ck_assert_msg(fabs(got - v) <= e && e < 0.3, "form %d: %g from %g, bound %g", i, got, v, e);
        struct result each = eval(b, "R", nested[i]);
        double unflattened = 0;
        for (int r = 0; r < R; r++) unflattened += each.e[r] + (R + 16) * 0x1p-24 * fabs(each.v[r]);
        ck_assert(fabs(got - v) > unflattened); /* the case is one */
    }
    /* what cancels to 0 exactly inside need not in the other order */
    for (int r = 0; r < R; r++) a[r] = a[R + r] = 0x1.9999p-4;
    struct value *zeros = contract(b, x, load(b, FX_F32, "KR", a), "K");
    ck_assert_double_eq(eval(b, "R", zeros).e[0], 0);
    ck_assert(bound_of(b, reduce(b, RED_SUM, zeros, "R")) > 0);
    struct value *running = scan(b, RED_SUM, inner, 'R');
    ck_assert(fabs(upper - lower - eval(b, "R", running).v[R - 1]) <= eval(b, "R", running).e[R - 1]);
    release(b);
}
END_TEST

START_TEST(test_scales) { /* exp as exp2 of a product; sums near overflow, which a factor moved in or out may reach */
    struct build *b = BUILD("K", 2);
    double e, exact;
    for (double x = -80; x < 80; x += 0.37) {
        double v = eval_one(b, op1(b, O_EXP, num(b, (float)x)), &e);
        float by_exp2 = exp2f((float)x * 1.44269504f);
        ck_assert_msg(fabs(by_exp2 - v) <= e, "exp %g", x);
        ck_assert(e <= 170 * 0x1p-24 * v + 0x1p-100);
    }
    struct value *big = load(b, FX_F32, "K", (double[]){1.1e32, 1.3e32}),
                 *fine = load(b, FX_F32, "K", (double[]){1.1e30, 1.3e30});
    eval_one(b, reduce(b, RED_SUM, big, "K"), &e);
    ck_assert(isinf(e));
    eval_one(b, reduce(b, RED_SUM, fine, "K"), &e);
    ck_assert(isfinite(e));
    exact = bound_of(b, reduce(b, RED_SUM, load(b, FX_F32, "K", (double[]){0x1p120, 0x1p121}), "K"));
    ck_assert_double_eq(exact, 0);
    release(b);
}
END_TEST

START_TEST(test_in_place) { /* a parameter that is read and written */
    struct build *b = BUILD("K", 3);
    struct value *x = integer_load(b, FX_F32, "K"), *y = op2(b, O_ADD, x, num(b, 1));
    double v[3], e[3];
    b->params[x->param].is_output = true;
    b->params[x->param].result = y;
    ck_assert_int_eq(
        oracle_eval(&b->arena, &b->k, b->extents, b->inputs, x->param, NULL, 3, v, NULL, FX_BOUND_WORST, e), FX_OK);
    for (int i = 0; i < 3; i++) ck_assert_double_eq(v[i], element(b, x, i) + 1);
    release(b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("eval_kinds");
    TCase *tests = tcase_create("kinds");
    tcase_add_loop_test(tests, test_random, 0, 500);
    tcase_add_loop_test(tests, test_chains, 0, 300);
    tcase_add_loop_test(tests, test_window, 0, 2);
    tcase_add_loop_test(tests, test_positions, 0, 2);
    tcase_add_loop_test(tests, test_gather, 0, 2);
    tcase_add_test(tests, test_halves);
    tcase_add_loop_test(tests, test_outside, 0, 4);
    tcase_add_test(tests, test_zero_extents);
    tcase_add_test(tests, test_64_bits);
    tcase_add_test(tests, test_casts);
    tcase_add_test(tests, test_integer_errors);
    tcase_add_test(tests, test_right_integer);
    tcase_add_loop_test(tests, test_packed, 0, 4);
    tcase_add_test(tests, test_f64);
    tcase_add_loop_test(tests, test_scan, 0, 2);
    tcase_add_test(tests, test_scan_within);
    tcase_add_test(tests, test_recurrence);
    tcase_add_test(tests, test_recurrence_specials);
    tcase_add_test(tests, test_scan_sparse);
    tcase_add_test(tests, test_argmax);
    tcase_add_test(tests, test_argmax_open);
    tcase_add_test(tests, test_any_all);
    tcase_add_loop_test(tests, test_tf32, 0, 10);
    tcase_add_test(tests, test_stored_through_access);
    tcase_add_loop_test(tests, test_either_order, 0, 20);
    tcase_add_test(tests, test_flattened);
    tcase_add_test(tests, test_scales);
    tcase_add_test(tests, test_in_place);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
