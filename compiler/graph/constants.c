/* Values that depend on `const` parameters alone, so that they may be computed once and kept for all launches.
 *
 * In: a graph; a partition of it. Out: the nodes that are constants, and the groups that compute nothing else. A
 * constant is computed from at least one `const` parameter, from numbers, from indices and extents, and from nothing
 * else. The extents of all its labels, and of those summed over, are fixed by `const` parameters or the spec. So it is
 * the same whatever else a later launch brings. */
#include "graph/ir.h"

/* By label: whether its extent is known from `const` parameters and the spec. */
static bool *find_fixed(const struct graph *g) {
    const struct kernel *k = g->kernel;
    bool *is_fixed = NEW_ARRAY(&g->cx->arena, bool, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) is_fixed[i] = k->axes[i].extent >= 0;
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i], *as_declared = p->signature ? p->signature : p;
        for (int a = 0; p->is_const && a < as_declared->n_axes; a++) is_fixed[as_declared->axes[a]] = true;
    }
    for (bool more = true; more;) { /* what equations make of them */
        more = false;
        for (int q = 0; q < k->n_equations; q++) {
            const struct equation *e = &k->equations[q];
            bool is_known = !is_fixed[e->axis];
            for (int t = 0; t < e->value.n; t++)
                is_known &= e->value.terms[t].op != FX_T_EXTENT || is_fixed[e->value.terms[t].v];
            more |= is_known;
            is_fixed[e->axis] |= is_known;
        }
    }
    return is_fixed;
}

static bool are_fixed(const bool *is_fixed, const int *axes, int n) {
    for (int i = 0; i < n; i++)
        if (!is_fixed[axes[i]]) return false;
    return true;
}

bool *graph_constants(const struct graph *g) {
    bool *reads = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), /* a `const` parameter, */
        *is_constant, has_const = false;                          /* and nothing that is none: or just that */
    for (int i = 0; i < g->kernel->n_params; i++) has_const |= g->kernel->params[i].is_const;
    if (!has_const) return reads;
    const bool *is_fixed = find_fixed(g);
    is_constant = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        bool has_axis = n->kind == N_INDEX || n->kind == N_SIZE || n->kind == N_SCAN || n->kind == N_SHARE;
        reads[i] = n->kind == N_INPUT && g->kernel->params[n->param].is_const;
        is_constant[i] = n->kind != N_SCALAR && n->kind != N_PLACE && (n->kind != N_INPUT || reads[i]) &&
                         are_fixed(is_fixed, n->axes, n->n_axes) && are_fixed(is_fixed, n->reduced, n->n_reduced) &&
                         (!has_axis || is_fixed[n->axis]);
        for (int a = 0; a < n->n_args; a++) {
            reads[i] |= reads[n->args[a]->id];
            is_constant[i] &= is_constant[n->args[a]->id];
        }
    }
    for (int i = 0; i < g->n_nodes; i++) is_constant[i] &= reads[i];
    return is_constant;
}

bool node_is_constant(const struct graph *g, const struct node *n) { return graph_constants(g)[n->id]; }

bool *partition_once(const struct graph *g, const struct partition *p, const bool *never) {
    const bool *is_constant = graph_constants(g);
    bool *is_once = NEW_ARRAY(&g->cx->arena, bool, p->n_groups + 1),
         *is_kept = NEW_ARRAY(&g->cx->arena, bool, p->n_buffers + 1); /* by buffer: written by such a group */
    for (int i = 0; i < p->n_groups; i++) {
        const struct group *r = &p->groups[i];
        const bool *is_read = ir_buffers_read(g, p, r);
        is_once[i] = !r->is_copy && !never[i];
        for (int s = 0; s < r->n_stores; s++)
            is_once[i] &= r->stores[s].buffer >= 0 && is_constant[r->stores[s].value->id];
        for (int b = 0; b < p->n_buffers; b++) is_once[i] &= !is_read[b] || is_kept[b];
        for (int s = 0; is_once[i] && s < r->n_stores; s++) is_kept[r->stores[s].buffer] = true;
    }
    return is_once;
}
