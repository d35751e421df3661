/* Recursive descent over RFC 8259, written apart from compiler/base/json.c. */
#include "json_tree.h"

#include <stdlib.h>

enum { MOST_DEPTH = 64 };

struct reader {
    struct arena *a;
    const unsigned char *at, *end;
    int depth;
};

static struct json_value *read_value(struct reader *r);

static void skip_space(struct reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) r->at++;
}

static bool take(struct reader *r, const char *s) {
    size_t n = strlen(s);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, s, n) != 0) return false;
    r->at += n;
    return true;
}

/* One code point of UTF-8, shortest form, no surrogate; copied. */
static bool copy_point(struct reader *r, struct buf *b) {
    unsigned c = *r->at;
    int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
    if (c < 0x20 || more < 0 || r->end - r->at <= more) return false;
    for (int i = 1; i <= more; i++)
        if ((r->at[i] & 0xc0) != 0x80) return false;
    if ((c == 0xe0 && r->at[1] < 0xa0) || (c == 0xed && r->at[1] >= 0xa0) || (c == 0xf0 && r->at[1] < 0x90) ||
        (c == 0xf4 && r->at[1] >= 0x90))
        return false;
    buf_put(b, (const char *)r->at, (size_t)more + 1);
    r->at += more + 1;
    return true;
}

static bool copy_escape(struct reader *r, struct buf *b) {
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char digits[5] = {0}, *end;
    const char *known;
    if (r->at == r->end) return false;
    char e = (char)*r->at++;
    if (e && (known = strchr(escapes, e))) return buf_putc(b, means[known - escapes]), true;
    if (e != 'u' || r->end - r->at < 4) return false;
    memcpy(digits, r->at, 4);
    long c = strtol(digits, &end, 16);
    if (end != digits + 4 || strspn(digits, "0123456789abcdefABCDEF") != 4 || (c >= 0xd800 && c < 0xe000)) return false;
    r->at += 4;
    if (c < 0x80) buf_putc(b, (char)c);
    else if (c < 0x800) buf_printf(b, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
    else buf_printf(b, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
    return true;
}

static const char *read_string(struct reader *r) {
    struct buf b;
    buf_init(&b, r->a);
    if (!take(r, "\"")) return NULL;
    while (r->at < r->end && *r->at != '"') {
        bool is_escape = *r->at == '\\';
        if (is_escape) r->at++;
        if (!(is_escape ? copy_escape : copy_point)(r, &b)) return NULL;
    }
    return take(r, "\"") ? b.s : NULL;
}

static bool skip_digits(struct reader *r) {
    const unsigned char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > from;
}

static const char *read_number(struct reader *r) {
    const unsigned char *from = r->at;
    take(r, "-");
    if (!take(r, "0") && !skip_digits(r)) return NULL;
    if (take(r, ".") && !skip_digits(r)) return NULL;
    if (take(r, "e") || take(r, "E")) {
        if (!take(r, "+")) take(r, "-");
        if (!skip_digits(r)) return NULL;
    }
    return arena_strndup(r->a, (const char *)from, (size_t)(r->at - from));
}

static bool read_items(struct reader *r, struct json_value *v) {
    const char *close = v->kind == JSON_LIST ? "]" : "}";
    skip_space(r);
    if (take(r, close)) return true;
    for (;;) {
        const char *key = NULL;
        skip_space(r);
        if (v->kind == JSON_OBJECT) {
            if (!(key = read_string(r)) || json_member(v, key)) return false;
            skip_space(r);
            if (!take(r, ":")) return false;
        }
        struct json_value *item = read_value(r);
        if (!item) return false;
        item->key = key;
        PUSH(r->a, v->items, v->n) = item;
        skip_space(r);
        if (take(r, close)) return true;
        if (!take(r, ",")) return false;
    }
}

static struct json_value *read_value(struct reader *r) {
    struct json_value *v = NEW(r->a, struct json_value);
    skip_space(r);
    if (r->at == r->end || r->depth == MOST_DEPTH) return NULL;
    if (take(r, "null")) return v;
    v->kind = JSON_FALSE;
    if (take(r, "false")) return v;
    v->kind = JSON_TRUE;
    if (take(r, "true")) return v;
    if (*r->at == '"') return v->kind = JSON_STRING, (v->text = read_string(r)) ? v : NULL;
    if (*r->at != '[' && *r->at != '{') return v->kind = JSON_NUMBER, (v->text = read_number(r)) ? v : NULL;
    v->kind = *r->at++ == '[' ? JSON_LIST : JSON_OBJECT;
    r->depth++;
    bool is_read = read_items(r, v);
    r->depth--;
    return is_read ? v : NULL;
}

const struct json_value *json_read(struct arena *a, const char *text, size_t *wrong) {
    struct reader r = {a, (const unsigned char *)text, (const unsigned char *)text + strlen(text), 0};
    const struct json_value *v = read_value(&r);
    skip_space(&r);
    *wrong = (size_t)(r.at - (const unsigned char *)text);
    return r.at == r.end ? v : NULL;
}

const struct json_value *json_member(const struct json_value *v, const char *key) {
    for (int i = 0; v && v->kind == JSON_OBJECT && i < v->n; i++)
        if (strcmp(v->items[i]->key, key) == 0) return v->items[i];
    return NULL;
}
