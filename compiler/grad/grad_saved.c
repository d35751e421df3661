/* Reverse mode: a gradient reads outputs that its forward kernel has stored, instead of computing them again.
 *
 * In: the outputs that `saved:` names, and the forward's values. Out: a load of each, read wherever the gradient reads
 * the value. A stored log-sum-exp l of x serves more: softmax(x) is e = exp(x - l). With A the adjoint of e and B that
 * of l, the adjoint of x is e * (A + B - sum(A * e)), the sum over the row; where A = sum(dy * v) and y = sum(e * v) is
 * stored, that sum is sum(dy * y). Invariant: values are numbered again afterwards, operands below their readers. */
#include "grad/grad_internal.h"

#include <math.h>
#include <string.h>

/* ---- values that are the same ---- */

static bool is_same_value(const struct grad *g, const struct value *a, const struct value *b) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->n_args != b->n_args || a->n_axes != b->n_axes) return false;
    if (a->kind == V_OP && a->op != b->op) return false;
    if ((a->kind == V_REDUCE || a->kind == V_SCAN) && a->reduction != b->reduction) return false;
    if (a->kind == V_CAST && a->to != b->to) return false;
    if ((a->kind == V_LOAD || a->kind == V_SCALAR) && a->param != b->param) return false;
    if (a->kind == V_NUM && (memcmp(&a->num, &b->num, sizeof a->num) != 0 || a->integer != b->integer)) return false;
    if (a->axis != b->axis || a->n_reduced != b->n_reduced || a->n_at != b->n_at || a->has_fill != b->has_fill ||
        memcmp(a->axes, b->axes, (size_t)a->n_axes * sizeof *a->axes) != 0 ||
        memcmp(a->reduced, b->reduced, (size_t)a->n_reduced * sizeof *a->reduced) != 0 ||
        memcmp(a->at, b->at, (size_t)a->n_at * sizeof *a->at) != 0)
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (g->same[a->args[i]->id] != g->same[b->args[i]->id]) return false;
    return a->kind != V_PLACE;
}

/* By id of the forward's values: the first one that is the same. */
static void find_same(struct grad *g) {
    g->same = NEW_ARRAY(&g->c->cx->arena, int, g->n_forward + 1);
    for (int i = 0; i < g->n_forward; i++) {
        int j = 0;
        while (j < i && (g->same[j] != j || !is_same_value(g, g->k->values[j], g->k->values[i]))) j++;
        g->same[i] = j;
    }
}

static bool are_same(const struct grad *g, const struct value *a, const struct value *b) {
    return a == b || (a->id < g->n_forward && b->id < g->n_forward && g->same[a->id] == g->same[b->id]);
}

static bool is_op(const struct value *v, enum op op) { return v->kind == V_OP && v->op == op; }

static const struct value *uncast(const struct value *v) {
    while (v->kind == V_CAST && fx_is_float(v->args[0]->dtype)) v = v->args[0];
    return v;
}

/* v where s, a sum of exponentials, is more than 0. */
static const struct value *above_0(const struct grad *g, const struct value *v, const struct value *s) {
    while (is_op(v, O_WHERE)) {
        const struct value *c = v->args[0];
        if (c->kind != V_OP || c->n_args != 2 || !are_same(g, c->args[0], s) || !grad_is_number(c->args[1], 0)) break;
        if (c->op == O_EQ || c->op == O_LE) v = v->args[2];
        else if (c->op == O_NE || c->op == O_GT) v = v->args[1];
        else break;
    }
    return v;
}

/* Whether s is the sum of e = exp(x - c), c the same for all that is summed. */
static bool is_sum_of_exp(const struct value *s, const struct value **x, const struct value **c) {
    if (s->kind != V_REDUCE || s->reduction != RED_SUM || !is_op(s->args[0], O_EXP)) return false;
    const struct value *d = s->args[0]->args[0];
    if (!is_op(d, O_SUB)) return false;
    for (int i = 0; i < s->n_reduced; i++)
        if (value_has_axis(d->args[1], s->reduced[i])) return false;
    return *x = d->args[0], *c = d->args[1], true;
}

static bool same_axes(const int *a, int n_a, const int *b, int n_b) {
    bool is = n_a == n_b;
    for (int i = 0; is && i < n_a; i++) {
        is = false;
        for (int j = 0; j < n_b; j++) is |= a[i] == b[j];
    }
    return is;
}

/* ---- log-sum-exps ---- */

/* Whether v is log(s) + c where s is more than 0. */
static bool is_log_sum(const struct grad *g, const struct value *v, const struct value *s, const struct value *c) {
    v = above_0(g, v, s);
    for (int side = 0; is_op(v, O_ADD) && side < 2; side++) {
        const struct value *log = above_0(g, v->args[side], s);
        if (is_op(log, O_LOG) && are_same(g, above_0(g, log->args[0], s), s) && are_same(g, v->args[1 - side], c))
            return true;
    }
    return false;
}

static struct grad_rows *find_rows(struct grad *g, const struct value *x, const int *axes, int n) {
    for (int i = 0; i < g->n_rows; i++)
        if (are_same(g, g->rows[i].x, x) && same_axes(g->rows[i].axes, g->rows[i].n_axes, axes, n)) return &g->rows[i];
    return NULL;
}

/* Takes saved output o, if it is a log-sum-exp, as that of the rows of some x. */
static void add_rows(struct grad *g, const struct grad_saved *o) {
    const struct value *l = uncast(o->value), *x, *c;
    for (int i = 0; i < g->n_forward && g->k->params[o->load->param].dtype == o->load->dtype; i++) {
        const struct value *s = g->k->values[i];
        if (!is_sum_of_exp(s, &x, &c) || s->dtype != o->load->dtype || !is_log_sum(g, l, s, c) ||
            find_rows(g, x, s->reduced, s->n_reduced))
            continue;
        struct value *of = g->k->values[g->same[x->id]];
        struct value *is_finite = grad_op(g, O_LT, grad_op(g, O_ABS, o->load, NULL, NULL),
            check_number(g->c, INFINITY, g->at), NULL);
        struct value *shift = grad_op(g, O_WHERE, is_finite, o->load, grad_zero(g, o->load->dtype));
        struct grad_rows *r = &PUSH(&g->c->cx->arena, g->rows, g->n_rows);
        *r = (struct grad_rows){.x = of,
            .log_sum = l,
            .n_axes = s->n_reduced,
            .exp = grad_op(g, O_EXP, grad_op(g, O_SUB, of, shift, NULL), NULL, NULL)};
        memcpy(r->axes, s->reduced, sizeof r->axes);
        return;
    }
}

/* Marks v where it is exp(x - c) over the sum of such, of rows that have their log-sum-exp: by id, their number + 1. */
static void mark_quotient(struct grad *g, const struct value *v) {
    for (int i = 0; i < v->id; i++) {
        const struct value *s = g->k->values[i], *x, *c;
        if (!is_sum_of_exp(s, &x, &c)) continue;
        const struct value *q = above_0(g, v, s);
        if (!is_op(q, O_DIV) || !are_same(g, q->args[0], s->args[0]) || !are_same(g, above_0(g, q->args[1], s), s))
            continue;
        const struct grad_rows *r = find_rows(g, x, s->reduced, s->n_reduced);
        if (r && r->exp->n_axes == v->n_axes) g->quotient_of[v->id] = (int)(r - g->rows) + 1;
    }
}

/* ---- adjoints ---- */

static bool remove_factor(struct adjoint_product *p, int i) {
    for (p->n_factors--; i < p->n_factors; i++) p->factors[i] = p->factors[i + 1];
    return true;
}

/* Whether y is the sum over all labels of the rows of a quotient of theirs times another value. */
static const struct value *weighted(const struct grad *g, const struct grad_rows *r, const struct value *y) {
    if (y->kind != V_REDUCE || y->reduction != RED_SUM || !same_axes(y->reduced, y->n_reduced, r->axes, r->n_axes) ||
        !is_op(y->args[0], O_MUL))
        return NULL;
    for (int side = 0; side < 2; side++) {
        const struct value *p = y->args[0]->args[side];
        if (p->id < g->n_forward && g->quotient_of[p->id] == (int)(r - g->rows) + 1) return y->args[0]->args[1 - side];
    }
    return NULL;
}

/* A product of the rows' exponentials, summed over their labels, with a factor that a saved sum of theirs has: that sum
 * in the place of both. */
static void use_sums(struct grad *g, const struct grad_rows *r, struct adjoint_product *p) {
    for (int i = 0; i < g->n_saved; i++) {
        const struct value *v = weighted(g, r, uncast(g->saved[i].value));
        for (int a = 0; v && a < p->n_factors; a++) {
            bool stays = !are_same(g, p->factors[a], v);
            for (int b = 0; !stays && b < p->n_factors + p->n_over; b++) {
                const struct value *other = b < p->n_factors ? p->factors[b] : p->over[b - p->n_factors];
                for (int k = 0; k < r->n_axes && b != a && other != r->exp; k++)
                    stays |= value_has_axis(other, r->axes[k]);
            }
            if (stays) continue;
            p->factors[a] = g->saved[i].load;
            for (int b = 0; b < p->n_factors; b++)
                if (p->factors[b] == r->exp && remove_factor(p, b)) break;
            int n = 0;
            for (int s = 0; s < p->n_summed; s++) {
                bool gone = false;
                for (int k = 0; k < r->n_axes; k++) gone |= p->summed[s] == r->axes[k];
                if (!gone) p->summed[n++] = p->summed[s];
            }
            p->n_summed = n;
            return;
        }
    }
}

static void add_to(struct grad *g, struct value **sum, struct value *more) {
    *sum = *sum ? grad_op(g, O_ADD, *sum, more, NULL) : more;
}

bool grad_by_rows(struct grad *g, struct value *v) {
    int number = g->n_rows ? g->quotient_of[v->id] : 0;
    struct adjoint *a = &g->adjoints[v->id];
    for (int i = 0; i < g->n_rows; i++)
        if (g->rows[i].log_sum == v) return add_to(g, &g->rows[i].of_row, grad_adjoint(g, v)), true;
    if (!number) return false;
    struct grad_rows *r = &g->rows[number - 1];
    struct adjoint_product p = {.n_factors = 1};
    if (a->has_pending) p = a->pending;
    else p.factors[0] = a->sum;
    if (p.n_factors + 1 > MAX_FACTORS) product_join(g, &p, v->dtype);
    p.factors[p.n_factors++] = r->exp;
    p.is_negative ^= true;
    for (int k = 0; k < r->n_axes; k++) product_sum_over(&p, r->axes[k]);
    use_sums(g, r, &p);
    add_to(g, &r->of_row, product_value(g, p, v->dtype));
    add_to(g, &r->of_elements, grad_adjoint(g, v));
    return true;
}

void grad_end_rows(struct grad *g, struct value *x) {
    for (int i = 0; i < g->n_rows; i++) {
        struct grad_rows *r = &g->rows[i];
        if (r->x != x || (!r->of_row && !r->of_elements)) continue;
        if (r->of_elements && r->of_row) add_to(g, &r->of_elements, r->of_row);
        struct adjoint_product p = {.n_factors = 2, .factors = {r->of_elements ? r->of_elements : r->of_row, r->exp}};
        for (int f = 0; f < 2; f++) product_sum_missing(&p, p.factors[f], x); /* the shift may have more labels */
        grad_add(g, x, &p);
        r->of_row = r->of_elements = NULL;
    }
}

/* ---- the kernel ---- */

void grad_find_saved(struct grad *g) {
    if (!g->n_saved) return;
    find_same(g);
    for (int i = 0; i < g->n_saved; i++) add_rows(g, &g->saved[i]);
    g->quotient_of = NEW_ARRAY(&g->c->cx->arena, int, g->k->n_values + 1);
    for (int i = 0; i < g->n_forward && g->n_rows; i++)
        if (is_op(g->k->values[i], O_DIV) || is_op(g->k->values[i], O_WHERE)) mark_quotient(g, g->k->values[i]);
}

/* What the gradient reads in the place of v. */
static struct value *reading(const struct grad *g, struct value *v) {
    if (v->id >= g->n_forward) return v;
    for (int i = 0; i < g->n_saved; i++)
        if (are_same(g, v, g->saved[i].value) || are_same(g, v, uncast(g->saved[i].value))) return g->saved[i].load;
    return g->n_rows && g->quotient_of[v->id] ? g->rows[g->quotient_of[v->id] - 1].exp : v;
}

/* Numbers what an output depends on, operands first. */
static void number(struct grad *g, struct value *v, bool *is_done, struct value **values, int *n) {
    if (is_done[v->id]) return;
    is_done[v->id] = true;
    for (int i = 0; i < v->n_args; i++) number(g, v->args[i], is_done, values, n);
    values[(*n)++] = v;
}

void grad_read_saved(struct grad *g) {
    struct kernel *k = g->k;
    if (!g->n_saved) return;
    for (int i = 0; i < k->n_values; i++)
        for (int a = 0; a < k->values[i]->n_args; a++) k->values[i]->args[a] = reading(g, k->values[i]->args[a]);
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].result) k->params[i].result = reading(g, k->params[i].result);
    bool *is_done = NEW_ARRAY(&g->c->cx->arena, bool, k->n_values + 1);
    struct value **values = NEW_ARRAY(&g->c->cx->arena, struct value *, k->n_values + 1);
    int n = 0;
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].result) number(g, k->params[i].result, is_done, values, &n);
    for (int i = 0; i < n; i++) values[i]->id = i;
    k->values = values;
    k->n_values = n;
}
