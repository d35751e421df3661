/* Shared by the files that write the members of a chain's problem struct: emit_chain.c writes shapes and the values of
 * a row, emit_chain_pass.c the computation of elements in a pass, emit_chain_short.c shorter forms of it. */
#ifndef FX_EMIT_CHAIN_H
#define FX_EMIT_CHAIN_H

#include "schedule/chain_program.h"
#include "emit/emit.h"

struct chain_problem {
    struct values w; /* statements being written; its user is this */
    const struct unit *u;
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct group *r;
    const struct chain *x;
    const struct narrow *narrow; /* what elements compute in 32 bits */
    const char *start, *end;     /* where a row's elements begin and end, as members of values */
    const char *shift[MAX_EXPS]; /* what the shifted exponential is shifted by so far, as a member of sums */
};

static inline struct arena *arena(struct chain_problem *b) { return &b->u->cx->arena; }
static inline const char *member(struct chain_problem *b, const struct node *n) { return emit_member(b->w.names, n); }
/* Member n of what `of` names. */
static inline const char *member_of(struct chain_problem *b, const char *of, const struct node *n) {
    return arena_printf(arena(b), "%s.%s", of, member(b, n));
}
/* What the reduction n starts from. */
static inline const char *start_of(struct chain_problem *b, const struct node *n) {
    return value_start(&b->w, n->reduction, n->args[0]->dtype);
}
static inline const struct chain_pass *pass_of(const struct chain_problem *b, int pass) {
    return &b->x->passes[pass];
}
static inline bool has_sums(const struct chain_problem *b, int pass) {
    return b->x->passes[pass].n_maxima || b->x->passes[pass].n_others;
}

/* ---- emit_chain.c ---- */
/* Gives the labels of l their indices in p. */
void chain_bind(struct chain_problem *b, struct scope *p, const struct axis_list *l, const char *var);
/* The scope of a row: what is known once `pass` passes are over. */
struct scope *chain_at_row(struct chain_problem *b, int pass);

/* ---- emit_chain_pass.c ---- */
/* What elements compute in 32 bits: sums and differences of indices of rows and of the intermediate, which are below
 * 2^31 wherever the driver runs. */
const struct narrow *chain_find_narrow(struct chain_problem *b);
/* The members about the elements in a pass. */
void emit_chain_pass(struct chain_problem *b, int pass);

/* ---- emit_chain_short.c ---- */
/* The exponential of a pass whose elements are not multiplied by a factor, maxima and exponents are; or NULL. */
const struct shifted_exp *chain_factored(const struct chain_problem *b, int pass);
/* Computes functions that are shorter where their result may be as far off as any. */
void emit_chain_loose(struct chain_problem *b, struct scope *p, int pass);
/* Computes positions along the intermediate, and distances from them, as floats, of elements of which something is
 * needed. */
void emit_chain_positions(struct chain_problem *b, struct scope *p, const bool *needed);
/* Exponential k, taken online, of x. */
void emit_chain_exp(struct chain_problem *b, struct scope *p, int k, const char *x);
/* Whether n is a part of exponentials that emit_chain_in_short computes whole. */
bool chain_is_part(const struct chain_problem *b, const struct chain_pass *over, const struct node *n);
/* Computes n if it is an exponential shifted by what first contractions do not make, or divides by a sum of them, which
 * these do not make either. */
bool emit_chain_in_short(
    struct chain_problem *b, struct scope *p, const struct chain_pass *over, const struct node *n);

#endif
