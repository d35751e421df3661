/* The oracle's values at a line of points: up to LINE of them along one axis.
 *
 * Input: a body and where evaluation stands; output: values and bounds. A body's values are computed in id order, so
 * that deep graphs need no recursion. Only reductions nested inside each other's operands recurse: each level adds an
 * axis, so there are at most MAX_AXES. Invariant: what is read of a stored value was marked and computed before. */
#include "oracle/eval_internal.h"

/* Bits are copied as integers, which carry a double's too. */

/* ---- leaves ---- */

static void fill(struct oracle_line *out, struct approx x, int n) {
    for (int i = 0; i < n; i++) out->i[i] = x.i, out->e[i] = x.e;
    out->is_exact = x.e == 0;
}

/* Field i of the words along the packed axis, trailing fields unused. */
static int64_t load_packed(const struct oracle_tensor *t, int64_t element) {
    const struct fx_packing *p = t->packed;
    int64_t outer = element / (t->extent * t->inner), at = element / t->inner % t->extent,
            n_words = (t->extent + p->factor - 1) / p->factor;
    int64_t word = (outer * n_words + at / p->factor) * t->inner + element % t->inner, field = at % p->factor;
    if (p->is_msb) field = p->factor - 1 - field;
    uint64_t bits = (uint64_t)fx_load_integer(p->storage, t->data, (size_t)word);
    return fx_wrap(t->dtype, (int64_t)(bits >> (field * fx_dtype_bits(t->dtype))));
}

static int64_t load_integer(const struct oracle_tensor *t, int64_t element) {
    return t->packed ? load_packed(t, element) : fx_load_integer(t->dtype, t->data, (size_t)element);
}

/* One element of a tensor parameter, in the compute type t: the one place that knows how it is laid out in memory. */
static struct approx load_element(const struct oracle_tensor *tensor, enum fx_dtype t, int64_t element) {
    if (fx_is_integer(t)) return (struct approx){.i = load_integer(tensor, element)};
    double v = tensor->copy ? tensor->copy[element] : fx_load_double(tensor->dtype, tensor->data, (size_t)element);
    return tensor->is_wide ? bound_leaf(t, v) : (struct approx){.v = v};
}

static void load_line(const struct oracle_tensor *tensor, enum fx_dtype t, int64_t offset, int64_t stride, int n,
    struct oracle_line *out) {
    out->is_exact = true;
    for (int i = 0; i < n; i++) {
        struct approx x = load_element(tensor, t, offset + i * stride);
        out->i[i] = x.i;
        out->e[i] = x.e;
        out->is_exact = out->is_exact && x.e == 0;
    }
}

/* A tensor whose doubles lie ready: the inner loop of every contraction. */
static void copy_line(const double *from, int64_t stride, int n, struct oracle_line *out) {
    for (int i = 0; i < n; i++) out->v[i] = from[i * stride], out->e[i] = 0;
    out->is_exact = true;
}

static struct approx scalar_value(const struct eval *ev, const struct value *v) {
    const struct oracle_tensor *t = &ev->tensors[v->param];
    if (fx_is_integer(v->dtype)) return (struct approx){.i = fx_load_integer(t->dtype, t->data, 0)};
    return bound_leaf(v->dtype, fx_load_double(t->dtype, t->data, 0));
}

static void stored_line(
    const struct oracle_node *node, int64_t offset, int64_t stride, int n, struct oracle_line *out) {
    const struct oracle_store *s = &node->store;
    out->is_exact = true;
    out->has_m = s->m != NULL;
    for (int i = 0; i < n; i++) {
        int64_t cell = store_cell(s, offset + i * stride);
        out->i[i] = s->cells[cell].i;
        out->e[i] = s->cells[cell].e;
        out->is_exact = out->is_exact && out->e[i] == 0;
        if (s->m) out->m[i] = s->m[cell];
    }
}

static void fetch_line(struct eval *ev, const struct value *v, int axis, int n, struct oracle_line *out) {
    const struct oracle_node *node = &ev->nodes[v->id];
    int64_t offset = layout_offset(&node->layout, ev->at), stride = layout_stride(&node->layout, axis);
    if (v->kind == V_NUM) {
        fill(out, fx_is_integer(v->dtype) ? (struct approx){.i = v->integer} : bound_leaf(v->dtype, v->num), n);
    } else if (v->kind == V_SCALAR) {
        fill(out, scalar_value(ev, v), n);
    } else if (v->kind == V_LOAD) {
        const struct oracle_tensor *t = &ev->tensors[v->param];
        if (t->copy && !t->is_wide) copy_line(t->copy + offset, stride, n, out);
        else load_line(t, v->dtype, offset, stride, n, out);
    } else {
        stored_line(node, offset, stride, n, out);
    }
}

/* ---- magnitudes of the innermost terms ---- */

static double magnitude(const struct oracle_line *x, int i) {
    double size = fabs(x->v[i]) + x->e[i];
    return x->has_m ? larger(x->m[i], size) : size;
}

/* Before the line's own values, which may take the place of an operand's. */
static void carry_m(const struct value *v, const struct oracle_line *const *args, int n, struct oracle_line *out) {
    for (int i = 0; i < n; i++) {
        double a = magnitude(args[0], i), m = a;
        if (v->op == O_ADD || v->op == O_SUB) m = a + magnitude(args[1], i);
        else if (v->op == O_MUL) m = a * magnitude(args[1], i);
        else if (v->op == O_FMA) m = a * magnitude(args[1], i) + magnitude(args[2], i);
        else if (v->op == O_DIV) m = a / fabs(args[1]->v[i]);
        else if (v->op == O_WHERE && args[0]->e[i] == 0) m = magnitude(args[args[0]->v[i] != 0 ? 1 : 2], i);
        else if (v->op == O_WHERE) m = larger(magnitude(args[1], i), magnitude(args[2], i));
        out->m[i] = m;
    }
}

/* ---- pointwise ---- */

/* Whether v is a value of the licensed type; above its subnormals by Dekker's split,
 * which leaves what fits as it is. */
static bool fits(const struct licence *l, double v) {
    if (fabs(v) < l->smallest / (2 * l->unit)) return rint(v / l->smallest) * l->smallest == v;
    double c = v * (0x1p53 * l->unit + 1);
    return c - (c - v) == v;
}

/* The operand as one that may have been rounded to the licensed type on its way. */
static void license_line(const struct licence *l, const struct oracle_line *x, int n, struct oracle_line *out) {
    out->is_exact = true;
    out->has_m = x->has_m;
    out->has_s = true;
    for (int i = 0; i < n; i++) {
        double v = x->v[i], e = x->e[i], split = v * (0x1p53 * l->unit + 1), nearest = split - (split - v);
        double added = e != 0 || (isfinite(v) && !fits(l, v)) ? l->unit * (fabs(v) + e) + l->smallest : 0;
        e += added;
        if (isfinite(v) && fabs(v) + e > l->largest) e = INFINITY;
        out->s[i] = isfinite(e) ? added : 0;
        out->r[i] = added > 0 && isfinite(nearest) ? nearest - v : 0;
        if (x->has_m) out->m[i] = x->m[i];
        out->v[i] = v;
        out->e[i] = e;
        out->is_exact = out->is_exact && e == 0;
    }
}

/* Products are the inner loop of every contraction: what bound_op_float would say, in closed form. May work in place.
 */
static void multiply_line(
    const struct value *v, const struct oracle_line *a, const struct oracle_line *b, int n, struct oracle_line *out) {
    const struct grain g = *grain_of(v->dtype);
    bool from_exact = a->is_exact && b->is_exact, is_exact = true, has_s = a->has_s || b->has_s;
    for (int i = 0; has_s && i < n; i++) {
        double size_a = fabs(a->v[i]) + a->e[i], size_b = fabs(b->v[i]) + b->e[i];
        double s = (a->has_s ? a->s[i] * size_b : 0) + (b->has_s ? b->s[i] * size_a : 0),
               r = (a->has_s ? a->r[i] * b->v[i] : 0) + (b->has_s ? b->r[i] * a->v[i] : 0);
        out->s[i] = isfinite(s) ? s : 0;
        out->r[i] = isfinite(r) ? r : 0;
    }
    for (int i = 0; i < n; i++) {
        struct approx x[3] = {{.v = a->v[i], .e = a->e[i]}, {.v = b->v[i], .e = b->e[i]}, {.v = 0}};
        double f = x[0].v * x[1].v, e = 0;
        if (!from_exact) e = fabs(x[0].v) * x[1].e + fabs(x[1].v) * x[0].e + x[0].e * x[1].e;
        e += e == 0 && is_f32(f) ? 0 : g.unit * larger(fabs(f) + e, g.normal);
        if (!(fabs(f) + e <= g.largest)) { /* overflow, infinities, NaN */
            struct approx y = bound_op_float(v, &g, x);
            f = y.v, e = y.e;
        }
        out->v[i] = f;
        out->e[i] = e;
        is_exact = is_exact && e == 0;
    }
    out->is_exact = is_exact;
    out->has_s = has_s;
}

/* Integers that carry no error: their ops are exact. */
static void integer_line(const struct value *v, const struct oracle_line *const *args, int n, struct oracle_line *out) {
    enum op_rule rule = op_info[v->op].rule;
    enum fx_dtype t = rule == RULE_COMPARE ? v->args[0]->dtype : rule == RULE_BITS ? FX_U64 : v->dtype;
    bool is_condition[3] = {false, false, false};
    for (int j = 0; j < v->n_args; j++) is_condition[j] = v->args[j]->dtype == FX_BOOL;
    for (int i = 0; i < n; i++) {
        int64_t x[3] = {0, 0, 0};
        for (int j = 0; j < v->n_args; j++) x[j] = is_condition[j] ? args[j]->v[i] != 0 : args[j]->i[i];
        int64_t r = op_eval_integer(v->op, t, x[0], x[1], x[2]);
        if (rule == RULE_COMPARE) out->v[i] = (double)r;
        else out->i[i] = r;
        out->e[i] = 0;
    }
    out->is_exact = true;
}

/* What the roundings of two sums as one come to beside those of each, m the magnitudes of their terms; 0 where all are
 * exact. */
static double joined_rounding(
    const struct eval *ev, const struct step *s, const struct oracle_line *a, const struct oracle_line *b, int i) {
    const struct grain *g = grain_of(s->value->dtype);
    double m = magnitude(a, i) + magnitude(b, i);
    if (!isfinite(m)) return 0;
    if (a->e[i] == 0 && b->e[i] == 0) {
        int lowest = LOWEST_OF_NONE;
        for (int j = 0; j < 2; j++) {
            const struct oracle_line *x = j ? b : a;
            int value = lowest_bit(x->v[i]), inner = x->has_m ? lowest_bit(x->m[i]) : value;
            if (value < lowest) lowest = value;
            if (inner < lowest) lowest = inner;
        }
        if (m == 0 || m <= ldexp(1, lowest + g->digits)) return 0;
    }
    return total_rounding(g, s->joined, m, ev->kind == FX_BOUND_WORST);
}

static void op_line(const struct eval *ev,
    const struct oracle_body *b, const struct step *s, struct oracle_line *lines, int n, struct oracle_line *out) {
    const struct value *v = s->value;
    const struct oracle_line *args[3] = {out, out, out};
    bool is_exact = true;
    for (int j = 0; j < v->n_args; j++) {
        args[j] = &lines[s->args[j]];
        is_exact = is_exact && args[j]->is_exact;
    }
    for (int j = 0; j < 2; j++) {
        if (s->licence[j].unit == 0) continue;
        struct oracle_line *to = j == 0 ? out : &lines[b->n_steps];
        license_line(&s->licence[j], args[j], n, to);
        args[j] = to;
    }
    if (s->carries_m) carry_m(v, args, n, out);
    out->has_m = s->carries_m;
    bool on_integers = fx_is_integer(v->dtype) || fx_is_integer(v->args[0]->dtype);
    if (v->op == O_MUL && v->dtype == FX_F32) {
        multiply_line(v, args[0], args[1], n, out);
    } else if (on_integers && is_exact) {
        integer_line(v, args, n, out);
    } else {
        const struct grain *g = grain_of(v->dtype);
        out->is_exact = true;
        out->has_s = false;
        for (int i = 0; i < n; i++) {
            struct approx x[3] = {{.v = 0}, {.v = 0}, {.v = 0}};
            for (int j = 0; j < v->n_args; j++) x[j] = (struct approx){.i = args[j]->i[i], .e = args[j]->e[i]};
            double joined = s->joined > 0 ? joined_rounding(ev, s, args[0], args[1], i) : 0;
            struct approx y = on_integers ? bound_op_integer(v, x) : bound_op_float(v, g, x);
            if (joined > 0 && isfinite(y.v)) y = bounded(g, y.v, y.e + joined);
            if (s->rounded > 0 && isfinite(y.v)) y = bounded(g, y.v, y.e + s->rounded * (fabs(y.v) + y.e));
            out->i[i] = y.i;
            out->e[i] = y.e;
            out->is_exact = out->is_exact && y.e == 0;
        }
    }
}

static void cast_line(const struct step *s, const struct oracle_line *x, int n, struct oracle_line *out) {
    out->is_exact = true;
    out->has_m = s->carries_m;
    for (int i = 0; i < n; i++) {
        struct approx y = bound_cast(s->value, (struct approx){.i = x->i[i], .e = x->e[i]});
        if (s->carries_m) out->m[i] = magnitude(x, i);
        out->i[i] = y.i;
        out->e[i] = y.e;
        out->is_exact = out->is_exact && y.e == 0;
    }
}

/* The running index, or an extent. */
static void index_line(const struct eval *ev, const struct value *v, int axis, int n, struct oracle_line *out) {
    int64_t from = v->kind == V_SIZE ? ev->extents[v->axis] : ev->at[v->axis],
            step = v->kind == V_INDEX && v->axis == axis;
    const int64_t *positions = v->kind == V_INDEX ? ev->positions[v->axis] : NULL;
    for (int i = 0; i < n; i++) {
        out->i[i] = positions ? positions[i] : from + i * step;
        out->e[i] = 0;
    }
    out->is_exact = true;
}

/* ---- accesses ---- */

static struct approx element_of(const struct eval *ev, const struct value *source, int64_t element, double *m) {
    const struct oracle_node *node = &ev->nodes[source->id];
    *m = 0;
    if (source->kind == V_LOAD) return load_element(&ev->tensors[source->param], source->dtype, element);
    int64_t cell = store_cell(&node->store, element);
    if (node->store.m) *m = node->store.m[cell];
    return node->store.cells[cell];
}

/* What a value in doubt is: a condition has two answers, anything else any. */
static double open_error(enum fx_dtype t) { return t == FX_BOOL ? 1 : INFINITY; }

struct spot { /* what an access reads at one point */
    bool is_inside; /* every position is on its axis */
    bool is_open;   /* a position is in doubt */
};

static struct spot spot_of(const struct eval *ev, const struct step *s, const struct oracle_line *lines, int i) {
    struct spot spot = {true, false};
    for (int j = 0; j < s->value->n_at; j++) {
        const struct oracle_line *position = &lines[s->args[1 + j]];
        spot.is_open = spot.is_open || position->e[i] > 0;
        spot.is_inside = spot.is_inside && (uint64_t)position->i[i] <
                                               (uint64_t)ev->extents[s->value->at[j]]; /* a negative one is too large */
    }
    return spot;
}

/* The elements at the points inside, of a parameter or a stored value. Along the axes at[] it is the position that
 * counts, not the running index of the same name. */
static void gather(
    struct eval *ev, const struct step *s, int axis, int n, const struct oracle_line *lines, struct oracle_line *out) {
    const struct value *v = s->value;
    const struct oracle_layout *l = &ev->nodes[v->args[0]->id].layout;
    const int64_t *at[MAX_AXES];
    int64_t strides[MAX_AXES], base = 0, step = 0;
    int n_positions = 0;
    for (int j = 0; j < l->n; j++) {
        const int64_t *positions = ev->positions[l->axes[j]];
        for (int p = 0; p < v->n_at; p++)
            if (v->at[p] == l->axes[j]) positions = lines[s->args[1 + p]].i;
        if (positions) at[n_positions] = positions, strides[n_positions++] = l->strides[j];
        else base += ev->at[l->axes[j]] * l->strides[j];
        if (!positions && l->axes[j] == axis) step = l->strides[j];
    }
    for (int i = 0; i < n; i++) {
        if (!spot_of(ev, s, lines, i).is_inside) continue;
        int64_t element = base + i * step;
        double m;
        for (int j = 0; j < n_positions; j++) element += at[j][i] * strides[j];
        struct approx x = element_of(ev, v->args[0], element, &m);
        out->i[i] = x.i;
        out->e[i] = x.e;
        if (s->carries_m) out->m[i] = m;
    }
}

/* The source at the points inside, evaluated there: its running indices are the positions. At points outside it stands
 * at 0, unread. Depth: DEPTH_MAX. */
static void move_inside(struct eval *ev, const struct step *s, int axis, int n, const struct oracle_line *lines,
    struct oracle_line *out, struct oracle_line *scratch) {
    const struct value *v = s->value;
    const struct oracle_body *own = ev->nodes[v->args[0]->id].own;
    const int64_t *before[MAX_AXES];
    bool had_positions = ev->has_positions;
    for (int j = 0; j < v->n_at; j++) {
        if (ev->extents[v->at[j]] == 0) return; /* nothing is inside */
        for (int i = 0; i < n; i++)
            scratch[j].i[i] = spot_of(ev, s, lines, i).is_inside ? lines[s->args[1 + j]].i[i] : 0;
    }
    for (int j = 0; j < v->n_at; j++) {
        before[j] = ev->positions[v->at[j]];
        ev->positions[v->at[j]] = scratch[j].i;
    }
    ev->has_positions = true;
    eval_body(ev, own, axis, n, scratch + v->n_at);
    const struct oracle_line *result = &scratch[v->n_at + own->n_steps - 1];
    for (int i = 0; i < n; i++) out->i[i] = result->i[i], out->e[i] = result->e[i];
    for (int j = 0; j < v->n_at; j++) ev->positions[v->at[j]] = before[j];
    ev->has_positions = had_positions;
}

static void access_line(struct eval *ev, const struct step *s, int axis, int n, const struct oracle_line *lines,
    struct oracle_line *out, struct oracle_line *scratch) {
    const struct value *v = s->value;
    const struct oracle_line *outside = v->has_fill ? &lines[s->args[1 + v->n_at]] : NULL;
    if (ev->nodes[v->args[0]->id].is_inline) move_inside(ev, s, axis, n, lines, out, scratch);
    else gather(ev, s, axis, n, lines, out);
    out->is_exact = true;
    out->has_m = s->carries_m;
    for (int i = 0; i < n; i++) {
        struct spot spot = spot_of(ev, s, lines, i);
        if (!spot.is_inside) {
            ev->is_broken = ev->is_broken || (!outside && !spot.is_open);
            out->i[i] = outside ? outside->i[i] : 0;
            out->e[i] = outside ? outside->e[i] : INFINITY;
            if (s->carries_m) out->m[i] = outside ? magnitude(outside, i) : 0;
        }
        if (spot.is_open) out->e[i] = open_error(v->dtype);
        out->is_exact = out->is_exact && out->e[i] == 0;
    }
}

/* ---- reductions ---- */

bool eval_advance(const struct eval *ev, const int *axes, int n) {
    for (int i = n - 1; i >= 0; i--) {
        if (++ev->at[axes[i]] < ev->extents[axes[i]]) return true;
        ev->at[axes[i]] = 0;
    }
    return false;
}

/* The terms where evaluation stands: lines along the last axis, the others stepped around them. */
static void go_through(
    struct eval *ev, const struct value *v, struct oracle_line *lines, struct total *total, bool rechecks) {
    const struct oracle_body *operand = ev->nodes[v->id].operand;
    int inner = v->n_reduced > 0 ? v->reduced[v->n_reduced - 1] : -1;
    bool is_empty = false;
    for (int i = 0; i < v->n_reduced; i++) {
        ev->at[v->reduced[i]] = 0;
        is_empty = is_empty || ev->extents[v->reduced[i]] == 0;
    }
    if (is_empty) return;
    int64_t extent = inner >= 0 ? ev->extents[inner] : 1;
    do {
        for (int64_t start = 0; start < extent; start += LINE) {
            int n = extent - start < LINE ? (int)(extent - start) : LINE;
            if (inner >= 0) ev->at[inner] = start;
            eval_body(ev, operand, inner, n, lines);
            if (rechecks) total_recheck(total, &lines[operand->n_steps - 1], start, n);
            else total_add(total, &lines[operand->n_steps - 1], 0, n);
        }
        if (inner >= 0) ev->at[inner] = 0;
    } while (eval_advance(ev, v->reduced, v->n_reduced - 1));
}

static void reduce_line(
    struct eval *ev, const struct step *s, int axis, int n, struct oracle_line *out, struct oracle_line *inside) {
    const struct value *v = s->value;
    out->is_exact = true;
    out->has_m = s->carries_m;
    for (int i = 0; i < n; i++) {
        struct total total = total_of_nothing(v->reduction, v->args[0]->dtype, ev->kind);
        total.is_short = s->is_short;
        go_through(ev, v, inside, &total, false);
        if (total_is_open(&total)) go_through(ev, v, inside, &total, true);
        struct approx x = total_value(&total);
        out->i[i] = x.i;
        out->e[i] = x.e;
        if (s->carries_m) out->m[i] = total.magnitude;
        out->is_exact = out->is_exact && x.e == 0;
        if (axis >= 0) ev->at[axis]++;
    }
    if (axis >= 0) ev->at[axis] -= n;
}

/* ---- a body ---- */

static bool varies_along(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

static void spread(struct oracle_line *x, int n) {
    for (int i = 1; i < n; i++) x->i[i] = x->i[0], x->e[i] = x->e[0];
}

void eval_body(struct eval *ev, const struct oracle_body *b, int axis, int n, struct oracle_line *lines) {
    for (int i = 0; i < b->n_steps; i++) {
        const struct step *s = &b->steps[i];
        const struct value *v = s->value;
        struct oracle_line *out = &lines[i];
        out->has_m = out->has_s = false;
        if (s->is_fetched) {
            fetch_line(ev, v, axis, n, out);
            continue;
        }
        bool is_constant = ev->nodes[v->id].is_inline && !varies_along(v, axis) &&
                           !ev->has_positions; /* what is inline may lack the body's axes */
        int m = is_constant ? 1 : n;
        if (v->kind == V_OP) op_line(ev, b, s, lines, m, out);
        else if (v->kind == V_CAST) cast_line(s, &lines[s->args[0]], m, out);
        else if (v->kind == V_REDUCE) reduce_line(ev, s, axis, m, out, lines + b->n_steps + 1);
        else if (v->kind == V_ACCESS) access_line(ev, s, axis, m, lines, out, lines + b->n_steps + 1);
        else index_line(ev, v, axis, m, out);
        if (m < n) spread(out, n);
    }
}
