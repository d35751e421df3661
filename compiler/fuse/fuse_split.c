/* Part of the fuse pass: factors that are stored in the form that the tensor cores of sm_90a read. f32 is stored in
 * parts, whose products of bf16 or f16 are added, or as tf32, transposed so that k is contiguous. Factors of 8 bits
 * are transposed in the same way. f8 factors are read as f8 and not as bf16. Factors of 16 bits that have the labels of
 * m or n apart are stored with these labels as one run.
 *
 * In: a contraction. Out: whether its factors are stored in parts (kernels/driver_split.cuh, driver_halves.cuh), and
 * the storage order of a factor; whether a factor is transposed. Extents of three bf16 are fixed, because the distance
 * of parts and the alignment of tensor maps must be, and their last axis is a multiple of 8. Those of two f16 are any:
 * what splits them pads their rows. Invariant: the last axis of a factor in parts is one that tensor maps have first:
 * k, m or n. */
#include <string.h>

#include "fuse/fuse.h"
#include "graph/operand.h"

/* Flops a cycle of a multiprocessor, of f32 as they are and of windows of them; what launching a kernel costs that
 * stores factors otherwise, beside the bytes that it moves. Strides of a tensor map are below 2^40 bytes. */
static const double RATE_AS_IT_IS = 230, RATE_OF_WINDOWS = 45, SPLIT_SECONDS = 3e-6, MOST_ELEMENTS = 0x1p38;

/* Flops likewise of f32 in parts, three bf16 or two f16; bytes of memory for an element of a factor, read and stored
 * so. */
static const struct split_rates {
    double rate, bytes;
} THREE_BF16 = {520, 10}, TWO_F16 = {700, 8.5};

/* Likewise of what tensor cores read with k contiguous alone: rates as it lies and turned, and the bytes an element of
 * a factor that take as long as turning it. 8-bit integers that lie otherwise are turned on their way to shared
 * memory. */
static const struct turning {
    double as_it_lies, turned, bytes;
} OF_TF32 = {800, 1600, 22}, OF_8_BITS = {1100, 3800, 3};

/* For 16 bits: flops a cycle of a multiprocessor where m or n lies in runs of fewer than LEAST_PIECE, and where tiles
 * are as large as they may be. Storing a factor as one run takes as long as copying JOINED_BYTES for each element. */
static const double RATE_OF_PIECES = 3800, RATE_OF_TILES = 7000, JOINED_BYTES = 6;
enum { LEAST_PIECE = 128 };

enum { STEP = 8, LEAST_EXTENT = 64, MOST_ROWS = 1 << 30 };

/* Moves the axis at place i to the end. */
static void move_last(int *axes, int n, int i) {
    int axis = axes[i];
    memmove(axes + i, axes + i + 1, (size_t)(n - i - 1) * sizeof *axes);
    axes[n - 1] = axis;
}

/* Whether an axis of factor s of x may be the contiguous one. */
static bool may_be_last(const struct graph *g, const struct product *x, int s, int axis) {
    bool is_summed = !node_has_axis(x->sum, axis), is_own = !node_has_axis(x->factor[1 - s], axis);
    return (is_summed || is_own) && g->kernel->axes[axis].extent % STEP == 0;
}

/* Whether factor s of x reads overlapping windows of a tensor, or of what is stored, whose last label is one of k that
 * it reads whole, a multiple of 8: so tensor maps bring its parts in im2col mode. */
static bool reads_windows(const struct graph *g, const struct product *x, int s) {
    const struct node *n = x->factor[s], *source = n->kind == N_ACCESS ? n->args[0] : n;
    struct tensor t = {.param = -1, .buffer = -1};
    struct window w;
    if (n->kind != N_ACCESS) return false;
    if (source->kind == N_INPUT) {
        const struct param *p = &g->kernel->params[source->param];
        if (p->dtype != FX_F32 || p->packed.factor || p->is_strided) return false;
        t = tensor_of_param(g, source->param);
    } else if (node_is_stored(source) && source->to == FX_F32) {
        for (int i = 0; i < source->n_at; i++)
            if (g->kernel->axes[source->at[i]].extent != 1) t.axes[t.n_axes++] = source->at[i];
    }
    if (!t.n_axes || nominal_size(g, n->axes, n->n_axes) <= nominal_size(g, source->axes, source->n_axes) ||
        !window_of_access(g, n, &t, &w))
        return false;
    const struct window_axis *last = &w.axes[t.n_axes - 1];
    const int channel = t.axes[t.n_axes - 1];
    if (last->n != 1 || last->first.n || last->terms[0].label != channel || last->terms[0].factor != 1) return false;
    for (int i = 0; i < x->sum->n_axes; i++) /* a label of both factors may move the window, not be the tensor's */
        if (tensor_axis(&t, x->sum->axes[i]) >= 0 && node_has_axis(n, x->sum->axes[i]) &&
            node_has_axis(x->factor[1 - s], x->sum->axes[i]) && g->kernel->axes[x->sum->axes[i]].extent != 1)
            return false;
    return !node_has_axis(x->sum, channel) && node_has_axis(x->factor[1 - s], channel) &&
           g->kernel->axes[channel].extent % STEP == 0;
}

struct node *fuse_split_value(const struct graph *g, const struct product *x, int s) {
    return reads_windows(g, x, s) ? x->factor[s]->args[0] : x->factor[s];
}

/* The storage order: that of the tensor which the factor is a part of, or reads windows of, or of what is stored in an
 * order of its own; else what is summed last. */
bool fuse_split_order(const struct graph *g, const struct product *x, int s, int *axes) {
    const struct node *v = fuse_split_value(g, x, s);
    struct tensor t;
    int n = 0;
    if (node_is_stored(v)) {
        memcpy(axes, v->at, (size_t)v->n_at * sizeof *axes);
        for (int i = v->n_at - 1; i >= 0; i--)
            if (g->kernel->axes[axes[i]].extent > 1) return may_be_last(g, x, s, axes[i]);
        return false;
    }
    if (v != x->factor[s]) {
        const struct param *p = &g->kernel->params[v->param];
        memcpy(axes, p->axes, (size_t)p->n_axes * sizeof *axes);
        return true;
    }
    bool is_part = tensor_of_factor(g, v, &t) && t.n_axes <= v->n_axes;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < v->n_axes; i++) {
            bool is_late = is_part ? tensor_axis(&t, v->axes[i]) >= 0 : !node_has_axis(x->sum, v->axes[i]);
            if (is_late == (turn == 1)) axes[n++] = v->axes[i];
        }
    for (int i = 0; is_part && i < t.n_axes; i++) axes[n - t.n_axes + i] = t.axes[i];
    for (int i = n - 1; i >= 0; i--)
        if (may_be_last(g, x, s, axes[i]) && g->kernel->axes[axes[i]].extent > 1) {
            move_last(axes, n, i);
            return true;
        }
    return false;
}

/* The last label of more than one element in the storage order of v. */
static int last_of(const struct graph *g, const struct node *v, const int *axes) {
    int i = v->n_axes - 1;
    while (i > 0 && g->kernel->axes[axes[i]].extent == 1) i--;
    return axes[i];
}

bool fuse_is_split(const struct graph *g, const struct product *x, bool halves) {
    const struct arch *m = g->cx->arch;
    const bool is_halved = halves && fuse_is_halved(g, x);
    const struct split_rates parts = is_halved ? TWO_F16 : THREE_BF16;
    int axes[MAX_AXES];
    double bytes = 0, rate = RATE_AS_IT_IS, waste = 1;
    if (!may_take_parts(g, x->sum)) return false;
    for (int s = 0; s < 2; s++) {
        const struct node *v = fuse_split_value(g, x, s);
        if (x->dtype[s] != FX_F32) return false;
        for (int i = 0; i < v->n_axes; i++) {
            const int64_t extent = g->kernel->axes[v->axes[i]].extent;
            if (extent == 0 || (extent < 0 && !is_halved)) return false;
        }
        double n = nominal_size(g, v->axes, v->n_axes);
        if (n > MOST_ELEMENTS || (!is_halved && !fuse_split_order(g, x, s, axes))) return false;
        if (v != x->factor[s]) { /* blocks of k have channels alone */
            const double channels = nominal_extent(g, last_of(g, v, axes));
            rate = RATE_OF_WINDOWS, waste = parts_walk(channels) / channels;
        }
        if (!node_is_constant(g, v)) bytes += parts.bytes * n; /* else it is stored once */
    }
    double k = nominal_size(g, x->sum->reduced, x->sum->n_reduced),
           flops = 2 * k * nominal_size(g, x->sum->axes, x->sum->n_axes), all = arch_all_cycles(m);
    if (list_has(g->with, FUSE_SPLIT)) return true;
    return k >= LEAST_EXTENT &&
           flops / (rate * all) > waste * flops / (parts.rate * all) + bytes / m->copied + SPLIT_SECONDS;
}

/* Of an input as it lies, at any extents, whose labels are those of batches, then k and all of m or n, in either order.
 */
int fuse_halved_labels(const struct graph *g, const struct product *x, int s) {
    const struct node *v = x->factor[s];
    const int k = x->sum->reduced[0];
    int n = 0;
    if (v->kind != N_INPUT || !node_has_axis(v, k)) return 0;
    const struct param *p = &g->kernel->params[v->param];
    if (p->dtype != FX_F32 || p->packed.factor || p->is_strided || p->n_axes != v->n_axes) return 0;
    const struct tensor t = tensor_of_param(g, v->param);
    for (int i = 0; i < t.n_axes; i++) n += t.axes[i] != k && !node_has_axis(x->factor[1 - s], t.axes[i]);
    for (int i = 0; i < t.n_axes - 1 - n; i++)
        if (t.axes[i] == k || !node_has_axis(x->factor[1 - s], t.axes[i])) return 0;
    const int at = tensor_axis(&t, k);
    const double of_k = nominal_extent(g, k), of_mn = nominal_size(g, t.axes + t.n_axes - 1 - n, n + 1) / of_k;
    if (at < 0 || of_k > MOST_ROWS || of_mn > MOST_ROWS) return 0;
    return at == t.n_axes - 1 || at == t.n_axes - 1 - n ? n : 0;
}

bool fuse_is_halved(const struct graph *g, const struct product *x) {
    return !list_has(g->skip, FUSE_HALVES) && x->sum->n_reduced == 1 && fuse_halved_labels(g, x, 0) &&
           fuse_halved_labels(g, x, 1);
}

bool fuse_narrow(const struct graph *g, struct product *x) {
    enum fx_dtype narrow[2];
    if (!g->cx->arch->has_wgmma || !x->sum->may_round || x->sum->dtype != FX_F32 || !is_matrix_product(g, x->sum))
        return false;
    for (int s = 0; s < 2; s++) {
        struct tensor t;
        if (!tensor_of_factor(g, x->factor[s], &t) || !fx_is_f8(t.dtype) || t.is_strided) return false;
        narrow[s] = t.dtype;
    }
    for (int s = 0; s < 2; s++) x->dtype[s] = narrow[s];
    return true;
}

/* What turning a factor of product x comes to; NULL where its k need not be contiguous. */
static const struct turning *turning_of(const struct graph *g, const struct product *x) {
    if (x->dtype[0] == FX_F32 && x->dtype[1] == FX_F32)
        return g->cx->arch->has_wgmma && x->sum->may_tf32 ? &OF_TF32 : NULL;
    for (int s = 0; s < 2; s++)
        if (fx_dtype_bits(x->dtype[s]) != 8) return NULL;
    return &OF_8_BITS;
}

/* Whether rows of the factor are copied 16 bytes at a time once k is contiguous, as far as extents say. */
static bool has_wide_rows(const struct graph *g, const struct product *x, int s) {
    const int64_t extent = g->kernel->axes[x->sum->reduced[x->sum->n_reduced - 1]].extent;
    return extent < 0 || extent * fx_dtype_bits(x->dtype[s]) % 128 == 0;
}

/* Whether labels of factor s of x that the other one lacks lie apart in t, as m or n in runs: tiles are then no longer
 * than a run. Gives how long the last one is. */
static bool is_in_pieces(const struct graph *g, const struct product *x, int s, const struct tensor *t, double *run) {
    int last = -1, n = 0, n_apart = 0;
    *run = 1;
    for (int i = t->n_axes - 1; i >= 0; i--) {
        const int axis = t->axes[i];
        if (nominal_extent(g, axis) == 1) { /* what lies beside it is not apart */
            if (last == i + 1) last = i;
            continue;
        }
        if (!node_has_axis(x->sum, axis) || node_has_axis(x->factor[1 - s], axis)) continue;
        n_apart += n && last != i + 1;
        if (!n_apart) *run *= nominal_extent(g, axis);
        last = i, n++;
    }
    return n_apart > 0;
}

/* Whether factor s of x, of 16 bits, is stored so that m or n is one run: a tile of one of several takes as long as it
 * multiplies, or as the L2 cache feeds it. */
bool fuse_is_joined(const struct graph *g, const struct product *x, int s) {
    const struct arch *m = g->cx->arch;
    struct tensor t;
    double run, k = nominal_size(g, x->sum->reduced, x->sum->n_reduced),
                flops = 2 * k * nominal_size(g, x->sum->axes, x->sum->n_axes), all = arch_all_cycles(m);
    if (!m->has_wgmma || (x->dtype[s] != FX_F16 && x->dtype[s] != FX_BF16) || x->dtype[1 - s] != x->dtype[s] ||
        !is_matrix_product(g, x->sum) || !tensor_of_factor(g, x->factor[s], &t) || t.dtype != x->dtype[s] ||
        t.is_strided || !is_in_pieces(g, x, s, &t, &run) || run >= LEAST_PIECE)
        return false;
    if (node_is_constant(g, x->factor[s])) return true; /* stored once */
    return flops / (RATE_OF_PIECES * all) >
           flops / (RATE_OF_TILES * all) +
               JOINED_BYTES * nominal_size(g, x->factor[s]->axes, x->factor[s]->n_axes) / m->copied + SPLIT_SECONDS;
}

bool fuse_is_turned(const struct graph *g, const struct product *x, int s) {
    const struct arch *m = g->cx->arch;
    const struct node *v = x->factor[s];
    const struct turning *turning = turning_of(g, x);
    struct tensor t;
    if (!turning || !is_matrix_product(g, x->sum) || !tensor_of_factor(g, v, &t) || t.dtype != x->dtype[s] ||
        t.is_strided || !t.n_axes || !node_has_axis(x->sum, t.axes[t.n_axes - 1]))
        return false;
    if (turning == &OF_8_BITS && !has_wide_rows(g, x, s)) return false;
    if (list_has(g->with, FUSE_SPLIT)) return true;
    double k = nominal_size(g, x->sum->reduced, x->sum->n_reduced),
           flops = 2 * k * nominal_size(g, x->sum->axes, x->sum->n_axes),
           all = arch_all_cycles(m), bytes = turning->bytes * nominal_size(g, v->axes, v->n_axes);
    if (node_is_constant(g, v)) return true; /* turned once */
    return flops / (turning->as_it_lies * all) > flops / (turning->turned * all) + bytes / m->copied + SPLIT_SECONDS;
}

bool fuse_has_split(const struct graph *g, bool halves) {
    const bool is_counted = g->kernel->fuse == FUSE_REQUIRE || g->kernel->kernels; /* phases may store two f16 */
    if (g->kernel->fuse == FUSE_NEVER || (is_counted && !halves) || list_has(g->skip, FUSE_SPLIT)) return false;
    for (int i = 0; i < g->n_nodes; i++) {
        struct contraction c;
        if (!as_mainloop(g->nodes[i], &c)) continue;
        struct product x = fuse_product(g, g->nodes[i]);
        if (halves && !fuse_is_halved(g, &x)) continue;
        if (fuse_is_split(g, &x, halves)) return true;
        if (halves) continue;
        if (fuse_narrow(g, &x) || fuse_is_turned(g, &x, 0) || fuse_is_turned(g, &x, 1) || fuse_is_joined(g, &x, 0) ||
            fuse_is_joined(g, &x, 1))
            return true;
    }
    return false;
}
