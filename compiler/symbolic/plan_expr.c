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

enum expr_state expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out) {
    int64_t stack[EXPR_MAX_DEPTH];
    enum expr_state state = EXPR_OK;
    int n = 0;
    *out = 0;
    for (const struct fx_term *t = e->terms; state == EXPR_OK && t < e->terms + e->n; t++) {
        if (t->op <= FX_T_LAST_LEAF) {
            if (n == EXPR_MAX_DEPTH) return EXPR_MALFORMED;
            state = push_leaf(t, env, &stack[n++]);
        } else if (t->op == FX_T_NOT) {
            if (n < 1) return EXPR_MALFORMED;
            stack[n - 1] = !stack[n - 1];
        } else {
            if (n < 2) return EXPR_MALFORMED;
            state = apply(t->op, stack[n - 2], stack[n - 1], &stack[n - 2]);
            n--;
        }
    }
    if (state != EXPR_OK || e->n == 0) return state;
    *out = stack[0];
    return n == 1 ? EXPR_OK : EXPR_MALFORMED;
}

bool fx_expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out) { return expr_eval(e, env, out) == EXPR_OK; }

bool fx_expr_holds(const struct fx_expr *e, const struct fx_env *env) {
    int64_t v;
    return e->n == 0 || (fx_expr_eval(e, env, &v) && v != 0);
}

/* ---- solved for an extent ---- */

struct linear_form { /* (a * x + b) / d, x the unknown; d > 0 */
    int64_t a, b, d;
};

static int64_t gcd(int64_t a, int64_t b) { /* of numbers not below 0 */
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* In lowest terms with d > 0; false where that leaves 64 bits. */
static bool line_reduce(struct linear_form *l) {
    if (l->a == INT64_MIN || l->b == INT64_MIN || l->d == INT64_MIN || l->d == 0) return false;
    int64_t common = gcd(gcd(l->a < 0 ? -l->a : l->a, l->b < 0 ? -l->b : l->b), l->d < 0 ? -l->d : l->d);
    if (l->d < 0) common = -common;
    *l = (struct linear_form){l->a / common, l->b / common, l->d / common};
    return true;
}

static bool line_add(struct linear_form *l, const struct linear_form *r, int sign) {
    int64_t common = gcd(l->d, r->d), to_l = r->d / common, to_r = sign * (l->d / common), a, b;
    if (__builtin_mul_overflow(l->a, to_l, &l->a) || __builtin_mul_overflow(l->b, to_l, &l->b) || __builtin_mul_overflow(l->d, to_l, &l->d) ||
        __builtin_mul_overflow(r->a, to_r, &a) || __builtin_mul_overflow(r->b, to_r, &b) || __builtin_add_overflow(l->a, a, &l->a) ||
        __builtin_add_overflow(l->b, b, &l->b))
        return false;
    return line_reduce(l);
}

/* l times n / d. */
static bool line_scale(struct linear_form *l, int64_t n, int64_t d) {
    if (__builtin_mul_overflow(l->a, n, &l->a) || __builtin_mul_overflow(l->b, n, &l->b) || __builtin_mul_overflow(l->d, d, &l->d)) return false;
    return line_reduce(l);
}

/* l op r in place of l; false where that is no line in x, or overflows. */
static bool line_apply(enum fx_term_op op, struct linear_form *l, const struct linear_form *r) {
    int64_t v;
    if (op == FX_T_ADD || op == FX_T_SUB) return line_add(l, r, op == FX_T_ADD ? 1 : -1);
    if (op == FX_T_MUL && r->a == 0) return line_scale(l, r->b, r->d);
    if (op == FX_T_MUL && l->a == 0) {
        struct linear_form other = *l;
        *l = *r;
        return line_scale(l, other.b, other.d);
    }
    if (op == FX_T_DIV_EXACT && r->a == 0 && r->b != 0) return line_scale(l, r->d, r->b);
    if (l->a || r->a || l->d != 1 || r->d != 1 || apply(op, l->b, r->b, &v) != EXPR_OK) return false;
    *l = (struct linear_form){0, v, 1};
    return true;
}

static bool as_line(const struct fx_expr *e, int unknown, const int64_t *extents, struct linear_form *out) {
    struct linear_form stack[EXPR_MAX_DEPTH];
    const struct fx_env env = {.extents = extents};
    int n = 0;
    for (const struct fx_term *t = e->terms; t < e->terms + e->n; t++) {
        if (t->op == FX_T_EXTENT && t->v == unknown) {
            if (n == EXPR_MAX_DEPTH) return false;
            stack[n++] = (struct linear_form){1, 0, 1};
        } else if (t->op <= FX_T_LAST_LEAF) {
            if (n == EXPR_MAX_DEPTH) return false;
            stack[n] = (struct linear_form){0, 0, 1};
            if (push_leaf(t, &env, &stack[n++].b) != EXPR_OK) return false;
        } else {
            if (t->op == FX_T_NOT || n < 2 || !line_apply(t->op, &stack[n - 2], &stack[n - 1])) return false;
            n--;
        }
    }
    *out = stack[0];
    return n == 1;
}

bool fx_is_linear(const struct fx_expr *value, int extent) {
    bool stack[EXPR_MAX_DEPTH];
    int n = 0;
    for (const struct fx_term *t = value->terms; t < value->terms + value->n; t++) {
        if (t->op <= FX_T_LAST_LEAF) {
            if (n == EXPR_MAX_DEPTH) return false;
            stack[n++] = t->op == FX_T_EXTENT && t->v == extent;
            continue;
        }
        if (t->op == FX_T_NOT) {
            if (n < 1 || stack[n - 1]) return false;
            continue;
        }
        if (n < 2) return false;
        bool r = stack[--n], l = stack[n - 1];
        bool is_sum = t->op == FX_T_ADD || t->op == FX_T_SUB, is_product = t->op == FX_T_MUL && !(l && r), is_quotient = t->op == FX_T_DIV_EXACT && !r;
        if ((l || r) && !is_sum && !is_product && !is_quotient) return false;
        stack[n - 1] = l || r;
    }
    return n == 1;
}

bool expr_solve(const struct fx_equation *q, int unknown, int64_t *extents, int64_t *x) {
    struct linear_form value, side = {0, 0, 1};
    int64_t known = extents[unknown], check;
    if (unknown == q->extent && !expr_has(&q->value, FX_T_EXTENT, unknown)) return fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, x);
    if (unknown == q->extent) side.a = 1;
    else side.b = extents[q->extent];
    /* a * x + b = 0, whatever the denominator. */
    if (!as_line(&q->value, unknown, extents, &value) || !line_add(&value, &side, -1) || value.a == 0 || value.b % value.a) return false;
    *x = -(value.b / value.a);
    extents[unknown] = *x;
    bool ok = fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, &check) && check == extents[q->extent]; /* its divisions are exact */
    extents[unknown] = known;
    return ok;
}

/* ---- over scalars ---- */

struct expr_number {
    bool is_real;  /* of a floating-point parameter or literal, or made of one; otherwise a whole number, exact */
    long double v;
};

static enum expr_state scalar_leaf(const struct fx_param *p, const void *at, struct expr_number *out) {
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

static enum expr_state number_leaf(const struct fx_kernel *k, const struct fx_term *t, const int64_t *extents, const void *const *scalars, struct expr_number *out) {
    double real;
    *out = (struct expr_number){false, 0};
    switch (t->op) {
    case FX_T_CONST: out->v = t->v; return EXPR_OK;
    case FX_T_EXTENT: out->v = extents[t->v]; return EXPR_OK;
    case FX_T_SCALAR: return t->v >= 0 && t->v < k->n_params ? scalar_leaf(&k->params[t->v], scalars[t->v], out) : EXPR_MALFORMED;
    case FX_T_REAL:
        memcpy(&real, &t->v, sizeof real);
        *out = (struct expr_number){true, real};
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

static enum expr_state number_apply(enum fx_term_op op, struct expr_number *l, const struct expr_number *r) {
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
    return unless(!l->is_real && fabsl(l->v) > (long double)UINT64_MAX); /* up to there every sum and product was exact */
}

enum expr_state expr_on_scalars(const struct fx_kernel *k, const struct fx_expr *e, const int64_t *extents, const void *const *scalars, bool *holds) {
    struct expr_number stack[EXPR_MAX_DEPTH];
    enum expr_state state = EXPR_OK;
    int n = 0;
    *holds = false;
    for (const struct fx_term *t = e->terms; state == EXPR_OK && t < e->terms + e->n; t++) {
        if (t->op <= FX_T_LAST_LEAF) {
            if (n == EXPR_MAX_DEPTH) return EXPR_MALFORMED;
            state = number_leaf(k, t, extents, scalars, &stack[n++]);
        } else if (t->op == FX_T_NOT) {
            if (n < 1) return EXPR_MALFORMED;
            stack[n - 1] = (struct expr_number){false, stack[n - 1].v == 0};
        } else {
            if (n < 2) return EXPR_MALFORMED;
            state = number_apply(t->op, &stack[n - 2], &stack[n - 1]);
            n--;
        }
    }
    if (state != EXPR_OK || n != 1) return state ? state : EXPR_MALFORMED;
    *holds = stack[0].v != 0;
    return EXPR_OK;
}
