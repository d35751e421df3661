/* Operands that are windows, by tensor maps in im2col mode (im2col.c). */
#ifndef FX_IM2COL_H
#define FX_IM2COL_H

#include "graph/operand.h"
#include "schedule/schedule.h"

struct im2col { /* pixels are the flattened m or n, channels k, or of a window with m or n contiguous pixels are k and
                   channels m or n; beside its place a pixel is read at an offset for each outer k and each of the
                   batch */
    int n_spatial;
    struct spatial {              /* an axis that pixels go along, the innermost first */
        int position;             /* in the tensor */
        int pixel;                /* of the label that goes along it, among those of pixels; -1: there is one */
        int step;                 /* elements from pixel to pixel */
        struct poly first, last;  /* pixels, at the least offset */
        struct poly shift, reach; /* what makes offsets begin at 0; the largest offset */
    } spatial[FX_MAX_SPATIAL];
    int n_images; /* the first labels of the pixels, which lie adjacent and are images together; 0: there is one */
};

/* How o of segment e of the shape, a window, is read; mn: the labels of its m or n. */
bool im2col_of(const struct graph *g, const struct gemm_shape *shape, const struct segment *e, const struct operand *o,
    const struct axis_list *mn, struct im2col *out, const char **why_not);
/* The labels of o's pixels and of its channels; mn: the labels of its m or n. */
static inline const struct axis_list *im2col_pixels(
    const struct segment *e, const struct operand *o, const struct axis_list *mn) {
    return o->layout == LAYOUT_K_MAJOR ? mn : &e->k;
}
static inline const struct axis_list *im2col_channels(
    const struct segment *e, const struct operand *o, const struct axis_list *mn) {
    return o->layout == LAYOUT_K_MAJOR ? &e->k : mn;
}
/* Bits of an offset, and of a corner of the bounding box with its sign. */
static inline int im2col_bits(const struct im2col *c) { return c->n_spatial == 1 ? 16 : c->n_spatial == 2 ? 8 : 5; }

#endif
