/* The checked tree as a graph: one node a value, axes as sets, outputs as a list. Storage order, which matters only to
 * parameters, stays with them. */
#include <math.h>
#include <string.h>

#include "graph/ir.h"

bool node_has_axis(const struct node *n, int axis) {
    for (int i = 0; i < n->n_axes; i++)
        if (n->axes[i] == axis) return true;
    return false;
}

bool nodes_same_axes(const int *a, int n_a, const int *b, int n_b) {
    int found = 0;
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_b; j++) found += a[i] == b[j];
    return n_a == n_b && found == n_a;
}

static void sort_axes(int *axes, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && axes[j - 1] > axes[j]; j--) {
            int t = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = t;
        }
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

bool as_mainloop(const struct node *n, struct contraction *out) { return n->dtype != FX_BOOL && as_contraction(n, out); }

/* Whether a has a label that neither b nor the sum has. */
static bool has_own_axis(const struct graph *g, const struct node *n, const struct node *a, const struct node *b) {
    for (int i = 0; i < a->n_axes; i++)
        if (node_has_axis(n, a->axes[i]) && !node_has_axis(b, a->axes[i]) && g->kernel->axes[a->axes[i]].extent != 1) return true;
    return false;
}

bool is_matrix_product(const struct graph *g, const struct node *n) {
    struct contraction c;
    return as_mainloop(n, &c) && has_own_axis(g, n, c.a, c.b) && has_own_axis(g, n, c.b, c.a);
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

/* Whether n is PARTIAL_RUN * P + I, with I among the labels that `reduced` reduces. */
static bool as_run_position(const struct graph *g, const struct node *n, const struct node *reduced, int *run) {
    if (n->kind != N_OP || n->op != O_ADD || n->args[0]->kind != N_OP || n->args[0]->op != O_MUL || n->args[1]->kind != N_INDEX) return false;
    const struct node *p = n->args[0]->args[0], *size = n->args[0]->args[1];
    int inner = n->args[1]->axis;
    if (p->kind != N_INDEX || size->kind != N_CONST || size->integer != PARTIAL_RUN || g->kernel->axes[inner].extent != PARTIAL_RUN) return false;
    *run = p->axis;
    for (int i = 0; i < reduced->n_reduced; i++)
        if (reduced->reduced[i] == inner) return p->axis != inner;
    return false;
}

bool as_partial(const struct graph *g, const struct node *n, struct partial_of *out) {
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || n->n_reduced > 2) return false;
    const struct node *at = n->args[0];
    if (at->kind != N_ACCESS || !at->has_fill || at->n_at != n->n_reduced) return false;
    const struct node *fill = at->args[1 + at->n_at], start = reduction_start(n->reduction, n->dtype);
    if (fill->kind != N_CONST || memcmp(&fill->num, &start.num, sizeof start.num) != 0 || fill->integer != start.integer) return false;
    *out = (struct partial_of){.of = at->args[0], .n = at->n_at};
    for (int i = 0; i < at->n_at; i++) {
        out->label[i] = at->at[i];
        if (!as_run_position(g, at->args[1 + i], n, &out->run[i]) || node_has_axis(at->args[0], out->run[i])) return false;
        for (int k = 0; k < n->n_reduced; k++)
            if (node_has_axis(at->args[0], n->reduced[k])) return false;
    }
    return out->n == 1 || (out->run[0] != out->run[1] && at->args[1]->args[1] != at->args[2]->args[1]);
}

bool is_partial_store(const struct graph *g, const struct group *r, const struct store *s, struct partial_of *out) {
    return r->n_sums && s->buffer >= 0 && as_partial(g, s->value, out);
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

bool is_chain_step(const struct group *r, const struct node *n) { return r->middle && is_row_step(r, n); }

bool is_shared_by(const struct group *r, const struct node *n) { return n->kind == N_SHARE && r->contraction && !r->middle; }

int group_sum(const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_sums; i++)
        if (r->sums[i].sum == n) return i;
    return -1;
}

int find_buffer(const struct partition *p, const struct node *value, enum fx_dtype dtype) {
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].value == value && p->buffers[i].dtype == dtype) return i;
    return -1;
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

void graph_map_outputs(struct graph *out, const struct graph *g, struct node *const *map) {
    for (int i = 0; i < g->n_outputs; i++) {
        struct output *o = &PUSH(&g->cx->arena, out->outputs, out->n_outputs);
        *o = (struct output){g->outputs[i].param, map[g->outputs[i].value->id]};
    }
}

struct node *graph_add(struct graph *g, const struct node *n) {
    struct node *copy = NEW(&g->cx->arena, struct node);
    *copy = *n;
    copy->id = g->n_nodes;
    PUSH(&g->cx->arena, g->nodes, g->n_nodes) = copy;
    return copy;
}

/* Decided before any pass simplifies a factor: `h @ (w * 1)` gives no licence that `h @ w` gives (language.md, "Accumulation"). */
static bool may_round(const struct kernel *k, const struct value *v) {
    if (v->kind != V_REDUCE || k->precision == PRECISION_IEEE || v->args[0]->kind != V_OP || v->args[0]->op != O_MUL) return false;
    for (int i = 0; i < 2; i++) {
        const struct value *factor = v->args[0]->args[i];
        while (factor->kind == V_ACCESS) factor = factor->args[0];
        enum fx_dtype t = factor->kind == V_LOAD ? k->params[factor->param].dtype : FX_F32;
        if (fx_is_float(t) && fx_dtype_bits(t) <= 16) return true;
    }
    return false;
}

static bool carries_reduced(const struct value *factor, const struct value *sum) {
    for (int i = 0; i < sum->n_reduced; i++) {
        bool is_there = false;
        for (int j = 0; j < factor->n_axes; j++) is_there |= factor->axes[j] == sum->reduced[i];
        if (!is_there) return false;
    }
    return true;
}

/* Likewise whether both factors may be rounded to tf32. */
static bool may_tf32(const struct kernel *k, const struct value *v) {
    if (k->precision != PRECISION_TF32 || v->kind != V_REDUCE || v->reduction != RED_SUM || v->dtype != FX_F32) return false;
    const struct value *product = v->args[0];
    return product->kind == V_OP && product->op == O_MUL && carries_reduced(product->args[0], v) && carries_reduced(product->args[1], v);
}

/* The positions of an access in ascending order of the axes they stand for. */
static void sort_positions(struct node *n) {
    for (int i = 1; i < n->n_at; i++)
        for (int j = i; j > 0 && n->at[j - 1] > n->at[j]; j--) {
            int axis = n->at[j];
            struct node *position = n->args[1 + j];
            n->at[j] = n->at[j - 1], n->args[1 + j] = n->args[j];
            n->at[j - 1] = axis, n->args[j] = position;
        }
}

static struct node *lower_value(struct graph *g, const struct value *v, struct node **map) {
    struct node n = {.kind = (enum node_kind)v->kind, .op = v->op, .reduction = v->reduction, .dtype = v->dtype, .to = v->to, .n_axes = v->n_axes,
                     .n_reduced = v->n_reduced, .may_round = may_round(g->kernel, v), .may_tf32 = may_tf32(g->kernel, v), .axis = v->axis, .n_at = v->n_at, .has_fill = v->has_fill,
                     .n_args = v->n_args, .param = v->param, .name = v->name, .span = v->span, .source = v->source};
    if (fx_is_integer(v->dtype)) n.integer = v->integer; /* one payload a constant, so that equal ones are equal */
    else n.num = v->num;
    memcpy(n.axes, v->axes, sizeof n.axes);
    memcpy(n.reduced, v->reduced, sizeof n.reduced);
    memcpy(n.at, v->at, sizeof n.at);
    sort_axes(n.axes, n.n_axes);
    sort_axes(n.reduced, n.n_reduced);
    for (int i = 0; i < v->n_args; i++) n.args[i] = map[v->args[i]->id];
    sort_positions(&n);
    return graph_add(g, &n);
}

struct graph *fx_lower(struct cx *cx, const struct kernel *k) {
    struct graph *g = NEW(&cx->arena, struct graph);
    g->cx = cx;
    g->kernel = k;
    struct node **map = NEW_ARRAY(&cx->arena, struct node *, k->n_values + 1);
    for (int i = 0; i < k->n_values; i++) map[i] = lower_value(g, k->values[i], map);
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_output) {
            struct output *o = &PUSH(&cx->arena, g->outputs, g->n_outputs);
            *o = (struct output){.param = i, .value = map[k->params[i].result->id]};
        }
    return g;
}
