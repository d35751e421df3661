/* Values of nodes at a point, as C statements: what a thread computes for one element of whatever the graph says.
 *
 * In: a node and a point, which gives every label of it an index as a C expression. Out: the statements that compute
 * it, each node once in the innermost scope whose indices it depends on, and the text that then names it. A reduction
 * becomes loops, an access a read at its positions (guarded where a value outside is given), a scan a loop up to the
 * point. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "emit/emit.h"
#include "emit/emit_address.h"
#include "plan.h"

struct values values_open(struct buf *out, const struct graph *g, const struct launch *l, struct value_names *names,
    value_given *given, void *user) {
    return (struct values){.out = out,
        .g = g,
        .param_names = l->param_names,
        .axis_names = l->axis_names,
        .stride_names = l->stride_names,
        .given = given,
        .user = user,
        .names = names,
        .hoisted = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1)};
}

struct arena *value_arena(const struct values *w) { return &w->g->cx->arena; }

void value_line(struct values *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    for (int i = 0; i < w->indent; i++) buf_puts(w->out, "  ");
    buf_vprintf(w->out, fmt, ap);
    va_end(ap);
    buf_putc(w->out, '\n');
}

void value_open_function(struct values *w, const char *fmt, ...) {
    struct buf head, *statements = NEW(value_arena(w), struct buf);
    va_list ap;
    buf_init(&head, value_arena(w));
    va_start(ap, fmt);
    buf_vprintf(&head, fmt, ap);
    va_end(ap);
    buf_init(statements, value_arena(w));
    w->head = head.s;
    w->around = w->out;
    w->out = statements;
    w->indent = (int)strspn(head.s, " ") / 2 + 1;
    emit_begin_function(w->names);
}

void value_close_function(struct values *w) {
    const char *statements = w->out->s;
    w->out = w->around;
    emit_function(w->out, w->head, statements ? statements : "");
}

/* ---- points ---- */

struct point *point_open(struct values *w, const struct point *outer) {
    struct point *p = NEW(value_arena(w), struct point);
    p->outer = outer;
    p->at = NEW_ARRAY(value_arena(w), const char *, w->g->kernel->n_axes + 1);
    p->text = NEW_ARRAY(value_arena(w), const char *, w->g->n_nodes + 1);
    return p;
}

static void set(struct values *w, const char ***list, const struct node *n, const char *text) {
    if (!*list) *list = NEW_ARRAY(value_arena(w), const char *, w->g->n_nodes + 1);
    (*list)[n->id] = text;
}

void point_set_place(struct values *w, struct point *p, const struct node *n, const char *place) {
    set(w, &p->place, n, place);
}
void point_set_known(struct values *w, struct point *p, const struct node *n, const char *known) {
    set(w, &p->known, n, known);
}

const char *point_index(const struct values *w, const struct point *p, int axis) {
    for (; p; p = p->outer)
        if (p->at[axis]) return p->at[axis];
    return w->g->kernel->axes[axis].extent == 1 ? "0" : NULL;
}

/* Whether p itself gives a label of n an index: else n is what it is outside. */
static bool depends_on(const struct node *n, const struct point *p) {
    for (int i = 0; i < n->n_axes; i++)
        if (p->at[n->axes[i]]) return true;
    return false;
}

static const char *text_at(const struct node *n, const struct point *p) {
    for (;; p = p->outer) {
        if (p->text[n->id]) return p->text[n->id];
        if (!p->outer || depends_on(n, p)) return NULL;
    }
}

/* ---- types and literals ---- */

const char *value_ctype(enum fx_dtype t) {
    switch (t) {
    case FX_BOOL: return "bool";
    case FX_I32: return "int";
    case FX_U32: return "unsigned";
    case FX_I64: return "long long";
    case FX_U64: return "unsigned long long";
    case FX_F64: return "double";
    default: return "float";
    }
}

/* The shortest digits that read back as v. */
static const char *digits_of(struct values *w, double v, bool is_f32) {
    for (int digits = 1; digits < (is_f32 ? 9 : 17); digits++) {
        char *s = arena_printf(value_arena(w), "%.*g", digits, v);
        double back = text_to_double(s, NULL);
        if (is_f32 ? (float)back == (float)v : back == v) return s;
    }
    return arena_printf(value_arena(w), is_f32 ? "%.9g" : "%.17g", v);
}

static const char *float_literal(struct values *w, double v, bool is_f32) {
    if (is_f32) v = (float)v;
    if (isnan(v)) return is_f32 ? "fx_from_bits(0x7fffffffu)" : "fx_f64_from_bits(0x7fffffffffffffffull)";
    if (isinf(v) && is_f32) return v > 0 ? "fx_from_bits(0x7f800000u)" : "fx_from_bits(0xff800000u)";
    if (isinf(v)) return v > 0 ? "fx_f64_from_bits(0x7ff0000000000000ull)" : "fx_f64_from_bits(0xfff0000000000000ull)";
    const char *s = digits_of(w, v, is_f32), *point = strpbrk(s, ".e") ? "" : ".0", *suffix = is_f32 ? "f" : "";
    return arena_printf(value_arena(w), signbit(v) ? "(%s%s%s)" : "%s%s%s", s, point, suffix);
}

static const char *integer_literal(struct values *w, enum fx_dtype t, int64_t v) {
    struct arena *a = value_arena(w);
    if (t == FX_U64) return arena_printf(a, "%lluull", (unsigned long long)v);
    if (t == FX_U32) return arena_printf(a, "%lluu", (unsigned long long)v);
    if (v == INT64_MIN) return "(-9223372036854775807ll - 1)";
    if (t == FX_I32 && v == INT32_MIN) return "(-2147483647 - 1)";
    return arena_printf(a, v < 0 ? "(%lld%s)" : "%lld%s", (long long)v, t == FX_I64 ? "ll" : "");
}

const char *value_literal(struct values *w, const struct node *n) {
    if (n->dtype == FX_BOOL) return n->num != 0 ? "true" : "false";
    return fx_is_integer(n->dtype) ? integer_literal(w, n->dtype, n->integer)
                                   : float_literal(w, n->num, n->dtype == FX_F32);
}

/* ---- memory ---- */

static const char *extent_name(const struct values *w, int axis) { return w->axis_names[axis]; }

const char *value_element(struct values *w, const struct point *p, const char *name, const struct tensor *t) {
    return value_of_element(w, t->dtype, arena_printf(value_arena(w), "%s[%s]", name, address_offset(w, p, t)));
}

/* The word that holds an element, and the field in it. */
static const char *load_packed(struct values *w, const struct point *p, int param) {
    const struct param *t = &w->g->kernel->params[param];
    return arena_printf(value_arena(w), "fx_field<%d, %s, %s>(%s[%s], (int)((%s) %% %d))", fx_dtype_bits(t->dtype),
        fx_dtype_class_of(t->dtype) == FX_CLASS_S ? "true" : "false", t->packed.is_msb ? "true" : "false",
        w->param_names[param], address_word_offset(w, p, param), point_index(w, p, t->axes[t->packed.axis]),
        t->packed.factor);
}

static const char *load_param(struct values *w, const struct point *p, int param) {
    struct tensor t = tensor_of_param(w->g, param);
    return w->g->kernel->params[param].packed.factor ? load_packed(w, p, param)
                                                     : value_element(w, p, w->param_names[param], &t);
}

/* ---- pointwise ---- */

/* The largest magnitude that a value of indices, extents and constants alone may have; infinite where it is made of
 * more. */
static double largest_of(const struct values *w, const struct node *n, int depth) {
    if (n->kind == N_CONST) return fabs((double)n->integer);
    if (n->kind == N_INDEX || n->kind == N_SIZE)
        return w->g->kernel->axes[n->axis].extent >= 0 ? (double)w->g->kernel->axes[n->axis].extent : 0x1p40;
    if (n->kind != N_OP || depth > 16 || (n->op != O_ADD && n->op != O_SUB && n->op != O_MUL && n->op != O_NEG))
        return INFINITY;
    double a = largest_of(w, n->args[0], depth + 1), b = n->n_args > 1 ? largest_of(w, n->args[1], depth + 1) : 0;
    return n->op == O_MUL ? (a == 0 || b == 0 ? 0 : a * b) : a + b;
}

/* Whether plain operators do, as nothing wraps on the way to an integer n. */
static bool stays_plain(const struct values *w, const struct node *n) {
    double most = largest_of(w, n, 0);
    return n->dtype == FX_I64 ? most < 0x1p62 : n->dtype == FX_I32 && most < 0x1p31;
}

/* A form of ops.def with its operands in place. */
static const char *fill_form(struct values *w, const struct node *n, const char *form, const char *const *args) {
    bool is_f64 = n->dtype == FX_F64 || (op_info[n->op].rule == RULE_COMPARE && n->args[0]->dtype == FX_F64);
    struct buf s;
    buf_init(&s, value_arena(w));
    for (const char *c = form; *c; c++) {
        if (c[0] == '$' && c[1] == 'f') {
            if (!is_f64) buf_putc(&s, 'f');
            c++;
        } else if (c[0] == '$') {
            buf_puts(&s, args[*++c - 'a']);
        } else if (is_f64 && strncmp(c, "fx_", 3) == 0) {
            while (strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *c) && *c) buf_putc(&s, *c++);
            buf_puts(&s, "_f64");
            c--;
        } else {
            buf_putc(&s, *c);
        }
    }
    return s.s;
}

/* ---- positions in 32 bits ---- */

static bool range_of_op(const struct node *n, const struct narrow *a, const struct narrow *b, struct narrow *out) {
    switch (n->op) {
    case O_ADD: out->lo = a->lo + b->lo, out->hi = a->hi + b->hi; return true;
    case O_SUB: out->lo = a->lo - b->hi, out->hi = a->hi - b->lo; return true;
    case O_NEG: out->lo = -a->hi, out->hi = -a->lo; return true;
    case O_MUL: { /* of 32 bits each: 64 hold the products */
        const int64_t all[4] = {a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi};
        out->lo = out->hi = all[0];
        for (int i = 1; i < 4; i++) {
            if (all[i] < out->lo) out->lo = all[i];
            if (all[i] > out->hi) out->hi = all[i];
        }
        return true;
    }
    case O_FLOORDIV: /* by what is not negative, 0 giving 0: rounded down it moves
                      * away from 0 at most to where it was */
        out->lo = a->lo < 0 ? a->lo : 0, out->hi = a->hi > 0 ? a->hi : 0;
        return b->lo >= 0;
    case O_MOD: out->lo = 0, out->hi = b->hi > 0 ? b->hi - 1 : 0; return b->lo >= 0;
    default: return false;
    }
}

struct narrow *value_find_narrow(const struct graph *g, const bool *is_small) {
    struct narrow *all = NEW_ARRAY(&g->cx->arena, struct narrow, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        struct narrow *x = &all[i];
        int64_t extent = n->axis >= 0 ? g->kernel->axes[n->axis].extent : 0, most = extent >= 0 ? extent : 1 << 30;
        if (n->dtype != FX_I64) continue;
        if (n->kind == N_CONST) *x = (struct narrow){true, n->integer, n->integer};
        else if (n->kind == N_INDEX && is_small[n->axis]) *x = (struct narrow){true, 0, most > 0 ? most - 1 : 0};
        else if (n->kind == N_SIZE && is_small[n->axis]) *x = (struct narrow){true, extent >= 0 ? extent : 0, most};
        else if (n->kind == N_OP && n->n_args <= 2 && all[n->args[0]->id].is_narrow &&
                 all[n->args[n->n_args - 1]->id].is_narrow)
            x->is_narrow = range_of_op(n, &all[n->args[0]->id], &all[n->args[n->n_args - 1]->id], x);
        x->is_narrow = x->is_narrow && x->lo >= -INT32_MAX && x->hi <= INT32_MAX;
    }
    return all;
}

static bool is_narrow(const struct values *w, const struct node *n) { return w->narrow && w->narrow[n->id].is_narrow; }

/* The value of n as its own type, whatever it was computed in. */
static const char *wide_at(struct values *w, struct point *p, struct node *n) {
    const char *text = value_at(w, p, n);
    return n->kind == N_OP && is_narrow(w, n) ? arena_printf(value_arena(w), "(long long)%s", text) : text;
}

/* The value of a narrow n as an `index`. */
static const char *narrow_at(struct values *w, struct point *p, struct node *n) {
    struct arena *a = value_arena(w);
    if (n->kind == N_CONST) return arena_printf(a, "(index)%lld", (long long)n->integer);
    if (n->kind == N_SIZE) return arena_printf(a, "(index)%s", extent_name(w, n->axis));
    if (n->kind == N_INDEX) return arena_printf(a, "(index)%s", point_index(w, p, n->axis));
    return value_at(w, p, n);
}

/* An operation of narrow operands, whose result is one too. */
static const char *narrow_operation(struct values *w, const struct node *n, const char *const *args) {
    bool is_natural = n->n_args == 2 && w->narrow[n->args[0]->id].lo >= 0; /* a divisor is never negative */
    if (n->op == O_FLOORDIV)
        return fill_form(w, n, is_natural ? "fx_quotient($a, $b)" : "fx_quotient_down($a, $b)", args);
    if (n->op == O_MOD) return fill_form(w, n, is_natural ? "fx_remainder($a, $b)" : "fx_remainder_down($a, $b)", args);
    return fill_form(w, n, op_info[n->op].cuda, args);
}

const char *value_operation(struct values *w, const struct node *n, const char *const *args) {
    const struct op_info *info = &op_info[n->op];
    bool over_integers = fx_is_integer(n->args[n->n_args - 1]->dtype);
    const char *form = over_integers && !(info->is_infix && *info->cuda && stays_plain(w, n)) ? info->cuda_integer
                                                                                              : info->cuda;
    return fill_form(w, n, form, args);
}

/* arg, of compute type t, as the float that a further rounding to a narrower type rounds once. */
const char *value_as_f32(struct values *w, enum fx_dtype t, const char *arg) {
    const char *form = t == FX_F32   ? "%s"
                       : t == FX_F64 ? "fx_f64_to_f32_odd(%s)"
                       : t == FX_I64 ? "fx_f64_to_f32_odd(fx_i64_to_f64_odd(%s))"
                       : t == FX_U64 ? "fx_f64_to_f32_odd(fx_u64_to_f64_odd(%s))"
                                     : "fx_f64_to_f32_odd((double)%s)";
    return arena_printf(value_arena(w), form, arg);
}

/* What an element stored as dtype t is in its compute type. */
const char *value_of_element(struct values *w, enum fx_dtype t, const char *element) {
    if (t == FX_BOOL) return arena_printf(value_arena(w), "fx_is_true(%s)", element);
    if (fx_is_float(t) && fx_dtype_bits(t) <= 16) return arena_printf(value_arena(w), "fx_to_float(%s)", element);
    return fx_dtype_bits(t) < 32 ? arena_printf(value_arena(w), "(int)%s", element) : element;
}

/* The element of dtype t that a value of compute type `from` is stored as. */
const char *element_of_value(struct values *w, enum fx_dtype t, enum fx_dtype from, const char *value) {
    struct arena *a = value_arena(w);
    if (t == FX_BOOL) return arena_printf(a, "fx_to_bool(%s)", value);
    if (fx_is_float(t) && fx_dtype_bits(t) == 8)
        return arena_printf(a, "fx_from_float<%s>(%s)", emit_ctype(t), value_as_f32(w, from, value));
    if (fx_is_float(t) && fx_dtype_bits(t) == 16) return value_as_f32(w, from, value); /* the store rounds */
    return t == from ? value : arena_printf(a, "(%s)%s", emit_ctype(t), value);
}

/* The largest magnitude of an integer value, from the dtypes it was stored in; infinite where that is not seen. */
static double magnitude_of(const struct values *w, const struct node *n, int depth) {
    if (n->kind == N_CONST) return fabs((double)n->integer);
    enum fx_dtype t = n->kind == N_INPUT ? w->g->kernel->params[n->param].dtype : n->kind == N_CAST ? n->to : n->dtype;
    if (fx_is_integer(t) && fx_dtype_bits(t) <= 16 && (n->kind == N_INPUT || n->kind == N_CAST))
        return ldexp(1, fx_dtype_bits(t));
    if (n->kind == N_ACCESS && !n->has_fill) return magnitude_of(w, n->args[0], depth + 1);
    if (n->kind != N_OP || depth > 8 || (n->op != O_ADD && n->op != O_SUB && n->op != O_MUL && n->op != O_NEG))
        return INFINITY;
    double a = magnitude_of(w, n->args[0], depth + 1), b = n->n_args > 1 ? magnitude_of(w, n->args[1], depth + 1) : 0;
    return n->op == O_MUL ? a * b : a + b;
}

const char *value_cast(struct values *w, const struct node *n, const char *arg) {
    struct arena *a = value_arena(w);
    enum fx_dtype from = n->args[0]->dtype, to = n->to;
    if (to == FX_BOOL) return arena_printf(a, "%s != 0", arg);
    if (from == FX_BOOL)
        return fx_is_integer(to) ? arena_printf(a, "(%s)%s", value_ctype(n->dtype), arg)
                                 : arena_printf(a, n->dtype == FX_F64 ? "%s ? 1.0 : 0.0" : "%s ? 1.0f : 0.0f", arg);
    if (fx_is_integer(to) && fx_is_float(from)) return arena_printf(a, "fx_saturate_%s(%s)", fx_dtype_name(to), arg);
    if (fx_is_integer(to))
        return fx_dtype_bits(to) >= 32 ? arena_printf(a, "(%s)%s", value_ctype(n->dtype), arg)
                                       : arena_printf(a, "fx_wrap_%s((int)%s)", fx_dtype_name(to), arg);
    if (to == FX_F32 && from == FX_I32 && magnitude_of(w, n->args[0], 0) < 0x1p22)
        return arena_printf(a, "fx_small_to_float(%s)", arg);
    if (to == FX_F32 || to == FX_F64) return arena_printf(a, "(%s)%s", value_ctype(to), arg);
    return arena_printf(a, "fx_to_float(fx_from_float<%s>(%s))", emit_ctype(to), value_as_f32(w, from, arg));
}

/* ---- comments ---- */

/* Blanks run together: what was written may go over lines. */
static const char *on_one_line(struct arena *a, const char *text) {
    char *s = arena_printf(a, "%s", text), *to = s;
    for (const char *c = s; *c; c++)
        if (*c != ' ' || c[1] != ' ') *to++ = *c;
    *to = 0;
    return s;
}

const char *value_source(const struct graph *g, const struct node *n) {
    struct buf s;
    if (!n->source) return NULL;
    if (n->source->span.file != n->span.file) return on_one_line(&g->cx->arena, span_text(g->cx, n->span));
    buf_init(&s, &g->cx->arena);
    ast_print_expr_short(&s, n->source, 60);
    return s.s;
}

const char *value_comment(const struct graph *g, const struct node *n) {
    const char *source = value_source(g, n);
    return source ? arena_printf(&g->cx->arena, "  // line %d: %s", span_line(g->cx, n->span), source) : "";
}

/* ---- loops and guards ---- */

/* Computes in p what stands below n and does not depend on the axes that an inner point will bind. */
static void hoist(struct values *w, struct point *p, struct node *n, const bool *bound);

static void hoist_args(struct values *w, struct point *p, struct node *n, const bool *bound) {
    for (int i = 0; i < n->n_args; i++) hoist(w, p, n->args[i], bound);
}

static void hoist(struct values *w, struct point *p, struct node *n, const bool *bound) {
    bool inside = false;
    if (n->kind == N_CONST || n->kind == N_SCALAR || w->hoisted[n->id] == w->n_hoists) return;
    w->hoisted[n->id] = w->n_hoists;
    for (int i = 0; i < n->n_axes; i++) inside |= bound[n->axes[i]];
    if (!inside) value_at(w, p, n);
    else if (n->kind == N_OP || n->kind == N_CAST) hoist_args(w, p, n, bound);
    else if (n->kind == N_ACCESS && w->narrow)
        for (int i = 1; i < n->n_args; i++)
            hoist(w, p, n->args[i], bound); /* positions and what is outside: needed wherever it is */
}

void value_hoist(struct values *w, struct point *p, struct node *n, const int *axes, int n_axes) {
    bool *bound = NEW_ARRAY(value_arena(w), bool, w->g->kernel->n_axes + 1);
    for (int i = 0; i < n_axes; i++) bound[axes[i]] = true;
    w->n_hoists++;
    hoist(w, p, n, bound);
}

const char *value_start(struct values *w, enum reduction r, enum fx_dtype t) {
    const struct node n = reduction_start(r, t);
    return value_literal(w, &n);
}

const char *value_joined(struct values *w, enum reduction r, enum fx_dtype t, const char *so_far, const char *term) {
    static const enum op ops[] = {[RED_SUM] = O_ADD, [RED_PROD] = O_MUL, [RED_MAX] = O_MAX, [RED_MIN] = O_MIN};
    if (t == FX_BOOL) return arena_printf(value_arena(w), r == RED_MAX ? "%s || %s" : "%s && %s", so_far, term);
    struct node like = {.dtype = t}, n = {.kind = N_OP, .op = ops[r], .dtype = t, .n_args = 2, .args = {&like, &like}};
    const char *args[3] = {so_far, term};
    return fill_form(w, &n, fx_is_integer(t) ? op_info[n.op].cuda_integer : op_info[n.op].cuda, args);
}

int value_open_block(struct values *w) {
    w->indent++;
    return w->names->locals.n;
}

void value_close_block(struct values *w, int block, const char *end) {
    w->indent--;
    value_line(w, "%s", end);
    identifiers_give_back(&w->names->locals, block);
}

static const char *loop_variable(struct values *w, int axis) {
    return emit_local_as(
        w->names, arena_printf(value_arena(w), "i_%s_", name_encoded(value_arena(w), w->g->kernel->axes[axis].name)));
}

/* Opens a loop over the axis up to `end`; gives what closes it. */
static int open_loop(struct values *w, struct point *inner, int axis, const char *end) {
    int block = w->names->locals.n;
    const char *i = loop_variable(w, axis);
    value_line(w, "for (long long %s = 0; %s < %s; ++%s) {", i, i, end, i);
    value_open_block(w);
    inner->at[axis] = i;
    return block;
}

static const char *reduce_at(struct values *w, struct point *p, struct node *n) {
    const char *t = emit_local(w->names, n);
    enum fx_dtype of = n->args[0]->dtype;
    int blocks[MAX_AXES];
    value_hoist(w, p, n->args[0], n->reduced, n->n_reduced);
    value_line(w, "%s %s = %s;%s", value_ctype(n->dtype), t, value_start(w, n->reduction, of), value_comment(w->g, n));
    struct point *inner = point_open(w, p);
    for (int i = 0; i < n->n_reduced; i++)
        blocks[i] = open_loop(w, inner, n->reduced[i], extent_name(w, n->reduced[i]));
    const char *term = wide_at(w, inner, n->args[0]);
    value_line(w, "%s = %s;", t, value_joined(w, n->reduction, of, t, term));
    for (int i = n->n_reduced - 1; i >= 0; i--) value_close_block(w, blocks[i], "}");
    return t;
}

/* The index of the first extreme; the first NaN, once met, stays. */
static const char *extreme_at(struct values *w, struct point *p, struct node *n) {
    const char *t = emit_local(w->names, n), *best = arena_printf(value_arena(w), "%sbest", t),
               *c = value_ctype(n->args[0]->dtype);
    int axis = n->reduced[0];
    value_hoist(w, p, n->args[0], &axis, 1);
    value_line(w, "long long %s = 0;%s", t, value_comment(w->g, n));
    value_line(w, "%s %s = 0;", c, best);
    struct point *inner = point_open(w, p);
    int block = open_loop(w, inner, axis, extent_name(w, axis));
    const char *term = wide_at(w, inner, n->args[0]), *i = inner->at[axis];
    value_line(w, "if (%s == 0 || (%s == %s && !(%s %s %s))) %s = %s, %s = %s;", i, best, best, term,
        n->reduction == RED_ARGMAX ? "<=" : ">=", best, t, i, best, term);
    value_close_block(w, block, "}");
    return t;
}

static const char *scan_at(struct values *w, struct point *p, struct node *n) {
    const char *t = emit_local(w->names, n), *end = point_index(w, p, n->axis);
    value_hoist(w, p, n->args[0], &n->axis, 1);
    value_line(
        w, "%s %s = %s;%s", value_ctype(n->dtype), t, value_start(w, n->reduction, n->dtype), value_comment(w->g, n));
    struct point *inner = point_open(w, p);
    int block = open_loop(w, inner, n->axis, arena_printf(value_arena(w), "%s + 1", end));
    const char *term = wide_at(w, inner, n->args[0]);
    value_line(w, "%s = %s;", t, value_joined(w, n->reduction, n->dtype, t, term));
    value_close_block(w, block, "}");
    return t;
}

/* By a loop over the run that p stands in. */
static const char *share_at(struct values *w, struct point *p, struct node *n) {
    const char *t = emit_local(w->names, n), *at = point_index(w, p, n->axis);
    value_hoist(w, p, n->args[0], &n->axis, 1);
    value_line(
        w, "%s %s = %s;%s", value_ctype(n->dtype), t, value_start(w, n->reduction, n->dtype), value_comment(w->g, n));
    int block = w->names->locals.n;
    const char *i = loop_variable(w, n->axis);
    value_line(w, "for (long long %s = (%s) / %d * %dll, %send = %s + %d; %s < %send; ++%s) {", i, at, n->run, n->run,
        i, i, n->run, i, i, i);
    value_open_block(w);
    struct point *inner = point_open(w, p);
    inner->at[n->axis] = i;
    const char *term = wide_at(w, inner, n->args[0]);
    value_line(w, "%s = %s;", t, value_joined(w, n->reduction, n->dtype, t, term));
    value_close_block(w, block, "}");
    return t;
}

struct point *value_open_access(struct values *w, struct point *p, struct node *n, const char **inside) {
    struct arena *a = value_arena(w);
    const char *positions[MAX_AXES];
    struct buf all;
    buf_init(&all, a);
    for (int i = 0; i < n->n_at; i++) {
        /* Of a label fixed at 1 only one position lies inside, and no address has it. */
        bool narrow = (n->args[1 + i]->kind == N_OP || n->args[1 + i]->kind == N_INDEX) && is_narrow(w, n->args[1 + i]);
        const char *text = !n->has_fill && w->g->kernel->axes[n->at[i]].extent == 1 ? "0ll"
                           : narrow                                                 ? narrow_at(w, p, n->args[1 + i])
                                                                                    : value_at(w, p, n->args[1 + i]);
        positions[i] = n->has_fill || strpbrk(text, " (") ? emit_local_position(w->names, n->args[0], n->at[i]) : text;
        if (positions[i] == text) continue;
        bool is_u64 = n->args[1 + i]->dtype == FX_U64; /* of others every value is one of long long */
        value_line(w, "const %s %s = %s;",
            narrow   ? "index"
            : is_u64 ? "unsigned long long"
                     : "long long",
            positions[i], text);
        if (i) buf_puts(&all, " && ");
        if (!is_u64 && !(narrow && w->narrow[n->args[1 + i]->id].lo >= 0))
            buf_printf(&all, "%s >= 0 && ", positions[i]);
        buf_printf(&all, narrow ? "%s < (index)%s" : "%s < %s", positions[i], extent_name(w, n->at[i]));
    }
    struct point *inner = point_open(w, p);
    for (int i = 0; i < n->n_at; i++) inner->at[n->at[i]] = positions[i];
    *inside = n->has_fill ? all.s : NULL;
    return inner;
}

static const char *access_at(struct values *w, struct point *p, struct node *n) {
    const char *inside, *fill = n->has_fill ? wide_at(w, p, n->args[1 + n->n_at]) : NULL;
    struct point *inner = value_open_access(w, p, n, &inside);
    if (!inside) return wide_at(w, inner, n->args[0]);
    const char *t = emit_local(w->names, n);
    value_line(w, "%s %s = %s;%s", value_ctype(n->dtype), t, fill, value_comment(w->g, n));
    value_line(w, "if (%s) {", inside);
    int block = value_open_block(w);
    value_put(w, inner, n->args[0], t);
    value_close_block(w, block, "}");
    return t;
}

/* ---- the pass ---- */

static const char *leaf_at(struct values *w, struct point *p, const struct node *n) {
    const char *given = w->given ? w->given(w, p, n) : NULL;
    if (given) return given;
    switch (n->kind) {
    case N_CONST: return value_literal(w, n);
    case N_SCALAR: return w->param_names[n->param];
    case N_SIZE: return arena_printf(value_arena(w), "(long long)%s", extent_name(w, n->axis));
    case N_INDEX: return arena_printf(value_arena(w), "(long long)%s", point_index(w, p, n->axis));
    default: return NULL;
    }
}

static const char *compute(struct values *w, struct point *p, struct node *n) {
    const char *args[3], *what;
    bool narrow = n->kind == N_OP && (is_narrow(w, n) || op_info[n->op].rule == RULE_COMPARE); /* computed in `index` */
    switch (n->kind) {
    case N_REDUCE:
        return n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN ? extreme_at(w, p, n) : reduce_at(w, p, n);
    case N_SCAN: return scan_at(w, p, n);
    case N_SHARE: return share_at(w, p, n);
    case N_ACCESS: return access_at(w, p, n);
    case N_INPUT: what = load_param(w, p, n->param); break;
    case N_CAST: what = value_cast(w, n, wide_at(w, p, n->args[0])); break;
    default:
        for (int i = 0; i < n->n_args; i++) narrow &= is_narrow(w, n->args[i]);
        for (int i = 0; i < n->n_args; i++) args[i] = narrow ? narrow_at(w, p, n->args[i]) : wide_at(w, p, n->args[i]);
        what = is_narrow(w, n) ? narrow_operation(w, n, args) : value_operation(w, n, args);
        break;
    }
    const char *place = p->place && !is_narrow(w, n) ? p->place[n->id] : NULL,
               *known = p->known && p->known[n->id] ? p->known[n->id] : "";
    if (place) {
        value_line(w, "%s = %s;%s", place, what, value_comment(w->g, n));
        return place;
    }
    const char *name = emit_local(w->names, n);
    value_line(w, "const %s %s = %s%s;%s", n->kind == N_OP && is_narrow(w, n) ? "index" : value_ctype(n->dtype), name,
        known, what, value_comment(w->g, n));
    return name;
}

const char *value_at(struct values *w, struct point *p, struct node *n) {
    const char *text = text_at(n, p);
    if (text) return text;
    text = leaf_at(w, p, n);
    if (!text) text = compute(w, p, n);
    return p->text[n->id] = text;
}

void value_assign(struct values *w, const char *place, const char *value) {
    if (strcmp(value, place) != 0) value_line(w, "%s = %s;", place, value);
}

void value_put(struct values *w, struct point *p, struct node *n, const char *place) {
    point_set_place(w, p, n, place);
    value_assign(w, place, wide_at(w, p, n));
}
