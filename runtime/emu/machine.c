/* A launch on the CPU. In: compiled code, grid, block, arguments, and how threads take turns. Out: memory as the kernel
 * leaves it, or what went wrong.
 *
 * Every CUDA thread is a fiber; blocks run one after another, those of a cluster or of a cooperative launch together. A
 * fiber runs until it waits for others: at a barrier, or for the lanes of its warp. Invariant: one fiber runs at a
 * time, and which one is next follows from the schedule alone. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"

_Thread_local struct emu_machine *machine_now;

static const uint64_t STACK_END = 0x5afe57ac5afe57acu; /* at the far end of a stack: overwritten, it was too small */

/* ---- ending ---- */

_Noreturn void machine_fail(struct emu_machine *m, const void *pc, const char *format, ...) {
    void *scrap;
    va_list ap;
    va_start(ap, format);
    vsnprintf(m->error, sizeof m->error, format, ap);
    va_end(ap);
    m->has_failed = true;
    m->error_pc = pc;
    m->culprit = m->now;
    fiber_switch(&scrap, m->outside, NULL);
    __builtin_unreachable();
}

/* ---- taking turns ---- */

static inline unsigned draw(struct emu_machine *m, unsigned below) {
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((m->random >> 33) % below);
}

/* A ready lane of the warp, beginning behind (in its order) lane `after`; there is one. */
static inline struct fiber *lane_of(struct emu_machine *m, struct warp *w, int after) {
    unsigned ready = w->ready;
    if (m->schedule.order == ORDER_RANDOM) {
        unsigned above = ready & (~0u << draw(m, WARP));
        return &w->fibers[__builtin_ctz(above ? above : ready)];
    }
    if (m->schedule.order == ORDER_DOWN) {
        unsigned below = after >= WARP ? ready : ready & ((1u << after) - 1);
        return &w->fibers[31 - __builtin_clz(below ? below : ready)];
    }
    unsigned above = after < 0 ? ready : ready & ~(((1u << after) - 1) | 1u << after);
    return &w->fibers[__builtin_ctz(above ? above : ready)];
}

enum { BITS = 64 }; /* of a word of ready_warps */

/* The first place from `from` on, or up to `from` and downwards, whose bit is set and which is below n; -1 where there
 * is none. */
static int ready_above(const struct emu_machine *m, int from, int n) {
    for (int at = from / BITS; at * BITS < n; at++) {
        uint64_t bits = m->ready_warps[at] & (at == from / BITS ? ~(uint64_t)0 << from % BITS : ~(uint64_t)0);
        if (bits) return at * BITS + __builtin_ctzll(bits);
    }
    return -1;
}
static int ready_below(const struct emu_machine *m, int from) {
    for (int at = from / BITS; from >= 0 && at >= 0; at--) {
        uint64_t bits = m->ready_warps[at];
        if (at == from / BITS) bits &= ~(uint64_t)0 >> (BITS - 1 - from % BITS);
        if (bits) return at * BITS + BITS - 1 - __builtin_clzll(bits);
    }
    return -1;
}

/* A warp with a ready lane, other than `now` unless there is no other; NULL where nobody can run. All others are gone
 * through from the next one on, or from one that is drawn. */
static struct warp *warp_of(struct emu_machine *m, struct warp *now) {
    int n = m->blocks[0].n_warps * m->n_blocks, at = now->place, found;
    uint64_t *own = &m->ready_warps[at / BITS], bit = (uint64_t)1 << at % BITS, was = *own & bit;
    *own &= ~bit;
    if (m->schedule.order == ORDER_DOWN) {
        found = ready_below(m, at - 1);
        if (found < 0) found = ready_below(m, n - 1);
    } else {
        int first = m->schedule.order == ORDER_RANDOM ? (int)draw(m, (unsigned)n) : 0;
        found = ready_above(m, n > 1 ? (at + 1 + first % (n - 1)) % n : 0, n);
        if (found < 0) found = ready_above(m, 0, n);
    }
    *own |= was;
    if (found < 0 && was) found = at;
    return found < 0 ? NULL : &m->blocks[0].warps[found];
}

static const char *const operations[] = {"", "shuffle_xor", "shuffle_up", "shuffle_from", "ldmatrix", "ldmatrix_trans", "mma_f16",
    "mma_bf16", "mma_tf32", "mma_i8_i8", "mma_i8_u8", "mma_u8_i8", "mma_u8_u8", "mma_e4m3_e4m3", "mma_e5m2_e4m3",
    "mma_e4m3_e5m2", "mma_e5m2_e5m2", "mma_f64", "warp barrier", "wgmma",
    "wgmma_begin", "wgmma_commit", "wgmma_wait", "setmaxnreg"};

/* Nobody can go on: says who waits for whom. */
static void describe_deadlock(const struct emu_machine *m, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "deadlock:");
    for (int b = 0, n_said = 0; b < m->n_blocks && n_said < 4; b++) {
        const struct emu_block *block = &m->blocks[b];
        int n_returned = block->n_threads - block->n_live, n_grid = 0, n_memory = 0, n_named = 0, n_cluster = 0;
        for (int i = 0; i < block->n_threads; i++) {
            n_grid += block->warps[0].fibers[i].state == AT_GRID_BARRIER;
            n_memory += block->warps[0].fibers[i].state == AT_MBARRIER;
            n_named += block->warps[0].fibers[i].state == AT_NAMED;
            n_cluster += block->warps[0].fibers[i].state == AT_CLUSTER;
        }
        if (n_returned == block->n_threads) continue;
        if (n < size)
            n += (size_t)snprintf(text + n, size - n,
                " in block %u %d threads wait at its barrier, %d at the grid's, %d have returned;", block->number,
                block->n_at_barrier, n_grid, n_returned);
        if (n < size && (n_memory || n_named))
            n += (size_t)snprintf(
                text + n, size - n, " %d at memory barriers, %d at named ones;", n_memory, n_named);
        if (n < size && n_cluster)
            n += (size_t)snprintf(text + n, size - n, " %d at the cluster's barrier;", n_cluster);
        for (int i = 0; i < block->n_warps && n < size; i++) {
            const struct warp *w = &block->warps[i];
            if (w->arrived)
                n += (size_t)snprintf(
                    text + n, size - n, " of warp %d lanes %#x wait at %s;", i, w->arrived, operations[w->operation]);
        }
        n_said++;
    }
    if (n < size && n) text[n - 1] = 0;
}

/* By itself, so that only who fails has room for the text on its stack. */
__attribute__((noinline)) _Noreturn static void fail_deadlocked(struct emu_machine *m) {
    char text[MACHINE_TEXT];
    describe_deadlock(m, text, sizeof text);
    machine_fail(m, NULL, "%s", text);
}

/* Where it has to, by waiting for copies. */
__attribute__((noinline)) static struct warp *need_warp(struct emu_machine *m, struct warp *now) {
    struct warp *w = warp_of(m, now);
    if (!w && land_all(m)) w = warp_of(m, now);
    if (!w) fail_deadlocked(m);
    return w;
}

/* What every switch does is in one function with whoever stops: the fewer lines of a stack it touches, the more stacks
 * the cache holds. */
static inline __attribute__((always_inline)) void run_next(struct emu_machine *m, bool leaves_warp) {
    struct fiber *from = m->now;
    struct warp *w = from->warp;
    if (leaves_warp || !w->ready) w = need_warp(m, w);
    struct fiber *to = lane_of(m, w, w == from->warp ? from->lane : m->schedule.order == ORDER_DOWN ? WARP : -1);
    if (to == from) return;
    m->now = to;
    *m->self = &to->view;
    fiber_switch(&from->stack_pointer, to->stack_pointer, to->stack);
}

static inline void make_ready(struct fiber *f) {
    struct warp *w = f->warp;
    f->state = READY;
    w->ready |= 1u << f->lane;
    machine_now->ready_warps[w->place / BITS] |= (uint64_t)1 << w->place % BITS;
}

/* What waits for more than its warp, or has returned, shows whether its stack has sufficed; to look at every switch
 * would cost a cache line each time. */
static void check_stack(struct emu_machine *m, const struct fiber *f) {
    if (*(const uint64_t *)f->stack != STACK_END)
        machine_fail(m, NULL, "the stack of a thread, %d bytes, has overflowed", STACK_BYTES);
}

static inline void stop(struct fiber *f, enum state state) {
    struct warp *w = f->warp;
    f->state = state;
    f->turn++;
    w->ready &= ~(1u << f->lane);
    if (!w->ready) machine_now->ready_warps[w->place / BITS] &= ~((uint64_t)1 << w->place % BITS);
}

void machine_stop(struct fiber *f, enum state state) {
    check_stack(machine_now, f);
    stop(f, state);
}
void machine_ready(struct fiber *f) { make_ready(f); }
void machine_run_next(struct emu_machine *m) { run_next(m, false); }

/* ---- what a thread asks for ---- */

static struct fiber *fiber_of(struct emu_thread *self) { return (struct fiber *)self; }

static void call_barrier(struct emu_thread *self) {
    struct emu_machine *m = machine_now;
    struct fiber *f = fiber_of(self);
    struct emu_block *b = f->warp->block;
    check_stack(m, f);
    stop(f, AT_BARRIER);
    if (++b->n_at_barrier < b->n_threads) {
        run_next(m, false);
        return;
    }
    b->n_at_barrier = 0;
    if (b->sight) watch_block_met(b);
    for (int i = 0; i < b->n_threads; i++) make_ready(&b->warps[0].fibers[i]);
    /* The last to come is no more likely to go first than any other. */
    if (m->schedule.order != ORDER_UP || f->lane != 0) run_next(m, true);
}

static void call_grid_barrier(struct emu_thread *self, void *flags) {
    struct emu_machine *m = machine_now;
    struct fiber *f = fiber_of(self);
    volatile unsigned long long *flag = (volatile unsigned long long *)flags + self->block.x;
    if (!m->launch->is_cooperative && m->launch->grid > 1)
        machine_fail(m, (const char *)__builtin_return_address(0) - 1,
            "a barrier of the grid in a launch that is not cooperative");
    *flag = *flag; /* where there is no flag this is where it shows */
    check_stack(m, f);
    stop(f, AT_GRID_BARRIER);
    if (++m->n_at_grid_barrier < (long)m->launch->grid * m->launch->n_threads) {
        run_next(m, false);
        return;
    }
    m->n_at_grid_barrier = 0;
    if (m->schedule.is_watched) watch_grid_met(m);
    for (int b = 0; b < m->n_blocks; b++)
        for (int i = 0; i < m->blocks[b].n_threads; i++) make_ready(&m->blocks[b].warps[0].fibers[i]);
    run_next(m, true);
}

static void call_give_way(struct emu_thread *self) {
    (void)self;
    run_next(machine_now, true);
}

__attribute__((noinline)) static void watch_warp_met(struct warp *w) {
    struct fiber *who[WARP];
    for (int i = 0; i < w->n; i++) who[i] = &w->fibers[i];
    watch_some_met(w->block, who, w->n);
}

/* By itself, as above; `pc`: who asks. */
__attribute__((noinline)) _Noreturn static void fail_apart(
    struct emu_machine *m, const struct fiber *f, enum emu_operation operation, unsigned operand, const void *pc) {
    const struct warp *w = f->warp;
    machine_fail(m, pc, "lane %d is at %s, operand %u, while lanes %#x of its warp are at %s, operand %u", f->lane,
        operations[operation], operand, w->arrived, operations[w->operation], w->operand);
}

/* The last lane has come. */
__attribute__((noinline)) static void end_together(struct emu_machine *m, struct warp *w) {
    do_together(w);
    if (m->schedule.is_watched && w->operation == EMU_WARP_BARRIER) watch_warp_met(w);
    w->arrived = 0;
    for (int i = 0; i < w->n; i++) make_ready(&w->fibers[i]);
}

static void call_together(struct emu_thread *self, enum emu_operation operation, unsigned operand) {
    struct emu_machine *m = machine_now;
    struct fiber *f = fiber_of(self);
    struct warp *w = f->warp;
    const char *pc = (const char *)__builtin_return_address(0) - 1;
    if (w->arrived && (w->operation != operation || w->operand != operand)) fail_apart(m, f, operation, operand, pc);
    if (m->schedule.is_watched && (operation == EMU_LDMATRIX || operation == EMU_LDMATRIX_TRANS))
        watch_touch(self, self->shared + (self->words[0] - EMU_ADDRESS_0), 16, EMU_READ, pc);
    w->operation = operation;
    w->operand = operand;
    w->pc = pc;
    w->arrived |= 1u << f->lane;
    stop(f, AT_OPERATION);
    if (w->arrived == (w->n == WARP ? ~0u : (1u << w->n) - 1)) end_together(m, w);
    else run_next(m, false);
}

/* ---- copies ---- */

static void land(const struct copy *c) {
    if (c->n_valid) memcpy(c->to, c->from, (size_t)c->n_valid);
    for (int i = 0; c->is_tf32 && i < c->n_valid; i += 4) {
        unsigned bits;
        memcpy(&bits, c->to + i, sizeof bits);
        if ((bits & 0x7fffffffu) <= 0x7f800000u) bits = (bits + 0x1000u) & 0xffffe000u;
        memcpy(c->to + i, &bits, sizeof bits);
    }
    memset(c->to + c->n_valid, 0, (size_t)(c->n_bytes - c->n_valid));
}

void machine_land(struct fiber *f, const struct copy *c) {
    if (!c->has_landed) land(c);
    if (f->view.is_watched) watch_landed(f, c);
}

static void keep(struct fiber *f, const struct copy *c) {
    if (f->n_copies == f->copies_room) {
        int room = f->copies_room ? 2 * f->copies_room : 64;
        struct copy *more = realloc(f->copies, (size_t)room * sizeof *more);
        if (!more) machine_fail(machine_now, NULL, "out of memory");
        f->copies = more, f->copies_room = room;
    }
    f->copies[f->n_copies++] = *c;
    if (c->barrier > EMU_SENT) f->warp->block->n_boxes++;
}

void machine_copy(struct fiber *f, const struct copy *asked) {
    struct copy c = *asked;
    c.has_landed = !machine_now->schedule.is_late;
    c.group = c.barrier ? INT_MAX : f->n_groups;
    if (f->view.is_watched) watch_copy(f, &c);
    if (c.has_landed) land(&c);
    if (c.has_landed && !c.barrier && !f->view.is_watched) return;
    if (!c.has_landed) memset(c.to, 0xFF, (size_t)c.n_bytes); /* whoever reads it before it has landed gets NaNs */
    keep(f, &c);
}

/* Late, what is sent is read where it is waited for. */
void machine_send(struct fiber *f, const struct copy *asked) {
    struct copy c = *asked;
    c.has_landed = !machine_now->schedule.is_late;
    c.barrier = EMU_SENT;
    c.group = f->n_sent;
    if (f->view.is_watched) watch_touch(&f->view, c.from, (unsigned)c.n_bytes, EMU_READ, c.pc);
    if (f->view.is_watched) watch_touch(&f->view, c.to, (unsigned)c.n_bytes, EMU_WRITE, c.pc);
    if (c.has_landed) land(&c);
    keep(f, &c);
}

static void call_copy(struct emu_thread *self, unsigned to, const void *from, int n_bytes, int is_valid) {
    machine_copy(fiber_of(self), &(struct copy){.to = self->shared + (to - EMU_ADDRESS_0),
                                     .from = from,
                                     .n_bytes = n_bytes,
                                     .n_valid = is_valid ? n_bytes : 0,
                                     .pc = (const char *)__builtin_return_address(0) - 1});
}

static void call_commit(struct emu_thread *self) { fiber_of(self)->n_groups++; }

static void call_wait(struct emu_thread *self, int n_groups) {
    struct fiber *f = fiber_of(self);
    int kept = 0;
    for (int i = 0; i < f->n_copies; i++) {
        const struct copy *c = &f->copies[i];
        if (c->barrier || c->group >= f->n_groups - n_groups) {
            f->copies[kept++] = *c;
            continue;
        }
        machine_land(f, c);
    }
    f->n_copies = kept;
}

static void call_sent(struct emu_thread *self, int n_groups) {
    struct fiber *f = fiber_of(self);
    int kept = 0;
    if (n_groups < 0) {
        f->n_sent++;
        return;
    }
    for (int i = 0; i < f->n_copies; i++) {
        const struct copy *c = &f->copies[i];
        if (c->barrier != EMU_SENT || c->group >= f->n_sent - n_groups) f->copies[kept++] = *c;
        else if (!c->has_landed) land(c);
    }
    f->n_copies = kept;
}

/* A block that ends takes its shared memory with it. */
static void check_sent(struct emu_machine *m, const struct fiber *f) {
    for (int i = 0; i < f->n_copies; i++)
        if (f->copies[i].barrier == EMU_SENT)
            machine_fail(m, f->copies[i].pc, "ends without waiting for a box that it sends to memory");
}

/* ---- what no thread may ask for ---- */

static const char *const accesses[] = {"reads", "writes", "copies"};

static void call_bad_shared(struct emu_thread *self, unsigned address, int n_bytes, enum emu_access access) {
    machine_fail(machine_now, (const char *)__builtin_return_address(0) - 1,
        "%s %d bytes at %lld of the block's %u bytes of shared memory", accesses[access], n_bytes,
        (long long)address - EMU_ADDRESS_0, self->shared_bytes);
}

static void call_bad_alignment(struct emu_thread *self, const void *address, int n_bytes, enum emu_access access) {
    (void)self;
    char text[256];
    fault_describe(machine_now->launch, address, text, sizeof text);
    machine_fail(machine_now, (const char *)__builtin_return_address(0) - 1,
        "%s %d bytes at an address that is not aligned to them: %s", accesses[access], n_bytes, text);
}

static const struct emu_calls calls = {.barrier = call_barrier,
    .grid_barrier = call_grid_barrier,
    .give_way = call_give_way,
    .together = call_together,
    .copy = call_copy,
    .commit = call_commit,
    .wait = call_wait,
    .mbarrier = call_mbarrier,
    .named = call_named,
    .box = call_box,
    .bulk = call_bulk,
    .pixels = call_pixels,
    .send = call_send,
    .sent = call_sent,
    .cluster = call_cluster,
    .put = call_put,
    .bad_shared = call_bad_shared,
    .bad_alignment = call_bad_alignment,
    .release = watch_release,
    .acquire = watch_acquire,
    .unwritten = watch_unwritten,
    .touch = watch_touch};

/* ---- running ---- */

/* A fiber, from its first instruction to its last. The last of all leaves the machine. */
static void start(void) {
    fiber_entered();
    struct emu_machine *m = machine_now;
    m->launch->module->entry->call(m->launch->arguments);
    struct fiber *f = m->now;
    check_stack(m, f);
    check_sent(m, f);
    stop(f, RETURNED);
    f->warp->block->n_live--;
    if (--m->n_live == 0) fiber_switch(&f->stack_pointer, m->outside, NULL);
    run_next(m, false);
    __builtin_unreachable();
}

static void begin_block(struct emu_machine *m, struct emu_block *b, unsigned number) {
    b->number = number;
    b->n_live = b->n_threads;
    b->n_at_barrier = 0;
    memset(b->shared.at, 0xFF, m->launch->shared_bytes);
    b->n_mbarriers = b->n_sent = b->n_boxes = 0;
    memset(b->named, 0, sizeof b->named);
    for (int i = 0; i < b->n_warps; i++) {
        struct warp *w = &b->warps[i];
        w->arrived = 0;
        w->n_products = w->n_batches = w->registers = 0;
    }
    for (int i = 0; i < b->n_threads; i++) {
        struct fiber *f = &b->warps[0].fibers[i];
        f->stack_pointer = fiber_begin(f->stack, STACK_BYTES, start);
        f->view.block.x = number;
        f->n_copies = f->n_groups = f->n_sent = 0;
        f->turn = f->cluster_phase = 0;
        make_ready(f);
    }
    if (b->sight) watch_begin_block(b);
}

static void run_blocks(struct emu_machine *m) {
    struct warp *first = m->schedule.order == ORDER_DOWN ? &m->blocks[m->n_blocks - 1].warps[m->blocks[0].n_warps - 1]
                                                         : &m->blocks[0].warps[0];
    m->n_live = (long)m->n_blocks * m->blocks[0].n_threads;
    m->n_at_grid_barrier = m->n_at_cluster = 0;
    m->cluster_phase = 0;
    m->now = lane_of(m, first, m->schedule.order == ORDER_DOWN ? WARP : -1);
    *m->self = &m->now->view;
    fiber_switch(&m->outside, m->now->stack_pointer, m->now->stack);
}

static void lay_out_block(struct emu_machine *m, int i, struct warp *warps, int n_warps) {
    const struct emu_launch *l = m->launch;
    struct emu_block *b = &m->blocks[i];
    b->warps = warps;
    b->n_warps = n_warps;
    b->n_threads = (int)l->n_threads;
    for (int t = 0; t < b->n_threads; t++) {
        struct fiber *f = &m->fibers[(size_t)i * l->n_threads + (size_t)t];
        struct warp *w = &warps[t / WARP];
        if (t % WARP == 0)
            *w = (struct warp){.block = b, .fibers = f, .number = t / WARP, .place = i * n_warps + t / WARP};
        f->warp = w;
        f->lane = w->n++;
        f->stack = m->stacks + ((size_t)i * l->n_threads + (size_t)t) * STACK_STEP;
        *(uint64_t *)f->stack = STACK_END;
        f->view = (struct emu_thread){.thread = {(unsigned)t, 0, 0},
            .block_dim = {l->n_threads, 1, 1},
            .grid_dim = {l->grid, 1, 1},
            .cluster = l->cluster,
            .shared = b->shared.at,
            .shared_bytes = l->shared_bytes,
            .calls = m->schedule.is_watched ? &f->view.table : &calls,
            .table = calls,
            .stack = f->stack,
            .is_watched = m->schedule.is_watched};
    }
}

static bool open_blocks(struct emu_machine *m, struct warp **warps) {
    const struct emu_launch *l = m->launch;
    int n_warps = ((int)l->n_threads + WARP - 1) / WARP;
    size_t n_fibers = (size_t)m->n_blocks * l->n_threads;
    m->stacks_bytes = n_fibers * STACK_STEP;
    m->blocks = calloc((size_t)m->n_blocks, sizeof *m->blocks);
    m->fibers = aligned_alloc(_Alignof(struct fiber), n_fibers * sizeof *m->fibers);
    *warps = calloc((size_t)m->n_blocks * (size_t)n_warps, sizeof **warps);
    m->ready_warps = calloc((size_t)m->n_blocks * (size_t)n_warps / BITS + 1, sizeof *m->ready_warps);
    m->stacks = stacks_take(&m->stacks_bytes);
    if (m->fibers) memset(m->fibers, 0, n_fibers * sizeof *m->fibers);
    if (!m->blocks || !m->fibers || !*warps || !m->ready_warps || !m->stacks) return false;
    for (int i = 0; i < m->n_blocks; i++) {
        if (!shared_open(&m->blocks[i].shared, l->shared_bytes)) return false;
        lay_out_block(m, i, *warps + (size_t)i * (size_t)n_warps, n_warps);
    }
    return true;
}

static void close_blocks(struct emu_machine *m, struct warp *warps) {
    for (size_t i = 0; m->fibers && i < (size_t)m->n_blocks * m->launch->n_threads; i++) free(m->fibers[i].copies);
    for (int i = 0; m->blocks && i < m->n_blocks; i++) {
        shared_close(&m->blocks[i].shared);
        free(m->blocks[i].sent);
    }
    if (m->stacks) stacks_give(m->stacks, m->stacks_bytes);
    free(m->fibers);
    free(m->blocks);
    free(m->ready_warps);
    free(warps);
}

static void run_grid(struct emu_machine *m) {
    unsigned grid = m->launch->grid, step = (unsigned)m->n_blocks;
    for (unsigned i = 0; i < grid && !m->has_failed; i += step) {
        unsigned at = m->schedule.order == ORDER_UP || m->launch->is_cooperative ? i : grid - step - i;
        for (unsigned b = 0; b < step; b++) begin_block(m, &m->blocks[b], at + b);
        run_blocks(m);
    }
}

static void describe_error(const struct emu_machine *m, char *error, size_t size) {
    char line[384] = "", who[512] = "";
    if (m->error_pc) seen_line(m->launch->module, m->error_pc, line, sizeof line);
    if (m->culprit && strncmp(m->error, "deadlock", 8) != 0)
        snprintf(who, sizeof who, "block %u, thread %u%s%s ", m->culprit->view.block.x, m->culprit->view.thread.x,
            *line ? ", " : "", line);
    snprintf(error, size, "%s: %s%s", m->launch->module->name, who, m->error);
}

bool machine_run(const struct emu_launch *launch, const struct emu_schedule *schedule, char *error, size_t size) {
    struct emu_machine m = {.launch = launch, .schedule = *schedule, .random = schedule->seed * 2654435761u + 1,
                        .n_blocks = (int)emu_alive(launch), .self = launch->module->entry->self};
    struct warp *warps = NULL;
    bool is_open = fault_enter() && open_blocks(&m, &warps);
    if (is_open) {
        machine_now = &m;
        fiber_outside();
        if (m.schedule.is_watched) watch_begin(launch->watch, &m);
        run_grid(&m);
        machine_now = NULL;
    }
    if (!is_open) snprintf(error, size, "out of memory");
    else if (m.has_failed) describe_error(&m, error, size);
    close_blocks(&m, warps);
    return is_open && !m.has_failed;
}
