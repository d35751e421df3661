/* Labels: which axes a name stands for, running indices and extents as values, relabels, concatenation.
 *
 * In: names in [ ], in { } and in idx() and size(). Out: axes of the kernel, and accesses that read a value along them.
 * A relabel is an access whose positions are inside by construction; the equation of extents it needs is the kernel's,
 * solved and checked when arguments are bound. */
#include "check/check_internal.h"

#include <string.h>

/* ---- names ---- */

static int add_axis(struct checker *c, struct name n, struct span at, int part_of, bool is_local) {
    int copy = 0;
    for (int i = 0; i < c->k->n_axes; i++) copy += name_eq(c->k->axes[i].name, n);
    PUSH(&c->cx->arena, c->k->axes, c->k->n_axes) = (struct axis){.name = n,
        .extent = -1,
        .span = check_user_span(c, at),
        .copy = copy,
        .part_of = part_of,
        .is_inner = true,
        .is_local = is_local};
    return c->k->n_axes - 1;
}

int check_find_labels(struct checker *c, struct name n, int *axes) {
    for (const struct axis_binding *b = c->axis_scope; c->n_calls && b; b = b->next)
        if (name_eq(b->name, n)) {
            memcpy(axes, b->axes, (size_t)b->n * sizeof *axes);
            return b->n;
        }
    *axes = c->n_calls ? -1 : check_find_axis(c->k, n);
    return *axes >= 0;
}

/* A new label of the scope at hand. */
static int add_label(struct checker *c, struct name n, struct span at) {
    int axis = add_axis(c, n, at, -1, c->n_calls > 0);
    if (!c->n_calls) return axis;
    struct axis_binding *b = NEW(&c->cx->arena, struct axis_binding);
    *b = (struct axis_binding){.name = n, .n = 1, .axes = {axis}, .next = c->axis_scope};
    c->axis_scope = b;
    return axis;
}

/* Whether e introduces a label of this name: a target of a relabel, of `F->N`, or of concat. */
static bool introduces(const struct ast_expr *e, struct name n) {
    if (!e) return false;
    for (const struct ast_axis *a = e->to; a; a = a->next)
        if (name_eq(a->name, n)) return true;
    for (const struct ast_arg *l = e->labels; e->kind == AST_CALL && l; l = l->next) {
        if (l->to.len && name_eq(l->to, n)) return true;
        bool is_id = l->value && l->value->kind == AST_ID;
        if (is_id && name_is(e->name, "concat") && name_eq(l->value->name, n)) return true;
    }
    for (const struct ast_arg *a = e->args; a; a = a->next)
        if (introduces(a->value, n)) return true;
    return introduces(e->a, n) || introduces(e->b, n) || introduces(e->c, n);
}

/* Whether the kernel or fn at hand introduces it somewhere: the order in which operands are checked means nothing. */
static bool is_introduced(const struct checker *c, struct name n) {
    const struct ast_item *body = c->n_calls ? c->calls[c->n_calls - 1] : c->k->ast;
    if (introduces(body->value, n)) return true;
    for (const struct ast_stmt *s = body->body; s; s = s->next)
        if (introduces(s->value, n) || introduces(s->place, n)) return true;
    return false;
}

int check_body_labels(struct checker *c, struct name n, struct span at, int *axes) {
    int found = check_find_labels(c, n, axes);
    if (found || !is_introduced(c, n)) return found;
    return axes[0] = add_label(c, n, at), 1;
}

int check_label_argument(struct checker *c, struct name n, struct span at, bool may_add, int *axes) {
    int found = check_body_labels(c, n, at, axes);
    if (found) return found;
    if (may_add) return axes[0] = add_label(c, n, at), 1;
    diag_error(c->cx, check_user_span(c, at), D_UNKNOWN_AXIS, "%s no axis " NAME_FMT,
        c->n_calls ? "this fn has" : "the kernel has", NAME_ARG(n));
    if (c->n_calls)
        diag_fix(c->cx, "make it a parameter: fn " NAME_FMT "[" NAME_FMT "](..)",
            NAME_ARG(c->calls[c->n_calls - 1]->name), NAME_ARG(n));
    else hint_label(c, n);
    return -1;
}

int check_labels(
    struct checker *c, const struct ast_arg *labels, const struct value *a, const struct value *b, int *axes) {
    int n = 0;
    for (const struct ast_arg *l = labels; l; l = l->next) {
        int found[MAX_AXES];
        if (l->to.len || l->label.len || !l->value || l->value->kind != AST_ID) {
            diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS, "expected a label here");
            return -1;
        }
        int n_found = check_label_argument(c, l->value->name, l->span, false, found);
        if (n_found < 0) return -1;
        for (int f = 0; f < n_found; f++) {
            struct name name = c->k->axes[found[f]].name;
            const struct value *lacks = a && !value_has_axis(a, found[f])   ? a
                                        : b && !value_has_axis(b, found[f]) ? b
                                                                            : NULL;
            if (lacks) {
                diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS,
                    "the operand has no axis " NAME_FMT "; it has %s", NAME_ARG(name),
                    check_axes_text(c, lacks->axes, lacks->n_axes));
                return -1;
            }
            for (int i = 0; i < n; i++)
                if (axes[i] == found[f]) {
                    diag_error(c->cx, check_user_span(c, l->span), D_DUPLICATE_AXIS, NAME_FMT " is named twice",
                        NAME_ARG(name));
                    diag_fix(c->cx, "name it once");
                    return -1;
                }
            if (n == MAX_AXES) {
                diag_error(c->cx, check_user_span(c, l->span), D_TOO_MANY_AXES, "more than %d labels", MAX_AXES);
                return -1;
            }
            axes[n++] = found[f];
        }
    }
    return n;
}

/* ---- indices and extents ---- */

static struct value *axis_value(struct checker *c, enum value_kind kind, int axis, const struct ast_expr *e) {
    struct value *v = check_new_value(c, kind, e);
    v->dtype = FX_I64;
    v->axis = axis;
    if (kind == V_INDEX) v->axes[v->n_axes++] = axis;
    return v;
}

/* Both are NULL or integers: no type is in doubt. */
static struct value *combine(
    struct checker *c, enum op op, struct value *a, struct value *b, const struct ast_expr *e) {
    struct value *args[3] = {a, b};
    return check_op(c, op, args, e);
}

struct value *check_size(struct checker *c, const int *axes, int n, const struct ast_expr *e) {
    struct value *v = NULL;
    for (int i = 0; i < n; i++) {
        struct value *size = axis_value(c, V_SIZE, axes[i], e);
        v = v ? combine(c, O_MUL, v, size, e) : size;
    }
    return v ? v : check_integer(c, 1, FX_I64, e);
}

struct value *check_index(struct checker *c, const int *axes, int n, const struct ast_expr *e) {
    struct value *v = NULL;
    for (int i = 0; i < n; i++) {
        struct value *index = axis_value(c, V_INDEX, axes[i], e);
        v = v ? combine(c, O_ADD, combine(c, O_MUL, v, axis_value(c, V_SIZE, axes[i], e), e), index, e) : index;
    }
    if (v && n > 1) v->is_decided = true; /* the labels stand as they were listed */
    return v;
}

/* ---- relabels ---- */

struct side { /* of a relabel: the labels it names */
    int n;
    int axes[MAX_AXES];
    bool is_new[MAX_AXES]; /* introduced here */
};

static bool add_side(struct checker *c, struct side *s, const int *axes, int n, bool is_new, struct span at) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < s->n; j++)
            if (s->axes[j] == axes[i]) {
                diag_error(c->cx, check_user_span(c, at), D_DUPLICATE_AXIS, NAME_FMT " is named twice",
                    NAME_ARG(c->k->axes[axes[i]].name));
                diag_fix(c->cx, "a side of a relabel names different labels: v{P->(A,B)}");
                return false;
            }
        if (s->n == MAX_AXES) {
            diag_error(c->cx, check_user_span(c, at), D_TOO_MANY_AXES, "more than %d labels", MAX_AXES);
            return false;
        }
        s->is_new[s->n] = is_new;
        s->axes[s->n++] = axes[i];
    }
    return true;
}

static bool read_from(struct checker *c, const struct ast_axis *labels, const struct value *v, struct side *s) {
    for (const struct ast_axis *a = labels; a; a = a->next) {
        int axes[MAX_AXES], n = check_label_argument(c, a->name, a->span, false, axes);
        if (n < 0) return false;
        if (a->extent) {
            diag_error(c->cx, check_user_span(c, a->span), D_RELABEL, "an extent stands at new labels, right of `->`");
            return false;
        }
        for (int i = 0; i < n; i++)
            if (!value_has_axis(v, axes[i])) {
                diag_error(c->cx, check_user_span(c, a->span), D_UNKNOWN_AXIS,
                    "the operand has no axis " NAME_FMT "; it has %s", NAME_ARG(a->name),
                    check_axes_text(c, v->axes, v->n_axes));
                return false;
            }
        if (!add_side(c, s, axes, n, false, a->span)) return false;
    }
    return true;
}

/* Whether the body at hand concatenates along a label of this name: then a value may carry it with its own extent. */
static bool has_concat(const struct ast_expr *e, struct name n) {
    if (!e) return false;
    if (e->kind == AST_CALL && name_is(e->name, "concat") && e->labels && e->labels->value &&
        e->labels->value->kind == AST_ID && name_eq(e->labels->value->name, n))
        return true;
    for (const struct ast_arg *a = e->args; a; a = a->next)
        if (has_concat(a->value, n)) return true;
    return has_concat(e->a, n) || has_concat(e->b, n) || has_concat(e->c, n);
}

static bool is_concatenated(struct checker *c, struct name n) {
    const struct ast_item *body = c->n_calls ? c->calls[c->n_calls - 1] : c->k->ast;
    if (has_concat(body->value, n)) return true;
    for (const struct ast_stmt *s = body->body; s; s = s->next)
        if (has_concat(s->value, n) || has_concat(s->place, n)) return true;
    return false;
}

/* Whether v has this axis, or is a part along it. */
static bool carries_axis(struct checker *c, const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis || c->k->axes[v->axes[i]].part_of == axis) return true;
    return false;
}

/* The operand of a relabel. A part of a concat stays one, whatever other labels are renamed, until its own is. */
static struct value *relabelled(struct checker *c, const struct ast_expr *e) {
    struct value *v = check_part(c, e->a);
    for (const struct ast_axis *a = e->from; v && c->has_parts && a; a = a->next) {
        int axes[MAX_AXES], n = check_find_labels(c, a->name, axes);
        for (int i = 0; i < n; i++)
            if (!value_has_axis(v, axes[i])) return check_settled(c, v, e->a);
    }
    return v;
}

static bool read_to(struct checker *c, const struct ast_expr *e, const struct value *v, int n_from, struct side *s) {
    bool is_sole = e->to && !e->to->next;
    for (const struct ast_axis *a = e->to; a; a = a->next) {
        int axes[MAX_AXES], n = check_find_labels(c, a->name, axes);
        bool is_new = n == 0;
        if (is_new) axes[0] = add_label(c, a->name, a->span), n = 1;
        for (int i = 0; i < n; i++)
            if (carries_axis(c, v, axes[i])) {
                diag_error(c->cx, check_user_span(c, a->span), D_RELABEL,
                    "the operand has an axis " NAME_FMT " already", NAME_ARG(a->name));
                diag_fix(c->cx, "name one that it lacks: a new label needs no declaration");
                return false;
            }
        if (is_sole && n == 1 && is_concatenated(c, a->name))
            axes[0] = add_axis(c, a->name, a->span, axes[0], true), is_new = c->has_parts = true;
        if (!add_side(c, s, axes, n, is_new, a->span)) return false;
        if (a->extent && n == 1) extent_declare(c, axes[0], a->extent, a->span);
    }
    if (n_from == 1 || s->n == 1) return true;
    diag_error(c->cx, check_user_span(c, e->span), D_RELABEL,
        "a relabel renames one label, flattens several into one, or splits one: this has %d and %d", n_from, s->n);
    diag_fix(c->cx, "flatten first, then split: v{(A,B)->P}{P->(C,D)}");
    return false;
}

struct value *check_relabel(struct checker *c, const struct ast_expr *e) {
    struct side from = {0}, to = {0};
    struct value *v = relabelled(c, e), *positions[MAX_AXES];
    if (!v || !read_from(c, e->from, v, &from) || !read_to(c, e, v, from.n, &to)) return NULL;
    if (from.n == 1) {
        extent_equate(c, from.axes[0], to.axes, to.n, false, e->span);
        positions[0] = check_index(c, to.axes, to.n, e);
    } else {
        extent_equate(c, to.axes[0], from.axes, from.n, false, e->span);
        for (int i = 0; i < from.n; i++) {
            struct value *at = check_index(c, to.axes, 1, e);
            if (i < from.n - 1) at = combine(c, O_FLOORDIV, at, check_size(c, from.axes + i + 1, from.n - i - 1, e), e);
            if (i > 0) at = combine(c, O_MOD, at, check_size(c, from.axes + i, 1, e), e);
            positions[i] = at;
        }
    }
    return check_read(c, v, from.axes, positions, from.n, NULL, e);
}

/* ---- concatenation ---- */

struct value *check_settled(struct checker *c, struct value *v, const struct ast_expr *e) {
    if (!v || v->settled) return v ? v->settled : NULL;
    struct value *from = v;
    for (int i = 0; i < v->n_axes; i++) {
        int part = v->axes[i], whole = c->k->axes[part].part_of;
        if (whole < 0) continue;
        if (value_has_axis(v, whole)) {
            diag_error(c->cx, check_user_span(c, e->span), D_RELABEL,
                "this carries " NAME_FMT " twice, once as an operand of concat", NAME_ARG(c->k->axes[whole].name));
            return NULL;
        }
        extent_equate(c, part, &whole, 1, false, e->span);
        struct value *position = check_index(c, &whole, 1, e);
        v = check_read(c, v, &part, &position, 1, NULL, e);
        if (!v) return NULL;
    }
    return from->settled = v;
}

enum { MAX_PARTS = 64 }; /* operands of a concat */

/* The axis along which an operand is a part of `whole`: its own, or the label itself. -1 after an error. */
static int part_axis(struct checker *c, const struct value *v, int whole, const struct ast_arg *a) {
    for (int i = 0; i < v->n_axes; i++)
        if (c->k->axes[v->axes[i]].part_of == whole || v->axes[i] == whole) return v->axes[i];
    struct name n = c->k->axes[whole].name;
    diag_error(c->cx, check_user_span(c, a->span), D_CALL,
        "an operand of concat[" NAME_FMT "] has no axis " NAME_FMT "; it has %s", NAME_ARG(n), NAME_ARG(n),
        check_axes_text(c, v->axes, v->n_axes));
    diag_fix(c->cx, "relabel it: v{A->" NAME_FMT "}", NAME_ARG(n));
    return -1;
}

static struct value *zero_of(struct checker *c, enum fx_dtype t, const struct ast_expr *e) {
    return check_convert(c, check_weak_integer(c, 0, e), t, e);
}

/* Each operand read at its place, what lies outside it the next one's. */
static struct value *chain_parts(
    struct checker *c, struct value **parts, const int *axes, int n, int whole, const struct ast_expr *e) {
    struct value *rest = zero_of(c, parts[0]->dtype, e);
    for (int i = n - 1; rest && i >= 0; i--) {
        struct value *at = check_index(c, &whole, 1, e);
        for (int j = 0; j < i; j++) at = combine(c, O_SUB, at, check_size(c, axes + j, 1, e), e);
        rest = check_read(c, parts[i], axes + i, &at, 1, rest, e);
    }
    return rest;
}

struct value *check_concat(struct checker *c, const struct ast_expr *e) {
    struct value *parts[MAX_PARTS];
    int axes[MAX_PARTS], n = 0, whole[MAX_AXES];
    const struct ast_arg *l = e->labels;
    enum fx_dtype t;
    if (!l || l->next || l->to.len || !l->value || l->value->kind != AST_ID || !e->args) {
        diag_error(
            c->cx, check_user_span(c, e->span), D_CALL, "concat takes one label and its operands: concat[P](a, b)");
        return NULL;
    }
    if (check_label_argument(c, l->value->name, l->span, true, whole) != 1) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, "concat takes one label");
        return NULL;
    }
    for (const struct ast_arg *a = e->args; a; a = a->next, n++) {
        if (n == MAX_PARTS || a->label.len) {
            diag_error(c->cx, check_user_span(c, a->span), D_CALL,
                n == MAX_PARTS ? "concat takes at most %d operands" : "concat takes no named arguments", MAX_PARTS);
            return NULL;
        }
        if (!(parts[n] = check_part(c, a->value)) || (axes[n] = part_axis(c, parts[n], whole[0], a)) < 0) return NULL;
        if (axes[n] != whole[0] || !e->args->next) continue;
        diag_error(c->cx, check_user_span(c, a->span), D_CALL,
            "this operand is as long as " NAME_FMT " itself: it leaves no room for others", NAME_ARG(l->value->name));
        diag_fix(
            c->cx, "store it under a label of its own and relabel it: v{A->" NAME_FMT "}", NAME_ARG(l->value->name));
        return NULL;
    }
    if (axes[0] == whole[0]) return parts[0];
    if (!check_common_type(c, parts, n, e, &t)) return NULL;
    bool all_bool = true;
    for (int i = 0; i < n; i++) all_bool &= parts[i]->dtype == FX_BOOL;
    for (int i = 0; i < n; i++) parts[i] = check_convert(c, parts[i], all_bool ? FX_BOOL : t, e);
    extent_equate(c, whole[0], axes, n, true, e->span);
    return chain_parts(c, parts, axes, n, whole[0], e);
}
