/* Shared by the files of reverse mode: grad.c (the kernel, the walk), grad_product.c (sums of products), grad_rule.c
 * (ops, reductions, scans), grad_access.c (what is read at computed positions), grad_position.c (positions taken
 * apart). */
#ifndef FX_GRAD_INTERNAL_H
#define FX_GRAD_INTERNAL_H

#include "check/check_internal.h"
#include "grad/grad.h"
#include "symbolic/poly.h"

enum { MAX_FACTORS = 6 };

/* An adjoint, or a part of one, that is not yet added up: the sum over axes of a product. Kept apart until it must be
 * one value, so that what ends as a sum over a product is a contraction. */
struct adjoint_product {
    bool is_zero, is_negative;
    int n_factors, n_over;
    struct value *factors[MAX_FACTORS]; /* none: 1 */
    struct value *over[MAX_FACTORS];    /* what it is divided by */
    int n_summed;
    int summed[2 * MAX_AXES];           /* a factor may lack one: then it counts as often as the axis is long */
};

struct adjoint { /* of a value of the kernel differentiated */
    struct adjoint_product pending; /* the sole contribution so far */
    bool has_pending;
    struct value *sum;      /* of the contributions, where there are several or one was asked for */
};

struct grad_saved { /* an output of the kernel differentiated that the gradient takes as an input */
    struct value *value, *load; /* what the forward computes of it; the input */
};

struct grad_rows { /* of a saved log-sum-exp */
    struct value *x;              /* what its exponentials are taken of */
    const struct value *log_sum;  /* what the forward computes of it */
    struct value *exp;            /* exp(x - l), l the input */
    int n_axes, axes[MAX_AXES];   /* labels of a row */
    struct value *of_elements;    /* adjoints of the exponentials over their sums so far, or NULL */
    struct value *of_row;         /* that of l less what a row adds up of those, times the exponentials */
};

struct grad {
    struct checker *c;           /* c->k is the kernel being made */
    struct kernel *k;
    const struct ast_expr *at;   /* the expression whose adjoint is being built */
    int n_forward;               /* values of k that are the other kernel's: those below this id */
    bool *is_active;             /* by id of those: a float that depends on a parameter asked for */
    struct adjoint *adjoints;    /* likewise */
    int n_saved, n_rows;
    struct grad_saved *saved;
    struct grad_rows *rows;
    int *same;                   /* with saved outputs, by id of those: the first one that is the same */
    int *quotient_of;            /* likewise: of an exponential over the sum of its row, the number of those rows + 1 */
};

/* ---- grad_product.c ---- */
bool grad_is_number(const struct value *v, double num);
/* The op over operands; after an error the first of them, so that nothing is NULL. */
struct value *grad_op(struct grad *g, enum op op, struct value *a, struct value *b, struct value *c);
/* v read at positions, likewise; `outside` may be NULL: they are inside. */
struct value *grad_read(
    struct grad *g, struct value *v, const int *at, struct value *const *positions, int n, struct value *outside);
struct value *grad_zero(struct grad *g, enum fx_dtype t);
struct value *grad_reduction(struct grad *g, enum reduction r, struct value *a, const int *axes, int n);
/* a * b, either NULL for 1; `is_summed` if it is added up at once. */
struct value *grad_multiply(struct grad *g, struct value *a, struct value *b, bool is_summed);
void product_sum_over(struct adjoint_product *p, int axis);
/* Sums over the labels of `of` that `to` lacks. */
void product_sum_missing(struct adjoint_product *p, const struct value *of, const struct value *to);
/* p times d; what was made for d alone, from id first_new on, becomes factors. */
void product_times(struct grad *g, struct adjoint_product *p, struct value *d, int first_new);
struct value *product_value(struct grad *g, struct adjoint_product p, enum fx_dtype t);
/* The factors as one, what is summed over left as it is. */
void product_join(struct grad *g, struct adjoint_product *p, enum fx_dtype t);

/* ---- grad.c ---- */
/* p added to the adjoint of v, an operand of what is being differentiated. Labels that p's factors carry and v does not
 * are summed over. */
void grad_add(struct grad *g, struct value *v, const struct adjoint_product *p);
void grad_add_value(struct grad *g, struct value *v, struct value *adjoint);
/* The adjoint of v as one value, or NULL where there is none. */
struct value *grad_adjoint(struct grad *g, const struct value *v);

/* ---- grad_saved.c ---- */
/* Finds what the saved outputs are good for, ahead of the walk. */
void grad_find_saved(struct grad *g);
/* Takes the adjoint of v, where v is a log-sum-exp that is saved, or an exponential over the sum of such a row. */
bool grad_by_rows(struct grad *g, struct value *v);
/* Adds to the adjoint of x what was taken so. */
void grad_end_rows(struct grad *g, struct value *x);
/* Has saved outputs read in the place of what they were, behind the walk; leaves the values that an output depends
 * on. */
void grad_read_saved(struct grad *g);

/* ---- grad_rule.c ---- */
void grad_pointwise(struct grad *g, struct value *v);
void grad_reduce(struct grad *g, struct value *v);
void grad_scan(struct grad *g, struct value *v);

/* ---- grad_access.c ---- */
void grad_access(struct grad *g, struct value *v);
/* A new label as long as `like`. */
int grad_rename(struct grad *g, int like);


/* ---- grad_position.c ---- */
/* Products are terms of symbolic/: a number times the extents of axes, which are the atoms. */
extern const struct poly_term mono_one;
bool mono_times(struct poly_term *m, const struct poly_term *by); /* false where it is too large */
struct poly_term mono_of_axis(const struct grad *g, int axis);
struct value *mono_value(struct grad *g, const struct poly_term *m);
/* Likewise; where it is the extent of the axis, that. */
struct value *size_value(struct grad *g, const struct poly_term *m, int axis);

enum { MAX_TERMS = 16, MAX_NESTING = 100 };

struct grad_term { /* coefficient * atom */
    struct poly_term coefficient;
    struct value *atom; /* NULL: 1 */
};
struct sum { /* a position */
    int n;
    struct grad_term terms[MAX_TERMS];
};
/* Adds coefficient * v in terms; what does not fall apart is an atom. False when there are too many. */
bool read_sum(const struct grad *g, struct value *v, struct poly_term coefficient, struct sum *s);

struct digit { /* (L // divisor) % modulus, L the running index along axis */
    int axis;
    struct poly_term divisor, modulus;
    bool has_modulus;
};
bool read_digit(const struct grad *g, const struct value *v, struct digit *d);

#endif
