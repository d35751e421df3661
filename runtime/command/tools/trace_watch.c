/* What a traced launch does to its tensors. In: accesses, as the emulator shows them. Out: for each launch which cells
 * each block touches and when, as runs, and what the counter of requests counts. Invariant: cells are held one by one
 * only while a launch runs; what outlives it is runs, of bounded number. */
#include <stdlib.h>
#include <string.h>

#include "command/tools/trace.h"

struct cell { /* of a tensor, and a block shown in detail */
    uint64_t order, n;     /* of the first access; accesses, 0: untouched */
    unsigned phase, epoch; /* of the first */
};
struct owner { /* of a cell of a tensor */
    unsigned block, n_blocks; /* the first to touch it; how many do */
};
struct slot { /* a block that is alive */
    unsigned block;                  /* whose bits these are */
    uint64_t *bits[TRACE_SIDES];     /* cells that it has touched, of all tensors */
};

struct trace_watch {
    struct emu_observer observer;
    struct trace *trace;
    struct emu_counter *counter;
    struct trace_launch *launch;     /* that runs, or ran last; NULL: none has */
    int next;                        /* the first launch that has not begun */
    int64_t *first;                  /* where each tensor's cells are among all */
    int64_t n_cells;
    const char *last_name;           /* met last, */
    int last;                        /* and its tensor */
    unsigned n_alive;
    struct slot *slots;              /* of blocks that are alive */
    struct owner *owners[TRACE_SIDES];  /* by cell */
    struct cell *cells[TRACE_BLOCKS][TRACE_SIDES]; /* by cell */
    bool is_short;                   /* of memory */
    bool is_lost;                    /* a launch was seen that is none of the trace's */
};

/* ---- room ---- */

static void free_cells(struct trace_watch *w) {
    for (int side = 0; side < TRACE_SIDES; side++) {
        free(w->owners[side]);
        w->owners[side] = NULL;
        for (int d = 0; d < TRACE_BLOCKS; d++) free(w->cells[d][side]), w->cells[d][side] = NULL;
        for (unsigned i = 0; w->slots && i < w->n_alive; i++) free(w->slots[i].bits[side]);
    }
    free(w->slots);
    w->slots = NULL;
}

static size_t n_words(const struct trace_watch *w) { return (size_t)w->n_cells / 64 + 1; }

static bool open_cells(struct trace_watch *w) {
    bool is_fine = (w->slots = calloc(w->n_alive, sizeof *w->slots)) != NULL;
    for (int side = 0; side < TRACE_SIDES && is_fine; side++) {
        is_fine &= (w->owners[side] = calloc((size_t)w->n_cells + 1, sizeof *w->owners[side])) != NULL;
        for (int d = 0; d < w->launch->n_details; d++)
            is_fine &= (w->cells[d][side] = calloc((size_t)w->n_cells + 1, sizeof(struct cell))) != NULL;
        for (unsigned i = 0; i < w->n_alive; i++)
            is_fine &= (w->slots[i].bits[side] = calloc(n_words(w), sizeof(uint64_t))) != NULL;
    }
    for (unsigned i = 0; is_fine && i < w->n_alive; i++) w->slots[i].block = i;
    return is_fine;
}

static bool open_launch(struct trace *t, struct trace_launch *l) {
    size_t n = (size_t)t->n_tensors + 1;
    l->parts = calloc(n, sizeof *l->parts);
    l->blocks = calloc((size_t)l->grid + 1, sizeof *l->blocks);
    bool is_fine = l->parts && l->blocks;
    for (unsigned b = 0; is_fine && b < l->grid; b++)
        is_fine = (l->blocks[b].tensors = calloc(n, sizeof *l->blocks[b].tensors)) != NULL;
    for (int d = 0; is_fine && d < l->n_details; d++)
        is_fine = (l->details[d].tensors = calloc(n, sizeof *l->details[d].tensors)) != NULL;
    return is_fine;
}

static void release_launch(const struct trace *t, struct trace_launch *l) {
    for (int i = 0; l->parts && i < t->n_tensors; i++)
        for (int side = 0; side < TRACE_SIDES; side++) free(l->parts[i].map[side].runs);
    while (l->n_details > 0) {
        struct trace_runs(*of)[TRACE_SIDES] = l->details[--l->n_details].tensors;
        for (int i = 0; of && i < t->n_tensors; i++)
            for (int side = 0; side < TRACE_SIDES; side++) free(of[i][side].runs);
        free(of);
    }
    for (unsigned b = 0; l->blocks && b < l->grid; b++) free(l->blocks[b].tensors);
    free(l->blocks);
    free(l->parts);
    free(l->counts);
}

void trace_release(struct trace *t) {
    for (int i = 0; t->launches && i < t->n_launches; i++) release_launch(t, &t->launches[i]);
    free(t->launches);
    free(t->tensors);
    t->launches = NULL;
    t->tensors = NULL;
}

/* ---- a launch begins ---- */

static void choose_details(const struct trace *t, struct trace_launch *l) {
    unsigned usual[] = {0, l->grid / 2, l->grid ? l->grid - 1 : 0};
    const unsigned *wanted = t->n_blocks ? t->blocks : usual;
    for (int i = 0, n = t->n_blocks ? t->n_blocks : 3; i < n; i++) {
        bool is_new = wanted[i] < l->grid;
        for (int d = 0; d < l->n_details; d++) is_new &= l->details[d].block != wanted[i];
        if (is_new) l->details[l->n_details++].block = wanted[i];
    }
}

/* Launches come in the order of the plan; those of which nothing is launched do not. */
static struct trace_launch *find_launch(struct trace_watch *w, const char *entry) {
    for (; w->next < w->trace->n_launches; w->next++) {
        struct trace_launch *l = &w->trace->launches[w->next];
        if (l->variant && strcmp(l->variant->entry, entry) == 0) return w->next++, l;
    }
    return NULL;
}

static void on_begin(void *data, const struct emu_seen_launch *launch) {
    struct trace_watch *w = data;
    const struct emu_observer *counts = emu_counter_observer(w->counter);
    counts->begin(counts->data, launch);
    w->launch = find_launch(w, launch->entry);
    w->is_lost |= !w->launch || launch->grid > TRACE_MOST_GRID;
    if (w->is_short || w->is_lost) return;
    w->launch->grid = launch->grid;
    w->launch->n_threads = launch->n_threads;
    w->launch->shared_bytes = launch->shared_bytes;
    w->n_alive = launch->n_alive;
    choose_details(w->trace, w->launch);
    w->is_short = !open_launch(w->trace, w->launch) || !open_cells(w);
}

/* ---- accesses ---- */

static int find_tensor(struct trace_watch *w, const char *name) {
    if (name == w->last_name) return w->last;
    w->last_name = name;
    for (w->last = w->trace->n_tensors - 1; w->last >= 0; w->last--)
        if (strcmp(w->trace->tensors[w->last].name, name) == 0) break;
    return w->last;
}

static void touch_cell(struct trace_watch *w, const struct emu_seen *s, int side, int64_t cell,
    struct trace_total *of_block, struct trace_total *of_launch) {
    struct slot *slot = &w->slots[s->block % w->n_alive];
    uint64_t bit = (uint64_t)1 << cell % 64, *word = &slot->bits[side][cell / 64];
    struct owner *owner = &w->owners[side][cell];
    of_block->n_accesses++;
    of_launch->n_accesses++;
    for (int d = 0; d < w->launch->n_details; d++) {
        struct cell *c = &w->cells[d][side][cell];
        if (w->launch->details[d].block != s->block) continue;
        if (c->n++ == 0) c->order = s->order, c->phase = s->phase, c->epoch = s->epoch;
    }
    if (*word & bit) return;
    *word |= bit;
    of_block->n_cells++;
    if (owner->n_blocks == 0) owner->block = s->block;
    of_launch->n_cells += owner->n_blocks++ == 0;
}

static void on_access(void *data, const struct emu_seen *s) {
    struct trace_watch *w = data;
    const struct emu_observer *counts = emu_counter_observer(w->counter);
    int side = s->access == EMU_READ ? TRACE_READ : TRACE_WRITE;
    counts->access(counts->data, s);
    if (w->is_short || w->is_lost) return;
    struct trace_block *b = &w->launch->blocks[s->block];
    struct slot *slot = &w->slots[s->block % w->n_alive];
    if (s->phase >= b->n_phases) b->n_phases = s->phase + 1;
    if (s->epoch >= b->n_epochs) b->n_epochs = s->epoch + 1;
    if (!s->memory) b->shared_bytes[side] += s->n_bytes;
    if (slot->block != s->block) {
        for (int i = 0; i < TRACE_SIDES; i++) memset(slot->bits[i], 0, n_words(w) * sizeof *slot->bits[i]);
        slot->block = s->block;
    }
    int t = s->memory ? find_tensor(w, s->memory) : -1;
    if (t < 0) return;
    const struct trace_tensor *tensor = &w->trace->tensors[t];
    int64_t last = (int64_t)(s->offset + s->n_bytes - 1) / tensor->cell_bytes;
    for (int64_t c = (int64_t)s->offset / tensor->cell_bytes; c <= last && c < tensor->n_cells; c++)
        touch_cell(w, s, side, w->first[t] + c, &b->tensors[t][side], &w->launch->parts[t].total[side]);
}

/* ---- a launch ends ---- */

static bool add_run(struct trace_runs *r, struct trace_run run) {
    if (r->n == TRACE_MOST_RUNS) return r->is_cut = true;
    if (r->n == r->room) {
        int room = r->room ? 2 * r->room : 16;
        struct trace_run *wider = realloc(r->runs, (size_t)room * sizeof *wider);
        if (!wider) return false;
        r->runs = wider, r->room = room;
    }
    r->runs[r->n++] = run;
    return true;
}

static bool owners_to_runs(const struct owner *owners, int64_t n, struct trace_runs *r) {
    bool is_fine = true;
    for (int64_t i = 0, end; is_fine && i < n; i = end) {
        const struct owner *o = &owners[i];
        for (end = i + 1; end < n && owners[end].block == o->block && owners[end].n_blocks == o->n_blocks;) end++;
        if (o->n_blocks)
            is_fine = add_run(
                r, (struct trace_run){.first = i, .n = end - i, .block = o->block, .n_blocks = o->n_blocks});
    }
    return is_fine;
}

static bool cells_to_runs(const struct cell *cells, int64_t n, unsigned block, struct trace_runs *r) {
    bool is_fine = true;
    for (int64_t i = 0, end; is_fine && i < n; i = end) {
        const struct cell *c = &cells[i];
        struct trace_run run = {
            .first = i, .block = block, .n_blocks = 1, .phase = c->phase, .epoch = c->epoch, .order = c->order};
        for (end = i; end < n && (cells[end].n == 0) == (c->n == 0) && cells[end].phase == c->phase &&
                      cells[end].epoch == c->epoch;
             end++) {
            if (cells[end].order < run.order) run.order = cells[end].order;
            run.n_accesses += cells[end].n;
        }
        run.n = end - i;
        if (c->n) is_fine = add_run(r, run);
    }
    return is_fine;
}

static bool keep_counts(struct trace_watch *w) {
    const struct emu_count *counts = emu_counter_result(w->counter, &w->launch->n_counts);
    if (w->launch->n_counts < 0) return false;
    w->launch->counts = calloc((size_t)w->launch->n_counts + 1, sizeof *counts);
    if (w->launch->counts && w->launch->n_counts)
        memcpy(w->launch->counts, counts, (size_t)w->launch->n_counts * sizeof *counts);
    return w->launch->counts != NULL;
}

static void on_end(void *data, bool is_fine) {
    struct trace_watch *w = data;
    const struct emu_observer *counts = emu_counter_observer(w->counter);
    counts->end(counts->data, is_fine);
    is_fine &= !w->is_lost;
    if (!w->is_short && is_fine) w->is_short = !keep_counts(w);
    for (int t = 0; !w->is_short && is_fine && t < w->trace->n_tensors; t++)
        for (int side = 0; side < TRACE_SIDES; side++) {
            int64_t at = w->first[t], n = w->trace->tensors[t].n_cells;
            w->is_short |= !owners_to_runs(w->owners[side] + at, n, &w->launch->parts[t].map[side]);
            for (int d = 0; d < w->launch->n_details; d++)
                w->is_short |= !cells_to_runs(
                    w->cells[d][side] + at, n, w->launch->details[d].block, &w->launch->details[d].tensors[t][side]);
        }
    free_cells(w);
}

struct trace_watch *trace_watch_open(struct trace *t) {
    struct trace_watch *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->observer = (struct emu_observer){.data = w, .begin = on_begin, .access = on_access, .end = on_end};
    w->trace = t;
    w->last = -1;
    w->counter = emu_counter_open();
    w->first = calloc((size_t)t->n_tensors + 1, sizeof *w->first);
    w->is_short = !w->counter || !w->first;
    for (int i = 0; !w->is_short && i < t->n_tensors; i++) {
        w->first[i] = w->n_cells;
        w->n_cells += t->tensors[i].n_cells;
    }
    if (!w->is_short) return emu_observe(&w->observer), w;
    trace_watch_close(w);
    return NULL;
}

fx_status trace_watch_close(struct trace_watch *w) {
    fx_status status = w->is_short ? FX_ERR_NOMEM : w->is_lost ? FX_ERR_INTERNAL : FX_OK;
    emu_observe(NULL);
    free_cells(w);
    emu_counter_close(w->counter);
    free(w->first);
    free(w);
    return status;
}
