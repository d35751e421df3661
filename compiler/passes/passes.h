/* The passes. Each takes a verified graph and returns a verified graph of the same values: to the bit in double where
 * its row of pipeline.c says so, else within what docs/passes.md states. None changes the graph that it takes, but may
 * return it. pipeline.c says in what order they run, and why. Each has a graph before and after it here. */
#ifndef FX_PASSES_H
#define FX_PASSES_H

#include "graph/ir.h"

/* Named local rules, applied until none fits.   %2 = %0 * %1 (1)   ->   %0
 *                                               %3 = %0 - 2        ->   %3 = %0 + -2 */
struct graph *pass_canonicalise(const struct graph *g);

/* One node for equal computations.   %3 = gelu %0; %4 = gelu %0; %5 = %3 + %4   ->   %3 = gelu %0; %4 = %3 + %3 */
struct graph *pass_cse(const struct graph *g);

/* Drops what no output needs.   %3 = exp %0; output y = %2   ->   output y = %2 */
struct graph *pass_dce(const struct graph *g);

/* Sums of which every result takes one term in R, as one sum for each remainder of its label by R.
 * %4 = (idx P - idx U) % 2 == 0; %5 = where %4 %3 0; %6 = %5 * %1; %7 = sum[U] %6
 *     ->   %4 = sum[J] (%3 * %1)[P: 2 * I, U: 2 * J]; %5 = ..; %6 = where P % 2 == 0, %4[I: P // 2], %5[I: P // 2] */
struct graph *pass_strides(const struct graph *g);

/* Flattened labels, replaced by the labels that they flatten.
 * %4 = %2 // Q; %5 = %2 % Q; %6 = %0[P: %4, Q: %5]; output y = %6   ->   output y = %0, y lying along P and Q */
struct graph *pass_unflatten(const struct graph *g);

/* Factors whose rows are no multiple of 16 bytes, repacked.
 * %2 = %0 * %1; %3 = sum[K] %2   ->   %2 = %0[K: P] ?? 0; %3 = %1[K: P] ?? 0; %4 = %2 * %3; %5 = sum[P] %4 */
struct graph *pass_pad_k(const struct graph *g);

/* A long contraction with few tiles as slices that run beside each other, and their sum.
 * %4 = sum[K] %3   ->   %4 = %3[K: 512 * S + I]; %5 = sum[I] %4; %6 = sum[S] %5 */
struct graph *pass_split_k(const struct graph *g);

/* Reductions over small overlapping windows as pointwise operations.
 * %3 = %0[T: T + K]; %4 = sum[K] %3   ->   %4 = %3[K: 0]; %5 = %3[K: 1]; %6 = %4 + %5 */
struct graph *pass_unroll(const struct graph *g);

/* Reductions of a few columns that share what they are made of, column by column.
 * %4 = sum[J] %3   ->   %5 = sum[J] %3[C: 0]; %6 = sum[J] %3[C: 1]; %4 = where C == 0, %5, %6 */
struct graph *pass_narrow(const struct graph *g);

/* Values made of a matrix product that are needed whole in several places, stored.
 * %4 = sum[K] %3; %5 = bf16 %4; %6 = sum[M] %5; %7 = %5 * %1   ->   %5 = bf16 %4 stored M,N; .. */
struct graph *pass_keep(const struct graph *g);

/* Windows of what is computed, stored before they are read.
 * %3 = exp %0; %4 = %3[T: T + U]; %5 = %4 * %1; %6 = sum[C,U] %5   ->   %3 = exp %0; %7 = f16 %3 stored T,C;
 * %4 = %7[T: T + U]; .. */
struct graph *pass_sources(const struct graph *g);

/* Accesses at the leaves.   %3 = %0 + %1; %4 = %3[N: %2]   ->   %3 = %0[N: %2]; %4 = %1[N: %2]; %5 = %3 + %4 */
struct graph *pass_access(const struct graph *g);

/* Running sums read some steps earlier, as those of what stands so many steps earlier.
 * %2 = cumsum[T] %0; %3 = %2[T: T - 1] ?? 0   ->   %2 = %0[T: T - 1] ?? 0; %3 = cumsum[T] %2 */
struct graph *pass_earlier(const struct graph *g);

/* Reductions past what is constant along them, by rules that state when, at what error and cost.
 * %3 = 0.5 * %0; %4 = sum[K] %3   ->   %3 = sum[K] %0; %4 = 0.5 * %3 */
struct graph *pass_algebra(const struct graph *g);

/* Sums of blocks of products of f8, each scaled, as one contraction of scaled factors.
 * %2 = %0 * %1; %3 = sum[R] %2; %5 = %3 * %4; %6 = sum[G] %5   ->   %5 = %0 * %4; %6 = %5 * %1; %7 = sum[G,R] %6 */
struct graph *pass_scales(const struct graph *g);

/* Windows of 16-bit tensors as tensor maps take them: copied with the channels contiguous, and the weights likewise.
 * %3 = %0[H: %2] ?? 0; %4 = %1 * %3; %5 = sum[C,U] %4
 *     ->   %3 = cast %0 to bf16 stored as [B,H,C]; %4 = %3[H: %2] ?? 0; %5 = %1 * %4; %6 = sum[C,U] %5 */
struct graph *pass_windows(const struct graph *g);

/* Matrix products whose batch label lies contiguous in both factors, over copies that have it outermost.
 * %2 = %0 * %1; %3 = sum[K] %2   ->   %2 = cast %0 to bf16 stored as [C,I,K]; %3 = cast %1 to bf16 stored as [C,J,K];
 * %4 = %2 * %3; %5 = sum[K] %4; %6 = cast %5 to bf16 stored as [C,I,J] */
struct graph *pass_batches(const struct graph *g);

/* Filters read across their taps, copied.
 * %3 = %1[U: 0]; %4 = %0 * %3   ->   %3 = cast %1 to bf16 stored as [U,C]; %4 = %3[U: 0]; %5 = %0 * %4 */
struct graph *pass_taps(const struct graph *g);

struct algebra_rule {
    const char *name, *what;  /* "sum_k (c * x_k) -> c * sum_k x_k" */
    const char *condition;    /* when it applies, beside what holds for all: no other reader, and no more flops */
    const char *error;        /* how far values may move */
    bool is_default;          /* on unless left out; else off unless asked for */
    bool is_fast; /* on where the kernel says fast_math: as good as the default ones but for values that are not finite
                     or leave the range */
};
/* The rules of algebra in the order they are tried; NULL past the end. */
const struct algebra_rule *algebra_rule(int i);

/* Reductions over short runs of a matrix product's columns, and what is computed from them, as elements of its
 * epilogue.
 * %5 = %4[N: 16 * G + C]; %6 = sum[C] %5; %7 = %6[G: N // 16]; %8 = %4 - %7
 *     ->   %5 = sum[N by 16] %4; %6 = %4 - %5 */
struct graph *pass_share(const struct graph *g);

/* Reductions of a matrix product's result in two steps, the first in its epilogue: runs of PARTIAL_RUN elements, then
 * those; likewise of rows, the first in a row program.
 * %5 = sum[N] %4   ->   %5 = sum[I] %4[N: 64 * P + I] ?? 0; %6 = sum[P] %5 */
struct graph *pass_partial(const struct graph *g);

/* Proposes partitions into GPU kernels: with everything pointwise in the epilogue of the contraction it follows, and
 * with every contraction by itself.   %4 = sum[K] %3; %5 = gelu %4; output y = %5   ->   one kernel, or two */
struct graph *pass_fuse(const struct graph *g);

#endif
