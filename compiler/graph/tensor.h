/* Parameters and buffers as memory (tensor.c). */
#ifndef FX_TENSOR_H
#define FX_TENSOR_H

#include "graph/ir.h"

struct axis_list { /* labels flattened into one index, outermost first */
    int n;
    int axes[MAX_AXES];
};

struct tensor {        /* a parameter or a buffer as memory: row-major over its axes unless strided; emit_value.c and
                          plan_map.c each have one function that says its strides */
    int param, buffer; /* the other is -1 */
    bool is_strided; /* the launch gives the strides: no two labels lie adjacent, and even the last need not have stride
                        1 */
    enum fx_dtype dtype;
    bool is_split; /* a buffer of f32 in parts: dtype is that of a part */
    bool is_halved; /* likewise of two f16: its last axes are label k and n_mn labels of m or n, in either order */
    int k, n_mn;
    int n_axes;
    int axes[MAX_AXES];
    const struct view *view; /* of an operand: the stride of every axis and where it begins (operand.h); else NULL */
};

struct tensor tensor_of_param(const struct graph *g, int param);
struct tensor tensor_of_buffer(const struct graph *g, const struct partition *p, int buffer);
struct tensor tensor_of_store(const struct graph *g, const struct partition *p, const struct store *s);
/* The tensors read by the pointwise part of a group (inputs and buffers of contractions other than its own), each once,
 * and whether each was met. Returns how many. */
int group_loads(const struct graph *g, const struct partition *p, const struct group *r, struct tensor *loads, int max);
/* Everything a group is computed from: which parameters, buffers and labels it touches; and what its stores take beside
 * sums and buffers: whether they have loops (a reduction or a scan that the threads run). The arrays have room for all;
 * false for what is not touched. */
struct footprint {
    bool *params, *buffers, *axes;
    bool has_loops, is_general; /* general: not made of pointwise ops over what lies in the group's own space alone */
    double turns;               /* of the longest nest of its loops, for an element, at their nominal extents */
    double ops;                 /* operations an element of the space takes, loops counted at their nominal extents */
    double instructions;        /* about what these come to on the GPU: functions take several */
    double *by_node;            /* likewise each node alone */
};
struct footprint group_footprint(const struct graph *g, const struct partition *p, const struct group *r);
/* Where node n is read from memory within group r: true and the tensor, or false: it is computed (or is the
 * accumulator). */
bool node_is_loaded(
    const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, struct tensor *t);
/* Instructions of an element of r where a thread has `vector` elements adjacent along the labels of `along`: what they
 * have in common, and a chunk that is read, is done once for all of them; it reads such a share of its chunks, others
 * being read for the rows that it has besides. */
double group_instructions(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, int vector, double share);
struct chunk { /* an access that reads adjacent elements for adjacent elements of its group */
    struct node *access;
    struct tensor tensor; /* what it reads, of floats of at most 32 bits */
    int step, offset;     /* an element has `step` of them, of which the access takes number `offset`; 1 and 0: all */
    int owner;            /* the chunk that reads them: this one, or another access of the same elements */
    bool is_strip;        /* for element v it reads the one at factor * v + first along the last axis, if inside */
    int factor, first;
    int least, most;      /* of an owner: of `first` of all that it reads for */
    const struct node *fill; /* likewise what stands outside; NULL: all lie inside */
};
/* Those of the elements of group r, adjacent along the labels of `along`: positions are the same for all of them, what
 * stands outside is a number. Labels that lie behind them, of at most MOST_CHUNK_STEP elements together, have a constant
 * position. Without a contraction also strips: the last axis is read at positions linear in the one label of `along`;
 * those of one row that overlap have one owner. Not those within loops. Returns how many; chunks has room for max. */
enum {
    MAX_CHUNKS = 136,
    MOST_CHUNK_STEP = 8,
    MOST_STRIP_FACTOR = 4,
    MOST_STRIP_RUN = 32, /* elements between the first and the last one of those that share a strip */
    MOST_STRIP_FIRST = 1 << 16
};
int group_chunks(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, struct chunk *chunks, int max);
/* Whether chunk x reads for index row_x of a label what chunk y reads for row_y, both counted from the same index: the
 * positions of both run along the label alike, one the other's way ahead of it. */
bool chunks_read_same(const struct chunk *x, int row_x, const struct chunk *y, int row_y, int label);
/* Position of the run `l` within t: its labels stand there adjacent in order, of a strided tensor one alone; -1 if not,
 * -2 if t has none of them. */
int find_run(const struct tensor *t, const struct axis_list *l);
/* Where t has some of the last labels of l last, and others elsewhere or not at all: how many labels of l lie so adjacent;
 * else 0. */
int count_piece(const struct tensor *t, const struct axis_list *l);
int tensor_axis(const struct tensor *t, int axis); /* position or -1 */
int find_label(const struct axis_list *l, int axis); /* position or -1 */
/* The extent used where a price needs a number: the fixed one, or the nominal one of check_nominal.c. */
double nominal_extent(const struct graph *g, int axis);
double nominal_size(const struct graph *g, const int *axes, int n);
double tensor_bytes(const struct graph *g, const struct tensor *t);
enum { SPLIT_PARTS = 3, HALVED_PARTS = 2 };
/* Of one that is halved: the labels of its matrices, of their rows or columns, and of k. As fx_halves of
 * kernels/driver_halves.cuh lays them out: elements from one row of the contiguous axis to the next, of a plane, and
 * bytes of a matrix. */
struct halved {
    struct axis_list batch, mn, k;
    bool is_k_last;
};
struct halved tensor_halved(const struct tensor *t);
struct terms;
void halved_pitch(struct terms *x, const struct kernel *k, const struct halved *h);
void halved_plane(struct terms *x, const struct kernel *k, const struct halved *h);
void halved_bytes(struct terms *x, const struct kernel *k, const struct halved *h);
/* Bits that an element takes in memory, in all its parts. */
int tensor_bits(const struct tensor *t);


#endif
