/* Parameters of a kernel: their axes, extents, storage and defaults.
 *
 * In: a declaration of the syntax tree. Out: a param of the kernel at hand, and the axes that it names first; a
 * diagnostic where it cannot be. */
#include "check/check_internal.h"

#include <math.h>
#include <string.h>

static bool refuse_storage(struct checker *c, const struct param *p, const char *fix, const char *why) {
    diag_error(c->cx, p->ast->span, D_STORAGE, "%s: %s", p->name, why);
    diag_fix(c->cx, "%s", fix);
    return false;
}

/* `u4[J,L] packed(i32, L, lsb)`: the words of the argument. Its axes are declared. */
static bool declare_packing(struct checker *c, struct param *p) {
    const struct ast_type *t = &p->ast->type;
    const char *element = fx_dtype_name(p->dtype), *word = fx_dtype_name(t->packed_dtype);
    int bits = fx_dtype_bits(p->dtype), word_bits = fx_dtype_bits(t->packed_dtype);
    struct arena *a = &c->cx->arena;
    p->packed = (struct fx_packing){.storage = t->packed_dtype, .axis = -1, .is_msb = name_is(t->packed_order, "msb")};
    for (int i = 0; i < p->n_axes; i++)
        if (name_eq(c->k->axes[p->axes[i]].name, t->packed_axis)) p->packed.axis = i;
    if (!fx_is_integer(p->dtype))
        return refuse_storage(c, p, "pack an integer dtype, as in u4[L] packed(i32, L, lsb)",
            arena_printf(a, "packed elements are integers, %s is none", element));
    if (!fx_is_integer(t->packed_dtype) || word_bits <= bits || word_bits % bits)
        return refuse_storage(c, p, "take a wider integer dtype, as in packed(i32, L, lsb)",
            arena_printf(a, "words of %s do not hold several %s each", word, element));
    if (p->packed.axis < 0)
        return refuse_storage(c, p, arena_printf(a, "name one of its axes: %s", check_axes_text(c, p->axes, p->n_axes)),
            arena_printf(a, "it is packed along " NAME_FMT ", but has axes %s", NAME_ARG(t->packed_axis),
                check_axes_text(c, p->axes, p->n_axes)));
    if (!p->packed.is_msb && !name_is(t->packed_order, "lsb"))
        return refuse_storage(c, p, "lsb: the first element of a word stands in its lowest bits; msb: in its highest",
            arena_printf(a, "the order of packing is lsb or msb, found " NAME_FMT, NAME_ARG(t->packed_order)));
    p->packed.factor = word_bits / bits;
    if (!p->is_output) return true;
    return refuse_storage(c, p, "store the words: compute them as an output of the wide dtype",
        "an output is stored an element at a time");
}

/* What the type says of the argument's memory. */
static bool declare_storage(struct checker *c, struct param *p) {
    const struct ast_type *t = &p->ast->type;
    const char *what = t->is_packed ? "packed" : t->is_strided ? "strided" : t->align ? "align" : NULL;
    if (p->is_scalar && what)
        return refuse_storage(c, p,
            arena_printf(
                &c->cx->arena, "leave %s out, or declare a tensor of one element: %s[]", what, fx_dtype_name(p->dtype)),
            arena_printf(&c->cx->arena, "%s is said of tensors, and a scalar is passed by value", what));
    if (p->is_scalar && p->is_output)
        return refuse_storage(c, p,
            arena_printf(&c->cx->arena, "declare a tensor of one element: inout %s[]", fx_dtype_name(p->dtype)),
            "a scalar is passed by value, which no kernel can change");
    p->is_strided = t->is_strided;
    p->align = (int)t->align;
    if (t->is_packed) return declare_packing(c, p);
    if (fx_dtype_bits(p->dtype) >= 8 || p->is_scalar) return true;
    return refuse_storage(c, p, "say how: packed(i32, L, lsb), L being the axis along which eight share a word",
        arena_printf(&c->cx->arena, "a tensor of %s is packed into wider integers", fx_dtype_name(p->dtype)));
}

int check_declare_axis(struct checker *c, const struct ast_axis *a) {
    struct kernel *k = c->k;
    int i = check_find_axis(k, a->name);
    if (i < 0) {
        i = k->n_axes;
        struct axis *axis = &PUSH(&c->cx->arena, k->axes, k->n_axes);
        *axis = (struct axis){.name = a->name, .extent = -1, .span = a->span, .part_of = -1};
        const struct define *d = check_find_define(c, a->name);
        double v;
        if (d && check_define_number(c, d, &v)) {
            if (v >= 0 && v <= 0x1p40 && v == floor(v)) axis->extent = (int64_t)v;
            else
                diag_error(c->cx, a->span, D_DEFINE, "-D " NAME_FMT "=%s: an extent is an integer from 0 to 2^40",
                    NAME_ARG(a->name), d->value);
        }
    }
    if (!a->extent) return i;
    if (extent_mentions_label(c, a->extent)) {
        struct equation *q = &PUSH(&c->cx->arena, k->equations, k->n_equations);
        *q = (struct equation){.axis = i, .span = a->span};
        PUSH(&c->cx->arena, c->equation_values, c->n_equation_values) = a->extent;
        return i;
    }
    double v;
    if (!check_const(c, a->extent, 0, &v)) return i;
    if (!(v >= 0 && v <= 0x1p40) || v != floor(v)) {
        diag_error(c->cx, a->extent->span, D_BAD_EXTENT, "the extent of " NAME_FMT " must be an integer from 0 to 2^40",
                   NAME_ARG(a->name));
        return i;
    }
    if (k->axes[i].extent >= 0 && k->axes[i].extent != (int64_t)v) {
        diag_error(c->cx, a->span, D_EXTENT_CONFLICT, NAME_FMT " is %lld here and %lld before", NAME_ARG(a->name),
                   (long long)v, (long long)k->axes[i].extent);
        diag_fix(c->cx, "write the same extent, or another label");
    }
    k->axes[i].extent = (int64_t)v;
    return i;
}

/* A label that the kernel at hand does not have so far, for a message. */
static const char *free_label(struct checker *c) {
    static const char *const labels[] = {"J", "I", "Q", "P", "R", "S", "T", "U", "V"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (check_find_axis(c->k, (struct name){labels[i], 1}) < 0) return labels[i];
    return "M2";
}

void check_declare_param(struct checker *c, const struct ast_param *ap, bool is_out) {
    struct kernel *k = c->k;
    for (int i = 0; i < k->n_params; i++)
        if (name_eq(k->params[i].ast->name, ap->name)) {
            diag_error(c->cx, ap->span, D_REDEFINED, NAME_FMT " is declared twice", NAME_ARG(ap->name));
            diag_fix(c->cx, is_out && k->params[i].is_input
                                ? "give the output another name; what is overwritten is declared once, `inout`"
                                : "give one of them another name");
            return;
        }
    struct param *p = &PUSH(&c->cx->arena, k->params, k->n_params);
    *p = (struct param){.ast = ap,
        .name = check_cstr(c, ap->name),
        .dtype = ap->type.dtype,
        .is_scalar = !ap->type.has_axes && !is_out,
        .is_input = !is_out,
        .is_output = is_out || ap->is_inout,
        .is_const = ap->is_const};
    for (const struct ast_axis *a = ap->type.axes; a; a = a->next) {
        int axis = check_declare_axis(c, a);
        if (p->n_axes == 8) {
            diag_error(c->cx, ap->span, D_TOO_MANY_AXES, "%s has more than 8 axes", p->name);
            diag_fix(c->cx, "declare axes that lie side by side as one: x{P->(A,B=16)} splits it again");
            return;
        }
        for (int i = 0; i < p->n_axes; i++)
            if (p->axes[i] == axis) {
                diag_error(
                    c->cx, a->span, D_DUPLICATE_AXIS, "%s carries " NAME_FMT " twice", p->name, NAME_ARG(a->name));
                diag_fix(c->cx, "two axes have two labels; of one extent they are " NAME_FMT " and %s=" NAME_FMT,
                    NAME_ARG(a->name), free_label(c), NAME_ARG(a->name));
                return;
            }
        p->axes[p->n_axes++] = axis;
    }
    declare_storage(c, p);
    if (!ap->value) return;
    if (!p->is_scalar || ap->value->kind != VAL_NUM) {
        diag_error(c->cx, ap->value->span, D_CALL, "only a scalar parameter has a default, and it is a number");
        return;
    }
    double v = ap->value->num.value;
    if (!fx_is_float(p->dtype) && (fx_round_to(p->dtype, v) != v || fabs(v) > 0x1p53))
        diag_error(c->cx, ap->value->span, D_DTYPE, "the default of %s is no %s%s", p->name, fx_dtype_name(p->dtype),
            fabs(v) > 0x1p53 ? " within 2^53" : "");
    p->has_default = true;
    p->default_value = v;
}
