/* Queries about nodes and groups that passes, fuse and schedule share, and functions with which a pass builds the graph
 * that it returns. */
#include <math.h>
#include <string.h>

#include "graph/ir.h"

bool axes_have(const int *axes, int n, int axis) {
    for (int i = 0; i < n; i++)
        if (axes[i] == axis) return true;
    return false;
}

bool node_has_axis(const struct node *n, int axis) { return axes_have(n->axes, n->n_axes, axis); }

bool node_has_fixed_extents(const struct graph *g, const struct node *n) {
    for (int i = 0; i < n->n_axes; i++)
        if (g->kernel->axes[n->axes[i]].extent < 0) return false;
    return true;
}

bool node_has_all(const struct node *n, const int *axes, int n_axes) {
    for (int i = 0; i < n_axes; i++)
        if (!node_has_axis(n, axes[i])) return false;
    return true;
}

int node_arity(const struct node *n) {
    switch (n->kind) {
    case N_OP: return op_info[n->op].arity;
    case N_SCAN: return n->reduction == RED_RECUR ? 2 : 1;
    case N_REDUCE: case N_SHARE: case N_CAST: return 1;
    case N_ACCESS: return 1 + n->n_at + n->has_fill;
    case N_PLACE: return 1 + n->n_at;
    default: return 0;
    }
}

bool node_has_any(const struct node *n, const int *axes, int n_axes) {
    for (int i = 0; i < n_axes; i++)
        if (node_has_axis(n, axes[i])) return true;
    return false;
}

struct axis_set store_space(const struct graph *g, const struct node *value, int param) {
    if (param < 0 || value->kind == N_PLACE) return (struct axis_set){value->n_axes, value->axes};
    return (struct axis_set){g->kernel->params[param].n_axes, g->kernel->params[param].axes};
}

bool nodes_same_axes(const int *a, int n_a, const int *b, int n_b) {
    int found = 0;
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_b; j++) found += a[i] == b[j];
    return n_a == n_b && found == n_a;
}

bool as_contraction(const struct node *n, struct contraction *out) {
    if (n->kind != N_REDUCE || n->reduction != RED_SUM) return false;
    const struct node *p = n->args[0];
    if (p->kind != N_OP || p->op != O_MUL) return false;
    for (int i = 0; i < n->n_reduced; i++)
        if (!node_has_axis(p->args[0], n->reduced[i]) || !node_has_axis(p->args[1], n->reduced[i])) return false;
    *out = (struct contraction){p->args[0], p->args[1]};
    return true;
}

bool as_mainloop(const struct node *n, struct contraction *out) {
    if (n->dtype == FX_BOOL || !as_contraction(n, out)) return false;
    for (int i = 0; i < n->n_axes; i++)
        if (!node_has_axis(out->a, n->axes[i]) || !node_has_axis(out->b, n->axes[i])) return true;
    return false;
}

/* Whether a has a label that neither b nor the sum has. */
bool has_own_axis(const struct graph *g, const struct node *n, const struct node *a, const struct node *b) {
    for (int i = 0; i < a->n_axes; i++)
        if (node_has_axis(n, a->axes[i]) && !node_has_axis(b, a->axes[i]) && g->kernel->axes[a->axes[i]].extent != 1)
            return true;
    return false;
}

bool may_take_parts(const struct graph *g, const struct node *n) {
    return g->cx->arch->has_wgmma && g->kernel->precision != PRECISION_FMA && n->dtype == FX_F32 && !n->may_tf32 &&
           is_matrix_product(g, n);
}

double parts_walk(double channels) {
    const double step = channels < 64 ? 16 : 64;
    return step * ceil(channels / step);
}

bool is_matrix_product(const struct graph *g, const struct node *n) {
    struct contraction c;
    return as_mainloop(n, &c) && has_own_axis(g, n, c.a, c.b) && has_own_axis(g, n, c.b, c.a);
}

struct scaled_factor as_scaled(const struct node *n) {
    if (node_is_op(n, O_MUL)) return (struct scaled_factor){n->args[0], n->args[1]};
    return (struct scaled_factor){(struct node *)n, NULL};
}

struct node reduction_start(enum reduction r, enum fx_dtype t) {
    struct node n = {.kind = N_CONST, .dtype = t, .axis = -1};
    bool is_max = r == RED_MAX, is_product = r == RED_PROD;
    if (t == FX_BOOL) n.num = !is_max;
    else if (r != RED_SUM && !is_product) n.num = is_max ? -INFINITY : INFINITY;
    else n.num = is_product;
    if (!fx_is_integer(t)) return n;
    n.integer = r == RED_SUM || is_product ? is_product : fx_saturate(t, n.num);
    n.num = 0;
    return n;
}

/* Whether n is size * P + I, with I among the labels that `reduced` reduces. */
static bool as_run_position(
    const struct graph *g, const struct node *n, const struct node *reduced, int *run, int *length) {
    if (n->kind != N_OP || n->op != O_ADD || n->args[0]->kind != N_OP || n->args[0]->op != O_MUL ||
        n->args[1]->kind != N_INDEX)
        return false;
    const struct node *p = n->args[0]->args[0], *size = n->args[0]->args[1];
    int inner = n->args[1]->axis;
    if (p->kind != N_INDEX || size->kind != N_CONST || size->integer < 2 || size->integer > PARTIAL_RUN ||
        g->kernel->axes[inner].extent != size->integer || (*length && *length != size->integer))
        return false;
    *length = (int)size->integer;
    *run = p->axis;
    for (int i = 0; i < reduced->n_reduced; i++)
        if (reduced->reduced[i] == inner) return p->axis != inner;
    return false;
}

/* Whether a label has an element for each run of `size` elements of another one, the last of which may be shorter, and
 * no more. */
static bool counts_runs(const struct graph *g, int run, int label, int size) {
    const int64_t number = g->kernel->axes[run].extent, whole = g->kernel->axes[label].extent;
    if (number >= 0 && whole >= 0) return number == whole / size + (whole % size != 0);
    for (int i = 0; i < g->kernel->n_equations; i++) {
        const struct fx_expr *e = &g->kernel->equations[i].value;
        if (g->kernel->equations[i].axis == run && e->n == 3 && e->terms[0].op == FX_T_EXTENT &&
            e->terms[0].v == label && e->terms[1].op == FX_T_CONST && e->terms[1].v == size &&
            e->terms[2].op == FX_T_CDIV)
            return true;
    }
    return false;
}

static bool as_reduced_runs(const struct graph *g, const struct node *n, struct partial_of *out) {
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || n->n_reduced > 2) return false;
    const struct node *at = n->args[0];
    if (at->kind != N_ACCESS || !at->has_fill || at->n_at != n->n_reduced) return false;
    const struct node *fill = at->args[1 + at->n_at], start = reduction_start(n->reduction, n->dtype);
    if (fill->kind != N_CONST || memcmp(&fill->num, &start.num, sizeof start.num) != 0 ||
        fill->integer != start.integer)
        return false;
    *out = (struct partial_of){.of = at->args[0], .n = at->n_at};
    for (int i = 0; i < at->n_at; i++) {
        out->label[i] = at->at[i];
        if (!as_run_position(g, at->args[1 + i], n, &out->run[i], &out->size) ||
            !counts_runs(g, out->run[i], at->at[i], out->size) || node_has_axis(at->args[0], out->run[i]))
            return false;
        for (int k = 0; k < n->n_reduced; k++)
            if (node_has_axis(at->args[0], n->reduced[k])) return false;
    }
    return out->n == 1 || (out->run[0] != out->run[1] && at->args[1]->args[1] != at->args[2]->args[1]);
}

/* Whether n is idx(label) // size. */
static bool is_run_of(const struct node *n, int label, int size) {
    return node_is_op(n, O_FLOORDIV) && n->args[0]->kind == N_INDEX && n->args[0]->axis == label &&
           n->args[1]->kind == N_CONST && n->args[1]->integer == size;
}

static bool is_i64(const struct node *n, int64_t v) {
    return n->kind == N_CONST && n->dtype == FX_I64 && n->integer == v;
}

/* Whether n is how many elements a run of x has, as f32: size, or for the last run what is left of its label. */
static bool is_count_of_run(const struct graph *g, const struct node *n, const struct partial_of *x) {
    const int64_t extent = g->kernel->axes[x->label[0]].extent;
    const struct node *least = n->kind == N_CAST && n->to == FX_F32 ? n->args[0] : NULL;
    for (int i = 0; least && node_is_op(least, O_MIN) && i < 2; i++) {
        const struct node *left = least->args[i], *all = left->args[0], *from = left->args[1];
        if (!is_i64(least->args[1 - i], x->size) || !node_is_op(left, O_SUB) || !node_is_op(from, O_MUL)) continue;
        const bool is_all = all->kind == N_SIZE ? all->axis == x->label[0] : extent >= 0 && is_i64(all, extent);
        const struct node *run = from->args[0];
        if (is_all && run->kind == N_INDEX && run->axis == x->run[0] && is_i64(from->args[1], x->size)) return true;
    }
    return false;
}

/* The sum of which n is the mean of each run, as x has runs; NULL: it is none. */
static const struct node *sum_of_mean(const struct graph *g, const struct node *n, const struct partial_of *x) {
    const bool is_even = g->kernel->axes[x->label[0]].extent >= 0 && g->kernel->axes[x->label[0]].extent % x->size == 0;
    if (node_is_op(n, O_MUL) && is_even && node_is_number(n->args[1], 1.0 / x->size)) return n->args[0];
    if (node_is_op(n, O_DIV) && is_count_of_run(g, n->args[1], x)) return n->args[0];
    return NULL;
}

/* Whether `of` is the square of v's distance from its mean over the run of x, made of the sum of that run: v. */
static struct node *as_distance_in_run(const struct graph *g, const struct partial_of *x) {
    const struct node *d = x->of->args[0], *at, *runs;
    struct partial_of sum;
    if (!node_is_op(x->of, O_MUL) || x->of->args[1] != d || !node_is_op(d, O_SUB) || x->n != 1) return NULL;
    at = d->args[1];
    if (at->kind != N_ACCESS || at->has_fill || at->n_at != 1 || at->at[0] != x->run[0] ||
        !is_run_of(at->args[1], x->label[0], x->size))
        return NULL;
    runs = sum_of_mean(g, at->args[0], x);
    return runs && as_reduced_runs(g, runs, &sum) && runs->reduction == RED_SUM && sum.of == d->args[0] && sum.n == 1 &&
                   sum.size == x->size && sum.run[0] == x->run[0] && sum.label[0] == x->label[0]
               ? d->args[0]
               : NULL;
}

bool as_partial(const struct graph *g, const struct node *n, struct partial_of *out) {
    if (!as_reduced_runs(g, n, out)) return false;
    struct node *v = n->reduction == RED_SUM && n->dtype == FX_F32 ? as_distance_in_run(g, out) : NULL;
    if (v) out->of = v, out->is_spread = true;
    return true;
}

bool is_partial_store(const struct graph *g, const struct group *r, const struct store *s, struct partial_of *out) {
    if (s->buffer < 0 || (!r->n_sums && !r->is_row) || !as_partial(g, s->value, out)) return false;
    if (!r->is_row) return out->size == PARTIAL_RUN;
    if (out->is_spread) return false;
    for (int i = 0; i < r->n_axes; i++)
        if (r->axes[i] == out->label[0]) return out->n == 1;
    return false;
}

struct node *store_element(const struct graph *g, const struct group *r, const struct store *s) {
    struct partial_of x;
    return is_partial_store(g, r, s, &x) ? x.of : s->value;
}

bool is_row_step(const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_steps; i++)
        if (r->steps[i] == n) return true;
    return false;
}

bool is_chain_step(const struct group *r, const struct node *n) { return r->intermediate && is_row_step(r, n); }

bool is_shared_by(const struct group *r, const struct node *n) {
    return n->kind == N_SHARE && r->contraction && !r->intermediate;
}

int group_sum(const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_sums; i++)
        if (r->sums[i].sum == n) return i;
    return -1;
}

int find_buffer(const struct partition *p, const struct node *value, enum fx_dtype dtype) {
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].value == value && p->buffers[i].dtype == dtype && !p->buffers[i].is_split) return i;
    return -1;
}

bool buffer_is_stored(const struct partition *p, int buffer, const struct store *s) {
    const int held = p->buffers[buffer].held;
    return held ? s->param == held - 1 : s->buffer == buffer;
}

int node_buffer(const struct partition *p, const struct node *n) {
    if (node_is_stored(n)) {
        const int i = find_buffer(p, n, n->to);
        return i >= 0 ? i : find_split_buffer(p, n, false, 0);
    }
    if (n->kind == N_REDUCE || n->kind == N_SCAN) return find_buffer(p, n, n->dtype);
    for (int i = 0; p->has_early && i < p->n_buffers; i++)
        if (p->buffers[i].is_early && p->buffers[i].value == n) return i;
    return -1;
}

int find_split_buffer(const struct partition *p, const struct node *value, bool is_halved, int k) {
    for (int i = 0; i < p->n_buffers; i++) {
        const struct buffer *b = &p->buffers[i];
        if (b->value == value && b->is_split && b->is_halved == is_halved && (!is_halved || b->k == k)) return i;
    }
    return -1;
}

bool group_halves(const struct partition *p, const struct group *r) {
    for (int s = 0; s < r->n_stores; s++)
        if (r->stores[s].buffer >= 0 && p->buffers[r->stores[s].buffer].is_halved) return true;
    return false;
}

bool row_stores_elements(
    const struct graph *g, const struct partition *p, const struct group *r, const struct store *s) {
    const struct axis_set space = s->param >= 0
                                      ? store_space(g, s->value, s->param)
                                      : (struct axis_set){p->buffers[s->buffer].n_axes, p->buffers[s->buffer].axes};
    for (int i = 0; i < space.n; i++)
        for (int k = 0; k < r->n_reduced; k++)
            if (space.axes[i] == r->reduced[k]) return true;
    return false;
}

struct graph *graph_like(const struct graph *g) {
    struct graph *out = NEW(&g->cx->arena, struct graph);
    out->cx = g->cx;
    out->kernel = g->kernel;
    out->skip = g->skip;
    out->with = g->with;
    for (int i = 0; i < g->n_applied; i++) PUSH(&g->cx->arena, out->applied, out->n_applied) = g->applied[i];
    return out;
}

bool list_has(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *s = list; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if (strncmp(s, name, len) == 0 && (s[len] == ',' || !s[len])) return true;
    return false;
}

struct graph *graph_rewrite(const struct graph *g, struct graph *out, node_rewrite *rewrite, void *state) {
    struct node **map = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node n = *g->nodes[i];
        for (int a = 0; a < n.n_args; a++) n.args[a] = map[n.args[a]->id];
        struct node *to = map[i] = rewrite(state, out, g->nodes[i], &n, map);
        if (to && !to->name.len && to->kind != N_CONST) to->name = g->nodes[i]->name;
    }
    for (int i = 0; i < g->n_outputs; i++) {
        struct output *o = &PUSH(&g->cx->arena, out->outputs, out->n_outputs);
        const struct node *whole = g->outputs[i].whole;
        *o = (struct output){g->outputs[i].param, map[g->outputs[i].value->id], whole ? map[whole->id] : NULL};
    }
    return out;
}

struct node *graph_add(struct graph *g, const struct node *n) {
    struct node *copy = NEW(&g->cx->arena, struct node);
    *copy = *n;
    copy->id = g->n_nodes;
    PUSH(&g->cx->arena, g->nodes, g->n_nodes) = copy;
    return copy;
}
