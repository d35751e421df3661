/* In: an integer node. Out: it as a sum of running indices, each times a number, and a number. */
#include "graph/linear.h"

static bool add_term(struct linear *l, int axis, int64_t factor) {
    int i = 0;
    while (i < l->n && l->axis[i] != axis) i++;
    if (i == LINEAR_TERMS) return false;
    if (i == l->n) l->axis[l->n++] = axis, l->factor[i] = 0;
    return !__builtin_add_overflow(l->factor[i], factor, &l->factor[i]);
}

static bool is_small(int64_t v) { return v <= INT32_MAX && v >= -INT32_MAX; }

bool linear_add(struct linear *l, const struct node *n, int64_t scale) {
    if (!is_small(scale)) return false;
    if (n->kind == N_INDEX) return add_term(l, n->axis, scale);
    if (n->kind == N_CONST && fx_is_integer(n->dtype))
        return is_small(n->integer) && !__builtin_add_overflow(l->first, scale * n->integer, &l->first);
    if (n->kind != N_OP) return false;
    if (n->op == O_ADD) return linear_add(l, n->args[0], scale) && linear_add(l, n->args[1], scale);
    if (n->op == O_SUB) return linear_add(l, n->args[0], scale) && linear_add(l, n->args[1], -scale);
    if (n->op != O_MUL) return false;
    for (int i = 0; i < 2; i++) {
        const struct node *c = n->args[i];
        if (c->kind == N_CONST && fx_is_integer(c->dtype) && is_small(c->integer))
            return linear_add(l, n->args[1 - i], scale * c->integer);
    }
    return false;
}
