/* Times and conditions of a product whose extents a launch knows, as terms of expressions (open.c). */
#ifndef FX_OPEN_H
#define FX_OPEN_H

#include "graph/terms.h"
#include "passes/split_k.h"

struct open_writer { /* of expressions on contraction n */
    struct arena *a;
    const struct arch *m;
    const struct kernel *k;
    const struct node *n;
    const struct slices *of;
};

#define OPEN_NEVER (INT64_C(1) << 60)
int64_t open_femtoseconds(double seconds);

/* Applies op to what was written last and v. */
void open_op(struct terms *x, int64_t v, enum fx_term_op op);
/* The lesser or the greater one of both sides, in elements. */
void open_side(const struct open_writer *w, struct terms *x, enum fx_term_op which);
/* Batches: slices among them where `number` is a label. */
void open_batches(const struct open_writer *w, struct terms *x, int number);
/* Tiles of the whole, or of all slices. */
void open_tiles(const struct open_writer *w, struct terms *x, const struct split_tile *t, int number);
/* What is summed up, of the whole or of a slice of label `place`. */
void open_depth(const struct open_writer *w, struct terms *x, int place);
/* 1 where the extent of a label is no multiple of so many elements, which 16 bytes hold. */
void open_is_odd(const struct open_writer *w, struct terms *x, int label, int elements);
/* The time of a product by the tile that suits it best; uncut, clusters may share out the k of a tile. */
void open_product(const struct open_writer *w, struct terms *x, int number, int place);
/* 1 where rows of some factor of 16-bit floats, as they lie, are no whole 16 bytes; false where neither lies so: 0. */
bool open_has_odd_rows(const struct open_writer *w, struct terms *x);
/* The time of the engine that takes any alignment where rows are such, else 0, as build_odd_seconds has it; in how many
 * slices it takes so much less. */
void open_odd(const struct open_writer *w, struct terms *x);
void open_odd_slices(const struct open_writer *w, struct terms *x);

#endif
