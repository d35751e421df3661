/* Finds the kernel that computes a stored value.
 *
 * In: a proposal, and a stored value: an output or a buffer. Out: the value in a group. If it has the axes of the last
 * contraction that it depends on, it belongs to that contraction's epilogue, otherwise to a row program or a chain. A
 * value that depends on none of these is a pointwise kernel. Other values that the kernel reads are requested as
 * buffers. */
#include <string.h>

#include "fuse/fuse.h"
#include "passes/build.h"

/* ---- which reductions a stored value depends on ---- */

struct space { /* what a kernel runs over where the walk stands: its own axes, then those of the loops around, innermost
                  last */
    const struct space *outer;
    bool is_elsewhere; /* in what an access reads: at other elements than the kernel's */
    const int *axes;   /* of the outermost: the kernel's; else of the loop */
    int n_axes;
};

/* Whether n has the axes of the kernel, or those and the ones of some loops around: then each element of it is computed
 * once. */
static bool is_computed_once(const struct node *n, const struct space *s) {
    for (const struct space *level = s; level; level = level->outer) {
        int axes[4 * MAX_AXES], n_axes = 0;
        for (const struct space *at = level; at; at = at->outer) {
            if (at->is_elsewhere || n_axes + at->n_axes > 4 * MAX_AXES) return false;
            for (int i = 0; i < at->n_axes; i++) axes[n_axes++] = at->axes[i];
        }
        if (nodes_same_axes(n->axes, n->n_axes, axes, n_axes)) return true;
    }
    return false;
}

static bool is_far(const struct space *s) {
    for (; s; s = s->outer)
        if (s->is_elsewhere) return true;
    return false;
}

/* Whether n would be a loop within a loop: of a thread within a row program's own, or within another of the thread. */
static bool is_inner(struct fuser *f, const struct node *n, const struct space *s) {
    if (!f->row.is_row && !s->outer) return false;
    if (fuse_is_few(f->g, n)) {
        f->has_few |= f->row.is_row && !s->outer;
        return f->few && !s->outer;
    }
    f->has_inner = true;
    return f->inner;
}

/* Collects in f->below, each once, what the walk down from a stored value must find in memory, or as the accumulator:
 * contractions, what some kernel writes to memory anyway, and other reductions and scans that would be computed again
 * and again where they are read. The rest becomes loops of the kernel. What is read at other elements than the kernel's
 * is walked as such, even where it was met before. */
static int reductions_below(struct fuser *f, struct node *n, const struct space *s, bool is_stored, int n_found) {
    int before = f->mark[n->id] - 2 * f->n_walks, far = is_far(s);
    if (before >= far) return n_found;
    f->mark[n->id] = 2 * f->n_walks + far;
    bool is_mainloop = fuse_is_for_mainloop(f, n), is_loop = n->kind == N_REDUCE || n->kind == N_SCAN;
    const bool is_early = fuse_is_early(f, n);
    bool is_written = is_loop && find_buffer(f->p, n, n->dtype) >= 0;
    if (is_loop && !is_mainloop && (!is_written || is_stored || f->shares_row) && f->row.is_row && !s->outer &&
        fuse_fits_row(&f->row, n)) {
        for (int i = 0; i < n->n_args; i++) n_found = reductions_below(f, n->args[i], s, false, n_found);
        return n_found;
    }
    const bool is_copied = node_is_stored(n) && !is_stored; /* in an order of its own: that is what it is for */
    if (is_early || is_mainloop || is_copied ||
        (is_loop && !is_stored && (is_written || !is_computed_once(n, s) || is_inner(f, n, s)))) {
        for (int i = 0; i < n_found; i++)
            if (f->below[i] == n) return n_found;
        f->below[n_found] = n;
        return n_found + 1;
    }
    struct space elsewhere = {s, true, NULL, 0}, loop = {s, false, n->reduced, n->n_reduced};
    if (n->kind == N_REDUCE) return reductions_below(f, n->args[0], &loop, false, n_found);
    for (int i = 0; i < n->n_args; i++) {
        bool is_elsewhere = n->kind == N_SCAN || (n->kind == N_ACCESS && i == 0);
        n_found = reductions_below(f, n->args[i], is_elsewhere ? &elsewhere : s, false, n_found);
    }
    return n_found;
}

/* Whether the last pass met n, and nowhere at other elements than the kernel's. */
static bool is_near(const struct fuser *f, const struct node *n) { return f->mark[n->id] == 2 * f->n_walks; }

static struct group *group_of(struct fuser *f, const struct node *contraction) {
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].intermediate ? f->p->groups[i].contraction == contraction
                                         : group_sum(&f->p->groups[i], contraction) >= 0)
            return &f->p->groups[i];
    return NULL;
}

void fuse_add_store(struct fuser *f, struct group *r, struct node *value, int param, int buffer) {
    struct store *s = &PUSH(&f->g->cx->arena, r->stores, r->n_stores);
    *s = (struct store){value, param, buffer};
}

static void add_pointwise(struct fuser *f, struct node *value, int param, int buffer, bool needs_contraction) {
    const struct axis_set space = store_space(f->g, value, param);
    const int *axes = space.axes, n_axes = space.n;
    /* Outputs over the same axes that need nothing computed before them share one kernel. */
    for (int i = 0; param >= 0 && !needs_contraction && i < f->p->n_groups; i++) {
        struct group *r = &f->p->groups[i];
        if (r->contraction || r->is_row || r->order >= 0 || !nodes_same_axes(r->axes, r->n_axes, axes, n_axes))
            continue;
        fuse_add_store(f, r, value, param, buffer);
        return;
    }
    struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
    *r = (struct group){.order = param >= 0 && !needs_contraction ? -1 : value->id, .n_axes = n_axes};
    memcpy(r->axes, axes, (size_t)n_axes * sizeof *axes);
    fuse_add_store(f, r, value, param, buffer);
}

bool fuse_is_above(struct fuser *f, const struct node *n, const struct node *m) {
    const int reached = fuse_walk(f);
    f->mark[n->id] = reached;
    for (int i = n->id; i > m->id; i--)
        for (int a = 0; f->mark[i] == reached && a < f->g->nodes[i]->n_args; a++)
            f->mark[f->g->nodes[i]->args[a]->id] = reached;
    return f->mark[m->id] == reached;
}

/* ---- stores ---- */

/* Whether some of `below` is computed from n; in order of numbers, whether some stands behind it. */
static bool is_below_others(const struct fuser *f, const struct node *n, struct node *const *below, int n_below) {
    bool *from_it = NEW_ARRAY(&f->g->cx->arena, bool, f->g->n_nodes + 1), found = false;
    from_it[n->id] = true;
    for (int i = n->id + 1; i < f->g->n_nodes; i++)
        for (int k = 0; k < f->g->nodes[i]->n_args; k++) from_it[i] |= from_it[f->g->nodes[i]->args[k]->id];
    for (int i = 0; i < n_below; i++)
        found |= below[i] != n && (f->in_order ? below[i]->id > n->id : from_it[below[i]->id]);
    return found;
}

/* Whether another of `below` is a sum that the kernel of n has in registers, and is read where its epilogue has not got
 * it: at other elements, or behind the walk that a chain adds it up in. */
static bool reads_own_sum(struct fuser *f, const struct node *n, struct node *const *below, int n_below) {
    const struct group *r = group_of(f, n);
    for (int i = 0; r && i < n_below; i++)
        if (below[i] != n && group_sum(r, below[i]) >= 0 && (r->intermediate || !is_near(f, below[i]))) return true;
    return false;
}

/* The contraction among those found below a store over axes whose kernel may hold the store: the last it depends on,
 * unless that one has to run before another of them. */
static struct node *find_host(
    struct fuser *f, const struct node *value, const int *axes, int n_axes, struct node *const *below, int n) {
    struct node *host = NULL;
    for (int i = 0; i < n; i++)
        if (fuse_is_for_mainloop(f, below[i]) && nodes_same_axes(below[i]->axes, below[i]->n_axes, axes, n_axes) &&
            is_near(f, below[i]) && (f->epilogues || below[i] == value) && (!host || below[i]->id > host->id) &&
            !is_below_others(f, below[i], below, n) && !reads_own_sum(f, below[i], below, n))
            host = below[i];
    return host;
}

/* What stands between n and the element that is computed from it, element by element up to there: a relabel, a
 * reduction, a value of other axes. NULL: nothing. */
static const struct node *find_obstacle(const struct fuser *f, const struct node *n, const struct node *element) {
    const struct graph *g = f->g;
    bool *is_like = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1); /* computed from n at the same elements */
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_below[element->id] = is_like[n->id] = true;
    for (int i = element->id; i > n->id; i--)
        for (int k = 0; is_below[i] && k < g->nodes[i]->n_args; k++) is_below[g->nodes[i]->args[k]->id] = true;
    for (int i = n->id + 1; i <= element->id; i++) {
        const struct node *x = g->nodes[i];
        bool reads = false;
        for (int k = 0; k < x->n_args; k++) reads |= is_like[x->args[k]->id];
        if (!reads || !is_below[i]) continue;
        if ((x->kind != N_OP && x->kind != N_CAST) || !nodes_same_axes(x->axes, x->n_axes, n->axes, n->n_axes))
            return x;
        is_like[i] = true;
    }
    return NULL;
}

/* "M,N" */
static const char *axes_text(const struct graph *g, const int *axes, int n) {
    struct buf b;
    buf_init(&b, &g->cx->arena);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s" NAME_FMT, i ? "," : "", NAME_ARG(g->kernel->axes[axes[i]].name));
    return b.s;
}

/* Why n, below the element that is stored, needs a kernel of its own, and where the reason stands. */
static const char *why_apart(
    const struct fuser *f, const struct node *n, bool is_near_it, const struct node *element, struct span *at) {
    const struct node *x = find_obstacle(f, n, element);
    struct arena *a = &f->g->cx->arena;
    const char *what = ir_quote(f->g, n), *by = x && x->source ? ir_source(f->g, x) : what;
    if (strcmp(by, what) == 0)
        return arena_printf(a,
            is_near_it ? "%s is used over more axes than it has" : "%s is read at other elements than the one computed",
            what);
    *at = x->span;
    if (x->kind == N_REDUCE)
        return arena_printf(a, "%s needs %s whole along %s", by, what, axes_text(f->g, x->reduced, x->n_reduced));
    if (x->kind == N_SCAN) return arena_printf(a, "%s needs %s whole along %s", by, what, axes_text(f->g, &x->axis, 1));
    return arena_printf(a,
        x->kind == N_ACCESS ? "%s needs %s at other elements than the one computed"
                            : "%s uses %s over more axes than it has",
        by, what);
}

/* Collects what stands below an element of a store over axes, or of its row program; `shares`: the row program writes
 * the buffers of its rows. Returns how many. */
static int walk_below(
    struct fuser *f, struct node *element, const int *axes, int n_axes, bool is_stored, bool shares) {
    int both[2 * MAX_AXES];
    memcpy(both, f->row.axes, sizeof f->row.axes);
    memcpy(both + f->row.n_axes, f->row.reduced, sizeof f->row.reduced);
    const struct space space = {
        NULL, false, f->row.is_row ? both : axes, f->row.is_row ? f->row.n_axes + f->row.n_reduced : n_axes};
    f->shares_row = shares;
    fuse_walk(f);
    return reductions_below(f, element, &space, is_stored, 0);
}

/* Whether the reductions and scans of f->row that stand below an element and that buffers hold wait for the kernels
 * that the element waits for, f->waited: one program then stores them all. */
static bool waits_alike(struct fuser *f, const struct node *element, bool is_stored) {
    const struct graph *g = f->g;
    const int n_waited = f->n_waited, *waited = f->waited;
    struct node **below = f->below;
    bool *is_seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), are_alike = true;
    f->below = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    is_seen[element->id] = true;
    for (int i = element->id; are_alike && i >= 0; i--) {
        struct node *n = g->nodes[i];
        const bool is_loop = n->kind == N_REDUCE || n->kind == N_SCAN;
        if (!is_seen[i] || fuse_is_for_mainloop(f, n) || fuse_is_early(f, n)) continue;
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) is_seen[n->args[a]->id] = true;
        if (!is_loop || !fuse_fits_row(&f->row, n) || find_buffer(f->p, n, n->dtype) < 0 || (is_stored && n == element))
            continue;
        fuse_wait_for(f, f->below, walk_below(f, n, n->axes, n->n_axes, true, true));
        are_alike = f->n_waited == n_waited && memcmp(f->waited, waited, (size_t)n_waited * sizeof *waited) == 0;
    }
    f->below = below;
    f->waited = (int *)waited;
    f->n_waited = n_waited;
    return are_alike;
}

/* Whether positions of a store, if it has any, are the same for all elements of a row of f->row. */
static bool has_row_places(const struct fuser *f, const struct node *value) {
    for (int a = 1; value->kind == N_PLACE && a < value->n_args; a++)
        if (node_has_any(value->args[a], f->row.reduced, f->row.n_reduced)) return false;
    return true;
}

/* Whether tiles of product c hold the runs that partial reduction n is of, whole: each of its labels is all that one
 * factor of c has and the other lacks. */
static bool has_runs(const struct graph *g, const struct node *c, const struct node *n) {
    struct contraction of;
    struct partial_of x;
    if (!as_tiles(g, c, &of) || !as_partial(g, n, &x)) return false;
    for (int i = 0; i < x.n; i++) {
        const struct node *own = node_has_axis(of.a, x.label[i]) ? of.a : of.b, *other = own == of.a ? of.b : of.a;
        if (!node_has_axis(own, x.label[i])) return false;
        for (int k = 0; k < c->n_axes; k++) {
            const int axis = c->axes[k];
            const bool is_own = node_has_axis(own, axis) && !node_has_axis(other, axis);
            if (is_own != (axis == x.label[i]) && g->kernel->axes[axis].extent != 1) return false;
        }
    }
    return true;
}

/* Puts a stored value into the kernel that computes it, of which `element` is computed for each element of axes; asks
 * for buffers of the contractions it reads besides. False where the element is not the value itself and no
 * contraction's kernel may compute it. */
static bool place_element(
    struct fuser *f, struct node *value, struct node *element, const int *axes, int n_axes, int param, int buffer) {
    const struct graph *g = f->g;
    struct node **below = f->below;
    bool is_partial = element != value, is_stored = buffer >= 0 && !is_partial, is_placed = value->kind == N_PLACE;
    f->placed = value;
    if (f->chains && !is_partial && !is_placed && fuse_place_in_chain(f, value, param, buffer, axes, n_axes))
        return true;
    f->row.is_row = f->rows && !is_partial && fuse_find_row(f, value, axes, n_axes, is_stored, true, &f->row) &&
                    has_row_places(f, value);
    int n = walk_below(f, element, axes, n_axes, is_stored, true);
    fuse_wait_for(f, below, n);
    if (f->row.is_row && n) { /* what waits for others, or for none, is no step of its program */
        const bool are_alike = waits_alike(f, element, is_stored);
        f->row.is_row =
            fuse_find_row(f, value, axes, n_axes, is_stored, are_alike, &f->row) && has_row_places(f, value);
        n = walk_below(f, element, axes, n_axes, is_stored, are_alike);
        fuse_wait_for(f, below, n);
    }
    struct node *host = f->row.is_row || is_placed ? NULL : find_host(f, element, axes, n_axes, below, n);
    /* The epilogue of a chain reduces nothing. */
    if (is_partial && (!host || group_of(f, host)->intermediate || !has_runs(g, host, value))) return false;
    bool *is_near_it = NEW_ARRAY(&g->cx->arena, bool, n + 1);
    for (int i = 0; i < n; i++) is_near_it[i] = is_near(f, below[i]);
    for (int i = 0; i < n; i++) {
        if (below[i] == host) continue;
        struct group *x = host && is_near_it[i] && fuse_is_for_mainloop(f, below[i]) ? group_of(f, below[i]) : NULL;
        if (x && (x == group_of(f, host) || fuse_join_sum(f, group_of(f, host), x))) continue;
        if (node_is_stored(below[i])) {
            fuse_need_stored(f, below[i], "its reader takes what lies along it");
            continue;
        }
        const char *why = !f->epilogues ? "every contraction stands by itself"
                          : host && fuse_is_for_mainloop(f, below[i])
                              ? arena_printf(&g->cx->arena, "%s and %s are added up by two mainloops",
                                    ir_quote(f->g, below[i]), ir_quote(f->g, host))
                              : NULL;
        struct span at = below[i]->span;
        if (f->epilogues && (!why || !is_near_it[i])) why = why_apart(f, below[i], is_near_it[i], element, &at);
        const int b = fuse_need_buffer(f, below[i], below[i]->dtype, NULL, why, at);
        f->p->buffers[b].is_early = fuse_is_early(f, below[i]);
        f->p->has_early |= f->p->buffers[b].is_early;
    }
    if (f->row.is_row) fuse_add_row(f, value, param, buffer);
    else if (host) fuse_add_store(f, group_of(f, host), value, param, buffer);
    else add_pointwise(f, value, param, buffer, n > 0);
    return true;
}

/* Whether a store of row program r is computed from n, so that r waits for what stores n. */
static bool waits_for(struct fuser *f, const struct group *r, const struct node *n) {
    for (int s = 0; s < r->n_stores; s++)
        if (fuse_is_above(f, r->stores[s].value, n)) return true;
    return false;
}

/* Whether row program r takes runs of its rows as x does; all that it reduces so has the same ones. */
static bool takes_runs(const struct fuser *f, const struct group *r, const struct partial_of *x) {
    struct partial_of other;
    int both[2 * MAX_AXES];
    memcpy(both, r->axes, sizeof r->axes);
    memcpy(both + r->n_axes, r->reduced, sizeof r->reduced);
    bool is_of_rows = false;
    for (int i = 0; i < r->n_axes; i++) is_of_rows |= r->axes[i] == x->label[0];
    for (int s = 0; s < r->n_stores; s++)
        if (is_partial_store(f->g, r, &r->stores[s], &other) &&
            (other.run[0] != x->run[0] || other.label[0] != x->label[0]))
            return false;
    return x->n == 1 && is_of_rows &&
           nodes_same_axes(both, r->n_axes + r->n_reduced, x->of->axes, x->of->n_axes);
}

/* Puts what reduces runs of rows into a row program over these rows, which walks over its elements anyway. */
static bool place_beside_row(struct fuser *f, struct node *value, const struct partial_of *x, int buffer) {
    for (int i = 0; i < f->p->n_groups; i++) {
        struct group *r = &f->p->groups[i];
        if (!r->is_row || !takes_runs(f, r, x) || waits_for(f, r, value)) continue;
        const struct space space = {NULL, false, x->of->axes, x->of->n_axes};
        f->row = *r;
        f->shares_row = true;
        fuse_walk(f);
        if (reductions_below(f, x->of, &space, false, 0)) continue;
        fuse_add_store(f, r, value, -1, buffer);
        return true;
    }
    return false;
}

void fuse_place_store(struct fuser *f, struct node *value, int param, int buffer) {
    const struct axis_set space = store_space(f->g, value, param);
    struct partial_of x;
    if (buffer >= 0 && f->epilogues && as_partial(f->g, value, &x)) {
        if (x.size == PARTIAL_RUN && place_element(f, value, x.of, x.of->axes, x.of->n_axes, param, buffer)) return;
        if (f->rows && !x.is_spread && place_beside_row(f, value, &x, buffer)) return;
    }
    place_element(f, value, value, space.axes, space.n, param, buffer);
}

void fuse_place_partials(struct fuser *f) {
    struct partial_of x;
    const int *readers = count_readers(f->g);
    for (int i = 0; i < f->g->n_nodes; i++) {
        struct node *n = f->g->nodes[i];
        if (!readers[i] || !as_partial(f->g, n, &x)) continue;
        int b = find_buffer(f->p, n, n->dtype);
        if (b < 0)
            fuse_need_buffer(f, n, n->dtype, NULL,
                arena_printf(
                    &f->g->cx->arena, "%s is reduced tile by tile, and then the rest of the way", ir_quote(f->g, x.of)),
                n->span);
    }
}

void fuse_place_positions(struct fuser *f, int o) {
    const struct node *v = f->g->outputs[o].value;
    f->row.is_row = false;
    for (int a = 1; v->kind == N_PLACE && a < v->n_args; a++) {
        int n = walk_below(f, v->args[a], v->axes, v->n_axes, false, false);
        for (int i = 0; i < n; i++)
            fuse_need_buffer(f, f->below[i], node_is_stored(f->below[i]) ? f->below[i]->to : f->below[i]->dtype, NULL,
                "positions of what is copied in place are made of it", f->below[i]->span);
    }
}
