/* Removes from the functions of a problem struct the parameters and statements that nothing reads.
 *
 * In: the head of a function and its statements. Out: the head without the names of parameters that no statement
 * mentions, the statements without marked lines (EMIT_MARK) that nothing reads. */
#include <string.h>

#include "base/names.h"
#include "emit/emit.h"

static bool is_in_comment(const char *text, const char *s) {
    for (; s > text && s[-1] != '\n'; s--)
        if (s[0] == '/' && s[-1] == '/') return true;
    return false;
}

bool emit_has_word(const char *text, const char *word) {
    size_t len = strlen(word);
    for (const char *s = text; len && (s = strstr(s, word)); s++)
        if ((s == text || !is_word_byte(s[-1])) && !is_word_byte(s[len]) && !is_in_comment(text, s)) return true;
    return false;
}

/* Whether `word`, declared in line `at`, stands in one of those behind it that are kept, up to the end of its scope:
 * where a line is indented less. */
static bool is_mentioned(const char *const *lines, const bool *is_kept, int at, int n, const char *word) {
    size_t indent = strspn(lines[at], " ");
    for (int i = at + 1; i < n; i++) {
        if (*lines[i] != '#' && strspn(lines[i], " ") < indent) return false;
        if (is_kept[i] && emit_has_word(lines[i], word)) return true;
    }
    return false;
}

static void drop_unread(struct buf *out, const char *text) {
    const char **lines = NULL;
    int n = 0;
    for (const char *end; *text; text = end) {
        end = strchr(text, '\n') ? strchr(text, '\n') + 1 : text + strlen(text);
        PUSH(out->arena, lines, n) = arena_strndup(out->arena, text, (size_t)(end - text));
    }
    bool *is_kept = NEW_ARRAY(out->arena, bool, n + 1);
    for (int i = n - 1; i >= 0; i--) {
        char *mark = strstr(lines[i], EMIT_MARK "const ");
        is_kept[i] = true;
        if (!mark) continue;
        const char *name = strchr(mark + strlen(EMIT_MARK "const "), ' ') + 1; /* behind its type, one word */
        is_kept[i] = is_mentioned(
            lines, is_kept, i, n, arena_strndup(out->arena, name, (size_t)(strchr(name, ' ') - name)));
        memmove(mark, mark + strlen(EMIT_MARK), strlen(mark));
    }
    for (int i = 0; i < n; i++)
        if (is_kept[i]) buf_puts(out, lines[i]);
}

/* Where the parameter from s to end is named; end where it is not: a type alone. */
static const char *name_in(const char *s, const char *end) {
    const char *paren = memchr(s, '(', (size_t)(end - s)), *name = end;
    if (paren) return paren + 2; /* `const float (&acc)[SUMS][V]` */
    while (name > s && is_word_byte(name[-1])) name--;
    return name > s && strchr(" &*", name[-1]) ? name : end;
}

/* Copies the parameters between the parentheses, each with its name if the statements mention it. */
static void put_parameters(struct buf *out, const char *s, const char *end, const char *statements) {
    int depth = 0;
    for (const char *from = s, *c = s; c <= end; c++) {
        depth += c < end && strchr("(<[", *c) ? 1 : c < end && strchr(")>]", *c) ? -1 : 0;
        if (c < end && (*c != ',' || depth > 0)) continue;
        const char *name = name_in(from, c), *behind = name;
        while (behind < c && is_word_byte(*behind)) behind++;
        bool is_read = emit_has_word(statements, arena_strndup(out->arena, name, (size_t)(behind - name)));
        size_t len = (size_t)(name - from);
        buf_put(out, from, behind > name && !is_read && name[-1] == ' ' ? len - 1 : len);
        buf_put(out, is_read ? name : behind, (size_t)(c - (is_read ? name : behind)));
        if (c < end) buf_puts(out, ", ");
        from = c + 2;
    }
}

void emit_function(struct buf *out, const char *head, const char *statements) {
    struct buf kept;
    buf_init(&kept, out->arena);
    drop_unread(&kept, statements);
    const char *open = head, *close = strrchr(head, ')');
    while (*open != '(' || !is_word_byte(open[-1])) open++;
    if (!kept.s) kept.s = "";
    buf_put(out, head, (size_t)(open + 1 - head));
    put_parameters(out, open + 1, close, kept.s);
    buf_puts(out, close);
    bool is_line = strchr(kept.s, '\n') == NULL; /* one statement, on the line of the head */
    if (is_line) buf_printf(out, *kept.s ? " { %s }\n" : " {}\n", kept.s);
    else buf_printf(out, " {\n%s%*s}\n", kept.s, (int)strspn(head, " "), "");
}
