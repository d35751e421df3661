/* The trace subcommand. Input: a kernel, small extents. Output: what its launches do to memory, cell by cell, as JSON
 * or as a page: run once on the emulator, which sees every access. Invariant: what would take longer than seconds, or
 * more cells than can be shown, is refused before anything runs. */
#include <stdlib.h>
#include <string.h>

#include "command/tools/trace.h"

/* ---- what is asked for ---- */

enum trace_form { FORM_NONE, FORM_JSON, FORM_PAGE };

static bool ends_in(const char *s, const char *end) {
    return strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

static enum trace_form form_of(const char *to) {
    if (!strcmp(to, "-") || ends_in(to, ".json")) return FORM_JSON;
    return ends_in(to, ".html") ? FORM_PAGE : FORM_NONE;
}

/* "0,5,17" */
static fx_status read_blocks(const struct command *cmd, struct trace *t) {
    const char *text = option_value(cmd, OPT_BLOCK), *at = text;
    while (at) {
        char *end;
        unsigned long n = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : ~0ul;
        if (n >= TRACE_MOST_GRID || (*end && *end != ','))
            return usage_error(cmd, "--block %s is no list of numbers of blocks: 0,5,17", text);
        if (t->n_blocks == TRACE_BLOCKS)
            return usage_error(cmd, "--block %s has more than %d blocks", text, TRACE_BLOCKS);
        t->blocks[t->n_blocks++] = (unsigned)n;
        at = *end ? end + 1 : NULL;
    }
    return FX_OK;
}

/* ---- what there is ---- */

/* The stride of axis i of a row-major tensor, over extents. Fixed extents and counts of packed words are numbers. */
static const char *step_of(struct arena *arena, const struct trace *t, const struct argument *a, int i) {
    const struct fx_param *p = a->param;
    const char *names = NULL;
    int64_t number = 1;
    for (int j = i + 1; j < a->shape.rank; j++) {
        const struct fx_extent *e = &t->job->kernel->extents[p->extents[j]];
        bool is_number = e->value >= 0 || (p->packed.factor && p->packed.axis == j);
        if (is_number) number *= a->shape.extents[j];
        else names = names ? arena_printf(arena, "%s * %s", names, e->name) : e->name;
    }
    if (!names) return arena_printf(arena, "%lld", (long long)number);
    return number == 1 ? names : arena_printf(arena, "%s * %lld", names, (long long)number);
}

static void add_tensor(struct arena *arena, struct trace *t, const struct argument *a) {
    const struct fx_param *p = a->param;
    struct trace_tensor *x = &t->tensors[t->n_tensors++];
    *x = (struct trace_tensor){.name = p->name,
        .kind = p->is_input && p->is_output ? "inout"
                : p->is_output              ? "output"
                                            : "input",
        .dtype = fx_dtype_name(a->shape.dtype),
        .cell_bytes = fx_dtype_bits(a->shape.dtype) / 8,
        .rank = a->shape.rank,
        .n_cells = (int64_t)a->n_elements};
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        x->shape[i] = a->shape.extents[i];
        x->strides[i] = stride;
        x->steps[i] = step_of(arena, t, a, i);
        x->axes[i] = t->job->kernel->extents[p->extents[i]].name;
        stride *= x->shape[i];
    }
}

static int bytes_of(const char *dtype) {
    for (int i = 0; dtype && i < FX_N_DTYPES; i++)
        if (!strcmp(dtype, fx_dtype_name((enum fx_dtype)i)) && fx_dtype_bits((enum fx_dtype)i) >= 8)
            return fx_dtype_bits((enum fx_dtype)i) / 8;
    return 0;
}

static void add_buffer(
    struct trace *t, const struct fx_buffer *b, const struct fx_env *env, const struct json_node *receipt) {
    struct trace_tensor *x = &t->tensors[t->n_tensors];
    int64_t n_bytes = 0;
    if (!fx_expr_eval(&b->bytes, env, &n_bytes) || n_bytes <= 0) return;
    const char *dtype = b->kind != FX_BUFFER_FLAGS ? trace_buffer_dtype(receipt, t->job->kernel->name, b->name) : NULL;
    int bytes = bytes_of(dtype);
    if (!bytes) bytes = 4, dtype = NULL;
    *x = (struct trace_tensor){.name = b->name,
        .kind = b->kind == FX_BUFFER_FLAGS ? "flags" : b->kind == FX_BUFFER_CONST ? "const" : "workspace",
        .dtype = dtype,
        .cell_bytes = bytes,
        .rank = 1,
        .shape = {(n_bytes + bytes - 1) / bytes},
        .strides = {1},
        .axes = {""},
        .n_cells = (n_bytes + bytes - 1) / bytes};
    t->n_tensors++;
}

static fx_status find_tensors(struct arena *a, struct trace *t, const struct json_node *receipt) {
    const struct fx_kernel *k = t->job->kernel;
    struct fx_env env = job_env(t->job);
    t->tensors = calloc((size_t)k->n_params + (size_t)k->n_buffers + 1, sizeof *t->tensors);
    if (!t->tensors) return FX_ERR_NOMEM;
    for (int p = 0; p < k->n_params; p++)
        if (!k->params[p].is_scalar) add_tensor(a, t, &t->job->arguments[p]);
    const struct fx_partition taken = job_partition(t->job);
    for (int b = taken.first_buffer; b < taken.first_buffer + taken.n_buffers; b++)
        add_buffer(t, &k->buffers[b], &env, receipt);
    return FX_OK;
}

bool trace_is_own(const struct fx_kernel *k, int extent) {
    if (job_is_derived(k, extent)) return false;
    for (int p = 0; p < k->n_params; p++)
        for (int i = 0; i < k->params[p].rank; i++)
            if (k->params[p].extents[i] == extent) return true;
    return false;
}

/* Says how to ask for less. */
static fx_status too_large(const struct job *job, const char *what, int64_t n, int64_t most) {
    const struct fx_kernel *k = job->kernel;
    complain(FX_ERR_USAGE, "%lld %s are more than a trace takes, %lld: give smaller extents with -D; now they are",
        (long long)n, what, (long long)most);
    fprintf(stderr, "fxc:");
    for (int e = 0; e < k->n_extents; e++)
        if (trace_is_own(k, e)) fprintf(stderr, " -D %s=%lld", k->extents[e].name, (long long)job->extents[e]);
    fprintf(stderr, "\n");
    return FX_ERR_USAGE;
}

static fx_status check_size(const struct trace *t) {
    int64_t flops, bytes, n_cells = 0;
    job_work(t->job, &flops, &bytes);
    for (int i = 0; i < t->n_tensors; i++) n_cells += t->tensors[i].n_cells;
    if (flops > TRACE_MOST_FLOPS) return too_large(t->job, "floating-point operations", flops, TRACE_MOST_FLOPS);
    return n_cells > TRACE_MOST_CELLS ? too_large(t->job, "cells of tensors and workspace", n_cells, TRACE_MOST_CELLS)
                                      : FX_OK;
}

/* ---- tensor cores ---- */

/* The engine that the entry's text names. */
static void find_mma(const char *source, struct trace_launch *l) {
    static const struct {
        const char *engine, *shape, *dtype;
    } engines[] = {
        {"fx_mma_16<fx_bf16>", "m16n8k16", "bf16"},
        {"fx_mma_16<fx_f16>", "m16n8k16", "f16"},
        {"fx_chain_mma<fx_bf16", "m16n8k16", "bf16"},
        {"fx_chain_mma<fx_f16", "m16n8k16", "f16"},
        {"fx_mma_32", "m16n8k8", "tf32"},
        {"fx_mma_8<", "m16n8k32", "int8"},
        {"fx_wgmma<fx_bf16, fx_columns_64,", "m64n64k16", "bf16"},
        {"fx_wgmma<fx_bf16, fx_columns_128,", "m64n128k16", "bf16"},
        {"fx_wgmma<fx_bf16, fx_columns_192,", "m64n192k16", "bf16"},
        {"fx_wgmma<fx_bf16, fx_columns_256,", "m64n256k16", "bf16"},
        {"fx_wgmma<fx_f16, fx_columns_64,", "m64n64k16", "f16"},
        {"fx_wgmma<fx_f16, fx_columns_128,", "m64n128k16", "f16"},
        {"fx_wgmma<fx_f16, fx_columns_192,", "m64n192k16", "f16"},
        {"fx_wgmma<fx_f16, fx_columns_256,", "m64n256k16", "f16"},
        {"fx_wgmma_cluster<fx_bf16, fx_columns_64,", "m64n64k16", "bf16"},
        {"fx_wgmma_cluster<fx_bf16, fx_columns_128,", "m64n128k16", "bf16"},
        {"fx_wgmma_cluster<fx_f16, fx_columns_64,", "m64n64k16", "f16"},
        {"fx_wgmma_cluster<fx_f16, fx_columns_128,", "m64n128k16", "f16"},
        {"fx_wgmma_chain<fx_bf16, fx_columns_64,", "m64n64k16", "bf16"},
        {"fx_wgmma_chain<fx_bf16, fx_columns_128,", "m64n128k16", "bf16"},
        {"fx_wgmma_chain<fx_f16, fx_columns_64,", "m64n64k16", "f16"},
        {"fx_wgmma_chain<fx_f16, fx_columns_128,", "m64n128k16", "f16"},
        {"fx_wgmma_chain_pieces<fx_bf16, fx_columns_64,", "m64n64k16", "bf16"},
        {"fx_wgmma_chain_pieces<fx_f16, fx_columns_64,", "m64n64k16", "f16"},
    };
    size_t length = strlen(l->variant->entry);
    const char *at = source;
    while ((at = strstr(at, l->variant->entry)) && (at == source || at[-1] != '\n' || at[length] != '(')) at += length;
    const char *end = at ? strstr(at, "\n}") : NULL;
    for (size_t i = 0; end && i < sizeof engines / sizeof *engines; i++) {
        const char *found = strstr(at, engines[i].engine);
        if (found && found < end) l->mma = engines[i].shape, l->mma_dtype = engines[i].dtype;
    }
}

static fx_status find_launches(struct trace *t, const struct gpu *gpu) {
    const struct fx_kernel *k = t->job->kernel;
    struct fx_env env = job_env(t->job);
    const struct fx_partition taken = job_partition(t->job);
    t->launches = calloc((size_t)taken.n_launches + 1, sizeof *t->launches);
    if (!t->launches) return FX_ERR_NOMEM;
    t->n_launches = taken.n_launches;
    unsigned long largest = 0;
    for (int i = 0; i < taken.n_launches; i++) {
        const struct fx_launch *l = &k->launches[taken.first_launch + i];
        int v = gpu_chosen_variant(gpu, taken.first_launch + i);
        int64_t grid = 0;
        t->launches[i].launch = l;
        if (v < 0) continue;
        t->launches[i].variant = &l->variants[v];
        find_mma(t->plan->source, &t->launches[i]);
        if (!fx_expr_eval(&t->launches[i].variant->grid, &env, &grid) || grid > TRACE_MOST_GRID)
            return too_large(t->job, "blocks of a launch", grid, TRACE_MOST_GRID);
        if ((unsigned long)grid > largest) largest = (unsigned long)grid;
    }
    for (int b = 0; b < t->n_blocks; b++)
        if (t->blocks[b] >= largest)
            return usage_error(t->job->request->cmd, "there is no block %u: the largest launch has %lu, from 0",
                t->blocks[b], largest);
    return FX_OK;
}

/* ---- dataflow ---- */

/* NULL: out of memory. */
static const struct json_node *read_receipt(struct arena *a, fx_compilation *c) {
    const char *text = fx_receipt(c, FX_FORMAT_JSON, NULL);
    return text ? json_parse(a, text, strlen(text)) : NULL;
}

/* As it were with every operation by itself; that a spec cannot be compiled so is no failure of the trace. */
static void find_before(struct arena *a, struct trace *t, fx_compilation **c) {
    const struct fx_kernel *k = t->job->kernel, *unfused;
    struct request r = *t->job->request;
    r.kernel = k->name;
    r.is_unfused = true;
    r.defines = NEW_ARRAY(a, const char *, r.n_defines + k->n_extents + 1);
    r.n_defines = 0;
    for (int i = 0; i < t->job->request->n_defines; i++) r.defines[r.n_defines++] = t->job->request->defines[i];
    for (int e = 0; e < k->n_extents; e++)
        if (k->extents[e].value < 0 && trace_is_own(k, e))
            r.defines[r.n_defines++] = arena_printf(a, "%s=%lld", k->extents[e].name, (long long)t->job->extents[e]);
    if (compile_request(&r, job_arch(t->job), false, c) != FX_OK) return;
    const struct json_node *receipt = read_receipt(a, *c);
    if (!receipt || !(unfused = fx_find_kernel(fx_get_plan(*c), k->name))) return;
    int64_t *extents = NEW_ARRAY(a, int64_t, unfused->n_extents + 1),
            *strides = NEW_ARRAY(a, int64_t, fx_stride_index(unfused->n_params, 0) + 1);
    for (int e = 0; e < unfused->n_extents; e++) extents[e] = unfused->extents[e].value;
    for (int e = 0; e < unfused->n_extents; e++)
        for (int i = 0; i < k->n_extents && extents[e] < 0; i++)
            if (!strcmp(k->extents[i].name, unfused->extents[e].name)) extents[e] = t->job->extents[i];
    fx_row_major_strides(unfused, extents, strides);
    t->before = trace_flow_read(a, receipt, unfused,
        &(struct fx_env){.extents = extents, .sm_count = job_env(t->job).sm_count, .strides = strides});
}

/* ---- the run ---- */

static fx_status watch(struct trace *t, struct gpu *gpu) {
    struct trace_watch *w = trace_watch_open(t);
    if (!w) return FX_ERR_NOMEM;
    fx_status status = gpu_run(gpu), kept = trace_watch_close(w);
    if (status != FX_OK || kept == FX_OK) return status;
    return complain(kept, kept == FX_ERR_NOMEM ? "out of memory" : "a launch was seen that the plan does not have");
}

static fx_status write_document(struct arena *a, struct trace *t, const struct json_node *receipt, const char *to) {
    struct fx_env env = job_env(t->job);
    fx_compilation *unfused = NULL;
    struct buf out;
    t->after = trace_flow_read(a, receipt, t->job->kernel, &env);
    find_before(a, t, &unfused);
    buf_init(&out, a);
    if (form_of(to) == FORM_JSON) trace_json(&out, t);
    else trace_page(&out, t);
    fx_status status = write_whole(to, &(struct text_piece){out.s, out.len}, 1);
    fx_close(unfused);
    return status;
}

static fx_status trace_job(struct arena *a, struct trace *t, const char *to) {
    const struct json_node *receipt = read_receipt(a, t->job->compilation);
    struct gpu gpu = {0};
    fx_status status = receipt ? find_tensors(a, t, receipt) : FX_ERR_NOMEM;
    if (status == FX_ERR_NOMEM) return complain(status, "out of memory");
    status = check_size(t);
    if (status != FX_OK || (status = gpu_open(t->job, &gpu)) != FX_OK) return status;
    status = find_launches(t, &gpu);
    if (status == FX_ERR_NOMEM) complain(status, "out of memory");
    if (status == FX_OK) status = watch(t, &gpu);
    gpu_close(&gpu);
    return status == FX_OK ? write_document(a, t, receipt, to) : status;
}

static fx_status trace_within(struct arena *a, struct trace *t) {
    const struct request *r = t->job->request;
    const char *given = option_value(r->cmd, OPT_OUTPUT_TRACE),
               *to = given ? given : arena_printf(a, "%s.html", t->job->kernel->name);
    if (!strcmp(to, r->spec->path) && strcmp(to, "-") != 0)
        return usage_error(r->cmd, "the output %s would overwrite the input", to);
    if (form_of(to) == FORM_NONE) return usage_error(r->cmd, "-o %s: a trace is written to a .json or to a .html", to);
    return trace_job(a, t, to);
}

/* Documents, and what is made on the way, lie in an arena. */
static fx_status trace_in_arena(struct trace *t) {
    struct arena a;
    jmp_buf oom;
    arena_init(&a, &oom);
    fx_status status = setjmp(oom) ? complain(FX_ERR_NOMEM, "out of memory") : trace_within(&a, t);
    arena_release(&a);
    return status;
}

static fx_status trace_on(const struct request *request, const struct machine *machine) {
    struct job job;
    struct trace t = {.job = &job, .spec = request->spec->text};
    fx_status status = read_blocks(request->cmd, &t);
    if (status == FX_OK) status = job_open(request, machine, false, &job);
    if (status != FX_OK) return status;
    t.plan = fx_get_plan(job.compilation);
    status = trace_in_arena(&t);
    trace_release(&t);
    job_close(&job);
    return status;
}

/* ---- the command ---- */

/* Of the blocks the first. */
static fx_status trace_block(struct request *r, const struct machine *machine, void *user) {
    bool *is_done = user;
    if (*is_done) return FX_OK;
    *is_done = true;
    return trace_on(r, machine);
}

/* As the command line says or, where it says nothing of extents and inputs, as the first test block does. */
static fx_status trace_spec(const struct command *cmd, const struct spec *spec, const struct machine *machine) {
    struct request request = {0};
    bool is_done = false;
    int n_blocks = 0;
    fx_status status = FX_OK;
    if (!is_given(cmd, OPT_DEFINE) && !is_given(cmd, OPT_INPUT))
        status = act_on_blocks(cmd, spec, machine, false, &n_blocks, trace_block, &is_done);
    if (status != FX_OK || n_blocks) return status;
    status = request_open(cmd, spec, NULL, &request);
    if (status == FX_OK) status = trace_on(&request, machine);
    request_release(&request);
    return status;
}

fx_status command_trace(const struct command *cmd) {
    const char *path, *device = option_value(cmd, OPT_DEVICE_TRACE);
    struct spec spec = {0};
    struct machine machine = {0};
    struct fx_emulation emulation = {.is_watched = true};
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK && device && !(read_emulation(device, &emulation) && emulation.is_watched))
        status = usage_error(
            cmd, "--device=%s: a trace is of the emulator that sees every access: emu or emu:N", device);
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK) status = fx_emulate(&emulation);
    if (status == FX_OK && (status = fx_context_open(0, &machine.context)) != FX_OK) gpu_failed(status, "no emulator");
    if (status == FX_OK) status = trace_spec(cmd, &spec, &machine);
    machine_close(&machine);
    spec_release(&spec);
    return status;
}
