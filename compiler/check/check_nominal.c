/* Nominal extents: what a price takes for a label that is bound only when arguments are.
 *
 * In: a checked kernel. Out: axis.nominal of every label: the extent where it is fixed; what an equation gives it where
 * one defines it (F = 2 * N is 8192 beside N's 4096), from 1 to 65536; else a guess that the label's part in the body
 * makes, never its name: 128 for a head dimension, 16 for a batch label, 3 for a window, 4096 for the rest. Guesses
 * then shrink until no tensor has more than 2^28 elements and no result of a contraction more than 2^32.
 *
 * An equation that no such extents satisfy counts as none; one that mentions an extent cut to 65536 counts only where
 * no other gives a label its extent, since it would hand the cut on: U = I * J with both U and I cut makes J no 1. */
#include "check/check_internal.h"
#include "symbolic/plan_expr.h"

static const int64_t free_extent = 4096, head_extent = 128, batch_extent = 16, window_extent = 3,
                     largest_extent = 65536;
static const double largest_tensor = 0x1p28, largest_result = 0x1p32;

/* ---- guesses ---- */

/* A sum over a product of factors that both have what is summed over. */
static bool is_contraction(const struct value *v) {
    if (v->kind != V_REDUCE || v->reduction != RED_SUM || v->args[0]->kind != V_OP || v->args[0]->op != O_MUL)
        return false;
    for (int i = 0; i < v->n_reduced; i++)
        for (int side = 0; side < 2; side++)
            if (!value_has_axis(v->args[0]->args[side], v->reduced[i])) return false;
    return true;
}

static bool reduces(const struct value *v, int axis) {
    for (int i = 0; i < v->n_reduced; i++)
        if (v->reduced[i] == axis) return true;
    return false;
}

/* Whether result label `axis` of a contraction comes from one factor alone. */
static bool is_own(const struct value *v, int axis) {
    const struct value *product = v->args[0];
    return value_has_axis(product->args[0], axis) != value_has_axis(product->args[1], axis);
}

static void lower_to(int64_t *guess, int64_t v) {
    if (*guess > v) *guess = v;
}

/* Marks by id what a factor is computed from, contractions and what lies below them not entered. */
static void mark_below(const struct kernel *k, const struct value *factor, bool *is_below) {
    for (int i = 0; i < k->n_values; i++) is_below[i] = false;
    is_below[factor->id] = true;
    for (int i = factor->id; i >= 0; i--)
        for (int a = 0; is_below[i] && !is_contraction(k->values[i]) && a < k->values[i]->n_args; a++)
            is_below[k->values[i]->args[a]->id] = true;
}

/* Whether v adds up parts of one contraction, as sums over blocks of k with scales do: a factor is computed from a
 * contraction that has `axis` from one factor alone, and all that v sums over as its batch. */
static bool adds_parts(const struct kernel *k, const struct value *v, int axis, bool *is_below) {
    for (int side = 0; side < 2; side++) {
        mark_below(k, v->args[0]->args[side], is_below);
        for (int i = 0; i < k->n_values; i++) {
            const struct value *part = k->values[i];
            if (!is_below[i] || !is_contraction(part) || !value_has_axis(part, axis) || !is_own(part, axis)) continue;
            bool is_batch = true;
            for (int r = 0; r < v->n_reduced; r++)
                is_batch &= value_has_axis(part, v->reduced[r]) && !is_own(part, v->reduced[r]);
            if (is_batch) return true;
        }
    }
    return false;
}

/* Labels of both factors and of the result, where the contraction has others. */
static void guess_batch(const struct kernel *k, const struct value *v, bool *is_below, int64_t *guess) {
    bool has_own = false;
    for (int i = 0; i < v->n_axes; i++) has_own |= is_own(v, v->axes[i]);
    for (int i = 0; has_own && i < v->n_axes; i++)
        if (!is_own(v, v->axes[i]) && !adds_parts(k, v, v->axes[i], is_below))
            lower_to(&guess[v->axes[i]], batch_extent);
}

/* Whether exponentials, and rows of something reduced along t, are among what is marked: the weights of a softmax. So
 * are they where a contraction among it sums over a label that `other`, which is weighed with them, has: then a
 * gradient weighs what a forward took them of, with rows that it has stored. */
static bool has_weights(const struct kernel *k, const bool *is_below, int t, const struct value *other) {
    bool has_rows = false, has_exp = false;
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        if (!is_below[i]) continue;
        has_exp |= v->kind == V_OP && (v->op == O_EXP || v->op == O_EXP2);
        has_rows |= v->kind == V_REDUCE && !is_contraction(v) && v->n_reduced == 1 && v->reduced[0] == t;
        for (int r = 0; is_contraction(v) && r < v->n_reduced; r++) has_rows |= value_has_axis(other, v->reduced[r]);
    }
    return has_rows && has_exp;
}

/* Head dimensions: a contraction weighs with a softmax of another one's rows. What the first sums over, and what the
 * second has of its other factor alone, is one. In an MLP, and with a norm between its two,
 * there are no such weights. */
static void guess_head(const struct kernel *k, const struct value *v, bool *is_below, int64_t *guess) {
    for (int side = 0; side < 2; side++) {
        const struct value *middle = v->args[0]->args[side], *other = v->args[0]->args[1 - side];
        int t = v->n_reduced ? v->reduced[0] : -1;
        bool is_chain = false;
        mark_below(k, middle, is_below);
        bool is_weighted = has_weights(k, is_below, t, other);
        for (int i = 0; is_weighted && i < k->n_values; i++) {
            const struct value *first = k->values[i];
            if (!is_below[i] || !is_contraction(first) || !value_has_axis(first, t) || !is_own(first, t)) continue;
            is_chain = true;
            for (int r = 0; r < first->n_reduced; r++) lower_to(&guess[first->reduced[r]], head_extent);
        }
        for (int i = 0; is_chain && i < v->n_axes; i++)
            if (is_own(v, v->axes[i]) && value_has_axis(other, v->axes[i])) lower_to(&guess[v->axes[i]], head_extent);
    }
}

/* By value: whether it is a sum of indices and numbers; of digits of a label, as relabels make them, it is none. */
static const bool *find_sums_of_indices(struct cx *cx, const struct kernel *k) {
    bool *is_sum = NEW_ARRAY(&cx->arena, bool, k->n_values + 1);
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        is_sum[i] = v->kind == V_INDEX || v->kind == V_NUM || v->kind == V_SCALAR ||
                    (v->kind == V_OP && (v->op == O_ADD || v->op == O_SUB || v->op == O_MUL));
        for (int a = 0; a < v->n_args; a++) is_sum[i] &= is_sum[v->args[a]->id];
    }
    return is_sum;
}

/* A label that shares a position with another and is reduced somewhere is a window. */
static void guess_window(const struct kernel *k, const struct value *access, const bool *is_sum, int64_t *guess) {
    for (int p = 0; p < access->n_at; p++) {
        const struct value *position = access->args[1 + p];
        if (position->n_axes < 2 || !is_sum[position->id]) continue;
        for (int i = 0; i < position->n_axes; i++)
            for (int r = 0; r < k->n_values; r++)
                if (k->values[r]->kind == V_REDUCE && reduces(k->values[r], position->axes[i]))
                    lower_to(&guess[position->axes[i]], window_extent);
    }
}

static void guess_all(struct cx *cx, const struct kernel *k, int64_t *guess) {
    bool *is_below = NEW_ARRAY(&cx->arena, bool, k->n_values + 1);
    const bool *is_sum = find_sums_of_indices(cx, k);
    for (int i = 0; i < k->n_axes; i++) guess[i] = free_extent;
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        if (v->kind == V_ACCESS) guess_window(k, v, is_sum, guess);
        if (!is_contraction(v)) continue;
        guess_batch(k, v, is_below, guess);
        guess_head(k, v, is_below, guess);
    }
}

/* ---- equations ---- */

static bool mentions(const struct equation *q, int axis) {
    return q->axis == axis || expr_has(&q->value, FX_T_EXTENT, axis);
}

/* The one label without an extent that the equation mentions, or -1. */
static int unknown_of(const struct kernel *k, const struct equation *q, const int64_t *extents) {
    int unknown = -1, n = 0;
    for (int i = 0; i < k->n_axes; i++)
        if (extents[i] < 0 && mentions(q, i)) unknown = i, n++;
    return n == 1 ? unknown : -1;
}

static bool mentions_cut(const struct kernel *k, const struct equation *q, const bool *is_cut) {
    for (int i = 0; i < k->n_axes; i++)
        if (is_cut[i] && mentions(q, i)) return true;
    return false;
}

/* Gives one label the extent that follows from those known, of which some were cut; of equations that mention one of
 * these the largest. False when there is none left. */
static bool follow(const struct kernel *k, int64_t *extents, bool *is_cut) {
    int best = -1;
    int64_t value = 0;
    bool is_sure = false;
    for (int i = 0; i < k->n_equations && !is_sure; i++) {
        const struct equation *q = &k->equations[i];
        const struct fx_equation e = {q->axis, q->value, q->text};
        int unknown = unknown_of(k, q, extents);
        int64_t v;
        if (unknown < 0 || !expr_solve(&e, unknown, extents, &v)) continue;
        is_sure = !mentions_cut(k, q, is_cut);
        if (is_sure || best < 0 || (unknown == best && v > value)) best = unknown, value = v;
    }
    if (best < 0) return false;
    is_cut[best] = value > largest_extent || !is_sure;
    extents[best] = value < 1 ? 1 : value > largest_extent ? largest_extent : value;
    return true;
}

/* A label without an extent, if possible one that no equation defines; -1 when all have theirs. */
static int next_free(const struct kernel *k, const int64_t *extents) {
    int defined = -1;
    for (int i = 0; i < k->n_axes; i++) {
        bool is_defined = false;
        for (int j = 0; j < k->n_equations; j++) is_defined |= k->equations[j].axis == i;
        if (extents[i] < 0 && !is_defined) return i;
        if (extents[i] < 0 && defined < 0) defined = i;
    }
    return defined;
}

/* The extents that follow from the guesses. */
static void extend(const struct kernel *k, const int64_t *guess, int64_t *extents, bool *is_cut) {
    for (int i = 0; i < k->n_axes; i++) extents[i] = k->axes[i].extent, is_cut[i] = false;
    for (int i = 0; i >= 0;) {
        while (follow(k, extents, is_cut)) {}
        if ((i = next_free(k, extents)) >= 0) extents[i] = guess[i];
    }
}

/* ---- sizes ---- */

static double size_of(const int64_t *extents, const int *axes, int n) {
    double size = 1;
    for (int i = 0; i < n; i++) size *= (double)extents[axes[i]];
    return size;
}

/* Halves the largest guess behind these labels or what equations tie to them; false where none is left to halve. */
static bool shrink(struct cx *cx, const struct kernel *k, const int *axes, int n, int64_t *guess) {
    bool *is_behind = NEW_ARRAY(&cx->arena, bool, k->n_axes + 1), grows = true;
    int largest = -1;
    for (int i = 0; i < n; i++) is_behind[axes[i]] = true;
    while (grows) {
        grows = false;
        for (int q = 0; q < k->n_equations; q++) {
            bool is_tied = false;
            for (int i = 0; i < k->n_axes; i++) is_tied |= is_behind[i] && mentions(&k->equations[q], i);
            for (int i = 0; is_tied && i < k->n_axes; i++)
                if (!is_behind[i] && mentions(&k->equations[q], i)) is_behind[i] = grows = true;
        }
    }
    for (int i = 0; i < k->n_axes; i++)
        if (is_behind[i] && k->axes[i].extent < 0 && guess[i] > 1 && (largest < 0 || guess[i] > guess[largest]))
            largest = i;
    if (largest >= 0) guess[largest] /= 2;
    return largest >= 0;
}

/* Shrinks guesses once where something is too large. */
static bool shrink_any(struct cx *cx, const struct kernel *k, const int64_t *extents, int64_t *guess) {
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (size_of(extents, p->axes, p->n_axes) > largest_tensor && shrink(cx, k, p->axes, p->n_axes, guess))
            return true;
    }
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        if (!is_contraction(v) || size_of(extents, v->axes, v->n_axes) <= largest_result) continue;
        if (shrink(cx, k, v->axes, v->n_axes, guess)) return true;
    }
    return false;
}

void check_nominal(struct cx *cx, struct kernel *k) {
    int64_t *extents = NEW_ARRAY(&cx->arena, int64_t, k->n_axes + 1),
            *guess = NEW_ARRAY(&cx->arena, int64_t, k->n_axes + 1);
    bool *is_cut = NEW_ARRAY(&cx->arena, bool, k->n_axes + 1);
    guess_all(cx, k, guess);
    for (int i = 0; i < k->n_axes; i++) k->axes[i].is_head = k->axes[i].extent < 0 && guess[i] == head_extent;
    do extend(k, guess, extents, is_cut);
    while (shrink_any(cx, k, extents, guess));
    for (int i = 0; i < k->n_axes; i++) k->axes[i].nominal = (double)extents[i];
}
