/* The bench subcommand. Input: jobs on the GPU, from -i and -D or from bench blocks. Output: what each takes, by device
 * events, and what stands beside it. A kernel that is wrong, or that nothing was compared of, gets no time. Small
 * inputs are rotated through copies, so that no launch finds its own in L2. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/command.h"

enum { MAX_BATCH = 4096 }; /* launches between two events */
static const size_t ROTATED_BYTES = 200u << 20; /* beyond any L2 cache, with room */
static const double WARM_UP_SECONDS = 0.25;
static const double BATCH_MICROSECONDS = 1000; /* long beside what an event costs and resolves */

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int launches_of_batch(double each) {
    const double wanted = BATCH_MICROSECONDS / (each > 0.01 ? each : 0.01) + 1;
    return wanted > MAX_BATCH ? MAX_BATCH : (int)wanted;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double sort_for_median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

fx_status rotation_open(const struct gpu *gpu, struct rotation *r) {
    size_t bytes = 1;
    *r = (struct rotation){0};
    for (int p = 0; p < gpu->job->kernel->n_params; p++) bytes += gpu->job->arguments[p].n_bytes;
    size_t wanted = ROTATED_BYTES / bytes + 1;
    int n = wanted > MAX_SETS ? MAX_SETS : (int)wanted;
    fx_status status = FX_OK;
    for (; status == FX_OK && r->n_sets < n; r->n_sets += status == FX_OK)
        status = gpu_set_open(gpu, &r->sets[r->n_sets]);
    return status;
}

void rotation_close(const struct gpu *gpu, struct rotation *r) {
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

fx_status time_batch(const struct gpu *gpu, struct rotation *r, fx_timer *timer, int n, double *each) {
    fx_status status = fx_timer_start(timer, gpu->stream);
    if (status != FX_OK) return gpu_failed(status, "cannot time");
    status = launch_batch(gpu, r, n);
    if (status != FX_OK) return status;
    status = fx_timer_stop(timer, gpu->stream);
    if (status == FX_OK) status = fx_timer_read(timer, each);
    *each /= n;
    return status == FX_OK ? FX_OK : gpu_failed(status, "cannot time");
}

struct timing timing_of(const struct fx_test *block) {
    struct timing t = {.repetitions = MAX_REPETITIONS};
    if (block) t.warmup = block->warmup;
    if (!block || !block->rep) return t;
    t.batch = (int)((block->rep + MAX_REPETITIONS - 1) / MAX_REPETITIONS);
    t.repetitions = (int)((block->rep + t.batch - 1) / t.batch);
    return t;
}

fx_status warm_up(const struct gpu *gpu, struct rotation *r, fx_timer *timer, struct timing *t) {
    double each = 0, start = seconds_now();
    fx_status status = FX_OK;
    int batch = 1;
    if (t->warmup) status = time_batch(gpu, r, timer, (int)t->warmup, &each);
    do {
        if (status == FX_OK && !t->warmup) status = time_batch(gpu, r, timer, batch, &each);
        batch = launches_of_batch(each);
    } while (status == FX_OK && !t->warmup && seconds_now() - start < WARM_UP_SECONDS);
    if (!t->batch) t->batch = batch;
    return status;
}

void timing_close(struct timing *t) { t->median = sort_for_median(t->us, t->repetitions); }

static void print_resources(const struct gpu *gpu) {
    const struct job *job = gpu->job;
    struct fx_env env = job_env(job);
    const struct fx_partition taken = gpu_partition(gpu);
    for (int i = taken.first_launch; i < taken.first_launch + taken.n_launches; i++) {
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

static void print_times(const struct gpu *gpu, const struct rotation *r, struct timing *t) {
    int64_t flops, bytes;
    int n = t->repetitions;
    timing_close(t);
    job_work(gpu->job, &flops, &bytes);
    print_resources(gpu);
    printf("%s on %s: %.2f us (median of %d x %d launches; min %.2f, max %.2f, spread %.1f %%)\n",
        gpu->job->kernel->name, fx_context_device(gpu->job->context), t->median, n, t->batch, t->us[0], t->us[n - 1],
        100 * (t->us[n - 1] - t->us[0]) / t->median);
    if (flops < INT64_MAX && bytes < INT64_MAX)
        printf("%.1f GB/s, %.2f TFLOP/s (%lld bytes, %lld flops; copies of the arguments, in turn: %d)\n",
            (double)bytes / t->median * 1e-3, (double)flops / t->median * 1e-6, (long long)bytes, (long long)flops,
            r->n_sets);
}

static fx_status time_job(const struct gpu *gpu, struct timing *t) {
    struct rotation rotation;
    fx_timer *timer = NULL;
    fx_status status = fx_timer_open(gpu->job->context, &timer);
    if (status != FX_OK) return gpu_failed(status, "cannot time");
    status = rotation_open(gpu, &rotation);
    if (status == FX_OK) status = warm_up(gpu, &rotation, timer, t);
    for (int i = 0; status == FX_OK && i < t->repetitions; i++)
        status = time_batch(gpu, &rotation, timer, t->batch, &t->us[i]);
    if (status == FX_OK) print_times(gpu, &rotation, t);
    /* Copies may only go once nothing queued uses them. */
    fx_stream_wait(gpu->job->context, gpu->stream);
    rotation_close(gpu, &rotation);
    fx_timer_close(timer);
    return status;
}

struct bench { /* under way */
    bool is_first;
    struct roof *roof; /* NULL: no page is wanted */
};

/* Checks, then times; *median in microseconds. */
static fx_status bench_request(
    const struct request *r, const struct machine *machine, struct bench *bench, double *median) {
    struct job job;
    struct gpu gpu;
    struct timing timing = timing_of(r->block);
    if (!machine->context)
        return complain(machine->status,
            "no GPU: %s\nfxc: times are a GPU's: run bench where there is one; without one, check and test compare "
            "results on the emulator, and bench --ablate --plan-only lists terms",
            machine->no_gpu);
    fx_status status = job_open(r, machine, false, &job);
    if (status != FX_OK) return status;
    if ((status = gpu_open(&job, &gpu)) == FX_OK) {
        status = check_job(&job, &gpu, false, false);
        if (status == FX_OK) status = time_job(&gpu, &timing);
        else if (status == FX_ERR_DIFFERS) complain(status, "not timed: the result is not known to be right");
        if (status == FX_OK && bench->roof)
            roof_add(bench->roof, &job, r->is_unfused ? ", unfused" : "", timing.median);
        gpu_close(&gpu);
    }
    job_close(&job);
    *median = timing.median;
    return status;
}

/* Objects of one list, or tables. */
static fx_status ablate_next(const struct request *r, const struct machine *machine, bool is_first) {
    bool is_json = is_given(r->cmd, OPT_JSON);
    if (is_json) printf("%s", is_first ? "[" : ",\n");
    else if (!is_first) printf("\n");
    return ablate_request(r, machine);
}

static fx_status bench_block(struct request *r, const struct machine *machine, void *user) {
    double median = 0, other = 0;
    struct bench *bench = user;
    const bool was_first = bench->is_first;
    bench->is_first = false;
    if (is_given(r->cmd, OPT_ABLATE)) return ablate_next(r, machine, was_first);
    if (!was_first) printf("\n");
    printf("bench %s (line %d)\n", r->block->kernel, r->block->line);
    fx_status status = bench_request(r, machine, bench, &median);
    for (int i = 0; status == FX_OK && i < r->block->n_beside; i++) {
        if (strcmp(r->block->beside[i], "unfused") != 0) {
            printf("vs %s: not available in this version\n", r->block->beside[i]);
            continue;
        }
        printf("vs unfused:\n");
        r->is_unfused = true;
        status = bench_request(r, machine, bench, &other);
        r->is_unfused = false;
        if (status == FX_OK)
            printf("vs unfused: %.2f us; fused it takes %.2f us, %.2f of that\n", other, median, median / other);
    }
    fflush(stdout);
    return status;
}

static fx_status bench_spec(
    const struct command *cmd, const struct spec *spec, const struct machine *machine, struct bench *bench) {
    struct request r = {0};
    double median;
    int n = 0;
    fx_status status = FX_OK;
    if (!is_given(cmd, OPT_INPUT) && !is_given(cmd, OPT_DEFINE))
        status = act_on_blocks(cmd, spec, machine, true, &n, bench_block, bench);
    bool is_listed = n > 0;
    if (!is_listed && status == FX_OK) {
        status = request_open(cmd, spec, NULL, &r);
        if (status == FX_OK && is_given(cmd, OPT_ABLATE)) status = ablate_next(&r, machine, true), is_listed = true;
        else if (status == FX_OK) status = bench_request(&r, machine, bench, &median);
        request_release(&r);
    }
    if (is_listed && is_given(cmd, OPT_JSON)) printf("]\n");
    return status;
}

static fx_status check_options(const struct command *cmd) {
    if (is_given(cmd, OPT_ABLATE))
        return is_given(cmd, OPT_HTML) ? usage_error(cmd, "--html does not go with --ablate") : FX_OK;
    if (is_given(cmd, OPT_JSON)) return usage_error(cmd, "--json goes with --ablate");
    return is_given(cmd, OPT_PLAN_ONLY) ? usage_error(cmd, "--plan-only goes with --ablate") : FX_OK;
}

fx_status command_bench(const struct command *cmd) {
    const char *path;
    struct spec spec = {0};
    struct machine machine = {0};
    fx_status status = only_operand(cmd, &path);
    if (status == FX_OK) status = check_options(cmd);
    if (status == FX_OK) status = spec_read(path, &spec);
    if (status == FX_OK && !is_given(cmd, OPT_PLAN_ONLY)) machine_open(cmd, &machine);
    struct bench bench = {.is_first = true};
    const char *page = option_value(cmd, OPT_HTML);
    if (status == FX_OK && page && !(bench.roof = calloc(1, sizeof *bench.roof)))
        status = complain(FX_ERR_NOMEM, "out of memory");
    if (status == FX_OK) status = bench_spec(cmd, &spec, &machine, &bench);
    if (status == FX_OK && page) status = write_roof_page(bench.roof, &spec, page);
    if (bench.roof) free(bench.roof->receipt);
    free(bench.roof);
    machine_close(&machine);
    spec_release(&spec);
    return status;
}
