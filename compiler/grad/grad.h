/* Reverse mode: the kernel that a `grad` item asks for, written as checked values (grad.c).
 *
 * Takes a checked kernel. Gives another one, made with the checker's own functions: what the rest of the compiler sees
 * of a gradient is a kernel like any other. Knows nothing of graphs. */
#ifndef FX_GRAD_H
#define FX_GRAD_H

#include "check/check.h"

/* Makes k, the gradient of f that the item asks for. f has no errors. */
void grad_kernel(struct checker *c, const struct ast_item *item, const struct kernel *f, struct kernel *k);
/* Whether an operand of the op has a derivative other than 0. */
bool grad_has_rule(struct checker *c, enum op op, int operand);

#endif
