/* The gemm driver over the mma engine: mma.sync for f16 and bf16 operands, sums in f32. */
#include "../schedule.h"

bool schedule_mma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A tile: its place in the table is its rank where two would do. Shared memory by the formula of engine_mma.cuh. Operands
 * that are not copied 16 bytes at a time pass through registers, which leaves fewer for sums: they have tiles of their own. */
static const struct tile {
    int bm, bn, bk, warps_m, warps_n, stages, min_blocks;
    int least_sums, most_sums; /* contractions added up side by side */
    bool copies;               /* all operands 16 bytes at a time */
    double rate;               /* flops a cycle and SM */
} tiles[] = {
    {128, 256, 64, 2, 4, 3, 1, 1, 1, true, 2450},
    {128, 128, 64, 2, 2, 3, 2, 1, 1, true, 2150},
    {128, 128, 64, 2, 4, 3, 1, 2, 2, true, 2300},
    {128, 64, 64, 4, 2, 3, 1, 3, 4, true, 2000},
    {64, 128, 64, 2, 2, 3, 3, 1, 1, true, 1700},
    {64, 64, 64, 2, 2, 4, 3, 1, 4, true, 1430},
    {128, 256, 64, 2, 4, 3, 1, 1, 1, false, 2100},
    {128, 128, 64, 2, 4, 3, 1, 1, 1, false, 1700},
    {128, 64, 64, 4, 2, 3, 1, 2, 2, false, 1500},
    {64, 64, 64, 2, 2, 4, 2, 1, 4, false, 900},
};
enum { MOST_SHARED = 227 * 1024, REGISTERS = 65536 };
/* Of the rate, where operands go through registers element by element. */
static const double any_alignment = 0.45;

static int smem_bytes(const struct tile *t, const struct gemm_shape *shape, int n_sums, int reduced) {
    int pipeline = t->stages * (t->bm + shape->most_sums * t->bn) * t->bk * 2, staging = t->bm * (n_sums * t->bn + 8) * 4 + reduced;
    return pipeline > staging ? pipeline : staging;
}

/* Blocks an SM holds at once: the sums, and about as many registers again for operands and addresses. */
static int blocks_of(const struct tile *t, int smem, int n_sums) {
    int threads = t->warps_m * t->warps_n * 32, n = REGISTERS / (t->bm * t->bn / threads * n_sums + 104) / threads;
    if (n > MOST_SHARED / smem) n = MOST_SHARED / smem;
    return n_sums == 1 || n > t->min_blocks ? t->min_blocks : n < 1 ? 1 : n;
}

bool schedule_mma_configure(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    enum fx_dtype t = s->gemm.dtype;
    if (t != FX_F16 && t != FX_BF16)
        return *why_not = arena_printf(&g->cx->arena, "it multiplies f16 and bf16, the operands are %s", fx_dtype_name(t)), false;
    int vector = gemm_vector(g, p, s, 8), n_sums = s->group->n_sums;
    bool strided = gemm_is_strided(&s->gemm), through_registers = strided || gemm_is_made(&s->gemm);
    for (int aligned = 1; aligned >= 0; aligned--)
        for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
            const struct tile *e = &tiles[i];
            int smem = smem_bytes(e, &s->gemm, n_sums, gemm_reduced_bytes(g, s, e->bn, e->warps_m * e->warps_n * 32));
            if (e->copies != (aligned && !through_registers) || n_sums < e->least_sums || n_sums > e->most_sums || smem > MOST_SHARED) continue;
            if ((strided && e->bm > 64) || (!aligned && e->bn > 128)) continue; /* element by element takes twice the registers */
            struct config *c = &s->configs[s->n_configs++];
            *c = (struct config){.is_aligned = aligned, .tile_m = e->bm, .tile_n = e->bn, .tile_k = e->bk, .stages = e->stages, .block = e->warps_m * e->warps_n * 32,
                                 .min_blocks = blocks_of(e, smem, n_sums), .smem_bytes = smem, .vector = vector, .rate = aligned && !strided ? e->rate : e->rate * any_alignment};
            c->suffix = arena_printf(&g->cx->arena, "%dx%d%s", e->bm, e->bn, aligned ? "" : "_any");
            c->engine = arena_printf(&g->cx->arena, "fx_mma<fx_%s, %d, %d, %d, %d, %d, %d>", fx_dtype_name(t), e->bm, e->bn, e->bk,
                                     e->warps_m, e->warps_n, e->stages);
            c->text = arena_printf(&g->cx->arena, "mma %dx%dx%d, %d stages, %s", e->bm, e->bn, e->bk, e->stages,
                                   e->copies ? "16-byte copies" : !aligned ? "any alignment" : strided ? "aligned, strided operands" : "16-byte loads");
        }
    return true;
}
