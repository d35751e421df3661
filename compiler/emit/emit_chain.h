/* What the members of a chain's problem struct are made of (emit_chain.c), and the shorter forms that its elements may
 * take (emit_chain_short.c). */
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

/* The exponential of a pass whose elements are not multiplied by a factor, maxima and exponents are; or NULL. */
const struct shifted_exp *chain_factored(const struct chain_problem *b, int pass);
/* Computes functions that are shorter where their result may be as far off as any. */
void emit_chain_loose(struct chain_problem *b, struct scope *p, int pass);
/* Exponential k, taken online, of x. */
void emit_chain_exp(struct chain_problem *b, struct scope *p, int k, const char *x);
/* Whether n is a part of exponentials that emit_chain_in_short computes whole. */
bool chain_is_part(const struct chain_problem *b, const struct chain_pass *over, const struct node *n);
/* Computes n if it is an exponential shifted by what first contractions do not make, or divides by a sum of them, which
 * these do not make either. */
bool emit_chain_in_short(
    struct chain_problem *b, struct scope *p, const struct chain_pass *over, const struct node *n);

#endif
