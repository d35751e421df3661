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

/* -1 where there are too many. */
static int new_atom(struct bounds *s, struct atom a) {
    if (s->n_atoms == UINT16_MAX) return -1;
    if (s->n_atoms == s->room) {
        struct atom *wider = NEW_ARRAY(&s->c->cx->arena, struct atom, 2 * s->room + 32);
        if (s->n_atoms) memcpy(wider, s->atoms, (size_t)s->n_atoms * sizeof *wider);
        s->atoms = wider;
        s->room = 2 * s->room + 32;
    }
    s->atoms[s->n_atoms] = a;
    return s->n_atoms++;
}

void bounds_put_atom(struct bounds *s, struct atom a, struct poly *p) {
    int atom = new_atom(s, a);
    poly_atom(p, atom < 0 ? 0 : atom);
    p->is_lost = atom < 0;
}

const struct poly *bounds_keep(struct bounds *s, const struct poly *p) {
    static const struct poly lost = {.is_lost = true};
    struct poly *kept = NULL;
    if (s->is_base) kept = arena_alloc(&s->c->cx->arena, offsetof(struct poly, t) + (size_t)p->n * sizeof *p->t);
    else if (s->n_polys != BOUNDS_POLYS) kept = &s->scratch->polys[s->n_polys++];
    if (!kept) return &lost;
    poly_copy(kept, p);
    return kept;
}

const struct cond *bounds_cond(struct bounds *s, struct cond c) {
    struct cond *kept = NULL;
    if (s->is_base) kept = NEW(&s->c->cx->arena, struct cond);
    else if (s->n_conds != BOUNDS_CONDS) kept = &s->scratch->conds[s->n_conds++];
    if (kept) *kept = c;
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
    if (lo < x.lo) x.lo = lo;
    if (hi > x.hi) x.hi = hi;
    bounds_put_atom(s, x, p);
}

/* ---- divisions ---- */

static void quotient_atom(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p) {
    struct atom x = {.kind = ATOM_QUOT, .axis = NO_AXIS};
    wide lo, hi;
    for (int i = 0; i < s->n_atoms; i++)
        if (s->atoms[i].kind == ATOM_QUOT && poly_equal(s->atoms[i].a, a) && poly_equal(s->atoms[i].b, b)) {
            poly_atom(p, i);
            return;
        }
    x.a = bounds_keep(s, a);
    x.b = bounds_keep(s, b);
    bounds_limits(s, a, &lo, &hi);
    wide size = -lo > hi ? -lo : hi;
    bounds_limits(s, b, &x.lo, &x.hi);
    bool is_forward = x.lo >= 0; /* a divisor below 0 turns the sign */
    x.lo = is_forward ? (lo < 0 ? lo : 0) : -size;
    x.hi = is_forward ? (hi > 0 ? hi : 0) : size;
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
    if (lo == 0 && hi == 0 && !b->is_lost) {
        poly_number(p, 0);
        return;
    }
    if (b->n != 1 || lo < 1) {
        quotient_atom(s, a, b, p);
        return;
    }
    poly_divide(a, &b->t[0], &whole, &rest);
    if (poly_is_number(&rest, &na) && poly_is_number(b, &nb)) poly_number(&quotient, wide_floor_divide(na, nb));
    else if (rest.n == 0 && !rest.is_lost) poly_number(&quotient, 0);
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

/* The first atom of p that stands for something else by now: an extent with a definition or a number, a quotient of
 * such; -1 when none does. */
static int stale_atom(const struct bounds *s, const struct poly *p, int depth) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++) {
            int atom = p->t[i].atoms[j];
            const struct atom *a = &s->atoms[atom];
            if (a->def || (a->kind == ATOM_EXTENT && a->axis >= 0 && s->of->axes[a->axis].extent >= 0)) return atom;
            if (a->kind == ATOM_QUOT && depth < 8 &&
                (stale_atom(s, a->a, depth + 1) >= 0 || stale_atom(s, a->b, depth + 1) >= 0))
                return atom;
        }
    return -1;
}

static void normalise_at(struct bounds *s, struct poly *p, int depth) {
    for (int round = 0, atom; round < 64 && depth < 8 && (atom = stale_atom(s, p, 0)) >= 0; round++) {
        struct atom a = s->atoms[atom];
        struct poly by, divisor, next;
        if (a.kind == ATOM_QUOT) {
            poly_copy(&next, a.a);
            poly_copy(&divisor, a.b);
            normalise_at(s, &next, depth + 1);
            normalise_at(s, &divisor, depth + 1);
            bounds_quotient(s, &next, &divisor, &by);
        } else if (a.axis >= 0 && s->of->axes[a.axis].extent >= 0) poly_number(&by, s->of->axes[a.axis].extent);
        else poly_copy(&by, a.def);
        poly_substitute(&next, p, atom, &by);
        if (poly_equal(&next, p)) return;
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

/* a op b, into a. False for an operator without a rule. That an exact division is one stands among the requirements. */
static bool apply(struct bounds *s, enum fx_term_op op, struct bounds_operand *a, const struct bounds_operand *b) {
    struct poly x;
    bool is_comparison = op == FX_T_LT || op == FX_T_LE || op == FX_T_EQ, is_logic = op == FX_T_AND || op == FX_T_OR;
    if (is_logic != (a->cond != NULL) || is_logic != (b->cond != NULL)) return false;
    poly_copy(&x, &a->p);
    if (is_logic)
        a->cond = bounds_cond(
            s, (struct cond){.kind = op == FX_T_AND ? COND_AND : COND_OR, .l = a->cond, .r = b->cond});
    else if (is_comparison)
        a->cond = bounds_compare(s, op == FX_T_LT ? COND_LT : op == FX_T_LE ? COND_LE : COND_EQ, &x, &b->p);
    else if (op == FX_T_ADD) poly_add(&a->p, &b->p, 1);
    else if (op == FX_T_SUB) poly_add(&a->p, &b->p, -1);
    else if (op == FX_T_MUL) poly_multiply(&a->p, &x, &b->p);
    else if (op == FX_T_DIV || op == FX_T_DIV_EXACT) bounds_quotient(s, &x, &b->p, &a->p);
    else if (op == FX_T_MOD) bounds_remainder(s, &x, &b->p, &a->p);
    else return false;
    return !is_logic && !is_comparison ? true : a->cond != NULL;
}

static bool read_leaf(struct bounds *s, const struct fx_term *t, struct poly *p) {
    switch (t->op) {
    case FX_T_CONST: poly_number(p, t->v); return true;
    case FX_T_EXTENT: bounds_extent(s, (int)t->v, p); return true;
    case FX_T_SCALAR:
        if (s->param_atoms[t->v] < 0) return false;
        poly_atom(p, s->param_atoms[t->v]);
        return true;
    default: return false;
    }
}

/* The value of e; false where nothing can be said of it. */
static bool read_terms(struct bounds *s, const struct fx_expr *e, struct bounds_operand *out) {
    struct bounds_operand stack[MAX_OPERANDS];
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        const struct fx_term *t = &e->terms[i];
        if (t->op <= FX_T_LAST_LEAF) {
            if (n == MAX_OPERANDS || !read_leaf(s, t, &stack[n].p)) return false;
            stack[n++].cond = NULL;
        } else if (t->op == FX_T_NOT) {
            if (n < 1 || !stack[n - 1].cond) return false;
            stack[n - 1].cond = bounds_cond(s, (struct cond){.kind = COND_NOT, .l = stack[n - 1].cond});
        } else {
            if (n < 2 || !apply(s, t->op, &stack[n - 2], &stack[n - 1])) return false;
            n--;
        }
    }
    if (n != 1) return false;
    out->cond = stack[0].cond;
    poly_copy(&out->p, &stack[0].p);
    return true;
}

/* ---- equations ---- */

/* Extents are from 0 to MAX_EXTENT. */
static void assume_extent(struct bounds *s, const struct poly *p) {
    struct poly room;
    bounds_assume(s, p);
    poly_number(&room, MAX_EXTENT);
    poly_add(&room, p, -1);
    bounds_assume(s, &room);
}

static bool has_quotient(const struct bounds *s, const struct poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++)
            if (s->atoms[p->t[i].atoms[j]].kind != ATOM_EXTENT) return true;
    return false;
}

/* Whether atom stands below a quotient or a choice in p: then p cannot define it. */
static bool depends_on(const struct bounds *s, const struct poly *p, int atom, int depth) {
    if (depth > 8) return true;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++) {
            const struct atom *a = &s->atoms[p->t[i].atoms[j]];
            if (p->t[i].atoms[j] == atom || a->kind == ATOM_EITHER) return true;
            if (a->kind == ATOM_QUOT && (depends_on(s, a->a, atom, depth + 1) || depends_on(s, a->b, atom, depth + 1)))
                return true;
        }
    return false;
}

static void define(struct bounds *s, int atom, const struct poly *p) {
    struct poly fact;
    wide lo = s->atoms[atom].lo, hi = s->atoms[atom].hi;
    s->atoms[atom].def = bounds_keep(s, p);
    assume_extent(s, p);
    poly_copy(&fact, p); /* what facts said of the atom so far */
    poly_add_number(&fact, -lo);
    bounds_assume(s, &fact);
    poly_number(&fact, hi);
    poly_add(&fact, p, -1);
    bounds_assume(s, &fact);
    for (int i = 0; i < s->n_facts; i++) {
        if (stale_atom(s, s->facts[i].p, 0) < 0) continue;
        poly_copy(&fact, s->facts[i].p);
        normalise(s, &fact);
        bounds_assume(s, &fact);
        s->facts[i] = s->facts[--s->n_facts];
        i--;
    }
}

/* difference = 0: an extent that occurs once, with the factor 1 or -1, is defined by it. */
static bool define_from(struct bounds *s, const struct poly *difference, int preferred) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < difference->n; i++) {
            struct poly_term t = difference->t[i];
            struct poly rest, by;
            if (t.n != 1 || (t.coefficient != 1 && t.coefficient != -1) || (t.atoms[0] != preferred) == (pass == 0))
                continue;
            if (s->atoms[t.atoms[0]].kind != ATOM_EXTENT || s->atoms[t.atoms[0]].axis < 0)
                continue; /* a multiplier is no extent of the kernel */
            poly_copy(&rest, difference);
            poly_add_term(&rest, &t, -1);
            if (depends_on(s, &rest, t.atoms[0], 0) || (pass == 1 && has_quotient(s, &rest))) continue;
            poly_number(&by, 0);
            poly_add(&by, &rest, t.coefficient > 0 ? -1 : 1);
            if (by.is_lost) return false;
            define(s, t.atoms[0], &by);
            return true;
        }
    return false;
}

static void equate(struct bounds *s, const struct poly *a, const struct poly *b, int preferred) {
    struct poly difference, opposite;
    poly_copy(&difference, a);
    poly_add(&difference, b, -1);
    if (difference.is_lost || define_from(s, &difference, preferred)) return;
    poly_number(&opposite, 0);
    poly_add(&opposite, &difference, -1);
    bounds_assume(s, &difference);
    bounds_assume(s, &opposite);
}

static void read_equation(struct bounds *s, const struct equation *q) {
    struct bounds_operand value;
    struct poly extent;
    if (q->value.n == 0 || !read_terms(s, &q->value, &value) || value.cond || value.p.is_lost) return;
    bounds_extent(s, q->axis, &extent);
    assume_extent(s, &value.p);
    equate(s, &extent, &value.p, s->axis_atoms[q->axis]);
}

/* ---- requirements ---- */

/* `extent % b == 0`: the extent is b times a number from 0. Of anything else the remainder is known to be 0. */
static bool define_multiple(struct bounds *s, const struct fx_expr *e) {
    struct bounds_operand a, b;
    struct poly z, by;
    wide lo, hi;
    int n = e->n;
    if (n < 5 || e->terms[n - 1].op != FX_T_EQ || e->terms[n - 2].op != FX_T_CONST || e->terms[n - 2].v != 0 ||
        e->terms[n - 3].op != FX_T_MOD)
        return false;
    if (e->terms[0].op != FX_T_EXTENT || !read_terms(s, &(struct fx_expr){1, e->terms}, &a) ||
        !read_terms(s, &(struct fx_expr){n - 4, e->terms + 1}, &b))
        return false;
    bounds_limits(s, &b.p, &lo, &hi);
    if (b.cond || lo < 1 || b.p.n != 1 || a.p.is_lost || a.p.n != 1 || a.p.t[0].n != 1 || a.p.t[0].coefficient != 1)
        return false;
    int atom = a.p.t[0].atoms[0];
    if (s->atoms[atom].kind != ATOM_EXTENT || depends_on(s, &b.p, atom, 0)) return false;
    bounds_put_atom(s, (struct atom){.kind = ATOM_EXTENT, .hi = MAX_EXTENT, .axis = NO_AXIS}, &z);
    poly_multiply(&by, &b.p, &z);
    if (by.is_lost) return false;
    define(s, atom, &by);
    return true;
}

/* Where the operand that ends at terms[end] begins; -1 where the terms make no sense. */
static int operand_start(const struct fx_expr *e, int end) {
    int wanted = 1;
    for (; end >= 0; end--) {
        enum fx_term_op op = e->terms[end].op;
        if (op <= FX_T_LAST_LEAF) wanted--;
        else if (op != FX_T_NOT) wanted++;
        if (wanted == 0) return end;
    }
    return -1;
}

static void read_requirement(struct bounds *s, struct fx_expr e, int depth) {
    struct bounds_operand value;
    if (depth > 64 || e.n == 0) return;
    if (e.terms[e.n - 1].op == FX_T_AND) {
        int middle = operand_start(&e, e.n - 2);
        if (middle < 1) return;
        read_requirement(s, (struct fx_expr){e.n - 1 - middle, e.terms + middle}, depth + 1);
        read_requirement(s, (struct fx_expr){middle, e.terms}, depth + 1);
        return;
    }
    if (define_multiple(s, &e) || !read_terms(s, &e, &value) || !value.cond) return;
    bounds_assume_cond(s, value.cond, true);
}

/* ---- a kernel ---- */

static struct bounds *new_bounds(struct checker *c) {
    struct bounds *s = NEW(&c->cx->arena, struct bounds);
    *s = (struct bounds){.c = c, .of = c->k, .stamp = 1, .last_stamp = 1};
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
    if (!p->is_scalar || !fx_is_integer(p->dtype)) return -1;
    bounds_integer_limits(p->dtype, &a.lo, &a.hi);
    return new_atom(s, a);
}

static int *grown(struct bounds *s, int *old, int n_old, int n) {
    int *wider = NEW_ARRAY(&s->c->cx->arena, int, 2 * n);
    if (n_old) memcpy(wider, old, (size_t)n_old * sizeof *old);
    return wider;
}

/* The atom of every axis and scalar that has none yet; the number of every axis that has one by now. */
static void read_names(struct bounds *s) {
    const struct kernel *k = s->of;
    if (s->room_axes < k->n_axes) {
        s->axis_atoms = grown(s, s->axis_atoms, s->n_axes, k->n_axes);
        s->room_axes = 2 * k->n_axes;
    }
    for (; s->n_axes < k->n_axes; s->n_axes++)
        s->axis_atoms[s->n_axes] = new_atom(
            s, (struct atom){.kind = ATOM_EXTENT, .hi = MAX_EXTENT, .axis = s->n_axes});
    if (s->n_params < k->n_params) s->param_atoms = grown(s, s->param_atoms, s->n_params, k->n_params);
    for (; s->n_params < k->n_params; s->n_params++)
        s->param_atoms[s->n_params] = new_param_atom(s, &k->params[s->n_params]);
    for (int i = 0; i < k->n_axes; i++) {
        struct atom *a = &s->atoms[s->axis_atoms[i]];
        if (k->axes[i].extent < 0 || (a->lo == a->hi && a->lo == k->axes[i].extent)) continue;
        a->lo = a->hi = k->axes[i].extent;
        s->stamp = ++s->last_stamp;
    }
}

struct bounds *bounds_of(struct checker *c) {
    struct kernel *k = c->k;
    if (!k->bounds || k->bounds->of != k) k->bounds = new_bounds(c);
    struct bounds *s = k->bounds;
    s->n_atoms = s->n_base;
    s->n_facts = s->n_base_facts;
    s->n_trail = s->n_polys = s->n_conds = 0;
    s->is_base = true;
    read_names(s);
    for (; s->n_equations < k->n_equations; s->n_equations++) read_equation(s, &k->equations[s->n_equations]);
    for (; s->n_requirements < k->n_requirements; s->n_requirements++)
        read_requirement(s, k->requirements[s->n_requirements].holds, 0);
    s->n_base = s->n_atoms;
    s->n_base_facts = s->n_facts;
    s->is_base = false;
    return s;
}
