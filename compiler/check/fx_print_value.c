/* Values of a checked kernel as syntax trees of .fx.
 *
 * In: a value whose operands have their trees. Out: the tree a reader of it writes. A literal stands bare where what it
 * meets gives it its type; an access that a relabel makes is that relabel. */
#include "check/fx_print_internal.h"

#include <math.h>
#include <string.h>

/* ---- syntax ---- */

struct name print_text(const char *s) { return (struct name){s, (uint32_t)strlen(s)}; }

struct ast_expr *print_new(struct printer *p, enum ast_kind kind) {
    struct ast_expr *e = NEW(p->a, struct ast_expr);
    e->kind = kind;
    return e;
}

struct ast_expr *print_id(struct printer *p, struct name n) {
    struct ast_expr *e = print_new(p, AST_ID);
    e->name = n;
    return e;
}

struct ast_expr *print_label(struct printer *p, int axis) { return print_id(p, print_text(p->axis_names[axis])); }

struct ast_expr *print_binary(struct printer *p, enum ast_op op, struct ast_expr *a, struct ast_expr *b) {
    struct ast_expr *e = print_new(p, AST_BINARY);
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

static struct ast_expr *cast(struct printer *p, enum fx_dtype t, struct ast_expr *a) {
    struct ast_expr *e = print_new(p, AST_CAST);
    e->dtype = t;
    e->a = a;
    return e;
}

static struct ast_arg **append_arg(struct printer *p, struct ast_arg **at, struct ast_expr *value) {
    *at = NEW(p->a, struct ast_arg);
    (*at)->value = value;
    return &(*at)->next;
}

static struct ast_arg *labels_of(struct printer *p, const int *axes, int n) {
    struct ast_arg *list = NULL, **end = &list;
    for (int i = 0; i < n; i++) end = append_arg(p, end, print_label(p, axes[i]));
    return list;
}

/* `name[axes](arg)`, without brackets where there are no axes. */
static struct ast_expr *call(struct printer *p, const char *name, const int *axes, int n_axes, struct ast_expr *arg) {
    struct ast_expr *e = print_new(p, AST_CALL);
    e->name = print_text(name);
    e->has_labels = n_axes > 0;
    e->labels = labels_of(p, axes, n_axes);
    append_arg(p, &e->args, arg);
    return e;
}

struct ast_expr *print_integer(struct printer *p, int64_t v, bool is_unsigned) {
    struct ast_expr *e = print_new(p, AST_NUM);
    bool is_least = v == INT64_MIN && !is_unsigned; /* no literal: its magnitude is none of i64 */
    int64_t n = is_least ? v + 1 : v;
    e->num = (struct ast_num){
        .value = is_unsigned ? (double)(uint64_t)n : (double)n, .integer = (uint64_t)n, .is_integer = true};
    return is_least ? print_binary(p, OP_SUB, e, print_integer(p, 1, false)) : e;
}

/* ---- literals ---- */

/* A literal without its type. */
struct ast_expr *print_number(struct printer *p, const struct value *v, bool may_be_whole) {
    if (fx_is_integer(v->dtype)) return print_integer(p, v->integer, v->dtype == FX_U64);
    struct ast_expr *e = print_new(p, AST_NUM);
    bool is_whole = may_be_whole && v->num == floor(v->num) && fabs(v->num) <= 1e6 && !(v->num == 0 && signbit(v->num));
    e->num = (struct ast_num){.value = v->num, .is_bool = v->dtype == FX_BOOL};
    return v->dtype != FX_BOOL && is_whole ? print_integer(p, (int64_t)v->num, false) : e;
}

static struct ast_expr *typed_number(struct printer *p, const struct value *v) {
    struct ast_expr *e = print_number(p, v, false);
    return v->dtype == FX_BOOL ? e : cast(p, v->dtype, e);
}

/* Operand i of a pointwise op: beside a value of the type a literal takes it. */
static struct ast_expr *operand(struct printer *p, const struct value *v, int i) {
    const struct value *x = v->args[i];
    int first = op_info[v->op].rule == RULE_SELECT && i > 0;
    if (x->kind != V_NUM) return p->expr[x->id];
    for (int j = first; j < v->n_args; j++)
        if (v->args[j]->kind != V_NUM) return print_number(p, x, true);
    return typed_number(p, x);
}

/* ---- relabels: accesses that .fx has a shorter form for ---- */

/* v is the running index, row-major, over the labels it then gives. */
static int index_labels(const struct value *v, int *axes) {
    if (v->kind == V_INDEX) return axes[0] = v->axis, 1;
    if (v->kind != V_OP || v->op != O_ADD || v->args[1]->kind != V_INDEX || v->args[0]->kind != V_OP ||
        v->args[0]->op != O_MUL)
        return 0;
    const struct value *scaled = v->args[0];
    int n = scaled->args[1]->kind == V_SIZE && scaled->args[1]->axis == v->args[1]->axis
                ? index_labels(scaled->args[0], axes)
                : 0;
    if (n == 0 || n == MAX_AXES) return 0;
    axes[n] = v->args[1]->axis;
    return n + 1;
}

/* v is the product of the extents of the axes. */
static bool is_size_of(const struct value *v, const int *axes, int n) {
    if (n == 1) return v->kind == V_SIZE && v->axis == axes[0];
    return v->kind == V_OP && v->op == O_MUL && is_size_of(v->args[1], axes + n - 1, 1) &&
           is_size_of(v->args[0], axes, n - 1);
}

static bool is_extent_term(const struct kernel *k, const struct fx_term *t, int axis) {
    return t->op == FX_T_EXTENT ? t->v == axis : t->op == FX_T_CONST && t->v == k->axes[axis].extent;
}

/* The kernel knows that the axis is as long as the product of the others: a relabel says no more than that. */
static bool is_equated(const struct kernel *k, int axis, const int *parts, int n) {
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        if (k->axes[parts[i]].extent < 0 || __builtin_mul_overflow(product, k->axes[parts[i]].extent, &product))
            product = -1, i = n;
    if (product >= 0 && k->axes[axis].extent == product) return true;
    for (int i = 0; i < k->n_equations; i++) {
        const struct fx_expr *e = &k->equations[i].value;
        bool same = k->equations[i].axis == axis && e->n == 2 * n - 1;
        for (int t = 0, part = 0; same && t < e->n; t++) {
            bool is_extent = t == 0 || t % 2 == 1;
            same = is_extent ? is_extent_term(k, &e->terms[t], parts[part++]) : e->terms[t].op == FX_T_MUL;
        }
        if (same) return true;
    }
    return false;
}

static struct ast_axis *side(struct printer *p, const int *axes, int n) {
    struct ast_axis *list = NULL, **end = &list;
    for (int i = 0; i < n; i++) {
        *end = NEW(p->a, struct ast_axis);
        (*end)->name = print_text(p->axis_names[axes[i]]);
        end = &(*end)->next;
    }
    return list;
}

static bool is_flattened(const struct value *v, int *whole) {
    for (int i = 0; i < v->n_at; i++) {
        const struct value *at = v->args[1 + i];
        if (i > 0) {
            if (at->kind != V_OP || at->op != O_MOD || !is_size_of(at->args[1], v->at + i, 1)) return false;
            at = at->args[0];
        }
        if (i < v->n_at - 1) {
            if (at->kind != V_OP || at->op != O_FLOORDIV || !is_size_of(at->args[1], v->at + i + 1, v->n_at - i - 1))
                return false;
            at = at->args[0];
        }
        if (at->kind != V_INDEX || (i > 0 && at->axis != *whole)) return false;
        *whole = at->axis;
    }
    return v->n_at > 1;
}

/* v as a relabel, or NULL. */
static struct ast_expr *relabel(struct printer *p, const struct value *v) {
    int to[MAX_AXES], n_to = 1, whole = -1;
    if (v->has_fill) return NULL;
    if (v->n_at == 1) {
        n_to = index_labels(v->args[1], to);
        if (n_to == 0 || !is_equated(p->k, v->at[0], to, n_to)) return NULL;
    } else {
        if (!is_flattened(v, &whole) || !is_equated(p->k, whole, v->at, v->n_at)) return NULL;
        to[0] = whole;
    }
    for (int i = 0; i < n_to; i++)
        for (int j = 0; j < v->args[0]->n_axes; j++)
            if (v->args[0]->axes[j] == to[i]) return NULL;
    struct ast_expr *e = print_new(p, AST_RELABEL);
    e->a = p->expr[v->args[0]->id];
    e->from = side(p, v->at, v->n_at);
    e->to = side(p, to, n_to);
    e->from_tuple = v->n_at > 1;
    e->to_tuple = n_to > 1;
    return e;
}

/* ---- values ---- */

/* a[L: e, ..] with the positions of v. */
static struct ast_expr *at_positions(struct printer *p, struct ast_expr *a, const struct value *v) {
    struct ast_expr *e = print_new(p, AST_ACCESS);
    struct ast_arg **end = &e->args;
    e->a = a;
    for (int i = 0; i < v->n_at; i++) {
        const struct value *at = v->args[1 + i];
        struct ast_arg **this = end;
        bool is_plain = at->kind == V_NUM && at->dtype == FX_I64;
        end = append_arg(p, end,
            is_plain            ? print_number(p, at, false)
            : at->kind == V_NUM ? typed_number(p, at)
                                : p->expr[at->id]);
        (*this)->label = print_text(p->axis_names[v->at[i]]);
    }
    return e;
}

static struct ast_expr *access(struct printer *p, const struct value *v) {
    struct ast_expr *short_form = relabel(p, v), *e, *fill;
    const struct value *outside = v->has_fill ? v->args[1 + v->n_at] : NULL;
    if (short_form) return short_form;
    e = at_positions(p, v->args[0]->kind == V_NUM ? typed_number(p, v->args[0]) : p->expr[v->args[0]->id], v);
    if (!outside) return e;
    fill = print_new(p, AST_FILL);
    fill->a = e;
    fill->b = outside->kind == V_NUM ? print_number(p, outside, true) : p->expr[outside->id];
    return fill;
}

/* No expression: `a` is where it is stored, `b` what. */
static struct ast_expr *stored(struct printer *p, const struct value *v) {
    struct ast_expr *e = print_new(p, AST_BINARY);
    e->a = at_positions(p, print_id(p, print_text(p->k->params[v->param].name)), v);
    e->b = v->args[0]->kind == V_NUM ? print_number(p, v->args[0], true) : p->expr[v->args[0]->id];
    return e;
}

static bool carries_all(const struct value *v, const int *axes, int n) {
    int found = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v->n_axes; j++) found += v->axes[j] == axes[i];
    return found == n;
}

/* A sum over a product both of whose factors carry every label summed. */
static bool is_contraction(const struct printer *p, const struct value *v) {
    const struct value *m = v->args[0];
    if (v->kind != V_REDUCE || v->reduction != RED_SUM || m->kind != V_OP || m->op != O_MUL || p->is_bound[m->id])
        return false;
    return carries_all(m->args[0], v->reduced, v->n_reduced) && carries_all(m->args[1], v->reduced, v->n_reduced);
}

static struct ast_expr *contraction(struct printer *p, const struct value *v) {
    const struct value *a = v->args[0]->args[0];
    struct ast_expr *e = print_new(p, AST_MATMUL);
    bool is_plain = v->n_reduced == 1 && a->kind == V_LOAD && a->axes[a->n_axes - 1] == v->reduced[0];
    e->a = p->expr[a->id];
    e->b = p->expr[v->args[0]->args[1]->id];
    e->labels = is_plain ? NULL : labels_of(p, v->reduced, v->n_reduced);
    return e;
}

static struct ast_expr *reduction(struct printer *p, const struct value *v) {
    const struct value *x = v->args[0];
    const char *name = reduction_name(v->reduction);
    if (is_contraction(p, v)) return contraction(p, v);
    if (x->dtype == FX_BOOL && v->reduction == RED_MAX) name = "any";
    if (x->dtype == FX_BOOL && v->reduction == RED_MIN) name = "all";
    return call(p, name, v->reduced, v->n_reduced, x->kind == V_NUM ? typed_number(p, x) : p->expr[x->id]);
}

static const struct {
    enum op op;
    enum ast_op ast;
} infix[] = {
    {O_ADD, OP_ADD},
    {O_SUB, OP_SUB},
    {O_MUL, OP_MUL},
    {O_DIV, OP_DIV},
    {O_FLOORDIV, OP_FLOORDIV},
    {O_MOD, OP_MOD},
    {O_LT, OP_LT},
    {O_LE, OP_LE},
    {O_GT, OP_GT},
    {O_GE, OP_GE},
    {O_EQ, OP_EQ},
    {O_NE, OP_NE},
    {O_AND, OP_AND},
    {O_OR, OP_OR},
    {O_NEG, OP_NEG},
    {O_NOT, OP_NOT},
};

static struct ast_expr *pointwise(struct printer *p, const struct value *v) {
    struct ast_expr *e = print_new(p, v->n_args == 1 ? AST_UNARY : AST_BINARY);
    for (size_t i = 0; i < sizeof infix / sizeof *infix; i++) {
        if (infix[i].op != v->op) continue;
        e->op = infix[i].ast;
        e->a = operand(p, v, 0);
        e->b = v->n_args > 1 ? operand(p, v, 1) : NULL;
        return e;
    }
    e->kind = AST_CALL;
    e->name = print_text(op_info[v->op].name);
    struct ast_arg **end = &e->args;
    for (int i = 0; i < v->n_args; i++) end = append_arg(p, end, operand(p, v, i));
    return e;
}

static struct ast_expr *running(struct printer *p, const struct value *v, struct ast_expr *arg) {
    static const char *const names[] = {
        [RED_SUM] = "cumsum", [RED_PROD] = "cumprod", [RED_MAX] = "cummax", [RED_MIN] = "cummin"};
    if (v->reduction != RED_RECUR) return call(p, names[v->reduction], &v->axis, 1, arg);
    const struct value *a = v->args[1];
    struct ast_expr *e = call(p, "recur", &v->axis, 1, a->kind == V_NUM ? typed_number(p, a) : p->expr[a->id]);
    append_arg(p, &e->args->next, arg);
    return e;
}

struct ast_expr *print_value(struct printer *p, const struct value *v) {
    const struct value *x = v->n_args ? v->args[0] : NULL;
    struct ast_expr *arg = x ? x->kind == V_NUM ? typed_number(p, x) : p->expr[x->id] : NULL;
    switch (v->kind) {
    case V_NUM: return print_number(p, v, false);
    case V_SCALAR: case V_LOAD: return print_id(p, print_text(p->k->params[v->param].name));
    case V_INDEX: case V_SIZE: return call(p, v->kind == V_INDEX ? "idx" : "size", NULL, 0, print_label(p, v->axis));
    case V_OP: return pointwise(p, v);
    case V_REDUCE: return reduction(p, v);
    case V_SCAN: return running(p, v, arg);
    case V_CAST: return cast(p, v->to, arg);
    case V_ACCESS: return access(p, v);
    case V_PLACE: return stored(p, v);
    }
    return NULL;
}
