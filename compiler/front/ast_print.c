/* The syntax tree as text: s-expressions for people and tests, and one expression as .fx.
 *
 * In: a tree. Out: text that depends on the tree alone. What ast_print_expr prints reads back as the same tree, with no
 * parentheses that the grammar does not need. */
#include "front/ast.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How tightly a construct binds: the nonterminal of the grammar that yields it. */
enum level { L_COND, L_OR, L_AND, L_CMP, L_ADD, L_MUL, L_MAT, L_UN, L_POW, L_FILL, L_POST };

static const struct {
    const char *text;
    enum level level, left, right;
} operators[] = {
    [OP_NEG] = {"-", L_UN, L_UN, L_UN},
    [OP_NOT] = {"!", L_UN, L_UN, L_UN},
    [OP_ADD] = {"+", L_ADD, L_ADD, L_MUL},
    [OP_SUB] = {"-", L_ADD, L_ADD, L_MUL},
    [OP_MUL] = {"*", L_MUL, L_MUL, L_MAT},
    [OP_DIV] = {"/", L_MUL, L_MUL, L_MAT},
    [OP_FLOORDIV] = {"//", L_MUL, L_MUL, L_MAT},
    [OP_MOD] = {"%", L_MUL, L_MUL, L_MAT},
    [OP_POW] = {"**", L_POW, L_FILL, L_UN},
    [OP_LT] = {"<", L_CMP, L_ADD, L_ADD},
    [OP_LE] = {"<=", L_CMP, L_ADD, L_ADD},
    [OP_GT] = {">", L_CMP, L_ADD, L_ADD},
    [OP_GE] = {">=", L_CMP, L_ADD, L_ADD},
    [OP_EQ] = {"==", L_CMP, L_ADD, L_ADD},
    [OP_NE] = {"!=", L_CMP, L_ADD, L_ADD},
    [OP_AND] = {"&&", L_AND, L_AND, L_CMP},
    [OP_OR] = {"||", L_OR, L_OR, L_AND},
};

static void put_name(struct buf *out, struct name n) { buf_put(out, n.s, n.len); }

/* The shortest decimal that reads back as v, marked as no integer. */
static void put_double(struct buf *out, double v) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), users = uselocale(c);
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    uselocale(users);
    char *exponent = strchr(text, 'e');
    buf_put(out, text, exponent ? (size_t)(exponent - text) : strlen(text));
    if (exponent)
        buf_printf(out, "e%d", atoi(exponent + 1));
    else if (!strchr(text, '.'))
        buf_puts(out, ".0");
}

void ast_print_num(struct buf *out, const struct ast_num *n) {
    bool is_negative = signbit(n->value) && !isnan(n->value);
    if (n->is_bool)
        buf_puts(out, n->value != 0 ? "true" : "false");
    else if (n->is_integer && is_negative)
        buf_printf(out, "-%llu", (unsigned long long)-n->integer);
    else if (n->is_integer)
        buf_printf(out, "%llu", (unsigned long long)n->integer);
    else if (isnan(n->value) || isinf(n->value))
        buf_puts(out, isnan(n->value) ? "nan" : is_negative ? "-inf" : "inf");
    else
        put_double(out, n->value);
}

/* ---- expressions as .fx ---- */

static enum level level_of(const struct ast_expr *e) {
    switch (e->kind) {
    case AST_NUM: return signbit(e->num.value) && !isnan(e->num.value) ? L_UN : L_POST;
    case AST_UNARY: case AST_BINARY: return operators[e->op].level;
    case AST_MATMUL: return L_MAT;
    case AST_COND: return L_COND;
    case AST_FILL: return L_FILL;
    case AST_ID: case AST_CAST: case AST_CALL: case AST_ACCESS: case AST_RELABEL: break;
    }
    return L_POST;
}

static void put_expr(struct buf *out, const struct ast_expr *e, enum level least);

/* `L: e`, `L->M` or `e`, between commas. */
static void put_args(struct buf *out, const struct ast_arg *args, const char *comma) {
    for (const struct ast_arg *a = args; a && !buf_is_full(out); a = a->next) {
        put_name(out, a->label);
        if (a->to.len) {
            buf_puts(out, "->");
            put_name(out, a->to);
        } else {
            if (a->label.len) buf_puts(out, ": ");
            put_expr(out, a->value, L_COND);
        }
        if (a->next) buf_puts(out, comma);
    }
}

static void put_axes(struct buf *out, const struct ast_axis *axes, bool is_tuple) {
    if (is_tuple) buf_putc(out, '(');
    for (const struct ast_axis *a = axes; a && !buf_is_full(out); a = a->next) {
        put_name(out, a->name);
        if (a->extent) {
            buf_putc(out, '=');
            put_expr(out, a->extent, L_COND);
        }
        if (a->next) buf_putc(out, ',');
    }
    if (is_tuple) buf_putc(out, ')');
}

static void put_matmul(struct buf *out, const struct ast_expr *e) {
    put_expr(out, e->a, L_MAT);
    buf_puts(out, " @");
    if (e->labels) {
        buf_putc(out, '[');
        put_args(out, e->labels, ",");
        buf_putc(out, ']');
    }
    buf_putc(out, ' ');
    put_expr(out, e->b, L_UN);
}

/* After `??` a sign needs no parentheses, unlike elsewhere at this level. */
static void put_fill_value(struct buf *out, const struct ast_expr *e) {
    if (e->kind == AST_UNARY && e->op == OP_NEG) {
        buf_putc(out, '-');
        put_fill_value(out, e->a);
    } else {
        put_expr(out, e, L_FILL);
    }
}

static void put_call(struct buf *out, const struct ast_expr *e) {
    put_name(out, e->name);
    if (e->has_labels) {
        buf_putc(out, '[');
        put_args(out, e->labels, ",");
        buf_putc(out, ']');
    }
    buf_putc(out, '(');
    put_args(out, e->args, ", ");
    buf_putc(out, ')');
}

static void put_bare(struct buf *out, const struct ast_expr *e) {
    switch (e->kind) {
    case AST_NUM: ast_print_num(out, &e->num); break;
    case AST_ID: put_name(out, e->name); break;
    case AST_UNARY:
        buf_puts(out, operators[e->op].text);
        put_expr(out, e->a, L_UN);
        break;
    case AST_BINARY:
        put_expr(out, e->a, operators[e->op].left);
        buf_printf(out, " %s ", operators[e->op].text);
        put_expr(out, e->b, operators[e->op].right);
        break;
    case AST_MATMUL: put_matmul(out, e); break;
    case AST_COND:
        put_expr(out, e->a, L_OR);
        buf_puts(out, " ? ");
        put_expr(out, e->b, L_COND);
        buf_puts(out, " : ");
        put_expr(out, e->c, L_COND);
        break;
    case AST_FILL:
        put_expr(out, e->a, L_POST);
        buf_puts(out, " ?? ");
        put_fill_value(out, e->b);
        break;
    case AST_CAST:
        buf_printf(out, "%s(", fx_dtype_name(e->dtype));
        put_expr(out, e->a, L_COND);
        buf_putc(out, ')');
        break;
    case AST_CALL: put_call(out, e); break;
    case AST_ACCESS:
        put_expr(out, e->a, L_POST);
        buf_putc(out, '[');
        put_args(out, e->args, ", ");
        buf_putc(out, ']');
        break;
    case AST_RELABEL:
        put_expr(out, e->a, L_POST);
        buf_putc(out, '{');
        put_axes(out, e->from, e->from_tuple);
        buf_puts(out, "->");
        put_axes(out, e->to, e->to_tuple);
        buf_putc(out, '}');
        break;
    }
}

static void put_expr(struct buf *out, const struct ast_expr *e, enum level least) {
    if (buf_is_full(out)) return;
    bool needs_parentheses = level_of(e) < least;
    if (needs_parentheses) buf_putc(out, '(');
    put_bare(out, e);
    if (needs_parentheses) buf_putc(out, ')');
}

void ast_print_expr(struct buf *out, const struct ast_expr *e) { put_expr(out, e, L_COND); }

/* Whether the text of e begins with that of its left operand. */
static bool begins_with_operand(const struct ast_expr *e) {
    switch (e->kind) {
    case AST_BINARY: return level_of(e->a) >= operators[e->op].left;
    case AST_MATMUL: return level_of(e->a) >= L_MAT;
    case AST_ACCESS: case AST_RELABEL: return level_of(e->a) >= L_POST;
    case AST_NUM: case AST_ID: case AST_UNARY: case AST_COND: case AST_FILL: case AST_CAST: case AST_CALL: break;
    }
    return false;
}

void ast_print_expr_short(struct buf *out, const struct ast_expr *e, size_t most) {
    struct buf s;
    /* In a long sum the first terms are deepest. Every level adds three bytes or more,
     * which tells how many levels do. */
    const struct ast_expr *first = e;
    for (size_t above = 0; begins_with_operand(first); first = first->a)
        if (above++ > most / 3) e = e->a;
    buf_init(&s, out->arena);
    s.most = most + 1;
    put_expr(&s, e, L_COND);
    bool is_cut = s.len > most;
    buf_put(out, s.s, is_cut ? most - 3 : s.len);
    if (is_cut) buf_puts(out, "...");
}

/* ---- the tree as s-expressions ---- */

static void tree_expr(struct buf *out, const struct ast_expr *e);

static void tree_args(struct buf *out, const struct ast_arg *args) {
    for (const struct ast_arg *a = args; a; a = a->next) {
        buf_putc(out, ' ');
        if (a->to.len) {
            buf_printf(out, "(-> " NAME_FMT " " NAME_FMT ")", NAME_ARG(a->label), NAME_ARG(a->to));
        } else if (a->label.len) {
            buf_printf(out, "(: " NAME_FMT " ", NAME_ARG(a->label));
            tree_expr(out, a->value);
            buf_putc(out, ')');
        } else {
            tree_expr(out, a->value);
        }
    }
}

static void tree_labels(struct buf *out, const struct ast_arg *labels) {
    buf_puts(out, " (labels");
    tree_args(out, labels);
    buf_putc(out, ')');
}

/* `(HEAD A (= B extent))` */
static void tree_axes(struct buf *out, const char *head, const struct ast_axis *axes) {
    buf_printf(out, " (%s", head);
    for (const struct ast_axis *a = axes; a; a = a->next) {
        buf_printf(out, a->extent ? " (= " NAME_FMT " " : " " NAME_FMT, NAME_ARG(a->name));
        if (!a->extent) continue;
        tree_expr(out, a->extent);
        buf_putc(out, ')');
    }
    buf_putc(out, ')');
}

static void tree_head(struct buf *out, const struct ast_expr *e) {
    switch (e->kind) {
    case AST_NUM: case AST_ID: break;
    case AST_UNARY: buf_puts(out, e->op == OP_NEG ? "neg" : "!"); break;
    case AST_BINARY: buf_puts(out, operators[e->op].text); break;
    case AST_MATMUL: buf_putc(out, '@'); break;
    case AST_COND: buf_putc(out, '?'); break;
    case AST_FILL: buf_puts(out, "??"); break;
    case AST_CAST: buf_printf(out, "cast %s", fx_dtype_name(e->dtype)); break;
    case AST_CALL: buf_printf(out, "call " NAME_FMT, NAME_ARG(e->name)); break;
    case AST_ACCESS: buf_puts(out, "access"); break;
    case AST_RELABEL: buf_puts(out, "relabel"); break;
    }
}

static void tree_expr(struct buf *out, const struct ast_expr *e) {
    if (e->kind == AST_NUM) {
        ast_print_num(out, &e->num);
        return;
    }
    if (e->kind == AST_ID) {
        put_name(out, e->name);
        return;
    }
    buf_putc(out, '(');
    tree_head(out, e);
    if (e->labels) tree_labels(out, e->labels);
    for (int i = 0; i < 3; i++) {
        const struct ast_expr *child = i == 0 ? e->a : i == 1 ? e->b : e->c;
        if (!child) continue;
        buf_putc(out, ' ');
        tree_expr(out, child);
    }
    tree_args(out, e->args);
    if (e->kind == AST_RELABEL) {
        tree_axes(out, e->from_tuple ? "from tuple" : "from", e->from);
        tree_axes(out, e->to_tuple ? "to tuple" : "to", e->to);
    }
    buf_putc(out, ')');
}

static void tree_val(struct buf *out, const struct ast_val *v) {
    if (v->kind == VAL_NUM) {
        ast_print_num(out, &v->num);
    } else if (v->kind == VAL_ID) {
        put_name(out, v->name);
    } else {
        buf_puts(out, v->kind == VAL_CALL ? "(call " : "(list");
        put_name(out, v->name);
        for (const struct ast_val *i = v->items; i; i = i->next) {
            buf_putc(out, ' ');
            tree_val(out, i);
        }
        buf_putc(out, ')');
    }
}

static void tree_ids(struct buf *out, const char *head, const struct ast_ids *ids) {
    buf_printf(out, " (%s", head);
    for (const struct ast_ids *i = ids; i; i = i->next) buf_printf(out, " " NAME_FMT, NAME_ARG(i->name));
    buf_putc(out, ')');
}

static void tree_type(struct buf *out, const struct ast_type *t) {
    buf_printf(out, " %s", fx_dtype_name(t->dtype));
    if (t->has_axes) tree_axes(out, "axes", t->axes);
    if (t->is_packed)
        buf_printf(out, " (packed %s " NAME_FMT " " NAME_FMT ")", fx_dtype_name(t->packed_dtype),
            NAME_ARG(t->packed_axis), NAME_ARG(t->packed_order));
    if (t->is_strided) buf_puts(out, " strided");
    if (t->align) buf_printf(out, " (align %llu)", (unsigned long long)t->align);
}

/* A line each; parameters of a fn have no type. */
static void tree_params(struct buf *out, const char *head, const struct ast_param *params, bool is_typed) {
    for (const struct ast_param *a = params; a; a = a->next) {
        buf_printf(out, "\n  (%s " NAME_FMT, head, NAME_ARG(a->name));
        if (a->is_inout) buf_puts(out, " inout");
        if (a->is_const) buf_puts(out, " const");
        if (is_typed) tree_type(out, &a->type);
        if (a->value) {
            buf_puts(out, " (default ");
            tree_val(out, a->value);
            buf_putc(out, ')');
        }
        buf_putc(out, ')');
    }
}

static void tree_body(struct buf *out, const struct ast_stmt *body) {
    for (const struct ast_stmt *s = body; s; s = s->next) {
        buf_puts(out, s->is_require ? "\n  (require" : "\n  (=");
        for (const struct ast_ids *i = s->place ? NULL : s->targets; i; i = i->next)
            buf_printf(out, " " NAME_FMT, NAME_ARG(i->name));
        buf_putc(out, ' ');
        if (s->place) {
            tree_expr(out, s->place);
            buf_putc(out, ' ');
        }
        tree_expr(out, s->value);
        buf_putc(out, ')');
    }
}

static void tree_attrs(struct buf *out, const struct ast_attr *attrs) {
    for (const struct ast_attr *a = attrs; a; a = a->next) {
        buf_printf(out, "\n  (with " NAME_FMT " ", NAME_ARG(a->name));
        tree_val(out, a->value);
        buf_putc(out, ')');
    }
}

static void tree_entries(struct buf *out, const struct ast_entry *entries) {
    for (const struct ast_entry *e = entries; e; e = e->next) {
        buf_printf(out, "\n  (%s " NAME_FMT,
            e->relation == '<'   ? "<="
            : e->relation == ':' ? ":"
                                 : "=",
            NAME_ARG(e->name));
        if (e->sub.len) buf_printf(out, "." NAME_FMT, NAME_ARG(e->sub));
        if (e->what.len) buf_printf(out, " " NAME_FMT, NAME_ARG(e->what));
        buf_putc(out, ' ');
        tree_val(out, e->value);
        buf_putc(out, ')');
    }
}

static void tree_item(struct buf *out, const struct ast_item *i) {
    static const char *const heads[] = {"include", "const", "fn", "kernel", "grad", "test", "bench"};
    buf_printf(out, "(%s", heads[i->kind]);
    if (i->name.len) buf_printf(out, " " NAME_FMT, NAME_ARG(i->name));
    if (i->kind == ITEM_INCLUDE) buf_printf(out, " \"" NAME_FMT "\"", NAME_ARG(i->path));
    if (i->kind == ITEM_GRAD) buf_printf(out, " " NAME_FMT, NAME_ARG(i->grad_of));
    if (i->wrt) tree_ids(out, "wrt", i->wrt);
    if (i->saved) tree_ids(out, "saved", i->saved);
    if (i->axis_params) tree_ids(out, "axes", i->axis_params);
    if (i->kernel_axes) tree_axes(out, "axes", i->kernel_axes);
    tree_params(out, "param", i->params, i->kind == ITEM_KERNEL);
    tree_params(out, "out", i->outs, true);
    if (i->results) {
        buf_puts(out, "\n ");
        tree_ids(out, "results", i->results);
    }
    tree_attrs(out, i->attrs);
    if (i->value) {
        buf_puts(out, i->kind == ITEM_FN ? "\n  " : " ");
        tree_expr(out, i->value);
    }
    tree_body(out, i->body);
    tree_entries(out, i->entries);
    buf_puts(out, ")\n");
}

void ast_print(struct buf *out, const struct ast_file *file) {
    for (const struct ast_item *i = file->items; i; i = i->next) tree_item(out, i);
}
