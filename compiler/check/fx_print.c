/* A checked kernel as .fx text (--emit=fx), derived ones too: what it means with every fn written out.
 *
 * In: a kernel. Out: text that compiles to the same graph. A statement is written for each value that has a name or
 * several readers, in the order of the values; all else stands where it is read. Values become syntax trees, so that
 * ast_print.c says what needs parentheses. Conversions and roundings the checker put in are written as casts, so
 * `round` is not; labels made in the body are declared in the kernel's list. */
#include "check/fx_print_internal.h"

#include <string.h>

/* ---- names ---- */

static bool is_taken(const char *const *names, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (names[i] && strcmp(names[i], name) == 0) return true;
    return false;
}

static bool is_of_signature(const struct kernel *k, int axis) {
    for (int p = 0; p < k->n_params; p++)
        for (int i = 0; i < k->params[p].n_axes; i++)
            if (k->params[p].axes[i] == axis) return true;
    return false;
}

static bool is_param_name(const struct kernel *k, const char *name) {
    for (int i = 0; i < k->n_params; i++)
        if (strcmp(k->params[i].name, name) == 0) return true;
    return false;
}

const char *const *fx_print_axis_names(struct arena *a, const struct kernel *k) {
    const char **names = NEW_ARRAY(a, const char *, k->n_axes + 1);
    for (int pass = 0; pass < 2; pass++) /* those of the signature keep theirs */
        for (int i = 0; i < k->n_axes; i++) {
            if (is_of_signature(k, i) != (pass == 0)) continue;
            const char *base = arena_strndup(a, k->axes[i].name.s, k->axes[i].name.len), *name = base;
            for (int n = 1; is_taken(names, k->n_axes, name) || (pass && is_param_name(k, name)); n++)
                name = arena_printf(a, "%s_%d", base, n);
            names[i] = name;
        }
    return names;
}

static struct name fresh_name(struct printer *p, struct name wanted) {
    const char *base = wanted.len ? arena_strndup(p->a, wanted.s, wanted.len) : NULL, *name = base;
    for (int n = 1;; n++) {
        if (!base || n > 1) name = base ? arena_printf(p->a, "%s_%d", base, n - 1) : arena_printf(p->a, "t%d", n);
        if (!is_taken(p->taken, p->n_taken, name) && !is_taken(p->axis_names, p->k->n_axes, name)) break;
    }
    PUSH(p->a, p->taken, p->n_taken) = name;
    return (struct name){name, (uint32_t)strlen(name)};
}

/* ---- which values have statements ---- */

static bool is_leaf(const struct value *v) {
    return v->kind == V_NUM || v->kind == V_SCALAR || v->kind == V_LOAD || v->kind == V_INDEX || v->kind == V_SIZE;
}

static bool is_written(const struct param *p) { return p->result != NULL; }
static bool is_inout(const struct param *p) { return p->is_input && p->is_output; }

/* The output whose name the value may go by: written once and whole, and not read before. */
static const struct param *output_of(const struct kernel *k, const struct value *v) {
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].result == v && !is_inout(&k->params[i])) return &k->params[i];
    return NULL;
}

/* Whether v is what an inout parameter held, and goes to another one: by then it may be gone. */
static bool is_carried_over(const struct kernel *k, const struct value *v) {
    if (v->kind != V_LOAD || !is_inout(&k->params[v->param])) return false;
    for (int i = 0; i < k->n_params; i++)
        if (i != v->param && is_inout(&k->params[i]) && param_stored(&k->params[i]) == v) return true;
    return false;
}

static bool has_positions(const struct value *v) { return v->kind == V_ACCESS || v->kind == V_PLACE; }

static void count_readers(struct printer *p) {
    const struct kernel *k = p->k;
    for (int i = 0; i < k->n_params; i++)
        if (is_written(&k->params[i])) p->n_readers[param_stored(&k->params[i])->id]++;
    for (int i = k->n_values - 1; i >= 0; i--)
        for (int a = 0; p->n_readers[i] && a < k->values[i]->n_args; a++) p->n_readers[k->values[i]->args[a]->id]++;
}

static void choose_statements(struct printer *p) {
    const struct kernel *k = p->k;
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        for (int a = 0; a < v->n_args; a++) {
            int d = p->is_bound[v->args[a]->id] ? 0 : p->depth[v->args[a]->id];
            if (d + 1 > p->depth[i]) p->depth[i] = d + 1;
        }
        p->is_bound[i] = is_carried_over(k, v) ||
                         (p->n_readers[i] && !is_leaf(v) &&
                             (p->n_readers[i] > 1 || v->name.len || p->depth[i] > MAX_NESTED || output_of(k, v)));
    }
    for (int i = k->n_values - 1; i >= 0; i--) {
        const struct value *v = k->values[i];
        for (int a = 0; p->n_readers[i] && a < v->n_args; a++) {
            bool is_position = has_positions(v) && a >= 1 && a <= v->n_at;
            bool is_part = (v->kind == V_OP || v->kind == V_CAST) && p->in_position[i] && !p->is_bound[i];
            if (is_position || is_part) p->in_position[v->args[a]->id] = true;
        }
    }
}

/* In a position a label is its index; one that is also the name of a parameter could be either. */
static void write_indices(struct printer *p, const struct value *v, struct ast_expr **saved) {
    for (int a = 0; a < v->n_args; a++) {
        const struct value *x = v->args[a];
        bool is_position = has_positions(v)
                               ? a >= 1 && a <= v->n_at
                               : (v->kind == V_OP || v->kind == V_CAST) && p->in_position[v->id] && !p->is_bound[v->id];
        saved[a] = p->expr[x->id];
        if (is_position && x->kind == V_INDEX && !is_param_name(p->k, p->axis_names[x->axis]))
            p->expr[x->id] = print_label(p, x->axis);
    }
}

/* ---- the signature ---- */

/* A postfix expression over extents and scalars as syntax; NULL where .fx has no form for it. */
static struct ast_expr *extent_expr(struct printer *p, const struct fx_expr *x) {
    static const struct {
        enum fx_term_op term;
        enum ast_op op;
    } forms[] = {
        {FX_T_ADD, OP_ADD},
        {FX_T_SUB, OP_SUB},
        {FX_T_MUL, OP_MUL},
        {FX_T_DIV, OP_FLOORDIV},
        {FX_T_DIV_EXACT, OP_DIV},
        {FX_T_MOD, OP_MOD},
        {FX_T_LT, OP_LT},
        {FX_T_LE, OP_LE},
        {FX_T_EQ, OP_EQ},
        {FX_T_AND, OP_AND},
        {FX_T_OR, OP_OR},
    };
    struct ast_expr **stack = NEW_ARRAY(p->a, struct ast_expr *, x->n + 1);
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        const struct fx_term *t = &x->terms[i];
        size_t f = 0;
        while (f < sizeof forms / sizeof *forms && forms[f].term != t->op) f++;
        if (t->op == FX_T_CONST) {
            stack[n++] = print_integer(p, t->v, false);
        } else if (t->op == FX_T_EXTENT) {
            stack[n++] = print_label(p, (int)t->v);
        } else if (t->op == FX_T_SCALAR) {
            stack[n++] = print_id(p, print_text(p->k->params[t->v].name));
        } else if (t->op == FX_T_REAL) {
            struct value real = {.kind = V_NUM, .dtype = FX_F64};
            memcpy(&real.num, &t->v, sizeof real.num);
            stack[n++] = print_number(p, &real, false);
        } else if (t->op == FX_T_NOT && n >= 1) {
            struct ast_expr *e = print_new(p, AST_UNARY);
            e->op = OP_NOT;
            e->a = stack[n - 1];
            stack[n - 1] = e;
        } else if (n >= 2 && t->op == FX_T_CDIV) {
            n--;
            stack[n - 1] = print_binary(p, OP_FLOORDIV,
                print_binary(p, OP_SUB, print_binary(p, OP_ADD, stack[n - 1], stack[n]), print_integer(p, 1, false)),
                stack[n]);
        } else if (n >= 2 && f < sizeof forms / sizeof *forms) {
            n--;
            stack[n - 1] = print_binary(p, forms[f].op, stack[n - 1], stack[n]);
        } else {
            return NULL;
        }
    }
    return n == 1 ? stack[0] : NULL;
}

static bool is_all_fixed(const struct kernel *k, const struct equation *q) {
    bool fixed = k->axes[q->axis].extent >= 0;
    for (int i = 0; i < q->value.n; i++)
        if (q->value.terms[i].op == FX_T_EXTENT) fixed &= k->axes[q->value.terms[i].v].extent >= 0;
    return fixed;
}

/* What `=` says of an axis, its n-th: a fixed extent first, then its equations. False past the last. */
static bool print_extent(struct printer *p, struct buf *out, int axis, int n) {
    const struct kernel *k = p->k;
    if (k->axes[axis].extent >= 0 && n-- == 0) return buf_printf(out, "=%lld", (long long)k->axes[axis].extent), true;
    for (int i = 0; i < k->n_equations; i++) {
        if (k->equations[i].axis != axis || is_all_fixed(k, &k->equations[i]) || n-- > 0) continue;
        struct ast_expr *e = extent_expr(p, &k->equations[i].value);
        if (!e) continue;
        buf_putc(out, '=');
        ast_print_expr(out, e);
        return true;
    }
    return false;
}

static int count_extents(struct printer *p, int axis) {
    struct buf ignored;
    int n = 0;
    buf_init(&ignored, p->a);
    while (print_extent(p, &ignored, axis, n)) n++;
    return n;
}

/* Which of them the first type that carries the axis says; those before stand in the kernel's own list, which is read
 * first: of several equations the order is kept, as proofs take the first for what the extent is. */
static int first_in_types(struct printer *p, int axis) {
    int n_types = 0, n = count_extents(p, axis);
    for (int i = 0; i < p->k->n_params; i++)
        for (int a = 0; a < p->k->params[i].n_axes; a++) n_types += p->k->params[i].axes[a] == axis;
    return n > n_types ? n - n_types : 0;
}

static void print_type(struct printer *p, struct buf *out, const struct param *param, int *n_declared) {
    const struct ast_type *t = &param->ast->type;
    buf_printf(out, "%s: %s%s%s", param->name, is_inout(param) ? "inout " : "", param->is_const ? "const " : "",
        fx_dtype_name(param->dtype));
    if (t->has_axes) buf_putc(out, '[');
    for (int i = 0; i < param->n_axes; i++) {
        int axis = param->axes[i];
        buf_printf(out, "%s%s", i ? "," : "", p->axis_names[axis]);
        print_extent(p, out, axis, first_in_types(p, axis) + n_declared[axis]++);
    }
    if (t->has_axes) buf_putc(out, ']');
    if (t->is_packed)
        buf_printf(out, " packed(%s, " NAME_FMT ", " NAME_FMT ")", fx_dtype_name(t->packed_dtype),
            NAME_ARG(t->packed_axis), NAME_ARG(t->packed_order));
    if (t->is_strided) buf_puts(out, " strided");
    if (t->align) buf_printf(out, " align %llu", (unsigned long long)t->align);
    if (!param->has_default) return;
    struct value literal = {.kind = V_NUM, .dtype = FX_F64, .num = param->default_value};
    buf_puts(out, " = ");
    ast_print_expr(out, print_number(p, &literal, true));
}

/* The kernel's own list: labels that no parameter carries, and what a type has no room to say of the others. */
static void print_axis_list(struct printer *p, struct buf *out) {
    const char *comma = "[";
    for (int i = 0; i < p->k->n_axes; i++) {
        bool in_type = is_of_signature(p->k, i);
        int n_here = in_type ? first_in_types(p, i) : count_extents(p, i);
        for (int n = 0; n < n_here || (n == 0 && !in_type); n++) {
            buf_printf(out, "%s%s", comma, p->axis_names[i]);
            print_extent(p, out, i, n);
            comma = ", ";
        }
    }
    if (*comma == ',') buf_putc(out, ']');
}

static void print_signature(struct printer *p, struct buf *out) {
    const struct kernel *k = p->k;
    int *n_declared = NEW_ARRAY(p->a, int, k->n_axes + 1);
    int n = 0;
    buf_printf(out, "kernel %s", k->name);
    print_axis_list(p, out);
    buf_putc(out, '(');
    for (int i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_input) continue;
        if (n++) buf_puts(out, ", ");
        print_type(p, out, &k->params[i], n_declared);
    }
    buf_putc(out, ')');
    n = 0;
    for (int i = 0; i < k->n_params; i++) n += !k->params[i].is_input;
    if (n) buf_puts(out, n > 1 ? " -> (" : " -> ");
    for (int i = 0, done = 0; i < k->n_params; i++) {
        if (k->params[i].is_input) continue;
        if (done++) buf_puts(out, ", ");
        print_type(p, out, &k->params[i], n_declared);
    }
    if (n > 1) buf_putc(out, ')');
}

static void print_attributes(struct buf *out, const struct kernel *k) {
    const char *comma = " with { ", *first = comma;
    if (k->fuse != FUSE_PREFER)
        buf_printf(out, "%sfuse: %s", comma, k->fuse == FUSE_REQUIRE ? "require" : "never"), comma = ", ";
    if (k->kernels) buf_printf(out, "%skernels: %d", comma, k->kernels), comma = ", ";
    if (k->precision != PRECISION_DEFAULT)
        buf_printf(out, "%sprecision: %s", comma,
            k->precision == PRECISION_IEEE  ? "ieee"
            : k->precision == PRECISION_FMA ? "fma"
                                            : "tf32"),
            comma = ", ";
    if (k->fast_math) buf_printf(out, "%sfast_math: true", comma), comma = ", ";
    for (int i = 0; i < k->n_pins; i++) {
        const struct pin *pin = &k->pins[i];
        bool is_list = strcmp(pin->name, "tile") == 0;
        buf_printf(out, "%s%s: %s", comma, pin->name, is_list ? "[" : "");
        for (int n = 0; n < pin->n; n++) buf_printf(out, "%s%lld", n ? ", " : "", (long long)pin->values[n]);
        if (is_list) buf_putc(out, ']');
        comma = ", ";
    }
    if (comma != first) buf_puts(out, " }");
}

/* ---- what a gradient reads of what the kernel it is of was given ---- */

/* The bytes of a tensor: a number times the extents that are not fixed. */
static void print_bytes(struct printer *p, struct buf *out, const struct param *param) {
    int64_t n = 1;
    bool is_halved = fx_dtype_bits(param->dtype) == 4, has_free = false;
    int bytes = is_halved ? 1 : fx_dtype_bits(param->dtype) / 8;
    for (int i = 0; i < param->n_axes; i++)
        if (p->k->axes[param->axes[i]].extent >= 0) n *= p->k->axes[param->axes[i]].extent;
        else has_free = true;
    n *= bytes;
    if (is_halved && n % 2 == 0) n /= 2, is_halved = false;
    if (n != 1 || !has_free) buf_printf(out, "%lld%s", (long long)n, has_free ? "*" : "");
    for (int i = 0, first = 1; i < param->n_axes; i++)
        if (p->k->axes[param->axes[i]].extent < 0)
            buf_printf(out, "%s%s", first ? "" : "*", p->axis_names[param->axes[i]]), first = 0;
    if (is_halved) buf_puts(out, "/2");
}

static bool is_param_read(const struct printer *p, int param) {
    for (int i = 0; i < p->k->n_values; i++) {
        const struct value *v = p->k->values[i];
        if ((v->kind == V_LOAD || v->kind == V_SCALAR) && v->param == param && p->n_readers[i]) return true;
    }
    return false;
}

static void print_saved(struct printer *p, struct buf *out, const char *margin) {
    const struct kernel *k = p->k;
    struct buf total, unread;
    buf_init(&total, p->a);
    buf_init(&unread, p->a);
    buf_printf(out, "%sthe gradient of " NAME_FMT ", of whose inputs it reads\n", margin, NAME_ARG(k->ast->grad_of));
    for (int i = 0; i < k->n_saved; i++) {
        const struct param *param = &k->params[i];
        if (!is_param_read(p, i)) {
            buf_printf(&unread, "%s%s", unread.len ? ", " : "", param->name);
            continue;
        }
        buf_printf(out, "%s  %s %s", margin, param->name, fx_dtype_name(param->dtype));
        if (param->is_scalar) {
            buf_putc(out, '\n');
            continue;
        }
        buf_putc(out, '[');
        for (int a = 0; a < param->n_axes; a++) buf_printf(out, "%s%s", a ? "," : "", p->axis_names[param->axes[a]]);
        buf_puts(out, "]: ");
        print_bytes(p, out, param);
        buf_puts(out, " bytes\n");
        if (total.len) buf_puts(&total, " + ");
        print_bytes(p, &total, param);
    }
    buf_printf(out, "%s%s bytes in all%s%s\n", margin, total.len ? total.s : "0", unread.len ? ", and not " : "",
        unread.len ? unread.s : "");
}

/* ---- the kernel ---- */

static void print_statement(struct buf *out, struct name target, const struct ast_expr *e) {
    buf_printf(out, "  " NAME_FMT " = ", NAME_ARG(target));
    ast_print_expr(out, e);
    buf_putc(out, '\n');
}

/* `x[T: e] = v`, as print_value() gives it: an access, beside it the value. */
static void print_stored(struct buf *out, const struct ast_expr *e) {
    buf_puts(out, "  ");
    ast_print_expr(out, e->a);
    buf_puts(out, " = ");
    ast_print_expr(out, e->b);
    buf_putc(out, '\n');
}

static void print_body(struct printer *p, struct buf *out) {
    const struct kernel *k = p->k;
    for (int i = 0; i < k->n_requirements; i++) {
        struct ast_expr *e = extent_expr(p, &k->requirements[i].holds);
        if (!e) continue;
        buf_puts(out, "  require ");
        ast_print_expr(out, e);
        buf_putc(out, '\n');
    }
    const struct param **done = NEW_ARRAY(p->a, const struct param *, k->n_params + 1);
    int n_done = 0;
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        struct ast_expr *saved[MAX_ARGS];
        if (!p->n_readers[i]) continue;
        write_indices(p, v, saved);
        p->expr[i] = print_value(p, v);
        for (int a = v->n_args - 1; a >= 0; a--) p->expr[v->args[a]->id] = saved[a];
        if (!p->is_bound[i]) continue;
        const struct param *output = output_of(k, v);
        struct name name = output ? print_text(output->name) : fresh_name(p, v->name);
        if (output) done[n_done++] = output;
        print_statement(out, name, p->expr[i]);
        p->expr[i] = print_id(p, name);
    }
    for (int i = 0; i < 2 * k->n_params; i++) { /* what is written in place last: others may be what it held */
        const struct param *param = &k->params[i % k->n_params];
        bool is_done = !is_written(param) || is_inout(param) != (i >= k->n_params);
        for (int d = 0; d < n_done; d++) is_done |= done[d] == param;
        if (is_done) continue;
        const struct ast_expr *e = p->expr[param_stored(param)->id];
        if (param->placed) print_stored(out, e);
        else print_statement(out, print_text(param->name), e);
    }
}

static struct printer begin(struct arena *a, const struct kernel *k) {
    struct printer p = {.a = a, .k = k, .axis_names = fx_print_axis_names(a, k)};
    p.n_readers = NEW_ARRAY(a, int, k->n_values + 1);
    p.is_bound = NEW_ARRAY(a, bool, k->n_values + 1);
    p.in_position = NEW_ARRAY(a, bool, k->n_values + 1);
    p.depth = NEW_ARRAY(a, int, k->n_values + 1);
    p.expr = NEW_ARRAY(a, struct ast_expr *, k->n_values + 1);
    for (int i = 0; i < k->n_params; i++) PUSH(a, p.taken, p.n_taken) = k->params[i].name;
    count_readers(&p);
    return p;
}

void fx_print_saved(struct buf *out, const struct kernel *k, const char *margin) {
    struct printer p = begin(out->arena, k);
    if (k->n_saved) print_saved(&p, out, margin);
}

void fx_print_kernel(struct buf *out, const struct kernel *k) {
    struct printer p = begin(out->arena, k);
    choose_statements(&p);
    if (k->n_saved) print_saved(&p, out, "# ");
    print_signature(&p, out);
    print_attributes(out, k);
    buf_puts(out, " {\n");
    print_body(&p, out);
    buf_puts(out, "}\n");
}
