/* Reads the .values files of a folder: words apart by blanks, `#` to the end of a line a comment. */
#include "values_file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct values *to;
    const char *at;
    int line;
    struct sample *sample; /* the last `kernel` begun */
};

static char *read_file(const char *folder, const char *name, const char *suffix) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
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

bool values_equal(double a, double b) { return isnan(a) ? isnan(b) : a == b; }

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
    return values_equal(fx_load_double(t, data, (size_t)i), number);
}

/* NAME DTYPE EXTENTS.. and the elements. */
static bool read_array(struct reader *r, bool is_output) {
    struct sample *s = r->sample;
    char word[64];
    if (s->n_arrays == VALUES_MAX_ARRAYS) return wrong(r, "more than %d inputs and outputs", VALUES_MAX_ARRAYS);
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
        if (a->host.rank == FX_MAX_RANK || !read_integer(FX_I32, word, &n) || n < 0)
            return wrong(r, "%s is no extent", word);
        a->host.extents[a->host.rank++] = n;
        a->n *= n;
    }
    char *data = calloc((size_t)a->n + 1, 8);
    a->value = calloc((size_t)a->n + 1, sizeof *a->value);
    a->integer = calloc((size_t)a->n + 1, sizeof *a->integer);
    a->host.data = data;
    for (int64_t i = 0; i < a->n; i++) {
        if (!next_word(r, word, false))
            return wrong(r, "%s has %lld elements, %lld were expected", a->name, (long long)i, (long long)a->n);
        if (!store(a, data, i, word))
            return wrong(
                r, "element %lld of %s: %s is no %s", (long long)i, a->name, word, fx_dtype_name(a->host.dtype));
    }
    return true;
}

static bool read_define(struct reader *r, bool is_extent) {
    struct sample *s = r->sample;
    char label[64], value[64] = "";
    bool is_whole = s->n_defines < VALUES_MAX_DEFINES && next_word(r, label, true) &&
                    (!is_extent || next_word(r, value, true));
    if (!is_whole) return wrong(r, "what -D says was expected");
    snprintf(s->defines[s->n_defines++], 64, is_extent ? "%.30s=%.30s" : "%s%s", label, value);
    return true;
}

/* One statement of a file, false at its end or where it is wrong. */
static bool read_statement(struct reader *r, int spec) {
    char word[64];
    if (!next_word(r, word, false)) return false;
    if (!strcmp(word, "kernel") && r->to->n_samples < VALUES_MAX_SAMPLES) {
        r->sample = r->to->samples[r->to->n_samples++] = calloc(1, sizeof *r->sample);
        r->sample->spec = spec;
        r->sample->line = r->line;
        r->to->specs[spec].n_samples++;
        return next_word(r, r->sample->kernel, true) || wrong(r, "the name of a kernel was expected");
    }
    if (!r->sample) return false;
    if (!strcmp(word, "input") || !strcmp(word, "output")) return read_array(r, word[0] == 'o');
    if (!strcmp(word, "extent") || !strcmp(word, "define")) return read_define(r, word[0] == 'e');
    return wrong(r, "%s: kernel, extent, define, input or output was expected", word);
}

static void read_spec(struct values *v, int i) {
    char *text = read_file(v->folder, v->specs[i].name, ".values");
    struct reader r = {.to = v, .at = text, .line = 1};
    v->specs[i].text = read_file(v->folder, v->specs[i].name, ".fx");
    while (text && read_statement(&r, i)) continue;
    free(text);
}

/* Every name in the folder that ends in .fx or .values, once, in order. */
void values_read(struct values *v, const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    *v = (struct values){.folder = folder};
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        if (!dot || (strcmp(dot, ".fx") && strcmp(dot, ".values")) || v->n_specs == VALUES_MAX_SPECS) continue;
        char base[64];
        snprintf(base, sizeof base, "%.*s", (int)(dot - name), name);
        if (!v->n_specs || strcmp(v->specs[v->n_specs - 1].name, base)) strcpy(v->specs[v->n_specs++].name, base);
    }
    for (int i = 0; i < n; i++) free(entries[i]);
    if (n >= 0) free(entries);
    for (int i = 0; i < v->n_specs; i++) read_spec(v, i);
}

/* ---- asking ---- */

const struct array *sample_find(const struct sample *s, const char *name, bool is_output) {
    for (int i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].is_output == is_output && !strcmp(s->arrays[i].name, name)) return &s->arrays[i];
    return NULL;
}

double array_value(const struct array *a, int64_t i) {
    return fx_is_float(a->host.dtype) ? a->value[i] : fx_integer_to_double(a->host.dtype, a->integer[i]);
}

double array_slack(const struct array *a) {
    double largest = 1e-300;
    if (!fx_is_float(a->host.dtype)) return 0;
    for (int64_t i = 0; i < a->n; i++)
        if (isfinite(a->value[i])) largest = fmax(largest, fabs(a->value[i]));
    return 1e-11 * largest;
}
