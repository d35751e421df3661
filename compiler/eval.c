/* The oracle. Input, output and the bound it derives: eval.h.
 *
 * A value that several elements of its readers share (it lacks an axis of theirs) or that several readers share is
 * stored; everything else is evaluated where it is read. So the kernel falls into bodies: the tree from a stored value,
 * the output or the operand of a reduction down to parameters and stored values. A body is evaluated a line at a time:
 * up to LINE points along one axis, its values in id order, which is how deep graphs need no recursion; only reductions
 * nested inside each other's operands recurse, each level adding an axis, MAX_AXES at most. First the output's elements
 * mark, readers before operands, which elements of stored values are needed; then those are computed, operands first.
 * Invariant: every needed element of a stored value is computed exactly once. */
#include "eval_bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DENSE_MAX = 1 << 24,     /* cells of a stored value that has one for every element */
    COPY_MAX = 1 << 24,      /* elements of a tensor converted to double beforehand */
    SHARE_MAX = 1 << 22,     /* elements of a pointwise value stored only because several read it */
    CELLS_MAX = 1 << 26,     /* cells of all stored values together: a gigabyte */
};

/* ---- elements: where they are, which are needed, what they are ---- */

struct layout { /* row-major, of a parameter or a stored value */
    int n;                      /* axes */
    int axes[MAX_AXES];         /* of the kernel */
    int64_t extents[MAX_AXES];  /* of each */
    int64_t strides[MAX_AXES];  /* of each, in elements */
    int64_t numel;              /* elements in all */
};

static bool layout_init(struct layout *l, int n, const int *axes, const int64_t *extents) {
    l->n = n;
    l->numel = 1;
    for (int i = n - 1; i >= 0; i--) {
        l->axes[i] = axes[i];
        l->extents[i] = extents[axes[i]];
        l->strides[i] = l->numel;
        if (l->extents[i] < 0 || __builtin_mul_overflow(l->numel, l->extents[i], &l->numel)) return false;
    }
    return true;
}

static int64_t layout_offset(const struct layout *l, const int64_t *at) {
    int64_t offset = 0;
    for (int i = 0; i < l->n; i++) offset += at[l->axes[i]] * l->strides[i];
    return offset;
}

static int64_t layout_stride(const struct layout *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return l->strides[i];
    return 0;
}

static void layout_locate(const struct layout *l, int64_t offset, int64_t *at) {
    for (int i = 0; i < l->n; i++) at[l->axes[i]] = offset / l->strides[i] % l->extents[i];
}

static bool layout_has(const struct layout *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return true;
    return false;
}

/* A set of elements and what they are. A small value has a bit and a cell for each; of a large one only those in the
 * set have cells, in a table hashed by linear probing. */
struct store {
    bool is_dense;
    uint64_t *bits;     /* dense: which elements are in the set */
    int64_t *keys;      /* sparse: the element of a cell, or -1 */
    int64_t n_cells;    /* dense: the elements; sparse: a power of two */
    int64_t n_used;     /* sparse: cells taken */
    struct approx *cells; /* when the set is complete */
};

static bool store_init(struct store *s, int64_t numel) {
    s->is_dense = numel <= DENSE_MAX;
    s->n_cells = s->is_dense ? numel : 1 << 10;
    if (s->is_dense) return (s->bits = calloc((size_t)numel / 64 + 1, sizeof *s->bits)) != NULL;
    s->keys = malloc((size_t)s->n_cells * sizeof *s->keys);
    if (s->keys) memset(s->keys, 0xff, (size_t)s->n_cells * sizeof *s->keys);
    return s->keys != NULL;
}

static void store_release(struct store *s) {
    free(s->bits);
    free(s->keys);
    free(s->cells);
}

/* The cell of an element: of a sparse set that lacks it, the one it would take. */
static int64_t store_cell(const struct store *s, int64_t element) {
    if (s->is_dense) return element;
    uint64_t mask = (uint64_t)s->n_cells - 1, i = (uint64_t)element * 0x9e3779b97f4a7c15u >> 20;
    while (s->keys[i & mask] >= 0 && s->keys[i & mask] != element) i++;
    return (int64_t)(i & mask);
}

static bool store_grow(struct store *s) {
    struct store old = *s;
    s->n_cells *= 2;
    if (s->n_cells > CELLS_MAX || !(s->keys = malloc((size_t)s->n_cells * sizeof *s->keys))) {
        *s = old;
        return false;
    }
    memset(s->keys, 0xff, (size_t)s->n_cells * sizeof *s->keys);
    for (int64_t i = 0; i < old.n_cells; i++)
        if (old.keys[i] >= 0) s->keys[store_cell(s, old.keys[i])] = old.keys[i];
    free(old.keys);
    return true;
}

enum added { ADDED_NEW, ADDED_BEFORE, ADDED_FAILED };

static enum added store_add(struct store *s, int64_t element) {
    if (s->is_dense) {
        uint64_t bit = (uint64_t)1 << (element & 63), *word = &s->bits[element >> 6];
        if (*word & bit) return ADDED_BEFORE;
        *word |= bit;
        return ADDED_NEW;
    }
    int64_t cell = store_cell(s, element);
    if (s->keys[cell] == element) return ADDED_BEFORE;
    if (2 * ++s->n_used > s->n_cells) {
        if (!store_grow(s)) return ADDED_FAILED;
        cell = store_cell(s, element);
    }
    s->keys[cell] = element;
    return ADDED_NEW;
}

/* ---- the plan: what is stored, and the bodies ---- */

struct step {
    const struct value *value;
    int args[3];      /* steps of its operands, 0 beyond its arity */
    bool is_fetched;  /* a leaf of the body: a constant, a parameter or a stored value */
    int licensed;     /* a product's operand that may be rounded to `licence`, or -1 */
    enum fx_dtype licence;
    double largest;   /* finite value of that dtype */
};

struct body {
    struct step *steps; /* operands first; the last is the result */
    int n_steps;
    int n_lines;        /* scratch it needs, the bodies of reductions inside included */
    int *stored;        /* ids of the stored values read here and inside */
    int n_stored;
};

struct node { /* of a value, by id */
    bool is_read;         /* the output depends on it */
    bool is_stored;
    int reader;           /* the body that reads it (see read_by), or MANY */
    struct body *own;     /* stored: computes it */
    struct body *operand; /* reduction: computes its terms */
    struct layout layout; /* stored: of its cells; load: of the parameter */
    struct store store;   /* stored: the elements needed */
};

struct tensor { /* of a parameter, by index */
    enum fx_dtype dtype;
    const void *data;
    double *copy; /* the elements as doubles, or NULL */
    bool is_wide; /* its values need not be f32 */
};

struct eval {
    struct arena *arena;
    const struct kernel *k;
    const int64_t *extents;
    struct node *nodes;
    struct tensor *tensors;
    struct layout output; /* of the parameter asked for */
    struct body *root;    /* computes its result */
    int *step_of;         /* while a body is built: value -> step, or -1 */
    int64_t *at;          /* coordinate on each axis where evaluation stands */
    struct line *scratch;
    int64_t n_cells;      /* of all stored values so far */
};

/* The operand a sum's product may round, or -1: computed, beside a stored tensor of at most 16 bits. */
static int licensed_operand(const struct kernel *k, const struct value *sum, enum fx_dtype *licence) {
    const struct value *product = sum->args[0];
    if (k->precision == PRECISION_IEEE || sum->reduction != RED_SUM || product->kind != V_OP || product->op != O_MUL) return -1;
    for (int i = 0; i < 2; i++) {
        const struct value *stored = product->args[1 - i], *computed = product->args[i];
        if (stored->kind != V_LOAD || computed->n_axes == 0) continue;
        enum fx_dtype t = k->params[stored->param].dtype;
        if (fx_dtype_class_of(t) != FX_CLASS_F || fx_dtype_bits(t) > 16) continue;
        *licence = fx_dtype_bits(t) < 16 ? FX_BF16 : t;
        bool is_cast = computed->kind == V_CAST && computed->to == *licence;
        if (computed->kind == V_OP || computed->kind == V_REDUCE || (computed->kind == V_CAST && !is_cast)) return i;
    }
    return -1;
}

static bool is_leaf(const struct value *v) { return v->kind == V_NUM || v->kind == V_SCALAR || v->kind == V_LOAD; }
static int arity_of(const struct value *v) { return v->n_args; }

enum { MANY = -1 };

static void read_by(struct eval *ev, const struct value *v, int reader, int n_axes) {
    struct node *node = &ev->nodes[v->id];
    node->reader = !node->is_read || node->reader == reader ? reader : MANY;
    node->is_read = true;
    if (!is_leaf(v) && v->n_axes != n_axes) node->is_stored = true;
}

/* Decides what is stored, readers before operands. A body is known by 2 * id of the stored value or the output's
 * result, 2 * id + 1 for a reduction's operand. A licensed product is computed by its sum, whoever else reads it. */
static bool find_stored(struct eval *ev, const struct value *result) {
    read_by(ev, result, 2 * result->id, ev->output.n);
    for (int id = result->id; id >= 0; id--) {
        const struct value *v = ev->k->values[id];
        struct node *node = &ev->nodes[id];
        enum fx_dtype licence;
        if (!node->is_read) continue;
        if (v->kind == V_LOAD) {
            const struct param *p = &ev->k->params[v->param];
            if (!layout_init(&node->layout, p->n_axes, p->axes, ev->extents)) return false;
        }
        if (is_leaf(v)) continue;
        if (!layout_init(&node->layout, v->n_axes, v->axes, ev->extents)) return false;
        bool is_reduce = v->kind == V_REDUCE;
        if (node->reader == MANY && (is_reduce || node->layout.numel <= SHARE_MAX)) node->is_stored = true;
        if (is_reduce && v->n_reduced == 0) node->is_stored = true;
        int reader = is_reduce ? 2 * id + 1 : node->is_stored ? 2 * id : node->reader;
        int n_axes = v->n_axes + (is_reduce ? v->n_reduced : 0);
        for (int i = 0; i < arity_of(v); i++) read_by(ev, v->args[i], reader, n_axes);
        if (is_reduce && licensed_operand(ev->k, v, &licence) >= 0)
            for (int i = 0; i < 2; i++) read_by(ev, v->args[0]->args[i], reader, n_axes);
    }
    return true;
}

static void add_stored(struct eval *ev, struct body *b, int id) {
    for (int i = 0; i < b->n_stored; i++)
        if (b->stored[i] == id) return;
    PUSH(ev->arena, b->stored, b->n_stored) = id;
}

/* The steps from leaves to `result`, which is computed here even when it is stored, if `computes` says so. */
static struct body *build_body(struct eval *ev, const struct value *result, bool computes) {
    struct body *b = NEW(ev->arena, struct body);
    int *step_of = ev->step_of, inside = 0;
    for (int id = 0; id <= result->id; id++) step_of[id] = -1;
    step_of[result->id] = 0;
    for (int id = result->id; id >= 0; id--) {
        const struct value *v = ev->k->values[id];
        if (step_of[id] < 0) continue;
        b->n_steps++;
        bool is_fetched = is_leaf(v) || (ev->nodes[id].is_stored && !(computes && v == result));
        for (int i = 0; !is_fetched && v->kind != V_REDUCE && i < arity_of(v); i++) step_of[v->args[i]->id] = 0;
    }
    b->steps = NEW_ARRAY(ev->arena, struct step, b->n_steps);
    for (int id = 0, n = 0; id <= result->id; id++) {
        const struct value *v = ev->k->values[id];
        if (step_of[id] < 0) continue;
        struct step *s = &b->steps[step_of[id] = n++];
        *s = (struct step){.value = v, .licensed = -1};
        s->is_fetched = is_leaf(v) || (ev->nodes[id].is_stored && !(computes && v == result));
        if (s->is_fetched && !is_leaf(v)) add_stored(ev, b, id);
        if (s->is_fetched || is_leaf(v)) continue;
        if (v->kind != V_REDUCE) {
            for (int i = 0; i < arity_of(v); i++) s->args[i] = step_of[v->args[i]->id];
            continue;
        }
        const struct body *operand = ev->nodes[id].operand;
        if (operand->n_lines > inside) inside = operand->n_lines;
        for (int i = 0; i < operand->n_stored; i++) add_stored(ev, b, operand->stored[i]);
    }
    b->n_lines = b->n_steps + inside;
    return b;
}

/* The largest finite value of a float dtype. */
static double largest_of(enum fx_dtype t) {
    double power = 1;
    while (isfinite(fx_round_to(t, 2 * power)) && fx_round_to(t, 2 * power) == 2 * power) power *= 2;
    return power * (2 - 2 * fx_unit_roundoff(t));
}

static struct body *build_operand(struct eval *ev, const struct value *reduce) {
    enum fx_dtype licence = FX_F32;
    int licensed = licensed_operand(ev->k, reduce, &licence);
    struct body *b = build_body(ev, reduce->args[0], licensed >= 0);
    struct step *last = &b->steps[b->n_steps - 1];
    last->licensed = licensed;
    last->licence = licence;
    last->largest = largest_of(licence);
    return b;
}

static bool plan(struct eval *ev, int output_param) {
    const struct kernel *k = ev->k;
    const struct param *out = &k->params[output_param];
    ev->nodes = NEW_ARRAY(ev->arena, struct node, k->n_values);
    ev->tensors = NEW_ARRAY(ev->arena, struct tensor, k->n_params);
    ev->step_of = NEW_ARRAY(ev->arena, int, k->n_values);
    ev->at = NEW_ARRAY(ev->arena, int64_t, k->n_axes + 1);
    if (!layout_init(&ev->output, out->n_axes, out->axes, ev->extents) || !find_stored(ev, out->result)) return false;
    for (int id = 0; id <= out->result->id; id++) {
        const struct value *v = k->values[id];
        if (!ev->nodes[id].is_read) continue;
        if (v->kind == V_REDUCE) ev->nodes[id].operand = build_operand(ev, v);
        if (ev->nodes[id].is_stored) ev->nodes[id].own = build_body(ev, v, true);
    }
    ev->root = build_body(ev, out->result, false);
    return true;
}

/* ---- evaluation ---- */

static void fill(struct line *out, struct approx x, int n) {
    for (int i = 0; i < n; i++) out->v[i] = x.v, out->e[i] = x.e;
    out->is_exact = x.e == 0;
}

static void load_line(const struct tensor *t, int64_t offset, int64_t stride, int n, struct line *out) {
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        int64_t element = offset + i * stride;
        out->v[i] = t->copy ? t->copy[element] : fx_load_double(t->dtype, t->data, (size_t)element);
        out->e[i] = 0;
    }
    for (int i = 0; t->is_wide && i < n; i++) {
        out->e[i] = bound_leaf(out->v[i]).e;
        out->is_exact = out->is_exact && out->e[i] == 0;
    }
}

static void fetch_line(struct eval *ev, const struct value *v, int axis, int n, struct line *out) {
    const struct node *node = &ev->nodes[v->id];
    int64_t offset = layout_offset(&node->layout, ev->at), stride = layout_stride(&node->layout, axis);
    if (v->kind == V_NUM) {
        fill(out, bound_leaf(v->num), n);
    } else if (v->kind == V_SCALAR) {
        fill(out, bound_leaf(fx_load_double(ev->tensors[v->param].dtype, ev->tensors[v->param].data, 0)), n);
    } else if (v->kind == V_LOAD) {
        load_line(&ev->tensors[v->param], offset, stride, n, out);
    } else {
        out->is_exact = true;
        for (int i = 0; i < n; i++) {
            struct approx x = node->store.cells[store_cell(&node->store, offset + i * stride)];
            out->v[i] = x.v;
            out->e[i] = x.e;
            out->is_exact = out->is_exact && x.e == 0;
        }
    }
}

/* Whether v is a value of dtype t; above its subnormals by Dekker's split, which leaves what fits as it is. */
static bool fits(enum fx_dtype t, double unit, double smallest, double v) {
    if (fabs(v) < smallest / (2 * unit)) return v == 0 || fx_round_to(t, v) == v;
    double c = v * (0x1p53 * unit + 1);
    return c - (c - v) == v;
}

/* The operand as one that may have been rounded to the licensed dtype on its way. */
static void license_line(const struct step *s, const struct line *x, int n, struct line *out) {
    double unit = fx_unit_roundoff(s->licence), smallest = fx_smallest(s->licence);
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        double v = x->v[i], e = x->e[i];
        if (e != 0 || (isfinite(v) && !fits(s->licence, unit, smallest, v))) e += unit * (fabs(v) + e) + smallest;
        if (isfinite(v) && fabs(v) + e > s->largest) e = INFINITY;
        out->v[i] = v;
        out->e[i] = e;
        out->is_exact = out->is_exact && e == 0;
    }
}

/* Products are the inner loop of every contraction: what op_at would say, in closed form. May work in place. */
static void multiply_line(const struct value *v, const struct line *a, const struct line *b, int n, struct line *out) {
    bool from_exact = a->is_exact && b->is_exact, is_exact = true;
    for (int i = 0; i < n; i++) {
        struct approx x[3] = {{a->v[i], a->e[i]}, {b->v[i], b->e[i]}, {0, 0}};
        double f = x[0].v * x[1].v, e = 0;
        if (!from_exact) e = fabs(x[0].v) * x[1].e + fabs(x[1].v) * x[0].e + x[0].e * x[1].e;
        e += e == 0 && is_f32(f) ? 0 : UNIT * larger(fabs(f) + e, NORMAL);
        if (!(fabs(f) + e <= FLT_MAX)) { /* overflow, infinities, NaN */
            struct approx y = bound_op(v, x);
            f = y.v, e = y.e;
        }
        out->v[i] = f;
        out->e[i] = e;
        is_exact = is_exact && e == 0;
    }
    out->is_exact = is_exact;
}

static void op_line(const struct step *s, const struct line *lines, int n, struct line *out) {
    const struct value *v = s->value;
    const struct line *args[3] = {&lines[s->args[0]], &lines[s->args[1]], &lines[s->args[2]]};
    if (s->licensed >= 0) {
        license_line(s, args[s->licensed], n, out);
        args[s->licensed] = out;
    }
    if (v->op == O_MUL) {
        multiply_line(v, args[0], args[1], n, out);
        return;
    }
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        struct approx x[3] = {{0, 0}, {0, 0}, {0, 0}};
        for (int j = 0; j < op_info[v->op].arity; j++) x[j] = (struct approx){args[j]->v[i], args[j]->e[i]};
        struct approx y = bound_op(v, x);
        out->v[i] = y.v;
        out->e[i] = y.e;
        out->is_exact = out->is_exact && y.e == 0;
    }
}

static void cast_line(const struct value *v, const struct line *x, int n, struct line *out) {
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        struct approx y = bound_cast(v->to, (struct approx){x->v[i], x->e[i]}, v->args[0]->dtype == FX_BOOL);
        out->v[i] = y.v;
        out->e[i] = y.e;
        out->is_exact = out->is_exact && y.e == 0;
    }
}

/* Steps to the next point of the axes' space, the last axis fastest; false, and back at 0, past the end. */
static bool advance(const struct eval *ev, const int *axes, int n) {
    for (int i = n - 1; i >= 0; i--) {
        if (++ev->at[axes[i]] < ev->extents[axes[i]]) return true;
        ev->at[axes[i]] = 0;
    }
    return false;
}

static void eval_body(struct eval *ev, const struct body *b, int axis, int n, struct line *lines);

/* A reduction where evaluation stands: lines along its last axis, the others stepped around them. */
static struct approx reduce_at(struct eval *ev, const struct value *v, struct line *lines) {
    const struct body *operand = ev->nodes[v->id].operand;
    struct total total = bound_of_nothing(v->reduction);
    int inner = v->n_reduced > 0 ? v->reduced[v->n_reduced - 1] : -1;
    bool is_empty = false;
    for (int i = 0; i < v->n_reduced; i++) {
        ev->at[v->reduced[i]] = 0;
        is_empty = is_empty || ev->extents[v->reduced[i]] == 0;
    }
    if (is_empty) return bound_total(&total, v->reduction);
    int64_t extent = inner >= 0 ? ev->extents[inner] : 1;
    do {
        for (int64_t start = 0; start < extent; start += LINE) {
            int n = extent - start < LINE ? (int)(extent - start) : LINE;
            if (inner >= 0) ev->at[inner] = start;
            eval_body(ev, operand, inner, n, lines);
            bound_add(&total, v->reduction, &lines[operand->n_steps - 1], n);
        }
        if (inner >= 0) ev->at[inner] = 0;
    } while (advance(ev, v->reduced, v->n_reduced - 1));
    return bound_total(&total, v->reduction);
}

static void reduce_line(struct eval *ev, const struct value *v, int axis, int n, struct line *out, struct line *inside) {
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        struct approx x = reduce_at(ev, v, inside);
        out->v[i] = x.v;
        out->e[i] = x.e;
        out->is_exact = out->is_exact && x.e == 0;
        if (axis >= 0) ev->at[axis]++;
    }
    if (axis >= 0) ev->at[axis] -= n;
}

/* Evaluates n points along `axis` (-1: a single point) from where evaluation stands; lines[i] becomes step i. */
static void eval_body(struct eval *ev, const struct body *b, int axis, int n, struct line *lines) {
    for (int i = 0; i < b->n_steps; i++) {
        const struct step *s = &b->steps[i];
        const struct value *v = s->value;
        if (s->is_fetched) fetch_line(ev, v, axis, n, &lines[i]);
        else if (v->kind == V_OP) op_line(s, lines, n, &lines[i]);
        else if (v->kind == V_CAST) cast_line(v, &lines[s->args[0]], n, &lines[i]);
        else reduce_line(ev, v, axis, n, &lines[i], lines + b->n_steps);
    }
}

/* ---- the order of work ---- */

struct points { /* what is left to visit of the elements of a layout, line by line */
    const struct layout *layout;
    const struct store *set;  /* only those in it, or NULL */
    const int64_t *elements;  /* only those listed, or NULL */
    int64_t next, end;        /* into the list, the elements or the sparse cells */
};

static struct points points_of(const struct layout *l, const struct store *set, const int64_t *elements, int64_t n) {
    return (struct points){l, set, elements, 0, set ? set->n_cells : n};
}

/* Moves to the next line; *element is its first, *n how many along the layout's last axis. */
static bool next_line(struct eval *ev, struct points *p, int64_t *element, int *n) {
    const struct store *set = p->set;
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

static int last_axis(const struct layout *l) { return l->n > 0 ? l->axes[l->n - 1] : -1; }

/* Marks what one stored value must provide for the given points: at each, all its elements along the axes that only
 * reductions on the way there run over. Points that agree on the other axes are expanded once: `seen` has them. */
static bool mark_value(struct eval *ev, int id, struct points points, struct store *seen) {
    struct node *node = &ev->nodes[id];
    const struct layout *l = &node->layout;
    int run_over[MAX_AXES], n_over = 0, n, axis = last_axis(points.layout);
    int64_t element;
    for (int i = 0; i < l->n; i++)
        if (!layout_has(points.layout, l->axes[i])) run_over[n_over++] = l->axes[i];
    if (l->numel == 0) return true;
    while (next_line(ev, &points, &element, &n)) {
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n_over; j++) ev->at[run_over[j]] = 0;
            enum added added = store_add(n_over > 0 ? seen : &node->store, layout_offset(l, ev->at));
            if (added == ADDED_FAILED) return false;
            if (added == ADDED_NEW && n_over > 0)
                do
                    if (store_add(&node->store, layout_offset(l, ev->at)) == ADDED_FAILED) return false;
                while (advance(ev, run_over, n_over));
            if (axis >= 0) ev->at[axis]++;
        }
    }
    return true;
}

static bool mark(struct eval *ev, const struct body *b, struct points points) {
    for (int i = 0; i < b->n_stored; i++) {
        struct store seen = {0};
        bool ok = store_init(&seen, ev->nodes[b->stored[i]].layout.numel) && mark_value(ev, b->stored[i], points, &seen);
        store_release(&seen);
        if (!ok) return false;
    }
    return true;
}

static bool mark_all(struct eval *ev, const int64_t *elements, int64_t n) {
    for (int id = 0; id < ev->k->n_values; id++)
        if (ev->nodes[id].is_stored && !store_init(&ev->nodes[id].store, ev->nodes[id].layout.numel)) return false;
    if (!mark(ev, ev->root, points_of(&ev->output, NULL, elements, n))) return false;
    for (int id = ev->k->n_values - 1; id >= 0; id--) {
        struct node *node = &ev->nodes[id];
        if (node->is_stored && !mark(ev, node->own, points_of(&node->layout, &node->store, NULL, 0))) return false;
    }
    return true;
}

static bool compute_stored(struct eval *ev, struct node *node) {
    struct store *s = &node->store;
    struct points points = points_of(&node->layout, s, NULL, 0);
    int64_t element;
    int n;
    ev->n_cells += s->n_cells;
    if (ev->n_cells > CELLS_MAX || !(s->cells = calloc((size_t)s->n_cells + 1, sizeof *s->cells))) return false;
    while (next_line(ev, &points, &element, &n)) {
        eval_body(ev, node->own, last_axis(&node->layout), n, ev->scratch);
        const struct line *result = &ev->scratch[node->own->n_steps - 1];
        for (int i = 0; i < n; i++) s->cells[store_cell(s, element + i)] = (struct approx){result->v[i], result->e[i]};
    }
    return true;
}

static void compute_output(struct eval *ev, const int64_t *elements, int64_t n, double *value, double *bound) {
    struct points points = points_of(&ev->output, NULL, elements, n);
    int64_t element, done = 0;
    int n_line;
    for (; next_line(ev, &points, &element, &n_line); done += n_line) {
        eval_body(ev, ev->root, last_axis(&ev->output), n_line, ev->scratch);
        const struct line *result = &ev->scratch[ev->root->n_steps - 1];
        memcpy(value + done, result->v, (size_t)n_line * sizeof *value);
        if (bound) memcpy(bound + done, result->e, (size_t)n_line * sizeof *bound);
    }
}

/* Tensors of a size where that pays are converted once rather than at every reading. */
static void open_tensors(struct eval *ev, const struct oracle_input *inputs) {
    for (int id = 0; id < ev->k->n_values; id++) {
        const struct value *v = ev->k->values[id];
        if (!ev->nodes[id].is_read || (v->kind != V_LOAD && v->kind != V_SCALAR)) continue;
        struct tensor *t = &ev->tensors[v->param];
        if (t->data) continue;
        t->dtype = inputs[v->param].dtype;
        t->data = inputs[v->param].data;
        t->is_wide = fx_dtype_bits(t->dtype) > 16 && t->dtype != FX_F32;
        int64_t numel = v->kind == V_LOAD ? ev->nodes[id].layout.numel : 0;
        /* without the copy every reading converts: slower, not different */
        if (numel > 0 && numel <= COPY_MAX) t->copy = malloc((size_t)numel * sizeof *t->copy);
        for (int64_t i = 0; t->copy && i < numel; i++) t->copy[i] = fx_load_double(t->dtype, t->data, (size_t)i);
    }
}

static fx_status run(struct eval *ev, const struct oracle_input *inputs, const int64_t *elements, int64_t n,
                     double *value, double *bound) {
    int n_lines = ev->root->n_lines;
    for (int id = 0; id < ev->k->n_values; id++)
        if (ev->nodes[id].is_stored && ev->nodes[id].own->n_lines > n_lines) n_lines = ev->nodes[id].own->n_lines;
    ev->scratch = malloc((size_t)n_lines * sizeof *ev->scratch);
    if (!ev->scratch || !mark_all(ev, elements, n)) return FX_ERR_NOMEM;
    open_tensors(ev, inputs);
    for (int id = 0; id < ev->k->n_values; id++)
        if (ev->nodes[id].is_stored && !compute_stored(ev, &ev->nodes[id])) return FX_ERR_NOMEM;
    compute_output(ev, elements, n, value, bound);
    return FX_OK;
}

static void eval_release(struct eval *ev) {
    for (int i = 0; i < ev->k->n_values; i++) store_release(&ev->nodes[i].store);
    for (int i = 0; i < ev->k->n_params; i++) free(ev->tensors[i].copy);
    free(ev->scratch);
}

fx_status oracle_eval(struct arena *arena, const struct kernel *k, const int64_t *extents,
                      const struct oracle_input *inputs, int output_param, const int64_t *elements, int64_t n,
                      double *value, double *bound) {
    struct eval ev = {.arena = arena, .k = k, .extents = extents};
    if (output_param < 0 || output_param >= k->n_params || !k->params[output_param].result) return FX_ERR_USAGE;
    if (n < 0 || !plan(&ev, output_param) || (!elements && n > ev.output.numel)) return FX_ERR_USAGE;
    for (int64_t i = 0; elements && i < n; i++)
        if (elements[i] < 0 || elements[i] >= ev.output.numel) return FX_ERR_USAGE;
    fx_status status = run(&ev, inputs, elements, n, value, bound);
    eval_release(&ev);
    return status;
}
