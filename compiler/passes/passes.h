/* The passes. Each takes a verified graph and returns a verified graph that evaluates to the same numbers, bit for bit
 * in double; none changes the one it was given. pipeline.c says in what order and why. */
#ifndef FX_PASSES_H
#define FX_PASSES_H

#include "ir.h"

/* Named local rules, applied until none fits.   %2 = %0 * %1 (1)   ->   %0
 *                                               %3 = %0 - 2        ->   %3 = %0 + -2 */
struct graph *pass_canonicalise(const struct graph *g);

/* One node for equal computations.   %3 = gelu %0; %4 = gelu %0; %5 = %3 + %4   ->   %3 = gelu %0; %4 = %3 + %3 */
struct graph *pass_cse(const struct graph *g);

/* Drops what no output needs.   %3 = exp %0; output y = %2   ->   output y = %2 */
struct graph *pass_dce(const struct graph *g);

/* Proposes partitions into GPU kernels: with everything pointwise in the epilogue of the contraction it follows, and
 * with every contraction by itself.   %4 = sum[K] %3; %5 = gelu %4; output y = %5   ->   one kernel, or two */
struct graph *pass_fuse(const struct graph *g);

#endif
