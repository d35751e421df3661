/* Gives equal computations one node: same kind, payload and operands. A hash table over the nodes kept so far. */
#include <string.h>

#include "passes/passes.h"

static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15u ^ h >> 29; }

static uint64_t hash(const struct node *n) {
    uint64_t bits, h = mix(n->kind, (uint64_t)n->op << 32 | (uint64_t)n->reduction << 8 | n->dtype);
    memcpy(&bits, &n->num, sizeof bits);
    h = mix(mix(h, bits), (uint64_t)n->param);
    for (int i = 0; i < n->n_args; i++) h = mix(h, (uint64_t)n->args[i]->id + 1);
    for (int i = 0; i < n->n_at; i++) h = mix(h, (uint64_t)n->at[i]);
    h = mix(h, (uint64_t)n->integer ^ (uint64_t)n->axis << 48 ^ (uint64_t)n->to << 32 ^ (uint64_t)n->run << 8 ^ n->has_fill);
    for (int i = 0; i < n->n_reduced; i++) h = mix(h, (uint64_t)n->reduced[i]);
    h = mix(h, (uint64_t)n->may_round << 1 | n->may_tf32);
    return h;
}

static bool is_same(const struct node *a, const struct node *b) {
    return a->kind == b->kind && a->op == b->op && a->reduction == b->reduction && a->dtype == b->dtype && a->param == b->param &&
           memcmp(&a->num, &b->num, sizeof a->num) == 0 && a->integer == b->integer && a->to == b->to && a->axis == b->axis && a->run == b->run && a->has_fill == b->has_fill &&
           a->n_args == b->n_args && memcmp(a->args, b->args, (size_t)a->n_args * sizeof *a->args) == 0 &&
           a->n_at == b->n_at && memcmp(a->at, b->at, (size_t)a->n_at * sizeof *a->at) == 0 && a->may_round == b->may_round && a->may_tf32 == b->may_tf32 && a->n_reduced == b->n_reduced && memcmp(a->reduced, b->reduced, (size_t)a->n_reduced * sizeof *a->reduced) == 0;
}

struct graph *pass_cse(const struct graph *g) {
    struct graph *out = graph_like(g);
    struct node **map = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    int size = 16;
    while (size < 2 * g->n_nodes) size *= 2;
    struct node **table = NEW_ARRAY(&g->cx->arena, struct node *, size);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node n = *g->nodes[i];
        for (int a = 0; a < n.n_args; a++) n.args[a] = map[n.args[a]->id];
        uint64_t at = hash(&n) & (uint64_t)(size - 1);
        while (table[at] && !is_same(table[at], &n)) at = (at + 1) & (uint64_t)(size - 1);
        if (!table[at]) table[at] = graph_add(out, &n);
        map[i] = table[at];
        if (!map[i]->name.len && map[i]->kind != N_CONST) map[i]->name = n.name;
    }
    graph_map_outputs(out, g, map);
    return out;
}
