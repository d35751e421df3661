/* Expressions of the plan: evaluated, with the reason where one has no value, and compared. */
#ifndef FX_PLAN_EXPR_H
#define FX_PLAN_EXPR_H

#include "plan.h"

enum expr_state {
    EXPR_OK,
    EXPR_OVERFLOW,  /* a step leaves 64 bits */
    EXPR_INEXACT,   /* an exact division is none */
    EXPR_MALFORMED, /* no plan of the compiler holds it */
};

enum expr_state expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out);
/* Whether both have the same terms. Not by their bytes: a term has padding. */
bool expr_equal(const struct fx_expr *a, const struct fx_expr *b);
/* Whether some term is op with operand v. */
bool expr_has(const struct fx_expr *e, enum fx_term_op op, int64_t v);
/* Whether e is a condition on scalars: fx_check_scalars evaluates it, expr_eval does not. */
bool expr_is_on_scalars(const struct fx_expr *e);
/* The one value of the unknown extent that makes `q->extent = q->value`, the others being known; false where there is
 * none, or more than one. */
bool expr_solve(const struct fx_equation *q, int unknown, int64_t *extents, int64_t *x);
/* A condition on scalars of k, scalars[i] being where the value of parameter i lies. */
enum expr_state expr_on_scalars(const struct fx_kernel *k, const struct fx_expr *e, const int64_t *extents,
    const void *const *scalars, bool *holds);

#endif
