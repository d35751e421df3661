/* Writes the `.cu`: the launch contract (emit_contract.c), the required pieces of compiler/kernels (emit_pieces.c),
 * then the problem struct and the entries of every GPU kernel.
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
            : s->gemm.is_whole ? (f->splits_k ? "gemm_parts_cluster" : "gemm_parts")
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
            f->is_turned ? "_turned" : f->is_skewed ? "_skewed" : "", f->engine, l->struct_name, index);
    else if (group_halves(c->partition, s->group) && f->ahead)
        buf_printf(out, "  fx_halve<%d>(%s<%s>", f->ahead, l->struct_name, index);
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
    else if (f->at_once)
        buf_printf(out, "  fx_pointwise_rows<%s, %d%s>(%s<%s>", f->engine, f->at_once, threads, l->struct_name, index);
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

/* ---- the file ---- */

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
    emit_contract(out, plan);
    buf_putc(out, '\n');
    emit_pieces(out, generated.s, generated.len);
    buf_printf(out, "// ==== generated from %s ====\n\n", file);
    buf_put(out, generated.s, generated.len ? generated.len - 1 : 0);
}
