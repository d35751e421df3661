/* The lexer: text to an array of tokens.
 *
 * In: files[file] of cx, NUL-terminated at text[len]. Out: tokens that point into it, the last is T_END. A token that
 * is malformed, or belongs to other languages, is kept as T_BAD or T_FOREIGN, so that the parser recovers where it
 * stands. Reads no byte past text[len]; a NUL before it is an error, not the end. */
#include "front/lex.h"
#include "dtype.h"
#include "parse.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

struct lexer {
    struct cx *cx;
    const char *text, *end; /* the text; *end is NUL */
    const char *at;         /* the next byte to read */
    const char *line;       /* where the current line starts */
    int file;
    bool on_new_line;       /* a newline was crossed since the last token */
};

static struct span span_of(const struct lexer *l, const char *from, const char *to) {
    return (struct span){.start = (uint32_t)(from - l->text), .len = (uint32_t)(to - from), .file = (uint16_t)l->file};
}

static void new_line(struct lexer *l, const char *at) {
    if (at - l->line > MAX_LINE_BYTES) {
        diag_error(l->cx, span_of(l, l->line, l->line + 1), D_TOO_BIG, "a line of more than %d bytes", MAX_LINE_BYTES);
        diag_fix(l->cx, "an expression may go on over several lines");
    }
    l->line = at;
    l->on_new_line = true;
}

static void bad_number(struct lexer *l, const char *from) {
    struct span at = span_of(l, from, l->at);
    diag_error(l->cx, at, D_BAD_NUMBER, "malformed number `%.*s`", (int)at.len, from);
    if (at.len > 2 && at.len <= 10 && from[0] == '0' && (from[1] | 0x20) == 'x') {
        char *stop;
        unsigned long value = strtoul(from + 2, &stop, 16);
        if (stop == l->at) diag_fix(l->cx, "numbers are decimal: %lu", value);
    } else if (memchr(from, '_', at.len)) {
        diag_fix(l->cx, "write the digits without `_`");
    } else {
        diag_fix(l->cx, "a number is written 512, 0.5 or 1e-5; a product needs its `*`");
    }
}

static const char *ascii_for(int32_t c) {
    switch (c) {
    case 0x2212: case 0x2013: case 0x2014: return "write `-`";
    case 0xd7: case 0xb7: case 0x22c5: return "write `*`, or `@` for a matrix product";
    case 0xf7: return "write `/`";
    case 0x2264: return "write `<=`";
    case 0x2265: return "write `>=`";
    case 0x2260: return "write `!=`";
    case 0x2192: return "write `->`";
    case 0x221e: return "write `inf`";
    case 0xa0: case 0x3000: return "write a plain space";
    case '\\': return "an expression goes on over several lines by itself";
    case 0xfeff: return "save the file without a byte order mark";
    }
    return c < 0x80 ? NULL : "names and operators are ASCII";
}

/* Reports the character at `from`, and with it all that follow of its kind: one run, one message. */
static void bad_character(struct lexer *l, const char *from) {
    l->at = from;
    int32_t c = utf8_next(&l->at, l->end);
    const char *first_end = l->at;
    while (l->at < l->end && (*l->at & 0x80) != 0 && (*from & 0x80) != 0) l->at++;
    struct span at = span_of(l, from, first_end);
    if (c == 0) {
        diag_error(l->cx, at, D_BAD_CHARACTER, "a NUL byte in the text");
        diag_fix(l->cx, "save the file as UTF-8 text");
    } else if (c == '\r') {
        diag_error(l->cx, at, D_BAD_CHARACTER, "a carriage return without a newline");
        diag_fix(l->cx, "end lines with a newline");
    } else if (c == UTF8_BAD) {
        diag_error(l->cx, at, D_BAD_CHARACTER, "byte 0x%02x is no UTF-8", (unsigned char)*from);
        diag_fix(l->cx, "save the file as UTF-8");
    } else if (c > 0x20 && c < 0x7f) {
        diag_error(l->cx, at, D_BAD_CHARACTER, "unexpected character `%c`", (int)c);
    } else {
        diag_error(l->cx, at, D_BAD_CHARACTER, "unexpected character U+%04X", (unsigned)c);
    }
    if (ascii_for(c)) diag_fix(l->cx, "%s", ascii_for(c));
}

/* A comment may hold any UTF-8, but nothing that makes it read otherwise than it is. */
static void skip_comment(struct lexer *l) {
    bool is_reported = false;
    while (l->at < l->end && *l->at != '\n') {
        const char *from = l->at;
        int32_t c = utf8_next(&l->at, l->end);
        bool ends_line = c == '\r' && *l->at == '\n';
        if (is_reported || c == '\t' || ends_line || (c != UTF8_BAD && !utf8_is_unprintable(c))) continue;
        is_reported = true;
        if (utf8_is_bidi(c)) {
            diag_error(l->cx, span_of(l, from, l->at), D_BAD_CHARACTER,
                       "U+%04X in a comment changes the direction of the text around it", (unsigned)c);
            diag_fix(l->cx, "delete the character");
        } else {
            const char *resume = l->at;
            bad_character(l, from);
            l->at = resume;
        }
    }
}

static int word(struct lexer *l, const char *from) {
    uint32_t len = (uint32_t)(l->at - from);
    struct name name = {from, len};
    if (len > MAX_NAME_BYTES) {
        diag_error(l->cx, span_of(l, from, l->at), D_TOO_BIG, "a name of %u bytes, longer than %d", len, MAX_NAME_BYTES);
        diag_fix(l->cx, "shorten it");
    }
    for (int t = 0; t < FX_N_DTYPES; t++)
        if (name_is(name, fx_dtype_name(t))) return T_DTYPE;
    return T_ID;
}

/* Skips space and comments, then returns the code of one token, which ends at l->at; *from is where it starts. */
static int next_code(struct lexer *l, const char **from) {
    const char *YYMARKER;
    for (;;) {
        const char *start = *from = l->at;
        /*!re2c
        re2c:define:YYCTYPE = "unsigned char";
        re2c:define:YYCURSOR = l->at;
        re2c:yyfill:enable = 0;

        digits = [0-9]+;
        number = (digits ("." digits?)? | "." digits) ([eE] [+-]? digits)?;

        "\x00" {
            if (start == l->end) {
                l->at = l->end;
                return T_END;
            }
            bad_character(l, start);
            return T_BAD;
        }
        [ \t]+      { continue; }
        "\r"? "\n"  { new_line(l, l->at); continue; }
        "#"         { skip_comment(l); continue; }

        "include" { return T_INCLUDE; }  "const"  { return T_CONST; }   "fn"      { return T_FN; }
        "kernel"  { return T_KERNEL; }   "test"   { return T_TEST; }    "bench"   { return T_BENCH; }
        "with"    { return T_WITH; }     "require" { return T_REQUIRE; } "inout"  { return T_INOUT; }
        "packed"  { return T_PACKED; }   "strided" { return T_STRIDED; } "align"  { return T_ALIGN; }
        "inf" | "nan" | "true" | "false" { return T_NUM; }
        [A-Za-z_][A-Za-z0-9_]* { return word(l, start); }

        number { return T_NUM; }
        number [A-Za-z0-9_]+ { bad_number(l, start); return T_BAD; }
        ["] [^"\\\n\r\x00-\x1f\x7f-\xff]* ["] { return T_STRING; }
        ["] [^"\\\n\r\x00-\x1f\x7f-\xff]* {
            diag_error(l->cx, span_of(l, start, l->at), D_BAD_STRING, "a string without its closing `\"`");
            diag_fix(l->cx, "a string is one line of ASCII without `\\`");
            while (l->at < l->end && *l->at != '\n') l->at++;
            return T_BAD;
        }

        "->" { return T_ARROW; }    "??" { return T_FILL; }    "?"  { return T_QUESTION; }
        "||" { return T_OR; }       "&&" { return T_AND; }     "!"  { return T_NOT; }
        "<"  { return T_LT; }       "<=" { return T_LE; }      ">"  { return T_GT; }
        ">=" { return T_GE; }       "==" { return T_EQ; }      "!=" { return T_NE; }
        "+"  { return T_PLUS; }     "-"  { return T_MINUS; }   "*"  { return T_STAR; }
        "**" { return T_POW; }      "/"  { return T_SLASH; }   "//" { return T_FLOORDIV; }
        "%"  { return T_PERCENT; }  "@"  { return T_AT; }      "="  { return T_ASSIGN; }
        "("  { return T_LPAREN; }   ")"  { return T_RPAREN; }  "["  { return T_LBRACKET; }
        "]"  { return T_RBRACKET; } "{"  { return T_LBRACE; }  "}"  { return T_RBRACE; }
        ","  { return T_COMMA; }    ":"  { return T_COLON; }   ";"  { return T_SEMI; }
        "."  { return T_DOT; }
        "&" | "|" | "~" | "^" | "<<" | ">>" | ":=" | "..." | "=>" { return T_FOREIGN; }

        * { bad_character(l, start); return T_BAD; }
        */
    }
}

struct token *lex(struct cx *cx, int file, int *n) {
    const char *text = cx->files[file].text;
    struct lexer l = {.cx = cx, .text = text, .at = text, .line = text, .end = text + cx->files[file].len, .file = file};
    struct token *tokens = NULL;
    *n = 0;
    for (int code = T_BAD; code != T_END;) {
        const char *from;
        l.on_new_line = *n == 0;
        code = next_code(&l, &from);
        if (*n == MAX_TOKENS && code != T_END) {
            diag_error(cx, span_of(&l, from, l.at), D_TOO_BIG, "a spec of more than %d tokens", MAX_TOKENS);
            diag_fix(cx, "split it into several specs");
            code = T_END;
        }
        if (code == T_END) new_line(&l, l.at);
        PUSH(&cx->arena, tokens, *n) = (struct token){.s = from, .len = (uint32_t)(l.at - from), .code = (uint8_t)code,
                                                       .start = (uint32_t)(from - text), .on_new_line = l.on_new_line};
    }
    return tokens;
}
