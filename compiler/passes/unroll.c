/* Unrolls reductions over small windows: a filter of few taps, a pooling window, a stencil.
 *
 * In: a graph. Out: one in which sum[K](v), K of few elements and fixed, has become v[K: 0] + v[K: 1] + .., and the
 * same for prod, max and min. v reads some value at positions at which windows of neighbouring elements overlap: a
 * position that K and a kept label both step through, K further than one step of the other. Narrow windows side by side
 * are unrolled too. As a loop over K such a reduction makes each thread compute one element. Unrolled, the terms are
 * pointwise, and a thread loads and computes several adjacent elements. Terms are added in the order of the loop; a sum
 * that would begin at 0 begins at its first term.
 *
 * Of contractions that are matrix products, which engines take, only those are unrolled whose tiles would be nearly
 * empty: convolutions of many groups of few channels, many products of a few rows and terms. Reductions of values that
 * are computed from reductions which have the label are not unrolled, because these would be computed once per term;
 * those that lack it, as the sums of a softmax of taps, are the same for all terms. Short sums that no tensor holds, as
 * the coordinates of a distance or gathered rows, are unrolled too. A long sum whose
 * elements form rows that are reduced is stored, because a row program would compute it one element at a time. Not with
 * `fuse: never`, where each operation is a kernel. */
#include <math.h>

#include "graph/linear.h"
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

/* Terms of a reduction; nodes of its unrolled form; elements of a window side by side with others; terms of what is
 * stored before its rows are reduced. */
enum { MOST_TERMS = 96, MOST_NODES = 1024, NARROW = 4, LEAST_STORED = 9 };
/* Terms that no tensor holds. */
enum { BRIEF = 4, BRIEF_GATHERED = 32 };
/* Of small products: terms, rows, columns, or elements in all, and how many they are; terms of one within another, and
 * rows and terms of a narrow one; elements along what makes that long; terms and elements of a shallow one. */
enum { MOST_OF_SMALL = 16, FEW_ROWS = 4, MANY_COLUMNS = 32, FEW_ELEMENTS = 256, MANY_BATCHES = 512, MOST_WITHIN = 8,
    MANY_OF_NARROW = 1 << 14, SHALLOW = 4, MANY_OF_SHALLOW = 1 << 12 };
/* Of convolutions by groups: how many there are, and channels of one. */
enum { MANY_GROUPS = 8, FEW_CHANNELS = 16 };

struct unroller {
    const struct graph *g;
    bool *is_unrolled; /* by node */
    bool *stays; /* by node: it is a reduction, or a running sum, that is not unrolled */
    bool *has_reduction; /* by node: it is made of one that stays */
    bool *is_accessed; /* by node: an access reads it, at other elements */
    bool *is_met; /* by node, while one reduction is looked at */
    bool *is_reduced; /* by node: rows of what is made of it are reduced */
    bool *is_within;  /* by node: a product of matrices is made of it, */
    bool *is_chained; /* of rows of it that are reduced: a chain keeps both in one kernel */
};

static double magnitude(int64_t v) { return v < 0 ? -(double)v : (double)v; }

/* Whether windows over the reduced labels of n overlap at position p, or lie side by side and are narrow. */
static bool overlaps(const struct graph *g, const struct node *n, const struct node *p) {
    for (int i = 0; i < n->n_reduced; i++) {
        int64_t within, between;
        if (!linear_factor(p, n->reduced[i], &within) || !within) continue;
        for (int j = 0; j < p->n_axes; j++)
            if (!axes_have(n->reduced, n->n_reduced, p->axes[j]) && linear_factor(p, p->axes[j], &between) &&
                between) {
                double most = magnitude(within) * (double)g->kernel->axes[n->reduced[i]].extent;
                if (magnitude(between) < most || (magnitude(between) == most && most <= NARROW)) return true;
            }
    }
    return false;
}

/* Terms of reduction n; 0 where they are too many or not known. */
static int count_terms(const struct graph *g, const struct node *n) {
    int64_t terms = 1;
    for (int i = 0; i < n->n_reduced; i++) {
        int64_t extent = g->kernel->axes[n->reduced[i]].extent;
        if (extent < 1 || extent > MOST_TERMS || (terms *= extent) > MOST_TERMS) return 0;
    }
    return (int)terms;
}

/* The nodes that v is made of and that were not met before; those of unrolled reductions for each term. */
static int count_nodes(struct unroller *u, const struct node *n, const struct node *v, bool *is_window) {
    int count = 1;
    if (u->is_met[v->id]) return 0;
    u->is_met[v->id] = true;
    for (int i = 0; v->kind == N_ACCESS && i < v->n_at; i++) *is_window |= overlaps(u->g, n, v->args[1 + i]);
    for (int i = 0; i < v->n_args && count <= MOST_NODES && !node_is_stored(v); i++)
        count += count_nodes(u, n, v->args[i], is_window);
    return u->is_unrolled[v->id] ? count * count_terms(u->g, v) : count;
}

/* Whether n is a product of matrices so small that each of many is a few terms: gates times experts, element by element
 * of a batch; matrices of 16 x 16; a few terms for a few rows, f p f^T of matrices of 6 x 6; or up to four terms. An
 * engine's tile, or its block of k, would be nearly empty. Not of what a chain has in one kernel, whose tiles are no
 * fuller but whose products stay there. */
static bool is_small_product(const struct unroller *u, const struct node *n) {
    const struct graph *g = u->g;
    struct contraction c;
    double sides[2] = {1, 1}, batches = 1, terms = count_terms(g, n);
    if (!terms || terms > MOST_OF_SMALL || !as_contraction(n, &c) || !fx_is_float(n->dtype)) return false;
    for (int i = 0; i < n->n_axes; i++) {
        const bool has_a = node_has_axis(c.a, n->axes[i]), has_b = node_has_axis(c.b, n->axes[i]);
        const int64_t extent = g->kernel->axes[n->axes[i]].extent;
        if (has_a && has_b) batches *= nominal_extent(g, n->axes[i]);
        else sides[has_b] *= extent < 0 ? INFINITY : (double)extent;
    }
    const double few = sides[0] < sides[1] ? sides[0] : sides[1], many = sides[0] < sides[1] ? sides[1] : sides[0];
    const bool is_flat = few <= FEW_ROWS && many >= MANY_COLUMNS && batches >= MANY_BATCHES,
               is_tiny = few * many <= FEW_ELEMENTS && batches >= MANY_BATCHES,
               is_shallow = terms <= SHALLOW && few * many * batches >= MANY_OF_SHALLOW,
               is_narrow = few <= MOST_WITHIN && terms <= MOST_WITHIN && many * batches >= MANY_OF_NARROW,
               may_join = !u->is_chained[n->id] && !u->has_reduction[n->args[0]->id] &&
                          (!u->is_within[n->id] || terms <= MOST_WITHIN);
    return (is_flat || ((is_tiny || is_narrow || is_shallow) && may_join)) && is_matrix_product(g, n);
}

/* Whether access n is of overlapping windows, a label that the sum keeps running along what lies contiguous. */
static bool is_strip_window(const struct graph *g, const struct node *sum, const struct node *n) {
    if (n->kind != N_ACCESS || n->args[0]->kind != N_INPUT) return false;
    const struct param *p = &g->kernel->params[n->args[0]->param];
    bool is_window = false, is_along = false;
    for (int i = 0; i < n->n_at; i++) {
        is_window |= overlaps(g, sum, n->args[1 + i]);
        for (int k = 0; n->at[i] == p->axes[p->n_axes - 1] && k < n->args[1 + i]->n_axes; k++)
            is_along |= node_has_axis(sum, n->args[1 + i]->axes[k]);
    }
    return is_window && is_along;
}

/* Whether n is a convolution of many groups of few channels, of planes: a tile of an engine has one group, and a thread
 * adds up adjacent elements of a plane as fast. */
static bool is_group_filter(const struct graph *g, const struct node *n) {
    struct contraction c;
    double groups = 1, channels = 1;
    if (!count_terms(g, n) || !as_contraction(n, &c) || n->dtype != FX_F32) return false;
    const bool is_second = is_strip_window(g, n, c.b);
    const struct node *window = is_second ? c.b : c.a, *filter = is_second ? c.a : c.b;
    if (!is_strip_window(g, n, window)) return false;
    for (int i = 0; i < n->n_axes; i++) {
        if (!node_has_axis(filter, n->axes[i])) continue;
        const int64_t extent = g->kernel->axes[n->axes[i]].extent;
        *(node_has_axis(window, n->axes[i]) ? &groups : &channels) *= extent < 0 ? INFINITY : (double)extent;
    }
    return groups >= MANY_GROUPS && channels <= FEW_CHANNELS;
}

/* Whether v, the value of n or below it, is made of reductions of which each term of n would have its own. */
static bool has_reduction(struct unroller *u, const struct node *n, const struct node *v) {
    if (u->is_met[v->id] || node_is_stored(v)) return false; /* what is stored is read from memory */
    u->is_met[v->id] = true;
    if (u->stays[v->id]) return node_has_any(v, n->reduced, n->n_reduced);
    for (int i = 0; v->kind == N_ACCESS && i < v->n_at; i++) /* each term reads another element */
        if (node_has_any(v->args[1 + i], n->reduced, n->n_reduced) && u->has_reduction[v->args[0]->id]) return true;
    for (int i = 0; i < v->n_args; i++)
        if (has_reduction(u, n, v->args[i])) return true;
    return false;
}

/* Whether v, met once, reads rows whose positions are data, another for each term of n. */
static bool is_gathered(struct unroller *u, const struct node *n, const struct node *v) {
    if (u->is_met[v->id] || node_is_stored(v)) return false;
    u->is_met[v->id] = true;
    if (v->kind == N_ACCESS && v->args[0]->kind == N_INPUT) {
        const struct param *p = &u->g->kernel->params[v->args[0]->param];
        const int last = p->n_axes ? p->axes[p->n_axes - 1] : -1;
        bool is_kept = node_has_axis(n, last), is_data = false;
        for (int i = 0; i < v->n_at; i++) {
            is_kept &= v->at[i] != last;
            is_data |= node_has_any(v->args[1 + i], n->reduced, n->n_reduced) && v->args[1 + i]->kind != N_INDEX &&
                       v->args[1 + i]->kind != N_OP;
        }
        return is_kept && is_data;
    }
    for (int i = 0; i < v->n_args; i++)
        if (is_gathered(u, n, v->args[i])) return true;
    return false;
}

/* Whether v, met once, reads what is computed at other elements, which each term would compute again. */
static bool reads_computed(struct unroller *u, const struct node *v) {
    if (u->is_met[v->id] || node_is_stored(v)) return false;
    u->is_met[v->id] = true;
    if (v->kind == N_ACCESS && v->args[0]->kind != N_INPUT && v->args[0]->kind != N_ACCESS) return true;
    for (int i = 0; i < v->n_args; i++)
        if (reads_computed(u, v->args[i])) return true;
    return false;
}

/* Whether n adds up a few terms that no tensor holds as they stand: coordinates of a distance between two points, or
 * rows that are gathered, of which a thread reads vectors. */
static bool is_brief(struct unroller *u, const struct node *n, int terms) {
    const struct graph *g = u->g;
    if (!fx_is_float(n->dtype)) return false;
    for (int i = 0; i < g->n_nodes; i++) u->is_met[i] = false;
    if ((terms > BRIEF || u->is_accessed[n->id]) && (terms > BRIEF_GATHERED || !is_gathered(u, n, n->args[0])))
        return false;
    for (int i = 0; i < g->n_nodes; i++) u->is_met[i] = false;
    if (reads_computed(u, n->args[0])) return false;
    for (int i = 0; i < n->id; i++)
        if (g->nodes[i]->kind == N_INPUT && nodes_same_axes(g->nodes[i]->axes, g->nodes[i]->n_axes, n->args[0]->axes,
                                                n->args[0]->n_axes))
            return false;
    return true;
}

static bool is_unrolled(struct unroller *u, const struct node *n) {
    struct contraction c;
    bool is_window = false;
    if (n->kind == N_REDUCE && n->reduction == RED_SUM && is_small_product(u, n)) {
        for (int i = 0; i < u->g->n_nodes; i++) u->is_met[i] = false;
        if (count_nodes(u, n, n->args[0], &is_window) * count_terms(u->g, n) <= MOST_NODES) return true;
        is_window = false;
    }
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || n->dtype == FX_BOOL || n->args[0]->dtype != n->dtype)
        return false;
    int terms = count_terms(u->g, n);
    if (terms < 2 || (as_mainloop(n, &c) && is_matrix_product(u->g, n) && !is_group_filter(u->g, n))) return false;
    for (int i = 0; i < u->g->n_nodes; i++) u->is_met[i] = false;
    if (has_reduction(u, n, n->args[0])) return false;
    for (int i = 0; i < u->g->n_nodes; i++) u->is_met[i] = false;
    return count_nodes(u, n, n->args[0], &is_window) * terms <= MOST_NODES && (is_window || is_brief(u, n, terms));
}

/* args[0] of n at element number `term` of the reduced labels, the last of which counts fastest. */
static struct node *term_of(const struct graph *g, struct graph *out, const struct node *n, int term) {
    struct node at = {
        .kind = N_ACCESS, .dtype = n->dtype, .axis = -1, .args = {n->args[0]}};
    at.span = n->args[0]->span, at.source = n->args[0]->source;
    for (int i = n->n_reduced - 1; i >= 0; i--) {
        int extent = (int)g->kernel->axes[n->reduced[i]].extent;
        at.at[i] = n->reduced[i];
        at.args[1 + i] = build_integer(out, FX_I64, term % extent, n);
        term /= extent;
    }
    at.n_at = n->n_reduced;
    return build_node(out, at);
}

/* v, which stands for n, in memory: a row program would compute it for one element at a time. */
static struct node *stored(const struct graph *g, struct graph *out, const struct node *n, struct node *v) {
    struct node copy = {.kind = N_CAST, .dtype = n->dtype, .to = n->dtype, .axis = -1, .args = {v}};
    copy.span = n->span, copy.source = n->source;
    copy.n_at = build_order(g, n, copy.at);
    return build_node(out, copy);
}

/* Marks what products of matrices are made of, by way of reduced rows or not. */
static void find_within(struct unroller *u) {
    const struct graph *g = u->g;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        const bool is_loop = n->kind == N_REDUCE || n->kind == N_SCAN,
                   is_product = n->kind == N_REDUCE && is_matrix_product(g, n);
        for (int a = 0; a < n->n_args; a++) {
            u->is_within[n->args[a]->id] |= is_product || u->is_within[i];
            u->is_chained[n->args[a]->id] |= u->is_chained[i] || (is_loop && !is_product && u->is_within[i]);
        }
    }
}

/* Marks what rows of are reduced, or scanned: not by windows that are unrolled or by matrix products. */
static void find_reduced(struct unroller *u) {
    const struct graph *g = u->g;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        bool is_loop = (n->kind == N_REDUCE && !u->is_unrolled[i]) || n->kind == N_SCAN,
             is_reduced = is_loop ? n->kind == N_SCAN || !is_matrix_product(g, n) : u->is_reduced[i];
        for (int a = 0; a < n->n_args; a++) u->is_reduced[n->args[a]->id] |= is_reduced;
    }
}

static struct node *unroll(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    static const enum op joins[] = {
        [RED_SUM] = O_ADD, [RED_PROD] = O_MUL, [RED_MAX] = O_MAX, [RED_MIN] = O_MIN};
    struct unroller *u = state;
    (void)map;
    if (!u->is_unrolled[old->id]) return graph_add(out, n);
    struct node *v = term_of(u->g, out, n, 0);
    for (int i = 1, terms = count_terms(u->g, old); i < terms; i++)
        v = build_op(out, joins[n->reduction], v, term_of(u->g, out, n, i), NULL, n);
    return u->is_reduced[old->id] && count_terms(u->g, old) >= LEAST_STORED ? stored(u->g, out, old, v) : v;
}

struct graph *pass_unroll(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    struct unroller u = {.g = g,
        .is_unrolled = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .stays = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .has_reduction = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .is_accessed = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .is_met = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .is_reduced = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .is_within = NEW_ARRAY(a, bool, g->n_nodes + 1),
        .is_chained = NEW_ARRAY(a, bool, g->n_nodes + 1)};
    bool is_changed = false;
    if (g->kernel->fuse == FUSE_NEVER) return (struct graph *)g;
    find_within(&u);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->kind == N_ACCESS) u.is_accessed[g->nodes[i]->args[0]->id] = true;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        u.is_unrolled[i] = is_unrolled(&u, n);
        is_changed |= u.is_unrolled[i];
        u.stays[i] = (n->kind == N_REDUCE && !u.is_unrolled[i]) || n->kind == N_SCAN || n->kind == N_SHARE;
        for (int j = 0; j < n->n_args; j++) u.has_reduction[i] |= u.has_reduction[n->args[j]->id];
        if (node_is_stored(n)) u.has_reduction[i] = false;
        u.has_reduction[i] |= u.stays[i];
    }
    if (g->kernel->fuse == FUSE_PREFER && !g->kernel->kernels) find_reduced(&u);
    return is_changed ? graph_rewrite(g, graph_like(g), unroll, &u) : (struct graph *)g;
}
