/* The rule k_concat: two contractions that are added become one, over an axis as long as both of theirs.
 *
 * In: a tree of additions. Out: the same with one contraction instead of two of its operands. The factors of that
 * contraction read the two factors end to end along a new axis, for which the graph gets a copy of the kernel. */
#include <string.h>

#include "passes/algebra.h"

struct term { /* of a sum of contractions: scale * sum[axis] (a * b) */
    struct node *a, *b, *scale; /* scale: without axes, or NULL */
    int axis;
};

enum { MAX_TERMS = 8 };

struct addends { /* of a tree of additions */
    int n;
    struct node *nodes[MAX_TERMS];
};

/* The operands of nested additions that nothing else reads. */
static void flatten(struct algebra *a, struct node *n, struct addends *t, int depth) {
    for (int i = 0; i < 2; i++) {
        if (depth < MAX_PATH && t->n + 2 < MAX_TERMS && node_is_op(n->args[i], O_ADD) && algebra_own(a, n->args[i]))
            flatten(a, n->args[i], t, depth + 1);
        else if (t->n < MAX_TERMS) t->nodes[t->n++] = n->args[i];
    }
}

static bool as_term(struct algebra *a, struct node *n, struct term *t) {
    struct contraction c;
    *t = (struct term){0};
    if (node_is_op(n, O_MUL) && (n->args[0]->n_axes == 0 || n->args[1]->n_axes == 0) && algebra_own(a, n)) {
        int side = n->args[0]->n_axes == 0;
        t->scale = n->args[1 - side], n = n->args[side];
    }
    if (!as_contraction(n, &c) || n->n_reduced != 1 || !algebra_own(a, n) || !algebra_own(a, n->args[0])) return false;
    t->a = c.a, t->b = c.b, t->axis = n->reduced[0];
    return true;
}

/* Whether x and y have the same axes but for the one each is summed over. */
static bool same_free_axes(const struct node *x, int x_axis, const struct node *y, int y_axis) {
    if (x->n_axes != y->n_axes) return false;
    for (int i = 0; i < x->n_axes; i++)
        if (x->axes[i] != x_axis && (!node_has_axis(y, x->axes[i]) || x->axes[i] == y_axis)) return false;
    return !node_has_axis(x, y_axis) || x_axis == y_axis;
}

/* A new axis of the kernel, as long as two others together. */
static int add_joined_axis(struct algebra *a, int first, int second, struct span span) {
    struct arena *arena = &a->g->cx->arena;
    struct kernel *k = NEW(arena, struct kernel);
    *k = *a->g->kernel;
    int64_t e0 = k->axes[first].extent, e1 = k->axes[second].extent;
    struct axis *axes = NEW_ARRAY(arena, struct axis, k->n_axes + 1);
    memcpy(axes, k->axes, (size_t)k->n_axes * sizeof *axes);
    axes[k->n_axes] = (struct axis){.name = axes[first].name,
        .extent = e0 >= 0 && e1 >= 0 ? e0 + e1 : -1,
        .nominal = axes[first].nominal + axes[second].nominal,
        .span = span,
        .part_of = -1,
        .is_inner = true};
    for (int i = 0; i < k->n_axes; i++) axes[k->n_axes].copy += name_eq(axes[i].name, axes[first].name);
    k->axes = axes;
    struct equation *equations = NEW_ARRAY(arena, struct equation, k->n_equations + 1);
    const struct fx_term sum[] = {{FX_T_EXTENT, first}, {FX_T_EXTENT, second}, {.op = FX_T_ADD}};
    enum { N_TERMS = sizeof sum / sizeof *sum };
    struct fx_term *terms = NEW_ARRAY(arena, struct fx_term, N_TERMS);
    if (k->n_equations) memcpy(equations, k->equations, (size_t)k->n_equations * sizeof *equations);
    memcpy(terms, sum, sizeof sum);
    const char *text = arena_printf(arena, NAME_FMT " and " NAME_FMT " end to end = " NAME_FMT " + " NAME_FMT,
        NAME_ARG(axes[first].name), NAME_ARG(axes[second].name), NAME_ARG(axes[first].name),
        NAME_ARG(axes[second].name));
    equations[k->n_equations++] =
        (struct equation){.axis = k->n_axes, .value = {N_TERMS, terms}, .text = text, .span = span};
    k->equations = equations;
    a->g->kernel = k;
    return k->n_axes++;
}

/* x at a position along its axis, 0 outside, times a scalar if there is one. */
static struct node *read_at(
    struct algebra *a, struct node *x, int axis, struct node *position, struct node *scale, const struct node *like) {
    struct node n = {.kind = N_ACCESS,
        .dtype = x->dtype,
        .n_at = 1,
        .at = {axis},
        .has_fill = true,
        .axis = -1,
        .span = like->span,
        .source = like->source};
    n.args[0] = x, n.args[1] = position, n.args[2] = build_zero(a->g, x->dtype, like);
    struct node *read = build_node(a->g, n);
    return scale ? build_op(a->g, O_MUL, read, scale, NULL, like) : read;
}

/* The left or right factor of u along its axis, then that of v along its own, along the joined axis. */
static struct node *end_to_end(
    struct algebra *a, const struct term *u, const struct term *v, bool is_left, int joined, const struct node *like) {
    struct node *i = build_index(a->g, joined, like), *size = build_size(a->g, u->axis, like);
    struct node *is_first = build_op(a->g, O_LT, i, size, NULL, like);
    struct node *rest = build_op(a->g, O_SUB, i, size, NULL, like);
    struct node *first = read_at(a, is_left ? u->a : u->b, u->axis, i, is_left ? u->scale : NULL, like);
    return build_op(a->g, O_WHERE, is_first, first,
        read_at(a, is_left ? v->a : v->b, v->axis, rest, is_left ? v->scale : NULL, like), like);
}

static bool same_factors(const struct term *u, const struct term *v) {
    return same_free_axes(u->a, u->axis, v->a, v->axis) && same_free_axes(u->b, u->axis, v->b, v->axis);
}

struct node *algebra_k_concat(struct algebra *a, struct node *n) {
    struct addends t = {0};
    struct term u, v;
    if (!node_is_op(n, O_ADD)) return NULL;
    flatten(a, n, &t, 0);
    int n_tree = a->n_consumed, from = a->g->n_nodes;
    for (int i = 0; i < t.n; i++)
        for (int j = i + 1; j < t.n; j++) {
            a->n_consumed = n_tree, a->g->n_nodes = from;
            if (!as_term(a, t.nodes[i], &u) || !as_term(a, t.nodes[j], &v)) continue;
            if (!same_factors(&u, &v)) {
                struct node *left = v.a;
                v.a = v.b, v.b = left;
            }
            if (!same_factors(&u, &v)) continue;
            int joined = add_joined_axis(a, u.axis, v.axis, n->span);
            struct node *x = end_to_end(a, &u, &v, true, joined, n), *y = end_to_end(a, &u, &v, false, joined, n);
            struct node *r = build_sum(a->g, build_op(a->g, O_MUL, x, y, NULL, n), &joined, 1, n);
            for (int k = 0; k < t.n; k++)
                if (k != i && k != j) r = build_op(a->g, O_ADD, r, t.nodes[k], NULL, n);
            return r;
        }
    return NULL;
}
