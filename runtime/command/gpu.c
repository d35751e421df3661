/* A job on the GPU. Input: a job whose context is open. Output: its outputs, computed there. Invariant: outputs and
 * workspace are poisoned before a run whose results are read, so an element no kernel wrote is a NaN, not luck. What a
 * kernel writes in place is given back its first contents instead. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

fx_status gpu_failed(fx_status status, const char *what) { return complain(status, "%s: %s", what, fx_last_error()); }

/* Tells whoever asks: what else is under way may hold the memory. */
static fx_status allocate(const struct gpu *gpu, size_t n_bytes, void **out) {
    fx_status status = fx_device_alloc(gpu->job->context, n_bytes, out);
    if (status != FX_OK && gpu->job->request->ran_short) *gpu->job->request->ran_short = true;
    return status;
}

static DLDataType tensor_dtype(enum fx_dtype t) {
    uint8_t code = 2;
    if (t == FX_BF16) code = 4;
    else if (t == FX_F8E4M3) code = 10;
    else if (t == FX_F8E5M2) code = 12;
    else if (fx_dtype_class_of(t) == FX_CLASS_S) code = 0;
    else if (fx_dtype_class_of(t) == FX_CLASS_U) code = 1;
    else if (fx_dtype_class_of(t) == FX_CLASS_B) code = 6;
    return (DLDataType){.code = code, .bits = (uint8_t)fx_dtype_bits(t), .lanes = 1};
}

static struct fx_value scalar_value(const struct argument *a) {
    struct fx_value v = {0};
    v.number = fx_load_double(a->shape.dtype, a->data, 0);
    switch (a->shape.dtype) {
    case FX_I64:
    case FX_U64: memcpy(&v.integer, a->data, sizeof v.integer); break;
    default: v.integer = fx_dtype_class_of(a->shape.dtype) == FX_CLASS_F ? 0 : (int64_t)v.number;
    }
    return v;
}

static fx_status open_tensor(const struct gpu *gpu, struct argument *a, DLTensor *t) {
    /* On the emulator a tensor ends where memory ends, at an address as aligned as its size. A spec may promise more.
     * Variants ask for an aligned address of an empty tensor too, of which nothing is read. */
    const size_t to = a->param->align ? (size_t)a->param->align : 1;
    const size_t of_none = to > 256 ? to : 256, n_bytes = a->n_bytes ? (a->n_bytes + to - 1) / to * to : of_none;
    fx_status status = allocate(gpu, n_bytes, &t->data);
    if (status == FX_OK && a->param->is_input && a->n_bytes)
        status = fx_device_write(gpu->job->context, t->data, a->data, a->n_bytes);
    t->device = (DLDevice){.device_type = 2};
    t->ndim = a->shape.rank;
    t->dtype = tensor_dtype(a->shape.dtype);
    t->shape = a->shape.extents;
    return status;
}

static void close_constants(const struct gpu *gpu, struct device_set *set) {
    fx_constants_release(set->constants);
    if (set->constants_memory) fx_device_free(gpu->job->context, set->constants_memory);
    set->constants = NULL, set->constants_memory = NULL;
}

/* Computes what depends on the `const` tensors of the set alone. */
static fx_status open_constants(const struct gpu *gpu, struct device_set *set) {
    const int n = gpu->job->kernel->n_params;
    size_t bytes = 0;
    fx_status status = fx_const_bytes(gpu->prepared, set->values, n, &bytes);
    if (status == FX_OK && bytes) status = allocate(gpu, bytes, &set->constants_memory);
    if (status == FX_OK && bytes) /* an element that no kernel writes is a NaN */
        status = fx_device_fill(gpu->job->context, set->constants_memory, 0xFF, bytes, gpu->stream);
    if (status == FX_OK)
        status = fx_const_prepare(
            gpu->prepared, set->values, n, set->constants_memory, bytes, gpu->stream, &set->constants);
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot compute the constants");
}

fx_status gpu_set_open(const struct gpu *gpu, struct device_set *set) {
    int n = gpu->job->kernel->n_params;
    fx_status status = FX_OK;
    set->tensors = calloc((size_t)n + 1, sizeof *set->tensors);
    set->values = calloc((size_t)n + 1, sizeof *set->values);
    if (!set->tensors || !set->values) status = complain(FX_ERR_NOMEM, "out of memory");
    for (int p = 0; status == FX_OK && p < n; p++) {
        struct argument *a = &gpu->job->arguments[p];
        if (a->param->is_scalar) {
            set->values[p] = scalar_value(a);
            continue;
        }
        status = open_tensor(gpu, a, &set->tensors[p]);
        if (status != FX_OK) gpu_failed(status, "cannot put the arguments on the GPU");
        set->values[p].tensor = &set->tensors[p];
    }
    if (status == FX_OK) status = open_constants(gpu, set);
    if (status != FX_OK) gpu_set_close(gpu, set);
    return status;
}

void gpu_set_close(const struct gpu *gpu, struct device_set *set) {
    close_constants(gpu, set);
    for (int p = 0; set->tensors && p < gpu->job->kernel->n_params; p++)
        if (set->tensors[p].data) fx_device_free(gpu->job->context, set->tensors[p].data);
    free(set->tensors);
    free(set->values);
    *set = (struct device_set){0};
}

static fx_status prepare(struct gpu *gpu) {
    const struct job *job = gpu->job;
    const struct fx_kernel *k = job->kernel;
    struct fx_hint *hints = calloc((size_t)k->n_extents + 1, sizeof *hints);
    if (!hints) return complain(FX_ERR_NOMEM, "out of memory");
    int n = 0;
    for (int i = 0; i < k->n_extents; i++)
        if (!job_is_derived(k, i)) hints[n++] = (struct fx_hint){k->extents[i].name, job->extents[i]};
    fx_status status = fx_prepare(job->context, fx_get_plan(job->compilation), k->name, hints, n, &gpu->prepared);
    free(hints);
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot prepare the kernel");
}

static fx_status open_workspace(struct gpu *gpu) {
    fx_status status = fx_const_workspace_bytes(
        gpu->set.constants, gpu->set.values, gpu->job->kernel->n_params, &gpu->workspace_bytes);
    if (status == FX_OK && gpu->workspace_bytes) status = allocate(gpu, gpu->workspace_bytes, &gpu->workspace);
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot allocate the workspace");
}

fx_status gpu_take_partition(struct gpu *gpu, int number) {
    fx_status status = fx_pin_partition(gpu->prepared, number);
    if (status != FX_OK) return gpu_failed(status, "cannot take this partition");
    if (gpu->workspace) fx_device_free(gpu->job->context, gpu->workspace);
    gpu->workspace = NULL;
    close_constants(gpu, &gpu->set);
    status = open_constants(gpu, &gpu->set);
    return status == FX_OK ? open_workspace(gpu) : status;
}

fx_status gpu_open(const struct job *job, struct gpu *gpu) {
    *gpu = (struct gpu){.job = job};
    fx_status status = prepare(gpu);
    if (status == FX_OK && (status = fx_stream_open(job->context, &gpu->stream)) != FX_OK)
        gpu_failed(status, "cannot open a stream");
    if (status == FX_OK) status = gpu_set_open(gpu, &gpu->set);
    if (status == FX_OK) status = open_workspace(gpu);
    if (status != FX_OK) gpu_close(gpu);
    return status;
}

void gpu_close(struct gpu *gpu) {
    if (gpu->workspace) fx_device_free(gpu->job->context, gpu->workspace);
    gpu_set_close(gpu, &gpu->set);
    if (gpu->stream) fx_stream_close(gpu->job->context, gpu->stream);
    fx_prepared_release(gpu->prepared);
    *gpu = (struct gpu){0};
}

fx_status gpu_launch(const struct gpu *gpu, const struct device_set *set) {
    fx_status status = fx_const_launch(
        set->constants, set->values, gpu->job->kernel->n_params, gpu->workspace, gpu->workspace_bytes, gpu->stream);
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot launch the kernel");
}

static fx_status poison(const struct gpu *gpu) {
    fx_context *context = gpu->job->context;
    fx_status status = FX_OK;
    if (gpu->workspace_bytes) status = fx_device_fill(context, gpu->workspace, 0xFF, gpu->workspace_bytes, gpu->stream);
    for (int i = 0; status == FX_OK && i < gpu->job->n_outputs; i++) {
        int p = job_output(gpu->job, i);
        const struct argument *a = &gpu->job->arguments[p];
        if (!a->n_bytes) continue;
        /* An `inout` tensor holds again what it held at first. */
        if (a->param->is_input) status = fx_device_write(context, gpu->set.tensors[p].data, a->data, a->n_bytes);
        else status = fx_device_fill(context, gpu->set.tensors[p].data, 0xFF, a->n_bytes, gpu->stream);
    }
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot poison the outputs");
}

fx_status gpu_run(const struct gpu *gpu) {
    fx_context *context = gpu->job->context;
    struct device_set set = gpu->set; /* with constants of its own: a variant of what computes them may be pinned */
    fx_status status = poison(gpu);
    set.constants = NULL, set.constants_memory = NULL;
    if (status == FX_OK) status = open_constants(gpu, &set);
    if (status == FX_OK) status = gpu_launch(gpu, &set);
    if (status == FX_OK && (status = fx_stream_wait(context, gpu->stream)) != FX_OK)
        gpu_failed(status, "the kernel failed");
    close_constants(gpu, &set);
    if (status != FX_OK) return status;
    for (int i = 0; status == FX_OK && i < gpu->job->n_outputs; i++) {
        int p = job_output(gpu->job, i);
        struct argument *a = &gpu->job->arguments[p];
        if (a->n_bytes) status = fx_device_read(context, a->result, gpu->set.tensors[p].data, a->n_bytes);
    }
    return status == FX_OK ? FX_OK : gpu_failed(status, "the kernel failed");
}

struct fx_partition gpu_partition(const struct gpu *gpu) {
    const struct fx_kernel *k = gpu->job->kernel;
    for (int i = 0; i < fx_partition_count(k); i++) {
        const struct fx_partition p = fx_get_partition(k, i);
        if (fx_chosen_entry(gpu->prepared, p.first_launch, gpu->set.values, k->n_params)) return p;
    }
    return job_partition(gpu->job);
}

int gpu_chosen_variant(const struct gpu *gpu, int i) {
    const struct fx_launch *l = &gpu->job->kernel->launches[i];
    const char *entry = fx_chosen_entry(gpu->prepared, i, gpu->set.values, gpu->job->kernel->n_params);
    for (int v = 0; entry && v < l->n_variants; v++)
        if (!strcmp(entry, l->variants[v].entry)) return v;
    return -1;
}
