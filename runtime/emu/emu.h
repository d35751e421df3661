/* What the files of the emulator share, in sections by file. A launch is a struct machine, which one operating-system thread runs from beginning to end;
 * several may run at once, of different modules. */
#ifndef EMU_H
#define EMU_H

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include "calls.h"
#include "runtime.h"

/* ---- fiber.c, switch.S: stacks ---- */
/* Memory for the stacks of a launch, as many bytes or more; NULL where there is none. */
char *stacks_take(size_t *n_bytes);
void stacks_give(char *at, size_t n_bytes);
/* Leaves the running stack, noted in *from, for another. */
void emu_switch(void **from, void *to);
/* What a switch to the result begins: `start`, at the top of an empty stack, which never returns. */
void *fiber_begin(char *stack, size_t n_bytes, void (*start)(void));

/* ---- memory.c: what the driver would call device memory ---- */
struct region { /* an allocation: unreadable pages around it, and what of its own pages it does not fill holds a pattern */
    struct region *next;
    char *mapped;         /* with the pages around it */
    size_t n_mapped;
    char *at;             /* the allocation */
    size_t n_bytes;
    char *pages;          /* those that may be touched */
    size_t n_pages_bytes;
};
/* NULL when there is no memory. The allocation ends where its pages do: so it is aligned as its size is. */
char *memory_take(size_t n_bytes);
bool memory_give(char *at);
/* The region that holds the address, pages around it included, or NULL. */
const struct region *memory_find(const void *address);
/* Whether the pattern before it was written to, at *offset from its start; the pattern is mended. */
bool memory_is_broken(const struct region *r, long *offset);
/* Shared memory of a block: pages with unreadable ones around, aligned to 1024 bytes, at the end of its pages as far as that allows. */
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
    char *name;               /* of the entry, once asked for */
    pthread_mutex_t lock;     /* held while a launch of it runs: emu_self is one a module */
};
int module_open(struct module **out, const void *image);
void module_close(struct module *m);
/* "line 12" or "line 12, inlined at line 30": of the emitted file, "" where it cannot be said. */
void module_line(const struct module *m, const void *pc, char *text, size_t size);

/* ---- machine.c: a launch ---- */
enum { WARP = 32, STACK_BYTES = 1 << 17, N_BARRIERS = 16, MACHINE_TEXT = 2048 };
enum order { ORDER_UP, ORDER_DOWN, ORDER_RANDOM };
enum state { READY, AT_BARRIER, AT_OPERATION, AT_GRID_BARRIER, RETURNED };

struct copy { /* an asynchronous copy under way */
    char *to;
    const char *from;
    int n_bytes;
    bool is_valid;
    int group;
};

struct fiber { /* a CUDA thread */
    struct emu_thread view; /* first: what compiled code calls self */
    void *stack_pointer;    /* while it does not run */
    char *stack;
    struct warp *warp;
    int lane;
    enum state state;
    int barrier;            /* at which it waits */
    struct copy *copies;    /* those that have not landed */
    int n_copies, copies_room;
    int n_groups;           /* committed so far */
};

struct warp {
    struct block *block;
    struct fiber *fibers;
    int n;                     /* lanes */
    int number;                /* in its block */
    unsigned ready;            /* lanes that can run, a bit each */
    unsigned arrived;          /* lanes at the operation */
    enum emu_operation operation;
    unsigned operand;
};

struct block {
    unsigned number;
    struct warp *warps;
    int n_warps, n_threads;
    int n_live;                /* threads that have not returned */
    int n_arrived[N_BARRIERS]; /* threads at each barrier */
    int n_expected[N_BARRIERS];
    struct shared shared;
};

struct schedule { /* how threads take turns, and when copies land */
    enum order order;
    unsigned long long seed; /* of ORDER_RANDOM */
    bool is_late;            /* copies land when they are waited for, their bytes poison until then; else at once */
};

struct launch {
    struct module *module;
    unsigned grid, n_threads, shared_bytes;
    bool is_cooperative;
    void **arguments;
};

struct machine {
    const struct launch *launch;
    struct schedule schedule;
    struct block *blocks;      /* those that are alive: one, or all of a cooperative launch */
    int n_blocks;
    struct fiber *fibers;      /* of all of them */
    char *stacks;
    size_t stacks_bytes;
    struct fiber *now;         /* the thread that runs */
    void *outside;             /* stack of the one who runs the machine */
    unsigned long long random;
    long n_at_grid_barrier, n_live;
    bool has_failed;
    char error[MACHINE_TEXT];
    const void *error_pc;      /* where, or NULL */
    struct fiber *culprit;     /* whose error it is, or NULL */
};

extern _Thread_local struct machine *machine_now; /* that this operating-system thread runs, or NULL */
/* Ends the launch from within one of its threads. */
_Noreturn void machine_fail(struct machine *m, const void *pc, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Runs the launch; false with text in `error` of `size` bytes. */
bool machine_run(const struct launch *launch, const struct schedule *schedule, char *error, size_t size);

/* ---- together.c: what the lanes of a warp do together ---- */
void do_together(struct warp *w);

/* ---- fault.c: addresses nobody may touch ---- */
/* Catches faults of launches from now on; each operating-system thread that runs one enters first. */
bool fault_watch(void);
bool fault_enter(void);
/* "4 bytes behind the 400 of argument 2 of float *x_, ..": what an address is to a launch. */
void fault_describe(const struct launch *l, const void *address, char *text, size_t size);

#endif
