/* `require`: conditions on extents and scalars, in a kernel or in a fn it calls.
 *
 * In: a statement and the scope it stands in. Out: a requirement of the kernel, checked when arguments are bound. What
 * is known when the spec is read is checked at once. */
#include <string.h>

#include "check/check_internal.h"
#include "symbolic/plan_expr.h"

enum { MAX_TERMS_OPEN = 64 }; /* operands waiting at once, as plan_expr.c has room for */

const struct value *check_find_value(const struct checker *c, struct name n) {
    const struct binding *b = check_find_binding(c, n);
    return b ? b->value : NULL;
}

/* ---- names ---- */

/* The labels a name stands for here: one, or those a fn was given for it; 0 when it is none. */
static int find_labels(const struct checker *c, struct name n, int *axes) {
    for (const struct axis_binding *b = c->axis_scope; c->n_calls && b; b = b->next) {
        if (!name_eq(b->name, n)) continue;
        memcpy(axes, b->axes, (size_t)b->n * sizeof *axes);
        return b->n;
    }
    axes[0] = c->n_calls ? -1 : check_find_axis(c->k, n);
    return axes[0] >= 0;
}

static bool is_scalar(const struct value *v) { return v && v->kind == V_SCALAR; }
static bool is_number(const struct value *v) { return v && v->kind == V_NUM; }

static bool refuse_name(struct checker *c, const struct ast_expr *e, const struct value *v) {
    struct span at = check_user_span(c, e->span);
    const char *what = v && v->kind == V_LOAD ? "a tensor" : "computed";
    if (v) {
        diag_error(c->cx, at, D_BAD_EXTENT,
            NAME_FMT " is %s: a condition is one on extents, constants and scalar parameters", NAME_ARG(e->name), what);
        diag_fix(c->cx, "state it of parameters as they are given; what is computed is chosen by where(c, a, b)");
    } else
        diag_error(
            c->cx, at, D_UNKNOWN_NAME, "no label, constant or scalar is named " NAME_FMT " here", NAME_ARG(e->name));
    return false;
}

bool check_put_name(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    const struct value *v = check_find_value(c, e->name);
    int axes[MAX_AXES], n = find_labels(c, e->name, axes);
    if (n && (is_scalar(v) || is_number(v))) {
        diag_error(c->cx, check_user_span(c, e->span), D_BARE_LABEL, NAME_FMT " is a label and a scalar here",
            NAME_ARG(e->name));
        diag_fix(c->cx, "give one of them another name");
        return false;
    }
    for (int i = 0; i < n; i++) {
        extent_put_term(c, x, FX_T_EXTENT, axes[i]);
        if (i) extent_put_term(c, x, FX_T_MUL, 0);
    }
    if (n) return true;
    if (is_number(v)) return extent_put_number(c, v->num, x), true;
    if (!is_scalar(v)) return refuse_name(c, e, v);
    extent_put_term(c, x, FX_T_SCALAR, v->param);
    x->has_scalar = true;
    return true;
}

void check_find_scalars(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    if (!e) return;
    const struct value *v = e->kind == AST_ID ? check_find_value(c, e->name) : NULL;
    int axes[MAX_AXES];
    if (v && !find_labels(c, e->name, axes)) {
        x->has_scalar |= is_scalar(v) || is_number(v);
        x->is_double |= is_scalar(v) && c->k->params[v->param].dtype == FX_F64;
    }
    check_find_scalars(c, e->a, x);
    check_find_scalars(c, e->b, x);
    check_find_scalars(c, e->c, x);
}

/* ---- the condition ---- */

/* Comparisons, what joins them, and bools. Numbers are none, though 0 is as good as false where they are evaluated. */
static bool is_condition(struct checker *c, const struct ast_expr *e) {
    const struct value *v = e->kind == AST_ID ? check_find_value(c, e->name) : NULL;
    if (e->kind == AST_UNARY) return e->op == OP_NOT && is_condition(c, e->a);
    if (e->kind == AST_NUM) return e->num.is_bool;
    if (e->kind != AST_BINARY) return is_scalar(v) && c->k->params[v->param].dtype == FX_BOOL;
    if (e->op == OP_AND || e->op == OP_OR) return is_condition(c, e->a) && is_condition(c, e->b);
    return e->op >= OP_LT && e->op <= OP_NE;
}

static bool is_too_deep(const struct extent_terms *x) {
    int open = 0;
    for (int i = 0; i < x->n; i++) {
        open += x->t[i].op <= FX_T_LAST_LEAF ? 1 : x->t[i].op == FX_T_NOT ? 0 : -1;
        if (open > MAX_TERMS_OPEN) return true;
    }
    return false;
}

/* Whether all of it is known: fixed extents and numbers. */
static bool is_known(const struct kernel *k, const struct extent_terms *x) {
    for (int i = 0; i < x->n; i++)
        if (x->t[i].op == FX_T_SCALAR || (x->t[i].op == FX_T_EXTENT && k->axes[x->t[i].v].extent < 0)) return false;
    return true;
}

static bool has_name(const struct extent_terms *x) {
    for (int i = 0; i < x->n; i++)
        if (x->t[i].op == FX_T_SCALAR || x->t[i].op == FX_T_EXTENT) return true;
    return false;
}

static bool known_holds(struct checker *c, const struct extent_terms *x) {
    struct kernel *k = c->k;
    const struct fx_kernel none = {0};
    int64_t *extents = NEW_ARRAY(&c->cx->arena, int64_t, k->n_axes + 1);
    bool holds = false;
    for (int i = 0; i < k->n_axes; i++) extents[i] = k->axes[i].extent;
    return expr_on_scalars(&none, &(struct fx_expr){x->n, x->t}, extents, NULL, &holds) == EXPR_OK && holds;
}

/* "M is 3, K is 4": the extents of a condition that is known. */
static const char *known_values(struct checker *c, const struct extent_terms *x) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    for (int i = 0; i < x->n; i++) {
        if (x->t[i].op != FX_T_EXTENT || expr_has(&(struct fx_expr){i, x->t}, FX_T_EXTENT, x->t[i].v)) continue;
        const struct axis *a = &c->k->axes[x->t[i].v];
        buf_printf(&b, "%s" NAME_FMT " is %lld", b.len ? ", " : ": ", NAME_ARG(a->name), (long long)a->extent);
    }
    return b.len ? b.s : "";
}

/* A fn called often requires the same of the kernel once. */
static bool is_required(const struct kernel *k, const struct extent_terms *x, const char *text) {
    for (int i = 0; i < k->n_requirements; i++) {
        const struct requirement *r = &k->requirements[i];
        int same = 0;
        while (r->holds.n == x->n && same < x->n && r->holds.terms[same].op == x->t[same].op &&
               r->holds.terms[same].v == x->t[same].v)
            same++;
        if (same == x->n && r->holds.n == x->n && strcmp(r->text, text) == 0) return true;
    }
    return false;
}

static bool mentions_name(const struct ast_expr *e) {
    return e && (e->kind == AST_ID || mentions_name(e->a) || mentions_name(e->b));
}

void check_require(struct checker *c, const struct ast_stmt *s) {
    struct extent_terms x = {.is_condition = true};
    struct span at = check_user_span(c, s->span);
    struct arena *a = &c->cx->arena;
    const char *text = check_expr_text(c, s->value);
    const struct ast_item *fn = c->n_calls ? c->calls[c->n_calls - 1] : NULL;
    if (!is_condition(c, s->value)) {
        diag_error(c->cx, at, D_REQUIRE, "`require %s`: this is no condition", text);
        diag_fix(c->cx, "compare it, as in require K %% 16 == 0");
        return;
    }
    check_find_scalars(c, s->value, &x);
    x.has_scalar |= !extent_mentions_label(c, s->value); /* constants alone may be fractions */
    if (!extent_put(c, s->value, &x)) return;
    if (is_too_deep(&x)) {
        diag_error(c->cx, at, D_TOO_DEEP, "a condition with more than %d operands waiting", MAX_TERMS_OPEN);
        diag_fix(c->cx, "write it as several `require`");
        return;
    }
    if (!mentions_name(s->value)) {
        diag_error(c->cx, check_user_span(c, s->value->span), D_BAD_EXTENT,
            "require states a condition on extents, constants or scalar parameters, here is none");
        diag_fix(c->cx, "leave it out");
        return;
    }
    if (is_known(c->k, &x) && !known_holds(c, &x)) {
        diag_error(c->cx, at, D_REQUIRE, "`require %s`%s does not hold%s", text,
            fn ? arena_printf(a, " of " NAME_FMT, NAME_ARG(fn->name)) : "", known_values(c, &x));
        diag_fix(c->cx, fn ? "call it with what it requires" : "give extents of which it holds");
        return;
    }
    if (!has_name(&x)) return;
    extent_require_divisions(c, s->value, true);
    const char *violated = fn ? arena_printf(a, "`require %s` of " NAME_FMT " does not hold", text, NAME_ARG(fn->name))
                              : arena_printf(a, "`require %s` does not hold", text);
    if (is_required(c->k, &x, violated)) return;
    PUSH(a, c->k->requirements, c->k->n_requirements) = (struct requirement){{x.n, x.t}, violated, at};
}
