/* The checked tree: what a kernel means. Names are resolved, fns and the prelude inlined, every value has its axes and
 * dtype, `@` has become a sum over a product. It is a DAG: a name bound once is one node however often it is read.
 * check.c builds it from the AST; lower.c and the oracle (eval.c) read it. */
#ifndef FX_CHECK_H
#define FX_CHECK_H

#include "ast.h"
#include "op.h"
#include "plan.h"

enum { MAX_AXES = 16 }; /* labels a value may carry */

struct axis { /* a label of a kernel */
    struct name name;
    int64_t extent;   /* fixed, or -1: bound from the arguments */
    struct span span; /* where it first stood */
};

enum reduction { RED_SUM, RED_PROD, RED_MAX, RED_MIN, N_REDUCTIONS };
const char *reduction_name(enum reduction r);

enum value_kind {
    V_NUM,    /* num */
    V_SCALAR, /* scalar parameter `param` */
    V_LOAD,   /* tensor parameter `param` as stored, in its compute type */
    V_OP,     /* op over args, pointwise, broadcast by name */
    V_REDUCE, /* reduction of args[0] over `reduced` axes */
    V_ROUND,  /* an explicit cast: args[0] rounded to `dtype`, a rounding no fusion may remove */
};

struct value {
    enum value_kind kind;
    enum op op;
    enum reduction reduction;
    enum fx_dtype dtype;    /* compute type: f32, or bool for conditions; of V_ROUND the type rounded to */
    bool is_weak;           /* made of literals alone */
    int n_axes;
    int axes[MAX_AXES];     /* indices into the kernel's axes, in the order the language defines */
    bool is_decided;        /* the last axis is decided: `@` and positional access may use it */
    int n_reduced;
    int reduced[MAX_AXES];  /* V_REDUCE */
    struct value *args[3];
    double num;
    int param;
    struct name name;       /* the spec's name for it, empty when it has none */
    struct span span;       /* the expression it came from */
    const struct ast_expr *source; /* likewise, for reprinting */
    int id;                 /* dense within the kernel; operands have smaller ones */
};

struct param { /* a parameter or an output of a kernel */
    const struct ast_param *ast;
    const char *name;       /* NUL-terminated */
    enum fx_dtype dtype;
    bool is_scalar, is_output, is_const;
    bool has_default;
    double default_value;
    int n_axes;
    int axes[8];
    struct value *result;   /* of an output: what is stored, after broadcast and permutation by name */
};

struct equation { /* `L = expr` over other labels, where a label was declared; solved when arguments are bound */
    int axis;
    struct fx_expr value;
    const char *text; /* "F = 2 * N" */
    struct span span;
};

struct requirement { /* `require expr`: must hold when arguments are bound */
    struct fx_expr holds;
    const char *text;
    struct span span;
};

enum fuse_rule { FUSE_PREFER, FUSE_REQUIRE, FUSE_NEVER };

struct kernel {
    const struct ast_item *ast;
    const char *name;
    int n_axes;
    struct axis *axes;
    int n_equations;
    struct equation *equations;
    int n_requirements;
    struct requirement *requirements;
    int n_params;           /* inputs first, then outputs */
    struct param *params;
    int n_values;
    struct value **values;  /* by id */
    enum fuse_rule fuse;
    struct span fuse_span;
    int kernels;            /* `kernels: N`, 0 when not given */
    struct span kernels_span;
    bool is_ieee;           /* `precision: ieee` was written: no operand may be rounded on the way */
};

struct program {
    int n_kernels;
    struct kernel *kernels;
};

/* Checks every kernel of the file (only `kernel` when not NULL); errors go to cx->diags. */
struct program *fx_check(struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel);

#endif
