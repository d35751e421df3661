/* Compares results with the oracle's. Input: a job, and its outputs as a GPU computed them. Output: which elements, of
 * all or of a sample of a large result, are how far from what they should be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/draw.h"

enum {
    ORACLE_FLOPS = 1 << 26,  /* up to here the oracle computes every element, in about a second */
    ORACLE_ELEMENTS = 1 << 25, /* and up to here, in some seconds, or a minute where each takes special functions */
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

int64_t sample_elements(const struct fx_shape *shape, int64_t *elements) {
    struct sampler s = {0};
    for (int i = 0; i < SAMPLED_ELEMENTS; i++) {
        int64_t flat = 0;
        for (int a = 0; a < shape->rank; a++) {
            int64_t e = shape->extents[a], at;
            if (i < 1 << shape->rank) at = i >> a & 1 ? e - 1 : 0;
            else at = next_word(&s) % 2 ? next_edge(&s, e) : next_below(&s, e);
            flat = flat * e + at;
        }
        elements[i] = flat;
    }
    qsort(elements, SAMPLED_ELEMENTS, sizeof *elements, by_value);
    int64_t n = 0;
    for (int i = 0; i < SAMPLED_ELEMENTS; i++)
        if (n == 0 || elements[n - 1] != elements[i]) elements[n++] = elements[i];
    return n;
}

/* ---- what they should be ---- */

void expected_release(struct expected *e, int n) {
    for (int i = 0; e && i < n; i++) {
        free(e[i].elements);
        free(e[i].value);
        free(e[i].bound);
        free(e[i].integer);
    }
    free(e);
}

static fx_status expect(const struct job *job, int i, bool is_sampled, struct expected *e) {
    const struct argument *a = &job->arguments[job_output(job, i)];
    e->n = (int64_t)a->n_elements;
    if (is_sampled && a->n_elements > SAMPLED_ELEMENTS) {
        e->elements = malloc(SAMPLED_ELEMENTS * sizeof *e->elements);
        if (!e->elements) return complain(FX_ERR_NOMEM, "out of memory");
        e->n = sample_elements(&a->shape, e->elements);
    }
    e->value = malloc((size_t)(e->n ? e->n : 1) * sizeof *e->value);
    e->bound = malloc((size_t)(e->n ? e->n : 1) * sizeof *e->bound);
    e->integer = malloc((size_t)(e->n ? e->n : 1) * sizeof *e->integer);
    if (!e->value || !e->bound || !e->integer) return complain(FX_ERR_NOMEM, "out of memory");
    fx_status status = e->n ? job_evaluate(job, i, e->elements, e->n, e->value, e->integer, e->bound) : FX_OK;
    for (int64_t j = 0; status == FX_OK && j < e->n; j++)
        if (isfinite(e->value[j]) && fabs(e->value[j]) > e->largest) e->largest = fabs(e->value[j]);
    return status;
}

bool job_is_sampled(const struct job *job) {
    int64_t flops, bytes, most = 0;
    for (int i = 0; i < job->n_outputs; i++) {
        int64_t n = (int64_t)job->arguments[job_output(job, i)].n_elements;
        if (n > most) most = n;
    }
    job_work(job, &flops, &bytes);
    return flops > ORACLE_FLOPS || most > ORACLE_ELEMENTS;
}

fx_status expect_all(const struct job *job, struct expected **out) {
    fx_status status = FX_OK;
    *out = calloc((size_t)job->n_outputs + 1, sizeof **out);
    if (!*out) return complain(FX_ERR_NOMEM, "out of memory");
    for (int i = 0; status == FX_OK && i < job->n_outputs; i++)
        status = expect(job, i, job_is_sampled(job), &(*out)[i]);
    return status;
}

/* ---- comparing ---- */

static double distance(double got, double rounded) {
    if (got == rounded || (isnan(got) && isnan(rounded))) return 0;
    double d = fabs(got - rounded);
    return isnan(d) ? INFINITY : d;
}

int64_t element_of(const struct expected *e, int64_t i) { return e->elements ? e->elements[i] : i; }

/* How much of what is allowed an error takes. */
static double share(double error, double allowed) {
    if (isnan(error)) return INFINITY;
    return error == 0 || allowed == INFINITY ? 0 : error / allowed;
}

/* Integers are compared as such, which double would round beyond 2^53. */
static bool is_by_bits(enum fx_dtype t, const struct fx_tolerance *tolerance) {
    return !fx_is_float(t) &&
           (tolerance->kind == FX_TOL_DERIVED || tolerance->kind == FX_TOL_WORST || tolerance->kind == FX_TOL_EXACT);
}

/* d in spacings of t's values at v. */
static double in_ulps(enum fx_dtype t, double d, double v) {
    int exponent;
    if (!fx_is_float(t) || !isfinite(v)) return d;
    frexp(v, &exponent);
    double ulp = ldexp(fx_unit_roundoff(t), exponent);
    return d / (v == 0 || ulp < fx_smallest(t) ? fx_smallest(t) : ulp);
}

/* What the elements are that a comparison stands on. */
struct kinds {
    double least, most; /* the values that would be right for all finite elements with a finite bound lie from `most` to
                           `least` */
    int64_t n_finite;     /* of them */
    int64_t n_limited;    /* and of infinities that are demanded */
    int64_t votes;        /* for `common`: it is the value of most elements, if any is (Boyer, Moore 1981) */
};

static void add_kind(struct comparison *c, struct kinds *k, double value, double rounded, double allowed) {
    c->n_open += allowed == INFINITY;
    c->n_nan += isnan(value) != 0;
    c->n_infinite += isinf(rounded) != 0;
    k->n_limited += !isnan(rounded) && isfinite(allowed);
    if (!isfinite(rounded)) return;
    if (k->votes == 0) c->common = rounded;
    k->votes += rounded == c->common ? 1 : -1;
    if (!isfinite(allowed)) return;
    if (value - allowed > k->most || k->n_finite == 0) k->most = value - allowed;
    if (value + allowed < k->least || k->n_finite == 0) k->least = value + allowed;
    k->n_finite++;
}

void add_comparison(struct verdict *v, const struct comparison *c) {
    v->n_compared += c->n_compared;
    v->n_wrong += c->n_wrong;
    v->n_unlimited += !c->is_limited;
    v->is_varied |= c->is_varied;
}

const char *why_unchecked(const struct verdict *v) {
    if (v->n_wrong) return NULL;
    if (!v->n_compared) return "every output is empty";
    if (v->n_unlimited) return "all elements of an output are NaN or open: draw other inputs (init:, -i)";
    return v->is_varied
               ? NULL
               : "one value would be right for every element: draw other inputs (init:, -i), "
                 "or state a tolerance (tol:)";
}

void print_kinds(const char *separator, const struct comparison *c) {
    if (c->n_nan) fprintf(out_stream(), "%s%lld NaN", separator, (long long)c->n_nan);
    if (c->n_infinite) fprintf(out_stream(), "%s%lld infinite", separator, (long long)c->n_infinite);
    if (c->n_open) fprintf(out_stream(), "%s%lld open", separator, (long long)c->n_open);
    if (c->n_common > c->n_compared / 2 && c->n_compared > 1)
        fprintf(out_stream(), "%s%lld are %.9g", separator, (long long)c->n_common, c->common + 0.0); /* no -0 */
}

struct comparison compare(const struct argument *a, const struct expected *e, const struct fx_tolerance *tolerance) {
    struct comparison c = {.n_compared = e->n, .worst = -1, .closest = -1};
    bool worst_is_wrong = false;
    double worst_distance = 0;
    struct kinds kinds = {0};
    for (int64_t i = 0; i < e->n; i++) {
        double got = fx_load_double(a->shape.dtype, a->result, (size_t)element_of(e, i)), allowed;
        double rounded = fx_round_to(a->shape.dtype, e->value[i]), d = distance(got, rounded),
               error = distance(got, e->value[i]);
        bool is_wrong = !fx_is_within(tolerance, e->largest, a->shape.dtype, got, e->value[i], e->bound[i], &allowed);
        if (is_by_bits(a->shape.dtype, tolerance)) {
            int64_t bits = fx_load_integer(a->shape.dtype, a->result, (size_t)element_of(e, i));
            is_wrong = !fx_is_right_integer(
                a->shape.dtype, bits, e->integer[i], tolerance->kind == FX_TOL_EXACT ? 0 : e->bound[i]);
        }
        add_kind(&c, &kinds, e->value[i], rounded, allowed);
        c.n_wrong += is_wrong;
        if (c.closest < 0 || share(error, allowed) > share(c.error, c.allowed))
            c.closest = i, c.error = error, c.allowed = allowed;
        if (d > c.max_absolute) c.max_absolute = d;
        if (in_ulps(a->shape.dtype, d, rounded) > c.max_ulps) c.max_ulps = in_ulps(a->shape.dtype, d, rounded);
        if (d > 0 && d / fabs(rounded) > c.max_relative) c.max_relative = d / fabs(rounded);
        /* The worst is a wrong one where there is any. */
        if (is_wrong > worst_is_wrong ||
            (is_wrong == worst_is_wrong && (d > worst_distance || (is_wrong && c.worst < 0)))) {
            worst_is_wrong = is_wrong;
            worst_distance = d;
            c.worst = i;
        }
    }
    for (int64_t i = 0; i < e->n; i++) c.n_common += fx_round_to(a->shape.dtype, e->value[i]) == c.common;
    bool is_stated = tolerance->kind != FX_TOL_DERIVED && tolerance->kind != FX_TOL_WORST;
    bool is_exact = tolerance->kind == FX_TOL_EXACT && e->n > 0; /* vouches for NaN too */
    c.is_limited = e->n == 0 || kinds.n_limited > 0 || is_exact;
    c.is_varied = kinds.n_finite > 0 && (a->n_elements == 1 || kinds.most > kinds.least);
    c.is_varied |= (kinds.n_limited > 0 && is_stated) || is_exact;
    return c;
}

void print_index(const struct fx_shape *shape, int64_t flat) {
    int64_t index[FX_MAX_RANK];
    for (int a = shape->rank - 1; a >= 0; a--) {
        index[a] = flat % shape->extents[a];
        flat /= shape->extents[a];
    }
    fprintf(out_stream(), "[");
    for (int a = 0; a < shape->rank; a++) fprintf(out_stream(), "%s%lld", a ? "," : "", (long long)index[a]);
    fprintf(out_stream(), "]");
}
