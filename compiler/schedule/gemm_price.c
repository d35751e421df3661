/* The price of a gemm kernel.
 *
 * In: a scheduled group with its shape and configurations. Out: the seconds of the cheapest configuration: its bytes at
 * the bandwidth of the machine, or its rounds of tiles, each a mainloop and an epilogue. Rates of engines stand in the
 * configurations. */
#include <math.h>

#include "schedule/computed.h"
#include "schedule/skinny.h"

/* Where the lanes multiply, too, which no more than so many flops a cycle and SM shows, operations take longer. */
static const double LANES_RATE = 256, BY_LANES = 1.8;

enum { LONG_LOOP = 64 }; /* turns */

/* Of an operand read once: what it lies in, or what its leaves read. */
static double operand_bytes(
    const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o) {
    struct node **leaves = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    if (!o->is_computed) return tensor_bytes(g, &o->tensor);
    double total = 0, bytes;
    int n = operand_leaves(g, p, r, o, leaves, g->n_nodes);
    for (int i = 0; i < n; i++) {
        const struct node *source = leaves[i]->kind == N_ACCESS ? leaves[i]->args[0] : leaves[i];
        struct tensor t = {0};
        if (source->kind == N_INPUT) t = tensor_of_param(g, source->param);
        else if (!node_is_loaded(g, p, r, source, &t)) continue;
        bytes = nominal_size(g, leaves[i]->axes, leaves[i]->n_axes) * fx_dtype_bits(t.dtype) / 8;
        total += bytes < tensor_bytes(g, &t) ? bytes : tensor_bytes(g, &t);
    }
    return total;
}

/* A warp on each scheduler issues an instruction every second cycle. */
double gemm_epilogue_cycles(int elements, int warpgroups, int n_sums, double instructions) {
    enum { STAGED = 4, LANES = 64 };
    return (double)elements / warpgroups * (n_sums * STAGED + instructions) / LANES;
}

/* Whether the copies of a configuration bring o, so that nothing is computed. */
static bool is_copied(const struct config *f, const struct operand *o) {
    return f->takes_maps && (o->window || o->from);
}

const struct axis_list *gemm_line_labels(
    const struct gemm_shape *shape, const struct segment *e, const struct operand *o, bool is_a) {
    if (o->window || o->is_computed) return NULL;
    return o->layout == LAYOUT_K_MAJOR ? &e->k : is_a ? &shape->m : &shape->n;
}

/* What a row of a box of an operand costs, in lines of the L2 cache. */
static double lines_of_row(
    const struct graph *g, const struct gemm_shape *shape, const struct segment *e, bool is_a, int box) {
    const struct axis_list *l = gemm_line_labels(shape, e, is_a ? &e->a : &e->b[0], is_a);
    return l && fmod(nominal_size(g, l->axes, l->n), box) != 0 ? (double)SPLIT_LINE / WHOLE_LINE : 1;
}

/* Blocks of clusters, a multiple of theirs, that run at once: those of more than two do not reach every SM. */
static double resident_blocks(double sms, int cluster) {
    double clusters = floor(cluster > 2 ? sms * 10 / (11 * cluster) : sms / cluster);
    return cluster * (clusters > 1 ? clusters : 1);
}

int64_t gemm_long_blocks(
    const struct graph *g, const struct scheduled *s, const struct segment *e, const struct config *f) {
    const double products = 2e11; /* on an H200 */
    if (fx_dtype_bits(gemm_copied_dtype(&s->gemm, true)) != 16 || gemm_holds(g, s)) return 0;
    return (int64_t)(products / ((double)f->tile_m * f->tile_n * f->tile_k * e->n_sums));
}

int gemm_long_l2_bytes(const struct arch *m) { return (int)(m->l2_bytes * 1.154); }

/* Cycles that an SM takes for a block of k of a tile, of which `rows` by `cols` have so many rows and columns: to
 * multiply it, or for the L2 cache to bring its lines to all that are busy. plan_grid.c has the same as an
 * expression. */
static double block_cycles(const struct graph *g, const struct scheduled *s, const struct segment *e,
    const struct config *f, double rows, double cols, double busy, double blocks) {
    const struct gemm_shape *shape = &s->gemm;
    const int64_t from = gemm_long_blocks(g, s, e, f);
    const int l2_bytes = from && blocks >= (double)from ? gemm_long_l2_bytes(g->cx->arch) : g->cx->arch->l2_bytes;
    double products = 2.0 * f->tile_m * f->tile_n * e->n_sums * f->tile_k / f->rate,
           bytes = f->tile_k * (double)fx_dtype_bits(gemm_copied_dtype(shape, true)) / 8,
           m = nominal_size(g, shape->m.axes, shape->m.n) / rows / (f->cluster_n ? f->cluster_n : 1),
           n = nominal_size(g, shape->n.axes, shape->n.n) / cols / (f->cluster_m ? f->cluster_m : 1),
           lines = m * lines_of_row(g, shape, e, true, f->tile_k) +
                   n * e->n_sums * lines_of_row(g, shape, e, false, f->tile_k),
           fed = lines * bytes * (busy > LEAST_FED ? busy : LEAST_FED) / l2_bytes;
    return products > fed ? products : fed;
}

/* Cycles of a tile of another engine until its first stage is there. */
static const double COPIED_BEGIN = 1500;

/* Whether the mainloop of another engine does nothing but copy operands of segment e by whole lines. */
static bool is_copied_whole(
    const struct graph *g, const struct scheduled *s, const struct config *f, const struct segment *e) {
    bool is_computed = e->a.is_computed;
    for (int j = 0; j < e->n_sums; j++) is_computed |= e->b[j].is_computed;
    return g->cx->arch->l2_bytes && f->is_aligned && !f->takes_maps && !s->chain && !is_computed && !s->gemm.is_split &&
           f->tile_k * fx_dtype_bits(s->gemm.a_dtype) == MAP_LINE * 8;
}

enum { INSTRUCTION_K = 16 }; /* of bf16 */

/* Cycles of all SMs for a configuration: rounds of tiles, each all the segments and an epilogue; `others`: columns of
 * tiles of the same launch that are another kernel's. Two tiles in turns take as long as their mainloops, or half of
 * all they do. */
static double tile_cycles(const struct graph *g, const struct scheduled *s, const struct config *f, double epilogue,
    double others, double *flops, double *computed_ops) {
    const struct gemm_shape *shape = &s->gemm;
    const int below = f->cluster_m ? f->cluster_m : 1, beside = f->cluster_n ? f->cluster_n : 1;
    double sms = g->cx->arch->sms, batches = nominal_size(g, shape->batch.axes, shape->batch.n),
           m = nominal_size(g, shape->m.axes, shape->m.n), n = nominal_size(g, shape->n.axes, shape->n.n);
    double rows = ceil(m / (f->tile_m * below)) * below, own = ceil(n / (f->tile_n * beside)) * beside,
           cols = own + others, tiles = batches * rows * cols,
           blocks = f->splits_k ? arch_cluster_blocks(g->cx->arch, tiles) : 1,
           rounds = ceil(tiles * blocks / resident_blocks(sms, below * beside)), tile = 0;
    bool begins = false;
    *flops = *computed_ops = 0;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = f->takes_maps ? segment_by_maps(&shape->segments[i]) : &shape->segments[i];
        double inner = nominal_size(g, e->k.axes, e->k.n), outer = nominal_size(g, e->k_outer.axes, e->k_outer.n),
               k = inner * outer, walked = k;
        if (e != &shape->segments[i]) { /* of a few channels most of a block is wasted, but that parts have short ones */
            const double step = shape->is_split && inner < f->tile_k ? INSTRUCTION_K : f->tile_k;
            walked = ceil(inner / step) * step * outer;
        }
        begins |= is_copied_whole(g, s, f, e);
        if (f->is_fed || begins)
            tile += ceil(inner / f->tile_k) * outer *
                    block_cycles(g, s, e, f, rows, own, tiles * blocks < sms ? tiles * blocks : sms,
                        ceil(inner / f->tile_k) * outer * tiles);
        else tile += 2.0 * f->tile_m * f->tile_n * e->n_sums * walked / f->rate;
        *flops += 2 * batches * m * n * k * e->n_sums;
        if (!is_copied(f, &e->a)) *computed_ops += batches * k * m * own * e->a.ops;
        for (int j = 0; j < e->n_sums; j++)
            if (!is_copied(f, &e->b[j])) *computed_ops += batches * k * n * rows * e->b[j].ops;
    }
    /* SMs without a tile compute nothing. */
    *computed_ops *= rounds * resident_blocks(sms, below * beside) / (tiles * blocks);
    if (f->is_fed) return sms * (rounds * (tile / blocks + f->of_tile + f->exchange) + f->at_end);
    if (begins) return sms * rounds * (tile + epilogue + COPIED_BEGIN);
    if (!f->hides_epilogue) return sms * (rounds * ((tile + epilogue) / blocks + f->exchange) + f->at_end);
    double both = (tile + epilogue) / 2;
    return sms * (rounds * (both > tile ? both : tile) + epilogue);
}

/* Whether f is of the skinny driver and takes the nominal extents. */
static bool is_skinny_here(const struct graph *g, const struct scheduled *s, const struct config *f) {
    return f->is_skinny && skinny_seconds(g, s, f, 0) >= 0;
}

void gemm_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    const struct gemm_shape *shape = &s->gemm;
    const struct footprint footprint = group_footprint(g, p, s->group);
    double least = -1, flops, ops, instructions = footprint.instructions;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        s->bytes += operand_bytes(g, p, s->group, &e->a);
        for (int j = 0; j < e->n_sums; j++) s->bytes += operand_bytes(g, p, s->group, &e->b[j]);
    }
    s->bytes += scheduled_bytes(g, p, s);
    double memory = s->bytes / g->cx->arch->copied;
    for (int i = 0; i < s->n_configs; i++) {
        const struct config *f = &s->configs[i];
        if (f->is_skinny) continue;
        int warpgroups = f->block > 128 ? f->block / 128 : 1;
        double epilogue = f->epilogue > 0
                              ? f->epilogue
                              : gemm_epilogue_cycles(
                                    f->tile_m * f->tile_n, warpgroups, s->gemm.n_accumulators, instructions),
               cycles = tile_cycles(g, s, f, epilogue, 0, &flops, &ops),
               seconds = cycles / arch_all_cycles(g->cx->arch) +
                         gemm_computed_seconds(g, ops) * (f->rate <= LANES_RATE ? BY_LANES : 1);
        if (least < 0 || seconds < least) least = seconds;
        s->flops = flops;
    }
    s->seconds = least > memory ? least : memory;
    for (int i = 0; i < s->n_configs; i++) { /* a launch takes it where it can */
        if (!is_skinny_here(g, s, &s->configs[i])) continue;
        s->seconds = skinny_seconds(g, s, &s->configs[i], s->bytes);
        break;
    }
    /* Long reductions in the epilogue, of other tensors: each element's thread walks over all that is reduced. Short
     * ones, as over slices of k, are instructions of it. */
    if (footprint.turns > LONG_LOOP)
        s->seconds += pointwise_loop_seconds(g, &footprint, nominal_size(g, s->group->axes, s->group->n_axes));
}

static double tile_columns(const struct graph *g, const struct scheduled *s, const struct config *f) {
    return ceil(nominal_size(g, s->gemm.n.axes, s->gemm.n.n) / f->tile_n);
}

/* The kernels share rounds of tiles, by their columns, and read their A once. */
double gemm_price_beside(const struct graph *g, struct scheduled *const *kernels, int n) {
    double least = -1, apart = 0, bytes = 0, flops, ops;
    for (int i = 0; i < n; i++) {
        apart += kernels[i]->seconds;
        bytes += kernels[i]->bytes - (i ? tensor_bytes(g, &kernels[i]->gemm.segments[0].a.tensor) : 0);
    }
    for (int v = 0; v < kernels[0]->n_configs; v++) {
        if (is_skinny_here(g, kernels[0], &kernels[0]->configs[v])) return apart;
        if (!kernels[0]->configs[v].takes_maps) continue;
        double columns = 0, seconds = 0;
        for (int i = 0; i < n; i++) columns += tile_columns(g, kernels[i], &kernels[i]->configs[v]);
        for (int i = 0; i < n && columns > 0; i++) {
            const struct config *f = &kernels[i]->configs[v];
            double own = tile_columns(g, kernels[i], f);
            seconds += own / columns * tile_cycles(g, kernels[i], f, f->epilogue, columns - own, &flops, &ops);
        }
        seconds /= arch_all_cycles(g->cx->arch);
        if (least < 0 || seconds < least) least = seconds;
    }
    double memory = bytes / g->cx->arch->copied, joined = least > memory ? least : memory;
    for (int i = 0; i < n; i++) kernels[i]->seconds *= joined / apart;
    return joined;
}
