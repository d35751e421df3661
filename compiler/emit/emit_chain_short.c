/* Shorter forms of the computations of chain elements: an exponential and its shift as one multiply-add, functions that
 * need not be exact near 0, divisions as products, positions as floats.
 *
 * In: a node that the elements of a pass compute. Out: its statement, or false if it has no shorter form; or that it is
 * part of such a form and needs no statement of its own. */
#include <math.h>

#include "emit/emit_chain.h"

const struct shifted_exp *chain_factored(const struct chain_problem *b, int pass) {
    for (int k = 0; k < b->x->n_exps; k++)
        if (chain_is_online(b->x, k, pass) && b->x->exps[k].product) return &b->x->exps[k];
    return NULL;
}

void emit_chain_loose(struct chain_problem *b, struct scope *p, int pass) {
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i];
        if (!b->x->passes[pass].needs[i] || !b->x->is_element[i] || p->text[i] || !chain_is_loose(b->w.g, b->x, n))
            continue;
        const char *arg = value_at(&b->w, p, n->args[0]);
        p->text[i] = emit_local(b->w.names, n);
        value_line(&b->w, "const float %s = fx_chain_tanh(%s);%s", p->text[i], arg, value_comment(b->w.g, n));
    }
}

void emit_chain_exp(struct chain_problem *b, struct scope *p, int k, const char *x) {
    const struct node *n = b->x->exps[k].e;
    const char *shift = b->shift[k], *e;
    bool is_exp2 = n->op == O_EXP2;
    if (b->x->exps[k].product)
        e = arena_printf(arena(b), is_exp2 ? "fx_exp2_approx(fmaf(%s, late(pass), -a.%s))"
                                           : "fx_chain_exp_of(%s, late(pass), a.%s)", x, shift);
    else e = arena_printf(arena(b), is_exp2 ? "fx_exp2_approx(%s - a.%s)" : "fx_chain_exp(%s, a.%s)", x, shift);
    p->text[n->id] = emit_local(b->w.names, n);
    value_line(&b->w, "const float %s = %s;%s", p->text[n->id], e, value_comment(b->w.g, n));
}

enum { MANY = 1 << 20 };

/* By node: how often an integer adds the position along the intermediate, which has one label; MANY: it is no such
 * sum. */
static int *count_positions(struct chain_problem *b) {
    int *count = NEW_ARRAY(arena(b), int, b->w.g->n_nodes + 1);
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        const struct node *n = b->w.g->nodes[i];
        if (!b->x->is_element[i]) continue;
        count[i] = n->kind == N_INDEX ? n->axis == b->x->first.n.axes[0] : MANY;
        if (n->kind != N_OP || !b->narrow[i].is_narrow) continue; /* else it adds, subtracts or negates */
        const int first = count[n->args[0]->id], second = n->op == O_NEG ? 0 : count[n->args[1]->id],
                  sum = n->op == O_NEG ? -first : n->op == O_ADD ? first + second : first - second;
        count[i] = first == MANY || second == MANY || sum < -1 || sum > 1 ? MANY : sum;
    }
    return count;
}

/* Integers below 2^24 are floats, and so are the sums of them here: what all elements have in common is made a float
 * once, and of each the rest, a constant, is added. Larger ones are rounded twice. */
void emit_chain_positions(struct chain_problem *b, struct scope *p, const bool *needed) {
    const int *count = b->x->first.n.n == 1 ? count_positions(b) : NULL;
    for (int i = 0; count && i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i], *of = n->n_args ? n->args[0] : n;
        if (!needed[i] || !b->x->is_element[i] || b->x->is_along[i] || p->text[i] || n->kind != N_CAST ||
            n->to != FX_F32 || !b->narrow[of->id].is_narrow || count[of->id] == 0 || count[of->id] == MANY)
            continue;
        struct scope *common = scope_open(&b->w, p);
        chain_bind(b, common, &b->x->first.n, "t.from");
        const char *from = value_at(&b->w, common, of);
        p->text[i] = emit_local(b->w.names, n);
        value_line(&b->w, "const float %s = (float)(int)%s %c (float)(t.step + v);%s", p->text[i], from,
            count[of->id] > 0 ? '+' : '-', value_comment(b->w.g, n));
    }
}

/* Whether exponential n, of 16-bit factors, is shifted by what first contractions do not make: written as online. */
static bool is_shifted(const struct chain_problem *b, const struct node *n) {
    return node_is_op(n, O_EXP) && node_is_op(n->args[0], O_SUB) && n->dtype == FX_F32 &&
           b->x->second.b_dtype != FX_F32 && chain_is_of_products(b->w.g, b->r, n->args[0]->args[0]) &&
           !chain_is_of_products(b->w.g, b->r, n->args[0]->args[1]);
}

/* Whether n is what such an exponential alone is taken of. */
static bool is_shift(const struct chain_problem *b, const struct node *n) {
    bool is = false;
    for (int i = n->id + 1; node_is_op(n, O_SUB) && i < b->w.g->n_nodes; i++) {
        const struct node *e = b->w.g->nodes[i];
        bool reads = false;
        for (int k = 0; k < e->n_args; k++) reads |= e->args[k] == n;
        if (reads && !is_shifted(b, e)) return false;
        is |= reads;
    }
    return is;
}

static bool is_minus_infinity(const struct node *n) { return n->kind == N_CONST && isinf(n->num) && n->num < 0; }

/* What exp(n - c) is taken of where a limit says that an element counts: n, or what n chooses in place of -inf. */
static const struct node *counted(const struct chain_problem *b, const struct node *n) {
    bool is_limit = false;
    for (int i = 0; i < b->x->n_limits; i++)
        is_limit |= node_is_op(n, O_WHERE) && n->args[0] == b->x->limits[i].condition;
    return is_limit && is_minus_infinity(n->args[b->x->is_negated ? 1 : 2]) ? n->args[b->x->is_negated ? 2 : 1] : n;
}

/* Whether such exponentials alone are made of n, of what the pass computes: n itself, or what limits choose, as their
 * product is when that is a product in f32, which with the shift is one multiply-add. */
static bool ends_in_shift(const struct chain_problem *b, const struct chain_pass *over, const struct node *n) {
    bool is = false;
    for (int i = n->id + 1; i < b->w.g->n_nodes; i++) {
        const struct node *d = b->w.g->nodes[i];
        bool reads = false;
        for (int k = 0; k < d->n_args; k++) reads |= d->args[k] == n;
        if (!reads || !over->sums[i]) continue;
        if (!(is_shift(b, d) && d->args[0] == n) && !(counted(b, d) == n && d != n && ends_in_shift(b, over, d)))
            return false;
        is = true;
    }
    return is;
}

static bool is_scaled(const struct chain_problem *b, const struct chain_pass *over, const struct node *n) {
    const struct node *product = counted(b, n);
    return node_is_op(product, O_MUL) && product->dtype == FX_F32 && ends_in_shift(b, over, product);
}

/* Computes exponential n of such a product: 0 where limits leave it out. */
static void emit_scaled(struct chain_problem *b, struct scope *p, const struct node *n) {
    const struct node *chosen = n->args[0]->args[0], *product = counted(b, chosen);
    const char *x = value_at(&b->w, p, product->args[0]), *factor = value_at(&b->w, p, product->args[1]),
               *shift = value_at(&b->w, p, n->args[0]->args[1]), *all = emit_local(b->w.names, n);
    value_line(&b->w, "const float %s = fx_chain_exp_of(%s, %s, %s);%s", all, x, factor, shift,
        value_comment(b->w.g, n));
    p->text[n->id] = all;
    if (chosen == product) return;
    p->text[n->id] = emit_local(b->w.names, n);
    const char *condition = value_at(&b->w, p, chosen->args[0]);
    if (b->x->is_negated) value_line(&b->w, "const float %s = %s ? 0.0f : %s;", p->text[n->id], condition, all);
    else value_line(&b->w, "const float %s = %s ? %s : 0.0f;", p->text[n->id], condition, all);
}

bool emit_chain_in_short(
    struct chain_problem *b, struct scope *p, const struct chain_pass *over, const struct node *n) {
    bool is_exp = is_shifted(b, n);
    const struct node *of = is_exp ? n->args[0] : n;
    if (!is_exp && (!node_is_op(n, O_DIV) || n->dtype != FX_F32 || b->x->second.b_dtype == FX_F32 ||
                       chain_is_of_products(b->w.g, b->r, n->args[1]) || !chain_has_reciprocal(b->w.g, n->args[1])))
        return false;
    if (is_exp && is_scaled(b, over, of->args[0])) return emit_scaled(b, p, n), true;
    const char *x = value_at(&b->w, p, of->args[0]), *y = value_at(&b->w, p, of->args[1]);
    p->text[n->id] = emit_local(b->w.names, n);
    value_line(&b->w,
        is_exp ? "const float %s = fx_chain_exp(%s, %s);%s" : "const float %s = %s * fx_rcp_approx(%s);%s",
        p->text[n->id], x, y, value_comment(b->w.g, n));
    return true;
}

bool chain_is_part(const struct chain_problem *b, const struct chain_pass *over, const struct node *n) {
    return is_shift(b, n) || is_scaled(b, over, n);
}
