/* What the checker inferred, beside what the user wrote: the text of `fxc annotate`.
 *
 * In: the checked kernels and their notes, in any order. Out: per statement a line, below it every subexpression in the
 * order of the source, nested by indentation, with its dtype and axes in one column. An expression is nested in those
 * whose span holds its own. Invariant: a line costs what it shows, however long the expression is. */
#include "report/annotate.h"

#include <stdlib.h>

enum {
    MOST_TEXT = 60,   /* bytes of an expression that are shown */
    MOST_LEVELS = 32, /* deeper ones are indented no further */
};

struct note_line {
    const char *left, *right; /* what stands there; its type, "" for none */
    int indent, width;        /* columns before and of the left part */
};

struct page { /* the lines of one kernel */
    struct arena *arena;
    const struct kernel *kernel;
    struct note_line *lines;
    int n_lines;
};

/* ---- types ---- */

static void put_axes(struct buf *out, const struct kernel *k, const int *axes, int n, bool is_decided) {
    buf_putc(out, '[');
    for (int i = 0; i < n; i++) buf_printf(out, "%s" NAME_FMT, i ? "," : "", NAME_ARG(k->axes[axes[i]].name));
    buf_puts(out, n && !is_decided ? "?]" : "]");
}

static const char *param_type(const struct page *p, const struct param *param) {
    struct buf b;
    buf_init(&b, p->arena);
    buf_puts(&b, fx_dtype_name(param->dtype));
    if (!param->is_scalar) put_axes(&b, p->kernel, param->axes, param->n_axes, true);
    return b.s;
}

static const char *value_type(const struct page *p, const struct value *v) {
    if (v->is_weak && v->kind == V_NUM) return "literal";
    if (v->kind == V_LOAD || v->kind == V_SCALAR) return param_type(p, &p->kernel->params[v->param]);
    struct buf b;
    buf_init(&b, p->arena);
    buf_puts(&b, fx_dtype_name(v->dtype));
    if (v->n_axes) put_axes(&b, p->kernel, v->axes, v->n_axes, v->is_decided);
    return b.s;
}

static const struct param *find_output(const struct kernel *k, struct name n) {
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_output && name_eq(k->params[i].ast->name, n)) return &k->params[i];
    return NULL;
}

const char *annotate_param_type(struct arena *a, const struct kernel *k, const struct param *param) {
    return param_type(&(struct page){.arena = a, .kernel = k}, param);
}

const char *annotate_note_type(struct arena *a, const struct kernel *k, const struct note *n) {
    const struct param *output = n->expr ? NULL : find_output(k, n->name);
    return output ? annotate_param_type(a, k, output) : value_type(&(struct page){.arena = a, .kernel = k}, n->value);
}

/* ---- lines ---- */

static void add_line(struct page *p, int indent, const struct buf *left, const char *right) {
    PUSH(p->arena, p->lines, p->n_lines) = (struct note_line){left->s, right, indent, (int)left->len};
}

static void add_expr(struct page *p, int indent, const struct note *n) {
    struct buf b;
    buf_init(&b, p->arena);
    if (n->expr) ast_print_expr_short(&b, n->expr, MOST_TEXT);
    else buf_put(&b, n->name.s, n->name.len);
    add_line(p, indent, &b, annotate_note_type(p->arena, p->kernel, n));
}

/* `3: y = x @ w`; a sole target that is an output has its type here, what several targets are comes below. Returns the
 * width of the number. */
static int add_statement(struct page *p, const struct cx *cx, const struct ast_stmt *s) {
    struct buf b;
    buf_init(&b, p->arena);
    buf_printf(&b, "%d: ", span_line(cx, s->span));
    int width = (int)b.len;
    if (s->place) {
        ast_print_expr(&b, s->place);
        buf_puts(&b, " = ");
    }
    for (const struct ast_ids *t = s->place ? NULL : s->targets; t; t = t->next)
        buf_printf(&b, NAME_FMT "%s", NAME_ARG(t->name), t->next ? ", " : " = ");
    if (s->is_require) buf_puts(&b, "require ");
    ast_print_expr_short(&b, s->value, MOST_TEXT);
    const struct param *output = s->targets && !s->targets->next ? find_output(p->kernel, s->targets->name) : NULL;
    add_line(p, 2, &b, output ? param_type(p, output) : "");
    return width;
}

static uint32_t end_of(struct span s) { return s.start + s.len; }

/* The notes of one statement, notes[first..past): sorted, so a stack of spans gives the depth. */
static void add_notes(struct page *p, const struct note *notes, int first, int past, int indent, bool shows_targets) {
    struct span *open = NEW_ARRAY(p->arena, struct span, past - first + 1);
    int depth = 0;
    for (int i = first; i < past; i++) {
        if (!notes[i].expr && !shows_targets) continue;
        while (depth && end_of(open[depth - 1]) < end_of(notes[i].span)) depth--;
        add_expr(p, indent + 2 * (depth < MOST_LEVELS ? depth : MOST_LEVELS), &notes[i]);
        if (notes[i].expr) open[depth++] = notes[i].span;
    }
}

/* By place, what holds another before it. */
static int compare_notes(const void *left, const void *right) {
    struct span a = ((const struct note *)left)->span, b = ((const struct note *)right)->span;
    if (a.file != b.file) return a.file < b.file ? -1 : 1;
    if (a.start != b.start) return a.start < b.start ? -1 : 1;
    return end_of(a) == end_of(b) ? 0 : end_of(a) > end_of(b) ? -1 : 1;
}

/* The notes in the order of the source, each expression once. */
static const struct note *sorted_notes(struct page *p, int *n) {
    const struct kernel *k = p->kernel;
    struct note *notes = NEW_ARRAY(p->arena, struct note, k->n_notes + 1);
    int n_kept = 0;
    if (k->n_notes) memcpy(notes, k->notes, (size_t)k->n_notes * sizeof *notes);
    qsort(notes, (size_t)k->n_notes, sizeof *notes, compare_notes);
    for (int i = 0; i < k->n_notes; i++)
        if (!n_kept || compare_notes(&notes[n_kept - 1], &notes[i])) notes[n_kept++] = notes[i];
    *n = n_kept;
    return notes;
}

static void print_lines(struct buf *out, const struct page *p) {
    int column = 0;
    for (int i = 0; i < p->n_lines; i++)
        if (*p->lines[i].right && p->lines[i].indent + p->lines[i].width > column)
            column = p->lines[i].indent + p->lines[i].width;
    for (int i = 0; i < p->n_lines; i++) {
        const struct note_line *l = &p->lines[i];
        buf_printf(out, "%*s%s", l->indent, "", l->left);
        if (*l->right) buf_printf(out, "%*s%s", column + 2 - l->indent - l->width, "", l->right);
        buf_putc(out, '\n');
    }
}

void annotate_print(struct buf *out, const struct cx *cx, const struct kernel *k) {
    struct page p = {.arena = out->arena, .kernel = k};
    int n, first = 0;
    const struct note *notes = sorted_notes(&p, &n);
    buf_printf(out, "kernel %s\n", k->name);
    for (const struct ast_stmt *s = k->ast->body; s; s = s->next) {
        int past = first, width = add_statement(&p, cx, s);
        while (past < n && notes[past].span.file == s->span.file && notes[past].span.start < end_of(s->span)) past++;
        add_notes(&p, notes, first, past, 2 + width, s->targets && s->targets->next);
        first = past;
    }
    print_lines(out, &p);
}
