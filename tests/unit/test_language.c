/* Every spec of tests/language, evaluated by the oracle and compared with values worked out independently of the
 * compiler (tests/language/values.py, which states the format of a .values file). A spec without values, a kernel
 * without a case, an output or an element without a value and an input its dtype does not hold are failures.
 *
 * The tolerance. Both sides compute in double in some order: a sum of K terms errs by at most K * 2^-53 * sum |term|, a
 * function by a few 2^-53 of its result. Here K stays below 200, no more than six such steps follow each other, and the
 * data keep sums of magnitudes within 20 of the largest result of an output: 200 * 6 * 20 * 2^-53 = 3e-12. So a value
 * may be off by 1e-11 of the largest of its output; a wrong index, term or formula shows at once, as all data are of
 * order one. Integers, conditions, NaN and infinities must be equal. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "suite.h"
#include "values_check.h"

#define FOLDER "tests/language"

static struct values language;

/* ---- comparing ---- */

/* Kernel `kernel` of a spec, NULL: all of it, with the definitions of a sample, if there is one. */
static fx_compilation *compile(const struct values_spec *spec, const char *kernel, const struct sample *s) {
    struct fx_options options = FX_OPTIONS;
    const char *defines[VALUES_MAX_DEFINES];
    char file[80];
    fx_compilation *c;
    snprintf(file, sizeof file, "%s.fx", spec->name);
    options.oracle_only = true;
    if (s) {
        for (int i = 0; i < s->n_defines; i++) defines[i] = s->defines[i];
        options.kernel = kernel;
        options.defines = defines;
        options.n_defines = s->n_defines;
    }
    ck_assert_msg(spec->text != NULL, FOLDER "/%s.fx does not exist", spec->name);
    fx_status status = fx_compile(spec->text, strlen(spec->text), file, &options, &c);
    ck_assert_msg(status == FX_OK, "%s%s%s does not compile (status %d)\n%.2000s", file, kernel ? ": " : "",
        kernel ? kernel : "", status, fx_messages(c));
    return c;
}

START_TEST(kernel_has_these_values) {
    const struct sample *s = language.samples[_i];
    const struct values_spec *spec = &language.specs[s->spec];
    ck_assert_msg(!s->error[0], "%s.values, %s", spec->name, s->error);
    fx_compilation *c = compile(spec, s->kernel, s);
    values_check(c, spec->name, s);
    fx_close(c);
}
END_TEST

/* The whole file compiles, and each of its kernels has a case. */
START_TEST(spec_has_values) {
    const struct values_spec *spec = &language.specs[_i];
    ck_assert_msg(spec->n_samples > 0, FOLDER "/%s.values does not exist or has no case", spec->name);
    const struct sample *with = NULL; /* what a kernel of it needs to be told, no other minds */
    for (int j = 0; j < language.n_samples; j++)
        if (language.samples[j]->spec == _i && language.samples[j]->n_defines) with = language.samples[j];
    fx_compilation *c = compile(spec, NULL, with);
    const struct fx_plan *plan = fx_get_plan(c);
    ck_assert_int_gt(plan->n_kernels, 0);
    for (int i = 0; i < plan->n_kernels; i++) {
        bool has_case = false;
        for (int j = 0; j < language.n_samples; j++)
            has_case |= language.samples[j]->spec == _i && !strcmp(language.samples[j]->kernel, plan->kernels[i].name);
        ck_assert_msg(has_case, "%s.values has no case of %s", spec->name, plan->kernels[i].name);
    }
    fx_close(c);
}
END_TEST

/* The seventeen examples of the language are there, whatever else is. */
START_TEST(folder_is_there) {
    ck_assert(language.n_specs >= 17 && language.n_specs < VALUES_MAX_SPECS);
    for (int i = 0; i < 17; i++) ck_assert_int_eq(atoi(language.specs[i].name), i + 1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("language");
    TCase *t = tcase_create("values");
    values_read(&language, FOLDER);
    tcase_add_test(t, folder_is_there);
    tcase_add_loop_test(t, spec_has_values, 0, language.n_specs);
    tcase_add_loop_test(t, kernel_has_these_values, 0, language.n_samples);
    suite_add_tcase(s, t);
    return run_suite(s);
}
