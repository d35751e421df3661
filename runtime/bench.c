/* The bench subcommand. Input: a job on the GPU. Output: what it takes, by device events. A kernel that is wrong, or that
 * nothing was compared of, gets no time. Small inputs are rotated through copies, so that no launch finds its own in L2. */
#include <stdlib.h>
#include <time.h>

#include "command.h"

enum {
    REPETITIONS = 50,
    MAX_SETS = 64,
    MAX_BATCH = 4096, /* launches between two events */
};
static const size_t ROTATED_BYTES = 200u << 20; /* beyond any L2 cache, with room */
static const double WARM_UP_SECONDS = 0.25;
static const double BATCH_MICROSECONDS = 1000; /* long beside what an event costs and resolves */

struct rotation { /* copies of the arguments, launched in turn */
    struct device_set sets[MAX_SETS];
    int n_sets, next;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static fx_status rotation_open(const struct gpu *gpu, struct rotation *r) {
    size_t bytes = 1;
    *r = (struct rotation){0};
    for (int p = 0; p < gpu->job->kernel->n_params; p++) bytes += gpu->job->arguments[p].n_bytes;
    size_t wanted = ROTATED_BYTES / bytes + 1;
    int n = wanted > MAX_SETS ? MAX_SETS : (int)wanted;
    fx_status status = FX_OK;
    for (; status == FX_OK && r->n_sets < n; r->n_sets += status == FX_OK) status = gpu_set_open(gpu, &r->sets[r->n_sets]);
    return status;
}

static void rotation_close(const struct gpu *gpu, struct rotation *r) {
    while (r->n_sets > 0) gpu_set_close(gpu, &r->sets[--r->n_sets]);
}

static fx_status launch_batch(const struct gpu *gpu, struct rotation *r, int n) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i < n; i++) {
        status = gpu_launch(gpu, &r->sets[r->next]);
        r->next = (r->next + 1) % r->n_sets;
    }
    return status;
}

/* Microseconds a launch, over n of them. */
static fx_status time_batch(const struct gpu *gpu, struct rotation *r, fx_timer *timer, int n, double *each) {
    fx_status status = fx_timer_start(timer, gpu->stream);
    if (status != FX_OK) return gpu_failed(status, "cannot time");
    status = launch_batch(gpu, r, n);
    if (status != FX_OK) return status;
    status = fx_timer_stop(timer, gpu->stream);
    if (status == FX_OK) status = fx_timer_read(timer, each);
    *each /= n;
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot time");
}

/* Launches until the clocks have settled; *batch is how many launches then make a repetition. */
static fx_status warm_up(const struct gpu *gpu, struct rotation *r, fx_timer *timer, int *batch) {
    double each = 0, start = now();
    fx_status status = FX_OK;
    *batch = 1;
    do {
        status = time_batch(gpu, r, timer, *batch, &each);
        double wanted = BATCH_MICROSECONDS / (each > 0.01 ? each : 0.01) + 1;
        *batch = wanted > MAX_BATCH ? MAX_BATCH : (int)wanted;
    } while (status == FX_OK && now() - start < WARM_UP_SECONDS);
    return status;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_resources(const struct gpu *gpu) {
    const struct job *job = gpu->job;
    struct fx_env env = job_env(job);
    for (int i = 0; i < job->kernel->n_launches; i++) {
        struct fx_resources r;
        int64_t grid = 0, shared = 0;
        int v = gpu_chosen_variant(gpu, i);
        if (v < 0 || fx_variant_resources(gpu->prepared, i, v, &r) != FX_OK) continue;
        const struct fx_variant *variant = &job->kernel->launches[i].variants[v];
        fx_expr_eval(&variant->grid, &env, &grid);
        fx_expr_eval(&variant->smem, &env, &shared);
        printf("%s: %s\n  grid %lld, block %d, %d registers, %d bytes spilled, %lld bytes of shared memory\n",
               job->kernel->launches[i].name, variant->config, (long long)grid, variant->block, r.registers, r.local_bytes,
               (long long)shared + r.shared_bytes);
    }
}

static void print_times(const struct gpu *gpu, const struct rotation *r, double *us, int batch) {
    int64_t flops, bytes;
    qsort(us, REPETITIONS, sizeof *us, by_value);
    double median = (us[REPETITIONS / 2 - 1] + us[REPETITIONS / 2]) / 2;
    job_work(gpu->job, &flops, &bytes);
    print_resources(gpu);
    printf("%s on %s: %.2f us (median of %d x %d launches; min %.2f, max %.2f, spread %.1f %%)\n", gpu->job->kernel->name,
           fx_context_device(gpu->job->context), median, REPETITIONS, batch, us[0], us[REPETITIONS - 1],
           100 * (us[REPETITIONS - 1] - us[0]) / median);
    if (flops < INT64_MAX && bytes < INT64_MAX)
        printf("%.1f GB/s, %.2f TFLOP/s (%lld bytes, %lld flops; copies of the arguments, in turn: %d)\n",
               (double)bytes / median * 1e-3, (double)flops / median * 1e-6, (long long)bytes, (long long)flops, r->n_sets);
}

static fx_status bench_job(const struct gpu *gpu) {
    struct rotation rotation;
    fx_timer *timer = NULL;
    double us[REPETITIONS];
    int batch;
    fx_status status = fx_timer_open(gpu->job->context, &timer);
    if (status != FX_OK) return gpu_failed(status, "cannot time");
    status = rotation_open(gpu, &rotation);
    if (status == FX_OK) status = warm_up(gpu, &rotation, timer, &batch);
    for (int i = 0; status == FX_OK && i < REPETITIONS; i++) status = time_batch(gpu, &rotation, timer, batch, &us[i]);
    if (status == FX_OK) print_times(gpu, &rotation, us, batch);
    /* Copies may only go once nothing queued uses them. */
    fx_stream_wait(gpu->job->context, gpu->stream);
    rotation_close(gpu, &rotation);
    fx_timer_close(timer);
    return status;
}

fx_status command_bench(const struct command *cmd) {
    struct job job;
    struct gpu gpu;
    fx_status status = job_open(cmd, true, false, &job);
    if (status != FX_OK) return status;
    if (!job.context) status = complain(job.gpu_status, "no GPU: %s", job.no_gpu);
    if (status == FX_OK && (status = gpu_open(&job, &gpu)) == FX_OK) {
        status = check_job(&job, &gpu, false);
        if (status == FX_OK) status = bench_job(&gpu);
        else if (status == FX_ERR_DIFFERS) complain(status, "not timed: the result is not known to be right");
        gpu_close(&gpu);
    }
    job_close(&job);
    return status;
}
