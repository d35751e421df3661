/* The meaning of a graph, and of a partition of it, in double: every element of every output, in a fixed order.
 *
 * In: a verified graph, the extents of its axes, its arguments. Out: one array an output, in the order its parameter
 * declares. Written for clarity and small shapes; shares nothing with the passes but op_eval and the conversions. */
#ifndef FX_TEST_IR_EVAL_H
#define FX_TEST_IR_EVAL_H

#include "graph/ir.h"

struct ir_value { /* one element: of a float or a condition num, of an integer dtype its exact value, u64 by its bits */
    double num;
    int64_t integer;
};

enum ir_arithmetic {
    IR_DOUBLE,    /* floats in double, unrounded */
    IR_F32,       /* every result and partial sum of an f32 rounded to f32 */
    IR_MAGNITUDE, /* the sum of magnitudes: inputs by their absolute value, what is subtracted added */
};

struct ir_data {
    const int64_t *extents;               /* of the kernel's axes as the spec has them */
    int n_extents;                        /* a graph may have more axes: those follow from its equations */
    const struct ir_value *const
        *params; /* by parameter: elements in declared order, a scalar's value; those of outputs are unused */
    enum ir_arithmetic arithmetic;
};

/* Elements of a parameter. */
int64_t ir_param_size(const struct kernel *k, int param, const int64_t *extents);

/* result[i] belongs to g->outputs[i]; NULL where something cannot be read,
 * and *wrong then says what (it may be NULL). */
struct ir_value **ir_eval(struct arena *a, const struct graph *g, const struct ir_data *d, const char **wrong);

/* The same by the groups of p in order. A group reads inputs, buffers that earlier groups have written, and its own
 * contraction, whose factors come from where the group says; anything else is refused: NULL, and *wrong says what.
 * Where is_rounded, a buffer holds what its 16-bit dtype can, and *n_lost counts the elements that lose something. */
struct ir_value **ir_eval_partition(struct arena *a, const struct graph *g, const struct partition *p,
    const struct ir_data *d, bool is_rounded, int64_t *n_lost, const char **wrong);

#endif
