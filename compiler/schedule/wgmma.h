/* Operands as tensor maps: the facts about them that the copies of the wgmma engine need (wgmma.c). */
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
/* Likewise of one operand of a segment; mn: its labels of m or n, or NULL where it may be one row without any. */
bool is_mappable(const struct graph *g, const struct gemm_shape *shape, const struct segment *e,
    const struct operand *o, const struct axis_list *mn, const char **why_not);
/* Whether configurations of s take tensor maps; whether they store by them, too, in boxes of MAP_ROW_BYTES bytes and as
 * many rows as a warp has. */
bool has_maps(const struct scheduled *s);
bool stores_boxes(const struct scheduled *s);
/* How many stores of r are of elements; those that reduce them stand behind. -1: not all of them do. */
int gemm_elements(const struct graph *g, const struct group *r);

/* Whether operand o of s, its A or a B, has a tensor map more, whose boxes are the last rows of m or n that are left of
 * MAP_BOX; number of the first such map of a segment's A, or of its B's, among the launch's. */
bool has_tail(const struct graph *g, const struct scheduled *s, const struct operand *o, bool is_a);
int tail_map(const struct graph *g, const struct scheduled *s, int segment, bool is_a);
/* Gives configuration f of s, which takes tensor maps, so many stages, fewer than it has. */
void wgmma_limit_stages(
    const struct graph *g, const struct partition *p, const struct scheduled *s, struct config *f, int stages);
/* Whether stores can be copies of boxes, of which there are as many as stores: plain values, made of sums and of what
 * is the same for all rows, or for all columns, in tensors of elements as wide that lie along n in whole pieces of 16
 * bytes; sums of columns, or what else is reduced over rows, may stand beside them. Returns how many stores are boxes,
 * or 0. */
int wgmma_boxes(const struct graph *g, const struct partition *p, const struct scheduled *s, int vector);
/* made.c. Whether one operand of s can be a made operand, the other one being copied; marks it. */
bool wgmma_makes(const struct graph *g, const struct partition *p, struct scheduled *s);
/* The configurations of such an s. */
bool wgmma_configure_made(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not);

#endif
