/* The kernels of a file with the names of everything that is emitted. The plan and the `.cu` are made from it. */
#ifndef FX_UNIT_H
#define FX_UNIT_H

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
    const struct launch *beside; /* of contractions whose tiles stand beside each other in one launch: the first one, */
    int n_beside;                /* and how many they are; else 0 */
};

struct plan_launch { /* one launch of the plan: its entries run its phases one after another */
    int first, n;        /* the phases: unit launches; one, as a rule */
    bool is_twin;        /* two chains, which entries that take tensor maps compute together */
    const char *name;    /* "linear_gelu_" */
    struct entry *entries; /* by configuration */
    int n_args;
    struct fx_arg
        *args; /* what an entry takes, in order: all that its phases do, then flags where blocks wait for each other */
    int n_maps;
    struct map *maps; /* segment by segment, A, unless a driver makes it, and then every B, then what is stored by maps,
                         then of operands again the last rows, where they are fewer than a box has: what entries of
                         sm_90a take behind all that */
};

struct map { /* a tensor map of a launch */
    const struct gemm_shape *shape; /* of the contraction */
    const struct segment *segment;  /* of an operand */
    const struct operand *operand; /* in memory; else NULL */
    bool is_a;
    bool is_tail;                  /* of an operand: its box has the last rows alone */
    const struct store *store;     /* or what is stored */
};

struct unit { /* a file: every kernel of the spec, in each of its partitions, with its launches */
    struct cx *cx;
    const char *file; /* name of the spec, for the header */
    int n_specs;      /* kernels of the spec */
    int *first;       /* by kernel of the spec: the number of its first partition here; one more ends the last */
    int n_kernels;    /* partitions of all */
    struct scheduled_graph **kernels;
    struct launch **launches; /* by kernel, then in order: one for each of chosen->kernels */
    struct plan_launch **joined;   /* likewise: one for each of chosen->launches */
};

/* unit.c: names everything; kernels[i]: the partitions of a kernel. What cannot be emitted is an error in the
 * diagnostics. */
struct unit *unit_build(struct cx *cx, const char *file, struct scheduled_graph **kernels, int n_kernels);
/* Of the partitions of a kernel of the spec the kernel with all labels: passes add some to it. */
const struct kernel *unit_kernel(const struct unit *u, int spec);
/* The buffer of flags: after the partition's and the partial sums. */
int plan_flags_buffer(const struct scheduled_graph *c);

/* plan_build.c: the launch recipe of a unit, without receipts and source. */
struct fx_plan *plan_build(struct cx *cx, const struct unit *u);
/* A plan that launches nothing: what each kernel takes and gives, for the oracle. */
struct fx_plan *plan_signatures(struct cx *cx, const char *file, const struct program *program);

#endif
