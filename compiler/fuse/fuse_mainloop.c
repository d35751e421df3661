/* Part of the fuse pass: the factors and sums of a mainloop.
 *
 * In: contractions of a proposal. Out: for each factor its dtype, and whether it is in memory in that dtype, is
 * computed as it is loaded, or is written to a buffer first; and groups of sums over the same labels, which one
 * mainloop computes together. Invariant: a factor loses no bit that the language does not permit. */
#include "fuse/fuse.h"
#include "graph/operand.h"

/* Whether all that contraction n sums over is fixed, and a few elements. */
static bool is_short(const struct graph *g, const struct node *n) {
    enum { FEW = 8 };
    double size = 1;
    for (int i = 0; i < n->n_reduced; i++) {
        const int64_t extent = g->kernel->axes[n->reduced[i]].extent;
        if (extent < 1) return false;
        size *= (double)extent;
    }
    return size <= FEW;
}

/* Whether an element of v is made of an element of n, and of one of a longer contraction with the same results. */
static void find_beside(const struct graph *g, const struct node *v, const struct node *n, bool *seen, bool *has_own,
    bool *has_longer) {
    struct contraction c;
    if (seen[v->id]) return;
    seen[v->id] = true;
    *has_own |= v == n;
    *has_longer |= as_mainloop(v, &c) && nodes_same_axes(v->axes, v->n_axes, n->axes, n->n_axes) && !is_short(g, v);
    for (int i = 0; i < v->n_args; i++)
        if (v->kind == N_OP || v->kind == N_CAST) find_beside(g, v->args[i], n, seen, has_own, has_longer);
}

bool fuse_is_for_epilogue(const struct graph *g, const struct node *n) {
    bool any = false;
    if (n->dtype != FX_F32 || !is_short(g, n)) return false;
    for (int i = 0; i < g->n_outputs && !any; i++) {
        bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1), has_own = false, has_longer = false;
        find_beside(g, g->outputs[i].value, n, seen, &has_own, &has_longer);
        any = has_own && has_longer;
    }
    return any;
}

bool fuse_is_for_mainloop(const struct fuser *f, const struct node *n) {
    struct contraction c;
    if (as_mainloop(n, &c) && fuse_is_for_epilogue(f->g, n)) return false;
    if (f->pairs && as_pairing(f->g, n, &c)) return true;
    if (f->chained && f->chained[n->id]) return true;
    return f->rows ? is_matrix_product(f->g, n) : as_mainloop(n, &c);
}

/* ---- the dtype in which a contraction reads its factors (language.md, "Accumulation") ---- */

/* Bits of the integers that float dtype t holds without a gap. */
static int whole_bits(enum fx_dtype t) {
    return t == FX_F64 ? 53 : t == FX_F32 ? 24 : t == FX_F16 ? 11 : t == FX_BF16 ? 8 : t == FX_F8E4M3 ? 4 : 3;
}

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

enum {
    MOST_CHOICES = 256
}; /* looked through, since a value may be chosen by many ways; beyond them nothing is known */

static enum fx_dtype dtype_below(const struct graph *g, const struct node *n, int *left);

/* Of a choice between a and b: that of one which holds the other, or a number that fits it. */
static enum fx_dtype chosen_dtype(const struct graph *g, const struct node *choice, int *left) {
    const struct node *a = choice->args[1], *b = choice->args[2];
    if (--*left < 0) return choice->dtype;
    enum fx_dtype of_a = dtype_below(g, a, left), of_b = dtype_below(g, b, left);
    if (holds_fill(of_a, b) || holds_all(of_a, of_b)) return of_a;
    return holds_fill(of_b, a) || holds_all(of_b, of_a) ? of_b : choice->dtype;
}

static enum fx_dtype dtype_below(const struct graph *g, const struct node *n, int *left) {
    if (n->kind == N_INPUT) return g->kernel->params[n->param].dtype;
    if (n->kind == N_OP && n->op == O_WHERE) return chosen_dtype(g, n, left);
    if (n->kind != N_CAST && n->kind != N_ACCESS) return n->dtype;
    enum fx_dtype from = dtype_below(g, n->args[0], left);
    if (n->kind == N_ACCESS) return !n->has_fill || holds_fill(from, n->args[n->n_args - 1]) ? from : n->dtype;
    return holds_all(n->to, from) ? from : n->to;
}

/* The narrowest dtype known to hold the values of n: what it is stored or was rounded as, whatever it was widened to
 * since, and chosen from. */
static enum fx_dtype stored_dtype(const struct graph *g, const struct node *n) {
    int left = MOST_CHOICES;
    return dtype_below(g, n, &left);
}

static bool is_computed_below(const struct node *n, int *left) {
    if (n->kind == N_OP && n->op == O_WHERE)
        return --*left >= 0 && (is_computed_below(n->args[1], left) || is_computed_below(n->args[2], left));
    if (n->kind == N_ACCESS) return is_computed_below(n->args[0], left);
    return n->kind != N_INPUT && n->kind != N_CONST;
}

/* Whether n is computed, and no element of a tensor, wherever that lies, and no choice between such and numbers. */
static bool is_computed(const struct node *n) {
    int left = MOST_CHOICES;
    return is_computed_below(n, &left);
}

static bool is_small_float(enum fx_dtype t) { return fx_is_float(t) && fx_dtype_bits(t) <= 16; }

/* Whether n is a tensor, or elements of one at positions. */
static bool is_stored(const struct node *n) {
    while (n->kind == N_ACCESS) n = n->args[0];
    return n->kind == N_INPUT;
}

/* Whether factor n of a sum may be read as dtype t: exactly, or rounded once, a computed one beside a stored one that
 * licenses it, or where both are computed from tensors of t. */
static bool may_be_read_as(const struct graph *g, const struct node *sum, enum fx_dtype t, const struct node *n,
    const struct node *other) {
    enum fx_dtype own = stored_dtype(g, n), others = stored_dtype(g, other);
    if (holds_all(t, own)) return true;
    if (own != FX_F32 || !is_computed(n)) return false;
    return sum->rounds_to == t ||
           (sum->may_round && is_stored(other) && (others == t || (t == FX_BF16 && fx_is_f8(others))));
}

/* The dtypes in which a contraction reads its factors. Floats share one: 16 bits wide where one of them is no wider and
 * neither loses what it may not; integers of at most 8 bits that are summed in 32 stand as such. */
static void operand_dtypes(
    const struct graph *g, const struct node *contraction, struct node *const factor[2], enum fx_dtype out[2]) {
    enum fx_dtype own[2] = {stored_dtype(g, factor[0]), stored_dtype(g, factor[1])}, sum = contraction->dtype;
    bool is_f16 = true, is_bf16 = true, is_byte = sum == FX_I32;
    for (int s = 0; s < 2; s++) {
        is_f16 &= may_be_read_as(g, contraction, FX_F16, factor[s], factor[1 - s]);
        is_bf16 &= may_be_read_as(g, contraction, FX_BF16, factor[s], factor[1 - s]);
        is_byte &= holds_all(FX_I8, own[s]) || holds_all(FX_U8, own[s]);
    }
    out[0] = out[1] = sum;
    if (sum == FX_F32 &&
        (contraction->rounds_to != FX_BOOL || is_small_float(own[0]) || is_small_float(own[1]))) {
        bool wants_f16 = contraction->rounds_to == FX_F16 || own[0] == FX_F16 || own[1] == FX_F16;
        if (is_f16 && (!is_bf16 || wants_f16)) out[0] = out[1] = FX_F16;
        else if (is_bf16) out[0] = out[1] = FX_BF16;
    }
    for (int s = 0; s < 2 && is_byte; s++) out[s] = holds_all(FX_I8, own[s]) ? FX_I8 : FX_U8;
}

/* ---- where factors come from ---- */

/* Whether factor s of x stands in memory as a mainloop copies it: an input, a part of one or slices, stored as the
 * dtype it is read in. */
static bool is_in_memory(const struct graph *g, const struct product *x, int s) {
    struct tensor t;
    bool is_there = tensor_of_factor(g, x->factor[s], &t) ||
                    tensor_of_slices(g, x->sum, x->factor[s], x->factor[1 - s], &t);
    return is_there && t.dtype == x->dtype[s];
}

/* Collects what is reduced or scanned on the way to n, those loops not entered. */
static int loops_below(struct fuser *f, const struct node *n, struct node **found) {
    const int reached = fuse_walk(f);
    int n_found = 0;
    f->mark[n->id] = reached;
    for (int i = n->id; i >= 0; i--) {
        struct node *at = f->g->nodes[i];
        if (f->mark[i] != reached) continue;
        if (at->kind == N_REDUCE || at->kind == N_SCAN || node_is_stored(at)) found[n_found++] = at;
        else
            for (int a = 0; a < at->n_args; a++) f->mark[at->args[a]->id] = reached;
    }
    return n_found;
}

/* Whether a computed factor can be computed as it is loaded: not where it ends another mainloop, whose epilogue makes
 * it once. */
static bool is_loadable(struct fuser *f, const struct node *n) {
    struct node **found = NEW_ARRAY(&f->g->cx->arena, struct node *, f->g->n_nodes);
    int n_found = loops_below(f, n, found);
    for (int i = 0; i < n_found; i++)
        if (found[i] == n || (fuse_is_for_mainloop(f, found[i]) &&
                                 nodes_same_axes(found[i]->axes, found[i]->n_axes, n->axes, n->n_axes)))
            return false;
    return true;
}

static const double MOST_UNFOLDED = 2147483648.0; /* bytes that what is unfolded may take, where extents say so */

/* Whether a factor takes far more memory than what it is computed from: an unfolded image, an outer product. Written
 * out it might not even fit; where extents say that it does, times decide about one that is computed element by
 * element. */
static bool is_unfolded(struct fuser *f, const struct node *n, enum fx_dtype dtype) {
    const struct graph *g = f->g;
    const int reached = fuse_walk(f);
    double read = 0;
    f->mark[n->id] = reached;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = g->nodes[i];
        if (f->mark[i] != reached) continue;
        if (at->kind == N_INPUT || at->kind == N_REDUCE || at->kind == N_SCAN || node_is_stored(at))
            read += nominal_size(g, at->axes, at->n_axes);
        else
            for (int a = 0; a < at->n_args; a++) f->mark[at->args[a]->id] = reached;
    }
    const double size = nominal_size(g, n->axes, n->n_axes);
    bool fits = node_has_fixed_extents(g, n) && size * fx_dtype_bits(dtype) / 8 <= MOST_UNFOLDED;
    if (n->kind == N_OP && fits) return false;
    return size > 2 * read;
}

static const char *const by_maps = "tensor maps bring it";

const struct node *fuse_stored_of(const struct node *n) {
    while (n->kind == N_CAST || n->kind == N_ACCESS || n->kind == N_OP) n = n->args[node_is_op(n, O_WHERE)];
    return n;
}

int fuse_need_stored(struct fuser *f, struct node *n, const char *so_that) {
    const struct graph *g = f->g;
    const struct node *of = fuse_stored_of(n);
    const struct name *last = &g->kernel->axes[n->at[n->n_at - 1]].name;
    return fuse_need_buffer(f, n, n->to, NULL,
        arena_printf(&g->cx->arena, "%s is stored with " NAME_FMT " contiguous, so that %s",
            ir_quote(g, of), NAME_ARG(*last), so_that),
        n->span);
}

/* What a factor computed as it is loaded reads must be in memory. */
static void place_loops_below(struct fuser *f, const struct node *n) {
    struct node **found = NEW_ARRAY(&f->g->cx->arena, struct node *, f->g->n_nodes);
    int n_found = loops_below(f, n, found);
    for (int i = 0; i < n_found; i++) {
        if (node_is_stored(found[i])) {
            fuse_need_stored(f, found[i], by_maps);
            continue;
        }
        fuse_need_buffer(f, found[i], found[i]->dtype, NULL,
            arena_printf(&f->g->cx->arena, "%s is needed whole before the contraction whose factor is computed from it",
                ir_quote(f->g, found[i])),
            found[i]->span);
    }
}

static const char *why_stored(struct fuser *f, const struct node *n, enum fx_dtype dtype, const struct node *reader) {
    struct arena *a = &f->g->cx->arena;
    const struct node *input = n;
    while (input->kind == N_CAST) input = input->args[0];
    const struct param *p = input->kind == N_INPUT ? &f->g->kernel->params[input->param] : NULL;
    if (p && stored_dtype(f->g, n) == p->dtype) /* widened alone */
        return arena_printf(a, "%s is stored as %s%s, the contraction reads %s", ir_quote(f->g, input),
            fx_dtype_name(p->dtype), p->packed.factor ? ", packed" : "", fx_dtype_name(dtype));
    if (!f->loaders) return arena_printf(a, "%s is computed once, and then contracted", ir_quote(f->g, n));
    const char *no_chain = f->no_chain[reader->id];
    return no_chain ? arena_printf(a,
                          "%s ends a mainloop of its own, and is then contracted, and cannot stay on the chip: %s",
                          ir_quote(f->g, n), no_chain)
                    : arena_printf(a, "%s ends a mainloop of its own, and is then contracted", ir_quote(f->g, n));
}

/* The order in which a factor is stored whose labels of m or n are to be one run: these as the result has them, and k
 * before them where one of them is contiguous as the factor lies. */
static void order_joined(const struct fuser *f, const struct product *x, int s, struct buffer *b) {
    const struct graph *g = f->g;
    const struct node *v = x->factor[s];
    const int *result = x->sum->axes;
    struct tensor t;
    int n = 0;
    for (int i = 0; i < g->kernel->n_params; i++) {
        const struct param *p = &g->kernel->params[i];
        if (p->is_output && nodes_same_axes(p->axes, p->n_axes, x->sum->axes, x->sum->n_axes)) result = p->axes;
    }
    tensor_of_factor(g, v, &t);
    const bool is_k_first = node_has_axis(x->sum, t.axes[t.n_axes - 1]);
    for (int turn = 0; turn < 3; turn++) { /* batches; then k and the others, in either order */
        const bool is_k = turn == (is_k_first ? 1 : 2);
        for (int i = 0; turn && is_k && i < v->n_axes; i++)
            if (!node_has_axis(x->sum, v->axes[i])) b->axes[n++] = v->axes[i];
        for (int i = 0; !is_k && i < x->sum->n_axes; i++)
            if (node_has_axis(v, result[i]) && node_has_axis(x->factor[1 - s], result[i]) == (turn == 0))
                b->axes[n++] = result[i];
    }
}

void fuse_place_factor(struct fuser *f, struct product *x, int s) {
    struct node *n = x->factor[s];
    x->buffer[s] = x->is_split ? fuse_need_split(f, x, s) : -1;
    if (x->is_split) return;
    struct node *stored = stored_as_named(f->g, n);
    if (stored && (stored == n || stored->to == x->dtype[s])) {
        x->buffer[s] = fuse_need_stored(f, stored, by_maps);
        return;
    }
    if (f->splits && fuse_is_turned(f->g, x, s)) {
        x->buffer[s] = fuse_need_buffer(f, n, x->dtype[s], x->sum,
            arena_printf(
                &f->g->cx->arena, "%s is turned so that k is contiguous, as tensor cores take %s",
                ir_quote(f->g, n), x->dtype[s] == FX_F32 ? "tf32" : "bytes"),
            n->span);
        return;
    }
    if (f->splits && fuse_is_joined(f->g, x, s)) {
        x->buffer[s] = fuse_need_buffer(f, n, x->dtype[s], x->sum,
            arena_printf(&f->g->cx->arena, "%s lies in pieces smaller than a tile", ir_quote(f->g, n)), n->span);
        order_joined(f, x, s, &f->p->buffers[x->buffer[s]]);
        return;
    }
    if (is_in_memory(f->g, x, s)) return;
    if (f->keeps && f->constants[n->id]) {
        x->buffer[s] = fuse_need_buffer(f, n, x->dtype[s], x->sum,
            arena_printf(&f->g->cx->arena, "%s is the same at every launch, and computed once", ir_quote(f->g, n)),
            n->span);
        return;
    }
    if ((f->loaders || (f->g->kernel->fuse != FUSE_NEVER && is_unfolded(f, n, x->dtype[s]))) && is_loadable(f, n))
        place_loops_below(f, n);
    else x->buffer[s] = fuse_need_buffer(f, n, x->dtype[s], x->sum, why_stored(f, n, x->dtype[s], x->sum), n->span);
}

struct product fuse_product(const struct graph *g, struct node *sum) {
    struct contraction c;
    const bool is_pairing = as_pairing(g, sum, &c);
    if (!is_pairing) as_contraction(sum, &c);
    struct product x = {.sum = sum, .factor = {c.a, c.b}, .buffer = {-1, -1}, .is_pairing = is_pairing};
    x.dtype[0] = x.dtype[1] = FX_F32;
    if (!is_pairing) operand_dtypes(g, sum, x.factor, x.dtype);
    for (int s = 0; s < 2; s++)
        x.is_rounded[s] = is_small_float(x.dtype[s]) && !holds_all(x.dtype[s], stored_dtype(g, x.factor[s]));
    return x;
}

void fuse_swap_factors(struct product *x) {
    const struct product y = *x;
    for (int s = 0; s < 2; s++) {
        x->factor[s] = y.factor[1 - s], x->buffer[s] = y.buffer[1 - s], x->dtype[s] = y.dtype[1 - s];
        x->is_rounded[s] = y.is_rounded[1 - s];
    }
}

/* Whether factor s, a tensor as it lies, has other labels between those of k, so that they are no single one, and is
 * far smaller than the other factor. */
static bool is_scattered(const struct graph *g, const struct product *x, int s) {
    struct tensor t;
    const struct node *n = x->factor[s], *other = x->factor[1 - s];
    if (x->buffer[s] >= 0 || x->sum->n_reduced < 2 || node_is_stored(n) || !tensor_of_factor(g, n, &t) || t.is_strided)
        return false;
    int first = -1, last = -1, n_k = 0;
    for (int i = 0; i < t.n_axes; i++)
        if (!node_has_axis(x->sum, t.axes[i])) {
            if (first < 0) first = i;
            last = i, n_k++;
        }
    const double most = nominal_size(g, other->axes, other->n_axes) / 8;
    return n_k == x->sum->n_reduced && last - first + 1 > n_k && nominal_size(g, n->axes, n->n_axes) <= most;
}

void fuse_place_operands(struct fuser *f, struct product *x) {
    *x = fuse_product(f->g, x->sum);
    if (f->splits) fuse_narrow(f->g, x);
    x->is_split = f->splits && fuse_is_split(f->g, x, f->halves);
    x->is_halved = x->is_split && f->halves && fuse_is_halved(f->g, x);
    for (int s = 0; s < 2; s++) fuse_place_factor(f, x, s);
    for (int s = 0; s < 2; s++)
        if (x->buffer[1 - s] >= 0 && is_scattered(f->g, x, s))
            x->buffer[s] = fuse_need_buffer(f, x->factor[s], x->dtype[s], x->sum,
                arena_printf(&f->g->cx->arena,
                    "%s is stored with what is summed contiguous, as the other factor has it",
                    ir_quote(f->g, x->factor[s])),
                x->factor[s]->span);
}

bool fuse_makes_factors(const struct partition *p, const struct graph *g, const bool *among) {
    for (int i = 0; i < p->n_groups; i++)
        for (int s = 0; s < 2 * p->groups[i].n_sums; s++) {
            const struct product *x = &p->groups[i].sums[s / 2];
            if (x->buffer[s % 2] < 0 && x->factor[s % 2] != p->groups[i].intermediate &&
                !is_in_memory(g, x, s % 2) && (!among || among[x->factor[s % 2]->id]))
                return true;
        }
    return false;
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
        int n_xm = own_axes(x->sum, x->factor[0], x->factor[1], xm),
            n_xn = own_axes(x->sum, x->factor[1], x->factor[0], xn);
        if (nodes_same_axes(m, n_m, xm, n_xm) && nodes_same_axes(n, n_n, xn, n_xn)) return true;
        fuse_swap_factors(x);
    }
    return false;
}

/* Whether one engine multiplies both: of floats the sums are all licensed to round to tf32, or none is. */
static bool has_same_engine(const struct product *h, const struct product *x) {
    return h->sum->dtype == x->sum->dtype && h->is_split == x->is_split && h->is_halved == x->is_halved &&
           h->dtype[0] == x->dtype[0] && h->dtype[1] == x->dtype[1] &&
           (h->dtype[0] != FX_F32 || h->sum->may_tf32 == x->sum->may_tf32);
}

/* How many sums the mainloop of h may have: bytes on their way through registers, and the sums of parts, leave
 * room for the accumulators of two. */
static int most_sums(const struct product *h) {
    return h->is_split || fx_dtype_bits(h->dtype[0]) == 8 ? 2 : MAX_SUMS;
}

bool fuse_join_sum(struct fuser *f, struct group *h, struct group *x) {
    if (!f->joins || h == x || h->intermediate || x->intermediate || x->n_sums != 1 ||
        h->n_sums >= most_sums(&h->sums[0]))
        return false;
    for (int i = 0; i < h->n_sums; i++) {
        struct node *first = h->sums[i].sum, *second = x->sums[0].sum;
        if (!nodes_same_axes(first->axes, first->n_axes, second->axes, second->n_axes)) return false;
        if (first->id < second->id ? fuse_is_above(f, second, first) : fuse_is_above(f, first, second)) return false;
    }
    if (h->sums[0].sum->may_scale || x->sums[0].sum->may_scale) return false; /* each has scales of its own */
    if (h->sums[0].is_pairing || x->sums[0].is_pairing) return false; /* each has a function of its own */
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
