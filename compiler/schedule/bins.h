/* Sums by key for the bins driver (bins.c). */
#ifndef FX_BINS_H
#define FX_BINS_H

#include "schedule/row_program.h"

enum { MAX_GUARDS = 4 };

struct bin_term { /* of one of the sums: what an element adds to the bin that its key names */
    struct node *value; /* NULL: 1 */
    int n_guards;
    struct node *guards[MAX_GUARDS]; /* conditions, all of which have to hold besides */
};

struct bins {
    int axis;                    /* the label of bins */
    struct node *key;            /* the number of an element's bin; others than there are add nothing */
    struct axis_list batch, cols; /* the other labels of the rows: those that the key has, and those it lacks */
    struct bin_term *terms;      /* by sum, as the one pass of the row program ends in them */
    bool adds_words;             /* all are sums of integers of 32 bits: a block has one set */
    int parts;                   /* that elements are cut in, each combined in a second launch; 1: there is none */
    int64_t budget;              /* where extents are open: sums that all parts may take together, so that there may be
                                    fewer of them, but one; else 0 */
    int words;                   /* that the sums of one bin and column take */
    bool is_along;               /* lanes stand along the elements, else along the columns */
    int warps, team;             /* of a block; those that share a set of sums */
    int vector, unroll;          /* columns a lane; rounds of elements read at a time */
    int tile;                    /* bins of a block */
};

enum { BINS_FINISH_WARPS = 8 }; /* of the second launch, which combines the parts */
/* Writes how many parts there are. */
void bins_parts(struct terms *x, const struct kernel *k, const struct bins *b, const struct axis_list *rows);
/* The configurations of the second launch. */
void bins_finish(struct scheduled *s);

#endif
