/* Tensor maps of a launch: base, extents, strides and boxes as expressions over extents (struct fx_map).
 *
 * In: a map of a unit's launch. Out: that of the plan. */
#include "graph/operand.h"
#include "plan/launch.h"
#include "schedule/im2col.h"
#include "schedule/wgmma.h"

static struct fx_expr poly_expr(struct arena *a, const struct graph *g, const struct tensor *t, const struct poly *p) {
    struct terms x = {.a = a};
    need_push_poly(&x, g, t, p);
    return terms_done(&x);
}

static struct fx_expr size_expr(struct arena *a, const struct kernel *k, const struct axis_list *l, int label) {
    struct terms x = {.a = a};
    if (label < 0) terms_size(&x, k, l->axes, l->n);
    else terms_extent(&x, k, l->axes[label]);
    return terms_done(&x);
}

/* Channels, then what pixels go along, then images; those of parts one part after the other. */
static struct fx_map build_im2col(struct arena *a, const struct scheduled_graph *c, const struct map *m) {
    const struct graph *g = c->graph;
    const struct tensor *t = &m->operand->window->tensor;
    const struct axis_list *mn = m->is_a ? &m->shape->m : &m->shape->n;
    const char *ignored;
    const struct axis_list *channels = im2col_channels(m->segment, m->operand, mn);
    struct im2col v;
    im2col_of(g, m->shape, m->segment, m->operand, mn, &v, &ignored);
    struct fx_map out = {
        .base = t->param >= 0 ? (struct fx_arg){FX_ARG_PARAM, t->param} : (struct fx_arg){FX_ARG_BUFFER, t->buffer},
        .dtype = m->shape->is_whole ? FX_U32 : t->dtype, /* words, not rounded */
        .offset = poly_expr(a, g, t, &t->view->offset),
        .rank = 2 + v.n_spatial,
        .box = {MAP_ROW_BYTES * 8 / fx_dtype_bits(t->dtype), MAP_BOX},
        .is_im2col = true};
    struct axis_list images = *im2col_pixels(m->segment, m->operand, mn);
    images.n = v.n_images;
    out.extents[0] = size_expr(a, g->kernel, channels, -1);
    out.strides[0] = size_expr(a, g->kernel, &(struct axis_list){0}, -1);
    for (int i = 0; i < v.n_spatial; i++) {
        const struct spatial *s = &v.spatial[i];
        const struct axis_list along = {1, {t->axes[s->position]}};
        out.extents[1 + i] = size_expr(a, g->kernel, &along, 0);
        out.strides[1 + i] = poly_expr(a, g, t, &t->view->stride[s->position]);
        out.first[i] = poly_expr(a, g, t, &s->first);
        out.last[i] = poly_expr(a, g, t, &s->last);
        out.steps[i] = s->step;
    }
    out.extents[out.rank - 1] = size_expr(a, g->kernel, &images, -1);
    out.strides[out.rank - 1] =
        images.n ? poly_expr(a, g, t, &t->view->stride[tensor_axis(t, images.axes[images.n - 1])]) : out.strides[0];
    if (t->is_split) {
        struct terms all = {.a = a}, apart = {.a = a};
        terms_size(&all, g->kernel, images.axes, images.n);
        terms_constant(&all, SPLIT_PARTS);
        terms_op(&all, FX_T_MUL);
        out.extents[out.rank - 1] = terms_done(&all);
        terms_size(&apart, g->kernel, t->axes, t->n_axes);
        if (!images.n) out.strides[out.rank - 1] = terms_done(&apart);
    }
    return out;
}

/* What e says of fields, of words of so many. */
static struct fx_expr words_expr(struct arena *a, const struct fx_expr *e, int fields) {
    struct terms x = {.a = a};
    terms_expr(&x, e);
    terms_constant(&x, fields);
    terms_op(&x, FX_T_DIV);
    return terms_done(&x);
}

/* Matrices of two f16 lie one after the other, their rows padded. */
static void set_halved_strides(struct arena *a, const struct kernel *k, const struct tensor *t,
    const struct map_axis *axes, int n, struct fx_map *out) {
    const struct halved h = tensor_halved(t);
    struct terms pitch = {.a = a}, plane = {.a = a};
    halved_pitch(&pitch, k, &h);
    halved_plane(&plane, k, &h);
    out->strides[1] = terms_done(&pitch);
    for (int i = 0; i < n; i++) {
        struct terms x = {.a = a};
        const int after = tensor_axis(t, axes[i].axis) + 1;
        terms_size(&x, k, t->axes + after, h.batch.n - after);
        halved_bytes(&x, k, &h);
        terms_op(&x, FX_T_MUL);
        terms_constant(&x, fx_dtype_bits(t->dtype) / 8);
        terms_op(&x, FX_T_DIV);
        out->strides[MAP_INNER + i] = terms_done(&x);
    }
    out->strides[MAP_INNER + n] = terms_done(&plane);
}

/* k and m or n, whichever is contiguous first, then the others. */
static struct fx_map build_map(struct arena *a, const struct scheduled_graph *c, const struct map *m) {
    const struct graph *g = c->graph;
    const struct gemm_shape *shape = m->shape;
    const struct kernel *k = g->kernel;
    const struct operand *o = m->operand->from ? m->operand->from : m->operand;
    const struct tensor *t = &o->tensor;
    const struct axis_list *mn = m->is_a ? &shape->m : &shape->n, *inner[MAP_INNER] = {&m->segment->k, mn};
    struct map_axis axes[MAX_MAP_AXES];
    int n = map_axes(g, shape, m->segment, t, axes);
    const int fields = fx_dtype_bits(t->dtype) < 8 ? 32 / fx_dtype_bits(t->dtype) : 1; /* of a word */
    const bool are_words = shape->is_whole || fields > 1 || (m->operand->from && t->dtype == FX_F32);
    struct fx_map out = {
        .base = t->param >= 0 ? (struct fx_arg){FX_ARG_PARAM, t->param} : (struct fx_arg){FX_ARG_BUFFER, t->buffer},
        .dtype = are_words ? FX_U32 /* not rounded */ : t->dtype,
        .offset = poly_expr(a, g, t, &t->view->offset),
        .rank = MAP_INNER + n,
        .is_tail = m->is_tail};
    for (int i = 0; i < MAP_INNER; i++) {
        const struct axis_list *l = inner[o->layout == LAYOUT_MN_MAJOR ? 1 - i : i],
                               whole = {1, {t->view->cut ? t->view->cut->whole : -1}};
        out.extents[i] = size_expr(a, k, l != mn && t->view->cut ? &whole : l, -1); /* 0 behind the last slice's end */
        out.strides[i] = l->n ? poly_expr(a, g, t, &t->view->stride[tensor_axis(t, l->axes[l->n - 1])])
                              : size_expr(a, k, &m->segment->k, -1); /* of one row */
        out.box[i] = i ? MAP_BOX : MAP_ROW_BYTES * 8 / fx_dtype_bits(t->dtype);
    }
    for (int i = 0; i < n; i++) {
        out.extents[MAP_INNER + i] = size_expr(a, k, map_axis_labels(shape, m->segment, &axes[i]), axes[i].label);
        out.strides[MAP_INNER + i] = poly_expr(a, g, t, &t->view->stride[tensor_axis(t, axes[i].axis)]);
        out.box[MAP_INNER + i] = 1;
    }
    if (fields > 1) { /* rows are whole words */
        out.offset = words_expr(a, &out.offset, fields);
        out.extents[0] = words_expr(a, &out.extents[0], fields);
        out.box[0] /= fields;
        for (int i = 1; i < out.rank; i++) out.strides[i] = words_expr(a, &out.strides[i], fields);
    }
    if (t->is_split) {
        struct terms parts = {.a = a}, apart = {.a = a};
        terms_constant(&parts, t->is_halved ? HALVED_PARTS : SPLIT_PARTS);
        terms_size(&apart, k, t->axes, t->n_axes);
        out.extents[out.rank] = terms_done(&parts);
        out.strides[out.rank] = terms_done(&apart);
        out.box[out.rank++] = 1;
    }
    if (t->is_halved) set_halved_strides(a, k, t, axes, n, &out);
    return out;
}

/* n first, then m, then the others. */
static struct fx_map build_store_map(struct arena *a, const struct scheduled_graph *c, const struct gemm_shape *shape,
    const struct store *s) {
    const struct graph *g = c->graph;
    struct tensor t = tensor_of_store(g, c->partition, s);
    const struct axis_list *inner[MAP_INNER] = {&shape->n, &shape->m};
    struct map_axis axes[MAX_MAP_AXES];
    add_view(g, &t);
    int n = map_axes(g, shape, NULL, &t, axes);
    struct fx_map out = {
        .base = t.param >= 0 ? (struct fx_arg){FX_ARG_PARAM, t.param} : (struct fx_arg){FX_ARG_BUFFER, t.buffer},
        .dtype = t.dtype,
        .is_stored = true,
        .offset = poly_expr(a, g, &t, &t.view->offset),
        .rank = MAP_INNER + n};
    for (int i = 0; i < MAP_INNER; i++) {
        out.extents[i] = size_expr(a, g->kernel, inner[i], -1);
        out.strides[i] = poly_expr(a, g, &t, &t.view->stride[tensor_axis(&t, inner[i]->axes[inner[i]->n - 1])]);
        out.box[i] = i ? MAP_STORED_ROWS : MAP_ROW_BYTES * 8 / fx_dtype_bits(t.dtype);
    }
    for (int i = 0; i < n; i++) {
        out.extents[MAP_INNER + i] =
            size_expr(a, g->kernel, map_axis_labels(shape, NULL, &axes[i]), axes[i].label);
        out.strides[MAP_INNER + i] = poly_expr(a, g, &t, &t.view->stride[tensor_axis(&t, axes[i].axis)]);
        out.box[MAP_INNER + i] = 1;
    }
    return out;
}

struct fx_map plan_map(struct arena *a, const struct scheduled_graph *c, const struct map *m) {
    return m->store              ? build_store_map(a, c, m->shape, m->store)
           : m->operand->window ? build_im2col(a, c, m)
                                : build_map(a, c, m);
}
