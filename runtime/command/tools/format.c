/* The layout of a spec: two spaces a block, no blanks at ends of lines, one empty line at most. In: text. Out: text of
 * the same tokens in the same lines, but for empty ones, comments where they were. Invariants: what stands within
 * parentheses or goes on an expression of the line above keeps its indent; formatting twice changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

struct spec_layout { /* on the way through the text */
    char *out; /* NULL: what would be written is counted */
    size_t n;
    int blocks, brackets; /* `{` that are open, and `(` and `[` */
    int n_empty;          /* lines before this one */
    char last;            /* of the code so far, 0 at the beginning */
};

static size_t code_length(const char *line, size_t len) {
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '"') in_string = !in_string;
        if (line[i] == '#' && !in_string) return i;
    }
    return len;
}

static void count_brackets(struct spec_layout *l, const char *line, size_t len) {
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        const char c = line[i];
        if (c == '"') in_string = !in_string;
        if (in_string) continue;
        if (c == '{') l->blocks++;
        if (c == '}' && l->blocks > 0) l->blocks--;
        if (c == '(' || c == '[') l->brackets++;
        if ((c == ')' || c == ']') && l->brackets > 0) l->brackets--;
        if (c != ' ' && c != '\t') l->last = c;
    }
}

static void put(struct spec_layout *l, const char *s, size_t len) {
    if (l->out) memcpy(l->out + l->n, s, len);
    l->n += len;
}

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

static void add_line(struct spec_layout *l, const char *line, size_t len) {
    size_t indent = 0;
    while (len && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r')) len--;
    while (indent < len && (line[indent] == ' ' || line[indent] == '\t')) indent++;
    if (indent == len) {
        l->n_empty++;
        return;
    }
    const char *text = line + indent;
    const size_t text_len = len - indent, code = code_length(text, text_len);
    const bool goes_on = l->brackets > 0 || is_one_of(l->last, "+-*/@%&|<>=?:,") ||
                         is_one_of(*text, "+-*/@%&|<>=?:,") || (text_len > 4 && !memcmp(text, "with", 4));
    if (l->n_empty && l->n) put(l, "\n", 1);
    l->n_empty = 0;
    if (goes_on && code) put(l, line, indent);
    else
        for (int i = *text == '}' ? 1 : 0; i < l->blocks; i++) put(l, "  ", 2);
    put(l, text, text_len);
    put(l, "\n", 1);
    count_brackets(l, text, code);
}

static size_t lay_out(char *out, const char *text, size_t len) {
    struct spec_layout l = {.out = out};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        add_line(&l, at, (size_t)(stop - at));
        at = newline ? newline + 1 : end;
    }
    return l.n;
}

char *format_text(const char *text, size_t len, size_t *n_out) {
    *n_out = lay_out(NULL, text, len);
    char *out = malloc(*n_out + 1);
    if (!out) return NULL;
    lay_out(out, text, len);
    out[*n_out] = 0;
    return out;
}

static fx_status format_file(const struct command *cmd, const char *path) {
    struct spec spec = {0};
    size_t n = 0;
    fx_status status = spec_read(path, &spec);
    char *text = status == FX_OK ? format_text(spec.text, spec.n_bytes, &n) : NULL;
    const bool differs = text && (n != spec.n_bytes || memcmp(text, spec.text, n) != 0);
    if (status == FX_OK && !text) status = complain(FX_ERR_NOMEM, "cannot format %s: out of memory", path);
    if (text && is_given(cmd, OPT_CHECK_FORMAT)) {
        if (differs) printf("%s\n", path), status = FX_ERR_DIFFERS;
    } else if (text && (differs || !strcmp(path, "-"))) status = write_whole(path, &(struct text_piece){text, n}, 1);
    free(text);
    spec_release(&spec);
    return status;
}

fx_status command_format(const struct command *cmd) {
    fx_status first = FX_OK;
    if (cmd->n_operands == 0) return usage_error(cmd, "no spec given");
    for (int i = 0; i < cmd->n_operands; i++) {
        fx_status status = format_file(cmd, cmd->operands[i]);
        if (first == FX_OK) first = status;
    }
    return first;
}
