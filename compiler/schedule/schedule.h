/* Schedules turn a group of the partition into a GPU kernel. Each row of schedules.def says whether it applies, its
 * price and its configurations. The cheapest wins; ties go by table order. A scheduled group is still data: super-axes,
 * layouts, tiles. emit.c turns it into text, plan_build.c into the plan. */
#ifndef FX_SCHEDULE_H
#define FX_SCHEDULE_H

#include "graph/tensor.h"
#include "graph/terms.h"

struct poly;
struct window;

enum layout { LAYOUT_K_MAJOR, LAYOUT_MN_MAJOR, LAYOUT_STRIDED };

struct operand { /* a factor on its way into a mainloop */
    struct node *value;
    bool is_computed;     /* computed as it is loaded; else it lies in memory */
    struct tensor tensor; /* where it lies, with its view */
    enum layout layout;   /* of a computed operand: the direction in which its chunks run, K_MAJOR or MN_MAJOR */
    double ops;           /* of a computed operand: operations that an element takes */
    const struct window *window; /* of a computed operand that is a tensor read at linear positions, channels last; else
                                    NULL */
    const struct operand *from; /* of a made operand: the tensor in memory from whose elements it is computed, each from
                                   one (made.c); else NULL */
    int run; /* of one made of fields: of k for which what else it reads is the same, 0: of all k */
};

struct segment { /* a pass along k that adds to some of the sums, which share A */
    struct axis_list k_outer, k;
    struct operand a;
    int n_sums;
    int sums[MAX_SUMS];         /* which of the group's */
    struct operand b[MAX_SUMS]; /* of each: all computed, or all in memory, in one layout */
    bool is_ragged; /* never aligned, whatever the launch: in aligned configurations it takes any alignment */
    const struct segment *by_maps; /* where an operand is a window: as tensor maps take it, k the channels alone; where
                                      operands are scaled: with the tensors as they lie, k a block; else NULL */
    struct node *scale_a, *scale_b; /* of one by maps whose operands are scaled: what multiplies rows and columns of
                                       the products of a block of k, NULL: nothing */
};
static inline const struct segment *segment_by_maps(const struct segment *e) { return e->by_maps ? e->by_maps : e; }

struct gemm_shape { /* sum[batch,m,n] = for each of its segments the sum over k_outer, k of A[batch,m,k] B[batch,n,k] */
    struct axis_list batch, m, n;
    int n_segments;
    struct segment segments[MAX_SUMS];
    int most_sums;       /* of a segment */
    int n_accumulators, into[MAX_SUMS]; /* how many the sums have; which of them each is added to (merge.c) */
    bool has_ragged;     /* some segments are ragged, not all */
    enum fx_dtype a_dtype, b_dtype; /* of all A, of all B: one, but for 8-bit integers */
    bool is_split;       /* all operands are f32 stored in parts, */
    bool is_halved;      /* as two f16 */
    bool has_windows;    /* operands that are windows are taken for that, not as views of what they read */
    bool is_scaled;      /* all operands are f8 tensors with scales, which are applied to products of blocks of k where
                            tensor maps bring the tensors; a_dtype and b_dtype are those of the scaled factors */
    bool is_whole;       /* tensor maps copy f32 as it is, to be split; else rounded to tf32 */
    const struct node *pairing; /* the sum, if it is of another function than the product of A and B; else NULL */
    bool makes;          /* one operand is a made operand: driver_wgmma_made.cuh */
};

struct pointwise_shape { /* rows are decoded label by label, columns lie contiguous in every tensor that has them */
    struct axis_list rows, cols;
    int word_rows; /* rows that a word has of each tensor that is read and has rows contiguous; 0: it reads none so */
    int at_once; /* adjacent rows that a thread takes at once, as they read much in common; 0: one */
};
enum { MOST_ROWS_AT_ONCE = 8 };

/* Whether t, of fixed strides, has the last label of rows as its last, contiguous, and some label of columns before. */
bool pointwise_is_turned(const struct graph *g, const struct tensor *t, const struct pointwise_shape *shape);

enum { MAX_VARIANTS = 96 };
/* Extents of super-axes of contractions are at most that, so that a tile past the end still fits an int. */
enum { MOST_INDEX = 0x7fff0000 };

struct config { /* one entry point: a tile and what it assumes */
    const char *suffix;  /* of the entry's name: "128x128" */
    const char *engine;  /* device type: "fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 2, 3>", or driver arguments */
    const char *text;    /* for people: "mma 128x128x32, 4 stages" */
    bool is_aligned; /* every contiguous run starts and ends on 16 bytes, what is read or stored along n or the columns
                        on `vector` elements */
    bool needs_unit; /* not aligned, but operands of a mainloop that are strided tensors have stride 1 along their last
                        label */
    bool is_small;       /* indices fit 32 bits */
    bool starts_early;   /* its driver waits for the kernel before */
    bool stores_any;     /* aligned operands, but what the epilogue reads and writes may lie anyhow */
    bool is_skinny;      /* of the skinny driver: the side that is not `wide` has no more rows than its tile */
    bool swaps;          /* likewise: the wide side is A */
    int turns; /* likewise: tiles of a block, one after the other */
    int chunk; /* likewise: of the k of an aligned wide side that has it contiguous it takes multiples; else 0 */
    bool is_masked;      /* of a chain with limits: they are masks, no block of the intermediate is left out */
    bool takes_maps;     /* operands come by tensor maps; blocks walk over tiles, one an SM */
    bool stores_boxes;   /* what is stored goes by tensor maps, too */
    bool splits_k;       /* a cluster of blocks computes a tile, each a slice of k */
    int cluster_m, cluster_n; /* blocks of a cluster have tiles below each other, which share B, and beside each other,
                                 which share A; 0: there are no clusters */
    bool is_turned;      /* of the row driver: teams of threads take turns in memory */
    bool is_wide;        /* likewise: they read long pieces of it */
    bool is_skewed;      /* likewise: vectors begin at boundaries of memory, rows within them */
    int spread;          /* of the row driver: blocks of a cluster that share the rows of a block; 0: none do */
    int tile_m, tile_n;  /* of D, or of rows and columns: what a block covers */
    int tile_k, stages;  /* of a mainloop: what a stage holds, stages in flight; else 0 */
    int block, min_blocks; /* threads; blocks an SM must be able to hold */
    int smem_bytes;
    int vector;          /* adjacent columns a thread takes */
    int ahead;           /* of the pointwise driver: chunks that a thread reads before it stores the first; 0: one */
    int at_once;         /* likewise: rows that a thread takes at once; 0: one */
    int most_cols;       /* of the row driver: elements of a row it takes; 0: any */
    int most_local;      /* of a contraction, or tight: bytes of local memory that its compiled code may have */
    bool is_tight;       /* asks for more blocks on an SM than it may have registers for: the next is as right */
    int piece;           /* of a chain: blocks share its tiles, each a run of so many elements of the intermediate at a
                            time; 0: they do not */
    int inner, beside;   /* of a chain: elements of the intermediate that a tile walks over at a time; what it takes
                            apart from that, in as many */
    int most_m;          /* likewise: rows of a batch that it takes; 0: any */
    int most_n;          /* likewise: columns of a batch; 0: any */
    int most_t;          /* of a chain: elements of the intermediate; 0: any */
    int most_k;          /* of a chain: extent summed over by the first contraction that it takes; 0: any */
    int most_bins;       /* of the bins driver: bins it takes; 0: any */
    int suits_cols;      /* of the row driver: elements of a row up to which it is the faster choice; 0: any */
    int from_cols;       /* likewise: from which it is; 0: any */
    int few;             /* likewise: only where so many times its clusters are no more than the SMs; 0: always */
    int from_k;          /* the faster choice only from so much k on; 0: any */
    int from_wide;       /* likewise of the side that the skinny driver reads once */
    int wants_few;       /* the faster choice only where an SM has no more than so many blocks to do; 0: always */
    int wants_grid;      /* the faster choice only where every SM has so many quarters of a block to do; 0: always */
    double rate;         /* flops a cycle and SM the mainloop sustains, for the price */
    double epilogue;     /* cycles of a tile's epilogue, where configurations are chosen by them; else 0 */
    double exchange;     /* cycles of what blocks of a cluster send each other, where they split k */
    bool is_fed;         /* its mainloop is as fast as the L2 cache feeds it, or as `rate` says */
    double of_tile, at_end; /* likewise: cycles of a tile beside its mainloop, and of a launch */
    bool hides_epilogue; /* it runs under the mainloop of another tile */
};

/* Configurations of a kind assume the same of memory, and stand in for each other. */
enum config_kind { KIND_ANY, KIND_ALIGNED, KIND_STORES_ANY, KIND_UNIT, KIND_SKINNY, KIND_SKINNY_ANY, N_CONFIG_KINDS };
static inline enum config_kind kind_of(const struct config *f) {
    return f->is_skinny    ? f->is_aligned ? KIND_SKINNY : KIND_SKINNY_ANY
           : f->stores_any ? KIND_STORES_ANY
           : f->is_aligned ? KIND_ALIGNED
           : f->needs_unit ? KIND_UNIT
                           : KIND_ANY;
}

struct schedule;
struct rejected { /* a schedule that did not take a group */
    const struct schedule *schedule;
    const char *why; /* what it lacked; NULL: it would have taken it, in `seconds` */
    double seconds;
};

struct scheduled {
    const struct group *group;
    const struct schedule *schedule;
    const struct tensor *loads; /* what the pointwise part reads */
    int n_loads;
    struct gemm_shape gemm;
    struct pointwise_shape pointwise;
    struct row_program *row; /* of a row program: which pass computes what (row_program.c) */
    struct bins *bins;   /* of a row program of sums by key: how they are added up, in two launches; `parts` then cuts
                            the elements */
    struct chain *chain; /* of a chain: which pass computes what (chain_program.c); gemm has the batch, m and n of its
                            result */
    int parts; /* of a row program of few rows: how many parts each row is cut in, where each pass is a launch; 0: rows
                  are whole */
    int part_rows, part_blocks; /* likewise, where the number of rows is not known: rows of a block, and how many blocks
                                   there are to be; `parts` is then the most */
    int pass;            /* of rows in parts: the stage that this launch is; of sums by key 0 or 1 */
    int partial;         /* likewise: which of the partial sums of the scheduled graph are its own */
    int n_rejected;
    struct rejected *rejected; /* what the other schedules lacked or would have cost, for the receipt */
    bool wants_windows;  /* gemm_shape() is to give a shape that has_windows */
    bool wants_scaled;   /* likewise is_scaled */
    int block;           /* threads a block that configure() is held to, where it is a phase beside others; 0: any */
    bool is_once;        /* it depends on `const` parameters alone, and is computed ahead of all launches */
    bool has_flags;      /* of a chain: its blocks share tiles by tallies, which stand where flags do */
    bool is_twin;        /* of a chain: its launch computes another one too */
    bool is_phase;       /* it shares its launch with other phases, */
    bool hands_on;       /* of which some are behind it */
    bool waits;          /* as a phase: what earlier phases of its launch wrote has to be there, for all blocks */
    int n_configs;
    struct config configs[MAX_VARIANTS];
    double seconds;      /* predicted, at the nominal extents */
    double bytes, flops; /* likewise */
};

struct schedule {
    const char *name;
    const char *driver; /* the device driver its entries call */
    /* Fills s (group set) with shape and configurations. False with why_not where it does not take the group. */
    bool (*configure)(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not);
    /* Sets seconds, bytes and flops of a configured group. */
    void (*price)(const struct graph *g, const struct partition *p, struct scheduled *s);
    const struct schedule *as_phase; /* takes its place in a kernel that is one phase of a launch; often itself */
};

extern const struct schedule schedules[];

struct partial { /* memory for the sums of the parts of rows */
    const struct axis_list *rows;
    bool is_once; /* of a kernel that is computed once */
    int words; /* for each row: of all parts and passes; of sums by key of one part */
    const struct bins *bins; /* of sums by key, which say how many parts there are; else NULL */
};

struct proposal { /* a partition that was not taken */
    const char *name;
    int n_kernels;
    double seconds;  /* predicted */
    const char *why; /* it was not */
};

struct launch_phases { /* a launch of the plan: kernels in order, of which each but the first is a phase behind the one
                          before */
    int first, n; /* among the kernels of the scheduled graph; where n > 1 their configurations are parallel: entry v
                     runs configs[v] of each */
    bool is_beside; /* no phases, but contractions whose tiles stand beside each other, where entry v takes tensor maps
                     * or is of the skinny driver */
    bool is_twin;   /* likewise two chains, whose tiles are computed together where entry v takes tensor maps */
};

struct scheduled_graph { /* the partition taken, each group scheduled */
    const struct graph *graph;
    const struct partition *partition;
    int n_kernels;
    struct scheduled *kernels; /* in order; rows in parts take one a pass */
    int n_launches, n_once;            /* of which the first ones are of kernels that are computed once */
    struct launch_phases *launches;    /* of one kernel each, unless phases_join() was asked for fewer */
    bool has_flags; /* some phase waits, or some kernel has flags: a buffer of them stands after the partials */
    const char *why_apart;     /* why two launches could not be joined, or NULL */
    const struct buffer *apart; /* what is handed over between those two, or NULL */
    bool stores_factors; /* phases may hand over factors of any size that are computed of no product */
    int n_partials;
    struct partial *partials;  /* numbered after the partition's buffers */
    double seconds;
    int n_free;                /* phases that nobody waits for */
    struct picks *picks;       /* what phases.c has found for phases so far */
    int n_others;
    struct proposal *others; /* what the other proposals would have cost */
    struct fx_expr takes;    /* of several partitions of a kernel: where this one is taken, unless one before it is */
    struct scheduled_graph *next; /* the one that is asked next; NULL: this one is taken where none before it is */
};

static inline int launches_each_time(const struct scheduled_graph *c) { return c->n_launches - c->n_once; }

/* Schedules every proposal and takes the cheapest the contract allows. Errors (no schedule, `fuse: require` not met,
 * `kernels: N`) go to the diagnostics and give NULL. */
struct scheduled_graph *fx_schedule(struct cx *cx, const struct graph *g);

/* Predicts again what c takes, all its kernels too, at the nominal extents that its kernel has now. */
void fx_price_again(struct scheduled_graph *c);
/* What people are told that a kernel, or all of a launch, takes: its price, by which ways are chosen, and what even the
 * smallest takes, measured on an H100 (tests/bench/prices.py). */
double scheduled_estimate(const struct scheduled *s);
double fx_estimate(const struct scheduled_graph *c);
/* c with prices of configuration variants[i] alone of launch i, of all its phases; -1, or variants NULL: of that with
 * the lowest one. Its kernels have no other configurations; c stays as it is. */
const struct scheduled_graph *fx_price_variants(const struct scheduled_graph *c, const int *variants);

/* Why an engine does not take operands that lie in parts. */
extern const char *const schedule_no_parts;
/* Why a schedule has no configuration that fits a block of the machine. */
const char *schedule_no_room(const struct graph *g);
/* What the loads and stores of s move at nominal extents, each tensor once. */
double scheduled_bytes(const struct graph *g, const struct partition *p, const struct scheduled *s);
/* What the pointwise part of s reads at positions as vectors: accesses to adjacent elements where a thread has several.
 * None where all threads see a tile through, or in a row program or chain. */
int schedule_chunks(
    const struct graph *g, const struct partition *p, const struct scheduled *s, struct chunk chunks[MAX_CHUNKS]);
/* Whether axis is one that the pointwise driver runs over, as part of its rows or columns. */
bool is_space_axis(const struct scheduled *s, int axis);

/* need.c: what configuration f of s needs to be right, as a condition over extents, alignments and strides. */
struct terms schedule_needs(
    struct arena *a, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f);
/* Joins the condition that the extents of l multiplied are at most `most`. */
void need_at_most(struct terms *x, int *n, const struct kernel *k, const struct axis_list *l, int64_t most);
/* Writes a polynomial of the view of t, an operand in memory. */
void need_push_poly(struct terms *x, const struct graph *g, const struct tensor *t, const struct poly *p);
/* Where the next configuration of s goes; NULL where there are MAX_VARIANTS. */
struct config *config_next(struct scheduled *s);
void config_copy(struct scheduled *s, const struct config *f); /* likewise adds a copy of f, if there is room */
/* Whether some extents and alignments meet what a configuration of s needs. */
bool config_is_possible(
    struct cx *cx, const struct scheduled_graph *c, const struct scheduled *s, const struct config *f);
/* Drops the configurations whose needs no extents or alignment can meet. */
void drop_impossible(struct cx *cx, const struct scheduled_graph *c, struct scheduled *s);

/* phases.c: joins launches into one of several phases, as long as there are more than `most` and only side products are
 * handed over. */
void phases_join(struct cx *cx, struct scheduled_graph *c, int most);
/* Where what the phases of every launch hand over is small, as phases_join has it at nominal extents. */
struct fx_expr phases_are_small(struct arena *a, const struct scheduled_graph *c);
/* Joins neighbouring launches that store factors in parts: they wait for nothing. Returns how many fewer there are. */
int phases_join_copies(struct cx *cx, struct scheduled_graph *c);
/* The kernel of launch j whose configurations those of the others follow. */
int phases_leader(const struct scheduled_graph *c, struct launch_phases j);

/* pointwise.c: by axis, whether small variants of pointwise group r take it below 2^30 alone, for the positions that
 * are computed from it; NULL where none are. */
bool *pointwise_small_axes(const struct graph *g, const struct partition *p, const struct group *r);
/* pointwise.c: seconds that the loops of a footprint take at least, of so many threads; 0: it has none. */
double pointwise_loop_seconds(const struct graph *g, const struct footprint *f, double threads);

/* gemm_operand.c. Factor s of sum x on its way into a mainloop. */
/* Whether factor s of x reads windows of what is stored in parts. */
bool gemm_splits_window(const struct partition *p, const struct product *x, int s);
struct operand gemm_operand(const struct graph *g, const struct partition *p, const struct product *x, int s);
/* Its layout, and what an element of it costs, multiplied as type t. */
void gemm_choose_layout(const struct graph *g, const struct partition *p, const struct group *r, struct operand *o,
    const struct axis_list *k, const struct axis_list *mn, enum fx_dtype t);
/* What so many operations of computed operands take. */
double gemm_computed_seconds(const struct graph *g, double ops);

/* gemm.c */
bool gemm_shape(const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not);
/* The layouts a mainloop copies 16 bytes at a time are all it has. */
bool gemm_is_strided(const struct gemm_shape *shape);
/* The slices that the k of a segment is, or NULL. */
const struct cut *segment_cut(const struct segment *e);
bool gemm_is_computed(const struct gemm_shape *shape);
/* The dtype in which tensor maps bring A or B. */
enum fx_dtype gemm_copied_dtype(const struct gemm_shape *shape, bool is_a);
/* Of a shape that is_scaled: columns, counted from a multiple of so many on, that have the same scales; 0: all have. */
int gemm_scaled_columns(const struct graph *g, const struct gemm_shape *shape);
/* Whether some factor of r may be an operand that is a window. */
bool gemm_reads_windows(const struct graph *g, const struct partition *p, const struct group *r);
/* Whether some operand lies as its layout says only where the launch gives it a stride of 1. */
bool gemm_has_strides(const struct gemm_shape *shape);
bool gemm_has_mn_major(const struct gemm_shape *shape);
/* Of operands of two f16: whether rows and columns are those for which they have powers of two, none of them among the
 * batches. */
bool gemm_has_whole_matrices(const struct graph *g, const struct gemm_shape *shape);
/* Its parts, for chains too. */
enum label_role {
    LABEL_OWN,
    LABEL_SHARED,
    LABEL_SUMMED
}; /* of a factor's label: its alone, kept in both, or summed over */
/* Adds the labels in that role of factor s of x, of more than one element, in the order in which they are flattened: as
 * they lie in o's memory, else as in `out`. */
void gemm_labels(const struct graph *g, const struct product *x, int s, const struct operand *o, enum label_role role,
    const struct tensor *out, struct axis_list *l);
/* Leaves in l the longest run of labels at its end that lies adjacent in all the operands in memory; the others go to
 * `rest`. */
void gemm_split_run(
    const struct graph *g, const struct operand *const *operands, int n, struct axis_list *l, struct axis_list *rest);
/* The first n_sums sums of r in as few segments as may be, factor a_side of each being A; their k, and then all
 * layouts. */
void gemm_fill_segments(const struct graph *g, const struct partition *p, const struct group *r, int n_sums,
    struct gemm_shape *shape, int a_side);
void gemm_choose_layouts(
    const struct graph *g, const struct partition *p, const struct group *r, struct gemm_shape *shape);

/* gemm_epilogue.c */
struct gemm_reduced { /* how a store reduces runs of elements */
    int run_m, run_n; /* the labels of runs along m and n; -1: none */
};
struct gemm_reduced gemm_reduced(const struct graph *g, const struct scheduled *s, const struct store *store);
bool gemm_has_reduced(const struct graph *g, const struct group *r);
/* Whether elements may be computed where the sums of wgmma lie: all that is stored are results of runs of columns, the
 * elements share something with these, and read along them no more than what is the same for all rows. */
bool gemm_holds(const struct graph *g, const struct scheduled *s);
/* What elements of the epilogue share with their runs, operands first: how many there are. */
int gemm_shared(const struct graph *g, const struct group *r, struct node ***nodes);
/* Words in which threads hand each other what store s of r reduces of a run; 0: it reduces nothing. */
int gemm_reduced_words(const struct graph *g, const struct group *r, const struct store *s);
/* Shared memory behind the staged tile of bn columns that its reductions over rows take. */
int gemm_reduced_bytes(const struct graph *g, const struct scheduled *s, int bn, int threads);
/* How many adjacent columns a thread of the epilogue takes at a time: what it reads for them stays in registers. */
int gemm_vector(const struct graph *g, const struct scheduled *s, int most);
/* Likewise, and no more than keep vectors within the pieces of tensors that are in some: neighbouring threads then have
 * neighbouring vectors of a piece. */
int gemm_piece_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, int most);

/* gemm_price.c */
/* Cycles that warpgroups take for the epilogue of a tile: `instructions` an element, beside staging its sums. */
double gemm_epilogue_cycles(int elements, int warpgroups, int n_sums, double instructions);
/* How many SMs at least share what the L2 cache brings in a cycle: fewer do not get more each. Bytes of a line. What a
 * row of a box that begins within a line costs, in 32nds of one that does not: it is two requests. */
enum { LEAST_FED = 73, MAP_LINE = 128, WHOLE_LINE = 32, SPLIT_LINE = 53 };
/* Products of 16 bits that take about half a millisecond or more lower the clock of the SMs, and the L2 cache brings
 * them more in a cycle. How many blocks of k, of all tiles of configuration f, are such a product of segment e; 0: none
 * are. What the cache brings then. */
int64_t gemm_long_blocks(
    const struct graph *g, const struct scheduled *s, const struct segment *e, const struct config *f);
int gemm_long_l2_bytes(const struct arch *m);
/* Of an operand that tensor maps bring: the extent whose rest of a box decides whether rows of its boxes begin within a
 * line of 128 bytes, so that each is two requests to the L2 cache; NULL where none is known to. */
const struct axis_list *gemm_line_labels(
    const struct gemm_shape *shape, const struct segment *e, const struct operand *o, bool is_a);
void gemm_price(const struct graph *g, const struct partition *p, struct scheduled *s);
/* Gives kernels beside each other, of parallel configurations, the price of one launch, and returns it. */
double gemm_price_beside(const struct graph *g, struct scheduled *const *kernels, int n);

#endif
