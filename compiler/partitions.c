/* Partitions for extents that only a launch knows: a kernel with free labels is taken at several points of their
 * extents, and where it comes out faster at one of them than as it is, both ways stand in the plan.
 *
 * In: a checked kernel and its form at the nominal extents. Out: up to MOST_PARTITIONS forms, each with a condition
 * over products of extents under which it is taken. Every one of them is right at any extents: only the time depends on
 * the choice. All times are those of the schedules' prices, at points of the extents; a condition is fitted to the
 * points and its limits are then moved to where the prices cross. */
#include "partitions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_internal.h"
#include "graph/terms.h"
#include "symbolic/plan_expr.h"

enum {
    MOST_PARTITIONS = 4,
    MOST_LABELS = 6,   /* that are varied: the first ones */
    MOST_TRIED = 16,   /* points at which the kernel is taken */
    MOST_POINTS = 384, /* with head dimensions, else FEW_POINTS, */
    FEW_POINTS = 256,  /* at which what came out is priced */
    MOST_STEPS = 10,   /* extents of a label at those points */
    MOST_TESTS = 3,    /* comparisons joined by `and` */
    MOST_CASES = 2,    /* of those joined by `or` */
    LEAST_POINTS = 2, /* at which a partition is clearly faster, */
    MOST_SHARE = 40,   /* and at least at one of so many */
    BISECTIONS = 6
};

/* Prices are no better than this: a partition has to be so much faster somewhere. */
static const double WORTH = 1.15, WORTH_SECONDS = 1.5e-6, MUCH = 1.5, MUCH_SECONDS = 10e-6; /* much: once is enough */
/* What another test has to add, in logarithms of times over all points. */
static const double LEAST_GAIN = 0.3, LEAST_SHARE = 0.02; /* and of what there is */
/* Elements of a tensor at a point. */
static const double LARGEST = 0x1p31;

struct point { /* extents of the labels that are varied, and what follows */
    int64_t given[MOST_LABELS];
    double *nominal; /* by label of the kernel */
};

struct fitter {
    struct cx *cx;
    struct kernel *k;
    const struct pipeline_options *o;
    int n_labels, labels[MOST_LABELS];
    int n_steps[MOST_LABELS];
    int64_t steps[MOST_LABELS][MOST_STEPS];
    int64_t likely[MOST_LABELS]; /* of a label that is varied around that; else 0 */
    int n_points;
    struct point points[MOST_POINTS];
    int n_forms;
    struct scheduled_graph *forms[MOST_TRIED + 1];
    const double *made_at[MOST_TRIED + 1]; /* by form: the nominal extents it was made at */
    const struct kernel *wide; /* k with the labels that passes added to the forms that are taken */
    double *seconds[MOST_TRIED + 1]; /* by point, and those of a form that is tried */
};

/* ---- points ---- */

/* The labels that are free to vary: no equation gives them their extents, and none is part of another. */
static void find_labels(struct fitter *f) {
    for (int i = 0; i < f->k->n_axes && f->n_labels < MOST_LABELS; i++) {
        const struct axis *a = &f->k->axes[i];
        bool is_defined = a->extent >= 0 || a->is_inner || a->part_of >= 0;
        for (int q = 0; q < f->k->n_equations; q++) is_defined |= f->k->equations[q].axis == i;
        if (!is_defined) f->labels[f->n_labels++] = i;
    }
}

/* Extents of a label: of those that may be anything fewer the more labels there are, else around the nominal one. */
static void find_steps(struct fitter *f) {
    static const int64_t any[][MOST_STEPS] = {{1, 16, 64, 256, 1024, 4096, 16384, 65536, 1 << 20, 1 << 22},
        {1, 4, 16, 128, 1024, 4096, 16384, 131072, 1 << 20, 1 << 22}, {1, 16, 128, 1024, 8192, 1 << 17},
        {16, 256, 2048, 16384}, {16, 512, 8192}, {64, 4096}, {64, 1024, 4096}};
    bool has_heads = false;
    for (int i = 0; i < f->n_labels; i++)
        has_heads |= f->k->axes[f->labels[i]].is_head;
    for (int i = 0; i < f->n_labels; i++) {
        int64_t nominal = (int64_t)f->k->axes[f->labels[i]].nominal;
        const int64_t middle[MOST_STEPS] = {nominal / 4, nominal, nominal * 4},
                      small[MOST_STEPS] = {1, nominal, nominal * 16};
        const int64_t *large = any[f->n_labels - (f->n_labels < MOST_LABELS || !has_heads)],
                      *steps = nominal >= 1024 ? large : nominal >= 64 ? middle : small;
        if (f->k->axes[f->labels[i]].is_head) f->likely[i] = nominal;
        for (int s = 0; s < MOST_STEPS && steps[s]; s++)
            if (!f->n_steps[i] || steps[s] > f->steps[i][f->n_steps[i] - 1]) f->steps[i][f->n_steps[i]++] = steps[s];
    }
}

static bool is_likely(const struct fitter *f, const double *nominal) {
    for (int i = 0; i < f->k->n_params; i++) {
        double size = 1;
        for (int a = 0; a < f->k->params[i].n_axes; a++) size *= nominal[f->k->params[i].axes[a]];
        if (size > LARGEST) return false;
    }
    return true;
}

/* What all labels come to where those that are varied have these extents; false where a tensor is too large. */
static bool follow_point(struct fitter *f, struct point *p) {
    struct kernel given = *f->k;
    p->nominal = NEW_ARRAY(&f->cx->arena, double, f->k->n_axes + 1);
    const struct arena_mark mark = arena_marked(&f->cx->arena);
    given.axes = NEW_ARRAY(&f->cx->arena, struct axis, f->k->n_axes + 1);
    memcpy(given.axes, f->k->axes, (size_t)f->k->n_axes * sizeof *given.axes);
    for (int i = 0; i < f->n_labels; i++) given.axes[f->labels[i]].extent = p->given[i];
    check_nominal(f->cx, &given);
    for (int i = 0; i < f->k->n_axes; i++) p->nominal[i] = given.axes[i].nominal;
    arena_rewind(&f->cx->arena, &mark);
    return is_likely(f, p->nominal);
}

/* Steps of a label, of which there are to be no more than `most`: what is likely is among them, between two others. */
static int steps_of(const struct fitter *f, int l, int most) {
    if (f->likely[l] && most < 3) most = 3;
    return f->n_steps[l] < most ? f->n_steps[l] : most;
}

/* All combinations of `n` steps a label, evenly chosen of those that it has. */
static void add_points(struct fitter *f, int most_steps) {
    int at[MOST_LABELS] = {0}, n[MOST_LABELS];
    for (int i = 0; i < f->n_labels; i++) n[i] = steps_of(f, i, most_steps);
    for (bool more = true; more && f->n_points < MOST_POINTS;) {
        struct point *p = &f->points[f->n_points];
        for (int i = 0; i < f->n_labels; i++)
            p->given[i] = f->steps[i][n[i] > 1 ? at[i] * (f->n_steps[i] - 1) / (n[i] - 1) : f->n_steps[i] / 2];
        if (follow_point(f, p)) f->n_points++;
        more = false;
        for (int i = 0; i < f->n_labels && !more; i++) more = ++at[i] < n[i] || (at[i] = 0);
    }
}

static void find_points(struct fitter *f) {
    int steps = MOST_STEPS, most = FEW_POINTS;
    for (int i = 0; i < f->n_labels; i++)
        if (f->likely[i]) most = MOST_POINTS;
    for (double n = most + 1; steps > 1 && n > most; steps -= n > most) {
        n = 1;
        for (int i = 0; i < f->n_labels; i++) n *= steps_of(f, i, steps);
    }
    add_points(f, steps);
}

/* ---- prices ---- */

/* Gives a kernel's labels their extents at a point; labels that passes added, what their equations say. */
static void set_nominal(const struct fitter *f, const struct kernel *of, const double *nominal) {
    int64_t *extents = NEW_ARRAY(&f->cx->arena, int64_t, of->n_axes + 1);
    for (int i = 0; i < of->n_axes; i++) {
        struct axis *a = &of->axes[i];
        if (i < f->k->n_axes) a->nominal = nominal[i];
        extents[i] = a->extent >= 0 ? a->extent : (int64_t)a->nominal;
        for (int q = 0; i >= f->k->n_axes && a->extent < 0 && q < of->n_equations; q++)
            if (of->equations[q].axis == i &&
                fx_expr_eval(&of->equations[q].value, &(struct fx_env){.extents = extents}, &extents[i]))
                a->nominal = (double)extents[i];
    }
}

static double price_at(const struct fitter *f, struct scheduled_graph *c, const double *nominal) {
    const struct arena_mark mark = arena_marked(&f->cx->arena);
    set_nominal(f, c->graph->kernel, nominal);
    fx_price_again(c);
    arena_rewind(&f->cx->arena, &mark);
    return c->seconds;
}

/* ---- forms ---- */

/* The form of the kernel at a point, with labels of its own; NULL where there is none. */
static struct scheduled_graph *form_at(struct fitter *f, const double *nominal) {
    struct cx *cx = f->cx;
    struct kernel *at = NEW(&cx->arena, struct kernel);
    const int n_diags = cx->n_diags, n_errors = cx->n_errors;
    struct form form = {0};
    struct buf none;
    buf_init(&none, &cx->arena);
    *at = *f->k;
    at->n_axes = f->wide->n_axes, at->n_equations = f->wide->n_equations, at->equations = f->wide->equations;
    at->axes = NEW_ARRAY(&cx->arena, struct axis, at->n_axes + 1);
    memcpy(at->axes, f->wide->axes, (size_t)at->n_axes * sizeof *at->axes);
    set_nominal(f, at, nominal);
    fx_status status = form_make(cx, at, f->o, &none, &form);
    cx->n_diags = n_diags, cx->n_errors = n_errors; /* said of the form at the nominal extents, if of any */
    return status == FX_OK ? form.chosen : NULL;
}

/* Prices c at every point; false where a form has these very prices. */
static bool add_form(struct fitter *f, struct scheduled_graph *c, const double *nominal) {
    double *seconds = f->seconds[f->n_forms];
    for (int i = 0; i < f->n_points; i++) seconds[i] = price_at(f, c, f->points[i].nominal);
    for (int j = 0; j < f->n_forms; j++)
        if (memcmp(seconds, f->seconds[j], (size_t)f->n_points * sizeof *seconds) == 0) return false;
    f->made_at[f->n_forms] = nominal;
    f->forms[f->n_forms++] = c;
    return true;
}

/* Most points have a form that another has: its memory is given back. */
static void try_point(struct fitter *f, const double *nominal) {
    if (f->n_forms > MOST_TRIED) return;
    const struct arena_mark mark = arena_marked(&f->cx->arena);
    struct diag *diags = f->cx->diags;
    struct scheduled_graph *c = form_at(f, nominal);
    if (c && add_form(f, c, nominal)) return;
    arena_rewind(&f->cx->arena, &mark);
    f->cx->diags = diags; /* as many as there were */
}

/* Takes the kernel with all labels small or large, with each so beside nominal ones, and at points all over. */
static void try_forms(struct fitter *f, struct scheduled_graph *nominal) {
    int n_tried = 0;
    for (int j = 0; j <= MOST_TRIED; j++) f->seconds[j] = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    add_form(f, nominal, NULL);
    for (unsigned high = 0; f->n_labels <= 3 && high < 1u << f->n_labels; high++) {
        struct point p;
        for (int l = 0; l < f->n_labels; l++) p.given[l] = f->steps[l][high >> l & 1 ? f->n_steps[l] - 1 : 0];
        if (follow_point(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int i = 0; i < 2 * f->n_labels && n_tried < MOST_TRIED; i++) {
        struct point p;
        for (int l = 0; l < f->n_labels; l++) p.given[l] = (int64_t)f->k->axes[f->labels[l]].nominal;
        int l = i / 2, n = f->n_steps[l];
        p.given[l] = f->steps[l][i % 2 ? n - 1 : n > 3];
        if (follow_point(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int l = 0; f->n_labels > 1 && l < f->n_labels && n_tried < MOST_TRIED; l++) { /* long and thin */
        struct point p;
        for (int i = 0; i < f->n_labels; i++) p.given[i] = f->steps[i][i == l ? f->n_steps[i] - 1 : f->n_steps[i] / 3];
        if (follow_point(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int at = 0, stride = f->n_points / (MOST_TRIED - n_tried + 1) + 1; at < f->n_points; at += stride)
        if (n_tried++ < MOST_TRIED) try_point(f, f->points[at].nominal);
}

/* ---- which of them stay ---- */

static bool are_equal(const struct equation *a, const struct equation *b) {
    return a->axis == b->axis && strcmp(a->text, b->text) == 0 && a->value.n == b->value.n &&
           memcmp(a->value.terms, b->value.terms, (size_t)a->value.n * sizeof *a->value.terms) == 0;
}

/* Whether both name labels that passes added alike, so that one list has those of both. */
static bool have_like_labels(const struct kernel *a, const struct kernel *b, int n_own) {
    const int n = a->n_axes < b->n_axes ? a->n_axes : b->n_axes,
              n_equations = a->n_equations < b->n_equations ? a->n_equations : b->n_equations;
    for (int i = n_own; i < n; i++)
        if (!name_eq(a->axes[i].name, b->axes[i].name) || a->axes[i].extent != b->axes[i].extent) return false;
    for (int q = 0; q < n_equations; q++)
        if (!are_equal(&a->equations[q], &b->equations[q])) return false;
    return (a->n_axes > b->n_axes) == (a->n_equations > b->n_equations) || a->n_axes == b->n_axes;
}

/* Whether every launch of c can be emitted. */
static bool is_possible(struct cx *cx, const struct scheduled_graph *c) {
    for (int i = 0; i < c->n_kernels; i++) {
        bool any = false;
        for (int v = 0; v < c->kernels[i].n_configs && !any; v++)
            any = config_is_possible(cx, c, &c->kernels[i], &c->kernels[i].configs[v]);
        if (!any) return false;
    }
    return true;
}

struct choice { /* what is taken where, while partitions are added */
    int n, forms[MOST_PARTITIONS]; /* the first is the kernel as it is */
    int n_launches, n_buffers;
    int *at;                       /* by point: the form that is taken */
};

static double now(const struct fitter *f, const struct choice *x, int point) {
    return f->seconds[x->at[point]][point];
}

/* Head dimensions are what is likely for them as a rule: points where all of them are count more. */
static double weight_of(const struct fitter *f, int point) {
    bool is_any = false, is_likely = true;
    for (int l = 0; l < f->n_labels; l++) {
        is_any |= f->likely[l] != 0;
        is_likely &= !f->likely[l] || f->points[point].given[l] == f->likely[l];
    }
    return is_any && is_likely ? 8 : 1;
}

/* How much faster form j is at a point than what is taken there; what is slower counts more. */
static double gain(const struct fitter *f, const struct choice *x, int j, int point) {
    double g = log(now(f, x, point) / f->seconds[j][point]) * weight_of(f, point);
    return g < 0 ? 2 * g : g;
}

/* Whether form j is worth another partition, by how much all in all. */
static double worth(const struct fitter *f, const struct choice *x, int j) {
    double all = 0;
    bool is_much = false;
    int n = 0;
    for (int i = 0; i < f->n_points; i++) {
        double g = gain(f, x, j, i), saved = now(f, x, i) - f->seconds[j][i];
        if (g > 0) all += g;
        n += g > log(WORTH) * weight_of(f, i) && saved > WORTH_SECONDS;
        is_much |= g > log(MUCH) * weight_of(f, i) && saved > MUCH_SECONDS;
    }
    return is_much || (n >= LEAST_POINTS && n * MOST_SHARE >= f->n_points) ? all : 0;
}

/* Phases that wait for each other hand over what is small, as a contract that asks for few kernels has it: what is
 * small at one point may be large at others. Slices of k are as many as multiprocessors have tiles, so that their sums
 * are small, and the condition asks again. */
static bool has_phases(const struct scheduled_graph *c) {
    for (int i = 0; i < c->n_launches; i++)
        if (c->launches[i].n > 1 && !c->launches[i].is_beside) return true;
    return false;
}

static bool may_join(const struct fitter *f, const struct choice *x, const struct scheduled_graph *c) {
    const struct kernel *k = c->graph->kernel;
    if ((k->fuse == FUSE_REQUIRE || k->kernels) && has_phases(c) && !k->n_pays) return false;
    for (int i = 0; i < x->n; i++)
        if (!have_like_labels(f->forms[x->forms[i]]->graph->kernel, k, f->k->n_axes)) return false;
    return x->n_launches + c->n_launches <= FX_MAX_LAUNCHES &&
           x->n_buffers + c->partition->n_buffers + c->n_partials + 1 <= FX_MAX_BUFFERS && is_possible(f->cx, c);
}

/* ---- conditions ---- */

struct test { /* of a product of labels that are varied: at most `limit`, or above it */
    unsigned labels; /* a bit each */
    bool is_above;
    double limit;
};

struct fitted { /* cases of tests, or what passes say of what they did, */
    const struct kernel *pays; /* where that is not NULL */
    int n_cases, n[MOST_CASES];
    struct test tests[MOST_CASES][MOST_TESTS];
};

static double feature_at(const struct fitter *f, unsigned labels, const int64_t *given) {
    double v = 1;
    for (int i = 0; i < f->n_labels; i++)
        if (labels >> i & 1) v *= (double)given[i];
    return v;
}

static bool test_holds(const struct fitter *f, const struct test *t, const int64_t *given) {
    return (feature_at(f, t->labels, given) > t->limit) == t->is_above;
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
    set_nominal(f, of, p->nominal);
    for (int i = 0; i < of->n_axes; i++)
        extents[i] = of->axes[i].extent >= 0 ? of->axes[i].extent : (int64_t)of->axes[i].nominal;
    for (int i = 0; i < of->n_pays; i++) pays &= fx_expr_holds(&of->pays[i], &(struct fx_env){.extents = extents});
    arena_rewind(&f->cx->arena, &mark);
    return pays;
}

static bool holds(const struct fitter *f, const struct fitted *c, const struct point *p) {
    if (c->pays) return pays_at(f, c->pays, p);
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
    for (unsigned labels = 1; labels < 1u << f->n_labels; labels++) {
        int n = 0;
        for (int i = 0; i < f->n_points; i++) {
            values[i] = feature_at(f, labels, f->points[i].given);
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
                *best = (struct test){labels, above, sqrt(sorted[s] * sorted[s + 1])};
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

/* Cases of tests under which what is gained is most. */
static struct fitted fit(const struct fitter *f, const double *gains) {
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
        if (!follow_point(f, &middle)) break;
        bool is_faster = price_at(f, f->forms[j], middle.nominal) < price_at(f, f->forms[other], middle.nominal);
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
        double v = feature_at(f, t->labels, f->points[i].given);
        if (v <= t->limit && v > low) low = v;
        if (v > t->limit && v < high) high = v;
    }
    for (int a = 0; a < f->n_points && n < MOST; a++)
        for (int b = 0; b < f->n_points && n < MOST; b++) {
            int label = differing_label(f, &f->points[a], &f->points[b]);
            if (label < 0 || !(t->labels >> label & 1) || gain(f, x, j, a) <= 0 || gain(f, x, j, b) >= 0) continue;
            if (!holds(f, c, &f->points[a]) || test_holds(f, t, f->points[b].given)) continue;
            struct point p = crossing(f, j, x->at[a], &f->points[a], &f->points[b], label);
            limits[n++] = feature_at(f, t->labels, p.given);
        }
    sort(limits, n);
    double limit = n ? limits[n / 2] : t->limit;
    if (limit >= low && limit < high) t->limit = limit;
}

static void push_expr(struct terms *x, const struct fx_expr *e) {
    for (int i = 0; i < e->n; i++) terms_push(x, e->terms[i].op, e->terms[i].v);
}

/* e, and that what phases hand over is small, where a contract says that it is to be. */
static struct fx_expr and_small(const struct fitter *f, const struct scheduled_graph *c, struct fx_expr e) {
    struct fx_expr small = phases_are_small(&f->cx->arena, c);
    struct terms x = {.a = &f->cx->arena};
    if (!(f->k->fuse == FUSE_REQUIRE || f->k->kernels) || !has_phases(c) || !small.n) return e;
    push_expr(&x, &e);
    push_expr(&x, &small);
    if (e.n) terms_op(&x, FX_T_AND);
    return terms_done(&x);
}

/* Where the conditions hold. */
static struct fx_expr condition_expr(const struct fitter *f, const struct fitted *c) {
    struct terms x = {.a = &f->cx->arena};
    for (int i = 0; c->pays && i < c->pays->n_pays; i++) {
        const struct fx_expr *e = &c->pays->pays[i];
        push_expr(&x, e);
        if (i) terms_op(&x, FX_T_AND);
    }
    for (int k = 0; k < c->n_cases; k++) {
        for (int i = 0; i < c->n[k]; i++) {
            const struct test *t = &c->tests[k][i];
            int axes[MOST_LABELS], n = 0;
            for (int l = 0; l < f->n_labels; l++)
                if (t->labels >> l & 1) axes[n++] = f->labels[l];
            if (t->is_above) terms_constant(&x, (int64_t)t->limit);
            terms_size(&x, f->k, axes, n);
            if (!t->is_above) terms_constant(&x, (int64_t)t->limit);
            terms_op(&x, t->is_above ? FX_T_LT : FX_T_LE);
            if (i) terms_op(&x, FX_T_AND);
        }
        if (k) terms_op(&x, FX_T_OR);
    }
    return terms_done(&x);
}

/* Whether b is a, but for tiles and threads that another point suggests. */
static bool is_like(const struct scheduled_graph *a, const struct scheduled_graph *b) {
    bool same = a->n_kernels == b->n_kernels && a->n_launches == b->n_launches &&
                strcmp(a->partition->name, b->partition->name) == 0;
    for (int i = 0; same && i < a->n_kernels; i++)
        same = a->kernels[i].schedule == b->kernels[i].schedule && a->kernels[i].parts == b->kernels[i].parts;
    return same;
}

/* Form j as it comes out where it is taken: at that of these points which is nearest to the nominal extents. */
static void take_again(struct fitter *f, const struct fitted *c, const double *gains, const double *nominal, int j) {
    int best = -1;
    double least = 0;
    for (int i = 0; i < f->n_points; i++) {
        double distance = 0;
        if (gains[i] <= 0 || !holds(f, c, &f->points[i])) continue;
        for (int l = 0; l < f->n_labels; l++) {
            double d = log((double)f->points[i].given[l] / nominal[f->labels[l]]);
            distance += d * d;
        }
        if (best < 0 || distance < least) best = i, least = distance;
    }
    struct scheduled_graph *again = best < 0 ? NULL : form_at(f, f->points[best].nominal);
    if (again && is_like(f->forms[j], again) &&
        have_like_labels(f->forms[j]->graph->kernel, again->graph->kernel, f->k->n_axes) && is_possible(f->cx, again))
        f->forms[j] = again;
}

static bool is_large(const struct config *f, int most) {
    return f->takes_maps && (f->splits_k || f->cluster_m || f->cluster_n || f->tile_m * f->tile_n > most);
}

/* What is cut in slices has few tiles: entries of large ones, and of clusters, would be compiled for nothing. */
static void drop_large(struct scheduled_graph *c) {
    enum { MOST = 128 * 128 };
    for (int l = 0; c->graph->kernel->n_pays && l < c->n_launches; l++) {
        struct scheduled *s = &c->kernels[c->launches[l].first];
        int n = 0, n_kept = 0;
        if (c->launches[l].n > 1 || !s->group->contraction) continue;
        for (int v = 0; v < s->n_configs; v++) n_kept += !is_large(&s->configs[v], MOST);
        for (int v = 0; n_kept && v < s->n_configs; v++)
            if (!is_large(&s->configs[v], MOST)) s->configs[n++] = s->configs[v];
        if (n_kept) s->n_configs = n;
    }
}

/* Puts form j ahead of what is taken, where that is faster; false where no condition says where. */
static bool add_partition(struct fitter *f, struct choice *x, const double *nominal, int j) {
    double *gains = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    bool any = false;
    for (int i = 0; i < f->n_points; i++) gains[i] = gain(f, x, j, i);
    struct fitted c = fit(f, gains);
    if (f->forms[j]->graph->kernel->n_pays) c = (struct fitted){.pays = f->forms[j]->graph->kernel};
    for (int k = 0; k < c.n_cases; k++)
        for (int i = 0; i < c.n[k]; i++) move_limit(f, x, j, &c, &c.tests[k][i]);
    for (int i = 0; i < f->n_points; i++)
        if (holds(f, &c, &f->points[i])) any |= gains[i] > log(WORTH) * weight_of(f, i), x->at[i] = j;
    if (!any) return false;
    take_again(f, &c, gains, nominal, j);
    drop_large(f->forms[j]);
    f->forms[j]->takes = and_small(f, f->forms[j], condition_expr(f, &c));
    x->forms[x->n++] = j;
    x->n_launches += f->forms[j]->n_launches;
    x->n_buffers += f->forms[j]->partition->n_buffers + f->forms[j]->n_partials + 1;
    return true;
}

/* Makes form j again with the labels that passes added to those that are taken, where it has others in their place. */
static void make_alike(struct fitter *f, int j) {
    if (!f->made_at[j] || have_like_labels(f->wide, f->forms[j]->graph->kernel, f->k->n_axes)) return;
    struct scheduled_graph *again = form_at(f, f->made_at[j]);
    if (again && is_like(f->forms[j], again)) f->forms[j] = again;
}

/* What else was priced was so at the point of the form, which no receipt is of. */
static void forget_prices(struct scheduled_graph *c) {
    c->n_others = 0;
    for (int i = 0; i < c->n_kernels; i++) {
        struct scheduled *s = &c->kernels[i];
        int n = 0;
        for (int r = 0; r < s->n_rejected; r++)
            if (s->rejected[r].why) s->rejected[n++] = s->rejected[r];
        s->n_rejected = n;
    }
}

void partitions_find(struct cx *cx, struct kernel *k, const struct pipeline_options *o, struct form *form) {
    struct fitter *f = NEW(&cx->arena, struct fitter);
    void (*const on_stage)(void *, const char *, const char *, bool) = cx->on_stage;
    *f = (struct fitter){.cx = cx, .k = k, .o = o, .wide = form->chosen->graph->kernel};
    find_labels(f);
    if (!f->n_labels || k->fuse == FUSE_NEVER) return;
    find_steps(f);
    find_points(f);
    if (!f->n_points) return;
    double *nominal = NEW_ARRAY(&cx->arena, double, k->n_axes + 1);
    for (int i = 0; i < k->n_axes; i++) nominal[i] = k->axes[i].nominal;
    cx->on_stage = NULL;
    try_forms(f, form->chosen);
    cx->on_stage = on_stage;
    struct choice x = {.n = 1, .at = NEW_ARRAY(&cx->arena, int, f->n_points + 1)};
    bool *is_tried = NEW_ARRAY(&cx->arena, bool, f->n_forms + 1);
    x.n_launches = form->chosen->n_launches;
    x.n_buffers = form->chosen->partition->n_buffers + form->chosen->n_partials + 1;
    while (x.n < MOST_PARTITIONS) {
        int best = 0;
        double most = 0;
        for (int j = 1; j < f->n_forms; j++) {
            double w = is_tried[j] ? 0 : worth(f, &x, j);
            if (w > most) most = w, best = j;
        }
        if (!best) break;
        is_tried[best] = true;
        make_alike(f, best);
        if (may_join(f, &x, f->forms[best]) && add_partition(f, &x, nominal, best)) {
            f->forms[best]->next = form->chosen;
            form->chosen = f->forms[best];
            if (form->chosen->graph->kernel->n_axes > f->wide->n_axes) f->wide = form->chosen->graph->kernel;
        }
    }
    for (int i = 0; i < x.n; i++) price_at(f, f->forms[x.forms[i]], nominal);
    for (int i = 1; i < x.n; i++) forget_prices(f->forms[x.forms[i]]);
}
