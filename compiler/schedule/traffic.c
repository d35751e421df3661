/* The bytes that a launch reads and writes. In: a scheduled group. Out: bytes over extents.
 *
 * The tensors are found from the stores down to memory, through all intermediate computations. So the result also holds
 * for computed operands and for reads at positions. Invariant: each tensor counts once in the bytes read, and once per
 * store in the bytes written. */
#include "schedule/traffic.h"

#include "schedule/bins.h"

/* ---- expressions ---- */

static void push(struct bytes *b, enum fx_term_op op, int64_t v) {
    PUSH(b->arena, b->terms, b->n) = (struct fx_term){op, v};
}

/* Multiplies the number on top, or the product so far, by a constant. */
static void times(struct bytes *b, int64_t v) {
    struct fx_term *top = &b->terms[b->n - 1];
    int64_t product;
    if (top->op == FX_T_CONST && !__builtin_mul_overflow(top->v, v, &product)) {
        top->v = product;
        return;
    }
    push(b, FX_T_CONST, v);
    push(b, FX_T_MUL, 0);
}

static void put_tensor(struct bytes *b, const int *axes, int n_axes, int64_t bits) {
    push(b, FX_T_CONST, 1);
    for (int i = 0; i < n_axes; i++) {
        int64_t extent = b->kernel->axes[axes[i]].extent;
        struct fx_term *top = &b->terms[b->n - 1];
        if (extent >= 0) times(b, extent);
        else if (top->op == FX_T_CONST && top->v == 1) *top = (struct fx_term){FX_T_EXTENT, axes[i]};
        else push(b, FX_T_EXTENT, axes[i]), push(b, FX_T_MUL, 0);
    }
    times(b, bits % 8 ? bits : bits / 8);
    if (bits % 8) push(b, FX_T_CONST, 8), push(b, FX_T_CDIV, 0);
}

/* Adds what was written last to what stands before it. */
static void join(struct bytes *b) {
    int64_t sum;
    if (!b->n_tensors++) return;
    if (b->n == 2 && b->terms[0].op == FX_T_CONST && b->terms[1].op == FX_T_CONST &&
        !__builtin_add_overflow(b->terms[0].v, b->terms[1].v, &sum)) {
        b->terms[0].v = sum;
        b->n = 1;
        return;
    }
    push(b, FX_T_ADD, 0);
}

void bytes_add(struct bytes *b, const int *axes, int n_axes, int64_t bits) {
    put_tensor(b, axes, n_axes, bits);
    join(b);
}

struct fx_expr bytes_done(const struct bytes *b) {
    static const struct fx_term zero[] = {{FX_T_CONST, 0}};
    return b->n ? (struct fx_expr){b->n, b->terms} : (struct fx_expr){1, zero};
}

/* ---- what is read ---- */

struct read { /* a tensor that the launch reads */
    struct tensor tensor;
    bool is_whole;                /* all of it */
    int n_accesses;
    const struct node **accesses; /* else: what reads it at positions */
};

struct reads {
    const struct graph *graph;
    const struct partition *partition;
    const struct group *group;
    const bool *needed; /* by node: read by the pass of a row that this launch is; NULL: all are */
    bool *seen;         /* by node */
    int n;
    struct read *reads;
};

static struct read *read_of(struct reads *r, const struct tensor *t) {
    for (int i = 0; i < r->n; i++)
        if (r->reads[i].tensor.param == t->param && r->reads[i].tensor.buffer == t->buffer) return &r->reads[i];
    struct read *new = &PUSH(&r->graph->cx->arena, r->reads, r->n);
    new->tensor = *t;
    return new;
}

/* Whether n stands in memory: an input, packed or not, or what another kernel wrote. */
static bool is_in_memory(const struct reads *r, const struct node *n, struct tensor *t) {
    if (node_is_loaded(r->graph, r->partition, r->group, n, t)) return true;
    if (n->kind == N_INPUT) *t = tensor_of_param(r->graph, n->param);
    return n->kind == N_INPUT;
}

static void visit(struct reads *r, struct node *n);

static void visit_contraction(struct reads *r, const struct product *x) {
    for (int i = 0; i < 2; i++) {
        struct tensor t;
        if (x->buffer[i] < 0) {
            visit(r, x->factor[i]);
            continue;
        }
        t = tensor_of_buffer(r->graph, r->partition, x->buffer[i]);
        read_of(r, &t)->is_whole = true;
    }
}

static void visit(struct reads *r, struct node *n) {
    struct arena *a = &r->graph->cx->arena;
    struct tensor t;
    bool counts = !r->needed || r->needed[n->id];
    if (r->seen[n->id]) return;
    r->seen[n->id] = true;
    if (is_in_memory(r, n, &t)) {
        if (counts) read_of(r, &t)->is_whole = true;
        return;
    }
    int sum = group_sum(r->group, n);
    if (sum >= 0) {
        visit_contraction(r, &r->group->sums[sum]);
        return;
    }
    bool reads_memory = n->kind == N_ACCESS && is_in_memory(r, n->args[0], &t);
    if (reads_memory && counts) {
        struct read *x = read_of(r, &t);
        PUSH(a, x->accesses, x->n_accesses) = n;
    }
    for (int i = reads_memory; i < n->n_args; i++) visit(r, n->args[i]);
}

static void put_read(struct bytes *b, const struct read *x) {
    int64_t bits = tensor_bits(&x->tensor);
    put_tensor(b, x->tensor.axes, x->tensor.n_axes, bits);
    if (!x->is_whole) {
        for (int i = 0; i < x->n_accesses; i++) {
            put_tensor(b, x->accesses[i]->axes, x->accesses[i]->n_axes, bits);
            if (i) push(b, FX_T_ADD, 0);
        }
        push(b, FX_T_MIN, 0);
    }
    join(b);
}

/* Of rows in parts, each launch is a pass: it reads what that pass does, the last one only where it stores elements. */
static const bool *needed_by(const struct graph *g, const struct scheduled *s) {
    if (!s->parts) return NULL;
    const struct row_stage *stage = &s->row->stages[s->pass];
    return row_stage_reads(s->row, stage) ? s->row->passes[stage->pass].reads
                                          : NEW_ARRAY(&g->cx->arena, bool, g->n_nodes);
}

/* The sums of all parts that n passes leave for later ones. */
static void add_parts(struct bytes *b, const struct scheduled *s, int n_passes) {
    struct terms parts = {.a = b->arena};
    if (!s->bins) {
        bytes_add(b, s->row->rows.axes, s->row->rows.n, (int64_t)n_passes * s->parts * s->row->part_words * 32);
        return;
    }
    bins_parts(&parts, b->kernel, s->bins, &s->row->rows);
    put_tensor(b, s->row->rows.axes, s->row->rows.n, s->bins->words * 32ll);
    for (int i = 0; i < parts.n; i++) push(b, parts.t[i].op, parts.t[i].v);
    push(b, FX_T_MUL, 0);
    join(b);
}

struct fx_expr traffic_read(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    struct arena *a = &g->cx->arena;
    struct reads r = {.graph = g,
        .partition = p,
        .group = s->group,
        .needed = needed_by(g, s),
        .seen = NEW_ARRAY(a, bool, g->n_nodes + 1)};
    struct bytes b = {.arena = a, .kernel = g->kernel};
    if (s->group->contraction) visit(&r, s->group->contraction);
    for (int i = 0; i < s->group->n_stores; i++) visit(&r, store_element(g, s->group, &s->group->stores[i]));
    for (int i = 0; i < r.n; i++) put_read(&b, &r.reads[i]);
    if (s->pass) add_parts(&b, s, s->pass);
    return bytes_done(&b);
}

struct fx_expr traffic_written(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    struct bytes b = {.arena = &g->cx->arena, .kernel = g->kernel};
    if (s->parts && s->pass + 1 < (s->bins ? 2 : s->row->n_stages)) {
        add_parts(&b, s, 1);
        return bytes_done(&b);
    }
    for (int i = 0; i < s->group->n_stores; i++) {
        struct tensor t = tensor_of_store(g, p, &s->group->stores[i]);
        const struct node *v = s->group->stores[i].value;
        if (v->kind == N_PLACE) bytes_add(&b, v->axes, v->n_axes, tensor_bits(&t));
        else bytes_add(&b, t.axes, t.n_axes, tensor_bits(&t));
    }
    return bytes_done(&b);
}

double traffic_seconds(const struct graph *g, const struct partition *p, const struct scheduled *s) {
    const struct fx_expr sides[2] = {traffic_read(g, p, s), traffic_written(g, p, s)};
    int64_t *extents = NEW_ARRAY(&g->cx->arena, int64_t, g->kernel->n_axes + 1);
    double bytes = 0;
    for (int i = 0; i < g->kernel->n_axes; i++) extents[i] = (int64_t)nominal_extent(g, i);
    for (int i = 0; i < 2; i++) {
        int64_t v;
        bytes += fx_expr_eval(&sides[i], &(struct fx_env){.extents = extents}, &v) ? (double)v : INT64_MAX;
    }
    return bytes / g->cx->arch->copied;
}
