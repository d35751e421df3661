/* Access: a value read at computed positions, `x[H: H+U-1] ?? 0`, `table[ids, E]`.
 *
 * In: a value whose order is decided, and a position an axis, by name or by storage order. Out: an access whose every
 * position is proven inside, or says what lies outside: no spec that compiles reads outside a tensor. */
#include "check/check_internal.h"

#include <string.h>

/* ---- the value ---- */

static bool add_axes(struct checker *c, struct value *v, const int *axes, int n, const struct ast_expr *e) {
    for (int i = 0; i < n; i++) {
        if (value_has_axis(v, axes[i])) continue;
        if (v->n_axes == MAX_AXES) {
            diag_error(
                c->cx, check_user_span(c, e->span), D_TOO_MANY_AXES, "an expression of more than %d labels", MAX_AXES);
            diag_fix(c->cx, "reduce some of them first, or flatten several into one: x{(A,B)->P}");
            return false;
        }
        v->axes[v->n_axes++] = axes[i];
    }
    return true;
}

struct value *check_read(struct checker *c, struct value *v, const int *at, struct value *const *positions, int n,
    struct value *fill, const struct ast_expr *e) {
    v = check_convert(c, v, v->dtype, e); /* a choice between literals */
    struct value *r = check_new_value(c, V_ACCESS, e);
    r->dtype = v->dtype;
    r->natural = v->natural;
    r->is_decided = v->is_decided;
    r->args[r->n_args++] = v;
    for (int i = 0; i < n; i++) {
        if (!positions[i]) return NULL;
        r->at[r->n_at++] = at[i];
        r->args[r->n_args++] = positions[i];
        r->is_decided = r->is_decided && positions[i]->is_decided;
    }
    r->has_fill = fill != NULL;
    if (fill) r->args[r->n_args++] = fill;
    for (int a = 0; a < v->n_axes; a++) {
        int indexed = -1;
        for (int i = 0; i < n; i++)
            if (at[i] == v->axes[a]) indexed = i;
        const struct value *from = indexed < 0 ? v : positions[indexed];
        if (!add_axes(c, r, indexed < 0 ? &v->axes[a] : from->axes, indexed < 0 ? 1 : from->n_axes, e)) return NULL;
    }
    if (fill && !add_axes(c, r, fill->axes, fill->n_axes, e)) return NULL;
    r->is_decided = r->is_decided || r->n_axes <= 1;
    return r;
}

/* ---- positions ---- */

static struct value *check_position(struct checker *c, const struct ast_expr *e) {
    bool outside = c->in_access;
    c->in_access = true;
    struct value *v = check_expr(c, e);
    c->in_access = outside;
    if (!v || fx_is_integer(v->dtype)) return v && v->is_weak ? check_convert(c, v, FX_I64, e) : v;
    diag_error(
        c->cx, check_user_span(c, e->span), D_DTYPE, "a position is an integer, this is %s", fx_dtype_name(v->dtype));
    diag_fix(
        c->cx, v->dtype == FX_BOOL ? "to choose by a condition write where(..)" : "write i64(floor(..)) around it");
    return NULL;
}

/* The axis an argument of the access is for. -1 after an error. */
static int position_axis(struct checker *c, const struct value *v, const struct ast_arg *a, int place) {
    if (!a->label.len) return v->axes[place];
    int axes[MAX_AXES], n = check_label_argument(c, a->label, a->span, false, axes);
    if (n < 0) return -1;
    if (n == 1 && value_has_axis(v, axes[0])) return axes[0];
    diag_error(c->cx, check_user_span(c, a->span), D_UNKNOWN_AXIS, "the operand has no axis " NAME_FMT "; it has %s",
        NAME_ARG(a->label), check_axes_text(c, v->axes, v->n_axes));
    return -1;
}

static bool is_form_right(struct checker *c, const struct ast_expr *e, const struct value *v) {
    int n = 0, n_named = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next) {
        if (a->to.len) {
            diag_error(c->cx, check_user_span(c, a->span), D_CALL,
                "`->` stands in the brackets of a call, as in halves[F->N](v)");
            diag_fix(
                c->cx, "to rename a label write v{" NAME_FMT "->" NAME_FMT "}", NAME_ARG(a->label), NAME_ARG(a->to));
            return false;
        }
        n++;
        n_named += a->label.len > 0;
    }
    if (n_named == n) return true;
    if (n_named) {
        diag_error(
            c->cx, check_user_span(c, e->span), D_CALL, "positions are given all by name or all in storage order");
        return false;
    }
    if (!v->is_decided) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL,
            "the order of the axes is undecided: its parts carry %s in no common order",
            check_axes_text(c, v->axes, v->n_axes));
        diag_fix(c->cx, "name them: v[" NAME_FMT ": ..]", NAME_ARG(c->k->axes[v->axes[0]].name));
        return false;
    }
    if (n == v->n_axes) return true;
    diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%d position%s given, the operand has the axes %s", n,
        n == 1 ? " is" : "s are", check_axes_text(c, v->axes, v->n_axes));
    if (v->n_axes)
        diag_fix(c->cx, "by name others pass through: v[" NAME_FMT ": ..]", NAME_ARG(c->k->axes[v->axes[0]].name));
    return false;
}

bool check_read_positions(struct checker *c, const struct ast_expr *e, const struct value *v, struct positions *p) {
    if (!is_form_right(c, e, v)) return false;
    for (const struct ast_arg *a = e->args; a; a = a->next) {
        int axis = position_axis(c, v, a, p->n);
        if (axis < 0) return false;
        for (int i = 0; i < p->n; i++)
            if (p->at[i] == axis) {
                diag_error(c->cx, check_user_span(c, a->span), D_DUPLICATE_AXIS, NAME_FMT " is indexed twice",
                    NAME_ARG(c->k->axes[axis].name));
                diag_fix(c->cx, "leave one out; a window adds up in one position: x[H: H + U - 1]");
                return false;
            }
        p->at[p->n] = axis;
        p->args[p->n] = a;
        if (!(p->values[p->n++] = check_position(c, a->value))) return false;
    }
    return true;
}

static bool is_proven(struct checker *c, const struct positions *p) {
    bool ok = true;
    for (int i = 0; i < p->n; i++) {
        const char *why = "";
        if (bounds_prove(c, p->values[i], p->at[i], &why)) continue;
        struct name n = c->k->axes[p->at[i]].name;
        diag_error(c->cx, check_user_span(c, p->args[i]->span), D_BOUNDS,
            "the position %s along " NAME_FMT " may lie outside: %s", check_expr_text(c, p->args[i]->value),
            NAME_ARG(n), why);
        if (p->values[i]->kind == V_NUM && p->values[i]->integer < 0)
            diag_fix(c->cx, "positions count from 0: the last is size(" NAME_FMT ") - 1", NAME_ARG(n));
        else diag_fix(c->cx, "say what lies outside, as in `x[..] ?? 0`, clamp the position, or state a `require`");
        ok = false;
    }
    return ok;
}

/* ---- the expression ---- */

static struct value *check_fill(struct checker *c, const struct ast_expr *e, enum fx_dtype t) {
    struct value *v = check_expr(c, e);
    if (!v) return NULL;
    if (v->dtype == t ||
        (v->is_weak && v->dtype != FX_BOOL && t != FX_BOOL && (fx_is_float(t) || fx_is_integer(v->dtype))))
        return check_convert(c, v, t, e);
    diag_error(c->cx, check_user_span(c, e->span), D_DTYPE, "the value outside is %s, what is read is %s",
        fx_dtype_name(v->dtype), fx_dtype_name(t));
    diag_fix(c->cx, "write %s(..) around it", fx_dtype_name(t));
    return NULL;
}

struct value *check_access(struct checker *c, const struct ast_expr *e, const struct ast_expr *fill) {
    struct positions p = {0};
    bool outside = c->in_access;
    c->in_access = false; /* what is read is no position, whatever it stands in */
    struct value *v = check_expr(c, e->a), *f = NULL;
    c->in_access = outside;
    if (!v || !check_read_positions(c, e, v, &p)) return NULL;
    if (fill && !(f = check_fill(c, fill, v->dtype))) return NULL;
    if (!fill && !is_proven(c, &p)) return NULL;
    return check_read(c, v, p.at, p.values, p.n, f, e);
}
