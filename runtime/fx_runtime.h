/* libfx, the runtime: compiles a plan's source with NVRTC and launches it through the driver API, both found by dlopen.
 *
 * compile -> prepare (NVRTC, load) -> workspace_bytes -> launch (no allocation, no synchronisation, no compilation:
 * safe under graph capture). A context may be used from several threads at once; error text is per thread. A prepared
 * kernel is immutable: launches may run concurrently, each with a workspace of its own.
 *
 * NULL: where a handle, a plan, a name or a place for a result that has to be there is NULL, a call returns
 * FX_ERR_USAGE with a message, or "", NULL or 0 by what it returns. Closing, releasing and freeing NULL is allowed. */
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
/* Writes one line a candidate of libnvrtc and libcuda (path, result) and what was chosen, as far as size goes. Returns
 * FX_OK when NVRTC works, FX_ERR_TOOLCHAIN when not; a missing driver is no failure here. */
fx_status fx_doctor(char *text, size_t size);
/* Compiles source for arch to a cubin (or PTX when `ptx`), no GPU needed. file, which may be NULL, names it in the log.
 * *image is malloc'ed, *log too (NVRTC's full log, "" if empty). */
fx_status fx_nvrtc(
    const char *source, const char *file, const char *arch, bool ptx, void **image, size_t *n_bytes, char **log);

/* Reads from a cubin, without a driver, what it has of the entry of that name. Any bytes are safe: FX_ERR_USAGE where
 * they are no cubin, are cut off or have no such entry. */
fx_status fx_cubin_resources(const void *image, size_t n_bytes, const char *entry, struct fx_resources *out);
/* Compiles what fx_prepare would for kernel k of the plan, or for all where k is NULL, and its arch, no GPU needed: in
 * parallel, each entry by itself, from the disk cache where it has them and `cached`. out[number] of every entry with
 * wanted[number] is filled; both are indexed by fx_variant.number. */
fx_status fx_compile_resources(
    const struct fx_plan *plan, const struct fx_kernel *k, bool cached, const bool *wanted, struct fx_resources *out);

/* One line about the disk cache of what fx_prepare compiles: its folder, entries and bytes, or why there is none
 * (docs/runtime.md). */
void fx_cache_describe(char *text, size_t size);

/* ---- FX_TRACE=FILE: what this process does, as a chrome trace (docs/runtime.md) ---- */
/* Whether one is being written; else *why_not, if not NULL, says what is or came in the way, a disk that is full too,
 * "" where none is asked for. */
bool fx_trace_is_on(const char **why_not);
/* For fx_options.on_stage: stages of the compiler join the trace. */
void fx_trace_stage(void *unused, const char *stage, const char *of, bool is_over);

/* ---- the emulator ---- */
struct fx_emulation { /* a device without a GPU; zeros are defaults */
    int sm_count;    /* multiprocessors it claims to have; 0: as many as an H200 */
    int n_schedules; /* orders of threads under which a launch runs, all of which must leave the same bytes; 0: as many
                        as there are */
    uint64_t seed;   /* of the random one, and which comes first: 0 up from thread 0, 1 at random, 2 down from the last,
                        and so on */
    bool is_watched; /* every access of the first of them is seen: what is in conflict with another, or reads what
                        nobody has written, fails */
};
/* From now on this process has the emulator in the place of a GPU: contexts are opened on it, what is prepared is
 * compiled by the host's C++ compiler (g++, or FX_CXX), and launches run on the CPU before fx_launch returns, which
 * says what was wrong: memory touched outside of a tensor, threads that wait for each other for ever, results that
 * depend on the order of threads. Before the first context is open. A process cannot go back. e NULL: all defaults.
 * FX_ERR_TOOLCHAIN where there is no such compiler. */
fx_status fx_emulate(const struct fx_emulation *e);

/* ---- context ---- */
/* Uses the CUDA context current on the calling thread, which must outlive the result, else the primary context of
 * device `ordinal`. No call changes what is current. After an error that ends a CUDA context (an illegal address, ...)
 * every call says it is lost. */
fx_status fx_context_open(int ordinal, fx_context **out);
void fx_context_close(fx_context *ctx); /* NULL is allowed; after everything prepared in it is released */
const char *fx_context_arch(const fx_context *ctx);  /* "sm_90a" of the device */
const char *fx_context_device(const fx_context *ctx); /* "NVIDIA H200" */
int fx_context_sm_count(const fx_context *ctx);
/* Full text of the last failure of a call on this thread (call, file:line, the driver's words or NVRTC's log); "" if
 * none. */
const char *fx_last_error(void);

/* ---- prepare, launch ---- */
struct fx_hint { /* an extent known in advance: only variants that can then be chosen are compiled */
    const char *name;
    int64_t value;
};
/* Compiles and loads kernel `kernel` (NULL: the first) of the plan, of which the result keeps a copy: its compilation
 * may be closed. FX_ERR_USAGE for a plan without source, compiled with oracle_only. What the context has loaded
 * stays loaded: a second prepare of the same source compiles nothing; what an earlier process compiled is taken from
 * the disk cache. hints may be NULL. With hints for all extents a launch of other extents takes the best variant there
 * is of the partition that the hints take, and is FX_ERR_USAGE where none fits. A plan for an older arch is compiled
 * for the device's, if its arch has no suffix. FX_ERR_TOOLCHAIN when NVRTC refuses the source: its whole log is in
 * fx_last_error(). */
fx_status fx_prepare(fx_context *ctx, const struct fx_plan *plan, const char *kernel, const struct fx_hint *hints,
    int n_hints, fx_prepared **out);
void fx_prepared_release(fx_prepared *p); /* NULL is allowed */

struct fx_value { /* an argument: a tensor, or a scalar's value */
    const DLTensor *tensor; /* borrowed; NULL for a scalar */
    double number;          /* of a floating-point scalar */
    int64_t integer;        /* of an integer scalar (u64: the same bits) */
};

/* args: one for each parameter of the kernel, inputs then outputs, as declared; an `inout` tensor once, among the
 * inputs. Bytes of workspace the launch needs (0 is common). Only shapes count here: addresses may be NULL, and a
 * tensor may be missing where others have its extents. */
fx_status fx_workspace_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes);
/* Enqueues on `stream` (a CUstream; NULL is the default stream). Checks dtype, rank, extents, contiguity, device,
 * alignment, every `require` of the spec, overlap of outputs with anything; FX_ERR_USAGE with a message otherwise.
 * workspace is device memory, 256-byte aligned. */
fx_status fx_launch(const fx_prepared *p, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream);
/* ---- constants: what depends on `const` tensors alone, computed once into memory of the caller's ----
 *
 * fx_launch computes all of it at every launch, in the workspace. With constants it is computed by fx_const_prepare,
 * and fx_const_launch only reads it: `const` tensors then have to be the same, at the same addresses, as what they
 * hold. */
typedef struct fx_constants fx_constants;
/* Bytes of device memory they take; 0: there are none, as where nothing is `const`. As of fx_workspace_bytes only
 * shapes count. */
fx_status fx_const_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes);
/* Enqueues on `stream` what computes them. Of args the shapes count as above, and of `const` tensors the contents. The
 * memory is aligned to 256 bytes, and it and p outlive *out. They are of all partitions of p that are
 * compiled: extents that no `const` tensor has may differ from launch to launch. A launch on another stream has to wait for this
 * one. */
fx_status fx_const_prepare(const fx_prepared *p, const struct fx_value *args, int n_args, void *memory, size_t n_bytes,
    void *stream, fx_constants **out);
void fx_constants_release(fx_constants *c); /* NULL is allowed; frees nothing on the device */
/* As fx_workspace_bytes and fx_launch of what they were prepared from. A `const` tensor at another address, of another
 * shape or other strides, and an output that shares memory with the constants are FX_ERR_USAGE. */
fx_status fx_const_workspace_bytes(const fx_constants *c, const struct fx_value *args, int n_args, size_t *bytes);
fx_status fx_const_launch(const fx_constants *c, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream);

/* Which variant a launch would take: launch `i` of the plan -> its entry name, valid until p is released; NULL where
 * none fits, or where it is of a partition that is not taken. For reports and tests. */
const char *fx_chosen_entry(const fx_prepared *p, int i, const struct fx_value *args, int n_args);
/* Forces a variant (by index in the plan) for launch i, compiling it if need be; -1 undoes. A launch whose arguments
 * its `needs` refuses is FX_ERR_USAGE. Not to be called while launches run. For tests and tuning only. */
fx_status fx_pin_variant(fx_prepared *p, int i, int variant);
/* Forces a partition (by number in the plan), whose launches are taken whatever the extents, compiling them if need be;
 * -1 undoes. The workspace is that of the partition then. A variant that is pinned counts where its launch is taken.
 * Not to be called while launches run. For tests and tuning only. */
fx_status fx_pin_partition(fx_prepared *p, int partition);
/* Of variant v of launch i, as the driver reads them from the loaded cubin. A variant that spills more than it may
 * (fx_is_passed_over) is launched only where no other of its kind takes the arguments; with hints fx_prepare compiles
 * the next one for it. */
fx_status fx_variant_resources(const fx_prepared *p, int i, int v, struct fx_resources *out);

/* ---- device memory, streams and timing, for programs that bring none of their own ---- */
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
/* Objects of Python are void *. The calls hold Python's lock (ctypes.PyDLL); nothing of Python is linked. */
struct fx_python_arrays { /* a library of arrays; references to objects are taken */
    size_t size;          /* of this struct */
    const void *exchange; /* the pointer in the capsule `__dlpack_c_exchange_api__` of its type, of DLPack 1 */
    const void *types[4]; /* exactly these types are taken; from one of them on NULL */
    void *empty_like;   /* callable: an array -> one of the same shape, dtype and device */
    void *empty;        /* callable: what is given as made_of -> a new array on the current device; or NULL */
    void *is_recording; /* callable: () -> whether gradients are recorded */
};
/* Once a process. interpreter: a dlopen handle of what exports CPython's stable ABI. FX_ERR_TOOLCHAIN where functions
 * are missing. */
fx_status fx_python_open(void *interpreter, const struct fx_python_arrays *arrays);
/* A new callable, a reference of which is the caller's: it takes the inputs of the kernel in their order, and `out`,
 * and launches what was added for their shapes on the arrays' current stream. Where it does not know what to do it has
 * launched nothing, and calls `otherwise` with the same arguments, or gives NotImplemented where that is NULL. NULL after
 * a failure. */
void *fx_python_call(const struct fx_kernel *kernel, void *otherwise);
/* Adds to a callable what is prepared for the shapes, strides, dtypes and device of args, whose addresses do not count;
 * p has to outlive the callable. is_given_out: for calls with `out`, else for those without. like: for each output an
 * array as it is to be, then one for the workspace, or NULL; made_of: likewise tuples of the arguments of `empty`, or
 * NULL. Of more than 1024 the rest is left out. */
fx_status fx_python_add(void *callable, const fx_prepared *p, const struct fx_value *args, bool is_given_out,
    void *const *like, void *const *made_of, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif
#endif
