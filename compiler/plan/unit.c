/* Names everything that is emitted, once: structs, entries, arguments of every launch.
 *
 * In: the scheduled kernels of a file. Out: the unit, from which the plan and the `.cu` are made. Anything that does
 * not fit either is an error in the diagnostics. */
#include "plan/unit.h"

#include "base/names.h"
#include "schedule/chain_program.h"
#include "schedule/row_program.h"
#include "schedule/wgmma.h"

/* An identifier of the spec as one of the emitted file. */
static const char *encoded(struct arena *a, struct name n) { return arena_printf(a, "%s_", name_encoded(a, n)); }

struct kernel_names {
    const char **params, **buffers, **axes;
    const char **strides; /* by fx_stride_index: of strided parameters */
};

/* An entry sees these beside the struct of its launch: `scope` has the structs already. */
static struct kernel_names name_kernel(struct arena *a, const struct scheduled_graph *c, struct identifiers *scope) {
    const struct kernel *k = c->graph->kernel;
    struct kernel_names n = {NEW_ARRAY(a, const char *, k->n_params + 1),
        NEW_ARRAY(a, const char *, c->partition->n_buffers + c->n_partials + 2),
        NEW_ARRAY(a, const char *, k->n_axes + 1), NEW_ARRAY(a, const char *, fx_stride_index(k->n_params, 0) + 1)};
    for (int i = 0; i < k->n_params; i++) n.params[i] = identifiers_take(scope, encoded(a, k->params[i].ast->name));
    for (int i = 0; i < k->n_axes; i++) n.axes[i] = identifiers_take(scope, encoded(a, k->axes[i].name));
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].n_axes; j++)
            n.strides[fx_stride_index(i, j)] = identifiers_take(
                scope, arena_printf(a, "%sstride_%s", n.params[i], n.axes[k->params[i].axes[j]]));
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        bool is_input = b->value->kind == N_INPUT;
        struct name name = is_input ? k->params[b->value->param].ast->name : b->value->name;
        n.buffers[i] = identifiers_take(
            scope, name.len ? arena_printf(a, "%s_%s_", name_encoded(a, name), fx_dtype_name(b->dtype))
                            : arena_printf(a, "buffer%d_", i));
    }
    for (int i = 0; i < c->n_partials; i++)
        n.buffers[c->partition->n_buffers + i] = identifiers_take(scope, arena_printf(a, "partial%d_", i));
    n.buffers[plan_flags_buffer(c)] = identifiers_take(scope, "flags_");
    return n;
}

static bool uses_tensor(const struct launch *l, int param, int buffer) {
    for (int i = 0; i < l->kernel->n_loads; i++)
        if (l->kernel->loads[i].param == param && l->kernel->loads[i].buffer == buffer) return true;
    const struct group *r = l->kernel->group;
    for (int i = 0; i < r->n_stores; i++)
        if (r->stores[i].param == param && r->stores[i].buffer == buffer) return true;
    for (int i = 0; i < 2 * r->n_sums; i++)
        if (buffer >= 0 && r->sums[i / 2].buffer[i % 2] == buffer) return true;
    return false;
}

static void add_arg(struct arena *a, struct launch *l, enum fx_arg_kind kind, int index) {
    struct fx_arg *arg = &PUSH(a, l->args, l->n_args);
    *arg = (struct fx_arg){kind, index};
}

/* What any phase takes, parameters first, then buffers, extents and strides, each in order of their numbers. */
static void join_args(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, struct plan_launch *d) {
    const int most[] = {[FX_ARG_PARAM] = c->graph->kernel->n_params,
        [FX_ARG_BUFFER] = plan_flags_buffer(c) + 1,
        [FX_ARG_EXTENT] = c->graph->kernel->n_axes,
        [FX_ARG_STRIDE] = fx_stride_index(c->graph->kernel->n_params, 0)};
    bool has_flags = false;
    for (int i = 0; i < d->n; i++) has_flags |= phases[i].kernel->waits || phases[i].kernel->has_flags;
    for (enum fx_arg_kind kind = FX_ARG_PARAM; kind <= FX_ARG_STRIDE; kind++)
        for (int index = 0; index < most[kind]; index++) {
            bool is_taken_by_any = kind == FX_ARG_BUFFER && index == plan_flags_buffer(c) && has_flags;
            for (int i = 0; i < d->n; i++)
                for (int k = 0; k < phases[i].n_args; k++)
                    is_taken_by_any |= phases[i].args[k].kind == kind && phases[i].args[k].index == index;
            if (is_taken_by_any) PUSH(a, d->args, d->n_args) = (struct fx_arg){kind, index};
        }
}

static void choose_args(const struct unit *u, const struct scheduled_graph *c, struct launch *l) {
    struct arena *a = &u->cx->arena;
    const struct kernel *k = c->graph->kernel;
    const struct group *r = l->kernel->group;
    struct footprint touched = group_footprint(c->graph, c->partition, r);
    bool *extent_used = l->axis_used = NEW_ARRAY(a, bool, k->n_axes + 1);
    for (int i = 0; i < k->n_params; i++) {
        if (!touched.params[i] && (k->params[i].is_scalar || !uses_tensor(l, i, -1))) continue;
        add_arg(a, l, FX_ARG_PARAM, i);
        for (int j = 0; j < k->params[i].n_axes; j++) extent_used[k->params[i].axes[j]] = true;
    }
    for (int i = 0; i < c->partition->n_buffers; i++) {
        if (c->partition->buffers[i].held || (!touched.buffers[i] && !uses_tensor(l, -1, i))) continue;
        add_arg(a, l, FX_ARG_BUFFER, i);
        for (int j = 0; j < c->partition->buffers[i].n_axes; j++) extent_used[c->partition->buffers[i].axes[j]] = true;
    }
    if (l->kernel->parts) add_arg(a, l, FX_ARG_BUFFER, c->partition->n_buffers + l->kernel->partial);
    const struct row_program *row = l->kernel->row; /* which says how many columns it has, whatever it reads of them */
    for (int i = 0; row && i < row->cols.n; i++) extent_used[row->cols.axes[i]] = true;
    for (int i = 0; i < k->n_axes; i++)
        if ((extent_used[i] |= touched.axes[i]) && k->axes[i].extent < 0) add_arg(a, l, FX_ARG_EXTENT, i);
    for (int i = 0, n = l->n_args; i < n; i++) {
        const struct fx_arg arg = l->args[i];
        const struct param *p = arg.kind == FX_ARG_PARAM ? &k->params[arg.index] : NULL;
        for (int j = 0; p && p->is_strided && j < p->n_axes; j++)
            if (k->axes[p->axes[j]].extent != 1)
                add_arg(a, l, FX_ARG_STRIDE, fx_stride_index(arg.index, j)); /* of one element no address needs it */
    }
}

/* What the plan or the runtime could not hold. */
static void check_limits(struct cx *cx, const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    const struct {
        const char *what;
        int n, most;
    } limits[] = {
        {"parameters", k->n_params, FX_MAX_PARAMS},
        {"labels", k->n_axes, FX_MAX_EXTENTS},
        {"intermediate values in memory", c->partition->n_buffers + c->n_partials + c->has_flags, FX_MAX_BUFFERS},
        {"GPU kernels", c->n_launches, FX_MAX_LAUNCHES},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].n > limits[i].most) {
            diag_error(cx, k->ast->name_span, D_TOO_BIG, "%s has %d %s, more than %d", k->name, limits[i].n,
                limits[i].what, limits[i].most);
            diag_fix(cx, "split it into several kernels");
        }
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        double n = kernel_elements(k, b->axes, b->n_axes);
        if (!(n > (double)FX_MAX_ELEMENTS)) continue;
        diag_error(cx, b->span, D_BAD_EXTENT,
            "a value of %.3g elements is written to memory, more than the 2^48 that a tensor may have", n);
        diag_fix(cx, "make an extent smaller; why it is written: %s", b->why);
    }
}

static void join_operands(struct arena *a, const struct gemm_shape *shape, bool has_a, struct plan_launch *d) {
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *e = segment_by_maps(&shape->segments[i]);
        if (has_a)
            PUSH(a, d->maps, d->n_maps) = (struct map){.shape = shape, .segment = e, .operand = &e->a, .is_a = true};
        for (int j = 0; j < e->n_sums; j++)
            PUSH(a, d->maps, d->n_maps) = (struct map){.shape = shape, .segment = e, .operand = &e->b[j]};
    }
}

/* The operands of a launch whose entries take tensor maps, and what they store by them. */
static void join_maps(
    struct arena *a, const struct scheduled_graph *c, const struct scheduled *s, struct plan_launch *d) {
    if (!has_maps(s)) return;
    const int first = d->n_maps;
    if (s->chain) join_operands(a, &s->chain->first, true, d);
    join_operands(a, s->chain ? &s->chain->second : &s->gemm, !s->chain, d);
    for (int i = 0; stores_boxes(s) && i < gemm_elements(c->graph, s->group); i++)
        PUSH(a, d->maps, d->n_maps) = (struct map){.shape = &s->gemm, .store = &s->group->stores[i]};
    for (int i = first, n = d->n_maps; i < n; i++) {
        struct map m = d->maps[i];
        m.is_tail = true;
        if (!m.store && has_tail(c->graph, s, m.operand, m.is_a)) PUSH(a, d->maps, d->n_maps) = m;
    }
}

/* The entries of one launch and what they take. */
static void name_entries(struct cx *cx, struct scheduled_graph *c, struct launch *phases, struct launch_phases j,
    const char *base, struct identifiers *scope, int *number, struct plan_launch *out) {
    struct arena *a = &cx->arena;
    struct scheduled *s = &c->kernels[j.first];
    if (j.n == 1) drop_impossible(cx, c, s);
    if (!s->n_configs) {
        diag_error(cx, s->group->stores[0].value->span, D_NO_SCHEDULE,
            "no configuration of schedule %s takes these extents: a flattened axis of a contraction stays below 2^31",
            s->schedule->name);
        diag_fix(cx, "split the long axis, and call the kernel for each part");
    }
    const char *pass = s->parts && j.n == 1 ? arena_printf(a, "pass%d", s->pass) : "";
    *out = (struct plan_launch){.first = j.first,
        .n = j.n,
        .is_twin = j.is_twin,
        .entries = NEW_ARRAY(a, struct entry, s->n_configs + 1)};
    out->name = j.n > 1 && c->n_launches == 1 ? base : arena_printf(a, "%s%s", phases->struct_name, pass);
    const char *stem = j.n > 1 ? out->name : phases->struct_name;
    const struct scheduled *named = &c->kernels[phases_leader(c, j)];
    for (int e = 0; e < s->n_configs; e++)
        out->entries[e] = (struct entry){identifiers_take(scope, arena_printf(a, "fx_%s%s%s%s", stem,
                                                                     named->configs[e].suffix, *pass ? "_" : "", pass)),
            (*number)++};
    join_args(a, c, phases, out);
    for (int i = 0; i < j.n; i++) join_maps(a, c, &s[i], out);
}

/* Names partition number i. */
static void name_partition(struct unit *u, int i, struct identifiers *scope, int *number) {
    struct cx *cx = u->cx;
    struct arena *a = &cx->arena;
    struct scheduled_graph *c = u->kernels[i];
    check_limits(cx, c);
    struct identifiers structs = {.arena = a};
    const char *base = encoded(a, c->graph->kernel->ast->name);
    u->launches[i] = NEW_ARRAY(a, struct launch, c->n_kernels + 1);
    for (int j = 0; j < c->n_kernels; j++)
        u->launches[i][j].struct_name = c->kernels[j].pass
                                            ? u->launches[i][j - 1].struct_name
                                            : identifiers_take(&structs,
                                                  identifiers_take(scope,
                                                      c->n_kernels > 1 ? arena_printf(a, "%s%d_", base, j) : base));
    struct kernel_names names = name_kernel(a, c, &structs);
    for (int j = 0; j < c->n_kernels; j++) {
        struct launch *l = &u->launches[i][j];
        l->kernel = &c->kernels[j];
        l->param_names = names.params, l->buffer_names = names.buffers, l->axis_names = names.axes,
        l->stride_names = names.strides;
        choose_args(u, c, l);
    }
    for (int j = 0; j < c->n_launches; j++)
        for (int k = 0; c->launches[j].is_beside && !c->launches[j].is_twin && k < c->launches[j].n; k++) {
            struct launch *l = &u->launches[i][c->launches[j].first + k];
            l->beside = &u->launches[i][c->launches[j].first], l->n_beside = c->launches[j].n;
        }
    u->joined[i] = NEW_ARRAY(a, struct plan_launch, c->n_launches + 1);
    for (int j = 0; j < c->n_launches; j++)
        name_entries(
            cx, c, u->launches[i] + c->launches[j].first, c->launches[j], base, scope, number, &u->joined[i][j]);
}

struct unit *unit_build(struct cx *cx, const char *file, struct scheduled_graph **kernels, int n_kernels) {
    struct arena *a = &cx->arena;
    struct unit *u = NEW(a, struct unit);
    struct identifiers scope = {.arena = a};
    int number = 0;
    *u = (struct unit){.cx = cx, .file = file, .n_specs = n_kernels, .first = NEW_ARRAY(a, int, n_kernels + 1)};
    for (int i = 0; i < n_kernels; i++, u->first[i] = u->n_kernels)
        for (struct scheduled_graph *c = kernels[i]; c; c = c->next) PUSH(a, u->kernels, u->n_kernels) = c;
    u->launches = NEW_ARRAY(a, struct launch *, u->n_kernels + 1);
    u->joined = NEW_ARRAY(a, struct plan_launch *, u->n_kernels + 1);
    /* The last ones, as a rule the only ones, have the plainest names. */
    for (int i = 0; i < n_kernels; i++) name_partition(u, u->first[i + 1] - 1, &scope, &number);
    for (int i = 0; i < n_kernels; i++)
        for (int j = u->first[i]; j < u->first[i + 1] - 1; j++) name_partition(u, j, &scope, &number);
    return u;
}

const struct kernel *unit_kernel(const struct unit *u, int spec) {
    const struct kernel *widest = u->kernels[u->first[spec]]->graph->kernel;
    for (int i = u->first[spec]; i < u->first[spec + 1]; i++)
        if (u->kernels[i]->graph->kernel->n_axes > widest->n_axes) widest = u->kernels[i]->graph->kernel;
    return widest;
}

int plan_flags_buffer(const struct scheduled_graph *c) { return c->partition->n_buffers + c->n_partials; }
