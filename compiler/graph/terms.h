/* Expressions of the plan while they are written (terms.c). */
#ifndef FX_TERMS_H
#define FX_TERMS_H

#include "check/check.h"

struct terms { /* a postfix expression being written */
    struct arena *a;
    struct fx_term *t;
    int n;
    bool is_never; /* a condition among those joined cannot hold */
};

void terms_push(struct terms *x, enum fx_term_op op, int64_t v);
void terms_constant(struct terms *x, int64_t v);
/* All of e. */
void terms_expr(struct terms *x, const struct fx_expr *e);
/* Applies o to the two expressions written last; of two constants only the result is kept, of x * 1 and x + 0 only
 * x. */
void terms_op(struct terms *x, enum fx_term_op o);
struct fx_expr terms_done(const struct terms *x);
void terms_extent(struct terms *x, const struct kernel *k, int axis);
/* The extents of axes multiplied. */
void terms_size(struct terms *x, const struct kernel *k, const int *axes, int n);
/* Joins the condition written since term `from` to those before it, *n_conditions of them, unless it always holds or
 * stands there already. */
void terms_also(struct terms *x, int *n_conditions, int from);

#endif
