/* Positions as polynomials: normal form, floor division, ranges.
 *
 * Sums and products of i64 wrap, and so do polynomials over them: those steps are exact. Division and ranges assume that no
 * position overflows: each term of what is divided is below the number of elements that its indices run over, and a kernel of
 * 2^62 elements runs nowhere (extents are at most 2^40, tensors of 2^48 elements). Coefficients are kept below 2^20 there. */
#include "passes/affine.h"

#include <string.h>

#include "passes/build.h"

static const int64_t MAX_COEFFICIENT = 1 << 20;

/* ---- equality of atoms ---- */

static bool same_atom(const struct node *a, const struct node *b, int depth) {
    if (a == b) return true;
    if (depth > AFFINE_DEPTH || a->kind != b->kind || a->dtype != b->dtype) return false;
    if (a->kind == N_INDEX || a->kind == N_SIZE) return a->axis == b->axis;
    if (a->kind == N_CONST) return fx_is_integer(a->dtype) && a->integer == b->integer;
    if (a->kind != N_OP || a->op != b->op) return false;
    for (int i = 0; i < a->n_args; i++)
        if (!same_atom(a->args[i], b->args[i], depth + 1)) return false;
    return true;
}

/* A fixed order, so that equal products look equal: indices by axis, then extents, then the rest by id. */
static bool stands_before(const struct node *a, const struct node *b) {
    int ka = a->kind == N_INDEX ? 0 : a->kind == N_SIZE ? 1 : 2, kb = b->kind == N_INDEX ? 0 : b->kind == N_SIZE ? 1 : 2;
    if (ka != kb) return ka < kb;
    return ka < 2 ? a->axis < b->axis : a->id < b->id;
}

static int find_atom(const struct affine_term *t, const struct node *atom) {
    for (int i = 0; i < t->n_atoms; i++)
        if (same_atom(t->atoms[i], atom, 0)) return i;
    return -1;
}

static void drop_atom(struct affine_term *t, int i) {
    memmove(&t->atoms[i], &t->atoms[i + 1], (size_t)(t->n_atoms - i - 1) * sizeof *t->atoms);
    t->n_atoms--;
}

/* t / by, by taking away atoms: false where `by` has one that t lacks. Coefficients are left alone. */
static bool take_atoms(struct affine_term *t, const struct affine_term *by) {
    for (int i = 0; i < by->n_atoms; i++) {
        int at = find_atom(t, by->atoms[i]);
        if (at < 0) return false;
        drop_atom(t, at);
    }
    return true;
}

static bool same_atoms(const struct affine_term *a, const struct affine_term *b) {
    struct affine_term left = *a;
    return a->n_atoms == b->n_atoms && take_atoms(&left, b);
}

/* ---- sums and products ---- */

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static bool add_term(struct affine *p, const struct affine_term *t) {
    for (int i = 0; i < p->n_terms; i++) {
        if (!same_atoms(&p->terms[i], t)) continue;
        p->terms[i].coefficient = wrap_add(p->terms[i].coefficient, t->coefficient);
        if (!p->terms[i].coefficient) p->terms[i] = p->terms[--p->n_terms];
        return true;
    }
    if (!t->coefficient) return true;
    if (p->n_terms == AFFINE_TERMS) return false;
    p->terms[p->n_terms++] = *t;
    return true;
}

static bool add(struct affine *p, const struct affine *q, int64_t times) {
    for (int i = 0; i < q->n_terms; i++) {
        struct affine_term t = q->terms[i];
        t.coefficient = wrap_mul(t.coefficient, times);
        if (!add_term(p, &t)) return false;
    }
    return true;
}

static bool times_atom(struct affine_term *t, const struct node *atom) {
    int i = t->n_atoms;
    if (i == AFFINE_ATOMS) return false;
    for (; i > 0 && stands_before(atom, t->atoms[i - 1]); i--) t->atoms[i] = t->atoms[i - 1];
    t->atoms[i] = atom;
    t->n_atoms++;
    return true;
}

static bool times_term(struct affine_term *t, const struct affine_term *by) {
    t->coefficient = wrap_mul(t->coefficient, by->coefficient);
    for (int i = 0; i < by->n_atoms; i++)
        if (!times_atom(t, by->atoms[i])) return false;
    return true;
}

static bool multiply(struct affine *out, const struct affine *a, const struct affine *b) {
    *out = (struct affine){0};
    for (int i = 0; i < a->n_terms; i++)
        for (int j = 0; j < b->n_terms; j++) {
            struct affine_term t = a->terms[i];
            if (!times_term(&t, &b->terms[j]) || !add_term(out, &t)) return false;
        }
    return true;
}

static struct affine constant(int64_t v) {
    return (struct affine){.n_terms = v != 0, .terms = {{.coefficient = v}}};
}

static struct affine of_atom(const struct node *n) {
    return (struct affine){.n_terms = 1, .terms = {{.coefficient = 1, .n_atoms = 1, .atoms = {n}}}};
}

/* ---- what is known of extents ---- */

/* Whether the expression is a product or quotient, which is 0 when one of its extents is: then none of them is 0 where it is not. */
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

struct affine_scope affine_scope(struct graph *g, const struct node *reader) {
    return (struct affine_scope){g, reader, NEW_ARRAY(&g->cx->arena, struct node *, g->kernel->n_axes + 1)};
}

static const struct node *size_atom(const struct affine_scope *s, int axis) {
    if (!s->sizes[axis]) s->sizes[axis] = build_size(s->g, axis, s->reader);
    return s->sizes[axis];
}

static struct affine of_size(const struct affine_scope *s, int axis) {
    int64_t extent = s->g->kernel->axes[axis].extent;
    return extent >= 0 ? constant(extent) : of_atom(size_atom(s, axis));
}

/* An equation's side as a polynomial: sums and products of extents. */
static bool of_equation(const struct affine_scope *s, const struct fx_expr *e, struct affine *out) {
    struct affine stack[4], t;
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        enum fx_term_op op = e->terms[i].op;
        if (op == FX_T_EXTENT || op == FX_T_CONST) {
            if (n == 4) return false;
            stack[n++] = op == FX_T_CONST ? constant(e->terms[i].v) : of_size(s, (int)e->terms[i].v);
            continue;
        }
        if (n < 2 || (op != FX_T_ADD && op != FX_T_SUB && op != FX_T_MUL)) return false;
        n--;
        if (op == FX_T_MUL) {
            if (!multiply(&t, &stack[n - 1], &stack[n])) return false;
            stack[n - 1] = t;
        } else if (!add(&stack[n - 1], &stack[n], op == FX_T_ADD ? 1 : -1)) return false;
    }
    *out = stack[0];
    return n == 1;
}

/* p with every extent that an equation determines replaced by what it says. Once: equations of equations are left. */
static bool substitute_sizes(const struct affine_scope *s, struct affine *p) {
    const struct kernel *k = s->g->kernel;
    for (int i = 0; i < k->n_equations; i++) {
        const struct equation *q = &k->equations[i];
        struct affine value, by, out = {0};
        if (k->axes[q->axis].extent >= 0 || mentions(&q->value, q->axis) || !of_equation(s, &q->value, &value)) continue;
        const struct node *atom = size_atom(s, q->axis);
        for (int t = 0; t < p->n_terms; t++) {
            struct affine one = {.n_terms = 1, .terms = {p->terms[t]}};
            for (int at; (at = find_atom(&one.terms[0], atom)) >= 0 && one.n_terms == 1;) {
                drop_atom(&one.terms[0], at);
                if (!multiply(&by, &one, &value)) return false;
                one = by;
            }
            if (!add(&out, &one, 1)) return false;
        }
        *p = out;
    }
    return true;
}

bool axes_are_product(struct graph *g, const struct node *reader, int whole, const int *parts, int n) {
    struct affine_scope s = affine_scope(g, reader);
    struct affine rest = of_size(&s, whole), product = constant(1), t;
    for (int i = 0; i < n; i++) {
        struct affine size = of_size(&s, parts[i]);
        if (!multiply(&t, &product, &size)) return false;
        product = t;
    }
    if (!add(&rest, &product, -1)) return false;
    for (int i = 0; i < 4 && rest.n_terms; i++) /* equations of equations */
        if (!substitute_sizes(&s, &rest)) return false;
    return rest.n_terms == 0;
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

static bool parse(const struct affine_scope *s, const struct node *n, struct affine *out, int depth);
static bool divides(const struct affine_scope *s, const struct affine *d);
static bool upper(const struct affine_scope *s, const struct affine *p, struct affine *out, int depth);

static bool is_small(const struct affine *p) {
    for (int i = 0; i < p->n_terms; i++)
        if (p->terms[i].coefficient > MAX_COEFFICIENT || p->terms[i].coefficient < -MAX_COEFFICIENT) return false;
    return true;
}

static bool is_nonnegative(const struct affine_scope *s, const struct affine *p, int depth);

/* Whether an atom is never negative. */
static bool atom_is_nonnegative(const struct affine_scope *s, const struct node *a, int depth) {
    struct affine n, d;
    if (a->kind == N_INDEX || a->kind == N_SIZE) return true;
    if (depth > 4 || a->kind != N_OP || (a->op != O_FLOORDIV && a->op != O_MOD)) return false;
    if (!parse(s, a->args[1], &d, depth + 1) || !is_nonnegative(s, &d, depth + 1)) return false; /* by 0 gives 0 */
    return a->op == O_MOD || (parse(s, a->args[0], &n, depth + 1) && is_nonnegative(s, &n, depth + 1));
}

static bool is_nonnegative(const struct affine_scope *s, const struct affine *p, int depth) {
    if (!is_small(p)) return false;
    for (int i = 0; i < p->n_terms; i++) {
        if (p->terms[i].coefficient < 0) return false;
        for (int j = 0; j < p->terms[i].n_atoms; j++)
            if (!atom_is_nonnegative(s, p->terms[i].atoms[j], depth)) return false;
    }
    return true;
}

/* p with the extent `atom` written 1 + e; the atom then stands for e. */
static bool shift_size(const struct node *atom, struct affine *p) {
    struct affine shifted = of_atom(atom), one = constant(1), out = {0}, by;
    if (!add(&shifted, &one, 1)) return false;
    for (int t = 0; t < p->n_terms; t++) {
        struct affine rest = {.n_terms = 1, .terms = {p->terms[t]}};
        int at = find_atom(&rest.terms[0], atom);
        if (at >= 0) {
            drop_atom(&rest.terms[0], at);
            if (!multiply(&by, &rest, &shifted)) return false;
            rest = by;
        }
        if (!add(&out, &rest, 1)) return false;
    }
    *p = out;
    return true;
}

/* p >= 0, where extents of axes that have an element are at least 1. */
static bool is_never_negative(const struct affine_scope *s, const struct affine *p, int depth) {
    struct affine q = *p;
    const struct node *sizes[AFFINE_TERMS];
    int n_sizes = 0;
    for (int t = 0; t < p->n_terms; t++)
        for (int i = 0; i < p->terms[t].n_atoms; i++) {
            const struct node *atom = p->terms[t].atoms[i];
            bool is_new = atom->kind == N_SIZE && n_sizes < AFFINE_TERMS && is_populated(s, atom->axis);
            for (int k = 0; k < n_sizes && is_new; k++) is_new = sizes[k]->axis != atom->axis;
            if (is_new) sizes[n_sizes++] = atom;
        }
    for (int i = 0; i < n_sizes; i++)
        if (!shift_size(sizes[i], &q)) return false;
    return is_nonnegative(s, &q, depth);
}

/* The largest value of an atom, as a polynomial over extents. An index of a label fixed at 0 has none: in its place a number would stand, which is read for elements that are there. */
static bool atom_upper(const struct affine_scope *s, const struct node *a, struct affine *out, int depth) {
    struct affine n, d, one = constant(1), top;
    if (a->kind == N_SIZE) return *out = of_atom(a), true;
    if (a->kind == N_INDEX) return *out = of_size(s, a->axis), s->g->kernel->axes[a->axis].extent != 0 && add(out, &one, -1);
    if (depth > 4 || a->kind != N_OP || (a->op != O_FLOORDIV && a->op != O_MOD)) return false;
    if (!parse(s, a->args[1], &d, depth + 1) || !divides(s, &d)) return false;
    if (a->op == O_MOD) return *out = d, add(out, &one, -1);
    /* n <= k * d - 1 gives n // d <= k - 1. */
    if (!parse(s, a->args[0], &n, depth + 1) || !upper(s, &n, &top, depth + 1) || !add(&top, &one, 1) || !substitute_sizes(s, &top)) return false;
    *out = constant(-1);
    for (int i = 0; i < top.n_terms; i++) {
        struct affine_term t = top.terms[i];
        if (t.coefficient % d.terms[0].coefficient || !take_atoms(&t, &d.terms[0])) return false;
        t.coefficient /= d.terms[0].coefficient;
        if (!add_term(out, &t)) return false;
    }
    return true;
}

/* The largest value of p, all of whose terms must be 0 or more, or constant. */
static bool upper(const struct affine_scope *s, const struct affine *p, struct affine *out, int depth) {
    *out = (struct affine){0};
    if (depth > 4 || !is_small(p)) return false;
    for (int i = 0; i < p->n_terms; i++) {
        const struct affine_term *t = &p->terms[i];
        struct affine bound = constant(t->coefficient), top, by;
        if (t->n_atoms && t->coefficient < 0) return false;
        for (int j = 0; j < t->n_atoms; j++) {
            if (!atom_is_nonnegative(s, t->atoms[j], depth) || !atom_upper(s, t->atoms[j], &top, depth) || !multiply(&by, &bound, &top)) return false;
            bound = by;
        }
        if (!add(out, &bound, 1)) return false;
    }
    return true;
}

/* p < d, and p >= 0. */
static bool is_below(const struct affine_scope *s, const struct affine *p, const struct affine *d, int depth) {
    struct affine top, room = *d, one = constant(1);
    if (!is_nonnegative(s, p, depth) || !upper(s, p, &top, depth) || !add(&room, &top, -1) || !add(&room, &one, -1)) return false;
    if (is_never_negative(s, &room, depth)) return true;
    return substitute_sizes(s, &room) && is_never_negative(s, &room, depth);
}

/* Whether d is one product of a positive number and of extents that are not 0. */
static bool divides(const struct affine_scope *s, const struct affine *d) {
    if (d->n_terms != 1 || d->terms[0].coefficient < 1 || !is_small(d)) return false;
    for (int i = 0; i < d->terms[0].n_atoms; i++)
        if (d->terms[0].atoms[i]->kind != N_SIZE || !is_populated(s, d->terms[0].atoms[i]->axis)) return false;
    return true;
}

/* ---- normal form ---- */

/* p = quotient * d + rest, termwise. */
static bool split(const struct affine *p, const struct affine_term *d, struct affine *quotient, struct affine *rest) {
    *quotient = *rest = (struct affine){0};
    for (int i = 0; i < p->n_terms; i++) {
        struct affine_term t = p->terms[i];
        bool fits = t.coefficient % d->coefficient == 0 && take_atoms(&t, d);
        if (fits) t.coefficient /= d->coefficient;
        if (!add_term(fits ? quotient : rest, fits ? &t : &p->terms[i])) return false;
    }
    return true;
}

static struct node *rebuild(const struct affine_scope *s, const struct affine *p);

/* Whether n is made of indices and extents alone. */
static bool is_of_indices(const struct node *n, int depth) {
    if (n->kind == N_INDEX || n->kind == N_SIZE || n->kind == N_CONST) return true;
    if (n->kind != N_OP || depth > AFFINE_DEPTH) return false;
    for (int i = 0; i < n->n_args; i++)
        if (!is_of_indices(n->args[i], depth + 1)) return false;
    return true;
}

/* Whether no sum of terms of p wraps: what is no index is a 32-bit integer widened, alone in its term. 64-bit data may be anything. */
static bool never_wraps(const struct affine *p) {
    for (int i = 0; i < p->n_terms; i++)
        for (int j = 0; j < p->terms[i].n_atoms; j++) {
            const struct node *atom = p->terms[i].atoms[j];
            bool is_widened = atom->kind == N_CAST && fx_dtype_bits(atom->args[0]->dtype) <= 32 && p->terms[i].n_atoms == 1;
            if (!is_widened && !is_of_indices(atom, 0)) return false;
        }
    return true;
}

/* n // d or n % d where d is positive: what d divides goes out; the rest stays below d, or keeps its division. */
static bool parse_division(const struct affine_scope *s, const struct node *n, struct affine *out, int depth) {
    struct affine p, d, quotient, rest;
    if (!parse(s, n->args[0], &p, depth + 1) || !parse(s, n->args[1], &d, depth + 1) || !divides(s, &d) || !is_small(&p) || !never_wraps(&p)) return false;
    if (!split(&p, &d.terms[0], &quotient, &rest)) return false;
    bool is_mod = n->op == O_MOD;
    if (is_below(s, &rest, &d, 0)) return *out = is_mod ? rest : quotient, true;
    if (!quotient.n_terms) return false;
    struct node *left = build_op(s->g, n->op, rebuild(s, &rest), rebuild(s, &d), NULL, n);
    *out = left->kind == N_CONST ? constant(left->integer) : of_atom(left);
    return is_mod || add(out, &quotient, 1);
}

/* n as a polynomial; what is none becomes an atom. */
static bool parse(const struct affine_scope *s, const struct node *n, struct affine *out, int depth) {
    struct affine a, b;
    if (depth > AFFINE_DEPTH || n->dtype != FX_I64) return false;
    if (n->kind == N_CONST) return *out = constant(n->integer), true;
    if (n->kind == N_SIZE) return *out = of_size(s, n->axis), true;
    if (n->kind == N_OP && (n->op == O_ADD || n->op == O_SUB || n->op == O_MUL)) {
        if (!parse(s, n->args[0], &a, depth + 1) || !parse(s, n->args[1], &b, depth + 1)) return false;
        if (n->op == O_MUL) return multiply(out, &a, &b);
        *out = a;
        return add(out, &b, n->op == O_ADD ? 1 : -1);
    }
    if (n->kind == N_OP && n->op == O_NEG) return *out = (struct affine){0}, parse(s, n->args[0], &a, depth + 1) && add(out, &a, -1);
    if (n->kind == N_OP && (n->op == O_FLOORDIV || n->op == O_MOD) && parse_division(s, n, out, depth)) return true;
    *out = of_atom(n);
    return true;
}

static bool is_equal(const struct affine *a, const struct affine *b) {
    struct affine difference = *a;
    return add(&difference, b, -1) && difference.n_terms == 0;
}

/* Whether atom h is n // d: written so, or n being m // c, written m // (c * d). */
static bool is_quotient(const struct affine_scope *s, const struct node *h, const struct affine *n, const struct affine *d) {
    struct affine hn, hd, m, c, cd;
    if (h->kind != N_OP || h->op != O_FLOORDIV || !parse(s, h->args[0], &hn, 1) || !parse(s, h->args[1], &hd, 1)) return false;
    if (is_equal(&hn, n) && is_equal(&hd, d)) return true;
    if (n->n_terms != 1 || n->terms[0].n_atoms != 1 || n->terms[0].coefficient != 1) return false;
    const struct node *inner = n->terms[0].atoms[0];
    if (inner->kind != N_OP || inner->op != O_FLOORDIV || !parse(s, inner->args[0], &m, 1) || !parse(s, inner->args[1], &c, 1)) return false;
    return divides(s, &c) && multiply(&cd, &c, d) && is_equal(&hn, &m) && is_equal(&hd, &cd);
}

/* Replaces terms i and h of p by q; false where that has too many. */
static bool replace_pair(struct affine *p, int i, int h, const struct affine *q) {
    struct affine out = {0};
    for (int t = 0; t < p->n_terms; t++)
        if (t != i && t != h && !add_term(&out, &p->terms[t])) return false;
    if (!add(&out, q, 1)) return false;
    *p = out;
    return true;
}

/* The pair to term i, whose atom j is n % d: a * (n // d) * d + a * (n % d) -> a * n. */
static bool join_with(const struct affine_scope *s, struct affine *p, int i, int j) {
    const struct node *mod = p->terms[i].atoms[j];
    struct affine n, d, whole;
    if (mod->kind != N_OP || mod->op != O_MOD || !parse(s, mod->args[0], &n, 1) || !parse(s, mod->args[1], &d, 1) || !divides(s, &d)) return false;
    struct affine factor = {.n_terms = 1, .terms = {p->terms[i]}};
    drop_atom(&factor.terms[0], j);
    struct affine_term expected = factor.terms[0];
    if (!times_term(&expected, &d.terms[0]) || !multiply(&whole, &factor, &n)) return false;
    for (int h = 0; h < p->n_terms; h++)
        for (int a = 0; a < p->terms[h].n_atoms; a++) {
            struct affine_term high = p->terms[h];
            if (!is_quotient(s, high.atoms[a], &n, &d)) continue;
            drop_atom(&high, a);
            if (expected.coefficient == high.coefficient && same_atoms(&expected, &high)) return replace_pair(p, i, h, &whole);
        }
    return false;
}

static bool join_pair(const struct affine_scope *s, struct affine *p) {
    for (int i = 0; i < p->n_terms; i++)
        for (int j = 0; j < p->terms[i].n_atoms; j++)
            if (join_with(s, p, i, j)) return true;
    return false;
}

static struct node *rebuild_term(const struct affine_scope *s, const struct affine_term *t, int64_t coefficient) {
    struct node *n = NULL;
    for (int i = 0; i < t->n_atoms; i++) {
        struct node *atom = s->g->nodes[t->atoms[i]->id];
        n = n ? build_op(s->g, O_MUL, n, atom, NULL, s->reader) : atom;
    }
    if (!n) return build_integer(s->g, FX_I64, coefficient, s->reader);
    return coefficient == 1 ? n : build_op(s->g, O_MUL, n, build_integer(s->g, FX_I64, coefficient, s->reader), NULL, s->reader);
}

/* p as nodes: indices in the order of their axes, what is subtracted after what is added, the constant last. */
static struct node *rebuild(const struct affine_scope *s, const struct affine *p) {
    struct node *n = NULL;
    int order[AFFINE_TERMS];
    for (int i = 0; i < p->n_terms; i++) {
        int at = i;
        const struct affine_term *t = &p->terms[i];
        for (; at > 0; at--) {
            const struct affine_term *u = &p->terms[order[at - 1]];
            bool is_later = !u->n_atoms ? t->n_atoms > 0 : t->n_atoms && stands_before(t->atoms[0], u->atoms[0]);
            if (!is_later) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int negative = 0; negative < 2; negative++)
        for (int i = 0; i < p->n_terms; i++) {
            const struct affine_term *t = &p->terms[order[i]];
            if (!t->n_atoms || (t->coefficient < 0) != (negative == 1)) continue;
            struct node *term = rebuild_term(s, t, n && negative ? wrap_mul(t->coefficient, -1) : t->coefficient);
            n = n ? build_op(s->g, negative ? O_SUB : O_ADD, n, term, NULL, s->reader) : term;
        }
    for (int i = 0; i < p->n_terms; i++) {
        if (p->terms[i].n_atoms) continue;
        struct node *c = build_integer(s->g, FX_I64, p->terms[i].coefficient, s->reader);
        n = n ? build_op(s->g, O_ADD, n, c, NULL, s->reader) : c;
    }
    return n ? n : build_integer(s->g, FX_I64, 0, s->reader);
}

/* Ops in the expression as a tree; stops counting when none is left of a limit. */
static int count_ops(const struct node *n, int depth, int left) {
    int count = n->kind == N_OP;
    if (depth > AFFINE_DEPTH) return left + 1;
    for (int i = 0; n->kind == N_OP && i < n->n_args && count <= left; i++) count += count_ops(n->args[i], depth + 1, left - count);
    return count;
}

enum { MAX_OPS = 100 }; /* of a position that is looked into */

static bool parse_whole(const struct affine_scope *s, const struct node *n, struct affine *out) {
    return count_ops(n, 0, MAX_OPS) <= MAX_OPS && parse(s, n, out, 0);
}

struct node *affine_simplify(const struct affine_scope *s, struct node *n) {
    struct affine p;
    int before = count_ops(n, 0, MAX_OPS);
    if (before == 0 || !parse_whole(s, n, &p)) return n;
    for (int i = 0; i < AFFINE_TERMS && join_pair(s, &p); i++) {}
    struct node *simpler = rebuild(s, &p);
    return count_ops(simpler, 0, MAX_OPS) < before ? simpler : n;
}

bool affine_is_inside(const struct affine_scope *s, const struct node *n, int axis) {
    struct affine p, d = of_size(s, axis);
    return parse_whole(s, n, &p) && is_below(s, &p, &d, 0);
}

/* The only running index among the atoms of a term, or -1; -2 where there are several or something else runs. */
static int index_of(const struct affine_term *t) {
    int axis = -1;
    for (int i = 0; i < t->n_atoms; i++) {
        if (t->atoms[i]->n_axes == 0) continue;
        if (t->atoms[i]->kind != N_INDEX || axis >= 0) return -2;
        axis = t->atoms[i]->axis;
    }
    return axis;
}

int affine_recovers(const struct affine_scope *s, const struct node *n, int *axes) {
    struct affine p;
    struct affine_term *terms[2];
    int n_found = 0;
    if (!parse_whole(s, n, &p) || !is_small(&p)) return -1;
    for (int i = 0; i < p.n_terms; i++) {
        int axis = index_of(&p.terms[i]);
        if (axis == -1) continue;
        if (axis == -2 || n_found == 2) return -1;
        terms[n_found] = &p.terms[i], axes[n_found++] = axis;
    }
    if (n_found < 2) { /* its step must not be 0 */
        if (n_found == 1 && terms[0]->n_atoms > 1) return -1;
        return n_found;
    }
    for (int low = 0; low < 2; low++) { /* idx(A) * d + idx(B), 0 <= idx(B) < d */
        struct affine inner = of_atom(terms[low]->atoms[0]), step = {.n_terms = 1, .terms = {*terms[1 - low]}};
        int at = -1;
        for (int i = 0; i < step.terms[0].n_atoms; i++)
            if (step.terms[0].atoms[i]->kind == N_INDEX) at = i;
        if (terms[low]->coefficient != 1 || terms[low]->n_atoms != 1 || at < 0) continue;
        drop_atom(&step.terms[0], at);
        if (is_below(s, &inner, &step, 0)) return 2;
    }
    return -1;
}
