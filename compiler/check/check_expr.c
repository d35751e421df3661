/* Expressions: names, pointwise ops and `@`, each to a value with its axes and dtype.
 *
 * In: an expression of the AST and the scope. Out: a node of the kernel's DAG, or NULL after an error. Invariant:
 * operands have smaller ids; a fn's body leaves nothing behind but values. */
#include "check/check_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

struct value *check_new_value(struct checker *c, enum value_kind kind, const struct ast_expr *e) {
    struct value *v = NEW(&c->cx->arena, struct value);
    v->kind = kind;
    v->dtype = FX_F32;
    v->axis = -1;
    v->is_decided = true;
    v->source = e;
    if (e) v->span = check_user_span(c, e->span);
    v->id = c->k->n_values;
    PUSH(&c->cx->arena, c->k->values, c->k->n_values) = v;
    return v;
}

bool value_has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

void check_same_axes(struct value *v, const struct value *like) {
    v->n_axes = like->n_axes;
    memcpy(v->axes, like->axes, sizeof v->axes);
    v->is_decided = like->is_decided;
}

/* ---- pointwise ---- */

/* The union of the operands' labels, in the order and with the decision language.md gives ("Order and `@`"). */
bool check_join_axes(struct checker *c, struct value *v, int n_args) {
    for (int i = 0; i < n_args; i++)
        for (int j = 0; j < v->args[i]->n_axes; j++) {
            if (value_has_axis(v, v->args[i]->axes[j])) continue;
            if (v->n_axes == MAX_AXES) {
                diag_error(c->cx, v->span, D_TOO_MANY_AXES, "an expression of more than %d labels", MAX_AXES);
                diag_fix(c->cx, "reduce some of them first, or flatten several into one: x{(A,B)->P}");
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

/* Where operand i of the expression stands. */
static struct span operand_span(const struct ast_expr *e, int i) {
    const struct ast_expr *parts[3] = {e->a, e->b, e->c};
    const struct ast_arg *arg = e->args;
    if (e->kind == AST_UNARY || e->kind == AST_BINARY || e->kind == AST_COND) return parts[i]->span;
    for (int n = 0; e->kind == AST_CALL && arg; arg = arg->next)
        if (n++ == i && arg->value) return arg->value->span;
    return e->span;
}

/* "`//`" of an infix operator, whose row says "a // b". */
static const char *operator_text(const struct op_info *info, char symbol[8], char *quoted, size_t size) {
    int n = 0;
    for (const char *s = info->name; *s && n < 7; s++)
        if (*s != 'a' && *s != 'b' && *s != ' ') symbol[n++] = *s;
    symbol[n] = 0;
    snprintf(quoted, size, "`%s`", symbol);
    return quoted;
}

/* Whether the op's rule takes operand i as it is; else says what it wants. */
static bool takes(
    struct checker *c, const struct op_info *info, int i, const struct value *v, const struct ast_expr *e) {
    bool wants_bool = info->rule == RULE_LOGIC || (info->rule == RULE_SELECT && i == 0);
    bool wants_integer = info->rule == RULE_INTEGER || info->rule == RULE_BITS;
    char symbol[8], quoted[16];
    const char *what = info->is_infix ? operator_text(info, symbol, quoted, sizeof quoted) : info->name;
    if (wants_bool && v->dtype != FX_BOOL) {
        diag_error(c->cx, check_user_span(c, operand_span(e, i)), D_DTYPE, "%s takes a condition here, found %s", what,
            fx_dtype_name(v->dtype));
        diag_fix(c->cx, "compare it, as in `v != 0`");
        return false;
    }
    if (wants_integer && fx_is_float(v->dtype)) {
        diag_error(c->cx, check_user_span(c, operand_span(e, i)), D_DTYPE, "%s takes integers, found %s", what,
            fx_dtype_name(v->dtype));
        diag_fix(c->cx, info->rule == RULE_INTEGER ? "of floats write floor(a / b), and a - b * floor(a / b)"
                                                   : "write u64(..) around it");
        return false;
    }
    return true;
}

/* An op over literals is a literal: in double, or in integers where none is a float. */
static struct value *fold_literals(struct checker *c, enum op op, struct value *const *args, const struct ast_expr *e) {
    const struct op_info *info = &op_info[op];
    bool is_integer = info->rule != RULE_FLOAT;
    double x[3] = {0};
    int64_t n[3] = {0};
    if (info->rule == RULE_SELECT || info->rule == RULE_LOGIC || info->rule == RULE_BITS || op == O_DETACH) return NULL;
    for (int i = 0; i < info->arity; i++) {
        if (!args[i]->is_weak || args[i]->kind != V_NUM || args[i]->dtype == FX_BOOL || args[i]->dtype == FX_U64)
            return NULL;
        is_integer &= fx_is_integer(args[i]->dtype);
        x[i] = args[i]->num;
        n[i] = args[i]->integer;
    }
    double f = op_eval(op, x[0], x[1], x[2]);
    bool is_safe = f >= -0x1p62 && f <= 0x1p62;
    struct value *v = is_integer && is_safe ? check_weak_integer(c, op_eval_integer(op, FX_I64, n[0], n[1], n[2]), e)
                                            : check_number(c, f, e);
    if (info->rule == RULE_COMPARE) v->dtype = FX_BOOL, v->num = f != 0;
    return v;
}

/* The type the operands from `first` on meet in, by the op's rule; false after an error. */
static bool meeting_type(struct checker *c, const struct op_info *info, struct value *const *args, int first,
    const struct ast_expr *e, enum fx_dtype *t) {
    bool all_bool = true;
    for (int i = first; i < info->arity; i++) all_bool &= args[i]->dtype == FX_BOOL;
    if (info->rule == RULE_LOGIC || (info->rule == RULE_SELECT && all_bool)) return *t = FX_BOOL, true;
    if (info->rule == RULE_BITS) return *t = FX_U64, true;
    if (!check_common_type(c, args + first, info->arity - first, e, t)) return false;
    if (info->rule == RULE_FLOAT && !fx_is_float(*t)) *t = FX_F32;
    return true;
}

/* where() between two literals: like a literal it takes the type of what it meets, and is no value of the kernel
 * before. */
static struct value *weak_choice(
    struct checker *c, struct value *const *args, enum fx_dtype t, const struct ast_expr *e) {
    struct value *v = NEW(&c->cx->arena, struct value);
    *v = (struct value){.kind = V_OP,
        .op = O_WHERE,
        .dtype = t,
        .is_weak = true,
        .axis = -1,
        .n_args = 3,
        .args = {check_convert(c, args[0], FX_BOOL, e), args[1], args[2]},
        .source = e,
        .span = check_user_span(c, e->span),
        .id = -1};
    check_same_axes(v, args[0]);
    return v;
}

static struct value *refuse_division(struct checker *c, const struct ast_expr *e) {
    diag_error(c->cx, check_user_span(c, e->kind == AST_BINARY ? e->op_span : e->span), D_INTEGER_DIVISION,
        "`/` between two integers");
    diag_fix(c->cx, "write // for the floor, a point in one of them, or f32(..) around one");
    return NULL;
}

struct value *check_op(struct checker *c, enum op op, struct value *const *args, const struct ast_expr *e) {
    for (int i = 0; i < op_info[op].arity; i++)
        if (!args[i]) return NULL;
    if (op == O_DIV && !fx_is_float(args[0]->dtype) && !fx_is_float(args[1]->dtype)) {
        if (!c->in_access) return refuse_division(c, e);
        op = O_FLOORDIV;
    }
    const struct op_info *info = &op_info[op];
    for (int i = 0; i < info->arity; i++)
        if (!takes(c, info, i, args[i], e)) return NULL;
    struct value *own[3], *v = fold_literals(c, op, args, e);
    int first = info->rule == RULE_SELECT;
    enum fx_dtype t;
    if (v) return v;
    if (!meeting_type(c, info, args, first, e, &t)) return NULL;
    /* not in the rules of derivatives, whose values are looked into */
    if (info->rule == RULE_SELECT && t != FX_BOOL && args[1]->is_weak && args[2]->is_weak && !c->in_prelude)
        return weak_choice(c, args, t, e);
    for (int i = 0; i < info->arity; i++) own[i] = check_convert(c, args[i], i < first ? FX_BOOL : t, e);
    v = check_new_value(c, V_OP, e);
    v->op = op;
    v->n_args = info->arity;
    memcpy(v->args, own, (size_t)info->arity * sizeof *own);
    v->dtype = info->rule == RULE_COMPARE ? FX_BOOL : info->rule == RULE_BITS ? FX_U32 : t;
    return check_join_axes(c, v, info->arity) ? check_rounded(c, v, e) : NULL;
}

static struct value *apply1(struct checker *c, enum op op, struct value *a, const struct ast_expr *e) {
    struct value *args[3] = {a};
    return check_op(c, op, args, e);
}

static struct value *apply2(struct checker *c, enum op op, struct value *a, struct value *b, const struct ast_expr *e) {
    struct value *args[3] = {a, b};
    return check_op(c, op, args, e);
}

/* ---- `@` ---- */

static void warn_left_product(struct checker *c, const struct ast_expr *e) {
    const struct ast_expr *m = e->b;
    if (e->kind != AST_BINARY || (e->op != OP_MUL && e->op != OP_DIV) || m->kind != AST_MATMUL || m->parenthesised)
        return;
    diag_warning(c->cx, check_user_span(c, e->op_span), D_LEFT_OF_MATMUL,
                 "`@` binds tighter than `%s`: only what stands right of it is multiplied by the matrix",
                 e->op == OP_MUL ? "*" : "/");
    diag_fix(c->cx, "put parentheses around the product on either side");
}

/* The axis `a @ b` contracts: a's last. */
static int contracted_axis(struct checker *c, const struct ast_expr *e, const struct value *a, const struct value *b) {
    if (a->n_axes == 0) {
        diag_error(
            c->cx, check_user_span(c, e->a->span), D_CONTRACTION, "the left operand of `@` has no axis to contract");
        diag_fix(c->cx, "write `*` where one operand is a single number");
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
    diag_error(c->cx, check_user_span(c, e->span), D_CONTRACTION,
        "a @ b contracts " NAME_FMT ", the last axis of a, which b lacks", NAME_ARG(c->k->axes[axis].name));
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
    bool outside = c->is_contracting;
    c->is_contracting = true; /* products are not rounded before they are added up */
    struct value *product = apply2(c, O_MUL, a, b, e);
    c->is_contracting = outside;
    if (!product) return NULL;
    struct value *v = check_reduce(c, RED_SUM, product, reduced, n, e);
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
    return check_rounded(c, v, e);
}

/* ---- names ---- */

/* A name in a position: a label is its running index. */
static struct value *check_index_name(
    struct checker *c, const struct ast_expr *e, const int *axes, int n, bool is_bound) {
    if (!is_bound && !check_find_const(c, e->name)) return check_index(c, axes, n, e);
    diag_error(c->cx, check_user_span(c, e->span), D_AMBIGUOUS,
        NAME_FMT " is a label and a value: in a position it could be either", NAME_ARG(e->name));
    diag_fix(c->cx, "rename one of them");
    return NULL;
}

static struct value *check_id(struct checker *c, const struct ast_expr *e) {
    const struct binding *bound = check_find_binding(c, e->name);
    bool is_value = bound || check_find_const(c, e->name);
    int axes[MAX_AXES];
    int n = c->in_access && !is_value ? check_body_labels(c, e->name, e->span, axes)
                                      : check_find_labels(c, e->name, axes);
    if (c->in_access && n) return check_index_name(c, e, axes, n, bound != NULL);
    if (bound) return bound->value;
    if (check_find_const(c, e->name)) return check_const_value(c, e);
    if (n) {
        diag_error(
            c->cx, check_user_span(c, e->span), D_BARE_LABEL, NAME_FMT " is a label, not a value", NAME_ARG(e->name));
        diag_fix(c->cx, "idx(" NAME_FMT ") is its running index, size(" NAME_FMT ") its extent", NAME_ARG(e->name),
                 NAME_ARG(e->name));
        return NULL;
    }
    diag_error(
        c->cx, check_user_span(c, e->span), D_UNKNOWN_NAME, "nothing here is named " NAME_FMT, NAME_ARG(e->name));
    if (name_is(e->name, "idx") || name_is(e->name, "size"))
        diag_fix(c->cx, "write " NAME_FMT "(K) for the label K", NAME_ARG(e->name));
    else if (check_find_fn(c, e->name) || check_is_built_in(e->name))
        diag_fix(c->cx, NAME_FMT " is a function: call it", NAME_ARG(e->name));
    else hint_value(c, e->name);
    return NULL;
}

/* ---- calls ---- */

static struct value *check_call(struct checker *c, const struct ast_expr *e) {
    struct name n = e->name;
    struct value *v = NULL;
    const struct define *d = check_find_define(c, n);
    if (d) n = (struct name){d->value, (uint32_t)strlen(d->value)};
    const struct ast_item *f = check_find_fn(c, n);
    if (f) return check_call_fn(c, e, f, 1, &v) ? v : NULL;
    if (check_call_built_in(c, e, n, &v)) return v;
    if (d)
        diag_error(c->cx, check_user_span(c, e->span), D_DEFINE, "-D " NAME_FMT "=%s names no fn", NAME_ARG(d->name),
            d->value);
    else
        diag_error(
            c->cx, check_user_span(c, e->op_span), D_UNKNOWN_NAME, "no function is named " NAME_FMT, NAME_ARG(n));
    if (!d) hint_function(c, n);
    return NULL;
}

/* ---- expressions ---- */

static struct value *check_cast(struct checker *c, const struct ast_expr *e) {
    struct value *a = check_expr(c, e->a);
    if (!a) return NULL;
    bool is_compute = fx_compute_type(e->dtype) == e->dtype;
    if (a->is_weak && is_compute && e->dtype != FX_BOOL) return check_convert(c, a, e->dtype, e);
    a = check_convert(c, a, a->dtype, e);
    bool begins_anew = a->natural != FX_BOOL && a->natural != e->dtype;
    if (is_compute && a->dtype == e->dtype && !begins_anew) return a;
    struct value *v = check_new_value(c, V_CAST, e);
    v->args[v->n_args++] = a;
    v->to = e->dtype;
    v->dtype = fx_compute_type(e->dtype);
    v->natural = fx_is_float(e->dtype) ? e->dtype : FX_BOOL;
    check_same_axes(v, a);
    return v;
}

/* `x // twice` where nothing is named twice: a comment of another language. */
static bool is_comment(struct checker *c, const struct ast_expr *e) {
    int axes[MAX_AXES];
    if (e->b->kind != AST_ID || check_find_binding(c, e->b->name) || check_find_const(c, e->b->name) ||
        check_find_labels(c, e->b->name, axes))
        return false;
    diag_error(c->cx, check_user_span(c, e->op_span), D_FOREIGN_SYNTAX,
        "`//` divides, and nothing here is named " NAME_FMT, NAME_ARG(e->b->name));
    diag_fix(c->cx, "a comment starts with `#`");
    return true;
}

static struct value *check_binary(struct checker *c, const struct ast_expr *e) {
    static const enum op ops[] = {
        [OP_ADD] = O_ADD, [OP_SUB] = O_SUB, [OP_MUL] = O_MUL, [OP_DIV] = O_DIV, [OP_POW] = O_POW, [OP_LT] = O_LT,
        [OP_LE] = O_LE,   [OP_GT] = O_GT,   [OP_GE] = O_GE,   [OP_EQ] = O_EQ,   [OP_NE] = O_NE,   [OP_AND] = O_AND,
        [OP_OR] = O_OR,   [OP_FLOORDIV] = O_FLOORDIV,         [OP_MOD] = O_MOD,
    };
    if (e->op == OP_FLOORDIV && is_comment(c, e)) return NULL;
    struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
    if (!a || !b) return NULL;
    if (a->n_axes) warn_left_product(c, e);
    return apply2(c, ops[e->op], a, b, e);
}

static bool is_too_big(struct checker *c, const struct ast_expr *e) {
    bool is_long = c->k->n_values > MAX_VALUES || c->n_visits > MAX_VISITS, is_deep = c->depth == MAX_DEPTH;
    if (!is_long && !is_deep) return c->is_too_big;
    if (!c->is_too_big && is_deep) {
        diag_error(c->cx, check_user_span(c, e->span), D_TOO_DEEP, "expressions nested more than %d deep, fns expanded",
            MAX_DEPTH);
        diag_fix(c->cx, "give parts of it names of their own");
    } else if (!c->is_too_big) {
        diag_error(c->cx, check_user_span(c, e->span), D_TOO_BIG,
            "the kernel %s has more than %d operations, fns expanded", c->k->name, MAX_VALUES);
        diag_fix(c->cx, "split it into several kernels");
    }
    return c->is_too_big = true;
}

static struct value *check_fill_expr(struct checker *c, const struct ast_expr *e) {
    if (e->a->kind == AST_ACCESS) return check_access(c, e->a, e->b);
    diag_error(
        c->cx, check_user_span(c, e->span), D_CALL, "`??` follows an access: it says what lies outside what is read");
    diag_fix(c->cx, "write x[H: ..] ?? 0, or where(condition, a, b)");
    return NULL;
}

static struct value *check_kind(struct checker *c, const struct ast_expr *e) {
    struct value *args[3];
    switch (e->kind) {
    case AST_NUM: return check_literal(c, &e->num, e);
    case AST_ID: return check_id(c, e);
    case AST_UNARY: return apply1(c, e->op == OP_NEG ? O_NEG : O_NOT, check_expr(c, e->a), e);
    case AST_BINARY: return check_binary(c, e);
    case AST_MATMUL: {
        struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
        return matmul(c, e, a, b);
    }
    case AST_COND:
        for (int i = 0; i < 3; i++)
            if (!(args[i] = check_expr(c, i == 0 ? e->a : i == 1 ? e->b : e->c))) return NULL;
        return check_op(c, O_WHERE, args, e);
    case AST_CALL: return check_call(c, e);
    case AST_CAST: return check_cast(c, e);
    case AST_FILL: return check_fill_expr(c, e);
    case AST_ACCESS: return check_access(c, e, NULL);
    case AST_RELABEL: return check_relabel(c, e);
    }
    return NULL;
}

struct value *check_part(struct checker *c, const struct ast_expr *e) {
    c->n_visits++;
    if (is_too_big(c, e)) return NULL;
    c->depth++;
    struct value *v = check_kind(c, e);
    c->depth--;
    if (v && c->n_calls == 0) check_note(c, (struct note){.expr = e, .span = e->span, .value = v});
    return v;
}

struct value *check_expr(struct checker *c, const struct ast_expr *e) {
    struct value *v = check_part(c, e);
    return c->has_parts ? check_settled(c, v, e) : v;
}
