/* Windows of what is computed, stored before they are read: a filter over an activation.
 *
 * In: a graph. Out: one in which sum[K](a * b), a an access at windows of something computed and b a 16-bit tensor in
 * memory, reads a copy of it in that dtype, a cast with a storage order in which a label of k that windows read whole
 * stands last. Without it each element would be computed anew for every window that it lies in. What is rounded so has to
 * be licensed as the spec writes the product. The copy is a kernel, so the product has to be large enough to pay for it;
 * not where the kernel says how many GPU kernels it wants. */
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { STEP = 8, BYTES_MOVED = 8 }; /* of an element: a read of 4, a write and a read of 2 */
/* Flops a cycle of a multiprocessor: of windows that are computed as they are loaded, and of those in memory. */
static const double RATE_COMPUTED = 100, RATE_BY_MAPS = 2000, COPY_SECONDS = 3e-6;

struct storer {
    const struct graph *g;
    bool has_stored;
};

/* The 16-bit dtype of the tensor that factor n reads, as it is or at positions; else f32. */
static enum fx_dtype dtype_read(const struct graph *g, const struct node *n) {
    if (n->kind == N_ACCESS) n = n->args[0];
    if (n->kind != N_INPUT) return FX_F32;
    const struct param *p = &g->kernel->params[n->param];
    return (p->dtype == FX_F16 || p->dtype == FX_BF16) && !p->packed.factor ? p->dtype : FX_F32;
}

static bool is_computed(const struct node *n) {
    return (n->kind == N_OP || n->kind == N_CAST) && !node_is_stored(n) && n->dtype == FX_F32 && n->n_axes > 1;
}

/* The longest label of k that the access passes through, in whole steps as far as is known, or -1. */
static int find_channel(const struct graph *g, const struct node *sum, const struct node *access) {
    int best = -1;
    for (int i = 0; i < sum->n_reduced; i++) {
        int axis = sum->reduced[i];
        int64_t extent = g->kernel->axes[axis].extent;
        bool is_moved = !node_has_axis(access->args[0], axis) || (extent >= 0 && extent % STEP);
        for (int k = 0; k < access->n_at; k++)
            is_moved |= access->at[k] == axis || node_has_axis(access->args[1 + k], axis);
        if (!is_moved && (best < 0 || nominal_extent(g, axis) > nominal_extent(g, best))) best = axis;
    }
    return best;
}

/* Whether windows overlap, and storing what they read costs less than it saves. */
static bool is_worth(const struct graph *g, const struct node *sum, const struct node *access) {
    const struct node *source = access->args[0];
    double flops = 2 * nominal_size(g, sum->axes, sum->n_axes) * nominal_size(g, sum->reduced, sum->n_reduced),
           elements = nominal_size(g, source->axes, source->n_axes), all = arch_all_cycles(g->cx->arch);
    return elements < nominal_size(g, access->axes, access->n_axes) &&
           flops / (RATE_COMPUTED * all) >
               flops / (RATE_BY_MAPS * all) + BYTES_MOVED * elements / g->cx->arch->copied + 2 * COPY_SECONDS;
}

/* The factor of sum n, 0 or 1, that is to read a copy, and the label that stands last in it; -1: none. */
static int find_side(const struct graph *g, const struct node *n, int *channel) {
    struct contraction c;
    if (!is_matrix_product(g, n) || n->dtype != FX_F32 || !as_contraction(n, &c)) return -1;
    for (int side = 0; side < 2; side++) {
        const struct node *access = side ? c.b : c.a;
        enum fx_dtype t = dtype_read(g, side ? c.a : c.b);
        if (access->kind != N_ACCESS || t == FX_F32 || !is_computed(access->args[0])) continue;
        bool is_rounded = access->args[0]->kind == N_CAST && access->args[0]->to == t;
        if (!n->may_round && !is_rounded) continue;
        *channel = find_channel(g, n, access);
        if (*channel >= 0 && is_worth(g, n, access)) return side;
    }
    return -1;
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct storer *s = state;
    struct contraction c;
    int channel, side = find_side(s->g, old, &channel);
    if (side < 0 || !as_contraction(old, &c)) return graph_add(out, n);
    const struct node *window = side ? c.b : c.a, *source = window->args[0];
    struct node *factor[2] = {map[c.a->id], map[c.b->id]}, access = *factor[side], sum = *n;
    struct node copy = {.kind = N_CAST, .dtype = FX_F32, .to = dtype_read(s->g, side ? c.a : c.b), .axis = -1,
        .args = {map[source->id]}, .span = source->span, .source = source->source};
    if (source->kind == N_CAST && source->to == copy.to) copy.args[0] = map[source->args[0]->id];
    for (int i = 0; i < source->n_axes; i++)
        if (source->axes[i] != channel) copy.at[copy.n_at++] = source->axes[i];
    copy.at[copy.n_at++] = channel;
    access.args[0] = build_node(out, copy);
    factor[side] = build_node(out, access);
    sum.args[0] = build_op(out, O_MUL, factor[0], factor[1], NULL, n);
    s->has_stored = true;
    return build_node(out, sum);
}

struct graph *pass_sources(const struct graph *g) {
    struct storer s = {.g = g};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels || !g->cx->arch->has_wgmma) return (struct graph *)g;
    struct graph *out = graph_like(g);
    graph_rewrite(g, out, rewrite, &s);
    return s.has_stored ? out : (struct graph *)g;
}
