/* libFuzzer target: any bytes through lexer, parser and both printers. Nothing may crash, hang or leak, and of a text
 * without errors every expression, printed, reads back as the same tree. */
#include <stdint.h>
#include <string.h>

#include "front/ast.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(c) do { if (!(c)) __builtin_trap(); } while (0)

struct texts { /* of one expression: as .fx, and the tree */
    const char *infix, *tree;
};

static struct texts print(struct cx *cx, const struct ast_expr *e) {
    struct ast_item item = {.kind = ITEM_CONST, .value = (struct ast_expr *)e};
    struct ast_file file = {.items = &item};
    struct buf infix, tree;
    buf_init(&infix, &cx->arena);
    buf_init(&tree, &cx->arena);
    ast_print_expr(&infix, e);
    ast_print(&tree, &file);
    return (struct texts){infix.s, tree.s};
}

struct found { /* every expression of the text, outermost ones */
    struct cx *cx;
    const struct ast_expr **exprs;
    int n;
};

static void add(struct found *f, const struct ast_expr *e) {
    if (e) PUSH(&f->cx->arena, f->exprs, f->n) = e;
}

static void add_axes(struct found *f, const struct ast_axis *axes) {
    for (const struct ast_axis *a = axes; a; a = a->next) add(f, a->extent);
}

static void add_item(struct found *f, const struct ast_item *i) {
    add(f, i->value);
    add_axes(f, i->kernel_axes);
    for (const struct ast_param *p = i->params; p; p = p->next) add_axes(f, p->type.axes);
    for (const struct ast_param *p = i->outs; p; p = p->next) add_axes(f, p->type.axes);
    for (const struct ast_stmt *s = i->body; s; s = s->next) add(f, s->value);
}

static void check_short(struct cx *cx, const struct ast_expr *e, const char *whole) {
    struct buf shown;
    size_t most = 4 + e->span.len % 64, len = strlen(whole);
    buf_init(&shown, &cx->arena);
    ast_print_expr_short(&shown, e, most);
    REQUIRE(shown.len == (len <= most ? len : most) && strncmp(shown.s, whole, len <= most ? len : most - 3) == 0);
}

/* Every expression printed as a constant of a second text, which is read once. */
static void check_reading_back(struct found *f) {
    struct cx *cx = f->cx;
    struct texts *texts = NEW_ARRAY(&cx->arena, struct texts, f->n + 1);
    struct buf again;
    buf_init(&again, &cx->arena);
    for (int i = 0; i < f->n; i++) {
        texts[i] = print(cx, f->exprs[i]);
        check_short(cx, f->exprs[i], texts[i].infix);
        buf_printf(&again, "const X = %s\n", texts[i].infix);
    }
    const struct ast_item *item = fx_parse(cx, source_open(cx, "again.fx", again.s, again.len))->items;
    REQUIRE(cx->n_errors == 0);
    for (int i = 0; i < f->n; i++, item = item->next) {
        REQUIRE(item && item->kind == ITEM_CONST);
        struct texts second = print(cx, item->value);
        REQUIRE(strcmp(texts[i].infix, second.infix) == 0 && strcmp(texts[i].tree, second.tree) == 0);
    }
    REQUIRE(!item);
}

static void check(struct cx *cx, const char *text, size_t size) {
    struct found found = {.cx = cx};
    struct buf out;
    buf_init(&out, &cx->arena);
    const struct ast_file *file = fx_parse(cx, source_open(cx, "fuzz.fx", text, size));
    ast_print(&out, file);
    diag_print(cx, &out);
    diag_json(cx, &out);
    if (cx->n_errors) return; /* what a repaired text means is nobody's business */
    for (const struct ast_item *i = file->items; i; i = i->next) add_item(&found, i);
    check_reading_back(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct cx cx;
    cx = (struct cx){.n_files = 0};
    if (setjmp(cx.oom) == 0) {
        arena_init(&cx.arena, &cx.oom);
        check(&cx, (const char *)data, size);
    }
    arena_release(&cx.arena);
    return 0;
}
