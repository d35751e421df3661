/* Proposes partitions of the graph into GPU kernels. schedule.c prices them and takes the cheapest.
 *
 * In: a graph. Out: its partitions: with and without epilogues, with factors computed as they are loaded or stored
 * first, with row programs, with chains. Every stored value is placed in a kernel (fuse_place.c). Other values that
 * this kernel reads are written to buffers, which are placed in turn, until no new buffer is needed. A parameter
 * written in place is stored directly if nothing else still needs the old contents (inplace.c), otherwise through a
 * buffer, which a last kernel copies. */
#include <string.h>

#include "fuse/fuse.h"
#include "graph/operand.h"
#include "passes/build.h"
#include "passes/passes.h"

/* ---- buffers ---- */

/* Batch axes of a contraction that what reads it sums over: slices of k. */
static int slice_axes(const struct fuser *f, const struct node *v, int *axes) {
    struct contraction c;
    int n = 0;
    if (!as_contraction(v, &c)) return 0;
    for (int i = v->id + 1; i < f->g->n_nodes; i++) {
        const struct node *r = f->g->nodes[i];
        if (r->kind != N_REDUCE || r->args[0] != v) continue;
        for (int k = 0; k < r->n_reduced; k++)
            if (node_has_axis(c.a, r->reduced[k]) && node_has_axis(c.b, r->reduced[k]))
                n = set_add(axes, n, r->reduced[k]);
    }
    return n;
}

static void put_first(struct buffer *b, const int *first, int n_first) {
    int n = 0, axes[MAX_AXES];
    memcpy(axes, b->axes, sizeof axes);
    for (int rest = 0; rest < 2; rest++)
        for (int i = 0; i < b->n_axes; i++)
            if (rest != set_has(first, n_first, axes[i])) b->axes[n++] = axes[i];
}

/* The labels that contraction `reader` sums over, in the order in which they lie in its factor beside v, where that is a
 * tensor in memory that ends with them: k is then a single run in both. Else as they stand in v. */
static void labels_of_k(
    const struct fuser *f, const struct node *v, const struct node *reader, struct axis_list *k) {
    struct contraction c;
    struct tensor t;
    for (int i = 0; i < v->n_axes; i++)
        if (set_has(reader->reduced, reader->n_reduced, v->axes[i])) k->axes[k->n++] = v->axes[i];
    if (k->n < 2 || !as_contraction(reader, &c) || (c.a != v && c.b != v)) return;
    const struct node *other = c.a == v ? c.b : c.a;
    if (!tensor_of_factor(f->g, other, &t) || t.n_axes < k->n) return;
    for (int i = t.n_axes - k->n; i < t.n_axes; i++)
        if (!set_has(k->axes, k->n, t.axes[i])) return;
    memcpy(k->axes, &t.axes[t.n_axes - k->n], k->n * sizeof *k->axes);
}

/* The labels of v as it is stored, unless what reads it asks for another order: of a product by tiles those of its
 * batches stand first, as tiles have none of them. */
static void own_order(const struct graph *g, const struct node *v, int *axes) {
    struct contraction c;
    const bool has_tiles = as_tiles(g, v, &c);
    int n = 0;
    for (int of_tiles = 0; of_tiles < 2; of_tiles++)
        for (int i = 0; i < v->n_axes; i++) {
            const bool is_of_tiles = !has_tiles || !node_has_axis(c.a, v->axes[i]) || !node_has_axis(c.b, v->axes[i]);
            if (is_of_tiles == of_tiles) axes[n++] = v->axes[i];
        }
}

/* The order of the largest tensor that v is computed from element by element, or along a label by running sums, and
 * which has all labels of v; false: there is none. A contraction that is summed along is one, as it is stored first. */
static bool find_source(const struct graph *g, const struct node *v, struct tensor *source) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), is_scanned = false;
    struct contraction c;
    source->n_axes = 0;
    seen[v->id] = true;
    for (int i = v->id; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!seen[i] || !nodes_same_axes(n->axes, n->n_axes, v->axes, v->n_axes)) continue;
        struct tensor t = {.param = -1, .dtype = n->dtype, .n_axes = n->n_axes};
        is_scanned |= n->kind == N_SCAN;
        if (is_scanned && as_tiles(g, n, &c)) own_order(g, n, t.axes);
        else if (n->kind == N_INPUT && !g->kernel->params[n->param].is_strided) t = tensor_of_param(g, n->param);
        else {
            const bool is_through = n->kind == N_OP || n->kind == N_CAST || n->kind == N_SCAN || n->kind == N_ACCESS;
            for (int a = 0; a < n->n_args && is_through; a++) seen[n->args[a]->id] = true;
            continue;
        }
        if (nodes_same_axes(t.axes, t.n_axes, v->axes, v->n_axes) &&
            (!source->n_axes || fx_dtype_bits(t.dtype) > fx_dtype_bits(source->dtype)))
            *source = t;
    }
    return source->n_axes > 0;
}

/* Whether a factor v of 16 bits stays in the order of the tensor that it is computed from: that has k, and then m or n,
 * one label each, as its last. Tensor cores take either, and copies go along what is contiguous. Where the last extent
 * may be no multiple of a vector, k rather than that is made contiguous, but not of elements that share words. */
static bool keeps_order(const struct graph *g, const struct buffer *b, const struct node *reader, int *axes) {
    enum { VECTOR = 8 };
    const struct node *v = b->value;
    struct contraction c;
    if (b->dtype != FX_F16 && b->dtype != FX_BF16) return false;
    if (!as_contraction(reader, &c) || (c.a != v && c.b != v) || reader->n_reduced != 1) return false;
    const struct node *other = c.a == v ? c.b : c.a;
    struct tensor t;
    if (!find_source(g, v, &t) || t.n_axes < 2) return false;
    const struct param *p = t.param >= 0 ? &g->kernel->params[t.param] : NULL;
    const int last = t.axes[t.n_axes - 1];
    const bool is_packed = p && p->packed.factor && p->packed.axis == p->n_axes - 1;
    const int64_t extent = g->kernel->axes[last].extent;
    if (t.axes[t.n_axes - 2] != reader->reduced[0] || node_has_axis(other, last)) return false;
    for (int i = 0; i < t.n_axes - 2; i++)
        if (!node_has_axis(other, t.axes[i])) return false; /* more of m or n */
    if (extent >= 0 ? extent % VECTOR != 0 : !is_packed) return false;
    memcpy(axes, t.axes, (size_t)t.n_axes * sizeof *axes);
    return true;
}

/* Whether a factor v of 16 bits is stored with its one label of m or n contiguous, behind k: vectors fit that label for
 * certain, and perhaps not k. No tensor map brings rows that are no multiple of 16 bytes. */
static bool turns_order(const struct graph *g, const struct buffer *b, const struct node *reader, int *axes) {
    enum { VECTOR = 8 };
    const struct node *v = b->value;
    struct contraction c;
    int own = -1, n = 0;
    if (b->dtype != FX_F16 && b->dtype != FX_BF16) return false;
    if (!as_contraction(reader, &c) || (c.a != v && c.b != v) || c.a == c.b || reader->n_reduced != 1) return false;
    const struct node *other = c.a == v ? c.b : c.a;
    const int64_t k = g->kernel->axes[reader->reduced[0]].extent;
    if (k >= 0 && k % VECTOR == 0) return false;
    for (int i = 0; i < v->n_axes; i++) {
        if (v->axes[i] == reader->reduced[0]) continue;
        if (node_has_axis(other, v->axes[i])) axes[n++] = v->axes[i];
        else if (own >= 0) return false;
        else own = v->axes[i];
    }
    if (own < 0 || g->kernel->axes[own].extent <= 0 || g->kernel->axes[own].extent % VECTOR) return false;
    axes[n++] = reader->reduced[0];
    axes[n] = own;
    return true;
}

/* The storage order of a value: for the contraction that reads it, what it sums over stands last and so contiguous, as
 * it lies in the other factor, or it stays as it lies (keeps_order), or the other label does where vectors fit that
 * alone (turns_order); for a pointwise reader, the order of an output with the same axes if there is one. Slices of k
 * lie outermost. */
static void choose_order(struct fuser *f, struct buffer *b, const struct node *reader) {
    const struct node *v = b->value;
    b->n_axes = 0;
    if (node_is_stored(v)) {
        b->n_axes = v->n_at;
        memcpy(b->axes, v->at, sizeof b->axes);
        return;
    }
    if (reader && (keeps_order(f->g, b, reader, b->axes) || turns_order(f->g, b, reader, b->axes))) {
        b->n_axes = v->n_axes;
        return;
    }
    struct axis_list k = {0};
    int own[MAX_AXES];
    own_order(f->g, v, own);
    if (reader) labels_of_k(f, v, reader, &k);
    for (int i = 0; i < v->n_axes; i++)
        if (!set_has(k.axes, k.n, own[i])) b->axes[b->n_axes++] = own[i];
    for (int i = 0; i < k.n; i++) b->axes[b->n_axes++] = k.axes[i];
    struct partial_of x;
    if (as_partial(
            f->g, v, &x)) /* runs outermost: neighbouring rows, or columns, are written side by side, and joined so */
        put_first(b, x.run, x.n);
    if (reader) return;
    int slices[MAX_AXES], n_slices = slice_axes(f, v, slices);
    if (n_slices) put_first(b, slices, n_slices);
    for (int i = 0; i < f->g->kernel->n_params; i++) {
        const struct param *p = &f->g->kernel->params[i];
        if (!p->is_output || !nodes_same_axes(p->axes, p->n_axes, v->axes, v->n_axes)) continue;
        memcpy(b->axes, p->axes, sizeof p->axes);
        return;
    }
}

/* Where the value is what a parameter holds that is stored to at positions, it is read there, after that store. The
 * parameter rounds what is stored as a buffer of its dtype does. */
static void hold(const struct fuser *f, struct buffer *b) {
    for (int o = 0; o < f->g->n_outputs; o++) {
        const struct output *out = &f->g->outputs[o];
        const struct param *p = &f->g->kernel->params[out->param];
        if (out->whole != b->value || f->through[o] || p->dtype != b->dtype || p->packed.factor || p->is_strided ||
            !nodes_same_axes(p->axes, p->n_axes, b->value->axes, b->value->n_axes))
            continue;
        b->held = 1 + out->param;
        b->n_axes = p->n_axes;
        memcpy(b->axes, p->axes, sizeof p->axes);
        return;
    }
}

int fuse_need_buffer(struct fuser *f, struct node *value, enum fx_dtype dtype, const struct node *reader,
    const char *why, struct span span) {
    int i = find_buffer(f->p, value, dtype);
    if (i >= 0) return i;
    struct buffer *b = &PUSH(&f->g->cx->arena, f->p->buffers, f->p->n_buffers);
    *b = (struct buffer){.value = value, .dtype = dtype, .why = why, .span = span};
    choose_order(f, b, reader);
    hold(f, b);
    return f->p->n_buffers - 1;
}

int fuse_need_split(struct fuser *f, const struct product *x, int s) {
    struct node *value = fuse_split_value(f->g, x, s);
    const int k = x->sum->reduced[0], i = find_split_buffer(f->p, value, x->is_halved, k);
    if (i >= 0) return i;
    struct buffer *b = &PUSH(&f->g->cx->arena, f->p->buffers, f->p->n_buffers);
    *b = (struct buffer){.value = value,
        .dtype = FX_F32,
        .is_split = true,
        .is_halved = x->is_halved,
        .k = k,
        .n_mn = x->is_halved ? fuse_halved_labels(f->g, x, s) : 0,
        .why = arena_printf(&f->g->cx->arena,
            "%s is multiplied in parts, %s an element, which tensor cores take",
            ir_quote(f->g, node_is_stored(value) ? fuse_stored_of(value) : value),
            x->is_halved ? "two f16" : "three bf16"),
        .span = value->span,
        .n_axes = value->n_axes};
    if (x->is_halved) memcpy(b->axes, f->g->kernel->params[value->param].axes, (size_t)b->n_axes * sizeof *b->axes);
    else fuse_split_order(f->g, x, s, b->axes);
    return f->p->n_buffers - 1;
}

/* ---- in place ---- */

/* The value of output o goes to a buffer, in the dtype and the order of the parameter. */
static void store_through(struct fuser *f, int o) {
    const struct output *out = &f->g->outputs[o];
    const struct param *p = &f->g->kernel->params[out->param];
    struct node *value = copied_value(out->value);
    int n = f->p->n_buffers, b = fuse_need_buffer(f, value, p->dtype, NULL, f->through[o], out->value->span);
    if (b == n && nodes_same_axes(value->axes, value->n_axes, p->axes, p->n_axes))
        memcpy(f->p->buffers[b].axes, p->axes, sizeof p->axes);
}

static void add_copies(struct fuser *f) {
    for (int o = 0; o < f->g->n_outputs; o++) {
        const struct output *out = &f->g->outputs[o];
        const struct param *p = &f->g->kernel->params[out->param];
        const struct axis_set space = store_space(f->g, out->value, out->param);
        if (!f->through[o]) continue;
        struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = (struct group){
            .is_copy = true, .copied = find_buffer(f->p, copied_value(out->value), p->dtype), .n_axes = space.n};
        memcpy(r->axes, space.axes, (size_t)space.n * sizeof *space.axes);
        fuse_add_store(f, r, out->value, out->param, -1);
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

/* ---- a proposal ---- */

/* The groups of a proposal, one a contraction to begin with. */
static void begin_groups(struct fuser *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        if (!fuse_is_for_mainloop(f, f->g->nodes[i])) continue;
        struct group *r = &PUSH(&f->g->cx->arena, f->p->groups, f->p->n_groups);
        *r = (struct group){.contraction = f->g->nodes[i], .n_sums = 1, .order = i, .n_axes = f->g->nodes[i]->n_axes};
        memcpy(r->axes, f->g->nodes[i]->axes, sizeof r->axes);
        r->sums[0].sum = f->g->nodes[i];
    }
    int n = f->p->n_groups;
    if (f->chains) fuse_make_chains(f);
    for (int i = 0; i < n; i++) {
        struct group *r = &f->p->groups[i];
        struct chain_parts parts;
        if (r->intermediate) continue;
        if (!f->chains) fuse_ends_chain(f, r->contraction, &parts); /* for the reason */
        fuse_place_operands(f, &r->sums[0]);
    }
}

static void fill_partition(struct fuser *f, const struct partition *like) {
    const struct graph *g = f->g;
    *f->p = *like;
    begin_groups(f);
    fuse_place_partials(f);
    int n_contractions = f->p->n_groups, n_buffers;
    for (int i = 0; i < g->n_outputs; i++)
        if (f->through[i]) store_through(f, i);
    do { /* again with the buffers that were asked for: whoever meets what one holds reads it there, and so comes after
            it */
        n_buffers = f->p->n_buffers;
        f->p->n_groups = n_contractions;
        for (int i = 0; i < n_contractions; i++) f->p->groups[i].n_stores = 0;
        for (int i = 0; i < g->n_outputs; i++)
            if (!f->through[i]) fuse_place_store(f, g->outputs[i].value, g->outputs[i].param, -1);
            else fuse_place_positions(f, i);
        struct partial_of x;
        for (int late = 0; late < 2; late++) /* runs of rows behind the row programs that take them */
            for (int b = 0; b < f->p->n_buffers; b++) /* grows while it runs */
                if (!f->p->buffers[b].held && late == as_partial(g, f->p->buffers[b].value, &x))
                    fuse_place_store(f, f->p->buffers[b].value, -1, b);
    } while (f->p->n_buffers != n_buffers);
    if (f->rows && f->epilogues) fuse_join_rows(f);
    add_copies(f);
    fuse_sort_groups(f);
    for (int i = 0; i < f->p->n_groups; i++)
        if (f->p->groups[i].is_row) fuse_collect_steps(f, &f->p->groups[i]);
}

struct proposer { /* to propose a partition */
    const char *name;
    bool epilogues, rows, loaders, chains, anew, inner, few, splits, halves, keeps, pairs; /* as in struct fuser */
    const bool *early;                                                              /* likewise */
};

/* What row programs would make by loops of their threads. */
struct thread_loops {
    bool has_inner, has_few; /* as in struct fuser */
};

static const char *name_stored(struct proposer w) {
    if (w.pairs) return "rows pairs stored";
    if (w.halves) return w.rows ? "rows halves stored" : "halves stored";
    if (w.splits) return w.rows ? "rows split stored" : "split stored";
    return w.early && w.inner ? "rows early inner stored"
           : w.early  ? "rows early stored"
           : w.few    ? "rows few stored"
           : w.inner  ? "rows inner stored"
           : w.anew   ? "chain anew stored"
           : w.chains ? "chain stored"
           : w.rows   ? "rows stored"
                      : "stored";
}

static struct thread_loops propose(const struct graph *g, struct graph *out, struct proposer w) {
    struct fuser f = {.g = g,
        .epilogues = w.epilogues,
        .rows = w.rows,
        .loaders = w.loaders,
        .joins = w.epilogues,
        .chains = w.chains,
        .anew = w.anew,
        .inner = w.inner,
        .few = w.few,
        .splits = w.splits,
        .halves = w.halves,
        .keeps = w.keeps,
        .pairs = w.pairs,
        .early = w.early,
        .constants = graph_constants(g)};
    const struct partition like = {.name = w.name,
        .has_rows = w.rows,
        .is_separate = !w.epilogues,
        .wanted = w.halves && list_has(g->with, FUSE_HALVES) ? 2 : w.splits && list_has(g->with, FUSE_SPLIT),
        .is_optional = w.chains || w.splits || w.keeps || w.pairs || ((w.inner || w.early) && w.epilogues)};
    f.no_chain = NEW_ARRAY(&g->cx->arena, const char *, g->n_nodes + 1);
    f.chained = w.chains ? fuse_find_chained(&f) : NULL;
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
    if ((w.chains || w.inner || w.early || w.pairs) && ir_verify_order(g, f.p)) { /* still */
        out->n_partitions--;
        return (struct thread_loops){f.has_inner, f.has_few};
    }
    if (w.loaders && w.epilogues && !w.keeps && fuse_makes_factors(f.p, g, NULL)) {
        const bool makes_constants = fuse_makes_factors(f.p, g, f.constants);
        struct proposer kept = w;
        w.name = name_stored(w), w.loaders = false;
        kept.name = arena_printf(&g->cx->arena, "%s const", kept.name), kept.keeps = true;
        propose(g, out, w);
        if (makes_constants) propose(g, out, kept);
    }
    return (struct thread_loops){f.has_inner, f.has_few};
}

/* Whether a reduction or scan might be part of a row program. */
static bool has_loops(const struct graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if ((g->nodes[i]->kind == N_REDUCE || g->nodes[i]->kind == N_SCAN) && !is_matrix_product(g, g->nodes[i]))
            return true;
    return false;
}

static bool has_pairings(const struct graph *g) {
    struct contraction c;
    for (int i = 0; i < g->n_nodes; i++)
        if (as_pairing(g, g->nodes[i], &c)) return true;
    return false;
}

static int count_chains(const struct graph *g, bool anew) {
    struct fuser f = {.g = g, .anew = anew, .no_chain = NEW_ARRAY(&g->cx->arena, const char *, g->n_nodes + 1)};
    struct chain_parts parts;
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += fuse_ends_chain(&f, g->nodes[i], &parts);
    return n;
}

struct graph *pass_fuse(const struct graph *g) {
    struct graph *out = graph_like(g);
    *out = *g;
    out->partitions = NULL;
    out->n_partitions = 0;
    propose(g, out, (struct proposer){.name = "fused", .epilogues = true, .loaders = true});
    const bool splits = fuse_has_split(g, false), halves = fuse_has_split(g, true);
    struct proposer split = {.name = "split", .epilogues = true, .loaders = true, .splits = true};
    if (splits) propose(g, out, split);
    split.name = "halves", split.halves = true;
    if (halves) propose(g, out, split);
    propose(g, out, (struct proposer){.name = "separate"});
    if (has_loops(g)) {
        struct proposer rows = {.name = "rows", .epilogues = true, .rows = true, .loaders = true};
        const struct thread_loops loops = propose(g, out, rows);
        if (loops.has_inner) {
            rows.name = "rows inner", rows.inner = true;
            propose(g, out, rows);
        }
        if (loops.has_few) {
            struct proposer few = rows;
            few.name = "rows few", few.inner = few.few = true;
            propose(g, out, few);
        }
        struct proposer early = rows;
        early.name = "rows early", early.early = fuse_find_early(g);
        if (early.early && propose(g, out, early).has_inner) {
            early.name = "rows early inner", early.inner = true;
            propose(g, out, early);
        }
        propose(g, out, (struct proposer){.name = "rows separate", .rows = true, .inner = loops.has_inner});
        struct proposer pairs = {.name = "rows pairs", .epilogues = true, .rows = true, .loaders = true, .pairs = true};
        pairs.inner = loops.has_inner;
        if (has_pairings(g)) propose(g, out, pairs);
        rows.name = "rows split", rows.splits = true;
        if (splits) propose(g, out, rows);
        rows.name = "rows halves", rows.halves = true;
        if (halves) propose(g, out, rows);
    }
    struct proposer chain = {.name = "chain", .epilogues = true, .rows = true, .loaders = true, .chains = true};
    int n_chains = count_chains(g, false);
    if (n_chains) propose(g, out, chain);
    chain.name = "chain anew", chain.anew = true;
    if (count_chains(g, true) > n_chains) propose(g, out, chain);
    return out;
}
