/* What a kernel says of its extents: equations as definitions, requirements as facts, divisions as atoms.
 *
 * In: the kernel's axes, equations, requirements, as far as the checker has read them; it reads on where it stopped.
 * Out: every extent as a polynomial over extents without an equation, and facts that hold whenever arguments are bound.
 * Invariant: what is kept here holds for every launch; what cannot be said (an overflow, an operator without a rule) is
 * left out. */
#include "check/check_bounds.h"

#include <stddef.h>
#include <string.h>

/* ---- what is kept ---- */

static const struct poly lost = {.is_lost = true};

/* NO_ATOM where there are too many. */
static int new_atom(struct bounds *s, struct atom a) {
    if (s->n_atoms == UINT16_MAX) return NO_ATOM;
    struct atom *to = s->n_atoms == s->most_atoms ? &PUSH(&s->c->cx->arena, s->atoms, s->most_atoms)
                                                  : &s->atoms[s->n_atoms];
    *to = a;
    return s->n_atoms++;
}

void bounds_put_atom(struct bounds *s, struct atom a, struct poly *p) {
    int atom = new_atom(s, a);
    if (atom == NO_ATOM) poly_copy(p, &lost);
    else poly_atom(p, atom);
}

const struct poly *bounds_keep(struct bounds *s, const struct poly *p) {
    struct poly *kept = NULL;
    if (s->is_base) kept = arena_alloc(&s->c->cx->arena, offsetof(struct poly, t) + (size_t)p->n * sizeof *p->t);
    else if (s->n_polys != BOUNDS_POLYS) kept = &s->scratch->polys[s->n_polys++];
    if (!kept) return &lost;
    poly_copy(kept, p);
    return kept;
}

const struct cond *bounds_cond(struct bounds *s, struct cond c) {
    struct cond *kept = NEW(&s->c->cx->arena, struct cond);
    *kept = c;
    return kept;
}

const struct cond *bounds_compare(struct bounds *s, enum cond_kind kind, const struct poly *a, const struct poly *b) {
    return bounds_cond(s, (struct cond){.kind = kind, .a = bounds_keep(s, a), .b = bounds_keep(s, b)});
}

void bounds_range(struct bounds *s, wide lo, wide hi, struct poly *p) {
    if (lo == hi) poly_number(p, lo);
    else bounds_put_atom(s, (struct atom){.kind = ATOM_RANGE, .lo = lo, .hi = hi, .axis = NO_AXIS}, p);
}

void bounds_either(
    struct bounds *s, const struct cond *when, const struct poly *a, const struct poly *b, struct poly *p) {
    struct atom x = {.kind = ATOM_EITHER, .when = when, .axis = NO_AXIS};
    wide lo, hi;
    if (poly_equal(a, b)) {
        poly_copy(p, a);
        return;
    }
    x.a = bounds_keep(s, a);
    x.b = bounds_keep(s, b);
    bounds_limits(s, a, &x.lo, &x.hi);
    bounds_limits(s, b, &lo, &hi);
    x.lo = wide_least(lo, x.lo);
    x.hi = wide_most(hi, x.hi);
    bounds_put_atom(s, x, p);
}

/* ---- divisions ---- */

static void quotient_atom(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p) {
    struct atom x = {.kind = ATOM_QUOT, .axis = NO_AXIS};
    wide lo, hi;
    for (int i = s->n_atoms; i--;)
        if (s->atoms[i].kind == ATOM_QUOT && poly_equal(s->atoms[i].a, a) && poly_equal(s->atoms[i].b, b)) {
            poly_atom(p, i);
            return;
        }
    x.a = bounds_keep(s, a);
    x.b = bounds_keep(s, b);
    bounds_limits(s, a, &lo, &hi);
    wide size = wide_most(-lo, hi);
    bounds_limits(s, b, &x.lo, &x.hi);
    bool is_forward = x.lo >= 0; /* a divisor below 0 turns the sign */
    x.lo = is_forward ? wide_least(lo, 0) : -size;
    x.hi = is_forward ? wide_most(hi, 0) : size;
    bounds_put_atom(s, x, p);
}

/* Whether p lies in [0, b). */
static bool is_remainder(struct bounds *s, const struct poly *p, const struct poly *b) {
    return bounds_show(s, p) && bounds_show_difference(s, b, p, -1);
}

void bounds_quotient(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p) {
    struct poly whole, rest, quotient;
    wide lo, hi, na, nb;
    bounds_limits(s, b, &lo, &hi);
    if (lo == 0 && hi == 0) {
        poly_number(p, 0);
        return;
    }
    if (b->n != 1 || lo < 1) {
        quotient_atom(s, a, b, p);
        return;
    }
    poly_divide(a, &b->t[0], &whole, &rest);
    if (poly_is_number(&rest, &na) && poly_is_number(b, &nb)) poly_number(&quotient, wide_floor_divide(na, nb));
    else if (rest.n == 0) poly_number(&quotient, 0);
    else if (whole.n && is_remainder(s, &rest, b)) poly_number(&quotient, 0);
    else quotient_atom(s, &rest, b, &quotient);
    poly_copy(p, &whole);
    poly_add(p, &quotient, 1);
}

/* a - b * (a // b), and 0 where b is 0. */
void bounds_remainder(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p) {
    struct poly quotient, product, zero;
    wide lo, hi;
    bounds_quotient(s, a, b, &quotient);
    poly_multiply(&product, b, &quotient);
    poly_copy(p, a);
    poly_add(p, &product, -1);
    bounds_limits(s, b, &lo, &hi);
    if (lo >= 1) return;
    poly_number(&zero, 0);
    bounds_either(s, bounds_compare(s, COND_EQ, b, &zero), &zero, p, &product);
    poly_copy(p, &product);
}

/* ---- extents ---- */

enum { MAX_QUOTIENTS = 8 }; /* within quotients: what is deeper is not looked into */

/* An atom of p that stands for something else by now: an extent with a definition or a quotient of such, as far as is
 * looked into; NO_ATOM when none does. */
static int stale_atom(const struct bounds *s, const struct poly *p, int depth) {
    for (int i = p->n; i--;)
        for (int j = p->t[i].n; j--;) {
            int atom = p->t[i].atoms[j];
            const struct atom *a = &s->atoms[atom];
            if (a->def) return atom;
            if (a->kind == ATOM_QUOT && depth != MAX_QUOTIENTS &&
                (stale_atom(s, a->a, depth + 1) != NO_ATOM || stale_atom(s, a->b, depth + 1) != NO_ATOM))
                return atom;
        }
    return NO_ATOM;
}

/* Ends: no definition has an atom that was defined before it, nor its own. */
static void normalise_at(struct bounds *s, struct poly *p, int depth) {
    for (int atom; (atom = stale_atom(s, p, depth)) != NO_ATOM;) {
        struct atom a = s->atoms[atom];
        struct poly by, divisor, next;
        if (a.def) poly_copy(&by, a.def);
        else {
            poly_copy(&next, a.a);
            poly_copy(&divisor, a.b);
            normalise_at(s, &next, depth + 1);
            normalise_at(s, &divisor, depth + 1);
            bounds_quotient(s, &next, &divisor, &by);
        }
        poly_substitute(&next, p, atom, &by);
        poly_copy(p, &next);
    }
}

static void normalise(struct bounds *s, struct poly *p) { normalise_at(s, p, 0); }

void bounds_extent(struct bounds *s, int axis, struct poly *p) {
    poly_atom(p, s->axis_atoms[axis]);
    normalise(s, p);
}

/* ---- terms of the plan ---- */

enum { MAX_OPERANDS = 32 };

struct bounds_operand { /* a number or a condition */
    const struct cond *cond; /* NULL: a number */
    struct poly p;
};

/* a op b, into a. False for an operator without a rule, and where a condition is a number. That an exact division is
 * one stands among the requirements. */
static bool apply(struct bounds *s, enum fx_term_op op, struct bounds_operand *a, const struct bounds_operand *b) {
    struct poly x;
    if (op == FX_T_AND || op == FX_T_OR) {
        struct cond both = {.kind = op == FX_T_AND ? COND_AND : COND_OR, .l = a->cond, .r = b->cond};
        if (!a->cond || !b->cond) return false;
        a->cond = bounds_cond(s, both);
        return true;
    }
    if (a->cond || b->cond) return false;
    poly_copy(&x, &a->p);
    switch (op) {
    case FX_T_LT: a->cond = bounds_compare(s, COND_LT, &x, &b->p); return true;
    case FX_T_LE: a->cond = bounds_compare(s, COND_LE, &x, &b->p); return true;
    case FX_T_EQ: a->cond = bounds_compare(s, COND_EQ, &x, &b->p); return true;
    case FX_T_ADD: poly_add(&a->p, &b->p, 1); return true;
    case FX_T_SUB: poly_add(&a->p, &b->p, -1); return true;
    case FX_T_MUL: poly_multiply(&a->p, &x, &b->p); return true;
    case FX_T_DIV: case FX_T_DIV_EXACT: bounds_quotient(s, &x, &b->p, &a->p); return true;
    case FX_T_MOD: bounds_remainder(s, &x, &b->p, &a->p); return true;
    default: return false;
    }
}

static bool read_leaf(struct bounds *s, const struct fx_term *t, struct poly *p) {
    switch (t->op) {
    case FX_T_CONST: poly_number(p, t->v); return true;
    case FX_T_EXTENT: bounds_extent(s, (int)t->v, p); return true;
    case FX_T_SCALAR:
        if (s->param_atoms[t->v] == NO_ATOM) return false;
        poly_atom(p, s->param_atoms[t->v]);
        return true;
    default: return false;
    }
}

static bool is_leaf(enum fx_term_op op) { return op <= FX_T_LAST_LEAF; }

/* The value of e; false where nothing can be said of it, or it has no terms. */
static bool read_terms(struct bounds *s, const struct fx_expr *e, struct bounds_operand *out) {
    struct bounds_operand stack[MAX_OPERANDS];
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        const struct fx_term *t = &e->terms[i];
        if (is_leaf(t->op)) {
            if (n == MAX_OPERANDS || !read_leaf(s, t, &stack[n].p)) return false;
            stack[n++].cond = NULL;
        } else if (t->op == FX_T_NOT) {
            if (!stack[n - 1].cond) return false;
            stack[n - 1].cond = bounds_cond(s, (struct cond){.kind = COND_NOT, .l = stack[n - 1].cond});
        } else {
            if (!apply(s, t->op, &stack[n - 2], &stack[n - 1])) return false;
            n--;
        }
    }
    if (n != 1) return false;
    out->cond = stack[0].cond;
    poly_copy(&out->p, &stack[0].p);
    return true;
}

/* ---- equations ---- */

static void assume_between(struct bounds *s, wide lo, const struct poly *p, wide hi) {
    struct poly least, most;
    poly_number(&least, lo);
    poly_number(&most, hi);
    bounds_assume_cond(s, &(struct cond){.kind = COND_LE, .a = &least, .b = p}, true);
    bounds_assume_cond(s, &(struct cond){.kind = COND_LE, .a = p, .b = &most}, true);
}

static bool is_of_extents(const struct bounds *s, const struct poly *p) {
    for (int i = p->n; i--;)
        for (int j = p->t[i].n; j--;)
            if (s->atoms[p->t[i].atoms[j]].kind != ATOM_EXTENT) return false;
    return true;
}

/* Whether atom stands below a quotient or a choice in p, or may: then p cannot define it. */
static bool depends_on(const struct bounds *s, const struct poly *p, int atom, int depth) {
    for (int i = p->n; i--;)
        for (int j = p->t[i].n; j--;) {
            const struct atom *a = &s->atoms[p->t[i].atoms[j]];
            if (p->t[i].atoms[j] == atom || a->kind == ATOM_EITHER) return true;
            if (a->kind == ATOM_QUOT && (depth == MAX_QUOTIENTS || depends_on(s, a->a, atom, depth + 1) ||
                                            depends_on(s, a->b, atom, depth + 1)))
                return true;
        }
    return false;
}

static void define(struct bounds *s, int atom, const struct poly *p) {
    struct poly fact;
    s->atoms[atom].def = bounds_keep(s, p);
    assume_between(s, s->atoms[atom].lo, p, s->atoms[atom].hi); /* what facts said of the atom so far */
    for (int i = s->n_facts; i--;) {
        struct fact said = s->facts[i];
        s->facts[i] = s->facts[--s->n_facts];
        s->facts[s->n_facts] = said; /* its room is used again */
        poly_copy(&fact, said.p);
        normalise(s, &fact);
        bounds_assume(s, &fact);
    }
}

/* difference = 0: an extent that is a term of it, with the factor 1 or -1, is defined by the others. */
static bool define_by(struct bounds *s, const struct poly *difference, const struct poly_term *t) {
    struct poly rest, by = {.is_lost = false};
    if (t->n != 1 || (t->coefficient != 1 && t->coefficient != -1)) return false;
    poly_copy(&rest, difference);
    poly_add_term(&rest, t, -1);
    if (depends_on(s, &rest, t->atoms[0], 0)) return false;
    poly_add(&by, &rest, -t->coefficient);
    define(s, t->atoms[0], &by);
    return true;
}

static bool define_any(struct bounds *s, const struct poly *difference, int preferred) {
    for (int i = difference->n; i--;)
        if (difference->t[i].atoms[0] == preferred && define_by(s, difference, &difference->t[i])) return true;
    if (!is_of_extents(s, difference)) return false;
    for (int i = 0; i != difference->n; i++)
        if (define_by(s, difference, &difference->t[i])) return true;
    return false;
}

static void read_equation(struct bounds *s, const struct equation *q) {
    struct bounds_operand value = {.cond = NULL};
    struct poly extent, difference;
    if (!read_terms(s, &q->value, &value) || value.cond) return;
    bounds_extent(s, q->axis, &extent);
    assume_between(s, 0, &value.p, MAX_EXTENT);
    poly_copy(&difference, &extent);
    poly_add(&difference, &value.p, -1);
    if (difference.is_lost || define_any(s, &difference, s->axis_atoms[q->axis])) return;
    bounds_assume_cond(s, &(struct cond){.kind = COND_EQ, .a = &extent, .b = &value.p}, true);
}

/* ---- requirements ---- */

/* Where the operand that ends at terms[end] begins. */
static int operand_start(const struct fx_expr *e, int end) {
    for (int wanted = 1;; end--) {
        enum fx_term_op op = e->terms[end].op;
        if (is_leaf(op)) wanted--;
        else if (op != FX_T_NOT) wanted++;
        if (!wanted) return end;
    }
}

static wide least_of(const struct bounds *s, const struct poly *p) {
    wide lo, hi;
    bounds_limits(s, p, &lo, &hi);
    return lo;
}

/* Of `a % b == 0`, an extent a is b times a number from 0. Of anything else the remainder is known to be 0. */
static void define_multiple(struct bounds *s, const struct fx_expr *e) {
    const struct fx_term *end = e->terms + e->n;
    struct bounds_operand a, b;
    struct poly z, by;
    if (end[-1].op != FX_T_EQ || end[-2].op != FX_T_CONST || end[-2].v != 0 || end[-3].op != FX_T_MOD) return;
    int middle = operand_start(e, e->n - 4);
    if (!read_terms(s, &(struct fx_expr){middle, e->terms}, &a) || a.cond || a.p.n != 1 ||
        !read_terms(s, &(struct fx_expr){e->n - 3 - middle, e->terms + middle}, &b) || b.cond || b.p.n != 1 ||
        least_of(s, &b.p) < 1)
        return;
    int atom = a.p.t[0].atoms[0];
    poly_atom(&z, atom);
    if (!poly_equal(&a.p, &z) || s->atoms[atom].kind != ATOM_EXTENT || depends_on(s, &b.p, atom, 0)) return;
    bounds_put_atom(s, (struct atom){.kind = ATOM_EXTENT, .hi = MAX_EXTENT, .axis = NO_AXIS}, &z);
    poly_multiply(&by, &b.p, &z);
    if (!by.is_lost) define(s, atom, &by);
}

/* All that and joins, from the right. */
static void read_requirement(struct bounds *s, struct fx_expr e) {
    struct bounds_operand value;
    while (e.terms[e.n - 1].op == FX_T_AND) {
        int middle = operand_start(&e, e.n - 2);
        read_requirement(s, (struct fx_expr){e.n - 1 - middle, e.terms + middle});
        e.n = middle;
    }
    define_multiple(s, &e);
    if (read_terms(s, &e, &value)) bounds_assume_cond(s, value.cond, true); /* a number says nothing */
}

/* ---- a kernel ---- */

static struct bounds *new_bounds(struct checker *c) {
    struct bounds *s = NEW(&c->cx->arena, struct bounds);
    *s = (struct bounds){.c = c, .of = c->k, .stamp = 1};
    if (!c->bounds_scratch) c->bounds_scratch = NEW(&c->cx->arena, struct bounds_scratch);
    s->scratch = c->bounds_scratch;
    return s;
}

void bounds_integer_limits(enum fx_dtype t, wide *lo, wide *hi) {
    int bits = t == FX_BOOL ? 1 : fx_dtype_bits(t);
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    *lo = is_signed ? -((wide)1 << (bits - 1)) : 0;
    *hi = ((wide)1 << (bits - is_signed)) - 1;
}

static int new_param_atom(struct bounds *s, const struct param *p) {
    struct atom a = {.kind = ATOM_RANGE, .axis = NO_AXIS};
    if (!p->is_scalar || !fx_is_integer(p->dtype)) return NO_ATOM;
    bounds_integer_limits(p->dtype, &a.lo, &a.hi);
    return new_atom(s, a);
}

/* The atom of every axis and scalar that has none yet; the number of every axis that has one by now. */
static void read_names(struct bounds *s) {
    const struct kernel *k = s->of;
    struct arena *arena = &s->c->cx->arena;
    struct poly number;
    wide v;
    while (s->n_axes != k->n_axes) {
        int atom = new_atom(s, (struct atom){.kind = ATOM_EXTENT, .hi = MAX_EXTENT, .axis = s->n_axes});
        PUSH(arena, s->axis_atoms, s->n_axes) = atom;
    }
    while (s->n_params != k->n_params) {
        int atom = new_param_atom(s, &k->params[s->n_params]);
        PUSH(arena, s->param_atoms, s->n_params) = atom;
    }
    for (int i = k->n_axes; i--;) {
        struct atom *a = &s->atoms[s->axis_atoms[i]];
        if (k->axes[i].extent < 0 || (a->def && poly_is_number(a->def, &v))) continue;
        a->lo = a->hi = k->axes[i].extent;
        poly_number(&number, k->axes[i].extent);
        a->def = bounds_keep(s, &number);
        s->stamp++;
    }
}

struct bounds *bounds_of(struct checker *c) {
    struct kernel *k = c->k;
    if (!k->bounds || k->bounds->of != k) k->bounds = new_bounds(c);
    struct bounds *s = k->bounds;
    s->n_atoms = s->n_base;
    s->n_facts = s->n_base_facts;
    s->n_trail = s->n_polys = 0;
    s->is_base = true;
    read_names(s);
    for (; s->n_equations < k->n_equations; s->n_equations++) read_equation(s, &k->equations[s->n_equations]);
    for (; s->n_requirements < k->n_requirements; s->n_requirements++)
        read_requirement(s, k->requirements[s->n_requirements].holds);
    s->n_base = s->n_atoms;
    s->n_base_facts = s->n_facts;
    s->is_base = false;
    return s;
}
