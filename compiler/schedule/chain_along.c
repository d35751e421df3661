/* Values that the elements of a chain's intermediate read and that are the same for all rows of a batch. They are
 * computed from tensors along t, once per index of t, not again for every row.
 *
 * In: a chain whose passes are known. Out: is_along, by node, and the nodes among these that others read; whether
 * elements read any other tensor. */
#include "schedule/chain_program.h"

/* Whether n, made of operations alone, reads a tensor and nothing that has labels of m. */
static bool is_along(const struct graph *g, const struct partition *p, const struct group *r, const struct chain *x,
    const struct node *n) {
    struct tensor t;
    if (node_has_any(n, x->second.m.axes, x->second.m.n)) return false;
    if (node_is_loaded(g, p, r, n, &t)) return true;
    return n->kind == N_OP || n->kind == N_CAST || n->kind == N_CONST || n->kind == N_SCALAR || n->kind == N_SIZE ||
           n->kind == N_INDEX;
}

static bool is_word(enum fx_dtype t) { return t == FX_F32 || t == FX_I32 || t == FX_U32 || t == FX_BOOL; }

void chain_find_along(const struct graph *g, const struct partition *p, const struct group *r, struct chain *x) {
    struct arena *a = &g->cx->arena;
    bool *is = NEW_ARRAY(a, bool, g->n_nodes + 1), *reads = NEW_ARRAY(a, bool, g->n_nodes + 1),
         *is_read = NEW_ARRAY(a, bool, g->n_nodes + 1);
    x->is_along = NEW_ARRAY(a, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node *n = g->nodes[i];
        struct tensor t;
        is[i] = group_sum(r, n) < 0 && !is_row_step(r, n) && is_along(g, p, r, x, n);
        if (!is[i]) continue;
        if (node_is_loaded(g, p, r, n, &t)) reads[i] = x->is_element[i];
        else
            for (int k = 0; k < n->n_args; k++) is[i] &= is[n->args[k]->id], reads[i] |= reads[n->args[k]->id];
        x->is_along[i] = is[i] && reads[i] && x->is_element[i];
    }
    for (int w = 0; w < x->n_passes; w++)
        for (int i = 0; i < g->n_nodes; i++) {
            const struct node *n = g->nodes[i];
            struct tensor t;
            if (!x->passes[w].needs[i] || x->is_along[i] || group_sum(r, n) >= 0 || node_is_loaded(g, p, r, n, &t))
                continue;
            for (int k = n->kind == N_ACCESS; k < n->n_args; k++) is_read[n->args[k]->id] |= x->is_element[i];
        }
    for (int i = 0; i < g->n_nodes; i++) {
        if (!x->is_along[i] || !is_read[i]) continue;
        if (is_word(g->nodes[i]->dtype)) PUSH(a, x->along, x->n_along) = g->nodes[i];
    }
    for (int w = 0; w < x->n_passes; w++)
        for (int i = 0; i < g->n_nodes; i++) {
            struct tensor t;
            x->loads_elements |= x->passes[w].needs[i] && x->is_element[i] && !x->is_along[i] &&
                                 (g->nodes[i]->kind == N_ACCESS || node_is_loaded(g, p, r, g->nodes[i], &t));
        }
    x->laid_along = x->along;
    x->n_laid = x->n_along;
}
