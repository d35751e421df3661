/* Kernels built by hand: see kernel_build.h. */
#include "kernel_build.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct build *build(const char *labels, const int64_t *extents) {
    struct build *b = calloc(1, sizeof *b);
    arena_init(&b->arena, &b->oom);
    if (setjmp(b->oom)) abort();
    b->labels = labels;
    b->random = 88172645463325252u;
    b->k = (struct kernel){.name = "t", .axes = b->axes, .params = b->params, .values = b->values};
    b->k.n_axes = (int)strlen(labels);
    for (int i = 0; i < b->k.n_axes; i++) {
        b->axes[i] = (struct axis){.name = {labels + i, 1}, .extent = -1};
        b->extents[i] = extents[i];
    }
    return b;
}

void release(struct build *b) {
    arena_release(&b->arena);
    free(b);
}

int axis(const struct build *b, char label) { return (int)(strchr(b->labels, label) - b->labels); }

struct value *value(struct build *b, enum value_kind kind, enum fx_dtype dtype) {
    struct value *v = NEW(&b->arena, struct value);
    v->kind = kind;
    v->dtype = dtype;
    v->id = b->k.n_values;
    b->values[b->k.n_values++] = v;
    return v;
}

void widen(struct value *v, const struct value *from) {
    for (int i = 0; i < from->n_axes; i++) {
        int j = 0;
        while (j < v->n_axes && v->axes[j] != from->axes[i]) j++;
        if (j == v->n_axes) v->axes[v->n_axes++] = from->axes[i];
    }
}

struct value *num(struct build *b, double x) {
    struct value *v = value(b, V_NUM, FX_F32);
    v->num = x;
    return v;
}

struct param *param(struct build *b, enum fx_dtype dtype, const char *labels) {
    struct param *p = &b->params[b->k.n_params++];
    *p = (struct param){.name = "p", .dtype = dtype};
    for (; *labels; labels++) p->axes[p->n_axes++] = axis(b, *labels);
    return p;
}

int64_t numel(const struct build *b, const char *labels) {
    int64_t n = 1;
    for (; *labels; labels++) n *= b->extents[axis(b, *labels)];
    return n;
}

struct value *load(struct build *b, enum fx_dtype dtype, const char *labels, const double *data) {
    int64_t n = numel(b, labels);
    char *stored = arena_alloc(&b->arena, (size_t)n * (size_t)fx_dtype_bits(dtype) / 8);
    for (int64_t i = 0; i < n; i++) fx_store_double(dtype, stored, (size_t)i, data[i]);
    b->inputs[b->k.n_params] = (struct oracle_input){dtype, stored};
    struct param *p = param(b, dtype, labels);
    struct value *v = value(b, V_LOAD, dtype == FX_F64 ? FX_F32 : fx_compute_type(dtype));
    v->param = (int)(p - b->params);
    v->n_axes = p->n_axes;
    memcpy(v->axes, p->axes, sizeof p->axes);
    return v;
}

struct value *scalar(struct build *b, enum fx_dtype dtype, double x) {
    struct value *v = load(b, dtype, "", &x);
    v->kind = V_SCALAR;
    b->params[v->param].is_scalar = true;
    return v;
}

double element(const struct build *b, const struct value *v, int64_t i) {
    return fx_load_double(b->inputs[v->param].dtype, b->inputs[v->param].data, (size_t)i);
}

struct value *op3(struct build *b, enum op op, struct value *x, struct value *y, struct value *z) {
    bool is_bool = op_info[op].rule == RULE_COMPARE || op_info[op].rule == RULE_LOGIC;
    struct value *v = value(b, V_OP, is_bool ? FX_BOOL : op == O_PHILOX ? FX_U32 : FX_F32), *args[3] = {x, y, z};
    v->op = op;
    for (int i = 0; v->dtype == FX_F32 && i < op_info[op].arity; i++)
        if (args[i]->dtype != FX_BOOL) v->dtype = args[i]->dtype;
    for (int i = 0; i < op_info[op].arity; i++) {
        v->args[v->n_args++] = args[i];
        widen(v, args[i]);
    }
    return v;
}
struct value *op2(struct build *b, enum op op, struct value *x, struct value *y) { return op3(b, op, x, y, NULL); }
struct value *op1(struct build *b, enum op op, struct value *x) { return op3(b, op, x, NULL, NULL); }

struct value *reduce(struct build *b, enum reduction r, struct value *x, const char *labels) {
    struct value *v = value(b, V_REDUCE, r == RED_ARGMAX || r == RED_ARGMIN ? FX_I64 : x->dtype);
    v->reduction = r;
    v->args[v->n_args++] = x;
    for (int i = 0; i < x->n_axes; i++) {
        if (strchr(labels, b->labels[x->axes[i]])) v->reduced[v->n_reduced++] = x->axes[i];
        else v->axes[v->n_axes++] = x->axes[i];
    }
    return v;
}

struct value *contract(struct build *b, struct value *x, struct value *y, const char *labels) {
    return reduce(b, RED_SUM, op2(b, O_MUL, x, y), labels);
}

struct value *cast(struct build *b, enum fx_dtype t, struct value *x) {
    struct value *v = value(b, V_CAST, fx_compute_type(t));
    v->to = t;
    v->args[v->n_args++] = x;
    widen(v, x);
    return v;
}

/* ---- what the language has beside floats ---- */

struct value *integer(struct build *b, enum fx_dtype t, int64_t x) {
    struct value *v = value(b, V_NUM, t);
    v->integer = x;
    return v;
}

struct value *load_integers(struct build *b, enum fx_dtype dtype, const char *labels, const int64_t *data) {
    int64_t n = numel(b, labels);
    struct value *v = load(b, dtype, labels, NEW_ARRAY(&b->arena, double, n));
    for (int64_t i = 0; i < n; i++) fx_store_integer(dtype, (void *)b->inputs[v->param].data, (size_t)i, data[i]);
    return v;
}

struct value *in_f64(struct value *v) {
    v->dtype = FX_F64;
    return v;
}

struct value *running_index(struct build *b, char label) {
    struct value *v = value(b, V_INDEX, FX_I64);
    v->axis = v->axes[0] = axis(b, label);
    v->n_axes = 1;
    return v;
}

struct value *size_of(struct build *b, char label) {
    struct value *v = value(b, V_SIZE, FX_I64);
    v->axis = axis(b, label);
    return v;
}

struct value *scan(struct build *b, enum reduction r, struct value *x, char label) {
    struct value *v = value(b, V_SCAN, x->dtype);
    v->reduction = r;
    v->axis = axis(b, label);
    v->args[v->n_args++] = x;
    widen(v, x);
    return v;
}

struct value *recurrence(struct build *b, struct value *a, struct value *x, char label) {
    struct value *v = scan(b, RED_RECUR, x, label);
    v->args[v->n_args++] = a;
    widen(v, a);
    return v;
}

struct value *access_at(
    struct build *b, struct value *x, const char *at, struct value *const *positions, struct value *fill) {
    struct value *v = value(b, V_ACCESS, x->dtype);
    v->args[v->n_args++] = x;
    for (; *at; at++) v->at[v->n_at++] = axis(b, *at);
    for (int i = 0; i < x->n_axes; i++) {
        bool is_at = false;
        for (int j = 0; j < v->n_at; j++) is_at = is_at || v->at[j] == x->axes[i];
        if (!is_at) v->axes[v->n_axes++] = x->axes[i];
    }
    for (int i = 0; i < v->n_at; i++) widen(v, v->args[v->n_args++] = positions[i]);
    if (fill) widen(v, v->args[v->n_args++] = fill);
    v->has_fill = fill != NULL;
    return v;
}

/* ---- evaluation ---- */

fx_status evaluate(struct build *b, const char *labels, struct value *result, const int64_t *elements, int64_t n,
                          struct result *r) {
    struct param *p = param(b, result->dtype, labels);
    p->is_output = true;
    p->result = result;
    int output = --b->k.n_params; /* the next output takes its place */
    b->k.n_params++;
    *r = (struct result){
        n, NEW_ARRAY(&b->arena, double, n), NEW_ARRAY(&b->arena, double, n), NEW_ARRAY(&b->arena, int64_t, n)};
    fx_status status = oracle_eval(
        &b->arena, &b->k, b->extents, b->inputs, output, elements, n, r->v, r->i, FX_BOUND_WORST, r->e);
    b->k.n_params--;
    return status;
}

struct result eval(struct build *b, const char *labels, struct value *result) {
    struct result r;
    ck_assert_int_eq(evaluate(b, labels, result, NULL, numel(b, labels), &r), FX_OK);
    return r;
}

double eval_one(struct build *b, struct value *x, double *bound) {
    struct result r = eval(b, "", x);
    if (bound) *bound = r.e[0];
    return r.v[0];
}

double bound_of(struct build *b, struct value *x) {
    double e;
    eval_one(b, x, &e);
    return e;
}

/* ---- data ---- */

double uniform(struct build *b) { /* in (-1, 1) */
    b->random ^= b->random << 13, b->random ^= b->random >> 7, b->random ^= b->random << 17;
    return (double)(int64_t)(b->random >> 11) * 0x1p-52 - 1;
}

double *draw(struct build *b, const char *labels, int integers_to) { /* 0: reals */
    int64_t n = numel(b, labels);
    double *data = NEW_ARRAY(&b->arena, double, n);
    for (int64_t i = 0; i < n; i++) data[i] = integers_to ? rint(uniform(b) * integers_to) : uniform(b) + uniform(b);
    return data;
}

struct value *random_load(struct build *b, enum fx_dtype t, const char *labels) {
    return load(b, t, labels, draw(b, labels, 0));
}
struct value *integer_load(struct build *b, enum fx_dtype t, const char *labels) {
    return load(b, t, labels, draw(b, labels, 4));
}
