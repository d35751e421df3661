/* What the parts of the oracle share: where elements are (eval_store.c), what is computed where (eval_plan.c), the
 * values at a line of points (eval_line.c), the order of work (eval.c). */
#ifndef FX_EVAL_INTERNAL_H
#define FX_EVAL_INTERNAL_H

#include "oracle/eval_bound.h"

enum {
    DENSE_MAX = 1 << 24, /* cells of a stored value that has one for every element */
    COPY_MAX = 1 << 24,  /* elements of a tensor converted to double beforehand */
    SHARE_MAX = 1 << 22, /* elements of a pointwise value stored only because several read it */
    CELLS_MAX = ORACLE_MAX_SHARED, /* cells of all stored values together: a gigabyte */
    DEPTH_MAX = 16,      /* accesses evaluated inside each other */
};

/* ---- eval_store.c ---- */

struct oracle_layout { /* row-major, of a parameter or a stored value */
    int n;                      /* axes */
    int axes[MAX_AXES];         /* of the kernel */
    int64_t extents[MAX_AXES];  /* of each */
    int64_t strides[MAX_AXES];  /* of each, in elements */
    int64_t numel;              /* elements in all */
};

bool layout_init(struct oracle_layout *l, int n, const int *axes, const int64_t *extents); /* false beyond 64 bits */
int64_t layout_offset(const struct oracle_layout *l, const int64_t *at);
int64_t layout_stride(const struct oracle_layout *l, int axis); /* 0 for an axis it lacks */
void layout_locate(const struct oracle_layout *l, int64_t offset, int64_t *at);
bool layout_has(const struct oracle_layout *l, int axis);

/* A set of elements and what they are. A small value has a bit and a cell for each; of a large one only those in the
 * set have cells, in a table hashed by linear probing. */
struct oracle_store {
    bool is_dense;
    uint64_t *bits;       /* dense: which elements are in the set */
    int64_t *keys;        /* sparse: the element of a cell, or -1 */
    int64_t n_cells;      /* dense: the elements; sparse: a power of two */
    int64_t n_used;       /* sparse: cells taken */
    struct approx *cells; /* when the set is complete */
    double *m;            /* likewise, of a value that carries m: see struct oracle_line */
};

enum added { ADDED_NEW, ADDED_BEFORE, ADDED_FAILED };

bool store_init(struct oracle_store *s, int64_t numel);
void store_release(struct oracle_store *s);
/* The cell of an element: of a sparse set that lacks it, the one it would take. */
int64_t store_cell(const struct oracle_store *s, int64_t element);
enum added store_add(struct oracle_store *s, int64_t element);
bool store_has(const struct oracle_store *s, int64_t element);

/* ---- eval_plan.c ---- */

struct licence { /* to round an operand on its way, to a type of this unit */
    double unit;     /* 0: none */
    double smallest; /* positive value */
    double largest;  /* finite value */
};

struct step {
    const struct value *value;
    int *args;                 /* steps of its operands; of an access's source, which is none, 0 */
    bool is_fetched;           /* a leaf of the body: a number, a parameter or a stored value */
    struct licence licence[2]; /* of a product's operands */
    bool carries_m;            /* its line must have m */
    double joined;             /* as of its node */
    double rounded;            /* what a form for a result that is rounded to 16 bits at once may err, relative to it */
    bool is_short;             /* a sum of products of two f8 tensors, whose partial sums may keep few bits */
};

struct oracle_body {
    struct step *steps; /* operands first; the last is the result */
    int n_steps;
    int n_lines; /* scratch it needs, the bodies of reductions inside included: the steps, one more, what is inside */
    int n_stored;
    int *stored;        /* ids of the stored values read here and inside at the points where evaluation stands */
    int n_accesses;
    int *accesses;      /* ids of the accesses to stored values here and inside */
};

struct oracle_node { /* of a value, by id */
    bool is_read;         /* the output depends on it */
    bool is_static;       /* integers and conditions that running indices, extents, numbers and scalars determine: known
                             before any tensor is read */
    bool is_inline;       /* never stored: static, or a window */
    int depth; /* of a window, an access at static positions to a parameter or to what is inline: accesses on the way;
                  0: none */
    bool is_stored;
    bool is_source;       /* inline, and read by an access */
    bool carries_m; /* a sum, or linear in one, that another sum adds up: the sums may be taken in another order */
    double sum_terms; /* terms of it as a sum that an addition may be joined with; 0: it is none */
    double joined; /* an addition of sums of 16-bit products, which may be one sum: how many terms that has; else 0 */
    int reader;           /* the body that reads it (see read_by), or MANY */
    struct oracle_body *own;     /* stored or is_source: computes it; not of a scan */
    struct oracle_body *operand; /* reduction, scan: computes its terms */
    int terms[2];         /* scan: the steps of that which its operands are */
    struct oracle_body *where;   /* access to a stored value: computes its static positions, */
    int *positions;       /* these steps of it, -1 for one that depends on data */
    struct oracle_layout layout; /* stored: of its cells; load: of the parameter; otherwise of its axes */
    struct oracle_store store;   /* stored: the elements needed */
};

struct oracle_tensor { /* of a parameter, by index */
    enum fx_dtype dtype; /* of an element */
    const void *data;
    double *copy;   /* the elements as doubles, or NULL */
    int64_t extent; /* packed: of the axis whose elements share words, */
    int64_t inner;  /* and how many elements stand between neighbours on it */
    const struct fx_packing *packed; /* or NULL */
    bool is_wide;   /* its values need not be f32, which the kernel computes in */
};

struct eval {
    struct arena *arena;
    const struct kernel *k;
    const int64_t *extents;
    enum fx_bound kind; /* that is asked for */
    struct oracle_node *nodes;
    struct oracle_tensor *tensors;
    struct oracle_layout output; /* of the parameter asked for */
    struct oracle_body *root;    /* computes its result */
    int *step_of;         /* while a body is built: value -> step, or -1 */
    int64_t *at;          /* coordinate on each axis where evaluation stands */
    const int64_t **positions; /* by axis, inside the source of an access: of each point of the line, in place of that
                                  coordinate; or NULL */
    bool has_positions;   /* some axis has */
    struct oracle_line *scratch;
    int n_lines;          /* of the largest body */
    int64_t n_cells;      /* of all stored values so far */
    bool is_broken;       /* a position without a value outside lies outside: a bug of the checker */
};

/* Decides what is stored and builds the bodies. FX_ERR_USAGE for sizes beyond 64 bits, FX_ERR_INTERNAL for a tree no
 * checker makes. */
fx_status eval_plan(struct eval *ev, int output_param);

/* ---- eval_line.c ---- */

/* Evaluates n points along `axis` (-1: a single point) from where evaluation stands; lines[i] becomes step i. */
void eval_body(struct eval *ev, const struct oracle_body *b, int axis, int n, struct oracle_line *lines);
/* Steps to the next point of the axes' space, the last axis fastest; false, and back at 0, past the end. */
bool eval_advance(const struct eval *ev, const int *axes, int n);

#endif
