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
/* What a reduction of late elements, the place of an extreme, or one element of a row is made of where runs of columns
 * of the epilogue begin it. */
struct late {
    const struct node *of;                  /* the elements, none of them late; NULL: it is none */
    int label;                              /* along which runs lie */
    const struct node *exponential, *shift; /* of a sum with a factor exp(of - shift), shift the maximum of `of`; else
                                               NULL */
};
/* Puts product c at hand. */
void epilogue_at(struct epilogue *e, const struct node *c);
/* Whether all that reads product c, at hand, follows from what its epilogue computes of elements and of runs of columns
 * along one label, some of it of late elements or at places: late, by node, says of what. */
bool epilogue_follows(const struct epilogue *e, const struct node *c, struct late *late);
/* Whether product c, at hand, is needed whole by what neither is an element of its epilogue nor reduces such. */
bool epilogue_is_read_whole(const struct epilogue *e, const struct node *c);

#endif
