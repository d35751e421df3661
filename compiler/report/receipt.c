/* Collects the facts of a receipt. In: the graph as scheduled, its plan, the resources of compiled entries. Out: struct
 * receipt, with all numbers at fixed extents, and at nominal ones for free labels. Invariant: nothing is decided here;
 * the receipt reports decisions of the plan and the schedules. */
#include "report/receipt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schedule/chain_program.h"
#include "check/fx_print.h"
#include "passes/passes.h"
#include "schedule/row_program.h"
#include "seam/print.h"

struct facts { /* what they are collected from */
    struct arena *a;
    const struct unit *unit;
    const struct scheduled_graph *chosen;
    const struct scheduled_graph *priced; /* the same, each launch by the entry that is taken */
    const struct fx_resources *compiled; /* by number of entry, or NULL */
    struct fx_env env;
    struct receipt *r;
};

static struct receipt_size size_of(const struct facts *f, const struct fx_expr *e) {
    struct receipt_size s = {.text = "0", .is_known = true};
    struct buf b;
    if (e->n == 0) return s;
    buf_init(&b, f->a);
    plan_print_expr(&b, f->r->kernel, e);
    s.text = b.s;
    s.is_known = fx_expr_eval(e, &f->env, &s.value);
    return s;
}

/* ---- lines ---- */

enum place { NOWHERE, PROLOGUE, MAINLOOP, EPILOGUE, POINTWISE, LOOP, OF_A_ROW, IN_A_ROW, SIDE_PRODUCT, INTERMEDIATE };
static const char *const place_names[] = {
    "",
    "prologue",
    "mainloop",
    "epilogue",
    "pointwise",
    "loop",
    "of a row",
    "in a row",
    "side product",
    "intermediate",
};

struct marks {
    const struct facts *f;
    const struct group *group;
    bool *is_data;     /* by node: an input is read for it; a position made of indices is no computation of its own */
    enum place *place; /* by node */
};

static void mark(const struct marks *m, const struct node *n, enum place place);

/* The factors that are computed on the way to the mainloop, or between those of a chain; a mainloop applies scales. */
static void mark_factors(const struct marks *m, const struct product *x) {
    const enum place own = x->sum->may_scale ? MAINLOOP : PROLOGUE;
    for (int s = 0; s < 2; s++)
        if (x->buffer[s] < 0) mark(m, x->factor[s], x->factor[s] == m->group->intermediate ? INTERMEDIATE : own);
}

/* The nodes a launch computes, found from its stores. */
static void mark(const struct marks *m, const struct node *n, enum place place) {
    struct tensor t;
    if (m->place[n->id] || node_is_loaded(m->f->chosen->graph, m->f->chosen->partition, m->group, n, &t)) return;
    int sum = group_sum(m->group, n);
    if (sum >= 0) {
        m->place[n->id] = MAINLOOP;
        mark_factors(m, &m->group->sums[sum]);
        return;
    }
    bool is_loop = ((n->kind == N_REDUCE || n->kind == N_SCAN) && !is_row_step(m->group, n)) ||
                   (n->kind == N_SHARE && !is_shared_by(m->group, n));
    if (is_loop) place = LOOP;
    m->place[n->id] = is_row_step(m->group, n) ? OF_A_ROW : place;
    for (int i = 0; i < n->n_args; i++) {
        bool is_position = n->kind == N_ACCESS && i > 0 && i <= n->n_at;
        if (!is_position || m->is_data[n->args[i]->id]) mark(m, n->args[i], place);
    }
}

static void add_line(const struct facts *f, struct receipt_launch *l, const struct node *n, enum place place) {
    const struct cx *cx = f->unit->cx;
    struct buf b;
    buf_init(&b, f->a);
    if (n->kind == N_PLACE) buf_puts(&b, "store to ");
    ast_print_expr_short(&b, n->source, 80);
    struct receipt_line line = {.line = span_line(cx, n->span), .place = place_names[place], .text = b.s};
    if (n->name.len) line.name = arena_strndup(f->a, n->name.s, n->name.len);
    if (n->source->span.file != n->span.file) line.call = span_text(f->unit->cx, n->span);
    for (int i = 0; i < l->n_lines; i++) /* one expression may have become several nodes */
        if (l->lines[i].line == line.line && l->lines[i].place == line.place &&
            strcmp(l->lines[i].text, line.text) == 0 && !line.name)
            return;
    PUSH(f->a, l->lines, l->n_lines) = line;
}

/* What an earlier phase computes for a later one is a side product, wherever in its kernel it is computed. */
static void add_lines(
    const struct facts *f, struct receipt_launch *l, const struct group *group, bool is_side_product) {
    const struct graph *g = f->chosen->graph;
    struct marks m = {f, group, NEW_ARRAY(f->a, bool, g->n_nodes + 1), NEW_ARRAY(f->a, enum place, g->n_nodes + 1)};
    for (int i = 0; i < g->n_nodes; i++) {
        m.is_data[i] = g->nodes[i]->kind == N_INPUT;
        for (int j = 0; j < g->nodes[i]->n_args; j++) m.is_data[i] |= m.is_data[g->nodes[i]->args[j]->id];
    }
    for (int i = 0; i < group->n_stores; i++) {
        struct partial_of x;
        if (is_partial_store(g, group, &group->stores[i], &x)) m.place[group->stores[i].value->id] = EPILOGUE;
        mark(&m, store_element(g, group, &group->stores[i]),
            group->is_row        ? IN_A_ROW
            : group->contraction ? EPILOGUE
                                 : POINTWISE);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        bool is_computed = n->kind == N_OP || n->kind == N_REDUCE || n->kind == N_SCAN || n->kind == N_SHARE ||
                           n->kind == N_CAST || n->kind == N_ACCESS || n->kind == N_PLACE;
        if (m.place[i] && n->source && is_computed) add_line(f, l, n, is_side_product ? SIDE_PRODUCT : m.place[i]);
    }
}

/* ---- launches ---- */

static int least(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

/* Blocks an SM has room for: registers are given out by the warp to each of its four parts. */
static int resident_blocks(const struct arch *m, const struct receipt_entry *e, int asked) {
    enum { PARTS = 4, PART_REGISTERS = SM_REGISTERS / PARTS, UNIT = 256 };
    if (!e->compiled) return asked;
    int warps = (e->variant->block + 31) / 32, a_warp = (e->compiled->registers * 32 + UNIT - 1) / UNIT * UNIT;
    int n = a_warp ? PARTS * (PART_REGISTERS / a_warp) / warps : m->sm_blocks;
    int64_t shared = (e->shared.is_known ? e->shared.value : 0) + e->compiled->shared_bytes + SHARED_OVERHEAD;
    n = least(n, m->sm_shared / shared);
    n = least(n, m->sm_threads / (warps * 32));
    return least(n, m->sm_blocks);
}

static struct receipt_entry entry_of(const struct facts *f, const struct fx_variant *v, const struct config *c) {
    struct receipt_entry e = {.variant = v,
        .grid = size_of(f, &v->grid),
        .shared = size_of(f, &v->smem),
        .takes = fx_expr_holds(&v->needs, &f->env)};
    if (f->compiled && f->compiled[v->number].registers) e.compiled = &f->compiled[v->number];
    e.resident = resident_blocks(f->unit->cx->arch, &e, c->min_blocks);
    int64_t round = (int64_t)f->unit->cx->arch->sms * (e.resident < 1 ? 1 : e.resident);
    e.waves = e.grid.is_known ? e.grid.value / round + (e.grid.value % round != 0) : 0;
    return e;
}

/* The entry that is taken, or -1. */
static int choose(const struct facts *f, const struct fx_launch *l) {
    static const struct fx_resources unknown;
    const struct fx_resources **compiled = NEW_ARRAY(f->a, const struct fx_resources *, l->n_variants + 1);
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_resources *c = f->compiled ? &f->compiled[l->variants[v].number] : NULL;
        compiled[v] = c && c->registers ? c : &unknown;
    }
    return fx_choose_compiled(l, &f->env, compiled);
}

static void add_entries(const struct facts *f, struct receipt_launch *l, const struct scheduled *s) {
    const struct fx_launch *launch = l->launch;
    for (int v = 0; v < launch->n_variants; v++)
        PUSH(f->a, l->entries, l->n_entries) = entry_of(f, &launch->variants[v], &s->configs[v]);
    int chosen = choose(f, launch), wanted = fx_choose_variant(launch, &f->env);
    if (chosen >= 0) l->entries[chosen].is_chosen = true;
    if (wanted >= 0 && wanted != chosen) l->entries[wanted].is_passed_over = true;
}

/* What a launch takes of the time predicted for its group: of rows in parts every pass that reads rows as much as
 * another. */
static double share_of(const struct scheduled *s, double memory_seconds) {
    if (!s->parts) return scheduled_estimate(s);
    int n = 0;
    for (int i = 0; i < s->row->n_stages; i++) n += row_stage_reads(s->row, &s->row->stages[i]);
    return row_stage_reads(s->row, &s->row->stages[s->pass]) ? s->seconds / n : memory_seconds;
}

/* Whether phase p leaves something for later ones: a buffer, or the sums of a pass that is not its program's last. */
static bool is_side_product(const struct launch *phases, int n_phases, int p) {
    const struct scheduled *s = phases[p].kernel;
    bool stores_buffer = false;
    for (int i = 0; i < s->group->n_stores; i++) stores_buffer |= s->group->stores[i].buffer >= 0;
    return p + 1 < n_phases && stores_buffer && !phases->n_beside;
}

/* Of a launch of several phases: the leader's schedule, and the sums of what the phases take. */
static struct receipt_launch launch_of(
    const struct facts *f, const struct launch *phases, const struct plan_launch *d, const struct fx_launch *launch) {
    const struct launch_phases all = {.first = d->first, .n = d->n};
    const struct scheduled *s = f->chosen->kernels + phases_leader(f->chosen, all);
    struct receipt_launch out = {
        .launch = launch, .schedule = s->schedule->name, .n_rejected = s->n_rejected, .rejected = s->rejected};
    out.bytes = size_of(f, &launch->bytes);
    out.written = size_of(f, &launch->written);
    out.flops = size_of(f, &launch->flops);
    out.memory_seconds = out.bytes.is_known ? (double)out.bytes.value / f->unit->cx->arch->copied : 0;
    const struct scheduled *priced = &f->priced->kernels[d->first];
    out.seconds = d->n == 1 ? share_of(priced, out.memory_seconds) : 0;
    for (int p = 0; d->n > 1 && p < d->n; p++) out.seconds += priced[p].pass ? 0 : scheduled_estimate(&priced[p]);
    out.bound = out.seconds <= out.memory_seconds * 1.01 ? "memory"
                : s->group->contraction                  ? arena_printf(f->a, "multiply-adds of %s", s->schedule->name)
                                                         : "instructions and latency";
    for (int p = 0; p < d->n; p++) {
        const struct group *r = phases[p].kernel->group;
        if (r->is_copy)
            PUSH(f->a, out.copies, out.n_copies) =
                (struct receipt_copy){f->r->kernel->buffers[f->r->taken.first_buffer + r->copied].name,
                    f->r->kernel->params[r->stores[0].param].name};
    }
    for (int p = 0; p < d->n; p++)
        if (d->n == 1 || phases[p].kernel->pass == 0)
            add_lines(f, &out, phases[p].kernel->group, is_side_product(phases, d->n, p));
    add_entries(f, &out, s);
    return out;
}

/* ---- the kernel ---- */

static void add_extents(struct facts *f, const struct kernel *k) {
    int64_t *extents = NEW_ARRAY(f->a, int64_t, f->r->kernel->n_extents + 1);
    for (int i = 0; i < f->r->kernel->n_extents; i++) {
        const struct axis *a = &k->axes[i];
        extents[i] = a->extent >= 0 ? a->extent : (int64_t)a->nominal;
    }
    f->r->extents = extents;
    int64_t *strides = NEW_ARRAY(f->a, int64_t, fx_stride_index(f->r->kernel->n_params, 0) + 1);
    fx_row_major_strides(f->r->kernel, extents, strides);
    f->env = (struct fx_env){.extents = extents, .sm_count = f->unit->cx->arch->sms, .strides = strides};
}

static void add_rules(struct facts *f) {
    for (int i = 0; i < f->chosen->graph->n_applied; i++) {
        const struct applied *x = &f->chosen->graph->applied[i];
        struct receipt_rule rule = {x->rule, span_line(f->unit->cx, x->span), NULL, x->before, x->after};
        if (x->source) {
            struct buf b;
            buf_init(&b, f->a);
            ast_print_expr_short(&b, x->source, 80);
            rule.text = b.s;
        }
        PUSH(f->a, f->r->rules, f->r->n_rules) = rule;
    }
}

static void note(struct facts *f, const char *text) { PUSH(f->a, f->r->notes, f->r->n_notes) = text; }

/* How often a chain computes its intermediate: once for every tile of columns of the entry that is launched, tile_n
 * wide; 0: none is. */
static const char *times_anew(const struct facts *f, const struct chain *x, int tile_n) {
    struct buf b;
    double columns = 1;
    buf_init(&b, f->a);
    for (int i = 0; i < x->second.n.n; i++) {
        int axis = x->second.n.axes[i];
        buf_printf(&b, "%s%s", i ? " * " : "", f->r->kernel->extents[axis].name);
        columns *= (double)f->r->extents[axis];
    }
    if (!x->second.n.n) return "once";
    if (!tile_n) return arena_printf(f->a, "%s over the tile's columns times", b.s);
    double times = ceil(columns / tile_n);
    return arena_printf(f->a, "cdiv(%s, %d) = %.10g time%s", b.s, tile_n, times, times == 1 ? "" : "s");
}

/* What a chain computes more than once, and what it rounds on the way. */
static void add_chain_notes(struct facts *f, const struct chain *x, int tile_n) {
    struct buf t;
    buf_init(&t, f->a);
    for (int i = 0; i < x->parts.n_t; i++)
        buf_printf(&t, "%s%s", i ? "," : "", f->r->kernel->extents[x->parts.t[i]].name);
    const char *first = x->parts.n_inner > 1 ? "the first contractions are" : "the first contraction is";
    const char *times = x->n_passes == 1
                            ? "once"
                            : arena_printf(f->a, "%d times, in each of which %s added up anew", x->n_passes, first);
    note(f,
        arena_printf(f->a,
            "chain: the intermediate, over %s, stays on the chip and is walked over %s; "
            "every tile of columns computes it anew: %s",
            t.s, times, times_anew(f, x, tile_n)));
    for (int i = 0; i < x->n_exps; i++)
        if (chain_is_online(x, i, x->exps[i].pass))
            note(f, arena_printf(f->a,
                        "chain: sums are scaled as the maximum of line %d, which shifts their exponential, moves",
                        span_line(f->unit->cx, x->exps[i].maximum->span)));
    for (int i = 0; i < x->n_deferred; i++)
        note(f, arena_printf(f->a, "chain: divided behind the last contraction, not before: line %d",
                    span_line(f->unit->cx, x->deferred[i].by->span)));
    if (x->second.b_dtype != FX_F32)
        note(f,
            arena_printf(f->a,
                "chain: the intermediate is rounded once to %s for the last contraction "
                "(language.md, Accumulation; `precision: ieee` forbids it)",
                fx_dtype_name(x->second.b_dtype)));
}

/* Which factors a mainloop rounds as it loads them; add_buffers says so of those that are stored first, add_chain_notes
 * of the intermediate. */
static void add_rounded_notes(struct facts *f, const struct group *r) {
    for (int i = 0; i < 2 * r->n_sums; i++) {
        const struct product *x = &r->sums[i / 2];
        const struct node *factor = x->factor[i % 2];
        struct buf b;
        if (!x->is_rounded[i % 2] || x->buffer[i % 2] >= 0 || factor == r->intermediate) continue;
        buf_init(&b, f->a);
        buf_printf(&b, "line %d: ", span_line(f->unit->cx, factor->span));
        if (factor->source) ast_print_expr_short(&b, factor->source, 80);
        else buf_puts(&b, "a factor");
        buf_printf(&b,
            " is rounded once to %s as the mainloop loads it (language.md, Accumulation; `precision: ieee` forbids it)",
            fx_dtype_name(x->dtype[i % 2]));
        note(f, b.s);
    }
}

/* In how many passes a row program finds several reductions: of a variance whether it is of deviations from a mean that
 * is known, or of sums of squares beside it. */
static void add_row_note(struct facts *f, const struct scheduled *s) {
    const struct group *r = s->group;
    struct buf b;
    if (r->n_steps < 2 || s->pass) return;
    buf_init(&b, f->a);
    for (int i = 0; i < r->n_reduced; i++)
        buf_printf(&b, "%s%s", i ? "," : "statistics over ", f->r->kernel->extents[r->reduced[i]].name);
    buf_printf(&b, " in %d pass%s", s->row->n_passes, s->row->n_passes == 1 ? "" : "es");
    for (int pass = 1, n = 0; pass <= s->row->n_passes; pass++, n = 0)
        for (int i = 0; i < r->n_steps; i++) {
            const struct node *step = r->steps[i];
            if (step->kind != N_REDUCE || s->row->level[step->id] != pass) continue;
            buf_puts(&b, n++ ? " and " : pass == 1 ? ": " : "; from that ");
            buf_printf(&b, "%s(",
                reduction_name(
                    step->reduction)); /* of what, as the source has it: a mean is a sum of another's operand */
            if (step->args[0]->kind == N_INPUT) buf_puts(&b, f->r->kernel->params[step->args[0]->param].name);
            else if (step->args[0]->source) ast_print_expr_short(&b, step->args[0]->source, 80);
            buf_printf(&b, ") at line %d", span_line(f->unit->cx, step->span));
        }
    if (s->row->n_passes) note(f, b.s);
}

/* What the kernel allows that no schedule makes use of. */
static void add_notes(struct facts *f) {
    const struct kernel *k = f->chosen->graph->kernel;
    bool is_used = false;
    for (int i = 0; i < f->chosen->graph->n_applied; i++)
        for (int r = 0; algebra_rule(r); r++)
            is_used |= algebra_rule(r)->is_fast &&
                       strcmp(algebra_rule(r)->name, f->chosen->graph->applied[i].rule) == 0;
    if (k->fast_math)
        note(f, is_used ? "fast_math: rules are applied that hold for finite values whose sums stay in range"
                        : "fast_math is allowed; nothing here makes use of it");
    if (k->round != ROUND_ONCE)
        note(f, k->round == ROUND_OP ? "round: op: every operation's result is rounded to the dtype of its tensors"
                                     : "round: eager: every operation's result is rounded to the dtype of its tensors");
}

/* Whether the buffer holds what goes to a parameter written in place, in whose dtype it is. */
static bool is_copied(const struct partition *p, int buffer) {
    for (int i = 0; i < p->n_groups; i++)
        if (p->groups[i].is_copy && p->groups[i].copied == buffer) return true;
    return false;
}

static void add_buffers(struct facts *f) {
    const struct scheduled_graph *c = f->chosen;
    for (int i = 0; i < f->r->taken.n_buffers; i++) {
        const struct fx_buffer *b = &f->r->kernel->buffers[f->r->taken.first_buffer + i];
        struct receipt_buffer out = {
            .name = b->name, .bytes = size_of(f, &b->bytes), .is_kept = b->kind == FX_BUFFER_CONST};
        if (i < c->partition->n_buffers) {
            const struct buffer *from = &c->partition->buffers[i];
            if (from->held) continue;
            out.dtype = from->is_halved ? "2 f16" : from->is_split ? "3 bf16" : fx_dtype_name(from->dtype);
            out.why = from->why;
            const bool is_made = node_is_stored(from->value) && from->value->args[0]->kind == N_OP &&
                                 from->value->args[0]->op != O_WHERE; /* by `sources`, not a copy by `windows` */
            out.is_rounded = fx_is_float(from->dtype) && fx_dtype_bits(from->dtype) <= 16 &&
                             (from->value->kind != N_CAST || is_made) && from->value->kind != N_INPUT &&
                             !is_copied(c->partition, i);
        } else if (b->kind == FX_BUFFER_FLAGS) {
            out.dtype = "u64";
            out.why = "flags by which all blocks of a launch wait for each other between its phases";
        } else {
            out.dtype = "f32";
            out.why =
                c->n_launches < c->n_kernels
                    ? "too few rows to occupy the GPU, so each is cut in parts, whose sums stand here; "
                      "every pass is a phase"
                    : "too few rows to occupy the GPU, so each is cut in parts, whose sums stand here; "
                      "every pass is a launch";
        }
        PUSH(f->a, f->r->buffers, f->r->n_buffers) = out;
    }
}

static void add_launches(struct facts *f, int kernel) {
    struct receipt *r = f->r;
    r->is_known = true;
    for (int i = 0; i < r->taken.n_launches; i++) {
        const struct plan_launch *d = &f->unit->joined[kernel][i];
        const struct launch *phases = f->unit->launches[kernel] + d->first;
        struct receipt_launch l = launch_of(f, phases, d, &r->kernel->launches[r->taken.first_launch + i]);
        int chosen = 0;
        while (chosen < l.n_entries && !l.entries[chosen].is_chosen) chosen++;
        for (int p = 0; p < d->n; p++) {
            const struct scheduled *s = phases[p].kernel;
            if (s->chain) add_chain_notes(f, s->chain, chosen < l.n_entries ? s->configs[chosen].tile_n : 0);
            if (s->row) add_row_note(f, s);
            add_rounded_notes(f, s->group);
        }
        r->n_once += l.launch->is_once;
        r->is_known &= l.bytes.is_known &&
                       (l.launch->is_once || !__builtin_add_overflow(r->total, l.bytes.value, &r->total));
        PUSH(f->a, r->launches, r->n_launches) = l;
    }
}

/* Where which partition is taken. */
static void add_partitions(struct facts *f, int kernel) {
    struct receipt *r = f->r;
    for (int i = 0; i < r->kernel->n_partitions; i++) {
        const struct fx_partition *p = &r->kernel->partitions[i];
        struct buf where;
        buf_init(&where, f->a);
        plan_print_where(&where, r->kernel, &p->takes);
        PUSH(f->a, r->partitions, r->n_partitions) = (struct receipt_partition){.name = p->name,
            .where = i + 1 < r->kernel->n_partitions ? where.s : NULL,
            .n_launches = launches_each_time(f->unit->kernels[f->unit->first[kernel] + i]),
            .seconds = fx_estimate(f->unit->kernels[f->unit->first[kernel] + i]),
            .is_taken = p->first_launch == r->taken.first_launch};
    }
}

/* What a receipt is collected from, with the extents that it is of. */
static struct facts facts_of(
    struct arena *a, const struct unit *u, int kernel, const struct fx_kernel *k, const struct fx_resources *compiled) {
    struct facts f = {.a = a, .unit = u, .compiled = compiled, .r = NEW(a, struct receipt)};
    f.r->kernel = k;
    add_extents(&f, unit_kernel(u, kernel));
    return f;
}

bool receipt_wants(struct arena *a, const struct unit *u, int kernel, const struct fx_kernel *k,
    const struct fx_resources *compiled, bool *wanted) {
    const struct facts f = facts_of(a, u, kernel, k, compiled);
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, &f.env));
    bool any = false;
    for (int i = 0; i < taken.n_launches; i++) {
        const struct fx_launch *l = &k->launches[taken.first_launch + i];
        const int v = choose(&f, l), number = v < 0 ? -1 : l->variants[v].number;
        if (v < 0 || (compiled && compiled[number].registers)) continue;
        wanted[number] = any = true;
    }
    return any;
}

struct receipt *receipt_of(
    struct arena *a, const struct unit *u, int kernel, const struct fx_kernel *k, const struct fx_resources *compiled) {
    struct facts f = facts_of(a, u, kernel, k, compiled);
    struct receipt *r = f.r;
    struct buf saved;
    const int number = fx_choose_partition(k, &f.env), unit_number = u->first[kernel] + number;
    f.chosen = u->kernels[unit_number];
    const struct fx_partition taken = fx_get_partition(k, number);
    int *variants = NEW_ARRAY(a, int, taken.n_launches + 1);
    for (int i = 0; i < taken.n_launches; i++) variants[i] = choose(&f, &k->launches[taken.first_launch + i]);
    f.priced = fx_price_variants(f.chosen, variants);
    *r = (struct receipt){.kernel = k,
        .taken = taken,
        .extents = r->extents,
        .arch = u->cx->arch,
        .partition = f.chosen->partition->name,
        .seconds = fx_estimate(f.priced),
        .n_others = f.chosen->n_others,
        .others = f.chosen->others};
    add_partitions(&f, kernel);
    r->unfused = size_of(&f, &k->unfused_bytes);
    add_rules(&f);
    add_notes(&f);
    buf_init(&saved, a);
    fx_print_saved(&saved, f.chosen->graph->kernel, "  ");
    r->saved = saved.s;
    add_buffers(&f);
    add_launches(&f, unit_number);
    return r;
}
