/* The graph: one core form for everything a kernel says, and the partition of it into GPU kernels.
 *
 * A node is a value over a set of axes: a leaf, a pointwise op, a rounding, or a reduction. A contraction is no kind of
 * node: it is a sum over a product whose factors both carry the summed axes (as_contraction). Nodes stand in
 * topological order, operands first; every pass keeps what ir_verify states. */
#ifndef FX_IR_H
#define FX_IR_H

#include "check/check.h"

enum node_kind { /* as the value_kind of check.h in the same place: lower.c relies on it */
    N_CONST,     /* num, or of an integer dtype `integer` */
    N_SCALAR,    /* scalar parameter */
    N_INPUT,     /* tensor parameter, widened to the compute type */
    N_INDEX,     /* the running index along `axis`: i64 */
    N_SIZE,      /* the extent of `axis`: i64 */
    N_OP,        /* pointwise */
    N_REDUCE,    /* args[0] reduced over `reduced` */
    N_SCAN,      /* running sum, product or extreme of args[0] along `axis`; of two operands a recurrence: RED_RECUR */
    N_CAST,      /* args[0] converted to `to`, as a value of its compute type; with n_at it is written to memory, in the
                    storage order at[]: the pass `windows` makes such */
    N_ACCESS,    /* args[0] at positions args[1..] along its axes at[]; then, if has_fill, the value outside */
    N_PLACE,     /* args[0] as it is stored at positions args[1..] along axes at[] of parameter `param`, along its other
                    axes, which are all among the node's, at the running index. An output alone is one */
    N_SHARE, /* args[0] reduced over each run of `run` adjacent elements along `axis`, which all have the result; the
                extent is whole runs, or the last one is shorter (is_ragged). No value of a spec is one: the passes
                `share` and `partial` make them */
};

struct node {
    enum node_kind kind;
    enum op op;
    enum reduction reduction;
    enum fx_dtype dtype;   /* compute type: bool, i32, u32, i64, u64, f32 or f64 */
    enum fx_dtype to;      /* N_CAST; N_OP with a form for what is rounded at once: what the result is rounded to */
    int n_axes;
    int axes[MAX_AXES];    /* a set: ascending */
    int n_reduced;
    int reduced[MAX_AXES]; /* a set: ascending */
    bool may_round; /* of a contraction: as the spec writes it, one factor is a stored f16, bf16 or f8 tensor, so a
                       computed one may be rounded to it (f8: to bf16) */
    enum fx_dtype rounds_to; /* of a contraction: as the spec writes it, both factors are computed from tensors of this
                                dtype, f16 or bf16, alone, so that each may be rounded to it; FX_BOOL: not so */
    bool may_tf32;  /* of a contraction of f32: the kernel says `precision: tf32`, and as the spec writes it, it sums a
                       product whose factors carry what is summed */
    bool may_scale; /* of a contraction of f32 whose factors are f8 tensors, each times a scale if any (as_scaled): as
                       the spec writes it, the scales multiply what contractions of the tensors over the labels that no
                       scale has come to, and these may keep fewer bits */
    int axis;              /* N_INDEX, N_SIZE, N_SCAN, N_SHARE */
    int run;               /* N_SHARE: a power of two from 2 to PARTIAL_RUN */
    bool is_ragged;        /* N_SHARE: the last run may be shorter */
    int n_at;
    int at[MAX_AXES];      /* N_ACCESS: axes of args[0], in the order of their positions: ascending. N_PLACE: of the
                              parameter, none of them the node's. N_CAST: all its axes, in the order in which it is
                              stored, or none */
    bool has_fill;         /* N_ACCESS: the last operand is the value outside */
    unsigned may_miss;     /* N_PLACE: a bit a position that may lie outside: then nothing is stored */
    int n_args;
    struct node *args[MAX_ARGS];
    double num;            /* N_CONST of a float or a condition */
    int64_t integer;       /* N_CONST of an integer dtype */
    int param;
    struct name name;      /* the spec's name for it, or empty */
    struct span span;
    const struct ast_expr *source;
    int id;                /* its place in graph->nodes */
};

struct output {            /* what a parameter of the kernel receives */
    int param;
    struct node *value; /* its axes are among the parameter's: the rest is broadcast; or an N_PLACE */
    struct node *whole; /* of an N_PLACE: what the parameter holds once it is stored; NULL: nobody reads that */
};

/* ---- the partition: what the fuse pass adds ---- */
struct buffer {            /* a value written by one GPU kernel and read by later ones */
    struct node *value;
    enum fx_dtype dtype;   /* as stored */
    bool is_split;         /* f32 in parts: three bf16, a plane of all elements apart. A factor of a product that
                              is_split, or what one reads windows of */
    bool is_halved;        /* likewise: two f16, and powers of two, of every 64 along label `k` for each index of n_mn
                              labels beside it; all of these are last */
    int k, n_mn;
    bool is_early;         /* an operation that its readers load, too, where they might compute it again */
    int held;              /* 1 + the parameter that holds it once that is stored to in place; 0: workspace does */
    int n_axes;
    int axes[MAX_AXES];    /* storage order, row-major */
    const char *why;       /* why it is written to memory */
    struct span span;
};

struct store {             /* a value a group writes, to a parameter or to a buffer */
    struct node *value;
    int param, buffer;     /* the other is -1 */
};

enum { MAX_SUMS = 4 };

struct product {           /* a contraction that a mainloop adds up */
    struct node *sum;
    struct node *factor[2]; /* as as_contraction gives them, the one with the labels m first */
    int buffer[2];          /* the buffer that holds a factor; -1: read where it lies, or computed as it is loaded */
    enum fx_dtype dtype[2]; /* in which each is multiplied: one, but for 8-bit integers */
    bool is_rounded[2];     /* which has more digits than that: the other, stored so, licenses the rounding */
    bool is_pairing; /* another function of the two is added up (as_pairing): both are f32 */
    bool is_split; /* of f32: both are stored in parts, whose products are added up */
    bool is_halved; /* likewise: as two f16 */
};

struct group {             /* one GPU kernel */
    struct node *contraction; /* computed by its mainloop: the last of sums; NULL: none is */
    struct node *intermediate; /* of a chain: the factor of `contraction` that is computed from the other sums and not
                                  stored; else NULL */
    int n_sums;
    struct product sums[MAX_SUMS]; /* over the same labels, each with accumulators of its own; of a chain: those over
                                      the intermediate, then the one that reads it */
    int n_stores;
    struct store *stores;
    int n_axes;
    int axes[MAX_AXES];    /* its iteration space, a set */
    int order;             /* groups run in ascending order */
    const int *waited;     /* of a row program: numbers of the nodes whose kernels it waits for, ascending */
    int n_waited;
    bool is_copy; /* it computes nothing but positions: its one store puts what buffer `copied` holds into a parameter
                     written in place */
    int copied;
    bool is_row; /* a row program: for each element of axes (a row) reductions and scans over exactly `reduced`, then
                    stores over axes or over both */
    int n_reduced;
    int reduced[MAX_AXES]; /* of a row program: a set, apart from axes; of a chain: what `contraction` sums over */
    int n_steps;
    struct node **steps;   /* its reductions and scans, operands first; of a chain: reductions of rows of the
                              intermediate */
};

struct partition {
    const char *name; /* "fused", "stored", "separate", "rows", "rows stored", "rows separate", "chain" .. */
    bool has_rows;    /* reductions are row programs where they fit one; mainloops are matrix products alone */
    bool is_separate; /* no pointwise work stands in a kernel of a contraction: `fuse: never` */
    int wanted;       /* taken whatever it costs, that with the most: `--with` says so */
    bool is_optional; /* where no schedule takes a group of it, it is left out */
    bool has_early;   /* some buffer is_early */
    int n_groups, n_buffers;
    struct group *groups;
    struct buffer *buffers;
};

struct applied { /* a rule of the algebra at work, for the receipt */
    const char *rule;
    struct span span;             /* what it rewrote */
    const struct ast_expr *source; /* likewise, as written; may be NULL */
    double before, after;         /* flops of what it took away and of what it put there, at fixed or nominal extents */
};

struct graph {
    struct cx *cx;
    const struct kernel *kernel; /* axes, parameters, attributes; a pass that needs one more axis gives a copy */
    const char *skip, *with;     /* "pass" and "pass.rule", separated by commas: left out, turned on; or NULL */
    int n_applied;
    struct applied *applied;
    int n_nodes;
    struct node **nodes;
    int n_outputs;
    struct output *outputs;
    int n_partitions;      /* proposals of the fuse pass, 0 before it */
    struct partition *partitions;
};

/* lower.c: the kernel's values as a graph: axes become sets. */
struct graph *fx_lower(struct cx *cx, const struct kernel *k);

/* nodes.c */
/* Appends a copy of n, whose operands already stand in g. */
struct node *graph_add(struct graph *g, const struct node *n);
/* An empty graph of the same kernel. */
struct graph *graph_like(const struct graph *g);
/* Whether `name` is one of the names in a list separated by commas, which may be NULL. */
bool list_has(const char *list, const char *name);
/* How a pass rewrites one node: returns the node of `out` that takes the place of `old`. n is a copy of `old` whose
 * operands are nodes of `out`; map has, by number of the old node, what took the place of those before it. NULL:
 * nothing takes its place, and no node that is kept may read it. */
typedef struct node *node_rewrite(
    void *state, struct graph *out, const struct node *old, struct node *n, struct node **map);
/* Rewrites every node of g into `out`, operands first, and then the outputs. A node without a name gets that of the
 * node whose place it takes. Returns out. */
struct graph *graph_rewrite(const struct graph *g, struct graph *out, node_rewrite *rewrite, void *state);

struct contraction { /* the two factors, in the order written */
    struct node *a, *b;
};
/* True if n is a sum over a product of two factors that both carry every summed axis. */
bool as_contraction(const struct node *n, struct contraction *out);
/* A contraction that the mainloop of an engine adds up: any but of conditions, in its own dtype, and but dot products,
 * whose result has labels of both factors alone: a tile of those would have one element. */
bool as_mainloop(const struct node *n, struct contraction *out);
/* Such a contraction whose factors both have labels of their own of more than one element: what an engine gains by
 * reading a factor once for many results. */
bool is_matrix_product(const struct graph *g, const struct node *n);
/* Whether a has a label of more than one element that sum n has, and b lacks. */
bool has_own_axis(const struct graph *g, const struct node *n, const struct node *a, const struct node *b);
/* pairing.c: true if n is a sum of another function of two values of f32 that both carry every summed axis and each have
 * labels of their own, as distances are; then the two. How many operations the function takes; 1 of a product. */
bool as_pairing(const struct graph *g, const struct node *n, struct contraction *out);
double pairing_operations(const struct graph *g, const struct node *n);
/* True if n is a matrix product or, where the kernel does not say how many GPU kernels it wants, such a sum: what a
 * mainloop may add up tile by tile; then its two values. */
bool as_tiles(const struct graph *g, const struct node *n, struct contraction *out);
/* Whether product n may be added up from products of parts of f32, which the kernel leaves open; FUSE_SPLIT: what
 * `--skip` and `--with` call storing them. */
#define FUSE_SPLIT "fuse.split"
bool may_take_parts(const struct graph *g, const struct node *n);
/* k that a product of windows in parts multiplies for so many channels: whole blocks of 64; where there are fewer, steps
 * of 16 (driver_split.cuh). */
double parts_walk(double channels);
/* Factor n of a contraction that may_scale: the f8 tensor, and what it is multiplied by, NULL: nothing. */
struct scaled_factor {
    struct node *tensor, *scale;
};
struct scaled_factor as_scaled(const struct node *n);
bool axes_have(const int *axes, int n, int axis);
bool node_has_axis(const struct node *n, int axis);
bool node_has_fixed_extents(const struct graph *g, const struct node *n); /* of all its labels */
bool node_has_all(const struct node *n, const int *axes, int n_axes);
bool node_has_any(const struct node *n, const int *axes, int n_axes);
/* How many operands a node like n has. */
int node_arity(const struct node *n);
static inline bool node_is_op(const struct node *n, enum op op) { return n->kind == N_OP && n->op == op; }
/* Whether n is the constant v of a float type. */
static inline bool node_is_number(const struct node *n, double v) {
    return n->kind == N_CONST && fx_is_float(n->dtype) && n->num == v;
}
/* What a reduction begins with, as a constant of dtype t. */
struct node reduction_start(enum reduction r, enum fx_dtype t);

enum { PARTIAL_RUN = 64 }; /* all tiles are multiples of it */

struct partial_of { /* a reduction of runs of elements along one label or two */
    struct node *of;         /* what is reduced */
    int n, size;             /* labels; elements of a run, of a matrix product PARTIAL_RUN */
    int label[2], run[2];    /* along label[i] of `of`, run number run[i] of the result */
    bool is_spread; /* squares of the distances of `of` from its mean over the run are added up, not `of` itself */
};
/* True if n reduces another value run by run, as the pass `partial` writes it: over I of `of` at L = size * P + I, with
 * what the reduction begins with outside of L. P is the label of runs. What is read of the runs themselves, their
 * means, is then no part of `of`. */
bool as_partial(const struct graph *g, const struct node *n, struct partial_of *out);
/* Whether store s of group r reduces elements of the group's space: tile by tile, or, in a row program, over runs of
 * rows; *out then says how. */
bool is_partial_store(const struct graph *g, const struct group *r, const struct store *s, struct partial_of *out);
/* What store s computes an element of: its value, or what its value reduces. */
struct node *store_element(const struct graph *g, const struct group *r, const struct store *s);
/* Whether n is shared by the threads that compute the elements of its run: it stands in the epilogue of r's
 * contraction. */
bool is_shared_by(const struct group *r, const struct node *n);
/* Whether n is computed by row program or chain r: a reduction of a row, or a scan along it. */
bool is_row_step(const struct group *r, const struct node *n);
/* Likewise by chain r: a reduction of the intermediate's rows. */
bool is_chain_step(const struct group *r, const struct node *n);
/* Which of r's sums n is, or -1. */
int group_sum(const struct group *r, const struct node *n);
bool nodes_same_axes(const int *a, int n_a, const int *b, int n_b);
/* Whether n is a value that is written to memory wherever it is read, in an order of its own. */
static inline bool node_is_stored(const struct node *n) { return n->kind == N_CAST && n->n_at; }
/* The buffer of p that holds n, a loop or a value that is stored, or -1. */
int node_buffer(const struct partition *p, const struct node *n);
struct axis_set { /* what a store runs over */
    int n;
    const int *axes;
};
/* Of a value stored to a parameter, or with param -1 to a buffer: the parameter's axes; of an N_PLACE its own. */
struct axis_set store_space(const struct graph *g, const struct node *value, int param);
/* The buffer of p holding value as dtype, or -1; in parts. */
int find_buffer(const struct partition *p, const struct node *value, enum fx_dtype dtype);
/* Likewise in parts, as two f16 with powers of two along k where it is halved. */
int find_split_buffer(const struct partition *p, const struct node *value, bool is_halved, int k);
/* Whether group r writes such a buffer. */
bool group_halves(const struct partition *p, const struct group *r);
/* Whether store s of row program r is over the elements of rows, not over rows. */
bool row_stores_elements(
    const struct graph *g, const struct partition *p, const struct group *r, const struct store *s);

/* What a buffer holds on the way of a stored value to a parameter written in place. */
static inline struct node *copied_value(struct node *stored) {
    return stored->kind == N_PLACE ? stored->args[0] : stored;
}

/* Whether a store writes what a buffer of the partition stands for: the buffer, or the parameter that holds it. */
bool buffer_is_stored(const struct partition *p, int buffer, const struct store *s);
/* inplace.c: why output o, a parameter written in place, must not be stored by the group that computes it, or NULL: it
 * may. */
const char *in_place_hazard(const struct graph *g, const struct partition *p, const struct output *o);

/* constants.c */
/* By node: whether it depends on `const` parameters alone, and on one at least: it is the same at every launch. */
bool *graph_constants(const struct graph *g);
bool node_is_constant(const struct graph *g, const struct node *n);
/* By group of p: whether all that it computes is, and goes to buffers: it need run once. `never`, by group: those that
 * have to run each time whatever they compute. */
bool *partition_once(const struct graph *g, const struct partition *p, const bool *never);

/* ir_print.c: text of the graph; with partitions, of each proposal. */
void ir_print(struct buf *out, const struct graph *g);
void ir_print_name(struct buf *out, const struct graph *g, const struct node *n);
/* Its name, or what the spec says for it, for a message. */
const char *ir_quote(const struct graph *g, const struct node *n);
/* What the spec says for x, which has a source; within a function of the language the call of it. */
const char *ir_source(const struct graph *g, const struct node *x);
/* ir_verify.c: NULL, or what is wrong: order, arity, axes of every node, dtypes, outputs; partitions: every output
 * stored once, every buffer written before it is read. */
const char *ir_verify(const struct graph *g);
/* By buffer of p: whether r reads it. */
bool *ir_buffers_read(const struct graph *g, const struct partition *p, const struct group *r);
/* NULL, or what group of p reads a buffer that no group before it writes. */
const char *ir_verify_order(const struct graph *g, const struct partition *p);

#endif
