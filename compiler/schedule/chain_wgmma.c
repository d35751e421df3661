/* The chain driver over the wgmma engine: one or two first contractions of f16 or of bf16, on sm_90a, with operands
 * copied as boxes of tensor maps.
 *
 * In: a group that is a chain. Out: configurations for aligned operands, followed by those of the other engines, for
 * operands that are unaligned or have more summed labels. */
#include "schedule/chain_program.h"
#include "schedule/wgmma.h"

bool schedule_chain_wgmma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
bool schedule_chain_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

enum { ROWS = 64, WARPGROUP = 128, BOX_BYTES = 64 * 64 * 2 };

/* A tile: the most that is summed over first, intermediate and columns a block takes at a time, consumers of 64 rows
 * each. */
static const struct chain_wgmma_tile {
    int bk, bt, bn, consumers, stages, first; /* contractions */
    double rate; /* flops a cycle and SM, of all contractions */
} tiles[] = {
    {64, 64, 64, 1, 2, 1, 1460},
    {64, 128, 64, 3, 2, 1, 2300},
    {64, 128, 64, 2, 2, 1, 1400},
    {64, 128, 128, 2, 2, 1, 1900},
    {128, 64, 128, 1, 2, 1, 1370},
    {128, 128, 64, 2, 2, 1, 2200},
    {128, 128, 128, 2, 2, 1, 2400},
    {256, 64, 128, 2, 2, 1, 2000},
    {256, 64, 256, 2, 2, 1, 2200},
    {64, 64, 64, 2, 2, 2, 1600},
    {64, 64, 128, 2, 2, 2, 1700},
    {128, 64, 64, 2, 2, 2, 1700},
    {128, 64, 128, 2, 2, 2, 1800},
};

/* A tile of two chains of one launch: the most that is summed over first, and columns. */
static const struct chain_twin_tile {
    int k, stages;
    double rate; /* flops a cycle and SM, of all contractions */
} twins[] = {
    {64, 4, 1900},
    {128, 3, 2200},
};
enum { TWIN_COLUMNS = 64, TWIN_CONSUMERS = 2 };

/* A tile of pieces, of one consumer; blocks that an SM holds, so that one multiplies while another one reads. */
static const struct chain_pieces_tile {
    int bk, bt, bn, stages, blocks;
} pieces[] = {
    {64, 64, 64, 6, 2},
    {128, 64, 128, 3, 2},
    {256, 64, 256, 3, 1},
};
enum { PIECES_MOST_ROWS = 256 }; /* of a batch: of more there are tiles enough */
/* Flops a cycle and SM; so low that whole tiles are preferred from half as many as SMs on. */
static const double PIECES_RATE = 600;

/* By the formula of driver_chain_wgmma_copies.cuh. */
static int smem_bytes(const struct chain_wgmma_tile *e, const struct chain *x) {
    enum { CHUNK_PITCH = 32 * 4 + 32 };
    int n_as = x->first.n_segments, a = n_as * (e->bk / 64) * e->consumers,
        b = e->first * (e->bk / 64) * (e->bt / 64), c = e->bt / 64 * (e->bn / 64),
        a_stages = e->consumers == 1 ? 2 : 1, staging = e->consumers * 4 * 16 * CHUNK_PITCH,
        barriers = 16 * e->consumers * a_stages + 32 + 2 * e->stages * 16,
        words = (3 * 12 + 8) * 4, rows = e->consumers * ROWS * x->result_words * 4;
    return (a_stages * a + e->stages * (b + c)) * BOX_BYTES + staging + barriers + words + rows;
}

/* Blocks that an SM holds: of one consumer several, as fx_wgmma_chain has it. */
static int blocks_of(const struct chain_wgmma_tile *e) {
    return e->consumers > 1 ? 1 : e->bk <= 64 && e->bn <= 64 ? 3 : 2;
}

/* Up to so much of the intermediate, tiles of one consumer take limits as masks, and all of it: on average twice as
 * much, but no tile waits for a scheduler, which for short ones is most of what they take. */
enum { MOST_MASKED = 256 };

/* What a tile takes beside its walk over the intermediate, measured, in elements of that: of one consumer others on the
 * SM go on meanwhile. */
static int beside_of(const struct chain_wgmma_tile *e) {
    return e->consumers == 1 ? 16 : e->consumers == 3 ? 384 : e->bk > 64 ? 224 : 32;
}

/* Of one consumer with a scheduler of its own, where an SM holds no more than two. */
static const double OF_LIMITS = 0.75;
static double rate_of(const struct chain_wgmma_tile *e, const struct chain *x, bool is_masked) {
    return e->rate * (x->n_limits && !is_masked && e->consumers == 1 && e->bk > 64 ? OF_LIMITS : 1);
}

/* Bytes of local memory that an entry may use. What the scheduler of limits spills is read once a tile, and so is what
 * tiles of more than 128 columns spill. Without limits, three consumers would spill what they use for each block. */
static int most_local(const struct chain_wgmma_tile *e, const struct chain *x) {
    if (x->n_limits) return 192;
    return e->consumers > 2 ? 0 : e->bn > 128 ? 192 : 128;
}

/* Three consumers have no registers left for what elements or an epilogue read. */
static bool fits(const struct graph *g, const struct scheduled *s, const struct chain_wgmma_tile *e) {
    const struct chain *x = s->chain;
    return e->first == x->parts.n_inner && smem_bytes(e, x) <= g->cx->arch->block_shared &&
           (e->consumers < 3 || (!s->n_loads && !(x->n_limits && (x->loads_elements || x->n_along))));
}

static void add_config(
    const struct graph *g, struct scheduled *s, const struct chain_wgmma_tile *e, bool is_masked, int vector) {
    struct arena *a = &g->cx->arena;
    int rows = e->consumers * ROWS, n_as = s->chain->first.n_segments;
    const char *several = e->first > 1 ? arena_printf(a, ", %d, %d", e->first, n_as) : "";
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = true,
        .takes_maps = true,
        .is_masked = is_masked,
        .starts_early = true,
        .tile_m = rows,
        .tile_n = e->bn,
        .tile_k = e->bk,
        .stages = e->stages,
        .block = WARPGROUP * (1 + e->consumers),
        .min_blocks = blocks_of(e),
        .inner = e->bt,
        .beside = beside_of(e),
        .smem_bytes = smem_bytes(e, s->chain),
        .vector = vector,
        .most_local = most_local(e, s->chain),
        .most_t = is_masked ? MOST_MASKED : 0,
        .most_k = e->bk,
        .rate = rate_of(e, s->chain, is_masked) * e->bn /
                (e->bk + e->bn), /* schedule_chain_price multiplies by the inverse */
        .suffix = arena_printf(a, "%dx%dx%d_k%d_wgmma%s", rows, e->bt, e->bn, e->bk, is_masked ? "_masked" : ""),
        .engine = arena_printf(a, "fx_wgmma_chain<fx_%s, fx_columns_%d, fx_held_%d, %d, %d, %d%s>",
            fx_dtype_name(s->chain->second.b_dtype), e->bt, e->bn, e->bk, e->consumers, e->stages, several),
        .text = arena_printf(a,
            "wgmma %d rows, %d of the intermediate, %d columns, rows kept up to k = %d, %d stages, %d consumers in "
            "turns%s",
            rows, e->bt, e->bn, e->bk, e->stages, e->consumers, is_masked ? ", limits as masks" : "")};
}

void chain_wgmma_twin_configs(const struct graph *g, const struct scheduled *broad, const struct scheduled *narrow,
    struct scheduled *first, struct scheduled *second) {
    struct arena *a = &g->cx->arena;
    const struct chain *x = broad->chain;
    first->n_configs = second->n_configs = 0;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        const struct chain_twin_tile *e = &twins[i];
        const struct chain_wgmma_tile without_c = {e->k, TWIN_COLUMNS, 0, TWIN_CONSUMERS, e->stages, 2, e->rate};
        int rows = TWIN_CONSUMERS * ROWS, bytes = smem_bytes(&without_c, x);
        if (bytes > g->cx->arch->block_shared) continue;
        struct config c = {.is_aligned = true,
            .takes_maps = true,
            .starts_early = true,
            .tile_m = rows,
            .tile_n = e->k,
            .tile_k = e->k,
            .stages = e->stages,
            .block = WARPGROUP * (1 + TWIN_CONSUMERS),
            .min_blocks = 1,
            .smem_bytes = bytes,
            .vector = gemm_vector(g, broad, 8),
            .most_local = 192,
            .most_k = e->k,
            .rate = e->rate / 2,
            .suffix = arena_printf(a, "%dx%dx%d_k%d_twin", rows, TWIN_COLUMNS, e->k, e->k),
            .engine = arena_printf(a, "fx_wgmma_chain<fx_%s, fx_columns_%d, fx_held_%d, %d, %d, %d, 2, %d, true>",
                fx_dtype_name(x->second.b_dtype), TWIN_COLUMNS, e->k, e->k, TWIN_CONSUMERS, e->stages,
                x->first.n_segments),
            .text = arena_printf(a,
                "wgmma %d rows, %d of the intermediate, %d columns of two results, rows kept up to k = %d, %d stages, %d "
                "consumers in turns",
                rows, TWIN_COLUMNS, e->k, e->k, e->stages, TWIN_CONSUMERS)};
        struct config *own = config_next(first), *other = config_next(second);
        *own = *other = c;
        other->vector = gemm_vector(g, narrow, 8);
        other->rate = e->rate; /* its first contraction is not added up anew */
    }
}

static int pieces_smem_bytes(const struct chain_pieces_tile *e) {
    int a = e->bk / 64, b = e->bk / 64 * (e->bt / 64), c = e->bt / 64 * (e->bn / 64);
    return (a + e->stages * (b + c)) * BOX_BYTES + 16 + 2 * e->stages * 16 + 16;
}

static void add_pieces_config(
    const struct graph *g, struct scheduled *s, const struct chain_pieces_tile *e, int vector) {
    struct arena *a = &g->cx->arena;
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = true,
        .takes_maps = true,
        .starts_early = true,
        .tile_m = ROWS,
        .tile_n = e->bn,
        .tile_k = e->bk,
        .piece = e->bt,
        .inner = e->bt,
        .stages = e->stages,
        .block = WARPGROUP + 32,
        .min_blocks = e->blocks,
        .smem_bytes = pieces_smem_bytes(e),
        .vector = vector,
        .most_m = PIECES_MOST_ROWS,
        .most_k = e->bk,
        .rate = PIECES_RATE * e->bn / (e->bk + e->bn),
        .suffix = arena_printf(a, "%dx%dx%d_k%d_pieces", ROWS, e->bt, e->bn, e->bk),
        .engine = arena_printf(a, "fx_wgmma_chain_pieces<fx_%s, fx_columns_%d, fx_held_%d, %d, %d>",
            fx_dtype_name(s->chain->second.b_dtype), e->bt, e->bn, e->bk, e->stages),
        .text = arena_printf(a,
            "wgmma %d rows, %d of the intermediate, %d columns, rows kept up to k = %d, %d stages, the intermediate in "
            "pieces",
            ROWS, e->bt, e->bn, e->bk, e->stages)};
}

/* Whether tensor maps describe the A's of the first contractions, which may have one row and no label of rows. */
static bool are_rows_mappable(const struct graph *g, const struct chain *x, const char **why_not) {
    for (int i = 0; i < x->first.n_segments; i++) {
        const struct segment *e = &x->first.segments[i];
        if (!is_mappable(g, &x->first, e, &e->a, x->first.m.n ? &x->first.m : NULL, why_not)) return false;
    }
    return true;
}

static bool takes(const struct graph *g, const struct chain *x, const char **why_not) {
    enum fx_dtype dtype = x->second.b_dtype;
    if (dtype != FX_F16 && dtype != FX_BF16)
        return *why_not = arena_printf(&g->cx->arena, "it multiplies f16 and bf16; the operands are %s",
                   fx_dtype_name(dtype)),
               false;
    if (x->parts.n_inner > 2) return *why_not = "there are more than two first contractions", false;
    for (int i = 0; i < x->first.n_segments; i++)
        if (x->first.segments[i].k_outer.n)
            return *why_not = "the axes summed over first do not lie side by side", false;
    return are_rows_mappable(g, x, why_not) && are_mappable(g, &x->first, false, why_not) &&
           are_mappable(g, &x->second, false, why_not);
}

/* Those that are summed over least stand first: where they take what there is, they are faster, and the first that may
 * run is taken. */
static void sort_by_k(struct scheduled *s) {
    for (int i = 1; i < s->n_configs; i++)
        for (int j = i; j > 0 && s->configs[j].most_k < s->configs[j - 1].most_k; j--) {
            struct config x = s->configs[j];
            s->configs[j] = s->configs[j - 1], s->configs[j - 1] = x;
        }
}

bool schedule_chain_wgmma_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct arch *arch = g->cx->arch;
    if (!arch->has_wgmma) return *why_not = arena_printf(&g->cx->arena, "%s has no wgmma", arch->name), false;
    if (!schedule_chain_configure(g, p, s, why_not) || !takes(g, s->chain, why_not)) return false;
    struct config others[MAX_VARIANTS];
    int n_others = s->n_configs;
    for (int i = 0; i < n_others; i++) others[i] = s->configs[i];
    s->n_configs = 0;
    int vector = gemm_vector(g, s, 8);
    s->has_flags = true; /* for tallies, and for pieces */
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int is_masked = 1; is_masked >= 0 && fits(g, s, &tiles[i]); is_masked--)
            if (!is_masked || (s->chain->n_limits && tiles[i].consumers == 1))
                add_config(g, s, &tiles[i], is_masked, vector);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (s->chain->parts.n_inner == 1 && s->chain->n_passes == 1 &&
            pieces_smem_bytes(&pieces[i]) <= arch->block_shared)
            add_pieces_config(g, s, &pieces[i], vector);
    if (!s->n_configs) return *why_not = schedule_no_room(g), false;
    chain_few_configs(g, p, s, vector);
    sort_by_k(s);
    for (int i = 0; i < n_others; i++) config_copy(s, &others[i]);
    return true;
}
