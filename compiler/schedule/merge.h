/* Sums of a contraction with one accumulator (merge.c). */
#ifndef FX_MERGE_H
#define FX_MERGE_H

#include "schedule/schedule.h"

/* Decides which sums of r, whose segments are there, share an accumulator, and puts the longest of their segments
 * first. */
void gemm_merge_sums(const struct graph *g, const struct group *r, struct gemm_shape *shape);
/* Whether a sum is part of the accumulator of one before it: the addition that reads it has nothing to add. */
bool gemm_is_merged(const struct gemm_shape *shape, int sum);

#endif
