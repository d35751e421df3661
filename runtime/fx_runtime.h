/* libfx, the runtime: compiles a plan's source with NVRTC and launches it through the driver API, both found by dlopen.
 *
 * compile -> prepare (NVRTC, load) -> workspace_bytes -> launch (no allocation, no synchronisation, no compilation:
 * safe under graph capture). A context may be used from several threads at once; error text is per thread. A prepared
 * kernel is immutable: launches may run concurrently, each with a workspace of its own.
 *
 * NULL: if a required handle, plan, name or result pointer is NULL, a call returns FX_ERR_USAGE with a message, or "",
 * NULL or 0, by its return type. Closing, releasing and freeing NULL is allowed. */
#ifndef FX_RUNTIME_H
#define FX_RUNTIME_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DLPack's tensor, ABI-compatible with dlpack.h 0.x and 1.x; include dlpack.h first to use its own declaration. */
#ifndef DLPACK_DLPACK_H_
typedef struct {
    int32_t device_type; /* 2: CUDA */
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
    uint8_t bits;
    uint16_t lanes; /* 1 */
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major, contiguous */
    uint64_t byte_offset;
} DLTensor;
#endif

typedef struct fx_context fx_context;
typedef struct fx_prepared fx_prepared;

/* ---- where CUDA was looked for (fxc doctor); needs no GPU ---- */
/* Writes one line per candidate of libnvrtc and libcuda (path, result) and the chosen one, up to size bytes. Returns
 * FX_OK if NVRTC works, otherwise FX_ERR_TOOLCHAIN. A missing driver is not a failure here. */
fx_status fx_doctor(char *text, size_t size);
/* Compiles source for arch to a cubin, or to PTX if `ptx`. Needs no GPU. file, which may be NULL, names the source in
 * the log. *image and *log are malloc'ed. *log is NVRTC's full log, "" if it is empty. */
fx_status fx_nvrtc(
    const char *source, const char *file, const char *arch, bool ptx, void **image, size_t *n_bytes, char **log);

/* Reads the resources of an entry from a cubin, without a driver. Any bytes are safe: FX_ERR_USAGE if they are not a
 * cubin, are truncated or have no such entry. */
fx_status fx_cubin_resources(const void *image, size_t n_bytes, const char *entry, struct fx_resources *out);
/* Compiles what fx_prepare would compile for kernel k of the plan, or for all kernels if k is NULL, for the plan's
 * arch. Needs no GPU. Entries are compiled in parallel, each by itself; if `cached`, the disk cache is used. Fills
 * out[number] of every entry with wanted[number]; both are indexed by fx_variant.number. */
fx_status fx_compile_resources(
    const struct fx_plan *plan, const struct fx_kernel *k, bool cached, const bool *wanted, struct fx_resources *out);

/* Writes one line about the disk cache of fx_prepare: its folder, entries and bytes, or why there is none
 * (docs/runtime.md). */
void fx_cache_describe(char *text, size_t size);

/* ---- FX_TRACE=FILE: a chrome trace of this process (docs/runtime.md) ---- */
/* Whether a trace is being written. If not, *why_not, unless NULL, gives the reason, such as a full disk, or "" if no
 * trace was requested. */
bool fx_trace_is_on(const char **why_not);
/* For fx_options.on_stage: adds the stages of the compiler to the trace. */
void fx_trace_stage(void *unused, const char *stage, const char *of, bool is_over);

/* ---- the emulator ---- */
struct fx_emulation { /* a device without a GPU; zeros are defaults */
    int sm_count;    /* multiprocessors of the device; 0: as many as an H200 */
    int n_schedules; /* orders of threads in which a launch runs; all must leave the same bytes. 0: all orders */
    uint64_t seed;   /* of the random order. It also selects the first order: 0 ascending, 1 random, 2 descending, and
                        so on */
    bool is_watched; /* check every access of the first order: conflicts and reads of unwritten memory fail */
};
/* Makes this process use the emulator instead of a GPU. Call it before the first context is opened; a process cannot
 * return to a GPU. Contexts are opened on the emulator. fx_prepare compiles with the host's C++ compiler (g++, or
 * FX_CXX). Launches run on the CPU before fx_launch returns, and fx_launch reports errors: accesses outside of a
 * tensor, deadlocks, results that depend on the order of threads. e NULL: all defaults. FX_ERR_TOOLCHAIN if there is no
 * C++ compiler. */
fx_status fx_emulate(const struct fx_emulation *e);

/* ---- context ---- */
/* Uses the CUDA context that is current on the calling thread, which must outlive the result, or else the primary
 * context of device `ordinal`. No call changes which context is current. After an error that ends a CUDA context (an
 * illegal address, ...) every call says that it is lost. */
fx_status fx_context_open(int ordinal, fx_context **out);
void fx_context_close(fx_context *ctx); /* NULL is allowed; release everything prepared in it first */
const char *fx_context_arch(const fx_context *ctx);  /* "sm_90a" of the device */
const char *fx_context_device(const fx_context *ctx); /* "NVIDIA H200" */
int fx_context_sm_count(const fx_context *ctx);
/* Full text of the last failure on this thread (call, file:line, the driver's message or NVRTC's log); "" if there was
 * none. */
const char *fx_last_error(void);

/* ---- prepare, launch ---- */
struct fx_hint { /* an extent known in advance: only variants that it allows are compiled */
    const char *name;
    int64_t value;
};
/* Compiles and loads kernel `kernel` (NULL: the first) of the plan. The result keeps a copy of the plan, so the
 * compilation may be closed. FX_ERR_USAGE for a plan without source (oracle_only). Loaded code stays loaded in the
 * context: a second prepare of the same source compiles nothing. Code that an earlier process compiled comes from the
 * disk cache. hints may be NULL. With hints for all extents, a launch with other extents takes the best available
 * variant of the partition that the hints select, and is FX_ERR_USAGE if none fits. A plan for an older arch is
 * compiled for the device's arch, if the plan's arch has no suffix. FX_ERR_TOOLCHAIN if NVRTC refuses the source: its
 * whole log is in fx_last_error(). */
fx_status fx_prepare(fx_context *ctx, const struct fx_plan *plan, const char *kernel, const struct fx_hint *hints,
    int n_hints, fx_prepared **out);
void fx_prepared_release(fx_prepared *p); /* NULL is allowed */

struct fx_value { /* an argument: a tensor, or a scalar's value */
    const DLTensor *tensor; /* borrowed; NULL for a scalar */
    double number;          /* of a floating-point scalar */
    int64_t integer;        /* of an integer scalar (u64: the same bits) */
};

/* Gives the bytes of workspace that a launch needs; 0 is common. args: one per parameter of the kernel, inputs then
 * outputs, as declared; an `inout` tensor once, among the inputs. Only shapes count here: addresses may be NULL, and a
 * tensor may be missing if others have its extents. */
fx_status fx_workspace_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes);
/* Enqueues on `stream` (a CUstream; NULL is the default stream). Checks dtype, rank, extents, contiguity, device,
 * alignment, every `require` of the spec, and overlap of outputs with other memory; FX_ERR_USAGE with a message if a
 * check fails. workspace is device memory, 256-byte aligned. */
fx_status fx_launch(const fx_prepared *p, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream);
/* ---- constants: values that depend on `const` tensors alone, computed once into the caller's memory ----
 *
 * fx_launch computes these values at every launch, in the workspace. With constants, fx_const_prepare computes them and
 * fx_const_launch only reads them. The `const` tensors must then be the same, at the same addresses, with the same
 * contents. */
typedef struct fx_constants fx_constants;
/* Gives the bytes of device memory that the constants need; 0: there are none. Only shapes count, as for
 * fx_workspace_bytes. */
fx_status fx_const_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes);
/* Enqueues on `stream` the work that computes them. It uses the shapes of args and the contents of `const` tensors.
 * memory is aligned to 256 bytes; memory and p must outlive *out. The result has the constants of all compiled
 * partitions of p, so extents that no `const` tensor has may differ from launch to launch. A launch on another stream
 * must wait for this one. */
fx_status fx_const_prepare(const fx_prepared *p, const struct fx_value *args, int n_args, void *memory, size_t n_bytes,
    void *stream, fx_constants **out);
void fx_constants_release(fx_constants *c); /* NULL is allowed; frees nothing on the device */
/* As fx_workspace_bytes and fx_launch of the prepared kernel. A `const` tensor with another address, shape or strides,
 * and an output that shares memory with the constants, are FX_ERR_USAGE. */
fx_status fx_const_workspace_bytes(const fx_constants *c, const struct fx_value *args, int n_args, size_t *bytes);
fx_status fx_const_launch(const fx_constants *c, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream);

/* The entry name of the variant that launch `i` of the plan would take, valid until p is released. NULL if none fits,
 * or if launch i belongs to a partition that is not taken. For reports and tests. */
const char *fx_chosen_entry(const fx_prepared *p, int i, const struct fx_value *args, int n_args);
/* Forces a variant (by index in the plan) for launch i, and compiles it if necessary; -1 undoes that. A launch whose
 * arguments do not satisfy the variant's `needs` is FX_ERR_USAGE. Do not call it while launches run. For tests and
 * tuning only. */
fx_status fx_pin_variant(fx_prepared *p, int i, int variant);
/* Forces a partition (by number in the plan) for all extents, and compiles its launches if necessary; -1 undoes that.
 * The workspace is then that of the partition. A pinned variant takes effect if its launch is in the partition. Do not
 * call it while launches run. For tests and tuning only. */
fx_status fx_pin_partition(fx_prepared *p, int partition);
/* The resources of variant v of launch i, as the driver reports them for the loaded cubin. A variant that spills more
 * than it may (fx_is_passed_over) is launched only if no other of its kind takes the arguments; with hints, fx_prepare
 * compiles the next one as its replacement. */
fx_status fx_variant_resources(const fx_prepared *p, int i, int v, struct fx_resources *out);

/* ---- device memory, streams and timing, for programs without their own ---- */
fx_status fx_device_alloc(fx_context *ctx, size_t n_bytes, void **out); /* n_bytes > 0 */
void fx_device_free(fx_context *ctx, void *p);
fx_status fx_device_write(fx_context *ctx, void *device, const void *host, size_t n_bytes); /* synchronous */
fx_status fx_device_read(
    fx_context *ctx, void *host, const void *device, size_t n_bytes); /* synchronous, but waits for no stream */
fx_status fx_device_fill(
    fx_context *ctx, void *device, unsigned char byte, size_t n_bytes, void *stream); /* asynchronous */
fx_status fx_stream_open(fx_context *ctx, void **stream); /* one that does not wait for the default stream */
void fx_stream_close(fx_context *ctx, void *stream);
fx_status fx_stream_wait(fx_context *ctx, void *stream);
typedef struct fx_timer fx_timer; /* a pair of device events */
fx_status fx_timer_open(fx_context *ctx, fx_timer **out);
void fx_timer_close(fx_timer *t);
fx_status fx_timer_start(fx_timer *t, void *stream);
fx_status fx_timer_stop(fx_timer *t, void *stream);
fx_status fx_timer_read(fx_timer *t, double *microseconds); /* waits for the stop event */

/* ---- calls from Python without ctypes, for the package in runtime/python ---- */
/* Python objects are void *. Call these functions with the GIL held (ctypes.PyDLL). Nothing of Python is linked. */
struct fx_python_arrays { /* an array library; the call takes references to the objects */
    size_t size;          /* of this struct */
    const void *exchange; /* the pointer in the capsule `__dlpack_c_exchange_api__` of its type, of DLPack 1 */
    const void *types[4]; /* the accepted types, exactly; the rest is NULL */
    void *empty_like;   /* callable: an array -> one of the same shape, dtype and device */
    void *empty;        /* callable: the arguments in made_of -> a new array on the current device; or NULL */
    void *is_recording; /* callable: () -> whether gradients are recorded */
};
/* Call it once per process. interpreter: a dlopen handle of the library or program that exports CPython's stable ABI.
 * FX_ERR_TOOLCHAIN if functions are missing. */
fx_status fx_python_open(void *interpreter, const struct fx_python_arrays *arrays);
/* Returns a new callable; the caller owns the reference. It takes the inputs of the kernel in their order, and `out`,
 * and launches the kernel that was added for their shapes on the arrays' current stream. If it cannot handle the
 * arguments, it launches nothing and calls `otherwise` with them, or returns NotImplemented if `otherwise` is NULL.
 * NULL after a failure. */
void *fx_python_call(const struct fx_kernel *kernel, void *otherwise);
/* Adds to a callable the kernel p, prepared for the shapes, strides, dtypes and device of args; their addresses do not
 * count. p must outlive the callable. is_given_out: for calls with `out`, else for those without. like: for each output
 * an array of the required form, then one for the workspace, or NULL. made_of: for each of these a tuple of the
 * arguments of `empty`, or NULL. A callable keeps at most 1024 kernels; further ones are ignored. */
fx_status fx_python_add(void *callable, const fx_prepared *p, const struct fx_value *args, bool is_given_out,
    void *const *like, void *const *made_of, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif
#endif
