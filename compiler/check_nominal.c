/* Nominal extents: what a price takes for a label that is bound only when arguments are.
 *
 * In: a checked kernel. Out: axis.nominal of every label: the extent where it is fixed; 4096 where it is free; what an equation gives it where one
 * defines it (F = 2 * N is 8192 beside N's 4096), from 1 to 65536. An equation that no such extents satisfy counts as none; one that mentions an extent
 * cut to 65536 counts only where no other gives a label its extent, since it would hand the cut on: U = I * J with both U and I cut makes J no 1. */
#include "check_internal.h"
#include "plan_expr.h"

static const int64_t free_extent = 4096, largest_extent = 65536;

static bool mentions(const struct equation *q, int axis) { return q->axis == axis || expr_has(&q->value, FX_T_EXTENT, axis); }

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

/* Gives one label the extent that follows from those known, of which some were cut; of equations that mention one of these the largest. False when there is none left. */
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

void check_nominal(struct cx *cx, struct kernel *k) {
    int64_t *extents = NEW_ARRAY(&cx->arena, int64_t, k->n_axes + 1);
    bool *is_cut = NEW_ARRAY(&cx->arena, bool, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) extents[i] = k->axes[i].extent;
    for (int i = 0; i >= 0;) {
        while (follow(k, extents, is_cut)) {}
        if ((i = next_free(k, extents)) >= 0) extents[i] = free_extent;
    }
    for (int i = 0; i < k->n_axes; i++) k->axes[i].nominal = (double)extents[i];
}
