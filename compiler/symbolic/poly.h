/* Polynomials with integer coefficients over numbered unknowns: positions and extents, wherever the compiler calculates
 * with them.
 *
 * Values of fixed size, without allocation. What does not fit (terms, factors, digits) is lost: a lost polynomial stays
 * lost through every operation, and nothing is ever shown of it. */
#ifndef FX_POLY_H
#define FX_POLY_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 wide; /* coefficients: products of the ends of 64-bit types and of extents */

enum { POLY_TERMS = 24, POLY_FACTORS = 7 };

struct poly_term { /* coefficient times atoms[0] * .. * atoms[n - 1] */
    wide coefficient;             /* not 0 */
    uint16_t n;                   /* factors */
    uint16_t atoms[POLY_FACTORS]; /* the unknowns, ascending */
};

struct poly { /* the sum of its terms */
    int n;
    bool is_lost;                    /* it did not fit: its terms mean nothing */
    struct poly_term
        t[POLY_TERMS]; /* ascending by factors, the constant first; only t[0..n) is there: copy by poly_copy */
};

void poly_number(struct poly *p, wide v);
void poly_atom(struct poly *p, int atom);
void poly_copy(struct poly *to, const struct poly *from);
void poly_add(struct poly *p, const struct poly *q, wide scale); /* p += scale * q */
void poly_add_number(struct poly *p, wide v);
void poly_multiply(struct poly *p, const struct poly *a, const struct poly *b); /* p = a * b; p is neither */
void poly_add_term(struct poly *p, const struct poly_term *t, wide scale);
/* p with `by`, which may have the atom, for the atom; to is neither. */
void poly_substitute(struct poly *to, const struct poly *p, int atom, const struct poly *by);
/* p = atom * factor + rest; factor has the atom where p has a power of it. */
void poly_extract(const struct poly *p, int atom, struct poly *factor, struct poly *rest);
/* p = d * whole + rest for a divisor of one term, term by term; rest has what d does not divide. */
void poly_divide(const struct poly *p, const struct poly_term *d, struct poly *whole, struct poly *rest);
/* false where the product has too many factors, or may not fit */
bool poly_term_multiply(const struct poly_term *a, const struct poly_term *b, struct poly_term *product);
bool poly_term_equal(const struct poly_term *a, const struct poly_term *b);
bool poly_same_factors(const struct poly_term *a, const struct poly_term *b);
/* a = b * quotient, which may be a; false where b does not divide a. */
bool poly_term_divide(const struct poly_term *a, const struct poly_term *b, struct poly_term *quotient);
/* Divides `p >= 0` by what all coefficients share; the constant, which need not, is rounded down. */
void poly_tighten(struct poly *p);
bool poly_is_number(const struct poly *p, wide *v);
bool poly_equal(const struct poly *a, const struct poly *b);
bool poly_has(const struct poly *p, int atom);
wide wide_gcd(wide a, wide b); /* of numbers of any sign; 0 of two 0 */
wide wide_floor_divide(wide a, wide b); /* b > 0 */
wide wide_least(wide a, wide b);
wide wide_most(wide a, wide b);
/* a * b where it is known to fit, false otherwise. */
bool wide_multiply(wide a, wide b, wide *out);

#endif
