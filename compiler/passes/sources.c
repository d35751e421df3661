/* Stores computed values before they are read at windows: a filter over an activation.
 *
 * In: a graph. Out: one in which a factor a of sum[K](a * b), an access at windows of a computed value, reads a copy of
 * that value. b is a 16-bit tensor in memory, and the copy is a cast to its dtype, with a storage order whose last
 * label is a label of k that windows read whole. The same is done for an upscaled image, and for a filter that is no
 * matrix product, in the order of an input that the value is computed from. Without the copy each element would be
 * computed again for every window that contains it. The rounding has to be permitted for the product as the spec writes
 * it. The copy is a kernel, so the product has to be large enough to pay for it. Not if the kernel says how many GPU
 * kernels it wants. */
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

/* What windows read, under the labels it was computed with: n, or what n gives other names. */
static const struct node *computed_source(const struct node *n) {
    if (n->kind != N_ACCESS || n->has_fill) return is_computed(n) ? n : NULL;
    for (int i = 0; i < n->n_at; i++)
        if (n->args[1 + i]->kind != N_INDEX) return NULL;
    return is_computed(n->args[0]) ? n->args[0] : NULL;
}

/* Whether window `access` moves along none of the labels that what it reads gives others as names. */
static bool keeps_names(const struct node *access, const struct node *source) {
    const struct node *named = access->args[0];
    for (int i = 0; named != source && i < named->n_at; i++)
        if (axes_have(access->at, access->n_at, named->args[1 + i]->axis)) return false;
    return true;
}

/* Whether n repeats elements of a tensor, each for several: an image that is scaled up. */
static bool is_repeated(const struct node *n) {
    for (int i = 0; n->kind == N_ACCESS && i < n->n_at; i++)
        if (node_is_op(n->args[1 + i], O_FLOORDIV)) return n->args[0]->kind == N_INPUT;
    return false;
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

enum { OF_FUNCTION = 16, INSTRUCTIONS_PER_CYCLE = 64 };

/* Instructions of an element of what is computed, down to what is in memory or summed; marks what was counted. */
static double count_instructions(const struct node *n, bool *is_met) {
    double sum = n->kind == N_OP && op_info[n->op].rule == RULE_FLOAT ? OF_FUNCTION : 1;
    if (is_met[n->id] || n->kind == N_REDUCE || n->kind == N_SCAN || n->kind == N_INPUT || n->kind == N_CONST) return 0;
    is_met[n->id] = true;
    for (int i = 0; i < n->n_args; i++) sum += count_instructions(n->args[i], is_met);
    return sum;
}

/* Whether the elements of a filter's windows cost more, each computed for every window that it lies in, than storing
 * them does. */
static bool is_filter_worth(const struct graph *g, const struct node *sum, const struct node *access) {
    const struct node *source = computed_source(access->args[0]);
    bool has_window = false;
    for (int i = 0; i < sum->n_reduced; i++) has_window |= node_has_axis(access, sum->reduced[i]);
    double elements = nominal_size(g, source->axes, source->n_axes),
           reads = nominal_size(g, access->axes, access->n_axes),
           instructions = count_instructions(source, NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1));
    return has_window && elements < reads &&
           instructions * (reads - elements) / (INSTRUCTIONS_PER_CYCLE * arch_all_cycles(g->cx->arch)) >
               BYTES_MOVED * elements / g->cx->arch->copied + 2 * COPY_SECONDS;
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
    if (n->kind != N_REDUCE || n->dtype != FX_F32 || !as_contraction(n, &c)) return -1;
    const bool is_product = is_matrix_product(g, n);
    if (is_product && !g->cx->arch->has_wgmma) return -1;
    for (int side = 0; side < 2; side++) {
        const struct node *access = side ? c.b : c.a;
        enum fx_dtype t = dtype_read(g, side ? c.a : c.b);
        if (access->kind != N_ACCESS || t == FX_F32) continue;
        const bool is_image = is_product && is_repeated(access->args[0]) && dtype_read(g, access->args[0]) == t;
        const struct node *source = access->args[0];
        if (!is_image && !is_product) source = computed_source(source);
        else if (!is_image && !is_computed(source)) source = NULL;
        if (!source || !keeps_names(access, source)) continue;
        const bool is_rounded = is_image || (source->kind == N_CAST && source->to == t);
        if (!n->may_round && !is_rounded) continue;
        *channel = is_product ? find_channel(g, n, access) : -1;
        if (is_product ? *channel >= 0 && is_worth(g, n, access) : is_filter_worth(g, n, access)) return side;
    }
    return -1;
}

/* One position more, in the order of axes. */
static void add_position(struct node *access, int axis, struct node *position) {
    int i = access->n_at;
    access->args[2 + i] = access->args[1 + i]; /* the value outside */
    for (; i > 0 && access->at[i - 1] > axis; i--)
        access->at[i] = access->at[i - 1], access->args[1 + i] = access->args[i];
    access->at[i] = axis, access->args[1 + i] = position;
    access->n_at++;
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct storer *s = state;
    struct contraction c;
    int channel, side = find_side(s->g, old, &channel);
    if (side < 0 || !as_contraction(old, &c)) return graph_add(out, n);
    const struct node *window = side ? c.b : c.a, *named = window->args[0], *source = computed_source(named);
    if (!source) source = named;
    struct node *factor[2] = {map[c.a->id], map[c.b->id]}, access = *factor[side], sum = *n;
    struct node copy = {.kind = N_CAST, .dtype = FX_F32, .to = dtype_read(s->g, side ? c.a : c.b), .axis = -1,
        .args = {map[source->id]}, .span = source->span, .source = source->source};
    if (source->kind == N_CAST && source->to == copy.to) copy.args[0] = map[source->args[0]->id];
    for (int i = 0; i < source->n_axes && channel >= 0; i++)
        if (source->axes[i] != channel) copy.at[copy.n_at++] = source->axes[i];
    if (channel >= 0) copy.at[copy.n_at++] = channel;
    else copy.n_at = build_order(s->g, source, copy.at);
    access.args[0] = build_node(out, copy);
    for (int i = 0; named != source && i < named->n_at; i++)
        add_position(&access, named->at[i], map[named->args[1 + i]->id]);
    factor[side] = build_node(out, access);
    sum.args[0] = build_op(out, O_MUL, factor[0], factor[1], NULL, n);
    s->has_stored = true;
    return build_node(out, sum);
}

struct graph *pass_sources(const struct graph *g) {
    struct storer s = {.g = g};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    struct graph *out = graph_like(g);
    graph_rewrite(g, out, rewrite, &s);
    return s.has_stored ? out : (struct graph *)g;
}
