/* compiler/front/hints.def: every row is reached by the word it is for, and what it says to write compiles. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "fx.h"
#include "front/hints.h"
#include "suite.h"

static const struct row {
    enum hint_kind kind;
    const char *words, *fix;
} rows[] = {
#define HINT(kind, words, fix) {HINT_##kind, words, fix},
#include "front/hints.def"
#undef HINT
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* As in docs/language.md, "Coming from NumPy or PyTorch"; x may be `inout`. */
static const char context[] =
    "kernel context[U=3, I=(M+1)//2](x: %sf32[M,N], w: f32[N,K], b: f32[N], v: f32[M], c: bool[M,N], ids: i64[B], table: f32[V,E], s: f32[Q=M*N], at: i64[M],\n"
    "    sq: f32[M, J=M], big: f32[R, F=2*N], z: f32[M,O], q: f32[G,H,S,D], k: f32[G,H,T,D]) -> y: f32 {\n  %s%s\n  y = 0\n}\n";

static bool compiles(const char *text, char *said, size_t size) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.oracle_only = true;
    bool ok = fx_compile(text, strlen(text), "spec.fx", &options, &c) == FX_OK;
    snprintf(said, size, "%s", fx_messages(c));
    fx_close(c);
    return ok;
}

/* Where words of a kind stand. */
static const char *const forms[][2] = {
    [HINT_DTYPE] = {"kernel k(x: ", "[M,N]) -> y: f32[M,N] {\n  y = 0\n}\n"},
    [HINT_FUNCTION] = {"kernel k(x: f32[M,N]) -> y: f32[M,N] {\n  y = ", "(x)\n}\n"},
    [HINT_ARGUMENT] = {"kernel k(x: f32[M,N]) -> y: f32[M,N] {\n  y = softmax[N](x, ", ": 1)\n}\n"},
    [HINT_NAME] = {"kernel k(x: f32[M,N]) -> y: f32[M,N] {\n  y = x * ", "\n}\n"},
    [HINT_WORD] = {"kernel k(x: f32[M,N]) -> y: f32[M,N] {\n  y = ", "(x)\n}\n"},
    [HINT_OPERATOR] = {"kernel k(x: f32[M,N]) -> y: f32[M,N] {\n  y = x ", " x\n}\n"},
};

static int count(enum hint_kind kind, const char *word) {
    int n = 0;
    for (int i = 0; i < N_ROWS; i++)
        for (const char *w = rows[i].words; *w; w += strcspn(w, " "), w += *w == ' ')
            n += rows[i].kind == kind && strcspn(w, " ") == strlen(word) && !strncmp(w, word, strlen(word));
    return n;
}

START_TEST(is_reached_by_its_words) {
    const struct row *r = &rows[_i];
    bool is_dtype = r->kind == HINT_DTYPE && hint_is_dtype(r->fix);
    char words[256], text[512], said[2048], fix[1024], *state;
    snprintf(words, sizeof words, "%s", r->words);
    snprintf(fix, sizeof fix, "  fix: %s%s\n", is_dtype ? "write " : "", r->fix);
    ck_assert_msg(fix[strlen(fix) - 2] != '.' || r->kind == HINT_WORD, "%s ends in a full stop", r->fix);
    for (const char *word = strtok_r(words, " ", &state); word; word = strtok_r(NULL, " ", &state)) {
        snprintf(text, sizeof text, "%s%s%s", forms[r->kind][0], word, forms[r->kind][1]);
        ck_assert_msg(!compiles(text, said, sizeof said), "%s compiles:\n%s", word, text);
        ck_assert_msg(strstr(said, fix) != NULL, "expected `%s`, found\n%s", fix, said);
        ck_assert_msg(count(r->kind, word) == 1, "%s stands twice", word);
    }
}
END_TEST

/* What stands between backquotes, of the kinds whose fixes are written in the context. */
START_TEST(says_what_compiles) {
    const struct row *r = &rows[_i];
    if (r->kind != HINT_FUNCTION && r->kind != HINT_ARGUMENT) return;
    char text[1024], said[2048];
    for (const char *open = strchr(r->fix, '`'), *close; open; open = strchr(close + 1, '`')) {
        close = strchr(open + 1, '`');
        ck_assert_ptr_nonnull(close);
        char code[256];
        snprintf(code, sizeof code, "%.*s", (int)(close - open - 1), open + 1);
        if (strstr(code, "..") || strspn(code, "abcdefghijklmnopqrstuvwxyz") == strlen(code))
            continue; /* a word of the language */
        bool is_stored = strstr(code, "] = ") != NULL; /* it changes x */
        snprintf(text, sizeof text, context, is_stored ? "inout " : "", strstr(code, " = ") ? "" : "a = ", code);
        ck_assert_msg(compiles(text, said, sizeof said), "%s: `%s` does not compile:\n%s", r->words, code, said);
    }
}
END_TEST

START_TEST(names_are_near_by_letters) {
    static const struct {
        const char *wanted, *offered, *near;
    } cases[] = {{"gleu", "gelu", "gelu"}, {"Gelu", "gelu", "gelu"}, {"sigmod", "sigmoid", "sigmoid"},
        {"sotmaxx", "softmax", "softmax"}, {"y2", "y", ""}, {"X", "x", "x"}, {"x", "y", ""}, {"tanh", "tan", "tan"},
        {"foo", "fma", ""}, {"rleu", "rulee", ""}, {"gelu", "gelu", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nearest n = {.wanted = {cases[i].wanted, (uint32_t)strlen(cases[i].wanted)}};
        nearest_offer(&n, (struct name){cases[i].offered, (uint32_t)strlen(cases[i].offered)});
        ck_assert_msg(name_is(n.name, cases[i].near), "%s, %s: found " NAME_FMT, cases[i].wanted, cases[i].offered,
            NAME_ARG(n.name));
    }
    struct nearest n = {.wanted = {"maxx", 4}};
    nearest_offer(&n, (struct name){"mxxa", 4});
    nearest_offer(&n, (struct name){"max", 3});
    nearest_offer(&n, (struct name){"maxy", 4});
    ck_assert(name_is(n.name, "max")); /* the first of the nearest */
}
END_TEST

int main(void) {
    Suite *s = suite_create("hints");
    TCase *t = tcase_create("table");
    tcase_add_loop_test(t, is_reached_by_its_words, 0, N_ROWS);
    tcase_add_loop_test(t, says_what_compiles, 0, N_ROWS);
    tcase_add_test(t, names_are_near_by_letters);
    suite_add_tcase(s, t);
    return run_suite(s);
}
