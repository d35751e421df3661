/* The memory layout of a contraction's factors: tensors, or parts of them, with a stride for every label.
 *
 * In: a factor's node, or a tensor. Out: strides and an offset as polynomials over extents, and over the strides that
 * the launch gives for a strided tensor; nothing if a position is not linear in running indices, has a value outside,
 * or is read from data. Invariant: every position is inside the tensor, as the checker has proved for every access. */
#include <math.h>

#include "graph/operand.h"

/* Atoms of a position: labels for their running indices, then labels for their extents, then the strides of the
 * parameter by position. */
static int size_atom(const struct graph *g, int axis) { return g->kernel->n_axes + axis; }
static int stride_atom(const struct graph *g, int position) { return 2 * g->kernel->n_axes + position; }

int view_atom_axis(const struct graph *g, int atom, int *position) {
    *position = atom - stride_atom(g, 0);
    return *position < 0 ? atom - size_atom(g, 0) : -1;
}

static void size_of(const struct graph *g, int axis, int atom, struct poly *p) {
    int64_t extent = g->kernel->axes[axis].extent;
    if (extent >= 0) poly_number(p, extent);
    else poly_atom(p, atom);
}

enum { MAX_DEPTH = 16 };

/* The position n as a polynomial; false where it is none. */
static bool parse(const struct graph *g, const struct node *n, struct poly *p, int depth) {
    struct poly a, b;
    if (n->kind == N_CONST) return poly_number(p, n->integer), fx_is_integer(n->dtype);
    if (n->kind == N_INDEX) return poly_atom(p, n->axis), true;
    if (n->kind == N_SIZE) return size_of(g, n->axis, size_atom(g, n->axis), p), true;
    if (n->kind != N_OP || n->dtype != FX_I64 || depth == MAX_DEPTH) return false;
    if (n->op != O_ADD && n->op != O_SUB && n->op != O_MUL && n->op != O_NEG) return false;
    if (!parse(g, n->args[0], &a, depth + 1)) return false;
    poly_number(p, 0);
    if (n->op == O_NEG) return poly_add(p, &a, -1), !p->is_lost;
    if (!parse(g, n->args[1], &b, depth + 1)) return false;
    if (n->op == O_MUL) return poly_multiply(p, &a, &b), !p->is_lost;
    poly_add(p, &a, 1);
    poly_add(p, &b, n->op == O_SUB ? -1 : 1);
    return !p->is_lost;
}

/* The offset of the elements that n reads: sum of position * stride, with indices as atoms. */
static bool offset_of(const struct graph *g, const struct node *n, struct poly *offset) {
    const struct node *input = n->kind == N_ACCESS ? n->args[0] : n;
    const struct param *param = &g->kernel->params[input->param];
    struct poly stride, next, position;
    poly_number(offset, 0);
    poly_number(&stride, 1);
    for (int i = param->n_axes - 1; i >= 0; i--) {
        const struct node *at = NULL;
        for (int j = 0; n->kind == N_ACCESS && j < n->n_at; j++)
            if (n->at[j] == param->axes[i]) at = n->args[1 + j];
        if (!at) poly_atom(&position, param->axes[i]);
        else if (!parse(g, at, &position, 0)) return false;
        if (param->is_strided) { /* of one element the position is 0, and the stride may be anything */
            if (g->kernel->axes[param->axes[i]].extent == 1) continue;
            poly_atom(&stride, stride_atom(g, i));
        }
        poly_multiply(&next, &position, &stride);
        poly_add(offset, &next, 1);
        size_of(g, param->axes[i], size_atom(g, param->axes[i]), &position);
        poly_multiply(&next, &stride, &position);
        poly_copy(&stride, &next);
    }
    return !offset->is_lost && !stride.is_lost;
}

/* Takes the indices out of an offset, one stride each; false where indices are multiplied. */
static bool split_offset(const struct graph *g, struct poly *offset, struct tensor *t, struct view *v) {
    struct poly rest;
    for (int i = 0; i < t->n_axes; i++) {
        poly_extract(offset, t->axes[i], &v->stride[i], &rest);
        poly_copy(offset, &rest);
        for (int axis = 0; axis < g->kernel->n_axes; axis++)
            if (poly_has(&v->stride[i], axis)) return false;
    }
    poly_copy(&v->offset, offset);
    return !offset->is_lost;
}

static bool is_unit(const struct view *v, const struct poly *p) {
    struct poly atom;
    wide number;
    if (v->unit < 0) return poly_is_number(p, &number) && number == 1;
    poly_atom(&atom, v->unit);
    return poly_equal(p, &atom);
}

/* The stride of the last label of more than one element. */
static int unit_atom(const struct graph *g, const struct param *p) {
    for (int i = p->n_axes - 1; p->is_strided && i >= 0; i--)
        if (g->kernel->axes[p->axes[i]].extent != 1) return stride_atom(g, i);
    return -1;
}

/* The label with stride 1 stands last, as it does in a tensor. */
static void put_unit_last(struct tensor *t, struct view *v) {
    struct poly stride;
    for (int i = 0; i + 1 < t->n_axes; i++) {
        if (!is_unit(v, &v->stride[i])) continue;
        int axis = t->axes[i];
        poly_copy(&stride, &v->stride[i]);
        for (int j = i; j + 1 < t->n_axes; j++) {
            t->axes[j] = t->axes[j + 1];
            poly_copy(&v->stride[j], &v->stride[j + 1]);
        }
        t->axes[t->n_axes - 1] = axis;
        poly_copy(&v->stride[t->n_axes - 1], &stride);
        return;
    }
}

static void add_axis(const struct graph *g, struct tensor *t, int axis) {
    if (g->kernel->axes[axis].extent != 1 && tensor_axis(t, axis) < 0) t->axes[t->n_axes++] = axis;
}

/* Of an access with a value outside what lies inside. */
static bool tensor_of_part(const struct graph *g, const struct node *n, const struct cut *cut, struct tensor *t) {
    const struct node *input = n->kind == N_ACCESS ? n->args[0] : n;
    struct poly offset;
    if (input->kind != N_INPUT) return false;
    const struct param *p = &g->kernel->params[input->param];
    if (p->packed.factor || !offset_of(g, n, &offset)) return false;
    struct view *v = NEW(&g->cx->arena, struct view);
    *t = (struct tensor){
        .param = input->param, .buffer = -1, .is_strided = p->is_strided, .dtype = p->dtype, .view = v};
    v->unit = unit_atom(g, p);
    v->cut = cut;
    for (int i = 0; i < p->n_axes; i++) {
        const struct node *at = NULL;
        for (int j = 0; n->kind == N_ACCESS && j < n->n_at; j++)
            if (n->at[j] == p->axes[i]) at = n->args[1 + j];
        if (!at) add_axis(g, t, p->axes[i]);
        for (int j = 0; at && j < at->n_axes; j++) add_axis(g, t, at->axes[j]);
    }
    for (int axis = 0; axis < g->kernel->n_axes; axis++) { /* a label of one element is always 0 */
        struct poly zero, without;
        if (g->kernel->axes[axis].extent != 1 || !poly_has(&offset, axis)) continue;
        poly_number(&zero, 0);
        poly_substitute(&without, &offset, axis, &zero);
        poly_copy(&offset, &without);
    }
    if (!split_offset(g, &offset, t, v)) return false;
    put_unit_last(t, v);
    return true;
}

bool tensor_of_factor(const struct graph *g, const struct node *n, struct tensor *t) {
    return !n->has_fill && tensor_of_part(g, n, NULL, t);
}

static bool is_zero(const struct node *n) {
    return n->kind == N_CONST && n->integer == 0 && n->num == 0 && !signbit(n->num);
}

/* Whether an equation says that a is as long as b. */
static bool is_equated(const struct graph *g, int a, int b) {
    for (int i = 0; i < g->kernel->n_equations; i++) {
        const struct equation *q = &g->kernel->equations[i];
        if (q->axis == a && q->value.n == 1 && q->value.terms[0].op == FX_T_EXTENT && q->value.terms[0].v == b)
            return true;
    }
    return false;
}

/* Whether position n is an index that does not leave axis. */
static bool is_index_within(const struct graph *g, const struct node *n, int axis) {
    if (n->kind != N_INDEX) return false;
    const int64_t own = g->kernel->axes[n->axis].extent, of = g->kernel->axes[axis].extent;
    return (own >= 0 && own <= of) || is_equated(g, n->axis, axis) || is_equated(g, axis, n->axis);
}

/* Whether n reads an input in slices of one label, 0 behind its end; other labels may have been renamed. */
static bool find_cut(const struct graph *g, const struct node *n, struct cut *c) {
    struct poly position, factor, rest, size;
    const struct node *at = NULL;
    int whole = -1;
    wide one;
    if (n->kind != N_ACCESS || !n->has_fill || !is_zero(n->args[1 + n->n_at])) return false;
    for (int i = 0; i < n->n_at; i++) {
        if (is_index_within(g, n->args[1 + i], n->at[i])) continue;
        if (at) return false;
        at = n->args[1 + i], whole = n->at[i];
    }
    if (!at || at->n_axes != 2 || !parse(g, at, &position, 0)) return false;
    for (int i = 0; i < 2; i++) {
        *c = (struct cut){.whole = whole, .number = at->axes[i], .within = at->axes[1 - i]};
        poly_extract(&position, c->within, &factor, &rest);
        if (!poly_is_number(&factor, &one) || one != 1) continue;
        poly_copy(&factor, &rest);
        poly_extract(&factor, c->number, &size, &rest);
        view_extent(g, c->within, &factor);
        if (!rest.n && !rest.is_lost && poly_equal(&size, &factor)) return true;
    }
    return false;
}

bool tensor_of_slices(const struct graph *g, const struct node *sum, const struct node *n, const struct node *other,
    struct tensor *t) {
    struct cut *own = NEW(&g->cx->arena, struct cut), beside;
    if (!find_cut(g, n, own) || !find_cut(g, other, &beside)) return false;
    if (sum->n_reduced != 1 || sum->reduced[0] != own->within || !node_has_axis(sum, own->number)) return false;
    if (own->whole != beside.whole || own->number != beside.number || own->within != beside.within) return false;
    return tensor_of_part(g, n, own, t);
}

struct node *stored_as_named(const struct graph *g, struct node *n) {
    if (node_is_stored(n)) return n;
    if (n->kind != N_ACCESS || n->has_fill || !node_is_stored(n->args[0])) return NULL;
    if (n->n_axes != n->args[0]->n_axes) return NULL; /* two labels of one name: a diagonal */
    for (int i = 0; i < n->n_at; i++) {
        const struct node *at = n->args[1 + i];
        if (at->kind != N_INDEX) return NULL;
        const int64_t own = g->kernel->axes[at->axis].extent, of = g->kernel->axes[n->at[i]].extent;
        if ((own < 0 || own != of) && !is_equated(g, at->axis, n->at[i]) && !is_equated(g, n->at[i], at->axis))
            return NULL;
    }
    return n->args[0];
}

void name_as_read(const struct node *n, struct tensor *t) {
    if (n->kind != N_ACCESS) return;
    for (int i = 0; i < t->n_axes; i++)
        for (int j = 0; j < n->n_at; j++)
            if (n->at[j] == t->axes[i]) {
                t->axes[i] = n->args[1 + j]->axis;
                break;
            }
}

void add_view(const struct graph *g, struct tensor *t) {
    struct view *v = NEW(&g->cx->arena, struct view);
    struct poly size, next;
    poly_number(&v->offset, 0);
    v->unit = -1;
    for (int i = t->n_axes - 1; i >= 0; i--) {
        if (i + 1 == t->n_axes) poly_number(&v->stride[i], 1);
        else {
            size_of(g, t->axes[i + 1], size_atom(g, t->axes[i + 1]), &size);
            poly_multiply(&next, &v->stride[i + 1], &size);
            poly_copy(&v->stride[i], &next);
        }
    }
    t->view = v;
}

bool is_unit_stride(const struct tensor *t, int axis) {
    int at = tensor_axis(t, axis);
    return at >= 0 && is_unit(t->view, &t->view->stride[at]);
}

bool are_adjacent(const struct graph *g, const struct tensor *t, int a, int b) {
    int at_a = tensor_axis(t, a), at_b = tensor_axis(t, b);
    struct poly size, step;
    if (at_a < 0 || at_b < 0) return false;
    size_of(g, b, size_atom(g, b), &size);
    poly_multiply(&step, &t->view->stride[at_b], &size);
    return poly_equal(&step, &t->view->stride[at_a]);
}

bool is_read_upwards(const struct tensor *t) {
    for (int i = 0; i < t->n_axes; i++) {
        const struct poly *p = &t->view->stride[i];
        if (!p->n) return false;
        for (int j = 0; j < p->n; j++)
            if (p->t[j].coefficient < 0) return false;
    }
    return true;
}

void view_extent(const struct graph *g, int axis, struct poly *p) { size_of(g, axis, size_atom(g, axis), p); }

/* Takes the indices out of a position; false where they are multiplied, by anything but numbers that fit. */
static bool split_position(const struct graph *g, const struct poly *position, struct window_axis *x) {
    enum { MOST = 1 << 20 };
    struct poly factor, rest;
    poly_copy(&x->first, position);
    for (int axis = 0; axis < g->kernel->n_axes; axis++) {
        wide number;
        if (!poly_has(&x->first, axis)) continue;
        poly_extract(&x->first, axis, &factor, &rest);
        if (!poly_is_number(&factor, &number) || number > MOST || number < -MOST) return false;
        poly_copy(&x->first, &rest);
        if (g->kernel->axes[axis].extent == 1) continue; /* its index is 0 */
        if (x->n == MAX_WINDOW_TERMS) return false;
        x->terms[x->n++] = (struct window_term){axis, (int64_t)number};
    }
    return !x->first.is_lost;
}

bool window_of_access(const struct graph *g, const struct node *n, const struct tensor *t, struct window *w) {
    if (n->kind != N_ACCESS || t->is_strided) return false;
    const struct node *fill = n->has_fill ? n->args[1 + n->n_at] : NULL;
    if (fill && (fill->kind != N_CONST || fill->num != 0 || signbit(fill->num) || fill->integer != 0)) return false;
    w->tensor = *t;
    add_view(g, &w->tensor);
    for (int i = 0; i < t->n_axes; i++) {
        struct poly position;
        poly_atom(&position, t->axes[i]);
        for (int j = 0; j < n->n_at; j++)
            if (n->at[j] == t->axes[i] && !parse(g, n->args[1 + j], &position, 0)) return false;
        w->axes[i].n = 0;
        if (!split_position(g, &position, &w->axes[i])) return false;
    }
    return true;
}

bool window_goes_along_k(const struct graph *g, const struct node *sum, const struct window *w) {
    bool has_both = false;
    for (int i = 0; i < w->tensor.n_axes; i++) {
        double kept = 0, summed = 0;
        for (int j = 0; j < w->axes[i].n; j++) {
            const int label = w->axes[i].terms[j].label;
            double *longest = node_has_axis(sum, label) ? &kept : &summed;
            if (nominal_extent(g, label) > *longest) *longest = nominal_extent(g, label);
        }
        if (kept > 0 && summed > 0 && kept >= summed) return false;
        has_both |= kept > 0 && summed > 0;
    }
    return has_both;
}
