/* Sums in which every result needs one term in R: a transposed convolution, whose image is read at the positions that a
 * tap meets.
 *
 * In: a graph. Out: one in which sum[U](where((P + c - U) % R == 0, a, 0) * b), P a label of the result and U a summed
 * label, both of fixed extents, has become R sums, one for each remainder of P. In the sum of remainder r, P is
 * R * I + r and U is R * J + d, where d makes the condition hold. The condition is left out, positions are divided by
 * R, and J has those of U's elements whose remainder is d. The result selects among the sums by P % R. Two such
 * conditions give R * R sums. Of a matrix product whose d is linear in r, and both of whose extents R divides, the sums
 * are one: r is a label of the result and of both factors, a batch. The factors of the omitted zeros are summed
 * separately: if that sum is not finite the result is NaN. */
#include <string.h>

#include "graph/linear.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MOST_PAIRS = 3, MOST_PHASES = 16 };
enum { MANY = 4 }; /* remainders of one label: their sums as one store single elements and are faster all the same */

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
    int taps[MOST_PAIRS][MOST_PHASES]; /* the label J for what U has as its remainder; -1: not made yet */
    int64_t kept_rest[MOST_PAIRS], summed_rest[MOST_PAIRS];
    int rest[MOST_PAIRS];            /* the label r; -1: the sum is of one remainder alone */
    int64_t rest_factor[MOST_PAIRS]; /* with r, U is step * J + rest_factor * r + summed_rest, and kept_rest is 0 */
    const struct param *stored;      /* the output that has the labels of the sum of all remainders */
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
        if ((l.factor[i] != 1 && l.factor[i] != -1) || extent_of(g, l.axis[i]) < step->integer) return false;
    return axes_have(sum->reduced, sum->n_reduced, p->summed) && node_has_axis(sum, p->kept);
}

/* The remainder of U where P has r. */
static int64_t rest_of(const struct pair *p, int64_t r) {
    return remainder_of(-p->summed_factor * (p->kept_factor * r + p->first), p->step);
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
    int64_t first = l->first, factor[LINEAR_TERMS + MOST_PAIRS], of_rest[MOST_PAIRS] = {0};
    int axis[LINEAR_TERMS + MOST_PAIRS], n = l->n;
    struct node *sum = NULL;
    for (int i = 0; i < l->n; i++) {
        bool is_summed;
        int p = pair_of(s, l->axis[i], &is_summed);
        factor[i] = l->factor[i], axis[i] = l->axis[i];
        if (p < 0) continue;
        axis[i] = is_summed ? s->inner_summed[p] : s->inner_kept[p];
        first += factor[i] * (is_summed ? s->summed_rest[p] : s->kept_rest[p]);
        if (s->rest[p] >= 0) of_rest[p] += factor[i] * (is_summed ? s->rest_factor[p] : 1);
        factor[i] *= s->pairs[p].step;
    }
    for (int p = 0; p < s->n_pairs; p++)
        if (of_rest[p]) axis[n] = s->rest[p], factor[n++] = of_rest[p];
    for (int i = 0; i < n; i++)
        if (factor[i] % by) return NULL;
    first = (first - remainder_of(first, by)) / by;
    for (int i = 0; i < n; i++) {
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

/* A label for a part of `axis`: of its quotients or remainders. */
static int part_label(struct strider *s, int axis, bool is_quotient, int64_t extent) {
    const struct axis whole = s->kernel->axes[axis];
    struct axis part = whole;
    part.name = build_label_name(s->g, s->kernel, whole.name, is_quotient ? "_step" : "_rest");
    part.extent = extent;
    part.nominal = (double)part.extent;
    part.part_of = -1, part.is_inner = true;
    return build_label(s->g, s->kernel, part);
}

/* The label for those elements of pair i's summed label that have this remainder; alike ones share it. */
static int tap_label(struct strider *s, int i, int64_t rest) {
    const struct pair *p = &s->pairs[i];
    const int64_t extent = extent_of(s->g, p->summed), n = (extent - rest + p->step - 1) / p->step;
    for (int64_t r = 0; r < p->step; r++)
        if (s->taps[i][r] >= 0 && s->kernel->axes[s->taps[i][r]].extent == n) return s->taps[i][rest] = s->taps[i][r];
    return s->taps[i][rest] = part_label(s, p->summed, true, n);
}

/* What U has as its remainder in pair i. */
static struct node *build_summed_rest(struct strider *s, int i, const struct node *like) {
    if (s->rest[i] < 0) return build_integer(s->out, FX_I64, s->summed_rest[i], like);
    return integer_op(s->out, O_ADD,
        integer_op(s->out, O_MUL, build_index(s->out, s->rest[i], like), s->rest_factor[i], like), s->summed_rest[i],
        like);
}

/* What the terms that are left out add up to: 0, or NaN where one of them is 0 times what is not finite. */
static struct node *sum_left_out(struct strider *s, const struct node *old) {
    struct node *is_met = NULL, *zero = build_number(s->out, FX_F32, 0, old),
                *term = build_op(s->out, O_MUL, s->map[s->other->id], zero, NULL, old);
    int reduced[MAX_AXES], n_reduced = 0;
    for (int i = 0; i < s->n_pairs; i++) {
        const struct pair *p = &s->pairs[i];
        struct node *rest = integer_op(s->out, O_MOD, build_index(s->out, p->summed, old), p->step, old),
                    *is_own = build_op(s->out, O_EQ, rest, build_summed_rest(s, i, old), NULL, old);
        is_met = is_met ? build_op(s->out, O_AND, is_met, is_own, NULL, old) : is_own;
    }
    term = build_op(s->out, O_WHERE, is_met, zero, term, old);
    for (int i = 0; i < old->n_reduced; i++)
        if (node_has_axis(term, old->reduced[i])) n_reduced = set_add(reduced, n_reduced, old->reduced[i]);
    return build_sum(s->out, term, reduced, n_reduced, old);
}

/* Whether elements of one remainder do not lie adjacent in the output, so that tiles would store single elements. */
static bool is_scattered(const struct strider *s) {
    bool is_summed;
    return pair_of(s, s->stored->axes[s->stored->n_axes - 1], &is_summed) >= 0;
}

/* value, stored remainder by remainder. */
static struct node *store_apart(struct strider *s, struct node *value) {
    struct node copy = {.kind = N_CAST, .dtype = value->dtype, .to = value->dtype, .axis = -1, .args = {value},
        .span = value->span, .source = value->source};
    bool is_summed;
    for (int i = 0; i < s->n_pairs; i++) copy.at[copy.n_at++] = s->rest[i];
    for (int i = 0; i < s->stored->n_axes; i++) {
        const int p = pair_of(s, s->stored->axes[i], &is_summed);
        copy.at[copy.n_at++] = p < 0 ? s->stored->axes[i] : s->inner_kept[p];
    }
    return build_node(s->out, copy);
}

/* The sum where each kept label has its remainder, or of all remainders, at the places of the whole result. */
static struct node *sum_at_phase(struct strider *s, const struct node *old, const struct node *like) {
    struct node sum = *like, place = {.kind = N_ACCESS, .dtype = old->dtype, .axis = -1}, *value;
    const bool has_rests = s->rest[0] >= 0;
    s->made = NEW_ARRAY(&s->g->cx->arena, struct node *, s->g->n_nodes + 1);
    sum.args[0] = at_phase(s, old->args[0]);
    sum.n_reduced = 0;
    for (int i = 0; i < old->n_reduced; i++) {
        bool is_summed;
        int p = pair_of(s, old->reduced[i], &is_summed);
        sum.n_reduced = set_add(sum.reduced, sum.n_reduced, p < 0 ? old->reduced[i] : s->inner_summed[p]);
    }
    place.span = old->span, place.source = old->source;
    value = build_node(s->out, sum);
    if (has_rests && s->other) value = build_op(s->out, O_ADD, value, sum_left_out(s, old), NULL, old);
    if (has_rests && s->n_pairs > 1 && is_scattered(s)) value = store_apart(s, value);
    place.args[0] = value;
    for (int i = 0; i < (has_rests ? 2 : 1) * s->n_pairs; i++) { /* ascending, as labels were made */
        const struct pair *p = &s->pairs[i % s->n_pairs];
        const bool is_rest = i >= s->n_pairs;
        place.at[i] = is_rest ? s->rest[i - s->n_pairs] : s->inner_kept[i];
        place.args[1 + i] =
            integer_op(s->out, is_rest ? O_MOD : O_FLOORDIV, build_index(s->out, p->kept, old), p->step, old);
        place.n_at++;
    }
    value = build_node(s->out, place);
    return s->other && !has_rests ? build_op(s->out, O_ADD, value, sum_left_out(s, old), NULL, old) : value;
}

/* ---- all remainders as one sum ---- */

/* Whether the whole quotients below n stay linear where pairs have labels for their remainders. */
static bool are_quotients_linear(struct strider *s, const struct node *n, bool *seen) {
    struct linear l = {0};
    if (seen[n->id]) return true;
    seen[n->id] = true;
    if (node_is_op(n, O_FLOORDIV) && n->args[1]->kind == N_CONST && linear_add(&l, n->args[0], 1)) {
        for (int p = 0; p < s->n_pairs; p++) {
            int64_t factor = 0;
            bool is_summed = false;
            for (int i = 0; i < l.n; i++)
                if (pair_of(s, l.axis[i], &is_summed) == p) factor += l.factor[i] * (is_summed ? s->rest_factor[p] : 1);
            if (n->args[1]->integer <= 0 || factor % n->args[1]->integer) return false;
        }
    }
    for (int i = 0; i < n->n_args; i++)
        if (!are_quotients_linear(s, n->args[i], seen)) return false;
    return true;
}

/* The first output with the labels of the sum; NULL: there is none. */
static const struct param *output_of(const struct kernel *k, const struct node *sum) {
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (p->is_output && p->n_axes && nodes_same_axes(p->axes, p->n_axes, sum->axes, sum->n_axes)) return p;
    }
    return NULL;
}

/* Whether the sums of all remainders are to be one, which the pairs are then set for, but for its labels. */
static bool find_rests(struct strider *s, const struct node *sum) {
    s->stored = output_of(s->kernel, sum);
    for (int i = 0; i < s->n_pairs; i++) {
        const struct pair *p = &s->pairs[i];
        if (extent_of(s->g, p->kept) % p->step || extent_of(s->g, p->summed) % p->step) return false;
        s->kept_rest[i] = 0, s->summed_rest[i] = rest_of(p, 0), s->rest_factor[i] = rest_of(p, 1) - rest_of(p, 0);
        for (int64_t r = 2; r < p->step; r++)
            if (rest_of(p, r) != s->summed_rest[i] + r * s->rest_factor[i]) return false;
    }
    if (!s->stored || (s->n_pairs == 1 && s->pairs[0].step < MANY && is_scattered(s))) return false;
    return is_matrix_product(s->g, sum) && s->kernel->n_axes + 3 * s->n_pairs <= FX_MAX_EXTENTS &&
           sum->n_axes + 2 * s->n_pairs <= MAX_AXES && s->n_pairs * 2 <= MAX_AXES &&
           are_quotients_linear(s, sum->args[0], NEW_ARRAY(&s->g->cx->arena, bool, s->g->n_nodes + 1));
}

/* The sums of all remainders of pairs from number `from` on, chosen by those of the kept labels. */
static struct node *choose_phase(struct strider *s, const struct node *old, const struct node *like, int from) {
    if (from == s->n_pairs) return sum_at_phase(s, old, like);
    const struct pair *p = &s->pairs[from];
    struct node *rest = integer_op(s->out, O_MOD, build_index(s->out, p->kept, old), p->step, old), *chosen = NULL;
    for (int64_t r = p->step - 1; r >= 0; r--) {
        s->kept_rest[from] = r, s->summed_rest[from] = rest_of(p, r), s->rest[from] = -1;
        s->inner_summed[from] = tap_label(s, from, s->summed_rest[from]);
        struct node *value = choose_phase(s, old, like, from + 1);
        if (chosen) chosen = build_op(s->out, O_WHERE, integer_op(s->out, O_EQ, rest, r, old), value, chosen, old);
        else chosen = value;
    }
    return chosen;
}

/* Whether each value below n can be computed where a kept label is at the last of its quotients, with any remainder:
 * some of those elements are beyond its extent, and only what an access gives outside may be read there. */
static bool is_read_outside(struct strider *s, const struct node *n, bool *seen) {
    bool is_summed;
    if (seen[n->id]) return true;
    seen[n->id] = true;
    if (n->kind == N_ACCESS ? !n->has_fill : n->kind != N_OP && n->kind != N_CAST && n->kind != N_INDEX)
        for (int i = 0; i < n->n_axes; i++) {
            const int p = pair_of(s, n->axes[i], &is_summed);
            if (p >= 0 && !is_summed && extent_of(s->g, n->axes[i]) % s->pairs[p].step) return false;
        }
    for (int i = 0; i < n->n_args; i++)
        if (!is_read_outside(s, n->args[i], seen)) return false;
    return true;
}

/* Whether the sums of a matrix product would differ in their taps, and so stand apart, and each element of the result
 * would read all of them far from those of its neighbours. Images of channels took 375 us so where one product with a
 * mask takes 189; of volumes seven terms of eight are masked. */
static bool is_masked_well(const struct strider *s, const struct node *sum) {
    bool is_even = true;
    for (int i = 0; i < s->n_pairs; i++)
        is_even &= extent_of(s->g, s->pairs[i].kept) % s->pairs[i].step == 0 &&
                   extent_of(s->g, s->pairs[i].summed) % s->pairs[i].step == 0;
    return !is_even && s->n_pairs == 2 && is_matrix_product(s->g, sum) && s->stored && !is_scattered(s);
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
    if (n_phases > MOST_PHASES || s->kernel->n_axes + 3 * s->n_pairs > FX_MAX_EXTENTS ||
        !is_read_outside(s, old->args[0], NEW_ARRAY(&s->g->cx->arena, bool, s->g->n_nodes + 1)))
        return graph_add(out, n);
    const bool has_rests = find_rests(s, old);
    if (!has_rests && is_masked_well(s, old)) return graph_add(out, n);
    memset(s->taps, -1, sizeof s->taps);
    for (int i = 0; i < s->n_pairs; i++) {
        const struct pair *p = &s->pairs[i];
        s->inner_kept[i] = part_label(s, p->kept, true, (extent_of(s->g, p->kept) + p->step - 1) / p->step);
    }
    for (int i = 0; i < s->n_pairs; i++) s->inner_summed[i] = tap_label(s, i, 0);
    for (int i = 0; i < s->n_pairs; i++)
        s->rest[i] = has_rests ? part_label(s, s->pairs[i].kept, false, s->pairs[i].step) : -1;
    s->out = out, s->map = map, s->is_changed = true;
    return has_rests ? sum_at_phase(s, old, n) : choose_phase(s, old, n, 0);
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
