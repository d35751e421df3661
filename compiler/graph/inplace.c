/* Parameters written in place: whether a group may overwrite the old contents of a parameter.
 *
 * In: a partition with its groups in order. Out: the reads of the old contents by each group, and the reason if a store
 * must go through the workspace. A group may store to the parameter if it reads each element only in the thread that
 * then writes it, and no later group reads any. Drivers give every element of a group's space, and every element of a
 * row, to one thread, which reads the old element before it stores. The values of a row are read by all threads of the
 * row. */
#include "graph/ir.h"

/* Where a node is computed: at an element of the group's space, at a row of it (the results of a row program), or where
 * others compute too. */
enum { AT_ELEMENT = 1, AT_ROW = 2, ELSEWHERE = 4 };

/* Whether group r finds n in memory, written by another. */
static bool is_in_buffer(const struct partition *p, const struct group *r, const struct node *n) {
    int b = node_buffer(p, n);
    for (int s = 0; s < r->n_stores; s++)
        if (b >= 0 && r->stores[s].buffer == b && r->stores[s].value == n) return false;
    return b >= 0;
}

/* Whether the elements of n, an input, are those of the places it is read at: one each. */
static bool is_own(const struct graph *g, const struct group *r, const struct node *n, int places) {
    const struct param *t = &g->kernel->params[n->param];
    int axes[2 * MAX_AXES], n_axes = r->n_axes;
    memcpy(axes, r->axes, (size_t)r->n_axes * sizeof *axes);
    if ((places & AT_ROW) && !nodes_same_axes(t->axes, t->n_axes, axes, n_axes)) return false;
    for (int i = 0; r->is_row && i < r->n_reduced; i++) axes[n_axes++] = r->reduced[i];
    if ((places & AT_ELEMENT) && !nodes_same_axes(t->axes, t->n_axes, axes, n_axes)) return false;
    return !(places & ELSEWHERE);
}

/* Whether n reads the parameter where r stores to it: at the same positions, at the element that each thread computes.
 */
static bool is_own_place(const struct group *r, const struct node *n, int param) {
    if (n->kind != N_ACCESS || n->args[0]->kind != N_INPUT || n->args[0]->param != param || r->is_row) return false;
    for (int s = 0; s < r->n_stores; s++) {
        const struct node *v = r->stores[s].value;
        if (r->stores[s].param != param || v->kind != N_PLACE || v->n_at != n->n_at) continue;
        bool is_same = nodes_same_axes(v->axes, v->n_axes, r->axes, r->n_axes) &&
                       memcmp(v->at, n->at, (size_t)n->n_at * sizeof *n->at) == 0;
        for (int i = 1; i <= n->n_at; i++) is_same = is_same && v->args[i] == n->args[i];
        if (is_same && nodes_same_axes(n->axes, n->n_axes, v->axes, v->n_axes)) return true;
    }
    return false;
}

/* What a group reads of what a parameter held before the kernel. */
enum old_reads {
    READS_NOTHING,
    READS_OWN,    /* each element only where it computes the value stored at the same element */
    READS_OTHERS, /* other elements too, or one element by several threads: it must not be overwritten meanwhile */
};

static enum old_reads group_reads(const struct graph *g, const struct partition *p, const struct group *r, int param) {
    unsigned char *places = arena_alloc(&g->cx->arena, (size_t)g->n_nodes + 1); /* by node: where it is computed */
    enum old_reads reads = READS_NOTHING;
    for (int s = 0; s < r->n_stores; s++) {
        bool is_over_rows = r->is_row && !row_stores_elements(g, p, r, &r->stores[s]);
        places[store_element(g, r, &r->stores[s])->id] |= is_over_rows ? AT_ROW : AT_ELEMENT;
    }
    for (int i = 0; i < r->n_sums; i++) /* the tiles of a mainloop are read by many blocks */
        for (int s = 0; s < 2; s++)
            if (r->sums[i].buffer[s] < 0) places[r->sums[i].factor[s]->id] |= ELSEWHERE;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!places[i] || group_sum(r, n) >= 0 || is_in_buffer(p, r, n)) continue;
        if (r->is_copy && n == copied_value(r->stores[0].value)) continue;
        if (is_own_place(r, n, param) && !(places[i] & ELSEWHERE)) {
            if (reads == READS_NOTHING) reads = READS_OWN;
            for (int a = 1; a < n->n_args; a++) places[n->args[a]->id] |= places[i];
            continue;
        }
        if (n->kind == N_INPUT && n->param == param && reads != READS_OTHERS)
            reads = is_own(g, r, n, places[i]) ? READS_OWN : READS_OTHERS;
        bool is_loop = n->kind == N_REDUCE || n->kind == N_SCAN, is_step = is_loop && is_row_step(r, n);
        for (int a = 0; a < n->n_args; a++) {
            bool is_elsewhere = (is_loop && !is_step) || (n->kind == N_SHARE && !is_shared_by(r, n)) ||
                                (n->kind == N_ACCESS && a == 0);
            places[n->args[a]->id] |= is_elsewhere ? ELSEWHERE
                                      : is_step    ? AT_ELEMENT | (places[i] & ELSEWHERE)
                                                   : places[i];
        }
    }
    return reads;
}

const char *in_place_hazard(const struct graph *g, const struct partition *p, const struct output *o) {
    struct arena *a = &g->cx->arena;
    const char *name = g->kernel->params[o->param].name;
    int at = -1;
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < p->groups[i].n_stores; s++)
            if (p->groups[i].stores[s].param == o->param) at = i;
    if (at < 0 || !g->kernel->params[o->param].is_input) return NULL;
    if (group_reads(g, p, &p->groups[at], o->param) == READS_OTHERS)
        return arena_printf(a,
            "%s is written in place, and its old contents are read at other elements than the one written: the new ones pass through memory",
            name);
    for (int i = at + 1; i < p->n_groups; i++)
        if (group_reads(g, p, &p->groups[i], o->param) != READS_NOTHING)
            return arena_printf(a,
                "%s is written in place, and a later kernel reads its old contents: the new ones pass through memory",
                name);
    return NULL;
}
