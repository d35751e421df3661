/* What the files of the runtime share and nobody else sees, in sections by file. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/cache.h"
#include "lib/cuda_api.h"
#include "fx_runtime.h"

/* ---- status.c: the last failure of each thread ---- */
/* Records a text of any length, which may be made from fx_last_error(); returns status. */
fx_status error_set(fx_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
fx_status error_nomem(void);
fx_status error_null(const char *what); /* FX_ERR_USAGE: an argument that may not be is NULL */
/* Records a driver call that returned `code`; a code that ends the context marks it lost. ctx may be NULL. */
fx_status driver_failed(fx_context *ctx, int code, const char *call, const char *file, int line);
/* Calls an entry point of the driver: FX_OK, or FX_ERR_GPU with everything about it recorded. */
#define CU(ctx, call) cu_status(ctx, cuda_driver.call, #call, __FILE__, __LINE__)
static inline fx_status cu_status(fx_context *ctx, int code, const char *call, const char *file, int line) {
    return code == 0 ? FX_OK : driver_failed(ctx, code, call, file, line);
}

/* ---- timeline.c: FX_TRACE, what this process does and when ---- */
enum { TIMELINE_UNKNOWN, TIMELINE_OFF, TIMELINE_ON };
extern atomic_int timeline_state;
struct timeline_arg { /* a member of an event's `args` */
    const char *key;  /* as it stands in JSON */
    const char *text; /* NULL: the number */
    int64_t number;
};
/* Now in nanoseconds, or 0 where there is no trace; finds that out the first time. */
uint64_t timeline_now(void);
/* The same for what begins here: a branch where there is none. */
static inline uint64_t timeline_begin(void) {
    return atomic_load_explicit(&timeline_state, memory_order_relaxed) == TIMELINE_OFF ? 0 : timeline_now();
}
/* The event "WHAT OF" since `began`, unless that is 0. Allocates nothing. */
void timeline_end(uint64_t began, const char *what, const char *of, const struct timeline_arg *args, int n_args);

/* ---- context.c ---- */
struct fx_context {
    void *cuda;          /* the CUDA context; borrowed unless is_primary */
    int device;          /* ordinal */
    bool is_primary;     /* retained by us */
    char arch[16];       /* "sm_90a" */
    char name[256];      /* of the device */
    int cc;              /* compute capability, 10 * major + minor */
    int sm_count;        /* multiprocessors */
    int max_shared;      /* bytes of shared memory a block may have */
    bool starts_early;   /* its driver captures launches that may start early into graphs, as of CUDA 12.3 */
    atomic_int lost;     /* the driver's code that ended the context, or 0 */
    _Atomic(const struct module_entry *) last; /* launched last: whom to name when the context is lost */
    pthread_mutex_t lock;    /* guards programs, their entries and the entries' states */
    pthread_cond_t changed;  /* an entry is no longer BUSY */
    struct compiled_program *programs; /* everything loaded */
};

struct context_scope { /* of driver calls that need the context current */
    bool is_pushed;
};

/* Makes the context current unless it is. FX_ERR_GPU when it is lost. */
fx_status scope_enter(fx_context *ctx, struct context_scope *s);
/* Restores what was current; returns status, or a failure to do so. */
fx_status scope_leave(fx_context *ctx, struct context_scope *s, fx_status status);

/* ---- nvrtc.c ---- */
enum { NO_ENTRY = -1 };
struct compile {
    const char *source;
    const char *file; /* names the source in NVRTC's messages */
    const char *arch; /* "sm_90a" */
    int only;         /* number of the one entry wanted, or NO_ENTRY: all */
    const char *entry; /* its name, where there is one */
    bool ptx;         /* rather than a cubin */
    struct cache *cache; /* looked into before NVRTC is opened, and added to; NULL: none */
    void *image;      /* out: malloc'ed */
    size_t n_bytes;   /* out: of image */
    char *log;        /* out: malloc'ed, never NULL on success */
    bool was_cached;  /* out: the image is the cache's */
    int major, minor; /* out: version of the NVRTC that made the image */
};

fx_status nvrtc_compile(struct compile *c);
/* Several entries of one source, at most MOST_TOGETHER: by the emulator's compiler at once, as most of its time goes
 * into what they have in common; by NVRTC one after another. */
enum { MOST_TOGETHER = 24 };
fx_status nvrtc_compile_together(struct compile *const *c, int n);

/* ---- cuda_api.c: what takes the place of driver and NVRTC, the emulator ---- */
struct launch_memory { /* what the entries of a launch are given */
    const char *name;
    uint64_t address;      /* as they are given it */
    uint64_t start;        /* where it begins */
    size_t n_bytes;
    bool is_read, is_written; /* by the launch: what is only written holds nothing at first */
    bool is_tensor;        /* an argument, else a buffer: of an argument that is written every element has to be */
    int rank, element_bytes;
    const int64_t *shape, *strides; /* of a tensor, in elements of element_bytes; strides NULL: it fills its memory */
};
struct stand_in { /* beside cuda_driver, which is its own then */
    /* As nvrtc_compile, of entries of one source. */
    fx_status (*compile)(struct compile *const *c, int n);
    /* NULL unless accesses are seen. Before the entries of a launch are launched from this thread, and when they have
     * been, with what became of that: fails where an output has elements that were not written. */
    void (*announce)(const struct launch_memory *memory, int n);
    fx_status (*conclude)(fx_status status);
};
/* NULL: the GPU's own are used. What is set stays as it is for as long as the process runs. */
const struct stand_in *stand_in_get(void);
void stand_in_set(const struct stand_in *s);

/* ---- module.c: what is loaded, by source, arch and entry ---- */
enum entry_state { ENTRY_EMPTY, ENTRY_BUSY, ENTRY_READY };

struct module_entry {
    struct module_entry *next;
    const struct compiled_program *program; /* that it is of */
    char *name;             /* extern "C" */
    int number;             /* in the source */
    enum entry_state state; /* BUSY: a thread is compiling it; the rest is constant once READY */
    void *module, *function;
    struct fx_resources resources;
    int resident;           /* blocks an SM holds, where it was asked for; else 0 */
};

struct compiled_program { /* a source for an arch */
    struct compiled_program *next;
    char *source, *arch;
    struct module_entry *entries;
};

struct want { /* an entry to be READY */
    struct module_entry *entry;
    int shared_bytes; /* dynamic shared memory it is launched with at most; -1: as much as the device has */
    int block;        /* threads it is launched with where all blocks have to be resident at once, else 0 */
};

struct task { /* an entry to be compiled; of entries_load one that this call has made BUSY */
    const struct want *want;
    struct compile compile;
    fx_status status;
    char *error; /* what the thread that ran it had to say; NULL: nothing, or out of memory */
};

/* Compiles all of them, on several threads; what became of each stands in its status. `cached`: from the disk cache
 * where it has them. */
void tasks_compile(struct task *tasks, int n_tasks, bool cached);
/* Frees what a task holds; returns its status, recorded as this thread's where it failed. */
fx_status task_release(struct task *t);

/* Found or made; NULL when out of memory, which is recorded. They live as long as the context. */
struct compiled_program *program_open(fx_context *ctx, const char *source, const char *arch);
struct module_entry *program_entry(fx_context *ctx, struct compiled_program *p, const char *name, int number);
/* Compiles and loads what is not READY yet, in parallel; an entry another thread is at is waited for. `file` is for
 * messages. */
fx_status entries_load(fx_context *ctx, const struct want *wants, int n, const char *file);
/* Unloads everything, unless the context is lost, and frees it. */
void programs_release(fx_context *ctx);

/* ---- recipe.c ---- */
/* A copy of a kernel of a plan without its receipt, to be given to free; NULL when out of memory. */
struct fx_kernel *recipe_copy(const struct fx_kernel *k);

/* ---- prepare.c ---- */
/* FX_ERR_USAGE where the plan has no source, having been compiled for its signatures alone. */
fx_status plan_check(const struct fx_plan *plan);
struct stage { /* a launch of the plan */
    struct module_entry **entries; /* of each variant; NULL where not compiled */
    const struct fx_resources **compiled; /* likewise what it came to; of one that is yet to be compiled zeros */
    struct module_entry **known; /* of each variant: the entry with the extents that were hinted compiled in, or NULL */
    int pinned;             /* the variant to be taken, or -1: by the plan's rule */
    bool remembers;         /* whether the rule is long, and looks at extents and alignments alone */
    _Atomic uint64_t last;  /* then the last choice, in its low byte, and what it was made for, hashed; 0: none yet */
};

struct fx_prepared {
    fx_context *ctx;
    struct fx_kernel *kernel; /* its own copy: the plan may be gone */
    struct compiled_program *program;
    struct stage *stages; /* one a launch */
    char *hinted;         /* "M = 4, K = 8" if variants were left out for these hints, else "" */
    int64_t extents[FX_MAX_EXTENTS]; /* likewise: the extents */
    int partition;        /* the one taken whatever the extents: that of the hints, or pinned; -1: by the plan's rule */
    int hinted_partition; /* that of the hints, or -1 */
    bool *is_loaded;      /* by partition: what its launches may choose is compiled */
    bool is_pinned;       /* the partition is */
    struct tuned_way *tuned; /* rows of the database of FX_TUNE_DB that fit, tuning.h */
    int n_tuned;
    uint64_t serial;      /* of what it is now: no other prepared kernel has it, and a pin changes it */
};
/* A number that was not given before; 0 is none. */
uint64_t serial_next(void);

/* As fx_prepare without hints, but nothing is compiled: prepared_load does that of what is launched. A launch of
 * another entry fails. */
fx_status prepared_open(fx_context *ctx, const struct fx_plan *plan, const char *kernel, fx_prepared **out);
/* Compiles and loads, in parallel, the entries of its variants with wanted[number] that the device has room for; what
 * is loaded already stays so. They may then be launched where the plan's rule takes them, or be pinned at once. Not to
 * be called while launches run. */
fx_status prepared_load(fx_prepared *p, const bool *wanted);

/* ---- launch.c ---- */
/* The row that a launch at these extents is to take, or NULL: none, or a partition is pinned. */
const struct tuned_way *launch_tuned(const fx_prepared *p, const int64_t *extents);
/* The variant of launch i that a row names, where it is compiled and takes the arguments, and none is pinned; else -1. */
int tuned_variant(const fx_prepared *p, int i, const struct fx_env *env);
/* The variant by the plan's rule among those with an entry, or the pinned one; -1 when `needs` forbid. */
int stage_choose(const struct stage *s, const struct fx_launch *l, const struct fx_env *env);
/* Enqueues launches of a partition, all of them checked before the first: those that run once, those that run each
 * time, or both. args: those of the call, which b was bound from; buffers: the addresses of its buffers, those not
 * needed 0. */
struct bound;
enum run_which { RUN_ALL, RUN_ONCE, RUN_EACH_TIME };
fx_status launches_run(const fx_prepared *p, const struct fx_partition *taken, enum run_which which,
    const struct fx_value *args, struct bound *b, uint64_t *buffers, void *stream);

/* ---- tensor.c: arguments ---- */
struct bound { /* the arguments of a call, checked */
    int64_t extents[FX_MAX_EXTENTS];
    uint64_t slots[FX_MAX_PARAMS]; /* a tensor's address, a scalar's value as the kernel takes it */
    uint64_t
        starts[FX_MAX_PARAMS]; /* where a tensor's memory begins: its address, or below where strides are negative */
    size_t n_bytes[FX_MAX_PARAMS]; /* of a tensor from its start; 0 of a scalar */
    unsigned align[FX_MAX_PARAMS]; /* of the address, see FX_T_ALIGN */
    int64_t strides[FX_MAX_STRIDES]; /* of strided tensors, see FX_T_STRIDE; those of the others are not set */
};

static inline bool memory_overlaps(const struct bound *b, int i, int j) {
    return b->n_bytes[i] && b->n_bytes[j] && b->starts[i] < b->starts[j] + b->n_bytes[j] &&
           b->starts[j] < b->starts[i] + b->n_bytes[i];
}

enum { ADDRESS_ALIGN = 256 };
static inline unsigned address_alignment(uint64_t address) {
    uint64_t lowest = address & (~address + 1);
    return lowest == 0 || lowest > ADDRESS_ALIGN ? ADDRESS_ALIGN : (unsigned)lowest;
}

/* Binds extents and alignments; for a launch the contents too, for constants those of `const` tensors. Contents that do
 * not count are not looked at: tensors may be missing as long as all extents are known, addresses may be NULL. */
enum bound_for { FOR_SIZES, FOR_CONSTANTS, FOR_LAUNCH };
fx_status arguments_bind(
    const fx_prepared *p, const struct fx_value *args, int n_args, enum bound_for what, struct bound *out);
/* The scalars alone, for a launch whose extents are bound. */
fx_status arguments_bind_scalars(const fx_prepared *p, const struct fx_value *args, struct bound *out);

/* ---- constants.c: what depends on `const` tensors alone, computed once ---- */
const fx_prepared *constants_of(const fx_constants *c);
/* Whether these arguments are those that the constants were computed from; whether they may be launched with. */
fx_status constants_check(const fx_constants *c, const struct fx_partition *taken, const struct bound *b);
/* Where constant i, a buffer of a partition, lies; offsets are those of fx_const_layout. */
uint64_t constants_address(const fx_constants *c, const struct fx_partition *taken, size_t offset);
struct memory_range { uint64_t start; size_t n_bytes; };
struct memory_range constants_memory(const fx_constants *c);

/* ---- recall.c: launches like the one before ---- */
struct ready { /* a launch of the plan, computed */
    bool takes_maps, starts_early;
    const struct module_entry *entry; /* NULL: nothing to do */
    int block, cluster;
    unsigned grid, shared_bytes;
    bool is_cooperative;       /* all blocks are resident at once */
};

enum { MEMO_PARAMS = 16, MEMO_EXTENTS = 32, MEMO_LAUNCHES = 6, MEMO_BUFFERS = 16, MEMO_MAPS = 10 };
struct launch_memo { /* of a launch, by thread; larger ones are not kept */
    uint64_t serial; /* of what was launched; 0: nothing */
    bool has_constants; /* with constants */
    struct memo_param {
        int ndim;
        DLDataType dtype;
        DLDevice device;
        bool has_strides;
        unsigned align;
        size_t n_bytes;
        uint64_t below; /* bytes from where the memory starts to the address */
        int64_t shape[FX_MAX_RANK], strides[FX_MAX_RANK]; /* as given */
        int64_t bound_strides[FX_MAX_RANK];               /* as struct bound has them */
    } params[MEMO_PARAMS];
    int64_t extents[MEMO_EXTENTS];
    struct fx_partition taken;
    struct ready ready[MEMO_LAUNCHES]; /* of the partition's launches, in order */
    size_t offsets[MEMO_BUFFERS], kept[MEMO_BUFFERS]; /* of its buffers in the workspace, and among the constants */
    size_t workspace_bytes;
    uint64_t map_bases[MEMO_MAPS]; /* the address that a map is of; 0: it is not made yet */
    struct cuda_tensor_map maps[MEMO_MAPS];
};
/* NULL: it is not known, or something is to be refused. Else everything of *b is bound. */
struct launch_memo *memo_recall(
    const fx_prepared *p, bool has_constants, const struct fx_value *args, int n_args, struct bound *b);
struct launch_facts { /* what depends on shapes, strides and alignments alone */
    struct fx_partition taken;
    const struct ready *ready;    /* of the partition's launches; those that are not to run have no entry */
    const size_t *offsets, *kept; /* as struct launch_memo has them */
    size_t workspace_bytes;
};
/* NULL where it is too large. */
struct launch_memo *memo_keep(const fx_prepared *p, bool has_constants, const struct fx_value *args,
    const struct bound *b, const struct launch_facts *facts);
/* The maps of a launch of the partition, and the addresses they are of. */
struct cuda_tensor_map *memo_maps(struct launch_memo *m, const struct fx_kernel *k, int launch, uint64_t **bases);

#endif
