/* Values of nodes in a scope, as C statements (emit_value.c; emit_operation.c for single operations). */
#ifndef FX_EMIT_VALUE_H
#define FX_EMIT_VALUE_H

#include "emit/emit_name.h"
#include "schedule/schedule.h"

struct scope { /* where statements stand: the indices of labels there, and what is computed already */
    const struct scope *outer;
    const char **at;    /* by axis: its index as a C expression; NULL: that of the scope around */
    const char **text;  /* by node: what names its value here; NULL: not computed here */
    const char **place; /* by node: where its value goes if it is one assignment, in place of a variable; NULL: none */
    const char **known; /* by node: what stands before what its variable is set to, "KEPT ? f.exp_[v] : "; or NULL */
};

struct narrow { /* what is known of an integer of indices, extents and numbers alone */
    bool is_narrow; /* it and all it is made of fit 32 bits where the kernel's indices do */
    int64_t lo, hi; /* then: it lies between */
};

struct values;
/* What names n's value where it need not be computed here: it is the accumulator, a buffer's element, what was fetched.
 * NULL where it is none of these. */
typedef const char *value_available(struct values *w, const struct scope *p, const struct node *n);

struct values { /* statements being written */
    struct buf *out;
    struct buf *around; /* where the function goes whose statements are being written; NULL: none */
    const char *head;   /* its head */
    const struct graph *g;
    const struct partition *partition;
    const struct group *group; /* whose values they are */
    int indent;
    const char **param_names, **axis_names; /* C names, by index */
    const char **stride_names;   /* of strided parameters, by fx_stride_index */
    value_available *available;
    void *user;                  /* for `available` */
    struct value_names *names;   /* of the struct they stand in */
    int *hoisted, n_hoists;      /* by node: the pass that met it last */
    bool is_beside_products; /* an epilogue of products, whose elements leave few warps to hide what one waits for */
    const char **divisor; /* by node: what names fx_divisor_of its value, for quotients by it; NULL: none */
    const bool *is_pair; /* by node: a difference named by its two terms, which casts alone read; NULL: none is */
    const struct narrow *narrow; /* by node: computed in the type `index`; NULL: all of them in the spec's types */
    const char *index;           /* what that type is called */
};

/* Statements about the graph of c that call parameters and extents as launch l does. */
struct values values_open(struct buf *out, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names, value_available *available, void *user);
struct arena *value_arena(const struct values *w);
void value_line(struct values *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct scope *scope_open(struct values *w, const struct scope *outer);
/* The index of a label in p; one fixed at 1 need not have been given any. */
const char *scope_index(const struct values *w, const struct scope *p, int axis);
/* What is computed in p as one assignment goes to `place`; `known` may spare its variable the computing. */
void scope_set_place(struct values *w, struct scope *p, const struct node *n, const char *place);
void scope_set_known(struct values *w, struct scope *p, const struct node *n, const char *known);
/* Writes what computes n in p, unless that was done, and returns what names it. */
const char *value_at(struct values *w, struct scope *p, struct node *n);
/* Assigns n to `place` in p, computed there if it was not. */
void value_put(struct values *w, struct scope *p, struct node *n, const char *place);
/* Likewise an available value, unless it stands there. */
void value_assign(struct values *w, const char *place, const char *value);
/* Begins a function, whose head is given without its brace, and ends it: emit_function. */
void value_open_function(struct values *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void value_close_function(struct values *w);
/* Opens a block of statements: what is named in it is not named behind it.
 * Gives what closes it, with the line `end`. */
int value_open_block(struct values *w);
void value_close_block(struct values *w, int block, const char *end);
/* Writes the positions of access n in p. Returns the scope in which its source is read, and the condition that it is
 * inside, NULL where it always is. */
struct scope *value_open_access(struct values *w, struct scope *p, struct node *n, const char **inside);
/* The element of a tensor of that C name in p. */
const char *value_element(struct values *w, const struct scope *p, const char *name, const struct tensor *t);
/* What the spec says for n; within a function of the language the call of it. NULL: nothing. */
const char *value_source(const struct graph *g, const struct node *n);
/* A comment that says so, and on which line: "  // line 3: softmax[T](s)", or "". */
const char *value_comment(const struct graph *g, const struct node *n);

/* emit_operation.c: the text of one operation; nothing is written. */
const char *value_ctype(enum fx_dtype t); /* of a compute type */
const char *value_sum_ctype(enum fx_dtype t); /* of what is added up in memory: a condition takes a word */
/* By node: a difference of small integers that casts to floats alone read, so that each may take both terms. */
const bool *value_pairs(struct values *w);
/* By node: a packed input without signs that those casts, or such a difference as its first term, alone read. */
const bool *value_bits(struct values *w);
/* Whether casts to narrow integers alone read n, which round what it rounds. */
bool value_is_rounded_late(const struct values *w, const struct node *n);
const char *value_of_element(struct values *w, enum fx_dtype t, const char *element);
const char *element_of_value(struct values *w, enum fx_dtype t, enum fx_dtype from, const char *value);
const char *value_literal(struct values *w, const struct node *n);
/* By node of g: which positions fit 32 bits, the extents of the axes marked being at most `most`. */
struct narrow *value_find_narrow(const struct graph *g, const bool *is_small, int64_t most);
/* Of an operation of narrow operands, whose result is one too. */
const char *value_narrow_operation(struct values *w, const struct node *n, const char *const *args);
const char *value_operation(struct values *w, const struct node *n, const char *const *args);
/* What a reduction of values of type t begins with; it and one more term. */
const char *value_start(struct values *w, enum reduction r, enum fx_dtype t);
const char *value_combined(struct values *w, enum reduction r, enum fx_dtype t, const char *so_far, const char *term);
/* a * b + c of type t. */
const char *value_fma(struct values *w, enum fx_dtype t, const char *a, const char *b, const char *c);
const char *value_cast(struct values *w, const struct node *n, const char *arg);

#endif
