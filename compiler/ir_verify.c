/* States what every graph between two passes must be; called after each of them. */
#include <stdio.h>
#include <string.h>

#include "ir.h"

static const char *fail(const struct graph *g, const struct node *n, const char *what) {
    return arena_printf(&g->cx->arena, "%s: node %%%d %s", g->kernel->name, n ? n->id : -1, what);
}

static bool is_set(const int *axes, int n, int n_axes) {
    for (int i = 0; i < n; i++)
        if (axes[i] < 0 || axes[i] >= n_axes || (i && axes[i - 1] >= axes[i])) return false;
    return n >= 0 && n <= MAX_AXES;
}

static const char *verify_axes(const struct graph *g, const struct node *n) {
    if (!is_set(n->axes, n->n_axes, g->kernel->n_axes)) return fail(g, n, "has axes that are no ascending set");
    int expected[MAX_AXES * 4], n_expected = 0;
    for (int i = 0; i < 3 && n->args[i]; i++)
        for (int j = 0; j < n->args[i]->n_axes; j++) {
            bool seen = false;
            for (int k = 0; k < n_expected; k++) seen |= expected[k] == n->args[i]->axes[j];
            for (int k = 0; k < n->n_reduced; k++) seen |= n->reduced[k] == n->args[i]->axes[j];
            if (!seen) expected[n_expected++] = n->args[i]->axes[j];
        }
    if (n->kind == N_INPUT) {
        const struct param *p = &g->kernel->params[n->param];
        return nodes_same_axes(n->axes, n->n_axes, p->axes, p->n_axes) ? NULL : fail(g, n, "has other axes than its parameter");
    }
    return nodes_same_axes(n->axes, n->n_axes, expected, n_expected) ? NULL : fail(g, n, "has other axes than its operands give");
}

static const char *verify_node(const struct graph *g, const struct node *n, int i) {
    static const int arity[] = {[N_ROUND] = 1, [N_REDUCE] = 1};
    if (n->id != i) return fail(g, n, "has a wrong id");
    int n_args = n->kind == N_OP ? op_info[n->op].arity : arity[n->kind];
    for (int a = 0; a < 3; a++) {
        if ((n->args[a] != NULL) != (a < n_args)) return fail(g, n, "has a wrong number of operands");
        if (n->args[a] && (n->args[a]->id >= i || g->nodes[n->args[a]->id] != n->args[a])) return fail(g, n, "stands before an operand");
    }
    if ((n->kind == N_INPUT || n->kind == N_SCALAR) && (n->param < 0 || n->param >= g->kernel->n_params || g->kernel->params[n->param].is_output))
        return fail(g, n, "names no input");
    if ((n->kind == N_INPUT || n->kind == N_SCALAR) && g->kernel->params[n->param].is_scalar != (n->kind == N_SCALAR))
        return fail(g, n, "takes a tensor for a scalar");
    if (n->kind == N_REDUCE) {
        if (!is_set(n->reduced, n->n_reduced, g->kernel->n_axes) || n->n_reduced == 0) return fail(g, n, "reduces over no set of axes");
        for (int r = 0; r < n->n_reduced; r++)
            if (!node_has_axis(n->args[0], n->reduced[r])) return fail(g, n, "reduces over an axis its operand lacks");
    }
    bool is_bool = n->dtype == FX_BOOL;
    if (n->kind == N_ROUND ? n->dtype != FX_F16 && n->dtype != FX_BF16 : !is_bool && n->dtype != FX_F32) return fail(g, n, "has no compute type");
    if (n->kind == N_OP) {
        enum op_rule rule = op_info[n->op].rule;
        if (is_bool != (rule == RULE_COMPARE || rule == RULE_LOGIC)) return fail(g, n, "has the wrong dtype for its op");
        for (int a = 0; a < n_args; a++) {
            bool wants_bool = rule == RULE_LOGIC || (rule == RULE_SELECT && a == 0);
            if ((n->args[a]->dtype == FX_BOOL) != wants_bool) return fail(g, n, "has an operand of the wrong dtype");
        }
    }
    return verify_axes(g, n);
}

static int group_of_buffer(const struct partition *p, int buffer) {
    int found = -1;
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < p->groups[i].n_stores; s++)
            if (p->groups[i].stores[s].buffer == buffer) found = found < 0 ? i : p->n_groups;
    return found;
}

static const char *verify_partition(const struct graph *g, const struct partition *p) {
    for (int o = 0; o < g->n_outputs; o++) {
        int n = 0;
        for (int i = 0; i < p->n_groups; i++)
            for (int s = 0; s < p->groups[i].n_stores; s++)
                n += p->groups[i].stores[s].param == g->outputs[o].param && p->groups[i].stores[s].value == g->outputs[o].value;
        if (n != 1) return fail(g, g->outputs[o].value, "is an output not stored exactly once");
    }
    for (int b = 0; b < p->n_buffers; b++) {
        int at = group_of_buffer(p, b);
        if (at < 0 || at >= p->n_groups) return fail(g, p->buffers[b].value, "is a buffer not written exactly once");
    }
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < 2; s++) {
            int b = p->groups[i].contraction ? p->groups[i].operand_buffer[s] : -1;
            if (b >= 0 && group_of_buffer(p, b) >= i) return fail(g, p->buffers[b].value, "is read before it is written");
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
