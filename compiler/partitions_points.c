/* Points of the extents that only a launch knows, at which forms of a kernel are made and priced.
 *
 * In: a checked kernel. Out: the labels that are free to vary, some extents of each, and combinations of these; what
 * all labels come to at such a point, and what a form costs there. */
#include <string.h>

#include "check/check_internal.h"
#include "partitions_fit.h"
#include "symbolic/plan_expr.h"

/* Elements of a tensor at a point. */
static const double LARGEST = 0x1p31;

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
    static const int64_t many[MOST_STEPS] = {1, 16, 64, 256, 1024, 4096, 16384, 131072}; /* of three labels */
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
        const bool is_fine = f->has_halves && f->n_labels == 3;
        const int64_t *large = is_fine ? many : any[f->n_labels - (f->n_labels < MOST_LABELS || !has_heads)],
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

bool fitter_follow(struct fitter *f, struct point *p) {
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
        if (fitter_follow(f, p)) f->n_points++;
        more = false;
        for (int i = 0; i < f->n_labels && !more; i++) more = ++at[i] < n[i] || (at[i] = 0);
    }
}

void fitter_find_points(struct fitter *f) {
    int steps = MOST_STEPS, most = FEW_POINTS;
    find_labels(f);
    if (!f->n_labels) return;
    find_steps(f);
    for (int i = 0; i < f->n_labels; i++)
        if (f->likely[i]) most = HEAD_POINTS;
    if (f->has_halves) most = MOST_POINTS;
    for (double n = most + 1; steps > 1 && n > most; steps -= n > most) {
        n = 1;
        for (int i = 0; i < f->n_labels; i++) n *= steps_of(f, i, steps);
    }
    add_points(f, steps);
}

void fitter_set_nominal(const struct fitter *f, const struct kernel *of, const double *nominal) {
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

double fitter_price(const struct fitter *f, struct scheduled_graph *c, const double *nominal) {
    const struct arena_mark mark = arena_marked(&f->cx->arena);
    fitter_set_nominal(f, c->graph->kernel, nominal);
    fx_price_again(c);
    arena_rewind(&f->cx->arena, &mark);
    return c->seconds;
}
