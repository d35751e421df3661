/* Brings every node into one form, by named rules. Each rule keeps the node's dtype and axes, never duplicates a
 * reduction, and lowers (depth of the node counted in ops, casts and sizes; subtractions and divisions; operands out of
 * order; operands), so the rewriting ends. All rules are identities of the arithmetic: of floats to the bit, of
 * integers with wrap-around. */
#include <math.h>

#include "passes/build.h"
#include "passes/passes.h"

struct rewrite {
    struct graph *g; /* being built: operands of the node at hand stand in it */
};

static bool is_const(const struct node *n, double value) {
    return n->kind == N_CONST && (fx_is_integer(n->dtype) ? (double)n->integer : n->num) == value;
}

/* A rule: what stands for n, which may be n itself with other operands; NULL where the rule does not fit. */
typedef struct node *rule_fn(struct rewrite *w, struct node *n);

static struct node *fold(struct rewrite *w, struct node *n) { return build_folded(w->g, n); }

static struct node *mul_one(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_OP && (n->op == O_MUL || n->op == O_DIV) && is_const(n->args[1], 1) ? n->args[0] : NULL;
}

static bool is_op_by_const(const struct node *n, enum op op) {
    return node_is_op(n, op) && n->args[1]->kind == N_CONST;
}

static bool is_never_minus_zero_const(const struct node *n) { return n->num != 0 || !signbit(n->num); }

/* A float that is never -0: x + 0 is then x to the bit. A sum starts from 0; -0 plus 0 is 0. */
static bool is_never_minus_zero(const struct node *n) {
    if (n->kind == N_REDUCE) return n->reduction == RED_SUM;
    if (n->kind == N_CAST) return !fx_is_float(n->args[0]->dtype);
    if (n->kind != N_OP) return false;
    return n->op == O_ABS || n->op == O_EXP || n->op == O_EXP2 || n->op == O_SIGMOID ||
           (is_op_by_const(n, O_ADD) && is_never_minus_zero_const(n->args[1]));
}

/* x + -0 is x whatever x is; x + 0 makes 0 of -0. */
static struct node *add_zero(struct rewrite *w, struct node *n) {
    (void)w;
    if (!is_op_by_const(n, O_ADD) || !is_const(n->args[1], 0)) return NULL;
    if (fx_is_integer(n->dtype) || signbit(n->args[1]->num)) return n->args[0];
    return is_never_minus_zero(n->args[0]) ? n->args[0] : NULL;
}

/* The zero has no axes: only where the operand has none either. */
static struct node *mul_zero(struct rewrite *w, struct node *n) {
    (void)w;
    bool is_zero = node_is_op(n, O_MUL) && is_integer_const(n->args[1], 0);
    return is_zero && n->n_axes == 0 ? n->args[1] : NULL;
}

static struct node *div_one(struct rewrite *w, struct node *n) {
    if (n->kind != N_OP || n->n_args != 2 || !is_integer_const(n->args[1], 1)) return NULL;
    if (n->op == O_FLOORDIV) return n->args[0];
    return n->op == O_MOD && n->n_axes == 0 ? build_integer(w->g, n->dtype, 0, n) : NULL;
}

/* Wrapping sums and products associate; those of floats do not. */
static struct node *join_consts(struct rewrite *w, struct node *n) {
    if (!fx_is_integer(n->dtype) || !(is_op_by_const(n, O_ADD) || is_op_by_const(n, O_MUL)) ||
        !is_op_by_const(n->args[0], n->op))
        return NULL;
    const struct node *inner = n->args[0];
    n->args[1] = build_integer(
        w->g, n->dtype, op_eval_integer(n->op, n->dtype, inner->args[1]->integer, n->args[1]->integer, 0), n->args[1]);
    n->args[0] = inner->args[0];
    return n;
}

static struct node *size_fixed(struct rewrite *w, struct node *n) {
    return n->kind == N_SIZE && w->g->kernel->axes[n->axis].extent >= 0 ? build_size(w->g, n->axis, n) : NULL;
}

/* What is already a value of its compute type, rounded by what made it, stays as it is in that type: an integer always,
 * a float where no contraction to fma can stand between. */
static struct node *cast_to_own(struct rewrite *w, struct node *n) {
    (void)w;
    if (n->kind != N_CAST || n->to != n->dtype || n->args[0]->dtype != n->dtype) return NULL;
    enum node_kind k = n->args[0]->kind;
    return !fx_is_float(n->dtype) || k == N_CAST || k == N_INPUT || k == N_SCALAR ? n->args[0] : NULL;
}

static struct node *double_inverse(struct rewrite *w, struct node *n) {
    (void)w;
    if (n->kind != N_OP || (n->op != O_NEG && n->op != O_NOT)) return NULL;
    const struct node *a = n->args[0];
    return a->kind == N_OP && a->op == n->op ? a->args[0] : NULL;
}

static struct node *sub_const(struct rewrite *w, struct node *n) {
    if (n->kind != N_OP || n->op != O_SUB || n->args[1]->kind != N_CONST) return NULL;
    n->op = O_ADD;
    if (fx_is_integer(n->dtype)) {
        n->args[1] = build_integer(
            w->g, n->dtype, fx_wrap(n->dtype, (int64_t)(0 - (uint64_t)n->args[1]->integer)), n->args[1]);
        return n;
    }
    n->args[1] = build_number(w->g, n->dtype, -n->args[1]->num, n->args[1]);
    return n;
}

static struct node *div_power_of_two(struct rewrite *w, struct node *n) {
    int exponent;
    if (n->kind != N_OP || n->op != O_DIV || n->args[1]->kind != N_CONST) return NULL;
    double d = n->args[1]->num;
    if (fabs(frexp(d, &exponent)) != 0.5 || exponent < -100 || exponent > 100) return NULL;
    n->op = O_MUL;
    n->args[1] = build_number(w->g, n->dtype, 1 / d, n->args[1]);
    return n;
}

static struct node *small_power(struct rewrite *w, struct node *n) {
    if (n->kind != N_OP || n->op != O_POW || n->args[1]->kind != N_CONST) return NULL;
    struct node *x = n->args[0];
    if ((n->args[1]->num != 2 && n->args[1]->num != 3) || x->dtype != n->dtype) return NULL;
    if (n->args[1]->num == 3) n->args[0] = build_op(w->g, O_MUL, x, x, NULL, n);
    n->op = O_MUL;
    n->args[1] = x;
    return n;
}

static struct node *same_operands(struct rewrite *w, struct node *n) {
    (void)w;
    if (n->kind != N_OP || n->n_args < 2 || n->args[0] != n->args[1]) return NULL;
    return n->op == O_MAX || n->op == O_MIN || n->op == O_AND || n->op == O_OR ? n->args[0] : NULL;
}

static struct node *where_decided(struct rewrite *w, struct node *n) {
    (void)w;
    if (n->kind != N_OP || n->op != O_WHERE) return NULL;
    struct node *taken = n->args[1] == n->args[2] ? n->args[1]
                         : n->args[0]->kind == N_CONST ? n->args[n->args[0]->num != 0 ? 1 : 2] : NULL;
    return taken && nodes_same_axes(taken->axes, taken->n_axes, n->axes, n->n_axes) ? taken : NULL;
}

/* ---- remainders ---- */

enum { MOST_FACTOR = 1 << 20, MOST_TERMS = 8 }; /* of indices: nothing wraps */

/* What is left of position n, of so many terms at most, without multiples of c; NULL: nothing. *fits: n is made of
 * indices and small numbers. */
static struct node *residue(struct rewrite *w, struct node *n, int64_t c, int terms, bool *fits) {
    *fits &= n->dtype == FX_I64 && terms > 0;
    if (!*fits || n->kind == N_INDEX) return n;
    if (n->kind == N_CONST) {
        const int64_t rest = n->integer % c;
        *fits &= n->integer >= 0 && n->integer < MOST_FACTOR;
        return rest == n->integer ? n : rest ? build_integer(w->g, FX_I64, rest, n) : NULL;
    }
    if (node_is_op(n, O_ADD)) {
        struct node *a = residue(w, n->args[0], c, terms / 2, fits), *b = residue(w, n->args[1], c, terms / 2, fits);
        if (!*fits || (a == n->args[0] && b == n->args[1])) return n;
        return a && b ? build_op(w->g, O_ADD, a, b, NULL, n) : a ? a : b;
    }
    const bool is_multiple = is_op_by_const(n, O_MUL) && n->args[1]->integer > 0 &&
                             n->args[1]->integer < MOST_FACTOR && n->args[0]->kind == N_INDEX;
    *fits &= is_multiple;
    return is_multiple && n->args[1]->integer % c == 0 ? NULL : n;
}

/* The remainder that a choice asks for, without what it does not depend on; the choice keeps its axes. */
static struct node *where_residue(struct rewrite *w, struct node *n) {
    if (!node_is_op(n, O_WHERE) || n->args[0]->kind != N_OP || n->args[0]->n_args != 2) return NULL;
    const struct node *asked = n->args[0], *mod = asked->args[0];
    if (op_info[asked->op].rule != RULE_COMPARE || asked->args[1]->kind != N_CONST || !is_op_by_const(mod, O_MOD) ||
        mod->dtype != FX_I64 || mod->args[1]->integer < 2)
        return NULL;
    const int64_t c = mod->args[1]->integer;
    bool fits = true;
    struct node *rest = residue(w, mod->args[0], c, MOST_TERMS, &fits);
    if (!fits || rest == mod->args[0]) return NULL;
    struct node *left = rest ? build_op(w->g, O_MOD, rest, mod->args[1], NULL, mod)
                             : build_integer(w->g, FX_I64, 0, mod),
                *condition = build_op(w->g, asked->op, left, asked->args[1], NULL, asked);
    const struct node *to = build_op(w->g, O_WHERE, condition, n->args[1], n->args[2], n);
    if (!nodes_same_axes(to->axes, to->n_axes, n->axes, n->n_axes)) return NULL;
    n->args[0] = condition;
    return n;
}

/* An index of no more elements than it is divided by. */
static struct node *mod_of_index(struct rewrite *w, struct node *n) {
    if (!is_op_by_const(n, O_MOD) || n->args[0]->kind != N_INDEX) return NULL;
    const int64_t extent = w->g->kernel->axes[n->args[0]->axis].extent;
    return extent >= 0 && extent <= n->args[1]->integer ? n->args[0] : NULL;
}

/* ---- choices ---- */

enum { MAX_CONJUNCTS = 8, MAX_BELOW = 8 }; /* levels of conditions joined, of operations below a choice */

struct assumption { /* what is known of conditions where one operand of a choice is taken */
    const struct node *condition; /* of the choice */
    bool holds;
};

/* Whether a is one of the conditions that b joins, or all of several of them. */
static bool is_implied(const struct node *a, const struct node *b, int depth) {
    if (a == b) return true;
    if (depth == MAX_CONJUNCTS) return false;
    if (node_is_op(a, O_AND)) return is_implied(a->args[0], b, depth + 1) && is_implied(a->args[1], b, depth + 1);
    return node_is_op(b, O_AND) && (is_implied(a, b->args[0], depth + 1) || is_implied(a, b->args[1], depth + 1));
}

/* n where the assumption holds: choices that it decides are what they take. */
static struct node *assume(struct rewrite *w, const struct assumption *x, struct node *n, int depth) {
    struct node copy = *n;
    bool has_changed = false;
    if ((n->kind != N_OP && n->kind != N_CAST) || depth == MAX_BELOW) return n;
    if (node_is_op(n, O_WHERE) &&
        (x->holds ? is_implied(n->args[0], x->condition, 0) : is_implied(x->condition, n->args[0], 0)))
        return assume(w, x, n->args[x->holds ? 1 : 2], depth + 1);
    for (int i = 0; i < n->n_args; i++) {
        copy.args[i] = assume(w, x, n->args[i], depth + 1);
        has_changed |= copy.args[i] != n->args[i];
    }
    copy.name = (struct name){0};
    return has_changed ? build_node(w->g, copy) : n;
}

/* Where one side of a choice is taken, its condition is known below. */
static struct node *where_within(struct rewrite *w, struct node *n) {
    if (!node_is_op(n, O_WHERE)) return NULL;
    struct node copy = *n;
    for (int side = 1; side <= 2; side++)
        copy.args[side] = assume(w, &(struct assumption){n->args[0], side == 1}, n->args[side], 0);
    if (copy.args[1] == n->args[1] && copy.args[2] == n->args[2]) return NULL;
    struct node *to = build_node(w->g, copy);
    return nodes_same_axes(to->axes, to->n_axes, n->axes, n->n_axes) ? to : NULL;
}

/* A condition counts as 1 and 0: -0 in its place would be another value. */
static struct node *where_number(struct rewrite *w, struct node *n) {
    if (!node_is_op(n, O_WHERE) || n->dtype == FX_BOOL || !is_const(n->args[1], 1) || !is_const(n->args[2], 0) ||
        signbit(n->args[2]->num))
        return NULL;
    return build_node(w->g, (struct node){.kind = N_CAST,
                                .dtype = n->dtype,
                                .to = n->dtype,
                                .args = {n->args[0]},
                                .n_args = 1,
                                .span = n->span,
                                .source = n->source});
}

static struct node *round_twice(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_CAST && n->args[0]->kind == N_CAST && n->args[0]->to == n->to ? n->args[0] : NULL;
}

/* Rounding what is stored in the same dtype changes nothing, wherever it is read; but a cast to f8e5m2 saturates, and
 * that dtype holds infinities. */
static struct node *round_stored(struct rewrite *w, struct node *n) {
    if (n->kind != N_CAST || n->dtype != n->args[0]->dtype || n->to == FX_F8E5M2) return NULL;
    const struct node *source = n->args[0]->kind == N_ACCESS ? n->args[0]->args[0] : n->args[0];
    if (source->kind != N_INPUT || w->g->kernel->params[source->param].dtype != n->to) return NULL;
    if (n->args[0]->kind == N_ACCESS && n->args[0]->has_fill) {
        const struct node *fill = n->args[0]->args[n->args[0]->n_args - 1];
        if (fill->kind != N_CONST || !fx_is_float(n->to) || fx_round_to(n->to, fill->num) != fill->num) return NULL;
    }
    return n->args[0];
}

/* It said something to the derivative, which has been taken. */
static struct node *detached(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_OP && n->op == O_DETACH ? n->args[0] : NULL;
}

static bool commutes(enum op op) {
    return op == O_ADD || op == O_MUL || op == O_MAX || op == O_MIN || op == O_AND || op == O_OR || op == O_EQ ||
           op == O_NE;
}

/* Constants stand right, other operands in the order in which they were computed. */
static struct node *order(struct rewrite *w, struct node *n) {
    (void)w;
    if (n->kind != N_OP || !commutes(n->op)) return NULL;
    bool const_a = n->args[0]->kind == N_CONST, const_b = n->args[1]->kind == N_CONST;
    if (const_a != const_b ? const_b : n->args[0]->id <= n->args[1]->id) return NULL;
    struct node *t = n->args[0];
    n->args[0] = n->args[1];
    n->args[1] = t;
    return n;
}

#define RULE(name, what) {#name, what, name}
static const struct {
    const char *name, *what;
    rule_fn *apply;
} rules[] = {
    RULE(fold, "2 * 3 -> 6, f16(0.1) -> 0.0999755859"),
    RULE(order, "2 + x -> x + 2"),
    RULE(mul_one, "x * 1 -> x, x / 1 -> x"),
    RULE(add_zero, "x + 0 -> x: of integers; of floats where x is never -0; x + -0 -> x"),
    RULE(mul_zero, "i * 0 -> 0, of integers"),
    RULE(div_one, "i // 1 -> i, i % 1 -> 0"),
    RULE(join_consts, "(i + 1) + 2 -> i + 3, (i * 2) * 3 -> i * 6, of integers"),
    RULE(size_fixed, "size(K) -> 64, K=64"),
    RULE(double_inverse, "-(-x) -> x, !!c -> c"),
    RULE(sub_const, "x - 2 -> x + -2"),
    RULE(div_power_of_two, "x / 4 -> x * 0.25"),
    RULE(small_power, "x ** 2 -> x * x, x ** 3 -> x * x * x"),
    RULE(same_operands, "max(x, x) -> x"),
    RULE(where_decided, "where(true, x, y) -> x, where(c, x, x) -> x"),
    RULE(where_residue, "where((p * 2 + q) % 2 == 0, x, y) -> where(q % 2 == 0, x, y), p and q indices"),
    RULE(mod_of_index, "q % 4 -> q, an index of up to 4 elements"),
    RULE(where_within, "where(c, f(where(c, x, y)), z) -> where(c, f(x), z)"),
    RULE(where_number, "where(c, 1, 0) -> i32(c)"),
    RULE(round_twice, "bf16(bf16(x)) -> bf16(x)"),
    RULE(cast_to_own, "f32(f16(x)) -> f16(x), i32(i) -> i"),
    RULE(detached, "detach(x) -> x"),
    RULE(round_stored, "bf16(x) -> x, x stored as bf16"),
};

static struct node *rewrite(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct rewrite *w = state;
    (void)old, (void)map;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct node *to = rules[i].apply(w, n);
        if (!to) continue;
        if (to != n) return to;
        i = (size_t)-1; /* n changed: every rule may fit again */
    }
    return graph_add(out, n);
}

/* A store rounds as a cast to its dtype does: y = bf16(x) -> y = x, y stored as bf16. Not of what is written in place,
 * which may go by a buffer that others read. */
static struct node *as_stored(const struct graph *g, const struct output *out) {
    struct node *n = out->value;
    const struct param *to = &g->kernel->params[out->param];
    bool is_rounded = !to->is_input && n->kind == N_CAST && n->to == to->dtype && fx_is_float(n->to) &&
                      fx_dtype_bits(n->to) <= 16 && n->args[0]->dtype == n->dtype && n->args[0]->kind == N_OP;
    return is_rounded ? n->args[0] : n;
}

struct graph *pass_canonicalise(const struct graph *g) {
    struct rewrite w = {.g = graph_like(g)};
    struct graph *out = graph_rewrite(g, w.g, rewrite, &w);
    for (int i = 0; i < out->n_outputs; i++) out->outputs[i].value = as_stored(out, &out->outputs[i]);
    return out;
}
