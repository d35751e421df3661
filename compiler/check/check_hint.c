/* Fixes for messages about unknown names.
 *
 * In: the name, after the error was given. Out: the fix: from the table of hints, else the known name that is most like
 * it, else a list of known names. */
#include "check/check_internal.h"
#include "front/hints.h"

#include <string.h>

static struct name name_of_text(const char *s) { return (struct name){s, (uint32_t)strlen(s)}; }

static void offer_fns(struct nearest *near, const struct names *fns) {
    struct name n;
    for (int at = 0; names_next(fns, &at, &n);) nearest_offer(near, n);
}

void hint_function(struct checker *c, struct name n) {
    const char *dtype = hint_for(HINT_DTYPE, n), *fix = hint_for(HINT_FUNCTION, n);
    struct nearest near = {.wanted = n};
    for (int op = 0; op < op_count; op++)
        if (!op_info[op].is_infix) nearest_offer(&near, name_of_text(op_info[op].name));
    check_offer_operators(&near);
    offer_fns(&near, &c->prelude_fns);
    offer_fns(&near, &c->fns);
    if (fix) diag_fix(c->cx, "%s", fix);
    else if (dtype && hint_is_dtype(dtype)) diag_fix(c->cx, "a cast is %s(..)", dtype);
    else if (dtype) diag_fix(c->cx, "%s", dtype);
    else if (near.name.len) diag_fix(c->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else diag_fix(c->cx, "define it, as in: fn " NAME_FMT "(v) = 2 * v", NAME_ARG(n));
}

void hint_results(struct checker *c, struct name n) {
    const char *fix = hint_for(HINT_FUNCTION, n);
    if (fix) diag_fix(c->cx, "%s", fix);
    else if (name_is(n, "max") || name_is(n, "min"))
        diag_fix(c->cx, "where it stands is a call of its own: arg" NAME_FMT "[K](v)", NAME_ARG(n));
}

void hint_value(struct checker *c, struct name n) {
    struct nearest near = {.wanted = n};
    for (const struct binding *b = c->scope; b; b = b->next) nearest_offer(&near, b->name);
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if (i->kind == ITEM_CONST) nearest_offer(&near, i->name);
    if (near.name.len) diag_fix(c->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else if (hint_for(HINT_NAME, n)) diag_fix(c->cx, "%s", hint_for(HINT_NAME, n));
    else if (c->n_calls) diag_fix(c->cx, "a fn sees its parameters and constants alone: make it a parameter");
    else diag_fix(c->cx, "make it a parameter of the kernel, or assign to it above");
}

void hint_label(struct checker *c, struct name n) {
    struct nearest near = {.wanted = n};
    struct buf all;
    buf_init(&all, &c->cx->arena);
    for (int i = 0; i < c->k->n_axes; i++) {
        const struct axis *a = &c->k->axes[i];
        if (a->is_local) continue;
        nearest_offer(&near, a->name);
        buf_printf(&all, "%s" NAME_FMT, all.len ? ", " : "", NAME_ARG(a->name));
    }
    const struct binding *b = check_find_binding(c, n);
    if (b && b->value)
        diag_fix(c->cx, NAME_FMT " is a value, with the labels %s", NAME_ARG(n),
            check_axes_text(c, b->value->axes, b->value->n_axes));
    else if (near.name.len) diag_fix(c->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else
        diag_fix(c->cx,
            "it has %s; an axis that no tensor carries is declared in brackets: kernel %s[" NAME_FMT "=3](..)",
            all.len ? all.s : "none", c->k->name, NAME_ARG(n));
}

void hint_define(struct cx *cx, const struct program *p, struct name n) {
    struct nearest near = {.wanted = n};
    struct names known = {0};
    struct buf all;
    buf_init(&all, &cx->arena);
    for (int i = 0; i < p->n_kernels; i++)
        for (int j = 0; j < p->kernels[i].n_axes; j++) {
            struct axis *a = &p->kernels[i].axes[j];
            if (a->is_local || names_get(&known, a->name)) continue;
            names_put(&known, &cx->arena, a->name, a);
            nearest_offer(&near, a->name);
            buf_printf(&all, "%s" NAME_FMT, all.len ? ", " : "", NAME_ARG(a->name));
        }
    if (near.name.len) diag_fix(cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else if (all.len) diag_fix(cx, "its labels are %s", all.s);
}

void hint_attribute(struct checker *c, struct name n) {
    static const char *const all[] = {"fuse", "kernels", "precision", "round", "deterministic", "fast_math", "tile",
        "stages", "warps"};
    struct nearest near = {.wanted = n};
    struct buf list;
    buf_init(&list, &c->cx->arena);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        nearest_offer(&near, name_of_text(all[i]));
        buf_printf(&list, "%s%s", list.len ? ", " : "", all[i]);
    }
    if (near.name.len) diag_fix(c->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else diag_fix(c->cx, "there are %s", list.s);
}

void hint_argument(
    struct checker *c, const struct ast_expr *call, struct name n, const struct ast_param *params) {
    static const char *const axes[] = {"dim", "dims", "axis", "axes"};
    struct nearest near = {.wanted = n};
    struct buf list;
    buf_init(&list, &c->cx->arena);
    for (const struct ast_param *p = params; p; p = p->next) {
        nearest_offer(&near, p->name);
        buf_printf(&list, "%s" NAME_FMT, list.len ? ", " : "", NAME_ARG(p->name));
    }
    if (near.name.len) diag_fix(c->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else if (params) diag_fix(c->cx, "its parameters are %s", list.s);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (name_is(n, axes[i]))
            diag_fix(c->cx, "axes have names, and stand in brackets: " NAME_FMT "[K](..)", NAME_ARG(call->name));
    if (hint_for(HINT_ARGUMENT, n)) diag_fix(c->cx, "%s", hint_for(HINT_ARGUMENT, n));
}
