/* Shared by the files that write the members of the problem struct of a row program: emit_row.c writes types, reads and
 * reductions, emit_row_store.c stores, emit_row_value.c the values in them. */
#ifndef FX_EMIT_ROW_H
#define FX_EMIT_ROW_H

#include "emit/emit.h"
#include "emit/emit_address.h"
#include "schedule/row_program.h"

struct rows {
    struct values w; /* statements being written; its user is this */
    const struct unit *u;
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct group *r;
    const struct row_program *x;
};

static inline struct arena *arena(struct rows *b) { return &b->u->cx->arena; }
static inline const char *name_of(const struct rows *b, const struct tensor *t) { return address_tensor(b->l, t); }
static inline const char *member(struct rows *b, const struct node *n) { return emit_member(b->w.names, n); }

/* ---- emit_row_value.c ---- */
/* What the place of tensor t in a vector is called, which access `at` reads, or nothing does at positions. */
const char *rows_held_name(struct rows *b, const struct tensor *t, const struct node *at);
/* What names a value that need not be computed. */
const char *rows_available(struct values *w, const struct scope *p, const struct node *n);
/* The element of t at a row and a column. */
const char *rows_element(struct rows *b, const struct tensor *t, const char *row, const char *col);
/* Gives those of n axes that l has their indices, the others 0. */
void rows_bind(struct rows *b, struct scope *p, const int *axes, int n, const struct axis_list *l, const char *var);
/* The scope of the row: what the passes before number `pass` left stands in `results`. */
struct scope *rows_at_row(struct rows *b, int pass, const char *row, const char *results);
/* The scope of an element of it. */
struct scope *rows_at_element(
    struct rows *b, int pass, const char *row, const char *col, const char *results, bool has_tail);
/* Which of the nodes kept in registers n is, or -1. */
/* Whether some entry has vectors that begin at boundaries of memory, wherever rows do. */
bool rows_are_skewed(const struct rows *b);
int rows_find_kept(const struct rows *b, const struct node *n);
/* Where V elements lie across rows: computes ahead of them, in `column`, what needs no row. What is available at
 * an element, p, is not available there. */
void rows_emit_column_values(struct rows *b, struct scope *column, const struct scope *p);
/* Computes in p what elements of a pass read, operands first and each once, so that no chain of them is walked deep.
 * What an earlier pass computed and registers keep is read. */
void rows_emit_needed(struct rows *b, struct scope *p, int pass);
/* Keeps positions from being computed once for all rows. */
void rows_hide_positions(struct rows *b);

/* ---- emit_row_store.c ---- */
/* What runs of rows add up to: its struct, and the functions over it. */
void rows_emit_sides_type(struct rows *b);
void rows_emit_sides(struct rows *b);
/* The function that stores elements, where there are any; the one that stores what is known of a row. */
void rows_emit_store(struct rows *b);
void rows_emit_results(struct rows *b);

#endif
