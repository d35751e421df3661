/* The recurrence h = a h + b with its bound, element by element: the rules stated in eval.h. Input: lines of a and b;
 * output: h so far. Implementations may join runs of elements in any way: they form the product of a run's a's, and its
 * result from 0. */
#include "oracle/eval_bound.h"

struct recurrence recurrence_of_nothing(enum fx_dtype dtype) {
    return (struct recurrence){.dtype = dtype, .growth = 1, .since = 1, .lowest = LOWEST_OF_NONE, .is_exact = true};
}

/* a * b, where nothing times infinity is nothing. */
static double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
static double finite_or_0(double v) { return isfinite(v) ? v : 0; }

static void step_integer(struct recurrence *r, const struct oracle_line *a, const struct oracle_line *b, int i) {
    double a_size = fabs(fx_integer_to_double(r->dtype, a->i[i])),
           b_size = fabs(fx_integer_to_double(r->dtype, b->i[i]));
    double h_size = fabs(fx_integer_to_double(r->dtype, r->h.i));
    if (r->n == 0) {
        r->h = (struct approx){.i = b->i[i], .e = b->e[i]};
        r->magnitude = b_size + b->e[i];
        return;
    }
    r->h.e = product(a_size, r->h.e) + product(a->e[i], h_size + r->h.e) + b->e[i];
    r->h.i = fx_wrap(r->dtype, (int64_t)((uint64_t)a->i[i] * (uint64_t)r->h.i + (uint64_t)b->i[i]));
    r->magnitude = product(a_size + a->e[i], r->magnitude) + b_size + b->e[i];
}

static void step_float(struct recurrence *r, const struct oracle_line *a, const struct oracle_line *b, int i) {
    bool is_first = r->n == 0, was_finite = isfinite(r->h.v);
    double a_v = is_first ? 0 : a->v[i], a_e = is_first ? 0 : a->e[i], a_most = finite_or_0(fabs(a_v)) + a_e;
    r->h.e = product(fabs(a_v), r->h.e) + product(a_e, fabs(r->h.v) + r->h.e) + b->e[i];
    r->h.v = is_first ? b->v[i] : a_v * r->h.v + b->v[i];
    r->roundings = product(a_most, r->roundings + 2 * r->magnitude);
    r->magnitude = product(a_most, r->magnitude) + finite_or_0(fabs(b->v[i])) + b->e[i];
    r->ending = product(a_most, larger(r->ending, 1));
    r->growth = larger(r->growth, r->ending);
    r->most = larger(r->most, r->magnitude);
    r->since = was_finite ? 1 : r->since * fabs(a_v);
    r->is_open |= isinf(a_v) || (!isfinite(r->h.v) && r->since < grain_of(r->dtype)->least && a_v != 0);
    int bit = lowest_bit(finite_or_0(b->v[i])), digits = grain_of(r->dtype)->digits;
    if (bit < r->lowest) r->lowest = bit;
    r->is_exact = r->is_exact && r->h.e == 0 && a_e == 0 && isfinite(r->h.v) && rint(a_v) == a_v &&
                  r->growth <= ldexp(1, digits) && (r->most == 0 || r->most <= ldexp(1, r->lowest + digits));
}

void recurrence_add(struct recurrence *r, const struct oracle_line *a, const struct oracle_line *b, int i) {
    (fx_is_integer(r->dtype) ? step_integer : step_float)(r, a, b, i);
    r->n++;
}

struct approx recurrence_value(const struct recurrence *r) {
    const struct grain *g = grain_of(r->dtype);
    struct approx h = r->h;
    if (fx_is_integer(r->dtype)) {
        bool may_wrap = r->magnitude * (1 + 0x1p-40) > fx_integer_to_double(r->dtype, integer_most(r->dtype));
        if (h.e > 0 && (may_wrap || isnan(h.e))) h.e = INFINITY;
        if (h.e > 0 && r->magnitude > 0x1p52) h.e += r->magnitude * 0x1p-40;
        return h;
    }
    if (r->is_open || isnan(h.e) || isinf(h.e) || !(larger(r->growth, r->most) <= g->largest))
        return (struct approx){.v = h.v, .e = INFINITY};
    if (r->is_exact || !isfinite(h.v)) return h;
    double flushed = r->n * g->least * r->growth * larger(r->most, 1);
    return bounded(g, h.v, h.e + g->unit * (r->roundings + 16 * r->magnitude) + flushed);
}
