/* The labels of a row program, flattened, and the direction of its vectors.
 *
 * In: a group of rows. Out: labels of rows and of columns in the order of the tensor of which most is read, those along
 * which vectors lie, and how many elements of rows lie side by side. Where a tensor is read at positions that a vector
 * shares, the program goes along its elements. */
#include "schedule/row_program.h"

enum { MAX_BESIDE = 64 }; /* elements of a row */

/* The access of which most is read, where that is more than `bytes`, of those along whose last label elements lie
 * adjacent at positions that they share, and the tensor it reads; else NULL. */
static const struct node *most_gathered(const struct graph *g, const struct partition *p, const struct group *r,
    double bytes, struct tensor *of) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    const struct node *most = NULL;
    for (int s = 0; s < r->n_steps; s++) is_read[r->steps[s]->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        struct tensor t;
        if (!is_read[i] || node_is_loaded(g, p, r, n, &t)) continue;
        for (int a = 0; a < n->n_args; a++) is_read[n->args[a]->id] = true;
        if (n->kind != N_ACCESS || !node_is_loaded(g, p, r, n->args[0], &t) || !t.n_axes || t.is_strided) continue;
        int last = t.axes[t.n_axes - 1];
        double read = nominal_size(g, n->axes, n->n_axes) * tensor_bits(&t) / 8;
        bool is_shared = !axes_have(n->at, n->n_at, last);
        for (int k = 1; k <= n->n_at && axes_have(r->reduced, r->n_reduced, last); k++)
            is_shared &= !node_has_axis(n->args[k], last);
        if (read <= bytes || !is_shared || !node_has_axis(n, last)) continue;
        most = n, *of = t, bytes = read;
    }
    return most;
}

static int last_label(const struct tensor *t) { return t->axes[t->n_axes - 1]; }

/* What access n makes of t, as if it lay so: other labels that are reduced, those of rows, then those along which its
 * elements are adjacent. */
static struct tensor gathered_tensor(const struct group *r, const struct node *n, const struct tensor *t) {
    struct tensor out = {.param = -1, .buffer = -1, .dtype = t->dtype};
    int first = t->n_axes;
    while (first > 0 && !axes_have(n->at, n->n_at, t->axes[first - 1]) &&
           axes_have(r->reduced, r->n_reduced, t->axes[first - 1]))
        first--;
    for (int of_rows = 0; of_rows < 2; of_rows++)
        for (int i = 0; i < n->n_axes; i++)
            if (axes_have(r->axes, r->n_axes, n->axes[i]) == of_rows &&
                !axes_have(t->axes + first, t->n_axes - first, n->axes[i]))
                out.axes[out.n_axes++] = n->axes[i];
    for (int i = first; i < t->n_axes; i++) out.axes[out.n_axes++] = t->axes[i];
    return out;
}

/* Whether threads that have neighbours along the last label of u read whole pieces of u, where those along that of t
 * read them far from each other, and all of them the same of t: scores a[B,I] to which u[I,J] is added, over I. */
static bool is_better_along(const struct group *r, const struct tensor *u, const struct tensor *t) {
    return t->n_axes && !t->is_strided && !u->is_strided && tensor_axis(t, last_label(u)) < 0 &&
           tensor_axis(u, last_label(t)) >= 0 &&
           axes_have(r->reduced, r->n_reduced, last_label(t)) != axes_have(r->reduced, r->n_reduced, last_label(u));
}

/* The tensor of which most is read, among those whose labels are the space's, of those that end in a reduced label if
 * `along`, unless another is better along its own; where more is gathered along a label of rows, what is stored along
 * it, and along a reduced one, what is gathered; else what is stored over most labels. */
static struct tensor main_tensor(
    const struct graph *g, const struct partition *p, const struct group *r, bool along) {
    struct tensor *loads = NEW_ARRAY(&g->cx->arena, struct tensor, g->n_nodes + 1), best = {.param = -1, .buffer = -1};
    int n = group_loads(g, p, r, loads, g->n_nodes);
    double most = -1;
    bool *is_row_element = NEW_ARRAY(&g->cx->arena, bool, n + 1);
    for (int i = 0; i < n; i++) {
        bool fits = true, is_element = false;
        for (int a = 0; a < loads[i].n_axes; a++) {
            bool reduced = axes_have(r->reduced, r->n_reduced, loads[i].axes[a]);
            fits &= reduced || axes_have(r->axes, r->n_axes, loads[i].axes[a]);
            is_element |= reduced;
        }
        is_row_element[i] = fits && is_element;
        fits &= !along || axes_have(r->reduced, r->n_reduced, last_label(&loads[i]));
        if (!fits || !is_element || tensor_bytes(g, &loads[i]) <= most) continue;
        best = loads[i];
        most = tensor_bytes(g, &best);
    }
    for (int i = 0; !along && i < n; i++)
        if (is_row_element[i] && is_better_along(r, &loads[i], &best)) {
            best = loads[i];
            break; /* that of another one again would turn in a circle */
        }
    struct tensor source;
    const struct node *gathered = along ? NULL : most_gathered(g, p, r, most, &source);
    if (gathered && axes_have(r->reduced, r->n_reduced, last_label(&source)))
        return gathered_tensor(r, gathered, &source);
    for (int s = 0; gathered && s < r->n_stores; s++) {
        struct tensor t = tensor_of_store(g, p, &r->stores[s]);
        if (t.n_axes && last_label(&t) == last_label(&source)) return t;
    }
    for (int s = 0; most < 0 && s < r->n_stores; s++) {
        struct tensor t = tensor_of_store(g, p, &r->stores[s]);
        if (t.n_axes > best.n_axes || s == 0) best = t;
    }
    return best;
}

/* The labels of a set that have more than one element: those t lacks, then t's in storage order. */
static struct axis_list flatten(const struct graph *g, const int *axes, int n_axes, const struct tensor *t) {
    struct axis_list l = {0};
    for (int i = 0; i < n_axes; i++)
        if (tensor_axis(t, axes[i]) < 0 && g->kernel->axes[axes[i]].extent != 1) l.axes[l.n++] = axes[i];
    for (int i = 0; i < t->n_axes; i++)
        if (axes_have(axes, n_axes, t->axes[i])) l.axes[l.n++] = t->axes[i];
    return l;
}

/* Rows with the label of which runs are taken last, and runs. */
static void choose_runs(struct row_program *x, const struct partial_of *side) {
    int n = 0;
    for (int i = 0; i < x->rows.n; i++)
        if (x->rows.axes[i] != side->label[0]) x->rows.axes[n++] = x->rows.axes[i];
    x->rows.axes[n] = side->label[0];
    x->rows.n = n + 1;
    x->runs = x->rows;
    x->runs.axes[n] = x->run_label = side->run[0];
    x->run = side->size;
}

void row_choose_labels(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x) {
    struct partial_of side = {.n = 0};
    for (int s = 0; s < r->n_stores && !side.n; s++)
        if (!is_partial_store(g, r, &r->stores[s], &side)) side.n = 0;
    struct tensor t = main_tensor(g, p, r, side.n > 0);
    x->rows = flatten(g, r->axes, r->n_axes, &t);
    x->cols = flatten(g, r->reduced, r->n_reduced, &t);
    /* runs of rows are added up column by column, also where nothing lies along a row */
    x->is_along_rows = !side.n && t.n_axes && axes_have(r->axes, r->n_axes, t.axes[t.n_axes - 1]);
    if (side.n) choose_runs(x, &side);
    const struct axis_list *l = x->is_along_rows ? &x->rows : &x->cols;
    int first = t.n_axes, least = t.is_strided && t.n_axes ? t.n_axes - 1 : 0; /* strided labels do not merge */
    while (first > least && axes_have(l->axes, l->n, t.axes[first - 1])) first--;
    for (int i = first; i < t.n_axes; i++) x->along.axes[x->along.n++] = t.axes[i];
    if (t.param < 0 && t.buffer < 0) return; /* of what is gathered any row may lie behind one */
    if (x->is_along_rows || first < 1 || x->rows.n < 1 || x->rows.axes[x->rows.n - 1] != t.axes[first - 1]) return;
    int64_t size = 1;
    for (int i = 0; i < x->along.n; i++) {
        const int64_t e = g->kernel->axes[x->along.axes[i]].extent;
        size = e < 0 || size < 0 || size * e > MAX_BESIDE ? -1 : size * e;
    }
    x->beside = size > 0 ? (int)size : 0;
}
