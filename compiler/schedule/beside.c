/* Joins contractions of one A into one launch that computes the tiles of all of them (kernels/beside.cuh): q, k and v
 * of a layer, whatever columns and epilogues each has.
 *
 * In: chosen kernels in order, each a launch. Out: some of them as launches whose configurations are parallel: entry v
 * runs configs[v] of each, with tiles of one size. All kernels of such a launch run as early as the first one. They are
 * joined if a price says so, or if a contract asks for fewer launches. */
#include <string.h>

#include "schedule/beside.h"
#include "schedule/wgmma.h"

/* ---- what may be joined ---- */

bool beside_same_labels(const struct axis_list *a, const struct axis_list *b) {
    return a->n == b->n && memcmp(a->axes, b->axes, (size_t)a->n * sizeof *a->axes) == 0;
}

/* Whether s overwrites what another kernel may still read. */
static bool writes_in_place(const struct graph *g, const struct scheduled *s) {
    for (int i = 0; i < s->group->n_stores; i++)
        if (s->group->stores[i].param >= 0 && g->kernel->params[s->group->stores[i].param].is_input) return true;
    return false;
}

static bool reads_of(const struct scheduled_graph *c, const struct scheduled *s, const struct scheduled *before) {
    const bool *is_read = ir_buffers_read(c->graph, c->partition, s->group);
    for (int i = 0; i < before->group->n_stores; i++)
        if (before->group->stores[i].buffer >= 0 && is_read[before->group->stores[i].buffer]) return true;
    return false;
}

static bool has_tiles(const struct scheduled *s) {
    return has_maps(s) && !s->chain && !s->gemm.is_split && !s->gemm.is_scaled && !s->gemm.is_whole && !s->gemm.makes;
}

/* Whether its epilogue reduces, or shares among, runs of elements. */
static bool has_runs(const struct scheduled_graph *c, const struct scheduled *s) {
    struct node **shared;
    return gemm_has_reduced(c->graph, s->group) || gemm_shared(c->graph, s->group, &shared);
}

/* Whether s has the A of t, and tiles for the same stages. */
static bool is_like(const struct scheduled_graph *c, const struct scheduled *s, const struct scheduled *t) {
    const struct gemm_shape *x = &s->gemm, *y = &t->gemm;
    const struct operand *a = &x->segments[0].a, *b = &y->segments[0].a;
    return has_tiles(s) && has_tiles(t) && !has_runs(c, s) && !has_runs(c, t) &&
           x->n_accumulators == y->n_accumulators && x->most_sums == y->most_sums &&
           x->a_dtype == y->a_dtype && x->b_dtype == y->b_dtype && beside_same_labels(&x->m, &y->m) &&
           beside_same_labels(&x->batch, &y->batch) && a->value == b->value && a->tensor.param == b->tensor.param &&
           a->tensor.buffer == b->tensor.buffer;
}

bool beside_is_free(const struct scheduled_graph *c, int first, int at) {
    const struct scheduled *s = &c->kernels[at];
    if (writes_in_place(c->graph, s)) return false;
    for (int k = first; k < at; k++)
        if (reads_of(c, s, &c->kernels[k]) || writes_in_place(c->graph, &c->kernels[k])) return false;
    return true;
}

/* Whether kernel number `at` may join launch i. */
static bool may_stand_beside(const struct scheduled_graph *c, const struct launch_phases *i, int at) {
    return i->n < MOST_BESIDE && is_like(c, &c->kernels[at], &c->kernels[i->first]) && beside_is_free(c, i->first, at);
}

/* ---- configurations ---- */

struct config *beside_find_config(struct scheduled *s, const struct config *f) {
    for (int i = 0; i < s->n_configs; i++)
        if (strcmp(s->configs[i].suffix, f->suffix) == 0 && s->configs[i].block == f->block) return &s->configs[i];
    return NULL;
}

/* Gives every kernel its configuration number v, made from that of the first one. False where they have none alike. */
static bool add_entry(struct cx *cx, struct scheduled_graph *c, struct scheduled *const *kernels, int n,
    const struct config *f, struct config (*configs)[MAX_VARIANTS], int v) {
    int smem = 0, min_blocks = f->min_blocks, stages = f->stages;
    if (f->splits_k || f->cluster_m) return false;
    for (int i = 0; i < n; i++) {
        const struct config *own = beside_find_config(kernels[i], f);
        if (!own || !config_is_possible(cx, c, kernels[i], own)) return false;
        configs[i][v] = *own;
        if (own->stages < stages) stages = own->stages;
        if (own->min_blocks < min_blocks) min_blocks = own->min_blocks;
    }
    for (int i = 0; i < n; i++) {
        if (f->takes_maps && configs[i][v].stages != stages)
            wgmma_limit_stages(c->graph, c->partition, kernels[i], &configs[i][v], stages);
        if (smem < configs[i][v].smem_bytes) smem = configs[i][v].smem_bytes;
    }
    for (int i = 0; i < n; i++) configs[i][v].smem_bytes = smem, configs[i][v].min_blocks = min_blocks;
    return true;
}

/* Whether what s takes alone it takes beside others: there is an entry of every kind, but for the skinny driver's where
 * a contract wants one launch. */
static bool is_covered(struct cx *cx, const struct scheduled_graph *c, const struct scheduled *s,
    const struct config *entries, int n, bool is_wanted) {
    for (int i = 0; i < s->n_configs; i++) {
        bool any = is_wanted && s->configs[i].is_skinny;
        for (int v = 0; v < n; v++) any |= kind_of(&entries[v]) == kind_of(&s->configs[i]);
        if (!any && config_is_possible(cx, c, s, &s->configs[i])) return false;
    }
    return true;
}

/* Makes the configurations of the kernels parallel. */
static bool configure_beside(
    struct cx *cx, struct scheduled_graph *c, struct scheduled *const *kernels, int n, bool is_wanted) {
    struct config(*configs)[MAX_VARIANTS] = (struct config(*)[MAX_VARIANTS])NEW_ARRAY(
        &cx->arena, struct config, n * MAX_VARIANTS);
    int n_entries = 0;
    for (int v = 0; v < kernels[0]->n_configs; v++)
        n_entries += add_entry(cx, c, kernels, n, &kernels[0]->configs[v], configs, n_entries);
    for (int i = 0; i < n; i++)
        if (!n_entries || !is_covered(cx, c, kernels[i], configs[0], n_entries, is_wanted)) return false;
    for (int i = 0; i < n; i++) {
        memcpy(kernels[i]->configs, configs[i], sizeof kernels[i]->configs);
        kernels[i]->n_configs = n_entries;
    }
    return true;
}

/* ---- joining ---- */

void beside_put(struct scheduled_graph *c, int i, int j, const struct scheduled *joined) {
    struct launch_phases *to = &c->launches[i];
    const int end = to->first + to->n, at = c->launches[j].first;
    memmove(&c->kernels[end + 1], &c->kernels[end], (size_t)(at - end) * sizeof *c->kernels);
    *to = (struct launch_phases){.first = to->first, .n = to->n + 1, .is_beside = true};
    memcpy(&c->kernels[to->first], joined, (size_t)to->n * sizeof *joined);
    memmove(&c->launches[j], &c->launches[j + 1], (size_t)(c->n_launches - j - 1) * sizeof *c->launches);
    c->n_launches--;
    for (int k = i + 1; k < j; k++) c->launches[k].first++;
}

/* Where rounds of tiles are all that a price knows of, a launch less is no gain by itself: one of 8192 rows took longer
 * than three. Rows whose number is open may be few, and then it is. */
static double least_gain(const struct graph *g, const struct gemm_shape *shape) {
    for (int i = 0; i < shape->m.n; i++)
        if (g->kernel->axes[shape->m.axes[i]].extent < 0) return 1;
    return 1.01;
}

/* Joins launch i and launch number j, a kernel alone. */
static bool join(struct cx *cx, struct scheduled_graph *c, int i, int j, double launch_seconds, bool is_wanted) {
    const struct launch_phases *to = &c->launches[i];
    if (c->launches[j].n > 1 || (to->n > 1 && !to->is_beside) || !may_stand_beside(c, to, c->launches[j].first))
        return false;
    struct scheduled *joined = NEW_ARRAY(&cx->arena, struct scheduled, to->n + 1), *kernels[MOST_BESIDE];
    double apart = 0;
    int n_maps = 0;
    memcpy(joined, &c->kernels[to->first], (size_t)to->n * sizeof *joined);
    joined[to->n] = c->kernels[c->launches[j].first];
    for (int k = 0; k <= to->n; k++) {
        kernels[k] = &joined[k];
        apart += joined[k].seconds;
        n_maps += tail_map(c->graph, &joined[k], joined[k].gemm.n_segments, true);
    }
    if (n_maps > FX_MAX_MAPS || !configure_beside(cx, c, kernels, to->n + 1, is_wanted)) return false;
    double seconds = gemm_price_beside(c->graph, kernels, to->n + 1);
    if (!is_wanted && seconds * least_gain(c->graph, &joined->gemm) >= apart + launch_seconds) return false;
    c->seconds += seconds - apart;
    beside_put(c, i, j, joined);
    return true;
}

void beside_join(struct cx *cx, struct scheduled_graph *c, int wanted, double launch_seconds) {
    for (int i = c->n_once; i < c->n_launches; i++)
        for (int j = i + 1; j < c->n_launches && (!wanted || launches_each_time(c) > wanted);)
            if (!join(cx, c, i, j, launch_seconds, wanted > 0)) j++;
}
