/* Operands that are windows, by tensor maps in im2col mode (im2col.c). */
#ifndef FX_IM2COL_H
#define FX_IM2COL_H

#include "graph/operand.h"
#include "schedule/schedule.h"

struct im2col { /* pixels are the flattened m or n, channels k; beside its place a pixel is read at an offset for each
                   outer k and each of the batch */
    int n_spatial;
    struct spatial {              /* an axis that pixels go along, the innermost first */
        int position;             /* in the tensor */
        int pixel;                /* of the label that goes along it, in m or n; -1: there is one pixel */
        int step;                 /* elements from pixel to pixel */
        struct poly first, last;  /* pixels, at the least offset */
        struct poly shift, reach; /* what makes offsets begin at 0; the largest offset */
    } spatial[FX_MAX_SPATIAL];
    int n_images; /* the first labels of m or n, which lie adjacent and are images together; 0: there is one */
};

/* How o of segment e of the shape, a window, is read; mn: the labels of its m or n. */
bool im2col_of(const struct graph *g, const struct gemm_shape *shape, const struct segment *e, const struct operand *o,
    const struct axis_list *mn, struct im2col *out, const char **why_not);
/* Bits of an offset, and of a corner of the bounding box with its sign. */
static inline int im2col_bits(const struct im2col *c) { return c->n_spatial == 1 ? 16 : c->n_spatial == 2 ? 8 : 5; }

#endif
