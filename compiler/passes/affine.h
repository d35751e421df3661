/* Positions as polynomials over running indices, extents and whatever else an index expression is made of. */
#ifndef FX_AFFINE_H
#define FX_AFFINE_H

#include "graph/ir.h"

/* What is known where a position is read: `reader`'s axes all have an element. */
struct affine_scope {
    struct graph *g;
    const struct node *reader;
    struct affine_atoms *atoms; /* the unknowns met so far */
};
struct affine_scope affine_scope(struct graph *g, const struct node *reader);

/* The i64 position n in simplest form found, in g, which may run over fewer axes;
 * n itself where that has no fewer ops. */
struct node *affine_simplify(const struct affine_scope *s, struct node *n);
/* Whether n is 0 or more and below the extent of `axis` for every element. False where that is not seen. */
bool affine_is_inside(const struct affine_scope *s, const struct node *n, int axis);
/* Whether n = within + size(axis) * block with within inside of `axis` for every element and a block that is not always
 * 0: n lies inside where the block is 0. */
bool affine_split(
    const struct affine_scope *s, const struct node *n, int axis, struct node **within, struct node **block);
/* Which running indices can be told from the position alone: its axes where position = c * idx(L) + rest, or idx(A) *
 * size(B) + idx(B) + rest, the rest without running indices. Returns how many, -1 where it is neither. */
int affine_recovers(const struct affine_scope *s, const struct node *n, int *axes);
/* Whether the extent of `whole` is the product of those of the parts. */
bool axes_are_product(struct graph *g, const struct node *reader, int whole, const int *parts, int n);
/* Equal by a number or by an equation between the two alone. */
bool axes_same_extent(const struct kernel *k, int a, int b);

#endif
