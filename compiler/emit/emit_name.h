/* Names of the values in a problem struct (emit_name.c). */
#ifndef FX_EMIT_NAME_H
#define FX_EMIT_NAME_H

#include "base/names.h"
#include "plan/unit.h"

struct value_names { /* of one struct */
    const struct graph *g;
    const char *const *params; /* C names of parameters */
    const char **base;   /* by node: what it is called where that is free, once asked for */
    const char **member; /* by node: as a member of what the struct's functions hand on; NULL: it is none */
    bool *is_part;       /* by node: it is on the way to what the spec's expression comes to, not that itself */
    struct identifiers fields, own, members,
        locals; /* of the struct; what the spec names; of those structs; of the function being written */
};

struct value_names *emit_names(const struct scheduled_graph *c, const struct launch *l);
/* A function begins: none of its locals is there yet. */
void emit_begin_function(struct value_names *x);
/* Takes a local name for n, declared from here to the end of the block; names given back there are those behind
 * names.locals.n. */
const char *emit_local(struct value_names *x, const struct node *n);
/* Likewise for what is no node. */
const char *emit_local_as(struct value_names *x, const char *base);
/* Of the position along an axis at which n is read. */
const char *emit_local_position(struct value_names *x, const struct node *n, int axis);
/* What n is called as a member: the same in all structs and functions, and no other value's name. */
const char *emit_member(struct value_names *x, const struct node *n);
const char *emit_member_as(struct value_names *x, const char *base);

#endif
