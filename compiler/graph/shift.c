/* The shift of exponentials: a maximum, or a value computed from it that equals it where it is finite. */
#include "graph/shift.h"

#include <math.h>

static double side_at(const struct node *n, const struct node *of, double v, bool *is_known) {
    if (n == of) return v;
    if (node_is_op(n, O_ABS) && n->args[0] == of) return fabs(v);
    *is_known &= n->kind == N_CONST && fx_is_float(n->dtype);
    return n->num;
}

bool shift_decides(const struct node *n, const struct node *of, double low, double high, bool *is_true) {
    if (node_is_op(n, O_NOT)) {
        if (!shift_decides(n->args[0], of, low, high, is_true)) return false;
        *is_true = !*is_true;
        return true;
    }
    if (n->kind != N_OP || op_info[n->op].rule != RULE_COMPARE || n->n_args != 2) return false;
    bool is_known = true;
    double at[3] = {low, high, low + (high - low) / 2};
    if (isinf(high - low)) at[2] = 0;
    for (int i = 0; i < 3; i++) {
        double a = side_at(n->args[0], of, at[i], &is_known), b = side_at(n->args[1], of, at[i], &is_known);
        bool holds = op_eval(n->op, a, b, 0) != 0;
        if (!is_known || (i && holds != *is_true)) return false;
        *is_true = holds;
    }
    /* between these points it may change only where the number lies within the range */
    for (int i = 0; i < 2; i++)
        if (n->args[i]->kind == N_CONST && n->args[i]->num >= low && n->args[i]->num <= high) return false;
    return true;
}

bool shift_is_like(const struct node *n, const struct node *of, double low, double high) {
    bool is_true;
    for (; node_is_op(n, O_WHERE); n = n->args[is_true ? 1 : 2])
        if (!shift_decides(n->args[0], of, low, high, &is_true)) return false;
    return n == of;
}

bool shift_is_made_of(const struct node *n, const struct node *of, int depth) {
    if (n == of || n->kind == N_CONST) return true;
    if ((n->kind != N_OP) || depth > 8) return false;
    for (int i = 0; i < n->n_args; i++)
        if (!shift_is_made_of(n->args[i], of, depth + 1)) return false;
    return true;
}
