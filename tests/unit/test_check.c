/* What the checker infers: dtypes and axes of expressions, conversions, labels introduced in bodies, what is refused.
 *
 * Expected types stand in a table written from docs/language.md, not computed by the checker's rules. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grad/grad.h"
#include "check/check.h"
#include "fx.h"
#include "suite.h"

extern const char fx_text_prelude[], fx_text_prelude_end[];

struct checked { /* one checked text */
    struct cx cx;
    struct program *program;
};

static struct checked *check(const char *text) {
    struct checked *t = calloc(1, sizeof *t);
    if (setjmp(t->cx.oom)) abort();
    arena_init(&t->cx.arena, &t->cx.oom);
    source_open(&t->cx, "spec.fx", text, strlen(text));
    struct ast_file *file = fx_parse(&t->cx, 0);
    struct ast_file *prelude = fx_parse(
        &t->cx, source_open(&t->cx, "prelude.fx", fx_text_prelude, (size_t)(fx_text_prelude_end - fx_text_prelude)));
    t->program = fx_check(&t->cx, file, prelude, NULL, grad_kernel);
    return t;
}

static void release(struct checked *t) {
    arena_release(&t->cx.arena);
    free(t);
}

static const char *messages(struct checked *t) {
    struct buf b;
    buf_init(&b, &t->cx.arena);
    diag_print(&t->cx, &b);
    return b.s;
}

/* "f32[M,N]" of the value the spec calls t; "N?" where the last axis is undecided. */
static const char *type_of_t(struct checked *t) {
    const struct kernel *k = &t->program->kernels[0];
    const struct value *v = NULL;
    struct buf b;
    for (int i = 0; i < k->n_values; i++)
        if (name_is(k->values[i]->name, "t")) v = k->values[i];
    if (!v) return "none";
    buf_init(&b, &t->cx.arena);
    buf_printf(&b, "%s[", fx_dtype_name(v->dtype));
    for (int i = 0; i < v->n_axes; i++) buf_printf(&b, "%s" NAME_FMT, i ? "," : "", NAME_ARG(k->axes[v->axes[i]].name));
    buf_printf(&b, "%s]", v->is_decided ? "" : "?");
    return b.s;
}

/* ---- dtypes of pairs ---- */

static const char *const dtypes[] = {
    "bool", "i8", "u8", "i16", "i32", "i64", "u32", "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

/* a + b by the compute type of each: B bool, i i32, I i64, u u32, U u64, f f32, d f64; - refused. */
static const char classes[] = "BiiiiIuUfffffd";
static const char order[] = "BiIuUfd";
static const char *const sums[] = {
    /*        B i I u U f d */
    /* B */ "i i I u U f d",
    /* i */ "i i I I - f d",
    /* I */ "I I I I - f d",
    /* u */ "u I I u U f d",
    /* U */ "U - - U U f d",
    /* f */ "f f f f f f d",
    /* d */ "d d d d d d d",
};

static const char *name_of(char class) {
    switch (class) {
    case 'B': return "bool";
    case 'i': return "i32";
    case 'I': return "i64";
    case 'u': return "u32";
    case 'U': return "u64";
    case 'f': return "f32";
    case 'd': return "f64";
    default: return "none";
    }
}

static char sum_of(int i, int j) {
    return sums[strchr(order, classes[i]) - order][2 * (strchr(order, classes[j]) - order)];
}

START_TEST(dtype_of_a_pair) {
    int i = _i / N_DTYPES, j = _i % N_DTYPES;
    char text[256], want[32], sum = sum_of(i, j);
    static const char *const ops[] = {"a + b", "b * a", "max(a, b)", "fma(a, 1, b)"};
    for (int o = 0; o < 4; o++) {
        snprintf(text, sizeof text, "kernel k(a: %s[M], b: %s[M]) -> y: f32[M] { t = %s; y = 1.0 }", dtypes[i],
            dtypes[j], ops[o]);
        struct checked *c = check(text);
        snprintf(want, sizeof want, "%s[M]", name_of(sum));
        if (sum == '-') ck_assert_msg(c->cx.n_errors > 0, "%s: not refused", text);
        else
            ck_assert_msg(c->cx.n_errors == 0 && strcmp(type_of_t(c), want) == 0, "%s: %s, expected %s\n%s", text,
                type_of_t(c), want, messages(c));
        release(c);
    }
}
END_TEST

/* ---- expressions ---- */

static const struct expression {
    const char *text, *type; /* "none": refused */
} expressions[] = {
    /* literals take the type of what they meet */
    {"i + 1", "i32[M]"},
    {"i + 1.0", "f32[M]"},
    {"h * 2", "f32[M]"},
    {"d * 0.1", "f64[M]"},
    {"u + 1", "u32[M]"},
    {"u - 1", "u32[M]"},
    {"u + -1", "i64[M]"},
    {"w + 1", "u64[M]"},
    {"w + -1", "none"},
    {"i + 3000000000", "i64[M]"},
    {"u + 3000000000", "u32[M]"},
    {"u + 5000000000", "i64[M]"},
    {"i * (2 + 3)", "i32[M]"},
    {"i * (2 + 0.5)", "f32[M]"},
    {"-1 * i", "i32[M]"},
    {"i ** 2", "f32[M]"},
    {"b + 1", "i32[M]"},
    {"b + 1.5", "f32[M]"},
    {"b * x", "f32[M]"},
    {"b + b", "i32[M]"},
    {"-b", "i32[M]"},
    /* division */
    {"i / 2", "none"},
    {"i / 2.0", "f32[M]"},
    {"i / x", "f32[M]"},
    {"1 / i", "none"},
    {"b / b", "none"},
    {"i // 2", "i32[M]"},
    {"i % 3", "i32[M]"},
    {"x // 2", "none"},
    {"x % 2.0", "none"},
    {"l // i", "i64[M]"},
    {"u % u", "u32[M]"},
    /* functions */
    {"exp(i)", "f32[M]"},
    {"exp(d)", "f64[M]"},
    {"abs(i)", "i32[M]"},
    {"floor(i)", "i32[M]"},
    {"floor(x)", "f32[M]"},
    {"relu(i)", "i32[M]"},
    {"relu(d)", "f64[M]"},
    {"clamp(s, 0, 7)", "i32[M]"},
    {"isnan(x)", "bool[M]"},
    {"isnan(i)", "bool[M]"},
    {"gelu(h)", "f32[M]"},
    {"sign(l)", "i64[M]"},
    {"fma(i, i, l)", "i64[M]"},
    {"mean[M](i)", "f32[]"},
    {"mean[M](d)", "f64[]"},
    /* conditions */
    {"i < x", "bool[M]"},
    {"b && x > 0", "bool[M]"},
    {"!b", "bool[M]"},
    {"!x", "none"},
    {"b && i", "none"},
    {"x ? x : x", "none"},
    {"b ? x : i", "f32[M]"},
    {"where(b, b, b)", "bool[M]"},
    {"where(b, i, 0)", "i32[M]"},
    {"where(b, i, 0.5)", "f32[M]"},
    {"where(b, 1, 0) * h", "f32[M]"},
    {"where(b, 1, 0) + l", "i64[M]"},
    {"where(b, 0.1, 0.2) * d", "f64[M]"},
    {"-where(b, 1, 0)", "i32[M]"},
    {"where(b, 1, -1) + u", "i64[M]"},
    {"where(b, 1, where(x > 0, 2, 3)) * d", "f64[M]"},
    {"sum[M](where(b, 1, 0))", "i32[]"},
    {"f16(where(b, 1, 0))", "f32[M]"},
    {"cumsum[M](where(b, 1, 0))", "i32[M]"},
    {"(b ? 1 : 0.5) * x", "f32[M]"},
    {"b == b", "bool[M]"},
    {"true && b", "bool[M]"},
    /* casts */
    {"f16(x)", "f32[M]"},
    {"i8(x)", "i32[M]"},
    {"u8(i)", "i32[M]"},
    {"i64(x)", "i64[M]"},
    {"u32(i)", "u32[M]"},
    {"f64(x)", "f64[M]"},
    {"bool(i)", "bool[M]"},
    {"f8e4m3(x)", "f32[M]"},
    {"i4(x)", "i32[M]"},
    {"f32(i)", "f32[M]"},
    /* reductions and scans */
    {"sum[M](s)", "i32[]"},
    {"sum[M](b)", "i32[]"},
    {"sum[M](l)", "i64[]"},
    {"max[M](u)", "u32[]"},
    {"prod[M](d)", "f64[]"},
    {"argmax[M](x)", "i64[]"},
    {"argmin[M](i)", "i64[]"},
    {"any[M](b)", "bool[]"},
    {"all[M](x > 0)", "bool[]"},
    {"any[M](x)", "none"},
    {"argmax[M,N](m)", "none"},
    {"cumsum[M](i)", "i32[M]"},
    {"cumprod[N](m)", "f32[M,N]"},
    {"cumsum[M,N](m)", "none"},
    {"var[M](x, correction: 1)", "f32[]"},
    {"softmax[N](m)", "f32[M,N]"},
    {"sum(x)", "none"},
    {"argmax(x)", "none"},
    /* indices */
    {"idx(M)", "i64[M]"},
    {"size(M)", "i64[]"},
    {"idx(M) + x", "f32[M]"},
    {"idx(M) / 2", "none"},
    {"M + x", "none"},
    {"idx(x)", "none"},
    {"idx(M, N)", "none"},
    /* contractions */
    {"m @[N] n", "f32[M]"},
    {"s @[M] s", "i32[]"},
    {"m @ n", "f32[M]"},
    {"b @[M] x", "f32[]"},
    {"m @ m{M->J}", "f32[M,J]"},
    /* relabels */
    {"m{M->J}", "f32[J,N]"},
    {"m{(M,N)->P}", "f32[P]"},
    {"m{(N,M)->P}", "f32[P]"},
    {"m{N->(A,B=2)}", "f32[M,A,B]"},
    {"m{M->N}", "none"},
    {"m{K->J}", "none"},
    {"m{(M,N)->(A,B)}", "none"},
    {"m{M->M}", "none"},
    {"m{(M,M)->P}", "none"},
    {"m{M->J}{N->M}", "f32[J,M]"},
    {"m{N->(A,B=2)}{(A,M)->P}", "f32[P,B]"},
    /* accesses */
    {"m[M, N]", "f32[M,N]"},
    {"m[N: N]", "f32[M,N]"},
    {"m[N: N+1] ?? 0", "f32[M,N]"},
    {"m[N: N+1]", "none"},
    {"m[0, N] ?? 0", "f32[N]"},
    {"m[M: 0, N: M] ?? 0", "f32[M]"},
    {"m[N: i] ?? 0", "f32[M]"},
    {"m[N: clamp(i, 0, size(N)-1)] ?? 0", "f32[M]"},
    {"m[M, -1]", "none"},
    {"m[N: x] ?? 0", "none"},
    {"m[N: b] ?? 0", "none"},
    {"m[M]", "none"},
    {"m[M: M, N]", "none"},
    {"m[K: 0]", "none"},
    {"m[N: 0, N: 0] ?? 0", "none"},
    {"i[M: M] ?? 0.5", "none"},
    {"i[M: M+1] ?? 0", "i32[M]"},
    {"b[M: M+1] ?? false", "bool[M]"},
    {"b[M: M+1] ?? 0", "none"},
    {"(x + n)[N, M]", "none"},
    {"(x + n)[N: 0, M: 0] ?? 0", "f32[]"},
    {"x ?? 0", "none"},
    {"m[N: N/2]", "f32[M,N]"},
    {"m[N->M]", "none"},
    {"m[M: idx(N)] ?? 0", "f32[N]"},
    {"m[N: size(N) - 1 - N]", "f32[M,N]"},
    /* concatenation */
    {"concat[P](x{M->P}, n{N->P})", "f32[P]"},
    {"concat[P](m{N->P}, x{M->P})", "f32[M,P]"},
    {"concat[P](m{N->P}, n{N->P})", "f32[M,P]"},
    {"concat[P](m{N->P}{M->O}, n{N->P})", "f32[O,P]"},
    {"concat[P](m{N->P}{M->P}, n{N->P})", "none"},
    {"concat[P](x)", "none"},
    {"concat[M](x, x)", "none"},
    {"concat[M](x) * 2", "f32[M]"},
    {"concat[P](i{M->P}, x{M->P})", "f32[P]"},
    {"concat[P](b{M->P}, b{M->P})", "bool[P]"},
    {"concat[P](x{M->P}, n{N->P}) @ concat[P](n{N->P}, x{M->P})", "f32[]"},
    /* labels of arguments, labels where none belong */
    {"mean[P](m{(M,N)->P})", "f32[]"},
    {"softmax[P](m{(M,N)->P})", "f32[P]"},
    {"exp[N](m)", "none"},
    {"relu[N](m)", "none"},
    /* random numbers */
    {"rand[M,N](w[M: 0] ?? 0)", "f32[M,N]"},
    {"philox(i, 1, 2)", "u32[M]"},
    {"philox(x, 1, 2)", "none"},
    /* order */
    {"x + n", "f32[M,N?]"},
    {"(x + n) + m", "f32[M,N]"},
    {"(x + n) @ n", "none"},
    {"(x + n) @[N] n", "f32[M]"},
    {"where(x < n, m, 0)", "f32[M,N]"},
};

START_TEST(type_of_expression) {
    const struct expression *e = &expressions[_i];
    char text[1024];
    snprintf(text, sizeof text,
        "kernel k(x: f32[M], h: f16[M], d: f64[M], b: bool[M], s: i8[M], i: i32[M], l: i64[M], u: u32[M], w: u64[M], m: f32[M,N], n: f32[N]) -> y: f32[M] {\n"
        "  t = %s\n  y = 1.0\n}\n",
        e->text);
    struct checked *c = check(text);
    if (strcmp(e->type, "none") == 0)
        ck_assert_msg(c->cx.n_errors > 0, "%s: not refused, but %s", e->text, type_of_t(c));
    else
        ck_assert_msg(c->cx.n_errors == 0 && strcmp(type_of_t(c), e->type) == 0, "%s: %s, expected %s\n%s", e->text,
            type_of_t(c), e->type, messages(c));
    release(c);
}
END_TEST

/* ---- stores ---- */

static const struct store_case {
    const char *in, *value, *out;
    bool is_right;
} stores[] = {
    {"f32", "x", "f16", true},
    {"f64", "x", "f32", true},
    {"f32", "x", "f64", true},
    {"i32", "x", "f32", true},
    {"i64", "x", "f16", true},
    {"bool", "x", "f32", true},
    {"bool", "x", "i8", true},
    {"bool", "x", "bool", true},
    {"f32", "x > 0", "bool", true},
    {"f32", "x", "bool", false},
    {"i32", "x", "bool", false},
    {"f32", "x", "i32", false},
    {"f32", "i32(x)", "i32", true},
    {"i8", "x", "i8", true},
    {"i8", "x + x", "i8", false},
    {"i8", "i8(x + x)", "i8", true},
    {"i8", "x", "i16", true},
    {"i8", "x", "u8", false},
    {"u8", "x", "i8", false},
    {"u8", "x", "i16", true},
    {"u8", "max(x, x)", "u8", true},
    {"u8", "where(x > 3, x, 255)", "u8", true},
    {"u8", "where(x > 3, x, 256)", "u8", false},
    {"i32", "x", "i64", true},
    {"i64", "x", "i32", false},
    {"u32", "x", "i64", true},
    {"u32", "x", "u64", true},
    {"u32", "x", "i32", false},
    {"u64", "x", "i64", false},
    {"i32", "x", "u64", false},
    {"i32", "7", "u8", true},
    {"i32", "300", "u8", false},
    {"i32", "-1", "u8", false},
    {"i32", "-128", "i8", true},
    {"i32", "1.5", "i32", false},
    {"i32", "1.5", "f16", true},
    {"i32", "true", "i8", true},
    {"f32", "idx(M)", "i64", true},
    {"f32", "idx(M)", "i32", false},
    {"f32", "x", "f8e4m3", true},
    {"i32", "1", "bool", false},
    {"i8", "x[M: M+1] ?? 0", "i8", true},
    {"i8", "x[M: M+1] ?? 200", "i8", false},
    {"f16", "x", "i32", false},
    {"f16", "x", "i64", false},
    {"i32", "clamp(x, -128, 127)", "i8", true},
    {"i32", "clamp(x, 0, 256)", "u8", false},
    {"i32", "x % 10", "u8", true},
    {"i32", "x % 257", "u8", false},
    {"u8", "x + 1", "i16", true},
    {"i16", "x + 1", "i16", false},
    {"u8", "-x", "i16", true},
    {"i8", "x * x", "i16", true},
    {"u64", "x % 10", "i8", true},
    {"i32", "x > 0", "u8", true},
    {"i8", "cumsum[M](x)", "i8", false},
    {"i8", "max[M](x) + 0 * x", "i8", false},
};

START_TEST(what_may_be_stored) {
    const struct store_case *s = &stores[_i];
    char text[256];
    snprintf(text, sizeof text, "kernel k(x: %s[M]) -> y: %s[M] { y = %s }", s->in, s->out, s->value);
    struct checked *c = check(text);
    ck_assert_msg((c->cx.n_errors == 0) == s->is_right, "%s: %s", text, c->cx.n_errors ? messages(c) : "not refused");
    release(c);
}
END_TEST

/* ---- extents that bodies tie together ---- */

static int64_t extent_of(const struct checked *c, const char *label) {
    const struct kernel *k = &c->program->kernels[0];
    for (int i = 0; i < k->n_axes; i++)
        if (!k->axes[i].is_local && name_is(k->axes[i].name, label)) return k->axes[i].extent;
    return -2;
}

START_TEST(extents_follow_from_relabels) {
    struct checked *c = check(
        "kernel k(x: f32[M=4,N=6]) -> (y: f32[P], z: f32[M,A,B], w: f32[J,N], v: f32[Q]) {\n"
        "  y = x{(M,N)->P}; z = x{N->(A,B=2)}; w = x{M->J}; v = concat[Q](sum[M](x){N->Q}, sum[N](x){M->Q}) }");
    ck_assert_msg(c->cx.n_errors == 0, "%s", messages(c));
    ck_assert_int_eq(extent_of(c, "P"), 24);
    ck_assert_int_eq(extent_of(c, "A"), 3);
    ck_assert_int_eq(extent_of(c, "J"), 4);
    ck_assert_int_eq(extent_of(c, "Q"), 10);
    release(c);
    c = check("kernel k(x: f32[N=7]) -> y: f32[A,B] { y = x{N->(A,B=2)} }");
    ck_assert(c->cx.n_errors > 0);
    release(c);
    c = check("kernel k(x: f32[N=7], z: f32[M=8]) -> y: f32[M] { y = z + x{N->M} }");
    ck_assert(c->cx.n_errors > 0);
    release(c);
}
END_TEST

/* Past 64 bits in a product of extents, which is 0 again behind them, first or last. */
START_TEST(extents_do_not_wrap) {
    static const char *const texts[] = {
        "kernel k(x: f32[A=4294967296,B=4294967296,C=3]) -> y: f32[P] { y = x{(A,B,C)->P} }",
        "kernel k(x: f32[A=3,B=4294967296,C=4294967296]) -> y: f32[P] { y = x{(A,B,C)->P} }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct checked *c = check(texts[i]);
        ck_assert(c->cx.n_errors > 0);
        ck_assert_msg(strstr(messages(c), "the extent of P would be 9223372036854775807, more than 2^40") != NULL, "%s",
            messages(c));
        release(c);
    }
}
END_TEST

/* A position that is itself read at two: inside, each of them is, the first and the second. */
START_TEST(both_positions_count) {
    static const char *const texts[] = {
        "kernel k(x: f32[A], b: f32[B], t: f32[T]) -> y: f32[T] { v = idx(A) + 0 * idx(B); y = x[A: v[A: idx(T) + 5, B: idx(T) + 7] ?? 0] + t }",
        "kernel k(x: f32[B], a: f32[A], t: f32[T]) -> y: f32[T] { v = idx(B) + 0 * idx(A); y = x[B: v[A: idx(T) + 5, B: idx(T) + 7] ?? 0] + t }",
        "kernel k(x: f32[B], a: f32[A], t: f32[T]) -> y: f32[T] { v = idx(B) + idx(A); y = x[B: v[A: idx(T) + 5, B: idx(T) + 7] ?? 0] + t }",
    };
    for (int i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof text, "%.*srequire %c >= 1; %s", (int)(strchr(texts[i], '{') + 2 - texts[i]), texts[i],
            i ? 'B' : 'A', strchr(texts[i], '{') + 2);
        struct checked *c = check(text);
        ck_assert_msg((c->cx.n_errors == 0) == (i < 2), "%s: %s", text, messages(c));
        release(c);
    }
}
END_TEST

/* Labels a fn introduces are its own in every call. */
START_TEST(labels_of_fns_are_fresh) {
    struct checked *c = check("fn f[K](v) -> s { a = v{K->J}; s = sum[J](a * a) }\n"
                              "kernel k(x: f32[M,N]) -> (y: f32[M], z: f32[N]) { y = f[N](x); z = f[M](x) }");
    ck_assert_msg(c->cx.n_errors == 0, "%s", messages(c));
    ck_assert_int_eq(extent_of(c, "J"), -2);
    release(c);
    c = check(
        "fn f[K](v) -> s { a = v{K->J}; s = sum[J](a) }\nkernel k(x: f32[M,N]) -> y: f32[M] { y = f[N](x) + sum[J](x) }");
    ck_assert(c->cx.n_errors > 0);
    release(c);
    c = check(
        "kernel k(x: f32[M,F=2*N]) -> y: f32[M,N] { l, r = halves[F->N](x); a, b = evenodd[F->N](x); y = l * r + a * b }");
    ck_assert_msg(c->cx.n_errors == 0, "%s", messages(c));
    release(c);
    c = check("kernel k(x: f32[M,F=6]) -> y: f32[M] { l, r = halves[F->N](x); y = sum[N](l * r) }");
    ck_assert_msg(c->cx.n_errors == 0 && extent_of(c, "N") == 3, "%s", messages(c));
    release(c);
}
END_TEST

/* Where in a body a label is introduced does not matter. */
static const struct {
    const char *text;
    bool is_right;
} labels_anywhere[] = {
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J](where(idx(J) <= idx(T), b{T->J}, 0)) }", true},
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J](b{T->J} * where(idx(J) <= idx(T), 1, 0)) }", true},
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J](where(idx(T) >= idx(J), b{T->J}, 0)) }", true},
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J]((b[T: T - J] ?? 0) * b{T->J}) }", true},
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J](b{T->J} * (b[T: T - J] ?? 0)) }", true},
    {"kernel k(b: f32[T]) -> y: f32[T] { m = idx(J) <= idx(T); y = sum[J](where(m, b{T->J}, 0)) }", true},
    {"kernel k(b: f32[F=6]) -> y: f32[] { m = idx(J); l, r = halves[F->J](b); y = sum[J](m * (l + r)) }", true},
    {"kernel k(a: f32[A], b: f32[B]) -> y: f32[P] { y = where(idx(P) > 2, concat[P](a{A->P}, b{B->P}), 0) }", true},
    {"fn f[T](b) = sum[J](where(idx(J) <= idx(T), b{T->J}, 0))\n"
     "kernel k(b: f32[T]) -> y: f32[T] { y = f[T](b) }", true},
    {"fn f[T](b) = sum[J](where(idx(J) <= idx(T), b{T->J}, 0))\n"
     "kernel k(b: f32[T]) -> y: f32[T] { y = where(idx(J) > 1, f[T](b), 0) }", false}, /* the fn's own */
    {"kernel k(b: f32[T]) -> y: f32[T] { y = sum[J](where(idx(J) <= idx(T), b, 0)) }", false},
};

START_TEST(labels_are_known_anywhere) {
    struct checked *c = check(labels_anywhere[_i].text);
    ck_assert_msg(
        (c->cx.n_errors == 0) == labels_anywhere[_i].is_right, "%s: %s", labels_anywhere[_i].text, messages(c));
    release(c);
}
END_TEST

/* ---- names ---- */

static const struct {
    const char *text;
    bool is_right;
} names_of_fns[] = {
    {"fn elu(v) = v\nkernel k(x: f32[M]) -> y: f32[M] { y = selu(x) }", true}, /* the prelude means its own */
    {"fn elu(v) = v\nkernel k(x: f32[M]) -> y: f32[M] { y = elu(x) }", true},
    {"fn sum(v) = v\nkernel k(x: f32[M]) -> y: f32[M] { y = x }", false},
    {"fn idx(v) = v\nkernel k(x: f32[M]) -> y: f32[M] { y = x }", false},
    {"const M = 3\nkernel k(x: f32[M]) -> y: f32[M] { y = x[M: M-1] ?? 0 }", false},
    {"kernel k(t: f32[V,E]) -> y: f32[E] { y = t[V: 0]; require V >= 1 }", true}, /* wherever it stands */
    {"kernel k(t: f32[V,E], n: i32) -> y: f32[E] { n = n + 1; y = t[V: 0] ?? 0; require n >= 1 }", false},
    {"kernel k(x: f32[M=256]) -> y: u8[M] { y = idx(M) }", true},
    {"kernel k(x: f32[M=257]) -> y: u8[M] { y = idx(M) }", false},
    {"kernel k(x: f32[M=256]) -> y: u8[] { y = size(M) }", false},
    {"kernel k(x: i8[M=4]) -> y: i8[] { y = max[M](x) }", true},
    {"kernel k(x: i8[M]) -> y: i8[] { y = max[M](x) }", false}, /* that of nothing is the least i32 */
};

START_TEST(names_and_ranges) {
    struct checked *c = check(names_of_fns[_i].text);
    ck_assert_msg((c->cx.n_errors == 0) == names_of_fns[_i].is_right, "%s: %s", names_of_fns[_i].text,
        c->cx.n_errors ? messages(c) : "not refused");
    release(c);
}
END_TEST

/* ---- rounding after every operation ---- */

static int count_casts(const char *round, const char *body) {
    char text[512];
    snprintf(text, sizeof text,
        "kernel k(x: f16[M,K], w: f16[K,N], b: f16[N], s: f32, f: f32[N]) -> y: f16[M,N] with { round: %s } { y = %s }",
        round, body);
    struct checked *c = check(text);
    int n = 0;
    ck_assert_msg(c->cx.n_errors == 0, "%s", messages(c));
    const struct kernel *k = &c->program->kernels[0];
    for (int i = 0; i < k->n_values; i++) n += k->values[i]->kind == V_CAST && k->values[i]->to == FX_F16;
    release(c);
    return n;
}

START_TEST(rounding_modes) {
    ck_assert_int_eq(count_casts("once", "gelu(x @ w + b)"), 0);
    ck_assert_int_eq(count_casts("op", "gelu(x @ w + b)"), 3);
    ck_assert_int_eq(count_casts("eager", "gelu(x @ w + b)"), 3);
    ck_assert_int_eq(count_casts("eager", "relu6(x @ w)"), 2);  /* the fn is one operation */
    ck_assert_int_eq(count_casts("op", "relu6(x @ w)"), 3);     /* min and max */
    ck_assert_int_eq(count_casts("eager", "s * (x @ w)"), 2);   /* a scalar does not widen */
    ck_assert_int_eq(count_casts("eager", "x @ w + f"), 1);     /* an f32 tensor does */
    ck_assert_int_eq(count_casts("eager", "f32(x) @ w"), 0);
}
END_TEST

/* ---- nominal extents ---- */

static const struct {
    const char *text, *nominal; /* of every label, in order */
} nominals[] = {
    {"kernel k(x: f32[M,K=30]) -> y: f32[M,K] { y = x }", "4096 30"},
    {"kernel k(w: f32[F=2*N]) -> d: f32[N] { l, r = halves[F->N](w); d = l * r }", "8192 4096"},
    {"kernel k(s: f32[G=L/8], x: f32[L]) -> z: f32[L] { z = x * s[G: L//8] }", "512 4096"},
    {"kernel k(x: f32[B,T]) -> z: f32[B,Q=(T-1)//2] { z = x[T: 2*Q] }", "4096 4096 2047"},
    {"kernel k(w: f32[P=(S+1)*E,Q=P], s: f32[S,E]) -> y: f32[P,Q] { y = w }",
        "8320 8320 64 128"}, /* not 16 million, nor 65536 squared */
    {"kernel k(x: f32[F=2*N], y: f32[N=A-4096,A]) -> z: f32[F] { z = x }", "2 1 4096"},
    {"kernel k(x: f32[A,B]) -> z: f32[P] { z = x{(A,B)->P} }", "4096 4096 65536"},
    {"kernel k(x: f32[A=100,B]) -> z: f32[P=6400] { z = x{(A,B)->P} }", "100 64 6400"}, /* as the checker fixes it */
    {"kernel k(w: f32[U=I*I], s: f32[D,E], c: f32[I=D*E]) -> y: f32[I,J] { v = w{U->(I,J)}; y = v * c{I->J} }",
        "65536 128 128 16384 16384"}, /* J not U / I */
    {"kernel k(x: f32[A=B,B=A]) -> z: f32[A] { z = sum[B](x) }", "4096 4096"},
    /* what a contraction has of both factors; rows of both alone are no batch */
    {"kernel k(x: f32[B,M,K], y: f32[B,K,N]) -> z: f32[B,M,N] { z = x @ y }", "16 4096 4096 4096"},
    {"kernel k(x: f32[B,T]) -> z: f32[B] { z = sum[T](x * x) }", "4096 4096"},
    /* parts of one contraction that are added up, scaled: what the parts have of one factor is no batch of the sum */
    {"kernel k(x: f16[M,G,R=64], w: f16[N,G,R], s: f32[M,G]) -> y: f32[M,N] { y = sum[G]((x @[R] w) * s) }",
        "4096 16 64 4096"},
    {"kernel k(x: f16[M,G,R=64], w: f16[N,G,R], s: f32[M,G], t: f32[N,G]) -> y: f32[M,N]\n"
     "{ y = sum[G]((x @[R] w) * s * t) }",
        "4096 16 64 4096"},
    {"kernel k(h: f16[E,T,F], w: f16[E,F,D], g: f32[T,E]) -> y: f32[T,D] { y = sum[E]((h @[F] w) * g) }",
        "16 4096 4096 4096"},
    {"kernel k(x: f16[T,E], w: f16[H,D,E], c: f16[B,H,D], q: f32[T,H]) -> y: f32[B,T]\n"
     "{ y = ((x @[E] w) @[D] c) @[H] q }",
        "4096 4096 16 4096 4096"},
    /* heads: contracted, or free, or both; by any name, of any order; written out */
    {"kernel k(q: f16[S,D], k: f16[T,D], v: f16[T,D]) -> o: f16[S,D] { o = softmax[T](q @ k) @ v }", "4096 128 4096"},
    {"kernel k(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f16[S,N] { o = softmax[T](q @ k) @ v }",
        "4096 128 4096 128"},
    {"kernel k(K: f16[A,C], V: f16[C,P], Q: f16[P,M]) -> o: f16[A,M]\n"
     "{ s = V @[P] Q; e = exp(s); o = K @[C] (e / sum[C](e)) }",
        "128 4096 128 4096"},
    {"kernel k(q: f16[B,S,H,D], k: f16[B,T,H,D], v: f16[B,T,H,D]) -> o: f16[B,S,H,D]\n"
     "{ o = softmax[T](q @ k) @[T] v }",
        "16 4096 16 128 4096"},
    /* an MLP has none, nor has one with a norm */
    {"kernel k(x: f16[M,K], a: f16[K,H], b: f16[H,N]) -> y: f16[M,N] { y = relu(x @ a) @ b }", "4096 4096 4096 4096"},
    {"kernel k(x: f16[M,K], a: f16[K,H], b: f16[H,N]) -> y: f16[M,N] { y = rmsnorm[H](x @ a) @ b }",
        "4096 4096 4096 4096"},
    /* windows; what relabels make of a label is none */
    {"kernel k(x: f32[B,T], w: f32[U]) -> z: f32[B,T] { z = sum[U](w * (x[T: T+U-1] ?? 0)) }", "4096 4096 3"},
    {"kernel k(x: f32[M,T], w: f32[N]) -> z: f32[M] { z = sum[L,N](w * x{T->(L,N)}) }", "4096 65536 4096"},
    /* no tensor above 2^28 elements */
    {"kernel k(x: f32[A,B,C,D]) -> z: f32[A,B,C,D] { z = x }", "128 128 128 128"},
    {"kernel k(x: f32[A,B,C=65536]) -> z: f32[A,B,C] { z = x }", "64 64 65536"},
};

START_TEST(nominal_extents) {
    struct checked *c = check(nominals[_i].text);
    struct buf b;
    ck_assert_msg(c->cx.n_errors == 0, "%s: %s", nominals[_i].text, messages(c));
    const struct kernel *k = &c->program->kernels[0];
    buf_init(&b, &c->cx.arena);
    for (int i = 0; i < k->n_axes; i++)
        if (!k->axes[i].is_inner) buf_printf(&b, "%s%.0f", b.len ? " " : "", k->axes[i].nominal);
    ck_assert_msg(
        strcmp(b.s, nominals[_i].nominal) == 0, "%s: %s, not %s", nominals[_i].text, b.s, nominals[_i].nominal);
    release(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");
    tcase_add_loop_test(t, dtype_of_a_pair, 0, N_DTYPES * N_DTYPES);
    tcase_add_loop_test(t, type_of_expression, 0, (int)(sizeof expressions / sizeof *expressions));
    tcase_add_loop_test(t, what_may_be_stored, 0, (int)(sizeof stores / sizeof *stores));
    tcase_add_test(t, extents_follow_from_relabels);
    tcase_add_test(t, extents_do_not_wrap);
    tcase_add_test(t, both_positions_count);
    tcase_add_test(t, labels_of_fns_are_fresh);
    tcase_add_loop_test(t, labels_are_known_anywhere, 0, (int)(sizeof labels_anywhere / sizeof *labels_anywhere));
    tcase_add_loop_test(t, names_and_ranges, 0, (int)(sizeof names_of_fns / sizeof *names_of_fns));
    tcase_add_test(t, rounding_modes);
    tcase_add_loop_test(t, nominal_extents, 0, (int)(sizeof nominals / sizeof *nominals));
    suite_add_tcase(s, t);
    return run_suite(s);
}
