/* Factors by which the elements of a chain need not be multiplied. In exp(x - c), let c be the maximum of x's row and x
 * = y * f, or a choice between y * f and -inf, where f is above 0 and the same for all elements. Then exp(y * f - c) is
 * one multiply-add, and c is f times the maximum of y, to the bit, because rounding keeps the order. Likewise for x =
 * y / d: c is the maximum of y divided by d, and exp(y / d - c) takes a multiply-add of y and 1 / d. An intermediate
 * y * f that is rounded to bf16, which has the range of f32, leaves f to the result: the number of roundings hardly
 * changes.
 *
 * In: a chain whose passes are known. Out: for its exponentials, f and the product. */
#include <math.h>

#include "schedule/chain_program.h"

enum { MOST_STEPS = 6 };

/* A constant that is plain as kernels/driver_chain.cuh:fx_chain_late has it. */
static bool is_plain(const struct node *n) { return n->kind == N_CONST && n->num >= 1e-30 && n->num <= 1e30; }

static bool is_minus_infinity(const struct node *n) { return n->kind == N_CONST && isinf(n->num) && n->num < 0; }

static bool is_zero(const struct node *n) { return n->kind == N_CONST && n->num == 0; }

/* Whether `by` alone reads n, of what any pass computes; NULL: maxima and differences from shifts alone do. */
static bool is_read_by(const struct graph *g, const struct chain *x, const struct node *n, const struct node *by) {
    for (int i = n->id + 1; i < g->n_nodes; i++) {
        const struct node *reader = g->nodes[i];
        bool reads = false, is_shifting = reader == by;
        for (int k = 0; k < reader->n_args; k++) reads |= reader->args[k] == n;
        for (int k = 0; k < x->n_exps && !by; k++)
            is_shifting |= x->exps[k].x == n && (reader == x->exps[k].maximum || reader == x->exps[k].e->args[0]);
        if (reads && !is_shifting) return false;
    }
    return true;
}

/* Whether n is made of what a launch is given, scalars and extents, in at most `depth` steps. */
static bool is_given(const struct node *n, int depth) {
    const bool is_leaf = n->kind == N_SCALAR || n->kind == N_SIZE || n->kind == N_CONST;
    bool is = n->n_axes == 0 && (is_leaf || ((n->kind == N_CAST || n->kind == N_OP) && depth > 0));
    for (int i = 0; i < n->n_args && is; i++) is = is_given(n->args[i], depth - 1);
    return is;
}

/* The product or quotient that exponential k is taken of, if its factor may wait: one that is given at the launch only
 * where the driver can multiply in its place, first contractions themselves. A divisor is no negative number: by such a
 * one, whose reciprocal the driver multiplies by, elements would be rounded once more. */
static struct node *find_product(const struct graph *g, const struct chain *x, const struct shifted_exp *e, int *side) {
    struct node *n = e->x;
    if (!is_read_by(g, x, n, NULL)) return NULL;
    if (node_is_op(n, O_WHERE)) {
        int other = is_minus_infinity(n->args[2]) ? 1 : is_minus_infinity(n->args[1]) ? 2 : 0;
        if (!other || !is_read_by(g, x, n->args[other], n)) return NULL;
        n = n->args[other];
    }
    if (n->kind != N_OP || n->dtype != FX_F32) return NULL;
    const bool is_divided = n->op == O_DIV;
    if (!is_divided && n->op != O_MUL) return NULL;
    for (*side = is_divided; *side < 2; ++*side) {
        const struct node *by = n->args[*side], *of = n->args[1 - *side];
        const bool may_wait = by->dtype == FX_F32 && by->kind != N_CONST && is_given(by, MOST_STEPS) &&
                              (!is_divided || node_is_op(by, O_SQRT));
        if (is_plain(by) || (may_wait && x->parts.n_inner == 1 && of == x->parts.inner[0])) return n;
    }
    return NULL;
}

/* Whether of what the intermediate is made of `by` alone, or nothing, reads n. */
static bool is_made_into(const struct graph *g, const struct chain *x, const struct node *n, const struct node *by) {
    const bool *needed = x->passes[x->n_passes - 1].sums;
    for (int i = n->id + 1; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_args && needed[i]; k++)
            if (g->nodes[i]->args[k] == n && g->nodes[i] != by) return false;
    return true;
}

/* The scalar that the intermediate, or what it chooses in place of 0, is multiplied by. */
static void find_outer(const struct graph *g, struct chain *x) {
    struct node *n = x->parts.intermediate;
    if (x->outer_exp >= 0 || x->parts.n_steps || x->second.b_dtype != FX_BF16 || !is_made_into(g, x, n, NULL)) return;
    if (node_is_op(n, O_WHERE)) {
        int other = is_zero(n->args[2]) ? 1 : is_zero(n->args[1]) ? 2 : 0;
        if (!other || !is_made_into(g, x, n->args[other], n)) return;
        n = n->args[other];
    }
    for (int side = 0; node_is_op(n, O_MUL) && n->dtype == FX_F32 && side < 2; side++) {
        if (n->args[side]->kind != N_SCALAR || n->args[side]->dtype != FX_F32) continue;
        x->outer_product = n, x->outer_factor = n->args[side], x->outer_scaled = n->args[1 - side];
        return;
    }
}

/* Whether the pass takes an exponential online whose shift may lie above its maximum, made of values that know no
 * factor. All exponentials of a pass with factors are of one x, so that none of them has a factor then. */
static bool has_raised(const struct chain *x, int pass) {
    for (int k = 0; k < x->n_exps; k++)
        if (chain_is_online(x, k, pass) && x->exps[k].is_raised) return true;
    return false;
}

static bool is_made_of(const struct node *n, const struct node *of) {
    bool is = n == of;
    for (int i = 0; i < n->n_args && !is; i++) is = is_made_of(n->args[i], of);
    return is;
}

/* The factor is computed where it is used, not kept of each row. */
static void drop_value(struct node **values, int *n_values, const struct node *factor) {
    int n = 0;
    for (int i = 0; i < *n_values; i++)
        if (!is_made_of(factor, values[i])) values[n++] = values[i];
    *n_values = n;
}

void chain_find_factors(const struct graph *g, struct chain *x) {
    find_outer(g, x);
    for (int k = 0; k < x->n_exps; k++) {
        struct shifted_exp *e = &x->exps[k];
        const struct chain_pass *pass = &x->passes[e->pass];
        int side;
        if (!e->is_online || has_raised(x, e->pass) || !pass->keeps || pass->n_maxima != 1 ||
            e->maximum->reduction != RED_MAX)
            continue;
        e->product = find_product(g, x, e, &side);
        if (!e->product) continue;
        e->factor = e->product->args[side], e->scaled = e->product->args[1 - side];
        drop_value(x->values, &x->n_values, e->factor);
        for (int w = 0; w < x->n_passes; w++) drop_value(x->passes[w].values, &x->passes[w].n_values, e->factor);
    }
}
