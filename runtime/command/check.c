/* The check subcommand. Input: a job on the GPU or on the emulator. Output: every element, or a sample of a large
 * result, compared with the oracle. Invariant: a run in which nothing was compared is never reported as right. */
#include <math.h>
#include <string.h>

#include "command/command.h"
#include "emu/observer.h"

/* ---- who wrote an element, where the emulator shows it ---- */

struct writer {
    const char *tensor; /* whose bytes [first, end) are watched */
    uint64_t first, end;
    char entry[128];    /* that runs */
    char of[128];       /* that wrote there last; "" before */
    unsigned grid, block, thread;
};

static void begin_launch(void *data, const struct emu_seen_launch *launch) {
    struct writer *w = data;
    snprintf(w->entry, sizeof w->entry, "%s", launch->entry);
    w->grid = launch->grid;
}

static void see(void *data, const struct emu_seen *s) {
    struct writer *w = data;
    if (s->access != EMU_WRITE || !s->memory || strcmp(s->memory, w->tensor) != 0 || s->offset >= w->end ||
        s->offset + s->n_bytes <= w->first)
        return;
    memcpy(w->of, w->entry, sizeof w->of);
    w->block = s->block, w->thread = s->thread;
}

/* Runs once more, watched; says nothing of a device that shows nothing. */
static void print_writer(const struct gpu *gpu, const struct argument *a, int64_t flat) {
    uint64_t bytes = (uint64_t)fx_dtype_bits(a->shape.dtype) / 8;
    struct writer w = {.tensor = a->param->name, .first = (uint64_t)flat * bytes, .end = (uint64_t)(flat + 1) * bytes};
    if (!gpu->job->is_emulated) return;
    emu_observe(&(struct emu_observer){&w, begin_launch, see, NULL});
    fx_status status = gpu_run(gpu);
    emu_observe(NULL);
    if (status == FX_OK && *w.of)
        printf("    written by block %u of %u, thread %u, of %s\n", w.block, w.grid, w.thread, w.of);
}

static void print_comparison(
    const struct gpu *gpu, const struct argument *a, const struct expected *e, const struct comparison *c) {
    printf("  %s: %lld of %zu elements compared, %lld wrong", a->param->name, (long long)c->n_compared, a->n_elements,
           (long long)c->n_wrong);
    print_kinds(", ", c);
    if (c->n_compared)
        printf("; largest error %.3g, relative %.3g, %.3g ulp", c->max_absolute, c->max_relative, c->max_ulps);
    printf("\n");
    if (c->worst < 0) return;
    int64_t flat = element_of(e, c->worst);
    printf("    worst at ");
    print_index(&a->shape, flat);
    printf(": got %.9g, expected %.9g, bound %.3g\n", fx_load_double(a->shape.dtype, a->result, (size_t)flat),
        e->value[c->worst], e->bound[c->worst]);
    print_writer(gpu, a, flat);
}

/* One run and its comparison; adds to the verdict. */
static fx_status run_once(
    const struct job *job, const struct gpu *gpu, const struct expected *e, struct verdict *verdict) {
    fx_status status = gpu_run(gpu);
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        struct comparison c = compare(a, &e[i], job_tolerance(job));
        print_comparison(gpu, a, &e[i], &c);
        add_comparison(verdict, &c);
    }
    return status;
}

/* ---- variants ---- */

static void print_chosen(const struct job *job, const struct gpu *gpu) {
    const struct fx_partition taken = gpu_partition(gpu);
    for (int i = taken.first_launch; i < taken.first_launch + taken.n_launches; i++) {
        const struct fx_launch *l = &job->kernel->launches[i];
        int v = gpu_chosen_variant(gpu, i);
        printf("%s: %s\n", l->name, v < 0 ? "nothing to launch" : l->variants[v].config);
    }
}

/* Every other variant of a partition that can run these inputs, one launch at a time. */
static fx_status run_variants(const struct job *job, const struct gpu *gpu, const struct fx_partition *of,
    const struct expected *e, struct verdict *verdict) {
    struct fx_env env = job_env(job);
    fx_status status = FX_OK;
    for (int i = of->first_launch; i < of->first_launch + of->n_launches; i++) {
        const struct fx_launch *l = &job->kernel->launches[i];
        int chosen = gpu_chosen_variant(gpu, i);
        for (int v = 0; status == FX_OK && v < l->n_variants; v++) {
            int64_t can = 1;
            if (v == chosen || (l->variants[v].needs.n && (!fx_expr_eval(&l->variants[v].needs, &env, &can) || !can)))
                continue;
            printf("%s: %s\n", l->name, l->variants[v].config);
            status = fx_pin_variant(gpu->prepared, i, v);
            if (status != FX_OK) gpu_failed(status, "cannot take this variant");
            else status = run_once(job, gpu, e, verdict);
        }
        fx_pin_variant(gpu->prepared, i, -1);
        if (status != FX_OK) return status;
    }
    return FX_OK;
}

/* Every other partition too, whatever the extents. */
static fx_status run_partitions(
    const struct job *job, struct gpu *gpu, const struct expected *e, struct verdict *verdict) {
    const struct fx_partition taken = gpu_partition(gpu);
    fx_status status = run_variants(job, gpu, &taken, e, verdict);
    for (int i = 0; status == FX_OK && i < job->kernel->n_partitions; i++) {
        const struct fx_partition *other = &job->kernel->partitions[i];
        if (other->first_launch == taken.first_launch) continue;
        printf("partition %s\n", other->name);
        status = gpu_take_partition(gpu, i);
        if (status == FX_OK) status = run_once(job, gpu, e, verdict);
        if (status == FX_OK) status = run_variants(job, gpu, other, e, verdict);
    }
    return job->kernel->n_partitions && status == FX_OK ? gpu_take_partition(gpu, -1) : status;
}

fx_status check_job(const struct job *job, struct gpu *gpu, bool all_variants, bool must_vary) {
    struct expected *e = NULL;
    struct verdict verdict = {0};
    fx_status status = expect_all(job, &e);
    if (status == FX_OK) print_chosen(job, gpu);
    if (status == FX_OK) status = run_once(job, gpu, e, &verdict);
    if (status == FX_OK && all_variants) status = run_partitions(job, gpu, e, &verdict);
    expected_release(e, job->n_outputs);
    if (status != FX_OK) return status;
    const char *why = why_unchecked(&verdict);
    if (why && (must_vary || !verdict.n_compared)) {
        printf("not checked: %s\n", why);
        return FX_ERR_DIFFERS;
    }
    printf("%s: %s on %s, %lld elements compared, %lld wrong\n", verdict.n_wrong ? "differs" : "ok", job->kernel->name,
           fx_context_device(job->context), (long long)verdict.n_compared, (long long)verdict.n_wrong);
    return verdict.n_wrong ? FX_ERR_DIFFERS : FX_OK;
}

static const struct fx_tolerance derived = {FX_TOL_DERIVED, 0};

fx_status check_integers(struct job *job, struct verdict *v) {
    struct gpu gpu;
    struct expected *e = NULL;
    job_draw_integers(job);
    fx_status status = expect_all(job, &e);
    if (status == FX_OK && (status = gpu_open(job, &gpu)) == FX_OK) {
        status = gpu_run(&gpu);
        gpu_close(&gpu);
    }
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) {
        struct comparison c = compare(&job->arguments[job_output(job, i)], &e[i], &derived);
        add_comparison(v, &c);
        for (int64_t j = 0; j < e[i].n; j++) v->n_exact += e[i].bound[j] == 0 && !isnan(e[i].value[j]);
    }
    expected_release(e, job->n_outputs);
    return status;
}

/* After a comparison within a tolerance that was right. */
static fx_status check_exactly(struct job *job) {
    struct verdict v = {0};
    fx_status status = check_integers(job, &v);
    if (status != FX_OK) return status;
    printf("%s: the same on integers, %lld elements compared, %lld of them exactly, %lld wrong\n",
        v.n_wrong ? "differs" : "ok", (long long)v.n_compared, (long long)v.n_exact, (long long)v.n_wrong);
    return v.n_wrong ? FX_ERR_DIFFERS : FX_OK;
}

fx_status check_quietly(const struct job *job, const struct gpu *gpu) {
    struct expected *e = NULL;
    struct verdict verdict = {0};
    fx_status status = expect_all(job, &e);
    if (status == FX_OK) status = gpu_run(gpu);
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) {
        struct comparison c = compare(&job->arguments[job_output(job, i)], &e[i], job_tolerance(job));
        add_comparison(&verdict, &c);
    }
    expected_release(e, job->n_outputs);
    return status != FX_OK ? status : verdict.n_wrong || !verdict.n_compared ? FX_ERR_DIFFERS : FX_OK;
}

static fx_status check_on(const struct request *request, const struct machine *machine) {
    struct job job;
    struct gpu gpu;
    const char *device;
    fx_status status = read_device(request->cmd, &device);
    if (status == FX_OK && !strcmp(device, "cpu"))
        status = usage_error(request->cmd, "--device cpu is the oracle, which would be compared with itself");
    if (status == FX_OK && !machine->context && strcmp(device, "auto") != 0)
        status = complain(machine->status, !strcmp(device, "gpu") ? "no GPU: %s" : "%s", machine->no_gpu);
    if (status == FX_OK) status = job_open(request, machine, false, &job);
    if (status != FX_OK) return status;
    if (!job.context || *job.too_long) {
        printf("not checked: %s%s\n", *job.too_long ? "" : "no GPU: ", *job.too_long ? job.too_long : machine->no_gpu);
        job_close(&job);
        return FX_ERR_DIFFERS;
    }
    status = gpu_open(&job, &gpu);
    if (status == FX_OK) {
        status = check_job(&job, &gpu, is_given(request->cmd, OPT_ALL_VARIANTS), true);
        gpu_close(&gpu);
        if (status == FX_OK && job_is_sampled(&job)) status = check_exactly(&job);
    }
    job_close(&job);
    return status;
}

fx_status command_check(const struct command *cmd) { return act_on_request(cmd, true, check_on); }
