/* For passes that change what epilogues do: the part of a graph that the epilogue of a matrix product can compute, and
 * the other readers of the product.
 *
 * In: a graph. Out: for a given product, the nodes that are elements of its epilogue, and whether everything computed
 * from it is such an element or reduces such elements. */
#include "passes/epilogue.h"

#include "graph/shift.h"
#include "passes/build.h"

struct epilogue epilogue_open(const struct graph *g) {
    struct arena *a = &g->cx->arena;
    return (struct epilogue){g, count_readers(g), NEW_ARRAY(a, bool, g->n_nodes + 1),
        NEW_ARRAY(a, bool, g->n_nodes + 1), NEW_ARRAY(a, bool, g->n_nodes + 1)};
}

/* What reads a stored value reads memory, once the product's kernel is over. */
static bool is_pointwise(const struct node *n) {
    return n->kind == N_OP || (n->kind == N_CAST && !node_is_stored(n)) || n->kind == N_SHARE;
}

void epilogue_at(struct epilogue *e, const struct node *c) {
    for (int i = 0; i < e->g->n_nodes; i++) {
        const struct node *n = e->g->nodes[i];
        bool reads_element = n == c;
        e->depends[i] = n == c;
        e->is_late[i] = false;
        for (int a = 0; a < n->n_args; a++) {
            int from = n->args[a]->id;
            e->depends[i] |= e->depends[from];
            e->is_late[i] |= e->is_element[from] ? e->is_late[from] : e->depends[from];
            reads_element |= is_pointwise(n) && e->is_element[from];
        }
        e->is_element[i] = reads_element && nodes_same_axes(n->axes, n->n_axes, c->axes, c->n_axes);
    }
}

/* Adds the labels of a that b lacks, more than one element long, to `axes`; true if they are one, which n reduces, or
 * any number of which it reduces none. */
static bool split_side(const struct graph *g, const struct node *c, const struct node *a, const struct node *b,
    const struct node *n, int *labels, int *n_labels) {
    int n_own = 0, n_reduced = 0, last = -1;
    for (int i = 0; i < a->n_axes; i++) {
        int axis = a->axes[i];
        if (!node_has_axis(c, axis) || node_has_axis(b, axis) || g->kernel->axes[axis].extent == 1) continue;
        n_own++;
        last = axis;
        n_reduced += set_has(n->reduced, n->n_reduced, axis);
    }
    if (n_reduced) labels[(*n_labels)++] = last;
    return n_reduced == 0 || (n_own == 1 && n_reduced == 1);
}

/* Whether n reduces elements of product c, at hand, in a way that its epilogue can begin: along which
 * labels, ascending. */
bool epilogue_reduces(
    const struct epilogue *e, const struct node *c, const struct node *n, int *labels, int *n_labels) {
    struct contraction x;
    *n_labels = 0;
    if (n->kind != N_REDUCE || n->reduction > RED_MIN || is_matrix_product(e->g, n)) return false;
    const struct node *f = n->args[0];
    if (!e->is_element[f->id] || e->is_late[f->id] || c->n_axes + 2 > MAX_AXES || !as_tiles(e->g, c, &x)) return false;
    if (!split_side(e->g, c, x.a, x.b, n, labels, n_labels) || !split_side(e->g, c, x.b, x.a, n, labels, n_labels))
        return false;
    if (*n_labels == 2 && labels[0] > labels[1]) {
        int first = labels[0];
        labels[0] = labels[1], labels[1] = first;
    }
    return *n_labels > 0;
}

/* Whether n is one factor times another on the way into a mainloop, and nothing else. */
static bool is_product_of_factors(const struct epilogue *e, const struct node *n) {
    int n_mainloops = 0;
    for (int i = n->id + 1; i < e->g->n_nodes; i++)
        if (e->readers[i] && e->g->nodes[i]->n_args == 1 && e->g->nodes[i]->args[0] == n)
            n_mainloops += is_matrix_product(e->g, e->g->nodes[i]);
    return n_mainloops > 0 && n_mainloops == e->readers[n->id];
}

/* Whether product c, at hand, is needed whole by what neither is an element of its epilogue nor reduces
 * such. */
bool epilogue_is_read_whole(const struct epilogue *e, const struct node *c) {
    int labels[MAX_AXES], n_labels;
    for (int i = c->id + 1; i < e->g->n_nodes; i++) {
        const struct node *n = e->g->nodes[i];
        bool reads = false;
        for (int a = 0; a < n->n_args; a++) reads |= e->is_element[n->args[a]->id];
        if (!e->readers[i] || !reads) continue;
        if (e->is_element[i] ? e->is_late[i]
                             : !epilogue_reduces(e, c, n, labels, &n_labels) && !is_product_of_factors(e, n))
            return true;
    }
    for (int i = 0; i < e->g->n_outputs; i++) {
        const struct output *o = &e->g->outputs[i];
        if (e->is_element[o->value->id] && e->g->kernel->params[o->param].n_axes != c->n_axes) return true;
    }
    return false;
}

/* ---- late reductions, places ---- */

/* Whether n is nothing but what elements of rows of the product at hand are before any of them is reduced. */
static bool is_early(const struct epilogue *e, const struct node *n) {
    return e->is_element[n->id] ? !e->is_late[n->id] : !e->depends[n->id];
}

/* The maximum of f over what n reduces, where s is made of it and like it where it is finite; else NULL. */
static const struct node *maximum_below(
    const struct epilogue *e, const struct node *f, const struct node *s, const struct node *n) {
    for (int i = 0; i < e->g->n_nodes; i++) {
        const struct node *m = e->g->nodes[i];
        if (m->kind == N_REDUCE && m->reduction == RED_MAX && m->dtype == FX_F32 && m->args[0] == f &&
            nodes_same_axes(m->reduced, m->n_reduced, n->reduced, n->n_reduced) && shift_is_made_of(s, m, 0) &&
            shift_is_like(s, m, -0x1.fffffep127, 0x1.fffffep127))
            return m;
    }
    return NULL;
}

/* Finds the exponential among the factors of summand f of sum n, the others being early; marks what is late of it. */
static bool find_exponential(
    const struct epilogue *e, const struct node *n, const struct node *f, int depth, struct late *x, bool *is_covered) {
    if (depth > 8 || f->kind != N_OP || f->dtype != FX_F32 || !e->is_element[f->id]) return false;
    is_covered[f->id] = true;
    if (f->op == O_EXP && node_is_op(f->args[0], O_SUB)) {
        const struct node *d = f->args[0];
        if (!e->is_element[d->args[0]->id] || !is_early(e, d->args[0]) ||
            !maximum_below(e, d->args[0], d->args[1], n))
            return false;
        is_covered[d->id] = true;
        x->of = d->args[0], x->exponential = f, x->shift = d->args[1];
        return true;
    }
    if (f->op == O_MUL)
        for (int side = 0; side < 2; side++)
            if (is_early(e, f->args[1 - side]) && find_exponential(e, n, f->args[side], depth + 1, x, is_covered))
                return true;
    if (f->op != O_WHERE || !is_early(e, f->args[0])) return false;
    for (int side = 1; side < 3; side++)
        if (node_is_number(f->args[3 - side], 0) && find_exponential(e, n, f->args[side], depth + 1, x, is_covered))
            return true;
    return false;
}

/* Whether n is begun so, of elements of product c. */
static bool begins_late(
    const struct epilogue *e, const struct node *c, const struct node *n, struct late *x, bool *is_covered) {
    struct node whole = {.kind = N_REDUCE, .reduction = RED_MAX, .n_reduced = 1};
    int labels[MAX_AXES], n_labels;
    *x = (struct late){0};
    if (n->kind == N_REDUCE && n->n_reduced == 1) {
        x->label = n->reduced[0];
        if (n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN) x->of = n->args[0];
        else if (n->reduction != RED_SUM || !find_exponential(e, n, n->args[0], 0, x, is_covered)) return false;
    } else if (n->kind == N_ACCESS && n->n_at == 1 && fx_is_integer(n->args[1]->dtype) &&
               n->args[1]->dtype != FX_U64 && n->n_axes == n->args[0]->n_axes - 1) {
        const struct node *fill = n->args[2];
        x->label = n->at[0];
        x->of = n->args[0];
        if (node_has_axis(n, x->label) || e->depends[n->args[1]->id] || (n->has_fill && e->depends[fill->id]))
            return false;
    } else {
        return false;
    }
    whole.reduced[0] = x->label;
    whole.args[0] = (struct node *)x->of;
    whole.n_args = 1;
    return x->of->dtype == FX_F32 && e->is_element[x->of->id] && is_early(e, x->of) &&
           epilogue_reduces(e, c, &whole, labels, &n_labels) && n_labels == 1;
}

bool epilogue_follows(const struct epilogue *e, const struct node *c, struct late *late) {
    const struct graph *g = e->g;
    bool *is_covered = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), is_any = false;
    int labels[MAX_AXES], n_labels, label = -1;
    for (int i = c->id + 1; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        bool reads = false;
        late[i].of = NULL;
        for (int a = 0; a < n->n_args; a++) reads |= e->is_element[n->args[a]->id];
        if (!e->readers[i] || !reads || e->is_element[i] || epilogue_reduces(e, c, n, labels, &n_labels) ||
            is_product_of_factors(e, n))
            continue;
        if (!begins_late(e, c, n, &late[i], is_covered) || (label >= 0 && late[i].label != label)) return false;
        label = late[i].label;
        is_any |= n->kind == N_REDUCE;
    }
    for (int i = c->id + 1; i < g->n_nodes; i++) { /* late elements are read by such sums alone */
        const struct node *n = g->nodes[i];
        for (int a = 0; e->readers[i] && a < n->n_args; a++) {
            const int from = n->args[a]->id;
            if (e->is_element[from] && e->is_late[from] && !is_covered[i] && (!late[i].exponential || !late[i].of))
                return false;
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const struct output *o = &g->outputs[i];
        if (e->is_element[o->value->id] &&
            (e->is_late[o->value->id] || g->kernel->params[o->param].n_axes != c->n_axes))
            return false;
    }
    return is_any;
}

/* The last product that f is an element of, seen from which nothing else that it reads comes later. */
struct node *epilogue_host(struct epilogue *e, const struct node *f) {
    struct contraction x;
    for (int i = f->id; i >= 0; i--) {
        struct node *c = e->g->nodes[i];
        if (!as_tiles(e->g, c, &x) || !nodes_same_axes(c->axes, c->n_axes, f->axes, f->n_axes)) continue;
        epilogue_at(e, c);
        if (e->is_element[f->id]) return c;
    }
    return NULL;
}
