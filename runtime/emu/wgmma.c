/* Products of warpgroups on sm_90a, and the registers that warpgroups move. In: the words of the lanes of a warp,
 * operands in shared memory as their descriptors say. Out: sums as they are once their batch may be relied on.
 *
 * In late schedules, a product is computed once its batch is waited for, otherwise at once. Knows nothing of how
 * operands came to shared memory. PTX ISA: wgmma.mma_async and its shared memory layouts. */
#include <string.h>

#include "emu/emu.h"

/* rows: of a warp; swizzled: in 128 bytes, of a descriptor */
enum { WG_ROWS = 16, WG_K = 16, WG_MOST_K = 32, SWIZZLED = 1 };

struct wgmma_operand { /* an operand in shared memory, as its descriptor says */
    unsigned start, leading, stride;
    bool is_mn_major;
    unsigned bytes; /* of an element */
};

static struct wgmma_operand view_of(unsigned long long descriptor, bool is_mn_major, const struct wgmma_product *p) {
    return (struct wgmma_operand){(unsigned)(descriptor & 0x3fff) << 4, (unsigned)(descriptor >> 16 & 0x3fff) << 4,
        (unsigned)(descriptor >> 32 & 0x3fff) << 4, is_mn_major, p->is_bytes ? 1 : p->is_tf32 ? 4 : 2};
}

/* Elements of k that an instruction takes. */
static unsigned depth_of(const struct wgmma_product *p) {
    return p->is_bytes ? WG_MOST_K : p->is_tf32 ? WG_K / 2 : WG_K;
}

/* Where the element at m or n and k lies. */
static unsigned element_at(const struct wgmma_operand *v, unsigned mn, unsigned k) {
    unsigned offset = v->is_mn_major ? mn / 64 * v->leading + k / 8 * v->stride + k % 8 * 128 + mn % 64 * 2
                                     : mn / 8 * v->stride + mn % 8 * 128 + k * v->bytes;
    return swizzle_128(v->start + offset);
}

/* An f32 as tensor cores take it: the low bits of its fraction do not count. */
static double tf32_at(const char *p) {
    unsigned bits;
    float x;
    memcpy(&bits, p, sizeof bits);
    bits &= ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double number(const struct wgmma_product *p, unsigned short bits) {
    return p->is_bf16 ? emu_bf16(bits) : emu_f16(bits);
}

static double value_at(const struct fiber *f, const struct wgmma_operand *v, unsigned mn, unsigned k,
    const struct wgmma_product *p, bool is_b) {
    unsigned address = element_at(v, mn, k);
    unsigned short bits;
    if (address < EMU_ADDRESS_0 || address - EMU_ADDRESS_0 + v->bytes > f->view.shared_bytes)
        machine_fail(machine_now, p->pc, "multiplies what is at %lld of the block's %u bytes of shared memory",
            (long long)address - EMU_ADDRESS_0, f->view.shared_bytes);
    if (p->is_tf32) return tf32_at(f->view.shared + (address - EMU_ADDRESS_0));
    if (p->is_bytes)
        return emu_byte((unsigned char)f->view.shared[address - EMU_ADDRESS_0], p->is_integer, p->is_second[is_b]);
    memcpy(&bits, f->view.shared + (address - EMU_ADDRESS_0), sizeof bits);
    return number(p, bits);
}

/* Element k of the warp's row r of an operand in registers: thread 4 g + t has of rows g and g + 8 elements 2 t and the
 * next, then those 8 further along k. */
static double held_at(const struct wgmma_product *p, unsigned r, unsigned k) {
    unsigned word = p->held[r % 8 * 4 + k % 8 / 2][k / 8 * 2 + r / 8];
    return number(p, (unsigned short)(word >> k % 2 * 16));
}

/* Of an operand that a lane reads for its warp. */
static void touch_view(struct fiber *f, const struct wgmma_operand *v, unsigned from, unsigned n, const void *pc) {
    for (unsigned mn = from; mn < from + n; mn += v->is_mn_major ? 8 : 1)
        for (unsigned k = 0; k < 2 * WG_K / v->bytes; k += v->is_mn_major ? 1 : PIECE / v->bytes)
            watch_touch(&f->view, f->view.shared + (element_at(v, mn, k) - EMU_ADDRESS_0), PIECE, EMU_READ, pc);
}

static void touch_product(struct warp *w, const struct wgmma_product *p) {
    struct wgmma_operand a = view_of(p->a, p->a_mn, p), b = view_of(p->b, p->b_mn, p);
    if (!p->is_held) touch_view(w->fibers, &a, (unsigned)(w->number % 4) * WG_ROWS, WG_ROWS, p->pc);
    touch_view(w->fibers, &b, 0, (unsigned)p->n, p->pc);
}

/* d, an i32, or 0, and x; it wraps. */
static void add_integer(float *d, int x, bool adds) {
    unsigned sum = 0;
    if (adds) memcpy(&sum, d, sizeof sum);
    sum += (unsigned)x;
    memcpy(d, &sum, sizeof sum);
}

/* The warp's rows: thread 4 g + t has of rows g and g + 8 columns 8 i + 2 t and the next. Products are exact in double,
 * the sum of a step of k is rounded once. */
static void multiply(struct warp *w, const struct wgmma_product *p) {
    double a[WG_ROWS][WG_MOST_K], b[WG_MOST_K];
    struct wgmma_operand va = view_of(p->a, p->a_mn, p), vb = view_of(p->b, p->b_mn, p);
    const struct fiber *f = w->fibers;
    for (unsigned r = 0; r < WG_ROWS; r++)
        for (unsigned k = 0; k < depth_of(p); k++)
            a[r][k] = p->is_held ? held_at(p, r, k)
                                 : value_at(f, &va, (unsigned)(w->number % 4) * WG_ROWS + r, k, p, false);
    for (unsigned n = 0; n < (unsigned)p->n; n++) {
        for (unsigned k = 0; k < depth_of(p); k++) b[k] = value_at(f, &vb, n, k, p, true);
        for (unsigned r = 0; r < WG_ROWS; r++) {
            float *d = p->d[r % 8 * 4 + n % 8 / 2] + n / 8 * 4 + r / 8 * 2 + n % 2;
            double sum = !p->adds || p->is_integer ? 0 : *d;
            for (unsigned k = 0; k < depth_of(p); k++) sum += a[r][k] * b[k];
            if (p->is_integer) add_integer(d, (int)sum, p->adds);
            else *d = (float)sum;
        }
    }
}

static void add_product(struct warp *w) {
    struct emu_machine *m = machine_now;
    const struct emu_thread *first = &w->fibers[0].view;
    if (w->n_products == MOST_PRODUCTS) machine_fail(m, NULL, "too many products on their way");
    struct wgmma_product *p = &w->products[w->n_products++];
    *p = (struct wgmma_product){.a = first->words[4] | (unsigned long long)first->words[5] << 32,
        .b = first->words[6] | (unsigned long long)first->words[7] << 32,
        .n = (int)first->words[8],
        .is_bf16 = first->words[9] & 1,
        .a_mn = first->words[9] >> 1 & 1,
        .b_mn = first->words[9] >> 2 & 1,
        .adds = first->words[9] >> 3 & 1,
        .is_held = first->words[9] >> 4 & 1,
        .is_tf32 = first->words[9] >> 5 & 1,
        .is_bytes = first->words[9] >> 6 & 1,
        .is_integer = first->words[9] >> 7 & 1,
        .is_second = {first->words[9] >> 8 & 1, first->words[9] >> 9 & 1},
        .group = w->n_batches,
        .pc = w->pc};
    for (int i = 0; i < WARP; i++) {
        if (memcmp(w->fibers[i].view.words + 4, first->words + 4, 6 * sizeof *first->words) != 0)
            machine_fail(m, w->pc, "lane %d multiplies something else than lane 0", i);
        memcpy(&p->d[i], w->fibers[i].view.words, sizeof p->d[i]);
        memcpy(&p->held[i], w->fibers[i].view.words + 2, sizeof p->held[i]);
    }
    if ((!p->is_held && p->a >> 62 != SWIZZLED) || p->b >> 62 != SWIZZLED)
        machine_fail(m, w->pc, "multiplies what is not swizzled in 128 bytes");
    if (first->is_watched) touch_product(w, p);
    if (!m->schedule.is_late) multiply(w, p);
}

static void end_products(struct warp *w, int n_batches) {
    int kept = 0;
    for (int i = 0; i < w->n_products; i++) {
        const struct wgmma_product *p = &w->products[i];
        if (p->group >= w->n_batches - n_batches) {
            if (kept++ < i) w->products[kept - 1] = *p;
            continue;
        }
        if (w->fibers[0].view.is_watched) touch_product(w, p);
        if (machine_now->schedule.is_late) multiply(w, p);
    }
    w->n_products = kept;
}

/* Once every warp of the block has said how many it wants: what was allotted at the launch is all there is, by eights a
 * lane, of 64 K an SM. */
static void set_registers(struct warp *w, int n) {
    enum { OF_SM = 65536, STEP = 8, MOST = 255 };
    const struct emu_block *b = w->block;
    int wanted = 0, at_launch = OF_SM / b->n_threads < MOST ? OF_SM / b->n_threads / STEP * STEP : MOST;
    w->registers = n;
    for (int i = 0; i < b->n_warps; i++) {
        if (!b->warps[i].registers) return;
        wanted += b->warps[i].registers;
    }
    if (wanted > at_launch * b->n_warps)
        machine_fail(machine_now, w->pc, "takes registers that nobody gives: the warps want %d a lane together, of %d",
            wanted, at_launch * b->n_warps);
}

void do_products(struct warp *w) {
    switch (w->operation) {
    case EMU_WGMMA: add_product(w); break;
    case EMU_WGMMA_COMMIT: w->n_batches++; break;
    case EMU_WGMMA_WAIT: end_products(w, (int)w->operand); break;
    case EMU_REGISTERS: set_registers(w, (int)w->operand); break;
    default: break;
    }
}
