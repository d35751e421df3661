/* libFuzzer target: any bytes through lexer, parser and both printers. Nothing may crash, hang or leak, and of a text without errors every
 * expression, printed, reads back as the same tree. */
#include <stdint.h>
#include <string.h>

#include "ast.h"

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

/* Reads text as the file after the first, which it takes the place of. */
static struct ast_file *reread(struct cx *cx, const char *text) {
    cx->n_files = 1;
    return fx_parse(cx, source_open(cx, "again.fx", text, strlen(text)));
}

static void check_expr(struct cx *cx, const struct ast_expr *e) {
    if (!e) return;
    struct texts first = print(cx, e);
    const struct ast_file *file = reread(cx, arena_printf(&cx->arena, "const X = %s\n", first.infix));
    REQUIRE(cx->n_errors == 0 && file->items && file->items->kind == ITEM_CONST && !file->items->next);
    struct texts second = print(cx, file->items->value);
    REQUIRE(strcmp(first.infix, second.infix) == 0 && strcmp(first.tree, second.tree) == 0);
    struct buf shown;
    size_t most = 4 + e->span.len % 64, len = strlen(first.infix);
    buf_init(&shown, &cx->arena);
    ast_print_expr_short(&shown, e, most);
    REQUIRE(strncmp(shown.s, first.infix, len <= most ? len + 1 : most - 3) == 0 && shown.len == (len <= most ? len : most));
}

static void check_axes(struct cx *cx, const struct ast_axis *axes) {
    for (const struct ast_axis *a = axes; a; a = a->next) check_expr(cx, a->extent);
}

static void check_item(struct cx *cx, const struct ast_item *i) {
    check_expr(cx, i->value);
    check_axes(cx, i->kernel_axes);
    for (const struct ast_param *p = i->params; p; p = p->next) check_axes(cx, p->type.axes);
    for (const struct ast_param *p = i->outs; p; p = p->next) check_axes(cx, p->type.axes);
    for (const struct ast_stmt *s = i->body; s; s = s->next) check_expr(cx, s->value);
}

static void check(struct cx *cx, const char *text, size_t size) {
    struct buf out;
    buf_init(&out, &cx->arena);
    const struct ast_file *file = fx_parse(cx, source_open(cx, "fuzz.fx", text, size));
    ast_print(&out, file);
    diag_print(cx, &out);
    diag_json(cx, &out);
    /* What a repaired text means is nobody's business. */
    for (const struct ast_item *i = file->items; i && cx->n_errors == 0; i = i->next) check_item(cx, i);
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
