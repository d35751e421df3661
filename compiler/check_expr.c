/* Expressions: names, fns, pointwise ops, reductions and `@`, each to a value with its axes and dtype.
 *
 * In: an expression of the AST and the scope. Out: a node of the kernel's DAG, or NULL after an error. Invariant: operands
 * have smaller ids; a fn's body leaves nothing behind but values. */
#include "check_internal.h"

#include <string.h>

static const char *const reduction_names[N_REDUCTIONS] = {"sum", "prod", "max", "min", "argmax", "argmin"};
const char *reduction_name(enum reduction r) { return reduction_names[r]; }

/* What the language has and this version does not compile. */
static const char *const later_functions[] = {
    "mean", "var", "any", "all", "argmax", "argmin", "layernorm", "rmsnorm", "halves",
    "evenodd", "concat", "rand", "cumsum", "cumprod", "idx", "size",
};


/* ---- values ---- */

struct value *check_new_value(struct checker *c, enum value_kind kind, const struct ast_expr *e) {
    struct value *v = NEW(&c->cx->arena, struct value);
    v->kind = kind;
    v->dtype = FX_F32;
    v->is_decided = true;
    v->source = e;
    if (e) v->span = check_user_span(c, e->span);
    v->id = c->k->n_values;
    PUSH(&c->cx->arena, c->k->values, c->k->n_values) = v;
    return v;
}

struct value *check_number(struct checker *c, double num, const struct ast_expr *e) {
    struct value *v = check_new_value(c, V_NUM, e);
    v->num = num;
    v->is_weak = true;
    return v;
}

bool value_has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

/* ---- pointwise ---- */

/* The union of the operands' labels, in the order and with the decision language.md gives ("Order and `@`"). */
static bool join_axes(struct checker *c, struct value *v, int n_args) {
    for (int i = 0; i < n_args; i++)
        for (int j = 0; j < v->args[i]->n_axes; j++) {
            if (value_has_axis(v, v->args[i]->axes[j])) continue;
            if (v->n_axes == MAX_AXES) {
                diag_error(c->cx, v->span, D_TOO_MANY_AXES, "an expression of more than %d labels", MAX_AXES);
                return false;
            }
            v->axes[v->n_axes++] = v->args[i]->axes[j];
        }
    if (v->n_axes == 0) return true;
    const struct value *order = NULL;
    bool agree = true;
    for (int i = 0; i < n_args; i++) {
        const struct value *a = v->args[i];
        if (a->n_axes != v->n_axes || !a->is_decided) continue;
        if (!order) order = a;
        else if (order->axes[v->n_axes - 1] != a->axes[v->n_axes - 1]) agree = false;
    }
    v->is_decided = order && agree;
    if (v->is_decided) memcpy(v->axes, order->axes, sizeof v->axes);
    return true;
}

static struct value *pointwise(struct checker *c, enum op op, struct value *const *args, const struct ast_expr *e);

struct value *check_as_number(struct checker *c, struct value *v, const struct ast_expr *e) {
    if (v->dtype != FX_BOOL) return v;
    struct value *args[3] = {v, check_number(c, 1, e), check_number(c, 0, e)};
    return pointwise(c, O_WHERE, args, e);
}

/* Where operand i of the expression stands. */
static struct span operand_span(const struct ast_expr *e, int i) {
    const struct ast_expr *parts[3] = {e->a, e->b, e->c};
    const struct ast_arg *arg = e->args;
    if (e->kind == AST_UNARY || e->kind == AST_BINARY || e->kind == AST_COND) return parts[i]->span;
    for (int n = 0; e->kind == AST_CALL && arg; arg = arg->next)
        if (n++ == i && arg->value) return arg->value->span;
    return e->span;
}

static struct value *pointwise(struct checker *c, enum op op, struct value *const *args, const struct ast_expr *e) {
    const struct op_info *info = &op_info[op];
    struct value *own[3] = {0};
    for (int i = 0; i < info->arity; i++) {
        if (!args[i]) return NULL;
        own[i] = args[i];
        bool wants_bool = info->rule == RULE_LOGIC || (info->rule == RULE_SELECT && i == 0);
        if (wants_bool && own[i]->dtype != FX_BOOL) {
            diag_error(c->cx, check_user_span(c, operand_span(e, i)), D_DTYPE, "%s takes a condition here, found %s",
                       info->is_infix ? "this operator" : info->name, fx_dtype_name(own[i]->dtype));
            diag_fix(c->cx, "compare it, as in `v != 0`");
            return NULL;
        }
        if (!wants_bool) own[i] = check_as_number(c, own[i], e);
    }
    struct value *v = check_new_value(c, V_OP, e);
    v->op = op;
    memcpy(v->args, own, sizeof own);
    v->n_args = info->arity;
    v->dtype = info->rule == RULE_COMPARE || info->rule == RULE_LOGIC ? FX_BOOL : FX_F32;
    v->is_weak = true;
    for (int i = 0; i < info->arity; i++) v->is_weak &= own[i]->is_weak;
    return join_axes(c, v, info->arity) ? v : NULL;
}

static struct value *apply1(struct checker *c, enum op op, struct value *a, const struct ast_expr *e) {
    struct value *args[3] = {a};
    return a ? pointwise(c, op, args, e) : NULL;
}

static struct value *apply2(struct checker *c, enum op op, struct value *a, struct value *b, const struct ast_expr *e) {
    struct value *args[3] = {a, b};
    return a && b ? pointwise(c, op, args, e) : NULL;
}
/* ---- reductions and `@` ---- */

static struct value *reduce(struct checker *c, enum reduction r, struct value *a, const int *reduced, int n_reduced,
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
    v->is_decided = a->is_decided;
    return v;
}

/* The labels a name stands for: one of the kernel's, or inside a fn those of its axis parameter. 0 after an error. */
static int resolve_label(struct checker *c, const struct ast_arg *l, int *axes) {
    if (l->to.len || l->label.len || !l->value || l->value->kind != AST_ID) {
        diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS, "expected a label here");
        return 0;
    }
    struct name name = l->value->name;
    for (const struct axis_binding *b = c->axis_scope; c->n_calls && b; b = b->next)
        if (name_eq(b->name, name)) {
            memcpy(axes, b->axes, (size_t)b->n * sizeof *axes);
            return b->n;
        }
    *axes = c->n_calls ? -1 : check_find_axis(c->k, name);
    if (*axes >= 0) return 1;
    diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS, "%s no axis " NAME_FMT, c->n_calls ? "this fn has" : "the kernel has", NAME_ARG(name));
    if (c->n_calls) diag_fix(c->cx, "make it a parameter: fn " NAME_FMT "[" NAME_FMT "](..)", NAME_ARG(c->calls[c->n_calls - 1]->name), NAME_ARG(name));
    return 0;
}

int check_labels(struct checker *c, const struct ast_arg *labels, const struct value *a, const struct value *b, int *axes) {
    int n = 0;
    for (const struct ast_arg *l = labels; l; l = l->next) {
        int found[MAX_AXES], n_found = resolve_label(c, l, found);
        if (!n_found) return -1;
        for (int f = 0; f < n_found; f++) {
            struct name name = c->k->axes[found[f]].name;
            const struct value *lacks = a && !value_has_axis(a, found[f]) ? a : b && !value_has_axis(b, found[f]) ? b : NULL;
            if (lacks) {
                diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS, "the operand has no axis " NAME_FMT "; it has %s",
                           NAME_ARG(name), check_axes_text(c, lacks->axes, lacks->n_axes));
                return -1;
            }
            for (int i = 0; i < n; i++)
                if (axes[i] == found[f]) {
                    diag_error(c->cx, check_user_span(c, l->span), D_DUPLICATE_AXIS, NAME_FMT " is named twice", NAME_ARG(name));
                    return -1;
                }
            if (n == MAX_AXES) {
                diag_error(c->cx, check_user_span(c, l->span), D_TOO_MANY_AXES, "more than %d labels", MAX_AXES);
                return -1;
            }
            axes[n++] = found[f];
        }
    }
    return n;
}

static void warn_left_product(struct checker *c, const struct ast_expr *e) {
    const struct ast_expr *m = e->b;
    if (e->kind != AST_BINARY || (e->op != OP_MUL && e->op != OP_DIV) || m->kind != AST_MATMUL || m->parenthesised) return;
    diag_warning(c->cx, check_user_span(c, e->op_span), D_LEFT_OF_MATMUL,
                 "`@` binds tighter than `%s`: only what stands right of it is multiplied by the matrix",
                 e->op == OP_MUL ? "*" : "/");
    diag_fix(c->cx, "put parentheses around the product on either side");
}

/* The axis `a @ b` contracts: a's last. */
static int contracted_axis(struct checker *c, const struct ast_expr *e, const struct value *a, const struct value *b) {
    if (a->n_axes == 0) {
        diag_error(c->cx, check_user_span(c, e->a->span), D_CONTRACTION, "the left operand of `@` has no axis to contract");
        return -1;
    }
    if (!a->is_decided) {
        diag_error(c->cx, check_user_span(c, e->a->span), D_CONTRACTION,
                   "the last axis of the left operand is undecided: its parts carry %s in no common order",
                   check_axes_text(c, a->axes, a->n_axes));
        diag_fix(c->cx, "name it: a @[" NAME_FMT "] b", NAME_ARG(c->k->axes[a->axes[a->n_axes - 1]].name));
        return -1;
    }
    int axis = a->axes[a->n_axes - 1];
    if (value_has_axis(b, axis)) return axis;
    diag_error(c->cx, check_user_span(c, e->span), D_CONTRACTION, "a @ b contracts " NAME_FMT ", the last axis of a, which b lacks",
               NAME_ARG(c->k->axes[axis].name));
    for (int i = 0; i < b->n_axes; i++)
        if (value_has_axis(a, b->axes[i])) {
            struct name n = c->k->axes[b->axes[i]].name;
            diag_fix(c->cx, "they share " NAME_FMT ": a @[" NAME_FMT "] b", NAME_ARG(n), NAME_ARG(n));
            return -1;
        }
    diag_fix(c->cx, "a has %s, b has %s: give the axis to be summed the same label in both",
             check_axes_text(c, a->axes, a->n_axes), check_axes_text(c, b->axes, b->n_axes));
    return -1;
}

static struct value *matmul(struct checker *c, const struct ast_expr *e, struct value *a, struct value *b) {
    if (!a || !b) return NULL;
    int reduced[MAX_AXES], n;
    if (e->labels) {
        n = check_labels(c, e->labels, a, b, reduced);
        if (n < 0) return NULL;
    } else {
        reduced[0] = contracted_axis(c, e, a, b);
        if (reduced[0] < 0) return NULL;
        n = 1;
    }
    struct value *product = apply2(c, O_MUL, a, b, e);
    if (!product) return NULL;
    struct value *v = reduce(c, RED_SUM, product, reduced, n, e);
    /* The result is a's remaining axes, then b's new ones, whatever order the product had. */
    v->n_axes = 0;
    for (int side = 0; side < 2; side++) {
        const struct value *from = side ? b : a;
        for (int i = 0; i < from->n_axes; i++) {
            bool skip = value_has_axis(v, from->axes[i]);
            for (int j = 0; j < n; j++) skip |= reduced[j] == from->axes[i];
            if (!skip) v->axes[v->n_axes++] = from->axes[i];
        }
    }
    v->is_decided = true;
    return v;
}
/* ---- expressions ---- */

static struct value *check_id(struct checker *c, const struct ast_expr *e) {
    for (struct binding *b = c->scope; b; b = b->next)
        if (name_eq(b->name, e->name)) return b->value;
    double num;
    if (check_find_const(c, e->name)) return check_const(c, e, 0, &num) ? check_number(c, num, e) : NULL;
    if (check_find_axis(c->k, e->name) >= 0) {
        diag_error(c->cx, check_user_span(c, e->span), D_BARE_LABEL, NAME_FMT " is a label, not a value", NAME_ARG(e->name));
        diag_fix(c->cx, "idx(" NAME_FMT ") is its running index, size(" NAME_FMT ") its extent", NAME_ARG(e->name),
                 NAME_ARG(e->name));
        return NULL;
    }
    diag_error(c->cx, check_user_span(c, e->span), D_UNKNOWN_NAME, "nothing here is named " NAME_FMT, NAME_ARG(e->name));
    if (check_find_fn(c, e->name) || op_find(e->name.s, e->name.len) != N_OPS)
        diag_fix(c->cx, NAME_FMT " is a function: call it", NAME_ARG(e->name));
    return NULL;
}

static struct value *call_reduction(struct checker *c, const struct ast_expr *e, enum reduction r) {
    if (!e->args || e->args->next || e->args->label.len) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%s[axes](v) takes one argument", reduction_name(r));
        return NULL;
    }
    struct value *a = check_expr(c, e->args->value);
    if (!a) return NULL;
    a = check_as_number(c, a, e);
    int reduced[MAX_AXES], n = check_labels(c, e->labels, a, NULL, reduced);
    return n < 0 ? NULL : n == 0 ? a : reduce(c, r, a, reduced, n, e);
}

static struct value *call_op(struct checker *c, const struct ast_expr *e, enum op op) {
    struct value *args[3] = {0};
    int n = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next, n++) {
        if (a->label.len) {
            diag_error(c->cx, check_user_span(c, a->span), D_CALL, "%s takes no named arguments", op_info[op].name);
            return NULL;
        }
        if (n < 3 && !(args[n] = check_expr(c, a->value))) return NULL;
    }
    if (n != op_info[op].arity) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%s takes %d argument%s, %d %s given", op_info[op].name,
                   op_info[op].arity, op_info[op].arity == 1 ? "" : "s", n, n == 1 ? "was" : "were");
        return NULL;
    }
    return pointwise(c, op, args, e);
}

static struct value *check_call(struct checker *c, const struct ast_expr *e) {
    struct name n = e->name;
    enum reduction r = 0;
    while (r < N_REDUCTIONS && !name_is(n, reduction_names[r])) r++;
    bool is_pair = name_is(n, "max") || name_is(n, "min"); /* brackets decide between max[K](x) and max(a, b) */
    if (r < N_REDUCTIONS && (e->has_labels || !is_pair)) {
        if (e->has_labels) return call_reduction(c, e, r);
        diag_error(c->cx, check_user_span(c, e->span), D_REDUCTION_FORM, "%s needs the axes it reduces over", reduction_name(r));
        diag_fix(c->cx, "%s[K](v) sums over the label K; `a + b` adds two values", reduction_name(r));
        return NULL;
    }
    const struct define *d = check_find_define(c, n);
    const struct ast_item *f = d ? NULL : check_find_fn(c, n);
    if (d) {
        n = (struct name){d->value, (uint32_t)strlen(d->value)};
        f = check_find_fn(c, n);
        if (!f && op_find(n.s, n.len) == N_OPS) {
            diag_error(c->cx, check_user_span(c, e->span), D_DEFINE, "-D " NAME_FMT "=%s names no fn", NAME_ARG(d->name), d->value);
            return NULL;
        }
    }
    if (f) {
        struct value *v = NULL;
        return check_call_fn(c, e, f, 1, &v) ? v : NULL;
    }
    enum op op = op_find(n.s, n.len);
    if (op != N_OPS && !e->has_labels) return call_op(c, e, op);
    for (size_t i = 0; i < sizeof later_functions / sizeof *later_functions; i++)
        if (name_is(n, later_functions[i])) {
            diag_error(c->cx, check_user_span(c, e->span), D_NOT_YET_FUNCTION, NAME_FMT ": this version does not compile it yet",
                       NAME_ARG(n));
            return NULL;
        }
    diag_error(c->cx, check_user_span(c, e->op_span), D_UNKNOWN_NAME, "no function is named " NAME_FMT, NAME_ARG(n));
    return NULL;
}

static struct value *check_cast(struct checker *c, const struct ast_expr *e) {
    struct value *a = check_expr(c, e->a);
    if (!a) return NULL;
    if (e->dtype != FX_F32 && e->dtype != FX_F16 && e->dtype != FX_BF16) {
        diag_error(c->cx, check_user_span(c, e->span), D_NOT_YET_DTYPE, "a cast to %s: this version does not compile it yet",
                   fx_dtype_name(e->dtype));
        return NULL;
    }
    a = check_as_number(c, a, e);
    if (!a || e->dtype == FX_F32) return a; /* already the compute type */
    struct value *v = check_new_value(c, V_CAST, e);
    v->args[0] = a;
    v->n_args = 1;
    v->to = e->dtype;
    v->n_axes = a->n_axes;
    memcpy(v->axes, a->axes, sizeof v->axes);
    v->is_decided = a->is_decided;
    return v;
}

static bool is_integer_literal(const struct ast_expr *e) {
    return e->kind == AST_NUM && e->num.is_integer && !e->num.is_bool;
}

static struct value *check_binary(struct checker *c, const struct ast_expr *e) {
    static const enum op ops[] = {
        [OP_ADD] = O_ADD, [OP_SUB] = O_SUB, [OP_MUL] = O_MUL, [OP_DIV] = O_DIV, [OP_POW] = O_POW, [OP_LT] = O_LT,
        [OP_LE] = O_LE,   [OP_GT] = O_GT,   [OP_GE] = O_GE,   [OP_EQ] = O_EQ,   [OP_NE] = O_NE,   [OP_AND] = O_AND,
        [OP_OR] = O_OR,
    };
    if (e->op == OP_DIV && is_integer_literal(e->a) && is_integer_literal(e->b)) {
        diag_error(c->cx, check_user_span(c, e->op_span), D_INTEGER_DIVISION, "`/` between two integers");
        diag_fix(c->cx, "write // for the floor, or a point in one of them");
        return NULL;
    }
    if (e->op == OP_FLOORDIV || e->op == OP_MOD) return check_not_yet(c, e->op_span, "integer `//` and `%`");
    struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
    if (!a || !b) return NULL;
    if (a->n_axes) warn_left_product(c, e);
    return apply2(c, ops[e->op], a, b, e);
}

static bool is_too_big(struct checker *c, const struct ast_expr *e) {
    bool is_long = c->k->n_values > MAX_VALUES || c->n_visits > MAX_VISITS, is_deep = c->depth == MAX_DEPTH;
    if (!is_long && !is_deep) return c->is_too_big;
    if (!c->is_too_big && is_deep)
        diag_error(c->cx, check_user_span(c, e->span), D_TOO_DEEP, "expressions nested more than %d deep, fns expanded", MAX_DEPTH);
    else if (!c->is_too_big)
        diag_error(c->cx, check_user_span(c, e->span), D_TOO_BIG, "the kernel %s has more than %d operations, fns expanded", c->k->name, MAX_VALUES);
    return c->is_too_big = true;
}

static struct value *check_kind(struct checker *c, const struct ast_expr *e) {
    struct value *args[3];
    switch (e->kind) {
    case AST_NUM: {
        struct value *v = check_number(c, e->num.value, e);
        if (e->num.is_bool) v->dtype = FX_BOOL;
        return v;
    }
    case AST_ID: return check_id(c, e);
    case AST_UNARY: return apply1(c, e->op == OP_NEG ? O_NEG : O_NOT, check_expr(c, e->a), e);
    case AST_BINARY: return check_binary(c, e);
    case AST_MATMUL: {
        struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
        return matmul(c, e, a ? check_as_number(c, a, e) : NULL, b ? check_as_number(c, b, e) : NULL);
    }
    case AST_COND:
        for (int i = 0; i < 3; i++)
            if (!(args[i] = check_expr(c, i == 0 ? e->a : i == 1 ? e->b : e->c))) return NULL;
        return pointwise(c, O_WHERE, args, e);
    case AST_CALL: return check_call(c, e);
    case AST_CAST: return check_cast(c, e);
    case AST_FILL: return check_not_yet(c, e->span, "an access with a value outside, `??`");
    case AST_ACCESS: return check_not_yet(c, e->span, "an access by computed index");
    case AST_RELABEL: return check_not_yet(c, e->span, "a relabel");
    }
    return NULL;
}

struct value *check_expr(struct checker *c, const struct ast_expr *e) {
    c->n_visits++;
    if (is_too_big(c, e)) return NULL;
    c->depth++;
    struct value *v = check_kind(c, e);
    c->depth--;
    return v;
}
