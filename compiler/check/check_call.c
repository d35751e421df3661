/* Calls of fns: labels and arguments bound, the body expanded in place, its results taken.
 *
 * In: a call and the fn it names. Out: the values of its results, as if the body had been written there. A body sees
 * its own parameters, constants and fns, and no label but those it was given. */
#include "check/check_internal.h"

#include <string.h>

const struct ast_item *check_find_fn(struct checker *c, struct name n) {
    /* the prelude means its own, whatever the file defines */
    const struct names *first = c->in_prelude ? &c->prelude_fns : &c->fns,
                       *then = c->in_prelude ? &c->fns : &c->prelude_fns;
    const struct ast_item *found = names_get(first, n);
    return found ? found : names_get(then, n);
}

static struct value *literal_value(struct checker *c, const struct ast_val *v, const struct ast_expr *e) {
    if (v->kind == VAL_NUM)
        return v->num.is_integer && !v->num.is_bool && v->num.value < 0
                   ? check_weak_integer(c, (int64_t)v->num.value, e)
                   : check_literal(c, &v->num, e);
    diag_error(c->cx, v->span, D_CALL, "a default must be a number");
    return NULL;
}

/* Binds the arguments of a call to the parameters of fn f. False after an error, which may be an earlier one: that of a
 * name whose value has none. */
static bool bind_arguments(
    struct checker *c, const struct ast_expr *e, const struct ast_item *f, struct binding **scope) {
    const struct ast_arg *arg = e->args;
    int n_positional = 0, n_params = 0, n_args = 0;
    for (const struct ast_arg *a = e->args; a; a = a->next) n_args++;
    for (const struct ast_param *p = f->params; p; p = p->next) {
        struct value *v = NULL;
        const struct ast_arg *named = NULL;
        for (const struct ast_arg *a = e->args; a; a = a->next)
            if (a->label.len && name_eq(a->label, p->name)) named = a;
        if (arg && !arg->label.len) {
            if (named) {
                diag_error(
                    c->cx, check_user_span(c, named->span), D_CALL, NAME_FMT " is given twice", NAME_ARG(p->name));
                return false;
            }
            v = check_expr(c, arg->value);
            arg = arg->next;
            n_positional++;
        } else if (named) {
            v = check_expr(c, named->value);
        } else if (p->value) {
            v = literal_value(c, p->value, e);
        } else {
            diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " needs its argument " NAME_FMT,
                NAME_ARG(f->name), NAME_ARG(p->name));
            return false;
        }
        if (!v) return false;
        struct binding *b = NEW(&c->cx->arena, struct binding);
        *b = (struct binding){p->name, v, *scope};
        *scope = b;
        n_params++;
    }
    if (arg && !arg->label.len) {
        diag_error(c->cx, check_user_span(c, arg->span), D_CALL, NAME_FMT " takes %d argument%s, %d were given",
                   NAME_ARG(f->name), n_params, n_params == 1 ? "" : "s", n_args);
        if (f->axis_params && !e->has_labels)
            diag_fix(c->cx, "axes have names, and stand in brackets: " NAME_FMT "[K](..)", NAME_ARG(f->name));
        return false;
    }
    for (; arg; arg = arg->next) {
        bool known = false;
        for (const struct ast_param *p = f->params; p; p = p->next) known |= name_eq(p->name, arg->label);
        if (!arg->label.len || !known) {
            diag_error(c->cx, check_user_span(c, arg->span), D_CALL, NAME_FMT " has no parameter " NAME_FMT,
                NAME_ARG(f->name), NAME_ARG(arg->label));
            hint_argument(c, e, arg->label, f->params);
            return false;
        }
    }
    return true;
}

/* The next label of a call: of `F->N` first F, then N, which may be new. */
static int label_argument(struct checker *c, const struct ast_arg **label, bool *into, int *axes) {
    const struct ast_arg *l = *label;
    bool is_pair = l->to.len > 0, was_into = *into;
    *into = is_pair && !was_into;
    if (!*into) *label = l->next;
    if (is_pair) return check_label_argument(c, was_into ? l->to : l->label, l->span, was_into, axes);
    if (!l->label.len && l->value && l->value->kind == AST_ID)
        return check_label_argument(c, l->value->name, l->span, false, axes);
    diag_error(c->cx, check_user_span(c, l->span), D_UNKNOWN_AXIS, "expected a label here");
    return -1;
}

/* Whether what b stands for was given to no parameter before it: a body takes its labels for different ones. */
static bool are_apart(struct checker *c, const struct ast_item *f, const struct axis_binding *b,
    const struct axis_binding *before, struct span at) {
    for (; before; before = before->next)
        for (int i = 0; i < b->n; i++)
            for (int j = 0; j < before->n; j++) {
                if (b->axes[i] != before->axes[j]) continue;
                diag_error(c->cx, check_user_span(c, at), D_DUPLICATE_AXIS,
                    NAME_FMT " is given " NAME_FMT " twice, as " NAME_FMT " and as " NAME_FMT, NAME_ARG(f->name),
                    NAME_ARG(c->k->axes[b->axes[i]].name), NAME_ARG(before->name), NAME_ARG(b->name));
                diag_fix(c->cx, "give it two labels; v{K->J} gives a value another");
                return false;
            }
    return true;
}

/* Binds the labels of a call to the axis parameters of f; a sole parameter takes them all. False after an error. */
static bool bind_axes(
    struct checker *c, const struct ast_expr *e, const struct ast_item *f, struct axis_binding **scope) {
    int n_params = 0, n_labels = 0;
    bool into = false; /* the label at hand stands right of `->` */
    for (const struct ast_ids *p = f->axis_params; p; p = p->next) n_params++;
    for (const struct ast_arg *l = e->labels; l; l = l->next) n_labels += l->to.len ? 2 : 1;
    if (n_params == 1 ? n_labels == 0 : n_labels != n_params) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " takes %d label%s, %d %s given",
            NAME_ARG(f->name), n_params,
            n_params == 1   ? " or more"
            : n_params == 0 ? "s"
                            : "s",
            n_labels, n_labels == 1 ? "was" : "were");
        if (n_params == 0) diag_fix(c->cx, "it is applied to every element: " NAME_FMT "(..)", NAME_ARG(f->name));
        else if (n_labels == 0) diag_fix(c->cx, "name them in brackets: " NAME_FMT "[K](..)", NAME_ARG(f->name));
        return false;
    }
    const struct ast_arg *label = e->labels;
    for (const struct ast_ids *p = f->axis_params; p; p = p->next) {
        struct axis_binding *b = NEW(&c->cx->arena, struct axis_binding);
        struct span at = label ? label->span : e->span;
        b->name = p->name;
        if (n_params == 1) b->n = check_labels(c, e->labels, NULL, NULL, b->axes);
        else b->n = label_argument(c, &label, &into, b->axes);
        if (b->n < 0 || !are_apart(c, f, b, *scope, at)) return false;
        b->next = *scope;
        *scope = b;
    }
    return true;
}

/* The statements of a fn, whose parameters are in scope. */
static void check_body(struct checker *c, const struct ast_stmt *body) {
    for (const struct ast_stmt *s = body; s; s = s->next) {
        struct value *v[MAX_RESULTS] = {0};
        int n = 0;
        if (s->is_require) {
            check_require(c, s);
            continue;
        }
        if (s->place) {
            diag_error(c->cx, check_user_span(c, s->place->span), D_PLACE, "a fn gives values and stores nothing");
            diag_fix(c->cx, "store in the kernel what the fn gives");
            continue;
        }
        for (const struct ast_ids *t = s->targets; t; t = t->next) n++;
        if (n == 1) v[0] = check_part(c, s->value);
        else check_results(c, s->value, n, v);
        n = 0;
        for (const struct ast_ids *t = s->targets; t; t = t->next, n++)
            check_bind(c, t->name, n < MAX_RESULTS ? v[n] : NULL);
    }
}

/* Takes the results of a fn with a body from its scope. */
static bool take_results(struct checker *c, const struct ast_item *f, int n, struct value **out) {
    int i = 0;
    for (const struct ast_ids *r = f->results; r; r = r->next, i++) {
        const struct binding *b = c->scope;
        while (b && !name_eq(b->name, r->name)) b = b->next;
        if (!b) {
            diag_error(c->cx, check_user_span(c, r->span), D_OUTPUT_UNASSIGNED,
                "the result " NAME_FMT " of " NAME_FMT " is never assigned", NAME_ARG(r->name), NAME_ARG(f->name));
            diag_fix(c->cx, "assign it by its name: " NAME_FMT " = ..", NAME_ARG(r->name));
            return false;
        }
        if (i < n) out[i] = b->value && c->has_parts ? check_settled(c, b->value, b->value->source) : b->value;
    }
    return true;
}

static int n_results(const struct ast_item *f) {
    int n = f->body ? 0 : 1;
    for (const struct ast_ids *r = f->results; f->body && r; r = r->next) n++;
    return n;
}

static bool may_call(struct checker *c, const struct ast_expr *e, const struct ast_item *f) {
    for (int i = 0; i < c->n_calls; i++)
        if (c->calls[i] == f) {
            diag_error(c->cx, check_user_span(c, e->span), D_RECURSION, NAME_FMT " calls itself", NAME_ARG(f->name));
            diag_fix(c->cx, "there is no recursion: sum[K](..) and cumsum[K](..) run over an axis");
            return false;
        }
    if (c->n_calls < MAX_CALLS) return true;
    diag_error(c->cx, check_user_span(c, e->span), D_TOO_DEEP, "more than %d fns within fns", MAX_CALLS);
    diag_fix(c->cx, "write some of their bodies where they are called");
    return false;
}

bool check_call_fn(struct checker *c, const struct ast_expr *e, const struct ast_item *f, int n, struct value **out) {
    struct axis_binding *axes = NULL;
    int errors = c->cx->n_errors;
    if (!may_call(c, e, f)) return false;
    if (n_results(f) != n) {
        diag_error(c->cx, check_user_span(c, e->span), D_CALL, NAME_FMT " has %d result%s, %d %s wanted here",
            NAME_ARG(f->name), n_results(f), n_results(f) == 1 ? "" : "s", n, n == 1 ? "is" : "are");
        return false;
    }
    /* arguments first: a relabel in one may introduce a label that the call names */
    struct binding *scope = NULL, *saved = c->scope;
    if (!bind_arguments(c, e, f, &scope) || c->cx->n_errors > errors || !bind_axes(c, e, f, &axes)) return false;
    if (c->cx->n_errors > errors) return false;
    struct span call_span = c->call_span;
    if (c->n_calls == 0 || e->span.file < c->prelude_file) c->call_span = e->span;
    struct axis_binding *saved_axes = c->axis_scope; /* with the labels this call introduced */
    bool in_access = c->in_access, in_prelude = c->in_prelude, is_contracting = c->is_contracting,
         is_prelude = f->span.file >= c->prelude_file;
    c->calls[c->n_calls++] = f;
    c->scope = scope;
    c->axis_scope = axes;
    c->in_access = c->is_contracting = false;
    c->in_prelude = in_prelude || is_prelude;
    int first_new = c->k->n_values;
    bool ok = true;
    if (f->body) {
        check_body(c, f->body);
        ok = take_results(c, f, n, out);
    } else {
        out[0] = check_expr(c, f->value);
    }
    for (int i = 0; ok && i < n; i++)
        if (!out[i]) ok = false;
        else if (out[i]->id >= first_new && n == 1)
            out[i]->source = e, out[i]->span = check_user_span(c, e->span); /* what the caller wrote */
    c->scope = saved;
    c->axis_scope = saved_axes;
    c->in_access = in_access;
    c->in_prelude = in_prelude;
    c->is_contracting = is_contracting;
    c->n_calls--;
    for (int i = 0; ok && is_prelude && !in_prelude && i < n; i++) out[i] = check_rounded(c, out[i], e);
    c->call_span = call_span;
    return ok && c->cx->n_errors == errors;
}

bool check_results(struct checker *c, const struct ast_expr *e, int n, struct value **out) {
    const struct ast_item *f = e->kind == AST_CALL ? check_find_fn(c, e->name) : NULL;
    if (f && n <= MAX_RESULTS) return check_call_fn(c, e, f, n, out);
    diag_error(c->cx, check_user_span(c, e->span), D_CALL, "%d targets take a call of a fn with %d results", n, n);
    if (e->kind == AST_CALL) hint_results(c, e->name);
    return false;
}
