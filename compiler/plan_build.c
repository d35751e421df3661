/* The launch recipe of everything emitted: arguments, grids, conditions, sizes, as plain data over extents.
 *
 * Which configuration is preferred is itself an expression: tiles an SM has to do, times what a tile costs, compared with
 * every other configuration of the same alignment. */
#include <math.h>
#include <string.h>

#include "chain.h"
#include "emit.h"
#include "made.h"
#include "operand.h"
#include "receipt.h"
#include "row.h"
#include "traffic.h"

struct terms { /* a postfix expression being written */
    struct arena *a;
    struct fx_term *t;
    int n;
    bool is_never; /* a condition among those joined cannot hold */
};

static void push(struct terms *x, enum fx_term_op op, int64_t v) {
    struct fx_term *t = &PUSH(x->a, x->t, x->n);
    *t = (struct fx_term){op, v};
}
static void constant(struct terms *x, int64_t v) { push(x, FX_T_CONST, v); }

/* Applies o to the two expressions written last; of two constants only the result is kept. */
static void op(struct terms *x, enum fx_term_op o) {
    push(x, o, 0);
    if (x->n < 3) return;
    struct fx_term *last = x->t + x->n - 3;
    int64_t value;
    if (last[0].op != FX_T_CONST || last[1].op != FX_T_CONST) return;
    if (!fx_expr_eval(&(struct fx_expr){3, last}, &(struct fx_env){0}, &value)) return;
    x->n -= 3;
    constant(x, value);
}
static struct fx_expr done(const struct terms *x) { return (struct fx_expr){x->n, x->t}; }

static void extent(struct terms *x, const struct kernel *k, int axis) {
    if (k->axes[axis].extent >= 0) constant(x, k->axes[axis].extent);
    else push(x, FX_T_EXTENT, axis);
}

static void size(struct terms *x, const struct kernel *k, const int *axes, int n) {
    if (n == 0) constant(x, 1);
    for (int i = 0; i < n; i++) {
        extent(x, k, axes[i]);
        if (i) op(x, FX_T_MUL);
    }
}

/* Joins the condition written since term `from` to those before it, unless it always holds or stands there already. */
static void also(struct terms *x, int *n_conditions, int from) {
    int len = x->n - from;
    if (len == 1 && x->t[from].op == FX_T_CONST) {
        x->is_never |= !x->t[from].v;
        x->n = from;
    }
    if (x->n == from) return;
    for (int i = 0; i + len <= from; i++)
        if (memcmp(&x->t[i], &x->t[from], (size_t)len * sizeof *x->t) == 0) {
            x->n = from;
            return;
        }
    if ((*n_conditions)++) op(x, FX_T_AND);
}

/* ---- conditions ---- */

enum { MAX_INDEX = 0x7fff0000 }; /* extents of super-axes stay below, so that a tile past the end still fits an int */

static void need_below(struct terms *x, int *n, const struct kernel *k, const int *axes, int n_axes) {
    int from = x->n;
    size(x, k, axes, n_axes);
    constant(x, MAX_INDEX);
    op(x, FX_T_LE);
    also(x, n, from);
}

static void need_multiple(struct terms *x, int *n, const struct kernel *k, const int *axes, int n_axes, int of) {
    int from = x->n;
    if (of <= 1) return;
    size(x, k, axes, n_axes);
    constant(x, of);
    op(x, FX_T_MOD);
    constant(x, 0);
    op(x, FX_T_EQ);
    also(x, n, from);
}

static void need_aligned(struct terms *x, int *n, const struct kernel *k, const struct tensor *t, int bytes) {
    int from = x->n;
    if (t->param < 0) return; /* buffers are 256-byte aligned */
    if (k->params[t->param].align >= bytes) return; /* promised, and checked before anything else */
    constant(x, bytes);
    push(x, FX_T_ALIGN, t->param);
    op(x, FX_T_LE);
    also(x, n, from);
}

/* The stride of position i of t, which is strided. */
static void stride(struct terms *x, const struct kernel *k, const struct tensor *t, int i) {
    const struct param *p = &k->params[t->param];
    for (int j = 0; j < p->n_axes; j++)
        if (p->axes[j] == t->axes[i]) push(x, FX_T_STRIDE, fx_stride_index(t->param, j));
}

/* V adjacent elements along the last label of a strided tensor are a vector: stride 1 there, multiples of V elsewhere. */
static void need_strides(struct terms *x, int *n, const struct kernel *k, const struct tensor *t, int vector) {
    if (!t->is_strided || vector <= 1) return;
    for (int i = 0; i < t->n_axes; i++) {
        bool is_last = i == t->n_axes - 1;
        int from = x->n;
        stride(x, k, t, i);
        if (!is_last) constant(x, vector), op(x, FX_T_MOD);
        constant(x, is_last);
        op(x, FX_T_EQ);
        also(x, n, from);
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
static void atom(struct terms *x, const struct graph *g, const struct tensor *t, int number) {
    int position, axis = view_atom_axis(g, number, &position);
    if (axis >= 0) extent(x, g->kernel, axis);
    else push(x, FX_T_STRIDE, fx_stride_index(t->param, position));
}

/* Joins the condition that a polynomial of the view of t is a multiple of `of`. */
static void need_poly_multiple(struct terms *x, int *n, const struct graph *g, const struct tensor *tensor, const struct poly *p, const struct axis_list *known, int of) {
    int from = x->n, n_terms = 0;
    for (int i = 0; i < p->n; i++) {
        const struct poly_term *t = &p->t[i];
        int begin = x->n;
        if (is_multiple(g->kernel, t, known, of)) continue;
        if (t->coefficient != 1 || !t->n) constant(x, (int64_t)t->coefficient);
        for (int f = 0; f < t->n; f++) {
            int at = x->n;
            atom(x, g, tensor, t->atoms[f]);
            if (at > begin) op(x, FX_T_MUL);
        }
        if (n_terms++) op(x, FX_T_ADD);
    }
    if (!n_terms) return;
    constant(x, of);
    op(x, FX_T_MOD);
    constant(x, 0);
    op(x, FX_T_EQ);
    also(x, n, from);
}

/* Elements lie side by side along the run that the layout of an operand names: of a strided tensor its stride is 1. */
static void need_unit(struct terms *x, int *n, const struct graph *g, const struct operand *o) {
    int from = x->n;
    if (o->is_made || o->layout == LAYOUT_STRIDED || !o->tensor.is_strided) return;
    atom(x, g, &o->tensor, o->tensor.view->unit);
    constant(x, 1);
    op(x, FX_T_EQ);
    also(x, n, from);
}

/* Copies of 16 bytes along the run that is contiguous: it, every other stride and where the operand begins are multiples of that. */
static void need_copied(struct terms *x, int *n, const struct graph *g, const struct operand *o, const struct axis_list *kk, const struct axis_list *mn) {
    if (o->layout == LAYOUT_STRIDED) return;
    const struct axis_list *run = o->layout == LAYOUT_K_MAJOR ? kk : mn;
    const struct view *v = o->tensor.view;
    int of = 16 / bytes_of(&o->tensor);
    need_multiple(x, n, g->kernel, run->axes, run->n, of);
    need_aligned(x, n, g->kernel, &o->tensor, 16);
    need_unit(x, n, g, o);
    need_poly_multiple(x, n, g, &o->tensor, &v->offset, run, of);
    for (int i = 0; i < o->tensor.n_axes; i++) {
        bool is_run = false;
        for (int j = 0; j < run->n; j++) is_run |= run->axes[j] == o->tensor.axes[i];
        if (!is_run) need_poly_multiple(x, n, g, &o->tensor, &v->stride[i], run, of);
    }
}

/* Vector loads of what a made operand reads along its chunks. */
static void need_made(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct operand *o, const struct segment *e, const struct axis_list *mn) {
    const struct kernel *k = c->graph->kernel;
    struct made m = made_open(c->graph, c->partition, l->kernel->group, o, e, mn);
    need_multiple(x, n, k, m.along->axes, m.along->n, MADE_CHUNK);
    for (int i = 0; i < m.n_leaves; i++) {
        const struct leaf *f = &m.leaves[i];
        if (f->kind != LEAF_HELD && f->kind != LEAF_SHARED && f->kind != LEAF_PIECE) continue;
        int bytes = MADE_CHUNK * bytes_of(&f->tensor);
        if (f->kind == LEAF_PIECE) need_multiple(x, n, k, &m.along->axes[m.along->n - 1], 1, MADE_CHUNK);
        need_aligned(x, n, k, &f->tensor, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &f->tensor, MADE_CHUNK);
    }
}

static void need_operand(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct operand *o, const struct segment *e, const struct axis_list *mn) {
    if (o->is_made) need_made(x, n, c, l, o, e, mn);
    else need_copied(x, n, c->graph, o, &e->k, mn);
}

/* Vector accesses of V elements along `run`: it is a multiple of V, tensors that end in it are aligned. */
static void need_vectors(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct axis_list *run, int vector) {
    const struct kernel *k = c->graph->kernel;
    const struct group *r = l->kernel->group;
    need_multiple(x, n, k, run->axes, run->n, vector);
    for (int i = 0; i < l->n_loads + r->n_stores; i++) {
        struct tensor t = i < l->n_loads ? l->loads[i] : tensor_of_store(c->graph, c->partition, &r->stores[i - l->n_loads]);
        int at = find_run(&t, run), bytes = vector * bytes_of(&t);
        if (at < 0 || at + run->n < t.n_axes) continue;
        need_aligned(x, n, k, &t, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &t, vector);
    }
}

/* Vector accesses along the rows or across them: what is read and stored as vectors. */
static void need_row_vectors(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    const struct row_program *w = l->kernel->row;
    const struct group *r = l->kernel->group;
    need_multiple(x, n, k, w->along.axes, w->along.n, f->vector);
    for (int i = 0; i < w->n_held + w->n_tail + r->n_stores; i++) {
        int s = i - w->n_held - w->n_tail;
        struct tensor t = i < w->n_held ? w->held[i] : s < 0 ? w->tail[i - w->n_held] : tensor_of_store(c->graph, c->partition, &r->stores[s]);
        int bytes = f->vector * bytes_of(&t);
        if (s >= 0 && !(row_is_along(w, &t) && row_stores_elements(c->graph, c->partition, r, &r->stores[s]))) continue;
        need_aligned(x, n, k, &t, bytes < 16 ? bytes : 16);
        need_strides(x, n, k, &t, f->vector);
    }
}

/* Joins the condition that the extents of l multiplied are at most `most`. */
static void need_at_most(struct terms *x, int *n, const struct kernel *k, const struct axis_list *l, int64_t most) {
    int from = x->n;
    size(x, k, l->axes, l->n);
    constant(x, most);
    op(x, FX_T_LE);
    also(x, n, from);
}

static struct terms row_needs(struct arena *a, const struct chosen *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    const struct kernel *k = c->graph->kernel;
    const struct row_program *w = l->kernel->row;
    int n = 0;
    if (f->most_cols) need_at_most(&x, &n, k, &w->cols, f->most_cols);
    if (f->is_aligned) need_row_vectors(&x, &n, c, l, f);
    if (!f->is_small) return x;
    need_at_most(&x, &n, k, &w->rows, 1 << 29);
    if (!f->most_cols) need_at_most(&x, &n, k, &w->cols, 1 << 29);
    return x;
}

/* What the mainloop of a segment needs; of a chain's second contraction, whose A is no operand, but for that. */
static void need_segment(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct config *f, const struct gemm_shape *s, const struct segment *e) {
    const struct kernel *k = c->graph->kernel;
    int all_k[2 * MAX_AXES];
    memcpy(all_k, e->k_outer.axes, sizeof e->k_outer.axes);
    memcpy(all_k + e->k_outer.n, e->k.axes, (size_t)e->k.n * sizeof *all_k);
    need_below(x, n, k, all_k, e->k_outer.n + e->k.n);
    if (f->is_aligned && e->a.value) need_operand(x, n, c, l, &e->a, e, &s->m);
    for (int j = 0; f->is_aligned && j < e->n_sums; j++) need_operand(x, n, c, l, &e->b[j], e, &s->n);
    if (f->needs_unit && e->a.value) need_unit(x, n, c->graph, &e->a);
    for (int j = 0; f->needs_unit && j < e->n_sums; j++) need_unit(x, n, c->graph, &e->b[j]);
}

static void need_segments(struct terms *x, int *n, const struct chosen *c, const struct launch *l, const struct config *f, const struct gemm_shape *s) {
    need_below(x, n, c->graph->kernel, s->m.axes, s->m.n);
    need_below(x, n, c->graph->kernel, s->n.axes, s->n.n);
    for (int i = 0; i < s->n_segments; i++) need_segment(x, n, c, l, f, s, &s->segments[i]);
}

static struct terms needs(struct arena *a, const struct chosen *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    const struct kernel *k = c->graph->kernel;
    int n = 0;
    if (l->kernel->group->contraction) {
        const struct gemm_shape *s = &l->kernel->gemm;
        if (l->kernel->chain) need_segments(&x, &n, c, l, f, &l->kernel->chain->first);
        if (f->most_k) need_at_most(&x, &n, k, &l->kernel->chain->first.segments[0].k, f->most_k);
        need_segments(&x, &n, c, l, f, s);
        if (f->is_aligned) need_vectors(&x, &n, c, l, &s->n, f->vector);
        return x;
    }
    if (l->kernel->row) return row_needs(a, c, l, f);
    const struct pointwise_shape *s = &l->kernel->pointwise;
    if (f->is_aligned) need_vectors(&x, &n, c, l, &s->cols, f->vector);
    if (f->is_small) {
        int from = x.n;
        size(&x, k, s->rows.axes, s->rows.n);
        size(&x, k, s->cols.axes, s->cols.n);
        op(&x, FX_T_MUL);
        constant(&x, 1 << 30);
        op(&x, FX_T_LT);
        also(&x, &n, from);
    }
    return x;
}

bool plan_is_possible(struct cx *cx, const struct chosen *c, const struct scheduled *s, const struct config *f) {
    struct launch l = {.kernel = s, .loads = NEW_ARRAY(&cx->arena, struct tensor, c->graph->n_nodes + 1)};
    l.n_loads = group_loads(c->graph, c->partition, s->group, l.loads, c->graph->n_nodes);
    return !needs(&cx->arena, c, &l, f).is_never;
}

int plan_flags_buffer(const struct chosen *c) { return c->partition->n_buffers + c->n_partials; }

void plan_drop_impossible(struct cx *cx, const struct chosen *c, const struct launch *l, struct scheduled *s) {
    int n = 0;
    for (int i = 0; i < s->n_configs; i++) {
        if (!needs(&cx->arena, c, l, &s->configs[i]).is_never) s->configs[n++] = s->configs[i];
    }
    s->n_configs = n;
}

/* ---- grids and preference ---- */

static void grid(struct terms *x, const struct chosen *c, const struct launch *l, const struct config *f) {
    const struct kernel *k = c->graph->kernel;
    if (l->kernel->group->contraction) {
        const struct gemm_shape *s = &l->kernel->gemm;
        size(x, k, s->m.axes, s->m.n);
        constant(x, f->tile_m);
        op(x, FX_T_CDIV);
        size(x, k, s->n.axes, s->n.n);
        constant(x, f->tile_n);
        op(x, FX_T_CDIV);
        op(x, FX_T_MUL);
        if (s->batch.n) {
            size(x, k, s->batch.axes, s->batch.n);
            op(x, FX_T_MUL);
        }
        return;
    }
    if (l->kernel->row) {
        size(x, k, l->kernel->row->rows.axes, l->kernel->row->rows.n);
        constant(x, f->tile_m);
        op(x, FX_T_CDIV);
        if (l->kernel->parts) {
            constant(x, l->kernel->parts);
            op(x, FX_T_MUL);
        }
        constant(x, 1 << 30);
        op(x, FX_T_MIN);
        return;
    }
    const struct pointwise_shape *s = &l->kernel->pointwise;
    size(x, k, s->cols.axes, s->cols.n);
    constant(x, f->vector);
    op(x, FX_T_CDIV);
    if (s->rows.n) {
        size(x, k, s->rows.axes, s->rows.n);
        op(x, FX_T_MUL);
    }
    constant(x, f->tile_n / f->vector);
    op(x, FX_T_CDIV);
}

/* Tiles the busiest SM does, times what a tile costs. */
static void cost(struct terms *x, const struct chosen *c, const struct launch *l, const struct config *f) {
    grid(x, c, l, f);
    push(x, FX_T_SM_COUNT, 0);
    op(x, FX_T_CDIV);
    constant(x, (int64_t)llround(1000.0 * f->tile_m * f->tile_n / f->rate));
    op(x, FX_T_MUL);
}

static struct fx_expr prefers(struct arena *a, const struct chosen *c, const struct launch *l, const struct config *f) {
    struct terms x = {.a = a};
    int n = 0;
    if (l->kernel->row && f->suits_cols) need_at_most(&x, &n, c->graph->kernel, &l->kernel->row->cols, f->suits_cols);
    if (l->kernel->row && f->wants_grid) {
        int from = x.n;
        push(&x, FX_T_SM_COUNT, 0);
        grid(&x, c, l, f);
        op(&x, FX_T_LE);
        also(&x, &n, from);
    }
    for (int i = 0; l->kernel->group->contraction && i < l->kernel->n_configs; i++) {
        const struct config *other = &l->kernel->configs[i];
        bool takes_less = (f->most_k == 0) != (other->most_k == 0) || other->most_k < f->most_k; /* where it takes what there is, it is faster */
        if (other == f || kind_of(other) != kind_of(f) || takes_less) continue;
        int from = x.n;
        cost(&x, c, l, f);
        cost(&x, c, l, other);
        op(&x, FX_T_LE);
        also(&x, &n, from);
    }
    return done(&x);
}

/* ---- work ---- */

static void add_bytes(struct terms *x, const struct kernel *k, const struct tensor *t, int *n) {
    size(x, k, t->axes, t->n_axes);
    constant(x, bytes_of(t));
    op(x, FX_T_MUL);
    if ((*n)++) op(x, FX_T_ADD);
}

/* What phases read, or write, one after another. */
static void add_traffic(struct terms *x, const struct fx_expr *e, int *n) {
    if (e->n == 1 && e->terms[0].op == FX_T_CONST && e->terms[0].v == 0) return;
    for (int i = 0; i < e->n; i++) push(x, e->terms[i].op, e->terms[i].v);
    if (e->n && (*n)++) op(x, FX_T_ADD);
}

static struct fx_expr written(struct arena *a, const struct chosen *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    if (n_phases == 1) return traffic_written(c->graph, c->partition, phases->kernel);
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr e = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &e, &n);
    }
    return done(&x);
}

/* Read and written, of one launch or of all its phases. */
static struct fx_expr bytes(struct arena *a, const struct chosen *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr in = traffic_read(c->graph, c->partition, phases[p].kernel), out = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &in, &n);
        add_traffic(&x, &out, &n);
    }
    return done(&x);
}

/* Multiply-adds of contractions, two each, of a chain's first ones as often as its middle is walked over; pointwise work is not counted. */
static struct fx_expr flops(struct arena *a, const struct chosen *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n_terms = 0;
    for (int i = 0; i < n_phases; i++) {
        const struct group *r = phases[i].kernel->group;
        for (int j = 0; j < r->n_sums; j++) {
            const struct node *n = r->sums[j].sum;
            bool is_walked = phases[i].kernel->chain && n != r->contraction;
            constant(&x, is_walked ? 2 * phases[i].kernel->chain->n_walks : 2);
            size(&x, c->graph->kernel, n->axes, n->n_axes);
            op(&x, FX_T_MUL);
            size(&x, c->graph->kernel, n->reduced, n->n_reduced);
            op(&x, FX_T_MUL);
            if (n_terms++) op(&x, FX_T_ADD);
        }
    }
    return done(&x);
}

/* ---- the parts ---- */

/* What every phase of entry v needs. The tiles of a contraction are counted in 31 bits; of one that is launched alone, the grid sees to that. */
static struct terms joint_needs(struct arena *a, const struct chosen *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = needs(a, c, phases, &phases->kernel->configs[v]);
    if (n_phases == 1) return x;
    int n = x.n > 0;
    for (int p = 0; p < n_phases; p++) {
        const struct config *f = &phases[p].kernel->configs[v];
        struct terms more = needs(a, c, &phases[p], f);
        int from = x.n;
        for (int i = 0; p && i < more.n; i++) push(&x, more.t[i].op, more.t[i].v);
        x.is_never |= more.is_never;
        if (x.n > from) also(&x, &n, from);
        if (!phases[p].kernel->group->contraction) continue;
        from = x.n;
        grid(&x, c, &phases[p], f);
        constant(&x, INT32_MAX);
        op(&x, FX_T_LE);
        also(&x, &n, from);
    }
    return x;
}

/* Blocks of entry v: those its largest phase has work for, and where there are several no more than are resident at once, nor more on an SM than the tiles of a
 * contraction need: fewer blocks are spread over all SMs. */
static struct fx_expr joint_grid(struct arena *a, const struct chosen *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = {.a = a};
    for (int p = 0; p < n_phases; p++) {
        grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        if (p) op(&x, FX_T_MAX);
    }
    if (n_phases == 1) return done(&x);
    bool is_tiled = false;
    push(&x, FX_T_SM_COUNT, 0);
    constant(&x, phases->kernel->configs[v].min_blocks);
    for (int p = 0; p < n_phases && phases->kernel->configs[v].min_blocks > 1; p++) {
        if (!phases[p].kernel->group->contraction) continue;
        if (!is_tiled) constant(&x, 1); /* where there is no tile, there may be rows */
        grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        push(&x, FX_T_SM_COUNT, 0);
        op(&x, FX_T_CDIV);
        op(&x, FX_T_MAX);
        is_tiled = true;
    }
    if (is_tiled) op(&x, FX_T_MIN);
    op(&x, FX_T_MUL);
    op(&x, FX_T_MIN);
    return done(&x);
}

static const char *joint_config(struct arena *a, const struct launch *phases, int n_phases, int v) {
    const char *text = phases->kernel->configs[v].text;
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s; then %s", text, phases[p].kernel->configs[v].text);
    return text;
}

static const char *joint_driver(struct arena *a, const struct launch *phases, int n_phases) {
    const char *text = phases->kernel->schedule->driver;
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s, %s", text, phases[p].kernel->schedule->driver);
    return text;
}

static void build_launch(struct arena *a, const struct chosen *c, const struct launch *phases, const struct joined *d, struct fx_launch *out) {
    int n = phases->kernel->n_configs;
    struct fx_variant *variants = NEW_ARRAY(a, struct fx_variant, n);
    const struct launch *leader = phases + (phases_leader(c, (struct joint){d->first, d->n}) - d->first);
    *out = (struct fx_launch){.name = d->name, .driver = joint_driver(a, phases, d->n), .flops = flops(a, c, phases, d->n), .bytes = bytes(a, c, phases, d->n), .written = written(a, c, phases, d->n),
                              .n_phases = d->n, .n_args = d->n_args, .n_variants = n, .args = d->args, .variants = variants};
    for (int p = 0; p < d->n; p++) out->is_cooperative |= phases[p].kernel->waits;
    for (int i = 0; i < n; i++) {
        const struct config *f = &phases->kernel->configs[i];
        struct terms smem = {.a = a}, need = joint_needs(a, c, phases, d->n, i);
        constant(&smem, f->smem_bytes);
        variants[i] = (struct fx_variant){.entry = d->entries[i].name, .number = d->entries[i].number, .config = joint_config(a, phases, d->n, i),
                                          .needs = done(&need), .prefers = prefers(a, c, leader, &leader->kernel->configs[i]), .grid = joint_grid(a, c, phases, d->n, i),
                                          .smem = done(&smem), .block = f->block, .cluster = 1,
                                          .kind = kind_of(&leader->kernel->configs[i]), .most_local = leader->kernel->group->contraction ? 0 : -1};
    }
}

/* A flag for every block that is resident at once. */
static struct fx_expr flag_bytes(struct arena *a, const struct unit *u, int index) {
    const struct chosen *c = u->kernels[index];
    struct terms x = {.a = a};
    int most = 1;
    for (int i = 0; i < c->n_launches; i++)
        for (int v = 0; c->launches[i].n > 1 && v < c->kernels[c->launches[i].first].n_configs; v++) {
            int blocks = c->kernels[c->launches[i].first].configs[v].min_blocks;
            if (blocks > most) most = blocks;
        }
    push(&x, FX_T_SM_COUNT, 0);
    constant(&x, most * 8);
    op(&x, FX_T_MUL);
    return done(&x);
}

static struct fx_param build_param(struct cx *cx, const struct param *p) {
    struct fx_param out = {.name = p->name, .dtype = p->dtype, .is_scalar = p->is_scalar, .is_input = p->is_input, .is_output = p->is_output,
                           .is_const = p->is_const, .is_strided = p->is_strided, .packed = p->packed, .align = p->align,
                           .has_value = p->has_default, .value = p->default_value, .rank = p->n_axes, .line = span_line(cx, p->ast->span)};
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
    for (int i = 0; i < k->n_axes; i++) extents[i] = (struct fx_extent){arena_strndup(a, k->axes[i].name.s, k->axes[i].name.len), k->axes[i].extent};
    for (int i = 0; i < k->n_params; i++) params[i] = build_param(cx, &k->params[i]);
    for (int i = 0; i < k->n_equations; i++) equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, k->equations[i].text};
    for (int i = 0; i < k->n_requirements; i++)
        checks[i] = (struct fx_check){k->requirements[i].holds,
                                      arena_printf(a, "%s (%s, line %d)", k->requirements[i].text, k->name, span_line(cx, k->requirements[i].span))};
    return (struct fx_kernel){.name = k->name, .n_extents = k->n_axes, .n_params = k->n_params, .n_equations = k->n_equations, .n_checks = k->n_requirements,
                              .extents = extents, .equations = equations, .params = params, .checks = checks, .receipt = ""};
}

static struct fx_kernel build_kernel(struct cx *cx, const struct unit *u, int index) {
    struct arena *a = &cx->arena;
    const struct chosen *c = u->kernels[index];
    const struct kernel *k = c->graph->kernel;
    struct fx_kernel out = build_signature(cx, k);
    struct fx_buffer *buffers = NEW_ARRAY(a, struct fx_buffer, plan_flags_buffer(c) + 1);
    struct fx_launch *launches = NEW_ARRAY(a, struct fx_launch, c->n_launches + 1);
    for (int i = 0; i < c->partition->n_buffers; i++) {
        struct tensor t = tensor_of_buffer(c->graph, c->partition, i);
        struct terms x = {.a = a};
        int n = 0;
        add_bytes(&x, k, &t, &n);
        buffers[i] = (struct fx_buffer){.name = c->n_kernels ? u->launches[index][0].buffer_names[i] : "", .kind = FX_BUFFER_WORKSPACE, .bytes = done(&x)};
    }
    for (int i = 0; i < c->n_partials; i++) {
        struct terms x = {.a = a};
        size(&x, k, c->partials[i].rows->axes, c->partials[i].rows->n);
        constant(&x, c->partials[i].words * (int64_t)4);
        op(&x, FX_T_MUL);
        int at = c->partition->n_buffers + i;
        buffers[at] = (struct fx_buffer){.name = u->launches[index][0].buffer_names[at], .kind = FX_BUFFER_WORKSPACE, .bytes = done(&x)};
    }
    int flags = plan_flags_buffer(c);
    if (c->has_flags) buffers[flags] = (struct fx_buffer){u->launches[index][0].buffer_names[flags], FX_BUFFER_FLAGS, flag_bytes(a, u, index)};
    for (int i = 0; i < c->n_launches; i++) build_launch(a, c, u->launches[index] + c->launches[i].first, &u->joined[index][i], &launches[i]);
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
    *p = (struct fx_plan){.file = file, .arch = cx->arch, .source = "", .n_kernels = program->n_kernels, .kernels = kernels};
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
        struct buf receipt;
        buf_init(&receipt, &cx->arena);
        receipt_text(&receipt, receipt_of(&cx->arena, u, i, &kernels[i], NULL));
        kernels[i].receipt = receipt.s;
    }
    *p = (struct fx_plan){.file = u->file, .arch = cx->arch, .n_kernels = u->n_kernels, .kernels = kernels};
    struct buf source;
    buf_init(&source, &cx->arena);
    emit_cu(&source, u, p);
    p->source = source.s;
    p->source_len = source.len;
    return p;
}
