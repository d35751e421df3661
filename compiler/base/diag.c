/* Messages to the user: recorded while compiling, rendered at the end.
 *
 * In: a code, a span, a text and perhaps a fix. Out: gcc-style text with the source line and a caret range. At most
 * DIAG_MAX errors are recorded; n_errors counts all. Unprintable characters (utf8.h)
 * of a spec do not reach the text. */
#include "base/base.h"
#include "base/json.h"
#include "base/utf8.h"

#include <string.h>

bool name_is(struct name a, const char *s) { return strlen(s) == a.len && (a.len == 0 || memcmp(a.s, s, a.len) == 0); }

static const struct {
    const char *name, *title;
} codes[] = {
#define DIAG(code, id, title) {code, title},
#include "base/diags.def"
#undef DIAG
};

const char *diag_code_name(enum diag_code code) { return codes[code].name; }
const char *diag_code_title(enum diag_code code) { return codes[code].title; }

static void record(
    struct cx *cx, enum diag_level level, struct span at, enum diag_code code, const char *fmt, va_list ap) {
    /* Past the limit warnings are dropped too, so that diag_fix always knows whether its message was recorded. */
    if (cx->n_errors > DIAG_MAX) return;
    struct buf text;
    buf_init(&text, &cx->arena);
    buf_vprintf(&text, fmt, ap);
    PUSH(&cx->arena, cx->diags, cx->n_diags) = (struct diag){.level = level, .code = code, .span = at, .text = text.s};
}

void diag_error(struct cx *cx, struct span at, enum diag_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    cx->n_errors++;
    record(cx, DIAG_ERROR, at, code, fmt, ap);
    va_end(ap);
}

void diag_warning(struct cx *cx, struct span at, enum diag_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    record(cx, DIAG_WARNING, at, code, fmt, ap);
    va_end(ap);
}

void diag_fix(struct cx *cx, const char *fmt, ...) {
    if (cx->n_errors > DIAG_MAX || cx->n_diags == 0) return;
    struct buf text;
    buf_init(&text, &cx->arena);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    cx->diags[cx->n_diags - 1].fix = text.s;
}

void diag_refuse(struct cx *cx, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    record(cx, DIAG_ERROR, (struct span){.file = UINT16_MAX}, N_DIAG_CODES, fmt, ap);
    va_end(ap);
}

/* ---- where a span stands ---- */

struct diag_place {
    const struct source_file *file;
    size_t line_start, line_end; /* bytes; the end is before the newline */
    int line;                    /* 1-based */
};

static struct diag_place find_place(const struct cx *cx, struct span at) {
    if (at.file >= cx->n_files) return (struct diag_place){.line = 1};
    const struct source_file *f = &cx->files[at.file];
    size_t start = at.start < f->len ? at.start : f->len;
    int first = 0, past = f->n_lines; /* the line begins in [first, past) */
    while (past - first > 1) {
        int middle = first + (past - first) / 2;
        if (f->lines[middle] <= start) first = middle;
        else past = middle;
    }
    struct diag_place p = {.file = f, .line = first + 1, .line_start = f->n_lines ? f->lines[first] : 0};
    const char *newline = memchr(f->text + p.line_start, '\n', f->len - p.line_start);
    p.line_end = newline ? (size_t)(newline - f->text) : f->len;
    if (p.line_end > p.line_start && newline && newline[-1] == '\r') p.line_end--;
    return p;
}

void source_index(struct cx *cx, int file) {
    struct source_file *f = &cx->files[file];
    PUSH(&cx->arena, f->lines, f->n_lines) = 0;
    for (size_t i = 0; i < f->len; i++)
        if (f->text[i] == '\n') PUSH(&cx->arena, f->lines, f->n_lines) = (uint32_t)(i + 1);
}

int source_open(struct cx *cx, const char *name, const char *text, size_t len) {
    struct source_file *f = &cx->files[cx->n_files];
    *f = (struct source_file){
        .name = arena_printf(&cx->arena, "%s", name), .text = arena_strndup(&cx->arena, text, len), .len = len};
    source_index(cx, cx->n_files);
    return cx->n_files++;
}

int span_line(const struct cx *cx, struct span at) { return find_place(cx, at).line; }

const char *span_text(struct cx *cx, struct span at) {
    enum { MOST = 60 };
    const struct source_file *file = &cx->files[at.file];
    size_t len = at.start + (size_t)at.len <= file->len ? at.len : 0;
    bool is_cut = len > MOST;
    char *s = arena_strndup(&cx->arena, file->text + at.start, is_cut ? MOST : len);
    for (char *c = s; *c; c++)
        if (*c < ' ' || *c > '~') *c = ' ';
    return is_cut ? arena_printf(&cx->arena, "%s...", s) : s;
}

/* ---- rendering ---- */

enum { TAB = 8, WINDOW = 160, LEFT_OF_CARET = 60 };

/* Copies text, whatever a terminal would obey replaced by '?'. */
static void put_clean(struct buf *out, const char *s, size_t len) {
    for (const char *end = s + len; s < end;) {
        const char *from = s;
        if (utf8_is_unprintable(utf8_next(&s, end)))
            buf_putc(out, '?');
        else
            buf_put(out, from, (size_t)(s - from));
    }
}

struct cells { /* what stands between two display columns, and where a span falls */
    size_t from, to;    /* columns printed, 0-based */
    size_t caret, end;  /* columns of the span, found on the way */
    size_t width;       /* of the whole line */
};

/* Walks the line cell by cell, a cell a code point, a tab several; prints those in [from, to) where out is not NULL. */
static void walk_line(struct cells *c, struct diag_place p, struct span at, struct buf *out) {
    const char *text = p.file->text, *s = text + p.line_start, *end = text + p.line_end;
    size_t column = 0, span_end = (size_t)at.start + at.len;
    c->caret = c->end = SIZE_MAX;
    while (s < end) {
        const char *from = s;
        if (c->caret == SIZE_MAX && (size_t)(s - text) >= at.start) c->caret = column;
        if (c->end == SIZE_MAX && (size_t)(s - text) >= span_end) c->end = column;
        int32_t point = utf8_next(&s, end);
        size_t width = point == '\t' ? TAB - column % TAB : 1;
        for (size_t i = 0; i < width; i++, column++)
            if (out && column >= c->from && column < c->to) {
                if (point == '\t')
                    buf_putc(out, ' ');
                else
                    put_clean(out, from, (size_t)(s - from));
            }
    }
    c->width = column;
    if (c->caret == SIZE_MAX) c->caret = column;
    if (c->end == SIZE_MAX) c->end = column;
}

static void print_source_line(struct buf *out, struct diag_place p, struct span at) {
    struct cells c = {.to = 0};
    walk_line(&c, p, at, NULL);
    c.from = c.width > WINDOW && c.caret > LEFT_OF_CARET ? c.caret - LEFT_OF_CARET : 0;
    c.to = c.from + WINDOW;
    const char *cut = c.from ? "..." : "";
    buf_printf(out, "  %s", cut);
    walk_line(&c, p, at, out);
    buf_printf(out, "%s\n  %*s", c.width > c.to ? "..." : "", (int)(strlen(cut) + c.caret - c.from), "");
    buf_putc(out, '^');
    for (size_t i = c.caret + 1; i < c.end && i < c.to; i++) buf_putc(out, '~');
    buf_putc(out, '\n');
}

static int column_of(struct diag_place p, struct span at) {
    const char *s = p.file->text + p.line_start, *end = p.file->text + p.line_end;
    int column = 1;
    for (; s < end && (size_t)(s - p.file->text) < at.start; column++) utf8_next(&s, end);
    return column;
}

static void print_one(const struct cx *cx, const struct diag *d, struct buf *out) {
    struct diag_place p = find_place(cx, d->span);
    if (p.file) {
        put_clean(out, p.file->name, strlen(p.file->name));
        buf_printf(out, ":%d:%d: ", p.line, column_of(p, d->span));
    }
    buf_printf(out, "%s: ", d->level == DIAG_ERROR ? "error" : "warning");
    put_clean(out, d->text, strlen(d->text));
    if (d->code < N_DIAG_CODES) buf_printf(out, " [%s]", diag_code_name(d->code));
    buf_putc(out, '\n');
    if (p.file) print_source_line(out, p, d->span);
    if (d->fix) {
        buf_puts(out, "  fix: ");
        put_clean(out, d->fix, strlen(d->fix));
        buf_putc(out, '\n');
    }
}

void diag_print(const struct cx *cx, struct buf *out) {
    for (int i = 0; i < cx->n_diags; i++) print_one(cx, &cx->diags[i], out);
}

/* ---- for machines ---- */

static void known_int(struct json *j, const char *key, bool is_known, int64_t value) {
    json_key(j, key);
    if (is_known) json_int(j, value);
    else json_null(j);
}

struct diag_region diag_region(const struct cx *cx, struct span at) {
    struct diag_place p = find_place(cx, at);
    size_t len = p.file ? p.file->len : 0;
    if (!p.file) return (struct diag_region){.line = 1};
    if (at.start > len) at.start = (uint32_t)len;
    if (at.len > len - at.start) at.len = (uint32_t)len - at.start;
    struct span end = {.start = at.start + at.len, .file = at.file};
    struct diag_place past = find_place(cx, end);
    return (struct diag_region){.file = p.file->name,
        .line = p.line,
        .column = column_of(p, at),
        .end_line = past.line,
        .end_column = column_of(past, end),
        .byte_offset = at.start,
        .byte_length = at.len};
}

static void json_place(const struct cx *cx, struct json *j, struct span at) {
    struct diag_region r = diag_region(cx, at);
    json_member_text(j, "file", r.file);
    known_int(j, "line", r.file, r.line);
    known_int(j, "column", r.file, r.column);
    known_int(j, "end_line", r.file, r.end_line);
    known_int(j, "end_column", r.file, r.end_column);
    known_int(j, "byte_offset", r.file, r.byte_offset);
    known_int(j, "byte_length", r.file, r.byte_length);
}

static void json_one(const struct cx *cx, struct json *j, const struct diag *d) {
    json_open(j, '{');
    json_member_text(j, "severity", d->level == DIAG_ERROR ? "error" : "warning");
    json_member_text(j, "code", d->code < N_DIAG_CODES ? diag_code_name(d->code) : NULL);
    json_member_text(j, "title", d->code < N_DIAG_CODES ? diag_code_title(d->code) : NULL);
    json_member_text(j, "message", d->text);
    json_member_text(j, "fix", d->fix);
    json_place(cx, j, d->span);
    json_close(j, '}');
}

void diag_json(const struct cx *cx, struct buf *out) {
    struct json j = {.out = out};
    json_open(&j, '[');
    for (int i = 0; i < cx->n_diags; i++) {
        json_line(&j);
        json_one(cx, &j, &cx->diags[i]);
    }
    buf_puts(out, cx->n_diags ? "\n" : "");
    json_close(&j, ']');
    buf_putc(out, '\n');
}
