/* Slices of k whose number the launch determines, for split_k.
 *
 * In: a contraction some of whose extents are open, and the label that is cut. Out: labels of the kernel, each with the
 * equation that gives its extent: the number of slices that keep all multiprocessors busy, the number of slices, their
 * length, and whether cutting pays, as split_k.c decides it for known extents. Times are in femtoseconds. */
#include "graph/tensor.h"
#include "graph/terms.h"
#include "passes/build.h"
#include "passes/split_k.h"

struct slice_writer { /* of expressions on contraction n */
    struct arena *a;
    const struct arch *m;
    const struct kernel *k;
    const struct node *n;
    const struct slices *of;
};

static void constant_op(struct terms *x, int64_t v, enum fx_term_op op) { terms_constant(x, v), terms_op(x, op); }
static const int64_t NEVER = INT64_C(1) << 60;
static int64_t femtoseconds(double seconds) { return (int64_t)(seconds * 1e15); }

/* The extents of labels of n that one factor has and the other has not, or both, multiplied. */
static void own_size(const struct slice_writer *w, struct terms *x, const struct node *with, const struct node *other,
    bool are_shared) {
    int axes[MAX_AXES], n_axes = 0;
    for (int i = 0; i < w->n->n_axes; i++)
        if (node_has_axis(with, w->n->axes[i]) && node_has_axis(other, w->n->axes[i]) == are_shared)
            axes[n_axes++] = w->n->axes[i];
    terms_size(x, w->k, axes, n_axes);
}

/* The lesser or the greater one of both sides. */
static void push_side(const struct slice_writer *w, struct terms *x, enum fx_term_op which) {
    own_size(w, x, w->of->of.a, w->of->of.b, false);
    own_size(w, x, w->of->of.b, w->of->of.a, false);
    terms_op(x, which);
}

/* 1 where a side has so few rows that the skinny driver takes the product. */
static void push_is_few(const struct slice_writer *w, struct terms *x) {
    push_side(w, x, FX_T_MIN);
    constant_op(x, split_few_rows(w->of->bits), FX_T_LE);
}

/* Batches: slices among them where `number` is a label. */
static void push_batches(const struct slice_writer *w, struct terms *x, int number) {
    own_size(w, x, w->of->of.a, w->of->of.b, true);
    if (number < 0) return;
    terms_extent(x, w->k, number);
    terms_op(x, FX_T_MUL);
}

/* Tiles of the whole, or of all slices. */
static void push_tiles(const struct slice_writer *w, struct terms *x, const struct split_tile *t, int number) {
    push_side(w, x, FX_T_MIN);
    constant_op(x, t->rows, FX_T_CDIV);
    push_side(w, x, FX_T_MAX);
    constant_op(x, t->cols, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    push_batches(w, x, number);
    terms_op(x, FX_T_MUL);
}

/* What is summed up, of the whole or of a slice. */
static void push_depth(const struct slice_writer *w, struct terms *x, int place) {
    int axes[MAX_AXES];
    for (int i = 0; i < w->n->n_reduced; i++)
        axes[i] = place >= 0 && w->n->reduced[i] == w->of->k ? place : w->n->reduced[i];
    terms_size(x, w->k, axes, w->n->n_reduced);
}

/* 1 where the extent of a label is no multiple of so many elements, which 16 bytes hold. */
static void push_is_odd(const struct slice_writer *w, struct terms *x, int label, int elements) {
    terms_extent(x, w->k, label);
    constant_op(x, elements, FX_T_MOD);
    constant_op(x, 0, FX_T_EQ);
    constant_op(x, 0, FX_T_EQ);
}

/* The time of a product by the tile that suits it best; uncut, clusters may share out the k of a tile. */
static void push_product(const struct slice_writer *w, struct terms *x, int number, int place) {
    /* A cluster of 2 where all of them run at once: arch_cluster_blocks has it of the last wave's tiles alone. */
    static const struct cluster_step two = {1, 2, 1};
    int n = 0;
    for (int i = 0; i < N_TILES; i++) {
        const struct split_tile *t = &split_tiles[i];
        const double of_k = 2.0 * t->rows * t->cols / (w->of->rate * t->rate) / w->m->cycles;
        for (int clusters = 0; clusters <= (number < 0 && w->of->has_clusters); clusters++) {
            push_tiles(w, x, t, number);
            constant_op(x, w->m->sms, FX_T_CDIV);
            push_depth(w, x, place);
            terms_op(x, FX_T_MUL);
            constant_op(x, femtoseconds(of_k), FX_T_MUL);
            if (clusters) {
                terms_constant(x, 1);
                for (int c = 0; c <= N_CLUSTER_STEPS; c++) {
                    const struct cluster_step *step = c ? &arch_cluster_steps[c - 1] : &two;
                    push_tiles(w, x, t, number);
                    constant_op(x, step->of_tiles, FX_T_MUL);
                    constant_op(x, (int64_t)step->of_sms * w->m->sms, FX_T_LE);
                    constant_op(x, step->blocks, FX_T_MUL);
                    terms_op(x, FX_T_ADD);
                }
                terms_op(x, FX_T_DIV);
                constant_op(x, femtoseconds(EXCHANGE_SECONDS), FX_T_ADD);
                if (w->of->stored >= 0) {
                    push_is_odd(w, x, w->of->stored, w->of->chunk);
                    constant_op(x, NEVER, FX_T_MUL);
                    terms_op(x, FX_T_ADD);
                }
            }
            if (n++) terms_op(x, FX_T_MIN);
        }
    }
}

/* The time of a product of few rows: of its bytes, of which an SM reads no more than it can, or of waiting. */
static void push_skinny(const struct slice_writer *w, struct terms *x, int number, int place) {
    enum { SHARE = 10 };
    push_side(w, x, FX_T_MAX);
    push_batches(w, x, number);
    terms_op(x, FX_T_MUL);
    push_depth(w, x, place);
    terms_op(x, FX_T_MUL);
    constant_op(x, femtoseconds(w->of->bits / 8.0 / w->m->copied), FX_T_MUL);
    constant_op(x, (int64_t)SHARE * w->m->sms, FX_T_MUL);
    push_side(w, x, FX_T_MAX);
    constant_op(x, FEW_TILE, FX_T_CDIV);
    push_batches(w, x, number);
    terms_op(x, FX_T_MUL);
    constant_op(x, (int64_t)(SHARE * ALONE), FX_T_MUL);
    constant_op(x, (int64_t)SHARE * w->m->sms, FX_T_MIN);
    terms_op(x, FX_T_DIV);
    push_depth(w, x, place);
    constant_op(x, femtoseconds(ROUND_SECONDS / ROUND), FX_T_MUL);
    terms_op(x, FX_T_MAX);
}

/* The last label of a factor of 16-bit floats as it lies in memory; -1: there is none. */
static int row_label(const struct slice_writer *w, const struct node *f) {
    const struct param *p = f->kind == N_INPUT ? &w->k->params[f->param] : NULL;
    return p && p->n_axes && fx_dtype_bits(p->dtype) == 16 ? p->axes[p->n_axes - 1] : -1;
}

/* The time of the engine that takes any alignment where rows are such, else 0, as build_odd_seconds has it. */
static void push_odd(const struct slice_writer *w, struct terms *x) {
    enum { OF_16_BYTES = 8 }; /* 16-bit floats */
    static const struct split_tile odd = {ODD_TILE, ODD_TILE, 1};
    const int a = row_label(w, w->of->of.a), b = row_label(w, w->of->of.b);
    if (a < 0 && b < 0) return terms_constant(x, 0);
    push_is_odd(w, x, a < 0 ? b : a, OF_16_BYTES);
    if (a >= 0 && b >= 0 && a != b) push_is_odd(w, x, b, OF_16_BYTES), terms_op(x, FX_T_OR);
    terms_constant(x, ODD_FEW_ROWS);
    push_side(w, x, FX_T_MIN);
    terms_op(x, FX_T_LT);
    terms_op(x, FX_T_MUL);
    push_tiles(w, x, &odd, -1);
    constant_op(x, ODD_BLOCKS * (int64_t)w->m->sms, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    push_depth(w, x, -1);
    constant_op(x, ODD_TILE, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    constant_op(x, femtoseconds(ODD_SECONDS), FX_T_MUL);
}

/* In how many slices such a product takes so much less. */
static void push_odd_slices(const struct slice_writer *w, struct terms *x, int number) {
    static const struct split_tile odd = {ODD_TILE, ODD_TILE, 1};
    terms_constant(x, w->m->sms);
    push_tiles(w, x, &odd, -1);
    terms_op(x, FX_T_DIV);
    push_depth(w, x, -1);
    constant_op(x, LEAST_SLICE, FX_T_DIV);
    terms_op(x, FX_T_MIN);
    terms_extent(x, w->k, number);
    terms_op(x, FX_T_MIN);
    constant_op(x, 1, FX_T_MAX);
}

/* Whether the cut is so much faster than the whole that it pays. */
static struct fx_expr pays_expr(const struct slice_writer *w, int number, int place) {
    enum { QUARTERS = 4 };
    struct terms x = {.a = w->a};
    push_is_few(w, &x); /* the cut */
    push_skinny(w, &x, number, place);
    terms_op(&x, FX_T_MUL);
    push_is_few(w, &x);
    constant_op(&x, 0, FX_T_EQ);
    push_product(w, &x, number, place);
    push_odd(w, &x);
    push_odd_slices(w, &x, number);
    terms_op(&x, FX_T_DIV);
    terms_op(&x, FX_T_MAX);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    terms_size(&x, w->k, w->n->axes, w->n->n_axes);
    terms_extent(&x, w->k, number);
    terms_op(&x, FX_T_MUL);
    constant_op(&x, femtoseconds(2.0 * fx_dtype_bits(w->n->dtype) / 8 / w->m->copied), FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    constant_op(&x, femtoseconds(JOIN_SECONDS), FX_T_ADD);
    constant_op(&x, QUARTERS, FX_T_MUL);
    push_product(w, &x, -1, -1); /* the whole, which few rows may have by the skinny driver */
    push_odd(w, &x);
    terms_op(&x, FX_T_MAX);
    push_skinny(w, &x, -1, -1);
    push_is_few(w, &x);
    constant_op(&x, 0, FX_T_EQ);
    constant_op(&x, NEVER, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    terms_op(&x, FX_T_MIN);
    constant_op(&x, (int64_t)(QUARTERS * WORTH), FX_T_MUL);
    terms_op(&x, FX_T_LT);
    return terms_done(&x);
}

/* ---- labels ---- */

/* split_most over the extents of a launch. */
static struct terms most_terms(const struct slice_writer *w) {
    static const struct split_tile many = {TILE, TILE, 1};
    struct terms x = {.a = w->a};
    terms_constant(&x, (int64_t)split_busy_tiles(w->m));
    push_side(w, &x, FX_T_MAX);
    constant_op(&x, FEW_TILE, FX_T_CDIV);
    push_batches(w, &x, -1);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_DIV);
    push_is_few(w, &x);
    terms_op(&x, FX_T_MUL);
    terms_constant(&x, w->m->sms);
    push_tiles(w, &x, &many, -1);
    terms_op(&x, FX_T_DIV);
    push_is_few(w, &x);
    constant_op(&x, 0, FX_T_EQ);
    terms_op(&x, FX_T_MUL);
    terms_op(&x, FX_T_ADD);
    push_depth(w, &x, -1);
    constant_op(&x, LEAST_SLICE, FX_T_DIV);
    terms_op(&x, FX_T_MIN);
    constant_op(&x, 1, FX_T_MAX);
    return x;
}

int64_t split_most(const struct graph *g, const struct node *n, const struct slices *of) {
    const struct kernel *k = g->kernel;
    const struct slice_writer w = {&g->cx->arena, g->cx->arch, k, n, of};
    int64_t *extents = NEW_ARRAY(w.a, int64_t, k->n_axes), most;
    for (int i = 0; i < k->n_axes; i++) extents[i] = (int64_t)nominal_extent(g, i);
    struct terms x = most_terms(&w);
    const struct fx_expr e = terms_done(&x);
    return fx_expr_eval(&e, &(struct fx_env){.extents = extents}, &most) ? most : 1;
}

/* The length of slices of label k, as many as label `most` says or fewer: a multiple of split_step. */
static struct terms length_terms(const struct slice_writer *w, int most) {
    struct terms x = {.a = w->a};
    terms_extent(&x, w->k, w->of->k);
    terms_extent(&x, w->k, most);
    terms_op(&x, FX_T_CDIV);
    constant_op(&x, split_step(w->of->bits), FX_T_CDIV);
    constant_op(&x, 1, FX_T_MAX);
    constant_op(&x, split_step(w->of->bits), FX_T_MUL);
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
static struct terms even_terms(const struct slice_writer *w, int most) {
    struct terms x = {.a = w->a};
    terms_constant(&x, 1);
    for (int i = 0; i < N_SHARES; i++) {
        terms_constant(&x, shares[i]);
        terms_extent(&x, w->k, most);
        terms_op(&x, FX_T_LE);
        terms_extent(&x, w->k, w->of->k);
        constant_op(&x, shares[i], FX_T_MOD);
        constant_op(&x, 0, FX_T_EQ);
        terms_op(&x, FX_T_MUL);
        constant_op(&x, shares[i], FX_T_MUL);
        terms_op(&x, FX_T_MAX);
    }
    return x;
}

static struct terms quotient_terms(const struct slice_writer *w, int a, int b, enum fx_term_op op) {
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
    const struct slice_writer w = {&g->cx->arena, g->cx->arch, k, n, of};
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
