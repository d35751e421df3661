/* Every pass keeps what a kernel means: the graph before and after it, and every partition the fuse pass proposes, give
 * the same elements, bit for bit in double, on integers and on special values; a rule of the algebra gives the same
 * numbers where all is exact, and else stays within what it states. What they start from is compared with the oracle.
 *
 * Specs are generated (spec_gen.h) and written by hand. A failure is shrunk before it is reported. */
#define FX_EVERY_OP
#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/op.h"
#include "grad/grad.h"
#include "oracle/eval.h"
#include "fx.h"
#include "ir_eval.h"
#include "passes/build.h"
#include "passes/passes.h"
#include "pipeline.h"
#include "spec_gen.h"
#include "suite.h"

extern const char fx_text_prelude[], fx_text_prelude_end[];

/* ---- from text to a graph ---- */

struct subject { /* a spec under test */
    struct cx cx;
    const struct program *program;
    const struct kernel *kernel;
    struct graph *graph; /* as lowered; NULL: the spec has errors */
};

static void subject_take(struct subject *s, int kernel) {
    s->kernel = &s->program->kernels[kernel];
    s->graph = fx_lower(&s->cx, s->kernel);
}

static void add_file(struct cx *cx, const char *name, const char *text, size_t len) {
    cx->files[cx->n_files] = (struct source_file){.name = name, .text = text, .len = len};
    source_index(cx, cx->n_files++);
}

static struct subject *subject_open(const char *text) {
    struct subject *s = calloc(1, sizeof *s);
    ck_assert(s != NULL);
    if (setjmp(s->cx.oom)) ck_abort_msg("out of memory");
    arena_init(&s->cx.arena, &s->cx.oom);
    s->cx.arch = arch_find("sm_90a");
    add_file(&s->cx, "t.fx", text, strlen(text));
    struct ast_file *file = fx_parse(&s->cx, 0);
    add_file(&s->cx, "prelude.fx", fx_text_prelude, (size_t)(fx_text_prelude_end - fx_text_prelude));
    struct ast_file *prelude = s->cx.n_errors ? NULL : fx_parse(&s->cx, 1);
    struct program *program = s->cx.n_errors ? NULL : fx_check(&s->cx, file, prelude, NULL, grad_kernel);
    if (s->cx.n_errors) return s;
    s->program = program;
    subject_take(s, 0);
    return s;
}

static void subject_close(struct subject *s) {
    arena_release(&s->cx.arena);
    free(s);
}

static const char *messages(struct subject *s) {
    struct buf b;
    buf_init(&b, &s->cx.arena);
    diag_print(&s->cx, &b);
    return b.s;
}

static const char *text_of(const struct graph *g) {
    struct buf b;
    buf_init(&b, &g->cx->arena);
    ir_print(&b, g);
    return b.s;
}

/* ---- arguments ---- */

enum flavour { INTEGERS, SPECIALS, FRACTIONS };

struct arguments {
    struct ir_data data;
    struct oracle_input *inputs; /* the same, as stored */
};

/* The axes that expressions are made of, before those that equations give. */
static int free_axes(const struct kernel *k, int *axes) {
    int n = 0;
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < k->n_axes; i++) {
            bool is_used = false;
            for (int e = 0; e < k->n_equations; e++)
                for (int t = 0; t < k->equations[e].value.n; t++)
                    is_used |= k->equations[e].value.terms[t].op == FX_T_EXTENT &&
                               k->equations[e].value.terms[t].v == i;
            if (is_used == (late == 0)) axes[n++] = i;
        }
    return n;
}

/* Extents that the equations and requirements of k allow: the spec's, or small ones. */
static bool try_extents(
    struct arena *a, const struct kernel *k, const struct spec *spec, uint64_t *random, int64_t *extents) {
    static const int plain[] = {3, 2, 4, 3, 2};
    int *order = NEW_ARRAY(a, int, k->n_axes + 1), n = free_axes(k, order);
    struct fx_equation *equations = NEW_ARRAY(a, struct fx_equation, k->n_equations + 1);
    struct fx_extent *names = NEW_ARRAY(a, struct fx_extent, k->n_axes + 1);
    char message[200];
    for (int i = 0; i < k->n_equations; i++)
        equations[i] = (struct fx_equation){k->equations[i].axis, k->equations[i].value, "an equation"};
    for (int i = 0; i < k->n_axes; i++) {
        names[i] = (struct fx_extent){"L", k->axes[i].extent, false};
        extents[i] = k->axes[i].extent;
    }
    const struct fx_kernel shell = {
        .name = "f", .n_extents = k->n_axes, .extents = names, .n_equations = k->n_equations, .equations = equations};
    for (int i = -1; i < n; i++) {
        if (i >= 0 && extents[order[i]] >= 0) continue;
        if (i >= 0) {
            int given = spec ? spec_extent(spec, k->axes[order[i]].name.s, k->axes[order[i]].name.len) : -1;
            extents[order[i]] = given >= 0 ? given : *random % 3 ? plain[order[i] % 5] : random_below(random, 7);
            random_next(random);
        }
        if (fx_solve_extents(&shell, extents, message, sizeof message) != FX_OK) return false;
    }
    const struct fx_env env = {.extents = extents};
    int64_t total = 1;
    for (int i = 0; i < k->n_axes; i++) total *= extents[i] < 0 || extents[i] > (k->axes[i].extent < 0 ? 64 : 2048) ? 2 : 1;
    for (int i = 0; i < k->n_requirements; i++)
        if (!fx_expr_holds(&k->requirements[i].holds, &env)) return false;
    return total == 1;
}

static struct ir_value draw_value(enum fx_dtype t, enum flavour flavour, uint64_t *random) {
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1, -1, 2, -0.5, 3};
    bool has_sign = fx_dtype_class_of(t) != FX_CLASS_U;
    double small = random_below(random, 5) - 2;
    if (t == FX_BOOL) return (struct ir_value){.num = random_below(random, 2)};
    if (!fx_is_float(t)) return (struct ir_value){.integer = has_sign ? (int64_t)small : (int64_t)small + 2};
    if (flavour == SPECIALS) {
        double special = specials[random_below(random, (int)(sizeof specials / sizeof *specials))];
        return (struct ir_value){
            .num = t == FX_F8E4M3 ? fx_round_to(t, special) : special}; /* which holds no infinity */
    }
    return (struct ir_value){
        .num = flavour == INTEGERS ? small : fx_round_to(t, (random_below(random, 20001) - 10000) / 5003.0)};
}

/* The words of a packed parameter whose elements are v; fields past the extent hold ones. */
static void *packed_words(
    struct arena *a, const struct kernel *k, int param, const int64_t *extents, const struct ir_value *v) {
    const struct fx_packing *p = &k->params[param].packed;
    const int *axes = k->params[param].axes;
    int bits = fx_dtype_bits(k->params[param].dtype);
    int64_t outer = 1, inner = 1, extent = extents[axes[p->axis]], n_words = (extent + p->factor - 1) / p->factor;
    for (int i = 0; i < k->params[param].n_axes; i++)
        *(i < p->axis ? &outer : &inner) *= i == p->axis ? 1 : extents[axes[i]];
    void *words = arena_alloc(a, (size_t)(outer * n_words * inner + 1) * 8);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t w = 0; w < n_words; w++)
            for (int64_t i = 0; i < inner; i++) {
                uint64_t word = 0;
                for (int f = 0; f < p->factor; f++) {
                    int64_t at = w * p->factor + f, field = at < extent ? v[(o * extent + at) * inner + i].integer : -1;
                    word |= ((uint64_t)field & ((1u << bits) - 1)) << bits * (p->is_msb ? p->factor - 1 - f : f);
                }
                fx_store_integer(p->storage, words, (size_t)((o * n_words + w) * inner + i), (int64_t)word);
            }
    return words;
}

/* What every dtype holds, drawn for every parameter. False where no extents were found. */
static bool draw(
    struct subject *s, const struct spec *spec, enum flavour flavour, uint64_t random, struct arguments *out) {
    struct arena *a = &s->cx.arena;
    const struct kernel *k = s->kernel;
    int64_t *extents = NEW_ARRAY(a, int64_t, k->n_axes + 1);
    struct ir_value const **params = NEW_ARRAY(a, struct ir_value const *, k->n_params + 1);
    struct oracle_input *inputs = NEW_ARRAY(a, struct oracle_input, k->n_params + 1);
    bool found = false;
    for (int attempt = 0; attempt < 60 && !found; attempt++) found = try_extents(a, k, spec, &random, extents);
    for (int i = 0; i < k->n_params && found; i++) {
        if (!k->params[i].is_input) continue;
        enum fx_dtype t = k->params[i].dtype;
        int64_t n = ir_param_size(k, i, extents);
        struct ir_value *v = NEW_ARRAY(a, struct ir_value, n + 1);
        void *stored = arena_alloc(a, (size_t)(n + 1) * 8);
        for (int64_t e = 0; e < n; e++) {
            v[e] = draw_value(t, flavour, &random);
            if (fx_is_integer(t) || t == FX_BOOL)
                fx_store_integer(t, stored, (size_t)e, t == FX_BOOL ? (int64_t)v[e].num : v[e].integer);
            else fx_store_double(t, stored, (size_t)e, v[e].num);
        }
        params[i] = v;
        const struct fx_packing *packed = &k->params[i].packed;
        inputs[i] = packed->factor ? (struct oracle_input){packed->storage, packed_words(a, k, i, extents, v)}
                                   : (struct oracle_input){t, stored};
    }
    *out = (struct arguments){{extents, k->n_axes, params, IR_DOUBLE}, inputs};
    return found;
}

/* ---- comparison ---- */

static bool same_bits(double a, double b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

/* How far results may move: to the bit; as numbers, so that 0 is -0; or by a part of the largest of the output. */
struct tolerance {
    bool is_numeric;
    double relative;
};

static bool is_close(struct ir_value want, struct ir_value got, double largest, const struct tolerance *t) {
    if (want.integer != got.integer) return false;
    if (same_bits(want.num, got.num) || (t->is_numeric && want.num == got.num)) return true;
    if (t->is_numeric && fabs(want.num) > 0x1p40 && fabs(want.num - got.num) <= 1e-12 * fabs(want.num))
        return true; /* beyond what a double holds exactly */
    return t->relative > 0 && fabs(want.num - got.num) <= t->relative * (1 + largest);
}

/* Whether one is what the other comes to in output o, whose store rounds: a cast to its dtype may be left to it. */
static bool is_rounded(const struct graph *g, int o, double a, double b) {
    enum fx_dtype to = g->kernel->params[g->outputs[o].param].dtype;
    return fx_is_float(to) && fx_dtype_bits(to) <= 16 && (same_bits(fx_round_to(to, a), b) || same_bits(a, fx_round_to(to, b)));
}

/* NULL, or where got differs from want. */
static const char *differ(const struct graph *g, const struct ir_data *d, struct ir_value *const *want,
    struct ir_value *const *got, const char *what, const struct tolerance *t) {
    for (int o = 0; o < g->n_outputs; o++) {
        int64_t n = ir_param_size(g->kernel, g->outputs[o].param, d->extents);
        double largest = 0;
        for (int64_t i = 0; i < n; i++) largest = fmax(largest, isfinite(want[o][i].num) ? fabs(want[o][i].num) : 0);
        for (int64_t i = 0; i < n; i++)
            if (!is_close(want[o][i], got[o][i], largest, t) && !is_rounded(g, o, want[o][i].num, got[o][i].num))
                return arena_printf(&g->cx->arena, "%s: %s[%lld] is %.17g / %lld, before it was %.17g / %lld", what,
                    g->kernel->params[g->outputs[o].param].name, (long long)i, got[o][i].num,
                    (long long)got[o][i].integer, want[o][i].num, (long long)want[o][i].integer);
    }
    return NULL;
}

static const struct tolerance to_the_bit = {0};

/* Sums in the order the spec names axes differ from sums in ascending order by their rounding, where there is any. */
static const char *differ_from_oracle(
    struct subject *s, const struct arguments *x, struct ir_value *const *got, bool is_exact) {
    struct arena *a = &s->cx.arena;
    const struct graph *g = s->graph;
    for (int o = 0; o < g->n_outputs; o++) {
        int64_t n = ir_param_size(s->kernel, g->outputs[o].param, x->data.extents);
        double *want = NEW_ARRAY(a, double, n + 1), *bound = NEW_ARRAY(a, double, n + 1);
        int64_t *integer = NEW_ARRAY(a, int64_t, n + 1);
        if (oracle_eval(a, s->kernel, x->data.extents, x->inputs, g->outputs[o].param, NULL, n, want, integer,
                FX_BOUND_WORST, bound) != FX_OK)
            return "the oracle failed";
        bool is_whole = fx_is_integer(g->outputs[o].value->dtype);
        for (int64_t i = 0; i < n; i++) {
            double v = got[o][i].num;
            bool is_near = (!is_exact || fabs(want[i]) > 0x1p40) &&
                           fabs(want[i] - v) <= 1e-9 * (1 + fabs(want[i])) + bound[i];
            is_near |= want[i] == v || is_rounded(g, o, want[i], v) || bound[i] == INFINITY; /* the first of 0 and -0 depends on the order */
            if (is_whole ? got[o][i].integer != integer[i] && bound[i] == 0 : !same_bits(want[i], v) && !is_near)
                return arena_printf(a, "%s[%lld] is %.17g / %lld, by the oracle it is %.17g / %lld, at most %g off",
                    s->kernel->params[g->outputs[o].param].name, (long long)i, v, (long long)got[o][i].integer, want[i],
                    (long long)integer[i], bound[i]);
        }
    }
    return NULL;
}

/* ---- properties ---- */

enum { MAX_PASSES = 32 }; /* of the pipeline */

struct tally { /* over many specs */
    int n_partitions, n_rounded, n_exact; /* proposals; those with 16-bit buffers; of them those that lost nothing */
    int n_fired[16];                      /* by rule of the algebra: rewrites that were compared */
    int n_changed[MAX_PASSES];            /* by pass: graphs that it changed, of those compared */
    int n_shares;                         /* values that runs share, in graphs that were compared */
    int n_partials, n_both, n_epilogues;  /* reductions in runs that were compared; over two labels; stores of them by a
                                             contraction's kernel */
    int n_accesses, n_folded;             /* accesses as lowered; fewer, or other ones, after access */
    int n_drawn;                          /* specs for which extents were found */
};

static const struct node *accessed(const struct node *n) {
    while (n->kind == N_ACCESS) n = n->args[0];
    return n;
}

/* Whether dtype `in` has every value of dtype t, by trying each of them; t itself has. */
static bool has_values(enum fx_dtype in, enum fx_dtype t) {
    int bits = fx_dtype_bits(t);
    if (in == t || bits > 16) return in == t;
    for (int64_t pattern = 0; pattern < (t == FX_BOOL ? 2 : 1 << bits); pattern++) {
        uint16_t memory = (uint16_t)pattern;
        double v = fx_is_float(t) ? fx_load_double(t, &memory, 0)
                                  : fx_integer_to_double(FX_I64, fx_is_integer(t) ? fx_wrap(t, pattern) : pattern);
        if (fx_is_integer(in) ? fx_is_float(t) || !fx_integer_fits(in, FX_I64, (int64_t)v)
                              : fx_round_to(in, v) != v && v == v)
            return false;
    }
    return true;
}

/* What the values of a factor are known to be, whatever they were widened to or read through. */
static enum fx_dtype dtype_in_memory(const struct graph *g, const struct node *n) {
    if (n->kind == N_INPUT) return g->kernel->params[n->param].dtype;
    if (n->kind == N_ACCESS) {
        const struct node *fill = n->args[n->n_args - 1];
        enum fx_dtype t = dtype_in_memory(g, n->args[0]);
        bool has_it = !n->has_fill ||
                      (fill->kind == N_CONST &&
                          (fx_is_integer(fill->dtype) ? fx_is_integer(t) && fx_integer_fits(t, FX_I64, fill->integer)
                                                      : fx_is_float(t) && fx_round_to(t, fill->num) == fill->num));
        return has_it ? t : n->dtype;
    }
    if (n->kind != N_CAST) return n->dtype;
    enum fx_dtype t = dtype_in_memory(g, n->args[0]);
    return has_values(n->to, t) ? t : n->to;
}

/* Whether dtype has every value of n: of a choice, those of both sides. */
static bool has_all_of(enum fx_dtype dtype, const struct graph *g, const struct node *n) {
    if (n->kind == N_OP && n->op == O_WHERE)
        return has_all_of(dtype, g, n->args[1]) && has_all_of(dtype, g, n->args[2]);
    if (n->kind == N_CONST)
        return fx_is_integer(n->dtype) ? fx_is_integer(dtype) && fx_integer_fits(dtype, FX_I64, n->integer)
                                       : fx_is_float(dtype) && fx_round_to(dtype, n->num) == n->num;
    if (n->kind == N_ACCESS && (!n->has_fill || n->args[n->n_args - 1]->kind == N_CONST))
        return has_all_of(dtype, g, n->args[0]) && (!n->has_fill || has_all_of(dtype, g, n->args[n->n_args - 1]));
    if (n->kind == N_CAST && has_all_of(dtype, g, n->args[0]))
        return n->to == dtype || has_values(n->to, dtype) || has_values(dtype, n->to);
    return has_values(dtype, dtype_in_memory(g, n));
}

/* Whether some value of n is neither an element of a tensor nor a number, however it was chosen. */
static bool computes(const struct node *n) {
    if (n->kind == N_OP && n->op == O_WHERE) return computes(n->args[1]) || computes(n->args[2]);
    return accessed(n) == n ? n->kind != N_INPUT && n->kind != N_CONST : computes(accessed(n));
}

/* Whether a factor may be loaded as dtype: it loses nothing there, or was computed in f32 beside a stored tensor of
 * that dtype, or of 8-bit floats and dtype is bf16, which is the licence to round it once that `precision: ieee` takes
 * away. */
static bool may_load(const struct graph *g, const struct node *n, const struct node *other, enum fx_dtype dtype) {
    enum fx_dtype own = dtype_in_memory(g, n), beside = dtype_in_memory(g, other);
    bool is_licensed = g->kernel->precision != PRECISION_IEEE && computes(n) && own == FX_F32 &&
                       accessed(other)->kind == N_INPUT;
    bool is_f8 = fx_is_float(beside) && fx_dtype_bits(beside) == 8;
    return dtype == n->dtype || has_values(dtype, own) || has_all_of(dtype, g, n) ||
           (is_licensed && (dtype == beside || (is_f8 && dtype == FX_BF16)));
}

static const char *check_factors(const struct graph *g, const struct partition *p) {
    for (int i = 0; i < p->n_groups; i++) {
        const struct group *r = &p->groups[i];
        for (int j = 0; j < 2 * r->n_sums; j++) {
            const struct product *x = &r->sums[j / 2];
            const struct node *factor = x->factor[j % 2];
            const bool may_round_both = g->kernel->precision != PRECISION_IEEE && x->sum->rounds_to == x->dtype[j % 2];
            if (!may_round_both && !may_load(g, factor, x->factor[1 - j % 2], x->dtype[j % 2]))
                return arena_printf(
                    &g->cx->arena, "factor %%%d of %%%d is rounded without a licence", factor->id, x->sum->id);
            if (x->buffer[j % 2] >= 0 && p->buffers[x->buffer[j % 2]].dtype != x->dtype[j % 2])
                return arena_printf(
                    &g->cx->arena, "factor %%%d of %%%d lies in a buffer of another dtype", factor->id, x->sum->id);
        }
    }
    return NULL;
}

/* Reductions in runs, and how many of them the epilogues of contractions begin. */
static void count_partials(const struct graph *g, struct tally *tally) {
    struct partial_of x;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!as_partial(g, g->nodes[i], &x)) continue;
        tally->n_partials++;
        tally->n_both += x.n == 2;
    }
}

static void count_epilogues(const struct graph *g, const struct partition *p, struct tally *tally) {
    struct partial_of x;
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < p->groups[i].n_stores; s++)
            tally->n_epilogues += is_partial_store(g, &p->groups[i], &p->groups[i].stores[s], &x);
}

static int count_kind(const struct graph *g, enum node_kind kind) {
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += g->nodes[i]->kind == kind;
    return n;
}

static const char *check_partitions(const struct graph *g, const struct ir_data *d, struct ir_value *const *want,
    bool is_exact, const struct tolerance *t, struct tally *tally) {
    struct arena *a = &g->cx->arena;
    for (int i = 0; i < g->n_partitions; i++) {
        const struct partition *p = &g->partitions[i];
        const char *wrong = check_factors(g, p);
        int64_t n_lost;
        bool has_narrow = false;
        if (wrong) return wrong;
        for (int b = 0; b < p->n_buffers; b++) has_narrow |= p->buffers[b].dtype != FX_F32;
        struct ir_value **got = ir_eval_partition(a, g, p, d, false, &n_lost, &wrong);
        if (!got) return arena_printf(a, "partition %s: %s", p->name, wrong);
        const char *difference = differ(g, d, want, got, p->name, t);
        if (difference) return difference;
        count_epilogues(g, p, tally);
        tally->n_partitions++;
        if (!has_narrow || !is_exact) continue;
        got = ir_eval_partition(a, g, p, d, true, &n_lost, &wrong);
        tally->n_rounded++;
        if (n_lost) continue; /* the data does not fit the buffers: the licence to round applies */
        tally->n_exact++;
        if ((difference = differ(g, d, want, got, p->name, t))) return difference;
    }
    return NULL;
}

/* The name of the pass number i of a sequence, "canonicalise cse dce"; NULL past the end. The empty sequence is the
 * whole table. */
static const struct pass *pass_of(const char *sequence, int i) {
    if (!*sequence) return pipeline_pass(i);
    for (; i > 0 && *sequence; i--) sequence += strcspn(sequence, " "), sequence += strspn(sequence, " ");
    size_t len = strcspn(sequence, " ");
    for (int p = 0; len && pipeline_pass(p); p++)
        if (strlen(pipeline_pass(p)->name) == len && strncmp(pipeline_pass(p)->name, sequence, len) == 0)
            return pipeline_pass(p);
    ck_assert_msg(len == 0, "no pass is called %s", sequence);
    return NULL;
}

static struct graph *algebra_settled(struct graph *g) {
    const char *wrong;
    struct graph *after = pipeline_settle(pass_of("algebra", 0), g, &wrong);
    ck_assert_msg(after != NULL, "%s", wrong);
    return after;
}

static bool keeps_bits(const char *sequence) {
    for (int i = 0; pass_of(sequence, i); i++)
        if (!pass_of(sequence, i)->is_exact) return false;
    return true;
}

/* Runs passes one after another; after each the graph must be sound, mean the same,
 * and have left the one before alone. */
static const char *check_sequence(struct subject *s, const char *sequence, const struct arguments *x,
    struct ir_value *const *want, bool is_exact, struct tally *tally) {
    struct arena *a = &s->cx.arena;
    const struct graph *g = s->graph;
    struct tolerance t = to_the_bit;
    for (int i = 0; pass_of(sequence, i); i++) {
        const struct pass *pass = pass_of(sequence, i);
        const char *before = text_of(g);
        /* what is kept is no longer an epilogue's, of which later passes are to have something */
        if (!*sequence && strcmp(pass->name, "keep") == 0 && tally->n_drawn / 2 % 8) continue;
        struct graph *next = pass->run(g);
        const char *where = arena_printf(a, "after %s, pass %d of %s", pass->name, i + 1, *sequence ? sequence : "all"),
                   *wrong = ir_verify(next);
        if (wrong) return arena_printf(a, "%s: %s", where, wrong);
        if (strcmp(before, text_of(g)) != 0) return arena_printf(a, "%s: the graph before was changed", where);
        if (strcmp(pass->name, "partial") == 0) count_partials(next, tally);
        if (strcmp(pass->name, "share") == 0) tally->n_shares += count_kind(next, N_SHARE);
        if (!pass->is_exact) t.is_numeric = true, t.relative = is_exact ? 0 : 1e-9;
        struct ir_value **got = ir_eval(a, next, &x->data, &wrong);
        if (!got) return arena_printf(a, "%s: %s\n%s", where, wrong, text_of(next));
        const char *difference = differ(next, &x->data, want, got, where, &t);
        if (!difference) difference = check_partitions(next, &x->data, want, is_exact, &t, tally);
        if (difference) return arena_printf(a, "%s: %s\n%s", where, difference, text_of(next));
        if (!*sequence) tally->n_changed[i] += strcmp(before, text_of(next)) != 0;
        g = next;
    }
    return NULL;
}

/* Whether a small change of what is computed is a small change of the result: nothing jumps. */
static bool is_smooth(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        bool from_float = n->n_args && fx_is_float(n->args[0]->dtype);
        if (n->kind == N_CAST && from_float) return false;
        if (n->kind == N_REDUCE && fx_is_integer(n->dtype) && from_float) return false;
        if (n->kind != N_OP || !from_float) continue;
        if (op_info[n->op].rule == RULE_COMPARE || n->op == O_FLOOR || n->op == O_CEIL || n->op == O_ROUND ||
            n->op == O_SIGN)
            return false;
        if (n->op == O_RSQRT || n->op == O_LOG || n->op == O_LOG2 || n->op == O_SQRT || n->op == O_POW ||
            n->op == O_DIV)
            return false; /* steep at 0 */
        if (n->op == O_SIN || n->op == O_COS || n->op == O_EXP2)
            return false; /* no number of digits helps where the argument is large */
    }
    return true;
}

static bool has_empty_axis(const struct subject *s, const struct arguments *x) {
    for (int i = 0; i < s->kernel->n_axes; i++)
        if (x->data.extents[i] == 0) return true;
    return false;
}

/* Each rule of the algebra by itself, after access has run. */
static const char *check_rules(
    struct subject *s, const struct arguments *x, struct ir_value *const *want, bool is_exact, struct tally *tally) {
    struct arena *a = &s->cx.arena;
    struct graph *g = pass_dce(pass_access(pass_cse(pass_canonicalise(s->graph))));
    for (int r = 0; algebra_rule(r); r++) {
        struct buf others;
        const char *name = algebra_rule(r)->name, *wrong;
        buf_init(&others, a);
        for (int i = 0; algebra_rule(i); i++) buf_printf(&others, i == r ? "" : "algebra.%s,", algebra_rule(i)->name);
        g->skip = others.s, g->with = arena_printf(a, "algebra.%s", name);
        struct graph *next = algebra_settled(g);
        if (!next->n_applied) continue;
        for (int i = 0; i < next->n_applied; i++)
            if (strcmp(next->applied[i].rule, name) != 0)
                return arena_printf(a, "%s was applied though only %s was on", next->applied[i].rule, name);
        if ((wrong = ir_verify(next))) return arena_printf(a, "after %s: %s", name, wrong);
        bool is_inexact = !is_exact || strcmp(name, "exp2") == 0;
        bool is_to_the_bit = strncmp(name, "one_", 4) == 0;
        if (is_inexact && !is_to_the_bit && !is_smooth(s->graph)) continue;
        if (!algebra_rule(r)->is_default && has_empty_axis(s, x))
            continue; /* the factor moved meets a sum of nothing: it must be finite */
        tally->n_fired[r] += next->n_applied;
        struct tolerance t = {.is_numeric = !is_to_the_bit, .relative = is_inexact ? 1e-9 : 0};
        struct ir_value **got = ir_eval(a, next, &x->data, &wrong);
        const char *difference = got ? differ(next, &x->data, want, got, name, &t) : wrong;
        if (difference) return arena_printf(a, "%s\n%s%s", difference, text_of(g), text_of(next));
    }
    return NULL;
}

/* Equal nodes, nodes no output needs, and what a second run would still change. */
static const char *check_result(struct subject *s) {
    struct arena *a = &s->cx.arena;
    struct graph *g = pass_dce(pass_cse(pass_canonicalise(s->graph)));
    const char *once = text_of(g);
    if (strcmp(once, text_of(pass_dce(g))) != 0) return "dce: a second run drops more";
    if (strcmp(once, text_of(pass_cse(g))) != 0) return "cse: a second run joins more";
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < i; j++) {
            const struct node *m = g->nodes[i], *n = g->nodes[j];
            if (m->kind == N_OP && n->kind == N_OP && m->op == n->op && memcmp(m->args, n->args, sizeof m->args) == 0)
                return arena_printf(a, "cse: nodes %d and %d are equal", j, i);
        }
    struct graph *again = pass_dce(pass_canonicalise(g));
    return again->n_nodes > g->n_nodes ? "canonicalise: a second run adds nodes" : NULL;
}

/* The table as it stands, so that every pass of it is tried, and others in which passes meet what the ones before them
 * usually take away. */
static const char *const sequences[] = {"", "partial dce fuse", "canonicalise cse dce fuse", "cse", "dce", "fuse",
    "cse canonicalise", "dce cse canonicalise", "canonicalise canonicalise cse dce fuse", "cse dce fuse", "access",
    "canonicalise cse access dce fuse", "cse access dce access fuse", "algebra"};
enum { N_SEQUENCES = sizeof sequences / sizeof *sequences };

/* No access may stand over anything but what it cannot go through. */
static const char *check_accesses(struct subject *s, struct tally *tally) {
    struct graph *before = pass_dce(pass_cse(pass_canonicalise(s->graph))), *g = pass_access(before);
    tally->n_accesses += count_kind(before, N_ACCESS);
    tally->n_folded += strcmp(text_of(before), text_of(g)) != 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i], *source = n->args[0];
        if (n->kind != N_ACCESS) continue;
        if (source->kind != N_INPUT && source->kind != N_REDUCE && source->kind != N_SCAN)
            return arena_printf(&s->cx.arena, "node %%%d stands over what it could go through\n%s", i, text_of(g));
        if (n->n_at == 1 && n->args[1]->kind == N_INDEX && n->args[1]->axis == n->at[0] && !n->has_fill)
            return arena_printf(&s->cx.arena, "node %%%d reads everything where it stands\n%s", i, text_of(g));
    }
    return strcmp(text_of(g), text_of(pass_access(g))) != 0
               ? arena_printf(&s->cx.arena, "access: a second run changes more\n%s", text_of(g))
               : NULL;
}

/* NULL, or what is wrong with the passes on this spec, in the subject's arena. */
static const char *check_subject(
    struct subject *s, const struct spec *spec, uint64_t seed, bool is_exact, struct tally *tally) {
    struct arena *a = &s->cx.arena;
    const char *wrong = ir_verify(s->graph);
    if (wrong) return arena_printf(a, "as lowered: %s", wrong);
    for (int flavour = INTEGERS; flavour <= SPECIALS; flavour++) {
        struct arguments x;
        if (!draw(s, spec, flavour, seed * 2 + 1, &x)) break;
        tally->n_drawn++;
        struct ir_value **want = ir_eval(a, s->graph, &x.data, &wrong);
        if (!want) return arena_printf(a, "as lowered: %s\n%s", wrong, text_of(s->graph));
        if (flavour == INTEGERS && (wrong = differ_from_oracle(s, &x, want, is_exact))) return wrong;
        for (int i = 0; i < N_SEQUENCES; i++)
            if ((keeps_bits(sequences[i]) || (flavour == INTEGERS && (is_exact || is_smooth(s->graph)))) &&
                (wrong = check_sequence(s, sequences[i], &x, want, is_exact && flavour == INTEGERS, tally)))
                return wrong;
        if (flavour == INTEGERS && (wrong = check_rules(s, &x, want, is_exact, tally))) return wrong;
    }
    if ((wrong = check_accesses(s, tally))) return wrong;
    return check_result(s);
}

/* ---- generated specs ---- */

enum { N_BATCHES = 10, BATCH = 210, CONTRACTIONS = 60 };

static struct tally *all; /* of the generated specs: shared by the processes that tests run in */

static const char *spec_text(struct arena *a, const struct spec *spec) {
    struct buf b;
    buf_init(&b, a);
    spec_print(&b, spec);
    return b.s;
}

/* Whether the passes fail on a spec; one that does not compile is none of their failures. */
static bool fails(void *user, const struct spec *spec) {
    struct arena a;
    jmp_buf oom;
    struct tally tally = {0};
    if (setjmp(oom)) ck_abort_msg("out of memory");
    arena_init(&a, &oom);
    struct subject *s = subject_open(spec_text(&a, spec));
    bool failed = s->graph && check_subject(s, spec, *(uint64_t *)user, spec->is_exact, &tally) != NULL;
    subject_close(s);
    arena_release(&a);
    return failed;
}

static void report(struct arena *a, struct subject *s, const struct spec *spec, uint64_t seed, const char *wrong) {
    const struct spec *least = spec_shrink(a, spec, fails, &seed);
    struct subject *t = subject_open(spec_text(a, least));
    struct tally tally = {0};
    const char *then = t->graph ? check_subject(t, least, seed, least->is_exact, &tally) : NULL;
    ck_abort_msg("seed %llu: %.800s\n%.800s\nshrunk: %.1000s\n%.800s\n%.400s", (unsigned long long)seed, wrong,
        s->cx.files[0].text, then ? then : "", spec_text(a, least),
        t->graph ? text_of(pass_fuse(pass_dce(pass_cse(pass_canonicalise(t->graph))))) : "");
}

static void check_seed(struct spec *(*generate)(struct arena *a, uint64_t seed), uint64_t seed, struct tally *tally) {
    struct arena a;
    jmp_buf oom;
    if (setjmp(oom)) ck_abort_msg("out of memory");
    arena_init(&a, &oom);
    struct spec *spec = generate(&a, seed);
    struct subject *s = subject_open(spec_text(&a, spec));
    ck_assert_msg(s->graph != NULL, "seed %llu is no valid spec:\n%s\n%s", (unsigned long long)seed,
        spec_text(&a, spec), messages(s));
    const char *wrong = check_subject(s, spec, seed, spec->is_exact, tally);
    if (wrong) report(&a, s, spec, seed, wrong);
    subject_close(s);
    arena_release(&a);
}

START_TEST(test_generated) {
    for (int i = 0; i < BATCH; i++) check_seed(spec_generate, (uint64_t)_i * BATCH + (uint64_t)i, all);
}
END_TEST

/* Those around contractions: fewer, as each is larger. */
START_TEST(test_generated_contractions) {
    for (int i = 0; i < CONTRACTIONS; i++)
        check_seed(spec_generate_contraction, (uint64_t)_i * CONTRACTIONS + (uint64_t)i, all);
}
END_TEST

/* What the specs came to, all batches together: a rule that never fires, a pass with nothing to do, was not tested. */
START_TEST(test_tally) {
    if (all->n_drawn == 0) return; /* test_generated was left out */
    for (int r = 0; algebra_rule(r); r++)
        ck_assert_msg(all->n_fired[r] >= 5, "%s was applied %d times only", algebra_rule(r)->name, all->n_fired[r]);
    ck_assert_ptr_null(pipeline_pass(MAX_PASSES - 1));
    for (int i = 0; pipeline_pass(i); i++)
        ck_assert_msg(
            all->n_changed[i] > 0, "%s changed no graph: tests/golden/fuse has none for it", pipeline_pass(i)->name);
    ck_assert_msg(all->n_partials >= 100 && all->n_both >= 30 && all->n_epilogues >= 400,
        "%d reductions in runs, %d of them over two labels, %d in epilogues", all->n_partials, all->n_both,
        all->n_epilogues);
    ck_assert_msg(all->n_shares >= 30, "%d values that runs share", all->n_shares);
    ck_assert_msg(all->n_exact * 2 >= all->n_rounded,
        "only %d of %d partitions with 16-bit buffers had data that fits them", all->n_exact, all->n_rounded);
    ck_assert_msg(all->n_rounded >= 50, "only %d partitions with 16-bit buffers", all->n_rounded);
    ck_assert_msg(all->n_accesses >= 500 && all->n_folded >= 300, "%d accesses, specs that access changed: %d",
        all->n_accesses, all->n_folded);
    ck_assert_msg(all->n_drawn >= N_BATCHES * (BATCH + CONTRACTIONS) * 2 * 95 / 100, "extents were found for %d of %d",
        all->n_drawn, N_BATCHES * (BATCH + CONTRACTIONS) * 2);
}
END_TEST

/* The same specs through the whole compiler: a plan, or a refusal that says why; nothing in between. */
static void compile_seed(struct spec *(*generate)(struct arena *a, uint64_t seed), uint64_t seed) {
    struct arena a;
    jmp_buf oom;
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    if (setjmp(oom)) ck_abort_msg("out of memory");
    arena_init(&a, &oom);
    const char *text = spec_text(&a, generate(&a, seed));
    fx_status status = fx_compile(text, strlen(text), "t.fx", &o, &c);
    ck_assert_msg(status == FX_OK || (status == FX_ERR_COMPILE && *fx_messages(c)), "seed %llu gives %d:\n%s\n%s",
        (unsigned long long)seed, status, text, fx_messages(c));
    ck_assert(status != FX_OK || fx_text(c, FX_TEXT_HOST_C) != NULL);
    fx_close(c);
    arena_release(&a);
}

START_TEST(test_generated_compile) {
    for (int i = 0; i < BATCH / 3; i++) compile_seed(spec_generate, (uint64_t)_i * BATCH + (uint64_t)i);
    for (int i = 0; i < CONTRACTIONS; i++)
        compile_seed(spec_generate_contraction, (uint64_t)_i * CONTRACTIONS + (uint64_t)i);
}
END_TEST

/* Values that are computed from themselves twice, over and over: `first`, then `step` of what was before, ~, again and
 * again, in the place of $. A walk over operands without a memo takes twice as long for each step. */
enum { DOUBLINGS = 34 };
#define SQUARES "min(~ * ~, ~ + ~)"

static const struct {
    const char *first, *step, *spec;
} doubled[] = {
    {"x", SQUARES, "(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { $ y = ~ @[K] w }"},
    {"x", SQUARES, "(x: f32[M,K]) -> y: f32[M,K] { $ y = softmax[K](~ - (cumsum[K](~)[K: K-1] ?? 0)) }"},
    {"(x[H: H+U-1] ?? 0)", SQUARES, "(d: f32[B,H,C], x: f32[B,H,C]) -> y: f32[C,U=3] { $ y = sum[B,H](d * ~) }"},
    {"(x @ w)", SQUARES, "(x: f16[M,K], w: f16[K,N], v: f16[N,P]) -> y: f16[M,P] { $ y = ~ @[N] v }"},
    {"(q @ k)", SQUARES, "(q: f16[M,D], k: f16[N,D], v: f16[N,E]) -> y: f16[M,E] { $ y = softmax[N](~) @ v }"},
    {"t", SQUARES,
        "(q: bf16[M,D], k: bf16[N,D], v: bf16[N,E], t: f32[M,N]) -> y: f32[M,E] {\n s = q @ k\n"
        " $ y = (exp(s - max[N](s)) * 0 / ~) @[N] v }"},
    {"u", SQUARES,
        "(x: bf16[M,K], w: bf16[K,N], u: i32[M,N]) -> y: f32[M] {\n z = x @ w\n e = exp(z - row_shift[N](z))\n"
        " $ y = sum[N](where(~ < 1, e, 0)) }"},
    {"idx(B)", "(~ + idx(D)) + ~", "(x: f16[T,D], n: i64[B]) -> y: f16[B,D] { $ y = x[T: ~ + n] ?? 0 }"},
    {"idx(B)", "~ - (~ + idx(D)) + ~",
        "(x: f32[T,D], w: f32[U=3]) -> y: f32[B=9,D=64] { $ y = sum[U](w * (x[T: ~ + U] ?? 0)) }"},
    {"idx(S)", "(~ + n) - ~ + ~", "(c: inout f16[B,T,D], k: f16[B,S,D], n: i32[B]) { $ c[T: ~] = k }"},
    {"m", "~ && (~ || x > 0)", "(x: f32[B,D], m: bool[B,D]) -> y: f32[B,D] { $ y = where(~, x, 0) }"},
};

/* Adds text with `name` in place of every ~, and `steps` in place of the $. */
static void put_doubled(struct buf *b, const char *text, const char *name, const char *steps) {
    for (; *text; text++)
        if (*text == '~') buf_puts(b, name);
        else if (*text == '$') buf_puts(b, steps);
        else buf_printf(b, "%c", *text);
}

START_TEST(test_doubled) {
    struct arena a;
    jmp_buf oom;
    fx_compilation *c;
    struct fx_options o = FX_OPTIONS;
    if (setjmp(oom)) ck_abort_msg("out of memory");
    arena_init(&a, &oom);
    struct buf steps, text;
    buf_init(&steps, &a), buf_init(&text, &a);
    for (int i = 0; i < DOUBLINGS; i++) {
        buf_printf(&steps, "v%d = ", i);
        put_doubled(&steps, doubled[_i].step, i ? arena_printf(&a, "v%d", i - 1) : doubled[_i].first, "");
        buf_puts(&steps, "\n ");
    }
    buf_puts(&text, "kernel f");
    put_doubled(&text, doubled[_i].spec, arena_printf(&a, "v%d", DOUBLINGS - 1), steps.s);
    fx_status status = fx_compile(text.s, text.len, "t.fx", &o, &c);
    ck_assert_msg(status == FX_OK, "%s:\n%s", text.s, fx_messages(c));
    fx_close(c);
    arena_release(&a);
}
END_TEST

/* The shrinker ends at the smallest spec that still has what is looked for: an output that needs a maximum. */
static bool has_max(void *user, const struct spec *spec) {
    struct subject *s = subject_open(spec_text(user, spec));
    struct graph *g = s->graph ? pass_dce(s->graph) : NULL;
    bool found = false;
    for (int i = 0; g && i < g->n_nodes; i++) found |= g->nodes[i]->kind == N_OP && g->nodes[i]->op == O_MAX;
    subject_close(s);
    return found;
}

START_TEST(test_shrinker) {
    struct arena a;
    jmp_buf oom;
    int n = 0;
    arena_init(&a, &oom);
    for (uint64_t seed = 0; n < 5 && seed < 100; seed++) {
        const struct spec *spec = spec_generate(&a, seed);
        if (!has_max(&a, spec)) continue;
        const struct spec *least = spec_shrink(&a, spec, has_max, &a);
        ck_assert_msg(least->n_stmts == 1, "%s", spec_text(&a, least));
        ck_assert_msg(strlen(spec_text(&a, least)) < 120, "%s", spec_text(&a, least));
        n++;
    }
    ck_assert_int_eq(n, 5);
    arena_release(&a);
}
END_TEST

/* ---- specs written by hand ---- */

static const char *const specs[] = {
    "kernel f(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
    /* one contraction, two outputs, one of them permuted and one broadcast from a row */
    "kernel f(x: f32[M,K], w: f32[K,N], b: f32[M]) -> (y: f32[N,M], z: f16[M,N], r: f32[M,N]) {\n h = x @ w\n y = relu(h)\n z = h * b\n r = b\n}",
    /* chains: a computed factor on either side, rounded by licence, by a cast, not at all */
    "kernel f(x: f16[M,K], w: f16[K,N], v: f16[N,P]) -> y: f16[M,P] { y = relu(x @ w) @ v }",
    "kernel f(x: f16[M,K], w: f16[K,N], v: f32[N,P]) -> y: f16[M,P] { y = f16(x @ w) @ v }",
    "kernel f(x: f16[M,K], w: f16[K,N], v: bf16[N,P]) -> y: f16[M,P] with { precision: ieee } { y = v @[N] (x @ w) }",
    "kernel f(x: f16[M,K], w: bf16[K,N]) -> y: f16[M,N] { y = x @ w }",
    "kernel f(x: f32[M,K], w: f32[K,N], v: f32[N,P], u: f32[P,M]) -> y: f32[M] { y = (x @ w @ v) @[P] u }",
    /* a contraction read by an epilogue over more axes, and by two others */
    "kernel f(x: f32[M,K], w: f32[K,N], u: f32[M,N,P]) -> y: f32[M,N,P] { y = u + x @ w }",
    "kernel f(x: f32[M,K], w: f32[K,N], u: f32[N,K]) -> y: f32[M,N] { y = x @ w + x @[K] u }",
    "kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], z: f32[M,N]) { y = x @ w\n z = (x @ w) * 2 + y @[N] y }",
    "kernel f(x: f32[M,K], w: f32[K,N], v: f32[M,N]) -> (a: f32[M,N], b: f32[K,N]) { a = x @ w + v\n b = x @[M] (a + 1) }",
    /* the same value as an output and as a factor, in two dtypes */
    "kernel f(x: bf16[M,K], w: bf16[K,N], v: bf16[N,P], u: f32[N,P]) -> (h: f32[M,N], y: f32[M,P], z: f32[M,P]) {\n h = relu(x @ w)\n y = h @ v\n z = h @ u\n}",
    /* batch axes, one factor twice, a contraction to one element, several axes at once */
    "kernel f(x: f32[B,M,K], w: f32[K,B,N]) -> y: f32[M,B,N] { y = x @ w }",
    "kernel f(x: f32[M,K]) -> (y: f32[M], z: f32[]) { y = x @ x\n z = x @[M,K] x }",
    "kernel f(x: f32[M,K], w: f32[M,K,N]) -> y: f32[N] { y = x @[M,K] w }",
    /* a contraction of zero terms, a label of one */
    "kernel f(x: f32[M,K=0], w: f32[K,N=1]) -> y: f32[M,N] { y = x @ w + 1 }",
    /* no contraction: constants, scalars, several outputs over several spaces */
    "kernel f(x: f32[M], s: f32 = 2) -> (y: f32[M], z: f32[M], o: f32[M], t: f32[]) { y = x * s\n z = y\n o = 1\n t = s / 2 }",
    "kernel f(x: f32[M,N], y: f32[N,M]) -> (a: f32[M,N], b: f32[N,M]) { a = x - y\n b = where(x > y && !(x == 0), -(-x), y) }",
    /* reductions that are no contraction */
    "kernel f(x: f32[M,K]) -> (y: f32[M], z: f32[M]) { y = max[K](x)\n z = sum[K](x) * 2 }",
    "kernel f(x: f32[M,K], b: f32[M]) -> y: f32[M] { y = sum[K](x * b) }",
    /* everything that differs in one thing alone: the reduction, the axes, the dtype, the operands */
    "kernel f(x: f32[M,K,N]) -> (a: f32[M], b: f32[K], c: f32[M,K], d: f32[]) {\n"
    " a = sum[K,N](x) + 2 * prod[K,N](x) + 3 * max[K,N](x) + 4 * min[K,N](x)\n b = sum[M,N](x) + 2 * prod[M,N](x) + 3 * max[M,N](x) + 4 * min[M,N](x)\n"
    " c = sum[N](x) + 2 * prod[N](x) + 3 * max[N](x) + 4 * min[N](x)\n d = sum[M,K,N](x) + 2 * prod[M,K,N](x) + 3 * max[M,K,N](x) + 4 * min[M,K,N](x)\n}",
    /* relabels and windows of what is computed, back and forth */
    "kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,J=N], z: f32[P=M*N]) {\n h = x @ w\n y = relu((x @ w){N->J})\n z = relu(h + 1){(M,N)->P}\n}",
    "kernel f(x: f32[P=M*N], m: f32[M], n: f32[N]) -> (y: f32[P], z: f32[P]) {\n a = exp(x{P->(M,N)})\n y = (a * m){(M,N)->P}\n z = y{P->(M,N)}{(M,N)->P} + (n + m){(M,N)->P}\n}",
    "kernel f(x: f32[P=A*B*C], y: f32[A,B,C]) -> (z: f32[P], t: f32[A,B,C]) {\n z = (x{P->(A,B,C)} * y){(A,B,C)->P}\n t = (x{P->(A,B,C)} + y){(A,B,C)->P}{P->(A,B,C)}\n}",
    "kernel f[U=3](x: f32[T], b: f32[T]) -> (y: f32[T], z: f32[T], w: f32[T]) {\n y = max[U]((relu(x) + b)[T: T+U-1] ?? -inf)\n z = sum[U](relu(x)[T: T+U-1] ?? 0)\n"
    " w = (x[T: T+1] ?? 2)[T: T-1] ?? 3\n}",
    "kernel f(x: f32[T,H], i: i32[S], k: i64[H]) -> (y: f32[S,H], z: f32[T,H], d: f32[H]) {\n y = (x * 2)[T: i] ?? -1\n z = cumsum[T](x)[T: size(T)-1-T]\n d = x[T: H] ?? 0\n}",
    "kernel f(x: f32[T], y: f32[T=5], s: i32) -> (a: i64[T], b: i64[], c: f32[]) {\n a = (idx(T) * 3 + s) // 2 % 4\n b = argmax[T](x) + argmin[T](y)\n c = (x + y)[T: 2]\n}",
    "kernel f(x: f32[M,K], v: f32[N,K]) -> y: f32[M,P] { y = relu(concat[P](x{K->P}, (v[N: 0] ?? 1){K->P}) @[P] concat[P](x{K->P}, (v[N: 1] ?? 2){K->P}){M->Q}){Q->P} }",
    "kernel f(x: f32[M], y: f32[M]) -> z: f32[M] { z = f16(x / 3) - bf16(x / 3) + f16(y / 3) - bf16(y / 3) + f16(x * 2049) - bf16(x * 2049) + f16(y * 257) - bf16(y * 257) }",
};

START_TEST(test_written) {
    struct tally tally = {0};
    struct subject *s = subject_open(specs[_i]);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    for (uint64_t seed = 1; seed < 4; seed++) {
        const char *wrong = check_subject(s, NULL, seed, true, &tally);
        ck_assert_msg(!wrong, "%s\n%s%s", wrong, specs[_i], text_of(s->graph));
    }
    subject_close(s);
}
END_TEST

/* ---- the specs of tests/language and the examples ---- */

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    char *text = calloc(1, 1 << 16);
    ck_assert(text != NULL && fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Whether a value has more elements than can be held one by one, by the extents that the spec fixes; labels that are
 * free are given small ones. */
static bool is_large(const struct kernel *k) {
    enum { MOST = 1 << 20, FREE = 4 };
    for (int i = 0; i < k->n_values; i++) {
        double n = 1;
        for (int a = 0; a < k->values[i]->n_axes; a++) {
            int64_t extent = k->axes[k->values[i]->axes[a]].extent;
            n *= (double)(extent < 0 ? FREE : extent);
        }
        if (n > MOST) return true;
    }
    return false;
}

static void check_file(const char *path, struct tally *tally, int *n_kernels) {
    char *text = read_text(path);
    struct subject *s = subject_open(text);
    for (int i = 0; s->program && i < s->program->n_kernels; i++) {
        if (is_large(&s->program->kernels[i])) continue;
        subject_take(s, i);
        const char *wrong = check_subject(s, NULL, (uint64_t)i, false, tally);
        ck_assert_msg(!wrong, "%s: %s: %.6000s", path, s->kernel->name, wrong);
        ++*n_kernels;
    }
    subject_close(s);
    free(text);
}

START_TEST(test_language) {
    static const char *const patterns[] = {
        "tests/language/*.fx", "examples/*.fx", "examples/*/*.fx", "tests/golden/fuse/*.fx"};
    struct tally tally = {0};
    int n_kernels = 0;
    for (int i = 0; i < 4; i++) {
        glob_t found;
        ck_assert_int_eq(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t f = 0; f < found.gl_pathc; f++) check_file(found.gl_pathv[f], &tally, &n_kernels);
        globfree(&found);
    }
    for (int i = 0; pipeline_pass(i); i++) all->n_changed[i] += tally.n_changed[i];
    for (int r = 0; algebra_rule(r); r++) all->n_fired[r] += tally.n_fired[r];
    ck_assert_int_ge(n_kernels, 60);
    ck_assert_int_ge(tally.n_drawn, n_kernels); /* of two flavours: extents are found for most */
}
END_TEST

/* What is done to large products alone, on a machine on which small ones take long. */
static const struct {
    const char *text, *pass;
    bool changes;
} large[] = {
    {"kernel f(x: bf16[M=5,K=13], w: bf16[K,N=6], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }", "pad_k", false},
    {"kernel f(x: bf16[M=17,K=13], w: bf16[K,N=18], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }", "pad_k", true},
    {"kernel f(x: f16[B=2,M=3,K=8], w: f16[B,K,N=7]) -> y: f16[B,M,N] { y = x @[K] w }", "windows", true},
    {"kernel f(x: f16[K=16,M=3], w: f16[N=9,K]) -> (y: f32[M,N], s: f32[M]) { y = x @[K] w; s = sum[N](y) }", "windows", true},
    {"kernel f(x: f16[M=3,K=16], w: f16[N=9,K]) -> y: f32[M,N] { y = x @[K] w }", "pad_k", false},
    {"kernel f(x: f16[M=3,K=13], w: f16[N=9,K]) -> y: f32[M,N] with { fuse: require } { y = x @[K] w }", "pad_k", false},
    {"kernel f(x: f32[M=5,K=13], w: f32[K,N=6], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }", "pad_k", true},
    {"kernel f(x: f32[M=5,K=13], w: f32[K,N=8]) -> y: f32[M,N] { y = x @ w }", "pad_k", true},
    {"kernel f(x: f32[K=13,M=16], w: f32[K,N=8]) -> y: f32[M,N] { y = x @[K] w }", "pad_k", false},
    {"kernel f(x: f32[M=5,K=13], w: bf16[K,N=8]) -> y: f32[M,N] { y = x @ w }", "pad_k", false},
    {"kernel f(x: f32[M=5,K=13], w: f32[K,N=6]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }", "pad_k", false},
    {"kernel f(x: f32[M=5,K=13], w: f32[K,N=6]) -> y: f32[M,N] with { precision: fma } { y = x @ w }", "pad_k", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "windows", true},
    {"kernel f[U=2,V=3](x: f16[C=29,H=4,W=6], k: f16[U,V,C,O=3], b: f32[O]) -> y: f16[O,H,W] {"
     " y = relu(sum[U,V,C]((x[H: idx(H) + idx(U), W: idx(W) - idx(V)] ?? 0) * k) + b) }", "windows", true},
    {"kernel f[V=3](x: bf16[B=2,W=6,C=53], k: bf16[O=3,V,C], l: bf16[O,V,C]) -> y: f32[B,W,O] {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) * sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * l) }", "windows", true},
    {"kernel f[V=4](x: bf16[B=2,C=2,W=4*P], k: bf16[O=3,C,V]) -> y: f32[B,O,P=3] {"
     " y = sum[C,V](x[W: 4*idx(P) + idx(V)] * k) }", "windows", true},
    {"kernel f(x: bf16[B=2,C=8,W=16], k: bf16[O=3,C]) -> y: f32[B,O,P=8] { y = sum[C](x[W: 2*idx(P)] * k) }", "windows", true},
    {"kernel f[U=2,V=3](x: bf16[B=2,C=3,H=4,W=7], k: bf16[O=3,C,U,V]) -> y: f32[B,O,H,Q=4] {"
     " y = sum[C,U,V]((x[H: idx(H) - idx(U), W: 2*idx(Q) + idx(V) - 1] ?? 0) * k) }", "windows", true},
    {"kernel f[V=4](x: f16[W=T+6,C=6], k: f16[O=3,C,V]) -> y: f32[O,T=5] {"
     " y = sum[C,V](x[W: 6 + idx(T) - 2*idx(V)] * k) }", "windows", true},
    {"kernel f[V=3](x: bf16[B=2,W=6,C=32], k: bf16[O=3,V,C]) -> y: f32[B,W,O] {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "windows", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 1) * k) }", "windows", false},
    {"kernel f[V=3](x: bf16[B=2,G=2,C=32,W=6], k: bf16[G,O=3,C,V]) -> y: f32[B,G,O,W] {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "windows", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] with { kernels: 1 } {"
     " y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "windows", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "sources", true},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "windows", true},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: f32[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "sources", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] with { precision: ieee } {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "sources", false},
    {"kernel f[V=3](x: bf16[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] with { precision: fma } {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "sources", false},
    {"kernel f[V=3](x: f32[B=2,C=32,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * (k * 1)) }", "sources", false}, /* no licence */
    {"kernel f[V=3](x: bf16[B=2,C=30,W=6], k: bf16[O=3,C,V]) -> y: f32[B,O,W] {"
     " y = sum[C,V]((relu(x)[W: idx(W) + idx(V) - 1] ?? 0) * k) }", "sources", false},
    {"kernel f(x: bf16[B=2,C=32,W=6], k: bf16[O=3,C]) -> y: f32[B,O,P=3] {"
     " y = sum[C]((relu(x)[W: 2*idx(P)] ?? 0) * k) }", "sources", false},
};
enum { N_LARGE = sizeof large / sizeof *large };

START_TEST(test_large) {
    struct arch slow = *arch_find("sm_90a");
    struct tally tally = {0};
    slow.cycles = 1;
    struct subject *s = subject_open(large[_i].text);
    ck_assert_msg(s->program != NULL, "%s", messages(s));
    s->cx.arch = &slow;
    const char *wrong = check_subject(s, NULL, (uint64_t)_i, false, &tally);
    ck_assert_msg(!wrong, "%s: %.6000s", large[_i].text, wrong);
    for (int p = 0; pipeline_pass(p); p++) {
        all->n_changed[p] += tally.n_changed[p];
        if (strcmp(pipeline_pass(p)->name, large[_i].pass) == 0)
            ck_assert_int_eq(tally.n_changed[p] > 0, large[_i].changes);
    }
    subject_close(s);
}
END_TEST

/* ---- the rules of canonicalise: each on what it is for, and on what looks like it ---- */

static void print_form(struct buf *out, const struct graph *g, const struct node *n) {
    switch (n->kind) {
    case N_CONST: buf_printf(out, "%g", fx_is_integer(n->dtype) ? (double)n->integer : n->num); return;
    case N_SCALAR:
    case N_INPUT: buf_printf(out, "%s", g->kernel->params[n->param].name); return;
    case N_OP: buf_printf(out, "(%s", op_info[n->op].id); break;
    case N_INDEX: buf_puts(out, "(idx"); break;
    case N_SIZE: buf_puts(out, "(size"); break;
    case N_SCAN: buf_printf(out, n->reduction == RED_RECUR ? "(%s" : "(cum%s", reduction_name(n->reduction)); break;
    case N_SHARE: buf_printf(out, "(%s by %d", reduction_name(n->reduction), n->run); break;
    case N_CAST: buf_printf(out, "(%s", fx_dtype_name(n->to)); break;
    case N_ACCESS: buf_puts(out, "(at"); break;
    case N_PLACE: buf_puts(out, "(place"); break;
    case N_REDUCE: buf_printf(out, "(%s", reduction_name(n->reduction)); break;
    }
    for (int i = 0; i < n->n_args; i++) {
        buf_putc(out, ' ');
        print_form(out, g, n->args[i]);
    }
    buf_putc(out, ')');
}

static const struct {
    const char *expr, *form; /* over x, y: f32[M], h: f16[M], s: a scalar; x is lowered before y */
} forms[] = {
    {"x + 2 * 3", "(ADD x 6)"},
    {"x + s * 3", "(ADD x (MUL s 3))"}, /* fold */
    {"where(1 < 2, 3, 4) + x", "(ADD x 3)"},
    {"max(2, 5) + x", "(ADD x 5)"},
    {"2 + x", "(ADD x 2)"},
    {"2 - x", "(SUB 2 x)"},
    {"2 / x", "(DIV 2 x)"},
    {"x / 1.5777218104420236e-30", "(MUL x 6.33825e+29)"}, /* 2^-99, exact either way: */
    {"x / 1.9721522630525295e-31", "(DIV x 1.97215e-31)"}, /* 2^-102 is beyond what is turned round */
    {"pow(2, x)", "(POW 2 x)"}, /* order */
    {"max(1, x)", "(MAX x 1)"},
    {"where(1 == x, x, y)", "(WHERE (EQ x 1) x y)"},
    {"where(1 < x, x, y)", "(WHERE (LT 1 x) x y)"},
    {"y + 0 * x - x * 0", NULL},
    {"(x + y) - (y + x)", NULL},
    {"x * 1", "x"},
    {"1 * x", "x"},
    {"x / 1", "x"},
    {"1 / x", "(DIV 1 x)"},
    {"x * 2", "(MUL x 2)"}, /* mul_one */
    {"x ** 1", "(POW x 1)"},
    {"x + 0", "(ADD x 0)"},
    {"x * 0", "(MUL x 0)"}, /* not right for -0, for NaN */
    {"-(-x)", "x"},
    {"-(-(-x))", "(NEG x)"},
    {"-(x)", "(NEG x)"},
    {"-(abs(x))", "(NEG (ABS x))"}, /* double_inverse */
    {"where(!(!(x < y)), x, y)", "(WHERE (LT x y) x y)"},
    {"where(!(x < y), x, y)", "(WHERE (NOT (LT x y)) x y)"},
    {"x - 2", "(ADD x -2)"},
    {"x - s", "(SUB x s)"},
    {"2 - x", "(SUB 2 x)"}, /* sub_const */
    {"x / 4", "(MUL x 0.25)"},
    {"x / 0.5", "(MUL x 2)"},
    {"x / 3", "(DIV x 3)"},
    {"x / 0", "(DIV x 0)"},
    {"x / s", "(DIV x s)"}, /* div_power_of_two */
    {"x / -8", "(MUL x -0.125)"},
    {"x / 1e-35", "(DIV x 1e-35)"},
    {"x ** 2", "(MUL x x)"},
    {"x ** 3", "(MUL x (MUL x x))"},
    {"x ** 4", "(POW x 4)"},
    {"x ** s", "(POW x s)"}, /* small_power */
    {"max(x, x)", "x"},
    {"min(x, x)", "x"},
    {"x - x", "(SUB x x)"},
    {"x / x", "(DIV x x)"},
    {"max(x, y)", "(MAX x y)"}, /* same_operands */
    {"x * x", "(MUL x x)"},
    {"where(x < y && x < y, x, y)", NULL},
    {"where(true, x, y)", "x"},
    {"where(false, x, y)", "y"},
    {"where(x < y, x, x)", "x"},
    {"where(x < y, x, y)", "(WHERE (LT x y) x y)"}, /* where_decided */
    {"where((idx(M) * 2 + 1) % 2 == 0, x, y)", "y"},
    {"where((2 * idx(M) + 6) % 4 // 2 == 0, x, y)", NULL}, /* where_residue */
    {"where((idx(M) * 4 + 6) % 4 == 2, x, y)", "x"},
    {"where((idx(M) * 3 + 1) % 2 == 0, x, y)", NULL},
    {"where(true, s, x)", "(WHERE 1 s x)"},
    {"where(x < 1, s, s)", "(WHERE (LT x 1) s s)"}, /* the value would lose its axis */
    {"x * where(x < y, 1, 0)", "(MUL x (f32 (LT x y)))"},
    {"x + where(x < y, 0, 1)", "(ADD x (WHERE (LT x y) 0 1))"},
    {"x + where(x < y, 1, -0.0)", "(ADD x (WHERE (LT x y) 1 -0))"},
    {"x + where(x < y, s, 0)", "(ADD x (WHERE (LT x y) s 0))"}, /* where_number */
    {"bf16(bf16(x))", "(bf16 x)"},
    {"f16(bf16(x))", "(f16 (bf16 x))"},
    {"bf16(f16(x))", "(bf16 (f16 x))"}, /* round_twice */
    {"f16(h)", "h"},
    {"bf16(h)", "(bf16 h)"},
    {"f16(x)", "(f16 x)"},
    {"f16(h + h)", "(f16 (ADD h h))"}, /* round_stored */
    {"f32(h)", "h"},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

START_TEST(test_rule) {
    char text[300];
    struct tally tally = {0};
    snprintf(
        text, sizeof text, "kernel f(x: f32[M], y: f32[M], h: f16[M], s: f32) -> z: f32[M] { z = %s }", forms[_i].expr);
    struct subject *s = subject_open(text);
    struct buf form;
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_canonicalise(s->graph);
    buf_init(&form, &s->cx.arena);
    print_form(&form, g, g->outputs[0].value);
    if (forms[_i].form)
        ck_assert_msg(
            strcmp(form.s, forms[_i].form) == 0, "%s became %s, expected %s", forms[_i].expr, form.s, forms[_i].form);
    const char *wrong = check_subject(s, NULL, 7, true, &tally);
    ck_assert_msg(!wrong, "%s: %s", forms[_i].expr, wrong);
    subject_close(s);
}
END_TEST

/* ---- the rules of algebra: each written in several ways, and where it must not fire ---- */

#define INPUTS                                                                                                                                                      \
    "x: f32[M,K], w: f32[K,N], a: f32[M,R], b: f32[R,N], h: f16[M,K], v: f16[K,N], g: bf16[K,N], m: f32[M], r: f32[M], i: i32[M,K], j: i32[K,N], o: f32[M,O=1,N], " \
    "z: f64[M,K], s: f32"

static const struct {
    const char *outs, *body, *rule, *form; /* the rule tried, and the first output then; form NULL: it does not fire */
} algebra[] = {
    {"y: f32[M,N]", "y = (0.125 * x) @ w", "scale_out", "(MUL (sum (MUL x w)) 0.125)"},
    {"y: f32[M,N]", "y = w @[K] (x * 0.125)", "scale_out", "(MUL (sum (MUL x w)) 0.125)"},
    {"y: f32[M,N]", "y = sum[K](0.125 * (w * x))", "scale_out", "(MUL (sum (MUL x w)) 0.125)"},
    {"y: f32[N,T=M]", "t = x{M->T}{K->Q}\n y = (t * 0.125) @[Q] w{K->Q}", "scale_out",
        "(MUL (sum (MUL (at x (idx) (idx)) (at w (idx)))) 0.125)"},
    {"y: f32[M,N]", "y = (x / 8) @ (2 * w)", "scale_out", "(MUL (MUL (sum (MUL x w)) 2) 0.125)"},
    {"y: f32[M,N]", "y = (x / 3) @ w", "scale_out", "(DIV (sum (MUL x w)) 3)"},
    {"y: f32[M]", "y = sum[K](x * 5)", "scale_out", "(MUL (sum x) 5)"},
    {"y: f64[M]", "y = sum[K](z * 5)", "scale_out", "(MUL (sum z) 5)"},
    {"y: i32[M,N]", "y = (i * -3) @ j", "scale_out", "(MUL (sum (MUL i j)) -3)"},
    {"y: f32[M,N]", "y = (0.125 * x + 1) @ w", "scale_out", NULL},
    {"y: f32[M,N]", "y = (-2 * x) @ w", "scale_out", NULL},   /* a sum of nothing is 0, not -0 */
    {"y: f32[M,N]", "y = (1e-9 * x) @ w", "scale_out", NULL}, /* beyond 2^-24 */
    {"y: f32[M,N]", "y = (3e7 * x) @ w", "scale_out", NULL},
    {"y: f32[M,N]", "y = (s * x) @ w", "scale_out", NULL},                      /* no constant */
    {"y: f32[M,N], u: f32[M,K]", "u = 0.5 * x\n y = u @ w", "scale_out", NULL}, /* read elsewhere */
    {"y: f32[M,N]", "y = max[K](2 * x * w)", "scale_out", NULL},
    {"y: f32[M,N]", "y = (0.5 * h) @ v", "scale_out", "(MUL (sum (MUL h v)) 0.5)"},
    {"y: f32[M,N]", "y = (0.5 * h) @ g", "scale_out", "(MUL (sum (MUL h g)) 0.5)"},
    {"y: f32[M,N]", "y = (0.5 * x) @ v", "scale_out",
        NULL}, /* 0.5 * x may be rounded to f16, x alone may overflow there */
    {"y: f32[M,N]", "y = (0.5 * relu(x)) @ v", "scale_out", NULL},
    {"y: f32[M,N]", "y = (0.5 * x) @ (v * 2)", "scale_out", "(MUL (MUL (sum (MUL x v)) 2) 0.5)"},
    {"y: f32[M]", "y = sum[N](x @ w)", "sum_through_contraction", "(sum (MUL x (sum w)))"},
    {"y: f32[M]", "y = sum[N](w @[K] x)", "sum_through_contraction", "(sum (MUL x (sum w)))"},
    {"y: f32[M]", "y = sum[K,N](w * x)", "sum_through_contraction", "(sum (MUL x (sum w)))"},
    {"y: f32[N]", "y = sum[M](x @ w)", "sum_through_contraction", "(sum (MUL w (sum x)))"},
    {"y: f32[]", "y = sum[M,N](x @ w)", "sum_through_contraction", "(sum (MUL (sum x) (sum w)))"},
    {"y: i32[M]", "y = sum[N](i @ j)", "sum_through_contraction", "(sum (MUL i (sum j)))"},
    {"y: f32[]", "y = sum[M,R](m * a)", "sum_through_contraction", "(sum (MUL m (sum a)))"},
    {"y: f32[M,K]", "y = sum[N](x * w)", "sum_through_contraction", NULL}, /* x is constant along N: row_scale_out */
    {"y: f32[M,K]", "y = sum[N](x * w)", "row_scale_out", "(MUL x (sum w))"},
    {"y: f32[M], u: f32[M,N]", "u = x @ w\n y = sum[N](u)", "sum_through_contraction", NULL},
    {"y: f32[M]", "y = max[N](x @ w)", "sum_through_contraction", NULL},
    {"y: f32[M]", "y = sum[N](x @ w + b[R: 0] ?? 0)", "sum_through_contraction", NULL},
    {"y: f32[M]", "y = sum[N](x @ w + sum[R](b))", "split_sum", "(ADD (sum (sum (MUL x w))) (sum (sum b)))"},
    {"y: f32[M]", "y = sum[N](sum[R](b) - x @ w)", "split_sum", "(SUB (sum (sum b)) (sum (sum (MUL x w))))"},
    {"y: f32[M]", "y = sum[N](x @ w + sum[R](b) - max[R](b))", "split_sum",
        "(SUB (ADD (sum (sum (MUL x w))) (sum (sum b))) (sum (max b)))"},
    {"y: f32[]", "y = sum[M,N](x @ w + sum[R](b))", "split_sum", NULL}, /* both factors carry a label of the sum */
    {"y: f32[M]", "y = sum[N](x @ w + m)", "split_sum", NULL},          /* m is constant along N */
    {"y: f32[M]", "y = sum[N](relu(x @ w) + sum[R](b))", "split_sum",
        NULL}, /* no contraction that a sum may be taken through */
    {"y: f32[M]", "y = sum[N](sum[R](b) + max[R](b)) + m", "split_sum", NULL},
    {"y: f32[M]", "y = max[N](x @ w + sum[R](b))", "split_sum", NULL},
    {"y: f32[M], u: f32[M,N]", "u = x @ w\n y = sum[N](u + sum[R](b))", "split_sum", NULL}, /* u is needed whole */
    {"y: f32[M,N]", "y = sum[O](o)", "one_element", "(ADD (at o 0) 0)"}, /* -0 becomes 0, as in a sum */
    {"y: f32[M,N]", "y = max[O](relu(o))", "one_element", "(MAX (at o 0) 0)"},
    {"y: f32[M]", "y = sum[O,N](o)", "one_element", "(sum (at o 0))"},
    {"y: f32[M]", "y = sum[N](o){O->Q}[Q: 0]", "one_element", NULL},
    {"y: f32[M,N]", "y = sum[K](where(idx(K) == 1, w, 0) * 1) + m", "one_term", "(ADD m (ADD (at w 1 0) 0))"},
    {"y: f32[M]", "y = sum[K](where(2 == idx(K), x, 0))", "one_term", "(ADD (at x 2 0) 0)"},
    {"y: f32[M]", "y = sum[K](where(idx(K) != 2, 0, x))", "one_term", "(ADD (at x 2 0) 0)"},
    {"y: f32[M]", "y = sum[K](where(idx(K) == idx(M), x, 0))", "one_term", "(ADD (at x (idx) 0) 0)"},
    {"y: f32[]", "y = sum[M,K](where(idx(K) == idx(M), x, 0))", "one_term", "(sum (at x (idx) 0))"},
    {"y: i32[M,N]", "y = sum[K](where(idx(K) == -1, j, 0))", "one_term", "(at j -1 0)"}, /* outside: 0 */
    {"y: f32[M]", "y = sum[K](where(idx(K) == 2, x, 1))", "one_term", NULL},
    {"y: f32[M]", "y = sum[K](where(idx(K) < 2, x, 0))", "one_term", NULL},
    {"y: f32[M]", "y = max[K](where(idx(K) == 2, x, 0))", "one_term", NULL},
    {"y: f32[M]", "y = sum[K](where(idx(K) == idx(K), x, 0))", "one_term", NULL},
    {"y: f32[M]", "y = sum[K](where(idx(K) == i, x, 0))", "one_term", NULL},
    {"y: f32[M]", "y = sum[K](where(idx(K) == 2, m, 0))", "one_term", NULL}, /* nothing to read at 2 */
    {"y: f32[]", "y = sum[M,K](x / max[K](x))", "rows_first", "(sum (sum (DIV x (max x))))"},
    {"y: f32[]", "y = max[M,K](min(x / max[M](x), m))", "rows_first", "(max (max (MIN m (DIV x (max x)))))"},
    {"y: f32[]", "y = sum[M,K](x / max[M](x) / max[K](x))", "rows_first", NULL},         /* rows of both kinds */
    {"y: f32[]", "y = sum[M,K](x / max[M,K](x))", "rows_first", NULL},                   /* the same for all */
    {"y: f32[M]", "y = sum[K](min(x, max[K](x)))", "rows_first", NULL},                  /* a row already */
    {"y: f32[]", "y = sum[M,N](relu(x @ w))", "rows_first", NULL},                       /* of a matrix product */
    {"y: f32[M,N]", "y = (exp(x) / m) @ w", "row_scale_out", "(DIV (sum (MUL w (EXP x))) m)"},
    {"y: f32[M,N]", "y = w @[K] (m * exp(x))", "row_scale_out", "(MUL m (sum (MUL w (EXP x))))"},
    {"y: f32[M,N]", "y = where(m == 0, 0, exp(x)) @ w", "row_scale_out", "(WHERE (EQ m 0) 0 (sum (MUL w (EXP x))))"},
    {"y: f32[M,N]", "y = where(m > 0, exp(x) / r, 0) @ w", "row_scale_out",
        "(WHERE (GT m 0) (DIV (sum (MUL w (EXP x))) r) 0)"},
    {"y: f32[M,N]", "y = where(m == 0, 1, exp(x)) @ w", "row_scale_out", NULL},
    {"y: f32[M,N]", "y = where(x == 0, 0, exp(x)) @ w", "row_scale_out", NULL},
    {"y: f32[M,N]", "y = (m / x) @ w", "row_scale_out", NULL}, /* what is moved out is no divisor's divisor */
    {"y: f32[M,N]", "e = exp(x - max[K](x))\n y = (e / sum[K](e)) @ v", "row_scale_out",
        "(DIV (sum (MUL v (EXP (SUB x (max x))))) (sum (EXP (SUB x (max x)))))"},
    {"y: f32[M,N]", "y = ((x - m) * r) @ w", "norm_fold", "(MUL r (SUB (sum (MUL x w)) (MUL m (sum w))))"},
    {"y: f32[M,N]", "y = w @[K] (r * (x - m))", "norm_fold", "(MUL r (SUB (sum (MUL x w)) (MUL m (sum w))))"},
    {"y: f32[M,N]", "y = sum[K]((m - x) * w)", "norm_fold", "(SUB (MUL m (sum w)) (sum (MUL x w)))"},
    {"y: f32[M,N]", "y = (x + 3) @ w", "norm_fold", "(ADD (sum (MUL x w)) (MUL (sum w) 3))"},
    {"y: f32[M,N]", "y = ((x - m) / r) @ w", "norm_fold", "(DIV (SUB (sum (MUL x w)) (MUL m (sum w))) r)"},
    {"y: f32[M]", "y = sum[K](x - m)", "norm_fold", NULL},
    {"y: f32[M,K]", "y = exp(x)", "exp2", "(EXP2 (MUL x 1.4427))"},
    {"y: f32[M,K]", "y = exp(x * 0.5)", "exp2", "(EXP2 (MUL x 0.721348))"},
    {"y: f32[M,K]", "y = exp(-x)", "exp2", "(EXP2 (MUL (NEG x) 1.4427))"},
    {"y: f32[M,N]", "y = x @ w + a @ b", "k_concat",
        "(sum (MUL (WHERE (LT (idx) (size)) (at x (idx) 0) (at a (SUB (idx) (size)) 0)) (WHERE (LT (idx) (size)) (at w (idx) 0) (at b (SUB (idx) (size)) 0))))"},
    {"y: f32[M,N]", "y = b @[R] a + w @[K] x", "k_concat",
        "(sum (MUL (WHERE (LT (idx) (size)) (at a (idx) 0) (at x (SUB (idx) (size)) 0)) (WHERE (LT (idx) (size)) (at b (idx) 0) (at w (SUB (idx) (size)) 0))))"},
    {"y: f32[M,N]", "y = x @ w + m + s * (a @ b)", "k_concat",
        "(ADD m (sum (MUL (WHERE (LT (idx) (size)) (at x (idx) 0) (MUL s (at a (SUB (idx) (size)) 0))) (WHERE (LT (idx) (size)) (at w (idx) 0) (at b (SUB (idx) (size)) 0)))))"},
    {"y: f32[M,N]", "y = x @ w - a @ b", "k_concat", NULL},
    {"y: f32[M,N]", "y = x @ w + m * (a @ b)", "k_concat", NULL},
    {"y: f32[M,N]", "y = x @ w + relu(a @ b)", "k_concat", NULL},
};
enum { N_ALGEBRA = sizeof algebra / sizeof *algebra };

static const char *only_rule(struct arena *a, const char *name) {
    struct buf others;
    buf_init(&others, a);
    for (int i = 0; algebra_rule(i); i++)
        if (strcmp(algebra_rule(i)->name, name) != 0) buf_printf(&others, "algebra.%s,", algebra_rule(i)->name);
    return others.s ? others.s : "";
}

START_TEST(test_algebra) {
    char text[600];
    struct tally tally = {0};
    snprintf(text, sizeof text, "kernel f(" INPUTS ") -> (%s) {\n %s }", algebra[_i].outs, algebra[_i].body);
    struct subject *s = subject_open(text);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_access(pass_cse(pass_canonicalise(s->graph)));
    g->skip = only_rule(&s->cx.arena, algebra[_i].rule),
    g->with = arena_printf(&s->cx.arena, "algebra.%s", algebra[_i].rule);
    struct graph *got = algebra_settled(g);
    struct buf form;
    buf_init(&form, &s->cx.arena);
    print_form(&form, got, got->outputs[0].value);
    ck_assert_msg((got->n_applied > 0) == (algebra[_i].form != NULL), "%s: %s was applied %d times: %s",
        algebra[_i].body, algebra[_i].rule, got->n_applied, form.s);
    if (algebra[_i].form)
        ck_assert_msg(strcmp(form.s, algebra[_i].form) == 0, "%s became %s, expected %s", algebra[_i].body, form.s,
            algebra[_i].form);
    for (int i = 0; i < got->n_applied; i++)
        ck_assert(got->applied[i].after <= got->applied[i].before * 1.01 &&
                  span_line(&s->cx, got->applied[i].span) >= 1 && got->applied[i].source != NULL);
    g->skip = "algebra", g->with = NULL;
    bool is_exact = !strstr(algebra[_i].body, "exp") && !strstr(algebra[_i].body, "/ 3") &&
                    !strstr(algebra[_i].body, "/ r") && !strstr(algebra[_i].body, "/ x");
    const char *wrong = check_subject(s, NULL, 5, is_exact, &tally);
    ck_assert_msg(!wrong, "%s: %.4000s", algebra[_i].body, wrong);
    subject_close(s);
}
END_TEST

/* ---- what the rules of algebra state of their error, in arithmetic that rounds every step to f32 ---- */

static const struct {
    const char *rule, *body; /* over x: [M=4,K=60], w: [K,N=20], m: [M], u: [P,L], v: [L,J]; where extents are small
                                folding would cost more */
    int n_terms;             /* of the sums nested in one another, together */
} errors[] = {
    {"scale_out", "y: f32[M,N]) { y = (0.3 * x) @ w }", 60},
    {"scale_out", "y: f32[M,N]) { y = (x / 7) @ w }", 60},
    {"scale_out", "y: f32[M]) { y = sum[K](x * 1e-7) }", 60},
    {"sum_through_contraction", "y: f32[M]) { y = sum[N](x @ w) }", 1200},
    {"sum_through_contraction", "y: f32[N]) { y = sum[M](x @ w) }", 240},
    {"split_sum", "y: f32[M]) { y = sum[N](x @ w - w[K: 3]) }", 1220},
    {"row_scale_out", "y: f32[M,N]) { y = (x * m) @ w }", 60},
    {"row_scale_out", "y: f32[M,N]) { y = (x / (abs(m) + 1)) @ w }", 60},
    {"norm_fold", "y: f32[M,N]) { y = ((x - m) * m) @ w }", 60},
    {"norm_fold", "y: f32[P,J]) { y = (u + 100) @ v }", 7},
    {"k_concat", "y: f32[P,J]) { y = u @ v + 0.3 * ((u * u) @ (v + 1)) }", 14},
    {"exp2", "y: f32[M,K]) { y = exp(x) }", 0},
    {"exp2", "y: f32[M,K]) { y = exp(x * 0.7) }", 0},
};
enum { N_ERRORS = sizeof errors / sizeof *errors };

START_TEST(test_error) {
    char text[300];
    struct arguments x;
    snprintf(text, sizeof text,
        "kernel f(x: f32[M=4,K=60], w: f32[K,N=20], m: f32[M], u: f32[P,L], v: f32[L,J]) -> (%s", errors[_i].body);
    struct subject *s = subject_open(text);
    struct arena *a = &s->cx.arena;
    ck_assert_msg(s->graph != NULL && draw(s, NULL, FRACTIONS, 77, &x), "%s", messages(s));
    struct graph *g = pass_access(pass_cse(pass_canonicalise(s->graph)));
    g->skip = only_rule(a, errors[_i].rule), g->with = arena_printf(a, "algebra.%s", errors[_i].rule);
    struct graph *after = algebra_settled(g);
    ck_assert_msg(after->n_applied > 0, "%s was not applied to %s", errors[_i].rule, text);
    x.data.arithmetic = IR_MAGNITUDE;
    struct ir_value *magnitude = ir_eval(a, g, &x.data, NULL)[0];
    x.data.arithmetic = IR_F32;
    struct ir_value *was = ir_eval(a, g, &x.data, NULL)[0], *is = ir_eval(a, after, &x.data, NULL)[0];
    int64_t n = ir_param_size(s->kernel, g->outputs[0].param, x.data.extents);
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = fabs(was[i].num - is[i].num),
               part = errors[_i].n_terms ? 2 * (errors[_i].n_terms + 16) : 4 + 2 * 2; /* |x| is at most 2 */
        double scale = errors[_i].n_terms ? magnitude[i].num : fabs(was[i].num);
        ck_assert_msg(off <= part * 0x1p-24 * scale, "%s: element %lld moved by %g, %g are allowed", text, (long long)i,
            off, part * 0x1p-24 * scale);
        largest = fmax(largest, off);
    }
    ck_assert_msg(largest > 0, "%s: nothing was rounded", text);
    subject_close(s);
}
END_TEST

/* ---- access: what comes out ---- */

static const struct {
    const char *kernel, *form; /* the first output after canonicalise, cse and access */
} accesses[] = {
    {"(x: f32[M,K]) -> y: f32[M,K] { y = x{K->J}{J->K} }", "x"},
    {"(x: f32[M,K]) -> y: f32[M,J=K] { y = relu(x){K->J} }", "(MAX (at x (idx)) 0)"},
    {"(x: f32[M,K], w: f32[K,N]) -> y: f32[M,J=N] { y = (x @ w){N->J} }", "(sum (MUL x (at w (idx))))"},
    {"(b: f32[B], x: f32[M=B,K]) -> y: f32[B] { y = b + sum[K](x){M->B} }", "(ADD b (sum (at x (idx))))"},
    {"(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,J=N], z: f32[M,N]) { z = x @ w\n y = z{N->J} }",
        "(at (sum (MUL x w)) (idx))"}, /* never computed twice */
    {"(x: f32[P=M*N], m: f32[M], n: f32[N]) -> y: f32[P] { y = (x{P->(M,N)} + m){(M,N)->P} }",
        "(ADD x (at m (FLOORDIV (idx) (size))))"},
    {"(x: f32[M,N]) -> y: f32[M,N] { y = relu(x){(M,N)->P}{P->(M,N)} }", "(MAX x 0)"},
    {"(x: f32[M,N=8]) -> y: f32[M,N] { y = relu(x){(M,N)->P}{P->(M,N)} }", "(MAX x 0)"},
    {"(x: f32[A,B,C]) -> y: f32[A,B,C] { y = relu(x){(A,B,C)->P}{P->(A,B,C)} }", "(MAX x 0)"},
    {"(x: f32[P=A*B*C], y: f32[A,B,C]) -> z: f32[P] { z = (x{P->(A,B,C)} * 2){(A,B,C)->P} }", "(MUL x 2)"},
    {"(x: f32[T]) -> y: f32[T] { y = relu(x)[T: T+1] ?? 0 }", "(MAX (at x (ADD (idx) 1) 0) 0)"}, /* relu(0) is 0 */
    {"(x: f32[T]) -> y: f32[T] { y = exp(x)[T: T+1] ?? 1 }", "(EXP (at x (ADD (idx) 1) 0))"},
    {"(x: f32[T]) -> y: f32[T] { y = (x + 2)[T: T+1] ?? 0 }",
        "(WHERE (AND (GE (ADD (idx) 1) 0) (LT (ADD (idx) 1) (size))) (ADD (at x (ADD (idx) 1) 0) 2) 0)"},
    {"(x: f32[T]) -> y: f32[T] { y = relu(x)[T: T] ?? 7 }", "(MAX x 0)"},
    {"(x: f32[T,H]) -> y: f32[T,H] { y = x[T: T] ?? 7 }", "x"},
    {"(x: f32[T=6,H]) -> y: f32[H] { y = relu(x)[T: 2] }", "(MAX (at x 2) 0)"},
    {"(x: f32[T]) -> y: f32[T] { y = cumsum[T](x)[T: size(T)-1-T] }", "(at (cumsum x) (SUB (ADD (size) -1) (idx)))"},
    {"(x: f32[T,H]) -> y: f32[T,J=H] { y = cumsum[T](x){H->J} }", "(cumsum (at x (idx)))"},
    {"(x: f32[T]) -> y: f32[J=T] { y = cumsum[T](x){T->J} }", "(cumsum (at x (idx)))"},
    {"(x: f32[T,H]) -> y: f32[H, J=T] { y = (max[H](x)){T->J} + sum[H](x)[T: H] ?? 0 }", NULL},
    {"(x: f32[T]) -> y: i64[T] { y = (idx(T) * 2)[T: T+1] ?? 5 }",
        "(WHERE (AND (GE (ADD (idx) 1) 0) (LT (ADD (idx) 1) (size))) (MUL (ADD (idx) 1) 2) 5)"},
};

START_TEST(test_access) {
    char text[300];
    struct tally tally = {0};
    snprintf(text, sizeof text, "kernel f%s", accesses[_i].kernel);
    struct subject *s = subject_open(text);
    struct buf form;
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_access(pass_cse(pass_canonicalise(s->graph)));
    buf_init(&form, &s->cx.arena);
    print_form(&form, g, g->outputs[0].value);
    if (accesses[_i].form)
        ck_assert_msg(strcmp(form.s, accesses[_i].form) == 0, "%s became %s, expected %s", accesses[_i].kernel, form.s,
            accesses[_i].form);
    const char *wrong = check_subject(s, NULL, 3, true, &tally);
    ck_assert_msg(!wrong, "%s: %.4000s", accesses[_i].kernel, wrong);
    subject_close(s);
}
END_TEST

/* ---- cse, dce, fuse: what comes out ---- */

static const struct {
    const char *body;
    int n_nodes; /* after canonicalise, cse, dce */
} sizes[] = {
    {"z = gelu(x) + gelu(x)", 3},
    {"z = gelu(x) + gelu(y)", 5},
    {"a = exp(x)\n z = x + y", 3},
    {"a = x + y\n b = y + x\n z = a * b", 4},
    {"a = x - y\n b = y - x\n z = a * b", 5},
    {"z = max(x, y) + min(x, y)", 5},
    {"z = f16(x) + bf16(x)", 4},
    {"z = f16(x) * f16(x)", 3},
    {"a = x\n a = y\n z = a", 1},
};

START_TEST(test_size) {
    char text[300];
    snprintf(text, sizeof text, "kernel f(x: f32[M], y: f32[M]) -> z: f32[M] { %s }", sizes[_i].body);
    struct subject *s = subject_open(text);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_dce(pass_cse(pass_canonicalise(s->graph)));
    ck_assert_msg(g->n_nodes == sizes[_i].n_nodes, "%s: %d nodes, expected %d\n%s", sizes[_i].body, g->n_nodes,
        sizes[_i].n_nodes, text_of(g));
    subject_close(s);
}
END_TEST

/* Every reduction of x over every set of its axes, each with and without a licence, converted to several dtypes and
 * joined with x; numbers, indices, extents, running sums and accesses of every axis at every other: thousands of nodes
 * that differ in one thing alone, so that a hash table has them meet. */
static void add_reductions(struct graph *g, struct node *x) {
    static const enum fx_dtype targets[] = {FX_F16, FX_BF16, FX_I8, FX_I16, FX_I32, FX_U8, FX_BOOL};
    for (int set = 1; set < 1 << x->n_axes; set++)
        for (int r = 0; r < 2 * RED_RECUR; r++) {
            struct node n = {.kind = N_REDUCE,
                .reduction = (enum reduction)(r / 2),
                .dtype = FX_F32,
                .may_round = r % 2,
                .axis = -1,
                .args = {x}};
            bool is_arg = n.reduction == RED_ARGMAX || n.reduction == RED_ARGMIN;
            for (int i = 0; i < x->n_axes; i++)
                if (set >> i & 1) n.reduced[n.n_reduced++] = x->axes[i];
            if (is_arg && n.n_reduced > 1) continue;
            if (is_arg) n.dtype = FX_I64;
            struct node *reduced = build_node(g, n);
            if (is_arg || r % 2) continue;
            for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
                build_node(g, (struct node){.kind = N_CAST,
                                  .to = targets[t],
                                  .dtype = fx_compute_type(targets[t]),
                                  .axis = -1,
                                  .args = {reduced}});
            for (int o = 0; o < 3; o++) build_op(g, o == 0 ? O_ADD : o == 1 ? O_SUB : O_MAX, x, reduced, NULL, x);
        }
}

static void add_accesses(
    struct graph *g, struct node *x, struct node *const *index, struct node *const *size, struct node *const *number) {
    for (int i = 0; i < x->n_axes; i++)
        for (int j = 0; j < x->n_axes; j++)
            for (int fill = 0; fill < 4; fill++) {
                struct node n = {.kind = N_ACCESS,
                    .dtype = FX_F32,
                    .axis = -1,
                    .n_at = 1,
                    .at = {x->axes[i]},
                    .has_fill = fill > 0,
                    .args = {x, index[j]}};
                if (fill) n.args[2] = number[fill];
                build_node(g, n);
                n.args[1] = size[j];
                build_node(g, n);
                if (i >= j) continue;
                n.n_at = 2, n.at[1] = x->axes[j];
                for (int second = 0; second < 2; second++) {
                    n.args[1] = index[second ? i : j], n.args[2] = index[second ? j : i];
                    if (fill) n.args[3] = number[fill];
                    build_node(g, n);
                }
            }
}

static void add_look_alikes(struct graph *g, struct node *x) {
    struct node *index[MAX_AXES], *size[MAX_AXES], *number[4];
    add_reductions(g, x);
    for (int i = 0; i < x->n_axes; i++) {
        index[i] = build_index(g, x->axes[i], x);
        size[i] = build_node(g, (struct node){.kind = N_SIZE, .dtype = FX_I64, .axis = x->axes[i]});
        for (int r = RED_SUM; r <= RED_MIN; r++)
            build_node(g,
                (struct node){
                    .kind = N_SCAN, .reduction = (enum reduction)r, .dtype = FX_F32, .axis = x->axes[i], .args = {x}});
    }
    for (int i = 0; i < 4; i++) {
        number[i] = build_number(g, FX_F32, i == 3 ? -0.0 : i, x);
        build_number(g, FX_F64, i == 3 ? -0.0 : i, x);
        build_integer(g, FX_I32, i, x), build_integer(g, FX_I64, i, x), build_integer(g, FX_U64, i, x);
    }
    add_accesses(g, x, index, size, number);
}

START_TEST(test_cse_of_many) {
    struct subject *s = subject_open("kernel f(x: f32[A,B,C,D,E,F,G,H]) -> y: f32[A,B,C,D,E,F,G,H] { y = x }");
    struct graph *g = s->graph;
    add_look_alikes(g, g->outputs[0].value);
    int n = g->n_nodes;
    const char *wrong = ir_verify(g);
    ck_assert_msg(wrong == NULL, "%s", wrong);
    ck_assert_int_gt(n, 255 * 4 * 11);
    ck_assert_int_eq(pass_cse(g)->n_nodes, n);
    add_look_alikes(g, g->outputs[0].value);
    ck_assert_int_eq(pass_cse(g)->n_nodes, n);
    ck_assert_int_eq(pass_dce(g)->n_nodes, 1);
    subject_close(s);
}
END_TEST

/* Pairs that differ in one thing alone, in graphs so small that they meet in the table whatever their hashes. */
static void add_pair(struct graph *g, struct node *x, int pair, int trial) {
    int axis = x->axes[trial % 4], next = x->axes[trial % 4 + 1];
    struct node n = {.kind = N_REDUCE,
                    .dtype = FX_F32,
                    .n_reduced = 1,
                    .reduced = {axis, next},
                    .axis = -1,
                    .args = {x}},
                m = n;
    switch (pair) {
    case 0:
        if (trial % 2) m.may_round = true;
        else m.rounds_to = FX_BF16;
        break;
    case 1: m.n_reduced = 2; break;
    case 2: m.reduced[0] = next; break;
    case 3: m.reduction = RED_PROD; break;
    case 4:
        n = (struct node){.kind = N_INDEX, .dtype = FX_I64, .axis = trial % g->kernel->n_axes}, m = n, m.kind = N_SIZE;
        break;
    case 5:
        n = (struct node){.kind = N_CONST, .dtype = FX_F32, .num = trial, .axis = -1}, m = n, m.dtype = FX_F64;
        break;
    case 6:
        n = (struct node){.kind = N_CONST, .dtype = FX_I32, .integer = 7 * trial, .axis = -1}, m = n, m.integer++;
        break;
    case 7:
        n = (struct node){.kind = N_CAST, .dtype = FX_I32, .to = FX_I8, .axis = -1, .args = {x}}, m = n, m.to = FX_I16;
        break;
    case 8: n = (struct node){.kind = N_SCAN, .dtype = FX_F32, .axis = axis, .args = {x}}, m = n, m.axis = next; break;
    case 9:
        n = (struct node){.kind = N_SHARE, .dtype = FX_F32, .axis = axis, .run = 8, .args = {x}}, m = n, m.run = 16;
        break;
    case 10:
        n = (struct node){.kind = N_SHARE, .dtype = FX_F32, .axis = axis, .run = 8, .args = {x}}, m = n, m.axis = next;
        break;
    case 11:
        n = (struct node){.kind = N_SHARE, .dtype = FX_F32, .axis = axis, .run = 8, .args = {x}}, m = n;
        m.is_ragged = true;
        break;
    default: n = (struct node){.kind = N_CONST, .dtype = FX_F32, .num = 0, .axis = -1}, m = n, m.num = -0.0; break;
    }
    for (int i = 0; i < trial % 7; i++) build_number(g, FX_F32, 100 + trial + i, x); /* so that ids and slots vary */
    build_node(g, n);
    build_node(g, m);
}

START_TEST(test_cse_of_pairs) {
    for (int trial = 0; trial < 400; trial++) {
        struct subject *s = subject_open(
            "kernel f(x: f32[A,B,C,D,E], u: f32[F,G,H,I,J,K,L,M], v: f32[N,O,P,Q,R,S,T,U]) -> y: f32[A,B,C,D,E] { y = x }");
        add_pair(s->graph, s->graph->outputs[0].value, _i, trial);
        ck_assert_msg(ir_verify(s->graph) == NULL, "%s", ir_verify(s->graph));
        ck_assert_msg(pass_cse(s->graph)->n_nodes == s->graph->n_nodes, "two became one:\n%s", text_of(s->graph));
        subject_close(s);
    }
}
END_TEST

/* Kernels and buffers of what fuses all, of what fuses nothing, and of chains where there are any: else no kernel. */
static const struct {
    const char *spec;
    int n_groups[3], n_buffers[3];
} partitions[] = {
    {"kernel f(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = gelu(x @ w + b) }", {1, 2}, {0, 1}},
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }", {1, 1}, {0, 0}},
    {"kernel f(x: f32[M,N], b: f32[N]) -> (y: f32[M,N], z: f32[N,M]) { y = x + b\n z = x * b }", {1, 1}, {0, 0}},
    {"kernel f(x: f32[M,K], w: f32[K,N], v: f32[N,P]) -> y: f32[M,P] { y = relu(x @ w) @ v }", {2, 3, 1}, {1, 2, 0}},
    {"kernel f(x: f16[M,K], w: f16[K,N], u: f16[K,N], v: f16[N,P]) -> y: f16[M,P] { y = (silu(x @ w) * (x @ u)) @ v }",
        {2, 4, 1}, {1, 3, 0}},
    {"kernel f(x: f16[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }", {1, 2}, {0, 1}},
    {"kernel f(x: f32[M,K], w: f32[K,N], u: f32[M,N,P]) -> y: f32[M,N,P] { y = u + x @ w }", {2, 2}, {1, 1}},
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w + (x * x) @ w }", {1, 4}, {0, 3}},
    {"kernel f(x: f32[M,K], w: f32[K,N], u: f32[M,P], v: f32[P,N]) -> y: f32[M,N] { y = x @ w - u @ v }", {1, 3},
        {0, 2}},
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], z: f32[N,M]) {\n y = x @ w + 1\n z = x @ w * 2\n}", {1, 3},
        {0, 1}},
};

START_TEST(test_partition) {
    struct subject *s = subject_open(partitions[_i].spec);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_fuse(pass_dce(pass_cse(pass_canonicalise(s->graph))));
    bool has_chain = partitions[_i].n_groups[2] > 0;
    ck_assert(g->partitions[g->n_partitions - 1].is_optional == has_chain);
    for (int i = 0; i < 2 + has_chain; i++) {
        const struct partition *p = &g->partitions[i == 0   ? 0
                                                   : i == 1 ? g->n_partitions - 1 - has_chain
                                                            : g->n_partitions - 1];
        ck_assert_msg(p->n_groups == partitions[_i].n_groups[i] && p->n_buffers == partitions[_i].n_buffers[i],
                      "%s: %d kernels and %d buffers, expected %d and %d\n%s", p->name, p->n_groups, p->n_buffers,
                      partitions[_i].n_groups[i], partitions[_i].n_buffers[i], text_of(g));
    }
    subject_close(s);
}
END_TEST

/* What is a reduction of runs that an epilogue may begin: of how many labels, by its text; 0: it is none. Filled with
 * anything but what the reduction begins with, a run that is cut would add what is not there. */
static const struct {
    const char *type, *value;
    int n;
} partials[] = {
    {"f32", "sum[I](x[M: 64 * P + I] ?? 0)", 1},
    {"f32", "sum[I](x[M: P * 64 + I] ?? 0)", 1},
    {"f32", "sum[I](x[M: P * 64 + I] ?? -0.0)", 0},
    {"f32", "sum[I](x[M: P * 64 + I] ?? 1)", 0},
    {"f32", "max[I](x[M: P * 64 + I] ?? -inf)", 1},
    {"f32", "max[I](x[M: P * 64 + I] ?? 0)", 0},
    {"f32", "min[I](x[M: P * 64 + I] ?? inf)", 1},
    {"f32", "min[I](x[M: P * 64 + I] ?? -inf)", 0},
    {"f32", "prod[I](x[M: P * 64 + I] ?? 1)", 1},
    {"f32", "prod[I](x[M: P * 64 + I] ?? 0)", 0},
    {"i32", "sum[I](x[M: P * 64 + I] ?? 0)", 1},
    {"i32", "sum[I](x[M: P * 64 + I] ?? 1)", 0},
    {"i32", "prod[I](x[M: P * 64 + I] ?? 1)", 1},
    {"i32", "prod[I](x[M: P * 64 + I] ?? 0)", 0},
    {"i32", "max[I](x[M: P * 64 + I] ?? -2147483648)", 1},
    {"i32", "max[I](x[M: P * 64 + I] ?? 0)", 0},
    {"i32", "argmax[I](x[M: P * 64 + I] ?? -2147483648)", 0},
    {"f32", "sum[I](x[M: P * 32 + I] ?? 0)", 0},
    {"f32", "sum[I](x[M: P * 64 + I + 1] ?? 0)", 0},
    {"f32", "sum[H](x[M: P * 64 + H] ?? 0)", 0},
    {"f32", "sum[I](x[M: I * 64 + P] ?? 0)", 0},
    {"f32", "sum[I](x[M: size(P) * 64 + I] ?? 0)", 0},
    {"f32", "sum[I,J](x[M: P * 64 + I, N: Q * 64 + J] ?? 0)", 2},
    {"f32", "sum[I,J](x[M: P * 64 + I, N: Q * 64 + J] ?? 1)", 0},
    {"f32", "sum[I,J](x[M: P * 64 + I, N: P * 64 + J] ?? 0)", 0},
    {"f32", "sum[I,N](x[M: P * 64 + I] ?? 0)", 0},
    {"f32", "sum[I,J](x[M: P * 64 + I, N: J] ?? 0)", 0},
    {"f32", "sum[I](x[M: R * 64 + I] ?? 0)", 0}, /* fewer or more runs than M has */
    {"f32", "sum[I](x[N: P * 64 + I] ?? 0)", 0},
    {"f32", "sum[I](x[N: R * 64 + I] ?? 0)", 1},
};

START_TEST(test_partial) {
    char text[400];
    snprintf(text, sizeof text,
        "kernel f(x: %s[M=130,N=70], u: f32[I=64,J=64,H=32]) -> (y: %s[P=3,Q=2,M,N,R=2], z: f32[]) {\n"
        "  y = %s\n  z = sum[I,J,H](u) }",
        partials[_i].type, strncmp(partials[_i].value, "arg", 3) ? partials[_i].type : "i64", partials[_i].value);
    struct subject *s = subject_open(text);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_canonicalise(s->graph);
    struct partial_of x = {0};
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += as_partial(g, g->nodes[i], &x);
    ck_assert_msg(n == !!partials[_i].n && x.n * n == partials[_i].n, "%s: %d of %d labels\n%s", partials[_i].value, n, x.n,
        text_of(g));
    subject_close(s);
}
END_TEST

/* Whether squares of distances from m are those from the mean of a run, of 192 elements or 200. */
static const struct {
    int extent;
    const char *m;
    bool is_spread;
} spreads[] = {
    {192, "s * 0.015625", true},
    {192, "s / 64", true},
    {192, "s * 0.5", false},
    {192, "64 / s", false},
    {192, "s / f32(min(64, size(M) - idx(P) * 64))", true},
    {192, "f32(min(64, size(M) - idx(P) * 64)) / s", false},
    {200, "s / f32(min(64, size(M) - idx(P) * 64))", true},
    {200, "s / f32(min(64, size(M) - idx(P) * 32))", false},
    {200, "s / 64", false},
};

START_TEST(test_spread) {
    char text[400];
    snprintf(text, sizeof text,
        "kernel f(x: f32[M=%d], u: f32[I=64]) -> (y: f32[P=%d], z: f32[]) {\n  s = sum[I](x[M: P * 64 + I] ?? 0)\n"
        "  m = %s\n  d = x - m[P: M // 64]\n  y = sum[I]((d * d)[M: P * 64 + I] ?? 0)\n  z = sum[I](u) }",
        spreads[_i].extent, (spreads[_i].extent + 63) / 64, spreads[_i].m);
    struct subject *s = subject_open(text);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_cse(pass_canonicalise(s->graph));
    struct partial_of x = {0};
    bool is_spread = false;
    for (int i = 0; i < g->n_nodes; i++) is_spread |= as_partial(g, g->nodes[i], &x) && x.is_spread;
    ck_assert_msg(is_spread == spreads[_i].is_spread, "%s of %d:\n%s", spreads[_i].m, spreads[_i].extent, text_of(g));
    subject_close(s);
}
END_TEST

/* How many slices split_k cuts the k of a product in on an H200; 1: it is left whole. */
static const struct {
    const char *spec;
    int n;
} slices[] = {
    {"(x: bf16[M=16,K=16384], w: bf16[K,N=64]) -> y: bf16[M,N] { y = x @ w }", 16},
    {"(x: bf16[M=128,K=32768], w: bf16[K,N=512]) -> y: bf16[M,N] { y = x @ w }", 16},
    {"(x: bf16[M=128,K=16384], w: bf16[K,N=1024]) -> y: bf16[M,N] { y = x @ w }", 1}, /* clusters do as well */
    {"(x: bf16[M=64,K=16384], w: bf16[K,N=4096]) -> y: bf16[M,N] { y = x @ w }", 1},
    {"(x: f16[B=16,M=64,K=16384], w: f16[B,K,N=64]) -> y: f16[B,M,N] { y = x @ w }", 8},
    {"(x: f16[M=64,K=65000], w: f16[K,N=64]) -> y: f16[M,N] { y = x @ w }", 127}, /* the last one is shorter */
    {"(x: f16[M=64,K], w: f16[K,N=64]) -> y: f16[M,N] { y = x @ w }", 1}, /* K is open */
    {"(x: f16[M,K=65536], w: f16[K,N=64]) -> y: f16[M,N] { y = x @ w }", 4}, /* M is open */
    {"(x: f32[M=16,K=1024], w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }", 4},
    {"(x: f32[M=4,K=65536], w: f32[K,N=512]) -> y: f32[M,N] { y = x @ w }", 2}, /* few rows: by what is read */
    {"(x: f32[M=8,K=32768], w: f32[K,N=512]) -> y: f32[M,N] { y = x @ w }", 1},
    {"(x: f64[M=8,K=65536], w: f64[K,N=4096]) -> y: f64[M,N] { y = x @ w }", 4},
    {"(x: f64[M=128,K=1024], w: f64[K,N=4096]) -> y: f64[M,N] { y = x @ w }", 4},
    {"(x: i8[M=64,K=65536], w: i8[N=64,K]) -> y: i32[M,N] { y = x @[K] w }", 128},
    {"(x: i8[M=24,K=9008], w: i8[N=40,K]) -> y: i32[M,N] { y = x @[K] w }", 24}, /* slices of 3 * 128 */
    {"(x: f32[M=64,K=65536], w: f32[K]) -> y: f32[M] { y = x @ w }", 1}, /* no product of matrices */
    {"(q: f16[S=64,D=64], k: f16[T=65536,D], v: f16[T,N=64]) -> o: f16[S,N] { o = softmax[T](q @ k) @ v }", 1},
    {"(x: f32[K=65536,N=512]) -> y: f32[N,P=N] { m = x - mean[K](x); y = m @[K] m{N->P} }", 8},
    {"(x: f16[M=64,K=65536], w: f16[K,N=64]) -> y: f16[M,N] with { kernels: 1 } { y = x @ w }", 128},
    {"(x: f16[M=64,K=65536], w: f16[K,N=64]) -> y: f16[M,N] with { fuse: require } { y = x @ w }", 128},
    {"(x: f16[M=64,K=65536], w: f16[K,N=64]) -> y: f16[M,N] with { fuse: never } { y = x @ w }", 1},
};

START_TEST(test_slices) {
    char text[400];
    snprintf(text, sizeof text, "kernel f%s", slices[_i].spec);
    struct subject *s = subject_open(text);
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    const struct graph *g = pass_split_k(pass_canonicalise(s->graph));
    ck_assert(ir_verify(g) == NULL);
    int64_t n = 1, length = 1;
    for (int i = 0; i < g->kernel->n_axes; i++) {
        const struct axis *a = &g->kernel->axes[i];
        size_t len = a->name.len;
        if (len > 7 && memcmp(a->name.s + len - 7, "_slices", 7) == 0) n = a->extent;
        if (len > 6 && memcmp(a->name.s + len - 6, "_slice", 6) == 0) length = a->extent;
    }
    const int64_t whole = n * length;
    ck_assert_msg(n == slices[_i].n, "%s: %d slices", text, (int)n);
    const char *extent = strstr(text, "K=");
    int k = extent ? atoi(extent + 2) : 0;
    ck_assert_msg(n <= 1 || whole == k || (whole > k && whole - k < whole / n), "%s: slices of %d in all", text,
        (int)whole);
    subject_close(s);
}
END_TEST

/* ---- the verifier: graphs broken by hand ---- */

static struct node *node_of(struct graph *g, enum node_kind kind) {
    for (int i = g->n_nodes - 1; i >= 0; i--)
        if (g->nodes[i]->kind == kind) return g->nodes[i];
    ck_abort_msg("the graph has no node of kind %d", kind);
    return NULL;
}

static struct node *op_of(struct graph *g, enum op op) {
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->kind == N_OP && g->nodes[i]->op == op) return g->nodes[i];
    ck_abort_msg("the graph has no %s", op_info[op].id);
    return NULL;
}

static struct group *group_with_contraction(struct graph *g) {
    for (int i = g->partitions[0].n_groups - 1; i >= 0; i--)
        if (g->partitions[0].groups[i].contraction) return &g->partitions[0].groups[i];
    return NULL;
}

#define BREAK(name) static void name(struct graph *g)
BREAK(wrong_id) { g->nodes[1]->id = 0; }
BREAK(operand_later) { op_of(g, O_ADD)->args[0] = g->nodes[g->n_nodes - 1]; }
BREAK(operand_of_itself) { op_of(g, O_ADD)->args[0] = op_of(g, O_ADD); }
BREAK(operand_outside) { op_of(g, O_ADD)->args[0] = graph_add(graph_like(g), op_of(g, O_ADD)->args[0]); }
BREAK(operand_missing) { op_of(g, O_ADD)->args[1] = NULL; }
BREAK(operand_extra) { op_of(g, O_ADD)->args[2] = g->nodes[0], op_of(g, O_ADD)->n_args++; }
BREAK(operand_of_leaf) { node_of(g, N_CONST)->args[0] = g->nodes[0], node_of(g, N_CONST)->n_args++; }
BREAK(axes_unordered) {
    struct node *n = op_of(g, O_ADD);
    int t = n->axes[0];
    n->axes[0] = n->axes[1];
    n->axes[1] = t;
}
BREAK(axes_twice) { op_of(g, O_ADD)->axes[1] = op_of(g, O_ADD)->axes[0]; }
BREAK(axis_missing) { op_of(g, O_ADD)->n_axes--; }
BREAK(axis_unknown) { op_of(g, O_ADD)->axes[1] = g->kernel->n_axes; }
BREAK(axis_extra) {
    struct node *n = node_of(g, N_CONST);
    n->axes[n->n_axes++] = 0;
}
BREAK(input_axes) { node_of(g, N_INPUT)->n_axes--; }
BREAK(input_is_output) { node_of(g, N_INPUT)->param = g->outputs[0].param; }
BREAK(input_is_scalar) { node_of(g, N_INPUT)->param = node_of(g, N_SCALAR)->param, node_of(g, N_INPUT)->n_axes = 0; }
BREAK(input_unknown) { node_of(g, N_INPUT)->param = g->kernel->n_params; }
BREAK(scalar_unknown) { node_of(g, N_SCALAR)->param = -1; }
BREAK(reduces_nothing) { node_of(g, N_REDUCE)->n_reduced = 0; }
BREAK(reduces_what_is_not_there) { node_of(g, N_REDUCE)->reduced[0] = g->kernel->n_axes - 1; }
BREAK(reduces_over_nothing) {
    struct node *n = node_of(g, N_REDUCE);
    n->n_reduced = 0, n->n_axes = n->args[0]->n_axes;
    memcpy(n->axes, n->args[0]->axes, sizeof n->axes);
}
BREAK(reduces_what_its_operand_lacks) { node_of(g, N_REDUCE)->reduced[0] = 1; }
BREAK(op_by_tf32) { op_of(g, O_ADD)->may_tf32 = true; }
BREAK(reduces_and_keeps) {
    struct node *n = node_of(g, N_REDUCE);
    n->axes[n->n_axes++] = n->reduced[0];
}
BREAK(dtype_of_storage) { op_of(g, O_ADD)->dtype = FX_F16; }
BREAK(dtype_of_condition) { op_of(g, O_LT)->dtype = FX_F32; }
BREAK(dtype_of_sum) { node_of(g, N_REDUCE)->dtype = FX_I32; }
BREAK(cast_to_other_class) { node_of(g, N_CAST)->to = FX_I32; }
BREAK(condition_is_number) { op_of(g, O_WHERE)->args[0] = op_of(g, O_WHERE)->args[1]; }
BREAK(number_is_condition) { op_of(g, O_WHERE)->args[1] = op_of(g, O_WHERE)->args[0]; }
BREAK(access_without_axes) { node_of(g, N_ACCESS)->n_at = 0; }
BREAK(access_of_missing_axis) { node_of(g, N_ACCESS)->at[0] = g->kernel->n_axes - 1; }
BREAK(access_of_axis_of_another) { node_of(g, N_ACCESS)->at[1] = g->kernel->n_axes - 1; }
BREAK(access_unordered) {
    struct node *n = node_of(g, N_ACCESS);
    int t = n->at[0];
    n->at[0] = n->at[1], n->at[1] = t;
}
BREAK(access_twice) { node_of(g, N_ACCESS)->at[1] = node_of(g, N_ACCESS)->at[0]; }
BREAK(access_at_float) { node_of(g, N_ACCESS)->args[1] = node_of(g, N_INPUT); }
BREAK(access_of_other_dtype) { node_of(g, N_ACCESS)->dtype = FX_F64; }
BREAK(access_filled_with_integer) { node_of(g, N_ACCESS)->args[3] = node_of(g, N_SIZE); }
BREAK(fill_of_other_dtype) { node_of(g, N_ACCESS)->args[3]->dtype = FX_F64; }
BREAK(access_fill_missing) { node_of(g, N_ACCESS)->args[3] = NULL; }
BREAK(access_fill_uncounted) { node_of(g, N_ACCESS)->has_fill = false; }
BREAK(access_keeps_axis) {
    struct node *n = node_of(g, N_ACCESS);
    n->axes[n->n_axes++] = n->at[1];
}
BREAK(index_of_nothing) { node_of(g, N_INDEX)->axis = -1; }
BREAK(index_elsewhere) { node_of(g, N_INDEX)->axis += 1; }
BREAK(index_narrow) { node_of(g, N_INDEX)->dtype = FX_I32; }
BREAK(size_of_nothing) { node_of(g, N_SIZE)->axis = g->kernel->n_axes; }
BREAK(size_with_axis) { node_of(g, N_SIZE)->n_axes = 1; }
BREAK(scan_along_missing_axis) { node_of(g, N_SCAN)->axis = g->kernel->n_axes - 1; }
BREAK(scan_of_places) { node_of(g, N_SCAN)->reduction = RED_ARGMAX; }
BREAK(recurrence_of_one) { node_of(g, N_SCAN)->reduction = RED_RECUR; }
BREAK(scan_dtype) { node_of(g, N_SCAN)->dtype = FX_I64; }
static struct node *scan_as_share(struct graph *g, int run) {
    struct node *n = node_of(g, N_SCAN);
    n->kind = N_SHARE, n->run = run;
    return n;
}
BREAK(share_of_three) { scan_as_share(g, 3); }
BREAK(share_of_one) { scan_as_share(g, 1); }
BREAK(share_of_a_tile) { scan_as_share(g, 2 * PARTIAL_RUN); }
BREAK(share_of_runs_not_whole) {
    struct node *n = scan_as_share(g, 4);
    g->kernel->axes[n->axis].extent = 6;
}
BREAK(share_along_missing_axis) { scan_as_share(g, 4)->axis = g->kernel->n_axes - 1; }
BREAK(share_of_indices) { scan_as_share(g, 4)->reduction = RED_ARGMAX; }
BREAK(share_dtype) { scan_as_share(g, 4)->dtype = FX_I64; }
BREAK(op_has_short_runs) { op_of(g, O_MUL)->is_ragged = true; }
BREAK(op_has_runs) { op_of(g, O_MUL)->run = 4; }
BREAK(stored_in_no_order) { node_of(g, N_CAST)->n_at = 1; }
BREAK(stored_twice_along) {
    struct node *n = node_of(g, N_CAST);
    n->n_at = n->n_axes;
    for (int i = 0; i < n->n_at; i++) n->at[i] = n->axes[0];
}
BREAK(cast_in_storage_dtype) { node_of(g, N_CAST)->dtype = node_of(g, N_CAST)->to; }
BREAK(index_of_extreme_of_two) {
    struct node *n = node_of(g, N_REDUCE);
    n->reduction = RED_ARGMAX, n->dtype = FX_I64;
}
BREAK(extreme_is_float) { node_of(g, N_REDUCE)->reduction = RED_ARGMIN, node_of(g, N_REDUCE)->n_reduced = 1; }
BREAK(reduction_unknown) { node_of(g, N_REDUCE)->reduction = N_REDUCTIONS; }
BREAK(op_reads) { op_of(g, O_MUL)->n_at = 1; }
BREAK(op_reduces) { op_of(g, O_MUL)->n_reduced = 1; }
BREAK(op_may_round) { op_of(g, O_MUL)->may_round = true; }
BREAK(op_rounds_to) { op_of(g, O_MUL)->rounds_to = FX_BF16; }
BREAK(fill_on_op) { op_of(g, O_MUL)->has_fill = true; }
static int number_of(const struct graph *g, const char *name) {
    for (int i = 0; i < g->kernel->n_params; i++)
        if (strcmp(g->kernel->params[i].name, name) == 0) return i;
    return -1;
}
BREAK(place_nowhere) { node_of(g, N_PLACE)->n_at = 0; }
BREAK(place_of_nothing) { node_of(g, N_PLACE)->param = -1; }
BREAK(place_of_input) { node_of(g, N_PLACE)->param = number_of(g, "k"); }
BREAK(place_of_another) { g->outputs[0].param = g->outputs[1].param; }
BREAK(place_at_other_axis) { node_of(g, N_PLACE)->at[0] = g->kernel->n_axes - 1; }
BREAK(place_at_no_axis) { node_of(g, N_PLACE)->at[0] = g->kernel->n_axes; }
BREAK(place_along_itself) { node_of(g, N_PLACE)->at[0] = g->kernel->params[number_of(g, "x")].axes[0]; }
BREAK(place_at_number) { node_of(g, N_PLACE)->args[1] = node_of(g, N_PLACE)->args[0]; }
BREAK(place_of_other_dtype) { node_of(g, N_PLACE)->dtype = FX_F64; }
BREAK(place_lacks_axis) { node_of(g, N_PLACE)->n_axes--; }
BREAK(place_is_read) { op_of(g, O_MUL)->args[0] = node_of(g, N_PLACE); }
BREAK(output_outside) { g->outputs[0].value = graph_add(graph_like(g), g->outputs[0].value); }
BREAK(output_with_stray_axis) { g->outputs[0].value = node_of(g, N_REDUCE)->args[0]; }
BREAK(store_missing) { group_with_contraction(g)->n_stores = 0; }
BREAK(store_twice) {
    struct group *r = group_with_contraction(g);
    struct store *two = NEW_ARRAY(&g->cx->arena, struct store, 2);
    two[0] = two[1] = r->stores[0];
    r->stores = two, r->n_stores = 2;
}
BREAK(buffer_unwritten) {
    for (int i = 0; i < g->partitions[0].n_groups; i++)
        for (int s = 0; s < g->partitions[0].groups[i].n_stores; s++)
            if (g->partitions[0].groups[i].stores[s].buffer >= 0) g->partitions[0].groups[i].n_stores = s;
}
BREAK(group_too_early) {
    struct partition *p = &g->partitions[0];
    struct group t = p->groups[0];
    p->groups[0] = p->groups[p->n_groups - 1];
    p->groups[p->n_groups - 1] = t;
}

/* The verifier names what is wrong, of a node of this kernel. */
static void is_refused(const struct graph *g, const char *name, const char *why) {
    const char *said = ir_verify(g), *at = said ? strchr(said, '%') : NULL;
    ck_assert_msg(said != NULL, "the verifier accepts a graph with %s", name);
    ck_assert_msg(at && strncmp(said, "f: node %", 9) == 0, "%s", said);
    ck_assert_msg(strcmp(at + 1 + strspn(at + 1, "0123456789") + 1, why) == 0, "of %s: %s, not: %s", name, said, why);
}

#define BROKEN(name, why) {#name, why, name}
static const struct {
    const char *name, *why; /* what the verifier has to say of it */
    void (*break_it)(struct graph *g);
} broken[] = {
    BROKEN(wrong_id, "has a wrong id"),
    BROKEN(operand_later, "stands before an operand"),
    BROKEN(operand_of_itself, "stands before an operand"),
    BROKEN(operand_outside, "stands before an operand"),
    BROKEN(operand_missing, "stands before an operand"),
    BROKEN(operand_extra, "has a wrong number of operands"),
    BROKEN(operand_of_leaf, "has a wrong number of operands"),
    BROKEN(axes_unordered, "has axes that are no ascending set"),
    BROKEN(axes_twice, "has axes that are no ascending set"),
    BROKEN(axis_missing, "has other axes than its operands give"),
    BROKEN(axis_unknown, "has axes that are no ascending set"),
    BROKEN(axis_extra, "has other axes than its operands give"),
    BROKEN(input_axes, "has other axes than its parameter"),
    BROKEN(input_is_output, "names no input"),
    BROKEN(input_is_scalar, "takes a tensor for a scalar"),
    BROKEN(input_unknown, "names no input"),
    BROKEN(scalar_unknown, "names no input"),
    BROKEN(reduces_nothing, "reduces over no set of axes"),
    BROKEN(reduces_over_nothing, "reduces over no set of axes"),
    BROKEN(reduces_what_is_not_there, "has other axes than its operands give"),
    BROKEN(reduces_what_its_operand_lacks, "reduces over an axis its operand lacks"),
    BROKEN(reduces_and_keeps, "has axes that are no ascending set"),
    BROKEN(op_by_tf32, "may be multiplied as tf32, but is no reduction of f32"),
    BROKEN(dtype_of_storage, "has no compute type"),
    BROKEN(dtype_of_condition, "has the wrong dtype for its op"),
    BROKEN(dtype_of_sum, "has another dtype than what it reduces"),
    BROKEN(cast_to_other_class, "has another dtype than it converts to"),
    BROKEN(condition_is_number, "has an operand of the wrong dtype"),
    BROKEN(number_is_condition, "has another dtype than its operands"),
    BROKEN(output_outside, "is an output outside the graph"),
    BROKEN(output_with_stray_axis, "is an output with an axis its parameter lacks"),
    BROKEN(store_missing, "is an output not stored exactly once"),
    BROKEN(store_twice, "is an output not stored exactly once"),
    BROKEN(buffer_unwritten, "is a buffer not written exactly once"),
    BROKEN(group_too_early, "is read before it is written"),
};
enum { N_BROKEN = sizeof broken / sizeof *broken };

START_TEST(test_broken) {
    struct subject *s = subject_open(
        "kernel f(x: f16[M,K], w: f16[K,N], v: f16[N,P], b: f32[M,P], s: f32) -> y: f32[M,P] {\n"
        "  a = f16(relu(x @ w)) @ v + b\n  y = where(a < s, a, 3) }");
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_fuse(s->graph);
    ck_assert(ir_verify(g) == NULL);
    broken[_i].break_it(g);
    is_refused(g, broken[_i].name, broken[_i].why);
    subject_close(s);
}
END_TEST

static const struct {
    const char *name, *why; /* what the verifier has to say of it */
    void (*break_it)(struct graph *g);
} broken_kinds[] = {
    BROKEN(access_without_axes, "has a wrong number of operands"),
    BROKEN(access_of_missing_axis, "reads at no set of axes"),
    BROKEN(access_of_axis_of_another, "reads at an axis its source lacks"),
    BROKEN(access_unordered, "reads at no set of axes"),
    BROKEN(access_twice, "reads at no set of axes"),
    BROKEN(access_at_float, "reads at a position that is no integer"),
    BROKEN(access_of_other_dtype, "has another dtype than what it reads"),
    BROKEN(access_filled_with_integer, "stands before an operand"),
    BROKEN(fill_of_other_dtype, "has another dtype than what it reads"),
    BROKEN(access_fill_missing, "stands before an operand"),
    BROKEN(access_fill_uncounted, "has a wrong number of operands"),
    BROKEN(access_keeps_axis, "has axes that are no ascending set"),
    BROKEN(index_of_nothing, "is no index of an axis"),
    BROKEN(index_elsewhere, "has other axes than its operands give"),
    BROKEN(index_narrow, "is no index of an axis"),
    BROKEN(size_of_nothing, "is no index of an axis"),
    BROKEN(size_with_axis, "has other axes than its operands give"),
    BROKEN(scan_along_missing_axis, "is no running sum, product, extreme or recurrence"),
    BROKEN(scan_of_places, "is no running sum, product, extreme or recurrence"),
    BROKEN(recurrence_of_one, "has a wrong number of operands"),
    BROKEN(scan_dtype, "has another dtype than what it runs over"),
    BROKEN(share_of_three, "is shared by no runs"),
    BROKEN(share_of_one, "is shared by no runs"),
    BROKEN(share_of_a_tile, "is shared by no runs"),
    BROKEN(share_of_runs_not_whole, "is shared by runs that are not whole"),
    BROKEN(share_along_missing_axis, "is shared by no runs"),
    BROKEN(share_of_indices, "is shared by no runs"),
    BROKEN(share_dtype, "is shared by no runs"),
    BROKEN(op_has_runs, "has runs, but shares nothing"),
    BROKEN(op_has_short_runs, "has runs, but shares nothing"),
    BROKEN(stored_in_no_order, "is stored in an order that is none of its axes"),
    BROKEN(stored_twice_along, "is stored in an order that is none of its axes"),
    BROKEN(cast_in_storage_dtype, "has no compute type"),
    BROKEN(index_of_extreme_of_two, "finds an index along several axes"),
    BROKEN(extreme_is_float, "has another dtype than what it reduces"),
    BROKEN(reduction_unknown, "has no reduction that there is"),
    BROKEN(op_reads, "reads at positions, but is no access"),
    BROKEN(op_reduces, "reduces axes, but is no reduction"),
    BROKEN(op_may_round, "may round, but is no reduction"),
    BROKEN(op_rounds_to, "may round its factors, but is no reduction"),
    BROKEN(fill_on_op, "reads at positions, but is no access"),
};
static const struct {
    const char *name, *why;
    void (*break_it)(struct graph *g);
} broken_places[] = {
    BROKEN(place_nowhere, "has a wrong number of operands"),
    BROKEN(place_of_nothing, "is stored to no parameter"),
    BROKEN(place_of_input, "is stored at positions of what holds nothing yet"),
    BROKEN(place_of_another, "is stored to another parameter"),
    BROKEN(place_at_other_axis, "is stored at an axis its parameter lacks"),
    BROKEN(place_at_no_axis, "is stored at no set of axes"),
    BROKEN(place_along_itself, "runs along an axis that it has a position of"),
    BROKEN(place_at_number, "is stored at a position that is no integer"),
    BROKEN(place_of_other_dtype, "has another dtype than what it stores"),
    BROKEN(place_lacks_axis, "has other axes than its operands give"),
    BROKEN(place_is_read, "reads what is only stored"),
};
enum { N_BROKEN_PLACES = sizeof broken_places / sizeof *broken_places };

START_TEST(test_broken_places) {
    struct subject *s = subject_open("kernel f(x: inout f32[B,T,D], k: f32[B,S,D], at: i32[B], z: inout f32[B,E]) {\n"
                                     "  x[T: at + S] = k\n  z = z * 2 }");
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = pass_fuse(s->graph);
    ck_assert(ir_verify(g) == NULL);
    broken_places[_i].break_it(g);
    is_refused(g, broken_places[_i].name, broken_places[_i].why);
    subject_close(s);
}
END_TEST

enum { N_BROKEN_KINDS = sizeof broken_kinds / sizeof *broken_kinds };

START_TEST(test_broken_kind) {
    struct subject *s = subject_open(
        "kernel f(x: f32[T,H], u: f32[V]) -> (y: f32[T,H], z: f32[], n: i64[T]) {\n"
        "  y = f16(cumsum[T](x) * 3)[T: T - 1, H: H + 1] ?? 2\n  z = sum[T,H](x)\n  n = idx(T) + size(H) }");
    ck_assert_msg(s->graph != NULL, "%s", messages(s));
    struct graph *g = s->graph;
    ck_assert(ir_verify(g) == NULL);
    broken_kinds[_i].break_it(g);
    is_refused(g, broken_kinds[_i].name, broken_kinds[_i].why);
    subject_close(s);
}
END_TEST

/* The evaluator itself refuses a group that reads what it may not. */
START_TEST(test_evaluator_refuses) {
    struct subject *s = subject_open(
        "kernel f(x: f32[M,K], w: f32[K,N], v: f32[N,P]) -> y: f32[M,P] { y = relu(x @ w) @ v }");
    struct graph *g = pass_fuse(s->graph);
    struct arguments x;
    ck_assert(draw(s, NULL, INTEGERS, 1, &x));
    const char *wrong;
    int64_t n_lost;
    struct partition p = g->partitions[0];
    ck_assert(ir_eval_partition(&s->cx.arena, g, &p, &x.data, false, &n_lost, &wrong) != NULL);
    struct group *groups = NEW_ARRAY(&s->cx.arena, struct group, p.n_groups);
    memcpy(groups, p.groups, (size_t)p.n_groups * sizeof *groups);
    p.groups = groups;
    groups[1].sums[0].buffer[0] = groups[1].sums[0].buffer[1] = -1;
    ck_assert(ir_eval_partition(&s->cx.arena, g, &p, &x.data, false, &n_lost, &wrong) == NULL);
    memcpy(groups, g->partitions[0].groups, (size_t)p.n_groups * sizeof *groups);
    groups[1].n_sums = 0;
    ck_assert(ir_eval_partition(&s->cx.arena, g, &p, &x.data, false, &n_lost, &wrong) == NULL);
    subject_close(s);
}
END_TEST

/* ---- the pipeline ---- */

START_TEST(test_pipeline) {
    static const struct pipeline_options runs[] = {{NULL, NULL, NULL, NULL}, {"all", "cse", NULL, NULL},
        {"cse", NULL, "canonicalise,dce", NULL}, {NULL, "canonicalise", "cse", NULL}};
    struct subject *s = subject_open(
        "kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { a = 2 + x\n y = (x @ w) * 1 + (1 + 2) - (x @ w) }");
    struct graph *g = s->graph;
    struct buf dump;
    const char *wrong;
    buf_init(&dump, &s->cx.arena);
    struct graph *got = pipeline_run(g, &runs[_i], &dump, &wrong);
    ck_assert_msg(got != NULL, "%s", wrong);
    bool stopped = false;
    for (int i = 0; pipeline_pass(i); i++) {
        const struct pass *p = pipeline_pass(i);
        bool is_skipped = runs[_i].skip && strstr(runs[_i].skip, p->name); /* no name is part of another */
        if (p->is_required || !(stopped || is_skipped)) g = pipeline_settle(p, g, &wrong);
        stopped |= runs[_i].stop_after && strcmp(runs[_i].stop_after, p->name) == 0;
    }
    ck_assert_str_eq(text_of(got), text_of(g));
    ck_assert(!runs[_i].dump_after == !dump.len);
    subject_close(s);
}
END_TEST

/* Every rule of algebra has a row in docs/passes.md, and says on, off, or which attribute turns it on. */
START_TEST(test_docs) {
    char *text = read_text("docs/passes.md");
    for (int i = 0; algebra_rule(i); i++) {
        char row[64];
        snprintf(row, sizeof row, "\n| %s |", algebra_rule(i)->name);
        const char *at = strstr(text, row), *end = at ? strchr(at + 1, '\n') : NULL;
        ck_assert_msg(at && end, "docs/passes.md has no row of %s", algebra_rule(i)->name);
        const char *is_default = algebra_rule(i)->is_default ? "| on |"
                                 : algebra_rule(i)->is_fast  ? "| fast_math |"
                                                             : "| off |";
        ck_assert_msg(strncmp(end - strlen(is_default), is_default, strlen(is_default)) == 0,
            "docs/passes.md says otherwise of %s", algebra_rule(i)->name);
    }
    free(text);
}
END_TEST

int main(void) {
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 1;
    Suite *s = suite_create("passes");
    TCase *graphs = tcase_create("graphs"), *rules = tcase_create("rules"), *written = tcase_create("written"),
          *generated = tcase_create("generated"), *doublings = tcase_create("doublings");
    tcase_add_loop_test(graphs, test_error, 0, N_ERRORS);
    tcase_add_loop_test(graphs, test_size, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(graphs, test_cse_of_many);
    tcase_add_loop_test(graphs, test_partition, 0, (int)(sizeof partitions / sizeof *partitions));
    tcase_add_loop_test(graphs, test_slices, 0, (int)(sizeof slices / sizeof *slices));
    tcase_add_loop_test(graphs, test_partial, 0, (int)(sizeof partials / sizeof *partials));
    tcase_add_loop_test(graphs, test_spread, 0, (int)(sizeof spreads / sizeof *spreads));
    tcase_add_loop_test(graphs, test_broken, 0, N_BROKEN);
    tcase_add_loop_test(graphs, test_broken_kind, 0, N_BROKEN_KINDS);
    tcase_add_loop_test(graphs, test_broken_places, 0, N_BROKEN_PLACES);
    tcase_add_test(graphs, test_evaluator_refuses);
    tcase_add_loop_test(graphs, test_pipeline, 0, 4);
    tcase_add_test(graphs, test_docs);
    tcase_add_loop_test(rules, test_rule, 0, N_FORMS);
    tcase_add_loop_test(rules, test_algebra, 0, N_ALGEBRA);
    tcase_add_loop_test(rules, test_access, 0, (int)(sizeof accesses / sizeof *accesses));
    tcase_add_loop_test(rules, test_cse_of_pairs, 0, 13);
    tcase_add_test(rules, test_shrinker);
    tcase_add_loop_test(written, test_written, 0, (int)(sizeof specs / sizeof *specs));
    tcase_add_test(written, test_language);
    tcase_add_loop_test(written, test_large, 0, N_LARGE);
    tcase_add_loop_test(generated, test_generated, 0, N_BATCHES);
    tcase_add_loop_test(generated, test_generated_contractions, 0, N_BATCHES);
    tcase_add_test(generated, test_tally);
    tcase_add_loop_test(generated, test_generated_compile, 0, N_BATCHES);
    tcase_add_loop_test(doublings, test_doubled, 0, (int)(sizeof doubled / sizeof *doubled));
    tcase_set_timeout(doublings, 60); /* whoever takes twice as long for each step takes hours */
    suite_add_tcase(s, doublings);
    TCase *const cases[] = {graphs, rules, written, generated};
    for (int i = 0; i < 4; i++) tcase_set_timeout(cases[i], 300), suite_add_tcase(s, cases[i]);
    return run_suite(s);
}
