/* What split_k and pad_k know of the times of a product at fixed extents, as expressions over those of a launch.
 *
 * In: a contraction some of whose extents are open. Out: terms, appended to an expression of the plan. Times are in
 * femtoseconds. */
#include "passes/open.h"

#include "graph/tensor.h"
#include "passes/build.h"

void open_op(struct terms *x, int64_t v, enum fx_term_op op) { terms_constant(x, v), terms_op(x, op); }
int64_t open_femtoseconds(double seconds) { return (int64_t)(seconds * 1e15); }

/* The extents of labels of n that one factor has and the other has not, or both, multiplied. */
static void own_size(const struct open_writer *w, struct terms *x, const struct node *with, const struct node *other,
    bool are_shared) {
    int axes[MAX_AXES], n_axes = 0;
    for (int i = 0; i < w->n->n_axes; i++)
        if (node_has_axis(with, w->n->axes[i]) && node_has_axis(other, w->n->axes[i]) == are_shared)
            axes[n_axes++] = w->n->axes[i];
    terms_size(x, w->k, axes, n_axes);
}

void open_side(const struct open_writer *w, struct terms *x, enum fx_term_op which) {
    own_size(w, x, w->of->of.a, w->of->of.b, false);
    own_size(w, x, w->of->of.b, w->of->of.a, false);
    terms_op(x, which);
}

void open_batches(const struct open_writer *w, struct terms *x, int number) {
    own_size(w, x, w->of->of.a, w->of->of.b, true);
    if (number < 0) return;
    terms_extent(x, w->k, number);
    terms_op(x, FX_T_MUL);
}

void open_tiles(const struct open_writer *w, struct terms *x, const struct split_tile *t, int number) {
    open_side(w, x, FX_T_MIN);
    open_op(x, t->rows, FX_T_CDIV);
    open_side(w, x, FX_T_MAX);
    open_op(x, t->cols, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    open_batches(w, x, number);
    terms_op(x, FX_T_MUL);
}

void open_depth(const struct open_writer *w, struct terms *x, int place) {
    int axes[MAX_AXES];
    for (int i = 0; i < w->n->n_reduced; i++)
        axes[i] = place >= 0 && w->n->reduced[i] == w->of->k ? place : w->n->reduced[i];
    terms_size(x, w->k, axes, w->n->n_reduced);
}

void open_is_odd(const struct open_writer *w, struct terms *x, int label, int elements) {
    terms_extent(x, w->k, label);
    open_op(x, elements, FX_T_MOD);
    open_op(x, 0, FX_T_EQ);
    open_op(x, 0, FX_T_EQ);
}

void open_product(const struct open_writer *w, struct terms *x, int number, int place) {
    /* A cluster of 2 where all of them run at once: arch_cluster_blocks has it of the last wave's tiles alone. */
    static const struct cluster_step two = {1, 2, 1};
    int n = 0;
    for (int i = 0; i < N_TILES; i++) {
        const struct split_tile *t = &split_tiles[i];
        const double of_k = 2.0 * t->rows * t->cols / (w->of->rate * t->rate) / w->m->cycles;
        for (int clusters = 0; clusters <= (number < 0 && w->of->has_clusters); clusters++) {
            open_tiles(w, x, t, number);
            open_op(x, w->m->sms, FX_T_CDIV);
            open_depth(w, x, place);
            terms_op(x, FX_T_MUL);
            open_op(x, open_femtoseconds(of_k), FX_T_MUL);
            if (clusters) {
                terms_constant(x, 1);
                for (int c = 0; c <= N_CLUSTER_STEPS; c++) {
                    const struct cluster_step *step = c ? &arch_cluster_steps[c - 1] : &two;
                    open_tiles(w, x, t, number);
                    open_op(x, step->of_tiles, FX_T_MUL);
                    open_op(x, (int64_t)step->of_sms * w->m->sms, FX_T_LE);
                    open_op(x, step->blocks, FX_T_MUL);
                    terms_op(x, FX_T_ADD);
                }
                terms_op(x, FX_T_DIV);
                open_op(x, open_femtoseconds(EXCHANGE_SECONDS), FX_T_ADD);
                if (w->of->stored >= 0) {
                    open_is_odd(w, x, w->of->stored, w->of->chunk);
                    open_op(x, OPEN_NEVER, FX_T_MUL);
                    terms_op(x, FX_T_ADD);
                }
            }
            if (n++) terms_op(x, FX_T_MIN);
        }
    }
}

/* The last label of a factor of 16-bit floats as it lies in memory; -1: there is none. */
static int row_label(const struct open_writer *w, const struct node *f) {
    const struct param *p = f->kind == N_INPUT ? &w->k->params[f->param] : NULL;
    return p && p->n_axes && fx_dtype_bits(p->dtype) == 16 ? p->axes[p->n_axes - 1] : -1;
}

bool open_has_odd_rows(const struct open_writer *w, struct terms *x) {
    enum { OF_16_BYTES = 8 }; /* 16-bit floats */
    const int a = row_label(w, w->of->of.a), b = row_label(w, w->of->of.b);
    if (a < 0 && b < 0) return terms_constant(x, 0), false;
    open_is_odd(w, x, a < 0 ? b : a, OF_16_BYTES);
    if (a >= 0 && b >= 0 && a != b) open_is_odd(w, x, b, OF_16_BYTES), terms_op(x, FX_T_OR);
    return true;
}

void open_odd(const struct open_writer *w, struct terms *x) {
    static const struct split_tile odd = {ODD_TILE, ODD_TILE, 1};
    if (!open_has_odd_rows(w, x)) return;
    terms_constant(x, ODD_FEW_ROWS);
    open_side(w, x, FX_T_MIN);
    terms_op(x, FX_T_LT);
    terms_op(x, FX_T_MUL);
    open_tiles(w, x, &odd, -1);
    open_op(x, ODD_BLOCKS * (int64_t)w->m->sms, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    open_depth(w, x, -1);
    open_op(x, ODD_TILE, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    open_op(x, open_femtoseconds(ODD_SECONDS), FX_T_MUL);
}

void open_odd_slices(const struct open_writer *w, struct terms *x) {
    static const struct split_tile odd = {ODD_TILE, ODD_TILE, 1};
    terms_constant(x, w->m->sms);
    open_tiles(w, x, &odd, -1);
    terms_op(x, FX_T_DIV);
    open_depth(w, x, -1);
    open_op(x, LEAST_SLICE, FX_T_DIV);
    terms_op(x, FX_T_MIN);
}
