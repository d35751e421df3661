/* What the mainloop of a contraction multiplies: where a factor lies, as strides, or that it is computed as it is
 * loaded (operand.c). */
#ifndef FX_OPERAND_H
#define FX_OPERAND_H

#include "graph/tensor.h"
#include "symbolic/poly.h"

struct cut { /* of a label into slices, of which the last may be shorter: what is read at
              * number * size(within) + within is 0 from size(whole) on */
    int whole, number, within;
};

struct view { /* of a tensor's elements: offset + the sum over its labels of index * stride; atoms are labels, for their
                 extents, and strides of the tensor */
    struct poly offset;
    struct poly stride[MAX_AXES]; /* by position in tensor.axes */
    int unit; /* of a strided tensor: the atom of the stride that has to be 1 where elements lie side by side;
               * else -1 */
    const struct cut *cut; /* elements are those of slices of a label of the tensor, or NULL */
};

enum { MAX_WINDOW_TERMS = 4 };
struct window_axis { /* along it the positions are first + the sum of factor * running index of its terms */
    struct poly first; /* over extents, with atoms as of a view */
    int n;
    struct window_term {
        int label;
        int64_t factor;
    } terms[MAX_WINDOW_TERMS];
};
struct window { /* a tensor in memory read at linear positions, 0 outside */
    struct tensor tensor;              /* with its view */
    struct window_axis axes[MAX_AXES]; /* by position in tensor.axes */
};

/* Whether n is an access of t, which lies in memory, at such positions. */
bool window_of_access(const struct graph *g, const struct node *n, const struct tensor *t, struct window *w);
/* Whether w, of a factor of `sum`, moves along some axis by labels that are summed and by kept ones, which are shorter:
 * as in the gradient of a filter, which is a sum over pixels. */
bool window_goes_along_k(const struct graph *g, const struct node *sum, const struct window *w);
/* The extent of an axis, with atoms as of a view. */
void view_extent(const struct graph *g, int axis, struct poly *p);
/* Whether n, a factor, lies in memory: an input as it is, or an access of one at positions linear in running indices.
 * Then t is where, with t->view. */
bool tensor_of_factor(const struct graph *g, const struct node *n, struct tensor *t);
/* Likewise factor n of a product with `other` that `sum` adds up slice by slice, where both are read in the same slices
 * of one label: t->view->cut. */
bool tensor_of_slices(const struct graph *g, const struct node *sum, const struct node *n, const struct node *other,
    struct tensor *t);
/* What factor n takes from where it is stored under other names of its labels, or as it is; NULL: n is no such. */
struct node *stored_as_named(const struct graph *g, struct node *n);
/* Gives labels of t, where what factor n takes is stored, the names they have in n. */
void name_as_read(const struct node *n, struct tensor *t);
/* Gives t, row-major over its axes, its strides. */
void add_view(const struct graph *g, struct tensor *t);
/* Whether steps along axis are of one element, of a strided tensor if any are: along its last label, which it takes a
 * condition to know. */
bool is_unit_stride(const struct tensor *t, int axis);
/* Whether no stride is negative or 0, as far as is known: tensor maps hold no others. */
bool is_read_upwards(const struct tensor *t);
/* What an atom of a view stands for: an axis, for its extent; else the result is -1, and it is the stride of *position
 * in the parameter. */
int view_atom_axis(const struct graph *g, int atom, int *position);
/* Whether a step along `a` is as long as one over all of `b`. */
bool are_adjacent(const struct graph *g, const struct tensor *t, int a, int b);

#endif
