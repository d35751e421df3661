/* The seam between compiler and runtime: one `.cu` text and, for every kernel of the spec, the recipe that launches it.
 *
 * Plain data, printable (plan_print), owned by the compilation it came from. It knows neither IR nor CUDA types. This
 * is the only header both halves include. */
#ifndef FX_PLAN_H
#define FX_PLAN_H

#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FX_VERSION "0.1.0"

enum {
    FX_MAX_RANK = 8,
    FX_MAX_PARAMS = 256, /* these limits let a launch do without allocation; the compiler refuses more (FX1006) */
    FX_MAX_EXTENTS = 128,
    FX_MAX_BUFFERS = 128,
    FX_MAX_LAUNCHES = 128,
    FX_MAX_STRIDES = FX_MAX_PARAMS * FX_MAX_RANK,
    FX_MAX_MAPS = 28,    /* of a launch */
    FX_MAX_MAP_RANK = 5, /* of a tensor map */
    FX_MAX_SPATIAL = FX_MAX_MAP_RANK - 2, /* its axes between channels and images, in im2col mode */
    FX_MAX_ARGS = FX_MAX_PARAMS + FX_MAX_EXTENTS + FX_MAX_BUFFERS + FX_MAX_STRIDES,
};

#define FX_MAX_ELEMENTS (INT64_C(1) << 48) /* of a tensor */

/* Numbers are stable and are also the exit codes of the command. */
typedef enum fx_status {
    FX_OK = 0,
    FX_ERR_COMPILE = 1,   /* the spec has errors */
    FX_ERR_USAGE = 2,     /* an argument of the call is wrong: shape, dtype, alignment, overlap, missing */
    FX_ERR_IO = 3,        /* a file could not be read or written */
    FX_ERR_TOOLCHAIN = 4, /* NVRTC or the driver cannot be found, or NVRTC refused the source */
    FX_ERR_GPU = 5,       /* the driver reported a failure */
    FX_ERR_DIFFERS = 6,   /* a result differs from the oracle, or nothing could be compared */
    FX_ERR_NOMEM = 7,     /* out of host memory */
    FX_ERR_INTERNAL = 70, /* a bug of fx */
} fx_status;

/* ---- small postfix expressions over what is known at launch; 64-bit, every step checked for overflow ---- */
enum fx_term_op {
    FX_T_CONST,    /* v */
    FX_T_EXTENT,   /* extent v of the kernel */
    FX_T_ALIGN,    /* largest power of two <= 256 that divides the address bound to parameter v */
    FX_T_SM_COUNT, /* multiprocessors of the device */
    FX_T_STRIDE,   /* elements between neighbours along an axis of a strided parameter, v = fx_stride_index; 0 where the
                      axis has one element or the tensor none */
    FX_T_SCALAR,   /* value of scalar parameter v; it and REAL stand in checks alone, see fx_check_scalars */
    FX_T_REAL,     /* the double whose bits are v */
    FX_T_LAST_LEAF = FX_T_REAL, /* terms from here on take operands */
    FX_T_ADD,
    FX_T_SUB,
    FX_T_MUL,
    FX_T_DIV,
    FX_T_MOD,       /* floor division; by zero gives 0 */
    FX_T_DIV_EXACT, /* a / b; there is no value where b does not divide a, and none by zero */
    FX_T_CDIV,      /* ceil(a / b) */
    FX_T_MIN,
    FX_T_MAX,
    FX_T_LT,
    FX_T_LE,
    FX_T_EQ,
    FX_T_AND,
    FX_T_OR,
    FX_T_NOT, /* 0 or 1 */
};
struct fx_term {
    enum fx_term_op op; /* what this step does */
    int64_t v;          /* operand of a leaf */
};
struct fx_expr { /* n == 0 means "true" as a condition, 0 elsewhere */
    int n;
    const struct fx_term *terms;
};

/* ---- the recipe ---- */
struct fx_extent {
    const char *name; /* the label */
    int64_t value;    /* fixed at compile time, or -1: bound from the arguments */
    bool is_made;     /* by the compiler, of no argument: not fixed, an equation over those before gives it */
};

struct fx_packing {          /* several elements in each word of the argument */
    int factor;              /* elements a word; 0: not packed */
    enum fx_dtype storage;   /* of a word, and so of the argument */
    int axis;    /* position of the axis along which they share words: there the argument has ceil(extent / factor) */
    bool is_msb; /* the first element of a word stands in its highest bits, otherwise in its lowest; fields past the
                    extent mean nothing */
};

struct fx_param {
    const char *name;
    enum fx_dtype dtype;       /* of an element */
    bool is_scalar;            /* passed by value */
    bool is_input;             /* read */
    bool is_output;            /* written; an `inout` tensor is both, and stands among the inputs */
    bool is_const;             /* contents promised not to change between launches */
    bool is_strided; /* the launch gives its strides, in elements, of packed tensors in words; otherwise row-major,
                        contiguous */
    bool has_value;            /* a scalar with a default */
    double value;              /* the default */
    struct fx_packing packed;  /* how its elements share words */
    int align; /* bytes its address is promised to be a multiple of, a power of two up to 256; 0: nothing promised */
    int rank;                  /* of a tensor */
    int extents[FX_MAX_RANK];  /* indices into the kernel's extents, in storage order */
    struct fx_expr below; /* of integers that index or count: over extents, from 0 to below which they mean something,
                             for who draws them; n == 0: nothing is known */
    int line;                  /* of its declaration, for messages */
};

enum fx_buffer_kind {
    FX_BUFFER_WORKSPACE,
    FX_BUFFER_FLAGS, /* by which the blocks of a launch wait for each other, or share their work: needs no
                        preparation */
    FX_BUFFER_CONST, /* what depends on `const` parameters alone: written by the launches that are `is_once` */
};
struct fx_buffer { /* memory the plan needs between its kernels; offsets in the workspace follow in order,
                    * 256-aligned, constants behind all others: those may be kept elsewhere, see fx_const_layout */
    const char *name;
    enum fx_buffer_kind kind;
    struct fx_expr bytes; /* size */
};

enum fx_arg_kind { FX_ARG_PARAM, FX_ARG_BUFFER, FX_ARG_EXTENT, FX_ARG_STRIDE };
struct fx_arg { /* one argument of a GPU kernel, in its order */
    enum fx_arg_kind kind; /* PARAM: pointer of a tensor or value of a scalar; BUFFER: pointer; EXTENT: long long;
                              STRIDE: long long, in elements */
    int index;             /* of what it is; of a stride fx_stride_index */
};
/* The strides of all parameters of a kernel are numbered by parameter and position in its storage order. */
static inline int fx_stride_index(int param, int position) { return param * FX_MAX_RANK + position; }

/* A tensor map: boxes of a tensor that the copy engine of sm_90a fetches or stores, swizzled in 128 bytes in shared
 * memory; what lies outside is fetched as zeros and not stored (cuTensorMapEncodeTiled). */
struct fx_map {
    struct fx_arg base;      /* PARAM or BUFFER: where the tensor lies */
    enum fx_dtype dtype;     /* of an element; u32: words, copied as they are */
    bool is_stored;          /* else fetched: f32 is rounded to tf32 then */
    struct fx_expr offset;   /* elements from there to the first */
    int rank;                /* axes, the contiguous one first */
    struct fx_expr extents[FX_MAX_MAP_RANK]; /* elements along each */
    struct fx_expr strides[FX_MAX_MAP_RANK]; /* elements between neighbours along each; 1 of the first. One of an axis
                                                of one element means nothing */
    int box[FX_MAX_MAP_RANK]; /* elements of a box along each */
    bool is_tail; /* the box has those elements of the second axis that are left of box[1] at its end, unless none
                     are */
    bool is_im2col; /* what is fetched is a column of box[1] pixels of box[0] elements, which goes along the axes
                       between the first and the last one, from image to image of the last one
                       (cuTensorMapEncodeIm2col) */
    struct fx_expr first[FX_MAX_SPATIAL]; /* in im2col mode: along each of those axes the first pixel, inside or not, */
    struct fx_expr last[FX_MAX_SPATIAL];  /* the last one, */
    int steps[FX_MAX_SPATIAL];            /* and elements from pixel to pixel */
};

struct fx_variant { /* one way to run a launch: the first that `needs` and `prefers` allow, else the first that `needs`
                       allows */
    const char *entry;     /* extern "C" name in the source */
    int number;            /* of the entry in the source: compiling with -DFX_ONLY=number leaves out all the others */
    const char *config;    /* one line for people: "mma 128x128x32, 4 stages, aligned" */
    struct fx_expr needs;   /* without it the entry would be wrong: alignments, extents */
    struct fx_expr prefers; /* where it is the faster choice: extents, SM count */
    struct fx_expr cost;    /* beside others of its kind, of which the cheapest is preferred; n == 0: it has none */
    struct fx_expr grid;   /* blocks in x; 0 means nothing to do */
    struct fx_expr smem;   /* dynamic shared memory, bytes */
    int block;             /* threads in x */
    struct fx_expr cluster; /* blocks a cluster, of which the grid is a multiple; n == 0: there are none */
    int kind;              /* variants of one kind take the place of each other: see fx_choose_compiled */
    bool takes_maps; /* the entry takes the launch's tensor maps as one more argument, an array, behind all others; of a
                        tensor without elements a map may hold anything */
    bool starts_early; /* it may be started before the kernel ahead of it in the stream has ended, for which the entry
                          itself waits (programmatic dependent launch) */
    int most_local; /* bytes of local memory a thread of it may have, once compiled, before it is passed over;
                     * -1: any */
};

struct fx_launch { /* one GPU kernel of the plan */
    const char *name;
    const char *driver; /* "pointwise", "gemm" */
    struct fx_expr flops, bytes; /* floating-point operations; bytes read and written once each */
    struct fx_expr written;      /* bytes written, which are among those */
    int n_phases;          /* behind each but the last all blocks may wait for each other */
    bool is_cooperative;   /* some do: all blocks must be resident at once. Fewer than `grid` compute the same */
    bool is_beside;        /* none does: they are contractions of one tensor, whose tiles stand beside each other */
    bool is_once;          /* it depends on `const` parameters alone and writes nothing but constants: where these are
                              kept, it need not run again. Such launches are the first ones of a partition */
    int n_args, n_variants, n_maps;
    const struct fx_map *maps; /* for the variants that take them */
    const struct fx_arg *args;
    const struct fx_variant *variants;
};

struct fx_partition { /* a division of a kernel into launches. Of several the first that `takes` allows, and whose
                         launches fit, is taken, the last one where none does */
    const char *name;               /* for people: "rows stored" */
    int first_launch, n_launches;   /* its own, in order of execution */
    int first_buffer, n_buffers;    /* likewise what stands in the workspace where it is taken */
    struct fx_expr takes;           /* where it is the faster one: over extents and the number of multiprocessors */
};

struct fx_equation { /* extent = value, solved for the one extent that is not known when arguments are bound */
    int extent;
    struct fx_expr value; /* linear in an extent it is solved for, see fx_is_linear */
    const char *text;     /* "F = 2 * N", for messages */
};

struct fx_check { /* must hold when arguments are bound: fx_bind_extents looks at those on extents, fx_check_scalars at
                     the others */
    struct fx_expr holds;
    const char *message; /* what was violated, naming both sides */
};

struct fx_kernel { /* one kernel of the spec */
    const char *name;
    int n_extents, n_params, n_buffers, n_launches, n_checks, n_equations;
    const struct fx_extent *extents;
    const struct fx_equation *equations;
    const struct fx_param *params; /* as declared: inputs and `inout`, then outputs */
    const struct fx_buffer *buffers;
    const struct fx_launch *launches; /* of one partition after the other, in order of execution */
    const struct fx_check *checks;
    int n_unfused;       /* kernels it takes with every operation of the source one of its own */
    struct fx_expr unfused_bytes; /* what those would read and write */
    const char *receipt; /* as fx_receipt gives it, without what the entries were compiled to */
    int n_partitions;
    const struct fx_partition *partitions; /* none: there is one, of all launches and buffers. fx_get_partition */
    uint64_t text_hash; /* of the kernel as fx prints it, constants, fns and fixed extents written in: by which times
                         * that were measured of it are found again */
};

struct fx_plan {
    const char *file;   /* the spec's name, for messages */
    const char *arch;   /* "sm_90a" */
    int sm_count;       /* of the GPU that times are predicted for */
    const char *source; /* the .cu, NUL-terminated */
    size_t source_len;
    int n_kernels;
    const struct fx_kernel *kernels;
};

/* ---- test and bench blocks: what a person asked to be run ---- */
enum fx_bound {
    FX_BOUND_INDEPENDENT, /* roundings of a sum are independent: eight of their standard deviations */
    FX_BOUND_WORST,       /* all of them may err in one direction, as of data made to make them */
};
enum fx_tolerance_kind { FX_TOL_DERIVED, FX_TOL_EXACT, FX_TOL_ABS, FX_TOL_REL, FX_TOL_F16_ULP, FX_TOL_WORST };
struct fx_tolerance { /* how far from the oracle a right result may be: `tol:` */
    enum fx_tolerance_kind kind; /* DERIVED, the default: fx_evaluate's INDEPENDENT bound; WORST: its WORST one */
    double value;                /* of ABS, REL and F16_ULP */
};

struct fx_test { /* one block, checked against the declaration of its kernel; every text is as the command takes it */
    const char *kernel;
    const char *file;           /* that the block stands in */
    int line;                   /* where it begins */
    bool is_bench;
    int n_defines, n_extents, n_inputs, n_beside;
    const char *const
        *defines; /* "NAME=VALUE" of -D: constants, fns, labels that no argument can bind; to be compiled in */
    const char *const *extents; /* "LABEL=N": what the arguments are to bind; compiling them in is not needed */
    const char *const *inputs;  /* "NAME=SOURCE" of -i: the scalars given, what the tensors are drawn from */
    const char *const *beside;  /* `vs:`: what a bench stands beside */
    bool has_seed;
    uint64_t seed;              /* of drawn inputs */
    struct fx_tolerance tolerance;
    int64_t warmup, rep;        /* launches before and while the time is taken; 0: not given */
};

/* What expressions are evaluated over. */
struct fx_env {
    const int64_t *extents;    /* of the kernel */
    const unsigned *align;     /* of each parameter, or NULL: 256 */
    int sm_count;
    const int64_t *strides;    /* by fx_stride_index, see FX_T_STRIDE; or NULL: 0, as those of tensors of one element */
};

/* False on overflow, an exact division that is none, a SCALAR or REAL, or a malformed expression. Pure; any thread. */
bool fx_expr_eval(const struct fx_expr *e, const struct fx_env *env, int64_t *out);
/* e as a condition: an empty one holds, one that cannot be evaluated does not. */
bool fx_expr_holds(const struct fx_expr *e, const struct fx_env *env);

/* What the argument of a tensor parameter has: its dtype, and its extent at position `axis` where extents[] are the
 * kernel's. */
enum fx_dtype fx_argument_dtype(const struct fx_param *p);
int64_t fx_argument_extent(const struct fx_param *p, int axis, const int64_t *extents);

struct fx_shape { /* of an argument: a packed one in words */
    enum fx_dtype dtype;
    int rank;
    int64_t extents[FX_MAX_RANK];
};

/* Binds every extent of `k` from the shapes of its parameters (shapes[i] for params[i]; NULL where the shape is not
 * known, as for outputs that are yet to be allocated, and for scalars). Checks rank, dtype, agreement of all
 * occurrences, fixed values, limits (extent <= 2^40, elements <= 2^48) and the plan's checks on extents. A packed axis
 * is checked, not bound. On failure returns FX_ERR_USAGE and writes a message naming both sides into message[size]. */
fx_status fx_bind_extents(
    const struct fx_kernel *k, const struct fx_shape *const *shapes, int64_t *extents, char *message, size_t size);
/* Gives every extent that is -1 and that the kernel's equations determine its value, in any order; then every equation
 * whose extents are all known must hold. FX_ERR_USAGE with a message otherwise. */
fx_status fx_solve_extents(const struct fx_kernel *k, int64_t *extents, char *message, size_t size);
/* Whether an equation of this value can be solved for the extent: it stands under + - * and exact / alone, and nothing
 * is divided by it. */
bool fx_is_linear(const struct fx_expr *value, int extent);
/* The strides of strided parameters where each argument is row-major, as a launch takes them:
 * strides[fx_stride_index(i, axis)] of parameter i; strides has room for all parameters. INT64_MAX where a number would
 * be larger: no such tensor can be bound. */
void fx_row_major_strides(const struct fx_kernel *k, const int64_t *extents, int64_t *strides);
/* The plan's checks that mention scalars. scalars[i] points to the value of scalar parameter i in its dtype. Whole
 * numbers are exact up to 64 bits and fail beyond; where a floating-point one takes part, arithmetic is that of long
 * double, `/` divides and `//` floors. FX_ERR_USAGE with the condition and the values in message[size]. */
fx_status fx_check_scalars(
    const struct fx_kernel *k, const int64_t *extents, const void *const *scalars, char *message, size_t size);
/* The variant of l to launch, by the rule of struct fx_variant, or -1 when none applies. */
int fx_choose_variant(const struct fx_launch *l, const struct fx_env *env);
/* What the compiler of device code made of an entry. */
struct fx_resources {
    int registers;    /* a thread */
    int local_bytes;  /* of a thread: what is spilled, arrays indexed at run time, calls */
    int shared_bytes; /* static shared memory; 0 in what fx emits */
    int max_threads;  /* a block may have */
};
/* One more than the largest number of an entry of the plan; 0 of NULL. */
int fx_entry_count(const struct fx_plan *p);
/* Whether variant v of l, compiled to this, spills more than it may: it is taken only where no other of its kind does
 * it. */
bool fx_is_passed_over(const struct fx_launch *l, int v, const struct fx_resources *compiled);
/* As fx_choose_variant, among those for which compiled[v], one a variant, is not NULL. Where the one chosen is passed
 * over, the first of the same kind that is not takes its place: by its own `needs` and `prefers`, then by `needs`
 * alone. */
int fx_choose_compiled(const struct fx_launch *l, const struct fx_env *env, const struct fx_resources *const *compiled);
/* Whether every launch of a partition has a variant for these extents; tensors lie as they should. A partition that is
 * pinned may not fit; the last one always does. */
bool fx_partition_fits(const struct fx_kernel *k, const struct fx_partition *p, const struct fx_env *env);
/* The partition that is taken: its number, below fx_partition_count. One whose `takes` holds is passed over where some
 * launch of it has no variant that fits. */
int fx_choose_partition(const struct fx_kernel *k, const struct fx_env *env);
/* At least 1. */
int fx_partition_count(const struct fx_kernel *k);
struct fx_partition fx_get_partition(const struct fx_kernel *k, int number); /* -1: as one, with all launches */
/* The workspace of a partition; offsets[i] of each buffer i that it has when offsets is not NULL. False on overflow. */
bool fx_workspace_layout(const struct fx_kernel *k, const struct fx_partition *partition, const struct fx_env *env,
    size_t *offsets, size_t *total);
/* Likewise of its constants alone: offsets[i] of each FX_BUFFER_CONST. They are the end of the workspace, in which they
 * need not stand where they are kept. */
bool fx_const_layout(const struct fx_kernel *k, const struct fx_partition *partition, const struct fx_env *env,
    size_t *offsets, size_t *total);
/* name NULL: the first; NULL if absent, or p is NULL */
const struct fx_kernel *fx_find_kernel(const struct fx_plan *p, const char *name);

#ifdef __cplusplus
}
#endif
#endif
