/* Joins consecutive kernels into one launch of several phases if a contract (`fuse: require`, `kernels: N`) allows
 * fewer launches than there are kernels.
 *
 * In: chosen kernels in order, each a launch. Out: runs of them as launches, with parallel configurations: entry v runs
 * configs[v] of every phase, all with one block size, one amount of shared memory and the same number of blocks per SM.
 * A phase waits for all blocks if it reads what an earlier one left in the workspace.
 *
 * Phases hand over only side products. These are small in themselves, or compared with what the kernel reads and writes
 * anyway: statistics of rows, partial sums, a product of low rank. Anything larger is a trip through memory that a user
 * who asks for one kernel does not want; the launches then stay apart, with the reason. With `stores_factors`, if a
 * kernel has few enough launches without, a factor that is not the result of a product may be larger. It is computed
 * once instead of once per tile, and read as that of a plain product. */
#include <string.h>

#include "graph/terms.h"
#include "schedule/chain_program.h"
#include "schedule/pins.h"
#include "schedule/row_program.h"
#include "schedule/wgmma.h"

enum {
    SIDE_SHARE = 32,           /* a side product takes at most this part of the bytes of the kernel's tensors, */
    SIDE_BYTES = 1 << 20,      /* or so few bytes that it never leaves the L2 cache */
};

/* ---- what may be joined ---- */

/* Bytes of everything the kernel takes and gives, at the nominal extents. */
static double all_tensor_bytes(const struct graph *g) {
    double bytes = 0;
    for (int i = 0; i < g->kernel->n_params; i++) {
        struct tensor t = tensor_of_param(g, i);
        if (!g->kernel->params[i].is_scalar) bytes += tensor_bytes(g, &t);
    }
    return bytes;
}

/* Whether kernel i stores factors, of any size. */
static bool hands_over_factors(const struct scheduled_graph *c, int i) {
    return c->stores_factors && !c->kernels[i].group->contraction;
}

/* What kernels first .. last hand over that is no side product, or NULL; where factors may be stored, as they are
 * computed of what is no product, those do not count. The last one's stores are for later launches. */
static const struct buffer *first_large(const struct scheduled_graph *c, int first, int last) {
    double most = all_tensor_bytes(c->graph) / SIDE_SHARE;
    if (most < SIDE_BYTES) most = SIDE_BYTES;
    for (int i = first; i < last; i++) {
        const struct group *r = c->kernels[i].group;
        if (hands_over_factors(c, i)) continue;
        for (int s = 0; s < r->n_stores; s++) {
            struct tensor t = tensor_of_store(c->graph, c->partition, &r->stores[s]);
            if (t.buffer >= 0 && tensor_bytes(c->graph, &t) > most) return &c->partition->buffers[t.buffer];
        }
    }
    return NULL;
}

static void push_bytes(struct terms *x, const struct kernel *k, const struct tensor *t) {
    terms_size(x, k, t->axes, t->n_axes);
    terms_constant(x, tensor_bits(t));
    terms_op(x, FX_T_MUL);
    terms_constant(x, 8);
    terms_op(x, FX_T_DIV);
}

struct fx_expr phases_are_small(struct arena *a, const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    struct terms all = {.a = a}, x = {.a = a};
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        struct tensor t = tensor_of_param(c->graph, i);
        if (k->params[i].is_scalar) continue;
        push_bytes(&all, k, &t);
        if (n++) terms_op(&all, FX_T_ADD);
    }
    n = 0;
    for (int l = 0; l < c->n_launches; l++)
        for (int i = c->launches[l].first; i + 1 < c->launches[l].first + c->launches[l].n; i++)
            for (int s = 0; !hands_over_factors(c, i) && s < c->kernels[i].group->n_stores; s++) {
                const int from = x.n;
                struct tensor t = tensor_of_store(c->graph, c->partition, &c->kernels[i].group->stores[s]);
                if (t.buffer < 0) continue;
                push_bytes(&x, k, &t);
                for (int j = 0; j < all.n; j++) terms_push(&x, all.t[j].op, all.t[j].v);
                terms_constant(&x, SIDE_SHARE);
                terms_op(&x, FX_T_DIV);
                terms_constant(&x, SIDE_BYTES);
                terms_op(&x, FX_T_MAX);
                terms_op(&x, FX_T_LE);
                terms_also(&x, &n, from);
            }
    return terms_done(&x);
}

/* ---- configurations ---- */

static bool is_pass_of(const struct scheduled *a, const struct scheduled *b) { return a->group == b->group; }

/* A contraction, whose tiles fix the block, before anything else, one by tensor maps before others; the longest of
 * those. */
int phases_leader(const struct scheduled_graph *c, struct launch_phases j) {
    int best = j.first;
    for (int i = j.first + 1; i < j.first + j.n; i++) {
        const struct scheduled *s = &c->kernels[i], *b = &c->kernels[best];
        bool is_gemm = s->group->contraction != NULL, best_is = b->group->contraction != NULL;
        const bool by_maps = is_gemm && has_maps(s), best_by = best_is && has_maps(b);
        if (is_gemm != best_is    ? is_gemm
            : by_maps != best_by  ? by_maps
                                  : s->seconds > b->seconds)
            best = i;
    }
    return best;
}

static double up(double x, double step) { return (double)(int64_t)((x + step - 1) / step); }

/* A measure of the time a configuration takes at the nominal extents, to be compared with others of the same kernel. */
static double phase_cost(const struct graph *g, const struct scheduled *s, const struct config *f) {
    if (s->group->contraction) {
        const struct gemm_shape *x = &s->gemm;
        double tiles = nominal_size(g, x->batch.axes, x->batch.n) * up(nominal_size(g, x->m.axes, x->m.n), f->tile_m) *
                       up(nominal_size(g, x->n.axes, x->n.n), f->tile_n);
        return up(tiles, g->cx->arch->sms) * f->tile_m * f->tile_n / f->rate;
    }
    if (!s->row) return 1;
    const struct row_program *x = s->row;
    double rows = nominal_size(g, x->rows.axes, x->rows.n), cols = nominal_size(g, x->cols.axes, x->cols.n);
    enum {
        LATENCY = 100,
        JOIN_WARP = 16,
        JOIN_BLOCK = 64
    }; /* of a round of loads, of joining lanes, in elements a thread computes meanwhile */
    double each = (double)f->tile_m * f->tile_n / f->block,
           passes = f->most_cols ? 1 : x->n_passes + x->stores_elements;
    return up(rows, f->tile_m * 2.0 * g->cx->arch->sms) *
           (up(cols, f->tile_n) * (each + LATENCY) * passes + (f->smem_bytes ? JOIN_BLOCK : JOIN_WARP));
}

/* Whether the extents of l multiplied are fixed, and at most `most`. */
static bool is_at_most(const struct graph *g, const struct axis_list *l, int most) {
    for (int i = 0; i < l->n; i++)
        if (g->kernel->axes[l->axes[i]].extent < 0) return false;
    return nominal_size(g, l->axes, l->n) <= most;
}

/* Whether f takes whatever the nominal extents leave open. */
static bool is_general(const struct graph *g, const struct scheduled *s, const struct config *f) {
    bool is_any_k = true;
    for (int i = 0; f->most_k && i < s->chain->first.n_segments; i++)
        is_any_k &= is_at_most(g, &s->chain->first.segments[i].k, f->most_k);
    if (f->most_k) return is_any_k;
    return !f->most_cols || is_at_most(g, &s->row->cols, f->most_cols);
}

/* The group of s, configured for blocks of that many threads, or NULL. */
static struct scheduled *configure_for(
    struct cx *cx, const struct scheduled_graph *c, const struct scheduled *s, int block) {
    struct scheduled *t = NEW(&cx->arena, struct scheduled);
    const char *why_not;
    *t = (struct scheduled){.group = s->group,
        .schedule = s->schedule,
        .loads = s->loads,
        .n_loads = s->n_loads,
        .block = block,
        .is_phase = true,
        .hands_on = s->hands_on};
    return s->schedule->configure(c->graph, c->partition, t, &why_not) && pins_apply(c->graph, t, &why_not)
               ? t
               : NULL;
}

/* The configuration of s for a block of that many threads: the fastest that is aligned where `is_aligned`, if there is
 * one; else one that takes anything. */
static const struct config *pick(
    struct cx *cx, const struct scheduled_graph *c, const struct scheduled *s, int block, bool is_aligned) {
    const struct graph *g = c->graph;
    struct scheduled *t = configure_for(cx, c, s, block);
    const struct config *best = NULL;
    for (int aligned = is_aligned; t && aligned >= 0 && !best; aligned--)
        for (int i = 0; i < t->n_configs; i++) {
            const struct config *f = &t->configs[i];
            bool is_any = aligned || (s->group->contraction ? !f->needs_unit : !f->is_small);
            if (f->block != block || f->is_aligned != aligned || !is_any || !is_general(g, t, f) ||
                !config_is_possible(cx, c, t, f))
                continue;
            if (!best || phase_cost(g, t, f) < phase_cost(g, t, best)) best = f;
        }
    return best;
}

struct picked { /* what a phase takes beside a leader of that many threads */
    const struct group *group;
    const struct schedule *schedule;
    int block;
    bool hands_on, is_aligned;
    const struct config *config; /* NULL: nothing */
};

struct phase_configs { /* of one phase */
    struct config of[MAX_VARIANTS];
};

struct picks { /* of all launches that are tried: leaders differ in much that their phases do not ask for, and a launch
                  has the phases of those that are joined */
    struct picked *all;
    int n;
    struct scheduled *before;      /* the phases of the launch that is tried, as they were, */
    struct phase_configs *configs; /* and what each of them is to have */
};

static struct picks *picks_of(struct cx *cx, struct scheduled_graph *c) {
    if (c->picks) return c->picks;
    c->picks = NEW(&cx->arena, struct picks);
    c->picks->before = NEW_ARRAY(&cx->arena, struct scheduled, c->n_kernels);
    c->picks->configs = NEW_ARRAY(&cx->arena, struct phase_configs, c->n_kernels);
    return c->picks;
}

/* What goes with configuration `leader` of kernel `of`. Two f16 are read from a buffer, whatever arguments are: those
 * of its configurations that store anything are taken with any arguments, so phases beside them must be, too. */
static const struct config *pick_once(
    struct cx *cx, struct scheduled_graph *c, int phase, const struct scheduled *of, const struct config *leader) {
    const struct scheduled *s = &c->kernels[phase];
    const bool is_aligned = leader->is_aligned && !(of->gemm.is_halved && leader->stores_any);
    struct picks *known = picks_of(cx, c);
    for (int i = 0; i < known->n; i++) {
        const struct picked *k = &known->all[i];
        if (k->group == s->group && k->schedule == s->schedule && k->block == leader->block &&
            k->hands_on == s->hands_on && k->is_aligned == is_aligned)
            return k->config;
    }
    struct picked *k = &PUSH(&cx->arena, known->all, known->n);
    *k = (struct picked){
        s->group, s->schedule, leader->block, s->hands_on, is_aligned, pick(cx, c, s, leader->block, is_aligned)};
    return k->config;
}

/* Blocks of the entry an SM is to hold: what all phases have registers and shared memory for. */
static int blocks_on_sm(const struct arch *m, int block, int min_blocks, int smem_bytes) {
    int most = m->sm_shared / (smem_bytes + SHARED_OVERHEAD);
    if (most > m->sm_threads / block) most = m->sm_threads / block;
    if (most > min_blocks) most = min_blocks;
    return most < 1 ? 1 : most;
}

/* Sets one more entry of launch j after configuration f of its leader.
 * False where some phase has none to go with it. */
static bool add_entry(struct cx *cx, struct scheduled_graph *c, struct launch_phases j, int leader,
    const struct config *f, struct phase_configs *configs, int v) {
    int smem = 0, min_blocks = 32;
    for (int i = 0; i < j.n; i++) {
        const struct scheduled *s = &c->kernels[j.first + i];
        const struct config *own = is_pass_of(s, &c->kernels[leader])
                                       ? f
                                       : pick_once(cx, c, j.first + i, &c->kernels[leader], f);
        if (!own) return false;
        configs[i].of[v] = *own;
        if (smem < own->smem_bytes) smem = own->smem_bytes;
        if (min_blocks > own->min_blocks) min_blocks = own->min_blocks;
    }
    for (int i = 0; i < j.n; i++) {
        configs[i].of[v].smem_bytes = smem;
        configs[i].of[v].min_blocks = blocks_on_sm(c->graph->cx->arch, f->block, min_blocks, smem);
    }
    return true;
}

/* Leaves out the configurations of s that are no phases. Returns whether there were any. */
static bool drop_skinny(struct scheduled *s) {
    int n = 0, n_all = s->n_configs;
    for (int i = 0; i < n_all; i++)
        if (!s->configs[i].is_skinny) s->configs[n++] = s->configs[i];
    s->n_configs = n;
    return n < n_all;
}

/* Whether s, a contraction whose operands come by tensor maps, may stay so as a phase: in two f16 as the last one. */
static bool may_take_maps(const struct scheduled *s, bool is_last) {
    return s->group->contraction && !s->chain && (!s->gemm.is_split || (s->gemm.is_halved && is_last)) &&
           !s->gemm.is_scaled && !s->gemm.is_whole && !s->gemm.makes && has_maps(s);
}

/* Gives every kernel of launch j the schedule that it has as a phase, and its price; by_maps: contractions on wgmma
 * keep theirs. */
static bool schedule_phases(struct cx *cx, struct scheduled_graph *c, struct launch_phases j, bool by_maps) {
    for (int i = j.first; i < j.first + j.n; i++) {
        struct scheduled *s = &c->kernels[i], t = *s;
        const char *why_not;
        const bool takes_maps = by_maps && may_take_maps(s, i == j.first + j.n - 1);
        const bool is_same = !takes_maps && s->schedule->as_phase == s->schedule;
        t.schedule = takes_maps ? s->schedule : s->schedule->as_phase;
        t.bytes = 0;
        t.is_phase = true;
        t.hands_on = i < j.first + j.n - 1;
        if (!is_same) {
            t.n_configs = 0;
            if (!t.schedule->configure(c->graph, c->partition, &t, &why_not) ||
                !pins_apply(c->graph, &t, &why_not))
                return false;
        }
        if (!drop_skinny(&t) && is_same) {
            s->is_phase = t.is_phase, s->hands_on = t.hands_on;
            continue;
        }
        t.schedule->price(c->graph, c->partition, &t);
        c->seconds += t.seconds - s->seconds;
        drop_impossible(cx, c, &t);
        *s = t;
    }
    return true;
}

/* Makes the configurations of launch j parallel: its leader's, with what goes with each. A leader without tiles has
 * teams of BLOCK threads, several to an SM. */
static bool configure_phases(struct cx *cx, struct scheduled_graph *c, struct launch_phases j, bool by_maps) {
    enum { BLOCK = 256 };
    if (!schedule_phases(cx, c, j, by_maps)) return false;
    int leader = phases_leader(c, j), n = 0;
    const struct scheduled *l = &c->kernels[leader];
    if (!l->group->contraction) l = configure_for(cx, c, l, BLOCK);
    if (!l) return false;
    struct phase_configs *configs = picks_of(cx, c)->configs;
    for (int v = 0; v < l->n_configs; v++)
        if (config_is_possible(cx, c, l, &l->configs[v]))
            n += add_entry(cx, c, j, leader, &l->configs[v], configs, n);
    for (int i = 0; n && i < j.n; i++) {
        struct scheduled *s = &c->kernels[j.first + i];
        memcpy(s->configs, configs[i].of, sizeof s->configs);
        s->n_configs = n;
    }
    return n > 0 && (!by_maps || has_maps(&c->kernels[leader]));
}

/* ---- joining ---- */

/* "67.1 MB" */
static const char *size_text(struct arena *a, double bytes) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    int unit = 0;
    for (; unit < 4 && bytes >= 1000; unit++) bytes /= 1000;
    return arena_printf(a, "%.3g %s", bytes, units[unit]);
}

/* Whether launches i and i + 1 may be one; if not, the reason, of the first such pair. */
static bool may_join(struct cx *cx, struct scheduled_graph *c, int i) {
    struct launch_phases j = {.first = c->launches[i].first, .n = c->launches[i].n + c->launches[i + 1].n};
    const struct buffer *large = first_large(c, j.first, j.first + j.n - 1);
    if (!large || c->why_apart) return !large;
    struct tensor t = tensor_of_buffer(c->graph, c->partition, (int)(large - c->partition->buffers));
    c->apart = large;
    c->why_apart = arena_printf(&cx->arena,
        "%s; it takes %s, more than a side product may: 1 MiB, or 1/%d of all tensors' %s", large->why,
        size_text(&cx->arena, tensor_bytes(c->graph, &t)), SIDE_SHARE,
        size_text(&cx->arena, all_tensor_bytes(c->graph)));
    return false;
}

static bool join(struct cx *cx, struct scheduled_graph *c, int i) {
    struct launch_phases j = {.first = c->launches[i].first, .n = c->launches[i].n + c->launches[i + 1].n};
    struct scheduled *before = picks_of(cx, c)->before;
    double seconds = c->seconds;
    memcpy(before, &c->kernels[j.first], (size_t)j.n * sizeof *before);
    for (int by_maps = 1; !configure_phases(cx, c, j, by_maps); by_maps--) {
        memcpy(&c->kernels[j.first], before, (size_t)j.n * sizeof *before);
        c->seconds = seconds;
        if (!by_maps) return false;
    }
    c->launches[i] = j;
    c->n_launches--;
    memmove(&c->launches[i + 1], &c->launches[i + 2], (size_t)(c->n_launches - i - 1) * sizeof *c->launches);
    return true;
}

/* The same of launches that hand over no more than side products. */
static bool join_sides(struct cx *cx, struct scheduled_graph *c, int i) {
    if (!may_join(cx, c, i)) return false;
    if (join(cx, c, i)) return true;
    if (!c->why_apart) c->why_apart = "its kernels have no block size in common";
    return false;
}

/* Whether s, which runs later than `before`, needs all blocks to be done with that: as another pass of the same rows, or
 * as it reads what that wrote, or overwrites what that read. */
static bool waits_for(const struct scheduled_graph *c, const struct scheduled *s, const struct scheduled *before) {
    const bool *is_read = ir_buffers_read(c->graph, c->partition, s->group),
               *was_read = ir_buffers_read(c->graph, c->partition, before->group);
    bool waits = before->parts > 0 || is_pass_of(s, before);
    for (int b = 0; b < c->partition->n_buffers; b++) {
        bool is_written = false, was_written = false;
        for (int i = 0; i < s->group->n_stores; i++)
            is_written |= buffer_is_stored(c->partition, b, &s->group->stores[i]);
        for (int i = 0; i < before->group->n_stores; i++)
            was_written |= buffer_is_stored(c->partition, b, &before->group->stores[i]);
        waits |= (was_written && (is_read[b] || is_written)) || (was_read[b] && is_written);
    }
    return waits;
}

/* A phase waits for those since all blocks waited last: for each one, where a tensor is written in place. */
static void set_waits(struct scheduled_graph *c, struct launch_phases j) {
    bool in_place = false;
    for (int i = 0; i < c->graph->kernel->n_params; i++)
        in_place |= c->graph->kernel->params[i].is_input && c->graph->kernel->params[i].is_output;
    for (int i = j.first, since = j.first; i < j.first + j.n; i++) {
        struct scheduled *s = &c->kernels[i];
        s->waits = false;
        for (int k = since; k < i; k++) s->waits |= in_place || waits_for(c, s, &c->kernels[k]);
        if (s->waits) since = i, c->has_flags = true;
    }
}

/* Whether all kernels of launches i and i + 1 have the schedule that they would have as phases. */
static bool keep_schedules(const struct scheduled_graph *c, int i) {
    const int end = c->launches[i + 1].first + c->launches[i + 1].n;
    for (int k = c->launches[i].first; k < end; k++)
        if (c->kernels[k].schedule->as_phase != c->kernels[k].schedule) return false;
    return true;
}

/* The passes of one row program first: what they hand over is smallest. Then launches whose kernels lose nothing: a
 * product on wgmma is one of mma as a phase. */
void phases_join(struct cx *cx, struct scheduled_graph *c, int most) {
    enum { ANY, THAT_KEEP, PASSES };
    for (int which = PASSES; which >= ANY; which--)
        for (int i = c->n_once; i + 1 < c->n_launches && launches_each_time(c) > most;) {
            const struct scheduled *a = &c->kernels[c->launches[i + 1].first - 1],
                                   *b = &c->kernels[c->launches[i + 1].first];
            bool is_due = which == PASSES ? is_pass_of(a, b) : which == ANY || keep_schedules(c, i);
            if (!is_due || !join_sides(cx, c, i)) i++;
        }
    for (int i = 0; i < c->n_launches; i++)
        if (c->launches[i].n > 1) set_waits(c, c->launches[i]);
}

/* Whether s stores factors in parts, or in an order of their own, and waits for no other kernel. */
static bool is_factor_copy(const struct scheduled_graph *c, const struct scheduled *s) {
    const bool *is_read = ir_buffers_read(c->graph, c->partition, s->group);
    if (s->group->contraction || s->group->is_row) return false;
    for (int i = 0; i < c->partition->n_buffers; i++)
        if (is_read[i]) return false;
    for (int i = 0; i < s->group->n_stores; i++) {
        int b = s->group->stores[i].buffer;
        if (b < 0 || (!c->partition->buffers[b].is_split && !node_is_stored(c->partition->buffers[b].value)))
            return false;
    }
    return true;
}

int phases_join_copies(struct cx *cx, struct scheduled_graph *c) {
    const int before = c->n_launches;
    for (int i = c->n_once; i + 1 < c->n_launches;) {
        bool may = is_factor_copy(c, &c->kernels[c->launches[i].first]) &&
                   is_factor_copy(c, &c->kernels[c->launches[i + 1].first]);
        if (!may || !join(cx, c, i)) i++;
    }
    return before - c->n_launches;
}
