/* A C launcher while it is written: host_c.c writes the file, host_c_expr.c the expressions in it. */
#ifndef FX_HOST_C_H
#define FX_HOST_C_H

#include "base/base.h"
#include "plan.h"

struct host_writer {
    struct buf *out;
    struct arena *arena;
    const struct fx_kernel *k;
    const char **params, **buffers, **extents; /* C names by index */
    const char **strides;                      /* likewise, by fx_stride_index, of strided parameters */
    bool is_any_alignment;                     /* addresses are not known here: ALIGN is 256 */
    const char **called;                       /* functions of launcher.h */
    int n_called;
};

/* The name of a function of launcher.h, which is then written into the file. */
const char *host_c_call(struct host_writer *w, const char *function);

/* The value of e, FX_BAD where it has none; a condition, false where it has none. */
const char *host_c_value(struct host_writer *w, const struct fx_expr *e);
const char *host_c_condition(struct host_writer *w, const struct fx_expr *e);
/* A condition on scalars, beside which `ok` turns false where there is no value. */
const char *host_c_condition_on_scalars(struct host_writer *w, const struct fx_expr *e);

/* A C launcher over the driver API for every kernel of the plan, and what it declares. */
void emit_host_c(struct buf *out, const struct fx_plan *p);
void emit_host_h(struct buf *out, const struct fx_plan *p);

#endif
