/* The syntax tree. parse.y builds it; ast_print.c alone writes it as text again.
 *
 * Every node carries the span it was read from. Lists are linked in source order. Nothing is resolved here: names are
 * bytes, a callee is a name, and whether a construct is supported is the checker's business. */
#ifndef FX_AST_H
#define FX_AST_H

#include "base/base.h"
#include "dtype.h"

struct ast_ids { /* a list of identifiers: labels, targets */
    struct name name;
    struct span span;
    struct ast_ids *next;
};

enum ast_kind {
    AST_NUM,      /* num */
    AST_ID,       /* name */
    AST_UNARY,    /* op a: NEG NOT */
    AST_BINARY,   /* a op b */
    AST_MATMUL,   /* a @ b, labels NULL when none were written */
    AST_COND,     /* a ? b : c */
    AST_FILL,     /* a ?? b, a an access */
    AST_CAST,     /* dtype(a) */
    AST_CALL,     /* name[labels](args); has_labels tells `f[](..)` from `f(..)` */
    AST_ACCESS,   /* a[pos, ..]: args with label set for `L: e`, to set for `L->M` (halves[F->N] before a call) */
    AST_RELABEL,  /* a{from->to} */
};

enum ast_op { /* unary and binary operators */
    OP_NEG, OP_NOT, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_POW,
    OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR,
};

struct ast_expr;

struct ast_axis { /* `ID` or `ID = expr` */
    struct name name;
    struct ast_expr *extent; /* NULL when bare */
    struct span span;
    struct ast_axis *next;
};

struct ast_arg { /* an argument of a call, or a position of an access */
    struct name label;       /* `label: value`; empty when positional */
    struct ast_expr *value;  /* NULL for `label -> to` */
    struct name to;          /* `label -> to`, in halves[F->N]; empty otherwise */
    struct span span;
    struct ast_arg *next;
};

struct ast_num {
    double value;   /* every literal fits: an integer beyond 2^53 also has `integer` */
    uint64_t integer;
    bool is_integer; /* written without point or exponent */
    bool is_bool;    /* true, false */
};

enum {
    AST_MAX_DEPTH = 1000, /* levels of an expression: so that a recursion over one fits the stack that fx.h states */
    RELABEL_LEVELS = 5,   /* that a relabel counts as: it becomes as many operations */
};

struct ast_expr {
    enum ast_kind kind;
    enum ast_op op;
    struct span span;      /* the whole expression */
    struct span op_span;   /* the operator, or the callee's name */
    struct name name;      /* AST_ID, AST_CALL */
    struct ast_num num;    /* AST_NUM */
    enum fx_dtype dtype;   /* AST_CAST */
    bool parenthesised;    /* stood in ( ): the `@` warning needs it */
    bool has_labels;       /* AST_CALL with brackets */
    uint16_t depth;        /* levels of the tree from here down; the parser refuses more than AST_MAX_DEPTH */
    struct ast_expr *a, *b, *c;
    struct ast_arg *labels; /* AST_CALL f[L, F->N](..), AST_MATMUL @[K] */
    struct ast_arg *args;   /* AST_CALL, AST_ACCESS */
    struct ast_axis *from, *to; /* AST_RELABEL */
    bool from_tuple, to_tuple;  /* `(A,B)` rather than `A` */
};

struct ast_val { /* a literal in an attribute, a default, or a test/bench entry */
    enum { VAL_NUM, VAL_ID, VAL_CALL, VAL_LIST } kind;
    struct ast_num num;
    struct name name;       /* VAL_ID, VAL_CALL */
    struct ast_val *items;  /* VAL_CALL arguments, VAL_LIST */
    struct span span;
    struct ast_val *next;
};

struct ast_type {
    enum fx_dtype dtype;
    bool has_axes;          /* brackets were written: f32[] is a 0-d tensor, f32 a scalar */
    struct ast_axis *axes;
    bool is_packed, is_strided;
    enum fx_dtype packed_dtype;
    struct name packed_axis, packed_order;
    uint64_t align;         /* bytes; 0 when not given */
    struct span span;
};

struct ast_param { /* a parameter or an output */
    struct name name;
    bool is_inout, is_const;
    struct ast_type type;
    struct ast_val *value; /* default, or NULL */
    struct span span;
    struct ast_param *next;
};

struct ast_stmt {
    bool is_require;         /* `require expr` */
    struct ast_ids *targets; /* `a, b = expr` */
    struct ast_expr
        *place; /* `a[pos, ..] = expr`: a[pos, ..], an access; NULL: what the targets name is assigned whole */
    struct ast_expr *value;
    struct span span;
    struct ast_stmt *next;
};

struct ast_attr {
    struct name name;
    struct ast_val *value; /* `require` stands as VAL_ID */
    struct span span;
    struct ast_attr *next;
};

struct ast_entry { /* of a test or bench block: `name[.sub] = val`, `name[.sub]: val`, `name: what <= num` */
    struct name name, sub;
    char relation; /* '=', ':', or '<' */
    struct name what; /* of '<' */
    struct ast_val *value;
    struct span span;
    struct ast_entry *next;
};

enum ast_item_kind { ITEM_INCLUDE, ITEM_CONST, ITEM_FN, ITEM_KERNEL, ITEM_GRAD, ITEM_TEST, ITEM_BENCH };

struct ast_item {
    enum ast_item_kind kind;
    struct name name;          /* of what is defined, or of the kernel tested */
    struct span span, name_span;
    struct name path;          /* include: between the quotes */
    struct ast_expr *value;    /* const; fn with `=` */
    struct ast_ids *axis_params;   /* fn f[K](..) */
    struct ast_axis *kernel_axes;  /* kernel f[U=3](..) */
    struct ast_param *params;  /* fn: only name and default; kernel: all */
    struct ast_param *outs;    /* kernel */
    struct ast_ids *results;   /* fn .. -> a, b { } */
    struct ast_attr *attrs;
    struct ast_stmt *body;     /* kernel; fn with `{}` */
    struct name grad_of;
    struct ast_ids *wrt, *saved;
    struct ast_entry *entries; /* test, bench */
    struct ast_item *next;
};

struct ast_file {
    struct ast_item *items;
};

/* parse.y: reads files[file] of cx. Always returns a tree (of what could be read); errors are in cx->diags. */
struct ast_file *fx_parse(struct cx *cx, int file);
/* include.c */
struct file_reader { /* serves includes */
    const char *(*read)(void *user, const char *path, size_t *len); /* the text, or NULL; no function: none is read */
    const char *(*failure)(void *user); /* why the last read gave NULL, or NULL */
    void *user;
};
/* The items of the spec and of all it includes; the spec's own tree stays as it was read, for --emit=ast. */
struct ast_file *fx_include(struct cx *cx, const struct ast_file *spec, const struct file_reader *reader);
/* ast_print.c: the tree as indented s-expressions (--emit=ast), and one expression as .fx text, minimal parentheses. */
void ast_print(struct buf *out, const struct ast_file *file);
void ast_print_expr(struct buf *out, const struct ast_expr *e);
/* A literal as it reads back. */
void ast_print_num(struct buf *out, const struct ast_num *n);
/* Its first bytes, at most `most` (> 3) of them, `...` in place of what did not fit. Costs what it prints and one step
 * a level of the tree. */
void ast_print_expr_short(struct buf *out, const struct ast_expr *e, size_t most);

#endif
