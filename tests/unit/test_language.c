/* Every spec of tests/language, evaluated by the oracle and compared with values worked out independently of the compiler
 * (tests/language/values.py, which states the format of a .values file). A spec without values, a kernel without a case, an output or an
 * element without a value and an input its dtype does not hold are failures.
 *
 * The tolerance. Both sides compute in double in some order: a sum of K terms errs by at most K * 2^-53 * sum |term|, a function by a few
 * 2^-53 of its result. Here K stays below 200, no more than six such steps follow each other, and the data keep sums of magnitudes within
 * 20 of the largest result of an output: 200 * 6 * 20 * 2^-53 = 3e-12. So a value may be off by 1e-11 of the largest of its output; a wrong
 * index, term or formula shows at once, as all data are of order one. Integers, conditions, NaN and infinities must be equal. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

#define FOLDER "tests/language"

enum { MAX_SPECS = 128, MAX_CASES = 1024, MAX_ARRAYS = 24, MAX_DEFINES = 4 };
static const double TOLERANCE = 1e-11;

struct array { /* an input or an output as the file gives it */
    char name[64];
    int line;              /* where it stands */
    bool is_output;
    struct fx_host host;   /* dtype and shape; an input's data */
    int64_t n;             /* elements */
    double *value;         /* of an output */
    int64_t *integer;      /* of an output of integers or bools, bit for bit */
};

struct sample { /* one `kernel` of a file */
    int spec;              /* index into specs */
    int line;
    char kernel[64];
    char defines[MAX_DEFINES][64];
    int n_defines;
    struct array arrays[MAX_ARRAYS];
    int n_arrays;
    char error[256];       /* what is wrong with the file, "" when nothing is */
};

struct spec {
    char name[64];         /* "01_linear_gelu" */
    char *text;            /* of the .fx, NULL when there is none */
    int n_samples;
};

static struct spec specs[MAX_SPECS];
static int n_specs;
static struct sample *samples[MAX_CASES];
static int n_samples;

/* ---- reading ---- */

struct reader {
    const char *at;
    int line;
    struct sample *sample; /* the last `kernel` begun */
};

static char *read_file(const char *name, const char *suffix) {
    char path[256];
    snprintf(path, sizeof path, FOLDER "/%s%s", name, suffix);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    char *text = malloc(size + 1);
    rewind(f);
    text[fread(text, 1, size, f)] = '\0';
    fclose(f);
    return text;
}

/* The next word into word[64], false at the end of the file or, when `same_line`, of the line. */
static bool next_word(struct reader *r, char *word, bool same_line) {
    for (; *r->at && strchr(" \t\r\n#", *r->at); r->at++) {
        if (*r->at == '#') r->at += strcspn(r->at, "\n");
        if (*r->at == '\n' && same_line) return false;
        if (*r->at == '\n') r->line++;
        if (!*r->at) break;
    }
    size_t len = strcspn(r->at, " \t\r\n#");
    snprintf(word, 64, "%.*s", (int)len, r->at);
    r->at += len;
    return len > 0;
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct reader *r, const char *format, ...) {
    va_list ap;
    struct sample *s = r->sample;
    if (s->error[0]) return false;
    int n = snprintf(s->error, sizeof s->error, "line %d: ", r->line);
    va_start(ap, format);
    vsnprintf(s->error + n, sizeof s->error - (size_t)n, format, ap);
    va_end(ap);
    return false;
}

/* A word as an integer of dtype t, bit for bit, never through double. */
static bool read_integer(enum fx_dtype t, const char *word, int64_t *out) {
    char *end;
    int bits = t == FX_BOOL ? 1 : fx_dtype_bits(t);
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    errno = 0;
    *out = is_signed ? strtoll(word, &end, 10) : (int64_t)strtoull(word, &end, 10);
    if (errno || *end || end == word || (!is_signed && *word == '-')) return false;
    if (bits == 64) return true;
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0, high = ((int64_t)1 << (bits - is_signed)) - 1;
    return low <= *out && *out <= high;
}

static bool read_number(const char *word, double *out) {
    char *end;
    *out = strtod(word, &end);
    return end != word && !*end;
}

static bool same(double a, double b) { return isnan(a) ? isnan(b) : a == b; }

static bool store(struct array *a, char *data, int64_t i, const char *word) {
    enum fx_dtype t = a->host.dtype;
    int64_t integer;
    double number;
    if (fx_dtype_class_of(t) != FX_CLASS_F) {
        if (!read_integer(t, word, &integer)) return false;
        if (a->is_output) a->integer[i] = integer;
        else memcpy(data + i * (fx_dtype_bits(t) / 8), &integer, (size_t)fx_dtype_bits(t) / 8); /* little end first */
        return true;
    }
    if (!read_number(word, &number)) return false;
    if (a->is_output) {
        a->value[i] = number;
        return true;
    }
    fx_store_double(t, data, (size_t)i, number);
    return same(fx_load_double(t, data, (size_t)i), number);
}

/* NAME DTYPE EXTENTS.. and the elements. */
static bool read_array(struct reader *r, bool is_output) {
    struct sample *s = r->sample;
    char word[64];
    if (s->n_arrays == MAX_ARRAYS) return wrong(r, "more than %d inputs and outputs", MAX_ARRAYS);
    struct array *a = &s->arrays[s->n_arrays++];
    a->line = r->line;
    a->is_output = is_output;
    a->n = 1;
    if (!next_word(r, a->name, true) || !next_word(r, word, true)) return wrong(r, "a name and a dtype were expected");
    int t = 0;
    while (t < FX_N_DTYPES && strcmp(fx_dtype_name((enum fx_dtype)t), word)) t++;
    if (t == FX_N_DTYPES || fx_dtype_bits((enum fx_dtype)t) < 8) return wrong(r, "%s is no dtype that is stored", word);
    a->host.dtype = (enum fx_dtype)t;
    while (next_word(r, word, true)) {
        int64_t n;
        if (a->host.rank == FX_MAX_RANK || !read_integer(FX_I32, word, &n) || n < 0) return wrong(r, "%s is no extent", word);
        a->host.extents[a->host.rank++] = n;
        a->n *= n;
    }
    char *data = calloc((size_t)a->n + 1, 8);
    a->value = calloc((size_t)a->n + 1, sizeof *a->value);
    a->integer = calloc((size_t)a->n + 1, sizeof *a->integer);
    a->host.data = data;
    for (int64_t i = 0; i < a->n; i++) {
        if (!next_word(r, word, false)) return wrong(r, "%s has %lld elements, %lld were expected", a->name, (long long)i, (long long)a->n);
        if (!store(a, data, i, word)) return wrong(r, "element %lld of %s: %s is no %s", (long long)i, a->name, word, fx_dtype_name(a->host.dtype));
    }
    return true;
}

static bool read_define(struct reader *r, bool is_extent) {
    struct sample *s = r->sample;
    char label[64], value[64] = "";
    bool is_whole = s->n_defines < MAX_DEFINES && next_word(r, label, true) && (!is_extent || next_word(r, value, true));
    if (!is_whole) return wrong(r, "what -D says was expected");
    snprintf(s->defines[s->n_defines++], 64, is_extent ? "%.30s=%.30s" : "%s%s", label, value);
    return true;
}

/* One statement of a file, false at its end or where it is wrong. */
static bool read_statement(struct reader *r, int spec) {
    char word[64];
    if (!next_word(r, word, false)) return false;
    if (!strcmp(word, "kernel") && n_samples < MAX_CASES) {
        r->sample = samples[n_samples++] = calloc(1, sizeof *r->sample);
        r->sample->spec = spec;
        r->sample->line = r->line;
        specs[spec].n_samples++;
        return next_word(r, r->sample->kernel, true) || wrong(r, "the name of a kernel was expected");
    }
    if (!r->sample) return false;
    if (!strcmp(word, "input") || !strcmp(word, "output")) return read_array(r, word[0] == 'o');
    if (!strcmp(word, "extent") || !strcmp(word, "define")) return read_define(r, word[0] == 'e');
    return wrong(r, "%s: kernel, extent, define, input or output was expected", word);
}

static void read_spec(int i) {
    char *values = read_file(specs[i].name, ".values");
    struct reader r = {.at = values, .line = 1};
    specs[i].text = read_file(specs[i].name, ".fx");
    while (values && read_statement(&r, i)) continue;
    free(values);
}

/* Every name in the folder that ends in .fx or .values, once, in order. */
static void read_folder(void) {
    struct dirent **entries;
    int n = scandir(FOLDER, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        if (!dot || (strcmp(dot, ".fx") && strcmp(dot, ".values")) || n_specs == MAX_SPECS) continue;
        char base[64];
        snprintf(base, sizeof base, "%.*s", (int)(dot - name), name);
        if (!n_specs || strcmp(specs[n_specs - 1].name, base)) strcpy(specs[n_specs++].name, base);
    }
    for (int i = 0; i < n; i++) free(entries[i]);
    if (n >= 0) free(entries);
    for (int i = 0; i < n_specs; i++) read_spec(i);
}

/* ---- comparing ---- */

/* Kernel `kernel` of a spec, NULL: all of it, with the definitions of a sample, if there is one. */
static fx_compilation *compile(const struct spec *spec, const char *kernel, const struct sample *s) {
    struct fx_options options = FX_OPTIONS;
    const char *defines[MAX_DEFINES];
    char file[80];
    fx_compilation *c;
    snprintf(file, sizeof file, "%s.fx", spec->name);
    options.oracle_only = true;
    if (s) {
        for (int i = 0; i < s->n_defines; i++) defines[i] = s->defines[i];
        options.kernel = kernel;
        options.defines = defines;
        options.n_defines = s->n_defines;
    }
    ck_assert_msg(spec->text != NULL, FOLDER "/%s.fx does not exist", spec->name);
    fx_status status = fx_compile(spec->text, strlen(spec->text), file, &options, &c);
    ck_assert_msg(status == FX_OK, "%s%s%s does not compile (status %d)\n%.2000s", file, kernel ? ": " : "", kernel ? kernel : "", status, fx_messages(c));
    return c;
}

static const struct array *find_array(const struct sample *s, const char *name, bool is_output) {
    for (int i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].is_output == is_output && !strcmp(s->arrays[i].name, name)) return &s->arrays[i];
    return NULL;
}

/* The shape the kernel gives output parameter p under the inputs' shapes must be the file's. */
static void compare_shape(const struct sample *s, const struct fx_kernel *k, const struct fx_param *p, const struct array *a) {
    const struct fx_shape *shapes[FX_MAX_PARAMS] = {0};
    struct fx_shape shape[FX_MAX_PARAMS];
    int64_t extents[FX_MAX_EXTENTS];
    char message[256];
    for (int i = 0; i < k->n_params; i++) {
        const struct array *input = find_array(s, k->params[i].name, false);
        if (!input || k->params[i].is_scalar) continue;
        shape[i] = (struct fx_shape){.dtype = input->host.dtype, .rank = input->host.rank};
        memcpy(shape[i].extents, input->host.extents, sizeof shape[i].extents);
        shapes[i] = &shape[i];
    }
    ck_assert_msg(fx_bind_extents(k, shapes, extents, message, sizeof message) == FX_OK, "%s, line %d: %s", s->kernel, s->line, message);
    bool is_equal = p->dtype == a->host.dtype && p->rank == a->host.rank;
    for (int i = 0; is_equal && i < p->rank; i++) is_equal = extents[p->extents[i]] == a->host.extents[i];
    ck_assert_msg(is_equal, "line %d: %s of %s has another dtype or shape than here", a->line, a->name, s->kernel);
}

static void compare_integers(const struct sample *s, const struct array *a, const int64_t *integer) {
    for (int64_t i = 0; i < a->n; i++)
        ck_assert_msg(integer[i] == a->integer[i], "%s.values, line %d: %s, element %lld of %s: got %lld, expected %lld", specs[s->spec].name,
                      a->line, s->kernel, (long long)i, a->name, (long long)integer[i], (long long)a->integer[i]);
}

static void compare_elements(const struct sample *s, const struct array *a, const double *value) {
    bool is_float = fx_dtype_class_of(a->host.dtype) == FX_CLASS_F, is_unsigned = fx_dtype_class_of(a->host.dtype) == FX_CLASS_U;
    double scale = 1e-300;
    for (int64_t i = 0; i < a->n; i++)
        if (is_float && isfinite(a->value[i])) scale = fmax(scale, fabs(a->value[i]));
    for (int64_t i = 0; i < a->n; i++) {
        double want = is_float ? a->value[i] : is_unsigned ? (double)(uint64_t)a->integer[i] : (double)a->integer[i];
        bool is_close = same(value[i], want) || (is_float && isfinite(want) && fabs(value[i] - want) <= TOLERANCE * scale);
        ck_assert_msg(is_close, "%s.values, line %d: %s, element %lld of %s: got %.17g, expected %.17g", specs[s->spec].name, a->line, s->kernel,
                      (long long)i, a->name, value[i], want);
    }
}

START_TEST(kernel_has_these_values) {
    const struct sample *s = samples[_i];
    struct fx_host inputs[MAX_ARRAYS];
    char message[256] = "";
    int n_inputs = 0, n_outputs = 0;
    ck_assert_msg(!s->error[0], "%s.values, %s", specs[s->spec].name, s->error);
    fx_compilation *c = compile(&specs[s->spec], s->kernel, s);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), s->kernel);
    ck_assert_msg(k != NULL, "the plan has no kernel %s", s->kernel);
    for (int i = 0; i < k->n_params; i++) {
        const struct array *a = find_array(s, k->params[i].name, false);
        ck_assert_msg(a || k->params[i].is_output, "line %d: no values for %s of %s", s->line, k->params[i].name, s->kernel);
        if (a) inputs[n_inputs++] = a->host;
    }
    for (int i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_output) continue;
        const struct array *a = find_array(s, k->params[i].name, true);
        ck_assert_msg(a != NULL, "line %d: no values for %s of %s", s->line, k->params[i].name, s->kernel);
        compare_shape(s, k, &k->params[i], a);
        double *value = malloc(((size_t)a->n + 1) * sizeof *value);
        int64_t *integer = malloc(((size_t)a->n + 1) * sizeof *integer);
        for (int64_t e = 0; e < a->n; e++) value[e] = 12345.678, integer[e] = 12345;
        fx_status status = fx_evaluate(c, s->kernel, inputs, n_inputs, n_outputs++, NULL, a->n, value, integer, NULL, message, sizeof message);
        ck_assert_msg(status == FX_OK, "%s.values, line %d: %s: %s", specs[s->spec].name, s->line, s->kernel, message);
        compare_elements(s, a, value);
        if (fx_dtype_class_of(a->host.dtype) != FX_CLASS_F) compare_integers(s, a, integer);
        free(value);
        free(integer);
    }
    ck_assert_msg(n_inputs + n_outputs == s->n_arrays && n_outputs > 0, "line %d: %s has %d inputs and %d outputs, %d are given here", s->line,
                  s->kernel, n_inputs, n_outputs, s->n_arrays);
    fx_close(c);
}
END_TEST

/* The whole file compiles, and each of its kernels has a case. */
START_TEST(spec_has_values) {
    const struct spec *spec = &specs[_i];
    ck_assert_msg(spec->n_samples > 0, FOLDER "/%s.values does not exist or has no case", spec->name);
    const struct sample *with = NULL; /* what a kernel of it needs to be told, no other minds */
    for (int j = 0; j < n_samples; j++)
        if (samples[j]->spec == _i && samples[j]->n_defines) with = samples[j];
    fx_compilation *c = compile(spec, NULL, with);
    const struct fx_plan *plan = fx_get_plan(c);
    ck_assert_int_gt(plan->n_kernels, 0);
    for (int i = 0; i < plan->n_kernels; i++) {
        bool has_case = false;
        for (int j = 0; j < n_samples; j++) has_case |= samples[j]->spec == _i && !strcmp(samples[j]->kernel, plan->kernels[i].name);
        ck_assert_msg(has_case, "%s.values has no case of %s", spec->name, plan->kernels[i].name);
    }
    fx_close(c);
}
END_TEST

/* The seventeen examples of the language are there, whatever else is. */
START_TEST(folder_is_there) {
    ck_assert(n_specs >= 17 && n_specs < MAX_SPECS);
    for (int i = 0; i < 17; i++) ck_assert_int_eq(atoi(specs[i].name), i + 1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("language");
    TCase *t = tcase_create("values");
    read_folder();
    tcase_add_test(t, folder_is_there);
    tcase_add_loop_test(t, spec_has_values, 0, n_specs);
    tcase_add_loop_test(t, kernel_has_these_values, 0, n_samples);
    suite_add_tcase(s, t);
    return run_suite(s);
}
