/* Two texts of one computation, one of them written out by hand: what they compile to, and whether their values agree.
 *
 * In: texts, results of the oracle. Out: the drivers of a kernel's launches as one line; a failed check where values
 * differ by more than both may err. */
#ifndef FX_TEST_PAIR_H
#define FX_TEST_PAIR_H

#include "fx.h"

/* Compiles one kernel of a text; a failed check where the text could not even be looked at, or with oracle_only where
 * it is not right. */
fx_compilation *pair_compile(const char *text, const char *file, const char *kernel, bool oracle_only);
/* "gemm pointwise row+gemm": a word a launch, the phases of one joined by `+`, in the order of the launches or of the
 * alphabet; without a plan the code of the first error. Returns the number of launches. */
int pair_drivers(const fx_compilation *c, const char *kernel, bool is_sorted, char *out, size_t size);
/* Element by element; value, integer and bound are those of either text. Adds to *n_exact how many both give without an
 * error, to *n_finite how many with a finite one. */
void pair_compare(const char *file, const struct fx_param *p, int64_t n, double *const value[2],
    int64_t *const integer[2], double *const bound[2], int *n_exact, int *n_finite);

#endif
