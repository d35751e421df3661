/* Replaces a flattened label by the labels that it was made of: reads at `idx(R) // size(Q)` and `idx(R) % size(Q)`
 * become reads at P and Q, without division.
 *
 * In: a graph. Out: one in which the outputs and inputs along R are along P and Q, in that order, which is the same
 * memory. This is done if some access reads at positions of R that are exactly all P and Q, one element each, or reads
 * an input at `idx(P) * size(Q) + idx(Q)` of R. The kernel is a copy whose parameters have those labels; each remembers
 * its labels in the signature. Not if R is bound otherwise, by a reduction, a scan or an access, because it is then
 * more than a memory order; but an input that is read at other positions of R alone keeps it. Not if a value has P or Q
 * together with R. */
#include <string.h>

#include "passes/affine.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MAX_PARTS = 3, MAX_DEPTH = 8 };

struct parts { /* the labels that another flattens, outermost first */
    int n;
    int axes[MAX_PARTS];
};

/* idx(P) * size(Q) + idx(Q): the running index of the flattened label. */
static struct node *flat_index(struct graph *to, const struct parts *x, const struct node *like) {
    struct node *n = build_index(to, x->axes[0], like);
    for (int i = 1; i < x->n; i++)
        n = build_op(to, O_ADD, build_op(to, O_MUL, n, build_size(to, x->axes[i], like), NULL, like),
            build_index(to, x->axes[i], like), NULL, like);
    return n;
}

/* Position n, of indices, extents and numbers alone, with `by` in place of an index, NULL: as it is; NULL where it is
 * made of more. */
static struct node *with_index(struct graph *to, const struct node *n, struct node *by, int depth) {
    struct node copy = *n;
    if (n->kind == N_INDEX) return by ? by : build_node(to, copy);
    if (n->kind == N_SIZE || n->kind == N_CONST) return build_node(to, copy);
    if (n->kind != N_OP || depth > MAX_DEPTH) return NULL;
    for (int i = 0; i < n->n_args; i++)
        if (!(copy.args[i] = with_index(to, n->args[i], by, depth + 1))) return NULL;
    return build_node(to, copy);
}

/* Whether the positions of access n along those labels are, at their flattened index, those labels themselves. */
static bool takes_apart(struct graph *scratch, const struct node *n, const struct parts *x) {
    struct node reader = *n;
    reader.n_axes = 0;
    for (int i = 0; i < x->n; i++) reader.n_axes = set_add(reader.axes, reader.n_axes, x->axes[i]);
    struct affine_scope s = affine_scope(scratch, &reader);
    struct node *flat = flat_index(scratch, x, n);
    for (int i = 0; i < n->n_at; i++) {
        if (!set_has(x->axes, x->n, n->at[i])) continue;
        struct node *at = with_index(scratch, n->args[1 + i], flat, 0);
        if (!at) return false;
        at = affine_simplify(&s, at);
        if (at->kind != N_INDEX || at->axis != n->at[i]) return false;
    }
    return true;
}

/* Whether n is computed element by element along `flat` from inputs, and from sums over other labels where they may be
 * taken apart. */
static bool is_elementwise(const struct node *n, int flat, bool has_sums, int depth) {
    if (!node_has_axis(n, flat) || n->kind == N_INPUT || n->kind == N_INDEX) return true;
    bool is_sum = n->kind == N_REDUCE && has_sums;
    if ((n->kind != N_OP && n->kind != N_CAST && !is_sum) || depth > MAX_DEPTH) return false;
    for (int i = 0; i < n->n_args; i++)
        if (!is_elementwise(n->args[i], flat, has_sums, depth + 1)) return false;
    return true;
}

/* Short runs of a product are shared in its epilogue: share.c finds them along the flattened label. What is reduced
 * over other labels too is no run. */
static bool may_hold_sums(const struct graph *g, const struct parts *x) {
    const int last = x->axes[x->n - 1];
    int64_t run = g->kernel->axes[last].extent;
    bool is_run = false, is_wider = false;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (n->kind != N_REDUCE || !set_has(n->reduced, n->n_reduced, last)) continue;
        is_run |= n->n_reduced == 1;
        is_wider |= n->n_reduced > 1;
    }
    return (is_wider && !is_run) || run < 0 || run > PARTIAL_RUN || list_has(g->skip, "share");
}

/* Whether access n reads an input, or what is computed from inputs, at the flattened index of x along `flat`. */
static bool puts_together(
    const struct graph *g, struct graph *scratch, const struct node *n, int flat, const struct parts *x) {
    if (n->kind != N_ACCESS || n->has_fill || !is_elementwise(n->args[0], flat, may_hold_sums(g, x), 0))
        return false;
    for (int k = 0; k < n->n_at; k++) {
        if (n->at[k] != flat) continue;
        struct affine_scope s = affine_scope(scratch, n);
        struct node *at = with_index(scratch, n->args[1 + k], NULL, 0);
        if (!at) return false;
        at = affine_simplify(&s, build_op(scratch, O_SUB, at, flat_index(scratch, x, n), NULL, n));
        return is_integer_const(at, 0);
    }
    return false;
}

/* What access n, whose positions run over `flat` along the labels of x, takes that label for: x put in order. */
static bool order_parts(const struct graph *g, const struct node *n, int flat, struct parts *x) {
    bool binds = set_has(n->at, n->n_at, flat);
    static const int orders[][MAX_PARTS] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
    struct graph *scratch = graph_like(g);
    const struct parts unordered = *x;
    if (!axes_are_product(scratch, n, flat, x->axes, x->n)) return false;
    for (int o = 0; o < (x->n == 2 ? 2 : 6); o++) {
        for (int i = 0; i < x->n; i++) x->axes[i] = unordered.axes[orders[o][i]];
        if (binds ? puts_together(g, scratch, n, flat, x) : takes_apart(scratch, n, x)) return true;
    }
    return false;
}

/* The labels that some access takes `flat` apart into, or puts it together of. */
static bool find_parts(const struct graph *g, const int *readers, int flat, struct parts *x) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (!readers[i] || n->kind != N_ACCESS) continue;
        x->n = 0;
        for (int k = 0; k < n->n_at; k++) {
            const struct node *at = n->args[1 + k];
            if (n->at[k] != flat || at->n_axes < 2 || at->n_axes > MAX_PARTS) continue;
            x->n = at->n_axes;
            memcpy(x->axes, at->axes, (size_t)at->n_axes * sizeof *at->axes);
            if (order_parts(g, n, flat, x)) return true;
        }
        if (!node_has_axis(n, flat)) continue;
        x->n = 0;
        for (int k = 0; k < n->n_at; k++) {
            const struct node *at = n->args[1 + k];
            if (at->n_axes != 1 || at->axes[0] != flat) continue;
            if (x->n == MAX_PARTS) return false;
            x->axes[x->n++] = n->at[k];
        }
        if (x->n > 1 && order_parts(g, n, flat, x)) return true;
    }
    return false;
}

static bool has_some(const int *axes, int n_axes, const struct parts *x) {
    for (int i = 0; i < x->n; i++)
        if (set_has(axes, n_axes, x->axes[i])) return true;
    return false;
}

/* Which parameters are inputs read by nothing but accesses at positions along `flat` that do not have it, some of which
 * do not put x together: to these `flat` is the name of an axis. */
static bool *find_bound(const struct graph *g, const int *readers, int flat, const struct parts *x) {
    bool *is_bound = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1),
         *is_walked = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1);
    struct graph *scratch = graph_like(g);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        for (int a = 0; readers[i] && a < n->n_args; a++) {
            if (n->args[a]->kind != N_INPUT) continue;
            const bool binds = n->kind == N_ACCESS && !a && set_has(n->at, n->n_at, flat) && !node_has_axis(n, flat);
            if (!binds) is_walked[n->args[a]->param] = true;
            else if (!puts_together(g, scratch, n, flat, x)) is_bound[n->args[a]->param] = true;
        }
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value->kind == N_INPUT) is_walked[g->outputs[i].value->param] = true;
    for (int i = 0; i < g->kernel->n_params; i++) is_bound[i] &= !is_walked[i] && !g->kernel->params[i].is_output;
    return is_bound;
}

static bool is_of_bound(const struct node *n, const bool *is_bound) {
    return n->kind == N_ACCESS && n->args[0]->kind == N_INPUT && is_bound[n->args[0]->param];
}

/* Whether every value and tensor along `flat` may run over the parts instead. */
static bool may_unflatten(
    const struct graph *g, const int *readers, int flat, const struct parts *x, const bool *is_bound) {
    const struct kernel *k = g->kernel;
    struct graph *scratch = graph_like(g);
    bool is_walked = false; /* somewhere but in other values */
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (!set_has(p->axes, p->n_axes, flat) || is_bound[i]) continue;
        if (p->is_strided || p->packed.factor || has_some(p->axes, p->n_axes, x) ||
            p->n_axes + x->n - 1 > (int)(sizeof p->axes / sizeof *p->axes))
            return false;
        is_walked |= p->is_output;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (!readers[i] || is_of_bound(n, is_bound)) continue;
        bool binds = set_has(n->at, n->n_at, flat);
        if (set_has(n->reduced, n->n_reduced, flat) ||
            (binds && (n->kind == N_PLACE || !puts_together(g, scratch, n, flat, x))) ||
            ((n->kind == N_SCAN || n->kind == N_SHARE) && n->axis == flat))
            return false;
        is_walked |= binds;
        if (node_has_axis(n, flat) && (has_some(n->axes, n->n_axes, x) || n->n_axes + x->n - 1 > MAX_AXES))
            return false;
    }
    return is_walked;
}

/* The kernel with tensors along `flat` lying along its parts. */
static const struct kernel *relabel(
    struct arena *a, const struct kernel *k, int flat, const struct parts *x, const bool *is_bound) {
    struct kernel *out = NEW(a, struct kernel);
    *out = *k;
    out->params = NEW_ARRAY(a, struct param, k->n_params + 1);
    for (int i = 0; i < k->n_params; i++) {
        struct param *p = &out->params[i];
        *p = k->params[i];
        if (!set_has(p->axes, p->n_axes, flat) || is_bound[i]) continue;
        if (!p->signature) p->signature = &k->params[i];
        p->n_axes = 0;
        for (int j = 0; j < k->params[i].n_axes; j++) {
            int axis = k->params[i].axes[j];
            if (axis != flat) p->axes[p->n_axes++] = axis;
            for (int m = 0; axis == flat && m < x->n; m++) p->axes[p->n_axes++] = x->axes[m];
        }
    }
    return out;
}

struct flattened {
    int flat;
    const struct parts *parts;
    const bool *is_bound;
};

/* Access n, of a source that now lies along the parts, without its position along the flattened label. */
static struct node *without_position(struct graph *out, struct node *n, int flat) {
    struct node rest = *n;
    rest.n_at = 0, rest.n_args = 1;
    for (int k = 0; k < n->n_at; k++) {
        if (n->at[k] == flat) continue;
        rest.at[rest.n_at++] = n->at[k];
        rest.args[rest.n_args++] = n->args[1 + k];
    }
    return rest.n_at ? build_node(out, rest) : n->args[0];
}

static struct node *take_apart(
    void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    const struct flattened *f = state;
    (void)old, (void)map;
    if (n->kind == N_INDEX && n->axis == f->flat) return flat_index(out, f->parts, n);
    if (n->kind == N_ACCESS && set_has(n->at, n->n_at, f->flat) && !is_of_bound(n, f->is_bound))
        return without_position(out, n, f->flat);
    if (n->kind == N_INPUT) {
        const struct param *p = &out->kernel->params[n->param];
        n->n_axes = 0;
        for (int a = 0; a < p->n_axes; a++) n->n_axes = set_add(n->axes, n->n_axes, p->axes[a]);
    }
    return build_node(out, *n);
}

static struct graph *unflatten(const struct graph *g, int flat, const struct parts *x, const bool *is_bound) {
    struct graph *out = graph_like(g);
    out->kernel = relabel(&g->cx->arena, g->kernel, flat, x, is_bound);
    return graph_rewrite(g, out, take_apart, &(struct flattened){flat, x, is_bound});
}

struct graph *pass_unflatten(const struct graph *g) {
    struct graph *out = pass_dce(g);
    bool has_changed = false;
    for (int flat = 0; flat < g->kernel->n_axes; flat++) {
        struct parts x;
        const int *readers = count_readers(out);
        if (!find_parts(out, readers, flat, &x)) continue;
        const bool *is_bound = find_bound(out, readers, flat, &x);
        if (!may_unflatten(out, readers, flat, &x, is_bound)) continue;
        out = unflatten(out, flat, &x, is_bound);
        has_changed = true;
    }
    return has_changed ? pass_cse(out) : (struct graph *)g;
}
