/* Checks a syntax tree and says what each kernel means.
 *
 * In: the AST of the user's file and of the prelude. Out: one `struct kernel` a kernel, a DAG of values with axes and
 * dtypes in which no fn, constant or `@` is left. A kernel with an error is still returned as far as it made sense;
 * cx->n_errors says whether any of it may be used. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CALLS = 64,    /* fns within fns */
    MAX_VALUES = 4096, /* of a kernel, fns expanded: NVRTC takes 0.8 s for 5,000 dependent operations */
};

struct binding { /* a name with a value: a parameter, a let, or a fn's argument */
    struct name name;
    struct value *value;
    struct binding *next;
};

struct fn_def {
    const struct ast_item *ast;
    struct fn_def *next;
};

struct checker {
    struct cx *cx;
    struct fn_def *fns;            /* the user's, then the prelude's */
    const struct ast_file *file;
    struct kernel *k;              /* the kernel being checked */
    struct binding *scope;         /* innermost first */
    const struct ast_item *calls[MAX_CALLS]; /* the fns being expanded, outermost first */
    int n_calls;
    bool *define_used;             /* by index of cx->defines */
    const struct ast_expr **equation_values; /* by index of k->equations, as written */
    int n_equation_values;
    bool is_too_big;               /* the kernel has more than MAX_VALUES values, and the error was given */
    struct span call_span;         /* outermost call being expanded: what errors inside the prelude point at */
};

static const char *const reduction_names[N_REDUCTIONS] = {"sum", "prod", "max", "min"};
const char *reduction_name(enum reduction r) { return reduction_names[r]; }

/* What the language has and this version does not compile. */
static const char *const later_functions[] = {
    "mean", "var", "any", "all", "argmax", "argmin", "logsumexp", "softmax", "layernorm", "rmsnorm", "halves",
    "evenodd", "concat", "rand", "cumsum", "cumprod", "idx", "size",
};

static const struct value *find_load(const struct value *v, int axis);

/* ---- small things ---- */

static const char *cstr(struct checker *c, struct name n) { return arena_strndup(&c->cx->arena, n.s, n.len); }

/* Errors inside the prelude are the caller's: they point at the call. */
static struct span user_span(const struct checker *c, struct span s) {
    return c->n_calls && s.file >= c->cx->n_files - 1 ? c->call_span : s;
}

static struct value *new_value(struct checker *c, enum value_kind kind, const struct ast_expr *e) {
    struct value *v = NEW(&c->cx->arena, struct value);
    v->kind = kind;
    v->dtype = FX_F32;
    v->is_decided = true;
    v->source = e;
    if (e) v->span = user_span(c, e->span);
    v->id = c->k->n_values;
    PUSH(&c->cx->arena, c->k->values, c->k->n_values) = v;
    return v;
}

static struct value *number(struct checker *c, double num, const struct ast_expr *e) {
    struct value *v = new_value(c, V_NUM, e);
    v->num = num;
    v->is_weak = true;
    return v;
}

static bool has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

static int find_axis(const struct kernel *k, struct name n) {
    for (int i = 0; i < k->n_axes; i++)
        if (name_eq(k->axes[i].name, n)) return i;
    return -1;
}

static const char *axes_text(struct checker *c, const int *axes, int n) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s" NAME_FMT, i ? "," : "", NAME_ARG(c->k->axes[axes[i]].name));
    return n ? b.s : "none";
}

static const char *expr_text(struct checker *c, const struct ast_expr *e) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    ast_print_expr(&b, e);
    return b.s;
}

static bool mentions_name(const struct ast_expr *e, struct name n) {
    if (!e) return false;
    return (e->kind == AST_ID && name_eq(e->name, n)) || mentions_name(e->a, n) || mentions_name(e->b, n) || mentions_name(e->c, n);
}

static struct value *not_yet(struct checker *c, struct span at, const char *what) {
    diag_error(c->cx, user_span(c, at), D_NOT_YET_SYNTAX, "%s: this version does not compile it yet", what);
    return NULL;
}

/* ---- pointwise ---- */

/* The union of the operands' labels, in the order and with the decision language.md gives ("Order and `@`"). */
static bool join_axes(struct checker *c, struct value *v, int n_args) {
    for (int i = 0; i < n_args; i++)
        for (int j = 0; j < v->args[i]->n_axes; j++) {
            if (has_axis(v, v->args[i]->axes[j])) continue;
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

/* A condition used as a number counts as 0 or 1. */
static struct value *as_number(struct checker *c, struct value *v, const struct ast_expr *e) {
    if (v->dtype != FX_BOOL) return v;
    struct value *args[3] = {v, number(c, 1, e), number(c, 0, e)};
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
            diag_error(c->cx, user_span(c, operand_span(e, i)), D_DTYPE, "%s takes a condition here, found %s",
                       info->is_infix ? "this operator" : info->name, fx_dtype_name(own[i]->dtype));
            diag_fix(c->cx, "compare it, as in `v != 0`");
            return NULL;
        }
        if (!wants_bool) own[i] = as_number(c, own[i], e);
    }
    struct value *v = new_value(c, V_OP, e);
    v->op = op;
    memcpy(v->args, own, sizeof own);
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
    struct value *v = new_value(c, V_REDUCE, e);
    v->reduction = r;
    v->args[0] = a;
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

/* Reads the labels in [ ] into axes; each must be on every operand. */
static int read_labels(struct checker *c, const struct ast_arg *labels, const struct value *a, const struct value *b, int *axes) {
    int n = 0;
    for (const struct ast_arg *l = labels; l; l = l->next) {
        if (l->to.len || l->label.len || !l->value || l->value->kind != AST_ID) {
            diag_error(c->cx, user_span(c, l->span), D_UNKNOWN_AXIS, "expected a label here");
            return -1;
        }
        struct name name = l->value->name;
        int axis = find_axis(c->k, name);
        if (axis < 0) {
            diag_error(c->cx, user_span(c, l->span), D_UNKNOWN_AXIS, "the kernel has no axis " NAME_FMT, NAME_ARG(name));
            return -1;
        }
        const struct value *lacks = !has_axis(a, axis) ? a : b && !has_axis(b, axis) ? b : NULL;
        if (lacks) {
            diag_error(c->cx, user_span(c, l->span), D_UNKNOWN_AXIS, "the operand has no axis " NAME_FMT "; it has %s",
                       NAME_ARG(name), axes_text(c, lacks->axes, lacks->n_axes));
            return -1;
        }
        for (int i = 0; i < n; i++)
            if (axes[i] == axis) {
                diag_error(c->cx, user_span(c, l->span), D_DUPLICATE_AXIS, NAME_FMT " is named twice", NAME_ARG(name));
                return -1;
            }
        axes[n++] = axis;
    }
    return n;
}

static void warn_left_product(struct checker *c, const struct ast_expr *e) {
    const struct ast_expr *m = e->b;
    if (e->kind != AST_BINARY || (e->op != OP_MUL && e->op != OP_DIV) || m->kind != AST_MATMUL || m->parenthesised) return;
    diag_warning(c->cx, user_span(c, e->op_span), D_LEFT_OF_MATMUL,
                 "`@` binds tighter than `%s`: only what stands right of it is multiplied by the matrix",
                 e->op == OP_MUL ? "*" : "/");
    diag_fix(c->cx, "put parentheses around the product on either side");
}

/* The axis `a @ b` contracts: a's last. */
static int contracted_axis(struct checker *c, const struct ast_expr *e, const struct value *a, const struct value *b) {
    if (a->n_axes == 0) {
        diag_error(c->cx, user_span(c, e->a->span), D_CONTRACTION, "the left operand of `@` has no axis to contract");
        return -1;
    }
    if (!a->is_decided) {
        diag_error(c->cx, user_span(c, e->a->span), D_CONTRACTION,
                   "the last axis of the left operand is undecided: its parts carry %s in no common order",
                   axes_text(c, a->axes, a->n_axes));
        diag_fix(c->cx, "name it: a @[" NAME_FMT "] b", NAME_ARG(c->k->axes[a->axes[a->n_axes - 1]].name));
        return -1;
    }
    int axis = a->axes[a->n_axes - 1];
    if (has_axis(b, axis)) return axis;
    diag_error(c->cx, user_span(c, e->span), D_CONTRACTION, "a @ b contracts " NAME_FMT ", the last axis of a, which b lacks",
               NAME_ARG(c->k->axes[axis].name));
    for (int i = 0; i < b->n_axes; i++)
        if (has_axis(a, b->axes[i])) {
            struct name n = c->k->axes[b->axes[i]].name;
            diag_fix(c->cx, "they share " NAME_FMT ": a @[" NAME_FMT "] b", NAME_ARG(n), NAME_ARG(n));
            return -1;
        }
    diag_fix(c->cx, "a has %s, b has %s: give the axis to be summed the same label in both",
             axes_text(c, a->axes, a->n_axes), axes_text(c, b->axes, b->n_axes));
    return -1;
}

static struct value *matmul(struct checker *c, const struct ast_expr *e, struct value *a, struct value *b) {
    if (!a || !b) return NULL;
    int reduced[MAX_AXES], n;
    if (e->labels) {
        n = read_labels(c, e->labels, a, b, reduced);
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
            bool skip = has_axis(v, from->axes[i]);
            for (int j = 0; j < n; j++) skip |= reduced[j] == from->axes[i];
            if (!skip) v->axes[v->n_axes++] = from->axes[i];
        }
    }
    v->is_decided = true;
    return v;
}

/* ---- expressions ---- */

static struct value *check_expr(struct checker *c, const struct ast_expr *e);

static const struct ast_item *find_const(struct checker *c, struct name n) {
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if (i->kind == ITEM_CONST && name_eq(i->name, n)) return i;
    return NULL;
}

static const struct define *find_define(struct checker *c, struct name n) {
    for (int i = 0; i < c->cx->n_defines; i++)
        if (name_eq(c->cx->defines[i].name, n)) {
            c->define_used[i] = true;
            return &c->cx->defines[i];
        }
    return NULL;
}

static const struct ast_item *find_fn(struct checker *c, struct name n) {
    for (struct fn_def *f = c->fns; f; f = f->next)
        if (name_eq(f->ast->name, n)) return f->ast;
    return NULL;
}

static bool define_number(struct checker *c, const struct define *d, double *out) {
    char *end;
    *out = strtod(d->value, &end);
    if (*d->value && !*end) return true;
    diag_error(c->cx, (struct span){0}, D_DEFINE, "-D " NAME_FMT "=%s: expected a number", NAME_ARG(d->name), d->value);
    return false;
}

/* A constant expression of numbers and constants: extents, and `const` items. */
static bool const_eval(struct checker *c, const struct ast_expr *e, int depth, double *out) {
    double a, b;
    if (depth > MAX_CALLS) {
        diag_error(c->cx, e->span, D_RECURSION, "a constant that is defined by itself");
        return false;
    }
    if (e->kind == AST_NUM) return *out = e->num.value, true;
    if (e->kind == AST_UNARY && e->op == OP_NEG) {
        if (!const_eval(c, e->a, depth + 1, &a)) return false;
        return *out = -a, true;
    }
    if (e->kind == AST_ID) {
        const struct ast_item *item = find_const(c, e->name);
        const struct define *d = item ? find_define(c, e->name) : NULL;
        if (d) return define_number(c, d, out);
        if (item) return const_eval(c, item->value, depth + 1, out);
        diag_error(c->cx, e->span, D_UNKNOWN_NAME, "no constant is named " NAME_FMT, NAME_ARG(e->name));
        return false;
    }
    if (e->kind != AST_BINARY) {
        diag_error(c->cx, e->span, D_BAD_EXTENT, "expected a constant");
        return false;
    }
    if (!const_eval(c, e->a, depth + 1, &a) || !const_eval(c, e->b, depth + 1, &b)) return false;
    switch (e->op) {
    case OP_ADD: return *out = a + b, true;
    case OP_SUB: return *out = a - b, true;
    case OP_MUL: return *out = a * b, true;
    case OP_DIV: return *out = a / b, true;
    case OP_FLOORDIV: return *out = b == 0 ? 0 : floor(a / b), true;
    case OP_MOD: return *out = b == 0 ? 0 : a - b * floor(a / b), true;
    default:
        diag_error(c->cx, e->op_span, D_BAD_EXTENT, "this operator cannot stand in a constant");
        return false;
    }
}

static struct value *check_id(struct checker *c, const struct ast_expr *e) {
    for (struct binding *b = c->scope; b; b = b->next)
        if (name_eq(b->name, e->name)) return b->value;
    double num;
    if (find_const(c, e->name)) return const_eval(c, e, 0, &num) ? number(c, num, e) : NULL;
    if (find_axis(c->k, e->name) >= 0) {
        diag_error(c->cx, user_span(c, e->span), D_BARE_LABEL, NAME_FMT " is a label, not a value", NAME_ARG(e->name));
        diag_fix(c->cx, "idx(" NAME_FMT ") is its running index, size(" NAME_FMT ") its extent", NAME_ARG(e->name),
                 NAME_ARG(e->name));
        return NULL;
    }
    diag_error(c->cx, user_span(c, e->span), D_UNKNOWN_NAME, "nothing here is named " NAME_FMT, NAME_ARG(e->name));
    if (find_fn(c, e->name) || op_find(e->name.s, e->name.len) != N_OPS)
        diag_fix(c->cx, NAME_FMT " is a function: call it", NAME_ARG(e->name));
    return NULL;
}

static struct value *literal_value(struct checker *c, const struct ast_val *v, const struct ast_expr *e) {
    if (v->kind == VAL_NUM) return number(c, v->num.value, e);
    diag_error(c->cx, v->span, D_CALL, "a default must be a number");
    return NULL;
}

/* Binds the arguments of a call to the parameters of fn f; NULL in the result means an error was given. */
static struct binding *bind_arguments(struct checker *c, const struct ast_expr *e, const struct ast_item *f) {
    struct binding *scope = NULL;
    const struct ast_arg *arg = e->args;
    int n_positional = 0, n_params = 0, n_args = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next) n_args++;
    for (const struct ast_param *p = f->params; p; p = p->next) {
        struct value *v = NULL;
        const struct ast_arg *named = NULL;
        for (const struct ast_arg *a = e->args; a; a = a->next)
            if (a->label.len && name_eq(a->label, p->name)) named = a;
        if (arg && !arg->label.len) {
            if (named) {
                diag_error(c->cx, user_span(c, named->span), D_CALL, NAME_FMT " is given twice", NAME_ARG(p->name));
                return NULL;
            }
            v = check_expr(c, arg->value);
            arg = arg->next;
            n_positional++;
        } else if (named) {
            v = check_expr(c, named->value);
        } else if (p->value) {
            v = literal_value(c, p->value, e);
        } else {
            diag_error(c->cx, user_span(c, e->span), D_CALL, NAME_FMT " needs its argument " NAME_FMT, NAME_ARG(f->name),
                       NAME_ARG(p->name));
            return NULL;
        }
        if (!v) return NULL;
        struct binding *b = NEW(&c->cx->arena, struct binding);
        *b = (struct binding){p->name, v, scope};
        scope = b;
        n_params++;
    }
    if (arg && !arg->label.len) {
        diag_error(c->cx, user_span(c, arg->span), D_CALL, NAME_FMT " takes %d argument%s, %d were given",
                   NAME_ARG(f->name), n_params, n_params == 1 ? "" : "s", n_args);
        return NULL;
    }
    for (; arg; arg = arg->next) {
        bool known = false;
        for (const struct ast_param *p = f->params; p; p = p->next) known |= name_eq(p->name, arg->label);
        if (!arg->label.len || !known) {
            diag_error(c->cx, user_span(c, arg->span), D_CALL, NAME_FMT " has no parameter " NAME_FMT, NAME_ARG(f->name),
                       NAME_ARG(arg->label));
            return NULL;
        }
    }
    return scope;
}

static struct value *call_fn(struct checker *c, const struct ast_expr *e, const struct ast_item *f) {
    if (f->axis_params || f->body || e->has_labels) return not_yet(c, e->span, "a fn with axis parameters or a body");
    for (int i = 0; i < c->n_calls; i++)
        if (c->calls[i] == f) {
            diag_error(c->cx, user_span(c, e->span), D_RECURSION, NAME_FMT " calls itself", NAME_ARG(f->name));
            return NULL;
        }
    if (c->n_calls == MAX_CALLS) {
        diag_error(c->cx, user_span(c, e->span), D_TOO_DEEP, "more than %d fns within fns", MAX_CALLS);
        return NULL;
    }
    int errors = c->cx->n_errors;
    struct binding *scope = bind_arguments(c, e, f), *saved = c->scope;
    if (c->cx->n_errors > errors) return NULL;
    struct span call_span = c->call_span;
    if (c->n_calls == 0 || e->span.file == 0) c->call_span = e->span;
    c->calls[c->n_calls++] = f;
    c->scope = scope;
    int first_new = c->k->n_values;
    struct value *v = check_expr(c, f->value);
    if (v && v->id >= first_new) v->source = e, v->span = user_span(c, e->span); /* what the caller wrote */
    c->scope = saved;
    c->n_calls--;
    c->call_span = call_span;
    return v;
}

static struct value *call_reduction(struct checker *c, const struct ast_expr *e, enum reduction r) {
    if (!e->args || e->args->next || e->args->label.len) {
        diag_error(c->cx, user_span(c, e->span), D_CALL, "%s[axes](v) takes one argument", reduction_name(r));
        return NULL;
    }
    struct value *a = check_expr(c, e->args->value);
    if (!a) return NULL;
    a = as_number(c, a, e);
    int reduced[MAX_AXES], n = read_labels(c, e->labels, a, NULL, reduced);
    return n < 0 ? NULL : n == 0 ? a : reduce(c, r, a, reduced, n, e);
}

static struct value *call_op(struct checker *c, const struct ast_expr *e, enum op op) {
    struct value *args[3] = {0};
    int n = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next, n++) {
        if (a->label.len) {
            diag_error(c->cx, user_span(c, a->span), D_CALL, "%s takes no named arguments", op_info[op].name);
            return NULL;
        }
        if (n < 3 && !(args[n] = check_expr(c, a->value))) return NULL;
    }
    if (n != op_info[op].arity) {
        diag_error(c->cx, user_span(c, e->span), D_CALL, "%s takes %d argument%s, %d %s given", op_info[op].name,
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
        diag_error(c->cx, user_span(c, e->span), D_REDUCTION_FORM, "%s needs the axes it reduces over", reduction_name(r));
        diag_fix(c->cx, "%s[K](v) sums over the label K; `a + b` adds two values", reduction_name(r));
        return NULL;
    }
    const struct define *d = find_define(c, n);
    const struct ast_item *f = d ? NULL : find_fn(c, n);
    if (d) {
        n = (struct name){d->value, (uint32_t)strlen(d->value)};
        f = find_fn(c, n);
        if (!f && op_find(n.s, n.len) == N_OPS) {
            diag_error(c->cx, user_span(c, e->span), D_DEFINE, "-D " NAME_FMT "=%s names no fn", NAME_ARG(d->name), d->value);
            return NULL;
        }
    }
    if (f) return call_fn(c, e, f);
    enum op op = op_find(n.s, n.len);
    if (op != N_OPS && !e->has_labels) return call_op(c, e, op);
    for (size_t i = 0; i < sizeof later_functions / sizeof *later_functions; i++)
        if (name_is(n, later_functions[i])) {
            diag_error(c->cx, user_span(c, e->span), D_NOT_YET_FUNCTION, NAME_FMT ": this version does not compile it yet",
                       NAME_ARG(n));
            return NULL;
        }
    diag_error(c->cx, user_span(c, e->op_span), D_UNKNOWN_NAME, "no function is named " NAME_FMT, NAME_ARG(n));
    return NULL;
}

static struct value *check_cast(struct checker *c, const struct ast_expr *e) {
    struct value *a = check_expr(c, e->a);
    if (!a) return NULL;
    if (e->dtype != FX_F32 && e->dtype != FX_F16 && e->dtype != FX_BF16) {
        diag_error(c->cx, user_span(c, e->span), D_NOT_YET_DTYPE, "a cast to %s: this version does not compile it yet",
                   fx_dtype_name(e->dtype));
        return NULL;
    }
    a = as_number(c, a, e);
    if (!a || e->dtype == FX_F32) return a; /* already the compute type */
    struct value *v = new_value(c, V_ROUND, e);
    v->args[0] = a;
    v->dtype = e->dtype;
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
        diag_error(c->cx, user_span(c, e->op_span), D_INTEGER_DIVISION, "`/` between two integers");
        diag_fix(c->cx, "write // for the floor, or a point in one of them");
        return NULL;
    }
    if (e->op == OP_FLOORDIV || e->op == OP_MOD) return not_yet(c, e->op_span, "integer `//` and `%`");
    struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
    if (!a || !b) return NULL;
    if (a->n_axes) warn_left_product(c, e);
    return apply2(c, ops[e->op], a, b, e);
}

static bool is_too_big(struct checker *c, const struct ast_expr *e) {
    if (c->k->n_values <= MAX_VALUES) return false;
    if (!c->is_too_big)
        diag_error(c->cx, user_span(c, e->span), D_TOO_BIG, "the kernel %s has more than %d operations, fns expanded", c->k->name, MAX_VALUES);
    return c->is_too_big = true;
}

static struct value *check_expr(struct checker *c, const struct ast_expr *e) {
    struct value *args[3];
    if (is_too_big(c, e)) return NULL;
    switch (e->kind) {
    case AST_NUM: {
        struct value *v = number(c, e->num.value, e);
        if (e->num.is_bool) v->dtype = FX_BOOL;
        return v;
    }
    case AST_ID: return check_id(c, e);
    case AST_UNARY: return apply1(c, e->op == OP_NEG ? O_NEG : O_NOT, check_expr(c, e->a), e);
    case AST_BINARY: return check_binary(c, e);
    case AST_MATMUL: {
        struct value *a = check_expr(c, e->a), *b = check_expr(c, e->b);
        return matmul(c, e, a ? as_number(c, a, e) : NULL, b ? as_number(c, b, e) : NULL);
    }
    case AST_COND:
        for (int i = 0; i < 3; i++)
            if (!(args[i] = check_expr(c, i == 0 ? e->a : i == 1 ? e->b : e->c))) return NULL;
        return pointwise(c, O_WHERE, args, e);
    case AST_CALL: return check_call(c, e);
    case AST_CAST: return check_cast(c, e);
    case AST_FILL: return not_yet(c, e->span, "an access with a value outside, `??`");
    case AST_ACCESS: return not_yet(c, e->span, "an access by computed index");
    case AST_RELABEL: return not_yet(c, e->span, "a relabel");
    }
    return NULL;
}

/* ---- extents ---- */

/* Whether an identifier below e is no constant, and so a label. */
static bool mentions_label(struct checker *c, const struct ast_expr *e) {
    if (!e) return false;
    if (e->kind == AST_ID) return !find_const(c, e->name);
    return mentions_label(c, e->a) || mentions_label(c, e->b) || mentions_label(c, e->c);
}

struct extent_terms {
    struct fx_term *t;
    int n;
};

static void put_term(struct checker *c, struct extent_terms *x, enum fx_term_op op, int64_t v) {
    struct fx_term *t = &PUSH(&c->cx->arena, x->t, x->n);
    *t = (struct fx_term){op, v};
}

static bool put_extent(struct checker *c, const struct ast_expr *e, struct extent_terms *x);

static bool put_extent_number(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    double v;
    if (!const_eval(c, e, 0, &v)) return false;
    if (v != floor(v) || fabs(v) > 0x1p48) {
        diag_error(c->cx, e->span, D_BAD_EXTENT, "an extent is computed from integers");
        return false;
    }
    put_term(c, x, FX_T_CONST, (int64_t)v);
    return true;
}

static bool put_extent_binary(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    static const struct {
        enum ast_op op;
        enum fx_term_op term;
        bool swap, negate;
    } forms[] = {
        {OP_ADD, FX_T_ADD, 0, 0}, {OP_SUB, FX_T_SUB, 0, 0}, {OP_MUL, FX_T_MUL, 0, 0}, {OP_DIV, FX_T_DIV, 0, 0}, {OP_FLOORDIV, FX_T_DIV, 0, 0},
        {OP_MOD, FX_T_MOD, 0, 0}, {OP_LT, FX_T_LT, 0, 0}, {OP_LE, FX_T_LE, 0, 0}, {OP_GT, FX_T_LT, 1, 0}, {OP_GE, FX_T_LE, 1, 0},
        {OP_EQ, FX_T_EQ, 0, 0}, {OP_NE, FX_T_EQ, 0, 1}, {OP_AND, FX_T_AND, 0, 0}, {OP_OR, FX_T_OR, 0, 0},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].op != e->op) continue;
        if (!put_extent(c, forms[i].swap ? e->b : e->a, x) || !put_extent(c, forms[i].swap ? e->a : e->b, x)) return false;
        put_term(c, x, forms[i].term, 0);
        if (forms[i].negate) put_term(c, x, FX_T_NOT, 0);
        return true;
    }
    diag_error(c->cx, e->op_span, D_BAD_EXTENT, "this operator cannot stand in an extent");
    return false;
}

/* An expression over extents as terms of the plan. `/` here divides exactly: the kernel requires it. */
static bool put_extent(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    if (!mentions_label(c, e)) return put_extent_number(c, e, x);
    if (e->kind == AST_ID) {
        int axis = find_axis(c->k, e->name);
        if (axis < 0) {
            diag_error(c->cx, e->span, D_UNKNOWN_NAME, "no label or constant is named " NAME_FMT, NAME_ARG(e->name));
            return false;
        }
        put_term(c, x, FX_T_EXTENT, axis);
        return true;
    }
    if (e->kind == AST_UNARY) {
        if (e->op == OP_NEG) put_term(c, x, FX_T_CONST, 0);
        if (!put_extent(c, e->a, x)) return false;
        put_term(c, x, e->op == OP_NEG ? FX_T_SUB : FX_T_NOT, 0);
        return true;
    }
    if (e->kind == AST_BINARY) return put_extent_binary(c, e, x);
    diag_error(c->cx, e->span, D_BAD_EXTENT, "an extent is computed from labels, constants and + - * / // %%");
    return false;
}

/* Every `a / b` in an extent states that b divides a. */
static void require_divisions(struct checker *c, const struct ast_expr *e) {
    if (!e || (e->kind != AST_BINARY && e->kind != AST_UNARY)) return;
    require_divisions(c, e->a);
    require_divisions(c, e->b);
    struct extent_terms x = {0};
    if (e->kind != AST_BINARY || e->op != OP_DIV || !mentions_label(c, e)) return;
    if (!put_extent(c, e->a, &x) || !put_extent(c, e->b, &x)) return;
    put_term(c, &x, FX_T_MOD, 0);
    put_term(c, &x, FX_T_CONST, 0);
    put_term(c, &x, FX_T_EQ, 0);
    struct requirement *r = &PUSH(&c->cx->arena, c->k->requirements, c->k->n_requirements);
    *r = (struct requirement){{x.n, x.t}, arena_printf(&c->cx->arena, "`%s` must divide exactly", expr_text(c, e)), e->span};
}

/* `L = expr` over labels that may be declared after it: resolved once all are. */
static void resolve_equations(struct checker *c) {
    for (int i = 0; i < c->k->n_equations; i++) {
        struct equation *q = &c->k->equations[i];
        struct extent_terms x = {0};
        if (!put_extent(c, c->equation_values[i], &x)) continue;
        require_divisions(c, c->equation_values[i]);
        q->value = (struct fx_expr){x.n, x.t};
        q->text = arena_printf(&c->cx->arena, NAME_FMT " = %s", NAME_ARG(c->k->axes[q->axis].name), expr_text(c, c->equation_values[i]));
    }
}

/* What fixed extents determine by the equations is fixed as well: the code specialises on it. */
static void solve_fixed(struct checker *c) {
    struct kernel *k = c->k;
    struct fx_kernel p = {.n_extents = k->n_axes, .n_equations = k->n_equations};
    struct fx_extent *extents = NEW_ARRAY(&c->cx->arena, struct fx_extent, k->n_axes + 1);
    struct fx_equation *equations = NEW_ARRAY(&c->cx->arena, struct fx_equation, k->n_equations + 1);
    int64_t *values = NEW_ARRAY(&c->cx->arena, int64_t, k->n_axes + 1);
    char message[256];
    for (int i = 0; i < k->n_axes; i++) {
        extents[i].name = cstr(c, k->axes[i].name);
        extents[i].value = values[i] = k->axes[i].extent;
    }
    for (int i = 0; i < k->n_equations; i++) equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, k->equations[i].text};
    p.extents = extents;
    p.equations = equations;
    if (fx_solve_extents(&p, values, message, sizeof message)) diag_error(c->cx, k->equations[0].span, D_EXTENT_CONFLICT, "%s", message);
    else for (int i = 0; i < k->n_axes; i++) k->axes[i].extent = values[i];
}

static void check_require(struct checker *c, const struct ast_stmt *s) {
    struct extent_terms x = {0};
    if (!mentions_label(c, s->value)) {
        diag_error(c->cx, s->value->span, D_BAD_EXTENT, "require states a condition on extents");
        return;
    }
    for (int i = 0; i < c->k->n_params; i++)
        if (c->k->params[i].is_scalar && mentions_name(s->value, c->k->params[i].ast->name)) {
            not_yet(c, s->span, "a condition on a scalar parameter");
            return;
        }
    if (!put_extent(c, s->value, &x)) return;
    require_divisions(c, s->value);
    struct requirement *r = &PUSH(&c->cx->arena, c->k->requirements, c->k->n_requirements);
    *r = (struct requirement){{x.n, x.t}, arena_printf(&c->cx->arena, "`require %s` does not hold", expr_text(c, s->value)), s->span};
}

/* ---- kernels ---- */

static bool is_supported_dtype(struct checker *c, const struct ast_param *p) {
    enum fx_dtype t = p->type.dtype;
    if (t == FX_F32 || ((t == FX_F16 || t == FX_BF16) && p->type.has_axes)) return true;
    diag_error(c->cx, p->type.span, D_NOT_YET_DTYPE, "a %s of %s: this version compiles tensors of f32, f16, bf16 and scalars of f32",
               p->type.has_axes ? "tensor" : "scalar", fx_dtype_name(t));
    return false;
}

static bool is_supported_param(struct checker *c, const struct ast_param *p) {
    const char *what = p->is_inout ? "inout" : p->type.is_packed ? "packed" : p->type.is_strided ? "strided"
                       : p->type.align ? "align" : NULL;
    if (what) return not_yet(c, p->span, what), false;
    return is_supported_dtype(c, p);
}

/* Finds or adds the label; sets its extent where one is written or defined. */
static int declare_axis(struct checker *c, const struct ast_axis *a) {
    struct kernel *k = c->k;
    int i = find_axis(k, a->name);
    if (i < 0) {
        i = k->n_axes;
        struct axis *axis = &PUSH(&c->cx->arena, k->axes, k->n_axes);
        *axis = (struct axis){.name = a->name, .extent = -1, .span = a->span};
        const struct define *d = find_define(c, a->name);
        double v;
        if (d && define_number(c, d, &v)) {
            if (v >= 0 && v <= 0x1p40 && v == floor(v)) axis->extent = (int64_t)v;
            else diag_error(c->cx, a->span, D_DEFINE, "-D " NAME_FMT "=%s: an extent is an integer from 0 to 2^40", NAME_ARG(a->name), d->value);
        }
    }
    if (!a->extent) return i;
    if (mentions_label(c, a->extent)) {
        struct equation *q = &PUSH(&c->cx->arena, k->equations, k->n_equations);
        *q = (struct equation){.axis = i, .span = a->span};
        PUSH(&c->cx->arena, c->equation_values, c->n_equation_values) = a->extent;
        return i;
    }
    double v;
    if (!const_eval(c, a->extent, 0, &v)) return i;
    if (!(v >= 0 && v <= 0x1p40) || v != floor(v)) {
        diag_error(c->cx, a->extent->span, D_BAD_EXTENT, "the extent of " NAME_FMT " must be an integer from 0 to 2^40",
                   NAME_ARG(a->name));
        return i;
    }
    if (k->axes[i].extent >= 0 && k->axes[i].extent != (int64_t)v)
        diag_error(c->cx, a->span, D_EXTENT_CONFLICT, NAME_FMT " is %lld here and %lld before", NAME_ARG(a->name),
                   (long long)v, (long long)k->axes[i].extent);
    k->axes[i].extent = (int64_t)v;
    return i;
}

static void declare_param(struct checker *c, const struct ast_param *ap, bool is_output) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_params; i++)
        if (name_eq(k->params[i].ast->name, ap->name)) {
            diag_error(c->cx, ap->span, D_REDEFINED, NAME_FMT " is declared twice", NAME_ARG(ap->name));
            return;
        }
    struct param *p = &PUSH(&c->cx->arena, k->params, k->n_params);
    *p = (struct param){.ast = ap, .name = cstr(c, ap->name), .dtype = ap->type.dtype, .is_scalar = !ap->type.has_axes,
                        .is_output = is_output, .is_const = ap->is_const};
    is_supported_param(c, ap);
    if (is_output && p->is_scalar) diag_error(c->cx, ap->span, D_DTYPE, "an output is a tensor: %s: %s[] for one element", p->name, fx_dtype_name(p->dtype));
    for (const struct ast_axis *a = ap->type.axes; a; a = a->next) {
        int axis = declare_axis(c, a);
        if (p->n_axes == 8) {
            diag_error(c->cx, ap->span, D_TOO_MANY_AXES, "%s has more than 8 axes", p->name);
            return;
        }
        for (int i = 0; i < p->n_axes; i++)
            if (p->axes[i] == axis) {
                diag_error(c->cx, a->span, D_DUPLICATE_AXIS, "%s carries " NAME_FMT " twice", p->name, NAME_ARG(a->name));
                return;
            }
        p->axes[p->n_axes++] = axis;
    }
    if (!ap->value) return;
    if (!p->is_scalar || ap->value->kind != VAL_NUM) {
        diag_error(c->cx, ap->value->span, D_CALL, "only a scalar parameter has a default, and it is a number");
        return;
    }
    p->has_default = true;
    p->default_value = ap->value->num.value;
}

static void bind(struct checker *c, struct name n, struct value *v) {
    struct binding *b = NEW(&c->cx->arena, struct binding);
    *b = (struct binding){n, v, c->scope};
    c->scope = b;
}

static void bind_params(struct checker *c) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (p->is_output) continue;
        struct value *v = new_value(c, p->is_scalar ? V_SCALAR : V_LOAD, NULL);
        v->span = p->ast->span;
        v->param = i;
        v->name = p->ast->name;
        v->n_axes = p->n_axes;
        for (int a = 0; a < p->n_axes; a++) v->axes[a] = p->axes[a];
        bind(c, p->ast->name, v);
    }
}

/* A tensor parameter below v that carries the axis. */
static const struct value *find_load(const struct value *v, int axis) {
    if (!v || !has_axis(v, axis)) return NULL;
    if (v->kind == V_LOAD) return v;
    for (int i = 0; i < 3; i++) {
        const struct value *found = find_load(v->args[i], axis);
        if (found) return found;
    }
    return NULL;
}

static void check_output_axes(struct checker *c, struct param *p, const struct value *v, struct span at) {
    struct kernel *k = c->k;
    const char *dest = axes_text(c, p->axes, p->n_axes);
    for (int i = 0; i < v->n_axes; i++) {
        bool found = false;
        for (int j = 0; j < p->n_axes; j++) found |= p->axes[j] == v->axes[i];
        if (found) continue;
        struct name stray = k->axes[v->axes[i]].name;
        const struct value *load = find_load(v, v->axes[i]);
        const struct param *from = load ? &k->params[load->param] : NULL;
        if (from)
            diag_error(c->cx, at, D_STRAY_AXIS, "%s has axes %s but its value also has " NAME_FMT ", from %s: %s[%s] (line %d)",
                       p->name, dest, NAME_ARG(stray), from->name, fx_dtype_name(from->dtype),
                       axes_text(c, from->axes, from->n_axes), span_line(c->cx, from->ast->span));
        else
            diag_error(c->cx, at, D_STRAY_AXIS, "%s has axes %s but its value also has " NAME_FMT, p->name, dest, NAME_ARG(stray));
        int64_t extent = k->axes[v->axes[i]].extent;
        for (int j = 0; from && extent >= 0 && j < p->n_axes; j++) {
            const struct axis *a = &k->axes[p->axes[j]];
            if (a->extent != extent) continue;
            diag_fix(c->cx, NAME_FMT " and " NAME_FMT " are both %lld: declare %s with " NAME_FMT ", or reduce it: sum[" NAME_FMT "](..)",
                     NAME_ARG(stray), NAME_ARG(a->name), (long long)extent, from->name, NAME_ARG(a->name), NAME_ARG(stray));
            return;
        }
        diag_fix(c->cx, "reduce it: sum[" NAME_FMT "](..), or declare %s with it", NAME_ARG(stray), p->name);
        return;
    }
    for (int j = 0; j < p->n_axes && v->n_axes; j++)
        if (!has_axis(v, p->axes[j])) {
            diag_warning(c->cx, at, D_BROADCAST, "the value of %s has axes %s only: it is repeated along " NAME_FMT, p->name,
                         axes_text(c, v->axes, v->n_axes), NAME_ARG(k->axes[p->axes[j]].name));
            return;
        }
}

static void assign(struct checker *c, const struct ast_ids *target, struct value *v) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_params; i++) {
        struct param *p = &k->params[i];
        if (!p->is_output || !name_eq(p->ast->name, target->name)) continue;
        if (p->result) {
            diag_error(c->cx, target->span, D_OUTPUT_ASSIGNED_TWICE, "the output %s is assigned a second time", p->name);
            return;
        }
        if (v) check_output_axes(c, p, v, target->span);
        p->result = v ? as_number(c, v, v->source) : NULL;
    }
    if (v && !v->name.len && v->kind != V_NUM) v->name = target->name;
    bind(c, target->name, v);
}

static void check_attribute(struct checker *c, const struct ast_attr *a) {
    struct kernel *k = c->k;
    static const char *const pins[] = {"tile", "stages", "warps", "split_k", "cluster"};
    struct name v = a->value->kind == VAL_ID ? a->value->name : (struct name){"", 0};
    bool is_false = a->value->kind == VAL_NUM && a->value->num.is_bool && a->value->num.value == 0;
    bool is_true = a->value->kind == VAL_NUM && a->value->num.is_bool && a->value->num.value != 0;
    const char *later = NULL;
    if (name_is(a->name, "fuse")) {
        k->fuse_span = a->span;
        if (name_is(v, "require")) k->fuse = FUSE_REQUIRE;
        else if (name_is(v, "prefer")) k->fuse = FUSE_PREFER;
        else if (name_is(v, "never")) k->fuse = FUSE_NEVER;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "fuse is require, prefer or never");
    } else if (name_is(a->name, "kernels")) {
        k->kernels_span = a->span;
        if (a->value->kind == VAL_NUM && a->value->num.value >= 1 && a->value->num.value <= 4096) k->kernels = (int)a->value->num.value;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "kernels is a number from 1 up");
    } else if (name_is(a->name, "precision")) {
        if (name_is(v, "ieee")) k->is_ieee = true;
        else if (name_is(v, "tf32")) later = "precision: tf32";
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "precision is ieee or tf32");
    } else if (name_is(a->name, "round")) {
        if (name_is(v, "op") || name_is(v, "eager")) later = "round: op and round: eager";
        else if (!name_is(v, "once")) diag_error(c->cx, a->span, D_ATTRIBUTE, "round is once, op or eager");
    } else if (name_is(a->name, "deterministic")) {
        if (!is_true && !is_false) diag_error(c->cx, a->span, D_ATTRIBUTE, "deterministic is true or false");
    } else if (name_is(a->name, "fast_math")) {
        if (is_true) later = "fast_math: true";
        else if (!is_false) diag_error(c->cx, a->span, D_ATTRIBUTE, "fast_math is true or false");
    } else {
        for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
            if (name_is(a->name, pins[i])) later = "pinning a schedule";
        if (!later) diag_error(c->cx, a->span, D_ATTRIBUTE, "there is no attribute " NAME_FMT, NAME_ARG(a->name));
    }
    if (later) diag_error(c->cx, a->span, D_NOT_YET_ATTRIBUTE, "%s: this version does not compile it yet", later);
}

static bool equation_mentions(const struct equation *q, int axis) {
    for (int i = 0; i < q->value.n; i++)
        if (q->value.terms[i].op == FX_T_EXTENT && q->value.terms[i].v == axis) return true;
    return q->axis == axis;
}

/* What fixed extents, inputs and equations between them bind. */
static bool *bound_axes(struct checker *c) {
    struct kernel *k = c->k;
    bool *bound = NEW_ARRAY(&c->cx->arena, bool, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) bound[i] = k->axes[i].extent >= 0;
    for (int p = 0; p < k->n_params; p++)
        for (int a = 0; !k->params[p].is_output && a < k->params[p].n_axes; a++) bound[k->params[p].axes[a]] = true;
    for (bool progress = true; progress;) {
        progress = false;
        for (int i = 0; i < k->n_equations; i++) {
            int unknown = -1, n = 0;
            for (int axis = 0; axis < k->n_axes; axis++)
                if (!bound[axis] && equation_mentions(&k->equations[i], axis)) unknown = axis, n++;
            if (n != 1) continue;
            bound[unknown] = progress = true;
        }
    }
    return bound;
}

static void check_bound_extents(struct checker *c) {
    struct kernel *k = c->k;
    bool *bound = bound_axes(c);
    for (int i = 0; i < k->n_axes; i++) {
        if (bound[i]) continue;
        diag_error(c->cx, k->axes[i].span, D_UNBOUND_EXTENT, "nothing binds the extent of " NAME_FMT ": no input carries it",
                   NAME_ARG(k->axes[i].name));
        diag_fix(c->cx, "write it: " NAME_FMT "=16, or give it at compile time with -D", NAME_ARG(k->axes[i].name));
    }
}

static void check_kernel(struct checker *c, struct kernel *k, const struct ast_item *item) {
    c->k = k;
    c->scope = NULL;
    c->is_too_big = false;
    k->ast = item;
    k->name = cstr(c, item->name);
    c->n_equation_values = 0;
    c->equation_values = NULL;
    for (const struct ast_axis *a = item->kernel_axes; a; a = a->next) declare_axis(c, a);
    for (const struct ast_param *p = item->params; p; p = p->next) declare_param(c, p, false);
    for (const struct ast_param *p = item->outs; p; p = p->next) declare_param(c, p, true);
    int errors = c->cx->n_errors;
    resolve_equations(c);
    if (c->cx->n_errors == errors && k->n_equations) solve_fixed(c);
    for (const struct ast_attr *a = item->attrs; a; a = a->next) check_attribute(c, a);
    check_bound_extents(c);
    bind_params(c);
    for (const struct ast_stmt *s = item->body; s; s = s->next) {
        if (s->is_require) {
            check_require(c, s);
            continue;
        }
        struct value *v = check_expr(c, s->value);
        if (s->targets->next) {
            if (v) not_yet(c, s->span, "several targets");
            for (const struct ast_ids *t = s->targets; t; t = t->next) bind(c, t->name, NULL);
            continue;
        }
        assign(c, s->targets, v);
    }
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (p->is_output && !p->result && !c->cx->n_errors)
            diag_error(c->cx, p->ast->span, D_OUTPUT_UNASSIGNED, "the output %s is never assigned", p->name);
    }
    if (!item->outs) diag_error(c->cx, item->name_span, D_OUTPUT_UNASSIGNED, "the kernel %s has no output", k->name);
}

static void collect_fns(struct checker *c, const struct ast_file *file, bool is_user) {
    struct fn_def **tail = &c->fns;
    while (*tail) tail = &(*tail)->next;
    for (const struct ast_item *i = file->items; i; i = i->next) {
        if (i->kind != ITEM_FN) continue;
        if (is_user && op_find(i->name.s, i->name.len) != N_OPS)
            diag_error(c->cx, i->name_span, D_REDEFINED, NAME_FMT " is a function of the language", NAME_ARG(i->name));
        for (const struct ast_item *j = file->items; j != i; j = j->next)
            if (j->kind == ITEM_FN && name_eq(i->name, j->name))
                diag_error(c->cx, i->name_span, D_REDEFINED, "fn " NAME_FMT " is defined twice", NAME_ARG(i->name));
        *tail = NEW(&c->cx->arena, struct fn_def);
        (*tail)->ast = i;
        tail = &(*tail)->next;
    }
}

static void refuse_items(struct checker *c) {
    for (const struct ast_item *i = c->file->items; i; i = i->next) {
        const char *what = i->kind == ITEM_INCLUDE ? "include" : i->kind == ITEM_GRAD ? "grad"
                           : i->kind == ITEM_TEST ? "a test block" : i->kind == ITEM_BENCH ? "a bench block" : NULL;
        if (what) not_yet(c, i->span, what);
        if (i->kind != ITEM_KERNEL) continue;
        for (const struct ast_item *j = c->file->items; j != i; j = j->next)
            if (j->kind == ITEM_KERNEL && name_eq(i->name, j->name))
                diag_error(c->cx, i->name_span, D_REDEFINED, "kernel " NAME_FMT " is defined twice", NAME_ARG(i->name));
    }
}

struct program *fx_check(struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel) {
    struct checker c = {.cx = cx, .file = file};
    c.define_used = NEW_ARRAY(&cx->arena, bool, cx->n_defines + 1);
    collect_fns(&c, file, true);
    collect_fns(&c, prelude, false);
    refuse_items(&c);
    int n = 0;
    for (const struct ast_item *i = file->items; i; i = i->next) n += i->kind == ITEM_KERNEL;
    struct program *p = NEW(&cx->arena, struct program);
    p->kernels = NEW_ARRAY(&cx->arena, struct kernel, n + 1);
    for (const struct ast_item *i = file->items; i; i = i->next)
        if (i->kind == ITEM_KERNEL && (!kernel || name_is(i->name, kernel))) check_kernel(&c, &p->kernels[p->n_kernels++], i);
    if (p->n_kernels == 0 && !cx->n_errors)
        diag_error(cx, (struct span){0}, D_NO_KERNEL, "the file has no kernel");
    for (int i = 0; i < cx->n_defines && !cx->n_errors; i++)
        if (!c.define_used[i])
            diag_error(cx, (struct span){0}, D_DEFINE, "-D " NAME_FMT " names no label, constant or fn of the file",
                       NAME_ARG(cx->defines[i].name));
    return p;
}
