/* A plan as text (print.c). */
#ifndef FX_PLAN_PRINT_H
#define FX_PLAN_PRINT_H

#include "base/base.h"
#include "plan.h"

void plan_print(struct buf *out, const struct fx_plan *p);
/* "input", "output", "inout" or "scalar". */
const char *plan_param_role(const struct fx_param *p);
/* The spec's name of an argument of a launch; `stride(x, M)`. */
const char *plan_arg_name(struct arena *arena, const struct fx_kernel *k, const struct fx_arg *a);
/* An expression in infix form over the kernel's extents. */
void plan_print_expr(struct buf *out, const struct fx_kernel *k, const struct fx_expr *e);
/* A condition for people; one of many terms, which compares times, in words. */
void plan_print_where(struct buf *out, const struct fx_kernel *k, const struct fx_expr *e);
/* A tensor map in one line: what it lies in, extents and strides in elements, the contiguous axis first, and its box.
 */
void plan_print_map(struct buf *out, const struct fx_kernel *k, const struct fx_map *m);

#endif
