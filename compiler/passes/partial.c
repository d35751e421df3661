/* Divides reductions of a matrix product's result: runs of PARTIAL_RUN elements, which the product's epilogue reduces
 * tile by tile, then a reduction of the results of the runs.
 *
 * What reads whole rows and is made of such runs too, sums of exponentials shifted by their maximum, places of extremes
 * and elements at positions, is begun so where then nothing else needs the product whole.
 *
 * In: a graph. Out: one in which red[N](f) has become red[P](red[I](f[N: PARTIAL_RUN * P + I] ?? start)), P and I new
 * labels of the kernel. f is pointwise over the result of a product, and the reduction is along all labels of one
 * factor alone or of both. Along each side there must be one label of more than one element, so that a run is a part of
 * a tile. Reductions along labels of rows, of an f over the elements of rows that a row program reads anyway, are
 * divided too, with runs of other lengths. For products it is done if nothing else needs the whole result, whose
 * elements are then not read again; otherwise if a row program would read it once more than without this reduction:
 * over both sides at once, or over more elements than its registers hold. Terms are added in another order, as in any
 * sum. Not with `fuse: never`, which wants every contraction by itself.
 *
 * sum[N]((f - c) ** 2), where c is computed from the product and is the same along N, as in a variance, becomes
 * sum[P](d + n * (m - c) ** 2): run P has n elements with mean m, and the epilogue begins d = sum[I]((f - m) ** 2) too. */
#include <math.h>
#include <string.h>

#include "passes/build.h"
#include "graph/chain.h"
#include "passes/epilogue.h"
#include "passes/passes.h"

enum {
    HELD_ALONG = 16384,
    HELD_ACROSS = 256
}; /* elements of a row that a row program keeps in registers where they are adjacent in memory; where neighbouring rows
      are (schedule/row.c) */
enum { MOST_PARTIALS = 16 }; /* of a kernel: each takes a buffer and registers of an epilogue */

struct splitter {
    const struct graph *g;
    struct epilogue e;
    struct kernel *kernel; /* of the new graph */
    int *run, *inner; /* by label of the old kernel: the two that it became, or -1 */
    int *size;        /* likewise: elements of a run */
    struct late *late; /* by node: begun in an epilogue though late, a place or at a position */
    bool *follows;     /* by node: a product of which nothing else is made */
    const bool *is_step; /* by node: a reduction of a chain's row, which the chain does itself */
    int n_split;
};

/* ---- labels ---- */

/* The runs of a label, and the places in one. */
static void split_label(struct splitter *s, int axis, int size) {
    struct arena *a = &s->g->cx->arena;
    struct kernel *k = s->kernel;
    if (s->run[axis] >= 0) return;
    s->size[axis] = size;
    const struct axis whole = k->axes[axis];
    struct axis run = {.name = whole.name,
                    .extent = whole.extent < 0 ? -1 : whole.extent / size + (whole.extent % size != 0),
                    .span = whole.span},
                inner = {.name = whole.name, .extent = size, .nominal = size, .span = whole.span};
    struct fx_term *terms = NEW_ARRAY(a, struct fx_term, 3);
    terms[0] = (struct fx_term){FX_T_EXTENT, axis}, terms[1] = (struct fx_term){FX_T_CONST, size},
    terms[2] = (struct fx_term){FX_T_CDIV, 0};
    run.nominal = run.extent >= 0 ? (double)run.extent
                                  : (double)(((int64_t)whole.nominal + size - 1) / size);
    s->run[axis] = build_made_label(s->g, k, run, "_runs", (struct fx_expr){3, terms},
        arena_printf(a, "ceil(" NAME_FMT " / %d)", NAME_ARG(whole.name), size));
    s->inner[axis] = build_made_label(s->g, k, inner, "_run", (struct fx_expr){0}, "");
}

/* ---- rewriting ---- */

static struct node reduction_of(enum reduction reduction, enum fx_dtype dtype, const struct node *like) {
    return (struct node){.kind = N_REDUCE,
        .reduction = reduction,
        .dtype = dtype,
        .axis = -1,
        .span = like->span,
        .source = like->source};
}

/* What each run of f, already in out, gives by itself. */
static struct node *of_runs(struct splitter *s, struct graph *out, enum reduction reduction, struct node *f,
    const int *labels, int n_labels, const struct node *n) {
    struct node at = {
        .kind = N_ACCESS, .dtype = f->dtype, .has_fill = true, .axis = -1, .span = n->span, .source = n->source};
    struct node runs = reduction_of(reduction, f->dtype, n), start = reduction_start(reduction, f->dtype);
    at.args[at.n_args++] = f;
    for (int i = 0; i < n_labels; i++) {
        int run = s->run[labels[i]], inner = s->inner[labels[i]];
        struct node *first = build_op(
            out, O_MUL, build_index(out, run, n), build_integer(out, FX_I64, s->size[labels[i]], n), NULL, n);
        at.at[at.n_at++] = labels[i];
        at.args[at.n_args++] = build_op(out, O_ADD, first, build_index(out, inner, n), NULL, n);
        runs.n_reduced = set_add(runs.reduced, runs.n_reduced, inner);
    }
    start.span = n->span;
    at.args[at.n_args] = build_node(out, start);
    runs.args[0] = build_node(out, at);
    return build_node(out, runs);
}

/* What stands for reduction n of f, both already in out. */
static struct node *in_runs(
    struct splitter *s, struct graph *out, const struct node *n, struct node *f, const int *labels, int n_labels) {
    struct node rest = reduction_of(n->reduction, n->dtype, n);
    for (int i = 0; i < n_labels; i++) rest.n_reduced = set_add(rest.reduced, rest.n_reduced, s->run[labels[i]]);
    for (int i = 0; i < n->n_reduced; i++)
        if (!set_has(labels, n_labels, n->reduced[i]))
            rest.n_reduced = set_add(rest.reduced, rest.n_reduced, n->reduced[i]);
    rest.args[0] = of_runs(s, out, n->reduction, f, labels, n_labels, n);
    rest.name = n->name;
    return build_node(out, rest);
}

/* ---- what reads a run's own extreme ---- */

/* The maximum or minimum of f over the run that an element stands in. */
static struct node *of_own_run(
    struct splitter *s, struct graph *out, enum reduction reduction, struct node *f, int label, const struct node *n) {
    const int64_t extent = s->kernel->axes[label].extent;
    return build_node(out, (struct node){.kind = N_SHARE,
                               .reduction = reduction,
                               .dtype = f->dtype,
                               .axis = label,
                               .run = PARTIAL_RUN,
                               .is_ragged = extent < 0 || extent % PARTIAL_RUN != 0,
                               .args = {f},
                               .span = n->span,
                               .source = n->source});
}

/* Summand f of the old graph with `exponential` in place of the one in it. */
static struct node *with_exponential(struct splitter *s, struct graph *out, const struct node *f, const struct late *x,
    struct node *exponential, struct node **map) {
    struct arena *a = &s->g->cx->arena;
    struct node **form = NEW_ARRAY(a, struct node *, f->id + 1); /* by node: what it becomes; NULL: its image */
    bool *is_below = NEW_ARRAY(a, bool, f->id + 1);
    is_below[f->id] = true;
    form[x->exponential->id] = exponential;
    for (int i = f->id; i > x->exponential->id; i--)
        for (int k = 0; is_below[i] && k < s->g->nodes[i]->n_args; k++) is_below[s->g->nodes[i]->args[k]->id] = true;
    for (int i = x->exponential->id + 1; i <= f->id; i++) {
        struct node copy = *s->g->nodes[i];
        bool is_made = false;
        for (int k = 0; is_below[i] && copy.kind == N_OP && k < copy.n_args; k++) {
            const int from = copy.args[k]->id;
            is_made |= form[from] != NULL;
            copy.args[k] = form[from] ? form[from] : map[from];
        }
        if (is_made) form[i] = graph_add(out, &copy);
    }
    return form[f->id];
}

/* sum[N](w * exp(f - c)), c the maximum of f where that is finite: of runs, exponentials shifted by the maximum of the
 * run, and exp(that maximum - c) times what each gives. */
static struct node *exponentials(
    struct splitter *s, struct graph *out, const struct node *n, const struct late *x, struct node **map) {
    struct node *f = map[x->of->id], *c = map[x->shift->id], *own = of_own_run(s, out, RED_MAX, f, x->label, n);
    struct node *is_finite = build_op(out, O_LT, build_op(out, O_ABS, own, NULL, NULL, n),
        build_number(out, FX_F32, INFINITY, n), NULL, n);
    struct node *shift = build_op(out, O_WHERE, is_finite, own, build_zero(out, FX_F32, n), n);
    struct node *e = build_op(out, O_EXP, build_op(out, O_SUB, f, shift, NULL, n), NULL, NULL, n);
    struct node *sums =
        of_runs(s, out, RED_SUM, with_exponential(s, out, n->args[0], x, e, map), &x->label, 1, n);
    struct node *most = of_runs(s, out, RED_MAX, f, &x->label, 1, n);
    struct node *is_below = build_op(out, O_LT, most, build_number(out, FX_F32, INFINITY, n), NULL, n);
    most = build_op(out, O_WHERE, is_below, most, build_zero(out, FX_F32, n), n); /* as the shift: 0 for inf and NaN */
    struct node *scale = build_op(out, O_EXP, build_op(out, O_SUB, most, c, NULL, n), NULL, NULL, n);
    return build_sum(out, build_op(out, O_MUL, sums, scale, NULL, n), &s->run[x->label], 1, n);
}

/* The place of the first extreme of f, or of the first NaN: of the first run that has it, the first in that. */
static struct node *place_of_extreme(
    struct splitter *s, struct graph *out, const struct node *n, struct node *f, int label) {
    const enum reduction extreme = n->reduction == RED_ARGMAX ? RED_MAX : RED_MIN;
    struct node *own = of_own_run(s, out, extreme, f, label, n), *run = build_integer(out, FX_I64, PARTIAL_RUN, n);
    struct node *is_it = build_op(out, O_OR, build_op(out, O_EQ, f, own, NULL, n),
        build_op(out, O_ISNAN, f, NULL, NULL, n), NULL, n);
    struct node place = {.kind = N_CAST,
                    .dtype = FX_I32,
                    .to = FX_I32,
                    .axis = -1,
                    .span = n->span,
                    .source = n->source},
                wide = place, at = place, best = reduction_of(n->reduction, FX_I64, n);
    place.args[0] = build_op(out, O_MOD, build_index(out, label, n), run, NULL, n);
    struct node *first = build_op(
        out, O_WHERE, is_it, build_node(out, place), build_integer(out, FX_I32, PARTIAL_RUN, n), n);
    best.args[0] = of_runs(s, out, extreme, f, &label, 1, n);
    best.reduced[best.n_reduced++] = s->run[label];
    at.kind = N_ACCESS;
    at.args[0] = of_runs(s, out, RED_MIN, first, &label, 1, n);
    at.args[1] = build_node(out, best);
    at.at[at.n_at++] = s->run[label];
    at.has_fill = true, at.args[2] = build_zero(out, FX_I32, n); /* of no elements there is no run */
    wide.dtype = wide.to = FX_I64;
    wide.args[0] = build_node(out, at);
    return build_op(
        out, O_ADD, build_op(out, O_MUL, at.args[1], run, NULL, n), build_node(out, wide), NULL, n);
}

/* f at one position along a label: the sum of f there and 0 elsewhere. n has the position, both already in out. */
static struct node *picked(struct splitter *s, struct graph *out, const struct node *n, int label) {
    struct node *f = n->args[0], *at = n->args[1], *zero = build_zero(out, FX_I64, n);
    struct node wide = {.kind = N_CAST, .dtype = FX_I64, .to = FX_I64, .axis = -1, .args = {at}, .span = n->span,
        .source = n->source};
    if (at->dtype != FX_I64) at = build_node(out, wide);
    struct node *term = build_op(out, O_WHERE, build_op(out, O_EQ, build_index(out, label, n), at, NULL, n), f,
        build_zero(out, f->dtype, n), n);
    struct node *sum = build_sum(out, of_runs(s, out, RED_SUM, term, &label, 1, n), &s->run[label], 1, n);
    if (!n->has_fill || node_is_number(n->args[2], 0)) return sum;
    struct node *is_inside = build_op(out, O_AND, build_op(out, O_GE, at, zero, NULL, n),
        build_op(out, O_LT, at, build_size(out, label, n), NULL, n), NULL, n);
    return build_op(out, O_WHERE, is_inside, sum, n->args[2], n);
}

/* What stands for n, a late sum, a place or an element at a position, of f as x says. */
static struct node *late_form(struct splitter *s, struct graph *out, const struct node *old, const struct node *n,
    const struct late *x, struct node **map) {
    if (old->kind == N_ACCESS) return picked(s, out, n, x->label);
    return x->exponential ? exponentials(s, out, old, x, map)
                          : place_of_extreme(s, out, n, map[x->of->id], x->label);
}

/* ---- where it is done ---- */

/* Whether a row program that reduces that label of product c reads it anew in every walk. */
static bool is_long(const struct splitter *s, const struct node *c, int label) {
    const struct kernel *k = s->g->kernel;
    int last = c->axes[c->n_axes - 1];
    for (int i = k->n_params - 1; i >= 0; i--) /* a buffer lies as the first output with its labels does */
        if (k->params[i].is_output && nodes_same_axes(k->params[i].axes, k->params[i].n_axes, c->axes, c->n_axes))
            last = k->params[i].axes[c->n_axes - 1];
    double extent = k->axes[label].extent >= 0 ? (double)k->axes[label].extent : k->axes[label].nominal;
    return extent > (label == last ? HELD_ALONG : HELD_ACROSS);
}

/* ---- sums of squares of distances ---- */

/* How many elements a run has, as f32 along the runs; *is_even: all have that many. */
static struct node *count_of_run(struct splitter *s, struct graph *out, const struct node *n, int label, bool *is_even) {
    const int size = s->size[label];
    const int64_t extent = s->kernel->axes[label].extent;
    *is_even = extent >= 0 && extent % size == 0;
    if (*is_even) return build_number(out, FX_F32, size, n);
    struct node *from = build_op(out, O_MUL, build_index(out, s->run[label], n), build_integer(out, FX_I64, size, n),
                    NULL, n),
                *left = build_op(out, O_SUB, build_size(out, label, n), from, NULL, n),
                *count = build_op(out, O_MIN, build_integer(out, FX_I64, size, n), left, NULL, n);
    return build_node(out, (struct node){.kind = N_CAST, .dtype = FX_F32, .to = FX_F32, .axis = -1, .args = {count},
                               .span = n->span, .source = n->source});
}

/* What stands for n, the sum along a label of (f - c) ** 2. */
static struct node *spread_in_runs(
    struct splitter *s, struct graph *out, const struct node *n, struct node *f, struct node *c, int label) {
    bool is_even;
    const struct node like = {.kind = N_REDUCE, .reduction = RED_SUM, .dtype = FX_F32, .n_reduced = 1,
        .reduced = {label}, .axis = -1, .span = n->span, .source = n->source};
    struct node *sum = in_runs(s, out, &like, f, &label, 1)->args[0], *count = count_of_run(s, out, n, label, &is_even),
                *mean = is_even ? build_op(out, O_MUL, sum, build_number(out, FX_F32, 1.0 / s->size[label], n), NULL, n)
                                : build_op(out, O_DIV, sum, count, NULL, n);
    struct node at = {.kind = N_ACCESS, .dtype = FX_F32, .axis = -1, .n_at = 1, .at = {s->run[label]},
        .args = {mean, build_op(out, O_FLOORDIV, build_index(out, label, n),
                           build_integer(out, FX_I64, s->size[label], n), NULL, n)},
        .span = n->span, .source = n->source};
    struct node *d = build_op(out, O_SUB, f, build_node(out, at), NULL, n),
                *own = in_runs(s, out, &like, build_op(out, O_MUL, d, d, NULL, n), &label, 1)->args[0],
                *off = build_op(out, O_SUB, mean, c, NULL, n), *square = build_op(out, O_MUL, off, off, NULL, n);
    struct node *each = build_op(out, O_ADD, own, build_op(out, O_MUL, count, square, NULL, n), NULL, n);
    struct node *all = build_sum(out, each, &s->run[label], 1, n);
    all->name = n->name;
    return all;
}

/* Whether c is a multiple of f's sum along the label, such as its mean: where f is infinite then so is c, and the sum of
 * squares NaN, as runs make it. Distances from another c would be infinite there. */
static bool is_multiple_of_sum(const struct node *c, const struct node *f, int label) {
    if (!node_is_op(c, O_MUL) && !node_is_op(c, O_DIV)) return false;
    for (int i = 0; i < (node_is_op(c, O_MUL) ? 2 : 1); i++) {
        const struct node *sum = c->args[i];
        if (sum->kind == N_REDUCE && sum->reduction == RED_SUM && sum->args[0] == f && sum->n_reduced == 1 &&
            sum->reduced[0] == label)
            return true;
    }
    return false;
}

/* Whether n is the sum along one label, whose runs the epilogue of a product takes, of (f - c) ** 2: f is an element of
 * that epilogue, and c a multiple of its sum, the same along the label. */
static bool is_spread(struct splitter *s, const struct node *n, int *label, const struct node **f, const struct node **c) {
    int labels[MAX_AXES], n_labels;
    if (n->kind != N_REDUCE || n->reduction != RED_SUM || n->dtype != FX_F32 || !s->e.readers[n->id] ||
        !node_is_op(n->args[0], O_MUL))
        return false;
    const struct node *d = n->args[0]->args[0];
    if (n->args[0]->args[1] != d || !node_is_op(d, O_SUB)) return false;
    *f = d->args[0], *c = d->args[1];
    const struct node *host = epilogue_host(&s->e, *f);
    if (!host) return false;
    struct node sum = *n;
    sum.args[0] = (struct node *)*f;
    if (!epilogue_reduces(&s->e, host, &sum, labels, &n_labels) || n_labels != 1 || n->n_reduced != 1 ||
        node_has_axis(*c, labels[0]) || !is_multiple_of_sum(*c, *f, labels[0]))
        return false;
    *label = labels[0];
    return is_long(s, host, *label);
}

/* Whether reduction n is taken apart, and along which labels. */
static bool is_split(struct splitter *s, const struct node *n, int *labels, int *n_labels) {
    if (n->kind != N_REDUCE || !s->e.readers[n->id]) return false;
    const struct node *c = epilogue_host(&s->e, n->args[0]);
    return c && epilogue_reduces(&s->e, c, n, labels, n_labels) &&
           (*n_labels == 2 || is_long(s, c, labels[0]) || s->follows[c->id] || !epilogue_is_read_whole(&s->e, c));
}

/* Whether elements over the labels of c, which one mainloop may add up with c, share something along another label than
 * `label`: runs of one label alone are columns of an epilogue. along: by node, the label of what a product begins late,
 * or -1. */
static bool shares_otherwise(const struct splitter *s, const struct node *c, int label, const int *along) {
    for (int i = 0; i < s->g->n_nodes; i++) {
        const struct node *n = s->g->nodes[i];
        const int other = n->kind == N_SHARE && s->e.readers[i] ? n->axis : along[i];
        if (other >= 0 && other != label && nodes_same_axes(n->axes, n->n_axes, c->axes, c->n_axes)) return true;
    }
    return false;
}

/* Finds products that their epilogues and what these reduce leave nothing of to be read, and what is late of that. */
static void find_late(struct splitter *s) {
    const struct graph *g = s->g;
    int *along = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    struct contraction x;
    for (int i = 0; i < g->n_nodes; i++) along[i] = -1;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *c = g->nodes[i];
        struct late *late = NEW_ARRAY(&g->cx->arena, struct late, g->n_nodes + 1);
        bool is_free = as_tiles(g, c, &x) && s->e.readers[i];
        int label = -1;
        if (is_free) epilogue_at(&s->e, c);
        if (!is_free || !epilogue_follows(&s->e, c, late)) continue;
        for (int k = 0; k < g->n_nodes; k++) {
            if (!late[k].of) continue;
            is_free &= !s->is_step[k] && epilogue_host(&s->e, late[k].of) == c;
            label = late[k].label;
        }
        s->follows[i] = is_free && !shares_otherwise(s, c, label, along);
        for (int k = 0; s->follows[i] && k < g->n_nodes; k++)
            if (late[k].of) s->late[k] = late[k];
        if (s->follows[i]) along[i] = label;
    }
}

/* ---- beside row programs ---- */

enum {
    LEAST_RUN = 8,      /* rows; of longer runs less is written and read again */
    RUNS_AT_ONCE = 256, /* occupy a GPU */
    LEAST_ROW = 128,    /* elements of a row that are worth a block's team */
};

/* The parameters over the elements that r walks over and that f reads at the same elements. */
static void mark_read(const struct splitter *s, const struct node *f, bool *is_read) {
    const struct graph *g = s->g;
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_below[f->id] = true;
    for (int i = f->id; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!is_below[i]) continue;
        if (n->kind == N_INPUT) is_read[n->param] |= nodes_same_axes(n->axes, n->n_axes, f->axes, f->n_axes);
        for (int k = n->kind == N_ACCESS; k < n->n_args; k++) is_below[n->args[k]->id] = true;
    }
}

static bool is_above(const struct graph *g, const struct node *n, const struct node *m) {
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_below[n->id] = true;
    for (int i = n->id; i > m->id; i--)
        for (int k = 0; is_below[i] && k < g->nodes[i]->n_args; k++) is_below[g->nodes[i]->args[k]->id] = true;
    return is_below[m->id];
}

/* Whether n adds rows up whose elements r reduces, or scans, and a walk over the rows serves both: they read a tensor
 * that lies along the rows. `last` is then its last label of the other ones. */
static bool shares_walk(const struct splitter *s, const struct node *n, const struct node *r, int *last) {
    const struct graph *g = s->g;
    const struct node *f = n->args[0];
    const int *cols = r->kind == N_SCAN ? &r->axis : r->reduced;
    int n_cols = r->kind == N_SCAN ? 1 : r->n_reduced;
    if ((r->kind != N_REDUCE && r->kind != N_SCAN) || !s->e.readers[r->id] || r == n || is_matrix_product(g, r) ||
        !nodes_same_axes(f->axes, f->n_axes, r->args[0]->axes, r->args[0]->n_axes) || is_above(g, r, n))
        return false;
    for (int i = 0; i < n->n_reduced; i++)
        if (set_has(cols, n_cols, n->reduced[i])) return false;
    bool *ours = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1),
         *theirs = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_params + 1);
    mark_read(s, f, ours), mark_read(s, r->args[0], theirs);
    for (int i = 0; i < g->kernel->n_params; i++) {
        const struct param *p = &g->kernel->params[i];
        if (!ours[i] || !theirs[i] || !p->n_axes || !set_has(cols, n_cols, p->axes[p->n_axes - 1])) continue;
        for (int k = 0; k < p->n_axes; k++)
            if (!set_has(cols, n_cols, p->axes[k])) *last = p->axes[k];
        return true;
    }
    return false;
}

/* Whether reduction n, over rows, is taken apart so that a row program over them begins it: along which label, and how
 * long runs are. */
static bool is_beside_rows(struct splitter *s, const struct node *n, int *label, int *size) {
    const struct graph *g = s->g;
    const struct kernel *k = g->kernel;
    if (k->fuse != FUSE_PREFER || k->kernels || n->kind != N_REDUCE || !s->e.readers[n->id] || n->reduction > RED_MIN ||
        n->args[0]->dtype == FX_BOOL || is_matrix_product(g, n))
        return false;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *r = g->nodes[i];
        double rows = 1, cols = 1;
        if (!shares_walk(s, n, r, label) || !set_has(n->reduced, n->n_reduced, *label)) continue;
        for (int a = 0; a < n->args[0]->n_axes; a++) {
            const struct axis *x = &k->axes[n->args[0]->axes[a]];
            bool is_col = r->kind == N_SCAN ? r->axis == n->args[0]->axes[a]
                                            : set_has(r->reduced, r->n_reduced, n->args[0]->axes[a]);
            *(is_col ? &cols : &rows) *= x->extent >= 0 ? (double)x->extent : x->nominal;
        }
        double extent = k->axes[*label].extent >= 0 ? (double)k->axes[*label].extent : k->axes[*label].nominal;
        *size = PARTIAL_RUN;
        while (*size > LEAST_RUN && (rows < (double)*size * RUNS_AT_ONCE || extent < *size)) *size /= 2;
        if (extent >= *size && cols >= LEAST_ROW && (s->run[*label] < 0 || s->size[*label] == *size)) return true;
    }
    return false;
}

/* Marks, by id, the reductions that a chain does along its intermediate: what they reduce is never stored. */
static bool *find_chain_steps(const struct graph *g) {
    bool *is_step = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        struct chain_parts parts;
        const char *why_not;
        if (!chain_find(g, g->nodes[i], false, &parts, &why_not)) continue;
        bool *depends = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
        for (int k = 0; k < parts.n_inner; k++) depends[parts.inner[k]->id] = true;
        for (int j = 0; j < g->n_nodes; j++) {
            const struct node *n = g->nodes[j];
            for (int k = 0; k < n->n_args; k++) depends[j] |= depends[n->args[k]->id];
            is_step[j] |= depends[j] && n->kind == N_REDUCE &&
                          nodes_same_axes(n->reduced, n->n_reduced, parts.t, parts.n_t);
        }
    }
    return is_step;
}

static struct node *split(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct splitter *s = state;
    const struct late *late = &s->late[old->id];
    int labels[MAX_AXES], n_labels, size = PARTIAL_RUN;
    if (s->n_split >= MOST_PARTIALS || s->kernel->n_axes + 4 > FX_MAX_EXTENTS || s->is_step[old->id])
        return graph_add(out, n);
    if (late->of && (s->run[late->label] < 0 || s->size[late->label] == PARTIAL_RUN)) {
        split_label(s, late->label, PARTIAL_RUN);
        s->n_split += 2;
        return late_form(s, out, old, n, late, map);
    }
    bool is_of_tiles = is_split(s, old, labels, &n_labels);
    const struct node *f, *c;
    int label;
    if (!is_of_tiles && is_spread(s, old, &label, &f, &c) && (s->run[label] < 0 || s->size[label] == PARTIAL_RUN)) {
        split_label(s, label, PARTIAL_RUN);
        s->n_split++;
        return spread_in_runs(s, out, n, map[f->id], map[c->id], label);
    }
    for (int k = 0; is_of_tiles && k < n_labels; k++)
        is_of_tiles &= s->run[labels[k]] < 0 || s->size[labels[k]] == PARTIAL_RUN;
    if (!is_of_tiles) {
        n_labels = 1;
        if (!is_beside_rows(s, old, labels, &size)) return graph_add(out, n);
    }
    for (int k = 0; k < n_labels; k++) split_label(s, labels[k], size);
    s->n_split++;
    return in_runs(s, out, n, n->args[0], labels, n_labels);
}

struct graph *pass_partial(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    struct graph *out = graph_like(g);
    struct splitter s = {.g = g,
        .e = epilogue_open(g),
        .is_step = find_chain_steps(g),
        .late = NEW_ARRAY(a, struct late, g->n_nodes + 1),
        .follows = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .kernel = NEW(a, struct kernel),
        .run = NEW_ARRAY(a, int, g->kernel->n_axes + 1),
        .inner = NEW_ARRAY(a, int, g->kernel->n_axes + 1),
        .size = NEW_ARRAY(a, int, g->kernel->n_axes + 1)};
    if (g->kernel->fuse == FUSE_NEVER) return (struct graph *)g;
    *s.kernel = *g->kernel;
    for (int i = 0; i < g->kernel->n_axes; i++) s.run[i] = s.inner[i] = -1;
    out->kernel = s.kernel;
    find_late(&s);
    graph_rewrite(g, out, split, &s);
    return s.n_split ? pass_cse(out) : (struct graph *)g;
}
