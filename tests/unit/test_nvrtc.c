/* Compiles everything fx emits for the examples and the cuda goldens with NVRTC, for an Ampere and a Hopper target: no
 * error, no warning, no register spilled (ptxas says so in the log), in any configuration. Needs no GPU. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"

static char *read_all(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *text = malloc(1 << 20);
    *len = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static void compile_for(const char *path, const char *arch) {
    size_t len, n_bytes = 0;
    char *text = read_all(path, &len), *log = NULL;
    void *image = NULL;
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.arch = arch;
    ck_assert_int_eq(fx_compile(text, len, path, &options, &c), FX_OK);
    fx_status status = fx_nvrtc(fx_get_plan(c)->source, path, arch, false, &image, &n_bytes, &log);
    ck_assert_msg(status == FX_OK, "%s for %s: %s", path, arch, fx_last_error());
    ck_assert_msg(log == NULL || !*log, "%s for %s: the compiler says:\n%s", path, arch, log);
    ck_assert_uint_gt(n_bytes, 1000);
    free(image);
    free(log);
    free(text);
    fx_close(c);
}

static const char *const patterns[] = {"examples/*.fx", "tests/golden/cuda/*.fx"};
static const char *const arches[] = {"sm_80", "sm_90a"};

START_TEST(compiles_clean) {
    glob_t found;
    ck_assert_int_eq(glob(patterns[_i / 2], 0, NULL, &found), 0);
    ck_assert_uint_gt(found.gl_pathc, 1);
    for (size_t i = 0; i < found.gl_pathc; i++) compile_for(found.gl_pathv[i], arches[_i % 2]);
    globfree(&found);
}
END_TEST

int main(void) {
    Suite *s = suite_create("nvrtc");
    TCase *t = tcase_create("emitted");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, compiles_clean, 0, 4);
    suite_add_tcase(s, t);
    return run_suite(s);
}
