/* Reductions and running totals with their bounds, term by term: the rules stated in eval.h. Input: lines of terms;
 * output: the value so far. */
#include "oracle/eval_bound.h"

#include <string.h>

enum { DEVIATIONS = 8 }; /* that independent roundings may come to: of 2^50 elements none is beyond */

/* ---- beginning ---- */

/* Of nothing: 0, 1, -inf or the least integer or false, inf or the greatest integer or true, index 0. */
static struct approx neutral(enum reduction r, enum fx_dtype t) {
    bool is_integer = fx_is_integer(t);
    switch (r) {
    case RED_PROD: return is_integer ? (struct approx){.i = 1} : (struct approx){.v = 1};
    case RED_MAX:
        return is_integer ? (struct approx){.i = integer_least(t)} : (struct approx){.v = t == FX_BOOL ? 0 : -INFINITY};
    case RED_MIN:
        return is_integer ? (struct approx){.i = integer_most(t)} : (struct approx){.v = t == FX_BOOL ? 1 : INFINITY};
    default: return (struct approx){.i = 0};
    }
}

static bool finds_index(enum reduction r) { return r == RED_ARGMAX || r == RED_ARGMIN; }

struct total total_of_nothing(enum reduction r, enum fx_dtype dtype, enum fx_bound kind) {
    struct total t = {.reduction = r,
        .dtype = dtype,
        .is_worst = kind == FX_BOUND_WORST,
        .sum = neutral(r, dtype),
        .magnitude = r == RED_PROD,
        .least = 1,
        .lowest = LOWEST_OF_NONE,
        .is_exact = true};
    if (finds_index(r)) t.reach = r == RED_ARGMAX ? -INFINITY : INFINITY;
    return t;
}

/* ---- floats ---- */

int lowest_bit(double v) {
    uint64_t bits;
    if (v == 0) return LOWEST_OF_NONE;
    memcpy(&bits, &v, sizeof bits);
    uint64_t significand = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    return (int)(bits >> 52 & 0x7ff) - 1075 + __builtin_ctzll(significand);
}

/* What licensed roundings add to the error is kept apart from the rest. */
static void add_licensed(struct total *t, const struct oracle_line *x, int from, int to) {
    for (int i = from; i < to; i++) {
        double s = x->s[i], size = fabs(x->v[i]);
        t->licensed += s;
        t->licensed_squares += s * s;
        t->change += x->r[i];
        if (s > t->ratio * size) t->ratio = size > 0 ? s / size : INFINITY;
    }
}

static void add_floats(struct total *t, const struct oracle_line *x, int from, int to) {
    double v = t->sum.v, e = t->sum.e, magnitude = t->magnitude, farthest = t->farthest, squares = t->squares;
    bool is_apart = x->has_s && !t->is_worst;
    for (int i = from; i < to; i++) {
        double size = fabs(x->v[i]) <= 0x1.fffffffffffffp1023 ? fabs(x->v[i]) + x->e[i] : 0;
        v += x->v[i];
        e += is_apart ? larger(x->e[i] - x->s[i], 0) : x->e[i];
        magnitude += size;
        squares += size * size;
        farthest = larger(farthest, fabs(v));
        if (t->is_short) t->most = larger(t->most, size);
    }
    t->farthest = farthest;
    t->squares = squares;
    t->is_nested |= x->has_m;
    if (is_apart) add_licensed(t, x, from, to);
    for (int i = from; x->has_m && i < to; i++) /* what the innermost terms add to that */
        if (isfinite(x->v[i])) magnitude += larger(x->m[i] - (fabs(x->v[i]) + x->e[i]), 0);
    t->sum = (struct approx){.v = v, .e = e};
    t->magnitude = magnitude;
    t->n += to - from;
    t->is_exact = t->is_exact && x->is_exact && isfinite(v);
    for (int i = from; t->is_exact && i < to; i++) {
        int bit = lowest_bit(x->v[i]),
            inner = x->has_m ? lowest_bit(x->m[i]) : bit; /* what cancelled inside had bits too */
        if (inner < bit) bit = inner;
        if (bit < t->lowest) t->lowest = bit;
    }
    t->is_exact = t->is_exact && (magnitude == 0 || magnitude <= ldexp(1, t->lowest + grain_of(t->dtype)->digits));
}

static void multiply_floats(struct total *t, const struct oracle_line *x, int from, int to) {
    double most = ldexp(1, grain_of(t->dtype)->digits);
    for (int i = from; i < to; i++) {
        double v = x->v[i], e = x->e[i], size = fabs(v) + e;
        t->sum.e = e == 0 && t->sum.e == 0 ? 0 : fabs(t->sum.v) * e + fabs(v) * t->sum.e + t->sum.e * e;
        t->sum.v *= v;
        if (size > 1) t->magnitude *= size;
        if (v != 0 && fabs(v) < 1) t->least *= fabs(v);
        t->is_exact = t->is_exact && e == 0 && rint(v) == v && t->magnitude <= most;
    }
    t->n += to - from;
}

static void extreme_floats(struct total *t, const struct oracle_line *x, int from, int to) {
    double sign = t->reduction == RED_MAX ? 1 : -1, decides = t->reduction == RED_MAX;
    for (int i = from; i < to; i++) {
        if (sign * x->v[i] > sign * t->sum.v || isnan(x->v[i])) t->sum.v = x->v[i];
        t->sum.e = larger(t->sum.e, x->e[i]);
        t->is_sure = t->is_sure || (x->e[i] == 0 && x->v[i] == decides);
    }
}

/* ---- integers: they wrap in their type ---- */

static void add_integers(struct total *t, const struct oracle_line *x, int from, int to) {
    uint64_t v = (uint64_t)t->sum.i;
    for (int i = from; i < to; i++) {
        v += (uint64_t)x->i[i];
        t->sum.e += x->e[i];
        t->magnitude += fabs(fx_integer_to_double(t->dtype, x->i[i])) + x->e[i];
    }
    t->sum.i = fx_wrap(t->dtype, (int64_t)v);
}

static void multiply_integers(struct total *t, const struct oracle_line *x, int from, int to) {
    for (int i = from; i < to; i++) {
        double before = fabs(fx_integer_to_double(t->dtype, t->sum.i)),
               v = fabs(fx_integer_to_double(t->dtype, x->i[i])), e = x->e[i];
        t->sum.e = e == 0 && t->sum.e == 0 ? 0 : before * e + v * t->sum.e + t->sum.e * e;
        t->sum.i = fx_wrap(t->dtype, (int64_t)((uint64_t)t->sum.i * (uint64_t)x->i[i]));
        if (v + e > 1) t->magnitude *= v + e;
    }
}

static void extreme_integers(struct total *t, const struct oracle_line *x, int from, int to) {
    for (int i = from; i < to; i++) {
        int64_t a = t->sum.i, b = x->i[i];
        if (t->reduction == RED_MAX ? integer_less(t->dtype, a, b) : integer_less(t->dtype, b, a)) t->sum.i = b;
        t->sum.e = larger(t->sum.e, x->e[i]);
    }
}

/* ---- the index of an extreme ---- */

static double term(const struct total *t, const struct oracle_line *x, int i) {
    return fx_is_integer(t->dtype) ? fx_integer_to_double(t->dtype, x->i[i]) : x->v[i];
}

static bool beats(const struct total *t, const struct oracle_line *x, int i) {
    bool is_max = t->reduction == RED_ARGMAX;
    if (fx_is_integer(t->dtype))
        return is_max ? integer_less(t->dtype, t->sum.i, x->i[i]) : integer_less(t->dtype, x->i[i], t->sum.i);
    if (isnan(t->sum.v)) return false;
    return isnan(x->v[i]) || (is_max ? x->v[i] > t->sum.v : x->v[i] < t->sum.v);
}

/* The first extreme, the first NaN before any number; and what is attained at least, whatever the errors. */
static void find_extreme(struct total *t, const struct oracle_line *x, int from, int to) {
    double sign = t->reduction == RED_ARGMAX ? 1 : -1;
    for (int i = from; i < to; i++) {
        int64_t index = (int64_t)t->n + i - from;
        double e = x->e[i], v = term(t, x, i),
               reach = isinf(e)   ? -sign * INFINITY
                       : isnan(v) ? sign * INFINITY
                                  : v - sign * e;
        if (index == 0 || beats(t, x, i)) t->first = index, t->sum.i = x->i[i]; /* or the double of the same bits */
        if (index == 0 || sign * reach > sign * t->reach) t->reach = reach, t->reached_at = index;
        t->is_exact = t->is_exact && e == 0;
    }
    t->n += to - from;
}

bool total_is_open(const struct total *t) { return finds_index(t->reduction) && !t->is_exact; }

void total_recheck(struct total *t, const struct oracle_line *x, int64_t index, int n) {
    double sign = t->reduction == RED_ARGMAX ? 1 : -1;
    for (int i = 0; i < n; i++, index++) {
        double may = sign * term(t, x, i) + x->e[i], reach = sign * t->reach;
        bool is_candidate = isinf(x->e[i]) || isnan(may) || may > reach || (may == reach && index <= t->reached_at);
        if (is_candidate) t->distance = larger(t->distance, fabs((double)(index - t->first)));
    }
}

/* ---- all of them ---- */

void total_add(struct total *t, const struct oracle_line *x, int from, int to) {
    bool is_integer = fx_is_integer(t->dtype);
    if (finds_index(t->reduction)) find_extreme(t, x, from, to);
    else if (t->reduction == RED_SUM) (is_integer ? add_integers : add_floats)(t, x, from, to);
    else if (t->reduction == RED_PROD) (is_integer ? multiply_integers : multiply_floats)(t, x, from, to);
    else (is_integer ? extreme_integers : extreme_floats)(t, x, from, to);
}

static struct approx integer_value(const struct total *t) {
    struct approx r = t->sum;
    bool grows = t->reduction == RED_SUM || t->reduction == RED_PROD;
    bool may_wrap = grows && t->magnitude * (1 + 0x1p-40) > fx_integer_to_double(t->dtype, integer_most(t->dtype));
    if (r.e > 0 && (may_wrap || isnan(r.e))) r.e = INFINITY;
    if (r.e > 0 && t->magnitude > 0x1p52) r.e += t->magnitude * 0x1p-40;
    return r;
}

/* Tensor cores that multiply f8 add up SHORT_TERMS terms at a time: each is cut off at a unit of the largest of them or
 * of what they have come to. So many partial sums are exact as long as all terms are multiples of that unit. */
enum { SHORT_TERMS = 128 };
static const int SHORT_DIGITS = 13;

static bool is_short_exact(const struct total *t) {
    return fmin(t->magnitude, SHORT_TERMS * t->most) <= ldexp(1, t->lowest + SHORT_DIGITS);
}

/* A cut is at most a unit of what the terms of a block come to. All of them of one sign come to as many units of all
 * terms as a block has terms; independent ones to the root of that. */
static double short_error(const struct total *t) {
    const double terms = fmin(t->n, SHORT_TERMS), unit = ldexp(1, -SHORT_DIGITS);
    return (t->is_worst ? terms : sqrt(terms)) * unit * t->magnitude;
}

/* What the roundings of a sum come to. Independent ones are uniform in +-u |partial sum|, a deviation of u / sqrt(3)
 * each; a partial sum, whatever parts the terms are added in, is taken to be no larger than the largest of the oracle's
 * and two deviations of as many terms in any order. Not independent are those of equal terms, which err in one
 * direction all through a binade: over all binades 3 K / 8 units at most. That covers tensor cores, which truncate, a
 * whole unit at each step of eight terms. */
static double sum_rounding(const struct grain *g, const struct total *t) {
    double worst = (t->n + 16) * g->unit * t->magnitude, partial = t->farthest + 2 * sqrt(t->squares);
    if (t->is_worst) return worst;
    if (t->is_nested || !(partial < t->magnitude)) partial = t->magnitude;
    return fmin(worst, (DEVIATIONS * sqrt(t->n / 3) + t->n * 3 / 8) * g->unit * partial);
}

double total_rounding(const struct grain *g, double n, double magnitude, bool is_worst) {
    const struct total t = {.n = n, .magnitude = magnitude, .is_worst = is_worst, .is_nested = true};
    return sum_rounding(g, &t);
}

/* Licensed roundings are independent but where terms have factors in common: then they change the sum as rounding each
 * to nearest would, or as a factor of all of it. */
static double licensed_error(const struct total *t) {
    double independent = DEVIATIONS * sqrt(t->licensed_squares / 3) + 2 * fabs(t->change) + t->ratio * fabs(t->sum.v);
    return independent < t->licensed ? independent : t->licensed;
}

struct approx total_value(const struct total *t) {
    const struct grain *g = grain_of(t->dtype);
    enum reduction r = t->reduction;
    double v = t->sum.v, e = t->sum.e;
    if (finds_index(r)) return (struct approx){.i = t->first, .e = t->distance};
    if (fx_is_integer(t->dtype)) return integer_value(t);
    if (t->dtype == FX_BOOL) return (struct approx){.v = v, .e = t->is_sure ? 0 : e};
    const bool is_cut = t->is_short && !is_short_exact(t);
    if (r == RED_MAX || r == RED_MIN || (t->is_exact && isfinite(v) && !is_cut)) return bounded(g, v, e);
    /* some order overflows, constant factors moved in or out may make it so, or it loses to underflow what later
     * factors would restore */
    bool is_open = r == RED_SUM ? t->magnitude > g->largest * 0x1p-24
                                : t->magnitude > g->largest || (t->least < g->least && t->magnitude > 1);
    if (isinf(e) || isnan(e) || is_open) return (struct approx){.v = v, .e = INFINITY};
    if (!isfinite(v)) return (struct approx){.v = v};
    if (r == RED_SUM)
        return bounded(g, v, e + licensed_error(t) + sum_rounding(g, t) + (is_cut ? short_error(t) : 0));
    return bounded(g, v, e + t->n * g->unit * larger(fabs(v) + e, g->normal));
}
