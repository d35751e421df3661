/* The analysis of a row program, for its price and its text.
 *
 * In: a group of rows with its steps. Out: its labels (row_labels.c); for every node the number of passes over the row
 * before it; the values that are computed once per row; the tensors that a pass holds in registers. Invariant: the
 * operands of a node are available where it is computed: at its level, as an element, a row's value, or a result of
 * scans in the same pass. */
#include <math.h>

#include "schedule/row_program.h"

#include "graph/shift.h"

/* Whether t lies along the vectors of x: all of `along` as its last labels. */
static bool lies_along(const struct row_program *x, const struct tensor *t) {
    int at = find_run(t, &x->along);
    return at >= 0 && at + x->along.n == t->n_axes;
}

bool row_lies_whole(const struct row_program *x, const struct tensor *t) {
    int at = 0;
    for (int i = 0; i < x->rows.n + x->cols.n; i++) {
        const int axis = i < x->rows.n ? x->rows.axes[i] : x->cols.axes[i - x->rows.n];
        if (at >= t->n_axes || t->axes[at++] != axis) return false;
    }
    return at == t->n_axes && !t->is_strided;
}

bool row_stores_vectors(const struct graph *g, const struct partition *p, const struct row_program *x,
    const struct group *r, const struct store *s) {
    struct tensor t = tensor_of_store(g, p, s);
    bool is_apart = s->value->kind == N_PLACE && x->is_along_rows; /* rows beside each other have their own positions */
    return row_stores_elements(g, p, r, s) && lies_along(x, &t) && !is_apart;
}

/* ---- what is read at positions ---- */

/* Whether n has no labels but those of rows and columns. */
static bool is_in_space(const struct group *r, const struct node *n) {
    for (int a = 0; a < n->n_axes; a++)
        if (!axes_have(r->axes, r->n_axes, n->axes[a]) && !axes_have(r->reduced, r->n_reduced, n->axes[a]))
            return false;
    return true;
}

/* Whether n may be computed wherever a row and a column are known, of what lies in memory alone. */
static bool is_position(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, const struct node *n, int depth) {
    enum { DEEP = 12 };
    struct tensor t;
    if (node_has_any(n, x->along.axes, x->along.n) || !is_in_space(r, n) || depth > DEEP) return false;
    if (node_is_loaded(g, p, r, n, &t)) return true;
    const bool is_open = n->kind == N_OP || n->kind == N_CAST || n->kind == N_ACCESS;
    if (!is_open) return n->kind == N_CONST || n->kind == N_SCALAR || n->kind == N_SIZE || n->kind == N_INDEX;
    if (n->kind == N_ACCESS && !node_is_loaded(g, p, r, n->args[0], &t)) return false;
    for (int a = n->kind == N_ACCESS; a < n->n_args; a++)
        if (!is_position(g, p, r, x, n->args[a], depth + 1)) return false;
    return true;
}

/* Marks the accesses whose adjacent elements lie along the vectors, at positions that they share; what stands for those
 * outside is 0, as all of its bits are. */
static void find_gathered(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x) {
    for (int i = 0; i < g->n_nodes && x->along.n && !x->is_along_rows; i++) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        if (n->kind != N_ACCESS || node_is_loaded(g, p, r, n, &t) || !node_is_loaded(g, p, r, n->args[0], &t) ||
            t.is_strided || t.is_split || !lies_along(x, &t) || !is_in_space(r, n))
            continue;
        bool fits = !n->has_fill || (node_is_number(n->args[1 + n->n_at], 0) && !signbit(n->args[1 + n->n_at]->num));
        for (int k = 0; k < n->n_at; k++)
            fits &= find_label(&x->along, n->at[k]) < 0 && is_position(g, p, r, x, n->args[1 + k], 0);
        x->is_gathered[i] = fits;
    }
}

/* The tensor that a vector holds of node n, and the access that reads it, or NULL. */
static bool is_held(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, struct node *n, struct tensor *t, struct node **at) {
    *at = x->is_gathered[n->id] ? n : NULL;
    return node_is_loaded(g, p, r, *at ? n->args[0] : n, t) && lies_along(x, t);
}

/* ---- levels ---- */

static void find_levels(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        x->is_in_space[i] = is_in_space(r, n);
        x->is_element[i] = node_has_any(n, r->reduced, r->n_reduced);
        if (node_is_loaded(g, p, r, n, &t)) continue;
        for (int a = 0; a < n->n_args; a++)
            if (x->level[n->args[a]->id] > x->level[i]) x->level[i] = x->level[n->args[a]->id];
        if (!is_row_step(r, n)) continue;
        if (n->kind == N_REDUCE && ++x->level[i] > x->n_passes) x->n_passes = x->level[i];
    }
}

/* The same for a whole row. */
static bool is_of_row(const struct group *r, const struct node *n) {
    for (int a = 0; a < n->n_axes; a++)
        if (!axes_have(r->axes, r->n_axes, n->axes[a])) return false;
    return true;
}

/* Marks what pass `pass` reads; has_terms: the terms of its running sums, too. */
static void mark_pass(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, int pass, bool has_terms, bool *needed) {
    struct tensor t;
    for (int s = 0; s < r->n_steps; s++) {
        const struct node *n = r->steps[s];
        if (n->kind == N_REDUCE && x->level[n->id] == pass + 1) needed[n->args[0]->id] = true;
    }
    for (int s = 0; pass == x->n_passes && s < r->n_stores; s++)
        if (row_stores_elements(g, p, r, &r->stores[s])) needed[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!needed[i] || is_of_row(r, n) || x->is_gathered[i] || node_is_loaded(g, p, r, n, &t))
            continue; /* a row's value comes from before the pass */
        if (n->kind == N_SCAN && !(has_terms && is_row_step(r, n)))
            continue; /* else a loop of the thread, which reads other elements */
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) needed[n->args[a]->id] = true;
    }
}

/* By node: a value that is the same for a whole row, no reduction of it, and read by its elements. */
static bool *find_row_values(const struct graph *g, const struct group *r, const struct row_program *x) {
    bool *is_row_value = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (!is_of_row(r, n) || is_row_step(r, n) || n->kind == N_CONST || n->kind == N_SCALAR || n->kind == N_SIZE)
            continue;
        for (int w = 0; w <= x->n_passes; w++) is_row_value[i] |= x->passes[w].reads[i];
    }
    return is_row_value;
}

/* Which pass reads what, what ends in it, what is computed ahead of it. */
static void find_passes(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x) {
    struct arena *a = &g->cx->arena;
    x->passes = NEW_ARRAY(a, struct row_pass, x->n_passes + 1);
    for (int w = 0; w <= x->n_passes; w++) {
        x->passes[w].reads = NEW_ARRAY(a, bool, g->n_nodes + 1);
        x->passes[w].elements = NEW_ARRAY(a, bool, g->n_nodes + 1);
        mark_pass(g, p, r, x, w, true, x->passes[w].reads);
        mark_pass(g, p, r, x, w, false, x->passes[w].elements);
    }
    for (int s = 0; s < r->n_steps; s++) {
        struct node *n = r->steps[s];
        int over = x->level[n->id]; /* of a reduction the passes it takes, at least 1 */
        if (n->kind == N_SCAN) PUSH(a, x->scans, x->n_scans) = n;
        else if (over > 0) PUSH(a, x->passes[over - 1].ends, x->passes[over - 1].n_ends) = n;
    }
    bool *is_row_value = find_row_values(g, r, x);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node *n = g->nodes[i];
        struct row_pass *next = &x->passes[x->level[i]];
        if (is_row_value[i]) PUSH(a, next->values, next->n_values) = n;
        if (is_row_value[i] || (n->kind == N_REDUCE && is_row_step(r, n))) PUSH(a, x->known, x->n_known) = n;
        for (int w = 0; w <= x->n_passes; w++) /* a quotient of elements */
            if (x->passes[w].elements[i] && x->is_element[i] && node_is_op(n, O_DIV) && n->dtype == FX_F32) {
                const struct node *d = n->args[1];
                x->divides[d->id] |= is_row_value[d->id] || (d->kind == N_REDUCE && is_row_step(r, d));
            }
    }
}

/* ---- passes that join ---- */

/* Whether e = exp(x - c), c being the maximum of x that pass `pass` ends in, or what stands for it where it is not
 * finite. */
static bool as_shifted(const struct row_program *x, struct node *e, int pass, struct row_shift *out) {
    if ((!node_is_op(e, O_EXP) && !node_is_op(e, O_EXP2)) || !node_is_op(e->args[0], O_SUB)) return false;
    const struct node *d = e->args[0];
    for (int i = 0; i < x->passes[pass].n_ends; i++) {
        struct node *m = x->passes[pass].ends[i];
        if (m->reduction != RED_MAX || m->dtype != FX_F32 || m->args[0] != d->args[0] ||
            !shift_is_made_of(d->args[1], m, 0) || !shift_is_like(d->args[1], m, -0x1.fffffep127, 0x1.fffffep127))
            continue;
        *out = (struct row_shift){e, d->args[1], m};
        return true;
    }
    return false;
}

/* Whether n is how many elements a row has. */
static bool is_size_of_row(const struct graph *g, const struct group *r, const struct node *n) {
    int axes[MAX_AXES], n_axes = 0;
    if (n->kind == N_CONST) {
        double size = 1;
        for (int i = 0; i < r->n_reduced; i++) size *= (double)g->kernel->axes[r->reduced[i]].extent;
        return size > 0 && n->num == (double)(float)size;
    }
    for (n = n->kind == N_CAST ? n->args[0] : n; node_is_op(n, O_MUL); n = n->args[0]) {
        if (n->args[1]->kind != N_SIZE || n_axes == MAX_AXES) return false;
        axes[n_axes++] = n->args[1]->axis;
    }
    if (n->kind != N_SIZE || n_axes == MAX_AXES) return false;
    axes[n_axes++] = n->axis;
    return nodes_same_axes(axes, n_axes, r->reduced, r->n_reduced);
}

/* Whether e = (x - c) ** 2, c being the mean of x, of whose sum pass `pass` ends. */
static bool as_distance(const struct graph *g, const struct group *r, const struct row_program *x, const struct node *e,
    int pass, struct row_shift *out) {
    const struct node *d = e->args[0], *c = node_is_op(d, O_SUB) ? d->args[1] : NULL;
    if (!node_is_op(e, O_MUL) || e->args[1] != d || !c) return false;
    for (int i = 0; i < x->passes[pass].n_ends; i++) {
        struct node *s = x->passes[pass].ends[i];
        if (s->reduction != RED_SUM || s->dtype != FX_F32 || s->args[0] != d->args[0]) continue;
        bool is_mean = node_is_op(c, O_DIV) && c->args[0] == s && is_size_of_row(g, r, c->args[1]);
        for (int side = 0; side < 2 && node_is_op(c, O_MUL); side++) { /* by a power of two */
            const struct node *k = c->args[1 - side];
            const struct node inverse = {.kind = N_CONST, .num = k->kind == N_CONST && k->num > 0 ? 1 / k->num : 0};
            is_mean |= c->args[side] == s && is_size_of_row(g, r, &inverse);
        }
        if (!is_mean) continue;
        *out = (struct row_shift){NULL, (struct node *)c, s};
        return true;
    }
    return false;
}

/* Finds the exponential among the factors of summand n, all others being known before pass `pass` ends. */
static bool find_shifted(const struct row_program *x, struct node *n, int pass, int depth, struct row_shift *out) {
    if (depth > 8 || n->kind != N_OP || n->dtype != FX_F32) return false;
    if (as_shifted(x, n, pass, out)) return true;
    if (n->op == O_MUL)
        for (int side = 0; side < 2; side++)
            if (x->level[n->args[1 - side]->id] <= pass && find_shifted(x, n->args[side], pass, depth + 1, out))
                return true;
    if (n->op != O_WHERE || x->level[n->args[0]->id] > pass) return false;
    for (int side = 1; side < 3; side++)
        if (node_is_number(n->args[3 - side], 0) && find_shifted(x, n->args[side], pass, depth + 1, out)) return true;
    return false;
}

/* Whether pass `pass` + 1 adds up exponentials and distances alone, which pass `pass` shifts, and nothing but their
 * shifts is made in between. */
static bool may_join(const struct graph *g, const struct group *r, const struct row_program *x, int pass) {
    struct row_pass *next = &x->passes[pass + 1];
    next->shifts = NEW_ARRAY(&g->cx->arena, struct row_shift, next->n_ends + 1);
    for (int i = 0; i < next->n_ends; i++) {
        struct node *of = next->ends[i]->args[0];
        if (next->ends[i]->reduction != RED_SUM || next->ends[i]->dtype != FX_F32 || of->kind != N_OP ||
            (!find_shifted(x, of, pass, 0, &next->shifts[i]) && !as_distance(g, r, x, of, pass, &next->shifts[i])))
            return false;
    }
    for (int i = 0; i < next->n_values; i++) {
        bool is_shift = x->divides[next->values[i]->id];
        if (is_shift) return false;
        for (int k = 0; k < next->n_ends; k++) is_shift |= next->values[i] == next->shifts[k].shift;
        if (!is_shift) return false;
    }
    for (int i = 0; i < x->passes[pass].n_ends; i++)
        if (x->divides[x->passes[pass].ends[i]->id]) return false;
    return next->n_ends > 0;
}

static void find_joins(const struct graph *g, const struct group *r, struct row_program *x) {
    for (int w = 0; w + 1 < x->n_passes && !x->n_scans && !x->run; w++) {
        x->passes[w].joins = !(w && x->passes[w - 1].joins) && may_join(g, r, x, w);
        if (!x->passes[w].joins) x->passes[w + 1].shifts = NULL;
    }
}

int row_read_passes(const struct row_program *x) {
    int n = x->n_passes;
    for (int w = 0; w < x->n_passes; w++) n -= x->passes[w].joins;
    return n;
}

/* ---- what stays in registers ---- */

struct held { /* what vectors hold: of each tensor the access that reads it, or NULL */
    struct tensor *tensors;
    struct node **at;
    int n;
};

static bool holds(const struct held *l, const struct tensor *t, const struct node *at) {
    for (int k = 0; k < l->n; k++)
        if (l->at[k] == at && (at || (l->tensors[k].param == t->param && l->tensors[k].buffer == t->buffer)))
            return true;
    return false;
}

static void add_tensors(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, const bool *needed, struct held *list, const struct held *but) {
    for (int i = 0; i < g->n_nodes; i++) {
        struct tensor t;
        struct node *at;
        if (!needed[i] || !x->is_element[i] || !is_held(g, p, r, x, g->nodes[i], &t, &at)) continue;
        bool is_known = holds(list, &t, at) || (but && holds(but, &t, at));
        for (int a = 0; a < t.n_axes && !at; a++)
            is_known |= !axes_have(r->axes, r->n_axes, t.axes[a]) && !axes_have(r->reduced, r->n_reduced, t.axes[a]);
        if (is_known) continue;
        list->at[list->n] = at;
        list->tensors[list->n++] = t;
    }
}

static bool is_costly(const struct node *n) {
    if (n->kind == N_ACCESS || n->kind == N_REDUCE) return true;
    if (n->kind != N_OP) return false;
    enum op_rule rule = op_info[n->op].rule;
    return rule == RULE_FLOAT || rule == RULE_INTEGER || rule == RULE_BITS;
}

/* Marks what reads a scan of this group, which every pass takes anew, and what takes long to compute,
 * from operands up. */
static void mark_costly(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, bool *costly, bool *scanned) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        if (!x->is_element[i] || x->is_gathered[i] || node_is_loaded(g, p, r, n, &t)) continue;
        scanned[i] = n->kind == N_SCAN;
        costly[i] = is_costly(n);
        for (int a = 0; a < n->n_args; a++) costly[i] |= costly[n->args[a]->id], scanned[i] |= scanned[n->args[a]->id];
    }
}

/* Of what later passes read again, the costly values on the border to what they compute first. */
static void choose_kept(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x) {
    struct arena *a = &g->cx->arena;
    bool *costly = NEW_ARRAY(a, bool, g->n_nodes + 1), *scanned = NEW_ARRAY(a, bool, g->n_nodes + 1);
    int *first = NEW_ARRAY(a, int, g->n_nodes + 1); /* pass that computes a node */
    int *last = NEW_ARRAY(
        a, int, g->n_nodes + 1); /* pass in which something computed there for the first time reads it */
    mark_costly(g, p, r, x, costly, scanned);
    for (int i = 0; i < g->n_nodes; i++) first[i] = last[i] = -1;
    for (int w = x->n_passes; w >= 0; w--) {
        for (int i = 0; i < g->n_nodes; i++)
            if (x->passes[w].elements[i]) first[i] = w;
    }
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; g->nodes[i]->kind != N_SCAN && k < g->nodes[i]->n_args;
             k++) /* running sums compute their terms anew */
            if (first[i] > last[g->nodes[i]->args[k]->id]) last[g->nodes[i]->args[k]->id] = first[i];
    for (int s = 0; s < r->n_steps; s++) {
        int from = r->steps[s]->args[0]->id, pass = x->level[r->steps[s]->id] - 1;
        if (r->steps[s]->kind == N_REDUCE && pass > last[from]) last[from] = pass;
    }
    for (int s = 0; s < r->n_stores; s++)
        if (row_stores_elements(g, p, r, &r->stores[s])) last[store_element(g, r, &r->stores[s])->id] = x->n_passes;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (first[i] < 0 || last[i] <= first[i] || !x->is_element[i] || !costly[i] || scanned[i] ||
            x->n_kept == MAX_KEPT)
            continue;
        if (!x->is_in_space[i] || (n->kind != N_OP && n->kind != N_CAST && n->kind != N_ACCESS && n->kind != N_REDUCE))
            continue;
        x->kept[x->n_kept] = g->nodes[i];
        x->kept_in[x->n_kept++] = first[i];
    }
}

static int sum_words(const struct row_pass *pass) {
    int words = 0;
    for (int i = 0; i < pass->n_ends; i++) {
        enum reduction r = pass->ends[i]->reduction;
        words += r == RED_ARGMAX || r == RED_ARGMIN ? 4 : 2; /* with padding */
    }
    return words;
}

int row_scan_words(const struct node *n) {
    return (n->reduction == RED_RECUR ? 2 : 1) * fx_dtype_bits(n->dtype == FX_BOOL ? FX_I32 : n->dtype) / 32;
}

/* What a running sum has to begin with is added up ahead of the first pass that reads it. */
static void list_stages(struct arena *a, struct row_program *x) {
    bool *is_known = NEW_ARRAY(a, bool, x->n_scans + 1);
    x->part_words = x->pass_words; /* passes of parts are launches, and join no others */
    for (int w = 0; w <= x->n_passes; w++) {
        for (int i = 0; i < x->n_scans; i++) {
            if (is_known[i] || !x->passes[w].reads[x->scans[i]->id]) continue;
            is_known[i] = true;
            PUSH(a, x->stages, x->n_stages) = (struct row_stage){w, i};
        }
        PUSH(a, x->stages, x->n_stages) = (struct row_stage){w, -1};
    }
    for (int i = 0; i < x->n_scans; i++)
        if (row_scan_words(x->scans[i]) > x->part_words) x->part_words = row_scan_words(x->scans[i]);
    x->part_words += x->part_words % 2;
}

bool row_stage_reads(const struct row_program *x, const struct row_stage *s) {
    return s->pass < x->n_passes || s->scan >= 0 || x->stores_elements;
}

int row_reading_stages(const struct row_program *x) {
    int n = 0;
    for (int i = 0; i < x->n_stages; i++) n += row_stage_reads(x, &x->stages[i]);
    return n;
}

void row_parts(struct terms *t, const struct kernel *k, const struct scheduled *s) {
    terms_constant(t, s->parts);
    terms_constant(t, s->part_blocks);
    terms_size(t, k, s->row->rows.axes, s->row->rows.n);
    terms_constant(t, s->part_rows);
    terms_op(t, FX_T_CDIV);
    terms_constant(t, 1);
    terms_op(t, FX_T_MAX);
    terms_op(t, FX_T_DIV);
    terms_constant(t, 1);
    terms_op(t, FX_T_MAX);
    terms_op(t, FX_T_MIN);
}

/* Whether elements read something that is not held as vectors. */
static bool reads_apart(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, const bool *reads) {
    for (int i = 0; i < g->n_nodes; i++) {
        struct tensor t;
        const struct held held = {x->held, x->held_at, x->n_held};
        if (!reads[i] || !x->is_element[i] || !node_is_loaded(g, p, r, g->nodes[i], &t)) continue;
        if (!holds(&held, &t, NULL)) return true;
    }
    return false;
}

struct row_program *row_analyse(const struct graph *g, const struct partition *p, const struct group *r) {
    struct arena *a = &g->cx->arena;
    struct row_program *x = NEW(a, struct row_program);
    x->level = NEW_ARRAY(a, int, g->n_nodes + 1);
    x->is_element = NEW_ARRAY(a, bool, g->n_nodes + 1);
    x->is_in_space = NEW_ARRAY(a, bool, g->n_nodes + 1);
    x->divides = NEW_ARRAY(a, bool, g->n_nodes + 1);
    struct held held = {NEW_ARRAY(a, struct tensor, g->n_nodes + 1), NEW_ARRAY(a, struct node *, g->n_nodes + 1), 0};
    struct held tail = {NEW_ARRAY(a, struct tensor, g->n_nodes + 1), NEW_ARRAY(a, struct node *, g->n_nodes + 1), 0};
    x->is_gathered = NEW_ARRAY(a, bool, g->n_nodes + 1);
    row_choose_labels(g, p, r, x);
    find_gathered(g, p, r, x);
    find_levels(g, p, r, x);
    find_passes(g, p, r, x);
    find_joins(g, r, x);
    const bool *last = x->passes[x->n_passes].reads;
    bool *scanned = NEW_ARRAY(a, bool, g->n_nodes + 1);
    for (int w = 0; w <= x->n_passes; w++) {
        if (w < x->n_passes) add_tensors(g, p, r, x, x->passes[w].reads, &held, NULL);
        int words = sum_words(&x->passes[w]);
        if (words > x->pass_words) x->pass_words = words;
        if (x->passes[w].joins) words += sum_words(&x->passes[w + 1]) + 2; /* and how many elements */
        if (words > x->sum_words) x->sum_words = words;
    }
    for (int i = g->n_nodes - 1; i >= 0; i--) { /* what scans of the last pass read */
        const struct node *n = g->nodes[i];
        struct tensor t;
        scanned[i] |= last[i] && n->kind == N_SCAN && is_row_step(r, n);
        for (int k = n->kind == N_ACCESS;
             scanned[i] && x->is_element[i] && !x->is_gathered[i] && !node_is_loaded(g, p, r, n, &t) && k < n->n_args;
             k++)
            scanned[n->args[k]->id] = true;
    }
    add_tensors(g, p, r, x, scanned, &held, NULL);
    add_tensors(g, p, r, x, last, &tail, &held);
    x->held = held.tensors, x->held_at = held.at, x->n_held = held.n;
    x->tail = tail.tensors, x->tail_at = tail.at, x->n_tail = tail.n;
    for (int w = 0; w < x->n_passes; w++) x->passes[w].reads_apart = reads_apart(g, p, r, x, x->passes[w].reads);
    for (int i = 0; i < g->n_nodes; i++) {
        struct tensor t;
        x->reads_apart |=
            last[i] && x->is_element[i] && node_is_loaded(g, p, r, g->nodes[i], &t) && !lies_along(x, &t);
    }
    choose_kept(g, p, r, x);
    for (int s = 0; s < r->n_stores; s++) {
        if (row_stores_elements(g, p, r, &r->stores[s])) x->stores_elements = true;
        else x->stores_results = true;
    }
    list_stages(a, x);
    return x;
}
