/* Makes nodes from their operands. It folds constants, so that every pass folds in the same way. */
#include "passes/build.h"

#include <math.h>
#include <ctype.h>
#include <string.h>

#include "graph/tensor.h"
#include "symbolic/plan_expr.h"

bool set_has(const int *set, int n, int axis) {
    for (int i = 0; i < n; i++)
        if (set[i] == axis) return true;
    return false;
}

int set_add(int *set, int n, int axis) {
    int i = n;
    if (set_has(set, n, axis)) return n;
    for (; i > 0 && set[i - 1] > axis; i--) set[i] = set[i - 1];
    set[i] = axis;
    return n + 1;
}

struct node *build_node(struct graph *g, struct node n) {
    bool is_leaf = n.kind == N_INPUT;
    n.n_args = node_arity(&n);
    for (int i = n.n_args; i < MAX_ARGS; i++) n.args[i] = NULL;
    if (!is_leaf) n.n_axes = 0;
    for (int i = 0; i < n.n_args; i++)
        for (int j = 0; j < n.args[i]->n_axes; j++) {
            int axis = n.args[i]->axes[j];
            bool is_bound = (n.kind == N_REDUCE && set_has(n.reduced, n.n_reduced, axis)) ||
                            (n.kind == N_ACCESS && i == 0 && set_has(n.at, n.n_at, axis));
            if (!is_bound) n.n_axes = set_add(n.axes, n.n_axes, axis);
        }
    for (int i = 0; n.kind == N_PLACE && i < g->kernel->params[n.param].n_axes; i++) {
        int axis = g->kernel->params[n.param].axes[i];
        if (!set_has(n.at, n.n_at, axis)) n.n_axes = set_add(n.axes, n.n_axes, axis);
    }
    if (n.kind == N_INDEX) n.n_axes = set_add(n.axes, 0, n.axis);
    return graph_add(g, &n);
}

static enum fx_dtype dtype_of_op(enum op op, struct node *const *args) {
    switch (op_info[op].rule) {
    case RULE_COMPARE: case RULE_LOGIC: return FX_BOOL;
    case RULE_BITS: return FX_U32;
    case RULE_SELECT: return args[1]->dtype;
    default: return args[0]->dtype;
    }
}

struct node *build_op(
    struct graph *g, enum op op, struct node *a, struct node *b, struct node *c, const struct node *like) {
    struct node n = {.kind = N_OP,
        .op = op,
        .axis = -1,
        .args = {a, b, c},
        .n_args = op_info[op].arity,
        .span = like->span,
        .source = like->source};
    n.dtype = dtype_of_op(op, n.args);
    struct node *folded = build_folded(g, &n);
    return folded ? folded : build_node(g, n);
}

struct node *build_number(struct graph *g, enum fx_dtype dtype, double num, const struct node *like) {
    return build_node(
        g, (struct node){
               .kind = N_CONST, .dtype = dtype, .num = num, .axis = -1, .span = like->span, .source = like->source});
}

struct node *build_integer(struct graph *g, enum fx_dtype dtype, int64_t v, const struct node *like) {
    return build_node(
        g, (struct node){
               .kind = N_CONST, .dtype = dtype, .integer = v, .axis = -1, .span = like->span, .source = like->source});
}

struct node *build_zero(struct graph *g, enum fx_dtype dtype, const struct node *like) {
    return fx_is_integer(dtype) ? build_integer(g, dtype, 0, like) : build_number(g, dtype, 0, like);
}

struct node *build_index(struct graph *g, int axis, const struct node *like) {
    return build_node(
        g, (struct node){.kind = N_INDEX, .dtype = FX_I64, .axis = axis, .span = like->span, .source = like->source});
}

struct node *build_size(struct graph *g, int axis, const struct node *like) {
    int64_t extent = g->kernel->axes[axis].extent;
    if (extent >= 0) return build_integer(g, FX_I64, extent, like);
    return build_node(
        g, (struct node){.kind = N_SIZE, .dtype = FX_I64, .axis = axis, .span = like->span, .source = like->source});
}

struct node *build_sum(struct graph *g, struct node *term, const int *reduced, int n_reduced, const struct node *like) {
    struct node n = {.kind = N_REDUCE,
        .reduction = RED_SUM,
        .dtype = term->dtype,
        .n_reduced = n_reduced,
        .axis = -1,
        .args = {term},
        .span = like->span,
        .source = like->source};
    memcpy(n.reduced, reduced, (size_t)n_reduced * sizeof *reduced);
    return build_node(g, n);
}

/* ---- constants ---- */

bool is_integer_const(const struct node *n, int64_t v) {
    return n->kind == N_CONST && fx_is_integer(n->dtype) && n->integer == v;
}

/* A constant cast: language.md, "Casts". Beyond 2^53 an integer would be rounded twice: left to the kernel. */
static struct node *folded_cast(struct graph *g, const struct node *n) {
    const struct node *a = n->args[0];
    bool from_integer = fx_is_integer(a->dtype);
    if (from_integer && fx_is_float(n->to) &&
        (a->dtype == FX_U64 ? (uint64_t)a->integer > 1ull << 53 : a->integer > 1ll << 53 || a->integer < -(1ll << 53)))
        return NULL;
    double num = from_integer ? (double)a->integer : a->num;
    if (n->to == FX_BOOL) return build_number(g, FX_BOOL, from_integer ? a->integer != 0 : a->num != 0, n);
    if (fx_is_float(n->to)) return build_number(g, n->dtype, fx_round_to(n->to, num), n);
    return build_integer(g, n->dtype, from_integer ? fx_wrap(n->to, a->integer) : fx_saturate(n->to, num), n);
}

struct node *build_folded(struct graph *g, const struct node *n) {
    double v[3] = {0};
    int64_t x[3] = {0};
    if (n->kind != N_OP && n->kind != N_CAST) return NULL;
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i]->kind != N_CONST) return NULL;
    if (n->kind == N_CAST) return folded_cast(g, n);
    for (int i = 0; i < n->n_args; i++) {
        v[i] = n->args[i]->num;
        x[i] = fx_is_integer(n->args[i]->dtype) ? n->args[i]->integer : n->args[i]->num != 0;
    }
    enum fx_dtype t = n->args[n->n_args - 1]->dtype;
    if (!fx_is_integer(t)) return build_number(g, n->dtype, op_eval(n->op, v[0], v[1], v[2]), n);
    int64_t r = op_eval_integer(n->op, t, x[0], x[1], x[2]);
    return fx_is_integer(n->dtype) ? build_integer(g, n->dtype, r, n) : build_number(g, n->dtype, (double)r, n);
}

/* ---- prices ---- */

double build_tiles(const struct graph *g, const struct node *n, const struct contraction *c, int tile) {
    double sides[2] = {1, 1}, batches = 1;
    for (int i = 0; i < n->n_axes; i++) {
        bool has_a = node_has_axis(c->a, n->axes[i]), has_b = node_has_axis(c->b, n->axes[i]);
        *(has_a && has_b ? &batches : &sides[has_b]) *= nominal_size(g, &n->axes[i], 1);
    }
    return batches * ceil(sides[0] / tile) * ceil(sides[1] / tile);
}

double build_odd_seconds(
    const struct graph *g, const struct node *n, const struct contraction *c, double *slices) {
    enum { LEAST_SLICE = 256 };
    double sides[2] = {1, 1};
    for (int i = 0; i < n->n_axes; i++) {
        bool has_a = node_has_axis(c->a, n->axes[i]), has_b = node_has_axis(c->b, n->axes[i]);
        if (!has_a || !has_b) sides[has_b] *= nominal_size(g, &n->axes[i], 1);
    }
    if (sides[0] <= ODD_FEW_ROWS || sides[1] <= ODD_FEW_ROWS) return 0;
    double tiles = build_tiles(g, n, c, ODD_TILE);
    double depth = nominal_size(g, n->reduced, n->n_reduced), most = floor(g->cx->arch->sms / tiles);
    *slices = depth / LEAST_SLICE < most ? depth / LEAST_SLICE : most;
    if (*slices < 1) *slices = 1;
    return ceil(tiles / (ODD_BLOCKS * g->cx->arch->sms)) * ceil(depth / ODD_TILE) * ODD_SECONDS;
}

int build_order(const struct graph *g, const struct node *n, int *order) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    const struct param *best = NULL;
    int n_order = 0, most = 0;
    seen[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        for (int a = 0; seen[i] && a < at->n_args; a++) seen[at->args[a]->id] = true;
        if (!seen[i] || at->kind != N_INPUT) continue;
        const struct param *p = &g->kernel->params[at->param];
        int n_shared = 0;
        for (int k = 0; k < p->n_axes; k++) n_shared += node_has_axis(n, p->axes[k]);
        bool is_last = p->n_axes && node_has_axis(n, p->axes[p->n_axes - 1]);
        if (is_last && n_shared > most) best = p, most = n_shared;
    }
    for (int k = 0; best && k < best->n_axes; k++) {
        if (node_has_axis(n, best->axes[k])) {
            if (!axes_have(order, n_order, best->axes[k])) order[n_order++] = best->axes[k];
            continue;
        }
        for (int i = 0; i < n->n_axes; i++)
            if (!axes_have(best->axes, best->n_axes, n->axes[i]) && !axes_have(order, n_order, n->axes[i]))
                order[n_order++] = n->axes[i];
    }
    int n_left = 0, left[MAX_AXES];
    for (int i = 0; i < n->n_axes; i++)
        if (!axes_have(order, n_order, n->axes[i])) left[n_left++] = n->axes[i];
    memmove(order + n_left, order, (size_t)n_order * sizeof *order);
    memcpy(order, left, (size_t)n_left * sizeof *order);
    return n_order + n_left;
}

/* ---- readers ---- */

int *count_readers(const struct graph *g) {
    int *readers = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_outputs; i++) readers[g->outputs[i].value->id]++;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int a = 0; readers[i] && a < g->nodes[i]->n_args; a++) readers[g->nodes[i]->args[a]->id]++;
    return readers;
}

int build_label(const struct graph *g, struct kernel *k, struct axis label) {
    struct axis *axes = NEW_ARRAY(&g->cx->arena, struct axis, k->n_axes + 1);
    memcpy(axes, k->axes, (size_t)k->n_axes * sizeof *axes);
    label.is_made = true;
    axes[k->n_axes] = label;
    k->axes = axes;
    return k->n_axes++;
}

/* Whether label i of k was made so before: its name begins alike. */
static bool is_made_so(const struct kernel *k, int i, const struct axis *label, const char *suffix,
    const struct fx_expr *value) {
    const struct axis *a = &k->axes[i];
    const size_t n = label->name.len, m = strlen(suffix);
    if (!a->is_made || a->extent != label->extent || a->name.len < n + m || memcmp(a->name.s, label->name.s, n) != 0 ||
        memcmp(a->name.s + n, suffix, m) != 0 || (a->name.len > n + m && !isdigit((unsigned char)a->name.s[n + m])))
        return false;
    for (int q = 0; q < k->n_equations; q++)
        if (k->equations[q].axis == i) return expr_equal(&k->equations[q].value, value);
    return label->extent >= 0;
}

int build_made_label(const struct graph *g, struct kernel *k, struct axis label, const char *suffix,
    struct fx_expr value, const char *text) {
    struct arena *a = &g->cx->arena;
    for (int i = 0; i < k->n_axes; i++)
        if (is_made_so(k, i, &label, suffix, &value)) return i;
    label.name = build_label_name(g, k, label.name, suffix);
    label.part_of = -1, label.is_inner = true;
    const int made = build_label(g, k, label);
    if (label.extent >= 0 && !value.n) return made;
    struct equation *equations = NEW_ARRAY(a, struct equation, k->n_equations + 1);
    if (k->n_equations) memcpy(equations, k->equations, (size_t)k->n_equations * sizeof *equations);
    equations[k->n_equations++] = (struct equation){.axis = made, .value = value, .span = label.span,
        .text = arena_printf(a, NAME_FMT " = %s", NAME_ARG(label.name), text)};
    k->equations = equations;
    return made;
}

struct name build_label_name(const struct graph *g, const struct kernel *k, struct name n, const char *suffix) {
    for (int number = 1;; number++) {
        const char *text = arena_printf(
            &g->cx->arena, number > 1 ? NAME_FMT "%s%d" : NAME_FMT "%s", NAME_ARG(n), suffix, number);
        struct name name = {text, (uint32_t)strlen(text)};
        bool is_taken = false;
        for (int i = 0; i < k->n_axes; i++) is_taken |= name_eq(k->axes[i].name, name);
        if (!is_taken) return name;
    }
}
