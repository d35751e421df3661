/* The writer of JSON: values are written one after another, it adds commas and escapes (json.c). */
#ifndef FX_JSON_H
#define FX_JSON_H

#include "base/base.h"

struct json { /* {.out = &buf} to begin with */
    struct buf *out;
    bool is_next; /* a value stands before, in the same list or object */
};

void json_open(struct json *j, char bracket);  /* '[' or '{' */
void json_close(struct json *j, char bracket); /* ']' or '}' */
void json_line(struct json *j); /* the next value of the list stands on a line of its own */
void json_key(struct json *j, const char *key);
/* Any bytes: what is no UTF-8 becomes U+FFFD. `s` NULL writes null. */
void json_string(struct json *j, const char *s);
void json_bytes(struct json *j, const char *s, size_t len);
void json_int(struct json *j, int64_t v);
/* As few digits as read back the same; what is no finite number becomes null. */
void json_real(struct json *j, double v);
void json_null(struct json *j);
/* A member of an object: its key and value, or its key and what opens the value. */
void json_member_text(struct json *j, const char *key, const char *s);
void json_member_int(struct json *j, const char *key, int64_t v);
void json_member_bool(struct json *j, const char *key, bool v);
void json_member_real(struct json *j, const char *key, double v);
void json_open_list(struct json *j, const char *key);
void json_open_object(struct json *j, const char *key);

#endif
