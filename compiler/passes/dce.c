/* Drops every node that no output reaches, marking backwards in one sweep: operands stand before their users. */
#include "passes/passes.h"

static struct node *keep(void *live, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    (void)map;
    return ((const bool *)live)[old->id] ? graph_add(out, n) : NULL;
}

struct graph *pass_dce(const struct graph *g) {
    bool *live = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_outputs; i++) live[g->outputs[i].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int a = 0; live[i] && a < g->nodes[i]->n_args; a++)
            live[g->nodes[i]->args[a]->id] = true;
    return graph_rewrite(g, graph_like(g), keep, live);
}
