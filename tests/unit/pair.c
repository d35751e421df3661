/* Two texts of one computation (pair.h). */
#include "pair.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values_file.h"

fx_compilation *pair_compile(const char *text, const char *file, const char *kernel, bool oracle_only) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.kernel = kernel;
    options.oracle_only = oracle_only;
    fx_status status = fx_compile(text, strlen(text), file, &options, &c);
    ck_assert_msg(status == FX_OK || status == FX_ERR_COMPILE, "%s: %s gives %d", file, kernel, status);
    ck_assert_msg(!oracle_only || status == FX_OK, "%s", fx_messages(c));
    return c;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* "row, gemm" as "row+gemm". */
static void add_driver(char *out, size_t size, const char *driver) {
    size_t n = strlen(out);
    if (n && n + 1 < size) out[n++] = ' ';
    for (; *driver && n + 1 < size; driver++)
        if (*driver != ' ') out[n++] = *driver == ',' ? '+' : *driver;
    out[n] = '\0';
}

int pair_drivers(const fx_compilation *c, const char *kernel, bool is_sorted, char *out, size_t size) {
    const char *drivers[FX_MAX_LAUNCHES], *error = strstr(fx_messages(c), "[FX");
    const struct fx_kernel *k = fx_get_plan(c) ? fx_find_kernel(fx_get_plan(c), kernel) : NULL;
    if (!k) {
        snprintf(out, size, "%.6s", error ? error + 1 : "");
        return 0;
    }
    const struct fx_partition p = fx_get_partition(k, fx_partition_count(k) - 1); /* at nominal extents */
    for (int i = 0; i < p.n_launches; i++) drivers[i] = k->launches[p.first_launch + i].driver;
    if (is_sorted) qsort(drivers, (size_t)p.n_launches, sizeof *drivers, by_text);
    *out = '\0';
    for (int i = 0; i < p.n_launches; i++) add_driver(out, size, drivers[i]);
    return p.n_launches;
}

void pair_compare(const char *file, const struct fx_param *p, int64_t n, double *const value[2],
    int64_t *const integer[2], double *const bound[2], int *n_exact, int *n_finite) {
    for (int64_t i = 0; i < n; i++) {
        bool is_float = fx_is_float(p->dtype);
        double e = bound[0][i] + bound[1][i];
        *n_exact += e == 0;
        *n_finite += isfinite(e);
        bool is_equal = is_float ? values_equal(value[0][i], value[1][i]) || fabs(value[0][i] - value[1][i]) <= e
                                 : integer[0][i] == integer[1][i] || e > 0;
        ck_assert_msg(is_equal, "%s: %s[%lld] is %.17g / %lld, by hand %.17g / %lld, bounds %g", file, p->name,
            (long long)i, value[0][i], (long long)integer[0][i], value[1][i], (long long)integer[1][i], e);
    }
}
