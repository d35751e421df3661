/* Access bounds: whether a computed position always lies inside its axis.
 *
 * In: a position, an integer value of the checked tree, and the axis it is along. Out: yes, or what could not be shown.
 * A position becomes a polynomial over extents, running indices, data and divisions; that it lies in [0, extent) is two
 * goals for bounds_prove.c. Invariant: yes means that no launch whose equations and requirements hold reads outside,
 * whatever the data. Assumed: extents are at most 2^40 where they are not fixed; arithmetic wraps in its dtype, so that
 * an op counts as its polynomial only where it is shown not to. */
#include "check/check_bounds.h"

#include <string.h>

enum {
    MAX_SEEN = 512, /* values looked at for a position, each as often as it is met: then it is any number */
    MAX_NESTED = 64,
};

struct bounds_reading { /* the labels of a source that are read at positions */
    const struct value *access;
    const struct poly *positions[MAX_AXES]; /* by place in access->at */
    const struct bounds_reading *outer;            /* what the labels of the access are themselves read at */
    int number;                             /* of the walk's readings; 0 is none */
};

struct memo { /* a value as it was read */
    const struct value *v;
    int reading; /* its number */
    const struct poly *p;
};

struct bounds_walk { /* over the values of a position */
    struct bounds *s;
    int n_seen, n_memos, n_readings;
    bool may_wrap; /* arithmetic was met that was not shown to fit */
    struct memo *memos; /* so that an index or an element met again is the same */
};

static void value_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p);

/* ---- dtypes ---- */

static void any_of(struct bounds_walk *w, enum fx_dtype t, struct poly *p) {
    wide lo, hi;
    bounds_integer_limits(t, &lo, &hi);
    bounds_range(w->s, lo, hi, p);
}

/* p where it is a value of t for sure, else any value of t. */
static void wrap(struct bounds_walk *w, enum fx_dtype t, struct poly *p) {
    wide lo, hi;
    struct poly least, most;
    bounds_integer_limits(t, &lo, &hi);
    poly_number(&least, lo);
    poly_number(&most, hi);
    if (bounds_show_difference(w->s, p, &least, 0) && bounds_show_difference(w->s, &most, p, 0)) return;
    w->may_wrap = true;
    any_of(w, t, p);
}

/* ---- conditions ---- */

static const struct cond *value_cond(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth) {
    struct bounds *s = w->s;
    if (v->kind == V_NUM && v->dtype == FX_BOOL) {
        struct poly zero, num;
        poly_number(&zero, 0);
        poly_number(&num, v->num != 0);
        return bounds_compare(s, COND_LT, &zero, &num);
    }
    if (v->kind != V_OP || depth > MAX_NESTED || w->n_seen++ > MAX_SEEN) return NULL;
    enum op op = v->op;
    if (op == O_NOT)
        return bounds_cond(s, (struct cond){.kind = COND_NOT, .l = value_cond(w, v->args[0], at, depth + 1)});
    if (op == O_AND || op == O_OR) {
        const struct cond *l = value_cond(w, v->args[0], at, depth + 1), *r = value_cond(w, v->args[1], at, depth + 1);
        return bounds_cond(s, (struct cond){.kind = op == O_AND ? COND_AND : COND_OR, .l = l, .r = r});
    }
    if (op == O_ISNAN || !fx_is_integer(v->args[0]->dtype)) return NULL; /* the others of integers compare two */
    struct poly a, b;
    value_poly(w, v->args[0], at, depth + 1, &a);
    value_poly(w, v->args[1], at, depth + 1, &b);
    switch (op) {
    case O_LT: return bounds_compare(s, COND_LT, &a, &b);
    case O_LE: return bounds_compare(s, COND_LE, &a, &b);
    case O_GT: return bounds_compare(s, COND_LT, &b, &a);
    case O_GE: return bounds_compare(s, COND_LE, &b, &a);
    case O_EQ: return bounds_compare(s, COND_EQ, &a, &b);
    default: return bounds_cond(s, (struct cond){.kind = COND_NOT, .l = bounds_compare(s, COND_EQ, &a, &b)});
    }
}

static void cond_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    struct poly zero, one;
    poly_number(&zero, 0);
    poly_number(&one, 1);
    bounds_either(w->s, value_cond(w, v, at, depth), &one, &zero, p);
}

/* ---- ops ---- */

static void max_poly(struct bounds_walk *w, const struct poly *a, const struct poly *b, struct poly *p) {
    bounds_either(w->s, bounds_compare(w->s, COND_LE, b, a), a, b, p);
}

/* |a|; what -a is where it is needed has to fit. */
static void abs_poly(struct bounds_walk *w, enum fx_dtype t, const struct poly *a, struct poly *p) {
    struct poly negated, zero;
    poly_number(&negated, 0);
    poly_number(&zero, 0);
    if (bounds_show(w->s, a)) {
        poly_copy(p, a);
        return;
    }
    poly_add(&negated, a, -1);
    wrap(w, t, &negated);
    bounds_either(w->s, bounds_compare(w->s, COND_LE, &zero, a), a, &negated, p);
}

static void op_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    struct poly a, b, c;
    struct bounds *s = w->s;
    bool is_select = v->op == O_WHERE;
    if (op_info[v->op].rule == RULE_BITS) {
        any_of(w, v->dtype, p);
        return;
    }
    if (!is_select) value_poly(w, v->args[0], at, depth + 1, &a);
    if (v->n_args > 1) value_poly(w, v->args[1], at, depth + 1, &b);
    if (v->n_args > 2) value_poly(w, v->args[2], at, depth + 1, &c);
    switch (v->op) {
    case O_ADD: case O_SUB:
        poly_copy(p, &a);
        poly_add(p, &b, v->op == O_ADD ? 1 : -1);
        break;
    case O_MUL: poly_multiply(p, &a, &b); break;
    case O_FMA:
        poly_multiply(p, &a, &b);
        poly_add(p, &c, 1);
        break;
    case O_NEG:
        poly_number(p, 0);
        poly_add(p, &a, -1);
        break;
    case O_FLOORDIV: bounds_quotient(s, &a, &b, p); break; /* the least number // -1 wraps */
    case O_MOD: bounds_remainder(s, &a, &b, p); return;     /* between 0 and b */
    case O_MAX: max_poly(w, &a, &b, p); return;
    case O_MIN: bounds_either(s, bounds_compare(s, COND_LE, &a, &b), &a, &b, p); return;
    case O_WHERE: bounds_either(s, value_cond(w, v->args[0], at, depth + 1), &b, &c, p); return;
    case O_ABS: abs_poly(w, v->dtype, &a, p); return;
    case O_SIGN: bounds_range(s, -1, 1, p); return;
    case O_FLOOR: case O_CEIL: case O_ROUND: case O_DETACH: poly_copy(p, &a); return;
    default: any_of(w, v->dtype, p); return;
    }
    wrap(w, v->dtype, p);
}

/* ---- values ---- */

/* An axis read at the running index, or at the position that an access gives it. */
static void index_poly(struct bounds_walk *w, int axis, const struct bounds_reading *at, struct poly *p) {
    struct atom a = {.kind = ATOM_INDEX, .axis = axis};
    struct poly last;
    wide lo;
    for (; at; at = at->outer)
        for (int i = 0; i < at->access->n_at; i++)
            if (at->access->at[i] == axis) {
                poly_copy(p, at->positions[i]);
                return;
            }
    for (int i = w->s->n_base; i < w->s->n_atoms; i++)
        if (w->s->atoms[i].kind == ATOM_INDEX && w->s->atoms[i].axis == axis) {
            poly_atom(p, i);
            return;
        }
    bounds_extent(w->s, axis, &last);
    poly_add_number(&last, -1);
    bounds_limits(w->s, &last, &lo, &a.hi);
    a.a = bounds_keep(w->s, &last);
    bounds_put_atom(w->s, a, p);
}

/* The index of an extreme: 0 where the axis is empty. */
static void extreme_poly(struct bounds_walk *w, int axis, struct poly *p) {
    struct poly zero, last;
    poly_number(&zero, 0);
    bounds_extent(w->s, axis, &last);
    poly_add_number(&last, -1);
    struct atom a = {.kind = ATOM_INDEX, .axis = NO_AXIS};
    wide lo;
    max_poly(w, &last, &zero, p); /* at most the last, where there is one */
    a.a = bounds_keep(w->s, p);
    bounds_limits(w->s, p, &lo, &a.hi);
    bounds_put_atom(w->s, a, p);
}

/* Whether every position of the access lies inside, which is when it gives its source. */
static const struct cond *inside_cond(struct bounds_walk *w, const struct value *v, const struct bounds_reading *r) {
    const struct cond *all = NULL;
    struct poly zero, extent;
    poly_number(&zero, 0);
    for (int i = 0; i < v->n_at; i++) {
        bounds_extent(w->s, v->at[i], &extent);
        const struct cond *from = bounds_compare(w->s, COND_LE, &zero, r->positions[i]),
                          *to = bounds_compare(w->s, COND_LT, r->positions[i], &extent);
        const struct cond *both = bounds_cond(w->s, (struct cond){.kind = COND_AND, .l = from, .r = to});
        all = all ? bounds_cond(w->s, (struct cond){.kind = COND_AND, .l = all, .r = both}) : both;
    }
    return all;
}

static void access_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    struct bounds_reading r = {.access = v, .outer = at, .number = ++w->n_readings};
    struct poly position, source, fill;
    for (int i = 0; i < v->n_at; i++) {
        value_poly(w, v->args[1 + i], at, depth + 1, &position);
        r.positions[i] = bounds_keep(w->s, &position);
    }
    value_poly(w, v->args[0], &r, depth + 1, &source);
    poly_copy(p, &source);
    if (!v->has_fill) return;
    value_poly(w, v->args[1 + v->n_at], at, depth + 1, &fill);
    bounds_either(w->s, inside_cond(w, v, &r), &source, &fill, p);
}

static void cast_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    const struct value *from = v->args[0];
    if (from->dtype != FX_BOOL && !fx_is_integer(from->dtype)) {
        any_of(w, v->to, p); /* a float saturates */
        return;
    }
    value_poly(w, from, at, depth + 1, p);
    wrap(w, v->to, p);
}

static void num_poly(const struct value *v, struct poly *p) {
    poly_number(p, v->dtype == FX_U64 ? (wide)(uint64_t)v->integer : v->integer);
}

static void new_value_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    if (v->dtype == FX_BOOL) {
        cond_poly(w, v, at, depth, p);
        return;
    }
    switch (v->kind) {
    case V_NUM: num_poly(v, p); return;
    case V_SCALAR: poly_atom(p, w->s->param_atoms[v->param]); return;
    case V_LOAD: any_of(w, w->s->of->params[v->param].dtype, p); return;
    case V_INDEX: index_poly(w, v->axis, at, p); return;
    case V_SIZE: bounds_extent(w->s, v->axis, p); return;
    case V_OP: op_poly(w, v, at, depth, p); return;
    case V_CAST: cast_poly(w, v, at, depth, p); return;
    case V_ACCESS: access_poly(w, v, at, depth, p); return;
    case V_REDUCE:
        if (v->reduction != RED_ARGMAX && v->reduction != RED_ARGMIN) break;
        extreme_poly(w, v->reduced[0], p);
        return;
    case V_SCAN:
    case V_PLACE: break;
    }
    any_of(w, v->dtype, p);
}

static void value_poly(
    struct bounds_walk *w, const struct value *v, const struct bounds_reading *at, int depth, struct poly *p) {
    int reading = at ? at->number : 0;
    for (int i = 0; i < w->n_memos; i++)
        if (w->memos[i].v == v && w->memos[i].reading == reading) {
            poly_copy(p, w->memos[i].p);
            return;
        }
    if (depth > MAX_NESTED || w->n_seen++ > MAX_SEEN) {
        any_of(w, v->dtype, p);
        return;
    }
    new_value_poly(w, v, at, depth, p);
    PUSH(&w->s->c->cx->arena, w->memos, w->n_memos) = (struct memo){v, reading, bounds_keep(w->s, p)};
}

/* ---- proofs ---- */

/* No element of v is there unless each of its labels has one. */
static void assume_labels(struct bounds *s, const struct value *v) {
    for (int i = 0; i < v->n_axes; i++) {
        struct poly p;
        bounds_extent(s, v->axes[i], &p);
        poly_add_number(&p, -1);
        bounds_assume(s, &p);
    }
}

static const char *unproven(
    struct bounds_walk *w, const struct poly *p, const struct poly *extent, int axis, bool is_from_0) {
    struct bounds *s = w->s;
    struct arena *arena = &s->c->cx->arena;
    const struct axis *a = &s->of->axes[axis];
    const char *wraps = w->may_wrap ? ", and its arithmetic may wrap around" : "";
    struct poly some;
    poly_copy(&some, extent);
    poly_add_number(&some, -1);
    bounds_assume(s, &some);
    bool is_below = bounds_show_difference(s, extent, p, -1);
    if (is_below && bounds_show(s, p)) return arena_printf(arena, NAME_FMT " may be 0", NAME_ARG(a->name));
    if (is_below) return arena_printf(arena, "nothing shows that it is at least 0%s", wraps);
    if (a->extent >= 0)
        return arena_printf(arena, "nothing shows that it is %sbelow %lld%s", is_from_0 ? "" : "at least 0 and ",
            (long long)a->extent, wraps);
    return arena_printf(arena, "nothing shows that it is %sbelow size(" NAME_FMT ")%s",
        is_from_0 ? "" : "at least 0 and ", NAME_ARG(a->name), wraps);
}

bool bounds_prove(struct checker *c, const struct value *v, int axis, const char **why) {
    struct bounds *s = bounds_of(c);
    struct bounds_walk w = {.s = s};
    struct poly p, extent;
    struct mark m = bounds_mark(s);
    assume_labels(s, v);
    value_poly(&w, v, NULL, 0, &p);
    bounds_extent(s, axis, &extent);
    bool is_from_0 = bounds_show(s, &p), ok = is_from_0 && bounds_show_difference(s, &extent, &p, -1);
    if (!ok) *why = unproven(&w, &p, &extent, axis, is_from_0);
    bounds_undo(s, m);
    return ok;
}

