/* For passes that change what epilogues do: the part of a graph that the epilogue of a matrix product can compute, and
 * the other readers of the product.
 *
 * In: a graph. Out: for a given product, the nodes that are elements of its epilogue, and whether everything computed
 * from it is such an element or reduces such elements. */
#include "passes/epilogue.h"

#include "passes/build.h"

struct epilogue epilogue_open(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    return (struct epilogue){g, count_readers(g), NEW_ARRAY(a, bool, g->n_nodes + 1),
        NEW_ARRAY(a, bool, g->n_nodes + 1), NEW_ARRAY(a, bool, g->n_nodes + 1)};
}

static bool is_pointwise(const struct node *n) { return n->kind == N_OP || n->kind == N_CAST || n->kind == N_SHARE; }

/* Fills in what depends on product c, and how: c is then at hand. */
static void epilogue_find(struct epilogue *e, const struct node *c) {
    for (int i = 0; i < e->g->n_nodes; i++) {
        const struct node *n = e->g->nodes[i];
        bool reads_element = n == c;
        e->depends[i] = n == c;
        e->is_late[i] = false;
        for (int a = 0; a < n->n_args; a++) {
            int from = n->args[a]->id;
            e->depends[i] |= e->depends[from];
            e->is_late[i] |= e->is_element[from] ? e->is_late[from] : e->depends[from];
            reads_element |= is_pointwise(n) && e->is_element[from];
        }
        e->is_element[i] = reads_element && nodes_same_axes(n->axes, n->n_axes, c->axes, c->n_axes);
    }
}

/* Adds the labels of a that b lacks, more than one element long, to `axes`; true if they are one, which n reduces, or
 * any number of which it reduces none. */
static bool split_side(const struct graph *g, const struct node *c, const struct node *a, const struct node *b,
    const struct node *n, int *labels, int *n_labels) {
    int n_own = 0, n_reduced = 0, last = -1;
    for (int i = 0; i < a->n_axes; i++) {
        int axis = a->axes[i];
        if (!node_has_axis(c, axis) || node_has_axis(b, axis) || g->kernel->axes[axis].extent == 1) continue;
        n_own++;
        last = axis;
        n_reduced += set_has(n->reduced, n->n_reduced, axis);
    }
    if (n_reduced) labels[(*n_labels)++] = last;
    return n_reduced == 0 || (n_own == 1 && n_reduced == 1);
}

/* Whether n reduces elements of product c, after epilogue_find(c), in a way that its epilogue can begin: along which
 * labels, ascending. */
bool epilogue_reduces(
    const struct epilogue *e, const struct node *c, const struct node *n, int *labels, int *n_labels) {
    struct contraction x;
    *n_labels = 0;
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || is_matrix_product(e->g, n)) return false;
    const struct node *f = n->args[0];
    if (!e->is_element[f->id] || e->is_late[f->id] || c->n_axes + 2 > MAX_AXES || !as_contraction(c, &x)) return false;
    if (!split_side(e->g, c, x.a, x.b, n, labels, n_labels) || !split_side(e->g, c, x.b, x.a, n, labels, n_labels))
        return false;
    if (*n_labels == 2 && labels[0] > labels[1]) {
        int first = labels[0];
        labels[0] = labels[1], labels[1] = first;
    }
    return *n_labels > 0;
}

/* Whether n is one factor times another on the way into a mainloop, and nothing else. */
static bool is_product_of_factors(const struct epilogue *e, const struct node *n) {
    int n_mainloops = 0;
    for (int i = n->id + 1; i < e->g->n_nodes; i++)
        if (e->readers[i] && e->g->nodes[i]->n_args == 1 && e->g->nodes[i]->args[0] == n)
            n_mainloops += is_matrix_product(e->g, e->g->nodes[i]);
    return n_mainloops > 0 && n_mainloops == e->readers[n->id];
}

/* Whether product c, after epilogue_find(c), is needed whole by what neither is an element of its epilogue nor reduces
 * such. */
bool epilogue_is_read_whole(const struct epilogue *e, const struct node *c) {
    int labels[MAX_AXES], n_labels;
    for (int i = c->id + 1; i < e->g->n_nodes; i++) {
        const struct node *n = e->g->nodes[i];
        bool reads = false;
        for (int a = 0; a < n->n_args; a++) reads |= e->is_element[n->args[a]->id];
        if (!e->readers[i] || !reads) continue;
        if (e->is_element[i] ? e->is_late[i]
                             : !epilogue_reduces(e, c, n, labels, &n_labels) && !is_product_of_factors(e, n))
            return true;
    }
    for (int i = 0; i < e->g->n_outputs; i++) {
        const struct output *o = &e->g->outputs[i];
        if (e->is_element[o->value->id] && e->g->kernel->params[o->param].n_axes != c->n_axes) return true;
    }
    return false;
}

/* The last product that f is an element of, seen from which nothing else that it reads comes later. */
struct node *epilogue_host(struct epilogue *e, const struct node *f) {
    for (int i = f->id; i >= 0; i--) {
        struct node *c = e->g->nodes[i];
        if (!is_matrix_product(e->g, c) || !nodes_same_axes(c->axes, c->n_axes, f->axes, f->n_axes)) continue;
        epilogue_find(e, c);
        if (e->is_element[f->id]) return c;
    }
    return NULL;
}
