/* Reverse mode of ops, reductions and scans: what the adjoint of a value adds to those of its operands.
 *
 * In: a value and its adjoint. Out: contributions to its operands. Ops by the derivative column of ops.def, read by the
 * parser and checked where the operands have the names a, b, c. Invariant: nothing infinite is multiplied by a 0 that a
 * condition chose. */
#include "grad/grad_internal.h"

#include <string.h>

/* ---- ops, by the derivative column of ops.def ---- */

struct grad_rules {
    struct op_rules {
        const struct ast_expr *by[3]; /* each operand, NULL for 0 */
    } *of;                            /* op_count ops */
};

static const char *const rule_names[] = {"a", "b", "c", "r", "tie"};
enum { N_RULE_NAMES = sizeof rule_names / sizeof *rule_names };

/* The column as a file of fns, one an entry that is not empty. */
static void print_rules(struct buf *out) {
    for (int op = 0; op < op_count; op++) {
        const char *s = op_info[op].derivative;
        for (int i = 0; *s; i++) {
            while (*s == ' ') s++;
            size_t n = strcspn(s, ";");
            if (n) buf_printf(out, "fn by_%d_of_%s(a, b, c, r, tie) = %.*s\n", i, op_info[op].id, (int)n, s);
            s += n + (s[n] == ';');
        }
    }
}

static const struct grad_rules *rules_of(struct checker *c) {
    struct buf text;
    if (c->grad_rules) return c->grad_rules;
    buf_init(&text, &c->cx->arena);
    print_rules(&text);
    const struct ast_file *file = fx_parse(c->cx, source_open(c->cx, "ops.def", text.s, text.len));
    struct grad_rules *rules = NEW(&c->cx->arena, struct grad_rules);
    rules->of = NEW_ARRAY(&c->cx->arena, struct op_rules, op_count);
    for (const struct ast_item *f = file->items; f; f = f->next)
        for (int op = 0; op < op_count; op++)
            if (name_is((struct name){f->name.s + sizeof "by_0_of", f->name.len - (uint32_t)sizeof "by_0_of"},
                    op_info[op].id))
                rules->of[op].by[f->name.s[3] - '0'] = f->value;
    return c->grad_rules = rules;
}

bool grad_has_rule(struct checker *c, enum op op, int operand) { return rules_of(c)->of[op].by[operand] != NULL; }

/* The derivative of v by its operand i. */
static struct value *derivative(struct grad *g, struct value *v, int i) {
    struct checker *c = g->c;
    struct binding *saved = c->scope;
    bool in_prelude = c->in_prelude;
    bool is_tie = g->is_active[v->args[0]->id] && v->n_args > 1 && g->is_active[v->args[1]->id];
    struct value *values[N_RULE_NAMES] = {
        v->args[0], v->args[1], v->args[2], v, check_number(c, is_tie ? 0.5 : 0, g->at)};
    for (int n = 0; n < N_RULE_NAMES; n++)
        if (values[n]) check_bind(c, (struct name){rule_names[n], (uint32_t)strlen(rule_names[n])}, values[n]);
    c->in_prelude = true;
    struct value *d = check_expr(c, rules_of(c)->of[v->op].by[i]);
    c->in_prelude = in_prelude;
    c->scope = saved;
    return d;
}

enum { MAX_CHOICES = 8 }; /* conditions within conditions, in a derivative */

/* adjoint * d; a condition in d chooses between products, so that nothing infinite meets a 0. */
static struct value *times(struct grad *g, struct value *adjoint, struct value *d, int first_new, int depth) {
    if (depth == MAX_CHOICES || d->kind != V_OP || d->op != O_WHERE || d->id < first_new) {
        struct adjoint_product p = {.n_factors = 1, .factors = {adjoint}};
        product_times(g, &p, d, first_new);
        return p.is_zero ? grad_zero(g, adjoint->dtype) : product_value(g, p, adjoint->dtype);
    }
    struct value *yes = times(g, adjoint, d->args[1], first_new, depth + 1),
                 *no = times(g, adjoint, d->args[2], first_new, depth + 1);
    return grad_is_number(yes, 0) && grad_is_number(no, 0) ? yes : grad_op(g, O_WHERE, d->args[0], yes, no);
}

void grad_pointwise(struct grad *g, struct value *v) {
    for (int i = 0; i < v->n_args; i++) {
        if (!g->is_active[v->args[i]->id] || !rules_of(g->c)->of[v->op].by[i]) continue;
        int first_new = g->k->n_values;
        struct value *adjoint = grad_adjoint(g, v), *d = derivative(g, v, i);
        struct adjoint_product p = {.n_factors = 1, .factors = {adjoint}};
        if (!d) return;
        if (d->kind == V_OP && d->op == O_WHERE && d->id >= first_new) {
            p.factors[0] = times(g, adjoint, d, first_new, 0);
            p.is_zero = grad_is_number(p.factors[0], 0);
        } else {
            product_times(g, &p, d, first_new);
        }
        product_sum_missing(&p, v, v->args[i]);
        grad_add(g, v->args[i], &p);
    }
}

/* ---- reductions and scans ---- */

static struct value *scan(struct grad *g, enum reduction r, struct value *a, int axis) {
    struct value *v = check_new_value(g->c, V_SCAN, g->at);
    v->reduction = r;
    v->dtype = a->dtype;
    v->args[v->n_args++] = a;
    v->axis = axis;
    check_same_axes(v, a);
    return check_rounded(g->c, v, g->at);
}

/* v with its labels axes[0..n) under the names of fresh ones, which go to fresh[]. */
static struct value *renamed(struct grad *g, struct value *v, const int *axes, int n, int *fresh) {
    struct value *positions[MAX_AXES];
    int at[MAX_AXES], n_at = 0;
    for (int i = 0; i < n; i++) {
        fresh[i] = grad_rename(g, axes[i]);
        if (!value_has_axis(v, axes[i])) continue;
        at[n_at] = axes[i];
        positions[n_at++] = check_index(g->c, &fresh[i], 1, g->at);
    }
    return n_at ? grad_read(g, v, at, positions, n_at, NULL) : v;
}

/* The product of all the others: exact where one of them is 0. */
static struct value *product_of_others(struct grad *g, const struct value *v) {
    int fresh[MAX_AXES];
    struct value *x = renamed(g, v->args[0], v->reduced, v->n_reduced, fresh), *is_same = NULL;
    for (int i = 0; i < v->n_reduced; i++) {
        struct value *same = grad_op(
            g, O_EQ, check_index(g->c, &v->reduced[i], 1, g->at), check_index(g->c, &fresh[i], 1, g->at), NULL);
        is_same = is_same ? grad_op(g, O_AND, is_same, same, NULL) : same;
    }
    struct value *others = grad_op(g, O_WHERE, is_same, check_number(g->c, 1, g->at), x);
    return grad_reduction(g, RED_PROD, others, fresh, v->n_reduced);
}

void grad_reduce(struct grad *g, struct value *v) {
    struct value *adjoint = grad_adjoint(g, v), *x = v->args[0];
    struct adjoint_product p = {.n_factors = 1, .factors = {adjoint}};
    if (v->reduction == RED_PROD) {
        p.factors[p.n_factors++] = product_of_others(g, v);
    } else if (v->reduction != RED_SUM) { /* equal extremes share it */
        struct value *is_extreme = grad_op(g, O_EQ, x, v, NULL),
                     *one = check_convert(g->c, check_number(g->c, 1, g->at), v->dtype, g->at);
        struct value *n = grad_reduction(
            g, RED_SUM, grad_op(g, O_WHERE, is_extreme, one, grad_zero(g, v->dtype)), v->reduced, v->n_reduced);
        p.factors[0] = grad_op(g, O_WHERE, is_extreme, grad_op(g, O_DIV, adjoint, n, NULL), grad_zero(g, v->dtype));
    }
    grad_add(g, x, &p);
}

static struct value *reversed(struct grad *g, struct value *v, int axis) {
    struct value *last = grad_op(
        g, O_SUB, check_size(g->c, &axis, 1, g->at), check_integer(g->c, 1, FX_I64, g->at), NULL);
    struct value *position = grad_op(g, O_SUB, last, check_index(g->c, &axis, 1, g->at), NULL);
    return grad_read(g, v, &axis, &position, 1, NULL);
}

/* Each element of a running product without one of them: exact where one is 0. */
static struct value *grad_cumprod(struct grad *g, const struct value *v, struct value *adjoint) {
    int later;
    struct value *x = renamed(g, v->args[0], &v->axis, 1, &later), *one = check_number(g->c, 1, g->at);
    struct value *here = check_index(g->c, &v->axis, 1, g->at), *there = check_index(g->c, &later, 1, g->at);
    struct value *without = scan(g, RED_PROD, grad_op(g, O_WHERE, grad_op(g, O_EQ, here, there, NULL), one, x), later);
    struct value *from = adjoint;
    if (value_has_axis(adjoint, v->axis)) from = grad_read(g, adjoint, &v->axis, &there, 1, NULL);
    struct value *all = grad_op(
        g, O_WHERE, grad_op(g, O_GE, there, here, NULL), grad_multiply(g, from, without, true), grad_zero(g, v->dtype));
    return grad_reduction(g, RED_SUM, all, &later, 1);
}

/* Of g = q + a g from each element to the one before it, q and a as they stand at the elements: what reaches each. a
 * may lack the axis. */
static struct value *from_behind(struct grad *g, struct value *a, struct value *q, int axis) {
    struct value *behind = grad_op(
        g, O_SUB, check_size(g->c, &axis, 1, g->at), check_index(g->c, &axis, 1, g->at), NULL);
    if (value_has_axis(a, axis)) a = grad_read(g, a, &axis, &behind, 1, grad_zero(g, a->dtype));
    if (value_has_axis(q, axis)) q = reversed(g, q, axis);
    struct value *r = check_recurrence(g->c, a, q, axis, g->at);
    return r ? reversed(g, check_rounded(g->c, r, g->at), axis) : q;
}

/* v one element earlier; at the first 0. */
static struct value *before(struct grad *g, struct value *v, int axis) {
    struct value *at = grad_op(
        g, O_SUB, check_index(g->c, &axis, 1, g->at), check_integer(g->c, 1, FX_I64, g->at), NULL);
    return grad_read(g, v, &axis, &at, 1, grad_zero(g, v->dtype));
}

static void grad_recur(struct grad *g, struct value *v) {
    struct value *adjoint = grad_adjoint(g, v), *b = v->args[0], *a = v->args[1];
    struct value *here = check_index(g->c, &v->axis, 1, g->at), *zero = grad_zero(g, v->dtype);
    if (!value_has_axis(adjoint, v->axis) && !value_has_axis(a, v->axis)) /* the same for all elements */
        adjoint = grad_op(
            g, O_WHERE, grad_op(g, O_LT, here, check_size(g->c, &v->axis, 1, g->at), NULL), adjoint, zero);
    struct value *reached = from_behind(g, a, adjoint, v->axis);
    struct adjoint_product p = {.n_factors = 1, .factors = {reached}};
    product_sum_missing(&p, v, b);
    grad_add(g, b, &p);
    if (!g->is_active[a->id]) return;
    struct value *is_later = grad_op(g, O_GT, here, check_integer(g->c, 0, FX_I64, g->at), NULL);
    struct value *by_a = grad_op(g, O_MUL, reached, before(g, v, v->axis), NULL);
    p = (struct adjoint_product){.n_factors = 1, .factors = {grad_op(g, O_WHERE, is_later, by_a, zero)}};
    product_sum_missing(&p, v, a);
    grad_add(g, a, &p);
}

/* Equal extremes so far share what reaches the running one: each q, an adjoint over their number, is added up from
 * behind as far as the extreme is the same. */
static struct value *grad_running_extreme(struct grad *g, struct value *v, struct value *adjoint) {
    struct value *x = v->args[0], *zero = grad_zero(g, v->dtype),
                 *one = check_convert(g->c, check_number(g->c, 1, g->at), v->dtype, g->at);
    struct value *is_new = grad_op(g, v->reduction == RED_MAX ? O_GT : O_LT, x, before(g, v, v->axis), NULL);
    struct value *is_extreme = grad_op(g, O_EQ, x, v, NULL), *keeps = grad_op(g, O_WHERE, is_new, zero, one);
    struct value *n = check_recurrence(g->c, keeps, grad_op(g, O_WHERE, is_extreme, one, zero), v->axis, g->at);
    if (!n) return zero;
    struct value *q = grad_op(
        g, O_WHERE, grad_op(g, O_ISNAN, v, NULL, NULL), zero, grad_op(g, O_DIV, adjoint, n, NULL));
    return grad_op(g, O_WHERE, is_extreme, from_behind(g, keeps, q, v->axis), zero);
}

void grad_scan(struct grad *g, struct value *v) {
    struct value *adjoint = grad_adjoint(g, v);
    if (v->reduction == RED_RECUR) {
        grad_recur(g, v);
    } else if (v->reduction == RED_MAX || v->reduction == RED_MIN) {
        grad_add_value(g, v->args[0], grad_running_extreme(g, v, adjoint));
    } else if (v->reduction == RED_PROD) {
        grad_add_value(g, v->args[0], grad_cumprod(g, v, adjoint));
    } else if (value_has_axis(adjoint, v->axis)) {
        grad_add_value(g, v->args[0], reversed(g, scan(g, RED_SUM, reversed(g, adjoint, v->axis), v->axis), v->axis));
    } else { /* the same for all: it counts once for each element from here on */
        struct value *rest = grad_op(
            g, O_SUB, check_size(g->c, &v->axis, 1, g->at), check_index(g->c, &v->axis, 1, g->at), NULL);
        grad_add_value(g, v->args[0], grad_multiply(g, adjoint, check_convert(g->c, rest, v->dtype, g->at), false));
    }
}
