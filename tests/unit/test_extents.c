/* Equations between extents: compiled from text, solved by fx_bind_extents from every side, refused with both sides named. */
#include <check.h>
#include <string.h>

#include "fx.h"
#include "suite.h"

static const char spec[] =
    "kernel f[Q=2*R](x: f32[M, F=2*N+Q], w: f32[N], r: f32[R], z: f32[Q]) -> y: f32[M,F] {\n"
    "  require M % 16 == 0 && F >= 4\n"
    "  y = x\n"
    "}\n"
    "kernel g(x: f32[L], s: f32[G=L/8]) -> y: f32[L] { y = x * 1 }\n"
    "kernel h[H=L//3](x: f32[L], s: f32[T=L%4]) -> y: f32[H,T] { y = 1 }\n";

static fx_compilation *compile(const char *text, const char *define) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.defines = &define;
    options.n_defines = define != NULL;
    fx_status status = fx_compile(text, strlen(text), "spec.fx", &options, &c);
    ck_assert_msg(status == FX_OK, "%s", fx_messages(c));
    return c;
}

static int64_t extent_of(const struct fx_kernel *k, const int64_t *extents, const char *name) {
    for (int i = 0; i < k->n_extents; i++)
        if (strcmp(k->extents[i].name, name) == 0) return extents[i];
    ck_abort_msg("no extent %s", name);
    return -1;
}

/* Binds the first n inputs of kernel `name` to one-dimensional or given shapes; -1 as an extent leaves the parameter out. */
static fx_status bind(fx_compilation *c, const char *name, const int64_t (*shapes)[2], int n, int64_t *extents, char *message) {
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), name);
    struct fx_shape s[8];
    const struct fx_shape *p[8] = {0};
    for (int i = 0; i < n; i++) {
        if (shapes[i][0] < 0) continue;
        s[i] = (struct fx_shape){.dtype = FX_F32, .rank = shapes[i][1] >= 0 ? 2 : 1, .extents = {shapes[i][0], shapes[i][1]}};
        p[i] = &s[i];
    }
    return fx_bind_extents(k, p, extents, message, 256);
}

START_TEST(solves_from_every_side) {
    fx_compilation *c = compile(spec, NULL);
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), "f");
    int64_t e[16];
    char message[256];
    /* F, R known: N and Q follow. N, R known: F follows. */
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{32, 14}, {-1, -1}, {2, -1}, {-1, -1}}, 4, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "N"), 5);
    ck_assert_int_eq(extent_of(k, e, "Q"), 4);
    ck_assert_int_eq(bind(c, "f", (int64_t[][2]){{32, 14}, {5, -1}, {-1, -1}, {4, -1}}, 4, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "R"), 2);
    k = fx_find_kernel(fx_get_plan(c), "h");
    ck_assert_int_eq(bind(c, "h", (int64_t[][2]){{14, -1}, {2, -1}}, 2, e, message), FX_OK);
    ck_assert_int_eq(extent_of(k, e, "H"), 4);
    fx_close(c);
}
END_TEST

static const struct {
    const char *kernel;
    int64_t shapes[4][2];
    int n;
    const char *says; /* part of the message; NULL: accepted */
} cases[] = {
    {"f", {{32, 14}, {5, -1}, {2, -1}, {4, -1}}, 4, NULL},
    {"f", {{32, 14}, {5, -1}, {3, -1}, {4, -1}}, 4, "Q = 2 * R does not hold"},
    {"f", {{32, 13}, {-1, -1}, {2, -1}, {4, -1}}, 4, "no extent N satisfies F = 2 * N + Q"},
    {"f", {{32, 3}, {-1, -1}, {2, -1}, {4, -1}}, 4, "no extent N satisfies"}, /* it would be negative */
    {"f", {{30, 14}, {5, -1}, {2, -1}, {4, -1}}, 4, "`require M % 16 == 0 && F >= 4` does not hold"},
    {"g", {{16, -1}, {2, -1}}, 2, NULL},
    {"g", {{17, -1}, {2, -1}}, 2, "`L / 8` must divide exactly"},
    {"g", {{16, -1}, {3, -1}}, 2, "G = L / 8 does not hold"},
    {"h", {{14, -1}, {3, -1}}, 2, "T = L % 4 does not hold"},
};

START_TEST(refuses) {
    fx_compilation *c = compile(spec, NULL);
    int64_t e[16];
    char message[256] = "";
    fx_status status = bind(c, cases[_i].kernel, cases[_i].shapes, cases[_i].n, e, message);
    ck_assert_msg((status == FX_OK) == (cases[_i].says == NULL), "case %d: %s", _i, message);
    if (cases[_i].says) ck_assert_msg(strstr(message, cases[_i].says) != NULL, "case %d says: %s", _i, message);
    fx_close(c);
}
END_TEST

START_TEST(fixed_extents_fix_others) {
    static const char *const text = "kernel f(x: f32[F=2*N, M=T], w: f32[N], t: f32[T]) -> y: f32[F,M] { y = x }\n";
    fx_compilation *c = compile(text, "N=6");
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int64_t fixed[8];
    for (int i = 0; i < k->n_extents; i++) fixed[i] = k->extents[i].value;
    ck_assert_int_eq(extent_of(k, fixed, "F"), 12);
    ck_assert_int_eq(extent_of(k, fixed, "M"), -1);
    fx_close(c);
    c = compile(text, "F=8");
    k = &fx_get_plan(c)->kernels[0];
    for (int i = 0; i < k->n_extents; i++) fixed[i] = k->extents[i].value;
    ck_assert_int_eq(extent_of(k, fixed, "N"), 4);
    fx_close(c);
}
END_TEST

static const struct {
    const char *text, *code;
} rejects[] = {
    {"kernel f(x: f32[F=2*Z]) -> y: f32[F] { y = x }", "FX2001"},
    {"kernel f[P](x: f32[M]) -> y: f32[M] { y = x }", "FX2006"},
    {"kernel f[P=Q, Q=P](x: f32[M]) -> y: f32[M] { y = x }", "FX2006"},
    {"kernel f(x: f32[M], w: f32[F=M*1.5]) -> y: f32[M] { y = x }", "FX2007"},
    {"kernel f(x: f32[M], w: f32[F=relu(M)]) -> y: f32[M] { y = x }", "FX2007"},
    {"kernel f(x: f32[M=3], w: f32[F=2*M], v: f32[F=7]) -> y: f32[M] { y = x }", "FX2005"},
    {"kernel f(x: f32[M], s: f32) -> y: f32[M] { require s > 0\n y = x }", "FX4001"},
    {"kernel f(x: f32[M]) -> y: f32[M] { require 1 < 2\n y = x }", "FX2007"},
};

START_TEST(rejects_text) {
    fx_compilation *c;
    ck_assert_int_eq(fx_compile(rejects[_i].text, strlen(rejects[_i].text), "spec.fx", NULL, &c), FX_ERR_COMPILE);
    ck_assert_msg(strstr(fx_messages(c), rejects[_i].code) != NULL, "%s: %s", rejects[_i].text, fx_messages(c));
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("extents");
    TCase *t = tcase_create("equations");
    tcase_add_test(t, solves_from_every_side);
    tcase_add_loop_test(t, refuses, 0, sizeof cases / sizeof *cases);
    tcase_add_test(t, fixed_extents_fix_others);
    tcase_add_loop_test(t, rejects_text, 0, sizeof rejects / sizeof *rejects);
    suite_add_tcase(s, t);
    return run_suite(s);
}
