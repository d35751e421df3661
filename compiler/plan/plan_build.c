/* The launch recipe of everything emitted: arguments, grids, conditions, sizes, as plain data over extents.
 *
 * In: the kernels of a file, scheduled and named. Out: the plan; what a variant needs comes from plan_need.c. Which
 * configuration is preferred is itself an expression: tiles an SM has to do, times what a tile costs, beside that of
 * every other configuration of the same alignment. */
#include <math.h>
#include <string.h>

#include "schedule/bins.h"
#include "schedule/chain_program.h"
#include "graph/operand.h"
#include "plan/unit.h"
#include "schedule/im2col.h"
#include "schedule/row_program.h"
#include "schedule/traffic.h"
#include "schedule/wgmma.h"

/* ---- grids and preference ---- */

/* A block for each part, tile and batch; of the second launch one for 32 sums. */
static void bins_grid(struct terms *x, const struct kernel *k, const struct scheduled *s, const struct config *f) {
    const struct bins *b = s->bins;
    terms_size(x, k, s->pass ? s->row->rows.axes : &b->axis, s->pass ? s->row->rows.n : 1);
    terms_constant(x, s->pass ? 32 : f->tile_m);
    terms_op(x, FX_T_CDIV);
    if (!s->pass) {
        terms_size(x, k, b->cols.axes, b->cols.n);
        terms_constant(x, f->tile_n);
        terms_op(x, FX_T_CDIV);
        terms_op(x, FX_T_MUL);
        terms_size(x, k, b->batch.axes, b->batch.n);
        terms_op(x, FX_T_MUL);
        bins_parts(x, k, b, &s->row->rows);
        terms_op(x, FX_T_MUL);
    }
    terms_constant(x, 1 << 30);
    terms_op(x, FX_T_MIN);
}

/* Whether entries of l's configuration f compute the tiles of several contractions beside each other. */
static bool is_beside(const struct launch *l, const struct config *f) {
    return l->n_beside > 1 && (f->takes_maps || f->is_skinny);
}

/* Tiles of a contraction, or of all those beside it. */
static void tiles(struct terms *x, const struct kernel *k, const struct launch *l, const struct config *f) {
    const struct gemm_shape *s = &l->kernel->gemm;
    const int v = (int)(f - l->kernel->configs), n = is_beside(l, f) ? l->n_beside : 1;
    terms_size(x, k, s->m.axes, s->m.n);
    terms_constant(x, f->tile_m);
    terms_op(x, FX_T_CDIV);
    for (int i = 0; i < n; i++) {
        const struct launch *each = n > 1 ? &l->beside[i] : l;
        terms_size(x, k, each->kernel->gemm.n.axes, each->kernel->gemm.n.n);
        terms_constant(x, n > 1 ? each->kernel->configs[v].tile_n : f->tile_n);
        terms_op(x, FX_T_CDIV);
        if (i) terms_op(x, FX_T_ADD);
    }
    terms_op(x, FX_T_MUL);
    if (!s->batch.n) return;
    terms_size(x, k, s->batch.axes, s->batch.n);
    terms_op(x, FX_T_MUL);
}

static void grid(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    if (l->kernel->group->contraction) {
        tiles(x, k, l, f);
        return;
    }
    if (l->kernel->row && l->kernel->row->run) {
        terms_size(x, k, l->kernel->row->runs.axes, l->kernel->row->runs.n);
        terms_constant(x, 1 << 30);
        terms_op(x, FX_T_MIN);
        return;
    }
    if (l->kernel->bins) {
        bins_grid(x, k, l->kernel, f);
        return;
    }
    if (l->kernel->row) {
        terms_size(x, k, l->kernel->row->rows.axes, l->kernel->row->rows.n);
        terms_constant(x, f->tile_m);
        terms_op(x, FX_T_CDIV);
        if (l->kernel->parts) {
            terms_constant(x, l->kernel->parts);
            terms_op(x, FX_T_MUL);
        }
        terms_constant(x, f->spread ? (1 << 30) / f->spread : 1 << 30);
        terms_op(x, FX_T_MIN);
        return;
    }
    const struct pointwise_shape *s = &l->kernel->pointwise;
    if (f->tile_m > 1) {
        terms_size(x, k, s->rows.axes, s->rows.n);
        terms_constant(x, f->tile_m);
        terms_op(x, FX_T_CDIV);
        terms_size(x, k, s->cols.axes, s->cols.n);
        terms_constant(x, f->tile_n);
        terms_op(x, FX_T_CDIV);
        terms_op(x, FX_T_MUL);
        return;
    }
    terms_size(x, k, s->cols.axes, s->cols.n);
    terms_constant(x, f->vector);
    terms_op(x, FX_T_CDIV);
    if (s->rows.n) {
        terms_size(x, k, s->rows.axes, s->rows.n);
        terms_op(x, FX_T_MUL);
    }
    terms_constant(x, f->tile_n / f->vector);
    terms_op(x, FX_T_CDIV);
}

/* Tiles, as many times as `of` says, are no more than so many in `among` of the SMs. */
static void fits(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f,
    int of, int among) {
    grid(x, c, l, f);
    terms_constant(x, of);
    terms_op(x, FX_T_MUL);
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_constant(x, among);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_LE);
}

/* Blocks of a cluster, as arch_cluster_blocks has them, of the SMs that there are. */
static void cluster(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    terms_constant(x, 1);
    grid(x, c, l, f);
    terms_constant(x, 1);
    terms_op(x, FX_T_SUB);
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_op(x, FX_T_MOD);
    terms_constant(x, 2);
    terms_op(x, FX_T_MUL);
    terms_constant(x, 1);
    terms_op(x, FX_T_ADD);
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_op(x, FX_T_LT);
    terms_op(x, FX_T_ADD);
    for (int more = 2; more <= 4; more *= 2) {
        fits(x, c, l, f, 22 * more, 10);
        terms_constant(x, more);
        terms_op(x, FX_T_MUL);
        terms_op(x, FX_T_ADD);
    }
}

/* Times the blocks of the intermediate that a tile of a chain walks over. */
static void all_pieces(
    struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct axis_list *t = &l->kernel->gemm.segments[0].k;
    terms_size(x, c->graph->kernel, t->axes, t->n);
    terms_constant(x, f->piece);
    terms_op(x, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
}

/* The grid of configuration f: blocks that walk over tiles are no more than SMs. */
static void blocks(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    grid(x, c, l, f);
    if (f->spread) {
        terms_constant(x, f->spread);
        terms_op(x, FX_T_MUL);
    }
    if (!f->takes_maps) return;
    if (f->piece) all_pieces(x, c, l, f);
    terms_push(x, FX_T_SM_COUNT, 0);
    if (f->piece) {
        terms_constant(x, f->min_blocks);
        terms_op(x, FX_T_MUL);
    }
    if (f->splits_k) {
        cluster(x, c, l, f);
        terms_op(x, FX_T_DIV);
    }
    terms_op(x, FX_T_MIN);
    if (f->splits_k) {
        cluster(x, c, l, f);
        terms_op(x, FX_T_MUL);
    }
}

enum { PARTS = 16 }; /* of a cycle, in which tiles are priced */

static void add_constant(struct terms *x, int64_t v) {
    terms_constant(x, v);
    terms_op(x, FX_T_ADD);
}

/* The mainloop of a tile: all the k of every sum. */
static void tile_cost(struct terms *x, const struct kernel *k, const struct gemm_shape *s, const struct config *f) {
    for (int i = 0; i < s->n_segments; i++) {
        const struct segment *e = &s->segments[i];
        terms_size(x, k, e->k.axes, e->k.n);
        if (e->n_sums > 1) {
            terms_constant(x, e->n_sums);
            terms_op(x, FX_T_MUL);
        }
        if (e->k_outer.n) {
            terms_size(x, k, e->k_outer.axes, e->k_outer.n);
            terms_op(x, FX_T_MUL);
        }
        if (i) terms_op(x, FX_T_ADD);
    }
    terms_constant(x, (int64_t)llround(PARTS * 2.0 * f->tile_m * f->tile_n / f->rate));
    terms_op(x, FX_T_MUL);
}

/* Tiles the busiest SM does, times what a tile costs; where epilogues are priced apart, by the formula of gemm.c. */
static void cost(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    const struct gemm_shape *s = &l->kernel->gemm;
    int64_t epilogue = llround(PARTS * f->epilogue);
    grid(x, c, l, f);
    if (f->piece) { /* shared out evenly */
        terms_constant(x, (int64_t)llround(1000.0 * f->tile_m * f->tile_n / f->rate));
        terms_op(x, FX_T_MUL);
        terms_push(x, FX_T_SM_COUNT, 0);
        terms_op(x, FX_T_CDIV);
        return;
    }
    if (f->splits_k) {
        cluster(x, c, l, f);
        terms_op(x, FX_T_MUL);
    }
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_op(x, FX_T_CDIV);
    if (!epilogue) {
        terms_constant(x, (int64_t)llround(1000.0 * f->tile_m * f->tile_n / f->rate));
        terms_op(x, FX_T_MUL);
        return;
    }
    tile_cost(x, k, s, f);
    if (f->hides_epilogue) {
        tile_cost(x, k, s, f);
        add_constant(x, epilogue);
        terms_constant(x, 2);
        terms_op(x, FX_T_CDIV);
        terms_op(x, FX_T_MAX);
    } else {
        add_constant(x, epilogue);
    }
    if (f->splits_k) {
        cluster(x, c, l, f);
        terms_op(x, FX_T_CDIV);
        add_constant(x, llround(PARTS * f->exchange));
    }
    terms_op(x, FX_T_MUL);
    if (f->hides_epilogue) add_constant(x, epilogue);
}

/* Whether some configurations take no more than so much k, and are preferred where they do. */
static bool has_limits(const struct launch *l) {
    bool any = false;
    for (int i = 0; i < l->kernel->n_configs; i++) any |= l->kernel->configs[i].most_k > 0;
    return any;
}

/* Where configurations are chosen by what they cost alone, that. */
static struct fx_expr costs(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    int n_of_kind = 0;
    for (int i = 0; i < l->kernel->n_configs; i++) n_of_kind += kind_of(&l->kernel->configs[i]) == kind_of(f);
    if (l->kernel->group->contraction && !f->is_skinny && !has_limits(l) && n_of_kind > 1) cost(&x, c, l, f);
    return terms_done(&x);
}

static struct fx_expr prefers(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    int n = 0;
    if (l->kernel->row && f->suits_cols) need_at_most(&x, &n, c->graph->kernel, &l->kernel->row->cols, f->suits_cols);
    if (l->kernel->row && f->wants_grid) {
        int from = x.n;
        terms_push(&x, FX_T_SM_COUNT, 0);
        blocks(&x, c, l, f);
        terms_op(&x, FX_T_LE);
        terms_also(&x, &n, from);
    }
    if (l->kernel->row && f->from_cols) {
        int from = x.n;
        terms_constant(&x, f->from_cols);
        terms_size(&x, c->graph->kernel, l->kernel->row->cols.axes, l->kernel->row->cols.n);
        terms_op(&x, FX_T_LE);
        terms_also(&x, &n, from);
    }
    if (f->few) {
        int from = x.n;
        fits(&x, c, l, f, f->few, 1);
        terms_also(&x, &n, from);
    }
    if (f->wants_few) {
        int from = x.n;
        grid(&x, c, l, f);
        terms_push(&x, FX_T_SM_COUNT, 0);
        terms_constant(&x, f->wants_few);
        terms_op(&x, FX_T_MUL);
        terms_op(&x, FX_T_LE);
        terms_also(&x, &n, from);
    }
    for (int i = 0; has_limits(l) && i < l->kernel->n_configs; i++) {
        const struct config *other = &l->kernel->configs[i];
        bool takes_less = (f->most_k == 0) != (other->most_k == 0) ||
                          other->most_k < f->most_k; /* where it takes what there is, it is faster */
        if (other == f || kind_of(other) != kind_of(f) || takes_less) continue;
        int from = x.n;
        cost(&x, c, l, f);
        cost(&x, c, l, other);
        terms_op(&x, FX_T_LE);
        if (other->most_m) { /* there may be more rows than it takes */
            terms_constant(&x, other->most_m);
            terms_size(&x, c->graph->kernel, l->kernel->gemm.m.axes, l->kernel->gemm.m.n);
            terms_op(&x, FX_T_LT);
            terms_op(&x, FX_T_OR);
        }
        terms_also(&x, &n, from);
    }
    for (int i = 0; l->kernel->gemm.is_whole && f->stores_any && f->takes_maps && i < l->kernel->n_configs; i++) {
        if (kind_of(&l->kernel->configs[i]) != KIND_ANY) continue; /* what takes anything may be faster */
        int from = x.n;
        cost(&x, c, l, f);
        cost(&x, c, l, &l->kernel->configs[i]);
        terms_op(&x, FX_T_LE);
        terms_also(&x, &n, from);
    }
    if (x.is_never) { /* of constant extents: taken where nothing else can be */
        x.n = 0;
        terms_constant(&x, 0);
    }
    return terms_done(&x);
}

/* ---- work ---- */

static void add_bytes(struct terms *x, const struct kernel *k, const struct tensor *t, int *n) {
    terms_size(x, k, t->axes, t->n_axes);
    terms_constant(x, tensor_bits(t) / 8);
    terms_op(x, FX_T_MUL);
    if ((*n)++) terms_op(x, FX_T_ADD);
}

/* What phases read, or write, one after another. */
static void add_traffic(struct terms *x, const struct fx_expr *e, int *n) {
    if (e->n == 1 && e->terms[0].op == FX_T_CONST && e->terms[0].v == 0) return;
    for (int i = 0; i < e->n; i++) terms_push(x, e->terms[i].op, e->terms[i].v);
    if (e->n && (*n)++) terms_op(x, FX_T_ADD);
}

static struct fx_expr written(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    if (n_phases == 1) return traffic_written(c->graph, c->partition, phases->kernel);
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr e = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &e, &n);
    }
    return terms_done(&x);
}

/* What contractions beside each other have in common is read once. */
static void subtract_shared(struct terms *x, const struct kernel *k, const struct operand *a) {
    const struct tensor *t = a->window ? &a->window->tensor : &a->tensor;
    terms_size(x, k, t->axes, t->n_axes);
    terms_constant(x, tensor_bits(t) / 8);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_SUB);
}

/* Read and written, of one launch or of all its phases. */
static struct fx_expr bytes(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr in = traffic_read(c->graph, c->partition, phases[p].kernel),
                       out = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &in, &n);
        if (p && phases[p].n_beside) subtract_shared(&x, c->graph->kernel, &phases[p].kernel->gemm.segments[0].a);
        add_traffic(&x, &out, &n);
    }
    return terms_done(&x);
}

/* Multiply-adds of contractions, two each, of a chain's first ones as often as its middle is walked over; pointwise
 * work is not counted. */
static struct fx_expr flops(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n_terms = 0;
    for (int i = 0; i < n_phases; i++) {
        const struct group *r = phases[i].kernel->group;
        for (int j = 0; j < r->n_sums; j++) {
            const struct node *n = r->sums[j].sum;
            bool is_walked = phases[i].kernel->chain && n != r->contraction;
            terms_constant(&x, is_walked ? 2 * phases[i].kernel->chain->n_passes : 2);
            terms_size(&x, c->graph->kernel, n->axes, n->n_axes);
            terms_op(&x, FX_T_MUL);
            terms_size(&x, c->graph->kernel, n->reduced, n->n_reduced);
            terms_op(&x, FX_T_MUL);
            if (n_terms++) terms_op(&x, FX_T_ADD);
        }
    }
    return terms_done(&x);
}

/* ---- the parts ---- */

/* Joins the condition that the tiles of a contraction can be counted in 31 bits. */
static void need_tiles(
    struct terms *x, int *n, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    int from = x->n;
    grid(x, c, l, f);
    if (f->piece) all_pieces(x, c, l, f);
    terms_constant(x, INT32_MAX);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* What every phase of entry v needs. The tiles of a contraction are counted in 31 bits; of one that is launched alone
 * with a block for every tile, the grid sees to that. */
static struct terms phases_needs(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = schedule_needs(a, c, phases->kernel, &phases->kernel->configs[v]);
    int n = x.n > 0;
    if (n_phases == 1) {
        const struct config *f = &phases->kernel->configs[v];
        if (f->takes_maps) need_tiles(&x, &n, c, phases, f);
        return x;
    }
    for (int p = 0; p < n_phases; p++) {
        const struct config *f = &phases[p].kernel->configs[v];
        struct terms more = schedule_needs(a, c, phases[p].kernel, f);
        int from = x.n;
        for (int i = 0; p && i < more.n; i++) terms_push(&x, more.t[i].op, more.t[i].v);
        x.is_never |= more.is_never;
        if (x.n > from) terms_also(&x, &n, from);
        if (phases[p].kernel->group->contraction && !(p && is_beside(phases, f))) need_tiles(&x, &n, c, &phases[p], f);
    }
    return x;
}

/* Blocks of entry v: those its largest phase has work for, and where there are several no more than are resident at
 * once, nor more on an SM than the tiles of a contraction need: fewer blocks are spread over all SMs. */
static struct fx_expr phases_grid(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = {.a = a};
    if (n_phases == 1 || is_beside(phases, &phases->kernel->configs[v])) {
        blocks(&x, c, phases, &phases->kernel->configs[v]);
        return terms_done(&x);
    }
    for (int p = 0; p < n_phases; p++) {
        grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        if (p) terms_op(&x, FX_T_MAX);
    }
    bool is_tiled = false;
    terms_push(&x, FX_T_SM_COUNT, 0);
    terms_constant(&x, phases->kernel->configs[v].min_blocks);
    for (int p = 0; p < n_phases && phases->kernel->configs[v].min_blocks > 1; p++) {
        if (!phases[p].kernel->group->contraction) continue;
        if (!is_tiled) terms_constant(&x, 1); /* where there is no tile, there may be rows */
        grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        terms_push(&x, FX_T_SM_COUNT, 0);
        terms_op(&x, FX_T_CDIV);
        terms_op(&x, FX_T_MAX);
        is_tiled = true;
    }
    if (is_tiled) terms_op(&x, FX_T_MIN);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_MIN);
    return terms_done(&x);
}

/* ---- tensor maps ---- */

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

/* Channels, then what pixels go along, then images. */
static struct fx_map build_im2col(struct arena *a, const struct scheduled_graph *c, const struct map *m) {
    const struct graph *g = c->graph;
    const struct tensor *t = &m->operand->window->tensor;
    const struct axis_list *mn = m->is_a ? &m->shape->m : &m->shape->n;
    const char *ignored;
    struct im2col v;
    im2col_of(g, m->segment, m->operand, mn, &v, &ignored);
    struct fx_map out = {
        .base = t->param >= 0 ? (struct fx_arg){FX_ARG_PARAM, t->param} : (struct fx_arg){FX_ARG_BUFFER, t->buffer},
        .dtype = t->dtype,
        .offset = poly_expr(a, g, t, &t->view->offset),
        .rank = 2 + v.n_spatial,
        .box = {MAP_ROW_BYTES * 8 / fx_dtype_bits(t->dtype), MAP_BOX},
        .is_im2col = true};
    struct axis_list images = *mn;
    images.n = v.n_images;
    out.extents[0] = size_expr(a, g->kernel, &m->segment->k, -1);
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
    return out;
}

/* k and m or n, whichever is contiguous first, then the others. */
static struct fx_map build_map(struct arena *a, const struct scheduled_graph *c, const struct map *m) {
    const struct graph *g = c->graph;
    const struct gemm_shape *shape = m->shape;
    const struct kernel *k = g->kernel;
    const struct operand *o = m->operand;
    const struct tensor *t = &o->tensor;
    const struct axis_list *mn = m->is_a ? &shape->m : &shape->n, *inner[MAP_INNER] = {&m->segment->k, mn};
    struct map_axis axes[MAX_MAP_AXES];
    int n = map_axes(g, shape, m->segment, t, axes);
    struct fx_map out = {
        .base = t->param >= 0 ? (struct fx_arg){FX_ARG_PARAM, t->param} : (struct fx_arg){FX_ARG_BUFFER, t->buffer},
        .dtype = shape->is_whole ? FX_U32 : t->dtype, /* words, not rounded */
        .offset = poly_expr(a, g, t, &t->view->offset),
        .rank = MAP_INNER + n,
        .is_tail = m->is_tail};
    for (int i = 0; i < MAP_INNER; i++) {
        const struct axis_list *l = inner[o->layout == LAYOUT_MN_MAJOR ? 1 - i : i];
        out.extents[i] = size_expr(a, k, l, -1);
        out.strides[i] = poly_expr(a, g, t, &t->view->stride[tensor_axis(t, l->axes[l->n - 1])]);
        out.box[i] = i ? MAP_BOX : MAP_ROW_BYTES * 8 / fx_dtype_bits(t->dtype);
    }
    for (int i = 0; i < n; i++) {
        out.extents[MAP_INNER + i] = size_expr(a, k, map_axis_labels(shape, m->segment, &axes[i]), axes[i].label);
        out.strides[MAP_INNER + i] = poly_expr(a, g, t, &t->view->stride[tensor_axis(t, axes[i].axis)]);
        out.box[MAP_INNER + i] = 1;
    }
    if (t->is_split) {
        struct terms parts = {.a = a}, apart = {.a = a};
        terms_constant(&parts, SPLIT_PARTS);
        terms_size(&apart, k, t->axes, t->n_axes);
        out.extents[out.rank] = terms_done(&parts);
        out.strides[out.rank] = terms_done(&apart);
        out.box[out.rank++] = 1;
    }
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

static const char *phases_config(struct arena *a, const struct launch *phases, int n_phases, int v) {
    const char *text = phases->kernel->configs[v].text;
    if (is_beside(phases, &phases->kernel->configs[v]))
        return arena_printf(a, "%d beside each other, %s", n_phases, text);
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s; then %s", text, phases[p].kernel->configs[v].text);
    return text;
}

static const char *phases_driver(struct arena *a, const struct launch *phases, int n_phases) {
    const char *text = phases->kernel->schedule->driver;
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s, %s", text, phases[p].kernel->schedule->driver);
    return text;
}

static void build_launch(struct arena *a, const struct scheduled_graph *c, const struct launch *phases,
    const struct plan_launch *d, struct fx_launch *out) {
    int n = phases->kernel->n_configs;
    struct fx_variant *variants = NEW_ARRAY(a, struct fx_variant, n);
    const struct launch_phases all = {.first = d->first, .n = d->n};
    const struct launch *leader = phases + (phases_leader(c, all) - d->first);
    *out = (struct fx_launch){.name = d->name,
        .driver = phases_driver(a, phases, d->n),
        .flops = flops(a, c, phases, d->n),
        .bytes = bytes(a, c, phases, d->n),
        .written = written(a, c, phases, d->n),
        .n_phases = d->n,
        .is_beside = phases->n_beside > 1,
        .n_args = d->n_args,
        .n_variants = n,
        .args = d->args,
        .n_maps = d->n_maps,
        .variants = variants};
    struct fx_map *maps = NEW_ARRAY(a, struct fx_map, d->n_maps + 1);
    for (int i = 0; i < d->n_maps; i++)
        maps[i] = d->maps[i].store ? build_store_map(a, c, d->maps[i].shape, d->maps[i].store)
                  : d->maps[i].operand->window ? build_im2col(a, c, &d->maps[i])
                                               : build_map(a, c, &d->maps[i]);
    out->maps = maps;
    for (int p = 0; p < d->n; p++) out->is_cooperative |= phases[p].kernel->waits;
    for (int i = 0; i < n; i++) {
        const struct config *f = &phases->kernel->configs[i];
        struct terms smem = {.a = a}, of_cluster = {.a = a}, need = phases_needs(a, c, phases, d->n, i);
        terms_constant(&smem, f->smem_bytes);
        if (f->splits_k) cluster(&of_cluster, c, phases, f);
        if (f->spread) terms_constant(&of_cluster, f->spread);
        variants[i] = (struct fx_variant){.entry = d->entries[i].name,
            .number = d->entries[i].number,
            .config = phases_config(a, phases, d->n, i),
            .needs = terms_done(&need),
            .prefers = prefers(a, c, leader, &leader->kernel->configs[i]),
            .cost = costs(a, c, leader, &leader->kernel->configs[i]),
            .grid = phases_grid(a, c, phases, d->n, i),
            .smem = terms_done(&smem),
            .block = f->block,
            .cluster = terms_done(&of_cluster),
            .takes_maps = f->takes_maps,
            .starts_early = f->starts_early,
            .kind = kind_of(&leader->kernel->configs[i]),
            .most_local = leader->kernel->group->contraction ? leader->kernel->configs[i].most_local : -1};
    }
}

/* Flags of blocks that wait for each other: one for every block that is resident at once. */
static void resident_flags(struct terms *x, const struct scheduled_graph *c) {
    int most = 1;
    for (int i = 0; i < c->n_launches; i++)
        for (int v = 0; c->launches[i].n > 1 && v < c->kernels[c->launches[i].first].n_configs; v++) {
            int blocks = c->kernels[c->launches[i].first].configs[v].min_blocks;
            if (blocks > most) most = blocks;
        }
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_constant(x, most * 8);
    terms_op(x, FX_T_MUL);
}

/* Tallies of a chain: one of the tiles that are taken, one for every batch and a tile's columns, of the least that a
 * configuration has. */
static void tallies(struct terms *x, const struct scheduled_graph *c, const struct launch *l) {
    const struct gemm_shape *s = &l->kernel->gemm;
    int least = INT32_MAX;
    for (int v = 0; v < l->kernel->n_configs; v++) {
        const struct config *f = &l->kernel->configs[v];
        if (f->takes_maps && f->tile_n < least) least = f->tile_n;
    }
    terms_size(x, c->graph->kernel, s->n.axes, s->n.n);
    terms_constant(x, least);
    terms_op(x, FX_T_CDIV);
    if (s->batch.n) {
        terms_size(x, c->graph->kernel, s->batch.axes, s->batch.n);
        terms_op(x, FX_T_MUL);
    }
    terms_constant(x, 1);
    terms_op(x, FX_T_ADD);
    terms_constant(x, 8);
    terms_op(x, FX_T_MUL);
}

/* Pieces of a chain: a count for every tile, and of every block two places of as many rows as a
 * tile has, for its columns' sums and what else is known of a row. None where there are more rows than pieces take. */
static void pieces(struct terms *x, const struct scheduled_graph *c, const struct launch *l) {
    enum { WORDS = 8 }; /* beside those of a row's results: shifts; by driver_chain_pieces.cuh */
    const struct kernel *k = c->graph->kernel;
    const struct gemm_shape *s = &l->kernel->gemm;
    struct config least = {.tile_n = INT32_MAX};
    int n = 0;
    for (int v = 0; v < l->kernel->n_configs; v++) {
        const struct config *f = &l->kernel->configs[v];
        if (!f->piece) continue;
        blocks(x, c, l, f);
        terms_constant(x, 2 * 4 * (int64_t)(f->tile_n + l->kernel->chain->result_words + WORDS));
        terms_op(x, FX_T_MUL);
        if (n++) terms_op(x, FX_T_MAX);
        if (f->tile_n < least.tile_n) least.tile_n = f->tile_n;
        least.tile_m = f->tile_m, least.most_m = f->most_m;
    }
    terms_size(x, k, s->m.axes, s->m.n);
    terms_constant(x, least.tile_m);
    terms_op(x, FX_T_MIN);
    terms_op(x, FX_T_MUL);
    grid(x, c, l, &least);
    terms_constant(x, 2);
    terms_op(x, FX_T_ADD);
    terms_constant(x, 8);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_ADD);
    terms_size(x, k, s->m.axes, s->m.n);
    terms_constant(x, least.most_m);
    terms_op(x, FX_T_LE);
    terms_op(x, FX_T_MUL);
}

/* What all launches need for their flags, one after the other. */
static struct fx_expr flag_bytes(struct arena *a, const struct unit *u, int index) {
    const struct scheduled_graph *c = u->kernels[index];
    struct terms x = {.a = a};
    bool waits = false;
    int n = 0;
    for (int i = 0; i < c->n_kernels; i++) waits |= c->kernels[i].waits;
    if (waits) resident_flags(&x, c), n++;
    for (int i = 0; i < c->n_kernels; i++) {
        const struct launch *l = &u->launches[index][i];
        if (!c->kernels[i].has_flags) continue;
        tallies(&x, c, l);
        if (n++) terms_op(&x, FX_T_MAX);
        if (!chain_in_pieces(l->kernel)) continue;
        pieces(&x, c, l);
        terms_op(&x, FX_T_MAX);
    }
    return terms_done(&x);
}

static struct fx_param build_param(struct cx *cx, const struct param *lying) {
    const struct param *p = lying->signature ? lying->signature : lying;
    struct fx_param out = {.name = p->name,
        .dtype = p->dtype,
        .is_scalar = p->is_scalar,
        .is_input = p->is_input,
        .is_output = p->is_output,
        .is_const = p->is_const,
        .is_strided = p->is_strided,
        .packed = p->packed,
        .align = p->align,
        .below = p->below,
        .has_value = p->has_default,
        .value = p->default_value,
        .rank = p->n_axes,
        .line = span_line(cx, p->ast->span)};
    for (int i = 0; i < p->n_axes; i++) out.extents[i] = p->axes[i];
    return out;
}

/* What a kernel takes and gives, without the recipe: all that the oracle needs. */
static struct fx_kernel build_signature(struct cx *cx, const struct kernel *k) {
    struct arena *a = &cx->arena;
    struct fx_extent *extents = NEW_ARRAY(a, struct fx_extent, k->n_axes + 1);
    struct fx_param *params = NEW_ARRAY(a, struct fx_param, k->n_params + 1);
    struct fx_equation *equations = NEW_ARRAY(a, struct fx_equation, k->n_equations + 1);
    struct fx_check *checks = NEW_ARRAY(a, struct fx_check, k->n_requirements + 1);
    for (int i = 0; i < k->n_axes; i++)
        extents[i] = (struct fx_extent){arena_strndup(a, k->axes[i].name.s, k->axes[i].name.len), k->axes[i].extent};
    for (int i = 0; i < k->n_params; i++) params[i] = build_param(cx, &k->params[i]);
    for (int i = 0; i < k->n_equations; i++)
        equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, k->equations[i].text};
    for (int i = 0; i < k->n_requirements; i++)
        checks[i] = (struct fx_check){
            k->requirements[i].holds, arena_printf(a, "%s (%s, line %d)", k->requirements[i].text, k->name,
                                          span_line(cx, k->requirements[i].span))};
    return (struct fx_kernel){.name = k->name,
        .n_extents = k->n_axes,
        .n_params = k->n_params,
        .n_equations = k->n_equations,
        .n_checks = k->n_requirements,
        .extents = extents,
        .equations = equations,
        .params = params,
        .checks = checks,
        .receipt = ""};
}

static struct fx_kernel build_kernel(struct cx *cx, const struct unit *u, int index) {
    struct arena *a = &cx->arena;
    const struct scheduled_graph *c = u->kernels[index];
    const struct kernel *k = c->graph->kernel;
    struct fx_kernel out = build_signature(cx, k);
    struct fx_buffer *buffers = NEW_ARRAY(a, struct fx_buffer, plan_flags_buffer(c) + 1);
    struct fx_launch *launches = NEW_ARRAY(a, struct fx_launch, c->n_launches + 1);
    for (int i = 0; i < c->partition->n_buffers; i++) {
        struct tensor t = tensor_of_buffer(c->graph, c->partition, i);
        struct terms x = {.a = a};
        int n = 0;
        add_bytes(&x, k, &t, &n);
        buffers[i] = (struct fx_buffer){.name = c->n_kernels ? u->launches[index][0].buffer_names[i] : "",
            .kind = FX_BUFFER_WORKSPACE,
            .bytes = terms_done(&x)};
    }
    for (int i = 0; i < c->n_partials; i++) {
        struct terms x = {.a = a};
        terms_size(&x, k, c->partials[i].rows->axes, c->partials[i].rows->n);
        terms_constant(&x, c->partials[i].words * (int64_t)4);
        terms_op(&x, FX_T_MUL);
        if (c->partials[i].bins) {
            bins_parts(&x, k, c->partials[i].bins, c->partials[i].rows);
            terms_op(&x, FX_T_MUL);
        }
        int at = c->partition->n_buffers + i;
        buffers[at] = (struct fx_buffer){
            .name = u->launches[index][0].buffer_names[at], .kind = FX_BUFFER_WORKSPACE, .bytes = terms_done(&x)};
    }
    int flags = plan_flags_buffer(c);
    if (c->has_flags)
        buffers[flags] = (struct fx_buffer){
            u->launches[index][0].buffer_names[flags], FX_BUFFER_FLAGS, flag_bytes(a, u, index)};
    for (int i = 0; i < c->n_launches; i++)
        build_launch(a, c, u->launches[index] + c->launches[i].first, &u->joined[index][i], &launches[i]);
    out.n_buffers = flags + c->has_flags;
    out.buffers = buffers;
    out.n_launches = c->n_launches;
    out.launches = launches;
    return out;
}

struct fx_plan *plan_signatures(struct cx *cx, const char *file, const struct program *program) {
    struct fx_plan *p = NEW(&cx->arena, struct fx_plan);
    struct fx_kernel *kernels = NEW_ARRAY(&cx->arena, struct fx_kernel, program->n_kernels + 1);
    for (int i = 0; i < program->n_kernels; i++) kernels[i] = build_signature(cx, &program->kernels[i]);
    *p = (struct fx_plan){.file = file,
        .arch = cx->arch->name,
        .sm_count = cx->arch->sms,
        .source = "",
        .n_kernels = program->n_kernels,
        .kernels = kernels};
    return p;
}

struct fx_plan *plan_build(struct cx *cx, const struct unit *u) {
    struct fx_plan *p = NEW(&cx->arena, struct fx_plan);
    struct fx_kernel *kernels = NEW_ARRAY(&cx->arena, struct fx_kernel, u->n_kernels + 1);
    for (int i = 0; i < u->n_kernels; i++) {
        kernels[i] = build_kernel(cx, u, i);
        struct unfused unfused = traffic_unfused(&cx->arena, u->kernels[i]->graph->kernel);
        kernels[i].n_unfused = unfused.n_kernels;
        kernels[i].unfused_bytes = unfused.bytes;
    }
    *p = (struct fx_plan){.file = u->file,
        .arch = cx->arch->name,
        .sm_count = cx->arch->sms,
        .source = "",
        .n_kernels = u->n_kernels,
        .kernels = kernels};
    return p;
}
