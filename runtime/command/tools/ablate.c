/* bench --ablate: what each term of a kernel costs. Input: a request. Output: a table, or an object of JSON: the kernel
 * whole and without each of its terms, timed in turn, so that all see the same clocks; with --plan-only what each comes
 * to, without a GPU. Every kernel is compared with the oracle first; what is not right gets no time. The copies of the
 * arguments are those of the whole kernel: all take the same. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "command/report_json.h"

enum { SCHEMA_VERSION = 1 };

struct candidate { /* the kernel whole, or without a term */
    struct request request;
    const struct fx_ablation *term; /* NULL: whole */
    struct job job;
    struct gpu gpu;
    struct timing timing;
    bool is_job, is_gpu;            /* what is open */
    const char *why_not;            /* it has no time; NULL: it has */
    int registers;                  /* a thread, of the entry with the most; 0: not known */
};

struct terms_table {
    struct candidate whole, *without; /* each of the terms, in order */
    int n_terms;
    char (*extents)[96];              /* "LABEL=N" as bound */
    const char **extent_list;
    bool is_plan_only;
};

static struct candidate *candidate(struct terms_table *t, int i) { return i ? &t->without[i - 1] : &t->whole; }

/* ---- kernels ---- */

static fx_status open_candidate(
    struct terms_table *t, const struct request *r, const struct machine *machine, int number) {
    static const struct limits nothing = {-1, -1}; /* beyond which all is: no argument is drawn */
    struct candidate *c = candidate(t, number);
    c->request = *r;
    c->request.ablate = number;
    if (t->is_plan_only) c->request.most = &nothing;
    if (number) c->request.kernel = t->whole.job.kernel->name;
    if (number)
        c->request.ablate_extents = t->extent_list, c->request.n_ablate_extents = t->whole.job.kernel->n_extents;
    fx_status status = job_open(&c->request, machine, false, &c->job);
    c->is_job = status == FX_OK;
    if (status != FX_ERR_COMPILE || !number) return status;
    c->why_not = "it does not compile";
    return FX_OK;
}

/* The extents of the whole kernel, by which its terms are found. */
static fx_status list_extents(struct terms_table *t) {
    const struct job *job = &t->whole.job;
    int n = job->kernel->n_extents;
    t->extents = calloc((size_t)n + 1, sizeof *t->extents);
    t->extent_list = calloc((size_t)n + 1, sizeof *t->extent_list);
    if (!t->extents || !t->extent_list) return complain(FX_ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        snprintf(t->extents[i], sizeof t->extents[i], "%.64s=%lld", job->kernel->extents[i].name,
            (long long)job->extents[i]);
        t->extent_list[i] = t->extents[i];
    }
    return FX_OK;
}

static fx_status open_all(struct terms_table *t, const struct request *r, const struct machine *machine) {
    fx_status status = open_candidate(t, r, machine, 0);
    if (status == FX_OK) status = list_extents(t);
    if (status != FX_OK) return status;
    const struct fx_ablation *terms = fx_ablations(t->whole.job.compilation, t->whole.job.kernel->name, t->extent_list,
        t->whole.job.kernel->n_extents, &t->n_terms);
    t->without = calloc((size_t)t->n_terms + 1, sizeof *t->without);
    if (!terms || !t->without) return complain(FX_ERR_NOMEM, "out of memory");
    for (int i = 1; status == FX_OK && i <= t->n_terms; i++) {
        t->without[i - 1].term = &terms[i - 1];
        status = open_candidate(t, r, machine, i);
    }
    return status;
}

static void close_all(struct terms_table *t) {
    for (int i = t->without ? t->n_terms : 0; i >= 0; i--) {
        struct candidate *c = candidate(t, i);
        if (c->is_gpu) gpu_close(&c->gpu);
        if (c->is_job) job_close(&c->job);
    }
    free(t->without);
    free(t->extents);
    free(t->extent_list);
}

/* ---- times ---- */

/* What only a comparison needs: the arguments here and on the GPU. */
static void drop_arguments(struct candidate *c) {
    gpu_set_close(&c->gpu, &c->gpu.set);
    for (int p = 0; p < c->job.kernel->n_params; p++) {
        struct argument *a = &c->job.arguments[p];
        free(a->data), free(a->result);
        a->data = a->result = NULL;
    }
}

static fx_status check_candidate(struct candidate *c) {
    fx_status status = gpu_open(&c->job, &c->gpu);
    c->is_gpu = status == FX_OK;
    const struct fx_partition taken = job_partition(&c->job);
    for (int i = taken.first_launch; c->is_gpu && i < taken.first_launch + taken.n_launches; i++) {
        struct fx_resources r;
        int v = gpu_chosen_variant(&c->gpu, i);
        if (v >= 0 && fx_variant_resources(c->gpu.prepared, i, v, &r) == FX_OK && r.registers > c->registers)
            c->registers = r.registers;
    }
    if (status == FX_OK) status = check_quietly(&c->job, &c->gpu);
    if (c->is_gpu && c->term) drop_arguments(c);
    if (status != FX_ERR_DIFFERS) return status;
    c->why_not = "its result is not known to be right";
    return c->term ? FX_OK : complain(status, "%s: not timed: %s", c->job.kernel->name, c->why_not);
}

/* One repetition of every kernel after the other. */
static fx_status time_in_turn(struct terms_table *t, struct rotation *r, fx_timer *timer) {
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i <= t->n_terms; i++) {
        struct candidate *c = candidate(t, i);
        c->timing = timing_of(c->request.block);
        if (!c->why_not) status = warm_up(&c->gpu, r, timer, &c->timing);
    }
    for (int n = 0; status == FX_OK && n < t->whole.timing.repetitions; n++)
        for (int i = 0; status == FX_OK && i <= t->n_terms; i++) {
            struct candidate *c = candidate(t, i);
            if (!c->why_not) status = time_batch(&c->gpu, r, timer, c->timing.batch, &c->timing.us[n]);
        }
    for (int i = 0; status == FX_OK && i <= t->n_terms; i++) timing_close(&candidate(t, i)->timing);
    return status;
}

static fx_status time_all(struct terms_table *t) {
    struct rotation rotation = {0};
    fx_timer *timer = NULL;
    fx_status status = FX_OK;
    for (int i = 0; status == FX_OK && i <= t->n_terms; i++)
        if (!candidate(t, i)->why_not) status = check_candidate(candidate(t, i));
    if (status == FX_OK && (status = fx_timer_open(t->whole.job.context, &timer)) != FX_OK)
        return gpu_failed(status, "cannot time");
    if (status == FX_OK) status = rotation_open(&t->whole.gpu, &rotation);
    if (status == FX_OK) status = time_in_turn(t, &rotation, timer);
    for (int i = 0; i <= t->n_terms; i++) /* copies may only go once nothing queued uses them */
        if (candidate(t, i)->is_gpu) fx_stream_wait(t->whole.job.context, candidate(t, i)->gpu.stream);
    if (t->whole.is_gpu) rotation_close(&t->whole.gpu, &rotation);
    fx_timer_close(timer);
    return status;
}

/* ---- text ---- */

static void print_drivers(const struct job *job) {
    const struct fx_partition taken = job_partition(job);
    for (int i = 0; i < taken.n_launches; i++)
        printf("%s%s", i ? "; " : "", job->kernel->launches[taken.first_launch + i].driver);
}

static void print_term(const struct fx_ablation *term) {
    printf("%s", term->text);
    if (term->call) printf(", in %s", term->call);
    printf("; instead %s\n", term->instead);
}

static void print_plans(struct terms_table *t) {
    printf("terms of %s\n  line  place         kernels        bytes        flops  what is left out\n",
        t->whole.job.kernel->name);
    for (int i = 0; i <= t->n_terms; i++) {
        const struct candidate *c = candidate(t, i);
        int64_t flops = 0, bytes = 0;
        if (c->is_job) job_work(&c->job, &flops, &bytes);
        if (c->term) printf("  %4d  %-12s  ", c->term->line, c->term->place);
        else printf("        %-12s  ", "whole");
        if (c->why_not) printf("%s: ", c->why_not);
        else printf("%7d  %11lld  %11lld  ", job_partition(&c->job).n_launches, (long long)bytes, (long long)flops);
        if (c->term) print_term(c->term);
        else print_drivers(&c->job), printf("\n");
    }
}

static void print_times(struct terms_table *t) {
    const struct timing *whole = &t->whole.timing;
    printf(
        "%s on %s, whole: %.2f us, %d kernel%s, %d registers (median of %d x %d launches, in turn with those below)\n",
        t->whole.job.kernel->name, fx_context_device(t->whole.job.context), whole->median,
        job_partition(&t->whole.job).n_launches, job_partition(&t->whole.job).n_launches == 1 ? "" : "s",
        t->whole.registers,
        whole->repetitions, whole->batch);
    printf("  line  place         us without    it costs        %%  registers  kernels  what is left out\n");
    for (int i = 1; i <= t->n_terms; i++) {
        const struct candidate *c = candidate(t, i);
        printf("  %4d  %-12s  ", c->term->line, c->term->place);
        if (c->why_not) printf("no time: %s: ", c->why_not);
        else
            printf("%10.2f  %10.2f  %7.1f  %9d  %7d  ", c->timing.median, whole->median - c->timing.median,
                100 * (whole->median - c->timing.median) / whole->median, c->registers,
                job_partition(&c->job).n_launches);
        print_term(c->term);
    }
}

/* ---- JSON ---- */

static void put_candidate(struct json *j, const struct terms_table *t, const struct candidate *c) {
    int64_t flops = 0, bytes = 0;
    json_open(j, '{');
    if (c->term) {
        json_member_int(j, "line", c->term->line);
        json_member_text(j, "place", c->term->place);
        json_member_text(j, "term", c->term->text);
        json_member_text(j, "call", c->term->call);
        json_member_text(j, "instead", c->term->instead);
    }
    json_member_text(j, "no_time", t->is_plan_only && !c->why_not ? "only planned" : c->why_not);
    if (c->is_job) {
        job_work(&c->job, &flops, &bytes);
        json_member_int(j, "bytes", bytes);
        json_member_int(j, "flops", flops);
        json_open_list(j, "drivers");
        const struct fx_partition taken = job_partition(&c->job);
        for (int i = taken.first_launch; i < taken.first_launch + taken.n_launches; i++)
            json_string(j, c->job.kernel->launches[i].driver);
        json_close(j, ']');
    }
    if (!t->is_plan_only && !c->why_not) {
        json_member_real(j, "us", c->timing.median);
        json_member_real(j, "min_us", c->timing.us[0]);
        json_member_real(j, "max_us", c->timing.us[c->timing.repetitions - 1]);
        if (c->term) json_member_real(j, "costs_us", t->whole.timing.median - c->timing.median);
        if (c->term)
            json_member_real(
                j, "costs_percent", 100 * (t->whole.timing.median - c->timing.median) / t->whole.timing.median);
        json_member_int(j, "registers", c->registers);
    }
    json_close(j, '}');
}

static void put_members(struct json *j, const void *of) {
    const struct terms_table *t = of;
    json_key(j, "whole");
    put_candidate(j, t, &t->whole);
    json_open_list(j, "terms");
    for (int i = 1; i <= t->n_terms; i++) {
        json_line(j);
        put_candidate(j, t, &t->without[i - 1]);
    }
    json_close(j, ']');
}

static fx_status print_json(const struct terms_table *t) {
    return report_json(&(struct report_json){.version = SCHEMA_VERSION,
        .job = &t->whole.job,
        .device = t->is_plan_only ? NULL : fx_context_device(t->whole.job.context),
        .before = "",
        .put_members = put_members,
        .of = t});
}

fx_status ablate_request(const struct request *r, const struct machine *machine) {
    struct terms_table t = {.is_plan_only = is_given(r->cmd, OPT_PLAN_ONLY)};
    bool is_json = is_given(r->cmd, OPT_JSON);
    fx_status status = FX_OK;
    if (!t.is_plan_only && !machine->context) return complain(machine->status, "no GPU: %s", machine->no_gpu);
    status = open_all(&t, r, machine);
    if (status == FX_OK && !t.is_plan_only) status = time_all(&t);
    if (status == FX_OK && is_json) status = print_json(&t);
    else if (status == FX_OK) (t.is_plan_only ? print_plans : print_times)(&t);
    close_all(&t);
    fflush(stdout);
    return status;
}
