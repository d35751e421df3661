/* The checked tree as a graph: one node a value, axes as sets, outputs as a list. Storage order, which matters only to
 * parameters, stays with them. */
#include <string.h>

#include "ir.h"

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

bool as_mainloop(const struct node *n, struct contraction *out) { return n->dtype == FX_F32 && as_contraction(n, out); }

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

bool is_row_step(const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_steps; i++)
        if (r->steps[i] == n) return true;
    return false;
}

bool is_chain_step(const struct group *r, const struct node *n) { return r->middle && is_row_step(r, n); }

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
        if (factor->kind == V_LOAD && fx_dtype_bits(k->params[factor->param].dtype) == 16) return true;
    }
    return false;
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
                     .n_reduced = v->n_reduced, .may_round = may_round(g->kernel, v), .axis = v->axis, .n_at = v->n_at, .has_fill = v->has_fill,
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
