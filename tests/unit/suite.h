/* The end of every unit test's main: runs the suite and gives the exit status. And how a test says that it cannot run
 * here. */
#ifndef FX_TESTS_SUITE_H
#define FX_TESTS_SUITE_H

#include <check.h>
#include <stdio.h>

/* As Check's, but a check that holds writes nothing. Check's reports the line of every check by a system call, which
 * is most of the time of programs that check millions of values. So a test that crashes is named without a line. Checks of integers, pointers and strings are made of this one. */
#undef ck_assert_msg
#undef ck_assert
#define ck_assert_msg(expr, ...) ((expr) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(expr) ck_assert_msg(expr, "Assertion '%s' failed", #expr)

/* Leaves a test that lacks something of this machine. tests/run.sh counts the line, one at most a test, as skipped and
 * not as passed. */
#define SKIP_TEST(...)                                                                           \
    do {                                                                                         \
        printf("skipped: %.*s: ", (int)sizeof __func__ - 4, __func__); /* without Check's "_fn" */ \
        printf(__VA_ARGS__);                                                                     \
        putchar('\n');                                                                           \
        fflush(stdout);                                                                          \
        return;                                                                                  \
    } while (0)

static inline int run_suite(Suite *s) {
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int n_failed = srunner_ntests_failed(r);
    srunner_free(r);
    return n_failed != 0;
}

#endif
