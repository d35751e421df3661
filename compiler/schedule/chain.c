/* The chain driver over the mma engine, for f16 and bf16, and over the simt engine, for f32: tiles, shared memory,
 * price. */
#include <string.h>

#include "schedule/chain_program.h"
#include "schedule/traffic.h"

bool schedule_chain_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
void schedule_chain_price(const struct graph *, const struct partition *, struct scheduled *);

/* Problems by the registers that they take beside the sums: one first contraction of operands that lie in memory, or
 * more. */
enum weight { PLAIN = 1, HEAVY, BOTH };

/* A tile: rows, intermediate and columns a block takes at a time. Where A's rows are kept, bk is the most that is
 * summed over; else it is walked in blocks of bk. Where operands are not copied 16 bytes at a time they pass through
 * registers, which leaves fewer for sums. */
static const struct chain_tile {
    bool is_mma;
    int bm, bt, bn, bk, warps_m, warps_n, min_blocks;
    bool keeps, copies;
    enum weight takes;
    int most_inner; /* first contractions */
    double rate; /* flops a cycle and SM, of both contractions */
} tiles[] = {
    {true, 64, 64, 64, 64, 2, 2, 3, true, true, BOTH, 3, 800},
    {true, 64, 64, 128, 128, 2, 2, 3, true, true, BOTH, 3, 800},
    {true, 64, 64, 64, 64, 2, 2, 2, false, true, BOTH, 3, 500},
    {true, 64, 64, 128, 64, 2, 2, 2, false, true, BOTH, 3, 600},
    {true, 64, 128, 256, 64, 2, 4, 1, false, true, BOTH, 3, 700},
    {true, 64, 64, 64, 64, 2, 2, 2, false, false, BOTH, 1, 200},
    {true, 64, 64, 128, 64, 2, 2, 2, false, false, PLAIN, 1, 220},
    {true, 128, 64, 64, 64, 4, 2, 1, false, false, HEAVY, 3, 180},
    {false, 64, 64, 64, 16, 2, 2, 3, false, true, BOTH, 3, 120},
    {false, 64, 64, 128, 16, 2, 2, 2, false, true, BOTH, 3, 140},
    {false, 128, 64, 128, 16, 4, 2, 1, false, true, BOTH, 3, 150},
};

enum { MOST_ACCUMULATORS = 128 };

static int up(int bytes) { return (bytes + 1023) / 1024 * 1024; }
static int larger(int x, int y) { return x > y ? x : y; }

/* As fx_chain_map of driver_chain.cuh has it. */
static int smem_bytes(const struct chain_tile *t, const struct chain *x) {
    int pad = t->is_mma ? 0 : 4, size = t->is_mma ? 2 : 4,
        staging_pad = t->is_mma ? 8 : 0; /* engine_mma.cuh, engine_simt.cuh */
    int n_inner = x->parts.n_inner, a = (t->bm + pad) * t->bk * size,
        b = (t->bt + pad) * t->bk * size * x->first.most_sums, c = (t->bn + pad) * t->bt * size,
        p = (t->bm + pad) * t->bt * size;
    int staged = t->bm * (n_inner * t->bt + staging_pad) * 4, result = t->bm * (t->bn + staging_pad) * 4;
    int walked = t->keeps ? up(staged) + up(a) + up(b) : up(larger(3 * (a + b), staged));
    return larger(walked + up(c) + up(p), up(result)) + t->bm * 4 + t->bm * x->result_words * 4;
}

/* Sums a thread holds: of every first contraction, and of the second. */
static int accumulators(const struct chain_tile *t, const struct chain *x) {
    return t->bm * (x->parts.n_inner * t->bt + t->bn) / (t->warps_m * t->warps_n * 32);
}

/* Blocks an SM holds at once: beside several first contractions' sums there are fewer registers for others. */
static int blocks_of(const struct chain_tile *t, const struct chain *x) {
    int n = SM_REGISTERS / (t->warps_m * t->warps_n * 32) / (accumulators(t, x) + 104);
    return x->parts.n_inner == 1 || n > t->min_blocks ? t->min_blocks : n < 1 ? 1 : n;
}

static void add_config(
    const struct graph *g, struct scheduled *s, const struct chain_tile *e, bool is_aligned, int vector) {
    struct arena *a = &g->cx->arena;
    const struct chain *x = s->chain;
    struct config *c = config_next(s);
    if (!c) return;
    int walked = e->keeps ? e->bk : 256;
    *c = (struct config){.is_aligned = is_aligned,
        .tile_m = e->bm,
        .tile_n = e->bn,
        .tile_k = e->bk,
        .stages = e->keeps ? 1 : 3,
        .block = e->warps_m * e->warps_n * 32,
        .min_blocks = blocks_of(e, x),
        .smem_bytes = smem_bytes(e, x),
        .vector = vector,
        .most_k = e->keeps ? e->bk : 0,
        .inner = e->keeps ? e->bt : 0,
        .rate = (is_aligned ? e->rate : e->rate * 0.9) * e->bn / (walked + e->bn)};
    c->suffix = arena_printf(a, "%dx%dx%d%s%s", e->bm, e->bt, e->bn, e->keeps ? arena_printf(a, "_k%d", e->bk) : "",
        is_aligned ? "" : "_any");
    const char *engine = e->is_mma ? arena_printf(a, "fx_chain_mma<fx_%s, ", fx_dtype_name(x->second.b_dtype))
                                   : "fx_chain_simt<";
    c->engine = arena_printf(a, "%s%d, %d, %d, %d, %d, %d, %s>", engine, e->bm, e->bt, e->bn, e->bk, e->warps_m,
        e->warps_n, e->keeps ? "true" : "false");
    c->text = arena_printf(a, "%s %d rows, %d of the intermediate, %d columns, %s%d, %s",
        e->is_mma ? "mma" : "simt", e->bm, e->bt, e->bn, e->keeps ? "rows kept up to k = " : "k in blocks of ", e->bk,
        is_aligned ? "16-byte copies" : "any alignment");
}

bool schedule_chain_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!(s->chain = chain_analyse(g, p, s->group, why_not))) return false;
    const struct chain *x = s->chain;
    enum fx_dtype dtype = x->second.b_dtype;
    const struct operand *column = &x->second.segments[0].b[0];
    bool is_mma = dtype == FX_F16 || dtype == FX_BF16;
    if (!is_mma && dtype != FX_F32)
        return *why_not = arena_printf(&g->cx->arena, "no engine multiplies %s", fx_dtype_name(dtype)), false;
    if (gemm_has_strides(&x->first) || gemm_has_strides(&x->second))
        return *why_not = "an operand's strides are only known when it is launched", false;
    bool strided = gemm_is_strided(&x->first) || column->layout == LAYOUT_STRIDED,
         computed = gemm_is_computed(&x->first) || column->is_computed;
    enum weight weight = computed || x->parts.n_inner > 1 || s->is_twin ? HEAVY : PLAIN;
    s->gemm = x->second;
    int vector = gemm_vector(g, s, is_mma ? 8 : 4);
    for (int aligned = 1; aligned >= 0; aligned--)
        for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
            const struct chain_tile *e = &tiles[i];
            bool copies = !is_mma || (aligned && !strided && !computed);
            if (e->is_mma != is_mma || e->copies != copies ||
                (e->keeps && (x->first.n_segments > 1 || x->first.segments[0].k_outer.n)) ||
                (is_mma && strided && e->bn > 64))
                continue;
            if (x->parts.n_inner > e->most_inner || !(e->takes & weight) || accumulators(e, x) > MOST_ACCUMULATORS ||
                smem_bytes(e, x) > g->cx->arch->block_shared)
                continue;
            add_config(g, s, e, aligned, vector);
        }
    if (!s->n_configs)
        return *why_not = arena_printf(&g->cx->arena,
                   "%d contractions between which nothing is stored take more registers than there are",
                   x->parts.n_inner + 1),
               false;
    return true;
}

/* Labels summed over by the first contractions, all of them, and operations that their computed operands take in a pass
 * of one tile's rows over the intermediate. */
static double inner_size(const struct graph *g, const struct chain *x, double *a_ops, double *b_ops) {
    double total = 0;
    *a_ops = *b_ops = 0;
    for (int i = 0; i < x->first.n_segments; i++) {
        const struct segment *e = &x->first.segments[i];
        double k = nominal_size(g, e->k.axes, e->k.n) * nominal_size(g, e->k_outer.axes, e->k_outer.n);
        total += k * e->n_sums;
        *a_ops += k * e->a.ops;
        for (int j = 0; j < e->n_sums; j++) *b_ops += k * e->b[j].ops;
    }
    return total;
}

/* What of the intermediate blocks take: masks leave out a part of it, half of it if they are causal; what the driver of
 * these engines skips is behind a row's end. */
static double taken(const struct chain *x, const struct config *f) {
    bool has_end = false;
    for (int i = 0; i < x->n_limits; i++) has_end |= x->limits[i].is_end;
    bool reads_c = !x->second.segments[0].b[0].is_computed;
    return x->n_limits && !f->piece && !f->is_masked && (f->takes_maps || (has_end && !x->finite && reads_c)) ? 0.5
                                                                                                             : 1;
}

/* Whether rows of o, along k where that is contiguous, else along mn, have a fixed size that is no multiple of what is
 * copied at a time. */
static bool is_never_aligned(
    const struct graph *g, const struct operand *o, const struct axis_list *k, const struct axis_list *mn) {
    const struct axis_list *l = o->layout == LAYOUT_K_MAJOR ? k : mn;
    int64_t bits = fx_dtype_bits(o->tensor.dtype);
    for (int i = 0; i < l->n; i++) {
        if (g->kernel->axes[l->axes[i]].extent < 0) return false;
        bits *= g->kernel->axes[l->axes[i]].extent;
    }
    return bits % 128 != 0;
}

/* Whether a chain of one row, which row programs may add up too, has no aligned configuration. */
static bool takes_any_alone(const struct graph *g, const struct chain *x) {
    const struct segment *first = &x->first.segments[0], *second = &x->second.segments[0];
    return !x->first.m.n && (is_never_aligned(g, &first->b[0], &first->k, &x->first.n) ||
                                is_never_aligned(g, &second->b[0], &second->k, &x->second.n));
}

/* The first contractions are added up anew for every pass over the intermediate, and for every tile of columns; what is
 * made on the way, too. */
void schedule_chain_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    const struct chain *x = s->chain;
    const struct segment *second = &x->second.segments[0];
    double m = nominal_size(g, x->first.m.axes, x->first.m.n),
           rows = nominal_size(g, x->first.batch.axes, x->first.batch.n) * m;
    double t = nominal_size(g, second->k.axes, second->k.n), n = nominal_size(g, x->second.n.axes, x->second.n.n),
           a_ops, b_ops, least = -1;
    double k = inner_size(g, x, &a_ops, &b_ops);
    for (int i = 0; i < s->n_configs; i++) {
        const struct config *f = &s->configs[i];
        if (f->most_k && k > f->most_k * x->parts.n_inner) continue;
        if (f->is_aligned && takes_any_alone(g, x)) continue;
        double tiles_n = (double)(int64_t)((n + f->tile_n - 1) / f->tile_n), walked = f->most_k ? f->tile_k : 256;
        double rate = f->rate * (walked + f->tile_n) / f->tile_n;
        if ((f->most_m && m > f->most_m) || (f->most_n && n > f->most_n) || (f->most_t && t > f->most_t))
            continue;
        double sms = g->cx->arch->sms, tiles_m = (double)(int64_t)((m + f->tile_m - 1) / f->tile_m) * rows / m,
               work = tiles_m * tiles_n, rounds = f->piece ? work : (double)(int64_t)((work + sms - 1) / sms) * sms;
        double ops = tiles_m * tiles_n * t *
                     (x->n_passes * (b_ops + a_ops * f->tile_m / 64) + f->tile_n * second->b[0].ops);
        double seconds = taken(x, f) * rounds * 2.0 * f->tile_m * t * (x->n_passes * k + f->tile_n) / rate /
                             arch_all_cycles(g->cx->arch) +
                         gemm_computed_seconds(g, ops);
        if (least < 0 || seconds < least) least = seconds;
    }
    double memory = traffic_seconds(g, p, s);
    s->bytes = memory * g->cx->arch->copied;
    s->flops = 2 * rows * t * (k * x->n_passes + n);
    s->seconds = least > memory ? least : memory;
}
