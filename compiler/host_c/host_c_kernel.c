/* The part of a C launcher about one kernel of a plan, whoever loads it: the size of the workspace, refusals, the
 * choice of variants, tensor maps, the launches.
 *
 * In: a plan, nothing else. Out: text that is C99 and C++17. Of the spec only re-encoded identifiers and numbers reach
 * it. At launch it computes expressions of the plan (host_c_expr.c). host_c.c and aot.c assemble the files. */
#include <limits.h>
#include <string.h>

#include "host_c/host_c.h"
#include "symbolic/plan_expr.h"

enum { DEFAULT_SHARED = 48 * 1024 }; /* bytes of dynamic shared memory a kernel has without asking */

bool host_c_is_known(const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++)
        if (e->terms[i].op > FX_T_CONST && e->terms[i].op <= FX_T_LAST_LEAF) return false;
    return true;
}

/* What the equation that gives extent e says; 0 where none does. */
static const char *made_extent(struct host_writer *w, int e) {
    for (int q = 0; q < w->k->n_equations; q++)
        if (w->k->equations[q].extent == e) return host_c_value(w, &w->k->equations[q].value);
    return "0";
}

/* A refusal when some extent is out of range; nothing where the spec fixes them all. Then those that no caller gives.
 */
static void put_extent_check(struct host_writer *w, const char *result) {
    int n = 0;
    for (int i = 0; i < w->k->n_extents; i++) {
        if (!host_c_is_given(&w->k->extents[i])) continue;
        put_c(w, "%s!%s(%s)", n++ ? " || " : "    if (", host_c_call(w, "fx_is_extent"), w->extents[i]);
    }
    if (n) put_c(w, ") return %s;\n", result);
    for (int i = 0; i < w->k->n_extents; i++) {
        if (w->k->extents[i].value >= 0 || !w->k->extents[i].is_made) continue;
        put_c(w, "    long long %s = %s;\n", w->extents[i], made_extent(w, i));
        put_c(w, "    if (!%s(%s)) return %s;\n", host_c_call(w, "fx_is_extent"), w->extents[i], result);
    }
}

static bool is_kept(const struct fx_kernel *k, int buffer) { return k->buffers[buffer].kind == FX_BUFFER_CONST; }

static bool keeps_any(const struct fx_kernel *k, const struct fx_partition *p) {
    for (int i = p->first_buffer; i < p->first_buffer + p->n_buffers; i++)
        if (is_kept(k, i)) return true;
    return false;
}

/* The size of each buffer of a partition, 0 of those that lie elsewhere, and where it lies; `bytes` is that of all. */
static void put_places(struct host_writer *w, const struct fx_partition *p, bool are_kept) {
    const struct fx_kernel *k = w->k;
    const char *of = are_kept ? "kept_" : "";
    put_c(w, "    const int64_t %ssizes[] = {\n", of);
    w->is_any_alignment = true;
    for (int i = p->first_buffer; i < p->first_buffer + p->n_buffers; i++)
        put_c(w, "        %s, /* %s */\n", is_kept(k, i) == are_kept ? host_c_value(w, &k->buffers[i].bytes) : "0",
            w->buffers[i]);
    w->is_any_alignment = false;
    put_c(w, "    };\n    size_t %soffsets[%d];\n    const size_t %sbytes = %s(%ssizes, %d, %soffsets);\n", of,
        p->n_buffers, of, host_c_call(w, "fx_place"), of, p->n_buffers, of);
}

/* Where the buffers of a partition lie in the workspace, those that are kept behind the others where it has any. */
static void put_layout(struct host_writer *w, const struct fx_partition *p) {
    if (w->run != HOST_ONCE) put_places(w, p, false);
    if (!keeps_any(w->k, p)) return;
    put_places(w, p, true);
    if (w->run == HOST_ALL)
        put_c(w, "    const size_t all_bytes = bytes == SIZE_MAX || kept_bytes > SIZE_MAX - 1 - bytes ? SIZE_MAX : "
                 "bytes + kept_bytes;\n");
}

/* What the layout says the workspace takes. */
static const char *workspace_bytes(const struct host_writer *w, const struct fx_partition *p) {
    return w->run == HOST_ALL && keeps_any(w->k, p) ? "all_bytes" : "bytes";
}

/* "&& (..)": some variant of l fits, as fx_choose_partition has it; nothing where one always does. */
static void put_fits(struct host_writer *w, const struct fx_launch *l) {
    const char **needs = NEW_ARRAY(w->arena, const char *, l->n_variants + 1);
    int n = 0, n_called = w->n_called;
    for (int v = 0; v < l->n_variants; v++) {
        const char *text = host_c_condition(w, &l->variants[v].needs);
        bool is_said = false;
        for (int i = 0; i < n; i++) is_said |= strcmp(needs[i], text) == 0;
        if (strcmp(text, "true") == 0) {
            w->n_called = n_called; /* what the others call is not said */
            return;
        }
        if (!is_said) needs[n++] = text;
    }
    for (int i = 0; i < n; i++) put_c(w, i ? "\n        || (%s)" : "\n        && ((%s)", needs[i]);
    if (n) put_c(w, ")");
}

/* What is done where partition `number` is taken stands between this and close_partition, and ends in a return: of
 * several the first whose condition holds is met. */
static struct fx_partition open_partition(struct host_writer *w, int number) {
    const struct fx_partition p = fx_get_partition(w->k, number);
    w->is_any_alignment = true;
    if (number + 1 < w->k->n_partitions) {
        put_c(w, "    if (%s", host_c_conjunct(w, &p.takes));
        for (int i = p.first_launch; i < p.first_launch + p.n_launches; i++) put_fits(w, &w->k->launches[i]);
        put_c(w, ") { /* %s */\n", p.name);
    }
    w->is_any_alignment = false;
    return p;
}

static void close_partition(struct host_writer *w, int number) {
    if (number + 1 < w->k->n_partitions) put_c(w, "    }\n");
}

/* Whether a buffer's size depends on the device. */
bool host_c_sizes_use_device(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_buffers; i++)
        if (expr_has(&k->buffers[i].bytes, FX_T_SM_COUNT, 0)) return true;
    for (int i = 0; k->n_buffers && i < k->n_partitions; i++)
        if (expr_has(&k->partitions[i].takes, FX_T_SM_COUNT, 0)) return true;
    return false;
}

void host_c_put_bytes(struct host_writer *w) {
    put_extent_check(w, "SIZE_MAX");
    for (int i = w->k->n_buffers ? 0 : fx_partition_count(w->k) - 1; i < fx_partition_count(w->k); i++) {
        const struct fx_partition p = w->k->n_buffers ? open_partition(w, i) : (struct fx_partition){0};
        if (p.n_buffers) put_layout(w, &p);
        if (p.n_buffers && w->run == HOST_KEPT && keeps_any(w->k, &p)) put_c(w, "    (void)kept_bytes;\n");
        put_c(w, "    return %s;\n", p.n_buffers ? workspace_bytes(w, &p) : "0");
        close_partition(w, i);
    }
    put_c(w, "}\n\n");
}

int host_c_shared(const struct fx_variant *f) {
    static const struct fx_env nothing; /* what is known needs none */
    int64_t bytes = 0;
    if (!host_c_is_known(&f->smem)) return -1;
    if (!fx_expr_eval(&f->smem, &nothing, &bytes) || bytes <= DEFAULT_SHARED) return 0;
    return bytes < INT_MAX ? (int)bytes : INT_MAX;
}

/* Where the device is known at the launch alone, one that asks for more shared memory than it has is not right there.
 */
static const char *shared_need(struct host_writer *w, const struct fx_variant *f) {
    int bytes = w->is_ahead ? host_c_shared(f) : 0;
    return bytes > 0 ? arena_printf(w->arena, "%d <= m->max_shared && ", bytes) : "";
}

/* The variants of launch i with what they come to for these arguments, and the choice. */
static void put_choice(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    put_c(w, "    const struct fx_choice variants%d[] = {\n", i);
    for (int v = 0; v < l->n_variants; v++) {
        const struct fx_variant *f = &l->variants[v];
        const char *early = f->starts_early ? w->early : "false";
        put_c(w, "        {/* %s */\n", f->entry);
        const char *fits = shared_need(w, f), *needs = host_c_condition(w, &f->needs);
        put_c(w, *fits ? "         %s(%s), /* needs */\n" : "         %s%s, /* needs */\n", fits, needs);
        put_c(w, "         %s, /* prefers */\n", host_c_condition(w, &f->prefers));
        if (f->cost.n) put_c(w, "         true, %d, %s, /* its kind and cost */\n", f->kind, host_c_value(w, &f->cost));
        else put_c(w, "         false, %d, 0, /* its kind; it has no cost */\n", f->kind);
        put_c(w, "         %s, /* grid */\n", host_c_value(w, &f->grid));
        put_c(w, "         %s, /* bytes of shared memory */\n", host_c_value(w, &f->smem));
        put_c(w, "         %s, %d, %s, %s, %s}, /* cluster and block; takes_maps, starts_early, spills */\n",
            f->cluster.n ? host_c_value(w, &f->cluster) : "1", f->block, f->takes_maps ? "true" : "false", early,
            w->compiled && fx_is_passed_over(l, v, &w->compiled[f->number]) ? "true" : "false");
    }
    put_c(w, "    };\n    if (!%s(variants%d, %d, %s%d, &ready[%d])) return CUDA_ERROR_INVALID_VALUE;\n",
        host_c_call(w, "fx_choose"), i, l->n_variants, w->entries, i, i);
}

static const char *argument_name(const struct host_writer *w, const struct fx_arg *a) {
    const char *const *names[] = {[FX_ARG_PARAM] = w->params,
        [FX_ARG_BUFFER] = w->buffers,
        [FX_ARG_EXTENT] = w->extents,
        [FX_ARG_STRIDE] = w->strides};
    return names[a->kind][a->index];
}

/* Where the pixels of a map in im2col mode are; zeros of any other. */
static void put_corners(struct host_writer *w, const struct fx_map *m) {
    int n = m->is_im2col ? m->rank - 2 : 0;
    put_c(w, ", {%s", n ? "" : "0");
    for (int d = 0; d < n; d++) put_c(w, "%s%s", d ? ", " : "", host_c_value(w, &m->first[d]));
    put_c(w, "}, {%s", n ? "" : "0");
    for (int d = 0; d < n; d++) put_c(w, "%s%s", d ? ", " : "", host_c_value(w, &m->last[d]));
    put_c(w, "}, {%s", n ? "" : "0");
    for (int d = 0; d < n; d++) put_c(w, "%s%d", d ? ", " : "", m->steps[d]);
    put_c(w, "}");
}

/* The tensor maps of launch i, as `maps`. */
static void put_maps(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    put_c(w, "        const struct fx_tensor_box maps_of[] = {\n");
    for (int j = 0; j < l->n_maps; j++) {
        const struct fx_map *m = &l->maps[j];
        put_c(w, "            {%s, CU_TENSOR_MAP_DATA_TYPE_%s, %d, %d, %s, {", argument_name(w, &m->base),
            m->dtype == FX_F16    ? "FLOAT16"
            : m->dtype == FX_BF16 ? "BFLOAT16"
            : m->dtype == FX_U32  ? "UINT32"
            : fx_dtype_bits(m->dtype) == 8 ? "UINT8"
            : m->is_stored        ? "FLOAT32"
                                  : "TFLOAT32",
            fx_dtype_bits(m->dtype) / 8, m->rank, host_c_value(w, &m->offset));
        for (int d = 0; d < m->rank; d++) put_c(w, "%s%s", d ? ", " : "", host_c_value(w, &m->extents[d]));
        put_c(w, "}, {");
        for (int d = 0; d < m->rank; d++) put_c(w, "%s%s", d ? ", " : "", host_c_value(w, &m->strides[d]));
        put_c(w, "}, {");
        for (int d = 0; d < m->rank; d++) put_c(w, "%s%d", d ? ", " : "", m->box[d]);
        put_c(w, "}, %s, %s", m->is_tail ? "true" : "false", m->is_im2col ? "true" : "false");
        put_corners(w, m);
        put_c(w, "},\n");
    }
    put_c(w, "        };\n");
    if (w->is_ahead) /* its own CUtensorMap is not aligned as the driver wants it */
        put_c(w, "        uint64_t room[16 * %d + 8];\n        CUtensorMap *const maps = %s(room);\n", l->n_maps,
            host_c_call(w, "fx_maps_in"));
    else put_c(w, "        CUtensorMap maps[%d];\n", l->n_maps);
    put_c(w, "        if (ready[%d].grid && ready[%d].takes_maps) r = %s(maps_of, %d, maps);\n", i, i,
        host_c_call(w, "fx_encode"), l->n_maps);
}

static void put_start(struct host_writer *w, int i) {
    const struct fx_launch *l = &w->k->launches[i];
    bool has_clusters = false;
    for (int v = 0; v < l->n_variants; v++) has_clusters |= l->variants[v].cluster.n > 0;
    put_c(w, "    if (r == CUDA_SUCCESS) {\n");
    if (l->n_maps) put_maps(w, i);
    put_c(w, "        void *args[] = {");
    for (int a = 0; a < l->n_args; a++) put_c(w, "%s&%s", a ? ", " : "", argument_name(w, &l->args[a]));
    put_c(w, "%s};\n        %sr = %s(&ready[%d], %sstream, args);\n    }\n",
        l->n_maps   ? ", maps"
        : l->n_args ? ""
                    : "NULL",
        l->n_maps ? "if (r == CUDA_SUCCESS) " : "",
        host_c_call(w, l->is_cooperative ? "fx_start_resident"
                       : has_clusters && !w->instead ? "fx_start_clusters"
                                         : "fx_start"),
        i, l->is_cooperative ? "m->sm_count, " : "");
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
        if (w->run == HOST_ONCE && !p->is_const) continue;
        for (int j = 0; p->is_strided && j < p->rank; j++) {
            const char *stride = w->strides[fx_stride_index(i, j)];
            put_c(w, "    if (%s == 1", axis_length(w, p, j));
            for (int axis = 0; axis < p->rank; axis++) put_c(w, " || %s == 0", axis_length(w, p, axis));
            put_c(w, ") %s = 0;\n    (void)%s;\n", stride, stride);
        }
    }
}

/* Whether every launch has a way to run. */
static bool is_launchable(const struct fx_kernel *k) {
    for (int i = 0; i < k->n_launches; i++)
        if (k->launches[i].n_variants == 0) return false;
    return k->n_launches > 0;
}

/* Whether launch i is one that is written now. */
static bool runs(const struct host_writer *w, int i) {
    return w->run == HOST_ALL || w->k->launches[i].is_once == (w->run == HOST_ONCE);
}

/* Whether launches of p take it. */
static bool is_argument_of(
    const struct host_writer *w, const struct fx_partition *p, enum fx_arg_kind kind, int index) {
    const struct fx_kernel *k = w->k;
    for (int i = p->first_launch; is_launchable(k) && i < p->first_launch + p->n_launches; i++)
        for (int a = 0; runs(w, i) && a < k->launches[i].n_args; a++)
            if (k->launches[i].args[a].kind == kind && k->launches[i].args[a].index == index) return true;
    return false;
}

static bool is_argument(const struct host_writer *w, enum fx_arg_kind kind, int index) {
    const struct fx_partition all = fx_get_partition(w->k, -1);
    return is_argument_of(w, &all, kind, index);
}

/* Refuses tensors that are not aligned to their elements, or as the spec promises: what every variant takes for
 * granted. */
static void put_alignment_check(struct host_writer *w) {
    int n = 0;
    for (int i = 0; i < w->k->n_params; i++) {
        const struct fx_param *p = &w->k->params[i];
        int bytes = fx_dtype_bits(fx_argument_dtype(p)) / 8;
        if (bytes < p->align) bytes = p->align;
        if (p->is_scalar || bytes <= 1 || (w->run == HOST_ONCE && !p->is_const)) continue;
        put_c(w, "%s%s %% %d != 0", n++ ? " || " : "    if (", w->params[i], bytes);
    }
    if (n) put_c(w, ") return CUDA_ERROR_INVALID_VALUE;\n");
}

/* Refusals where a `require` does not hold. */
static void put_checks(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    bool has_ok = false;
    for (int i = 0; i < k->n_checks; i++) {
        const struct fx_expr *e = &k->checks[i].holds;
        if (e->n && !expr_is_on_scalars(e))
            put_c(w, "    if (!(%s)) return CUDA_ERROR_INVALID_VALUE;\n", host_c_condition(w, e));
        if (!expr_is_on_scalars(e)) continue;
        put_c(w, "%s    if (!%s || !ok) return CUDA_ERROR_INVALID_VALUE;\n", has_ok ? "" : "    bool ok = true;\n",
            host_c_condition_on_scalars(w, e));
        has_ok = true;
    }
}

/* Where the buffers of a partition are. */
static void put_buffers(struct host_writer *w, const struct fx_partition *p) {
    const bool keeps = keeps_any(w->k, p);
    int number = 0;
    if (!p->n_buffers || (w->run == HOST_ONCE && !keeps)) return;
    put_layout(w, p);
    const char *bytes = workspace_bytes(w, p);
    if (w->run != HOST_ONCE)
        put_c(w, "    if (%s == SIZE_MAX || (%s != 0 && (workspace == 0 || workspace %% 256 != 0))) "
                 "return CUDA_ERROR_INVALID_VALUE;\n", bytes, bytes);
    while (number + 1 < w->k->n_partitions && w->k->partitions[number].first_launch != p->first_launch) number++;
    if (keeps && w->run != HOST_ALL) {
        put_c(w, "    const CUdeviceptr kept = %s + ", w->run == HOST_ONCE ? "memory" : "constants->memory");
        if (number) {
            put_c(w, "%s_const_below(m, %d", w->form, number);
            host_c_put_given_extents(w);
            put_c(w, ");\n    (void)kept_bytes;\n");
        } else {
            put_c(w, "0;\n    (void)kept_bytes;\n");
        }
    }
    if (keeps && w->run == HOST_ALL) put_c(w, "    const CUdeviceptr kept = workspace + bytes;\n");
    for (int i = p->first_buffer; i < p->first_buffer + p->n_buffers; i++)
        if (is_argument_of(w, p, FX_ARG_BUFFER, i))
            put_c(w, is_kept(w->k, i) ? "    CUdeviceptr %s = kept + kept_offsets[%d];\n"
                                      : "    CUdeviceptr %s = workspace + offsets[%d];\n",
                w->buffers[i], i - p->first_buffer);
}

/* Refusals that concern the arguments alone, and what the launches take besides them. */
static void put_arguments(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put_extent_check(w, "CUDA_ERROR_INVALID_VALUE");
    put_alignment_check(w);
    for (int i = 0; i < k->n_params; i++)
        if (!is_argument(w, FX_ARG_PARAM, i) && (w->run != HOST_ONCE || k->params[i].is_const))
            put_c(w, "    (void)%s;\n", w->params[i]);
    put_strides(w);
    if (w->run != HOST_ONCE) put_checks(w);
    for (int i = 0; i < k->n_extents; i++)
        if (k->extents[i].value >= 0 && is_argument(w, FX_ARG_EXTENT, i))
            put_c(w, "    long long %s = %lld;\n", w->extents[i], (long long)k->extents[i].value);
    if (!k->n_buffers && w->run != HOST_ONCE) put_c(w, "    (void)workspace;\n");
}

void host_c_put_launch(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put_arguments(w);
    if (w->run == HOST_KEPT) host_c_put_constants_check(w);
    if (!is_launchable(k)) {
        for (int i = 0; i < fx_partition_count(k); i++) {
            const struct fx_partition p = open_partition(w, i);
            put_buffers(w, &p);
            close_partition(w, i);
        }
        put_c(w, "    (void)m, (void)stream;\n    return %s;\n}\n\n",
            k->n_launches ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_SUCCESS");
        return;
    }
    if (w->is_ahead) put_c(w, "    (void)m;\n");
    for (int i = 0; i < fx_partition_count(k); i++) {
        const struct fx_partition p = open_partition(w, i);
        const int end = p.first_launch + p.n_launches;
        put_buffers(w, &p);
        put_c(w, "    struct fx_ready ready[%d];\n", end);
        for (int l = p.first_launch; l < end; l++)
            if (runs(w, l)) put_choice(w, l);
        put_c(w, "    CUresult r = CUDA_SUCCESS;\n");
        for (int l = p.first_launch; l < end; l++)
            if (runs(w, l)) put_start(w, l);
        put_c(w, "    return r;\n");
        close_partition(w, i);
    }
    put_c(w, "}\n\n");
}

void host_c_put_kept_bytes(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    put_extent_check(w, "SIZE_MAX");
    put_c(w, "    size_t all = 0;\n    (void)m;\n");
    for (int i = 0; i < fx_partition_count(k); i++) {
        const struct fx_partition p = fx_get_partition(k, i);
        if (!keeps_any(k, &p)) continue;
        put_c(w, "    if (partition > %d) {\n", i);
        put_places(w, &p, true);
        put_c(w, "    if (kept_bytes == SIZE_MAX || kept_bytes > SIZE_MAX - 1 - all) return SIZE_MAX;\n"
                 "    all += kept_bytes;\n    }\n");
    }
    put_c(w, "    return all;\n}\n\n");
}

void host_c_put_once(struct host_writer *w) {
    const struct fx_kernel *k = w->k;
    w->run = HOST_ONCE;
    put_arguments(w);
    put_c(w, "    (void)m;\n    CUresult r = CUDA_SUCCESS;\n    const size_t n_bytes = %s_const_below(m, %d", w->form,
        fx_partition_count(k));
    host_c_put_given_extents(w);
    put_c(w, ");\n    if (!constants || n_bytes == SIZE_MAX || (n_bytes != 0 && (memory == 0 || memory %% 256 != 0))) "
             "return CUDA_ERROR_INVALID_VALUE;\n");
    for (int i = 0; i < fx_partition_count(k); i++) {
        const struct fx_partition p = fx_get_partition(k, i);
        const int end = p.first_launch + p.n_launches;
        if (!keeps_any(k, &p)) continue;
        put_c(w, "    {\n");
        put_buffers(w, &p);
        put_c(w, "    struct fx_ready ready[%d];\n", end);
        for (int l = p.first_launch; l < end; l++)
            if (runs(w, l)) put_choice(w, l);
        for (int l = p.first_launch; l < end; l++)
            if (runs(w, l)) put_start(w, l);
        put_c(w, "    }\n");
    }
    w->run = HOST_ALL;
}
