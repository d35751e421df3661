/* A strict reader of JSON (RFC 8259) for tests: one value, nothing after it, no key twice, whole UTF-8. */
#ifndef FX_TESTS_JSON_TREE_H
#define FX_TESTS_JSON_TREE_H

#include "base/base.h"

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *key;           /* within an object */
    const char *text;          /* of a string decoded, of a number as written */
    int n;                     /* of a list or an object */
    struct json_value **items; /* in order */
};

/* NULL where the text is not JSON; *wrong then says at what byte. */
const struct json_value *json_read(struct arena *a, const char *text, size_t *wrong);
/* The member of that name, NULL where there is none. */
const struct json_value *json_member(const struct json_value *v, const char *key);

#endif
