/* Expressions of the plan while they are written: postfix terms over extents, alignments and strides.
 *
 * In: terms one after another. Out: an expression whose constant parts are numbers; a condition without parts that
 * always hold. */
#include "graph/terms.h"

#include <string.h>

void terms_push(struct terms *x, enum fx_term_op op, int64_t v) {
    struct fx_term *t = &PUSH(x->a, x->t, x->n);
    *t = (struct fx_term){op, v};
}
void terms_constant(struct terms *x, int64_t v) { terms_push(x, FX_T_CONST, v); }

void terms_expr(struct terms *x, const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++) terms_push(x, e->terms[i].op, e->terms[i].v);
}

/* Whether `x o v` is x for every x. */
static bool is_neutral(enum fx_term_op o, int64_t v) {
    return o == FX_T_ADD ? v == 0 : (o == FX_T_MUL || o == FX_T_DIV || o == FX_T_CDIV) && v == 1;
}

/* Where the second operand is a leaf, so that it is the last term, leaves out what makes no difference. */
static bool drop_neutral(struct terms *x, enum fx_term_op o) {
    if (x->n < 2 || x->t[x->n - 1].op > FX_T_LAST_LEAF) return false;
    const struct fx_term b = x->t[x->n - 1], a = x->t[x->n - 2]; /* the end of the first operand */
    const bool is_b = b.op == FX_T_CONST && is_neutral(o, b.v),
               is_a = a.op == FX_T_CONST && (o == FX_T_ADD || o == FX_T_MUL) && is_neutral(o, a.v);
    if (!is_b && !is_a) return false;
    x->n--;
    if (!is_b) x->t[x->n - 1] = b;
    return true;
}

void terms_op(struct terms *x, enum fx_term_op o) {
    if (drop_neutral(x, o)) return;
    terms_push(x, o, 0);
    if (x->n < 3) return;
    struct fx_term *last = x->t + x->n - 3;
    int64_t value;
    if (last[0].op != FX_T_CONST || last[1].op != FX_T_CONST) return;
    if (!fx_expr_eval(&(struct fx_expr){3, last}, &(struct fx_env){0}, &value)) return;
    x->n -= 3;
    terms_constant(x, value);
}
struct fx_expr terms_done(const struct terms *x) { return (struct fx_expr){x->n, x->t}; }

void terms_extent(struct terms *x, const struct kernel *k, int axis) {
    if (k->axes[axis].extent >= 0) terms_constant(x, k->axes[axis].extent);
    else terms_push(x, FX_T_EXTENT, axis);
}

void terms_size(struct terms *x, const struct kernel *k, const int *axes, int n) {
    if (n == 0) terms_constant(x, 1);
    for (int i = 0; i < n; i++) {
        terms_extent(x, k, axes[i]);
        if (i) terms_op(x, FX_T_MUL);
    }
}

void terms_also(struct terms *x, int *n_conditions, int from) {
    int len = x->n - from;
    if (len == 1 && x->t[from].op == FX_T_CONST) {
        x->is_never |= !x->t[from].v;
        x->n = from;
    }
    if (x->n == from) return;
    for (int i = 0; i + len <= from; i++)
        if (memcmp(&x->t[i], &x->t[from], (size_t)len * sizeof *x->t) == 0) {
            x->n = from;
            return;
        }
    if ((*n_conditions)++) terms_op(x, FX_T_AND);
}
