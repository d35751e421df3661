/* A chain as the driver runs it: which label is which, in which pass over the intermediate everything is known, which
 * sums are taken in the same pass as the maximum that shifts them.
 *
 * In: a group that is a chain. Out: its program, or why no form of the driver takes it. Everything is decided by
 * structure: that sums scale by exp(c0 - c1) as their shift changes from c0 to c1 needs the exponential as a factor of
 * the summand, and all other factors known before the pass. */
#include "schedule/chain_program.h"

#include <math.h>

/* ---- what is taken online ---- */

static double side_at(const struct node *n, const struct node *of, double v, bool *is_known) {
    if (n == of) return v;
    if (node_is_op(n, O_ABS) && n->args[0] == of) return fabs(v);
    *is_known &= n->kind == N_CONST && fx_is_float(n->dtype);
    return n->num;
}

/* Whether a condition that compares `of` with a number is the same for every `of` within [low, high]: which. */
static bool decided(const struct node *n, const struct node *of, double low, double high, bool *is_true) {
    if (node_is_op(n, O_NOT)) {
        if (!decided(n->args[0], of, low, high, is_true)) return false;
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

/* Whether n, made of `of` and numbers, is `of` itself wherever that lies within [low, high]. */
static bool is_like(const struct node *n, const struct node *of, double low, double high) {
    bool is_true;
    for (; node_is_op(n, O_WHERE); n = n->args[is_true ? 1 : 2])
        if (!decided(n->args[0], of, low, high, &is_true)) return false;
    return n == of;
}

/* Whether n is made of `of` and numbers alone. */
static bool is_made_of(const struct node *n, const struct node *of, int depth) {
    if (n == of || n->kind == N_CONST) return true;
    if ((n->kind != N_OP) || depth > 8) return false;
    for (int i = 0; i < n->n_args; i++)
        if (!is_made_of(n->args[i], of, depth + 1)) return false;
    return true;
}

/* e = exp(x - c), c the maximum of x's row where that is finite, made of it and numbers elsewhere: at most 1 while the
 * maximum is being found, too. */
static bool as_shifted_exp(const struct chain *x, const struct node *n, struct shifted_exp *out) {
    if (!node_is_op(n, O_EXP) && !node_is_op(n, O_EXP2)) return false;
    const struct node *d = n->args[0];
    if (!node_is_op(d, O_SUB)) return false;
    for (int i = 0; i < x->parts.n_steps; i++) {
        struct node *m = x->parts.steps[i];
        if (m->reduction != RED_MAX || m->args[0] != d->args[0] || m->dtype != FX_F32 || !is_made_of(d->args[1], m, 0))
            continue;
        if (!is_like(d->args[1], m, -0x1.fffffep127, 0x1.fffffep127)) continue;
        *out = (struct shifted_exp){.e = (struct node *)n, .x = d->args[0], .shift = d->args[1], .maximum = m};
        return true;
    }
    return false;
}

/* Whether d is the sum s of e's row wherever that is 1 or more, and no 0 in its place where e is 0 all along: then a
 * sum of e / d may be divided at its end. */
static bool is_normaliser(const struct chain *x, const struct node *d, const struct node *e) {
    for (int i = 0; i < x->parts.n_steps; i++) {
        const struct node *s = x->parts.steps[i];
        if (s->reduction == RED_SUM && s->args[0] == e && is_made_of(d, s, 0) && is_like(d, s, 0x1p-1, 0x1p127))
            return true;
    }
    return false;
}

/* Whether a condition holds of no row but one whose exponentials e are all 0. */
static bool holds_for_nothing(const struct chain *x, const struct node *condition, const struct node *e) {
    bool is_true;
    for (int i = 0; i < x->parts.n_steps; i++) {
        const struct node *s = x->parts.steps[i];
        if (s->reduction == RED_SUM && s->args[0] == e && decided(condition, s, 0x1p-1, 0x1p127, &is_true) && !is_true)
            return condition->op == O_EQ || condition->op == O_LE || condition->op == O_LT; /* of NaN neither */
    }
    return false;
}

/* The exponential among the factors of a product, all others known once `pass` passes are over; divisors known later
 * are deferred. */
struct factors {
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
        bool is_late = level[d->id] > pass;
        if (is_late && (!p->may_defer || p->n_deferred == MAX_DEFERRED || !is_normaliser(p->x, d, p->of->e) ||
                           node_has_any(d, p->x->parts.t, p->x->parts.n_t)))
            return false;
        if (!is_late && p->is_narrow) return false;
        if (is_late) p->deferred[p->n_deferred++] = (struct deferred){d, false};
        return find_factor(p, n->args[0], depth + 1);
    }
    if (n->op == O_WHERE && level[n->args[0]->id] > pass) { /* 0 where all exponentials are: of the sum, too */
        if (!p->may_defer || p->n_deferred == MAX_DEFERRED || !node_is_number(n->args[1], 0) ||
            !holds_for_nothing(p->x, n->args[0], p->of->e))
            return false;
        p->deferred[p->n_deferred++] = (struct deferred){n->args[0], true};
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
        if (as_shifted_exp(x, n, &e) && x->n_exps < MAX_EXPS) {
            e.pass = x->level[e.x->id];
            x->exps[x->n_exps++] = e;
        }
        if (!is_row_step(r, n)) continue;
        for (int k = 0; k < x->n_exps && x->exp_of[i] < 0 && n->reduction == RED_SUM && n->dtype == FX_F32; k++) {
            struct factors product = {.x = x, .of = &x->exps[k]};
            if (find_factor(&product, n->args[0], 0)) x->exp_of[i] = k, x->level[i] = x->exps[k].pass;
        }
        if (++x->level[i] > x->n_passes) x->n_passes = x->level[i];
    }
}

/* The second contraction runs in the last pass; where that is the one in which a shift is found, it is scaled along. */
static void place_outer(struct chain *x) {
    int plain = x->level[x->parts.intermediate->id];
    x->outer_exp = -1;
    if (x->n_passes == 0) x->n_passes = 1;
    if (plain < x->n_passes) return;
    for (int k = 0; k < x->n_exps; k++) {
        struct factors product = {
            .x = x, .of = &x->exps[k], .may_defer = true, .is_narrow = x->first.a_dtype == FX_F16};
        if (x->exps[k].pass != x->n_passes - 1 || !find_factor(&product, x->parts.intermediate, 0)) continue;
        x->outer_exp = k;
        for (int i = 0; i < product.n_deferred; i++) x->deferred[x->n_deferred++] = product.deferred[i];
        return;
    }
    x->n_passes = plain + 1;
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

/* Marks what elements compute in a pass that is the same for a whole row, and no reduction of it. */
static void mark_row_values(const struct graph *g, const struct partition *p, const struct group *r,
    const struct chain *x, int pass, bool *is_row_value) {
    bool *needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int k = 0; k < x->n_exps; k++)
        if (chain_is_online(x, k, pass)) needed[x->exps[k].x->id] = true;
    mark_sums(g, p, r, x, pass, NULL, needed);
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
        mark_row_values(g, p, r, x, w, is_row_value);
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

/* ---- where a row begins and ends ---- */

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
        if (x->is_element[c->args[1 - side]->id] || !is_running(x, c->args[side], &is_falling, 0)) continue;
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

/* Every element before or behind some place of a row is -inf, and the exponential, which is then 0, all that sums and
 * the second contraction take of it: rows begin and end there, as long as what it is multiplied by is finite, which the
 * kernel looks up in memory. */
static void find_limits(const struct group *r, struct chain *x) {
    if (x->n_passes != 1 || x->outer_exp < 0 || x->parts.n_t != 1 || x->second.segments[0].b[0].is_computed) return;
    const struct shifted_exp *f = &x->exps[x->outer_exp];
    const struct node *p = x->parts.intermediate, *c = f->x;
    while (chain_undeferred(x, p) >= 0) p = p->args[chain_undeferred(x, p)];
    if (p != f->e || !node_is_op(c, O_WHERE)) return;
    x->is_negated = node_is_number(c->args[1], -INFINITY); /* says what does not count */
    if (!x->is_negated && !node_is_number(c->args[2], -INFINITY)) return;
    for (int i = 0; i < r->n_steps; i++)
        if (r->steps[i] != f->maximum && (x->exp_of[r->steps[i]->id] != x->outer_exp || r->steps[i]->args[0] != f->e))
            return;
    add_limits(x, c->args[0], x->is_negated, 0);
    if (x->n_limits) find_period(x);
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
    gemm_choose_layout(g, p, r, &e->b[0], &e->k, &x->second.n);
    return true;
}

struct chain *chain_analyse(
    const struct graph *g, const struct partition *p, const struct group *r, const char **why_not) {
    struct arena *a = &g->cx->arena;
    struct chain *x = NEW(a, struct chain);
    if (!r->intermediate) return *why_not = "it is no chain", NULL;
    if (!chain_find(g, r->contraction, &x->parts, why_not)) return NULL;
    x->parts.steps = r->steps; /* with those that only stores of rows read */
    x->parts.n_steps = r->n_steps;
    x->level = NEW_ARRAY(a, int, g->n_nodes + 1);
    x->exp_of = NEW_ARRAY(a, int, g->n_nodes + 1);
    x->is_element = NEW_ARRAY(a, bool, g->n_nodes + 1);
    if (!find_labels(g, p, r, x, why_not)) return NULL;
    find_levels(g, p, r, x);
    place_outer(x);
    find_online(x);
    find_passes(g, p, r, x);
    find_limits(r, x);
    x->result_words = count_words(x);
    for (int s = 0; s < r->n_stores; s++) x->stores_rows |= chain_stores_row(g, p, x, &r->stores[s]);
    return x;
}
