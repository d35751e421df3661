/* Split-K: a contraction with few tiles and a long k as contractions of slices of k, and their sum.
 *
 * In: a graph. Out: one in which sum[K](a * b) has become sum[S](sum[I](a[K: n * S + I] * b[K: n * S + I])), S and I
 * new labels of the kernel with fixed extents, for a contraction that takes a quarter less time so at nominal extents:
 * one whose tiles leave most multiprocessors idle, also where clusters of blocks share out the k of a tile. S is then
 * one more batch axis: slices run beside each other, and what adds them up does the epilogue. The extent of K has to be
 * fixed, and slices are as long as one another. Terms are added in another order, as in any sum. Not where the kernel
 * says how many GPU kernels it wants or that every contraction is to be by itself, and not where a factor is made of
 * another product of matrices: that may be a chain, which is one kernel. A factor made of a mean is cut as any other. */
#include <string.h>

#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

enum {
    SLICE_STEP = 64, /* k of a slice is a multiple of it; of OUTER_STEP where k has other labels */
    OUTER_STEP = 16,
    LEAST_SLICE = 256, /* k of a slice, all labels together */
    MOST_SPLIT = 4     /* contractions of a kernel */
};

struct slicer {
    const struct graph *g;
    struct kernel *kernel; /* of the new graph */
    const bool *has_product; /* by node: made of a product of matrices, or of a scan */
    int n_split;
};

/* ---- whether, and how ---- */

/* What a multiprocessor multiplies in a cycle, about; what adding the slices up costs beside its bytes; what it has to
 * come to of the time of the whole. */
static double flops_a_cycle(const struct graph *g, const struct node *n, enum fx_dtype factor) {
    if (fx_dtype_bits(factor) <= 16) return g->cx->arch->has_wgmma ? 2700 : 1500;
    return n->may_tf32 ? 800 : fx_dtype_bits(n->dtype) == 64 ? 60 : 230;
}
static const double JOIN_SECONDS = 4e-6, WORTH = 0.75, EXCHANGE_SECONDS = 2e-6; /* of clusters */

static enum fx_dtype stored_dtype(const struct graph *g, const struct node *n) {
    while (n->kind == N_CAST || n->kind == N_ACCESS) n = n->args[0];
    return n->kind == N_INPUT ? g->kernel->params[n->param].dtype : n->dtype;
}

/* The reduced label that is cut: the longest. */
static int longest(const struct graph *g, const struct node *n) {
    int best = -1;
    for (int i = 0; i < n->n_reduced; i++) {
        int64_t extent = g->kernel->axes[n->reduced[i]].extent;
        if (extent > 0 && (best < 0 || extent > g->kernel->axes[best].extent)) best = n->reduced[i];
    }
    return best;
}

static double up(double x, int step) { return (double)(((int64_t)x + step - 1) / step); }

/* The elements of n that one factor alone has labels of, or both, or only the other. */
static double extent_of(
    const struct graph *g, const struct node *n, const struct node *with, const struct node *without) {
    double size = 1;
    for (int i = 0; i < n->n_axes; i++)
        if (node_has_axis(with, n->axes[i]) && (!without || !node_has_axis(without, n->axes[i])))
            size *= nominal_size(g, &n->axes[i], 1);
    return size;
}

/* Seconds of a product of so many batches, by the tile that suits it best; `rate` is that of the largest. Clusters may
 * share out the k of a tile. */
static double product_seconds(const struct arch *m, double rows, double cols, double batches, double depth, double rate,
    bool has_clusters) {
    static const struct {
        int rows, cols;
        double rate; /* of the largest's */
    } tiles[] = {{128, 128, 1}, {64, 128, 0.8}, {64, 64, 0.55}};
    double least = 0;
    for (int i = 0; i < 3; i++) {
        double n = batches * up(rows, tiles[i].rows) * up(cols, tiles[i].cols),
               seconds = up(n, m->sms) * 2.0 * tiles[i].rows * tiles[i].cols * depth / (rate * tiles[i].rate) /
                         m->cycles;
        if (i == 0 || seconds < least) least = seconds;
        int blocks = has_clusters ? arch_cluster_blocks(m, n) : 1;
        seconds *= up(n * blocks, m->sms) / up(n, m->sms) / blocks;
        if (blocks > 1 && seconds + EXCHANGE_SECONDS < least) least = seconds + EXCHANGE_SECONDS;
    }
    return least;
}

/* Seconds of a product with so few rows that the skinny driver takes it, which reads the other factor once: by its
 * bytes, of which an SM reads no more than it can. NEVER where it does not take it. */
static const double NEVER = 1e30;
static double skinny_seconds(const struct arch *m, double rows, double cols, double batches, double depth, int bits) {
    enum { TILE = 16 };
    static const double ALONE = 2.5; /* times its share of the bandwidth that an SM reads where others are idle */
    double tiles = batches * up(cols, TILE), busy = tiles * ALONE / m->sms;
    if (rows > (bits <= 16 ? 16 : bits <= 32 ? 8 : 4)) return NEVER;
    return batches * cols * depth * bits / 8 / m->copied / (busy < 1 ? busy : 1);
}

/* Slices that contraction n is cut in along label *k; 1: it is not. */
static int count_slices(const struct slicer *s, const struct node *n, int *k) {
    const struct graph *g = s->g;
    const struct arch *m = g->cx->arch;
    struct contraction c;
    if (!as_mainloop(n, &c) || !is_matrix_product(g, n) || s->has_product[n->args[0]->id]) return 1;
    if ((*k = longest(g, n)) < 0) return 1;
    double a = extent_of(g, n, c.a, c.b), b = extent_of(g, n, c.b, c.a), elements = nominal_size(g, n->axes, n->n_axes),
           rows = a < b ? a : b, cols = a < b ? b : a, batches = elements / (a * b),
           depth = nominal_size(g, n->reduced, n->n_reduced);
    enum fx_dtype da = stored_dtype(g, c.a), db = stored_dtype(g, c.b);
    enum fx_dtype wider = fx_dtype_bits(da) > fx_dtype_bits(db) ? da : db;
    bool has_clusters = m->has_wgmma && (da == FX_F16 || da == FX_BF16) && da == db;
    int bits = fx_dtype_bits(wider);
    double rate = flops_a_cycle(g, n, wider),
           whole = product_seconds(m, rows, cols, batches, depth, rate, has_clusters),
           skinny = skinny_seconds(m, rows, cols, batches, depth, bits),
           best = WORTH * (whole < skinny ? whole : skinny);
    int64_t extent = g->kernel->axes[*k].extent;
    /* beside other labels of k a slice may have few elements of this one, but not of those that tensor maps bring */
    const int step = n->n_reduced > 1 && !has_clusters ? OUTER_STEP : SLICE_STEP;
    int slices = 1;
    for (int d = 2; d <= m->sms && depth / d >= LEAST_SLICE; d++) {
        if (extent % d || extent / d % step) continue;
        double product = product_seconds(m, rows, cols, batches * d, depth / d, rate, false),
               sliced = skinny_seconds(m, rows, cols, batches * d, depth / d, bits),
               seconds = (sliced >= NEVER ? product : sliced) + JOIN_SECONDS +
                         2.0 * d * elements * fx_dtype_bits(n->dtype) / 8 / m->copied;
        if (seconds < best) best = seconds, slices = d;
    }
    return slices;
}

/* ---- rewriting ---- */

static struct node *cut(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct slicer *s = state;
    int k, slices = s->n_split < MOST_SPLIT && s->kernel->n_axes + 2 <= FX_MAX_EXTENTS && old->kind == N_REDUCE &&
                            old->args[0]->n_axes < MAX_AXES
                        ? count_slices(s, old, &k)
                        : 1;
    (void)map;
    if (slices == 1) return graph_add(out, n);
    s->n_split++;
    const struct axis whole = s->kernel->axes[k];
    struct axis slice = {.name = build_label_name(s->g, s->kernel, whole.name, "_slices"),
                    .extent = slices,
                    .nominal = slices,
                    .span = whole.span,
                    .part_of = -1,
                    .is_inner = true},
                within = slice;
    int number = build_label(s->g, s->kernel, slice);
    within.name = build_label_name(s->g, s->kernel, whole.name, "_slice");
    within.extent = whole.extent / slices, within.nominal = (double)within.extent;
    int place = build_label(s->g, s->kernel, within);
    struct node *first = build_op(
        out, O_MUL, build_index(out, number, n), build_integer(out, FX_I64, within.extent, n), NULL, n);
    struct node at = {.kind = N_ACCESS, .dtype = n->args[0]->dtype, .axis = -1, .span = n->span, .source = n->source};
    at.args[at.n_args++] = n->args[0];
    at.at[at.n_at++] = k;
    at.args[at.n_args++] = build_op(out, O_ADD, first, build_index(out, place, n), NULL, n);
    struct node slice_sum = *n;
    slice_sum.name = (struct name){0};
    slice_sum.args[0] = build_node(out, at);
    slice_sum.n_reduced = 0;
    for (int i = 0; i < n->n_reduced; i++)
        if (n->reduced[i] != k) slice_sum.n_reduced = set_add(slice_sum.reduced, slice_sum.n_reduced, n->reduced[i]);
    slice_sum.n_reduced = set_add(slice_sum.reduced, slice_sum.n_reduced, place);
    struct node *sum = build_sum(out, build_node(out, slice_sum), &number, 1, n);
    sum->name = n->name;
    return sum;
}

struct graph *pass_split_k(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    bool *has_product = NEW_ARRAY(a, bool, g->n_nodes + 1);
    struct slicer s = {.g = g, .kernel = NEW(a, struct kernel), .has_product = has_product};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        for (int j = 0; j < n->n_args; j++) {
            const struct node *x = n->args[j];
            has_product[i] |= has_product[x->id] || x->kind == N_SCAN || (x->kind == N_REDUCE && is_matrix_product(g, x));
        }
    }
    *s.kernel = *g->kernel;
    struct graph *out = graph_like(g);
    out->kernel = s.kernel;
    graph_rewrite(g, out, cut, &s);
    return s.n_split ? out : (struct graph *)g;
}
