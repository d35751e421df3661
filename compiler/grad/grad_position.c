/* Positions of an access taken apart, to be solved for a label: as sums of terms, as digits of one label.
 *
 * In: a value of integers. Out: coefficients that are numbers times extents, and what they multiply. Whatever has another form is one term. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- products of extents, with a number ---- */

const struct mono mono_one = {.c = 1};

bool mono_times(struct mono *m, const struct mono *by) {
    if (m->n + by->n > MAX_AXES || __builtin_mul_overflow(m->c, by->c, &m->c)) return false;
    for (int i = 0; i < by->n; i++) {
        int at = m->n++;
        for (; at > 0 && m->axes[at - 1] > by->axes[i]; at--) m->axes[at] = m->axes[at - 1];
        m->axes[at] = by->axes[i];
    }
    return true;
}

struct mono mono_of_axis(const struct grad *g, int axis) {
    int64_t extent = g->k->axes[axis].extent;
    return extent >= 0 ? (struct mono){.c = extent} : (struct mono){.c = 1, .n = 1, .axes = {axis}};
}

bool mono_equal(const struct mono *a, const struct mono *b) {
    return a->c == b->c && a->n == b->n && memcmp(a->axes, b->axes, (size_t)a->n * sizeof *a->axes) == 0;
}

/* a / b, where that is a whole number whatever the extents are. */
bool mono_divide(const struct mono *a, const struct mono *b, struct mono *out) {
    struct mono q = {0};
    int at = 0;
    if (b->c == 0 || a->c == INT64_MIN || a->c % b->c != 0) return false;
    q.c = a->c / b->c;
    for (int i = 0; i < a->n; i++)
        if (at < b->n && b->axes[at] == a->axes[i]) at++;
        else q.axes[q.n++] = a->axes[i];
    *out = q;
    return at == b->n;
}

/* v as a product of numbers and extents. */
static bool mono_of(const struct grad *g, const struct value *v, struct mono *m, int depth) {
    struct mono b;
    if (depth > MAX_NESTING) return false;
    if (v->kind == V_NUM && fx_is_integer(v->dtype)) return *m = (struct mono){.c = v->integer}, true;
    if (v->kind == V_SIZE) return *m = mono_of_axis(g, v->axis), true;
    if (v->kind != V_OP || v->op != O_MUL) return false;
    return mono_of(g, v->args[0], m, depth + 1) && mono_of(g, v->args[1], &b, depth + 1) && mono_times(m, &b);
}

struct value *mono_value(struct grad *g, const struct mono *m) {
    struct value *v = m->c == 1 && m->n ? NULL : check_integer(g->c, m->c, FX_I64, g->at);
    for (int i = 0; i < m->n; i++) {
        struct value *size = check_size(g->c, &m->axes[i], 1, g->at);
        v = v ? grad_op(g, O_MUL, v, size, NULL) : size;
    }
    return v;
}

/* The product as a value; where it is the extent of the axis, that. */
struct value *size_value(struct grad *g, const struct mono *m, int axis) {
    struct mono size = mono_of_axis(g, axis);
    return mono_equal(m, &size) ? check_size(g->c, &axis, 1, g->at) : mono_value(g, m);
}

/* ---- positions as sums of terms ---- */

static void add_term(struct sum *s, const struct mono *coefficient, struct value *atom) {
    for (int i = 0; i < s->n; i++) {
        struct grad_term *t = &s->terms[i];
        bool same = t->atom == atom || (t->atom && atom && t->atom->kind == V_INDEX && atom->kind == V_INDEX && t->atom->axis == atom->axis);
        struct mono a = *coefficient, b = t->coefficient;
        int64_t c = a.c;
        a.c = b.c = 1;
        if (!same || !mono_equal(&a, &b)) continue;
        t->coefficient.c += c;
        return;
    }
    s->terms[s->n++] = (struct grad_term){*coefficient, atom};
}

static bool is_small(const struct mono *m) { return m->c <= (int64_t)1 << 48 && m->c >= -((int64_t)1 << 48); } /* MAX_TERMS of them fit */

bool read_sum(const struct grad *g, struct value *v, struct mono coefficient, struct sum *s, int depth) {
    struct mono m;
    if (s->n + 2 > MAX_TERMS || depth > MAX_NESTING || !is_small(&coefficient)) return false;
    if (v->kind == V_OP && (v->op == O_ADD || v->op == O_SUB)) {
        if (!read_sum(g, v->args[0], coefficient, s, depth + 1)) return false;
        if (v->op == O_SUB) coefficient.c = -coefficient.c;
        return read_sum(g, v->args[1], coefficient, s, depth + 1);
    }
    if (v->kind == V_OP && v->op == O_NEG) return coefficient.c = -coefficient.c, read_sum(g, v->args[0], coefficient, s, depth + 1);
    if (mono_of(g, v, &m, 0)) {
        if (!mono_times(&coefficient, &m) || !is_small(&coefficient)) return false;
        return add_term(s, &coefficient, NULL), true;
    }
    for (int i = 0; v->kind == V_OP && v->op == O_MUL && i < 2; i++)
        if (mono_of(g, v->args[i], &m, 0)) return mono_times(&coefficient, &m) && read_sum(g, v->args[1 - i], coefficient, s, depth + 1);
    add_term(s, &coefficient, v);
    return true;
}

bool read_digit(const struct grad *g, const struct value *v, struct digit *d, int depth) {
    struct mono m;
    if (v->kind == V_INDEX) return *d = (struct digit){.axis = v->axis, .divisor = mono_one}, true;
    if (depth > MAX_NESTING || v->kind != V_OP || (v->op != O_FLOORDIV && v->op != O_MOD)) return false;
    if (!mono_of(g, v->args[1], &m, 0) || m.c <= 0 || !read_digit(g, v->args[0], d, depth + 1)) return false;
    if (v->op == O_MOD) {
        if (d->has_modulus) return false;
        d->modulus = m;
        return d->has_modulus = true;
    }
    return mono_times(&d->divisor, &m) && (!d->has_modulus || mono_divide(&d->modulus, &m, &d->modulus));
}
