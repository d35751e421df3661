/* Reverse mode: adjoints as sums of products that are put off until they are one value.
 *
 * In: factors, and labels to sum over. Out: values of the kernel being made. Invariant: what is not summed over stands
 * before the sum, and a label that one factor alone carries is summed there, so that what is left is a contraction or
 * no sum of a product at all. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- values ---- */

bool grad_is_number(const struct value *v, double num) {
    return v->kind == V_NUM && v->dtype != FX_BOOL && v->num == num;
}

struct value *grad_op(struct grad *g, enum op op, struct value *a, struct value *b, struct value *c) {
    struct value *args[3] = {a, b, c}, *v = check_op(g->c, op, args, g->at);
    return v ? v : a; /* after an error: the walk ends soon */
}

struct value *grad_read(
    struct grad *g, struct value *v, const int *at, struct value *const *positions, int n, struct value *outside) {
    struct value *r = check_read(g->c, v, at, positions, n, outside, g->at);
    return r ? r : v;
}

struct value *grad_zero(struct grad *g, enum fx_dtype t) {
    return check_convert(g->c, check_weak_integer(g->c, 0, g->at), t, g->at);
}

struct value *grad_reduction(struct grad *g, enum reduction r, struct value *a, const int *axes, int n) {
    struct value *v = check_new_value(g->c, V_REDUCE, g->at);
    v->reduction = r;
    v->dtype = a->dtype;
    v->args[v->n_args++] = a;
    v->n_reduced = n;
    memcpy(v->reduced, axes, (size_t)n * sizeof *axes);
    v->is_decided = a->is_decided;
    for (int i = 0; i < a->n_axes; i++) {
        bool gone = false;
        for (int j = 0; j < n; j++) gone |= axes[j] == a->axes[i];
        if (!gone) v->axes[v->n_axes++] = a->axes[i];
    }
    struct value *of_products = r == RED_SUM ? check_product_sum(g->c, a, axes, n, g->at) : NULL;
    if (of_products) check_same_axes(of_products, v);
    return check_rounded(g->c, of_products ? of_products : v, g->at);
}

/* Products that are added up at once: no rounding stands between. */
struct value *grad_multiply(struct grad *g, struct value *a, struct value *b, bool is_summed) {
    bool outside = g->c->is_contracting;
    if (!a || !b) return a ? a : b;
    g->c->is_contracting = is_summed;
    struct value *v = grad_op(g, O_MUL, a, b, NULL);
    g->c->is_contracting = outside;
    return v;
}

/* ---- products ---- */

static bool product_sums(const struct adjoint_product *p, int axis) {
    for (int i = 0; i < p->n_summed; i++)
        if (p->summed[i] == axis) return true;
    return false;
}

void product_sum_over(struct adjoint_product *p, int axis) {
    if (!product_sums(p, axis)) p->summed[p->n_summed++] = axis;
}

static bool sums_label_of(const struct adjoint_product *p, const struct value *v) {
    for (int i = 0; i < v->n_axes; i++)
        if (product_sums(p, v->axes[i])) return true;
    return false;
}

/* Which operand of v is what a condition does not replace by 0; 0: v is no such choice. */
static int chosen_operand(const struct value *v) {
    if (v->kind != V_OP || v->op != O_WHERE) return 0;
    return grad_is_number(v->args[2], 0) ? 1 : grad_is_number(v->args[1], 0) ? 2 : 0;
}

/* a * b, element by element; NULL is 1. A condition that chooses 0 chooses it of the product: the other factor may be
 * infinite. */
static struct value *multiply_within(struct grad *g, struct value *a, struct value *b) {
    int of_a = a ? chosen_operand(a) : 0, of_b = b ? chosen_operand(b) : 0;
    if (!a || !b || (!of_a && !of_b)) return grad_multiply(g, a, b, false);
    const struct value *choice = of_a ? a : b;
    struct value *args[3] = {choice->args[0], choice->args[1], choice->args[2]};
    int of = of_a ? of_a : of_b;
    args[of] = of_a ? multiply_within(g, args[of], b) : multiply_within(g, a, args[of]);
    return grad_op(g, O_WHERE, args[0], args[1], args[2]);
}

/* v times the factors over which p sums if `inside`, those over which it does not otherwise; NULL is 1. */
static struct value *times_part(struct grad *g, struct value *v, const struct adjoint_product *p, bool inside) {
    for (int i = 0; i < p->n_factors; i++)
        if (sums_label_of(p, p->factors[i]) == inside)
            v = inside ? grad_multiply(g, v, p->factors[i], true) : multiply_within(g, v, p->factors[i]);
    return v;
}

static struct value *over_part(
    struct grad *g, struct value *v, const struct adjoint_product *p, bool inside, enum fx_dtype t) {
    for (int i = 0; i < p->n_over; i++) {
        if (sums_label_of(p, p->over[i]) != inside) continue;
        if (!v) v = check_convert(g->c, check_number(g->c, 1, g->at), t, g->at);
        v = grad_op(g, O_DIV, v, p->over[i], NULL);
    }
    return v;
}

/* A label summed over that one factor alone carries is summed there, where that is not the whole product. */
static void sum_lone_labels(struct grad *g, struct adjoint_product *p) {
    for (int i = 0; i < p->n_factors && p->n_factors + p->n_over > 1; i++) {
        int lone[MAX_AXES], n = 0, n_others = 0;
        for (int a = 0; a < p->factors[i]->n_axes; a++) {
            int axis = p->factors[i]->axes[a];
            bool elsewhere = !product_sums(p, axis);
            for (int j = 0; j < p->n_factors; j++) elsewhere |= j != i && value_has_axis(p->factors[j], axis);
            for (int j = 0; j < p->n_over; j++) elsewhere |= value_has_axis(p->over[j], axis);
            if (!elsewhere) lone[n++] = axis;
        }
        for (int j = 0; j < p->n_factors; j++) n_others += j != i && sums_label_of(p, p->factors[j]);
        for (int j = 0; j < p->n_over; j++) n_others += sums_label_of(p, p->over[j]);
        if (!n || !n_others) continue;
        p->factors[i] = grad_reduction(g, RED_SUM, p->factors[i], lone, n);
        int kept = 0;
        for (int s = 0; s < p->n_summed; s++) {
            bool gone = false;
            for (int l = 0; l < n; l++) gone |= lone[l] == p->summed[s];
            if (!gone) p->summed[kept++] = p->summed[s];
        }
        p->n_summed = kept;
    }
}

/* p as one value: factors that carry no label summed over stand before the sum, a label that none carries counts as
 * often as its axis is long. */
struct value *product_value(struct grad *g, struct adjoint_product p, enum fx_dtype t) {
    int axes[2 * MAX_AXES], n = 0;
    sum_lone_labels(g, &p);
    struct value *inner = over_part(g, times_part(g, NULL, &p, true), &p, true, t),
                 *outer = times_part(g, NULL, &p, false);
    for (int i = 0; i < p.n_summed; i++) {
        if (inner && value_has_axis(inner, p.summed[i])) axes[n++] = p.summed[i];
        else
            outer = grad_multiply(
                g, outer, check_convert(g->c, check_size(g->c, &p.summed[i], 1, g->at), t, g->at), false);
    }
    if (n) inner = grad_reduction(g, RED_SUM, inner, axes, n);
    struct value *v = over_part(g, grad_multiply(g, outer, inner, false), &p, false, t);
    if (!v) v = check_convert(g->c, check_number(g->c, 1, g->at), t, g->at);
    if (p.is_negative) v = grad_op(g, O_NEG, v, NULL, NULL);
    return check_convert(g->c, v, t, g->at);
}

void product_join(struct grad *g, struct adjoint_product *p, enum fx_dtype t) {
    struct adjoint_product bare = *p;
    bare.n_summed = 0;
    p->factors[0] = product_value(g, bare, t);
    p->n_factors = 1;
    p->n_over = 0;
    p->is_negative = false;
}

/* p times d. What d multiplies becomes factors where it was made for this and nobody else reads it. */
void product_times(struct grad *g, struct adjoint_product *p, struct value *d, int first_new) {
    bool is_own = d->kind == V_OP && d->id >= first_new;
    if (grad_is_number(d, 0)) {
        p->is_zero = true;
    } else if (grad_is_number(d, 1) || grad_is_number(d, -1)) {
        p->is_negative ^= d->num < 0;
    } else if (is_own && d->op == O_NEG) {
        p->is_negative ^= true;
        product_times(g, p, d->args[0], first_new);
    } else if (is_own && d->op == O_MUL && p->n_factors + 2 <= MAX_FACTORS) {
        product_times(g, p, d->args[0], first_new);
        product_times(g, p, d->args[1], first_new);
    } else if (is_own && d->op == O_DIV && p->n_over < MAX_FACTORS) {
        p->over[p->n_over++] = d->args[1];
        product_times(g, p, d->args[0], first_new);
    } else if (p->n_factors < MAX_FACTORS) {
        p->factors[p->n_factors++] = d->kind == V_NUM ? check_number(g->c, d->num, g->at)
                                                      : d; /* a literal again: it takes the type of what it meets */
    } else {
        p->factors[MAX_FACTORS - 1] = grad_multiply(g, p->factors[MAX_FACTORS - 1], d, true);
    }
}

void product_sum_missing(struct adjoint_product *p, const struct value *of, const struct value *to) {
    for (int i = 0; i < of->n_axes; i++)
        if (!value_has_axis(to, of->axes[i])) product_sum_over(p, of->axes[i]);
}
