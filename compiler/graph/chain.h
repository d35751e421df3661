/* The parts of a chain: its first contractions, the intermediate made of them, the last contraction (chain.c). */
#ifndef FX_CHAIN_H
#define FX_CHAIN_H

#include "graph/ir.h"

struct chain_parts { /* found from the graph alone */
    struct node *outer;           /* the sum over t of `intermediate * column` */
    int n_inner;
    struct node *inner[MAX_SUMS - 1]; /* the contractions that `intermediate` is made of */
    struct node *intermediate, *column;
    int n_t, t[MAX_AXES];         /* the intermediate's axes that outer sums over, a set */
    int n_rows, rows[MAX_AXES];   /* axes of outer that column alone does not bring: an element of them has a row of the
                                     intermediate */
    int n_steps;
    struct node **steps;          /* reductions of rows of the intermediate, operands first */
    int n_reads;
    struct node **reads;          /* other reductions and scans that the intermediate reads: they stand in memory */
};

/* Whether n is the second contraction of a chain; if it only looks like one, why not, else NULL. `anew`: what the
 * intermediate reads may be made of the first contractions too: another kernel stores it, and they are added up anew. */
bool chain_find(const struct graph *g, struct node *outer, bool anew, struct chain_parts *out, const char **why_not);

/* Adds a reduction n of rows of the intermediate axes, made of the same first contraction and of nothing that has to
 * stand in memory besides, and those below it, to the steps; false and no change if it is none. */
bool chain_extend(const struct graph *g, struct chain_parts *c, struct node *n);

#endif
