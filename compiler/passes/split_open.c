/* Slices of k whose number the launch determines, for split_k.
 *
 * In: a contraction some of whose extents are open, and the label that is cut. Out: labels of the kernel, each with the
 * equation that gives its extent: the number of slices that keep all multiprocessors busy, the number of slices, their
 * length, and whether cutting pays, as split_k.c decides it for known extents. Times are in femtoseconds. */
#include "graph/tensor.h"
#include "passes/build.h"
#include "passes/open.h"

/* 1 where a side has so few rows that the skinny driver takes the product. */
static void push_is_few(const struct open_writer *w, struct terms *x) {
    open_side(w, x, FX_T_MIN);
    open_op(x, split_few_rows(w->of->bits), FX_T_LE);
}

/* The time of a product of few rows: of its bytes, of which an SM reads no more than it can, or of waiting. */
static void push_skinny(const struct open_writer *w, struct terms *x, int number, int place) {
    enum { SHARE = 10 };
    open_side(w, x, FX_T_MAX);
    open_batches(w, x, number);
    terms_op(x, FX_T_MUL);
    open_depth(w, x, place);
    terms_op(x, FX_T_MUL);
    open_op(x, open_femtoseconds(w->of->bits / 8.0 / w->m->copied), FX_T_MUL);
    open_op(x, (int64_t)SHARE * w->m->sms, FX_T_MUL);
    open_side(w, x, FX_T_MAX);
    open_op(x, FEW_TILE, FX_T_CDIV);
    open_batches(w, x, number);
    terms_op(x, FX_T_MUL);
    open_op(x, (int64_t)(SHARE * ALONE), FX_T_MUL);
    open_op(x, (int64_t)SHARE * w->m->sms, FX_T_MIN);
    terms_op(x, FX_T_DIV);
    open_depth(w, x, place);
    open_op(x, open_femtoseconds(ROUND_SECONDS / ROUND), FX_T_MUL);
    terms_op(x, FX_T_MAX);
}

/* Whether the cut is so much faster than the whole that it pays. */
static struct fx_expr pays_expr(const struct open_writer *w, int number, int place) {
    enum { QUARTERS = 4 };
    struct terms x = {.a = w->a};
    push_is_few(w, &x); /* the cut */
    push_skinny(w, &x, number, place);
    terms_op(&x, FX_T_MUL);
    push_is_few(w, &x);
    open_op(&x, 0, FX_T_EQ);
    open_product(w, &x, number, place);
    open_odd(w, &x);
    open_odd_slices(w, &x);
    terms_extent(&x, w->k, number);
    terms_op(&x, FX_T_MIN);
    open_op(&x, 1, FX_T_MAX);
    terms_op(&x, FX_T_DIV);
    terms_op(&x, FX_T_MAX);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    terms_size(&x, w->k, w->n->axes, w->n->n_axes);
    terms_extent(&x, w->k, number);
    terms_op(&x, FX_T_MUL);
    open_op(&x, open_femtoseconds(2.0 * fx_dtype_bits(w->n->dtype) / 8 / w->m->copied), FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    open_op(&x, open_femtoseconds(JOIN_SECONDS), FX_T_ADD);
    open_op(&x, QUARTERS, FX_T_MUL);
    open_product(w, &x, -1, -1); /* the whole, which few rows may have by the skinny driver */
    open_odd(w, &x);
    terms_op(&x, FX_T_MAX);
    push_skinny(w, &x, -1, -1);
    push_is_few(w, &x);
    open_op(&x, 0, FX_T_EQ);
    open_op(&x, OPEN_NEVER, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    terms_op(&x, FX_T_MIN);
    open_op(&x, (int64_t)(QUARTERS * WORTH), FX_T_MUL);
    terms_op(&x, FX_T_LT);
    return terms_done(&x);
}

/* ---- labels ---- */

/* split_most over the extents of a launch. */
static struct terms most_terms(const struct open_writer *w) {
    static const struct split_tile many = {TILE, TILE, 1};
    struct terms x = {.a = w->a};
    terms_constant(&x, (int64_t)split_busy_tiles(w->m));
    open_side(w, &x, FX_T_MAX);
    open_op(&x, FEW_TILE, FX_T_CDIV);
    open_batches(w, &x, -1);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_DIV);
    push_is_few(w, &x);
    terms_op(&x, FX_T_MUL);
    terms_constant(&x, w->m->sms);
    open_tiles(w, &x, &many, -1);
    terms_op(&x, FX_T_DIV);
    push_is_few(w, &x);
    open_op(&x, 0, FX_T_EQ);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    open_depth(w, &x, -1);
    open_op(&x, LEAST_SLICE, FX_T_DIV);
    terms_op(&x, FX_T_MIN);
    open_op(&x, 1, FX_T_MAX);
    return x;
}

int64_t split_most(const struct graph *g, const struct node *n, const struct slices *of) {
    const struct kernel *k = g->kernel;
    const struct open_writer w = {&g->cx->arena, g->cx->arch, k, n, of};
    int64_t *extents = NEW_ARRAY(w.a, int64_t, k->n_axes), most;
    for (int i = 0; i < k->n_axes; i++) extents[i] = (int64_t)nominal_extent(g, i);
    struct terms x = most_terms(&w);
    const struct fx_expr e = terms_done(&x);
    return fx_expr_eval(&e, &(struct fx_env){.extents = extents}, &most) ? most : 1;
}

/* The length of slices of label k, as many as label `most` says or fewer: a multiple of split_step. */
static struct terms length_terms(const struct open_writer *w, int most) {
    struct terms x = {.a = w->a};
    terms_extent(&x, w->k, w->of->k);
    terms_extent(&x, w->k, most);
    terms_op(&x, FX_T_CDIV);
    open_op(&x, split_step(w->of->bits), FX_T_CDIV);
    open_op(&x, 1, FX_T_MAX);
    open_op(&x, split_step(w->of->bits), FX_T_MUL);
    return x;
}

/* Numbers of equal slices that an open label may be cut in. */
static const int shares[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 24, 25, 26, 27, 28, 30, 32,
    33, 36, 40, 44, 48, 54, 56, 60, 64, 72, 80, 96, 108, 128};
enum { N_SHARES = sizeof shares / sizeof *shares };

int split_even(int64_t extent, double most) {
    int n = 1;
    for (int i = 0; i < N_SHARES; i++)
        if (shares[i] <= most && extent % shares[i] == 0) n = shares[i];
    return n;
}

/* As split_even has it. */
static struct terms even_terms(const struct open_writer *w, int most) {
    struct terms x = {.a = w->a};
    terms_constant(&x, 1);
    for (int i = 0; i < N_SHARES; i++) {
        terms_constant(&x, shares[i]);
        terms_extent(&x, w->k, most);
        terms_op(&x, FX_T_LE);
        terms_extent(&x, w->k, w->of->k);
        open_op(&x, shares[i], FX_T_MOD);
        open_op(&x, 0, FX_T_EQ);
        terms_op(&x, FX_T_MUL);
        open_op(&x, shares[i], FX_T_MUL);
        terms_op(&x, FX_T_MAX);
    }
    return x;
}

static struct terms quotient_terms(const struct open_writer *w, int a, int b, enum fx_term_op op) {
    struct terms x = {.a = w->a};
    terms_extent(&x, w->k, a);
    terms_extent(&x, w->k, b);
    terms_op(&x, op);
    return x;
}

/* A label made of the one that is cut. */
static int add_label(const struct graph *g, struct kernel *k, const struct slices *of, double nominal,
    const char *suffix, const struct terms *x, const char *text) {
    const struct axis whole = k->axes[of->k];
    const struct axis label = {.name = whole.name, .extent = -1, .nominal = nominal, .span = whole.span};
    return build_made_label(
        g, k, label, suffix, terms_done(x), arena_printf(&g->cx->arena, text, NAME_ARG(whole.name)));
}

void split_open_labels(
    const struct graph *g, struct kernel *k, const struct node *n, const struct slices *of, int *number, int *place) {
    const struct open_writer w = {&g->cx->arena, g->cx->arch, k, n, of};
    struct terms x = most_terms(&w);
    const int most = add_label(g, k, of, of->most, "_most", &x, "slices of " NAME_FMT " that keep a GPU busy");
    if (of->is_even) {
        x = even_terms(&w, most);
        *number = add_label(g, k, of, of->number, "_slices", &x, "the most of these that divide " NAME_FMT);
        x = quotient_terms(&w, of->k, *number, FX_T_DIV);
        *place = add_label(g, k, of, of->length, "_slice", &x, "the length of slices of " NAME_FMT);
    } else {
        x = length_terms(&w, most);
        *place = add_label(g, k, of, of->length, "_slice", &x, "the length of slices of " NAME_FMT);
        x = quotient_terms(&w, of->k, *place, FX_T_CDIV);
        *number = add_label(g, k, of, of->number, "_slices", &x, "slices of " NAME_FMT);
    }
    struct fx_expr pays = pays_expr(&w, *number, *place);
    if (k->n_pays < MAX_PAYS) k->pays[k->n_pays++] = pays;
}
