/* Functions of chain elements that are used only in shifted exponentials. The relative error of exp(x - c), rounded to
 * 16 bits, is the absolute error of x, however small x is. A stored maximum or sum of a row is not rounded so.
 *
 * In: a chain whose passes are known. Out: whether a function may have only that accuracy. */
#include <math.h>

#include "schedule/chain_program.h"

/* What an error of 2^-21 may be multiplied by: that leaves a 64th of what rounding to bf16 takes, an 8th of f16's. */
static const double MOST_FACTOR = 64;

static bool is_base(const struct chain *x, const struct node *n) {
    for (int k = 0; k < x->n_exps; k++)
        if (x->exps[k].x == n && x->exps[k].is_online) return true;
    return false;
}

/* Whether `by` reads n as what an exponential is taken of: the difference from its shift, or the maximum in that. */
static bool is_shifting(const struct chain *x, const struct node *by, const struct node *n) {
    for (int k = 0; k < x->n_exps; k++)
        if (x->exps[k].is_online && x->exps[k].x == n && (by == x->exps[k].maximum || by == x->exps[k].e->args[0]))
            return true;
    return false;
}

/* What an error of n's operand `of` is multiplied by at most where it goes on to n, or -1. */
static double factor_of(const struct node *n, const struct node *of) {
    if (n->kind != N_OP || n->dtype != FX_F32) return -1;
    switch (n->op) {
    case O_NEG: case O_ADD: case O_SUB: return n->args[0] == n->args[n->n_args - 1] && n->n_args > 1 ? 2 : 1;
    case O_WHERE: return n->args[0] == of ? -1 : 1;
    case O_MUL:
        for (int side = 0; side < 2; side++)
            if (n->args[side] == of && n->args[1 - side]->kind == N_CONST) return fabs(n->args[1 - side]->num);
        return -1;
    default: return -1;
    }
}

/* Whether all that elements make of n, whose error is so many times that of the function, are such exponentials. */
static bool ends_in_exponents(const struct graph *g, const struct chain *x, const struct node *n, double factor) {
    bool any = false;
    if (!(factor <= MOST_FACTOR)) return false;
    for (int i = n->id + 1; i < g->n_nodes; i++) {
        const struct node *by = g->nodes[i];
        bool reads = false, is_needed = false;
        for (int k = 0; k < by->n_args; k++) reads |= by->args[k] == n;
        for (int w = 0; w < x->n_passes; w++) is_needed |= x->passes[w].needs[i];
        for (int s = 0; s < x->parts.n_steps; s++) is_needed |= x->parts.steps[s] == by;
        for (int k = 0; k < x->n_exps; k++) is_needed |= x->exps[k].e->args[0] == by;
        if (!reads || !is_needed) continue;
        any = true;
        if (is_base(x, n) && is_shifting(x, by, n)) continue;
        double more = factor_of(by, n);
        if (more < 0 || !ends_in_exponents(g, x, by, factor * more)) return false;
    }
    return any;
}

bool chain_is_loose(const struct graph *g, const struct chain *x, const struct node *n) {
    bool is_16 = x->second.b_dtype == FX_F16 || x->second.b_dtype == FX_BF16;
    return is_16 && !x->stores_rows && node_is_op(n, O_TANH) && n->dtype == FX_F32 && ends_in_exponents(g, x, n, 1);
}
