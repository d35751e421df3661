/* Proposes partitions of the graph into GPU kernels; schedules price them and the cheapest is taken (schedule.c).
 *
 * A contraction's factors must be in memory, in one dtype: a computed factor is written to a buffer first. What is
 * stored (an output, such a factor) belongs to the last contraction it depends on, as its epilogue, when it has that
 * contraction's axes; other contractions below it are written to buffers. What depends on none is a pointwise kernel.
 *
 * Two proposals make row programs: a stored value that reduces, or scans, some labels K and has the others, R, or both, is one kernel over R whose
 * reductions and scans over exactly K of values over R and K are its steps. Contractions that no engine gains from are such reductions too. */
#include <string.h>

#include "passes.h"

struct fuser {
    const struct graph *g;
    struct partition *p;
    bool epilogues;  /* whether pointwise work may stand in a contraction's kernel */
    bool rows;       /* whether reductions become row programs where they fit one */
    bool in_order;   /* groups run in the order of what they compute, so that none waits for a later one */
    struct group row; /* the row program that the store being placed would join: axes, reduced */
    int *mark;       /* by node: twice the walk that saw it last, plus 1 where it is read at other elements */
    int n_walks;
    struct node **below; /* scratch of place_store */
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

static bool is_16_bit(enum fx_dtype t) { return t == FX_F16 || t == FX_BF16; }

static enum fx_dtype stored_dtype(const struct graph *g, const struct node *n) {
    return n->kind == N_INPUT ? g->kernel->params[n->param].dtype : n->kind == N_CAST ? n->to : FX_F32;
}

static enum fx_dtype operand_dtype(const struct graph *g, const struct node *a, const struct node *b, bool may_round) {
    enum fx_dtype ta = stored_dtype(g, a), tb = stored_dtype(g, b);
    if (ta == tb) return ta;
    bool computed_a = a->kind != N_INPUT && ta == FX_F32, computed_b = b->kind != N_INPUT && tb == FX_F32;
    if (!may_round) return FX_F32;
    /* A computed factor may be rounded once to the dtype in which the other is stored. */
    if (computed_a && is_16_bit(tb) && b->kind == N_INPUT) return tb;
    if (computed_b && is_16_bit(ta) && a->kind == N_INPUT) return ta;
    return FX_F32;
}

static void place_operands(struct fuser *f, struct group *r) {
    struct contraction c;
    as_contraction(r->contraction, &c);
    enum fx_dtype dtype = operand_dtype(f->g, c.a, c.b, r->contraction->may_round);
    struct node *operand[2] = {c.a, c.b};
    for (int s = 0; s < 2; s++) {
        struct node *n = operand[s];
        r->operand_buffer[s] = -1;
        if (n->kind == N_INPUT && f->g->kernel->params[n->param].dtype == dtype) continue;
        const char *why =
            n->kind == N_INPUT ? arena_printf(&f->g->cx->arena, "%s is stored as %s, the other factor of the contraction is not",
                                              node_name(f, n), fx_dtype_name(f->g->kernel->params[n->param].dtype))
                               : arena_printf(&f->g->cx->arena, "%s is computed and then contracted: this version loads factors from memory only",
                                              node_name(f, n));
        r->operand_buffer[s] = need_buffer(f, n, dtype, r->contraction, why, n->span);
    }
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
    if (is_loop && !is_mainloop && (!is_written || is_stored) && f->row.is_row && !s->outer && fits_row(&f->row, n))
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
        if (f->p->groups[i].contraction == contraction) return &f->p->groups[i];
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

/* Puts a store into its row program: outputs of the same rows share one, as nobody reads them. */
static void add_row(struct fuser *f, struct node *value, int param, int buffer) {
    struct group *r = NULL;
    for (int i = 0; param >= 0 && !r && i < f->p->n_groups; i++) {
        struct group *other = &f->p->groups[i];
        if (!other->is_row || other->stores[0].param < 0) continue;
        if (nodes_same_axes(other->axes, other->n_axes, f->row.axes, f->row.n_axes) &&
            nodes_same_axes(other->reduced, other->n_reduced, f->row.reduced, f->row.n_reduced))
            r = other;
    }
    if (!r) {
        r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = f->row;
    }
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

/* Puts a stored value into the kernel that computes it; asks for buffers of the contractions it reads besides. */
static void place_store(struct fuser *f, struct node *value, int param, int buffer) {
    const struct graph *g = f->g;
    struct node **below = f->below;
    const int *axes = param >= 0 ? g->kernel->params[param].axes : value->axes;
    int n_axes = param >= 0 ? g->kernel->params[param].n_axes : value->n_axes;
    f->n_walks++;
    f->row.is_row = f->rows && find_row(f, value, axes, n_axes, buffer >= 0, &f->row);
    f->n_walks++;
    int both[2 * MAX_AXES];
    memcpy(both, f->row.axes, sizeof f->row.axes);
    memcpy(both + f->row.n_axes, f->row.reduced, sizeof f->row.reduced);
    const struct space space = {NULL, false, f->row.is_row ? both : axes, f->row.is_row ? f->row.n_axes + f->row.n_reduced : n_axes};
    int n = reductions_below(f, value, &space, buffer >= 0, 0);
    struct node *host = f->row.is_row ? NULL : find_host(f, value, axes, n_axes, below, n);
    for (int i = 0; i < n; i++) {
        if (below[i] == host) continue;
        bool two_loops = host && is_for_mainloop(f, below[i]);
        const char *why = !f->epilogues ? "every contraction stands by itself"
                          : two_loops   ? arena_printf(&g->cx->arena, "%s and %s are added up by two mainloops: this version runs one a kernel",
                                                       node_name(f, below[i]), node_name(f, host))
                                        : arena_printf(&g->cx->arena, "%s is used over more axes than it has", node_name(f, below[i]));
        if (f->epilogues && !is_near(f, below[i])) why = arena_printf(&g->cx->arena, "%s is read at other elements than the one computed", node_name(f, below[i]));
        need_buffer(f, below[i], below[i]->dtype, NULL, why, below[i]->span);
    }
    if (f->row.is_row) add_row(f, value, param, buffer);
    else if (host) add_store(f, group_of(f, host), value, param, buffer);
    else add_pointwise(f, value, param, buffer, n > 0);
}

/* An output computed apart comes after the buffer of the same value, which it reads. */
static int rank(const struct group *r) { return 2 * r->order + (!r->contraction && r->stores[0].buffer < 0); }

/* Marks the buffers that group r reads. */
static void mark_read(const struct fuser *f, const struct group *r, bool *is_read) {
    const struct graph *g = f->g;
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int s = 0; s < 2; s++)
        if (r->contraction && r->operand_buffer[s] >= 0) is_read[r->operand_buffer[s]] = true;
    for (int s = 0; s < r->n_stores; s++) seen[r->stores[s].value->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        bool is_stored = false, is_loop = n->kind == N_REDUCE || n->kind == N_SCAN;
        int b = seen[i] && is_loop ? find_buffer(f->p, n, n->dtype) : -1;
        for (int s = 0; s < r->n_stores; s++) is_stored |= b >= 0 && r->stores[s].buffer == b;
        if (!seen[i] || n == r->contraction) continue;
        if (b >= 0 && !is_stored) is_read[b] = true;
        for (int a = 0; (b < 0 || is_stored) && a < n->n_args; a++) seen[n->args[a]->id] = true;
    }
}

/* Groups in order of rank; a contraction that only some unscheduled reduction reads has no store and is dropped. */
static void rank_groups(struct partition *p) {
    int n = 0;
    for (int i = 0; i < p->n_groups; i++)
        if (p->groups[i].n_stores) p->groups[n++] = p->groups[i];
    p->n_groups = n;
    for (int i = 1; i < p->n_groups; i++)
        for (int j = i; j > 0 && rank(&p->groups[j - 1]) > rank(&p->groups[j]); j--) {
            struct group t = p->groups[j];
            p->groups[j] = p->groups[j - 1];
            p->groups[j - 1] = t;
        }
}

/* Groups in order of execution: of those all of whose buffers are written, the first by rank. False where groups wait for each other in a circle. */
static bool sort_groups(const struct fuser *f, struct partition *p) {
    struct arena *a = &f->g->cx->arena;
    rank_groups(p);
    struct group *sorted = NEW_ARRAY(a, struct group, p->n_groups + 1);
    bool *is_written = NEW_ARRAY(a, bool, p->n_buffers + 1), *is_taken = NEW_ARRAY(a, bool, p->n_groups + 1);
    for (int n = 0; n < p->n_groups; n++) {
        int next = -1;
        for (int i = 0; i < p->n_groups && next < 0; i++) {
            bool *is_read = NEW_ARRAY(a, bool, p->n_buffers + 1), is_ready = !is_taken[i];
            if (is_ready) mark_read(f, &p->groups[i], is_read);
            for (int b = 0; b < p->n_buffers; b++) is_ready &= !is_read[b] || is_written[b];
            if (is_ready) next = i;
        }
        if (next < 0) return false;
        is_taken[next] = true;
        sorted[n] = p->groups[next];
        for (int s = 0; s < sorted[n].n_stores; s++)
            if (sorted[n].stores[s].buffer >= 0) is_written[sorted[n].stores[s].buffer] = true;
    }
    memcpy(p->groups, sorted, (size_t)p->n_groups * sizeof *sorted);
    return true;
}

/* Fills a partition; false where its groups cannot be ordered, which `in_order` rules out. */
static bool propose_groups(const struct graph *g, struct partition *p, bool in_order) {
    struct fuser f = {.g = g, .p = p, .epilogues = !p->is_separate, .rows = p->has_rows, .in_order = in_order};
    f.mark = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    f.below = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        if (!is_for_mainloop(&f, g->nodes[i])) continue;
        struct group *r = &PUSH(&g->cx->arena, f.p->groups, f.p->n_groups);
        *r = (struct group){.contraction = g->nodes[i], .order = i, .n_axes = g->nodes[i]->n_axes};
        memcpy(r->axes, g->nodes[i]->axes, sizeof r->axes);
    }
    int n_contractions = f.p->n_groups, n_buffers;
    for (int i = 0; i < n_contractions; i++) place_operands(&f, &f.p->groups[i]);
    do { /* again with the buffers that were asked for: whoever meets what one holds reads it there, and so comes after it */
        n_buffers = f.p->n_buffers;
        f.p->n_groups = n_contractions;
        for (int i = 0; i < n_contractions; i++) f.p->groups[i].n_stores = 0;
        for (int i = 0; i < g->n_outputs; i++) place_store(&f, g->outputs[i].value, g->outputs[i].param, -1);
        for (int b = 0; b < f.p->n_buffers; b++) place_store(&f, f.p->buffers[b].value, -1, b); /* grows while it runs */
    } while (f.p->n_buffers != n_buffers);
    if (!sort_groups(&f, f.p)) return false;
    for (int i = 0; i < f.p->n_groups; i++)
        if (f.p->groups[i].is_row) collect_steps(&f, &f.p->groups[i]);
    return true;
}

static void propose(const struct graph *g, struct graph *out, const char *name, bool epilogues, bool rows) {
    const struct partition empty = {.name = name, .has_rows = rows, .is_separate = !epilogues};
    struct partition *p = &PUSH(&g->cx->arena, out->partitions, out->n_partitions);
    *p = empty;
    if (propose_groups(g, p, false)) return;
    *p = empty;
    propose_groups(g, p, true);
}

/* Whether a reduction or scan might be part of a row program. */
static bool has_loops(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if ((g->nodes[i]->kind == N_REDUCE || g->nodes[i]->kind == N_SCAN) && !is_matrix_product(g, g->nodes[i])) return true;
    return false;
}

struct graph *pass_fuse(const struct graph *g) {
    struct graph *out = graph_like(g);
    *out = *g;
    out->partitions = NULL;
    out->n_partitions = 0;
    propose(g, out, "fused", true, false);
    propose(g, out, "separate", false, false);
    if (!has_loops(g)) return out;
    propose(g, out, "rows", true, true);
    propose(g, out, "rows separate", false, true);
    return out;
}
