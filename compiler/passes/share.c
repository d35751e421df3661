/* Keeps reductions over short runs of a matrix product's columns in its epilogue: the elements of a run share the
 * result.
 *
 * In: a graph. Out: one in which red[C](f), and with it every element that is computed from it, has become N_SHARE. f
 * is pointwise over the result of a product, and the runs have S elements, S a power of two up to PARTIAL_RUN, and lie
 * within a tile. The runs are a label C of the product with the fixed extent S, or parts of a label N: f is read at S *
 * idx(G) + idx(C), and the results at idx(N) // S and idx(N) % S. No element then needs to be in memory for a value
 * that its run shares: a norm over groups of columns. This is done if all readers of the product can follow it:
 * elements of the epilogue, and reductions of these. Terms are added in another order, as in any sum. Not with `fuse:
 * never`, which wants every contraction by itself, nor for values that a chain computes. */
#include "passes/build.h"
#include "graph/chain.h"
#include "passes/epilogue.h"
#include "passes/passes.h"

struct runs { /* of what label, and how long */
    int whole, run;   /* N and S; of a label of the product itself N is C */
    int number, place; /* G and C: a run, and a place in it; G is -1 where there is no such label */
};

struct sharer {
    const struct graph *g;
    struct graph *out;
    struct runs at;
    struct node **map;   /* by node of g: what it became */
    struct node **shared; /* likewise, over N in place of G and C; NULL: it has no such form */
    bool *is_computed;       /* by node: `shared` is another value than `map` */
    const bool *is_below; /* by node: a matrix product, or computed from one */
    struct node *number, *place; /* idx(N) // S and idx(N) % S, or NULL */
};

/* ---- positions ---- */

static bool is_index(const struct node *n, int axis) { return n->kind == N_INDEX && n->axis == axis; }

/* Whether n is S * idx(G) + idx(C). */
static bool as_run(const struct graph *g, const struct node *n, struct runs *at) {
    if (!node_is_op(n, O_ADD)) return false;
    for (int side = 0; side < 2; side++) {
        const struct node *first = n->args[side], *place = n->args[1 - side];
        if (!node_is_op(first, O_MUL) || first->args[0]->kind != N_INDEX || first->args[1]->kind != N_CONST ||
            place->kind != N_INDEX)
            continue;
        at->number = first->args[0]->axis;
        at->place = place->axis;
        at->run = first->args[1]->integer <= PARTIAL_RUN ? (int)first->args[1]->integer : 0;
        return at->number != at->place && g->kernel->axes[at->place].extent == at->run && at->run >= 2 &&
               (at->run & (at->run - 1)) == 0;
    }
    return false;
}

static bool is_run_access(const struct sharer *s, const struct node *n) {
    struct runs at;
    return n->kind == N_ACCESS && !n->has_fill && n->n_at == 1 && n->at[0] == s->at.whole &&
           as_run(s->g, n->args[1], &at) && at.number == s->at.number && at.place == s->at.place;
}

/* Whether n is idx(N) divided by S. */
static bool is_part(const struct sharer *s, const struct node *n, enum op op) {
    return node_is_op(n, op) && is_index(n->args[0], s->at.whole) && n->args[1]->kind == N_CONST &&
           n->args[1]->integer == s->at.run;
}

/* Whether n reads a value over G, and C if it has that, at the run and the place of an element of N. */
static bool is_shared_access(const struct sharer *s, const struct node *n) {
    if (n->kind != N_ACCESS || n->has_fill || s->at.number < 0) return false;
    bool has_place = node_has_axis(n->args[0], s->at.place);
    if (n->n_at != 1 + has_place) return false;
    for (int i = 0; i < n->n_at; i++)
        if (!(n->at[i] == s->at.number && is_part(s, n->args[1 + i], O_FLOORDIV)) &&
            !(n->at[i] == s->at.place && is_part(s, n->args[1 + i], O_MOD)))
            return false;
    return true;
}

static struct node *part_of(struct sharer *s, enum op op, const struct node *like) {
    struct node **part = op == O_MOD ? &s->place : &s->number;
    if (!*part)
        *part = build_op(s->out, op, build_index(s->out, s->at.whole, like),
            build_integer(s->out, FX_I64, s->at.run, like), NULL, like);
    return *part;
}

/* ---- elements ---- */

static bool has_run_labels(const struct sharer *s, const struct node *n) {
    return s->at.number >= 0 && (node_has_axis(n, s->at.number) || node_has_axis(n, s->at.place));
}

/* n, over G or C and computed from no product, read where an element of N is. */
static struct node *read_at(struct sharer *s, const struct node *n) {
    struct node at = {.kind = N_ACCESS, .dtype = n->dtype, .axis = -1, .span = n->span, .source = n->source};
    if (is_index(n, s->at.number)) return part_of(s, O_FLOORDIV, n);
    if (is_index(n, s->at.place)) return part_of(s, O_MOD, n);
    at.args[0] = s->map[n->id];
    for (int i = 0; i < n->n_axes; i++) {
        if (n->axes[i] != s->at.number && n->axes[i] != s->at.place) continue;
        at.at[at.n_at++] = n->axes[i];
        at.args[at.n_at] = part_of(s, n->axes[i] == s->at.number ? O_FLOORDIV : O_MOD, n);
    }
    return build_node(s->out, at);
}

static bool is_reduction_of_run(const struct sharer *s, const struct node *n) {
    return n->kind == N_REDUCE && n->reduction <= RED_MIN && n->n_reduced == 1 && n->reduced[0] == s->at.place &&
           !is_matrix_product(s->g, n);
}

/* Old node n with its operands over N. */
static struct node *with_shared(struct sharer *s, const struct node *n) {
    struct node copy = *n;
    for (int a = 0; a < n->n_args; a++) {
        if (!s->shared[n->args[a]->id]) return NULL;
        copy.args[a] = s->shared[n->args[a]->id];
    }
    if (n->kind == N_REDUCE) {
        if (!node_has_axis(copy.args[0], s->at.whole)) return NULL;
        copy.kind = N_SHARE;
        copy.n_reduced = 0;
        copy.may_round = copy.may_tf32 = false; /* it is no contraction any more */
        copy.rounds_to = FX_BOOL;
        copy.axis = s->at.whole;
        copy.run = s->at.run;
    }
    return build_node(s->out, copy);
}

/* What stands for n over N; NULL: nothing does. */
static struct node *shared_form(struct sharer *s, const struct node *n) {
    bool is_pointwise = n->kind == N_OP || n->kind == N_CAST, follows = false, is_native = s->at.number < 0;
    for (int a = 0; a < n->n_args; a++) follows |= s->is_computed[n->args[a]->id];
    if (is_native)
        return (is_reduction_of_run(s, n) && s->is_below[n->id]) || (is_pointwise && follows) ? with_shared(s, n)
               : follows                                                                      ? NULL
                                                                                              : s->map[n->id];
    if (node_has_axis(n, s->at.whole)) return NULL;
    if (is_run_access(s, n) && !has_run_labels(s, n->args[0])) return s->map[n->args[0]->id];
    if (!s->is_below[n->id]) return has_run_labels(s, n) ? read_at(s, n) : s->map[n->id];
    if (!has_run_labels(s, n) && !is_reduction_of_run(s, n)) return follows ? NULL : s->map[n->id];
    return is_pointwise || is_reduction_of_run(s, n) ? with_shared(s, n) : NULL;
}

/* What n becomes where it is an element that is made of what its run shares; else NULL. */
static struct node *element_form(struct sharer *s, const struct node *n) {
    if (s->at.number >= 0)
        return is_shared_access(s, n) && s->is_below[n->args[0]->id] ? s->shared[n->args[0]->id] : NULL;
    return s->is_computed[n->id] && n->kind != N_REDUCE && node_has_axis(n, s->at.place) ? s->shared[n->id] : NULL;
}

/* All that runs of s->at share in that form, and what read it otherwise left as it is. */
static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct sharer *s = state;
    s->map = map;
    struct node *same = map[old->id] = graph_add(out, n);
    s->shared[old->id] = shared_form(s, old);
    s->is_computed[old->id] = s->shared[old->id] && s->shared[old->id] != same;
    struct node *element = element_form(s, old);
    return element ? element : same;
}

/* ---- where it is done ---- */

/* Whether axis is a label of one factor of product c alone. */
static bool is_own_label(const struct node *c, int axis) {
    struct contraction x;
    return as_contraction(c, &x) && node_has_axis(c, axis) && node_has_axis(x.a, axis) != node_has_axis(x.b, axis);
}

/* Whether product c is part of a chain, which keeps no runs. */
static bool is_in_chain(const struct graph *g, const struct node *c) {
    for (int i = 0; i < g->n_nodes; i++) {
        struct chain_parts parts;
        const char *why_not;
        if (!chain_find(g, g->nodes[i], false, &parts, &why_not)) continue;
        bool is_part = g->nodes[i] == c;
        for (int k = 0; k < parts.n_inner; k++) is_part |= parts.inner[k] == c;
        if (is_part) return true;
    }
    return false;
}

/* Whether reduction n is made of a product that a chain computes: it keeps the rows. */
static bool reduces_chain(const struct graph *g, const struct node *n) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_read[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *x = g->nodes[i];
        if (!is_read[i]) continue;
        if (is_matrix_product(g, x)) {
            if (is_in_chain(g, x)) return true;
            continue;
        }
        for (int a = 0; a < x->n_args; a++) is_read[x->args[a]->id] = true;
    }
    return false;
}

/* Whether outputs that are elements of product c, at hand, have neighbours along the side of `axis` side by side, as n
 * has them: else they are written a stride apart. */
static bool lies_along(const struct epilogue *e, const struct node *c, int axis) {
    struct contraction x;
    as_contraction(c, &x);
    for (int i = 0; i < e->g->n_outputs; i++) {
        const struct param *p = &e->g->kernel->params[e->g->outputs[i].param];
        int last = p->n_axes - 1;
        while (last >= 0 && e->g->kernel->axes[p->axes[last]].extent == 1) last--;
        bool has_x = last >= 0 && node_has_axis(x.a, p->axes[last]),
             has_y = last >= 0 && node_has_axis(x.b, p->axes[last]);
        if (e->is_element[e->g->outputs[i].value->id] && has_x != has_y && has_x != node_has_axis(x.a, axis))
            return false;
    }
    return true;
}

/* Whether every value that runs share is an element of an epilogue, along the columns of all that may have a part in
 * it, and nothing reads the product otherwise. */
static bool is_in_epilogues(const struct graph *g) {
    struct epilogue e = epilogue_open(g);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i], *c;
        if (n->kind != N_SHARE || !e.readers[i]) continue;
        c = epilogue_host(&e, n);
        if (!c || e.is_late[i] || epilogue_is_read_whole(&e, c) || is_in_chain(g, c)) return false;
        if (g->kernel->fuse != FUSE_REQUIRE && !lies_along(&e, c, n->axis)) return false;
        for (int k = 0; k < g->n_nodes; k++) {
            const struct node *other = g->nodes[k];
            if (!e.readers[k] || !nodes_same_axes(other->axes, other->n_axes, n->axes, n->n_axes)) continue;
            if ((other->kind == N_SHARE && other->axis != n->axis) ||
                (is_matrix_product(g, other) && !is_own_label(other, n->axis)))
                return false;
        }
    }
    return true;
}

static bool has_reader_of_own(const struct sharer *s, const int *readers) {
    for (int i = 0; i < s->g->n_nodes; i++)
        if (s->is_computed[i] && s->is_below[i] && is_reduction_of_run(s, s->g->nodes[i]) &&
            s->map[i] != s->shared[i] && readers[s->map[i]->id])
            return true;
    return false;
}

/* The graph with runs `at` shared, or NULL where something else reads what they have in common,
 * or the product whole. */
static struct graph *try_runs(const struct graph *g, struct runs at, const bool *is_below) {
    struct arena *a = &g->cx->arena;
    struct sharer s = {.g = g, .out = graph_like(g), .at = at, .shared = NEW_ARRAY(a, struct node *, g->n_nodes + 1),
                       .is_computed = NEW_ARRAY(a, bool, g->n_nodes + 1), .is_below = is_below};
    graph_rewrite(g, s.out, rewrite, &s);
    if (has_reader_of_own(&s, count_readers(s.out))) return NULL;
    struct graph *next = pass_dce(pass_cse(s.out));
    for (int i = 0; i < next->n_nodes; i++)
        if (next->nodes[i]->kind == N_SHARE) return is_in_epilogues(next) ? next : NULL;
    return NULL;
}

/* Runs that reduction n may be of: its label, or the one whose parts f reads. */
static bool find_runs(const struct graph *g, const struct node *n, const bool *is_below, int skip, struct runs *at) {
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || n->n_reduced != 1 || !is_below[n->id] ||
        is_matrix_product(g, n))
        return false;
    int64_t extent = g->kernel->axes[n->reduced[0]].extent;
    if (extent < 2 || extent > PARTIAL_RUN || (extent & (extent - 1)) != 0) return false;
    *at = (struct runs){.whole = n->reduced[0], .run = (int)extent, .number = -1, .place = n->reduced[0]};
    if (skip == 0) return true;
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    is_read[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *x = g->nodes[i];
        if (!is_read[i]) continue;
        if (x->kind == N_ACCESS && x->n_at == 1 && !x->has_fill && is_below[x->args[0]->id] &&
            as_run(g, x->args[1], at) && at->place == n->reduced[0])
            return at->whole = x->at[0], true;
        for (int a = 0; a < x->n_args; a++) is_read[x->args[a]->id] = true;
    }
    return false;
}

static bool *find_below(const struct graph *g) {
    bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        is_below[i] = is_matrix_product(g, g->nodes[i]);
        for (int a = 0; a < g->nodes[i]->n_args; a++) is_below[i] |= is_below[g->nodes[i]->args[a]->id];
    }
    return is_below;
}

/* The graph with the first runs shared that may be; NULL: there are none. */
static struct graph *share_first(const struct graph *g) {
    const bool *is_below = find_below(g);
    for (int i = 0; i < g->n_nodes; i++)
        for (int way = 0; way < 2; way++) {
            struct runs at;
            const bool may = find_runs(g, g->nodes[i], is_below, way, &at) && !reduces_chain(g, g->nodes[i]);
            struct graph *next = may ? try_runs(g, at, is_below) : NULL;
            if (next) return next;
        }
    return NULL;
}

struct graph *pass_share(const struct graph *g) {
    enum { MOST_RUNS = 4 };
    struct graph *out = (struct graph *)g;
    if (g->kernel->fuse == FUSE_NEVER) return out;
    for (int i = 0; i < MOST_RUNS; i++) {
        struct graph *next = share_first(out);
        if (!next) break;
        out = next;
    }
    return out;
}
