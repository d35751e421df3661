/* The text of `fxc annotate`: the axes and dtype of every expression of a kernel. */
#ifndef FX_ANNOTATE_H
#define FX_ANNOTATE_H

#include "check/check.h"

void annotate_print(struct buf *out, const struct cx *cx, const struct kernel *k);

#endif
