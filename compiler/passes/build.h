/* How passes make nodes: axes and dtypes follow from the operands, as ir_verify demands. */
#ifndef FX_BUILD_H
#define FX_BUILD_H

#include "graph/ir.h"

/* Appends n with its number of operands and its axes set from what it is over. */
struct node *build_node(struct graph *g, struct node n);
/* What stands for an expression of the spec: `like` gives span and source. */
struct node *build_op(
    struct graph *g, enum op op, struct node *a, struct node *b, struct node *c, const struct node *like);
struct node *build_number(
    struct graph *g, enum fx_dtype dtype, double num, const struct node *like); /* of a float or a condition */
struct node *build_integer(struct graph *g, enum fx_dtype dtype, int64_t v, const struct node *like);
struct node *build_zero(struct graph *g, enum fx_dtype dtype, const struct node *like);
struct node *build_index(struct graph *g, int axis, const struct node *like);
struct node *build_size(struct graph *g, int axis, const struct node *like); /* a number where it is fixed */
struct node *build_sum(struct graph *g, struct node *term, const int *reduced, int n_reduced, const struct node *like);
/* n of constant operands alone as a constant, NULL where it is none. */
struct node *build_folded(struct graph *g, const struct node *n);

/* Adds a label to the kernel of a new graph; its number. */
int build_label(const struct graph *g, struct kernel *k, struct axis label);
/* A label that a pass makes of another one, whose name `label` has: that name and `suffix`. It is fixed, or open, and
 * then as long as `value` says; `text` says so to people. Where the kernel has such a label already, that one. */
int build_made_label(const struct graph *g, struct kernel *k, struct axis label, const char *suffix,
    struct fx_expr value, const char *text);
/* A name made of n that no label has: hints and receipts tell labels apart by theirs. */
struct name build_label_name(const struct graph *g, const struct kernel *k, struct name n, const char *suffix);

/* The order in which an input that n is made of lies, with what it lacks where it has what n lacks: all labels of n.
 * Returns how many. */
int build_order(const struct graph *g, const struct node *n, int *order);

/* Tiles of so many rows and columns of contraction n. */
double build_tiles(const struct graph *g, const struct node *n, const struct contraction *c, int tile);
/* The engine that takes any alignment: its tiles, blocks an SM, up to how many rows another driver takes its place, and
 * seconds from asking for a block of k until it is multiplied, on an H100. */
enum { ODD_TILE = 64, ODD_BLOCKS = 2, ODD_FEW_ROWS = 16 };
#define ODD_SECONDS 0.85e-6
/* Seconds of contraction n of 16-bit floats whose rows lie anyhow: few tiles wait for memory at every block of k. 0: of
 * a few rows, which are read as fast so. *slices: in how many k may be cut for all multiprocessors to have one. */
double build_odd_seconds(
    const struct graph *g, const struct node *n, const struct contraction *c, double *slices);

bool is_integer_const(const struct node *n, int64_t v);
bool set_has(const int *set, int n, int axis);
int set_add(int *set, int n, int axis); /* keeps it ascending; returns the new length */
/* Readers of every node among those that outputs need, an output counting as one. */
int *count_readers(const struct graph *g);

#endif
