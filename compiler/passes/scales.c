/* Turns sums over blocks of k of f8 products, which are scaled and then added, into one contraction of scaled factors.
 * Each scale goes to the factor whose labels it has. The mainloop of sm_90a then adds the blocks itself, and no sums of
 * a block go through memory.
 *
 * In: a graph. Out: one in which sum[G](sum[R](a * b) * s * t), s having no label of b alone and t none of a alone, has
 * become sum[G,R]((a * s) * (b * t)). a and b are f8 tensors with R contiguous, R is whole blocks of a mainloop, and
 * sums of products of f8 are allowed to keep fewer bits (language.md, "Accumulation"). may_scale records that the inner
 * sums were over the labels that no scale has, and may still be computed so. Where R is shorter than a block, they are
 * not: a product of f32 takes less time than sums of every R through memory. Only products that nothing else reads are
 * rewritten. */
#include "graph/operand.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { BLOCK = 128, MOST_FACTORS = 6 }; /* of k that a stage holds; leaves of a product */

struct scaled { /* a product of a contraction and scales */
    const struct node *inner; /* sum[R](a * b) */
    int n_scales;
    const struct node *scales[MOST_FACTORS];
};

/* Collects the leaves of the product at n; false where it has no contraction, two, or another reader on the way. */
static bool find_leaves(const struct node *n, const int *readers, struct scaled *x) {
    struct contraction c;
    if (node_is_op(n, O_MUL))
        return readers[n->id] == 1 && find_leaves(n->args[0], readers, x) && find_leaves(n->args[1], readers, x);
    if (as_contraction(n, &c)) {
        bool is_first = !x->inner;
        x->inner = n;
        return is_first && readers[n->id] == 1 && readers[n->args[0]->id] == 1;
    }
    if (x->n_scales == MOST_FACTORS) return false;
    x->scales[x->n_scales++] = n;
    return true;
}

/* Whether factor n of the inner sum is a tensor as tensor maps bring it. */
static bool is_f8(const struct graph *g, const struct node *n, const struct node *inner) {
    struct tensor t;
    return tensor_of_factor(g, n, &t) && fx_is_f8(t.dtype) && !t.is_strided && t.n_axes &&
           set_has(inner->reduced, inner->n_reduced, t.axes[t.n_axes - 1]);
}

/* Whether the labels of s are those of factor f, without what its inner sum reduces. */
static bool is_of(const struct node *s, const struct node *f, const struct node *inner) {
    return node_has_all(f, s->axes, s->n_axes) && !node_has_any(s, inner->reduced, inner->n_reduced);
}

/* Elements of k of the inner sum; 0: not known, or more than any block. */
static int64_t block_of(const struct graph *g, const struct node *inner) {
    int64_t size = 1;
    for (int i = 0; i < inner->n_reduced; i++) {
        int64_t extent = g->kernel->axes[inner->reduced[i]].extent;
        if (extent < 1 || extent > INT32_MAX / size) return 0;
        size *= extent;
    }
    return size;
}

/* Whether n is a sum of such products; c: the factors of the inner one. */
static bool is_scaled_sum(
    const struct graph *g, const struct node *n, const int *readers, struct scaled *x, struct contraction *c) {
    *x = (struct scaled){0};
    if (n->kind != N_REDUCE || n->reduction != RED_SUM || n->dtype != FX_F32 || !node_is_op(n->args[0], O_MUL) ||
        !find_leaves(n->args[0], readers, x) || !x->inner || !as_contraction(x->inner, c))
        return false;
    const int64_t block = block_of(g, x->inner);
    if (!x->inner->may_round || !is_matrix_product(g, x->inner) || !is_f8(g, c->a, x->inner) ||
        !is_f8(g, c->b, x->inner) || block == 0 || (block > BLOCK && block % BLOCK != 0) ||
        n->n_reduced + x->inner->n_reduced > MAX_AXES)
        return false;
    if (!node_has_all(c->a, n->reduced, n->n_reduced) || !node_has_all(c->b, n->reduced, n->n_reduced)) return false;
    bool varies = false; /* from block to block: else the scales stand outside of the sum */
    for (int i = 0; i < x->n_scales; i++) {
        if (x->scales[i]->dtype != FX_F32) return false;
        if (!is_of(x->scales[i], c->a, x->inner) && !is_of(x->scales[i], c->b, x->inner)) return false;
        varies |= node_has_any(x->scales[i], n->reduced, n->n_reduced);
    }
    return varies;
}

struct rewriter {
    const struct graph *g;
    const int *readers;
    bool has_changed;
};

/* The product of the scales that factor f, a or else b, takes; NULL: it takes none. What may stand on either stands on
 * a. */
static struct node *scale_of(struct graph *out, const struct scaled *x, const struct contraction *c, bool is_a,
    struct node **map, const struct node *like) {
    struct node *product = NULL;
    for (int i = 0; i < x->n_scales; i++) {
        if (is_of(x->scales[i], c->a, x->inner) != is_a) continue;
        struct node *s = map[x->scales[i]->id];
        product = product ? build_op(out, O_MUL, product, s, NULL, like) : s;
    }
    return product;
}

static struct node *scale(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct rewriter *w = state;
    struct scaled x;
    struct contraction c;
    if (!is_scaled_sum(w->g, old, w->readers, &x, &c)) return graph_add(out, n);
    struct node *factors[2] = {map[c.a->id], map[c.b->id]}, sum = *n;
    for (int side = 0; side < 2; side++) {
        struct node *by = scale_of(out, &x, &c, side == 0, map, x.inner);
        if (by) factors[side] = build_op(out, O_MUL, factors[side], by, NULL, x.inner);
    }
    w->has_changed = true;
    sum.args[0] = build_op(out, O_MUL, factors[0], factors[1], NULL, x.inner);
    for (int i = 0; i < x.inner->n_reduced; i++)
        sum.n_reduced = set_add(sum.reduced, sum.n_reduced, x.inner->reduced[i]);
    sum.may_scale = block_of(w->g, x.inner) % BLOCK == 0;
    sum.may_round = sum.may_tf32 = false; /* which was said of factors that are none any more */
    sum.rounds_to = FX_BOOL;
    return build_node(out, sum);
}

struct graph *pass_scales(const struct graph *g) {
    struct rewriter w = {.g = g, .readers = count_readers(g)};
    if (!g->cx->arch->has_wgmma || g->kernel->fuse == FUSE_NEVER) return (struct graph *)g;
    struct graph *out = graph_rewrite(g, graph_like(g), scale, &w);
    return w.has_changed ? out : (struct graph *)g;
}
