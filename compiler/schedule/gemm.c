/* The shape of a gemm kernel, common to its engines: the super-axes of its sums, and their segments.
 *
 * In: a group with a contraction. Out: a gemm_shape, and queries on it. gemm_operand.c has the operands. Must not know
 * tiles.
 *
 * A label of both factors that is kept is a batch axis. Labels of one factor alone are m or n; the last axis of the
 * first output is on n. Each of m, n, k is one run of labels that are adjacent in every operand in memory that has
 * them. Labels that do not merge into the run become batch axes (m, n) or an outer k axis, which is right in any order.
 */
#include <string.h>

#include "graph/operand.h"
#include "schedule/computed.h"
#include "schedule/merge.h"

static void push(struct axis_list *l, int axis) { l->axes[l->n++] = axis; }

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
            g->kernel->axes[order[i]].extent != 1 && find_label(l, order[i]) < 0)
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

/* ---- windows ---- */

/* The window that factor s of x is, or NULL: of 16-bit floats, of f32 in full or of parts, with its last label read at
 * its own index. That label is summed; or, of 16-bit floats whose windows go along k, one of this factor alone. */
static const struct window *find_window(
    const struct graph *g, const struct partition *p, const struct group *r, const struct product *x, int s) {
    const struct node *n = x->factor[s];
    struct tensor t;
    if (n->kind != N_ACCESS) return NULL;
    if (gemm_splits_window(p, x, s)) t = tensor_of_buffer(g, p, x->buffer[s]);
    else if (x->buffer[s] >= 0 || !node_is_loaded(g, p, r, n->args[0], &t)) return NULL;
    if (tensor_of_slices(g, x->sum, n, x->factor[1 - s], &(struct tensor){0})) return NULL;
    const bool is_f32 = t.dtype == FX_F32 && !x->sum->may_tf32;
    if (t.is_split != x->is_split || (!t.is_split && t.dtype != x->dtype[s])) return NULL;
    if (t.dtype != FX_F16 && t.dtype != FX_BF16 && !is_f32) return NULL;
    struct window *w = NEW(&g->cx->arena, struct window);
    if (!window_of_access(g, n, &t, w)) return NULL;
    const struct window_axis *last = &w->axes[t.n_axes - 1];
    const int channel = t.axes[t.n_axes - 1];
    if (last->n != 1 || last->terms[0].label != channel || last->terms[0].factor != 1 || last->first.n) return NULL;
    if (!node_has_axis(x->sum, channel)) return w;
    const bool is_own = !is_f32 && !t.is_split && !node_has_axis(x->factor[1 - s], channel);
    return is_own && window_goes_along_k(g, x->sum, w) ? w : NULL;
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

/* Leaves of l, the m or n of some windows whose channels are on it, these alone: what else moves windows goes to the
 * batch. */
static void split_moves(const struct operand *const *operands, int n, struct axis_list *l, struct axis_list *batch) {
    for (int i = 0; i < n; i++) {
        const int channel = channel_of(operands[i]);
        if (channel < 0 || find_label(l, channel) < 0) continue;
        for (int j = 0; j < l->n; j++)
            if (l->axes[j] != channel) push(batch, l->axes[j]);
        *l = (struct axis_list){1, {channel}};
    }
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
    if (channel < 0 || find_label(&shape->m, channel) >= 0 || find_label(&shape->n, channel) >= 0) return;
    struct segment *own = NEW(&g->cx->arena, struct segment);
    *own = *e;
    own->k.n = find_label(&e->k, channel) >= 0 || find_label(&e->k_outer, channel) >= 0;
    own->k.axes[0] = channel;
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
        .is_halved = x->is_halved, .pairing = x->is_pairing ? x->sum : NULL,
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
    split_moves(as, shape->n_segments, &shape->m, &shape->batch);
    gemm_split_run(g, as, shape->n_segments, &shape->m, &shape->batch);
    move_last(&shape->n, shared);
    split_moves(bs, n_b, &shape->n, &shape->batch);
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

/* Whether the rows or columns of a halved tensor have all labels of mn. */
static bool is_all_of(const struct graph *g, const struct tensor *t, const struct axis_list *mn) {
    const struct halved h = tensor_halved(t);
    int n = 0;
    for (int i = 0; i < mn->n; i++) {
        if (g->kernel->axes[mn->axes[i]].extent == 1) continue;
        if (find_label(&h.mn, mn->axes[i]) < 0) return false;
        n++;
    }
    return n == h.mn.n;
}

bool gemm_has_whole_matrices(const struct graph *g, const struct gemm_shape *shape) {
    for (int i = 0; i < shape->n_segments; i++)
        for (int j = -1; j < shape->segments[i].n_sums; j++) {
            const struct axis_list *mn = j < 0 ? &shape->m : &shape->n;
            const struct operand *o = j < 0 ? &shape->segments[i].a : &shape->segments[i].b[j];
            if (!o->tensor.is_halved || !is_all_of(g, &o->tensor, mn)) return false;
        }
    return true;
}
