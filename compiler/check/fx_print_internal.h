/* Shared by the files that print kernels as .fx: fx_print.c (names, statements, signatures), fx_print_value.c
 * (expressions). */
#ifndef FX_FX_PRINT_INTERNAL_H
#define FX_FX_PRINT_INTERNAL_H

#include "check/fx_print.h"

enum { MAX_NESTED = 60 }; /* levels of an expression before a statement is made of a part of it */

struct printer {
    struct arena *a;
    const struct kernel *k;
    const char *const *axis_names; /* by axis */
    int *n_readers;                /* by value, outputs among them; 0: unused */
    bool *is_bound;                /* by value: has a statement */
    bool *in_position;             /* by value: stands in a position, where a label is its index */
    int *depth;                    /* by value, of the expression */
    struct ast_expr **expr;        /* by value: what its readers write */
    const char **taken;            /* names of values so far */
    int n_taken;
};

/* ---- fx_print_value.c ---- */
struct name print_text(const char *s);
struct ast_expr *print_new(struct printer *p, enum ast_kind kind);
struct ast_expr *print_id(struct printer *p, struct name n);
struct ast_expr *print_label(struct printer *p, int axis);
struct ast_expr *print_binary(struct printer *p, enum ast_op op, struct ast_expr *a, struct ast_expr *b);
struct ast_expr *print_integer(struct printer *p, int64_t v, bool is_unsigned);
/* A literal without its type; `may_be_whole`: 2 for 2.0. */
struct ast_expr *print_number(struct printer *p, const struct value *v, bool may_be_whole);
struct ast_expr *print_value(struct printer *p, const struct value *v);

#endif
