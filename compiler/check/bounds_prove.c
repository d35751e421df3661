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

static wide clamp_wide(wide v) { return v > HUGE_WIDE ? HUGE_WIDE : v < -HUGE_WIDE ? -HUGE_WIDE : v; }

static wide multiply_ends(wide a, wide b) {
    wide v;
    if (wide_multiply(a, b, &v)) return clamp_wide(v);
    return (a < 0) != (b < 0) ? -HUGE_WIDE : HUGE_WIDE;
}

static void term_limits(const struct bounds *s, const struct poly_term *t, wide *lo, wide *hi) {
    *lo = *hi = clamp_wide(t->coefficient);
    for (int i = 0; i < t->n; i++) {
        const struct atom *a = &s->atoms[t->atoms[i]];
        wide ends[] = {
            multiply_ends(*lo, a->lo), multiply_ends(*lo, a->hi), multiply_ends(*hi, a->lo), multiply_ends(*hi, a->hi)};
        *lo = *hi = ends[0];
        for (int e = 1; e < 4; e++) {
            if (ends[e] < *lo) *lo = ends[e];
            if (ends[e] > *hi) *hi = ends[e];
        }
    }
}

void bounds_limits(const struct bounds *s, const struct poly *p, wide *lo, wide *hi) {
    wide l, h;
    *lo = *hi = 0;
    for (int i = 0; i < p->n; i++) {
        term_limits(s, &p->t[i], &l, &h);
        *lo = l == -HUGE_WIDE || *lo == -HUGE_WIDE ? -HUGE_WIDE : clamp_wide(*lo + l);
        *hi = h == HUGE_WIDE || *hi == HUGE_WIDE ? HUGE_WIDE : clamp_wide(*hi + h);
    }
    if (p->is_lost) *lo = -HUGE_WIDE, *hi = HUGE_WIDE;
}

/* ---- over atom - lo ---- */

enum { MOST_ATOMS = POLY_TERMS * POLY_FACTORS }; /* of a polynomial */

/* p over atom - lo (sign 1), or a polynomial over these over the atoms again (sign -1). */
static void shift(const struct bounds *s, const struct poly *p, int sign, struct poly *out) {
    struct poly by, next;
    int done[MOST_ATOMS], n_done = 0;
    poly_copy(out, p);
    for (int i = 0; i < p->n && !out->is_lost; i++)
        for (int j = 0; j < p->t[i].n; j++) {
            int atom = p->t[i].atoms[j];
            bool is_done = s->atoms[atom].lo == 0;
            for (int d = 0; d < n_done && !is_done; d++) is_done = done[d] == atom;
            if (is_done) continue;
            done[n_done++] = atom;
            poly_atom(&by, atom);
            poly_add_number(&by, sign * s->atoms[atom].lo);
            poly_substitute(&next, out, atom, &by);
            poly_copy(out, &next);
        }
}

static const struct poly_term *first_negative(const struct poly *p) {
    for (int i = 0; i < p->n; i++)
        if (p->t[i].coefficient < 0) return &p->t[i];
    return NULL;
}

/* Whether p is known to have this sign by ranges alone: then one end of what it multiplies is enough. */
static int sign_of(const struct bounds *s, const struct poly *p) {
    wide lo, hi;
    bounds_limits(s, p, &lo, &hi);
    if (lo < 0 && hi > 0) {
        struct poly shifted;
        shift(s, p, 1, &shifted);
        if (!shifted.is_lost && !first_negative(&shifted)) return 1;
        for (int i = 0; i < shifted.n; i++)
            if (shifted.t[i].coefficient > 0) return 0;
        return shifted.is_lost ? 0 : -1;
    }
    return lo >= 0 ? 1 : -1;
}

/* ---- facts ---- */

static uint64_t bit_of(int atom) { return (uint64_t)1 << (atom % 64); }

static uint64_t mask_of(const struct poly *p) {
    uint64_t mask = 0;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++) mask |= bit_of(p->t[i].atoms[j]);
    return mask;
}

struct mark bounds_mark(const struct bounds *s) {
    return (struct mark){s->n_facts, s->n_trail, s->n_polys, s->is_impossible};
}

void bounds_undo(struct bounds *s, struct mark m) {
    if (s->n_trail > m.n_trail) s->stamp = ++s->last_stamp;
    while (s->n_trail > m.n_trail) {
        struct narrowing *n = &s->scratch->trail[--s->n_trail];
        s->atoms[n->atom].lo = n->lo;
        s->atoms[n->atom].hi = n->hi;
    }
    s->n_facts = m.n_facts;
    s->n_polys = m.n_polys;
    s->is_impossible = m.is_impossible;
}

static bool narrow(struct bounds *s, int atom, wide lo, wide hi) {
    struct atom *a = &s->atoms[atom];
    if ((lo <= a->lo && hi >= a->hi) || (!s->is_base && s->n_trail == BOUNDS_TRAIL)) return false;
    if (!s->is_base) s->scratch->trail[s->n_trail++] = (struct narrowing){atom, a->lo, a->hi};
    if (lo > a->lo) a->lo = lo;
    if (hi < a->hi) a->hi = hi;
    if (a->lo > a->hi) s->is_impossible = true;
    s->stamp = ++s->last_stamp;
    return true;
}

/* p = c * atom + rest >= 0, by the ranges of the rest. */
static uint64_t narrow_by_term(struct bounds *s, const struct poly *p, int i) {
    wide lo, hi, end;
    struct poly rest;
    struct poly_term t = p->t[i];
    poly_copy(&rest, p);
    poly_add_term(&rest, &t, -1);
    bounds_limits(s, &rest, &lo, &hi);
    if (hi == HUGE_WIDE) return 0;
    const struct atom *a = &s->atoms[t.atoms[0]];
    end = wide_floor_divide(hi, t.coefficient < 0 ? -t.coefficient : t.coefficient);
    bool changed = t.coefficient < 0 ? narrow(s, t.atoms[0], a->lo, end) : narrow(s, t.atoms[0], -end, a->hi);
    return changed ? bit_of(t.atoms[0]) : 0;
}

/* What p >= 0 says of the ranges of its atoms; the atoms narrowed. A product at least 1 has no factor 0. */
static uint64_t narrow_by(struct bounds *s, const struct poly *p) {
    uint64_t changed = 0;
    wide lo, hi;
    struct poly factor, rest;
    bounds_limits(s, p, &lo, &hi);
    if (hi < 0) s->is_impossible = true;
    for (int i = 0; i < p->n && !s->is_impossible; i++) {
        if (p->t[i].n == 1) changed |= narrow_by_term(s, p, i);
        for (int j = 0; j < p->t[i].n && p->t[i].n > 1; j++) {
            int atom = p->t[i].atoms[j];
            if (s->atoms[atom].lo != 0) continue;
            poly_extract(p, atom, &factor, &rest);
            bounds_limits(s, &rest, &lo, &hi);
            if (hi < 0 && narrow(s, atom, 1, s->atoms[atom].hi)) changed |= bit_of(atom);
        }
    }
    return changed;
}

enum { NARROW_ROUNDS = 4 };

static void propagate(struct bounds *s, uint64_t changed) {
    for (int round = 0; round < NARROW_ROUNDS && changed && !s->is_impossible; round++) {
        uint64_t before = changed;
        changed = 0;
        for (int i = 0; i < s->n_facts; i++)
            if (s->facts[i].mask & before) changed |= narrow_by(s, s->facts[i].p);
    }
}

static bool has_fact(const struct bounds *s, const struct poly *p, uint64_t mask) {
    for (int i = 0; i < s->n_facts; i++)
        if (s->facts[i].mask == mask && poly_equal(s->facts[i].p, p)) return true;
    return false;
}

static struct fact *push_fact(struct bounds *s) {
    if (s->n_facts < s->room_facts) return &s->facts[s->n_facts++];
    if (!s->is_base && s->n_facts >= s->n_base_facts + BOUNDS_FACTS) return NULL;
    struct fact *wider = NEW_ARRAY(&s->c->cx->arena, struct fact, 2 * s->room_facts + 16);
    if (s->n_facts) memcpy(wider, s->facts, (size_t)s->n_facts * sizeof *wider);
    s->facts = wider;
    s->room_facts = 2 * s->room_facts + 16;
    return &s->facts[s->n_facts++];
}

void bounds_assume(struct bounds *s, const struct poly *given) {
    struct poly p;
    wide lo, hi;
    if (given->is_lost || s->is_impossible) return;
    poly_copy(&p, given);
    poly_tighten(&p);
    bounds_limits(s, &p, &lo, &hi);
    if (lo >= 0) return;
    uint64_t mask = mask_of(&p), changed = narrow_by(s, &p);
    bool says_more = p.n > 2 || (p.n && p.t[p.n - 1].n > 1) || (p.n == 2 && p.t[0].n);
    if (says_more && !has_fact(s, &p, mask)) {
        struct fact *f = push_fact(s);
        if (f) {
            struct poly *shifted = f->shifted;
            *f = (struct fact){.p = bounds_keep(s, &p), .mask = mask, .shifted = shifted};
        }
    }
    propagate(s, changed);
}

static void assume_difference(struct bounds *s, const struct poly *a, const struct poly *b, wide plus) {
    struct poly p;
    poly_copy(&p, a);
    poly_add(&p, b, -1);
    poly_add_number(&p, plus);
    bounds_assume(s, &p);
}

/* Unequal, where it is known which is not the smaller. */
static void assume_unequal(struct bounds *s, const struct poly *a, const struct poly *b) {
    struct poly difference;
    poly_copy(&difference, a);
    poly_add(&difference, b, -1);
    int sign = sign_of(s, &difference);
    if (sign > 0) assume_difference(s, a, b, -1);
    if (sign < 0) assume_difference(s, b, a, -1);
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
            return;
        }
        assume_unequal(s, c->a, c->b);
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

static const struct poly *shifted_fact(struct bounds *s, struct fact *f) {
    if (!f->shifted) f->shifted = NEW(&s->c->cx->arena, struct poly);
    if (f->stamp != s->stamp) shift(s, f->p, 1, f->shifted);
    f->stamp = s->stamp;
    return f->shifted;
}

static bool show(struct bounds *s, const struct poly *goal, int depth);

/* The goal less the fact times what makes `negative`, a term of both kinds, vanish. */
static bool show_with_fact(struct bounds *s, const struct poly *goal, const struct poly_term *negative,
    const struct poly *fact, const struct poly_term *matched, int depth) {
    struct poly_term a = *negative, b = *matched, factor;
    struct poly next, times, plain, product;
    wide shared = wide_gcd(a.coefficient, b.coefficient), scale = -b.coefficient / shared,
         least = -a.coefficient / shared;
    a.coefficient = b.coefficient = 1;
    if (!poly_term_divide(&a, &b, &factor)) return false;
    poly_number(&times, 0);
    poly_add_term(&times, &factor, least);
    shift(s, &times, -1, &plain);
    poly_multiply(&product, &plain, fact);
    poly_number(&next, 0);
    poly_add(&next, goal, scale);
    poly_add(&next, &product, -1);
    if (next.is_lost) return false;
    s->fact_depth++;
    bool ok = show(s, &next, depth + 1);
    s->fact_depth--;
    return ok;
}

/* Likewise with every fact that has a negative term which divides `negative`. */
static bool show_term_by_facts(struct bounds *s, const struct poly *goal, const struct poly_term *negative, int depth) {
    uint64_t wanted = 0;
    for (int j = 0; j < negative->n; j++) wanted |= bit_of(negative->atoms[j]);
    if (!negative->n) wanted = mask_of(goal);
    for (int i = 0; i < s->n_facts; i++) {
        if (!(s->facts[i].mask & wanted)) continue;
        for (int t = shifted_fact(s, &s->facts[i])->n - 1; t >= 0;
             t--) {                                                   /* the longest first: it needs the least factor */
            const struct poly *p = shifted_fact(s, &s->facts[i]);     /* what is tried on the way may move it */
            if (p->is_lost) break;
            struct poly_term matched = p->t[t];
            if (matched.coefficient < 0 && show_with_fact(s, goal, negative, s->facts[i].p, &matched, depth))
                return true;
        }
    }
    return false;
}

static bool show_by_facts(struct bounds *s, const struct poly *goal, const struct poly *shifted, int depth) {
    uint64_t mask = mask_of(goal);
    if (s->fact_depth == s->fact_limit) {
        for (int i = 0; i < s->n_facts && !s->may_deepen; i++) s->may_deepen = s->facts[i].mask & mask;
        return false;
    }
    for (int i = shifted->n - 1; i >= 0; i--)
        if (shifted->t[i].coefficient < 0 && show_term_by_facts(s, goal, &shifted->t[i], depth)) return true;
    return false;
}

/* factor * end + rest, or with a scale factor * end + scale * rest + slack * (scale - 1). */
static bool show_at(struct bounds *s, const struct poly *factor, const struct poly *rest, const struct poly *scale,
    wide slack, const struct poly *end, int depth) {
    struct poly next, product;
    if (!scale) poly_copy(&next, rest);
    else {
        poly_multiply(&next, rest, scale);
        poly_add(&next, scale, slack);
        poly_add_number(&next, -slack);
    }
    poly_multiply(&product, factor, end);
    poly_add(&next, &product, 1);
    return !next.is_lost && show(s, &next, depth + 1);
}

/* scale * atom between two polynomials: a goal linear in it is least at one of them. */
static bool show_between(struct bounds *s, const struct poly *goal, int atom, const struct poly *scale,
    const struct poly *least, const struct poly *most, int depth) {
    struct poly factor, rest, whole, left;
    poly_extract(goal, atom, &factor, &rest);
    if (scale && scale->n == 1) {
        poly_divide(&factor, &scale->t[0], &whole, &left);
        if (!left.n && !left.is_lost) {
            poly_copy(&factor, &whole);
            scale = NULL;
        }
    }
    int sign = sign_of(s, &factor);
    if (sign == 0 && poly_has(&factor, atom)) return false;
    /* scale * goal >= 0 follows from scale * goal + scale - 1 >= 0, as the goal is an integer. */
    return (sign > 0 || show_at(s, &factor, &rest, scale, 1, most, depth)) &&
           (sign < 0 || show_at(s, &factor, &rest, scale, 1, least, depth));
}

/* q = a // b: b * q lies within [a - b + 1, a] where b >= 1. */
static bool show_quotient(struct bounds *s, const struct poly *goal, int atom, int depth) {
    const struct poly *n = s->atoms[atom].a, *d = s->atoms[atom].b;
    struct poly least, zero, factor, at_zero;
    wide lo, hi;
    bounds_limits(s, d, &lo, &hi);
    if (lo >= 1) {
        poly_copy(&least, n);
        poly_add(&least, d, -1);
        poly_add_number(&least, 1);
        return show_between(s, goal, atom, d, &least, n, depth);
    }
    if (lo < 0) return false;
    struct mark m = bounds_mark(s);
    poly_copy(&zero, d);
    poly_add_number(&zero, -1);
    bounds_assume(s, &zero);
    bounds_limits(s, d, &lo, &hi);
    bool ok = s->is_impossible || (lo >= 1 && show_quotient(s, goal, atom, depth + 1));
    bounds_undo(s, m);
    if (!ok) return false;
    poly_number(&zero, 0);
    poly_add(&zero, d, -1);
    bounds_assume(s, &zero);
    poly_extract(goal, atom, &factor, &at_zero);
    ok = s->is_impossible || show(s, &at_zero, depth + 1);
    bounds_undo(s, m);
    return ok;
}

static bool show_cases(struct bounds *s, const struct poly *goal, int atom, int depth) {
    for (int is_true = 0; is_true < 2; is_true++) {
        struct poly next;
        struct mark m = bounds_mark(s);
        bounds_assume_cond(s, s->atoms[atom].when, is_true);
        poly_substitute(&next, goal, atom, is_true ? s->atoms[atom].a : s->atoms[atom].b);
        bool ok = s->is_impossible || (!next.is_lost && show(s, &next, depth + 1));
        bounds_undo(s, m);
        if (!ok) return false;
    }
    return true;
}

static bool show_without(struct bounds *s, const struct poly *goal, int depth) {
    struct poly least, most;
    int atom = -1;
    for (int i = 0; i < goal->n; i++)
        for (int j = 0; j < goal->t[i].n; j++)
            if (goal->t[i].atoms[j] > atom && s->atoms[goal->t[i].atoms[j]].kind != ATOM_EXTENT)
                atom = goal->t[i].atoms[j];
    if (atom < 0) return false;
    const struct atom *a = &s->atoms[atom];
    if (a->kind == ATOM_QUOT) return show_quotient(s, goal, atom, depth);
    if (a->kind == ATOM_EITHER) return show_cases(s, goal, atom, depth);
    poly_number(&least, a->lo);
    if (a->kind == ATOM_RANGE) poly_number(&most, a->hi);
    else poly_copy(&most, a->a);
    return show_between(s, goal, atom, NULL, &least, &most, depth);
}

static bool show(struct bounds *s, const struct poly *given, int depth) {
    struct poly goal, shifted;
    wide lo, hi;
    if (given->is_lost || depth > BOUNDS_DEPTH || s->steps++ > BOUNDS_STEPS) return false;
    poly_copy(&goal, given);
    poly_tighten(&goal);
    bounds_limits(s, &goal, &lo, &hi);
    if (lo >= 0 || s->is_impossible) return true;
    if (hi < 0) return false;
    shift(s, &goal, 1, &shifted);
    if (shifted.is_lost) return false;
    if (!first_negative(&shifted)) return true;
    return show_without(s, &goal, depth) || show_by_facts(s, &goal, &shifted, depth);
}

bool bounds_show(struct bounds *s, const struct poly *p) {
    bool is_base = s->is_base;
    s->is_base = false; /* what is assumed on the way holds on the way only, and is taken back there */
    bool ok = false;
    s->may_deepen = true;
    for (s->fact_limit = 0; !ok && s->may_deepen && s->fact_limit <= BOUNDS_FACT_DEPTH; s->fact_limit++) {
        s->steps = 0;
        s->may_deepen = false;
        ok = show(s, p, 0);
        if (s->steps > BOUNDS_STEPS) break;
    }
    s->is_base = is_base;
    return ok;
}

bool bounds_show_difference(struct bounds *s, const struct poly *a, const struct poly *b, wide plus) {
    struct poly p;
    poly_copy(&p, a);
    poly_add(&p, b, -1);
    poly_add_number(&p, plus);
    return bounds_show(s, &p);
}
