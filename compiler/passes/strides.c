/* Sums in which every result needs one term in R: a transposed convolution, whose image is read at the positions that a
 * tap meets.
 *
 * In: a graph. Out: one in which sum[U](where((P + c - U) % R == 0, a, 0) * b), P a label of the result and U a summed
 * label, both of fixed extents that R divides, has become R sums, one for each remainder of P. In the sum of remainder
 * r, P is R * I + r and U is R * J + d, where d makes the condition hold. The condition is left out, positions are
 * divided by R, and J has an R-th of U's elements. The result selects among the sums by P % R. Two such conditions give
 * R * R sums. The factors of the omitted zeros are summed separately: if that sum is not finite the result is NaN. */
#include <string.h>

#include "graph/linear.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MOST_PAIRS = 2, MOST_PHASES = 16 };

struct pair { /* (kept_factor * kept + summed_factor * summed + first) % step == 0, the factors 1 or -1 */
    int kept, summed;
    int64_t kept_factor, summed_factor, first, step;
};

struct strider {
    const struct graph *g;
    struct graph *out;
    struct kernel *kernel;
    struct node **map;
    int n_pairs;
    struct pair pairs[MOST_PAIRS];
    int inner_kept[MOST_PAIRS], inner_summed[MOST_PAIRS]; /* the labels I and J */
    int64_t kept_rest[MOST_PAIRS], summed_rest[MOST_PAIRS];
    const struct node *other; /* what terms that are left out multiply by 0; NULL: nothing */
    struct node **made; /* by node of g: what stands for it in the sum that is being made */
    bool is_changed;
};

static int64_t remainder_of(int64_t a, int64_t b) { return (a % b + b) % b; }

static int64_t extent_of(const struct graph *g, int axis) { return g->kernel->axes[axis].extent; }

/* Whether condition n says that a kept and a summed label of `sum` meet in steps. */
static bool find_pair(const struct graph *g, const struct node *sum, const struct node *n, struct pair *p) {
    struct linear l = {0};
    if (!node_is_op(n, O_EQ) || !is_integer_const(n->args[1], 0) || !node_is_op(n->args[0], O_MOD)) return false;
    const struct node *step = n->args[0]->args[1];
    if (step->kind != N_CONST || step->integer < 2 || step->integer > MOST_PHASES ||
        !linear_add(&l, n->args[0]->args[0], 1) || l.n != 2)
        return false;
    const bool is_second = axes_have(sum->reduced, sum->n_reduced, l.axis[1]);
    *p = (struct pair){.kept = l.axis[!is_second], .summed = l.axis[is_second], .kept_factor = l.factor[!is_second],
        .summed_factor = l.factor[is_second], .first = l.first, .step = step->integer};
    for (int i = 0; i < 2; i++)
        if ((l.factor[i] != 1 && l.factor[i] != -1) || extent_of(g, l.axis[i]) <= 0 ||
            extent_of(g, l.axis[i]) % step->integer)
            return false;
    return axes_have(sum->reduced, sum->n_reduced, p->summed) && node_has_axis(sum, p->kept);
}

/* Collects the pairs in condition n, a conjunction; whether all of it are such. */
static bool find_pairs(
    const struct graph *g, const struct node *sum, const struct node *n, struct pair *pairs, int *n_pairs) {
    if (node_is_op(n, O_AND))
        return find_pairs(g, sum, n->args[0], pairs, n_pairs) && find_pairs(g, sum, n->args[1], pairs, n_pairs);
    if (*n_pairs == MOST_PAIRS || !find_pair(g, sum, n, &pairs[*n_pairs])) return false;
    for (int i = 0; i < *n_pairs; i++)
        if (pairs[i].kept == pairs[*n_pairs].kept || pairs[i].summed == pairs[*n_pairs].summed) return false;
    return ++*n_pairs;
}

/* The condition of term n, or of a factor of it, which is 0 where it does not hold; *other: what that 0 is multiplied
 * by, or NULL. */
static const struct node *condition_of(const struct node *n, const struct node **other) {
    *other = NULL;
    if (node_is_op(n, O_WHERE) && node_is_number(n->args[2], 0)) return n->args[0];
    for (int i = 0; node_is_op(n, O_MUL) && i < 2; i++)
        if (node_is_op(n->args[i], O_WHERE) && node_is_number(n->args[i]->args[2], 0))
            return *other = n->args[1 - i], n->args[i]->args[0];
    return NULL;
}

/* ---- what stands for a value where P is R * I + r ---- */

/* The pair that axis belongs to, and whether it is the summed one; -1: none. */
static int pair_of(const struct strider *s, int axis, bool *is_summed) {
    for (int i = 0; i < s->n_pairs; i++)
        if (s->pairs[i].kept == axis || s->pairs[i].summed == axis) return *is_summed = s->pairs[i].summed == axis, i;
    return -1;
}

static bool depends(const struct strider *s, const struct node *n) {
    bool is_summed;
    for (int i = 0; i < n->n_axes; i++)
        if (pair_of(s, n->axes[i], &is_summed) >= 0) return true;
    return false;
}

static struct node *integer_op(struct graph *out, enum op op, struct node *a, int64_t b, const struct node *like) {
    if ((op == O_ADD && b == 0) || (op == O_MUL && b == 1)) return a;
    return build_op(out, op, a, build_integer(out, FX_I64, b, like), NULL, like);
}

/* factor * I + first for a linear form over the labels of g, divided by `by`; NULL where that is not whole. */
static struct node *build_linear(struct strider *s, const struct linear *l, int64_t by, const struct node *like) {
    int64_t first = l->first, factor[LINEAR_TERMS];
    int axis[LINEAR_TERMS];
    struct node *sum = NULL;
    for (int i = 0; i < l->n; i++) {
        bool is_summed;
        int p = pair_of(s, l->axis[i], &is_summed);
        factor[i] = l->factor[i], axis[i] = l->axis[i];
        if (p < 0) continue;
        axis[i] = is_summed ? s->inner_summed[p] : s->inner_kept[p];
        first += factor[i] * (is_summed ? s->summed_rest[p] : s->kept_rest[p]);
        factor[i] *= s->pairs[p].step;
    }
    for (int i = 0; i < l->n; i++)
        if (factor[i] % by) return NULL;
    first = (first - remainder_of(first, by)) / by;
    for (int i = 0; i < l->n; i++) {
        if (!factor[i]) continue;
        const int64_t f = factor[i] / by;
        struct node *index = build_index(s->out, axis[i], like);
        if (sum && f == -1) sum = build_op(s->out, O_SUB, sum, index, NULL, like);
        else {
            struct node *term = integer_op(s->out, O_MUL, index, f, like);
            sum = sum ? build_op(s->out, O_ADD, sum, term, NULL, like) : term;
        }
    }
    return sum ? integer_op(s->out, O_ADD, sum, first, like) : build_integer(s->out, FX_I64, first, like);
}

static struct node *at_phase(struct strider *s, const struct node *n);

/* n, an integer, with its labels replaced; whole quotients are divided. */
static struct node *position_at_phase(struct strider *s, const struct node *n) {
    struct linear l = {0};
    struct node *made = NULL;
    if (n->dtype == FX_I64 && linear_add(&l, n, 1)) return build_linear(s, &l, 1, n);
    l = (struct linear){0};
    if (node_is_op(n, O_FLOORDIV) && n->args[1]->kind == N_CONST && n->args[1]->integer > 0 && n->dtype == FX_I64 &&
        linear_add(&l, n->args[0], 1))
        made = build_linear(s, &l, n->args[1]->integer, n);
    return made;
}

static struct node *compute_at_phase(struct strider *s, const struct node *n) {
    struct pair pair;
    struct node *position = position_at_phase(s, n), new = *n;
    bool is_summed;
    if (position) return position;
    for (int i = 0; i < s->n_pairs && node_is_op(n, O_EQ); i++) { /* which holds in this phase */
        struct node like = {.kind = N_REDUCE, .n_axes = 1, .axes = {s->pairs[i].kept}, .n_reduced = 1,
            .reduced = {s->pairs[i].summed}};
        if (find_pair(s->g, &like, n, &pair) && memcmp(&pair, &s->pairs[i], sizeof pair) == 0)
            return build_number(s->out, FX_BOOL, 1, n);
    }
    if (n->kind == N_OP || n->kind == N_CAST) {
        for (int i = 0; i < n->n_args; i++) new.args[i] = at_phase(s, n->args[i]);
        if (node_is_op(n, O_AND) && node_is_number(new.args[0], 1)) return new.args[1];
        if (node_is_op(n, O_AND) && node_is_number(new.args[1], 1)) return new.args[0];
        if (node_is_op(n, O_WHERE) && node_is_number(new.args[0], 1)) return new.args[1];
        return build_node(s->out, new);
    }
    const bool is_access = n->kind == N_ACCESS; /* of it the positions move; of anything else it is read at some */
    const struct node *source = is_access ? n->args[0] : n;
    struct node access = {.kind = N_ACCESS, .dtype = n->dtype, .axis = -1, .span = n->span, .source = n->source};
    access.args[0] = s->map[source->id];
    for (int i = 0; i < source->n_axes; i++) {
        const int axis = source->axes[i], p = pair_of(s, axis, &is_summed);
        struct node *at = NULL;
        struct linear own = {.n = 1, .axis = {axis}, .factor = {1}};
        for (int k = 0; is_access && k < n->n_at; k++)
            if (n->at[k] == axis) at = at_phase(s, n->args[1 + k]);
        if (!at && p >= 0) at = build_linear(s, &own, 1, n);
        if (!at) continue;
        access.at[access.n_at++] = axis;
        access.args[access.n_at] = at;
    }
    access.has_fill = is_access && n->has_fill;
    if (access.has_fill) access.args[1 + access.n_at] = at_phase(s, n->args[1 + n->n_at]);
    return build_node(s->out, access);
}

static struct node *at_phase(struct strider *s, const struct node *n) {
    if (!depends(s, n)) return s->map[n->id];
    if (!s->made[n->id]) s->made[n->id] = compute_at_phase(s, n);
    return s->made[n->id];
}

/* ---- the sums ---- */

static int inner_label(struct strider *s, int axis, int64_t step) {
    const struct axis whole = s->kernel->axes[axis];
    struct axis inner = whole;
    inner.name = build_label_name(s->g, s->kernel, whole.name, "_step");
    inner.extent = whole.extent / step, inner.nominal = (double)inner.extent;
    inner.part_of = -1, inner.is_inner = true;
    return build_label(s->g, s->kernel, inner);
}

/* What the terms that are left out add up to: 0, or NaN where one of them is 0 times what is not finite. */
static struct node *sum_left_out(struct strider *s, const struct node *old) {
    struct node *is_met = NULL, *zero = build_number(s->out, FX_F32, 0, old),
                *term = build_op(s->out, O_MUL, s->map[s->other->id], zero, NULL, old);
    int reduced[MAX_AXES], n_reduced = 0;
    for (int i = 0; i < s->n_pairs; i++) {
        const struct pair *p = &s->pairs[i];
        struct node *rest = integer_op(s->out, O_MOD, build_index(s->out, p->summed, old), p->step, old),
                    *is_own = integer_op(s->out, O_EQ, rest, s->summed_rest[i], old);
        is_met = is_met ? build_op(s->out, O_AND, is_met, is_own, NULL, old) : is_own;
    }
    term = build_op(s->out, O_WHERE, is_met, zero, term, old);
    for (int i = 0; i < old->n_reduced; i++)
        if (node_has_axis(term, old->reduced[i])) n_reduced = set_add(reduced, n_reduced, old->reduced[i]);
    return build_sum(s->out, term, reduced, n_reduced, old);
}

/* The sum where each kept label has its remainder, at the places of the whole result. */
static struct node *sum_at_phase(struct strider *s, const struct node *old, const struct node *like) {
    struct node sum = *like, place = {.kind = N_ACCESS, .dtype = old->dtype, .axis = -1};
    s->made = NEW_ARRAY(&s->g->cx->arena, struct node *, s->g->n_nodes + 1);
    sum.args[0] = at_phase(s, old->args[0]);
    sum.n_reduced = 0;
    for (int i = 0; i < old->n_reduced; i++) {
        bool is_summed;
        int p = pair_of(s, old->reduced[i], &is_summed);
        sum.n_reduced = set_add(sum.reduced, sum.n_reduced, p < 0 ? old->reduced[i] : s->inner_summed[p]);
    }
    place.span = old->span, place.source = old->source;
    place.args[0] = build_node(s->out, sum);
    for (int i = 0; i < s->n_pairs; i++) { /* ascending, as labels were made */
        place.at[i] = s->inner_kept[i];
        place.args[1 + i] =
            integer_op(s->out, O_FLOORDIV, build_index(s->out, s->pairs[i].kept, old), s->pairs[i].step, old);
    }
    place.n_at = s->n_pairs;
    struct node *value = build_node(s->out, place);
    return s->other ? build_op(s->out, O_ADD, value, sum_left_out(s, old), NULL, old) : value;
}

/* The sums of all remainders of pairs from number `from` on, chosen by those of the kept labels. */
static struct node *choose_phase(struct strider *s, const struct node *old, const struct node *like, int from) {
    if (from == s->n_pairs) return sum_at_phase(s, old, like);
    const struct pair *p = &s->pairs[from];
    struct node *rest = integer_op(s->out, O_MOD, build_index(s->out, p->kept, old), p->step, old), *chosen = NULL;
    for (int64_t r = p->step - 1; r >= 0; r--) {
        s->kept_rest[from] = r;
        s->summed_rest[from] = remainder_of(-p->summed_factor * (p->kept_factor * r + p->first), p->step);
        struct node *value = choose_phase(s, old, like, from + 1);
        if (chosen) chosen = build_op(s->out, O_WHERE, integer_op(s->out, O_EQ, rest, r, old), value, chosen, old);
        else chosen = value;
    }
    return chosen;
}

/* Whether sum n multiplies matrices whose windows no tensor map brings, of anything but 16-bit floats in memory, or f32
 * in parts: as many small products of windows would take longer than one that is written out. */
static bool is_slow_product(const struct graph *g, const struct node *n) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), is_slow = !g->cx->arch->has_wgmma;
    const bool takes_f32 = may_take_parts(g, n);
    if (!is_matrix_product(g, n)) return false;
    seen[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        for (int a = 0; seen[i] && a < at->n_args; a++) seen[at->args[a]->id] = true;
        const enum fx_dtype t = at->kind == N_INPUT ? g->kernel->params[at->param].dtype : FX_F16;
        is_slow |= seen[i] && t != FX_F16 && t != FX_BF16 && !(t == FX_F32 && takes_f32);
    }
    return is_slow;
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct strider *s = state;
    const struct node *condition = NULL;
    int64_t n_phases = 1;
    s->n_pairs = 0;
    if (old->kind == N_REDUCE && old->reduction == RED_SUM && old->dtype == FX_F32)
        condition = condition_of(old->args[0], &s->other);
    if (!condition || is_slow_product(s->g, old) || !find_pairs(s->g, old, condition, s->pairs, &s->n_pairs))
        return graph_add(out, n);
    for (int i = 0; i < s->n_pairs; i++) {
        n_phases *= s->pairs[i].step;
        if (s->other && node_has_axis(s->other, s->pairs[i].kept)) return graph_add(out, n);
    }
    if (n_phases > MOST_PHASES || s->kernel->n_axes + 2 * s->n_pairs > FX_MAX_EXTENTS) return graph_add(out, n);
    for (int i = 0; i < s->n_pairs; i++) s->inner_kept[i] = inner_label(s, s->pairs[i].kept, s->pairs[i].step);
    for (int i = 0; i < s->n_pairs; i++) s->inner_summed[i] = inner_label(s, s->pairs[i].summed, s->pairs[i].step);
    s->out = out, s->map = map, s->is_changed = true;
    return choose_phase(s, old, n, 0);
}

struct graph *pass_strides(const struct graph *g) {
    struct strider s = {.g = g, .kernel = NEW(&g->cx->arena, struct kernel)};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    *s.kernel = *g->kernel;
    struct graph *out = graph_like(g);
    out->kernel = s.kernel;
    graph_rewrite(g, out, rewrite, &s);
    return s.is_changed ? out : (struct graph *)g;
}
