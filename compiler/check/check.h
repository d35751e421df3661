/* The checked tree: what a kernel means. Names are resolved, fns and the prelude inlined, every value has its axes and
 * dtype, `@` has become a sum over a product. It is a DAG: a name bound once is one node however often it is read.
 * check.c builds it from the AST; lower.c and the oracle (eval.c) read it. */
#ifndef FX_CHECK_H
#define FX_CHECK_H

#include "front/ast.h"
#include "base/op.h"
#include "plan.h"

enum {
    MAX_AXES = 16,            /* labels a value may carry */
    MAX_PAYS = 4,             /* conditions on what a pass did */
    MAX_ARGS = MAX_AXES + 2,  /* operands of a value: an access of every axis, its source and what lies outside */
};

struct axis { /* a label of a kernel */
    struct name name;
    int64_t extent;   /* fixed, or -1: bound from the arguments */
    double nominal;   /* what a price takes for it: check_nominal.c */
    bool is_head;     /* it seems to be a head dimension, of no fixed extent: likewise */
    struct span span; /* where it first stood */
    int copy;         /* how many labels of this name stood before: labels of fns are fresh per call */
    int part_of;      /* of an operand of concat[P], P with its own extent: the axis P; else -1 */
    bool is_inner;    /* introduced in the body: no type of the signature declares it */
    bool is_local;    /* by a fn or for an operand of concat: its name says nothing elsewhere */
    bool is_made;     /* by a pass */
};

/* any and all are max and min of conditions. ARGMAX, ARGMIN: the index (i64) of the first extreme along one axis, the
 * first NaN if there is one; 0 where the axis is empty. An empty max is -inf, the least value of an integer type,
 * false; an empty min the opposite. RECUR, of a V_SCAN alone: h = a * h + b from element to element, b and a being
 * args[0] and args[1]; the first h is b. */
enum reduction { RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_ARGMAX, RED_ARGMIN, RED_RECUR, N_REDUCTIONS };
const char *reduction_name(enum reduction r);

enum value_kind {
    V_NUM,    /* num, or of an integer dtype `integer` */
    V_SCALAR, /* scalar parameter `param` */
    V_LOAD,   /* tensor parameter `param` as stored, in its compute type */
    V_INDEX,  /* the running index along `axis`, its only label: i64 */
    V_SIZE,   /* the extent of `axis`: i64, no labels */
    V_OP,     /* op over args, pointwise, broadcast by name */
    V_REDUCE, /* reduction of args[0] over `reduced` axes */
    V_SCAN,   /* running SUM, PROD, MAX or MIN of args[0] along `axis`, each element included; or RECUR */
    V_CAST,   /* args[0] converted to `to`, in its compute type: a rounding no fusion may remove (see docs/language.md,
                 "Casts") */
    V_ACCESS, /* args[0] read at computed positions: along its axis at[i] at args[1 + i], along its other axes at the
               * running index. A position outside gives args[1 + n_at], the value after `??`; without one (has_fill
               * false) every position is proven inside. Labels: the source's that are not in `at`, those of the
               * positions and of the fill; a label of the source that is in `at` and stands in a position is the
               * result's, not the source's */
    V_PLACE, /* args[0] as it is stored to parameter `param` at positions args[1..] along its axes at[], along its other
              * axes at the running index. Labels: those axes, and those of value and positions; none of at[]. No value
              * reads one */
};

struct value {
    enum value_kind kind;
    enum op op;
    enum reduction reduction;
    enum fx_dtype dtype;    /* compute type: bool, i32, u32, i64, u64, f32 or f64 */
    enum fx_dtype to;       /* V_CAST: the dtype converted to */
    enum fx_dtype natural;  /* the dtype its operands are stored in, promoted: where `round: op` rounds to */
    bool is_weak; /* V_NUM: a literal, which takes the type of what it meets; V_OP: where() between such. No value of
                     the kernel yet */
    int n_axes;
    int axes[MAX_AXES];     /* indices into the kernel's axes, in the order the language defines */
    bool is_decided;        /* the last axis is decided: `@` and positional access may use it */
    int n_reduced;
    int reduced[MAX_AXES];  /* V_REDUCE */
    int axis;               /* V_INDEX, V_SIZE, V_SCAN */
    int n_at;
    int at[MAX_AXES];       /* V_ACCESS: the axes of args[0] read at computed positions; V_PLACE: of the parameter */
    bool has_fill;          /* V_ACCESS */
    unsigned may_miss;      /* V_PLACE: a bit a position that may lie outside: then nothing is stored */
    int n_args;
    struct value *args[MAX_ARGS];
    double num;             /* V_NUM of a float or a condition */
    int64_t integer;        /* V_NUM of an integer dtype; u64 by its bits */
    int param;
    struct name name;       /* the spec's name for it, empty when it has none */
    struct span span;       /* the expression it came from */
    const struct ast_expr *source; /* likewise, for reprinting */
    int id;                 /* dense within the kernel; operands have smaller ones */
    struct value *settled;  /* with its part_of axes as the labels they are parts of, once that was asked for */
};

struct param { /* a parameter or an output of a kernel */
    const struct ast_param *ast;
    const char *name;       /* NUL-terminated */
    enum fx_dtype dtype;
    bool is_scalar, is_const, is_strided;
    bool is_input, is_output; /* read, written; an `inout` tensor is both */
    struct fx_packing packed; /* several elements in each word of the argument; factor 0: not so */
    int align;              /* bytes the address is promised to be a multiple of; 0: nothing promised */
    bool has_default;
    double default_value;
    int n_axes;
    int axes[8];
    const struct param
        *signature;       /* where a pass walks its flattened labels by their parts: as it is declared; else NULL */
    struct fx_expr below; /* of integers that index or count: they are meant to lie from 0 to below it; n == 0: nothing
                             is known. check_draw.c */
    struct value *result; /* of an output: its value at every element */
    struct value *placed; /* of one stored at positions: the V_PLACE; else NULL: `result` is stored whole */
};

/* What is stored to an output; NULL where nothing is. */
static inline struct value *param_stored(const struct param *p) { return p->placed ? p->placed : p->result; }

struct equation { /* `L = expr` over other labels, where a label was declared; solved when arguments are bound */
    int axis;
    struct fx_expr value;
    const char *text; /* "F = 2 * N" */
    struct span span;
};

struct requirement { /* `require expr`: must hold when arguments are bound */
    struct fx_expr holds;  /* over extents, and over scalars where SCALAR terms stand in it */
    const char *text;      /* of a violation */
    struct span span;
};

struct note { /* what an expression or a name came to, outside of fns: for people, nothing compiles from it */
    const struct ast_expr *expr; /* NULL: the target `name` of a statement */
    struct name name;
    struct span span;            /* of either */
    const struct value *value;
};

enum fuse_rule { FUSE_PREFER, FUSE_REQUIRE, FUSE_NEVER };
enum precision { PRECISION_DEFAULT, PRECISION_IEEE, PRECISION_TF32, PRECISION_FMA };
enum rounding { ROUND_ONCE, ROUND_OP, ROUND_EAGER };

struct pin { /* `tile: [128, 64]`: the schedule must have it */
    const char *name;
    int n;
    int64_t values[4];
    struct span span;
};

struct kernel {
    const struct ast_item *ast;
    const char *name;
    int n_axes;
    struct axis *axes;
    int n_equations;
    struct equation *equations;
    int n_requirements;
    struct requirement *requirements;
    int n_params;           /* inputs, `inout` among them, then outputs */
    int n_saved;            /* of a gradient: the inputs of the kernel it is of, which come first */
    struct param *params;
    int n_values;
    struct value **values;  /* by id */
    int n_notes;
    struct note *notes;     /* in the order checked */
    enum fuse_rule fuse;
    struct span fuse_span;
    int kernels;            /* `kernels: N`, 0 when not given */
    struct span kernels_span;
    enum precision precision; /* ieee: no operand may be rounded on the way; tf32: factors of f32 contractions may be
                                 rounded to tf32; fma: as ieee, and f32 are multiplied as they are */
    enum rounding round;
    bool fast_math;
    int n_pins;
    struct pin *pins;
    int n_cuts;             /* of a graph's kernel: contractions whose k was cut; */
    int n_padded;           /* whose factors are repacked; */
    int n_pays;
    struct fx_expr pays[MAX_PAYS]; /* where that pays at extents of the launch */
    struct bounds *bounds;    /* of the checker: what it derived of the extents */
};

/* Whether a factor of a contraction may be read rounded. */
static inline bool kernel_is_ieee(const struct kernel *k) {
    return k->precision == PRECISION_IEEE || k->precision == PRECISION_FMA;
}

/* The dtype, f16 or bf16, to which both factors of a sum of products may be rounded once, as the spec writes them:
 * both are computed from tensors of that dtype alone, and each has a label of the sum that the other lacks
 * (docs/language.md, "Accumulation"). FX_BOOL: none. */
enum fx_dtype value_rounds_to(const struct kernel *k, const struct value *sum);

/* The 16-bit float that v, an op of f32, is rounded to wherever it is read, casts and outputs being all that read it,
 * or its products with others, whose relative error is its own; else v's own dtype. Of the tree as it was written: no
 * pass decides how exact a value is. */
enum fx_dtype value_read_as(const struct kernel *k, const struct value *v);

/* The elements of a tensor of these labels; NAN where an extent is not fixed. More than FX_MAX_ELEMENTS no launch
 * takes. */
double kernel_elements(const struct kernel *k, const int *axes, int n);

struct program {
    int n_kernels;
    struct kernel *kernels;
    int n_tests;
    struct fx_test *tests; /* the test and bench blocks of these kernels */
};

/* Checks every test and bench block of the file (only those of `kernel` when not NULL) and no kernel. */
struct program *fx_check_tests(
    struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel);
struct checker;
/* Makes k, the gradient of f that the item asks for: grad_kernel, which stands above the checker. */
typedef void derive_kernel(struct checker *c, const struct ast_item *item, const struct kernel *f, struct kernel *k);
/* Checks every kernel of the file and its blocks (only `kernel` when not NULL); errors go to cx->diags. */
struct program *fx_check(struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel,
    derive_kernel *derive);

#endif
