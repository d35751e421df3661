/* Shared by the files of the fuse pass: a partition while it is proposed, and the decisions of each file. */
#ifndef FX_FUSE_H
#define FX_FUSE_H

#include "graph/chain.h"
#include "graph/tensor.h"

struct fuser {
    const struct graph *g;
    struct partition *p;
    bool epilogues;  /* whether pointwise work may stand in a contraction's kernel */
    bool rows;       /* whether reductions become row programs where they fit one */
    bool loaders;    /* whether computed factors are computed where a mainloop loads them */
    bool joins;      /* whether a mainloop may add up several contractions */
    bool splits;     /* whether contractions of f32 may read their factors in parts, those of tf32 turned */
    bool halves;     /* whether these parts are two f16 where they may be */
    bool pairs;      /* whether mainloops add up other functions of pairs than products */
    bool keeps;      /* whether computed factors that are constants are stored, once for all launches */
    const bool *constants; /* by node */
    bool chains;     /* whether contractions become a chain where they fit one */
    bool anew;       /* whether chains may read what other kernels store of the same first contractions */
    const bool *chained; /* by node: what a chain adds up, of one row too; NULL: there are no chains */
    const char **no_chain; /* by node: why a contraction is not the last of a chain; or NULL */
    bool inner;      /* whether reductions that another one's rows are made of are stored first, not loops */
    bool has_inner;  /* there are such */
    bool few;        /* likewise those of few elements, in rows; has_few: there are such */
    bool has_few;
    const bool *early; /* by node: stored first, not made by those who read it; NULL: none is */
    const struct node *placed; /* what is being placed */
    bool in_order;   /* groups run in the order of what they compute, so that none waits for a later one */
    struct group row; /* the row program that the store being placed would join: axes, reduced */
    bool shares_row; /* whether buffers of that program's rows are written by it */
    int *waited;     /* numbers of the nodes whose kernels that store waits for, ascending */
    int n_waited;
    int *mark;       /* by node: twice the walk that saw it last, plus 1 where it is read at other elements */
    int n_walks;
    struct node **below; /* scratch: what a stored value has to find in memory */
    const char **through; /* by output: why it passes through a buffer on its way to a parameter written in place; NULL:
                             it does not */
};

/* Begins a walk: what marks a node as seen by it. */
static inline int fuse_walk(struct fuser *f) { return 2 * ++f->n_walks; }

/* fuse.c: proposals, and their buffers. */
/* The buffer of value in that dtype, made where there is none: `why` and `span` for the receipt; reader: the
 * contraction it is a factor of, or NULL. */
int fuse_need_buffer(struct fuser *f, struct node *value, enum fx_dtype dtype, const struct node *reader,
    const char *why, struct span span);
/* The buffer of a value that is stored in an order of its own; so_that: what this is for, for the receipt. */
int fuse_need_stored(struct fuser *f, struct node *n, const char *so_that);
/* What such a value is a copy of, for the receipt. */
const struct node *fuse_stored_of(const struct node *n);
/* That of factor s of x in parts. */
int fuse_need_split(struct fuser *f, const struct product *x, int s);

/* fuse_place.c: which kernel computes each stored value. */
void fuse_add_store(struct fuser *f, struct group *r, struct node *value, int param, int buffer);
/* Whether n is computed from m, in whatever kernels. */
bool fuse_is_above(struct fuser *f, const struct node *n, const struct node *m);
/* Puts a stored value into the kernel that computes it: what reduces runs of a contraction's result into that
 * contraction's, where there is an epilogue. */
void fuse_place_store(struct fuser *f, struct node *value, int param, int buffer);
/* Asks for buffers of what reduces runs of elements, so that the epilogue of a contraction can compute it. */
void fuse_place_partials(struct fuser *f);
/* Asks for buffers of what the positions of output o read, for when its copy is made. */
void fuse_place_positions(struct fuser *f, int o);

/* fuse_mainloop.c: which dtype a contraction multiplies in, which factors are copied, computed as they are loaded or
 * stored first, and which sums share a mainloop. */
/* Whether contraction n, of a few terms, is for the epilogue of another one: a block of k would be mostly empty, and
 * rows of so few elements are none that tensor maps bring. */
bool fuse_is_for_epilogue(const struct graph *g, const struct node *n);
/* What the mainloop of an engine adds up: with row programs only what gains from it. */
bool fuse_is_for_mainloop(const struct fuser *f, const struct node *n);
/* A contraction and its factors, with the dtypes they are read as, placed nowhere yet. */
struct product fuse_product(const struct graph *g, struct node *sum);
void fuse_swap_factors(struct product *x);
/* Decides where factor s comes from, and asks for the buffers that this takes; of all factors of x, begun anew. */
void fuse_place_factor(struct fuser *f, struct product *x, int s);
void fuse_place_operands(struct fuser *f, struct product *x);
/* Gives the sum of group x, with what it stores, to the mainloop of h: the same labels in the same roles and dtypes,
 * neither computed from the other. */
bool fuse_join_sum(struct fuser *f, struct group *h, struct group *x);
/* Whether some factor is computed as it is loaded; one of `among`, by node, where that is not NULL. */
bool fuse_makes_factors(const struct partition *p, const struct graph *g, const bool *among);

/* fuse_split.c: which contractions of f32 are added up from products of parts. */
/* Whether x is, at fixed extents, faster so, of two f16 where `halves` and they may be; whether any contraction is, and
 * the contract leaves it open: with `halves` one of two f16. */
bool fuse_is_split(const struct graph *g, const struct product *x, bool halves);
bool fuse_has_split(const struct graph *g, bool halves);
/* Whether the parts of such a product may be two f16, not three bf16; FUSE_HALVES: what `--with` and `--skip` call
 * it. */
#define FUSE_HALVES "fuse.halves"
bool fuse_is_halved(const struct graph *g, const struct product *x);
/* How many labels of m or n stand beside that of k where factor s may be stored so; else 0. */
int fuse_halved_labels(const struct graph *g, const struct product *x, int s);
/* Makes x, whose factors are stored as f8, read them as such, where the kernel licenses partial sums of fewer bits;
 * else false. */
bool fuse_narrow(const struct graph *g, struct product *x);
/* Whether factor s of x, of tf32 or of 8 bits, is to be stored with k contiguous first. */
bool fuse_is_turned(const struct graph *g, const struct product *x, int s);
/* Whether factor s of x, a tensor of 16 bits that has the labels of m or n apart, is to be stored with them as one run
 * first. */
bool fuse_is_joined(const struct graph *g, const struct product *x, int s);
/* What is stored in parts for factor s of x: of a window that tensor maps may bring what it reads, else the factor. */
struct node *fuse_split_value(const struct graph *g, const struct product *x, int s);
/* The storage order of that; false where it has none. */
bool fuse_split_order(const struct graph *g, const struct product *x, int s, int *axes);

/* fuse_chain.c: which contractions are one kernel with the one that reads them. */
/* Whether a contraction is the last of a chain; if it is nearly one, no_chain says what prevents it. */
bool fuse_ends_chain(struct fuser *f, struct node *n, struct chain_parts *parts);
/* By node: whether it is a contraction of a chain. */
bool *fuse_find_chained(struct fuser *f);
/* Makes groups chains, first those that keep most from being written. */
void fuse_make_chains(struct fuser *f);
/* Puts a stored value into the chain it follows, if there is one. */
bool fuse_place_in_chain(struct fuser *f, struct node *value, int param, int buffer, const int *axes, int n_axes);

/* fuse_row.c: which reductions and scans are steps of one row program. */
/* The first loop below value that makes rows of the space it is stored over, found where it is computed element by
 * element; `shares`: also one that a buffer holds, whose program may then store value too. */
bool fuse_find_row(struct fuser *f, const struct node *value, const int *axes, int n_axes, bool is_stored,
    bool shares, struct group *row);
/* Whether one thread had better walk loop n by itself: a few elements, of a window say. */
bool fuse_is_few(const struct graph *g, const struct node *n);
/* Whether loop n reduces the rows of r, or runs along them. */
bool fuse_fits_row(const struct group *r, const struct node *n);
/* Puts a store into its row program, f->row. */
void fuse_add_row(struct fuser *f, struct node *value, int param, int buffer);
/* Keeps in f->waited for which kernels a store waits that finds `below` in memory. */
void fuse_wait_for(struct fuser *f, struct node *const *below, int n);
/* What row program r computes on the way to its stores, once every buffer is known. */
void fuse_collect_steps(struct fuser *f, struct group *r);
/* Outputs that are computed element by element from what a row program reads are stored by its last walk. */
void fuse_join_rows(struct fuser *f);

/* fuse_early.c: by node, what is better stored by the row program that first knows it; NULL: nothing is. */
const bool *fuse_find_early(const struct graph *g);
/* Whether f reads n where it is stored, instead of making it. */
static inline bool fuse_is_early(const struct fuser *f, const struct node *n) {
    return f->early && f->early[n->id] && n != f->placed;
}

/* fuse_order.c: in what order kernels run. */
/* Groups in order of execution: of those whose buffers are written, the one of the lowest rank, mostly that which
 * stands first in the spec. A contraction that only some unscheduled reduction reads has no store and is dropped.
 * Groups that wait for each other stay last. */
void fuse_sort_groups(struct fuser *f);

#endif
