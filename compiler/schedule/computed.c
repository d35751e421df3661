/* The reads of a computed operand: its leaves, each in its memory layout, and the values that are the same for a whole
 * chunk.
 *
 * In: the operand, with its layout, and its place in a segment. Out: struct computed. A chunk is up to COMPUTED_CHUNK
 * adjacent elements of a flattened run of labels, along k or along m or n, and begins at a multiple of its length. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "graph/operand.h"
#include "schedule/computed.h"

int operand_leaves(const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o,
    struct node **leaves, int max) {
    bool *needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int n = 0;
    needed[o->value->id] = true;
    for (int i = o->value->id; i >= 0; i--) {
        struct node *at = g->nodes[i];
        struct tensor t;
        if (!needed[i]) continue;
        bool is_leaf = node_is_loaded(g, p, r, at, &t) || at->kind == N_INPUT || at->kind == N_ACCESS ||
                       at->kind == N_REDUCE || at->kind == N_SCAN || at->kind == N_SHARE;
        if (is_leaf && n < max) leaves[n++] = at;
        for (int a = 0; !is_leaf && a < at->n_args; a++) needed[at->args[a]->id] = true;
    }
    return n;
}

/* Whether every label of the run stands in t, adjacent and last. */
static bool ends_with(const struct tensor *t, const struct axis_list *run) {
    int at = find_run(t, run);
    return at >= 0 && at + run->n == t->n_axes;
}

int computed_adjacent(const struct leaf *f, const struct axis_list *along) {
    const struct node *n = f->node;
    const struct tensor *t = &f->tensor;
    int count = 1; /* of the last label, elements lie so wherever it is a piece */
    if (t->is_strided) return count;
    while (count < along->n && count < t->n_axes) {
        const int axis = along->axes[along->n - 1 - count];
        bool is_next = t->axes[t->n_axes - 1 - count] == axis;
        for (int i = 0; n->kind == N_ACCESS && i < n->n_at; i++)
            is_next &= n->at[i] != axis && !node_has_axis(n->args[1 + i], axis);
        if (!is_next) break;
        count++;
    }
    return count;
}

static bool is_zero(const struct node *n) {
    return n->kind == N_CONST && n->num == 0 && !signbit(n->num) && n->integer == 0;
}

/* How leaf n lies along the chunks, which run along `along`; in which tensor, unless it is LEAF_MANY. */
static enum leaf_kind kind_in_memory(const struct graph *g, const struct partition *p, const struct group *r,
    const struct node *n, const struct axis_list *along, struct tensor *t) {
    const struct node *source = n->kind == N_ACCESS ? n->args[0] : n;
    int last = along->n ? along->axes[along->n - 1] : -1;
    if (!node_is_loaded(g, p, r, source, t) || !t->n_axes || t->axes[t->n_axes - 1] != last) return LEAF_MANY;
    if (n->kind != N_ACCESS) return !t->is_strided && ends_with(t, along) ? LEAF_HELD : LEAF_PIECE;
    if (n->has_fill && !is_zero(n->args[1 + n->n_at])) return LEAF_MANY;
    for (int i = 0; i < n->n_at; i++)
        if (n->at[i] == last || node_has_axis(n->args[1 + i], last)) return LEAF_MANY;
    return LEAF_PIECE;
}

/* n_outside of a run. *rest: the extents behind, as far as they are known. */
static int labels_outside(const struct graph *g, const struct axis_list *run, int64_t *rest) {
    *rest = 1;
    for (int i = run->n - 1; i > 0; i--) {
        const int64_t extent = g->kernel->axes[run->axes[i]].extent;
        if (extent < 0 || extent > INT_MAX) continue;
        *rest = *rest * extent <= INT_MAX ? *rest * extent : *rest;
        if (*rest % COMPUTED_CHUNK == 0) return *rest > 0 ? i : 0;
    }
    return 0;
}

/* Which nodes are the same for a whole chunk: they lack its labels, or have only the first ones, behind which whole
 * chunks lie, or the quotient of its index by a multiple of its length. */
static void find_uniform(const struct graph *g, const struct operand *o, struct computed *m) {
    struct axis_list inside = {.n = m->along->n - m->n_outside};
    memcpy(inside.axes, m->along->axes + m->n_outside, (size_t)inside.n * sizeof *inside.axes);
    const struct axis_list *l = &inside;
    for (int i = 0; i <= o->value->id; i++) {
        const struct node *n = g->nodes[i];
        bool has = false, of_uniform = n->n_args > 0 && (n->kind == N_OP || n->kind == N_CAST || n->kind == N_ACCESS);
        for (int j = 0; j < l->n; j++) has |= node_has_axis(n, l->axes[j]);
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) of_uniform &= m->is_uniform[n->args[a]->id];
        for (int j = 0; n->kind == N_ACCESS && j < n->args[0]->n_axes; j++) {
            bool is_at = false;
            for (int k = 0; k < n->n_at; k++) is_at |= n->at[k] == n->args[0]->axes[j];
            for (int k = 0; k < l->n && !is_at; k++) of_uniform &= l->axes[k] != n->args[0]->axes[j];
        }
        bool is_quotient = n->kind == N_OP && n->op == O_FLOORDIV && l->n == 1 && n->args[0]->kind == N_INDEX &&
                           n->args[0]->axis == l->axes[0] && n->args[1]->kind == N_CONST && n->args[1]->integer > 0 &&
                           n->args[1]->integer % COMPUTED_CHUNK == 0;
        m->is_uniform[i] = !has || of_uniform || is_quotient;
    }
}

static bool lacks(const struct node *n, const struct axis_list *l) {
    for (int i = 0; i < l->n; i++)
        if (node_has_axis(n, l->axes[i])) return false;
    return true;
}

static bool is_one_word(const struct graph *g, const struct node *n, const struct axis_list *along) {
    const struct param *p = n->kind == N_INPUT ? &g->kernel->params[n->param] : NULL;
    return p && p->packed.factor && p->packed.factor % COMPUTED_CHUNK == 0 && along->n == 1 &&
           p->axes[p->packed.axis] == along->axes[0];
}

/* Where all values are the same for all k: the nodes that raw has of them, each as far as it follows from them alone,
 * so that this is computed once a tile. Not where those were more than what is read. */
static void hoist_fixed(const struct graph *g, const struct operand *o, const struct segment *e, struct computed *m) {
    struct arena *a = &g->cx->arena;
    bool *is_computed = NEW_ARRAY(a, bool, g->n_nodes + 1), *is_needed = NEW_ARRAY(a, bool, g->n_nodes + 1);
    struct leaf *leaves = NEW_ARRAY(a, struct leaf, 2 * m->n_leaves + 1);
    int n = 0, n_ones = 0, n_fixed = 0;
    for (int i = 0; i < m->n_leaves; i++) {
        if (m->leaves[i].kind != LEAF_ONE) leaves[n++] = m->leaves[i];
        else is_computed[m->leaves[i].node->id] = true, n_ones++;
    }
    for (int i = 0; i <= o->value->id; i++) {
        const struct node *at = g->nodes[i];
        bool is_pointwise = at->kind == N_OP || at->kind == N_CAST,
             is_fixed = m->is_uniform[i] && lacks(at, &e->k) && lacks(at, &e->k_outer);
        for (int j = 0; is_pointwise && is_fixed && j < at->n_args; j++) is_computed[i] |= is_computed[at->args[j]->id];
    }
    is_needed[o->value->id] = true;
    for (int i = o->value->id; i >= 0; i--) {
        struct node *at = g->nodes[i];
        bool is_leaf = is_computed[i];
        for (int j = 0; j < m->n_leaves; j++) is_leaf |= m->leaves[j].node == at;
        if (is_needed[i] && is_computed[i] && n_fixed++ < n_ones)
            leaves[n++] = (struct leaf){.node = at, .kind = LEAF_ONE};
        for (int j = 0; is_needed[i] && !is_leaf && j < at->n_args; j++) is_needed[at->args[j]->id] = true;
    }
    if (n_fixed <= n_ones) m->leaves = leaves, m->n_leaves = n;
}

struct computed computed_open(const struct graph *g, const struct partition *p, const struct group *r,
    const struct operand *o, const struct segment *e, const struct axis_list *mn) {
    struct arena *a = &g->cx->arena;
    bool is_k = o->layout == LAYOUT_K_MAJOR;
    const struct axis_list *across = is_k ? mn : &e->k;
    struct node **nodes = NEW_ARRAY(a, struct node *, g->n_nodes + 1);
    struct computed m = {.along = is_k ? &e->k : mn, .is_uniform = NEW_ARRAY(a, bool, g->n_nodes + 1)};
    int64_t rest;
    m.n_outside = labels_outside(g, m.along, &rest);
    find_uniform(g, o, &m);
    m.n_leaves = operand_leaves(g, p, r, o, nodes, g->n_nodes);
    m.leaves = NEW_ARRAY(a, struct leaf, m.n_leaves + 1);
    for (int i = 0; i < m.n_leaves; i++) {
        struct leaf *f = &m.leaves[i];
        f->node = nodes[i];
        if (m.is_uniform[f->node->id]) f->kind = LEAF_ONE;
        else if (is_one_word(g, f->node, m.along)) f->kind = LEAF_WORD;
        else f->kind = kind_in_memory(g, p, r, f->node, m.along, &f->tensor);
        if (f->kind == LEAF_HELD && lacks(f->node, across) && (is_k || lacks(f->node, &e->k_outer)))
            f->kind = LEAF_SHARED;
    }
    if (computed_is_fixed(&m, e)) hoist_fixed(g, o, e, &m);
    return m;
}

int computed_most_chunk(const struct graph *g, const struct operand *o, const struct computed *m, int most) {
    int64_t rest;
    labels_outside(g, m->along, &rest);
    for (int i = 0; i <= o->value->id; i++) {
        const struct node *n = g->nodes[i];
        bool is_along = false;
        for (int j = 0; j < m->n_outside && m->is_uniform[i]; j++)
            while (node_has_axis(n, m->along->axes[j]) && most > COMPUTED_CHUNK && rest % most) most /= 2;
        for (int j = 0; j < m->along->n; j++) is_along |= node_has_axis(n, m->along->axes[j]);
        if (!is_along || !m->is_uniform[i] || n->kind != N_OP || n->op != O_FLOORDIV) continue;
        while (most > COMPUTED_CHUNK && n->args[1]->integer % most) most /= 2;
    }
    for (int i = 0; i < m->n_leaves; i++)
        if (m->leaves[i].kind == LEAF_WORD && g->kernel->params[m->leaves[i].node->param].is_strided)
            return COMPUTED_CHUNK < most ? COMPUTED_CHUNK : most; /* words need not be adjacent */
    return most;
}

bool computed_is_fixed(const struct computed *m, const struct segment *e) {
    for (int i = 0; i < m->n_leaves; i++) {
        const struct leaf *f = &m->leaves[i];
        if (f->kind == LEAF_WORD || f->kind == LEAF_MANY) return false;
        if (f->kind == LEAF_ONE && !(lacks(f->node, &e->k) && lacks(f->node, &e->k_outer))) return false;
    }
    return true;
}

int computed_staged_bytes(const struct computed *m, const struct segment *e, int n_mn, int bk, int chunk, int turns) {
    int held = 0, context = 0, n_values = 0, widest = 4, chunks = n_mn * bk / chunk;
    for (int i = 0; i < m->n_leaves; i++) {
        const struct leaf *f = &m->leaves[i];
        int bytes = chunk * fx_dtype_bits(f->tensor.dtype) / 8;
        if (f->kind == LEAF_HELD || f->kind == LEAF_PIECE) held += bytes;
        if (f->kind == LEAF_SHARED && m->along == &e->k) context += bytes;
        n_values += f->kind == LEAF_ONE;
        if (f->kind == LEAF_ONE && fx_dtype_bits(f->node->dtype) == 64) widest = 8;
    }
    return turns * (chunks * held + bk / chunk * context) + (computed_is_fixed(m, e) ? chunks * n_values * widest : 0);
}

struct node *computed_stored(const struct operand *o, enum fx_dtype t) {
    struct node *n = o->value;
    return n->kind == N_CAST && n->to == t && fx_is_float(n->args[0]->dtype) ? n->args[0] : n;
}

struct interval computed_interval(const struct graph *g, const struct node *n) {
    static const struct interval any = {-INFINITY, INFINITY};
    if (n->kind == N_CONST) return fx_is_integer(n->dtype) ? (struct interval){n->integer, n->integer} : any;
    if (n->kind == N_ACCESS && !n->has_fill) return computed_interval(g, n->args[0]);
    if (n->kind != N_INPUT) return any;
    enum fx_dtype t = g->kernel->params[n->param].dtype;
    int bits = fx_dtype_bits(t);
    if (!fx_is_integer(t) || bits > 8) return any;
    return fx_dtype_class_of(t) == FX_CLASS_S ? (struct interval){-ldexp(1, bits - 1), ldexp(1, bits - 1) - 1}
                                              : (struct interval){0, ldexp(1, bits) - 1};
}

/* Whether the uniform value n is one of type t, 0 where what it reads is. */
static bool is_held_exactly(const struct graph *g, const struct computed *m, const struct node *n, enum fx_dtype t) {
    const struct node *source = n->kind == N_ACCESS && !n->has_fill ? n->args[0] : n;
    bool is_cast = n->kind == N_CAST && n->to == t,
         is_stored = source->kind == N_INPUT && g->kernel->params[source->param].dtype == t;
    for (int i = 0; (is_cast || is_stored) && i < m->n_leaves; i++) {
        const struct leaf *f = &m->leaves[i];
        if (f->kind == LEAF_ONE && (f->node == n || (is_cast && f->node == n->args[0]))) return true;
    }
    return false;
}

/* Whether n is such an integer, computed so of leaves and of the nodes before it; *out: what it may be. */
static bool find_small(const struct graph *g, const struct computed *m, const struct node *n, const enum halves *of,
    const struct interval *in, enum fx_dtype t, struct interval *out) {
    for (int i = 0; i < m->n_leaves; i++) {
        const struct leaf *f = &m->leaves[i];
        const struct param *x = n->kind == N_INPUT ? &g->kernel->params[n->param] : NULL;
        if (f->node != n) continue;
        *out = computed_interval(g, n);
        if (f->kind == LEAF_WORD) return x && fx_dtype_bits(x->dtype) == 4 && fx_dtype_bits(x->packed.storage) == 32;
        return f->kind == LEAF_HELD && x && fx_dtype_bits(f->tensor.dtype) == 8 && fx_is_integer(f->tensor.dtype);
    }
    if (n->kind == N_CAST) {
        *out = in[n->args[0]->id];
        return of[n->args[0]->id] == HALVES_SMALL &&
               (n->to == t || n->to == FX_F32 || n->to == FX_I32 || n->to == FX_I64);
    }
    if (n->kind != N_OP || (n->op != O_ADD && n->op != O_SUB) || !fx_is_integer(n->dtype)) return false;
    struct interval x[2];
    bool is_small = false, is_uniform = false;
    for (int i = 0; i < 2; i++) {
        const enum halves kind = of[n->args[i]->id];
        x[i] = kind == HALVES_SMALL ? in[n->args[i]->id] : computed_interval(g, n->args[i]);
        is_small |= kind == HALVES_SMALL, is_uniform |= kind == HALVES_UNIFORM;
    }
    *out = n->op == O_ADD ? (struct interval){x[0].lo + x[1].lo, x[0].hi + x[1].hi}
                          : (struct interval){x[0].lo - x[1].hi, x[0].hi - x[1].lo};
    return is_small && is_uniform;
}

const enum halves *computed_halves(
    const struct graph *g, const struct operand *o, const struct computed *m, enum fx_dtype t) {
    struct arena *a = &g->cx->arena;
    const double limit = t == FX_BF16 ? 0x1p8 : 0x1p11;
    struct node *last = computed_stored(o, t);
    enum halves *of = NEW_ARRAY(a, enum halves, g->n_nodes + 1);
    struct interval *in = NEW_ARRAY(a, struct interval, g->n_nodes + 1);
    if (fx_dtype_bits(t) != 16 || !fx_is_float(t)) return NULL;
    for (int i = 0; i <= last->id; i++) {
        const struct node *n = g->nodes[i];
        if (m->is_uniform[i]) of[i] = HALVES_UNIFORM;
        else if (find_small(g, m, n, of, in, t, &in[i]) && in[i].lo >= -limit && in[i].hi <= limit)
            of[i] = HALVES_SMALL;
        else if (n->kind == N_OP && n->op == O_MUL && n->dtype == FX_F32)
            for (int j = 0; j < 2; j++)
                if (of[n->args[j]->id] == HALVES_SMALL && is_held_exactly(g, m, n->args[1 - j], t) &&
                    m->is_uniform[n->args[1 - j]->id])
                    of[i] = HALVES_PRODUCT;
    }
    return of[last->id] == HALVES_SMALL || of[last->id] == HALVES_PRODUCT ? of : NULL;
}
