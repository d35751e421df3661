/* The test subcommand, and blocks for bench.
 *
 * In: specs with test and bench blocks. Out: a line a test: what was compared, and how it came out. With --jobs tests
 * run at once, in threads that share the machine's context. Their lines stand in the order of the blocks. Those that
 * find no memory beside others run again alone. Invariant: a test in which nothing was compared is `not checked` and no
 * success. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"

/* ---- blocks ---- */

static fx_status act_on_block(const struct command *cmd, const struct spec *spec, const struct fx_test *block,
    const struct machine *machine, fx_status (*act)(struct request *, const struct machine *, void *user), void *user) {
    struct request r = {0};
    fx_status status = request_open(cmd, spec, block, &r);
    if (status == FX_OK) status = act(&r, machine, user);
    request_release(&r);
    return status;
}

fx_status act_on_blocks(const struct command *cmd, const struct spec *spec, const struct machine *machine, bool benches,
    int *n, fx_status (*act)(struct request *, const struct machine *, void *user), void *user) {
    struct request list = {0};
    fx_compilation *c = NULL;
    int n_blocks = 0;
    fx_status first = request_open(cmd, spec, NULL, &list);
    list.wants_tests = true;
    if (first == FX_OK) first = compile_spec(&list, NULL, true, &c);
    const struct fx_test *blocks = first == FX_OK ? fx_tests(c, &n_blocks) : NULL;
    for (int i = 0; i < n_blocks; i++) {
        if (blocks[i].is_bench != benches) continue;
        fx_status status = act_on_block(cmd, spec, &blocks[i], machine, act, user);
        if (first == FX_OK) first = status;
        ++*n;
    }
    fx_close(c);
    request_release(&list);
    return first;
}

/* ---- one test ---- */

enum { MAX_JOBS = 256 };

struct tally { /* of the tests so far */
    int n_ok, n_failed, n_unchecked;
    int n_left_out;            /* of more work than --max-flops or --max-bytes */
    int n_jobs;                /* tests that run at once */
    bool ran_short;            /* of memory, some test */
    struct limits most;
    const char *why_unchecked; /* for the lines of tests that are not */
};

static void print_name(const char *outcome, const struct request *r) {
    fprintf(out_stream(), "%s %s (line %d): ", outcome, r->block->kernel, r->block->line);
}

static void print_output(
    const char *separator, const struct argument *a, const struct expected *e, const struct comparison *c) {
    fprintf(out_stream(), "%s%s ", separator, a->param->name);
    if (c->n_wrong) {
        int64_t flat = element_of(e, c->worst);
        double got = fx_load_double(a->shape.dtype, a->result, (size_t)flat), want = e->value[c->worst];
        print_index(&a->shape, flat);
        fprintf(out_stream(), " got %.9g, want %.9g; %lld wrong, ", isnan(got) ? (double)NAN : got, want,
            (long long)c->n_wrong);
    }
    if (c->closest >= 0) fprintf(out_stream(), "error %.3g of %.3g allowed, ", c->error, c->allowed);
    if ((size_t)c->n_compared < a->n_elements) fprintf(out_stream(), "%lld of ", (long long)c->n_compared);
    fprintf(out_stream(), "%zu elements", a->n_elements);
    print_kinds(", ", c);
}

/* Of a block at real extents, which is right: the same on integers. */
static fx_status judge_integers(struct job *job, struct tally *tally) {
    struct verdict v = {0};
    fx_status status = check_integers(job, &v);
    if (status != FX_OK) return tally->n_failed++, status;
    if (v.n_wrong) {
        print_name("FAILED", job->request);
        fprintf(out_stream(), "on integers %lld of %lld elements are wrong\n", (long long)v.n_wrong,
            (long long)v.n_compared);
    }
    ++*(v.n_wrong ? &tally->n_failed : &tally->n_ok);
    return v.n_wrong ? FX_ERR_DIFFERS : FX_OK;
}

/* Compares every output and prints the line. */
static fx_status judge(struct job *job, const struct expected *e, struct tally *tally) {
    struct verdict verdict = {0};
    struct comparison c[FX_MAX_PARAMS];
    for (int i = 0; i < job->n_outputs; i++) {
        c[i] = compare(&job->arguments[job_output(job, i)], &e[i], job_tolerance(job));
        add_comparison(&verdict, &c[i]);
    }
    const char *why = why_unchecked(&verdict);
    print_name(verdict.n_wrong ? "FAILED" : why ? "not checked" : "ok ", job->request);
    for (int i = 0; i < job->n_outputs; i++)
        print_output(i ? "; " : "", &job->arguments[job_output(job, i)], &e[i], &c[i]);
    if (why && verdict.n_compared) fprintf(out_stream(), "; %s", why);
    fprintf(out_stream(), "\n");
    if (!verdict.n_wrong && !why && job_is_sampled(job)) return judge_integers(job, tally);
    ++*(verdict.n_wrong ? &tally->n_failed : why ? &tally->n_unchecked : &tally->n_ok);
    return verdict.n_wrong || why ? FX_ERR_DIFFERS : FX_OK;
}

static fx_status test_gpu(struct job *job, struct tally *tally) {
    struct gpu gpu;
    struct expected *e = NULL;
    fx_status status = expect_all(job, &e);
    if (status == FX_OK && (status = gpu_open(job, &gpu)) == FX_OK) {
        status = gpu_run(&gpu);
        gpu_close(&gpu);
        if (status == FX_OK) status = judge(job, e, tally);
        else tally->n_failed++;
    } else {
        tally->n_failed++;
    }
    expected_release(e, job->n_outputs);
    return status;
}

/* Without a GPU there is nothing to compare: says what the oracle makes of the first and last elements, so that it has
 * run. */
static fx_status test_oracle(const struct job *job, struct tally *tally) {
    fx_status status = FX_OK;
    double value[FX_MAX_PARAMS][2];
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) {
        int64_t n = (int64_t)job->arguments[job_output(job, i)].n_elements, ends[2] = {0, n - 1};
        if (n) status = job_evaluate(job, i, ends, 2, value[i], NULL, NULL);
    }
    if (status != FX_OK) return tally->n_failed++, status;
    print_name("not checked", job->request);
    fprintf(out_stream(), "%s; by the oracle", tally->why_unchecked);
    for (int i = 0; i < job->n_outputs; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        fprintf(out_stream(), "%s %s", i ? ";" : "", a->param->name);
        for (int j = 0; a->n_elements && j < 2; j++) {
            fprintf(out_stream(), "%s", j ? ", " : " ");
            print_index(&a->shape, j ? (int64_t)a->n_elements - 1 : 0);
            fprintf(out_stream(), " is %.9g", value[i][j]);
        }
        if (!a->n_elements) fprintf(out_stream(), " is empty");
    }
    fprintf(out_stream(), "\n");
    tally->n_unchecked++;
    return FX_ERR_DIFFERS;
}

/* Not begun: the emulator is no place for it. */
static fx_status pass_over(const struct job *job, struct tally *tally) {
    print_name("not checked", job->request);
    fprintf(out_stream(), "%s\n", job->too_long);
    tally->n_unchecked++;
    return FX_ERR_DIFFERS;
}

static fx_status run_test(struct request *r, const struct machine *machine, void *user) {
    struct tally *tally = user;
    struct job job;
    const char *device;
    int n_failed = tally->n_failed;
    fx_status status = read_device(r->cmd, &device);
    r->most = &tally->most;
    r->ran_short = &tally->ran_short;
    if (status == FX_OK) status = job_open(r, machine, !strcmp(device, "cpu"), &job);
    if (status != FX_OK) {
        tally->n_failed++;
    } else {
        if (job.is_left_out) tally->n_left_out++;
        else if (*job.too_long) status = pass_over(&job, tally);
        else status = job.context ? test_gpu(&job, tally) : test_oracle(&job, tally);
        job_close(&job);
    }
    if (status != FX_OK && status != FX_ERR_DIFFERS && tally->n_failed > n_failed) {
        print_name("FAILED", r);
        fprintf(out_stream(), "it could not be run\n");
    }
    fflush(out_stream());
    return status;
}

/* ---- several at once ---- */

struct outcome { /* of a block */
    fx_status status;
    struct tally tally;
    struct words words;
    bool is_done; /* and neither its words nor its tally will change */
};

struct crew { /* threads that take the next block until there is none */
    const struct command *cmd;
    const struct spec *spec;
    const struct machine *machine;
    const struct fx_test **blocks;
    struct outcome *outcomes; /* one a block */
    int n_blocks, n_begun, n_written;
    pthread_mutex_t lock;
};

/* What is done and has only done ones before it is written. */
static void write_done(struct crew *c) {
    for (; c->n_written < c->n_begun && c->outcomes[c->n_written].is_done; c->n_written++) {
        words_write(&c->outcomes[c->n_written].words);
        words_release(&c->outcomes[c->n_written].words);
    }
}

static void run_block(const struct crew *c, int i) {
    struct outcome *o = &c->outcomes[i];
    if (!words_begin(&o->words)) o->status = complain(FX_ERR_NOMEM, "out of memory"), o->tally.n_failed++;
    else {
        o->status = act_on_block(c->cmd, c->spec, c->blocks[i], c->machine, run_test, &o->tally);
        if (!words_end()) o->status = complain(FX_ERR_NOMEM, "out of memory"), o->tally.n_failed++;
    }
    if (o->status == FX_ERR_NOMEM) o->tally.ran_short = true;
}

static void *work_off(void *data) {
    struct crew *c = data;
    pthread_mutex_lock(&c->lock);
    while (c->n_begun < c->n_blocks) {
        const int i = c->n_begun++;
        pthread_mutex_unlock(&c->lock);
        run_block(c, i);
        pthread_mutex_lock(&c->lock);
        c->outcomes[i].is_done = c->n_blocks == 1 || !c->outcomes[i].tally.ran_short;
        write_done(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* What ran short of memory beside others runs once more, alone. */
static void run_alone(struct crew *c) {
    for (int i = 0; i < c->n_blocks; i++) {
        struct outcome *o = &c->outcomes[i];
        if (o->is_done) continue;
        words_release(&o->words);
        o->tally = (struct tally){.most = o->tally.most, .why_unchecked = o->tally.why_unchecked};
        run_block(c, i);
        o->is_done = true;
        write_done(c);
    }
}

/* The caller is one of n_jobs. A thread that cannot be had is done without. */
static void run_crew(struct crew *c, int n_jobs) {
    enum { STACK_BYTES = 8 << 20 }; /* as the main thread has it: the compiler recurses */
    pthread_t threads[MAX_JOBS];
    pthread_attr_t attributes;
    int n = 0;
    pthread_mutex_init(&c->lock, NULL);
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        while (n < n_jobs - 1 && n < c->n_blocks - 1 && pthread_create(&threads[n], &attributes, work_off, c) == 0) n++;
        pthread_attr_destroy(&attributes);
    }
    work_off(c);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    run_alone(c);
    pthread_mutex_destroy(&c->lock);
}

/* All test blocks of a spec. */
static fx_status test_blocks(
    const struct command *cmd, const struct spec *spec, const struct machine *machine, struct tally *tally, int *n) {
    struct request list = {0};
    fx_compilation *compilation = NULL;
    int n_all = 0;
    fx_status first = request_open(cmd, spec, NULL, &list);
    struct crew c = {.cmd = cmd, .spec = spec, .machine = machine};
    list.wants_tests = true;
    if (first == FX_OK) first = compile_spec(&list, NULL, true, &compilation);
    const struct fx_test *all = first == FX_OK ? fx_tests(compilation, &n_all) : NULL;
    c.blocks = calloc((size_t)n_all + 1, sizeof *c.blocks);
    c.outcomes = calloc((size_t)n_all + 1, sizeof *c.outcomes);
    if (!c.blocks || !c.outcomes) first = complain(FX_ERR_NOMEM, "out of memory"), n_all = 0;
    for (int i = 0; i < n_all; i++)
        if (!all[i].is_bench) c.blocks[c.n_blocks++] = &all[i];
    for (int i = 0; i < c.n_blocks; i++)
        c.outcomes[i].tally = (struct tally){.most = tally->most, .why_unchecked = tally->why_unchecked};
    if (c.n_blocks) run_crew(&c, tally->n_jobs);
    for (int i = 0; i < c.n_blocks; i++) {
        const struct outcome *o = &c.outcomes[i];
        if (first == FX_OK) first = o->status;
        tally->n_ok += o->tally.n_ok;
        tally->n_failed += o->tally.n_failed;
        tally->n_unchecked += o->tally.n_unchecked;
        tally->n_left_out += o->tally.n_left_out;
    }
    *n += c.n_blocks;
    free(c.blocks);
    free(c.outcomes);
    fx_close(compilation);
    request_release(&list);
    return first;
}

/* ---- all of them ---- */

static fx_status test_files(const struct command *cmd, const struct machine *machine, struct tally *tally) {
    fx_status first = FX_OK;
    int n = 0;
    for (int i = 0; i < cmd->n_operands; i++) {
        struct spec spec = {0};
        fx_status status = spec_read(cmd->operands[i], &spec);
        if (status == FX_OK && cmd->n_operands > 1) printf("%s:\n", cmd->operands[i]);
        if (status == FX_OK)
            status = tally->n_jobs > 1 ? test_blocks(cmd, &spec, machine, tally, &n)
                                       : act_on_blocks(cmd, &spec, machine, false, &n, run_test, tally);
        if (first == FX_OK) first = status;
        spec_release(&spec);
    }
    if (n == 0 && first == FX_OK)
        return usage_error(cmd, "no test block %s%s: write one, test KERNEL { M=64 }",
            is_given(cmd, OPT_KERNEL) ? "of kernel " : "in what was given",
            is_given(cmd, OPT_KERNEL) ? option_value(cmd, OPT_KERNEL) : "");
    if (n > 0) printf("%d ok, %d failed, %d not checked", tally->n_ok, tally->n_failed, tally->n_unchecked);
    if (n > 0) printf(tally->n_left_out ? ", %d left out\n" : "\n", tally->n_left_out);
    return first;
}

/* INFINITY where the option is not given. */
static fx_status read_limit(const struct command *cmd, enum option_id option, const char *name, double *most) {
    const char *text = option_value(cmd, option);
    char *end = NULL;
    *most = text ? strtod(text, &end) : INFINITY;
    if (text && (end == text || *end || !(*most >= 0))) return usage_error(cmd, "--%s %s is no number", name, text);
    return FX_OK;
}

/* As many as --jobs says; without it as many as this machine has cores on a GPU, where most of the time is the
 * compiler's and the oracle's, and one on the emulator, which has threads of its own. */
static fx_status read_jobs(const struct command *cmd, const struct machine *machine, int *n) {
    const char *text = option_value(cmd, OPT_JOBS);
    char *end = NULL;
    const bool is_gpu = machine->context && !machine->is_emulated;
    long jobs = text ? strtol(text, &end, 10) : is_gpu ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    if (text && (end == text || *end || jobs < 1 || jobs > MAX_JOBS))
        return usage_error(cmd, "--jobs %s is no number from 1 to %d", text, MAX_JOBS);
    *n = jobs < 1 ? 1 : jobs < MAX_JOBS ? (int)jobs : MAX_JOBS;
    return FX_OK;
}

fx_status command_test(const struct command *cmd) {
    struct machine machine = {0};
    struct tally tally = {.why_unchecked = "on the CPU the oracle would be compared with itself"};
    const char *device;
    fx_status status = read_device(cmd, &device);
    if (status == FX_OK) status = read_limit(cmd, OPT_MAX_FLOPS, "max-flops", &tally.most.flops);
    if (status == FX_OK) status = read_limit(cmd, OPT_MAX_BYTES, "max-bytes", &tally.most.bytes);
    if (status == FX_OK) status = read_jobs(cmd, &machine, &tally.n_jobs);
    if (status == FX_OK && cmd->n_operands == 0) status = usage_error(cmd, "no spec given");
    if (status != FX_OK) return status;
    if (strcmp(device, "cpu") != 0) {
        machine_open_any(cmd, &machine);
        tally.why_unchecked = "no GPU";
        if (!machine.context) complain(machine.status, "no GPU: %s", machine.no_gpu);
    }
    if (!strcmp(device, "gpu") || !strcmp(device, "emu")) status = machine.status;
    if (status == FX_OK) status = read_jobs(cmd, &machine, &tally.n_jobs);
    if (status == FX_OK) status = test_files(cmd, &machine, &tally);
    machine_close(&machine);
    return status;
}
