/* The reader of JSON (json_read.c), for messages that come from outside: any bytes are safe. */
#ifndef FX_JSON_READ_H
#define FX_JSON_READ_H

#include "base/base.h"

enum json_type {
    JSON_IS_NULL,
    JSON_IS_FALSE,
    JSON_IS_TRUE,
    JSON_IS_NUMBER,
    JSON_IS_STRING,
    JSON_IS_LIST,
    JSON_IS_OBJECT
};

struct json_node {
    enum json_type type;
    const char *key;    /* within an object, decoded */
    const char *text;   /* of a string decoded, of a number as written; else NULL */
    size_t len;         /* bytes of text */
    int n_items;
    const struct json_node **items; /* of a list or an object, in order */
};

/* One value and nothing after it, nested to at most 64 levels; in the arena. NULL where the text is not JSON. */
const struct json_node *json_parse(struct arena *a, const char *text, size_t len);
/* The member of that name, NULL where there is none, or v is no object. */
const struct json_node *json_get(const struct json_node *v, const char *key);
/* The text of a string, or ""; the value of a number that is an integer of up to 9 digits, or `otherwise`. */
const char *json_get_text(const struct json_node *v, const char *key);
int json_get_int(const struct json_node *v, const char *key, int otherwise);

#endif
