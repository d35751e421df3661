/* Observers of a launch: they are shown every access with the thread, the place and the order, and the counts made of
 * that. Invariant: an observer changes nothing of what it sees. */
#ifndef EMU_OBSERVER_H
#define EMU_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

struct emu_seen_launch { /* of one entry */
    const char *entry;
    unsigned grid, n_threads, shared_bytes;
    unsigned n_alive; /* blocks that run at the same time: those of a cluster, or all of a cooperative launch */
};

struct emu_seen { /* an access, before it is done */
    const char *memory; /* its tensor or buffer by the name it has in the plan, else the parameter's; NULL: the block's
                         * shared memory. It ends with the launch */
    uint64_t offset;        /* of its first byte in that */
    unsigned n_bytes;
    enum emu_access access; /* EMU_COPY: what an asynchronous copy writes to shared memory, when it is asked for; what
                               it reads is an EMU_READ just before */
    unsigned block, thread;
    unsigned phase;         /* barriers of the grid before it */
    unsigned epoch;         /* barriers of the whole block before it */
    unsigned turn; /* times that the thread has waited for any others: the same for the lanes of a warp that are at the
                      same place */
    uint64_t order;         /* accesses of the launch before it */
    const void *pc;         /* where, for emu_lines */
};

struct emu_observer {
    void *data; /* given to each; any of them may be NULL */
    void (*begin)(void *data, const struct emu_seen_launch *launch);
    void (*access)(void *data, const struct emu_seen *seen);
    void (*end)(void *data, bool is_fine); /* emu_lines may be asked */
};

/* From now on the watched schedule of every launch is shown to the observer, which must outlive that; NULL: to nobody.
 * Launches of several threads at the same time are not told apart. */
void emu_observe(const struct emu_observer *observer);

enum { EMU_DEPTH = 8 };
struct emu_line { /* where an instruction comes from */
    int lines[EMU_DEPTH]; /* of the emitted file: its own, that within which this is inlined, ..; 0 behind the last */
    int spec_line;        /* that a comment of the emitted file names there; 0: none */
};
/* Of instructions of the launch that is ending. */
void emu_lines(const void *const *pcs, int n, struct emu_line *out);

/* ---- count.c ---- */
struct emu_count { /* what the warps asked of memory in one place */
    struct emu_line line;
    bool is_shared;
    enum emu_access access;
    uint64_t n_requests; /* of a warp: its lanes at one place, the same time they come there */
    uint64_t
        n_taken; /* passes through shared memory; sectors of 32 bytes of global memory, where tensors begin with one */
    uint64_t n_least;    /* what the same bytes take where no two lanes meet in a bank; where they lie together */
};
struct emu_counter;
struct emu_counter *emu_counter_open(void); /* NULL: out of memory */
void emu_counter_close(struct emu_counter *c);
const struct emu_observer *emu_counter_observer(struct emu_counter *c);
/* Of the last launch that it has seen, in the order in which the places were met; valid until the next. *n is -1 where
 * memory has run out. */
const struct emu_count *emu_counter_result(const struct emu_counter *c, int *n);

#endif
