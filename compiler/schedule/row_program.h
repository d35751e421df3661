/* A row program in the form that the driver runs: the role of each label, the values of each pass, the values in
 * registers (row_program.c). */
#ifndef FX_ROW_PROGRAM_H
#define FX_ROW_PROGRAM_H

#include "schedule/schedule.h"

enum { MAX_KEPT = 2 };

struct row_shift;

struct row_pass { /* over a row: it ends in reductions, or stores elements */
    bool *reads;          /* by node: its elements are made of it, or the terms of its running sums are */
    bool *elements;       /* likewise but for those terms: of a running sum only the sum */
    struct node **ends;   /* the reductions that end in it */
    struct node **values; /* values of a row that are computed ahead of it, of what the passes before left */
    int n_ends, n_values;
    bool reads_apart;     /* of one that ends in reductions: elements read what is not held */
    struct row_shift *shifts; /* of each end, where it is a sum of exponentials that the pass before shifts by their
                                 maximum, or of squares of distances to the mean that it gives: then both passes may be
                                 one (`joins` of that); else NULL */
    bool joins;               /* the next pass may be taken with it, over rows that are read again */
};

struct row_shift {
    struct node *exponential; /* exp(x - shift), `of` being the maximum of x; NULL: (x - shift) ** 2, `of` its sum */
    struct node *shift, *of;
};

struct row_stage { /* of a row program whose rows are cut in parts: a launch of it */
    int pass;
    int scan; /* which running sum the parts add up, for pass and those after it to begin with; -1: it is the pass */
};

struct row_program {
    struct axis_list rows, cols; /* the labels of the group and those it reduces, each flattened; labels of one element
                                    are left out */
    struct axis_list along;      /* the last labels of cols, or of rows: adjacent in the tensor read most, and what V
                                    adjacent elements run over */
    bool is_along_rows;
    int beside;                  /* adjacent elements of a row behind which those of the next row lie; 0: none */
    int n_passes;                /* passes over a row that end in reductions; one more stores elements */
    struct row_pass *passes;     /* n_passes + 1 */
    int *level;                  /* by node: how many passes have to be over before it can be computed */
    bool *is_element;            /* by node: has a label of the row, so differs from element to element */
    bool *is_in_space;           /* by node: has no labels but those of rows and cols */
    struct node **known;         /* of a row: the results of its reductions, and values that its elements read and that
                                    are the same for all of it, computed once before pass level[] */
    int n_known;
    bool *divides;               /* by node: it is one of them, of f32, and elements are divided by it */
    struct node **scans;         /* running sums */
    int n_scans;
    struct row_stage *stages;
    int n_stages;
    struct tensor *held, *tail;  /* read as vectors along `along`: by passes that reduce or scan; by the last alone */
    struct node **held_at, **tail_at; /* of each the access that reads it at positions; NULL: it is read as it lies */
    int n_held, n_tail;
    bool *is_gathered;           /* by node: an access that such a vector may read, at positions that it shares */
    bool reads_apart;            /* elements of the last pass read tensors that do not lie along `along` */
    int n_kept;
    struct node *kept[MAX_KEPT]; /* computed in one pass and read in later ones: kept in registers where the row is */
    int kept_in[MAX_KEPT];       /* the pass that computes it */
    bool stores_elements, stores_results;
    int run;                     /* rows of a run, where the program also reduces runs of rows, else 0 */
    int run_label;               /* then the label of runs */
    struct axis_list runs;       /* and that of all runs flattened: rows, with it in the place of their last label */
    int pass_words;              /* most words that the sums of one pass take, padding included */
    int sum_words;               /* likewise where passes join */
    int part_words;              /* likewise of what a part of a row leaves: of a pass, or to a running sum */
};

/* How many passes over rows that are read again end in reductions: those that join count once. */
int row_read_passes(const struct row_program *x);
/* Words of a running sum. */
int row_scan_words(const struct node *n);
/* Whether stage s of x, which is in parts, reads elements: the last one only where it stores any. */
bool row_stage_reads(const struct row_program *x, const struct row_stage *s);
/* How many of its stages do. */
int row_reading_stages(const struct row_program *x);
/* The parts that each row of s is cut in. */
void row_parts(struct terms *t, const struct kernel *k, const struct scheduled *s);
/* row_labels.c: labels of rows and columns in the order of what is read most, and those along which vectors lie. */
void row_choose_labels(
    const struct graph *g, const struct partition *p, const struct group *r, struct row_program *x);
struct row_program *row_analyse(const struct graph *g, const struct partition *p, const struct group *r);
/* Whether t has an element of its own for each of x, and they lie in the order of its rows and columns. */
bool row_lies_whole(const struct row_program *x, const struct tensor *t);
/* Whether store s of r puts vectors: of elements along them, which at positions lie side by side within a row alone. */
bool row_stores_vectors(const struct graph *g, const struct partition *p, const struct row_program *x,
    const struct group *r, const struct store *s);

/* ---- row_held.c: what a thread holds of its row, of v adjacent elements a vector ---- */

/* Of an element of t. */
int row_element_bytes(const struct tensor *t);
/* Words of the running sum that takes most. */
int row_widest_scan(const struct row_program *x);
/* Bytes of an element of the narrowest tensor that lies along vectors, and of all that are read so. */
int row_narrowest_bytes(const struct graph *g, const struct partition *p, const struct scheduled *s, int *total);
/* Adjacent elements a thread takes: 16 bytes of the narrowest tensor that lies along them, as far as registers allow
 * and, unless is_skewed, a constant extent. */
int row_vector(const struct graph *g, const struct partition *p, const struct scheduled *s, bool is_skewed);
/* Words of registers a chunk takes while its row is kept; is_bare: without what is computed from it. */
int row_chunk_words(const struct row_program *x, int v, bool is_bare);
/* Words that the last pass alone reads beside a chunk. */
int row_tail_words(const struct row_program *x, int v);
/* Words of registers a chunk takes where running sums go down columns: those of all chunks, and what is read ahead for
 * the next round. */
int row_scan_chunk_words(const struct row_program *x, int v);
/* Words of what runs of rows add up to, V columns of each. */
int row_run_words(const struct graph *g, const struct group *r, int v);
/* Of the inverses of values of a row that others are divided by. */
int row_divisor_words(const struct row_program *x);
/* Elements of a row where they are known, and no more than `most`; else `most`. */
int row_known_cols(const struct graph *g, const struct row_program *x, int most);

#endif
