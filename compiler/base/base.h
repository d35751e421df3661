/* What every part of the compiler stands on: one arena a compilation, growing text, source spans, diagnostics.
 *
 * Everything a compilation allocates lives in its arena and dies with it. Running out of memory is a longjmp to the
 * entry point (`cx->oom`), so no caller tests an allocation. Nothing here prints or exits. */
#ifndef FX_BASE_H
#define FX_BASE_H

#include "base/arch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cx; /* one compilation */

/* ---- arena.c: memory freed all at once ---- */
struct arena_chunk;
enum { ARENA_SIZES = 128 };
struct arena {
    struct arena_chunk *chunks; /* newest first */
    struct arena_chunk *spare;  /* given back, to be taken again */
    struct arena_chunk *large[ARENA_SIZES]; /* likewise, pieces with a chunk of their own, by size */
    char *at, *end;             /* free room in the newest chunk */
    jmp_buf *oom;               /* where an allocation that fails goes */
    size_t held, refused;       /* bytes of all chunks; what the allocation that failed asked for */
};

struct arena_mark { /* what was taken up to a moment */
    struct arena_chunk *chunks, *older; /* older: behind the newest chunk */
    char *at, *end;
    size_t held;
};

void arena_init(struct arena *a, jmp_buf *oom);
void arena_release(struct arena *a);
/* Gives back what was taken since the mark. */
struct arena_mark arena_marked(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *mark);
void *arena_alloc(struct arena *a, size_t n_bytes); /* zeroed, 16-byte aligned, never NULL */
char *arena_strndup(struct arena *a, const char *s, size_t len);
#define NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define NEW_ARRAY(a, type, n) ((type *)arena_alloc((a), (size_t)(n) * sizeof(type)))
/* Makes room for one more element of an arena array whose capacity is a power of two;
 * the old copy stays in the arena. */
#define PUSH(a, array, n) (*(__typeof__(array))arena_push((a), (void **)&(array), &(n), sizeof *(array)))
void *arena_push(struct arena *a, void **array, int *n, size_t size); /* -> the new, zeroed element */

/* ---- buf.c: text that grows, in an arena; always ends in NUL ---- */
struct buf {
    struct arena *arena;
    char *s;
    size_t len, cap;
    size_t most; /* what goes beyond is dropped; 0: no limit */
};

void buf_init(struct buf *b, struct arena *a);
void buf_put(struct buf *b, const char *s, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
bool buf_is_full(const struct buf *b); /* nothing more will be kept */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_line(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a whole one */
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
/* strtod under the C locale, whatever the host's. */
double text_to_double(const char *s, char **end);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- source text ---- */
struct span {
    uint32_t start, len; /* bytes of files[file].text */
    uint16_t file;       /* 0 is the user's file, then includes; the prelude is last opened */
};

struct name { /* an identifier: bytes of the source, not NUL-terminated */
    const char *s;
    uint32_t len;
};
/* Scopes are walked by it: most names differ in length or in the first byte. */
static inline bool name_eq(struct name a, struct name b) {
    return a.len == b.len && (a.len == 0 || (*a.s == *b.s && memcmp(a.s, b.s, a.len) == 0));
}
bool name_is(struct name a, const char *s);
#define NAME_FMT "%.*s"
#define NAME_ARG(n) (int)(n).len, (n).s

struct source_file {
    const char *name; /* as the user gave it, for messages */
    const char *text;
    size_t len;
    uint32_t *lines; /* where each line begins, in order */
    int n_lines;
};

/* ---- diag.c: messages to the user, collected, at most DIAG_MAX errors ---- */
enum { DIAG_MAX = 20 };

enum diag_code {
#define DIAG(code, id, title) D_##id,
#include "base/diags.def"
#undef DIAG
    N_DIAG_CODES
};

enum diag_level { DIAG_ERROR, DIAG_WARNING };

struct diag {
    enum diag_level level;
    enum diag_code code; /* N_DIAG_CODES: none */
    struct span span;
    const char *text; /* lower case, no full stop, both sides named, what was expected */
    const char *fix;  /* what would mend it, or NULL */
};

/* Records an error or a warning. `diag_fix` attaches what would mend it to the message recorded last. */
void diag_error(struct cx *cx, struct span at, enum diag_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning(struct cx *cx, struct span at, enum diag_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What is wrong with the call rather than the text: an error without code and place, not counted. */
void diag_refuse(struct cx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_fix(struct cx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *diag_code_name(enum diag_code code);  /* "FX1001" */
const char *diag_code_title(enum diag_code code); /* one line of what it means */
/* All messages as text: `file:line:col: error: text [code]`, the source line, a caret range, `fix: ...`. Control
 * bytes of quoted source are replaced, tabs expanded to 8, columns 1-based and counted in code points. */
void diag_print(const struct cx *cx, struct buf *out);
/* The same as a JSON array, a message a line; fx_messages_json in fx.h says what is in it. */
void diag_json(const struct cx *cx, struct buf *out);
/* The same as a SARIF 2.1.0 log of one run (diag_sarif.c). */
void diag_sarif(const struct cx *cx, struct buf *out);
struct diag_region { /* where a span stands, from 1, in code points; the end is past the last */
    const char *file; /* NULL: nowhere */
    int line, column, end_line, end_column;
    uint32_t byte_offset, byte_length;
};
struct diag_region diag_region(const struct cx *cx, struct span at);
int span_line(const struct cx *cx, struct span at); /* 1-based */
const char *span_text(
    struct cx *cx, struct span at); /* what was written there, on one line, the first of it where it is long */
/* Opens a file of the compilation: copies name and text, finds its lines. Returns its number. */
void source_index(struct cx *cx, int file); /* finds the lines of a file whose text is set */
int source_open(struct cx *cx, const char *name, const char *text, size_t len);

/* ---- the compilation ---- */
struct ast_file;
struct define { /* -D NAME=VALUE */
    struct name name;
    const char *value;
};

struct cx {
    struct arena arena;
    jmp_buf oom;
    struct source_file files[17]; /* the user's and included ones, the prelude, derivatives */
    int n_files;
    struct diag *diags; /* in the order found */
    int n_diags, n_errors;
    struct define *defines;
    int n_defines;
    const struct arch *arch; /* the machine compiled for */
    void (*on_stage)(void *user, const char *stage, const char *of, bool is_over); /* or NULL */
    void *stage_user; /* handed to it */
};
/* Says that a stage begins, or is over. */
static inline void stage(const struct cx *cx, const char *name, const char *of, bool is_over) {
    if (cx->on_stage) cx->on_stage(cx->stage_user, name, of, is_over);
}

#endif
