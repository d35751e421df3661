/* Part of the fuse pass: chains. A chain is one kernel of a contraction and the contractions from which one of its
 * factors is computed.
 *
 * In: the groups of a proposal, one per contraction, and the chains that chain.c finds in the graph. Out: groups with
 * all contractions of a chain and the reductions between them, and the stores that follow from their results.
 * Invariant: the last contraction of a chain is in no other chain, and nothing that a chain waits for is computed from
 * it. */
#include <string.h>

#include "fuse/fuse.h"

bool fuse_ends_chain(struct fuser *f, struct node *n, struct chain_parts *parts) {
    const struct graph *g = f->g;
    if (!chain_find(g, n, f->anew, parts, &f->no_chain[n->id])) return false;
    const struct product last = fuse_product(g, n);
    for (int i = 0; i < parts->n_inner; i++) {
        const struct product x = fuse_product(g, parts->inner[i]);
        bool is_one_type = x.dtype[0] == x.dtype[1] && last.dtype[0] == last.dtype[1] && x.dtype[0] == last.dtype[0];
        if (is_one_type && x.sum->dtype == FX_F32 && n->dtype == FX_F32) continue;
        f->no_chain[n->id] = arena_printf(&g->cx->arena, "%s is added up of %s, and %s of %s",
            ir_quote(f->g, parts->inner[i]), fx_dtype_name(x.dtype[0]), ir_quote(f->g, n),
            fx_dtype_name(last.dtype[0]));
        return false;
    }
    return true;
}

bool *fuse_find_chained(struct fuser *f) {
    bool *is = NEW_ARRAY(&f->g->cx->arena, bool, f->g->n_nodes + 1);
    for (int i = 0; i < f->g->n_nodes; i++) {
        struct chain_parts parts;
        if (!fuse_ends_chain(f, f->g->nodes[i], &parts)) continue;
        is[i] = true;
        for (int k = 0; k < parts.n_inner; k++) is[parts.inner[k]->id] = true;
    }
    return is;
}

/* Whether some chain ends in n, or adds it up before its end. */
static bool is_in_chain(const struct fuser *f, const struct node *n, bool is_end) {
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].intermediate && group_sum(&f->p->groups[i], n) >= 0 &&
            (f->p->groups[i].contraction == n) == is_end)
            return true;
    return false;
}

/* Makes the group of a contraction a chain, apart from those there are. Sums over rows and the intermediate have the
 * rows' factor first. */
static void make_chain(struct fuser *f, struct group *r) {
    struct chain_parts parts;
    if (!fuse_ends_chain(f, r->contraction, &parts) || is_in_chain(f, r->contraction, false)) return;
    for (int i = 0; i < parts.n_inner; i++)
        if (is_in_chain(f, parts.inner[i], true)) return;
    r->intermediate = parts.intermediate;
    r->steps = parts.steps;
    r->n_steps = parts.n_steps;
    r->n_reduced = parts.n_t;
    memcpy(r->reduced, parts.t, sizeof parts.t);
    r->n_sums = parts.n_inner + 1;
    for (int i = 0; i < r->n_sums; i++) {
        bool is_last = i == parts.n_inner;
        struct product *x = &r->sums[i];
        *x = fuse_product(f->g, is_last ? r->contraction : parts.inner[i]);
        if (is_last ? x->factor[1] == parts.intermediate : node_has_axis(x->factor[0], parts.t[0]))
            fuse_swap_factors(x);
        if (!is_last) fuse_place_factor(f, x, 0);
        fuse_place_factor(f, x, 1);
    }
    for (int i = 0; i < parts.n_reads; i++)
        fuse_need_buffer(f, parts.reads[i], parts.reads[i]->dtype, NULL,
            arena_printf(&f->g->cx->arena, "%s is read between two contractions, and reduces other axes than theirs",
                ir_quote(f->g, parts.reads[i])),
            parts.reads[i]->span);
}

void fuse_make_chains(struct fuser *f) {
    bool *is_tried = NEW_ARRAY(&f->g->cx->arena, bool, f->p->n_groups + 1);
    for (int turn = 0; turn < f->p->n_groups; turn++) {
        int best = -1;
        double most = -1;
        for (int i = 0; i < f->p->n_groups; i++) {
            struct chain_parts parts;
            if (is_tried[i] || (is_tried[i] = !fuse_ends_chain(f, f->p->groups[i].contraction, &parts))) continue;
            double size = nominal_size(f->g, parts.intermediate->axes, parts.intermediate->n_axes);
            if (size > most) most = size, best = i;
        }
        if (best < 0) return;
        is_tried[best] = true;
        make_chain(f, &f->p->groups[best]);
    }
}

/* Whether n is computed from what chain r computes. */
static bool is_of_chain(struct fuser *f, const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_sums; i++)
        if (fuse_is_above(f, n, r->sums[i].sum)) return true;
    return false;
}

/* Whether a value can be computed in chain r behind its walks: from what they give and from what stands in memory.
 * Collects in f->below what has to; reductions of rows that it alone reads become steps of the chain. */
static bool follows_chain(struct fuser *f, struct group *r, struct node *value, bool is_of_rows, int *n_below) {
    const struct graph *g = f->g;
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, value->id + 1), reaches = false;
    struct chain_parts parts;
    const char *why_not;
    if (!chain_find(g, r->contraction, f->anew, &parts, &why_not)) return false;
    parts.steps = r->steps;
    parts.n_steps = r->n_steps;
    *n_below = 0;
    seen[value->id] = true;
    for (int i = value->id; i >= 0; i--) {
        struct node *n = g->nodes[i];
        if (!seen[i]) continue;
        bool is_own = n == r->contraction || is_row_step(r, n) || (n->kind == N_REDUCE && chain_extend(g, &parts, n));
        if (n == r->contraction && is_of_rows) return false;
        reaches |= is_own;
        if (is_own) continue;
        if (n->kind == N_ACCESS || n->kind == N_SHARE) return false;
        if (n->kind == N_REDUCE || n->kind == N_SCAN) {
            if (is_of_chain(f, r, n)) return false; /* each would wait for the other */
            f->below[(*n_below)++] = n;
            continue;
        }
        for (int k = 0; k < n->n_args; k++) seen[n->args[k]->id] = true;
    }
    if (!reaches) return false;
    r->steps = parts.steps;
    r->n_steps = parts.n_steps;
    return true;
}

bool fuse_place_in_chain(struct fuser *f, struct node *value, int param, int buffer, const int *axes, int n_axes) {
    for (int i = 0; i < f->p->n_groups; i++) {
        struct group *r = &f->p->groups[i];
        int rows[MAX_AXES], n_rows = 0, n;
        if (!r->intermediate) continue;
        for (int k = 0; k < r->n_axes; k++)
            if (node_has_axis(r->intermediate, r->axes[k])) rows[n_rows++] = r->axes[k];
        bool is_of_rows = nodes_same_axes(axes, n_axes, rows, n_rows);
        if (!is_of_rows && !nodes_same_axes(axes, n_axes, r->axes, r->n_axes)) continue;
        if (!follows_chain(f, r, value, is_of_rows, &n)) continue;
        for (int k = 0; k < n; k++) {
            const char *why = arena_printf(&f->g->cx->arena,
                "%s is read behind contractions that are computed together", ir_quote(f->g, f->below[k]));
            fuse_need_buffer(f, f->below[k], f->below[k]->dtype, NULL, why, f->below[k]->span);
        }
        fuse_add_store(f, r, value, param, buffer);
        return true;
    }
    return false;
}
