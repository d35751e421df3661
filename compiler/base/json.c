/* The one writer of JSON.
 *
 * In: values in order. Out: RFC 8259 text in UTF-8 without spaces. Control characters, and those that reorder text, are
 * escaped, so that it shows on any terminal as it is. The caller closes what it opened and gives every value of an
 * object a key. */
#include "base/json.h"

#include <math.h>

#include "base/utf8.h"

static void begin_value(struct json *j) {
    if (j->is_next) buf_putc(j->out, ',');
    j->is_next = true;
}

void json_open(struct json *j, char bracket) {
    begin_value(j);
    buf_putc(j->out, bracket);
    j->is_next = false;
}

void json_close(struct json *j, char bracket) {
    buf_putc(j->out, bracket);
    j->is_next = true;
}

static void put_point(struct buf *out, int32_t c, const char *s, size_t len) {
    if (c == UTF8_BAD) buf_puts(out, "\xef\xbf\xbd");
    else if (c == '"' || c == '\\') buf_printf(out, "\\%c", (char)c);
    else if (c == '\n') buf_puts(out, "\\n");
    else if (utf8_is_unprintable(c)) buf_printf(out, "\\u%04x", (unsigned)c); /* all of these have four digits */
    else buf_put(out, s, len);
}

void json_line(struct json *j) {
    buf_puts(j->out, j->is_next ? ",\n" : "\n");
    j->is_next = false;
}

void json_bytes(struct json *j, const char *s, size_t len) {
    begin_value(j);
    buf_putc(j->out, '"');
    for (const char *end = s + len; s < end;) {
        const char *from = s;
        int32_t c = utf8_next(&s, end);
        put_point(j->out, c, from, (size_t)(s - from));
    }
    buf_putc(j->out, '"');
}

void json_string(struct json *j, const char *s) {
    if (s) json_bytes(j, s, strlen(s));
    else json_null(j);
}

void json_key(struct json *j, const char *key) {
    json_string(j, key);
    buf_putc(j->out, ':');
    j->is_next = false;
}

void json_int(struct json *j, int64_t v) {
    begin_value(j);
    buf_printf(j->out, "%lld", (long long)v);
}

void json_real(struct json *j, double v) {
    if (!isfinite(v)) {
        json_null(j);
        return;
    }
    begin_value(j);
    const char *number = "";
    for (int digits = 15; digits <= 17; digits++) {
        number = arena_printf(j->out->arena, "%.*g", digits, v);
        if (text_to_double(number, NULL) == v) break;
    }
    buf_puts(j->out, number);
}

static void json_bool(struct json *j, bool v) {
    begin_value(j);
    buf_puts(j->out, v ? "true" : "false");
}

void json_null(struct json *j) {
    begin_value(j);
    buf_puts(j->out, "null");
}

/* ---- members ---- */

void json_member_text(struct json *j, const char *key, const char *s) {
    json_key(j, key);
    json_string(j, s);
}

void json_member_int(struct json *j, const char *key, int64_t v) {
    json_key(j, key);
    json_int(j, v);
}

void json_member_bool(struct json *j, const char *key, bool v) {
    json_key(j, key);
    json_bool(j, v);
}

void json_member_real(struct json *j, const char *key, double v) {
    json_key(j, key);
    json_real(j, v);
}

void json_open_list(struct json *j, const char *key) {
    json_key(j, key);
    json_open(j, '[');
}

void json_open_object(struct json *j, const char *key) {
    json_key(j, key);
    json_open(j, '{');
}
