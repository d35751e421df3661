/* arena.c, buf.c, diag.c: memory that stays valid, text that grows, messages as people read them. */
#include "base/base.h"
#include "base/names.h"
#include "base/utf8.h"
#include "suite.h"

#include <check.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static struct cx cx;

static void setup(void) {
    cx = (struct cx){.n_files = 0};
    arena_init(&cx.arena, &cx.oom);
}

static void teardown(void) { arena_release(&cx.arena); }

START_TEST(arena_gives_zeroed_aligned_memory) {
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *p = arena_alloc(&cx.arena, n);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) ck_assert_uint_eq(p[i], 0);
        memset(p, 0xff, n);
    }
}
END_TEST

START_TEST(arena_mixes_large_and_small) {
    char *small = arena_strndup(&cx.arena, "small", 5);
    char *large = arena_alloc(&cx.arena, 1 << 20);
    memset(large, 1, 1 << 20);
    char *next = arena_strndup(&cx.arena, "next", 2);
    ck_assert_str_eq(small, "small");
    ck_assert_str_eq(next, "ne");
    ck_assert_ptr_eq(next, small + 16);
}
END_TEST

/* What was taken up to a mark stays, and what is taken later is zeroed again. */
START_TEST(arena_goes_back) {
    char *before = arena_strndup(&cx.arena, "before", 6);
    for (int round = 0; round < 3; round++) {
        const struct arena_mark mark = arena_marked(&cx.arena);
        size_t held = cx.arena.held;
        for (int i = 0; i < 40; i++) {
            unsigned char *p = arena_alloc(&cx.arena, 5000u + 4000u * (unsigned)(i % 7));
            for (int b = 0; b < 5000; b++) ck_assert_int_eq(p[b], 0);
            memset(p, 0xFF, 5000);
        }
        arena_rewind(&cx.arena, &mark);
        ck_assert_uint_eq(cx.arena.held, held);
        unsigned char *small = arena_alloc(&cx.arena, 1000);
        for (int b = 0; b < 1000; b++) ck_assert_int_eq(small[b], 0);
        memset(small, 0xFF, 1000);
    }
    ck_assert_str_eq(before, "before");
    struct arena empty;
    arena_init(&empty, &cx.oom);
    const struct arena_mark none = arena_marked(&empty);
    memset(arena_alloc(&empty, 100), 1, 100);
    arena_rewind(&empty, &none);
    ck_assert_ptr_null(empty.chunks);
    arena_release(&empty); /* what it was given back */
}
END_TEST

START_TEST(arena_jumps_when_out_of_memory) {
    if (setjmp(cx.oom) == 0) {
        arena_alloc(&cx.arena, SIZE_MAX - 8);
        ck_abort_msg("an impossible allocation returned");
    }
    ck_assert_ptr_nonnull(arena_alloc(&cx.arena, 1));
}
END_TEST

START_TEST(push_keeps_elements) {
    int *array = NULL, n = 0;
    for (int i = 0; i < 1000; i++) PUSH(&cx.arena, array, n) = i;
    ck_assert_int_eq(n, 1000);
    for (int i = 0; i < n; i++) ck_assert_int_eq(array[i], i);
}
END_TEST

START_TEST(names_keep_their_last_meaning) {
    struct names t = {0};
    static int meanings[3000];
    ck_assert_ptr_null(names_get(&t, (struct name){"n0", 2}));
    for (int i = 0; i < 3000; i++) {
        char *s = arena_printf(&cx.arena, "n%d", i % 2000);
        void *before = names_put(&t, &cx.arena, (struct name){s, (uint32_t)strlen(s)}, &meanings[i]);
        ck_assert_ptr_eq(before, i < 2000 ? NULL : (void *)&meanings[i - 2000]);
    }
    ck_assert_int_eq(t.n, 2000);
    for (int i = 0; i < 2000; i++) {
        char *s = arena_printf(&cx.arena, "n%d", i);
        ck_assert_ptr_eq(names_get(&t, (struct name){s, (uint32_t)strlen(s)}), &meanings[i < 1000 ? i + 2000 : i]);
    }
    ck_assert_ptr_null(names_get(&t, (struct name){"n2000", 5}));
    ck_assert_ptr_null(names_get(&t, (struct name){"", 0}));
}
END_TEST

/* No reserved word or macro can come of it: a letter first, one underscore last, never two in a row. */
START_TEST(names_are_encoded_apart_from_the_reserved) {
    static const char *const cases[][2] = {
        {"x", "x"}, {"M_PI", "M_PI"}, {"_", "x_x"}, {"__LINE__", "x_x_LINE_x_x"}, {"a__b", "a_x_b"}, {"a_", "a_x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct name n = {cases[i][0], (uint32_t)strlen(cases[i][0])};
        ck_assert_str_eq(name_encoded(&cx.arena, n), cases[i][1]);
        const char *last = cases[i][0] + n.len - 1;
        if (*last == '_') ck_assert_ptr_null(strstr(arena_printf(&cx.arena, "%s_", name_encoded(&cx.arena, n)), "__"));
    }
    struct identifiers scope = {.arena = &cx.arena};
    static const char *const taken[][2] = {{"M_PI_", "M_PI_"}, {"M_PI_", "M_PI_2_"}, {"M_PI_2_", "M_PI_2_2_"},
        {"M_PI_", "M_PI_3_"}, {"fx_a", "fx_a"}, {"fx_a", "fx_a2"}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        ck_assert_str_eq(identifiers_take(&scope, taken[i][0]), taken[i][1]);
}
END_TEST

/* What a block took is free behind it, its numbers too; what lies around is not. */
START_TEST(identifiers_of_a_block) {
    struct identifiers outer = {.arena = &cx.arena}, inner = {.arena = &cx.arena, .around = &outer};
    ck_assert_str_eq(identifiers_take(&outer, "x_"), "x_");
    ck_assert_str_eq(identifiers_take(&inner, "x_"), "x_2_");
    ck_assert_str_eq(identifiers_take(&inner, "y_"), "y_");
    int before = inner.n;
    for (int round = 0; round < 3; round++) {
        ck_assert_str_eq(identifiers_take(&inner, "x_"), "x_3_");
        for (int i = 2; i < 100; i++)
            ck_assert_str_eq(identifiers_take(&inner, "y_"), arena_printf(&cx.arena, "y_%d_", i));
        ck_assert(identifiers_have(&inner, "y_99_"));
        identifiers_give_back(&inner, before);
        ck_assert(!identifiers_have(&inner, "y_2_") && !identifiers_have(&inner, "x_3_"));
    }
    ck_assert(identifiers_have(&inner, "x_") && identifiers_have(&inner, "x_2_") && identifiers_have(&inner, "y_") &&
              !identifiers_have(&outer, "y_"));
    ck_assert_str_eq(identifiers_take(&outer, "y_"), "y_");
}
END_TEST

START_TEST(buf_keeps_to_its_limit) {
    struct buf b;
    buf_init(&b, &cx.arena);
    b.most = 5;
    buf_puts(&b, "abc");
    ck_assert(!buf_is_full(&b));
    buf_printf(&b, "%d", 12345);
    ck_assert(buf_is_full(&b));
    buf_puts(&b, "more");
    buf_printf(&b, "more");
    ck_assert_str_eq(b.s, "abc12");
    ck_assert_uint_eq(b.len, 5);
}
END_TEST

START_TEST(buf_grows_and_ends_in_nul) {
    struct buf b;
    buf_init(&b, &cx.arena);
    ck_assert_str_eq(b.s, "");
    for (int i = 0; i < 2000; i++) {
        buf_printf(&b, "%d,", i % 10);
        ck_assert_uint_eq(b.len, strlen(b.s));
    }
    char big[5000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    buf_printf(&b, "%s|", big);
    buf_put(&b, "a\0b", 3);
    buf_putc(&b, 'c');
    ck_assert_uint_eq(b.len, 4000 + 4999 + 1 + 3 + 1);
    ck_assert_int_eq(b.s[b.len], 0);
    ck_assert_str_eq(arena_printf(&cx.arena, "%s-%d", "a", 3), "a-3");
}
END_TEST

START_TEST(numbers_do_not_follow_the_locale) {
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "de_DE.utf8"};
    for (size_t i = 0; i < sizeof commas / sizeof *commas; i++)
        if (setlocale(LC_ALL, commas[i])) break;
    ck_assert_str_eq(arena_printf(&cx.arena, "%g", 0.5), "0.5");
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(names_compare_by_bytes) {
    struct name a = {"abc", 2}, b = {"abd", 2};
    ck_assert(name_eq(a, b));
    ck_assert(name_is(a, "ab"));
    ck_assert(!name_is(a, "abc"));
    ck_assert(name_eq((struct name){0}, (struct name){0}));
}
END_TEST

START_TEST(utf8_is_strict) {
    static const struct { const char *s; int len; int32_t c; int used; } cases[] = {
        {"a", 1, 'a', 1},           {"\xc3\xa9", 2, 0xe9, 2},       {"\xe2\x82\xac", 3, 0x20ac, 3},
        {"\xf0\x9f\x98\x80", 4, 0x1f600, 4}, {"\xc0\x80", 2, UTF8_BAD, 1}, {"\xe0\x80\x80", 3, UTF8_BAD, 1},
        {"\xed\xa0\x80", 3, UTF8_BAD, 1},    {"\xf4\x90\x80\x80", 4, UTF8_BAD, 1}, {"\xe2\x82", 2, UTF8_BAD, 1},
        {"\x80", 1, UTF8_BAD, 1},   {"\xf8\x88\x80\x80", 4, UTF8_BAD, 1}, {"\xc3", 1, UTF8_BAD, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *s = cases[i].s;
        ck_assert_int_eq(utf8_next(&s, cases[i].s + cases[i].len), cases[i].c);
        ck_assert_int_eq((int)(s - cases[i].s), cases[i].used);
    }
}
END_TEST

/* ---- messages ---- */

static void file(const char *text) {
    cx.files[0] = (struct source_file){.name = "t.fx", .text = text, .len = strlen(text)};
    source_index(&cx, 0);
    cx.n_files = 1;
}

static const char *rendered(void) {
    struct buf b;
    buf_init(&b, &cx.arena);
    diag_print(&cx, &b);
    return b.s;
}

static struct span at(uint32_t start, uint32_t len) { return (struct span){.start = start, .len = len}; }

START_TEST(message_has_line_caret_code_fix) {
    file("one\n  two three\nfour");
    diag_error(&cx, at(10, 5), D_SYNTAX, "expected %s", "four");
    diag_fix(&cx, "count");
    diag_warning(&cx, at(16, 1), D_BROADCAST, "odd");
    ck_assert_str_eq(rendered(), "t.fx:2:7: error: expected four [FX1004]\n"
                                 "    two three\n"
                                 "        ^~~~~\n"
                                 "  fix: count\n"
                                 "t.fx:3:1: warning: odd [FX2009]\n"
                                 "  four\n"
                                 "  ^\n");
    ck_assert_int_eq(cx.n_errors, 1);
    ck_assert_int_eq(span_line(&cx, at(10, 1)), 2);
}
END_TEST

START_TEST(message_expands_tabs_and_cleans) {
    file("\tx\x1b[2J\xe2\x80\xaey\r\n");
    diag_error(&cx, at(1, 1), D_SYNTAX, "a\x1b");
    ck_assert_str_eq(rendered(), "t.fx:1:2: error: a? [FX1004]\n"
                                 "          x?[2J?y\n"
                                 "          ^\n");
}
END_TEST

START_TEST(columns_count_code_points) {
    file("# \xc3\xa9\xe2\x82\xac x");
    diag_error(&cx, at(8, 1), D_SYNTAX, "here");
    ck_assert_str_eq(rendered(), "t.fx:1:6: error: here [FX1004]\n  # \xc3\xa9\xe2\x82\xac x\n       ^\n");
}
END_TEST

START_TEST(spans_are_clamped) {
    file("ab\ncd");
    diag_error(&cx, at(1, 4), D_SYNTAX, "over the line");
    diag_error(&cx, at(5, 0), D_SYNTAX, "at the end");
    diag_error(&cx, at(4000000000u, 4000000000u), D_SYNTAX, "beyond");
    diag_error(&cx, (struct span){.file = 9}, D_SYNTAX, "no file");
    ck_assert_str_eq(rendered(), "t.fx:1:2: error: over the line [FX1004]\n  ab\n   ^\n"
                                 "t.fx:2:3: error: at the end [FX1004]\n  cd\n    ^\n"
                                 "t.fx:2:3: error: beyond [FX1004]\n  cd\n    ^\n"
                                 "error: no file [FX1004]\n");
}
END_TEST

START_TEST(long_lines_are_cut_around_the_caret) {
    char text[1001];
    memset(text, 'a', 1000);
    memcpy(text + 500, "HERE", 4);
    text[1000] = 0;
    file(text);
    diag_error(&cx, at(500, 4), D_SYNTAX, "far");
    const char *out = rendered(), *here = strstr(out, "HERE"), *caret = strstr(out, "^~~~");
    ck_assert_uint_lt(strlen(out), 400);
    const char *line = strchr(out, '\n') + 1;
    ck_assert_int_eq((int)(here - line), (int)(caret - strchr(line, '\n') - 1));
}
END_TEST

START_TEST(recording_stops_but_counting_does_not) {
    file("x");
    for (int i = 0; i < DIAG_MAX + 5; i++) {
        diag_error(&cx, at(0, 1), D_SYNTAX, "error %d", i);
        diag_fix(&cx, "fix %d", i);
    }
    diag_warning(&cx, at(0, 1), D_BROADCAST, "late");
    diag_fix(&cx, "late");
    ck_assert_int_eq(cx.n_errors, DIAG_MAX + 5);
    ck_assert_int_eq(cx.n_diags, DIAG_MAX);
    ck_assert_str_eq(cx.diags[DIAG_MAX - 1].fix, "fix 19");
}
END_TEST

START_TEST(codes_are_named) {
    for (int i = 0; i < N_DIAG_CODES; i++) {
        ck_assert_int_eq(strncmp(diag_code_name(i), "FX", 2), 0);
        ck_assert_uint_eq(strlen(diag_code_name(i)), 6);
        ck_assert_uint_gt(strlen(diag_code_title(i)), 0);
        for (int j = 0; j < i; j++) ck_assert_str_ne(diag_code_name(i), diag_code_name(j));
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, arena_gives_zeroed_aligned_memory);
    tcase_add_test(t, arena_mixes_large_and_small);
    tcase_add_test(t, arena_goes_back);
    tcase_add_test(t, arena_jumps_when_out_of_memory);
    tcase_add_test(t, push_keeps_elements);
    tcase_add_test(t, names_keep_their_last_meaning);
    tcase_add_test(t, names_are_encoded_apart_from_the_reserved);
    tcase_add_test(t, identifiers_of_a_block);
    tcase_add_test(t, buf_keeps_to_its_limit);
    tcase_add_test(t, buf_grows_and_ends_in_nul);
    tcase_add_test(t, numbers_do_not_follow_the_locale);
    tcase_add_test(t, names_compare_by_bytes);
    tcase_add_test(t, utf8_is_strict);
    tcase_add_test(t, message_has_line_caret_code_fix);
    tcase_add_test(t, message_expands_tabs_and_cleans);
    tcase_add_test(t, columns_count_code_points);
    tcase_add_test(t, spans_are_clamped);
    tcase_add_test(t, long_lines_are_cut_around_the_caret);
    tcase_add_test(t, recording_stops_but_counting_does_not);
    tcase_add_test(t, codes_are_named);
    suite_add_tcase(s, t);
    return run_suite(s);
}
