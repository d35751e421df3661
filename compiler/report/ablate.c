/* The terms of a kernel, and copies of the kernel that lack one of them. The difference in time is the cost of the
 * term.
 *
 * In: a checked kernel. Out: its terms, or a copy of it in which one is replaced. The contractions with the most flops
 * are the spine; the path from them to the outputs stays. These are terms: an operation of the source (traffic.h)
 * beside the spine, which is replaced by its operand, the one that is computed from the spine, else the first with its
 * axes and type; a reduction beside the spine, which is replaced by a constant, together with equal computations; a
 * tensor that no such operation reads, which is replaced by a constant. Invariant: a kernel without a term is a right
 * kernel, in which every contraction of the spine is still needed. */
#include "report/ablate.h"

#include <stdlib.h>
#include <string.h>

#include "check/check_internal.h"
#include "schedule/traffic.h"

enum { SPINE_SHARE = 8 }; /* a contraction is of the spine where the largest has at most so many times its flops */

struct ablated_term {
    struct fx_ablation told;
    const struct value *from, *to; /* `to` NULL: a constant stands for `from`, and for all that computes the same */
};

struct ablation {
    struct cx *cx;
    const struct kernel *k;
    struct operations_of ops;
    const double *nominal;  /* by axis */
    bool *is_spine;         /* by value: a contraction with the most flops */
    bool *has_spine;        /* by value: it is computed from one, or is one */
    bool *feeds_spine;      /* by value: one is computed from it */
    int *first_equal;       /* by value: the first that computes the same */
    int n_terms;
    struct ablated_term *terms;
};

/* ---- the spine ---- */

static bool has_axis(const struct value *v, int axis) {
    for (int i = 0; i < v->n_axes; i++)
        if (v->axes[i] == axis) return true;
    return false;
}

static bool is_contraction(const struct value *v) {
    if (v->kind != V_REDUCE || v->reduction != RED_SUM || v->args[0]->kind != V_OP || v->args[0]->op != O_MUL)
        return false;
    const struct value *product = v->args[0];
    bool is_matrix[2] = {false, false};
    for (int i = 0; i < v->n_reduced; i++)
        if (!has_axis(product->args[0], v->reduced[i]) || !has_axis(product->args[1], v->reduced[i])) return false;
    for (int side = 0; side < 2; side++) /* a sum of squares has no label of its own on either side */
        for (int i = 0; i < product->args[side]->n_axes; i++)
            is_matrix[side] |= !has_axis(product->args[1 - side], product->args[side]->axes[i]);
    return is_matrix[0] && is_matrix[1];
}

static double flops_of(const struct ablation *a, const struct value *v) {
    double n = 2;
    for (int i = 0; i < v->args[0]->n_axes; i++) n *= a->nominal[v->args[0]->axes[i]];
    return n;
}

static void find_spine(struct ablation *a) {
    const struct kernel *k = a->k;
    double most = 0;
    for (int i = 0; i < k->n_values; i++)
        if (a->ops.is_live[i] && is_contraction(k->values[i]) && flops_of(a, k->values[i]) > most)
            most = flops_of(a, k->values[i]);
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = k->values[i];
        a->is_spine[i] = a->ops.is_live[i] && is_contraction(v) && flops_of(a, v) * SPINE_SHARE >= most;
        a->has_spine[i] = a->is_spine[i];
        for (int j = 0; j < v->n_args; j++) a->has_spine[i] |= a->has_spine[v->args[j]->id];
    }
    for (int i = k->n_values - 1; i >= 0; i--)
        for (int j = 0; j < k->values[i]->n_args; j++)
            a->feeds_spine[k->values[i]->args[j]->id] |= a->is_spine[i] || a->feeds_spine[i];
}

/* ---- values that compute the same ---- */

static bool same_set(const int *a, int n_a, const int *b, int n_b) {
    bool is_same = n_a == n_b;
    for (int i = 0; is_same && i < n_a; i++) {
        bool is_there = false;
        for (int j = 0; j < n_b; j++) is_there |= a[i] == b[j];
        is_same = is_there;
    }
    return is_same;
}

static bool computes_the_same(const struct ablation *a, const struct value *x, const struct value *y) {
    bool is_same = x->kind == y->kind && x->op == y->op && x->reduction == y->reduction && x->dtype == y->dtype &&
                   x->to == y->to && x->n_args == y->n_args && x->n_at == y->n_at;
    is_same = is_same && x->axis == y->axis && x->has_fill == y->has_fill && x->param == y->param &&
              x->integer == y->integer && memcmp(&x->num, &y->num, sizeof x->num) == 0;
    is_same = is_same && same_set(x->reduced, x->n_reduced, y->reduced, y->n_reduced) &&
              same_set(x->axes, x->n_axes, y->axes, y->n_axes);
    for (int i = 0; is_same && i < x->n_at; i++) is_same = x->at[i] == y->at[i];
    for (int i = 0; is_same && i < x->n_args; i++)
        is_same = a->first_equal[x->args[i]->id] == a->first_equal[y->args[i]->id];
    return is_same;
}

static void find_equal(struct ablation *a) {
    for (int i = 0; i < a->k->n_values; i++) {
        a->first_equal[i] = i;
        for (int j = 0; j < i && a->first_equal[i] == i; j++)
            if (a->first_equal[j] == j && computes_the_same(a, a->k->values[i], a->k->values[j])) a->first_equal[i] = j;
    }
}

/* ---- a kernel without a term ---- */

/* An extreme's index has to stay one of its axis; elsewhere 1 is no divisor of 0, and no logarithm's end. */
static struct value constant_for(const struct value *v) {
    bool is_index = v->kind == V_REDUCE && (v->reduction == RED_ARGMAX || v->reduction == RED_ARGMIN);
    return (struct value){.kind = V_NUM,
        .dtype = v->dtype,
        .natural = v->natural,
        .num = fx_is_integer(v->dtype) ? 0 : 1,
        .integer = fx_is_integer(v->dtype) && !is_index,
        .span = v->span,
        .source = v->source,
        .id = v->id};
}

static bool keeps_axis(const struct value *v, int axis) {
    for (int i = 0; v->kind == V_REDUCE && i < v->n_reduced; i++)
        if (v->reduced[i] == axis) return false;
    for (int i = 0; i < v->n_args; i++) {
        bool is_read_at = false;
        for (int j = 0; i == 0 && j < v->n_at; j++) is_read_at |= v->at[j] == axis;
        if (!is_read_at && has_axis(v->args[i], axis)) return true;
    }
    return false;
}

/* The axes v has left where its operands have lost some of those of `whole`; false where it cannot do without those. */
static bool drop_lost_axes(struct value *v, const struct value *whole) {
    int n = 0;
    if (v->n_args == 0) return true;
    for (int i = 0; v->kind == V_PLACE && i < v->n_axes; i++)
        if (keeps_axis(whole, v->axes[i]) && !keeps_axis(v, v->axes[i])) return false;
    if (v->kind == V_PLACE) return true;
    for (int i = 0; v->kind == V_REDUCE && i < v->n_reduced; i++)
        if (!has_axis(v->args[0], v->reduced[i])) return false;
    for (int i = 0; i < v->n_at; i++)
        if (!has_axis(v->args[0], v->at[i])) return false;
    bool runs = v->kind != V_SCAN;
    for (int i = 0; i < v->n_args; i++) runs |= has_axis(v->args[i], v->axis);
    if (!runs) return false;
    for (int i = 0; i < v->n_axes; i++)
        if (keeps_axis(v, v->axes[i])) v->axes[n++] = v->axes[i];
    v->n_axes = n;
    return true;
}

static bool still_has_spine(const struct ablation *a, const struct kernel *k) {
    bool *is_live = NEW_ARRAY(&a->cx->arena, bool, k->n_values + 1);
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_output) is_live[param_stored(&k->params[i])->id] = true;
    for (int i = k->n_values - 1; i >= 0; i--) {
        for (int j = 0; is_live[i] && j < k->values[i]->n_args; j++) is_live[k->values[i]->args[j]->id] = true;
        if (a->is_spine[i] && !is_live[i]) return false;
    }
    return true;
}

/* NULL where what is left would be no kernel, or lack some of the spine. */
static struct kernel *without(const struct ablation *a, const struct ablated_term *t) {
    struct arena *arena = &a->cx->arena;
    struct kernel *k = NEW(arena, struct kernel);
    struct value **map = NEW_ARRAY(arena, struct value *, a->k->n_values + 1);
    *k = *a->k;
    k->values = NEW_ARRAY(arena, struct value *, k->n_values + 1);
    k->params = NEW_ARRAY(arena, struct param, k->n_params + 1);
    for (int i = 0; i < k->n_values; i++) {
        const struct value *v = a->k->values[i];
        bool is_gone = t->to ? v == t->from : a->first_equal[i] == a->first_equal[t->from->id];
        struct value *copy = k->values[i] = NEW(arena, struct value);
        *copy = !t->to && is_gone ? constant_for(v) : *v;
        copy->settled = NULL; /* the checker's, which is done */
        for (int j = 0; j < copy->n_args; j++) copy->args[j] = map[copy->args[j]->id];
        if (!drop_lost_axes(copy, v)) return NULL;
        map[i] = t->to && is_gone ? map[t->to->id] : copy;
    }
    for (int i = 0; i < k->n_params; i++) {
        k->params[i] = a->k->params[i];
        if (k->params[i].result) k->params[i].result = map[k->params[i].result->id];
        if (k->params[i].placed) k->params[i].placed = map[k->params[i].placed->id];
    }
    return still_has_spine(a, k) ? k : NULL;
}

/* ---- which terms there are ---- */

static const char *short_text(const struct ablation *a, const struct value *v) {
    struct buf b;
    buf_init(&b, &a->cx->arena);
    if (v->kind == V_LOAD || v->kind == V_SCALAR) return a->k->params[v->param].name;
    if (v->name.len) return arena_strndup(&a->cx->arena, v->name.s, v->name.len);
    if (!v->source) return "";
    ast_print_expr_short(&b, v->source, 60);
    return b.s;
}

/* A term that can be left out is told of. */
static bool add_term(
    struct ablation *a, const struct value *from, const struct value *to, const char *place, const char *text) {
    struct ablated_term t = {.from = from, .to = to};
    if (!without(a, &t)) return false;
    t.told = (struct fx_ablation){.line = span_line(a->cx, from->span), .place = place, .text = text};
    if (from->source && from->source->span.file != from->span.file) t.told.call = span_text(a->cx, from->span);
    t.told.instead = to ? short_text(a, to) : fx_is_integer(from->dtype) && constant_for(from).integer == 0 ? "0" : "1";
    PUSH(&a->cx->arena, a->terms, a->n_terms) = t;
    return true;
}

static const char *place_of(const struct ablation *a, const struct value *v) {
    bool has = a->has_spine[v->id], feeds = a->feeds_spine[v->id];
    return has && feeds ? "between" : has ? "epilogue" : feeds ? "prologue" : "beside";
}

/* What an operation is applied to, of those outside of it that it reads: the only one made of the spine; else the first
 * with its axes and type. */
static const struct value *main_operand(const struct ablation *a, int class, const struct value *root) {
    const struct value *of_spine = NULL, *first = NULL;
    for (int i = 0; i < a->k->n_values; i++) {
        const struct value *v = a->k->values[i];
        for (int j = 0; a->ops.is_live[i] && a->ops.of[i] == class && j < v->n_args; j++) {
            const struct value *x = v->args[j];
            bool is_outside = a->ops.of[x->id] != class,
                 fits = x->dtype == root->dtype && same_set(x->axes, x->n_axes, root->axes, root->n_axes);
            if (!is_outside || x->kind == V_NUM || x->kind == V_INDEX || x->kind == V_SIZE) continue;
            if (a->has_spine[x->id] && of_spine && of_spine != x) return NULL;
            if (a->has_spine[x->id]) of_spine = fits ? x : root;
            if (fits && !first) first = x;
        }
    }
    return of_spine == root ? NULL : of_spine ? of_spine : first;
}

static void add_operations(struct ablation *a, bool *is_term) {
    for (int i = 0; i < a->k->n_values; i++) {
        const struct value *v = a->k->values[i], *to;
        if (!a->ops.is_live[i] || a->ops.of[i] != i || a->ops.is_view[i] || a->is_spine[i]) continue;
        const struct value *root = v;
        for (int j = i + 1; j < a->k->n_values; j++) /* its last value is what is read of it */
            if (a->ops.is_live[j] && a->ops.of[j] == i) root = a->k->values[j];
        if (root->kind == V_PLACE) continue; /* what is stored elsewhere is another kernel */
        if (!a->ops.is_index[root->id] && (to = main_operand(a, i, root)))
            is_term[i] |= add_term(a, root, to, place_of(a, root), span_text(a->cx, root->span));
    }
}

/* What is reduced, without a factor of 1 that makes a float of it, as a mean has one. */
static const struct value *reduced_by(const struct value *v) {
    const struct value *x = v->args[0];
    for (int i = 0; x->kind == V_OP && x->op == O_MUL && i < 2; i++)
        if (x->args[i]->kind == V_NUM && x->args[i]->num == 1) return x->args[1 - i];
    return x;
}

static void add_reductions(struct ablation *a, bool *is_term) {
    for (int i = 0; i < a->k->n_values; i++) {
        const struct value *v = a->k->values[i];
        struct buf b;
        if (!a->ops.is_live[i] || v->kind != V_REDUCE || a->is_spine[i] || a->first_equal[i] != i) continue;
        buf_init(&b, &a->cx->arena);
        buf_printf(&b, "%s of %s", reduction_name(v->reduction), short_text(a, reduced_by(v)));
        is_term[a->ops.of[i]] |= add_term(a, v, NULL, is_contraction(v) ? "contraction" : "statistics",
            is_contraction(v) ? span_text(a->cx, v->span) : b.s);
    }
}

/* Tensors that no operation reads that is a term itself, nor the spine. */
static void add_operands(struct ablation *a, const bool *is_term) {
    for (int i = 0; i < a->k->n_values; i++) {
        const struct value *v = a->k->values[i];
        bool is_read = false, is_covered = a->feeds_spine[i];
        if (v->kind != V_LOAD) continue;
        for (int j = 0; j < a->k->n_values; j++)
            for (int arg = 0; a->ops.is_live[j] && arg < a->k->values[j]->n_args; arg++) {
                if (a->first_equal[a->k->values[j]->args[arg]->id] != i) continue;
                is_read = true;
                is_covered |= is_term[a->ops.of[j]];
            }
        if (is_read && !is_covered) add_term(a, v, NULL, "operand", short_text(a, v));
    }
}

static int by_line(const void *a, const void *b) {
    const struct ablated_term *x = a, *y = b;
    int ids = x->from->id - y->from->id, lines = x->told.line - y->told.line;
    return lines ? lines : ids ? ids : (x->to == NULL) - (y->to == NULL);
}

/* What labels are likely to be, from what is said of some. */
static const double *nominals(struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents) {
    struct kernel as_given = *k;
    double *nominal = NEW_ARRAY(&cx->arena, double, k->n_axes + 1);
    as_given.axes = NEW_ARRAY(&cx->arena, struct axis, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) {
        as_given.axes[i] = k->axes[i];
        for (int j = 0; extents && j < n_extents && k->axes[i].extent < 0 && k->axes[i].part_of < 0; j++) {
            size_t len = strcspn(extents[j], "=");
            if (extents[j][len] == '=' && len == k->axes[i].name.len && memcmp(extents[j], k->axes[i].name.s, len) == 0)
                as_given.axes[i].extent = strtoll(extents[j] + len + 1, NULL, 10);
        }
    }
    check_nominal(cx, &as_given);
    for (int i = 0; i < k->n_axes; i++) nominal[i] = as_given.axes[i].nominal;
    return nominal;
}

static struct ablation find_terms(struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents) {
    struct arena *arena = &cx->arena;
    size_t n = (size_t)k->n_values + 1;
    struct ablation a = {.cx = cx,
        .k = k,
        .ops = traffic_operations(arena, k),
        .is_spine = NEW_ARRAY(arena, bool, n),
        .has_spine = NEW_ARRAY(arena, bool, n),
        .feeds_spine = NEW_ARRAY(arena, bool, n),
        .first_equal = NEW_ARRAY(arena, int, n)};
    bool *is_term = NEW_ARRAY(arena, bool, n);
    a.nominal = nominals(cx, k, extents, n_extents);
    find_spine(&a);
    find_equal(&a);
    add_operations(&a, is_term);
    add_reductions(&a, is_term);
    add_operands(&a, is_term);
    if (a.n_terms) qsort(a.terms, (size_t)a.n_terms, sizeof *a.terms, by_line);
    return a;
}

struct fx_ablation *ablate_list(
    struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents, int *n) {
    struct ablation a = find_terms(cx, k, extents, n_extents);
    struct fx_ablation *list = NEW_ARRAY(&cx->arena, struct fx_ablation, a.n_terms + 1);
    for (int i = 0; i < a.n_terms; i++) list[i] = a.terms[i].told;
    *n = a.n_terms;
    return list;
}

struct kernel *ablate_kernel(
    struct cx *cx, const struct kernel *k, const char *const *extents, int n_extents, int number) {
    struct ablation a = find_terms(cx, k, extents, n_extents);
    return number < 1 || number > a.n_terms ? NULL : without(&a, &a.terms[number - 1]);
}
