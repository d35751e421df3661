/* Calls of built-in names: ops, operators over axes (reductions, scans), idx and size.
 *
 * In: a call whose name is no fn. Out: a node of the kernel's DAG, or NULL after an error. */
#include "check/check_internal.h"
#include "front/hints.h"

#include <string.h>

static const char *const reduction_names[N_REDUCTIONS] = {"sum", "prod", "max", "min", "argmax", "argmin", "recur"};
const char *reduction_name(enum reduction r) { return reduction_names[r]; }

struct value *check_reduce(struct checker *c, enum reduction r, struct value *a, const int *reduced, int n_reduced,
    const struct ast_expr *e) {
    struct value *v = check_new_value(c, V_REDUCE, e);
    v->reduction = r;
    v->args[0] = a;
    v->n_args = 1;
    v->n_reduced = n_reduced;
    memcpy(v->reduced, reduced, (size_t)n_reduced * sizeof *reduced);
    for (int i = 0; i < a->n_axes; i++) {
        bool gone = false;
        for (int j = 0; j < n_reduced; j++) gone |= reduced[j] == a->axes[i];
        if (!gone) v->axes[v->n_axes++] = a->axes[i];
    }
    v->is_decided = a->is_decided || v->n_axes == 1;
    v->dtype = r == RED_ARGMAX || r == RED_ARGMIN ? FX_I64 : a->dtype;
    return v;
}

/* The argument of `name[axes](v)`, or NULL after an error. */
static struct value *sole_argument(struct checker *c, const struct ast_expr *e) {
    if (e->args && !e->args->next && !e->args->label.len) return check_expr(c, e->args->value);
    diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT "[axes](v) takes one argument", NAME_ARG(e->name));
    for (const struct ast_arg *a = e->args; a; a = a->next)
        if (a->label.len) hint_argument(c, e, a->label, NULL);
    return NULL;
}

static struct value *call_reduction(struct checker *c, const struct ast_expr *e, enum reduction r, bool wants_bool) {
    struct value *a = sole_argument(c, e);
    if (!a) return NULL;
    if (wants_bool && a->dtype != FX_BOOL) {
        diag_error(c->cx, check_user_span(c, e->args->value->span), D_DTYPE, NAME_FMT " takes a condition, found %s",
            NAME_ARG(e->name), fx_dtype_name(a->dtype));
        diag_fix(c->cx, "compare it, as in `v != 0`");
        return NULL;
    }
    if (!wants_bool) a = check_as_number(c, a, e);
    a = check_convert(c, a, a->dtype, e);
    int reduced[MAX_AXES], n = check_labels(c, e->labels, a, NULL, reduced);
    if (n < 0) return NULL;
    if ((r == RED_ARGMAX || r == RED_ARGMIN) && n != 1) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%s takes one axis, %d are given", reduction_name(r), n);
        diag_fix(c->cx, "flatten them first: %s[P](v{(A,B)->P})", reduction_name(r));
        return NULL;
    }
    if (n == 0) return a;
    struct value *v = check_reduce(c, r, a, reduced, n, e);
    struct value *of_products = r == RED_SUM ? check_product_sum(c, a, reduced, n, e) : NULL;
    if (of_products) { /* its labels in the order in which they are written */
        check_same_axes(of_products, v);
        v = of_products;
    }
    return check_rounded(c, v, e);
}

static struct value *call_scan(struct checker *c, const struct ast_expr *e, enum reduction r) {
    struct value *a = sole_argument(c, e);
    if (!a) return NULL;
    a = check_as_number(c, a, e);
    a = check_convert(c, a, a->dtype, e);
    int axes[MAX_AXES], n = check_labels(c, e->labels, a, NULL, axes);
    if (n < 0) return NULL;
    if (n != 1) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " runs along one axis, %d are given",
            NAME_ARG(e->name), n);
        return NULL;
    }
    struct value *v = check_new_value(c, V_SCAN, e);
    v->reduction = r;
    v->axis = axes[0];
    v->args[v->n_args++] = a;
    v->dtype = a->dtype;
    check_same_axes(v, a);
    return check_rounded(c, v, e);
}

/* The one label of `name[K](..)` along which it runs; it stands on x, or on y. -1 after an error. */
static int scan_axis(struct checker *c, const struct ast_expr *e, const struct value *x, const struct value *y) {
    int axes[MAX_AXES], n = check_labels(c, e->labels, NULL, NULL, axes);
    if (n < 0) return -1;
    if (n != 1) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " runs along one axis, %d are given",
            NAME_ARG(e->name), n);
        return -1;
    }
    return value_has_axis(x, axes[0]) || value_has_axis(y, axes[0]) || check_labels(c, e->labels, x, NULL, axes) == 1
               ? axes[0]
               : -1;
}

/* b where the first element is made of `start` too: a * start + b there. */
static struct value *add_start(struct checker *c, struct value *a, struct value *b, struct value *start, int axis,
    const struct ast_expr *e) {
    bool was = c->is_contracting;
    c->is_contracting = true; /* part of the operation: not rounded by itself */
    struct value *first[3] = {a, start, b}, *choice[3] = {check_index(c, &axis, 1, e), check_weak_integer(c, 0, e), b};
    choice[0] = check_op(c, O_EQ, choice, e);
    choice[1] = check_op(c, O_FMA, first, e);
    b = check_op(c, O_WHERE, choice, e);
    c->is_contracting = was;
    return b;
}

/* recur[K](a, b, from: h): a and b, and h or NULL, as numbers. */
static bool recur_arguments(struct checker *c, const struct ast_expr *e, struct value *args[3]) {
    int n = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next, n++) {
        if (a->label.len && (n != 2 || !name_is(a->label, "from"))) {
            diag_error(c->cx, check_user_span(c, a->span), D_CALL, "recur takes no argument named " NAME_FMT,
                NAME_ARG(a->label));
            diag_fix(c->cx, "the third is named from: recur[K](a, b, from: h)");
            hint_argument(c, e, a->label, NULL);
            return false;
        }
        if (n > 2) continue;
        if (!(args[n] = check_expr(c, a->value))) return false;
        args[n] = check_as_number(c, args[n], e);
    }
    if (n == 2 || n == 3) return true;
    diag_error(c->cx, check_user_span(c, e->span), D_CALL, "recur takes 2 or 3 arguments, %d %s given", n,
        n == 1 ? "was" : "were");
    diag_fix(c->cx, "recur[K](a, b) is h = a * h + b along K, from 0 or, recur[K](a, b, from: h), from h");
    return false;
}

/* h = a * h + b along an axis. */
static struct value *call_recur(struct checker *c, const struct ast_expr *e) {
    struct value *args[3] = {NULL};
    enum fx_dtype t;
    if (!recur_arguments(c, e, args)) return NULL;
    int axis = scan_axis(c, e, args[0], args[1]), n = args[2] ? 3 : 2;
    if (axis < 0 || !check_common_type(c, args, n, e, &t)) return NULL;
    if (args[2] && value_has_axis(args[2], axis)) {
        diag_error(c->cx, check_user_span(c, e->args->next->next->span), D_CALL,
            "what recur begins from has the axis " NAME_FMT " along which it runs", NAME_ARG(c->k->axes[axis].name));
        diag_fix(c->cx, "it is one value ahead of the first element: read one, as in h[" NAME_FMT ": 0] ?? 0",
            NAME_ARG(c->k->axes[axis].name));
        return NULL;
    }
    for (int i = 0; i < n; i++) args[i] = check_convert(c, args[i], t, e);
    struct value *b = args[2] ? add_start(c, args[0], args[1], args[2], axis, e) : args[1];
    if (!b) return NULL;
    struct value *v = check_recurrence(c, args[0], b, axis, e);
    return v ? check_rounded(c, v, e) : NULL;
}

struct value *check_recurrence(
    struct checker *c, struct value *a, struct value *b, int axis, const struct ast_expr *e) {
    struct value *v = check_new_value(c, V_SCAN, e);
    v->reduction = RED_RECUR;
    v->axis = axis;
    v->dtype = b->dtype;
    v->n_args = 2;
    v->args[0] = a; /* their labels join in the order in which they are written */
    v->args[1] = b;
    if (!check_join_axes(c, v, 2)) return NULL;
    v->args[0] = b;
    v->args[1] = a;
    return v;
}

/* idx(L) and size(L). */
static struct value *call_label(struct checker *c, const struct ast_expr *e) {
    int axes[MAX_AXES];
    const struct ast_arg *a = e->args;
    if (!a || a->next || a->label.len || !a->value || a->value->kind != AST_ID || e->has_labels) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " takes one label: " NAME_FMT "(K)",
            NAME_ARG(e->name), NAME_ARG(e->name));
        return NULL;
    }
    int n = check_label_argument(c, a->value->name, a->span, false, axes);
    return n < 0 ? NULL : name_is(e->name, "idx") ? check_index(c, axes, n, e) : check_size(c, axes, n, e);
}

static struct value *call_op(struct checker *c, const struct ast_expr *e, enum op op) {
    struct value *args[3] = {0};
    int n = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next, n++) {
        if (a->label.len) {
            diag_error(c->cx, check_user_span(c, a->span), D_CALL, "%s takes no named arguments", op_info[op].name);
            hint_argument(c, e, a->label, NULL);
            return NULL;
        }
        if (n < 3 && !(args[n] = check_expr(c, a->value))) return NULL;
    }
    if (n != op_info[op].arity) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%s takes %d argument%s, %d %s given", op_info[op].name,
                   op_info[op].arity, op_info[op].arity == 1 ? "" : "s", n, n == 1 ? "was" : "were");
        if (n == 1 && (op == O_MAX || op == O_MIN))
            diag_fix(c->cx, "over the label K it is %s[K](v)", op_info[op].name);
        return NULL;
    }
    return check_op(c, op, args, e);
}

/* Operators over axes, by name: those that .fx cannot say. */
static const struct {
    const char *name;
    enum reduction reduction;
    bool wants_bool, is_scan;
} axis_operators[] = {
    {"sum", RED_SUM, 0, 0},
    {"prod", RED_PROD, 0, 0},
    {"max", RED_MAX, 0, 0},
    {"min", RED_MIN, 0, 0},
    {"any", RED_MAX, 1, 0},
    {"all", RED_MIN, 1, 0},
    {"argmax", RED_ARGMAX, 0, 0},
    {"argmin", RED_ARGMIN, 0, 0},
    {"cumsum", RED_SUM, 0, 1},
    {"cumprod", RED_PROD, 0, 1},
    {"cummax", RED_MAX, 0, 1},
    {"cummin", RED_MIN, 0, 1},
    {"recur", RED_RECUR, 0, 1},
};
enum { N_AXIS_OPERATORS = sizeof axis_operators / sizeof *axis_operators };

static struct value *call_axis_operator(struct checker *c, const struct ast_expr *e, int i) {
    const char *name = axis_operators[i].name;
    enum reduction r = axis_operators[i].reduction;
    if (e->has_labels && r == RED_RECUR) return call_recur(c, e);
    if (e->has_labels)
        return axis_operators[i].is_scan ? call_scan(c, e, r) : call_reduction(c, e, r, axis_operators[i].wants_bool);
    diag_error(c->cx, check_user_span(c, e->span), D_REDUCTION_FORM, "%s needs the axes it %s over", name,
        axis_operators[i].is_scan ? "runs" : "reduces");
    if (strcmp(name, "sum") == 0) diag_fix(c->cx, "sum[K](v) sums over the label K; `a + b` adds two values");
    else if (r == RED_RECUR) diag_fix(c->cx, "recur[K](a, b) is h = a * h + b along the label K");
    else diag_fix(c->cx, "%s[K](v) is taken over the label K", name);
    return NULL;
}

void check_offer_operators(struct nearest *near) {
    static const struct name others[] = {
        {"idx", 3},
        {"size", 4},
        {"concat", 6},
    };
    for (int i = 0; i < N_AXIS_OPERATORS; i++)
        nearest_offer(near, (struct name){axis_operators[i].name, (uint32_t)strlen(axis_operators[i].name)});
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) nearest_offer(near, others[i]);
}

bool check_is_built_in(struct name n) {
    enum op op;
    bool found = op_find(n.s, n.len, &op) || name_is(n, "idx") || name_is(n, "size") || name_is(n, "concat");
    for (int i = 0; i < N_AXIS_OPERATORS; i++) found |= name_is(n, axis_operators[i].name);
    return found;
}

bool check_call_built_in(struct checker *c, const struct ast_expr *e, struct name n, struct value **out) {
    enum op op;
    bool is_op = op_find(n.s, n.len, &op);
    if (is_op && !e->has_labels) return *out = call_op(c, e, op), true;
    if (name_is(n, "idx") || name_is(n, "size")) return *out = call_label(c, e), true;
    if (name_is(n, "concat")) return *out = check_concat(c, e), true;
    for (int i = 0; i < N_AXIS_OPERATORS; i++)
        if (name_is(n, axis_operators[i].name)) return *out = call_axis_operator(c, e, i), true;
    if (!is_op) return false;
    diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%s takes no labels: it is applied to every element",
        op_info[op].name);
    diag_fix(c->cx, "write %s(..)", op_info[op].name);
    return *out = NULL, true;
}
