/* Launching. In: a prepared kernel, arguments, workspace, stream. Out: its GPU kernels enqueued, all of them checked
 * before the first. No allocation, no synchronisation, no compilation: a launch may be captured into a graph. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/tuning.h"

int stage_choose(const struct stage *s, const struct fx_launch *l, const struct fx_env *env) {
    if (s->pinned >= 0) return fx_expr_holds(&l->variants[s->pinned].needs, env) ? s->pinned : -1;
    return fx_choose_compiled(l, env, s->compiled);
}

const struct tuned_way *launch_tuned(const fx_prepared *p, const int64_t *extents) {
    return p->n_tuned && !p->is_pinned ? tuning_find(p->tuned, p->n_tuned, p->kernel, extents) : NULL;
}

int tuned_variant(const fx_prepared *p, int i, const struct fx_env *env) {
    const struct tuned_way *w = p->stages[i].pinned < 0 ? launch_tuned(p, env->extents) : NULL;
    if (!w) return -1;
    const struct fx_partition of = fx_get_partition(p->kernel, w->partition);
    if (i < of.first_launch || i >= of.first_launch + of.n_launches) return -1;
    const int v = w->variants[i - of.first_launch];
    bool can = p->stages[i].entries[v] && p->stages[i].compiled[v];
    return can && fx_expr_holds(&p->kernel->launches[i].variants[v].needs, env) ? v : -1;
}

static uint64_t mix(uint64_t key, uint64_t x) {
    key = (key ^ x) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* The choice of a launch. That of the last one is taken again where the hash of extents and alignments is the same and
 * its needs hold: right whatever the hash. */
static int choose_or_remember(const fx_prepared *p, int i, const struct fx_env *env) {
    enum { VARIANT = 255 };
    const struct fx_launch *l = &p->kernel->launches[i];
    struct stage *s = &p->stages[i];
    const int tuned = tuned_variant(p, i, env);
    if (tuned >= 0) return tuned;
    if (!s->remembers || s->pinned >= 0) return stage_choose(s, l, env);
    uint64_t key = 0xcbf29ce484222325u;
    for (int e = 0; e < p->kernel->n_extents; e++) key = mix(key, (uint64_t)env->extents[e]);
    for (int a = 0; a < p->kernel->n_params; a++)
        if (!p->kernel->params[a].is_scalar) key = mix(key, env->align[a]);
    const uint64_t last = atomic_load_explicit(&s->last, memory_order_relaxed);
    int v = (int)(last & VARIANT);
    if (last && (last ^ key) <= VARIANT && fx_expr_holds(&l->variants[v].needs, env)) return v;
    v = stage_choose(s, l, env);
    if (v >= 0) atomic_store_explicit(&s->last, (key & ~(uint64_t)VARIANT) | (unsigned)v, memory_order_relaxed);
    return v;
}

static fx_status no_variant(const fx_prepared *p, int i) {
    const struct fx_launch *l = &p->kernel->launches[i];
    if (p->stages[i].pinned >= 0)
        return error_set(FX_ERR_USAGE, "kernel %s: %s is pinned, but does not take these arguments", p->kernel->name,
                         l->variants[p->stages[i].pinned].entry);
    if (*p->hinted)
        return error_set(FX_ERR_USAGE,
            "kernel %s: no variant of %s that was compiled takes these arguments; it was prepared for %s",
            p->kernel->name, l->name, p->hinted);
    return error_set(FX_ERR_USAGE, "kernel %s: no variant of %s takes these arguments", p->kernel->name, l->name);
}

/* The entry of a variant: with the extents compiled in where it has one of these, unless that spills. */
static const struct module_entry *entry_of(const fx_prepared *p, int i, int v, const struct fx_env *env) {
    const struct module_entry *known = p->stages[i].known[v];
    const size_t n_bytes = (size_t)p->kernel->n_extents * sizeof *env->extents;
    const bool fits = known && known->function && memcmp(env->extents, p->extents, n_bytes) == 0 &&
                      !fx_is_passed_over(&p->kernel->launches[i], v, &known->resources);
    return fits ? known : p->stages[i].entries[v];
}

static fx_status make_ready(const fx_prepared *p, int i, const struct fx_env *env, struct ready *out) {
    const struct fx_launch *l = &p->kernel->launches[i];
    int64_t grid, shared, cluster = 1;
    int v = choose_or_remember(p, i, env);
    if (v < 0) return no_variant(p, i);
    const struct fx_variant *variant = &l->variants[v];
    if (!fx_expr_eval(&variant->grid, env, &grid) || grid < 0 || grid > INT_MAX)
        return error_set(FX_ERR_USAGE, "kernel %s: %s would need more than 2^31 - 1 blocks", p->kernel->name, l->name);
    if (!fx_expr_eval(&variant->smem, env, &shared) || shared < 0 || shared > p->ctx->max_shared)
        return error_set(FX_ERR_USAGE, "kernel %s: %s would need more shared memory than the %d bytes of %s",
            p->kernel->name, l->name, p->ctx->max_shared, p->ctx->name);
    if (variant->cluster.n && (!fx_expr_eval(&variant->cluster, env, &cluster) || cluster < 1 || grid % cluster))
        return error_set(FX_ERR_INTERNAL, "kernel %s: %s has no such clusters", p->kernel->name, l->name);
    const struct module_entry *e = entry_of(p, i, v, env);
    if (!e->function) return error_set(FX_ERR_INTERNAL, "kernel %s: %s is not loaded", p->kernel->name, variant->entry);
    int64_t resident = (int64_t)e->resident * p->ctx->sm_count;
    if (l->is_cooperative && grid > resident) grid = resident;
    *out = (struct ready){.takes_maps = variant->takes_maps,
        .starts_early = variant->starts_early && p->ctx->starts_early,
        .entry = grid ? e : NULL,
        .block = variant->block,
        .cluster = (int)cluster,
        .grid = (unsigned)grid,
        .shared_bytes = (unsigned)shared,
        .is_cooperative = l->is_cooperative};
    return FX_OK;
}

/* What is pinned or prepared for alone; else by the plan's rule. */
static struct fx_partition choose_partition(const fx_prepared *p, const struct fx_env *env) {
    const struct tuned_way *w = launch_tuned(p, env->extents);
    if (w && p->is_loaded[w->partition]) return fx_get_partition(p->kernel, w->partition);
    return fx_get_partition(p->kernel, p->partition >= 0 ? p->partition : fx_choose_partition(p->kernel, env));
}

/* The workspace, behind which constants end unless they are kept elsewhere. */
static bool measure(const fx_prepared *p, const struct fx_partition *taken, const struct fx_env *env,
    bool has_constants, size_t *offsets, size_t *needed) {
    size_t constants;
    if (!fx_workspace_layout(p->kernel, taken, env, offsets, needed)) return false;
    if (has_constants && fx_const_layout(p->kernel, taken, env, NULL, &constants)) *needed -= constants;
    return true;
}

static fx_status no_size(const fx_prepared *p) {
    return error_set(FX_ERR_USAGE, "kernel %s: the size of the workspace overflows", p->kernel->name);
}

static bool meets(uint64_t a, size_t n_a, uint64_t b, size_t n_b) { return n_a && n_b && a < b + n_b && b < a + n_a; }

static fx_status check_workspace(const fx_prepared *p, const fx_constants *c, const struct bound *b,
    const void *workspace, size_t n_bytes, size_t needed) {
    const struct fx_kernel *k = p->kernel;
    const uint64_t start = (uint64_t)(uintptr_t)workspace;
    if (needed == 0) return FX_OK;
    if (!workspace || n_bytes < needed)
        return error_set(FX_ERR_USAGE, "kernel %s needs %zu bytes of workspace, but %zu are given", k->name, needed,
                         workspace ? n_bytes : 0);
    if (start % 256) return error_set(FX_ERR_USAGE, "kernel %s: the workspace is not aligned to 256 bytes", k->name);
    for (int i = 0; i < k->n_params; i++)
        if (meets(b->starts[i], b->n_bytes[i], start, needed))
            return error_set(
                FX_ERR_USAGE, "kernel %s: the workspace shares memory with %s", k->name, k->params[i].name);
    if (c && meets(constants_memory(c).start, constants_memory(c).n_bytes, start, needed))
        return error_set(FX_ERR_USAGE, "kernel %s: the workspace shares memory with its constants", k->name);
    return FX_OK;
}

/* ---- tensor maps ---- */

static int map_dtype(const struct fx_map *m) {
    return m->dtype == FX_F16    ? TENSOR_MAP_F16
           : m->dtype == FX_BF16 ? TENSOR_MAP_BF16
           : m->dtype == FX_U32  ? TENSOR_MAP_U32
           : fx_dtype_bits(m->dtype) == 8 ? TENSOR_MAP_U8
           : m->is_stored        ? TENSOR_MAP_F32
                                 : TENSOR_MAP_TF32;
}

/* The corners of the box of pixels: from the tensor's own ends. */
static bool find_corners(
    const struct fx_map *m, const struct fx_env *env, const uint64_t *extents, int *lower, int *upper) {
    int64_t first, last;
    for (int i = 0; m->is_im2col && i < m->rank - 2; i++) {
        if (!fx_expr_eval(&m->first[i], env, &first) || !fx_expr_eval(&m->last[i], env, &last)) return false;
        lower[i] = (int)first, upper[i] = (int)(last - (int64_t)extents[1 + i] + 1);
    }
    return true;
}

/* A map of a tensor without elements is left as it is: nothing is copied by it. So is one of an output that lies at no
 * multiples of 16 bytes: the entries that store by it need these, others do not read it. Strides are in bytes; where an
 * axis has one element any stride will do that the driver takes. The L2 cache is let fetch 256 bytes at a time where
 * rows begin at multiples of them; else most of what it fetched would be of no use. */
static fx_status encode_map(const fx_prepared *p, const struct fx_map *m, uint64_t address, const struct fx_env *env,
    struct cuda_tensor_map *out) {
    enum { ALIGN = 16, FETCHED = 256 };
    int64_t offset, extent, stride, bytes = fx_dtype_bits(m->dtype) / 8;
    uint64_t extents[FX_MAX_MAP_RANK], strides[FX_MAX_MAP_RANK];
    unsigned box[FX_MAX_MAP_RANK], steps[FX_MAX_MAP_RANK];
    int lower[FX_MAX_SPATIAL], upper[FX_MAX_SPATIAL];
    bool is_known = fx_expr_eval(&m->offset, env, &offset), is_empty = false, is_apart = false;
    for (int i = 0; is_known && i < m->rank; i++) {
        is_known = fx_expr_eval(&m->extents[i], env, &extent) && fx_expr_eval(&m->strides[i], env, &stride);
        is_empty |= extent == 0;
        extents[i] = (uint64_t)extent;
        strides[i] = extent == 1 ? ALIGN : (uint64_t)(stride * bytes);
        is_apart |= i && strides[i] % ALIGN;
        box[i] = (unsigned)m->box[i], steps[i] = 1;
        if (i == 1 && m->is_tail && extent % box[i]) box[i] = (unsigned)(extent % box[i]);
    }
    if (!is_known || !find_corners(m, env, extents, lower, upper))
        return error_set(FX_ERR_USAGE, "kernel %s: a tensor map overflows", p->kernel->name);
    is_apart |= (address + (uint64_t)(offset * bytes)) % ALIGN != 0;
    if (is_empty || (m->is_stored && is_apart)) return FX_OK;
    for (int i = 0; m->is_im2col && i < m->rank - 2; i++) steps[1 + i] = (unsigned)m->steps[i];
    if (m->is_im2col)
        return CU(p->ctx,
            cuTensorMapEncodeIm2col(out, map_dtype(m), (unsigned)m->rank,
                (void *)(uintptr_t)(address + (uint64_t)(offset * bytes)), extents, strides + 1, lower, upper, box[0],
                box[1], steps, 0, TENSOR_MAP_SWIZZLE_128B,
                strides[1] % FETCHED ? TENSOR_MAP_L2_128B : TENSOR_MAP_L2_256B, 0));
    return CU(p->ctx,
        cuTensorMapEncodeTiled(out, map_dtype(m), (unsigned)m->rank,
            (void *)(uintptr_t)(address + (uint64_t)(offset * bytes)), extents, strides + 1, box, steps, 0,
            TENSOR_MAP_SWIZZLE_128B, strides[1] % FETCHED ? TENSOR_MAP_L2_128B : TENSOR_MAP_L2_256B, 0));
}

/* `bases` are the addresses that maps of these shapes were made of before, which are not made again; NULL: of none. */
static fx_status encode_maps(const fx_prepared *p, const struct fx_launch *l, const struct bound *b,
    const uint64_t *buffers, const struct fx_env *env, uint64_t *bases, struct cuda_tensor_map *out) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < l->n_maps; i++) {
        const struct fx_arg *base = &l->maps[i].base;
        const uint64_t address = base->kind == FX_ARG_PARAM ? b->slots[base->index] : buffers[base->index];
        if (bases && bases[i] == address && address) continue;
        if (bases) bases[i] = 0;
        out[i] = (struct cuda_tensor_map){{0}};
        status = encode_map(p, &l->maps[i], address, env, &out[i]);
        if (bases && status == FX_OK) bases[i] = address;
    }
    return status;
}

/* ---- enqueuing ---- */

static fx_status enqueue(fx_context *ctx, const struct ready *r, void **arguments, void *stream) {
    if (r->cluster <= 1 && !r->is_cooperative && !r->starts_early)
        return CU(ctx, cuLaunchKernel(r->entry->function, r->grid, 1, 1, (unsigned)r->block, 1, 1, r->shared_bytes,
                           stream, arguments, NULL));
    struct cuda_launch_attribute attributes[3];
    unsigned n = 0;
    if (r->cluster > 1)
        attributes[n++] = (struct cuda_launch_attribute){
            .id = LAUNCH_ATTRIBUTE_CLUSTER, .value.cluster = {(unsigned)r->cluster, 1, 1}};
    if (r->is_cooperative)
        attributes[n++] = (struct cuda_launch_attribute){.id = LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (r->starts_early)
        attributes[n++] = (struct cuda_launch_attribute){.id = LAUNCH_ATTRIBUTE_EARLY, .value.early = 1};
    struct cuda_launch_config config = {.grid = {r->grid, 1, 1},
        .block = {(unsigned)r->block, 1, 1},
        .shared_bytes = r->shared_bytes,
        .stream = stream,
        .attributes = attributes,
        .n_attributes = n};
    return CU(ctx, cuLaunchKernelEx(&config, r->entry->function, arguments, NULL));
}

/* What the entries are given, for an emulator that sees what they do with it. */
static int list_memory(const fx_prepared *p, const struct fx_partition *taken, enum run_which which,
    const struct fx_value *args, const struct bound *b, const struct fx_env *env, const uint64_t *buffers,
    struct launch_memory *out) {
    const struct fx_kernel *k = p->kernel;
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *param = &k->params[i];
        const DLTensor *t = args[i].tensor;
        int bits = fx_dtype_bits(fx_argument_dtype(param));
        if (param->is_scalar || !t || (which == RUN_ONCE && !param->is_const)) continue;
        out[n++] = (struct launch_memory){.name = param->name,
            .address = b->slots[i],
            .start = b->starts[i],
            .n_bytes = b->n_bytes[i],
            .is_read = param->is_input,
            .is_written = param->is_output,
            .is_tensor = true,
            .rank = t->ndim,
            .element_bytes = bits < 8 ? 1 : bits / 8,
            .shape = t->shape,
            .strides = param->is_strided ? t->strides : NULL};
    }
    for (int i = taken->first_buffer; i < taken->first_buffer + taken->n_buffers; i++) {
        int64_t n_bytes;
        const enum fx_buffer_kind kind = k->buffers[i].kind;
        const bool is_kept = kind == FX_BUFFER_CONST && which == RUN_EACH_TIME;
        if (!fx_expr_eval(&k->buffers[i].bytes, env, &n_bytes) || (which == RUN_ONCE && kind != FX_BUFFER_CONST))
            continue;
        out[n++] = (struct launch_memory){.name = k->buffers[i].name,
            .address = buffers[i],
            .start = buffers[i],
            .n_bytes = (size_t)n_bytes,
            .is_read = kind == FX_BUFFER_FLAGS || is_kept,
            .is_written = !is_kept};
    }
    return n;
}

/* What the trace says of a launch that was enqueued since `began`: how long that took the host, and what the GPU was
 * asked for. */
static void tell(uint64_t began, const fx_prepared *p, int i, const struct ready *r, const struct fx_env *env,
    const void *stream, fx_status status) {
    const struct fx_launch *l = &p->kernel->launches[i];
    char number[32];
    int64_t bytes = 0, flops = 0;
    snprintf(number, sizeof number, "%p", stream);
    (void)fx_expr_eval(&l->bytes, env, &bytes);
    (void)fx_expr_eval(&l->flops, env, &flops);
    const struct timeline_arg args[] = {
        {.key = "kernel", .text = p->kernel->name},
        {.key = "launch", .text = l->name},
        {.key = "grid", .number = r->grid},
        {.key = "block", .number = r->block},
        {.key = "shared_bytes", .number = r->shared_bytes},
        {.key = "bytes", .number = bytes},
        {.key = "flops", .number = flops},
        {.key = "stream", .text = number},
        {.key = "status", .number = status},
    };
    timeline_end(began, "enqueue", r->entry->name, args, sizeof args / sizeof *args);
}

/* The driver copies what the pointers point to before it returns. */
static fx_status enqueue_all(const fx_prepared *p, const struct fx_partition *taken, const struct ready *ready,
    struct bound *b, const struct fx_env *env, uint64_t *buffers, struct launch_memo *memo, void *stream) {
    const struct fx_kernel *k = p->kernel;
    void *arguments[FX_MAX_ARGS + 1];
    struct cuda_tensor_map own[FX_MAX_MAPS];
    fx_status status = FX_OK;
    for (int i = taken->first_launch; status == FX_OK && i < taken->first_launch + taken->n_launches; i++) {
        const struct ready *r = &ready[i - taken->first_launch];
        if (!r->entry) continue;
        uint64_t *bases = NULL;
        struct cuda_tensor_map *maps = memo && r->takes_maps ? memo_maps(memo, k, i, &bases) : own;
        int n = 0;
        for (; n < k->launches[i].n_args; n++) {
            const struct fx_arg *arg = &k->launches[i].args[n];
            arguments[n] = arg->kind == FX_ARG_PARAM    ? (void *)&b->slots[arg->index]
                           : arg->kind == FX_ARG_BUFFER ? (void *)&buffers[arg->index]
                           : arg->kind == FX_ARG_STRIDE ? (void *)&b->strides[arg->index]
                                                        : (void *)&b->extents[arg->index];
        }
        arguments[n] = maps;
        uint64_t began = timeline_begin();
        if (r->takes_maps) status = encode_maps(p, &k->launches[i], b, buffers, env, bases, maps);
        if (status == FX_OK) status = enqueue(p->ctx, r, arguments, stream);
        if (began) tell(began, p, i, r, env, stream, status);
        /* Only now: a failure met here is that of a kernel launched before. */
        if (status == FX_OK) atomic_store_explicit(&p->ctx->last, r->entry, memory_order_relaxed);
        else error_set(status, "kernel %s: cannot launch %s: %s", k->name, r->entry->name, fx_last_error());
    }
    const struct stand_in *emulator = stand_in_get();
    if (emulator && emulator->conclude) {
        fx_status written = emulator->conclude(status);
        if (status == FX_OK && written != FX_OK) status = error_set(written, "kernel %s: %s", k->name, fx_last_error());
    }
    return status;
}

/* The launches of a partition, each in its place in `ready`; those that are not of `which` get no entry. */
static fx_status make_all_ready(const fx_prepared *p, const struct fx_partition *taken, enum run_which which,
    const struct bound *b, struct ready *ready) {
    const struct fx_env env = {
        .extents = b->extents, .sm_count = p->ctx->sm_count, .align = b->align, .strides = b->strides};
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < taken->n_launches; i++) {
        const int launch = taken->first_launch + i;
        ready[i].entry = NULL;
        if (which != RUN_ALL && p->kernel->launches[launch].is_once != (which == RUN_ONCE)) continue;
        status = make_ready(p, launch, &env, &ready[i]);
    }
    return status;
}

static fx_status run_ready(const fx_prepared *p, const struct fx_partition *taken, enum run_which which,
    const struct ready *ready, const struct fx_value *args, struct bound *b, uint64_t *buffers,
    struct launch_memo *memo, void *stream) {
    struct context_scope scope;
    const struct fx_env env = {
        .extents = b->extents, .sm_count = p->ctx->sm_count, .align = b->align, .strides = b->strides};
    bool is_empty = true;
    for (int i = 0; i < taken->n_launches; i++) is_empty &= !ready[i].entry;
    if (is_empty && !atomic_load(&p->ctx->lost)) return FX_OK;
    struct launch_memory memory[FX_MAX_PARAMS + FX_MAX_BUFFERS];
    const struct stand_in *emulator = stand_in_get();
    if (emulator && emulator->announce)
        emulator->announce(memory, list_memory(p, taken, which, args, b, &env, buffers, memory));
    fx_status status = scope_enter(p->ctx, &scope);
    return status == FX_OK ? scope_leave(p->ctx, &scope, enqueue_all(p, taken, ready, b, &env, buffers, memo, stream))
                           : status;
}

fx_status launches_run(const fx_prepared *p, const struct fx_partition *taken, enum run_which which,
    const struct fx_value *args, struct bound *b, uint64_t *buffers, void *stream) {
    struct ready ready[FX_MAX_LAUNCHES];
    fx_status status = make_all_ready(p, taken, which, b, ready);
    return status == FX_OK ? run_ready(p, taken, which, ready, args, b, buffers, NULL, stream) : status;
}

/* The long way to the facts of a launch but `ready`; offsets and kept have room for those of all buffers. */
static fx_status find(const fx_prepared *p, const fx_constants *c, const struct fx_value *args, int n_args,
    struct bound *b, size_t *offsets, size_t *kept, struct launch_facts *out) {
    size_t ignored;
    fx_status status = arguments_bind(p, args, n_args, FOR_LAUNCH, b);
    if (status != FX_OK) return status;
    const struct fx_env env = {.extents = b->extents, .sm_count = p->ctx->sm_count};
    out->taken = choose_partition(p, &env);
    if (c) status = constants_check(c, &out->taken, b);
    if (status != FX_OK) return status;
    if (!measure(p, &out->taken, &env, c != NULL, offsets, &out->workspace_bytes) ||
        !fx_const_layout(p->kernel, &out->taken, &env, kept, &ignored))
        return no_size(p);
    out->offsets = offsets + out->taken.first_buffer, out->kept = kept + out->taken.first_buffer;
    return FX_OK;
}

/* Where buffers are: in the workspace, or with the constants. */
static void place_buffers(const fx_prepared *p, const fx_constants *c, const struct launch_facts *f, void *workspace,
    uint64_t *buffers) {
    for (int i = 0; i < f->taken.n_buffers; i++) {
        const int buffer = f->taken.first_buffer + i;
        buffers[buffer] = c && p->kernel->buffers[buffer].kind == FX_BUFFER_CONST
                              ? constants_address(c, &f->taken, f->kept[i])
                              : (uint64_t)(uintptr_t)workspace + f->offsets[i];
    }
}

/* c NULL: all that a launch needs it computes. */
static fx_status launch(const fx_prepared *p, const fx_constants *c, const struct fx_value *args, int n_args,
    void *workspace, size_t workspace_bytes, void *stream) {
    struct bound b;
    struct ready ready[FX_MAX_LAUNCHES];
    size_t offsets[FX_MAX_BUFFERS], kept[FX_MAX_BUFFERS];
    uint64_t buffers[FX_MAX_BUFFERS];
    struct launch_facts facts;
    struct launch_memo *memo = memo_recall(p, c != NULL, args, n_args, &b);
    const enum run_which which = c ? RUN_EACH_TIME : RUN_ALL;
    fx_status status = FX_OK;
    if (memo) {
        facts = (struct launch_facts){memo->taken, memo->ready, memo->offsets, memo->kept, memo->workspace_bytes};
        if (c) status = constants_check(c, &facts.taken, &b);
    } else status = find(p, c, args, n_args, &b, offsets, kept, &facts);
    if (status == FX_OK) status = check_workspace(p, c, &b, workspace, workspace_bytes, facts.workspace_bytes);
    if (status != FX_OK) return status;
    place_buffers(p, c, &facts, workspace, buffers);
    if (!memo) {
        status = make_all_ready(p, &facts.taken, which, &b, ready);
        facts.ready = ready;
        if (status == FX_OK) memo = memo_keep(p, c != NULL, args, &b, &facts);
    }
    return status == FX_OK ? run_ready(p, &facts.taken, which, facts.ready, args, &b, buffers, memo, stream) : status;
}

static fx_status launch_told(const fx_prepared *p, const fx_constants *c, const struct fx_value *args, int n_args,
    void *workspace, size_t workspace_bytes, void *stream) {
    uint64_t began = timeline_begin();
    fx_status status = launch(p, c, args, n_args, workspace, workspace_bytes, stream);
    if (began)
        timeline_end(began, "launch", p->kernel->name, &(struct timeline_arg){.key = "status", .number = status}, 1);
    return status;
}

fx_status fx_launch(const fx_prepared *p, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream) {
    if (!p) return error_null("what was prepared");
    return launch_told(p, NULL, args, n_args, workspace, workspace_bytes, stream);
}

fx_status fx_const_launch(const fx_constants *c, const struct fx_value *args, int n_args, void *workspace,
    size_t workspace_bytes, void *stream) {
    if (!c) return error_null("the handle of constants");
    return launch_told(constants_of(c), c, args, n_args, workspace, workspace_bytes, stream);
}

static fx_status measure_workspace(
    const fx_prepared *p, bool has_constants, const struct fx_value *args, int n_args, size_t *bytes) {
    struct bound b;
    fx_status status = arguments_bind(p, args, n_args, FOR_SIZES, &b);
    if (status != FX_OK) return status;
    /* As for a launch, whose addresses are not known yet: buffers are laid out for aligned ones. */
    struct fx_env env = {.extents = b.extents, .sm_count = p->ctx->sm_count};
    const struct fx_partition taken = choose_partition(p, &env);
    return measure(p, &taken, &env, has_constants, NULL, bytes) ? FX_OK : no_size(p);
}

fx_status fx_workspace_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes) {
    if (!bytes) return error_null("the place for the number of bytes");
    *bytes = 0;
    if (!p) return error_null("what was prepared");
    return measure_workspace(p, false, args, n_args, bytes);
}

fx_status fx_const_workspace_bytes(const fx_constants *c, const struct fx_value *args, int n_args, size_t *bytes) {
    if (!bytes) return error_null("the place for the number of bytes");
    *bytes = 0;
    if (!c) return error_null("the handle of constants");
    return measure_workspace(constants_of(c), true, args, n_args, bytes);
}

const char *fx_chosen_entry(const fx_prepared *p, int i, const struct fx_value *args, int n_args) {
    struct bound b;
    if (!p) return (void)error_null("what was prepared"), NULL;
    if (i < 0 || i >= p->kernel->n_launches || arguments_bind(p, args, n_args, FOR_SIZES, &b) != FX_OK) return NULL;
    struct fx_env env = {.extents = b.extents, .align = b.align, .sm_count = p->ctx->sm_count, .strides = b.strides};
    const struct fx_partition taken = choose_partition(p, &env);
    if (i < taken.first_launch || i >= taken.first_launch + taken.n_launches) return NULL;
    int v = tuned_variant(p, i, &env);
    if (v < 0) v = stage_choose(&p->stages[i], &p->kernel->launches[i], &env);
    return v < 0 ? NULL : p->kernel->launches[i].variants[v].entry;
}
