/* Positions of an access taken apart, to be solved for a label: as sums of terms, as digits of one label.
 *
 * In: a value of integers. Out: coefficients that are numbers times extents, and what they multiply. Whatever has
 * another form is one term. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- products of extents, with a number ---- */

const struct poly_term mono_one = {.coefficient = 1};

static bool is_whole(const struct poly_term *m) { return m->coefficient > INT64_MIN && m->coefficient <= INT64_MAX; }

bool mono_times(struct poly_term *m, const struct poly_term *by) {
    struct poly_term product;
    if (!poly_term_multiply(m, by, &product) || !is_whole(&product)) return false;
    *m = product;
    return true;
}

struct poly_term mono_of_axis(const struct grad *g, int axis) {
    int64_t extent = g->k->axes[axis].extent;
    return extent >= 0 ? (struct poly_term){.coefficient = extent}
                       : (struct poly_term){.coefficient = 1, .n = 1, .atoms = {(uint16_t)axis}};
}

/* v as a product of numbers and extents. */
static bool mono_of(const struct grad *g, const struct value *v, struct poly_term *m) {
    struct poly_term b;
    if (v->kind == V_NUM && fx_is_integer(v->dtype)) return *m = (struct poly_term){.coefficient = v->integer}, true;
    if (v->kind == V_SIZE) return *m = mono_of_axis(g, v->axis), true;
    if (v->kind != V_OP || v->op != O_MUL) return false;
    return mono_of(g, v->args[0], m) && mono_of(g, v->args[1], &b) && mono_times(m, &b);
}

struct value *mono_value(struct grad *g, const struct poly_term *m) {
    struct value *v = m->coefficient == 1 && m->n ? NULL : check_integer(g->c, (int64_t)m->coefficient, FX_I64, g->at);
    for (int i = 0; i < m->n; i++) {
        int axis = m->atoms[i];
        struct value *size = check_size(g->c, &axis, 1, g->at);
        v = v ? grad_op(g, O_MUL, v, size, NULL) : size;
    }
    return v;
}

/* The product as a value; where it is the extent of the axis, that. */
struct value *size_value(struct grad *g, const struct poly_term *m, int axis) {
    struct poly_term size = mono_of_axis(g, axis);
    return poly_term_equal(m, &size) ? check_size(g->c, &axis, 1, g->at) : mono_value(g, m);
}

/* ---- positions as sums of terms ---- */

static void add_term(struct sum *s, const struct poly_term *coefficient, struct value *atom) {
    for (int i = 0; i < s->n; i++) {
        struct grad_term *t = &s->terms[i];
        bool same = t->atom == atom || (t->atom && atom && t->atom->kind == V_INDEX && atom->kind == V_INDEX &&
                                           t->atom->axis == atom->axis);
        if (!same || !poly_same_factors(coefficient, &t->coefficient)) continue;
        t->coefficient.coefficient += coefficient->coefficient;
        return;
    }
    s->terms[s->n++] = (struct grad_term){*coefficient, atom};
}

static bool is_small(const struct poly_term *m) {
    return m->coefficient <= (int64_t)1 << 48 && m->coefficient >= -((int64_t)1 << 48);
} /* MAX_TERMS of them fit */

bool read_sum(const struct grad *g, struct value *v, struct poly_term coefficient, struct sum *s) {
    struct poly_term m;
    if (s->n + 2 > MAX_TERMS || !is_small(&coefficient)) return false;
    if (v->kind == V_OP && (v->op == O_ADD || v->op == O_SUB)) {
        if (!read_sum(g, v->args[0], coefficient, s)) return false;
        if (v->op == O_SUB) coefficient.coefficient = -coefficient.coefficient;
        return read_sum(g, v->args[1], coefficient, s);
    }
    if (v->kind == V_OP && v->op == O_NEG)
        return coefficient.coefficient = -coefficient.coefficient, read_sum(g, v->args[0], coefficient, s);
    if (mono_of(g, v, &m)) {
        if (!mono_times(&coefficient, &m) || !is_small(&coefficient)) return false;
        return add_term(s, &coefficient, NULL), true;
    }
    for (int i = 0; v->kind == V_OP && v->op == O_MUL && i < 2; i++)
        if (mono_of(g, v->args[i], &m))
            return mono_times(&coefficient, &m) && read_sum(g, v->args[1 - i], coefficient, s);
    add_term(s, &coefficient, v);
    return true;
}

bool read_digit(const struct grad *g, const struct value *v, struct digit *d) {
    struct poly_term m;
    if (v->kind == V_INDEX) return *d = (struct digit){.axis = v->axis, .divisor = mono_one}, true;
    if (v->kind != V_OP || (v->op != O_FLOORDIV && v->op != O_MOD)) return false;
    if (!mono_of(g, v->args[1], &m) || m.coefficient <= 0 || !read_digit(g, v->args[0], d)) return false;
    if (v->op == O_MOD) {
        if (d->has_modulus) return false;
        d->modulus = m;
        return d->has_modulus = true;
    }
    return mono_times(&d->divisor, &m) && (!d->has_modulus || poly_term_divide(&d->modulus, &m, &d->modulus));
}
