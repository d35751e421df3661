/* Messages as JSON: read by a strict parser of RFC 8259, and held against the same messages as text and against the
 * bytes they point at. */
#include "base/base.h"
#include "fx.h"
#include "base/json.h"
#include "base/utf8.h"
#include "suite.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a strict reader: an array of flat objects ---- */

struct member {
    const char *key, *text; /* of a string decoded, of a number as written; NULL for null */
};

struct object {
    struct member members[16];
    int n;
};

static struct arena arena;
static jmp_buf oom;
static const char *at, *end; /* what is left to read */

static void setup(void) { arena_init(&arena, &oom); }
static void teardown(void) { arena_release(&arena); }

#define REQUIRE(c) ck_assert_msg(c, "at: %.60s", at)

static void skip_space(void) {
    while (at < end && strchr(" \t\r\n", *at)) at++;
}

static bool take(char c) {
    skip_space();
    if (at == end || *at != c) return false;
    at++;
    return true;
}

static int32_t read_hex4(void) {
    int32_t c = 0;
    REQUIRE(end - at >= 4);
    for (int i = 0; i < 4; i++, at++) {
        const char *digit = memchr("0123456789abcdef", *at, 16);
        REQUIRE(digit);
        c = c * 16 + (int32_t)(digit - "0123456789abcdef");
    }
    return c;
}

static void put_point(struct buf *b, int32_t c) {
    if (c >= 0x800) buf_printf(b, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
    else if (c >= 0x80) buf_printf(b, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
    else buf_putc(b, (char)c);
}

static const char *read_string(void) {
    struct buf b;
    buf_init(&b, &arena);
    REQUIRE(take('"'));
    for (;;) {
        const char *from = at;
        REQUIRE(at < end);
        int32_t c = utf8_next(&at, end);
        REQUIRE(c >= 0x20 && !utf8_is_unprintable(c));
        if (c == '"') return b.s;
        if (c != '\\') {
            buf_put(&b, from, (size_t)(at - from));
            continue;
        }
        REQUIRE(at < end);
        static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        char e = *at++;
        const char *known = e ? strchr(escapes, e) : NULL;
        REQUIRE(e == 'u' || known);
        c = e == 'u' ? read_hex4() : means[known - escapes];
        REQUIRE(c < 0xd800 || c > 0xdfff); /* the writer needs no surrogates */
        put_point(&b, c);
    }
}

static const char *read_number(void) {
    const char *from = at;
    if (*at == '-') at++;
    REQUIRE(*at >= '0' && *at <= '9');
    if (*at == '0') at++;
    else while (*at >= '0' && *at <= '9') at++;
    return arena_strndup(&arena, from, (size_t)(at - from));
}

static struct object read_object(void) {
    struct object o = {.n = 0};
    REQUIRE(take('{'));
    while (!take('}')) {
        struct member *m = &o.members[o.n];
        if (o.n++) REQUIRE(take(','));
        m->key = read_string();
        REQUIRE(take(':'));
        skip_space();
        if (end - at >= 4 && memcmp(at, "null", 4) == 0) at += 4;
        else m->text = *at == '"' ? read_string() : read_number();
        for (int i = 0; i + 1 < o.n; i++) ck_assert_str_ne(o.members[i].key, m->key);
        ck_assert_int_lt(o.n, 16);
    }
    return o;
}

/* All of text must be one array. */
static struct object *read_array(const char *text, int *n) {
    struct object *objects = NULL;
    at = text;
    end = text + strlen(text);
    *n = 0;
    REQUIRE(take('['));
    while (!take(']')) {
        if (*n) REQUIRE(take(','));
        struct object o = read_object();
        PUSH(&arena, objects, *n) = o;
    }
    skip_space();
    REQUIRE(at == end);
    return objects;
}

static const char *member(const struct object *o, const char *key) {
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->members[i].key, key) == 0) return o->members[i].text;
    ck_abort_msg("no member %s", key);
    return NULL;
}

static long number(const struct object *o, const char *key) { return strtol(member(o, key), NULL, 10); }

/* ---- against the text form and the bytes ---- */

/* Line and column of a byte, counted in the plainest way. */
static void count_place(const char *text, long offset, long *line, long *column) {
    *line = *column = 1;
    for (long i = 0; i < offset; i++) {
        if (text[i] == '\n') ++*line, *column = 1;
        else if ((text[i] & 0xc0) != 0x80) ++*column;
    }
}

static void check_place(const struct object *o, const char *text) {
    long line, column, start = number(o, "byte_offset"), past = start + number(o, "byte_length");
    count_place(text, start, &line, &column);
    ck_assert_int_eq(number(o, "line"), line);
    ck_assert_int_eq(number(o, "column"), column);
    count_place(text, past, &line, &column);
    ck_assert_int_eq(number(o, "end_line"), line);
    ck_assert_int_eq(number(o, "end_column"), column);
}

/* Compiles text and holds every object against the text form; returns how many there are. */
static int check_messages(const char *text, const char *define, bool is_clean) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    int n;
    if (define) options.defines = &define, options.n_defines = 1;
    fx_compile(text, strlen(text), "spec.fx", &options, &c);
    const char *shown = fx_messages(c);
    for (const char *b = shown; *b; b++)
        ck_assert_msg(*b == '\n' || ((unsigned char)*b >= 0x20 && *b != 0x7f), "a control byte in: %s", shown);
    struct object *objects = read_array(fx_messages_json(c), &n);
    ck_assert_ptr_eq(fx_messages_json(c), fx_messages_json(c));
    for (int i = 0; i < n; i++) {
        const struct object *o = &objects[i];
        ck_assert_int_eq(o->n, 12);
        ck_assert_int_gt(strlen(member(o, "title")), 0);
        const char *head = arena_printf(
            &arena, "spec.fx:%ld:%ld: %s: ", number(o, "line"), number(o, "column"), member(o, "severity"));
        const char *body = arena_printf(&arena, "%s [%s]\n", member(o, "message"), member(o, "code"));
        ck_assert_msg(strncmp(shown, head, strlen(head)) == 0, "not `%s`: %s", head, shown);
        if (is_clean)
            ck_assert_msg(strncmp(shown + strlen(head), body, strlen(body)) == 0, "not `%s`: %s", body, shown);
        const char *next = strstr(shown, "\nspec.fx:"), *fix = strstr(shown, "\n  fix: ");
        bool has_fix = fix && (!next || fix < next);
        ck_assert_int_eq(has_fix, member(o, "fix") != NULL);
        if (has_fix && is_clean) ck_assert_int_eq(strncmp(fix + 8, member(o, "fix"), strlen(member(o, "fix"))), 0);
        check_place(o, text);
        shown = next ? next + 1 : "";
    }
    ck_assert_str_eq(shown, "");
    fx_close(c);
    return n;
}

static const char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    struct buf b;
    char block[4096];
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    buf_init(&b, &arena);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(&b, block, n);
    fclose(f);
    return b.s;
}

START_TEST(every_golden_error_says_the_same_as_text) {
    glob_t g;
    ck_assert_int_eq(glob("tests/golden/error/*.fx", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *text = read_file(g.gl_pathv[i]), *define = NULL;
        if (strncmp(text, "# args: -D ", 11) == 0) define = arena_strndup(&arena, text + 11, strcspn(text + 11, " \n"));
        ck_assert_msg(check_messages(text, define, true) > 0, "%s has no message", g.gl_pathv[i]);
    }
    globfree(&g);
}
END_TEST

START_TEST(no_message_is_an_empty_array) {
    ck_assert_int_eq(check_messages("kernel f(x: f32[M]) -> y: f32[M] { y = x }", NULL, true), 0);
}
END_TEST

/* Bytes of all kinds, in words, strings and comments. */
START_TEST(any_bytes_are_escaped) {
    static const char *const texts[] = {
        "kernel f(x: f32[M]) -> y: f32[M] { y = \x1b[31m x }",
        "include \"\x80\xff\"",
        "# \xe2\x80\xae\nkernel \"",
        "\xef\xbb\xbfkernel \\ \x7f",
        "kernel f(x: f32[M]) -> y: f32[M] { y = \xc3\xa4 + x\xc3\xa4 }",
        "\x01\x02\x03\t\"\\",
        "# \xf0\x9f\x98\x80 \xf0\x9f\nkernel 1.2.3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_int_gt(check_messages(texts[i], NULL, false), 0);
}
END_TEST

START_TEST(what_concerns_the_call_has_no_place) {
    struct fx_options options = FX_OPTIONS;
    const char *text = "kernel f(x: f32[M]) -> y: f32[M] { y = x }";
    fx_compilation *c;
    int n;
    options.skip = "t\x1b\"e\xff" "a";
    ck_assert_int_eq(fx_compile(text, strlen(text), "spec.fx", &options, &c), FX_ERR_USAGE);
    ck_assert_str_eq(fx_messages(c), "error: there is no pass t?\"e?a\n");
    struct object *o = read_array(fx_messages_json(c), &n);
    ck_assert_int_eq(n, 1);
    ck_assert_str_eq(member(o, "message"), "there is no pass t\x1b\"e\xef\xbf\xbd" "a");
    static const char *const absent[] = {
        "code", "title", "fix", "file", "line", "column", "end_line", "end_column", "byte_offset", "byte_length"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) ck_assert_ptr_null(member(o, absent[i]));
    fx_close(c);
}
END_TEST

START_TEST(strings_come_back_as_they_were) {
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        struct buf b, points;
        struct json j = {.out = &b};
        int n;
        buf_init(&b, &arena);
        buf_init(&points, &arena);
        for (int k = 0; k < 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int32_t c = 1 + (int32_t)(seed >> 33) % (k % 3 ? 0x17f : 0xfff0);
            if (c < 0xd800 || c > 0xdfff) put_point(&points, c);
        }
        json_open(&j, '[');
        json_open(&j, '{');
        json_key(&j, "n");
        json_int(&j, -42);
        json_key(&j, points.s);
        json_bytes(&j, points.s, points.len);
        json_close(&j, '}');
        json_close(&j, ']');
        struct object *o = read_array(b.s, &n);
        ck_assert_str_eq(member(o, "n"), "-42");
        ck_assert_str_eq(o->members[1].key, points.s);
        ck_assert_str_eq(o->members[1].text, points.s);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_golden_error_says_the_same_as_text);
    tcase_add_test(t, no_message_is_an_empty_array);
    tcase_add_test(t, any_bytes_are_escaped);
    tcase_add_test(t, what_concerns_the_call_has_no_place);
    tcase_add_test(t, strings_come_back_as_they_were);
    suite_add_tcase(s, t);
    return run_suite(s);
}
