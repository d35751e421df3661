/* The conditions under which a configuration of a scheduled group is right: sizes of super-axes, and what has to be
 * aligned, adjacent or a multiple.
 *
 * In: a scheduled group and one of its configurations. Out: a condition over extents, alignments and strides, or that
 * it can never hold. */
#include <string.h>

#include "schedule/chain_program.h"
#include "schedule/bins.h"
#include "schedule/computed.h"
#include "schedule/im2col.h"
#include "graph/operand.h"
#include "schedule/row_program.h"
#include "schedule/wgmma.h"

static void need_below(struct terms *x, int *n, const struct kernel *k, const int *axes, int n_axes) {
    int from = x->n;
    terms_size(x, k, axes, n_axes);
    terms_constant(x, MOST_INDEX);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

static void need_multiple(struct terms *x, int *n, const struct kernel *k, const int *axes, int n_axes, int of) {
    int from = x->n;
    if (of <= 1) return;
    terms_size(x, k, axes, n_axes);
    terms_constant(x, of);
    terms_op(x, FX_T_MOD);
    terms_constant(x, 0);
    terms_op(x, FX_T_EQ);
    terms_also(x, n, from);
}

static void need_aligned(struct terms *x, int *n, const struct kernel *k, const struct tensor *t, int bytes) {
    int from = x->n;
    if (t->param < 0) return; /* buffers are 256-byte aligned */
    if (k->params[t->param].align >= bytes) return; /* promised, and checked before anything else */
    terms_constant(x, bytes);
    terms_push(x, FX_T_ALIGN, t->param);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* The stride of position i of t, which is strided. */
static void stride(struct terms *x, const struct kernel *k, const struct tensor *t, int i) {
    const struct param *p = &k->params[t->param];
    for (int j = 0; j < p->n_axes; j++)
        if (p->axes[j] == t->axes[i]) terms_push(x, FX_T_STRIDE, fx_stride_index(t->param, j));
}

/* V adjacent elements along the last label of a strided tensor are a vector: stride 1 there,
 * multiples of V elsewhere. */
static void need_strides(struct terms *x, int *n, const struct kernel *k, const struct tensor *t, int vector) {
    if (!t->is_strided || vector <= 1) return;
    for (int i = 0; i < t->n_axes; i++) {
        bool is_last = i == t->n_axes - 1;
        int from = x->n;
        stride(x, k, t, i);
        if (!is_last) terms_constant(x, vector), terms_op(x, FX_T_MOD);
        terms_constant(x, is_last);
        terms_op(x, FX_T_EQ);
        terms_also(x, n, from);
    }
}

static int bytes_of(const struct tensor *t) { return fx_dtype_bits(t->dtype) / 8; }

/* Whether a term is a multiple of `of` where the extents of `known` multiplied are. */
static bool is_multiple(const struct kernel *k, const struct poly_term *t, const struct axis_list *known, int of) {
    bool has_all = known->n > 0;
    for (int i = 0; i < known->n; i++) {
        bool found = false;
        for (int f = 0; f < t->n; f++) found |= t->atoms[f] == k->n_axes + known->axes[i];
        has_all &= found;
    }
    return has_all || t->coefficient % of == 0;
}

/* An atom of the view of t. */
static void push_atom(struct terms *x, const struct graph *g, const struct tensor *t, int number) {
    int position, axis = view_atom_axis(g, number, &position);
    if (axis >= 0) terms_extent(x, g->kernel, axis);
    else terms_push(x, FX_T_STRIDE, fx_stride_index(t->param, position));
}

static void push_term(struct terms *x, const struct graph *g, const struct tensor *tensor, const struct poly_term *t) {
    int begin = x->n;
    if (t->coefficient != 1 || !t->n) terms_constant(x, (int64_t)t->coefficient);
    for (int f = 0; f < t->n; f++) {
        int at = x->n;
        push_atom(x, g, tensor, t->atoms[f]);
        if (at > begin) terms_op(x, FX_T_MUL);
    }
}

void need_push_poly(struct terms *x, const struct graph *g, const struct tensor *tensor, const struct poly *p) {
    if (!p->n) terms_constant(x, 0);
    for (int i = 0; i < p->n; i++) {
        push_term(x, g, tensor, &p->t[i]);
        if (i) terms_op(x, FX_T_ADD);
    }
}

/* Joins the condition that a polynomial of the view of t is a multiple of `of`. */
static void need_poly_multiple(struct terms *x, int *n, const struct graph *g, const struct tensor *tensor,
    const struct poly *p, const struct axis_list *known, int of) {
    int from = x->n, n_terms = 0;
    for (int i = 0; i < p->n; i++) {
        const struct poly_term *t = &p->t[i];
        if (is_multiple(g->kernel, t, known, of)) continue;
        push_term(x, g, tensor, t);
        if (n_terms++) terms_op(x, FX_T_ADD);
    }
    if (!n_terms) return;
    terms_constant(x, of);
    terms_op(x, FX_T_MOD);
    terms_constant(x, 0);
    terms_op(x, FX_T_EQ);
    terms_also(x, n, from);
}

/* Elements lie side by side along the run that the layout of an operand names: of a strided tensor its stride is 1. */
static void need_unit(struct terms *x, int *n, const struct graph *g, const struct operand *o) {
    int from = x->n;
    if (o->is_computed || o->layout == LAYOUT_STRIDED || !o->tensor.is_strided) return;
    push_atom(x, g, &o->tensor, o->tensor.view->unit);
    terms_constant(x, 1);
    terms_op(x, FX_T_EQ);
    terms_also(x, n, from);
}

/* Copies of 16 bytes along the run that is contiguous: it, every other stride and where the operand begins are
 * multiples of that. */
static void need_copied(struct terms *x, int *n, const struct graph *g, const struct operand *o,
    const struct axis_list *kk, const struct axis_list *mn) {
    if (o->layout == LAYOUT_STRIDED || o->tensor.is_halved) return; /* its rows are padded */
    const struct axis_list *run = o->layout == LAYOUT_K_MAJOR ? kk : mn;
    const struct view *v = o->tensor.view;
    int of = 128 / fx_dtype_bits(o->tensor.dtype);
    need_multiple(x, n, g->kernel, run->axes, run->n, of);
    need_aligned(x, n, g->kernel, &o->tensor, 16);
    need_unit(x, n, g, o);
    if (v->cut && run == kk) need_multiple(x, n, g->kernel, &v->cut->whole, 1, of); /* the last slice, too */
    need_poly_multiple(x, n, g, &o->tensor, &v->offset, run, of);
    for (int i = 0; i < o->tensor.n_axes; i++) {
        bool is_run = false;
        for (int j = 0; j < run->n; j++) is_run |= run->axes[j] == o->tensor.axes[i];
        if (!is_run) need_poly_multiple(x, n, g, &o->tensor, &v->stride[i], run, of);
    }
}

/* Vector loads of what a computed operand reads along its chunks. */
static void need_computed(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s,
    const struct operand *o, const struct segment *e, const struct axis_list *mn, int chunk) {
    const struct kernel *k = c->graph->kernel;
    struct computed m = computed_open(c->graph, c->partition, s->group, o, e, mn);
    need_multiple(x, n, k, m.along->axes, m.along->n, chunk);
    for (int i = 0; i < m.n_leaves; i++) {
        const struct leaf *f = &m.leaves[i];
        if (f->kind == LEAF_WORD && chunk > COMPUTED_CHUNK) { /* words side by side */
            struct tensor t = tensor_of_param(c->graph, f->node->param);
            need_aligned(x, n, k, &t, chunk * fx_dtype_bits(t.dtype) / 8);
        }
        if (f->kind != LEAF_HELD && f->kind != LEAF_SHARED && f->kind != LEAF_PIECE) continue;
        int bytes = chunk * bytes_of(&f->tensor);
        const int adjacent = f->kind == LEAF_PIECE ? computed_adjacent(f, m.along) : 0;
        if (adjacent) need_multiple(x, n, k, m.along->axes + m.along->n - adjacent, adjacent, chunk);
        need_aligned(x, n, k, &f->tensor, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &f->tensor, chunk);
    }
}

/* Joins the condition that a polynomial of the view of t is from `least` to `most`. */
static void need_between(struct terms *x, int *n, const struct graph *g, const struct tensor *t, const struct poly *p,
    int64_t least, int64_t most) {
    for (int i = 0; i < 2; i++) {
        int from = x->n;
        if (i) need_push_poly(x, g, t, p);
        terms_constant(x, i ? most : least);
        if (!i) need_push_poly(x, g, t, p);
        terms_op(x, FX_T_LE);
        terms_also(x, n, from);
    }
}

/* Columns of pixels by a tensor map in im2col mode: whole pieces of 16 bytes of channels, corners and offsets in the bits
 * that there are for them. */
static void need_im2col(struct terms *x, int *n, const struct graph *g, const struct gemm_shape *shape,
    const struct operand *o, const struct segment *e, const struct axis_list *mn) {
    const struct tensor *t = &o->window->tensor;
    const struct axis_list *channels = im2col_channels(e, o, mn);
    struct im2col c;
    const char *ignored;
    if (!im2col_of(g, shape, e, o, mn, &c, &ignored)) return;
    int64_t most = INT64_C(1) << im2col_bits(&c);
    need_multiple(x, n, g->kernel, channels->axes, channels->n, 16 / bytes_of(t));
    need_aligned(x, n, g->kernel, t, 16);
    for (int i = 0; i < c.n_spatial; i++) {
        const struct spatial *s = &c.spatial[i];
        struct poly extent, upper;
        view_extent(g, t->axes[s->position], &extent);
        poly_copy(&upper, &s->last);
        poly_add(&upper, &extent, -1);
        poly_add_number(&upper, 1);
        need_between(x, n, g, t, &s->first, -most / 2, most / 2 - 1);
        need_between(x, n, g, t, &upper, -most / 2, most / 2 - 1);
        need_between(x, n, g, t, &s->reach, 0, most - 1);
    }
}

static void need_operand(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s,
    const struct gemm_shape *shape, const struct segment *e, const struct operand *o, int chunk, bool takes_maps) {
    const struct axis_list *mn = o == &e->a ? &shape->m : &shape->n;
    if (o->window && takes_maps) need_im2col(x, n, c->graph, shape, o, e, mn);
    else if (o->is_computed) need_computed(x, n, c, s, o, e, mn, chunk > COMPUTED_CHUNK ? chunk : COMPUTED_CHUNK);
    else need_copied(x, n, c->graph, o, &e->k, mn);
    if (o->from && takes_maps) need_copied(x, n, c->graph, o->from, &e->k, mn);
    if (chunk) need_multiple(x, n, c->graph->kernel, e->k.axes, e->k.n, chunk);
}

/* Vector accesses of V elements along `run`: it is a multiple of V, tensors that end in it are aligned. */
static void need_vectors(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s,
    const struct axis_list *run, int vector) {
    const struct kernel *k = c->graph->kernel;
    const struct group *r = s->group;
    need_multiple(x, n, k, run->axes, run->n, vector);
    for (int i = 0; i < s->n_loads + r->n_stores; i++) {
        struct tensor t = i < s->n_loads ? s->loads[i]
                                         : tensor_of_store(c->graph, c->partition, &r->stores[i - s->n_loads]);
        int at = find_run(&t, run), bytes = vector * bytes_of(&t);
        if (at < 0 || at + run->n < t.n_axes) continue;
        need_aligned(x, n, k, &t, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &t, vector);
    }
    struct chunk chunks[MAX_CHUNKS];
    int n_chunks = schedule_chunks(c->graph, c->partition, s, chunks);
    for (int i = 0; i < n_chunks; i++) {
        const struct tensor *t = &chunks[i].tensor;
        int bytes = vector * chunks[i].step * bytes_of(t);
        need_aligned(x, n, k, t, bytes < 16 ? bytes : 16);
        if (chunks[i].is_strip && chunks[i].owner == i) need_multiple(x, n, k, &t->axes[t->n_axes - 1], 1, vector);
    }
}

/* Vector accesses along the rows or across them: what is read and stored as vectors. */
static void need_row_vectors(
    struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    const struct row_program *w = s->row;
    const struct group *r = s->group;
    if (!f->is_skewed) need_multiple(x, n, k, w->along.axes, w->along.n, f->vector);
    for (int i = 0; i < w->n_held + w->n_tail + r->n_stores; i++) {
        int store = i - w->n_held - w->n_tail;
        struct tensor t = i < w->n_held ? w->held[i]
                          : store < 0   ? w->tail[i - w->n_held]
                                        : tensor_of_store(c->graph, c->partition, &r->stores[store]);
        int bytes = f->vector * bytes_of(&t);
        if (store >= 0 && !row_stores_vectors(c->graph, c->partition, w, r, &r->stores[store])) continue;
        if (f->is_skewed && !row_lies_whole(w, &t)) continue;
        need_aligned(x, n, k, &t, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &t, f->vector);
    }
}

/* Joins the condition that none of n_axes extents is 0. */
static void need_some(struct terms *x, int *n, const struct kernel *k, const int *axes, int n_axes) {
    int from = x->n;
    terms_constant(x, 1);
    terms_size(x, k, axes, n_axes);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

void need_at_most(struct terms *x, int *n, const struct kernel *k, const struct axis_list *l, int64_t most) {
    int from = x->n;
    terms_size(x, k, l->axes, l->n);
    terms_constant(x, most);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

static struct terms row_needs(
    struct arena *a, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f) {
    struct terms x = {.a = a};
    const struct kernel *k = c->graph->kernel;
    const struct row_program *w = s->row;
    int n = 0;
    if (f->most_cols) need_at_most(&x, &n, k, &w->cols, f->most_cols);
    if (f->most_bins) need_at_most(&x, &n, k, &(struct axis_list){1, {s->bins->axis}}, f->most_bins);
    if (f->is_aligned || f->is_skewed) need_row_vectors(&x, &n, c, s, f);
    if (!f->is_small) return x;
    need_at_most(&x, &n, k, &w->rows, 1 << 29);
    if (!f->most_cols) need_at_most(&x, &n, k, &w->cols, 1 << 29);
    return x;
}

/* The k that wgmma multiplies at a time: 64 of the 16-bit parts that f32 may be stored in, 128 bytes of what is narrower.
 */
static int block_of_k(const struct segment *e) {
    int bits = 16;
    for (int j = -1; j < e->n_sums; j++) {
        const struct operand *o = j < 0 ? &e->a : &e->b[j];
        if (o->value && fx_dtype_bits(o->tensor.dtype) < bits) bits = fx_dtype_bits(o->tensor.dtype);
    }
    return MAP_ROW_BYTES * 8 / bits;
}

/* What the mainloop of a segment needs; of a chain's second contraction, whose A is no operand, but for that. */
static void need_segment(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s,
    const struct config *f, const struct gemm_shape *shape, const struct segment *e) {
    const struct kernel *k = c->graph->kernel;
    if (f->takes_maps) e = segment_by_maps(e);
    int all_k[2 * MAX_AXES];
    memcpy(all_k, e->k_outer.axes, sizeof e->k_outer.axes);
    memcpy(all_k + e->k_outer.n, e->k.axes, (size_t)e->k.n * sizeof *all_k);
    need_below(x, n, k, all_k, e->k_outer.n + e->k.n);
    const struct cut *cut = segment_cut(e);
    if (cut) need_below(x, n, k, &cut->whole, 1);
    /* a map of the whole reads on behind the end of a slice, so no block of k crosses it */
    if (cut && f->takes_maps) need_multiple(x, n, k, e->k.axes, e->k.n, block_of_k(e));
    /* The first products of a sum begin it, but of two f16; there is something to share out. */
    if ((f->takes_maps && !shape->is_halved) || f->piece) need_some(x, n, k, all_k, e->k_outer.n + e->k.n);
    bool is_aligned = f->is_aligned && !e->is_ragged;
    if (is_aligned && e->a.value) need_operand(x, n, c, s, shape, e, &e->a, f->swaps ? f->chunk : 0, f->takes_maps);
    for (int j = 0; is_aligned && j < e->n_sums; j++)
        need_operand(x, n, c, s, shape, e, &e->b[j], f->swaps ? 0 : f->chunk, f->takes_maps);
    bool needs_unit = f->needs_unit || (f->is_aligned && e->is_ragged); /* it still lies as its layout says */
    if (needs_unit && e->a.value) need_unit(x, n, c->graph, &e->a);
    for (int j = 0; needs_unit && j < e->n_sums; j++) need_unit(x, n, c->graph, &e->b[j]);
}

static void need_segments(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s,
    const struct config *f, const struct gemm_shape *shape) {
    need_below(x, n, c->graph->kernel, shape->m.axes, shape->m.n);
    need_below(x, n, c->graph->kernel, shape->n.axes, shape->n.n);
    for (int i = 0; i < shape->n_segments; i++) need_segment(x, n, c, s, f, shape, &shape->segments[i]);
}

/* What positions are made of fits 32 bits; labels of the space itself do. */
static void need_small_axes(struct terms *x, int *n, const struct scheduled_graph *c, const struct scheduled *s) {
    const struct kernel *k = c->graph->kernel;
    const bool *is_small = pointwise_small_axes(c->graph, c->partition, s->group);
    for (int i = 0; is_small && i < k->n_axes; i++)
        if (is_small[i] && k->axes[i].extent < 0 && !is_space_axis(s, i))
            need_at_most(x, n, k, &(struct axis_list){1, {i}}, 1 << 30);
}

struct terms schedule_needs(
    struct arena *a, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f) {
    struct terms x = {.a = a};
    const struct kernel *k = c->graph->kernel;
    int n = 0;
    if (s->group->contraction) {
        if (s->chain) need_segments(&x, &n, c, s, f, &s->chain->first);
        /* Results of rows are stored where there are no columns, too: by configurations that need no map of these. */
        if (s->chain && s->chain->stores_rows && (f->takes_maps || f->piece))
            need_some(&x, &n, k, s->gemm.n.axes, s->gemm.n.n);
        if (f->most_m) need_at_most(&x, &n, k, &s->gemm.m, f->most_m);
        if (f->most_n) need_at_most(&x, &n, k, &s->gemm.n, f->most_n);
        if (f->most_t) need_at_most(&x, &n, k, &s->gemm.segments[0].k, f->most_t);
        for (int i = 0; f->most_k && i < s->chain->first.n_segments; i++)
            need_at_most(&x, &n, k, &s->chain->first.segments[i].k, f->most_k);
        need_segments(&x, &n, c, s, f, &s->gemm);
        if (f->is_skinny)
            need_at_most(&x, &n, k, f->swaps ? &s->gemm.n : &s->gemm.m, f->swaps ? f->tile_n : f->tile_m);
        if (f->is_aligned && !f->stores_any) need_vectors(&x, &n, c, s, &s->gemm.n, f->vector);
        return x;
    }
    if (s->row) return row_needs(a, c, s, f);
    const struct pointwise_shape *space = &s->pointwise;
    if (group_halves(c->partition, s->group)) {
        const struct tensor t = tensor_of_store(c->graph, c->partition, s->group->stores);
        const struct halved h = tensor_halved(&t);
        need_below(&x, &n, k, h.mn.axes, h.mn.n);
        need_below(&x, &n, k, h.k.axes, h.k.n);
    }
    if (f->is_aligned) need_vectors(&x, &n, c, s, &space->cols, f->vector);
    if (f->is_small) {
        int from = x.n;
        terms_size(&x, k, space->rows.axes, space->rows.n);
        terms_size(&x, k, space->cols.axes, space->cols.n);
        terms_op(&x, FX_T_MUL);
        terms_constant(&x, 1 << 30);
        terms_op(&x, FX_T_LT);
        terms_also(&x, &n, from);
        need_small_axes(&x, &n, c, s);
    }
    return x;
}

struct config *config_next(struct scheduled *s) {
    return s->n_configs == MAX_VARIANTS ? NULL : &s->configs[s->n_configs++];
}

void config_copy(struct scheduled *s, const struct config *f) {
    struct config *c = config_next(s);
    if (c) *c = *f;
}

bool config_is_possible(
    struct cx *cx, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f) {
    return !schedule_needs(&cx->arena, c, s, f).is_never;
}

void drop_impossible(struct cx *cx, const struct scheduled_graph *c, struct scheduled *s) {
    int n = 0;
    for (int i = 0; i < s->n_configs; i++)
        if (config_is_possible(cx, c, s, &s->configs[i])) s->configs[n++] = s->configs[i];
    s->n_configs = n;
}
