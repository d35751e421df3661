/* A C launcher while it is written: host_c.c and aot.c write files, host_c_kernel.c what a launch does,
 * host_c_arguments.c its arguments, host_c_expr.c the expressions in it, host_c_text.c the fixed text. */
#ifndef FX_HOST_C_H
#define FX_HOST_C_H

#include "base/base.h"
#include "plan.h"

enum host_run { /* which launches a function is about, where some depend on `const` parameters alone */
    HOST_ALL,
    HOST_ONCE, /* those */
    HOST_KEPT, /* the others: what those compute is kept */
};

struct host_writer {
    enum host_run run;
    const char *base; /* of the kernel: its constants are a `struct BASE_constants` */
    const char *form; /* the name that its functions here begin with */
    const char *module; /* the type of what they take as `m` */
    struct buf *out;
    struct arena *arena;
    const struct fx_kernel *k;
    const char **params, **buffers, **extents; /* C names by index */
    const char **strides;                      /* likewise, by fx_stride_index, of strided parameters */
    bool is_any_alignment;                     /* addresses and strides are not known here: ALIGN is 256, STRIDE 0 */
    const char **called;                       /* functions of launcher.h */
    int n_called;
    const char *entries; /* where the functions of launch i stand, with its number behind */
    const char *early;   /* whether what may start early does */
    bool is_ahead; /* for any device of an arch, by the file's own declarations of the driver; else for the one it was
                      loaded for, by cuda.h */
    const char *instead; /* functions that stand in the place of those of launcher.h; or NULL */
    const char *space;   /* the namespace of a vendored file */
    const struct fx_resources *compiled; /* by fx_variant.number; NULL: not known */
};

/* ---- host_c_text.c ---- */
void put_c(struct host_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The fixed text: types, with the includes above them or not; the functions called, in their order there. */
void host_c_put_types(struct buf *out, bool includes_cuda);
void host_c_put_functions(struct buf *out, const struct host_writer *w);
/* The name of a function of launcher.h, which is then written into the file. */
const char *host_c_call(struct host_writer *w, const char *function);
/* What stands in a text between two marks, each a line; to NULL: to its end. */
void host_c_put_part(struct buf *out, const char *text, const char *from, const char *to);

/* ---- host_c_arguments.c ---- */
/* Without the underscore that an argument ends in. */
const char *host_c_encoded(struct arena *a, const char *name);
/* What follows is about this kernel: its arguments are named. */
void host_c_begin(struct host_writer *w, const struct fx_kernel *k);
void host_c_put_title(struct host_writer *w, const char *name);
/* Whether a caller gives the extent: it is open, and the spec's own. */
bool host_c_is_given(const struct fx_extent *e);
/* Declares the extents the caller gives; `sep` stands before the first. Returns how many. */
int host_c_put_extents(struct host_writer *w, const char *sep);
/* Declares, behind a first parameter, the tensors, the scalars, the workspace, extents and strides; is_outer: pointers,
 * as a user of the file has them. */
void host_c_put_parameters(struct host_writer *w, bool is_outer);
/* The extents, and all that these parameters are, behind a first argument of a call within the file. */
void host_c_put_given_extents(struct host_writer *w);
void host_c_put_given(struct host_writer *w);
/* Of a scalar parameter. */
const char *host_c_scalar_type(enum fx_dtype t);

/* ---- host_c_kernel.c ---- */
/* Whether e is the same at every launch. */
bool host_c_is_known(const struct fx_expr *e);
/* Bytes of dynamic shared memory to ask for, 0 where a kernel has them unasked; -1 where they depend on the launch. */
int host_c_shared(const struct fx_variant *f);
/* Whether the size of the workspace depends on the device. */
bool host_c_sizes_use_device(const struct fx_kernel *k);
/* The rest of a function that returns the size of the workspace, and of one that launches. */
void host_c_put_bytes(struct host_writer *w);
void host_c_put_launch(struct host_writer *w);
/* Likewise of functions for constants: bytes of those of partitions before `partition`; what is computed once. */
void host_c_put_kept_bytes(struct host_writer *w);
void host_c_put_once(struct host_writer *w);

/* ---- host_c_const.c ---- */
/* What depends on `const` parameters alone, computed once. Whether k has such launches. */
bool host_c_has_constants(const struct fx_kernel *k);
/* What the opening of a file says of their functions. */
extern const char host_c_about_constants[];
/* The struct in which a user keeps what they were computed from. */
void host_c_put_constants_type(struct host_writer *w);
/* Their functions within a file, all static or as a user calls them: their bytes; those that compute them; that launch
 * with them, in a workspace of their own size. */
void host_c_put_constants(struct host_writer *w, const char *storage);
/* The parameters behind the first ones of each, as a user has them or not, and what is handed on for them. */
void host_c_put_constants_parameters(struct host_writer *w, bool is_outer, bool is_prepare);
void host_c_put_constants_given(struct host_writer *w, bool is_prepare);
/* Declarations over the driver API, and the functions of a file that hand on to `forms`. */
void host_c_put_constants_declarations(struct host_writer *w);
/* The refusal of other tensors than the constants were computed from, whose strides are settled. */
void host_c_put_constants_check(struct host_writer *w);

/* ---- host_c_expr.c ---- */
/* The value of e, FX_BAD where it has none; a condition, false where it has none. */
const char *host_c_value(struct host_writer *w, const struct fx_expr *e);
const char *host_c_condition(struct host_writer *w, const struct fx_expr *e);
/* The condition as it stands beside &&. */
const char *host_c_conjunct(struct host_writer *w, const struct fx_expr *e);
/* A condition on scalars, beside which `ok` turns false where there is no value. */
const char *host_c_condition_on_scalars(struct host_writer *w, const struct fx_expr *e);

/* ---- host_c.c, vendor.c ---- */
/* A C launcher over the driver API for every kernel of the plan, and what it declares. */
void emit_host_c(struct buf *out, const struct fx_plan *p);
void emit_host_h(struct buf *out, const struct fx_plan *p);
/* Its source, with launchers over the runtime API. */
void emit_vendor(struct buf *out, const struct fx_plan *p);

#endif
