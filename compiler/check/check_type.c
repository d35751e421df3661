/* Dtypes: which type arithmetic happens in, conversions into it, what may be stored to an output.
 *
 * In: operands as they stand. Out: operands of one compute type, with every conversion a value of its own; literals
 * take the type of what they meet. Invariant: no integer is narrowed and no float becomes an integer unless the spec
 * says so. */
#include "check/check_internal.h"

#include <math.h>

/* A literal is no value of the kernel until it meets one and takes its type. */
static struct value *new_literal(
    struct checker *c, enum fx_dtype t, double num, int64_t integer, const struct ast_expr *e) {
    struct value *v = NEW(&c->cx->arena, struct value);
    *v = (struct value){.kind = V_NUM,
        .dtype = t,
        .is_weak = true,
        .is_decided = true,
        .num = num,
        .integer = integer,
        .axis = -1,
        .source = e,
        .id = -1};
    if (e) v->span = check_user_span(c, e->span);
    return v;
}

struct value *check_number(struct checker *c, double num, const struct ast_expr *e) {
    return new_literal(c, FX_F32, num, 0, e);
}

struct value *check_integer(struct checker *c, int64_t v, enum fx_dtype t, const struct ast_expr *e) {
    struct value *n = check_new_value(c, V_NUM, e);
    n->dtype = t;
    n->integer = v;
    n->num = fx_integer_to_double(t, v);
    return n;
}

/* The type a literal has before it meets anything: the first of i32, i64, u64 that holds it. */
struct value *check_literal(struct checker *c, const struct ast_num *num, const struct ast_expr *e) {
    if (num->is_bool) return new_literal(c, FX_BOOL, num->value, 0, e);
    if (!num->is_integer) return check_number(c, num->value, e);
    bool is_u64 = num->integer > INT64_MAX;
    int64_t bits = (int64_t)num->integer;
    return new_literal(c, is_u64 ? FX_U64 : bits > INT32_MAX ? FX_I64 : FX_I32, num->value, bits, e);
}

struct value *check_weak_integer(struct checker *c, int64_t i, const struct ast_expr *e) {
    return new_literal(c, i == (int32_t)i ? FX_I32 : FX_I64, (double)i, i, e);
}

/* ---- the type operands meet in ---- */

struct meeting { /* what is there among the operands */
    bool f64, f32, weak_float;
    bool i32, u32, i64, u64, is_bool;
    bool negative, beyond_i32, beyond_u32; /* of literals */
};

static void meet(struct meeting *m, const struct value *v) {
    if (v->is_weak && v->kind == V_OP) { /* a choice between literals */
        meet(m, v->args[1]);
        meet(m, v->args[2]);
        return;
    }
    if (v->is_weak && v->dtype != FX_BOOL) {
        m->weak_float |= fx_is_float(v->dtype);
        if (!fx_is_integer(v->dtype)) return;
        m->negative |= v->dtype != FX_U64 && v->integer < 0;
        m->beyond_i32 |= v->dtype != FX_I32;
        m->beyond_u32 |= v->dtype == FX_U64 || v->integer > UINT32_MAX;
        return;
    }
    m->f64 |= v->dtype == FX_F64;
    m->f32 |= v->dtype == FX_F32;
    m->i32 |= v->dtype == FX_I32;
    m->u32 |= v->dtype == FX_U32;
    m->i64 |= v->dtype == FX_I64;
    m->u64 |= v->dtype == FX_U64;
    m->is_bool |= v->dtype == FX_BOOL;
}

static enum fx_dtype integer_meeting(const struct meeting *m, bool *is_mixed) {
    bool is_signed = m->i32 || m->i64 || m->negative;
    *is_mixed = m->u64 && is_signed;
    if (m->u64) return FX_U64;
    if (m->i64) return FX_I64;
    if (m->u32) return is_signed || m->beyond_u32 ? FX_I64 : FX_U32;
    return m->beyond_i32 ? FX_I64 : FX_I32;
}

static void warn_f64(struct checker *c, const struct meeting *m, const struct ast_expr *e) {
    if (!m->f64 || !m->f32 || c->warned_f64) return;
    c->warned_f64 = true;
    diag_warning(c->cx, check_user_span(c, e->span), D_F64,
        "f32 and f64 meet here: the arithmetic happens in f64, many times slower on most GPUs");
    diag_fix(c->cx, "write f32(..) around the f64 operand, or f64(..) around the other if it is meant");
}

bool check_common_type(
    struct checker *c, struct value *const *args, int n, const struct ast_expr *e, enum fx_dtype *out) {
    struct meeting m = {0};
    bool is_mixed = false;
    for (int i = 0; i < n; i++) meet(&m, args[i]);
    if (m.f64) *out = FX_F64;
    else if (m.f32 || m.weak_float) *out = FX_F32;
    else *out = integer_meeting(&m, &is_mixed);
    warn_f64(c, &m, e);
    if (!is_mixed) return true;
    diag_error(c->cx, check_user_span(c, e->span), D_DTYPE, "u64 meets a signed integer: no integer type holds both");
    diag_fix(c->cx, "write i64(..) or u64(..) around one of them");
    return false;
}

struct value *check_convert(struct checker *c, struct value *v, enum fx_dtype t, const struct ast_expr *e) {
    if (v->dtype == t && !v->is_weak) return v;
    if (v->kind == V_OP && v->is_weak) {
        struct value *a = check_convert(c, v->args[1], t, e), *b = check_convert(c, v->args[2], t, e),
                     *choice = check_new_value(c, V_OP, v->source);
        int id = choice->id;
        *choice = *v;
        choice->id = id;
        choice->is_weak = false;
        choice->dtype = t;
        choice->args[1] = a;
        choice->args[2] = b;
        return choice;
    }
    if (v->kind == V_NUM && v->is_weak) {
        struct value *n = check_new_value(c, V_NUM, v->source);
        n->span = v->span;
        n->dtype = t;
        bool from_integer = fx_is_integer(v->dtype);
        n->num = v->num;
        n->integer = from_integer ? fx_wrap(t, v->integer) : fx_is_integer(t) ? fx_saturate(t, v->num) : 0;
        return n;
    }
    struct value *cast = check_new_value(c, V_CAST, e);
    cast->args[0] = v;
    cast->n_args = 1;
    cast->to = t;
    cast->dtype = fx_compute_type(t);
    cast->natural = v->natural;
    check_same_axes(cast, v);
    return cast;
}

struct value *check_as_number(struct checker *c, struct value *v, const struct ast_expr *e) {
    return v->dtype == FX_BOOL ? check_convert(c, v, FX_I32, e) : v;
}

/* ---- rounding after every operation: `round: op` and `round: eager` ---- */

static bool is_narrow(enum fx_dtype t) { return fx_is_float(t) && fx_dtype_bits(t) <= 16; }

/* The dtype a computation over tensors of these dtypes is stored in; FX_BOOL stands for none. */
static enum fx_dtype promote(enum fx_dtype a, enum fx_dtype b) {
    if (a == FX_BOOL || a == b) return b;
    if (b == FX_BOOL) return a;
    return a == FX_F64 || b == FX_F64 ? FX_F64 : FX_F32;
}

struct value *check_rounded(struct checker *c, struct value *v, const struct ast_expr *e) {
    for (int i = 0; v->kind != V_ACCESS && v->kind != V_CAST && i < v->n_args; i++)
        v->natural = promote(v->natural, v->args[i]->natural);
    bool rounds = c->k->round == ROUND_OP || (c->k->round == ROUND_EAGER && !c->in_prelude);
    if (!rounds || c->is_contracting || !fx_is_float(v->dtype) || !is_narrow(v->natural)) return v;
    if (v->kind == V_CAST && v->to == v->natural) return v;
    struct value *r = check_convert(c, v, v->natural, e);
    r->natural = v->natural;
    return r;
}

/* Whether a has a label of the sum that b lacks. */
static bool has_own_label(const struct value *sum, const struct value *a, const struct value *b) {
    for (int i = 0; i < sum->n_axes; i++)
        if (value_has_axis(a, sum->axes[i]) && !value_has_axis(b, sum->axes[i])) return true;
    return false;
}

enum fx_dtype value_rounds_to(const struct kernel *k, const struct value *sum) {
    if (kernel_is_ieee(k) || sum->kind != V_REDUCE || sum->reduction != RED_SUM || sum->dtype != FX_F32)
        return FX_BOOL;
    const struct value *product = sum->args[0];
    if (product->kind != V_OP || product->op != O_MUL) return FX_BOOL;
    const struct value *a = product->args[0], *b = product->args[1];
    enum fx_dtype t = a->natural;
    if (t != b->natural || (t != FX_F16 && t != FX_BF16)) return FX_BOOL;
    return has_own_label(sum, a, b) && has_own_label(sum, b, a) ? t : FX_BOOL;
}

/* ---- stores ---- */

__extension__ typedef __int128 wide;

struct range { /* what an integer or a condition can be */
    wide lo, hi;
};

static struct range range_of_dtype(enum fx_dtype t) {
    int bits = t == FX_BOOL ? 1 : fx_dtype_bits(t);
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    return (struct range){is_signed ? -((wide)1 << (bits - 1)) : 0, ((wide)1 << (is_signed ? bits - 1 : bits)) - 1};
}

static bool is_inside(struct range a, struct range b) { return a.lo >= b.lo && a.hi <= b.hi; }
static struct range hull(struct range a, struct range b) {
    return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static wide most_of(const struct checker *c, int axis) {
    return c->k->axes[axis].extent >= 0 ? c->k->axes[axis].extent : (wide)1 << 40;
}

/* a op b without wrapping; false where the op is none of those. */
static bool combined_range(enum op op, struct range a, struct range b, struct range *out) {
    bool fits = a.lo > -((wide)1 << 62) && a.hi < (wide)1 << 62 && b.lo > -((wide)1 << 62) && b.hi < (wide)1 << 62;
    switch (op) {
    case O_ADD: *out = (struct range){a.lo + b.lo, a.hi + b.hi}; return true;
    case O_SUB: *out = (struct range){a.lo - b.hi, a.hi - b.lo}; return true;
    case O_NEG: *out = (struct range){-a.hi, -a.lo}; return true;
    case O_MAX: *out = (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; return true;
    case O_MIN: *out = (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; return true;
    case O_MOD: *out = (struct range){0, b.hi - 1}; return b.lo > 0;
    case O_MUL:
        if (!fits) return false;
        wide p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
        *out = (struct range){p[0], p[0]};
        for (int i = 1; i < 4; i++) *out = hull(*out, (struct range){p[i], p[i]});
        return true;
    default: return false;
    }
}

/* What the integer v can be, as far as a look at `left` values tells. */
static struct range range_of(const struct checker *c, const struct value *v, int *left) {
    enum fx_dtype from = v->kind == V_LOAD || v->kind == V_SCALAR ? c->k->params[v->param].dtype
                         : v->kind == V_CAST                      ? v->to
                                                                  : v->dtype;
    struct range all = range_of_dtype(from), r, a, b;
    if (--*left < 0) return all;
    switch (v->kind) {
    case V_NUM:
        r.lo = v->dtype == FX_BOOL ? (wide)v->num : v->dtype == FX_U64 ? (wide)(uint64_t)v->integer : v->integer;
        return (struct range){r.lo, r.lo};
    case V_INDEX: return (struct range){0, most_of(c, v->axis) - 1};
    case V_SIZE: return (struct range){0, most_of(c, v->axis)};
    case V_REDUCE:
        if (v->reduction == RED_ARGMAX || v->reduction == RED_ARGMIN)
            return (struct range){0, most_of(c, v->reduced[0])};
        if (v->reduction != RED_MAX && v->reduction != RED_MIN) return all;
        for (int i = 0; i < v->n_reduced; i++)
            if (c->k->axes[v->reduced[i]].extent < 1) return all; /* that of nothing is an end of the type */
        return range_of(c, v->args[0], left);
    case V_ACCESS:
        r = range_of(c, v->args[0], left);
        return v->has_fill ? hull(r, range_of(c, v->args[1 + v->n_at], left)) : r;
    case V_CAST:
        if (fx_is_float(v->args[0]->dtype)) return all;
        r = range_of(c, v->args[0], left);
        return is_inside(r, all) ? r : all;
    case V_OP:
        if (v->op == O_WHERE) return hull(range_of(c, v->args[1], left), range_of(c, v->args[2], left));
        if (v->n_args == 0 || fx_is_float(v->args[0]->dtype) || v->dtype == FX_BOOL) return all;
        a = range_of(c, v->args[0], left);
        b = v->n_args > 1 ? range_of(c, v->args[1], left) : a;
        return combined_range(v->op, a, b, &r) && is_inside(r, all) ? r : all;
    default: return all;
    }
}

/* Whether every value v can have is one of integer dtype t. */
static bool is_within(const struct checker *c, const struct value *v, enum fx_dtype t) {
    int left = 256;
    return !fx_is_float(v->dtype) && is_inside(range_of(c, v, &left), range_of_dtype(t));
}

struct value *check_store(
    struct checker *c, struct value *v, const struct param *p, const struct ast_expr *e, struct span at) {
    enum fx_dtype t = p->dtype, compute = fx_compute_type(t);
    if (fx_is_float(t)) return check_convert(c, v, v->dtype == FX_F64 && !v->is_weak ? FX_F64 : compute, e);
    if (t == FX_BOOL) {
        if (v->dtype == FX_BOOL) return check_convert(c, v, FX_BOOL, e);
        diag_error(c->cx, at, D_DTYPE, "%s is bool, but its value is %s", p->name, fx_dtype_name(v->dtype));
        diag_fix(c->cx, "compare it, as in `v != 0`");
        return NULL;
    }
    if (is_within(c, v, t)) return check_convert(c, v, compute, e);
    diag_error(c->cx, at, D_DTYPE, "%s is %s, but its value is %s%s", p->name, fx_dtype_name(t),
        v->is_weak ? "the literal " : "", v->is_weak ? check_expr_text(c, e) : fx_dtype_name(v->dtype));
    diag_fix(c->cx, "write %s(..) around it: %s", fx_dtype_name(t),
        fx_is_float(v->dtype) ? "it truncates and saturates"
                              : "it keeps the low bits; between constants, as in clamp(v, 0, 7), it fits");
    return NULL;
}

/* As value_read_as; products of v count as what they are read as, and so on, up to so many of them. */
static enum fx_dtype read_as(const struct kernel *k, const struct value *v, int n_products) {
    enum fx_dtype to = FX_F32;
    if (v->kind != V_OP || v->dtype != FX_F32) return v->dtype;
    for (int i = 0; i < k->n_values + k->n_params; i++) {
        const struct value *by = i < k->n_values ? k->values[i] : NULL;
        const struct param *p = by ? NULL : &k->params[i - k->n_values];
        bool reads = p && p->is_output && param_stored(p) == v;
        for (int a = 0; by && a < by->n_args; a++) reads |= by->args[a] == v;
        if (!reads) continue;
        enum fx_dtype t = p ? p->dtype : by->kind == V_CAST ? by->to : FX_F32;
        if (by && n_products && by->kind == V_OP && by->op == O_MUL) t = read_as(k, by, n_products - 1);
        if ((t != FX_F16 && t != FX_BF16) || (to != FX_F32 && to != t)) return FX_F32;
        to = t;
    }
    return to;
}

enum fx_dtype value_read_as(const struct kernel *k, const struct value *v) {
    enum { MOST_PRODUCTS = 3 };
    return read_as(k, v, MOST_PRODUCTS);
}
