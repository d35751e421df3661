/* The table of pointwise ops, iterated from ops.def (op.c).
 *
 * enum op names the rows of named_ops.def. The ops behind them have numbers, up to op_count, and no names: a row that
 * is added to ops.def then changes nothing for the files that include this header. Where FX_EVERY_OP is defined, in
 * op.c and in the tests of ops, all rows have names. */
#ifndef FX_OP_H
#define FX_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"

enum op {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative) O_##id,
#ifdef FX_EVERY_OP
#include "base/ops.def"
#else
#include "base/named_ops.def"
#endif
#undef OP
    N_OPS /* that have names here */
};

enum op_rule { RULE_ARITH, RULE_FLOAT, RULE_INTEGER, RULE_BITS, RULE_COMPARE, RULE_LOGIC, RULE_SELECT };

struct op_info {
    const char *name;  /* "gelu", or the infix form "a + b" */
    const char *id;    /* "GELU" */
    int arity;
    enum op_rule rule;
    bool is_infix;     /* called by an operator, not by name */
    const char *cuda;  /* emitted form over floats, $a $b $c the operands, $f the suffix of f32 functions; empty where
                          there is none */
    const char *cuda_integer; /* likewise over integers */
    const char *derivative; /* by each operand, `;` between, as .fx over a, b, c, the result r, and `tie`, what each of
                               two equal operands of max gets; empty: 0 */
};

extern const int op_count;
extern const struct op_info op_info[]; /* of op_count ops */
/* The op that a spec calls by this name (not operators); false where there is none. */
bool op_find(const char *name, unsigned len, enum op *out);
/* The largest error of the emitted f32 form at operand a, in units of 2^-24 relative. */
double op_ulps(enum op op, double a);
/* Where its result is rounded to 16-bit float `to` at once: the form that is emitted, and its largest error; NULL and 0
 * where there is none but the usual one. */
const char *op_rounded_form(enum op op, enum fx_dtype to);
double op_rounded_ulps(enum op op, enum fx_dtype to);
/* The op's value in double; operands beyond its arity are ignored. Conditions are 0 or 1. */
double op_eval(enum op op, double a, double b, double c);
/* The op's value over integers of compute type t (the operands', for a comparison too; u64 by its bits), wrapped to t,
 * of BITS to u32. Of SELECT a is the condition. A comparison gives 0 or 1. */
int64_t op_eval_integer(enum op op, enum fx_dtype t, int64_t a, int64_t b, int64_t c);
/* Word `element % 4` of Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) with the key `seed` and the counter
 * (element / 4, offset), each two words, low first: the bits of the element-th random number. */
uint32_t fx_philox(uint64_t element, uint64_t seed, uint64_t offset);
/* The four words of one round-10 block, of the published test vectors' form. */
void fx_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
