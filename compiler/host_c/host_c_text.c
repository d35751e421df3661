/* The fixed text of launchers: launcher.h, or what stands in its place.
 *
 * In: which of its functions a file calls. Out: its types, and those functions in the order in which they stand there.
 * A function is a paragraph of the text: no empty line stands within one. */
#include <string.h>

#include "host_c/host_c.h"

void put_c(struct host_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(w->out, fmt, ap);
    va_end(ap);
}

extern const char fx_text_launcher[];

static const char mark[] = "/* ==== functions ==== */\n";

const char *host_c_call(struct host_writer *w, const char *function) {
    for (int i = 0; i < w->n_called; i++)
        if (strcmp(w->called[i], function) == 0) return function;
    PUSH(w->arena, w->called, w->n_called) = function;
    return function;
}

void host_c_put_types(struct buf *out, bool includes_cuda) {
    const char *from = strstr(fx_text_launcher, includes_cuda ? "#include " : "#define ");
    buf_put(out, from, (size_t)(strstr(from, mark) - from));
}

/* Whether the paragraph defines the function: its name stands before the first parenthesis of the line that begins with
 * `static`. */
static bool defines(const char *paragraph, const char *function) {
    const char *line = strncmp(paragraph, "static", 6) == 0 ? paragraph : strstr(paragraph, "\nstatic") + 1;
    size_t n = strlen(function);
    const char *end = strchr(line, '(');
    return (size_t)(end - line) > n && (end[-(long)n - 1] == ' ' || end[-(long)n - 1] == '*') &&
           strncmp(end - n, function, n) == 0;
}

/* The first function of a text, and the next one. */
static const char *first_paragraph(const char *text) {
    const char *at = strstr(text, mark) + strlen(mark);
    return at + strspn(at, "\n");
}
static const char *next_paragraph(const char *at) {
    const char *end = strstr(at, "\n\n");
    return end ? end + 2 : at + strlen(at);
}

static bool is_defined(const char *text, const char *function) {
    if (!text) return false;
    for (const char *at = first_paragraph(text); *at; at = next_paragraph(at))
        if (defines(at, function)) return true;
    return false;
}

/* Those called that `but` does not define. */
static void put_functions_of(struct buf *out, const struct host_writer *w, const char *text, const char *but) {
    for (const char *at = first_paragraph(text), *end; *at; at = end) {
        end = next_paragraph(at);
        for (int i = 0; i < w->n_called; i++)
            if (defines(at, w->called[i]) && !is_defined(but, w->called[i]))
                buf_printf(out, "%.*s%s", (int)(end - at), at, *end ? "" : "\n");
    }
}

void host_c_put_functions(struct buf *out, const struct host_writer *w) {
    if (w->instead) put_functions_of(out, w, w->instead, NULL);
    put_functions_of(out, w, fx_text_launcher, w->instead);
}

void host_c_put_part(struct buf *out, const char *text, const char *from, const char *to) {
    const char *begin = strstr(text, from) + strlen(from);
    const char *end = to ? strstr(begin, to) : begin + strlen(begin);
    buf_put(out, begin, (size_t)(end - begin));
}
