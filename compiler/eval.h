/* The oracle: what a right implementation of a kernel computes, and how far it may be from it.
 *
 * Input: a checked kernel, the extents of its axes, its arguments in host memory. Output: chosen elements of one output
 * in double precision, unfused, in a fixed order, each with a bound. Shares only the checked tree and its tables with
 * the compiler. Invariant: no implementation that follows docs/language.md in f32 lies outside a bound.
 *
 * The bound. Every value is a pair (v, e): v in double, e a limit of how far any right f32 implementation is from v,
 * whatever it fuses, contracts to fma, or reorders. With u = 2^-24 and [x] = max(|x|, 2^-126), as subnormals share the
 * spacing of the least normal:
 *   leaf      0; the error of rounding it to f32 where it is no f32
 *   op        the largest |f(corner) - v| over operands moved to v - e, v + e and a 0 in between (conditions to 0 and
 *             1), plus ulps * u * [f] for the largest f met, plus 2^-126 where ulps is above 1 and |f| below 2^-125 (an
 *             approximation may flush what is no normal number); no rounding where all operands are exact, ops.def states a
 *             correctly rounded form (ulps 1) and the result is an f32. A comparison is open (e = 1) where its operands
 *             overlap; where() with an exact condition is the operand it takes
 *   cast      the cast of v, and the largest change of that over v - e, v + e
 *   sum       the sum of its terms' e, plus (K + 16) * u * sum(|term| + e), K the number of terms: partial sums in
 *             any order, tensor cores included, which truncate to 2^-22 but add four products or more a step. Without
 *             the second part where every term is exact and a multiple of some 2^q with sum |term| <= 2^(q + 24):
 *             then every partial sum is an f32
 *   prod      that of its terms, plus K * u * |v|; 0 where the terms are exact integers whose product is within 2^24
 *   max, min  the largest e of its terms
 *   licence   in a sum of products of a stored tensor of at most 16 bits and a computed value, the computed factor may
 *             be rounded once to the tensor's dtype (f8: to bf16) unless it is exact there, is already cast to that
 *             dtype, or the kernel says `precision: ieee`
 *   infinite  where f32, or a licensed dtype, may overflow and double does not, or an operand's e makes a NaN: then
 *             anything is right. A NaN or infinity that follows from exact operands has e = 0 and is demanded. */
#ifndef FX_EVAL_H
#define FX_EVAL_H

#include "base.h"
#include "check.h"
#include "plan.h"

struct oracle_input {
    enum fx_dtype dtype; /* of the elements */
    const void *data;    /* row-major, a scalar one element; may be NULL where there are no elements */
};

/* Evaluates elements[0..n) (flat row-major indices; NULL: the elements 0..n) of output parameter `output_param` of k.
 * extents[i] is that of k->axes[i], all bound; inputs[i] belongs to k->params[i], outputs are unused. bound may be NULL.
 * The arena holds small tables only. Returns FX_ERR_USAGE for an index outside the output or sizes beyond 64 bits,
 * FX_ERR_NOMEM when intermediate values that several elements share need more than a gigabyte. */
fx_status oracle_eval(struct arena *arena, const struct kernel *k, const int64_t *extents,
                      const struct oracle_input *inputs, int output_param, const int64_t *elements, int64_t n,
                      double *value, double *bound);

#endif
