/* Matrix products whose batch label lies contiguous in both factors, over copies that have it outermost.
 *
 * In: a graph. Out: one in which the factors of sum[K](a * b), inputs of 16-bit floats that both end with a label that
 * the sum keeps, are copies: casts with a storage order, the batch first, what is summed last. Without copies
 * neighbouring elements belong to different products, and engines read them one by one. An output that ends with the
 * batch is stored in that order too, and then copied. Each copy is a kernel, so sides, k and results must be large. The
 * pass leaves a kernel alone that says how many GPU kernels it wants. */
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

#include <string.h>

enum { LEAST_SIDE = 64, LEAST_BATCH = 8, LEAST_ELEMENTS = 1 << 20 };

/* The parameter that factor v is, of 16-bit floats as they lie in memory; NULL: it is none. */
static const struct param *plain_factor(const struct graph *g, const struct node *v) {
    if (v->kind != N_INPUT) return NULL;
    const struct param *p = &g->kernel->params[v->param];
    const bool is_plain = !p->is_strided && !p->packed.factor && p->n_axes > 2;
    return is_plain && (p->dtype == FX_F16 || p->dtype == FX_BF16) ? p : NULL;
}

/* Whether n is such a product; then its factors. */
static bool is_inside_out(const struct graph *g, const struct node *n, struct contraction *c) {
    double sides[2] = {1, 1};
    if (n->kind != N_REDUCE || n->reduction != RED_SUM) return false;
    if (!as_contraction(n, c) || !is_matrix_product(g, n)) return false;
    const struct param *a = plain_factor(g, c->a), *b = plain_factor(g, c->b);
    if (!a || !b || a->dtype != b->dtype || a->axes[a->n_axes - 1] != b->axes[b->n_axes - 1]) return false;
    const int batch = a->axes[a->n_axes - 1];
    if (!node_has_axis(n, batch) || nominal_extent(g, batch) < LEAST_BATCH) return false;
    for (int i = 0; i < n->n_axes; i++) {
        const bool has_a = node_has_axis(c->a, n->axes[i]), has_b = node_has_axis(c->b, n->axes[i]);
        if (has_a != has_b) sides[has_b] *= nominal_extent(g, n->axes[i]);
    }
    return sides[0] >= LEAST_SIDE && sides[1] >= LEAST_SIDE &&
           nominal_size(g, n->reduced, n->n_reduced) >= LEAST_SIDE &&
           nominal_size(g, n->axes, n->n_axes) >= LEAST_ELEMENTS;
}

/* v as `to`, to be stored in the order of `axes` of another tensor: first those of both factors, then the others, and
 * last those that `sum` does not keep. */
static struct node in_order(struct node *v, enum fx_dtype to, const struct param *p, const struct contraction *c,
    const struct node *sum) {
    struct node copy = {.kind = N_CAST, .dtype = v->dtype, .to = to, .axis = -1, .args = {v}};
    copy.span = v->span, copy.source = v->source;
    for (int place = 0; place < 3; place++)
        for (int i = 0; i < p->n_axes; i++) {
            const bool is_batch = node_has_axis(c->a, p->axes[i]) && node_has_axis(c->b, p->axes[i]);
            const int own = !node_has_axis(sum, p->axes[i]) ? 2 : is_batch ? 0 : 1;
            if (own == place) copy.at[copy.n_at++] = p->axes[i];
        }
    return copy;
}

struct batcher {
    const struct graph *g;
    const int *readers;
    struct node **copies; /* of factors, of the new graph */
    int n_copies;
};

/* The copy of factor v. Products that take it in the same order have one copy. */
static struct node *copied(struct batcher *s, struct graph *out, struct node *v, const struct param *p,
    const struct contraction *c, const struct node *sum) {
    const struct node copy = in_order(v, p->dtype, p, c, sum);
    for (int i = 0; i < s->n_copies; i++) {
        struct node *x = s->copies[i];
        if (x->args[0] == v && memcmp(x->at, copy.at, (size_t)copy.n_at * sizeof *copy.at) == 0) return x;
    }
    return s->copies[s->n_copies++] = build_node(out, copy);
}

/* The parameter that takes n as it is, and ends with the batch; NULL: there is none. */
static const struct param *taken_by(const struct graph *g, const struct node *n, int batch) {
    for (int i = 0; i < g->n_outputs; i++) {
        const struct param *p = &g->kernel->params[g->outputs[i].param];
        if (g->outputs[i].value == n && p->n_axes == n->n_axes && !p->is_strided &&
            p->axes[p->n_axes - 1] == batch)
            return p;
    }
    return NULL;
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct batcher *s = state;
    const struct graph *g = s->g;
    struct contraction c;
    if (!is_inside_out(g, old, &c)) return graph_add(out, n);
    const struct param *a = plain_factor(g, c.a), *b = plain_factor(g, c.b);
    struct node *product = build_op(out, O_MUL, copied(s, out, map[c.a->id], a, &c, old),
        copied(s, out, map[c.b->id], b, &c, old), NULL, n);
    struct node copy = *n;
    copy.args[0] = product;
    struct node *sum = build_node(out, copy);
    /* What is read beside the output is not rounded to its dtype. */
    const struct param *p = s->readers[old->id] == 1 ? taken_by(g, old, a->axes[a->n_axes - 1]) : NULL;
    return p ? build_node(out, in_order(sum, p->dtype, p, &c, old)) : sum;
}

struct graph *pass_batches(const struct graph *g) {
    struct batcher s = {.g = g,
        .readers = count_readers(g),
        .copies = NEW_ARRAY(&g->cx->arena, struct node *, 2 * g->n_nodes + 1)};
    struct contraction c;
    bool is_changed = false;
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    for (int i = 0; i < g->n_nodes; i++) is_changed |= is_inside_out(g, g->nodes[i], &c);
    return is_changed ? graph_rewrite(g, graph_like(g), rewrite, &s) : (struct graph *)g;
}
