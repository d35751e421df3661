/* What a launch of a kernel is predicted to take at extents that are known, entry by entry. */
#ifndef FX_PREDICT_H
#define FX_PREDICT_H

#include "fx.h"
#include "plan/unit.h"

/* Of kernel number `kernel` of the plan, k, in a partition of it, launch i of which takes variant variants[i] (-1, or
 * variants NULL: that with the lowest price), at these extents. */
struct fx_prediction prediction_of(const struct unit *u, int kernel, const struct fx_kernel *k, int partition,
    const int64_t *extents, const int *variants);

#endif
