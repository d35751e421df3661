/* What the engines of the gemm driver share: the super-axes of the sums, their segments, the operands' layouts, and the
 * price.
 *
 * A label of both factors that is kept is a batch axis; labels of one factor alone are m or n, whichever puts the last
 * axis of the first output on n. Each of m, n, k is one run of labels that lie adjacent in every operand in memory that
 * has them; what does not merge into the run becomes a batch axis (m, n) or an outer k axis, which is right at any
 * order. */
#include <math.h>
#include <string.h>

#include "schedule/computed.h"
#include "graph/operand.h"
#include "schedule/merge.h"
#include "schedule/skinny.h"

/* Of a computed element, an operation. */
enum { INSTRUCTIONS = 2 };

static void push(struct axis_list *l, int axis) { l->axes[l->n++] = axis; }

static bool has(const struct axis_list *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return true;
    return false;
}

/* ---- labels ---- */

static bool has_role(const struct node *sum, const struct node *other, int axis, enum label_role role) {
    enum label_role is = !node_has_axis(sum, axis)    ? LABEL_SUMMED
                         : node_has_axis(other, axis) ? LABEL_SHARED
                                                      : LABEL_OWN;
    return is == role;
}

/* Adds the labels of factor s of x in that role, of more than one element, in the order of `order`. */
static void add_labels(const struct graph *g, const struct product *x, int s, enum label_role role, const int *order,
    int n_order, struct axis_list *l) {
    for (int i = 0; i < n_order; i++)
        if (node_has_axis(x->factor[s], order[i]) && has_role(x->sum, x->factor[1 - s], order[i], role) &&
            g->kernel->axes[order[i]].extent != 1 && !has(l, order[i]))
            push(l, order[i]);
}

void gemm_split_run(
    const struct graph *g, const struct operand *const *operands, int n, struct axis_list *l, struct axis_list *rest) {
    int first = l->n ? l->n - 1 : 0;
    for (bool ok = true; ok && first > 0;) {
        for (int i = 0; i < n; i++)
            ok &= operands[i]->is_computed || are_adjacent(g, &operands[i]->tensor, l->axes[first - 1], l->axes[first]);
        first -= ok;
    }
    for (int i = 0; i < first; i++) push(rest, l->axes[i]);
    memmove(l->axes, l->axes + first, (size_t)(l->n - first) * sizeof *l->axes);
    l->n -= first;
}

/* ---- operands ---- */

struct operand gemm_operand(const struct graph *g, const struct partition *p, const struct product *x, int s) {
    struct operand o = {.value = x->factor[s]};
    if (x->buffer[s] >= 0) {
        o.tensor = tensor_of_buffer(g, p, x->buffer[s]);
        add_view(g, &o.tensor);
    } else {
        o.is_computed = (!tensor_of_factor(g, x->factor[s], &o.tensor) &&
                            !tensor_of_slices(g, x->sum, x->factor[s], x->factor[1 - s], &o.tensor)) ||
                        o.tensor.dtype != x->dtype[s];
    }
    return o;
}

/* The label along which leaf n's elements lie adjacent in memory, or -1; *bytes: how much it reads. */
static int label_along(
    const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, double *bytes) {
    const struct node *source = n->kind == N_ACCESS ? n->args[0] : n;
    struct tensor t;
    *bytes = nominal_size(g, n->axes, n->n_axes);
    if (source->kind == N_INPUT) t = tensor_of_param(g, source->param);
    else if (!node_is_loaded(g, p, r, source, &t)) return -1;
    if (!t.n_axes) return -1;
    int last = t.axes[t.n_axes - 1];
    *bytes *= fx_dtype_bits(t.dtype) / 8.0;
    for (int i = 0; n->kind == N_ACCESS && i < n->n_at; i++) {
        if (n->at[i] != last) continue;
        last = -1;
        for (const struct node *at = n->args[1 + i]; last < 0 && at;
             at = at->kind == N_OP && (at->op == O_ADD || at->op == O_SUB) ? at->args[0] : NULL)
            if (at->kind == N_INDEX) last = at->axis;
        break;
    }
    return last;
}

/* What an element of a window comes to that is read by itself, at a position of its own, as measured: 7 cycles of an
 * SM, most of them waiting. */
static const double GATHERED = 200;

/* Operations an element of the operand takes; what is the same for a chunk along `along` is computed once for it. `of`:
 * what is computed two elements at a time, of which bits of a word take two instructions, a sum or a product one. */
static double ops_of(const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o,
    const struct axis_list *along, const enum halves *of) {
    enum { CHUNK = 8 };
    bool *needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    double ops = 0;
    needed[o->value->id] = true;
    for (int i = o->value->id; i >= 0; i--) {
        struct node *at = g->nodes[i];
        struct tensor t;
        bool has_along = false;
        if (!needed[i] || at->kind == N_CONST || at->kind == N_SCALAR) continue;
        for (int a = 0; a < along->n; a++) has_along |= node_has_axis(at, along->axes[a]);
        if (of && (of[i] > HALVES_UNIFORM || at == o->value)) {
            ops += at->kind == N_CAST ? 0 : (at->kind == N_OP ? 0.5 : 1) / INSTRUCTIONS;
        } else {
            has_along &= !of || of[i] != HALVES_UNIFORM;
            double bytes, one = at->kind == N_ACCESS ? 4.0 : 1.0;
            if (at->has_fill && has_along && !axes_have(along->axes, along->n, label_along(g, p, r, at, &bytes)))
                one = GATHERED;
            ops += one / (has_along ? 1 : CHUNK);
        }
        if (node_is_loaded(g, p, r, at, &t)) continue;
        for (int a = 0; a < at->n_args; a++) needed[at->args[a]->id] = true;
    }
    return ops;
}

/* The direction in which most of what a computed operand reads lies adjacent. */
static enum layout computed_layout(const struct graph *g, const struct partition *p, const struct group *r,
    const struct operand *o, const struct axis_list *k, const struct axis_list *mn) {
    struct node **leaves = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    int n = operand_leaves(g, p, r, o, leaves, g->n_nodes);
    double most = 0, bytes;
    enum layout layout = LAYOUT_K_MAJOR;
    for (int i = 0; i < n; i++) {
        int last = label_along(g, p, r, leaves[i], &bytes);
        bool is_k = k->n && last == k->axes[k->n - 1], is_mn = mn->n && last == mn->axes[mn->n - 1];
        if (last < 0 || bytes <= most || (!is_k && !is_mn)) continue;
        most = bytes;
        layout = is_k ? LAYOUT_K_MAJOR : LAYOUT_MN_MAJOR;
    }
    return layout;
}

static enum layout layout_of(const struct operand *o, const struct axis_list *k, const struct axis_list *mn) {
    if (k->n && is_unit_stride(&o->tensor, k->axes[k->n - 1])) return LAYOUT_K_MAJOR;
    if (mn->n && is_unit_stride(&o->tensor, mn->axes[mn->n - 1])) return LAYOUT_MN_MAJOR;
    return LAYOUT_STRIDED;
}

/* The window that factor s of x is, or NULL: of 16-bit floats, with its last label read at its own index. */
static const struct window *find_window(
    const struct graph *g, const struct partition *p, const struct group *r, const struct product *x, int s) {
    const struct node *n = x->factor[s];
    struct tensor t;
    if (x->buffer[s] >= 0 || n->kind != N_ACCESS || !node_is_loaded(g, p, r, n->args[0], &t)) return NULL;
    if (tensor_of_slices(g, x->sum, n, x->factor[1 - s], &(struct tensor){0})) return NULL;
    if (t.dtype != x->dtype[s] || (t.dtype != FX_F16 && t.dtype != FX_BF16) || t.is_split) return NULL;
    struct window *w = NEW(&g->cx->arena, struct window);
    if (!window_of_access(g, n, &t, w)) return NULL;
    const struct window_axis *last = &w->axes[t.n_axes - 1];
    bool is_own = last->n == 1 && last->terms[0].label == t.axes[t.n_axes - 1] && last->terms[0].factor == 1;
    return is_own && !last->first.n && !node_has_axis(x->sum, last->terms[0].label) ? w : NULL;
}

bool gemm_reads_windows(const struct graph *g, const struct partition *p, const struct group *r) {
    for (int i = 0; i < 2 * r->n_sums; i++)
        if (find_window(g, p, r, &r->sums[i / 2], i % 2)) return true;
    return false;
}

static struct operand factor_operand(const struct graph *g, const struct partition *p, const struct group *r,
    const struct gemm_shape *shape, const struct product *x, int s) {
    struct operand o = gemm_operand(g, p, x, s);
    if (shape->has_windows) o.window = find_window(g, p, r, x, s);
    o.is_computed |= o.window != NULL;
    return o;
}

/* The label of a window's channels, -1 of what is none. */
static int channel_of(const struct operand *o) {
    return o->window ? o->window->tensor.axes[o->window->tensor.n_axes - 1] : -1;
}

/* ---- the shape ---- */

void gemm_labels(const struct graph *g, const struct product *x, int s, const struct operand *o, enum label_role role,
    const struct tensor *out, struct axis_list *l) {
    if (!o->is_computed) add_labels(g, x, s, role, o->tensor.axes, o->tensor.n_axes, l);
    add_labels(g, x, s, role, out->axes, out->n_axes, l);
    add_labels(g, x, s, role, x->factor[s]->axes, x->factor[s]->n_axes, l);
}

/* The k of a segment: as its operands in memory have it. */
static void choose_k(const struct graph *g, const struct group *r, struct segment *e, int a_side) {
    const struct product *x = &r->sums[e->sums[0]];
    const struct tensor none = {.param = -1, .buffer = -1};
    const struct operand *all[1 + MAX_SUMS] = {&e->a};
    for (int i = 0; i < e->n_sums; i++) all[1 + i] = &e->b[i];
    bool a_first = !e->a.is_computed || e->b[0].is_computed;
    gemm_labels(g, x, a_first ? a_side : 1 - a_side, a_first ? &e->a : &e->b[0], LABEL_SUMMED, &none, &e->k);
    gemm_split_run(g, all, 1 + e->n_sums, &e->k, &e->k_outer);
}

/* Gives segment e, whose operands are scaled, its form by tensor maps. */
static void split_scales(const struct graph *g, const struct group *r, struct segment *e, int a_side) {
    const struct product *x = &r->sums[e->sums[0]];
    const struct scaled_factor a = as_scaled(x->factor[a_side]), b = as_scaled(x->factor[1 - a_side]);
    const struct tensor none = {.param = -1, .buffer = -1};
    struct segment *own = NEW(&g->cx->arena, struct segment);
    struct axis_list summed = {0};
    *own = *e;
    own->a = (struct operand){.value = a.tensor}, own->b[0] = (struct operand){.value = b.tensor};
    own->scale_a = a.scale, own->scale_b = b.scale;
    if (!tensor_of_factor(g, a.tensor, &own->a.tensor) || !tensor_of_factor(g, b.tensor, &own->b[0].tensor)) return;
    own->k.n = own->k_outer.n = 0;
    gemm_labels(g, x, a_side, &own->a, LABEL_SUMMED, &none, &summed);
    for (int i = 0; i < summed.n; i++) {
        bool is_outer = (a.scale && node_has_axis(a.scale, summed.axes[i])) ||
                        (b.scale && node_has_axis(b.scale, summed.axes[i]));
        push(is_outer ? &own->k_outer : &own->k, summed.axes[i]);
    }
    const struct operand *both[] = {&own->a, &own->b[0]};
    gemm_split_run(g, both, 2, &own->k, &own->k_outer);
    e->by_maps = own;
}

enum fx_dtype gemm_copied_dtype(const struct gemm_shape *shape, bool is_a) {
    const struct segment *e = segment_by_maps(&shape->segments[0]);
    if (shape->is_scaled) return is_a ? e->a.tensor.dtype : e->b[0].tensor.dtype;
    return is_a ? shape->a_dtype : shape->b_dtype;
}

/* Whether n is idx(L) // number. */
static bool as_quotient(const struct node *n, int *label, int64_t *by) {
    if (!node_is_op(n, O_FLOORDIV) || n->args[0]->kind != N_INDEX || n->args[1]->kind != N_CONST) return false;
    *label = n->args[0]->axis, *by = n->args[1]->integer;
    return *by > 0;
}

int gemm_scaled_columns(const struct graph *g, const struct gemm_shape *shape) {
    enum { MOST = 1 << 20 };
    const struct node *scale = segment_by_maps(&shape->segments[0])->scale_b;
    int64_t run = 0;
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    if (!scale || !node_has_any(scale, shape->n.axes, shape->n.n)) return 0;
    is_read[scale->id] = true;
    for (int i = scale->id; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        int label;
        int64_t own = 1, by;
        if (!is_read[i] || !node_has_any(n, shape->n.axes, shape->n.n)) continue;
        const bool is_quotient = as_quotient(n, &label, &by);
        const bool is_leaf = is_quotient || (n->kind != N_OP && n->kind != N_CAST && n->kind != N_ACCESS);
        for (int a = 0; !is_leaf && a < n->n_args; a++) is_read[n->args[a]->id] = true;
        if (!is_leaf) continue;
        for (int j = shape->n.n - 1; j >= 0; j--) { /* of the labels behind the last that it has, all columns */
            const int64_t extent = g->kernel->axes[shape->n.axes[j]].extent;
            if (node_has_axis(n, shape->n.axes[j])) {
                if (is_quotient && (j == 0 || (extent > 0 && extent % by == 0)) && own * by <= MOST) own *= by;
                break;
            }
            if (extent < 1 || own * extent > MOST) return 1;
            own *= extent;
        }
        for (int64_t rest; own; rest = run % own, run = own, own = rest) {} /* the greatest that divides both */
    }
    return (int)run;
}

/* Whether sum x may join segment e: it has its A, and a B of the same kind. */
static bool fits_segment(
    const struct group *r, const struct segment *e, const struct product *x, const struct operand *b, int a_side) {
    const struct product *first = &r->sums[e->sums[0]];
    return first->factor[a_side] == x->factor[a_side] && first->buffer[a_side] == x->buffer[a_side] &&
           b->is_computed == e->b[0].is_computed &&
           nodes_same_axes(first->sum->reduced, first->sum->n_reduced, x->sum->reduced, x->sum->n_reduced);
}

void gemm_fill_segments(const struct graph *g, const struct partition *p, const struct group *r, int n_sums,
    struct gemm_shape *shape, int a_side) {
    shape->n_accumulators = n_sums;
    for (int i = 0; i < n_sums; i++) {
        shape->into[i] = i;
        const struct product *x = &r->sums[i];
        struct operand b = factor_operand(g, p, r, shape, x, 1 - a_side);
        struct segment *e = NULL;
        for (int j = 0; j < shape->n_segments && !e; j++)
            if (fits_segment(r, &shape->segments[j], x, &b, a_side)) e = &shape->segments[j];
        if (!e) {
            e = &shape->segments[shape->n_segments++];
            *e = (struct segment){.a = factor_operand(g, p, r, shape, x, a_side)};
        }
        e->sums[e->n_sums] = i;
        e->b[e->n_sums++] = b;
        if (e->n_sums > shape->most_sums) shape->most_sums = e->n_sums;
    }
    for (int i = 0; i < shape->n_segments; i++) {
        choose_k(g, r, &shape->segments[i], a_side);
        if (shape->is_scaled) split_scales(g, r, &shape->segments[i], a_side);
    }
}

/* Makes a segment of its own of every B that lies otherwise than the first of its segment. */
static void split_segments(struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++) {
        struct segment *e = &shape->segments[i], *rest = NULL;
        int n = 1;
        for (int j = 1; j < e->n_sums; j++) {
            if (e->b[j].layout == e->b[0].layout) {
                e->b[n] = e->b[j];
                e->sums[n++] = e->sums[j];
                continue;
            }
            if (!rest) {
                rest = &shape->segments[shape->n_segments++];
                *rest = *e;
                rest->n_sums = 0;
            }
            rest->b[rest->n_sums] = e->b[j];
            rest->sums[rest->n_sums++] = e->sums[j];
        }
        e->n_sums = n;
    }
}

void gemm_choose_layout(const struct graph *g, const struct partition *p, const struct group *r, struct operand *o,
    const struct axis_list *k, const struct axis_list *mn, enum fx_dtype t) {
    o->layout = o->is_computed ? computed_layout(g, p, r, o, k, mn) : layout_of(o, k, mn);
    if (!o->is_computed) return;
    const struct segment e = {.k = *k};
    const struct computed m = computed_open(g, p, r, o, &e, mn);
    o->ops = ops_of(g, p, r, o, m.along, computed_halves(g, o, &m, t));
}

/* Gives e, of which some operand is a window, its form by tensor maps. */
static void split_channels(const struct graph *g, const struct partition *p, const struct group *r,
    const struct gemm_shape *shape, struct segment *e) {
    int channel = channel_of(&e->a);
    for (int i = 0; i < e->n_sums && channel < 0; i++) channel = channel_of(&e->b[i]);
    if (shape->is_scaled && e->by_maps) {
        struct segment *own = (struct segment *)e->by_maps;
        gemm_choose_layout(g, p, r, &own->a, &own->k, &shape->m, shape->a_dtype);
        gemm_choose_layout(g, p, r, &own->b[0], &own->k, &shape->n, shape->b_dtype);
    }
    if (channel < 0) return;
    struct segment *own = NEW(&g->cx->arena, struct segment);
    *own = *e;
    own->k = (struct axis_list){.n = has(&e->k, channel) || has(&e->k_outer, channel), .axes = {channel}};
    own->k_outer.n = 0;
    for (int i = 0; i < e->k_outer.n + e->k.n; i++) {
        int axis = i < e->k_outer.n ? e->k_outer.axes[i] : e->k.axes[i - e->k_outer.n];
        if (axis != channel) push(&own->k_outer, axis);
    }
    gemm_choose_layout(g, p, r, &own->a, &own->k, &shape->m, shape->a_dtype);
    for (int i = 0; i < e->n_sums; i++) gemm_choose_layout(g, p, r, &own->b[i], &own->k, &shape->n, shape->b_dtype);
    e->by_maps = own;
}

void gemm_choose_layouts(
    const struct graph *g, const struct partition *p, const struct group *r, struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++) {
        struct segment *e = &shape->segments[i];
        gemm_choose_layout(g, p, r, &e->a, &e->k, &shape->m, shape->a_dtype);
        for (int j = 0; j < e->n_sums; j++) gemm_choose_layout(g, p, r, &e->b[j], &e->k, &shape->n, shape->b_dtype);
    }
    split_segments(shape);
    for (int i = 0; i < shape->n_segments; i++) split_channels(g, p, r, shape, &shape->segments[i]);
}

/* Whether o runs along k, all of whose extents are fixed, and no multiple of what is copied, or made, at a time. */
static bool is_ragged(const struct graph *g, const struct operand *o, const struct axis_list *k) {
    int64_t size = 1;
    if (o->layout != LAYOUT_K_MAJOR) return false;
    for (int i = 0; i < k->n; i++) {
        int64_t extent = g->kernel->axes[k->axes[i]].extent;
        if (extent < 0) return false;
        size *= extent;
    }
    return size % (o->is_computed ? COMPUTED_CHUNK : 128 / fx_dtype_bits(o->tensor.dtype)) != 0;
}

/* Marks segments that are never aligned, a detour of rank 5 say, beside others that may be: these need not suffer. */
static void mark_ragged(const struct graph *g, struct gemm_shape *shape) {
    int n = 0;
    for (int i = 0; i < shape->n_segments; i++) {
        struct segment *e = &shape->segments[i];
        e->is_ragged = is_ragged(g, &e->a, &e->k);
        for (int j = 0; j < e->n_sums; j++) e->is_ragged |= is_ragged(g, &e->b[j], &e->k);
        n += e->is_ragged;
    }
    shape->has_ragged = n > 0 && n < shape->n_segments;
    for (int i = 0; i < shape->n_segments; i++) shape->segments[i].is_ragged &= shape->has_ragged;
}

int gemm_shared(const struct graph *g, const struct group *r, struct node ***nodes) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int n = 0;
    *nodes = NULL;
    if (r->intermediate) return 0;
    for (int s = 0; s < r->n_stores; s++) is_read[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        bool is_far = at->kind == N_REDUCE || at->kind == N_SCAN || at->kind == N_ACCESS;
        for (int a = 0; is_read[i] && !is_far && a < at->n_args; a++) is_read[at->args[a]->id] = true;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (is_read[i] && is_shared_by(r, g->nodes[i])) PUSH(&g->cx->arena, *nodes, n) = g->nodes[i];
    return n;
}

/* The label whose runs elements share something with, or -1: no tile may cut them. */
static int shared_label(const struct graph *g, const struct group *r) {
    struct node **shared;
    return gemm_shared(g, r, &shared) ? shared[0]->axis : -1;
}

/* Moves a label to the end, if it stands in l. */
static void move_last(struct axis_list *l, int axis) {
    for (int i = 0; i + 1 < l->n; i++) {
        if (l->axes[i] != axis) continue;
        l->axes[i] = l->axes[i + 1];
        l->axes[i + 1] = axis;
    }
}

/* What decides which labels are n: the first store of elements; where there is none, what is read besides over most
 * labels. */
static struct tensor main_store(const struct graph *g, const struct partition *p, const struct group *r) {
    struct tensor best = {.param = -1, .buffer = -1}, *loads = NEW_ARRAY(&g->cx->arena, struct tensor, g->n_nodes);
    struct partial_of x;
    for (int i = 0; i < r->n_stores; i++)
        if (!is_partial_store(g, r, &r->stores[i], &x)) return tensor_of_store(g, p, &r->stores[i]);
    int n = group_loads(g, p, r, loads, g->n_nodes);
    for (int i = 0; i < n; i++)
        if (loads[i].n_axes > best.n_axes) best = loads[i];
    return best;
}

bool gemm_shape(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct group *r = s->group;
    struct gemm_shape *shape = &s->gemm;
    if (r->is_row) return *why_not = "it is a row program", false;
    if (r->intermediate) return *why_not = "it is a chain", false;
    if (!r->n_sums) return *why_not = "it has no contraction", false;
    const struct product *x = &r->sums[0];
    struct tensor out = main_store(g, p, r);
    /* n is the factor that has the output's last axis alone, or the label of runs. */
    int shared = shared_label(g, r), last = shared >= 0 ? shared : out.n_axes ? out.axes[out.n_axes - 1] : -1;
    int a_side = last >= 0 && node_has_axis(x->factor[0], last) && !node_has_axis(x->factor[1], last);
    *shape = (struct gemm_shape){
        .a_dtype = x->dtype[a_side], .b_dtype = x->dtype[1 - a_side], .is_split = x->is_split,
        .has_windows = s->wants_windows, .is_scaled = s->wants_scaled};
    gemm_fill_segments(g, p, r, r->n_sums, shape, a_side);
    const struct operand *as[MAX_SUMS], *bs[MAX_SUMS];
    int n_b = 0;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = segment_by_maps(&shape->segments[i]);
        as[i] = &e->a;
        for (int j = 0; j < e->n_sums; j++) bs[n_b++] = &e->b[j];
    }
    gemm_labels(g, x, a_side, as[0], LABEL_SHARED, &out, &shape->batch);
    gemm_labels(g, x, a_side, as[0], LABEL_OWN, &out, &shape->m);
    gemm_labels(g, x, 1 - a_side, bs[0], LABEL_OWN, &out, &shape->n);
    gemm_split_run(g, as, shape->n_segments, &shape->m, &shape->batch);
    move_last(&shape->n, shared);
    gemm_split_run(g, bs, n_b, &shape->n, &shape->batch);
    gemm_choose_layouts(g, p, r, shape);
    mark_ragged(g, shape);
    gemm_merge_sums(g, r, shape);
    return true;
}

const struct cut *segment_cut(const struct segment *e) {
    const struct operand *o = &e->a;
    for (int j = 0; j <= e->n_sums; o = &e->b[j++])
        if (o->value && !o->is_computed && o->tensor.view->cut) return o->tensor.view->cut;
    return NULL;
}

bool gemm_is_computed(const struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++)
        if (shape->segments[i].a.is_computed || shape->segments[i].b[0].is_computed) return true;
    return false;
}

bool gemm_is_strided(const struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++)
        if (shape->segments[i].a.layout == LAYOUT_STRIDED || shape->segments[i].b[0].layout == LAYOUT_STRIDED)
            return true;
    return false;
}

static bool is_unit_unknown(const struct operand *o) {
    return !o->is_computed && o->layout != LAYOUT_STRIDED && o->tensor.is_strided;
}

bool gemm_has_strides(const struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        bool is_unknown = is_unit_unknown(&e->a);
        for (int j = 0; j < e->n_sums; j++) is_unknown |= is_unit_unknown(&e->b[j]);
        if (is_unknown) return true;
    }
    return false;
}

bool gemm_has_mn_major(const struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++)
        if (shape->segments[i].a.layout == LAYOUT_MN_MAJOR || shape->segments[i].b[0].layout == LAYOUT_MN_MAJOR)
            return true;
    return false;
}

struct gemm_reduced gemm_reduced(const struct graph *g, const struct scheduled *s, const struct store *store) {
    struct gemm_reduced d = {-1, -1};
    struct partial_of x;
    if (!is_partial_store(g, s->group, store, &x)) return d;
    for (int i = 0; i < x.n; i++) *(has(&s->gemm.n, x.label[i]) ? &d.run_n : &d.run_m) = x.run[i];
    return d;
}

bool gemm_has_reduced(const struct graph *g, const struct group *r) {
    struct partial_of x;
    for (int i = 0; i < r->n_stores; i++)
        if (is_partial_store(g, r, &r->stores[i], &x)) return true;
    return false;
}

int gemm_reduced_bytes(const struct graph *g, const struct scheduled *s, int bn, int threads) {
    int bytes = 0;
    for (int i = 0; i < s->group->n_stores; i++) {
        struct gemm_reduced d = gemm_reduced(g, s, &s->group->stores[i]);
        int words = fx_dtype_bits(s->group->stores[i].value->dtype) > 32 ? 2 : 1;
        if (d.run_m >= 0) bytes += threads / 32 * (d.run_n >= 0 ? bn / PARTIAL_RUN : bn) * words * 4;
    }
    return bytes;
}

/* The extent of a piece of t, of which columns lie adjacent, where it is fixed and t is in pieces; else 0. */
static int64_t piece_extent(const struct graph *g, const struct tensor *t, const struct axis_list *l) {
    int64_t size = 1;
    const int n = count_piece(t, l);
    for (int i = l->n - n; i < l->n; i++) {
        int64_t extent = g->kernel->axes[l->axes[i]].extent;
        if (extent < 1) return 0;
        size *= extent;
    }
    return n ? size : 0;
}

/* Adjacent columns the epilogue takes at a time: what it reads along n for them stays in registers. */
int gemm_vector(const struct graph *g, const struct scheduled *s, int most) {
    enum { HELD = 32 };
    int n_along = s->group->intermediate ? 0 : s->gemm.n_accumulators - 1;
    for (int i = 0; i < s->n_loads; i++) n_along += find_run(&s->loads[i], &s->gemm.n) != -2;
    struct node **shared;
    int least = gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)
                    ? PARTIAL_RUN / 32
                    : 1; /* the columns of a run lie in a warp */
    while (most > least && most * n_along > HELD) most /= 2;
    return most;
}

int gemm_piece_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, int most) {
    struct node **shared;
    most = gemm_vector(g, s, most);
    if (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)) return most;
    for (int i = 0; i < s->n_loads + s->group->n_stores; i++) {
        struct tensor t = i < s->n_loads ? s->loads[i] : tensor_of_store(g, p, &s->group->stores[i - s->n_loads]);
        int64_t piece = piece_extent(g, &t, &s->gemm.n);
        while (piece % most) most /= 2;
    }
    return most;
}

/* What an SM issues in a cycle beside the mainloop. */
static const double OPS_PER_CYCLE = 64;

/* Where the lanes multiply, too, which no more than so many flops a cycle and SM shows, operations take longer. */
static const double LANES_RATE = 256, BY_LANES = 1.8;

double gemm_computed_seconds(const struct graph *g, double ops) {
    return ops * INSTRUCTIONS / (arch_all_cycles(g->cx->arch) * OPS_PER_CYCLE);
}

/* Of an operand read once: what it lies in, or what its leaves read. */
static double operand_bytes(
    const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o) {
    struct node **leaves = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    if (!o->is_computed) return tensor_bytes(g, &o->tensor);
    double total = 0, bytes;
    int n = operand_leaves(g, p, r, o, leaves, g->n_nodes);
    for (int i = 0; i < n; i++) {
        const struct node *source = leaves[i]->kind == N_ACCESS ? leaves[i]->args[0] : leaves[i];
        struct tensor t = {0};
        if (source->kind == N_INPUT) t = tensor_of_param(g, source->param);
        else if (!node_is_loaded(g, p, r, source, &t)) continue;
        bytes = nominal_size(g, leaves[i]->axes, leaves[i]->n_axes) * fx_dtype_bits(t.dtype) / 8;
        total += bytes < tensor_bytes(g, &t) ? bytes : tensor_bytes(g, &t);
    }
    return total;
}

/* A warp on each scheduler issues an instruction every second cycle. */
double gemm_epilogue_cycles(int elements, int warpgroups, int n_sums, double instructions) {
    enum { STAGED = 4, LANES = 64 };
    return (double)elements / warpgroups * (n_sums * STAGED + instructions) / LANES;
}

/* Whether the copies of a configuration bring o, so that nothing is computed. */
static bool is_copied(const struct config *f, const struct operand *o) {
    return f->takes_maps && (o->window || o->from);
}

const struct axis_list *gemm_line_labels(
    const struct gemm_shape *shape, const struct segment *e, const struct operand *o, bool is_a) {
    if (o->window || o->is_computed) return NULL;
    return o->layout == LAYOUT_K_MAJOR ? &e->k : is_a ? &shape->m : &shape->n;
}

/* What a row of a box of an operand costs, in lines of the L2 cache. */
static double lines_of_row(
    const struct graph *g, const struct gemm_shape *shape, const struct segment *e, bool is_a, int box) {
    const struct axis_list *l = gemm_line_labels(shape, e, is_a ? &e->a : &e->b[0], is_a);
    return l && fmod(nominal_size(g, l->axes, l->n), box) != 0 ? (double)SPLIT_LINE / WHOLE_LINE : 1;
}

/* Blocks of clusters, a multiple of theirs, that run at once: those of more than two do not reach every SM. */
static double resident_blocks(double sms, int cluster) {
    double clusters = floor(cluster > 2 ? sms * 10 / (11 * cluster) : sms / cluster);
    return cluster * (clusters > 1 ? clusters : 1);
}

/* Cycles that an SM takes for a block of k of a tile, of which `rows` by `cols` have so many rows and columns: to
 * multiply it, or for the L2 cache to bring its lines to all that are busy. plan_grid.c has the same as an
 * expression. */
static double block_cycles(const struct graph *g, const struct gemm_shape *shape, const struct segment *e,
    const struct config *f, double rows, double cols, double busy) {
    double products = 2.0 * f->tile_m * f->tile_n * e->n_sums * f->tile_k / f->rate,
           bytes = f->tile_k * (double)fx_dtype_bits(gemm_copied_dtype(shape, true)) / 8,
           m = nominal_size(g, shape->m.axes, shape->m.n) / rows / (f->cluster_n ? f->cluster_n : 1),
           n = nominal_size(g, shape->n.axes, shape->n.n) / cols / (f->cluster_m ? f->cluster_m : 1),
           lines = m * lines_of_row(g, shape, e, true, f->tile_k) +
                   n * e->n_sums * lines_of_row(g, shape, e, false, f->tile_k),
           fed = lines * bytes * (busy > LEAST_FED ? busy : LEAST_FED) / g->cx->arch->l2_bytes;
    return products > fed ? products : fed;
}

/* Cycles of a tile of another engine until its first stage is there. */
static const double COPIED_BEGIN = 1500;

/* Whether the mainloop of another engine does nothing but copy operands of segment e by whole lines. */
static bool is_copied_whole(
    const struct graph *g, const struct scheduled *s, const struct config *f, const struct segment *e) {
    bool is_computed = e->a.is_computed;
    for (int j = 0; j < e->n_sums; j++) is_computed |= e->b[j].is_computed;
    return g->cx->arch->l2_bytes && f->is_aligned && !f->takes_maps && !s->chain && !is_computed && !s->gemm.is_split &&
           f->tile_k * fx_dtype_bits(s->gemm.a_dtype) == MAP_LINE * 8;
}

/* Cycles of all SMs for a configuration: rounds of tiles, each all the segments and an epilogue; `others`: columns of
 * tiles of the same launch that are another kernel's. Two tiles in turns take as long as their mainloops, or half of
 * all they do. */
static double tile_cycles(const struct graph *g, const struct scheduled *s, const struct config *f, double epilogue,
    double others, double *flops, double *computed_ops) {
    const struct gemm_shape *shape = &s->gemm;
    const int below = f->cluster_m ? f->cluster_m : 1, beside = f->cluster_n ? f->cluster_n : 1;
    double sms = g->cx->arch->sms, batches = nominal_size(g, shape->batch.axes, shape->batch.n),
           m = nominal_size(g, shape->m.axes, shape->m.n), n = nominal_size(g, shape->n.axes, shape->n.n);
    double rows = ceil(m / (f->tile_m * below)) * below, own = ceil(n / (f->tile_n * beside)) * beside,
           cols = own + others, tiles = batches * rows * cols,
           blocks = f->splits_k ? arch_cluster_blocks(g->cx->arch, tiles) : 1,
           rounds = ceil(tiles * blocks / resident_blocks(sms, below * beside)), tile = 0;
    bool begins = false;
    *flops = *computed_ops = 0;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = f->takes_maps ? segment_by_maps(&shape->segments[i]) : &shape->segments[i];
        double inner = nominal_size(g, e->k.axes, e->k.n), outer = nominal_size(g, e->k_outer.axes, e->k_outer.n),
               k = inner * outer, walked = k;
        if (e != &shape->segments[i]) /* of a few channels most of a block is wasted */
            walked = ceil(inner / f->tile_k) * f->tile_k * outer;
        begins |= is_copied_whole(g, s, f, e);
        if (f->is_fed || begins)
            tile += ceil(inner / f->tile_k) * outer *
                    block_cycles(g, shape, e, f, rows, own, tiles * blocks < sms ? tiles * blocks : sms);
        else tile += 2.0 * f->tile_m * f->tile_n * e->n_sums * walked / f->rate;
        *flops += 2 * batches * m * n * k * e->n_sums;
        if (!is_copied(f, &e->a)) *computed_ops += batches * k * m * own * e->a.ops;
        for (int j = 0; j < e->n_sums; j++)
            if (!is_copied(f, &e->b[j])) *computed_ops += batches * k * n * rows * e->b[j].ops;
    }
    /* SMs without a tile compute nothing. */
    *computed_ops *= rounds * resident_blocks(sms, below * beside) / (tiles * blocks);
    if (f->is_fed) return sms * (rounds * (tile / blocks + f->of_tile + f->exchange) + f->at_end);
    if (begins) return sms * rounds * (tile + epilogue + COPIED_BEGIN);
    if (!f->hides_epilogue) return sms * rounds * ((tile + epilogue) / blocks + f->exchange);
    double both = (tile + epilogue) / 2;
    return sms * (rounds * (both > tile ? both : tile) + epilogue);
}

/* Whether f is of the skinny driver and takes the nominal extents. */
static bool is_skinny_here(const struct graph *g, const struct scheduled *s, const struct config *f) {
    return f->is_skinny && skinny_seconds(g, s, f, 0) >= 0;
}

void gemm_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    const struct gemm_shape *shape = &s->gemm;
    double least = -1, flops, ops, instructions = group_footprint(g, p, s->group).instructions;
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = &shape->segments[i];
        s->bytes += operand_bytes(g, p, s->group, &e->a);
        for (int j = 0; j < e->n_sums; j++) s->bytes += operand_bytes(g, p, s->group, &e->b[j]);
    }
    s->bytes += scheduled_bytes(g, p, s);
    double memory = s->bytes / g->cx->arch->copied;
    for (int i = 0; i < s->n_configs; i++) {
        const struct config *f = &s->configs[i];
        if (f->is_skinny) continue;
        int warpgroups = f->block > 128 ? f->block / 128 : 1;
        double epilogue = f->epilogue > 0
                              ? f->epilogue
                              : gemm_epilogue_cycles(
                                    f->tile_m * f->tile_n, warpgroups, s->gemm.n_accumulators, instructions),
               cycles = tile_cycles(g, s, f, epilogue, 0, &flops, &ops),
               seconds = cycles / arch_all_cycles(g->cx->arch) +
                         gemm_computed_seconds(g, ops) * (f->rate <= LANES_RATE ? BY_LANES : 1);
        if (least < 0 || seconds < least) least = seconds;
        s->flops = flops;
    }
    s->seconds = least > memory ? least : memory;
    for (int i = 0; i < s->n_configs; i++) { /* a launch takes it where it can */
        if (!is_skinny_here(g, s, &s->configs[i])) continue;
        s->seconds = skinny_seconds(g, s, &s->configs[i], s->bytes);
        break;
    }
}

static double tile_columns(const struct graph *g, const struct scheduled *s, const struct config *f) {
    return ceil(nominal_size(g, s->gemm.n.axes, s->gemm.n.n) / f->tile_n);
}

/* The kernels share rounds of tiles, by their columns, and read their A once. */
double gemm_price_beside(const struct graph *g, struct scheduled *const *kernels, int n) {
    double least = -1, apart = 0, bytes = 0, flops, ops;
    for (int i = 0; i < n; i++) {
        apart += kernels[i]->seconds;
        bytes += kernels[i]->bytes - (i ? tensor_bytes(g, &kernels[i]->gemm.segments[0].a.tensor) : 0);
    }
    for (int v = 0; v < kernels[0]->n_configs; v++) {
        if (is_skinny_here(g, kernels[0], &kernels[0]->configs[v])) return apart;
        if (!kernels[0]->configs[v].takes_maps) continue;
        double columns = 0, seconds = 0;
        for (int i = 0; i < n; i++) columns += tile_columns(g, kernels[i], &kernels[i]->configs[v]);
        for (int i = 0; i < n && columns > 0; i++) {
            const struct config *f = &kernels[i]->configs[v];
            double own = tile_columns(g, kernels[i], f);
            seconds += own / columns * tile_cycles(g, kernels[i], f, f->epilogue, columns - own, &flops, &ops);
        }
        seconds /= arch_all_cycles(g->cx->arch);
        if (least < 0 || seconds < least) least = seconds;
    }
    double memory = bytes / g->cx->arch->copied, joined = least > memory ? least : memory;
    for (int i = 0; i < n; i++) kernels[i]->seconds *= joined / apart;
    return joined;
}
