/* The oracle: the values that a right implementation of a kernel computes, and how far it may be from them.
 *
 * Input: a checked kernel, the extents of its axes, its arguments in host memory. Output: chosen elements of one
 * output, integers exactly and floats in double precision, unfused, in a fixed order, each with a bound. Shares only
 * the checked tree and its tables with the compiler. Invariant: no implementation that follows docs/language.md lies
 * outside a bound.
 *
 * The bound. Every value is a pair (v, e): v in double, e a limit of how far any right implementation is from v,
 * whatever it fuses, contracts to fma, or reorders. In f32 u = 2^-24 and [x] = max(|x|, 2^-102): subnormals share the
 * spacing of the least normal, 2^-126, and a constant factor within 2^-24 .. 2^24 may move into or out of a sum. In f64
 * u = 2 * 2^-53, because the oracle's own arithmetic errs as much, and [x] = max(|x|, 2^-998). e is:
 *
 * leaf: 0; the error of rounding it to f32 if the kernel computes in f32 and the leaf is no f32 value.
 *
 * op: the largest |f(corner) - v| over operands moved to v - e, v + e and a 0 in between (conditions to 0 and 1), plus
 * ulps * u * [f] for the largest f met, plus the least normal if ulps is above 1 and |f| below twice that (an
 * approximation may flush a subnormal number). None for exp and exp2 of -inf. No rounding if all operands are exact,
 * ops.def states a correctly rounded form (ulps 1) and the result is a value of the type. ulps is that of ops.def, for
 * the f32 forms; in f64 at least 4 for approximations. A comparison is open (e = 1) where its operands overlap. where()
 * with an exact condition is the selected operand. An op of f32 with a ROUNDED form in ops.def, which only casts to and
 * outputs of one 16-bit float read, has in addition that form's ulps * u * (|v| + e).
 *
 * cast: the largest change of the cast of v over v - e, v + e.
 *
 * integer: 0, exact in its type, wrap-around included. Only a cast from a float brings an e, which + - * max min abs
 * where pass on by corners. It is infinite after // and %, after random bits, and as soon as the value may wrap.
 *
 * sum: the sum of its terms' e, plus (K + 16) * u * the sum of their magnitudes m, K the number of terms: partial sums
 * in any order, including tensor cores, which truncate to 2^-22 but add four products or more per step. m of a term is
 * |term| + e; for a term that is linear in sums, it is that of the innermost terms, because nested sums may be taken in
 * another order. The second part is 0 if every term is exact and a multiple of some 2^q with a sum of m <= 2^(q + 24)
 * (f64: 53): then every partial sum is a value of the type. For a running sum K is the number of terms so far. This is
 * the worst case, FX_BOUND_WORST, with all roundings in one direction.
 *   FX_BOUND_INDEPENDENT takes the roundings as independent and as at most eight deviations together, if that is less:
 * (8 sqrt(K / 3) + 3 K / 8) * u * p. The second part is for equal terms, which err in one direction, and for tensor
 * cores, which truncate. p is the largest partial sum in the oracle's order plus twice the root of the sum of the
 * terms' squares, at most m, and m if terms are sums. Licensed roundings are treated alike: 8 / sqrt(3) times the root
 * of the sum of their squares, plus twice the change that rounding every factor to nearest makes, plus the largest
 * relative one times |sum|, for factors that terms have in common.
 *   Two sums of products with a factor of at most 16 bits that an addition reads, or sums of such, may be one sum: the
 * addition has its own e and that of a sum of all their terms, with their m as p; 0 if all is exact as above.
 *   A sum of products of two f8 tensors may be added up 128 terms at a time with 13 bits below the largest of them: in
 * addition 2^-13 m times the root of min(K, 128), in the worst case times min(K, 128); 0 if 128 times the largest term,
 * or m, is at most 2^13 times what every term is a multiple of. Not with `precision: ieee`.
 *
 * prod: that of its terms, plus K * u * |v|; 0 if the terms are exact integers whose product is within 2^24 (f64:
 * 2^53).
 *
 * recur: h = a h + b in any order of joining runs: |a| e + |h| e(a) + e(b) from element to element, plus u times the
 * sum over all b of 2 k + 16 roundings of |b| |a| |a| .., k the number of elements that follow it, plus what may be
 * flushed. 0 if the a are integers, the b multiples of 2^q, and no partial result reaches 2^(q + 24). Infinite, to the
 * end of the row, once a product of adjacent a's or a sum of such magnitudes may overflow, or an a is infinite.
 *
 * max, min: the largest e of its terms; of conditions 0 if an exact term decides.
 *
 * argmax, argmin: the largest distance to an index whose term may be the extreme.
 *
 * access: that of the element read; infinite if a position has an e.
 *
 * licence: in a sum of products of a stored tensor (possibly renamed, cut or windowed) of at most 16 bits and a
 * computed value, the computed factor may be rounded once to the tensor's dtype (f8: to bf16), unless it is exact
 * there, is already cast to that dtype, or the kernel says `precision: ieee`. With `precision: tf32` both factors of an
 * f32 contraction may be rounded to 10 fraction bits.
 *
 * infinite: where f32 (or a sum scaled by 2^24), or a licensed dtype, may overflow and double does not, or an operand's
 * e makes a NaN: then any result is right. A NaN or infinity that follows from exact operands has e = 0 and is
 * required. */
#ifndef FX_EVAL_H
#define FX_EVAL_H

#include "base/base.h"
#include "check/check.h"
#include "plan.h"

enum { ORACLE_MAX_SHARED = 1 << 26 }; /* values that the elements of one evaluation may share, in memory: a gigabyte */

struct oracle_input {
    enum fx_dtype dtype; /* of the elements; of a packed parameter of the words */
    const void *data;    /* row-major, a scalar one element; may be NULL where there are no elements */
};

/* Evaluates elements[0..n) (flat row-major indices; NULL: the elements 0..n) of output parameter `output_param` of k.
 * extents[i] is that of k->axes[i], all bound; inputs[i] belongs to k->params[i], those of parameters that are not read
 * are unused. Of an integer dtype or a condition, `integer` receives the exact result (u64 by its bits) and `value` the
 * double next to it. integer and bound may be NULL. The arena holds small tables only. Returns FX_ERR_USAGE for an
 * index outside the output or sizes beyond 64 bits, FX_ERR_NOMEM when intermediate values that several elements share
 * are more than ORACLE_MAX_SHARED or than memory holds, FX_ERR_INTERNAL for a tree that no checker makes: operands of
 * the wrong kind, a position outside its axis without a value for that. Nothing is ever read outside an argument. */
fx_status oracle_eval(struct arena *arena, const struct kernel *k, const int64_t *extents,
    const struct oracle_input *inputs, int output_param, const int64_t *elements, int64_t n, double *value,
    int64_t *integer, enum fx_bound kind, double *bound);

#endif
