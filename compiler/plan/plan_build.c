/* Builds the plan: arguments, grids, conditions and sizes of everything emitted, as plain data over extents.
 *
 * In: the kernels of a file, scheduled and named. Out: the plan. The conditions of a variant come from schedule/need.c,
 * grids and preferences from plan_grid.c, tensor maps from plan_map.c. */
#include "graph/operand.h"
#include "plan/launch.h"
#include "schedule/bins.h"
#include "schedule/chain_program.h"
#include "schedule/traffic.h"

/* ---- work ---- */

static void add_bytes(struct terms *x, const struct kernel *k, const struct tensor *t, int *n) {
    terms_size(x, k, t->axes, t->n_axes);
    terms_constant(x, tensor_bits(t) / 8);
    terms_op(x, FX_T_MUL);
    if ((*n)++) terms_op(x, FX_T_ADD);
}

/* What phases read, or write, one after another. */
static void add_traffic(struct terms *x, const struct fx_expr *e, int *n) {
    if (e->n == 1 && e->terms[0].op == FX_T_CONST && e->terms[0].v == 0) return;
    terms_expr(x, e);
    if (e->n && (*n)++) terms_op(x, FX_T_ADD);
}

static struct fx_expr written(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    if (n_phases == 1) return traffic_written(c->graph, c->partition, phases->kernel);
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr e = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &e, &n);
    }
    return terms_done(&x);
}

/* What contractions beside each other have in common is read once. */
static void subtract_shared(struct terms *x, const struct kernel *k, const struct operand *a) {
    const struct tensor *t = a->window ? &a->window->tensor : &a->tensor;
    terms_size(x, k, t->axes, t->n_axes);
    terms_constant(x, tensor_bits(t) / 8);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_SUB);
}

/* Read and written, of one launch or of all its phases. */
static struct fx_expr bytes(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n = 0;
    for (int p = 0; p < n_phases; p++) {
        struct fx_expr in = traffic_read(c->graph, c->partition, phases[p].kernel),
                       out = traffic_written(c->graph, c->partition, phases[p].kernel);
        add_traffic(&x, &in, &n);
        if (p && phases[p].n_beside) subtract_shared(&x, c->graph->kernel, &phases[p].kernel->gemm.segments[0].a);
        add_traffic(&x, &out, &n);
    }
    return terms_done(&x);
}

/* Multiply-adds of contractions, two each, of a chain's first ones as often as its middle is walked over; pointwise
 * work is not counted. */
static struct fx_expr flops(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases) {
    struct terms x = {.a = a};
    int n_terms = 0;
    for (int i = 0; i < n_phases; i++) {
        const struct group *r = phases[i].kernel->group;
        for (int j = 0; j < r->n_sums; j++) {
            const struct node *n = r->sums[j].sum;
            bool is_walked = phases[i].kernel->chain && n != r->contraction;
            terms_constant(&x, is_walked ? 2 * phases[i].kernel->chain->n_passes : 2);
            terms_size(&x, c->graph->kernel, n->axes, n->n_axes);
            terms_op(&x, FX_T_MUL);
            terms_size(&x, c->graph->kernel, n->reduced, n->n_reduced);
            terms_op(&x, FX_T_MUL);
            if (n_terms++) terms_op(&x, FX_T_ADD);
        }
    }
    return terms_done(&x);
}

/* ---- the parts ---- */

/* Joins the condition that the tiles of a contraction can be counted in 31 bits. */
static void need_tiles(
    struct terms *x, int *n, const struct scheduled_graph *c, const struct launch *l, const struct config *f) {
    int from = x->n;
    launch_grid(x, c, l, f);
    if (f->piece) launch_pieces(x, c, l, f);
    terms_constant(x, INT32_MAX);
    terms_op(x, FX_T_LE);
    terms_also(x, n, from);
}

/* What every phase of entry v needs. The tiles of a contraction are counted in 31 bits; of one that is launched alone
 * with a block for every tile, the grid sees to that. */
static struct terms phases_needs(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = schedule_needs(a, c, phases->kernel, &phases->kernel->configs[v]);
    int n = x.n > 0;
    if (n_phases == 1) {
        const struct config *f = &phases->kernel->configs[v];
        if (f->takes_maps) need_tiles(&x, &n, c, phases, f);
        return x;
    }
    for (int p = 0; p < n_phases; p++) {
        const struct config *f = &phases[p].kernel->configs[v];
        struct terms more = schedule_needs(a, c, phases[p].kernel, f);
        int from = x.n;
        for (int i = 0; p && i < more.n; i++) terms_push(&x, more.t[i].op, more.t[i].v);
        x.is_never |= more.is_never;
        if (x.n > from) terms_also(&x, &n, from);
        if (phases[p].kernel->group->contraction && !(p && launch_is_beside(phases, f)))
            need_tiles(&x, &n, c, &phases[p], f);
    }
    return x;
}

/* Blocks of entry v: those its largest phase has work for, and where there are several no more than are resident at
 * once, nor more on an SM than the tiles of a contraction need: fewer blocks are spread over all SMs. */
static struct fx_expr phases_grid(
    struct arena *a, const struct scheduled_graph *c, const struct launch *phases, int n_phases, int v) {
    struct terms x = {.a = a};
    if (n_phases == 1 || launch_is_beside(phases, &phases->kernel->configs[v])) {
        launch_blocks(&x, c, phases, &phases->kernel->configs[v]);
        return terms_done(&x);
    }
    for (int p = 0; p < n_phases; p++) {
        launch_grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        if (p) terms_op(&x, FX_T_MAX);
    }
    bool is_tiled = false;
    terms_push(&x, FX_T_SM_COUNT, 0);
    terms_constant(&x, phases->kernel->configs[v].min_blocks);
    for (int p = 0; p < n_phases && phases->kernel->configs[v].min_blocks > 1; p++) {
        if (!phases[p].kernel->group->contraction) continue;
        if (!is_tiled) terms_constant(&x, 1); /* where there is no tile, there may be rows */
        launch_grid(&x, c, &phases[p], &phases[p].kernel->configs[v]);
        terms_push(&x, FX_T_SM_COUNT, 0);
        terms_op(&x, FX_T_CDIV);
        terms_op(&x, FX_T_MAX);
        is_tiled = true;
    }
    if (is_tiled) terms_op(&x, FX_T_MIN);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_MIN);
    return terms_done(&x);
}

static const char *phases_config(struct arena *a, const struct launch *phases, int n_phases, int v) {
    const char *text = phases->kernel->configs[v].text;
    if (launch_is_beside(phases, &phases->kernel->configs[v]))
        return arena_printf(a, "%d beside each other, %s", n_phases, text);
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s; then %s", text, phases[p].kernel->configs[v].text);
    return text;
}

static const char *phases_driver(struct arena *a, const struct launch *phases, int n_phases) {
    const char *text = phases->kernel->schedule->driver;
    for (int p = 1; p < n_phases; p++) text = arena_printf(a, "%s, %s", text, phases[p].kernel->schedule->driver);
    return text;
}

static void build_launch(struct arena *a, const struct scheduled_graph *c, const struct launch *phases,
    const struct plan_launch *d, struct fx_launch *out) {
    int n = phases->kernel->n_configs;
    struct fx_variant *variants = NEW_ARRAY(a, struct fx_variant, n);
    const struct launch_phases all = {.first = d->first, .n = d->n};
    const struct launch *leader = phases + (phases_leader(c, all) - d->first);
    *out = (struct fx_launch){.name = d->name,
        .driver = phases_driver(a, phases, d->n),
        .flops = flops(a, c, phases, d->n),
        .bytes = bytes(a, c, phases, d->n),
        .written = written(a, c, phases, d->n),
        .n_phases = d->n,
        .is_beside = phases->n_beside > 1 || d->is_twin,
        .is_once = phases->kernel->is_once,
        .n_args = d->n_args,
        .n_variants = n,
        .args = d->args,
        .n_maps = d->n_maps,
        .variants = variants};
    struct fx_map *maps = NEW_ARRAY(a, struct fx_map, d->n_maps + 1);
    for (int i = 0; i < d->n_maps; i++) maps[i] = plan_map(a, c, &d->maps[i]);
    out->maps = maps;
    for (int p = 0; p < d->n; p++) out->is_cooperative |= phases[p].kernel->waits;
    for (int i = 0; i < n; i++) {
        const struct config *f = &phases->kernel->configs[i];
        struct terms smem = {.a = a}, of_cluster = {.a = a}, need = phases_needs(a, c, phases, d->n, i);
        terms_constant(&smem, f->smem_bytes);
        if (f->splits_k) launch_cluster(&of_cluster, c, phases, f);
        if (f->cluster_m) terms_constant(&of_cluster, f->cluster_m * f->cluster_n);
        if (f->spread) terms_constant(&of_cluster, f->spread);
        variants[i] = (struct fx_variant){.entry = d->entries[i].name,
            .number = d->entries[i].number,
            .config = d->is_twin ? f->text : phases_config(a, phases, d->n, i),
            .needs = terms_done(&need),
            .prefers = launch_prefers(a, c, leader, &leader->kernel->configs[i]),
            .cost = launch_costs(a, c, leader, &leader->kernel->configs[i]),
            .grid = phases_grid(a, c, phases, d->n, i),
            .smem = terms_done(&smem),
            .block = f->block,
            .cluster = terms_done(&of_cluster),
            .takes_maps = launch_takes_maps(phases, d->n, i),
            .starts_early = f->starts_early,
            .kind = kind_of(&leader->kernel->configs[i]),
            .most_local = leader->kernel->group->contraction || leader->kernel->configs[i].is_tight
                              ? leader->kernel->configs[i].most_local
                              : -1};
    }
}

/* Flags of blocks that wait for each other: one for every block that is resident at once. */
static void resident_flags(struct terms *x, const struct scheduled_graph *c) {
    int most = 1;
    for (int i = 0; i < c->n_launches; i++)
        for (int v = 0; c->launches[i].n > 1 && v < c->kernels[c->launches[i].first].n_configs; v++) {
            int blocks = c->kernels[c->launches[i].first].configs[v].min_blocks;
            if (blocks > most) most = blocks;
        }
    terms_push(x, FX_T_SM_COUNT, 0);
    terms_constant(x, most * 8);
    terms_op(x, FX_T_MUL);
}

/* Tallies of a chain: one of the tiles that are taken, one for every batch and a tile's columns, of the least that a
 * configuration has. */
static void tallies(struct terms *x, const struct scheduled_graph *c, const struct launch *l) {
    const struct gemm_shape *s = &l->kernel->gemm;
    int least = INT32_MAX;
    for (int v = 0; v < l->kernel->n_configs; v++) {
        const struct config *f = &l->kernel->configs[v];
        if (f->takes_maps && f->tile_n < least) least = f->tile_n;
    }
    terms_size(x, c->graph->kernel, s->n.axes, s->n.n);
    terms_constant(x, least);
    terms_op(x, FX_T_CDIV);
    if (s->batch.n) {
        terms_size(x, c->graph->kernel, s->batch.axes, s->batch.n);
        terms_op(x, FX_T_MUL);
    }
    terms_constant(x, 1);
    terms_op(x, FX_T_ADD);
    terms_constant(x, 8);
    terms_op(x, FX_T_MUL);
}

/* Pieces of a chain: a count for every tile, and of every block two places of as many rows as a
 * tile has, for its columns' sums and what else is known of a row. None where there are more rows than pieces take. */
static void pieces(struct terms *x, const struct scheduled_graph *c, const struct launch *l) {
    enum { WORDS = 8 }; /* beside those of a row's results: shifts; by driver_chain_pieces.cuh */
    const struct kernel *k = c->graph->kernel;
    const struct gemm_shape *s = &l->kernel->gemm;
    struct config least = {.tile_m = INT32_MAX, .tile_n = INT32_MAX};
    int n = 0;
    for (int v = 0; v < l->kernel->n_configs; v++) {
        const struct config *f = &l->kernel->configs[v];
        if (!f->piece) continue;
        launch_blocks(x, c, l, f);
        terms_constant(x, 2 * 4 * (int64_t)(f->tile_n + l->kernel->chain->result_words + WORDS));
        terms_op(x, FX_T_MUL);
        terms_size(x, k, s->m.axes, s->m.n);
        terms_constant(x, f->tile_m);
        terms_op(x, FX_T_MIN);
        terms_op(x, FX_T_MUL);
        if (n++) terms_op(x, FX_T_MAX);
        if (f->tile_n < least.tile_n) least.tile_n = f->tile_n;
        if (f->tile_m < least.tile_m) least.tile_m = f->tile_m;
        if (f->most_m > least.most_m) least.most_m = f->most_m;
    }
    launch_grid(x, c, l, &least);
    terms_constant(x, 2);
    terms_op(x, FX_T_ADD);
    terms_constant(x, 8);
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_ADD);
    terms_size(x, k, s->m.axes, s->m.n);
    terms_constant(x, least.most_m);
    terms_op(x, FX_T_LE);
    terms_op(x, FX_T_MUL);
}

/* What all launches need for their flags, one after the other. */
static struct fx_expr flag_bytes(struct arena *a, const struct unit *u, int index) {
    const struct scheduled_graph *c = u->kernels[index];
    struct terms x = {.a = a};
    bool waits = false;
    int n = 0;
    for (int i = 0; i < c->n_kernels; i++) waits |= c->kernels[i].waits;
    if (waits) resident_flags(&x, c), n++;
    for (int i = 0; i < c->n_kernels; i++) {
        const struct launch *l = &u->launches[index][i];
        if (!c->kernels[i].has_flags) continue;
        tallies(&x, c, l);
        if (n++) terms_op(&x, FX_T_MAX);
        if (!chain_in_pieces(l->kernel)) continue;
        pieces(&x, c, l);
        terms_op(&x, FX_T_MAX);
    }
    return terms_done(&x);
}

static struct fx_param build_param(struct cx *cx, const struct param *lying) {
    const struct param *p = lying->signature ? lying->signature : lying;
    struct fx_param out = {.name = p->name,
        .dtype = p->dtype,
        .is_scalar = p->is_scalar,
        .is_input = p->is_input,
        .is_output = p->is_output,
        .is_const = p->is_const,
        .is_strided = p->is_strided,
        .packed = p->packed,
        .align = p->align,
        .below = p->below,
        .has_value = p->has_default,
        .value = p->default_value,
        .rank = p->n_axes,
        .line = span_line(cx, p->ast->span)};
    for (int i = 0; i < p->n_axes; i++) out.extents[i] = p->axes[i];
    return out;
}

/* What a kernel takes and gives, without the recipe: all that the oracle needs. */
static struct fx_kernel build_signature(struct cx *cx, const struct kernel *k) {
    struct arena *a = &cx->arena;
    struct fx_extent *extents = NEW_ARRAY(a, struct fx_extent, k->n_axes + 1);
    struct fx_param *params = NEW_ARRAY(a, struct fx_param, k->n_params + 1);
    struct fx_equation *equations = NEW_ARRAY(a, struct fx_equation, k->n_equations + 1);
    struct fx_check *checks = NEW_ARRAY(a, struct fx_check, k->n_requirements + 1);
    for (int i = 0; i < k->n_axes; i++)
        extents[i] = (struct fx_extent){
            arena_strndup(a, k->axes[i].name.s, k->axes[i].name.len), k->axes[i].extent, k->axes[i].is_made};
    for (int i = 0; i < k->n_params; i++) params[i] = build_param(cx, &k->params[i]);
    for (int i = 0; i < k->n_equations; i++)
        equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, k->equations[i].text};
    for (int i = 0; i < k->n_requirements; i++)
        checks[i] = (struct fx_check){
            k->requirements[i].holds, arena_printf(a, "%s (%s, line %d)", k->requirements[i].text, k->name,
                                          span_line(cx, k->requirements[i].span))};
    return (struct fx_kernel){.name = k->name,
        .n_extents = k->n_axes,
        .n_params = k->n_params,
        .n_equations = k->n_equations,
        .n_checks = k->n_requirements,
        .extents = extents,
        .equations = equations,
        .params = params,
        .checks = checks,
        .receipt = ""};
}

/* By buffer of the partition: whether a kernel that is computed once writes it. */
static const bool *kept_buffers(struct arena *a, const struct scheduled_graph *c) {
    bool *is_kept = NEW_ARRAY(a, bool, c->partition->n_buffers + 1);
    for (int i = 0; i < c->n_kernels; i++)
        for (int s = 0; c->kernels[i].is_once && s < c->kernels[i].group->n_stores; s++)
            is_kept[c->kernels[i].group->stores[s].buffer] = true;
    return is_kept;
}

/* What partition `index` of u keeps between its launches. */
static void build_buffers(struct arena *a, const struct unit *u, int index, struct fx_buffer *buffers) {
    const struct scheduled_graph *c = u->kernels[index];
    const struct kernel *k = c->graph->kernel;
    const bool *is_kept = kept_buffers(a, c);
    for (int i = 0; i < c->partition->n_buffers; i++) {
        struct tensor t = tensor_of_buffer(c->graph, c->partition, i);
        struct terms x = {.a = a};
        int n = 0;
        if (t.is_halved) {
            const struct halved h = tensor_halved(&t);
            terms_size(&x, k, h.batch.axes, h.batch.n);
            halved_bytes(&x, k, &h);
            terms_op(&x, FX_T_MUL);
        } else if (!c->partition->buffers[i].held) add_bytes(&x, k, &t, &n);
        buffers[i] = (struct fx_buffer){.name = c->n_kernels ? u->launches[index][0].buffer_names[i] : "",
            .kind = is_kept[i] ? FX_BUFFER_CONST : FX_BUFFER_WORKSPACE,
            .bytes = terms_done(&x)};
    }
    for (int i = 0; i < c->n_partials; i++) {
        struct terms x = {.a = a};
        terms_size(&x, k, c->partials[i].rows->axes, c->partials[i].rows->n);
        terms_constant(&x, c->partials[i].words * (int64_t)4);
        terms_op(&x, FX_T_MUL);
        if (c->partials[i].bins) {
            bins_parts(&x, k, c->partials[i].bins, c->partials[i].rows);
            terms_op(&x, FX_T_MUL);
        }
        int at = c->partition->n_buffers + i;
        buffers[at] = (struct fx_buffer){
            .name = u->launches[index][0].buffer_names[at],
            .kind = c->partials[i].is_once ? FX_BUFFER_CONST : FX_BUFFER_WORKSPACE,
            .bytes = terms_done(&x)};
    }
    int flags = plan_flags_buffer(c);
    if (c->has_flags)
        buffers[flags] = (struct fx_buffer){
            u->launches[index][0].buffer_names[flags], FX_BUFFER_FLAGS, flag_bytes(a, u, index)};
}

/* Arguments with the numbers that buffers have in the kernel, of whose buffers those of this partition begin at
 * `first`. */
static struct fx_arg renumbered(struct fx_arg arg, int first) {
    if (arg.kind == FX_ARG_BUFFER) arg.index += first;
    return arg;
}

static void renumber_buffers(struct arena *a, struct fx_launch *l, int first) {
    struct fx_arg *args = NEW_ARRAY(a, struct fx_arg, l->n_args + 1);
    struct fx_map *maps = NEW_ARRAY(a, struct fx_map, l->n_maps + 1);
    for (int i = 0; i < l->n_args; i++) args[i] = renumbered(l->args[i], first);
    for (int i = 0; i < l->n_maps; i++) maps[i] = l->maps[i], maps[i].base = renumbered(maps[i].base, first);
    l->args = args, l->maps = maps;
}

/* Each partition has launches and buffers of its own. */
static struct fx_kernel build_kernel(struct cx *cx, const struct unit *u, int number) {
    struct arena *a = &cx->arena;
    const int first = u->first[number], n = u->first[number + 1] - first;
    struct fx_kernel out = build_signature(cx, unit_kernel(u, number));
    struct fx_partition *partitions = NEW_ARRAY(a, struct fx_partition, n);
    for (int i = 0; i < n; i++) {
        const struct scheduled_graph *c = u->kernels[first + i];
        partitions[i] = (struct fx_partition){.name = c->partition->name,
            .first_launch = out.n_launches,
            .n_launches = c->n_launches,
            .first_buffer = out.n_buffers,
            .n_buffers = plan_flags_buffer(c) + c->has_flags,
            .takes = c->takes};
        out.n_launches += c->n_launches, out.n_buffers += partitions[i].n_buffers;
    }
    struct fx_buffer *buffers = NEW_ARRAY(a, struct fx_buffer, out.n_buffers + 1);
    struct fx_launch *launches = NEW_ARRAY(a, struct fx_launch, out.n_launches + 1);
    for (int i = 0; i < n; i++) {
        const struct scheduled_graph *c = u->kernels[first + i];
        const struct fx_partition *p = &partitions[i];
        build_buffers(a, u, first + i, buffers + p->first_buffer);
        for (int j = 0; j < c->n_launches; j++) {
            struct fx_launch *l = &launches[p->first_launch + j];
            build_launch(a, c, u->launches[first + i] + c->launches[j].first, &u->joined[first + i][j], l);
            if (p->first_buffer) renumber_buffers(a, l, p->first_buffer);
        }
    }
    out.buffers = buffers;
    out.launches = launches;
    if (n > 1) out.n_partitions = n, out.partitions = partitions;
    return out;
}

struct fx_plan *plan_signatures(struct cx *cx, const char *file, const struct program *program) {
    struct fx_plan *p = NEW(&cx->arena, struct fx_plan);
    struct fx_kernel *kernels = NEW_ARRAY(&cx->arena, struct fx_kernel, program->n_kernels + 1);
    for (int i = 0; i < program->n_kernels; i++) kernels[i] = build_signature(cx, &program->kernels[i]);
    *p = (struct fx_plan){.file = file,
        .arch = cx->arch->name,
        .sm_count = cx->arch->sms,
        .source = "",
        .n_kernels = program->n_kernels,
        .kernels = kernels};
    return p;
}

struct fx_plan *plan_build(struct cx *cx, const struct unit *u) {
    struct fx_plan *p = NEW(&cx->arena, struct fx_plan);
    struct fx_kernel *kernels = NEW_ARRAY(&cx->arena, struct fx_kernel, u->n_specs + 1);
    for (int i = 0; i < u->n_specs; i++) {
        kernels[i] = build_kernel(cx, u, i);
        struct unfused unfused = traffic_unfused(&cx->arena, u->kernels[u->first[i]]->graph->kernel);
        kernels[i].n_unfused = unfused.n_kernels;
        kernels[i].unfused_bytes = unfused.bytes;
    }
    *p = (struct fx_plan){.file = u->file,
        .arch = cx->arch->name,
        .sm_count = cx->arch->sms,
        .source = "",
        .n_kernels = u->n_specs,
        .kernels = kernels};
    return p;
}
