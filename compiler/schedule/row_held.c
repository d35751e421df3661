/* What a thread of the row driver holds of its row: how many adjacent elements, and how many words of registers these
 * and what is computed beside them take.
 *
 * In: a row program, and elements a vector. Out: numbers, by which row.c chooses teams and their blocks on an SM. */
#include "schedule/row_program.h"

enum { DIVISOR_WORDS = 6 }; /* an inverse in two parts, and what a quotient by it takes on the way */

int row_element_bytes(const struct tensor *t) { return fx_dtype_bits(t->dtype) / 8; }

int row_widest_scan(const struct row_program *x) {
    int most = 0;
    for (int i = 0; i < x->n_scans; i++)
        if (row_scan_words(x->scans[i]) > most) most = row_scan_words(x->scans[i]);
    return most;
}

int row_narrowest_bytes(const struct graph *g, const struct partition *p, const struct scheduled *s, int *total) {
    const struct row_program *x = s->row;
    int narrowest = 16;
    *total = 0;
    for (int i = 0; i < x->n_held + x->n_tail; i++) {
        int bytes = row_element_bytes(i < x->n_held ? &x->held[i] : &x->tail[i - x->n_held]);
        if (bytes < narrowest) narrowest = bytes;
        *total += bytes;
    }
    for (int i = 0; i < s->group->n_stores; i++) {
        struct tensor t = tensor_of_store(g, p, &s->group->stores[i]);
        if (row_stores_vectors(g, p, x, s->group, &s->group->stores[i]) && row_element_bytes(&t) < narrowest)
            narrowest = row_element_bytes(&t);
    }
    return narrowest;
}

int row_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, bool is_skewed) {
    const struct row_program *x = s->row;
    int total, narrowest = row_narrowest_bytes(g, p, s, &total);
    int64_t extent = is_skewed ? -1 : 1;
    for (int i = 0; i < x->along.n; i++) {
        int64_t e = g->kernel->axes[x->along.axes[i]].extent;
        extent = e < 0 || extent < 0 ? -1 : extent * e % 8;
    }
    int v = x->along.n == 0 || narrowest == 0 ? 1 : 16 / narrowest;
    if (v > 8) v = 8;
    /* What lanes tell each other is for each of V. */
    while (v > 1 && x->is_along_rows && v * row_widest_scan(x) > 8) v /= 2;
    while (v > 1 && (v * total > 256 || (extent >= 0 && extent % v))) v /= 2;
    return v;
}

int row_chunk_words(const struct row_program *x, int v, bool is_bare) {
    int words = 0;
    for (int i = 0; i < x->n_held; i++) words += (v * row_element_bytes(&x->held[i]) + 3) / 4;
    for (int i = 0; i < x->n_kept && !is_bare; i++) words += v * (fx_dtype_bits(x->kept[i]->dtype) == 64 ? 2 : 1);
    return words ? words : 1;
}

int row_tail_words(const struct row_program *x, int v) {
    int words = 0;
    for (int i = 0; i < x->n_tail; i++) words += (v * row_element_bytes(&x->tail[i]) + 3) / 4;
    return words;
}

int row_scan_chunk_words(const struct row_program *x, int v) {
    int words = row_chunk_words(x, v, false);
    for (int i = 0; i < x->n_scans; i++) words += v * row_scan_words(x->scans[i]);
    return words;
}

int row_run_words(const struct graph *g, const struct group *r, int v) {
    struct partial_of side;
    int words = 0;
    for (int i = 0; i < r->n_stores; i++)
        if (is_partial_store(g, r, &r->stores[i], &side)) words += v * fx_dtype_bits(r->stores[i].value->dtype) / 32;
    return words;
}

int row_divisor_words(const struct row_program *x) {
    int n = 0;
    for (int i = 0; i < x->n_known; i++) n += x->divides[x->known[i]->id] ? DIVISOR_WORDS : 0;
    return n;
}

int row_known_cols(const struct graph *g, const struct row_program *x, int most) {
    int64_t cols = 1;
    for (int i = 0; i < x->cols.n; i++) {
        const int64_t e = g->kernel->axes[x->cols.axes[i]].extent;
        if (e < 1 || cols * e > most) return most;
        cols *= e;
    }
    return (int)cols;
}
