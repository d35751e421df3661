/* The configurations of the row driver, which takes every row program.
 *
 * In: a group that is a row program. Out: its configurations, in the order in which a launch tries them, and the number
 * of parts into which few rows are cut. A team of threads shares a row: a warp or a part of one for a short row, a
 * block or a cluster for a longer one. A row that several passes read stays in registers if it fits. If rows and not
 * their elements are adjacent in memory, neighbouring threads have neighbouring rows. row_price.c has the price. */
#include <math.h>
#include <string.h>

#include "schedule/row_program.h"

bool schedule_row_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A team of threads: its place in a table is its rank. `chunks` is what a thread reads before it computes. */
struct team {
    int lanes, across; /* threads on a row; rows, or vectors of rows, in a block */
    int chunks;
    bool is_resident;  /* the row stays in registers: up to lanes * chunks * V elements */
    int suits;         /* chunks a thread has at most where it is the faster choice; 0: any number; CACHED: as many as
                          the L2 cache holds, of all rows under way, until they are read again; TURNED: teams take
                          turns in memory, as behind a vector of a row lies one of the next; WIDE: any number, where
                          across rows long pieces of memory are read; SHORT: all that rows are known to have;
                          BARE: any number, where values that passes share are computed anew;
                          PAIRED: with registers for two blocks on an SM, where nothing spills; TIGHT: where nothing does */
    int wants_grid;    /* EVERY_SM: the faster choice only where it has a block for every SM, or as many threads as are
                          wanted; MOST_SMS: of vectors, for three SMs of four; ANY_GRID: always */
    int spread;        /* blocks of a cluster that shares the rows of a block; 0: none does */
    int few;           /* the faster choice only where so many times its clusters are no more than the SMs; 0: always */
};

enum { CACHED = -1, TURNED = -2, WIDE = -3, SHORT = -4, BARE = -5, PAIRED = -6, TIGHT = -7 };
enum { ANY_GRID, EVERY_SM, MOST_SMS };
enum { SPREAD = 8, PAIR = 2 }; /* blocks of a cluster */

static const struct team kept_rows[] = {
    {8, 32, 2, true, 0, ANY_GRID, 0, 0},
    {32, 8, 4, true, 0, ANY_GRID, 0, 0},
    {512, 1, 1, true, 0, ANY_GRID, 0, 1},
    {512, 1, 2, true, 0, ANY_GRID, 0, 1},
    {1024, 1, 2, true, 0, ANY_GRID, 0, 1},
    {128, 1, 4, true, 0, ANY_GRID, 0, 0},
    {256, 1, 4, true, 0, ANY_GRID, 0, 0},
    {256, 1, 4, true, 0, ANY_GRID, SPREAD, 4},
    {512, 1, 4, true, 0, ANY_GRID, SPREAD, 4},
    {512, 1, 8, true, 0, ANY_GRID, SPREAD, 4},
    {512, 1, 4, true, PAIRED, ANY_GRID, 0, 0},
    {512, 1, 6, true, PAIRED, ANY_GRID, 0, 0},
    {512, 1, 4, true, 0, ANY_GRID, 0, 0},
    {512, 1, 8, true, 0, ANY_GRID, 0, 0},
    {1024, 1, 6, true, TIGHT, ANY_GRID, 0, 0},
    {1024, 1, 8, true, TIGHT, ANY_GRID, 0, 0},
    {512, 1, 8, true, BARE, ANY_GRID, 0, 0},
    {512, 1, 8, true, BARE, ANY_GRID, PAIR, 0},
    {1024, 1, 8, true, BARE, ANY_GRID, 0, 0},
    {512, 1, 16, true, 0, ANY_GRID, 0, 0},
    {1024, 1, 4, false, CACHED, ANY_GRID, 0, 0},
    {512, 1, 4, false, 0, ANY_GRID, SPREAD, 4},
    {512, 1, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team turned_rows[] = {
    {8, 32, 4, true, TURNED, ANY_GRID, 0, 0},
    {16, 32, 4, true, TURNED, ANY_GRID, 0, 0},
    {256, 2, 8, true, TURNED, ANY_GRID, 0, 0},
    {256, 2, 16, true, TURNED, ANY_GRID, 0, 0},
};
static const struct team read_rows[] = {
    /* one pass: nothing is worth keeping */
    {8, 32, 2, false, 4, ANY_GRID, 0, 0},
    {32, 8, 4, false, 8, ANY_GRID, 0, 0},
    {128, 1, 4, false, 8, ANY_GRID, 0, 0},
    {512, 1, 4, false, 0, ANY_GRID, SPREAD, 4},
    {512, 1, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team columns[] = {
    {8, 32, 8, true, 0, EVERY_SM, 0, 0},
    {32, 8, 8, true, 0, ANY_GRID, 0, 0},
    {128, 4, 16, true, 0, ANY_GRID, 0, 0},
    {256, 2, 16, true, 0, ANY_GRID, 0, 0},
    {256, 4, 4, false, CACHED, ANY_GRID, 0, 0},
    {8, 32, 4, false, 0, EVERY_SM, 0, 0},
    {32, 8, 4, false, 0, EVERY_SM, 0, 0},
    {128, 4, 4, false, 0, MOST_SMS, 0, 0},
    {32, 8, 4, false, 0, MOST_SMS, SPREAD, 4},
    {256, 2, 4, false, 0, ANY_GRID, SPREAD, 2},
    {256, 2, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team columns_read[] = {
    {8, 32, 4, false, 0, EVERY_SM, 0, 0},
    {32, 8, 4, false, 0, EVERY_SM, 0, 0},
    {128, 4, 4, false, 0, EVERY_SM, 0, 0},
    {64, 8, 8, false, 0, ANY_GRID, SPREAD, 8},
    {32, 8, 4, false, 0, EVERY_SM, SPREAD, 4},
    {256, 2, 4, false, 0, ANY_GRID, SPREAD, 2},
    {256, 2, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team parted_rows[] = {{512, 1, 4, false, 0, ANY_GRID, 0, 0}};
static const struct team parted_scans[] = {{256, 1, 4, false, 0, ANY_GRID, 0, 0}};
static const struct team parted_columns[] = {
    {32, 8, 4, false, 0, EVERY_SM, 0, 0},
    {128, 2, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team scan_columns[] = { /* what a thread holds of a column are adjacent elements */
    {1, 128, 8, false, 32, EVERY_SM, 0, 0},
    {8, 32, 8, false, 0, EVERY_SM, 0, 0},
    {32, 8, 8, false, 0, EVERY_SM, 0, 0},
    {128, 4, 8, false, 0, EVERY_SM, 0, 0},
    {256, 2, 8, false, 0, ANY_GRID, 0, 0},
};
static const struct team scan_columns_again[] = {
    {1, 128, 8, false, 32, EVERY_SM, 0, 0},
    {8, 32, 8, true, 0, EVERY_SM, 0, 0},
    {32, 8, 8, true, 0, ANY_GRID, 0, 0},
    {8, 32, 8, false, 0, EVERY_SM, 0, 0},
    {32, 8, 8, false, 0, EVERY_SM, 0, 0},
    {128, 4, 8, false, 0, EVERY_SM, 0, 0},
    {256, 2, 8, false, 0, ANY_GRID, 0, 0},
};
static const struct team run_rows[] = { /* each thread adds its columns up over a run of rows */
    {32, 8, 2, true, 0, ANY_GRID, 0, 0},
    {256, 1, 1, true, 0, ANY_GRID, 0, 0},
    {256, 1, 2, true, 0, ANY_GRID, 0, 0},
    {512, 1, 2, true, 0, ANY_GRID, 0, 0},
    {512, 1, 4, true, 0, ANY_GRID, 0, 0},
    {512, 1, 4, false, 0, ANY_GRID, 0, 0},
};
static const struct team down_columns[] = {{1, 128, 4, false, 0, ANY_GRID, 0, 0}}; /* a column is one thread's */
/* Of sums that shared memory does not hold. */
static const struct team narrow_rows[] = {{32, 8, 1, false, 0, ANY_GRID, 0, 0}};

/* Teams of exactly `block` threads, for a row program that is a phase beside others: few blocks, so each thread has
 * more under way. Returns how many. */
static int teams_of_block(const struct scheduled *s, bool is_read_again, int block, struct team *t) {
    const struct row_program *x = s->row;
    const struct team kept[] = {
        {8, block / 8, 2, true, 0, false, 0, 0},
        {32, block / 32, 4, true, 0, false, 0, 0},
        {block, 1, 4, true, 0, false, 0, 0},
        {block, 1, 8, true, 0, false, 0, 0},
    };
    const struct team read[] = {
        {8, block / 8, 2, false, 4, false, 0, 0},
        {32, block / 32, 8, false, 8, false, 0, 0},
        {block, 1, 8, false, 0, false, 0, 0},
    };
    const struct team down[] = {
        {8, block / 8, 8, false, 0, true, 0, 0},
        {32, block / 32, 8, false, 0, true, 0, 0},
        {128, block / 128, 8, false, 0, false, 0, 0},
    };
    const struct team down_kept[] = {
        {8, block / 8, 8, true, 0, true, 0, 0},
        {32, block / 32, 8, true, 0, false, 0, 0},
    };
    int n = 0;
    const bool is_power = (block & (block - 1)) == 0; /* as threads are that add up a row, or scan columns, together */
    if (s->parts && !x->is_along_rows) return t[0] = read[2], is_power;
    if (x->is_along_rows && x->n_scans && !is_power) return 0;
    if (x->is_along_rows) {
        for (int i = 0; is_read_again && !s->parts && i < 2; i++) t[n++] = down_kept[i];
        for (int i = s->parts ? 1 : 0; i < 3; i++) t[n++] = down[i];
        return n;
    }
    for (int i = 0; is_read_again && i < (is_power ? 4 : 2); i++) t[n++] = kept[i];
    for (int i = 0; i < (is_power ? 3 : 2); i++) t[n++] = read[i];
    return n;
}

enum {
    PARTS = 256,       /* of each of a few rows */
    FEW_ROWS = 64,     /* rows that leave most of the GPU idle */
    MOST_WORDS = 64,   /* of registers for what a thread holds of its row */
    WORK_WORDS = 56,   /* what it computes with beside that */
    LEAST_WORK = 16,   /* likewise, at least */
    PAIR_WORDS = 32,   /* of which two blocks of 512 threads have room on an SM, where nothing spills */
    LIGHT_WORDS = 48,  /* the same along rows that are not kept, where more blocks gain more than it loses */
    BESIDE_WORDS = 24, /* what every thread has beside what it reads: addresses, sums */
    SPREAD_WORDS = 16, /* likewise, of a cluster */
    MOST_SHARED = 96 * 1024,
    SECTORS = 32,            /* bytes that lanes beside each other are to read of memory */
    WIDE_GRID = 1024,        /* threads an SM is to have that read single elements */
    CACHED_BYTES = 32 << 20, /* that are found in the L2 cache when they are read again */
    SMALLER_BLOCKS = 3,      /* of 512 threads, on an SM */
    LEAST_TURNED = 1024,     /* vectors of a row from which threads of half a block take turns with the others */
    LEAST_SKEWED = 32768, /* elements of a row from which vectors at boundaries of memory make up for both its ends */
    PIECE = 256,          /* bytes beside each other of which it matters little that sectors at both ends are cut */
    PIECE_WORDS = 32,     /* of registers for what a thread holds of such pieces */
};

static int smem_bytes(
    const struct graph *g, const struct scheduled *s, const struct team *t, int v) {
    const struct row_program *x = s->row;
    const bool is_turned = x->is_along_rows || t->suits == TURNED;
    const int own = x->is_along_rows ? v : 1; /* rows of a thread */
    int sums = 0, within = t->across < 32 && 32 % t->across == 0 ? 32 / t->across : 1; /* lanes of a column in a warp */
    if (within > t->lanes) within = t->lanes;
    int sets = t->lanes / within * t->across * own;
    if (is_turned) sums = t->lanes > 1 ? sets * (t->is_resident ? x->pass_words : x->sum_words) * 4 : 0;
    else if (t->lanes > 32) sums = 64 * x->sum_words * 4;
    int slots = x->is_along_rows ? t->lanes > 1 ? sets : 0 : t->lanes > 32 ? 33 : 0;
    slots *= 4 * (row_widest_scan(x) == 1 ? 2 : row_widest_scan(x));
    if (t->spread) { /* two memory barriers, and in turns the sets of all blocks */
        int rows = t->across * own;
        return ((is_turned ? sets : 64) + 2 * SPREAD * rows) * x->sum_words * 4 + 16;
    }
    if (x->run && t->across > 1) { /* what teams have of the same columns */
        int joined = t->lanes * t->across * row_run_words(g, s->group, v) * 4;
        if (sums < joined) sums = joined;
    }
    return sums < slots ? slots : sums;
}

/* Elements of a row that the L2 cache holds of all rows under way, so many of them on an SM. */
static int cached_cols(const struct graph *g, const struct scheduled *s, int rows, int v) {
    int bytes = 0;
    for (int i = 0; i < s->row->n_held; i++) {
        const struct tensor *t = &s->row->held[i];
        bool is_of_rows = false; /* what all rows share counts once */
        for (int a = 0; a < t->n_axes; a++) is_of_rows |= axes_have(s->row->rows.axes, s->row->rows.n, t->axes[a]);
        bytes += is_of_rows ? row_element_bytes(t) : 0;
    }
    int cols = (int)(CACHED_BYTES / ((int64_t)g->cx->arch->sms * rows * (bytes ? bytes : 1)));
    return cols / v * v;
}

/* How many vectors come to the 16 bytes that others take at once. */
static int short_vectors(const struct row_program *x, int v) {
    int bytes = 16;
    for (int i = 0; i < x->n_held; i++)
        if (v * row_element_bytes(&x->held[i]) < bytes) bytes = v * row_element_bytes(&x->held[i]);
    return 16 / bytes < 4 ? 16 / bytes : 4;
}

/* Whether threads have too few registers for so many chunks: those of blocks of 1024, those of which an SM has so many
 * though single elements are read or each has a part of a row, and those of clusters that keep single elements, whose
 * last pass reads what it alone reads for all of them at once, and their addresses. */
static bool lacks_registers(const struct scheduled *s, const struct team *t, int v, int chunks, int words) {
    const struct row_program *x = s->row;
    const int threads = t->lanes * t->across, tail = row_tail_words(x, v);
    const bool is_apart = t->spread && v == 1 && threads >= 512;
    if (x->is_along_rows || x->run || x->n_scans) return false;
    int blocks = SM_REGISTERS / (threads * (chunks * words + (t->is_resident ? WORK_WORDS : LIGHT_WORDS)));
    if (blocks < 1) blocks = 1;
    if (blocks < 2 && s->parts) blocks = 2;
    if (threads < 1024 && !(threads * blocks >= 1024 && (v == 1 || s->parts)) && !is_apart) return false;
    int beside = BESIDE_WORDS + (x->reads_apart ? chunks * v : 0);
    if (!t->is_resident) beside += chunks * tail + (t->spread ? SPREAD_WORDS : 0);
    else beside += is_apart ? 2 * chunks * tail : tail; /* of what is kept, a chunk at a time */
    return chunks * words + beside > SM_REGISTERS / (threads * blocks);
}

/* The last configuration once more, ahead of it: with registers for so many blocks on an SM, where nothing spills. */
static void add_tight(struct scheduled *s, struct arena *a, int blocks) {
    struct config *again = config_next(s);
    if (!again) return;
    struct config *c = again - 1;
    *again = *c;
    c->min_blocks = blocks;
    c->is_tight = true;
    c->suffix = arena_printf(a, blocks == 2 ? "%s_pair" : "%s_tight", c->suffix);
    c->text = arena_printf(a, "%s, %d blocks an SM", c->text, blocks);
}

/* Whether c is preferred under another condition than what team t becomes. */
static bool is_apart(const struct config *c, const struct team *t) {
    return c->few != t->few || c->is_tight || c->is_turned != (t->suits == TURNED) || c->is_wide != (t->suits == WIDE);
}

enum lies { ALIGNED, SKEWED, ANYHOW, BIG }; /* what is known of rows in memory; BIG: nor of their number */

static void add_config(const struct graph *g, struct scheduled *s, const struct team *t, int v, enum lies lies) {
    const bool is_aligned = lies == ALIGNED, is_small = lies != BIG, is_skewed = lies == SKEWED;
    const int apart = is_skewed ? v - 1 : 0; /* elements of others ahead of the first of a row */
    struct arena *a = &g->cx->arena;
    const struct arch *m = g->cx->arch;
    struct row_program *x = s->row;
    int chunks = t->chunks, words = row_chunk_words(x, v, t->suits == BARE), step = x->is_along_rows ? 1 : v;
    if (x->is_along_rows && x->n_scans) words = row_scan_chunk_words(x, v);
    if (!x->is_along_rows && x->n_scans && v == 1) words += row_widest_scan(x);
    if (x->run && t->is_resident) words += row_run_words(g, s->group, v);
    const int threads = t->lanes * t->across;
    const bool is_half = t->spread == PAIR || t->suits == BARE; /* of an SM, if in blocks of 512 */
    if (v == 1 && (is_half || t->suits == TIGHT || t->suits == PAIRED)) return;
    if (x->n_kept && (t->suits == TIGHT || t->suits == PAIRED))
        return;                                       /* values that passes share take most registers */
    if (t->spread == PAIR && x->n_passes < 2) return; /* it waits too little for another to fill in */
    if (t->spread && (!m->has_clusters || x->n_scans || s->block)) return;
    if (v == 1 && t->suits != SHORT && !x->run && !(x->is_along_rows && (x->n_scans || t->is_resident || s->parts)))
        chunks *= 4; /* as many elements a thread as with vectors */
    else if (!t->is_resident && !x->is_along_rows && !x->run && !x->n_scans && !s->parts)
        chunks *= short_vectors(x, v);
    const int each = t->lanes * step * (t->spread ? t->spread : 1); /* elements of a row in a chunk of all threads */
    const bool is_long = !t->spread && (t->suits == TIGHT || t->suits == PAIRED || t->suits == BARE);
    const int known = t->is_resident && !x->run && !x->is_along_rows && (v == 1 || is_long)
                          ? (row_known_cols(g, x, each * chunks - apart) + apart + each - 1) / each : chunks;
    if (known * words <= MOST_WORDS && !lacks_registers(s, t, v, known, words)) chunks = known;
    while (chunks > 1 && chunks * words > MOST_WORDS) chunks /= 2;
    while (chunks > 1 && lacks_registers(s, t, v, chunks, words)) chunks /= 2;
    if (is_half && threads == 512 && chunks * words > PAIR_WORDS) return;
    if (t->suits == PAIRED && threads * 2 * (chunks * words + LEAST_WORK) > SM_REGISTERS) return;
    if (t->is_resident && chunks * words > 2 * MOST_WORDS) return;
    /* Of rows that are read again, two blocks on an SM read more than one that has twice as much under way. */
    const bool is_reread = !t->is_resident && x->n_passes + x->stores_elements > 1;
    while (is_reread && !x->is_along_rows && !x->n_scans && !x->run && !s->parts && !t->spread && threads == 512 &&
           chunks > 2 && threads * (chunks * words + LIGHT_WORDS) > SM_REGISTERS / 2)
        chunks /= 2;
    int kept = each * chunks;
    const struct config *before = s->n_configs ? &s->configs[s->n_configs - 1] : NULL;
    while (before && before > s->configs && is_apart(before, t)) before--;
    if (t->is_resident && before && before->is_aligned == is_aligned && before->is_skewed == is_skewed &&
        !is_apart(before, t) && before->spread == t->spread && before->most_cols >= row_known_cols(g, x, kept - apart))
        return;
    struct config *c = config_next(s);
    if (!c) return;
    const int beside = v == 1 && !t->is_resident ? row_divisor_words(x) : 0; /* of so many single elements at once */
    const bool is_light = is_small && !t->is_resident && !x->is_along_rows && !x->n_scans;
    const char *kind = is_small ? is_aligned ? "" : is_skewed ? "_skewed" : "_any" : "_big";
    *c = (struct config){.is_aligned = is_aligned,
        .is_small = is_small,
        .tile_m = t->across * (x->is_along_rows ? v : 1),
        .tile_n = t->lanes * chunks * step,
        .block = threads,
        .min_blocks = SM_REGISTERS / (threads * (chunks * words + beside + (is_light ? LIGHT_WORDS : WORK_WORDS))),
        .vector = v,
        .smem_bytes = smem_bytes(g, s, t, v),
        .most_cols = t->is_resident ? kept - apart : 0,
        .suits_cols = t->suits == CACHED ? cached_cols(g, s, t->across * (x->is_along_rows ? v : 1), v)
                      : t->suits < 0      ? 0
                                          : t->suits * t->lanes * step,
        .spread = t->spread,
        .is_turned = t->suits == TURNED,
        .is_wide = t->suits == WIDE,
        .is_skewed = is_skewed,
        .is_tight = t->spread == PAIR || t->suits == TIGHT || t->suits == PAIRED || (t->suits == BARE && threads > 512),
        .from_cols = is_skewed         ? LEAST_SKEWED
                     : t->spread == PAIR ? kept / 4 * 3
                     : !t->spread      ? 0
                     : t->is_resident  ? 2 * t->lanes * step * SPREAD
                                       : kept,
        .few = t->few,
        .wants_grid = t->wants_grid == ANY_GRID                  ? 0
                      : !is_aligned && !t->spread               ? 4 * WIDE_GRID / threads
                      : is_aligned && t->wants_grid == MOST_SMS ? 3
                                                                : 4};
    if (t->suits == CACHED && !x->is_along_rows)
        c->from_cols = c->suits_cols / SMALLER_BLOCKS; /* below that the cache holds the rows of smaller blocks */
    if (x->run) c->min_blocks = 512 / threads; /* two runs an SM hide the latency of each other */
    /* It has no more to do; of two blocks one loads while the other stores. */
    if (t->spread == SPREAD && c->min_blocks > SPREAD / t->few) c->min_blocks = SPREAD / t->few;
    if (t->spread == PAIR || t->suits == PAIRED) c->min_blocks = 2;
    if (c->min_blocks < 1) c->min_blocks = 1;
    if (c->min_blocks * threads > m->sm_threads) c->min_blocks = m->sm_threads / threads;
    c->suffix = arena_printf(
        a, "%dx%d%s%s%s%s%s", t->across, t->lanes, t->suits == TURNED ? "_turned" : "",
        t->spread == PAIR ? "_two" : t->spread ? "_cluster" : "",
        t->is_resident ? arena_printf(a, "_%s%d", t->suits == BARE ? "hold" : "keep", chunks) : "", kind,
        t->suits == PAIRED ? "_pair" : "");
    c->engine = arena_printf(
        a, "%s, %d, %d, %d, %d", t->suits == BARE ? "2" : t->is_resident ? "true" : "false", v, chunks, t->lanes,
        t->across);
    for (int i = 0; i + 1 < s->n_configs; i++) /* more chunks that were too many come to the same */
        if (s->configs[i].is_tight && c->is_tight && kind_of(c) == kind_of(&s->configs[i]) &&
            strcmp(c->suffix, s->configs[i].suffix) == 0) {
            s->n_configs--;
            return;
        }
    int n_passes = (s->parts ? x->n_passes : row_read_passes(x)) + x->stores_elements;
    const char *passes = t->is_resident ? arena_printf(a, "up to %d elements kept in registers, ", c->most_cols)
                         : n_passes > 1 ? arena_printf(a, "read in each of %d passes, ", n_passes)
                                        : "";
    c->text = arena_printf(a, "%s%d thread%s %s, %s%s",
        t->spread == PAIR ? "a cluster of two blocks of " : t->spread ? "a cluster of blocks of " : "", t->lanes,
        t->lanes == 1 ? "" : "s", x->is_along_rows && v > 1 ? "a vector of rows" : "a row", passes,
        is_aligned  ? "16-byte accesses"
        : is_skewed ? "16-byte accesses, wherever rows begin"
        : is_small  ? "any alignment"
                    : "any size");
    const bool may_pair = t->is_resident && (t->suits == WIDE || (is_aligned && !x->is_along_rows)) && !x->n_scans &&
                          !x->run && threads == 512 && !t->spread && c->min_blocks == 1 &&
                          chunks * words <= PAIR_WORDS;
    /* By half as many more blocks rows of single elements gain. */
    const bool may_tighten = t->is_resident && t->suits != SHORT && !t->few && !x->n_scans && !x->run && !t->spread &&
                             !s->block && is_small && threads < 1024 && v == 1;
    int blocks = c->min_blocks + (c->min_blocks + 1) / 2;
    if (blocks * threads > m->sm_threads) blocks = m->sm_threads / threads;
    if (may_pair) add_tight(s, a, 2);
    else if (may_tighten && blocks > c->min_blocks &&
             threads * blocks * (chunks * words + LEAST_WORK) <= SM_REGISTERS)
        add_tight(s, a, blocks);
}

/* Bytes of memory that lanes of team t beside each other read, where V elements lie across rows. */
static int adjacent_bytes(const struct scheduled *s, const struct team *t, int v) {
    int bytes = 4;
    for (int i = 0; i < s->row->n_held; i++)
        if (row_element_bytes(&s->row->held[i]) < bytes) bytes = row_element_bytes(&s->row->held[i]);
    return t->across * v * bytes;
}

/* Team t with more rows across, so that its threads read whole sectors; where these are cut at both ends, two and as
 * many rows as a warp has threads. */
static struct team widened(const struct scheduled *s, const struct team *t, int v) {
    const bool is_cut = v == 1 && !t->spread && (!s->row->n_scans || s->parts);
    const int wanted = is_cut ? 2 * SECTORS : SECTORS, across = is_cut ? 32 : 1;
    struct team out = *t;
    while ((adjacent_bytes(s, &out, v) < wanted || out.across < across) && out.lanes > 8)
        out.across *= 2, out.lanes /= 2;
    return out;
}

/* Whether one of the teams behind number i that hold no rows is widened to the same. */
static bool is_met_again(const struct scheduled *s, const struct team *t, int n, int i, int v) {
    const struct team team = widened(s, &t[i], v);
    for (int k = i + 1; k < n; k++) {
        const struct team other = widened(s, &t[k], v);
        if (!t[k].is_resident && t[k].spread == t[i].spread && other.lanes == team.lanes &&
            other.across == team.across)
            return true;
    }
    return false;
}

/* Team t that holds no rows, across rows. One that reads single elements is always widened; of running sums, which no
 * cluster shares, only where that leaves a block for so many SMs. */
static void add_reading(const struct graph *g, struct scheduled *s, struct team t, int v, bool is_aligned) {
    const struct team wide = widened(s, &t, v);
    if (is_aligned && t.suits == CACHED && adjacent_bytes(s, &t, v) < 2 * SECTORS) return;
    if (!is_aligned && t.suits == CACHED) return;
    if (is_aligned ? t.wants_grid && !t.spread : !s->row->n_scans || t.wants_grid) t = wide;
    else if (!is_aligned && smem_bytes(g, s, &wide, v) <= MOST_SHARED && wide.across > t.across) {
        const int before = s->n_configs;
        add_config(g, s, &wide, v, is_aligned ? ALIGNED : ANYHOW);
        if (s->n_configs > before) s->configs[before].wants_grid = 1;
    }
    if (smem_bytes(g, s, &t, v) <= MOST_SHARED) add_config(g, s, &t, v, is_aligned ? ALIGNED : ANYHOW);
}

/* Whether pieces of memory read across rows, V elements a thread, are known to begin or end within sectors. */
static bool is_cut(const struct graph *g, const struct scheduled *s, int v) {
    const struct row_program *x = s->row;
    int64_t size = 1;
    for (int i = 0; i < x->along.n; i++) {
        const int64_t e = g->kernel->axes[x->along.axes[i]].extent;
        size = e < 0 || size < 0 ? -1 : size * e % SECTORS;
    }
    if (v == 1 || size < 0) return v == 1;
    for (int i = 0; i < x->n_held; i++)
        if (size * row_element_bytes(&x->held[i]) % SECTORS) return true;
    return false;
}

/* Teams that read pieces so long that the sectors cut at both ends are few of theirs; without vectors those alone that
 * hold their rows. */
static void add_wide(const struct graph *g, struct scheduled *s, int v, bool is_aligned) {
    const int words = row_chunk_words(s->row, v, false), bytes = adjacent_bytes(s, &(struct team){.across = 1}, v);
    if (v == 1 && bytes < 4) return; /* single ones of 16 bits take blocks of 1024 threads, which are no faster */
    const int across = PIECE / bytes < 8 ? 8 : PIECE / bytes > 64 ? 64 : PIECE / bytes, lanes = 512 / across;
    const struct team t[] = {
        {lanes, across, PIECE_WORDS / 2 / words, true, WIDE, MOST_SMS, 0, 0},
        {lanes, across, PIECE_WORDS / words, true, WIDE, MOST_SMS, 0, 0},
        {lanes, across, PIECE_WORDS / 2 / words, false, WIDE, MOST_SMS, 0, 0},
    };
    for (int i = 0; i < (v == 1 ? 2 : 3); i++)
        if (t[i].chunks && smem_bytes(g, s, &t[i], v) <= MOST_SHARED)
            add_config(g, s, &t[i], v, is_aligned ? ALIGNED : ANYHOW);
}

/* Across rows, teams that hold their rows: first those that read whole sectors, then those that read half of each and
 * hold more; then the others. */
static void add_across(
    const struct graph *g, struct scheduled *s, const struct team *t, int n, int v, bool is_aligned) {
    if (t == columns && is_cut(g, s, v)) add_wide(g, s, v, is_aligned);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < n; i++) {
            const struct team team = half ? t[i] : widened(s, &t[i], v);
            if (!t[i].is_resident || (half && (v == 1 || 2 * adjacent_bytes(s, &team, v) < SECTORS))) continue;
            if (smem_bytes(g, s, &team, v) <= MOST_SHARED) add_config(g, s, &team, v, is_aligned ? ALIGNED : ANYHOW);
        }
    for (int i = 0; i < n; i++)
        if (!t[i].is_resident && (is_aligned || !is_met_again(s, t, n, i, v))) add_reading(g, s, t[i], v, is_aligned);
}

/* Elements that vectors have which begin at boundaries of memory, wherever rows do, where rows are not known to begin
 * at such themselves; else 0. What is stored then lies as rows and their elements do. */
static int skewed_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, int v) {
    const struct row_program *x = s->row;
    int total, narrowest = row_narrowest_bytes(g, p, s, &total), wide = row_vector(g, p, s, true);
    bool is_open = false;
    if (x->is_along_rows || x->n_scans || x->run || s->parts || s->block || !x->n_held || x->along.n != x->cols.n)
        return 0;
    for (int i = 0; i < x->cols.n; i++) is_open |= g->kernel->axes[x->cols.axes[i]].extent < 0;
    if (narrowest > 2 || row_known_cols(g, x, LEAST_SKEWED) < LEAST_SKEWED) return 0;
    if (wide * narrowest < 8 || (!is_open && v > 1)) return 0;
    for (int i = 0; i < x->n_held + x->n_tail; i++) {
        const struct tensor *t = i < x->n_held ? &x->held[i] : &x->tail[i - x->n_held];
        if (t->is_strided || (i < x->n_held ? x->held_at[i] : x->tail_at[i - x->n_held])) return 0;
    }
    for (int i = 0; i < s->group->n_stores; i++) {
        const struct store *store = &s->group->stores[i];
        const struct tensor t = tensor_of_store(g, p, store);
        if (row_stores_elements(g, p, s->group, store) &&
            (store->value->kind == N_PLACE || !row_stores_vectors(g, p, x, s->group, store) || !row_lies_whole(x, &t)))
            return 0;
    }
    return wide;
}

/* Of the teams those whose threads read vectors from boundaries of memory. */
static void add_skewed(const struct graph *g, struct scheduled *s, const struct team *t, int n, int v) {
    for (int i = 0; i < n && v > 1; i++)
        if (!t[i].spread && t[i].suits != CACHED && t[i].suits != PAIRED &&
            (!t[i].is_resident || t[i].lanes * t[i].chunks * v > LEAST_SKEWED) &&
            smem_bytes(g, s, &t[i], v) <= MOST_SHARED)
            add_config(g, s, &t[i], v, SKEWED);
}

static void add_teams(
    const struct graph *g, const struct partition *p, struct scheduled *s, const struct team *t, int n, int v) {
    const int skewed = skewed_vector(g, p, s, v);
    if (v < skewed) add_skewed(g, s, t, n, skewed);
    for (int aligned = v > 1; aligned >= 0; aligned--) {
        if (!aligned && v == skewed) add_skewed(g, s, t, n, skewed);
        if (s->row->is_along_rows) add_across(g, s, t, n, aligned ? v : 1, aligned);
        else for (int i = 0; i < n; i++)
            if (smem_bytes(g, s, &t[i], v) <= MOST_SHARED)
                add_config(g, s, &t[i], aligned ? v : 1, aligned ? ALIGNED : ANYHOW);
    }
    int last = n - 1;
    while (last > 0 && (t[last].is_resident || smem_bytes(g, s, &t[last], 1) > MOST_SHARED)) last--;
    if (s->n_configs) add_config(g, s, &t[last], 1, BIG);
}

/* Where a vector is less than a sector and those of other rows lie behind it, teams in turns: of short rows those
 * of few threads, of long ones those of many. */
static void add_turned(const struct graph *g, struct scheduled *s, int v) {
    if (v == 1 || v != s->row->beside || s->row->n_scans) return;
    for (int i = 0; i < s->row->n_held; i++)
        if (v * row_element_bytes(&s->row->held[i]) >= SECTORS) return;
    for (int i = 0; i < (int)(sizeof turned_rows / sizeof *turned_rows); i++) {
        int at = s->n_configs;
        if (smem_bytes(g, s, &turned_rows[i], v) > MOST_SHARED) continue;
        add_config(g, s, &turned_rows[i], v, ALIGNED);
        for (; at < s->n_configs && turned_rows[i].across < 32; at++) s->configs[at].from_cols = LEAST_TURNED * v;
    }
}

/* Whether a row may be longer than what one block reads in little time. */
static bool is_long(const struct graph *g, const struct row_program *x) {
    for (int i = 0; i < x->cols.n; i++)
        if (g->kernel->axes[x->cols.axes[i]].extent < 0) return true;
    return nominal_size(g, x->cols.axes, x->cols.n) >= PARTS * 512.0;
}

/* What one more launch takes, how much faster parts are to be, which read the sums of all, and of which share of the
 * multiprocessors clusters are as good as of all. */
static const double NEXT_LAUNCH = 2e-6, PARTS_GAIN = 1.2, LEAST_OCCUPIED = 0.9;

/* Whether blocks of a row each would leave SMs idle for longer than reading the rows in parts takes. */
static bool idles_long(const struct graph *g, const struct scheduled *s, double rows, double cols) {
    const struct row_program *x = s->row;
    const struct arch *m = g->cx->arch;
    const bool is_spread = SPREAD / 2 * rows <= m->sms && m->has_clusters && !x->n_scans;
    const double blocks = is_spread ? SPREAD * rows : rows;
    double read = 0, row_bytes = 0;
    if (blocks >= m->sms) return false;
    for (int i = 0; i < s->n_loads; i++) read += tensor_bytes(g, &s->loads[i]);
    for (int i = 0; i < x->n_held; i++) row_bytes += cols * row_element_bytes(&x->held[i]);
    const bool is_kept = row_bytes <= 4.0 * MOST_WORDS * 512 * (is_spread ? SPREAD : 1);
    const double times = is_kept ? 1 : row_read_passes(x) + x->stores_elements;
    const double parts = read * row_reading_stages(x) / m->copied + (x->n_stages - 1) * NEXT_LAUNCH;
    return read * times / m->copied * m->sms / blocks > parts * PARTS_GAIN;
}

/* Whether clusters that share rows occupy the GPU, in whole waves: one launch then reads rows again. They are no
 * phases. */
static bool fills_clusters(const struct graph *g, const struct scheduled *s, double rows) {
    const struct row_program *x = s->row;
    const struct arch *m = g->cx->arch;
    if (!m->has_clusters || s->block || g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return false;
    return !x->n_scans && !x->is_along_rows && row_reading_stages(x) > 1 &&
           SPREAD * rows >= LEAST_OCCUPIED * m->sms * ceil(SPREAD * rows / m->sms) && SPREAD / 2 * rows <= m->sms;
}

/* Ahead of other teams, for rows that are known to be so short: one, two or four threads hold a row, as few as can:
 * what a thread adds up by itself no lanes tell each other. But what each has is to be a sector of memory at most, or
 * half as much again where rows are whole sectors: else many stores write parts of the same sectors. */
static void add_short(const struct graph *g, struct scheduled *s, int v) {
    enum { MOST_LANES = 4, MOST_CHUNKS = 5, BLOCK = 256 };
    const struct row_program *x = s->row;
    int64_t cols = 1;
    int size = 1;
    for (int i = 0; i < x->cols.n; i++) {
        const int64_t e = g->kernel->axes[x->cols.axes[i]].extent;
        if (e < 0 || cols * e > MOST_LANES * MOST_CHUNKS * v) return;
        cols *= e;
    }
    for (int i = 0; i < x->n_held + x->n_tail; i++) {
        const int bytes = row_element_bytes(i < x->n_held ? &x->held[i] : &x->tail[i - x->n_held]);
        if (bytes > size) size = bytes;
    }
    const int most = cols * size % SECTORS ? SECTORS : SECTORS + SECTORS / 2;
    for (int lanes = 1; lanes <= MOST_LANES && !x->n_scans; lanes *= 2) {
        const int chunks = (int)((cols + lanes * v - 1) / (lanes * v));
        if (chunks < 1 || chunks > MOST_CHUNKS || chunks * v * size > most) continue;
        const struct team t = {lanes, BLOCK / lanes, chunks, true, SHORT, ANY_GRID, 0, 0};
        add_config(g, s, &t, v, v > 1 ? ALIGNED : ANYHOW);
        return;
    }
}

/* Whether some reduction finds a place, so that lanes that are joined compare two values each. */
static bool finds_places(const struct group *r) {
    for (int i = 0; i < r->n_steps; i++)
        if (r->steps[i]->kind == N_REDUCE && r->steps[i]->reduction > RED_MIN) return true;
    return false;
}

/* Whether the rows, or the blocks that columns are dealt out to, leave most of the GPU idle for long. */
static bool has_few_rows(const struct graph *g, const struct scheduled *s, int v) {
    const struct row_program *x = s->row;
    double rows = nominal_size(g, x->rows.axes, x->rows.n), cols = nominal_size(g, x->cols.axes, x->cols.n);
    if (rows < FEW_ROWS && is_long(g, x) && !fills_clusters(g, s, rows)) return true;
    if (!x->is_along_rows) return idles_long(g, s, rows, cols);
    const int least = x->n_scans ? SECTORS / adjacent_bytes(s, &(struct team){.across = 1}, 1) : SECTORS / 4;
    const double across = 8 * v < least ? least : 8 * v; /* rows of a block */
    return rows / across < g->cx->arch->sms / (x->n_scans ? 2.0 : 2.0 * SPREAD) && cols >= PARTS * 64.0;
}

/* How many parts: a few blocks for each SM, since in launches that read elements every block adds up all parts of the
 * sums before; more where only results are left to compute. */
static void choose_parts(const struct graph *g, struct scheduled *s) {
    const struct row_program *x = s->row;
    const int reading = row_reading_stages(x);
    bool is_fixed = true;
    for (int i = 0; i < x->rows.n; i++) is_fixed &= g->kernel->axes[x->rows.axes[i]].extent >= 0;
    for (int i = 0; i < s->n_configs; i++)
        if (s->configs[i].min_blocks == 1 && s->configs[i].block <= 512 && s->configs[i].is_small)
            s->configs[i].min_blocks = 2; /* positions of 64 bits take more registers */
    s->part_rows = s->configs[0].tile_m;
    int held = s->configs[0].min_blocks, wanted = (reading > 1 ? 1024 : 2048) / s->configs[0].block;
    s->part_blocks = g->cx->arch->sms * (reading > 1 && held < wanted ? held : wanted);
    double blocks = (nominal_size(g, x->rows.axes, x->rows.n) + s->part_rows - 1) / s->part_rows;
    if (is_fixed && blocks >= 1 && s->part_blocks / (int)blocks < s->parts) s->parts = s->part_blocks / (int)blocks;
    if (s->parts < 1) s->parts = 1;
}

bool schedule_row_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!s->group->is_row) return *why_not = "it is no row program", false;
    struct row_program *x = s->row = row_analyse(g, p, s->group);
    int v = row_vector(g, p, s, false);
    bool is_read_again = x->n_passes > 1 || (x->n_passes == 1 && x->stores_elements);
#define TEAMS(table) add_teams(g, p, s, table, (int)(sizeof table / sizeof *table), v)
    if (x->run && s->block) return *why_not = "it reduces runs of rows, which a phase beside others does not", false;
    if (x->run) {
        TEAMS(run_rows);
        return *why_not = "sums that shared memory does not hold", s->n_configs > 0;
    }
    /* Running sums in parts spill on sm_80, where a thread of them has 85 registers. */
    const bool may_part = x->n_scans ? g->cx->arch->has_wgmma : x->n_passes > 0;
    if (may_part && has_few_rows(g, s, v)) s->parts = PARTS;
    if (s->block) {
        struct team t[8];
        int n = teams_of_block(s, is_read_again, s->block, t);
        if (n) add_teams(g, p, s, t, n, v);
        if (s->parts && s->n_configs) choose_parts(g, s);
        return *why_not = "sums that shared memory does not hold", s->n_configs > 0;
    }
    if (s->parts && x->is_along_rows) TEAMS(parted_columns);
    else if (s->parts && x->n_scans) TEAMS(parted_scans);
    else if (s->parts) TEAMS(parted_rows);
    else if (x->is_along_rows && x->n_scans && is_read_again) TEAMS(scan_columns_again);
    else if (x->is_along_rows && x->n_scans) TEAMS(scan_columns);
    else if (x->is_along_rows && is_read_again) TEAMS(columns);
    else if (x->is_along_rows) TEAMS(columns_read);
    else if (is_read_again) {
        add_short(g, s, v);
        add_turned(g, s, v);
        TEAMS(kept_rows);
    } else {
        struct team t[sizeof read_rows / sizeof *read_rows];
        memcpy(t, read_rows, sizeof t);
        if (finds_places(s->group)) t[0].suits *= 2;
        add_short(g, s, v);
        TEAMS(t);
    }
    if (!s->n_configs) s->parts = 0; /* sums that shared memory does not hold */
    if (!s->n_configs && x->is_along_rows) TEAMS(down_columns);
    if (!s->n_configs) TEAMS(narrow_rows);
    if (s->parts) choose_parts(g, s);
#undef TEAMS
    return true;
}
