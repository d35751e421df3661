/* How far right implementations may be from the oracle, and when a result is right: the rules stated in eval.h. */
#include "eval_bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "fx.h"

/* ---- the bound of one operation ---- */

/* The largest error of a form of so many ulps whose result is at most f; what is infinite is so without rounding. */
static double rounding(double ulps, double f) { return isfinite(f) ? ulps * UNIT * larger(fabs(f), NORMAL) : 0; }

/* An op that is approximated (ulps above 1) may also give 0 where its result is no normal f32. */
static double op_rounding(double ulps, double f) { return rounding(ulps, f) + (ulps > 1 && fabs(f) < 2 * NORMAL ? NORMAL : 0); }

/* How far x is from v where equal infinities and NaN with NaN agree. */
static double deviation(double x, double v) {
    if (x == v || (isnan(x) && isnan(v))) return 0;
    double d = fabs(x - v);
    return isnan(d) ? INFINITY : d;
}

/* A finite value that f32 may hold as infinity has no bound. */
static struct approx bounded(double v, double e) {
    bool overflows = isfinite(v) && fabs(v) + e > FLT_MAX;
    return (struct approx){v, isnan(e) || overflows ? INFINITY : e};
}

struct approx bound_leaf(double v) { return bounded(v, is_f32(v) || isnan(v) ? 0 : deviation((float)v, v)); }

/* What x may be instead of x.v, x.v first: where an operation is evaluated to see how far its result moves. */
static int corners(struct approx x, bool is_condition, double at[4]) {
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

/* Whether f, the double result of a correctly rounded op on exact f32 operands, is what f32 yields without rounding.
 * An op not listed is taken to round. */
static bool is_exact(enum op op, double a, double b, double c, double f) {
    switch (op) {
    case O_ADD: return is_f32(f) && sum_residual(a, b) == 0;
    case O_SUB: return is_f32(f) && sum_residual(a, -b) == 0;
    case O_MUL: return is_f32(f); /* two 24-bit significands fit a double */
    case O_DIV: return is_f32(f) && fma(-f, b, a) == 0;
    case O_SQRT: return is_f32(f) && fma(-f, f, a) == 0;
    case O_FMA: return is_f32(f) && sum_residual(a * b, c) == 0;
    default: return false;
    }
}

static struct approx exact_op(enum op op, double a, double b, double c) {
    double f = op_eval(op, a, b, c), ulps = op_info[op].ulps;
    if (isnan(f) || ulps == 0 || (ulps <= 1 && is_exact(op, a, b, c, f))) return (struct approx){f, 0};
    return bounded(f, op_rounding(ulps, f));
}

static struct approx select_op(struct approx condition, struct approx a, struct approx b) {
    struct approx taken = condition.v != 0 ? a : b, other = condition.v != 0 ? b : a;
    if (condition.e == 0) return taken;
    return bounded(taken.v, larger(taken.e, deviation(other.v, taken.v) + other.e));
}

static bool overlap(struct approx a, struct approx b) {
    return a.e + b.e > 0 && !(fabs(a.v - b.v) > a.e + b.e);
}

struct approx bound_op(const struct value *v, const struct approx x[3]) {
    const struct op_info *op = &op_info[v->op];
    if (op->rule == RULE_SELECT) return select_op(x[0], x[1], x[2]);
    if (x[0].e == 0 && x[1].e == 0 && x[2].e == 0) return exact_op(v->op, x[0].v, x[1].v, x[2].v);
    double f = op_eval(v->op, x[0].v, x[1].v, x[2].v);
    if (op->rule == RULE_COMPARE && op->arity == 2) return (struct approx){f, overlap(x[0], x[1])};
    double at[3][4], change = 0, largest = 0;
    int n[3];
    for (int j = 0; j < 3; j++) {
        if (isinf(x[j].e)) return (struct approx){f, v->dtype == FX_BOOL ? 1 : INFINITY};
        n[j] = corners(x[j], j < op->arity && v->args[j]->dtype == FX_BOOL, at[j]);
    }
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        double g = op_eval(v->op, at[0][i % n[0]], at[1][i / n[0] % n[1]], at[2][i / n[0] / n[1]]);
        change = larger(change, deviation(g, f));
        largest = larger(largest, fabs(g));
    }
    return bounded(f, change + op_rounding(op->ulps, largest));
}

struct approx bound_cast(enum fx_dtype t, struct approx x, bool is_condition) {
    double at[4], v = fx_round_to(t, x.v), change = 0;
    if (isinf(x.e)) return (struct approx){v, INFINITY};
    for (int i = corners(x, is_condition, at) - 1; i > 0; i--) change = larger(change, deviation(fx_round_to(t, at[i]), v));
    return bounded(v, change);
}

/* ---- the bound of a reduction ---- */

struct total bound_of_nothing(enum reduction r) {
    static const double neutral[N_REDUCTIONS] = {[RED_PROD] = 1, [RED_MAX] = -INFINITY, [RED_MIN] = INFINITY};
    return (struct total){.v = neutral[r], .magnitude = r == RED_PROD, .least = 1, .lowest = INT32_MAX, .is_exact = true};
}

/* The exponent of v's lowest set bit, v an f32 but for 0. */
static int lowest_bit(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t significand = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    return (int)(bits >> 52 & 0x7ff) - 1075 + __builtin_ctzll(significand);
}

static void total_sum(struct total *t, const struct line *x, int n) {
    for (int i = 0; i < n; i++) {
        t->v += x->v[i];
        t->e += x->e[i];
        t->magnitude += fabs(x->v[i]) <= DBL_MAX ? fabs(x->v[i]) + x->e[i] : 0;
    }
    t->n += n;
    t->is_exact = t->is_exact && x->is_exact && isfinite(t->v);
    for (int i = 0; t->is_exact && i < n; i++) {
        int bit = x->v[i] == 0 ? t->lowest : lowest_bit(x->v[i]);
        if (bit < t->lowest) t->lowest = bit;
    }
    t->is_exact = t->is_exact && (t->magnitude == 0 || t->magnitude <= ldexp(1, t->lowest + 24));
}

static void total_prod(struct total *t, const struct line *x, int n) {
    for (int i = 0; i < n; i++) {
        double v = x->v[i], e = x->e[i], size = fabs(v) + e;
        t->e = e == 0 && t->e == 0 ? 0 : fabs(t->v) * e + fabs(v) * t->e + t->e * e;
        t->v *= v;
        if (size > 1) t->magnitude *= size;
        if (v != 0 && fabs(v) < 1) t->least *= fabs(v);
        t->is_exact = t->is_exact && e == 0 && rint(v) == v && t->magnitude <= 0x1p24;
    }
    t->n += n;
}

static void total_extreme(struct total *t, const struct line *x, int n, double sign) {
    for (int i = 0; i < n; i++) {
        if (sign * x->v[i] > sign * t->v || isnan(x->v[i])) t->v = x->v[i];
        t->e = larger(t->e, x->e[i]);
    }
}

void bound_add(struct total *t, enum reduction r, const struct line *x, int n) {
    if (r == RED_SUM) total_sum(t, x, n);
    else if (r == RED_PROD) total_prod(t, x, n);
    else total_extreme(t, x, n, r == RED_MAX ? 1 : -1);
}

struct approx bound_total(const struct total *t, enum reduction r) {
    if (r == RED_MAX || r == RED_MIN || (t->is_exact && isfinite(t->v))) return bounded(t->v, t->e);
    /* some order overflows, or loses to underflow what later factors would restore */
    bool is_open = t->magnitude > FLT_MAX || (r == RED_PROD && t->least < NORMAL && t->magnitude > 1);
    if (isinf(t->e) || isnan(t->e) || is_open) return (struct approx){t->v, INFINITY};
    if (!isfinite(t->v)) return (struct approx){t->v, 0};
    if (r == RED_SUM) return bounded(t->v, t->e + (t->n + 16) * UNIT * t->magnitude);
    return bounded(t->v, t->e + rounding(t->n, fabs(t->v) + t->e));
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

bool fx_is_within(const struct fx_tolerance *tolerance, double largest, enum fx_dtype t, double got, double value, double bound, double *allowed) {
    double want = fx_round_to(t, value), distance = 0;
    bool is_stated = false;
    switch (tolerance->kind) {
    case FX_TOL_DERIVED: break;
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
