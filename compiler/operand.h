/* What the mainloop of a contraction multiplies: where a factor lies, as strides, or that it is computed as it is loaded (operand.c). */
#ifndef FX_OPERAND_H
#define FX_OPERAND_H

#include "poly.h"
#include "schedule.h"

struct view { /* of a tensor's elements: offset + the sum over its labels of index * stride; atoms are labels, for their extents */
    struct poly offset;
    struct poly stride[MAX_AXES]; /* by position in tensor.axes */
};

/* Whether n, a factor, lies in memory: an input as it is, or an access of one at positions linear in running indices. Then t is where, with t->view. */
bool tensor_of_factor(const struct graph *g, const struct node *n, struct tensor *t);
/* Gives t, row-major over its axes, its strides. */
void add_view(const struct graph *g, struct tensor *t);
bool is_unit_stride(const struct tensor *t, int axis);
/* Whether a step along `a` is as long as one over all of `b`. */
bool are_adjacent(const struct graph *g, const struct tensor *t, int a, int b);

#endif
