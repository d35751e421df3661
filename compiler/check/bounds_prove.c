/* The search for a proof that a polynomial is not negative.
 *
 * In: a goal p >= 0, the ranges of its atoms, the facts of the kernel and of the case at hand. Out: whether it was
 * shown; a goal that is not may still hold. What has a definition by cases is split, what stands between two
 * polynomials is replaced by the end that makes p least, facts are subtracted with a factor that is not negative.
 * Deterministic, bounded by BOUNDS_STEPS. Invariant: each step only ever replaces a goal by stronger ones. */
#include "check/check_bounds.h"

#include <string.h>

/* ---- ranges ---- */

#define HUGE_WIDE ((wide)1 << 124) /* stands for every larger number: an end at it is no end */

static wide clamp_wide(wide v) { return wide_most(-HUGE_WIDE, wide_least(v, HUGE_WIDE)); }

static wide multiply_ends(wide a, wide b) {
    wide v;
    if (wide_multiply(a, b, &v)) return clamp_wide(v);
    return (a < 0) != (b < 0) ? -HUGE_WIDE : HUGE_WIDE;
}

static void term_limits(const struct bounds *s, const struct poly_term *t, wide *lo, wide *hi) {
    *lo = *hi = clamp_wide(t->coefficient);
    for (int i = t->n; i--;) {
        const struct atom *a = &s->atoms[t->atoms[i]];
        wide ll = multiply_ends(*lo, a->lo), lh = multiply_ends(*lo, a->hi), hl = multiply_ends(*hi, a->lo),
             hh = multiply_ends(*hi, a->hi);
        *lo = wide_least(wide_least(ll, lh), wide_least(hl, hh));
        *hi = wide_most(wide_most(ll, lh), wide_most(hl, hh));
    }
}

void bounds_limits(const struct bounds *s, const struct poly *p, wide *lo, wide *hi) {
    wide l, h;
    *lo = *hi = 0;
    for (int i = p->n; i--;) {
        term_limits(s, &p->t[i], &l, &h);
        *lo = l == -HUGE_WIDE || *lo == -HUGE_WIDE ? -HUGE_WIDE : clamp_wide(*lo + l);
        *hi = h == HUGE_WIDE || *hi == HUGE_WIDE ? HUGE_WIDE : clamp_wide(*hi + h);
    }
    if (p->is_lost) *lo = -HUGE_WIDE, *hi = HUGE_WIDE;
}

/* ---- over atom - lo ---- */

/* p over atom - lo (sign 1), or a polynomial over these over the atoms again (sign -1). */
static void shift(const struct bounds *s, const struct poly *p, int sign, struct poly *out) {
    struct poly part, by, product;
    poly_number(out, 0);
    out->is_lost = p->is_lost;
    for (int i = p->n; i--;) {
        poly_number(&part, p->t[i].coefficient);
        for (int j = p->t[i].n; j--;) {
            poly_atom(&by, p->t[i].atoms[j]);
            poly_add_number(&by, sign * s->atoms[p->t[i].atoms[j]].lo);
            poly_multiply(&product, &part, &by);
            poly_copy(&part, &product);
        }
        poly_add(out, &part, 1);
    }
}

static bool is_negative(const struct poly_term *t) { return t->coefficient < 0; }

/* Whether p >= 0 by the ranges alone; what is shifted, p over atom - lo, has no negative term or ranges say more. */
static bool is_plain(const struct bounds *s, const struct poly *p, struct poly *shifted) {
    wide lo, hi;
    bounds_limits(s, p, &lo, &hi);
    shift(s, p, 1, shifted);
    bool has_negative = shifted->is_lost;
    for (int i = shifted->n; i--;) has_negative |= is_negative(&shifted->t[i]);
    return lo >= 0 || !has_negative;
}

/* ---- facts ---- */

static uint64_t bit_of(int atom) { return (uint64_t)1 << (atom & 63); }

static uint64_t mask_of_term(const struct poly_term *t) {
    uint64_t mask = 0;
    for (int j = t->n; j--;) mask |= bit_of(t->atoms[j]);
    return mask;
}

static uint64_t mask_of(const struct poly *p) {
    uint64_t mask = 0;
    for (int i = p->n; i--;) mask |= mask_of_term(&p->t[i]);
    return mask;
}

struct mark bounds_mark(const struct bounds *s) {
    return (struct mark){s->n_facts, s->n_trail, s->n_polys, s->is_impossible};
}

void bounds_undo(struct bounds *s, struct mark m) {
    if (s->n_trail != m.n_trail) s->stamp++;
    while (s->n_trail != m.n_trail) {
        struct narrowing *n = &s->scratch->trail[--s->n_trail];
        s->atoms[n->atom].lo = n->lo;
        s->atoms[n->atom].hi = n->hi;
    }
    s->n_facts = m.n_facts;
    s->n_polys = m.n_polys;
    s->is_impossible = m.is_impossible;
}

static void narrow(struct bounds *s, int atom, wide lo, wide hi) {
    struct atom *a = &s->atoms[atom];
    lo = wide_most(lo, a->lo);
    hi = wide_least(hi, a->hi);
    if (s->is_impossible || (lo == a->lo && hi == a->hi)) return;
    if (!s->is_base) {
        if (s->n_trail == BOUNDS_TRAIL) return;
        s->scratch->trail[s->n_trail++] = (struct narrowing){atom, a->lo, a->hi};
    }
    a->lo = lo;
    a->hi = hi;
    s->is_impossible = lo > hi;
    s->changed |= bit_of(atom);
    s->stamp++;
}

/* p = c * atom + rest >= 0, by the ranges of the rest. */
static void narrow_by_term(struct bounds *s, const struct poly *p, const struct poly_term *t) {
    wide lo, hi;
    struct poly rest;
    int atom = t->atoms[0];
    poly_copy(&rest, p);
    poly_add_term(&rest, t, -1);
    bounds_limits(s, &rest, &lo, &hi);
    if (hi == HUGE_WIDE) return;
    if (is_negative(t)) narrow(s, atom, s->atoms[atom].lo, wide_floor_divide(hi, -t->coefficient));
    else narrow(s, atom, -wide_floor_divide(hi, t->coefficient), s->atoms[atom].hi);
}

/* p >= 0, which without the atom is below 0: the atom is not 0. */
static void narrow_factor(struct bounds *s, const struct poly *p, int atom) {
    struct poly factor, rest;
    wide lo, hi;
    poly_extract(p, atom, &factor, &rest);
    bounds_limits(s, &rest, &lo, &hi);
    if (s->atoms[atom].lo == 0 && hi < 0) narrow(s, atom, 1, s->atoms[atom].hi);
}

/* What p >= 0 says of the ranges of its atoms. */
static void narrow_by(struct bounds *s, const struct poly *p) {
    wide lo, hi;
    bounds_limits(s, p, &lo, &hi);
    if (hi < 0) s->is_impossible = true;
    for (int i = p->n; i--;) {
        if (p->t[i].n == 1) narrow_by_term(s, p, &p->t[i]);
        for (int j = p->t[i].n; j--;) narrow_factor(s, p, p->t[i].atoms[j]);
    }
}

enum { NARROW_ROUNDS = 4 };

static void propagate(struct bounds *s) {
    for (int round = 0; round < NARROW_ROUNDS; round++) {
        uint64_t before = s->changed;
        s->changed = 0;
        for (int i = 0; i != s->n_facts; i++)
            if (s->facts[i].mask & before) narrow_by(s, s->facts[i].p);
    }
}

static bool has_fact(const struct bounds *s, const struct poly *p) {
    for (int i = s->n_facts; i--;)
        if (poly_equal(s->facts[i].p, p)) return true;
    return false;
}

/* What ranges say already is no fact: nothing, or something of one atom alone. */
static bool says_more(const struct poly *p) {
    int n_factors = 0;
    for (int i = p->n; i--;) n_factors += p->t[i].n;
    return n_factors > 1;
}

static void add_fact(struct bounds *s, const struct poly *p) {
    const struct poly *kept = bounds_keep(s, p);
    if (kept->is_lost) return;
    struct fact *f = s->n_facts == s->most_facts ? &PUSH(&s->c->cx->arena, s->facts, s->most_facts)
                                                 : &s->facts[s->n_facts];
    s->n_facts++;
    f->p = kept;
    f->mask = mask_of(kept);
    f->stamp = 0;
}

void bounds_assume(struct bounds *s, const struct poly *given) {
    struct poly p;
    wide lo, hi;
    if (given->is_lost || s->is_impossible) return;
    poly_copy(&p, given);
    poly_tighten(&p);
    bounds_limits(s, &p, &lo, &hi);
    if (lo >= 0) return;
    s->changed = 0;
    narrow_by(s, &p);
    if (says_more(&p) && !has_fact(s, &p)) add_fact(s, &p);
    propagate(s);
}

static void difference(const struct poly *a, const struct poly *b, wide plus, struct poly *out) {
    poly_copy(out, a);
    poly_add(out, b, -1);
    poly_add_number(out, plus);
}

static void assume_difference(struct bounds *s, const struct poly *a, const struct poly *b, wide plus) {
    struct poly p;
    difference(a, b, plus, &p);
    bounds_assume(s, &p);
}

/* Unequal to b, a is larger where it is known not to be smaller. */
static void assume_larger(struct bounds *s, const struct poly *a, const struct poly *b) {
    struct poly p, shifted;
    difference(a, b, 0, &p);
    if (is_plain(s, &p, &shifted)) assume_difference(s, a, b, -1);
}

static void assume_at(struct bounds *s, const struct cond *c, bool is_true, int depth) {
    if (!c || depth > BOUNDS_DEPTH) return;
    switch (c->kind) {
    case COND_LT:
        if (is_true) assume_difference(s, c->b, c->a, -1);
        else assume_difference(s, c->a, c->b, 0);
        return;
    case COND_LE:
        if (is_true) assume_difference(s, c->b, c->a, 0);
        else assume_difference(s, c->a, c->b, -1);
        return;
    case COND_EQ:
        if (is_true) {
            assume_difference(s, c->a, c->b, 0);
            assume_difference(s, c->b, c->a, 0);
        } else {
            assume_larger(s, c->a, c->b);
            assume_larger(s, c->b, c->a);
        }
        return;
    case COND_AND: case COND_OR:
        if (is_true != (c->kind == COND_AND)) return;
        assume_at(s, c->l, is_true, depth + 1);
        assume_at(s, c->r, is_true, depth + 1);
        return;
    case COND_NOT: assume_at(s, c->l, !is_true, depth + 1); return;
    case COND_UNKNOWN: return;
    }
}

void bounds_assume_cond(struct bounds *s, const struct cond *c, bool is_true) { assume_at(s, c, is_true, 0); }

/* ---- goals ---- */

static bool show(struct bounds *s, const struct poly *goal);

static const struct poly *shifted_fact(struct bounds *s, struct fact *f) {
    if (!f->shifted) f->shifted = NEW(&s->c->cx->arena, struct poly);
    if (f->stamp != s->stamp) shift(s, f->p, 1, f->shifted);
    f->stamp = s->stamp;
    return f->shifted;
}

/* The goal less the fact times what makes `negative`, a term of both kinds, vanish. */
static bool show_with_fact(struct bounds *s, const struct poly *goal, const struct poly_term *negative,
    const struct poly *fact, const struct poly_term *matched) {
    struct poly_term whole = *negative, factor;
    struct poly next, times, plain, product;
    wide shared = wide_gcd(negative->coefficient, matched->coefficient);
    whole.coefficient = matched->coefficient; /* so that the factor's is 1 */
    if (!poly_term_divide(&whole, matched, &factor)) return false;
    poly_number(&times, 0);
    poly_add_term(&times, &factor, -negative->coefficient / shared);
    shift(s, &times, -1, &plain);
    poly_multiply(&product, &plain, fact);
    poly_number(&next, 0);
    poly_add(&next, goal, -matched->coefficient / shared);
    poly_add(&next, &product, -1);
    s->fact_depth++;
    bool ok = show(s, &next);
    s->fact_depth--;
    return ok;
}

/* Likewise with every fact that has a negative term which divides `negative`; the longest first: it needs the least
 * factor. */
static bool show_term_by_facts(struct bounds *s, const struct poly *goal, const struct poly_term *negative) {
    uint64_t wanted = negative->n ? mask_of_term(negative) : mask_of(goal);
    for (int i = 0; i != s->n_facts; i++) {
        struct poly shifted; /* a copy: what is tried on the way shifts facts by other ranges */
        if (!(s->facts[i].mask & wanted)) continue;
        poly_copy(&shifted, shifted_fact(s, &s->facts[i]));
        for (int t = shifted.n; t--;)
            if (is_negative(&shifted.t[t]) && show_with_fact(s, goal, negative, s->facts[i].p, &shifted.t[t]))
                return true;
    }
    return false;
}

static bool show_by_facts(struct bounds *s, const struct poly *goal, const struct poly *shifted) {
    if (s->fact_depth == s->fact_limit) {
        uint64_t mask = mask_of(goal);
        for (int i = s->n_facts; i--;)
            if (s->facts[i].mask & mask) s->may_deepen = true;
        return false;
    }
    for (int i = shifted->n; i--;)
        if (is_negative(&shifted->t[i]) && show_term_by_facts(s, goal, &shifted->t[i])) return true;
    return false;
}

/* factor * end + rest, or with a scale factor * end + scale * rest + scale - 1. */
static bool show_at(struct bounds *s, const struct poly *factor, const struct poly *rest, const struct poly *scale,
    const struct poly *end) {
    struct poly next, product;
    if (!scale) poly_copy(&next, rest);
    else {
        poly_multiply(&next, rest, scale);
        poly_add(&next, scale, 1);
        poly_add_number(&next, -1);
    }
    poly_multiply(&product, factor, end);
    poly_add(&next, &product, 1);
    return show(s, &next);
}

/* scale * atom between two polynomials: a goal linear in it is least at one of them. With a scale scale * goal >= 0
 * follows from scale * goal + scale - 1 >= 0, as the goal is an integer. */
static bool show_between(struct bounds *s, const struct poly *goal, int atom, const struct poly *scale,
    const struct poly *least, const struct poly *most) {
    struct poly factor, rest, whole, left, zero, opposite, shifted;
    poly_extract(goal, atom, &factor, &rest);
    if (scale && scale->n == 1) {
        poly_divide(&factor, &scale->t[0], &whole, &left);
        if (!left.n) {
            poly_copy(&factor, &whole);
            scale = NULL;
        }
    }
    poly_number(&zero, 0);
    difference(&zero, &factor, 0, &opposite);
    if (is_plain(s, &factor, &shifted)) return show_at(s, &factor, &rest, scale, least);
    if (is_plain(s, &opposite, &shifted)) return show_at(s, &factor, &rest, scale, most);
    return !poly_has(&factor, atom) && show_at(s, &factor, &rest, scale, most) &&
           show_at(s, &factor, &rest, scale, least);
}

/* The goal where a condition holds or does not: what it makes of the atom then is `by`. */
static bool show_case(
    struct bounds *s, const struct poly *goal, int atom, const struct cond *when, bool is_true, const struct poly *by) {
    struct poly next;
    struct mark m = bounds_mark(s);
    bounds_assume_cond(s, when, is_true);
    poly_substitute(&next, goal, atom, by);
    bool ok = show(s, &next);
    bounds_undo(s, m);
    return ok;
}

/* q = a // b where b >= 1: b * q lies within [a - b + 1, a]. */
static bool show_rounded(struct bounds *s, const struct poly *goal, int atom, const struct cond *is_some) {
    const struct poly *n = s->atoms[atom].a, *d = s->atoms[atom].b;
    struct poly least;
    struct mark m = bounds_mark(s);
    bounds_assume_cond(s, is_some, true);
    difference(n, d, 1, &least);
    bool ok = show_between(s, goal, atom, d, &least, n);
    bounds_undo(s, m);
    return ok;
}

/* q = a // b, 0 where b is 0; of a b below 0 nothing is shown. */
static bool show_quotient(struct bounds *s, const struct poly *goal, int atom) {
    const struct poly *d = s->atoms[atom].b;
    struct poly zero;
    wide lo, hi;
    bounds_limits(s, d, &lo, &hi);
    poly_number(&zero, 0);
    struct cond is_some = {.kind = COND_LT, .a = &zero, .b = d};
    return lo >= 0 && show_rounded(s, goal, atom, &is_some) && show_case(s, goal, atom, &is_some, false, &zero);
}

static bool show_either(struct bounds *s, const struct poly *goal, int atom) {
    const struct atom *a = &s->atoms[atom];
    return show_case(s, goal, atom, a->when, false, a->b) && show_case(s, goal, atom, a->when, true, a->a);
}

/* Without the last atom that is no extent. */
static bool show_without(struct bounds *s, const struct poly *goal) {
    struct poly least, most;
    int atom = NO_ATOM;
    for (int i = goal->n; i--;)
        for (int j = goal->t[i].n; j--;)
            if (s->atoms[goal->t[i].atoms[j]].kind != ATOM_EXTENT && goal->t[i].atoms[j] > atom)
                atom = goal->t[i].atoms[j];
    if (atom == NO_ATOM) return false;
    const struct atom *a = &s->atoms[atom];
    if (a->kind == ATOM_QUOT) return show_quotient(s, goal, atom);
    if (a->kind == ATOM_EITHER) return show_either(s, goal, atom);
    poly_number(&least, a->lo);
    if (a->kind == ATOM_RANGE) poly_number(&most, a->hi);
    else poly_copy(&most, a->a);
    return show_between(s, goal, atom, NULL, &least, &most);
}

static bool show_goal(struct bounds *s, const struct poly *given) {
    struct poly goal, shifted;
    wide lo, hi;
    poly_copy(&goal, given);
    poly_tighten(&goal);
    if (is_plain(s, &goal, &shifted)) return true;
    bounds_limits(s, &goal, &lo, &hi);
    return hi >= 0 && !shifted.is_lost && (show_without(s, &goal) || show_by_facts(s, &goal, &shifted));
}

static bool show(struct bounds *s, const struct poly *goal) {
    if (s->is_impossible) return true;
    if (goal->is_lost || s->depth > BOUNDS_DEPTH || s->steps == BOUNDS_STEPS) return false;
    s->steps++;
    s->depth++;
    bool ok = show_goal(s, goal);
    s->depth--;
    return ok;
}

bool bounds_show(struct bounds *s, const struct poly *p) {
    bool ok, is_base = s->is_base;
    s->is_base = false; /* what is assumed on the way holds on the way only, and is taken back there */
    s->fact_limit = 0;
    do {
        s->steps = 0;
        s->may_deepen = false;
        ok = show(s, p);
        s->fact_limit++;
    } while (!ok && s->may_deepen && s->steps != BOUNDS_STEPS && s->fact_limit <= BOUNDS_FACT_DEPTH);
    s->is_base = is_base;
    return ok;
}

bool bounds_show_difference(struct bounds *s, const struct poly *a, const struct poly *b, wide plus) {
    struct poly p;
    difference(a, b, plus, &p);
    return bounds_show(s, &p);
}
