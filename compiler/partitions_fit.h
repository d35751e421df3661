/* A search for partitions while it runs: partitions_points.c has the points, partitions.c the forms and which of them
 * stay, partitions_fit.c the conditions under which they are taken. */
#ifndef FX_PARTITIONS_FIT_H
#define FX_PARTITIONS_FIT_H

#include "partitions.h"

enum {
    MOST_PARTITIONS = 4,
    MOST_LABELS = 6,   /* that are varied: the first ones */
    MOST_TRIED = 16,   /* points at which the kernel is taken */
    MOST_POINTS = 512, /* where factors may be stored as two f16, HEAD_POINTS with head dimensions, else FEW_POINTS, */
    HEAD_POINTS = 384,
    FEW_POINTS = 256,  /* at which what came out is priced */
    MOST_STEPS = 10,   /* extents of a label at those points */
    MOST_TESTS = 3,    /* comparisons joined by `and` */
    MOST_CASES = 2     /* of those joined by `or` */
};

struct point { /* extents of the labels that are varied, and what follows */
    int64_t given[MOST_LABELS];
    double *nominal; /* by label of the kernel */
};

struct fitter {
    struct cx *cx;
    struct kernel *k;
    const struct pipeline_options *o;
    int n_labels, labels[MOST_LABELS];
    int n_steps[MOST_LABELS];
    int64_t steps[MOST_LABELS][MOST_STEPS];
    int64_t likely[MOST_LABELS]; /* of a label that is varied around that; else 0 */
    int n_points;
    struct point points[MOST_POINTS];
    int n_forms;
    struct scheduled_graph *forms[MOST_TRIED + 2]; /* the last one of odd extents */
    const double *made_at[MOST_TRIED + 1]; /* by form: the nominal extents it was made at */
    const struct kernel *wide; /* k with the labels that passes added to the forms that are taken */
    double *seconds[MOST_TRIED + 1]; /* by point, and those of a form that is tried */
    bool has_halves; /* some form stores factors as two f16, which few rows on either side do not pay for */
};

struct choice { /* what is taken where, while partitions are added */
    int n, forms[MOST_PARTITIONS]; /* the first is the kernel as it is */
    int n_launches, n_buffers;
    int *at;                       /* by point: the form that is taken */
};

struct test { /* of a product of labels that are varied, or of the least of them: at most `limit`, or above it */
    unsigned labels; /* a bit each */
    bool is_least;
    bool is_above;
    double limit;
};

struct fitted { /* cases of tests, and what passes say of what they did, */
    const struct kernel *pays; /* where that is not NULL; with it there may be no cases */
    int n_cases, n[MOST_CASES];
    struct test tests[MOST_CASES][MOST_TESTS];
};

/* partitions_points.c: finds the labels that vary, their steps and the points; none where no label is free. */
void fitter_find_points(struct fitter *f);
/* What all labels come to where those that are varied have these extents; false where a tensor is too large. */
bool fitter_follow(struct fitter *f, struct point *p);
/* Gives a kernel's labels their extents at a point; labels that passes added, what their equations say. */
void fitter_set_nominal(const struct fitter *f, const struct kernel *of, const double *nominal);
/* Seconds of c at nominal extents. */
double fitter_price(const struct fitter *f, struct scheduled_graph *c, const double *nominal);

/* partitions.c: how much faster form j is at a point than what is taken there, as a logarithm; what is slower counts
 * more. */
double fitter_gain(const struct fitter *f, const struct choice *x, int j, int point);

/* partitions_fit.c: cases of tests under which what is gained is most. */
struct fitted fitter_fit(const struct fitter *f, const double *gains);
/* Moves the limits of its tests to where the price of form j crosses that of what is taken. */
void fitter_move_limits(struct fitter *f, const struct choice *x, int j, struct fitted *c);
bool fitter_holds(const struct fitter *f, const struct fitted *c, const struct point *p);
/* The conditions as an expression. */
struct fx_expr fitter_expr(const struct fitter *f, const struct fitted *c);

#endif
