/* The table of pointwise ops, iterated from ops.def (op.c). */
#ifndef FX_OP_H
#define FX_OP_H

#include <stdbool.h>

enum op {
#define OP(id, name, arity, rule, eval, cuda, ulps) O_##id,
#include "ops.def"
#undef OP
    N_OPS
};

enum op_rule { RULE_ARITH, RULE_FLOAT, RULE_COMPARE, RULE_LOGIC, RULE_SELECT };

struct op_info {
    const char *name;  /* "gelu", or the infix form "a + b" */
    const char *id;    /* "GELU" */
    int arity;
    enum op_rule rule;
    bool is_infix;     /* called by an operator, not by name */
    const char *cuda;  /* emitted form, $a $b $c the operands */
    double ulps;       /* largest error of that form, in units of 2^-24 relative */
};

extern const struct op_info op_info[N_OPS];
/* The op a spec calls by this name (not operators), or N_OPS. */
enum op op_find(const char *name, unsigned len);
/* The op's value in double; operands beyond its arity are ignored. Conditions are 0 or 1. */
double op_eval(enum op op, double a, double b, double c);

#endif
