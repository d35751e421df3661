/* Shared by the files of the checker: check.c (kernels), check_param.c (parameters), check_expr.c (expressions),
 * check_operator.c (calls of built-in names), check_call.c (fns), check_extent.c (constants, extents), check_require.c
 * (conditions), check_test.c (test and bench blocks), check_hint.c (fixes of messages about names). */
#ifndef FX_CHECK_INTERNAL_H
#define FX_CHECK_INTERNAL_H

#include "check/check.h"
#include "base/names.h"

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

struct checker {
    struct cx *cx;
    derive_kernel *derive;         /* writes a gradient: the room above knows how */
    struct names fns, prelude_fns; /* to their struct ast_item; the user's come first */
    const struct ast_file *file;
    struct kernel *k;              /* the kernel being checked */
    struct binding *scope;         /* innermost first */
    struct names names;            /* of the kernel's body to their latest binding: there may be thousands */
    struct axis_binding *axis_scope; /* of the fn being expanded: its body sees no other labels */
    const struct ast_item *calls[MAX_CALLS]; /* the fns being expanded, outermost first */
    int n_calls;
    bool *define_used;             /* by index of cx->defines */
    const struct ast_expr **equation_values; /* by index of k->equations, as written */
    int n_equation_values;
    struct known_const *consts;    /* evaluated so far, so that each is once */
    int n_visits, depth;           /* of check_expr: calls for this kernel, calls now open */
    struct bounds_scratch *bounds_scratch; /* of check_bounds.c, once it was needed */
    bool is_too_big;               /* the kernel exceeds a limit above, and the error was given */
    bool warned_f64;               /* the kernel was told that f32 and f64 meet */
    bool has_parts;                /* some label of the kernel is a part of another: values are settled */
    bool in_access;                /* in a position: a label is its running index, `/` floors */
    bool in_prelude; /* a fn of the prelude is being expanded: `round: eager` takes it for one operation */
    bool is_contracting;           /* the product being checked is added up at once: no rounding stands between */
    int prelude_file;              /* files from this one on are the language's own */
    const struct grad_rules *grad_rules; /* derivatives of ops, once they were asked for */
    struct span call_span;         /* outermost call being expanded: what errors inside the prelude point at */
};

/* ---- check_param.c ---- */
/* Finds or adds the label; sets its extent where one is written or defined. */
int check_declare_axis(struct checker *c, const struct ast_axis *a);
void check_declare_param(struct checker *c, const struct ast_param *ap, bool is_out);

/* ---- check.c ---- */
const char *check_cstr(struct checker *c, struct name n);
/* Errors inside the prelude are the caller's: they point at the call. */
struct span check_user_span(const struct checker *c, struct span s);
int check_find_axis(const struct kernel *k, struct name n); /* or -1 */
const char *check_axes_text(struct checker *c, const int *axes, int n);
const char *check_expr_text(struct checker *c, const struct ast_expr *e);
const struct ast_item *check_find_const(struct checker *c, struct name n);
/* The -D of that name, which then counts as used; or NULL. */
const struct define *check_find_define(struct checker *c, struct name n);
/* Keeps what something in the kernel's own statements came to. */
void check_note(struct checker *c, struct note n);
void check_attributes(struct checker *c, const struct ast_attr *attrs);
/* Names v in the scope at hand. */
void check_bind(struct checker *c, struct name n, struct value *v);
/* The latest binding of a name in the scope at hand, whose value is NULL after an error; NULL when there is none. */
const struct binding *check_find_binding(const struct checker *c, struct name n);

/* ---- check_expr.c ---- */
/* What e means in the scope at hand; NULL after an error. */
struct value *check_expr(struct checker *c, const struct ast_expr *e);
/* Likewise; a label P of it may be one with its own extent, as `concat[P]` takes it. */
struct value *check_part(struct checker *c, const struct ast_expr *e);
struct value *check_new_value(struct checker *c, enum value_kind kind, const struct ast_expr *e);
/* The op over operands of any types it takes; NULL after an error, or when an operand is NULL. */
struct value *check_op(struct checker *c, enum op op, struct value *const *args, const struct ast_expr *e);
bool value_has_axis(const struct value *v, int axis);
void check_same_axes(struct value *v, const struct value *like);
/* Gives v the union of its first operands' labels; false after an error. */
bool check_join_axes(struct checker *c, struct value *v, int n_args);

/* ---- check_operator.c ---- */
bool check_is_built_in(struct name n); /* an op or an axis operator of the language */
/* What the op or axis operator of that name gives, NULL after an error; false when n names none. Brackets decide
 * between max[K](x) and max(a, b). */
bool check_call_built_in(struct checker *c, const struct ast_expr *e, struct name n, struct value **out);
struct value *check_reduce(struct checker *c, enum reduction r, struct value *a, const int *reduced, int n_reduced,
    const struct ast_expr *e);
/* ---- check_product.c ---- */
/* The sum of v, a product of three factors or more, as products of two factors; NULL where it stays as it is. */
struct value *check_product_sum(
    struct checker *c, struct value *v, const int *reduced, int n_reduced, const struct ast_expr *e);

/* ---- check_operator.c, recurrences ---- */
/* h = a * h + b along the axis, of values of one compute type; NULL after an error. */
struct value *check_recurrence(struct checker *c, struct value *a, struct value *b, int axis, const struct ast_expr *e);
struct nearest;
void check_offer_operators(struct nearest *near); /* what stands in no table: axis operators, idx, size and concat */

/* ---- check_hint.c: each sets the fix of the message given last ---- */
void hint_function(struct checker *c, struct name n); /* nothing of this name can be called */
void hint_results(struct checker *c, struct name n);  /* a call of this name has no several results */
void hint_value(struct checker *c, struct name n);    /* nothing has this name */
void hint_label(struct checker *c, struct name n);    /* the kernel has no such label */
void hint_define(struct cx *cx, const struct program *p, struct name n); /* no kernel has a label that -D names */
void hint_attribute(struct checker *c, struct name n); /* there is no such attribute */
/* The call takes no argument of this name. params: those of an fn, NULL for what is built in. */
void hint_argument(
    struct checker *c, const struct ast_expr *call, struct name n, const struct ast_param *params);

/* ---- check_type.c ---- */
struct value *check_number(struct checker *c, double num, const struct ast_expr *e); /* a literal: weak */
struct value *check_integer(struct checker *c, int64_t v, enum fx_dtype t, const struct ast_expr *e);
struct value *check_weak_integer(struct checker *c, int64_t v, const struct ast_expr *e);
struct value *check_literal(struct checker *c, const struct ast_num *num, const struct ast_expr *e);
/* The compute type in which operands meet; false after an error. */
bool check_common_type(
    struct checker *c, struct value *const *args, int n, const struct ast_expr *e, enum fx_dtype *out);
/* v as dtype t; of a literal the literal of that type. */
struct value *check_convert(struct checker *c, struct value *v, enum fx_dtype t, const struct ast_expr *e);
/* A condition used as a number counts as 0 or 1. */
struct value *check_as_number(struct checker *c, struct value *v, const struct ast_expr *e);
/* v, rounded where the kernel's `round` says that operations round. Every operation passes through here. */
struct value *check_rounded(struct checker *c, struct value *v, const struct ast_expr *e);
/* v as the output p receives it, or NULL after an error. */
struct value *check_store(
    struct checker *c, struct value *v, const struct param *p, const struct ast_expr *e, struct span at);

/* ---- check_label.c ---- */
/* The labels a name stands for in the scope at hand: one, or inside a fn those of its parameter;
 * 0 when there is none. */
int check_find_labels(struct checker *c, struct name n, int *axes);
/* Likewise; a label that the body introduces elsewhere, before or behind, is introduced here. */
int check_body_labels(struct checker *c, struct name n, struct span at, int *axes);
/* Reads the labels in [ ] into axes; each must be on every operand given. Their number, or -1 after an error. */
int check_labels(
    struct checker *c, const struct ast_arg *labels, const struct value *a, const struct value *b, int *axes);
/* The labels an argument of a call names for one axis parameter; a label that nothing has yet is introduced if
 * `may_add`. As check_labels. */
int check_label_argument(struct checker *c, struct name n, struct span at, bool may_add, int *axes);
struct value *check_index(
    struct checker *c, const int *axes, int n, const struct ast_expr *e); /* row-major over several */
struct value *check_size(struct checker *c, const int *axes, int n, const struct ast_expr *e);  /* their product */
struct value *check_relabel(struct checker *c, const struct ast_expr *e);
struct value *check_concat(struct checker *c, const struct ast_expr *e);
/* v with every label of its own extent made the label it is a part of, which then must be as long. */
struct value *check_settled(struct checker *c, struct value *v, const struct ast_expr *e);

/* ---- check_access.c ---- */
struct positions { /* of an access or of a store, as written */
    int n;
    int at[MAX_AXES];
    struct value *values[MAX_AXES];
    const struct ast_arg *args[MAX_AXES];
};
/* The positions of e, an access of v; false after an error. */
bool check_read_positions(struct checker *c, const struct ast_expr *e, const struct value *v, struct positions *p);
/* a[..], with the value outside (an AST_FILL's) or NULL. */
struct value *check_access(struct checker *c, const struct ast_expr *e, const struct ast_expr *fill);
/* v read at positions along axes; fill may be NULL: then the positions are inside by construction.
 * NULL after an error. */
struct value *check_read(struct checker *c, struct value *v, const int *at, struct value *const *positions, int n,
    struct value *fill, const struct ast_expr *e);

/* ---- check_place.c ---- */
/* A store at positions: sets result and placed of its parameter. */
void check_place(struct checker *c, const struct ast_stmt *s);
/* What all of them together must not do, once the body is read. */
void check_places(struct checker *c);

/* ---- check_bounds.c ---- */
/* Whether every element of v, a position along `axis` of the kernel at hand, lies in [0, extent of axis). Where that
 * was not shown, *why says what was not, for a message. Equations and requirements count from when they are in the
 * kernel. */
bool bounds_prove(struct checker *c, const struct value *v, int axis, const char **why);


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
/* A constant named by e as a literal: an integer where integers alone made it. */
struct value *check_const_value(struct checker *c, const struct ast_expr *e);
bool check_define_number(struct checker *c, const struct define *d, double *out);
/* Whether e is more than numbers and constants: an identifier is a label, or a scalar in a condition. */
bool extent_mentions_label(struct checker *c, const struct ast_expr *e);
/* Turns the equations noted while labels were declared into terms, and fixes what fixed extents determine. */
void extent_solve(struct checker *c);
struct extent_terms { /* an expression over extents, or a condition, being written */
    struct fx_term *t;
    int n;
    bool is_condition;  /* of a `require`: scalars may stand in it */
    bool has_scalar;    /* one does, or a number given to a fn: numbers may be fractions */
    bool is_double;     /* a scalar of f64 does: literals are not rounded to f32 */
};
/* Appends e; false after an error. `/` divides exactly. */
bool extent_put(struct checker *c, const struct ast_expr *e, struct extent_terms *x);
void extent_put_term(struct checker *c, struct extent_terms *x, enum fx_term_op op, int64_t v);
void extent_put_number(struct checker *c, double v, struct extent_terms *x); /* beside scalars */
/* Requires of every `a / b` below e that b divides a, extents alone being involved. */
void extent_require_divisions(struct checker *c, const struct ast_expr *e, bool is_condition);

/* `axis` is as long as the product or the sum of the parts. */
void extent_equate(struct checker *c, int axis, const int *parts, int n, bool is_sum, struct span at);
/* An extent written in the body, `P=2`: a number or an equation of the label. */
void extent_declare(struct checker *c, int axis, const struct ast_expr *extent, struct span at);
/* What fixed extents determine by the equations of the body is fixed as well. */
void extent_settle(struct checker *c);
/* Every label must be bound by a fixed extent, an input or an equation. */
void extent_check_bound(struct checker *c);
/* No tensor whose extents are fixed may have more elements than a launch takes. */
void extent_check_sizes(struct checker *c);

/* ---- check_nominal.c ---- */
/* Sets axis.nominal of a kernel without errors. */
void check_nominal(struct cx *cx, struct kernel *k);

/* ---- check_unused.c ---- */
/* Warns of what the file defines and nothing reads; of its kernels `kernel` alone when not NULL. */
void check_unused(struct checker *c, const char *kernel);

/* ---- check_draw.c ---- */
/* Sets `below` of the parameters of a kernel without errors. */
void check_draw(struct cx *cx, struct kernel *k);

/* ---- check_test.c ---- */
/* Checks the test and bench blocks (of `kernel` alone when not NULL) into p->tests. */
void check_tests(struct checker *c, struct program *p, const char *kernel);

/* ---- check_require.c ---- */
/* `require` in a kernel or in a fn being expanded: a requirement of the kernel, or an error where it cannot hold. */
void check_require(struct checker *c, const struct ast_stmt *s);
/* What stands in the scope at hand under that name; NULL where nothing does. */
const struct value *check_find_value(const struct checker *c, struct name n);
/* Notes whether scalars stand below e, and whether one is of f64: known before a literal is written. */
void check_find_scalars(struct checker *c, const struct ast_expr *e, struct extent_terms *x);
/* Appends what a name of a condition is: an extent, a scalar, a number; false after an error. */
bool check_put_name(struct checker *c, const struct ast_expr *e, struct extent_terms *x);

#endif
