/* Repacks factors that no tensor map can describe: rows whose length is no multiple of 16 bytes.
 *
 * In: a graph. Out: one in which sum[K](a * b) has become sum[P]((a[K: P] ?? 0) * (b[K: P] ?? 0)). a and b are floats
 * of 16 bits in memory, or f32 that is multiplied in parts of 16 bits. P is a new label of the kernel whose extent is
 * the next multiple of 8, or of slices of k that split_k cuts. This is done if a row of a or b is no multiple of 8
 * elements, and for 16 bits neither is K, and if the product is large enough, or has so few tiles and so long a k, that
 * it pays for two copies. The factors are then computed ones, and are stored before the product with P contiguous if
 * that is predicted to be faster. The added terms are 0 times 0. k is one label. All extents are fixed, or k is open, of
 * 16-bit inputs: the launch then has P, and what says when that pays is a condition of the kernel (`pays`). */
#include <string.h>

#include "graph/operand.h"
#include "passes/build.h"
#include "passes/open.h"
#include "passes/passes.h"

/* Elements of a line of the L2 cache, which k is a multiple of in the copies where that adds little. */
enum { STEP = 8, LINE = 64, FEW_K = 512, MOST_PADDED = 4, ELEMENT_BYTES = 2 };
/* What a copy costs beside its bytes. */
static const double COPY_SECONDS = 3e-6;
/* What the repacked product waits for memory, too. */
static const double WAITING_SECONDS = 6e-6;

/* Flops a cycle of a multiprocessor: of factors as they are, loaded without alignment; of repacked ones. Bytes of memory
 * that repacking takes for a byte of a factor: f32 is stored as three parts (fuse/fuse_split.c). */
static const struct rates {
    double as_it_is, repacked, copied;
} OF_16_BITS = {850, 3000, 2}, OF_F32 = {230, 520, 2.5};

struct padder {
    const struct graph *g;
    struct kernel *kernel; /* of the new graph */
    int n_padded, n_copies;
    struct repacked { /* a factor, by label */
        const struct node *of;
        int label;
        struct node *made;
    } copies[2 * MOST_PADDED];
};

static bool is_16_bit_float(enum fx_dtype t) { return t == FX_F16 || t == FX_BF16; }

/* Whether n is a tensor of that dtype and of fixed extents; then whether it has to be repacked, and its bytes. Of
 * 16 bits its rows decide, as they lie; parts may have any label contiguous that the other factor lacks, or k. */
static bool is_factor(const struct graph *g, const struct node *n, const struct node *other, int k, enum fx_dtype dtype,
    bool *is_odd, double *bytes) {
    struct tensor t;
    if (!tensor_of_factor(g, n, &t) || t.dtype != dtype || !t.n_axes) return false;
    *bytes = fx_dtype_bits(dtype) / 8;
    *is_odd = true;
    if (is_16_bit_float(dtype) && (int64_t)nominal_extent(g, k) % STEP == 0) *is_odd = false; /* as it is: windows.c */
    for (int i = 0; i < t.n_axes; i++) {
        const int64_t extent = (int64_t)nominal_extent(g, t.axes[i]);
        if (extent < 1 || (dtype == FX_F32 && g->kernel->axes[t.axes[i]].extent < 0)) return false;
        *bytes *= (double)extent;
        bool may_be_last = dtype == FX_F32 ? t.axes[i] == k || !node_has_axis(other, t.axes[i]) : i == t.n_axes - 1;
        if (may_be_last && extent % STEP == 0) *is_odd = false;
    }
    return true;
}

/* What the factors of a contraction are multiplied as: floats of 16 bits, f32 in parts, or NULL: neither. */
static const struct rates *rates_of(const struct graph *g, const struct node *sum, enum fx_dtype dtype) {
    if (is_16_bit_float(dtype)) return sum->may_round ? &OF_16_BITS : NULL;
    bool is_in_parts = dtype == FX_F32 && sum->dtype == FX_F32 && !sum->may_tf32 &&
                       g->kernel->precision != PRECISION_FMA;
    return is_in_parts ? &OF_F32 : NULL;
}

/* Whether the launch has some extent of n. */
static bool is_open(const struct graph *g, const struct node *n) {
    return g->kernel->axes[n->reduced[0]].extent < 0 || !node_has_fixed_extents(g, n);
}

/* Whether repacking pays of a product whose k is not cut. */
static struct fx_expr pays_expr(const struct graph *g, const struct kernel *k, const struct node *n,
    const struct contraction *c) {
    enum { ADDS = 2, THOUSAND = 1000 };
    const struct rates *of = &OF_16_BITS;
    const struct slices product = {.k = n->reduced[0], .stored = -1, .rate = of->repacked, .of = *c};
    const struct open_writer w = {&g->cx->arena, g->cx->arch, k, n, &product};
    struct terms x = {.a = &g->cx->arena};
    int n_copies = 0;
    open_is_odd(&w, &x, n->reduced[0], STEP);
    open_has_odd_rows(&w, &x);
    terms_op(&x, FX_T_AND);
    open_product(&w, &x, -1, -1);
    for (int side = 0; side < 2; side++) {
        const struct node *f = side ? c->b : c->a;
        if (node_is_constant(g, f)) continue;
        terms_size(&x, k, f->axes, f->n_axes);
        open_op(&x, open_femtoseconds(THOUSAND * ELEMENT_BYTES * of->copied / g->cx->arch->copied), FX_T_MUL);
        open_op(&x, THOUSAND, FX_T_DIV);
        terms_op(&x, FX_T_ADD);
        n_copies++;
    }
    open_op(&x, open_femtoseconds(n_copies * COPY_SECONDS), FX_T_ADD);
    open_odd(&w, &x); /* as it is; 0 of a few rows */
    open_odd_slices(&w, &x);
    open_op(&x, 1, FX_T_MAX);
    terms_op(&x, FX_T_DIV);
    terms_size(&x, k, n->axes, n->n_axes);
    terms_size(&x, k, n->reduced, 1);
    terms_op(&x, FX_T_MUL);
    open_op(&x, open_femtoseconds(ADDS / (of->as_it_is * arch_all_cycles(g->cx->arch))), FX_T_MUL);
    terms_op(&x, FX_T_MAX);
    terms_op(&x, FX_T_LT);
    terms_op(&x, FX_T_AND);
    return terms_done(&x);
}

/* Likewise at fixed extents. */
static bool pays(const struct graph *g, const struct node *n, const struct contraction *c) {
    const struct fx_expr e = pays_expr(g, g->kernel, n, c);
    int64_t *extents = NEW_ARRAY(&g->cx->arena, int64_t, g->kernel->n_axes + 1);
    for (int i = 0; i < g->kernel->n_axes; i++) extents[i] = g->kernel->axes[i].extent;
    return fx_expr_holds(&e, &(struct fx_env){.extents = extents});
}

static bool is_padded(const struct padder *s, const struct node *n) {
    const struct graph *g = s->g;
    const struct arch *m = g->cx->arch;
    struct contraction c;
    struct tensor a, b;
    bool odd[2];
    double bytes[2];
    if (n->kind != N_REDUCE || n->n_reduced != 1 || n->args[0]->n_axes >= MAX_AXES)
        return false;
    if (!as_mainloop(n, &c) || !is_matrix_product(g, n) || !tensor_of_factor(g, c.a, &a) ||
        !tensor_of_factor(g, c.b, &b))
        return false;
    const struct rates *of = rates_of(g, n, a.dtype);
    bool is_mixed = is_16_bit_float(a.dtype) && is_16_bit_float(b.dtype);
    if (is_open(g, n) && (c.a->kind != N_INPUT || c.b->kind != N_INPUT || a.is_strided || b.is_strided ||
                             g->kernel->axes[n->reduced[0]].extent >= 0))
        return false;
    if (!of || (a.dtype != b.dtype && !is_mixed) ||
        !is_factor(g, c.a, c.b, n->reduced[0], a.dtype, &odd[0], &bytes[0]) ||
        !is_factor(g, c.b, c.a, n->reduced[0], b.dtype, &odd[1], &bytes[1]) || (!odd[0] && !odd[1]))
        return false;
    int n_copies = 0; /* that each launch makes: what is constant is repacked once */
    for (int side = 0; side < 2; side++) {
        const bool is_once = node_is_constant(g, side ? c.b : c.a);
        bytes[side] *= !is_once, n_copies += !is_once;
    }
    double flops = 2.0 * nominal_size(g, n->axes, n->n_axes) * nominal_size(g, n->reduced, 1),
           all = arch_all_cycles(m), as_it_is = flops / (of->as_it_is * all);
    if (of == &OF_16_BITS) {
        double slices, waiting = build_odd_seconds(g, n, &c, &slices);
        if (waiting == 0) return false;
        if (slices > 1) waiting = waiting / slices + JOIN_SECONDS; /* split_k cuts it */
        if (waiting - WAITING_SECONDS > as_it_is) as_it_is = waiting - WAITING_SECONDS;
        if (!is_open(g, n) && pays(g, n, &c)) return true;
    }
    return as_it_is >
           flops / (of->repacked * all) + of->copied * (bytes[0] + bytes[1]) / m->copied + n_copies * COPY_SECONDS;
}

/* How long the new label is: of few tiles, whose k split_k may cut for every multiprocessor, slices of whole blocks, if
 * that adds little. */
static int64_t padded_extent(const struct graph *g, const struct node *n, const struct contraction *c) {
    enum { LEAST_PADDED = 1024, ADDED = 16 };
    const int64_t extent = g->kernel->axes[n->reduced[0]].extent, step = extent > FEW_K ? LINE : STEP,
                  least = (extent / step + 1) * step;
    int64_t slices = (int64_t)(g->cx->arch->sms / build_tiles(g, n, c, TILE));
    if (slices > extent / LEAST_PADDED) slices = extent / LEAST_PADDED;
    if (slices < 2) return least;
    const int64_t length = (extent / slices / SLICE_STEP + 1) * SLICE_STEP,
                  whole = (extent + length - 1) / length * length;
    return whole - extent <= extent / ADDED ? whole : least;
}

/* Factor f along the new label, 0 behind the end of the old one: once, however many products read it. */
static struct node *repacked(struct padder *s, struct graph *out, struct node *f, int k, int label,
    const struct node *like) {
    struct node at = {
        .kind = N_ACCESS, .dtype = f->dtype, .has_fill = true, .axis = -1, .span = like->span, .source = like->source};
    for (int i = 0; i < s->n_copies; i++)
        if (s->copies[i].of == f && s->copies[i].label == label) return s->copies[i].made;
    at.args[at.n_args++] = f;
    at.at[at.n_at++] = k;
    at.args[at.n_args++] = build_index(out, label, like);
    at.args[at.n_args] = build_zero(out, f->dtype, like);
    struct node *made = build_node(out, at);
    s->copies[s->n_copies++] = (struct repacked){f, label, made};
    return made;
}

/* What an open k is a multiple of in the copies: elements of a line of the L2 cache, where that adds little. */
static void push_step(struct terms *x, const struct kernel *kernel, int k) {
    terms_constant(x, FEW_K);
    terms_extent(x, kernel, k);
    terms_op(x, FX_T_LT);
    open_op(x, LINE - STEP, FX_T_MUL);
    open_op(x, STEP, FX_T_ADD);
}

/* The label that stands for k in the factors that are repacked; where the launch has extents, and when that pays. */
static int padded_label(struct padder *s, const struct node *n, const struct contraction *c) {
    const struct graph *g = s->g;
    const int k = n->reduced[0];
    const struct axis whole = s->kernel->axes[k];
    struct axis padded = {.name = whole.name, .extent = -1, .span = whole.span};
    if (!is_open(g, n)) {
        padded.extent = padded_extent(g, n, c), padded.nominal = (double)padded.extent;
        return build_made_label(g, s->kernel, padded, "_padded", (struct fx_expr){0}, "");
    }
    struct terms x = {.a = &g->cx->arena};
    terms_extent(&x, s->kernel, k);
    push_step(&x, s->kernel, k);
    terms_op(&x, FX_T_CDIV);
    push_step(&x, s->kernel, k);
    terms_op(&x, FX_T_MUL);
    padded.nominal = ((int64_t)whole.nominal / LINE + 1) * LINE;
    const int label = build_made_label(g, s->kernel, padded, "_padded", terms_done(&x),
        arena_printf(&g->cx->arena, NAME_FMT " in multiples of %d, or %d", NAME_ARG(whole.name), STEP, LINE));
    const struct fx_expr pays = pays_expr(g, s->kernel, n, c);
    if (s->kernel->n_pays < MAX_PAYS) s->kernel->pays[s->kernel->n_pays++] = pays;
    return label;
}

static struct node *pad(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct padder *s = state;
    struct contraction c;
    if (s->n_padded == MOST_PADDED || s->kernel->n_axes >= FX_MAX_EXTENTS || !is_padded(s, old) ||
        !as_contraction(old, &c))
        return graph_add(out, n);
    s->n_padded++, s->kernel->n_padded++;
    const int k = old->reduced[0], label = padded_label(s, old, &c);
    struct node *a = repacked(s, out, map[c.a->id], k, label, n), *b = repacked(s, out, map[c.b->id], k, label, n),
                sum = *n;
    sum.args[0] = build_op(out, O_MUL, a, b, NULL, n);
    sum.reduced[0] = label;
    return build_node(out, sum);
}

struct graph *pass_pad_k(const struct graph *g) {
    struct padder s = {.g = g, .kernel = NEW(&g->cx->arena, struct kernel)};
    if (g->kernel->fuse != FUSE_PREFER || g->kernel->kernels || !g->cx->arch->has_wgmma) return (struct graph *)g;
    *s.kernel = *g->kernel;
    struct graph *out = graph_like(g);
    out->kernel = s.kernel;
    graph_rewrite(g, out, pad, &s);
    return s.n_padded ? out : (struct graph *)g;
}
