/* Finds chains in the graph: contractions, pointwise work and reductions of rows over them, and a contraction that
 * reads the result.
 *
 * In: the last contraction. Out: the first contractions, the intermediate, the reductions of the intermediate's rows.
 */
#include "graph/chain.h"

#include <string.h>

/* ---- the parts ---- */

struct finder {
    const struct graph *g;
    struct chain_parts *c;
    bool *seen;   /* by node: visited, near or not */
    const char *why_not;
};

static bool is_step(const struct chain_parts *c, const struct node *n) {
    return n->kind == N_REDUCE && nodes_same_axes(n->reduced, n->n_reduced, c->t, c->n_t) &&
           n->reduction != RED_ARGMAX && n->reduction != RED_ARGMIN;
}

/* A factor of a contraction that reads it once for many elements: over the intermediate on one side,
 * over rows on the other. */
static bool is_first(const struct chain_parts *c, const struct node *n) {
    struct contraction f;
    if (!as_mainloop(n, &f) || !node_has_all(n, c->t, c->n_t)) return false;
    bool a = node_has_any(f.a, c->t, c->n_t), b = node_has_any(f.b, c->t, c->n_t);
    return a != b && node_has_all(a ? f.a : f.b, c->t, c->n_t);
}

static void fail(struct finder *f, const char *why) {
    if (!f->why_not) f->why_not = why;
}

static void add_inner(struct finder *f, struct node *n) {
    for (int i = 0; i < f->c->n_inner; i++)
        if (f->c->inner[i] == n) return;
    if (f->c->n_inner == MAX_SUMS - 1)
        fail(f, arena_printf(&f->g->cx->arena, "%s is made of more than %d contractions",
                    ir_quote(f->g, f->c->intermediate), MAX_SUMS - 1));
    else f->c->inner[f->c->n_inner++] = n;
}

static void add_read(struct finder *f, struct node *n) {
    for (int i = 0; i < f->c->n_reads; i++)
        if (f->c->reads[i] == n) return;
    PUSH(&f->g->cx->arena, f->c->reads, f->c->n_reads) = n;
}

/* Goes down from what the intermediate is made of, as far as it is computed element by element; is_far: at other
 * elements than those of the row. */
static void visit(struct finder *f, struct node *n, bool is_far) {
    struct arena *a = &f->g->cx->arena;
    if (f->why_not || f->seen[2 * n->id + is_far]) return;
    f->seen[2 * n->id + is_far] = true;
    if (n->kind == N_REDUCE || n->kind == N_SCAN) {
        if (!is_far && is_step(f->c, n)) {
            visit(f, n->args[0], false);
            PUSH(a, f->c->steps, f->c->n_steps) = n;
        } else if (!is_far && is_first(f->c, n)) {
            add_inner(f, n);
        } else {
            add_read(f, n);
        }
        return;
    }
    if (n->kind == N_SHARE)
        fail(f, arena_printf(a, "%s is reduced over parts of its rows", ir_quote(f->g, n->args[0])));
    if (n->dtype == FX_F64) fail(f, arena_printf(a, "%s is f64", ir_quote(f->g, n)));
    for (int i = 0; i < n->n_args; i++) visit(f, n->args[i], is_far || (n->kind == N_ACCESS && i == 0));
}

/* Whether n is computed from any of the marked nodes. */
static bool depends_on(const struct graph *g, const struct node *n, const bool *marked) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, n->id + 1);
    seen[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        if (!seen[i]) continue;
        if (marked[i]) return true;
        for (int k = 0; k < g->nodes[i]->n_args; k++) seen[g->nodes[i]->args[k]->id] = true;
    }
    return false;
}

static bool labels_fit(struct finder *f) {
    const struct chain_parts *c = f->c;
    const struct node *n = c->intermediate;
    for (int i = 0; i < n->n_axes; i++)
        if (!axes_have(c->rows, c->n_rows, n->axes[i]) && !axes_have(c->t, c->n_t, n->axes[i]))
            return fail(f, arena_printf(&f->g->cx->arena, "%s has axes that its rows lack", ir_quote(f->g, n))), false;
    for (int j = 0; j < c->n_inner; j++)
        for (int i = 0; i < c->inner[j]->n_axes; i++)
            if (!axes_have(c->rows, c->n_rows, c->inner[j]->axes[i]) && !axes_have(c->t, c->n_t, c->inner[j]->axes[i]))
                return fail(f, arena_printf(&f->g->cx->arena, "%s has axes that the contraction behind it lacks",
                                   ir_quote(f->g, c->inner[j]))),
                       false;
    for (int i = 0; i < c->n_steps; i++)
        for (int k = 0; k < c->steps[i]->n_axes; k++)
            if (!axes_have(c->rows, c->n_rows, c->steps[i]->axes[k]))
                return fail(f, arena_printf(
                                   &f->g->cx->arena, "%s has axes that the rows lack", ir_quote(f->g, c->steps[i]))),
                       false;
    return true;
}

bool chain_find(const struct graph *g, struct node *outer, bool anew, struct chain_parts *out, const char **why_not) {
    struct contraction f;
    if (!as_mainloop(outer, &f)) return *why_not = NULL, false;
    *why_not = NULL;
    bool is_leaf[2] = {f.a->kind == N_INPUT, f.b->kind == N_INPUT};
    for (int side = 0; side < 2; side++) { /* either factor may be the intermediate; the other is read from memory */
        struct node *intermediate = side ? f.b : f.a;
        if (is_leaf[side]) continue;
        *out = (struct chain_parts){
            .outer = outer, .intermediate = intermediate, .column = side ? f.a : f.b, .n_t = outer->n_reduced};
        memcpy(out->t, outer->reduced, sizeof outer->reduced);
        for (int i = 0; i < outer->n_axes; i++)
            if (node_has_axis(intermediate, outer->axes[i])) out->rows[out->n_rows++] = outer->axes[i];
        struct finder x = {.g = g, .c = out, .seen = NEW_ARRAY(&g->cx->arena, bool, 2 * g->n_nodes + 2)};
        visit(&x, intermediate, false);
        if (!out->n_inner) continue; /* nothing like a chain */
        if (!x.why_not) labels_fit(&x);
        bool *own = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
        for (int i = 0; i < out->n_inner; i++) own[out->inner[i]->id] = true;
        for (int i = 0; i < out->n_steps; i++) own[out->steps[i]->id] = true;
        for (int i = 0; !x.why_not && i < out->n_reads; i++)
            if (own[out->reads[i]->id]) /* the chain has one element of it at a time */
                fail(&x, arena_printf(&g->cx->arena, "%s is read at other elements too", ir_quote(g, out->reads[i])));
            else if (!anew && depends_on(g, out->reads[i], own))
                fail(&x, arena_printf(&g->cx->arena, "%s needs the whole of what stands between the contractions",
                             ir_quote(g, out->reads[i])));
        if (!x.why_not && depends_on(g, out->column, own))
            fail(&x, arena_printf(
                         &g->cx->arena, "%s is made of %s too", ir_quote(g, out->column), ir_quote(g, out->inner[0])));
        for (int i = 0; !x.why_not && i < out->n_inner; i++)
            if (depends_on(g, out->inner[i]->args[0], own))
                fail(&x, arena_printf(&g->cx->arena, "%s is made of what stands between the contractions",
                             ir_quote(g, out->inner[i])));
        if (!x.why_not) return true;
        *why_not = x.why_not;
    }
    return false;
}

bool chain_extend(const struct graph *g, struct chain_parts *c, struct node *n) {
    struct chain_parts more = *c;
    if (!is_step(c, n)) return false;
    more.n_steps = more.n_reads = 0;
    more.steps = more.reads = NULL;
    struct finder x = {.g = g, .c = &more, .seen = NEW_ARRAY(&g->cx->arena, bool, 2 * g->n_nodes + 2)};
    for (int i = 0; i < c->n_steps; i++) visit(&x, c->steps[i], false);
    int n_reads = more.n_reads;
    visit(&x, n, false);
    for (int i = 0; i < more.n_steps; i++)
        for (int k = 0; k < more.steps[i]->n_axes; k++)
            if (!axes_have(c->rows, c->n_rows, more.steps[i]->axes[k])) return false;
    if (x.why_not || more.n_reads != n_reads || more.n_inner != c->n_inner) return false;
    for (int i = 0; i < c->n_steps; i++) { /* all of them are below the intermediate or were added before */
        bool is_known = false;
        for (int k = 0; k < more.n_steps; k++) is_known |= more.steps[k] == c->steps[i];
        if (!is_known) return false;
    }
    c->steps = more.steps;
    c->n_steps = more.n_steps;
    return true;
}
