/* Values of nodes as dense arrays over their axes, each computed once: by graph, or within one group of a partition. */
#include "ir_eval.h"

#include <math.h>
#include <string.h>

#include "fuse/fuse.h"

struct evaluator {
    struct arena *arena;
    const struct graph *g;
    const struct ir_data *data;
    int64_t *extents;          /* of every axis of the graph */
    struct ir_value **values;   /* by node: its elements, axes ascending; NULL: not yet */
    int64_t *at;               /* by axis of the kernel: where it stands */
    const struct partition *p; /* NULL: the graph as it is */
    const struct group *r;     /* whose values these are */
    struct ir_value **buffers;  /* by buffer of p: its elements in its own order; NULL: not written */
    bool is_rounded;           /* what is narrower than f32 in a kernel is rounded */
    int64_t *n_lost;           /* elements that this changed */
    const char *wrong;
};

/* ---- places ---- */

static int64_t size_of(const int64_t *extents, const int *axes, int n) {
    int64_t size = 1;
    for (int i = 0; i < n; i++) size *= extents[axes[i]];
    return size;
}

/* Row-major index of ev->at within an array over axes. */
static int64_t place(const struct evaluator *ev, const int *axes, int n) {
    int64_t index = 0;
    for (int i = 0; i < n; i++) index = index * ev->extents[axes[i]] + ev->at[axes[i]];
    return index;
}

/* Moves ev->at to element i of an array over axes. */
static void move(struct evaluator *ev, const int *axes, int n, int64_t i) {
    for (int a = n - 1; a >= 0; a--) {
        int64_t extent = ev->extents[axes[a]];
        ev->at[axes[a]] = i % extent;
        i /= extent;
    }
}

int64_t ir_param_size(const struct kernel *k, int param, const int64_t *extents) {
    return size_of(extents, k->params[param].axes, k->params[param].n_axes);
}

/* ---- nodes ---- */

static struct ir_value *value(struct evaluator *ev, const struct node *n);

static struct ir_value *refuse(struct evaluator *ev, const struct node *n, const char *what) {
    if (!ev->wrong) ev->wrong = arena_printf(&ev->g->cx->arena, "node %%%d %s", n->id, what);
    return NULL;
}

static struct ir_value of_num(double num) { return (struct ir_value){.num = num}; }
static struct ir_value of_integer(int64_t v) { return (struct ir_value){.integer = v}; }

/* The op over operands of dtype t. */
static struct ir_value operate(enum op op, enum fx_dtype t, const struct ir_value *x) {
    if (!fx_is_integer(t)) return of_num(op_eval(op, x[0].num, x[1].num, x[2].num));
    int64_t first = op == O_WHERE ? x[0].num != 0 : x[0].integer,
            r = op_eval_integer(op, t, first, x[1].integer, x[2].integer);
    bool is_condition = op_info[op].rule == RULE_COMPARE;
    return is_condition ? of_num((double)r) : of_integer(r);
}

static struct ir_value start_of(enum reduction r, enum fx_dtype t) {
    if (t == FX_BOOL) return of_num(r == RED_PROD || r == RED_MIN);
    if (!fx_is_integer(t)) return of_num(r == RED_SUM ? 0 : r == RED_PROD ? 1 : r == RED_MAX ? -INFINITY : INFINITY);
    if (r == RED_SUM || r == RED_PROD) return of_integer(r == RED_PROD);
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    int bits = fx_dtype_bits(t);
    int64_t least = is_signed ? (int64_t)(~0ull << (bits - 1)) : 0, most = is_signed    ? ~least
                                                                           : bits == 64 ? -1
                                                                                        : (int64_t)((1ull << bits) - 1);
    return of_integer(r == RED_MAX ? least : most);
}

static struct ir_value join(enum reduction r, enum fx_dtype t, struct ir_value a, struct ir_value b) {
    const struct ir_value x[3] = {a, b};
    return operate(r == RED_SUM ? O_ADD : r == RED_PROD ? O_MUL : r == RED_MAX ? O_MAX : O_MIN, t, x);
}

static struct ir_value element(const struct evaluator *ev, const struct node *n, const struct ir_value *elements) {
    return elements[place(ev, n->axes, n->n_axes)];
}

/* What the arithmetic at hand makes of a float that was just computed. */
static struct ir_value settled(const struct evaluator *ev, enum fx_dtype t, struct ir_value v) {
    if (ev->data->arithmetic == IR_F32 && t == FX_F32) v.num = (float)v.num;
    if (ev->data->arithmetic == IR_MAGNITUDE && fx_is_float(t)) v.num = fabs(v.num);
    return v;
}

static enum op op_of(const struct evaluator *ev, const struct node *n) {
    return ev->data->arithmetic == IR_MAGNITUDE && n->op == O_SUB ? O_ADD : n->op;
}

/* Whether b comes before a as an extreme: it is beyond it, or the first NaN. */
static bool is_more_extreme(enum reduction r, enum fx_dtype t, struct ir_value a, struct ir_value b) {
    const struct ir_value x[3] = {b, a};
    if (!fx_is_integer(t) && (isnan(a.num) || isnan(b.num))) return isnan(b.num) && !isnan(a.num);
    return operate(r == RED_ARGMAX ? O_GT : O_LT, t, x).num != 0;
}

static struct ir_value index_of_extreme(struct evaluator *ev, const struct node *n, const struct ir_value *elements) {
    struct ir_value best = {0};
    int64_t at = 0;
    for (int64_t i = 0; i < ev->extents[n->reduced[0]]; i++) {
        ev->at[n->reduced[0]] = i;
        struct ir_value v = element(ev, n->args[0], elements);
        if (i == 0 || is_more_extreme(n->reduction, n->args[0]->dtype, best, v)) best = v, at = i;
    }
    return of_integer(at);
}

/* n at ev->at, from an operand's elements, or from the product of two factors'. */
static struct ir_value reduced(struct evaluator *ev, const struct node *n, const struct node *const *from,
    struct ir_value *const *elements, int n_from) {
    if (n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN) return index_of_extreme(ev, n, elements[0]);
    struct ir_value total = start_of(n->reduction, n->dtype);
    int64_t size = size_of(ev->extents, n->reduced, n->n_reduced);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->reduced, n->n_reduced, i);
        struct ir_value term = element(ev, from[0], elements[0]);
        if (n_from > 1) term = join(RED_PROD, n->dtype, term, element(ev, from[1], elements[1]));
        total = settled(ev, n->dtype, join(n->reduction, n->dtype, total, term));
    }
    return total;
}

static struct ir_value scanned(struct evaluator *ev, const struct node *n, struct ir_value *const *args) {
    int64_t last = ev->at[n->axis];
    if (n->reduction == RED_RECUR) {
        struct ir_value h = {0};
        for (int64_t i = 0; i <= last; i++) {
            ev->at[n->axis] = i;
            struct ir_value b = element(ev, n->args[0], args[0]), x[3] = {element(ev, n->args[1], args[1]), h, b};
            h = i == 0 ? b : settled(ev, n->dtype, operate(O_FMA, n->dtype, x));
        }
        return h;
    }
    struct ir_value total = start_of(n->reduction, n->dtype);
    for (int64_t i = 0; i <= last; i++) {
        ev->at[n->axis] = i;
        total = settled(ev, n->dtype, join(n->reduction, n->dtype, total, element(ev, n->args[0], args[0])));
    }
    return total;
}

/* Of the run that the element stands in, in ascending order. */
static struct ir_value shared(struct evaluator *ev, const struct node *n, const struct ir_value *elements) {
    int64_t first = ev->at[n->axis] / n->run * n->run;
    struct ir_value total = start_of(n->reduction, n->dtype);
    if (!n->is_ragged && ev->extents[n->axis] % n->run) return refuse(ev, n, "is shared by a run that is cut"), total;
    for (int64_t i = first; i < first + n->run && i < ev->extents[n->axis]; i++) {
        ev->at[n->axis] = i;
        total = settled(ev, n->dtype, join(n->reduction, n->dtype, total, element(ev, n->args[0], elements)));
    }
    return total;
}

static struct ir_value converted(const struct node *n, struct ir_value x) {
    enum fx_dtype from = n->args[0]->dtype;
    bool from_integer = fx_is_integer(from);
    if (node_is_stored(n) && n->to == from) return x; /* a copy: doubles stand for f32 everywhere */
    if (n->to == FX_BOOL) return of_num(from_integer ? x.integer != 0 : x.num != 0);
    if (fx_is_float(n->to))
        return of_num(fx_round_to(n->to, from_integer ? fx_integer_to_double(from, x.integer) : x.num));
    return of_integer(from_integer ? fx_wrap(n->to, x.integer) : fx_saturate(n->to, x.num));
}

static struct ir_value accessed(struct evaluator *ev, const struct node *n, struct ir_value *const *args) {
    int64_t positions[MAX_AXES];
    bool is_inside = true;
    for (int i = 0; i < n->n_at; i++) {
        positions[i] = element(ev, n->args[1 + i], args[1 + i]).integer;
        is_inside &= positions[i] >= 0 && positions[i] < ev->extents[n->at[i]];
    }
    if (!is_inside && n->has_fill) return element(ev, n->args[1 + n->n_at], args[1 + n->n_at]);
    if (!is_inside) return refuse(ev, n, "reads outside what it reads"), of_num(0);
    for (int i = 0; i < n->n_at; i++) ev->at[n->at[i]] = positions[i];
    return element(ev, n->args[0], args[0]);
}

static struct ir_value computed_element(struct evaluator *ev, const struct node *n, struct ir_value *const *args) {
    struct ir_value x[3] = {0};
    switch (n->kind) {
    case N_CONST: return fx_is_integer(n->dtype) ? of_integer(n->integer) : settled(ev, n->dtype, of_num(n->num));
    case N_SCALAR: return settled(ev, n->dtype, ev->data->params[n->param][0]);
    case N_INPUT:
        return settled(ev, n->dtype,
            ev->data->params[n->param]
                            [place(ev, ev->g->kernel->params[n->param].axes, ev->g->kernel->params[n->param].n_axes)]);
    case N_INDEX: return of_integer(ev->at[n->axis]);
    case N_SIZE: return of_integer(ev->extents[n->axis]);
    case N_OP:
        for (int a = 0; a < n->n_args; a++) x[a] = element(ev, n->args[a], args[a]);
        return settled(ev, n->dtype, operate(op_of(ev, n), n->args[n->n_args - 1]->dtype, x));
    case N_REDUCE: return reduced(ev, n, (const struct node *const *)n->args, args, 1);
    case N_SCAN: return scanned(ev, n, args);
    case N_SHARE: return shared(ev, n, args[0]);
    case N_CAST: return converted(n, element(ev, n->args[0], args[0]));
    case N_ACCESS: return accessed(ev, n, args);
    case N_PLACE: return element(ev, n->args[0], args[0]); /* where it goes: placed() */
    }
    return x[0];
}

static struct ir_value *computed(struct evaluator *ev, const struct node *n) {
    int64_t size = size_of(ev->extents, n->axes, n->n_axes);
    struct ir_value *args[MAX_ARGS] = {0}, *out = NEW_ARRAY(ev->arena, struct ir_value, size + 1);
    for (int i = 0; i < n->n_args; i++)
        if (!(args[i] = value(ev, n->args[i]))) return NULL;
    for (int64_t i = 0; i < size && !ev->wrong; i++) {
        move(ev, n->axes, n->n_axes, i);
        out[i] = computed_element(ev, n, args);
    }
    return ev->wrong ? NULL : out;
}

/* ---- what a group may read ---- */

static struct ir_value *from_buffer(struct evaluator *ev, const struct node *n, int buffer) {
    if (buffer < 0 || buffer >= ev->p->n_buffers) return refuse(ev, n, "is read, but no buffer holds it");
    const struct buffer *b = &ev->p->buffers[buffer];
    if (b->value != n) return refuse(ev, n, "is read from a buffer that holds another value");
    if (!ev->buffers[buffer]) return refuse(ev, n, "is read from a buffer not yet written");
    int64_t size = size_of(ev->extents, n->axes, n->n_axes);
    struct ir_value *out = NEW_ARRAY(ev->arena, struct ir_value, size + 1);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->axes, n->n_axes, i);
        out[i] = ev->buffers[buffer][place(ev, b->axes, b->n_axes)];
    }
    return out;
}

static bool is_same(double a, double b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

/* The elements as a narrower float holds them. */
static void round_all(struct evaluator *ev, struct ir_value *out, int64_t size, enum fx_dtype dtype) {
    for (int64_t i = 0; ev->is_rounded && fx_is_float(dtype) && dtype != FX_F32 && i < size; i++) {
        double rounded = fx_round_to(dtype, out[i].num);
        *ev->n_lost += !is_same(rounded, out[i].num);
        out[i].num = rounded;
    }
}

/* A factor computed as it is loaded: of nothing that the mainloop itself adds up. */
static struct ir_value *made(struct evaluator *ev, const struct node *factor, enum fx_dtype dtype) {
    int64_t size = size_of(ev->extents, factor->axes, factor->n_axes);
    struct ir_value *from = value(ev, factor), *out = NEW_ARRAY(ev->arena, struct ir_value, size + 1);
    if (!from) return NULL;
    memcpy(out, from, (size_t)size * sizeof *out);
    round_all(ev, out, size, dtype);
    return out;
}

/* v, of a function of two factors. */
static struct ir_value paired(struct evaluator *ev, const struct node *v, const struct node *const *factors,
    struct ir_value *const *elements) {
    struct ir_value x[MAX_ARGS] = {0};
    for (int s = 0; s < 2; s++)
        if (v == factors[s]) return element(ev, v, elements[s]);
    if (v->kind == N_CONST) return of_num(v->num);
    for (int i = 0; i < v->n_args; i++) x[i] = paired(ev, v->args[i], factors, elements);
    return operate(v->op, v->dtype, x);
}

static struct ir_value sum_of_pairs(struct evaluator *ev, const struct node *n, const struct node *const *factors,
    struct ir_value *const *elements) {
    const int64_t size = size_of(ev->extents, n->reduced, n->n_reduced);
    struct ir_value total = of_num(0);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->reduced, n->n_reduced, i);
        total = join(RED_SUM, n->dtype, total, paired(ev, n->args[0], factors, elements));
    }
    return total;
}

/* A contraction of ev->r, its factors as its mainloop loads them: from memory, or computed, the last one's of a chain
 * out of the others; both in one dtype, or as 8-bit integers. */
static struct ir_value *contraction(struct evaluator *ev, const struct product *x) {
    const struct node *n = x->sum;
    struct contraction c;
    struct ir_value *elements[2];
    const struct node *factors[2] = {x->factor[0], x->factor[1]};
    if (x->is_pairing && !as_pairing(ev->g, n, &c))
        return refuse(ev, n, "is another function than its mainloop adds up");
    if (!x->is_pairing && !as_contraction(n, &c)) return refuse(ev, n, "is no contraction");
    if (!((c.a == factors[0] && c.b == factors[1]) || (c.a == factors[1] && c.b == factors[0])))
        return refuse(ev, n, "has other factors");
    for (int s = 0; s < 2; s++) {
        int b = x->buffer[s];
        bool is_stored = factors[s]->kind == N_INPUT && ev->g->kernel->params[factors[s]->param].dtype == x->dtype[s];
        if (b >= 0 && ev->p->buffers[b].dtype != x->dtype[s])
            return refuse(ev, n, "has a factor in a buffer of another dtype");
        if (!(elements[s] = b >= 0      ? from_buffer(ev, factors[s], b)
                            : is_stored ? computed(ev, factors[s])
                                        : made(ev, factors[s], x->dtype[s])))
            return NULL;
    }
    bool are_bytes = fx_dtype_bits(x->dtype[0]) == 8 && fx_dtype_bits(x->dtype[1]) == 8 &&
                     fx_is_float(x->dtype[0]) == fx_is_float(x->dtype[1]) && (n->dtype == FX_I32 || n->dtype == FX_F32);
    if (x->dtype[0] != x->dtype[1] && !are_bytes) return refuse(ev, n, "has factors of two dtypes");
    int64_t size = size_of(ev->extents, n->axes, n->n_axes);
    struct ir_value *out = NEW_ARRAY(ev->arena, struct ir_value, size + 1);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->axes, n->n_axes, i);
        out[i] = x->is_pairing ? sum_of_pairs(ev, n, factors, elements) : reduced(ev, n, factors, elements, 2);
    }
    return out;
}

static bool is_written_here(const struct evaluator *ev, int buffer) {
    for (int i = 0; i < ev->r->n_stores; i++)
        if (ev->r->stores[i].buffer == buffer) return true;
    return false;
}

/* Whether n is added up by a mainloop alone. */
static bool is_for_mainloop(const struct evaluator *ev, const struct node *n) {
    struct contraction c;
    if (as_mainloop(n, &c) && fuse_is_for_epilogue(ev->g, n)) return false;
    return ev->p->has_rows ? is_matrix_product(ev->g, n) : as_mainloop(n, &c);
}

static struct ir_value *value(struct evaluator *ev, const struct node *n) {
    struct ir_value **v = &ev->values[n->id];
    if (*v) return *v;
    if (ev->p && ev->r->is_copy && n == ev->p->buffers[ev->r->copied].value)
        return *v = from_buffer(ev, n, ev->r->copied);
    if (ev->p && node_is_stored(n)) { /* its readers take it from memory, the group that writes it computes it */
        int b = node_buffer(ev->p, n);
        return *v = is_written_here(ev, b) ? computed(ev, n) : from_buffer(ev, n, b);
    }
    if (!ev->p || (n->kind != N_REDUCE && n->kind != N_SCAN)) return *v = computed(ev, n);
    int buffer = find_buffer(ev->p, n, n->dtype);
    bool is_read = buffer >= 0 && !is_written_here(ev, buffer);
    int sum = group_sum(ev->r, n);
    if (sum >= 0) *v = contraction(ev, &ev->r->sums[sum]);
    else if (ev->r->intermediate && is_row_step(ev->r, n)) *v = computed(ev, n);
    else if (is_read || is_for_mainloop(ev, n)) *v = from_buffer(ev, n, buffer);
    else *v = computed(ev, n); /* a step of a row program, a loop of a thread */
    return *v;
}

/* ---- results ---- */

/* What a parameter held, with n where its positions say; each element at most once. */
static struct ir_value *placed(struct evaluator *ev, const struct node *n) {
    const struct param *p = &ev->g->kernel->params[n->param];
    int64_t size = size_of(ev->extents, n->axes, n->n_axes), whole = size_of(ev->extents, p->axes, p->n_axes);
    struct ir_value *out = NEW_ARRAY(ev->arena, struct ir_value, whole + 1), *from = value(ev, n), *at[MAX_ARGS];
    bool *is_stored = NEW_ARRAY(ev->arena, bool, whole + 1);
    for (int i = 1; i < n->n_args && from; i++)
        if (!(at[i] = value(ev, n->args[i]))) from = NULL;
    if (!from) return NULL;
    for (int64_t i = 0; i < whole; i++) out[i] = settled(ev, n->dtype, ev->data->params[n->param][i]);
    for (int64_t i = 0; i < size && !ev->wrong; i++) {
        int64_t positions[MAX_AXES], to;
        bool is_inside = true;
        move(ev, n->axes, n->n_axes, i);
        for (int k = 0; k < n->n_at; k++) {
            positions[k] = element(ev, n->args[1 + k], at[1 + k]).integer;
            bool is_in = positions[k] >= 0 && positions[k] < ev->extents[n->at[k]];
            if (!is_in && !(n->may_miss >> k & 1)) refuse(ev, n, "is stored outside where it never may be");
            is_inside &= is_in;
        }
        if (!is_inside) continue;
        for (int k = 0; k < n->n_at; k++) ev->at[n->at[k]] = positions[k];
        to = place(ev, p->axes, p->n_axes);
        if (is_stored[to]) refuse(ev, n, "is stored twice to one element");
        is_stored[to] = true, out[to] = from[i];
    }
    return ev->wrong ? NULL : out;
}

/* A value spread over the axes of where it is stored, in their order. */
static struct ir_value *stored(struct evaluator *ev, const struct node *n, const int *axes, int n_axes) {
    if (n->kind == N_PLACE) return placed(ev, n);
    struct ir_value *from = value(ev, n);
    if (!from) return NULL;
    for (int i = 0; i < n->n_axes; i++) {
        bool found = false;
        for (int j = 0; j < n_axes; j++) found |= axes[j] == n->axes[i];
        if (!found) return refuse(ev, n, "is stored where one of its axes is missing");
    }
    int64_t size = size_of(ev->extents, axes, n_axes);
    struct ir_value *out = NEW_ARRAY(ev->arena, struct ir_value, size + 1);
    for (int64_t i = 0; i < size; i++) {
        move(ev, axes, n_axes, i);
        out[i] = from[place(ev, n->axes, n->n_axes)];
    }
    return out;
}

/* Equal as sets, neither with an axis twice. */
static bool is_same_space(const int *a, int n_a, const int *b, int n_b) {
    for (int i = 0; i < n_a; i++) {
        int found = 0;
        for (int j = 0; j < n_b; j++) found += a[i] == b[j];
        if (found != 1) return false;
    }
    return n_a == n_b;
}

static struct evaluator evaluator(struct arena *a, const struct graph *g, const struct ir_data *d) {
    struct evaluator ev = {.arena = a,
        .g = g,
        .data = d,
        .values = NEW_ARRAY(a, struct ir_value *, g->n_nodes + 1),
        .at = NEW_ARRAY(a, int64_t, g->kernel->n_axes + 1),
        .extents = NEW_ARRAY(a, int64_t, g->kernel->n_axes + 1)};
    const struct fx_env env = {.extents = ev.extents};
    memcpy(ev.extents, d->extents, (size_t)d->n_extents * sizeof *ev.extents);
    for (int i = d->n_extents; i < g->kernel->n_axes; i++)
        ev.extents[i] = g->kernel->axes[i].extent; /* of passes; those that are open follow */
    for (int i = 0; i < g->kernel->n_equations; i++) {
        const struct equation *q = &g->kernel->equations[i];
        if (q->axis >= d->n_extents) fx_expr_eval(&q->value, &env, &ev.extents[q->axis]);
    }
    return ev;
}

struct ir_value **ir_eval(struct arena *a, const struct graph *g, const struct ir_data *d, const char **wrong) {
    struct evaluator ev = evaluator(a, g, d);
    struct ir_value **out = NEW_ARRAY(a, struct ir_value *, g->n_outputs + 1);
    for (int i = 0; i < g->n_outputs && !ev.wrong; i++) {
        const struct param *p = &g->kernel->params[g->outputs[i].param];
        out[i] = stored(&ev, g->outputs[i].value, p->axes, p->n_axes);
    }
    if (wrong) *wrong = ev.wrong;
    return ev.wrong ? NULL : out;
}

static void write_buffer(struct evaluator *ev, int buffer) {
    const struct buffer *b = &ev->p->buffers[buffer];
    struct ir_value *out = stored(ev, b->value, b->axes, b->n_axes);
    if (!out) return;
    if (ev->buffers[buffer]) refuse(ev, b->value, "is a buffer written twice");
    if (!is_same_space(b->axes, b->n_axes, b->value->axes, b->value->n_axes))
        refuse(ev, b->value, "is a buffer over other axes");
    round_all(ev, out, size_of(ev->extents, b->axes, b->n_axes), b->dtype);
    ev->buffers[buffer] = out;
}

/* The buffers that a parameter holds once it is stored to are what then lies there. */
static void hold(struct evaluator *ev, int param, struct ir_value **out) {
    const struct param *p = &ev->g->kernel->params[param];
    for (int b = 0; b < ev->p->n_buffers; b++) {
        if (ev->p->buffers[b].held != 1 + param) continue;
        for (int o = 0; o < ev->g->n_outputs; o++)
            if (ev->g->outputs[o].param == param) ev->buffers[b] = out[o];
        round_all(ev, ev->buffers[b], size_of(ev->extents, p->axes, p->n_axes), p->dtype);
    }
}

/* The rows of a chain's intermediate: axes of its result that the intermediate has. */
static int rows_of_chain(const struct group *r, int *rows) {
    int n = 0;
    for (int i = 0; i < r->n_axes; i++)
        if (node_has_axis(r->intermediate, r->axes[i])) rows[n++] = r->axes[i];
    return n;
}

/* The steps of a chain reduce the rows of its intermediate, whose other sums are over these and what is reduced, and
 * which the last one alone reads. */
static void check_chain(struct evaluator *ev, const struct group *r) {
    int rows[MAX_AXES], n_rows = rows_of_chain(r, rows);
    const struct product *last = &r->sums[r->n_sums - 1];
    if (last->sum != r->contraction || last->factor[0] != r->intermediate || last->buffer[0] >= 0 || r->n_sums < 2)
        refuse(ev, r->contraction, "does not end its chain");
    for (int s = 0; s < r->n_steps + r->n_sums - 1; s++) {
        const struct node *n = s < r->n_steps ? r->steps[s] : r->sums[s - r->n_steps].sum;
        bool is_step = s < r->n_steps,
             fits = n->kind == N_REDUCE &&
                    (!is_step || is_same_space(n->reduced, n->n_reduced, r->reduced, r->n_reduced));
        for (int i = 0; i < n->n_axes; i++) {
            bool found = false;
            for (int k = 0; k < n_rows; k++) found |= rows[k] == n->axes[i];
            for (int k = 0; k < r->n_reduced && !is_step; k++) found |= r->reduced[k] == n->axes[i];
            fits &= found;
        }
        if (!fits) refuse(ev, n, "is part of a chain it does not fit");
    }
}

/* The steps of a row program reduce its rows, or run along them. */
static void check_steps(struct evaluator *ev, const struct group *r) {
    if (r->intermediate) {
        check_chain(ev, r);
        return;
    }
    for (int s = 0; s < r->n_steps; s++) {
        const struct node *n = r->steps[s];
        const int *over = n->kind == N_SCAN ? &n->axis : n->reduced;
        bool fits = is_same_space(over, n->kind == N_SCAN ? 1 : n->n_reduced, r->reduced, r->n_reduced);
        for (int i = 0; i < r->n_axes; i++) fits &= node_has_axis(n, r->axes[i]);
        if (!r->is_row || !fits || n->n_axes != r->n_axes + (n->kind == N_SCAN))
            refuse(ev, n, "is a step of rows it does not fit");
    }
}

static void run_group(struct evaluator *ev, const struct group *r, struct ir_value **out) {
    const struct graph *g = ev->g;
    ev->r = r;
    check_steps(ev, r);
    memset(ev->values, 0, (size_t)g->n_nodes * sizeof *ev->values);
    for (int s = 0; s < r->n_stores && !ev->wrong; s++) {
        const struct store *t = &r->stores[s];
        const struct axis_set space = t->param >= 0 ? store_space(g, t->value, t->param)
                                                    : (struct axis_set){ev->p->buffers[t->buffer].n_axes,
                                                          ev->p->buffers[t->buffer].axes};
        const int *axes = space.axes, n_axes = space.n;
        int both[2 * MAX_AXES];
        memcpy(both, r->axes, sizeof r->axes);
        memcpy(both + r->n_axes, r->reduced, sizeof r->reduced);
        bool is_of_elements = r->is_row && is_same_space(axes, n_axes, both, r->n_axes + r->n_reduced);
        struct partial_of x; /* of runs of tiles, or of rows: what is reduced has the axes of the group's elements */
        is_of_elements |= is_partial_store(g, r, t, &x) &&
                          is_same_space(x.of->axes, x.of->n_axes, both, r->n_axes + (r->is_row ? r->n_reduced : 0));
        int rows[MAX_AXES], n_rows = r->intermediate ? rows_of_chain(r, rows) : 0;
        bool is_of_rows = r->intermediate && is_same_space(axes, n_axes, rows, n_rows);
        if (!is_of_elements && !is_of_rows && !is_same_space(axes, n_axes, r->axes, r->n_axes))
            refuse(ev, t->value, "is stored over other axes than its group runs over");
        else if (t->buffer >= 0 && ev->p->buffers[t->buffer].value != t->value)
            refuse(ev, t->value, "is stored to the buffer of another value");
        else if (t->buffer >= 0) write_buffer(ev, t->buffer);
        for (int o = 0; o < g->n_outputs && t->param >= 0 && !ev->wrong; o++)
            if (g->outputs[o].param == t->param)
                out[o] = out[o] ? refuse(ev, t->value, "is an output stored twice")
                                : stored(ev, t->value, axes, n_axes);
        if (t->param >= 0 && !ev->wrong) hold(ev, t->param, out);
    }
}

struct ir_value **ir_eval_partition(struct arena *a, const struct graph *g, const struct partition *p,
    const struct ir_data *d, bool is_rounded, int64_t *n_lost, const char **wrong) {
    struct evaluator ev = evaluator(a, g, d);
    struct ir_value **out = NEW_ARRAY(a, struct ir_value *, g->n_outputs + 1);
    ev.p = p;
    ev.buffers = NEW_ARRAY(a, struct ir_value *, p->n_buffers + 1);
    *n_lost = 0;
    ev.is_rounded = is_rounded;
    ev.n_lost = n_lost;
    for (int i = 0; i < p->n_groups && !ev.wrong; i++) run_group(&ev, &p->groups[i], out);
    for (int o = 0; o < g->n_outputs && !ev.wrong; o++)
        if (!out[o]) refuse(&ev, g->outputs[o].value, "is an output never stored");
    *wrong = ev.wrong;
    return ev.wrong ? NULL : out;
}
