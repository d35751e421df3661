/* The gemm driver over the simt engine: f32 operands, f32 multiply-adds. */
#include "../schedule.h"

bool schedule_simt_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A tile: its place in the table is its rank where two would do. Shared memory by the formula of engine_simt.cuh. */
static const struct tile {
    int bm, bn, bk, warps_m, warps_n, stages, min_blocks;
    int least_sums, most_sums; /* contractions added up side by side */
    double rate;               /* flops a cycle and SM, of the 256 an SM has */
} tiles[] = {
    {128, 256, 16, 2, 4, 3, 1, 1, 1, 240},
    {128, 128, 16, 2, 4, 3, 1, 2, 2, 238},
    {128, 64, 16, 4, 2, 3, 1, 3, 4, 235},
    {64, 128, 16, 2, 2, 3, 3, 1, 1, 215},
    {64, 64, 16, 2, 2, 3, 4, 1, 4, 170},
};

enum { MOST_ACCUMULATORS = 128, MOST_SHARED = 227 * 1024, REGISTERS = 65536 };

static int smem_bytes(const struct tile *t, const struct gemm_shape *shape, int n_sums, int reduced) {
    int pipeline = t->stages * (t->bm + 4 + shape->most_sums * (t->bn + 4)) * t->bk * 4, staging = t->bm * t->bn * n_sums * 4 + reduced;
    return pipeline > staging ? pipeline : staging;
}

bool schedule_simt_configure(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    if (s->gemm.dtype != FX_F32)
        return *why_not = arena_printf(&g->cx->arena, "it multiplies f32, the operands are %s", fx_dtype_name(s->gemm.dtype)), false;
    int vector = gemm_vector(g, p, s, 4);
    for (int aligned = 1; aligned >= 0; aligned--)
        for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
            const struct tile *e = &tiles[i];
            int smem = smem_bytes(e, &s->gemm, s->group->n_sums, gemm_reduced_bytes(g, s, e->bn, e->warps_m * e->warps_n * 32)), threads = e->warps_m * e->warps_n * 32, accumulators = e->bm * e->bn / threads * s->group->n_sums;
            bool is_last = i + 1 == sizeof tiles / sizeof *tiles; /* what is made on the way takes registers too */
            if (s->group->n_sums < e->least_sums || s->group->n_sums > e->most_sums || smem > MOST_SHARED || accumulators > MOST_ACCUMULATORS || (gemm_is_made(&s->gemm) && accumulators > MOST_ACCUMULATORS / 2 && !is_last)) continue;
            int blocks = REGISTERS / threads / (accumulators + 96);
            struct config *c = &s->configs[s->n_configs++];
            *c = (struct config){.is_aligned = aligned, .tile_m = e->bm, .tile_n = e->bn, .tile_k = e->bk, .stages = e->stages, .block = e->warps_m * e->warps_n * 32,
                                 .min_blocks = s->group->n_sums == 1 || blocks > e->min_blocks ? e->min_blocks : blocks < 1 ? 1 : blocks, .smem_bytes = smem, .vector = vector, .rate = aligned ? e->rate : e->rate * 0.9};
            c->suffix = arena_printf(&g->cx->arena, "%dx%d%s", e->bm, e->bn, aligned ? "" : "_any");
            c->engine = arena_printf(&g->cx->arena, "fx_simt<%d, %d, %d, %d, %d, %d>", e->bm, e->bn, e->bk, e->warps_m, e->warps_n, e->stages);
            c->text = arena_printf(&g->cx->arena, "simt %dx%dx%d, %d stages, %s", e->bm, e->bn, e->bk, e->stages,
                                   aligned ? "16-byte copies" : "any alignment");
        }
    return true;
}
