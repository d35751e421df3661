/* Shows a watched launch to an observer. In: accesses, as watch.c sees them. Out: calls of the observer, and lines if
 * it asks for them. Invariant: one run of a launch is shown, whatever errors it has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"

static _Atomic(const struct emu_observer *) observer;
static _Thread_local const struct module *ending; /* whose lines may be asked for */

void emu_observe(const struct emu_observer *o) { atomic_store(&observer, o); }

void seen_begin(struct watch *w) {
    const struct emu_launch *l = w->launch;
    struct emu_seen_launch begun = {.entry = l->module->name,
        .grid = l->grid,
        .n_threads = l->n_threads,
        .shared_bytes = l->shared_bytes,
        .n_alive = (unsigned)w->n_sights};
    w->observer = atomic_load(&observer);
    w->n_seen = 0;
    if (w->observer && w->observer->begin) w->observer->begin(w->observer->data, &begun);
}

void seen_end(struct watch *w, bool is_fine) {
    ending = w->launch->module;
    if (w->observer && w->observer->end) w->observer->end(w->observer->data, is_fine);
    ending = NULL;
    w->observer = NULL;
}

void seen_tell(
    const struct fiber *f, const char *memory, uint64_t offset, unsigned n, enum emu_access access, const void *pc) {
    struct watch *w = machine_now->launch->watch;
    const struct sight *s = f->warp->block->sight;
    struct emu_seen seen = {.memory = memory,
        .offset = offset,
        .n_bytes = n,
        .access = access,
        .block = f->view.block.x,
        .thread = f->view.thread.x,
        .phase = w->n_phases,
        .epoch = s->n_epochs,
        .turn = f->turn,
        .order = w->n_seen++,
        .pc = pc};
    if (w->observer->access) w->observer->access(w->observer->data, &seen);
}

/* ---- lines ---- */

/* The spec's line that a comment names at this line of the text, or above it in the same function;
 * 0 where none does. */
static int spec_line(const char *source, int line) {
    const char *at = source, *comment;
    for (int i = 1; i < line && at; i++) at = strchr(at, '\n'), at += at != NULL;
    while (at) {
        size_t length = strcspn(at, "\n");
        if ((comment = strstr(at, "  // line ")) && comment < at + length) return atoi(comment + 10);
        if (memmem(at, length, "FX_DEVICE", 9) || memmem(at, length, "__global__", 10) || at == source) return 0;
        for (at--; at > source && at[-1] != '\n';) at--;
    }
    return 0;
}

/* As module_lines, with lines of the spec. */
static void seen_lines(const struct module *m, const void *const *pcs, int n, struct emu_line *out) {
    module_lines(m, pcs, n, out);
    for (int i = 0; i < n && m->entry->source; i++)
        for (int d = 0; d < EMU_DEPTH && out[i].lines[d] && !out[i].spec_line; d++)
            out[i].spec_line = spec_line(m->entry->source, out[i].lines[d]);
}

void emu_lines(const void *const *pcs, int n, struct emu_line *out) {
    memset(out, 0, (size_t)n * sizeof *out);
    if (ending) seen_lines(ending, pcs, n, out);
}

void seen_line(const struct module *m, const void *pc, char *text, size_t size) {
    struct emu_line l = {0};
    size_t n = 0;
    text[0] = 0;
    seen_lines(m, &pc, 1, &l);
    for (int d = 0; d < EMU_DEPTH && l.lines[d] && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, d ? ", within line %d" : "line %d", l.lines[d]);
    if (l.spec_line && n < size) snprintf(text + n, size - n, " (line %d of the spec)", l.spec_line);
}
