/* What can be computed from a plan alone: expressions, extents, the variant a launch takes, the workspace.
 *
 * In: a plan and the shapes it is bound to. Out: numbers, or a message for the caller. Pure: no allocation, no state, and
 * nothing an argument can make overflow. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

enum { EXPR_MAX_DEPTH = 64, WORKSPACE_ALIGN = 256 };
static const int64_t max_extent = INT64_C(1) << 40, max_elements = INT64_C(1) << 48;

/* ---- expressions ---- */

static bool push_leaf(const struct fx_term *t, const struct fx_env *env, int64_t *out) {
    if (t->op != FX_T_CONST && t->op != FX_T_SM_COUNT && t->v < 0) return false;
    switch (t->op) {
    case FX_T_CONST: *out = t->v; return true;
    case FX_T_EXTENT: *out = env->extents[t->v]; return true;
    case FX_T_ALIGN: *out = env->align ? env->align[t->v] : 256; return true;
    case FX_T_SM_COUNT: *out = env->sm_count; return true;
    default: return false;
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

static bool apply(enum fx_term_op op, int64_t a, int64_t b, int64_t *out) {
    int64_t quotient, remainder;
    switch (op) {
    case FX_T_ADD: return !__builtin_add_overflow(a, b, out);
    case FX_T_SUB: return !__builtin_sub_overflow(a, b, out);
    case FX_T_MUL: return !__builtin_mul_overflow(a, b, out);
    case FX_T_DIV: return floor_divide(a, b, out, &remainder);
    case FX_T_MOD: *out = 0; return b == -1 || floor_divide(a, b, &quotient, out);
    case FX_T_CDIV:
        if (!floor_divide(a, b, out, &remainder)) return false;
        *out += remainder != 0;
        return true;
    case FX_T_MIN: *out = a < b ? a : b; return true;
    case FX_T_MAX: *out = a > b ? a : b; return true;
    case FX_T_LT: *out = a < b; return true;
    case FX_T_LE: *out = a <= b; return true;
    case FX_T_EQ: *out = a == b; return true;
    case FX_T_AND: *out = a && b; return true;
    case FX_T_OR: *out = a || b; return true;
    default: return false;
    }
}

bool fx_expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out) {
    int64_t stack[EXPR_MAX_DEPTH];
    int n = 0;
    *out = 0;
    if (e->n == 0) return true;
    for (const struct fx_term *t = e->terms; t < e->terms + e->n; t++) {
        if (t->op <= FX_T_SM_COUNT) {
            if (n == EXPR_MAX_DEPTH || !push_leaf(t, env, &stack[n])) return false;
            n++;
        } else if (t->op == FX_T_NOT) {
            if (n < 1) return false;
            stack[n - 1] = !stack[n - 1];
        } else {
            if (n < 2 || !apply(t->op, stack[n - 2], stack[n - 1], &stack[n - 2])) return false;
            n--;
        }
    }
    *out = stack[0];
    return n == 1;
}

bool fx_expr_holds(const struct fx_expr *e, const struct fx_env *env) {
    int64_t v;
    return e->n == 0 || (fx_expr_eval(e, env, &v) && v != 0);
}

/* ---- extents ---- */

/* "f16[M,K]", as far as size goes. */
static void describe(const struct fx_kernel *k, const struct fx_param *p, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "%s[", fx_dtype_name(p->dtype));
    for (int i = 0; i < p->rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? "," : "", k->extents[p->extents[i]].name);
    if (n < size) snprintf(text + n, size - n, "]");
}

static fx_status check_type(const struct fx_kernel *k, const struct fx_param *p, const struct fx_shape *s, char *message,
                            size_t size) {
    char want[256];
    if (s->dtype == p->dtype && s->rank == p->rank) return FX_OK;
    describe(k, p, want, sizeof want);
    if (s->rank != p->rank) snprintf(message, size, "%s has rank %d, but %s is expected", p->name, s->rank, want);
    else snprintf(message, size, "%s is %s, but %s is expected", p->name, fx_dtype_name(s->dtype), want);
    return FX_ERR_USAGE;
}

static fx_status check_limits(const struct fx_kernel *k, const struct fx_param *p, const struct fx_shape *s, char *message,
                              size_t size) {
    int64_t n = 1;
    bool is_empty = false, is_huge = false;
    for (int i = 0; i < s->rank; i++) {
        int64_t extent = s->extents[i];
        if (extent < 0 || extent > max_extent) {
            snprintf(message, size, "axis %s of %s is %lld, but an extent lies between 0 and 2^40", k->extents[p->extents[i]].name,
                     p->name, (long long)extent);
            return FX_ERR_USAGE;
        }
        is_empty |= extent == 0;
        is_huge |= __builtin_mul_overflow(n, extent ? extent : 1, &n) || n > max_elements;
        if (is_huge) n = max_elements;
    }
    if (!is_huge || is_empty) return FX_OK;
    snprintf(message, size, "%s has more than 2^48 elements", p->name);
    return FX_ERR_USAGE;
}

/* Who gave extent e its value: a parameter before `before`, or NULL for the spec. */
static const struct fx_param *binder(const struct fx_kernel *k, const struct fx_shape *const *shapes, int e, int before) {
    if (k->extents[e].value >= 0) return NULL;
    for (int i = 0; i <= before; i++)
        for (int a = 0; shapes[i] && !k->params[i].is_scalar && a < k->params[i].rank; a++)
            if (k->params[i].extents[a] == e) return &k->params[i];
    return NULL;
}

static fx_status bind_param(const struct fx_kernel *k, const struct fx_shape *const *shapes, int i, int64_t *extents,
                            char *message, size_t size) {
    const struct fx_param *p = &k->params[i];
    fx_status status = check_type(k, p, shapes[i], message, size);
    if (status == FX_OK) status = check_limits(k, p, shapes[i], message, size);
    for (int a = 0; status == FX_OK && a < p->rank; a++) {
        int e = p->extents[a];
        int64_t given = shapes[i]->extents[a];
        if (extents[e] < 0) extents[e] = given;
        if (extents[e] == given) continue;
        const struct fx_param *other = binder(k, shapes, e, i);
        if (other)
            snprintf(message, size, "axis %s of %s is %lld, but of %s it is %lld", k->extents[e].name, p->name, (long long)given,
                     other->name, (long long)extents[e]);
        else
            snprintf(message, size, "axis %s of %s is %lld, but the spec fixes %s = %lld", k->extents[e].name, p->name,
                     (long long)given, k->extents[e].name, (long long)extents[e]);
        status = FX_ERR_USAGE;
    }
    return status;
}

/* ---- equations between extents ---- */

static bool mentions(const struct fx_expr *e, int extent) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op == FX_T_EXTENT && e->terms[i].v == extent) return true;
    return false;
}

/* The one extent without a value that the equation mentions; -1 when there is none, -2 when there are several. */
static int unknown_of(const struct fx_kernel *k, const struct fx_equation *q, const int64_t *extents) {
    int unknown = -1;
    for (int e = 0; e < k->n_extents; e++) {
        if (extents[e] >= 0 || (e != q->extent && !mentions(&q->value, e))) continue;
        unknown = unknown == -1 ? e : -2;
    }
    return unknown;
}

static bool value_at(const struct fx_equation *q, int64_t *extents, int unknown, int64_t at, int64_t *out) {
    int64_t saved = extents[unknown];
    extents[unknown] = at;
    bool ok = fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, out);
    extents[unknown] = saved;
    return ok;
}

/* Solves value(x) = extent for x: from its values at 0, 1 and 2, which must lie on a line. */
static bool solve_linear(const struct fx_equation *q, int64_t *extents, int unknown, int64_t *x) {
    int64_t v0, v1, v2, check, wanted = extents[q->extent];
    if (!value_at(q, extents, unknown, 0, &v0) || !value_at(q, extents, unknown, 1, &v1) || !value_at(q, extents, unknown, 2, &v2)) return false;
    int64_t slope = v1 - v0;
    if (slope == 0 || v2 - v1 != slope || (wanted - v0) % slope) return false;
    *x = (wanted - v0) / slope;
    return value_at(q, extents, unknown, *x, &check) && check == wanted;
}

static fx_status solve(const struct fx_kernel *k, const struct fx_equation *q, int unknown, int64_t *extents, char *message, size_t size) {
    int64_t v = -1;
    bool ok = unknown == q->extent ? fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, &v) : solve_linear(q, extents, unknown, &v);
    if (!ok || v < 0 || v > max_extent) {
        snprintf(message, size, "no extent %s satisfies %s with what the arguments give", k->extents[unknown].name, q->text);
        return FX_ERR_USAGE;
    }
    extents[unknown] = v;
    return FX_OK;
}

fx_status fx_solve_extents(const struct fx_kernel *k, int64_t *extents, char *message, size_t size) {
    for (bool progress = true; progress;) {
        progress = false;
        for (int i = 0; i < k->n_equations; i++) {
            int unknown = unknown_of(k, &k->equations[i], extents);
            if (unknown < 0) continue;
            fx_status status = solve(k, &k->equations[i], unknown, extents, message, size);
            if (status != FX_OK) return status;
            progress = true;
        }
    }
    for (int i = 0; i < k->n_equations; i++) {
        const struct fx_equation *q = &k->equations[i];
        int64_t v;
        if (unknown_of(k, q, extents) != -1) continue;
        if (fx_expr_eval(&q->value, &(struct fx_env){.extents = extents}, &v) && v == extents[q->extent]) continue;
        snprintf(message, size, "%s does not hold: %s is %lld", q->text, k->extents[q->extent].name, (long long)extents[q->extent]);
        return FX_ERR_USAGE;
    }
    return FX_OK;
}

static fx_status run_checks(const struct fx_kernel *k, const int64_t *extents, char *message, size_t size) {
    struct fx_env env = {.extents = extents};
    for (int i = 0; i < k->n_checks; i++) {
        if (fx_expr_holds(&k->checks[i].holds, &env)) continue;
        snprintf(message, size, "%s", k->checks[i].message);
        return FX_ERR_USAGE;
    }
    return FX_OK;
}

fx_status fx_bind_extents(const struct fx_kernel *k, const struct fx_shape *const *shapes, int64_t *extents, char *message,
                          size_t size) {
    for (int e = 0; e < k->n_extents; e++) extents[e] = k->extents[e].value;
    for (int i = 0; i < k->n_params; i++) {
        if (k->params[i].is_scalar || !shapes[i]) continue;
        fx_status status = bind_param(k, shapes, i, extents, message, size);
        if (status != FX_OK) return status;
    }
    fx_status solved = fx_solve_extents(k, extents, message, size);
    if (solved != FX_OK) return solved;
    for (int e = 0; e < k->n_extents; e++) {
        if (extents[e] >= 0) continue;
        snprintf(message, size, "extent %s is not known: no argument with that axis was given", k->extents[e].name);
        return FX_ERR_USAGE;
    }
    return run_checks(k, extents, message, size);
}

/* ---- launches ---- */

int fx_choose_variant(const struct fx_launch *l, const struct fx_env *env) {
    int first = -1;
    for (int v = 0; v < l->n_variants; v++) {
        if (!fx_expr_holds(&l->variants[v].needs, env)) continue;
        if (fx_expr_holds(&l->variants[v].prefers, env)) return v;
        if (first < 0) first = v;
    }
    return first;
}

bool fx_workspace_layout(const struct fx_kernel *k, const struct fx_env *env, size_t *offsets, size_t *total) {
    size_t at = 0;
    *total = 0;
    for (int i = 0; i < k->n_buffers; i++) {
        int64_t bytes;
        if (!fx_expr_eval(&k->buffers[i].bytes, env, &bytes) || bytes < 0) return false;
        if (offsets) offsets[i] = at;
        if (__builtin_add_overflow(at, (size_t)bytes, &at) || __builtin_add_overflow(at, WORKSPACE_ALIGN - 1, &at)) return false;
        at -= at % WORKSPACE_ALIGN;
    }
    *total = at;
    return true;
}

const struct fx_kernel *fx_find_kernel(const struct fx_plan *p, const char *name) {
    for (int i = 0; i < p->n_kernels; i++)
        if (!name || !strcmp(p->kernels[i].name, name)) return &p->kernels[i];
    return NULL;
}
