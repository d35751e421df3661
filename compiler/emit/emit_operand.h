/* Operands of a mainloop as members of a problem struct: emit_gemm.c writes the struct and operands in memory,
 * emit_operand.c computed operands. */
#ifndef FX_EMIT_OPERAND_H
#define FX_EMIT_OPERAND_H

#include "emit/emit.h"
#include "graph/operand.h"

struct operand_place { /* what an operand is written for */
    struct buf *out;  /* the problem struct */
    const struct unit *u;
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct graph *g;
    const struct gemm_shape *shape;
    const struct segment *segment; /* whose operand it is */
    char side;                     /* 'a' or 'b' */
    const struct axis_list *mn;    /* the labels of m or n */
    const char **params, **buffers, **axes, **strides; /* C names, members of p */
};

/* What t is called: as a member of p, or alone. */
const char *operand_tensor_name(const struct operand_place *at, const struct tensor *t, bool is_member);
/* The members of an computed operand, but for its layout: what chunks read, the functions that fetch it, make. */
void emit_computed_operand(const struct operand_place *at, const struct operand *o);
/* The member of a window of f32, or of its parts, that has one element of it, 0 outside: `element`. */
void emit_window_element(const struct operand_place *at, const struct operand *o);
/* A member of a segment by maps: scale_m of a row, or scale_n of a column, at a block of k; mn: the labels of that
 * side. scale NULL: it is 1. */
void emit_scale(const struct operand_place *at, char side, const struct axis_list *mn, struct node *scale);

#endif
