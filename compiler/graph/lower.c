/* Turns the checked tree into a graph: one node per value, axes as sets, outputs as a list. Storage order matters only
 * to parameters, and stays with them. */
#include <math.h>
#include <string.h>

#include "graph/ir.h"

static void sort_axes(int *axes, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && axes[j - 1] > axes[j]; j--) {
            int t = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = t;
        }
}

/* Whether a factor is a stored tensor that lets the other be rounded. Decided before any pass simplifies a factor:
 * `w * 1` is none (language.md, "Accumulation"). */
static bool may_round(const struct kernel *k, const struct value *v) {
    if (v->kind != V_REDUCE || kernel_is_ieee(k) || v->args[0]->kind != V_OP || v->args[0]->op != O_MUL)
        return false;
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
    if (k->precision != PRECISION_TF32 || v->kind != V_REDUCE || v->reduction != RED_SUM || v->dtype != FX_F32)
        return false;
    const struct value *product = v->args[0];
    return product->kind == V_OP && product->op == O_MUL && carries_reduced(product->args[0], v) &&
           carries_reduced(product->args[1], v);
}

/* The positions of an access in ascending order of the axes they stand for. */
static void sort_positions(struct node *n) {
    for (int i = 1; i < n->n_at; i++)
        for (int j = i; j > 0 && n->at[j - 1] > n->at[j]; j--) {
            int axis = n->at[j];
            struct node *position = n->args[1 + j];
            unsigned both = n->may_miss >> (j - 1) & 3;
            n->at[j] = n->at[j - 1], n->args[1 + j] = n->args[j];
            n->at[j - 1] = axis, n->args[j] = position;
            n->may_miss = (n->may_miss & ~(3u << (j - 1))) | (both >> 1 | (both & 1) << 1) << (j - 1);
        }
}

/* A cast to the compute type its operand has changes no bit: what it says of roundings is decided here. */
static bool changes_nothing(const struct value *v) { return v->kind == V_CAST && v->to == v->args[0]->dtype; }

static struct node *lower_value(struct graph *g, const struct value *v, struct node **map) {
    if (changes_nothing(v)) return map[v->args[0]->id];
    struct node n = {.kind = (enum node_kind)v->kind,
        .op = v->op,
        .reduction = v->reduction,
        .dtype = v->dtype,
        .to = v->kind == V_OP && op_rounded_form(v->op, FX_BF16) ? value_read_as(g->kernel, v) : v->to,
        .n_axes = v->n_axes,
        .n_reduced = v->n_reduced,
        .may_round = may_round(g->kernel, v),
        .rounds_to = value_rounds_to(g->kernel, v),
        .may_tf32 = may_tf32(g->kernel, v),
        .axis = v->axis,
        .n_at = v->n_at,
        .has_fill = v->has_fill,
        .may_miss = v->may_miss,
        .n_args = v->n_args,
        .param = v->param,
        .name = v->name,
        .span = v->span,
        .source = v->source};
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
            *o = (struct output){.param = i, .value = map[param_stored(&k->params[i])->id]};
            if (k->params[i].placed) o->whole = map[k->params[i].result->id];
        }
    return g;
}
