/* lex.re, parse.y, ast_print.c: what reads, what does not and what is said about it, and that printing is the inverse
 * of reading. Runs in the root of the tree. Texts are handed over in blocks of their exact size, so that a sanitizer
 * sees a read past the end. */
#include "front/ast.h"
#include "suite.h"

#include <check.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cx cx;
static char *texts[64]; /* of the files of cx, freed at the end of the test */
static int n_texts;

static void setup(void) {
    cx = (struct cx){.n_files = 0};
    n_texts = 0;
    arena_init(&cx.arena, &cx.oom);
}

static void teardown(void) {
    arena_release(&cx.arena);
    while (n_texts > 0) free(texts[--n_texts]);
}

static void restart(void) {
    teardown();
    setup();
}

static struct ast_file *parse_bytes(const char *text, size_t len) {
    char *copy = texts[n_texts++] = malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = 0;
    cx.files[cx.n_files] = (struct source_file){.name = "t.fx", .text = copy, .len = len};
    source_index(&cx, cx.n_files);
    return fx_parse(&cx, cx.n_files++);
}

static struct ast_file *parse(const char *text) { return parse_bytes(text, strlen(text)); }

/* In the body of a kernel, on line 2. */
static struct ast_file *parse_body(const char *text) {
    return parse(arena_printf(&cx.arena, "kernel f(x: f32[M]) -> y: f32[M] {\n%s\n}\n", text));
}

static const char *messages(void) {
    struct buf b;
    buf_init(&b, &cx.arena);
    diag_print(&cx, &b);
    return b.s;
}

static const char *tree(const struct ast_file *file) {
    struct buf b;
    buf_init(&b, &cx.arena);
    ast_print(&b, file);
    return b.s;
}

static const char *printed(const struct ast_expr *e) {
    struct buf b;
    buf_init(&b, &cx.arena);
    ast_print_expr(&b, e);
    return b.s;
}

static const char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    struct buf b;
    buf_init(&b, &cx.arena);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(&b, block, n);
    fclose(f);
    return b.s;
}

/* ---- what reads ---- */

static glob_t specs(void) {
    glob_t g;
    ck_assert_int_eq(glob("tests/golden/parse/*.fx", 0, NULL, &g), 0);
    return g;
}

START_TEST(goldens_match) {
    glob_t g = specs();
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *got = tree(parse(read_file(g.gl_pathv[i])));
        ck_assert_str_eq(messages(), "");
        char *out = arena_strndup(&cx.arena, g.gl_pathv[i], strlen(g.gl_pathv[i]) + 1);
        memcpy(out + strlen(out) - 2, "out", 4);
        ck_assert_str_eq(got, read_file(out));
    }
    globfree(&g);
}
END_TEST

START_TEST(every_example_of_the_language_reads) {
    int n[ITEM_BENCH + 1] = {0};
    for (const struct ast_item *i = parse(read_file("tests/golden/parse/language.fx"))->items; i; i = i->next)
        n[i->kind]++;
    ck_assert_str_eq(messages(), "");
    ck_assert_int_eq(n[ITEM_KERNEL], 19);
    ck_assert_int_eq(n[ITEM_GRAD], 1);
    ck_assert_int_eq(n[ITEM_FN], 1);
    ck_assert_int_eq(n[ITEM_TEST], 2);
    ck_assert_int_eq(n[ITEM_BENCH], 1);
}
END_TEST

START_TEST(the_prelude_reads) {
    ck_assert_ptr_nonnull(parse(read_file("compiler/front/prelude.fx"))->items);
    ck_assert_str_eq(messages(), "");
}
END_TEST

START_TEST(spans_cover_what_they_name) {
    const struct ast_item *f =
        parse("\n  kernel f(x: f32[M]) -> y: f32[M] {\n  a, y = (x + 1) * halves[F->N](x)\n}\n")->items;
    const char *text = cx.files[0].text;
    const struct ast_expr *e = f->body->value;
    ck_assert_int_eq(strncmp(text + e->span.start, "(x + 1) * halves[F->N](x)\n", e->span.len + 1), 0);
    ck_assert_int_eq(e->op_span.len, 1);
    ck_assert_int_eq(text[e->op_span.start], '*');
    ck_assert_int_eq(strncmp(text + e->b->op_span.start, "halves[", e->b->op_span.len + 1), 0);
    ck_assert(e->a->parenthesised && !e->b->parenthesised);
    ck_assert_int_eq(strncmp(text + e->a->span.start, "(x + 1)", e->a->span.len), 0);
    ck_assert_int_eq(text[f->span.start], 'k');
    ck_assert_int_eq(text[f->span.start + f->span.len - 1], '}');
    ck_assert_int_eq(text[f->name_span.start], 'f');
    ck_assert_int_eq(span_line(&cx, f->body->span), 3);
}
END_TEST

START_TEST(numbers_are_exact) {
    static const struct {
        const char *text;
        double value;
        bool is_integer;
    } cases[] = {
        {"0", 0, true},
        {"512", 512, true},
        {"9007199254740993", 9007199254740992.0, true},
        {"0.1", 0.1, false},
        {"1e-5", 1e-5, false},
        {"2.", 2, false},
        {".5", 0.5, false},
        {"1E+3", 1000, false},
        {"0e9", 0, false},
        {"4.9e-324", 4.9e-324, false},
        {"1.7976931348623157e308", 1.7976931348623157e308, false},
        {"inf", INFINITY, false},
        {"0.1000000000000000055511151231257827021181583404541015625", 0.1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ast_expr *e = parse(arena_printf(&cx.arena, "const X = %s", cases[i].text))->items->value;
        ck_assert_int_eq(e->kind, AST_NUM);
        ck_assert_double_eq(e->num.value, cases[i].value);
        ck_assert_int_eq(e->num.is_integer, cases[i].is_integer);
        ck_assert_str_eq(messages(), "");
        restart();
    }
    ck_assert(parse("const X = 9007199254740993")->items->value->num.integer == 9007199254740993u);
    const struct ast_val *v = parse("fn f(v = -9007199254740993) = v")->items->params->value;
    ck_assert((int64_t)v->num.integer == -9007199254740993 && v->num.value == -9007199254740992.0);
}
END_TEST

/* ---- what does not, and what is said ---- */

struct reject {
    const char *text; /* of a body, or of a file where is_file */
    bool is_file;
    enum diag_code code;
    const char *says; /* part of the message or its fix */
};

static const struct reject rejects[] = {
    {"y = x @ x.T", false, D_FOREIGN_SYNTAX, "x @ x{M->J}"},
    {"y = x.sum(1)", false, D_FOREIGN_SYNTAX, "sum[K](x)"},
    {"y = x.relu()", false, D_FOREIGN_SYNTAX, "relu(x)"},
    {"y = x.shape", false, D_FOREIGN_SYNTAX, "size(M)"},
    {"y = x[:,0]", false, D_FOREIGN_SYNTAX, "does not slice"},
    {"y = x[0:3]", false, D_FOREIGN_SYNTAX, "does not slice"},
    {"y = x[0, 1:]", false, D_FOREIGN_SYNTAX, "does not slice"},
    {"y = x[..., 0]", false, D_FOREIGN_SYNTAX, "pass through"},
    {"y += x", false, D_FOREIGN_SYNTAX, "`y = y + ...`"},
    {"y @= x", false, D_FOREIGN_SYNTAX, "`y = y @ ...`"},
    {"y |= x", false, D_FOREIGN_SYNTAX, "no assignment in place"},
    {"y = x & x", false, D_FOREIGN_SYNTAX, "`&&`"},
    {"y = x | x", false, D_FOREIGN_SYNTAX, "`||`"},
    {"y = ~x", false, D_FOREIGN_SYNTAX, "`!`"},
    {"y = x ^ 2", false, D_FOREIGN_SYNTAX, "`**`"},
    {"y = x and x", false, D_FOREIGN_SYNTAX, "`&&`"},
    {"y = (x or x)", false, D_FOREIGN_SYNTAX, "`||`"},
    {"y = not x", false, D_FOREIGN_SYNTAX, "`!`"},
    {"y = not(x)", false, D_FOREIGN_SYNTAX, "`!`"},
    {"y = x if x else 0", false, D_FOREIGN_SYNTAX, "c ? a : b"},
    {"y = f(x if x else 0)", false, D_FOREIGN_SYNTAX, "c ? a : b"},
    {"y = 0 < x < 1", false, D_FOREIGN_SYNTAX, "a < b && b < c"},
    {"y = f(x, 0 <= x != 1)", false, D_FOREIGN_SYNTAX, "do not chain"},
    {"y = layernorm[K](x, eps=1e-5)", false, D_FOREIGN_SYNTAX, "`eps: ...`"},
    {"y = f(eps = 1e-5)", false, D_FOREIGN_SYNTAX, "`eps: ...`"},
    {"y = x[M=0]", false, D_FOREIGN_SYNTAX, "`M: ...`"},
    {"y, z[0] = x", false, D_SYNTAX, "expected `=` or `,`, found `[`"},
    {"y := x", false, D_FOREIGN_SYNTAX, "write `=`"},
    {"return x", false, D_FOREIGN_SYNTAX, "by its name"},
    {"for i in x:", false, D_FOREIGN_SYNTAX, "no loops"},
    {"// comment", false, D_FOREIGN_SYNTAX, "`#`"},
    {"def f(x): return x", true, D_FOREIGN_SYNTAX, "fn f(v)"},
    {"import torch", true, D_FOREIGN_SYNTAX, "include"},
    {"y = x x", false, D_NO_NEWLINE, "starts a statement"},
    {"y = x z = x", false, D_NO_NEWLINE, "`;`"},
    {"y = x{M->J} require 1", false, D_NO_NEWLINE, "`require`"},
    {"y = (x", false, D_SYNTAX, "the `(` of line 2 is not closed"},
    {"y = f(x,\n3\nz = 3", false, D_SYNTAX, "the `(` of line 2 is not closed"},
    {"y = x +\nz = 3", false, D_SYNTAX, "an operand is missing after `+`"},
    {"y = x + )", false, D_SYNTAX, "expected an expression, found `)`"},
    {"y = f(x x)", false, D_SYNTAX, "expected `)` or `,`, found `x`"},
    {"y = x ?? 0", false, D_SYNTAX, "follows an access"},
    {"y = x[A->B]", false, D_SYNTAX, "{A->B}"},
    {"y = x[A->B]{B->C}", false, D_SYNTAX, "{A->B}"},
    {"y = 2(x)", false, D_SYNTAX, "only a function"},
    {"y = max[2*K](x)", false, D_SYNTAX, "expected a label"},
    {"y = x;;; x", false, D_SYNTAX, "expected `=` or `,`, found `}`"},
    {"y == x", false, D_FOREIGN_SYNTAX, "write `y = ...`"},
    {"y: f32 = x", false, D_FOREIGN_SYNTAX, "write `y = ...`"},
    {"y++", false, D_FOREIGN_SYNTAX, "`y = y + 1`"},
    {"z = x.reshape(2)", false, D_FOREIGN_SYNTAX, "{(A,B)->P}"},
    {"z = (x + 1).T", false, D_FOREIGN_SYNTAX, "leave it out"},
    {"z = torch.exp(x)", false, D_FOREIGN_SYNTAX, "`exp(..)`"},
    {"z = softmax(x, dim=1)", false, D_FOREIGN_SYNTAX, "`softmax[K](..)`"},
    {"z = softmax[K](x, dim=1)", false, D_FOREIGN_SYNTAX, "`f[K](..)`"},
    {"x -= 1", false, D_FOREIGN_SYNTAX, "`x = x - ...`"},
    {"test = x", false, D_SYNTAX, "choose another name"},
    {"y = 1e999", false, D_BAD_NUMBER, "beyond the range of f64"},
    {"y = 1e-999", false, D_BAD_NUMBER, "too small"},
    {"y = 18446744073709551616", false, D_BAD_NUMBER, "beyond 64 bits"},
    {"y = 0x1F", false, D_BAD_NUMBER, "31"},
    {"y = 1_000", false, D_BAD_NUMBER, "without `_`"},
    {"y = 2x", false, D_BAD_NUMBER, "needs its `*`"},
    {"y = 1e", false, D_BAD_NUMBER, "`1e`"},
    {"y = \"abc", false, D_BAD_STRING, "closing"},
    {"y = x $ 2", false, D_BAD_CHARACTER, "`$`"},
    {"y = x \xe2\x88\x92 2", false, D_BAD_CHARACTER, "U+2212"},
    {"y\xc3\xa9 = x", false, D_BAD_CHARACTER, "ASCII"},
    {"y = \xff x", false, D_BAD_CHARACTER, "0xff is no UTF-8"},
    {"y = x # \xe2\x80\xae", false, D_BAD_CHARACTER, "direction"},
    {"y = x # \xc0\x80", false, D_BAD_CHARACTER, "no UTF-8"},
    {"y = x # \x1b[0m", false, D_BAD_CHARACTER, "U+001B"},
    {"y = x\rz = x", false, D_BAD_CHARACTER, "carriage return"},
    {"y = x\f", false, D_BAD_CHARACTER, "U+000C"},
    {"kernel f(f16 x) { }", true, D_SYNTAX, "name: f16[M,N]"},
    {"kernel f(x f16) { }", true, D_SYNTAX, "expected `:`, found `f16`"},
    {"kernel f(x) { }", true, D_SYNTAX, "expected `:`, found `)`"},
    {"kernel f(x: half) { }", true, D_SYNTAX, "expected a type, found `half`"},
    {"kernel test() { }", true, D_SYNTAX, "choose another name"},
    {"kernel f(x: f16[M,K) { }", true, D_SYNTAX, "the `[` of line 1 is not closed"},
    {"kernel f() {", true, D_SYNTAX, "the `{` of line 1 is not closed"},
    {"kernel f() {\n y = 1\nkernel g() { }", true, D_SYNTAX, "expected a statement or `}`, found the keyword `kernel`"},
    {"y = x", true, D_SYNTAX, "expected a definition, found `y`"},
    {"kernel f() with { fuse=never } { }", true, D_SYNTAX, "expected `:`, found `=`"},
    {"kernel g = gradient(f, wrt: x)", true, D_SYNTAX, "expected `grad`"},
    {"kernel g = grad(f, wtr: x)", true, D_SYNTAX, "expected `wrt`"},
    {"kernel f(x: f32 strided strided) { }", true, D_SYNTAX, "twice"},
    {"kernel f(x: f32 align 3) { }", true, D_BAD_NUMBER, "power of two"},
    {"fn f(v = -true) = v", true, D_BAD_NUMBER, "no sign"},
    {"fn f() = 1", true, D_SYNTAX, "expected a name, found `)`"},
    {"test f { M 3 }", true, D_SYNTAX, "found `3`"},
    {"const X = ", true, D_SYNTAX, "expected an expression, found the end of the file"},
    {"include other", true, D_SYNTAX, "a path in quotes"},
    {"include \"a\\b\"", true, D_BAD_STRING, "closing"},
};

START_TEST(rejects_say_why) {
    const struct reject *r = &rejects[_i];
    r->is_file ? parse(r->text) : parse_body(r->text);
    ck_assert_msg(cx.n_errors == 1, "%s: %d errors\n%s", r->text, cx.n_errors, messages());
    ck_assert_msg(cx.diags[0].code == r->code, "%s:\n%s", r->text, messages());
    ck_assert_msg(strstr(messages(), r->says) != NULL, "%s:\n%s\nlacks %s", r->text, messages(), r->says);
}
END_TEST

START_TEST(each_error_of_a_file_is_reported_once) {
    const struct ast_file *file = parse("kernel a(x: f32[M]) -> y: f32[M] {\n"
                                        "  y = x +* 2\n"
                                        "  z = f(x,, 3)\n"
                                        "  ok = x\n"
                                        "  y = {x}\n"
                                        "  require\n"
                                        "}\n"
                                        "kernel b(x f32) { y = 1 }\n"
                                        "const OK = 3\n"
                                        "test b { M }\n"
                                        "kernel c() { y = x $ 3\n}\n");
    static const int lines[] = {2, 3, 5, 7, 8, 10, 11};
    enum { N = sizeof lines / sizeof *lines };
    ck_assert_msg(cx.n_errors == N, "%s", messages());
    for (int i = 0; i < N; i++) ck_assert_int_eq(span_line(&cx, cx.diags[i].span), lines[i]);
    ck_assert_str_eq(tree(file), "(kernel a\n  (param x f32 (axes M))\n  (out y f32 (axes M))\n  (= ok x))\n"
                                 "(const OK 3)\n(kernel c\n  (= y x))\n");
}
END_TEST

START_TEST(nul_is_no_end) {
    parse_bytes("const X = 1\n\0const Y = 2\n", 25);
    ck_assert_int_ge(cx.n_errors, 1);
    ck_assert_int_eq(cx.diags[0].code, D_BAD_CHARACTER);
    restart();
    parse_bytes("# \0\nconst Y = 2\n", 16);
    ck_assert_int_eq(cx.n_errors, 1);
    ck_assert_int_eq(cx.diags[0].code, D_BAD_CHARACTER);
}
END_TEST

START_TEST(windows_lines_read) {
    parse("const X = 1\r\nkernel f() {\r\n y = 1\r\n z = 2 # c\r\n}\r\n");
    ck_assert_str_eq(messages(), "");
}
END_TEST

START_TEST(at_most_twenty_errors) {
    struct buf b;
    buf_init(&b, &cx.arena);
    for (int i = 0; i < 1000; i++) buf_puts(&b, "const X = )\n");
    parse(b.s);
    ck_assert_int_eq(cx.n_diags, DIAG_MAX);
    ck_assert_int_gt(cx.n_errors, DIAG_MAX);
}
END_TEST

/* ---- limits: the last that is accepted, the first that is not ---- */

static const char *repeated(const char *before, const char *s, int n, const char *after) {
    struct buf b;
    buf_init(&b, &cx.arena);
    buf_puts(&b, before);
    for (int i = 0; i < n; i++) buf_puts(&b, s);
    buf_puts(&b, after);
    return b.s;
}

static void check_limit(const char *fits, const char *exceeds, enum diag_code code) {
    parse(fits);
    ck_assert_str_eq(messages(), "");
    parse(exceeds);
    ck_assert_int_ge(cx.n_errors, 1);
    ck_assert_int_eq(cx.diags[0].code, code);
}

START_TEST(limit_of_brackets) {
    check_limit(repeated(repeated("const X = ", "(", 200, "1"), ")", 200, "\n"),
                repeated(repeated("const X = ", "(", 201, "1"), ")", 201, "\n"), D_TOO_DEEP);
}
END_TEST

START_TEST(limit_of_depth) {
    static const struct {
        const char *before, *unit, *after;
        int n;
    } cases[] = {
        {"const X = 1", " + 1", "\n", AST_MAX_DEPTH - 1},
        {"const X = ", "-", "1\n", AST_MAX_DEPTH - 1},
        {"const X = ", "1 ? 1 : ", "1\n", AST_MAX_DEPTH - 1},
        {"const X = ", "2 ** ", "1\n", AST_MAX_DEPTH - 1},
        {"const X = ", "a[1] ?? ", "1\n", AST_MAX_DEPTH - 2},
        {"const X = a", "{A->B}", "\n", (AST_MAX_DEPTH - 1) / RELABEL_LEVELS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_limit(repeated(cases[i].before, cases[i].unit, cases[i].n, cases[i].after),
                    repeated(cases[i].before, cases[i].unit, cases[i].n + 2, cases[i].after), D_TOO_DEEP);
        parse(repeated(cases[i].before, cases[i].unit, 8000, cases[i].after));
        ck_assert_int_eq(cx.n_errors, 2);
        restart();
    }
}
END_TEST

START_TEST(limit_of_names) {
    check_limit(repeated("const ", "a", 64, " = 1"), repeated("const ", "a", 65, " = 1"), D_TOO_BIG);
}
END_TEST

START_TEST(limit_of_lines) {
    check_limit(repeated("const X = ", " ", 65000, "1\n"), repeated("const X = ", " ", 66000, "1\n"), D_TOO_BIG);
}
END_TEST

START_TEST(limit_of_tokens) {
    check_limit(repeated("", "const X = 1\n", 50000, ""), repeated("", "const X = 1\n", 50001, ""), D_TOO_BIG);
}
END_TEST

START_TEST(limit_of_a_file) {
    int line = (int)strlen("# 3456789 123456\n"), n = (1 << 20) / line;
    check_limit(repeated("", "# 3456789 123456\n", n, ""), repeated("", "# 3456789 123456\n", n + 1, ""), D_TOO_BIG);
}
END_TEST

/* ---- printing is the inverse of reading ---- */

static void check_fixpoint(const struct ast_expr *e) {
    const char *once = printed(e);
    const struct ast_file *file = parse(arena_printf(&cx.arena, "const X = %s\n", once));
    ck_assert_msg(cx.n_errors == 0 && file->items, "%s\n%s", once, messages());
    ck_assert_str_eq(printed(file->items->value), once);
    /* The same tree, not only the same text. */
    struct ast_item given = {.kind = ITEM_CONST, .name = {"X", 1}, .value = (struct ast_expr *)e};
    ck_assert_str_eq(tree(&(struct ast_file){&given}), tree(file));
    cx.n_files--;
    free(texts[--n_texts]);
}

START_TEST(printing_the_goldens_reads_back) {
    glob_t g = specs();
    for (size_t i = 0; i < g.gl_pathc; i++)
        for (const struct ast_item *t = parse(read_file(g.gl_pathv[i]))->items; t; t = t->next) {
            if (t->value) check_fixpoint(t->value);
            for (const struct ast_stmt *s = t->body; s; s = s->next) check_fixpoint(s->value);
        }
    globfree(&g);
}
END_TEST

START_TEST(parentheses_are_minimal) {
    static const char *const same[] = {
        "0.5 * x @ A @ B",
        "(a * b) @ c",
        "a - (b - c)",
        "a - b - c",
        "-a ** -b",
        "(-a) ** b",
        "(a ? b : c) ? d : e",
        "a ? b : c ? d : e",
        "!(a < b)",
        "x[T: 2 * Q + U] ?? -inf",
        "(x + y)[H: 1]",
        "(-a){A->(P,Q=2)}",
        "a @[K,L] -b",
        "(a ** b) ** c",
        "a ** b ** c",
        "f[K,F->N](x, eps: 1e-5)",
        "f16(a + b)",
        "(a < b) == c",
        "a || b && c",
        "(a || b) && c",
        "x[i] ?? y[j] ?? 0",
        "1.0",
        "1e-7",
        "0.1",
        "123456789.125",
        "1e22",
        "nan",
        "true",
        "a // b % c",
        "--a",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ck_assert_str_eq(printed(parse(arena_printf(&cx.arena, "const X = %s", same[i]))->items->value), same[i]);
        ck_assert_str_eq(messages(), "");
        restart();
    }
}
END_TEST

static uint64_t state = 1;

static unsigned pick(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static struct ast_expr *random_expr(int depth);

static struct name random_name(void) {
    static const char *const names[] = {"x", "y", "M", "K2", "long_name", "_"};
    const char *s = names[pick(6)];
    return (struct name){s, (uint32_t)strlen(s)};
}

static struct ast_arg *random_args(int depth, bool is_labels) {
    struct ast_arg *args = NULL;
    for (unsigned n = 1 + pick(2); n > 0; n--) {
        struct ast_arg *a = NEW(&cx.arena, struct ast_arg);
        *a = (struct ast_arg){.next = args};
        if (is_labels && pick(2)) {
            a->label = random_name();
            a->to = random_name();
        } else {
            if (!is_labels && pick(2)) a->label = random_name();
            a->value = random_expr(is_labels ? 0 : depth);
            if (is_labels) *a->value = (struct ast_expr){.kind = AST_ID, .name = random_name()};
        }
        args = a;
    }
    return args;
}

static struct ast_axis *random_axes(int depth, bool *is_tuple) {
    struct ast_axis *a = NEW(&cx.arena, struct ast_axis);
    *a = (struct ast_axis){.name = random_name(), .extent = pick(2) ? random_expr(depth) : NULL};
    *is_tuple = pick(2);
    if (*is_tuple && pick(2)) {
        bool ignored;
        a->next = random_axes(depth, &ignored);
    }
    return a;
}

static void random_num(struct ast_num *n) {
    static const double values[] = {0.1, 1e300, 3.5, 1e-320, 123456.789, 2};
    switch (pick(4)) {
    case 0: *n = (struct ast_num){.value = values[pick(6)]}; break;
    case 1: *n = (struct ast_num){.value = pick(2) ? INFINITY : NAN}; break;
    case 2: *n = (struct ast_num){.value = 1, .integer = 1, .is_bool = true}; break;
    default: n->integer = pick(1000); n->value = (double)n->integer; n->is_integer = true;
    }
}

static struct ast_expr *random_expr(int depth) {
    struct ast_expr *e = NEW(&cx.arena, struct ast_expr);
    e->kind = depth ? pick(AST_RELABEL + 1) : pick(2);
    if (e->kind == AST_NUM) random_num(&e->num);
    if (e->kind == AST_ID || e->kind == AST_CALL) e->name = random_name();
    if (e->kind > AST_ID && e->kind != AST_CALL) e->a = random_expr(depth - 1);
    if (e->kind == AST_BINARY || e->kind == AST_MATMUL || e->kind == AST_COND || e->kind == AST_FILL)
        e->b = random_expr(depth - 1);
    if (e->kind == AST_COND) e->c = random_expr(depth - 1);
    if (e->kind == AST_UNARY) e->op = pick(2) ? OP_NEG : OP_NOT;
    if (e->kind == AST_BINARY) e->op = OP_ADD + pick(OP_OR - OP_ADD + 1);
    if (e->kind == AST_CAST) e->dtype = pick(FX_N_DTYPES);
    if (e->kind == AST_ACCESS || e->kind == AST_CALL) e->args = random_args(depth - 1, false);
    if (e->kind == AST_CALL && pick(2)) e->has_labels = true, e->labels = random_args(0, true);
    if (e->kind == AST_MATMUL && pick(2)) {
        e->labels = NEW(&cx.arena, struct ast_arg);
        e->labels->value = NEW(&cx.arena, struct ast_expr);
        *e->labels->value = (struct ast_expr){.kind = AST_ID, .name = random_name()};
    }
    if (e->kind == AST_FILL && e->a->kind != AST_ACCESS) {
        struct ast_expr *access = NEW(&cx.arena, struct ast_expr);
        *access = (struct ast_expr){.kind = AST_ACCESS, .a = e->a, .args = random_args(0, false)};
        e->a = access;
    }
    if (e->kind == AST_RELABEL) {
        e->from = random_axes(depth - 1, &e->from_tuple);
        e->to = random_axes(depth - 1, &e->to_tuple);
    }
    return e;
}

START_TEST(printing_random_expressions_reads_back) {
    for (int i = 0; i < 3000; i++) {
        check_fixpoint(random_expr(5));
        if (i % 100 == 99) restart();
    }
}
END_TEST

/* ---- damage ---- */

static void check_short(const struct ast_expr *e, size_t most) {
    const char *whole = printed(e);
    struct buf b;
    buf_init(&b, &cx.arena);
    buf_puts(&b, ">");
    ast_print_expr_short(&b, e, most);
    if (strlen(whole) <= most) {
        ck_assert_str_eq(b.s + 1, whole);
    } else {
        ck_assert_str_eq(b.s + 1 + most - 3, "...");
        ck_assert_int_eq(strncmp(b.s + 1, whole, most - 3), 0);
    }
}

START_TEST(what_is_printed_short_is_how_the_whole_begins) {
    for (int i = 0; i < 3000; i++) {
        const struct ast_expr *e = random_expr(1 + (int)pick(5));
        check_short(e, 4 + pick(80));
        if (i % 100 == 0) restart();
    }
    struct ast_expr *sum = random_expr(0); /* deeper than what is shown */
    for (int i = 0; i < 900; i++) {
        struct ast_expr *wider = NEW(&cx.arena, struct ast_expr);
        *wider = (struct ast_expr){
            .kind = i % 3 ? AST_BINARY : AST_MATMUL, .op = i % 7 ? OP_MUL : OP_ADD, .a = sum, .b = random_expr(1)};
        sum = wider;
        if (i % 50 == 0) check_short(sum, 60);
    }
}
END_TEST

/* Of a sum of any length what is not shown is not walked either: it would take more stack than there is. */
START_TEST(what_is_printed_short_takes_little_stack) {
    struct ast_expr *one = random_expr(0), *sum = one;
    for (int i = 0; i < 400000; i++) {
        struct ast_expr *wider = NEW(&cx.arena, struct ast_expr);
        *wider = (struct ast_expr){.kind = AST_BINARY, .op = i % 2 ? OP_ADD : OP_SUB, .a = sum, .b = one};
        sum = wider;
    }
    struct buf b;
    buf_init(&b, &cx.arena);
    ast_print_expr_short(&b, sum, 60);
    ck_assert_int_eq(b.len, 60);
    ck_assert_str_eq(b.s + 57, "...");
}
END_TEST

START_TEST(every_prefix_is_survived) {
    glob_t g = specs();
    for (size_t i = 0; i < g.gl_pathc; i++) {
        setup();
        char *text = strdup(read_file(g.gl_pathv[i]));
        size_t len = strlen(text);
        for (size_t n = 0; n < len && n < 3000; n++) {
            restart();
            tree(parse_bytes(text, n));
            messages();
            ck_assert_int_le(cx.n_errors, 2);
        }
        free(text);
        teardown();
    }
    globfree(&g);
}
END_TEST

START_TEST(random_damage_is_survived) {
    static const char bytes[] = "(){}[],:;=+-*/@?<>!&|.#\"\n\r\t aK1e\xc3\x80";
    char *text = strdup(read_file("tests/golden/parse/language.fx"));
    size_t len = strlen(text);
    char *damaged = malloc(len);
    for (int i = 0; i < 400; i++) {
        memcpy(damaged, text, len);
        for (unsigned k = 1 + pick(20); k > 0; k--) damaged[pick((unsigned)len)] = bytes[pick(sizeof bytes)];
        restart();
        tree(parse_bytes(damaged, len));
        messages();
    }
    free(damaged);
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("parse");
    TCase *t = tcase_create("parse");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, goldens_match);
    tcase_add_test(t, every_example_of_the_language_reads);
    tcase_add_test(t, the_prelude_reads);
    tcase_add_test(t, spans_cover_what_they_name);
    tcase_add_test(t, numbers_are_exact);
    tcase_add_loop_test(t, rejects_say_why, 0, sizeof rejects / sizeof *rejects);
    tcase_add_test(t, each_error_of_a_file_is_reported_once);
    tcase_add_test(t, nul_is_no_end);
    tcase_add_test(t, windows_lines_read);
    tcase_add_test(t, at_most_twenty_errors);
    tcase_add_test(t, limit_of_brackets);
    tcase_add_test(t, limit_of_depth);
    tcase_add_test(t, limit_of_names);
    tcase_add_test(t, limit_of_lines);
    tcase_add_test(t, limit_of_tokens);
    tcase_add_test(t, limit_of_a_file);
    tcase_add_test(t, printing_the_goldens_reads_back);
    tcase_add_test(t, parentheses_are_minimal);
    tcase_add_test(t, printing_random_expressions_reads_back);
    tcase_add_test(t, what_is_printed_short_is_how_the_whole_begins);
    tcase_add_test(t, what_is_printed_short_takes_little_stack);
    tcase_add_test(t, every_prefix_is_survived);
    tcase_add_test(t, random_damage_is_survived);
    suite_add_tcase(s, t);
    return run_suite(s);
}
