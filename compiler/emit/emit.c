/* Writes the `.cu`: the launch contract, the pieces of compiler/kernels it needs and no others, then for every GPU kernel
 * its problem struct and its entries. The only writer of CUDA text besides emit_body.c. */
#include "emit/emit.h"

#include <ctype.h>
#include <string.h>

#include "fx.h"
#include "base/names.h"

/* ---- names ---- */

/* An identifier of the spec as one of the emitted file. */
static const char *encoded(struct arena *a, struct name n) { return arena_printf(a, "%s_", name_encoded(a, n)); }

struct kernel_names {
    const char **params, **buffers, **axes;
    const char **strides; /* by fx_stride_index: of strided parameters */
};

/* An entry sees these beside the struct of its launch: `scope` has the structs already. */
static struct kernel_names name_kernel(struct arena *a, const struct chosen *c, struct identifiers scope) {
    const struct kernel *k = c->graph->kernel;
    struct kernel_names n = {NEW_ARRAY(a, const char *, k->n_params + 1), NEW_ARRAY(a, const char *, c->partition->n_buffers + c->n_partials + 2),
                             NEW_ARRAY(a, const char *, k->n_axes + 1), NEW_ARRAY(a, const char *, fx_stride_index(k->n_params, 0) + 1)};
    for (int i = 0; i < k->n_params; i++) n.params[i] = identifiers_take(&scope, encoded(a, k->params[i].ast->name));
    for (int i = 0; i < k->n_axes; i++) n.axes[i] = identifiers_take(&scope, encoded(a, k->axes[i].name));
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].n_axes; j++)
            n.strides[fx_stride_index(i, j)] = identifiers_take(&scope, arena_printf(a, "%sstride_%s", n.params[i], n.axes[k->params[i].axes[j]]));
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        bool is_input = b->value->kind == N_INPUT;
        struct name name = is_input ? k->params[b->value->param].ast->name : b->value->name;
        n.buffers[i] = identifiers_take(&scope, name.len ? arena_printf(a, "%s_%s_", name_encoded(a, name), fx_dtype_name(b->dtype)) : arena_printf(a, "buffer%d_", i));
    }
    for (int i = 0; i < c->n_partials; i++) n.buffers[c->partition->n_buffers + i] = identifiers_take(&scope, arena_printf(a, "partial%d_", i));
    n.buffers[plan_flags_buffer(c)] = identifiers_take(&scope, "flags_");
    return n;
}

static bool uses_tensor(const struct launch *l, int param, int buffer) {
    for (int i = 0; i < l->n_loads; i++)
        if (l->loads[i].param == param && l->loads[i].buffer == buffer) return true;
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
static void join_args(struct arena *a, const struct chosen *c, const struct launch *phases, struct joined *d) {
    const int most[] = {[FX_ARG_PARAM] = c->graph->kernel->n_params, [FX_ARG_BUFFER] = plan_flags_buffer(c) + 1, [FX_ARG_EXTENT] = c->graph->kernel->n_axes,
                        [FX_ARG_STRIDE] = fx_stride_index(c->graph->kernel->n_params, 0)};
    bool waits = false;
    for (int i = 0; i < d->n; i++) waits |= phases[i].kernel->waits;
    for (enum fx_arg_kind kind = FX_ARG_PARAM; kind <= FX_ARG_STRIDE; kind++)
        for (int index = 0; index < most[kind]; index++) {
            bool is_taken_by_any = kind == FX_ARG_BUFFER && index == plan_flags_buffer(c) && waits;
            for (int i = 0; i < d->n; i++)
                for (int k = 0; k < phases[i].n_args; k++) is_taken_by_any |= phases[i].args[k].kind == kind && phases[i].args[k].index == index;
            if (is_taken_by_any) PUSH(a, d->args, d->n_args) = (struct fx_arg){kind, index};
        }
}

static void choose_args(const struct unit *u, const struct chosen *c, struct launch *l) {
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
        if (!touched.buffers[i] && !uses_tensor(l, -1, i)) continue;
        add_arg(a, l, FX_ARG_BUFFER, i);
        for (int j = 0; j < c->partition->buffers[i].n_axes; j++) extent_used[c->partition->buffers[i].axes[j]] = true;
    }
    if (l->kernel->parts) add_arg(a, l, FX_ARG_BUFFER, c->partition->n_buffers + l->kernel->partial);
    for (int i = 0; i < k->n_axes; i++)
        if ((extent_used[i] |= touched.axes[i]) && k->axes[i].extent < 0) add_arg(a, l, FX_ARG_EXTENT, i);
    for (int i = 0, n = l->n_args; i < n; i++) {
        const struct fx_arg arg = l->args[i];
        const struct param *p = arg.kind == FX_ARG_PARAM ? &k->params[arg.index] : NULL;
        for (int j = 0; p && p->is_strided && j < p->n_axes; j++)
            if (k->axes[p->axes[j]].extent != 1) add_arg(a, l, FX_ARG_STRIDE, fx_stride_index(arg.index, j)); /* of one element no address needs it */
    }
}

/* What the plan or the runtime could not hold. */
static void check_limits(struct cx *cx, const struct chosen *c) {
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
        if (limits[i].n > limits[i].most)
            diag_error(cx, k->ast->name_span, D_TOO_BIG, "%s has %d %s, more than %d", k->name, limits[i].n, limits[i].what, limits[i].most);
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        double n = kernel_elements(k, b->axes, b->n_axes);
        if (!(n > (double)FX_MAX_ELEMENTS)) continue;
        diag_error(cx, b->span, D_BAD_EXTENT, "a value of %.3g elements is written to memory, more than the 2^48 that a tensor may have", n);
        diag_fix(cx, "make an extent smaller; why it is written: %s", b->why);
    }
}

/* The entries of one launch and what they take. */
static void name_entries(struct cx *cx, struct chosen *c, struct launch *phases, struct joint j, const char *base, struct identifiers *scope, int *number, struct joined *out) {
    struct arena *a = &cx->arena;
    struct scheduled *s = &c->kernels[j.first];
    if (j.n == 1) plan_drop_impossible(cx, c, phases, s);
    if (!s->n_configs)
        diag_error(cx, s->group->stores[0].value->span, D_NO_SCHEDULE,
                   "no configuration of schedule %s takes these extents: a flattened axis of a contraction stays below 2^31", s->schedule->name);
    const char *walk = s->parts && j.n == 1 ? arena_printf(a, "walk%d", s->walk) : "";
    *out = (struct joined){.first = j.first, .n = j.n, .entries = NEW_ARRAY(a, struct entry, s->n_configs + 1)};
    out->name = j.n > 1 && c->n_launches == 1 ? base : arena_printf(a, "%s%s", phases->struct_name, walk);
    const char *stem = j.n > 1 ? out->name : phases->struct_name;
    const struct scheduled *named = &c->kernels[phases_leader(c, j)];
    for (int e = 0; e < s->n_configs; e++)
        out->entries[e] = (struct entry){identifiers_take(scope, arena_printf(a, "fx_%s%s%s%s", stem, named->configs[e].suffix, *walk ? "_" : "", walk)), (*number)++};
    join_args(a, c, phases, out);
}

struct unit *emit_unit(struct cx *cx, const char *file, struct chosen **kernels, int n_kernels) {
    struct arena *a = &cx->arena;
    struct unit *u = NEW(a, struct unit);
    struct identifiers scope = {.arena = a};
    int number = 0;
    *u = (struct unit){cx, file, n_kernels, kernels, NEW_ARRAY(a, struct launch *, n_kernels + 1), NEW_ARRAY(a, struct joined *, n_kernels + 1)};
    for (int i = 0; i < n_kernels; i++) {
        struct chosen *c = kernels[i];
        check_limits(cx, c);
        struct identifiers structs = {.arena = a};
        const char *base = encoded(a, c->graph->kernel->ast->name);
        u->launches[i] = NEW_ARRAY(a, struct launch, c->n_kernels + 1);
        for (int j = 0; j < c->n_kernels; j++)
            u->launches[i][j].struct_name = c->kernels[j].walk ? u->launches[i][j - 1].struct_name : identifiers_take(&structs, identifiers_take(&scope, c->n_kernels > 1 ? arena_printf(a, "%s%d_", base, j) : base));
        struct kernel_names names = name_kernel(a, c, structs);
        for (int j = 0; j < c->n_kernels; j++) {
            struct launch *l = &u->launches[i][j];
            l->kernel = &c->kernels[j];
            l->param_names = names.params, l->buffer_names = names.buffers, l->axis_names = names.axes, l->stride_names = names.strides;
            l->loads = NEW_ARRAY(a, struct tensor, c->graph->n_nodes + 1);
            l->n_loads = group_loads(c->graph, c->partition, l->kernel->group, l->loads, c->graph->n_nodes);
            choose_args(u, c, l);
        }
        u->joined[i] = NEW_ARRAY(a, struct joined, c->n_launches + 1);
        for (int j = 0; j < c->n_launches; j++) name_entries(cx, c, u->launches[i] + c->launches[j].first, c->launches[j], base, &scope, &number, &u->joined[i][j]);
    }
    return u;
}

/* ---- the pieces of compiler/kernels ---- */

#define PIECE(name, title) extern const char fx_text_##name[], fx_text_##name##_end[];
#include "kernels/pieces.def"
#undef PIECE

struct piece { /* one item of a .cuh file: from `// name: ..` to the next */
    const char *text;
    size_t len;
    struct name names[8]; /* what it defines */
    int n_names, file;
    bool is_used;
};

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Reads `// fx_a, fx_b: ` at s into the names it lists; 0 if s begins no item. */
static int item_names(const char *s, const char *end, struct name *names, int max) {
    int n = 0;
    if (end - s < 6 || memcmp(s, "// ", 3) != 0 || (memcmp(s + 3, "fx_", 3) != 0 && memcmp(s + 3, "FX_", 3) != 0)) return 0;
    for (s += 3; s < end && n < max;) {
        const char *first = s;
        while (s < end && is_word(*s)) s++;
        if (s == first) return 0;
        names[n++] = (struct name){first, (uint32_t)(s - first)};
        if (s < end && *s == ':') return n;
        if (end - s < 2 || memcmp(s, ", ", 2) != 0) return 0;
        s += 2;
    }
    return 0;
}

static void split_items(struct arena *a, const char *s, const char *end, int file, struct piece **pieces, int *n) {
    struct piece *open = NULL;
    for (const char *line = s; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        struct name names[8];
        int n_names = item_names(line, next, names, 8);
        if (n_names) {
            struct piece *p = &PUSH(a, *pieces, *n);
            *p = (struct piece){.text = line, .n_names = n_names, .file = file};
            memcpy(p->names, names, sizeof names);
        }
        open = *n ? &(*pieces)[*n - 1] : NULL;
        if (open && open->file == file) open->len = (size_t)(next - open->text);
        line = next;
    }
    for (int i = 0; i < *n; i++)
        while ((*pieces)[i].len && (*pieces)[i].text[(*pieces)[i].len - 1] == '\n') (*pieces)[i].len--;
}

/* Marks every item whose name stands in the text, comments apart, and what those need in turn. */
static void mark_used(const char *s, size_t len, struct piece *pieces, int n) {
    const char *end = s + len;
    while (s < end) {
        if (s[0] == '/' && s + 1 < end && s[1] == '/') {
            while (s < end && *s != '\n') s++;
        } else if (is_word(*s)) {
            const char *first = s;
            while (s < end && is_word(*s)) s++;
            struct name word = {first, (uint32_t)(s - first)};
            if (word.len < 4 || (memcmp(first, "fx_", 3) != 0 && memcmp(first, "FX_", 3) != 0)) continue;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < pieces[i].n_names && !pieces[i].is_used; j++)
                    if (name_eq(pieces[i].names[j], word)) {
                        pieces[i].is_used = true;
                        mark_used(pieces[i].text, pieces[i].len, pieces, n);
                    }
        } else {
            s++;
        }
    }
}

static void put_pieces(struct buf *out, struct arena *a, const struct buf *generated) {
    static const struct {
        const char *title, *text, *end;
    } files[] = {
#define PIECE(name, title) {title, fx_text_##name, fx_text_##name##_end},
#include "kernels/pieces.def"
#undef PIECE
    };
    enum { N_FILES = sizeof files / sizeof *files };
    struct piece *pieces = NULL;
    int n = 0;
    for (int f = 0; f < N_FILES; f++) split_items(a, files[f].text, files[f].end, f, &pieces, &n);
    mark_used(generated->s, generated->len, pieces, n);
    for (int f = 0; f < N_FILES; f++) {
        bool any = false;
        for (int i = 0; i < n; i++) {
            if (pieces[i].file != f || !pieces[i].is_used) continue;
            if (!any) buf_printf(out, "// ---- %s ----\n%s\n", files[f].title, f == 0 ? "#ifndef FX_PTX\n" : "");
            any = true;
            buf_put(out, pieces[i].text, pieces[i].len);
            buf_puts(out, "\n\n");
        }
        if (any && f == 0) buf_puts(out, "#endif  // FX_PTX\n\n");
    }
}

/* ---- entries ---- */

static const char *arg_name(const struct launch *l, const struct fx_arg *arg) {
    const char *const *names[] = {[FX_ARG_PARAM] = l->param_names, [FX_ARG_BUFFER] = l->buffer_names, [FX_ARG_EXTENT] = l->axis_names, [FX_ARG_STRIDE] = l->stride_names};
    return names[arg->kind][arg->index];
}

/* The extents of a super-axis multiplied: "B_ * 16". */
static void put_product(struct buf *out, const struct chosen *c, const struct launch *l, const struct axis_list *axes) {
    if (axes->n == 0) buf_puts(out, "1");
    for (int i = 0; i < axes->n; i++) {
        int64_t fixed = c->graph->kernel->axes[axes->axes[i]].extent;
        if (i) buf_puts(out, " * ");
        if (fixed >= 0) buf_printf(out, i ? "%lld" : "%lldll", (long long)fixed);
        else buf_puts(out, l->axis_names[axes->axes[i]]);
    }
}

/* The call of the driver: the whole of an entry, or one of its phases. */
static void emit_call(struct buf *out, const struct chosen *c, const struct launch *l, const struct config *f, bool is_phase) {
    const struct scheduled *s = l->kernel;
    const char *index = f->is_small ? "int" : "long long", *aligned = f->is_aligned ? "true" : "false";
    const char *threads = f->block != 256 ? arena_printf(out->arena, ", %d", f->block) : "";
    if (s->group->contraction) buf_printf(out, "  fx_%s%s<%s, %s>(%s{", s->chain ? "chain" : "gemm", is_phase ? "_tiles" : "", f->engine, aligned, l->struct_name);
    else if (s->parts) buf_printf(out, "  fx_row_part<%d, %d, %s>(%s<%s>{", s->walk, s->parts, f->engine, l->struct_name, index);
    else if (s->group->is_row) buf_printf(out, "  fx_row<%s>(%s<%s>{", f->engine, l->struct_name, index);
    else buf_printf(out, "  fx_pointwise<%s, %s%s>(%s<%s>{", f->engine, aligned, threads, l->struct_name, index);
    for (int a = 0; a < l->n_args; a++) {
        bool is_index = l->args[a].kind == FX_ARG_EXTENT && f->is_small && is_space_axis(l, l->args[a].index);
        buf_printf(out, "%s%s%s", a ? ", " : "", is_index ? "(int)" : "", arg_name(l, &l->args[a]));
    }
    buf_puts(out, "}");
    if (s->group->contraction && is_phase) {
        buf_puts(out, ", ");
        put_product(out, c, l, &s->gemm.batch);
    }
    buf_puts(out, ");\n");
}

/* What keeps phase i from running into the ones before it, and why. */
static void emit_wait(struct buf *out, const struct chosen *c, const struct launch *phases, int i) {
    const struct group *before = phases[i - 1].kernel->group;
    if (!phases[i].kernel->waits) {
        buf_puts(out, "  fx_barrier();  // everyone in the block is done with its shared memory\n");
        return;
    }
    buf_printf(out, "  fx_grid_barrier(%s);  // ", phases->buffer_names[plan_flags_buffer(c)]);
    int n = 0;
    for (int k = i; k > 0 && !(k < i && phases[k].kernel->waits); k--) {
        before = phases[k - 1].kernel->group;
        if (phases[k - 1].kernel->parts) buf_printf(out, "%s%s", n++ ? ", " : "", phases->buffer_names[c->partition->n_buffers + phases[k - 1].kernel->partial]);
        for (int s = 0; s < before->n_stores; s++)
            if (before->stores[s].buffer >= 0) buf_printf(out, "%s%s", n++ ? ", " : "", phases->buffer_names[before->stores[s].buffer]);
    }
    buf_printf(out, "%s whole from here on\n", n > 1 ? " are" : n ? " is" : "what is written in place is");
}

/* Arguments of an entry: memory is const where no phase writes it. */
static void emit_parameter(struct buf *out, const struct chosen *c, const struct launch *phases, int n, const struct fx_arg *a) {
    const struct launch *owner = phases;
    if (a->kind == FX_ARG_BUFFER && a->index == plan_flags_buffer(c)) {
        buf_printf(out, "unsigned long long *%s", phases->buffer_names[a->index]);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int s = 0; s < phases[i].kernel->group->n_stores; s++) {
            const struct store *to = &phases[i].kernel->group->stores[s];
            if ((a->kind == FX_ARG_BUFFER && to->buffer == a->index) || (a->kind == FX_ARG_PARAM && to->param == a->index)) owner = &phases[i];
        }
    emit_declaration(out, c, owner, a);
}

static void emit_entry(struct buf *out, const struct chosen *c, const struct launch *phases, const struct joined *d, int e) {
    const struct config *f = &phases->kernel->configs[e];
    buf_printf(out, "#if !defined(FX_ONLY) || FX_ONLY == %d\n", d->entries[e].number);
    buf_printf(out, "extern \"C\" __global__ void __launch_bounds__(%d, %d)\n%s(", f->block, f->min_blocks, d->entries[e].name);
    for (int a = 0; a < d->n_args; a++) {
        buf_puts(out, a ? ", " : "");
        emit_parameter(out, c, phases, d->n, &d->args[a]);
    }
    buf_puts(out, ") {\n");
    for (int i = 0; i < d->n; i++) {
        if (i) emit_wait(out, c, phases, i);
        emit_call(out, c, &phases[i], &phases[i].kernel->configs[e], d->n > 1);
    }
    buf_puts(out, "}\n#endif\n\n");
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
    for (int i = 0; i < k->n_buffers; i++) {
        buf_printf(out, "//   workspace %s: ", k->buffers[i].name);
        plan_print_expr(out, k, &k->buffers[i].bytes);
        buf_printf(out, " bytes, 256-byte aligned%s\n", k->buffers[i].kind == FX_BUFFER_FLAGS ? "; flags: of any contents" : "");
    }
    for (int i = 0; i < k->n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        if (k->n_launches > 1) buf_printf(out, "//   launch %d of %d:", i + 1, k->n_launches);
        else buf_puts(out, "//   launch");
        if (l->is_cooperative) buf_puts(out, " (cooperative: all blocks resident at once; fewer may be launched)");
        buf_puts(out, " one of these, with arguments (");
        for (int a = 0; a < l->n_args; a++) buf_printf(out, "%s%s", a ? ", " : "", plan_arg_name(out->arena, k, &l->args[a]));
        buf_puts(out, "), tensors row-major, extents");
        bool has_strides = l->n_args && l->args[l->n_args - 1].kind == FX_ARG_STRIDE; /* they stand last */
        buf_puts(out, has_strides ? " and strides (of axes of one element 0) as long long\n" : " as long long\n");
        for (int v = 0; v < l->n_variants; v++) {
            const struct fx_variant *e = &l->variants[v];
            buf_printf(out, "//     %s: block %d, grid ", e->entry, e->block);
            plan_print_expr(out, k, &e->grid);
            buf_puts(out, ", dynamic shared memory ");
            plan_print_expr(out, k, &e->smem);
            buf_puts(out, "\n//       needs ");
            plan_print_expr(out, k, &e->needs);
            buf_puts(out, "\n");
        }
    }
}

/* The spec's file name without its folders, in characters that can stand in a comment. */
static const char *plain_name(struct arena *a, const char *file) {
    const char *slash = strrchr(file, '/');
    char *name = arena_printf(a, "%s", slash ? slash + 1 : file);
    for (char *s = name; *s; s++)
        if (!is_word(*s) && *s != '.' && *s != '-') *s = '_';
    return name;
}

void emit_cu(struct buf *out, const struct unit *u, const struct fx_plan *plan) {
    struct arena *a = &u->cx->arena;
    const char *file = plain_name(a, u->file);
    struct buf generated;
    buf_init(&generated, a);
    for (int i = 0; i < u->n_kernels; i++)
        for (int j = 0; j < u->kernels[i]->n_launches; j++) {
            const struct joined *d = &u->joined[i][j];
            const struct launch *phases = u->launches[i] + d->first;
            for (int p = 0; p < d->n; p++) {
                if (phases[p].kernel->walk) continue; /* that of the walk before */
                emit_problem(&generated, u, u->kernels[i], &phases[p]);
                buf_putc(&generated, '\n');
            }
            for (int e = 0; e < phases->kernel->n_configs; e++) emit_entry(&generated, u->kernels[i], phases, d, e);
        }
    buf_printf(out, "// Written by fxc %s from %s for %s. Self-contained: compile with nvcc or NVRTC, no headers.\n", FX_VERSION, file, u->cx->arch);
    buf_puts(out, "// How to launch (cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; more than 48 KB of shared memory needs the\n"
                  "// kernel's maximum raised). Of several entries take the first that its needs allow, or the one that suits the extents best.\n");
    for (int i = 0; i < plan->n_kernels; i++) put_contract(out, &plan->kernels[i]);
    buf_putc(out, '\n');
    put_pieces(out, a, &generated);
    buf_printf(out, "// ==== generated from %s ====\n\n", file);
    buf_put(out, generated.s, generated.len ? generated.len - 1 : 0);
}
