/* The reads of a computed operand (computed.c). The schedules count them, emit_operand.c writes them. */
#ifndef FX_COMPUTED_H
#define FX_COMPUTED_H

#include "schedule/schedule.h"

enum { COMPUTED_CHUNK = 8 }; /* elements of a chunk, at most */

enum leaf_kind {
    LEAF_ONE,    /* the same for a whole chunk */
    LEAF_HELD,   /* adjacent in memory, wherever a chunk begins: held as it lies there */
    LEAF_SHARED, /* likewise, but the same for every row of chunks: part of their context */
    LEAF_PIECE, /* adjacent in memory where the chunk does not go past the last labels (computed_adjacent): so it is in
                   the aligned variants, element by element in the others; other labels are at positions, and it is zero
                   where they are outside */
    LEAF_WORD,  /* packed: one word has the chunk's fields */
    LEAF_MANY,  /* element by element */
};

struct leaf { /* what a computed operand reads */
    struct node *node;
    enum leaf_kind kind;
    struct tensor tensor; /* LEAF_HELD, LEAF_SHARED, LEAF_PIECE */
    const char *name;     /* of the member that has it; for who writes it */
};

struct computed { /* a computed operand, chunk by chunk */
    const struct axis_list *along; /* the labels that chunks run along: k, or m or n */
    int n_outside;   /* of these the first ones that are the same for a whole chunk: behind them lie whole ones */
    struct leaf *leaves;
    int n_leaves;
    bool *is_uniform; /* by node: the same for a whole chunk */
};

/* What computed operand o of segment e of group r reads; mn: the labels of its m or n. */
struct computed computed_open(const struct graph *g, const struct partition *p, const struct group *r,
    const struct operand *o, const struct segment *e, const struct axis_list *mn);
/* How many last labels of a run that chunks lie along are adjacent in memory where leaf f, a piece, reads them. */
int computed_adjacent(const struct leaf *f, const struct axis_list *along);
enum halves { /* how a value of an operand of 16-bit floats can be computed, two at a time */
    HALVES_NONE,
    HALVES_UNIFORM, /* the same for a whole chunk: computed once, as elsewhere */
    HALVES_SMALL,   /* an integer, or one as a float, that such a float holds exactly */
    HALVES_PRODUCT, /* of one of those and a uniform value that it holds: rounded once */
};

/* By node, for operand o that is multiplied as 16-bit floats of type t, along chunks of whole words: every value on the
 * way is exact, but for what is rounded as the spec says. NULL: it cannot be computed so. */
const enum halves *computed_halves(
    const struct graph *g, const struct operand *o, const struct computed *m, enum fx_dtype t);
/* The value of o that is stored as type t: without a cast that the store makes, too. */
struct node *computed_stored(const struct operand *o, enum fx_dtype t);
struct interval {
    double lo, hi;
};
/* Within which integer n lies, as its dtype says: infinite where that says nothing. */
struct interval computed_interval(const struct graph *g, const struct node *n);
/* Whether what is read by values, neither held nor shared, is the same for all k of the segment. */
bool computed_is_fixed(const struct computed *m, const struct segment *e);
/* Bytes of shared memory for what it reads of a tile of n_mn rows, where the engine is fx_staging: by the formula of
 * fx_gemm_computed (kernels/computed.cuh); chunks of `chunk` elements, blocks of bk k for `turns` blocks. 0: nothing
 * waits there. */
int computed_staged_bytes(const struct computed *m, const struct segment *e, int n_mn, int bk, int chunk, int turns);
/* The longest chunk up to `most`, a power of two, for which what m says holds. */
int computed_most_chunk(const struct graph *g, const struct operand *o, const struct computed *m, int most);
/* The nodes that o reads. Returns how many, at most `max`. */
int operand_leaves(const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o,
    struct node **leaves, int max);

#endif
