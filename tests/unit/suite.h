/* The end of every unit test's main: runs the suite and gives the exit status. */
#ifndef FX_TESTS_SUITE_H
#define FX_TESTS_SUITE_H

#include <check.h>

static inline int run_suite(Suite *s) {
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int n_failed = srunner_ntests_failed(r);
    srunner_free(r);
    return n_failed != 0;
}

#endif
