/* Values of nodes as dense arrays over their axes, each computed once: by graph, or within one group of a partition. */
#include "ir_eval.h"

#include <math.h>
#include <string.h>

struct evaluator {
    struct arena *arena;
    const struct graph *g;
    const struct ir_data *data;
    double **values;           /* by node: its elements, axes ascending; NULL: not yet */
    int64_t *at;               /* by axis of the kernel: where it stands */
    const struct partition *p; /* NULL: the graph as it is */
    const struct group *r;     /* whose values these are */
    double **buffers;          /* by buffer of p: its elements in its own order; NULL: not written */
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
    for (int i = 0; i < n; i++) index = index * ev->data->extents[axes[i]] + ev->at[axes[i]];
    return index;
}

/* Moves ev->at to element i of an array over axes. */
static void move(struct evaluator *ev, const int *axes, int n, int64_t i) {
    for (int a = n - 1; a >= 0; a--) {
        int64_t extent = ev->data->extents[axes[a]];
        ev->at[axes[a]] = i % extent;
        i /= extent;
    }
}

int64_t ir_param_size(const struct kernel *k, int param, const int64_t *extents) {
    return size_of(extents, k->params[param].axes, k->params[param].n_axes);
}

/* ---- nodes ---- */

static double *value(struct evaluator *ev, const struct node *n);

static double *refuse(struct evaluator *ev, const struct node *n, const char *what) {
    if (!ev->wrong) ev->wrong = arena_printf(&ev->g->cx->arena, "node %%%d %s", n->id, what);
    return NULL;
}

static double start_of(enum reduction r) { return r == RED_SUM ? 0 : r == RED_PROD ? 1 : r == RED_MAX ? -INFINITY : INFINITY; }

static double join(enum reduction r, double a, double b) {
    return op_eval(r == RED_SUM ? O_ADD : r == RED_PROD ? O_MUL : r == RED_MAX ? O_MAX : O_MIN, a, b, 0);
}

/* n at ev->at, from an operand's elements, or from the product of two factors'. */
static double reduced(struct evaluator *ev, const struct node *n, const struct node *const *from, double *const *elements, int n_from) {
    double total = start_of(n->reduction);
    int64_t size = size_of(ev->data->extents, n->reduced, n->n_reduced);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->reduced, n->n_reduced, i);
        double term = elements[0][place(ev, from[0]->axes, from[0]->n_axes)];
        if (n_from > 1) term *= elements[1][place(ev, from[1]->axes, from[1]->n_axes)];
        total = join(n->reduction, total, term);
    }
    return total;
}

static double *computed(struct evaluator *ev, const struct node *n) {
    double *args[3] = {0}, *out = NEW_ARRAY(ev->arena, double, size_of(ev->data->extents, n->axes, n->n_axes) + 1);
    for (int i = 0; i < n->n_args; i++)
        if (!(args[i] = value(ev, n->args[i]))) return NULL;
    int64_t size = size_of(ev->data->extents, n->axes, n->n_axes);
    for (int64_t i = 0; i < size; i++) {
        double x[3] = {0};
        move(ev, n->axes, n->n_axes, i);
        for (int a = 0; a < n->n_args && n->kind != N_REDUCE; a++) x[a] = args[a][place(ev, n->args[a]->axes, n->args[a]->n_axes)];
        switch (n->kind) {
        case N_CONST: out[i] = n->num; break;
        case N_SCALAR: out[i] = ev->data->params[n->param][0]; break;
        case N_INPUT: {
            const struct param *p = &ev->g->kernel->params[n->param];
            out[i] = ev->data->params[n->param][place(ev, p->axes, p->n_axes)];
            break;
        }
        case N_OP: out[i] = op_eval(n->op, x[0], x[1], x[2]); break;
        case N_CAST: out[i] = fx_round_to(n->to, x[0]); break;
        default: break;
        case N_REDUCE: out[i] = reduced(ev, n, (const struct node *const *)n->args, args, 1); break;
        }
    }
    return out;
}

/* ---- what a group may read ---- */

static double *from_buffer(struct evaluator *ev, const struct node *n, int buffer) {
    if (buffer < 0 || buffer >= ev->p->n_buffers) return refuse(ev, n, "is read, but no buffer holds it");
    const struct buffer *b = &ev->p->buffers[buffer];
    if (b->value != n) return refuse(ev, n, "is read from a buffer that holds another value");
    if (!ev->buffers[buffer]) return refuse(ev, n, "is read from a buffer not yet written");
    int64_t size = size_of(ev->data->extents, n->axes, n->n_axes);
    double *out = NEW_ARRAY(ev->arena, double, size + 1);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->axes, n->n_axes, i);
        out[i] = ev->buffers[buffer][place(ev, b->axes, b->n_axes)];
    }
    return out;
}

/* The contraction of ev->r, its factors as its mainloop loads them: from memory, both in one dtype. */
static double *contraction(struct evaluator *ev) {
    const struct node *n = ev->r->contraction;
    struct contraction c;
    enum fx_dtype dtypes[2];
    double *elements[2];
    if (!as_contraction(n, &c)) return refuse(ev, n, "is no contraction");
    const struct node *factors[2] = {c.a, c.b};
    for (int s = 0; s < 2; s++) {
        int b = ev->r->operand_buffer[s];
        if (b < 0 && factors[s]->kind != N_INPUT) return refuse(ev, factors[s], "is a factor that is neither an input nor in a buffer");
        if (!(elements[s] = b < 0 ? computed(ev, factors[s]) : from_buffer(ev, factors[s], b))) return NULL;
        dtypes[s] = b < 0 ? ev->g->kernel->params[factors[s]->param].dtype : ev->p->buffers[b].dtype;
    }
    if (dtypes[0] != dtypes[1]) return refuse(ev, n, "has factors of two dtypes");
    int64_t size = size_of(ev->data->extents, n->axes, n->n_axes);
    double *out = NEW_ARRAY(ev->arena, double, size + 1);
    for (int64_t i = 0; i < size; i++) {
        move(ev, n->axes, n->n_axes, i);
        out[i] = reduced(ev, n, factors, elements, 2);
    }
    return out;
}

static bool is_stored_here(const struct evaluator *ev, const struct node *n) {
    for (int i = 0; i < ev->r->n_stores; i++)
        if (ev->r->stores[i].value == n) return true;
    return false;
}

static double *value(struct evaluator *ev, const struct node *n) {
    struct contraction c;
    double **v = &ev->values[n->id];
    if (*v) return *v;
    if (!ev->p || n->kind != N_REDUCE) *v = computed(ev, n);
    else if (n == ev->r->contraction) *v = contraction(ev);
    else if (!as_contraction(n, &c) && is_stored_here(ev, n)) *v = computed(ev, n); /* a reduction that is a kernel of its own */
    else *v = from_buffer(ev, n, find_buffer(ev->p, n, FX_F32));
    return *v;
}

/* ---- results ---- */

/* A value spread over the axes of where it is stored, in their order. */
static double *stored(struct evaluator *ev, const struct node *n, const int *axes, int n_axes) {
    double *from = value(ev, n);
    if (!from) return NULL;
    for (int i = 0; i < n->n_axes; i++) {
        bool found = false;
        for (int j = 0; j < n_axes; j++) found |= axes[j] == n->axes[i];
        if (!found) return refuse(ev, n, "is stored where one of its axes is missing");
    }
    int64_t size = size_of(ev->data->extents, axes, n_axes);
    double *out = NEW_ARRAY(ev->arena, double, size + 1);
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
    return (struct evaluator){.arena = a, .g = g, .data = d, .values = NEW_ARRAY(a, double *, g->n_nodes + 1),
                              .at = NEW_ARRAY(a, int64_t, g->kernel->n_axes + 1)};
}

double **ir_eval(struct arena *a, const struct graph *g, const struct ir_data *d) {
    struct evaluator ev = evaluator(a, g, d);
    double **out = NEW_ARRAY(a, double *, g->n_outputs + 1);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct param *p = &g->kernel->params[g->outputs[i].param];
        out[i] = stored(&ev, g->outputs[i].value, p->axes, p->n_axes);
    }
    return out;
}

static bool is_same(double a, double b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

static void write_buffer(struct evaluator *ev, int buffer, bool is_rounded, int64_t *n_lost) {
    const struct buffer *b = &ev->p->buffers[buffer];
    double *out = stored(ev, b->value, b->axes, b->n_axes);
    if (!out) return;
    if (ev->buffers[buffer]) refuse(ev, b->value, "is a buffer written twice");
    if (!is_same_space(b->axes, b->n_axes, b->value->axes, b->value->n_axes)) refuse(ev, b->value, "is a buffer over other axes");
    for (int64_t i = 0; is_rounded && b->dtype != FX_F32 && i < size_of(ev->data->extents, b->axes, b->n_axes); i++) {
        double rounded = fx_round_to(b->dtype, out[i]);
        *n_lost += !is_same(rounded, out[i]);
        out[i] = rounded;
    }
    ev->buffers[buffer] = out;
}

static void run_group(struct evaluator *ev, const struct group *r, bool is_rounded, double **out, int64_t *n_lost) {
    const struct graph *g = ev->g;
    ev->r = r;
    memset(ev->values, 0, (size_t)g->n_nodes * sizeof *ev->values);
    for (int s = 0; s < r->n_stores && !ev->wrong; s++) {
        const struct store *t = &r->stores[s];
        const int *axes = t->param >= 0 ? g->kernel->params[t->param].axes : ev->p->buffers[t->buffer].axes;
        int n_axes = t->param >= 0 ? g->kernel->params[t->param].n_axes : ev->p->buffers[t->buffer].n_axes;
        if (!is_same_space(axes, n_axes, r->axes, r->n_axes)) refuse(ev, t->value, "is stored over other axes than its group runs over");
        else if (t->buffer >= 0 && ev->p->buffers[t->buffer].value != t->value) refuse(ev, t->value, "is stored to the buffer of another value");
        else if (t->buffer >= 0) write_buffer(ev, t->buffer, is_rounded, n_lost);
        for (int o = 0; o < g->n_outputs && t->param >= 0 && !ev->wrong; o++)
            if (g->outputs[o].param == t->param) out[o] = out[o] ? refuse(ev, t->value, "is an output stored twice") : stored(ev, t->value, axes, n_axes);
    }
}

double **ir_eval_partition(struct arena *a, const struct graph *g, const struct partition *p, const struct ir_data *d, bool is_rounded,
                           int64_t *n_lost, const char **wrong) {
    struct evaluator ev = evaluator(a, g, d);
    double **out = NEW_ARRAY(a, double *, g->n_outputs + 1);
    ev.p = p;
    ev.buffers = NEW_ARRAY(a, double *, p->n_buffers + 1);
    *n_lost = 0;
    for (int i = 0; i < p->n_groups && !ev.wrong; i++) run_group(&ev, &p->groups[i], is_rounded, out, n_lost);
    for (int o = 0; o < g->n_outputs && !ev.wrong; o++)
        if (!out[o]) refuse(&ev, g->outputs[o].value, "is an output never stored");
    *wrong = ev.wrong;
    return ev.wrong ? NULL : out;
}
