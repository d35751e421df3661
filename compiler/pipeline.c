/* The passes: what runs, in which order, and why there. After each the verifier runs; a dump is the graph as text. */
#include "pipeline.h"

#include <string.h>

#include "fx.h"
#include "passes/passes.h"

static const struct pass passes[] = {
    {"canonicalise", pass_canonicalise, false, true, "first: later passes then meet one form of everything", NULL},
    {"cse", pass_cse, false, true, "after canonicalise, which makes equal things look equal", NULL},
    {"strides", pass_strides, false, true,
        "after cse, and before access, which brings each sum's positions to the leaves", "canonicalise"},
    {"unflatten", pass_unflatten, false, true,
        "after cse, which has one index of a label, and before access, which then has no division to simplify", NULL},
    {"pad_k", pass_pad_k, false, true, "after unflatten, and before split_k, which may cut the padded k", NULL},
    {"split_k", pass_split_k, false, false,
        "after unflatten, and before access, which brings the slices to where the factors lie", NULL},
    {"keep", pass_keep, false, false,
        "before access, which takes what is read at other elements to the product below, and before algebra, which "
        "rewrites sums of what is stored",
        NULL},
    {"sources", pass_sources, false, false,
        "before unroll, which takes filters apart, and before access, which would compute what windows read at every "
        "position", NULL},
    {"narrow", pass_narrow, false, false,
        "before unroll, after which short reductions that columns share are none, and before access, which brings the "
        "columns to the leaves",
        NULL},
    {"unroll", pass_unroll, false, false,
        "after unflatten, whose positions show no windows, and before access, which brings each term's positions to the "
        "leaves",
        NULL},
    {"access", pass_access, false, true, "before algebra, which looks through no access", NULL},
    {"earlier", pass_earlier, false, false,
        "after access, which brings what is read earlier to the running sum itself, and again before it, which brings it "
        "to the leaves",
        "access"},
    {"algebra", pass_algebra, false, false, "after access, and before fuse, which decides on what is left to compute",
        "canonicalise"},
    {"scales", pass_scales, false, false,
        "after algebra, which sees the sums of blocks as they are written and would part the scaled factors, and "
        "before fuse",
        NULL},
    {"windows", pass_windows, false, false,
        "after algebra, which brings accesses to the leaves and would see through what is stored, and before dce", NULL},
    {"batches", pass_batches, false, true,
        "after access, which brings the factors to the leaves, and windows, which copies factors for tensor maps, and "
        "before dce",
        NULL},
    {"taps", pass_taps, false, true,
        "after access, which brings the taps to the leaves, as windows, and before dce", NULL},
    {"share", pass_share, false, false,
        "after algebra, which looks into no run, and before partial, which begins reductions of what runs share", NULL},
    {"partial", pass_partial, false, false,
        "after algebra, whose rules see whole reductions, and before dce, which drops those it replaces", NULL},
    {"dce", pass_dce, false, true, "after the passes that leave nodes behind, before fuse counts what is there", NULL},
    {"fuse", pass_fuse, true, true, "last: it decides on the graph that will be emitted", NULL},
};
enum { N_PASSES = sizeof passes / sizeof *passes };

const struct pass *pipeline_pass(int i) { return i >= 0 && i < N_PASSES ? &passes[i] : NULL; }
const char *fx_pass_name(int i) { return i >= 0 && i < N_PASSES ? passes[i].name : NULL; }
const char *fx_pass_why(int i) { return i >= 0 && i < N_PASSES ? passes[i].why : NULL; }

bool pipeline_has_pass(const char *name) {
    for (int i = 0; i < N_PASSES; i++)
        if (strcmp(passes[i].name, name) == 0) return true;
    return false;
}

const char *pipeline_rule_name(int i) { return algebra_rule(i) ? algebra_rule(i)->name : NULL; }

bool pipeline_has_rule(const char *name) {
    if (strcmp(name, "fuse.split") == 0 || strcmp(name, "fuse.halves") == 0 || strcmp(name, "keep") == 0)
        return true;
    for (int i = 0; algebra_rule(i); i++)
        if (strncmp(name, "algebra.", 8) == 0 && strcmp(algebra_rule(i)->name, name + 8) == 0) return true;
    return false;
}

enum { MOST_AGAIN = 32 }; /* every rule of algebra leaves fewer operations below reductions: more is a mistake */

/* The graph after a row, verified; NULL where it is malformed. */
static struct graph *run_pass(const struct pass *p, struct graph *g, const char **wrong) {
    stage(g->cx, p->name, g->kernel->name, false);
    g = p->run(g);
    *wrong = ir_verify(g);
    stage(g->cx, p->name, g->kernel->name, true);
    if (*wrong) *wrong = arena_printf(&g->cx->arena, "after %s: %s", p->name, *wrong);
    return *wrong ? NULL : g;
}

struct graph *pipeline_settle(const struct pass *p, struct graph *g, const char **wrong) {
    const struct graph *before = g;
    const struct pass *first = passes;
    g = run_pass(p, g, wrong);
    while (p->again && strcmp(first->name, p->again) != 0) first++;
    for (int i = 0; p->again && g && g != before && i < MOST_AGAIN; i++)
        for (const struct pass *q = first; q <= p && g; q++) {
            before = g;
            if (!list_has(g->skip, q->name)) g = run_pass(q, g, wrong);
        }
    return g;
}

struct graph *pipeline_run(struct graph *g, const struct pipeline_options *o, struct buf *dump, const char **wrong) {
    bool stopped = false;
    if ((*wrong = ir_verify(g))) return NULL;
    g->skip = o->skip;
    g->with = o->with;
    for (int i = 0; i < N_PASSES; i++) {
        const struct pass *p = &passes[i];
        if (!p->is_required && (stopped || list_has(o->skip, p->name))) continue;
        g = pipeline_settle(p, g, wrong);
        if (!g) return NULL;
        if (o->dump_after && (strcmp(o->dump_after, "all") == 0 || strcmp(o->dump_after, p->name) == 0)) {
            buf_printf(dump, "# after %s\n", p->name);
            ir_print(dump, g);
        }
        if (o->stop_after && strcmp(o->stop_after, p->name) == 0) stopped = true;
    }
    return g;
}
