/* Drops every node that no output reaches, marking backwards in one sweep: operands stand before their users. */
#include "passes/passes.h"

struct graph *pass_dce(const struct graph *g) {
    struct graph *out = graph_like(g);
    bool *live = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    struct node **map = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    for (int i = 0; i < g->n_outputs; i++) live[g->outputs[i].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int a = 0; live[i] && a < g->nodes[i]->n_args; a++)
            live[g->nodes[i]->args[a]->id] = true;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!live[i]) continue;
        struct node n = *g->nodes[i];
        for (int a = 0; a < n.n_args; a++) n.args[a] = map[n.args[a]->id];
        map[i] = graph_add(out, &n);
    }
    graph_map_outputs(out, g, map);
    return out;
}
