/* Values made of a matrix product that are needed whole in several places, stored once.
 *
 * In: a graph. Out: one in which a value v, made element by element of a matrix product with its labels, that two
 * places or more read at other elements than their own (a factor of another product, an access, a reduction), is a cast
 * that is stored: v itself where the spec rounds it to 16 bits, else v as f32; where all such places are factors that
 * may be rounded, v rounded once for all of them. Without it access takes what is read to the product below, which is
 * then stored as it is, and each place computes v again, or is a product of its own part. Not where v has one such
 * place, which may then be a chain or an epilogue, nor where the kernel says how many GPU kernels it wants. Other forms
 * of the kernel may be better: form.c takes that which is predicted to be faster. */
#include <string.h>

#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/passes.h"

struct kept_uses { /* of a value, by those that read it */
    int n_factors, n_accesses, n_reductions, n_near; /* the last at the reader's own elements */
    enum fx_dtype rounds_to; /* what all factors may be rounded to; FX_BOOL: there is no such dtype */
};

struct keeper {
    const struct graph *g;
    const int *readers;
    const struct node **product; /* by number of a product of factors: the matrix product that adds it up, or NULL */
    bool *is_end;                /* by node: made of a matrix product of its labels, element by element, or one */
    struct kept_uses *uses;
    enum fx_dtype *kept;         /* by node: as what it is stored; FX_BOOL: it is not */
    struct node **copies;        /* by node: what is stored, of the new graph */
};

static void add_factors(struct kept_uses *u, int n, enum fx_dtype rounds_to) {
    if (n) u->rounds_to = u->n_factors && u->rounds_to != rounds_to ? FX_BOOL : rounds_to;
    u->n_factors += n;
}

/* Counts what reads each value; what reads an access reads its source, at other elements. */
static void count_uses(struct keeper *k) {
    const struct graph *g = k->g;
    for (int i = 0; i < g->n_outputs; i++) k->uses[g->outputs[i].value->id].n_near++;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *r = g->nodes[i];
        for (int a = 0; k->readers[i] && a < r->n_args; a++) {
            struct kept_uses *u = &k->uses[r->args[a]->id], *own = &k->uses[i];
            if (r->kind == N_ACCESS && a == 0) {
                add_factors(u, own->n_factors, own->rounds_to);
                u->n_accesses += own->n_accesses + own->n_reductions + own->n_near;
            } else if (k->product[i]) {
                add_factors(u, 1, k->product[i]->rounds_to);
            } else if (r->kind == N_REDUCE || r->kind == N_SCAN) {
                u->n_reductions++;
            } else {
                u->n_near++;
            }
        }
    }
}

static void find_ends(struct keeper *k) {
    struct contraction c;
    for (int i = 0; i < k->g->n_nodes; i++) {
        const struct node *n = k->g->nodes[i];
        if (k->readers[i] && n->kind == N_REDUCE && is_matrix_product(k->g, n) && as_contraction(n, &c))
            k->product[n->args[0]->id] = n, k->is_end[i] = true;
        for (int a = 0; (n->kind == N_OP || (n->kind == N_CAST && !node_is_stored(n))) && a < n->n_args; a++)
            k->is_end[i] |= k->is_end[n->args[a]->id] &&
                            nodes_same_axes(n->axes, n->n_axes, n->args[a]->axes, n->args[a]->n_axes);
    }
}

/* As what v is to be stored; FX_BOOL: it is not. */
static enum fx_dtype dtype_kept(const struct keeper *k, const struct node *v) {
    const struct kept_uses *u = &k->uses[v->id];
    const int n_others = u->n_accesses + u->n_reductions;
    if (!k->readers[v->id] || v->dtype != FX_F32 || v->n_axes < 2 || !k->is_end[v->id]) return FX_BOOL;
    if (u->n_factors + n_others < 2 || u->n_factors + u->n_accesses == 0) return FX_BOOL;
    if (v->kind == N_CAST) return fx_is_float(v->to) && fx_dtype_bits(v->to) == 16 ? v->to : FX_BOOL;
    if (u->n_factors == 0) return FX_F32;
    return n_others == 0 ? u->rounds_to : FX_BOOL;
}

/* v as it is stored, in the order of an output of its labels or of what it is made of. */
static struct node *stored(struct keeper *k, struct graph *out, const struct node *v, struct node *n) {
    struct node copy = {.kind = N_CAST, .dtype = FX_F32, .to = k->kept[v->id], .axis = -1, .args = {n},
        .span = v->span, .source = v->source};
    if (v->kind == N_CAST) copy.args[0] = n->args[0];
    copy.n_at = build_order(k->g, v, copy.at);
    for (int i = 0; i < k->g->kernel->n_params; i++) {
        const struct param *p = &k->g->kernel->params[i];
        if (p->is_output && nodes_same_axes(p->axes, p->n_axes, v->axes, v->n_axes))
            memcpy(copy.at, p->axes, sizeof copy.at);
    }
    return build_node(out, copy);
}

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct keeper *k = state;
    (void)map;
    for (int a = 0; a < old->n_args; a++) {
        const struct node *v = old->args[a];
        /* what is rounded for factors alone other readers take as it was */
        const bool is_own = v->kind == N_CAST || k->kept[v->id] == FX_F32;
        if (k->copies[v->id] && (is_own || k->product[old->id] || (old->kind == N_ACCESS && a == 0)))
            n->args[a] = k->copies[v->id];
    }
    struct node *same = graph_add(out, n);
    if (k->kept[old->id] != FX_BOOL) k->copies[old->id] = stored(k, out, old, same);
    return same;
}

struct graph *pass_keep(const struct graph *g) {
    struct arena *arena = &g->cx->arena;
    struct keeper k = {.g = g, .readers = count_readers(g)};
    bool is_changed = false;
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels) return (struct graph *)g;
    k.product = NEW_ARRAY(arena, const struct node *, g->n_nodes + 1);
    k.is_end = NEW_ARRAY(arena, bool, g->n_nodes + 1);
    k.uses = NEW_ARRAY(arena, struct kept_uses, g->n_nodes + 1);
    k.kept = NEW_ARRAY(arena, enum fx_dtype, g->n_nodes + 1);
    k.copies = NEW_ARRAY(arena, struct node *, g->n_nodes + 1);
    find_ends(&k);
    count_uses(&k);
    for (int i = 0; i < g->n_nodes; i++) {
        k.kept[i] = dtype_kept(&k, g->nodes[i]);
        is_changed |= k.kept[i] != FX_BOOL;
    }
    return is_changed ? pass_dce(graph_rewrite(g, graph_like(g), rewrite, &k)) : (struct graph *)g;
}
