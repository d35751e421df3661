/* Integer values that are linear in running indices, with constant factors: most positions of accesses. */
#ifndef FX_LINEAR_H
#define FX_LINEAR_H

#include "graph/ir.h"

enum { LINEAR_TERMS = 4 };

struct linear { /* first + the sum of factor * idx(axis), each axis once; zero is 0 */
    int n;
    int axis[LINEAR_TERMS];
    int64_t factor[LINEAR_TERMS], first;
};

/* Adds scale * n to l. False, and l is then undefined, if n is not linear, has more than LINEAR_TERMS axes, has a
 * number beyond 32 bits, or hundreds of terms. */
bool linear_add(struct linear *l, const struct node *n, int64_t scale);
/* The factor of idx(axis) in n, 0 if n does not depend on it. The other terms of n may be anything. False if n is not
 * linear in the index, a number is beyond 32 bits, or it has hundreds of terms. */
bool linear_factor(const struct node *n, int axis, int64_t *factor);

#endif
