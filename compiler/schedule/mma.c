/* The gemm driver over the mma engine: mma.sync of f16 and bf16, of f32 rounded to tf32 where the spec allows it, of
 * 8-bit integers, and of f64 on sm_90 and sm_90a. */
#include "schedule/computed.h"
#include "schedule/skinny.h"

bool schedule_mma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

enum { K_BYTES = 128, F8_LOCAL = 192 }; /* local: products of f8 are made of those of halves, which takes registers */
enum element_kind { KIND_16, KIND_32, KIND_8, KIND_64, N_KINDS }; /* f16 and bf16, tf32, 8-bit integers, f64 */

/* A tile: its place in the table is its rank where two would do. All have K_BYTES of k. Operands that are not copied 16
 * bytes at a time pass through registers, which leaves fewer for sums, or are copied word by word: they have tiles of
 * their own. */
static const struct mma_tile {
    int bm, bn, warps_m, warps_n, stages, min_blocks;
    int least_sums, most_sums; /* contractions added up side by side */
    bool copies;               /* all operands 16 bytes at a time */
    double rate[N_KINDS];      /* flops a cycle and SM; 0: not for that kind */
    bool is_last;              /* only where none fits before */
} tiles[] = {
    {128, 256, 2, 4, 3, 1, 1, 1, true, {2450, 830, 3800}, false},
    {128, 128, 2, 2, 3, 2, 1, 1, true, {2150, 765, 4200}, false},
    {128, 128, 2, 4, 3, 1, 2, 2, true, {2300, 815, 4000}, false},
    {128, 64, 4, 2, 3, 1, 3, 4, true, {2000, 700, 3600}, false},
    {64, 128, 2, 2, 3, 3, 1, 1, true, {1700, 640, 3450}, false},
    {64, 64, 2, 2, 4, 3, 1, 4, true, {1430, 540, 2850}, false},
    {128, 256, 2, 4, 3, 1, 1, 1, false, {2100, 0, 0}, false},
    {128, 128, 2, 4, 3, 1, 1, 1, false, {1700, 610, 0}, false},
    {128, 64, 4, 2, 3, 1, 2, 2, false, {1500, 550, 1100}, false},
    {64, 128, 2, 4, 3, 1, 1, 1, false, {0, 0, 1200}, false},
    {64, 64, 2, 2, 2, 3, 2, 4, true, {1200, 480, 2400}, true},
    {64, 64, 2, 2, 4, 2, 1, 4, false, {900, 455, 1100}, false},
    {64, 64, 2, 2, 2, 2, 2, 4, false, {800, 400, 1000}, true},
    {128, 128, 2, 4, 3, 1, 1, 1, true, {0, 0, 0, 220}, false},
    {64, 128, 2, 4, 3, 1, 1, 1, true, {0, 0, 0, 200}, false},
    {64, 64, 2, 2, 4, 3, 1, 2, true, {0, 0, 0, 180}, false},
    {128, 128, 2, 4, 3, 1, 1, 1, false, {0, 0, 0, 190}, false},
    {64, 64, 2, 2, 4, 2, 1, 2, false, {0, 0, 0, 160}, false},
};

/* What the engine multiplies. */
static const struct {
    int size;             /* bytes of an element */
    const char *text;     /* for people, before the tile */
    double any_alignment; /* of the rate, where operands go element by element */
} kinds[N_KINDS] = {[KIND_16] = {2, "", 0.45},
    [KIND_32] = {4, "tf32 ", 0.8},
    [KIND_8] = {1, "int8 ", 0.5},
    [KIND_64] = {8, "f64 ", 0.8}};

/* Bytes of a sum. */
static int sum_bytes(enum element_kind kind) { return kind == KIND_64 ? 8 : 4; }

/* By the formulas of engine_mma.cuh and engine_mma_wide.cuh. */
static int smem_bytes(
    const struct mma_tile *t, const struct gemm_shape *shape, int n_sums, int sum, int staged, int reduced) {
    int pipeline = t->stages * (t->bm + shape->most_sums * t->bn) * K_BYTES + staged,
        staging = t->bm * (n_sums * t->bn + 8) * sum + reduced;
    return pipeline > staging ? pipeline : staging;
}

/* Of what computed operands read, where the engine is fx_staging: the segment with most of it; 0: nothing waits in
 * shared memory. */
static int staged_bytes(
    const struct graph *g, const struct partition *p, const struct scheduled *s, const struct mma_tile *t, int size) {
    const struct gemm_shape *shape = &s->gemm;
    int most = 0, chunk = 16 / size < COMPUTED_CHUNK ? 16 / size : COMPUTED_CHUNK;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        int bytes = 0;
        for (int j = -1; j < e->n_sums; j++) {
            const struct operand *o = j < 0 ? &e->a : &e->b[j];
            if (!o->is_computed) continue;
            struct computed m = computed_open(g, p, s->group, o, e, j < 0 ? &shape->m : &shape->n);
            bytes += computed_staged_bytes(&m, e, j < 0 ? t->bm : t->bn, K_BYTES / size, chunk, t->stages - 1);
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Blocks an SM holds at once: the sums, and about as many registers again for operands and addresses. */
static int blocks_of(const struct arch *m, const struct mma_tile *t, int smem, int n_sums, int sum) {
    int threads = t->warps_m * t->warps_n * 32,
        n = SM_REGISTERS / (t->bm * t->bn / threads * n_sums * sum / 4 + 104) / threads;
    if (n > m->block_shared / smem) n = m->block_shared / smem;
    return n_sums == 1 || n > t->min_blocks ? t->min_blocks : n < 1 ? 1 : n;
}

static const char *byte_ctype(enum fx_dtype t) {
    return t == FX_F8E4M3 ? "fx_f8e4m3" : t == FX_F8E5M2 ? "fx_f8e5m2" : t == FX_I8 ? "signed char" : "unsigned char";
}

static const char *product_of_bytes(const struct graph *g, enum fx_dtype a, enum fx_dtype b) {
    return arena_printf(&g->cx->arena, "fx_mma_%s<%s, %s>", fx_is_f8(a) ? "f8" : "8", byte_ctype(a), byte_ctype(b));
}

/* The engine's first template argument; NULL where it does not multiply the operands. */
static const char *product_of(const struct graph *g, const struct scheduled *s, enum element_kind *kind) {
    enum fx_dtype a = s->gemm.a_dtype, b = s->gemm.b_dtype;
    *kind = a == FX_F64 ? KIND_64 : a == FX_F32 ? KIND_32 : fx_dtype_bits(a) == 8 ? KIND_8 : KIND_16;
    if (*kind == KIND_64)
        return b == FX_F64 && g->cx->arch->has_mma_f64 && g->kernel->precision != PRECISION_FMA ? "fx_mma_64" : NULL;
    if (fx_dtype_bits(a) == 8 && fx_dtype_bits(b) == 8 && fx_is_integer(a) == fx_is_integer(b))
        return !fx_is_f8(a) || (g->cx->arch->has_wgmma && !gemm_is_computed(&s->gemm)) ? product_of_bytes(g, a, b)
                                                                                      : NULL;
    if (a == b && (a == FX_F16 || a == FX_BF16))
        return arena_printf(&g->cx->arena, "fx_mma_16<fx_%s>", fx_dtype_name(a));
    return a == FX_F32 && b == FX_F32 && s->group->contraction->may_tf32 ? "fx_mma_32" : NULL;
}

static int vector_of(
    const struct graph *g, const struct partition *p, const struct scheduled *s, enum element_kind kind) {
    return kind == KIND_64 ? gemm_vector(g, s, 16 / kinds[kind].size) : gemm_piece_vector(g, p, s, 8);
}

struct skinny mma_skinny(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    enum element_kind kind;
    const char *multiplied = product_of(g, s, &kind);
    const char *narrow = arena_printf(&g->cx->arena, "fx_%s", fx_dtype_name(s->gemm.a_dtype));
    return (struct skinny){.element = kind == KIND_16 ? narrow : kind == KIND_64 ? "double" : "float",
        .product = kind == KIND_32 || kind == KIND_64 ? NULL : multiplied,
        .swapped = kind == KIND_8 ? product_of_bytes(g, s->gemm.b_dtype, s->gemm.a_dtype) : NULL,
        .size = kinds[kind].size,
        .sum = fx_is_integer(s->gemm.a_dtype) ? FX_I32 : kind == KIND_64 ? FX_F64 : FX_F32,
        .vector = vector_of(g, p, s, kind)};
}

static const char *how_loaded(const struct mma_tile *e, bool aligned, bool strided, bool transposes, bool staged) {
    if (e->copies) return "16-byte copies";
    if (!aligned) return "any alignment";
    if (staged) return "copied, then made";
    return strided ? "aligned, strided operands" : transposes ? "aligned, transposed on the way" : "16-byte loads";
}

bool schedule_mma_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!gemm_shape(g, p, s, why_not)) return false;
    if (s->gemm.is_split) return *why_not = schedule_no_parts, false;
    enum element_kind kind;
    const char *multiplied = product_of(g, s, &kind);
    if (!multiplied)
        return *why_not = arena_printf(&g->cx->arena,
                   "it multiplies f16, bf16, f8 on sm_90a, 8-bit integers, f64 on sm_90 and, with `precision: tf32`, "
                   "f32; the operands are %s and %s",
                   fx_dtype_name(s->gemm.a_dtype), fx_dtype_name(s->gemm.b_dtype)),
               false;
    int n_sums = s->gemm.n_accumulators, size = kinds[kind].size, sum = sum_bytes(kind),
        vector = vector_of(g, p, s, kind);
    bool has_strides = gemm_has_strides(&s->gemm), transposes = kind == KIND_8 && gemm_has_mn_major(&s->gemm);
    const struct skinny skinny = mma_skinny(g, p, s);
    static const enum config_kind ways[] = {KIND_ALIGNED, KIND_UNIT, KIND_ANY};
    int n_general = 0; /* tiles that take any extents, as entries for few rows do not */
    for (size_t j = 0; j < sizeof ways / sizeof *ways; j++) {
        bool aligned = ways[j] == KIND_ALIGNED, any_stride = has_strides && ways[j] == KIND_ANY,
             strided = gemm_is_strided(&s->gemm) || any_stride;
        bool through_registers = strided || transposes || gemm_is_computed(&s->gemm) || s->gemm.has_ragged;
        if (ways[j] == KIND_UNIT && !has_strides) continue;
        if (ways[j] != KIND_UNIT && !fx_is_f8(s->gemm.a_dtype)) skinny_add(g, p, s, &skinny, aligned);
        for (size_t i = 0, before = (size_t)s->n_configs; i < sizeof tiles / sizeof *tiles; i++) {
            const struct mma_tile *e = &tiles[i];
            int bk = K_BYTES / size, reduced = gemm_reduced_bytes(g, s, e->bn, e->warps_m * e->warps_n * 32),
                staged = aligned && !strided ? staged_bytes(g, p, s, e, size) : 0;
            int smem = smem_bytes(e, &s->gemm, n_sums, sum, staged, reduced);
            if (smem > g->cx->arch->block_shared) staged = 0, smem = smem_bytes(e, &s->gemm, n_sums, sum, 0, reduced);
            if (e->rate[kind] == 0 || e->copies != (aligned && !through_registers) || n_sums < e->least_sums ||
                n_sums > e->most_sums || smem > g->cx->arch->block_shared)
                continue;
            if (kind == KIND_16 && strided && e->bm > 64) continue; /* element by element takes twice the registers */
            if (!aligned && e->bn > 128) continue;
            if (e->is_last && (size_t)s->n_configs > before) continue;
            struct config *c = config_next(s);
            if (!c) break;
            n_general += ways[j] == KIND_ANY;
            *c = (struct config){.is_aligned = aligned,
                .needs_unit = ways[j] == KIND_UNIT,
                .tile_m = e->bm,
                .tile_n = e->bn,
                .tile_k = bk,
                .stages = e->stages,
                .block = e->warps_m * e->warps_n * 32,
                .min_blocks = blocks_of(g->cx->arch, e, smem, n_sums, sum),
                .smem_bytes = smem,
                .vector = vector,
                .most_local = fx_is_f8(s->gemm.a_dtype) ? F8_LOCAL : 0,
                .rate = aligned && !strided ? e->rate[kind] : e->rate[kind] * kinds[kind].any_alignment};
            c->suffix = arena_printf(&g->cx->arena, "%dx%d%s", e->bm, e->bn,
                aligned         ? ""
                : c->needs_unit ? "_unit"
                                : "_any");
            c->engine = arena_printf(&g->cx->arena,
                any_stride ? "fx_any_stride<fx_mma%s<%s, %d, %d, %d, %d, %d, %d>>"
                : staged   ? "fx_staging<fx_mma%s<%s, %d, %d, %d, %d, %d, %d>>"
                           : "fx_mma%s<%s, %d, %d, %d, %d, %d, %d>",
                kind == KIND_64 ? "_wide" : "", multiplied, e->bm, e->bn, bk, e->warps_m, e->warps_n, e->stages);
            c->text = arena_printf(&g->cx->arena, "mma %s%dx%dx%d, %d stages, %s",
                fx_is_f8(s->gemm.a_dtype) ? "f8 " : kinds[kind].text, e->bm, e->bn, bk, e->stages,
                any_stride ? "any strides" : how_loaded(e, aligned, strided, transposes, staged));
        }
    }
    if (!n_general) return *why_not = schedule_no_room(g), false;
    return true;
}
