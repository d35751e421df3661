/* Copies filters whose taps are contiguous so that channels are: a filter [C, U] over an image [T, C].
 *
 * In: a graph whose windows are unrolled: it reads each tap, an element of the filter at constant positions, for every
 * channel. Out: one in which these accesses read a copy, a cast whose storage order has as its last label the one that
 * is contiguous in the tensor they are multiplied by. Adjacent channels, which adjacent threads compute, then read
 * adjacent elements. The copy is a kernel, so taps have to be read often enough to pay for it. Not if the kernel says
 * how many GPU kernels it wants. */
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

static const double COPY_SECONDS = 2e-6;

struct tapper {
    const struct graph *g;
    int *lane;          /* by parameter: the label that stands last in its copy, or -1 */
    double *reads;      /* by parameter: elements that are read at constant positions, one by one */
    struct node **copy; /* by parameter, of the new graph */
};

/* The parameter whose elements access n takes at constant positions along the axis that lies contiguous; -1: none. */
static int tap_of(const struct graph *g, const struct node *n) {
    if (n->kind != N_ACCESS || n->args[0]->kind != N_INPUT || n->has_fill) return -1;
    const struct param *p = &g->kernel->params[n->args[0]->param];
    if (p->packed.factor || p->is_strided || (p->dtype != FX_F16 && p->dtype != FX_BF16 && p->dtype != FX_F32))
        return -1;
    bool is_tap = false;
    for (int i = 0; i < n->n_at; i++) {
        if (n->args[1 + i]->kind != N_CONST) return -1;
        is_tap |= n->at[i] == p->axes[p->n_axes - 1];
    }
    return is_tap && g->kernel->axes[p->axes[p->n_axes - 1]].extent > 1 ? n->args[0]->param : -1;
}

/* The label contiguous in the tensor that n reads, and running there as it does outside; -1: none. */
static int lane_of(const struct graph *g, const struct node *n) {
    const struct node *source = n->kind == N_ACCESS ? n->args[0] : n;
    int last = -1;
    if (node_is_stored(source)) last = source->at[source->n_at - 1];
    else if (source->kind == N_INPUT && !g->kernel->params[source->param].packed.factor &&
             g->kernel->params[source->param].n_axes)
        last = g->kernel->params[source->param].axes[g->kernel->params[source->param].n_axes - 1];
    else if (source->kind != N_INPUT && source->n_axes) last = source->axes[source->n_axes - 1];
    for (int i = 0; n->kind == N_ACCESS && i < n->n_at; i++)
        if (n->at[i] == last) return n->args[1 + i]->kind == N_INDEX ? n->args[1 + i]->axis : -1;
    return last;
}

/* Whether a read of filter n beside what `other` reads is one across its taps. */
static void meet(struct tapper *s, const struct node *n, const struct node *other, const struct node *product) {
    const int param = tap_of(s->g, n), lane = param < 0 ? -1 : lane_of(s->g, other);
    if (lane < 0 || !node_has_axis(n, lane) || (s->lane[param] >= 0 && s->lane[param] != lane)) return;
    s->lane[param] = lane;
    s->reads[param] += nominal_size(s->g, product->axes, product->n_axes);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct tapper *s = state;
    const int param = tap_of(s->g, old), lane = param < 0 ? -1 : s->lane[param];
    (void)map;
    if (lane < 0 || s->reads[param] < COPY_SECONDS * arch_all_cycles(s->g->cx->arch)) return graph_add(out, n);
    if (!s->copy[param]) {
        const struct param *p = &s->g->kernel->params[param];
        struct node copy = {.kind = N_CAST, .dtype = n->dtype, .to = p->dtype, .axis = -1, .args = {n->args[0]},
            .span = n->span, .source = n->source};
        for (int taps = 1; taps >= 0; taps--) /* outermost the labels of taps: what is read at once lies together */
            for (int i = 0; i < p->n_axes; i++)
                if (p->axes[i] != lane && axes_have(old->at, old->n_at, p->axes[i]) == (taps == 1))
                    copy.at[copy.n_at++] = p->axes[i];
        copy.at[copy.n_at++] = lane;
        s->copy[param] = build_node(out, copy);
    }
    n->args[0] = s->copy[param];
    return graph_add(out, n);
}

struct graph *pass_taps(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    struct tapper s = {.g = g,
        .lane = NEW_ARRAY(a, int, g->kernel->n_params + 1),
        .reads = NEW_ARRAY(a, double, g->kernel->n_params + 1),
        .copy = NEW_ARRAY(a, struct node *, g->kernel->n_params + 1)};
    bool is_changed = false, *is_summed = NEW_ARRAY(a, bool, g->n_nodes + 1);
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    for (int i = 0; i < g->kernel->n_params; i++) s.lane[i] = -1;
    for (int i = 0; i < g->n_nodes; i++) /* what is summed may be a factor of a mainloop */
        if (g->nodes[i]->kind == N_REDUCE) is_summed[g->nodes[i]->args[0]->id] = true;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        for (int k = 0; k < 2 && !is_summed[i] && node_is_op(n, O_MUL); k++)
            meet(&s, n->args[k], n->args[1 - k], n);
    }
    for (int i = 0; i < g->kernel->n_params; i++)
        is_changed |= s.lane[i] >= 0 && s.reads[i] >= COPY_SECONDS * arch_all_cycles(g->cx->arch);
    return is_changed ? graph_rewrite(g, graph_like(g), rewrite, &s) : (struct graph *)g;
}
