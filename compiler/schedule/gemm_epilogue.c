/* The part of a gemm kernel's epilogue that combines several elements.
 *
 * In: a group, or a scheduled kernel with its shape. Out: the runs over which a store reduces, the nodes that elements
 * of a run share, the shared memory of reductions over rows, and the number of adjacent columns that a thread takes at
 * a time. */
#include "schedule/schedule.h"

int gemm_shared(const struct graph *g, const struct group *r, struct node ***nodes) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int n = 0;
    *nodes = NULL;
    if (r->intermediate) return 0;
    for (int s = 0; s < r->n_stores; s++) is_read[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        bool is_far = at->kind == N_REDUCE || at->kind == N_SCAN || at->kind == N_ACCESS;
        for (int a = 0; is_read[i] && !is_far && a < at->n_args; a++) is_read[at->args[a]->id] = true;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (is_read[i] && is_shared_by(r, g->nodes[i])) PUSH(&g->cx->arena, *nodes, n) = g->nodes[i];
    return n;
}

struct gemm_reduced gemm_reduced(const struct graph *g, const struct scheduled *s, const struct store *store) {
    struct gemm_reduced d = {-1, -1};
    struct partial_of x;
    if (!is_partial_store(g, s->group, store, &x)) return d;
    for (int i = 0; i < x.n; i++) *(find_label(&s->gemm.n, x.label[i]) >= 0 ? &d.run_n : &d.run_m) = x.run[i];
    return d;
}

bool gemm_has_reduced(const struct graph *g, const struct group *r) {
    struct partial_of x;
    for (int i = 0; i < r->n_stores; i++)
        if (is_partial_store(g, r, &r->stores[i], &x)) return true;
    return false;
}

int gemm_reduced_words(const struct graph *g, const struct group *r, const struct store *s) {
    enum { SPREAD_WORDS = 3 }; /* fx_spread */
    struct partial_of x;
    if (!is_partial_store(g, r, s, &x)) return 0;
    return x.is_spread ? SPREAD_WORDS : fx_dtype_bits(s->value->dtype) > 32 ? 2 : 1;
}

static bool is_over_rows(const struct scheduled *s, const struct tensor *t) {
    for (int i = 0; i < s->gemm.m.n; i++)
        if (tensor_axis(t, s->gemm.m.axes[i]) >= 0) return true;
    return false;
}

bool gemm_holds(const struct graph *g, const struct scheduled *s) {
    const struct group *r = s->group;
    struct node **shared;
    if (!gemm_shared(g, r, &shared)) return false;
    for (int i = 0; i < r->n_stores; i++) {
        struct partial_of x;
        if (!is_partial_store(g, r, &r->stores[i], &x) || x.is_spread ||
            gemm_reduced(g, s, &r->stores[i]).run_m >= 0)
            return false;
    }
    for (int i = 0; i < s->n_loads; i++) {
        const struct tensor *t = &s->loads[i];
        const int at = find_run(t, &s->gemm.n);
        const bool is_float = t->dtype == FX_F32 || t->dtype == FX_F16 || t->dtype == FX_BF16,
                   is_line = at >= 0 && at + s->gemm.n.n == t->n_axes && !t->is_strided;
        if (at != -2 && (!is_float || !is_line || is_over_rows(s, t))) return false;
    }
    return true;
}

int gemm_reduced_bytes(const struct graph *g, const struct scheduled *s, int bn, int threads) {
    int bytes = 0;
    for (int i = 0; i < s->group->n_stores; i++) {
        struct gemm_reduced d = gemm_reduced(g, s, &s->group->stores[i]);
        const int words = gemm_reduced_words(g, s->group, &s->group->stores[i]);
        if (d.run_m >= 0) bytes += threads / 32 * (d.run_n >= 0 ? bn / PARTIAL_RUN : bn) * words * 4;
    }
    return bytes;
}

/* The extent of a piece of t, of which columns lie adjacent, where it is fixed and t is in pieces; else 0. */
static int64_t piece_extent(const struct graph *g, const struct tensor *t, const struct axis_list *l) {
    int64_t size = 1;
    const int n = count_piece(t, l);
    for (int i = l->n - n; i < l->n; i++) {
        int64_t extent = g->kernel->axes[l->axes[i]].extent;
        if (extent < 1) return 0;
        size *= extent;
    }
    return n ? size : 0;
}

/* Adjacent columns the epilogue takes at a time: what it reads along n for them stays in registers. */
int gemm_vector(const struct graph *g, const struct scheduled *s, int most) {
    enum { HELD = 32 };
    int n_along = s->group->intermediate ? 0 : s->gemm.n_accumulators - 1;
    for (int i = 0; i < s->n_loads; i++) n_along += find_run(&s->loads[i], &s->gemm.n) != -2;
    struct node **shared;
    int least = gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)
                    ? PARTIAL_RUN / 32
                    : 1; /* the columns of a run lie in a warp */
    while (most > least && most * n_along > HELD) most /= 2;
    return most;
}

int gemm_piece_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, int most) {
    struct node **shared;
    most = gemm_vector(g, s, most);
    if (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)) return most;
    for (int i = 0; i < s->n_loads + s->group->n_stores; i++) {
        struct tensor t = i < s->n_loads ? s->loads[i] : tensor_of_store(g, p, &s->group->stores[i - s->n_loads]);
        int64_t piece = piece_extent(g, &t, &s->gemm.n);
        while (piece % most) most /= 2;
    }
    return most;
}
