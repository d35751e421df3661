/* Operands as tensor maps: what the copies of the wgmma engine need to know of them (wgmma.c). */
#ifndef FX_WGMMA_H
#define FX_WGMMA_H

#include "graph/operand.h"
#include "schedule/schedule.h"

struct map_axis { /* of a tensor map, beyond k and m or n */
    bool is_outer; /* over the segment's outer k, else over batches */
    int label;     /* which label of those; -1: all of them, flattened */
    int axis;      /* whose stride it has */
};
enum { MAP_BOX = 64, MAP_ROW_BYTES = 128, MAP_STORED_ROWS = 16, MAP_INNER = 2, MAX_MAP_AXES = FX_MAX_MAP_RANK - MAP_INNER };

/* The axes of the map of a tensor in memory, up to MAX_MAP_AXES; how many there are, which may be more. A tensor that is
 * stored is of no segment: e is NULL. */
int map_axes(const struct graph *g, const struct gemm_shape *shape, const struct segment *e, const struct tensor *t,
    struct map_axis *out);
/* The labels that a map's axis is over. */
const struct axis_list *map_axis_labels(
    const struct gemm_shape *shape, const struct segment *e, const struct map_axis *x);
/* All operands are matrices in memory that tensor maps can describe, those of a segment's sums with as many axes; has_a:
 * A is one. */
bool are_mappable(const struct graph *g, const struct gemm_shape *shape, bool has_a, const char **why_not);
/* Whether configurations of s take tensor maps; whether they store by them, too, in boxes of MAP_ROW_BYTES bytes and as
 * many rows as a warp has. */
bool has_maps(const struct scheduled *s);
bool stores_boxes(const struct scheduled *s);

#endif
