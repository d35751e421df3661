/* The skinny driver: contractions with few rows on one side, which take as long as reading the other side. Its
 * configurations precede those of an engine of the gemm driver, for launches with so few rows.
 *
 * In: a group whose shape is known, and the element type of the engine. Out: configurations for up to 16 rows by tensor
 * cores and up to 8 by ordinary multiply-adds, and their cost. The wide side is n if m may be small, else m. */
#include "schedule/skinny.h"

#include "schedule/computed.h"

enum {
    WARPS = 4,
    RING_WORDS = 48,
    WORK_WORDS = 72,
    HALVES_WORDS = 56,
    MOST_SHARED = 64, /* rows of the wide side for an SM, from which a lane has four */
    MOST_LINE_BYTES = 64,
    MOST_CHUNK = 32,
    MOST_BLOCKS = 8,
    MOST_WARPS = 16,
    FEW_K = 1024, /* from which that many warps pay */
    LEAST_K = 64, /* from which the lanes of a warp along k are busy */
    OPEN_K = 4096,
    OPEN_TILES = 2, /* for an SM */
    DOT_TILES = 16, /* of rows of any alignment: of more mma reads as fast */
    MANY_TILES = 3,
    MOST_TURNS = 16,   /* of a block */
    MANY_BLOCKS = 64   /* for an SM: with so many left it has the next one ready when one ends */
};

/* The extents of l multiplied, or -1 where they are not fixed. */
static int64_t fixed_size(const struct graph *g, const struct axis_list *l) {
    int64_t size = 1;
    for (int i = 0; i < l->n && size >= 0; i++) {
        int64_t e = g->kernel->axes[l->axes[i]].extent;
        size = e < 0 ? -1 : size * e;
    }
    return size;
}

struct wide { /* the side that is read once */
    bool is_a;
    bool is_second; /* the other one may be it as well */
    int n; /* operands of a segment, at most */
    enum layout layout;
    bool is_computed;
};

static const struct operand *wide_operand(const struct segment *e, bool is_a, int j) { return is_a ? &e->a : &e->b[j]; }

/* All operands of the wide side lie alike. */
static bool find_wide(const struct gemm_shape *shape, bool is_a, struct wide *w) {
    *w = (struct wide){.is_a = is_a, .n = 1, .layout = wide_operand(&shape->segments[0], is_a, 0)->layout};
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        for (int j = 0; j < (is_a ? 1 : e->n_sums); j++) {
            const struct operand *o = wide_operand(e, is_a, j);
            if (o->layout != w->layout) return false;
            w->is_computed |= o->is_computed;
            if (j + 1 > w->n) w->n = j + 1;
        }
    }
    return true;
}

/* Whether the few rows lie with m or n contiguous: mma then reads them element by element, every warp anew. */
static bool is_turned(const struct gemm_shape *shape, const struct wide *w) {
    for (int i = 0; i < shape->n_segments; i++)
        for (int j = 0; j < (w->is_a ? shape->segments[i].n_sums : 1); j++)
            if (wide_operand(&shape->segments[i], !w->is_a, j)->layout == LAYOUT_MN_MAJOR) return true;
    return false;
}

/* What computed operands of the wide side read: bits of the narrowest tensor that lies along chunks, bits an element of
 * all of them, values a chunk, and the longest chunk for which that holds. */
struct chunk_reads {
    int narrowest, bits, values, most;
    bool make_halves; /* two 16-bit floats at a time, and a product's words at a time */
};

static struct chunk_reads wide_reads(
    const struct graph *g, const struct partition *p, const struct scheduled *s, const struct wide *w) {
    struct chunk_reads all = {.narrowest = 128, .most = MOST_CHUNK, .make_halves = true};
    for (int i = 0; i < s->gemm.n_segments; i++) {
        const struct segment *e = &s->gemm.segments[i];
        for (int j = 0; j < (w->is_a ? 1 : e->n_sums); j++) {
            const struct operand *o = wide_operand(e, w->is_a, j);
            struct chunk_reads own = {0};
            if (!o->is_computed) continue;
            struct computed m = computed_open(g, p, s->group, o, e, w->is_a ? &s->gemm.m : &s->gemm.n);
            int most = computed_most_chunk(g, o, &m, MOST_CHUNK);
            if (most < all.most) all.most = most;
            all.make_halves &= computed_halves(g, o, &m, w->is_a ? s->gemm.a_dtype : s->gemm.b_dtype) != NULL;
            for (int k = 0; k < m.n_leaves; k++) {
                const struct leaf *f = &m.leaves[k];
                int bits = f->kind == LEAF_ONE || f->kind == LEAF_MANY ? 0
                           : f->kind == LEAF_WORD ? fx_dtype_bits(g->kernel->params[f->node->param].dtype)
                                                  : fx_dtype_bits(f->tensor.dtype);
                own.values += f->kind == LEAF_ONE;
                own.bits += f->kind == LEAF_MANY ? 32 : bits;
                if (bits && bits < all.narrowest) all.narrowest = bits;
            }
            if (own.bits > all.bits) all.bits = own.bits;
            if (own.values > all.values) all.values = own.values;
        }
    }
    return all;
}

/* Elements of k that a lane reads at a time, or adjacent columns: 16 bytes of the narrowest tensor, as far as what else
 * is read allows; whole products of `least`. 0: there is no such length. */
static int chunk_of(const struct wide *w, const struct chunk_reads *r, int size, int least, bool is_aligned) {
    int chunk = least;
    if (w->layout == LAYOUT_MN_MAJOR) {
        chunk = size == 8 ? 2 : 4;
        return w->is_computed && r->narrowest <= 8 && size <= 2 ? 8 : chunk;
    }
    if (!w->is_computed) return chunk;
    while (is_aligned && chunk * 2 <= r->most && chunk * 2 * r->narrowest <= 128 &&
           chunk * 2 * r->bits <= MOST_LINE_BYTES * 8)
        chunk *= 2;
    return chunk <= r->most ? chunk : 0;
}

/* Registers of what a lane reads of one row at a time. */
static int line_words(const struct wide *w, const struct chunk_reads *r, int size, int chunk) {
    return w->is_computed ? (r->bits * chunk + 31) / 32 + r->values : chunk * size / 4 > 0 ? chunk * size / 4 : 1;
}

struct method { /* to multiply */
    bool uses_mma;
    int small; /* rows of the other side, at most */
};

static const char *product_text(
    const struct graph *g, const struct skinny *x, const struct wide *w, struct method method, int rows) {
    struct arena *a = &g->cx->arena;
    if (!method.uses_mma)
        return arena_printf(
            a, "fx_skinny_fma<%s, %s, %d, %d>", x->element, x->size == 2 ? "float" : x->element, method.small, rows);
    return arena_printf(a,
        w->layout != LAYOUT_MN_MAJOR && rows > 2 ? "fx_skinny_mma<%s, %d, %d>" : "fx_skinny_mma<%s, %d>",
        w->is_a || !x->swapped ? x->product : x->swapped, method.small, rows);
}

/* Tiles that a configuration is for: where the launch has the extent of the wide side, few or many have their own. */
enum wideness { ANY_NUMBER, OF_FEW, OF_SOME, OF_MANY };

static void add_config(const struct graph *g, const struct partition *p, struct scheduled *s, const struct skinny *x,
    const struct wide *w, struct method method, bool is_aligned, enum wideness wideness) {
    struct chunk_reads r = wide_reads(g, p, s, w);
    bool is_k = w->layout != LAYOUT_MN_MAJOR, is_double = fx_dtype_bits(x->sum) == 64;
    int n_sums = s->gemm.n_accumulators, chunk = chunk_of(w, &r, x->size, 16 / x->size, is_aligned), warps = WARPS;
    if (!chunk) return;
    const struct axis_list *wide_axes = w->is_a ? &s->gemm.m : &s->gemm.n;
    /* What is made two elements at a time takes so few instructions that those around them count: a product of the few
     * rows is then read for as many of the others as there are blocks for. */
    const int64_t most_shared = (int64_t)MOST_SHARED * g->cx->arch->sms;
    const bool is_of_few = wideness == OF_FEW,
               make_halves = w->is_computed && r.make_halves && is_aligned && is_k && method.uses_mma,
               shares = make_halves && (wideness == OF_MANY || fixed_size(g, wide_axes) >= most_shared);
    if (wideness == OF_MANY && !shares) return;
    int group = is_k && !method.uses_mma ? 32 : 4,
        rows = !is_k                                              ? chunk
               : (method.uses_mma && !shares) || method.small == 1 ? 2
                                                                  : 4,
        lines = is_k ? rows : 4, step = group * (is_k ? chunk : 4), ahead = 4;
    int words = line_words(w, &r, x->size, chunk) * lines * w->n * (x->size == 2 && !is_aligned && is_k ? 2 : 1),
        made = !w->is_computed ? 0 : make_halves ? 4 * lines : chunk * x->size / 4 * lines;
    const struct axis_list *k_axes = &s->gemm.segments[0].k;
    /* The lanes of a warp run along k. For an open k below LEAST_K tiles of multiply-adds are faster. This was measured
     * for f32. */
    const bool is_lone_k = is_k && !method.uses_mma && x->size == 4 && fx_is_float(x->sum);
    double k = nominal_size(g, k_axes->axes, k_axes->n),
           tiles = nominal_size(g, s->gemm.batch.axes, s->gemm.batch.n) *
                   nominal_size(g, wide_axes->axes, wide_axes->n) / (32 / group * rows),
           sms = g->cx->arch->sms;
    /* What is open may be long, whatever the point at which the kernel is taken; few tiles have their own entry. */
    if (fixed_size(g, k_axes) < 0 && k < OPEN_K) k = OPEN_K;
    if (fixed_size(g, wide_axes) < 0 && (tiles < OPEN_TILES * sms || wideness == OF_SOME)) tiles = OPEN_TILES * sms;
    bool are_many = tiles > MANY_TILES * sms;
    /* Blocks enough for the memory to be busy while some begin or end, each with less on its way; else more warps. */
    if (!is_aligned || w->is_computed || (are_many && method.uses_mma)) ahead = 2;
    if (is_of_few) /* as the registers allow */
        warps = (method.small > 8 && n_sums > 1) || !method.uses_mma ? MOST_WARPS / 2 : MOST_WARPS, are_many = false;
    /* Two blocks of twice the warps an SM hold all tiles at once, as far as the registers allow. */
    const bool may_be_two = n_sums == 1 && method.uses_mma && !w->is_computed && is_k,
               is_two_blocks = may_be_two && fixed_size(g, wide_axes) >= 0 && tiles > sms && tiles <= 2 * sms;
    if (wideness == OF_SOME && !may_be_two) return;
    if (wideness == OF_SOME) warps = MOST_WARPS / 2;
    const bool is_dot = x->size == 2 && !method.uses_mma, is_of_16 = is_k && method.small == 16 && n_sums == 1;
    const double most_tiles = is_of_few || (!method.uses_mma && !is_dot) || shares ? 0
                              : is_dot || is_two_blocks               ? 8 * sms
                              : make_halves                           ? 12 * sms
                              : w->is_computed                        ? (is_k ? 0 : 12 * sms)
                              : is_of_16 && tiles <= sms              ? 16 * sms
                                                                      : (!is_k ? 12 : 6) * sms;
    while (warps < MOST_WARPS && tiles * warps < most_tiles) warps *= 2;
    if (is_of_16 && !w->is_computed && warps > WARPS && ahead > 2) ahead = 2; /* more would not stay in registers */
    while (ahead > 1 && (ahead * words + made > RING_WORDS || ahead * warps * step > k)) ahead /= 2;
    while (warps > 1 && warps * step > k) warps /= 2;
    /* Of several sums whose operands lie on the side of the few rows, those are all read beside what is on its way. */
    int n_few = 1;
    for (int i = 0; w->is_a && i < s->gemm.n_segments; i++)
        if (s->gemm.segments[i].n_sums > n_few) n_few = s->gemm.segments[i].n_sums;
    const bool has_little_room = n_few * method.small > (method.uses_mma ? 16 : 8);
    if (ahead > 1 && has_little_room) ahead /= 2;
    /* All of k is on its way at once: then beginning a block takes longer than what it does. */
    int turns = 1;
    while (turns < MOST_TURNS && w->is_computed && is_k && method.uses_mma && fixed_size(g, wide_axes) >= 0 &&
           k <= 4 * ahead * warps * step && tiles >= 2 * turns * MANY_BLOCKS * sms)
        turns *= 2;
    if (turns > 1) { /* one warp reads all of k, or the most of it, of four rows a lane */
        warps = 1, rows = lines = 4;
        ahead = k > 2 * step ? 3 : k > step ? 2 : 1;
        words = line_words(w, &r, x->size, chunk) * lines * w->n;
        made = make_halves ? 4 * lines : chunk * x->size / 4 * lines;
    }
    int wide = 32 / group * rows,
        sums = rows * (method.uses_mma ? method.small / 4 : method.small) * n_sums * (is_double ? 2 : 1),
        smem = warps * n_sums * wide * method.small * (is_double ? 8 : 4);
    int work = (make_halves ? HALVES_WORDS : is_aligned ? WORK_WORDS : 2 * WORK_WORDS) + method.small / 2 +
               (w->is_second ? method.small : 0) + (has_little_room ? (n_few - 1) * ahead * method.small : 0) +
               (method.uses_mma ? 0 : 32 * (w->n - 1 + (method.small >= 8))),
        blocks = SM_REGISTERS / (warps * 32) / (ahead * words + made + sums + work);
    if (smem > g->cx->arch->block_shared || sums > 128) return;
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = is_aligned,
        .stores_any = true,
        .is_skinny = true,
        .swaps = w->is_a,
        .starts_early = g->cx->arch->has_wgmma,
        .chunk = is_k ? chunk : 0,
        .tile_m = w->is_a ? wide * turns : method.small,
        .tile_n = w->is_a ? method.small : wide * turns,
        .tile_k = ahead * step * warps,
        .block = warps * 32,
        .min_blocks = blocks < 1             ? 1
                      : blocks > MOST_BLOCKS ? MOST_BLOCKS
                                             : blocks,
        .smem_bytes = smem,
        .vector = x->vector,
        .turns = turns,
        .wants_few = method.uses_mma && g->cx->arch->has_wgmma && is_turned(&s->gemm, w) ? 1
                     : wideness == OF_SOME || (is_of_few && is_dot)                      ? OPEN_TILES
                     : is_dot && !is_aligned                                             ? DOT_TILES
                     : method.small == 16 && !w->is_computed && is_aligned               ? MANY_TILES
                                                                                         : 0,
        .few = is_of_few && method.uses_mma,
        .from_k = is_of_few || wideness == OF_SOME         ? FEW_K
                  : is_lone_k && fixed_size(g, k_axes) < 0 ? LEAST_K
                                                           : 0,
        .from_wide = wideness == OF_MANY ? (int)most_shared : 0,
        .rate = 1,
        .suffix = arena_printf(&g->cx->arena, "skinny%d%s%s%s", method.small, w->is_second ? "_n" : "",
            wideness == OF_FEW    ? "_few"
            : wideness == OF_SOME ? "_some"
            : wideness == OF_MANY ? "_many"
                                  : "",
            is_aligned ? "" : "_any"),
        .engine = arena_printf(&g->cx->arena, "fx_skinny_engine<%s, %s, %d, %d, %d, %s, %s%s>",
            product_text(g, x, w, method, is_k ? rows : chunk), is_k ? "true" : "false", chunk, ahead, warps,
            w->is_a ? "true" : "false", !method.uses_mma || are_many ? "true" : "false",
            turns > 1 ? arena_printf(&g->cx->arena, ", %d", turns) : ""),
        .text = arena_printf(&g->cx->arena, "skinny, up to %d %s by %s, %d warp%s along k, %s%s", method.small,
            w->is_a ? "columns" : "rows", method.uses_mma ? "mma" : "multiply-adds", warps, warps == 1 ? "" : "s",
            turns > 1 ? arena_printf(&g->cx->arena, "%d tiles a block, ", turns) : "",
            is_aligned ? "16-byte loads" : "any alignment")};
}

/* Rows of the small side. */
static int most_rows(const struct skinny *x) { return x->product ? 16 : x->size == 8 ? 4 : 8; }

/* Adds those whose small side is n, `is_a`, or m. */
static void add_side(const struct graph *g, const struct partition *p, struct scheduled *s, const struct skinny *x,
    bool is_aligned, bool is_a, bool is_second) {
    static const struct method methods[] = {{false, 1}, {false, 4}, {false, 8}, {true, 8}, {true, 16}};
    int64_t rows = fixed_size(g, is_a ? &s->gemm.n : &s->gemm.m), cols = fixed_size(g, is_a ? &s->gemm.m : &s->gemm.n),
            before = 0;
    int most = most_rows(x);
    struct wide w;
    if (rows > most || !find_wide(&s->gemm, is_a, &w)) return;
    if ((w.layout == LAYOUT_STRIDED && is_aligned) || (w.layout == LAYOUT_MN_MAJOR && x->size == 1)) return;
    w.is_second = is_second;
    const bool has_dots = x->size == 2 && !w.is_computed && w.layout == LAYOUT_K_MAJOR && !(is_aligned && is_second);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const bool is_dot = has_dots && methods[i].small == 1; /* of one row: warps that share no column */
        if (methods[i].uses_mma != (x->product != NULL) && !is_dot) continue;
        if (methods[i].small > most || (rows >= 0 && (rows <= before || rows > methods[i].small))) continue;
        if (cols < 0 && !w.is_computed && (methods[i].uses_mma || (is_dot && !is_aligned)))
            add_config(g, p, s, x, &w, methods[i], is_aligned, OF_FEW);
        if (cols < 0 && w.layout == LAYOUT_K_MAJOR && (is_aligned || !is_second))
            add_config(g, p, s, x, &w, methods[i], is_aligned, OF_SOME);
        if (cols < 0) add_config(g, p, s, x, &w, methods[i], is_aligned, OF_MANY);
        if (is_dot && is_second) continue; /* an entry for many would be compiled for little */
        add_config(g, p, s, x, &w, methods[i], is_aligned, ANY_NUMBER);
        if (!is_dot || is_aligned) before = methods[i].small; /* else mma takes many columns */
    }
}

/* Where extents leave it open either side may be the small one. */
void skinny_add(
    const struct graph *g, const struct partition *p, struct scheduled *s, const struct skinny *x, bool is_aligned) {
    int64_t m = fixed_size(g, &s->gemm.m), cols = fixed_size(g, &s->gemm.n);
    const int most = most_rows(x);
    struct node **shared;
    const bool is_odd = !is_aligned && x->product; /* halves are read as they lie, as windows or one by one */
    if (is_odd &&
        (x->size != 2 || gemm_is_computed(&s->gemm) || gemm_is_strided(&s->gemm) || gemm_has_strides(&s->gemm)))
        return;
    if (s->block || gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)) return;
    bool is_a = cols >= 0 && cols <= most && (m < 0 || m > cols), is_b = !is_a && m >= 0 && m <= most;
    if (!is_a) add_side(g, p, s, x, is_aligned, false, false);
    if (!is_b) add_side(g, p, s, x, is_aligned, true, !is_a);
}

/* Operations of computed elements, positions among them, that an SM does in a cycle. */
static const double ISSUED = 200;
/* Cycles after which an SM can begin one more block, however little that does: a sum of 128 products by a warp, H100. */
static const double STARTING = 250;
/* Likewise of a further tile of the same block. */
static const double TURNING = 350;
/* How much more than its share of the bandwidth an SM reads where others are idle. */
static const double ALONE = 2.5;

double skinny_seconds(const struct graph *g, const struct scheduled *s, const struct config *f, double bytes) {
    const struct gemm_shape *shape = &s->gemm;
    const struct arch *arch = g->cx->arch;
    double batches = nominal_size(g, shape->batch.axes, shape->batch.n), m = nominal_size(g, shape->m.axes, shape->m.n),
           n = nominal_size(g, shape->n.axes, shape->n.n), small = f->swaps ? n : m, wide = f->swaps ? m : n, ops = 0;
    int wide_tile = f->swaps ? f->tile_m : f->tile_n, small_tile = f->swaps ? f->tile_n : f->tile_m;
    double tiles = batches * (double)(int64_t)((wide + wide_tile - 1) / wide_tile);
    if (f->few && tiles * f->few > arch->sms) return -1;
    if (f->from_k && nominal_size(g, shape->segments[0].k.axes, shape->segments[0].k.n) < f->from_k) return -1;
    if (f->from_wide && wide < f->from_wide) return -1;
    if (small > small_tile || (f->wants_few && tiles > f->wants_few * arch->sms)) return -1;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        double k = batches * nominal_size(g, e->k.axes, e->k.n) * nominal_size(g, e->k_outer.axes, e->k_outer.n);
        bool is_fma = fx_dtype_bits(shape->a_dtype) > 16;
        ops += k * e->a.ops * (f->swaps ? m : small_tile * tiles / batches);
        for (int j = 0; j < e->n_sums; j++) {
            ops += k * e->b[j].ops * (f->swaps ? small_tile * tiles / batches : n);
            ops += k * wide * (is_fma ? small_tile : 1);
        }
    }
    double rounds = (double)(int64_t)((tiles + arch->sms - 1) / arch->sms), reading = bytes / arch->copied,
           alone = bytes / tiles * rounds * arch->sms / (ALONE * arch->copied),
           computing = ops / (arch_all_cycles(arch) * ISSUED) * rounds * arch->sms / tiles;
    if (tiles > 4 * arch->sms) computing = ops / (arch_all_cycles(arch) * ISSUED); /* many blocks are evened out */
    const double turns = f->turns > 1 ? f->turns : 1,
                 starting = tiles * (STARTING + (turns - 1) * TURNING) / arch_all_cycles(arch);
    double longest = computing > starting ? computing : starting;
    if (alone > longest) longest = alone;
    return longest > reading ? longest : reading;
}
