/* What the engines of the gemm driver share: the four super-axes of a contraction, operand layouts, and its price.
 *
 * A label of both factors that is kept is a batch axis; labels of one factor alone are m or n, whichever puts the last
 * axis of the first output on n. Each of m, n, k is one run of labels that lie adjacent wherever an operand has them;
 * what does not merge into the run becomes a batch axis (m, n) or an outer k axis, which is right at any order. */
#include <string.h>

#include "../schedule.h"

/* H200: 132 SMs at 1.6 GHz under load. */
static const double SM_CYCLES = 132 * 1.6e9;

static void push(struct axis_list *l, int axis) { l->axes[l->n++] = axis; }

static bool are_adjacent(const struct tensor *t, int a, int b) { return tensor_axis(t, a) + 1 == tensor_axis(t, b); }

/* Splits `labels`, in t's storage order, into the run that ends last in t (returned in run) and the rest. In `other`,
 * when given, the run must lie adjacent in the same order too. */
static void split_run(const struct tensor *t, const struct tensor *other, const struct axis_list *labels, struct axis_list *run, struct axis_list *rest) {
    int first = labels->n ? labels->n - 1 : 0; /* of the run, as a position in labels */
    while (first > 0 && are_adjacent(t, labels->axes[first - 1], labels->axes[first]) &&
           (!other || are_adjacent(other, labels->axes[first - 1], labels->axes[first])))
        first--;
    for (int i = 0; i < labels->n; i++) push(i >= first ? run : rest, labels->axes[i]);
}

enum role { OWN, SHARED, SUMMED }; /* of a factor's label: its alone, kept in both, or summed over */

/* The labels of t in that role beside the other factor of n, in storage order. */
static struct axis_list labels_of(const struct tensor *t, const struct tensor *other, const struct node *n, enum role role) {
    struct axis_list l = {0};
    for (int i = 0; i < t->n_axes; i++) {
        int axis = t->axes[i];
        enum role is = tensor_axis(other, axis) >= 0 ? SHARED : OWN;
        for (int r = 0; r < n->n_reduced; r++)
            if (n->reduced[r] == axis) is = SUMMED;
        if (is == role) push(&l, axis);
    }
    return l;
}

static enum layout layout_of(const struct tensor *t, const struct axis_list *k, const struct axis_list *mn) {
    if (t->n_axes == 0) return LAYOUT_STRIDED;
    int last = t->axes[t->n_axes - 1];
    if (k->n && k->axes[k->n - 1] == last) return LAYOUT_K_MAJOR;
    if (mn->n && mn->axes[mn->n - 1] == last) return LAYOUT_MN_MAJOR;
    return LAYOUT_STRIDED;
}

bool gemm_shape(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct group *r = s->group;
    struct gemm_shape *shape = &s->gemm;
    struct contraction c;
    if (r->is_row) return *why_not = "it is a row program", false;
    if (!r->contraction || !as_contraction(r->contraction, &c)) return *why_not = "it has no contraction", false;
    struct tensor t[2];
    struct node *factor[2] = {c.a, c.b};
    for (int i = 0; i < 2; i++)
        t[i] = r->operand_buffer[i] >= 0 ? tensor_of_buffer(g, p, r->operand_buffer[i]) : tensor_of_param(g, factor[i]->param);
    struct tensor out = tensor_of_store(g, p, &r->stores[0]);
    /* n is the factor that has the output's last axis alone. */
    int last = out.n_axes ? out.axes[out.n_axes - 1] : -1;
    bool swap = last >= 0 && tensor_axis(&t[0], last) >= 0 && tensor_axis(&t[1], last) < 0;
    shape->a = t[swap];
    shape->b = t[!swap];
    shape->dtype = shape->a.dtype;
    struct axis_list m = labels_of(&shape->a, &shape->b, r->contraction, OWN), n = labels_of(&shape->b, &shape->a, r->contraction, OWN);
    struct axis_list k = labels_of(&shape->a, &shape->b, r->contraction, SUMMED);
    shape->batch = labels_of(&shape->a, &shape->b, r->contraction, SHARED);
    split_run(&shape->a, NULL, &m, &shape->m, &shape->batch);
    split_run(&shape->b, NULL, &n, &shape->n, &shape->batch);
    split_run(&shape->a, &shape->b, &k, &shape->k, &shape->k_outer);
    shape->a_layout = layout_of(&shape->a, &shape->k, &shape->m);
    shape->b_layout = layout_of(&shape->b, &shape->k, &shape->n);
    return true;
}

/* Adjacent columns the epilogue takes at a time: what it reads along n for them stays in registers. */
int gemm_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, int most) {
    enum { HELD = 32 };
    struct tensor *loads = NEW_ARRAY(&g->cx->arena, struct tensor, g->n_nodes);
    int n_loads = group_loads(g, p, s->group, loads, g->n_nodes), n_along = 0;
    for (int i = 0; i < n_loads; i++) n_along += find_run(&loads[i], &s->gemm.n) != -2;
    while (most > 1 && most * n_along > HELD) most /= 2;
    return most;
}

void gemm_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    const struct gemm_shape *shape = &s->gemm;
    const struct config *best = NULL;
    double batches = nominal_size(g, shape->batch.axes, shape->batch.n), m = nominal_size(g, shape->m.axes, shape->m.n);
    double n = nominal_size(g, shape->n.axes, shape->n.n);
    double k = nominal_size(g, shape->k.axes, shape->k.n) * nominal_size(g, shape->k_outer.axes, shape->k_outer.n);
    double least = 0;
    for (int i = 0; i < s->n_configs; i++) {
        const struct config *f = &s->configs[i];
        double tiles = batches * (double)(int64_t)((m + f->tile_m - 1) / f->tile_m) * (double)(int64_t)((n + f->tile_n - 1) / f->tile_n);
        double cycles = (double)(int64_t)((tiles + 131) / 132) * 132 * 2.0 * f->tile_m * f->tile_n * k / f->rate;
        if (!best || cycles < least) best = f, least = cycles;
    }
    struct tensor *loads = NEW_ARRAY(&g->cx->arena, struct tensor, g->n_nodes);
    int n_loads = group_loads(g, p, s->group, loads, g->n_nodes);
    s->bytes = tensor_bytes(g, &shape->a) + tensor_bytes(g, &shape->b);
    for (int i = 0; i < n_loads; i++) s->bytes += tensor_bytes(g, &loads[i]);
    for (int i = 0; i < s->group->n_stores; i++) {
        struct tensor t = tensor_of_store(g, p, &s->group->stores[i]);
        s->bytes += tensor_bytes(g, &t);
    }
    s->flops = 2 * batches * m * n * k;
    double compute = least / SM_CYCLES, memory = s->bytes / BYTES_PER_SECOND;
    s->seconds = compute > memory ? compute : memory;
}
