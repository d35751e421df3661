/* Checks the properties that every graph has between two passes; called after each of them. */
#include <stdio.h>
#include <string.h>

#include "graph/ir.h"

static const char *fail(const struct graph *g, const struct node *n, const char *what) {
    return arena_printf(&g->cx->arena, "%s: node %%%d %s", g->kernel->name, n ? n->id : -1, what);
}

static bool is_set(const int *axes, int n, int n_axes) {
    for (int i = 0; i < n; i++)
        if (axes[i] < 0 || axes[i] >= n_axes || (i && axes[i - 1] >= axes[i])) return false;
    return true;
}

/* The axes of a parameter that have no position. */
static int add_passing(const struct graph *g, const struct node *n, int *axes, int n_axes) {
    const struct param *p = &g->kernel->params[n->param];
    for (int i = 0; i < p->n_axes; i++) {
        bool seen = false;
        for (int k = 0; k < n_axes; k++) seen |= axes[k] == p->axes[i];
        for (int k = 0; k < n->n_at; k++) seen |= n->at[k] == p->axes[i];
        if (!seen) axes[n_axes++] = p->axes[i];
    }
    return n_axes;
}

static const char *verify_axes(const struct graph *g, const struct node *n) {
    if (!is_set(n->axes, n->n_axes, g->kernel->n_axes)) return fail(g, n, "has axes that are no ascending set");
    int expected[MAX_AXES * MAX_ARGS], n_expected = 0;
    for (int i = 0; i < n->n_args; i++)
        for (int j = 0; j < n->args[i]->n_axes; j++) {
            bool seen = false;
            for (int k = 0; k < n_expected; k++) seen |= expected[k] == n->args[i]->axes[j];
            for (int k = 0; k < n->n_reduced; k++) seen |= n->reduced[k] == n->args[i]->axes[j];
            for (int k = 0; i == 0 && n->kind == N_ACCESS && k < n->n_at; k++) seen |= n->at[k] == n->args[i]->axes[j];
            if (!seen) expected[n_expected++] = n->args[i]->axes[j];
        }
    if (n->kind == N_PLACE) n_expected = add_passing(g, n, expected, n_expected);
    if (n->kind == N_INDEX) expected[n_expected++] = n->axis;
    if (n->kind == N_INPUT) {
        const struct param *p = &g->kernel->params[n->param];
        return nodes_same_axes(n->axes, n->n_axes, p->axes, p->n_axes)
                   ? NULL
                   : fail(g, n, "has other axes than its parameter");
    }
    return nodes_same_axes(n->axes, n->n_axes, expected, n_expected)
               ? NULL
               : fail(g, n, "has other axes than its operands give");
}

static const char *verify_access(const struct graph *g, const struct node *n) {
    const struct node *source = n->args[0];
    if (!is_set(n->at, n->n_at, g->kernel->n_axes) || n->n_at <= 0) return fail(g, n, "reads at no set of axes");
    for (int i = 0; i < n->n_at; i++) {
        if (!node_has_axis(source, n->at[i])) return fail(g, n, "reads at an axis its source lacks");
        if (!fx_is_integer(n->args[1 + i]->dtype)) return fail(g, n, "reads at a position that is no integer");
    }
    if (n->dtype != source->dtype || (n->has_fill && n->args[1 + n->n_at]->dtype != n->dtype))
        return fail(g, n, "has another dtype than what it reads");
    return NULL;
}

static const char *verify_place(const struct graph *g, const struct node *n) {
    if (n->param < 0 || n->param >= g->kernel->n_params) return fail(g, n, "is stored to no parameter");
    const struct param *p = &g->kernel->params[n->param];
    if (!p->is_input || !p->is_output) return fail(g, n, "is stored at positions of what holds nothing yet");
    if (!is_set(n->at, n->n_at, g->kernel->n_axes) || n->n_at <= 0) return fail(g, n, "is stored at no set of axes");
    for (int i = 0; i < n->n_at; i++) {
        if (!axes_have(p->axes, p->n_axes, n->at[i])) return fail(g, n, "is stored at an axis its parameter lacks");
        if (node_has_axis(n, n->at[i])) return fail(g, n, "runs along an axis that it has a position of");
        if (!fx_is_integer(n->args[1 + i]->dtype)) return fail(g, n, "is stored at a position that is no integer");
    }
    return n->dtype != n->args[0]->dtype ? fail(g, n, "has another dtype than what it stores") : NULL;
}

/* The dtype an op has over operands of dtype t, its own when they need not be alike. */
static const char *verify_op(const struct graph *g, const struct node *n) {
    enum op_rule rule = op_info[n->op].rule;
    bool is_bool = n->dtype == FX_BOOL;
    enum fx_dtype own = n->args[rule == RULE_SELECT ? 1 : 0]->dtype;
    if (rule == RULE_COMPARE || rule == RULE_LOGIC ? !is_bool : is_bool && rule != RULE_SELECT)
        return fail(g, n, "has the wrong dtype for its op");
    if (rule == RULE_BITS ? n->dtype != FX_U32 : rule != RULE_COMPARE && n->dtype != own)
        return fail(g, n, "has another dtype than its operands");
    if (rule == RULE_FLOAT && !fx_is_float(n->dtype)) return fail(g, n, "has the wrong dtype for its op");
    if (rule == RULE_INTEGER && !fx_is_integer(n->dtype)) return fail(g, n, "has the wrong dtype for its op");
    for (int a = 0; a < n->n_args; a++) {
        bool wants_bool = rule == RULE_LOGIC || (rule == RULE_SELECT && a == 0);
        if (wants_bool ? n->args[a]->dtype != FX_BOOL : n->args[a]->dtype != own)
            return fail(g, n, "has an operand of the wrong dtype");
        if (rule != RULE_SELECT && !wants_bool && own == FX_BOOL)
            return fail(g, n, "has an operand of the wrong dtype");
    }
    return NULL;
}

static const char *verify_scan(const struct graph *g, const struct node *n) {
    bool has_axis = false;
    for (int a = 0; a < n->n_args; a++) {
        has_axis |= node_has_axis(n->args[a], n->axis);
        if (n->args[a]->dtype != n->dtype) return fail(g, n, "has another dtype than what it runs over");
    }
    if (!has_axis || (n->reduction > RED_MIN && n->reduction != RED_RECUR) || n->dtype == FX_BOOL)
        return fail(g, n, "is no running sum, product, extreme or recurrence");
    return NULL;
}

/* Whether at[] has every axis of n once. */
static bool is_order(const struct node *n) {
    for (int i = 0; i < n->n_at; i++)
        if (axes_have(n->at, i, n->at[i])) return false;
    return n->n_at == n->n_axes && node_has_all(n, n->at, n->n_at);
}

static bool has_compute_type(const struct node *n) { return fx_compute_type(n->dtype) == n->dtype; }

static const char *verify_node(const struct graph *g, const struct node *n, int i) {
    if (n->id != i) return fail(g, n, "has a wrong id");
    if (n->n_at < 0 || n->n_at > MAX_AXES || n->n_args != node_arity(n))
        return fail(g, n, "has a wrong number of operands");
    if (n->kind != N_ACCESS && ((n->n_at && n->kind != N_CAST && n->kind != N_PLACE) || n->has_fill))
        return fail(g, n, "reads at positions, but is no access");
    if (n->kind != N_REDUCE && n->n_reduced) return fail(g, n, "reduces axes, but is no reduction");
    if ((n->kind == N_REDUCE || n->kind == N_SCAN || n->kind == N_SHARE) && (int)n->reduction >= N_REDUCTIONS)
        return fail(g, n, "has no reduction that there is");
    if (n->may_round && n->kind != N_REDUCE) return fail(g, n, "may round, but is no reduction");
    if (n->rounds_to != FX_BOOL && n->kind != N_REDUCE) return fail(g, n, "may round its factors, but is no reduction");
    if (n->may_tf32 && (n->kind != N_REDUCE || n->dtype != FX_F32))
        return fail(g, n, "may be multiplied as tf32, but is no reduction of f32");
    if (n->may_scale && (n->kind != N_REDUCE || n->dtype != FX_F32))
        return fail(g, n, "may be scaled block by block, but is no reduction of f32");
    for (int a = 0; a < n->n_args; a++)
        if (!n->args[a] || n->args[a]->id >= i || g->nodes[n->args[a]->id] != n->args[a])
            return fail(g, n, "stands before an operand");
        else if (n->args[a]->kind == N_PLACE) return fail(g, n, "reads what is only stored");
    if ((n->kind == N_INPUT || n->kind == N_SCALAR) &&
        (n->param < 0 || n->param >= g->kernel->n_params || !g->kernel->params[n->param].is_input))
        return fail(g, n, "names no input");
    if ((n->kind == N_INPUT || n->kind == N_SCALAR) && g->kernel->params[n->param].is_scalar != (n->kind == N_SCALAR))
        return fail(g, n, "takes a tensor for a scalar");
    if (n->kind == N_REDUCE) {
        if (!is_set(n->reduced, n->n_reduced, g->kernel->n_axes) || n->n_reduced <= 0)
            return fail(g, n, "reduces over no set of axes");
        for (int r = 0; r < n->n_reduced; r++)
            if (!node_has_axis(n->args[0], n->reduced[r])) return fail(g, n, "reduces over an axis its operand lacks");
    }
    if (!has_compute_type(n)) return fail(g, n, "has no compute type");
    if ((n->kind == N_INPUT || n->kind == N_SCALAR) && n->dtype != fx_compute_type(g->kernel->params[n->param].dtype))
        return fail(g, n, "has another dtype than its parameter");
    if ((n->kind == N_INDEX || n->kind == N_SIZE) &&
        (n->axis < 0 || n->axis >= g->kernel->n_axes || n->dtype != FX_I64))
        return fail(g, n, "is no index of an axis");
    if (n->kind == N_CAST && n->dtype != fx_compute_type(n->to))
        return fail(g, n, "has another dtype than it converts to");
    if (node_is_stored(n) && !is_order(n)) return fail(g, n, "is stored in an order that is none of its axes");
    bool is_arg = n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN;
    if (n->kind == N_REDUCE && n->reduction == RED_RECUR) return fail(g, n, "is no reduction that there is");
    if (n->kind == N_REDUCE && n->dtype != (is_arg ? FX_I64 : n->args[0]->dtype))
        return fail(g, n, "has another dtype than what it reduces");
    if (n->kind == N_REDUCE && is_arg && n->n_reduced != 1) return fail(g, n, "finds an index along several axes");
    const char *wrong_scan = n->kind == N_SCAN ? verify_scan(g, n) : NULL;
    if (wrong_scan) return wrong_scan;
    if (n->kind != N_SHARE && (n->run || n->is_ragged)) return fail(g, n, "has runs, but shares nothing");
    if (n->kind == N_SHARE) {
        bool is_run = n->run >= 2 && n->run <= PARTIAL_RUN && (n->run & (n->run - 1)) == 0;
        if (!is_run || n->dtype != n->args[0]->dtype || !node_has_axis(n->args[0], n->axis) || n->reduction > RED_MIN)
            return fail(g, n, "is shared by no runs");
        if (!n->is_ragged && g->kernel->axes[n->axis].extent % n->run > 0)
            return fail(g, n, "is shared by runs that are not whole");
    }
    const char *wrong = n->kind == N_OP       ? verify_op(g, n)
                        : n->kind == N_ACCESS ? verify_access(g, n)
                        : n->kind == N_PLACE  ? verify_place(g, n)
                                              : NULL;
    return wrong ? wrong : verify_axes(g, n);
}

static int group_of_buffer(const struct partition *p, int buffer) {
    int found = -1;
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < p->groups[i].n_stores; s++)
            if (buffer_is_stored(p, buffer, &p->groups[i].stores[s])) found = found < 0 ? i : p->n_groups;
    return found;
}

static const char *verify_copies(const struct graph *g, const struct partition *p) {
    for (int i = 0; i < p->n_groups; i++) {
        const struct group *r = &p->groups[i];
        if (!r->is_copy) continue;
        bool is_whole = r->n_stores == 1 && !r->n_sums && r->stores[0].param >= 0 && r->copied >= 0 &&
                        r->copied < p->n_buffers;
        if (!is_whole || p->buffers[r->copied].value != copied_value(r->stores[0].value))
            return fail(g, r->n_stores ? r->stores[0].value : NULL, "is no copy of a buffer");
    }
    return NULL;
}

static const char *verify_partition(const struct graph *g, const struct partition *p) {
    for (int o = 0; o < g->n_outputs; o++) {
        int n = 0;
        for (int i = 0; i < p->n_groups; i++)
            for (int s = 0; s < p->groups[i].n_stores; s++)
                n += p->groups[i].stores[s].param == g->outputs[o].param &&
                     p->groups[i].stores[s].value == g->outputs[o].value;
        if (n != 1) return fail(g, g->outputs[o].value, "is an output not stored exactly once");
        if (in_place_hazard(g, p, &g->outputs[o]))
            return fail(g, g->outputs[o].value, "is stored over what is still read of a parameter written in place");
    }
    for (int b = 0; b < p->n_buffers; b++) {
        int at = group_of_buffer(p, b);
        if (at < 0 || at >= p->n_groups) return fail(g, p->buffers[b].value, "is a buffer not written exactly once");
    }
    const char *why = verify_copies(g, p);
    return why ? why : ir_verify_order(g, p);
}

static bool writes_buffer(const struct group *r, int buffer) {
    for (int s = 0; s < r->n_stores; s++)
        if (r->stores[s].buffer == buffer) return true;
    return false;
}

bool *ir_buffers_read(const struct graph *g, const struct partition *p, const struct group *r) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, p->n_buffers + 1),
         *is_needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    if (r->is_copy) is_read[r->copied] = true;
    for (int s = 0; s < r->n_stores; s++) is_needed[r->stores[s].value->id] = true;
    for (int i = 0; i < r->n_sums; i++)
        for (int s = 0; s < 2; s++) {
            if (r->sums[i].buffer[s] >= 0) is_read[r->sums[i].buffer[s]] = true;
            else is_needed[r->sums[i].factor[s]->id] = true;
        }
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        int b = node_buffer(p, n);
        if (!is_needed[i] || group_sum(r, n) >= 0 || (r->is_copy && n == copied_value(r->stores[0].value))) continue;
        bool is_loaded = b >= 0 && !writes_buffer(r, b) && !is_chain_step(r, n);
        if (is_loaded) is_read[b] = true;
        for (int a = 0; a < n->n_args && !is_loaded; a++) is_needed[n->args[a]->id] = true;
    }
    return is_read;
}

const char *ir_verify_order(const struct graph *g, const struct partition *p) {
    for (int i = 0; i < p->n_groups; i++) {
        const bool *is_read = ir_buffers_read(g, p, &p->groups[i]);
        for (int b = 0; b < p->n_buffers; b++)
            if (is_read[b] && group_of_buffer(p, b) >= i)
                return fail(g, p->buffers[b].value, "is read before it is written");
    }
    return NULL;
}

const char *ir_verify(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        const char *wrong = verify_node(g, g->nodes[i], i);
        if (wrong) return wrong;
    }
    for (int o = 0; o < g->n_outputs; o++) {
        const struct node *v = g->outputs[o].value;
        const struct param *p = &g->kernel->params[g->outputs[o].param];
        if (v->id >= g->n_nodes || g->nodes[v->id] != v) return fail(g, v, "is an output outside the graph");
        if (v->kind == N_PLACE && v->param != g->outputs[o].param) return fail(g, v, "is stored to another parameter");
        if (v->kind == N_PLACE) continue;
        for (int a = 0; a < v->n_axes; a++) {
            bool found = false;
            for (int j = 0; j < p->n_axes; j++) found |= p->axes[j] == v->axes[a];
            if (!found) return fail(g, v, "is an output with an axis its parameter lacks");
        }
    }
    for (int i = 0; i < g->n_partitions; i++) {
        const char *wrong = verify_partition(g, &g->partitions[i]);
        if (wrong) return wrong;
    }
    return NULL;
}
