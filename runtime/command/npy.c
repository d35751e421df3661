/* The .npy format, versions 1 to 3: bytes to an array and back. Input: a whole file in memory. Output: a row-major
 * array, or a header. Invariant: nothing the header claims is believed before it is checked against the bytes there
 * are. */
#include "command/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NumPy's spelling of each dtype it has; the byte order mark is left out. */
static const struct {
    enum fx_dtype dtype;
    const char *code;
} codes[] = {
    {FX_BOOL, "b1"},
    {FX_I8, "i1"},
    {FX_U8, "u1"},
    {FX_I16, "i2"},
    {FX_I32, "i4"},
    {FX_I64, "i8"},
    {FX_U32, "u4"},
    {FX_U64, "u8"},
    {FX_F16, "f2"},
    {FX_F32, "f4"},
    {FX_F64, "f8"},
};
enum { N_CODES = sizeof codes / sizeof *codes };

struct header { /* the dictionary at the start of a file */
    char descr[8];
    bool is_fortran;
    int rank;
    int64_t extents[FX_MAX_RANK];
};

static bool fail(char *message, size_t size, const char *text) {
    snprintf(message, size, "%s", text);
    return false;
}

bool npy_count(int rank, const int64_t *extents, size_t *n_elements) {
    int64_t n = 1;
    bool is_empty = false;
    if (rank < 0 || rank > FX_MAX_RANK) return false;
    for (int i = 0; i < rank; i++) {
        if (extents[i] < 0 || extents[i] > (int64_t)1 << 40) return false;
        if (extents[i] == 0) is_empty = true;
        else if (__builtin_mul_overflow(n, extents[i], &n) || n > (int64_t)1 << 48) return false;
    }
    *n_elements = is_empty ? 0 : (size_t)n;
    return true;
}

/* ---- the header: a Python dictionary with three keys, in any order ---- */

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

static bool take(struct cursor *c, char wanted) {
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(struct cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_string(struct cursor *c, char *out, size_t size) {
    size_t n = 0;
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 >= size || *c->at == '\\') return false;
        out[n++] = *c->at++;
    }
    out[n] = 0;
    return take(c, quote);
}

static bool take_extent(struct cursor *c, int64_t *out) {
    int64_t v = 0;
    skip_space(c);
    const char *start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->at - '0', &v)) return false;
    *out = v;
    return c->at > start;
}

static bool take_shape(struct cursor *c, struct header *h) {
    bool has_comma = true;
    if (!take(c, '(')) return false;
    for (h->rank = 0; !take(c, ')'); h->rank++) {
        if (!has_comma || h->rank == FX_MAX_RANK || !take_extent(c, &h->extents[h->rank])) return false;
        has_comma = take(c, ',');
        if (h->rank == 0 && !has_comma) return false; /* "(3)" is a number in Python, not a shape */
    }
    return true;
}

static bool parse_header(struct cursor *c, struct header *h) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0;
    if (!take(c, '{')) return false;
    while (!take(c, '}')) {
        char key[16];
        int bit;
        if (!take_string(c, key, sizeof key) || !take(c, ':')) return false;
        if (!strcmp(key, "descr")) {
            bit = DESCR;
            if (!take_string(c, h->descr, sizeof h->descr)) return false;
        } else if (!strcmp(key, "fortran_order")) {
            bit = ORDER;
            h->is_fortran = take_word(c, "True");
            if (!h->is_fortran && !take_word(c, "False")) return false;
        } else if (!strcmp(key, "shape")) {
            bit = SHAPE;
            if (!take_shape(c, h)) return false;
        } else {
            return false;
        }
        if (seen & bit) return false;
        seen |= bit;
        if (!take(c, ',') && (c->at == c->end || *c->at != '}')) return false;
    }
    skip_space(c);
    return seen == (DESCR | ORDER | SHAPE) && c->at == c->end;
}

/* Finds the header's text and, behind it, the data. */
static bool split(const unsigned char *bytes, size_t n, struct cursor *header, const unsigned char **data,
    char *message, size_t size) {
    size_t start, length;
    if (n < 10 || memcmp(bytes, NPY_BEGINS, 6) != 0) return fail(message, size, "not a .npy file");
    if (bytes[6] < 1 || bytes[6] > 3) {
        snprintf(message, size, "its .npy format version is %d, expected 1, 2 or 3", bytes[6]);
        return false;
    }
    if (bytes[6] == 1) {
        start = 10;
        length = bytes[8] | (size_t)bytes[9] << 8;
    } else {
        if (n < 12) return fail(message, size, "it ends within its header");
        start = 12;
        length = bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    if (length > n - start) return fail(message, size, "it ends within its header");
    header->at = (const char *)bytes + start;
    header->end = header->at + length;
    *data = bytes + start + length;
    return true;
}

/* The dtype, or the size of a raw element, that `descr` names. */
static bool find_dtype(const char *descr, struct npy *out, char *message, size_t size) {
    const char *code = descr + 1;
    bool is_byte = descr[0] && descr[1] && !strcmp(descr + 2, "1");
    if (descr[0] == '>' && !is_byte) {
        snprintf(message, size, "its elements are big-endian ('%s'), expected little-endian", descr);
        return false;
    }
    if (descr[0] != '<' && descr[0] != '|' && !(is_byte && (descr[0] == '>' || descr[0] == '=')))
        return fail(message, size, "its element type is not a plain number");
    out->raw_bytes = !strcmp(code, "V1") ? 1 : !strcmp(code, "V2") ? 2 : 0;
    if (out->raw_bytes) return true;
    for (int i = 0; i < N_CODES; i++)
        if (!strcmp(code, codes[i].code)) {
            out->shape.dtype = codes[i].dtype;
            return true;
        }
    /* What the file says is shown only where it is plain letters and digits. */
    for (const char *p = code; *p; p++)
        if (*p < '0' || *p > 'z') return fail(message, size, "its element type is not one fx has");
    snprintf(message, size, "its element type '%s' is not one fx has", code);
    return false;
}

/* ---- the data ---- */

/* Element i in row-major order of an array stored with its first axis fastest. */
static size_t fortran_offset(const struct fx_shape *s, size_t i) {
    size_t offset = 0;
    for (int a = s->rank - 1; a >= 0; a--) {
        size_t e = (size_t)s->extents[a], index = i % e;
        size_t stride = 1;
        for (int b = 0; b < a; b++) stride *= (size_t)s->extents[b];
        offset += index * stride;
        i /= e;
    }
    return offset;
}

static void copy_elements(struct npy *a, const unsigned char *data, size_t each, bool is_fortran) {
    unsigned char *to = a->data;
    if (!is_fortran || a->shape.rank < 2) memcpy(to, data, a->n_elements * each);
    else
        for (size_t i = 0; i < a->n_elements; i++)
            memcpy(to + i * each, data + fortran_offset(&a->shape, i) * each, each);
    /* A bool that is neither 0 nor 1 would be read differently by different code. */
    if (!a->raw_bytes && a->shape.dtype == FX_BOOL)
        for (size_t i = 0; i < a->n_elements; i++) to[i] = to[i] != 0;
}

bool npy_read(const void *bytes, size_t n, struct npy *out, char *message, size_t size) {
    struct header h = {0};
    struct cursor c;
    const unsigned char *data;
    *out = (struct npy){0};
    if (!split(bytes, n, &c, &data, message, size)) return false;
    if (!parse_header(&c, &h)) return fail(message, size, "its header is malformed, or its rank is above 8");
    if (!find_dtype(h.descr, out, message, size)) return false;
    out->shape.rank = h.rank;
    memcpy(out->shape.extents, h.extents, sizeof h.extents);
    if (!npy_count(h.rank, h.extents, &out->n_elements)) return fail(message, size, "its shape is too large");
    size_t each = out->raw_bytes ? (size_t)out->raw_bytes : (size_t)fx_dtype_bits(out->shape.dtype) / 8;
    size_t held = (size_t)((const unsigned char *)bytes + n - data), wanted = out->n_elements * each;
    if (held != wanted) {
        snprintf(message, size, "it holds %zu bytes of data, but its header says %zu", held, wanted);
        return false;
    }
    out->data = malloc(wanted ? wanted : 1);
    if (!out->data) return fail(message, size, "out of memory");
    copy_elements(out, data, each, h.is_fortran);
    return true;
}

bool npy_convert(struct npy *a, enum fx_dtype want, char *message, size_t size) {
    int bits = fx_dtype_bits(want);
    bool is_float = fx_dtype_class_of(want) == FX_CLASS_F;
    if (a->raw_bytes) {
        for (int i = 0; i < N_CODES; i++)
            if (codes[i].dtype == want) is_float = false;
        if (!is_float || bits != 8 * a->raw_bytes) {
            snprintf(message, size, "it holds raw elements of %d bytes ('V%d'), expected %s", a->raw_bytes,
                a->raw_bytes, fx_dtype_name(want));
            return false;
        }
        a->raw_bytes = 0;
        a->shape.dtype = want;
    }
    enum fx_dtype have = a->shape.dtype;
    if (have == want) return true;
    if (!is_float || fx_dtype_class_of(have) != FX_CLASS_F || fx_dtype_bits(have) <= bits) {
        snprintf(message, size, "its dtype is %s, expected %s", fx_dtype_name(have), fx_dtype_name(want));
        return false;
    }
    /* In place: an element written never reaches one not yet read, for it is the narrower. */
    for (size_t i = 0; i < a->n_elements; i++) fx_store_double(want, a->data, i, fx_load_double(have, a->data, i));
    a->shape.dtype = want;
    return true;
}

void npy_release(struct npy *a) {
    free(a->data);
    *a = (struct npy){0};
}

size_t npy_header(const struct fx_shape *shape, char header[NPY_HEADER_MAX]) {
    char descr[16];
    int each = fx_dtype_bits(shape->dtype) / 8;
    snprintf(descr, sizeof descr, "<V%d", each);
    for (int i = 0; i < N_CODES; i++)
        if (codes[i].dtype == shape->dtype) snprintf(descr, sizeof descr, "%c%s", each == 1 ? '|' : '<', codes[i].code);
    size_t n = 10;
    n += (size_t)snprintf(header + n, NPY_HEADER_MAX - n, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < shape->rank; i++)
        n += (size_t)snprintf(header + n, NPY_HEADER_MAX - n, "%s%lld%s", i ? " " : "", (long long)shape->extents[i],
                              i + 1 < shape->rank || i == 0 ? "," : "");
    n += (size_t)snprintf(header + n, NPY_HEADER_MAX - n, "), }");
    while ((n + 1) % 64 != 0) header[n++] = ' ';
    header[n++] = '\n';
    memcpy(header, NPY_BEGINS "\x01", 7);
    header[7] = 0;
    header[8] = (char)((n - 10) & 0xff);
    header[9] = (char)((n - 10) >> 8);
    return n;
}
