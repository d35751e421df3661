/* The bound of eval.h, operation by operation: how far right implementations may be from the oracle's value. Floats and
 * reductions are in eval_bound.c and eval_total.c, integers in eval_integer.c. */
#ifndef FX_EVAL_BOUND_H
#define FX_EVAL_BOUND_H

#include "oracle/eval.h"

#include <math.h>

enum { LINE = 256 }; /* points evaluated together */

struct approx { /* a value; floats and conditions as doubles, integers exactly, u64 by its bits; copied by i */
    union {
        double v;
        int64_t i;
    };
    double e; /* how far a right implementation may be from it */
};

struct oracle_line { /* a value at up to LINE points */
    union {
        double v[LINE];
        int64_t i[LINE];
    };
    double e[LINE];
    double m[LINE]; /* has_m: the sum of the magnitudes of the innermost terms it is made of */
    double s[LINE]; /* has_s: the part of e that comes of a licensed rounding, */
    double r[LINE]; /* and by how much a rounding to nearest changes v */
    bool is_exact;  /* every e is 0 */
    bool has_m;     /* otherwise |v| + e stands for m */
    bool has_s;     /* a product, for the sum that reads it next */
};

struct grain { /* of the type arithmetic happens in */
    double unit;    /* what correct rounding costs, relative */
    double normal; /* below it the spacing no longer shrinks; 2^24 above the truth, as constant factors may move through
                      a sum */
    double least;   /* least normal number: what an approximation may flush */
    double largest; /* finite value */
    int digits;     /* of the significand */
};
/* Of a float type; f32's for what is none. */
const struct grain *grain_of(enum fx_dtype t);

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline bool is_f32(double v) { return (double)(float)v == v; }

/* v, unless its type may hold it as infinity: then anything is right. */
static inline struct approx bounded(const struct grain *g, double v, double e) {
    bool overflows = isfinite(v) && fabs(v) + e > g->largest;
    return (struct approx){.v = v, .e = isnan(e) || overflows ? INFINITY : e};
}

/* How far x is from v where equal infinities and NaN with NaN agree. */
static inline double deviation(double x, double v) {
    if (x == v || (isnan(x) && isnan(v))) return 0;
    double d = fabs(x - v);
    return isnan(d) ? INFINITY : d;
}

/* A number of compute type t, as that holds it. */
struct approx bound_leaf(enum fx_dtype t, double v);
/* The pointwise op of v, of floats and conditions alone, over operands x; g is the grain of v. */
struct approx bound_op_float(const struct value *v, const struct grain *g, const struct approx x[3]);
/* x as the cast v makes of it. */
struct approx bound_cast(const struct value *v, struct approx x);

/* What x may be instead of x.v, x.v first: where an operation is evaluated to see how far its result moves. Returns how
 * many. */
int bound_corners(struct approx x, bool is_condition, double at[4]);

/* Integers: an op whose operands or result are such, a cast from or to one. */
struct approx bound_op_integer(const struct value *v, const struct approx x[3]);
struct approx bound_cast_integer(const struct value *v, struct approx x);
bool integer_less(enum fx_dtype t, int64_t a, int64_t b);
int64_t integer_least(enum fx_dtype t);
int64_t integer_most(enum fx_dtype t);

struct total { /* of the terms so far */
    enum reduction reduction;
    enum fx_dtype dtype;   /* of the terms */
    struct approx sum;     /* their sum, product or extreme, and the error that theirs amount to */
    double magnitude; /* sum: of |term| + e over finite terms, or their m; prod: of what factors beyond 1 contribute */
    double least;          /* prod: of what nonzero factors below 1 contribute */
    double n;              /* how many */
    bool is_worst;         /* sum: all roundings may err in one direction */
    bool is_short;         /* sum: of products of f8, of which partial sums may keep few bits */
    double most;           /* such a sum: the largest of its terms */
    bool is_nested;        /* sum: of sums, in whatever order */
    double farthest;       /* sum: the largest partial sum in the oracle's order */
    double squares;        /* sum: of the terms' */
    double licensed, licensed_squares, change; /* sum: of the terms' s, of its squares, of their r */
    double ratio;          /* sum: the largest s beside the term's |v| */
    int lowest;            /* sum: every term is a multiple of 2^lowest */
    bool is_exact;         /* no partial result rounds or is in doubt so far, whatever the order */
    bool is_sure;          /* an extreme of conditions: some term decides it */
    int64_t first;         /* argmax, argmin: the index of the extreme, sum its value */
    double reach;          /* argmax, argmin: what the extreme attains at least (at most), whatever the errors, */
    int64_t reached_at;    /* and the first index that attains it */
    double distance;       /* argmax, argmin, second pass: of the farthest index that may be the extreme */
};

/* A reduction or running total: begun, given terms from..to of a line, read at any time. */
struct total total_of_nothing(enum reduction r, enum fx_dtype dtype, enum fx_bound kind);
void total_add(struct total *t, const struct oracle_line *x, int from, int to);
struct approx total_value(const struct total *t);
/* What the roundings of a sum of n terms of so much magnitude come to. */
double total_rounding(const struct grain *g, double n, double magnitude, bool is_worst);
/* Whether an index may be another than the one found: then the terms are gone through again, from index 0, before the
 * value is read. */
bool total_is_open(const struct total *t);
void total_recheck(struct total *t, const struct oracle_line *x, int64_t index, int n);

enum { LOWEST_OF_NONE = 4096 }; /* beyond every exponent */
/* The exponent of v's lowest set bit, v normal or 0. */
int lowest_bit(double v);

struct recurrence { /* h = a h + b over the elements so far */
    enum fx_dtype dtype;
    struct approx h;   /* and the error that those of a and b amount to */
    double n;          /* how many */
    double magnitude;  /* h with every a and b taken by its magnitude, errors included; */
    double most;       /* the largest so far */
    double
        roundings; /* that one by one a and b undergo: 2 for each element that follows, times its part of magnitude */
    double ending;     /* the largest product of adjacent magnitudes of a that ends here; */
    double growth;     /* the largest so far, 1 at least */
    double since;      /* h is not finite: the product of the magnitudes of a since it was */
    int lowest;        /* every b is a multiple of 2^lowest */
    bool is_exact;     /* no implementation rounds so far */
    bool is_open;      /* some order gives another infinity or NaN */
};

struct recurrence recurrence_of_nothing(enum fx_dtype dtype);
void recurrence_add(struct recurrence *r, const struct oracle_line *a, const struct oracle_line *b, int i);
struct approx recurrence_value(const struct recurrence *r);

#endif
