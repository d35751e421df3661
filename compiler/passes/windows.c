/* Copies windows of 16-bit and f32 tensors so that tensor maps can load them: images whose channels are not contiguous.
 *
 * In: a graph. Out: one in which a factor of sum[K](a * b) that reads a tensor at positions along its contiguous axis
 * reads a copy instead, a cast with a storage order. For windows that overlap it is a copy of the tensor, whose last
 * label is a label of k that is read whole, in multiples of 8. For windows that do not, it is a copy of the windows
 * with k last. The other factor is copied to match if it has another layout or is read backwards. The added terms are 0
 * times 0. Each copy is a kernel, so the product has to be large enough to pay for them. Not if the kernel says how
 * many GPU kernels it wants. */
#include <math.h>
#include <string.h>

#include "graph/operand.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { STEP = 8, BLOCK = 64, SHORT_RUN = 64, MOST_STORED = 12, ELEMENT_BYTES = 2, MOST_STEP = 8 };
/* Flops a cycle of a multiprocessor: of windows that are computed as they are loaded; of factors that are loaded
 * without alignment; of windows and of matrices that tensor maps bring. What a copy costs beside its bytes. */
static const double RATE_AS_IT_IS = 100, RATE_ODD = 850, RATE_BY_MAPS = 2000, RATE_MATRIX = 3000, COPY_SECONDS = 3e-6;
/* Likewise of f32: windows that are computed as they are loaded, of rows of whole vectors or not; products of parts, and
 * cycles for every result beside them; bytes an element of a copy, read, and stored in parts, which is more than as it
 * is. Fitted to seven convolutions on an H200. */
static const double RATE_F32_VECTORS = 100, RATE_F32_AS_IT_IS = 45, RATE_IN_PARTS = 400, RESULT_CYCLES = 1,
                    PARTS_BYTES = 10;

struct copied_form { /* of a contraction: how its factors are copied */
    const struct node *sum;
    int side;            /* the factor that is a window */
    const struct node *window, *source;
    bool is_whole;       /* the window itself is copied, not what it reads */
    bool is_odd;         /* since its rows are no whole 16 bytes */
    bool is_f32;         /* whose parts are multiplied */
    bool copies_other;
    bool keeps_window;   /* which lies well: the other factor alone is copied */
    bool goes_along_k;   /* the channel is a label of the window alone, and pixels are summed */
    struct axis_list pixels; /* then the other factor's labels of k, in the order of the window's tensor */
    int channel, padded; /* label that is last, of k but where pixels are, or -1; its extent in the copies where that is
                          * larger, or 0 */
    int folded; /* label of the window that is one with the channels in the copies, which unfold it; or -1 */
    int fold_axis;            /* of the tensor, which the label moves along: at step * own + factor * folded + first */
    int own;
    int64_t step, factor, first;
    struct axis_list k;  /* labels of k in the order of the copies */
};

struct stored { /* a copy that was made, or a window of one */
    const struct node *of;
    struct node *copy;
};

struct windower {
    const struct graph *g;
    struct kernel *kernel; /* of the new graph */
    int n_stored;
    struct stored stored[MOST_STORED];
    int n_padded;
    int channels[MOST_STORED], folded[MOST_STORED]; /* labels of k, the second or -1 */
    int padded[MOST_STORED];                        /* the one in multiples of 8 that stands for them */
};

/* ---- whether, and how ---- */

static int64_t extent_of(const struct graph *g, int axis) { return g->kernel->axes[axis].extent; }

/* The tensor that n reads elements of, in memory or stored by a cast, of 16-bit floats, or of f32 in memory; NULL where
 * it is none. */
static const struct param *tensor_read(const struct graph *g, const struct node *n) {
    if (n->kind == N_ACCESS) n = n->args[0];
    if (node_is_stored(n) && (n->to == FX_F16 || n->to == FX_BF16)) {
        struct param *p = NEW(&g->cx->arena, struct param);
        *p = (struct param){.dtype = n->to, .n_axes = n->n_at};
        memcpy(p->axes, n->at, sizeof p->axes);
        return p;
    }
    if (n->kind != N_INPUT) return NULL;
    const struct param *p = &g->kernel->params[n->param];
    return (p->dtype == FX_F16 || p->dtype == FX_BF16 || p->dtype == FX_F32) && !p->packed.factor ? p : NULL;
}

/* Whether positions along axis i of w's tensor are the running index of one label, itself, alone. */
static bool is_plain(const struct window *w, int i) {
    const struct window_axis *x = &w->axes[i];
    return x->n == 1 && x->terms[0].label == w->tensor.axes[i] && x->terms[0].factor == 1 && !x->first.n;
}

/* Whether what lies contiguous is a long run of one label, other labels going in steps of 16 bytes: tensor maps bring
 * it as it is. */
static bool has_long_run(const struct graph *g, const struct node *n, const struct window *w) {
    const struct window_axis *last = &w->axes[w->tensor.n_axes - 1];
    int runs = 0;
    for (int i = 0; i < last->n; i++) {
        int64_t extent = extent_of(g, last->terms[i].label);
        if (last->terms[i].factor == 1 && (extent < 0 || extent >= SHORT_RUN)) runs++;
        else if (last->terms[i].factor % STEP) return false;
    }
    return runs == 1 && !n->has_fill;
}

/* The longest label of k that the window reads whole, or -1. */
static int find_channel(const struct graph *g, const struct node *sum, const struct window *w) {
    int best = -1;
    for (int i = 0; i < w->tensor.n_axes; i++) {
        int axis = w->tensor.axes[i];
        if (is_plain(w, i) && axes_have(sum->reduced, sum->n_reduced, axis) &&
            (best < 0 || nominal_extent(g, axis) > nominal_extent(g, best)))
            best = axis;
    }
    return best;
}

/* Whether both factors have a label that the sum keeps and the tensor of w has too: its elements would be channels of
 * products of their own. A label that only moves a window is none. */
static bool has_batch(
    const struct graph *g, const struct node *sum, const struct contraction *c, const struct window *w) {
    for (int i = 0; i < sum->n_axes; i++)
        if (node_has_axis(c->a, sum->axes[i]) && node_has_axis(c->b, sum->axes[i]) && extent_of(g, sum->axes[i]) != 1 &&
            tensor_axis(&w->tensor, sum->axes[i]) >= 0)
            return true;
    return false;
}

/* Whether k, all its labels, is in multiples of 16 bytes as far as is known. */
static bool is_k_whole(const struct graph *g, const struct node *sum) {
    int64_t size = 1;
    for (int i = 0; i < sum->n_reduced; i++) {
        int64_t extent = extent_of(g, sum->reduced[i]);
        if (extent < 0) return true;
        size = size * (extent % STEP) % STEP;
    }
    return size == 0;
}

/* Whether what lies contiguous in t is a label that the sum keeps, or several in a row, of fixed extents that are no
 * whole 16 bytes. */
static bool has_odd_rows(const struct graph *g, const struct node *sum, const struct tensor *t) {
    int64_t size = 1;
    for (int i = t->n_axes - 1; i >= 0 && node_has_axis(sum, t->axes[i]); i--) {
        int64_t extent = extent_of(g, t->axes[i]);
        if (extent < 0 || t->is_strided) return false;
        bool is_last = i == t->n_axes - 1;
        if (is_last ? !is_unit_stride(t, t->axes[i]) : !are_adjacent(g, t, t->axes[i], t->axes[i + 1])) break;
        size = size * (extent % STEP) % STEP;
    }
    return size % STEP != 0 && node_has_axis(sum, t->axes[t->n_axes - 1]);
}

/* Whether the other factor lies so that tensor maps bring it beside the copy: rows of k as the copy has them, or a
 * label of its own contiguous. */
static bool lies_well(const struct graph *g, const struct copied_form *f, const struct node *other) {
    struct tensor t;
    if (f->padded || !tensor_of_factor(g, other, &t) || t.is_strided || !t.n_axes || !is_read_upwards(&t)) return false;
    int last = t.axes[t.n_axes - 1];
    if (node_has_axis(f->sum, last)) return !has_odd_rows(g, f->sum, &t);
    return f->is_whole || last == f->channel;
}

static void add_k(struct copied_form *f, const int *axes, int n_axes) {
    for (int i = 0; i < n_axes; i++)
        if (axes_have(f->sum->reduced, f->sum->n_reduced, axes[i]) && axes[i] != f->channel && axes[i] != f->folded &&
            !axes_have(f->k.axes, f->k.n, axes[i]))
            f->k.axes[f->k.n++] = axes[i];
}

/* The order of k: as the other factor has it, which then need not be copied. */
static void choose_k(const struct graph *g, struct copied_form *f, const struct node *other) {
    const struct node *input = other->kind == N_ACCESS ? other->args[0] : other;
    struct tensor t;
    f->k.n = 0;
    if (tensor_of_factor(g, other, &t)) add_k(f, t.axes, t.n_axes);
    add_k(f, g->kernel->params[input->param].axes, g->kernel->params[input->param].n_axes);
    add_k(f, f->sum->reduced, f->sum->n_reduced);
    if (f->channel >= 0) f->k.axes[f->k.n++] = f->channel;
}

/* Whether tensor maps bring t, a part of a tensor, badly or not at all: what lies contiguous is a short run of k, of
 * which there is more, or nothing does. */
static bool lies_badly(const struct graph *g, const struct node *sum, const struct tensor *t) {
    double run = 1, most = nominal_size(g, sum->reduced, sum->n_reduced);
    for (int i = t->n_axes - 1; i >= 0 && axes_have(sum->reduced, sum->n_reduced, t->axes[i]); i--) {
        int64_t extent = extent_of(g, t->axes[i]);
        if (extent < 0) return false;
        bool is_last = i == t->n_axes - 1;
        if (is_last ? !is_unit_stride(t, t->axes[i]) : !are_adjacent(g, t, t->axes[i], t->axes[i + 1])) break;
        run *= (double)extent;
    }
    if (run == 1) return !is_unit_stride(t, t->axes[t->n_axes - 1]);
    return run < SHORT_RUN && run < most;
}

/* Whether the whole of a window is to be copied: it has no more elements than what it reads. */
static bool find_whole(const struct graph *g, struct copied_form *f, const struct node *other) {
    if (f->source->kind != N_INPUT) return false;
    const struct param *p = &g->kernel->params[f->source->param];
    struct tensor t, part;
    struct window w;
    if (p->is_strided || nominal_size(g, f->window->axes, f->window->n_axes) > nominal_size(g, p->axes, p->n_axes) ||
        !is_k_whole(g, f->sum))
        return false;
    t = tensor_of_param(g, f->source->param);
    bool is_bad = tensor_of_factor(g, f->window, &part)
                      ? part.n_axes && lies_badly(g, f->sum, &part)
                      : t.n_axes && window_of_access(g, f->window, &t, &w) && !is_plain(&w, t.n_axes - 1) &&
                            !has_long_run(g, f->window, &w);
    f->is_odd = !is_bad && tensor_of_factor(g, f->window, &part) && part.n_axes && has_odd_rows(g, f->sum, &part);
    if (!is_bad && !f->is_odd) return false;
    f->is_whole = true;
    choose_k(g, f, other);
    f->copies_other = !lies_well(g, f, other);
    return true;
}

/* Of few channels most of a block of k would be nothing: then the window's label along what lies innermost of the axes
 * that it moves along is unfolded in the copy, where both fill one block. */
static void find_fold(const struct graph *g, const struct window *w, const struct node *other, struct copied_form *f) {
    int64_t channels = extent_of(g, f->channel), length;
    int i = w->tensor.n_axes - 1;
    wide first;
    while (i >= 0 && w->axes[i].n == 1) i--;
    if (i < 0 || channels < 1 || w->axes[i].n != 2 || other->kind != N_INPUT ||
        !poly_is_number(&w->axes[i].first, &first) || first != (int64_t)first)
        return;
    bool is_second = axes_have(f->sum->reduced, f->sum->n_reduced, w->axes[i].terms[1].label);
    const struct window_term *own = &w->axes[i].terms[!is_second], *folded = &w->axes[i].terms[is_second];
    if (node_has_axis(f->sum, folded->label) || !node_has_axis(f->sum, own->label)) return;
    for (int j = 0; j < w->tensor.n_axes; j++)
        for (int k = 0; k < w->axes[j].n; k++) {
            int label = w->axes[j].terms[k].label;
            if (j != i && (label == own->label || label == folded->label)) return;
        }
    length = extent_of(g, folded->label);
    if (length < 2 || channels * length > BLOCK) return;
    f->folded = folded->label, f->own = own->label, f->fold_axis = w->tensor.axes[i];
    f->step = own->factor, f->factor = folded->factor, f->first = (int64_t)first;
    f->padded = (int)((channels * length + STEP - 1) / STEP * STEP);
}

/* The longest label of factor n that the sum keeps and the other factor lacks, among those that w reads whole where that
 * is a window; of a fixed extent in multiples of 8 or an unknown one; or -1. */
static int find_own(const struct graph *g, const struct node *sum, const struct node *n, const struct node *other,
    const struct window *w) {
    int best = -1;
    for (int i = 0; i < (w ? w->tensor.n_axes : n->n_axes); i++) {
        const int axis = w ? w->tensor.axes[i] : n->axes[i];
        if ((w && !is_plain(w, i)) || !node_has_axis(sum, axis) || node_has_axis(other, axis) ||
            (extent_of(g, axis) > 0 && extent_of(g, axis) % STEP))
            continue;
        if (best < 0 || nominal_extent(g, axis) > nominal_extent(g, best)) best = axis;
    }
    return best;
}

/* The order in which factor n, beside a window that goes along k, is to lie: the label of k that each axis of the
 * window's tensor moves by, then its own, the longest last. False where some label of k moves no axis, or several, or
 * in no steps that tensor maps take. */
static bool find_pixels(const struct graph *g, struct copied_form *f, const struct node *n, const struct window *w) {
    const int last = find_own(g, f->sum, n, f->window, NULL);
    f->pixels.n = 0;
    if (last < 0) return false;
    for (int i = 0; i < w->tensor.n_axes; i++) {
        int found = -1;
        for (int j = 0; j < w->axes[i].n; j++) {
            const int label = w->axes[i].terms[j].label;
            if (node_has_axis(f->sum, label)) continue;
            const int64_t step = w->axes[i].terms[j].factor;
            if (found >= 0 || step < 1 || step > MOST_STEP) return false;
            if (axes_have(f->pixels.axes, f->pixels.n, label)) return false;
            found = label;
        }
        if (found >= 0) f->pixels.axes[f->pixels.n++] = found;
    }
    if (f->pixels.n != f->sum->n_reduced) return false;
    for (int i = 0; i < f->pixels.n; i++)
        if (!node_has_axis(n, f->pixels.axes[i])) return false;
    for (int i = 0; i < n->n_axes; i++)
        if (n->axes[i] != last && !axes_have(f->pixels.axes, f->pixels.n, n->axes[i]))
            f->pixels.axes[f->pixels.n++] = n->axes[i];
    f->pixels.axes[f->pixels.n++] = last;
    return true;
}

/* Whether n is an input that lies in that order. */
static bool lies_in_order(const struct graph *g, const struct node *n, const struct axis_list *order) {
    if (n->kind != N_INPUT) return false;
    const struct param *p = &g->kernel->params[n->param];
    return !p->is_strided && p->n_axes == order->n &&
           memcmp(p->axes, order->axes, (size_t)order->n * sizeof *order->axes) == 0;
}

/* How a window whose pixels are summed is to be copied, with a label of its own last, and the other factor likewise. */
static bool find_along_k(
    const struct graph *g, const struct window *w, const struct node *other, struct copied_form *f) {
    const int last = w->tensor.n_axes - 1;
    if (f->is_f32 || !window_goes_along_k(g, f->sum, w)) return false;
    if (is_plain(w, last) && !node_has_axis(f->sum, w->tensor.axes[last])) return false; /* its channels lie last */
    const int channel = find_own(g, f->sum, f->window, other, w);
    if (channel < 0 || !find_pixels(g, f, other, w)) return false;
    f->keeps_window = w->tensor.axes[last] == channel;
    if (node_is_stored(f->source) && !f->keeps_window) return false;
    f->goes_along_k = true, f->channel = channel, f->k.n = 1, f->k.axes[0] = channel;
    f->copies_other = !lies_in_order(g, other, &f->pixels);
    return true;
}

/* Whether n is part of a tensor that is read against its order: tensor maps hold no such strides. */
static bool is_in_memory_backwards(const struct graph *g, const struct node *n) {
    struct tensor t;
    return tensor_of_factor(g, n, &t) && !t.is_strided && !is_read_upwards(&t);
}

/* How factor `side` of the sum n is to be copied; false where it lies well. */
static bool find_form(const struct graph *g, const struct node *n, int side, struct copied_form *f) {
    struct contraction c;
    struct window w;
    as_contraction(n, &c);
    const struct node *window = side ? c.b : c.a, *other = side ? c.a : c.b;
    const struct param *p = tensor_read(g, window), *q = tensor_read(g, other);
    if (!p || !q || p->dtype != q->dtype || node_is_stored(other->kind == N_ACCESS ? other->args[0] : other))
        return false;
    if (p->dtype == FX_F32 && !may_take_parts(g, n)) return false;
    *f = (struct copied_form){.sum = n,
        .is_f32 = p->dtype == FX_F32,
        .side = side,
        .window = window,
        .source = window->kind == N_ACCESS ? window->args[0] : window,
        .channel = -1,
        .folded = -1};
    if (!f->is_f32 && find_whole(g, f, other)) return true;
    if (f->is_f32 && nominal_size(g, window->axes, window->n_axes) <=
                         nominal_size(g, f->source->axes, f->source->n_axes))
        return false; /* it is stored in parts, or read, as it is */
    const bool is_made = f->source->kind != N_INPUT; /* stored ahead of this pass, with its channels last */
    struct tensor t = {.param = -1, .buffer = -1, .dtype = p->dtype, .n_axes = p->n_axes};
    memcpy(t.axes, p->axes, sizeof t.axes);
    if (!is_made) t = tensor_of_param(g, f->source->param);
    t.is_strided = false; /* the copy is not */
    if (!t.n_axes || window->kind != N_ACCESS || !window_of_access(g, window, &t, &w)) return false;
    const int last = t.n_axes - 1;
    if (!is_plain(&w, last) && has_long_run(g, window, &w)) return false;
    if (has_batch(g, n, &c, &w)) return false;
    if (find_along_k(g, &w, other, f)) return !f->keeps_window || f->copies_other;
    f->channel = find_channel(g, n, &w);
    if (f->channel < 0) return false;
    int64_t extent = extent_of(g, f->channel);
    if (extent > 0 && extent % STEP) f->padded = (int)((extent / STEP + 1) * STEP);
    if (!is_made) find_fold(g, &w, other, f);
    choose_k(g, f, other);
    f->copies_other = !lies_well(g, f, other);
    if (is_made) return f->copies_other && !f->padded && f->channel == t.axes[last];
    if (f->folded >= 0 || !is_plain(&w, last) || (f->padded && f->channel == t.axes[last])) return true;
    return f->keeps_window = f->channel == t.axes[last] && is_in_memory_backwards(g, other);
}

/* Whether the label that the window moves by along what lies contiguous has whole vectors of f32, as far as is known. */
static bool has_vectors(const struct graph *g, const struct copied_form *f) {
    enum { VECTOR = 4 };
    const struct param *p = &g->kernel->params[f->source->param];
    for (int i = 0; i < f->window->n_at; i++) {
        const struct node *position = f->window->args[1 + i];
        if (f->window->at[i] != p->axes[p->n_axes - 1]) continue;
        for (int j = 0; j < position->n_axes; j++)
            if (node_has_axis(f->sum, position->axes[j])) {
                const int64_t extent = extent_of(g, position->axes[j]);
                return extent > 0 && extent % VECTOR == 0;
            }
    }
    return false;
}

/* Whether the copies cost less than they save. */
static bool is_worth(const struct graph *g, const struct copied_form *f) {
    const struct arch *m = g->cx->arch;
    struct contraction c;
    as_contraction(f->sum, &c);
    const struct node *other = f->side ? c.a : c.b, *copied = f->is_whole ? f->window : f->source;
    double k = nominal_size(g, f->sum->reduced, f->sum->n_reduced), walked = k, all = arch_all_cycles(m),
           results = nominal_size(g, f->sum->axes, f->sum->n_axes),
           elements = nominal_size(g, copied->axes, copied->n_axes);
    if (!f->is_whole && !f->goes_along_k) { /* blocks of k have channels alone */
        double channels = nominal_extent(g, f->channel) * (f->folded >= 0 ? nominal_extent(g, f->folded) : 1);
        walked = k / channels * (f->is_f32 ? parts_walk(channels) : BLOCK * ceil(channels / BLOCK));
        if (f->folded >= 0) elements *= nominal_extent(g, f->own) / nominal_extent(g, f->fold_axis);
        if (f->padded) elements *= f->padded / nominal_extent(g, f->channel);
    }
    const bool is_once = node_is_constant(g, copied); /* then copying costs a launch nothing */
    if (is_once || f->keeps_window) elements = 0;
    int n_copies = !is_once && !f->keeps_window;
    if (f->copies_other && !node_is_constant(g, other))
        elements += nominal_size(g, other->axes, other->n_axes), n_copies++;
    if (f->is_f32 && list_has(g->with, FUSE_SPLIT)) return true;
    if (f->is_f32)
        return 2 * results * k / ((has_vectors(g, f) ? RATE_F32_VECTORS : RATE_F32_AS_IT_IS) * all) >
               2 * results * walked / (RATE_IN_PARTS * all) + RESULT_CYCLES * results / all +
                   PARTS_BYTES * elements / m->copied + COPY_SECONDS * n_copies;
    return 2 * results * k / ((f->is_odd ? RATE_ODD : RATE_AS_IT_IS) * all) >
           2 * results * walked / ((f->is_whole ? RATE_MATRIX : RATE_BY_MAPS) * all) +
               2 * ELEMENT_BYTES * elements / m->copied + COPY_SECONDS * n_copies;
}

/* Whether the other factor would be copied as windows that overlap: then what these read is to be copied. */
static bool copies_overlaps(const struct graph *g, const struct copied_form *f) {
    struct contraction c;
    as_contraction(f->sum, &c);
    const struct node *other = f->side ? c.a : c.b;
    return f->copies_other && other->kind == N_ACCESS &&
           nominal_size(g, other->axes, other->n_axes) > nominal_size(g, other->args[0]->axes, other->args[0]->n_axes);
}

static bool takes(const struct graph *g, const struct node *n, struct copied_form *f) {
    if (!is_matrix_product(g, n) || n->dtype != FX_F32) return false;
    for (int side = 0; side < 2; side++)
        if (find_form(g, n, side, f) && !copies_overlaps(g, f) && is_worth(g, f)) return true;
    return false;
}

/* ---- copies ---- */

/* The storage order of a copy of value, whose tensor is p: what the sum keeps or the window moves over, then k. */
static void choose_order(const struct copied_form *f, const struct param *p, int channel, const struct node *value,
    bool is_window, struct node *copy) {
    int order[3 * MAX_AXES], n = 0;
    if (f->goes_along_k && !is_window) {
        memcpy(copy->at, f->pixels.axes, (size_t)f->pixels.n * sizeof *copy->at);
        copy->n_at = f->pixels.n;
        return;
    }
    memcpy(order, p->axes, (size_t)p->n_axes * sizeof *order);
    memcpy(order + p->n_axes, value->axes, (size_t)value->n_axes * sizeof *order);
    n = p->n_axes + value->n_axes;
    copy->n_at = 0;
    for (int i = 0; i < n; i++)
        if (node_has_axis(value, order[i]) && !axes_have(copy->at, copy->n_at, order[i]) && order[i] != channel &&
            !axes_have(f->k.axes, f->k.n, order[i]))
            copy->at[copy->n_at++] = order[i];
    for (int i = 0; i < f->k.n; i++) {
        int axis = f->k.axes[i] == f->channel ? channel : f->k.axes[i];
        if (node_has_axis(value, axis)) copy->at[copy->n_at++] = axis;
    }
}

/* n at positions along two axes, or one where `second` is NULL; 0 outside. */
static struct node *read_at(
    struct graph *out, struct node *n, int axis, struct node *position, int other, struct node *second) {
    struct node at = {.kind = N_ACCESS, .dtype = n->dtype, .has_fill = true, .axis = -1};
    bool is_late = second && other < axis;
    at.span = n->span, at.source = n->source;
    at.n_at = second ? 2 : 1;
    at.at[is_late] = axis, at.args[1 + is_late] = position;
    if (second) at.at[!is_late] = other, at.args[1 + !is_late] = second;
    at.args[0] = n;
    at.args[1 + at.n_at] = build_zero(out, n->dtype, n);
    return build_node(out, at);
}

static struct node *integer_op(struct graph *out, enum op op, struct node *a, int64_t b, const struct node *like) {
    return build_op(out, op, a, build_integer(out, FX_I64, b, like), NULL, like);
}

/* n, the tensor that the window reads or the other factor, with the channels along `padded` as well as the label that is
 * folded, 0 behind their end. A tensor may have a label of that name, which the window replaces. */
static struct node *folded_value(const struct windower *s, struct graph *out, const struct copied_form *f,
    struct node *n, bool is_window, int padded) {
    const int64_t channels = extent_of(s->g, f->channel), length = extent_of(s->g, f->folded);
    struct node *at = build_index(out, padded, n), *channel = integer_op(out, O_MOD, at, channels, n),
                *element = integer_op(out, O_FLOORDIV, at, channels, n), *value;
    if (!is_window) /* 0 from length on */
        return read_at(out, n, f->channel, channel, f->folded, element);
    struct node *position = integer_op(out, O_MUL, build_index(out, f->own, n), f->step, n);
    position = build_op(out, O_ADD, position, integer_op(out, O_MUL, element, f->factor, n), NULL, n);
    value = read_at(out, n, f->channel, channel, f->fold_axis, integer_op(out, O_ADD, position, f->first, n));
    if (channels * length == f->padded) return value;
    struct node *is_inside = integer_op(out, O_LT, at, channels * length, n);
    return build_op(out, O_WHERE, is_inside, value, build_zero(out, n->dtype, n), n);
}

/* A copy of n, which lies in the new graph, what the window reads or not, with the channels along `padded`, if that is a
 * label, 0 behind their end; `of`: what says that a copy is the same. */
static struct node *copy_of(struct windower *s, struct graph *out, const struct copied_form *f, const struct node *of,
    struct node *n, bool is_window, const struct param *p, int padded) {
    struct node *value = n;
    if (f->folded >= 0) value = folded_value(s, out, f, n, is_window, padded);
    else if (padded >= 0) value = read_at(out, n, f->channel, build_index(out, padded, n), -1, NULL);
    struct node copy = {.kind = N_CAST, .dtype = n->dtype, .to = p->dtype, .axis = -1, .args = {value},
        .span = n->span, .source = n->source};
    choose_order(f, p, padded >= 0 ? padded : f->channel, value, is_window, &copy);
    for (int i = 0; i < s->n_stored; i++)
        if (s->stored[i].of == of && s->stored[i].copy->n_at == copy.n_at &&
            memcmp(s->stored[i].copy->at, copy.at, (size_t)copy.n_at * sizeof *copy.at) == 0)
            return s->stored[i].copy;
    struct node *made = build_node(out, copy);
    if (s->n_stored < MOST_STORED) s->stored[s->n_stored++] = (struct stored){of, made};
    return made;
}

/* Window n, which lies in the new graph, as one of the copy: one node for one window, which a mainloop then reads once.
 */
static struct node *window_of(struct windower *s, struct graph *out, const struct copied_form *f, const struct node *n,
    struct node *copy) {
    for (int i = 0; i < s->n_stored; i++)
        if (s->stored[i].of == n && s->stored[i].copy->args[0] == copy) return s->stored[i].copy;
    struct node window = {.kind = N_ACCESS, .dtype = n->dtype, .axis = -1, .span = n->span, .source = n->source};
    window.has_fill = n->has_fill, window.args[0] = copy;
    for (int i = 0; i < n->n_at; i++) /* along what the copy unfolds, it has a label of its own */
        if (f->folded < 0 || n->at[i] != f->fold_axis) {
            window.at[window.n_at++] = n->at[i];
            window.args[window.n_at] = n->args[1 + i];
        }
    if (!window.n_at) return copy;
    if (n->has_fill) window.args[1 + window.n_at] = n->args[1 + n->n_at];
    struct node *made = build_node(out, window);
    if (s->n_stored < MOST_STORED) s->stored[s->n_stored++] = (struct stored){n, made};
    return made;
}

/* The label of k in multiples of 8 that stands for the channels. */
static int padded_label(struct windower *s, const struct copied_form *f) {
    for (int i = 0; i < s->n_padded; i++)
        if (s->channels[i] == f->channel && s->folded[i] == f->folded) return s->padded[i];
    const struct axis whole = s->kernel->axes[f->channel];
    struct axis padded = {.name = build_label_name(s->g, s->kernel, whole.name, "_padded"),
        .extent = f->padded,
        .span = whole.span,
        .part_of = -1,
        .is_inner = true};
    padded.nominal = (double)padded.extent;
    s->channels[s->n_padded] = f->channel, s->folded[s->n_padded] = f->folded;
    return s->padded[s->n_padded++] = build_label(s->g, s->kernel, padded);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct windower *s = state;
    struct contraction c;
    struct copied_form f;
    if (s->n_stored + 3 > MOST_STORED || s->kernel->n_axes >= FX_MAX_EXTENTS || !takes(s->g, old, &f) ||
        !as_contraction(old, &c))
        return graph_add(out, n);
    struct node sum = *n, *factor[2] = {map[c.a->id], map[c.b->id]};
    int padded = -1;
    if (f.padded) {
        padded = padded_label(s, &f);
        sum.n_reduced = 0;
        for (int i = 0; i < old->n_reduced; i++)
            if (old->reduced[i] != f.channel && old->reduced[i] != f.folded)
                sum.n_reduced = set_add(sum.reduced, sum.n_reduced, old->reduced[i]);
        sum.n_reduced = set_add(sum.reduced, sum.n_reduced, padded);
    }
    const struct param *p = tensor_read(s->g, f.window), *q = tensor_read(s->g, f.side ? c.a : c.b);
    struct node *copied = f.is_whole ? factor[f.side] : map[f.source->id],
                *copy = f.keeps_window || (!f.is_whole && node_is_stored(f.source))
                            ? copied
                            : copy_of(s, out, &f, f.folded >= 0 ? factor[f.side] : copied, copied, true, p, padded);
    factor[f.side] = f.is_whole ? copy : window_of(s, out, &f, factor[f.side], copy);
    if (f.copies_other)
        factor[1 - f.side] = copy_of(s, out, &f, factor[1 - f.side], factor[1 - f.side], false, q, padded);
    sum.args[0] = build_op(out, O_MUL, factor[0], factor[1], NULL, n);
    return build_node(out, sum);
}

struct graph *pass_windows(const struct graph *g) {
    struct windower s = {.g = g, .kernel = NEW(&g->cx->arena, struct kernel)};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels || !g->cx->arch->has_wgmma) return (struct graph *)g;
    *s.kernel = *g->kernel;
    struct graph *out = graph_like(g);
    out->kernel = s.kernel;
    graph_rewrite(g, out, rewrite, &s);
    return s.n_stored ? out : (struct graph *)g;
}
