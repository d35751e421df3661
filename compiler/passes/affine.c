/* Positions as polynomials: normal form, floor division, ranges.
 *
 * Sums and products of i64 wrap. Polynomials over them do not; their coefficients wrap when they become nodes again, so
 * these steps are exact. Division and ranges assume that no position overflows: each term of the dividend is below the
 * number of elements that its indices run over, and no kernel has 2^62 elements (extents are at most 2^40, tensors have
 * at most 2^48 elements). Coefficients are kept below 2^20 there. */
#include "passes/affine.h"

#include <string.h>

#include "passes/build.h"
#include "symbolic/poly.h"

static const wide MAX_COEFFICIENT = 1 << 20;

enum { MAX_DEPTH = 24 };

/* ---- unknowns: running indices by axis, then extents by axis, then integers that are no polynomial ---- */

struct affine_atoms {
    const struct node **indices, **sizes; /* by axis: NULL until it was met */
    const struct node **others;
    int n_others;
    const int *same_size; /* by axis: the first that equations say has the same extent; NULL until it is asked for */
};

struct affine_scope affine_scope(struct graph *g, const struct node *reader) {
    struct arena *a = &g->cx->arena;
    struct affine_atoms *atoms = NEW(a, struct affine_atoms);
    atoms->indices = NEW_ARRAY(a, const struct node *, g->kernel->n_axes + 1);
    atoms->sizes = NEW_ARRAY(a, const struct node *, g->kernel->n_axes + 1);
    return (struct affine_scope){g, reader, atoms};
}

static bool same_atom(const struct node *a, const struct node *b, int depth) {
    if (a == b) return true;
    if (depth > MAX_DEPTH || a->kind != b->kind || a->dtype != b->dtype) return false;
    if (a->kind == N_INDEX || a->kind == N_SIZE) return a->axis == b->axis;
    if (a->kind == N_CONST) return fx_is_integer(a->dtype) && a->integer == b->integer;
    if (a->kind != N_OP || a->op != b->op) return false;
    for (int i = 0; i < a->n_args; i++)
        if (!same_atom(a->args[i], b->args[i], depth + 1)) return false;
    return true;
}

static int n_axes(const struct affine_scope *s) { return s->g->kernel->n_axes; }

static int atom_of(const struct affine_scope *s, const struct node *n) {
    struct affine_atoms *atoms = s->atoms;
    if (n->kind == N_INDEX) {
        if (!atoms->indices[n->axis]) atoms->indices[n->axis] = n;
        return n->axis;
    }
    for (int i = 0; i < atoms->n_others; i++)
        if (same_atom(atoms->others[i], n, 0)) return 2 * n_axes(s) + i;
    PUSH(&s->g->cx->arena, atoms->others, atoms->n_others) = n;
    return 2 * n_axes(s) + atoms->n_others - 1;
}

static int size_atom(const struct affine_scope *s, int axis) {
    if (!s->atoms->sizes[axis]) s->atoms->sizes[axis] = build_size(s->g, axis, s->reader);
    return n_axes(s) + axis;
}

static const struct node *node_of(const struct affine_scope *s, int atom) {
    int n = n_axes(s);
    return atom < n       ? s->atoms->indices[atom]
           : atom < 2 * n ? s->atoms->sizes[atom - n]
                          : s->atoms->others[atom - 2 * n];
}

static void of_term(struct poly *p, const struct poly_term *t) {
    poly_number(p, 0);
    poly_add_term(p, t, 1);
}

/* t without its factor number i. */
static struct poly_term without(const struct poly_term *t, int i) {
    struct poly_term rest = *t;
    rest.n--;
    memmove(&rest.atoms[i], &rest.atoms[i + 1], (size_t)(rest.n - i) * sizeof *rest.atoms);
    return rest;
}

static bool is_zero(const struct poly *p) { return !p->is_lost && p->n == 0; }

/* ---- what is known of extents ---- */

/* Whether the expression is a product or quotient, which is 0 when one of its extents is: then none of them is 0 where
 * it is not. */
static bool is_product(const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++)
        switch (e->terms[i].op) {
        case FX_T_EXTENT: case FX_T_CONST: case FX_T_MUL: case FX_T_DIV: case FX_T_DIV_EXACT: break;
        default: return false;
        }
    return e->n > 0;
}

static bool mentions(const struct fx_expr *e, int axis) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op == FX_T_EXTENT && e->terms[i].v == axis) return true;
    return false;
}

/* Whether the axis has an element wherever the reader has one. */
static bool is_populated(const struct affine_scope *s, int axis) {
    const struct kernel *k = s->g->kernel;
    if (k->axes[axis].extent >= 1 || node_has_axis(s->reader, axis)) return true;
    for (int i = 0; i < k->n_equations; i++) {
        const struct equation *q = &k->equations[i];
        bool is_whole = k->axes[q->axis].extent >= 1 || node_has_axis(s->reader, q->axis);
        if (is_whole && is_product(&q->value) && mentions(&q->value, axis)) return true;
    }
    return false;
}

static void of_size(const struct affine_scope *s, int axis, struct poly *out) {
    int64_t extent = s->g->kernel->axes[axis].extent;
    if (extent >= 0) poly_number(out, extent);
    else poly_atom(out, size_atom(s, axis));
}

/* An equation's side as a polynomial: sums and products of extents. */
static bool of_equation(const struct affine_scope *s, const struct fx_expr *e, struct poly *out) {
    struct poly stack[4];
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        enum fx_term_op op = e->terms[i].op;
        if (op == FX_T_EXTENT || op == FX_T_CONST) {
            if (n == 4) return false;
            if (op == FX_T_CONST) poly_number(&stack[n++], e->terms[i].v);
            else of_size(s, (int)e->terms[i].v, &stack[n++]);
            continue;
        }
        if (n < 2 || (op != FX_T_ADD && op != FX_T_SUB && op != FX_T_MUL)) return false;
        n--;
        if (op == FX_T_MUL) poly_multiply(out, &stack[n - 1], &stack[n]), poly_copy(&stack[n - 1], out);
        else poly_add(&stack[n - 1], &stack[n], op == FX_T_ADD ? 1 : -1);
    }
    if (n == 1) poly_copy(out, &stack[0]);
    return n == 1;
}

static bool substitute_size(const struct affine_scope *s, const struct equation *q, struct poly *p) {
    struct poly value, out;
    if (s->g->kernel->axes[q->axis].extent >= 0 || !poly_has(p, n_axes(s) + q->axis) || mentions(&q->value, q->axis))
        return false;
    if (!of_equation(s, &q->value, &value)) return false;
    poly_substitute(&out, p, size_atom(s, q->axis), &value);
    poly_copy(p, &out);
    return true;
}

static const int *find_same_sizes(const struct affine_scope *s) {
    const struct kernel *k = s->g->kernel;
    int *same = NEW_ARRAY(&s->g->cx->arena, int, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) same[i] = i;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (int i = 0; i < k->n_equations; i++) {
            const struct equation *q = &k->equations[i];
            if (q->value.n != 1 || q->value.terms[0].op != FX_T_EXTENT) continue;
            int *a = &same[q->axis], *b = &same[q->value.terms[0].v];
            has_changed |= *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
    return same;
}

/* One name for what equations call the same extent; a number for one that they fix. */
static void rename_sizes(const struct affine_scope *s, struct poly *p) {
    const struct kernel *k = s->g->kernel;
    struct poly to, out;
    for (int i = 0; i < k->n_equations; i++)
        if (k->equations[i].value.n == 1 && k->equations[i].value.terms[0].op != FX_T_EXTENT)
            substitute_size(s, &k->equations[i], p);
    if (!s->atoms->same_size) s->atoms->same_size = find_same_sizes(s);
    for (int axis = 0; axis < k->n_axes; axis++) {
        if (s->atoms->same_size[axis] == axis || !poly_has(p, n_axes(s) + axis)) continue;
        of_size(s, s->atoms->same_size[axis], &to);
        poly_substitute(&out, p, n_axes(s) + axis, &to);
        poly_copy(p, &out);
    }
}

/* p with every extent that an equation determines replaced by what it says. Once: equations of equations are left. */
static void substitute_sizes(const struct affine_scope *s, struct poly *p) {
    const struct kernel *k = s->g->kernel;
    rename_sizes(s, p);
    for (int i = 0; i < k->n_equations; i++)
        if (k->equations[i].value.n > 1 && substitute_size(s, &k->equations[i], p)) rename_sizes(s, p);
}

bool axes_are_product(struct graph *g, const struct node *reader, int whole, const int *parts, int n) {
    struct affine_scope s = affine_scope(g, reader);
    struct poly rest, product, size, t;
    of_size(&s, whole, &rest);
    poly_number(&product, 1);
    for (int i = 0; i < n; i++) {
        of_size(&s, parts[i], &size);
        poly_multiply(&t, &product, &size);
        poly_copy(&product, &t);
    }
    poly_add(&rest, &product, -1);
    for (int i = 0; i < 4 && !is_zero(&rest); i++) substitute_sizes(&s, &rest); /* equations of equations */
    return is_zero(&rest);
}

bool axes_same_extent(const struct kernel *k, int a, int b) {
    if (a == b || (k->axes[a].extent >= 0 && k->axes[a].extent == k->axes[b].extent)) return true;
    for (int i = 0; i < k->n_equations; i++) {
        const struct equation *q = &k->equations[i];
        if (q->value.n != 1 || q->value.terms[0].op != FX_T_EXTENT) continue;
        int other = (int)q->value.terms[0].v;
        if ((q->axis == a && other == b) || (q->axis == b && other == a)) return true;
    }
    return false;
}

/* ---- ranges ---- */

static void parse(const struct affine_scope *s, const struct node *n, struct poly *out, int depth);
static bool divides(const struct affine_scope *s, const struct poly *d);
static void upper(const struct affine_scope *s, const struct poly *p, struct poly *out, int depth);

static bool is_small(const struct poly *p) {
    for (int i = 0; i < p->n && !p->is_lost; i++)
        if (p->t[i].coefficient > MAX_COEFFICIENT || p->t[i].coefficient < -MAX_COEFFICIENT) return false;
    return !p->is_lost;
}

static bool is_nonnegative(const struct affine_scope *s, const struct poly *p, int depth);

/* Whether an atom is never negative. */
static bool atom_is_nonnegative(const struct affine_scope *s, const struct node *a, int depth) {
    struct poly n, d;
    if (a->kind == N_INDEX || a->kind == N_SIZE) return true;
    if (depth > 4 || a->kind != N_OP || (a->op != O_FLOORDIV && a->op != O_MOD)) return false;
    parse(s, a->args[1], &d, depth + 1);
    if (!is_nonnegative(s, &d, depth + 1)) return false; /* by 0 gives 0 */
    if (a->op == O_MOD) return true;
    parse(s, a->args[0], &n, depth + 1);
    return is_nonnegative(s, &n, depth + 1);
}

static bool is_nonnegative(const struct affine_scope *s, const struct poly *p, int depth) {
    if (!is_small(p)) return false;
    for (int i = 0; i < p->n; i++) {
        if (p->t[i].coefficient < 0) return false;
        for (int j = 0; j < p->t[i].n; j++)
            if (!atom_is_nonnegative(s, node_of(s, p->t[i].atoms[j]), depth)) return false;
    }
    return true;
}

/* p >= 0, where extents of axes that have an element are at least 1: each is written 1 + e,
 * and its atom stands for e. */
static bool is_never_negative(const struct affine_scope *s, const struct poly *p, int depth) {
    struct poly q, above, shifted;
    poly_copy(&q, p);
    for (int axis = 0; axis < n_axes(s) && !p->is_lost; axis++) {
        int atom = n_axes(s) + axis;
        if (!poly_has(p, atom) || !is_populated(s, axis)) continue;
        poly_atom(&above, atom);
        poly_add_number(&above, 1);
        poly_substitute(&shifted, &q, atom, &above);
        poly_copy(&q, &shifted);
    }
    return is_nonnegative(s, &q, depth);
}

/* The largest value of an atom, as a polynomial over extents; lost where none is seen. An index of a label fixed at 0
 * has none: in its place a number would stand, which is read for elements that are there. */
static void atom_upper(const struct affine_scope *s, int atom, struct poly *out, int depth) {
    const struct node *a = node_of(s, atom);
    struct poly n, d, top;
    if (a->kind == N_SIZE) {
        poly_atom(out, atom);
        return;
    }
    if (a->kind == N_INDEX) {
        of_size(s, a->axis, out);
        out->is_lost |= s->g->kernel->axes[a->axis].extent == 0;
        poly_add_number(out, -1);
        return;
    }
    poly_number(out, 0);
    out->is_lost = depth > 4 || a->kind != N_OP || (a->op != O_FLOORDIV && a->op != O_MOD);
    if (out->is_lost) return;
    parse(s, a->args[1], &d, depth + 1);
    out->is_lost = !divides(s, &d);
    if (out->is_lost) return;
    if (a->op == O_MOD) {
        poly_copy(out, &d);
        poly_add_number(out, -1);
        return;
    }
    /* n <= k * d - 1 gives n // d <= k - 1. */
    parse(s, a->args[0], &n, depth + 1);
    upper(s, &n, &top, depth + 1);
    poly_add_number(&top, 1);
    substitute_sizes(s, &top);
    poly_divide(&top, &d.t[0], out, &n);
    out->is_lost |= !is_zero(&n);
    poly_add_number(out, -1);
}

/* The largest value of p, all of whose terms must be 0 or more, or constant; lost where none is seen. */
static void upper(const struct affine_scope *s, const struct poly *p, struct poly *out, int depth) {
    poly_number(out, 0);
    out->is_lost = depth > 4 || !is_small(p);
    for (int i = 0; i < p->n && !out->is_lost; i++) {
        const struct poly_term *t = &p->t[i];
        struct poly bound, top, by;
        poly_number(&bound, t->coefficient);
        bound.is_lost = t->n && t->coefficient < 0;
        for (int j = 0; j < t->n && !bound.is_lost; j++) {
            bound.is_lost = !atom_is_nonnegative(s, node_of(s, t->atoms[j]), depth);
            if (bound.is_lost) break;
            atom_upper(s, t->atoms[j], &top, depth);
            poly_multiply(&by, &bound, &top);
            poly_copy(&bound, &by);
        }
        poly_add(out, &bound, 1);
    }
}

/* p < d, and p >= 0. */
static bool is_below(const struct affine_scope *s, const struct poly *p, const struct poly *d, int depth) {
    struct poly top, room;
    if (!is_nonnegative(s, p, depth)) return false;
    upper(s, p, &top, depth);
    poly_copy(&room, d);
    poly_add(&room, &top, -1);
    poly_add_number(&room, -1);
    if (is_never_negative(s, &room, depth)) return true;
    substitute_sizes(s, &room);
    return is_never_negative(s, &room, depth);
}

/* Whether d is one product of a positive number and of extents that are not 0. */
static bool divides(const struct affine_scope *s, const struct poly *d) {
    if (d->is_lost || d->n != 1 || d->t[0].coefficient < 1 || !is_small(d)) return false;
    for (int i = 0; i < d->t[0].n; i++) {
        const struct node *atom = node_of(s, d->t[0].atoms[i]);
        if (atom->kind != N_SIZE || !is_populated(s, atom->axis)) return false;
    }
    return true;
}

/* ---- normal form ---- */

static struct node *rebuild(const struct affine_scope *s, const struct poly *p);

/* Whether n is made of indices and extents alone. */
static bool is_of_indices(const struct node *n, int depth) {
    if (n->kind == N_INDEX || n->kind == N_SIZE || n->kind == N_CONST) return true;
    if (n->kind != N_OP || depth > MAX_DEPTH) return false;
    for (int i = 0; i < n->n_args; i++)
        if (!is_of_indices(n->args[i], depth + 1)) return false;
    return true;
}

/* Whether no sum of terms of p wraps: what is no index is a 32-bit integer widened, alone in its term. 64-bit data may
 * be anything. */
static bool never_wraps(const struct affine_scope *s, const struct poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++) {
            const struct node *atom = node_of(s, p->t[i].atoms[j]);
            bool is_widened = atom->kind == N_CAST && fx_dtype_bits(atom->args[0]->dtype) <= 32 && p->t[i].n == 1;
            if (!is_widened && !is_of_indices(atom, 0)) return false;
        }
    return true;
}

/* n // d or n % d where d is positive: what d divides goes out; the rest stays below d, or keeps its division. */
static bool parse_division(const struct affine_scope *s, const struct node *n, struct poly *out, int depth) {
    struct poly p, d, rest;
    parse(s, n->args[0], &p, depth + 1);
    parse(s, n->args[1], &d, depth + 1);
    if (!divides(s, &d) || !is_small(&p) || !never_wraps(s, &p)) return false;
    bool is_mod = n->op == O_MOD;
    poly_divide(&p, &d.t[0], out, &rest); /* out is the quotient */
    if (is_below(s, &rest, &d, 0)) {
        if (is_mod) poly_copy(out, &rest);
        return true;
    }
    if (is_zero(out)) return false;
    struct node *left = build_op(s->g, n->op, rebuild(s, &rest), rebuild(s, &d), NULL, n);
    if (is_mod) poly_number(out, 0);
    if (left->kind == N_CONST) poly_add_number(out, left->integer);
    else poly_add_term(out, &(struct poly_term){.coefficient = 1, .n = 1, .atoms = {(uint16_t)atom_of(s, left)}}, 1);
    return true;
}

/* n as a polynomial; what is none becomes an atom. */
static void parse(const struct affine_scope *s, const struct node *n, struct poly *out, int depth) {
    struct poly a, b;
    poly_number(out, 0);
    out->is_lost = depth > MAX_DEPTH || n->dtype != FX_I64;
    if (out->is_lost) return;
    if (n->kind == N_CONST) poly_number(out, n->integer);
    else if (n->kind == N_SIZE) of_size(s, n->axis, out);
    else if (n->kind == N_OP && (n->op == O_ADD || n->op == O_SUB)) {
        parse(s, n->args[0], out, depth + 1);
        parse(s, n->args[1], &b, depth + 1);
        poly_add(out, &b, n->op == O_ADD ? 1 : -1);
    } else if (n->kind == N_OP && n->op == O_MUL) {
        parse(s, n->args[0], &a, depth + 1);
        parse(s, n->args[1], &b, depth + 1);
        poly_multiply(out, &a, &b);
    } else if (n->kind == N_OP && n->op == O_NEG) {
        parse(s, n->args[0], &a, depth + 1);
        poly_add(out, &a, -1);
    } else if (n->kind != N_OP || (n->op != O_FLOORDIV && n->op != O_MOD) || !parse_division(s, n, out, depth))
        poly_atom(out, atom_of(s, n));
}

/* Whether atom h is n // d: written so, or n being m // c, written m // (c * d). */
static bool is_quotient(
    const struct affine_scope *s, const struct node *h, const struct poly *n, const struct poly *d) {
    struct poly hn, hd, m, c, cd;
    if (h->kind != N_OP || h->op != O_FLOORDIV) return false;
    parse(s, h->args[0], &hn, 1);
    parse(s, h->args[1], &hd, 1);
    if (poly_equal(&hn, n) && poly_equal(&hd, d)) return true;
    if (n->n != 1 || n->t[0].n != 1 || n->t[0].coefficient != 1) return false;
    const struct node *inner = node_of(s, n->t[0].atoms[0]);
    if (inner->kind != N_OP || inner->op != O_FLOORDIV) return false;
    parse(s, inner->args[0], &m, 1);
    parse(s, inner->args[1], &c, 1);
    if (!divides(s, &c)) return false;
    poly_multiply(&cd, &c, d);
    return poly_equal(&hn, &m) && poly_equal(&hd, &cd);
}

/* The pair to term i, whose atom j is n % d: a * (n // d) * d + a * (n % d) -> a * n. */
static bool join_with(const struct affine_scope *s, struct poly *p, int i, int j) {
    const struct node *mod = node_of(s, p->t[i].atoms[j]);
    struct poly n, d, whole, factor;
    struct poly_term expected, rest = without(&p->t[i], j);
    if (mod->kind != N_OP || mod->op != O_MOD) return false;
    parse(s, mod->args[0], &n, 1);
    parse(s, mod->args[1], &d, 1);
    if (!divides(s, &d) || !poly_term_multiply(&rest, &d.t[0], &expected)) return false;
    of_term(&factor, &rest);
    poly_multiply(&whole, &factor, &n);
    for (int h = 0; h < p->n; h++)
        for (int a = 0; a < p->t[h].n; a++) {
            struct poly_term high = without(&p->t[h], a), pair[2] = {p->t[i], p->t[h]};
            if (!is_quotient(s, node_of(s, p->t[h].atoms[a]), &n, &d) || !poly_term_equal(&expected, &high)) continue;
            poly_add_term(p, &pair[0], -1);
            poly_add_term(p, &pair[1], -1);
            poly_add(p, &whole, 1);
            return !p->is_lost;
        }
    return false;
}

static bool join_pair(const struct affine_scope *s, struct poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->t[i].n; j++)
            if (join_with(s, p, i, j)) return true;
    return false;
}

/* Coefficients wrap as i64 does. */
static struct node *rebuild_term(const struct affine_scope *s, const struct poly_term *t, wide coefficient) {
    struct node *n = NULL;
    for (int i = 0; i < t->n; i++) {
        struct node *atom = s->g->nodes[node_of(s, t->atoms[i])->id];
        n = n ? build_op(s->g, O_MUL, n, atom, NULL, s->reader) : atom;
    }
    if (!n) return build_integer(s->g, FX_I64, (int64_t)(uint64_t)coefficient, s->reader);
    return coefficient == 1
               ? n
               : build_op(s->g, O_MUL, n, build_integer(s->g, FX_I64, (int64_t)(uint64_t)coefficient, s->reader), NULL,
                     s->reader);
}

/* p as nodes: by the first factor, what is subtracted after what is added, the constant last. */
static struct node *rebuild(const struct affine_scope *s, const struct poly *p) {
    struct node *n = NULL;
    int order[POLY_TERMS], n_terms = 0;
    bool has_constant = p->n && p->t[0].n == 0;
    for (int i = has_constant; i < p->n; i++) {
        int at = n_terms++;
        for (; at > 0 && p->t[i].atoms[0] < p->t[order[at - 1]].atoms[0]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int negative = 0; negative < 2; negative++)
        for (int i = 0; i < n_terms; i++) {
            const struct poly_term *t = &p->t[order[i]];
            if ((t->coefficient < 0) != (negative == 1)) continue;
            struct node *term = rebuild_term(s, t, n && negative ? -t->coefficient : t->coefficient);
            n = n ? build_op(s->g, negative ? O_SUB : O_ADD, n, term, NULL, s->reader) : term;
        }
    if (!has_constant && n) return n;
    struct node *c = build_integer(s->g, FX_I64, has_constant ? (int64_t)(uint64_t)p->t[0].coefficient : 0, s->reader);
    return n ? build_op(s->g, O_ADD, n, c, NULL, s->reader) : c;
}

/* Ops in the expression as a tree; stops counting when none is left of a limit. */
static int count_ops(const struct node *n, int depth, int left) {
    int count = n->kind == N_OP;
    if (depth > MAX_DEPTH) return left + 1;
    for (int i = 0; n->kind == N_OP && i < n->n_args && count <= left; i++)
        count += count_ops(n->args[i], depth + 1, left - count);
    return count;
}

enum { MAX_OPS = 100 }; /* of a position that is looked into */

static bool parse_whole(const struct affine_scope *s, const struct node *n, struct poly *out) {
    if (count_ops(n, 0, MAX_OPS) > MAX_OPS) return false;
    parse(s, n, out, 0);
    return !out->is_lost;
}

struct node *affine_simplify(const struct affine_scope *s, struct node *n) {
    struct poly p;
    int before = count_ops(n, 0, MAX_OPS);
    if (before == 0 || !parse_whole(s, n, &p)) return n;
    for (int i = 0; i < POLY_TERMS && join_pair(s, &p); i++) {}
    if (p.is_lost) return n;
    struct node *simpler = rebuild(s, &p);
    return count_ops(simpler, 0, MAX_OPS) < before ? simpler : n;
}

bool affine_is_inside(const struct affine_scope *s, const struct node *n, int axis) {
    struct poly p, d;
    of_size(s, axis, &d);
    return parse_whole(s, n, &p) && is_below(s, &p, &d, 0);
}

bool affine_split(
    const struct affine_scope *s, const struct node *n, int axis, struct node **within, struct node **block) {
    struct poly p, d, whole, rest;
    of_size(s, axis, &d);
    if (!parse_whole(s, n, &p)) return false;
    rename_sizes(s, &p), rename_sizes(s, &d);
    if (!divides(s, &d) || !is_small(&p) || !never_wraps(s, &p)) return false;
    poly_divide(&p, &d.t[0], &whole, &rest);
    if (whole.is_lost || is_zero(&whole) || !is_below(s, &rest, &d, 0)) return false;
    *within = rebuild(s, &rest), *block = rebuild(s, &whole);
    return true;
}

/* The only running index among the atoms of a term, or -1; -2 where there are several or something else runs. */
static int index_of(const struct affine_scope *s, const struct poly_term *t) {
    int axis = -1;
    for (int i = 0; i < t->n; i++) {
        const struct node *atom = node_of(s, t->atoms[i]);
        if (atom->n_axes == 0) continue;
        if (atom->kind != N_INDEX || axis >= 0) return -2;
        axis = atom->axis;
    }
    return axis;
}

int affine_recovers(const struct affine_scope *s, const struct node *n, int *axes) {
    struct poly p, inner, step;
    const struct poly_term *terms[2];
    int n_found = 0;
    if (!parse_whole(s, n, &p) || !is_small(&p)) return -1;
    for (int i = 0; i < p.n; i++) {
        int axis = index_of(s, &p.t[i]);
        if (axis == -1) continue;
        if (axis == -2 || n_found == 2) return -1;
        terms[n_found] = &p.t[i], axes[n_found++] = axis;
    }
    if (n_found < 2) { /* its step must not be 0 */
        if (n_found == 1 && terms[0]->n > 1) return -1;
        return n_found;
    }
    for (int low = 0; low < 2; low++) { /* idx(A) * d + idx(B), 0 <= idx(B) < d */
        const struct poly_term *high = terms[1 - low];
        int at = -1;
        for (int i = 0; i < high->n; i++)
            if (node_of(s, high->atoms[i])->kind == N_INDEX) at = i;
        if (terms[low]->coefficient != 1 || terms[low]->n != 1 || at < 0) continue;
        struct poly_term rest = without(high, at);
        of_term(&step, &rest);
        poly_atom(&inner, terms[low]->atoms[0]);
        if (is_below(s, &inner, &step, 0)) return 2;
    }
    return -1;
}
