/* Holds a compiled kernel to the values of a case (values_file.h): an output or an element without a value, an input
 * its dtype does not hold, and a value that differs fail a check. How near is near enough: array_slack. */
#include "values_check.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shape the kernel gives output parameter p under the inputs' shapes must be the file's. */
static void compare_shape(
    const struct sample *s, const struct fx_kernel *k, const struct fx_param *p, const struct array *a) {
    const struct fx_shape *shapes[FX_MAX_PARAMS] = {0};
    struct fx_shape shape[FX_MAX_PARAMS];
    int64_t extents[FX_MAX_EXTENTS];
    char message[256];
    for (int i = 0; i < k->n_params; i++) {
        const struct array *input = sample_find(s, k->params[i].name, false);
        if (!input || k->params[i].is_scalar) continue;
        shape[i] = (struct fx_shape){.dtype = input->host.dtype, .rank = input->host.rank};
        memcpy(shape[i].extents, input->host.extents, sizeof shape[i].extents);
        shapes[i] = &shape[i];
    }
    ck_assert_msg(fx_bind_extents(k, shapes, extents, message, sizeof message) == FX_OK, "%s, line %d: %s", s->kernel,
        s->line, message);
    bool is_equal = p->dtype == a->host.dtype && p->rank == a->host.rank;
    for (int i = 0; is_equal && i < p->rank; i++) is_equal = extents[p->extents[i]] == a->host.extents[i];
    ck_assert_msg(is_equal, "line %d: %s of %s has another dtype or shape than here", a->line, a->name, s->kernel);
}

static void compare_integers(const char *name, const struct sample *s, const struct array *a, const int64_t *integer) {
    for (int64_t i = 0; i < a->n; i++)
        ck_assert_msg(integer[i] == a->integer[i],
            "%s.values, line %d: %s, element %lld of %s: got %lld, expected %lld", name, a->line, s->kernel,
            (long long)i, a->name, (long long)integer[i], (long long)a->integer[i]);
}

static void compare_elements(const char *name, const struct sample *s, const struct array *a, const double *value) {
    double slack = array_slack(a);
    for (int64_t i = 0; i < a->n; i++) {
        double want = array_value(a, i);
        bool is_close = values_equal(value[i], want) || (isfinite(want) && fabs(value[i] - want) <= slack);
        ck_assert_msg(is_close, "%s.values, line %d: %s, element %lld of %s: got %.17g, expected %.17g", name, a->line,
                      s->kernel, (long long)i, a->name, value[i], want);
    }
}

void values_check(const fx_compilation *c, const char *name, const struct sample *s) {
    struct fx_host inputs[VALUES_MAX_ARRAYS];
    char message[256] = "";
    int n_inputs = 0, n_outputs = 0;
    ck_assert_msg(!s->error[0], "%s.values, %s", name, s->error);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), s->kernel);
    ck_assert_msg(k != NULL, "the plan has no kernel %s", s->kernel);
    for (int i = 0; i < k->n_params; i++) {
        const struct array *a = sample_find(s, k->params[i].name, false);
        ck_assert_msg(
            a || k->params[i].is_output, "line %d: no values for %s of %s", s->line, k->params[i].name, s->kernel);
        if (a) inputs[n_inputs++] = a->host;
    }
    for (int i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_output) continue;
        const struct array *a = sample_find(s, k->params[i].name, true);
        ck_assert_msg(a != NULL, "line %d: no values for %s of %s", s->line, k->params[i].name, s->kernel);
        compare_shape(s, k, &k->params[i], a);
        double *value = malloc(((size_t)a->n + 1) * sizeof *value);
        int64_t *integer = malloc(((size_t)a->n + 1) * sizeof *integer);
        for (int64_t e = 0; e < a->n; e++) value[e] = 12345.678, integer[e] = 12345;
        fx_status status = fx_evaluate(c, s->kernel, inputs, n_inputs, n_outputs++, NULL, a->n, value, integer,
            FX_BOUND_WORST, NULL, message, sizeof message);
        ck_assert_msg(status == FX_OK, "%s.values, line %d: %s: %s", name, s->line, s->kernel, message);
        compare_elements(name, s, a, value);
        if (fx_dtype_class_of(a->host.dtype) != FX_CLASS_F) compare_integers(name, s, a, integer);
        free(value);
        free(integer);
    }
    ck_assert_msg(n_inputs + n_outputs == s->n_arrays && n_outputs > 0,
        "line %d: %s has %d inputs and %d outputs, %d are given here", s->line, s->kernel, n_inputs, n_outputs,
        s->n_arrays);
}
