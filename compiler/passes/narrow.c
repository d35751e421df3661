/* Sums of a few columns, of which each needs what is the same for all of them, as sums of one column each.
 *
 * In: a graph. Out: one in which sum[J](v), with a label C of two to four elements that a reduction or a running sum
 * below v lacks, is sum[J](v[C: 0]), sum[J](v[C: 1]), .. and a choice between them: forces on bodies whose distances
 * are one number for three coordinates, colours along a ray that share its transmittance. A row program then has all of
 * them as results of the same row, where each column by itself would be a row that computes what they share again, or
 * reads it from memory. Of matrix products those alone that have no other columns: an engine's tile would be nearly
 * empty. Where all columns are stored side by side, that is one more kernel: not where the kernel says how many it wants. */
#include "graph/linear.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MOST_COLUMNS = 4 };

struct narrower {
    const struct graph *g;
    bool *is_met; /* by node, while one reduction is looked at */
};

/* Whether v, which an access reads, is made of a reduction or a running sum. */
static bool has_reduction(struct narrower *u, const struct node *v) {
    if (u->is_met[v->id] || node_is_stored(v)) return false;
    u->is_met[v->id] = true;
    if (v->kind == N_REDUCE || v->kind == N_SCAN) return true;
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

/* The label of which each element of n becomes a reduction of its own; -1: there is none. */
static int narrow_label(struct narrower *u, const struct node *n) {
    struct contraction x;
    if (n->kind != N_REDUCE || n->reduction > RED_MIN) return -1;
    const bool is_product = as_mainloop(n, &x) && is_matrix_product(u->g, n);
    for (int i = 0; i < n->n_axes; i++) {
        const int64_t extent = u->g->kernel->axes[n->axes[i]].extent;
        if (extent < 2 || extent > MOST_COLUMNS || (is_product && !is_side(&x, n, n->axes[i]))) continue;
        for (int k = 0; k < u->g->n_nodes; k++) u->is_met[k] = false;
        if (has_shared(u, n, n->args[0], n->axes[i])) return n->axes[i];
    }
    return -1;
}

/* n, of the new graph, at element `at` of label c. */
static struct node *column_of(struct graph *out, const struct node *n, int c, int at) {
    struct node copy = *n, read = {.kind = N_ACCESS, .dtype = n->args[0]->dtype, .axis = -1, .n_at = 1, .at = {c}};
    read.span = n->args[0]->span, read.source = n->args[0]->source;
    read.args[0] = n->args[0];
    read.args[1] = build_integer(out, FX_I64, at, n);
    if (node_has_axis(n->args[0], c)) copy.args[0] = build_node(out, read);
    copy.name = (struct name){0};
    return build_node(out, copy);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct narrower *u = state;
    const int c = narrow_label(u, old);
    (void)map;
    if (c < 0) return graph_add(out, n);
    int at = (int)u->g->kernel->axes[c].extent - 1;
    struct node *v = column_of(out, n, c, at);
    while (at-- > 0) {
        struct node *is_here = build_op(out, O_EQ, build_index(out, c, n), build_integer(out, FX_I64, at, n), NULL, n);
        v = build_op(out, O_WHERE, is_here, column_of(out, n, c, at), v, n);
    }
    return v;
}

struct graph *pass_narrow(const struct graph *g) {
    struct narrower u = {.g = g, .is_met = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1)};
    bool is_changed = false;
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    for (int i = 0; i < g->n_nodes; i++) is_changed |= narrow_label(&u, g->nodes[i]) >= 0;
    return is_changed ? graph_rewrite(g, graph_like(g), rewrite, &u) : (struct graph *)g;
}
