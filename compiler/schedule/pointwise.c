/* The pointwise driver: every element of the output space once. Columns are the longest run of last axes that is
 * adjacent and last in every tensor that has any of it, at least a vector of the first output. Rows are the rest. If
 * some tensor has a label of rows contiguous, a block takes a tile of both. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "graph/linear.h"
#include "graph/operand.h"
#include "schedule/schedule.h"
#include "schedule/traffic.h"

bool schedule_pointwise_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
void schedule_pointwise_price(const struct graph *, const struct partition *, struct scheduled *);

enum {
    THREADS = 256,  /* a block, unless it is a phase beside others */
    FEW_BLOCKS = 4, /* on an SM at most, where elements are few */
    FEW_TILES = 2,  /* likewise of tensors that a thread would read by words of several rows */
    MANY_ACCESSES = 32, /* of a thread, at positions */
    LEAST_BYTES = 8,    /* of a vector of the narrowest tensor, where rows are no multiple of longer ones */
    MOST_AT_ONCE = 6,   /* of what it reads at positions */
};

/* What an SM issues in a cycle; with loops, loads of what they read among it: they come from caches. */
static const double OPS_PER_CYCLE = 32, INSTRUCTIONS_PER_CYCLE = 64;

/* Threads at work at once, and the time a turn of a thread's loop takes that reads memory: a long one finds it in no
 * cache. */
static const double THREADS_AN_SM = 1024, FEW_TURNS = 32, TURN_CYCLES = 100, LONG_TURN_CYCLES = 300;

/* Whether t has all of the run as its last axes, or none of it. */
static bool agrees(const struct tensor *t, const struct axis_list *run) {
    int at = find_run(t, run);
    return at == -2 || (at >= 0 && at + run->n == t->n_axes);
}

/* Axes of a parameter stored at positions that stand before one of them: their steps are no steps of the space. */
static void decode_place(const struct graph *g, const struct node *n, bool *is_decoded) {
    const struct param *p = &g->kernel->params[n->param];
    int last = p->n_axes - 1;
    while (!axes_have(n->at, n->n_at, p->axes[last])) last--;
    for (int i = 0; i < last; i++) is_decoded[p->axes[i]] = true;
}

/* The labels that a store runs over, in the order in which it stores. The labels of a position stand where its axis
 * stands, which may have a single element. */
static struct tensor stored_order(const struct graph *g, const struct partition *p, const struct store *s) {
    struct tensor t = tensor_of_store(g, p, s), out = t;
    const struct node *v = s->value;
    if (v->kind != N_PLACE) return t;
    const struct param *stored = &g->kernel->params[v->param];
    out.n_axes = 0;
    for (int i = 0; i < stored->n_axes; i++) {
        const int own = stored->axes[i];
        if (node_has_axis(v, own) && tensor_axis(&t, own) >= 0) out.axes[out.n_axes++] = own;
        for (int k = 0; k < v->n_at; k++)
            for (int a = 0; v->at[k] == own && a < v->args[1 + k]->n_axes; a++) {
                int axis = v->args[1 + k]->axes[a];
                bool is_there = tensor_axis(&t, axis) >= 0 || tensor_axis(&out, axis) >= 0;
                if (!is_there && g->kernel->axes[axis].extent != 1) out.axes[out.n_axes++] = axis;
            }
    }
    return out;
}

/* By axis: whether something reads its index by itself, a position or what is read there. */
static bool *find_decoded(const struct graph *g, const struct partition *p, const struct group *r) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1),
         *is_decoded = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_axes + 1);
    struct tensor t;
    for (int s = 0; s < r->n_stores; s++) seen[r->stores[s].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!seen[i] || node_is_loaded(g, p, r, n, &t)) continue;
        if (n->kind == N_INDEX) is_decoded[n->axis] = true;
        if (n->kind == N_PLACE) decode_place(g, n, is_decoded);
        for (int a = 0; n->kind == N_ACCESS && a < n->args[0]->n_axes; a++) {
            bool is_at = false;
            for (int k = 0; k < n->n_at; k++) is_at |= n->at[k] == n->args[0]->axes[a];
            is_decoded[n->args[0]->axes[a]] |= !is_at;
        }
        for (int a = 0; a < n->n_args; a++) seen[n->args[a]->id] = true;
    }
    return is_decoded;
}

bool pointwise_is_turned(const struct graph *g, const struct tensor *t, const struct pointwise_shape *shape) {
    enum { LEAST = 8 };
    if (!shape->rows.n || t->n_axes < 2 || t->is_strided) return false;
    int last = shape->rows.axes[shape->rows.n - 1];
    int64_t extent = g->kernel->axes[last].extent;
    if (t->axes[t->n_axes - 1] != last || (extent >= 0 && extent < LEAST)) return false;
    return tensor_axis(t, shape->cols.axes[shape->cols.n - 1]) >= 0;
}

/* Puts a label last of the rows that lies contiguous in a tensor of columns, the widest one, where none is turned: rows
 * may be taken in any order. */
static void turn_rows(const struct graph *g, const struct tensor *tensors, int n, struct pointwise_shape *shape) {
    struct axis_list *rows = &shape->rows;
    int best = -1, widest = 0;
    for (int i = 0; i < n; i++)
        if (pointwise_is_turned(g, &tensors[i], shape)) return;
    for (int r = 0; r + 1 < rows->n; r++) {
        struct pointwise_shape other = *shape;
        other.rows.axes[rows->n - 1] = rows->axes[r];
        for (int i = 0; i < n; i++) {
            const int bits = fx_dtype_bits(tensors[i].dtype);
            if (tensors[i].n_axes < rows->n + shape->cols.n) continue; /* others are read again, from caches */
            if (bits > widest && pointwise_is_turned(g, &tensors[i], &other)) best = r, widest = bits;
        }
    }
    if (best < 0) return;
    const int label = rows->axes[best];
    memmove(rows->axes + best, rows->axes + best + 1, (size_t)(rows->n - 1 - best) * sizeof label);
    rows->axes[rows->n - 1] = label;
}

/* Bytes of an element of the widest tensor that is read at positions and turned: its last axis runs with the last label
 * of rows, and some position with that of columns. */
static int turned_access(
    const struct graph *g, const struct partition *p, const struct group *r, const struct pointwise_shape *shape) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    struct tensor t;
    int widest = 0;
    if (!shape->cols.n) return 0; /* one value */
    for (int s = 0; s < r->n_stores; s++) seen[r->stores[s].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!seen[i] || node_is_loaded(g, p, r, n, &t)) continue;
        for (int a = 0; a < n->n_args; a++) seen[n->args[a]->id] = true;
        if (n->kind != N_ACCESS || !tensor_of_factor(g, n->args[0], &t) || !t.n_axes) continue;
        struct tensor read = t;
        bool is_moved = false; /* some label of columns is a position */
        for (int k = 0; k < n->n_at; k++) {
            const struct node *at = n->args[1 + k];
            is_moved |= node_has_axis(at, shape->cols.axes[shape->cols.n - 1]);
            for (int a = 0; a < read.n_axes; a++)
                if (t.axes[a] == n->at[k]) read.axes[a] = at->kind == N_INDEX ? at->axis : -1;
        }
        if (is_moved) read.axes[0] = shape->cols.axes[shape->cols.n - 1];
        if (t.n_axes > 1 && pointwise_is_turned(g, &read, shape) && fx_dtype_bits(t.dtype) / 8 > widest)
            widest = fx_dtype_bits(t.dtype) / 8;
    }
    return widest;
}

/* As many labels more from the end of rows as make n columns, if fixed extents are too few. Tensors that have them in
 * another order are then read and written element by element, out still as vectors. What is decoded stays a row. */
static void widen_columns(const struct graph *g, int n, const bool *is_decoded, struct pointwise_shape *shape) {
    int64_t size = 1;
    for (int i = 0; i < shape->cols.n && size < n; i++) {
        int64_t extent = g->kernel->axes[shape->cols.axes[i]].extent;
        size = extent < 0 ? n : size * extent;
    }
    while (size < n && shape->rows.n) {
        int axis = shape->rows.axes[shape->rows.n - 1];
        if (is_decoded && is_decoded[axis]) return;
        shape->rows.n--;
        memmove(shape->cols.axes + 1, shape->cols.axes, (size_t)shape->cols.n++ * sizeof axis);
        shape->cols.axes[0] = axis;
        int64_t extent = g->kernel->axes[axis].extent;
        size = extent < 0 ? n : size * extent;
    }
}

/* Where labels are decoded, columns are the last one alone: what depends on the others is then computed once for all
 * elements of a thread. */
static void choose_columns(const struct tensor *out, const struct tensor *tensors, int n, const bool *is_decoded,
    struct pointwise_shape *shape) {
    for (int first = 0; first < out->n_axes; first++) {
        struct axis_list run = {.n = out->n_axes - first};
        memcpy(run.axes, out->axes + first, (size_t)run.n * sizeof *run.axes);
        bool ok = true;
        for (int i = 0; i < n; i++) ok &= agrees(&tensors[i], &run);
        for (int i = 0; is_decoded && i < run.n; i++) ok &= !is_decoded[run.axes[i]];
        if (!ok && run.n > 1) continue;
        shape->cols = run;
        shape->rows.n = first;
        memcpy(shape->rows.axes, out->axes, (size_t)first * sizeof *out->axes);
        return;
    }
}

bool *pointwise_small_axes(const struct graph *g, const struct partition *p, const struct group *r) {
    struct footprint f = group_footprint(g, p, r);
    if (!f.is_general) return NULL;
    for (int i = 0; i < r->n_axes; i++) f.axes[r->axes[i]] = true;
    for (int i = 0; i < g->kernel->n_axes; i++) f.axes[i] &= g->kernel->axes[i].extent < 1 << 30;
    return f.axes;
}

/* What a configuration is for; REST: what VECTOR does not take, where positions have 64 bits at no cost. */
enum kind { FEW, VECTOR, ANY, BIG, REST };

/* rows: of a block's tile where tensors are turned; else 1. */
static void add_config(const struct graph *g, struct scheduled *s, int vector, int threads, int rows, int min_blocks,
    enum kind kind) {
    static const char *const suffixes[] = {"few", "vector", "any", "big", "any"};
    static const char *const accesses[] = {
        "of few elements", "16-byte accesses", "any alignment", "any size", "any alignment"};
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = kind <= VECTOR,
        .is_small = kind <= ANY,
        .tile_m = rows,
        .tile_n = vector * threads / rows,
        .block = threads,
        .min_blocks = min_blocks,
        .vector = vector,
        .wants_few = kind == FEW ? FEW_BLOCKS : 0,
        .suffix = suffixes[kind],
        .engine = arena_printf(&g->cx->arena, "%d", vector), /* fx_pointwise<V, ALIGNED> */
        .text = arena_printf(&g->cx->arena, "pointwise, %d elements a thread, %s%s", vector,
            rows > 1 ? arena_printf(&g->cx->arena, "tiles of %d rows, ", rows) : "", accesses[kind])};
}

/* As VECTOR, where a thread takes the rows of a word. */
static void add_words_config(const struct graph *g, struct scheduled *s, int vector, int threads, int words) {
    enum { ROWS = 32, FEW_WORDS = 16 };
    const int min_blocks = words <= FEW_WORDS ? 4 : 2;
    const int n = s->n_configs;
    add_config(g, s, vector, threads, ROWS, min_blocks, VECTOR);
    if (s->n_configs == n) return;
    s->configs[n].tile_m *= s->pointwise.word_rows;
    s->configs[n].text = arena_printf(&g->cx->arena, "pointwise, %dx%d elements a thread, tiles of %d rows, by words",
        s->pointwise.word_rows, vector, s->configs[n].tile_m);
}

/* Vectors that whole short rows of fixed length are made of, where those of so many elements would leave most lanes of
 * an unaligned row's first and last vector with nothing. */
static int shorter_vector(const struct graph *g, const struct axis_list *cols, int vector) {
    int64_t size = 1;
    for (int i = 0; i < cols->n; i++) {
        const int64_t extent = g->kernel->axes[cols->axes[i]].extent;
        if (extent < 1 || (size *= extent) > 2 * vector) return vector;
    }
    int shorter = vector;
    while (size % shorter) shorter /= 2;
    return shorter > 1 ? shorter : vector;
}

/* Elements that a thread takes where all are few: threads on every SM then share what there is to compute. */
static int vector_of_few(const struct graph *g, const struct scheduled *s, int vector, int threads) {
    const int narrow = vector / 4;
    double size = 1;
    for (int i = 0; i < s->group->n_axes; i++) {
        int64_t extent = g->kernel->axes[s->group->axes[i]].extent;
        size *= extent < 0 ? 1 : (double)extent;
    }
    bool is_few = size <= (double)FEW_BLOCKS * g->cx->arch->sms * threads * narrow;
    return is_few && narrow > 1 && !s->block ? narrow : 0;
}

/* An input that becomes two f16: by tiles of 64 x 64, which fx_halve of kernels/driver_halves.cuh has. */
static bool configure_halving(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    enum { WARPS = THREADS / 32, TILE = 64, WORD = 4, AHEAD = 4 };
    const struct tensor t = tensor_of_store(g, p, s->group->stores);
    const int block = s->block ? s->block : THREADS, ahead = block > THREADS ? AHEAD : 0;
    if (s->group->n_stores != 1) return *why_not = "it stores more than two f16", false;
    if (block < THREADS) return *why_not = "tiles of two f16 take 256 threads", false;
    s->pointwise.rows.n = t.n_axes - 1, s->pointwise.cols.n = 1;
    memcpy(s->pointwise.rows.axes, t.axes, (size_t)(t.n_axes - 1) * sizeof *t.axes);
    s->pointwise.cols.axes[0] = t.axes[t.n_axes - 1];
    struct config *c = config_next(s);
    *c = (struct config){.tile_m = TILE,
        .tile_n = TILE,
        .block = block,
        .min_blocks = ahead ? 1 : 4,
        .vector = 1,
        .ahead = ahead,
        .smem_bytes = 2 * WARPS * TILE * WORD + 2 * WARPS * WORD + ahead * TILE * TILE * WORD,
        .suffix = "halves",
        .engine = "",
        .text = "two f16 and powers of two, tiles of 64x64"};
    return true;
}

/* Whether t has any label of l. */
static bool has_any(const struct tensor *t, const struct axis_list *l) {
    for (int i = 0; i < l->n; i++)
        if (tensor_axis(t, l->axes[i]) >= 0) return true;
    return false;
}

/* Rows that a word has of each turned tensor that is read: the same for all of them, and so few that what a thread
 * fetches of that many rows, *words of it, stays in registers, 16-bit floats as f32. */
static int rows_of_word(
    const struct graph *g, const struct partition *p, const struct scheduled *s, int vector, int *words) {
    enum { MOST_WORDS = 64, WORD_BITS = 32 };
    const struct axis_list *cols = &s->pointwise.cols;
    int n = *words = 0;
    for (int i = 0; i < s->n_loads; i++) {
        const struct tensor *t = &s->loads[i];
        if (!pointwise_is_turned(g, t, &s->pointwise)) continue;
        const int bits = fx_dtype_bits(t->dtype), own = bits == 8 || bits == 16 ? WORD_BITS / bits : 0;
        if (!own || (n && n != own) || find_run(t, cols) < 0) return 0;
        n = own;
    }
    for (int i = 0; i < s->group->n_stores; i++) /* wider ones gain nothing */
        if (fx_dtype_bits(tensor_of_store(g, p, &s->group->stores[i]).dtype) * n > WORD_BITS) return 0;
    for (int i = 0; i < s->n_loads; i++) {
        const struct tensor *t = &s->loads[i];
        const int bits = fx_dtype_bits(t->dtype), held = bits == 16 && fx_is_float(t->dtype) ? WORD_BITS : bits;
        if (has_any(t, cols)) *words += vector * held / WORD_BITS * (has_any(t, &s->pointwise.rows) ? n : 1);
    }
    return n && vector % n == 0 && *words <= MOST_WORDS ? n : 0;
}

/* Chunks that a thread of a phase reads before it stores: beside a product on wgmma an SM has one block, of too few
 * threads to keep memory busy with one chunk each. Where elements take a function, threads that compute while others
 * read do better. */
static int chunks_ahead(int held, double instructions) {
    enum { MOST_HELD = 64, MOST = 4, OF_A_FUNCTION = 16 };
    const int n = instructions < OF_A_FUNCTION ? MOST_HELD / held : 0;
    return n > MOST ? MOST : n > 1 ? n : 0;
}

/* Reads of n rows at once that no other one of them has made, of all that they make. */
static double share_read(const struct chunk *chunks, int n_chunks, int n, int label) {
    int n_owners = 0, n_read = 0;
    for (int i = 0; i < n_chunks; i++) {
        if (chunks[i].owner != i) continue;
        n_owners++;
        for (int r = 0; r < n; r++) {
            bool is_read = false;
            for (int before = 0; before < r && !is_read; before++)
                for (int c = 0; c < n_chunks && !is_read; c++)
                    is_read = chunks[c].owner == c && chunks_read_same(&chunks[c], before, &chunks[i], r, label);
            n_read += !is_read;
        }
    }
    return n_owners ? (double)n_read / (n_owners * n) : 1;
}

/* Elements between the first and the last position along a label at which chunks read, of those that move with it one
 * by one; 0: none do. */
static int reach_along(const struct chunk *chunks, int n_chunks, int label) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int i = 0; i < n_chunks; i++) {
        const struct node *n = chunks[i].access;
        for (int k = 0; k < n->n_at; k++) {
            struct linear l = {0};
            if (!linear_add(&l, n->args[1 + k], 1) || l.n != 1 || l.axis[0] != label || l.factor[0] != 1) continue;
            if (l.first < least) least = l.first;
            if (l.first > most) most = l.first;
        }
    }
    return least <= most && most - least < INT_MAX ? (int)(most - least) : 0;
}

/* Adjacent rows that a thread takes at once: where what they read at positions overlaps along the last label of rows,
 * as the windows of a filter do that takes each channel by itself, it is read once for all of them. A divisor of that
 * label's extent, so that all lie in one run of it, up to about the length of the windows; as many threads as keep all
 * SMs busy are left. Not of strips or of longer windows, which were not measured. 0: one row. */
static int rows_at_once(const struct graph *g, const struct scheduled *s, const struct chunk *chunks, int n_chunks,
    int vector) {
    enum { LEAST_READS = 8, THREADS_LEFT = 256, LEAST_REACH = 2, MOST_REACH = 6 };
    static const double MOST_SHARE = 0.7;
    const struct axis_list *rows = &s->pointwise.rows;
    int n_owners = 0;
    double size = 1;
    for (int i = 0; i < s->group->n_axes; i++) size *= nominal_extent(g, s->group->axes[i]);
    for (int i = 0; i < n_chunks; i++) {
        if (chunks[i].is_strip) return 0;
        n_owners += chunks[i].owner == i;
    }
    for (int i = 0; i < s->group->n_stores; i++)
        if (s->group->stores[i].value->kind == N_PLACE) return 0;
    if (s->block || vector == 1 || !rows->n || n_owners < LEAST_READS) return 0;
    const int label = rows->axes[rows->n - 1];
    const int64_t extent = g->kernel->axes[label].extent;
    const int reach = reach_along(chunks, n_chunks, label);
    if (reach < LEAST_REACH || reach > MOST_REACH) return 0;
    for (int n = reach + 2 < MOST_ROWS_AT_ONCE ? reach + 2 : MOST_ROWS_AT_ONCE; n > 1 && extent > 0; n--)
        if (extent % n == 0 && size / vector / n >= (double)THREADS_LEFT * g->cx->arch->sms &&
            share_read(chunks, n_chunks, n, label) <= MOST_SHARE)
            return n;
    return 0;
}

/* Elements of each of n rows at once, so that what they read stays in registers: as measured with 3, 5 and 7 taps. */
static int vector_at_once(int n, int vector) {
    enum { MOST = 16, MOST_OF_MANY = 32, MANY = 6 };
    while (vector > 2 && vector * n > (n < MANY ? MOST : MOST_OF_MANY)) vector /= 2;
    return vector;
}

bool schedule_pointwise_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct group *r = s->group;
    if (r->contraction) return *why_not = "it has a contraction", false;
    if (r->is_row) return *why_not = "it is a row program", false;
    if (group_halves(p, r)) return configure_halving(g, p, s, why_not);
    int narrowest = 4, n = s->n_loads;
    struct tensor *tensors = NEW_ARRAY(&g->cx->arena, struct tensor, n + r->n_stores);
    for (int i = 0; i < n; i++) tensors[i] = s->loads[i];
    for (int i = 0; i < r->n_stores; i++) tensors[n++] = tensor_of_store(g, p, &r->stores[i]);
    struct tensor out = stored_order(g, p, &r->stores[0]);
    struct footprint f = group_footprint(g, p, r);
    const bool *is_decoded = f.is_general && !f.has_loops ? find_decoded(g, p, r) : NULL;
    choose_columns(&out, tensors, n, is_decoded, &s->pointwise);
    for (int i = 0; i < n; i++)
        if (fx_dtype_bits(tensors[i].dtype) / 8 < narrowest) narrowest = fx_dtype_bits(tensors[i].dtype) / 8;
    int vector = f.has_loops || narrowest == 0 ? 1 : 16 / narrowest;
    if (!out.is_strided) widen_columns(g, vector, is_decoded, &s->pointwise);
    if (!f.has_loops) turn_rows(g, tensors, n, &s->pointwise);
    /* What a thread fetches before it stores must stay in registers. */
    int n_along = 0;
    for (int i = 0; i < n - r->n_stores; i++) n_along += find_run(&tensors[i], &s->pointwise.cols) != -2;
    struct chunk *chunks = NEW_ARRAY(&g->cx->arena, struct chunk, MAX_CHUNKS);
    const int n_chunks = group_chunks(g, p, r, &s->pointwise.cols, chunks, MAX_CHUNKS);
    /* Vectors of a strip that are not whole in rows of fixed length would be read element by element. */
    for (int i = 0; i < n_chunks && vector > 1; i++) {
        const int ends[2] = {chunks[i].tensor.axes[chunks[i].tensor.n_axes - 1], s->pointwise.cols.axes[0]};
        for (int k = 0; k < 2 && chunks[i].is_strip; k++) {
            int64_t extent = g->kernel->axes[ends[k]].extent;
            while (extent > 0 && extent % vector && extent % 2 == 0 && vector * narrowest > LEAST_BYTES) vector /= 2;
        }
    }
    vector = shorter_vector(g, &s->pointwise.cols, vector);
    int n_read = 0;
    for (int i = 0; i < n_chunks; i++) { /* words are unpacked where they are used */
        int words = chunks[i].step * fx_dtype_bits(chunks[i].tensor.dtype) / 32;
        if (chunks[i].owner == i) n_read += words > 1 ? words : 1;
    }
    n_along += n_read < MOST_AT_ONCE ? n_read : MOST_AT_ONCE; /* of many, terms of a sum, few are held at once */
    bool is_strided = false; /* addresses of single elements take registers too */
    for (int i = 0; i < n; i++) is_strided |= tensors[i].is_strided;
    while (vector > 1 && vector * n_along > (is_strided ? 32 : 96)) vector /= 2;
    const int threads = s->block ? s->block : THREADS;
    int held = vector * n_along * (is_strided ? 4 : 1), min_blocks = held <= 32 ? 4 : held <= 64 ? 2 : 1;
    int widest = 0; /* bytes of an element of those turned */
    for (int i = 0; i < n; i++)
        if (pointwise_is_turned(g, &tensors[i], &s->pointwise) && fx_dtype_bits(tensors[i].dtype) / 8 > widest)
            widest = fx_dtype_bits(tensors[i].dtype) / 8;
    if (f.is_general && turned_access(g, p, r, &s->pointwise) > widest) widest = turned_access(g, p, r, &s->pointwise);
    int rows = !widest || f.has_loops ? 1 : widest >= 4 ? 32 : 64;
    int words = 0; /* that a thread fetches of the rows of a word */
    s->pointwise.word_rows = f.is_general || is_strided ? 0 : rows_of_word(g, p, s, vector, &words);
    const int few = rows > 1 ? 0 : vector_of_few(g, s, vector, threads);
    s->pointwise.at_once = rows > 1 || f.has_loops || is_strided ? 0 : rows_at_once(g, s, chunks, n_chunks, vector);
    if (few) add_config(g, s, few, threads, rows, min_blocks, FEW);
    if (s->pointwise.word_rows) {
        if (!s->block) {
            add_config(g, s, vector, threads, rows, min_blocks, FEW);
            s->configs[s->n_configs - 1].wants_few = FEW_TILES;
        }
        add_words_config(g, s, vector, threads, words);
    } else if (s->pointwise.at_once) {
        add_config(g, s, vector_at_once(s->pointwise.at_once, vector), threads, rows, 2, VECTOR);
        s->configs[s->n_configs - 1].at_once = s->pointwise.at_once;
        s->configs[s->n_configs - 1].text = arena_printf(&g->cx->arena,
            "pointwise, %dx%d elements a thread, 16-byte accesses", s->pointwise.at_once,
            s->configs[s->n_configs - 1].vector);
    } else add_config(g, s, vector, threads, rows, min_blocks, VECTOR);
    if (s->block > THREADS && rows == 1 && !f.is_general && n_along)
        s->configs[s->n_configs - 1].ahead = chunks_ahead(held, f.instructions);
    int n_accesses = 0; /* where they are many, of any alignment, their positions take more registers */
    for (int i = 0; i < g->n_nodes; i++) n_accesses += g->nodes[i]->kind == N_ACCESS && f.by_node[i] > 0;
    if (vector * n_accesses > MANY_ACCESSES && min_blocks > 2) min_blocks = 2;
    if (f.is_general) /* 64-bit positions are far slower */
        add_config(g, s, vector, threads, rows, min_blocks, ANY);
    add_config(g, s, vector, threads, rows, min_blocks, f.is_general ? BIG : REST);
    return true;
}

double pointwise_loop_seconds(const struct graph *g, const struct footprint *f, double threads) {
    const struct arch *m = g->cx->arch;
    double rounds = threads > THREADS_AN_SM * m->sms ? threads / (THREADS_AN_SM * m->sms) : 1;
    return f->turns * rounds * (f->turns > FEW_TURNS ? LONG_TURN_CYCLES : TURN_CYCLES) / m->cycles;
}

/* Lanes of a warp that read one bank of the L1 cache, so cycles of a load, where lanes are so many bytes apart. */
static double lanes_of_bank(double bytes) {
    enum { BANKS = 32, WORD = 4 };
    int n = 1;
    while (n < BANKS && fmod(bytes, 2 * WORD * n) == 0) n *= 2;
    return n;
}

/* Seconds of what threads read in loops, each something of its own. Positions are left to the price of the loop. */
static double walking_seconds(const struct graph *g, const struct partition *p, const struct scheduled *s,
    const struct footprint *f, double threads) {
    enum { LANES = 32 };
    bool *is_placed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    double cycles = 0;
    if (!s->pointwise.cols.n) return 0;
    const int lane = s->pointwise.cols.axes[s->pointwise.cols.n - 1];
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        if (n->kind == N_ACCESS) is_placed[n->args[0]->id] = true;
        if (f->by_node[i] <= 1 || is_placed[i] || !node_is_loaded(g, p, s->group, n, &t)) continue;
        const int at = tensor_axis(&t, lane); /* without it all lanes read the same */
        if (at < 0 || at + 1 == t.n_axes) continue;
        const double apart = nominal_size(g, t.axes + at + 1, t.n_axes - at - 1) * tensor_bits(&t) / 8;
        cycles += f->by_node[i] * lanes_of_bank(apart);
    }
    return cycles * threads / LANES / arch_all_cycles(g->cx->arch);
}

void schedule_pointwise_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    s->bytes += scheduled_bytes(g, p, s);
    struct footprint f = group_footprint(g, p, s->group);
    double threads = nominal_size(g, s->group->axes, s->group->n_axes), ops = f.ops * threads;
    const struct arch *m = g->cx->arch;
    double computing = ops / (arch_all_cycles(m) * OPS_PER_CYCLE), turning = pointwise_loop_seconds(g, &f, threads);
    s->seconds = s->bytes / m->copied;
    int vector = 1; /* where there are many */
    double share = 1;
    for (int i = 0; i < s->n_configs; i++)
        if (s->configs[i].vector > vector) vector = s->configs[i].vector;
    for (int i = 0; i < s->n_configs; i++) {
        if (!s->configs[i].at_once) continue;
        struct chunk *chunks = NEW_ARRAY(&g->cx->arena, struct chunk, MAX_CHUNKS);
        const int n_chunks = group_chunks(g, p, s->group, &s->pointwise.cols, chunks, MAX_CHUNKS);
        const struct axis_list *rows = &s->pointwise.rows;
        share = share_read(chunks, n_chunks, s->configs[i].at_once, rows->axes[rows->n - 1]);
        vector = s->configs[i].vector;
    }
    if (!f.has_loops)
        computing = group_instructions(g, p, s->group, &s->pointwise.cols, vector, share) * threads /
                    (arch_all_cycles(m) * INSTRUCTIONS_PER_CYCLE);
    if (s->seconds < computing) s->seconds = computing;
    if (s->seconds < turning) s->seconds = turning;
    /* Lanes walk apart: each reads parts of sectors. */
    double apart = f.turns > FEW_TURNS ? 2 * traffic_seconds(g, p, s) : 0;
    const double walking = walking_seconds(g, p, s, &f, threads);
    if (s->seconds < apart) s->seconds = apart;
    if (s->seconds < walking) s->seconds = walking;
}
