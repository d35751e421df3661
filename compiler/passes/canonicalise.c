/* Brings every node into one form, by named rules. Each rule keeps the node's dtype and axes, never duplicates a
 * reduction, and reduces (number of ops, operands out of order), so the rewriting ends. */
#include <math.h>

#include "passes.h"

struct rewrite {
    struct graph *g; /* being built: operands of the node at hand stand in it */
};

static bool is_const(const struct node *n, double value) {
    return n->kind == N_CONST && (fx_is_integer(n->dtype) ? (double)n->integer : n->num) == value;
}

static struct node *constant(struct rewrite *w, double num, const struct node *like) {
    struct node n = {.kind = N_CONST, .dtype = like->dtype, .num = num, .axis = -1, .span = like->span, .source = like->source};
    return graph_add(w->g, &n);
}

static struct node *integer(struct rewrite *w, int64_t v, const struct node *like) {
    struct node n = {.kind = N_CONST, .dtype = like->dtype, .integer = v, .axis = -1, .span = like->span, .source = like->source};
    return graph_add(w->g, &n);
}

/* A rule: what stands for n, which may be n itself with other operands; NULL where the rule does not fit. */
typedef struct node *rule_fn(struct rewrite *w, struct node *n);

static struct node *fold(struct rewrite *w, struct node *n) {
    double v[3] = {0};
    int64_t x[3] = {0};
    if (n->kind != N_OP) return NULL;
    for (int i = 0; i < n->n_args; i++) {
        if (n->args[i]->kind != N_CONST) return NULL;
        v[i] = n->args[i]->num;
        x[i] = fx_is_integer(n->args[i]->dtype) ? n->args[i]->integer : n->args[i]->num != 0;
    }
    enum fx_dtype t = n->args[n->n_args - 1]->dtype;
    if (!fx_is_integer(t)) return constant(w, op_eval(n->op, v[0], v[1], v[2]), n);
    int64_t r = op_eval_integer(n->op, t, x[0], x[1], x[2]);
    return fx_is_integer(n->dtype) ? integer(w, r, n) : constant(w, (double)r, n);
}

static struct node *mul_one(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_OP && (n->op == O_MUL || n->op == O_DIV) && is_const(n->args[1], 1) ? n->args[0] : NULL;
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
        n->args[1] = integer(w, fx_wrap(n->dtype, (int64_t)(0 - (uint64_t)n->args[1]->integer)), n->args[1]);
        return n;
    }
    n->args[1] = constant(w, -n->args[1]->num, n->args[1]);
    return n;
}

static struct node *div_power_of_two(struct rewrite *w, struct node *n) {
    int exponent;
    if (n->kind != N_OP || n->op != O_DIV || n->args[1]->kind != N_CONST) return NULL;
    double d = n->args[1]->num;
    if (fabs(frexp(d, &exponent)) != 0.5 || exponent < -100 || exponent > 100) return NULL;
    n->op = O_MUL;
    n->args[1] = constant(w, 1 / d, n->args[1]);
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

static struct node *round_twice(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_CAST && n->args[0]->kind == N_CAST && n->args[0]->to == n->to ? n->args[0] : NULL;
}

/* Rounding what is stored in the same dtype changes nothing. */
static struct node *round_stored(struct rewrite *w, struct node *n) {
    if (n->kind != N_CAST || n->args[0]->kind != N_INPUT) return NULL;
    return w->g->kernel->params[n->args[0]->param].dtype == n->to ? n->args[0] : NULL;
}

/* It said something to the derivative, which has been taken. */
static struct node *detached(struct rewrite *w, struct node *n) {
    (void)w;
    return n->kind == N_OP && n->op == O_DETACH ? n->args[0] : NULL;
}

static bool commutes(enum op op) {
    return op == O_ADD || op == O_MUL || op == O_MAX || op == O_MIN || op == O_AND || op == O_OR || op == O_EQ || op == O_NE;
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
    RULE(fold, "2 * 3 -> 6"),
    RULE(order, "2 + x -> x + 2"),
    RULE(mul_one, "x * 1 -> x, x / 1 -> x"),
    RULE(double_inverse, "-(-x) -> x, !!c -> c"),
    RULE(sub_const, "x - 2 -> x + -2"),
    RULE(div_power_of_two, "x / 4 -> x * 0.25"),
    RULE(same_operands, "max(x, x) -> x"),
    RULE(where_decided, "where(true, x, y) -> x, where(c, x, x) -> x"),
    RULE(round_twice, "bf16(bf16(x)) -> bf16(x)"),
    RULE(detached, "detach(x) -> x"),
    RULE(round_stored, "bf16(x) -> x, x stored as bf16"),
};

/* The node that stands for `n`, whose operands are already in the new graph. */
static struct node *rewrite(struct rewrite *w, struct node n) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct node *to = rules[i].apply(w, &n);
        if (!to) continue;
        if (to != &n) return to;
        i = (size_t)-1; /* n changed: every rule may fit again */
    }
    return graph_add(w->g, &n);
}

struct graph *pass_canonicalise(const struct graph *g) {
    struct rewrite w = {.g = graph_like(g)};
    struct node **map = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        struct node n = *g->nodes[i];
        for (int a = 0; a < n.n_args; a++) n.args[a] = map[n.args[a]->id];
        map[i] = rewrite(&w, n);
        if (!map[i]->name.len && map[i]->kind != N_CONST) map[i]->name = n.name;
    }
    graph_map_outputs(w.g, g, map);
    return w.g;
}
