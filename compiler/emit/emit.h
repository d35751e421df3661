/* From scheduled kernels to the `.cu` text and the launch recipe: two views of one naming, kept here. */
#ifndef FX_EMIT_H
#define FX_EMIT_H

#include "emit/emit_value.h"
#include "plan.h"
#include "schedule/schedule.h"

struct entry { /* one extern "C" function */
    const char *name; /* "fx_linear_gelu_128x128" */
    int number;       /* the value of FX_ONLY that compiles it alone, unique in the file */
};

struct launch { /* one GPU kernel of the file, or a phase of one: what its struct is called and takes */
    const struct scheduled *kernel;
    const char *struct_name; /* "linear_gelu" */
    const char **param_names, **buffer_names, **axis_names; /* C names within its spec kernel, by index */
    const char **stride_names; /* likewise of strided parameters, by fx_stride_index */
    int n_args;
    struct fx_arg *args;     /* what the struct is made of, in order */
    bool *axis_used;         /* by axis: some tensor it touches has it */
    struct tensor *loads;    /* what the pointwise part reads */
    int n_loads;
};

struct joined { /* one launch of the plan: its entries run its phases one after another */
    int first, n;        /* the phases: unit launches; one, as a rule */
    const char *name;    /* "linear_gelu_" */
    struct entry *entries; /* by configuration */
    int n_args;
    struct fx_arg *args; /* what an entry takes, in order: all that its phases do, then flags where blocks wait for each other */
};

struct unit { /* a file: every kernel of the spec with its launches */
    struct cx *cx;
    const char *file; /* name of the spec, for the header */
    int n_kernels;
    struct chosen **kernels;
    struct launch **launches; /* by kernel, then in order: one for each of chosen->kernels */
    struct joined **joined;   /* likewise: one for each of chosen->launches */
};

/* emit.c: names everything, once. What cannot be emitted is an error in the diagnostics. */
struct unit *emit_unit(struct cx *cx, const char *file, struct chosen **kernels, int n_kernels);
/* The whole `.cu`. */
void emit_cu(struct buf *out, const struct unit *u, const struct fx_plan *plan);
/* emit_body.c: the problem struct of one launch. */
void emit_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l);
/* emit_row.c: what the row driver asks of it, after its fields. */
void emit_row_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l);
/* emit_gemm.c: what the gemm driver asks of it, after its fields: shape, operands (emit_operand.h), segments. */
void emit_gemm_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l);
/* Its segments alone, numbered from `first` on; has_a: each with its A, else B only. */
void emit_gemm_segments(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l, const struct gemm_shape *shape, int first, bool has_a);
/* emit_chain.c: what the chain driver asks of it, after its fields, but for the epilogue of the second contraction. */
void emit_chain_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l);
/* Gives the nodes that the walks of a chain leave their names at an element of the result; `acc` names the sum there. */
void emit_chain_results(struct values *w, struct point *p, const struct launch *l, const char *results, const char *acc);
const char *emit_ctype(enum fx_dtype t);
/* The extents of axes multiplied, "1" for none; the index of label i of l, which var, an int or not, flattens. names: C names of extents, by axis. */
const char *emit_product(struct arena *a, const char *const *names, const int *axes, int n);
const char *emit_label_index(struct arena *a, const char *const *names, const struct axis_list *l, int i, const char *var, bool is_int);
#define EMIT_MARK "\1" /* before a line, `const TYPE NAME = ..`, that may turn out to be of no use */
/* Copies the text of a function without those of its marked lines whose name no line after them mentions. */
void emit_drop_unread(struct buf *out, const char *text);
bool is_space_axis(const struct launch *l, int axis);
/* `const fx_bf16 *x_` for an argument, as a parameter of an entry or a field. */
void emit_declaration(struct buf *out, const struct chosen *c, const struct launch *l, const struct fx_arg *a);

/* plan_build.c */
/* Whether some extents and alignments meet what a configuration of s needs. */
bool plan_is_possible(struct cx *cx, const struct chosen *c, const struct scheduled *s, const struct config *f);
/* The buffer of flags: after the partition's and the partial sums. */
int plan_flags_buffer(const struct chosen *c);
/* Drops the configurations whose needs no extents or alignment can meet. */
void plan_drop_impossible(struct cx *cx, const struct chosen *c, const struct launch *l, struct scheduled *s);
struct fx_plan *plan_build(struct cx *cx, const struct unit *u);
/* A plan that launches nothing: what each kernel takes and gives, for the oracle. */
struct fx_plan *plan_signatures(struct cx *cx, const char *file, const struct program *program);
/* plan_print.c: the plan as text; an expression in infix form over the kernel's extents. */
void plan_print(struct buf *out, const struct fx_plan *p);
/* "input", "output", "inout" or "scalar". */
const char *plan_param_role(const struct fx_param *p);
/* The spec's name of an argument of a launch; `stride(x, M)`. */
const char *plan_arg_name(struct arena *arena, const struct fx_kernel *k, const struct fx_arg *a);
void plan_print_expr(struct buf *out, const struct fx_kernel *k, const struct fx_expr *e);
/* host_c.c: a C launcher over the driver API for every kernel of the plan. */
void emit_host_c(struct buf *out, const struct fx_plan *p);
void emit_host_h(struct buf *out, const struct fx_plan *p); /* what it declares */

#endif
