/* The test subcommand, and blocks for bench. Input: specs with test and bench blocks. Output: a line a test: what was
 * compared, and how it came out. Invariant: a test in which nothing was compared is `not checked` and no success. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* ---- blocks ---- */

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
        struct request r = {0};
        if (blocks[i].is_bench != benches) continue;
        fx_status status = request_open(cmd, spec, &blocks[i], &r);
        if (status == FX_OK) status = act(&r, machine, user);
        if (first == FX_OK) first = status;
        request_release(&r);
        ++*n;
    }
    fx_close(c);
    request_release(&list);
    return first;
}

/* ---- one test ---- */

struct tally { /* of the tests so far */
    int n_ok, n_failed, n_unchecked;
    int n_left_out;            /* of more work than --max-flops or --max-bytes */
    struct limits most;
    const char *why_unchecked; /* for the lines of tests that are not */
};

static void print_name(const char *outcome, const struct request *r) {
    printf("%s %s (line %d): ", outcome, r->block->kernel, r->block->line);
}

static void print_output(
    const char *separator, const struct argument *a, const struct expected *e, const struct comparison *c) {
    printf("%s%s ", separator, a->param->name);
    if (c->n_wrong) {
        int64_t flat = element_of(e, c->worst);
        double got = fx_load_double(a->shape.dtype, a->result, (size_t)flat), want = e->value[c->worst];
        print_index(&a->shape, flat);
        printf(" got %.9g, want %.9g; %lld wrong, ", isnan(got) ? (double)NAN : got, want, (long long)c->n_wrong);
    }
    if (c->closest >= 0) printf("worst %.3g of %.3g, ", c->error, c->allowed);
    if ((size_t)c->n_compared < a->n_elements) printf("%lld of ", (long long)c->n_compared);
    printf("%zu elements", a->n_elements);
    print_kinds(", ", c);
}

/* Of a block at real extents, which is right: the same on integers. */
static fx_status judge_integers(struct job *job, struct tally *tally) {
    struct verdict v = {0};
    fx_status status = check_integers(job, &v);
    if (status != FX_OK) return tally->n_failed++, status;
    if (v.n_wrong) {
        print_name("FAILED", job->request);
        printf("on integers %lld of %lld elements are wrong\n", (long long)v.n_wrong, (long long)v.n_compared);
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
    if (why && verdict.n_compared) printf("; %s", why);
    printf("\n");
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
    printf("%s; by the oracle", tally->why_unchecked);
    for (int i = 0; i < job->n_outputs; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        printf("%s %s", i ? ";" : "", a->param->name);
        for (int j = 0; a->n_elements && j < 2; j++) {
            printf("%s", j ? ", " : " ");
            print_index(&a->shape, j ? (int64_t)a->n_elements - 1 : 0);
            printf(" is %.9g", value[i][j]);
        }
        if (!a->n_elements) printf(" is empty");
    }
    printf("\n");
    tally->n_unchecked++;
    return FX_ERR_DIFFERS;
}

/* Not begun: the emulator is no place for it. */
static fx_status pass_over(const struct job *job, struct tally *tally) {
    print_name("not checked", job->request);
    printf("%s\n", job->too_long);
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
        printf("it could not be run\n");
    }
    fflush(stdout);
    return status;
}

/* ---- all of them ---- */

static fx_status test_files(const struct command *cmd, const struct machine *machine, struct tally *tally) {
    fx_status first = FX_OK;
    int n = 0;
    for (int i = 0; i < cmd->n_operands; i++) {
        struct spec spec = {0};
        fx_status status = spec_read(cmd->operands[i], &spec);
        if (status == FX_OK && cmd->n_operands > 1) printf("%s:\n", cmd->operands[i]);
        if (status == FX_OK) status = act_on_blocks(cmd, &spec, machine, false, &n, run_test, tally);
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

fx_status command_test(const struct command *cmd) {
    struct machine machine = {0};
    struct tally tally = {.why_unchecked = "on the CPU the oracle would be compared with itself"};
    const char *device;
    fx_status status = read_device(cmd, &device);
    if (status == FX_OK) status = read_limit(cmd, OPT_MAX_FLOPS, "max-flops", &tally.most.flops);
    if (status == FX_OK) status = read_limit(cmd, OPT_MAX_BYTES, "max-bytes", &tally.most.bytes);
    if (status == FX_OK && cmd->n_operands == 0) status = usage_error(cmd, "no spec given");
    if (status != FX_OK) return status;
    if (strcmp(device, "cpu") != 0) {
        machine_open_any(cmd, &machine);
        tally.why_unchecked = "no GPU";
        if (!machine.context) complain(machine.status, "no GPU: %s", machine.no_gpu);
    }
    if (!strcmp(device, "gpu") || !strcmp(device, "emu")) status = machine.status;
    if (status == FX_OK) status = test_files(cmd, &machine, &tally);
    machine_close(&machine);
    return status;
}
