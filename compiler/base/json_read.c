/* Recursive descent over RFC 8259. In: bytes of any kind. Out: a tree in an arena, or NULL. Invariant: depth, and with
 * it the stack, is bounded; of a key that stands twice the last one counts. */
#include "base/json_read.h"

#include <stdlib.h>

enum { MOST_NESTED = 64 };

struct json_reader {
    struct arena *a;
    const char *at, *end;
    int depth;
};

static void skip_space(struct json_reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) r->at++;
}

static bool take(struct json_reader *r, const char *s) {
    size_t n = strlen(s);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, s, n) != 0) return false;
    r->at += n;
    return true;
}

/* Four hexadecimal digits; -1: they are none. */
static int read_hex(struct json_reader *r) {
    int value = 0;
    if (r->end - r->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const char c = *r->at++, lower = (char)(c | 0x20);
        const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void put_utf8(struct buf *b, int c) {
    if (c < 0x80) buf_putc(b, (char)c);
    else if (c < 0x800) buf_printf(b, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
    else if (c < 0x10000) buf_printf(b, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
    else buf_printf(b, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 63), 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
}

/* Behind the backslash; a half of a surrogate pair alone becomes U+FFFD. */
static bool read_escape(struct json_reader *r, struct buf *b) {
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) return false;
    const char e = *r->at++, *known = e ? strchr(escapes, e) : NULL;
    if (known) return buf_putc(b, means[known - escapes]), true;
    int c = e == 'u' ? read_hex(r) : -1;
    if (c < 0) return false;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        const char *before = r->at;
        r->at += 2;
        int low = read_hex(r);
        if (low >= 0xdc00 && low < 0xe000) c = 0x10000 + (c - 0xd800) * 0x400 + low - 0xdc00;
        else r->at = before;
    }
    put_utf8(b, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static const char *read_string(struct json_reader *r, size_t *len) {
    struct buf b;
    buf_init(&b, r->a);
    if (!take(r, "\"")) return NULL;
    while (r->at < r->end && *r->at != '"') {
        const char *from = r->at;
        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= ' ') r->at++;
        buf_put(&b, from, (size_t)(r->at - from));
        if (r->at == r->end || *r->at == '"') break;
        if (*r->at++ != '\\' || !read_escape(r, &b)) return NULL;
    }
    if (!take(r, "\"")) return NULL;
    if (len) *len = b.len;
    return b.s;
}

static bool skip_digits(struct json_reader *r) {
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > from;
}

static const char *read_number(struct json_reader *r) {
    const char *from = r->at;
    take(r, "-");
    if (!take(r, "0") && !skip_digits(r)) return NULL;
    if (take(r, ".") && !skip_digits(r)) return NULL;
    if (take(r, "e") || take(r, "E")) {
        if (!take(r, "+")) take(r, "-");
        if (!skip_digits(r)) return NULL;
    }
    return arena_strndup(r->a, from, (size_t)(r->at - from));
}

static struct json_node *read_node(struct json_reader *r);

static bool read_items(struct json_reader *r, struct json_node *v) {
    const char *close = v->type == JSON_IS_LIST ? "]" : "}";
    skip_space(r);
    if (take(r, close)) return true;
    for (;;) {
        const char *key = NULL;
        skip_space(r);
        if (v->type == JSON_IS_OBJECT) {
            key = read_string(r, NULL);
            skip_space(r);
            if (!key || !take(r, ":")) return false;
        }
        struct json_node *item = read_node(r);
        if (!item) return false;
        item->key = key;
        PUSH(r->a, v->items, v->n_items) = item;
        skip_space(r);
        if (take(r, close)) return true;
        if (!take(r, ",")) return false;
    }
}

static struct json_node *read_node(struct json_reader *r) {
    struct json_node *v = NEW(r->a, struct json_node);
    skip_space(r);
    if (r->at == r->end || r->depth == MOST_NESTED) return NULL;
    if (take(r, "null")) return v;
    v->type = JSON_IS_FALSE;
    if (take(r, "false")) return v;
    v->type = JSON_IS_TRUE;
    if (take(r, "true")) return v;
    v->type = *r->at == '"'   ? JSON_IS_STRING
              : *r->at == '[' ? JSON_IS_LIST
              : *r->at == '{' ? JSON_IS_OBJECT
                              : JSON_IS_NUMBER;
    if (v->type == JSON_IS_STRING) return (v->text = read_string(r, &v->len)) ? v : NULL;
    if (v->type == JSON_IS_NUMBER) return (v->text = read_number(r)) ? v : NULL;
    r->at++, r->depth++;
    const bool is_read = read_items(r, v);
    r->depth--;
    return is_read ? v : NULL;
}

const struct json_node *json_parse(struct arena *a, const char *text, size_t len) {
    struct json_reader r = {a, text, text + len, 0};
    const struct json_node *v = read_node(&r);
    skip_space(&r);
    return v && r.at == r.end ? v : NULL;
}

const struct json_node *json_get(const struct json_node *v, const char *key) {
    for (int i = v && v->type == JSON_IS_OBJECT ? v->n_items : 0; i-- > 0;)
        if (strcmp(v->items[i]->key, key) == 0) return v->items[i];
    return NULL;
}

const char *json_get_text(const struct json_node *v, const char *key) {
    const struct json_node *found = json_get(v, key);
    return found && found->type == JSON_IS_STRING ? found->text : "";
}

int json_get_int(const struct json_node *v, const char *key, int otherwise) {
    const struct json_node *found = json_get(v, key);
    if (!found || found->type != JSON_IS_NUMBER) return otherwise;
    const size_t n = strlen(found->text), digits = strspn(found->text, "0123456789");
    return n == digits && n <= 9 ? atoi(found->text) : otherwise;
}
