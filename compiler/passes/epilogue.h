/* What the epilogue of a matrix product can compute (passes/epilogue.c). */
#ifndef FX_EPILOGUE_H
#define FX_EPILOGUE_H

#include "graph/ir.h"

struct epilogue {
    const struct graph *g;
    const int *readers; /* by node */
    bool *depends;      /* by node: on the product at hand */
    bool *is_element;   /* by node: the product, or pointwise of it, over the product's labels */
    bool *is_late;      /* by node: of those, such as also read it through something else */
};

struct epilogue epilogue_open(const struct graph *g);
/* The last product that f is an element of, seen from which nothing else that it reads comes later; it is then at hand.
 * NULL: there is none. */
struct node *epilogue_host(struct epilogue *e, const struct node *f);
/* Whether n reduces elements of product c, at hand, in a way that its epilogue can begin: along which labels,
 * ascending. */
bool epilogue_reduces(const struct epilogue *e, const struct node *c, const struct node *n, int *labels, int *n_labels);
/* Whether product c, at hand, is needed whole by what neither is an element of its epilogue nor reduces such. */
bool epilogue_is_read_whole(const struct epilogue *e, const struct node *c);

#endif
