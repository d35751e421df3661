/* The memory that a launch may access. In: the launch's arguments, and what fx_launch has announced about them. Out:
 * pieces of memory, exact to the byte, each with the allowed kinds of access; at the end, elements of outputs that
 * nobody has written. Invariant: pieces are sorted by address and do not overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"

enum { MOST_SHADOWED = 1 << 26 };

static _Thread_local struct { /* for the launches of this thread until they are concluded */
    const struct launch_memory *memory;
    int n;
    unsigned time;     /* then: what was written before it is not theirs */
    bool is_watched;   /* all that they wrote was noted */
} announced;

void emu_announce(const struct launch_memory *memory, int n) {
    announced.memory = memory;
    announced.n = n;
    announced.time = watch_enter();
    announced.is_watched = true;
}

/* ---- pieces ---- */

static bool is_const_parameter(const char *parameters, int i) {
    for (; i > 0 && parameters; i--) parameters = strchr(parameters, ','), parameters += parameters != NULL;
    while (parameters && *parameters == ' ') parameters++;
    return parameters && strncmp(parameters, "const ", 6) == 0;
}

static struct emu_room *add_piece(struct watch *w, char *at, size_t n_bytes) {
    if (w->n_pieces == MAX_PIECES || !n_bytes) return NULL;
    struct emu_room *p = &w->pieces[w->n_pieces++];
    *p = (struct emu_room){.at = at, .end = at + n_bytes};
    return p;
}

/* Everything that was announced at the address. */
static bool add_announced(struct watch *w, const char *address, bool is_const) {
    bool is_known = false;
    for (int i = 0; i < announced.n; i++) {
        const struct launch_memory *m = &announced.memory[i];
        if (m->address != (uint64_t)(uintptr_t)address || (m->is_tensor && !is_const && !m->is_written)) continue;
        struct emu_room *p = add_piece(w, (char *)(uintptr_t)m->start, m->n_bytes);
        is_known = true;
        if (!p) continue;
        p->name = m->name;
        p->is_announced = true;
        p->is_const = is_const;
        p->is_output = m->is_tensor && m->is_written && !m->is_read;
        p->fresh_time = m->is_written && !m->is_read ? announced.time + 1 : 0;
    }
    return is_known;
}

static void add_argument(struct watch *w, int i) {
    const struct emu_entry *e = w->launch->module->entry;
    char *address;
    if (e->n_bytes[i] != sizeof address) return;
    memcpy(&address, w->launch->arguments[i], sizeof address);
    const struct region *r = memory_find(address);
    bool is_const = is_const_parameter(e->parameters, i);
    if (add_announced(w, address, is_const) || !r) return;
    struct emu_room *p = add_piece(w, r->at, r->n_bytes);
    if (!p) return;
    p->is_const = is_const;
    char *name = w->names[p - w->pieces];
    parameter_name(e->parameters, i, name, sizeof *w->names);
    p->name = name;
}

static int by_address(const void *x, const void *y) {
    const struct emu_room *a = x, *b = y;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Tensors that share memory are one piece, of which may be done what may be done to any. */
static void join_pieces(struct watch *w) {
    int n = 0;
    qsort(w->pieces, (size_t)w->n_pieces, sizeof *w->pieces, by_address);
    for (int i = 0; i < w->n_pieces; i++) {
        struct emu_room *p = &w->pieces[i], *last = n > 0 ? &w->pieces[n - 1] : NULL;
        if (!last || p->at >= last->end) {
            w->pieces[n++] = *p;
            continue;
        }
        if (p->end > last->end) last->end = p->end;
        last->is_const &= p->is_const;
        last->is_output &= p->is_output;
        if (!p->fresh_time) last->fresh_time = 0;
    }
    w->n_pieces = n;
}

bool given_open(struct watch *w) {
    size_t n_shadowed = 0;
    for (int i = 0; i < w->launch->module->entry->n_parameters; i++) add_argument(w, i);
    join_pieces(w);
    for (int i = 0; i < w->n_pieces; i++)
        n_shadowed += w->pieces[i].is_const ? 0 : (size_t)(w->pieces[i].end - w->pieces[i].at);
    if (n_shadowed > MOST_SHADOWED) announced.is_watched = false;
    for (int i = 0; i < w->n_pieces && n_shadowed <= MOST_SHADOWED; i++) {
        struct emu_room *p = &w->pieces[i];
        const struct region *r = memory_find(p->at);
        if (p->is_const || !r || p->at < r->at || p->end > r->at + r->n_bytes) continue;
        p->base = r->at;
        if (!(p->shadow = memory_shadow(r))) return false;
    }
    return true;
}

const struct emu_room *given_find(const struct watch *w, const char *at) {
    int low = 0, high = w->n_pieces;
    while (low < high) {
        int middle = (low + high) / 2;
        if (at < w->pieces[middle].end) high = middle;
        else low = middle + 1;
    }
    return low < w->n_pieces && at >= w->pieces[low].at ? &w->pieces[low] : NULL;
}

/* Of several pieces in one allocation the nearest counts. */
void given_describe(const struct watch *w, const char *at, char *text, size_t size) {
    const struct emu_room *nearest = NULL;
    size_t least = 4096;
    for (int i = 0; i < w->n_pieces; i++) {
        const struct emu_room *p = &w->pieces[i];
        size_t distance = at < p->at ? (size_t)(p->at - at) : at >= p->end ? (size_t)(at - p->end) : 0;
        if (p->is_announced && distance < least) nearest = p, least = distance;
    }
    if (!nearest) fault_describe(w->launch, at, text, size);
    else if (at < nearest->at) snprintf(text, size, "%zu bytes before %s", (size_t)(nearest->at - at), nearest->name);
    else if (at >= nearest->end)
        snprintf(text, size, "%zu bytes from the start of %s, which has %zu", (size_t)(at - nearest->at), nearest->name,
            (size_t)(nearest->end - nearest->at));
    else
        snprintf(text, size, "byte %zu of the %zu of %s", (size_t)(at - nearest->at),
            (size_t)(nearest->end - nearest->at), nearest->name);
}

/* ---- the end ---- */

static bool is_unwritten(const struct region *r, const char *element, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        if (!r->shadow || r->shadow->written[element + i - r->at] >> TIME_SHIFT <= announced.time) return true;
    return false;
}

/* Elements of m that nobody has written, the first of them in index[]. */
static int64_t count_unwritten(const struct launch_memory *m, int64_t *index) {
    int64_t at[FX_MAX_RANK] = {0}, n_unwritten = 0, n = 1, row_major;
    const struct region *r = memory_find((const void *)(uintptr_t)m->start);
    if (!r || (char *)(uintptr_t)(m->start + m->n_bytes) > r->at + r->n_bytes)
        return 0; /* memory that is not the emulator's */
    for (int i = 0; i < m->rank; i++) n *= m->shape[i];
    for (int64_t e = 0; e < n; e++) {
        int64_t offset = 0;
        row_major = 1;
        for (int i = m->rank - 1; i >= 0; row_major *= m->shape[i--])
            offset += at[i] * (m->strides ? m->strides[i] : row_major);
        if (is_unwritten(r, (const char *)(uintptr_t)m->address + offset * m->element_bytes, m->element_bytes) &&
            n_unwritten++ == 0)
            memcpy(index, at, sizeof at);
        for (int i = m->rank - 1; i >= 0 && ++at[i] == m->shape[i]; i--) at[i] = 0;
    }
    return n_unwritten;
}

fx_status emu_conclude(fx_status status) {
    for (int i = 0; announced.is_watched && status == FX_OK && i < announced.n; i++) {
        const struct launch_memory *m = &announced.memory[i];
        int64_t index[FX_MAX_RANK];
        char text[256] = "";
        int64_t n_unwritten = m->is_tensor && m->is_written && !m->is_read ? count_unwritten(m, index) : 0;
        size_t n = 0;
        for (int k = 0; n_unwritten && k < m->rank && n < sizeof text; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", k ? "," : "", (long long)index[k]);
        if (n_unwritten)
            status = error_set(FX_ERR_GPU, "%lld elements of %s are never written, [%s] the first of them",
                (long long)n_unwritten, m->name, text);
    }
    announced.memory = NULL;
    announced.n = 0;
    watch_leave();
    return status;
}
