/* Beginning and end of the rows of a chain's intermediate: conditions on the running index beyond which an element adds
 * nothing.
 *
 * In: a chain whose passes are known. Out: its limits, and how they recur along its rows. They follow from the values
 * of all nodes where a condition excludes an element: the intermediate must be 0 there, and every reduced value the
 * initial value of its reduction. */
#include "schedule/chain_program.h"

#include <math.h>

/* Whether n is the same everywhere along the intermediate, and small: sums of it do not wrap. */
static bool is_small(const struct chain *x, const struct node *n) {
    if (n->kind == N_CONST) return n->integer > -(1ll << 40) && n->integer < 1ll << 40;
    if (n->kind == N_CAST) return fx_dtype_bits(n->args[0]->dtype) <= 32 && !fx_is_float(n->args[0]->dtype) &&
                                  !x->is_element[n->id];
    return n->kind == N_SIZE || (n->kind == N_INDEX && !x->is_element[n->id]);
}

/* Whether n is the running index along the intermediate, or its negative, plus what is small. */
static bool is_running(const struct chain *x, const struct node *n, bool *is_falling, int depth) {
    if (n->kind == N_INDEX) return n->axis == x->parts.t[0];
    if (n->kind != N_OP || (n->op != O_ADD && n->op != O_SUB) || depth > 4) return false;
    for (int side = 0; side < 2; side++) {
        if (!is_small(x, n->args[1 - side]) || !is_running(x, n->args[side], is_falling, depth + 1)) continue;
        *is_falling ^= n->op == O_SUB && side == 1;
        return true;
    }
    return false;
}

/* Takes condition c, which says what counts, or what does not, as a limit of rows. */
static void add_limit(struct chain *x, struct node *c, bool is_negated) {
    if (c->kind != N_OP || (c->op != O_LE && c->op != O_LT && c->op != O_GE && c->op != O_GT) ||
        c->args[0]->dtype != FX_I64)
        return;
    for (int side = 0; side < 2 && x->n_limits < MAX_LIMITS; side++) {
        bool is_falling = false, is_upper = ((c->op == O_LE || c->op == O_LT) != is_negated) == (side == 0);
        if (x->is_element[c->args[1 - side]->id] || x->level[c->args[1 - side]->id] > 0 ||
            !is_running(x, c->args[side], &is_falling, 0)) continue;
        x->limits[x->n_limits++] = (struct limit){.condition = c,
            .running = c->args[side],
            .bound = c->args[1 - side],
            .is_falling = is_falling,
            .is_end = is_upper != is_falling,
            .is_strict = (c->op == O_LT || c->op == O_GT) != is_negated};
        return;
    }
}

/* Those among several conditions, all of which have to hold, or, negated, any. */
static void add_limits(struct chain *x, struct node *c, bool is_negated, int depth) {
    if (!node_is_op(c, is_negated ? O_OR : O_AND) || depth > 8) {
        add_limit(x, c, is_negated);
        return;
    }
    for (int i = 0; i < 2; i++) add_limits(x, c->args[i], is_negated, depth + 1);
}

/* Labels of m from the first one on that some limit has: for others limits are the same. */
static void find_period(struct chain *x) {
    const struct axis_list *m = &x->second.m;
    int first = 0;
    for (bool has_it = false; first < m->n; first++) {
        for (int i = 0; i < x->n_limits; i++)
            has_it |= node_has_axis(x->limits[i].running, m->axes[first]) ||
                      node_has_axis(x->limits[i].bound, m->axes[first]);
        if (has_it) break;
    }
    for (int i = first < m->n ? first : 0; i < m->n; i++) x->period.axes[x->period.n++] = m->axes[i];
}

/* What nodes are where a condition says that an element does not count: known numbers. */
struct beyond {
    bool *is_known; /* by node */
    double *is;
    unsigned *finite; /* first contractions that a 0 is multiplied by, which have to be finite; a bit for each */
};

/* Whether n is finite whatever it is made of: x where that is finite, else a number. */
static bool is_finite(const struct node *n) {
    if (n->kind == N_CONST) return fx_is_float(n->dtype) && isfinite(n->num);
    if (!node_is_op(n, O_WHERE) || !node_is_op(n->args[0], O_LT) || !is_finite(n->args[2])) return false;
    const struct node *x = n->args[0]->args[0];
    return node_is_op(x, O_ABS) && x->args[0] == n->args[1] && node_is_number(n->args[0]->args[1], INFINITY);
}

static void find_beyond_op(
    const struct graph *g, const struct group *r, const struct chain *x, const struct node *n, struct beyond *b) {
    double v[3] = {0};
    bool all = true;
    for (int i = 0; i < n->n_args; i++) {
        int id = n->args[i]->id;
        all &= b->is_known[id];
        v[i] = b->is[id];
        bool decides = (n->op == O_AND && v[i] == 0) || (n->op == O_OR && v[i] != 0);
        if (decides && b->is_known[id]) b->is_known[n->id] = true, b->is[n->id] = v[i];
    }
    if (n->op == O_WHERE && b->is_known[n->args[0]->id]) {
        const struct node *taken = n->args[v[0] != 0 ? 1 : 2];
        b->is_known[n->id] = b->is_known[taken->id];
        b->is[n->id] = b->is[taken->id];
    } else if (all && n->n_args > 0 && fx_is_float(n->args[n->n_args - 1]->dtype)) {
        b->is[n->id] = op_eval(n->op, v[0], v[1], v[2]);
        b->is_known[n->id] = !isnan(b->is[n->id]);
    }
    if (n->op == O_SUB && b->is_known[n->args[0]->id] && v[0] == -INFINITY && is_finite(n->args[1]))
        b->is_known[n->id] = true, b->is[n->id] = -INFINITY;
    if (n->op == O_DIV && b->is_known[n->args[0]->id] && v[0] == 0 && !b->is_known[n->args[1]->id] &&
        !chain_is_of_products(g, r, n->args[1])) /* a divisor counts as a number, and not as 0 */
        b->is_known[n->id] = true, b->is[n->id] = 0;
    for (int side = 0; side < 2 && n->op == O_MUL; side++) {
        int sum = group_sum(r, n->args[side]), other = n->args[1 - side]->id;
        if (sum < 0 || sum == r->n_sums - 1 || !b->is_known[other] || b->is[other] != 0) continue;
        b->is_known[n->id] = true, b->is[n->id] = 0;
        b->finite[n->id] = 1u << sum;
    }
    for (int k = 0; k < x->n_exps; k++) /* a shift that is not finite is no shift yet, and makes all of a row NaN */
        if (x->exps[k].e == n && b->is_known[x->exps[k].x->id] && b->is[x->exps[k].x->id] == -INFINITY)
            b->is_known[n->id] = true, b->is[n->id] = 0;
}

/* Where condition c is `says`. */
static struct beyond find_beyond(
    const struct graph *g, const struct group *r, const struct chain *x, const struct node *c, bool says) {
    struct beyond b = {.is_known = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1),
        .is = NEW_ARRAY(&g->cx->arena, double, g->n_nodes + 1),
        .finite = NEW_ARRAY(&g->cx->arena, unsigned, g->n_nodes + 1)};
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (n == c) b.is_known[i] = true, b.is[i] = says;
        else if (n->kind == N_CONST && (fx_is_float(n->dtype) || n->dtype == FX_BOOL))
            b.is_known[i] = true, b.is[i] = n->num;
        else if (n->kind == N_OP) find_beyond_op(g, r, x, n, &b);
        for (int k = 0; n->kind == N_OP && k < x->n_deferred; k++) { /* divided, or chosen, at the end */
            int stays = chain_undeferred(x, n);
            if (stays < 0) continue;
            b.is_known[i] = b.is_known[n->args[stays]->id];
            b.is[i] = b.is[n->args[stays]->id];
        }
    }
    return b;
}

/* The first contractions that what is known of the intermediate and of what is reduced relies on. */
static unsigned finite_below(
    const struct graph *g, const struct group *r, const struct chain *x, const struct beyond *b) {
    bool *needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    unsigned finite = 0;
    needed[x->parts.intermediate->id] = true;
    for (int i = 0; i < r->n_steps; i++) needed[r->steps[i]->args[0]->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!needed[i] || n->kind != N_OP) continue;
        finite |= b->finite[i];
        int first = 0, end = n->n_args;
        if (n->op == O_WHERE && b->is_known[n->args[0]->id])
            first = b->is[n->args[0]->id] != 0 ? 1 : 2, end = first + 1;
        for (int k = first; k < end; k++) needed[n->args[k]->id] |= b->is_known[n->args[k]->id];
    }
    return finite;
}

/* Whether the columns of a first contraction, by a bit for each, lie in memory. */
static bool are_copied(const struct chain *x, unsigned sums) {
    bool are = true;
    for (int i = 0; i < x->first.n_segments; i++)
        for (int j = 0; j < x->first.segments[i].n_sums; j++)
            are &= !(sums >> x->first.segments[i].sums[j] & 1) || !x->first.segments[i].b[j].is_computed;
    return are;
}

/* Whether what does not count by c adds nothing to any sum of a pass, nor to D. */
static bool adds_nothing(
    const struct graph *g, const struct group *r, struct chain *x, const struct node *c, bool says) {
    const struct beyond b = find_beyond(g, r, x, c, says);
    const struct node *p = x->parts.intermediate;
    if (!b.is_known[p->id] || b.is[p->id] != 0) return false;
    for (int i = 0; i < r->n_steps; i++) {
        const struct node *n = r->steps[i], *of = n->args[0];
        double neutral = n->reduction == RED_MAX ? -INFINITY
                         : n->reduction == RED_MIN ? INFINITY
                                                   : n->reduction == RED_PROD;
        if (!fx_is_float(n->dtype) || !b.is_known[of->id] || b.is[of->id] != neutral) return false;
    }
    x->finite = finite_below(g, r, x, &b);
    return are_copied(x, x->finite);
}

/* Every element before or behind some place of a row is one that adds nothing to sums, and 0 to the second contraction:
 * rows begin and end there, as long as what it is multiplied by is finite, which the kernel looks up in memory, or
 * multiplies: the last contraction's factor, and that of the first ones that are multiplied by a 0. The place is what a
 * condition says of which elements are chosen. */
void chain_find_limits(const struct graph *g, const struct group *r, struct chain *x) {
    if (x->parts.n_t != 1) return;
    for (int i = x->parts.intermediate->id; i >= 0 && !x->n_limits; i--) {
        const struct node *n = g->nodes[i];
        if (!node_is_op(n, O_WHERE) || !x->is_element[n->args[0]->id]) continue;
        for (int negated = 0; negated < 2 && !x->n_limits; negated++) {
            if (!adds_nothing(g, r, x, n->args[0], negated)) continue;
            x->is_negated = negated;
            add_limits(x, n->args[0], negated, 0);
        }
    }
    if (x->n_limits) find_period(x);
}
