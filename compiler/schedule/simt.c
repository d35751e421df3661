/* The gemm driver over the simt engine: ordinary multiply-adds of f32, f64 and integers of 32 and 64 bits. */
#include "schedule/skinny.h"

bool schedule_simt_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A tile: its place among those of its element size is its rank where two would do. Shared memory by the formula of
 * engine_simt.cuh. */
static const struct simt_tile {
    int size;                  /* bytes of an element */
    int bm, bn, bk, warps_m, warps_n, stages, min_blocks;
    int least_sums, most_sums; /* contractions added up side by side; 0 at least: only where blocks have to be of
                                  another phase's size */
    enum {
        TILE_USUAL,
        TILE_COMPUTED,
        TILE_LAST
    } use; /* computed: only where operands are, since fewer tiles compute each element; last: only where none fits
              before */
    double rate;               /* multiply-adds of f32, or of f64: flops a cycle and SM, of the 256 or 128 an SM has */
} tiles[] = {
    {4, 128, 256, 16, 2, 4, 3, 1, 1, 1, TILE_USUAL, 240},
    {4, 128, 128, 16, 2, 4, 3, 1, 2, 2, TILE_USUAL, 238},
    {4, 64, 256, 16, 2, 4, 3, 1, 1, 1, TILE_COMPUTED, 220},
    {4, 128, 64, 16, 4, 2, 3, 1, 3, 4, TILE_USUAL, 235},
    {4, 64, 128, 16, 2, 2, 3, 3, 1, 1, TILE_USUAL, 215},
    {4, 64, 64, 16, 4, 2, 3, 2, 0, 1, TILE_USUAL, 120},
    {4, 192, 96, 16, 4, 3, 3, 1, 0, 1, TILE_USUAL, 150},
    {4, 64, 64, 16, 2, 2, 3, 4, 1, 4, TILE_USUAL, 170},
    {8, 128, 128, 16, 4, 2, 3, 1, 1, 1, TILE_USUAL, 113},
    {8, 64, 128, 16, 2, 2, 3, 2, 1, 1, TILE_USUAL, 110},
    {8, 64, 64, 16, 2, 2, 3, 2, 1, 1, TILE_USUAL, 97},
    {8, 64, 64, 16, 4, 2, 3, 1, 2, 4, TILE_USUAL, 85},
    {8, 32, 64, 16, 2, 2, 2, 1, 2, 4, TILE_LAST, 60},
};

/* What the engine multiplies, and its rate beside that of floats of the size. */
static const struct simt_kind {
    enum fx_dtype dtype;
    const char *ctype; /* in emitted code */
    double rate;
} kinds[] = {
    {FX_F32, "float", 1},
    {FX_F64, "double", 1},
    {FX_I32, "int", 0.65},
    {FX_U32, "unsigned", 0.65},
    {FX_I64, "long long", 0.28},
    {FX_U64, "unsigned long long", 0.28},
};

enum { MOST_ACCUMULATORS = 128 }; /* accumulators: registers of a thread for them */

static int smem_bytes(const struct simt_tile *t, const struct gemm_shape *shape, int n_sums, int reduced) {
    int pipeline = t->stages * (t->bm * t->size + 16 + shape->most_sums * (t->bn * t->size + 16)) * t->bk,
        staging = t->bm * t->bn * n_sums * t->size + reduced;
    return pipeline > staging ? pipeline : staging;
}

static const struct simt_kind *product_kind(enum fx_dtype a, enum fx_dtype b) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].dtype == a && kinds[i].dtype == b) return &kinds[i];
    return NULL;
}

bool schedule_simt_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    if (s->gemm.is_split) return *why_not = schedule_no_parts, false;
    if (s->gemm.pairing && s->block) return *why_not = "a function of pairs takes blocks of its own size", false;
    const struct simt_kind *kind = product_kind(s->gemm.a_dtype, s->gemm.b_dtype);
    if (!kind)
        return *why_not = arena_printf(&g->cx->arena,
                   "it multiplies f32, f64 and integers of 32 and 64 bits, the operands are %s and %s",
                   fx_dtype_name(s->gemm.a_dtype), fx_dtype_name(s->gemm.b_dtype)),
               false;
    enum { N_TILES = sizeof tiles / sizeof *tiles };
    int size = fx_dtype_bits(kind->dtype) / 8, vector = gemm_vector(g, s, 16 / size);
    const struct skinny skinny = {
        .element = kind->ctype, .size = size, .sum = kind->dtype, .vector = vector};
    for (int aligned = 1; aligned >= 0; aligned--) {
        if (!s->gemm.pairing) skinny_add(g, p, s, &skinny, aligned);
        for (int i = 0, before = s->n_configs; i < N_TILES; i++) {
            const struct simt_tile *e = &tiles[i];
            int threads = e->warps_m * e->warps_n * 32,
                smem = smem_bytes(e, &s->gemm, s->gemm.n_accumulators, gemm_reduced_bytes(g, s, e->bn, threads));
            int accumulators = e->bm * e->bn / threads * s->gemm.n_accumulators * size / 4;
            bool is_last = i + 1 == N_TILES || tiles[i + 1].size != size ||
                           tiles[i + 1].use == TILE_LAST; /* what is made on the way takes registers too */
            if (e->size != size || s->gemm.n_accumulators < e->least_sums || s->gemm.n_accumulators > e->most_sums ||
                smem > g->cx->arch->block_shared || accumulators > MOST_ACCUMULATORS)
                continue;
            if ((!e->least_sums && s->block != threads) || (e->use == TILE_COMPUTED && !gemm_is_computed(&s->gemm)) ||
                (e->use == TILE_LAST && s->n_configs > before))
                continue;
            if (gemm_is_computed(&s->gemm) && accumulators > MOST_ACCUMULATORS / 2 && !is_last) continue;
            bool is_wide = gemm_is_computed(&s->gemm); /* more registers on the way */
            int blocks = SM_REGISTERS / threads / (accumulators + (!is_wide ? 96 : aligned ? 112 : 140));
            struct config *c = config_next(s);
            if (!c) break;
            *c = (struct config){.is_aligned = aligned,
                .tile_m = e->bm,
                .tile_n = e->bn,
                .tile_k = e->bk,
                .stages = e->stages,
                .block = threads,
                .min_blocks = (s->gemm.n_accumulators == 1 && !is_wide) || blocks > e->min_blocks ? e->min_blocks
                              : blocks < 1                                                  ? 1
                                                                                            : blocks,
                .smem_bytes = smem,
                .vector = vector,
                .rate = e->rate * kind->rate * (aligned ? 1 : 0.9) / pairing_operations(g, s->group->contraction)};
            c->suffix = arena_printf(&g->cx->arena, "%dx%d%s", e->bm, e->bn, aligned ? "" : "_any");
            c->engine = arena_printf(&g->cx->arena, "fx_simt<%s, %d, %d, %d, %d, %d, %d>", kind->ctype, e->bm, e->bn,
                e->bk, e->warps_m, e->warps_n, e->stages);
            c->text = arena_printf(&g->cx->arena, "simt %s %dx%dx%d, %d stages, %s", fx_dtype_name(kind->dtype), e->bm,
                e->bn, e->bk, e->stages, aligned ? "16-byte copies" : "any alignment");
        }
    }
    if (!s->n_configs) return *why_not = schedule_no_room(g), false;
    return true;
}
