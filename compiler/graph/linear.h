/* Integer values that are linear in running indices: positions of accesses, as far as numbers say so. */
#ifndef FX_LINEAR_H
#define FX_LINEAR_H

#include "graph/ir.h"

enum { LINEAR_TERMS = 4 };

struct linear { /* first + the sum of factor * idx(axis), each axis once; zero is 0 */
    int n;
    int axis[LINEAR_TERMS];
    int64_t factor[LINEAR_TERMS], first;
};

/* Adds scale * n to l; false, and l is of no use any more, where n is not linear so, has more axes than there is room
 * for, or numbers are beyond 32 bits. */
bool linear_add(struct linear *l, const struct node *n, int64_t scale);

#endif
