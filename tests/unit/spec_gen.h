/* Random specs, valid by construction, as trees that print as `.fx` and shrink.
 *
 * In: a seed. Out: one kernel. spec_generate grows it freely over up to six labels: pointwise expressions over any of
 * them, floats, integers and conditions, `@` and `@[..]`, reductions, running sums, relabels, accesses, concatenation,
 * casts, names bound again, several outputs, permuted and broadcast. spec_generate_contraction (spec_contraction.c)
 * builds it around contractions: what their operands are computed of, what is made of their results, which dtypes meet.
 * The same seed gives the same text everywhere. */
#ifndef FX_TEST_SPEC_GEN_H
#define FX_TEST_SPEC_GEN_H

#include "base/base.h"

enum { SPEC_MAX_LABELS = 20, SPEC_MAX_PARAMS = 32, SPEC_MAX_STMTS = 16, SPEC_MAX_NESTS = 24 };

enum spec_shape { SPEC_ATOM, SPEC_PREFIX, SPEC_INFIX, SPEC_CALL, SPEC_CHOICE, SPEC_RELABEL, SPEC_ACCESS };
enum spec_type {
    SPEC_WEAK,
    SPEC_FLOAT,
    SPEC_INT,
    SPEC_BOOL
}; /* WEAK: literals alone made it, its type depends on what it meets */

struct spec_expr {
    enum spec_shape shape;
    enum spec_type type;
    const char *text;       /* name or literal; "-"; " @[K] "; "relu"; "{M->N}"; of an access the label read along */
    const char *tail;       /* of a call: further arguments, ", 0, 6"; of an access another label, or "" */
    int n_args;
    struct spec_expr *args[4]; /* of an access the source, a position a label, the value outside */
    int n_labels;
    int labels[SPEC_MAX_LABELS]; /* of the value, in the language's order */
    bool is_decided;        /* the last of them may be contracted without naming it */
};

struct spec_param {
    const char *name, *dtype;
    const char *value;      /* a scalar's default, or NULL */
    const char *suffix;     /* what follows the type, " packed(i32, K, lsb)", or NULL */
    bool is_scalar, is_inout, is_const;
    int n_labels;
    int labels[SPEC_MAX_LABELS];
};

/* How an extent follows from others, for those who choose extents; the text says the same by `equation`. */
enum spec_extent_kind { SPEC_FREE, SPEC_TIMES /* a * n */, SPEC_PLUS /* a + b */ };
enum spec_size {
    SPEC_LONG,
    SPEC_MIDDLE,
    SPEC_SHORT
}; /* of a free label: any tile and its edges; at most a few dozen; at most five */

struct spec_label { /* of spec_generate_contraction */
    enum spec_extent_kind kind;
    enum spec_size size;
    int a, b, n;
    const char *equation; /* "2*N", written where the label first stands, or NULL */
    unsigned needs;       /* the labels in it, a bit each: it is left out where no tensor has one of them */
    const char *axis;     /* "F/2", declared as an axis of the kernel where no tensor has the label, or NULL */
    unsigned axis_needs;
};

struct spec_stmt {
    const char *name;
    struct spec_expr *value;
};

struct spec {
    int n_labels, n_params, n_outs, n_stmts;
    const char *const *names;     /* of the labels */
    int extents[SPEC_MAX_LABELS]; /* to evaluate at; 0 to 4, of the last label a product or sum of two others */
    struct spec_label rules[SPEC_MAX_LABELS]; /* all zeros where spec_generate made it */
    unsigned nests[SPEC_MAX_NESTS]; /* of spec_generate_contraction: the labels, a bit each, that loops run over
                                       together: what they come to is what it costs */
    int n_nests;
    bool is_joined;               /* the last label is two others end to end: only concat makes it */
    int parts[2];                 /* those two, or -1 */
    bool is_bound[SPEC_MAX_LABELS]; /* some tensor has it */
    bool is_fixed[SPEC_MAX_LABELS]; /* written in the text */
    struct spec_param params[SPEC_MAX_PARAMS], outs[SPEC_MAX_STMTS];
    struct spec_stmt stmts[SPEC_MAX_STMTS];
    const char *attributes;       /* "precision: ieee" or NULL */
    bool is_contraction;          /* made by spec_generate_contraction */
    bool is_exact;                /* made of ops that are exact on small integers */
};

/* The extent of a label of the generator, by name. */
int spec_extent(const struct spec *s, const char *label, size_t len);
struct spec *spec_generate(struct arena *a, uint64_t seed);
/* Makes some inputs `const`, of one spec in two; drawn apart, so that a seed is else the spec that it was. */
void spec_mark_constants(struct spec *s, uint64_t seed);
/* A kernel around contractions. Free labels get extents by spec_draw_extents. */
struct spec *spec_generate_contraction(struct arena *a, uint64_t seed);
/* Extents of a spec of spec_generate_contraction: shape 0 tiny and odd, 1 of medium size, 2 with one label at least
 * beyond the edge of a tile, each so that no nest has more than `most` points. */
void spec_draw_extents(struct spec *s, int shape, int64_t most, uint64_t *random);
void spec_print(struct buf *out, const struct spec *s);
/* A smallest spec reached from s by dropping statements and parts of expressions for which `fails` still holds. It is
 * given specs that do not compile, for which it must not hold. */
struct spec *spec_shrink(
    struct arena *a, const struct spec *s, bool (*fails)(void *user, const struct spec *s), void *user);

/* A stream of numbers: xorshift64*, good enough and the same everywhere. */
uint64_t random_next(uint64_t *state);
int random_below(uint64_t *state, int n);

#endif
