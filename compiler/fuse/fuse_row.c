/* Part of the fuse pass: row programs, reductions and scans of the same rows as one kernel.
 *
 * In: a value to be stored. Out: the group it belongs to. A group has rows over labels R, and reduces or scans labels
 * K. It stores values over R, or over R and K. Its steps are all reductions and scans over exactly K, of values over R
 * and K, that its stores depend on. */
#include <string.h>

#include "fuse/fuse.h"

enum { SHORT_ROW = 32 };

bool fuse_is_few(const struct graph *g, const struct node *n) {
    const int *axes = n->kind == N_REDUCE ? n->reduced : &n->axis;
    int n_axes = n->kind == N_REDUCE ? n->n_reduced : 1;
    int64_t size = 1;
    for (int i = 0; i < n_axes; i++) {
        int64_t extent = g->kernel->axes[axes[i]].extent;
        if (extent < 0 || extent >= SHORT_ROW) return false;
        size *= extent;
    }
    return size < SHORT_ROW;
}

/* Whether one thread had better reduce a row by itself: few elements that no tensor holds as they stand, such as those
 * of a window. */
static bool is_short(const struct graph *g, const struct node *n) {
    for (int i = 0; i < n->id; i++)
        if (g->nodes[i]->kind == N_INPUT &&
            nodes_same_axes(g->nodes[i]->axes, g->nodes[i]->n_axes, n->args[0]->axes, n->args[0]->n_axes))
            return false;
    return fuse_is_few(g, n);
}

/* axes without those of `less`; returns how many. */
static int without(int *out, const int *axes, int n_axes, const int *less, int n_less) {
    int n = 0;
    for (int i = 0; i < n_axes; i++) {
        bool is_in = false;
        for (int j = 0; j < n_less; j++) is_in |= axes[i] == less[j];
        if (!is_in) out[n++] = axes[i];
    }
    return n;
}

/* Whether loop n makes rows of a space: it results in one element of the space each, or reduces some of its labels and
 * is read over all of them. */
static bool makes_rows(const struct fuser *f, const struct node *n, const int *axes, int n_axes, struct group *row) {
    const int *reduced = n->kind == N_REDUCE ? n->reduced : &n->axis;
    int n_reduced = n->kind == N_REDUCE ? n->n_reduced : 1;
    *row = (struct group){.is_row = true, .n_reduced = n_reduced};
    memcpy(row->reduced, reduced, (size_t)n_reduced * sizeof *reduced);
    row->n_axes = without(row->axes, n->axes, n->n_axes, reduced, n_reduced);
    if (nodes_same_axes(n->axes, n->n_axes, axes, n_axes)) return n->kind == N_SCAN || !is_short(f->g, n);
    int rest[MAX_AXES], n_rest = without(rest, axes, n_axes, reduced, n_reduced);
    return n->kind == N_REDUCE && n_rest + n_reduced == n_axes && nodes_same_axes(n->axes, n->n_axes, rest, n_rest);
}

bool fuse_fits_row(const struct group *r, const struct node *n) {
    if (n->kind == N_REDUCE)
        return nodes_same_axes(n->axes, n->n_axes, r->axes, r->n_axes) &&
               nodes_same_axes(n->reduced, n->n_reduced, r->reduced, r->n_reduced);
    return n->kind == N_SCAN && r->n_reduced == 1 && r->reduced[0] == n->axis && n->n_axes == r->n_axes + 1;
}

bool fuse_find_row(struct fuser *f, const struct node *value, const int *axes, int n_axes, bool is_stored,
    bool shares, struct group *row) {
    const int reached = fuse_walk(f);
    bool is_found = false;
    f->mark[value->id] = reached;
    for (int i = value->id; i >= 0; i--) {
        const struct node *n = f->g->nodes[i];
        if (f->mark[i] != reached || fuse_is_for_mainloop(f, n) || fuse_is_early(f, n)) continue;
        if (n->kind == N_SHARE) return false; /* row programs keep no runs */
        if (n->kind == N_REDUCE || n->kind == N_SCAN) {
            bool is_read = !shares && find_buffer(f->p, n, n->dtype) >= 0 && !(is_stored && n == value);
            if (!is_read && !is_found) is_found = makes_rows(f, n, axes, n_axes, row);
            continue;
        }
        for (int k = n->kind == N_ACCESS; k < n->n_args; k++) f->mark[n->args[k]->id] = reached;
    }
    return is_found;
}

/* Whether what is stored is the same at every launch, and goes to a buffer: a kernel of such alone is run once. */
static bool is_kept(const struct fuser *f, const struct node *value, int buffer) {
    return buffer >= 0 && f->constants[value->id];
}

/* What a parameter holds after a store at positions, where others read it there; NULL: nobody does. */
static const struct node *held_by(const struct fuser *f, int param) {
    for (int b = 0; param >= 0 && b < f->p->n_buffers; b++)
        if (f->p->buffers[b].held == 1 + param) return f->p->buffers[b].value;
    return NULL;
}

/* Whether a store that waits for what f->waited has may join row program r: outputs, which nobody reads, join outputs;
 * and nobody waits in vain where both wait for the same kernels, or for none. What is read where a parameter holds it
 * is read after the store. */
static bool may_join_row(struct fuser *f, const struct group *r, const struct node *value, int param) {
    const struct node *held = held_by(f, param), *other;
    bool all_outputs = param >= 0 && !held;
    if (!r->is_row || !nodes_same_axes(r->axes, r->n_axes, f->row.axes, f->row.n_axes) ||
        !nodes_same_axes(r->reduced, r->n_reduced, f->row.reduced, f->row.n_reduced))
        return false;
    for (int i = 0; i < r->n_stores; i++) {
        const struct store *s = &r->stores[i];
        if ((other = held_by(f, s->param)) && fuse_is_above(f, value, other)) return false;
        if (held && fuse_is_above(f, s->value, held)) return false;
        all_outputs &= s->param >= 0 && !other;
    }
    return all_outputs || (r->n_waited == f->n_waited &&
                              memcmp(r->waited, f->waited, (size_t)f->n_waited * sizeof *f->waited) == 0);
}

/* Adds to n ascending numbers of nodes; returns how many there are. */
static int add_number(int *numbers, int n, int number) {
    int i = n;
    for (int k = 0; k < n; k++)
        if (numbers[k] == number) return n;
    for (; i > 0 && numbers[i - 1] > number; i--) numbers[i] = numbers[i - 1];
    numbers[i] = number;
    return n + 1;
}

/* The contraction in whose epilogue n is reduced by runs, where it is; else n. */
static const struct node *stored_by(const struct fuser *f, const struct node *n) {
    struct partial_of x;
    if (!f->epilogues || !as_partial(f->g, n, &x) || x.size != PARTIAL_RUN) return n;
    bool *is_below = NEW_ARRAY(&f->g->cx->arena, bool, x.of->id + 1);
    is_below[x.of->id] = true;
    for (int i = x.of->id; i >= 0; i--) {
        const struct node *c = f->g->nodes[i];
        if (!is_below[i]) continue;
        if (fuse_is_for_mainloop(f, c) && nodes_same_axes(c->axes, c->n_axes, x.of->axes, x.of->n_axes)) return c;
        for (int a = 0; a < c->n_args; a++) is_below[c->args[a]->id] = true;
    }
    return n;
}

void fuse_wait_for(struct fuser *f, struct node *const *below, int n) {
    f->waited = NEW_ARRAY(&f->g->cx->arena, int, n + 1);
    f->n_waited = 0;
    for (int i = 0; i < n; i++) f->n_waited = add_number(f->waited, f->n_waited, stored_by(f, below[i])->id);
}

void fuse_add_row(struct fuser *f, struct node *value, int param, int buffer) {
    struct group *r = NULL;
    for (int i = 0; !r && i < f->p->n_groups; i++) {
        struct group *x = &f->p->groups[i];
        if (!may_join_row(f, x, value, param)) continue;
        if (is_kept(f, x->stores[0].value, x->stores[0].buffer) == is_kept(f, value, buffer)) r = x;
    }
    if (!r) {
        r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = f->row;
        r->waited = f->waited;
        r->n_waited = f->n_waited;
    } else { /* of outputs, perhaps for others */
        int *all = NEW_ARRAY(&f->g->cx->arena, int, r->n_waited + f->n_waited + 1), n = r->n_waited;
        memcpy(all, r->waited, (size_t)n * sizeof *all);
        for (int i = 0; i < f->n_waited; i++) n = add_number(all, n, f->waited[i]);
        r->waited = all;
        r->n_waited = n;
    }
    if (r->order < value->id) r->order = value->id;
    fuse_add_store(f, r, value, param, buffer);
}

/* Whether r reads n, which is stored early by another kernel. */
static bool is_early_elsewhere(const struct fuser *f, const struct group *r, const struct node *n) {
    for (int s = 0; s < r->n_stores; s++)
        if (r->stores[s].value == n) return false;
    return f->early && f->early[n->id];
}

void fuse_collect_steps(struct fuser *f, struct group *r) {
    const struct graph *g = f->g;
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1),
         *is_step = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int s = 0; s < r->n_stores; s++) seen[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        bool is_loop = n->kind == N_REDUCE || n->kind == N_SCAN, is_stored = false;
        int b = is_loop ? find_buffer(f->p, n, n->dtype) : -1;
        for (int s = 0; s < r->n_stores; s++) is_stored |= b >= 0 && r->stores[s].buffer == b;
        if (!seen[i] || (b >= 0 && !is_stored)) continue;
        is_step[i] = is_loop && !fuse_is_for_mainloop(f, n) && fuse_fits_row(r, n);
        if (is_loop && !is_step[i]) continue; /* a loop of each thread */
        if (is_early_elsewhere(f, r, n)) continue;
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) seen[n->args[a]->id] = true;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (is_step[i]) PUSH(&g->cx->arena, r->steps, r->n_steps) = g->nodes[i];
}

/* ---- stores that join a row program ---- */

/* Marks the tensors that stand below the stores of r; false where a loop does, which only its own kernel may walk. */
static bool marks_inputs(const struct graph *g, const struct group *r, bool *is_read) {
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), has_loop = false;
    for (int s = 0; s < r->n_stores; s++) is_below[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!is_below[i]) continue;
        has_loop |= n->kind == N_REDUCE || n->kind == N_SCAN;
        if (n->kind == N_INPUT) is_read[n->param] |= nodes_same_axes(n->axes, n->n_axes, r->axes, r->n_axes);
        for (int a = 0; a < n->n_args; a++) is_below[n->args[a]->id] = true;
    }
    return !has_loop;
}

/* Whether row program r walks over the elements of pointwise group x and reads a tensor that x reads. */
static bool shares_walk(const struct graph *g, const struct group *r, const struct group *x, const bool *is_read) {
    int both[2 * MAX_AXES];
    memcpy(both, r->axes, sizeof r->axes);
    memcpy(both + r->n_axes, r->reduced, sizeof r->reduced);
    if (!r->is_row || !nodes_same_axes(both, r->n_axes + r->n_reduced, x->axes, x->n_axes)) return false;
    struct group walked = *r;
    memcpy(walked.axes, x->axes, sizeof x->axes);
    walked.n_axes = x->n_axes;
    bool *is_walked = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1), shares = false;
    marks_inputs(g, &walked, is_walked);
    for (int i = 0; i < g->kernel->n_params; i++) shares |= is_walked[i] && is_read[i];
    return shares;
}

void fuse_join_rows(struct fuser *f) {
    const struct graph *g = f->g;
    struct partition *p = f->p;
    for (int i = 0; i < p->n_groups; i++) {
        struct group *x = &p->groups[i];
        bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1), are_outputs = true;
        for (int s = 0; s < x->n_stores; s++)
            are_outputs &= x->stores[s].param >= 0 && x->stores[s].value->kind != N_PLACE;
        if (x->contraction || x->is_row || x->is_copy || !are_outputs || !marks_inputs(g, x, is_read)) continue;
        for (int k = 0; k < p->n_groups && x->n_stores; k++) {
            struct group *r = &p->groups[k];
            if (!shares_walk(g, r, x, is_read)) continue;
            for (int s = 0; s < x->n_stores; s++) fuse_add_store(f, r, x->stores[s].value, x->stores[s].param, -1);
            x->n_stores = 0;
        }
    }
}
