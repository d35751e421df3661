/* Tokens: what lex.re makes of a text and parse.y consumes. A token points into the text; codes are parse.h's T_*. */
#ifndef FX_LEX_H
#define FX_LEX_H

#include "base/base.h"

enum { /* limits on a spec */
    MAX_FILE_BYTES = 1 << 20,
    MAX_LINE_BYTES = 1 << 16,
    MAX_TOKENS = 200000,
    MAX_NAME_BYTES = 64,
};

struct token {
    const char *s;   /* its bytes in the text */
    uint32_t len;
    uint32_t start;  /* s as an offset */
    uint8_t code;    /* T_* */
    bool on_new_line; /* a newline stands between it and the token before */
};

/* lex.re: the tokens of files[file], the last of them T_END. What cannot be a token is reported and becomes T_BAD. */
struct token *lex(struct cx *cx, int file, int *n);

#endif
