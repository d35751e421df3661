/* The grammar: tokens to a syntax tree.
 *
 * In: files[file] of cx. Out: a tree of all that could be read; errors are in cx->diags in source order. The grammar is
 * LALR(1) without precedences or conflicts. Tokens and tree point into the text and the arena, so nothing is destroyed
 * when the parser pops what it cannot finish. After an error the driver at the end resumes at the next statement or
 * definition, which it announces by the token SYNC. */
%include {
#include "front/ast.h"
#include "front/hints.h"
#include "front/lex.h"
#include "parse.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 200 }; /* brackets open at once */

struct parse { /* one text being read */
    struct cx *cx;
    int file;
    struct ast_file *ast;
    struct ast_item *last;      /* of ast->items */
    const struct token *tokens; /* the last is T_END */
    int at;                     /* the token being fed */
    int open[MAX_NESTING];      /* tokens of the brackets now open */
    int n_open;
    int closed;                 /* the token that opened the bracket closed last */
    bool in_body;               /* between the braces of a kernel or a fn, not counting those inside */
    bool is_lost;               /* an error was met: skip to where reading can go on */
    bool has_stopped;           /* a limit was met: read no further */
};

struct relabel_side { /* of a relabel */
    struct ast_axis *axes;
    bool is_tuple;
};

/* A list nonterminal holds its last element, whose `next` is the first: appending is O(1) and needs no second pointer. */
#define APPEND(last, x) \
    ((last) ? ((x)->next = (last)->next, (last)->next = (x)) : ((x)->next = (x)), (x))
/* The finished list, opened at its end. */
#define FIRST(last) \
    __extension__({ __typeof__(last) end_ = (last), first_ = NULL; if (end_) first_ = end_->next, end_->next = NULL; first_; })

static struct span span_of(const struct parse *p, const struct token *t) {
    return (struct span){.start = t->start, .len = t->len, .file = (uint16_t)p->file};
}

static struct span join(struct span a, struct span b) {
    a.len = b.start + b.len - a.start;
    return a;
}

static struct span between(const struct parse *p, const struct token *a, const struct token *b) {
    return join(span_of(p, a), span_of(p, b));
}

static struct name name_of(const struct token *t) { return t ? (struct name){t->s, t->len} : (struct name){0}; }

static enum fx_dtype dtype_of(const struct token *t) {
    for (int i = 0; i < FX_N_DTYPES; i++)
        if (name_is(name_of(t), fx_dtype_name(i))) return i;
    return FX_F32; /* not reached: the lexer looked it up */
}

/* ---- expressions ---- */

static void too_deep(struct parse *p, struct span at, const char *what, int limit) {
    if (p->has_stopped) return;
    p->has_stopped = true;
    diag_error(p->cx, at, D_TOO_DEEP, "%s more than %d levels deep", what, limit);
    diag_fix(p->cx, "give a part of it a name of its own");
}

static void deepen(struct parse *p, struct ast_expr *e, const struct ast_expr *child) {
    int levels = e->kind == AST_RELABEL ? RELABEL_LEVELS : 1;
    if (!child || child->depth + levels <= e->depth) return;
    if (child->depth + levels > AST_MAX_DEPTH)
        too_deep(p, e->op_span, "an expression", AST_MAX_DEPTH);
    else
        e->depth = (uint16_t)(child->depth + levels);
}

static struct ast_expr *expr(struct parse *p, enum ast_kind kind, struct span span, struct span op_span,
                             struct ast_expr *a, struct ast_expr *b, struct ast_expr *c) {
    struct ast_expr *e = NEW(&p->cx->arena, struct ast_expr);
    *e = (struct ast_expr){.kind = kind, .span = span, .op_span = op_span, .a = a, .b = b, .c = c, .depth = 1};
    deepen(p, e, a);
    deepen(p, e, b);
    deepen(p, e, c);
    return e;
}

static struct ast_expr *leaf(struct parse *p, enum ast_kind kind, const struct token *t) {
    return expr(p, kind, span_of(p, t), span_of(p, t), NULL, NULL, NULL);
}

static struct ast_expr *unary(struct parse *p, enum ast_op op, const struct token *t, struct ast_expr *a) {
    struct ast_expr *e = expr(p, AST_UNARY, join(span_of(p, t), a->span), span_of(p, t), a, NULL, NULL);
    e->op = op;
    return e;
}

static struct ast_expr *infix(struct parse *p, enum ast_kind kind, const struct token *t, struct ast_expr *a,
                              struct ast_expr *b) {
    return expr(p, kind, join(a->span, b->span), span_of(p, t), a, b, NULL);
}

static struct ast_expr *binary(struct parse *p, enum ast_op op, const struct token *t, struct ast_expr *a,
                               struct ast_expr *b) {
    struct ast_expr *e = infix(p, AST_BINARY, t, a, b);
    e->op = op;
    return e;
}

static struct ast_expr *parenthesised(struct parse *p, const struct token *l, struct ast_expr *e, const struct token *r) {
    e->parenthesised = true;
    e->span = between(p, l, r);
    return e;
}

/* A digit string as an integer; false when it does not fit. */
static bool read_integer(const struct token *t, uint64_t *value) {
    *value = 0;
    for (uint32_t i = 0; i < t->len; i++) {
        unsigned digit = (unsigned)(t->s[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return true;
}

/* Of a decimal fraction: its first digit that is not 0, if any, comes before the exponent. */
static bool is_zero(const struct token *t) {
    size_t zeros = strspn(t->s, "0.");
    return zeros >= t->len || (t->s[zeros] | 0x20) == 'e';
}

static struct ast_num number(struct parse *p, const struct token *t) {
    struct name n = name_of(t);
    if (name_is(n, "inf")) return (struct ast_num){.value = INFINITY};
    if (name_is(n, "nan")) return (struct ast_num){.value = NAN};
    if (name_is(n, "true") || name_is(n, "false"))
        return (struct ast_num){.value = *t->s == 't', .integer = *t->s == 't', .is_bool = true};
    struct ast_num num = {.is_integer = strspn(t->s, "0123456789") >= t->len};
    /* The C locale is a constant of the library: newlocale allocates nothing for it. */
    num.value = strtod_l(t->s, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (num.is_integer) {
        if (!read_integer(t, &num.integer))
            diag_error(p->cx, span_of(p, t), D_BAD_NUMBER, "an integer beyond 64 bits");
    } else if (isinf(num.value)) {
        diag_error(p->cx, span_of(p, t), D_BAD_NUMBER, "a number beyond the range of f64");
        diag_fix(p->cx, "infinity is written inf");
    } else if (num.value == 0 && !is_zero(t)) {
        diag_error(p->cx, span_of(p, t), D_BAD_NUMBER, "a number too small for f64");
        diag_fix(p->cx, "write 0");
    }
    return num;
}

static struct ast_expr *number_expr(struct parse *p, const struct token *t) {
    struct ast_expr *e = leaf(p, AST_NUM, t);
    e->num = number(p, t);
    return e;
}

static struct ast_expr *id_expr(struct parse *p, const struct token *t) {
    struct ast_expr *e = leaf(p, AST_ID, t);
    e->name = name_of(t);
    return e;
}

static struct ast_arg *arg(struct parse *p, struct span span, const struct token *label, struct ast_expr *value,
                           const struct token *to) {
    struct ast_arg *a = NEW(&p->cx->arena, struct ast_arg);
    *a = (struct ast_arg){.label = name_of(label), .value = value, .to = name_of(to), .span = span};
    return a;
}

static struct ast_expr *suffix(struct parse *p, enum ast_kind kind, struct ast_expr *a, const struct token *open,
                               struct ast_arg *args, const struct token *close) {
    struct ast_expr *e = expr(p, kind, join(a->span, span_of(p, close)), between(p, open, close), a, NULL, NULL);
    e->args = args;
    for (const struct ast_arg *i = args; i; i = i->next) deepen(p, e, i->value);
    return e;
}

/* `L->M` means something only where a call follows the brackets. */
static struct ast_expr *complete(struct parse *p, struct ast_expr *e) {
    if (e->kind != AST_ACCESS || e->parenthesised) return e;
    for (const struct ast_arg *i = e->args; i; i = i->next)
        if (i->to.len) {
            diag_error(p->cx, i->span, D_SYNTAX, "`->` in an access");
            diag_fix(p->cx, "a relabel stands in braces: {" NAME_FMT "->" NAME_FMT "}", NAME_ARG(i->label), NAME_ARG(i->to));
            break;
        }
    return e;
}

static struct ast_expr *relabel(struct parse *p, struct ast_expr *a, const struct token *open, struct relabel_side from,
                                struct relabel_side to, const struct token *close) {
    struct ast_expr *e = suffix(p, AST_RELABEL, complete(p, a), open, NULL, close);
    e->from = FIRST(from.axes);
    e->to = FIRST(to.axes);
    e->from_tuple = from.is_tuple;
    e->to_tuple = to.is_tuple;
    for (const struct ast_axis *i = e->from; i; i = i->next) deepen(p, e, i->extent);
    for (const struct ast_axis *i = e->to; i; i = i->next) deepen(p, e, i->extent);
    return e;
}

static const char *fix_of_word(struct name n);

/* Whether the text defines a fn of this name. */
static bool has_fn(const struct parse *p, struct name n) {
    for (const struct token *t = p->tokens; t->code != T_END; t++)
        if (t->code == T_FN && t[1].code == T_ID && name_eq(name_of(t + 1), n)) return true;
    return false;
}

/* f(..), or f[labels](..), which was read as an access of f. */
static struct ast_expr *call(struct parse *p, struct ast_expr *callee, const struct token *open, struct ast_arg *args,
                             const struct token *close) {
    struct ast_expr *e = suffix(p, AST_CALL, callee, open, args, close);
    bool has_labels = callee->kind == AST_ACCESS && !callee->parenthesised;
    const struct ast_expr *f = has_labels ? callee->a : callee;
    e->a = NULL;
    e->op_span = f->span;
    e->name = f->name;
    if (f->kind != AST_ID || f->parenthesised) {
        diag_error(p->cx, f->span, D_SYNTAX, "only a function can be called");
        diag_fix(p->cx, "a product needs its `*`");
    } else if (fix_of_word(f->name) && !has_fn(p, f->name)) {
        diag_error(p->cx, f->span, D_FOREIGN_SYNTAX, "`" NAME_FMT "` is no word of .fx", NAME_ARG(f->name));
        diag_fix(p->cx, "%s", fix_of_word(f->name));
    }
    if (!has_labels) return e;
    e->has_labels = true;
    e->labels = callee->args;
    for (const struct ast_arg *i = e->labels; i && f->kind == AST_ID; i = i->next)
        if (!i->to.len && (i->label.len || i->value->kind != AST_ID || i->value->parenthesised)) {
            diag_error(p->cx, i->span, D_SYNTAX, "expected a label in the brackets of a call");
            diag_fix(p->cx, "axes have names, which stand there alone: " NAME_FMT "[K](..)", NAME_ARG(f->name));
            break;
        }
    return e;
}

static struct ast_expr *fill(struct parse *p, struct ast_expr *a, const struct token *t, struct ast_expr *b) {
    if (complete(p, a)->kind != AST_ACCESS) {
        diag_error(p->cx, a->span, D_SYNTAX, "`??` follows an access");
        diag_fix(p->cx, "`x[H: e] ?? 0` gives 0 where e lies outside of H");
    }
    return infix(p, AST_FILL, t, a, b);
}

/* ---- lists of names, axes, types, values ---- */

static struct ast_ids *id(struct parse *p, const struct token *t) {
    struct ast_ids *i = NEW(&p->cx->arena, struct ast_ids);
    *i = (struct ast_ids){.name = name_of(t), .span = span_of(p, t)};
    return i;
}

/* Labels as a call keeps them: positions that are bare names. */
static struct ast_arg *labels_of(struct parse *p, struct ast_ids *ids) {
    struct ast_arg *last = NULL;
    for (struct ast_ids *i = ids; i; i = i->next) {
        struct token t = {.s = i->name.s, .len = i->name.len, .start = i->span.start};
        struct ast_arg *a = arg(p, i->span, NULL, id_expr(p, &t), NULL);
        last = APPEND(last, a);
    }
    return FIRST(last);
}

static struct ast_axis *axis(struct parse *p, const struct token *t, struct ast_expr *extent) {
    struct ast_axis *a = NEW(&p->cx->arena, struct ast_axis);
    struct span span = span_of(p, t);
    *a = (struct ast_axis){.name = name_of(t), .extent = extent, .span = extent ? join(span, extent->span) : span};
    return a;
}

static struct ast_type *type(struct parse *p, const struct token *t, const struct token *close, struct ast_axis *axes) {
    struct ast_type *y = NEW(&p->cx->arena, struct ast_type);
    *y = (struct ast_type){.dtype = dtype_of(t), .has_axes = close, .axes = axes, .span = between(p, t, close ? close : t)};
    return y;
}

static void once(struct parse *p, struct ast_type *y, const struct token *t, bool was_given) {
    if (was_given) {
        diag_error(p->cx, span_of(p, t), D_SYNTAX, "`%.*s` is given twice", (int)t->len, t->s);
        diag_fix(p->cx, "leave one of them out");
    }
    y->span = join(y->span, span_of(p, t));
}

static void align(struct parse *p, struct ast_type *y, const struct token *t, const struct token *bytes) {
    struct ast_num num = number(p, bytes);
    once(p, y, t, y->align);
    y->align = num.integer;
    y->span = join(y->span, span_of(p, bytes));
    if (num.is_integer && num.integer && num.integer <= 256 && !(num.integer & (num.integer - 1))) return;
    y->align = 0;
    diag_error(p->cx, span_of(p, bytes), D_BAD_NUMBER, "an alignment is a power of two of bytes, at most 256");
    diag_fix(p->cx, "16 is what the widest accesses of a thread need");
}

static struct ast_param *param(struct parse *p, const struct token *t, struct ast_type *y, struct ast_val *value) {
    struct ast_param *a = NEW(&p->cx->arena, struct ast_param);
    *a = (struct ast_param){.name = name_of(t), .value = value, .span = span_of(p, t)};
    if (y) a->type = *y, a->span = join(a->span, y->span);
    if (value) a->span = join(a->span, value->span);
    return a;
}

static struct ast_val *val(struct parse *p, int kind, struct span span, struct name name, struct ast_val *items) {
    struct ast_val *v = NEW(&p->cx->arena, struct ast_val);
    *v = (struct ast_val){.kind = kind, .name = name, .items = items, .span = span};
    return v;
}

static struct ast_val *literal(struct parse *p, const struct token *minus, const struct token *t) {
    struct ast_val *v = val(p, VAL_NUM, between(p, minus ? minus : t, t), (struct name){0}, NULL);
    v->num = number(p, t);
    if (!minus) return v;
    if (v->num.is_bool) diag_error(p->cx, v->span, D_BAD_NUMBER, "a truth value has no sign");
    if (v->num.integer > (uint64_t)1 << 63) diag_error(p->cx, v->span, D_BAD_NUMBER, "an integer beyond 64 bits");
    v->num.value = -v->num.value;
    v->num.integer = -v->num.integer;
    return v;
}

/* ---- statements and definitions ---- */

static struct ast_stmt *stmt(struct parse *p, struct span from, struct ast_ids *targets, struct ast_expr *value) {
    struct ast_stmt *s = NEW(&p->cx->arena, struct ast_stmt);
    *s = (struct ast_stmt){.is_require = !targets, .targets = targets, .value = value, .span = join(from, value->span)};
    return s;
}

/* `a[pos, ..] = value` */
static struct ast_stmt *place(struct parse *p, const struct token *t, struct ast_expr *place, struct ast_expr *value) {
    struct ast_ids *target = id(p, t);
    struct ast_stmt *s = stmt(p, target->span, target, value);
    s->place = place;
    return s;
}

static struct ast_attr *attr(struct parse *p, const struct token *t, struct ast_val *value) {
    struct ast_attr *a = NEW(&p->cx->arena, struct ast_attr);
    *a = (struct ast_attr){.name = name_of(t), .value = value, .span = join(span_of(p, t), value->span)};
    return a;
}

static struct ast_entry *entry(struct parse *p, const struct token *t, const struct token *sub, char relation,
                               const struct token *what, struct ast_val *value) {
    struct ast_entry *e = NEW(&p->cx->arena, struct ast_entry);
    *e = (struct ast_entry){.name = name_of(t), .sub = name_of(sub), .relation = relation, .what = name_of(what),
                            .value = value, .span = join(span_of(p, t), value->span)};
    return e;
}

static struct ast_item *item(struct parse *p, enum ast_item_kind kind, const struct token *from, const struct token *name,
                             struct span to) {
    struct ast_item *i = NEW(&p->cx->arena, struct ast_item);
    *i = (struct ast_item){.kind = kind, .name = name_of(name), .name_span = span_of(p, name),
                           .span = join(span_of(p, from), to)};
    return i;
}

static void add_item(struct parse *p, struct ast_item *i) {
    if (p->has_stopped) return; /* it may hold what is too deep */
    if (i->kind == ITEM_FN && fix_of_word(i->name)) {
        diag_error(p->cx, i->name_span, D_FOREIGN_SYNTAX, "a fn cannot be called `" NAME_FMT "`, which is a word of other languages", NAME_ARG(i->name));
        diag_fix(p->cx, "choose another name; or, for what it means elsewhere: %s", fix_of_word(i->name));
    }
    *(p->last ? &p->last->next : &p->ast->items) = i;
    p->last = i;
}

/* `grad`, `wrt` and `saved` are words of one place only, so elsewhere they are names. */
static void expect_word(struct parse *p, const struct token *t, const char *word) {
    if (name_is(name_of(t), word)) return;
    diag_error(p->cx, span_of(p, t), D_SYNTAX, "expected `%s`, found `%.*s`", word, (int)t->len, t->s);
    diag_fix(p->cx, "a derived kernel is written `kernel f_bwd = grad(f, wrt: x)`");
}

static void report(struct parse *p, const struct token *t, const bool *expected);
}

%name fx_grammar
%token_prefix T_
%token_type {const struct token *}
%extra_context {struct parse *p}
%stack_size 6000
%stack_overflow { too_deep(p, span_of(p, &p->tokens[p->at]), "an expression", AST_MAX_DEPTH); }

/* What may follow is read off the tables, so no message has to be kept in step with the grammar. */
%syntax_error {
    bool expected[YYNTOKEN] = {false};
    (void)yymajor;
    for (int t = 1; t < YYNTOKEN; t++)
        expected[t] = yy_find_shift_action((YYCODETYPE)t, yypParser->yytos->stateno) != YY_ERROR_ACTION;
    report(p, TOKEN, expected);
}

/* Tokens that no rule takes: what the lexer reported, and operators of other languages. Then two ranges of codes. */
%token BAD FOREIGN.
%token LT LE GT GE EQ NE.
%token PLUS MINUS STAR SLASH FLOORDIV PERCENT POW AT.
%start_symbol file

file ::= items END.
items ::= .
items ::= items item(I). { add_item(p, I); }
items ::= items error SYNC.

%type item {struct ast_item *}
%type fn_head {struct ast_item *}
%type kernel_head {struct ast_item *}
%type kernel_name {struct ast_item *}
item(A) ::= INCLUDE(T) STRING(S). {
    A = item(p, ITEM_INCLUDE, T, S, span_of(p, S));
    A->name = (struct name){0};
    A->path = (struct name){S->s + 1, S->len - 2};
}
item(A) ::= CONST(T) ID(N) ASSIGN expr(E). { A = item(p, ITEM_CONST, T, N, E->span); A->value = E; }
item(A) ::= fn_head(A) ASSIGN expr(E). { A->value = E; A->span = join(A->span, E->span); }
item(A) ::= fn_head(A) ARROW ids(R) body_open stmts(S) RBRACE(Z). {
    A->results = FIRST(R);
    A->body = FIRST(S);
    A->span = join(A->span, span_of(p, Z));
}
fn_head(A) ::= FN(T) ID(N) fn_axes(X) LPAREN fn_params(P) RPAREN(Z). {
    A = item(p, ITEM_FN, T, N, span_of(p, Z));
    A->axis_params = FIRST(X);
    A->params = FIRST(P);
}
item(A) ::= kernel_head(A) outs(O) with(W) body_open stmts(S) RBRACE(Z). {
    A->outs = FIRST(O);
    A->attrs = FIRST(W);
    A->body = FIRST(S);
    A->span = join(A->span, span_of(p, Z));
}
kernel_head(A) ::= kernel_name(A) RPAREN(Z). { A->span = join(A->span, span_of(p, Z)); }
kernel_head(A) ::= kernel_name(A) params(P) RPAREN(Z). { A->params = FIRST(P); A->span = join(A->span, span_of(p, Z)); }
kernel_head(A) ::= kernel_name(A) params(P) COMMA RPAREN(Z). { A->params = FIRST(P); A->span = join(A->span, span_of(p, Z)); }
kernel_name(A) ::= KERNEL(T) ID(N) kernel_axes(X) LPAREN. {
    A = item(p, ITEM_KERNEL, T, N, span_of(p, N));
    A->kernel_axes = FIRST(X);
}
item(A) ::= KERNEL(T) ID(N) ASSIGN ID(G) LPAREN ID(F) COMMA ID(Q) COLON ids(L) saved(X) RPAREN(Z) with(W). {
    expect_word(p, G, "grad");
    expect_word(p, Q, "wrt");
    A = item(p, ITEM_GRAD, T, N, span_of(p, Z));
    A->grad_of = name_of(F);
    A->wrt = FIRST(L);
    A->saved = FIRST(X);
    A->attrs = FIRST(W);
}
%type saved {struct ast_ids *}
saved(A) ::= . { A = NULL; }
saved(A) ::= COMMA ID(Q) COLON ids(L). { expect_word(p, Q, "saved"); A = L; }
item(A) ::= TEST(T) ID(N) LBRACE entries(E) RBRACE(Z). { A = item(p, ITEM_TEST, T, N, span_of(p, Z)); A->entries = FIRST(E); }
item(A) ::= BENCH(T) ID(N) LBRACE entries(E) RBRACE(Z). { A = item(p, ITEM_BENCH, T, N, span_of(p, Z)); A->entries = FIRST(E); }

body_open ::= LBRACE. { p->in_body = true; }

%type fn_axes {struct ast_ids *}
%type ids {struct ast_ids *}
fn_axes(A) ::= . { A = NULL; }
fn_axes(A) ::= LBRACKET ids(B) RBRACKET. { A = B; }
ids(A) ::= ID(T). { struct ast_ids *x = id(p, T); A = APPEND((struct ast_ids *)NULL, x); }
ids(A) ::= ids(A) COMMA ID(T). { struct ast_ids *x = id(p, T); A = APPEND(A, x); }

%type fn_params {struct ast_param *}
%type fn_param {struct ast_param *}
fn_params(A) ::= fn_param(X). { A = APPEND((struct ast_param *)NULL, X); }
fn_params(A) ::= fn_params(A) COMMA fn_param(X). { A = APPEND(A, X); }
fn_param(A) ::= ID(T). { A = param(p, T, NULL, NULL); }
fn_param(A) ::= ID(T) ASSIGN lit(V). { A = param(p, T, NULL, V); }

%type kernel_axes {struct ast_axis *}
%type axes {struct ast_axis *}
%type axis {struct ast_axis *}
kernel_axes(A) ::= . { A = NULL; }
kernel_axes(A) ::= LBRACKET axes(B) RBRACKET. { A = B; }
axes(A) ::= axis(X). { A = APPEND((struct ast_axis *)NULL, X); }
axes(A) ::= axes(A) COMMA axis(X). { A = APPEND(A, X); }
axis(A) ::= ID(T). { A = axis(p, T, NULL); }
axis(A) ::= ID(T) ASSIGN expr(E). { A = axis(p, T, E); }

%type params {struct ast_param *}
%type param {struct ast_param *}
%type param_type {struct ast_param *}
params(A) ::= param(X). { A = APPEND((struct ast_param *)NULL, X); }
params(A) ::= params(A) COMMA param(X). { A = APPEND(A, X); }
param(A) ::= param_type(A).
param(A) ::= param_type(A) ASSIGN lit(V). { A->value = V; A->span = join(A->span, V->span); }
param_type(A) ::= ID(T) COLON type(Y). { A = param(p, T, Y, NULL); }
param_type(A) ::= ID(T) COLON INOUT type(Y). { A = param(p, T, Y, NULL); A->is_inout = true; }
param_type(A) ::= ID(T) COLON CONST type(Y). { A = param(p, T, Y, NULL); A->is_const = true; }

%type outs {struct ast_param *}
%type out_list {struct ast_param *}
%type out {struct ast_param *}
outs(A) ::= . { A = NULL; }
outs(A) ::= ARROW out(X). { A = APPEND((struct ast_param *)NULL, X); }
outs(A) ::= ARROW LPAREN out_list(B) RPAREN. { A = B; }
out_list(A) ::= out(X). { A = APPEND((struct ast_param *)NULL, X); }
out_list(A) ::= out_list(A) COMMA out(X). { A = APPEND(A, X); }
out(A) ::= ID(T) COLON type(Y). { A = param(p, T, Y, NULL); }

%type type {struct ast_type *}
type(A) ::= DTYPE(T). { A = type(p, T, NULL, NULL); }
type(A) ::= DTYPE(T) LBRACKET RBRACKET(Z). { A = type(p, T, Z, NULL); }
type(A) ::= DTYPE(T) LBRACKET axes(B) RBRACKET(Z). { A = type(p, T, Z, FIRST(B)); }
type(A) ::= type(A) PACKED(T) LPAREN DTYPE(D) COMMA ID(X) COMMA ID(O) RPAREN(Z). {
    once(p, A, T, A->is_packed);
    A->is_packed = true;
    A->packed_dtype = dtype_of(D);
    A->packed_axis = name_of(X);
    A->packed_order = name_of(O);
    A->span = join(A->span, span_of(p, Z));
}
type(A) ::= type(A) STRIDED(T). { once(p, A, T, A->is_strided); A->is_strided = true; }
type(A) ::= type(A) ALIGN(T) NUM(N). { align(p, A, T, N); }

%type with {struct ast_attr *}
%type attrs {struct ast_attr *}
%type attr {struct ast_attr *}
with(A) ::= . { A = NULL; }
with(A) ::= WITH LBRACE attrs(B) RBRACE. { A = B; }
with(A) ::= WITH LBRACE attrs(B) COMMA RBRACE. { A = B; }
attrs(A) ::= attr(X). { A = APPEND((struct ast_attr *)NULL, X); }
attrs(A) ::= attrs(A) COMMA attr(X). { A = APPEND(A, X); }
attr(A) ::= ID(T) COLON aval(V). { A = attr(p, T, V); }

%type aval {struct ast_val *}
%type avals {struct ast_val *}
%type val {struct ast_val *}
%type vals {struct ast_val *}
%type lit {struct ast_val *}
aval(A) ::= ID(T). { A = val(p, VAL_ID, span_of(p, T), name_of(T), NULL); }
aval(A) ::= REQUIRE(T). { A = val(p, VAL_ID, span_of(p, T), name_of(T), NULL); }
aval(A) ::= lit(A).
aval(A) ::= LBRACKET(T) avals(B) RBRACKET(Z). { A = val(p, VAL_LIST, between(p, T, Z), (struct name){0}, FIRST(B)); }
avals(A) ::= aval(X). { A = APPEND((struct ast_val *)NULL, X); }
avals(A) ::= avals(A) COMMA aval(X). { A = APPEND(A, X); }
val(A) ::= lit(A).
val(A) ::= ID(T). { A = val(p, VAL_ID, span_of(p, T), name_of(T), NULL); }
val(A) ::= ID(T) LPAREN vals(B) RPAREN(Z). { A = val(p, VAL_CALL, between(p, T, Z), name_of(T), FIRST(B)); }
val(A) ::= LBRACKET(T) vals(B) RBRACKET(Z). { A = val(p, VAL_LIST, between(p, T, Z), (struct name){0}, FIRST(B)); }
vals(A) ::= val(X). { A = APPEND((struct ast_val *)NULL, X); }
vals(A) ::= vals(A) COMMA val(X). { A = APPEND(A, X); }
lit(A) ::= NUM(T). { A = literal(p, NULL, T); }
lit(A) ::= MINUS(S) NUM(T). { A = literal(p, S, T); }

%type entries {struct ast_entry *}
%type entry {struct ast_entry *}
%type dotted {const struct token *}
entries(A) ::= . { A = NULL; }
entries(A) ::= entries(A) entry(X). { A = APPEND(A, X); }
entry(A) ::= ID(T) dotted(S) ASSIGN val(V). { A = entry(p, T, S, '=', NULL, V); }
entry(A) ::= ID(T) dotted(S) COLON val(V). { A = entry(p, T, S, ':', NULL, V); }
entry(A) ::= ID(T) dotted(S) COLON ID(W) LE NUM(N). { A = entry(p, T, S, '<', W, literal(p, NULL, N)); }
dotted(A) ::= . { A = NULL; }
dotted(A) ::= DOT ID(T). { A = T; }

%type stmts {struct ast_stmt *}
stmts(A) ::= . { A = NULL; }
stmts(A) ::= stmts(A) ids(T) ASSIGN expr(E). {
    struct ast_ids *targets = FIRST(T);
    struct ast_stmt *x = stmt(p, targets->span, targets, E);
    A = APPEND(A, x);
}
stmts(A) ::= stmts(A) ID(T) LBRACKET(L) positions(P) RBRACKET(R) ASSIGN expr(E). {
    struct ast_stmt *x = place(p, T, suffix(p, AST_ACCESS, id_expr(p, T), L, FIRST(P), R), E);
    A = APPEND(A, x);
}
stmts(A) ::= stmts(A) REQUIRE(T) expr(E). { struct ast_stmt *x = stmt(p, span_of(p, T), NULL, E); A = APPEND(A, x); }
stmts(A) ::= stmts(A) SEMI.
stmts(A) ::= stmts(A) error SYNC.

%type expr {struct ast_expr *}
%type or {struct ast_expr *}
%type and {struct ast_expr *}
%type cmp {struct ast_expr *}
%type add {struct ast_expr *}
%type mul {struct ast_expr *}
%type mat {struct ast_expr *}
%type un {struct ast_expr *}
%type pow {struct ast_expr *}
%type fill {struct ast_expr *}
%type fill_value {struct ast_expr *}
%type post {struct ast_expr *}
expr(A) ::= or(A).
expr(A) ::= or(C) QUESTION(T) expr(B) COLON expr(D). { A = expr(p, AST_COND, join(C->span, D->span), span_of(p, T), C, B, D); }
or(A) ::= and(A).
or(A) ::= or(B) OR(T) and(C). { A = binary(p, OP_OR, T, B, C); }
and(A) ::= cmp(A).
and(A) ::= and(B) AND(T) cmp(C). { A = binary(p, OP_AND, T, B, C); }
cmp(A) ::= add(A).
cmp(A) ::= add(B) LT(T) add(C). { A = binary(p, OP_LT, T, B, C); }
cmp(A) ::= add(B) LE(T) add(C). { A = binary(p, OP_LE, T, B, C); }
cmp(A) ::= add(B) GT(T) add(C). { A = binary(p, OP_GT, T, B, C); }
cmp(A) ::= add(B) GE(T) add(C). { A = binary(p, OP_GE, T, B, C); }
cmp(A) ::= add(B) EQ(T) add(C). { A = binary(p, OP_EQ, T, B, C); }
cmp(A) ::= add(B) NE(T) add(C). { A = binary(p, OP_NE, T, B, C); }
add(A) ::= mul(A).
add(A) ::= add(B) PLUS(T) mul(C). { A = binary(p, OP_ADD, T, B, C); }
add(A) ::= add(B) MINUS(T) mul(C). { A = binary(p, OP_SUB, T, B, C); }
mul(A) ::= mat(A).
mul(A) ::= mul(B) STAR(T) mat(C). { A = binary(p, OP_MUL, T, B, C); }
mul(A) ::= mul(B) SLASH(T) mat(C). { A = binary(p, OP_DIV, T, B, C); }
mul(A) ::= mul(B) FLOORDIV(T) mat(C). { A = binary(p, OP_FLOORDIV, T, B, C); }
mul(A) ::= mul(B) PERCENT(T) mat(C). { A = binary(p, OP_MOD, T, B, C); }
mat(A) ::= un(A).
mat(A) ::= mat(B) AT(T) un(C). { A = infix(p, AST_MATMUL, T, B, C); }
mat(A) ::= mat(B) AT(T) LBRACKET ids(L) RBRACKET un(C). { A = infix(p, AST_MATMUL, T, B, C); A->labels = labels_of(p, FIRST(L)); }
un(A) ::= MINUS(T) un(B). { A = unary(p, OP_NEG, T, B); }
un(A) ::= NOT(T) un(B). { A = unary(p, OP_NOT, T, B); }
un(A) ::= pow(A).
pow(A) ::= fill(A).
pow(A) ::= fill(B) POW(T) un(C). { A = binary(p, OP_POW, T, B, C); }
fill(A) ::= post(B). { A = complete(p, B); }
fill(A) ::= post(B) FILL(T) fill_value(C). { A = fill(p, B, T, C); }
fill_value(A) ::= MINUS(T) fill_value(B). { A = unary(p, OP_NEG, T, B); }
fill_value(A) ::= fill(A).
post(A) ::= ID(T). { A = id_expr(p, T); }
post(A) ::= NUM(T). { A = number_expr(p, T); }
post(A) ::= DTYPE(T) LPAREN expr(E) RPAREN(Z). {
    A = expr(p, AST_CAST, between(p, T, Z), span_of(p, T), E, NULL, NULL);
    A->dtype = dtype_of(T);
}
post(A) ::= LPAREN(L) expr(E) RPAREN(R). { A = parenthesised(p, L, E, R); }
post(A) ::= post(B) LBRACKET(L) positions(P) RBRACKET(R). { A = suffix(p, AST_ACCESS, complete(p, B), L, FIRST(P), R); }
post(A) ::= post(B) LPAREN(L) RPAREN(R). { A = call(p, B, L, NULL, R); }
post(A) ::= post(B) LPAREN(L) args(P) RPAREN(R). { A = call(p, B, L, FIRST(P), R); }
post(A) ::= post(B) LBRACE(L) side(F) ARROW side(T) RBRACE(R). { A = relabel(p, B, L, F, T, R); }

%type positions {struct ast_arg *}
%type position {struct ast_arg *}
%type args {struct ast_arg *}
%type arg {struct ast_arg *}
%type side {struct relabel_side}
positions(A) ::= position(X). { A = APPEND((struct ast_arg *)NULL, X); }
positions(A) ::= positions(A) COMMA position(X). { A = APPEND(A, X); }
position(A) ::= arg(A).
position(A) ::= ID(T) ARROW ID(U). { A = arg(p, between(p, T, U), T, NULL, U); }
args(A) ::= arg(X). { A = APPEND((struct ast_arg *)NULL, X); }
args(A) ::= args(A) COMMA arg(X). { A = APPEND(A, X); }
arg(A) ::= expr(E). { A = arg(p, E->span, NULL, E, NULL); }
arg(A) ::= ID(T) COLON expr(E). { A = arg(p, join(span_of(p, T), E->span), T, E, NULL); }
side(A) ::= axis(X). { A = (struct relabel_side){APPEND((struct ast_axis *)NULL, X), false}; }
side(A) ::= LPAREN axes(B) RPAREN. { A = (struct relabel_side){B, true}; }

%code {
/* ---- messages ---- */

static const char *const spelling[YYNTOKEN] = {
    [T_END] = "the end of the file", [T_ID] = "a name", [T_NUM] = "a number", [T_STRING] = "a path in quotes",
    [T_DTYPE] = "a dtype", [T_INCLUDE] = "`include`", [T_CONST] = "`const`", [T_FN] = "`fn`", [T_KERNEL] = "`kernel`",
    [T_TEST] = "`test`", [T_BENCH] = "`bench`", [T_WITH] = "`with`", [T_REQUIRE] = "`require`", [T_INOUT] = "`inout`",
    [T_PACKED] = "`packed`", [T_STRIDED] = "`strided`", [T_ALIGN] = "`align`", [T_ARROW] = "`->`", [T_FILL] = "`??`",
    [T_QUESTION] = "`?`", [T_OR] = "`||`", [T_AND] = "`&&`", [T_NOT] = "`!`", [T_LT] = "`<`", [T_LE] = "`<=`",
    [T_GT] = "`>`", [T_GE] = "`>=`", [T_EQ] = "`==`", [T_NE] = "`!=`", [T_PLUS] = "`+`", [T_MINUS] = "`-`",
    [T_STAR] = "`*`", [T_POW] = "`**`", [T_SLASH] = "`/`", [T_FLOORDIV] = "`//`", [T_PERCENT] = "`%`", [T_AT] = "`@`",
    [T_ASSIGN] = "`=`", [T_LPAREN] = "`(`", [T_RPAREN] = "`)`", [T_LBRACKET] = "`[`", [T_RBRACKET] = "`]`",
    [T_LBRACE] = "`{`", [T_RBRACE] = "`}`", [T_COMMA] = "`,`", [T_COLON] = "`:`", [T_SEMI] = "`;`", [T_DOT] = "`.`",
};

/* Sets of tokens that have one name: when all of `needs` may follow, `stands_for` are covered by it. */
static const struct label_group {
    const char *name;
    unsigned char needs[3], stands_for[8];
} groups[] = {
    {"a definition", {T_KERNEL, T_FN}, {T_KERNEL, T_FN, T_CONST, T_INCLUDE, T_TEST, T_BENCH, T_END}},
    {"an expression", {T_ID, T_NUM, T_LPAREN}, {T_ID, T_NUM, T_LPAREN, T_MINUS, T_NOT, T_DTYPE}},
    {"a statement", {T_REQUIRE, T_SEMI}, {T_REQUIRE, T_SEMI, T_ID}},
    {"a type", {T_DTYPE, T_INOUT}, {T_DTYPE, T_INOUT, T_CONST}},
    {"a number", {T_NUM, T_MINUS}, {T_NUM, T_MINUS}},
    {NULL, {T_PACKED}, {T_PACKED, T_STRIDED, T_ALIGN}},
};

/* `a, b or c`. Clobbers expected. */
static const char *list_expected(struct parse *p, bool *expected) {
    const char *names[YYNTOKEN];
    int n = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool is_whole = true;
        for (int i = 0; i < 3; i++) is_whole &= !groups[g].needs[i] || expected[groups[g].needs[i]];
        if (!is_whole) continue;
        if (groups[g].name) names[n++] = groups[g].name;
        for (int i = 0; i < 8; i++) expected[groups[g].stands_for[i]] = false;
    }
    for (int t = 1; t < YYNTOKEN; t++)
        if (expected[t] && spelling[t]) names[n++] = spelling[t];
    struct buf b;
    buf_init(&b, &p->cx->arena);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", names[i]);
    return b.s;
}

static bool is_word(const struct token *t) { return t->len && *t->s >= 'a' && *t->s <= 'z'; }
static bool is_keyword(const struct token *t) { return is_word(t) && t->code != T_ID && t->code != T_NUM && t->code != T_DTYPE; }

static const char *describe(struct parse *p, const struct token *t) {
    if (t->code == T_END) return "the end of the file";
    int shown = t->len > 40 ? 40 : (int)t->len;
    return arena_printf(&p->cx->arena, "%s`%.*s%s`", is_keyword(t) ? "the keyword " : "", shown, t->s,
                        shown < (int)t->len ? "..." : "");
}

/* ---- constructs of other languages ---- */

static const char *fix_of_word(struct name n) { return hint_for(HINT_WORD, n); }
static const char *fix_of_operator(const struct token *t) { return hint_for(HINT_OPERATOR, name_of(t)); }

static bool ends_operand(const struct token *t) {
    return t->code == T_ID || t->code == T_NUM || t->code == T_RPAREN || t->code == T_RBRACKET || t->code == T_RBRACE;
}

static bool is_relation(const struct token *t) { return t->code >= T_LT && t->code <= T_NE; }

static bool is_axis_operator(struct name n) {
    static const char *const names[] = {"sum", "mean", "max", "min", "prod", "var", "any", "all", "argmax", "argmin",
                                        "softmax", "logsumexp", "cumsum", "cumprod", "cummax", "cummin", "amax", "amin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_is(n, names[i])) return true;
    return false;
}

static bool report_foreign(struct parse *p, struct span at, const char *what, const char *fix) {
    diag_error(p->cx, at, D_FOREIGN_SYNTAX, "%s", what);
    diag_fix(p->cx, "%s", fix);
    return true;
}

static bool is_one_of(struct name n, const char *const *names) {
    for (; *names; names++)
        if (name_is(n, *names)) return true;
    return false;
}

/* What the member `n` of a value is written as here; `value` names that value, is_called tells x.n() from x.n. */
static const char *fix_of_member(struct arena *a, struct name n, const char *value, bool is_called) {
    static const char *const shapes[] = {"reshape", "view", "permute", "flatten", "unflatten", "squeeze", "unsqueeze", "expand", "swapaxes", "movedim", NULL};
    static const char *const casts[] = {"to", "astype", "type", "float", "half", "double", "bfloat16", NULL};
    static const char *const extents[] = {"shape", "size", "ndim", "dim", "numel", NULL};
    if (is_one_of(n, shapes))
        return arena_printf(a, "axes match by name, in any order; `%s{(A,B)->P}` makes one of two, `%s{P->(A,B=4)}` two of one", value, value);
    if (is_one_of(n, casts)) return arena_printf(a, "a cast is `f16(%s)`", value);
    if (is_one_of(n, extents)) return "the extent of axis M is size(M)";
    if (hint_for(HINT_FUNCTION, n)) return hint_for(HINT_FUNCTION, n);
    if (is_called && is_axis_operator(n)) return arena_printf(a, "name the axis: `" NAME_FMT "[K](%s)`", NAME_ARG(n), value);
    return is_called ? arena_printf(a, "write `" NAME_FMT "(%s)`", NAME_ARG(n), value) : "a value is used as it is";
}

/* x.T, x.sum(1), x.shape, torch.relu(x); t is the dot. */
static bool foreign_member(struct parse *p, const struct token *t) {
    static const char *const transposes[] = {"T", "mT", "t", "transpose", NULL};
    static const char *const modules[] = {"torch", "np", "numpy", "jnp", "jax", "nn", "F", "tf", "math", NULL};
    const struct token *x = t - 1, *member = t + 1;
    struct arena *a = &p->cx->arena;
    struct name n = name_of(member);
    bool is_called = member[1].code == T_LPAREN, is_named = x->code == T_ID;
    const char *value = is_named ? arena_strndup(a, x->s, x->len) : "x";
    struct span at = between(p, t, member);
    if (is_one_of(n, transposes))
        return report_foreign(p, at, arena_printf(a, "`." NAME_FMT "`: axes match by name, so nothing is transposed", NAME_ARG(n)),
                              arena_printf(a, "%s; where it meets itself, `%s @ %s{M->J}` gives an axis another label",
                                           is_named ? arena_printf(a, "write `%s`", value) : "leave it out", value, value));
    if (is_named && is_called && is_one_of(name_of(x), modules))
        return report_foreign(p, between(p, x, t), arena_printf(a, "`%s.`: functions stand in no module", value),
                              hint_for(HINT_FUNCTION, n) ? hint_for(HINT_FUNCTION, n)
                              : is_axis_operator(n)      ? arena_printf(a, "write `" NAME_FMT "[K](..)`", NAME_ARG(n))
                                                  : arena_printf(a, "write `" NAME_FMT "(..)`", NAME_ARG(n)));
    return report_foreign(p, at, arena_printf(a, is_called ? "`." NAME_FMT "(`: values have no methods" : "`." NAME_FMT "`: values have no members", NAME_ARG(n)),
                          fix_of_member(a, n, value, is_called));
}

/* `name = value` among arguments; t is the `=`. */
static bool foreign_argument(struct parse *p, const struct token *t) {
    static const char *const axes[] = {"axis", "axes", "dim", "dims", NULL};
    struct arena *a = &p->cx->arena;
    const struct token *callee = &p->tokens[p->open[p->n_open - 1]] - 1; /* a `(` is not the first token */
    struct name n = name_of(t - 1);
    struct span at = between(p, t - 1, t);
    if (is_one_of(n, axes))
        return report_foreign(p, at, arena_printf(a, "`" NAME_FMT "=`: axes have names", NAME_ARG(n)),
                              arena_printf(a, "put the label in brackets: `%.*s[K](..)`", callee->code == T_ID ? (int)callee->len : 1,
                                           callee->code == T_ID ? callee->s : "f"));
    if (hint_for(HINT_ARGUMENT, n))
        return report_foreign(p, at, arena_printf(a, "`" NAME_FMT "=` is no argument of .fx", NAME_ARG(n)), hint_for(HINT_ARGUMENT, n));
    return report_foreign(p, at, "an argument is named by `:`", arena_printf(a, "write `" NAME_FMT ": ...`", NAME_ARG(n)));
}

/* What only other languages hand to a function, a string, a list, a tuple or `dim=`: where .fx has no such function, that is what is wrong. */
static bool foreign_call(struct parse *p, const struct token *t, const bool *expected) {
    bool is_list = t->code == T_LBRACKET && expected[T_NUM], is_tuple = t->code == T_COMMA && expected[T_RPAREN];
    if (!is_list && !is_tuple && t->code != T_STRING && t->code != T_ASSIGN) return false;
    for (int i = p->n_open - 1; i >= 0 && p->in_body; i--) {
        const struct token *open = &p->tokens[p->open[i]], *callee = open - 1;
        const char *fix = open->code == T_LPAREN && callee->code == T_ID ? hint_for(HINT_FUNCTION, name_of(callee)) : NULL;
        if (!fix || has_fn(p, name_of(callee))) continue;
        return report_foreign(p, span_of(p, callee), arena_printf(&p->cx->arena, "no function is named %.*s", (int)callee->len, callee->s), fix);
    }
    return false;
}

static bool is_adjacent(const struct token *a, const struct token *b) { return b->start == a->start + a->len; }

/* A comment of another language begins at t, or one token before it. */
static bool foreign_comment(struct parse *p, const struct token *t) {
    static const char fix[] = "a comment starts with `#`";
    if (t > p->tokens && t->code == T_STAR && t[-1].code == T_SLASH && is_adjacent(t - 1, t)) t--;
    if (t->code == T_SLASH && t[1].code == T_STAR && is_adjacent(t, t + 1))
        return report_foreign(p, between(p, t, t + 1), "`/*` is no operator of .fx", fix);
    return t->code == T_FLOORDIV && report_foreign(p, span_of(p, t), "`//` divides", fix);
}

/* What follows the name a statement starts with, other than `=`; t is that token. */
static bool foreign_assignment(struct parse *p, const struct token *t) {
    struct arena *a = &p->cx->arena;
    struct name n = name_of(t - 1);
    if (t->code == T_COLON)
        return report_foreign(p, span_of(p, t), "a name has no type of its own", arena_printf(a, "write `" NAME_FMT " = ...`; a cast is f16(..)", NAME_ARG(n)));
    if (t->code == T_EQ) return report_foreign(p, span_of(p, t), "`==` compares", arena_printf(a, "write `" NAME_FMT " = ...`", NAME_ARG(n)));
    if ((t->code == T_PLUS || t->code == T_MINUS) && t[1].code == t->code)
        return report_foreign(p, between(p, t, t + 1), arena_printf(a, "`%.*s%.*s`: there is no assignment in place", (int)t->len, t->s, (int)t->len, t->s),
                              arena_printf(a, "write `" NAME_FMT " = " NAME_FMT " %.*s 1`", NAME_ARG(n), NAME_ARG(n), (int)t->len, t->s));
    return false;
}

/* a < b < c: a relation stands before t in the same operand list. */
static bool is_chained(const struct parse *p, const struct token *t) {
    if (!is_relation(t) || !ends_operand(t - 1)) return false;
    int depth = 0;
    for (const struct token *i = t - 1; i > p->tokens; i--) {
        if (i->code == T_RPAREN || i->code == T_RBRACKET || i->code == T_RBRACE) depth++;
        if (i->code == T_LPAREN || i->code == T_LBRACKET || i->code == T_LBRACE) depth--;
        if (depth < 0 || (depth == 0 && (i->code == T_ASSIGN || i->code == T_COMMA || is_keyword(i)))) return false;
        if (depth == 0 && is_relation(i)) return true;
    }
    return false;
}

static bool is_slice(const struct parse *p, const struct token *t) {
    const struct token *open = p->n_open ? &p->tokens[p->open[p->n_open - 1]] : NULL;
    return t->code == T_COLON && open && open > p->tokens && open->code == T_LBRACKET && ends_operand(open - 1);
}

static bool is_binary(const struct token *t) {
    return (t->code >= T_PLUS && t->code <= T_AT) || (t->code == T_FOREIGN && strchr("&|^", *t->s));
}

/* Reports what is valid elsewhere but not here, with how .fx says it. */
static bool report_if_foreign(struct parse *p, const struct token *t, const bool *expected) {
    struct arena *a = &p->cx->arena;
    if (!expected[t->code] && foreign_comment(p, t)) return true;
    if (t == p->tokens) {
        if (t->code != T_ID || !fix_of_word(name_of(t))) return false;
    } else if (t->code == T_DOT && t[1].code == T_ID && ends_operand(t - 1)) {
        return foreign_member(p, t);
    }
    if (is_binary(t) && t[1].code == T_ASSIGN && t[1].start == t->start + t->len) {
        const char *op = arena_strndup(a, t->s, t->len);
        struct name target = t > p->tokens && t[-1].code == T_ID ? name_of(t - 1) : (struct name){"y", 1};
        if (t > p->tokens && t[-1].code == T_RBRACKET)
            return report_foreign(p, between(p, t, t + 1), arena_printf(a, "`%s=`: there is no assignment in place", op),
                                  arena_printf(a, "write what stands there out: `x[T: i] = (x[T: i] ?? 0) %s ...`", op));
        return report_foreign(p, between(p, t, t + 1), arena_printf(a, "`%s=`: there is no assignment in place", op),
                              arena_printf(a, "a name, unless it is an output, may be assigned again: `" NAME_FMT " = " NAME_FMT " %s ...`", NAME_ARG(target), NAME_ARG(target), op));
    }
    if (t->code == T_FOREIGN)
        return report_foreign(p, span_of(p, t), arena_printf(a, "`%.*s` is no operator of .fx", (int)t->len, t->s),
                              fix_of_operator(t));
    if (foreign_call(p, t, expected)) return true;
    if (expected[T_ASSIGN] && p->in_body && t > p->tokens && t[-1].code == T_ID && foreign_assignment(p, t)) return true;
    if (is_slice(p, t))
        return report_foreign(p, span_of(p, t), "`:` does not slice",
                              "name the axes that are indexed, `x[N: 0]`; the others pass through, and `x[N: J+1]` shifts");
    if (t->code == T_ASSIGN && !expected[T_COLON] && expected[T_COMMA] && t[-1].code == T_ID && p->n_open && !t[-1].on_new_line)
        return foreign_argument(p, t);
    if (is_chained(p, t))
        return report_foreign(p, span_of(p, t), "comparisons do not chain", "write `a < b && b < c`");
    const struct token *word = t->code == T_ID && fix_of_word(name_of(t)) ? t : t > p->tokens && t[-1].code == T_ID ? t - 1 : NULL;
    if (word && fix_of_word(name_of(word)))
        return report_foreign(p, span_of(p, word), arena_printf(a, "`%.*s` is no word of .fx", (int)word->len, word->s),
                              fix_of_word(name_of(word)));
    return false;
}

static bool closes(const struct token *open, int code) {
    return code == (open->code == T_LPAREN ? T_RPAREN : open->code == T_LBRACKET ? T_RBRACKET : T_RBRACE);
}

static bool starts_item(const struct token *t) {
    switch (t->code) {
    case T_END: return true;
    case T_KERNEL: case T_FN: case T_TEST: case T_BENCH: return t->on_new_line && t[1].code == T_ID;
    case T_INCLUDE: return t->on_new_line && t[1].code == T_STRING;
    case T_CONST: return t->on_new_line && t[1].code == T_ID && t[2].code == T_ASSIGN;
    }
    return false;
}

/* "bool, u4, .., f32 and f64" */
static const char *dtype_list(struct parse *p) {
    struct buf b;
    buf_init(&b, &p->cx->arena);
    for (int i = 0; i < FX_N_DTYPES; i++) buf_printf(&b, "%s%s", i == 0 ? "" : i == FX_N_DTYPES - 1 ? " and " : ", ", fx_dtype_name(i));
    return b.s;
}

/* Whether the bracket open now is that of a fn's parameters, which have no types. */
static bool is_in_fn_head(const struct parse *p) {
    const struct token *t = p->n_open ? &p->tokens[p->open[p->n_open - 1]] : p->tokens;
    while (t > p->tokens && !starts_item(t)) t--;
    return t->code == T_FN && !p->in_body;
}

/* A dtype stands where a name is expected: what was meant is the type of a parameter that has no name, or the name. */
static void suggest_for_dtype(struct parse *p, const struct token *t) {
    int code = t > p->tokens ? t[-1].code : T_END;
    bool is_type = !p->in_body && (code == T_ARROW || code == T_LPAREN || code == T_COMMA) && t[1].code != T_COLON;
    for (int i = 0; i < p->n_open; i++) is_type &= p->tokens[p->open[i]].code == T_LPAREN;
    if (is_type && is_in_fn_head(p)) diag_fix(p->cx, "a parameter of a fn has no type: write its name alone");
    else if (is_type) diag_fix(p->cx, "write `name: %.*s[M,N]`", (int)t->len, t->s);
    else diag_fix(p->cx, "`%.*s` is a dtype; choose another name", (int)t->len, t->s);
}

/* A name stands where a type is expected. */
static void suggest_type(struct parse *p, const struct token *t) {
    const char *dtype = hint_for(HINT_DTYPE, name_of(t));
    struct nearest near = {.wanted = name_of(t)};
    for (int i = 0; i < FX_N_DTYPES; i++) nearest_offer(&near, (struct name){fx_dtype_name(i), (uint32_t)strlen(fx_dtype_name(i))});
    if (dtype && hint_is_dtype(dtype)) diag_fix(p->cx, "write %s", dtype);
    else if (dtype) diag_fix(p->cx, "%s", dtype);
    else if (near.name.len) diag_fix(p->cx, "did you mean " NAME_FMT "?", NAME_ARG(near.name));
    else diag_fix(p->cx, "a type is a dtype and labels, f32[M,N]; the dtypes are %s", dtype_list(p));
}

/* Whether the definition that t stands in has the name. */
static bool has_id(const struct parse *p, const struct token *t, struct name n) {
    while (t > p->tokens && !starts_item(t)) t--;
    do {
        if (t->code == T_ID && name_eq(name_of(t), n)) return true;
    } while (!starts_item(++t));
    return false;
}

/* A number, or an operator behind a label, among labels: the extent of an axis that has no name. */
static void suggest_label(struct parse *p, const struct token *t) {
    static const char letters[] = "MNKTSHDABCEFGIJLOPQRUVW";
    size_t i = 0;
    while (i < sizeof letters - 2 && has_id(p, t, (struct name){letters + i, 1})) i++;
    const struct token *first = t->code == T_NUM ? t : t - 1, *end = t;
    while (end->code != T_COMMA && end->code != T_RBRACKET && end->code != T_END && !end->on_new_line) end++;
    if (end == t + 1)
        diag_fix(p->cx, "an axis has a name, and may have a fixed extent: write `%c=%.*s`", letters[i], (int)t->len, t->s);
    else
        diag_fix(p->cx, "an axis has a name, and may have an extent behind `=`: %c=%.*s", letters[i],
            (int)(end[-1].s + end[-1].len - first->s), first->s);
}

static bool is_operator(const struct token *t) {
    return t->code == T_PLUS || t->code == T_MINUS || t->code == T_STAR || t->code == T_SLASH ||
           t->code == T_FLOORDIV || t->code == T_PERCENT;
}

/* Whether the bracket is that of `kernel g = grad(..)`. */
static bool is_gradient(const struct parse *p, const struct token *open) {
    return open - p->tokens > 2 && !p->in_body && open->code == T_LPAREN && open[-1].code == T_ID &&
           name_is(name_of(open - 1), "grad") && open[-2].code == T_ASSIGN;
}

/* The fix of a syntax error, where one can be told. */
static void suggest(struct parse *p, const struct token *t, const bool *expected) {
    const struct token *open = p->n_open ? &p->tokens[p->open[p->n_open - 1]] : NULL;
    bool is_last = t->code == T_END || starts_item(t);
    bool ends_here = t->on_new_line || t->code == T_RPAREN || t->code == T_RBRACKET || t->code == T_RBRACE;
    if (expected[T_ID] && (is_keyword(t) || (t->code == T_NUM && is_word(t) && !expected[T_NUM])) && !starts_item(t))
        diag_fix(p->cx, "`%.*s` is a word of the language; choose another name", (int)t->len, t->s);
    else if (t->code == T_DTYPE && !expected[T_DTYPE] && expected[T_ID])
        suggest_for_dtype(p, t);
    else if (t > p->tokens && t[-1].code == T_DTYPE && expected[T_LPAREN] && p->in_body)
        diag_fix(p->cx, "`%.*s` is a dtype: a cast is %.*s(..), and a value or a label has another name", (int)t[-1].len, t[-1].s, (int)t[-1].len, t[-1].s);
    else if (t->code == T_ID && expected[T_DTYPE] && !expected[T_ID])
        suggest_type(p, t);
    else if (t->code == T_NUM && expected[T_ID] && !expected[T_NUM] && open && open->code == T_LBRACKET && !p->in_body)
        suggest_label(p, t);
    else if (is_operator(t) && t > p->tokens && t[-1].code == T_ID && expected[T_COMMA] && !p->in_body && open &&
             open->code == T_LBRACKET)
        suggest_label(p, t);
    else if (open && is_gradient(p, open) && t - open > 2)
        diag_fix(p->cx, "the inputs that it is by are named behind `wrt:`: grad(%.*s, wrt: x, w)", (int)open[1].len,
            open[1].s);
    else if (t > p->tokens && t[-1].code == T_ID && expected[T_COLON] && !p->in_body && open && open->code == T_LPAREN)
        diag_fix(p->cx, "a parameter has a type: write `%.*s: f32[M,N]`, or `%.*s: f32` for a number", (int)t[-1].len, t[-1].s, (int)t[-1].len, t[-1].s);
    else if (t->code == T_RBRACE && expected[T_ARROW] && t[1].code == T_LPAREN && open > p->tokens && open[-1].code == T_ID)
        diag_fix(p->cx, "the labels of a call stand in brackets: %.*s[..](..)", (int)open[-1].len, open[-1].s);
    else if (open && (is_last || (ends_here && open->code != T_LBRACE)))
        for (int code = 1; code < YYNTOKEN; code++)
            if (expected[code] && closes(open, code))
                diag_fix(p->cx, "the `%c` of line %d is not closed", *open->s, span_line(p->cx, span_of(p, open)));
}

/* `a =` or `a, b =` at the start of a line. */
static bool starts_assignment(const struct token *t) {
    if (!t->on_new_line || t->code != T_ID) return false;
    while (t[1].code == T_COMMA && t[2].code == T_ID) t += 2;
    return t[1].code == T_ASSIGN;
}

/* The name before `=` was read as the end of the expression above. */
static void report_unfinished(struct parse *p, const struct token *name) {
    const struct token *last = name - 1;
    const struct token *open = p->n_open > 1 ? &p->tokens[p->open[p->n_open - 1]] : NULL;
    diag_error(p->cx, span_of(p, name), D_SYNTAX, "`%.*s =` starts a statement before the expression above ends",
               (int)name->len, name->s);
    if (open)
        diag_fix(p->cx, "the `%c` of line %d is not closed", *open->s, span_line(p->cx, span_of(p, open)));
    else
        diag_fix(p->cx, "an operand is missing after `%.*s`", (int)last->len, last->s);
}

/* An error at t, where any of `expected` could have stood. */
static void report(struct parse *p, const struct token *t, const bool *expected) {
    p->is_lost = true;
    p->has_stopped |= p->cx->n_errors > DIAG_MAX;
    if (t->code == T_BAD || report_if_foreign(p, t, expected)) return; /* the lexer said what is wrong with T_BAD */
    if (p->in_body && t->code == T_ASSIGN && starts_assignment(t - 1)) {
        report_unfinished(p, t - 1);
        return;
    }
    bool listed[YYNTOKEN];
    memcpy(listed, expected, sizeof listed);
    diag_error(p->cx, span_of(p, t), D_SYNTAX, "expected %s, found %s", list_expected(p, listed), describe(p, t));
    suggest(p, t, expected);
}

/* ---- the driver ---- */

/* A statement that begins where nothing separates it from the one before. */
static bool is_unseparated(const struct parse *p, const struct token *t) {
    if (!p->in_body || p->n_open != 1 || (t->code != T_ID && t->code != T_REQUIRE) || t->on_new_line) return false;
    bool is_after_labels = t[-1].code == T_RBRACKET && p->tokens[p->closed - 1].code == T_AT;
    return ends_operand(t - 1) && !is_after_labels;
}

static void report_unseparated(struct parse *p, const struct token *t) {
    static const bool nothing[YYNTOKEN];
    bool is_comment = t - p->tokens >= 2 && t[-1].code == T_ID && !t[-1].on_new_line && t[-2].code == T_FLOORDIV; /* x // two words */
    if (report_if_foreign(p, t, nothing) || (is_comment && foreign_comment(p, t - 2))) return;
    diag_error(p->cx, span_of(p, t), D_NO_NEWLINE, "`%.*s` starts a statement on the line of another", (int)t->len, t->s);
    diag_fix(p->cx, "start a new line, put `;` before it, or write the operator that is missing");
}

/* A name that follows a finished expression on a new line, no bracket being open, or whatever is being assigned to. */
static bool starts_statement(const struct token *t, int n_open) {
    if (t->code == T_SEMI || starts_assignment(t)) return true;
    return t->on_new_line && (t->code == T_REQUIRE || (t->code == T_ID && n_open <= 0 && ends_operand(t - 1)));
}

/* The token at which reading goes on after an error at p->at. It is one that the state reached there accepts. */
static int find_resumption(const struct parse *p) {
    const struct token *t = &p->tokens[p->at];
    int n_open = 0, n_braces = 0; /* inside the body */
    if (p->in_body && t->code == T_ASSIGN && starts_assignment(t - 1)) return p->at - 1;
    for (int i = 1; i < p->n_open; i++) {
        n_open++;
        n_braces += p->tokens[p->open[i]].code == T_LBRACE;
    }
    for (; !starts_item(t); t++) {
        if (!p->in_body) continue;
        if (starts_statement(t, n_open) || (t->code == T_RBRACE && n_braces == 0)) break;
        n_open += t->code == T_LPAREN || t->code == T_LBRACKET || t->code == T_LBRACE;
        n_open -= t->code == T_RPAREN || t->code == T_RBRACKET || t->code == T_RBRACE;
        n_braces += (t->code == T_LBRACE) - (t->code == T_RBRACE);
    }
    return (int)(t - p->tokens);
}

/* Puts the parser back between two statements or two definitions, and p->at at the next. */
static void resume(struct parse *p, yyParser *y) {
    struct token here = p->tokens[p->at = find_resumption(p)];
    here.len = 0;
    p->is_lost = false;
    y->yyerrcnt = -1; /* where reading resumes is known to fit, so the next error is news */
    fx_grammar(y, T_SYNC, NEW(&p->cx->arena, struct token));
    if (p->in_body && starts_item(&p->tokens[p->at])) {
        /* The body ends without its brace. */
        struct token *brace = NEW(&p->cx->arena, struct token);
        *brace = here;
        fx_grammar(y, T_RBRACE, brace);
        p->in_body = false;
    }
    p->n_open = p->in_body;
}

static void track_brackets(struct parse *p, const struct token *t) {
    switch (t->code) {
    case T_LPAREN: case T_LBRACKET: case T_LBRACE:
        if (p->n_open == MAX_NESTING)
            too_deep(p, span_of(p, t), "brackets nested", MAX_NESTING);
        else
            p->open[p->n_open++] = (int)(t - p->tokens);
        break;
    case T_RPAREN: case T_RBRACKET: case T_RBRACE:
        p->closed = p->open[--p->n_open];
        p->in_body &= p->n_open > 0;
        break;
    }
}

static void parse_tokens(struct parse *p) {
    yyParser *y = NEW(&p->cx->arena, yyParser);
    fx_grammarInit(y, p);
    while (!p->has_stopped) {
        const struct token *t = &p->tokens[p->at];
        static const struct token bad = {.code = T_BAD};
        bool is_bad = is_unseparated(p, t);
        if (is_bad) report_unseparated(p, t);
        fx_grammar(y, is_bad ? T_BAD : t->code, is_bad ? &bad : t);
        if (p->is_lost) {
            if (!p->has_stopped) resume(p, y);
            continue;
        }
        if (t->code == T_END) break;
        track_brackets(p, t);
        p->at++;
    }
    if (!p->has_stopped) fx_grammar(y, 0, &p->tokens[p->at]);
}

/* The lexer ran ahead of the parser: brings the messages from `first` on into source order. */
static void sort_messages(struct cx *cx, int first) {
    for (int i = first + 1; i < cx->n_diags; i++) {
        struct diag d = cx->diags[i];
        int j = i;
        for (; j > first && cx->diags[j - 1].span.start > d.span.start; j--) cx->diags[j] = cx->diags[j - 1];
        cx->diags[j] = d;
    }
}

struct ast_file *fx_parse(struct cx *cx, int file) {
    struct parse p = {.cx = cx, .file = file, .ast = NEW(&cx->arena, struct ast_file)};
    int first_message = cx->n_diags, n;
    if (cx->files[file].len > MAX_FILE_BYTES) {
        diag_error(cx, (struct span){.file = (uint16_t)file}, D_TOO_BIG, "a file of more than %d bytes", MAX_FILE_BYTES);
        diag_fix(cx, "split it into several specs");
        return p.ast;
    }
    p.tokens = lex(cx, file, &n);
    parse_tokens(&p);
    sort_messages(cx, first_message);
    return p.ast;
}
}
