/* In: an integer node. Out: the node as a sum of running indices, each times a number, and a number. */
#include "graph/linear.h"

static bool add_term(struct linear *l, int axis, int64_t factor) {
    int i = 0;
    while (i < l->n && l->axis[i] != axis) i++;
    if (i == LINEAR_TERMS) return false;
    if (i == l->n) l->axis[l->n++] = axis, l->factor[i] = 0;
    return !__builtin_add_overflow(l->factor[i], factor, &l->factor[i]);
}

static bool is_small(int64_t v) { return v <= INT32_MAX && v >= -INT32_MAX; }

enum { MOST_STEPS = 512 }; /* nodes met on the way: a sum of itself, over and over, would double them each time */

/* Adds scale * n; with an axis, its terms in that axis alone, whatever the others are. */
static bool add(struct linear *l, const struct node *n, int64_t scale, int axis, int *left) {
    if (!is_small(scale) || --*left < 0) return false;
    if (axis >= 0 && !node_has_axis(n, axis)) return true;
    if (n->kind == N_INDEX) return add_term(l, n->axis, scale);
    if (n->kind == N_CONST && fx_is_integer(n->dtype))
        return is_small(n->integer) && !__builtin_add_overflow(l->first, scale * n->integer, &l->first);
    if (n->kind != N_OP) return false;
    if (n->op == O_ADD) return add(l, n->args[0], scale, axis, left) && add(l, n->args[1], scale, axis, left);
    if (n->op == O_SUB) return add(l, n->args[0], scale, axis, left) && add(l, n->args[1], -scale, axis, left);
    if (n->op != O_MUL) return false;
    for (int i = 0; i < 2; i++) {
        const struct node *c = n->args[i];
        if (c->kind == N_CONST && fx_is_integer(c->dtype) && is_small(c->integer))
            return add(l, n->args[1 - i], scale * c->integer, axis, left);
    }
    return false;
}

bool linear_add(struct linear *l, const struct node *n, int64_t scale) {
    int left = MOST_STEPS;
    return add(l, n, scale, -1, &left);
}

bool linear_factor(const struct node *n, int axis, int64_t *factor) {
    struct linear l = {0};
    int left = MOST_STEPS;
    if (!add(&l, n, 1, axis, &left)) return false;
    *factor = l.n ? l.factor[0] : 0;
    return true;
}
