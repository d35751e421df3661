/* The same computation unfused: every operation of the source is a kernel that reads its operands and writes its result
 * once.
 *
 * In: a checked kernel. Out: the number of kernels and bytes. An operation is one expression of the spec: an operator,
 * `@`, a reduction, or a call of a function of the language such as softmax or a norm. For a fn of the spec, it is each
 * operation of its body. Results are stored in the dtype of the tensors they come from, as in eager frameworks; outputs
 * in their own. Renames, splits, halves and other reads at positions made of indices are views: they cost nothing, and
 * the reader of a view reads its elements. Numbers and indices cost nothing. */
#include "schedule/traffic.h"

struct volume { /* of tensors alike */
    int n_axes;
    int axes[MAX_AXES]; /* ascending */
    int64_t bits;       /* an element, of all of them together */
};

struct operations {
    struct arena *a;
    const struct kernel *k;
    int *class;      /* by value: the value that stands for the operation it belongs to */
    bool *is_live;   /* by value: some output is computed from it, other than as a position made of indices */
    bool *is_index;  /* by value: made of indices, extents, numbers and scalars alone */
    bool *is_view;   /* by value that stands for an operation: it only reads at positions made of indices */
    bool *is_read;   /* by value: another operation reads it, maybe through views */
    int *n_readers;  /* by value */
    int *first, *next; /* by value that stands for an operation, its last value; by value, the one before it in its
                          operation; -1: none */
    int n_volumes;
    struct volume *volumes;
};

static bool is_leaf(const struct value *v) {
    return v->kind == V_NUM || v->kind == V_SCALAR || v->kind == V_LOAD || v->kind == V_INDEX || v->kind == V_SIZE;
}

static int class_of(struct operations *o, int v) {
    while (o->class[v] != v) v = o->class[v] = o->class[o->class[v]];
    return v;
}

static bool same_span(struct span a, struct span b) { return a.start == b.start && a.len == b.len && a.file == b.file; }

static bool has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

/* Whether a is the product that v, a contraction, sums. */
static bool is_product_of(const struct value *v, const struct value *a) {
    if (v->kind != V_REDUCE || v->reduction != RED_SUM || a->kind != V_OP || a->op != O_MUL) return false;
    for (int i = 0; i < v->n_reduced; i++)
        if (!has_axis(a->args[0], v->reduced[i]) || !has_axis(a->args[1], v->reduced[i])) return false;
    return true;
}

static bool is_position(const struct value *v, int arg) {
    return (v->kind == V_ACCESS || v->kind == V_PLACE) && arg > 0 && arg <= v->n_at;
}

/* ---- which values are one operation ---- */

static void find_live(struct operations *o) {
    for (int i = 0; i < o->k->n_values; i++) {
        const struct value *v = o->k->values[i];
        o->class[i] = i;
        o->is_index[i] = v->kind != V_LOAD;
        for (int j = 0; j < v->n_args; j++) o->is_index[i] &= o->is_index[v->args[j]->id];
    }
    for (int i = 0; i < o->k->n_params; i++)
        if (o->k->params[i].is_output) o->is_live[param_stored(&o->k->params[i])->id] = true;
    for (int i = o->k->n_values - 1; i >= 0; i--) {
        const struct value *v = o->k->values[i];
        for (int j = 0; o->is_live[i] && j < v->n_args; j++) {
            if (is_position(v, j) && o->is_index[v->args[j]->id]) continue;
            o->is_live[v->args[j]->id] = true;
            o->n_readers[v->args[j]->id]++;
        }
    }
}

static void find_operations(struct operations *o) {
    for (int i = 0; i < o->k->n_values; i++) {
        const struct value *v = o->k->values[i];
        for (int j = 0; o->is_live[i] && j < v->n_args; j++) {
            const struct value *a = v->args[j];
            bool is_one = same_span(v->span, a->span) || (is_product_of(v, a) && o->n_readers[a->id] == 1);
            if (o->is_live[a->id] && !is_leaf(a) && is_one) o->class[class_of(o, a->id)] = class_of(o, i);
        }
    }
    for (int i = 0; i < o->k->n_values; i++) o->is_view[i] = true, o->first[i] = -1;
    for (int i = 0; i < o->k->n_values; i++) {
        const struct value *v = o->k->values[i];
        bool is_view = v->kind == V_ACCESS && !v->has_fill;
        for (int j = 1; is_view && j <= v->n_at; j++) is_view = o->is_index[v->args[j]->id];
        if (!o->is_live[i] || is_leaf(v)) continue;
        int class = class_of(o, i);
        o->is_view[class] &= is_view;
        o->next[i] = o->first[class];
        o->first[class] = i;
    }
}

/* ---- what they move ---- */

static void add(struct operations *o, const int *axes, int n_axes, int64_t bits) {
    struct volume new = {.n_axes = n_axes, .bits = bits};
    for (int i = 0; i < n_axes; i++) {
        int at = i;
        for (; at > 0 && new.axes[at - 1] > axes[i]; at--) new.axes[at] = new.axes[at - 1];
        new.axes[at] = axes[i];
    }
    for (int i = 0; i < o->n_volumes; i++)
        if (nodes_same_axes(o->volumes[i].axes, o->volumes[i].n_axes, new.axes, n_axes)) {
            o->volumes[i].bits += bits;
            return;
        }
    PUSH(o->a, o->volumes, o->n_volumes) = new;
}

static double elements(const struct operations *o, const struct value *v) {
    double n = 1;
    for (int i = 0; i < v->n_axes; i++) n *= o->k->axes[v->axes[i]].nominal;
    return n;
}

static const struct param *output_of(const struct operations *o, const struct value *v) {
    for (int i = 0; i < o->k->n_params; i++)
        if (o->k->params[i].is_output && param_stored(&o->k->params[i]) == v) return &o->k->params[i];
    return NULL;
}

/* Bits an element of v takes where it is stored. */
static int64_t bits_of(const struct operations *o, const struct value *v) {
    const struct param *out = output_of(o, v);
    if (v->kind == V_LOAD) return fx_dtype_bits(o->k->params[v->param].dtype);
    if (out) return fx_dtype_bits(out->dtype);
    if (fx_is_float(v->dtype) && v->natural != FX_BOOL) return fx_dtype_bits(v->natural);
    return fx_dtype_bits(v->dtype);
}

/* v reads x, its operand number `arg`: all of it, or of a source read at positions as much as is read there. */
static void add_read(struct operations *o, const struct value *v, const struct value *x, int arg) {
    bool is_part = v->kind == V_ACCESS && arg == 0 && elements(o, v) < elements(o, x);
    if (x->kind == V_LOAD || !is_leaf(x))
        add(o, is_part ? v->axes : x->axes, is_part ? v->n_axes : x->n_axes, bits_of(o, x));
}

/* What the operation that `class` stands for reads, each value once. */
static void add_reads(struct operations *o, int class, int *read_by) {
    for (int i = o->first[class]; i >= 0; i = o->next[i]) {
        const struct value *v = o->k->values[i];
        for (int j = 0; j < v->n_args; j++) {
            int x = v->args[j]->id;
            if (!o->is_live[x] || (is_position(v, j) && o->is_index[x]) ||
                (!is_leaf(v->args[j]) && class_of(o, x) == class) || read_by[x] == class + 1)
                continue;
            read_by[x] = class + 1;
            o->is_read[x] = true;
            add_read(o, v, v->args[j], j);
        }
    }
}

/* What is read through views has to be there. */
static void read_through_views(struct operations *o) {
    for (int i = 0; i < o->k->n_params; i++) {
        const struct value *v = o->k->params[i].is_output ? param_stored(&o->k->params[i]) : NULL;
        if (v && !is_leaf(v) && o->is_view[class_of(o, v->id)]) o->is_read[v->id] = true;
    }
    for (int i = o->k->n_values - 1; i >= 0; i--) {
        const struct value *v = o->k->values[i];
        if (o->is_read[i] && !is_leaf(v) && o->is_view[class_of(o, i)]) o->is_read[v->args[0]->id] = true;
    }
}

/* An output: stored by its operation, or copied where that is none. True if that takes a kernel. */
static bool add_output(struct operations *o, const struct param *p) {
    const struct value *v = param_stored(p);
    bool is_copy = is_leaf(v) || o->is_view[class_of(o, v->id)];
    add(o, p->placed ? v->axes : p->axes, p->placed ? v->n_axes : p->n_axes, fx_dtype_bits(p->dtype));
    if (is_copy && (v->kind == V_LOAD || !is_leaf(v))) add(o, v->axes, v->n_axes, bits_of(o, v));
    return is_copy;
}

static struct operations operations(struct arena *a, const struct kernel *k) {
    size_t n = (size_t)k->n_values + 1;
    struct operations o = {.a = a,
        .k = k,
        .class = NEW_ARRAY(a, int, n),
        .is_live = NEW_ARRAY(a, bool, n),
        .is_index = NEW_ARRAY(a, bool, n),
        .is_view = NEW_ARRAY(a, bool, n),
        .is_read = NEW_ARRAY(a, bool, n),
        .n_readers = NEW_ARRAY(a, int, n),
        .first = NEW_ARRAY(a, int, n),
        .next = NEW_ARRAY(a, int, n)};
    find_live(&o);
    find_operations(&o);
    return o;
}

struct operations_of traffic_operations(struct arena *a, const struct kernel *k) {
    struct operations o = operations(a, k);
    struct operations_of out = {
        NEW_ARRAY(a, int, k->n_values + 1), o.is_live, o.is_index, NEW_ARRAY(a, bool, k->n_values + 1)};
    int *lowest = NEW_ARRAY(
        a, int, k->n_values + 1); /* by value that stands for an operation: its first value, one more */
    for (int i = 0; i < k->n_values; i++) {
        int class = class_of(&o, i);
        if (!lowest[class]) lowest[class] = i + 1;
        out.of[i] = lowest[class] - 1;
        out.is_view[out.of[i]] = o.is_view[class];
    }
    return out;
}

struct unfused traffic_unfused(struct arena *a, const struct kernel *k) {
    size_t n = (size_t)k->n_values + 1;
    struct operations o = operations(a, k);
    struct unfused u = {0};
    struct bytes b = {.arena = a, .kernel = k};
    int *read_by = NEW_ARRAY(a, int, n);
    for (int i = 0; i < k->n_values; i++) {
        if (!o.is_live[i] || is_leaf(k->values[i]) || class_of(&o, i) != i || o.is_view[i]) continue;
        u.n_kernels++;
        add_reads(&o, i, read_by);
    }
    read_through_views(&o);
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        if (o.is_read[i] && !is_leaf(v) && !o.is_view[class_of(&o, i)] && !output_of(&o, v))
            add(&o, v->axes, v->n_axes, bits_of(&o, v));
    }
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_output) u.n_kernels += add_output(&o, &k->params[i]);
    for (int i = 0; i < o.n_volumes; i++) bytes_add(&b, o.volumes[i].axes, o.volumes[i].n_axes, o.volumes[i].bits);
    u.bytes = bytes_done(&b);
    return u;
}
