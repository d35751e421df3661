/* What the files of the emulator share, in sections by file. A launch is a struct emu_machine, which one
 * operating-system thread runs from beginning to end; several may run at once, of different modules. */
#ifndef EMU_H
#define EMU_H

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include "calls.h"
#include "lib/runtime.h"
#include "emu/observer.h"

/* ---- fiber.c, switch.S: stacks ---- */
/* Memory for the stacks of a launch, as many bytes or more; NULL where there is none. */
char *stacks_take(size_t *n_bytes);
void stacks_give(char *at, size_t n_bytes);
/* Leaves the running stack, noted in *from, for another. */
void emu_switch(void **from, void *to);
/* The same, of which the address sanitizer is told where it builds this: the stack that is gone on with, NULL for the
 * one of whoever runs the machine, of which fiber_outside is told before. fiber_entered: the first thing that a new
 * stack does. */
#ifdef __SANITIZE_ADDRESS__
void fiber_switch(void **from, void *to, const char *stack);
void fiber_outside(void);
void fiber_entered(void);
#else
static inline void fiber_switch(void **from, void *to, const char *stack) { (void)stack, emu_switch(from, to); }
static inline void fiber_outside(void) {}
static inline void fiber_entered(void) {}
#endif
/* What a switch to the result begins: `start`, at the top of an empty stack, which never returns. */
void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void));

/* ---- driver.c, arguments.c, compile.c: the parts of the stand-in ---- */
/* Whether accesses are seen. */
bool emu_is_watched(void);
void emu_announce(const struct launch_memory *memory, int n);
fx_status emu_conclude(fx_status status);
/* By the host's C++ compiler, to a shared object. */
fx_status emu_compile(struct compile *const *c, int n);
/* Whether the C++ compiler that this takes is there. */
fx_status emu_find_compiler(void);

/* ---- memory.c: what the driver would call device memory ---- */
struct region { /* an allocation: unreadable pages around it, a pattern in what it does not fill of its own */
    struct region *next;
    char *mapped;         /* with the pages around it */
    size_t n_mapped;
    char *at;             /* the allocation */
    size_t n_bytes;
    char *pages;          /* those that may be touched */
    size_t n_pages_bytes;
    struct shadow *shadow; /* once a launch that is watched may write to it, else NULL */
};
struct shadow { /* who touched each byte last, see watch.c */
    uint64_t *written, *read[2];
    size_t n_bytes; /* mapped, of all three */
};
/* NULL when there is no memory. The allocation ends where its pages do: so it is aligned as its size is. */
char *memory_take(size_t n_bytes);
bool memory_give(char *at);
/* The region that holds the address, pages around it included, or NULL. */
const struct region *memory_find(const void *address);
/* Whether the pattern before it was written to, at *offset from its start; the pattern is mended. */
bool memory_is_broken(const struct region *r, long *offset);
/* Made where there is none; NULL when there is no memory. */
struct shadow *memory_shadow(const struct region *r);
/* Shadows forget everything: no launch may be running. */
void memory_forget(void);
/* Memory that holds zeros until it is written to, or NULL. */
void *memory_zeros(size_t n_bytes);
void memory_zeros_give(void *at, size_t n_bytes);
/* Shared memory of a block: pages with unreadable ones around, aligned to 1024 bytes, at the end of its pages as far as
 * that allows. */
struct shared {
    char *mapped;
    size_t n_mapped;
    char *at;
};
bool shared_open(struct shared *s, size_t n_bytes);
void shared_close(struct shared *s);

/* ---- module.c: compiled code ---- */
struct module {
    void *library;            /* of dlopen */
    int file;                 /* it was opened from; for line numbers */
    char path[64];            /* of it, as others may open it */
    const struct emu_entry *entry;
    char *name;               /* of the entry */
    pthread_mutex_t lock;     /* held while a launch of it runs: emu_self is one a module */
};
int module_open(struct module **out, const void *image);
/* Makes an entry of the code the one that is launched; a module of which none has been asked for has none. */
int module_take(struct module *m, const char *entry);
void module_close(struct module *m);
/* Whether the address is of its code or data. */
bool module_holds(const struct module *m, const void *address);
/* Of the emitted file; none where it cannot be said. */
void module_lines(const struct module *m, const void *const *pcs, int n, struct emu_line *out);

/* ---- observer.c: what an observer is shown ---- */
struct watch;
struct fiber;
void seen_begin(struct watch *w);
void seen_end(struct watch *w, bool is_fine);
void seen_tell(
    const struct fiber *f, const char *memory, uint64_t offset, unsigned n, enum emu_access access, const void *pc);
/* "line 12, within line 30 (line 3 of the spec)", "" where it cannot be said. */
void seen_line(const struct module *m, const void *pc, char *text, size_t size);

/* ---- machine.c: a launch ---- */
/* Stacks are a few cache lines more than a power of two apart: at one depth they would otherwise all fall into the same
 * few lines of the cache. */
enum { WARP = 32, STACK_BYTES = EMU_STACK, STACK_STEP = STACK_BYTES + 5 * 64, MACHINE_TEXT = 2048 };
enum order { ORDER_UP, ORDER_DOWN, ORDER_RANDOM };
enum state { READY, AT_BARRIER, AT_OPERATION, AT_GRID_BARRIER, AT_MBARRIER, AT_NAMED, AT_CLUSTER, RETURNED };
enum { MOST_WARPS = 32, MOST_MBARRIERS = 64, NAMED_BARRIERS = 16, MOST_PRODUCTS = 64 };

enum { EMU_SENT = 1 }; /* to memory, waited for by groups of its own */
struct copy { /* an asynchronous copy under way */
    char *to;
    const char *from;
    int n_bytes;
    int n_valid;            /* of those; the rest are zeros */
    unsigned barrier; /* of a box: whom it is told to when it lands, or EMU_SENT; 0: it is waited for by its group */
    bool is_tf32;           /* f32, rounded to tf32 as they land */
    bool is_sent;           /* by another block of the cluster, to this fiber's */
    bool has_landed;        /* as soon as it was asked for; watched it is waited for all the same */
    int group;
    const void *pc;         /* where it was asked for */
};

struct fiber { /* a CUDA thread; every switch uses three lines of the cache: the first two, and the one behind `view` */
    struct emu_thread view; /* first: what compiled code calls self */
    void *stack_pointer;    /* while it does not run */
    char *stack;
    struct warp *warp;
    int lane;
    enum state state;
    struct copy *copies;    /* those that have not landed */
    int n_copies, copies_room;
    int n_groups, n_sent;   /* groups committed so far; of boxes sent */
    unsigned waits_for, parity; /* at a memory barrier, or a named one's number */
    unsigned turn;          /* times that it has waited for others */
    unsigned cluster_phase; /* of the cluster's barrier: that it has arrived in, and 1 */
    unsigned time;          /* watched: of its block, when it last waited for others */
    unsigned stamp;         /* time and thread, in shared memory */
    uint64_t global_stamp;  /* time, block and thread */
} __attribute__((aligned(64)));

struct wgmma_product { /* of a warpgroup, a warp's share, on its way */
    unsigned long long a, b; /* descriptors */
    float *d[WARP];          /* of each lane */
    const unsigned *held[WARP]; /* likewise: its elements of a, where registers have them */
    int n;                   /* columns */
    bool is_bf16, is_tf32, a_mn, b_mn, adds, is_held;
    bool is_bytes, is_integer, is_second[2]; /* of 8 bits: integers; u8, or f8e5m2, of a and of b */
    int group;               /* batch */
    const void *pc;
};

struct sent { /* by a block of the cluster, on its way */
    unsigned to, barrier; /* in the shared memory of who gets it */
    unsigned words[2];
};

struct mbarrier { /* in shared memory */
    unsigned at;
    int arrivals, pending;   /* of a phase; of this one still missing */
    long n_bytes;            /* likewise */
    unsigned phase;
    unsigned before[2][MOST_WARPS]; /* by parity: what those who arrived had done (watch_signal) */
};

struct named { /* a barrier of some of the block's threads */
    int threads, arrived;
    unsigned before[MOST_WARPS];
    unsigned *learnt; /* what those who arrived know of other blocks; NULL: nothing */
};

struct warp {
    struct emu_block *block;
    struct fiber *fibers;
    int n;                     /* lanes */
    int number;                /* in its block */
    int place;                 /* among the warps of all blocks that are alive */
    unsigned ready;            /* lanes that can run, a bit each */
    unsigned arrived;          /* lanes at the operation */
    enum emu_operation operation;
    unsigned operand;
    const void *pc;            /* of who came last */
    struct wgmma_product products[MOST_PRODUCTS];
    int n_products, n_batches; /* on their way; closed so far */
    int registers;             /* of a lane, since it took or gave some; 0: it has not yet */
};

struct emu_block {
    unsigned number;
    struct warp *warps;
    int n_warps, n_threads;
    int n_live;                /* threads that have not returned */
    int n_at_barrier;          /* threads that wait there */
    struct mbarrier mbarriers[MOST_MBARRIERS];
    int n_mbarriers;
    struct named named[NAMED_BARRIERS];
    struct sent *sent;         /* to this block, not landed */
    int n_sent, sent_room;
    int n_boxes;               /* copies of its threads that a memory barrier waits for */
    struct shared shared;
    struct sight *sight;       /* where accesses are watched, else NULL */
};

struct emu_schedule { /* how threads take turns, and when copies land */
    enum order order;
    unsigned long long seed; /* of ORDER_RANDOM */
    bool is_late;            /* copies land when they are waited for, their bytes poison until then; else at once */
    bool is_watched;         /* accesses are; the launch has a watch */
};

struct emu_launch {
    struct module *module;
    unsigned grid, n_threads, shared_bytes;
    unsigned cluster;          /* blocks of one, of which the grid is a multiple */
    bool is_cooperative;
    void **arguments;
    struct watch *watch;       /* what is known of its accesses; NULL where they are not watched */
};

struct emu_machine {
    const struct emu_launch *launch;
    struct emu_schedule schedule;
    struct emu_block *blocks;      /* those that are alive: a cluster, or all of a cooperative launch */
    int n_blocks;
    struct fiber *fibers;      /* of all of them */
    uint64_t *ready_warps;     /* a bit a warp, by its place: a lane of it is ready */
    char *stacks;
    size_t stacks_bytes;
    struct fiber *now;         /* the thread that runs */
    struct emu_thread **self;  /* where compiled code looks for it */
    void *outside;             /* stack of the one who runs the machine */
    unsigned long long random;
    long n_at_grid_barrier, n_live;
    long n_at_cluster;         /* threads that have arrived at the cluster's barrier, in this phase */
    unsigned cluster_phase;
    bool has_failed;
    char error[MACHINE_TEXT];
    const void *error_pc;      /* where, or NULL */
    struct fiber *culprit;     /* whose error it is, or NULL */
};

/* Blocks that are alive at once: those of a cluster, or all of a cooperative launch. */
static inline unsigned emu_alive(const struct emu_launch *l) { return l->is_cooperative ? l->grid : l->cluster; }

extern _Thread_local struct emu_machine *machine_now; /* that this operating-system thread runs, or NULL */
/* Ends the launch from within one of its threads. */
_Noreturn void machine_fail(struct emu_machine *m, const void *pc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Runs the launch; false with text in `error` of `size` bytes. */
bool machine_run(const struct emu_launch *launch, const struct emu_schedule *schedule, char *error, size_t size);

/* For async.c: a thread stops until it is made ready, others go on; a copy begins; one lands. */
void machine_stop(struct fiber *f, enum state state);
void machine_ready(struct fiber *f);
void machine_run_next(struct emu_machine *m);
void machine_copy(struct fiber *f, const struct copy *c);
void machine_send(struct fiber *f, const struct copy *c);
void machine_land(struct fiber *f, const struct copy *c);

/* ---- async.c: what goes on beside the threads on sm_90a ---- */
#define EMU_MAP 0x7e5045a9u
struct emu_map { /* a tensor map as the emulator encodes it */
    unsigned mark;
    unsigned char rank, bytes;         /* bytes: of an element */
    bool is_tf32;                      /* f32, rounded as they are fetched */
    bool is_im2col;                    /* then box has the channels and the pixels of a column */
    unsigned short box[FX_MAX_MAP_RANK];
    short lower[FX_MAX_SPATIAL], upper[FX_MAX_SPATIAL]; /* of such a map: the bounding box's corners */
    unsigned char steps[FX_MAX_SPATIAL];                /* likewise, from pixel to pixel */
    const char *base;
    uint64_t extents[FX_MAX_MAP_RANK], strides[FX_MAX_MAP_RANK - 1]; /* strides in bytes, from the second axis on */
};
enum { PIECE = 16 }; /* bytes that a swizzle leaves together: boxes begin at multiples and are copied in such */
/* Where shared memory that is swizzled in 128 bytes has the byte at an address. */
static inline unsigned swizzle_128(unsigned address) { return address ^ (address >> 7 & 7) << 4; }
/* As cuTensorMapEncodeTiled, for 16-bit elements swizzled in 128 bytes, in boxes as wide; it refuses what the driver
 * does. */
int emu_encode_map(struct cuda_tensor_map *out, int dtype, unsigned rank, void *address, const uint64_t *extents,
    const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int l2_promotion,
    int fill);
/* Likewise as cuTensorMapEncodeIm2col. */
int emu_encode_im2col(struct cuda_tensor_map *out, int dtype, unsigned rank, void *address, const uint64_t *extents,
    const uint64_t *strides, const int *lower, const int *upper, unsigned channels, unsigned pixels,
    const unsigned *steps, int interleave, int swizzle, int l2_promotion, int fill);
void call_mbarrier(struct emu_thread *self, enum emu_mbarrier what, unsigned at, unsigned value);
void call_named(struct emu_thread *self, int number, int threads, int waits);
void call_cluster(struct emu_thread *self, int waits);
void call_put(struct emu_thread *self, unsigned to, unsigned barrier);
void call_bulk(struct emu_thread *self, unsigned to, const void *from, int n_bytes, unsigned barrier);
void call_box(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at, int rank,
    unsigned blocks);
void call_pixels(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at,
    const unsigned short *offset, int rank);
void call_send(struct emu_thread *self, unsigned from, const void *map, const int *at, int rank);
/* Lands the boxes that threads wait for; whether that lets one go on. */
bool land_all(struct emu_machine *m);
/* wgmma.c: what the lanes of a warp ask of its warpgroup. */
void do_products(struct warp *w);

/* ---- watch.c, arguments.c: every access ---- */
enum { TIME_SHIFT = 32 }; /* of a stamp in global memory */
enum { KNOWN = 1, COMING = 2 }; /* a byte of shared memory: written, being copied to */
struct sight { /* a block's shared memory, and its time, which passes whenever threads wait for each other */
    unsigned *written, *read[2]; /* of each byte the stamp of who wrote it last, of two who read it since */
    unsigned char *state;
    unsigned time, since;        /* now; at which stamps count from 0 */
    unsigned all_time; /* at the last barrier of the whole block: what has an earlier time precedes all that follows */
    unsigned n_epochs;           /* barriers of the whole block so far */
    unsigned grid_time;          /* likewise at the last barrier of the grid */
    unsigned recent;             /* all_time as a stamp */
    unsigned *seen; /* [thread][warp]: what that warp did before this time precedes what the thread does now */
    unsigned
        *known; /* [block][warp]: likewise of other blocks, for all threads; NULL where blocks do not run together */
    unsigned **acquired; /* [thread]: what it has learnt of other blocks since the last barrier; NULL: nothing */
};

struct released { /* by a store that others acquire */
    const void *at;
    unsigned *known; /* [block][warp]: what they did before this time precedes what whoever acquires it does next */
};

struct emu_room { /* memory that a launch was given: accesses within it are right */
    const char *name;      /* of what it is */
    bool is_announced;     /* it is exactly that, not the allocation around it */
    char *at, *end;
    const char *base;      /* of the region, from which its shadow counts */
    struct shadow *shadow; /* NULL: nothing is noted */
    bool is_const;         /* nobody may write to it */
    bool is_output;        /* it is written once */
    unsigned fresh_time;   /* nothing written before that time may be read; 0: it was given with contents */
};

struct party { /* another access, with which one is in conflict */
    const char *at;
    unsigned block, thread;
    bool is_write;
    const void *pc;        /* NULL until it is known */
};

enum { MAX_PIECES = FX_MAX_PARAMS + FX_MAX_BUFFERS };
struct watch { /* the accesses of a launch */
    const struct emu_launch *launch;
    struct emu_room pieces[MAX_PIECES]; /* in the order of addresses, none overlapping */
    int n_pieces;
    const struct emu_room *last;        /* found */
    struct sight *sights;            /* of the blocks that are alive */
    int n_sights;
    unsigned start;                  /* time before the launch */
    struct party other;              /* of the conflict that was found; `at` NULL where none was */
    struct released *released;       /* what flags hold */
    int n_released, released_room;
    const struct emu_observer *observer; /* NULL: nobody is shown anything */
    uint64_t n_seen;                 /* accesses so far */
    unsigned n_phases;               /* barriers of the grid so far */
    char names[MAX_PIECES][80];      /* of parameters that were not announced, by piece as they were added */
    bool seeks;                      /* the launch runs once more, for the other's pc */
};
/* False when out of memory. */
bool watch_open(struct watch *w, const struct emu_launch *l);
/* A time after all that ended launches did. Times may be compared until as many have left as have entered. */
unsigned watch_enter(void);
void watch_leave(void);
void watch_close(struct watch *w);
/* arguments.c: its pieces; the one that holds an address, or NULL; what an address is to the launch. */
bool given_open(struct watch *w);
const struct emu_room *given_find(const struct watch *w, const char *at);
void given_describe(const struct watch *w, const char *at, char *text, size_t size);
/* A run begins: from the same time whenever it does. */
void watch_begin(struct watch *w, struct emu_machine *m);
void watch_begin_block(struct emu_block *b);
void watch_touch(struct emu_thread *self, const void *at, unsigned n_bytes, enum emu_access access, const void *pc);
/* What holds nothing yet may be read. */
void watch_release(struct emu_thread *self, const void *at);
void watch_acquire(struct emu_thread *self, const void *at);
/* A thread arrives where others wait; it may go on once others have arrived. `before`: by warp. */
void watch_signal(struct fiber *f, unsigned *before);
void watch_heed(struct fiber *f, const unsigned *before);
/* Likewise of what it knows of other blocks: *learnt, which the caller frees. */
void watch_tell(struct fiber *f, unsigned **learnt);
void watch_learn(struct fiber *f, const unsigned *learnt);
void watch_unwritten(struct emu_thread *self, unsigned at, int n_bytes);
/* An asynchronous copy is asked for; has landed, as far as its thread can tell. */
void watch_copy(struct fiber *f, const struct copy *c);
void watch_landed(struct fiber *f, const struct copy *c);
/* What a block of the cluster sends to that of f is under way, or has landed. */
void watch_sent(struct fiber *f, unsigned at, unsigned n, bool is_coming);
/* Threads have waited for each other: n of a block, all of it, all of the grid. */
void watch_some_met(struct emu_block *b, struct fiber *const *fibers, int n);
void watch_block_met(struct emu_block *b);
void watch_grid_met(struct emu_machine *m);

/* ---- warp_ops.c: what the lanes of a warp do together ---- */
double emu_f16(unsigned bits);
double emu_bf16(unsigned bits);
/* Of 8 bits: i8 or, is_second, u8; f8e4m3 or f8e5m2. */
double emu_byte(unsigned bits, bool is_integer, bool is_second);
void do_together(struct warp *w);

/* ---- fault.c: addresses nobody may touch ---- */
/* Catches faults of launches from now on; each operating-system thread that runs one enters first. */
bool fault_watch(void);
bool fault_enter(void);
/* "x_" of parameter 1 of "const float *w_, float *x_, ..". */
void parameter_name(const char *parameters, int i, char *name, size_t size);
/* "4 bytes behind the 400 of argument 2 of float *x_, ..": what an address is to a launch. */
void fault_describe(const struct emu_launch *l, const void *address, char *text, size_t size);

#endif
