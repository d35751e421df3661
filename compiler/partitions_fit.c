/* Conditions over products of extents under which one form of a kernel is taken.
 *
 * In: by point, how much is gained by taking it there. Out: comparisons under which most is gained, with limits that
 * are moved to where the prices of two forms cross; the same as an expression of the plan. */
#include <math.h>
#include <string.h>

#include "graph/terms.h"
#include "partitions_fit.h"
#include "symbolic/plan_expr.h"

enum { BISECTIONS = 6 };

/* What another test has to add, in logarithms of times over all points. */
static const double LEAST_GAIN = 0.3, LEAST_SHARE = 0.02; /* and of what there is */

static double feature_at(const struct fitter *f, const struct test *t, const int64_t *given) {
    double v = t->is_least ? HUGE_VAL : 1;
    for (int i = 0; i < f->n_labels; i++)
        if (t->labels >> i & 1) v = t->is_least ? fmin(v, (double)given[i]) : v * (double)given[i];
    return v;
}

static bool test_holds(const struct fitter *f, const struct test *t, const int64_t *given) {
    return (feature_at(f, t, given) > t->limit) == t->is_above;
}

static bool case_holds(const struct fitter *f, const struct fitted *c, int of, const int64_t *given) {
    for (int i = 0; i < c->n[of]; i++)
        if (!test_holds(f, &c->tests[of][i], given)) return false;
    return true;
}

/* Whether what passes did pays at a point. */
static bool pays_at(const struct fitter *f, const struct kernel *of, const struct point *p) {
    const struct arena_mark mark = arena_marked(&f->cx->arena);
    int64_t *extents = NEW_ARRAY(&f->cx->arena, int64_t, of->n_axes + 1);
    bool pays = true;
    fitter_set_nominal(f, of, p->nominal);
    for (int i = 0; i < of->n_axes; i++)
        extents[i] = of->axes[i].extent >= 0 ? of->axes[i].extent : (int64_t)of->axes[i].nominal;
    for (int i = 0; i < of->n_pays; i++) pays &= fx_expr_holds(&of->pays[i], &(struct fx_env){.extents = extents});
    arena_rewind(&f->cx->arena, &mark);
    return pays;
}

bool fitter_holds(const struct fitter *f, const struct fitted *c, const struct point *p) {
    if (c->pays && !pays_at(f, c->pays, p)) return false;
    if (c->pays && !c->n_cases) return true;
    for (int i = 0; i < c->n_cases; i++)
        if (case_holds(f, c, i, p->given)) return true;
    return false;
}

/* qsort may ask the C library for memory. */
static void sort(double *values, int n) {
    for (int i = 1; i < n; i++) {
        const double v = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > v; at--) values[at] = values[at - 1];
        values[at] = v;
    }
}

/* The test that leaves most to be gained of the points that are `open`. */
static double best_test(const struct fitter *f, const double *gains, const bool *open, struct test *best) {
    double most = 0, *values = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1),
           *sorted = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    for (unsigned kind = 2; kind < 2u << f->n_labels; kind++) {
        const unsigned labels = kind / 2;
        const struct test of = {.labels = labels, .is_least = kind % 2};
        if (of.is_least && (!f->has_halves || !(labels & (labels - 1)))) continue; /* of one label it is that */
        int n = 0;
        for (int i = 0; i < f->n_points; i++) {
            values[i] = feature_at(f, &of, f->points[i].given);
            if (open[i]) sorted[n++] = values[i];
        }
        sort(sorted, n);
        for (int s = 0; s + 1 < n; s++) {
            if (sorted[s] == sorted[s + 1]) continue;
            for (int above = 0; above < 2; above++) {
                double all = 0;
                for (int i = 0; i < f->n_points; i++)
                    if (open[i] && (values[i] > sorted[s]) == above) all += gains[i];
                if (all <= most * (1 + 1e-9)) continue;
                most = all;
                *best = (struct test){labels, of.is_least, above, sqrt(sorted[s] * sorted[s + 1])};
            }
        }
    }
    return most;
}

/* Tests joined under which what is gained at open points is most, which are those that stay open; what it is. Losses
 * count `leniently` for the first test alone: others may cut them off. */
static double fit_case(
    const struct fitter *f, const double *gains, double leniently, bool *open, struct test *tests, int *n_tests) {
    double all = 0, *first = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    for (int i = 0; i < f->n_points; i++) first[i] = gains[i] < 0 ? gains[i] * leniently : gains[i];
    for (int t = 0; t < MOST_TESTS; t++) {
        struct test test;
        double more = best_test(f, t ? gains : first, open, &test);
        if (more <= (t > 1 || leniently == 1 ? all * (1 + LEAST_SHARE) : 0) + LEAST_GAIN) break;
        tests[(*n_tests)++] = test;
        all = 0;
        for (int i = 0; i < f->n_points; i++)
            if (open[i] &= test_holds(f, &test, f->points[i].given)) all += gains[i];
    }
    return all;
}

struct fitted fitter_fit(const struct fitter *f, const double *gains) {
    static const double leniently[] = {1, 0.2, 0.02};
    const size_t n_bytes = (size_t)f->n_points * sizeof(bool);
    struct fitted c = {0};
    bool *left = NEW_ARRAY(&f->cx->arena, bool, f->n_points + 1),
         *open = NEW_ARRAY(&f->cx->arena, bool, f->n_points + 1),
         *best = NEW_ARRAY(&f->cx->arena, bool, f->n_points + 1);
    for (int i = 0; i < f->n_points; i++) left[i] = true;
    for (int k = 0; k < MOST_CASES; k++) {
        double most = LEAST_GAIN;
        for (int l = 0; l < 3; l++) {
            struct test tests[MOST_TESTS];
            int n = 0;
            memcpy(open, left, n_bytes);
            double all = fit_case(f, gains, leniently[l], open, tests, &n);
            if (!n || all <= most * (1 + LEAST_SHARE)) continue;
            most = all, c.n[k] = n;
            memcpy(c.tests[k], tests, sizeof tests);
            memcpy(best, open, n_bytes);
        }
        if (!c.n[k]) break;
        c.n_cases++;
        for (int i = 0; i < f->n_points; i++) left[i] &= !best[i];
    }
    return c;
}

/* Whether two points differ in the extent of one label alone, by one step. */
static int differing_label(const struct fitter *f, const struct point *a, const struct point *b) {
    int label = -1;
    for (int i = 0; i < f->n_labels; i++)
        if (a->given[i] != b->given[i]) label = label < 0 ? i : MOST_LABELS;
    if (label < 0 || label == MOST_LABELS) return -1;
    for (int s = 0; s + 1 < f->n_steps[label]; s++) {
        int64_t low = f->steps[label][s], high = f->steps[label][s + 1];
        if ((a->given[label] == low && b->given[label] == high) || (a->given[label] == high && b->given[label] == low))
            return label;
    }
    return -1;
}

/* Where between points a and b, at which it is the faster one and is not, form j takes as long as `other`. */
static struct point crossing(
    struct fitter *f, int j, int other, const struct point *a, const struct point *b, int label) {
    struct point from = *a, to = *b, middle = *a;
    for (int n = 0; n < BISECTIONS; n++) {
        middle.given[label] = (int64_t)sqrt((double)from.given[label] * (double)to.given[label]);
        if (middle.given[label] == from.given[label] || middle.given[label] == to.given[label]) break;
        if (!fitter_follow(f, &middle)) break;
        bool is_faster =
            fitter_price(f, f->forms[j], middle.nominal) < fitter_price(f, f->forms[other], middle.nominal);
        *(is_faster ? &from : &to) = middle;
    }
    return from;
}

/* Moves the limit of a test to where prices cross between points that it tells apart. */
static void move_limit(struct fitter *f, const struct choice *x, int j, struct fitted *c, struct test *t) {
    enum { MOST = 8 };
    double limits[MOST], low = 0, high = HUGE_VAL;
    int n = 0;
    for (int i = 0; i < f->n_points; i++) {
        double v = feature_at(f, t, f->points[i].given);
        if (v <= t->limit && v > low) low = v;
        if (v > t->limit && v < high) high = v;
    }
    for (int a = 0; a < f->n_points && n < MOST; a++)
        for (int b = 0; b < f->n_points && n < MOST; b++) {
            int label = differing_label(f, &f->points[a], &f->points[b]);
            if (label < 0 || !(t->labels >> label & 1)) continue;
            if (fitter_gain(f, x, j, a) <= 0 || fitter_gain(f, x, j, b) >= 0) continue;
            if (!fitter_holds(f, c, &f->points[a]) || test_holds(f, t, f->points[b].given)) continue;
            struct point p = crossing(f, j, x->at[a], &f->points[a], &f->points[b], label);
            limits[n++] = feature_at(f, t, p.given);
        }
    sort(limits, n);
    double limit = n ? limits[n / 2] : t->limit;
    if (limit >= low && limit < high) t->limit = limit;
}

void fitter_move_limits(struct fitter *f, const struct choice *x, int j, struct fitted *c) {
    for (int k = 0; k < c->n_cases; k++)
        for (int i = 0; i < c->n[k]; i++) move_limit(f, x, j, c, &c->tests[k][i]);
}

static void push_least(struct terms *x, const struct kernel *k, const int *axes, int n) {
    for (int i = 0; i < n; i++) {
        terms_extent(x, k, axes[i]);
        if (i) terms_op(x, FX_T_MIN);
    }
}

struct fx_expr fitter_expr(const struct fitter *f, const struct fitted *c) {
    struct terms x = {.a = &f->cx->arena};
    for (int i = 0; c->pays && i < c->pays->n_pays; i++) {
        const struct fx_expr *e = &c->pays->pays[i];
        terms_expr(&x, e);
        if (i) terms_op(&x, FX_T_AND);
    }
    for (int k = 0; k < c->n_cases; k++) {
        for (int i = 0; i < c->n[k]; i++) {
            const struct test *t = &c->tests[k][i];
            int axes[MOST_LABELS], n = 0;
            for (int l = 0; l < f->n_labels; l++)
                if (t->labels >> l & 1) axes[n++] = f->labels[l];
            if (t->is_above) terms_constant(&x, (int64_t)t->limit);
            if (t->is_least) push_least(&x, f->k, axes, n);
            else terms_size(&x, f->k, axes, n);
            if (!t->is_above) terms_constant(&x, (int64_t)t->limit);
            terms_op(&x, t->is_above ? FX_T_LT : FX_T_LE);
            if (i) terms_op(&x, FX_T_AND);
        }
        if (k) terms_op(&x, FX_T_OR);
    }
    if (c->pays && c->n_cases) terms_op(&x, FX_T_AND);
    return terms_done(&x);
}
