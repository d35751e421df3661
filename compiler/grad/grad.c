/* Reverse mode: `kernel f_bwd = grad(f, wrt: x, w)` as a kernel of its own.
 *
 * In: a checked kernel and the parameters asked for. Out: a kernel of the same form, which takes f's inputs and for
 * each float output o of f its adjoint d<o>, and gives for each parameter p asked for d<p>. f's values are copied, then
 * their adjoints are built from the outputs back, each kind of value by its rule, ops by the derivative column of
 * ops.def. Invariant: an adjoint carries no label but those of its value, and may lack some: then it is the same along
 * them. Contributions are added in the order in which their readers stand, last first; a zero is never built. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- adjoints ---- */

void grad_add(struct grad *g, struct value *v, const struct adjoint_product *p) {
    struct adjoint *a = &g->adjoints[v->id];
    if (!g->is_active[v->id] || p->is_zero) return;
    if (!a->has_pending && !a->sum) {
        a->pending = *p;
        a->has_pending = true;
        return;
    }
    struct value *before = grad_adjoint(g, v), *more = product_value(g, *p, v->dtype);
    a->sum = grad_op(g, O_ADD, before, more, NULL);
}

struct value *grad_adjoint(struct grad *g, const struct value *v) {
    struct adjoint *a = &g->adjoints[v->id];
    if (a->has_pending) {
        a->sum = product_value(g, a->pending, v->dtype);
        a->has_pending = false;
    }
    return a->sum;
}

void grad_add_value(struct grad *g, struct value *v, struct value *adjoint) {
    struct adjoint_product p = {.n_factors = 1, .factors = {adjoint}};
    grad_add(g, v, &p);
}

/* ---- the walk ---- */

static bool is_active(struct grad *g, const struct value *v, const bool *is_wanted) {
    bool active = false;
    if (!fx_is_float(v->dtype)) return false;
    switch (v->kind) {
    case V_LOAD: case V_SCALAR: return is_wanted[v->param];
    case V_OP:
        for (int i = 0; i < v->n_args; i++) active |= g->is_active[v->args[i]->id] && grad_has_rule(g->c, v->op, i);
        return active;
    case V_ACCESS: return g->is_active[v->args[0]->id] || (v->has_fill && g->is_active[v->args[1 + v->n_at]->id]);
    case V_SCAN: return g->is_active[v->args[0]->id] || (v->n_args > 1 && g->is_active[v->args[1]->id]);
    case V_REDUCE: return g->is_active[v->args[0]->id];
    case V_CAST: return fx_is_float(v->to) && g->is_active[v->args[0]->id];
    case V_NUM:
    case V_INDEX:
    case V_SIZE:
    case V_PLACE: break;
    }
    return false;
}

static void propagate(struct grad *g, struct value *v) {
    switch (v->kind) {
    case V_OP: grad_pointwise(g, v); break;
    case V_REDUCE: grad_reduce(g, v); break;
    case V_SCAN: grad_scan(g, v); break;
    case V_CAST:
        grad_add_value(g, v->args[0], check_convert(g->c, grad_adjoint(g, v), v->args[0]->dtype, g->at));
        break;
    case V_ACCESS: grad_access(g, v); break;
    case V_NUM:
    case V_SCALAR:
    case V_LOAD:
    case V_INDEX:
    case V_SIZE:
    case V_PLACE: break;
    }
}

/* Everything made for the adjoint of v is said to come from where v came from. */
static void set_source(struct grad *g, const struct value *v, const struct ast_expr *fallback) {
    g->at = v->source ? v->source : fallback;
    g->c->call_span = v->source ? v->span : fallback->span;
}

/* ---- the kernel ---- */

static const char *fresh_name(struct grad *g, const char *of) {
    const char *name = arena_printf(&g->c->cx->arena, "d%s", of);
    for (int i = 0; i < g->k->n_params; i++)
        if (strcmp(g->k->params[i].name, name) == 0) name = arena_printf(&g->c->cx->arena, "%s_", name), i = -1;
    return name;
}

static struct param *add_param(struct grad *g, const struct param *like, const char *name, bool is_output) {
    struct ast_param *ast = NEW(&g->c->cx->arena, struct ast_param);
    struct param *p = &PUSH(&g->c->cx->arena, g->k->params, g->k->n_params);
    *ast = (struct ast_param){.name = {name, (uint32_t)strlen(name)},
        .span = like->ast->span,
        .type = {.dtype = like->dtype, .has_axes = true, .axes = like->ast->type.axes}};
    *p = (struct param){.ast = ast,
        .name = name,
        .dtype = like->dtype,
        .is_input = !is_output,
        .is_output = is_output,
        .n_axes = like->n_axes};
    memcpy(p->axes, like->axes, sizeof p->axes);
    return p;
}

static void copy_signature(struct grad *g, const struct kernel *f) {
    struct arena *a = &g->c->cx->arena;
    struct kernel *k = g->k;
    for (int i = 0; i < f->n_axes; i++) PUSH(a, k->axes, k->n_axes) = f->axes[i];
    for (int i = 0; i < f->n_equations; i++) PUSH(a, k->equations, k->n_equations) = f->equations[i];
    for (int i = 0; i < f->n_requirements; i++) PUSH(a, k->requirements, k->n_requirements) = f->requirements[i];
    k->precision = f->precision;
    k->round = f->round;
    k->fast_math = f->fast_math;
    for (int i = 0; i < f->n_params && f->params[i].is_input; i++) {
        struct param *p = &PUSH(a, k->params, k->n_params);
        struct ast_param *ast = NEW(a, struct ast_param);
        *p = f->params[i];
        *ast = *p->ast;
        ast->is_inout = false;
        p->ast = ast;
        p->is_output = false;
        p->result = p->placed = NULL;
    }
}

static void copy_values(struct grad *g, const struct kernel *f) {
    for (int i = 0; i < f->n_values; i++) {
        struct value *v = NEW(&g->c->cx->arena, struct value);
        *v = *f->values[i];
        for (int n = 0; n < v->n_args; n++) v->args[n] = g->k->values[v->args[n]->id];
        v->settled = NULL;
        PUSH(&g->c->cx->arena, g->k->values, g->k->n_values) = v;
    }
    g->n_forward = f->n_values;
}

/* The parameter of k whose gradient is asked for under this name, or -1 after an error. */
static int wanted_param(
    struct grad *g, const struct ast_item *item, const struct ast_ids *id, const bool *is_wanted, int n_inputs) {
    struct cx *cx = g->c->cx;
    const struct kernel *k = g->k;
    int i = 0;
    while (i < n_inputs && !name_eq(k->params[i].ast->name, id->name)) i++;
    if (i == n_inputs) {
        diag_error(cx, id->span, D_UNKNOWN_NAME, NAME_FMT " has no input named " NAME_FMT, NAME_ARG(item->grad_of),
            NAME_ARG(id->name));
        diag_fix(cx, "name inputs of " NAME_FMT ": a gradient is taken by them", NAME_ARG(item->grad_of));
    } else if (!fx_is_float(k->params[i].dtype)) {
        diag_error(cx, id->span, D_GRADIENT, NAME_FMT " is %s: a gradient is taken by tensors and scalars of floats",
            NAME_ARG(id->name), fx_dtype_name(k->params[i].dtype));
        diag_fix(cx, "leave " NAME_FMT " out of the list", NAME_ARG(id->name));
    } else if (is_wanted[i]) {
        diag_error(cx, id->span, D_REDEFINED, "the gradient by " NAME_FMT " is asked for twice", NAME_ARG(id->name));
        diag_fix(cx, "name it once");
    } else {
        return i;
    }
    return -1;
}

/* Parameter number `param` of k, as it is read. */
static struct value *load(struct grad *g, int param) {
    const struct param *p = &g->k->params[param];
    struct value *d = check_new_value(g->c, V_LOAD, NULL);
    d->span = p->ast->span;
    d->param = param;
    d->name = p->ast->name;
    d->dtype = fx_compute_type(p->dtype);
    d->natural = p->dtype;
    d->n_axes = p->n_axes;
    memcpy(d->axes, p->axes, (size_t)p->n_axes * sizeof *p->axes);
    return d;
}

/* The outputs behind `saved:` as inputs behind those of f. */
static void add_saved(struct grad *g, const struct ast_item *item, const struct kernel *f) {
    struct cx *cx = g->c->cx;
    for (const struct ast_ids *id = item->saved; id; id = id->next) {
        const struct param *o = NULL;
        bool is_twice = false;
        for (const struct ast_ids *other = item->saved; other != id; other = other->next)
            is_twice |= name_eq(other->name, id->name);
        for (int i = 0; i < f->n_params; i++)
            if (f->params[i].is_output && name_eq(f->params[i].ast->name, id->name)) o = &f->params[i];
        if (is_twice) {
            diag_error(cx, id->span, D_REDEFINED, NAME_FMT " is saved twice", NAME_ARG(id->name));
            diag_fix(cx, "name it once");
        } else if (!o) {
            diag_error(cx, id->span, D_UNKNOWN_NAME, NAME_FMT " has no output named " NAME_FMT,
                NAME_ARG(item->grad_of), NAME_ARG(id->name));
            diag_fix(cx, "name outputs of " NAME_FMT ": its inputs are read as they are", NAME_ARG(item->grad_of));
        } else if (o->is_input || o->placed) {
            diag_error(cx, id->span, D_GRADIENT, NAME_FMT " is stored over what was there: it is no saved output",
                NAME_ARG(id->name));
            diag_fix(cx, "leave it out of `saved:`");
        } else {
            add_param(g, o, o->name, false);
        }
    }
}

/* Loads of them. */
static void load_saved(struct grad *g, const struct kernel *f, int n_inputs) {
    for (int param = n_inputs; param < g->k->n_saved; param++) {
        const struct param *o = f->params;
        while (o->is_input || strcmp(o->name, g->k->params[param].name) != 0) o++;
        struct value *d = load(g, param);
        PUSH(&g->c->cx->arena, g->saved, g->n_saved) =
            (struct grad_saved){.value = g->k->values[o->result->id], .load = d};
    }
}

static bool read_wanted(struct grad *g, const struct ast_item *item, bool *is_wanted, int n_inputs) {
    bool ok = true;
    for (const struct ast_ids *id = item->wrt; id; id = id->next) {
        int i = wanted_param(g, item, id, is_wanted, n_inputs);
        if (i >= 0) is_wanted[i] = true;
        ok = ok && i >= 0;
    }
    return ok;
}

/* Of an output stored at positions: what was stored has the adjoint of the places it went to, what the parameter held
 * that of all others. */
static void seed_placed(struct grad *g, const struct param *o, struct value *d) {
    const struct value *placed = g->k->values[o->placed->id], *whole = g->k->values[o->result->id];
    struct value *stored = placed->args[0], *old = whole->args[2], *positions[MAX_AXES];
    for (int i = 0; i < placed->n_at; i++) positions[i] = placed->args[1 + i];
    struct value *read = check_read(g->c, d, placed->at, positions, placed->n_at, grad_zero(g, d->dtype), g->at);
    struct adjoint_product p = {.n_factors = 1, .factors = {check_convert(g->c, read, stored->dtype, g->at)}};
    product_sum_missing(&p, read, stored);
    if (g->is_active[stored->id]) grad_add(g, stored, &p);
    if (!g->is_active[old->id]) return;
    struct value *kept = grad_op(g, O_WHERE, whole->args[0], grad_zero(g, d->dtype), d);
    grad_add_value(g, old, check_convert(g->c, kept, old->dtype, g->at));
}

/* An adjoint for each float output of f as a parameter, and as where its result's begins. */
static int seed(struct grad *g, const struct kernel *f) {
    int n = 0;
    for (int i = 0; i < f->n_params; i++) {
        const struct param *o = &f->params[i];
        if (!o->is_output || !fx_is_float(o->dtype)) continue;
        n++;
        int param = g->k->n_params;
        add_param(g, o, fresh_name(g, o->name), false);
        if (!o->result || !g->is_active[o->result->id]) continue;
        struct value *d = load(g, param), *v = g->k->values[o->result->id];
        if (o->placed) {
            seed_placed(g, o, d);
            continue;
        }
        struct adjoint_product p = {.n_factors = 1, .factors = {check_convert(g->c, d, v->dtype, g->at)}};
        product_sum_missing(&p, d, v);
        grad_add(g, v, &p);
    }
    return n;
}

static struct value *input_value(struct grad *g, int param) {
    for (int i = 0; i < g->n_forward; i++) {
        struct value *v = g->k->values[i];
        if ((v->kind == V_LOAD || v->kind == V_SCALAR) && v->param == param) return v;
    }
    return NULL;
}

static void store_gradients(struct grad *g, const struct ast_item *item, int n_inputs) {
    for (const struct ast_ids *id = item->wrt; id; id = id->next) {
        int i = 0;
        while (i < n_inputs && !name_eq(g->k->params[i].ast->name, id->name)) i++;
        struct param *p = add_param(g, &g->k->params[i], fresh_name(g, g->k->params[i].name), true);
        struct value *v = input_value(g, i), *d = v ? grad_adjoint(g, v) : NULL;
        p->result = check_store(g->c, d ? d : grad_zero(g, fx_compute_type(p->dtype)), p, g->at, id->span);
        if (d && !d->name.len && d->kind != V_NUM && d->kind != V_LOAD) d->name = p->ast->name;
    }
}

/* Leaves the values that an output depends on. */
static void prune(struct kernel *k) {
    int n = 0;
    for (int i = 0; i < k->n_values; i++) k->values[i]->id = -1; /* 0 once it is needed */
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].result) k->params[i].result->id = 0;
    for (int i = k->n_values - 1; i >= 0; i--)
        for (int a = 0; k->values[i]->id == 0 && a < k->values[i]->n_args; a++) k->values[i]->args[a]->id = 0;
    for (int i = 0; i < k->n_values; i++)
        if (k->values[i]->id == 0) k->values[k->values[i]->id = n++] = k->values[i];
    k->n_values = n;
}

static void differentiate(
    struct grad *g, const struct ast_item *item, const struct kernel *f, const struct ast_expr *whole) {
    int n_inputs = g->k->n_params;
    bool *is_wanted = NEW_ARRAY(&g->c->cx->arena, bool, n_inputs + 1);
    if (!read_wanted(g, item, is_wanted, n_inputs)) return;
    add_saved(g, item, f);
    if (g->c->cx->n_errors) return;
    g->k->n_saved = g->k->n_params;
    copy_values(g, f);
    load_saved(g, f, n_inputs);
    grad_find_saved(g);
    g->is_active = NEW_ARRAY(&g->c->cx->arena, bool, f->n_values + 1);
    g->adjoints = NEW_ARRAY(&g->c->cx->arena, struct adjoint, f->n_values + 1);
    for (int i = 0; i < g->n_forward; i++) g->is_active[i] = is_active(g, g->k->values[i], is_wanted);
    if (seed(g, f) == 0) {
        diag_error(g->c->cx, item->span, D_GRADIENT,
            "%s has no output of floats: there is nothing to take a gradient of", f->name);
        return;
    }
    for (int i = g->n_forward - 1; i >= 0 && !g->c->cx->n_errors; i--) {
        const struct adjoint *a = &g->adjoints[i];
        struct value *v = g->k->values[i];
        set_source(g, v, whole);
        grad_end_rows(g, v);
        if ((a->has_pending || a->sum) && !grad_by_rows(g, v)) propagate(g, v);
    }
    if (g->c->cx->n_errors) return;
    g->at = whole;
    g->c->call_span = item->span;
    store_gradients(g, item, n_inputs);
    grad_read_saved(g);
    prune(g->k);
}

/* `grad(f)`: what stands in comments where nothing the user wrote does. */
static struct ast_expr *grad_call(struct checker *c, const struct ast_item *item) {
    struct ast_expr *call = NEW(&c->cx->arena, struct ast_expr), *f = NEW(&c->cx->arena, struct ast_expr);
    *f = (struct ast_expr){
        .kind = AST_ID, .span = item->span, .op_span = item->span, .name = item->grad_of, .depth = 1};
    *call = (struct ast_expr){.kind = AST_CALL,
        .span = item->span,
        .op_span = item->span,
        .name = {"grad", 4},
        .args = NEW(&c->cx->arena, struct ast_arg),
        .depth = 2};
    *call->args = (struct ast_arg){.value = f, .span = item->span};
    return call;
}

void grad_kernel(struct checker *c, const struct ast_item *item, const struct kernel *f, struct kernel *k) {
    struct grad g = {.c = c, .k = k};
    struct ast_expr *whole = grad_call(c, item);
    c->k = k;
    c->scope = NULL;
    c->axis_scope = NULL;
    c->is_too_big = c->warned_f64 = c->has_parts = c->in_access = c->is_contracting = c->in_prelude = false;
    c->n_visits = 0;
    k->ast = item;
    k->name = check_cstr(c, item->name);
    copy_signature(&g, f);
    check_attributes(c, item->attrs);
    g.at = whole;
    c->calls[0] = item; /* as if it were a fn: its values point at what the user wrote */
    c->call_span = item->span;
    c->n_calls = 1;
    differentiate(&g, item, f, whole);
    c->n_calls = 0;
    if (k->n_values > MAX_VALUES && !c->cx->n_errors) {
        diag_error(c->cx, item->span, D_TOO_BIG, "the kernel %s has more than %d operations, those of %s among them",
            k->name, MAX_VALUES, f->name);
        diag_fix(c->cx, "split %s into several kernels", f->name);
    }
    if (!c->cx->n_errors) extent_settle(c);
}
