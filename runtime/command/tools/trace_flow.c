/* What a receipt says of a kernel's launches. In: a receipt as JSON, written by this very library, and the plan. Out:
 * for each launch the lines of the spec in it and its bytes at the extents of the run. Invariant: of text that is not
 * such a receipt nothing is taken; nothing beyond it is read. */
#include <stdlib.h>
#include <string.h>

#include "command/tools/trace.h"

/* ---- values of JSON, by where they begin ---- */

static const char *skip_blanks(const char *s) { return s + strspn(s, " \t\r\n"); }

/* Past a string, s at its first quote. */
static const char *skip_string(const char *s) {
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1]) s++;
    return *s ? s + 1 : s;
}

static const char *skip_value(const char *s) {
    int depth = 0;
    do {
        s = skip_blanks(s);
        if (*s == '"') s = skip_string(s);
        else if (*s == '[' || *s == '{') depth++, s++;
        else if (*s == ']' || *s == '}') depth--, s++;
        else if (*s == ',' || *s == ':') s++;
        else s += strcspn(s, ",:]} \t\r\n\"[{");
    } while (depth > 0 && *s);
    return s;
}

/* The value of that key in the object at s, or NULL. */
static const char *member(const char *s, const char *key) {
    if (!s || *(s = skip_blanks(s)) != '{') return NULL;
    for (s = skip_blanks(s + 1); *s == '"'; s = skip_blanks(s + (*s == ','))) {
        const char *name = s + 1, *end = skip_string(s);
        bool is_it = strlen(key) == (size_t)(end - 1 - name) && !memcmp(name, key, strlen(key));
        s = skip_blanks(end);
        if (*s != ':') return NULL;
        s = skip_blanks(s + 1);
        if (is_it) return s;
        s = skip_blanks(skip_value(s));
    }
    return NULL;
}

/* Items of a list: the first, and the one behind one; NULL: none. */
static const char *first_item(const char *list) {
    if (!list || *(list = skip_blanks(list)) != '[') return NULL;
    list = skip_blanks(list + 1);
    return *list && *list != ']' ? list : NULL;
}
static const char *next_item(const char *item) {
    item = skip_blanks(skip_value(item));
    return *item == ',' ? skip_blanks(item + 1) : NULL;
}

/* A string decoded, of names, places or expressions, which have nothing that json.c writes as a number; NULL for what
 * is none. */
static const char *text_of(struct arena *a, const char *s) {
    struct buf out;
    if (!s || *s != '"') return NULL;
    buf_init(&out, a);
    for (s++; *s && *s != '"'; s++) {
        if (*s != '\\') {
            buf_putc(&out, *s);
            continue;
        }
        s++;
        if (*s == 'n') buf_putc(&out, '\n');
        else if (*s) buf_putc(&out, *s);
        else break;
    }
    return out.s ? out.s : "";
}

static const char *find_named(struct arena *a, const char *list, const char *name) {
    for (const char *i = first_item(list); i; i = next_item(i)) {
        const char *called = text_of(a, member(i, "name"));
        if (called && !strcmp(called, name)) return i;
    }
    return NULL;
}

/* ---- what is asked of it ---- */

const char *trace_buffer_dtype(struct arena *a, const char *receipt, const char *kernel, const char *buffer) {
    const char *of = find_named(a, member(receipt, "kernels"), kernel), *found = find_named(a, member(of, "workspace"), buffer);
    return text_of(a, member(found ? found : find_named(a, member(of, "const"), buffer), "dtype"));
}

static void read_lines(struct arena *a, const char *launch, struct trace_step *s) {
    int n = 0;
    for (const char *i = first_item(member(launch, "lines")); i; i = next_item(i)) n++;
    s->lines = NEW_ARRAY(a, struct trace_line, n + 1);
    for (const char *i = first_item(member(launch, "lines")); i; i = next_item(i)) {
        const char *line = member(i, "line"), *place = text_of(a, member(i, "place")),
                   *text = text_of(a, member(i, "expression"));
        s->lines[s->n_lines++] = (struct trace_line){.line = line ? atoi(line) : 0,
            .place = place ? place : "",
            .name = text_of(a, member(i, "name")),
            .text = text ? text : ""};
    }
}

struct trace_flow trace_flow_read(
    struct arena *a, const char *receipt, const struct fx_kernel *k, const struct fx_env *env) {
    const struct fx_partition taken = fx_get_partition(k, fx_choose_partition(k, env));
    struct trace_flow f = {.n_steps = taken.n_launches, .steps = NEW_ARRAY(a, struct trace_step, taken.n_launches + 1)};
    const char *launches = member(find_named(a, member(receipt, "kernels"), k->name), "launches");
    const char *at = first_item(launches);
    for (int i = 0; i < taken.n_launches; i++, at = at ? next_item(at) : NULL) {
        const struct fx_launch *l = &k->launches[taken.first_launch + i];
        struct trace_step *s = &f.steps[i];
        s->name = l->name;
        if (!fx_expr_eval(&l->bytes, env, &s->bytes)) s->bytes = -1;
        if (!fx_expr_eval(&l->written, env, &s->bytes_written)) s->bytes_written = -1;
        if (s->bytes < 0 || f.bytes < 0 || __builtin_add_overflow(f.bytes, s->bytes, &f.bytes)) f.bytes = -1;
        if (at) read_lines(a, at, s);
    }
    return f;
}
