/* The gemm driver over the mma engine: mma.sync for f16 and bf16 operands, sums in f32. */
#include "../schedule.h"

bool schedule_mma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A tile: its place in the table is its rank where two would do. Shared memory by the formula of engine_mma.cuh. Operands
 * that are not copied 16 bytes at a time pass through registers, which leaves fewer for sums: they have tiles of their own. */
static const struct tile {
    int bm, bn, bk, warps_m, warps_n, stages, min_blocks;
    bool copies; /* 16 bytes at a time */
    double rate; /* flops a cycle and SM */
} tiles[] = {
    {128, 256, 64, 2, 4, 3, 1, true, 2450},
    {128, 128, 64, 2, 2, 3, 2, true, 2150},
    {64, 128, 64, 2, 2, 3, 3, true, 1700},
    {64, 64, 64, 2, 2, 4, 3, true, 1430},
    {128, 128, 64, 2, 4, 3, 1, false, 700},
    {64, 64, 64, 2, 2, 4, 2, false, 430},
};

static int smem_bytes(const struct tile *t) {
    int pipeline = t->stages * (t->bm + t->bn) * t->bk * 2, staging = t->bm * (t->bn + 8) * 4;
    return pipeline > staging ? pipeline : staging;
}

bool schedule_mma_configure(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    enum fx_dtype t = s->gemm.dtype;
    if (t != FX_F16 && t != FX_BF16)
        return *why_not = arena_printf(&g->cx->arena, "it multiplies f16 and bf16, the operands are %s", fx_dtype_name(t)), false;
    bool strided = s->gemm.a_layout == LAYOUT_STRIDED || s->gemm.b_layout == LAYOUT_STRIDED;
    int vector = gemm_vector(g, p, s, 8);
    for (int aligned = 1; aligned >= 0; aligned--)
        for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
            const struct tile *e = &tiles[i];
            if (e->copies != (aligned && !strided)) continue;
            if (strided && e->bm > 64) continue; /* element by element takes twice the registers */
            struct config *c = &s->configs[s->n_configs++];
            *c = (struct config){.is_aligned = aligned, .tile_m = e->bm, .tile_n = e->bn, .tile_k = e->bk, .stages = e->stages, .block = e->warps_m * e->warps_n * 32,
                                 .min_blocks = e->min_blocks, .smem_bytes = smem_bytes(e), .vector = vector, .rate = e->rate};
            c->suffix = arena_printf(&g->cx->arena, "%dx%d%s", e->bm, e->bn, aligned ? "" : "_any");
            c->engine = arena_printf(&g->cx->arena, "fx_mma<fx_%s, %d, %d, %d, %d, %d, %d>", fx_dtype_name(t), e->bm, e->bn, e->bk,
                                     e->warps_m, e->warps_n, e->stages);
            c->text = arena_printf(&g->cx->arena, "mma %dx%dx%d, %d stages, %s", e->bm, e->bn, e->bk, e->stages,
                                   e->copies ? "16-byte copies" : aligned ? "aligned, strided operands" : "any alignment");
        }
    return true;
}
