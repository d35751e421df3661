/* Expressions of a plan as C, for the launcher that host_c.c writes.
 *
 * In: postfix terms. Out: C text that computes at launch what fx_expr_eval and fx_check_scalars compute, overflow
 * included: an expression that cannot overflow for extents up to MAX_EXTENT is written as C writes it, any other
 * through functions that check. */
#include "host_c/host_c.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const int64_t MAX_EXTENT = INT64_C(1) << 40;

/* ---- over integers ---- */

enum ctype { C_LITERAL, C_INT64, C_BOOL }; /* literals may be int in C, where int64_t is meant */

struct c_text { /* an expression in C */
    const char *s;
    int level;       /* 0 or, 1 and, 2 compare or not, 3 sum, 4 product, 5 atom or call */
    enum ctype type;
    bool is_safe;    /* lies within [0, max], and so does everything it is made of; otherwise it may be FX_BAD */
    int64_t max;
};

struct tree { /* a postfix expression as a tree */
    const struct fx_term *term;
    const struct tree *l, *r;
};

static const struct c_form { /* how a step is written */
    const char *infix;  /* NULL: no operator of C says it */
    const char *helper; /* the function that checks */
    int level, left, right; /* of the infix form and of its operands */
} forms[] = {
    [FX_T_ADD] = {"+", "fx_add", 3, 3, 4},
    [FX_T_SUB] = {NULL, "fx_sub", 5, 0, 0},
    [FX_T_MUL] = {"*", "fx_mul", 4, 4, 5},
    [FX_T_DIV] = {"/", "fx_div", 4, 4, 5},
    [FX_T_MOD] = {"%", "fx_mod", 4, 4, 5},
    [FX_T_CDIV] = {NULL, "fx_cdiv", 5, 0, 0},
    [FX_T_DIV_EXACT] = {NULL, "fx_exact", 5, 0, 0},
    [FX_T_MIN] = {NULL, "fx_min", 5, 0, 0},
    [FX_T_MAX] = {NULL, "fx_max", 5, 0, 0},
    [FX_T_LT] = {"<", "fx_lt", 2, 3, 3},
    [FX_T_LE] = {"<=", "fx_le", 2, 3, 3},
    [FX_T_EQ] = {"==", "fx_eq", 2, 3, 3},
    [FX_T_AND] = {"&&", "fx_and", 1, 1, 2},
    [FX_T_OR] = {"||", "fx_or", 0, 2, 2},
    [FX_T_NOT] = {"!", "fx_not", 2, 0, 5},
};

static bool is_logic(enum fx_term_op op) { return op == FX_T_AND || op == FX_T_OR || op == FX_T_NOT; }
static bool is_compare(enum fx_term_op op) { return op == FX_T_LT || op == FX_T_LE || op == FX_T_EQ; }

/* NULL for an empty expression. */
static const struct tree *as_tree(struct arena *a, const struct fx_expr *e) {
    const struct tree **stack = NEW_ARRAY(a, const struct tree *, e->n + 2);
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        struct tree *t = NEW(a, struct tree);
        t->term = &e->terms[i];
        if (t->term->op > FX_T_LAST_LEAF && n > 0) t->r = stack[--n];
        if (t->term->op > FX_T_LAST_LEAF && t->term->op != FX_T_NOT && n > 0) t->l = stack[--n];
        stack[n++] = t;
    }
    return n ? stack[n - 1] : NULL;
}

static const char *wrap(struct arena *a, struct c_text x, int level) {
    return x.level < level ? arena_printf(a, "(%s)", x.s) : x.s;
}

static struct c_text literal(struct arena *a, int64_t v) {
    struct c_text t = {.s = "INT64_MIN", .level = 5, .type = C_LITERAL, .is_safe = v >= 0, .max = v};
    if (v != INT64_MIN) t.s = arena_printf(a, "%lld", (long long)v);
    return t;
}

static struct c_text leaf(struct host_writer *w, const struct fx_term *t) {
    const struct fx_extent *e = t->op == FX_T_EXTENT ? &w->k->extents[t->v] : NULL;
    if (t->op == FX_T_CONST) return literal(w->arena, t->v);
    if (e && e->value >= 0) return literal(w->arena, e->value);
    if (e) return (struct c_text){w->extents[t->v], 5, C_INT64, true, MAX_EXTENT};
    if (t->op == FX_T_SM_COUNT) return (struct c_text){"m->sm_count", 5, C_INT64, true, INT_MAX};
    if (t->op == FX_T_STRIDE && w->is_any_alignment) return literal(w->arena, 0);
    if (t->op == FX_T_STRIDE) return (struct c_text){w->strides[t->v], 5, C_INT64, false, 0};
    if (w->is_any_alignment || w->k->params[t->v].is_scalar) return literal(w->arena, 256);
    return (struct c_text){
        arena_printf(w->arena, "%s(%s)", host_c_call(w, "fx_align"), w->params[t->v]), 5, C_INT64, true, 256};
}

/* Sets what is known of the value of l op r. */
static void bound(struct c_text *t, enum fx_term_op op, const struct c_text *l, const struct c_text *r) {
    bool is_positive = r->is_safe && r->type == C_LITERAL && r->max > 0;
    t->is_safe = l->is_safe && r->is_safe;
    t->max = 1;
    switch (op) {
    case FX_T_ADD: t->is_safe &= !__builtin_add_overflow(l->max, r->max, &t->max); break;
    case FX_T_MUL: t->is_safe &= !__builtin_mul_overflow(l->max, r->max, &t->max); break;
    case FX_T_DIV:
    case FX_T_CDIV: t->is_safe &= is_positive, t->max = l->max; break;
    case FX_T_MOD: t->is_safe &= is_positive, t->max = r->max; break;
    case FX_T_MIN: t->max = l->max < r->max ? l->max : r->max; break;
    case FX_T_MAX: t->max = l->max > r->max ? l->max : r->max; break;
    case FX_T_SUB:
    case FX_T_DIV_EXACT: t->is_safe = false; break;
    default: break;
    }
}

/* Whether the operator of C means here what the step means, and no compiler warns of it. */
static bool is_plain(enum fx_term_op op, const struct c_text *l, const struct c_text *r) {
    if (is_logic(op)) return true;
    return l->type != C_BOOL && r->type != C_BOOL && !(l->type == C_LITERAL && r->type == C_LITERAL) &&
           strcmp(l->s, r->s) != 0;
}

static struct c_text as_bool(struct arena *a, struct c_text x) {
    if (x.type != C_BOOL) x = (struct c_text){arena_printf(a, "%s != 0", wrap(a, x, 3)), 2, C_BOOL, x.is_safe, 1};
    return x;
}

static struct c_text expression(struct host_writer *w, const struct tree *t) {
    struct arena *a = w->arena;
    enum fx_term_op op = t->term->op;
    const struct c_form *f = &forms[op];
    if (op <= FX_T_LAST_LEAF) return leaf(w, t->term);
    struct c_text r = expression(w, t->r), l = t->l ? expression(w, t->l) : r;
    struct c_text out = {.level = 5, .type = C_INT64};
    bound(&out, op, &l, &r);
    if (!out.is_safe || !f->infix || !is_plain(op, &l, &r)) {
        out.s = op == FX_T_NOT ? arena_printf(a, "%s(%s)", host_c_call(w, f->helper), r.s)
                               : arena_printf(a, "%s(%s, %s)", host_c_call(w, f->helper), l.s, r.s);
        return out;
    }
    if (is_logic(op)) l = as_bool(a, l), r = as_bool(a, r);
    if (is_logic(op) || is_compare(op)) out.type = C_BOOL;
    out.level = f->level;
    out.s = op == FX_T_NOT ? arena_printf(a, "!%s", wrap(a, r, f->right))
                           : arena_printf(a, "%s %s %s", wrap(a, l, f->left), f->infix, wrap(a, r, f->right));
    return out;
}

const char *host_c_value(struct host_writer *w, const struct fx_expr *e) {
    const struct tree *t = as_tree(w->arena, e);
    return t ? expression(w, t).s : "0";
}

/* A condition as a bool. Both sides of an outermost && hold for themselves. */
static struct c_text holds(struct host_writer *w, const struct tree *t) {
    struct arena *a = w->arena;
    if (t->term->op == FX_T_AND) {
        struct c_text l = holds(w, t->l), r = holds(w, t->r);
        return (struct c_text){arena_printf(a, "%s && %s", wrap(a, l, 1), wrap(a, r, 2)), 1, C_BOOL, true, 1};
    }
    struct c_text x = expression(w, t);
    return x.is_safe ? as_bool(a, x)
                     : (struct c_text){arena_printf(a, "%s(%s)", host_c_call(w, "fx_holds"), x.s), 5, C_BOOL, true, 1};
}

const char *host_c_condition(struct host_writer *w, const struct fx_expr *e) {
    const struct tree *t = as_tree(w->arena, e);
    return t ? holds(w, t).s : "true";
}

const char *host_c_conjunct(struct host_writer *w, const struct fx_expr *e) {
    const struct tree *t = as_tree(w->arena, e);
    return t ? wrap(w->arena, holds(w, t), forms[FX_T_AND].level) : "true";
}

/* ---- conditions on scalars: in long double, as fx_check_scalars evaluates them; `ok` turns false where there is no
 * value ---- */

struct c_number {
    const char *s; /* an atom */
    bool is_real;  /* of floating point; otherwise whole */
    bool is_bool;  /* a condition of C */
};

static const char *as_number(struct arena *a, struct c_number x) {
    return x.is_bool ? arena_printf(a, "(long double)%s", x.s) : x.s;
}
static const char *as_condition(struct arena *a, struct c_number x) {
    return x.is_bool ? x.s : arena_printf(a, "(%s != 0)", x.s);
}

static struct c_number scalar_number(struct host_writer *w, const struct fx_term *t) {
    const struct fx_param *p = &w->k->params[t->v];
    const char *name = w->params[t->v], *form = NULL;
    switch (p->dtype) {
    case FX_F16: form = "5, 10, false"; break;
    case FX_BF16: form = "8, 7, false"; break;
    case FX_F8E5M2: form = "5, 2, false"; break;
    case FX_F8E4M3: form = "4, 3, true"; break;
    default: break;
    }
    return (struct c_number){form ? arena_printf(w->arena, "%s(%s, %s)", host_c_call(w, "fx_small"), name, form)
                                  : arena_printf(w->arena, "(long double)%s", name),
        fx_dtype_class_of(p->dtype) == FX_CLASS_F, false};
}

static struct c_number number_leaf(struct host_writer *w, const struct fx_term *t) {
    double real;
    if (t->op == FX_T_SCALAR) return scalar_number(w, t);
    if (t->op == FX_T_CONST)
        return (struct c_number){
            arena_printf(w->arena, t->v < 0 ? "(%lld.0L)" : "%lld.0L", (long long)t->v), false, false};
    if (t->op != FX_T_REAL)
        return (struct c_number){
            arena_printf(w->arena, "(long double)%s", wrap(w->arena, leaf(w, t), 5)), false, false};
    memcpy(&real, &t->v, sizeof real);
    if (isnan(real)) return (struct c_number){"(0.0L / 0.0L)", true, false};
    if (isinf(real)) return (struct c_number){real > 0 ? "(1.0L / 0.0L)" : "(-1.0L / 0.0L)", true, false};
    return (struct c_number){
        arena_printf(w->arena, "(long double)(%.17g)", real), true, false}; /* read as a double: exact */
}

/* l op r, neither a comparison nor logic. */
static const char *arithmetic(struct host_writer *w, enum fx_term_op op, bool is_real, const char *l, const char *r) {
    struct arena *a = w->arena;
    switch (op) {
    case FX_T_ADD: return arena_printf(a, "(%s + %s)", l, r);
    case FX_T_SUB: return arena_printf(a, "(%s - %s)", l, r);
    case FX_T_MUL: return arena_printf(a, "(%s * %s)", l, r);
    case FX_T_DIV:
    case FX_T_MOD:
        return arena_printf(a, "%s(%s, %s, %s)", host_c_call(w, is_real ? "fx_floored" : "fx_quotient"), l, r,
            op == FX_T_MOD ? "true" : "false");
    case FX_T_DIV_EXACT:
        return is_real ? arena_printf(a, "(%s / %s)", l, r)
                       : arena_printf(a, "%s(&ok, %s, %s)", host_c_call(w, "fx_exactly"), l, r);
    default:
        return arena_printf(a, "%s(&ok, 1.0L / 0.0L)",
            host_c_call(w, "fx_whole")); /* no condition of the compiler has it: there is no value */
    }
}

static struct c_number number(struct host_writer *w, const struct tree *t) {
    struct arena *a = w->arena;
    enum fx_term_op op = t->term->op;
    if (op <= FX_T_LAST_LEAF) return number_leaf(w, t->term);
    struct c_number r = number(w, t->r), l = t->l ? number(w, t->l) : r;
    if (op == FX_T_NOT) return (struct c_number){arena_printf(a, "!%s", as_condition(a, r)), false, true};
    if (is_logic(op)) /* both sides are looked at: a step without a value fails the whole */
        return (struct c_number){
            arena_printf(a, "(%s %c %s)", as_condition(a, l), op == FX_T_AND ? '&' : '|', as_condition(a, r)), false,
            true};
    if (is_compare(op))
        return (struct c_number){
            arena_printf(a, "(%s %s %s)", as_number(a, l), forms[op].infix, as_number(a, r)), false, true};
    bool is_real = l.is_real || r.is_real;
    const char *s = arithmetic(w, op, is_real, as_number(a, l), as_number(a, r));
    return (struct c_number){
        is_real ? s : arena_printf(a, "%s(&ok, %s)", host_c_call(w, "fx_whole"), s), is_real, false};
}

const char *host_c_condition_on_scalars(struct host_writer *w, const struct fx_expr *e) {
    return as_condition(w->arena, number(w, as_tree(w->arena, e)));
}
