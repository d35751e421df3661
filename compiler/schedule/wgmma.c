/* The gemm driver over the wgmma engine: 16-bit floats and elements of 8 bits on sm_90a, with operands copied as boxes
 * of tensor maps.
 *
 * In: a group as for the other engines. Out: configurations for aligned operands, followed by those of the mma engine
 * for unaligned ones. */
#include "schedule/wgmma.h"

#include <string.h>

#include "schedule/skinny.h"

bool schedule_wgmma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
bool schedule_mma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
bool schedule_simt_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

enum { WARPGROUP = 128, K_BYTES = 128, MOST_STAGES = 8, LEAST_STAGES = 3 };
enum { MOST_COLUMNS = 256, MOST_BOXES = 2, MOST_OF_ROWS = 3 };

/* A tile: its place in the table is its rank where two would do. Rates are what tensor cores and shared memory allow;
 * how fast the L2 cache feeds a tile is counted besides. Those of one sum, and the cycles below, are fitted to times of
 * 206 products of 16-bit floats by every tile, small and large, on an H100, the card's clock taken as 1650 MHz; those
 * of several sums follow from what they do beside each other. */
static const struct wgmma_tile {
    int bm, bn;
    int consumers; /* warpgroups that multiply */
    bool is_pingpong;
    int least_sums, most_sums; /* contractions added up side by side */
    int chunk;                 /* columns that the epilogue stages at a time */
    double rate;               /* flops a cycle and SM of the mainloop */
    double rate_apart;         /* likewise of several sums that do not share an A */
    double rate_tf32;          /* likewise of tf32, tests/bench/gemm32.py on an H100, brought to that clock */
    bool stores_any;           /* there is one whose stores may lie anyhow, too */
    bool splits_k;             /* a cluster computes it, each block a slice of k: driver_wgmma_cluster.cuh */
    int cluster_m, cluster_n;  /* as in struct config: driver_wgmma_shared.cuh */
} tiles[] = {
    {128, 128, 2, true, 1, 1, 32, 3900, 3900, 1650, true, false, 0, 0},
    {128, 192, 2, true, 1, 1, 32, 3750, 3750, 1850, false, false, 0, 0},
    {128, 256, 2, false, 1, 1, 32, 3730, 3730, 1720, false, false, 0, 0},
    {192, 192, 3, false, 1, 1, 32, 3150, 3150, 1760, false, false, 0, 0},
    {64, 128, 2, true, 1, 1, 64, 3210, 3210, 1070, false, false, 0, 0},
    {64, 64, 2, true, 1, 1, 32, 2040, 2040, 725, true, false, 0, 0},
    {64, 256, 2, true, 1, 1, 32, 3370, 3370, 0, false, false, 0, 0},
    {128, 64, 2, true, 1, 1, 32, 2540, 2540, 0, false, false, 0, 0},
    {256, 128, 2, false, 1, 1, 32, 3610, 3610, 0, false, false, 0, 0},
    {192, 128, 3, false, 1, 1, 32, 3310, 3310, 0, false, false, 0, 0},
    {64, 192, 2, true, 1, 1, 32, 3180, 3180, 0, false, false, 0, 0},
    {128, 128, 2, false, 1, 1, 32, 3670, 3670, 0, false, false, 0, 0},
    {128, 128, 2, true, 1, 1, 32, 3290, 3290, 0, false, false, 1, 4},
    {128, 128, 2, true, 1, 1, 32, 2890, 2890, 0, false, false, 1, 2},
    {128, 256, 2, false, 1, 1, 32, 3630, 3630, 0, false, false, 2, 1},
    {64, 128, 2, true, 1, 1, 64, 2500, 2500, 0, false, false, 2, 1},
    {128, 64, 2, true, 2, 2, 32, 3150, 2800, 1300, false, false, 0, 0},
    {64, 128, 2, true, 2, 2, 32, 3380, 2800, 1720, false, false, 0, 0},
    {128, 128, 2, false, 2, 3, 32, 3650, 3650, 1800, true, false, 0, 0},
    {128, 128, 2, false, 2, 2, 32, 3550, 3550, 0, false, false, 2, 1},
    {64, 64, 2, true, 2, 2, 64, 2700, 1850, 1400, false, false, 0, 0},
    {128, 64, 2, false, 3, 4, 32, 2900, 2350, 1300, true, false, 0, 0},
    {64, 64, 1, false, 1, 1, 64, 1490, 1490, 0, false, true, 0, 0},
    {64, 128, 1, false, 1, 1, 64, 1970, 1970, 0, false, true, 0, 0},
    {128, 64, 2, false, 1, 1, 64, 1700, 1700, 0, false, true, 0, 0},
    {128, 128, 2, false, 1, 1, 64, 3020, 3020, 0, false, true, 0, 0},
};

/* Likewise: instructions an element to store a sum, beside staging it; cycles by which a launch of clusters begins
 * later. */
static const double STORED = 5, CLUSTER_CYCLES = 1270;

/* How much faster 8-bit integers are multiplied than 16-bit floats. */
static const double OF_BYTES = 1.9;

/* What of the rate of f8 is left where what a block of k comes to is scaled, as timed at 4096^3 on an H200: with one
 * scale of columns a tile, or none; with several. */
static const double OF_SCALED = 0.83, OF_SCALED_COLUMNS = 0.5;

/* Of what blocks of a cluster send each other: bytes of a tile's sums a cycle. */
static const double EXCHANGE_BYTES = 10.8;

/* Tiles of f32 in parts: a stage has one part of every operand. Rates are those of f32; those of 64 rows, whose
 * consumers have half of the columns each, are not fitted: a little below those of the same sums a consumer. */
static const struct wgmma_tile split_tiles[] = {
    {128, 128, 2, false, 1, 1, 32, 550, 550, 0, true, false, 0, 0},
    {128, 64, 2, false, 1, 1, 32, 450, 450, 0, true, false, 0, 0},
    {128, 64, 2, false, 2, 2, 32, 520, 450, 0, true, false, 0, 0},
    {64, 256, 2, false, 1, 1, 32, 530, 530, 0, false, false, 0, 0},
    {64, 128, 2, false, 1, 1, 32, 430, 430, 0, false, false, 0, 0},
};

/* The same of two f16, whose consumers have 64 rows each. Rates are what products of 1024^3 and 4096^3 alone took on an
 * H200, its clock taken as 1650 MHz. */
static const struct wgmma_tile halved_tiles[] = {
    {128, 128, 2, false, 1, 1, 32, 740, 740, 0, true, false, 0, 0},
    {128, 64, 2, false, 1, 1, 32, 600, 600, 0, true, false, 0, 0},
    {128, 64, 2, false, 2, 2, 32, 650, 600, 0, true, false, 0, 0},
    {128, 128, 2, false, 1, 1, 32, 740, 740, 0, false, true, 0, 0},
    {128, 64, 2, false, 1, 1, 32, 600, 600, 0, false, true, 0, 0},
};
enum { N_HALVED = sizeof halved_tiles / sizeof *halved_tiles };

/* Tiles of f8: beside the sums there is room for what an instruction writes, and consumers stand side by side. */
static const struct wgmma_tile f8_tiles[] = {
    {128, 128, 2, false, 1, 1, 32, 6600, 6600, 0, true, false, 0, 0},
    {256, 128, 2, false, 1, 1, 32, 6600, 6600, 0, false, false, 0, 0},
    {128, 192, 2, false, 1, 1, 32, 6600, 6600, 0, false, false, 0, 0},
    {192, 128, 3, false, 1, 1, 32, 6000, 6000, 0, false, false, 0, 0},
    {128, 64, 2, false, 1, 1, 32, 4000, 4000, 0, true, false, 0, 0},
    {128, 128, 2, false, 1, 1, 32, 6000, 6000, 0, false, false, 1, 2},
    {256, 128, 2, false, 1, 1, 32, 6600, 6600, 0, false, false, 2, 1},
    {128, 64, 2, false, 2, 2, 32, 6000, 5000, 0, true, false, 0, 0},
    {128, 128, 2, false, 2, 2, 32, 6600, 6600, 0, false, false, 0, 0},
};

static const struct wgmma_tile *tiles_of(const struct gemm_shape *shape, int *n) {
    if (shape->is_halved) return *n = N_HALVED, halved_tiles;
    if (shape->is_split) return *n = sizeof split_tiles / sizeof *split_tiles, split_tiles;
    if (fx_is_f8(gemm_copied_dtype(shape, true))) return *n = sizeof f8_tiles / sizeof *f8_tiles, f8_tiles;
    return *n = sizeof tiles / sizeof *tiles, tiles;
}

/* Records of blocks of k beside the stages, by the formula of driver_halves.cuh. */
static int records_bytes(const struct wgmma_tile *t, int stages, int b_tiles) {
    enum { RECORD = 64 * 4 + 16 };
    return t >= halved_tiles && t < halved_tiles + N_HALVED
               ? ((stages + 1) / 2 + 1) * (t->bm + b_tiles * t->bn) / 64 * RECORD
               : 0;
}

/* By the formulas of engine_wgmma.cuh, driver_split.cuh, driver_wgmma_cluster.cuh and driver_halves_cluster.cuh. */
static int smem_bytes(
    const struct wgmma_tile *t, int stages, int b_tiles, int n_sums, int slabs, int behind, int staged, int scales) {
    enum { WARPS = WARPGROUP / 32, GROUP_BYTES = 16 * 32 + 32, BARRIERS = 2 * 8 };
    if (t->splits_k)
        return stages * (t->bm + b_tiles * t->bn) * K_BYTES +
               n_sums * (t->bm / 64) * WARPS * (t->bn / 8) * GROUP_BYTES + (stages + t->consumers * WARPS) * BARRIERS +
               records_bytes(t, stages, b_tiles);
    if (staged)
        return stages * (t->bm + b_tiles * t->bn) * K_BYTES + t->consumers * staged + 2 * stages * 8 +
               records_bytes(t, stages, b_tiles);
    int staging = slabs ? slabs * MAP_STORED_ROWS * MAP_ROW_BYTES + behind : 16 * (n_sums * t->chunk * 4 + 32);
    return stages * (t->bm + b_tiles * t->bn) * K_BYTES + t->consumers * (WARPGROUP / 32) * staging + 2 * stages * 8 +
           records_bytes(t, stages, b_tiles) + scales;
}

static int most_stages(const struct graph *g, const struct wgmma_tile *t, int b_tiles, int n_sums, int slabs, int behind,
    int staged, int scales) {
    int stages = MOST_STAGES;
    while (stages && smem_bytes(t, stages, b_tiles, n_sums, slabs, behind, staged, scales) > g->cx->arch->block_shared)
        stages--;
    return stages;
}

static int element_bytes(const struct gemm_shape *shape) {
    return fx_dtype_bits(gemm_copied_dtype(shape, true)) / 8;
}

static bool is_f32(const struct gemm_shape *shape) { return gemm_copied_dtype(shape, true) == FX_F32; }

static bool is_byte(const struct gemm_shape *shape) { return !shape->is_split && element_bytes(shape) == 1; }

/* Whether sums of a few k are added to others, in more registers. */
static bool promotes(const struct gemm_shape *shape) {
    return is_byte(shape) && fx_is_f8(gemm_copied_dtype(shape, true));
}

int gemm_elements(const struct graph *g, const struct group *r) {
    int n = 0;
    for (int i = 0; i < r->n_stores; i++) {
        if (gemm_reduced_words(g, r, &r->stores[i])) continue;
        if (n++ != i) return -1;
    }
    return n;
}

/* Words of a column that a tile reduces over rows, where that is all that it reduces and sums; 0: where not. */
static int words_of_columns(const struct graph *g, const struct scheduled *s) {
    struct node **shared;
    int words = 0;
    for (int i = 0; i < s->group->n_stores; i++) {
        const struct gemm_reduced d = gemm_reduced(g, s, &s->group->stores[i]);
        if (d.run_n >= 0) return 0;
        words += gemm_reduced_words(g, s->group, &s->group->stores[i]);
    }
    return gemm_shared(g, s->group, &shared) || is_f32(&s->gemm) ? 0 : words;
}

int wgmma_boxes(const struct graph *g, const struct partition *p, const struct scheduled *s, int vector) {
    const struct gemm_shape *shape = &s->gemm;
    const struct group *r = s->group;
    struct map_axis axes[MAX_MAP_AXES];
    struct footprint f = group_footprint(g, p, r);
    const int n_elements = gemm_has_reduced(g, r) && !words_of_columns(g, s) ? -1 : gemm_elements(g, r);
    if (is_f32(shape) || f.has_loops || f.is_general || n_elements > MOST_BOXES || s->hands_on) return 0;
    for (int i = 0, n_rows = 0; i < s->n_loads; i++) {
        bool is_of_rows = false, is_of_columns = false;
        for (int j = 0; j < shape->m.n; j++) is_of_rows |= tensor_axis(&s->loads[i], shape->m.axes[j]) >= 0;
        for (int j = 0; j < shape->n.n; j++) is_of_columns |= tensor_axis(&s->loads[i], shape->n.axes[j]) >= 0;
        if (is_of_rows && (is_of_columns || ++n_rows > MOST_OF_ROWS)) return 0;
    }
    for (int i = 0, bits = 0; i < n_elements; i++) {
        struct tensor t = tensor_of_store(g, p, &r->stores[i]);
        if (t.dtype != FX_F16 && t.dtype != FX_BF16 && t.dtype != FX_F32) return 0;
        if (t.is_strided || t.is_split || (bits && fx_dtype_bits(t.dtype) != bits)) return 0;
        bits = fx_dtype_bits(t.dtype);
        int n_at = find_run(&t, &shape->n);
        if (n_at < 0 || n_at + shape->n.n != t.n_axes || find_run(&t, &shape->m) < 0 || vector * bits < 128) return 0;
        add_view(g, &t);
        if (map_axes(g, shape, NULL, &t, axes) > MAX_MAP_AXES) return 0;
    }
    return n_elements < 0 ? 0 : n_elements;
}

/* Whether tensor maps would bring an operand with m or n contiguous. */
static bool has_mn_major(const struct gemm_shape *shape) {
    const struct segment *e = segment_by_maps(&shape->segments[0]);
    if (!shape->is_scaled) return gemm_has_mn_major(shape);
    return e->a.layout == LAYOUT_MN_MAJOR || e->b[0].layout == LAYOUT_MN_MAJOR;
}

static bool takes(const struct graph *g, const struct scheduled *s, const char **why_not) {
    const struct gemm_shape *shape = &s->gemm;
    struct node **shared;
    const enum fx_dtype a = gemm_copied_dtype(shape, true), b = gemm_copied_dtype(shape, false);
    const bool is_tf32 = a == FX_F32 && s->group->contraction->may_tf32;
    const bool is_pair = is_byte(shape) ? fx_dtype_bits(b) == 8 && fx_is_f8(b) == fx_is_f8(a)
                                        : a == b && (a == FX_F16 || a == FX_BF16);
    if (!shape->is_split && !is_tf32 && !is_pair)
        return *why_not = arena_printf(&g->cx->arena,
                   "it multiplies f16, bf16, f8, 8-bit integers and, with `precision: tf32`, f32; the operands are %s "
                   "and %s",
                   fx_dtype_name(a), fx_dtype_name(b)),
               false;
    if (shape->is_split && !shape->is_halved && (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)))
        return *why_not = "its epilogue reduces runs of elements", false;
    if (shape->is_halved && !gemm_has_whole_matrices(g, shape))
        return *why_not = "rows of an operand of two f16 stand in several batches", false;
    if (is_tf32 && !shape->is_split && gemm_has_mn_major(shape))
        return *why_not = "it takes tf32 with k contiguous alone", false;
    if (shape->is_scaled && !shape->segments[0].by_maps) return *why_not = "a scaled factor is no tensor", false;
    if (is_byte(shape) && has_mn_major(shape))
        return *why_not = "it takes 8 bits with k contiguous alone", false;
    if (is_byte(shape) && (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)))
        return *why_not = "its epilogue reduces runs of elements", false;
    return are_mappable(g, shape, true, why_not);
}

/* Whether one instruction can take the B's of all sums, which lie beside each other in a stage: fewer reads of A. */
static bool are_beside(const struct scheduled *s, int bn) {
    const struct gemm_shape *shape = &s->gemm;
    int n = s->gemm.n_accumulators;
    if (n * bn > (promotes(shape) ? MOST_COLUMNS / 2 : MOST_COLUMNS) || is_f32(shape)) return false;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        if (e->n_sums != n) return false;
        for (int j = 0; j < n; j++)
            if (shape->into[e->sums[j]] != j || e->b[j].layout != e->b[0].layout) return false;
    }
    return true;
}

/* Bytes that a consumer stages, 64 rows and columns of every sum and slots behind them, where elements are reduced or
 * share something with their runs; else 0. */
static int staged_bytes(const struct graph *g, const struct scheduled *s) {
    struct node **shared;
    if (!gemm_has_reduced(g, s->group) && !gemm_shared(g, s->group, &shared)) return 0;
    const int pitch = s->gemm.n_accumulators * PARTIAL_RUN * 4 + 16;
    return (PARTIAL_RUN * pitch + gemm_reduced_bytes(g, s, PARTIAL_RUN, WARPGROUP) + 63) / 64 * 64;
}

static const char *engine(
    const struct graph *g, const struct scheduled *s, const struct wgmma_tile *e, int b_tiles, int stages, int beside,
    int chunk, int slabs, int behind, int staged, bool stores_any) {
    const enum fx_dtype a = gemm_copied_dtype(&s->gemm, true), b = gemm_copied_dtype(&s->gemm, false);
    const char *type = a == FX_F16 ? "fx_f16" : a == FX_BF16 ? "fx_bf16" : "float", *columns = "fx_columns",
               *is_aligned = stores_any ? "false" : "true";
    if (is_byte(&s->gemm)) {
        const int kind = (a == FX_F8E5M2 || a == FX_U8) + 2 * (b == FX_F8E5M2 || b == FX_U8);
        const char *name = s->gemm.is_scaled ? "fx_scaled_f8" : promotes(&s->gemm) ? "fx_f8" : "fx_bytes";
        type = arena_printf(&g->cx->arena, "%s<%d>", name, kind);
        columns = "fx_bytes_by";
    }
    int n_sums = s->gemm.n_accumulators;
    if (s->gemm.is_split) {
        const char *split = arena_printf(&g->cx->arena, "fx_wgmma_split<fx_columns_%d, %d, %d, %d, %d, %d, %s>",
            e->bn * e->bm / 128, e->bm, b_tiles, stages, n_sums, e->chunk, is_aligned);
        if (!s->gemm.is_halved) return split;
        const char *halves = arena_printf(&g->cx->arena, "fx_wgmma_halves%s<%s>", e->splits_k ? "_cluster" : "", split);
        return staged ? arena_printf(&g->cx->arena, "fx_wgmma_reducing<%s, %d>", halves, staged) : halves;
    }
    if (e->splits_k)
        return arena_printf(&g->cx->arena, "fx_wgmma_cluster<%s, fx_columns_%d, %d, %d, %d, %d, %d, %s>", type, e->bn,
            e->bm, b_tiles, stages, e->consumers, n_sums, is_aligned);
    const char *cluster = "";
    if (e->cluster_m) cluster = arena_printf(&g->cx->arena, ", fx_wgmma_shared<%d, %d>", e->cluster_m, e->cluster_n);
    const char *own = arena_printf(&g->cx->arena,
        "fx_wgmma<%s, %s_%d, %d, %d, %d, %d, %d, %s, %d, %d, %d, %s%s>", type, columns, beside * e->bn, beside, e->bm,
        b_tiles, stages, e->consumers, e->is_pingpong ? "true" : "false", n_sums, chunk, slabs, is_aligned, cluster);
    if (behind) return arena_printf(&g->cx->arena, "fx_wgmma_by_columns<%s, %d>", own, behind);
    return staged ? arena_printf(&g->cx->arena, "fx_wgmma_reducing<%s, %d>", own, staged) : own;
}

/* What the tile of an entry is called: beside its extents, how blocks of a cluster share it or their operands, and
 * whether consumers stand side by side where others of these extents take turns. */
static const char *suffix(const struct graph *g, const struct wgmma_tile *e, bool stores_any) {
    bool has_other = false;
    for (const struct wgmma_tile *t = tiles; t < e && e < tiles + sizeof tiles / sizeof *tiles; t++)
        has_other |= t->bm == e->bm && t->bn == e->bn && t->least_sums == e->least_sums && t->is_pingpong;
    const char *cluster = e->cluster_m ? arena_printf(&g->cx->arena, "_%dx%d", e->cluster_m, e->cluster_n) : "",
               *side = has_other && !e->is_pingpong && !e->splits_k ? "_side" : "";
    return arena_printf(&g->cx->arena, "%dx%d_wgmma%s%s%s%s", e->bm, e->bn, e->splits_k ? "_cluster" : "", cluster,
        side, stores_any ? "_any" : "");
}

/* What its consumers and blocks do, for people. */
static const char *roles(const struct graph *g, const struct wgmma_tile *e) {
    if (e->splits_k) return "a cluster along k";
    const char *cluster = "";
    if (e->cluster_m) cluster = arena_printf(&g->cx->arena, ", clusters of %d x %d tiles", e->cluster_m, e->cluster_n);
    return arena_printf(&g->cx->arena, "%d consumers %s%s", e->consumers,
        e->is_pingpong ? "in turns" : "side by side", cluster);
}

/* Of a thread that multiplies. */
static int sums_held(const struct wgmma_tile *e, int n_sums) {
    return n_sums * e->bm * e->bn / WARPGROUP / (e->is_pingpong ? 1 : e->consumers);
}

/* Whether elements share something with their runs, or some are reduced over rows. */
static bool holds_runs(const struct graph *g, const struct scheduled *s) {
    struct node **shared;
    if (gemm_shared(g, s->group, &shared)) return true;
    for (int i = 0; i < s->group->n_stores; i++)
        if (gemm_reduced(g, s, &s->group->stores[i]).run_m >= 0) return true;
    return false;
}

/* Whether the columns of a tile have one scale. */
static bool has_one_scale(const struct graph *g, const struct scheduled *s, const struct wgmma_tile *e) {
    return gemm_scaled_columns(g, &s->gemm) % e->bn == 0;
}

/* Of the columns of a tile for two blocks of k, for every consumer: driver_wgmma_scaled.cuh. */
static int scales_bytes(const struct wgmma_tile *e) { return e->consumers * 2 * e->bn * (int)sizeof(float); }

/* Where scales of columns are several, there are registers for them beside few sums. */
static bool suits_scales(const struct graph *g, const struct scheduled *s, const struct wgmma_tile *e) {
    enum { MOST_SUMS = 64 }; /* of a thread */
    return has_one_scale(g, s, e) || sums_held(e, 1) <= MOST_SUMS;
}

/* Whether a thread has too many sums for what an epilogue holds beside them: where it stores boxes vectors over rows,
 * or those over columns and a function; where it shares or reduces over rows, unless threads take what they hold;
 * of tf32 where it reduces at all. */
static bool lacks_registers(
    const struct graph *g, const struct scheduled *s, const struct wgmma_tile *e, int n_sums,
    bool stores_boxes, bool reduces, double instructions) {
    enum { HELD = 128, OF_RUNS = 192, OF_A_FUNCTION = 16 };
    const int held = sums_held(e, n_sums);
    bool reads_rows = false;
    if (!stores_boxes)
        return reduces && held > HELD &&
               (is_f32(&s->gemm) || (holds_runs(g, s) && (held > OF_RUNS || !gemm_holds(g, s))));
    for (int i = 0; i < s->n_loads; i++)
        for (int j = 0; j < s->gemm.m.n; j++) reads_rows |= tensor_axis(&s->loads[i], s->gemm.m.axes[j]) >= 0;
    return (reads_rows && (held > HELD || e->consumers > 2)) ||
           (s->n_loads && held > HELD && instructions > OF_A_FUNCTION);
}

/* Whether blocks of a cluster would have an operand in common that comes as pixels: each block copies its own. */
static bool shares_window(const struct gemm_shape *shape, const struct wgmma_tile *e) {
    bool shares = false;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *x = &shape->segments[i];
        shares |= e->cluster_n > 1 && x->a.window;
        for (int j = 0; j < x->n_sums; j++) shares |= e->cluster_m > 1 && x->b[j].window;
    }
    return shares;
}

/* As a phase a tile is a block's own, and one that hands on its registers has as many as any other phase. */
static bool suits_phase(const struct scheduled *s, const struct wgmma_tile *e, int n_sums) {
    enum { MOST_SUMS = 64 }; /* of a thread */
    if (!s->is_phase) return true;
    return !e->splits_k && !e->cluster_m && (!s->hands_on || sums_held(e, n_sums) <= MOST_SUMS);
}

struct of_group { /* what is the same of all its tiles */
    double instructions; /* of an element */
    int vector, n_boxes; /* where stores are aligned: elements of a piece, boxes */
    int box_columns;     /* of a box; 0: there are none */
    int words;           /* of a column that is reduced where the sums are, as boxes are stored; else 0 */
};

static struct of_group of_group(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    const int vector = gemm_piece_vector(g, p, s, 8);
    const int n_boxes = wgmma_boxes(g, p, s, vector), words = n_boxes ? words_of_columns(g, s) : 0;
    const int bits = n_boxes ? fx_dtype_bits(tensor_of_store(g, p, s->group->stores).dtype) : 0;
    return (struct of_group){group_footprint(g, p, s->group).instructions, vector, n_boxes,
        bits ? MAP_ROW_BYTES * 8 / bits : 0, words};
}

enum {
    MOST_BY_COLUMNS = 160, /* sums of a thread and words of the columns that it reduces: registers hold both */
    OF_A_WORD = 6          /* instructions of an element for each word that is reduced */
};

/* Bytes of a warp for what it leaves of a chunk's columns, of all parts of its rows, twice: in multiples of what keeps
 * boxes aligned. */
static int columns_bytes(const struct wgmma_tile *e, int chunk, int words) {
    const int parts = e->bm / 64 / (e->is_pingpong ? 1 : e->consumers);
    return (2 * parts * chunk * words * 4 + 1023) / 1024 * 1024;
}

static int reduced_words(const struct graph *g, const struct scheduled *s) {
    int words = 0;
    for (int i = 0; i < s->group->n_stores; i++) words += gemm_reduced_words(g, s->group, &s->group->stores[i]);
    return words;
}

/* Where what the epilogue reads and writes may lie anyhow, a thread takes one column at a time. */
static void add_config(const struct graph *g, struct scheduled *s, const struct wgmma_tile *e,
    const struct of_group *all, bool stores_any, int most) {
    const int held = sums_held(e, s->gemm.n_accumulators) + all->box_columns / 4 * all->words;
    const bool by_columns = all->words && !stores_any && !e->splits_k && held <= MOST_BY_COLUMNS;
    int n_sums = s->gemm.n_accumulators, b_tiles = s->gemm.most_sums, staged = by_columns ? 0 : staged_bytes(g, s),
        vector = stores_any && !staged ? 1 : all->vector,
        beside = !e->splits_k && are_beside(s, e->bn) ? n_sums : 1,
        n_boxes = stores_any || e->splits_k || staged ? 0 : all->n_boxes, /* none beside what is staged */
        slabs = 2 * n_boxes, behind = 0, stages, chunk = e->chunk;
    const int scales = s->gemm.is_scaled && !has_one_scale(g, s, e) ? scales_bytes(e) : 0;
    if (n_boxes) chunk = all->box_columns;
    if (by_columns) behind = columns_bytes(e, chunk, all->words);
    stages = most_stages(g, e, b_tiles, n_sums, slabs, behind, staged, scales);
    if (n_boxes && most_stages(g, e, b_tiles, n_sums, n_boxes, behind, 0, scales) > stages)
        stages = most_stages(g, e, b_tiles, n_sums, slabs = n_boxes, behind, 0, scales);
    if (stages > most) stages = most;
    if (staged && (e->splits_k || s->hands_on)) return;
    if (lacks_registers(g, s, e, n_sums, n_boxes > 0, staged > 0, all->instructions)) return;
    if (!suits_phase(s, e, n_sums) || n_sums < e->least_sums || n_sums > e->most_sums) return;
    if (shares_window(&s->gemm, e)) return;
    if (!n_boxes && e->chunk / vector > 32) return;
    const bool is_split = s->gemm.is_split, is_tf32 = !is_split && is_f32(&s->gemm);
    if (is_tf32 && !e->rate_tf32) return;
    if (s->gemm.is_scaled && !suits_scales(g, s, e)) return;
    if (is_byte(&s->gemm) && e->splits_k) return;
    if (stages < LEAST_STAGES + is_split) return;
    const bool is_f8 = promotes(&s->gemm), is_int8 = is_byte(&s->gemm) && !is_f8;
    const double rate = (is_tf32                          ? e->rate_tf32
                            : b_tiles > 1 || n_sums == 1 ? e->rate
                                                         : e->rate_apart) *
                        (is_int8                     ? OF_BYTES
                            : !s->gemm.is_scaled     ? 1
                            : has_one_scale(g, s, e) ? OF_SCALED
                                                     : OF_SCALED_COLUMNS);
    const int k = K_BYTES / (is_split ? 2 : element_bytes(&s->gemm));
    const double epilogue = gemm_epilogue_cycles(e->bm * e->bn, e->is_pingpong ? 1 : e->consumers, n_sums,
        all->instructions + (is_split ? 0 : STORED * n_sums) + OF_A_WORD * reduced_words(g, s));
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = true,
        .stores_any = stores_any,
        .takes_maps = true,
        .stores_boxes = n_boxes > 0,
        .starts_early = !s->is_phase,
        .tile_m = e->bm,
        .tile_n = e->bn,
        .tile_k = k,
        .stages = stages,
        .block = WARPGROUP * (1 + e->consumers),
        .min_blocks = 1,
        .smem_bytes = smem_bytes(e, stages, b_tiles, n_sums, slabs, behind, staged, scales),
        .vector = vector,
        .rate = rate,
        .epilogue = epilogue,
        .is_fed = !is_split && g->cx->arch->l2_bytes > 0,
        .of_tile = e->is_pingpong ? 0 : epilogue,
        .at_end = (e->is_pingpong ? epilogue : 0) + (e->cluster_m || e->splits_k ? CLUSTER_CYCLES : 0),
        .hides_epilogue = e->is_pingpong,
        .splits_k = e->splits_k,
        .cluster_m = e->cluster_m,
        .cluster_n = e->cluster_n,
        .exchange = e->splits_k ? e->bm * e->bn * n_sums * sizeof(float) / EXCHANGE_BYTES : 0,
        .suffix = suffix(g, e, stores_any),
        .engine = engine(g, s, e, b_tiles, stages, beside, chunk, slabs, behind, staged, stores_any),
        .text = arena_printf(&g->cx->arena, "wgmma %s%dx%dx%d, %d stages, %s%s",
            s->gemm.is_halved   ? "f32 as two f16 "
            : is_split          ? "f32 in parts "
            : is_tf32           ? "tf32 "
            : s->gemm.is_scaled ? "scaled f8 "
            : is_f8             ? "f8 "
            : is_int8           ? "int8 "
                                : "",
            e->bm, e->bn, k, stages, roles(g, e), stores_any ? ", stores of any alignment" : "")};
}

void wgmma_limit_stages(
    const struct graph *g, const struct partition *p, const struct scheduled *s, struct config *f, int stages) {
    const struct of_group of = of_group(g, p, s);
    struct scheduled *t = NEW(&g->cx->arena, struct scheduled);
    int n_tiles;
    const struct wgmma_tile *all = tiles_of(&s->gemm, &n_tiles);
    for (int i = 0; i < n_tiles; i++) {
        *t = *s;
        t->n_configs = 0;
        add_config(g, t, &all[i], &of, f->stores_any, stages);
        if (!t->n_configs || strcmp(t->configs[0].suffix, f->suffix) != 0) continue;
        *f = t->configs[0];
        return;
    }
}

/* Whether some extents meet what the tiles need: offsets of windows have few bits. */
static bool is_possible(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    const struct scheduled_graph c = {.graph = g, .partition = p};
    return config_is_possible(g->cx, &c, s, &s->configs[s->n_configs - 1]);
}

static bool configure(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    if (wgmma_makes(g, p, s)) return wgmma_configure_made(g, p, s, why_not);
    if (!takes(g, s, why_not)) return false;
    const struct of_group of = of_group(g, p, s);
    const bool is_words = is_f32(&s->gemm), is_bytes = is_byte(&s->gemm);
    const char *element = is_words ? "float" : arena_printf(&g->cx->arena, "fx_%s", fx_dtype_name(s->gemm.a_dtype));
    const struct skinny skinny = s->gemm.is_scaled ? (struct skinny){0}
                                 : is_bytes        ? mma_skinny(g, p, s) : (struct skinny){.element = element,
        .product = is_words ? NULL : arena_printf(&g->cx->arena, "fx_mma_16<%s>", element),
        .size = is_words ? 4 : 2,
        .sum = FX_F32,
        .vector = gemm_piece_vector(g, p, s, 8)};
    int n_tiles;
    const struct wgmma_tile *all = tiles_of(&s->gemm, &n_tiles);
    if (s->is_phase && (s->gemm.is_scaled || (s->gemm.is_split && (s->hands_on || !s->gemm.is_halved))))
        return *why_not = "it is a phase beside others", false;
    if (!s->gemm.is_split && !s->is_phase && !promotes(&s->gemm)) skinny_add(g, p, s, &skinny, true);
    int n_skinny = s->n_configs;
    for (int i = 0; i < n_tiles; i++) add_config(g, s, &all[i], &of, false, MOST_STAGES);
    for (int i = 0; i < n_tiles; i++)
        if (all[i].stores_any) add_config(g, s, &all[i], &of, true, MOST_STAGES);
    if (s->n_configs == n_skinny) return *why_not = schedule_no_room(g), false;
    if (s->wants_windows && !is_possible(g, p, s))
        return *why_not = "a window reaches too far, or its channels are no multiple of 8", false;
    if (s->gemm.is_split) return true;
    int n = s->n_configs, n_all;
    if (!(s->gemm.is_scaled ? schedule_simt_configure : schedule_mma_configure)(g, p, s, why_not)) return false;
    for (n_all = s->n_configs, s->n_configs = n; n < n_all; n++)
        if (!s->configs[n].is_aligned && !(s->gemm.is_scaled && s->configs[n].is_skinny))
            s->configs[s->n_configs++] = s->configs[n];
    return true;
}

/* Whether x is a product of scaled f8 tensors, computed as they are loaded. */
static bool is_scaled(const struct product *x) {
    return x->sum->may_scale && x->buffer[0] < 0 && x->buffer[1] < 0 && x->dtype[0] == FX_F32;
}

static double seconds_of(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    struct scheduled *priced = NEW(&g->cx->arena, struct scheduled);
    *priced = *s;
    gemm_price(g, p, priced);
    return priced->seconds;
}

bool schedule_wgmma_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct arch *arch = g->cx->arch;
    if (!arch->has_wgmma) return *why_not = arena_printf(&g->cx->arena, "%s has no wgmma", arch->name), false;
    s->wants_scaled = s->group->n_sums == 1 && !s->group->intermediate && is_scaled(&s->group->sums[0]);
    if (!gemm_reads_windows(g, p, s->group)) return configure(g, p, s, why_not);
    struct scheduled *windows = NEW(&g->cx->arena, struct scheduled);
    const char *ignored;
    *windows = *s;
    windows->wants_windows = true;
    bool takes_windows = configure(g, p, windows, why_not),
         takes_views = configure(g, p, s, takes_windows ? &ignored : why_not);
    if (!takes_windows) return takes_views;
    double gain = takes_views ? seconds_of(g, p, s) - seconds_of(g, p, windows) : 1;
    bool has_longer_m = windows->gemm.m.n > s->gemm.m.n; /* of small images it is the faster form */
    if (gain > 0 || (gain == 0 && has_longer_m)) *s = *windows;
    return true;
}
