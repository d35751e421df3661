/* A chain in the form that the driver runs: its passes over the intermediate, and their results (chain_program.c). */
#ifndef FX_CHAIN_PROGRAM_H
#define FX_CHAIN_PROGRAM_H

#include "graph/chain.h"
#include "schedule/schedule.h"

enum { MAX_EXPS = 4, MAX_DEFERRED = 4, MAX_LIMITS = 4 };

struct shifted_exp { /* e = exp(x - shift), the shift made of the maximum of x's row */
    struct node *e, *x, *shift, *maximum;
    int pass;
    bool is_raised; /* the shift is the larger one of the maximum and other values of the row */
    bool is_online; /* sums of the pass that finds the maximum, or D, are made of it: it is shifted by the maximum so
                       far, and they are rescaled with it */
    struct node *product, *factor, *scaled; /* x is made of product = scaled * factor, or scaled / factor, but maxima
                                               and exponents take the factor in place of x (chain_factor.c); NULL */
};

struct chain_pass { /* over the intermediate */
    bool *sums;             /* by node: sums and the second contraction's factor are made of it once maxima are found;
                               what those were found in is available where the pass keeps it */
    struct node **maxima;   /* the reductions that end in it: maxima that shift its exponentials, found first */
    struct node **others;   /* and all others */
    struct node **values;   /* values of a row that are computed ahead of it, of what the passes before left */
    int n_maxima, n_others, n_values;
    bool *needs;            /* by node: what elements compute in it */
    bool keeps;             /* what maxima are found in takes the place of the first contractions' results: nothing else
                               of the pass reads those */
};

struct deferred { /* what is done to the intermediate but known only after the last pass, so done to D: a division by
                     `by`, or 0 in its place where `by` holds */
    struct node *by;
    bool is_choice;
    bool is_large; /* of a division: `by` is at least about 1 where it is not 0 */
};

/* A condition that compares what rises or falls by 1 along the intermediate with what is the same for a row: it holds
 * up to some element, or from some element on. */
struct limit {
    struct node *condition, *running, *bound;
    bool is_falling; /* running */
    bool is_end;     /* it holds up to some element */
    bool is_strict;  /* not where running is bound */
};

struct chain {
    struct chain_parts parts;
    struct gemm_shape first;  /* of the contractions that the intermediate is made of, whose n it is */
    struct gemm_shape second; /* of the one that reads it: the intermediate is its k, in one segment without an A */
    int n_passes;             /* over the intermediate; the last adds D up */
    struct chain_pass *passes;
    int *level;               /* by node: how many passes have to be over before it can be computed */
    int *exp_of;              /* by node: of a reduction that is taken online, its exponential; else -1 */
    bool *is_element;         /* by node: it has a label of t */
    struct node **values;     /* read by elements, the same for a whole row, no reductions of it */
    int n_values;
    bool *is_along;           /* by node: the same for all rows of a batch, and made of tensors along t */
    struct node **along;      /* of these, those that elements read */
    struct node **laid_along; /* what is laid out beside each other for that: these, or those of another chain, too */
    int n_along, n_laid;
    bool loads_elements;      /* elements read tensors otherwise, too */
    int n_exps;
    struct shifted_exp exps[MAX_EXPS];
    int outer_exp;            /* the one by which D is scaled, or -1 */
    struct node *outer_product, *outer_factor, *outer_scaled; /* the intermediate is made of product = scaled * factor,
                                                                 but D is multiplied (chain_factor.c); NULL */
    int n_deferred;
    struct deferred deferred[MAX_DEFERRED];
    int twin_sum, twin_columns[2]; /* of the first of two chains of one launch: which first contraction is the other
                                      one's, and of which each one's C is the B, as driver_chain_twin.cuh has it */
    int n_limits;             /* conditions all of which hold where elements count */
    struct limit limits[MAX_LIMITS];
    bool is_negated;          /* they say where elements do not count */
    unsigned finite;          /* first contractions whose columns have to be finite there, a bit for each */
    struct axis_list period;  /* the last labels of m, beyond which limits recur */
    int result_words;         /* what is known of a row, at most */
    bool stores_rows;
};

/* NULL and why where no form of the driver takes it. */
struct chain *chain_analyse(
    const struct graph *g, const struct partition *p, const struct group *r, const char **why_not);
/* Finds where rows begin and end (chain_limits.c). */
void chain_find_limits(const struct graph *g, const struct group *r, struct chain *x);
/* Finds factors of elements that maxima and exponents take in their place (chain_factor.c). */
void chain_find_factors(const struct graph *g, struct chain *x);
/* Finds what elements read that is the same for all rows (chain_along.c). */
void chain_find_along(const struct graph *g, const struct partition *p, const struct group *r, struct chain *x);
/* The reduction ends in the pass. */
bool chain_ends_in(const struct chain *x, const struct node *n, int pass);
/* Exponential k is taken online in the pass. */
bool chain_is_online(const struct chain *x, int k, int pass);
/* Whether sums of exponential k end in an earlier pass than those elements of which they divide, of 16 bits, and are
 * left as inexact as these are alike; what reads them elsewhere multiplies them by what they lack. */
static inline bool chain_is_left_inexact(const struct chain *x, int k) {
    return x->exps[k].is_online && x->exps[k].e->op == O_EXP && x->exps[k].pass + 1 < x->n_passes &&
           x->second.b_dtype != FX_F32;
}
/* Where node n, a quotient or a choice on the way to the outer exponential, is deferred: which operand stands in
 * its place in the intermediate, else -1. */
int chain_undeferred(const struct chain *x, const struct node *n);
/* Whether n is computed from a first contraction, element by element. */
bool chain_is_of_products(const struct graph *g, const struct group *r, const struct node *n);
/* Whether n is a sum of exponentials of which one is 1, or another number where it is less: if it is not 0, it has a
 * reciprocal. */
bool chain_has_reciprocal(const struct graph *g, const struct node *n);
/* Configurations of two chains of one launch: of the wide one, of two first contractions, and of the narrow one
 * (chain_wgmma.c). */
void chain_wgmma_twin_configs(const struct graph *g, const struct scheduled *broad, const struct scheduled *narrow,
    struct scheduled *first, struct scheduled *second);
/* Adds configurations for few rows to those of s, for operands that they take (chain_few.c). */
void chain_few_configs(const struct graph *g, const struct partition *p, struct scheduled *s, int vector);
/* Whether function n of elements need not be more exact than 2^-21, however small its result (chain_loose.c). */
bool chain_is_loose(const struct graph *g, const struct chain *x, const struct node *n);
/* Whether some configuration of s cuts the intermediate in pieces. */
bool chain_in_pieces(const struct scheduled *s);
/* Whether the store is over rows, not over the result's elements. */
bool chain_stores_row(const struct graph *g, const struct partition *p, const struct chain *x, const struct store *s);

#endif
