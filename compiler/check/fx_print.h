/* Checked kernels as .fx text. */
#ifndef FX_FX_PRINT_H
#define FX_FX_PRINT_H

#include "check/check.h"

/* The kernel as .fx that compiles to the same graph. */
void fx_print_kernel(struct buf *out, const struct kernel *k);
/* Of a gradient which inputs of the kernel it is of it reads, with their bytes, a line each after `margin`; of others
 * nothing. */
void fx_print_saved(struct buf *out, const struct kernel *k, const char *margin);
/* What its axes are called there, by axis: names of labels made in fns are told apart. */
const char *const *fx_print_axis_names(struct arena *a, const struct kernel *k);

#endif
