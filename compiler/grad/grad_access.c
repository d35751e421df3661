/* Reverse mode of an access: where each element of what was read went.
 *
 * In: an access and its adjoint. Out: the adjoint of what it reads, over the labels of that, and of the value outside.
 * An element s of the source was read wherever its positions equal s. Each position is solved for a label of the result
 * where that can be done: the adjoint is then read at the solution, and labels in no solution are summed over. What
 * cannot be solved becomes a condition `position == s`. Adjoints stay products while this is done, so that the adjoint
 * of a convolution is a contraction. Invariant: a label of the result that is also one of the source's is renamed
 * before the two meet. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- the access being turned around ---- */

struct inverse {
    struct grad *g;
    const struct value *v;         /* the access */
    const struct value *source;    /* what it reads */
    struct value **solution; /* by axis: the running index along a label of the result, over labels of the source and
                                those summed over; NULL: itself */
    bool *is_pinned;               /* by axis: cannot be solved for any more, or was */
    bool *is_solved;               /* by axis: is a function of the others */
    int n_axes;                    /* of the kernel, when this began: the length of these */
    bool is_done[MAX_AXES];        /* by position: its solution says it all */
    struct value *mask;            /* what must hold besides, or NULL */
    struct adjoint_product p;              /* the adjoint */
    bool has_sums;                 /* which came with labels to sum over */
};

static bool is_passed(const struct value *v, int axis) { /* a label of the source that is no position's */
    for (int i = 0; i < v->n_at; i++)
        if (v->at[i] == axis) return false;
    return value_has_axis(v->args[0], axis);
}

static bool may_solve(const struct inverse *x, int axis) {
    return axis < x->n_axes && value_has_axis(x->v, axis) && !is_passed(x->v, axis) && !x->is_pinned[axis];
}

static void require_mask(struct inverse *x, struct value *condition) {
    x->mask = x->mask ? grad_op(x->g, O_AND, x->mask, condition, NULL) : condition;
}

int grad_rename(struct grad *g, int like) {
    int axis = g->k->n_axes;
    struct axis a = g->k->axes[like];
    a.part_of = -1;
    a.is_inner = a.is_local = true;
    PUSH(&g->c->cx->arena, g->k->axes, g->k->n_axes) = a;
    extent_equate(g->c, axis, &like, 1, false, g->at->span);
    return axis;
}

/* A label that stays is summed over, under a name that the source does not have. */
static void pin(struct inverse *x, int axis) {
    if (is_passed(x->v, axis) || x->is_pinned[axis]) return;
    x->is_pinned[axis] = true;
    int stands = axis;
    if (value_has_axis(x->source, axis)) {
        stands = grad_rename(x->g, axis);
        x->solution[axis] = check_index(x->g->c, &stands, 1, x->g->at);
    }
    product_sum_over(&x->p, stands);
}

static void pin_labels(struct inverse *x, const struct value *v) {
    for (int i = 0; i < v->n_axes; i++) pin(x, v->axes[i]);
}

/* v, a position or a part of one, with every label by its solution. */
static struct value *substituted(struct inverse *x, struct value *v) {
    struct value *args[3] = {NULL};
    bool changed = false;
    if (v->kind == V_INDEX) return v->axis < x->n_axes && x->solution[v->axis] ? x->solution[v->axis] : v;
    if (v->kind != V_OP && v->kind != V_CAST) return v;
    for (int i = 0; i < v->n_args; i++) {
        args[i] = substituted(x, v->args[i]);
        changed |= args[i] != v->args[i];
    }
    if (!changed) return v;
    return v->kind == V_CAST ? check_convert(x->g->c, args[0], v->to, x->g->at)
                             : grad_op(x->g, v->op, args[0], args[1], args[2]);
}

static struct value *place_index(struct inverse *x, int position) {
    return check_index(x->g->c, &x->v->at[position], 1, x->g->at);
}

/* v + sign * coefficient * atom; v may be NULL: 0. */
static struct value *plus(struct inverse *x, struct value *v, const struct grad_term *t, int sign) {
    struct grad *g = x->g;
    struct poly_term m = t->coefficient;
    bool subtract = (sign < 0) != (m.coefficient < 0);
    if (m.coefficient == 0) return v;
    if (m.coefficient < 0) m.coefficient = -m.coefficient;
    bool is_unit = m.coefficient == 1 && m.n == 0 && t->atom;
    struct value *term = is_unit ? substituted(x, t->atom) : mono_value(g, &m);
    if (t->atom && !is_unit) term = grad_op(g, O_MUL, term, substituted(x, t->atom), NULL);
    if (!v) return subtract ? grad_op(g, O_NEG, term, NULL, NULL) : term;
    return grad_op(g, subtract ? O_SUB : O_ADD, v, term, NULL);
}

static void solve(struct inverse *x, int axis, struct value *solution) {
    x->solution[axis] = solution;
    x->is_pinned[axis] = x->is_solved[axis] = true;
}

/* ---- positions that are digits of one label: what flattening, repetition and tiling read at ---- */

static bool is_digit_of(const struct inverse *x, int position, int axis, struct digit *d) {
    return !x->is_done[position] && read_digit(x->g, x->v->args[1 + position], d) && d->axis == axis;
}

/* A new label to sum over, as long as the product; or, with `of`, as a label has groups of so many. */
static int add_digit(struct inverse *x, const struct poly_term *m, int of) {
    struct kernel *k = x->g->k;
    struct arena *a = &x->g->c->cx->arena;
    int axis = k->n_axes, n = 0;
    struct axis new = k->axes[of < 0 ? m->n ? m->atoms[0] : 0 : of];
    int64_t extent = new.extent, c = (int64_t)m->coefficient;
    new.part_of = -1;
    new.is_inner = new.is_local = true;
    new.extent = m->n ? -1 : of < 0 ? c : extent < 0 ? -1 : (extent + c - 1) / c;
    PUSH(a, k->axes, k->n_axes) = new;
    product_sum_over(&x->p, axis);
    if (new.extent >= 0) return axis;
    struct fx_term *terms = NEW_ARRAY(a, struct fx_term, 2 * m->n + 4);
    if (of >= 0) terms[n++] = (struct fx_term){FX_T_EXTENT, of};
    terms[n++] = (struct fx_term){FX_T_CONST, c};
    for (int i = 0; i < m->n; i++) {
        terms[n++] = (struct fx_term){FX_T_EXTENT, m->atoms[i]};
        terms[n++] = (struct fx_term){FX_T_MUL, 0};
    }
    if (of >= 0) terms[n++] = (struct fx_term){FX_T_CDIV, 0};
    PUSH(a, k->equations, k->n_equations) = (struct equation){.axis = axis,
        .value = {n, terms},
        .text = arena_printf(a, "groups of " NAME_FMT, NAME_ARG(new.name)),
        .span = x->g->at->span};
    return axis;
}

struct mixed_radix { /* a label as digits, lowest first */
    int n;
    int axes[2 * MAX_AXES];           /* each digit is the running index along one */
    struct poly_term places[2 * MAX_AXES]; /* what it counts */
};

static void add_place(struct mixed_radix *x, const struct poly_term *place, int axis) {
    x->places[x->n] = *place;
    x->axes[x->n++] = axis;
}

/* ((highest * size + next) * size + ..): the row-major index where each place is the size of those below. */
static struct value *number_value(struct inverse *x, const struct mixed_radix *n) {
    struct grad *g = x->g;
    struct value *v = check_index(g->c, &n->axes[n->n - 1], 1, g->at);
    for (int i = n->n - 2; i >= 0; i--) {
        struct poly_term ratio;
        poly_term_divide(&n->places[i + 1], &n->places[i], &ratio);
        v = grad_op(g, O_MUL, v, size_value(g, &ratio, n->axes[i]), NULL);
        v = grad_op(g, O_ADD, v, check_index(g->c, &n->axes[i], 1, g->at), NULL);
    }
    return v;
}

/* The position whose digit of the label comes next above `place`, or -1. */
static int next_digit(struct inverse *x, int axis, const struct poly_term *place, struct digit *d) {
    int best = -1;
    struct poly_term gap, least = {0};
    for (int i = 0; i < x->v->n_at; i++) {
        struct digit other;
        if (!is_digit_of(x, i, axis, &other) || !poly_term_divide(&other.divisor, place, &gap)) continue;
        struct poly_term between;
        if (best >= 0 && !(poly_term_divide(&least, &gap, &between) && !poly_term_equal(&least, &gap))) continue;
        best = i;
        least = gap;
        *d = other;
    }
    return best;
}

/* Solves the positions that are digits of the label, if any is more than the label itself. */
static void solve_digits(struct inverse *x, int axis) {
    struct digit d;
    bool is_split = false;
    for (int i = 0; i < x->v->n_at; i++)
        if (is_digit_of(x, i, axis, &d)) is_split |= d.has_modulus || !poly_term_equal(&d.divisor, &mono_one);
    if (!is_split || !may_solve(x, axis)) return;
    struct poly_term place = mono_one, gap;
    struct mixed_radix digits = {0};
    bool is_open = true; /* the digits so far leave multiples of `place` open */
    for (int i; is_open && (i = next_digit(x, axis, &place, &d)) >= 0;) {
        struct poly_term size = mono_of_axis(x->g, x->v->at[i]);
        poly_term_divide(&d.divisor, &place, &gap);
        if (!poly_term_equal(&gap, &mono_one)) add_place(&digits, &place, add_digit(x, &gap, -1));
        add_place(&digits, &d.divisor, x->v->at[i]);
        x->is_done[i] = true;
        place = d.divisor;
        is_open = d.has_modulus && mono_times(&place, &d.modulus);
        if (d.has_modulus && !poly_term_equal(&size, &d.modulus))
            require_mask(x, grad_op(x->g, O_LT, place_index(x, i), mono_value(x->g, &d.modulus), NULL));
    }
    if (is_open) add_place(&digits, &place, add_digit(x, &place, axis));
    solve(x, axis, number_value(x, &digits));
}

/* ---- positions that are sums of labels ---- */

/* v and sign times every term but those in `left_out`, a bit each; v may be NULL: 0. */
static struct value *plus_rest(struct inverse *x, struct value *v, const struct sum *s, unsigned left_out, int sign) {
    for (int i = 0; i < s->n; i++)
        if (!(left_out >> i & 1) && s->terms[i].atom) pin_labels(x, s->terms[i].atom);
    for (int i = 0; i < s->n; i++)
        if (!(left_out >> i & 1)) v = plus(x, v, &s->terms[i], sign);
    return v;
}

/* Whether the term is a multiple of a label that can be solved for. */
static bool is_candidate(const struct inverse *x, const struct sum *s, int i) {
    const struct value *atom = s->terms[i].atom;
    if (!atom || atom->kind != V_INDEX || !may_solve(x, atom->axis) || s->terms[i].coefficient.coefficient == 0)
        return false;
    for (int j = 0; j < s->n; j++)
        if (j != i && s->terms[j].atom && value_has_axis(s->terms[j].atom, atom->axis)) return false;
    return true;
}

/* The terms as digits of a number, lowest first: each is a multiple of what those below can reach. False where they are
 * not. */
static bool order_radix(const struct inverse *x, const struct sum *s, int *order, int *n, unsigned *set) {
    *n = 0;
    *set = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->terms[i].atom) continue;
        if (is_candidate(x, s, i) && s->terms[i].coefficient.coefficient > 0) *set |= 1u << i, ++*n;
        else if (s->terms[i].atom->n_axes) return false;
    }
    unsigned left = *set;
    for (int place = 0; place < *n; place++) {
        int lowest = -1;
        for (int i = 0; i < s->n && lowest < 0; i++) {
            if (!(left >> i & 1)) continue;
            struct poly_term reach = s->terms[i].coefficient, size = mono_of_axis(x->g, s->terms[i].atom->axis), ratio;
            bool is_lowest = mono_times(&reach, &size);
            for (int j = 0; j < s->n && is_lowest; j++) {
                if (j == i || !(left >> j & 1)) continue;
                const struct poly_term *other = &s->terms[j].coefficient;
                bool numbers = other->n == 0 && reach.n == 0 && other->coefficient >= reach.coefficient &&
                               other->coefficient % s->terms[i].coefficient.coefficient == 0;
                is_lowest = numbers || poly_term_divide(other, &reach, &ratio);
            }
            if (is_lowest) lowest = i;
        }
        if (lowest < 0) return false;
        order[place] = lowest;
        left &= ~(1u << lowest);
    }
    return *n > 1;
}

/* The weight of a digit: the product of the extents below it, as a relabel writes it, where it is that. */
static struct value *place_value(struct inverse *x, const struct sum *s, const int *order, int place) {
    struct poly_term product = mono_one;
    int axes[MAX_TERMS];
    for (int i = 0; i < place; i++) {
        axes[place - 1 - i] = s->terms[order[i]].atom->axis;
        struct poly_term size = mono_of_axis(x->g, axes[place - 1 - i]);
        if (!mono_times(&product, &size)) return mono_value(x->g, &s->terms[order[place]].coefficient);
    }
    bool is_size = place > 0 && poly_term_equal(&product, &s->terms[order[place]].coefficient);
    return is_size ? check_size(x->g->c, axes, place, x->g->at) : mono_value(x->g, &s->terms[order[place]].coefficient);
}

static void solve_radix(struct inverse *x, int position, const struct sum *s, const int *order, int n, unsigned set) {
    struct grad *g = x->g;
    struct value *rest = plus_rest(x, place_index(x, position), s, set, -1);
    for (int i = 0; i < n; i++) {
        const struct poly_term *weight = &s->terms[order[i]].coefficient;
        struct value *digit = rest;
        struct poly_term ratio;
        if (!poly_term_equal(weight, &mono_one))
            digit = grad_op(g, O_FLOORDIV, digit, place_value(x, s, order, i), NULL);
        if (i < n - 1 && poly_term_divide(&s->terms[order[i + 1]].coefficient, weight, &ratio))
            digit = grad_op(g, O_MOD, digit, size_value(g, &ratio, s->terms[order[i]].atom->axis), NULL);
        solve(x, s->terms[order[i]].atom->axis, digit);
    }
    const struct poly_term *least = &s->terms[order[0]].coefficient;
    if (!poly_term_equal(least, &mono_one))
        require_mask(x, grad_op(g, O_EQ, grad_op(g, O_MOD, rest, mono_value(g, least), NULL),
                            check_integer(g->c, 0, FX_I64, g->at), NULL));
}

/* Of several labels the one to solve for: the others are summed over, so the longest; where that is not known the
 * source's own, then the one with the greatest step. */
static bool is_better(const struct inverse *x, int position, const struct grad_term *a, const struct grad_term *b) {
    int64_t length[2] = {x->g->k->axes[a->atom->axis].extent, x->g->k->axes[b->atom->axis].extent};
    for (int i = 0; i < 2; i++)
        if (length[i] < 0) length[i] = INT64_MAX;
    if (length[0] != length[1]) return length[0] > length[1];
    bool own[2] = {a->atom->axis == x->v->at[position], b->atom->axis == x->v->at[position]};
    if (own[0] != own[1]) return own[0];
    wide step[2] = {a->coefficient.coefficient < 0 ? -a->coefficient.coefficient : a->coefficient.coefficient,
        b->coefficient.coefficient < 0 ? -b->coefficient.coefficient : b->coefficient.coefficient};
    return a->coefficient.n != b->coefficient.n ? a->coefficient.n > b->coefficient.n : step[0] > step[1];
}

static void solve_one(struct inverse *x, int position, const struct sum *s, int chosen) {
    struct grad *g = x->g;
    const struct grad_term *t = &s->terms[chosen];
    struct poly_term step = t->coefficient;
    bool is_falling = step.coefficient < 0;
    struct value *v = plus_rest(x, is_falling ? NULL : place_index(x, position), s, 1u << chosen, is_falling ? 1 : -1);
    if (is_falling) {
        v = v ? grad_op(g, O_SUB, v, place_index(x, position), NULL)
              : grad_op(g, O_NEG, place_index(x, position), NULL, NULL);
        step.coefficient = -step.coefficient;
    }
    if (!poly_term_equal(&step, &mono_one)) {
        struct value *by = mono_value(g, &step);
        require_mask(x, grad_op(g, O_EQ, grad_op(g, O_MOD, v, by, NULL), check_integer(g->c, 0, FX_I64, g->at), NULL));
        v = grad_op(g, O_FLOORDIV, v, by, NULL);
    }
    solve(x, t->atom->axis, v);
}

static void solve_sum(struct inverse *x, int position) {
    struct sum s = {0};
    int order[MAX_TERMS], n, chosen = -1;
    unsigned set;
    if (!read_sum(x->g, x->v->args[1 + position], mono_one, &s)) return;
    if (order_radix(x, &s, order, &n, &set)) {
        solve_radix(x, position, &s, order, n, set);
        x->is_done[position] = true;
        return;
    }
    for (int i = 0; i < s.n; i++)
        if (is_candidate(x, &s, i) && (chosen < 0 || is_better(x, position, &s.terms[i], &s.terms[chosen]))) chosen = i;
    if (chosen < 0) return;
    solve_one(x, position, &s, chosen);
    x->is_done[position] = true;
}

/* ---- the adjoint, read at the solutions ---- */

/* Positions that could not be solved hold where they equal the element's place. */
static void compare_rest(struct inverse *x) {
    for (int i = 0; i < x->v->n_at; i++) {
        if (x->is_done[i]) continue;
        pin_labels(x, x->v->args[1 + i]);
        require_mask(x, grad_op(x->g, O_EQ, place_index(x, i), substituted(x, x->v->args[1 + i]), NULL));
    }
}

/* Whether the label is read at a position other than its own index. */
static bool is_gathered(const struct inverse *x, int axis) {
    const struct value *to = axis < x->n_axes && value_has_axis(x->v, axis) ? x->solution[axis] : NULL;
    return to && !(to->kind == V_INDEX && to->axis == axis);
}

/* Factors that are gathered are gathered as one product, where no sum is to become a contraction. */
static void join_gathered(struct inverse *x) {
    struct adjoint_product gathered = {0}, rest = x->p;
    rest.n_factors = 0;
    for (int i = 0; i < x->p.n_factors; i++) {
        struct value *f = x->p.factors[i];
        bool is_read = false;
        for (int a = 0; a < f->n_axes; a++) is_read |= is_gathered(x, f->axes[a]);
        struct adjoint_product *p = is_read ? &gathered : &rest;
        p->factors[p->n_factors++] = f;
    }
    if (gathered.n_factors < 2) return;
    product_join(x->g, &gathered, x->v->dtype);
    rest.factors[rest.n_factors++] = gathered.factors[0];
    x->p = rest;
}

static struct value *read_factor(struct inverse *x, struct value *f) {
    struct grad *g = x->g;
    struct value *positions[MAX_AXES];
    int at[MAX_AXES], n = 0;
    bool is_inside = true;
    const char *why;
    for (int i = 0; i < f->n_axes; i++) {
        int axis = f->axes[i];
        if (!is_gathered(x, axis)) continue;
        at[n] = axis;
        positions[n] = x->solution[axis];
        is_inside = is_inside && bounds_prove(g->c, positions[n], axis, &why);
        n++;
    }
    return n ? grad_read(g, f, at, positions, n, is_inside ? NULL : grad_zero(g, f->dtype)) : f;
}

/* A solution must be an index of its label; where a factor is read there, what lies outside it says so. */
static void require_range(struct inverse *x, int axis) {
    struct grad *g = x->g;
    const char *why;
    for (int i = 0; i < x->p.n_factors; i++)
        if (value_has_axis(x->p.factors[i], axis)) return;
    if (bounds_prove(g->c, x->solution[axis], axis, &why)) return;
    require_mask(x, grad_op(g, O_LE, check_integer(g->c, 0, FX_I64, g->at), x->solution[axis], NULL));
    require_mask(x, grad_op(g, O_LT, x->solution[axis], check_size(g->c, &axis, 1, g->at), NULL));
}

static void add_to_source(struct inverse *x) {
    struct grad *g = x->g;
    for (int i = 0; i < x->n_axes; i++)
        if (x->is_solved[i]) require_range(x, i);
    if (!x->has_sums) join_gathered(x);
    for (int i = 0; i < x->p.n_factors; i++) x->p.factors[i] = read_factor(x, x->p.factors[i]);
    if (x->mask && x->p.n_factors == 0) product_join(g, &x->p, x->v->dtype);
    if (x->mask) x->p.factors[0] = grad_op(g, O_WHERE, x->mask, x->p.factors[0], grad_zero(g, x->v->dtype));
    grad_add(g, x->v->args[0], &x->p);
}

/* Solves positions with fewest labels first: those of others may then be known. */
static void solve_positions(struct inverse *x) {
    for (int i = 0; i < x->v->n_axes; i++) solve_digits(x, x->v->axes[i]);
    for (int n = 0; n <= MAX_AXES; n++)
        for (int i = 0; i < x->v->n_at; i++)
            if (!x->is_done[i] && x->v->args[1 + i]->n_axes == n) solve_sum(x, i);
    compare_rest(x);
    for (int i = 0; i < x->v->n_axes; i++) pin(x, x->v->axes[i]); /* of the value outside, or of no position left */
}

/* ---- which accesses ---- */

/* Whether data hold a position of which each element of the source is read at most once for what passes through. */
static bool is_of_passed(const struct value *access, const struct value *data) {
    for (int i = 0; i < data->n_axes; i++)
        if (!is_passed(access, data->axes[i])) return false;
    return true;
}

/* What a position depends on that no adjoint can be read back through; NULL: nothing. A position of none is at most
 * MAX_NESTING ops deep. */
static const struct value *obstacle(const struct value *access, const struct value *v, int depth) {
    const struct value *found = NULL;
    if (v->kind == V_NUM || v->kind == V_INDEX || v->kind == V_SIZE || v->kind == V_SCALAR) return NULL;
    if (v->kind != V_OP && v->kind != V_CAST) return is_of_passed(access, v) ? NULL : v;
    if (v->op == O_PHILOX || depth > MAX_NESTING) return v;
    for (int i = 0; i < v->n_args && !found; i++) found = obstacle(access, v->args[i], depth + 1);
    return found;
}

static bool check_positions(struct grad *g, const struct value *v) {
    for (int i = 0; i < v->n_at; i++) {
        const struct value *bad = obstacle(v, v->args[1 + i], 0);
        if (!bad) continue;
        struct name axis = g->k->axes[v->at[i]].name;
        diag_error(g->c->cx, v->span, D_SCATTER,
            "the gradient of %s needs a scatter: the position along " NAME_FMT " depends on data%s%s",
            check_expr_text(g->c, g->at), NAME_ARG(axis), bad->kind == V_LOAD ? ", " : "",
            bad->kind == V_LOAD ? g->k->params[bad->param].name : "");
        diag_fix(g->c->cx, "take the gradient by other inputs, or write detach(..) around what is read");
        return false;
    }
    return true;
}

/* Where the value outside was read. */
static void grad_outside(struct grad *g, struct value *v, struct value *adjoint) {
    struct value *is_inside = NULL, *fill = v->args[1 + v->n_at];
    for (int i = 0; i < v->n_at; i++) {
        struct value *at = v->args[1 + i], *least = check_integer(g->c, 0, FX_I64, g->at);
        struct value *within = grad_op(g, O_AND, grad_op(g, O_LE, least, at, NULL),
            grad_op(g, O_LT, at, check_size(g->c, &v->at[i], 1, g->at), NULL), NULL);
        is_inside = is_inside ? grad_op(g, O_AND, is_inside, within, NULL) : within;
    }
    struct adjoint_product p = {.n_factors = 1,
        .factors = {is_inside ? grad_op(g, O_WHERE, is_inside, grad_zero(g, v->dtype), adjoint) : adjoint}};
    for (int i = 0; i < v->n_axes; i++)
        if (!value_has_axis(fill, v->axes[i])) product_sum_over(&p, v->axes[i]);
    if (is_inside) grad_add(g, fill, &p);
}

/* The adjoint of v as a product, if its labels summed over are none of the source's and it divides by nothing. */
static struct adjoint_product pending_of(struct grad *g, const struct value *v) {
    const struct adjoint *a = &g->adjoints[v->id];
    struct adjoint_product p = a->pending;
    bool may_pend = a->has_pending && !(v->has_fill && g->is_active[v->args[1 + v->n_at]->id]);
    for (int i = 0; may_pend && i < p.n_summed; i++) may_pend = !value_has_axis(v->args[0], p.summed[i]);
    if (!may_pend) return (struct adjoint_product){.n_factors = 1, .factors = {grad_adjoint(g, v)}};
    if (p.n_over || p.is_negative) product_join(g, &p, v->dtype);
    return p;
}

void grad_access(struct grad *g, struct value *v) {
    struct arena *a = &g->c->cx->arena;
    bool by_source = g->is_active[v->args[0]->id], by_fill = v->has_fill && g->is_active[v->args[1 + v->n_at]->id];
    if (by_source && !check_positions(g, v)) return;
    struct inverse x = {.g = g, .v = v, .source = v->args[0], .n_axes = g->k->n_axes};
    x.p = pending_of(g, v);
    x.has_sums = x.p.n_summed > 0;
    if (by_fill) grad_outside(g, v, grad_adjoint(g, v));
    if (!by_source) return;
    x.solution = NEW_ARRAY(a, struct value *, x.n_axes + 1);
    x.is_pinned = NEW_ARRAY(a, bool, x.n_axes + 1);
    x.is_solved = NEW_ARRAY(a, bool, x.n_axes + 1);
    solve_positions(&x);
    add_to_source(&x);
}
