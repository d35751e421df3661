/* Shared by the prover of access bounds: check_bounds.c (positions to polynomials), bounds_extent.c (extents, equations
 * and requirements as definitions and facts), bounds_prove.c (the search for a proof). */
#ifndef FX_CHECK_BOUNDS_H
#define FX_CHECK_BOUNDS_H

#include "check/check_internal.h"
#include "symbolic/poly.h"

enum {
    BOUNDS_POLYS = 1024,    /* polynomials kept for one proof, those of its facts among them */
    BOUNDS_TRAIL = 1024,    /* ranges narrowed by facts at a time */
    BOUNDS_STEPS = 256,     /* goals looked at in one search: then it is given up */
    BOUNDS_DEPTH = 48,      /* goals within goals */
    BOUNDS_FACT_DEPTH = 4,  /* facts used one after another for a goal */
};

/* Extents are at most this when arguments are bound (plan.c). */
#define MAX_EXTENT ((wide)1 << 40)

enum atom_kind {
    ATOM_EXTENT, /* an extent, or what an exact division of one gives: any number from 0 */
    ATOM_INDEX,  /* a running index: from 0 to a */
    ATOM_RANGE,  /* data: any number from lo to hi */
    ATOM_QUOT,   /* a // b, rounded down; 0 where b is 0; no proof looks into it where b may be negative */
    ATOM_EITHER, /* a where `when` holds, else b */
};

enum { NO_AXIS = -1, NO_ATOM = -1 };

struct atom { /* an unknown of the polynomials, an integer */
    enum atom_kind kind;
    wide lo, hi;               /* it lies within; narrowed by facts while they hold */
    const struct poly *a, *b;  /* as the kind says */
    const struct cond *when;   /* of EITHER; NULL: not known */
    const struct poly *def;    /* of EXTENT: what an equation says it is; then it stands in no goal */
    int axis;                  /* of EXTENT, INDEX: the kernel's axis, NO_AXIS where it is none */
};

enum cond_kind { COND_UNKNOWN, COND_LT, COND_LE, COND_EQ, COND_AND, COND_OR, COND_NOT };

struct cond { /* a condition on polynomials */
    enum cond_kind kind;
    const struct poly *a, *b;    /* of LT, LE, EQ */
    const struct cond *l, *r;    /* of AND, OR; NOT has l */
};

struct fact { /* p >= 0 */
    const struct poly *p;
    uint64_t mask;         /* a bit an atom of p */
    unsigned stamp;        /* of the ranges `shifted` was made with */
    struct poly *shifted;  /* p over atom - lo for every atom: these are not negative */
};

struct narrowing { /* of an atom, to be undone */
    int atom;
    wide lo, hi;
};

struct bounds_scratch { /* what one proof needs at a time, shared by the kernels of a file */
    struct poly polys[BOUNDS_POLYS];
    struct narrowing trail[BOUNDS_TRAIL];
};

struct bounds { /* what is known of a kernel's extents, and the state of the proof at hand */
    struct checker *c;
    const struct kernel *of;      /* the kernel it is known of */
    int n_equations, n_requirements; /* of the kernel's: those read */
    int n_axes, *axis_atoms;      /* by axis: its atom */
    int n_params, *param_atoms;   /* by parameter: the atom of an integer scalar, else NO_ATOM */
    struct atom *atoms;
    int n_atoms, n_base, most_atoms; /* the kernel's are [0, n_base), the proof's follow; as many as there ever were */
    struct fact *facts;
    int n_facts, n_base_facts, most_facts; /* likewise */
    struct bounds_scratch *scratch;
    int n_polys, n_trail;         /* of the scratch in use */
    unsigned stamp;               /* changes with every range */
    uint64_t changed;             /* a bit an atom narrowed by what is assumed at present */
    bool is_base;                 /* what is kept stays with the kernel */
    bool is_impossible;           /* the facts at hand contradict each other: there is nothing to show */
    int steps, depth;             /* goals looked at in this search, and those within which this one is */
    int fact_depth, fact_limit;   /* facts used for the goal at hand, and how many may be */
    bool may_deepen;              /* a goal was left where one more might have helped */
};

/* ---- bounds_extent.c ---- */
struct bounds *bounds_of(struct checker *c); /* with every equation and requirement so far read, no proof begun */
void bounds_extent(struct bounds *s, int axis, struct poly *p); /* the extent in terms of extents without an equation */
void bounds_integer_limits(enum fx_dtype t, wide *lo, wide *hi); /* of the type's values; of conditions 0 and 1 */
/* The atom of a / b rounded down, or what it simplifies to. */
void bounds_quotient(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p);
void bounds_remainder(struct bounds *s, const struct poly *a, const struct poly *b, struct poly *p);
void bounds_either(
    struct bounds *s, const struct cond *when, const struct poly *a, const struct poly *b, struct poly *p);
void bounds_range(struct bounds *s, wide lo, wide hi, struct poly *p);
void bounds_put_atom(struct bounds *s, struct atom a, struct poly *p); /* lost where there are too many */
const struct poly *bounds_keep(struct bounds *s, const struct poly *p);
const struct cond *bounds_cond(struct bounds *s, struct cond c);
const struct cond *bounds_compare(struct bounds *s, enum cond_kind kind, const struct poly *a, const struct poly *b);

/* ---- bounds_prove.c ---- */
struct mark { /* facts and ranges to return to: what was kept since is gone */
    int n_facts, n_trail, n_polys;
    bool is_impossible;
};
struct mark bounds_mark(const struct bounds *s);
void bounds_undo(struct bounds *s, struct mark m);
void bounds_assume(struct bounds *s, const struct poly *p);      /* p >= 0 from here on */
void bounds_assume_cond(struct bounds *s, const struct cond *c, bool is_true);
bool bounds_show(struct bounds *s, const struct poly *p);        /* p >= 0 follows from the facts */
bool bounds_show_difference(
    struct bounds *s, const struct poly *a, const struct poly *b, wide plus); /* a - b + plus >= 0 */
void bounds_limits(
    const struct bounds *s, const struct poly *p, wide *lo, wide *hi); /* from the ranges of its atoms alone */

#endif
