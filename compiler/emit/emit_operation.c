/* The text of one operation: a literal, an op, a conversion.
 *
 * In: a node and the text of its operands. Out: a C expression. Nothing is written: emit_value.c makes statements of
 * it. */
#include <math.h>
#include <string.h>

#include "emit/emit.h"
#include "emit/emit_value.h"

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

const char *value_sum_ctype(enum fx_dtype t) { return t == FX_BOOL ? "int" : value_ctype(t); }

/* The shortest digits that read back as v; "10", not "1e+01". */
static const char *digits_of(struct values *w, double v, bool is_f32) {
    if (v == floor(v) && fabs(v) < 1e6) return arena_printf(value_arena(w), "%.0f", v);
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

/* ---- ops ---- */

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

static bool is_power_of_two(const struct node *n) {
    int exponent;
    return n->kind == N_CONST && fabs(frexp(n->num, &exponent)) == 0.5;
}

const char *value_operation(struct values *w, const struct node *n, const char *const *args) {
    const struct op_info *info = &op_info[n->op];
    if (n->op == O_DIV && n->dtype == FX_F32 && w->divisor && w->divisor[n->args[1]->id])
        return arena_printf(value_arena(w), "fx_divided(%s, %s)", args[0], w->divisor[n->args[1]->id]);
    if (n->op == O_DIV && n->dtype == FX_F32 && w->is_beside_products && !is_power_of_two(n->args[1]))
        return arena_printf(value_arena(w), "fx_ratio(%s, %s)", args[0], args[1]);
    bool over_integers = fx_is_integer(n->args[n->n_args - 1]->dtype);
    const char *form = over_integers && !(info->is_infix && *info->cuda && stays_plain(w, n)) ? info->cuda_integer
                                                                                              : info->cuda;
    const char *rounded = n->dtype == FX_F32 ? op_rounded_form(n->op, n->to) : NULL;
    return fill_form(w, n, rounded ? rounded : form, args);
}

const char *value_start(struct values *w, enum reduction r, enum fx_dtype t) {
    const struct node n = reduction_start(r, t);
    return value_literal(w, &n);
}

const char *value_combined(struct values *w, enum reduction r, enum fx_dtype t, const char *so_far, const char *term) {
    static const enum op ops[] = {[RED_SUM] = O_ADD, [RED_PROD] = O_MUL, [RED_MAX] = O_MAX, [RED_MIN] = O_MIN};
    if (t == FX_BOOL) return arena_printf(value_arena(w), r == RED_MAX ? "%s || %s" : "%s && %s", so_far, term);
    struct node like = {.dtype = t}, n = {.kind = N_OP, .op = ops[r], .dtype = t, .n_args = 2, .args = {&like, &like}};
    const char *args[3] = {so_far, term};
    return fill_form(w, &n, fx_is_integer(t) ? op_info[n.op].cuda_integer : op_info[n.op].cuda, args);
}

const char *value_fma(struct values *w, enum fx_dtype t, const char *a, const char *b, const char *c) {
    struct node n = {.kind = N_OP, .op = O_FMA, .dtype = t, .n_args = 3};
    const char *args[3] = {a, b, c};
    return fill_form(w, &n, fx_is_integer(t) ? op_info[O_FMA].cuda_integer : op_info[O_FMA].cuda, args);
}

/* ---- conversions ---- */

/* arg, of compute type t, as the float that a further rounding to a narrower type rounds once. */
static const char *value_as_f32(struct values *w, enum fx_dtype t, const char *arg) {
    const char *form = t == FX_F32   ? "%s"
                       : t == FX_F64 ? "fx_f64_to_f32_odd(%s)"
                       : t == FX_I64 ? "fx_f64_to_f32_odd(fx_i64_to_f64_odd(%s))"
                       : t == FX_U64 ? "fx_f64_to_f32_odd(fx_u64_to_f64_odd(%s))"
                                     : "fx_f64_to_f32_odd((double)%s)";
    return arena_printf(value_arena(w), form, arg);
}

/* x as an element of 8-bit float t. */
static const char *rounded_f8(struct values *w, enum fx_dtype t, const char *x) {
    return arena_printf(
        value_arena(w), w->g->cx->arch->has_f8 ? "fx_round_%s(%s)" : "fx_from_float<fx_%s>(%s)", fx_dtype_name(t), x);
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
    if (fx_is_f8(t))
        return rounded_f8(w, t, value_as_f32(w, from, value));
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

/* Whether the cast is written as fx_small_to_float alone: exact. */
static bool is_small_cast(const struct values *w, const struct node *n) {
    if (n->kind != N_CAST || n->args[0]->dtype != FX_I32 || !fx_is_float(n->to)) return false;
    double most = magnitude_of(w, n->args[0], 0);
    return n->to == FX_F32    ? most < 0x1p22
           : n->to == FX_F16  ? most <= 0x1p11
           : n->to == FX_BF16 ? most <= 0x1p8
                              : false;
}

const bool *value_bits(struct values *w) {
    bool *are_bits = NEW_ARRAY(value_arena(w), bool, w->g->n_nodes + 1);
    for (int i = 0; i < w->g->n_nodes; i++) {
        const struct node *n = w->g->nodes[i];
        const struct param *p = n->kind == N_INPUT ? &w->g->kernel->params[n->param] : NULL;
        are_bits[i] = p && p->packed.factor && fx_dtype_class_of(p->dtype) == FX_CLASS_U && n->dtype == FX_I32;
        for (int a = 0; a < n->n_args; a++)
            are_bits[n->args[a]->id] &= is_small_cast(w, n) || (w->is_pair && w->is_pair[i] && a == 0);
    }
    for (int i = 0; i < w->g->n_outputs; i++) are_bits[w->g->outputs[i].value->id] = false;
    return are_bits;
}

const bool *value_pairs(struct values *w) {
    bool *is_pair = NEW_ARRAY(value_arena(w), bool, w->g->n_nodes + 1);
    for (int i = 0; i < w->g->n_nodes; i++) {
        const struct node *n = w->g->nodes[i];
        is_pair[i] = n->kind == N_OP && n->op == O_SUB && n->dtype == FX_I32 &&
                     magnitude_of(w, n->args[0], 0) < 0x1p21 && magnitude_of(w, n->args[1], 0) < 0x1p21;
        for (int a = 0; a < n->n_args; a++) is_pair[n->args[a]->id] &= is_small_cast(w, n);
    }
    for (int i = 0; i < w->g->n_outputs; i++) is_pair[w->g->outputs[i].value->id] = false;
    return is_pair;
}

/* Whether a cast of n to a narrow integer rounds it, too, at less than what rounding and truncating take. */
static bool rounds_in_cast(const struct node *n) {
    return n->kind == N_CAST && fx_is_integer(n->to) && fx_dtype_bits(n->to) <= 16 && n->args[0]->kind == N_OP &&
           n->args[0]->op == O_ROUND && n->args[0]->dtype == FX_F32;
}

bool value_is_rounded_late(const struct values *w, const struct node *n) {
    bool is_read = false;
    for (int i = n->id + 1; i < w->g->n_nodes; i++)
        for (int a = 0; a < w->g->nodes[i]->n_args; a++) {
            if (w->g->nodes[i]->args[a] != n) continue;
            if (!rounds_in_cast(w->g->nodes[i])) return false;
            is_read = true;
        }
    for (int i = 0; i < w->g->n_outputs; i++)
        if (w->g->outputs[i].value == n) return false;
    return is_read;
}

/* arg rounded and saturated to integers of type t. */
static const char *rounded_in(struct values *w, enum fx_dtype t, const char *arg) {
    const bool is_signed = fx_dtype_class_of(t) != FX_CLASS_U;
    const int most = (1 << (fx_dtype_bits(t) - is_signed)) - 1;
    return arena_printf(value_arena(w), "fx_round_in(%s, %d.0f, %d.0f)", arg, is_signed ? -most - 1 : 0, most);
}

const char *value_cast(struct values *w, const struct node *n, const char *arg) {
    struct arena *a = value_arena(w);
    enum fx_dtype from = n->args[0]->dtype, to = n->to;
    if (to == FX_BOOL) return arena_printf(a, "%s != 0", arg);
    if (from == FX_BOOL)
        return fx_is_integer(to) ? arena_printf(a, "(%s)%s", value_ctype(n->dtype), arg)
                                 : arena_printf(a, n->dtype == FX_F64 ? "%s ? 1.0 : 0.0" : "%s ? 1.0f : 0.0f", arg);
    if (rounds_in_cast(n)) return rounded_in(w, to, arg);
    if (fx_is_integer(to) && fx_is_float(from)) return arena_printf(a, "fx_saturate_%s(%s)", fx_dtype_name(to), arg);
    if (fx_is_integer(to))
        return fx_dtype_bits(to) >= 32 ? arena_printf(a, "(%s)%s", value_ctype(n->dtype), arg)
                                       : arena_printf(a, "fx_wrap_%s((int)%s)", fx_dtype_name(to), arg);
    if (is_small_cast(w, n)) return arena_printf(a, "fx_small_to_float(%s)", arg);
    if (to == FX_F32 || to == FX_F64) return arena_printf(a, "(%s)%s", value_ctype(to), arg);
    if (from == FX_I32 && magnitude_of(w, n->args[0], 0) < 0x1p22)
        return arena_printf(a, "fx_to_float(fx_from_float<%s>(fx_small_to_float(%s)))", emit_ctype(to), arg);
    if (fx_dtype_bits(to) == 8)
        return arena_printf(a, "fx_to_float(%s)", rounded_f8(w, to, value_as_f32(w, from, arg)));
    return arena_printf(a, "fx_to_float(fx_from_float<%s>(%s))", emit_ctype(to), value_as_f32(w, from, arg));
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

struct narrow *value_find_narrow(const struct graph *g, const bool *is_small, int64_t most) {
    struct narrow *all = NEW_ARRAY(&g->cx->arena, struct narrow, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        struct narrow *x = &all[i];
        int64_t extent = n->axis >= 0 ? g->kernel->axes[n->axis].extent : 0, largest = extent >= 0 ? extent : most;
        if (n->dtype != FX_I64) continue;
        if (n->kind == N_CONST) *x = (struct narrow){true, n->integer, n->integer};
        else if (n->kind == N_INDEX && is_small[n->axis]) *x = (struct narrow){true, 0, largest > 0 ? largest - 1 : 0};
        else if (n->kind == N_SIZE && is_small[n->axis]) *x = (struct narrow){true, extent >= 0 ? extent : 0, largest};
        else if (n->kind == N_OP && n->n_args <= 2 && all[n->args[0]->id].is_narrow &&
                 all[n->args[n->n_args - 1]->id].is_narrow)
            x->is_narrow = range_of_op(n, &all[n->args[0]->id], &all[n->args[n->n_args - 1]->id], x);
        x->is_narrow = x->is_narrow && x->lo >= -INT32_MAX && x->hi <= INT32_MAX;
    }
    return all;
}

const char *value_narrow_operation(struct values *w, const struct node *n, const char *const *args) {
    bool is_natural = n->n_args == 2 && w->narrow[n->args[0]->id].lo >= 0; /* a divisor is never negative */
    if (n->op == O_FLOORDIV)
        return fill_form(w, n, is_natural ? "fx_quotient($a, $b)" : "fx_quotient_down($a, $b)", args);
    if (n->op == O_MOD) return fill_form(w, n, is_natural ? "fx_remainder($a, $b)" : "fx_remainder_down($a, $b)", args);
    return fill_form(w, n, op_info[n->op].cuda, args);
}
