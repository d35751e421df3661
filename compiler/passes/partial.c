/* Divides reductions of a matrix product's result: runs of PARTIAL_RUN elements, which the product's epilogue reduces
 * tile by tile, then a reduction of the results of the runs.
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

/* What stands for reduction n of f, both already in out. */
static struct node *in_runs(
    struct splitter *s, struct graph *out, const struct node *n, struct node *f, const int *labels, int n_labels) {
    struct node at = {
        .kind = N_ACCESS, .dtype = f->dtype, .has_fill = true, .axis = -1, .span = n->span, .source = n->source};
    struct node runs = {.kind = N_REDUCE,
                    .reduction = n->reduction,
                    .dtype = n->dtype,
                    .axis = -1,
                    .span = n->span,
                    .source = n->source},
                rest = runs;
    struct node start = reduction_start(n->reduction, f->dtype);
    at.args[at.n_args++] = f;
    for (int i = 0; i < n_labels; i++) {
        int run = s->run[labels[i]], inner = s->inner[labels[i]];
        struct node *first = build_op(
            out, O_MUL, build_index(out, run, n), build_integer(out, FX_I64, s->size[labels[i]], n), NULL, n);
        at.at[at.n_at++] = labels[i];
        at.args[at.n_args++] = build_op(out, O_ADD, first, build_index(out, inner, n), NULL, n);
        runs.n_reduced = set_add(runs.reduced, runs.n_reduced, inner);
        rest.n_reduced = set_add(rest.reduced, rest.n_reduced, run);
    }
    for (int i = 0; i < n->n_reduced; i++)
        if (!set_has(labels, n_labels, n->reduced[i]))
            rest.n_reduced = set_add(rest.reduced, rest.n_reduced, n->reduced[i]);
    start.span = n->span;
    at.args[at.n_args] = build_node(out, start);
    runs.args[0] = build_node(out, at);
    rest.args[0] = build_node(out, runs);
    rest.name = n->name;
    return build_node(out, rest);
}

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

/* Whether n is the sum along one label, whose runs the epilogue of a product takes, of (f - c) ** 2: f is an element of
 * that epilogue, and c, which is computed from the product, the same along the label. */
static bool is_spread(struct splitter *s, const struct node *n, int *label, const struct node **f, const struct node **c) {
    const struct node *d = n->args[0]->args[0];
    int labels[MAX_AXES], n_labels;
    if (n->kind != N_REDUCE || n->reduction != RED_SUM || n->dtype != FX_F32 || !s->e.readers[n->id] ||
        !node_is_op(n->args[0], O_MUL) || n->args[0]->args[1] != d || !node_is_op(d, O_SUB))
        return false;
    *f = d->args[0], *c = d->args[1];
    const struct node *host = epilogue_host(&s->e, *f);
    if (!host || !s->e.depends[(*c)->id] || s->e.is_element[(*c)->id]) return false;
    struct node sum = *n;
    sum.args[0] = (struct node *)*f;
    if (!epilogue_reduces(&s->e, host, &sum, labels, &n_labels) || n_labels != 1 || n->n_reduced != 1 ||
        node_has_axis(*c, labels[0]))
        return false;
    *label = labels[0];
    return is_long(s, host, *label);
}

/* Whether reduction n is taken apart, and along which labels. */
static bool is_split(struct splitter *s, const struct node *n, int *labels, int *n_labels) {
    if (n->kind != N_REDUCE || !s->e.readers[n->id]) return false;
    const struct node *c = epilogue_host(&s->e, n->args[0]);
    return c && epilogue_reduces(&s->e, c, n, labels, n_labels) &&
           (*n_labels == 2 || is_long(s, c, labels[0]) || !epilogue_is_read_whole(&s->e, c));
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
    int labels[MAX_AXES], n_labels, size = PARTIAL_RUN;
    if (s->n_split == MOST_PARTIALS || s->kernel->n_axes + 4 > FX_MAX_EXTENTS || s->is_step[old->id])
        return graph_add(out, n);
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
        .kernel = NEW(a, struct kernel),
        .run = NEW_ARRAY(a, int, g->kernel->n_axes + 1),
        .inner = NEW_ARRAY(a, int, g->kernel->n_axes + 1),
        .size = NEW_ARRAY(a, int, g->kernel->n_axes + 1)};
    if (g->kernel->fuse == FUSE_NEVER) return (struct graph *)g;
    *s.kernel = *g->kernel;
    for (int i = 0; i < g->kernel->n_axes; i++) s.run[i] = s.inner[i] = -1;
    out->kernel = s.kernel;
    graph_rewrite(g, out, split, &s);
    return s.n_split ? pass_cse(out) : (struct graph *)g;
}
