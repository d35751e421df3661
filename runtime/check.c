/* The check subcommand. Input: a job on the GPU. Output: every element, or a sample of a large result, compared with the
 * oracle. Invariant: a run in which nothing was compared is never reported as right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "draw.h"

enum {
    SAMPLE = 4096,           /* elements compared of a large output */
    ORACLE_FLOPS = 1 << 26,  /* up to here the oracle computes every element, in about a second */
};

/* ---- which elements ---- */

struct sampler { /* a stream of drawn words */
    uint32_t counter[4];
    uint32_t words[4];
    int left; /* words not yet taken */
};

static uint32_t next_word(struct sampler *s) {
    static const uint32_t key[2] = {0x6678, 0};
    if (s->left == 0) {
        philox4x32(s->counter, key, s->words);
        s->counter[0]++;
        s->left = 4;
    }
    return s->words[--s->left];
}

static int64_t next_below(struct sampler *s, int64_t n) {
    uint64_t w = (uint64_t)next_word(s) << 32;
    w |= next_word(s);
    return (int64_t)(w % (uint64_t)n);
}

/* An index where kernels go wrong: an end of the axis, or beside a multiple of a tile. */
static int64_t next_edge(struct sampler *s, int64_t extent) {
    static const int64_t tiles[] = {8, 16, 64, 128, 256};
    uint32_t choice = next_word(s) % 8;
    if (choice == 0) return 0;
    if (choice == 1) return extent - 1;
    int64_t tile = tiles[next_word(s) % 5], n = extent / tile;
    int64_t at = (choice == 2 ? n : next_below(s, n + 1)) * tile + (int64_t)(next_word(s) % 3) - 1;
    return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Every corner, then indices drawn axis by axis, one in two beside a tile's edge. Returns how many are distinct, ascending. */
static int64_t sample(const struct fx_shape *shape, int64_t *elements) {
    struct sampler s = {0};
    for (int i = 0; i < SAMPLE; i++) {
        int64_t flat = 0;
        for (int a = 0; a < shape->rank; a++) {
            int64_t e = shape->extents[a], at;
            if (i < 1 << shape->rank) at = i >> a & 1 ? e - 1 : 0;
            else at = next_word(&s) % 2 ? next_edge(&s, e) : next_below(&s, e);
            flat = flat * e + at;
        }
        elements[i] = flat;
    }
    qsort(elements, SAMPLE, sizeof *elements, by_value);
    int64_t n = 0;
    for (int i = 0; i < SAMPLE; i++)
        if (n == 0 || elements[n - 1] != elements[i]) elements[n++] = elements[i];
    return n;
}

/* ---- what they should be ---- */

struct expected { /* of one output */
    int64_t *elements; /* NULL: all */
    int64_t n;
    double *value, *bound;
};

static void expected_release(struct expected *e, int n) {
    for (int i = 0; e && i < n; i++) {
        free(e[i].elements);
        free(e[i].value);
        free(e[i].bound);
    }
    free(e);
}

static fx_status expect(const struct job *job, int i, bool is_sampled, struct expected *e) {
    const struct argument *a = &job->arguments[job_output(job, i)];
    e->n = (int64_t)a->n_elements;
    if (is_sampled && a->n_elements > SAMPLE) {
        e->elements = malloc(SAMPLE * sizeof *e->elements);
        if (!e->elements) return complain(FX_ERR_NOMEM, "out of memory");
        e->n = sample(&a->shape, e->elements);
    }
    e->value = malloc((size_t)(e->n ? e->n : 1) * sizeof *e->value);
    e->bound = malloc((size_t)(e->n ? e->n : 1) * sizeof *e->bound);
    if (!e->value || !e->bound) return complain(FX_ERR_NOMEM, "out of memory");
    return e->n ? job_evaluate(job, i, e->elements, e->n, e->value, e->bound) : FX_OK;
}

static fx_status expect_all(const struct job *job, struct expected **out) {
    int64_t flops, bytes;
    fx_status status = FX_OK;
    *out = calloc((size_t)job->n_outputs + 1, sizeof **out);
    if (!*out) return complain(FX_ERR_NOMEM, "out of memory");
    job_work(job, &flops, &bytes);
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) status = expect(job, i, flops > ORACLE_FLOPS, &(*out)[i]);
    return status;
}

/* ---- comparing ---- */

struct comparison { /* of one output; errors are against the oracle's value rounded to the output's dtype */
    int64_t n_compared, n_wrong;
    double max_absolute, max_relative;
    int64_t worst; /* index into the elements expected, -1: none differs at all */
};

static double distance(double got, double rounded) {
    if (got == rounded || (isnan(got) && isnan(rounded))) return 0;
    double d = fabs(got - rounded);
    return isnan(d) ? INFINITY : d;
}

static struct comparison compare(const struct argument *a, const struct expected *e) {
    struct comparison c = {.n_compared = e->n, .worst = -1};
    bool worst_is_wrong = false;
    double worst_distance = 0;
    for (int64_t i = 0; i < e->n; i++) {
        double got = fx_load_double(a->shape.dtype, a->data, (size_t)(e->elements ? e->elements[i] : i));
        double rounded = fx_round_to(a->shape.dtype, e->value[i]), d = distance(got, rounded);
        bool is_wrong = !fx_is_right(a->shape.dtype, got, e->value[i], e->bound[i]);
        c.n_wrong += is_wrong;
        if (d > c.max_absolute) c.max_absolute = d;
        if (d > 0 && d / fabs(rounded) > c.max_relative) c.max_relative = d / fabs(rounded);
        /* The worst is a wrong one where there is any. */
        if (is_wrong > worst_is_wrong || (is_wrong == worst_is_wrong && (d > worst_distance || (is_wrong && c.worst < 0)))) {
            worst_is_wrong = is_wrong;
            worst_distance = d;
            c.worst = i;
        }
    }
    return c;
}

static void print_index(const struct fx_shape *shape, int64_t flat) {
    int64_t index[FX_MAX_RANK];
    for (int a = shape->rank - 1; a >= 0; a--) {
        index[a] = flat % shape->extents[a];
        flat /= shape->extents[a];
    }
    printf("[");
    for (int a = 0; a < shape->rank; a++) printf("%s%lld", a ? "," : "", (long long)index[a]);
    printf("]");
}

static void print_comparison(const struct argument *a, const struct expected *e, const struct comparison *c) {
    printf("  %s: %lld of %zu elements compared, %lld wrong", a->param->name, (long long)c->n_compared, a->n_elements,
           (long long)c->n_wrong);
    if (c->n_compared) printf("; largest error %.3g, relative %.3g", c->max_absolute, c->max_relative);
    printf("\n");
    if (c->worst < 0) return;
    int64_t flat = e->elements ? e->elements[c->worst] : c->worst;
    printf("    worst at ");
    print_index(&a->shape, flat);
    printf(": got %.9g, expected %.9g, bound %.3g\n", fx_load_double(a->shape.dtype, a->data, (size_t)flat), e->value[c->worst],
           e->bound[c->worst]);
}

/* One run and its comparison; adds to the counts. */
static fx_status run_once(const struct job *job, const struct gpu *gpu, const struct expected *e, int64_t *n_compared,
                          int64_t *n_wrong) {
    fx_status status = gpu_run(gpu);
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++) {
        const struct argument *a = &job->arguments[job_output(job, i)];
        struct comparison c = compare(a, &e[i]);
        print_comparison(a, &e[i], &c);
        *n_compared += c.n_compared;
        *n_wrong += c.n_wrong;
    }
    return status;
}

/* ---- variants ---- */

static void print_chosen(const struct job *job, const struct gpu *gpu) {
    for (int i = 0; i < job->kernel->n_launches; i++) {
        const struct fx_launch *l = &job->kernel->launches[i];
        int v = gpu_chosen_variant(gpu, i);
        printf("%s: %s\n", l->name, v < 0 ? "nothing to launch" : l->variants[v].config);
    }
}

/* Every other variant that can run these inputs, one launch at a time. */
static fx_status run_variants(const struct job *job, const struct gpu *gpu, const struct expected *e, int64_t *n_compared,
                              int64_t *n_wrong) {
    struct fx_env env = job_env(job);
    fx_status status = FX_OK;
    for (int i = 0; i < job->kernel->n_launches; i++) {
        const struct fx_launch *l = &job->kernel->launches[i];
        int chosen = gpu_chosen_variant(gpu, i);
        for (int v = 0; status == FX_OK && v < l->n_variants; v++) {
            int64_t can = 1;
            if (v == chosen || (l->variants[v].needs.n && (!fx_expr_eval(&l->variants[v].needs, &env, &can) || !can))) continue;
            printf("%s: %s\n", l->name, l->variants[v].config);
            status = fx_pin_variant(gpu->prepared, i, v);
            if (status != FX_OK) gpu_failed(status, "cannot take this variant");
            else status = run_once(job, gpu, e, n_compared, n_wrong);
        }
        fx_pin_variant(gpu->prepared, i, -1);
        if (status != FX_OK) return status;
    }
    return FX_OK;
}

fx_status check_job(const struct job *job, const struct gpu *gpu, bool all_variants) {
    struct expected *e = NULL;
    int64_t n_compared = 0, n_wrong = 0;
    fx_status status = expect_all(job, &e);
    if (status == FX_OK) print_chosen(job, gpu);
    if (status == FX_OK) status = run_once(job, gpu, e, &n_compared, &n_wrong);
    if (status == FX_OK && all_variants) status = run_variants(job, gpu, e, &n_compared, &n_wrong);
    expected_release(e, job->n_outputs);
    if (status != FX_OK) return status;
    if (n_compared == 0) {
        printf("not checked: every output is empty\n");
        return FX_ERR_DIFFERS;
    }
    printf("%s: %s on %s, %lld elements compared, %lld wrong\n", n_wrong ? "differs" : "ok", job->kernel->name,
           fx_context_device(job->context), (long long)n_compared, (long long)n_wrong);
    return n_wrong ? FX_ERR_DIFFERS : FX_OK;
}

fx_status command_check(const struct command *cmd) {
    struct job job;
    struct gpu gpu;
    fx_status status = job_open(cmd, true, false, &job);
    if (status != FX_OK) return status;
    if (!job.context) {
        printf("not checked: no GPU: %s\n", job.no_gpu);
        job_close(&job);
        return FX_ERR_DIFFERS;
    }
    status = gpu_open(&job, &gpu);
    if (status == FX_OK) {
        status = check_job(&job, &gpu, is_given(cmd, OPT_ALL_VARIANTS));
        gpu_close(&gpu);
    }
    job_close(&job);
    return status;
}
