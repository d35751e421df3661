/* Asynchronous operations of a block on sm_90a: memory barriers, named barriers, data that blocks of a cluster send
 * each other, copies of boxes. In: requests of threads. Out: memory as it is when it may be relied on.
 *
 * In late schedules, boxes land once a thread waits for their barrier; until then a box, or sent data, holds NaNs.
 * Otherwise they land at once. Invariant: a barrier's phase ends when all have arrived and all expected bytes have
 * landed. PTX ISA: mbarrier, cp.async.bulk.tensor. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"

static struct fiber *fiber_of(struct emu_thread *self) { return (struct fiber *)self; }

#define CALLER ((const char *)__builtin_return_address(0) - 1)

/* ---- memory barriers ---- */

static struct mbarrier *find_mbarrier(struct emu_block *b, unsigned at) {
    for (int i = 0; i < b->n_mbarriers; i++)
        if (b->mbarriers[i].at == at) return &b->mbarriers[i];
    return NULL;
}

static void init_mbarrier(struct fiber *f, unsigned at, int arrivals, const void *pc) {
    struct emu_block *b = f->warp->block;
    struct mbarrier *m = find_mbarrier(b, at);
    if (at % 8 || at < EMU_ADDRESS_0 || at - EMU_ADDRESS_0 + 8 > f->view.shared_bytes || arrivals < 1)
        machine_fail(machine_now, pc, "no memory barrier can be at %lld, or of %d arrivals",
            (long long)at - EMU_ADDRESS_0, arrivals);
    if (!m && b->n_mbarriers == MOST_MBARRIERS) machine_fail(machine_now, pc, "too many memory barriers");
    if (!m) m = &b->mbarriers[b->n_mbarriers++];
    *m = (struct mbarrier){.at = at, .arrivals = arrivals, .pending = arrivals};
    if (f->view.is_watched) watch_signal(f, m->before[0]);
}

/* Forgets a memory barrier, whose phase has not begun and at which nobody waits. */
static void end_mbarrier(struct fiber *f, struct mbarrier *m, const void *pc) {
    struct emu_block *b = f->warp->block;
    bool is_waited_for = false;
    for (int i = 0; i < b->n_threads; i++) {
        const struct fiber *other = &b->warps[0].fibers[i];
        is_waited_for |= other->state == AT_MBARRIER && other->waits_for == m->at;
    }
    if (m->pending != m->arrivals || m->n_bytes != 0 || is_waited_for)
        machine_fail(machine_now, pc, "ends a memory barrier that is in use");
    *m = b->mbarriers[--b->n_mbarriers];
}

/* Ends the phase if nothing is missing: who waits for it goes on. */
static void end_phase(struct emu_block *b, struct mbarrier *m) {
    if (m->pending > 0 || m->n_bytes != 0) return;
    unsigned parity = m->phase & 1;
    m->phase++;
    m->pending = m->arrivals;
    memcpy(m->before[!parity], m->before[parity], sizeof m->before[0]);
    for (int i = 0; i < b->n_threads; i++) {
        struct fiber *f = &b->warps[0].fibers[i];
        if (f->state == AT_MBARRIER && f->waits_for == m->at && f->parity == parity) machine_ready(f);
    }
}

/* At a barrier of block b. What another block did orders nothing in it. */
static void arrive(struct emu_block *b, struct fiber *f, struct mbarrier *m, long n_bytes, const void *pc) {
    if (m->pending == 0) machine_fail(machine_now, pc, "arrives at a memory barrier once more than it counts");
    if (f->view.is_watched && f->warp->block == b) watch_signal(f, m->before[m->phase & 1]);
    m->pending--;
    m->n_bytes += n_bytes;
    end_phase(b, m);
}

/* What other blocks have sent to the barrier; its first thread passes for who wrote it. */
static void land_sent(struct emu_block *b, struct mbarrier *m) {
    struct fiber *f = &b->warps[0].fibers[0];
    int kept = 0;
    for (int i = 0; i < b->n_sent; i++) {
        const struct sent *s = &b->sent[i];
        if (s->barrier != m->at) {
            b->sent[kept++] = *s;
            continue;
        }
        memcpy(f->view.shared + (s->to - EMU_ADDRESS_0), s->words, sizeof s->words);
        if (f->view.is_watched) watch_sent(f, s->to - EMU_ADDRESS_0, sizeof s->words, false);
        m->n_bytes -= (long)sizeof s->words;
    }
    if (kept < b->n_sent && f->view.is_watched) watch_signal(f, m->before[m->phase & 1]);
    b->n_sent = kept;
}

/* Boxes on their way to the barrier, and what was sent. */
static void land_boxes(struct emu_block *b, struct mbarrier *m) {
    land_sent(b, m);
    for (int i = 0; i < b->n_threads && b->n_boxes > 0; i++) {
        struct fiber *f = &b->warps[0].fibers[i];
        int kept = 0;
        for (int c = 0; c < f->n_copies; c++) {
            struct copy *copy = &f->copies[c];
            if (copy->barrier != m->at) {
                f->copies[kept++] = *copy;
                continue;
            }
            machine_land(f, copy);
            m->n_bytes -= copy->n_bytes;
        }
        if (kept < f->n_copies && f->view.is_watched) watch_signal(f, m->before[m->phase & 1]);
        b->n_boxes -= f->n_copies - kept;
        f->n_copies = kept;
    }
    end_phase(b, m);
}

bool land_all(struct emu_machine *m) {
    bool any = false;
    for (int i = 0; i < m->n_blocks; i++)
        for (int t = 0; t < m->blocks[i].n_threads; t++) {
            struct fiber *f = &m->blocks[i].warps[0].fibers[t];
            if (f->state == AT_MBARRIER) land_boxes(&m->blocks[i], find_mbarrier(&m->blocks[i], f->waits_for));
            any |= f->state == READY;
        }
    return any;
}

static void wait_mbarrier(struct fiber *f, struct mbarrier *m, unsigned parity) {
    struct emu_machine *machine = machine_now;
    if ((m->phase & 1) == parity) land_boxes(f->warp->block, m);
    while ((m->phase & 1) == parity) {
        f->waits_for = m->at, f->parity = parity;
        machine_stop(f, AT_MBARRIER);
        machine_run_next(machine);
    }
    if (f->view.is_watched) watch_heed(f, m->before[parity]);
}

/* A GPU takes these instructions for illegal ones where the launch has no clusters. */
static void need_cluster(const struct emu_thread *self, const void *pc) {
    if (self->cluster == 1) machine_fail(machine_now, pc, "a block of a cluster in a launch without clusters");
}

/* The block of the cluster that an address is of, whose own address it becomes. */
static struct emu_block *block_at(struct fiber *f, unsigned *at, const void *pc) {
    unsigned rank = *at / EMU_WINDOW;
    if (!rank) return f->warp->block;
    need_cluster(&f->view, pc);
    if (rank > f->view.cluster) machine_fail(machine_now, pc, "the cluster has no block %u", rank - 1);
    struct emu_block *b = &machine_now->blocks[rank - 1];
    if (!b->n_live) machine_fail(machine_now, pc, "block %u of the cluster has ended", rank - 1);
    *at %= EMU_WINDOW;
    return b;
}

void call_mbarrier(struct emu_thread *self, enum emu_mbarrier what, unsigned at, unsigned value) {
    struct fiber *f = fiber_of(self);
    if (what == EMU_MBARRIER_INIT) {
        init_mbarrier(f, at, (int)value, CALLER);
        return;
    }
    struct emu_block *b = what == EMU_MBARRIER_ARRIVE ? block_at(f, &at, CALLER) : f->warp->block;
    struct mbarrier *m = find_mbarrier(b, at);
    if (!m)
        machine_fail(
            machine_now, CALLER, "there is no memory barrier at %lld of shared memory", (long long)at - EMU_ADDRESS_0);
    switch (what) {
    case EMU_MBARRIER_EXPECT: arrive(b, f, m, value, CALLER); break;
    case EMU_MBARRIER_ARRIVE: arrive(b, f, m, 0, CALLER); break;
    case EMU_MBARRIER_END: end_mbarrier(f, m, CALLER); break;
    default: wait_mbarrier(f, m, value); break;
    }
}

/* ---- named barriers ---- */

void call_named(struct emu_thread *self, int number, int threads, int waits) {
    struct fiber *f = fiber_of(self);
    struct emu_block *b = f->warp->block;
    if (number < 1 || number >= NAMED_BARRIERS || threads % WARP || threads < WARP)
        machine_fail(machine_now, CALLER, "there is no barrier %d of %d threads", number, threads);
    struct named *n = &b->named[number];
    if (n->arrived && n->threads != threads)
        machine_fail(
            machine_now, CALLER, "meets %d threads at barrier %d, where %d are met", threads, number, n->threads);
    n->threads = threads;
    if (self->is_watched) watch_signal(f, n->before), watch_tell(f, &n->learnt);
    if (++n->arrived < threads) {
        if (!waits) return;
        f->waits_for = (unsigned)number;
        machine_stop(f, AT_NAMED);
        machine_run_next(machine_now);
        return;
    }
    for (int i = 0; i < b->n_threads; i++) {
        struct fiber *other = &b->warps[0].fibers[i];
        if (other->state != AT_NAMED || other->waits_for != (unsigned)number) continue;
        if (self->is_watched) watch_heed(other, n->before), watch_learn(other, n->learnt);
        machine_ready(other);
    }
    if (self->is_watched && waits) watch_heed(f, n->before), watch_learn(f, n->learnt);
    free(n->learnt);
    *n = (struct named){0};
}

/* ---- clusters ---- */

/* Every thread of the cluster arrives in every phase: one that has returned does not count. */
void call_cluster(struct emu_thread *self, int waits) {
    struct emu_machine *m = machine_now;
    struct fiber *f = fiber_of(self);
    need_cluster(self, CALLER);
    if (!waits) {
        if (f->cluster_phase > m->cluster_phase)
            machine_fail(m, CALLER, "arrives twice at the cluster's barrier");
        f->cluster_phase = m->cluster_phase + 1;
        if (++m->n_at_cluster < (long)m->n_blocks * m->blocks[0].n_threads) return;
        m->n_at_cluster = 0;
        m->cluster_phase++;
        for (int i = 0; i < m->n_blocks * m->blocks[0].n_threads; i++)
            if (m->fibers[i].state == AT_CLUSTER) machine_ready(&m->fibers[i]);
        return;
    }
    if (!f->cluster_phase) machine_fail(m, CALLER, "waits at the cluster's barrier without having arrived");
    if (f->cluster_phase <= m->cluster_phase) return;
    machine_stop(f, AT_CLUSTER);
    machine_run_next(m);
}

void call_put(struct emu_thread *self, unsigned to, unsigned barrier) {
    struct emu_machine *m = machine_now;
    struct fiber *f = fiber_of(self);
    need_cluster(self, CALLER);
    struct emu_block *b = block_at(f, &to, CALLER), *of = block_at(f, &barrier, CALLER);
    struct sent s = {.to = to, .barrier = barrier, .words = {self->words[0], self->words[1]}};
    if (to % sizeof s.words || to < EMU_ADDRESS_0 || to - EMU_ADDRESS_0 + sizeof s.words > self->shared_bytes)
        machine_fail(m, CALLER, "sends %zu bytes to %lld of %u bytes of shared memory", sizeof s.words,
            (long long)to - EMU_ADDRESS_0, self->shared_bytes);
    struct mbarrier *told = find_mbarrier(of, barrier);
    if (b != of || !told) machine_fail(m, CALLER, "sends to a memory barrier that the block has not");
    if (b->n_sent == b->sent_room) {
        int room = b->sent_room ? 2 * b->sent_room : 1024;
        struct sent *more = realloc(b->sent, (size_t)room * sizeof *more);
        if (!more) machine_fail(m, NULL, "out of memory");
        b->sent = more, b->sent_room = room;
    }
    b->sent[b->n_sent++] = s;
    struct fiber *first = &b->warps[0].fibers[0];
    memset(first->view.shared + (to - EMU_ADDRESS_0), 0xFF, sizeof s.words); /* NaNs, until it has landed */
    if (self->is_watched) watch_sent(first, to - EMU_ADDRESS_0, sizeof s.words, true);
    else if (!m->schedule.is_late) land_sent(b, told), end_phase(b, told);
}

/* ---- boxes ---- */

/* Whether m, with base and rank, can be a map of that tensor, which it then has. */
static bool has_tensor(struct emu_map *m, int dtype, const uint64_t *extents, const uint64_t *strides, int interleave,
    int swizzle, int fill) {
    enum { LEAST = 16 };
    if ((dtype != TENSOR_MAP_F16 && dtype != TENSOR_MAP_BF16 && dtype != TENSOR_MAP_TF32 && dtype != TENSOR_MAP_F32 &&
            dtype != TENSOR_MAP_U32 && dtype != TENSOR_MAP_U8) ||
        m->rank > FX_MAX_MAP_RANK || interleave || fill || swizzle != TENSOR_MAP_SWIZZLE_128B ||
        (uintptr_t)m->base % LEAST || !m->base)
        return false;
    for (int i = 0; i < m->rank; i++) {
        if (!extents[i] || extents[i] > (uint64_t)1 << 32) return false;
        m->extents[i] = extents[i];
        if (!i) continue;
        if (strides[i - 1] % LEAST || strides[i - 1] >= (uint64_t)1 << 40) return false;
        m->strides[i - 1] = strides[i - 1];
    }
    return true;
}

int emu_encode_map(struct cuda_tensor_map *out, int dtype, unsigned rank, void *address, const uint64_t *extents,
    const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int l2_promotion,
    int fill) {
    enum { ROW = 128, MOST_BOX = 256 };
    bool is_tf32 = dtype == TENSOR_MAP_TF32, is_f32 = is_tf32 || dtype == TENSOR_MAP_F32 || dtype == TENSOR_MAP_U32;
    struct emu_map m = {.mark = EMU_MAP,
        .base = address,
        .rank = (unsigned char)rank,
        .is_tf32 = is_tf32,
        .bytes = is_f32 ? 4 : dtype == TENSOR_MAP_U8 ? 1 : 2};
    (void)l2_promotion;
    if (rank < 2 || !has_tensor(&m, dtype, extents, strides, interleave, swizzle, fill)) return 1;
    for (unsigned i = 0; i < rank; i++) {
        if (!box[i] || box[i] > MOST_BOX || steps[i] != 1) return 1;
        m.box[i] = (unsigned short)box[i];
    }
    if (box[0] * m.bytes != ROW) return 1; /* narrower ones fx has not; their rows may be padded */
    *out = (struct cuda_tensor_map){{0}};
    memcpy(out, &m, sizeof m);
    return 0;
}
_Static_assert(sizeof(struct emu_map) <= sizeof(struct cuda_tensor_map), "a map has no room");

/* By rank the bits that a corner has, one a sign, and an offset. */
static int spatial_bits(int rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

int emu_encode_im2col(struct cuda_tensor_map *out, int dtype, unsigned rank, void *address, const uint64_t *extents,
    const uint64_t *strides, const int *lower, const int *upper, unsigned channels, unsigned pixels,
    const unsigned *steps, int interleave, int swizzle, int l2_promotion, int fill) {
    enum { ROW = 128, MOST_PIXELS = 1024, MOST_STEP = 8 };
    struct emu_map m = {.mark = EMU_MAP,
        .base = address,
        .rank = (unsigned char)rank,
        .is_im2col = true,
        .bytes = dtype == TENSOR_MAP_U32 ? 4 : 2,
        .box = {(unsigned short)channels, (unsigned short)pixels}};
    (void)l2_promotion;
    if (rank < 3 || !has_tensor(&m, dtype, extents, strides, interleave, swizzle, fill) || dtype == TENSOR_MAP_F32 ||
        dtype == TENSOR_MAP_TF32 || dtype == TENSOR_MAP_U8 || channels * m.bytes != ROW || !pixels ||
        pixels > MOST_PIXELS || steps[rank - 1] != 1)
        return 1;
    const int least = -(1 << (spatial_bits(m.rank) - 1));
    for (int i = 0; i < m.rank - 2; i++) {
        if (lower[i] < least || lower[i] > -1 - least || upper[i] < least || upper[i] > -1 - least) return 1;
        if ((int64_t)extents[1 + i] + upper[i] - lower[i] <= 0 || !steps[1 + i] || steps[1 + i] > MOST_STEP) return 1;
        m.lower[i] = (short)lower[i], m.upper[i] = (short)upper[i], m.steps[i] = (unsigned char)steps[1 + i];
    }
    *out = (struct cuda_tensor_map){{0}};
    memcpy(out, &m, sizeof m);
    return 0;
}

/* A row of a box: where the tensor has it, and how far it goes; not at all outside the other axes. */
static const char *row_of(const struct emu_map *m, const long long *at, long long *end) {
    const char *row = m->base;
    bool is_inside = true;
    for (int i = 1; i < m->rank; i++) {
        is_inside &= at[i] >= 0 && (uint64_t)at[i] < m->extents[i];
        if (is_inside) row += (uint64_t)at[i] * m->strides[i - 1];
    }
    *end = is_inside ? (long long)m->extents[0] : 0;
    return row;
}

/* The row of a box that begins at these coordinates, to shared memory or, without a barrier, from there. */
static void copy_row(
    struct fiber *f, const struct emu_map *m, unsigned shared, const long long *at, unsigned barrier, bool is_sent,
    const void *pc) {
    long long per_piece = PIECE / m->bytes, end;
    const char *row = row_of(m, at, &end);
    for (int i = 0; i < m->box[0] / per_piece; i++) {
        long long first = at[0] + i * per_piece, left = first < 0 ? 0 : end - first;
        int valid = (int)(left < 0 ? 0 : left < per_piece ? left : per_piece); /* elements inside the tensor */
        char *here = f->view.shared + (swizzle_128(shared + (unsigned)i * PIECE) - EMU_ADDRESS_0);
        const char *there = row + (valid ? first : 0) * m->bytes;
        if (barrier)
            machine_copy(f, &(struct copy){.to = here,
                                .from = there,
                                .n_bytes = PIECE,
                                .n_valid = valid * m->bytes,
                                .is_tf32 = m->is_tf32,
                                .barrier = barrier,
                                .is_sent = is_sent,
                                .pc = pc});
        else if (valid) /* an H100 writes the whole of a piece that has an element of the tensor */
            machine_send(f, &(struct copy){.to = (char *)(uintptr_t)there,
                                .from = here,
                                .n_bytes = PIECE,
                                .n_valid = PIECE,
                                .pc = pc});
    }
}

/* All rows of a box. */
static void copy_box(struct emu_thread *self, unsigned shared, const void *map, unsigned barrier, const int *at,
    int rank, bool is_sent, const void *pc) {
    enum { ALIGN = 1024 };
    struct fiber *f = fiber_of(self);
    struct emu_map m;
    memcpy(&m, map, sizeof m);
    if (m.mark != EMU_MAP || m.rank != rank || m.is_im2col)
        machine_fail(machine_now, pc, "copies by what is no tensor map of %d axes", rank);
    unsigned n_rows = 1, row_bytes = (unsigned)m.box[0] * m.bytes;
    for (int i = 1; i < rank; i++) n_rows *= m.box[i];
    if (shared % ALIGN || shared < EMU_ADDRESS_0 || shared - EMU_ADDRESS_0 + n_rows * row_bytes > self->shared_bytes)
        machine_fail(machine_now, pc, "copies a box of %u bytes %s %lld of the block's %u bytes of shared memory",
            n_rows * row_bytes, barrier ? "to" : "from", (long long)shared - EMU_ADDRESS_0, self->shared_bytes);
    if (at[0] * m.bytes % PIECE)
        machine_fail(
            machine_now, pc, "copies a box that begins at element %d of rows, no multiple of %d bytes", at[0], PIECE);
    for (unsigned r = 0; r < n_rows; r++) {
        long long first[FX_MAX_MAP_RANK] = {at[0]};
        unsigned rest = r;
        for (int i = 1; i < rank; i++) first[i] = (long long)at[i] + rest % m.box[i], rest /= m.box[i];
        copy_row(f, &m, shared + r * row_bytes, first, barrier, is_sent, pc);
    }
}

/* The last place of a pixel along spatial axis i. */
static long long last_pixel(const struct emu_map *m, int i) { return (long long)m->extents[1 + i] - 1 + m->upper[i]; }

/* Where the pixels of a column are: each a row. Beyond the last image there are none. */
static void copy_pixels(struct emu_thread *self, unsigned shared, const void *map, unsigned barrier, const int *at,
    const unsigned short *offset, int rank, const void *pc) {
    enum { ALIGN = 1024 };
    struct fiber *f = fiber_of(self);
    struct emu_machine *machine = machine_now;
    struct emu_map m;
    long long pixel[FX_MAX_MAP_RANK] = {0};
    memcpy(&m, map, sizeof m);
    if (m.mark != EMU_MAP || m.rank != rank || !m.is_im2col)
        machine_fail(machine, pc, "copies pixels by what is no tensor map in im2col mode of %d axes", rank);
    unsigned row_bytes = (unsigned)m.box[0] * m.bytes, n_bytes = m.box[1] * row_bytes;
    if (shared % ALIGN || shared < EMU_ADDRESS_0 || shared - EMU_ADDRESS_0 + n_bytes > self->shared_bytes)
        machine_fail(machine, pc, "copies pixels of %u bytes to %lld of the block's %u bytes of shared memory", n_bytes,
            (long long)shared - EMU_ADDRESS_0, self->shared_bytes);
    if (at[0] * m.bytes % PIECE)
        machine_fail(machine, pc, "copies pixels from channel %d on, no multiple of %d bytes", at[0], PIECE);
    for (int i = 0; i < rank; i++) pixel[i] = at[i];
    for (int i = 0; i < rank - 2; i++) {
        if (at[1 + i] < m.lower[i] || at[1 + i] > last_pixel(&m, i) || (at[1 + i] - m.lower[i]) % m.steps[i])
            machine_fail(machine, pc, "copies pixels from %d on along axis %d, where there is none", at[1 + i], 1 + i);
        if (offset[i] >> spatial_bits(rank))
            machine_fail(
                machine, pc, "copies pixels %d further along axis %d of a map of %d axes", offset[i], 1 + i, rank);
    }
    for (unsigned r = 0; r < m.box[1]; r++) {
        long long first[FX_MAX_MAP_RANK];
        int i = 0;
        for (int d = 0; d < rank; d++) first[d] = pixel[d] + (d && d < rank - 1 ? offset[d - 1] : 0);
        copy_row(f, &m, shared + r * row_bytes, first, barrier, false, pc);
        for (; i < rank - 2; i++) {
            pixel[1 + i] += m.steps[i];
            if (pixel[1 + i] <= last_pixel(&m, i)) break;
            pixel[1 + i] = m.lower[i];
        }
        if (i == rank - 2) pixel[rank - 1]++;
    }
}

void call_pixels(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at,
    const unsigned short *offset, int rank) {
    struct fiber *f = fiber_of(self);
    struct mbarrier *b = find_mbarrier(f->warp->block, barrier);
    if (!b) machine_fail(machine_now, CALLER, "copies pixels for a memory barrier that there is not");
    copy_pixels(self, to, map, barrier, at, offset, rank, CALLER);
    if (!machine_now->schedule.is_late && !self->is_watched) land_boxes(f->warp->block, b);
}

/* To block b, whose first thread passes for who copies where another block does. */
static void box_to(struct emu_block *b, struct emu_thread *self, unsigned to, const void *map, unsigned barrier,
    const int *at, int rank, const void *pc) {
    const bool is_sent = b != fiber_of(self)->warp->block;
    struct mbarrier *m = find_mbarrier(b, barrier);
    if (!m) machine_fail(machine_now, pc, "copies a box for a memory barrier that there is not");
    copy_box(is_sent ? &b->warps[0].fibers[0].view : self, to, map, barrier, at, rank, is_sent, pc);
    if (!machine_now->schedule.is_late && !self->is_watched) land_boxes(b, m);
}

void call_box(struct emu_thread *self, unsigned to, const void *map, unsigned barrier, const int *at, int rank,
    unsigned blocks) {
    if (!blocks) box_to(fiber_of(self)->warp->block, self, to, map, barrier, at, rank, CALLER);
    for (unsigned i = 0; blocks >> i; i++) {
        unsigned place = barrier + (i + 1) * EMU_WINDOW;
        if (blocks >> i & 1)
            box_to(block_at(fiber_of(self), &place, CALLER), self, to, map, barrier, at, rank, CALLER);
    }
}

void call_bulk(struct emu_thread *self, unsigned to, const void *from, int n_bytes, unsigned barrier) {
    struct fiber *f = fiber_of(self);
    struct mbarrier *b = find_mbarrier(f->warp->block, barrier);
    if (!b) machine_fail(machine_now, CALLER, "copies bytes for a memory barrier that there is not");
    if (to % PIECE || to < EMU_ADDRESS_0 || n_bytes <= 0 || n_bytes % PIECE || (uintptr_t)from % PIECE ||
        to - EMU_ADDRESS_0 + (unsigned)n_bytes > self->shared_bytes)
        machine_fail(machine_now, CALLER, "copies %d bytes to %lld of the block's %u bytes of shared memory", n_bytes,
            (long long)to - EMU_ADDRESS_0, self->shared_bytes);
    for (int i = 0; i < n_bytes; i += PIECE)
        machine_copy(f, &(struct copy){.to = self->shared + (to - EMU_ADDRESS_0) + i,
                            .from = (const char *)from + i,
                            .n_bytes = PIECE,
                            .n_valid = PIECE,
                            .barrier = barrier,
                            .pc = CALLER});
    if (!machine_now->schedule.is_late && !self->is_watched) land_boxes(f->warp->block, b);
}

void call_send(struct emu_thread *self, unsigned from, const void *map, const int *at, int rank) {
    copy_box(self, from, map, 0, at, rank, false, CALLER);
}
