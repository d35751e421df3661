/* The bound of eval.h, operation by operation: how far a right f32 implementation may be from what double gives (eval_bound.c). */
#ifndef FX_EVAL_BOUND_H
#define FX_EVAL_BOUND_H

#include "eval.h"

enum { LINE = 256 }; /* points evaluated together */

static const double UNIT = 0x1p-24;    /* f32's unit roundoff */
static const double NORMAL = 0x1p-126; /* f32's least normal */

struct approx {
    double v; /* the value in double */
    double e; /* how far a right f32 implementation may be from it */
};

struct line { /* a value at up to LINE points */
    double v[LINE], e[LINE];
    bool is_exact; /* every e is 0 */
};

struct total { /* of the terms so far */
    double v;         /* their sum, product, maximum or minimum */
    double e;         /* the error that theirs amount to */
    double magnitude; /* sum: of |term| + e over finite terms; prod: of what factors beyond 1 contribute */
    double least;     /* prod: of what nonzero factors below 1 contribute */
    double n;         /* how many */
    int lowest;       /* sum: every term is a multiple of 2^lowest */
    bool is_exact;    /* sum, prod: no partial result rounds so far, whatever the order */
};

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline bool is_f32(double v) { return (double)(float)v == v; }

/* A number as f32 holds it. */
struct approx bound_leaf(double v);
/* The pointwise op of v over operands x. */
struct approx bound_op(const struct value *v, const struct approx x[3]);
struct approx bound_cast(enum fx_dtype t, struct approx x, bool is_condition);
/* A reduction: begun, given n more terms, ended. */
struct total bound_of_nothing(enum reduction r);
void bound_add(struct total *t, enum reduction r, const struct line *x, int n);
struct approx bound_total(const struct total *t, enum reduction r);

#endif
