/* Random input data. Input: a distribution, a seed. Output: an array. Element i depends on seed and i alone: word i of
 * Philox4x32-10 keyed by the seed, two elements a block; normals by Box-Muller in double. Invariant: no bit depends on
 * the machine or its libm: log, sin and cos are series of our own, of + - * / and sqrt alone. */
#include "command/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t x = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, y = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = x, c[1] = (uint32_t)p1, c[2] = y, c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

/* ---- log, sin and cos to about 1e-16, the same on every machine ---- */

static double log_of(double x) {
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) m *= 2, e--;
    double f = (m - 1) / (m + 1), f2 = f * f, s = 0;
    for (int k = 23; k >= 1; k -= 2) s = s * f2 + 1.0 / k;
    return 2 * f * s + e * 0.69314718055994531;
}

/* sine and cosine of 2 pi u, u in [0, 1). */
static void sincos_of(double u, double *sine, double *cosine) {
    int octant = (int)(u * 8), quarter = (octant + 1) / 2 % 4;
    double t = (u - ((octant + 1) / 2) * 0.25) * 6.28318530717958648, t2 = t * t, s = 0, c = 0;
    for (int k = 18; k >= 2; k -= 2) {
        s = (1 - s) * t2 / (k * (k + 1));
        c = (1 - c) * t2 / ((k - 1) * k);
    }
    s = t * (1 - s), c = 1 - c;
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

/* ---- distributions ---- */

/* Two uniform doubles in [0, 1) for elements 2 * block and 2 * block + 1. */
static void uniform_pair(uint64_t seed, uint64_t block, double u[2]) {
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, w[4];
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox4x32(counter, key, w);
    for (int i = 0; i < 2; i++)
        u[i] = (double)(((uint64_t)w[2 * i + 1] << 32 | w[2 * i]) >> 11) * 0x1p-53;
}

static void draw_pair(const struct draw *d, uint64_t seed, uint64_t block, double v[2]) {
    double u[2], sine, cosine, radius, deviation;
    v[0] = v[1] = d->a;
    if (d->kind == DRAW_FILL) return;
    uniform_pair(seed, block, u);
    switch (d->kind) {
    case DRAW_NORMAL:
    case DRAW_OUTLIER:
        radius = sqrt(-2 * log_of(1 - u[0])); /* 1 - u is never 0 */
        sincos_of(u[1], &sine, &cosine);
        deviation = d->kind == DRAW_OUTLIER ? 1 : d->b;
        v[0] = d->a + deviation * (radius * cosine);
        v[1] = d->a + deviation * (radius * sine);
        break;
    case DRAW_UNIFORM:
        for (int i = 0; i < 2; i++) v[i] = d->a + (d->b - d->a) * u[i];
        break;
    case DRAW_INTEGERS:
        for (int i = 0; i < 2; i++) v[i] = d->a + floor((d->b - d->a + 1) * u[i]);
        break;
    case DRAW_FILL:
    case DRAW_BITS: break;
    }
}

/* Element i of at most 64 bits is the low bits of words 2 i and 2 i + 1. */
static void draw_bits(uint64_t seed, enum fx_dtype t, void *array, size_t n) {
    size_t n_bytes = (size_t)fx_dtype_bits(t) / 8;
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, w[4];
    for (size_t i = 0; i < n; i++) {
        uint32_t counter[4] = {(uint32_t)(i / 2), (uint32_t)((uint64_t)(i / 2) >> 32), 0, 0};
        philox4x32(counter, key, w);
        memcpy((char *)array + i * n_bytes, &w[2 * (i % 2)], n_bytes);
    }
}

void draw_fill(const struct draw *d, uint64_t seed, enum fx_dtype t, void *array, size_t n) {
    if (d->kind == DRAW_BITS) {
        draw_bits(seed, t, array, n);
        return;
    }
    if (d->kind == DRAW_FILL && n > 0 && fx_dtype_bits(t) >= 8) {
        size_t size = (size_t)fx_dtype_bits(t) / 8, done = 1;
        fx_store_double(t, array, 0, d->a);
        for (; done < n; done += done < n - done ? done : n - done)
            memcpy((char *)array + done * size, array, (done < n - done ? done : n - done) * size);
        return;
    }
    for (size_t i = 0; i < n; i += 2) {
        double v[2];
        draw_pair(d, seed, i / 2, v);
        fx_store_double(t, array, i, v[0]);
        if (i + 1 < n) fx_store_double(t, array, i + 1, v[1]);
    }
}

void draw_rows(const struct draw *d, uint64_t seed, enum fx_dtype t, void *array, size_t n, size_t row) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, w[4];
    draw_fill(d, seed, t, array, n);
    for (size_t from = 0; d->kind == DRAW_OUTLIER && row && from < n; from += row) {
        size_t r = from / row;
        uint32_t counter[4] = {(uint32_t)r, (uint32_t)((uint64_t)r >> 32), 1, 0}; /* elements are drawn at 0 */
        philox4x32(counter, key, w);
        size_t at = from + (((uint64_t)w[1] << 32 | w[0]) % row);
        double v[2];
        if (at >= n) continue;
        draw_pair(d, seed, at / 2, v);
        fx_store_double(t, array, at, v[at % 2] + d->b);
    }
}

struct draw draw_default(enum fx_dtype t) {
    switch (fx_dtype_class_of(t)) {
    case FX_CLASS_B: return (struct draw){DRAW_INTEGERS, 0, 1};
    case FX_CLASS_U: return (struct draw){DRAW_INTEGERS, 0, 4};
    case FX_CLASS_S: return (struct draw){DRAW_INTEGERS, -4, 4};
    default: return (struct draw){DRAW_NORMAL, 0, 1};
    }
}

/* ---- reading a distribution ---- */

/* "(a,b)" to the end of the text; anything else is no pair. */
static bool parse_pair(const char *s, double *a, double *b) {
    char *end;
    if (*s++ != '(') return false;
    *a = strtod(s, &end);
    if (end == s || *end != ',') return false;
    s = end + 1;
    *b = strtod(s, &end);
    return end != s && !strcmp(end, ")");
}

static bool check_pair(const struct draw *d, char *message, size_t size) {
    const char *wrong = NULL;
    if (!isfinite(d->a) || !isfinite(d->b)) wrong = "its arguments are not finite";
    else if (d->kind == DRAW_NORMAL && d->b < 0) wrong = "the deviation is negative";
    else if (d->kind == DRAW_UNIFORM && d->b < d->a) wrong = "the bounds are in the wrong order";
    else if (d->kind == DRAW_INTEGERS && (d->b < d->a || d->a != floor(d->a) || d->b != floor(d->b)))
        wrong = "the bounds are no integers in ascending order";
    else if (d->kind == DRAW_INTEGERS && (fabs(d->a) > 0x1p52 || fabs(d->b) > 0x1p52))
        wrong = "the bounds are beyond 2^52";
    if (wrong) snprintf(message, size, "%s", wrong);
    return !wrong;
}

bool draw_parse(const char *text, struct draw *out, char *message, size_t size) {
    static const struct {
        const char *name;
        enum draw_kind kind;
    } forms[] = {
        {"normal", DRAW_NORMAL},
        {"uniform", DRAW_UNIFORM},
        {"integers", DRAW_INTEGERS},
        {"outlier", DRAW_OUTLIER},
    };
    char *end;
    if (size) message[0] = 0;
    *out = (struct draw){DRAW_NORMAL, 0, 1};
    if (!strcmp(text, "normal")) return true;
    *out = (struct draw){DRAW_FILL, 1, 0};
    if (!strcmp(text, "ones")) return true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = strlen(forms[i].name);
        if (strncmp(text, forms[i].name, n) != 0 || text[n] != '(') continue;
        out->kind = forms[i].kind;
        if (parse_pair(text + n, &out->a, &out->b)) return check_pair(out, message, size);
        snprintf(message, size, "expected %s(a,b)", forms[i].name);
        return false;
    }
    out->a = strtod(text, &end);
    return end != text && !*end;
}
