/* The gemm driver of f32 that splits operands in its own kernel: products of bf16 on sm_90a, operands copied as boxes
 * of tensor maps (kernels/driver_parts.cuh).
 *
 * In: a group as for the simt engine. Out: configurations for aligned operands, and those of simt for unaligned ones.
 * If both may run, the cheaper one is launched. */
#include "schedule/wgmma.h"

bool schedule_parts_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
bool schedule_simt_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

enum {
    WARPGROUP = 128,
    CONSUMERS = 2,
    ROWS = 64,
    K = 64,
    MOST_APART = 128,
    STAGED_COLUMNS = 64,
    STAGED_PITCH = STAGED_COLUMNS * 4 + 16
};

/* Cycles until the first products of a block have begun: f32 has come and is split; likewise of clusters; bytes of a
 * tile's sums that their blocks send each other in a cycle. */
static const double BEGIN = 4000, CLUSTER_BEGIN = 3100, EXCHANGE_BYTES = 20;

/* A tile: 128 rows, columns of all sums of a segment together. Rates as in wgmma.c, of f32: tests/bench/gemm32.py on an H100. */
static const struct tile {
    int columns, a_stages, b_stages, planes, chunk;
    double rate;   /* flops a cycle and SM of the mainloop */
    bool splits_k; /* a cluster computes it, each block a slice of k: driver_parts_cluster.cuh */
} tiles[] = {
    {128, 1, 2, 2, 32, 480, false},
    {64, 2, 2, 2, 32, 350, false},
    {64, 2, 2, 2, 32, 350, true},
    {128, 1, 2, 1, 32, 430, true},
};

/* Bytes for the staged sums of 64 columns and slots behind them, where elements are reduced or share something with
 * their runs; else 0. */
static int staged_bytes(const struct graph *g, const struct scheduled *s) {
    enum { THREADS = CONSUMERS * WARPGROUP };
    struct node **shared;
    if (!gemm_has_reduced(g, s->group) && !gemm_shared(g, s->group, &shared)) return 0;
    return CONSUMERS * ROWS * STAGED_PITCH + gemm_reduced_bytes(g, s, STAGED_COLUMNS, THREADS);
}

/* By the formulas of driver_parts.cuh and driver_parts_cluster.cuh. */
static int smem_bytes(const struct tile *t, int n_sums, int staged) {
    enum { WARPS = CONSUMERS * WARPGROUP / 32, GROUP_BYTES = 16 * 32 + 32 };
    int staging = 16 * (n_sums * t->chunk * 4 + 32), a = CONSUMERS * ROWS * K * 4, b = t->columns * K * 4,
        planes = 3 * t->columns * K * 2;
    return t->a_stages * a + t->b_stages * b + t->planes * planes +
           (t->splits_k ? WARPS * (t->columns / 8 * GROUP_BYTES + 16)
            : staged ? staged : CONSUMERS * (WARPGROUP / 32) * staging) +
           2 * (t->a_stages + t->b_stages + t->planes) * 8;
}

/* How many sums a segment has, whose B's lie beside each other in a stage: all of them, or each its own; else 0. */
static int count_beside(const struct scheduled *s) {
    const struct gemm_shape *shape = &s->gemm;
    bool are_all = true, are_single = true;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        are_single &= e->n_sums == 1;
        are_all &= e->n_sums == s->group->n_sums;
        for (int j = 0; j < e->n_sums; j++) are_all &= e->sums[j] == j && e->b[j].layout == e->b[0].layout;
    }
    return are_all ? s->group->n_sums : are_single;
}

static bool takes(const struct graph *g, const struct scheduled *s, const char **why_not) {
    const struct gemm_shape *shape = &s->gemm;
    const struct node *sum = s->group->contraction;
    struct node **shared;
    if (shape->is_split) return *why_not = schedule_no_parts, false;
    if (shape->pairing) return *why_not = "it multiplies, and another function is added up", false;
    if (shape->a_dtype != FX_F32 || shape->b_dtype != FX_F32 || sum->dtype != FX_F32)
        return *why_not = "it multiplies f32", false;
    if (sum->may_tf32) return *why_not = "it multiplies f32 in full, and `precision: tf32` stands", false;
    if (g->kernel->precision == PRECISION_FMA) return *why_not = "`precision: fma` asks for multiply-adds", false;
    if (s->group->n_sums > 1 && (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)))
        return *why_not = "its epilogue reduces runs of elements of several sums", false;
    if (!count_beside(s)) return *why_not = "some of its sums share an A, and others do not", false;
    return are_mappable(g, shape, true, why_not);
}

static void add_config(
    const struct graph *g, struct scheduled *s, const struct tile *t, double instructions, bool stores_any) {
    int n_sums = s->group->n_sums, beside = count_beside(s), bn = t->columns / beside,
        chunk = t->chunk / n_sums / 8 * 8, bm = CONSUMERS * ROWS, staged = staged_bytes(g, s),
        vector = stores_any && !staged ? 1 : gemm_vector(g, s, 4);
    if (t->splits_k && (n_sums > 1 || staged)) return;
    if (t->splits_k && t->columns > ROWS && s->n_loads) return; /* it has no registers for what the epilogue reads */
    if (bn % ROWS || n_sums / beside * t->columns > MOST_APART) return;
    struct tile own = *t;
    own.chunk = chunk;
    if (smem_bytes(&own, n_sums, staged) > g->cx->arch->block_shared) return;
    const char *engine = arena_printf(&g->cx->arena, "fx_wgmma_parts<fx_held_%d, %d, %d, %d, %d, %d, %d, %d, %s>",
        t->columns, beside, n_sums, t->a_stages, t->b_stages, t->planes, chunk, staged, stores_any ? "false" : "true");
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = true,
        .stores_any = stores_any,
        .takes_maps = true,
        .starts_early = true,
        .tile_m = bm,
        .tile_n = bn,
        .tile_k = K,
        .stages = t->a_stages,
        .block = WARPGROUP * (2 + CONSUMERS),
        .min_blocks = 1,
        .smem_bytes = smem_bytes(&own, n_sums, staged),
        .vector = vector,
        .rate = t->rate,
        .epilogue = (t->splits_k ? 0 : BEGIN) + gemm_epilogue_cycles(bm * bn, CONSUMERS, n_sums, instructions),
        .at_end = t->splits_k ? CLUSTER_BEGIN : 0,
        .splits_k = t->splits_k,
        .exchange = t->splits_k ? bm * bn * sizeof(float) / EXCHANGE_BYTES : 0,
        .suffix = arena_printf(&g->cx->arena, "%dx%d_parts%s%s", bm, bn, t->splits_k ? "_cluster" : "",
            stores_any ? "_any" : ""),
        .engine = t->splits_k ? arena_printf(&g->cx->arena, "fx_wgmma_parts_cluster<%s>", engine) : engine,
        .text = arena_printf(&g->cx->arena,
            "wgmma f32 split on the way %dx%dx%d, %d stages, %s%s", bm, bn, K, t->a_stages,
            t->splits_k ? "a cluster along k" : "2 consumers side by side",
            stores_any ? ", stores of any alignment" : "")};
}

static bool configure(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    enum { N_TILES = sizeof tiles / sizeof *tiles };
    if (!gemm_shape(g, p, s, why_not) || !takes(g, s, why_not)) return false;
    if (!schedule_simt_configure(g, p, s, why_not)) return false;
    const struct scheduled simt = *s;
    const double instructions = group_footprint(g, p, s->group).instructions;
    s->gemm.is_whole = true;
    s->n_configs = 0;
    for (int aligned = 1; aligned >= 0; aligned--) {
        int i = 0;
        for (; i < simt.n_configs; i++)
            if (simt.configs[i].is_aligned == aligned && simt.configs[i].is_skinny) config_copy(s, &simt.configs[i]);
        for (i = 0; i < N_TILES; i++) add_config(g, s, &tiles[i], instructions, !aligned);
        for (i = 0; i < simt.n_configs; i++) {
            struct config f = simt.configs[i];
            if (f.is_aligned != aligned || f.is_skinny) continue;
            f.epilogue = gemm_epilogue_cycles(f.tile_m * f.tile_n, f.block / WARPGROUP, s->group->n_sums, instructions);
            config_copy(s, &f);
        }
    }
    return true;
}

bool schedule_parts_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct arch *arch = g->cx->arch;
    if (!arch->has_wgmma) return *why_not = arena_printf(&g->cx->arena, "%s has no wgmma", arch->name), false;
    struct scheduled *windows = NEW(&g->cx->arena, struct scheduled);
    *windows = *s;
    windows->wants_windows = gemm_reads_windows(g, p, s->group);
    if (!windows->wants_windows || !configure(g, p, windows, why_not)) return configure(g, p, s, why_not);
    *s = *windows;
    return true;
}
