/* Proposes partitions of the graph into GPU kernels; schedules price them and the cheapest is taken (schedule.c).
 *
 * A contraction's factors lie in memory, as its engine multiplies them, or are computed as they are loaded; or, in proposals of their own, a computed factor is written
 * to a buffer first. What is stored (an output, such a factor) belongs to the last contraction it depends on, as its epilogue, when it has that
 * contraction's axes; the others below it are added up by the same mainloop where they run over the same labels, or written to buffers. What depends on
 * none is a pointwise kernel.
 *
 * What is written in place is stored directly where nobody else can still need the old contents (inplace.c); else through a buffer, which a last kernel copies.
 *
 * Half of the proposals make row programs: a stored value that reduces, or scans, some labels K and has the others, R, or both, is one kernel over R whose
 * reductions and scans over exactly K of values over R and K are its steps. Contractions that no engine gains from are such reductions too.
 *
 * More make chains where there are any: a contraction one factor of which, the middle, is made of other contractions and of reductions of its own rows takes all of them,
 * and what stands between is never stored. */
#include <limits.h>
#include <string.h>

#include "build.h"
#include "chain.h"
#include "operand.h"
#include "passes.h"

struct fuser {
    const struct graph *g;
    struct partition *p;
    bool epilogues;  /* whether pointwise work may stand in a contraction's kernel */
    bool rows;       /* whether reductions become row programs where they fit one */
    bool loaders;    /* whether computed factors are computed where a mainloop loads them */
    bool joins;      /* whether a mainloop may add up several contractions */
    bool chains;     /* whether contractions become a chain where they fit one */
    const char **no_chain; /* by node: why a contraction is not the last of a chain; or NULL */
    bool in_order;   /* groups run in the order of what they compute, so that none waits for a later one */
    struct group row; /* the row program that the store being placed would join: axes, reduced */
    bool shares_row; /* whether buffers of that program's rows are written by it */
    int *mark;       /* by node: twice the walk that saw it last, plus 1 where it is read at other elements */
    int n_walks;
    struct node **below; /* scratch of place_store */
    const char **through; /* by output: why it passes through a buffer on its way to a parameter written in place; NULL: it does not */
};

/* ---- buffers ---- */

static const char *node_name(struct fuser *f, const struct node *n) {
    struct buf b;
    buf_init(&b, &f->g->cx->arena);
    if (n->name.len || !n->source) ir_print_name(&b, f->g, n);
    else ast_print_expr_short(&b, n->source, 80);
    return b.s;
}

/* The storage order of a value: for the contraction that reads it, what it sums over stands last and so contiguous; for a pointwise
 * reader, the order of an output with the same axes if there is one. */
static void choose_order(struct fuser *f, struct buffer *b, const struct node *reader) {
    const struct node *v = b->value;
    b->n_axes = 0;
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < v->n_axes; i++) {
            bool is_late = false;
            for (int r = 0; reader && r < reader->n_reduced; r++) is_late |= reader->reduced[r] == v->axes[i];
            if (is_late == (late == 1)) b->axes[b->n_axes++] = v->axes[i];
        }
    struct partial_of x;
    if (as_partial(f->g, v, &x)) { /* runs outermost: neighbouring rows, or columns, are written side by side, and joined so */
        int n = 0, axes[MAX_AXES];
        memcpy(axes, b->axes, sizeof axes);
        for (int rest = 0; rest < 2; rest++)
            for (int i = 0; i < b->n_axes; i++)
                if (rest != set_has(x.run, x.n, axes[i])) b->axes[n++] = axes[i];
    }
    if (reader) return;
    for (int i = 0; i < f->g->kernel->n_params; i++) {
        const struct param *p = &f->g->kernel->params[i];
        if (!p->is_output || !nodes_same_axes(p->axes, p->n_axes, v->axes, v->n_axes)) continue;
        memcpy(b->axes, p->axes, sizeof p->axes);
        return;
    }
}

static int need_buffer(struct fuser *f, struct node *value, enum fx_dtype dtype, const struct node *reader, const char *why,
                       struct span span) {
    int i = find_buffer(f->p, value, dtype);
    if (i >= 0) return i;
    struct buffer *b = &PUSH(&f->g->cx->arena, f->p->buffers, f->p->n_buffers);
    *b = (struct buffer){.value = value, .dtype = dtype, .why = why, .span = span};
    choose_order(f, b, reader);
    return f->p->n_buffers - 1;
}

/* ---- the dtype in which a contraction reads its factors (language.md, "Accumulation") ---- */

/* Bits of the integers that float dtype t holds without a gap. */
static int whole_bits(enum fx_dtype t) { return t == FX_F64 ? 53 : t == FX_F32 ? 24 : t == FX_F16 ? 11 : t == FX_BF16 ? 8 : t == FX_F8E4M3 ? 4 : 3; }

/* Whether every value of dtype t is one of dtype `in`. */
static bool holds_all(enum fx_dtype in, enum fx_dtype t) {
    if (in == t) return true;
    bool is_signed = fx_dtype_class_of(t) == FX_CLASS_S;
    int bits = t == FX_BOOL ? 1 : fx_dtype_bits(t);
    if (fx_is_float(t)) return fx_is_float(in) && fx_dtype_bits(in) > fx_dtype_bits(t);
    if (fx_is_float(in)) return bits - is_signed <= whole_bits(in);
    if (fx_dtype_class_of(in) == FX_CLASS_S) return bits - is_signed < fx_dtype_bits(in);
    return fx_dtype_class_of(in) == FX_CLASS_U && !is_signed && bits <= fx_dtype_bits(in);
}

/* Whether the value outside of an access, a number, is one of dtype t. */
static bool holds_fill(enum fx_dtype t, const struct node *fill) {
    if (fill->kind != N_CONST) return false;
    if (fx_is_integer(fill->dtype)) return fx_is_integer(t) && fx_integer_fits(t, fill->dtype, fill->integer);
    return fx_is_float(t) && fx_round_to(t, fill->num) == fill->num;
}

/* The narrowest dtype known to hold the values of n: what it is stored or was rounded as, whatever it was widened to since. */
static enum fx_dtype stored_dtype(const struct graph *g, const struct node *n) {
    if (n->kind == N_INPUT) return g->kernel->params[n->param].dtype;
    if (n->kind != N_CAST && n->kind != N_ACCESS) return n->dtype;
    enum fx_dtype from = stored_dtype(g, n->args[0]);
    if (n->kind == N_ACCESS) return !n->has_fill || holds_fill(from, n->args[n->n_args - 1]) ? from : n->dtype;
    return holds_all(n->to, from) ? from : n->to;
}

static bool is_small_float(enum fx_dtype t) { return fx_is_float(t) && fx_dtype_bits(t) <= 16; }

/* Whether n is computed, and no element of a tensor, wherever that lies. */
static bool is_computed(const struct node *n) {
    while (n->kind == N_ACCESS) n = n->args[0];
    return n->kind != N_INPUT;
}

/* Whether a factor may be read as dtype t: exactly, or rounded once, a computed one beside a stored one that licenses it. */
static bool may_be_read_as(const struct graph *g, enum fx_dtype t, const struct node *n, const struct node *other, bool may_round) {
    enum fx_dtype own = stored_dtype(g, n), others = stored_dtype(g, other);
    if (holds_all(t, own)) return true;
    return may_round && is_computed(n) && own == FX_F32 && !is_computed(other) && (others == t || (t == FX_BF16 && fx_is_float(others) && fx_dtype_bits(others) == 8));
}

/* The dtypes in which a contraction reads its factors. Floats share one: 16 bits wide where one of them is no wider and neither loses what it may not;
 * integers of at most 8 bits that are summed in 32 stand as such. */
static void operand_dtypes(const struct graph *g, const struct node *contraction, struct node *const factor[2], enum fx_dtype out[2]) {
    enum fx_dtype own[2] = {stored_dtype(g, factor[0]), stored_dtype(g, factor[1])}, sum = contraction->dtype;
    bool is_f16 = true, is_bf16 = true, is_byte = sum == FX_I32;
    for (int s = 0; s < 2; s++) {
        is_f16 &= may_be_read_as(g, FX_F16, factor[s], factor[1 - s], contraction->may_round);
        is_bf16 &= may_be_read_as(g, FX_BF16, factor[s], factor[1 - s], contraction->may_round);
        is_byte &= holds_all(FX_I8, own[s]) || holds_all(FX_U8, own[s]);
    }
    out[0] = out[1] = sum;
    if (sum == FX_F32 && (is_small_float(own[0]) || is_small_float(own[1]))) {
        if (is_f16 && (!is_bf16 || own[0] == FX_F16 || own[1] == FX_F16)) out[0] = out[1] = FX_F16;
        else if (is_bf16) out[0] = out[1] = FX_BF16;
    }
    for (int s = 0; s < 2 && is_byte; s++) out[s] = holds_all(FX_I8, own[s]) ? FX_I8 : FX_U8;
}

/* Whether what n is stands in memory as a mainloop copies it: an input, or a part of one, stored as dtype. */
static bool is_in_memory(const struct graph *g, const struct node *n, enum fx_dtype dtype) {
    struct tensor t;
    return tensor_of_factor(g, n, &t) && t.dtype == dtype;
}

/* Collects what is reduced or scanned on the way to n, those loops not entered. */
static int loops_below(struct fuser *f, const struct node *n, struct node **found) {
    const int reached = 2 * ++f->n_walks;
    int n_found = 0;
    f->mark[n->id] = reached;
    for (int i = n->id; i >= 0; i--) {
        struct node *at = f->g->nodes[i];
        if (f->mark[i] != reached) continue;
        if (at->kind == N_REDUCE || at->kind == N_SCAN) found[n_found++] = at;
        else
            for (int a = 0; a < at->n_args; a++) f->mark[at->args[a]->id] = reached;
    }
    return n_found;
}

static bool is_for_mainloop(const struct fuser *f, const struct node *n);

/* Whether a computed factor can be made as it is loaded: not where it ends another mainloop, whose epilogue makes it once. */
static bool is_loadable(struct fuser *f, const struct node *n) {
    struct node **found = NEW_ARRAY(&f->g->cx->arena, struct node *, f->g->n_nodes + 1);
    int n_found = loops_below(f, n, found);
    for (int i = 0; i < n_found; i++)
        if (found[i] == n || (is_for_mainloop(f, found[i]) && nodes_same_axes(found[i]->axes, found[i]->n_axes, n->axes, n->n_axes))) return false;
    return true;
}

/* Whether a factor takes far more memory than what it is computed from: an unfolded image, an outer product. Written out it might not even fit. */
static bool is_unfolded(struct fuser *f, const struct node *n) {
    const struct graph *g = f->g;
    const int reached = 2 * ++f->n_walks;
    double read = 0;
    f->mark[n->id] = reached;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        if (f->mark[i] != reached) continue;
        if (at->kind == N_INPUT || at->kind == N_REDUCE || at->kind == N_SCAN) read += nominal_size(g, at->axes, at->n_axes);
        else
            for (int a = 0; a < at->n_args; a++) f->mark[at->args[a]->id] = reached;
    }
    return nominal_size(g, n->axes, n->n_axes) > 2 * read;
}

/* What a factor made as it is loaded reads must be in memory. */
static void place_loops_below(struct fuser *f, const struct node *n) {
    struct node **found = NEW_ARRAY(&f->g->cx->arena, struct node *, f->g->n_nodes + 1);
    int n_found = loops_below(f, n, found);
    for (int i = 0; i < n_found; i++)
        need_buffer(f, found[i], found[i]->dtype, NULL,
                    arena_printf(&f->g->cx->arena, "%s is needed whole before the contraction whose factor is computed from it", node_name(f, found[i])), found[i]->span);
}

static const char *why_stored(struct fuser *f, const struct node *n, enum fx_dtype dtype, const struct node *reader) {
    struct arena *a = &f->g->cx->arena;
    const struct node *input = n;
    while (input->kind == N_CAST) input = input->args[0];
    const struct param *p = input->kind == N_INPUT ? &f->g->kernel->params[input->param] : NULL;
    if (p && stored_dtype(f->g, n) == p->dtype) /* widened alone */
        return arena_printf(a, "%s is stored as %s%s, the contraction reads %s", node_name(f, input), fx_dtype_name(p->dtype), p->packed.factor ? ", packed" : "", fx_dtype_name(dtype));
    if (!f->loaders) return arena_printf(a, "%s is computed once, and then contracted", node_name(f, n));
    const char *no_chain = f->no_chain[reader->id];
    return no_chain ? arena_printf(a, "%s ends a mainloop of its own, and is then contracted, and cannot stay on the chip: %s", node_name(f, n), no_chain)
                    : arena_printf(a, "%s ends a mainloop of its own, and is then contracted", node_name(f, n));
}

static void place_factor(struct fuser *f, struct product *x, int s) {
    struct node *n = x->factor[s];
    x->buffer[s] = -1;
    if (is_in_memory(f->g, n, x->dtype[s])) return;
    if ((f->loaders || (f->g->kernel->fuse != FUSE_NEVER && is_unfolded(f, n))) && is_loadable(f, n)) place_loops_below(f, n);
    else x->buffer[s] = need_buffer(f, n, x->dtype[s], x->sum, why_stored(f, n, x->dtype[s], x->sum), n->span);
}

static struct product product_of(const struct graph *g, struct node *sum) {
    struct contraction c;
    as_contraction(sum, &c);
    struct product x = {.sum = sum, .factor = {c.a, c.b}, .buffer = {-1, -1}};
    operand_dtypes(g, sum, x.factor, x.dtype);
    return x;
}

static void swap_factors(struct product *x) {
    const struct product y = *x;
    for (int s = 0; s < 2; s++) x->factor[s] = y.factor[1 - s], x->buffer[s] = y.buffer[1 - s], x->dtype[s] = y.dtype[1 - s];
}

static void place_operands(struct fuser *f, struct product *x) {
    *x = product_of(f->g, x->sum);
    for (int s = 0; s < 2; s++) place_factor(f, x, s);
}

/* ---- chains ---- */

/* Whether a contraction is the last of a chain; if it is nearly one, no_chain says what prevents it. */
static bool ends_chain(struct fuser *f, struct node *n, struct chain_parts *parts) {
    const struct graph *g = f->g;
    if (!chain_find(g, n, parts, &f->no_chain[n->id])) return false;
    const struct product last = product_of(g, n);
    for (int i = 0; i < parts->n_inner; i++) {
        const struct product x = product_of(g, parts->inner[i]);
        bool is_one_type = x.dtype[0] == x.dtype[1] && last.dtype[0] == last.dtype[1] && x.dtype[0] == last.dtype[0];
        if (is_one_type && x.sum->dtype == FX_F32 && n->dtype == FX_F32) continue;
        f->no_chain[n->id] = arena_printf(&g->cx->arena, "%s is added up of %s, and %s of %s", node_name(f, parts->inner[i]), fx_dtype_name(x.dtype[0]), node_name(f, n),
                                          fx_dtype_name(last.dtype[0]));
        return false;
    }
    return true;
}

/* Whether some chain ends in n, or adds it up before its end. */
static bool is_in_chain(const struct fuser *f, const struct node *n, bool is_end) {
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].middle && group_sum(&f->p->groups[i], n) >= 0 && (f->p->groups[i].contraction == n) == is_end) return true;
    return false;
}

/* Makes the group of a contraction a chain, apart from those there are. Sums over rows and the middle have the rows' factor first. */
static void make_chain(struct fuser *f, struct group *r) {
    struct chain_parts parts;
    if (!ends_chain(f, r->contraction, &parts) || is_in_chain(f, r->contraction, false)) return;
    for (int i = 0; i < parts.n_inner; i++)
        if (is_in_chain(f, parts.inner[i], true)) return;
    r->middle = parts.middle;
    r->steps = parts.steps;
    r->n_steps = parts.n_steps;
    r->n_reduced = parts.n_t;
    memcpy(r->reduced, parts.t, sizeof parts.t);
    r->n_sums = parts.n_inner + 1;
    for (int i = 0; i < r->n_sums; i++) {
        bool is_last = i == parts.n_inner;
        struct product *x = &r->sums[i];
        *x = product_of(f->g, is_last ? r->contraction : parts.inner[i]);
        if (is_last ? x->factor[1] == parts.middle : node_has_axis(x->factor[0], parts.t[0])) swap_factors(x);
        if (!is_last) place_factor(f, x, 0);
        place_factor(f, x, 1);
    }
    for (int i = 0; i < parts.n_reads; i++)
        need_buffer(f, parts.reads[i], parts.reads[i]->dtype, NULL,
                    arena_printf(&f->g->cx->arena, "%s is read between two contractions, and reduces other axes than theirs", node_name(f, parts.reads[i])),
                    parts.reads[i]->span);
}

/* Makes chains, first those that keep most from being written. */
static void make_chains(struct fuser *f) {
    bool *is_tried = NEW_ARRAY(&f->g->cx->arena, bool, f->p->n_groups + 1);
    for (int turn = 0; turn < f->p->n_groups; turn++) {
        int best = -1;
        double most = -1;
        for (int i = 0; i < f->p->n_groups; i++) {
            struct chain_parts parts;
            if (is_tried[i] || (is_tried[i] = !ends_chain(f, f->p->groups[i].contraction, &parts))) continue;
            double size = nominal_size(f->g, parts.middle->axes, parts.middle->n_axes);
            if (size > most) most = size, best = i;
        }
        if (best < 0) return;
        is_tried[best] = true;
        make_chain(f, &f->p->groups[best]);
    }
}

static bool is_above(struct fuser *f, const struct node *n, const struct node *m);

/* Whether n is computed from what chain r computes. */
static bool is_of_chain(struct fuser *f, const struct group *r, const struct node *n) {
    for (int i = 0; i < r->n_sums; i++)
        if (is_above(f, n, r->sums[i].sum)) return true;
    return false;
}

/* Whether a value can be computed in chain r behind its walks: from what they give and from what stands in memory. Collects in f->below what has to; reductions of
 * rows that it alone reads become steps of the chain. */
static bool follows_chain(struct fuser *f, struct group *r, struct node *value, bool is_of_rows, int *n_below) {
    const struct graph *g = f->g;
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, value->id + 1), reaches = false;
    struct chain_parts parts;
    const char *why_not;
    if (!chain_find(g, r->contraction, &parts, &why_not)) return false;
    parts.steps = r->steps;
    parts.n_steps = r->n_steps;
    *n_below = 0;
    seen[value->id] = true;
    for (int i = value->id; i >= 0; i--) {
        struct node *n = g->nodes[i];
        if (!seen[i]) continue;
        bool is_own = n == r->contraction || is_row_step(r, n) || (n->kind == N_REDUCE && chain_extend(g, &parts, n));
        if (n == r->contraction && is_of_rows) return false;
        reaches |= is_own;
        if (is_own) continue;
        if (n->kind == N_ACCESS) return false;
        if (n->kind == N_REDUCE || n->kind == N_SCAN) {
            if (is_of_chain(f, r, n)) return false; /* each would wait for the other */
            f->below[(*n_below)++] = n;
            continue;
        }
        for (int k = 0; k < n->n_args; k++) seen[n->args[k]->id] = true;
    }
    if (!reaches) return false;
    r->steps = parts.steps;
    r->n_steps = parts.n_steps;
    return true;
}

/* Puts a stored value into the chain it follows, if there is one. */
static bool place_in_chain(struct fuser *f, struct node *value, int param, int buffer, const int *axes, int n_axes) {
    for (int i = 0; i < f->p->n_groups; i++) {
        struct group *r = &f->p->groups[i];
        int rows[MAX_AXES], n_rows = 0, n;
        if (!r->middle) continue;
        for (int k = 0; k < r->n_axes; k++)
            if (node_has_axis(r->middle, r->axes[k])) rows[n_rows++] = r->axes[k];
        bool is_of_rows = nodes_same_axes(axes, n_axes, rows, n_rows);
        if (!is_of_rows && !nodes_same_axes(axes, n_axes, r->axes, r->n_axes)) continue;
        if (!follows_chain(f, r, value, is_of_rows, &n)) continue;
        for (int k = 0; k < n; k++) {
            const char *why = arena_printf(&f->g->cx->arena, "%s is read behind contractions that are computed together", node_name(f, f->below[k]));
            need_buffer(f, f->below[k], f->below[k]->dtype, NULL, why, f->below[k]->span);
        }
        PUSH(&f->g->cx->arena, r->stores, r->n_stores) = (struct store){value, param, buffer};
        return true;
    }
    return false;
}

/* ---- which reductions a stored value depends on ---- */

struct space { /* what a kernel runs over where the walk stands: its own axes, then those of the loops around, innermost last */
    const struct space *outer;
    bool is_elsewhere; /* in what an access reads: at other elements than the kernel's */
    const int *axes;   /* of the outermost: the kernel's; else of the loop */
    int n_axes;
};

/* What the mainloop of an engine adds up: with row programs only what gains from it. */
static bool is_for_mainloop(const struct fuser *f, const struct node *n) {
    struct contraction c;
    return f->rows ? is_matrix_product(f->g, n) : as_mainloop(n, &c);
}

/* Whether loop n reduces the rows of r, or runs along them. */
static bool fits_row(const struct group *r, const struct node *n) {
    if (n->kind == N_REDUCE) return nodes_same_axes(n->axes, n->n_axes, r->axes, r->n_axes) && nodes_same_axes(n->reduced, n->n_reduced, r->reduced, r->n_reduced);
    return n->kind == N_SCAN && r->n_reduced == 1 && r->reduced[0] == n->axis && n->n_axes == r->n_axes + 1;
}

/* Whether n has the axes of the kernel, or those and the ones of some loops around: then each element of it is computed once. */
static bool is_computed_once(const struct node *n, const struct space *s) {
    for (const struct space *level = s; level; level = level->outer) {
        int axes[4 * MAX_AXES], n_axes = 0;
        for (const struct space *at = level; at; at = at->outer) {
            if (at->is_elsewhere || n_axes + at->n_axes > 4 * MAX_AXES) return false;
            for (int i = 0; i < at->n_axes; i++) axes[n_axes++] = at->axes[i];
        }
        if (nodes_same_axes(n->axes, n->n_axes, axes, n_axes)) return true;
    }
    return false;
}

static bool is_far(const struct space *s) {
    for (; s; s = s->outer)
        if (s->is_elsewhere) return true;
    return false;
}

/* Collects in f->below, each once, what the walk down from a stored value must find in memory, or as the accumulator: contractions, what some kernel
 * writes to memory anyway, and other reductions and scans that would be computed again and again where they are read. The rest becomes loops of the
 * kernel. What is read at other elements than the kernel's is walked as such, even where it was met before. */
static int reductions_below(struct fuser *f, struct node *n, const struct space *s, bool is_stored, int n_found) {
    int before = f->mark[n->id] - 2 * f->n_walks, far = is_far(s);
    if (before >= far) return n_found;
    f->mark[n->id] = 2 * f->n_walks + far;
    bool is_mainloop = is_for_mainloop(f, n), is_loop = n->kind == N_REDUCE || n->kind == N_SCAN;
    bool is_written = is_loop && find_buffer(f->p, n, n->dtype) >= 0;
    if (is_loop && !is_mainloop && (!is_written || is_stored || f->shares_row) && f->row.is_row && !s->outer && fits_row(&f->row, n))
        return reductions_below(f, n->args[0], s, false, n_found);
    if (is_mainloop || (is_loop && !is_stored && (is_written || !is_computed_once(n, s)))) {
        for (int i = 0; i < n_found; i++)
            if (f->below[i] == n) return n_found;
        f->below[n_found] = n;
        return n_found + 1;
    }
    struct space elsewhere = {s, true, NULL, 0}, loop = {s, false, n->reduced, n->n_reduced};
    if (n->kind == N_REDUCE) return reductions_below(f, n->args[0], &loop, false, n_found);
    if (n->kind == N_SCAN) return reductions_below(f, n->args[0], &elsewhere, false, n_found);
    for (int i = 0; i < n->n_args; i++) n_found = reductions_below(f, n->args[i], n->kind == N_ACCESS && i == 0 ? &elsewhere : s, false, n_found);
    return n_found;
}

/* Whether the last walk met n, and nowhere at other elements than the kernel's. */
static bool is_near(const struct fuser *f, const struct node *n) { return f->mark[n->id] == 2 * f->n_walks; }

static struct group *group_of(struct fuser *f, const struct node *contraction) {
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].middle ? f->p->groups[i].contraction == contraction : group_sum(&f->p->groups[i], contraction) >= 0) return &f->p->groups[i];
    return NULL;
}

static void add_store(struct fuser *f, struct group *r, struct node *value, int param, int buffer) {
    struct store *s = &PUSH(&f->g->cx->arena, r->stores, r->n_stores);
    *s = (struct store){value, param, buffer};
}

static void add_pointwise(struct fuser *f, struct node *value, int param, int buffer, bool needs_contraction) {
    const int *axes = param >= 0 ? f->g->kernel->params[param].axes : value->axes;
    int n_axes = param >= 0 ? f->g->kernel->params[param].n_axes : value->n_axes;
    /* Outputs over the same axes that need nothing computed before them share one kernel. */
    for (int i = 0; param >= 0 && !needs_contraction && i < f->p->n_groups; i++) {
        struct group *r = &f->p->groups[i];
        if (r->contraction || r->is_row || r->order >= 0 || !nodes_same_axes(r->axes, r->n_axes, axes, n_axes)) continue;
        add_store(f, r, value, param, buffer);
        return;
    }
    struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
    *r = (struct group){.order = param >= 0 && !needs_contraction ? -1 : value->id, .n_axes = n_axes};
    memcpy(r->axes, axes, (size_t)n_axes * sizeof *axes);
    add_store(f, r, value, param, buffer);
}

/* ---- row programs ---- */

enum { SHORT_ROW = 32 };

/* Whether one thread had better reduce a row by itself: few elements that no tensor holds as they stand, such as those of a window. */
static bool is_short(const struct graph *g, const struct node *n) {
    int64_t size = 1;
    for (int i = 0; i < n->n_reduced; i++) {
        int64_t extent = g->kernel->axes[n->reduced[i]].extent;
        if (extent < 0 || extent >= SHORT_ROW) return false;
        size *= extent;
    }
    for (int i = 0; i < n->id; i++)
        if (g->nodes[i]->kind == N_INPUT && nodes_same_axes(g->nodes[i]->axes, g->nodes[i]->n_axes, n->args[0]->axes, n->args[0]->n_axes)) return false;
    return size < SHORT_ROW;
}

/* axes without those of `less`; returns how many. */
static int without(int *out, const int *axes, int n_axes, const int *less, int n_less) {
    int n = 0;
    for (int i = 0; i < n_axes; i++) {
        bool is_in = false;
        for (int j = 0; j < n_less; j++) is_in |= axes[i] == less[j];
        if (!is_in) out[n++] = axes[i];
    }
    return n;
}

/* Whether loop n makes rows of a space: it results in one element of the space each, or reduces some of its labels and is read over all of them. */
static bool makes_rows(const struct fuser *f, const struct node *n, const int *axes, int n_axes, struct group *row) {
    const int *reduced = n->kind == N_REDUCE ? n->reduced : &n->axis;
    int n_reduced = n->kind == N_REDUCE ? n->n_reduced : 1;
    *row = (struct group){.is_row = true, .n_reduced = n_reduced};
    memcpy(row->reduced, reduced, (size_t)n_reduced * sizeof *reduced);
    row->n_axes = without(row->axes, n->axes, n->n_axes, reduced, n_reduced);
    if (nodes_same_axes(n->axes, n->n_axes, axes, n_axes)) return n->kind == N_SCAN || !is_short(f->g, n);
    int rest[MAX_AXES], n_rest = without(rest, axes, n_axes, reduced, n_reduced);
    return n->kind == N_REDUCE && n_rest + n_reduced == n_axes && nodes_same_axes(n->axes, n->n_axes, rest, n_rest);
}

/* The first loop below n that makes rows of the space a value is stored over, found where the value is computed element by element. */
static bool find_row(struct fuser *f, const struct node *value, const int *axes, int n_axes, bool is_stored, struct group *row) {
    const int reached = 2 * f->n_walks;
    f->mark[value->id] = reached;
    for (int i = value->id; i >= 0; i--) {
        const struct node *n = f->g->nodes[i];
        if (f->mark[i] != reached || is_for_mainloop(f, n)) continue;
        if (n->kind == N_REDUCE || n->kind == N_SCAN) {
            bool is_read = find_buffer(f->p, n, n->dtype) >= 0 && !(is_stored && n == value);
            if (!is_read && makes_rows(f, n, axes, n_axes, row)) return true;
            continue;
        }
        for (int k = n->kind == N_ACCESS; k < n->n_args; k++) f->mark[n->args[k]->id] = reached;
    }
    return false;
}

/* Whether a store may join row program r: outputs, which nobody reads, join outputs; and nobody waits in vain where neither waits for another kernel. */
static bool may_join_row(const struct fuser *f, const struct group *r, bool is_output, bool waits) {
    bool all_outputs = is_output;
    if (!r->is_row || !nodes_same_axes(r->axes, r->n_axes, f->row.axes, f->row.n_axes) || !nodes_same_axes(r->reduced, r->n_reduced, f->row.reduced, f->row.n_reduced))
        return false;
    for (int i = 0; i < r->n_stores; i++) all_outputs &= r->stores[i].param >= 0;
    return all_outputs || (!waits && !r->waits);
}

/* Puts a store into its row program. */
static void add_row(struct fuser *f, struct node *value, int param, int buffer, bool waits) {
    struct group *r = NULL;
    for (int i = 0; !r && i < f->p->n_groups; i++)
        if (may_join_row(f, &f->p->groups[i], param >= 0, waits)) r = &f->p->groups[i];
    if (!r) {
        r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = f->row;
    }
    r->waits |= waits;
    if (r->order < value->id) r->order = value->id;
    add_store(f, r, value, param, buffer);
}

/* What row program r computes on the way to its stores, now that every buffer is known. */
static void collect_steps(struct fuser *f, struct group *r) {
    const struct graph *g = f->g;
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), *is_step = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int s = 0; s < r->n_stores; s++) seen[r->stores[s].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        bool is_loop = n->kind == N_REDUCE || n->kind == N_SCAN, is_stored = false;
        int b = is_loop ? find_buffer(f->p, n, n->dtype) : -1;
        for (int s = 0; s < r->n_stores; s++) is_stored |= b >= 0 && r->stores[s].buffer == b;
        if (!seen[i] || (b >= 0 && !is_stored)) continue;
        is_step[i] = is_loop && !is_for_mainloop(f, n) && fits_row(r, n);
        if (is_loop && !is_step[i]) continue; /* a loop of each thread */
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) seen[n->args[a]->id] = true;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (is_step[i]) PUSH(&g->cx->arena, r->steps, r->n_steps) = g->nodes[i];
}

/* ---- stores ---- */

/* Whether some of `below` is computed from n; in order of numbers, whether some stands behind it. */
static bool is_below_others(const struct fuser *f, const struct node *n, struct node *const *below, int n_below) {
    bool *from_it = NEW_ARRAY(&f->g->cx->arena, bool, f->g->n_nodes + 1), found = false;
    from_it[n->id] = true;
    for (int i = n->id + 1; i < f->g->n_nodes; i++)
        for (int k = 0; k < f->g->nodes[i]->n_args; k++) from_it[i] |= from_it[f->g->nodes[i]->args[k]->id];
    for (int i = 0; i < n_below; i++) found |= below[i] != n && (f->in_order ? below[i]->id > n->id : from_it[below[i]->id]);
    return found;
}

/* The contraction among those found below a store over axes whose kernel may hold the store: the last it depends on, unless that one has to run before another of them. */
static struct node *find_host(const struct fuser *f, const struct node *value, const int *axes, int n_axes, struct node *const *below, int n) {
    struct node *host = NULL;
    for (int i = 0; i < n; i++)
        if (is_for_mainloop(f, below[i]) && nodes_same_axes(below[i]->axes, below[i]->n_axes, axes, n_axes) && is_near(f, below[i]) &&
            (f->epilogues || below[i] == value) && (!host || below[i]->id > host->id) && !is_below_others(f, below[i], below, n))
            host = below[i];
    return host;
}

/* ---- several sums in a mainloop ---- */

/* The labels of a that b lacks and sum has: the m or n of a factor. */
static int own_axes(const struct node *sum, const struct node *a, const struct node *b, int *axes) {
    int n = 0;
    for (int i = 0; i < a->n_axes; i++)
        if (node_has_axis(sum, a->axes[i]) && !node_has_axis(b, a->axes[i])) axes[n++] = a->axes[i];
    return n;
}

/* Whether x runs over the same m and n as h; its factors then change places if need be. */
static bool has_same_sides(const struct product *h, struct product *x) {
    int m[MAX_AXES], n[MAX_AXES], xm[MAX_AXES], xn[MAX_AXES];
    int n_m = own_axes(h->sum, h->factor[0], h->factor[1], m), n_n = own_axes(h->sum, h->factor[1], h->factor[0], n);
    for (int swapped = 0; swapped < 2; swapped++) {
        int n_xm = own_axes(x->sum, x->factor[0], x->factor[1], xm), n_xn = own_axes(x->sum, x->factor[1], x->factor[0], xn);
        if (nodes_same_axes(m, n_m, xm, n_xm) && nodes_same_axes(n, n_n, xn, n_xn)) return true;
        swap_factors(x);
    }
    return false;
}

/* Whether n is computed from m, in whatever kernels. */
static bool is_above(struct fuser *f, const struct node *n, const struct node *m) {
    const int reached = 2 * ++f->n_walks;
    f->mark[n->id] = reached;
    for (int i = n->id; i > m->id; i--)
        for (int a = 0; f->mark[i] == reached && a < f->g->nodes[i]->n_args; a++) f->mark[f->g->nodes[i]->args[a]->id] = reached;
    return f->mark[m->id] == reached;
}

/* Whether one engine multiplies both: of floats the sums are all licensed to round to tf32, or none is. */
static bool has_same_engine(const struct product *h, const struct product *x) {
    return h->sum->dtype == x->sum->dtype && h->dtype[0] == x->dtype[0] && h->dtype[1] == x->dtype[1] && (h->dtype[0] != FX_F32 || h->sum->may_tf32 == x->sum->may_tf32);
}

/* How many sums the mainloop of h may have: bytes on their way through registers leave room for the accumulators of two. */
static int most_sums(const struct product *h) { return fx_dtype_bits(h->dtype[0]) == 8 ? 2 : MAX_SUMS; }

/* Gives the sum of group x, with what it stores, to the mainloop of h: the same labels in the same roles and dtypes, neither computed from the other. */
static bool join_sum(struct fuser *f, struct group *h, struct group *x) {
    if (!f->joins || h == x || h->middle || x->middle || x->n_sums != 1 || h->n_sums >= most_sums(&h->sums[0])) return false;
    for (int i = 0; i < h->n_sums; i++) {
        struct node *first = h->sums[i].sum, *second = x->sums[0].sum;
        if (!nodes_same_axes(first->axes, first->n_axes, second->axes, second->n_axes)) return false;
        if (first->id < second->id ? is_above(f, second, first) : is_above(f, first, second)) return false;
    }
    struct product joined = x->sums[0], last = h->sums[h->n_sums - 1];
    if (!has_same_sides(&h->sums[0], &joined) || !has_same_engine(&h->sums[0], &joined)) return false;
    h->sums[h->n_sums++] = joined;
    if (last.sum->id > joined.sum->id) h->sums[h->n_sums - 1] = last, h->sums[h->n_sums - 2] = joined;
    h->contraction = h->sums[h->n_sums - 1].sum;
    h->order = h->contraction->id;
    for (int i = 0; i < x->n_stores; i++) PUSH(&f->g->cx->arena, h->stores, h->n_stores) = x->stores[i];
    x->n_sums = x->n_stores = 0;
    x->contraction = NULL;
    return true;
}

/* Puts a stored value into the kernel that computes it, of which `element` is computed for each element of axes; asks for buffers of the contractions it reads besides.
 * False where the element is not the value itself and no contraction's kernel may compute it. */
static bool place_element(struct fuser *f, struct node *value, struct node *element, const int *axes, int n_axes, int param, int buffer) {
    const struct graph *g = f->g;
    struct node **below = f->below;
    bool is_partial = element != value, is_stored = buffer >= 0 && !is_partial;
    if (f->chains && !is_partial && place_in_chain(f, value, param, buffer, axes, n_axes)) return true;
    f->n_walks++;
    f->row.is_row = f->rows && !is_partial && find_row(f, value, axes, n_axes, is_stored, &f->row);
    f->n_walks++;
    int both[2 * MAX_AXES];
    memcpy(both, f->row.axes, sizeof f->row.axes);
    memcpy(both + f->row.n_axes, f->row.reduced, sizeof f->row.reduced);
    const struct space space = {NULL, false, f->row.is_row ? both : axes, f->row.is_row ? f->row.n_axes + f->row.n_reduced : n_axes};
    f->shares_row = true;
    int n = reductions_below(f, element, &space, is_stored, 0);
    if (f->row.is_row && n) { /* it waits for other kernels, so those who wait for none do not share its program */
        f->shares_row = false;
        f->n_walks++;
        n = reductions_below(f, element, &space, is_stored, 0);
    }
    struct node *host = f->row.is_row ? NULL : find_host(f, element, axes, n_axes, below, n);
    if (is_partial && !host) return false;
    bool *is_near_it = NEW_ARRAY(&g->cx->arena, bool, n + 1);
    for (int i = 0; i < n; i++) is_near_it[i] = is_near(f, below[i]);
    for (int i = 0; i < n; i++) {
        if (below[i] == host) continue;
        struct group *x = host && is_near_it[i] && is_for_mainloop(f, below[i]) ? group_of(f, below[i]) : NULL;
        if (x && (x == group_of(f, host) || join_sum(f, group_of(f, host), x))) continue;
        const char *why = !f->epilogues ? "every contraction stands by itself"
                          : host && is_for_mainloop(f, below[i]) ? arena_printf(&g->cx->arena, "%s and %s are added up by two mainloops", node_name(f, below[i]), node_name(f, host))
                                        : arena_printf(&g->cx->arena, "%s is used over more axes than it has", node_name(f, below[i]));
        if (f->epilogues && !is_near_it[i]) why = arena_printf(&g->cx->arena, "%s is read at other elements than the one computed", node_name(f, below[i]));
        need_buffer(f, below[i], below[i]->dtype, NULL, why, below[i]->span);
    }
    if (f->row.is_row) add_row(f, value, param, buffer, n > 0);
    else if (host) add_store(f, group_of(f, host), value, param, buffer);
    else add_pointwise(f, value, param, buffer, n > 0);
    return true;
}

/* Puts a stored value into the kernel that computes it: what reduces runs of a contraction's result into that contraction's, where there is an epilogue. */
static void place_store(struct fuser *f, struct node *value, int param, int buffer) {
    const struct param *p = param >= 0 ? &f->g->kernel->params[param] : NULL;
    struct partial_of x;
    if (buffer >= 0 && f->epilogues && as_partial(f->g, value, &x) && place_element(f, value, x.of, x.of->axes, x.of->n_axes, param, buffer)) return;
    place_element(f, value, value, p ? p->axes : value->axes, p ? p->n_axes : value->n_axes, param, buffer);
}

/* What reduces runs of elements is in memory, so that the epilogue of a contraction can compute it. */
static void place_partials(struct fuser *f) {
    struct partial_of x;
    const int *readers = count_readers(f->g);
    for (int i = 0; i < f->g->n_nodes; i++) {
        struct node *n = f->g->nodes[i];
        if (!readers[i] || !as_partial(f->g, n, &x)) continue;
        int b = find_buffer(f->p, n, n->dtype);
        if (b < 0) need_buffer(f, n, n->dtype, NULL, arena_printf(&f->g->cx->arena, "%s is reduced tile by tile, and then the rest of the way", node_name(f, x.of)), n->span);
    }
}

/* ---- in place ---- */

/* The value of output o goes to a buffer, in the dtype and the order of the parameter. */
static void store_through(struct fuser *f, int o) {
    const struct output *out = &f->g->outputs[o];
    const struct param *p = &f->g->kernel->params[out->param];
    int n = f->p->n_buffers, b = need_buffer(f, out->value, p->dtype, NULL, f->through[o], out->value->span);
    if (b == n && nodes_same_axes(out->value->axes, out->value->n_axes, p->axes, p->n_axes)) memcpy(f->p->buffers[b].axes, p->axes, sizeof p->axes);
}

static void add_copies(struct fuser *f) {
    for (int o = 0; o < f->g->n_outputs; o++) {
        const struct output *out = &f->g->outputs[o];
        const struct param *p = &f->g->kernel->params[out->param];
        if (!f->through[o]) continue;
        struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = (struct group){.is_copy = true, .copied = find_buffer(f->p, out->value, p->dtype), .n_axes = p->n_axes};
        memcpy(r->axes, p->axes, (size_t)p->n_axes * sizeof *p->axes);
        add_store(f, r, out->value, out->param, -1);
    }
}

/* Finds outputs that must not be stored directly; false where there is none that was not known. */
static bool find_hazards(struct fuser *f) {
    bool any = false;
    for (int o = 0; o < f->g->n_outputs; o++) {
        if (f->through[o]) continue;
        f->through[o] = in_place_hazard(f->g, f->p, &f->g->outputs[o]);
        any |= f->through[o] != NULL;
    }
    return any;
}

/* Whether r overwrites a parameter and nobody waits for it: it then runs after those that may read the old contents. */
static bool is_last(const struct graph *g, const struct group *r) {
    bool overwrites = false;
    for (int s = 0; s < r->n_stores; s++) {
        if (r->stores[s].buffer >= 0) return false;
        overwrites |= g->kernel->params[r->stores[s].param].is_input;
    }
    return overwrites;
}

/* ---- order ---- */

/* Of groups that may run, the lowest comes first. Copies come last. */
static int rank(const struct graph *g, const struct group *r) { return r->is_copy ? INT_MAX : is_last(g, r) ? r->order + INT_MAX / 2 : r->order; }

/* Whether every buffer that r reads has been written. */
static bool is_ready(const bool *is_read, const bool *is_written, int n_buffers) {
    for (int b = 0; b < n_buffers; b++)
        if (is_read[b] && !is_written[b]) return false;
    return true;
}

/* Groups in order of execution: of those whose buffers are written, the one of the lowest rank, mostly that which stands first in the spec. A contraction that only some unscheduled
 * reduction reads has no store and is dropped. Groups that wait for each other stay last. */
static void sort_groups(struct fuser *f) {
    struct partition *p = f->p;
    struct arena *a = &f->g->cx->arena;
    int n = 0;
    for (int i = 0; i < p->n_groups; i++)
        if (p->groups[i].n_stores) p->groups[n++] = p->groups[i];
    p->n_groups = n;
    struct group *sorted = NEW_ARRAY(a, struct group, n + 1);
    bool *is_placed = NEW_ARRAY(a, bool, n + 1), *is_written = NEW_ARRAY(a, bool, p->n_buffers + 1), **is_read = NEW_ARRAY(a, bool *, n + 1);
    for (int i = 0; i < n; i++) is_read[i] = ir_buffers_read(f->g, p, &p->groups[i]);
    for (int at = 0; at < n; at++) {
        int best = -1, any = -1;
        for (int i = 0; i < n; i++) {
            if (is_placed[i]) continue;
            if (any < 0) any = i;
            if (is_ready(is_read[i], is_written, p->n_buffers) && (best < 0 || rank(f->g, &p->groups[i]) < rank(f->g, &p->groups[best]))) best = i;
        }
        if (best < 0) best = any;
        is_placed[best] = true;
        sorted[at] = p->groups[best];
        for (int s = 0; s < sorted[at].n_stores; s++)
            if (sorted[at].stores[s].buffer >= 0) is_written[sorted[at].stores[s].buffer] = true;
    }
    memcpy(p->groups, sorted, (size_t)n * sizeof *sorted);
}

/* The groups of a proposal, one a contraction to begin with. */
static void begin_groups(struct fuser *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        if (!is_for_mainloop(f, f->g->nodes[i])) continue;
        struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = (struct group){.contraction = f->g->nodes[i], .n_sums = 1, .order = i, .n_axes = f->g->nodes[i]->n_axes};
        memcpy(r->axes, f->g->nodes[i]->axes, sizeof r->axes);
        r->sums[0].sum = f->g->nodes[i];
    }
    int n = f->p->n_groups;
    if (f->chains) make_chains(f);
    for (int i = 0; i < n; i++) {
        struct group *r = &f->p->groups[i];
        struct chain_parts parts;
        if (r->middle) continue;
        if (!f->chains) ends_chain(f, r->contraction, &parts); /* for the reason */
        place_operands(f, &r->sums[0]);
    }
}

static void fill_partition(struct fuser *f, const struct partition *like) {
    const struct graph *g = f->g;
    *f->p = *like;
    begin_groups(f);
    place_partials(f);
    int n_contractions = f->p->n_groups, n_buffers;
    for (int i = 0; i < g->n_outputs; i++)
        if (f->through[i]) store_through(f, i);
    do { /* again with the buffers that were asked for: whoever meets what one holds reads it there, and so comes after it */
        n_buffers = f->p->n_buffers;
        f->p->n_groups = n_contractions;
        for (int i = 0; i < n_contractions; i++) f->p->groups[i].n_stores = 0;
        for (int i = 0; i < g->n_outputs; i++)
            if (!f->through[i]) place_store(f, g->outputs[i].value, g->outputs[i].param, -1);
        for (int b = 0; b < f->p->n_buffers; b++) place_store(f, f->p->buffers[b].value, -1, b); /* grows while it runs */
    } while (f->p->n_buffers != n_buffers);
    add_copies(f);
    sort_groups(f);
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].is_row) collect_steps(f, &f->p->groups[i]);
}

static bool makes_factors(const struct partition *p, const struct graph *g) {
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < 2 * p->groups[i].n_sums; s++) {
            const struct product *x = &p->groups[i].sums[s / 2];
            if (x->buffer[s % 2] < 0 && x->factor[s % 2] != p->groups[i].middle && !is_in_memory(g, x->factor[s % 2], x->dtype[s % 2])) return true;
        }
    return false;
}

static void propose(const struct graph *g, struct graph *out, const char *name, bool epilogues, bool rows, bool loaders, bool chains) {
    struct fuser f = {.g = g, .epilogues = epilogues, .rows = rows, .loaders = loaders, .joins = epilogues, .chains = chains};
    const struct partition like = {.name = name, .has_rows = rows, .is_separate = !epilogues, .is_optional = chains};
    f.no_chain = NEW_ARRAY(&g->cx->arena, const char *, g->n_nodes + 1);
    f.mark = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    f.below = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    f.through = NEW_ARRAY(&g->cx->arena, const char *, g->n_outputs + 1);
    f.p = &PUSH(&g->cx->arena, out->partitions, out->n_partitions);
    do {
        fill_partition(&f, &like);
        if (!ir_verify_order(g, f.p)) continue;
        f.joins = false; /* groups wait for each other in a circle: then each contraction has its own */
        f.in_order = true;
        fill_partition(&f, &like);
    } while (find_hazards(&f));
    if (chains && ir_verify_order(g, f.p)) { /* still */
        out->n_partitions--;
        return;
    }
    if (loaders && !makes_factors(f.p, g) && epilogues) return;
    if (loaders && epilogues) propose(g, out, chains ? "chain stored" : rows ? "rows stored" : "stored", true, rows, false, chains);
}

/* Whether a reduction or scan might be part of a row program. */
static bool has_loops(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if ((g->nodes[i]->kind == N_REDUCE || g->nodes[i]->kind == N_SCAN) && !is_matrix_product(g, g->nodes[i])) return true;
    return false;
}

static bool has_chain(const struct graph *g) {
    struct fuser f = {.g = g, .no_chain = NEW_ARRAY(&g->cx->arena, const char *, g->n_nodes + 1)};
    struct chain_parts parts;
    for (int i = 0; i < g->n_nodes; i++)
        if (ends_chain(&f, g->nodes[i], &parts)) return true;
    return false;
}

struct graph *pass_fuse(const struct graph *g) {
    struct graph *out = graph_like(g);
    *out = *g;
    out->partitions = NULL;
    out->n_partitions = 0;
    propose(g, out, "fused", true, false, true, false);
    propose(g, out, "separate", false, false, false, false);
    if (has_loops(g)) {
        propose(g, out, "rows", true, true, true, false);
        propose(g, out, "rows separate", false, true, false, false);
    }
    if (has_chain(g)) propose(g, out, "chain", true, true, true, true);
    return out;
}
