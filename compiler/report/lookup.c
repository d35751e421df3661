/* What is at a byte of a spec: its smallest expression with dtype and axes, and the definition of the name there.
 *
 * In: the tree as parsed, the checker's notes. Out: what an editor shows. Names are looked up as in the language:
 * earlier assignments, parameters and outputs, labels, then definitions of the file. */
#include "report/lookup.h"

#include "report/annotate.h"

static bool holds(struct span s, size_t offset) {
    return s.file == 0 && offset >= s.start && offset < (size_t)s.start + s.len;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word around a byte of the spec; empty where there is none. */
static struct name word_at(const struct cx *cx, size_t offset) {
    const struct source_file *f = &cx->files[0];
    size_t from = offset < f->len ? offset : f->len, end = from;
    while (from > 0 && is_word(f->text[from - 1])) from--;
    while (end < f->len && is_word(f->text[end])) end++;
    return (struct name){f->text + from, (uint32_t)(end - from)};
}

/* ---- where a name is defined ---- */

static bool find_axis(const struct ast_axis *axes, struct name name, struct span *out) {
    for (; axes; axes = axes->next)
        if (name_eq(axes->name, name)) return *out = axes->span, true;
    return false;
}

static bool find_param(const struct ast_param *params, struct name name, struct span *out) {
    for (; params; params = params->next)
        if (name_eq(params->name, name)) return *out = params->span, true;
    return false;
}

static bool find_label(const struct ast_param *params, struct name name, struct span *out) {
    for (; params; params = params->next)
        if (find_axis(params->type.axes, name, out)) return true;
    return false;
}

static bool find_target(const struct ast_stmt *body, struct name name, size_t offset, struct span *out) {
    bool is_found = false;
    for (const struct ast_stmt *s = body; s && s->span.start <= offset; s = s->next)
        for (const struct ast_ids *t = s->targets; t; t = t->next) {
            const bool is_here = holds(t->span, offset), is_above = !holds(s->span, offset) || is_here;
            if (name_eq(t->name, name) && is_above) *out = t->span, is_found = true;
        }
    return is_found;
}

static bool find_within(const struct ast_item *item, struct name name, size_t offset, struct span *out) {
    if (find_target(item->body, name, offset, out) || find_param(item->params, name, out) ||
        find_param(item->outs, name, out) || find_axis(item->kernel_axes, name, out))
        return true;
    for (const struct ast_ids *i = item->axis_params; i; i = i->next)
        if (name_eq(i->name, name)) return *out = i->span, true;
    return find_label(item->params, name, out) || find_label(item->outs, name, out);
}

static bool find_definition(const struct ast_file *file, struct name name, size_t offset, struct span *out) {
    const struct ast_item *around = NULL;
    for (const struct ast_item *i = file->items; i; i = i->next)
        if (holds(i->span, offset)) around = i;
    if (around && find_within(around, name, offset, out)) return true;
    for (const struct ast_item *i = file->items; i; i = i->next)
        if (i->kind != ITEM_TEST && i->kind != ITEM_BENCH && i->kind != ITEM_INCLUDE && name_eq(i->name, name))
            return *out = i->name_span, true;
    return false;
}

/* ---- what an expression is ---- */

static void take_note(struct cx *cx, const struct kernel *k, size_t offset, struct fx_found *out) {
    const struct note *best = NULL;
    for (int i = 0; i < k->n_notes; i++)
        if (holds(k->notes[i].span, offset) && (!best || k->notes[i].span.len < best->span.len)) best = &k->notes[i];
    if (!best) return;
    out->kernel = k->name;
    out->offset = best->span.start, out->length = best->span.len;
    out->type = annotate_note_type(&cx->arena, k, best);
}

static void take_param(struct cx *cx, const struct kernel *k, size_t offset, struct fx_found *out) {
    for (int i = 0; i < k->n_params; i++) {
        const struct span at = k->params[i].ast->span;
        if (!holds(at, offset)) continue;
        out->kernel = k->name;
        out->offset = at.start, out->length = at.len;
        out->type = annotate_param_type(&cx->arena, k, &k->params[i]);
    }
}

bool lookup_place(
    struct cx *cx, const struct ast_file *file, const struct program *program, size_t offset, struct fx_found *out) {
    struct span at;
    const struct name word = word_at(cx, offset);
    *out = (struct fx_found){.type = ""};
    for (int i = 0; program && i < program->n_kernels && !out->kernel; i++) {
        take_note(cx, &program->kernels[i], offset, out);
        if (!out->kernel) take_param(cx, &program->kernels[i], offset, out);
    }
    if (!out->kernel && word.len) out->offset = (size_t)(word.s - cx->files[0].text), out->length = word.len;
    out->line = span_line(cx, (struct span){.start = (uint32_t)out->offset, .len = (uint32_t)out->length});
    if (word.len && find_definition(file, word, offset, &at)) {
        out->defined_in = cx->files[at.file].name, out->is_defined_here = at.file == 0;
        out->definition = at.start, out->definition_length = at.len;
    }
    return out->length > 0;
}
