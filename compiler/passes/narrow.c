/* Sums of a few columns, of which each needs what is the same for all of them, as sums of one column each.
 *
 * In: a graph. Out: one in which sum[J](v), with a label C of two to four elements that a reduction or a running sum
 * below v lacks, is sum[J](v[C: 0]), sum[J](v[C: 1]), .. and a choice between them: forces on bodies whose distances
 * are one number for three coordinates, colours along a ray that share its transmittance. A row program then has all of
 * them as results of the same row, where each column by itself would be a row that computes what they share again, or
 * reads it from memory. Likewise the gradient of a small filter by channel, sum[B,H](d * x[H: H+U-1]), whose columns are
 * windows of the same elements. Of matrix products those alone that have no other columns: an engine's tile would be nearly
 * empty. Where all columns are stored side by side, that is one more kernel: not where the kernel says how many it wants. */
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MOST_COLUMNS = 4, MOST_TAPS = 9 };

struct narrower {
    const struct graph *g;
    bool *is_met; /* by node, while one reduction is looked at */
};

/* Whether v, which an access reads, is made of a running sum or a reduction that is no product of matrices. */
static bool has_reduction(struct narrower *u, const struct node *v) {
    if (u->is_met[v->id] || node_is_stored(v)) return false;
    u->is_met[v->id] = true;
    if (v->kind == N_REDUCE || v->kind == N_SCAN) return !is_matrix_product(u->g, v);
    for (int i = 0; i < v->n_args; i++)
        if (has_reduction(u, v->args[i])) return true;
    return false;
}

/* Whether v is made of a reduction or a running sum along elements of n that is the same for all of label c. */
static bool has_shared(struct narrower *u, const struct node *n, const struct node *v, int c) {
    if (u->is_met[v->id] || node_is_stored(v)) return false;
    u->is_met[v->id] = true;
    if (v->kind == N_REDUCE || v->kind == N_SCAN) /* a product of matrices is for a chain, or stored */
        return !node_has_axis(v, c) && node_has_any(v, n->reduced, n->n_reduced) && !is_matrix_product(u->g, v);
    if (v->kind == N_ACCESS)
        return !node_has_axis(v, c) && node_has_any(v, n->reduced, n->n_reduced) && has_reduction(u, v->args[0]);
    for (int i = 0; i < v->n_args; i++)
        if ((v->kind == N_OP || v->kind == N_CAST) && has_shared(u, n, v->args[i], c)) return true;
    return false;
}

/* Whether c is all that one of the factors of matrix product n has and the other lacks. */
static bool is_side(const struct contraction *x, const struct node *n, int c) {
    const struct node *own = node_has_axis(x->a, c) ? x->a : x->b, *other = own == x->a ? x->b : x->a;
    for (int i = 0; i < n->n_axes; i++)
        if (n->axes[i] != c && node_has_axis(own, n->axes[i]) && !node_has_axis(other, n->axes[i])) return false;
    return !node_has_axis(other, c);
}

/* Whether all that v, of n, has of label c are windows that step along what n reduces, of tensors. */
static bool is_window(struct narrower *u, const struct node *n, const struct node *v, int c) {
    if (!node_has_axis(v, c) || u->is_met[v->id]) return true;
    u->is_met[v->id] = true;
    if (v->kind == N_OP || v->kind == N_CAST) {
        for (int i = 0; i < v->n_args; i++)
            if (!is_window(u, n, v->args[i], c)) return false;
        return true;
    }
    if (v->kind != N_ACCESS || v->args[0]->kind != N_INPUT || node_has_axis(v->args[0], c)) return false;
    for (int i = 0; i < v->n_at; i++)
        if (node_has_axis(v->args[1 + i], c) && !node_has_any(v->args[1 + i], n->reduced, n->n_reduced)) return false;
    return true;
}

/* The taps of a filter that n is the gradient by: labels that only windows of one of its factors have, where it has no
 * other columns. */
static struct axis_list taps_of(struct narrower *u, const struct node *n) {
    struct axis_list taps = {0};
    struct contraction x;
    int64_t size = 1;
    if (n->kind != N_REDUCE || n->reduction != RED_SUM || !as_mainloop(n, &x)) return taps;
    for (int i = 0; i < n->n_axes; i++) {
        const int axis = n->axes[i];
        if (node_has_axis(x.a, axis) && node_has_axis(x.b, axis)) continue;
        const int64_t extent = u->g->kernel->axes[axis].extent;
        if (extent == 1) continue; /* a single element is the reduction itself */
        for (int k = 0; k < u->g->n_nodes; k++) u->is_met[k] = false;
        if (extent < 1 || extent > MOST_TAPS || (size *= extent) > MOST_TAPS || !is_window(u, n, n->args[0], axis))
            return (struct axis_list){0};
        taps.axes[taps.n++] = axis;
    }
    return taps;
}

/* The labels of which each element of n becomes a reduction of its own. */
static struct axis_list narrow_labels(struct narrower *u, const struct node *n) {
    struct contraction x;
    if (n->kind != N_REDUCE || n->reduction > RED_MIN) return (struct axis_list){0};
    const bool is_product = as_mainloop(n, &x) && is_matrix_product(u->g, n);
    for (int i = 0; i < n->n_axes; i++) {
        const int64_t extent = u->g->kernel->axes[n->axes[i]].extent;
        if (extent < 2 || extent > MOST_COLUMNS || (is_product && !is_side(&x, n, n->axes[i]))) continue;
        for (int k = 0; k < u->g->n_nodes; k++) u->is_met[k] = false;
        if (has_shared(u, n, n->args[0], n->axes[i])) return (struct axis_list){.n = 1, .axes = {n->axes[i]}};
    }
    return taps_of(u, n);
}

/* n, of the new graph, at element number `at` of labels c, the last of which counts fastest; where that is. */
static struct node *column_of(
    const struct graph *g, struct graph *out, const struct node *n, const struct axis_list *c, int at, struct node **is_here) {
    struct node copy = *n, read = {.kind = N_ACCESS, .dtype = n->args[0]->dtype, .axis = -1, .n_at = c->n};
    read.span = n->args[0]->span, read.source = n->args[0]->source;
    read.args[0] = n->args[0];
    *is_here = NULL;
    for (int i = c->n - 1; i >= 0; i--) {
        const int extent = (int)g->kernel->axes[c->axes[i]].extent;
        struct node *own = build_integer(out, FX_I64, at % extent, n),
                    *same = build_op(out, O_EQ, build_index(out, c->axes[i], n), own, NULL, n);
        read.at[i] = c->axes[i], read.args[1 + i] = own;
        *is_here = *is_here ? build_op(out, O_AND, same, *is_here, NULL, n) : same;
        at /= extent;
    }
    copy.args[0] = build_node(out, read);
    copy.name = (struct name){0};
    return build_node(out, copy);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct narrower *u = state;
    const struct axis_list c = narrow_labels(u, old);
    struct node *is_here;
    int at = 1;
    (void)map;
    if (!c.n) return graph_add(out, n);
    for (int i = 0; i < c.n; i++) at *= (int)u->g->kernel->axes[c.axes[i]].extent;
    struct node *v = column_of(u->g, out, n, &c, --at, &is_here);
    while (at-- > 0) {
        struct node *column = column_of(u->g, out, n, &c, at, &is_here);
        v = build_op(out, O_WHERE, is_here, column, v, n);
    }
    return v;
}

struct graph *pass_narrow(const struct graph *g) {
    struct narrower u = {.g = g, .is_met = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1)};
    bool is_changed = false;
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    for (int i = 0; i < g->n_nodes; i++) is_changed |= narrow_labels(&u, g->nodes[i]).n > 0;
    return is_changed ? graph_rewrite(g, graph_like(g), rewrite, &u) : (struct graph *)g;
}
