/* Split-K: replaces a contraction with few tiles and a long k by contractions of slices of k, and their sum.
 *
 * In: a graph. Out: one in which sum[K](a * b) has become sum[S](sum[I](a[K: n * S + I] * b[K: n * S + I])), S and I
 * new labels of the kernel. This is done for a contraction that takes a quarter less time that way at nominal extents:
 * one whose tiles leave most multiprocessors idle, even if clusters of blocks divide the k of a tile. S is then one
 * more batch axis: slices run in parallel, and the kernel that adds them does the epilogue. Slices have equal length if
 * possible; otherwise the last one is shorter, a and b must be in memory, under these labels or under others as in
 * x^T x, and they are read as 0 behind the end of K. If an extent is open, the launch has the number of slices: labels
 * whose equations say what keeps all multiprocessors busy and, for computed factors, what divides K. Terms are added in
 * another order, as in any sum.
 *
 * If the kernel says how many GPU kernels it wants, the slices and their sum are phases of one, or the form without
 * slices is taken (form.c). Not if every contraction is to be by itself. Not if a factor is computed from another
 * matrix product, because that may be a chain, which is one kernel. Not if a factor is packed along K, because fields
 * would be read one by one. A factor computed from a mean is cut like any other. */
#include <math.h>
#include <string.h>

#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"
#include "passes/split_k.h"

enum { MOST_SPLIT = MAX_PAYS }; /* contractions of a kernel */

struct slicer {
    const struct graph *g;
    struct kernel *kernel; /* of the new graph */
    const bool *has_product; /* by node: made of a product of matrices, or of a scan */
    int n_split;
};

/* ---- whether, and how ---- */

/* What a multiprocessor multiplies in a cycle, about. */
static double flops_a_cycle(const struct graph *g, const struct node *n, enum fx_dtype factor) {
    if (fx_dtype_bits(factor) <= 16) return g->cx->arch->has_wgmma ? 2700 : 1500;
    return n->may_tf32 ? 800 : fx_dtype_bits(n->dtype) == 64 ? 60 : 230;
}

static enum fx_dtype stored_dtype(const struct graph *g, const struct node *n) {
    while (n->kind == N_CAST || n->kind == N_ACCESS) n = n->args[0];
    return n->kind == N_INPUT ? g->kernel->params[n->param].dtype : n->dtype;
}

/* In which factor n is multiplied: a cast to a 16-bit float says so, whatever is cast. */
static enum fx_dtype factor_dtype(const struct graph *g, const struct node *n) {
    return n->kind == N_CAST && fx_is_float(n->to) && fx_dtype_bits(n->to) == 16 ? n->to : stored_dtype(g, n);
}

/* Whether factor n is made of a tensor packed along k. Slices of it are no words but fields, read one by one. */
static bool reads_fields(const struct graph *g, const struct node *n, int k) {
    bool *is_needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_needed[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        const struct param *p = at->kind == N_INPUT ? &g->kernel->params[at->param] : NULL;
        if (is_needed[i] && p && p->packed.factor && p->axes[p->packed.axis] == k) return true;
        for (int a = 0; is_needed[i] && a < at->n_args; a++) is_needed[at->args[a]->id] = true;
    }
    return false;
}

/* The reduced label that is cut: the longest. */
static int longest(const struct graph *g, const struct node *n) {
    int best = -1;
    for (int i = 0; i < n->n_reduced; i++)
        if (best < 0 || nominal_size(g, &n->reduced[i], 1) > nominal_size(g, &best, 1)) best = n->reduced[i];
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

const struct split_tile split_tiles[N_TILES] = {{128, 128, 1}, {64, 128, 0.8}, {64, 64, 0.55}};

/* Seconds of a product of so many batches, by the tile that suits it best; `rate` is that of the largest. Clusters may
 * share out the k of a tile. */
static double product_seconds(const struct arch *m, double rows, double cols, double batches, double depth, double rate,
    bool has_clusters) {
    const struct split_tile *tiles = split_tiles;
    double least = 0;
    for (int i = 0; i < N_TILES; i++) {
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
 * bytes, of which an SM reads no more than it can, and waits for. NEVER where it does not take it. */
static const double NEVER = 1e30;
int split_few_rows(int bits) { return bits <= 16 ? 16 : bits <= 32 ? 8 : 4; }
double split_busy_tiles(const struct arch *m) { return floor(m->sms / ALONE); }

static double skinny_seconds(const struct arch *m, double rows, double cols, double batches, double depth, int bits) {
    double tiles = batches * up(cols, FEW_TILE), busy = tiles * ALONE / m->sms;
    if (rows > split_few_rows(bits)) return NEVER;
    double reading = batches * cols * depth * bits / 8 / m->copied / (busy < 1 ? busy : 1),
           waiting = depth / ROUND * ROUND_SECONDS;
    return reading > waiting ? reading : waiting;
}

/* Whether n is its operand with other labels in the places of some, but for k, which stays where it is. */
static bool is_renamed(const struct node *n, int k) {
    if (n->kind != N_ACCESS || n->has_fill || !node_has_axis(n->args[0], k)) return false;
    for (int i = 0; i < n->n_at; i++)
        if (n->args[1 + i]->kind != N_INDEX || n->args[1 + i]->axis == k || n->at[i] == k) return false;
    return n->args[0]->n_axes == n->n_axes;
}

/* What lies in memory with label k as one of its own; its other labels may stand in the places of others. */
static bool is_plain(const struct graph *g, const struct node *n, int k) {
    if (is_renamed(n, k)) n = n->args[0];
    return n->kind == N_INPUT && node_has_axis(n, k) && !g->kernel->params[n->param].packed.factor &&
           !g->kernel->params[n->param].is_strided;
}

int split_step(int bits) {
    enum { BLOCK_BITS = 128 * 8 };
    return bits * SLICE_STEP < BLOCK_BITS ? BLOCK_BITS / bits : SLICE_STEP;
}

/* The number of slices that keep every multiprocessor busy, of equal length but for the last one. */
static double wanted_slices(const struct graph *g, const struct node *n, const struct slices *of, double depth) {
    const int64_t wanted = split_most(g, n, of);
    const int step = split_step(of->bits);
    return wanted > 1 ? up(depth, step * (int)up(up(depth, (int)wanted), step)) : 1;
}

/* Whether rows of a tensor are known to be no multiple of 16 bytes. */
static bool has_odd_rows(const struct graph *g, const struct param *p) {
    const int64_t extent = p->n_axes ? g->kernel->axes[p->axes[p->n_axes - 1]].extent : -1;
    return extent > 0 && extent * fx_dtype_bits(p->dtype) / 8 % 16;
}

/* Likewise of a factor of 16-bit floats, as it lies in memory. */
static bool is_odd(const struct graph *g, const struct node *n) {
    const struct param *p = n->kind == N_INPUT ? &g->kernel->params[n->param] : NULL;
    return p && fx_dtype_bits(p->dtype) == 16 && has_odd_rows(g, p);
}

/* Whether an output with the labels of contraction n has rows that are no multiple of 16 bytes, which no cluster
 * stores. */
static bool stores_odd_rows(const struct graph *g, const struct node *n) {
    for (int i = 0; i < g->kernel->n_params; i++) {
        const struct param *p = &g->kernel->params[i];
        if (p->is_output && nodes_same_axes(p->axes, p->n_axes, n->axes, n->n_axes) && has_odd_rows(g, p)) return true;
    }
    return false;
}

/* The last label of the output with the labels of contraction n, and how many elements are 16 bytes; -1: there is none.
 */
static int stored_label(const struct graph *g, const struct node *n, int *chunk) {
    for (int i = 0; i < g->kernel->n_params; i++) {
        const struct param *p = &g->kernel->params[i];
        if (!p->is_output || !p->n_axes || !nodes_same_axes(p->axes, p->n_axes, n->axes, n->n_axes)) continue;
        *chunk = 128 / fx_dtype_bits(p->dtype);
        return p->axes[p->n_axes - 1];
    }
    return -1;
}

/* Whether all labels of n have fixed extents, those it sums over among them. */
static bool are_fixed(const struct graph *g, const struct node *n) {
    for (int i = 0; i < n->n_reduced; i++)
        if (g->kernel->axes[n->reduced[i]].extent < 0) return false;
    return node_has_fixed_extents(g, n);
}

/* Whether contraction n is cut, and how. */
static bool find_slices(const struct slicer *s, const struct node *n, struct slices *out) {
    const struct graph *g = s->g;
    const struct arch *m = g->cx->arch;
    struct contraction c;
    if (!as_mainloop(n, &c) || !is_matrix_product(g, n) || s->has_product[n->args[0]->id]) return false;
    const int k = longest(g, n);
    if (k < 0 || reads_fields(g, c.a, k) || reads_fields(g, c.b, k)) return false;
    *out = (struct slices){.k = k, .of = c};
    out->stored = stored_label(g, n, &out->chunk);
    double a = extent_of(g, n, c.a, c.b), b = extent_of(g, n, c.b, c.a), elements = nominal_size(g, n->axes, n->n_axes),
           rows = a < b ? a : b, cols = a < b ? b : a, batches = elements / (a * b),
           depth = nominal_size(g, n->reduced, n->n_reduced);
    if (elements <= 0) return false; /* nothing is computed, and batches may be 0 / 0 */
    enum fx_dtype da = stored_dtype(g, c.a), db = stored_dtype(g, c.b);
    enum fx_dtype fa = factor_dtype(g, c.a), fb = factor_dtype(g, c.b),
                  wider = fx_dtype_bits(fa) > fx_dtype_bits(fb) ? fa : fb;
    const bool by_maps = m->has_wgmma && (da == FX_F16 || da == FX_BF16) && da == db,
               has_clusters = by_maps && !stores_odd_rows(g, n);
    const int bits = out->bits = fx_dtype_bits(wider);
    double rate = flops_a_cycle(g, n, wider),
           whole = product_seconds(m, rows, cols, batches, depth, rate, has_clusters),
           skinny = skinny_seconds(m, rows, cols, batches, depth, bits),
           most = 1, odd = is_odd(g, c.a) || is_odd(g, c.b) ? build_odd_seconds(g, n, &c, &most) : 0;
    if (odd > whole) whole = odd;
    double best = WORTH * (whole < skinny ? whole : skinny);
    int64_t extent = g->kernel->axes[k].extent;
    /* beside other labels of k a slice may have few elements of this one, but not of those that tensor maps bring */
    const int block = split_step(bits), step = n->n_reduced > 1 && !by_maps ? OUTER_STEP : block;
    const bool is_open = !are_fixed(g, n);
    const bool are_plain = n->n_reduced == 1 && is_plain(g, c.a, k) && is_plain(g, c.b, k);
    /* what is computed has equal slices alone, of one label such as end within a block of k */
    const int least = n->n_reduced > 1 || are_plain ? step : FINE_STEP;
    const double wanted = wanted_slices(g, n, out, depth);
    /* where the launch knows extents, factors that are read as they lie may be cut anywhere, others in equal slices */
    const double uneven = are_plain ? wanted : 0,
                 even = is_open && !are_plain && !by_maps ? split_even((int64_t)nominal_size(g, &k, 1), wanted) : 0;
    bool is_cut = false;
    for (int d = 2; d <= m->sms && depth / d >= LEAST_SLICE; d++) {
        bool is_even = extent % d == 0 && extent / d % least == 0;
        if (!is_even && d != uneven && d != even) continue;
        const double filled = is_even && least == FINE_STEP ? block * up(up(depth, d), block) : depth / d;
        double product = product_seconds(m, rows, cols, batches * d, filled, rate, false),
               sliced = skinny_seconds(m, rows, cols, batches * d, depth / d, bits);
        if (odd / fmin(d, most) > product) product = odd / fmin(d, most); /* there are SMs for so many slices */
        double seconds = (sliced >= NEVER ? product : sliced) + JOIN_SECONDS +
                         2.0 * d * elements * fx_dtype_bits(n->dtype) / 8 / m->copied;
        if (seconds >= best) continue;
        best = seconds, is_cut = true;
        out->number = d, out->is_even = is_even || d == even, out->is_open = is_open && !is_even;
        out->most = (int)wanted, out->rate = rate, out->has_clusters = has_clusters;
        out->length = out->is_even ? (int)(nominal_size(g, &k, 1) / d)
                                   : block * (int)up(up(depth, d), block);
    }
    return is_cut;
}

/* ---- rewriting ---- */

/* Gives the kernel the labels of a cut: the number of a slice, and a place within it. */
static void add_labels(struct slicer *s, const struct node *n, const struct slices *of, int *number, int *place) {
    const struct axis whole = s->kernel->axes[of->k];
    const struct fx_expr fixed = {0};
    struct axis label = {.name = whole.name, .extent = of->number, .nominal = of->number, .span = whole.span};
    if (of->is_open) {
        split_open_labels(s->g, s->kernel, n, of, number, place);
        return;
    }
    *number = build_made_label(s->g, s->kernel, label, "_slices", fixed, "");
    label.extent = of->length, label.nominal = of->length;
    *place = build_made_label(s->g, s->kernel, label, "_slice", fixed, "");
}

/* f at a place of a slice; 0 behind the end of the label that is cut, as one access of what f renames labels of. */
static struct node *slice_of(struct graph *out, struct node *f, const struct slices *of, int number, int place,
    const struct node *like) {
    struct node *first = build_op(
        out, O_MUL, build_index(out, number, like), build_size(out, place, like), NULL, like);
    struct node *position = build_op(out, O_ADD, first, build_index(out, place, like), NULL, like);
    struct node at = {.kind = N_ACCESS,
        .dtype = f->dtype,
        .has_fill = !of->is_even,
        .axis = -1,
        .span = like->span,
        .source = like->source};
    const bool has_names = at.has_fill && is_renamed(f, of->k);
    at.args[at.n_args++] = has_names ? f->args[0] : f;
    for (int i = 0, cut = 0; i < (has_names ? f->n_at : 0) + 1; i++) {
        const bool is_cut = !cut && (!has_names || i == f->n_at || f->at[i] > of->k);
        at.args[at.n_args++] = is_cut ? position : f->args[1 + i - cut];
        at.at[at.n_at++] = is_cut ? of->k : f->at[i - cut];
        cut |= is_cut;
    }
    if (at.has_fill) at.args[at.n_args] = build_zero(out, f->dtype, like);
    return build_node(out, at);
}

static struct node *cut(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct slicer *s = state;
    struct slices of;
    int number, place;
    if (s->n_split == MOST_SPLIT || s->kernel->n_axes + 2 > FX_MAX_EXTENTS || old->kind != N_REDUCE ||
        old->args[0]->n_axes >= MAX_AXES || !find_slices(s, old, &of))
        return graph_add(out, n);
    s->n_split++, s->kernel->n_cuts++;
    add_labels(s, old, &of, &number, &place);
    struct node slice_sum = *n;
    slice_sum.name = (struct name){0};
    slice_sum.args[0] = of.is_even ? slice_of(out, n->args[0], &of, number, place, n)
                                   : build_op(out, O_MUL, slice_of(out, map[of.of.a->id], &of, number, place, n),
                                         slice_of(out, map[of.of.b->id], &of, number, place, n), NULL, n);
    slice_sum.n_reduced = 0;
    for (int i = 0; i < n->n_reduced; i++)
        if (n->reduced[i] != of.k) slice_sum.n_reduced = set_add(slice_sum.reduced, slice_sum.n_reduced, n->reduced[i]);
    slice_sum.n_reduced = set_add(slice_sum.reduced, slice_sum.n_reduced, place);
    struct node *sum = build_sum(out, build_node(out, slice_sum), &number, 1, n);
    sum->name = n->name;
    return sum;
}

struct graph *pass_split_k(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    bool *has_product = NEW_ARRAY(a, bool, g->n_nodes + 1);
    struct slicer s = {.g = g, .kernel = NEW(a, struct kernel), .has_product = has_product};
    if (g->kernel->fuse == FUSE_NEVER) return (struct graph *)g;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        for (int j = 0; j < n->n_args; j++) {
            const struct node *x = n->args[j];
            has_product[i] |=
                has_product[x->id] || x->kind == N_SCAN || (x->kind == N_REDUCE && is_matrix_product(g, x));
        }
    }
    *s.kernel = *g->kernel;
    struct graph *out = graph_like(g);
    out->kernel = s.kernel;
    graph_rewrite(g, out, cut, &s);
    return s.n_split ? out : (struct graph *)g;
}
