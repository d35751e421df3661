/* A kernel with one of its terms left out, to see what the term costs (ablate.c). */
#ifndef FX_ABLATE_H
#define FX_ABLATE_H

#include "check/check.h"
#include "fx.h"

/* The terms of k that can be left out, in the order of the spec; *n of them. extents: "LABEL=N", what labels are likely
 * to be, by which the largest contractions are told from the others; labels they leave out count as in
 * prices. */
struct fx_ablation *ablate_list(
    struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents, int *n);
/* k without term number `number`, from 1; NULL where there is none. k is not changed. */
struct kernel *ablate_kernel(
    struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents, int number);

#endif
