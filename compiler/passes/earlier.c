/* Running sums and recurrences read some steps earlier, as those of what stands so many steps earlier.
 *
 * cumsum[T](x)[T: T-1] ?? 0, what came before an element, is cumsum[T](x[T: T-1] ?? 0): a row program computes that as
 * it goes, where the access would need the whole running sum in memory first. So with any reduction where what stands
 * outside is what it gives of nothing, and with recur[T](a, b) where that is 0: before its first element there is 0 as
 * long as b is 0 there, and the first b takes no factor, whatever a holds. Only where nothing else reads the running
 * sum, which would be computed twice. */
#include <math.h>

#include "passes/build.h"
#include "passes/passes.h"

struct earlier {
    const int *readers;
    bool has_changed;
};

/* Whether n is what a reduction gives of nothing; of a recurrence 0. */
static bool is_nothing(const struct node *n, enum reduction r) {
    const bool is_float = fx_is_float(n->dtype);
    if (n->kind != N_CONST) return false;
    switch (r) {
    case RED_SUM:
    case RED_RECUR: return is_float ? n->num == 0 : is_integer_const(n, 0);
    case RED_PROD: return is_float ? n->num == 1 : is_integer_const(n, 1);
    case RED_MAX: return is_float && n->num == -INFINITY;
    case RED_MIN: return is_float && n->num == INFINITY;
    default: return false;
    }
}

/* How many steps earlier access n reads a running sum along its own axis, with nothing outside; 0: it does not. */
static int64_t steps_back(const struct node *n) {
    const struct node *scan = n->args[0], *at = n->args[1];
    if (n->kind != N_ACCESS || scan->kind != N_SCAN || n->n_at != 1 || n->at[0] != scan->axis || !n->has_fill ||
        !is_nothing(n->args[2], scan->reduction))
        return 0;
    for (int i = 0; i < scan->n_args; i++)
        if (scan->args[i]->dtype != scan->dtype) return 0;
    const bool is_step = at->kind == N_OP && at->op == O_ADD && at->args[0]->kind == N_INDEX &&
                         at->args[0]->axis == scan->axis && at->args[1]->kind == N_CONST && at->args[1]->integer < 0;
    return is_step ? -at->args[1]->integer : 0;
}

/* v where access n reads it, what stands outside of n there too; v itself where it lacks the axis. */
static struct node *read_back(struct graph *g, struct node *v, const struct node *n) {
    if (!node_has_axis(v, n->at[0])) return v;
    struct node copy = *n;
    copy.args[0] = v;
    copy.name = (struct name){0};
    return build_node(g, copy);
}

/* v from step `first` on, 0 before. */
static struct node *from_step(struct graph *g, struct node *v, int axis, int64_t first, const struct node *like) {
    struct node *at = build_index(g, axis, like), *c = build_integer(g, FX_I64, first, like);
    return build_op(g, O_WHERE, build_op(g, O_GE, at, c, NULL, like), v, build_zero(g, v->dtype, like), like);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct earlier *s = state;
    const int64_t steps = s->readers[old->id] ? steps_back(n) : 0;
    (void)map;
    if (!steps || s->readers[old->args[0]->id] != 1) return graph_add(out, n);
    struct node scan = *n->args[0];
    for (int i = 0; i < scan.n_args; i++) scan.args[i] = read_back(out, scan.args[i], n);
    if (scan.reduction == RED_RECUR) { /* of what is added, and the factor */
        if (!node_has_axis(scan.args[0], scan.axis)) scan.args[0] = from_step(out, scan.args[0], scan.axis, steps, n);
        scan.args[1] = from_step(out, scan.args[1], scan.axis, steps + 1, n);
    }
    scan.name = n->name;
    scan.span = n->span, scan.source = n->source;
    s->has_changed = true;
    return build_node(out, scan);
}

struct graph *pass_earlier(const struct graph *g) {
    struct earlier s = {.readers = count_readers(g)};
    struct graph *out = graph_rewrite(g, graph_like(g), rewrite, &s);
    return s.has_changed ? pass_dce(out) : (struct graph *)g;
}
