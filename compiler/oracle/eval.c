/* The oracle: the order of work. Input, output and the bound it derives: eval.h.
 *
 * The kernel falls into bodies: the tree from a stored value, the output or the terms of a reduction down to parameters
 * and stored values (eval_plan.c), evaluated a line of points at a time (eval_line.c). First the output's elements
 * mark, readers before operands, which elements of stored values are needed; then those are computed, operands first.
 * Invariant: every needed element of a stored value is computed exactly once. */
#include "oracle/eval_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines of points ---- */

struct points { /* what is left to visit of the elements of a layout, line by line */
    const struct oracle_layout *layout;
    const struct oracle_store *set;  /* only those in it, or NULL */
    const int64_t *elements;  /* only those listed, or NULL */
    int64_t next, end;        /* into the list, the elements or the sparse cells */
};

static struct points points_of(
    const struct oracle_layout *l, const struct oracle_store *set, const int64_t *elements, int64_t n) {
    return (struct points){l, set, elements, 0, set ? set->n_cells : n};
}

/* Moves to the next line; *element is its first, *n how many along the layout's last axis. */
static bool next_line(struct eval *ev, struct points *p, int64_t *element, int *n) {
    const struct oracle_store *set = p->set;
    const uint64_t *bits = set && set->is_dense ? set->bits : NULL;
    if (bits)
        while (p->next < p->end && !(bits[p->next >> 6] >> (p->next & 63) & 1))
            p->next = bits[p->next >> 6] >> (p->next & 63) ? p->next + 1 : (p->next | 63) + 1;
    if (set && !bits)
        while (p->next < p->end && set->keys[p->next] < 0) p->next++;
    if (p->next >= p->end) return false;
    *element = p->elements ? p->elements[p->next] : set && !bits ? set->keys[p->next] : p->next;
    *n = 1;
    layout_locate(p->layout, *element, ev->at);
    if (!p->elements && (!set || bits) && p->layout->n > 0) {
        int64_t left = p->layout->extents[p->layout->n - 1];
        left -= *element % left;
        if (left > p->end - p->next) left = p->end - p->next;
        while (*n < left && *n < LINE && (!bits || bits[(*element + *n) >> 6] >> ((*element + *n) & 63) & 1)) ++*n;
    }
    p->next += *n;
    return true;
}

static int last_axis(const struct oracle_layout *l) { return l->n > 0 ? l->axes[l->n - 1] : -1; }

/* ---- what is needed ---- */

/* Of a stored value: its elements at n points along an axis. */
static bool mark_elements(struct eval *ev, struct oracle_node *node, int axis, int n) {
    int64_t offset = layout_offset(&node->layout, ev->at), stride = layout_stride(&node->layout, axis);
    for (int i = 0; i < n; i++)
        if (store_add(&node->store, offset + i * stride) == ADDED_FAILED) return false;
    return true;
}

/* The element of an access's source at the i-th point, 0 along axes whose positions depend on data; -1 where a position
 * lies outside. */
static int64_t known_element(
    const struct eval *ev, const struct value *access, const struct oracle_line *lines, int axis, int i) {
    const struct oracle_node *node = &ev->nodes[access->id];
    const struct oracle_layout *l = &ev->nodes[access->args[0]->id].layout;
    int64_t element = 0;
    for (int j = 0; j < l->n; j++) {
        int64_t at = ev->at[l->axes[j]] + (l->axes[j] == axis ? i : 0);
        for (int p = 0; p < access->n_at; p++) {
            if (access->at[p] != l->axes[j]) continue;
            at = node->positions[p] < 0 ? 0 : lines[node->positions[p]].i[i];
        }
        if (at < 0 || at >= l->extents[j]) return -1;
        element += at * l->strides[j];
    }
    return element;
}

/* All of a source along the axes whose positions depend on data. */
static bool mark_along(struct eval *ev, const struct value *access, int64_t element) {
    struct oracle_node *source = &ev->nodes[access->args[0]->id];
    int64_t extents[MAX_AXES], strides[MAX_AXES], at[MAX_AXES] = {0};
    int n = 0;
    for (int p = 0; p < access->n_at; p++) {
        if (ev->nodes[access->id].positions[p] >= 0) continue;
        extents[n] = ev->extents[access->at[p]];
        strides[n++] = layout_stride(&source->layout, access->at[p]);
    }
    for (;;) {
        int i = n - 1;
        if (store_add(&source->store, element) == ADDED_FAILED) return false;
        for (; i >= 0 && ++at[i] == extents[i]; i--) {
            element -= (extents[i] - 1) * strides[i];
            at[i] = 0;
        }
        if (i < 0) return true;
        element += strides[i];
    }
}

/* Of an access: the elements of its source that n points along an axis may read; `seen` are those whose data-dependent
 * axes are marked. */
static bool mark_source(struct eval *ev, const struct value *access, struct oracle_store *seen, int axis, int n) {
    struct oracle_node *node = &ev->nodes[access->id], *source = &ev->nodes[access->args[0]->id];
    bool is_known = true;
    for (int p = 0; p < access->n_at; p++) is_known = is_known && node->positions[p] >= 0;
    if (node->where) eval_body(ev, node->where, axis, n, ev->scratch);
    for (int i = 0; i < n; i++) {
        int64_t element = known_element(ev, access, ev->scratch, axis, i);
        if (element < 0) continue;
        enum added added = store_add(is_known ? &source->store : seen, element);
        if (added == ADDED_FAILED || (!is_known && added == ADDED_NEW && !mark_along(ev, access, element)))
            return false;
    }
    return true;
}

struct marking { /* of what one value, stored or an access to a stored one, must provide */
    struct eval *ev;
    const struct value *value;
    bool is_access;
    int n_over;               /* axes that only reductions on the way there run over */
    int over[MAX_AXES];
    struct oracle_store seen;        /* its points whose `over` axes are gone through */
    struct oracle_store seen_source; /* see mark_source */
};

static bool mark_line(struct marking *m, int axis, int n) {
    if (m->is_access) return mark_source(m->ev, m->value, &m->seen_source, axis, n);
    return mark_elements(m->ev, &m->ev->nodes[m->value->id], axis, n);
}

/* At one point: along the axes run over, a line at a time. Points that agree on the others are gone through once. */
static bool mark_over(struct marking *m) {
    struct eval *ev = m->ev;
    int inner = m->over[m->n_over - 1];
    for (int j = 0; j < m->n_over; j++) ev->at[m->over[j]] = 0;
    enum added added = store_add(&m->seen, layout_offset(&ev->nodes[m->value->id].layout, ev->at));
    if (added != ADDED_NEW) return added == ADDED_BEFORE;
    do {
        for (int64_t start = 0; start < ev->extents[inner]; start += LINE) {
            ev->at[inner] = start;
            if (!mark_line(m, inner, ev->extents[inner] - start < LINE ? (int)(ev->extents[inner] - start) : LINE))
                return false;
        }
        ev->at[inner] = 0;
    } while (eval_advance(ev, m->over, m->n_over - 1));
    return true;
}

static bool mark_points(struct marking *m, struct points points) {
    struct eval *ev = m->ev;
    int axis = last_axis(points.layout), n;
    int64_t element;
    while (next_line(ev, &points, &element, &n)) {
        if (m->n_over == 0) {
            if (!mark_line(m, axis, n)) return false;
            continue;
        }
        for (int i = 0; i < n; i++) {
            if (axis >= 0) ev->at[axis] += i > 0;
            if (!mark_over(m)) return false;
        }
    }
    return true;
}

/* What the value must provide for the given points. */
static bool mark_value(struct eval *ev, int id, bool is_access, struct points points) {
    const struct value *v = ev->k->values[id];
    const struct oracle_layout *l = &ev->nodes[id].layout, *source = is_access ? &ev->nodes[v->args[0]->id].layout : l;
    struct marking m = {.ev = ev, .value = v, .is_access = is_access};
    for (int i = 0; i < l->n; i++)
        if (!layout_has(points.layout, l->axes[i])) m.over[m.n_over++] = l->axes[i];
    if (l->numel == 0 || source->numel == 0) return true;
    bool ok = store_init(&m.seen, m.n_over > 0 ? l->numel : 0) &&
              store_init(&m.seen_source, is_access ? source->numel : 0) && mark_points(&m, points);
    store_release(&m.seen);
    store_release(&m.seen_source);
    return ok;
}

static bool mark(struct eval *ev, const struct oracle_body *b, struct points points) {
    for (int i = 0; i < b->n_stored; i++)
        if (!mark_value(ev, b->stored[i], false, points)) return false;
    for (int i = 0; i < b->n_accesses; i++)
        if (!mark_value(ev, b->accesses[i], true, points)) return false;
    return true;
}

/* A running total needs all that comes before. Each element walks back to the first that was in the set already, which
 * walks or walked itself. */
static bool mark_before(struct eval *ev, const struct value *scan) {
    struct oracle_node *node = &ev->nodes[scan->id];
    struct oracle_store *s = &node->store;
    int64_t stride = layout_stride(&node->layout, scan->axis), extent = ev->extents[scan->axis],
            n = s->is_dense ? s->n_cells : s->n_used, done = 0;
    int64_t *elements = s->is_dense ? NULL : malloc((size_t)(n + 1) * sizeof *elements); /* the table grows meanwhile */
    bool ok = s->is_dense || elements;
    for (int64_t i = 0; ok && elements && i < s->n_cells; i++)
        if (s->keys[i] >= 0) elements[done++] = s->keys[i];
    for (int64_t i = 0; ok && i < n; i++) {
        int64_t element = elements ? elements[i] : i;
        if (!store_has(s, element)) continue;
        enum added added = ADDED_NEW;
        for (int64_t at = element / stride % extent; at > 0 && added == ADDED_NEW; at--)
            added = store_add(s, element -= stride);
        ok = added != ADDED_FAILED;
    }
    free(elements);
    return ok;
}

static bool mark_all(struct eval *ev, const int64_t *elements, int64_t n) {
    for (int id = 0; id < ev->k->n_values; id++)
        if (ev->nodes[id].is_stored && !store_init(&ev->nodes[id].store, ev->nodes[id].layout.numel)) return false;
    if (!mark(ev, ev->root, points_of(&ev->output, NULL, elements, n))) return false;
    for (int id = ev->k->n_values - 1; id >= 0; id--) {
        struct oracle_node *node = &ev->nodes[id];
        const struct value *v = ev->k->values[id];
        if (!node->is_stored) continue;
        if (v->kind == V_SCAN && !mark_before(ev, v)) return false;
        if (!mark(ev, v->kind == V_SCAN ? node->operand : node->own, points_of(&node->layout, &node->store, NULL, 0)))
            return false;
    }
    return true;
}

/* ---- computing it ---- */

/* A row of running totals from its first element on, as far as it is needed. */
static void compute_row(struct eval *ev, const struct value *scan, int64_t element) {
    struct oracle_node *node = &ev->nodes[scan->id];
    struct oracle_store *s = &node->store;
    bool is_recurrence = scan->reduction == RED_RECUR;
    struct total total = total_of_nothing(scan->reduction, scan->dtype, ev->kind);
    struct recurrence steps = recurrence_of_nothing(scan->dtype);
    const struct oracle_line *term = &ev->scratch[node->terms[0]], *factor = &ev->scratch[node->terms[1]];
    int64_t stride = layout_stride(&node->layout, scan->axis), extent = ev->extents[scan->axis];
    for (int64_t start = 0; start < extent && store_has(s, element); start += LINE) {
        int n = 0;
        while (n < LINE && start + n < extent && store_has(s, element + n * stride)) n++;
        ev->at[scan->axis] = start;
        eval_body(ev, node->operand, scan->axis, n, ev->scratch);
        for (int i = 0; i < n; i++, element += stride) {
            int64_t cell = store_cell(s, element);
            if (is_recurrence) recurrence_add(&steps, factor, term, i);
            else total_add(&total, term, i, i + 1);
            s->cells[cell] = is_recurrence ? recurrence_value(&steps) : total_value(&total);
            if (s->m) s->m[cell] = total.magnitude;
        }
        if (n < LINE) return;
    }
}

static void compute_scan(struct eval *ev, const struct value *scan, struct points points) {
    const struct oracle_layout *l = points.layout;
    int64_t element;
    int n;
    while (next_line(ev, &points, &element, &n))
        for (int i = 0; i < n; i++) {
            layout_locate(l, element + i, ev->at);
            if (ev->at[scan->axis] == 0) compute_row(ev, scan, element + i);
        }
}

static void compute_elements(struct eval *ev, struct oracle_node *node, struct points points) {
    struct oracle_store *s = &node->store;
    int64_t element;
    int n;
    while (next_line(ev, &points, &element, &n)) {
        eval_body(ev, node->own, last_axis(&node->layout), n, ev->scratch);
        const struct oracle_line *result = &ev->scratch[node->own->n_steps - 1];
        for (int i = 0; i < n; i++) {
            int64_t cell = store_cell(s, element + i);
            s->cells[cell] = (struct approx){.i = result->i[i], .e = result->e[i]};
            if (s->m) s->m[cell] = result->m[i];
        }
    }
}

static bool compute_stored(struct eval *ev, const struct value *v) {
    struct oracle_node *node = &ev->nodes[v->id];
    struct oracle_store *s = &node->store;
    struct points points = points_of(&node->layout, s, NULL, 0);
    ev->n_cells += s->n_cells;
    if (ev->n_cells > CELLS_MAX || !(s->cells = calloc((size_t)s->n_cells + 1, sizeof *s->cells))) return false;
    if (node->carries_m && !(s->m = calloc((size_t)s->n_cells + 1, sizeof *s->m))) return false;
    if (v->kind == V_SCAN) compute_scan(ev, v, points);
    else compute_elements(ev, node, points);
    return true;
}

struct answer { /* where the output's elements go */
    double *value, *bound; /* bound may be NULL */
    int64_t *integer;      /* likewise */
};

static void compute_output(
    struct eval *ev, enum fx_dtype t, const int64_t *elements, int64_t n, const struct answer *to) {
    struct points points = points_of(&ev->output, NULL, elements, n);
    int64_t element, done = 0;
    int n_line;
    for (; next_line(ev, &points, &element, &n_line); done += n_line) {
        eval_body(ev, ev->root, last_axis(&ev->output), n_line, ev->scratch);
        const struct oracle_line *result = &ev->scratch[ev->root->n_steps - 1];
        for (int i = 0; i < n_line; i++) {
            bool is_integer = fx_is_integer(t);
            to->value[done + i] = is_integer ? fx_integer_to_double(t, result->i[i]) : result->v[i];
            if (to->bound) to->bound[done + i] = result->e[i];
            if (to->integer && is_integer) to->integer[done + i] = result->i[i];
            if (to->integer && t == FX_BOOL) to->integer[done + i] = result->v[i] != 0;
        }
    }
}

/* Tensors of a size where that pays are converted once rather than at every reading. */
static void open_tensors(struct eval *ev, const struct oracle_input *inputs) {
    for (int id = 0; id < ev->k->n_values; id++) {
        const struct value *v = ev->k->values[id];
        if (!ev->nodes[id].is_read || (v->kind != V_LOAD && v->kind != V_SCALAR)) continue;
        struct oracle_tensor *t = &ev->tensors[v->param];
        if (t->data) continue;
        const struct param *p = &ev->k->params[v->param];
        t->dtype = inputs[v->param].dtype;
        if (p->packed.factor) {
            const struct oracle_layout *l = &ev->nodes[id].layout;
            *t = (struct oracle_tensor){.dtype = p->dtype,
                .packed = &p->packed,
                .extent = l->extents[p->packed.axis],
                .inner = l->strides[p->packed.axis]};
        }
        t->data = inputs[v->param].data;
        t->is_wide = v->dtype == FX_F32 && t->dtype == FX_F64;
        int64_t numel = v->kind == V_LOAD && !fx_is_integer(v->dtype) ? ev->nodes[id].layout.numel : 0;
        /* without the copy every reading converts: slower, not different */
        if (numel > 0 && numel <= COPY_MAX) t->copy = malloc((size_t)numel * sizeof *t->copy);
        for (int64_t i = 0; t->copy && i < numel; i++) t->copy[i] = fx_load_double(t->dtype, t->data, (size_t)i);
    }
}

static fx_status run(struct eval *ev, const struct oracle_input *inputs, enum fx_dtype t, const int64_t *elements,
    int64_t n, const struct answer *to) {
    ev->scratch = malloc((size_t)ev->n_lines * sizeof *ev->scratch);
    open_tensors(ev, inputs);
    if (!ev->scratch || !mark_all(ev, elements, n)) return FX_ERR_NOMEM;
    for (int id = 0; id < ev->k->n_values; id++)
        if (ev->nodes[id].is_stored && !compute_stored(ev, ev->k->values[id])) return FX_ERR_NOMEM;
    compute_output(ev, t, elements, n, to);
    return ev->is_broken ? FX_ERR_INTERNAL : FX_OK;
}

static void eval_release(struct eval *ev) {
    for (int i = 0; i < ev->k->n_values; i++) store_release(&ev->nodes[i].store);
    for (int i = 0; i < ev->k->n_params; i++) free(ev->tensors[i].copy);
    free(ev->scratch);
}

fx_status oracle_eval(struct arena *arena, const struct kernel *k, const int64_t *extents,
    const struct oracle_input *inputs, int output_param, const int64_t *elements, int64_t n, double *value,
    int64_t *integer, enum fx_bound kind, double *bound) {
    struct eval ev = {.arena = arena, .k = k, .extents = extents, .kind = kind};
    const struct answer to = {value, bound, integer};
    if (output_param < 0 || output_param >= k->n_params || !k->params[output_param].result || n < 0)
        return FX_ERR_USAGE;
    fx_status status = eval_plan(&ev, output_param);
    if (status != FX_OK) return status;
    if (!elements && n > ev.output.numel) return FX_ERR_USAGE;
    for (int64_t i = 0; elements && i < n; i++)
        if (elements[i] < 0 || elements[i] >= ev.output.numel) return FX_ERR_USAGE;
    status = run(&ev, inputs, k->params[output_param].result->dtype, elements, n, &to);
    eval_release(&ev);
    return status;
}
