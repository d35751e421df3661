/* A chain in the form that the driver runs: the role of each label, the pass over the intermediate in which each value
 * is known, and the sums that are computed in the same pass as the maximum that shifts them.
 *
 * In: a group that is a chain. Out: its program, or why no form of the driver takes it. Everything is decided by
 * structure: sums scale by exp(c0 - c1) as their shift changes from c0 to c1 only if the exponential is a factor of the
 * summand and all other factors are known before the pass. */
#include "schedule/chain_program.h"

#include <math.h>

#include "graph/shift.h"

/* ---- what is taken online ---- */

/* Whether n is the same for all of a row, and known once `pass` passes are over. */
static bool is_of_row(const struct chain *x, const struct node *n, int pass) {
    return x->level[n->id] <= pass && !node_has_any(n, x->parts.t, x->parts.n_t) && n->dtype == FX_F32;
}

/* By node, up to `end`: the maximum m, or the larger one of such a node and a value of the row. */
static bool *find_raised(const struct graph *g, const struct chain *x, const struct node *m, int end, int pass) {
    bool *is = NEW_ARRAY(&g->cx->arena, bool, end + 1);
    for (int i = m->id; i < end; i++) {
        const struct node *n = g->nodes[i];
        is[i] = n == m;
        for (int side = 0; side < 2 && node_is_op(n, O_MAX); side++)
            is[i] |= is[n->args[side]->id] && is_of_row(x, n->args[1 - side], pass);
    }
    return is;
}

/* e = exp(x - c), c the maximum of x's row, or the larger one of it and values of the row, where that is finite, made
 * of it and numbers elsewhere: at most 1 while the maximum is being found, too. */
static bool as_shifted_exp(
    const struct graph *g, const struct chain *x, const struct node *n, struct shifted_exp *out) {
    if (!node_is_op(n, O_EXP) && !node_is_op(n, O_EXP2)) return false;
    const struct node *d = n->args[0];
    if (!node_is_op(d, O_SUB)) return false;
    for (int i = 0; i < x->parts.n_steps; i++) {
        struct node *m = x->parts.steps[i];
        if (m->reduction != RED_MAX || m->args[0] != d->args[0] || m->dtype != FX_F32 || m->id > n->id) continue;
        const bool *is_raised = find_raised(g, x, m, n->id, x->level[d->args[0]->id]);
        for (int k = m->id; k < n->id; k++) {
            const struct node *c = g->nodes[k];
            if (!is_raised[k] || !shift_is_made_of(d->args[1], c, 0) ||
                !shift_is_like(d->args[1], c, -0x1.fffffep127, 0x1.fffffep127))
                continue;
            *out = (struct shifted_exp){.e = (struct node *)n,
                .x = d->args[0],
                .shift = d->args[1],
                .maximum = m,
                .is_raised = c != m};
            return true;
        }
    }
    return false;
}

/* Whether n is no less than 0, or NaN. */
static bool is_no_less_than_0(const struct node *n, int depth) {
    if (n->kind == N_CONST) return fx_is_float(n->dtype) && n->num >= 0;
    if (n->kind != N_OP || depth > 8) return false;
    bool first = n->n_args > 0 && is_no_less_than_0(n->args[0], depth + 1),
         second = n->n_args > 1 && is_no_less_than_0(n->args[1], depth + 1);
    switch (n->op) {
    case O_EXP: case O_EXP2: case O_ABS: case O_SIGMOID: return true;
    case O_MAX: return first || second;
    case O_ADD: return first && second;
    case O_MUL: return (first && second) || n->args[0] == n->args[1];
    default: return false;
    }
}

/* Whether the sum d has what a shift above all maxima makes of that shift, as one of its terms: then it is at least
 * about 1. */
static bool has_term_of_shift(const struct shifted_exp *f, const struct node *d, int depth) {
    if (depth > 8 || d->kind != N_OP) return false;
    const struct node *x = d->n_args ? d->args[0] : d;
    for (int side = 0; side < 2 && d->op == f->e->op && node_is_op(f->shift, O_MAX); side++) {
        const struct node *z = f->shift->args[side];
        if (f->shift->args[1 - side] != f->maximum) continue;
        if (node_is_op(x, O_SUB) && x->args[0] == z && x->args[1] == f->shift) return true;
        if (node_is_op(x, O_NEG) && x->args[0] == f->shift && node_is_number(z, 0)) return true;
    }
    for (int i = 0; i < d->n_args; i++)
        if (has_term_of_shift(f, d->args[i], depth + 1)) return true;
    return false;
}

/* The least that a sum of the row's exponentials is, if it is not 0: one of them is 1, unless the shift is above all
 * maxima. */
static double least_sum(const struct shifted_exp *f) { return f->is_raised ? 0x1p-149 : 0x1p-1; }

/* By node, up to `end`: the sum of e's row, and such a node with more added to it that is no less than 0. */
static bool *find_denominators(const struct graph *g, const struct chain *x, const struct node *e, int end) {
    bool *is = NEW_ARRAY(&g->cx->arena, bool, end + 1);
    for (int i = e->id; i < end; i++) {
        const struct node *n = g->nodes[i];
        is[i] = n->kind == N_REDUCE && n->reduction == RED_SUM && n->args[0] == e &&
                nodes_same_axes(n->reduced, n->n_reduced, x->parts.t, x->parts.n_t);
        for (int side = 0; side < 2 && node_is_op(n, O_ADD); side++)
            is[i] |= is[n->args[side]->id] && is_no_less_than_0(n->args[1 - side], 0) &&
                     !node_has_any(n->args[1 - side], x->parts.t, x->parts.n_t);
    }
    return is;
}

/* Whether d is the sum of e's row, or that and more that is no less than 0, wherever that is more than 0, and no 0 in
 * its place where e is 0 all along: then a sum of e / d may be divided at its end. */
static bool is_normaliser(
    const struct graph *g, const struct chain *x, const struct node *d, const struct shifted_exp *f) {
    const bool *is_sum = find_denominators(g, x, f->e, d->id + 1);
    for (int i = f->e->id; i <= d->id; i++)
        if (is_sum[i] && shift_is_made_of(d, g->nodes[i], 0) &&
            shift_is_like(d, g->nodes[i], least_sum(f), 0x1p127))
            return true;
    return false;
}

/* Whether a condition holds of no row but one whose exponentials e are all 0. */
static bool holds_for_nothing(
    const struct graph *g, const struct chain *x, const struct node *condition, const struct shifted_exp *f) {
    const bool *is_sum = find_denominators(g, x, f->e, condition->id + 1);
    bool is_true;
    for (int i = f->e->id; i <= condition->id; i++)
        if (is_sum[i] && shift_decides(condition, g->nodes[i], least_sum(f), 0x1p127, &is_true) && !is_true)
            return condition->op == O_EQ || condition->op == O_LE || condition->op == O_LT; /* of NaN neither */
    return false;
}

/* The exponential among the factors of a product, all others known once `pass` passes are over; divisors known later
 * are deferred. */
struct factors {
    const struct graph *g;
    const struct chain *x;
    const struct shifted_exp *of;
    struct deferred deferred[MAX_DEFERRED];
    int n_deferred;
    bool may_defer;
    bool is_narrow; /* it is rounded to f16, which may not hold what another factor makes of the exponential before it
                       is scaled and divided */
};

static bool find_factor(struct factors *p, struct node *n, int depth) {
    int pass = p->of->pass;
    const int *level = p->x->level;
    if (n == p->of->e) return true;
    if (depth > 16 || n->kind != N_OP) return false;
    if (n->op == O_MUL && !p->is_narrow)
        for (int side = 0; side < 2; side++)
            if (level[n->args[1 - side]->id] <= pass && find_factor(p, n->args[side], depth + 1)) return true;
    if (n->op == O_DIV) {
        struct node *d = n->args[1];
        bool is_late = level[d->id] > pass, is_large = !p->of->is_raised || has_term_of_shift(p->of, d, 0);
        if (is_late && (!p->may_defer || p->n_deferred == MAX_DEFERRED || !is_normaliser(p->g, p->x, d, p->of) ||
                           (p->is_narrow && !is_large) ||
                           node_has_any(d, p->x->parts.t, p->x->parts.n_t)))
            return false;
        if (!is_late && p->is_narrow) return false;
        if (is_late) p->deferred[p->n_deferred++] = (struct deferred){d, false, is_large};
        return find_factor(p, n->args[0], depth + 1);
    }
    if (n->op == O_WHERE && level[n->args[0]->id] > pass) { /* 0 where all exponentials are: of the sum, too */
        if (!p->may_defer || p->n_deferred == MAX_DEFERRED || !node_is_number(n->args[1], 0) ||
            !holds_for_nothing(p->g, p->x, n->args[0], p->of))
            return false;
        p->deferred[p->n_deferred++] = (struct deferred){n->args[0], true, false};
        return find_factor(p, n->args[2], depth + 1);
    }
    if (n->op == O_WHERE) {
        if (node_is_number(n->args[2], 0)) return find_factor(p, n->args[1], depth + 1);
        if (node_is_number(n->args[1], 0)) return find_factor(p, n->args[2], depth + 1);
    }
    return false;
}

/* ---- levels ---- */

/* A node's level is that of its operands; a reduction is known a pass later, one that is taken online as soon as the
 * maximum it waits for. */
static void find_levels(const struct graph *g, const struct partition *p, const struct group *r, struct chain *x) {
    for (int i = 0; i < g->n_nodes; i++) {
        struct node *n = g->nodes[i];
        struct tensor t;
        struct shifted_exp e;
        x->exp_of[i] = -1;
        x->is_element[i] = node_has_any(n, x->parts.t, x->parts.n_t);
        if (group_sum(r, n) >= 0 || node_is_loaded(g, p, r, n, &t)) continue;
        for (int a = 0; a < n->n_args; a++)
            if (x->level[n->args[a]->id] > x->level[i]) x->level[i] = x->level[n->args[a]->id];
        if (as_shifted_exp(g, x, n, &e) && x->n_exps < MAX_EXPS) {
            e.pass = x->level[e.x->id];
            x->exps[x->n_exps++] = e;
        }
        if (!is_row_step(r, n)) continue;
        for (int k = 0; k < x->n_exps && x->exp_of[i] < 0 && n->reduction == RED_SUM && n->dtype == FX_F32; k++) {
            struct factors product = {.g = g, .x = x, .of = &x->exps[k]};
            if (find_factor(&product, n->args[0], 0)) x->exp_of[i] = k, x->level[i] = x->exps[k].pass;
        }
        if (++x->level[i] > x->n_passes) x->n_passes = x->level[i];
    }
}

/* The second contraction runs in the last pass; where that is the one in which a shift is found, it is scaled along. */
static void place_outer(const struct graph *g, struct chain *x) {
    int plain = x->level[x->parts.intermediate->id];
    x->outer_exp = -1;
    if (x->n_passes == 0) x->n_passes = 1;
    if (plain < x->n_passes) return;
    for (int k = 0; k < x->n_exps; k++) {
        struct factors product = {
            .g = g, .x = x, .of = &x->exps[k], .may_defer = true, .is_narrow = x->first.a_dtype == FX_F16};
        if (x->exps[k].pass != x->n_passes - 1 || !find_factor(&product, x->parts.intermediate, 0)) continue;
        x->outer_exp = k;
        for (int i = 0; i < product.n_deferred; i++) x->deferred[x->n_deferred++] = product.deferred[i];
        return;
    }
    x->n_passes = plain + 1;
}

/* ---- what elements are divided and shifted by ---- */

bool chain_is_of_products(const struct graph *g, const struct group *r, const struct node *n) {
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, n->id + 1);
    is_below[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *x = g->nodes[i];
        if (!is_below[i]) continue;
        if (group_sum(r, x) >= 0) return true;
        for (int a = 0; a < x->n_args && x->kind != N_REDUCE && x->kind != N_SCAN; a++) is_below[x->args[a]->id] = true;
    }
    return false;
}

/* Whether s is a sum of exponentials of which one is 1: shifted by the maximum of what they are taken of. */
static bool is_sum_with_1(const struct graph *g, const struct node *s) {
    if (s->kind != N_REDUCE || s->reduction != RED_SUM) return false;
    const struct node *e = s->args[0], *d = e->n_args ? e->args[0] : e;
    if ((!node_is_op(e, O_EXP) && !node_is_op(e, O_EXP2)) || !node_is_op(d, O_SUB)) return false;
    for (int i = 0; i < d->id; i++) {
        const struct node *m = g->nodes[i];
        if (m->kind == N_REDUCE && m->reduction == RED_MAX && m->args[0] == d->args[0] &&
            nodes_same_axes(m->reduced, m->n_reduced, s->reduced, s->n_reduced) && shift_is_made_of(d->args[1], m, 0) &&
            shift_is_like(d->args[1], m, -0x1.fffffep127, 0x1.fffffep127))
            return true;
    }
    return false;
}

bool chain_has_reciprocal(const struct graph *g, const struct node *n) {
    for (int i = 0; i <= n->id; i++)
        if (is_sum_with_1(g, g->nodes[i]) && shift_is_made_of(n, g->nodes[i], 0) &&
            shift_is_like(n, g->nodes[i], 0x1p-1, 0x1p126))
            return true;
    return false;
}

/* ---- what a pass needs ---- */

bool chain_ends_in(const struct chain *x, const struct node *n, int pass) { return x->level[n->id] == pass + 1; }

int chain_undeferred(const struct chain *x, const struct node *n) {
    for (int i = 0; i < x->n_deferred; i++) {
        if (!x->deferred[i].is_choice && node_is_op(n, O_DIV) && n->args[1] == x->deferred[i].by) return 0;
        if (x->deferred[i].is_choice && node_is_op(n, O_WHERE) && n->args[0] == x->deferred[i].by &&
            node_is_number(n->args[1], 0))
            return 2;
    }
    return -1;
}

static void find_online(struct chain *x) {
    if (x->outer_exp >= 0) x->exps[x->outer_exp].is_online = true;
    for (int i = 0; i < x->parts.n_steps; i++) {
        int k = x->exp_of[x->parts.steps[i]->id];
        if (k >= 0) x->exps[k].is_online = true;
    }
}

bool chain_is_online(const struct chain *x, int k, int pass) {
    return x->exps[k].is_online && x->exps[k].pass == pass;
}

/* Marks what marked nodes are made of in the pass; nothing below `kept`, which is available. */
static void mark_below(const struct graph *g, const struct partition *p, const struct group *r, const struct chain *x,
    int pass, const struct node *kept, bool *needed) {
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        if (!needed[i] || !x->is_element[i] || n == kept || group_sum(r, n) >= 0 || node_is_loaded(g, p, r, n, &t))
            continue;
        int online = -1;
        for (int k = 0; k < x->n_exps; k++)
            if (x->exps[k].e == n && chain_is_online(x, k, pass)) online = k;
        if (online >= 0) {
            needed[x->exps[online].x->id] = true;
            continue;
        }
        bool is_last = pass + 1 == x->n_passes;
        int stays = is_last ? chain_undeferred(x, n) : -1;
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) /* what is read elsewhere is computed there */
            if (stays < 0 || a == stays) needed[n->args[a]->id] = true;
    }
}

static bool shifts_online(const struct chain *x, const struct node *n, int pass) {
    for (int k = 0; k < x->n_exps; k++)
        if (x->exps[k].maximum == n && chain_is_online(x, k, pass)) return true;
    return false;
}

static void seed(const struct chain *x, int pass, bool *needed) {
    for (int s = 0; s < x->parts.n_steps; s++) {
        const struct node *n = x->parts.steps[s];
        if (chain_ends_in(x, n, pass) && !shifts_online(x, n, pass)) needed[n->args[0]->id] = true;
    }
    if (pass + 1 == x->n_passes) needed[x->parts.intermediate->id] = true;
}

/* What the online exponentials of a pass are taken of, where it is one value and not a first contraction itself. */
static const struct node *sole_operand(const struct group *r, const struct chain *x, int pass) {
    const struct node *sole = NULL;
    for (int k = 0; k < x->n_exps; k++) {
        if (!chain_is_online(x, k, pass)) continue;
        if (sole && sole != x->exps[k].x) return NULL;
        sole = x->exps[k].x;
    }
    return sole && group_sum(r, sole) >= 0 ? NULL : sole;
}

/* Marks what sums and the second contraction's factor need; `kept` is available. */
static void mark_sums(const struct graph *g, const struct partition *p, const struct group *r, const struct chain *x,
    int pass, const struct node *kept, bool *needed) {
    seed(x, pass, needed);
    mark_below(g, p, r, x, pass, kept, needed);
}

/* ---- passes ---- */

/* Whether the pass keeps what maxima are found in; marks what its sums need. */
static bool find_sums(const struct graph *g, const struct partition *p, const struct group *r, const struct chain *x,
    int pass, bool **sums) {
    const struct node *kept = sole_operand(r, x, pass);
    bool keeps = kept != NULL;
    *sums = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    mark_sums(g, p, r, x, pass, kept, *sums);
    for (int i = 0; keeps && i < x->parts.n_inner; i++) keeps = !(*sums)[x->parts.inner[i]->id];
    if (keeps || !kept) return keeps;
    *sums = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    mark_sums(g, p, r, x, pass, NULL, *sums);
    return false;
}

/* Marks what a shift is made of beside its maximum. */
static void mark_shift(
    const struct chain *x, const struct node *n, const struct node *maximum, int pass, bool *needed) {
    if (n == maximum) return;
    if (x->level[n->id] <= pass) needed[n->id] = true;
    else
        for (int i = 0; i < n->n_args; i++) mark_shift(x, n->args[i], maximum, pass, needed);
}

/* Marks what elements compute in a pass; is_row_value: what of it is the same for a whole row, and no reduction of
 * it. */
static void mark_row_values(const struct graph *g, const struct partition *p, const struct group *r,
    const struct chain *x, int pass, bool *needed, bool *is_row_value) {
    for (int k = 0; k < x->n_exps; k++)
        if (chain_is_online(x, k, pass)) needed[x->exps[k].x->id] = true;
    mark_sums(g, p, r, x, pass, NULL, needed);
    for (int k = 0; k < x->n_exps; k++)
        if (chain_is_online(x, k, pass)) mark_shift(x, x->exps[k].shift, x->exps[k].maximum, pass, needed);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        is_row_value[i] |= needed[i] && !x->is_element[i] && !is_row_step(r, n) && n->kind != N_CONST &&
                           n->kind != N_SCALAR && n->kind != N_SIZE;
    }
}

static void find_passes(const struct graph *g, const struct partition *p, const struct group *r, struct chain *x) {
    struct arena *a = &g->cx->arena;
    bool *is_row_value = NEW_ARRAY(a, bool, g->n_nodes + 1);
    x->passes = NEW_ARRAY(a, struct chain_pass, x->n_passes);
    for (int w = 0; w < x->n_passes; w++) {
        struct chain_pass *pass = &x->passes[w];
        pass->keeps = find_sums(g, p, r, x, w, &pass->sums);
        pass->needs = NEW_ARRAY(a, bool, g->n_nodes + 1);
        mark_row_values(g, p, r, x, w, pass->needs, is_row_value);
        for (int s = 0; s < r->n_steps; s++) {
            struct node *n = r->steps[s];
            if (!chain_ends_in(x, n, w)) continue;
            if (shifts_online(x, n, w)) PUSH(a, pass->maxima, pass->n_maxima) = n;
            else PUSH(a, pass->others, pass->n_others) = n;
        }
    }
    for (int i = 0; i < g->n_nodes; i++) {
        if (!is_row_value[i]) continue;
        PUSH(a, x->values, x->n_values) = g->nodes[i];
        if (x->level[i] >= x->n_passes) continue; /* of the last pass's results: no pass reads it */
        struct chain_pass *next = &x->passes[x->level[i]];
        PUSH(a, next->values, next->n_values) = g->nodes[i];
    }
}

/* ---- rows ---- */

bool chain_in_pieces(const struct scheduled *s) {
    bool any = false;
    for (int v = 0; v < s->n_configs; v++) any |= s->configs[v].piece > 0;
    return any;
}

bool chain_stores_row(const struct graph *g, const struct partition *p, const struct chain *x, const struct store *s) {
    const int *axes = s->param >= 0 ? g->kernel->params[s->param].axes : p->buffers[s->buffer].axes;
    int n = s->param >= 0 ? g->kernel->params[s->param].n_axes : p->buffers[s->buffer].n_axes;
    return nodes_same_axes(axes, n, x->parts.rows, x->parts.n_rows);
}

static int count_words(const struct chain *x) {
    int words = x->outer_exp >= 0, is_wide = 0;
    for (int i = 0; i < x->parts.n_steps; i++) is_wide |= fx_dtype_bits(x->parts.steps[i]->dtype) == 64;
    for (int k = 0; k < x->n_exps; k++) words += chain_is_left_inexact(x, k);
    words += x->parts.n_steps * (1 + is_wide); /* wide ones may leave a word before them empty */
    return words == 0 ? 1 : is_wide ? (words + 1) / 2 * 2 : words; /* an empty struct takes one */
}

/* ---- labels ---- */

static void push(struct axis_list *l, int axis) { l->axes[l->n++] = axis; }

/* The operands of the first contractions, A's then B's. Returns how many of each. */
static int operands_of(const struct gemm_shape *s, const struct operand **a, const struct operand **b) {
    int n = 0;
    for (int i = 0; i < s->n_segments; i++)
        for (int j = 0; j < s->segments[i].n_sums; j++) a[n] = &s->segments[i].a, b[n++] = &s->segments[i].b[j];
    return n;
}

/* Labels of rows that every first contraction's A has alone, as long as the second contraction's column lacks them too:
 * the run of them is m. */
static void find_rows(const struct graph *g, const struct group *r, const struct tensor *out, struct chain *x,
    const struct operand *const *as, int n_as) {
    struct axis_list own = {0}, m = {0}, rest = {0};
    gemm_labels(g, &r->sums[0], 0, as[0], LABEL_OWN, out, &own);
    for (int i = 0; i < own.n; i++) {
        bool is_alone = !node_has_axis(x->parts.column, own.axes[i]);
        for (int j = 0; j < r->n_sums - 1; j++)
            is_alone &= node_has_axis(r->sums[j].factor[0], own.axes[i]) &&
                        !node_has_axis(r->sums[j].factor[1], own.axes[i]);
        if (is_alone) push(&m, own.axes[i]);
    }
    gemm_split_run(g, as, n_as, &m, &rest);
    x->first.m = x->second.m = m;
    for (int i = 0; i < x->parts.n_rows; i++)
        if (!axes_have(m.axes, m.n, x->parts.rows[i]) && g->kernel->axes[x->parts.rows[i]].extent != 1)
            push(&x->first.batch, x->parts.rows[i]);
    x->second.batch = x->first.batch;
}

static bool find_labels(
    const struct graph *g, const struct partition *p, const struct group *r, struct chain *x, const char **why_not) {
    const struct product *outer = &r->sums[r->n_sums - 1];
    struct segment *e = &x->second.segments[0];
    struct tensor out = tensor_of_store(g, p, &r->stores[0]), none = {.param = -1, .buffer = -1};
    struct axis_list rest = {0};
    for (int i = 1; i < r->n_stores && chain_stores_row(g, p, x, &r->stores[i - 1]); i++)
        out = tensor_of_store(g, p, &r->stores[i]);
    x->first.a_dtype = x->first.b_dtype = x->second.a_dtype = x->second.b_dtype = outer->dtype[0];
    gemm_fill_segments(g, p, r, r->n_sums - 1, &x->first, 0);
    *e = (struct segment){.n_sums = 1};
    e->b[0] = gemm_operand(g, p, outer, 1);
    x->second.n_segments = x->second.most_sums = 1;
    const struct operand *as[MAX_SUMS], *bs[MAX_SUMS], *column[1] = {&e->b[0]};
    int n = operands_of(&x->first, as, bs);
    find_rows(g, r, &out, x, as, n);
    gemm_labels(g, outer, 1, column[0], LABEL_OWN, &out, &x->second.n);
    gemm_split_run(g, column, 1, &x->second.n, &rest);
    if (rest.n)
        return *why_not = arena_printf(
                   &g->cx->arena, "the columns of %s do not lie side by side", ir_quote(g, x->parts.column)),
               false;
    gemm_labels(g, outer, 1, column[0]->is_computed ? bs[0] : column[0], LABEL_SUMMED, &none, &e->k);
    bs[n] = column[0];
    gemm_split_run(g, bs, n + 1, &e->k, &rest);
    if (rest.n) return *why_not = "the intermediate axes do not lie side by side in the factors that have them", false;
    x->first.n = e->k;
    gemm_choose_layouts(g, p, r, &x->first);
    gemm_choose_layout(g, p, r, &e->b[0], &e->k, &x->second.n, x->second.b_dtype);
    return true;
}

struct chain *chain_analyse(
    const struct graph *g, const struct partition *p, const struct group *r, const char **why_not) {
    struct arena *a = &g->cx->arena;
    struct chain *x = NEW(a, struct chain);
    if (!r->intermediate) return *why_not = "it is no chain", NULL;
    if (!chain_find(g, r->contraction, true, &x->parts, why_not)) return NULL;
    x->parts.steps = r->steps; /* with those that only stores of rows read */
    x->parts.n_steps = r->n_steps;
    x->level = NEW_ARRAY(a, int, g->n_nodes + 1);
    x->exp_of = NEW_ARRAY(a, int, g->n_nodes + 1);
    x->is_element = NEW_ARRAY(a, bool, g->n_nodes + 1);
    if (!find_labels(g, p, r, x, why_not)) return NULL;
    find_levels(g, p, r, x);
    place_outer(g, x);
    find_online(x);
    find_passes(g, p, r, x);
    chain_find_factors(g, x);
    chain_find_along(g, p, r, x);
    chain_find_limits(g, r, x);
    x->result_words = count_words(x);
    for (int s = 0; s < r->n_stores; s++) x->stores_rows |= chain_stores_row(g, p, x, &r->stores[s]);
    return x;
}
