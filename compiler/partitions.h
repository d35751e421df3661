/* A kernel as passes and schedules leave it, at the nominal extents of its labels, and the partitions that are faster
 * at others. */
#ifndef FX_PARTITIONS_H
#define FX_PARTITIONS_H

#include "pipeline.h"
#include "schedule/schedule.h"

struct form { /* of a kernel */
    struct graph *lowered, *fused;
    struct scheduled_graph *chosen; /* of several partitions the first that is asked */
};

/* Passes and schedules at the nominal extents; text of dumps goes to `dump`. FX_ERR_COMPILE, FX_ERR_INTERNAL: with
 * diagnostics. */
fx_status form_make(
    struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump, struct form *out);
/* Finds where other partitions of k are faster than `form`, whose `chosen` is then followed by them, each with the
 * condition under which it is taken. */
void partitions_find(struct cx *cx, struct kernel *k, const struct pipeline_options *o, struct form *form);

#endif
