/* The bins driver: sums by key, sum[N](where(key == idx(Q), x, 0)), whose elements are read once for all bins.
 *
 * In: a row program whose every step is such a sum, of one key that lacks Q. Out: the contribution of an element, and
 * how blocks divide bins, columns and elements: the choice predicted to be fastest of all that fit in shared memory.
 * The second launch computes what follows the sums, and stores it. */
#include <string.h>

#include "schedule/bins.h"
#include "schedule/traffic.h"

bool schedule_bins_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
void schedule_bins_price(const struct graph *, const struct partition *, struct scheduled *);

/* ---- what is added up ---- */

static bool is_number_of(const struct node *n, const struct node *start) {
    return n->kind == N_CONST && n->dtype == start->dtype && n->num == start->num && n->integer == start->integer;
}

/* n as an index, seen through a cast to an integer type that holds all its values; or NULL. */
static const struct node *as_index(const struct graph *g, const struct node *n) {
    if (n->kind == N_CAST && fx_is_integer(n->dtype) && fx_dtype_bits(n->to) >= 32 && n->args[0]->kind == N_INDEX) {
        int64_t extent = g->kernel->axes[n->args[0]->axis].extent;
        if (extent >= 0 && extent <= INT32_MAX) n = n->args[0];
    }
    return n->kind == N_INDEX ? n : NULL;
}

/* Whether n is `key == idx(Q)` of a key without Q. */
static bool is_key(const struct graph *g, const struct group *r, const struct node *n, int *axis, struct node **key) {
    if (!node_is_op(n, O_EQ)) return false;
    for (int i = 0; i < 2; i++) {
        const struct node *at = as_index(g, n->args[i]);
        struct node *other = n->args[1 - i];
        if (!at || !axes_have(r->axes, r->n_axes, at->axis) || node_has_axis(other, at->axis)) continue;
        if (!fx_is_integer(other->dtype) || !node_has_any(other, r->reduced, r->n_reduced)) continue;
        *axis = at->axis, *key = other;
        return true;
    }
    return false;
}

/* Adds to x the conditions that n joins by `&&`: one of them is the key's, the others become guards. */
static bool add_condition(const struct graph *g, const struct group *r, struct bins *b, struct bin_term *x,
    struct node *n, bool *has_key) {
    int axis;
    struct node *key;
    if (node_is_op(n, O_AND))
        return add_condition(g, r, b, x, n->args[0], has_key) && add_condition(g, r, b, x, n->args[1], has_key);
    if (!*has_key && is_key(g, r, n, &axis, &key) && (!b->key || (b->axis == axis && b->key == key))) {
        b->axis = axis, b->key = key;
        return *has_key = true;
    }
    if (x->n_guards == MAX_GUARDS) return false;
    x->guards[x->n_guards++] = n;
    return true;
}

/* Whether an element of reduction n adds something to the bin of its key alone. */
static bool find_term(
    const struct graph *g, const struct group *r, struct bins *b, const struct node *n, struct bin_term *x) {
    struct node *t = n->args[0], start = reduction_start(n->reduction, t->dtype);
    bool has_key = false;
    *x = (struct bin_term){0};
    if (n->kind != N_REDUCE || (n->reduction != RED_SUM && n->reduction != RED_MAX && n->reduction != RED_MIN))
        return false;
    for (;;) {
        if (node_is_op(t, O_WHERE) && is_number_of(t->args[2], &start)) {
            if (!add_condition(g, r, b, x, t->args[0], &has_key)) return false;
            t = t->args[1];
        } else if (!has_key && n->reduction == RED_SUM && t->kind == N_CAST && t->args[0]->dtype == FX_BOOL) {
            if (!add_condition(g, r, b, x, t->args[0], &has_key)) return false;
            t = NULL;
        } else if (!has_key && n->reduction == RED_MAX && t->dtype == FX_BOOL) {
            if (!add_condition(g, r, b, x, t, &has_key)) return false;
            t = NULL;
        } else if (!has_key && n->reduction == RED_SUM && fx_is_integer(t->dtype) && node_is_op(t, O_MUL)) {
            int i = t->args[0]->kind == N_CAST && t->args[0]->args[0]->dtype == FX_BOOL ? 0 : 1;
            const struct node *factor = t->args[i];
            if (factor->kind != N_CAST || factor->args[0]->dtype != FX_BOOL) return false;
            if (!add_condition(g, r, b, x, factor->args[0], &has_key)) return false;
            t = t->args[1 - i];
        } else break;
        if (!t) break;
    }
    x->value = t;
    if (!has_key || (t && node_has_axis(t, b->axis))) return false;
    for (int i = 0; i < x->n_guards; i++)
        if (node_has_axis(x->guards[i], b->axis)) return false;
    return true;
}

/* Words of the sums of a bin and column: those of 8 bytes stand first, and make the whole a multiple of that. */
static int sum_words(const struct row_pass *pass) {
    int words = 0;
    bool has_wide = false;
    for (int i = 0; i < pass->n_ends; i++) {
        bool is_wide = fx_dtype_bits(pass->ends[i]->args[0]->dtype) == 64;
        words += is_wide ? 2 : 1;
        has_wide |= is_wide;
    }
    return words + (has_wide && words % 2);
}

static struct bins *find_bins(const struct graph *g, const struct group *r, const struct row_program *x) {
    struct bins *b = NEW(&g->cx->arena, struct bins);
    const struct row_pass *pass = x->passes;
    if (x->n_passes != 1 || x->n_scans || x->stores_elements || x->run || !pass->n_ends) return NULL;
    b->axis = -1;
    b->terms = NEW_ARRAY(&g->cx->arena, struct bin_term, pass->n_ends);
    for (int i = 0; i < pass->n_ends; i++)
        if (!find_term(g, r, b, pass->ends[i], &b->terms[i])) return NULL;
    if (find_label(&x->rows, b->axis) < 0) return NULL;
    for (int i = 0; i < x->rows.n; i++) {
        int axis = x->rows.axes[i];
        struct axis_list *l = node_has_axis(b->key, axis) ? &b->batch : &b->cols;
        if (axis != b->axis) l->axes[l->n++] = axis;
    }
    b->words = sum_words(pass);
    b->adds_words = true;
    for (int i = 0; i < pass->n_ends; i++) {
        const struct node *n = pass->ends[i];
        enum fx_dtype t = n->args[0]->dtype;
        b->adds_words &= n->reduction == RED_SUM && fx_is_integer(t) && fx_dtype_bits(t) == 32;
    }
    return b;
}

/* ---- how ---- */

enum {
    MOST_WARPS = 16,
    MOST_TILES = 64,       /* that bins are cut in */
    MOST_PARTS = 512,      /* that elements are cut in */
    MOST_UNROLL = 32,
    MOST_READ = 64,        /* words that a lane reads at a time */
    LIST_BYTES = 64 * 12 + 4 * 128 + 4, /* of a warp's list of elements, and its part of its team's */
    TEAM_KEYS = 128,       /* that a warp of a team reads in a round */
    LEAST_SHARE = 64,      /* elements of a set */
    MOST_TILE = 1 << 16,
    SECTOR = 32,           /* bytes that memory is read in */
    MOST_OPEN_PARTS = 264, /* where extents are open: at most; */
    OPEN_DEPTH = 1 << 20,  /* elements that they are chosen for, at least; */
    OPEN_COLS = 128,       /* and columns, at most */
    BLOCK_SUMS = 1 << 15,  /* sums of a block, about, so that all parts have a block an SM */
};

/* Cycles: of a sum in shared memory that is read, added to and written; of a read of memory; of 32 keys that a warp
 * reads, or looks at to find its own; of a team's warps that wait for each other in a round of keys; of instructions of an
 * element, and of each column and word of it. */
static const double ADD_CYCLES = 45, READ_CYCLES = 900, LIST_CYCLES = 80, ROUND_CYCLES = 4000, ELEMENT_OPS = 14,
                    COLUMN_OPS = 8;
static const double SWEEP_CYCLES = 16;            /* of a word of a set that is begun, and combined */
static const double FINISH_SECONDS = 4e-6;        /* of the second launch, beside its bytes */
static const double READ_AGAIN = 0.3;             /* of a byte that another tile reads, too: from the L2 cache */
static const double NOT_HIDDEN = 0.05;            /* of what is computed while memory is read */

struct work { /* at nominal extents */
    double batches, depth, bins, cols;
    double bytes;        /* that are read once */
    double key_bytes;    /* of which every tile reads the keys */
    double waste;        /* times the bytes of an element that are read where lanes stand along the elements */
    bool has_columns;    /* what is read lies along the columns */
};

static int least(int a, int b) { return a < b ? a : b; }
static double up(double x, double step) { return (double)(int64_t)((x + step - 1) / step); }

/* Sets of sums of a block. */
static int sets_of(const struct bins *b) { return b->adds_words ? 1 : b->warps / b->team; }

static int smem_bytes(const struct bins *b) {
    int width = b->is_along ? 32 : 32 * b->vector, words = sets_of(b) * b->tile * width * b->words;
    if (b->team > 1) words = (words + 1) / 2 * 2;
    int bytes = words * 4 + (b->team > 1 ? b->warps * LIST_BYTES : 0), finish = BINS_FINISH_WARPS * 32 * b->words * 4;
    return bytes > finish ? bytes : finish;
}

/* Registers of a thread, about: what it has of the elements that it reads at a time, beside what it computes with. */
static int registers_of(const struct bins *b) { return 40 + b->unroll * (b->vector * b->words + 2); }

/* Blocks that an SM holds at once. */
static int resident(const struct arch *m, const struct bins *b) {
    int n = m->sm_shared / (smem_bytes(b) + SHARED_OVERHEAD), threads = b->warps * 32;
    n = least(n, SM_REGISTERS / (threads * registers_of(b)));
    n = least(n, least(m->sm_threads / threads, m->sm_blocks));
    return n < 1 ? 1 : n;
}

static double seconds_of(const struct arch *m, const struct bins *b, const struct work *w) {
    double shares = b->warps / b->team, width = b->is_along ? 1 : 32 * b->vector, parts = b->parts,
           blocks = w->batches * up(w->cols, width) * up(w->bins, b->tile) * parts, at_once = resident(m, b),
           rounds = up(blocks, m->sms * at_once), share = w->depth / (parts * shares),
           found = b->team > 1 && b->tile < w->bins ? b->tile / w->bins : 1, /* of them this tile has */
           steps = b->is_along ? up(share, 32) : share * found / b->team;
    int words = b->words * b->vector;
    double held = up(blocks, m->sms) < at_once ? up(blocks, m->sms) : at_once;
    double latency = steps * ((b->adds_words ? 0 : ADD_CYCLES) + COLUMN_OPS * words + READ_CYCLES / b->unroll),
           issue = steps * (ELEMENT_OPS + COLUMN_OPS * words) * b->warps * held / 4;
    if (b->team > 1) {
        const double listing = up(share, 32) * (1.0 / b->team + found) * LIST_CYCLES;
        latency += listing + up(share, b->team * TEAM_KEYS) * ROUND_CYCLES;
        issue += listing / 4 * b->warps * held / 4;
    }
    double cycles = latency > issue ? latency : issue;
    cycles += (double)sets_of(b) * b->tile * (b->is_along ? 32 : width) * b->words / (32 * b->warps) * SWEEP_CYCLES +
              READ_CYCLES;
    double again = READ_AGAIN * (up(w->bins, b->tile) - 1), bytes = w->bytes;
    bytes = b->is_along ? bytes * w->waste * (1 + again) : bytes + w->key_bytes * up(w->cols, width) * again;
    double computing = rounds * cycles / m->cycles, memory = bytes / m->copied,
           walk = (computing > memory ? computing : memory) + computing * NOT_HIDDEN;
    if (b->parts == 1 && !b->budget) return walk;
    return walk + FINISH_SECONDS + 2.0 * parts * w->batches * w->bins * w->cols * b->words * 4 / m->copied;
}

/* Keeps b where it is faster: with as many parts as fill the GPU, and fewer; where there is a budget, with as many as
 * that allows. */
static void try(const struct arch *m, struct bins b, const struct work *w, struct bins *best, double *best_seconds) {
    if (smem_bytes(&b) > m->block_shared) return;
    double others = w->batches * up(w->cols, b.is_along ? 1 : 32 * b.vector) * up(w->bins, b.tile),
           most = b.budget ? b.budget / (w->batches * w->cols * w->bins) : m->sms * (double)resident(m, &b) / others,
           shares = w->depth / (b.warps / b.team * LEAST_SHARE);
    if (most > shares && !b.budget) most = shares;
    if (most > MOST_PARTS) most = MOST_PARTS;
    for (b.parts = most < 1 ? 1 : (int)most; b.parts >= 1; b.parts = b.parts > 1 && !b.budget ? (b.parts + 1) / 2 : 0) {
        double seconds = seconds_of(m, &b, w);
        if (*best_seconds > 0 && seconds >= *best_seconds) continue;
        *best = b, *best_seconds = seconds;
    }
}

static struct work work_of(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    const struct row_program *x = s->row;
    const struct bins *b = s->bins;
    struct work w = {.batches = nominal_size(g, b->batch.axes, b->batch.n),
        .depth = nominal_size(g, x->cols.axes, x->cols.n),
        .bins = nominal_extent(g, b->axis),
        .cols = nominal_size(g, b->cols.axes, b->cols.n),
        .waste = 1};
    w.key_bytes = w.batches * w.depth * 4;
    int last = b->cols.n ? b->cols.axes[b->cols.n - 1] : -1;
    for (int i = 0; i < s->n_loads; i++) {
        const struct tensor *t = &s->loads[i];
        double bytes = tensor_bytes(g, t);
        bool is_along = t->n_axes && axes_have(x->cols.axes, x->cols.n, t->axes[t->n_axes - 1]);
        w.bytes += bytes;
        w.has_columns |= last >= 0 && t->n_axes && t->axes[t->n_axes - 1] == last;
        if (!is_along && t->n_axes > 1 && fx_dtype_bits(t->dtype) >= 8) w.waste = SECTOR * 8 / fx_dtype_bits(t->dtype);
    }
    for (int i = 0; i < s->group->n_stores; i++) {
        struct tensor t = tensor_of_store(g, p, &s->group->stores[i]);
        w.bytes += tensor_bytes(g, &t);
    }
    return w;
}

/* The fastest of every tile, team and width that fits, in *best; its seconds, 0 where none does. */
static double choose(const struct arch *m, const struct work *w, struct bins *best) {
    struct bins b = *best;
    double seconds = 0;
    for (int along = !w->has_columns; along <= 1; along++)
        for (int tiles = 1; tiles <= MOST_TILES; tiles++)
            for (int warps = 1; warps <= MOST_WARPS; warps++)
                for (int team = 1; team <= (along || b.adds_words ? 1 : warps); team *= 2)
                    for (int vector = 1; vector <= (along ? 1 : 4); vector *= 2)
                        for (int unroll = 2; unroll <= MOST_UNROLL; unroll *= 2) {
                            if (warps % team || up(w->bins, tiles) > MOST_TILE) continue;
                            if (unroll > 2 && unroll * vector * b.words > MOST_READ) continue;
                            b.is_along = along, b.warps = warps, b.team = team, b.vector = vector, b.unroll = unroll;
                            b.tile = (int)up(w->bins, tiles);
                            if (b.tile < 1) b.tile = 1;
                            try(m, b, w, best, &seconds);
                        }
    return seconds;
}

static void add_config(const struct graph *g, struct scheduled *s, const struct bins *b, int most_bins, bool is_small) {
    struct arena *a = &g->cx->arena;
    int cols = b->is_along ? 1 : 32 * b->vector;
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_small = is_small,
        .most_bins = most_bins,
        .tile_m = b->tile,
        .tile_n = cols,
        .block = 32 * b->warps,
        .min_blocks = resident(g->cx->arch, b),
        .vector = 1,
        .smem_bytes = smem_bytes(b),
        .suffix = arena_printf(a, "%dx%d%s", b->tile, cols, is_small ? "" : "_big"),
        .engine = arena_printf(a, "%s, %d, %d, %d, %d, %d", b->is_along ? "true" : "false", b->warps, b->team,
            b->vector, b->unroll, b->tile),
        .text = arena_printf(a, "%d bins%s a block, %d warps, %s%s", b->tile,
            b->is_along ? "" : arena_printf(a, " of %d columns", cols), b->warps,
            b->adds_words   ? "which add to the same sums"
            : b->team > 1   ? arena_printf(a, "%d share their sums", b->team)
                            : "each its own sums",
            is_small ? "" : ", any size")};
}

static bool is_open(const struct graph *g, const struct axis_list *l) {
    for (int i = 0; i < l->n; i++)
        if (g->kernel->axes[l->axes[i]].extent < 0) return true;
    return false;
}

/* Bins that configurations are made for where their number is open, least first; more go to the one for the nominal
 * number. */
static const int few_bins[] = {32, 128, 512};

static bool add_configs(const struct graph *g, struct scheduled *s, struct work w) {
    const struct arch *m = g->cx->arch;
    struct bins first = *s->bins, b;
    bool is_open_bins = g->kernel->axes[first.axis].extent < 0, has_open_depth = is_open(g, &s->row->cols);
    if (is_open_bins || has_open_depth || is_open(g, &s->row->rows)) first.budget = m->sms * (int64_t)BLOCK_SUMS;
    if (has_open_depth && w.depth < OPEN_DEPTH) w.bytes *= OPEN_DEPTH / w.depth, w.depth = OPEN_DEPTH;
    if (is_open(g, &first.cols) && w.cols > OPEN_COLS) w.bytes *= OPEN_COLS / w.cols, w.cols = OPEN_COLS;
    if (is_open(g, &first.batch)) w.batches = 1;
    for (int i = 0; is_open_bins && i < (int)(sizeof few_bins / sizeof *few_bins); i++) {
        struct work few = w;
        few.bins = few_bins[i];
        b = first;
        if (few.bins < w.bins && choose(m, &few, &b) > 0) add_config(g, s, &b, few_bins[i], true);
    }
    b = first;
    if (choose(m, &w, &b) <= 0) return false;
    if (b.budget) b.parts = MOST_OPEN_PARTS;
    *s->bins = b;
    add_config(g, s, &b, 0, true);
    add_config(g, s, &b, 0, false);
    s->parts = b.parts > 1 ? b.parts : 0;
    return true;
}

bool schedule_bins_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct kernel *k = g->kernel;
    if (!s->group->is_row) return *why_not = "it is no row program", false;
    s->row = row_analyse(g, p, s->group);
    for (int i = 0; i < s->group->n_stores; i++)
        if (s->group->stores[i].value->kind == N_PLACE) return *why_not = "it stores at positions", false;
    if (!(s->bins = find_bins(g, s->group, s->row))) return *why_not = "it is not of sums by one key alone", false;
    if (k->fuse == FUSE_REQUIRE || k->kernels || s->block) return *why_not = "it takes two launches", false;
    if (!add_configs(g, s, work_of(g, p, s))) return *why_not = "sums that shared memory does not hold", false;
    return true;
}

/* Where extents are open, by bytes alone: beside reading all elements for every bin, whose time grows with the product
 * of two extents, a launch more is nothing. */
void schedule_bins_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    struct work w = work_of(g, p, s);
    s->bytes += scheduled_bytes(g, p, s);
    s->seconds = s->bins->budget ? s->bytes / g->cx->arch->copied : seconds_of(g->cx->arch, s->bins, &w);
}

void bins_parts(struct terms *x, const struct kernel *k, const struct bins *b, const struct axis_list *rows) {
    terms_constant(x, b->parts);
    if (!b->budget) return;
    terms_constant(x, b->budget);
    terms_size(x, k, rows->axes, rows->n);
    terms_constant(x, 1);
    terms_op(x, FX_T_MAX);
    terms_op(x, FX_T_DIV);
    terms_op(x, FX_T_MIN);
    terms_constant(x, 1);
    terms_op(x, FX_T_MAX);
}

void bins_finish(struct scheduled *s) {
    for (int i = 0; i < s->n_configs; i++) {
        struct config *f = &s->configs[i];
        f->block = BINS_FINISH_WARPS * 32;
        f->min_blocks = 1;
        f->smem_bytes = BINS_FINISH_WARPS * 32 * s->bins->words * 4;
        f->text = f->is_small ? "combines parts, a warp 32 sums" : "combines parts, a warp 32 sums, any size";
    }
}
