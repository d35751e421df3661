/* What a row program is made of: which label lies where, what is computed in which pass, what stays in registers
 * (row.c). */
#ifndef FX_ROW_PROGRAM_H
#define FX_ROW_PROGRAM_H

#include "schedule/schedule.h"

enum { MAX_KEPT = 2 };

struct row_program {
    struct axis_list rows,
        cols; /* the labels of the group and those it reduces, each flattened; labels of one element are left out */
    struct axis_list along; /* the last labels of cols, or of rows: adjacent in the tensor read most, and what V
                               adjacent elements run over */
    bool is_along_rows;
    int n_passes;           /* passes over a row that end in reductions; one more stores elements */
    int *level;             /* by node: how many passes have to be over before it can be computed */
    bool *is_element;       /* by node: has a label of the row, so differs from element to element */
    bool *is_row_value; /* by node: read by elements, the same for a whole row, no reduction of it: computed once before
                           pass level[] */
    struct tensor *held,
        *tail; /* read as vectors along `along`, by passes that reduce or scan, and by the last pass alone */
    int n_held, n_tail;
    int n_kept;
    struct node *kept[MAX_KEPT]; /* computed in one pass and read in later ones: kept in registers where the row is */
    int kept_in[MAX_KEPT];       /* the pass that computes it */
    bool stores_elements, stores_results;
    int sum_words;          /* most words that the sums of one pass take, padding included */
    bool has_scans;
};

struct row_program *row_analyse(const struct graph *g, const struct partition *p, const struct group *r);
/* The nodes that pass `pass` reads, marked by id, those of the terms of its running sums among them; the last pass is
 * number n_passes. */
void row_mark_pass(const struct graph *g, const struct partition *p, const struct group *r, const struct row_program *x,
    int pass, bool *needed);
/* Likewise what its elements read beside those terms: of a running sum only the sum. */
void row_mark_elements(const struct graph *g, const struct partition *p, const struct group *r,
    const struct row_program *x, int pass, bool *needed);
/* Whether the store is over the rows' elements, not over rows alone. */
bool row_stores_elements(
    const struct graph *g, const struct partition *p, const struct group *r, const struct store *s);
/* Whether t lies along the vectors of x: all of `along` as its last labels. */
bool row_is_along(const struct row_program *x, const struct tensor *t);

#endif
