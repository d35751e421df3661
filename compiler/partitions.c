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

#include "graph/terms.h"
#include "partitions_fit.h"
#include "symbolic/plan_expr.h"

enum {
    LEAST_POINTS = 2, /* at which a partition is clearly faster, */
    MOST_SHARE = 40   /* and at least at one of so many */
};

/* Prices are no better than this: a partition has to be so much faster somewhere. */
static const double WORTH = 1.15, WORTH_SECONDS = 1.5e-6, MUCH = 1.5, MUCH_SECONDS = 10e-6; /* much: once is enough */

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
    fitter_set_nominal(f, at, nominal);
    fx_status status = form_make(cx, at, f->o, &none, &form);
    cx->n_diags = n_diags, cx->n_errors = n_errors; /* said of the form at the nominal extents, if of any */
    return status == FX_OK ? form.chosen : NULL;
}

static bool has_halves(const struct scheduled_graph *c) {
    for (int i = 0; i < c->partition->n_buffers; i++)
        if (c->partition->buffers[i].is_halved) return true;
    return false;
}

/* Whether products of f32 are multiplied in parts, as slices of k are not priced by the pass that makes them. */
static bool takes_parts(const struct scheduled_graph *c) {
    bool any = has_halves(c);
    for (int i = 0; i < c->n_kernels; i++) any |= c->kernels[i].group->contraction && c->kernels[i].gemm.is_whole;
    return any;
}

/* Prices c at every point; false where a form has these very prices. */
static bool add_form(struct fitter *f, struct scheduled_graph *c, const double *nominal) {
    double *seconds = f->seconds[f->n_forms];
    for (int i = 0; i < f->n_points; i++) seconds[i] = fitter_price(f, c, f->points[i].nominal);
    for (int j = 0; j < f->n_forms; j++)
        if (memcmp(seconds, f->seconds[j], (size_t)f->n_points * sizeof *seconds) == 0) return false;
    f->made_at[f->n_forms] = nominal;
    f->has_halves |= has_halves(c);
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
        if (fitter_follow(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int i = 0; i < 2 * f->n_labels && n_tried < MOST_TRIED; i++) {
        struct point p;
        for (int l = 0; l < f->n_labels; l++) p.given[l] = (int64_t)f->k->axes[f->labels[l]].nominal;
        int l = i / 2, n = f->n_steps[l];
        p.given[l] = f->steps[l][i % 2 ? n - 1 : n > 3];
        if (fitter_follow(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int l = 0; f->n_labels > 1 && l < f->n_labels && n_tried < MOST_TRIED; l++) { /* long and thin */
        struct point p;
        for (int i = 0; i < f->n_labels; i++) p.given[i] = f->steps[i][i == l ? f->n_steps[i] - 1 : f->n_steps[i] / 3];
        if (fitter_follow(f, &p)) n_tried++, try_point(f, p.nominal);
    }
    for (int at = 0, stride = f->n_points / (MOST_TRIED - n_tried + 1) + 1; at < f->n_points; at += stride)
        if (n_tried++ < MOST_TRIED) try_point(f, f->points[at].nominal);
}

/* ---- which of them stay ---- */

static bool are_equal(const struct equation *a, const struct equation *b) {
    return a->axis == b->axis && strcmp(a->text, b->text) == 0 && expr_equal(&a->value, &b->value);
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

double fitter_gain(const struct fitter *f, const struct choice *x, int j, int point) {
    double g = log(now(f, x, point) / f->seconds[j][point]) * weight_of(f, point);
    return g < 0 ? 2 * g : g;
}

/* Whether form j is worth another partition, by how much all in all. */
static double worth(const struct fitter *f, const struct choice *x, int j) {
    double all = 0;
    bool is_much = false;
    int n = 0;
    for (int i = 0; i < f->n_points; i++) {
        double g = fitter_gain(f, x, j, i), saved = now(f, x, i) - f->seconds[j][i];
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
    if ((k->fuse == FUSE_REQUIRE || k->kernels) && has_phases(c) && !k->n_pays && !c->stores_factors)
        return false;
    for (int i = 0; i < x->n; i++)
        if (!have_like_labels(f->forms[x->forms[i]]->graph->kernel, k, f->k->n_axes)) return false;
    return x->n_launches + c->n_launches <= FX_MAX_LAUNCHES &&
           x->n_buffers + c->partition->n_buffers + c->n_partials + 1 <= FX_MAX_BUFFERS && is_possible(f->cx, c);
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
        if (gains[i] <= 0 || !fitter_holds(f, c, &f->points[i])) continue;
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

/* e, and that what phases hand over is small, where a contract says that it is to be. */
static struct fx_expr and_small(const struct fitter *f, const struct scheduled_graph *c, struct fx_expr e) {
    struct fx_expr small = phases_are_small(&f->cx->arena, c);
    struct terms x = {.a = &f->cx->arena};
    if (!(f->k->fuse == FUSE_REQUIRE || f->k->kernels) || !has_phases(c) || !small.n) return e;
    terms_expr(&x, &e);
    terms_expr(&x, &small);
    if (e.n) terms_op(&x, FX_T_AND);
    return terms_done(&x);
}

/* Whether form j, taken where `takes` holds, would leave nothing for another that has the same condition, and is no
 * faster all in all at points where that is taken now. Slices of k have such conditions, which are not fitted to
 * prices. */
static bool takes_place_of_faster(
    struct fitter *f, const struct choice *x, const bool *at, const struct fx_expr *takes, int j) {
    double all = 0;
    int like = 0;
    for (int i = 1; i < x->n; i++)
        if (expr_equal(takes, &f->forms[x->forms[i]]->takes)) like = x->forms[i];
    for (int i = 0; like && i < f->n_points; i++) {
        if (!at[i]) continue;
        if (x->at[i] != like) return false; /* where something else came ahead of that one */
        all += log(f->seconds[like][i] / f->seconds[j][i]);
    }
    return like && all <= 0;
}

/* What passes did to k is taken where they say that it pays. They do not know of f32 in parts, of which slices have
 * other forms: points where these are clearly faster are left out. False if there is no other. */
static bool fit_where_it_pays(
    const struct fitter *f, const struct choice *x, const double *gains, const struct kernel *k, struct fitted *c) {
    const struct fitted pays = {.pays = k};
    double *of_those = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    bool loses = false;
    for (int i = 0; i < f->n_points; i++) {
        if (!fitter_holds(f, &pays, &f->points[i])) continue;
        of_those[i] = gains[i];
        loses |= gains[i] < -2 * log(WORTH) * weight_of(f, i) && takes_parts(f->forms[x->at[i]]);
    }
    *c = loses ? fitter_fit(f, of_those) : pays;
    c->pays = k;
    return !loses || c->n_cases;
}

/* Puts form j ahead of what is taken, where that is faster; false where no condition says where. */
static bool add_partition(struct fitter *f, struct choice *x, const double *nominal, int j) {
    double *gains = NEW_ARRAY(&f->cx->arena, double, f->n_points + 1);
    bool *at = NEW_ARRAY(&f->cx->arena, bool, f->n_points + 1), any = false;
    for (int i = 0; i < f->n_points; i++) gains[i] = fitter_gain(f, x, j, i);
    struct fitted c = fitter_fit(f, gains);
    const struct kernel *rewritten = f->forms[j]->graph->kernel;
    if (rewritten->n_pays && !fit_where_it_pays(f, x, gains, rewritten, &c)) return false;
    fitter_move_limits(f, x, j, &c);
    for (int i = 0; i < f->n_points; i++) {
        at[i] = fitter_holds(f, &c, &f->points[i]);
        any |= at[i] && gains[i] > log(WORTH) * weight_of(f, i);
    }
    const struct fx_expr takes = and_small(f, f->forms[j], fitter_expr(f, &c));
    if (!any || takes_place_of_faster(f, x, at, &takes, j)) return false;
    for (int i = 0; i < f->n_points; i++)
        if (at[i]) x->at[i] = j;
    take_again(f, &c, gains, nominal, j);
    drop_large(f->forms[j]);
    f->forms[j]->takes = and_small(f, f->forms[j], fitter_expr(f, &c));
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

/* Whether all that a product multiplies was stored by kernels before it, and so is aligned. */
static bool multiplies_buffers(const struct scheduled *s) {
    for (int i = 0; i < s->gemm.n_segments; i++) {
        const struct segment *e = &s->gemm.segments[i];
        for (int j = -1; j < e->n_sums; j++) {
            const struct operand *o = j < 0 ? &e->a : &e->b[j];
            if (o->value && (o->is_computed || o->window || o->tensor.param >= 0)) return false;
        }
    }
    return s->gemm.n_segments && !s->chain;
}

/* Of products of repacked factors alone, leaves the entries by tensor maps: factors are aligned, and where repacking
 * pays tiles are many. */
static void leave_mapped(struct scheduled_graph *c) {
    for (int l = 0; l < c->n_kernels; l++) {
        struct scheduled *s = &c->kernels[l];
        int n = 0, n_kept = 0;
        if (!multiplies_buffers(s)) continue; /* arguments may begin anywhere */
        for (int v = 0; v < s->n_configs; v++) n_kept += s->configs[v].takes_maps;
        for (int v = 0; n_kept && v < s->n_configs; v++)
            if (s->configs[v].takes_maps) s->configs[n++] = s->configs[v];
        if (n_kept) s->n_configs = n;
    }
}

/* Puts what passes make of rows of odd length ahead of all: repacked factors. Prices do not tell odd extents from
 * others, so the pass says where that pays. */
static void add_repacked(struct fitter *f, struct choice *x) {
    enum { LARGE = 1024 };
    struct point p = {0};
    if (x->n == MOST_PARTITIONS) return;
    for (int l = 0; l < f->n_labels; l++) {
        const int64_t nominal = (int64_t)f->k->axes[f->labels[l]].nominal;
        p.given[l] = nominal >= LARGE ? (nominal - 1) | 1 : nominal;
    }
    struct scheduled_graph *c = fitter_follow(f, &p) ? form_at(f, p.nominal) : NULL;
    const struct kernel *k = c ? c->graph->kernel : NULL;
    if (!c || !k->n_pays || !k->n_padded || !may_join(f, x, c)) return;
    const struct fitted takes = {.pays = k};
    if (!fitter_holds(f, &takes, &p)) return;
    c->takes = fitter_expr(f, &takes);
    leave_mapped(c);
    f->forms[MOST_TRIED + 1] = c;
    x->forms[x->n++] = MOST_TRIED + 1;
    x->n_launches += c->n_launches, x->n_buffers += c->partition->n_buffers + c->n_partials + 1;
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
    *f = (struct fitter){.cx = cx, .k = k, .o = o, .wide = form->chosen->graph->kernel,
        .has_halves = has_halves(form->chosen)};
    if (k->fuse != FUSE_NEVER) fitter_find_points(f);
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
    const int n_priced = x.n;
    add_repacked(f, &x);
    if (x.n > n_priced) {
        struct scheduled_graph *first = f->forms[x.forms[n_priced]];
        first->next = form->chosen, form->chosen = first;
    }
    for (int i = 0; i < x.n; i++) fitter_price(f, f->forms[x.forms[i]], nominal);
    for (int i = 1; i < x.n; i++) forget_prices(f->forms[x.forms[i]]);
}
