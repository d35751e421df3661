/* Part of the fuse pass: values that are stored as soon as their rows are known.
 *
 * In: a graph. Out: by node, the values that are computed from reductions of reductions and read by many more elements
 * than they have, such as the gate of a channel, computed from the means of all channels. Without the store, each
 * element that reads such a value would compute it again from the reductions. The row program of the last reduction
 * stores it once. */
#include "fuse/fuse.h"

/* Of elements that read a value, for each that it has; fewer gain nothing. */
static const double LEAST_READ = 8;

struct below { /* a value: what it is made of */
    const struct node *loop; /* a reduction, NULL: none */
    bool is_mixed;           /* and others over other labels */
    bool is_costly;          /* of those by functions or divisions */
};

static void join(struct below *b, const struct node *loop) {
    b->is_mixed |= b->loop && loop &&
                   !nodes_same_axes(b->loop->reduced, b->loop->n_reduced, loop->reduced, loop->n_reduced);
    if (loop) b->loop = loop;
}

static struct below *find_below(const struct graph *g) {
    struct below *all = NEW_ARRAY(&g->cx->arena, struct below, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (is_matrix_product(g, n)) continue; /* a tensor like others */
        const bool is_function = node_is_op(n, O_DIV) || (n->kind == N_OP && op_info[n->op].rule == RULE_FLOAT);
        for (int a = 0; a < n->n_args; a++) {
            const struct below *of = &all[n->args[a]->id];
            join(&all[i], of->loop);
            all[i].is_mixed |= of->is_mixed;
            all[i].is_costly |= of->is_costly || (of->loop && is_function);
        }
        if (n->kind != N_REDUCE) continue;
        join(&all[i], n);
        all[i].is_costly = false;
    }
    return all;
}

const bool *fuse_find_early(const struct graph *g) {
    const struct below *all = find_below(g);
    bool *is_early = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), any = false;
    int *n_readers = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        is_early[i] = (n->kind == N_OP || n->kind == N_CAST) && fx_is_float(n->dtype) && n->n_axes &&
                      all[i].is_mixed && all[i].is_costly;
    }
    for (int i = 0; i < g->n_nodes; i++)
        for (int a = 0; a < g->nodes[i]->n_args; a++) {
            const struct node *n = g->nodes[i], *of = n->args[a];
            const double size = nominal_size(g, n->axes, n->n_axes), least = nominal_size(g, of->axes, of->n_axes);
            n_readers[of->id]++;
            is_early[of->id] &= (n->kind == N_OP || n->kind == N_CAST) && size >= LEAST_READ * least;
        }
    for (int o = 0; o < g->n_outputs; o++) is_early[copied_value(g->outputs[o].value)->id] = false;
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1); /* what one is made of is part of its program */
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        is_early[i] &= n_readers[i] > 0 && !is_below[i];
        any |= is_early[i];
        for (int a = 0; a < g->nodes[i]->n_args; a++) is_below[g->nodes[i]->args[a]->id] |= is_early[i] || is_below[i];
    }
    return any ? is_early : NULL;
}
