/* Shared by the files of the checker: check.c (kernels), check_expr.c (expressions), check_call.c (fns), check_extent.c (constants,
 * extents). */
#ifndef FX_CHECK_INTERNAL_H
#define FX_CHECK_INTERNAL_H

#include "check.h"

enum {
    MAX_CALLS = 64,    /* fns within fns */
    MAX_VALUES = 4096, /* of a kernel, fns expanded: NVRTC takes 0.8 s for 5,000 dependent operations */
    MAX_VISITS = 64 * MAX_VALUES,  /* expressions looked at for them: a fn may be called often and compute nothing */
    MAX_DEPTH = 2 * AST_MAX_DEPTH, /* of expressions, through the fns they call: a recursion that fits any stack */
};

struct binding { /* a name with a value: a parameter, a let, or a fn's argument */
    struct name name;
    struct value *value;
    struct binding *next;
};

struct axis_binding { /* an axis parameter of a fn: the labels it stands for */
    struct name name;
    int n;
    int axes[MAX_AXES];
    struct axis_binding *next;
};

struct known_const { /* a `const` item that was evaluated */
    const struct ast_item *item;
    double value;
    struct known_const *next;
};

struct fn_def {
    const struct ast_item *ast;
    struct fn_def *next;
};

struct checker {
    struct cx *cx;
    struct fn_def *fns;            /* the user's, then the prelude's */
    const struct ast_file *file;
    struct kernel *k;              /* the kernel being checked */
    struct binding *scope;         /* innermost first */
    struct axis_binding *axis_scope; /* of the fn being expanded: its body sees no other labels */
    const struct ast_item *calls[MAX_CALLS]; /* the fns being expanded, outermost first */
    int n_calls;
    bool *define_used;             /* by index of cx->defines */
    const struct ast_expr **equation_values; /* by index of k->equations, as written */
    int n_equation_values;
    struct known_const *consts;    /* evaluated so far, so that each is once */
    int n_visits, depth;           /* of check_expr: calls for this kernel, calls now open */
    bool is_too_big;               /* the kernel exceeds a limit above, and the error was given */
    struct span call_span;         /* outermost call being expanded: what errors inside the prelude point at */
};

/* ---- check.c ---- */
const char *check_cstr(struct checker *c, struct name n);
/* Errors inside the prelude are the caller's: they point at the call. */
struct span check_user_span(const struct checker *c, struct span s);
int check_find_axis(const struct kernel *k, struct name n); /* or -1 */
const char *check_axes_text(struct checker *c, const int *axes, int n);
const char *check_expr_text(struct checker *c, const struct ast_expr *e);
/* Refuses what the language has and this version does not compile; NULL. */
struct value *check_not_yet(struct checker *c, struct span at, const char *what);
const struct ast_item *check_find_const(struct checker *c, struct name n);
/* The -D of that name, which then counts as used; or NULL. */
const struct define *check_find_define(struct checker *c, struct name n);

/* Names v in the scope at hand. */
void check_bind(struct checker *c, struct name n, struct value *v);

/* ---- check_expr.c ---- */
/* What e means in the scope at hand; NULL after an error. */
struct value *check_expr(struct checker *c, const struct ast_expr *e);
struct value *check_new_value(struct checker *c, enum value_kind kind, const struct ast_expr *e);
/* A condition used as a number counts as 0 or 1. */
struct value *check_as_number(struct checker *c, struct value *v, const struct ast_expr *e);
bool value_has_axis(const struct value *v, int axis);
struct value *check_number(struct checker *c, double num, const struct ast_expr *e);
/* Reads the labels in [ ] into axes; each must be on every operand given. Their number, or -1 after an error. */
int check_labels(struct checker *c, const struct ast_arg *labels, const struct value *a, const struct value *b, int *axes);

/* ---- check_call.c ---- */
const struct ast_item *check_find_fn(struct checker *c, struct name n); /* the user's, else the prelude's, else NULL */
/* Expands a call of f with n results into out[0..n); false after an error. */
bool check_call_fn(struct checker *c, const struct ast_expr *e, const struct ast_item *f, int n, struct value **out);
enum { MAX_RESULTS = 16 }; /* of a fn */
/* The values of a call of a fn with n results, `a, b = f(x)`: fills out[0..n), false after an error. */
bool check_results(struct checker *c, const struct ast_expr *e, int n, struct value **out);

/* ---- check_extent.c ---- */
/* The value of an expression of numbers and constants; false after an error. */
bool check_const(struct checker *c, const struct ast_expr *e, int depth, double *out);
bool check_define_number(struct checker *c, const struct define *d, double *out);
/* Whether an identifier below e is no constant, and so a label. */
bool extent_mentions_label(struct checker *c, const struct ast_expr *e);
/* Turns the equations noted while labels were declared into terms, and fixes what fixed extents determine. */
void extent_solve(struct checker *c);
void extent_require(struct checker *c, const struct ast_stmt *s);
/* Every label must be bound by a fixed extent, an input or an equation. */
void extent_check_bound(struct checker *c);

#endif
