/* The passes in order, each verified, with their dumps. */
#ifndef FX_PIPELINE_H
#define FX_PIPELINE_H

#include "graph/ir.h"

struct pass { /* a row of the table */
    const char *name;
    struct graph *(*run)(const struct graph *);
    bool is_required; /* cannot be skipped or stopped before */
    bool is_exact;    /* keeps every value to the bit, in double; else within what it states */
    const char *why;  /* it stands there */
    const char
        *again; /* where it changed something, the row that all run again from, up to this one; NULL: they do not */
};
/* The passes in order; NULL past the end. */
const struct pass *pipeline_pass(int i);

/* g after a row; after all from its `again` on where it has one, until it changes nothing. NULL after an internal
 * error, which is then in *wrong. */
struct graph *pipeline_settle(const struct pass *p, struct graph *g, const char **wrong);

struct pipeline_options {
    const char *dump_after; /* a pass or "all", or NULL */
    const char *stop_after; /* or NULL */
    const char *skip;       /* passes and rules, "cse,algebra.scale_out", or NULL */
    const char *with;       /* rules that are off by default, "algebra.exp2", or NULL */
};

/* Runs every pass on g; text of dumps goes to `dump`. NULL after an internal error, which is then in *wrong. */
struct graph *pipeline_run(struct graph *g, const struct pipeline_options *o, struct buf *dump, const char **wrong);
bool pipeline_has_pass(const char *name);
/* Whether "pass.rule" names a rule that can be switched. */
bool pipeline_has_rule(const char *name);
const char *pipeline_rule_name(int i); /* of algebra; NULL past the end */

#endif
