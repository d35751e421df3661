/* Names of the user's own file that nothing reads: parameters, values, axes that a kernel declares, fns and constants.
 *
 * In: a syntax tree without errors. Out: a warning each. A name that begins with an underscore is meant to be read by
 * nothing; outputs are read by the caller. What an included file or the prelude defines is for others to use.
 * Statements are walked from the last to the first, so that a name that is bound again is told apart from what it was
 * before. */
#include "check/check_internal.h"

#include <string.h>

struct uses { /* names met so far; the meaning of one that is read is not NULL */
    struct arena *arena;
    struct names values; /* identifiers and callees; in a position they may be labels */
    struct names labels;
};

static void use(struct uses *u, struct names *set, struct name n) {
    if (n.len) names_put(set, u->arena, n, u);
}

static void use_expr(struct uses *u, const struct ast_expr *e);

static void use_args(struct uses *u, const struct ast_arg *args, bool are_labels) {
    for (const struct ast_arg *a = args; a; a = a->next) {
        use(u, &u->labels, a->label);
        use(u, &u->labels, a->to);
        if (are_labels && a->value && a->value->kind == AST_ID) use(u, &u->labels, a->value->name);
        else use_expr(u, a->value);
    }
}

static void use_axes(struct uses *u, const struct ast_axis *axes) {
    for (const struct ast_axis *a = axes; a; a = a->next) {
        use(u, &u->labels, a->name);
        use_expr(u, a->extent);
    }
}

static void use_expr(struct uses *u, const struct ast_expr *e) {
    for (; e; e = e->a) { /* a long sum leans to the left */
        if (e->kind == AST_ID || e->kind == AST_CALL) use(u, &u->values, e->name);
        use_expr(u, e->b);
        use_expr(u, e->c);
        use_args(u, e->labels, true);
        use_args(u, e->args, false);
        use_axes(u, e->from);
        use_axes(u, e->to);
    }
}

static bool is_mine(struct span at) { return at.file == 0; }

static void warn(struct checker *c, struct span at, struct name n, const char *what, const char *is_not) {
    if (*n.s == '_' || !is_mine(at)) return;
    diag_warning(c->cx, at, D_UNUSED, "%s " NAME_FMT " is never %s", what, NAME_ARG(n), is_not);
    diag_fix(c->cx, "leave it out, or call it _" NAME_FMT " if that is meant", NAME_ARG(n));
}

static bool is_in(const struct ast_ids *ids, struct name n) {
    while (ids && !name_eq(ids->name, n)) ids = ids->next;
    return ids != NULL;
}

static bool is_output(const struct ast_item *i, struct name n) {
    if (is_in(i->results, n)) return true;
    for (const struct ast_param *p = i->outs; p; p = p->next)
        if (name_eq(p->name, n)) return true;
    for (const struct ast_param *p = i->params; p; p = p->next)
        if (p->is_inout && name_eq(p->name, n)) return true;
    return false;
}

struct unread { /* a target of a statement that nothing reads */
    const struct ast_ids *target;
    struct unread *next;
};

/* Walks the body from its end; on return `u` holds what it reads of parameters. The targets that nothing reads, in
 * order. */
static struct unread *find_unread(struct uses *u, const struct ast_item *i) {
    const struct ast_stmt **stmts = NULL;
    int n = 0;
    struct unread *unread = NULL;
    for (const struct ast_stmt *s = i->body; s; s = s->next) PUSH(u->arena, stmts, n) = s;
    while (n-- > 0) {
        const struct ast_stmt *s = stmts[n];
        for (const struct ast_ids *t = s->is_require ? NULL : s->targets; t; t = t->next) {
            if (is_output(i, t->name)) continue;
            if (names_get(&u->values, t->name)) names_put(&u->values, u->arena, t->name, NULL);
            else {
                struct unread *found = NEW(u->arena, struct unread);
                *found = (struct unread){t, unread};
                unread = found;
            }
        }
        use_expr(u, s->value);
        use_expr(u, s->place);
    }
    return unread;
}

static bool is_mentioned(const struct uses *u, struct name label) {
    return names_get(&u->labels, label) || names_get(&u->values, label);
}

/* Whether the parameter alone binds the extent of a label that the body or an output has. */
static bool binds_extent(const struct uses *u, const struct ast_item *i, const struct ast_param *p) {
    for (const struct ast_axis *a = p->type.axes; a; a = a->next) {
        bool is_sole = !a->extent, is_asked = is_mentioned(u, a->name);
        for (const struct ast_param *q = i->params; q; q = q->next)
            for (const struct ast_axis *b = q->type.axes; q != p && b; b = b->next)
                is_sole &= !name_eq(a->name, b->name);
        for (const struct ast_param *q = i->outs; q; q = q->next)
            for (const struct ast_axis *b = q->type.axes; b; b = b->next) is_asked |= name_eq(a->name, b->name);
        if (is_sole && is_asked) return true;
    }
    return false;
}

static void check_params(struct checker *c, const struct uses *u, const struct ast_item *i) {
    for (const struct ast_param *p = i->params; p; p = p->next) {
        struct span at = {p->span.start, p->name.len, p->span.file};
        if (!p->is_inout && !names_get(&u->values, p->name) && !binds_extent(u, i, p))
            warn(c, at, p->name, "the parameter", "read");
    }
}

static void use_types(struct uses *u, const struct ast_param *params) {
    for (const struct ast_param *p = params; p; p = p->next) use_axes(u, p->type.axes);
}

static void check_definition(struct checker *c, const struct ast_item *i) {
    struct uses body = {.arena = &c->cx->arena}, types = body;
    struct unread *unread = find_unread(&body, i);
    use_expr(&body, i->value);
    for (const struct ast_axis *a = i->kernel_axes; a; a = a->next) use_expr(&types, a->extent);
    use_types(&types, i->params);
    use_types(&types, i->outs);
    for (const struct ast_axis *a = i->kernel_axes; a; a = a->next) {
        bool is_used = is_mentioned(&body, a->name) || is_mentioned(&types, a->name);
        if (!is_used) warn(c, (struct span){a->span.start, a->name.len, a->span.file}, a->name, "the axis", "used");
    }
    check_params(c, &body, i);
    for (; unread; unread = unread->next) warn(c, unread->target->span, unread->target->name, "the value", "read");
}

/* A test may give a fn: `act = gelu`. */
static void use_val(struct uses *u, const struct ast_val *v) {
    for (; v; v = v->next) {
        if (v->kind == VAL_ID) use(u, &u->values, v->name);
        use_val(u, v->items);
    }
}

static void use_item(struct uses *u, const struct ast_item *i) {
    use_expr(u, i->value);
    use_axes(u, i->kernel_axes);
    use_types(u, i->params);
    use_types(u, i->outs);
    for (const struct ast_stmt *s = i->body; s; s = s->next) use_expr(u, s->value), use_expr(u, s->place);
    for (const struct ast_entry *e = i->entries; e; e = e->next) {
        use(u, &u->values, e->name); /* what it gives a value to */
        use_val(u, e->value);
    }
}

void check_unused(struct checker *c, const char *kernel) {
    struct uses all = {.arena = &c->cx->arena};
    for (const struct ast_item *i = c->file->items; i; i = i->next) use_item(&all, i);
    for (int d = 0; d < c->cx->n_defines; d++) {
        use(&all, &all.values, c->cx->defines[d].name);
        use(&all, &all.values, (struct name){c->cx->defines[d].value, (uint32_t)strlen(c->cx->defines[d].value)});
    }
    for (const struct ast_item *i = c->file->items; i; i = i->next) {
        bool is_wanted = i->kind == ITEM_FN || (i->kind == ITEM_KERNEL && (!kernel || name_is(i->name, kernel)));
        bool is_read = names_get(&all.values, i->name) != NULL;
        if (!is_mine(i->span)) continue;
        if (i->kind == ITEM_FN && !is_read) warn(c, i->name_span, i->name, "the fn", "called");
        if (i->kind == ITEM_CONST && !is_read) warn(c, i->name_span, i->name, "the constant", "read");
        if (is_wanted) check_definition(c, i);
    }
}
