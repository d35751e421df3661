/* The lines of a spec that define a kernel. In: the tree as parsed, names unresolved. Out: the lines of its item, of
 * every const and fn whose name is in it or in one of those, and of the kernel whose gradient it is, with the comments
 * directly above each. Invariant: nothing that the kernel needs is missing. A const that a name of the body hides is
 * included. */
#include "report/definition.h"

#include <string.h>

struct definition_walk {
    const struct ast_item **items; /* in the order of the text */
    bool *is_part;                 /* by item */
    int n_items;
};

static void walk_item(struct definition_walk *w, int i);

/* What is called so becomes part; of kernels only where a gradient names one. */
static void walk_name(struct definition_walk *w, struct name name, bool is_kernel) {
    for (int i = 0; name.len && i < w->n_items; i++) {
        enum ast_item_kind kind = w->items[i]->kind;
        bool may_be = is_kernel ? kind == ITEM_KERNEL || kind == ITEM_GRAD : kind == ITEM_CONST || kind == ITEM_FN;
        if (may_be && name_eq(w->items[i]->name, name)) walk_item(w, i);
    }
}

static void walk_expr(struct definition_walk *w, const struct ast_expr *e);

static void walk_axes(struct definition_walk *w, const struct ast_axis *axes) {
    for (; axes; axes = axes->next) walk_expr(w, axes->extent);
}

static void walk_args(struct definition_walk *w, const struct ast_arg *args) {
    for (; args; args = args->next) walk_expr(w, args->value);
}

static void walk_expr(struct definition_walk *w, const struct ast_expr *e) {
    if (!e) return;
    if (e->kind == AST_ID || e->kind == AST_CALL) walk_name(w, e->name, false);
    walk_expr(w, e->a), walk_expr(w, e->b), walk_expr(w, e->c);
    walk_args(w, e->labels), walk_args(w, e->args);
    walk_axes(w, e->from), walk_axes(w, e->to);
}

static void walk_val(struct definition_walk *w, const struct ast_val *v) {
    if (v && v->kind == VAL_ID) walk_name(w, v->name, false);
}

static void walk_params(struct definition_walk *w, const struct ast_param *params) {
    for (; params; params = params->next) walk_axes(w, params->type.axes), walk_val(w, params->value);
}

static void walk_item(struct definition_walk *w, int i) {
    const struct ast_item *item = w->items[i];
    if (w->is_part[i]) return;
    w->is_part[i] = true;
    walk_expr(w, item->value);
    walk_axes(w, item->kernel_axes);
    walk_params(w, item->params), walk_params(w, item->outs);
    for (const struct ast_stmt *s = item->body; s; s = s->next) walk_expr(w, s->value), walk_expr(w, s->place);
    walk_name(w, item->grad_of, true);
}

static bool is_comment(const struct source_file *f, int line) {
    size_t at = f->lines[line - 1];
    while (at < f->len && (f->text[at] == ' ' || f->text[at] == '\t')) at++;
    return at < f->len && f->text[at] == '#';
}

int definition_lines(struct cx *cx, const struct ast_file *file, const char *kernel, struct fx_lines *lines, int most) {
    struct definition_walk w = {0};
    int n = 0;
    for (const struct ast_item *i = file->items; i; i = i->next) PUSH(&cx->arena, w.items, w.n_items) = i;
    w.is_part = NEW_ARRAY(&cx->arena, bool, w.n_items + 1);
    walk_name(&w, (struct name){kernel, (uint32_t)strlen(kernel)}, true);
    for (int i = 0; i < w.n_items; i++) {
        struct span all = w.items[i]->span;
        if (!w.is_part[i]) continue;
        struct fx_lines part = {.first = span_line(cx, all)};
        all.start += all.len ? all.len - 1 : 0;
        part.last = span_line(cx, all);
        while (part.first > 1 && is_comment(&cx->files[0], part.first - 1)) part.first--;
        bool is_beside = n && part.first <= lines[n - 1].last + 1;
        if (is_beside && part.last > lines[n - 1].last) lines[n - 1].last = part.last;
        if (!is_beside && n < most) lines[n++] = part;
    }
    return n;
}
