/* The computation of elements in a pass over the intermediate of a chain, as members of the problem struct.
 *
 * In: a scheduled chain, and the number of a pass. Out: find_maxima, which finds the shifts of exponentials; rescale,
 * which scales the sums so far to a new shift; fold, which adds elements and, in the last pass, computes the factor of
 * the second contraction; finish, which computes the results of a row. */
#include <string.h>

#include "emit/emit_chain.h"

static const char *const LOG2_E = "1.44269504f";

/* The scope of an element of the intermediate in a pass. */
static struct scope *at_element(struct chain_problem *b, int pass) {
    struct scope *p = chain_at_row(b, pass);
    chain_bind(b, p, &b->x->first.n, "(t + v)");
    for (int i = 0; i < b->x->n_along; i++) {
        const struct node *n = b->x->along[i];
        p->text[n->id] = arena_printf(arena(b), n->dtype == FX_BOOL ? "(u[v].%s != 0)" : "u[v].%s", member(b, n));
    }
    for (int i = 0; i + 1 < b->r->n_sums; i++) p->text[b->r->sums[i].sum->id] = arena_printf(arena(b), "acc[%d][v]", i);
    return p;
}

const struct narrow *chain_find_narrow(struct chain_problem *b) {
    const struct graph *g = b->w.g;
    bool *is_small = NEW_ARRAY(arena(b), bool, g->kernel->n_axes + 1);
    for (int i = 0; i < b->x->first.n.n; i++) is_small[b->x->first.n.axes[i]] = true;
    for (int i = 0; i < b->x->first.m.n; i++) is_small[b->x->first.m.axes[i]] = true;
    struct narrow *all = value_find_narrow(g, is_small, MOST_INDEX);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (n->kind != N_OP) continue;
        all[i].is_narrow &= n->op == O_ADD || n->op == O_SUB || n->op == O_NEG;
        for (int k = 0; k < n->n_args; k++) all[i].is_narrow &= all[n->args[k]->id].is_narrow;
    }
    return all;
}

static void emit_combine(struct chain_problem *b, int pass, const char *type, struct node **sums, int n_sums) {
    value_open_function(&b->w, "  FX_DEVICE void combine(fx_chain_pass<%d>, %s%d &a, const %s%d &b) const", pass, type,
        pass, type, pass);
    for (int i = 0; i < n_sums; i++)
        value_line(&b->w, "a.%s = %s;", member(b, sums[i]),
            value_combined(&b->w, sums[i]->reduction, sums[i]->args[0]->dtype, member_of(b, "a", sums[i]),
                member_of(b, "b", sums[i])));
    value_close_function(&b->w);
}

static bool has_limit(const struct chain *x, bool is_end) {
    bool has_it = false;
    for (int i = 0; i < x->n_limits; i++) has_it |= x->limits[i].is_end == is_end;
    return has_it;
}

/* Says of the conditions that are limits what q has: within [start, end), or, not IS_CUT, that they hold. */
static void bind_limits(struct chain_problem *b, struct scope *p) {
    const char *name = emit_local_as(b->w.names, "within_");
    value_line(&b->w, "const bool %s = !IS_CUT || (%st + v < q.%s);", name,
        has_limit(b->x, false) ? arena_printf(arena(b), "t + v >= q.%s && ", b->start) : "", b->end);
    for (int i = 0; i < b->x->n_limits; i++) /* all hold, or, negated, one does not */
        p->text[b->x->limits[i].condition->id] = b->x->is_negated ? arena_printf(arena(b), "!%s", name) : name;
}

/* By node: whether the maxima of a pass are found of it. */
static const bool *find_below_maxima(struct chain_problem *b, int pass) {
    const struct graph *g = b->w.g;
    const struct chain_pass *over = pass_of(b, pass);
    bool *is_below = NEW_ARRAY(arena(b), bool, g->n_nodes + 1);
    for (int i = 0; i < over->n_maxima; i++) is_below[over->maxima[i]->args[0]->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        is_below[i] &= over->needs[i];
        for (int k = 0; k < n->n_args && is_below[i] && group_sum(b->r, n) < 0; k++) is_below[n->args[k]->id] = true;
    }
    return is_below;
}

static void emit_find_maxima(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    value_open_function(&b->w,
        "  template <int N, bool%s = true> FX_DEVICE void find_maxima(fx_chain_pass<%d>, maxima%d &b, float "
        "(&acc)[INNER_SUMS][N], const results &r, const values &q, const along (&u)[N], int batch, int m, "
        "fx_chain_at t, int n_valid) const",
        b->x->n_limits ? " IS_CUT" : "", pass, pass);
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < N; ++v) {");
    bool masks_rest = b->x->n_limits && over->keeps; /* what lies beyond the axis lies beyond limits */
    if (!masks_rest) buf_line(b->w.out, "      if (v >= n_valid) break;");
    b->w.indent = 3;
    b->w.narrow = b->narrow;
    struct scope *p = at_element(b, pass);
    if (masks_rest) chain_bind(b, p, &b->x->first.n, "(IS_CUT ? min(t + v, this->t() - 1) : t + v)");
    if (b->x->n_limits) bind_limits(b, p);
    emit_chain_loose(b, p, pass);
    emit_chain_positions(b, p, find_below_maxima(b, pass));
    const struct shifted_exp *f = chain_factored(b, pass);
    if (f) p->text[f->product->id] = value_at(&b->w, p, f->scaled);
    for (int i = 0; i < over->n_maxima; i++) {
        const struct node *n = over->maxima[i];
        const char *x = value_at(&b->w, p, n->args[0]), *so_far = member_of(b, "b", n);
        value_line(&b->w, "%s = %s;", so_far, value_combined(&b->w, n->reduction, FX_F32, so_far, x));
        if (over->keeps && strcmp(x, "acc[0][v]") != 0) value_line(&b->w, "acc[0][v] = %s;", x);
    }
    b->w.narrow = NULL;
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
    value_close_function(&b->w);
}

static const char *scaled(struct chain_problem *b, int k, const char *difference) {
    return b->x->exps[k].e->op == O_EXP2 ? difference : arena_printf(arena(b), "(%s) * %s", difference, LOG2_E);
}

/* The row's shift, made of its maximum. */
static const char *shift_at(struct chain_problem *b, int k, int pass, const char *maximum) {
    struct scope *p = chain_at_row(b, pass);
    p->text[b->x->exps[k].maximum->id] = maximum;
    return value_at(&b->w, p, b->x->exps[k].shift);
}

static void emit_rescale(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    const char **raised = NEW_ARRAY(arena(b), const char *, b->w.g->n_nodes + 1), *factor = "1.0f";
    value_open_function(&b->w,
        "  FX_DEVICE float rescale(fx_chain_pass<%d>, sums%d &a, const maxima%d &b, const results &r, "
        "const values &q) const",
        pass, pass, pass);
    for (int i = 0; i < over->n_maxima; i++) {
        const struct node *n = over->maxima[i];
        value_line(&b->w, "const float %s = %s;", raised[n->id] = emit_local(b->w.names, n),
            value_combined(&b->w, n->reduction, FX_F32, member_of(b, "a", n), member_of(b, "b", n)));
    }
    for (int k = 0; k < b->x->n_exps; k++) {
        const struct shifted_exp *f = &b->x->exps[k];
        if (!chain_is_online(b->x, k, pass)) continue;
        const char *to = shift_at(b, k, pass, raised[f->maximum->id]), *shift = emit_local_as(b->w.names, "new_shift_"),
                   *scale = emit_local_as(b->w.names, "scale_");
        if (f->is_raised)
            value_line(&b->w, "const float %s = fx_chain_raised_shift(%s, %s);", shift, to, raised[f->maximum->id]);
        else value_line(&b->w, "const float %s = fx_chain_shift(%s);", shift, to);
        value_line(&b->w, "const float %s = fx_chain_rescale(%s == %s, %s);", scale, member_of(b, "a", f->maximum),
            start_of(b, f->maximum),
            arena_printf(arena(b), f->e->op == O_EXP2 ? "a.%s - %s" : "fx_chain_change(a.%s, %s)", b->shift[k], shift));
        for (int s = 0; s < b->r->n_steps; s++)
            if (b->x->exp_of[b->r->steps[s]->id] == k)
                value_line(&b->w, "%s *= %s;", member_of(b, "a", b->r->steps[s]), scale);
        value_line(&b->w, "a.%s = %s;", b->shift[k], shift);
        if (k == b->x->outer_exp && pass + 1 == b->x->n_passes) factor = scale;
    }
    for (int i = 0; i < over->n_maxima; i++)
        value_line(&b->w, "%s = %s;", member_of(b, "a", over->maxima[i]), raised[over->maxima[i]->id]);
    buf_line(b->w.out, "    return %s;", factor);
    value_close_function(&b->w);
}

/* What elements are not multiplied or divided by. */
static void emit_factor(struct chain_problem *b, int pass) {
    const struct shifted_exp *f = chain_factored(b, pass);
    if (!f) return;
    const bool is_divided = node_is_op(f->product, O_DIV);
    const char *maximum = member_of(b, "b", f->maximum);
    value_open_function(&b->w, "  FX_DEVICE float factor(fx_chain_pass<%d>) const", pass);
    const char *by = value_at(&b->w, chain_at_row(b, pass), f->factor);
    buf_line(b->w.out, "    return %s%s;", is_divided ? "1.0f / " : "", by);
    value_close_function(&b->w);
    buf_line(b->w.out,
        "  FX_DEVICE float late(fx_chain_pass<%d> pass) const { return fx_chain_late(factor(pass)); }", pass);
    value_open_function(&b->w, "  FX_DEVICE void multiply(fx_chain_pass<%d> pass, maxima%d &b) const", pass, pass);
    if (is_divided) {
        if (f->factor->kind != N_CONST) value_line(&b->w, "if (late(pass) != factor(pass)) return;");
        by = value_at(&b->w, chain_at_row(b, pass), f->factor);
        value_line(&b->w, "%s = %s / %s;", maximum, maximum, by);
    } else value_line(&b->w, "%s *= late(pass);", maximum);
    value_close_function(&b->w);
}

/* The maxima that a piece of a row has found. */
static void emit_found(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    value_open_function(
        &b->w, "  FX_DEVICE maxima%d found(fx_chain_pass<%d>, const sums%d &a) const", pass, pass, pass);
    buf_line(b->w.out, "    maxima%d b;", pass);
    for (int i = 0; i < over->n_maxima; i++)
        value_line(&b->w, "%s = %s;", member_of(b, "b", over->maxima[i]), member_of(b, "a", over->maxima[i]));
    buf_line(b->w.out, "    return b;");
    value_close_function(&b->w);
}

/* The intermediate but for what the result is divided by at the end; late: what is made of such a quotient. */
static const char *intermediate_at(struct chain_problem *b, struct scope *p, struct node *n, const bool *late) {
    const char *args[3];
    if (!late[n->id]) return value_at(&b->w, p, n);
    if (chain_undeferred(b->x, n) >= 0) return intermediate_at(b, p, n->args[chain_undeferred(b->x, n)], late);
    for (int i = 0; i < n->n_args; i++)
        args[i] = late[n->args[i]->id] ? intermediate_at(b, p, n->args[i], late) : value_at(&b->w, p, n->args[i]);
    const char *name = emit_local(b->w.names, n);
    value_line(&b->w, "const float %s = %s;", name, value_operation(&b->w, n, args));
    return name;
}

/* Computes what the pass needs of an element, operands first and each once, so that no chain of them is walked deep. */
static void emit_needed(struct chain_problem *b, struct scope *p, int pass, bool *late) {
    const struct graph *g = b->w.g;
    const struct chain_pass *over = pass_of(b, pass);
    bool is_last = pass + 1 == b->x->n_passes;
    if (over->keeps)
        for (int k = 0; k < b->x->n_exps; k++)
            if (chain_is_online(b->x, k, pass)) p->text[b->x->exps[k].x->id] = "acc[0][v]";
    if (!over->keeps) emit_chain_loose(b, p, pass);
    emit_chain_positions(b, p, over->sums);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node *n = g->nodes[i];
        if (!over->sums[i] || !b->x->is_element[i] || b->x->is_along[i] || p->text[i]) continue;
        for (int k = 0; k < b->x->n_exps; k++) {
            if (b->x->exps[k].e != n || !chain_is_online(b->x, k, pass)) continue;
            emit_chain_exp(b, p, k, value_at(&b->w, p, b->x->exps[k].x));
        }
        if (is_last && n == b->x->outer_product) p->text[i] = value_at(&b->w, p, b->x->outer_scaled);
        if (p->text[i]) continue;
        late[i] = is_last && chain_undeferred(b->x, n) >= 0;
        for (int k = 0; k < n->n_args && n->kind == N_OP; k++) late[i] |= late[n->args[k]->id];
        if (!late[i] && !chain_is_part(b, over, n) && !emit_chain_in_short(b, p, over, n)) value_at(&b->w, p, n);
    }
}

static void emit_fold(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    bool is_last = pass + 1 == b->x->n_passes, takes_limits = false;
    bool *late = NEW_ARRAY(arena(b), bool, b->w.g->n_nodes + 1);
    for (int i = 0; i < b->x->n_limits; i++) takes_limits |= over->sums[b->x->limits[i].condition->id];
    value_open_function(&b->w,
        "  template <int N, bool%s = true> FX_DEVICE void fold(fx_chain_pass<%d> pass, sums%d &a, float "
        "(&acc)[INNER_SUMS][N], const results &r, const values &q, const along (&u)[N], int batch, int m, "
        "fx_chain_at t, int n_valid) const",
        takes_limits ? " IS_CUT" : "", pass, pass);
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < N; ++v) {");
    buf_line(b->w.out, "      if (v >= n_valid) {");
    buf_line(b->w.out, "        acc[0][v] = 0.0f;");
    buf_line(b->w.out, "        continue;");
    buf_line(b->w.out, "      }");
    b->w.indent = 3;
    b->w.narrow = b->narrow;
    struct scope *p = at_element(b, pass);
    if (takes_limits) bind_limits(b, p);
    emit_needed(b, p, pass, late);
    for (int i = 0; i < over->n_others; i++) {
        const struct node *n = over->others[i];
        const char *term = value_at(&b->w, p, n->args[0]), *so_far = member_of(b, "a", n);
        value_line(&b->w, "%s = %s;", so_far, value_combined(&b->w, n->reduction, n->args[0]->dtype, so_far, term));
    }
    if (is_last) value_line(&b->w, "acc[0][v] = %s;", intermediate_at(b, p, b->x->parts.intermediate, late));
    b->w.narrow = NULL;
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
    value_close_function(&b->w);
}

static void emit_finish(struct chain_problem *b, int pass) {
    value_open_function(&b->w,
        "  FX_DEVICE void finish(fx_chain_pass<%d>, results &r, const sums%d &a, const values &q) const", pass, pass);
    const struct chain_pass *over = pass_of(b, pass);
    const char *last[MAX_EXPS];
    for (int i = 0; i < over->n_maxima; i++)
        value_line(&b->w, "%s = %s;", member_of(b, "r", over->maxima[i]), member_of(b, "a", over->maxima[i]));
    for (int k = 0; k < b->x->n_exps; k++) {
        if (!chain_is_online(b->x, k, pass)) continue;
        const char *c = shift_at(b, k, pass, member_of(b, "r", b->x->exps[k].maximum));
        last[k] = emit_local_as(b->w.names, "last_");
        const bool is_left = chain_is_left_inexact(b->x, k);
        const char *exact = b->x->exps[k].e->op == O_EXP2
                                ? NULL : arena_printf(arena(b), "fx_chain_exact(a.%s)", b->shift[k]);
        value_line(&b->w, "const float %s = %s%s(a.%s == %s || t() == 0 ? 1.0f : exp2f(%s));", last[k],
            exact && !is_left ? exact : "", exact && !is_left ? " * " : "", b->shift[k], c,
            scaled(b, k, arena_printf(arena(b), "a.%s - %s", b->shift[k], c)));
        if (is_left) value_line(&b->w, "r.exact%d = %s;", k, exact);
        if (k == b->x->outer_exp) value_line(&b->w, "r.last = %s;", last[k]);
    }
    for (int i = 0; i < over->n_others; i++) {
        const struct node *n = over->others[i];
        int k = b->x->exp_of[n->id];
        if (k >= 0) value_line(&b->w, "%s = %s * %s;", member_of(b, "r", n), member_of(b, "a", n), last[k]);
        else value_line(&b->w, "%s = %s;", member_of(b, "r", n), member_of(b, "a", n));
    }
    value_close_function(&b->w);
}

void emit_chain_pass(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    if (over->n_maxima) {
        emit_factor(b, pass);
        emit_find_maxima(b, pass);
        emit_combine(b, pass, "maxima", over->maxima, over->n_maxima);
        emit_rescale(b, pass);
        if (chain_in_pieces(b->l->kernel)) emit_found(b, pass);
    }
    emit_fold(b, pass);
    if (!has_sums(b, pass)) return;
    emit_combine(b, pass, "sums", over->others, over->n_others);
    emit_finish(b, pass);
}
