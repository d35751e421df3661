/* Sums of a function of two values, each of which lacks labels of the result that the other has: distances of all rows of
 * one tensor from all of another, sum[D]((x - c) ** 2).
 *
 * In: a node. Out: its two values, between which and the sum there are pointwise operations alone. A tile of results then
 * takes each value once for many of them, as a matrix product takes its factors. The function is 0 where both values are
 * 0, which is what stands behind their ends. */
#include "graph/ir.h"
#include "graph/tensor.h"

struct pair_finder {
    const struct graph *g;
    const struct node *sum;
    const struct node *sides[2];
    int n_sides, n_met;
};

enum { MOST_OPERATIONS = 32, OF_FUNCTION = 16 };

/* Whether v lacks a label of the result, of more than one element. */
static bool is_side(const struct pair_finder *f, const struct node *v) {
    for (int i = 0; i < f->sum->n_axes; i++)
        if (f->g->kernel->axes[f->sum->axes[i]].extent != 1 && !node_has_axis(v, f->sum->axes[i])) return true;
    return false;
}

/* Finds the values that v is made of; false where it is made of more, or of something else. */
static bool find_sides(struct pair_finder *f, const struct node *v) {
    if (v->kind == N_CONST) return true;
    if (is_side(f, v)) {
        for (int i = 0; i < f->n_sides; i++)
            if (f->sides[i] == v) return true;
        if (f->n_sides == 2 || v->dtype != FX_F32 || !node_has_all(v, f->sum->reduced, f->sum->n_reduced)) return false;
        f->sides[f->n_sides++] = v;
        return true;
    }
    if (v->kind != N_OP || v->dtype != FX_F32 || ++f->n_met > MOST_OPERATIONS) return false;
    for (int i = 0; i < v->n_args; i++)
        if (!find_sides(f, v->args[i])) return false;
    return true;
}

/* The function of v where both values are 0, each step rounded to f32 as the kernel has it. */
static float at_zero(const struct pair_finder *f, const struct node *v) {
    double x[MAX_ARGS] = {0};
    if (v->kind == N_CONST) return (float)v->num;
    if (v == f->sides[0] || v == f->sides[1]) return 0;
    for (int i = 0; i < v->n_args; i++) x[i] = at_zero(f, v->args[i]);
    return (float)op_eval(v->op, x[0], x[1], x[2]);
}

bool as_pairing(const struct graph *g, const struct node *n, struct contraction *out) {
    struct pair_finder f = {.g = g, .sum = n};
    if (n->kind != N_REDUCE || n->reduction != RED_SUM || n->dtype != FX_F32 || as_mainloop(n, out)) return false;
    const struct node *term = n->args[0];
    if (term->kind != N_OP || is_side(&f, term) || !find_sides(&f, term) || f.n_sides != 2) return false;
    const int first = f.sides[0]->id > f.sides[1]->id; /* in the order in which they were made */
    *out = (struct contraction){(struct node *)f.sides[first], (struct node *)f.sides[1 - first]};
    return has_own_axis(g, n, out->a, out->b) && has_own_axis(g, n, out->b, out->a) && at_zero(&f, term) == 0;
}

double pairing_operations(const struct graph *g, const struct node *n) {
    struct contraction c;
    bool *is_met = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    double operations = 0;
    if (!as_pairing(g, n, &c)) return 1;
    is_met[n->args[0]->id] = true;
    for (int i = n->args[0]->id; i > c.a->id || i > c.b->id; i--) {
        const struct node *v = g->nodes[i];
        if (!is_met[i] || v == c.a || v == c.b || v->kind != N_OP) continue;
        operations += op_info[v->op].rule == RULE_FLOAT || v->op == O_DIV ? OF_FUNCTION : 1;
        for (int a = 0; a < v->n_args; a++) is_met[v->args[a]->id] = true;
    }
    return operations + !node_is_op(n->args[0], O_MUL); /* the last product is added as it is made */
}

bool as_tiles(const struct graph *g, const struct node *n, struct contraction *out) {
    if (is_matrix_product(g, n)) return as_contraction(n, out);
    return g->kernel->fuse == FUSE_PREFER && !g->kernel->kernels && as_pairing(g, n, out);
}
