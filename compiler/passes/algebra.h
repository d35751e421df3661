/* What rules of the algebra pass share (algebra.c): a copy of the graph, and what is known of each of its nodes. */
#ifndef FX_ALGEBRA_H
#define FX_ALGEBRA_H

#include "passes/build.h"

enum { MAX_PATH = 8, MAX_CONSUMED = 64 };

struct algebra {
    struct graph *g;           /* a copy of the graph, new nodes at its end */
    int n_old;                 /* nodes it began with */
    const int *readers;        /* of those */
    bool *is_consumed;         /* of those: part of what another rule rewrote in this sweep */
    struct node **replacement; /* of those: what stands for it, or NULL */
    int n_consumed;
    const struct node *consumed[MAX_CONSUMED]; /* by the rule at hand */
};

/* Whether m, below the node at hand, may vanish with it: nothing else reads it. It is then counted as removed. */
bool algebra_own(struct algebra *a, const struct node *m);
/* algebra_concat.c: what stands for n, or NULL. */
struct node *algebra_k_concat(struct algebra *a, struct node *n);

#endif
