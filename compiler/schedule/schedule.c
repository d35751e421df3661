/* Chooses among the partitions the fuse pass proposed: schedules every group of each, adds up the predicted times, takes
 * the cheapest the contract (`fuse:`, `kernels:`) allows. */
#include "schedule/row_program.h"
#include "schedule/traffic.h"

#include <string.h>

#define SCHEDULE(name, driver, price)                                                                                   \
    bool schedule_##name##_configure(const struct graph *, const struct partition *, struct scheduled *, const char **); \
    void price(const struct graph *, const struct partition *, struct scheduled *);
#include "schedule/schedules.def"
#undef SCHEDULE

const struct schedule schedules[] = {
#define SCHEDULE(name, driver, price) {#name, driver, schedule_##name##_configure, price},
#include "schedule/schedules.def"
#undef SCHEDULE
};
enum { N_SCHEDULES = sizeof schedules / sizeof *schedules };

/* Beginning one more kernel costs this much, in a stream that is kept full: the gap between dependent launches. */
static const double LAUNCH_SECONDS = 2e-6;
/* Beginning one more phase of a launch: all blocks wait for each other, and then begin anew. Measured from 1 us less than a launch to 2 more. */
static const double PHASE_SECONDS = 2e-6;

/* ---- tensors ---- */

/* The labels of a tensor in storage order. One fixed at 1 changes no address: leaving it out lets its neighbours merge. */
static void set_axes(const struct graph *g, struct tensor *t, const int *axes, int n_axes) {
    for (int i = 0; i < n_axes; i++)
        if (g->kernel->axes[axes[i]].extent != 1) t->axes[t->n_axes++] = axes[i];
}

struct tensor tensor_of_param(const struct graph *g, int param) {
    const struct param *p = &g->kernel->params[param];
    struct tensor t = {.param = param, .buffer = -1, .is_strided = p->is_strided, .dtype = p->dtype};
    set_axes(g, &t, p->axes, p->n_axes);
    return t;
}

struct tensor tensor_of_buffer(const struct graph *g, const struct partition *p, int buffer) {
    const struct buffer *b = &p->buffers[buffer];
    struct tensor t = {.param = -1, .buffer = buffer, .dtype = b->dtype};
    set_axes(g, &t, b->axes, b->n_axes);
    return t;
}

struct tensor tensor_of_store(const struct graph *g, const struct partition *p, const struct store *s) {
    return s->param >= 0 ? tensor_of_param(g, s->param) : tensor_of_buffer(g, p, s->buffer);
}

int tensor_axis(const struct tensor *t, int axis) {
    for (int i = 0; i < t->n_axes; i++)
        if (t->axes[i] == axis) return i;
    return -1;
}

int find_run(const struct tensor *t, const struct axis_list *l) {
    int n = 0, first = -1;
    for (int i = 0; i < l->n; i++) n += tensor_axis(t, l->axes[i]) >= 0;
    if (n == 0) return -2;
    if (n < l->n || (t->is_strided && n > 1)) return -1;
    first = tensor_axis(t, l->axes[0]);
    for (int i = 0; i < l->n; i++)
        if (tensor_axis(t, l->axes[i]) != first + i) return -1;
    return first;
}

bool node_is_loaded(const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, struct tensor *t) {
    if (group_sum(r, n) >= 0 || is_chain_step(r, n)) return false;
    if (r->is_copy && n == r->stores[0].value) {
        *t = tensor_of_buffer(g, p, r->copied);
        return true;
    }
    if (n->kind == N_INPUT) {
        *t = tensor_of_param(g, n->param);
        return !g->kernel->params[n->param].packed.factor;
    }
    if (n->kind != N_REDUCE && n->kind != N_SCAN) return false;
    int b = find_buffer(p, n, n->dtype);
    for (int s = 0; s < r->n_stores; s++)
        if (r->stores[s].buffer == b && r->stores[s].value == n) return false; /* this group writes it */
    if (b < 0) return false;
    *t = tensor_of_buffer(g, p, b);
    return true;
}

static int add_loads(const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, bool *seen,
                     struct tensor *loads, int n_loads, int max) {
    struct tensor t;
    if (seen[n->id] || group_sum(r, n) >= 0 || is_chain_step(r, n)) return n_loads; /* a chain's middle reads what it needs itself */
    seen[n->id] = true;
    if (node_is_loaded(g, p, r, n, &t)) {
        if (n_loads < max) loads[n_loads] = t;
        return n_loads + 1;
    }
    if ((n->kind == N_REDUCE || n->kind == N_SCAN) && !is_row_step(r, n)) return n_loads; /* what loops read is read there */
    for (int i = n->kind == N_ACCESS; i < n->n_args; i++) n_loads = add_loads(g, p, r, n->args[i], seen, loads, n_loads, max);
    return n_loads;
}

int group_loads(const struct graph *g, const struct partition *p, const struct group *r, struct tensor *loads, int max) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int n = 0;
    for (int s = 0; s < r->n_stores; s++) n = add_loads(g, p, r, store_element(g, r, &r->stores[s]), seen, loads, n, max);
    return n < max ? n : max;
}

static void touch_axes(struct footprint *f, const int *axes, int n) {
    for (int i = 0; i < n; i++) f->axes[axes[i]] = true;
}

/* Adds what is computed from the nodes marked in times, in group r, to a footprint. What a loop of no turns reads is named in the code all the same. */
static void add_footprint(const struct graph *g, const struct partition *p, const struct group *r, double *times, struct footprint *f) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        struct tensor t = {.param = -1, .buffer = -1};
        is_read[i] |= times[i] > 0;
        if (!is_read[i] || group_sum(r, n) >= 0) continue;
        bool is_loaded = node_is_loaded(g, p, r, n, &t), is_loop = n->kind == N_REDUCE || n->kind == N_SCAN || (n->kind == N_SHARE && !is_shared_by(r, n));
        f->is_general |= !is_loaded && (is_loop || n->kind == N_ACCESS || n->kind == N_INDEX || n->kind == N_SIZE || n->kind == N_INPUT);
        bool is_input = n->kind == N_INPUT && t.buffer < 0;
        if (is_input || n->kind == N_SCALAR) f->params[n->param] = true;
        if (t.buffer >= 0) f->buffers[t.buffer] = true;
        if (is_input) touch_axes(f, g->kernel->params[n->param].axes, g->kernel->params[n->param].n_axes);
        if (t.buffer >= 0) touch_axes(f, p->buffers[t.buffer].axes, p->buffers[t.buffer].n_axes);
        f->ops += times[i];
        if (is_loaded) continue;
        f->has_loops |= is_loop;
        if (n->axis >= 0) touch_axes(f, &n->axis, 1);
        touch_axes(f, n->at, n->n_at);
        touch_axes(f, n->reduced, n->n_reduced);
        double inside = times[i] * (n->kind == N_REDUCE ? nominal_size(g, n->reduced, n->n_reduced) : n->kind == N_SCAN ? nominal_extent(g, n->axis) / 2 : is_loop ? n->run : 1);
        if (is_loop && f->turns < inside) f->turns = inside;
        for (int k = 0; k < n->n_args; k++) {
            is_read[n->args[k]->id] = true;
            if (times[n->args[k]->id] < inside) times[n->args[k]->id] = inside;
        }
    }
}

/* What the factors read that a mainloop copies or makes, and the labels that it runs over. */
static void add_factors(const struct graph *g, const struct partition *p, const struct group *r, struct footprint *f) {
    double *times = NEW_ARRAY(&g->cx->arena, double, g->n_nodes + 1);
    struct footprint apart = {.params = f->params, .buffers = f->buffers, .axes = f->axes};
    for (int i = 0; i < 2 * r->n_sums; i++) {
        const struct product *x = &r->sums[i / 2];
        int b = x->buffer[i % 2];
        touch_axes(f, x->factor[i % 2]->axes, x->factor[i % 2]->n_axes);
        if (b < 0) times[x->factor[i % 2]->id] = 1;
        else f->buffers[b] = true;
    }
    add_footprint(g, p, r, times, &apart);
}

struct footprint group_footprint(const struct graph *g, const struct partition *p, const struct group *r) {
    struct arena *a = &g->cx->arena;
    struct footprint f = {NEW_ARRAY(a, bool, g->kernel->n_params + 1), NEW_ARRAY(a, bool, p->n_buffers + 1), NEW_ARRAY(a, bool, g->kernel->n_axes + 1), false, false, 0, 0};
    double *times = NEW_ARRAY(a, double, g->n_nodes + 1); /* it is computed for an element; 0: not at all */
    for (int s = 0; s < r->n_stores; s++) times[store_element(g, r, &r->stores[s])->id] = 1;
    add_footprint(g, p, r, times, &f);
    add_factors(g, p, r, &f);
    return f;
}

double nominal_extent(const struct graph *g, int axis) {
    const struct axis *a = &g->kernel->axes[axis];
    return a->extent >= 0 ? (double)a->extent : a->nominal;
}

double nominal_size(const struct graph *g, const int *axes, int n) {
    double size = 1;
    for (int i = 0; i < n; i++) size *= nominal_extent(g, axes[i]);
    return size;
}

double tensor_bytes(const struct graph *g, const struct tensor *t) {
    return nominal_size(g, t->axes, t->n_axes) * fx_dtype_bits(t->dtype) / 8;
}

/* ---- pins ---- */

static bool fits_pin(const struct config *f, const struct pin *p) {
    if (strcmp(p->name, "tile") == 0) return p->values[0] == f->tile_m && p->values[1] == f->tile_n && (p->n < 3 || p->values[2] == f->tile_k);
    if (strcmp(p->name, "stages") == 0) return p->values[0] == f->stages;
    if (strcmp(p->name, "warps") == 0) return p->values[0] == f->block / 32;
    return p->values[0] == 1; /* no schedule splits k or makes clusters */
}

static bool fits_pins(const struct kernel *k, const struct config *f) {
    for (int i = 0; i < k->n_pins; i++)
        if (!fits_pin(f, &k->pins[i])) return false;
    return true;
}

/* Leaves the configurations the pins allow. Where operands are not aligned and no such configuration takes them, the others stay: a pin makes
 * no call fail. False, with what there is, where none fits at all. */
bool schedule_apply_pins(const struct graph *g, struct scheduled *s, const char **why_not) {
    bool fits[N_CONFIG_KINDS] = {false}, any = false;
    struct buf have;
    int n = 0;
    if (!g->kernel->n_pins || !s->group->contraction) return true;
    buf_init(&have, &g->cx->arena);
    for (int i = 0; i < s->n_configs; i++) {
        fits[kind_of(&s->configs[i])] |= fits_pins(g->kernel, &s->configs[i]);
        any |= fits_pins(g->kernel, &s->configs[i]);
        buf_printf(&have, "%s%s with %d warps", i ? ", " : "", s->configs[i].text, s->configs[i].block / 32);
    }
    if (!any) return *why_not = arena_printf(&g->cx->arena, "it has not what is pinned; it has %s", have.s), false;
    for (int i = 0; i < s->n_configs; i++)
        if (!fits[kind_of(&s->configs[i])] || fits_pins(g->kernel, &s->configs[i])) s->configs[n++] = s->configs[i];
    s->n_configs = n;
    return true;
}

/* A pin must have something to hold. */
static bool pins_are_met(struct cx *cx, const struct graph *g) {
    struct contraction c;
    if (!g->kernel->n_pins) return true;
    for (int i = 0; i < g->n_nodes; i++)
        if (as_contraction(g->nodes[i], &c)) return true;
    diag_error(cx, g->kernel->pins[0].span, D_PIN, "`%s` is pinned, but %s has no contraction", g->kernel->pins[0].name, g->kernel->name);
    return false;
}

/* What every schedule but the one taken lacked or would have cost. */
static void note_rejected(struct cx *cx, struct scheduled *best, const struct scheduled *tried, const char *const *why_not) {
    for (int i = 0; i < N_SCHEDULES; i++)
        if (tried[i].schedule != best->schedule)
            PUSH(&cx->arena, best->rejected, best->n_rejected) = (struct rejected){tried[i].schedule, why_not[i], tried[i].seconds};
}
/* ---- choice ---- */

static bool schedule_group(struct cx *cx, const struct graph *g, const struct partition *p, const struct group *r, struct scheduled *best) {
    struct scheduled tried[N_SCHEDULES];
    const char *why_not[N_SCHEDULES];
    struct buf lacking;
    int taken = -1;
    buf_init(&lacking, &cx->arena);
    for (int i = 0; i < N_SCHEDULES; i++) {
        why_not[i] = "";
        tried[i] = (struct scheduled){.group = r, .schedule = &schedules[i]};
        if (!schedules[i].configure(g, p, &tried[i], &why_not[i]) || !schedule_apply_pins(g, &tried[i], &why_not[i])) {
            buf_printf(&lacking, "%s%s: %s", lacking.len ? "; " : "", schedules[i].name, why_not[i]);
            continue;
        }
        why_not[i] = NULL;
        schedules[i].price(g, p, &tried[i]);
        double memory = traffic_seconds(g, p, &tried[i]);
        if (!tried[i].parts && tried[i].seconds < memory) tried[i].seconds = memory; /* tensors read at positions too */
        if (taken < 0 || tried[i].seconds < tried[taken].seconds) taken = i;
    }
    if (taken < 0 && p->is_optional) return false;
    if (taken < 0) {
        diag_error(cx, r->stores[0].value->span, D_NO_SCHEDULE, "no schedule of this version takes this: %s", lacking.s);
        return false;
    }
    *best = tried[taken];
    note_rejected(cx, best, tried, why_not);
    return true;
}

/* How many launches the contract asks for; 0: any number. */
static int wanted_launches(const struct kernel *k) { return k->fuse == FUSE_REQUIRE ? 1 : k->kernels; }

static struct chosen *schedule_partition(struct cx *cx, const struct graph *g, const struct partition *p) {
    struct chosen *c = NEW(&cx->arena, struct chosen);
    c->graph = g;
    c->partition = p;
    for (int i = 0; i < p->n_groups; i++) {
        struct scheduled s;
        if (!schedule_group(cx, g, p, &p->groups[i], &s)) return NULL;
        int n_walks = s.parts ? s.row->n_passes + 1 : 1;
        c->seconds += s.seconds;
        s.partial = c->n_partials;
        if (s.parts) PUSH(&cx->arena, c->partials, c->n_partials) = (struct partial){&s.row->rows, s.parts * s.row->n_passes * s.row->sum_words};
        for (s.walk = 0; s.walk < n_walks; s.walk++) PUSH(&cx->arena, c->kernels, c->n_kernels) = s;
    }
    for (int i = 0; i < c->n_kernels; i++) PUSH(&cx->arena, c->launches, c->n_launches) = (struct joint){i, 1};
    if (wanted_launches(g->kernel)) phases_join(cx, c, wanted_launches(g->kernel));
    c->seconds += c->n_launches * LAUNCH_SECONDS + (c->n_kernels - c->n_launches) * PHASE_SECONDS;
    return c;
}

/* What could be done about launches that stay apart. */
static const char *way_out(struct cx *cx, const struct chosen *c) {
    const struct kernel *k = c->graph->kernel;
    const struct axis *open = NULL; /* a label of what is handed over that might turn out small */
    if (!c->apart) return "write a kernel for each output";
    for (int i = 0; i < c->apart->n_axes; i++)
        if (k->axes[c->apart->axes[i]].extent < 0) open = &k->axes[c->apart->axes[i]];
    if (!open) return "write `fuse: prefer` to accept it, or split the kernel there";
    return arena_printf(&cx->arena, "write `fuse: prefer` to accept it, split the kernel there, or fix " NAME_FMT " if it is small: it counts as %.0f", NAME_ARG(open->name),
                        nominal_extent(c->graph, (int)(open - k->axes)));
}

static bool contract_holds(struct cx *cx, const struct chosen *c) {
    const struct kernel *k = c->graph->kernel;
    if (k->fuse == FUSE_REQUIRE && c->n_launches > 1) {
        diag_error(cx, c->apart ? c->apart->span : k->fuse_span, D_FUSE_REQUIRE, "`fuse: require`, but %s takes %d kernels: %s", k->name, c->n_launches, c->why_apart);
        diag_fix(cx, "%s", way_out(cx, c));
        return false;
    }
    if (k->kernels && k->kernels != c->n_launches) {
        bool has_reason = c->n_launches > k->kernels && c->why_apart;
        diag_error(cx, k->kernels_span, D_KERNEL_COUNT, "`kernels: %d`, but %s takes %d%s%s", k->kernels, k->name, c->n_launches, has_reason ? ": " : "",
                   has_reason ? c->why_apart : "");
        return false;
    }
    return true;
}

/* The number of kernels asked for comes first, then the time. */
static bool is_better(const struct chosen *a, const struct chosen *b) {
    int wanted = wanted_launches(a->graph->kernel);
    if (wanted && (a->n_launches == wanted) != (b->n_launches == wanted)) return a->n_launches == wanted;
    return a->seconds < b->seconds;
}

/* What became of the other proposals. */
static void note_others(struct cx *cx, struct chosen *best, struct chosen *const *all, int n) {
    const struct kernel *k = best->graph->kernel;
    for (int i = 0; i < n; i++) {
        if (all[i] == best || (all[i]->n_launches == best->n_launches && all[i]->seconds == best->seconds)) continue;
        const char *why = all[i]->seconds >= best->seconds ? "it is predicted to take longer"
                          : k->fuse == FUSE_REQUIRE        ? "`fuse: require` asks for one kernel"
                                                           : "it has another number of kernels than is asked for";
        PUSH(&cx->arena, best->others, best->n_others) = (struct proposal){all[i]->partition->name, all[i]->n_launches, all[i]->seconds, why};
    }
}

struct chosen *fx_schedule(struct cx *cx, const struct graph *g) {
    struct chosen *best = NULL, **all = NEW_ARRAY(&cx->arena, struct chosen *, g->n_partitions + 1);
    int n = 0;
    if (!pins_are_met(cx, g)) return NULL;
    for (int i = 0; i < g->n_partitions; i++) {
        bool is_separate = g->partitions[i].is_separate;
        if (g->kernel->fuse == FUSE_NEVER && !is_separate) continue;
        if (g->kernel->fuse == FUSE_REQUIRE && is_separate) continue;
        struct chosen *c = schedule_partition(cx, g, &g->partitions[i]);
        if (!c && g->partitions[i].is_optional) continue;
        if (!c) return NULL;
        all[n++] = c;
        if (!best || is_better(c, best)) best = c;
    }
    if (!contract_holds(cx, best)) return NULL;
    note_others(cx, best, all, n);
    return best;
}
