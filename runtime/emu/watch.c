/* Checks every access of a launch. In: each load, store and copy before it is done, and each time that threads have
 * waited for each other. Out: nothing, or the end of the launch with the error: two accesses that nothing orders, one
 * of them a write; shared memory read before it is written; an access outside of what the launch was given, exact to
 * the byte.
 *
 * Time advances in a block whenever threads of it wait for each other. For every byte the shadow holds a stamp (time,
 * block, thread) of the last writer and of two readers since then, of different warps if possible. An access precedes
 * another in these cases: it is of the same thread; it is earlier than a barrier that both threads met at; or, for
 * blocks that run together, it is before a release that the other's thread, or one that it has met since, has acquired.
 * Shuffles and matrix operations order nothing. Invariant: a reported error is a conflict under any schedule, not only
 * in this run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"

enum { THREADS = 1023, BLOCK_SHIFT = 10, BLOCKS = (1 << 22) - 1, MOST_TIMES = 1 << 21 };

static unsigned clock_now = 1; /* later than all stamps of launches that have ended */
static int n_entered;          /* who count on what the clock said: as long as there is one it does not begin anew */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

unsigned watch_enter(void) {
    pthread_mutex_lock(&lock);
    if (n_entered++ == 0 && clock_now > 1u << 31) memory_forget(), clock_now = 1;
    unsigned now = clock_now;
    pthread_mutex_unlock(&lock);
    return now;
}

void watch_leave(void) {
    pthread_mutex_lock(&lock);
    n_entered--;
    pthread_mutex_unlock(&lock);
}

static unsigned clock_read(void) {
    pthread_mutex_lock(&lock);
    unsigned now = clock_now;
    pthread_mutex_unlock(&lock);
    return now;
}

static void clock_advance(unsigned to) {
    pthread_mutex_lock(&lock);
    if (to >= clock_now) clock_now = to + 1;
    pthread_mutex_unlock(&lock);
}

/* ---- opening ---- */

static void forget_acquired(const struct watch *w, struct sight *s) {
    for (unsigned i = 0; s->acquired && i < w->launch->n_threads; i++) {
        free(s->acquired[i]);
        s->acquired[i] = NULL;
    }
}

static void forget_released(struct watch *w) {
    for (int i = 0; i < w->n_released; i++) free(w->released[i].known);
    w->n_released = 0;
}

/* Words that say what is known of all warps of the grid. */
static size_t count_known(const struct emu_launch *l) { return (size_t)l->grid * ((l->n_threads + WARP - 1) / WARP); }

/* Room for what threads know of other blocks: in a cooperative launch, and where blocks tell each other. */
static bool know_others(const struct watch *w, struct sight *s) {
    if (!s->known) s->known = calloc(count_known(w->launch), sizeof *s->known);
    if (!s->acquired) s->acquired = calloc(w->launch->n_threads, sizeof *s->acquired);
    return s->known && s->acquired;
}

static bool open_sights(struct watch *w) {
    const struct emu_launch *l = w->launch;
    size_t n_warps = (l->n_threads + WARP - 1) / WARP;
    w->n_sights = (int)emu_alive(l);
    if (!(w->sights = calloc((size_t)w->n_sights, sizeof *w->sights))) return false;
    for (int i = 0; i < w->n_sights; i++) {
        struct sight *s = &w->sights[i];
        s->written = memory_zeros((size_t)l->shared_bytes * (3 * sizeof *s->written + 1));
        s->seen = calloc(l->n_threads * n_warps, sizeof *s->seen);
        if (!s->written || !s->seen) return false;
        if (l->is_cooperative && !know_others(w, s)) return false;
        s->read[0] = s->written + l->shared_bytes, s->read[1] = s->read[0] + l->shared_bytes;
        s->state = (unsigned char *)(s->read[1] + l->shared_bytes);
    }
    return true;
}

bool watch_open(struct watch *w, const struct emu_launch *l) {
    *w = (struct watch){.launch = l};
    watch_enter();
    if (given_open(w) && open_sights(w)) return true;
    watch_close(w);
    return false;
}

void watch_close(struct watch *w) {
    for (int i = 0; w->sights && i < w->n_sights; i++) {
        clock_advance(w->sights[i].time);
        memory_zeros_give(w->sights[i].written, (size_t)w->launch->shared_bytes * (3 * sizeof(unsigned) + 1));
        forget_acquired(w, &w->sights[i]);
        free(w->sights[i].seen);
        free(w->sights[i].known);
        free(w->sights[i].acquired);
    }
    forget_released(w);
    free(w->released);
    w->released = NULL, w->released_room = 0;
    free(w->sights);
    w->sights = NULL;
    watch_leave();
}

/* ---- time ---- */

static struct sight *sight_of(const struct fiber *f) { return f->warp->block->sight; }

static int index_of(const struct fiber *f) { return (int)f->view.thread.x; }

static unsigned *seen_by(const struct fiber *f) {
    return sight_of(f)->seen + (size_t)index_of(f) * (size_t)f->warp->block->n_warps;
}

static void set_time(struct fiber *f) {
    const struct sight *s = sight_of(f);
    f->time = s->time;
    f->stamp = (s->time - s->since) << BLOCK_SHIFT | (unsigned)index_of(f);
    f->global_stamp = (uint64_t)s->time << TIME_SHIFT | (uint64_t)(f->view.block.x & BLOCKS) << BLOCK_SHIFT |
                      (unsigned)index_of(f);
}

void watch_begin(struct watch *w, struct emu_machine *m) {
    for (int i = 0; i < w->n_sights; i++) clock_advance(w->sights[i].time);
    w->start = clock_read();
    w->n_phases = 0;
    forget_released(w);
    for (int i = 0; i < w->n_sights; i++) {
        struct sight *s = &w->sights[i];
        if (s->time) memset(s->written, 0, (size_t)w->launch->shared_bytes * 3 * sizeof *s->written);
        memset(s->seen, 0, w->launch->n_threads * (size_t)m->blocks[0].n_warps * sizeof *s->seen);
        if (s->known) memset(s->known, 0, count_known(w->launch) * sizeof *s->known);
        forget_acquired(w, s);
        s->time = s->since = s->all_time = s->grid_time = w->start;
        m->blocks[i].sight = s;
    }
}

static void join(unsigned *known, const unsigned *other, size_t n) {
    for (size_t i = 0; other && i < n; i++)
        if (other[i] > known[i]) known[i] = other[i];
}

void watch_block_met(struct emu_block *b) {
    struct sight *s = b->sight;
    for (int i = 0; s->acquired && i < b->n_threads; i++)
        join(s->known, s->acquired[i], count_known(machine_now->launch));
    forget_acquired(machine_now->launch->watch, s);
    size_t n = (size_t)b->warps[0].fibers[0].view.shared_bytes;
    if (s->time - s->since > MOST_TIMES) { /* everything before is over: stamps begin anew */
        memset(s->written, 0, n * 3 * sizeof *s->written);
        s->since = s->time;
    }
    s->all_time = ++s->time;
    s->n_epochs++;
    s->recent = (s->all_time - s->since) << BLOCK_SHIFT;
    for (int i = 0; i < b->n_threads; i++) set_time(&b->warps[0].fibers[i]);
}

void watch_begin_block(struct emu_block *b) {
    struct sight *s = b->sight;
    memset(s->state, 0, b->warps[0].fibers[0].view.shared_bytes);
    forget_acquired(machine_now->launch->watch, s);
    if (s->known) memset(s->known, 0, count_known(machine_now->launch) * sizeof *s->known);
    watch_block_met(b);
    b->sight->n_epochs = 0;
}

void watch_grid_met(struct emu_machine *m) {
    m->launch->watch->n_phases++;
    for (int i = 0; i < m->n_blocks; i++) {
        watch_block_met(&m->blocks[i]);
        m->blocks[i].sight->grid_time = m->blocks[i].sight->time;
    }
}

/* What it has learnt by itself, to be added to; nothing so far where there was none. */
static unsigned *acquired_by(const struct fiber *f) {
    struct emu_machine *m = machine_now;
    unsigned **known = &sight_of(f)->acquired[index_of(f)];
    if (!*known && !(*known = calloc(count_known(m->launch), sizeof **known))) machine_fail(m, NULL, "out of memory");
    return *known;
}

/* What any of them has learnt of other blocks all of them know. */
static void join_acquired(struct emu_block *b, struct fiber *const *fibers, int n) {
    struct sight *s = b->sight;
    const struct fiber *first = NULL;
    size_t n_known = count_known(machine_now->launch);
    for (int i = 0; s->acquired && i < n; i++) {
        if (!s->acquired[index_of(fibers[i])]) continue;
        if (!first) first = fibers[i];
        join(acquired_by(first), acquired_by(fibers[i]), n_known);
    }
    for (int i = 0; first && i < n; i++) join(acquired_by(fibers[i]), acquired_by(first), n_known);
}

void watch_some_met(struct emu_block *b, struct fiber *const *fibers, int n) {
    struct sight *s = b->sight;
    unsigned joined[WARP] = {0};
    s->time++;
    join_acquired(b, fibers, n);
    for (int i = 0; i < n; i++)
        for (int w = 0; w < b->n_warps; w++)
            if (seen_by(fibers[i])[w] > joined[w]) joined[w] = seen_by(fibers[i])[w];
    for (int i = 0; i < n; i++) joined[fibers[i]->warp->number] = s->time;
    for (int i = 0; i < n; i++) {
        memcpy(seen_by(fibers[i]), joined, (size_t)b->n_warps * sizeof *joined);
        set_time(fibers[i]);
    }
}

static struct released *released_at(struct watch *w, const void *at) {
    for (int i = 0; i < w->n_released; i++)
        if (w->released[i].at == at) return &w->released[i];
    return NULL;
}

static struct released *add_released(struct emu_machine *m, const void *at, size_t n) {
    struct watch *w = m->launch->watch;
    if (w->n_released == w->released_room) {
        int room = w->released_room ? 2 * w->released_room : 64;
        struct released *more = realloc(w->released, (size_t)room * sizeof *more);
        if (!more) machine_fail(m, NULL, "out of memory");
        w->released = more, w->released_room = room;
    }
    struct released *r = &w->released[w->n_released];
    *r = (struct released){.at = at, .known = calloc(n, sizeof *r->known)};
    if (!r->known) machine_fail(m, NULL, "out of memory");
    w->n_released++;
    return r;
}

/* All of f's own block that precedes it, what its warp has done so far, and what it knows of other blocks. Of its warp
 * the other lanes pass for it. */
void watch_release(struct emu_thread *self, const void *at) {
    struct fiber *f = (struct fiber *)self;
    struct emu_machine *m = machine_now;
    struct sight *s = sight_of(f);
    if (!know_others(m->launch->watch, s)) machine_fail(m, NULL, "out of memory");
    size_t n_warps = (size_t)f->warp->block->n_warps, n = count_known(m->launch);
    struct released *r = released_at(m->launch->watch, at);
    if (!r) r = add_released(m, at, n);
    memcpy(r->known, s->known, n * sizeof *r->known);
    join(r->known, s->acquired[index_of(f)], n);
    unsigned *own = r->known + (size_t)f->view.block.x * n_warps;
    for (size_t w = 0; w < n_warps; w++) own[w] = s->all_time;
    join(own, seen_by(f), n_warps);
    own[f->warp->number] = ++s->time;
    set_time(f);
}

void watch_acquire(struct emu_thread *self, const void *at) {
    struct fiber *f = (struct fiber *)self;
    const struct released *r = released_at(machine_now->launch->watch, at);
    if (!r) return;
    if (!know_others(machine_now->launch->watch, sight_of(f))) machine_fail(machine_now, NULL, "out of memory");
    join(acquired_by(f), r->known, count_known(machine_now->launch));
}

/* Of a warp one lane passes for all. */
void watch_signal(struct fiber *f, unsigned *before) {
    join(before, seen_by(f), f->warp->block->n_warps);
    before[f->warp->number] = ++sight_of(f)->time;
    set_time(f);
}

void watch_heed(struct fiber *f, const unsigned *before) { join(seen_by(f), before, f->warp->block->n_warps); }

void watch_tell(struct fiber *f, unsigned **learnt) {
    const struct sight *s = sight_of(f);
    size_t n = count_known(machine_now->launch);
    if (!s->acquired || !s->acquired[index_of(f)]) return;
    if (!*learnt && !(*learnt = calloc(n, sizeof **learnt))) machine_fail(machine_now, NULL, "out of memory");
    join(*learnt, s->acquired[index_of(f)], n);
}

void watch_learn(struct fiber *f, const unsigned *learnt) {
    if (learnt) join(acquired_by(f), learnt, count_known(machine_now->launch));
}

/* Whether what `thread` of f's block did at that time precedes what f does now. */
static bool precedes(const struct fiber *f, unsigned thread, unsigned time) {
    return thread == f->view.thread.x || time < sight_of(f)->all_time || time < seen_by(f)[thread / WARP];
}

static bool stamp_precedes(const struct fiber *f, unsigned stamp) {
    return stamp < sight_of(f)->recent || precedes(f, stamp & THREADS, (stamp >> BLOCK_SHIFT) + sight_of(f)->since);
}

static bool global_precedes(const struct fiber *f, uint64_t stamp) {
    const struct emu_machine *m = machine_now;
    unsigned block = (unsigned)(stamp >> BLOCK_SHIFT) & BLOCKS, time = (unsigned)(stamp >> TIME_SHIFT);
    if (time <= m->launch->watch->start) return true;
    if (block == f->view.block.x) return precedes(f, stamp & THREADS, time);
    const unsigned *known = sight_of(f)->known;
    if (!known || block >= m->launch->grid) return false;
    const unsigned *acquired = sight_of(f)->acquired[index_of(f)];
    unsigned place = block * (unsigned)f->warp->block->n_warps + (unsigned)(stamp & THREADS) / WARP;
    return (m->launch->is_cooperative && time < m->blocks[block].sight->grid_time) || time < known[place] ||
           (acquired && time < acquired[place]);
}

/* ---- what is wrong ---- */

static const char *const verbs[] = {"reads", "writes", "copies"};

static void describe_other(const struct fiber *f, const struct party *o, char *text, size_t size) {
    char line[384] = "", block[32] = "";
    if (o->pc) seen_line(machine_now->launch->module, o->pc, line, sizeof line);
    if (o->block != f->view.block.x) snprintf(block, sizeof block, " of block %u", o->block);
    snprintf(text, size, "thread %u%s %s%s%s", o->thread, block, o->is_write ? "writes" : "reads", *line ? " at " : "",
        line);
}

/* Ends the launch: what f does is in conflict with what the other party did. */
_Noreturn static void fail_conflict(
    const struct fiber *f, unsigned n, enum emu_access access, const void *pc, struct party other) {
    struct emu_machine *m = machine_now;
    struct watch *w = m->launch->watch;
    char where[256], who[512];
    if (w->seeks && w->other.at == other.at && !other.pc) other.pc = w->other.pc;
    w->other = other;
    given_describe(w, other.at, where, sizeof where);
    describe_other(f, &other, who, sizeof who);
    machine_fail(m, pc, "%s %u bytes at %s, which %s, and nothing orders the two", verbs[access], n, where, who);
}

_Noreturn static void fail_unwritten(const char *at, unsigned n, const void *pc) {
    char where[256];
    given_describe(machine_now->launch->watch, at, where, sizeof where);
    machine_fail(machine_now, pc, "reads %u bytes that nobody has written: %s", n, where);
}

/* A byte of shared memory that a copy under way writes. */
_Noreturn static void fail_coming(
    const struct fiber *f, const char *byte, unsigned n, enum emu_access access, const void *pc) {
    const struct emu_block *b = f->warp->block;
    struct party other = {.at = byte, .block = b->number, .is_write = true};
    char where[256], who[512];
    for (int i = 0; i < b->n_threads; i++) {
        const struct fiber *g = &b->warps[0].fibers[i];
        for (int c = 0; c < g->n_copies; c++)
            if (byte >= g->copies[c].to && byte < g->copies[c].to + g->copies[c].n_bytes)
                other.thread = g->view.thread.x, other.pc = g->copies[c].pc;
    }
    fault_describe(machine_now->launch, byte, where, sizeof where);
    describe_other(f, &other, who, sizeof who);
    machine_fail(
        machine_now, pc, "%s %u bytes at %s, where a copy has not been waited for: %s", verbs[access], n, where, who);
}

/* ---- shared memory ---- */

_Noreturn static void fail_shared(const struct fiber *f, unsigned n, unsigned byte, enum emu_access access,
    const void *pc, unsigned stamp, bool is_write) {
    fail_conflict(f, n, access, pc,
        (struct party){
            .at = f->view.shared + byte, .block = f->view.block.x, .thread = stamp & THREADS, .is_write = is_write});
}

/* The fast way has found something: what it is, if anything. */
static __attribute__((noinline)) void check_shared(
    const struct fiber *f, unsigned at, unsigned n, enum emu_access access, const void *pc) {
    const struct sight *s = sight_of(f);
    for (unsigned i = at; i < at + n; i++) {
        char *byte = f->view.shared + i;
        if (s->state[i] & COMING) fail_coming(f, byte, n, access, pc);
        if (access == EMU_READ && !(s->state[i] & KNOWN)) fail_unwritten(byte, n, pc);
        if (!stamp_precedes(f, s->written[i])) fail_shared(f, n, i, access, pc, s->written[i], true);
        for (int r = 0; r < 2; r++)
            if (access != EMU_READ && !stamp_precedes(f, s->read[r][i]))
                fail_shared(f, n, i, access, pc, s->read[r][i], false);
    }
}

/* Two of the readers that nothing orders are enough to find a write in conflict with any: two threads, of two warps
 * where possible. */
static __attribute__((noinline)) void note_readers(const struct fiber *f, unsigned at, unsigned n) {
    const struct sight *s = sight_of(f);
    for (unsigned i = at, step; i < at + n; i += step) {
        unsigned *a = &s->read[0][i], *b = &s->read[1][i], *to = stamp_precedes(f, *a) ? a : NULL;
        if (!to && (stamp_precedes(f, *b) || (*a & THREADS) / WARP == (*b & THREADS) / WARP)) to = b;
        for (step = 1; i + step < at + n && a[step] == *a && b[step] == *b;) step++; /* bytes that were read together */
        for (unsigned j = step; to && j-- > 0;) to[j] = f->stamp;
    }
}

static inline __attribute__((always_inline)) bool is_other(unsigned stamp, unsigned recent, unsigned self) {
    return (stamp >= recent) & (((stamp ^ self) & THREADS) != 0);
}

static inline __attribute__((always_inline)) void read_shared(
    const struct fiber *f, unsigned at, unsigned n, const void *pc) {
    const struct sight *s = sight_of(f);
    unsigned recent = s->recent, self = f->stamp, found = 0, others = 0, *first = s->read[0] + at;
    for (unsigned i = 0; i < n; i++) found |= is_other(s->written[at + i], recent, self) | (s->state[at + i] != KNOWN);
    for (unsigned i = 0; i < n; i++) others |= is_other(first[i], recent, self);
    if (found) check_shared(f, at, n, EMU_READ, pc);
    if (others) note_readers(f, at, n);
    else
        for (unsigned i = 0; i < n; i++) first[i] = self;
}

static inline __attribute__((always_inline)) void write_shared(
    const struct fiber *f, unsigned at, unsigned n, enum emu_access access, const void *pc) {
    const struct sight *s = sight_of(f);
    unsigned recent = s->recent, self = f->stamp, found = 0;
    for (unsigned i = 0; i < n; i++)
        found |= is_other(s->written[at + i], recent, self) | is_other(s->read[0][at + i], recent, self) |
                 is_other(s->read[1][at + i], recent, self) | (s->state[at + i] & COMING);
    if (found) check_shared(f, at, n, access, pc);
    for (unsigned i = 0; i < n; i++) s->written[at + i] = self;
    memset(s->state + at, access == EMU_COPY ? COMING : KNOWN, n);
}

static void touch_shared(const struct fiber *f, unsigned at, unsigned n, enum emu_access access, const void *pc) {
    if (machine_now->launch->watch->observer) seen_tell(f, NULL, at, n, access, pc);
    bool is_read = access == EMU_READ;
    switch (n) { /* the compiler unrolls each */
    case 2: is_read ? read_shared(f, at, 2, pc) : write_shared(f, at, 2, access, pc); break;
    case 4: is_read ? read_shared(f, at, 4, pc) : write_shared(f, at, 4, access, pc); break;
    case 8: is_read ? read_shared(f, at, 8, pc) : write_shared(f, at, 8, access, pc); break;
    case 16: is_read ? read_shared(f, at, 16, pc) : write_shared(f, at, 16, access, pc); break;
    default: is_read ? read_shared(f, at, n, pc) : write_shared(f, at, n, access, pc);
    }
}

/* Where the launch runs again to find who the other is: the last access of that thread before the conflict is it. */
static void seek(const struct fiber *f, const char *at, unsigned n, enum emu_access access, const void *pc) {
    struct party *o = &machine_now->launch->watch->other;
    if (o->at >= at && o->at < at + n && o->thread == f->view.thread.x && o->block == f->view.block.x &&
        o->is_write == (access != EMU_READ))
        o->pc = pc;
}

void watch_copy(struct fiber *f, const struct copy *c) {
    unsigned at = (unsigned)(c->to - f->view.shared);
    if (c->n_valid) watch_touch(&f->view, c->from, (unsigned)c->n_valid, EMU_READ, c->pc);
    if (c->is_sent) {
        watch_sent(f, at, (unsigned)c->n_bytes, true);
        return;
    }
    if (machine_now->launch->watch->seeks) seek(f, c->to, (unsigned)c->n_bytes, EMU_COPY, c->pc);
    touch_shared(f, at, (unsigned)c->n_bytes, EMU_COPY, c->pc);
}

void watch_unwritten(struct emu_thread *self, unsigned at, int n_bytes) {
    unsigned char *state = sight_of((struct fiber *)self)->state;
    for (unsigned i = at - EMU_ADDRESS_0; i < at - EMU_ADDRESS_0 + (unsigned)n_bytes && i < self->shared_bytes; i++)
        state[i] |= KNOWN;
}

/* Bytes that another block of the cluster sends to that of f: under way, or there. What orders them behind accesses of
 * the block's own threads is not known. */
void watch_sent(struct fiber *f, unsigned at, unsigned n, bool is_coming) {
    const struct sight *s = sight_of(f);
    memset(s->state + at, is_coming ? COMING : KNOWN, n);
    for (unsigned i = at; i < at + n; i++) s->written[i] = f->stamp;
}

/* From its issue on nobody has touched these bytes. */
void watch_landed(struct fiber *f, const struct copy *c) {
    const struct sight *s = sight_of(f);
    unsigned at = (unsigned)(c->to - f->view.shared);
    for (unsigned i = at; i < at + (unsigned)c->n_bytes; i++) s->written[i] = f->stamp;
    memset(s->state + at, KNOWN, (size_t)c->n_bytes);
}

/* ---- global memory ---- */

_Noreturn static void fail_global(const struct fiber *f, unsigned n, const char *byte, enum emu_access access,
    const void *pc, uint64_t stamp, bool is_write) {
    fail_conflict(f, n, access, pc,
        (struct party){.at = byte,
            .block = (unsigned)(stamp >> BLOCK_SHIFT) & BLOCKS,
            .thread = stamp & THREADS,
            .is_write = is_write});
}

/* An output that is given a value is not given another within a launch. */
_Noreturn static void fail_twice(const struct fiber *f, const char *byte, unsigned n, const void *pc, uint64_t stamp) {
    struct watch *w = machine_now->launch->watch;
    struct party other = {
        .at = byte, .block = (unsigned)(stamp >> BLOCK_SHIFT) & BLOCKS, .thread = stamp & THREADS, .is_write = true};
    char where[256], who[512];
    if (w->seeks && w->other.at == byte && (other.thread != f->view.thread.x || other.block != f->view.block.x))
        other.pc = w->other.pc;
    w->other = other;
    given_describe(w, byte, where, sizeof where);
    describe_other(f, &other, who, sizeof who);
    machine_fail(machine_now, pc, "writes %u bytes that hold a result already, at %s: %s", n, where, who);
}

static __attribute__((noinline)) void check_global(const struct fiber *f, const struct emu_room *p, const char *at,
    unsigned n, enum emu_access access, const void *pc) {
    const struct shadow *s = p->shadow;
    for (const char *byte = at; byte < at + n; byte++) {
        size_t i = (size_t)(byte - p->base);
        if (access == EMU_READ && s->written[i] >> TIME_SHIFT < p->fresh_time) fail_unwritten(byte, n, pc);
        if (!global_precedes(f, s->written[i])) fail_global(f, n, byte, access, pc, s->written[i], true);
        for (int r = 0; r < 2; r++)
            if (access != EMU_READ && !global_precedes(f, s->read[r][i]))
                fail_global(f, n, byte, access, pc, s->read[r][i], false);
    }
}

static void read_global(const struct fiber *f, const struct emu_room *p, const char *at, unsigned n, const void *pc) {
    check_global(f, p, at, n, EMU_READ, pc);
    for (size_t i = (size_t)(at - p->base); i < (size_t)(at - p->base) + n; i++) {
        uint64_t *a = &p->shadow->read[0][i], *b = &p->shadow->read[1][i];
        if (global_precedes(f, *a)) *a = f->global_stamp;
        else if (global_precedes(f, *b) || (*a & ~(uint64_t)31) << TIME_SHIFT == (*b & ~(uint64_t)31) << TIME_SHIFT)
            *b = f->global_stamp;
    }
}

static void write_global(const struct fiber *f, const struct emu_room *p, const char *at, unsigned n, const void *pc) {
    const struct shadow *s = p->shadow;
    size_t offset = (size_t)(at - p->base);
    uint64_t before = (uint64_t)(machine_now->launch->watch->start + 1) << TIME_SHIFT, found = 0;
    for (unsigned i = 0; i < n; i++) found |= (s->written[offset + i] >= before) | (s->read[0][offset + i] >= before);
    found = found && !f->view.overwrites;
    if (found) check_global(f, p, at, n, EMU_WRITE, pc);
    for (unsigned i = 0; found && p->is_output && i < n; i++)
        if (s->written[offset + i] >= before) fail_twice(f, at + i, n, pc, s->written[offset + i]);
    for (unsigned i = 0; i < n; i++) s->written[offset + i] = f->global_stamp;
}

static void touch_global(const struct fiber *f, const char *at, unsigned n, enum emu_access access, const void *pc) {
    struct emu_machine *m = machine_now;
    struct watch *w = m->launch->watch;
    const struct emu_room *p = w->last;
    char where[256];
    if (!p || at < p->at || at >= p->end) w->last = p = given_find(w, at);
    if (!p && module_holds(m->launch->module, at)) return;
    if (!p || n > (size_t)(p->end - at)) {
        given_describe(w, p ? p->end : at, where, sizeof where);
        machine_fail(m, pc, "%s outside of what it was given: %s", verbs[access], where);
    }
    if (p->is_const && access == EMU_WRITE) {
        given_describe(w, at, where, sizeof where);
        machine_fail(m, pc, "writes %u bytes to what is only to be read: %s", n, where);
    }
    if (w->observer) seen_tell(f, p->name, (uint64_t)(at - p->at), n, access, pc);
    if (!p->shadow) return;
    if (access == EMU_READ) read_global(f, p, at, n, pc);
    else write_global(f, p, at, n, pc);
}

/* ---- every access ---- */

void watch_touch(struct emu_thread *self, const void *address, unsigned n, enum emu_access access, const void *pc) {
    struct fiber *f = (struct fiber *)self;
    const char *at = address;
    size_t offset = (size_t)(at - self->shared);
    if (machine_now->launch->watch->seeks) seek(f, at, n, access, pc);
    if (offset < self->shared_bytes && n <= self->shared_bytes - offset)
        touch_shared(f, (unsigned)offset, n, access, pc);
    else touch_global(f, at, n, access, pc);
}
