/* Writes the `.cu`: the launch contract, the required pieces of compiler/kernels (emit_pieces.c), then the problem
 * struct and the entries of every GPU kernel.
 *
 * In: the unit and its plan. Out: CUDA text. */
#include "emit/emit.h"
#include "schedule/chain_program.h"
#include "plan/launch.h"
#include "schedule/row_program.h"

#include <string.h>

#include "schedule/bins.h"
#include "seam/print.h"

/* ---- entries ---- */

const char *emit_argument(const struct launch *l, const struct fx_arg *arg) {
    const char *const *names[] = {[FX_ARG_PARAM] = l->param_names,
        [FX_ARG_BUFFER] = l->buffer_names,
        [FX_ARG_EXTENT] = l->axis_names,
        [FX_ARG_STRIDE] = l->stride_names};
    return names[arg->kind][arg->index];
}

/* The extents of a super-axis multiplied: "B_ * 16". */
static void put_product(
    struct buf *out, const struct scheduled_graph *c, const struct launch *l, const struct axis_list *axes) {
    if (axes->n == 0) buf_puts(out, "1");
    for (int i = 0; i < axes->n; i++) {
        int64_t fixed = c->graph->kernel->axes[axes->axes[i]].extent;
        if (i) buf_puts(out, " * ");
        if (fixed >= 0) buf_printf(out, i ? "%lld" : "%lldll", (long long)fixed);
        else buf_puts(out, l->axis_names[axes->axes[i]]);
    }
}

/* The fields of l's struct, those that are read: "{x_, w_, (int)N_}". */
static void put_fields(struct buf *out, const struct launch *l, const bool *is_read, const struct config *f) {
    buf_putc(out, '{');
    for (int a = 0, n = 0; a < l->n_args; a++) {
        bool is_index = l->args[a].kind == FX_ARG_EXTENT && f->is_small && is_space_axis(l->kernel, l->args[a].index);
        if (is_read[a])
            buf_printf(out, "%s%s%s", n++ ? ", " : "", is_index ? "(int)" : "", emit_argument(l, &l->args[a]));
    }
    buf_putc(out, '}');
}

/* The tensor maps of kernel i of a launch, which stand behind those of the kernels before. */
static const char *maps_of(struct arena *a, const struct launch *kernels, const struct plan_launch *d, int i) {
    int first = 0;
    while (i && first < d->n_maps && d->maps[first].shape != &kernels[i].kernel->gemm) first++;
    return first ? arena_printf(a, "maps.of + %d", first) : "maps.of";
}

/* The call of a driver over contractions beside each other: a list of them, from the last one on. */
static void emit_beside(struct buf *out, const struct scheduled_graph *c, const struct launch *phases,
    const bool *const *is_read, const struct plan_launch *d, int e) {
    for (int i = d->n - 1; i >= 0; i--) {
        const struct config *f = &phases[i].kernel->configs[e];
        const char *own = maps_of(out->arena, phases, d, i),
                   *at = f->takes_maps ? own : "nullptr",
                   *rest = i < d->n - 1 ? arena_printf(out->arena, "beside%d", i + 1) : "fx_beside_end()";
        if (i) buf_printf(out, "  const auto beside%d = ", i);
        else if (f->takes_maps) buf_puts(out, "  fx_gemm_wgmma_beside(");
        else buf_printf(out, "  fx_skinny_beside<%s>(", f->is_aligned ? "true" : "false");
        buf_printf(out, "fx_beside_of<%s>(%s", f->engine, phases[i].struct_name);
        put_fields(out, &phases[i], is_read[i], f);
        buf_printf(out, ", %s, %s)%s", at, rest, i ? ";\n" : ", ");
    }
    put_product(out, c, phases, &phases->kernel->gemm.batch);
    buf_puts(out, ");\n");
}

/* The call of the driver: the whole of an entry, or one of its phases; is_read: the fields of the struct. */
static void emit_call(struct buf *out, const struct scheduled_graph *c, const struct launch *l, const bool *is_read,
    const struct config *f, bool is_phase, const char *maps) {
    const struct scheduled *s = l->kernel;
    const char *index = f->is_small ? "int" : "long long", *aligned = f->is_aligned ? "true" : "false";
    const char *threads = f->block != 256 ? arena_printf(out->arena, ", %d", f->block) : "";
    if (f->takes_maps)
        buf_printf(out, "  fx_%s<%s>(%s",
            f->piece           ? "chain_pieces"
            : f->is_masked     ? "chain_wgmma_masked"
            : s->chain         ? "chain_wgmma"
            : s->gemm.is_halved ? (f->splits_k ? "gemm_halves_cluster" : "gemm_halves")
            : s->gemm.is_split ? "gemm_split"
            : s->gemm.is_whole ? "gemm_parts"
            : f->splits_k      ? "gemm_wgmma_cluster"
            : s->gemm.makes    ? "gemm_wgmma_made"
            : s->hands_on      ? "gemm_wgmma_inner"
                               : "gemm_wgmma",
            f->engine, l->struct_name);
    else if (f->piece) buf_printf(out, "  fx_chain_by_few<%s>(%s", f->engine, l->struct_name);
    else if (f->is_skinny)
        buf_printf(out, "  fx_skinny%s<%s, %s>(%s", f->starts_early ? "_early" : "", f->engine, aligned,
            l->struct_name);
    else if (s->gemm.pairing) /* the engine takes what is added up as its last argument */
        buf_printf(out, "  fx_gemm%s<%.*s, %s::term>, %s>(%s", is_phase ? "_tiles" : "", (int)strlen(f->engine) - 1,
            f->engine, l->struct_name, aligned, l->struct_name);
    else if (s->group->contraction)
        buf_printf(out, "  fx_%s%s<%s, %s>(%s", s->chain ? "chain" : "gemm", is_phase ? "_tiles" : "", f->engine,
            aligned, l->struct_name);
    else if (s->bins && s->pass)
        buf_printf(out, "  fx_bins_finish<%d>(%s<%s>", BINS_FINISH_WARPS, l->struct_name, index);
    else if (s->bins) buf_printf(out, "  fx_bins<%s>(%s<%s>", f->engine, l->struct_name, index);
    else if (s->parts)
        buf_printf(out, "  fx_row_part<%d, %d, %s>(%s<%s>", s->row->stages[s->pass].pass, s->row->stages[s->pass].scan,
            f->engine, l->struct_name, index);
    else if (s->group->is_row)
        buf_printf(out, "  fx_row%s%s<%s>(%s<%s>", s->row->run ? "_runs" : f->spread ? "_cluster" : "",
            f->is_turned ? "_turned" : "", f->engine, l->struct_name, index);
    else if (group_halves(c->partition, s->group)) buf_printf(out, "  fx_halve(%s<%s>", l->struct_name, index);
    else if (f->is_aligned && s->pointwise.word_rows && !f->wants_few)
        buf_printf(out, "  fx_pointwise_words<%s, %d, %d%s>(%s<%s>", f->engine, f->tile_m / s->pointwise.word_rows,
            s->pointwise.word_rows, threads, l->struct_name, index);
    else if (f->tile_m > 1)
        buf_printf(out, "  fx_pointwise_turned<%s, %s, %d%s>(%s<%s>", f->engine, aligned, f->tile_m, threads,
            l->struct_name, index);
    else if (f->ahead)
        buf_printf(out, "  fx_pointwise_ahead<%s, %d, %d>(%s<%s>", f->engine, f->ahead, f->block, l->struct_name,
            index);
    else buf_printf(out, "  fx_pointwise<%s, %s%s>(%s<%s>", f->engine, aligned, threads, l->struct_name, index);
    put_fields(out, l, is_read, f);
    if (f->takes_maps) buf_printf(out, ", %s", maps);
    if (s->group->contraction && (is_phase || f->takes_maps || f->piece)) {
        buf_puts(out, ", ");
        put_product(out, c, l, &s->gemm.batch);
    }
    if (s->chain && (f->takes_maps || f->piece))
        buf_printf(out, ", %s", s->has_flags ? l->buffer_names[plan_flags_buffer(c)] : "nullptr");
    buf_puts(out, ");\n");
}

/* The call of a driver that computes two chains together. */
static void emit_twins(struct buf *out, const struct scheduled_graph *c, const struct launch *phases,
    const bool *const *is_read, int e) {
    const struct chain *x = phases->kernel->chain;
    const struct config *f = &phases->kernel->configs[e];
    buf_printf(out, "  fx_chain_wgmma_twin<%s, %d, %d, %d>(%s", f->engine, x->twin_sum, x->twin_columns[0],
        x->twin_columns[1], phases->struct_name);
    put_fields(out, phases, is_read[0], f);
    buf_printf(out, ", %s", phases[1].struct_name);
    put_fields(out, &phases[1], is_read[1], f);
    buf_puts(out, ", maps.of, ");
    put_product(out, c, phases, &phases->kernel->gemm.batch);
    buf_printf(out, ", %s);\n", phases->buffer_names[plan_flags_buffer(c)]);
}

/* What keeps phase i from running into the ones before it, and why; takes_maps: it or a later one does, which may then
 * read what is written here without waiting again. */
static void emit_wait(
    struct buf *out, const struct scheduled_graph *c, const struct launch *phases, int i, bool takes_maps) {
    const struct group *before = phases[i - 1].kernel->group;
    const bool uses_shared = before->contraction || before->is_row || group_halves(c->partition, before);
    if (!phases[i].kernel->waits && !uses_shared) return;
    if (takes_maps) buf_puts(out, "  fx_tma_publish_all();  // memory, for the boxes behind\n");
    if (!phases[i].kernel->waits) {
        buf_puts(out, "  fx_barrier();  // everyone in the block is done with its shared memory\n");
        return;
    }
    buf_printf(out, "  fx_grid_barrier(%s);  // ", phases->buffer_names[plan_flags_buffer(c)]);
    int n = 0;
    for (int k = i; k > 0 && !(k < i && phases[k].kernel->waits); k--) {
        before = phases[k - 1].kernel->group;
        if (phases[k - 1].kernel->parts)
            buf_printf(out, "%s%s", n++ ? ", " : "",
                phases->buffer_names[c->partition->n_buffers + phases[k - 1].kernel->partial]);
        for (int s = 0; s < before->n_stores; s++)
            if (before->stores[s].buffer >= 0)
                buf_printf(out, "%s%s", n++ ? ", " : "", phases->buffer_names[before->stores[s].buffer]);
    }
    buf_printf(out, "%s whole from here on\n", n > 1 ? " are" : n ? " is" : "what is written in place is");
}

/* An argument of an entry: memory is const where no phase writes it. What the statements do not read, such as an extent
 * that only the grid is made of, has its name in a comment. */
static void emit_parameter(struct buf *out, const struct scheduled_graph *c, const struct launch *phases, int n,
    const struct fx_arg *a, const char *statements) {
    const struct launch *owner = phases;
    const char *name = emit_argument(phases, a);
    struct buf s;
    if (a->kind == FX_ARG_BUFFER && a->index == plan_flags_buffer(c)) {
        buf_printf(out, emit_has_word(statements, name) ? "unsigned long long *%s" : "unsigned long long * /* %s */", name);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < phases[i].kernel->group->n_stores; k++) {
            const struct store *to = &phases[i].kernel->group->stores[k];
            if ((a->kind == FX_ARG_BUFFER && to->buffer == a->index) ||
                (a->kind == FX_ARG_PARAM && to->param == a->index))
                owner = &phases[i];
        }
    buf_init(&s, out->arena);
    emit_declaration(&s, c, owner, a);
    if (emit_has_word(statements, name)) buf_puts(out, s.s);
    else buf_printf(out, "%.*s/* %s */", (int)(s.len - strlen(name)), s.s, name);
}

/* "FX_KNOWN(M_, 0, N_);": the extents that an entry takes, in order, 0 for those that it does not read; "" where it
 * reads none. A launcher that knows them has them compiled in. */
static const char *known_extents(
    struct arena *a, const struct launch *phases, const struct plan_launch *d, const char *statements) {
    struct buf s;
    int n = 0, n_read = 0;
    buf_init(&s, a);
    buf_puts(&s, "  FX_KNOWN(");
    for (int i = 0; i < d->n_args; i++) {
        const char *name = emit_argument(phases, &d->args[i]);
        if (d->args[i].kind != FX_ARG_EXTENT) continue;
        const bool is_read = emit_has_word(statements, name);
        buf_printf(&s, "%s%s", n++ ? ", " : "", is_read ? name : "0");
        n_read += is_read;
    }
    buf_puts(&s, ");\n");
    return n_read ? s.s : "";
}

static void emit_entry(struct buf *out, const struct scheduled_graph *c, const struct launch *phases,
    const bool *const *is_read, const struct plan_launch *d, int e) {
    const struct config *f = &phases->kernel->configs[e];
    struct buf statements;
    buf_init(&statements, out->arena);
    const bool is_beside = phases->n_beside && (f->takes_maps || f->is_skinny);
    const bool is_twin = d->is_twin && f->takes_maps;
    if (is_beside) emit_beside(&statements, c, phases, is_read, d, e);
    if (is_twin) emit_twins(&statements, c, phases, is_read, e);
    for (int i = 0; !is_beside && !is_twin && i < d->n; i++) {
        if (i) emit_wait(&statements, c, phases, i, launch_takes_maps(&phases[i], d->n - i, e));
        emit_call(&statements, c, &phases[i], is_read[i], &phases[i].kernel->configs[e], d->n > 1,
            maps_of(out->arena, phases, d, i));
    }
    const char *known = known_extents(out->arena, phases, d, statements.s);
    buf_printf(out, "#if !defined(FX_ONLY) || FX_ONLY == %d\n", d->entries[e].number);
    buf_printf(out, "extern \"C\" __global__ void __launch_bounds__(%d, %d)\n%s(", f->block, f->min_blocks,
        d->entries[e].name);
    for (int a = 0; a < d->n_args; a++) {
        buf_puts(out, a ? ", " : "");
        emit_parameter(out, c, phases, d->n, &d->args[a], statements.s);
    }
    if (launch_takes_maps(phases, d->n, e))
        buf_printf(out, ", const __grid_constant__ fx_tensor_maps<%d> maps", d->n_maps);
    buf_printf(out, ") {\n%s%s}\n#endif\n\n", known, statements.s);
}

/* ---- the header: how to launch what follows ---- */

static void put_tensor(struct buf *out, const struct fx_kernel *k, const struct fx_param *p) {
    buf_printf(out, "%s: %s%s", p->name, p->is_input && p->is_output ? "inout " : "", fx_dtype_name(p->dtype));
    if (p->is_scalar) return;
    buf_putc(out, '[');
    for (int i = 0; i < p->rank; i++) {
        const struct fx_extent *e = &k->extents[p->extents[i]];
        buf_printf(out, "%s%s", i ? "," : "", e->name);
        if (e->value >= 0) buf_printf(out, "=%lld", (long long)e->value);
    }
    buf_putc(out, ']');
    if (p->is_strided) buf_puts(out, " strided");
    if (p->align) buf_printf(out, " align %d", p->align);
}

/* ---- what entries need: conditions that the same entries have are said once, under a number ---- */

struct condition {
    const char *text;
    bool *is_of; /* by variant */
    int number;  /* of those of the same variants; 0: none, it is said with each */
};

struct conditions {
    struct condition *of;
    int n, n_numbers;
};

static void add_condition(struct conditions *c, struct arena *a, const char *text, int variant, int n_variants) {
    int at = 0;
    while (at < c->n && strcmp(c->of[at].text, text) != 0) at++;
    if (at == c->n) PUSH(a, c->of, c->n) = (struct condition){text, NEW_ARRAY(a, bool, n_variants), 0};
    c->of[at].is_of[variant] = true;
}

/* Adds those that the variant's `needs` joins by `&&`. */
static void add_conditions(
    struct conditions *c, struct arena *a, const struct fx_kernel *k, const struct fx_launch *l, int v) {
    const struct fx_expr *e = &l->variants[v].needs;
    struct buf text;
    int depth = 0;
    if (e->n == 0) return;
    buf_init(&text, a);
    plan_print_expr(&text, k, e);
    char *from = text.s;
    for (char *at = from; *at && e->terms[e->n - 1].op == FX_T_AND; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth || strncmp(at, " && ", 4) != 0) continue;
        *at = 0;
        add_condition(c, a, from, v, l->n_variants);
        from = at + 4;
    }
    add_condition(c, a, from, v, l->n_variants);
}

/* Two or more that two or more variants have alike get a number. */
static void number_conditions(struct conditions *c, int n_variants) {
    for (int i = 0; i < c->n; i++) {
        int n_of = 0, n_alike = 0;
        for (int v = 0; v < n_variants; v++) n_of += c->of[i].is_of[v];
        for (int j = i; j < c->n; j++) n_alike += memcmp(c->of[i].is_of, c->of[j].is_of, (size_t)n_variants) == 0;
        if (c->of[i].number || n_of < 2 || n_alike < 2) continue;
        c->n_numbers++;
        for (int j = i; j < c->n; j++)
            if (memcmp(c->of[i].is_of, c->of[j].is_of, (size_t)n_variants) == 0) c->of[j].number = c->n_numbers;
    }
}

static void put_numbered(struct buf *out, const struct conditions *c) {
    for (int number = 1; number <= c->n_numbers; number++) {
        const char *between = "";
        buf_printf(out, "//     [%d]: ", number);
        for (int i = 0; i < c->n; i++) {
            if (c->of[i].number != number) continue;
            buf_printf(out, "%s%s", between, c->of[i].text);
            between = " && ";
        }
        buf_putc(out, '\n');
    }
}

static void put_needs(struct buf *out, const struct conditions *c, int variant) {
    const char *between = "//       needs ";
    int said = 0; /* numbers stand in the order of the conditions */
    for (int i = 0; i < c->n; i++) {
        if (!c->of[i].is_of[variant] || (c->of[i].number && c->of[i].number <= said)) continue;
        if (c->of[i].number) buf_printf(out, "%s[%d]", between, said = c->of[i].number);
        else buf_printf(out, "%s%s", between, c->of[i].text);
        between = " && ";
    }
    buf_puts(out, *between == '/' ? "//       needs nothing\n" : "\n");
}

static void put_launch(struct buf *out, const struct fx_kernel *k, const struct fx_partition *p, int i) {
    const struct fx_launch *l = &k->launches[p->first_launch + i];
    struct conditions needs = {0};
    if (p->n_launches > 1) buf_printf(out, "//   launch %d of %d:", i + 1, p->n_launches);
    else buf_puts(out, "//   launch");
    if (l->is_cooperative) buf_puts(out, " (cooperative: all blocks resident at once; fewer may be launched)");
    buf_puts(out, " one of these, with arguments (");
    for (int a = 0; a < l->n_args; a++)
        buf_printf(out, "%s%s", a ? ", " : "", plan_arg_name(out->arena, k, &l->args[a]));
    buf_puts(out, "), tensors row-major, extents");
    bool has_strides = l->n_args && l->args[l->n_args - 1].kind == FX_ARG_STRIDE; /* they stand last */
    buf_puts(out, has_strides ? " and strides (of axes of one element 0) as long long\n" : " as long long\n");
    for (int m = 0; m < l->n_maps; m++) {
        buf_printf(out, "//     tensor map %d: ", m);
        plan_print_map(out, k, &l->maps[m]);
        buf_puts(out, ", swizzled in 128 bytes\n");
    }
    for (int v = 0; v < l->n_variants; v++) add_conditions(&needs, out->arena, k, l, v);
    number_conditions(&needs, l->n_variants);
    put_numbered(out, &needs);
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *e = &l->variants[v];
        buf_printf(out, "//     %s: block %d, %s%sgrid ", e->entry, e->block,
            e->takes_maps ? "the tensor maps as one more argument, " : "",
            e->starts_early ? "programmatic dependent launch where wanted, " : "");
        plan_print_expr(out, k, &e->grid);
        if (e->cluster.n) {
            buf_puts(out, ", clusters of ");
            plan_print_expr(out, k, &e->cluster);
        }
        buf_puts(out, ", dynamic shared memory ");
        plan_print_expr(out, k, &e->smem);
        buf_putc(out, '\n');
        put_needs(out, &needs, v);
    }
}

/* Of several partitions, where each is the faster one: any of them computes the kernel. */
static void put_partition(struct buf *out, const struct fx_kernel *k, int number) {
    const struct fx_partition p = fx_get_partition(k, number);
    if (k->n_partitions > 1 && number + 1 == k->n_partitions) buf_puts(out, "//   elsewhere:\n");
    else if (k->n_partitions > 1) {
        buf_puts(out, number ? "//   else where " : "//   where ");
        plan_print_where(out, k, &p.takes);
        buf_puts(out, ":\n");
    }
    for (int i = p.first_buffer; i < p.first_buffer + p.n_buffers; i++) {
        if (!k->buffers[i].bytes.n) continue; /* a parameter holds it */
        buf_printf(out, "//   workspace %s: ", k->buffers[i].name);
        plan_print_expr(out, k, &k->buffers[i].bytes);
        buf_printf(out, " bytes, 256-byte aligned%s\n",
            k->buffers[i].kind == FX_BUFFER_FLAGS ? "; flags: of any contents" : "");
    }
    for (int i = 0; i < p.n_launches; i++) put_launch(out, k, &p, i);
}

static void put_contract(struct buf *out, const struct fx_kernel *k) {
    buf_printf(out, "//\n// kernel %s(", k->name);
    bool is_out = false;
    for (int i = 0; i < k->n_params; i++) {
        bool first_out = !k->params[i].is_input && !is_out;
        buf_puts(out, first_out ? ") -> (" : i ? ", " : "");
        is_out |= first_out;
        put_tensor(out, k, &k->params[i]);
    }
    buf_puts(out, ")\n");
    for (int q = 0; q < k->n_equations; q++) {
        const struct fx_extent *e = &k->extents[k->equations[q].extent];
        if (!e->is_made || e->value >= 0) continue;
        buf_printf(out, "//   %s = ", e->name);
        plan_print_expr(out, k, &k->equations[q].value);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < fx_partition_count(k); i++) put_partition(out, k, i);
}

/* The spec's file name without its folders, in characters that can stand in a comment. */
static const char *plain_name(struct arena *a, const char *file) {
    const char *slash = strrchr(file, '/');
    char *name = arena_printf(a, "%s", slash ? slash + 1 : file);
    for (char *s = name; *s; s++)
        if (!is_word_byte(*s) && *s != '.' && *s != '-') *s = '_';
    return name;
}

/* The structs and entries of a kernel, launch by launch. */
static void emit_kernel(struct buf *out, const struct unit *u, int i) {
    const struct scheduled_graph *c = u->kernels[i];
    const bool **is_read = NEW_ARRAY(out->arena, const bool *, c->n_kernels + 1);
    for (int j = 0; j < c->n_launches; j++) {
        const struct plan_launch *d = &u->joined[i][j];
        const struct launch *phases = u->launches[i] + d->first;
        for (int p = d->first; p < d->first + d->n; p++) {
            if (u->launches[i][p].kernel->pass) { /* that of the pass before */
                is_read[p] = is_read[p - 1];
                continue;
            }
            is_read[p] = emit_problem(out, u, c, &u->launches[i][p]);
            buf_putc(out, '\n');
        }
        for (int e = 0; e < phases->kernel->n_configs; e++) emit_entry(out, c, phases, is_read + d->first, d, e);
    }
}

void emit_cu(struct buf *out, const struct unit *u, const struct fx_plan *plan) {
    struct arena *a = &u->cx->arena;
    const char *file = plain_name(a, u->file);
    struct buf generated;
    buf_init(&generated, a);
    for (int i = 0; i < u->n_kernels; i++) emit_kernel(&generated, u, i);
    buf_printf(out, "// Written by fxc %s from %s for %s. Self-contained: compile with nvcc or NVRTC, no headers.\n",
        FX_VERSION, file, u->cx->arch->name);
    buf_puts(out,
        "// How to launch (cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; more than 48 KB of shared memory needs the\n"
        "// kernel's maximum raised). Of several entries take the first that its needs allow, or the one that suits the extents best;\n"
        "// [1] among them stands for the conditions listed so.\n");
    for (int i = 0; i < plan->n_kernels; i++) put_contract(out, &plan->kernels[i]);
    buf_putc(out, '\n');
    emit_pieces(out, generated.s, generated.len);
    buf_printf(out, "// ==== generated from %s ====\n\n", file);
    buf_put(out, generated.s, generated.len ? generated.len - 1 : 0);
}
