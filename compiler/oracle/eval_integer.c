/* The bound over integers. They are exact in their type, wrap-around included, as long as every operand is. An error
 * comes only from a float that was cast. It propagates as a distance, and opens the value where the value may wrap.
 * Input: values and operands; output: see eval_bound.h. */
#include "oracle/eval_bound.h"

int64_t integer_least(enum fx_dtype t) {
    return fx_dtype_class_of(t) == FX_CLASS_S ? (int64_t)(UINT64_MAX << (fx_dtype_bits(t) - 1)) : 0;
}

int64_t integer_most(enum fx_dtype t) {
    int sign = fx_dtype_class_of(t) == FX_CLASS_S;
    return (int64_t)(UINT64_MAX >> (64 - fx_dtype_bits(t) + sign));
}

bool integer_less(enum fx_dtype t, int64_t a, int64_t b) { return t == FX_U64 ? (uint64_t)a < (uint64_t)b : a < b; }

/* A double of an integer or of a difference is off by less than this where it is large. */
static double blur(double f) { return fabs(f) > 0x1p52 ? fabs(f) * 0x1p-50 : 0; }

static struct approx bound_wrap(enum fx_dtype t, int64_t x, double f, double e) {
    struct approx r = {.i = fx_wrap(t, x), .e = e};
    if (e == 0) return r;
    r.e += blur(fabs(f) + e);
    bool fits = f - r.e >= fx_integer_to_double(t, integer_least(t)) &&
                f + r.e <= fx_integer_to_double(t, integer_most(t));
    if (!fits || isnan(r.e)) r.e = INFINITY;
    return r;
}

/* An operand as a double, for corners. */
static struct approx as_double(enum fx_dtype t, struct approx x) {
    return fx_is_integer(t) ? (struct approx){.v = fx_integer_to_double(t, x.i), .e = x.e} : x;
}

static struct approx compare(const struct value *v, const struct approx x[3], int64_t exact) {
    enum fx_dtype t = v->args[0]->dtype;
    double gap = integer_less(t, x[0].i, x[1].i) ? (double)((uint64_t)x[1].i - (uint64_t)x[0].i)
                                                 : (double)((uint64_t)x[0].i - (uint64_t)x[1].i);
    bool is_open = x[0].e + x[1].e > 0 && !(gap > x[0].e + x[1].e + blur(gap));
    return (struct approx){.v = (double)exact, .e = v->n_args == 2 && is_open};
}

/* The op at the corners of its operands, as real numbers. */
static struct approx at_corners(const struct value *v, const struct approx x[3], int64_t exact) {
    double at[3][4], change = 0;
    int n[3];
    for (int j = 0; j < 3; j++) {
        struct approx y = j < v->n_args ? as_double(v->args[j]->dtype, x[j]) : (struct approx){.v = 0};
        if (isinf(y.e)) return (struct approx){.i = exact, .e = INFINITY};
        n[j] = bound_corners(y, j < v->n_args && v->args[j]->dtype == FX_BOOL, at[j]);
    }
    double f = op_eval(v->op, at[0][0], at[1][0], at[2][0]);
    for (int i = 0; i < n[0] * n[1] * n[2]; i++)
        change = larger(
            change, fabs(op_eval(v->op, at[0][i % n[0]], at[1][i / n[0] % n[1]], at[2][i / n[0] / n[1]]) - f));
    return bound_wrap(v->dtype, exact, f, change);
}

struct approx bound_op_integer(const struct value *v, const struct approx x[3]) {
    enum op_rule rule = op_info[v->op].rule;
    enum fx_dtype t = rule == RULE_COMPARE ? v->args[0]->dtype : rule == RULE_BITS ? FX_U64 : v->dtype;
    int64_t i[3] = {0, 0, 0};
    bool is_exact = true;
    for (int j = 0; j < v->n_args; j++) {
        i[j] = v->args[j]->dtype == FX_BOOL ? x[j].v != 0 : x[j].i;
        is_exact = is_exact && x[j].e == 0;
    }
    int64_t r = op_eval_integer(v->op, t, i[0], i[1], i[2]);
    if (rule == RULE_COMPARE) return compare(v, x, r);
    if (is_exact) return (struct approx){.i = r, .e = 0};
    if (rule == RULE_SELECT && x[0].e == 0) return x[0].v != 0 ? x[1] : x[2];
    if (rule == RULE_INTEGER || rule == RULE_BITS) return (struct approx){.i = r, .e = INFINITY};
    return at_corners(v, x, r);
}

/* ---- casts ---- */

static struct approx to_condition(enum fx_dtype from, struct approx x) {
    double distance = fx_is_integer(from) ? fabs(fx_integer_to_double(from, x.i)) : fabs(x.v);
    bool is_set = fx_is_integer(from) ? x.i != 0 : x.v != 0;
    return (struct approx){.v = is_set, .e = x.e > 0 && !(distance > x.e)};
}

/* The largest change a monotone conversion of [v - e, v + e] shows at its ends. */
static struct approx to_float(enum fx_dtype to, enum fx_dtype from, struct approx x) {
    double v = fx_round_integer(to, from, x.i), centre = fx_integer_to_double(from, x.i), e = x.e;
    if (e == 0) return (struct approx){.v = v};
    if (isinf(e)) return (struct approx){.v = v, .e = e};
    e += blur(fabs(centre) + e);
    double below = deviation(fx_round_to(to, centre - e), v), above = deviation(fx_round_to(to, centre + e), v);
    return bounded(grain_of(fx_compute_type(to)), v, larger(below, above));
}

static struct approx from_float(enum fx_dtype to, struct approx x) {
    int64_t v = fx_saturate(to, x.v);
    if (x.e == 0) return (struct approx){.i = v};
    if (!(x.e < INFINITY) || isnan(x.v)) return (struct approx){.i = v, .e = INFINITY};
    double centre = fx_integer_to_double(to, v), below = centre - fx_integer_to_double(to, fx_saturate(to, x.v - x.e));
    double above = fx_integer_to_double(to, fx_saturate(to, x.v + x.e)) - centre, e = larger(below, above);
    return (struct approx){.i = v, .e = e + (e > 0 ? blur(fabs(centre) + e) : 0)};
}

struct approx bound_cast_integer(const struct value *v, struct approx x) {
    enum fx_dtype from = v->args[0]->dtype, to = v->to;
    if (to == FX_BOOL) return to_condition(from, x);
    if (from == FX_BOOL) return fx_is_integer(to) ? (struct approx){.i = x.v != 0, .e = x.e} : x;
    if (fx_is_float(to)) return to_float(to, from, x);
    if (fx_is_float(from)) return from_float(to, x);
    return bound_wrap(to, x.i, fx_integer_to_double(from, x.i), x.e);
}
