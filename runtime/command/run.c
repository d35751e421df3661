/* The run subcommand. Input: a job. Output: its outputs, computed on the GPU, on the emulator or by the oracle, in .npy
 * files or summed up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/npy.h"

/* ---- computing ---- */

static fx_status run_cpu(const struct job *job) {
    for (int i = 0; i < job->n_outputs; i++) {
        struct argument *a = &job->arguments[job_output(job, i)];
        double *value = malloc((a->n_elements ? a->n_elements : 1) * sizeof *value);
        int64_t *integer = malloc((a->n_elements ? a->n_elements : 1) * sizeof *integer);
        fx_status status = value && integer ? job_evaluate(job, i, NULL, (int64_t)a->n_elements, value, integer, NULL)
                                            : complain(FX_ERR_NOMEM, "out of memory");
        for (size_t e = 0; status == FX_OK && e < a->n_elements; e++) {
            if (fx_is_float(a->shape.dtype)) fx_store_double(a->shape.dtype, a->result, e, value[e]);
            else fx_store_integer(a->shape.dtype, a->result, e, integer[e]);
        }
        free(value);
        free(integer);
        if (status != FX_OK) return status;
    }
    return FX_OK;
}

static fx_status run_gpu(const struct job *job) {
    struct gpu gpu;
    fx_status status = gpu_open(job, &gpu);
    if (status != FX_OK) return status;
    status = gpu_run(&gpu);
    gpu_close(&gpu);
    return status;
}

/* ---- results ---- */

static const char *file_of(const struct job *job, const char *output) {
    const struct command *cmd = job->request->cmd;
    for (int i = cmd->n_options - 1; i >= 0; i--) {
        const char *name, *value;
        size_t n;
        if (cmd->options[i].id == OPT_OUTPUT_ARRAY && split_pair(cmd->options[i].value, &name, &n, &value) &&
            strlen(output) == n && !memcmp(output, name, n))
            return value;
    }
    return NULL;
}

static fx_status write_output(const struct argument *a, const char *path) {
    char header[NPY_HEADER_MAX];
    struct text_piece pieces[] = {{header, npy_header(&a->shape, header)}, {a->result, a->n_bytes}};
    if (writes_to_terminal(path))
        return complain(FX_ERR_USAGE, "a .npy is not written to a terminal: name a file");
    return write_whole(path, pieces, 2);
}

/* An integer with all its digits; a NaN without the sign it happens to have. */
static void print_element(const struct argument *a, size_t i) {
    double v = fx_load_double(a->shape.dtype, a->result, i);
    if (a->shape.dtype == FX_U64) printf("%llu", (unsigned long long)fx_load_integer(FX_U64, a->result, i));
    else if (!fx_is_float(a->shape.dtype)) printf("%lld", (long long)fx_load_integer(a->shape.dtype, a->result, i));
    else if (isnan(v)) printf("nan");
    else printf("%.9g", v);
}

static double unsigned_nan(double v) { return isnan(v) ? fabs(v) : v; }

/* NaN wins in min and max: a summary must not hide one. */
static void print_summary(const struct argument *a) {
    enum { SHOWN = 8 };
    double sum = 0, least = INFINITY, most = -INFINITY;
    printf("%s: ", a->param->name);
    print_type(stdout, a->shape.dtype, a->shape.rank, a->shape.extents);
    for (size_t i = 0; i < a->n_elements; i++) {
        double v = fx_load_double(a->shape.dtype, a->result, i);
        sum += v;
        if (!(v >= least)) least = v;
        if (!(v <= most)) most = v;
        if (isnan(v)) break;
    }
    if (a->n_elements)
        printf("  mean %.6g  min %.6g  max %.6g", unsigned_nan(sum / (double)a->n_elements), unsigned_nan(least),
            unsigned_nan(most));
    printf("\n");
    for (size_t i = 0; i < a->n_elements && i < SHOWN; i++) {
        printf("%s", i ? " " : "  ");
        print_element(a, i);
    }
    if (a->n_elements) printf("%s\n", a->n_elements > SHOWN ? " ..." : "");
}

static fx_status write_outputs(const struct job *job) {
    bool wants_files = is_given(job->request->cmd, OPT_OUTPUT_ARRAY);
    for (int i = 0; i < job->n_outputs; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        const char *path = file_of(job, a->param->name);
        fx_status status = path ? write_output(a, path) : FX_OK;
        if (status != FX_OK) return status;
        if (!wants_files) print_summary(a);
    }
    return FX_OK;
}

static fx_status run_on(const struct request *request, const struct machine *machine) {
    const char *device;
    if (read_device(request->cmd, &device) != FX_OK) return FX_ERR_USAGE;
    bool is_auto = !strcmp(device, "auto"), is_cpu = !strcmp(device, "cpu");
    struct job job;
    fx_status status = job_open(request, machine, is_cpu || is_auto, &job);
    if (status != FX_OK) return status;
    if (*job.too_long) status = complain(machine->status, "%s", job.too_long);
    else if (!is_auto && !is_cpu && !job.context) status = complain(machine->status, "no GPU: %s", machine->no_gpu);
    else if (is_auto && !job.context && !wants_json(request->cmd))
        fprintf(stderr, "by the oracle, not what is emitted (no GPU: %s)\n", machine->no_gpu);
    if (status == FX_OK) status = job.context ? run_gpu(&job) : run_cpu(&job);
    if (status == FX_OK) status = write_outputs(&job);
    job_close(&job);
    return status;
}

fx_status command_run(const struct command *cmd) {
    const char *device;
    fx_status status = read_device(cmd, &device);
    return status == FX_OK ? act_on_request(cmd, strcmp(device, "cpu") != 0, run_on) : status;
}
