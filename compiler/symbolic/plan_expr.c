/* The expressions of a plan: evaluated over integers, solved for an extent, and evaluated over scalars.
 *
 * In: postfix terms and what they are over. Out: numbers, or why there is none. Pure: no allocation, no state. Whole
 * numbers are exact or refused, never rounded. */
#include "symbolic/plan_expr.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "a 64-bit integer must be exact in a long double");

enum { EXPR_MAX_DEPTH = 64 };

bool expr_equal(const struct fx_expr *a, const struct fx_expr *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->terms[i].op != b->terms[i].op || a->terms[i].v != b->terms[i].v) return false;
    return true;
}

bool expr_has(const struct fx_expr *e, enum fx_term_op op, int64_t v) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op == op && e->terms[i].v == v) return true;
    return false;
}

bool expr_is_on_scalars(const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op == FX_T_SCALAR || e->terms[i].op == FX_T_REAL) return true;
    return false;
}

/* ---- the walk ---- */

struct line { /* (a * x + b) / d, x the unknown; d > 0 */
    int64_t a, b, d;
};

struct number {
    bool is_real;  /* of a floating-point parameter or literal, or made of one; otherwise a whole number, exact */
    long double v;
};

/* What a term stands for in a domain. */
union expr_value {
    int64_t whole;
    struct line line;
    bool has_unknown;
    struct number number;
};

struct domain {
    enum expr_state (*leaf)(const void *over, const struct fx_term *t, union expr_value *out);
    enum expr_state (*negate)(union expr_value *v);
    enum expr_state (*apply)(
        enum fx_term_op op, union expr_value *l, const union expr_value *r); /* l op r in place of l */
    const void *over;
};

static enum expr_state walk(const struct fx_expr *e, const struct domain *d, union expr_value *out) {
    union expr_value stack[EXPR_MAX_DEPTH];
    enum expr_state state = EXPR_OK;
    int n = 0;
    for (const struct fx_term *t = e->terms; state == EXPR_OK && t < e->terms + e->n; t++) {
        bool is_leaf = t->op <= FX_T_LAST_LEAF, is_not = t->op == FX_T_NOT;
        if (is_leaf ? n == EXPR_MAX_DEPTH : n < 2 - is_not) return EXPR_MALFORMED;
        if (is_leaf) state = d->leaf(d->over, t, &stack[n++]);
        else if (is_not) state = d->negate(&stack[n - 1]);
        else n--, state = d->apply(t->op, &stack[n - 1], &stack[n]);
    }
    if (state != EXPR_OK) return state;
    if (n != 1) return EXPR_MALFORMED;
    *out = stack[0];
    return EXPR_OK;
}

/* ---- over integers ---- */

static enum expr_state push_leaf(const struct fx_term *t, const struct fx_env *env, int64_t *out) {
    if (t->op != FX_T_CONST && t->op != FX_T_SM_COUNT && t->v < 0) return EXPR_MALFORMED;
    switch (t->op) {
    case FX_T_CONST: *out = t->v; return EXPR_OK;
    case FX_T_EXTENT: *out = env->extents[t->v]; return EXPR_OK;
    case FX_T_ALIGN: *out = env->align ? env->align[t->v] : 256; return EXPR_OK;
    case FX_T_SM_COUNT: *out = env->sm_count; return EXPR_OK;
    case FX_T_STRIDE: *out = env->strides ? env->strides[t->v] : 0; return EXPR_OK;
    default: return EXPR_MALFORMED;
    }
}

/* Quotient rounded down and the remainder that goes with it, which has the sign of b. Both 0 when b is 0. */
static bool floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder) {
    *quotient = *remainder = 0;
    if (b == 0) return true;
    if (b == -1) return !__builtin_sub_overflow(0, a, quotient);
    *quotient = a / b;
    *remainder = a % b;
    if (*remainder && (*remainder < 0) != (b < 0)) {
        *quotient -= 1;
        *remainder += b;
    }
    return true;
}

static enum expr_state unless(bool overflows) { return overflows ? EXPR_OVERFLOW : EXPR_OK; }

static enum expr_state apply(enum fx_term_op op, int64_t a, int64_t b, int64_t *out) {
    int64_t quotient, remainder;
    switch (op) {
    case FX_T_ADD: return unless(__builtin_add_overflow(a, b, out));
    case FX_T_SUB: return unless(__builtin_sub_overflow(a, b, out));
    case FX_T_MUL: return unless(__builtin_mul_overflow(a, b, out));
    case FX_T_DIV: return unless(!floor_divide(a, b, out, &remainder));
    case FX_T_MOD: *out = 0; return unless(b != -1 && !floor_divide(a, b, &quotient, out));
    case FX_T_DIV_EXACT:
        if (!floor_divide(a, b, out, &remainder)) return EXPR_OVERFLOW;
        return b == 0 || remainder ? EXPR_INEXACT : EXPR_OK;
    case FX_T_CDIV:
        if (!floor_divide(a, b, out, &remainder)) return EXPR_OVERFLOW;
        *out += remainder != 0;
        return EXPR_OK;
    case FX_T_MIN: *out = a < b ? a : b; return EXPR_OK;
    case FX_T_MAX: *out = a > b ? a : b; return EXPR_OK;
    case FX_T_LT: *out = a < b; return EXPR_OK;
    case FX_T_LE: *out = a <= b; return EXPR_OK;
    case FX_T_EQ: *out = a == b; return EXPR_OK;
    case FX_T_AND: *out = a && b; return EXPR_OK;
    case FX_T_OR: *out = a || b; return EXPR_OK;
    default: return EXPR_MALFORMED;
    }
}

static enum expr_state whole_leaf(const void *env, const struct fx_term *t, union expr_value *out) {
    return push_leaf(t, env, &out->whole);
}

static enum expr_state whole_not(union expr_value *v) {
    v->whole = !v->whole;
    return EXPR_OK;
}

static enum expr_state whole_apply(enum fx_term_op op, union expr_value *l, const union expr_value *r) {
    return apply(op, l->whole, r->whole, &l->whole);
}

enum expr_state expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out) {
    union expr_value v;
    enum expr_state state = e->n ? walk(e, &(struct domain){whole_leaf, whole_not, whole_apply, env}, &v) : EXPR_OK;
    *out = state == EXPR_OK && e->n ? v.whole : 0;
    return state;
}

bool fx_expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out) {
    return expr_eval(e, env, out) == EXPR_OK;
}

bool fx_expr_holds(const struct fx_expr *e, const struct fx_env *env) {
    int64_t v;
    return e->n == 0 || (fx_expr_eval(e, env, &v) && v != 0);
}

/* ---- solved for an extent ---- */

static int64_t gcd(int64_t a, int64_t b) { /* of numbers not below 0 */
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* In lowest terms with d > 0; false where that leaves 64 bits. */
static bool line_reduce(struct line *l) {
    if (l->a == INT64_MIN || l->b == INT64_MIN || l->d == INT64_MIN || l->d == 0) return false;
    int64_t common = gcd(gcd(l->a < 0 ? -l->a : l->a, l->b < 0 ? -l->b : l->b), l->d < 0 ? -l->d : l->d);
    if (l->d < 0) common = -common;
    *l = (struct line){l->a / common, l->b / common, l->d / common};
    return true;
}

static bool line_add(struct line *l, const struct line *r, int sign) {
    int64_t common = gcd(l->d, r->d), to_l = r->d / common, to_r = sign * (l->d / common), a, b;
    if (__builtin_mul_overflow(l->a, to_l, &l->a) || __builtin_mul_overflow(l->b, to_l, &l->b) ||
        __builtin_mul_overflow(l->d, to_l, &l->d) || __builtin_mul_overflow(r->a, to_r, &a) ||
        __builtin_mul_overflow(r->b, to_r, &b) || __builtin_add_overflow(l->a, a, &l->a) ||
        __builtin_add_overflow(l->b, b, &l->b))
        return false;
    return line_reduce(l);
}

/* l times n / d. */
static bool line_scale(struct line *l, int64_t n, int64_t d) {
    if (__builtin_mul_overflow(l->a, n, &l->a) || __builtin_mul_overflow(l->b, n, &l->b) ||
        __builtin_mul_overflow(l->d, d, &l->d))
        return false;
    return line_reduce(l);
}

struct line_over {
    int unknown;
    struct fx_env env;
};

static enum expr_state line_leaf(const void *over, const struct fx_term *t, union expr_value *out) {
    const struct line_over *o = over;
    bool is_unknown = t->op == FX_T_EXTENT && t->v == o->unknown;
    out->line = (struct line){is_unknown, 0, 1};
    return is_unknown ? EXPR_OK : push_leaf(t, &o->env, &out->line.b);
}

/* What is no line in x, or overflows, is malformed. */
static enum expr_state line_apply(enum fx_term_op op, union expr_value *left, const union expr_value *right) {
    struct line *l = &left->line, other = *l;
    const struct line *r = &right->line;
    bool is_line;
    if (op == FX_T_ADD || op == FX_T_SUB) is_line = line_add(l, r, op == FX_T_ADD ? 1 : -1);
    else if (op == FX_T_MUL && r->a == 0) is_line = line_scale(l, r->b, r->d);
    else if (op == FX_T_MUL && l->a == 0) *l = *r, is_line = line_scale(l, other.b, other.d);
    else if (op == FX_T_DIV_EXACT && r->a == 0 && r->b != 0) is_line = line_scale(l, r->d, r->b);
    else is_line = !l->a && !r->a && l->d == 1 && r->d == 1 && apply(op, l->b, r->b, &l->b) == EXPR_OK;
    return is_line ? EXPR_OK : EXPR_MALFORMED;
}

static enum expr_state line_not(union expr_value *v) {
    (void)v;
    return EXPR_MALFORMED;
}

static enum expr_state unknown_leaf(const void *extent, const struct fx_term *t, union expr_value *out) {
    out->has_unknown = t->op == FX_T_EXTENT && t->v == *(const int *)extent;
    return EXPR_OK;
}

static enum expr_state unknown_not(union expr_value *v) { return v->has_unknown ? EXPR_MALFORMED : EXPR_OK; }

static enum expr_state unknown_apply(enum fx_term_op op, union expr_value *l, const union expr_value *r) {
    bool is_either = l->has_unknown || r->has_unknown;
    bool is_sum = op == FX_T_ADD || op == FX_T_SUB, is_product = op == FX_T_MUL && !(l->has_unknown && r->has_unknown);
    if (is_either && !is_sum && !is_product && !(op == FX_T_DIV_EXACT && !r->has_unknown)) return EXPR_MALFORMED;
    l->has_unknown = is_either;
    return EXPR_OK;
}

bool fx_is_linear(const struct fx_expr *value, int extent) {
    union expr_value v;
    return walk(value, &(struct domain){unknown_leaf, unknown_not, unknown_apply, &extent}, &v) == EXPR_OK;
}

bool expr_solve(const struct fx_equation *q, int unknown, int64_t *extents, int64_t *x) {
    const struct line_over over = {unknown, {.extents = extents}};
    union expr_value value;
    struct line side = {0, 0, 1};
    int64_t known = extents[unknown], check;
    if (unknown == q->extent && !expr_has(&q->value, FX_T_EXTENT, unknown))
        return fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, x);
    if (unknown == q->extent) side.a = 1;
    else side.b = extents[q->extent];
    /* a * x + b = 0, whatever the denominator. */
    if (walk(&q->value, &(struct domain){line_leaf, line_not, line_apply, &over}, &value) != EXPR_OK ||
        !line_add(&value.line, &side, -1) || value.line.a == 0 || value.line.b % value.line.a)
        return false;
    *x = -(value.line.b / value.line.a);
    extents[unknown] = *x;
    bool ok = fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, &check) &&
              check == extents[q->extent]; /* its divisions are exact */
    extents[unknown] = known;
    return ok;
}

/* ---- over scalars ---- */

struct scalars_over {
    const struct fx_kernel *k;
    const int64_t *extents;
    const void *const *scalars;
};

static enum expr_state scalar_leaf(const struct fx_param *p, const void *at, struct number *out) {
    int bits = fx_dtype_bits(p->dtype);
    uint64_t word;
    if (!p->is_scalar || !at || bits < 8) return EXPR_MALFORMED;
    out->is_real = fx_dtype_class_of(p->dtype) == FX_CLASS_F;
    out->v = fx_load_double(p->dtype, at, 0);
    if (out->is_real || bits < 64) return EXPR_OK;
    memcpy(&word, at, sizeof word);
    out->v = p->dtype == FX_I64 ? (long double)(int64_t)word : (long double)word;
    return EXPR_OK;
}

static enum expr_state number_leaf(const void *over, const struct fx_term *t, union expr_value *value) {
    const struct scalars_over *o = over;
    struct number *out = &value->number;
    double real;
    *out = (struct number){false, 0};
    switch (t->op) {
    case FX_T_CONST: out->v = t->v; return EXPR_OK;
    case FX_T_EXTENT: out->v = o->extents[t->v]; return EXPR_OK;
    case FX_T_SCALAR:
        return t->v >= 0 && t->v < o->k->n_params ? scalar_leaf(&o->k->params[t->v], o->scalars[t->v], out)
                                                  : EXPR_MALFORMED;
    case FX_T_REAL:
        memcpy(&real, &t->v, sizeof real);
        *out = (struct number){true, real};
        return EXPR_OK;
    default: return EXPR_MALFORMED;
    }
}

/* The quotient rounded down and its remainder, both 0 when b is 0; of whole numbers exact, as fmodl is. */
static void divide(bool is_real, long double a, long double b, long double *quotient, long double *remainder) {
    *quotient = *remainder = 0;
    if (b == 0) return;
    if (is_real) {
        *quotient = floorl(a / b);
        *remainder = a - b * *quotient;
        return;
    }
    *remainder = fmodl(a, b);
    *quotient = (a - *remainder) / b;
    if (*remainder == 0 || (*remainder < 0) == (b < 0)) return;
    *quotient -= 1;
    *remainder += b;
}

static enum expr_state number_not(union expr_value *v) {
    v->number = (struct number){false, v->number.v == 0};
    return EXPR_OK;
}

static enum expr_state number_apply(enum fx_term_op op, union expr_value *left, const union expr_value *right) {
    struct number *l = &left->number;
    const struct number *r = &right->number;
    long double a = l->v, b = r->v, quotient, remainder;
    bool is_real = l->is_real || r->is_real;
    divide(is_real, a, b, &quotient, &remainder);
    l->is_real = is_real && op < FX_T_LT;
    switch (op) {
    case FX_T_ADD: l->v = a + b; break;
    case FX_T_SUB: l->v = a - b; break;
    case FX_T_MUL: l->v = a * b; break;
    case FX_T_DIV: l->v = quotient; break;
    case FX_T_MOD: l->v = remainder; break;
    case FX_T_DIV_EXACT:
        if (!is_real && (b == 0 || remainder != 0)) return EXPR_INEXACT;
        l->v = is_real ? a / b : quotient;
        break;
    case FX_T_LT: l->v = a < b; break;
    case FX_T_LE: l->v = a <= b; break;
    case FX_T_EQ: l->v = a == b; break;
    case FX_T_AND: l->v = a != 0 && b != 0; break;
    case FX_T_OR: l->v = a != 0 || b != 0; break;
    default: return EXPR_MALFORMED;
    }
    return unless(
        !l->is_real && fabsl(l->v) > (long double)UINT64_MAX); /* up to there every sum and product was exact */
}

enum expr_state expr_on_scalars(const struct fx_kernel *k, const struct fx_expr *e, const int64_t *extents,
    const void *const *scalars, bool *holds) {
    union expr_value v;
    enum expr_state state = walk(
        e, &(struct domain){number_leaf, number_not, number_apply, &(struct scalars_over){k, extents, scalars}}, &v);
    *holds = state == EXPR_OK && v.number.v != 0;
    return state;
}
