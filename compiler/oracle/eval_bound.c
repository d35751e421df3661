/* How far right implementations may be from the oracle after one float operation, and when a result is right: the rules
 * stated in eval.h. */
#include "oracle/eval_bound.h"

#include <float.h>

#include "fx.h"

/* ---- the bound of one operation ---- */

const struct grain *grain_of(enum fx_dtype t) {
    static const struct grain f32 = {0x1p-24, 0x1p-102, 0x1p-126, FLT_MAX, 24};
    static const struct grain f64 = {
        0x1p-52, 0x1p-998, 0x1p-1022, DBL_MAX, 53}; /* twice the unit: the oracle's own arithmetic errs as much */
    return t == FX_F64 ? &f64 : &f32;
}

static bool is_wide(const struct grain *g) { return g->digits > 24; }

/* The largest error of a form of so many ulps whose result is at most f; what is infinite is so without rounding. An op
 * that is approximated (ulps above 1) may also give 0 where its result is no normal number. */
static double op_rounding(const struct grain *g, double ulps, double f) {
    double flushed = ulps > 1 && fabs(f) < 2 * g->least ? g->least : 0;
    return (isfinite(f) ? ulps * g->unit * larger(fabs(f), g->normal) : 0) + flushed;
}

/* ops.def states the f32 forms; CUDA's functions of f64 are within 2 ulp, and ours made of them as many as in f32. */
static double ulps_of(const struct grain *g, enum op op, double a) {
    double ulps = op_ulps(op, a);
    return is_wide(g) && ulps > 1 ? larger(ulps, 4) : ulps;
}

struct approx bound_leaf(enum fx_dtype t, double v) {
    if (t == FX_F64) return (struct approx){.v = v};
    return bounded(grain_of(t), v, is_f32(v) || isnan(v) ? 0 : deviation((float)v, v));
}

int bound_corners(struct approx x, bool is_condition, double at[4]) {
    int n = 0;
    at[n++] = x.v;
    if (x.e == 0) return n;
    if (is_condition) {
        at[n++] = x.v == 0;
        return n;
    }
    at[n++] = x.v - x.e;
    at[n++] = x.v + x.e;
    if (fabs(x.v) < x.e) at[n++] = 0; /* a pole or a kink inside */
    return n;
}

/* The error of a + b as doubles, exactly (Knuth). */
static double sum_residual(double a, double b) {
    double s = a + b, t = s - a;
    return (a - (s - t)) + (b - t);
}

/* Whether f is a * b. Of small products the residual itself may be lost. */
static bool is_product(const struct grain *g, double a, double b, double f) {
    if (!is_wide(g) || a == 0 || b == 0) return true; /* two 24-bit significands fit a double */
    return fabs(f) > 0x1p-900 && fma(a, b, -f) == 0;
}

/* Whether f, the double result of a correctly rounded op on exact operands, is what the type yields without rounding.
 * An op not listed is taken to round. */
static bool is_exact(const struct grain *g, enum op op, double a, double b, double c, double f) {
    if (!is_wide(g) && !is_f32(f)) return false;
    switch (op) {
    case O_ADD: return sum_residual(a, b) == 0;
    case O_SUB: return sum_residual(a, -b) == 0;
    case O_MUL: return is_product(g, a, b, f);
    case O_DIV: return is_product(g, f, b, a) && fma(-f, b, a) == 0;
    case O_SQRT: return is_product(g, f, f, a) && fma(-f, f, a) == 0;
    case O_FMA: return is_product(g, a, b, a * b) && sum_residual(a * b, c) == 0;
    default: return false;
    }
}

static struct approx exact_op(const struct grain *g, enum op op, double a, double b, double c) {
    double f = op_eval(op, a, b, c), ulps = ulps_of(g, op, a);
    if (isnan(f) || ulps == 0 || (ulps <= 1 && is_exact(g, op, a, b, c, f))) return (struct approx){.v = f};
    /* Forms of exponentials give 0 for -inf. Otherwise the sum of a row that a mask leaves empty might not be 0, and
     * anything would be right there. */
    if ((op == O_EXP || op == O_EXP2) && isinf(a) && f == 0) return (struct approx){.v = f};
    /* a double that overflows where a fused or scaled form need not */
    bool is_open = is_wide(g) && isinf(f) && ulps <= 1 && isfinite(a) && isfinite(b) && isfinite(c) && op != O_DIV;
    return is_open ? (struct approx){.v = f, .e = INFINITY} : bounded(g, f, op_rounding(g, ulps, f));
}

static struct approx select_op(const struct grain *g, struct approx condition, struct approx a, struct approx b) {
    struct approx taken = condition.v != 0 ? a : b, other = condition.v != 0 ? b : a;
    if (condition.e == 0) return taken;
    return bounded(g, taken.v, larger(taken.e, deviation(other.v, taken.v) + other.e));
}

static bool overlap(struct approx a, struct approx b) {
    return a.e + b.e > 0 && !(fabs(a.v - b.v) > a.e + b.e);
}

struct approx bound_op_float(const struct value *v, const struct grain *g, const struct approx x[3]) {
    const struct op_info *op = &op_info[v->op];
    if (op->rule == RULE_SELECT) return select_op(g, x[0], x[1], x[2]);
    if (x[0].e == 0 && x[1].e == 0 && x[2].e == 0) return exact_op(g, v->op, x[0].v, x[1].v, x[2].v);
    double f = op_eval(v->op, x[0].v, x[1].v, x[2].v);
    if (op->rule == RULE_COMPARE && op->arity == 2) return (struct approx){.v = f, .e = overlap(x[0], x[1])};
    double at[3][4], change = 0, largest = 0;
    int n[3];
    for (int j = 0; j < 3; j++) {
        if (isinf(x[j].e)) return (struct approx){.v = f, .e = v->dtype == FX_BOOL ? 1 : INFINITY};
        n[j] = bound_corners(x[j], j < op->arity && v->args[j]->dtype == FX_BOOL, at[j]);
    }
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        double r = op_eval(v->op, at[0][i % n[0]], at[1][i / n[0] % n[1]], at[2][i / n[0] / n[1]]);
        change = larger(change, deviation(r, f));
        largest = larger(largest, fabs(r));
    }
    double ulps = ulps_of(g, v->op, x[0].v - x[0].e); /* largest at an end */
    if (x[0].e > 0) ulps = larger(ulps, ulps_of(g, v->op, x[0].v + x[0].e));
    return bounded(g, f, change + op_rounding(g, ulps, largest));
}

struct approx bound_cast(const struct value *v, struct approx x) {
    enum fx_dtype from = v->args[0]->dtype;
    if (!fx_is_float(v->to) || !fx_is_float(from)) return bound_cast_integer(v, x);
    double at[4], f = fx_round_to(v->to, x.v), change = 0;
    if (isinf(x.e)) return (struct approx){.v = f, .e = INFINITY};
    for (int i = bound_corners(x, false, at) - 1; i > 0; i--)
        change = larger(change, deviation(fx_round_to(v->to, at[i]), f));
    return bounded(grain_of(v->dtype), f, change);
}

/* ---- the one statement of when a result is right ---- */

/* It lies between the roundings of value - bound and value + bound, one included: what a store makes of anything the
 * bound allows. */
bool fx_is_right(enum fx_dtype t, double got, double value, double bound) {
    double want = fx_round_to(t, value);
    if (!(bound < INFINITY)) return true;
    if (isnan(want)) return isnan(got);
    if (fx_dtype_class_of(t) == FX_CLASS_B && bound > 0) return got == 0 || got == 1;
    return fx_round_to(t, value - bound) <= got && got <= fx_round_to(t, value + bound);
}

/* The spacing of f16's values at magnitude `largest`, as if its exponent had no end. */
static double f16_ulp(double largest) {
    int exponent;
    frexp(largest, &exponent);
    return ldexp(1, (exponent - 1 > -14 && largest > 0 ? exponent - 1 : -14) - 10);
}

/* How far from the value a result may lie that is right by the roundings of value - bound and value + bound. */
static double reach(enum fx_dtype t, double value, double bound) {
    double low = fabs(fx_round_to(t, value - bound) - value), high = fabs(fx_round_to(t, value + bound) - value);
    return low > high ? low : high;
}

bool fx_is_within(const struct fx_tolerance *tolerance, double largest, enum fx_dtype t, double got, double value,
    double bound, double *allowed) {
    double want = fx_round_to(t, value), distance = 0;
    bool is_stated = false;
    switch (tolerance ? tolerance->kind : FX_TOL_DERIVED) {
    case FX_TOL_DERIVED:
    case FX_TOL_WORST: break;
    case FX_TOL_EXACT: bound = 0; break;
    case FX_TOL_ABS: distance = tolerance->value, is_stated = true; break;
    case FX_TOL_REL: distance = tolerance->value * fabs(value), is_stated = true; break;
    case FX_TOL_F16_ULP: distance = tolerance->value * f16_ulp(largest), is_stated = true; break;
    }
    if (allowed) *allowed = is_stated ? distance : bound < INFINITY && isfinite(want) ? reach(t, value, bound) : bound;
    if (!is_stated) return fx_is_right(t, got, value, bound);
    if (isnan(want)) return isnan(got);
    return isinf(want) ? got == want : fabs(got - value) <= distance;
}

bool fx_is_right_integer(enum fx_dtype t, int64_t got, int64_t want, double bound) {
    if (got == want || !(bound < INFINITY)) return true;
    if (fx_dtype_class_of(t) == FX_CLASS_B) return bound > 0 && (got == 0 || got == 1);
    uint64_t distance = integer_less(t, got, want) ? (uint64_t)want - (uint64_t)got : (uint64_t)got - (uint64_t)want;
    return (double)distance <= bound;
}
