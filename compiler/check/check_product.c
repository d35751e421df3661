/* A sum over a product of three factors or more, as products of two.
 *
 * In: the product under a sum and what is summed. Out: the same sum as a tree of products of two operands, each label
 * summed in the first product beyond which no factor has it; or NULL, where the sum stays as it is written. So
 * `sum[K](x * w * s)` is the matrix product of `x * s` and `w`, whichever way round it is written, and
 * `sum[I,J](x * w * v)` two matrix products (docs/language.md, "Products of several factors").
 *
 * The tree is the best of all, over which subsets of factors are walked (as in the ordering of joins: Selinger et al.,
 * SIGMOD 1979, section 5): up to MOST factors, 3^MOST steps. It is chosen by labels, not by extents, so that what is
 * computed does not depend on -D. */
#include "check/check_internal.h"

enum { MOST = 6 };

struct subproduct { /* the product of a subset of factors, summed over what no other factor has */
    bool is_valid;
    bool is_divisor;    /* one factor that divides */
    bool has_sum;
    bool has_matrices;  /* a sum in it is a product of matrices */
    unsigned labels;    /* those left, a bit each */
    int widest, total;  /* labels of its widest product; of all products */
    unsigned left;      /* the subset that is its first operand; 0: one factor */
};

struct product_search {
    struct checker *c;
    const struct ast_expr *at;
    int n, n_labels;
    struct value *factors[MOST];
    bool divides[MOST];
    unsigned carried[MOST];    /* labels of a factor */
    int labels[MAX_AXES];
    unsigned summed;
    struct subproduct parts[1 << MOST];
};

static int count(unsigned set) { return __builtin_popcount(set); }

static bool is_output(const struct checker *c, const struct value *v) {
    for (int i = 0; v->name.len && i < c->k->n_params; i++)
        if (c->k->params[i].is_output && name_eq(c->k->params[i].ast->name, v->name)) return true;
    return false;
}

/* Whether v is a product that is taken apart: an output is computed as it is written. */
static bool is_product(const struct checker *c, const struct value *v) {
    if (v->kind != V_OP || v->dtype == FX_BOOL || is_output(c, v)) return false;
    return v->op == O_MUL || (v->op == O_DIV && fx_is_float(v->dtype));
}

static unsigned labels_of(const struct product_search *p, const struct value *v) {
    unsigned labels = 0;
    for (int i = 0; i < v->n_axes; i++)
        for (int l = 0; l < p->n_labels; l++)
            if (p->labels[l] == v->axes[i]) labels |= 1u << l;
    return labels;
}

/* The factors in the order written. False where there are too many, or one divides by a product. */
static bool collect(struct product_search *p, struct value *v, bool divides) {
    if (!is_product(p->c, v)) {
        if (p->n == MOST) return false;
        p->carried[p->n] = labels_of(p, v);
        p->divides[p->n] = divides;
        p->factors[p->n++] = v;
        return true;
    }
    if (divides) return false;
    return collect(p, v->args[0], false) && collect(p, v->args[1], v->op == O_DIV);
}

static unsigned carried_by(const struct product_search *p, unsigned subset) {
    unsigned labels = 0;
    for (int i = 0; i < p->n; i++)
        if (subset >> i & 1) labels |= p->carried[i];
    return labels;
}

/* Whether both sides have a label of their own: of the sum of their product that is a product of matrices. */
static bool are_matrices(unsigned a, unsigned b) { return (a & ~b) && (b & ~a); }

/* The product of two parts. A label is summed where no further factor has it, and both have to carry it: what one
 * factor alone carries is no sum of products. */
static struct subproduct joined(const struct product_search *p, unsigned subset, unsigned left) {
    const struct subproduct *a = &p->parts[left], *b = &p->parts[subset & ~left];
    struct subproduct r = {.labels = a->labels | b->labels, .left = left};
    unsigned all = (1u << p->n) - 1;
    unsigned sums = r.labels & p->summed & ~carried_by(p, all & ~subset);
    int width = count(r.labels);
    r.is_valid = a->is_valid && b->is_valid && !a->is_divisor && !(b->is_divisor && sums) &&
                 (sums & a->labels & b->labels) == sums && (subset != all || sums);
    r.widest = width > a->widest ? width : a->widest;
    r.widest = b->widest > r.widest ? b->widest : r.widest;
    r.total = width + a->total + b->total;
    r.has_sum = sums != 0;
    r.has_matrices = a->has_matrices || b->has_matrices || (sums && are_matrices(a->labels, b->labels));
    r.labels &= ~sums;
    return r;
}

static bool is_better(const struct subproduct *x, const struct subproduct *y) {
    if (x->is_valid != y->is_valid) return x->is_valid;
    return x->widest != y->widest ? x->widest < y->widest : x->total < y->total;
}

static struct subproduct best_of(const struct product_search *p, unsigned subset) {
    struct subproduct best = {.labels = carried_by(p, subset)};
    if (!(subset & (subset - 1))) { /* one factor */
        best.is_valid = true;
        best.is_divisor = p->divides[__builtin_ctz(subset)];
        return best;
    }
    for (unsigned left = subset & (subset - 1); left; left = (left - 1) & subset) {
        bool has_first = left & subset & -subset; /* a product has one order; a quotient leads with what it divides */
        struct subproduct x = joined(p, subset, left);
        if ((has_first || p->parts[subset & ~left].is_divisor) && is_better(&x, &best)) best = x;
    }
    return best;
}

/* Whether the sum is a product of matrices as it is written. */
static bool is_written_so(const struct product_search *p, const struct value *v) {
    unsigned a = labels_of(p, v->args[0]), b = labels_of(p, v->args[1]);
    return v->op == O_MUL && (a & b & p->summed) == p->summed && are_matrices(a, b);
}

/* Whether the tree found has one, or a narrower widest product: the written one's has all labels. */
static bool pays(const struct product_search *p, unsigned all) {
    const struct subproduct *best = &p->parts[all];
    return best->is_valid && (best->widest < p->n_labels || best->has_matrices);
}

static struct value *build(const struct product_search *p, unsigned subset) {
    const struct subproduct *part = &p->parts[subset];
    if (!part->left) return p->factors[__builtin_ctz(subset)];
    unsigned right = subset & ~part->left;
    struct value *args[3] = {build(p, part->left), build(p, right)};
    struct value *v = check_op(p->c, p->parts[right].is_divisor ? O_DIV : O_MUL, args, p->at);
    int reduced[MAX_AXES], n = 0;
    if (!v || !part->has_sum) return v;
    for (int l = 0; l < p->n_labels; l++)
        if (!(part->labels >> l & 1) && value_has_axis(v, p->labels[l])) reduced[n++] = p->labels[l];
    return check_reduce(p->c, RED_SUM, v, reduced, n, p->at);
}

struct value *check_product_sum(
    struct checker *c, struct value *v, const int *reduced, int n_reduced, const struct ast_expr *e) {
    struct product_search p = {.c = c, .at = e, .n_labels = v->n_axes};
    if (!is_product(c, v)) return NULL;
    for (int l = 0; l < v->n_axes; l++) {
        p.labels[l] = v->axes[l];
        for (int i = 0; i < n_reduced; i++)
            if (reduced[i] == v->axes[l]) p.summed |= 1u << l;
    }
    if (!collect(&p, v, false) || p.n < 3 || is_written_so(&p, v)) return NULL;
    unsigned all = (1u << p.n) - 1;
    for (unsigned subset = 1; subset <= all; subset++) p.parts[subset] = best_of(&p, subset);
    return pays(&p, all) ? build(&p, all) : NULL;
}
