/* How split_k cuts a contraction, and the times it assumes for a product: split_k.c, split_open.c. */
#ifndef FX_SPLIT_K_H
#define FX_SPLIT_K_H

#include "graph/ir.h"

enum {
    SLICE_STEP = 64, /* k of a slice is a multiple of it, see split_step; of OUTER_STEP where k has other labels */
    OUTER_STEP = 16,
    FINE_STEP = 8,   /* of equal slices of factors that are computed */
    LEAST_SLICE = 256, /* k of a slice, all labels together */
    TILE = 128,        /* rows and columns of the tiles that slices are counted by, */
    FEW_TILE = 16,     /* and columns of those of the skinny driver, */
    ROUND = 2048,      /* a block of which waits ROUND_SECONDS for so much of its k */
    N_TILES = 3
};

struct slices { /* how a contraction is cut */
    int k; /* the label */
    int number, length;
    bool is_even; /* else the last one is shorter */
    bool is_open; /* the launch knows their number, of these the nominal one */
    bool has_clusters; /* uncut, clusters of blocks may share out k */
    int stored;   /* the last label of an output with the labels of the contraction, or -1 */
    int chunk;    /* where its extent is no multiple of so many, clusters share out no k */
    int most;     /* of open ones: slices for every multiprocessor to have one */
    int bits;     /* of an element as it is multiplied */
    double rate;  /* operations of a multiprocessor in a cycle */
    struct contraction of;
};

/* Tiles that products of any engine have, about, and their rates, parts of the largest's. */
struct split_tile {
    int rows, cols;
    double rate;
};
extern const struct split_tile split_tiles[N_TILES];
/* What adding the slices up costs beside its bytes; what the cut has to come to of the time of the whole; what clusters
 * exchange; how much of the bandwidth an SM has where others are idle, in shares of it. */
#define JOIN_SECONDS 4e-6
#define WORTH 0.75
#define EXCHANGE_SECONDS 2e-6
#define ALONE 2.5
#define ROUND_SECONDS 0.9e-6
/* What the length of slices is a multiple of, where elements have so many bits as they are multiplied: a block of k of
 * every engine. wgmma multiplies 128 bytes of k at a time, whatever the slice holds of them. */
int split_step(int bits);
/* Rows up to which the skinny driver takes a product, of elements of so many bits. */
int split_few_rows(int bits);
/* Tiles of the skinny driver that read as fast as the memory can. */
double split_busy_tiles(const struct arch *m);

/* The number of slices at nominal extents: as many as give every multiprocessor one, or with few rows keep the memory
 * busy, but none shorter than LEAST_SLICE; 1 where an extent is 0. */
int64_t split_most(const struct graph *g, const struct node *n, const struct slices *of);
/* The greatest number of equal slices that an open label of this extent may be cut in, `most` at most. */
int split_even(int64_t extent, double most);
/* The labels of a cut of contraction n at extents that the launch knows: the number of a slice, and a place within it.
 * The kernel is told when it pays. */
void split_open_labels(
    const struct graph *g, struct kernel *k, const struct node *n, const struct slices *of, int *number, int *place);

#endif
