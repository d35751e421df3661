/* Stores at positions: `cache[T: at + S] = k` writes those elements of an `inout` tensor and leaves the others alone.
 *
 * In: a statement with positions. Out: of the parameter, what is stored where (`placed`), and the same as a value over
 * all of its elements (`result`): what is stored where some position equals the element's index, else what the
 * parameter held. The oracle, gradients and what reads the name afterwards take the latter, the graph the former.
 * Invariant: no element is stored twice. Every label of what is stored is an axis of the parameter that passes through,
 * or a position is solved for it: a multiple of its running index plus what lacks it. */
#include "check/check_internal.h"

#include <string.h>

struct part { /* of a position: times * idx + rest, NULL standing for 0 */
    bool is_known, has_failed;
    int64_t times;
    struct value *rest;
};

struct placing {
    struct checker *c;
    const struct ast_expr *e;      /* cache[T: at + S] */
    const struct ast_expr *source; /* what is stored, as written */
    struct param *p;
    struct positions at;
    struct value *value, *old;        /* what is stored; what the parameter held */
    int n_free, free[MAX_AXES];       /* labels that are no axis which passes through */
    struct value *solution[MAX_AXES]; /* by free label: its index, over axes of the parameter; NULL: not solved */
    bool is_used[MAX_AXES];           /* by position: a label was solved from it */
    struct value *inside;             /* whether an element is stored to; NULL: always */
    struct part *parts;               /* by value below the position at hand: what it was taken apart as */
};

static struct value *op(struct placing *x, enum op op, struct value *a, struct value *b) {
    struct value *args[3] = {a, b, NULL};
    return check_op(x->c, op, args, x->e);
}

static struct value *number(struct placing *x, int64_t v) { return check_integer(x->c, v, FX_I64, x->e); }

static void also(struct placing *x, struct value *condition) {
    x->inside = x->inside ? op(x, O_AND, x->inside, condition) : condition;
}

static bool is_placed(const struct placing *x, int axis) {
    for (int i = 0; i < x->at.n; i++)
        if (x->at.at[i] == axis) return true;
    return false;
}

static bool passes(const struct placing *x, int axis) { return value_has_axis(x->old, axis) && !is_placed(x, axis); }

static struct name label(const struct placing *x, int axis) { return x->c->k->axes[axis].name; }

/* ---- positions solved for labels ---- */

static bool take_apart_once(struct placing *x, struct value *v, int axis, int64_t *times, struct value **rest);

/* take_apart of a value that the memo does not have. */
static bool take_apart_anew(struct placing *x, struct value *v, int axis, int64_t *times, struct value **rest) {
    int64_t t[2];
    struct value *r[2];
    *times = 0, *rest = v;
    if (!value_has_axis(v, axis)) return true;
    *rest = NULL;
    if (v->kind == V_INDEX) return *times = 1, true;
    if (v->kind == V_CAST && v->to == FX_I64) {
        if (!take_apart_once(x, v->args[0], axis, times, rest)) return false;
        if (*rest) *rest = check_convert(x->c, *rest, FX_I64, x->e);
        return true;
    }
    bool is_sum = v->kind == V_OP && (v->op == O_ADD || v->op == O_SUB), is_negated = v->kind == V_OP && v->op == O_NEG;
    if (v->kind != V_OP || v->dtype != FX_I64) return false;
    for (int i = 0; i < v->n_args && i < 2; i++)
        if ((is_sum || is_negated) && !take_apart_once(x, v->args[i], axis, &t[i], &r[i])) return false;
    if (is_negated) {
        *times = -t[0];
        *rest = r[0] ? op(x, O_NEG, r[0], NULL) : NULL;
        return true;
    }
    if (is_sum) {
        int64_t sign = v->op == O_SUB ? -1 : 1;
        if (__builtin_add_overflow(t[0], sign * t[1], times)) return false;
        *rest = !r[1] ? r[0] : !r[0] && sign > 0 ? r[1] : op(x, v->op, r[0] ? r[0] : number(x, 0), r[1]);
        return true;
    }
    for (int i = 0; v->op == O_MUL && i < 2; i++) {
        const struct value *factor = v->args[1 - i];
        if (factor->kind != V_NUM || !take_apart_once(x, v->args[i], axis, &t[0], &r[0])) continue;
        if (factor->integer < -(1 << 30) || factor->integer > 1 << 30 || t[0] < -(1 << 30) || t[0] > 1 << 30) continue;
        *times = t[0] * factor->integer;
        *rest = r[0] ? op(x, O_MUL, r[0], v->args[1 - i]) : NULL;
        return true;
    }
    return false;
}

/* take_apart with a memo: x->parts. A value that is read twice is taken apart once. */
static bool take_apart_once(struct placing *x, struct value *v, int axis, int64_t *times, struct value **rest) {
    struct part *p = &x->parts[v->id];
    if (!p->is_known) {
        p->has_failed = !take_apart_anew(x, v, axis, &p->times, &p->rest);
        p->is_known = true;
    }
    *times = p->times, *rest = p->rest;
    return !p->has_failed;
}

/* Takes v apart as `times` * idx(axis) + rest, NULL standing for 0; false where it is nothing like that. */
static bool take_apart(struct placing *x, struct value *v, int axis, int64_t *times, struct value **rest) {
    x->parts = NEW_ARRAY(&x->c->cx->arena, struct part, v->id + 1);
    return take_apart_once(x, v, axis, times, rest);
}

/* v with every label solved so far at its solution; outside of it what v is there does not matter. */
static struct value *at_solutions(struct placing *x, struct value *v) {
    int at[MAX_AXES], n = 0;
    struct value *positions[MAX_AXES];
    for (int i = 0; i < x->n_free; i++)
        if (x->solution[i] && value_has_axis(v, x->free[i])) at[n] = x->free[i], positions[n++] = x->solution[i];
    if (!n) return v;
    struct value *zero = v->dtype == FX_BOOL       ? op(x, O_LT, number(x, 1), number(x, 0))
                         : fx_is_integer(v->dtype) ? check_integer(x->c, 0, v->dtype, x->e)
                                                   : check_convert(x->c, check_number(x->c, 0, x->e), v->dtype, x->e);
    return check_read(x->c, v, at, positions, n, zero, x->e);
}

/* How many free labels of position i are not solved; *last is one of them. */
static int count_unsolved(const struct placing *x, int i, int *last) {
    int n = 0;
    for (int l = 0; l < x->n_free; l++)
        if (!x->solution[l] && value_has_axis(x->at.values[i], x->free[l])) *last = l, n++;
    return n;
}

/* Solves position i for free label l, the one in it that is not solved: at = times * l + rest. */
static bool solve(struct placing *x, int i, int l) {
    int64_t times;
    struct value *rest, *index = check_index(x->c, &x->at.at[i], 1, x->e);
    if (!take_apart(x, x->at.values[i], x->free[l], &times, &rest) || !times) return false;
    if (rest && !(rest = at_solutions(x, check_convert(x->c, rest, FX_I64, x->e)))) return false;
    int64_t by = times < 0 ? -times : times;
    struct value *distance = !rest ? index : op(x, O_SUB, index, rest), *s = distance;
    if (times < 0) s = distance = op(x, O_NEG, distance, NULL);
    if (by != 1) {
        s = op(x, O_FLOORDIV, distance, number(x, by));
        also(x, op(x, O_EQ, op(x, O_MUL, s, number(x, by)), distance));
    }
    also(x, op(x, O_GE, s, number(x, 0)));
    also(x, op(x, O_LT, s, check_size(x->c, &x->free[l], 1, x->e)));
    x->solution[l] = s;
    x->is_used[i] = true;
    return true;
}

/* Solves what can be solved, one label after another. */
static void solve_all(struct placing *x) {
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < x->at.n; i++) {
            int l = 0;
            if (!x->is_used[i] && count_unsolved(x, i, &l) == 1) any |= solve(x, i, l);
        }
    }
}

/* ---- what is refused ---- */

/* Says why nothing is solved for free label l. */
static void refuse_label(struct placing *x, int l) {
    struct checker *c = x->c;
    struct name n = label(x, x->free[l]);
    int in = -1, other = -1, ignored = 0;
    for (int i = 0; i < x->at.n; i++)
        if (value_has_axis(x->at.values[i], x->free[l]) && (in < 0 || count_unsolved(x, in, &ignored) > 1)) in = i;
    if (in < 0) {
        diag_error(c->cx, check_user_span(c, x->source->span), D_PLACE_TWICE,
            "what is stored has " NAME_FMT
            ", and %s has it neither as an axis nor in a position: an element would be written once for each of it",
            NAME_ARG(n), x->p->name);
        diag_fix(c->cx,
            "store at a position made of it, " NAME_FMT ": .. + " NAME_FMT ", or reduce it: sum[" NAME_FMT "](..)",
            NAME_ARG(label(x, x->at.at[0])), NAME_ARG(n), NAME_ARG(n));
        return;
    }
    for (int i = 0; i < x->n_free; i++)
        if (i != l && !x->solution[i] && value_has_axis(x->at.values[in], x->free[i])) other = i;
    const struct ast_arg *arg = x->at.args[in];
    int64_t times;
    struct value *rest;
    bool is_multiple = take_apart(x, x->at.values[in], x->free[l], &times, &rest) && times;
    struct span at = check_user_span(c, arg->span);
    if (other >= 0 && is_multiple) {
        diag_error(c->cx, at, D_PLACE_TWICE,
            "the position %s has both " NAME_FMT " and " NAME_FMT
            ": two of them may give one element, which would be written twice",
            check_expr_text(c, arg->value), NAME_ARG(n), NAME_ARG(label(x, x->free[other])));
        diag_fix(c->cx, "make one label of them first, v{(" NAME_FMT "," NAME_FMT ")->P}, and store at .. + P",
            NAME_ARG(n), NAME_ARG(label(x, x->free[other])));
        return;
    }
    diag_error(c->cx, at, D_PLACE_TWICE,
        "the position %s may be the same for two of " NAME_FMT ", and the element would be written twice",
        check_expr_text(c, arg->value), NAME_ARG(n));
    diag_fix(c->cx,
        "positions that are data are told apart by an axis of the tensor: declare %s with " NAME_FMT
        "; others are a multiple of the running index and what lacks it, .. + 2 * " NAME_FMT,
        x->p->name, NAME_ARG(n), NAME_ARG(n));
}

/* What is stored may not have the label of an axis that has a position: it is no index of that axis. */
static bool are_labels_apart(struct placing *x, const struct value *v, const struct ast_expr *e) {
    for (int i = 0; i < v->n_axes; i++) {
        if (!is_placed(x, v->axes[i])) continue;
        struct name n = label(x, v->axes[i]);
        diag_error(x->c->cx, check_user_span(x->c, e->span), D_PLACE,
            "%s has " NAME_FMT
            ", along which %s is stored at positions: it is the label of the places, not of what goes there",
            check_expr_text(x->c, e), NAME_ARG(n), x->p->name);
        diag_fix(x->c->cx, "give it another label, v{" NAME_FMT "->S}, and store at a position made of S", NAME_ARG(n));
        return false;
    }
    return true;
}

/* The parameter that is stored to; NULL after an error. */
static struct param *find_param(struct checker *c, const struct ast_stmt *s) {
    struct name n = s->targets->name;
    const struct param *p = NULL;
    for (int i = 0; i < c->k->n_params; i++)
        if (name_eq(c->k->params[i].ast->name, n)) p = &c->k->params[i];
    if (p && p->is_input && p->is_output && !p->result && p->n_axes) return (struct param *)p;
    if (p && p->result && p->is_output) {
        diag_error(
            c->cx, s->targets->span, D_OUTPUT_ASSIGNED_TWICE, "the output %s is assigned a second time", p->name);
        if (p->placed) diag_fix(c->cx, "a tensor is stored to once: put values side by side first, concat[P](..)");
        return NULL;
    }
    diag_error(c->cx, s->place->span, D_PLACE,
        "elements of " NAME_FMT " alone cannot be stored: it is no `inout` tensor with axes", NAME_ARG(n));
    if (p && p->is_input && p->is_output) diag_fix(c->cx, "it has one element: %s = ..", p->name);
    else if (p && p->is_output)
        diag_fix(c->cx,
            "an output is stored whole; what keeps its other elements is declared among the inputs, " NAME_FMT
            ": inout %s[..]",
            NAME_ARG(n), fx_dtype_name(p->dtype));
    else if (p) diag_fix(c->cx, "declare it " NAME_FMT ": inout %s[..]", NAME_ARG(n), fx_dtype_name(p->dtype));
    else
        diag_fix(c->cx,
            "a value is assigned whole; choose by element: " NAME_FMT " = where(idx(N) == i, v, " NAME_FMT ")",
            NAME_ARG(n), NAME_ARG(n));
    return NULL;
}

/* ---- the statement ---- */

static bool collect_labels(struct placing *x, const struct value *v) {
    for (int i = 0; i < v->n_axes; i++) {
        bool is_known = passes(x, v->axes[i]);
        for (int l = 0; l < x->n_free; l++) is_known |= x->free[l] == v->axes[i];
        if (is_known) continue;
        if (x->n_free == MAX_AXES) return false;
        x->free[x->n_free++] = v->axes[i];
    }
    return true;
}

/* What is stored where, for the graph. */
static struct value *placed_value(struct placing *x) {
    struct value *v = check_new_value(x->c, V_PLACE, x->e);
    v->dtype = x->value->dtype;
    v->natural = x->value->natural;
    v->param = (int)(x->p - x->c->k->params);
    v->is_decided = false;
    v->args[v->n_args++] = x->value;
    for (int i = 0; i < x->at.n; i++) {
        const char *ignored;
        v->at[v->n_at++] = x->at.at[i];
        if (!bounds_prove(x->c, x->at.values[i], x->at.at[i], &ignored)) v->may_miss |= 1u << i;
        v->args[v->n_args++] = x->at.values[i];
    }
    for (int i = 0; i < x->p->n_axes;
         i++) /* in the order in which the parameter has them, a position's where its axis stands */
        for (int j = 0; j < (passes(x, x->p->axes[i]) ? 1 : x->at.n); j++) {
            bool is_axis = passes(x, x->p->axes[i]);
            if (is_axis && !value_has_axis(v, x->p->axes[i])) v->axes[v->n_axes++] = x->p->axes[i];
            for (int a = 0; !is_axis && x->at.at[j] == x->p->axes[i] && a < x->at.values[j]->n_axes; a++) {
                int axis = x->at.values[j]->axes[a];
                if (passes(x, axis) || value_has_axis(v, axis)) continue;
                if (v->n_axes == MAX_AXES) return NULL;
                v->axes[v->n_axes++] = axis;
            }
        }
    return v;
}

/* The same over all elements. */
static struct value *whole_value(struct placing *x) {
    for (int i = 0; i < x->at.n; i++) {
        if (x->is_used[i]) continue;
        struct value *at = at_solutions(x, check_convert(x->c, x->at.values[i], FX_I64, x->e));
        if (!at) return NULL;
        also(x, op(x, O_EQ, check_index(x->c, &x->at.at[i], 1, x->e), at));
    }
    struct value *new = at_solutions(x, x->value), *old = check_convert(x->c, x->old, x->value->dtype, x->e);
    struct value *args[3] = {x->inside, new, old};
    return new ? check_op(x->c, O_WHERE, args, x->e) : NULL;
}

static void warn_repeated(struct placing *x) {
    for (int i = 0; x->value->n_axes && i < x->p->n_axes; i++) {
        if (!passes(x, x->p->axes[i]) || value_has_axis(x->value, x->p->axes[i])) continue;
        diag_warning(x->c->cx, x->e->span, D_BROADCAST,
            "the value of %s has axes %s only: it is repeated along " NAME_FMT, x->p->name,
            check_axes_text(x->c, x->value->axes, x->value->n_axes), NAME_ARG(label(x, x->p->axes[i])));
        diag_fix(x->c->cx, "declare %s without " NAME_FMT " if that is not meant", x->p->name,
            NAME_ARG(label(x, x->p->axes[i])));
        return;
    }
}

/* The running index of its own axis is no position: the axis passes through. False where all do. */
static bool drop_passing(struct placing *x) {
    int n = 0;
    for (int i = 0; i < x->at.n; i++) {
        if (x->at.values[i]->kind == V_INDEX && x->at.values[i]->axis == x->at.at[i]) continue;
        x->at.at[n] = x->at.at[i], x->at.values[n] = x->at.values[i], x->at.args[n++] = x->at.args[i];
    }
    x->at.n = n;
    if (n) return true;
    diag_error(x->c->cx, x->e->span, D_PLACE, "every position is the running index of its axis: all of %s is stored",
        x->p->name);
    diag_fix(x->c->cx, "assign it whole: %s = ..", x->p->name);
    return false;
}

static struct value *check_placed(struct placing *x, const struct ast_stmt *s) {
    struct checker *c = x->c;
    if (!check_read_positions(c, x->e, x->old, &x->at) || !drop_passing(x)) return NULL;
    struct value *v = check_part(c, s->value);
    if (v && c->has_parts) v = check_settled(c, v, v->source);
    if (!v || !(x->value = check_store(c, v, x->p, s->value, s->targets->span))) return NULL;
    bool ok = are_labels_apart(x, x->value, s->value) && collect_labels(x, x->value);
    for (int i = 0; ok && i < x->at.n; i++)
        ok = are_labels_apart(x, x->at.values[i], x->at.args[i]->value) && collect_labels(x, x->at.values[i]);
    if (!ok) return NULL;
    solve_all(x);
    for (int l = 0; l < x->n_free; l++) {
        if (x->solution[l]) continue;
        refuse_label(x, l);
        return NULL;
    }
    warn_repeated(x);
    struct value *whole = whole_value(x);
    x->p->placed = whole ? placed_value(x) : NULL;
    return x->p->placed ? whole : NULL;
}

void check_place(struct checker *c, const struct ast_stmt *s) {
    struct placing x = {.c = c, .e = s->place, .source = s->value, .p = find_param(c, s)};
    const struct binding *b = check_find_binding(c, s->targets->name);
    if (!x.p || !b || !b->value) return;
    x.old = b->value;
    x.p->result = check_placed(&x, s);
    if (x.p->result)
        check_note(c, (struct note){.name = s->targets->name, .span = s->targets->span, .value = x.p->result});
    check_bind(c, s->targets->name, x.p->result);
}

/* Positions that read a tensor which is itself stored at positions could need what is written meanwhile. */
static bool reads_placed(const struct kernel *k, const struct value *v, bool *seen) {
    if (seen[v->id]) return false;
    seen[v->id] = true;
    if (v->kind == V_LOAD && k->params[v->param].placed) return true;
    for (int i = 0; i < v->n_args; i++)
        if (reads_placed(k, v->args[i], seen)) return true;
    return false;
}

void check_places(struct checker *c) {
    for (int i = 0; i < c->k->n_params; i++) {
        const struct value *v = c->k->params[i].placed;
        bool *seen = NEW_ARRAY(&c->cx->arena, bool, c->k->n_values + 1);
        for (int a = 1; v && a < v->n_args; a++) {
            if (!reads_placed(c->k, v->args[a], seen)) continue;
            diag_error(c->cx, check_user_span(c, v->span), D_PLACE,
                "the positions of %s are read from a tensor that is stored at positions itself", c->k->params[i].name);
            diag_fix(c->cx, "take the positions from another tensor, or store the two by two kernels");
            return;
        }
    }
}
