/* Expressions over extents for the configurations of a launch: grids, clusters, costs, and which one is preferred.
 *
 * In: a launch of a unit, scheduled. Out: postfix expressions of the plan. The preferred configuration is an expression
 * too: the number of tiles per SM times the cost of a tile, compared with that of every other configuration of the same
 * alignment. */
#include <math.h>

#include "plan/launch.h"
#include "schedule/bins.h"
#include "schedule/chain_program.h"
#include "schedule/row_program.h"

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
bool launch_is_beside(const struct launch *l, const struct config *f) {
    return l->n_beside > 1 && (f->takes_maps || f->is_skinny);
}

bool launch_takes_maps(const struct launch *phases, int n, int v) {
    bool takes = false;
    for (int i = 0; i < n; i++) takes |= phases[i].kernel->configs[v].takes_maps;
    return takes;
}

/* Tiles of a contraction, or of all those beside it; where clusters share operands, as many at a time. */
static void tiles(struct terms *x, const struct kernel *k, const struct launch *l, const struct config *f) {
    const struct gemm_shape *s = &l->kernel->gemm;
    const int v = (int)(f - l->kernel->configs), n = launch_is_beside(l, f) ? l->n_beside : 1;
    terms_size(x, k, s->m.axes, s->m.n);
    terms_constant(x, f->tile_m * (f->cluster_m ? f->cluster_m : 1));
    terms_op(x, FX_T_CDIV);
    for (int i = 0; i < n; i++) {
        const struct launch *each = n > 1 ? &l->beside[i] : l;
        terms_size(x, k, each->kernel->gemm.n.axes, each->kernel->gemm.n.n);
        if (each->kernel->chain && each->kernel->chain->stores_rows && !f->takes_maps && !f->piece) {
            /* where there are no columns rows have results all the same */
            terms_constant(x, 1);
            terms_op(x, FX_T_MAX);
        }
        terms_constant(x, n > 1 ? each->kernel->configs[v].tile_n : f->tile_n * (f->cluster_n ? f->cluster_n : 1));
        terms_op(x, FX_T_CDIV);
        if (i) terms_op(x, FX_T_ADD);
    }
    terms_op(x, FX_T_MUL);
    if (!s->batch.n) return;
    terms_size(x, k, s->batch.axes, s->batch.n);
    terms_op(x, FX_T_MUL);
}

void launch_grid(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
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
        if (l->kernel->parts && row_stage_reads(l->kernel->row, &l->kernel->row->stages[l->kernel->pass])) {
            row_parts(x, k, l->kernel);
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
    if (f->at_once) { /* a divisor of its last label of rows */
        terms_constant(x, f->at_once);
        terms_op(x, FX_T_CDIV);
    }
    terms_constant(x, f->tile_n / f->vector);
    terms_op(x, FX_T_CDIV);
}

/* Tiles, as many times as `of` says, are no more than so many in `among` of the SMs. */
static void fits(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f,
    int of, int among) {
    launch_grid(x, c, l, f);
    terms_constant(x, of);
    terms_op(x, FX_T_MUL);
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_constant(x, among);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_LE);
}

/* arch_cluster_blocks as a formula: of the SMs of the GPU that launches. */
void launch_cluster(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    terms_constant(x, 1);
    launch_grid(x, c, l, f);
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
    for (int i = 0; i < N_CLUSTER_STEPS; i++) {
        fits(x, c, l, f, arch_cluster_steps[i].of_tiles, arch_cluster_steps[i].of_sms);
        terms_constant(x, arch_cluster_steps[i].blocks);
        terms_op(x, FX_T_MUL);
        terms_op(x, FX_T_ADD);
    }
}

/* Times the blocks of the intermediate that a tile of a chain walks over. */
void launch_pieces(
    struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct axis_list *t = &l->kernel->gemm.segments[0].k;
    terms_size(x, c->graph->kernel, t->axes, t->n);
    terms_constant(x, f->piece);
    terms_op(x, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
}

/* Clusters that run at once, of the SMs: those of more than two blocks do not reach every one. */
static void resident_clusters(struct terms *x, int blocks) {
    terms_push(x, FX_T_SM_COUNT, 0);
    if (blocks < 2) return;
    if (blocks > 2) {
        terms_constant(x, 10);
        terms_op(x, FX_T_MUL);
    }
    terms_constant(x, blocks > 2 ? 11 * blocks : blocks);
    terms_op(x, FX_T_DIV);
    terms_constant(x, 1);
    terms_op(x, FX_T_MAX);
}

/* Times the blocks that share an output tile, or those that neighbouring tiles have together. */
static void by_cluster(
    struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    if (f->cluster_m) {
        terms_constant(x, f->cluster_m * f->cluster_n);
        terms_op(x, FX_T_MUL);
    }
    if (f->splits_k) {
        launch_cluster(x, c, l, f);
        terms_op(x, FX_T_MUL);
    }
}

/* The grid of configuration f: blocks that walk over tiles are no more than SMs. */
void launch_blocks(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    launch_grid(x, c, l, f);
    if (f->spread) {
        terms_constant(x, f->spread);
        terms_op(x, FX_T_MUL);
    }
    if (!f->takes_maps && !f->piece) return;
    if (f->piece) launch_pieces(x, c, l, f);
    resident_clusters(x, f->cluster_m * f->cluster_n);
    if (f->piece || (l->kernel->chain && f->min_blocks > 1)) {
        terms_constant(x, f->min_blocks);
        terms_op(x, FX_T_MUL);
    }
    if (f->splits_k) {
        launch_cluster(x, c, l, f);
        terms_op(x, FX_T_DIV);
    }
    terms_op(x, FX_T_MIN);
    by_cluster(x, c, l, f);
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

/* PARTS times the lines that a block of k of one side of a tile takes of the L2 cache, the tile's rows or columns on
 * average as many as all are. */
static void side_lines(
    struct terms *x, const struct kernel *k, const struct gemm_shape *s, const struct segment *e,
    const struct config *f, bool is_a) {
    const struct axis_list *mn = is_a ? &s->m : &s->n, *line = gemm_line_labels(s, e, is_a ? &e->a : &e->b[0], is_a);
    const int below = f->cluster_m ? f->cluster_m : 1, beside = f->cluster_n ? f->cluster_n : 1;
    terms_size(x, k, mn->axes, mn->n);
    terms_constant(x, PARTS * (is_a ? 1 : e->n_sums));
    terms_op(x, FX_T_MUL);
    terms_size(x, k, mn->axes, mn->n);
    terms_constant(x, is_a ? f->tile_m * below : f->tile_n * beside);
    terms_op(x, FX_T_CDIV);
    if (below * beside > 1) {
        terms_constant(x, below * beside);
        terms_op(x, FX_T_MUL);
    }
    terms_op(x, FX_T_CDIV);
    if (!line) return;
    terms_constant(x, 0);
    terms_size(x, k, line->axes, line->n);
    terms_constant(x, f->tile_k);
    terms_op(x, FX_T_MOD);
    terms_op(x, FX_T_LT);
    terms_constant(x, SPLIT_LINE - WHOLE_LINE);
    terms_op(x, FX_T_MUL);
    add_constant(x, WHOLE_LINE);
    terms_op(x, FX_T_MUL);
    terms_constant(x, WHOLE_LINE);
    terms_op(x, FX_T_DIV);
}

static void push_blocks(struct terms *x, const struct kernel *k, const struct segment *e, const struct config *f) {
    terms_size(x, k, e->k.axes, e->k.n);
    terms_constant(x, f->tile_k);
    terms_op(x, FX_T_CDIV);
    if (!e->k_outer.n) return;
    terms_size(x, k, e->k_outer.axes, e->k_outer.n);
    terms_op(x, FX_T_MUL);
}

/* What the L2 cache brings in a cycle. */
static void push_l2_bytes(struct terms *x, const struct scheduled_graph *c, const struct launch *l,
    const struct config *f, const struct segment *e) {
    const struct arch *m = c->graph->cx->arch;
    const int64_t from = gemm_long_blocks(c->graph, l->kernel, e, f);
    terms_constant(x, m->l2_bytes);
    if (!from) return;
    terms_constant(x, from);
    push_blocks(x, c->graph->kernel, e, f);
    launch_grid(x, c, l, f);
    if (f->cluster_m) {
        terms_constant(x, f->cluster_m * f->cluster_n);
        terms_op(x, FX_T_MUL);
    }
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_LE);
    terms_constant(x, gemm_long_l2_bytes(m) - m->l2_bytes);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_ADD);
}

/* The same of a configuration that the L2 cache feeds: the formula of gemm_price.c. */
static void fed_cost(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    const struct gemm_shape *s = &l->kernel->gemm;
    for (int i = 0; i < s->n_segments; i++) {
        const struct segment *e = segment_by_maps(&s->segments[i]);
        side_lines(x, k, s, e, f, true);
        side_lines(x, k, s, e, f, false);
        terms_op(x, FX_T_ADD);
        launch_grid(x, c, l, f);
        by_cluster(x, c, l, f);
        terms_push(x, FX_T_SM_COUNT, 0);
        terms_op(x, FX_T_MIN);
        terms_constant(x, LEAST_FED);
        terms_op(x, FX_T_MAX);
        terms_op(x, FX_T_MUL);
        terms_constant(x, MAP_LINE);
        terms_op(x, FX_T_MUL);
        push_l2_bytes(x, c, l, f, e);
        terms_op(x, FX_T_DIV);
        terms_constant(x, llround(PARTS * 2.0 * f->tile_m * f->tile_n * e->n_sums * f->tile_k / f->rate));
        terms_op(x, FX_T_MAX);
        push_blocks(x, k, e, f);
        terms_op(x, FX_T_MUL);
        if (i) terms_op(x, FX_T_ADD);
    }
    if (f->splits_k) {
        launch_cluster(x, c, l, f);
        terms_op(x, FX_T_CDIV);
    }
    add_constant(x, llround(PARTS * (f->of_tile + f->exchange)));
}

/* Times the elements of the intermediate that a tile of a chain walks over: whole blocks, and what else it takes. */
static void walked_inner(
    struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    if (!f->inner) return;
    const struct axis_list *t = &l->kernel->gemm.segments[0].k;
    terms_size(x, c->graph->kernel, t->axes, t->n);
    terms_constant(x, f->inner);
    terms_op(x, FX_T_CDIV);
    terms_constant(x, f->inner);
    terms_op(x, FX_T_MUL);
    if (f->beside) {
        terms_constant(x, f->beside);
        terms_op(x, FX_T_ADD);
    }
    terms_op(x, FX_T_MUL);
}

/* Tiles the busiest SM does, times what a tile costs; where epilogues are priced apart, as gemm_price.c has it. */
static void cost(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    const struct gemm_shape *s = &l->kernel->gemm;
    int64_t epilogue = llround(PARTS * f->epilogue);
    launch_grid(x, c, l, f);
    if (f->piece) { /* shared out evenly */
        terms_constant(x, (int64_t)llround(1000.0 * f->tile_m * f->tile_n / f->rate));
        terms_op(x, FX_T_MUL);
        walked_inner(x, c, l, f);
        terms_push(x, FX_T_SM_COUNT, 0);
        terms_op(x, FX_T_CDIV);
        return;
    }
    if (f->splits_k) {
        launch_cluster(x, c, l, f);
        terms_op(x, FX_T_MUL);
    }
    resident_clusters(x, f->cluster_m * f->cluster_n);
    int at_once = l->kernel->chain && f->takes_maps ? f->min_blocks : 1;
    if (at_once > 1) {
        terms_constant(x, at_once);
        terms_op(x, FX_T_MUL);
    }
    terms_op(x, FX_T_CDIV);
    if (f->is_fed) {
        fed_cost(x, c, l, f);
        terms_op(x, FX_T_MUL);
        add_constant(x, llround(PARTS * f->at_end));
        return;
    }
    if (!epilogue) {
        terms_constant(x, (int64_t)llround(1000.0 * at_once * f->tile_m * f->tile_n / f->rate));
        terms_op(x, FX_T_MUL);
        walked_inner(x, c, l, f);
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
        if (f->splits_k) {
            launch_cluster(x, c, l, f);
            terms_op(x, FX_T_CDIV);
            add_constant(x, llround(PARTS * f->exchange));
        }
    }
    terms_op(x, FX_T_MUL);
    if (f->hides_epilogue) add_constant(x, epilogue);
    if (f->splits_k) add_constant(x, llround(PARTS * f->at_end));
}

/* Whether some configurations take no more than so much k, and are preferred where they do. */
static bool has_limits(const struct launch *l) {
    bool any = false;
    for (int i = 0; i < l->kernel->n_configs; i++) any |= l->kernel->configs[i].most_k > 0;
    return any;
}

/* Where configurations are chosen by what they cost alone, that. */
struct fx_expr launch_costs(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    int n_of_kind = 0;
    for (int i = 0; i < l->kernel->n_configs; i++) n_of_kind += kind_of(&l->kernel->configs[i]) == kind_of(f);
    if (l->kernel->group->contraction && !f->is_skinny && !has_limits(l) && n_of_kind > 1) cost(&x, c, l, f);
    return terms_done(&x);
}

/* The labels of l have at least so many elements together. */
static void need_at_least(struct terms *x, int *n, const struct kernel *k, const struct axis_list *l, int least) {
    int from = x->n;
    terms_constant(x, least);
    terms_size(x, k, l->axes, l->n);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* There are as many blocks for an SM as a configuration of rows wants, in quarters. */
static void need_grid(
    struct terms *x, int *n, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    int from = x->n;
    terms_push(x, FX_T_SM_COUNT, 0);
    if (f->wants_grid != 4) {
        terms_constant(x, f->wants_grid % 4 ? f->wants_grid : f->wants_grid / 4);
        terms_op(x, FX_T_MUL);
    }
    launch_blocks(x, c, l, f);
    if (f->wants_grid % 4) {
        terms_constant(x, 4);
        terms_op(x, FX_T_MUL);
    }
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* There are no more tiles than so many for each SM. */
static void need_few(
    struct terms *x, int *n, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    int from = x->n;
    launch_grid(x, c, l, f);
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_constant(x, f->wants_few);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* Or there are more than `most` elements; nothing where that is 0. */
static void or_more_than(struct terms *x, const struct kernel *k, const struct axis_list *l, int most) {
    if (!most) return;
    terms_constant(x, most);
    terms_size(x, k, l->axes, l->n);
    terms_op(x, FX_T_LT);
    terms_op(x, FX_T_OR);
}

/* f costs no more than `other`; has_most: or there is more of m, n or the intermediate than that takes. */
static void need_cheaper(struct terms *x, int *n, const struct scheduled_graph *c, const struct launch *l,
    const struct config *f, const struct config *other, bool has_most) {
    int from = x->n;
    cost(x, c, l, f);
    cost(x, c, l, other);
    terms_op(x, FX_T_LE);
    if (has_most) {
        or_more_than(x, c->graph->kernel, &l->kernel->gemm.m, other->most_m);
        or_more_than(x, c->graph->kernel, &l->kernel->gemm.n, other->most_n);
        or_more_than(x, c->graph->kernel, &l->kernel->gemm.segments[0].k, other->most_t);
    }
    terms_also(x, n, from);
}

struct fx_expr launch_prefers(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    const struct kernel *k = c->graph->kernel;
    int n = 0;
    if (l->kernel->row && f->suits_cols) need_at_most(&x, &n, k, &l->kernel->row->cols, f->suits_cols);
    if (l->kernel->row && f->wants_grid) need_grid(&x, &n, c, l, f);
    if (l->kernel->row && f->from_cols) need_at_least(&x, &n, k, &l->kernel->row->cols, f->from_cols);
    if (f->from_k) need_at_least(&x, &n, k, &l->kernel->gemm.segments[0].k, f->from_k);
    if (f->from_wide) {
        const struct gemm_shape *shape = &l->kernel->gemm;
        need_at_least(&x, &n, k, f->swaps ? &shape->m : &shape->n, f->from_wide);
    }
    if (f->few) {
        int from = x.n;
        fits(&x, c, l, f, f->few, 1);
        terms_also(&x, &n, from);
    }
    if (f->wants_few) need_few(&x, &n, c, l, f);
    for (int i = 0; has_limits(l) && i < l->kernel->n_configs; i++) {
        const struct config *other = &l->kernel->configs[i];
        bool takes_less = (f->most_k == 0) != (other->most_k == 0) ||
                          other->most_k < f->most_k; /* where it takes what there is, it is faster */
        /* The first that is preferred is taken: one before f that costs less is, unless it is passed over. */
        if (other > f && kind_of(other) == kind_of(f) && !takes_less) need_cheaper(&x, &n, c, l, f, other, true);
    }
    for (int i = 0; l->kernel->gemm.is_whole && f->stores_any && f->takes_maps && i < l->kernel->n_configs; i++)
        if (kind_of(&l->kernel->configs[i]) == KIND_ANY) /* what takes anything may be faster */
            need_cheaper(&x, &n, c, l, f, &l->kernel->configs[i], false);
    if (x.is_never) { /* of constant extents: taken where nothing else can be */
        x.n = 0;
        terms_constant(&x, 0);
    }
    return terms_done(&x);
}
