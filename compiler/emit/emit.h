/* From the unit to the `.cu` text. */
#ifndef FX_EMIT_H
#define FX_EMIT_H

#include "emit/emit_value.h"
#include "plan/unit.h"

/* emit.c: the whole `.cu`. */
void emit_cu(struct buf *out, const struct unit *u, const struct fx_plan *plan);
/* emit_contract.c: how to launch the entries. */
void emit_contract(struct buf *out, const struct fx_plan *plan);
/* emit_pieces.c: what the text needs of compiler/kernels. */
void emit_pieces(struct buf *out, const char *generated, size_t len);
/* emit_problem.c: the problem struct of one launch. Which of its arguments something in it reads: the others are no
 * fields. */
const bool *emit_problem(
    struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l);
/* emit_body.c: what is computed of an element of a group that is no row program, after what its driver asks for. */
void emit_body(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names);
/* emit_row.c: what the row driver asks of it, after its fields. */
void emit_row_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names);
/* emit_bins.c: what the bins driver asks of it, after its fields. */
void emit_bins_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names);
/* emit_gemm.c: what the gemm driver asks of it, after its fields: shape, operands (emit_operand.h), segments. */
void emit_gemm_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l);
/* Its segments alone, numbered from `first` on; has_a: each with its A, else B only. */
void emit_gemm_segments(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    const struct gemm_shape *shape, int first, bool has_a);
/* emit_chain.c: what the chain driver asks of it, after its fields, but for the epilogue of the second contraction. */
void emit_chain_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names);
/* Gives the nodes that the passes of a chain leave their names in p, in `results`; the result of the second contraction
 * at an element of it, where `acc` names the sum. */
void emit_chain_results(struct values *w, struct scope *p, const struct launch *l, const char *results);
void emit_chain_sum(struct values *w, struct scope *p, const struct launch *l, const char *results, const char *acc);
const char *emit_ctype(enum fx_dtype t);
/* Whether elements of t are converted to and from float as they are moved, others being moved as they are; the type of
 * those that are held. */
bool emit_is_converted(enum fx_dtype t);
const char *emit_held_ctype(enum fx_dtype t);
/* Of a tensor's elements: what is in parts has fixed extents, and its type says how far they lie apart. */
const char *emit_tensor_ctype(const struct graph *g, const struct tensor *t);
/* emit_text.c */
#define EMIT_MARK "\1" /* before a line, `const TYPE NAME = ..`, that may turn out to be of no use */
/* Writes a function: "  FX_DEVICE int k(const f_ &p) const", and its statements, whole lines or a single one without
 * the end of it. Parameters that they do not mention have no name; marked lines whose name no line after them mentions
 * are left out. */
void emit_function(struct buf *out, const char *head, const char *statements);
bool emit_has_word(const char *text, const char *word); /* comments apart */
/* What an argument is called; `const fx_bf16 *x_`, as a parameter of an entry or a field. */
const char *emit_argument(const struct launch *l, const struct fx_arg *a);
void emit_declaration(struct buf *out, const struct scheduled_graph *c, const struct launch *l, const struct fx_arg *a);

#endif
