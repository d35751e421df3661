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
    h = mix(h,
        (uint64_t)n->integer ^ (uint64_t)n->axis << 48 ^ (uint64_t)n->to << 32 ^ (uint64_t)n->run << 8 ^ n->has_fill);
    for (int i = 0; i < n->n_reduced; i++) h = mix(h, (uint64_t)n->reduced[i]);
    h = mix(h, (uint64_t)n->rounds_to << 3 | (uint64_t)n->may_scale << 2 | (uint64_t)n->may_round << 1 | n->may_tf32);
    return h;
}

static bool is_same(const struct node *a, const struct node *b) {
    return a->kind == b->kind && a->op == b->op && a->reduction == b->reduction && a->dtype == b->dtype &&
           a->param == b->param && memcmp(&a->num, &b->num, sizeof a->num) == 0 && a->integer == b->integer &&
           a->to == b->to && a->axis == b->axis && a->run == b->run && a->is_ragged == b->is_ragged && a->has_fill == b->has_fill &&
           a->n_args == b->n_args && memcmp(a->args, b->args, (size_t)a->n_args * sizeof *a->args) == 0 &&
           a->n_at == b->n_at && memcmp(a->at, b->at, (size_t)a->n_at * sizeof *a->at) == 0 &&
           a->may_miss == b->may_miss && a->may_round == b->may_round && a->may_tf32 == b->may_tf32 &&
           a->rounds_to == b->rounds_to && a->may_scale == b->may_scale &&
           a->n_reduced == b->n_reduced &&
           memcmp(a->reduced, b->reduced, (size_t)a->n_reduced * sizeof *a->reduced) == 0;
}

struct table { /* open addressing; a power of two, at least twice the nodes */
    uint64_t size;
    struct node **nodes;
};

static struct node *find_same(
    void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct table *t = state;
    uint64_t at = hash(n) & (t->size - 1);
    (void)old, (void)map;
    while (t->nodes[at] && !is_same(t->nodes[at], n)) at = (at + 1) & (t->size - 1);
    if (!t->nodes[at]) t->nodes[at] = graph_add(out, n);
    return t->nodes[at];
}

struct graph *pass_cse(const struct graph *g) {
    struct table t = {.size = 16};
    while (t.size < 2 * (uint64_t)g->n_nodes) t.size *= 2;
    t.nodes = NEW_ARRAY(&g->cx->arena, struct node *, t.size);
    return graph_rewrite(g, graph_like(g), find_same, &t);
}
