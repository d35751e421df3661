/* Kernels built by hand for the oracle: axes are single letters, values are computed operands first
 * (kernel_build.c). */
#ifndef FX_TESTS_KERNEL_BUILD_H
#define FX_TESTS_KERNEL_BUILD_H

#include <setjmp.h>

#include "oracle/eval.h"

enum { MAX_VALUES = 8000, MAX_PARAMS = 16 };

struct build {
    struct kernel k;                        /* its arrays are those below */
    struct arena arena;
    jmp_buf oom;                            /* of the arena; aborts */
    struct axis axes[26];
    int64_t extents[26];                    /* of each */
    struct value *values[MAX_VALUES];
    struct param params[MAX_PARAMS];
    struct oracle_input inputs[MAX_PARAMS]; /* of each */
    const char *labels;                     /* "MNK" */
    uint64_t random;                        /* state of uniform() */
};

struct result {
    int64_t n;     /* elements */
    double *v, *e; /* values and bounds */
    int64_t *i;    /* exact values of integers and conditions */
};

/* A kernel over labels, single letters, of these extents. */
struct build *build(const char *labels, const int64_t *extents);
#define BUILD(labels, ...) build(labels, (int64_t[]){__VA_ARGS__})
void release(struct build *b);
int axis(const struct build *b, char label);
struct value *value(struct build *b, enum value_kind kind, enum fx_dtype dtype);
void widen(struct value *v, const struct value *from);
struct value *num(struct build *b, double x);
struct param *param(struct build *b, enum fx_dtype dtype, const char *labels);
int64_t numel(const struct build *b, const char *labels);
/* A tensor parameter with the given elements, rounded to its dtype; f64 is computed with in f32 unless in_f64 says
 * otherwise. */
struct value *load(struct build *b, enum fx_dtype dtype, const char *labels, const double *data);
struct value *scalar(struct build *b, enum fx_dtype dtype, double x);
double element(const struct build *b, const struct value *v, int64_t i);
struct value *op3(struct build *b, enum op op, struct value *x, struct value *y, struct value *z);
struct value *op2(struct build *b, enum op op, struct value *x, struct value *y);
struct value *op1(struct build *b, enum op op, struct value *x);
struct value *reduce(struct build *b, enum reduction r, struct value *x, const char *labels);
struct value *contract(struct build *b, struct value *x, struct value *y, const char *labels);
struct value *cast(struct build *b, enum fx_dtype t, struct value *x);
struct value *integer(struct build *b, enum fx_dtype t, int64_t x);
struct value *load_integers(struct build *b, enum fx_dtype dtype, const char *labels, const int64_t *data);
struct value *in_f64(struct value *v);
struct value *running_index(struct build *b, char label);
struct value *size_of(struct build *b, char label);
struct value *scan(struct build *b, enum reduction r, struct value *x, char label);
struct value *recurrence(struct build *b, struct value *a, struct value *x, char label); /* h = a h + x */
/* x at the positions along the axes `at`, "HW"; fill may be NULL. */
struct value *access_at(
    struct build *b, struct value *x, const char *at, struct value *const *positions, struct value *fill);
fx_status evaluate(
    struct build *b, const char *labels, struct value *result, const int64_t *elements, int64_t n, struct result *r);
struct result eval(struct build *b, const char *labels, struct value *result);
/* One value without axes. */
double eval_one(struct build *b, struct value *x, double *bound);
double bound_of(struct build *b, struct value *x);
/* In (-1, 1). */
double uniform(struct build *b);
/* Integers up to integers_to in magnitude; reals where that is 0. */
double *draw(struct build *b, const char *labels, int integers_to);
struct value *random_load(struct build *b, enum fx_dtype t, const char *labels);
struct value *integer_load(struct build *b, enum fx_dtype t, const char *labels);

#endif
