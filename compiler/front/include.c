/* Files that a spec includes, in place of their `include` items.
 *
 * In: the tree of the spec, and what reads files. Out: the items of all files in order, each file once; no path leaves
 * the folders that the reader looks in. */
#include <string.h>

#include "front/ast.h"

struct includer {
    struct cx *cx;
    const struct file_reader *reader;
};

static bool is_open(const struct cx *cx, const char *path) {
    for (int i = 1; i < cx->n_files; i++)
        if (strcmp(cx->files[i].name, path) == 0) return true;
    return false;
}

/* The same file may go by two paths, the spec's own above all: its text tells. */
static bool is_known(const struct cx *cx, const char *text, size_t len) {
    for (int i = 0; i < cx->n_files; i++)
        if (cx->files[i].len == len && memcmp(cx->files[i].text, text, len) == 0) return true;
    return false;
}

static struct ast_item **splice(struct includer *in, struct ast_item **at);

/* What of a path leads out of the folders that files are read from; NULL: nothing. */
static const char *escape_of(const char *path) {
    if (*path == '/') return "an absolute path";
    for (const char *s = path; *s; s += strcspn(s, "/"), s += *s == '/')
        if (strcspn(s, "/") == 2 && s[0] == '.' && s[1] == '.') return "`..` in a path";
    return *path ? NULL : "no path";
}

/* The text of the file an include names; NULL after a message. */
static const char *included_text(struct includer *in, const struct ast_item *include, const char *path, size_t *len) {
    struct cx *cx = in->cx;
    const struct file_reader *r = in->reader;
    const char *text, *escape = escape_of(path), *why;
    if (cx->n_files + 2 >= (int)(sizeof cx->files / sizeof *cx->files)) { /* two are the language's own */
        diag_error(cx, include->span, D_INCLUDE, "more than %d files", (int)(sizeof cx->files / sizeof *cx->files) - 3);
        diag_fix(cx, "put the items of several files into one");
    } else if (escape) {
        diag_error(cx, include->span, D_INCLUDE, "%s: what is included lies below the folder of the spec", escape);
        diag_fix(cx, "write the path from that folder; `fxc -I DIR` names another folder to look in");
    } else if (!r->read) {
        diag_error(cx, include->span, D_INCLUDE,
            "include is not served here: the program that compiles gave no way to read files");
        diag_fix(cx, "put the items of %s here", path);
    } else if ((text = r->read(r->user, path, len))) {
        return text;
    } else {
        why = r->failure ? r->failure(r->user) : NULL;
        diag_error(cx, include->span, D_INCLUDE, "cannot read %s%s%s", path, why ? ": " : "", why ? why : "");
        diag_fix(cx, "a path starts from the folder of the spec; `fxc -I DIR` names another folder to look in");
    }
    return NULL;
}

/* Parses an included file. One in which an error comes before a whole item may be anything, a secret too: then no
 * message quotes it. */
static struct ast_item *parse_included(struct cx *cx, const struct ast_item *include, const char *path, int file) {
    int n_diags = cx->n_diags, n_errors = cx->n_errors;
    struct ast_item *items = fx_parse(cx, file)->items;
    if (cx->n_errors == n_errors || n_errors >= DIAG_MAX) return items;
    struct span first = cx->diags[n_diags].span;
    if (items && items->span.start + items->span.len <= first.start) return items;
    cx->n_diags = n_diags;
    cx->n_errors = n_errors;
    diag_error(cx, include->span, D_INCLUDE, "%s is no .fx file: an error on line %d comes before its first whole item",
        path, span_line(cx, first));
    diag_fix(cx, "if it is one, `fxc --emit=ast FILE` on the file itself says what is wrong");
    return NULL;
}

/* The items of the file an include names; NULL where it adds none: an error, or a file that is included already. */
static struct ast_item *included_items(struct includer *in, const struct ast_item *include) {
    struct cx *cx = in->cx;
    char *path = arena_strndup(&cx->arena, include->path.s, include->path.len);
    size_t len = 0;
    if (is_open(cx, path)) return NULL;
    const char *text = included_text(in, include, path, &len);
    if (!text || is_known(cx, text, len)) return NULL;
    struct ast_item *items = parse_included(cx, include, path, source_open(cx, path, text, len));
    splice(in, &items);
    return items;
}

/* Puts the items of every file included in place of its `include`; returns where the list ends. */
static struct ast_item **splice(struct includer *in, struct ast_item **at) {
    while (*at) {
        if ((*at)->kind != ITEM_INCLUDE) {
            at = &(*at)->next;
            continue;
        }
        struct ast_item *rest = (*at)->next;
        *at = included_items(in, *at);
        while (*at) at = &(*at)->next;
        *at = rest;
    }
    return at;
}

struct ast_file *fx_include(struct cx *cx, const struct ast_file *spec, const struct file_reader *reader) {
    struct ast_file *whole = NEW(&cx->arena, struct ast_file);
    struct ast_item **end = &whole->items;
    struct includer in = {cx, reader};
    for (const struct ast_item *i = spec->items; i; i = i->next) {
        *end = NEW(&cx->arena, struct ast_item);
        **end = *i;
        end = &(*end)->next;
    }
    *end = NULL;
    splice(&in, &whole->items);
    return whole;
}
