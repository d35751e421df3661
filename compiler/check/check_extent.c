/* Constants and extents: what is known when the spec is read, what equations tie together, what must hold later.
 *
 * In: expressions over constants and labels. Out: numbers, or terms of the plan that are evaluated when arguments are
 * bound. */
#include "check/check_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants ---- */

bool check_define_number(struct checker *c, const struct define *d, double *out) {
    char *end;
    *out = text_to_double(d->value, &end);
    if (*d->value && !*end) return true;
    diag_error(c->cx, (struct span){0}, D_DEFINE, "-D " NAME_FMT "=%s: expected a number", NAME_ARG(d->name), d->value);
    return false;
}

/* The value of a `const` item, met at `at`, `depth` expressions within those of other constants. */
static bool const_item(struct checker *c, const struct ast_item *item, struct span at, int depth, double *out) {
    for (const struct known_const *k = c->consts; k; k = k->next)
        if (k->item == item) return *out = k->value, true;
    if (depth > MAX_DEPTH) {
        diag_error(c->cx, at, D_RECURSION, "a constant defined by itself, or nested more than %d deep", MAX_DEPTH);
        return false;
    }
    if (!check_const(c, item->value, depth + 1, out)) return false;
    struct known_const *k = NEW(&c->cx->arena, struct known_const);
    *k = (struct known_const){item, *out, c->consts};
    c->consts = k;
    return true;
}

bool check_const(struct checker *c, const struct ast_expr *e, int depth, double *out) {
    double a, b;
    if (e->kind == AST_NUM) return *out = e->num.value, true;
    if (e->kind == AST_UNARY && e->op == OP_NEG) {
        if (!check_const(c, e->a, depth + 1, &a)) return false;
        return *out = -a, true;
    }
    if (e->kind == AST_ID) {
        const struct ast_item *item = check_find_const(c, e->name);
        const struct define *d = item ? check_find_define(c, e->name) : NULL;
        if (d) return check_define_number(c, d, out);
        if (item) return const_item(c, item, e->span, depth, out);
        diag_error(c->cx, e->span, D_UNKNOWN_NAME, "no constant is named " NAME_FMT, NAME_ARG(e->name));
        return false;
    }
    if (e->kind != AST_BINARY) {
        diag_error(c->cx, e->span, D_BAD_EXTENT, "expected a constant");
        return false;
    }
    if (!check_const(c, e->a, depth + 1, &a) || !check_const(c, e->b, depth + 1, &b)) return false;
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

/* ---- extents ---- */

bool extent_mentions_label(struct checker *c, const struct ast_expr *e) {
    if (!e) return false;
    if (e->kind == AST_ID) return !check_find_const(c, e->name) || check_find_value(c, e->name);
    if (e->kind != AST_NUM && e->kind != AST_UNARY && e->kind != AST_BINARY)
        return true; /* whatever it mentions, it is refused as such */
    return extent_mentions_label(c, e->a) || extent_mentions_label(c, e->b);
}

void extent_put_term(struct checker *c, struct extent_terms *x, enum fx_term_op op, int64_t v) {
    struct fx_term *t = &PUSH(&c->cx->arena, x->t, x->n);
    *t = (struct fx_term){op, v};
}

/* A number beside scalars: literals are weak, so beside f32 it is what f32 holds. */
void extent_put_number(struct checker *c, double v, struct extent_terms *x) {
    int64_t bits;
    double rounded = x->is_double ? v : (float)v;
    if (v == floor(v) && fabs(v) <= 0x1p53) {
        extent_put_term(c, x, FX_T_CONST, (int64_t)v);
        return;
    }
    memcpy(&bits, &rounded, sizeof bits);
    extent_put_term(c, x, FX_T_REAL, bits);
}

/* A literal up to 2^64 - 1, of which a term holds half. */
static void put_integer(struct checker *c, uint64_t v, struct extent_terms *x) {
    if (v <= INT64_MAX) {
        extent_put_term(c, x, FX_T_CONST, (int64_t)v);
        return;
    }
    extent_put_term(c, x, FX_T_CONST, (int64_t)(v / 2));
    extent_put_term(c, x, FX_T_CONST, 2);
    extent_put_term(c, x, FX_T_MUL, 0);
    extent_put_term(c, x, FX_T_CONST, (int64_t)(v % 2));
    extent_put_term(c, x, FX_T_ADD, 0);
}

static bool put_constant(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    double v;
    if (x->has_scalar && e->kind == AST_NUM && e->num.is_integer) return put_integer(c, e->num.integer, x), true;
    if (!check_const(c, e, 0, &v)) return false;
    if (x->has_scalar) return extent_put_number(c, v, x), true;
    if (v != floor(v) || fabs(v) > 0x1p48) {
        diag_error(c->cx, e->span, D_BAD_EXTENT, "an extent is computed from integers");
        return false;
    }
    extent_put_term(c, x, FX_T_CONST, (int64_t)v);
    return true;
}

static bool put_binary(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    static const struct {
        enum ast_op op;
        enum fx_term_op term;
        bool swap, negate;
    } forms[] = {
        {OP_ADD, FX_T_ADD, 0, 0},
        {OP_SUB, FX_T_SUB, 0, 0},
        {OP_MUL, FX_T_MUL, 0, 0},
        {OP_DIV, FX_T_DIV_EXACT, 0, 0},
        {OP_FLOORDIV, FX_T_DIV, 0, 0},
        {OP_MOD, FX_T_MOD, 0, 0},
        {OP_LT, FX_T_LT, 0, 0},
        {OP_LE, FX_T_LE, 0, 0},
        {OP_GT, FX_T_LT, 1, 0},
        {OP_GE, FX_T_LE, 1, 0},
        {OP_EQ, FX_T_EQ, 0, 0},
        {OP_NE, FX_T_EQ, 0, 1},
        {OP_AND, FX_T_AND, 0, 0},
        {OP_OR, FX_T_OR, 0, 0},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].op != e->op) continue;
        if (!extent_put(c, forms[i].swap ? e->b : e->a, x) || !extent_put(c, forms[i].swap ? e->a : e->b, x))
            return false;
        extent_put_term(c, x, forms[i].term, 0);
        if (forms[i].negate) extent_put_term(c, x, FX_T_NOT, 0);
        return true;
    }
    diag_error(c->cx, e->op_span, D_BAD_EXTENT, "this operator cannot stand in an extent");
    return false;
}

bool extent_put(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    bool is_truth = (e->kind == AST_BINARY && e->op >= OP_LT) || (e->kind == AST_UNARY && e->op == OP_NOT);
    if (!is_truth && !extent_mentions_label(c, e)) return put_constant(c, e, x);
    if (e->kind == AST_ID && x->is_condition) return check_put_name(c, e, x);
    if (e->kind == AST_ID) {
        int axes[MAX_AXES], n = check_find_labels(c, e->name, axes);
        if (!n) {
            diag_error(c->cx, e->span, D_UNKNOWN_NAME, "no label or constant is named " NAME_FMT, NAME_ARG(e->name));
            if (!c->n_calls && c->k->ast && !c->k->ast->kernel_axes)
                diag_fix(c->cx,
                    "a label that no tensor carries stands behind the kernel's name: " NAME_FMT "[" NAME_FMT "](..)",
                    NAME_ARG(c->k->ast->name), NAME_ARG(e->name));
            else diag_fix(c->cx, "a label that no tensor carries stands in brackets behind the kernel's name");
            return false;
        }
        for (int i = 0; i < n; i++) {
            extent_put_term(c, x, FX_T_EXTENT, axes[i]);
            if (i) extent_put_term(c, x, FX_T_MUL, 0);
        }
        return true;
    }
    if (e->kind == AST_UNARY) {
        if (e->op == OP_NEG) extent_put_term(c, x, FX_T_CONST, 0);
        if (!extent_put(c, e->a, x)) return false;
        extent_put_term(c, x, e->op == OP_NEG ? FX_T_SUB : FX_T_NOT, 0);
        return true;
    }
    if (e->kind == AST_BINARY) return put_binary(c, e, x);
    diag_error(c->cx, check_user_span(c, e->span), D_BAD_EXTENT,
        x->is_condition
            ? "a condition is computed from extents, constants and scalar parameters by + - * / // %%, comparisons and && || !"
            : "an extent is computed from labels, constants and + - * / // %%");
    return false;
}

/* b divides a, and is not 0: a % 0 is 0 here, and no division. */
static bool put_divides(struct checker *c, const struct ast_expr *e, struct extent_terms *x) {
    if (!extent_put(c, e->a, x) || !extent_put(c, e->b, x)) return false;
    bool is_number = !extent_mentions_label(c, e->b) && x->t[x->n - 1].v != 0;
    extent_put_term(c, x, FX_T_MOD, 0);
    extent_put_term(c, x, FX_T_CONST, 0);
    extent_put_term(c, x, FX_T_EQ, 0);
    if (is_number) return true;
    if (!extent_put(c, e->b, x)) return false;
    extent_put_term(c, x, FX_T_CONST, 0);
    extent_put_term(c, x, FX_T_EQ, 0);
    extent_put_term(c, x, FX_T_NOT, 0);
    extent_put_term(c, x, FX_T_AND, 0);
    return true;
}

void extent_require_divisions(struct checker *c, const struct ast_expr *e, bool is_condition) {
    if (!e || (e->kind != AST_BINARY && e->kind != AST_UNARY)) return;
    extent_require_divisions(c, e->a, is_condition);
    extent_require_divisions(c, e->b, is_condition);
    struct extent_terms x = {.is_condition = is_condition};
    if (is_condition) check_find_scalars(c, e, &x);
    if (x.has_scalar) return; /* where it is evaluated an inexact division of whole numbers is none */
    if (e->kind != AST_BINARY || e->op != OP_DIV || !extent_mentions_label(c, e) || !put_divides(c, e, &x)) return;
    struct requirement *r = &PUSH(&c->cx->arena, c->k->requirements, c->k->n_requirements);
    *r = (struct requirement){
        {x.n, x.t}, arena_printf(&c->cx->arena, "`%s` must divide exactly", check_expr_text(c, e)), e->span};
}

/* `L = expr` over labels that may be declared after it: resolved once all are. */
static void resolve_equations(struct checker *c) {
    for (int i = 0; i < c->k->n_equations; i++) {
        struct equation *q = &c->k->equations[i];
        struct extent_terms x = {0};
        if (!extent_put(c, c->equation_values[i], &x)) continue;
        extent_require_divisions(c, c->equation_values[i], false);
        q->value = (struct fx_expr){x.n, x.t};
        q->text = arena_printf(&c->cx->arena, NAME_FMT " = %s", NAME_ARG(c->k->axes[q->axis].name),
            check_expr_text(c, c->equation_values[i]));
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
        extents[i].name = check_cstr(c, k->axes[i].name);
        extents[i].value = values[i] = k->axes[i].extent;
    }
    for (int i = 0; i < k->n_equations; i++)
        equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, k->equations[i].text};
    p.extents = extents;
    p.equations = equations;
    if (fx_solve_extents(&p, values, message, sizeof message))
        diag_error(c->cx, k->equations[0].span, D_EXTENT_CONFLICT, "%s", message);
    else for (int i = 0; i < k->n_axes; i++) k->axes[i].extent = values[i];
}

void extent_solve(struct checker *c) {
    int errors = c->cx->n_errors;
    resolve_equations(c);
    if (c->cx->n_errors == errors) solve_fixed(c);
}

static bool equation_mentions(const struct equation *q, int axis) {
    for (int i = 0; i < q->value.n; i++)
        if (q->value.terms[i].op == FX_T_EXTENT && q->value.terms[i].v == axis) return true;
    return q->axis == axis;
}

/* The one label not yet bound that the equation mentions; -1 when there is none, or several. */
static int unbound_in(const struct kernel *k, const struct equation *q, const bool *bound) {
    int unbound = -1, n = 0;
    for (int axis = 0; axis < k->n_axes; axis++)
        if (!bound[axis] && equation_mentions(q, axis)) unbound = axis, n++;
    return n == 1 ? unbound : -1;
}

static bool equation_determines(const struct equation *q, int axis) {
    struct equation other = *q;
    other.axis = -1;
    return equation_mentions(&other, axis) ? fx_is_linear(&q->value, axis) : q->axis == axis;
}

/* What fixed extents, tensors and equations between them bind. A packed axis has as many words for several extents. */
static bool *bound_axes(struct checker *c) {
    struct kernel *k = c->k;
    bool *bound = NEW_ARRAY(&c->cx->arena, bool, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) bound[i] = k->axes[i].extent >= 0;
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        for (int a = 0; a < p->n_axes; a++) /* an output has the extents of the tensor that the launch is given */
            if (!p->packed.factor || p->packed.axis != a) bound[p->axes[a]] = true;
    }
    for (bool progress = true; progress;) {
        progress = false;
        for (int i = 0; i < k->n_equations; i++) {
            int axis = unbound_in(k, &k->equations[i], bound);
            if (axis < 0 || !equation_determines(&k->equations[i], axis)) continue;
            bound[axis] = progress = true;
        }
    }
    return bound;
}

/* Why nothing binds a label that something mentions, or NULL. */
static const char *almost_bound(struct checker *c, int axis, const bool *bound) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_equations; i++)
        if (unbound_in(k, &k->equations[i], bound) == axis)
            return arena_printf(&c->cx->arena, "%s may hold for more than one " NAME_FMT, k->equations[i].text,
                NAME_ARG(k->axes[axis].name));
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_input && k->params[i].packed.factor && k->params[i].axes[k->params[i].packed.axis] == axis)
            return arena_printf(&c->cx->arena,
                "%s is packed along it, and its words do not tell how many fields of the last count",
                k->params[i].name);
    return "no input or output carries it";
}

void extent_check_bound(struct checker *c) {
    struct kernel *k = c->k;
    bool *bound = bound_axes(c);
    for (int i = 0; i < k->n_axes; i++) {
        if (bound[i]) continue;
        diag_error(c->cx, k->axes[i].span, D_UNBOUND_EXTENT, "nothing binds the extent of " NAME_FMT ": %s",
            NAME_ARG(k->axes[i].name), almost_bound(c, i, bound));
        diag_fix(c->cx, "write it: " NAME_FMT "=16, or give it at compile time with -D", NAME_ARG(k->axes[i].name));
    }
}

/* ---- extents that the body ties together ---- */

static const char *extent_name(struct checker *c, int axis) {
    const struct axis *a = &c->k->axes[axis];
    if (a->extent >= 0) return arena_printf(&c->cx->arena, "%lld", (long long)a->extent);
    return arena_printf(&c->cx->arena, NAME_FMT "%s", NAME_ARG(a->name), a->part_of >= 0 ? "'" : "");
}

static void fix_extent(struct checker *c, int axis, int64_t v, const char *text, struct span at) {
    struct axis *a = &c->k->axes[axis];
    if (a->extent >= 0 && a->extent != v)
        diag_error(c->cx, check_user_span(c, at), D_EXTENT_CONFLICT, "this needs " NAME_FMT " to be %s, but it is %lld",
            NAME_ARG(a->name),
            strpbrk(text, "*+") ? arena_printf(&c->cx->arena, "%s = %lld", text, (long long)v) : text,
            (long long)a->extent);
    else if (v > (int64_t)1 << 40)
        diag_error(c->cx, check_user_span(c, at), D_BAD_EXTENT,
            "the extent of " NAME_FMT " would be %lld, more than 2^40", NAME_ARG(a->name), (long long)v);
    else a->extent = v;
}

static bool is_same_term(const struct fx_expr *a, const struct extent_terms *b) {
    bool same = a->n == b->n;
    for (int i = 0; same && i < b->n; i++) same = a->terms[i].op == b->t[i].op && a->terms[i].v == b->t[i].v;
    return same;
}

static void add_equation(struct checker *c, int axis, const struct extent_terms *x, const char *text, struct span at) {
    for (int i = 0; i < c->k->n_equations; i++)
        if (c->k->equations[i].axis == axis && is_same_term(&c->k->equations[i].value, x)) return;
    PUSH(&c->cx->arena, c->k->equations, c->k->n_equations) = (struct equation){.axis = axis,
        .value = {x->n, x->t},
        .text = arena_printf(&c->cx->arena, NAME_FMT " = %s", NAME_ARG(c->k->axes[axis].name), text),
        .span = check_user_span(c, at)};
}

/* What the user wrote for an operand of concat: `A` of x{A->P}, `S * E` of x{(S,E)->P}. NULL where it is P itself. */
static const struct equation *part_equation(struct checker *c, int axis) {
    for (int i = 0; c->k->axes[axis].part_of >= 0 && i < c->k->n_equations; i++) {
        const struct equation *q = &c->k->equations[i];
        if (q->axis == axis || (q->value.n == 1 && q->value.terms[0].op == FX_T_EXTENT && q->value.terms[0].v == axis))
            return q;
    }
    return NULL;
}

/* Adds the extent of an axis to an expression and its text. */
static void put_extent(struct checker *c, struct extent_terms *x, struct buf *text, int axis) {
    int64_t extent = c->k->axes[axis].extent;
    const struct equation *q = extent < 0 ? part_equation(c, axis) : NULL;
    if (q && q->axis != axis) {
        put_extent(c, x, text, q->axis);
        return;
    }
    for (int i = 0; q && i < q->value.n; i++) extent_put_term(c, x, q->value.terms[i].op, q->value.terms[i].v);
    if (!q) extent_put_term(c, x, extent >= 0 ? FX_T_CONST : FX_T_EXTENT, extent >= 0 ? extent : axis);
    buf_puts(text, q ? strchr(q->text, '=') + 2 : extent_name(c, axis));
}

void extent_equate(struct checker *c, int axis, const int *parts, int n, bool is_sum, struct span at) {
    struct extent_terms x = {0};
    struct buf text;
    int64_t fixed = is_sum ? 0 : 1;
    bool is_fixed = true, overflows = false;
    buf_init(&text, &c->cx->arena);
    if (n == 1 && parts[0] == axis) return;
    for (int i = 0; i < n; i++) {
        int64_t extent = c->k->axes[parts[i]].extent;
        is_fixed = is_fixed && extent >= 0;
        if (is_fixed)
            overflows |= is_sum ? __builtin_add_overflow(fixed, extent, &fixed)
                                : __builtin_mul_overflow(fixed, extent, &fixed);
        if (i) buf_puts(&text, is_sum ? " + " : " * ");
        if (is_sum) put_extent(c, &x, &text, parts[i]);
        else
            extent_put_term(c, &x, extent >= 0 ? FX_T_CONST : FX_T_EXTENT, extent >= 0 ? extent : parts[i]),
                buf_puts(&text, extent_name(c, parts[i]));
        if (i) extent_put_term(c, &x, is_sum ? FX_T_ADD : FX_T_MUL, 0);
    }
    if (is_fixed) fix_extent(c, axis, overflows ? INT64_MAX : fixed, text.s, at);
    else add_equation(c, axis, &x, text.s, at);
}

void extent_declare(struct checker *c, int axis, const struct ast_expr *extent, struct span at) {
    struct extent_terms x = {0};
    double v;
    if (extent_mentions_label(c, extent)) {
        if (!extent_put(c, extent, &x)) return;
        extent_require_divisions(c, extent, false);
        add_equation(c, axis, &x, check_expr_text(c, extent), at);
    } else if (check_const(c, extent, 0, &v)) {
        if (v >= 0 && v <= 0x1p40 && v == floor(v)) fix_extent(c, axis, (int64_t)v, check_expr_text(c, extent), at);
        else
            diag_error(c->cx, check_user_span(c, extent->span), D_BAD_EXTENT,
                "the extent of " NAME_FMT " must be an integer from 0 to 2^40", NAME_ARG(c->k->axes[axis].name));
    }
}

void extent_settle(struct checker *c) {
    int errors = c->cx->n_errors;
    if (c->k->n_equations && !errors) solve_fixed(c);
}

/* ---- constants as values ---- */

/* Whether integers alone make the constant. */
static bool is_integer_const(struct checker *c, const struct ast_expr *e, int depth) {
    if (!e || depth > MAX_DEPTH) return false;
    if (e->kind == AST_NUM) return e->num.is_integer && !e->num.is_bool;
    if (e->kind == AST_UNARY) return is_integer_const(c, e->a, depth + 1);
    if (e->kind == AST_BINARY)
        return e->op != OP_DIV && is_integer_const(c, e->a, depth + 1) && is_integer_const(c, e->b, depth + 1);
    if (e->kind != AST_ID) return false;
    const struct define *d = check_find_define(c, e->name);
    if (d) return !strpbrk(d->value, ".eEpPnN");
    const struct ast_item *item = check_find_const(c, e->name);
    return item && is_integer_const(c, item->value, depth + 1);
}

struct value *check_const_value(struct checker *c, const struct ast_expr *e) {
    double v;
    if (!check_const(c, e, 0, &v)) return NULL;
    if (is_integer_const(c, e, 0) && fabs(v) <= 0x1p53) return check_weak_integer(c, (int64_t)v, e);
    return check_number(c, v, e);
}

/* ---- sizes ---- */

double kernel_elements(const struct kernel *k, const int *axes, int n) {
    double elements = 1;
    for (int i = 0; i < n; i++) elements *= k->axes[axes[i]].extent < 0 ? NAN : (double)k->axes[axes[i]].extent;
    return elements;
}

/* "M=2, N=3" */
static const char *extents_text(struct checker *c, const struct param *p) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    for (int i = 0; i < p->n_axes; i++) {
        const struct axis *a = &c->k->axes[p->axes[i]];
        buf_printf(&b, "%s" NAME_FMT "=%lld", i ? ", " : "", NAME_ARG(a->name), (long long)a->extent);
    }
    return b.s;
}

void extent_check_sizes(struct checker *c) {
    for (int i = 0; i < c->k->n_params; i++) {
        const struct param *p = &c->k->params[i];
        double n = kernel_elements(c->k, p->axes, p->n_axes);
        if (!(n > (double)FX_MAX_ELEMENTS)) continue;
        diag_error(c->cx, p->ast->span, D_BAD_EXTENT, "%s has %.3g elements, more than the 2^48 that a tensor may have",
            p->name, n);
        diag_fix(c->cx, "make an extent smaller: %s", extents_text(c, p));
    }
}
