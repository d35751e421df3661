/* A kernel as passes and schedules leave it: its graph rewritten, cut into groups, scheduled.
 *
 * In: a checked kernel, whose labels have their nominal extents. Out: its form. */
#include "fuse/fuse.h"
#include "partitions.h"
#include "passes/passes.h"

static fx_status make_once(
    struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump, struct form *out) {
    const char *wrong = NULL;
    stage(cx, "lower", k->name, false);
    out->lowered = fx_lower(cx, k);
    stage(cx, "lower", k->name, true);
    out->fused = pipeline_run(out->lowered, o, dump, &wrong);
    if (wrong) {
        diag_refuse(cx, "internal: %s; please report it with the spec", wrong);
        return FX_ERR_INTERNAL;
    }
    stage(cx, "schedule", k->name, false);
    out->chosen = fx_schedule(cx, out->fused);
    stage(cx, "schedule", k->name, true);
    return out->chosen ? FX_OK : FX_ERR_COMPILE;
}

/* Whether passes made reductions of runs of elements, for the epilogue of a contraction. */
static bool has_runs(const struct graph *g) {
    struct partial_of x;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->kind == N_SHARE || as_partial(g, g->nodes[i], &x)) return true;
    return false;
}

/* Whether passes scaled factors of contractions for the engine that applies scales to blocks of k. */
static bool has_scales(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->may_scale) return true;
    return false;
}

/* Whether a product of f32 may be multiplied in parts, which stored factors of the whole allow and slices may not. */
static bool has_parts(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        if (!may_take_parts(g, g->nodes[i])) continue;
        const struct product x = fuse_product(g, g->nodes[i]);
        if (x.dtype[0] == FX_F32 && x.dtype[1] == FX_F32) return true;
    }
    return false;
}

static bool is_cut(const struct form *f) { return f->fused && f->fused->kernel->n_cuts; }

/* What the pass `keep` is called: it runs where a form with it is faster, or `--with` asks for it. */
#define KEEP "keep"

/* What a form leaves out: what the options say, and `keep` unless it is wanted. */
static struct pipeline_options without_keep(struct cx *cx, const struct pipeline_options *o) {
    struct pipeline_options plain = *o;
    if (!list_has(o->with, KEEP)) plain.skip = o->skip ? arena_printf(&cx->arena, "%s," KEEP, o->skip) : KEEP;
    return plain;
}

/* The form without these passes, or none. True where something is wrong inside. */
static bool make_without(struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump,
    const char *skip, struct form *out) {
    const struct pipeline_options without = {.skip = skip, .with = o->with};
    const int n_diags = cx->n_diags, n_errors = cx->n_errors;
    *out = (struct form){0};
    const fx_status status = make_once(cx, k, &without, dump, out);
    if (status == FX_ERR_INTERNAL) return true;
    if (status) cx->n_diags = n_diags, cx->n_errors = n_errors, out->chosen = NULL; /* of a form that is not taken */
    return false;
}

/* Prices are no better than this; of two that are about the same fewer kernels are taken. */
static const double CLEARLY_FASTER = 0.9, FASTER = 0.95, ABOUT_THE_SAME = 1.005;

/* Reductions by runs are made for epilogues, which not every engine has. Where a kernel is free to be several, it is
 * taken without them if that is clearly faster, or fewer and about as fast. Likewise without slices of f32, whose whole
 * may have its factors stored in parts, and without scaled factors, which one engine alone takes as they were written,
 * if that is faster; and with values that `keep` stores, if that is faster. */
static fx_status make_free(
    struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump, struct form *out) {
    struct form form = {0}, whole = {0};
    const struct pipeline_options plain = without_keep(cx, o);
    const char *also = "," KEEP;
    fx_status status = make_once(cx, k, &plain, dump, &form);
    const bool is_free =
        !status && k->fuse == FUSE_PREFER && !k->kernels && !o->skip && !o->stop_after && !o->dump_after;
    if (is_free && plain.skip && pass_keep(form.lowered) != form.lowered) {
        if (make_without(cx, k, o, dump, NULL, &whole)) return FX_ERR_INTERNAL;
        if (whole.chosen && whole.chosen->seconds <= FASTER * form.chosen->seconds) form = whole, also = "";
    }
    if (!plain.skip) also = "";
    if (is_free && launches_each_time(form.chosen) > 1 && has_runs(form.fused)) {
        if (make_without(cx, k, o, dump, arena_printf(&cx->arena, "share,partial%s", also), &whole))
            return FX_ERR_INTERNAL;
        bool is_fewer = whole.chosen && launches_each_time(whole.chosen) < launches_each_time(form.chosen);
        const double most = form.chosen->seconds * (is_fewer ? ABOUT_THE_SAME : CLEARLY_FASTER);
        if (whole.chosen && whole.chosen->seconds <= most) form = whole;
    }
    if (is_free && is_cut(&form) && has_parts(form.lowered)) {
        if (make_without(cx, k, o, dump, arena_printf(&cx->arena, "split_k%s", also), &whole)) return FX_ERR_INTERNAL;
        if (whole.chosen && whole.chosen->seconds < form.chosen->seconds) form = whole;
    }
    if (is_free && has_scales(form.fused)) {
        if (make_without(cx, k, o, dump, arena_printf(&cx->arena, "scales%s", also), &whole)) return FX_ERR_INTERNAL;
        if (whole.chosen && whole.chosen->seconds < form.chosen->seconds) form = whole;
    }
    *out = form;
    return status;
}

/* Slices along k are added up behind a barrier of the grid where a contract counts launches. Where that cannot be had,
 * or is no faster, the kernel is made without. */
static fx_status make_counted(
    struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump, struct form *out) {
    const struct pipeline_options without = {.skip = "split_k", .with = o->with};
    struct form whole = {0};
    const int n_diags = cx->n_diags, n_errors = cx->n_errors;
    fx_status status = make_once(cx, k, o, dump, out), tried;
    if (status == FX_ERR_INTERNAL || !is_cut(out) || o->skip || o->stop_after || o->dump_after)
        return status;
    if (status) cx->n_diags = n_diags, cx->n_errors = n_errors;
    const int n_diags_cut = cx->n_diags, n_errors_cut = cx->n_errors;
    tried = make_once(cx, k, &without, dump, &whole);
    if (status || (!tried && whole.chosen->seconds <= out->chosen->seconds)) {
        *out = whole;
        return tried;
    }
    if (tried) cx->n_diags = n_diags_cut, cx->n_errors = n_errors_cut;
    return status;
}

fx_status form_make(
    struct cx *cx, const struct kernel *k, const struct pipeline_options *o, struct buf *dump, struct form *out) {
    const bool is_counted = k->fuse == FUSE_REQUIRE || k->kernels;
    return (is_counted ? make_counted : make_free)(cx, k, o, dump, out);
}
