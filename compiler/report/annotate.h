/* The text of `fxc annotate`: the axes and dtype of every expression of a kernel. */
#ifndef FX_ANNOTATE_H
#define FX_ANNOTATE_H

#include "check/check.h"

void annotate_print(struct buf *out, const struct cx *cx, const struct kernel *k);

/* "f32[M,N]", of what a note is about, and of a parameter. */
const char *annotate_note_type(struct arena *a, const struct kernel *k, const struct note *n);
const char *annotate_param_type(struct arena *a, const struct kernel *k, const struct param *param);

#endif
