/* The ranges of integer inputs that index or count, for tools that draw inputs.
 *
 * In: a checked kernel. Out: `below` of every integer tensor whose elements are positions of an access, or are compared
 * with a running index: the extent of what they index, divided by what they are multiplied by; one more where they
 * count. Nothing compiles from it. */
#include "check/check_internal.h"

#include <string.h>

struct drawn_range { /* from 0 to below the extent of axis, divided */
    int axis;
    struct fx_term divisor; /* a constant or an extent; op FX_T_CONST, v 1: not divided */
    bool is_count;          /* may be the extent itself */
};

static void set_range(struct cx *cx, struct param *p, const struct drawn_range *r) {
    struct fx_term terms[] = {
        {FX_T_EXTENT, r->axis}, r->divisor, {FX_T_DIV, 0}, {FX_T_CONST, r->is_count}, {FX_T_ADD, 0}};
    enum { N_TERMS = sizeof terms / sizeof *terms };
    if (!fx_is_integer(p->dtype) || p->is_scalar || p->below.n) return; /* the first use says */
    struct fx_term *own = NEW_ARRAY(&cx->arena, struct fx_term, N_TERMS);
    memcpy(own, terms, sizeof terms);
    p->below = (struct fx_expr){N_TERMS, own};
}

/* A factor that is the same for every element. */
static bool as_divisor(const struct value *v, struct fx_term *out) {
    while (v->kind == V_CAST) v = v->args[0];
    if (v->kind == V_SIZE) return *out = (struct fx_term){FX_T_EXTENT, v->axis}, true;
    bool is_number = v->kind == V_NUM && fx_is_integer(v->dtype) && v->integer > 0;
    if (is_number) *out = (struct fx_term){FX_T_CONST, v->integer};
    return is_number;
}

/* Goes down from a position, as far as it is a sum, a choice or a multiple of what is below; each value once, marked in
 * seen. */
static void visit(struct cx *cx, struct kernel *k, const struct value *v, struct drawn_range r, bool *seen) {
    if (seen[v->id]) return;
    seen[v->id] = true;
    if (v->kind == V_LOAD) set_range(cx, &k->params[v->param], &r);
    if (v->kind == V_ACCESS) visit(cx, k, v->args[0], r, seen);
    if (v->kind == V_CAST) visit(cx, k, v->args[0], r, seen);
    if (v->kind != V_OP) return;
    if (v->op == O_MUL) {
        for (int i = 0; i < 2; i++)
            if (r.divisor.op == FX_T_CONST && r.divisor.v == 1 && as_divisor(v->args[1 - i], &r.divisor)) {
                visit(cx, k, v->args[i], r, seen);
                return;
            }
        return;
    }
    bool passes = v->op == O_ADD || v->op == O_SUB || v->op == O_MIN || v->op == O_MAX || v->op == O_WHERE;
    for (int i = v->op == O_WHERE; passes && i < v->n_args; i++) visit(cx, k, v->args[i], r, seen);
}

/* The axis of a running index, or -1. */
static int index_axis(const struct value *v) {
    while (v->kind == V_CAST) v = v->args[0];
    return v->kind == V_INDEX ? v->axis : -1;
}

void check_draw(struct cx *cx, struct kernel *k) {
    const struct fx_term one = {FX_T_CONST, 1};
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        for (int j = 0; (v->kind == V_ACCESS || v->kind == V_PLACE) && j < v->n_at; j++)
            visit(cx, k, v->args[1 + j], (struct drawn_range){v->at[j], one, false},
                NEW_ARRAY(&cx->arena, bool, k->n_values + 1));
    }
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        bool compares = v->kind == V_OP && op_info[v->op].rule == RULE_COMPARE && v->n_args == 2;
        for (int j = 0; compares && j < 2; j++) {
            int axis = index_axis(v->args[j]);
            bool is_equal = v->op == O_EQ || v->op == O_NE;
            if (axis >= 0)
                visit(cx, k, v->args[1 - j], (struct drawn_range){axis, one, !is_equal},
                    NEW_ARRAY(&cx->arena, bool, k->n_values + 1));
        }
    }
}
