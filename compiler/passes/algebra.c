/* Moves reductions past what is constant along them, by a table of guarded rules.
 *
 * In: a graph; the rules that run (graph.skip, graph.with). Out: a graph whose values differ from those of the input by
 * no more than the applied rules state, and the list of these rules (graph.applied). A rule rewrites only nodes that
 * nothing else reads, so that no reduction is computed twice, and only if at most one percent more flops follow, at
 * fixed or nominal extents. Measure: for each rule a count that it lowers (algebra_rules). A sweep that applies no rule
 * ends the pass. */
#include <math.h>
#include <string.h>

#include "graph/tensor.h"
#include "passes/algebra.h"
#include "passes/passes.h"

bool algebra_own(struct algebra *a, const struct node *m) {
    if (m->id >= a->n_old || a->readers[m->id] != 1 || a->is_consumed[m->id] || a->n_consumed == MAX_CONSUMED)
        return false;
    a->consumed[a->n_consumed++] = m;
    return true;
}

static bool is_zero(const struct node *n) {
    return n->kind == N_CONST && n->num == 0 && !signbit(n->num) && n->integer == 0;
}
static bool is_sum(const struct node *n) { return n->kind == N_REDUCE && n->reduction == RED_SUM; }

/* Whether x is constant along every axis that n reduces. */
static bool lacks_reduced(const struct node *n, const struct node *x) {
    for (int i = 0; i < n->n_reduced; i++)
        if (node_has_axis(x, n->reduced[i])) return false;
    return true;
}

static bool has_reduced(const struct node *n, const struct node *x) {
    for (int i = 0; i < n->n_reduced; i++)
        if (!node_has_axis(x, n->reduced[i])) return false;
    return true;
}

/* Stored as 16 bits, wherever it is read. */
static bool is_stored_narrow(const struct graph *g, const struct node *n) {
    if (n->kind == N_ACCESS) n = n->args[0];
    return n->kind == N_INPUT && fx_dtype_bits(g->kernel->params[n->param].dtype) == 16;
}

static struct node *sum_like(struct algebra *a, const struct node *n, struct node *term, bool may_round) {
    struct node *s = build_sum(a->g, term, n->reduced, n->n_reduced, n);
    s->may_round = may_round;
    s->rounds_to = n->rounds_to;
    s->may_tf32 = n->may_tf32;
    return s;
}

/* ---- cost ---- */

/* Operations of one node: an exponential is a product and a power of two. */
static double flops_of(const struct graph *g, const struct node *n) {
    double size = nominal_size(g, n->axes, n->n_axes);
    if (n->kind == N_OP) return node_is_op(n, O_EXP) ? 2 * size : size;
    if (n->kind == N_REDUCE) return nominal_size(g, n->args[0]->axes, n->args[0]->n_axes);
    if (n->kind == N_SCAN) return n->n_args * size;
    return n->kind == N_CAST ? size : 0;
}

/* ---- factors ---- */

struct factor { /* one factor of a product, and the way to it from the root */
    int n;
    struct node *nodes[MAX_PATH]; /* products, quotients and choices, the root first */
    int sides[MAX_PATH];          /* the operand that leads on; of the last: the factor itself */
};

typedef bool factor_test(const struct algebra *a, const struct node *sum, const struct node *at, int side);

/* The operands of a node of a product that may be factors, or lead to one: of a quotient only the dividend leads on; of
 * a choice between 0 and something the condition is the factor. */
static bool leads_on(const struct node *at, int side) {
    return node_is_op(at, O_MUL) || (node_is_op(at, O_DIV) && side == 0) || (node_is_op(at, O_WHERE) && side > 0);
}

static bool is_product_node(const struct node *n) {
    return node_is_op(n, O_MUL) || node_is_op(n, O_DIV) || node_is_op(n, O_WHERE);
}

/* The first factor, leftmost and outermost, that passes the test. Every node on the way has no other reader. */
static bool find_factor(
    struct algebra *a, const struct node *sum, struct node *at, factor_test *test, struct factor *f, int depth) {
    if (depth == MAX_PATH || !is_product_node(at)) return false;
    int n_before = a->n_consumed;
    if (!algebra_own(a, at)) return false;
    f->nodes[depth] = at;
    for (int side = 0; side < at->n_args; side++) {
        f->sides[depth] = side;
        f->n = depth + 1;
        if (test(a, sum, at, side)) return true;
    }
    for (int side = 0; side < at->n_args; side++) {
        if (!leads_on(at, side) || !is_product_node(at->args[side])) continue;
        f->sides[depth] = side;
        if (node_is_op(at, O_WHERE)) continue; /* what is chosen leads on only once the choice has moved */
        if (find_factor(a, sum, at->args[side], test, f, depth + 1)) return true;
    }
    a->n_consumed = n_before;
    return false;
}

/* The product without the factor; NULL where nothing but the factor's reciprocal would be left. */
static struct node *without(struct algebra *a, const struct factor *f) {
    struct node *last = f->nodes[f->n - 1];
    int side = f->sides[f->n - 1];
    struct node *left = node_is_op(last, O_MUL) ? last->args[1 - side] : node_is_op(last, O_DIV) ? last->args[0] : NULL;
    if (node_is_op(last, O_WHERE)) left = is_zero(last->args[1]) ? last->args[2] : last->args[1];
    for (int i = f->n - 2; i >= 0 && left; i--) {
        struct node copy = *f->nodes[i];
        copy.args[f->sides[i]] = left;
        copy.name = (struct name){0};
        left = build_node(a->g, copy);
    }
    return left;
}

/* What `f` was to its product, to r. */
static struct node *with_factor(struct algebra *a, const struct factor *f, struct node *r, const struct node *like) {
    struct node *last = f->nodes[f->n - 1];
    struct node *x = last->args[f->sides[f->n - 1]];
    if (node_is_op(last, O_WHERE)) {
        bool zero_first = is_zero(last->args[1]);
        return build_op(a->g, O_WHERE, x, zero_first ? last->args[1] : r, zero_first ? r : last->args[2], like);
    }
    return build_op(a->g, last->op, r, x, NULL, like);
}

/* The factor of the contraction that the moved one stood in, as it is now. */
static const struct node *touched(const struct node *product, const struct factor *f) {
    return f->n > 1 && node_is_op(product, O_MUL) ? product->args[f->sides[0]] : product;
}

static struct node *move_out(struct algebra *a, struct node *n, factor_test *test, bool needs_stored) {
    struct factor f;
    if (!is_sum(n) || !find_factor(a, n, n->args[0], test, &f, 0)) return NULL;
    struct node *rest = without(a, &f);
    if (!rest || !has_reduced(n, rest)) return NULL;
    /* A computed factor that may be rounded must be rounded with its scale: without it it may overflow. */
    bool is_licensed = n->may_round || n->rounds_to != FX_BOOL;
    if (needs_stored && is_licensed && !is_stored_narrow(a->g, touched(rest, &f))) return NULL;
    return with_factor(a, &f, sum_like(a, n, rest, n->may_round), n);
}

/* ---- the rules ---- */

static bool is_scale(const struct algebra *a, const struct node *sum, const struct node *at, int side) {
    const struct node *c = at->args[side];
    (void)a;
    if (c->kind != N_CONST || node_is_op(at, O_WHERE) || (node_is_op(at, O_DIV) && side == 0)) return false;
    if (fx_is_integer(sum->dtype)) return true;
    return c->num >= 0x1p-24 && c->num <= 0x1p24;
}

static struct node *scale_out(struct algebra *a, struct node *n) { return move_out(a, n, is_scale, true); }

static bool is_constant_along(const struct algebra *a, const struct node *sum, const struct node *at, int side) {
    (void)a;
    if (node_is_op(at, O_WHERE))
        return side == 0 && lacks_reduced(sum, at->args[0]) && is_zero(at->args[1]) != is_zero(at->args[2]);
    return at->args[side]->kind != N_CONST && lacks_reduced(sum, at->args[side]) &&
           !(node_is_op(at, O_DIV) && side == 0);
}

static struct node *row_scale_out(struct algebra *a, struct node *n) {
    return move_out(a, n, is_constant_along, false);
}

/* What a sum that starts from 0 makes of one term: x + 0, which is x but for -0. */
static struct node *sum_of_one(struct algebra *a, struct node *x, const struct node *like) {
    return fx_is_integer(x->dtype) ? x : build_op(a->g, O_ADD, x, build_number(a->g, x->dtype, 0, like), NULL, like);
}

/* The sum of x over those of `axes` that it carries and the other factor lacks; x where there are none. */
static struct node *partial_sum(
    struct algebra *a, struct node *x, const struct node *other, const int *axes, int n_axes, const struct node *like) {
    int own_axes[MAX_AXES], n = 0;
    for (int i = 0; i < n_axes; i++)
        if (node_has_axis(x, axes[i]) && !node_has_axis(other, axes[i])) own_axes[n++] = axes[i];
    return n ? build_sum(a->g, x, own_axes, n, like) : x;
}

static bool has_private_axes(const struct node *x, const struct node *other) {
    for (int i = 0; i < x->n_axes; i++)
        if (!node_has_axis(other, x->axes[i])) return true;
    return false;
}

static struct node *sum_through_contraction(struct algebra *a, struct node *n) {
    int axes[2 * MAX_AXES], shared[MAX_AXES], n_axes = n->n_reduced, n_shared = 0;
    struct node *product = n->args[0];
    if (!is_sum(n)) return NULL;
    memcpy(axes, n->reduced, (size_t)n_axes * sizeof *axes);
    if (is_sum(product)) {
        if (!algebra_own(a, product)) return NULL;
        for (int i = 0; i < product->n_reduced; i++) n_axes = set_add(axes, n_axes, product->reduced[i]);
        product = product->args[0];
    }
    if (n_axes > MAX_AXES || !node_is_op(product, O_MUL) || !algebra_own(a, product)) return NULL;
    struct node *x = product->args[0], *y = product->args[1];
    bool in_x = false, in_y = false;
    for (int i = 0; i < n_axes; i++) {
        bool has_x = node_has_axis(x, axes[i]), has_y = node_has_axis(y, axes[i]);
        if (has_x && has_y) shared[n_shared++] = axes[i];
        in_x |= has_x, in_y |= has_y;
    }
    if (n_shared == n_axes || !in_x || !in_y) return NULL;
    struct node *sx = partial_sum(a, x, y, axes, n_axes, n), *sy = partial_sum(a, y, x, axes, n_axes, n);
    bool is_matmul = has_private_axes(sx, sy) && has_private_axes(sy, sx);
    if (is_matmul && (is_stored_narrow(a->g, x) || is_stored_narrow(a->g, y)))
        return NULL; /* tensor cores would no longer take it */
    struct node *r = build_op(a->g, O_MUL, sx, sy, NULL, n);
    return n_shared ? build_sum(a->g, r, shared, n_shared, n)
                    : sum_of_one(a, r, n); /* no factor is as stored any more: no licence to round the other */
}

/* Whether `at`, which nothing else reads, is a contraction that n may be taken through, or a sum or difference that
 * leads to one. */
static bool leads_through(const struct algebra *a, const struct node *n, const struct node *at, int depth) {
    if (depth == MAX_PATH || at->id >= a->n_old || a->readers[at->id] != 1 || a->is_consumed[at->id]) return false;
    if (node_is_op(at, O_ADD) || node_is_op(at, O_SUB))
        return leads_through(a, n, at->args[0], depth + 1) || leads_through(a, n, at->args[1], depth + 1);
    if (!is_sum(at) || !node_is_op(at->args[0], O_MUL)) return false;
    const struct node *x = at->args[0]->args[0], *y = at->args[0]->args[1];
    return (has_reduced(n, x) && lacks_reduced(n, y)) || (has_reduced(n, y) && lacks_reduced(n, x));
}

static struct node *split_sum(struct algebra *a, struct node *n) {
    struct node *t = n->args[0];
    if (!is_sum(n) || (!node_is_op(t, O_ADD) && !node_is_op(t, O_SUB)) || !has_reduced(n, t->args[0]) ||
        !has_reduced(n, t->args[1]))
        return NULL;
    if (!leads_through(a, n, t->args[0], 0) && !leads_through(a, n, t->args[1], 0)) return NULL;
    if (!algebra_own(a, t)) return NULL;
    return build_op(a->g, t->op, sum_like(a, n, t->args[0], false), sum_like(a, n, t->args[1], false), NULL, n);
}

static struct node *one_element(struct algebra *a, struct node *n) {
    struct node access = {.kind = N_ACCESS, .dtype = 0, .axis = -1, .span = n->span, .source = n->source}, left = *n;
    if (n->kind != N_REDUCE) return NULL;
    bool is_arg = n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN;
    left.n_reduced = 0;
    for (int i = 0; i < n->n_reduced; i++)
        if (a->g->kernel->axes[n->reduced[i]].extent == 1) access.at[access.n_at++] = n->reduced[i];
        else left.reduced[left.n_reduced++] = n->reduced[i];
    if (access.n_at == 0 || (is_arg && n->n_axes > 0)) return NULL;
    if (is_arg) return build_integer(a->g, FX_I64, 0, n);
    access.args[0] = n->args[0];
    access.dtype = n->args[0]->dtype;
    for (int i = 0; i < access.n_at; i++) access.args[1 + i] = build_integer(a->g, FX_I64, 0, n);
    left.args[0] = build_node(a->g, access);
    if (left.n_reduced) return build_node(a->g, left);
    return n->reduction == RED_SUM ? sum_of_one(a, left.args[0], n) : left.args[0];
}

/* Of `where(idx(P) == at, chosen, 0)`, P being summed and `at` constant along it: true, with its parts. */
static bool as_choice_of_one(
    const struct node *sum, const struct node *n, int *axis, struct node **at, struct node **chosen) {
    if (!node_is_op(n, O_WHERE) || (!node_is_op(n->args[0], O_EQ) && !node_is_op(n->args[0], O_NE))) return false;
    const struct node *is_at = n->args[0];
    int other = node_is_op(is_at, O_EQ) ? 2 : 1;
    *chosen = n->args[3 - other];
    for (int side = 0; side < 2 && is_zero(n->args[other]); side++) {
        const struct node *i = is_at->args[side];
        *at = is_at->args[1 - side];
        *axis = i->axis;
        if (i->kind != N_INDEX || !set_has(sum->reduced, sum->n_reduced, *axis) || node_has_axis(*at, *axis) ||
            !node_has_axis(*chosen, *axis))
            continue;
        if ((*at)->dtype == FX_I64 || (*at)->dtype == FX_I32) return true;
    }
    return false;
}

/* One term of a sum is no 0: that term. Where the others are 0 already, they are so to the bit. */
static struct node *one_term(struct algebra *a, struct node *n) {
    struct node access = {.kind = N_ACCESS, .axis = -1, .n_at = 1, .span = n->span, .source = n->source}, left = *n,
                *at, *chosen;
    int axis;
    if (!is_sum(n) || !as_choice_of_one(n, n->args[0], &axis, &at, &chosen) || !algebra_own(a, n->args[0])) return NULL;
    int64_t extent = a->g->kernel->axes[axis].extent;
    access.dtype = chosen->dtype;
    access.at[0] = axis;
    access.args[0] = chosen, access.args[1] = at;
    access.has_fill = at->kind != N_CONST || at->integer < 0 || at->integer >= extent;
    if (access.has_fill) access.args[2] = build_zero(a->g, chosen->dtype, n);
    left.args[0] = build_node(a->g, access);
    left.n_reduced = 0;
    for (int i = 0; i < n->n_reduced; i++)
        if (n->reduced[i] != axis) left.reduced[left.n_reduced++] = n->reduced[i];
    return left.n_reduced ? build_node(a->g, left) : sum_of_one(a, left.args[0], n);
}

static const double LOG2_E = 1.4426950408889634074;

static struct node *exp2_for_exp(struct algebra *a, struct node *n) {
    if (!node_is_op(n, O_EXP)) return NULL;
    struct node *x = n->args[0];
    double scale = LOG2_E;
    if (node_is_op(x, O_MUL) && x->args[1]->kind == N_CONST && algebra_own(a, x))
        scale *= x->args[1]->num, x = x->args[0];
    struct node *scaled = build_op(a->g, O_MUL, x, build_number(a->g, n->dtype, scale, n), NULL, n);
    return build_op(a->g, O_EXP2, scaled, NULL, NULL, n);
}

/* A difference or a sum one side of which is constant along what is summed. */
static bool is_shifted(const struct algebra *a, const struct node *sum, const struct node *at, int side) {
    const struct node *d = at->args[side];
    if (!node_is_op(at, O_MUL) || (!node_is_op(d, O_SUB) && !node_is_op(d, O_ADD)) || d->id >= a->n_old ||
        a->readers[d->id] != 1)
        return false;
    return has_reduced(sum, at->args[1 - side]) &&
           ((lacks_reduced(sum, d->args[1]) && has_reduced(sum, d->args[0])) ||
               (lacks_reduced(sum, d->args[0]) && has_reduced(sum, d->args[1])));
}

/* sum_k ((x - m) * w) as sum_k x * w - m * sum_k w; factors r beside them that are constant along k have been moved out
 * before. */
static struct node *fold_shift(struct algebra *a, struct node *n, struct node *product) {
    struct factor f;
    if (!node_is_op(product, O_MUL) || !find_factor(a, n, product, is_shifted, &f, 0)) return NULL;
    struct node *d = f.nodes[f.n - 1]->args[f.sides[f.n - 1]], *rest = without(a, &f);
    if (!rest || !has_reduced(n, rest) || !algebra_own(a, d)) return NULL;
    bool shift_first = lacks_reduced(n, d->args[0]);
    struct node *x = d->args[shift_first], *m = d->args[!shift_first];
    struct node *whole = sum_like(a, n, build_op(a->g, O_MUL, x, rest, NULL, n), false);
    struct node *shift = build_op(a->g, O_MUL, m, sum_like(a, n, rest, false), NULL, n);
    if (node_is_op(d, O_ADD)) return build_op(a->g, O_ADD, whole, shift, NULL, n);
    return shift_first ? build_op(a->g, O_SUB, shift, whole, NULL, n) : build_op(a->g, O_SUB, whole, shift, NULL, n);
}

static struct node *norm_fold(struct algebra *a, struct node *n) {
    struct factor f;
    if (!is_sum(n)) return NULL;
    struct node *plain = fold_shift(a, n, n->args[0]);
    if (plain) return plain;
    /* (x - m) * r * w: r goes out first, in whichever order the product was written; the next sweep then folds. */
    a->n_consumed = 0;
    if (!find_factor(a, n, n->args[0], is_constant_along, &f, 0) || node_is_op(f.nodes[f.n - 1], O_WHERE)) return NULL;
    struct node *rest = without(a, &f);
    if (!rest || !node_is_op(rest, O_MUL)) return NULL;
    for (int side = 0; side < 2; side++) {
        const struct node *d = rest->args[side];
        bool is_shift = (node_is_op(d, O_SUB) || node_is_op(d, O_ADD)) &&
                        lacks_reduced(n, d->args[0]) != lacks_reduced(n, d->args[1]);
        if (is_shift && has_reduced(n, d) && has_reduced(n, rest->args[1 - side]))
            return with_factor(a, &f, sum_like(a, n, rest, false), n);
    }
    return NULL;
}

/* The labels that reductions and running sums below v are made along, which the term of n reads element by element:
 * some but not all of those that n reduces. False: none are, or of several kinds. */
static bool find_rows(const struct algebra *a, const struct node *n, const struct node *v, bool *is_met,
    struct axis_list *rows) {
    const bool is_scan = v->kind == N_SCAN;
    if (is_met[v->id]) return true;
    is_met[v->id] = true;
    if (v->kind == N_OP || v->kind == N_CAST) {
        for (int i = 0; i < v->n_args; i++)
            if (!find_rows(a, n, v->args[i], is_met, rows)) return false;
        return true;
    }
    if ((v->kind != N_REDUCE && !is_scan) || is_matrix_product(a->g, v)) return true;
    const int *along = is_scan ? &v->axis : v->reduced, n_along = is_scan ? 1 : v->n_reduced;
    if (!node_has_any(v, n->reduced, n->n_reduced)) return true; /* the same for all terms */
    for (int i = 0; i < n_along; i++)
        if (!set_has(n->reduced, n->n_reduced, along[i])) return false;
    if (rows->n && !nodes_same_axes(rows->axes, rows->n, along, n_along)) return false;
    rows->n = n_along;
    memcpy(rows->axes, along, (size_t)n_along * sizeof *along);
    return n_along < n->n_reduced;
}

/* A reduction of elements that are made of reductions of their rows: of each row, then of those. */
static struct node *rows_first(struct algebra *a, struct node *n) {
    struct axis_list rows = {0};
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || n->n_reduced < 2 || is_matrix_product(a->g, n)) return NULL;
    bool *is_met = NEW_ARRAY(&a->g->cx->arena, bool, a->g->n_nodes + 1);
    if (!find_rows(a, n, n->args[0], is_met, &rows) || !rows.n || !node_has_all(n->args[0], rows.axes, rows.n))
        return NULL;
    struct node row = *n, all = *n;
    row.n_reduced = rows.n, all.n_reduced = 0;
    memcpy(row.reduced, rows.axes, sizeof rows.axes);
    for (int i = 0; i < n->n_reduced; i++)
        if (!set_has(rows.axes, rows.n, n->reduced[i])) all.reduced[all.n_reduced++] = n->reduced[i];
    row.name = (struct name){0};
    all.args[0] = build_node(a->g, row);
    return build_node(a->g, all);
}

/* ---- the table ---- */

static const struct {
    struct algebra_rule rule;
    struct node *(*apply)(struct algebra *a, struct node *n); /* what stands for n, or NULL */
} rules[] = {
    {{"one_element", "sum_k x_k -> x_0", "a sum, product, maximum or minimum over an axis of fixed extent 1",
         "none: to the bit", true, false},
        one_element},
    {{"one_term", "sum_k where(k == i, x_k, 0) -> x_i",
         "i is an integer, constant along k, and x is not; outside of the axis it gives 0", "none: to the bit", true,
         false},
        one_term},
    {{"scale_out", "sum_k (c * x_k) -> c * sum_k x_k",
         "c is a constant, of floats within 2^-24 and 2^24; a factor that may be rounded to 16 bits keeps its scale unless it is stored so",
         "one rounding of the sum for one of each term: within the bound of a sum; none of integers, nor of powers of 2 away from the ends of the range",
         true, false},
        scale_out},
    {{"rows_first", "sum_mn (x_mn * r_m) -> sum_m sum_n (x_mn * r_m)",
         "r is made of reductions or running sums along n; a sum, product, maximum or minimum, and no matrix product",
         "terms are added in another order: within the bound of a sum over all axes at once; none of maxima and minima",
         true, false},
        rows_first},
    {{"sum_through_contraction", "sum_n sum_k (x_k * w_kn) -> sum_k (x_k * sum_n w_kn)",
         "an axis is summed that only one of two factors carries, and each factor carries one; not where a 16-bit contraction on tensor cores would be left",
         "terms are added in another order: within the bound of a sum over all axes at once, while the sums of either factor stay in range",
         false, true},
        sum_through_contraction},
    {{"split_sum", "sum_n (sum_k (x_k * w_kn) + b_n) -> sum_n sum_k (x_k * w_kn) + sum_n b_n, also for -",
         "one of the two is made by additions of a contraction that sum_through_contraction may take, and read by nothing else",
         "terms are added in another order: within the bound of one sum over the terms of both, while each stays in range",
         false, true},
        split_sum},
    {{"k_concat", "sum_k (a_k * b_k) + s * sum_r (c_r * d_r) -> sum_p (x_p * y_p), p over k, then r",
         "two contractions over one axis each, with the same axes beside it, are added; s is a scalar",
         "as scale_out for s; sums are added in another order", false, false},
        algebra_k_concat},
    {{"norm_fold", "sum_k ((x_k - m) * r * w_k) -> r * (sum_k (x_k * w_k) - m * sum_k w_k)",
         "m and r are constant along k, w is not",
         "absolute: (K + 16) * 2^-24 * |r| * (sum |x_k w_k| + |m| sum |w_k|), which is large where |m| is large beside the spread of x",
         false, false},
        norm_fold},
    {{"row_scale_out", "sum_k (x_k / s) -> (sum_k x_k) / s, also for s *, where(c, 0, ..)",
         "s and c are constant along k, s is no constant",
         "as scale_out where neither the products nor the sum leave the range of normal numbers; a rounded factor is rounded without its scale",
         false, false},
        row_scale_out},
    {{"exp2", "exp(x) -> exp2(x * log2 e)", "a constant factor of x is folded in", "relative: (2 + 2 |x|) * 2^-24 more",
         false, false},
        exp2_for_exp},
};
enum { N_RULES = sizeof rules / sizeof *rules };

const struct algebra_rule *algebra_rule(int i) { return i >= 0 && i < N_RULES ? &rules[i].rule : NULL; }

/* ---- a sweep ---- */

static double cost_of_new(const struct algebra *a, int from) {
    double cost = 0;
    for (int i = from; i < a->g->n_nodes; i++) cost += flops_of(a->g, a->g->nodes[i]);
    return cost;
}

static double cost_of_consumed(const struct algebra *a, const struct node *root) {
    double cost = flops_of(a->g, root);
    for (int i = 0; i < a->n_consumed; i++) cost += flops_of(a->g, a->consumed[i]);
    return cost;
}

static void record(struct algebra *a, const struct node *n, const char *rule, double before, double after) {
    struct applied *r = &PUSH(&a->g->cx->arena, a->g->applied, a->g->n_applied);
    *r = (struct applied){.rule = rule, .span = n->span, .source = n->source, .before = before, .after = after};
}

/* Applies rule i to n if it fits and pays; new nodes that are not used are taken back. */
static bool try_rule(struct algebra *a, struct node *n, int i) {
    int from = a->g->n_nodes;
    const struct kernel *kernel = a->g->kernel;
    a->n_consumed = 0;
    struct node *to = rules[i].apply(a, n);
    double before = cost_of_consumed(a, n), after = cost_of_new(a, from);
    bool keeps = to && to->dtype == n->dtype && nodes_same_axes(to->axes, to->n_axes, n->axes, n->n_axes);
    if (!keeps || after > before * 1.01) {
        a->g->n_nodes = from;
        a->g->kernel = kernel;
        return false;
    }
    if (!to->name.len && to->id >= a->n_old) to->name = n->name;
    a->replacement[n->id] = to;
    for (int c = 0; c < a->n_consumed; c++) a->is_consumed[a->consumed[c]->id] = true;
    record(a, n, rules[i].rule.name, before, after);
    return true;
}

static bool is_on(const struct graph *g, const struct algebra_rule *r) {
    char name[64] = "algebra.";
    strncat(name, r->name, sizeof name - strlen(name) - 1);
    return !list_has(g->skip, name) &&
           (r->is_default || (r->is_fast && g->kernel->fast_math) || list_has(g->with, name));
}

struct emitter { /* puts the nodes that outputs reach in order, replacements in place of what they replace */
    struct algebra *a;
    struct graph *out;
    struct node **map;    /* by node of a->g */
    struct node **stack;  /* of nodes whose operands are being put */
};

static struct node *stands_for(const struct emitter *e, struct node *n) {
    while (n->id < e->a->n_old && e->a->replacement[n->id]) n = e->a->replacement[n->id];
    return n;
}

static struct node *emit(struct emitter *e, struct node *root) {
    int depth = 0;
    root = stands_for(e, root);
    if (!e->map[root->id]) e->stack[depth++] = root;
    while (depth) {
        struct node *n = e->stack[depth - 1], copy = *n;
        int n_waiting = 0;
        for (int i = 0; i < n->n_args && !n_waiting; i++) {
            struct node *arg = stands_for(e, n->args[i]);
            copy.args[i] = e->map[arg->id];
            if (!copy.args[i]) e->stack[depth++] = arg, n_waiting++;
        }
        if (n_waiting) continue;
        e->map[n->id] = graph_add(e->out, &copy);
        depth--;
    }
    return e->map[root->id];
}

/* The graph with every replacement in place, what no output reaches left out, old nodes in their old order. */
static struct graph *rebuilt(struct algebra *a) {
    struct arena *arena = &a->g->cx->arena;
    struct graph *g = a->g, *out = graph_like(g);
    struct emitter e = {
        a, out, NEW_ARRAY(arena, struct node *, g->n_nodes + 1), NEW_ARRAY(arena, struct node *, g->n_nodes + 1)};
    for (int i = 0; i < a->n_old; i++)
        if (a->readers[i] && !a->is_consumed[i]) emit(&e, g->nodes[i]);
    for (int i = 0; i < g->n_outputs; i++) {
        struct output *o = &PUSH(arena, out->outputs, out->n_outputs);
        struct node *whole = g->outputs[i].whole;
        *o = (struct output){g->outputs[i].param, emit(&e, g->outputs[i].value),
            whole ? e.map[stands_for(&e, whole)->id] : NULL};
    }
    return out;
}

static struct node *copy(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    (void)state, (void)old, (void)map;
    return graph_add(out, n);
}

struct graph *pass_algebra(const struct graph *g) {
    struct arena *arena = &g->cx->arena;
    struct algebra a = {
        .g = graph_rewrite(g, graph_like(g), copy, NULL), .n_old = g->n_nodes, .readers = count_readers(g)};
    a.is_consumed = NEW_ARRAY(arena, bool, g->n_nodes + 1);
    a.replacement = NEW_ARRAY(arena, struct node *, g->n_nodes + 1);
    bool on[N_RULES], has_applied = false;
    for (int r = 0; r < N_RULES; r++) on[r] = is_on(g, &rules[r].rule);
    for (int i = a.n_old - 1; i >= 0; i--) /* readers first: what they rewrite is theirs */
        for (int r = 0; r < N_RULES && a.readers[i] && !a.is_consumed[i] && !a.replacement[i]; r++)
            if (on[r] && try_rule(&a, a.g->nodes[i], r)) has_applied = true;
    return has_applied ? rebuilt(&a) : (struct graph *)g;
}
