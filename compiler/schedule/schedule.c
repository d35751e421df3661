/* Chooses among the partitions that the fuse pass proposed. It schedules every group of each, adds the predicted times,
 * and takes the cheapest that the contract (`fuse:`, `kernels:`) allows. */
#include "schedule/beside.h"
#include "schedule/bins.h"
#include "schedule/chain_program.h"
#include "schedule/pins.h"
#include "schedule/traffic.h"
#include "schedule/wgmma.h"

#include <string.h>

#define SCHEDULE(name, driver, price, phase)                                                \
    bool schedule_##name##_configure(                                                       \
        const struct graph *, const struct partition *, struct scheduled *, const char **); \
    void price(const struct graph *, const struct partition *, struct scheduled *);
#include "schedule/schedules.def"
#undef SCHEDULE

enum {
#define SCHEDULE(name, driver, price, phase) ROW_##name,
#include "schedule/schedules.def"
#undef SCHEDULE
};

const struct schedule schedules[] = {
#define SCHEDULE(name, driver, price, phase) \
    {#name, driver, schedule_##name##_configure, price, &schedules[ROW_##phase]},
#include "schedule/schedules.def"
#undef SCHEDULE
};
enum { N_SCHEDULES = sizeof schedules / sizeof *schedules };

/* Beginning one more kernel costs this much, in a stream that is kept full: the gap between dependent launches. */
static const double LAUNCH_SECONDS = 2e-6;
/* Beginning one more phase of a launch: all blocks wait for each other, and then begin anew. Measured from 1 us less
 * than a launch to 2 more. */
static const double PHASE_SECONDS = 2e-6;

double scheduled_bytes(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    double bytes = 0;
    for (int i = 0; i < s->n_loads; i++) bytes += tensor_bytes(g, &s->loads[i]);
    for (int i = 0; i < s->group->n_stores; i++) {
        struct tensor t = tensor_of_store(g, p, &s->group->stores[i]);
        const struct node *v = s->group->stores[i].value;
        bytes += v->kind == N_PLACE ? nominal_size(g, v->axes, v->n_axes) * tensor_bits(&t) / 8 : tensor_bytes(g, &t);
    }
    return bytes;
}

const char *const schedule_no_parts = "its operands are f32 in parts";

const char *schedule_no_room(const struct graph *g) {
    return arena_printf(&g->cx->arena,
        "each of its tiles takes more than the %d KB of shared memory that a block has on %s",
        g->cx->arch->block_shared >> 10, g->cx->arch->name);
}

int schedule_chunks(
    const struct graph *g, const struct partition *p, const struct scheduled *s, struct chunk chunks[MAX_CHUNKS]) {
    struct node **shared;
    int vector = 1;
    for (int i = 0; i < s->n_configs; i++)
        if (s->configs[i].vector > vector) vector = s->configs[i].vector;
    if (s->row || s->chain || vector == 1) return 0;
    if (!s->group->contraction) return group_chunks(g, p, s->group, &s->pointwise.cols, chunks, MAX_CHUNKS);
    if (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)) return 0;
    return group_chunks(g, p, s->group, &s->gemm.n, chunks, MAX_CHUNKS);
}

bool is_space_axis(const struct scheduled *s, int axis) {
    const struct axis_list *rows = &s->pointwise.rows, *cols = &s->pointwise.cols;
    return axes_have(rows->axes, rows->n, axis) || axes_have(cols->axes, cols->n, axis);
}

/* What every schedule but the one taken lacked or would have cost. */
static void note_rejected(
    struct cx *cx, struct scheduled *best, const struct scheduled *tried, const char *const *why_not) {
    for (int i = 0; i < N_SCHEDULES; i++)
        if (tried[i].schedule != best->schedule)
            PUSH(&cx->arena, best->rejected, best->n_rejected) = (struct rejected){
                tried[i].schedule, why_not[i], tried[i].seconds};
}

/* The error that no schedule takes r. One reason is enough: that of the most general schedule of the driver that r is
 * made for, the last of its rows in schedules.def. */
static void refuse_group(struct cx *cx, const struct group *r, const char *const *why_not) {
    const char *driver = r->is_row ? "row" : r->intermediate ? "chain" : r->contraction ? "gemm" : "pointwise";
    int last = 0;
    for (int i = 0; i < N_SCHEDULES; i++)
        if (strcmp(schedules[i].driver, driver) == 0) last = i;
    diag_error(cx, r->stores[0].value->span, D_NO_SCHEDULE,
        "no schedule of this version takes this; the most general for it, %s, says: %s", schedules[last].name,
        why_not[last]);
    diag_fix(cx, "rewrite it; `fxc run --device=cpu` evaluates it as it stands");
}

/* ---- choice ---- */

static void price_group(const struct graph *g, const struct partition *p, struct scheduled *s) {
    s->bytes = s->flops = 0;
    s->schedule->price(g, p, s);
    double memory = traffic_seconds(g, p, s);
    if (!s->parts && s->seconds < memory) s->seconds = memory; /* tensors read at positions too */
}

static bool schedule_group(
    struct cx *cx, const struct graph *g, const struct partition *p, const struct group *r, struct scheduled *best) {
    struct scheduled tried[N_SCHEDULES];
    const char *why_not[N_SCHEDULES];
    struct tensor *loads = NEW_ARRAY(&cx->arena, struct tensor, g->n_nodes + 1);
    const struct scheduled *unpinned[N_SCHEDULES]; /* refused for what is pinned alone */
    int n_unpinned = 0, taken = -1, n_loads = group_loads(g, p, r, loads, g->n_nodes);
    for (int i = 0; i < N_SCHEDULES; i++) {
        why_not[i] = "";
        tried[i] = (struct scheduled){.group = r, .schedule = &schedules[i], .loads = loads, .n_loads = n_loads};
        if (!schedules[i].configure(g, p, &tried[i], &why_not[i])) continue;
        if (!pins_apply(g, &tried[i], &why_not[i])) {
            unpinned[n_unpinned++] = &tried[i];
            continue;
        }
        why_not[i] = NULL;
        price_group(g, p, &tried[i]);
        if (taken < 0 || tried[i].seconds < tried[taken].seconds) taken = i;
    }
    if (taken < 0 && p->is_optional) return false;
    if (taken < 0) {
        if (n_unpinned) pins_refuse(cx, g, unpinned, n_unpinned);
        else refuse_group(cx, r, why_not);
        return false;
    }
    *best = tried[taken];
    note_rejected(cx, best, tried, why_not);
    return true;
}

/* What is computed once is done for many launches. It costs something, so that nothing is kept that gains nothing. */
static const double ONCE_SHARE = 1e-3;

/* How many launches the contract asks for, beside those that are done once; 0: any number. */
static int wanted_launches(const struct kernel *k) { return k->fuse == FUSE_REQUIRE ? 1 : k->kernels; }

/* What beginning its launches and phases takes. */
static double beginning_seconds(const struct scheduled_graph *c) {
    return (launches_each_time(c) + c->n_once * ONCE_SHARE) * LAUNCH_SECONDS +
           (c->n_kernels - c->n_launches - c->n_free) * PHASE_SECONDS;
}

/* What is handed over between launches is written and read when the caches have long dropped it, by kernels that have
 * other things to wait for, too: where that is more than MUCH_HELD times what all arguments hold, as the weights of an
 * attention are, all of it took twice as long as the prices of the launches say (causal, 64 heads of 4096, 6.8 ms
 * instead of 2.9). It is memory that nobody may have, too: so much is held only where there is no other way, or all
 * others are far slower. */
static const double MUCH_HELD = 2, HELD_FACTOR = 16;

/* Whether a label tells matrix products apart that have nothing to do with each other: all that have it have it in both
 * factors and do not sum over it. */
static bool is_of_batches(const struct graph *g, int axis) {
    struct contraction c;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (!is_matrix_product(g, n) || !as_contraction(n, &c)) continue;
        const bool has_a = node_has_axis(c.a, axis), has_b = node_has_axis(c.b, axis);
        if (has_a != has_b || (has_a && axes_have(n->reduced, n->n_reduced, axis))) return false;
    }
    return true;
}

/* Whether all matrices that are given have a label of the buffer, one of batches: then it is made batch by batch, and
 * is no hidden layer, of which weights know nothing. */
static bool is_by_batches(const struct graph *g, const struct buffer *b) {
    const struct kernel *k = g->kernel;
    for (int a = 0; a < b->n_axes; a++) {
        bool all = is_of_batches(g, b->axes[a]);
        for (int i = 0; i < k->n_params; i++)
            all &= k->params[i].n_axes < 2 || axes_have(k->params[i].axes, k->params[i].n_axes, b->axes[a]);
        if (all) return true;
    }
    return false;
}

static double bytes_of(const struct graph *g, const int *axes, int n, enum fx_dtype dtype) {
    return nominal_size(g, axes, n) * fx_dtype_bits(dtype) / 8;
}

static double held_factor(const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    double held = 0, given = 0;
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        if (!b->held && !b->is_split && is_by_batches(c->graph, b)) /* parts of a factor are as large as the factor */
            held += bytes_of(c->graph, b->axes, b->n_axes, b->dtype);
    }
    for (int i = 0; i < k->n_params; i++)
        if (!k->params[i].is_scalar)
            given += bytes_of(c->graph, k->params[i].axes, k->params[i].n_axes, k->params[i].dtype);
    return held > MUCH_HELD * given ? HELD_FACTOR : 1;
}

/* Of kernel s in the price of the graph. */
static double seconds_of(const struct scheduled *s) { return s->is_once ? s->seconds * ONCE_SHARE : s->seconds; }

/* Adds a scheduled group: as a kernel, or one for each pass. */
static void add_kernels(struct cx *cx, struct scheduled_graph *c, struct scheduled s) {
    int n_passes = s.bins && s.parts ? 2 : s.parts ? s.row->n_stages : 1;
    c->seconds += seconds_of(&s);
    s.partial = c->n_partials;
    if (s.parts)
        PUSH(&cx->arena, c->partials, c->n_partials) = (struct partial){&s.row->rows, s.is_once,
            s.bins ? s.bins->words : s.parts * (s.row->n_passes + s.row->n_scans) * s.row->part_words, s.bins};
    for (s.pass = 0; s.pass < n_passes; s.pass++) {
        struct scheduled *each = &PUSH(&cx->arena, c->kernels, c->n_kernels);
        *each = s;
        if (s.bins && s.pass) bins_finish(each);
    }
}

/* ---- what people are told ---- */

/* What waiting takes in kernels however small: for memory, for threads of a block, for results of one product that are
 * the next one's operands. */
static const double LEAST_ROW = 0.5e-6, LEAST_PRODUCT = 1.2e-6, LEAST_CHAIN = 4.3e-6;
/* The first kernel of a launch has but to begin; a phase of small ones takes longer than a price says. */
static const double FIRST_SECONDS = 1.1e-6, SMALL_PHASE_SECONDS = 3e-6;

double scheduled_estimate(const struct scheduled *s) {
    double least = s->chain ? LEAST_CHAIN : s->group->contraction ? LEAST_PRODUCT : s->row ? LEAST_ROW : 0;
    return s->seconds > least ? s->seconds : least;
}

double fx_estimate(const struct scheduled_graph *c) {
    double seconds = FIRST_SECONDS + (launches_each_time(c) - 1) * LAUNCH_SECONDS +
                     (c->n_kernels - c->n_launches - c->n_free) * SMALL_PHASE_SECONDS;
    for (int i = 0; i < c->n_kernels; i++)
        if (!c->kernels[i].pass && !c->kernels[i].is_once) seconds += scheduled_estimate(&c->kernels[i]);
    return seconds;
}

static struct scheduled_graph *schedule_partition(
    struct cx *cx, const struct graph *g, const struct partition *p, bool stores_factors) {
    struct scheduled_graph *c = NEW(&cx->arena, struct scheduled_graph);
    c->stores_factors = stores_factors;
    c->graph = g;
    c->partition = p;
    struct scheduled *of = NEW_ARRAY(&cx->arena, struct scheduled, p->n_groups + 1);
    bool *has_flags = NEW_ARRAY(&cx->arena, bool, p->n_groups + 1);
    for (int i = 0; i < p->n_groups; i++) {
        if (!schedule_group(cx, g, p, &p->groups[i], &of[i])) return NULL;
        has_flags[i] = of[i].has_flags;
    }
    const bool *is_once = partition_once(g, p, has_flags); /* flags are of the launches that run each time */
    for (int i = 0; i < p->n_groups; i++) of[i].is_once = is_once[i];
    for (int each_time = 0; each_time < 2; each_time++) {
        for (int i = 0; i < p->n_groups; i++)
            if (of[i].is_once != each_time) add_kernels(cx, c, of[i]);
        if (!each_time) c->n_once = c->n_kernels;
    }
    for (int i = 0; i < c->n_kernels; i++)
        PUSH(&cx->arena, c->launches, c->n_launches) = (struct launch_phases){.first = i, .n = 1};
    c->n_free = phases_join_copies(cx, c);
    if (!p->is_separate) twins_join(cx, c, wanted_launches(g->kernel), LAUNCH_SECONDS);
    if (!p->is_separate) beside_join(cx, c, wanted_launches(g->kernel), LAUNCH_SECONDS);
    if (wanted_launches(g->kernel)) phases_join(cx, c, wanted_launches(g->kernel));
    for (int i = 0; i < c->n_kernels; i++) c->has_flags |= c->kernels[i].has_flags;
    c->seconds = (c->seconds + beginning_seconds(c)) * held_factor(c);
    return c;
}

void fx_price_again(struct scheduled_graph *c) {
    struct scheduled *kernels[MOST_BESIDE];
    c->seconds = beginning_seconds(c);
    for (int i = 0; i < c->n_kernels; i++) {
        struct scheduled *s = &c->kernels[i];
        if (s->pass) {
            s->seconds = s[-1].seconds, s->bytes = s[-1].bytes, s->flops = s[-1].flops;
            continue;
        }
        price_group(c->graph, c->partition, s);
        c->seconds += seconds_of(s);
    }
    for (int i = 0; i < c->n_launches; i++) {
        double apart = 0;
        if (!c->launches[i].is_beside || c->launches[i].is_twin) continue;
        for (int k = 0; k < c->launches[i].n; k++) {
            kernels[k] = &c->kernels[c->launches[i].first + k];
            apart += kernels[k]->seconds;
        }
        c->seconds += gemm_price_beside(c->graph, kernels, c->launches[i].n) - apart;
    }
    c->seconds *= held_factor(c);
}

/* A price is then that of one configuration. */
static void leave_one(struct scheduled *s, int variant) {
    if (variant < 0 || variant >= s->n_configs) return;
    s->configs[0] = s->configs[variant];
    s->n_configs = 1;
}

const struct scheduled_graph *fx_price_variants(const struct scheduled_graph *c, const int *variants) {
    struct arena *a = &c->graph->cx->arena;
    struct scheduled_graph *one = NEW(a, struct scheduled_graph);
    *one = *c;
    one->kernels = NEW_ARRAY(a, struct scheduled, c->n_kernels + 1);
    memcpy(one->kernels, c->kernels, (size_t)c->n_kernels * sizeof *one->kernels);
    for (int i = 0; variants && i < c->n_launches; i++)
        for (int k = 0; k < c->launches[i].n; k++) leave_one(&one->kernels[c->launches[i].first + k], variants[i]);
    fx_price_again(one);
    return one;
}

/* What could be done about launches that stay apart. */
static const char *way_out(struct cx *cx, const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    const struct axis *open = NULL; /* a label of what is handed over that might turn out small */
    if (!c->apart) return "write a kernel for each output";
    for (int i = 0; i < c->apart->n_axes; i++)
        if (k->axes[c->apart->axes[i]].extent < 0) open = &k->axes[c->apart->axes[i]];
    if (!open) return "write `fuse: prefer` to accept it, or split the kernel there";
    return arena_printf(&cx->arena,
        "write `fuse: prefer` to accept it, split the kernel there, or fix " NAME_FMT
        " if it is small: it counts as %.0f",
        NAME_ARG(open->name), nominal_extent(c->graph, (int)(open - k->axes)));
}

static bool contract_holds(struct cx *cx, const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    const int n_launches = launches_each_time(c);
    if (k->fuse == FUSE_REQUIRE && n_launches > 1) {
        diag_error(cx, c->apart ? c->apart->span : k->fuse_span, D_FUSE_REQUIRE,
            "`fuse: require`, but %s takes %d kernels: %s", k->name, n_launches, c->why_apart);
        diag_fix(cx, "%s", way_out(cx, c));
        return false;
    }
    if (k->kernels && k->kernels != n_launches) {
        bool has_reason = n_launches > k->kernels && c->why_apart;
        diag_error(cx, k->kernels_span, D_KERNEL_COUNT, "`kernels: %d`, but %s takes %d%s%s", k->kernels, k->name,
            n_launches, has_reason ? ": " : "", has_reason ? c->why_apart : "");
        diag_fix(cx, "write `kernels: %d`, or leave `kernels` out", n_launches);
        return false;
    }
    return true;
}

/* Prices are no better than this: each further launch must save a hundredth. */
static const double ABOUT_THE_SAME = 0.99;

static double seconds_and_launches(const struct scheduled_graph *c) {
    double seconds = c->seconds;
    for (int i = 0; i < launches_each_time(c); i++) seconds /= ABOUT_THE_SAME;
    return seconds;
}

/* What a chain of one row adds up in one walk, row programs may add up in phases: these took 1.1 to 1.8 times their
 * price (29.6 us in place of 16.2 at 8 heads of 8192 x 128). */
static const double OF_PHASES = 1.4;

static bool has_chain_of_one_row(const struct scheduled_graph *c) {
    bool any = false;
    for (int i = 0; i < c->n_kernels; i++) any |= c->kernels[i].chain && !c->kernels[i].chain->first.m.n;
    return any;
}

static double seconds_beside(const struct scheduled_graph *c, const struct scheduled_graph *other) {
    bool is_of_phases = has_chain_of_one_row(other) && !has_chain_of_one_row(c) && c->n_kernels > 1;
    for (int i = 0; i < c->n_kernels; i++) is_of_phases &= c->kernels[i].group->is_row;
    return seconds_and_launches(c) * (is_of_phases ? OF_PHASES : 1);
}

static bool stores_parts(const struct scheduled_graph *c) {
    bool any = false;
    for (int i = 0; i < c->partition->n_buffers; i++) any |= c->partition->buffers[i].is_split;
    return any;
}

/* The number of kernels asked for comes first, then the time; of two that have another number, what is no factor in
 * parts is the better reason. Of two that compare equal the earlier proposal stays. */
static bool is_better(const struct scheduled_graph *a, const struct scheduled_graph *b) {
    int wanted = wanted_launches(a->graph->kernel);
    if (wanted && (launches_each_time(a) == wanted) != (launches_each_time(b) == wanted))
        return launches_each_time(a) == wanted;
    if (wanted && launches_each_time(a) != wanted && stores_parts(a) != stores_parts(b)) return stores_parts(b);
    if (a->partition->wanted != b->partition->wanted) return a->partition->wanted > b->partition->wanted;
    return seconds_beside(a, b) < seconds_beside(b, a);
}

struct tried { /* a proposal that was scheduled */
    struct proposal of;
    double seconds; /* by which it was compared */
    int n_launches;
};

/* What became of the other proposals. */
static void note_others(struct cx *cx, struct scheduled_graph *best, const struct tried *all, int n) {
    const enum fuse_rule fuse = best->graph->kernel->fuse;
    const int wanted = wanted_launches(best->graph->kernel);
    for (int i = 0; i < n; i++) {
        if (all[i].n_launches == best->n_launches && all[i].seconds == best->seconds) continue;
        struct proposal *other = &PUSH(&cx->arena, best->others, best->n_others);
        *other = all[i].of;
        other->why = all[i].seconds >= best->seconds ? "it is predicted to take longer"
                     : fuse == FUSE_REQUIRE          ? "`fuse: require` asks for one kernel"
                     : !wanted                       ? "it takes about as long, in more kernels"
                                                     : "it has another number of kernels than is asked for";
    }
}

/* Workspace that a contract does without, and a wait of all blocks, are taken where they save so much. */
static const double WORTH_STORING = 0.75;

/* Whether a product takes its operands by tensor maps, as none does that computes them. */
static bool takes_maps(const struct scheduled_graph *c) {
    bool any = false;
    for (int i = 0; i < c->n_kernels; i++) any |= c->kernels[i].group->contraction && has_maps(&c->kernels[i]);
    return any;
}

/* Schedules a proposal, and makes it the best if it is better. Of one that is not taken only what the receipt says of
 * it is kept. False where it cannot be scheduled. */
static bool try_partition(struct cx *cx, const struct graph *g, const struct partition *p, bool stores_factors,
    struct scheduled_graph **best, struct tried *t) {
    const struct arena_mark mark = arena_marked(&cx->arena);
    struct scheduled_graph *c = schedule_partition(cx, g, p, stores_factors);
    if (!c && !p->is_optional) return false; /* what was said of it stays */
    if (c && stores_factors && !takes_maps(c)) c = NULL;
    if (c)
        *t = (struct tried){
            {c->partition->name, launches_each_time(c), fx_estimate(c), NULL}, c->seconds, c->n_launches};
    if (c && (!*best || is_better(c, *best))) *best = c;
    else arena_rewind(&cx->arena, &mark);
    return c != NULL;
}

struct scheduled_graph *fx_schedule(struct cx *cx, const struct graph *g) {
    struct scheduled_graph *best = NULL;
    struct tried *all = NEW_ARRAY(&cx->arena, struct tried, g->n_partitions + 1);
    int n = 0, *at = NEW_ARRAY(&cx->arena, int, g->n_partitions + 1); /* their numbers */
    if (!pins_have_subject(cx, g)) return NULL;
    for (int i = 0; i < g->n_partitions; i++) {
        bool is_separate = g->partitions[i].is_separate;
        if (g->kernel->fuse == FUSE_NEVER && !is_separate) continue;
        if (g->kernel->fuse == FUSE_REQUIRE && is_separate) continue;
        if (try_partition(cx, g, &g->partitions[i], false, &best, &all[n])) at[n++] = i;
        else if (!g->partitions[i].is_optional) return NULL;
    }
    if (!contract_holds(cx, best)) return NULL;
    /* The contract holds with side products alone: what is as few launches and clearly faster may store
     * factors, where tensor maps then fetch them. */
    const int wanted = wanted_launches(g->kernel);
    for (int i = 0; wanted && i < n; i++)
        if (all[i].of.n_kernels > wanted &&
            (all[i].seconds < best->seconds * WORTH_STORING || g->partitions[at[i]].wanted > best->partition->wanted))
            try_partition(cx, g, &g->partitions[at[i]], true, &best, &all[i]);
    note_others(cx, best, all, n);
    return best;
}
