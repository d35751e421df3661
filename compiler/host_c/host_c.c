/* A C launcher (--emit=host-c): one self-contained file that loads and launches every kernel of a plan through the CUDA
 * driver API, for programs that link neither compiler nor runtime; and the header that declares it (--emit=host-h).
 *
 * In: a plan, nothing else. Out: C11 text that is C++ too; of the spec only re-encoded identifiers and numbers reach
 * it. What it computes at launch are expressions of the plan (host_c_expr.c). */
#include <limits.h>
#include <string.h>

#include "base/names.h"
#include "host_c/host_c.h"
#include "seam/print.h"
#include "symbolic/plan_expr.h"

enum { DEFAULT_SHARED = 48 * 1024 }; /* bytes of dynamic shared memory a kernel has without asking */

static void put(struct host_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct host_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(w->out, fmt, ap);
    va_end(ap);
}

/* ---- names ---- */

/* Without the underscore that an argument ends in. */
static const char *encoded(struct arena *a, const char *name) {
    return name_encoded(a, (struct name){name, (uint32_t)strlen(name)});
}

/* `a_` of {"a"}, `a_stride_b_` of {"a", "b"}: the trailing underscore keeps arguments apart from keywords, macros and
 * what this file names itself. */
static const char *take_argument(struct identifiers *s, const char *name, const char *stride_of) {
    const char *base = encoded(s->arena, name);
    return identifiers_take(s, stride_of ? arena_printf(s->arena, "%s_stride_%s_", base, encoded(s->arena, stride_of))
                                         : arena_printf(s->arena, "%s_", base));
}

/* The emitter's own name of a buffer, encoded already; any other bytes become a name too. */
static const char *buffer_name(struct arena *a, const char *name) {
    size_t len = strlen(name);
    char *word = arena_printf(a, "%s%s", *name ? name : "buffer", len && name[len - 1] == '_' ? "" : "_");
    for (char *c = word; *c; c++)
        if (!is_word_byte(*c)) *c = 'x';
    return word;
}

static void name_arguments(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    struct identifiers scope = {.arena = w->arena};
    w->params = NEW_ARRAY(w->arena, const char *, k->n_params + 1);
    w->buffers = NEW_ARRAY(w->arena, const char *, k->n_buffers + 1);
    w->extents = NEW_ARRAY(w->arena, const char *, k->n_extents + 1);
    w->strides = NEW_ARRAY(w->arena, const char *, fx_stride_index(k->n_params, 0) + 1);
    for (int i = 0; i < k->n_params; i++) w->params[i] = take_argument(&scope, k->params[i].name, NULL);
    for (int i = 0; i < k->n_extents; i++) w->extents[i] = take_argument(&scope, k->extents[i].name, NULL);
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            w->strides[fx_stride_index(i, j)] = take_argument(
                &scope, k->params[i].name, k->extents[k->params[i].extents[j]].name);
    for (int i = 0; i < k->n_buffers; i++)
        w->buffers[i] = identifiers_take(&scope, buffer_name(w->arena, k->buffers[i].name));
}

/* ---- the fixed text: launcher.h ---- */

extern const char fx_text_launcher[];

static const char mark[] = "/* ==== functions ==== */\n\n", includes[] = "#include ";

const char *host_c_call(struct host_writer *w, const char *function) {
    for (int i = 0; i < w->n_called; i++)
        if (strcmp(w->called[i], function) == 0) return function;
    PUSH(w->arena, w->called, w->n_called) = function;
    return function;
}

/* Includes and types. */
static void put_types(struct buf *out) {
    const char *from = strstr(fx_text_launcher, includes);
    buf_put(out, from, (size_t)(strstr(from, mark) - from));
}

/* Whether the paragraph defines the function: its name stands before the first parenthesis of the line that begins with
 * `static`. */
static bool defines(const char *paragraph, const char *function) {
    const char *line = strncmp(paragraph, "static", 6) == 0 ? paragraph : strstr(paragraph, "\nstatic") + 1;
    size_t n = strlen(function);
    const char *end = strchr(line, '(');
    return (size_t)(end - line) > n && end[-(long)n - 1] == ' ' && strncmp(end - n, function, n) == 0;
}

/* The functions called, in their order there. */
static void put_functions(struct buf *out, const struct host_writer *w) {
    for (const char *at = strstr(fx_text_launcher, mark) + sizeof mark - 1, *end; *at; at = end) {
        end = strstr(at, "\n\n");
        end = end ? end + 2 : at + strlen(at);
        for (int i = 0; i < w->n_called; i++)
            if (defines(at, w->called[i])) buf_printf(out, "%.*s%s", (int)(end - at), at, *end ? "" : "\n");
    }
}

/* ---- a kernel ---- */

static const char *scalar_type(enum fx_dtype t) {
    static const char *const types[3][4] = {
        {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
        {"int8_t", "int16_t", "int32_t", "int64_t"},
        {"uint8_t", "uint16_t", "float", "double"},
    };
    enum fx_dtype_class class = fx_dtype_class_of(t);
    int bits = fx_dtype_bits(t);
    if (class == FX_CLASS_B) return "bool";
    return types[class == FX_CLASS_U   ? 0
                 : class == FX_CLASS_S ? 1
                                       : 2][bits == 64   ? 3
                                            : bits == 32 ? 2
                                            : bits == 16 ? 1
                                                         : 0];
}

static void put_shape(struct host_writer *w, const struct fx_param *p) {
    if (p->is_scalar && p->has_value) put(w, " = %.9g", p->value);
    if (p->is_scalar) return;
    put(w, "[");
    for (int i = 0; i < p->rank; i++) {
        const struct fx_extent *e = &w->k->extents[p->extents[i]];
        put(w, "%s%s", i ? "," : "", w->extents[p->extents[i]]);
        if (e->value >= 0) put(w, "=%lld", (long long)e->value);
    }
    put(w, p->is_strided ? "] strided" : "]");
}

static void put_title(struct host_writer *w, const char *name) {
    put(w, "/* ---- %s ----\n *\n", name);
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        put(w, " *   %-6s %s: %s", plan_param_role(p), w->params[i], fx_dtype_name(p->dtype));
        put_shape(w, p);
        put(w, "\n");
    }
    put(w, " */\n\n");
}

/* Declares the extents the caller gives; `sep` stands before the first. Returns how many. */
static int put_extents(struct host_writer *w, const char *sep) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++)
        if (w->k->extents[i].value < 0) put(w, "%slong long %s", n++ ? ", " : sep, w->extents[i]);
    return n;
}

static void put_module(struct host_writer *w, const char *name) {
    put(w, "struct %s_module {\n    CUmodule module;\n    int64_t sm_count;\n", name);
    for (int i = 0; i < w->k->n_launches; i++)
        if (w->k->launches[i].n_variants) put(w, "    CUfunction launch%d[%d];\n", i, w->k->launches[i].n_variants);
    put(w, "};\n");
}

/* Whether e is the same at every launch. */
static bool is_known(const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op > FX_T_CONST && e->terms[i].op <= FX_T_LAST_LEAF) return false;
    return true;
}

#define FIND "CUresult (*find)(void *user, const char *entry, CUfunction *out), void *user"

static void put_load_entries(struct host_writer *w) {
    static const struct fx_env nothing; /* what is known needs none */
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            const struct fx_variant *f = &w->k->launches[i].variants[v];
            int64_t shared = 0;
            if (is_known(&f->smem) &&
                (!fx_expr_eval(&f->smem, &nothing, &shared) || shared <= DEFAULT_SHARED))
                shared = 0;
            put(w, "    if (r == CUDA_SUCCESS) r = %s(find, user, \"%s\", %s, &m->launch%d[%d]);\n",
                host_c_call(w, "fx_entry"), f->entry,
                is_known(&f->smem) ? arena_printf(w->arena, "%d", shared < INT_MAX ? (int)shared : INT_MAX)
                                   : "max_shared",
                i, v);
        }
}

static void put_load(struct host_writer *w, const char *name) {
    bool is_sized_at_launch = false, has_entries = false;
    for (int i = 0; i < w->k->n_launches; i++)
        for (int v = 0; v < w->k->launches[i].n_variants; v++) {
            is_sized_at_launch |= !is_known(&w->k->launches[i].variants[v].smem);
            has_entries = true;
        }
    put(w, "CUresult %s_load_from(struct %s_module *m, " FIND ") {\n    CUdevice device;\n    int sm_count = 0;\n",
        name, name);
    if (is_sized_at_launch) put(w, "    int max_shared = 0;\n");
    put(w, "    m->module = NULL;\n    CUresult r = cuCtxGetDevice(&device);\n");
    put(w,
        "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);\n    m->sm_count = sm_count;\n");
    if (is_sized_at_launch)
        put(w,
            "    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&max_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);\n");
    if (has_entries) put_load_entries(w);
    else put(w, "    (void)find, (void)user;\n");
    put(w, "    return r;\n}\n\n");
    put(w,
        "CUresult %s_load(struct %s_module *m, const void *cubin) {\n    CUmodule module;\n    CUresult r = cuModuleLoadData(&module, cubin);\n",
        name, name);
    put(w,
        "    if (r != CUDA_SUCCESS) return r;\n    r = %s_load_from(m, fx_find_in, module);\n    m->module = module;\n",
        name);
    put(w, "    if (r != CUDA_SUCCESS) cuModuleUnload(module);\n    return r;\n}\n\n");
    put(w,
        "CUresult %s_unload(struct %s_module *m) { return m->module ? cuModuleUnload(m->module) : CUDA_SUCCESS; }\n\n",
        name, name);
}

/* A refusal when some extent is out of range; nothing where the spec fixes them all. */
static void put_extent_check(struct host_writer *w, const char *result) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++) {
        if (w->k->extents[i].value >= 0) continue;
        put(w, "%s!%s(%s)", n++ ? " || " : "    if (", host_c_call(w, "fx_is_extent"), w->extents[i]);
    }
    if (n) put(w, ") return %s;\n", result);
}

static bool sizes_use_device(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_buffers; i++)
        if (expr_has(&k->buffers[i].bytes, FX_T_SM_COUNT, 0)) return true;
    for (int i = 0; k->n_buffers && i < k->n_partitions; i++)
        if (expr_has(&k->partitions[i].takes, FX_T_SM_COUNT, 0)) return true;
    return false;
}

/* The size of each buffer of a partition, and where it lies in the workspace; `bytes` is that of all. */
static void put_layout(struct host_writer *w, const struct fx_partition *p) {
    const struct fx_kernel *k = w->k;
    put(w, "    const int64_t sizes[] = {\n");
    w->is_any_alignment = true;
    for (int i = p->first_buffer; i < p->first_buffer + p->n_buffers; i++)
        put(w, "        %s, /* %s */\n", host_c_value(w, &k->buffers[i].bytes), w->buffers[i]);
    w->is_any_alignment = false;
    put(w, "    };\n    size_t offsets[%d];\n    const size_t bytes = %s(sizes, %d, offsets);\n", p->n_buffers,
        host_c_call(w, "fx_place"), p->n_buffers);
}

/* What is done where partition `number` is taken stands between this and close_partition, and ends in a return: of
 * several the first whose condition holds is met. */
static struct fx_partition open_partition(struct host_writer *w, int number) {
    const struct fx_partition p = fx_get_partition(w->k, number);
    w->is_any_alignment = true;
    if (number + 1 < w->k->n_partitions) put(w, "    if (%s) { /* %s */\n", host_c_condition(w, &p.takes), p.name);
    w->is_any_alignment = false;
    return p;
}

static void close_partition(struct host_writer *w, int number) {
    if (number + 1 < w->k->n_partitions) put(w, "    }\n");
}

static void put_workspace_signature(struct host_writer *w, const char *name) {
    const char *device = sizes_use_device(w->k) ? arena_printf(w->arena, "const struct %s_module *m", name) : "";
    put(w, "size_t %s_workspace_bytes(%s", name, device);
    int n = put_extents(w, *device ? ", " : "");
    put(w, "%s)", n || *device ? "" : "void");
}

static void put_workspace(struct host_writer *w, const char *name) {
    put_workspace_signature(w, name);
    put(w, " {\n");
    put_extent_check(w, "SIZE_MAX");
    for (int i = w->k->n_buffers ? 0 : fx_partition_count(w->k) - 1; i < fx_partition_count(w->k); i++) {
        const struct fx_partition p = w->k->n_buffers ? open_partition(w, i) : (struct fx_partition){0};
        if (p.n_buffers) put_layout(w, &p);
        put(w, "    return %s;\n", p.n_buffers ? "bytes" : "0");
        close_partition(w, i);
    }
    put(w, "}\n\n");
}

/* The variants of launch i with what they come to for these arguments, and the choice. */
static void put_choice(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    put(w, "    const struct fx_choice variants%d[] = {\n", i);
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *f = &l->variants[v];
        put(w, "        {/* %s */\n", f->entry);
        put(w, "         .needs = %s,\n", host_c_condition(w, &f->needs));
        put(w, "         .prefers = %s,\n", host_c_condition(w, &f->prefers));
        if (f->cost.n)
            put(w, "         .has_cost = true, .kind = %d, .cost = %s,\n", f->kind, host_c_value(w, &f->cost));
        put(w, "         .grid = %s,\n", host_c_value(w, &f->grid));
        put(w, "         .shared = %s,\n", host_c_value(w, &f->smem));
        put(w, "         .cluster = %s, .block = %d%s%s},\n", f->cluster.n ? host_c_value(w, &f->cluster) : "1",
            f->block, f->takes_maps ? ", .takes_maps = true" : "",
            f->starts_early ? ", .starts_early = true" : "");
    }
    put(w, "    };\n    if (!%s(variants%d, %d, m->launch%d, &ready[%d])) return CUDA_ERROR_INVALID_VALUE;\n",
        host_c_call(w, "fx_choose"), i, l->n_variants, i, i);
}

static const char *argument_name(const struct host_writer *w, const struct fx_arg *a) {
    const char *const *names[] = {[FX_ARG_PARAM] = w->params,
        [FX_ARG_BUFFER] = w->buffers,
        [FX_ARG_EXTENT] = w->extents,
        [FX_ARG_STRIDE] = w->strides};
    return names[a->kind][a->index];
}

/* Where the pixels of a map in im2col mode are. */
static void put_corners(struct host_writer *w, const struct fx_map *m) {
    put(w, ", .is_im2col = true, .first = {");
    for (int d = 0; d < m->rank - 2; d++) put(w, "%s%s", d ? ", " : "", host_c_value(w, &m->first[d]));
    put(w, "}, .last = {");
    for (int d = 0; d < m->rank - 2; d++) put(w, "%s%s", d ? ", " : "", host_c_value(w, &m->last[d]));
    put(w, "}, .steps = {");
    for (int d = 0; d < m->rank - 2; d++) put(w, "%s%d", d ? ", " : "", m->steps[d]);
    put(w, "}");
}

/* The tensor maps of launch i, as `maps`. */
static void put_maps(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    put(w, "        const struct fx_tensor_box maps_of[] = {\n");
    for (int j = 0; j < l->n_maps; j++) {
        const struct fx_map *m = &l->maps[j];
        put(w, "            {.base = %s, .type = CU_TENSOR_MAP_DATA_TYPE_%s, .bytes = %d, .rank = %d, .offset = %s, .extents = {",
            argument_name(w, &m->base),
            m->dtype == FX_F16    ? "FLOAT16"
            : m->dtype == FX_BF16 ? "BFLOAT16"
            : m->dtype == FX_U32  ? "UINT32"
            : m->is_stored        ? "FLOAT32"
                                  : "TFLOAT32",
            fx_dtype_bits(m->dtype) / 8, m->rank,
            host_c_value(w, &m->offset));
        for (int d = 0; d < m->rank; d++) put(w, "%s%s", d ? ", " : "", host_c_value(w, &m->extents[d]));
        put(w, "}, .strides = {");
        for (int d = 0; d < m->rank; d++) put(w, "%s%s", d ? ", " : "", host_c_value(w, &m->strides[d]));
        put(w, "}, .box = {");
        for (int d = 0; d < m->rank; d++) put(w, "%s%d", d ? ", " : "", m->box[d]);
        put(w, m->is_tail ? "}, .is_tail = true" : "}");
        if (m->is_im2col) put_corners(w, m);
        put(w, "},\n");
    }
    put(w, "        };\n        CUtensorMap maps[%d];\n", l->n_maps);
    put(w, "        if (ready[%d].grid && ready[%d].takes_maps) r = %s(maps_of, %d, maps);\n", i, i,
        host_c_call(w, "fx_encode"), l->n_maps);
}

static void put_start(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    bool has_clusters = false;
    for (int v = 0; v < l->n_variants; v++) has_clusters |= l->variants[v].cluster.n > 0;
    put(w, "    if (r == CUDA_SUCCESS) {\n");
    if (l->n_maps) put_maps(w, i);
    put(w, "        void *args[] = {");
    for (int a = 0; a < l->n_args; a++) put(w, "%s&%s", a ? ", " : "", argument_name(w, &l->args[a]));
    put(w, "%s};\n        %sr = %s(&ready[%d], %sstream, args);\n    }\n",
        l->n_maps   ? ", maps"
        : l->n_args ? ""
                    : "NULL",
        l->n_maps ? "if (r == CUDA_SUCCESS) " : "",
        host_c_call(w, l->is_cooperative ? "fx_start_resident"
                       : has_clusters    ? "fx_start_clusters"
                                         : "fx_start"),
        i, l->is_cooperative ? "m->sm_count, " : "");
}

static void put_signature(struct host_writer *w, const char *name) {
    const struct fx_kernel *k = w->k;
    put(w, "CUresult %s_launch(const struct %s_module *m, CUstream stream", name, name);
    for (int i = 0; i < k->n_params; i++)
        put(w, ",%s%s %s", i ? " " : "\n    ", k->params[i].is_scalar ? scalar_type(k->params[i].dtype) : "CUdeviceptr",
            w->params[i]);
    put(w, ",\n    CUdeviceptr workspace");
    put_extents(w, ", ");
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_strided && j < k->params[i].rank; j++)
            put(w, ", long long %s", w->strides[fx_stride_index(i, j)]);
    put(w, ")");
}

/* Elements, or words, along an axis of a parameter. */
static const char *axis_length(struct host_writer *w, const struct fx_param *p, int axis) {
    const struct fx_extent *e = &w->k->extents[p->extents[axis]];
    const char *n = e->value >= 0 ? arena_printf(w->arena, "%lld", (long long)e->value) : w->extents[p->extents[axis]];
    return p->packed.factor && p->packed.axis == axis
               ? arena_printf(w->arena, "(%s + %d) / %d", n, p->packed.factor - 1, p->packed.factor)
               : n;
}

/* Where an axis has one element, or the tensor none, any stride will do: it is 0. */
static void put_strides(struct host_writer *w) {
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        for (int j = 0; p->is_strided && j < p->rank; j++) {
            const char *stride = w->strides[fx_stride_index(i, j)];
            put(w, "    if (%s == 1", axis_length(w, p, j));
            for (int axis = 0; axis < p->rank; axis++) put(w, " || %s == 0", axis_length(w, p, axis));
            put(w, ") %s = 0;\n    (void)%s;\n", stride, stride);
        }
    }
}

/* Whether every launch has a way to run. */
static bool is_launchable(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].n_variants == 0) return false;
    return k->n_launches > 0;
}

/* Whether launches of p take it. */
static bool is_argument_of(
    const struct fx_kernel *k, const struct fx_partition *p, enum fx_arg_kind kind, int index) {
    for (int i = p->first_launch; is_launchable(k) && i < p->first_launch + p->n_launches; i++)
        for (int a = 0; a < k->launches[i].n_args; a++)
            if (k->launches[i].args[a].kind == kind && k->launches[i].args[a].index == index) return true;
    return false;
}

static bool is_argument(const struct fx_kernel *k, enum fx_arg_kind kind, int index) {
    const struct fx_partition all = fx_get_partition(k, -1);
    return is_argument_of(k, &all, kind, index);
}

/* Refuses tensors that are not aligned to their elements, or as the spec promises: what every variant takes for
 * granted. */
static void put_alignment_check(struct host_writer *w) {
    int n = 0;
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        int bytes = fx_dtype_bits(fx_argument_dtype(p)) / 8;
        if (bytes < p->align) bytes = p->align;
        if (p->is_scalar || bytes <= 1) continue;
        put(w, "%s%s %% %d != 0", n++ ? " || " : "    if (", w->params[i], bytes);
    }
    if (n) put(w, ") return CUDA_ERROR_INVALID_VALUE;\n");
}

/* Refusals where a `require` does not hold. */
static void put_checks(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    bool has_ok = false;
    for (int i = 0; i < k->n_checks; i++) {
        const struct fx_expr *e = &k->checks[i].holds;
        if (e->n && !expr_is_on_scalars(e))
            put(w, "    if (!(%s)) return CUDA_ERROR_INVALID_VALUE;\n", host_c_condition(w, e));
        if (!expr_is_on_scalars(e)) continue;
        put(w, "%s    if (!%s || !ok) return CUDA_ERROR_INVALID_VALUE;\n", has_ok ? "" : "    bool ok = true;\n",
            host_c_condition_on_scalars(w, e));
        has_ok = true;
    }
}

/* Where the buffers of a partition are. */
static void put_buffers(struct host_writer *w, const struct fx_partition *p) {
    if (!p->n_buffers) return;
    put_layout(w, p);
    put(w,
        "    if (bytes == SIZE_MAX || (bytes != 0 && (workspace == 0 || workspace %% 256 != 0))) return CUDA_ERROR_INVALID_VALUE;\n");
    for (int i = p->first_buffer; i < p->first_buffer + p->n_buffers; i++)
        if (is_argument_of(w->k, p, FX_ARG_BUFFER, i))
            put(w, "    CUdeviceptr %s = workspace + offsets[%d];\n", w->buffers[i], i - p->first_buffer);
}

/* Refusals that concern the arguments alone, and what the launches take besides them. */
static void put_arguments(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put_extent_check(w, "CUDA_ERROR_INVALID_VALUE");
    put_alignment_check(w);
    for (int i = 0; i < k->n_params; i++)
        if (!is_argument(k, FX_ARG_PARAM, i)) put(w, "    (void)%s;\n", w->params[i]);
    put_strides(w);
    put_checks(w);
    for (int i = 0; i < k->n_extents; i++)
        if (k->extents[i].value >= 0 && is_argument(k, FX_ARG_EXTENT, i))
            put(w, "    long long %s = %lld;\n", w->extents[i], (long long)k->extents[i].value);
    if (!k->n_buffers) put(w, "    (void)workspace;\n");
}

static void put_launch(struct host_writer *w, const char *name) {
    const struct fx_kernel *k = w->k;
    put_signature(w, name);
    put(w, " {\n");
    put_arguments(w);
    if (!is_launchable(k)) {
        for (int i = 0; i < fx_partition_count(k); i++) {
            const struct fx_partition p = open_partition(w, i);
            put_buffers(w, &p);
            close_partition(w, i);
        }
        put(w, "    (void)m, (void)stream;\n    return %s;\n}\n\n",
            k->n_launches ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_SUCCESS");
        return;
    }
    for (int i = 0; i < fx_partition_count(k); i++) {
        const struct fx_partition p = open_partition(w, i);
        const int end = p.first_launch + p.n_launches;
        put_buffers(w, &p);
        put(w, "    struct fx_ready ready[%d];\n", end);
        for (int l = p.first_launch; l < end; l++) put_choice(w, l);
        put(w, "    CUresult r = CUDA_SUCCESS;\n");
        for (int l = p.first_launch; l < end; l++) put_start(w, l);
        put(w, "    return r;\n");
        close_partition(w, i);
    }
    put(w, "}\n\n");
}

static void put_kernel(struct host_writer *w, const struct fx_kernel *k, const char *name) {
    w->k = k;
    name_arguments(w);
    put_title(w, name);
    put(w, "#ifndef %s_ENTRIES /* its header is not included */\n", name);
    put_module(w, name);
    put(w, "#endif\n\n");
    put_load(w, name);
    put_workspace(w, name);
    put_launch(w, name);
}

/* What the header says of a kernel. */
static void put_declarations(struct buf *out, const struct fx_kernel *k, const char *name) {
    struct host_writer w = {.out = out, .arena = out->arena, .k = k};
    name_arguments(&w);
    put_title(&w, name);
    put_module(&w, name);
    put(&w, "\nCUresult %s_load(struct %s_module *m, const void *cubin);\n", name, name);
    put(&w, "CUresult %s_load_from(struct %s_module *m, " FIND ");\n", name, name);
    put(&w, "CUresult %s_unload(struct %s_module *m);\n", name, name);
    put_workspace_signature(&w, name);
    put(&w, ";\n");
    put_signature(&w, name);
    put(&w, ";\n#define %s_ENTRIES(X)", name);
    for (int i = 0; i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++) put(&w, " X(%s)", k->launches[i].variants[v].entry);
    put(&w, "\n\n");
}

/* ---- the files ---- */

static void put_opening(struct buf *out, const struct fx_plan *p, const char *what) {
    buf_printf(out, "/* Written by fxc %s for %s: %s\n", FX_VERSION, p->arch, what);
    buf_puts(out,
        " *\n"
        " * For each kernel NAME below, in order:\n"
        " *   NAME_load             once a context, which must be current; cubin is what `fxc --emit=cubin` makes of the same spec\n"
        " *   NAME_load_from        instead, where the kernels come from elsewhere, as when the .cu is compiled into the program: find gives each of them\n"
        " *   NAME_workspace_bytes  how much device memory NAME_launch needs besides the tensors; SIZE_MAX for impossible extents\n"
        " *   NAME_launch           enqueues the work on a stream; neither allocates nor synchronises\n"
        " *   NAME_unload           when nothing of it runs any more\n"
        " * Tensors are row-major and contiguous, of the extents given, or have the strides given, in elements; outputs share memory\n"
        " * with nothing else, and no two elements of one do. The workspace is aligned to 256 bytes and belongs to one launch at a\n"
        " * time. CUDA_ERROR_INVALID_VALUE: the arguments do not fit, and nothing was launched. A loaded module may be used from\n"
        " * several threads. */\n");
}

static void put_includes(struct buf *out) {
    buf_puts(out, "#include <cuda.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n");
}

void emit_host_c(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    struct buf kernels;
    struct host_writer w = {.out = &kernels, .arena = out->arena};
    buf_init(&kernels, out->arena);
    for (int i = 0; i < p->n_kernels; i++)
        put_kernel(&w, &p->kernels[i], identifiers_take(&scope, encoded(out->arena, p->kernels[i].name)));
    put_opening(out, p, "loads and launches its kernels through the CUDA driver API. Link with libcuda.");
    put_types(out);
    put_functions(out, &w);
    buf_put(out, kernels.s, kernels.len ? kernels.len - 1 : 0);
}

void emit_host_h(struct buf *out, const struct fx_plan *p) {
    struct identifiers scope = {.arena = out->arena};
    put_opening(out, p,
        "declares what `fxc --emit=host-c` makes of the same spec. NAME_ENTRIES(X) is X(entry) for each of its entries.");
    buf_puts(out, "#pragma once\n\n");
    put_includes(out);
    buf_puts(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (int i = 0; i < p->n_kernels; i++)
        put_declarations(out, &p->kernels[i], identifiers_take(&scope, encoded(out->arena, p->kernels[i].name)));
    buf_puts(out, "#ifdef __cplusplus\n}\n#endif\n");
}
