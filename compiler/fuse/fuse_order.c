/* The order in which the GPU kernels of a partition run.
 *
 * In: its groups, each with its stores. Out: the same groups, each after those that write what it reads, as far as such
 * an order exists. Groups without stores are removed. A group that overwrites a parameter runs after those that may
 * read the old contents. */
#include <limits.h>
#include <string.h>

#include "fuse/fuse.h"

/* Whether r overwrites a parameter and nobody waits for it: it then runs after those that may read the old contents. */
static bool is_last(const struct graph *g, const struct group *r) {
    bool overwrites = false;
    for (int s = 0; s < r->n_stores; s++) {
        if (r->stores[s].buffer >= 0) return false;
        overwrites |= g->kernel->params[r->stores[s].param].is_input;
    }
    return overwrites;
}

/* Of groups that may run, the lowest comes first. Copies come last, those to positions before others: what these
 * overwrite may say where. */
static int rank(const struct graph *g, const struct group *r) {
    return r->is_copy      ? INT_MAX - (r->stores[0].value->kind == N_PLACE)
           : is_last(g, r) ? r->order + INT_MAX / 2
                           : r->order;
}

/* Whether every buffer that r reads has been written. */
static bool is_ready(const bool *is_read, const bool *is_written, int n_buffers) {
    for (int b = 0; b < n_buffers; b++)
        if (is_read[b] && !is_written[b]) return false;
    return true;
}

void fuse_sort_groups(struct fuser *f) {
    struct partition *p = f->p;
    struct arena *a = &f->g->cx->arena;
    int n = 0;
    for (int i = 0; i < p->n_groups; i++)
        if (p->groups[i].n_stores) p->groups[n++] = p->groups[i];
    p->n_groups = n;
    struct group *sorted = NEW_ARRAY(a, struct group, n + 1);
    bool *is_placed = NEW_ARRAY(a, bool, n + 1), *is_written = NEW_ARRAY(a, bool, p->n_buffers + 1),
         **is_read = NEW_ARRAY(a, bool *, n + 1);
    for (int i = 0; i < n; i++) is_read[i] = ir_buffers_read(f->g, p, &p->groups[i]);
    for (int at = 0; at < n; at++) {
        int best = -1, any = -1;
        for (int i = 0; i < n; i++) {
            if (is_placed[i]) continue;
            if (any < 0) any = i;
            if (is_ready(is_read[i], is_written, p->n_buffers) &&
                (best < 0 || rank(f->g, &p->groups[i]) < rank(f->g, &p->groups[best])))
                best = i;
        }
        if (best < 0) best = any;
        is_placed[best] = true;
        sorted[at] = p->groups[best];
        for (int s = 0; s < sorted[at].n_stores; s++)
            for (int b = 0; b < p->n_buffers; b++) is_written[b] |= buffer_is_stored(p, b, &sorted[at].stores[s]);
    }
    memcpy(p->groups, sorted, (size_t)n * sizeof *sorted);
}
