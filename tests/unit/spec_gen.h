/* Random specs, valid by construction, as trees that print as `.fx` and shrink.
 *
 * In: a seed. Out: one kernel of up to six labels: pointwise expressions over any of them, floats, integers and conditions, `@` and
 * `@[..]`, reductions, running sums, relabels, accesses, concatenation, casts, names bound again, several outputs, permuted and broadcast.
 * The same seed gives the same text everywhere. */
#ifndef FX_TEST_SPEC_GEN_H
#define FX_TEST_SPEC_GEN_H

#include "base.h"

enum { SPEC_MAX_LABELS = 6, SPEC_MAX_PARAMS = 8, SPEC_MAX_STMTS = 12 };

enum spec_shape { SPEC_ATOM, SPEC_PREFIX, SPEC_INFIX, SPEC_CALL, SPEC_CHOICE, SPEC_RELABEL, SPEC_ACCESS };
enum spec_type { SPEC_WEAK, SPEC_FLOAT, SPEC_INT, SPEC_BOOL }; /* WEAK: literals alone made it, its type depends on what it meets */

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
    bool is_scalar;
    int n_labels;
    int labels[SPEC_MAX_LABELS];
};

struct spec_stmt {
    const char *name;
    struct spec_expr *value;
};

struct spec {
    int n_labels, n_params, n_outs, n_stmts;
    int extents[SPEC_MAX_LABELS]; /* to evaluate at; 0 to 4, of the last label a product or sum of two others */
    bool is_joined;               /* the last label is two others end to end: only concat makes it */
    int parts[2];                 /* those two, or -1 */
    bool is_bound[SPEC_MAX_LABELS]; /* some tensor has it */
    bool is_fixed[SPEC_MAX_LABELS]; /* written in the text */
    struct spec_param params[SPEC_MAX_PARAMS], outs[SPEC_MAX_STMTS];
    struct spec_stmt stmts[SPEC_MAX_STMTS];
    const char *attributes;       /* "precision: ieee" or NULL */
    bool is_exact;                /* made of ops that are exact on small integers */
};

/* The extent of a label of the generator, by name. */
int spec_extent(const struct spec *s, const char *label, size_t len);
struct spec *spec_generate(struct arena *a, uint64_t seed);
void spec_print(struct buf *out, const struct spec *s);
/* A smallest spec reached from s by dropping statements and parts of expressions for which `fails` still holds. It is
 * given specs that do not compile, for which it must not hold. */
struct spec *spec_shrink(struct arena *a, const struct spec *s, bool (*fails)(void *user, const struct spec *s), void *user);

/* A stream of numbers: xorshift64*, good enough and the same everywhere. */
uint64_t random_next(uint64_t *state);
int random_below(uint64_t *state, int n);

#endif
