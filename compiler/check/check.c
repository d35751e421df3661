/* Checks a syntax tree and says what each kernel means.
 *
 * In: the AST of the user's file and of the prelude. Out: one `struct kernel` a kernel, a DAG of values with axes and
 * dtypes in which no fn, constant or `@` is left. A kernel with an error is still returned as far as it made sense;
 * cx->n_errors says whether any of it may be used. */
#include "check/check_internal.h"

#include <string.h>

/* ---- small things ---- */

const char *check_cstr(struct checker *c, struct name n) { return arena_strndup(&c->cx->arena, n.s, n.len); }

struct span check_user_span(const struct checker *c, struct span s) {
    return c->n_calls && s.file >= c->prelude_file ? c->call_span : s;
}

int check_find_axis(const struct kernel *k, struct name n) {
    for (int i = 0; i < k->n_axes; i++)
        if (!k->axes[i].is_local && name_eq(k->axes[i].name, n)) return i;
    return -1;
}

const char *check_axes_text(struct checker *c, const int *axes, int n) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    for (int i = 0; i < n; i++) {
        const struct axis *a = &c->k->axes[axes[i]];
        buf_printf(&b, "%s" NAME_FMT, i ? "," : "", NAME_ARG(a->name));
        if (a->copy) buf_printf(&b, ".%d", a->copy + 1);
    }
    return n ? b.s : "none";
}

const char *check_expr_text(struct checker *c, const struct ast_expr *e) {
    struct buf b;
    buf_init(&b, &c->cx->arena);
    ast_print_expr(&b, e);
    return b.s;
}

const struct ast_item *check_find_const(struct checker *c, struct name n) {
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if (i->kind == ITEM_CONST && name_eq(i->name, n)) return i;
    return NULL;
}

const struct define *check_find_define(struct checker *c, struct name n) {
    for (int i = 0; i < c->cx->n_defines; i++)
        if (name_eq(c->cx->defines[i].name, n)) {
            c->define_used[i] = true;
            return &c->cx->defines[i];
        }
    return NULL;
}

/* ---- kernels ---- */

void check_bind(struct checker *c, struct name n, struct value *v) {
    struct binding *b = NEW(&c->cx->arena, struct binding);
    *b = (struct binding){n, v, c->scope};
    c->scope = b;
    if (!c->n_calls && !c->in_prelude) names_put(&c->names, &c->cx->arena, n, b);
}

const struct binding *check_find_binding(const struct checker *c, struct name n) {
    const struct binding *b = c->scope;
    if (!c->n_calls && !c->in_prelude) return names_get(&c->names, n);
    while (b && !name_eq(b->name, n)) b = b->next;
    return b;
}

static void bind_params(struct checker *c) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        if (!p->is_input) continue;
        struct value *v = check_new_value(c, p->is_scalar ? V_SCALAR : V_LOAD, NULL);
        v->span = p->ast->span;
        v->dtype = fx_compute_type(p->dtype);
        v->natural = !p->is_scalar && fx_is_float(p->dtype) ? p->dtype : FX_BOOL;
        v->param = i;
        v->name = p->ast->name;
        v->n_axes = p->n_axes;
        for (int a = 0; a < p->n_axes; a++) v->axes[a] = p->axes[a];
        check_bind(c, p->ast->name, v);
    }
}

/* A tensor parameter below v that carries the axis. */
static const struct value *find_load(const struct value *v, int axis) {
    if (!v || !value_has_axis(v, axis)) return NULL;
    if (v->kind == V_LOAD) return v;
    for (int i = 0; i < v->n_args; i++) {
        const struct value *found = find_load(v->args[i], axis);
        if (found) return found;
    }
    return NULL;
}

/* Whether v, or a value below it that is not yet seen, reduces the axis. */
static bool reduces(const struct value *v, int axis, bool *seen) {
    if (seen[v->id]) return false;
    seen[v->id] = true;
    for (int i = 0; v->kind == V_REDUCE && i < v->n_reduced; i++)
        if (v->reduced[i] == axis) return true;
    for (int i = 0; i < v->n_args; i++)
        if (reduces(v->args[i], axis, seen)) return true;
    return false;
}

/* The value of p lacks its axis. */
static void warn_repeated(struct checker *c, const struct param *p, const struct value *v, int axis, struct span at) {
    const struct name name = c->k->axes[axis].name;
    diag_warning(c->cx, at, D_BROADCAST, "the value of %s has axes %s only: it is repeated along " NAME_FMT, p->name,
        check_axes_text(c, v->axes, v->n_axes), NAME_ARG(name));
    if (reduces(v, axis, NEW_ARRAY(&c->cx->arena, bool, c->k->n_values)))
        diag_fix(c->cx,
            "it reduces " NAME_FMT ": give that axis another label where %s is to keep " NAME_FMT
            ", else declare %s without it",
            NAME_ARG(name), p->name, NAME_ARG(name), p->name);
    else diag_fix(c->cx, "declare %s without " NAME_FMT " if that is not meant", p->name, NAME_ARG(name));
}

static void check_output_axes(struct checker *c, struct param *p, const struct value *v, struct span at) {
    struct kernel *k = c->k;
    const char *dest = check_axes_text(c, p->axes, p->n_axes);
    for (int i = 0; i < v->n_axes; i++) {
        bool found = false;
        for (int j = 0; j < p->n_axes; j++) found |= p->axes[j] == v->axes[i];
        if (found) continue;
        struct name stray = k->axes[v->axes[i]].name;
        const struct value *load = find_load(v, v->axes[i]);
        const struct param *from = load ? &k->params[load->param] : NULL;
        if (from)
            diag_error(c->cx, at, D_STRAY_AXIS,
                "%s has axes %s but its value also has " NAME_FMT ", from %s: %s[%s] (line %d)", p->name, dest,
                NAME_ARG(stray), from->name, fx_dtype_name(from->dtype), check_axes_text(c, from->axes, from->n_axes),
                span_line(c->cx, from->ast->span));
        else
            diag_error(c->cx, at, D_STRAY_AXIS, "%s has axes %s but its value also has " NAME_FMT, p->name, dest,
                NAME_ARG(stray));
        int64_t extent = k->axes[v->axes[i]].extent;
        for (int j = 0; from && extent >= 0 && j < p->n_axes; j++) {
            const struct axis *a = &k->axes[p->axes[j]];
            if (a->extent != extent) continue;
            diag_fix(c->cx,
                NAME_FMT " and " NAME_FMT " are both %lld: declare %s with " NAME_FMT ", or reduce it: sum[" NAME_FMT
                         "](..)",
                NAME_ARG(stray), NAME_ARG(a->name), (long long)extent, from->name, NAME_ARG(a->name), NAME_ARG(stray));
            return;
        }
        diag_fix(c->cx, "reduce it: sum[" NAME_FMT "](..), or declare %s with it", NAME_ARG(stray), p->name);
        return;
    }
    for (int j = 0; j < p->n_axes && v->n_axes; j++)
        if (!value_has_axis(v, p->axes[j])) {
            warn_repeated(c, p, v, p->axes[j], at);
            return;
        }
}

void check_note(struct checker *c, struct note n) { PUSH(&c->cx->arena, c->k->notes, c->k->n_notes) = n; }

static void assign(struct checker *c, const struct ast_ids *target, struct value *v) {
    struct kernel *k = c->k;
    if (v) check_note(c, (struct note){.name = target->name, .span = target->span, .value = v});
    for (int i = 0; i < k->n_params; i++) {
        struct param *p = &k->params[i];
        if (!p->is_output || !name_eq(p->ast->name, target->name)) continue;
        if (p->result) {
            diag_error(
                c->cx, target->span, D_OUTPUT_ASSIGNED_TWICE, "the output %s is assigned a second time", p->name);
            diag_fix(c->cx, "give the first value a name of its own");
            return;
        }
        if (v && c->has_parts) v = check_settled(c, v, v->source);
        if (v) check_output_axes(c, p, v, target->span);
        p->result = v ? check_store(c, v, p, v->source, target->span) : NULL;
    }
    if (v && !v->name.len && v->kind != V_NUM && v->kind != V_LOAD && v->kind != V_SCALAR) v->name = target->name;
    check_bind(c, target->name, v);
}

static bool pin_value(const struct ast_val *v, struct pin *p) {
    if (v->kind != VAL_NUM || !v->num.is_integer || v->num.value < 1 || v->num.value > 65536 || p->n == 4) return false;
    p->values[p->n++] = (int64_t)v->num.value;
    return true;
}

/* `tile: [128, 64]`, `stages: 4`: what the schedule must have. False when the attribute is no pin. */
static bool check_pin(struct checker *c, const struct ast_attr *a) {
    static const char *const names[] = {"tile", "stages", "warps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!name_is(a->name, names[i])) continue;
        struct pin *p = &PUSH(&c->cx->arena, c->k->pins, c->k->n_pins);
        *p = (struct pin){.name = names[i], .span = a->span};
        bool ok = true, is_tile = i == 0;
        if (a->value->kind != VAL_LIST) ok = !is_tile && pin_value(a->value, p);
        for (const struct ast_val *v = a->value->kind == VAL_LIST ? a->value->items : NULL; v; v = v->next)
            ok = is_tile && pin_value(v, p) && ok;
        if (!ok || (is_tile && (p->n < 2 || p->n > 3)))
            diag_error(c->cx, a->span, D_ATTRIBUTE,
                is_tile ? "tile is [m, n] or [m, n, k], numbers from 1 up" : "%s is a number from 1 up", names[i]);
        return true;
    }
    return false;
}

static void check_attribute(struct checker *c, const struct ast_attr *a) {
    struct kernel *k = c->k;
    struct name v = a->value->kind == VAL_ID ? a->value->name : (struct name){"", 0};
    bool is_false = a->value->kind == VAL_NUM && a->value->num.is_bool && a->value->num.value == 0;
    bool is_true = a->value->kind == VAL_NUM && a->value->num.is_bool && a->value->num.value != 0;
    if (name_is(a->name, "fuse")) {
        k->fuse_span = a->span;
        if (name_is(v, "require")) k->fuse = FUSE_REQUIRE;
        else if (name_is(v, "prefer")) k->fuse = FUSE_PREFER;
        else if (name_is(v, "never")) k->fuse = FUSE_NEVER;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "fuse is require, prefer or never");
    } else if (name_is(a->name, "kernels")) {
        k->kernels_span = a->span;
        if (a->value->kind == VAL_NUM && a->value->num.value >= 1 && a->value->num.value <= 4096)
            k->kernels = (int)a->value->num.value;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "kernels is a number from 1 up");
    } else if (name_is(a->name, "precision")) {
        if (name_is(v, "ieee")) k->precision = PRECISION_IEEE;
        else if (name_is(v, "tf32")) k->precision = PRECISION_TF32;
        else if (name_is(v, "fma")) k->precision = PRECISION_FMA;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "precision is fma, ieee or tf32");
    } else if (name_is(a->name, "round")) {
        if (name_is(v, "op")) k->round = ROUND_OP;
        else if (name_is(v, "eager")) k->round = ROUND_EAGER;
        else if (name_is(v, "once")) k->round = ROUND_ONCE;
        else diag_error(c->cx, a->span, D_ATTRIBUTE, "round is once, op or eager");
    } else if (name_is(a->name, "deterministic")) {
        if (!is_true && !is_false) diag_error(c->cx, a->span, D_ATTRIBUTE, "deterministic is true or false");
    } else if (name_is(a->name, "fast_math")) {
        if (!is_true && !is_false) diag_error(c->cx, a->span, D_ATTRIBUTE, "fast_math is true or false");
        k->fast_math = is_true;
    } else if (!check_pin(c, a)) {
        diag_error(c->cx, a->span, D_ATTRIBUTE, "there is no attribute " NAME_FMT, NAME_ARG(a->name));
        hint_attribute(c, a->name);
    }
}

void check_attributes(struct checker *c, const struct ast_attr *attrs) {
    for (const struct ast_attr *a = attrs; a; a = a->next) {
        const struct ast_attr *first = attrs;
        while (!name_eq(first->name, a->name)) first = first->next;
        if (first == a) {
            check_attribute(c, a);
            continue;
        }
        diag_error(c->cx, a->span, D_ATTRIBUTE, NAME_FMT " stands a second time", NAME_ARG(a->name));
        diag_fix(c->cx, "leave one of them out");
    }
}

static bool mentions(const struct ast_expr *e, struct name n) {
    if (!e) return false;
    return (e->kind == AST_ID && name_eq(e->name, n)) || mentions(e->a, n) || mentions(e->b, n) || mentions(e->c, n);
}

/* Whether a requirement means the same at the head of the body: no statement above it gives a new meaning to a name in
 * it. */
static bool is_about_parameters(const struct ast_stmt *body, const struct ast_stmt *require) {
    for (const struct ast_stmt *s = body; s != require; s = s->next)
        for (const struct ast_ids *t = s->is_require ? NULL : s->targets; t; t = t->next)
            if (mentions(require->value, t->name)) return false;
    return true;
}

static void check_kernel(struct checker *c, struct kernel *k, const struct ast_item *item) {
    c->k = k;
    c->scope = NULL;
    c->names = (struct names){0};
    c->is_too_big = c->warned_f64 = c->has_parts = false;
    c->n_visits = 0;
    k->ast = item;
    k->name = check_cstr(c, item->name);
    c->n_equation_values = 0;
    c->equation_values = NULL;
    for (const struct ast_axis *a = item->kernel_axes; a; a = a->next) check_declare_axis(c, a);
    for (const struct ast_param *p = item->params; p; p = p->next) check_declare_param(c, p, false);
    for (const struct ast_param *p = item->outs; p; p = p->next) check_declare_param(c, p, true);
    extent_solve(c);
    check_attributes(c, item->attrs);
    bind_params(c);
    int errors = c->cx->n_errors;
    for (const struct ast_stmt *s = item->body; s; s = s->next)
        if (s->is_require && is_about_parameters(item->body, s))
            check_require(c, s); /* a fact for the accesses above it, too */
    for (const struct ast_stmt *s = item->body; s; s = s->next) {
        if (s->is_require) {
            if (!is_about_parameters(item->body, s)) check_require(c, s);
            continue;
        }
        if (s->place) {
            check_place(c, s);
            continue;
        }
        struct value *v[MAX_RESULTS] = {0};
        int n = 0;
        for (const struct ast_ids *t = s->targets; t; t = t->next) n++;
        if (n == 1) v[0] = check_part(c, s->value);
        else check_results(c, s->value, n, v);
        n = 0;
        for (const struct ast_ids *t = s->targets; t; t = t->next, n++) assign(c, t, n < MAX_RESULTS ? v[n] : NULL);
    }
    check_places(c);
    extent_settle(c);
    if (c->cx->n_errors == errors) extent_check_bound(c); /* a body with errors may not have come to what binds them */
    extent_check_sizes(c);
    bool has_output = false;
    for (int i = 0; i < k->n_params; i++) {
        const struct param *p = &k->params[i];
        has_output |= p->is_output;
        if (p->is_output && !p->result && !c->cx->n_errors) {
            diag_error(c->cx, p->ast->span, D_OUTPUT_UNASSIGNED, "the output %s is never assigned", p->name);
            diag_fix(c->cx, "assign it by its name: %s = ..", p->name);
        }
    }
    if (!has_output) {
        diag_error(c->cx, item->name_span, D_OUTPUT_UNASSIGNED, "the kernel %s has no output", k->name);
        diag_fix(c->cx, "declare what it stores: kernel %s(..) -> y: f32[M], or a parameter that it overwrites "
            "as inout", k->name);
    }
}

static void refuse_twice(
    struct checker *c, const struct ast_item *f, const struct ast_ids *ids, enum diag_code code, const char *what) {
    for (const struct ast_ids *a = ids; a; a = a->next)
        for (const struct ast_ids *b = ids; b != a; b = b->next)
            if (name_eq(a->name, b->name)) {
                diag_error(c->cx, a->span, code, "fn " NAME_FMT " has the %s " NAME_FMT " twice", NAME_ARG(f->name),
                    what, NAME_ARG(a->name));
                diag_fix(c->cx, "give one of them another name");
                break;
            }
}

/* What a fn declares is told apart by its name. */
static void refuse_doubles(struct checker *c, const struct ast_item *f) {
    refuse_twice(c, f, f->axis_params, D_DUPLICATE_AXIS, "label");
    if (f->body) refuse_twice(c, f, f->results, D_REDEFINED, "result");
    for (const struct ast_param *a = f->params; a; a = a->next)
        for (const struct ast_param *b = f->params; b != a; b = b->next)
            if (name_eq(a->name, b->name)) {
                diag_error(c->cx, a->span, D_REDEFINED, "fn " NAME_FMT " has the parameter " NAME_FMT " twice",
                    NAME_ARG(f->name), NAME_ARG(a->name));
                diag_fix(c->cx, "give one of them another name");
                break;
            }
}

static void collect_fns(struct checker *c, const struct ast_file *file, struct names *fns) {
    bool is_user = fns == &c->fns;
    for (struct ast_item *i = file->items; i; i = i->next) {
        if (i->kind != ITEM_FN) continue;
        if (is_user && check_is_built_in(i->name)) {
            diag_error(c->cx, i->name_span, D_REDEFINED, NAME_FMT " is a function of the language", NAME_ARG(i->name));
            diag_fix(c->cx, "give it another name");
        }
        if (names_put(fns, &c->cx->arena, i->name, i)) {
            diag_error(c->cx, i->name_span, D_REDEFINED, "fn " NAME_FMT " is defined twice", NAME_ARG(i->name));
            diag_fix(c->cx, "give one of them another name");
        }
        refuse_doubles(c, i);
    }
}

static bool is_kernel(const struct ast_item *i) { return i->kind == ITEM_KERNEL || i->kind == ITEM_GRAD; }

static void refuse_items(struct checker *c) {
    struct names kernels = {0}, consts = {0};
    for (struct ast_item *i = c->file->items; i; i = i->next) {
        if (i->kind == ITEM_CONST && names_put(&consts, &c->cx->arena, i->name, i)) {
            diag_error(c->cx, i->name_span, D_REDEFINED, "const " NAME_FMT " is defined twice", NAME_ARG(i->name));
            diag_fix(c->cx, "give one of them another name");
        }
        if (is_kernel(i) && names_put(&kernels, &c->cx->arena, i->name, i)) {
            diag_error(c->cx, i->name_span, D_REDEFINED, "kernel " NAME_FMT " is defined twice", NAME_ARG(i->name));
            diag_fix(c->cx, "give one of them another name");
        }
    }
}

struct known_kernel { /* a kernel of the file, in whatever order they are checked:
                       * a gradient needs the kernel it is of */
    const struct ast_item *item;
    struct kernel *kernel; /* NULL until then */
};

static struct known_kernel *find_made(struct known_kernel *made, int n, struct name name) {
    for (int i = 0; i < n; i++)
        if (name_eq(made[i].item->name, name)) return &made[i];
    return NULL;
}

/* Checks the kernel, and before it those it is the gradient of; false when there is none. */
static bool make_kernel(struct checker *c, struct known_kernel *all, int n, struct known_kernel *wanted) {
    struct known_kernel **chain = NEW_ARRAY(&c->cx->arena, struct known_kernel *, n + 1), *m = wanted;
    int length = 0;
    for (; m && !m->kernel && length <= n; m = m->item->kind == ITEM_GRAD ? find_made(all, n, m->item->grad_of) : NULL)
        chain[length < n ? length : n] = m, length++;
    if (length > n) {
        diag_error(c->cx, wanted->item->span, D_RECURSION, "the gradient " NAME_FMT " is one of itself",
            NAME_ARG(wanted->item->name));
        diag_fix(c->cx, "name a kernel that is written out as what it is a gradient of");
        return false;
    }
    for (int i = length - 1; i >= 0; i--) {
        const struct ast_item *item = chain[i]->item;
        const struct known_kernel *of = item->kind == ITEM_GRAD ? find_made(all, n, item->grad_of) : NULL;
        struct kernel *k = NEW(&c->cx->arena, struct kernel);
        if (item->kind == ITEM_KERNEL) check_kernel(c, k, item);
        else if (of && !c->cx->n_errors) c->derive(c, item, of->kernel, k);
        else if (!of)
            diag_error(c->cx, item->span, D_UNKNOWN_NAME, "the file has no kernel " NAME_FMT " to take a gradient of",
                NAME_ARG(item->grad_of));
        if (item->kind == ITEM_GRAD && c->cx->n_errors) return false;
        chain[i]->kernel = k;
    }
    return wanted->kernel != NULL;
}

static void check_kernels(struct checker *c, const char *only, struct program *p) {
    int n = 0;
    for (const struct ast_item *i = c->file->items; i; i = i->next) n += is_kernel(i);
    struct known_kernel *made = NEW_ARRAY(&c->cx->arena, struct known_kernel, n + 1);
    p->kernels = NEW_ARRAY(&c->cx->arena, struct kernel, n + 1);
    n = 0;
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if (is_kernel(i)) made[n++].item = i;
    for (int i = 0; i < n; i++)
        if ((!only || name_is(made[i].item->name, only)) && make_kernel(c, made, n, &made[i]))
            p->kernels[p->n_kernels++] = *made[i].kernel;
    for (int i = 0; i < p->n_kernels && !c->cx->n_errors; i++)
        check_nominal(c->cx, &p->kernels[i]), check_draw(c->cx, &p->kernels[i]);
}

static struct checker begin(struct cx *cx, const struct ast_file *file, const struct ast_file *prelude) {
    struct checker c = {.cx = cx, .file = file, .prelude_file = cx->n_files - 1};
    c.define_used = NEW_ARRAY(&cx->arena, bool, cx->n_defines + 1);
    collect_fns(&c, file, &c.fns);
    collect_fns(&c, prelude, &c.prelude_fns);
    refuse_items(&c);
    return c;
}

struct program *fx_check_tests(
    struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel) {
    struct checker c = begin(cx, file, prelude);
    struct program *p = NEW(&cx->arena, struct program);
    if (!cx->n_errors) check_tests(&c, p, kernel);
    return p;
}

/* Whether the file defines it: then a kernel taken alone need not use it. */
static bool is_defined(const struct ast_file *file, struct name n) {
    for (const struct ast_item *i = file->items; i; i = i->next)
        if ((i->kind == ITEM_CONST || i->kind == ITEM_FN) && name_eq(i->name, n)) return true;
    return false;
}

/* A kernel that has a scalar parameter of the name, or NULL. */
static const char *kernel_with_scalar(const struct program *p, struct name n) {
    for (int i = 0; i < p->n_kernels; i++)
        for (int j = 0; j < p->kernels[i].n_params; j++)
            if (p->kernels[i].params[j].is_scalar && name_is(n, p->kernels[i].params[j].name))
                return p->kernels[i].name;
    return NULL;
}

/* A -D that nothing took. */
static void report_define(struct cx *cx, const struct program *p, struct name n) {
    const char *kernel = kernel_with_scalar(p, n);
    if (!kernel) {
        diag_error(
            cx, (struct span){0}, D_DEFINE, "-D " NAME_FMT " names no label, constant or fn of the file", NAME_ARG(n));
        hint_define(cx, p, n);
        return;
    }
    diag_error(cx, (struct span){0}, D_DEFINE,
        "-D " NAME_FMT " names a scalar parameter of %s, which is given at every launch", NAME_ARG(n), kernel);
    diag_fix(cx, "`fxc run -i " NAME_FMT "=VALUE`; or make it a `const`, which -D sets", NAME_ARG(n));
}

struct program *fx_check(struct cx *cx, const struct ast_file *file, const struct ast_file *prelude, const char *kernel,
    derive_kernel *derive) {
    struct checker c = begin(cx, file, prelude);
    struct program *p = NEW(&cx->arena, struct program);
    c.derive = derive;
    check_kernels(&c, kernel, p);
    if (p->n_kernels == 0 && !cx->n_errors) {
        diag_error(cx, (struct span){0}, D_NO_KERNEL, "the file has no kernel");
        diag_fix(cx, "write one: kernel f(x: f32[N]) -> y: f32[N] { y = 2 * x }");
    }
    if (!cx->n_errors) check_tests(&c, p, kernel);
    if (!cx->n_errors) check_unused(&c, kernel);
    for (int i = 0; i < cx->n_defines && !cx->n_errors; i++)
        if (!c.define_used[i] && !(kernel && is_defined(file, cx->defines[i].name)))
            report_define(cx, p, cx->defines[i].name);
    return p;
}
