/* Bytes between a kernel and memory, as expressions over extents: of the kernels that a plan launches (traffic.c), and
 * of the same computation with every operation in a kernel of its own (unfused.c). The receipt and the plan take their
 * byte counts from here. */
#ifndef FX_TRAFFIC_H
#define FX_TRAFFIC_H

#include "schedule/schedule.h"

struct bytes { /* a sum of tensors, being written; {.arena, .kernel} to begin with */
    struct arena *arena;
    const struct kernel *kernel;
    struct fx_term *terms; /* postfix */
    int n;
    int n_tensors;         /* added so far */
};

/* Adds a tensor over the axes, `bits` an element; bytes are rounded up. */
void bytes_add(struct bytes *b, const int *axes, int n_axes, int64_t bits);
struct fx_expr bytes_done(const struct bytes *b);

/* What a launch reads, every tensor once however many threads do, and what it writes. Of a tensor read at computed
 * positions no more counts than is read there. */
struct fx_expr traffic_read(const struct graph *g, const struct partition *p, const struct scheduled *s);
struct fx_expr traffic_written(const struct graph *g, const struct partition *p, const struct scheduled *s);
/* The least time that takes, at nominal extents. */
double traffic_seconds(const struct graph *g, const struct partition *p, const struct scheduled *s);

struct operations_of { /* of the source: what stands as one expression there, as unfused.c says */
    int *of;        /* by value: the first value that belongs to the same operation; of leaves themselves */
    bool *is_live;  /* by value: some output is computed from it, other than as a position made of indices */
    bool *is_index; /* by value: made of indices, extents, numbers and scalars alone */
    bool *is_view;  /* by value that stands for an operation: it only reads at positions made of indices */
};
struct operations_of traffic_operations(struct arena *a, const struct kernel *k);

struct unfused { /* every operation of the source a kernel of its own */
    int n_kernels;
    struct fx_expr bytes; /* read and written by all of them */
};
struct unfused traffic_unfused(struct arena *a, const struct kernel *k);

#endif
