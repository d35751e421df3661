/* Terms left out of a kernel: which there are, what stands for them, and that the kernel without one is the one that a
 * person would write, by its values. Every term of every example and of every spec of the language: what is left
 * compiles, another kernel. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "pair.h"
#include "spec_gen.h"
#include "suite.h"

/* ---- what is left, beside what a person would write ---- */

#define LN "kernel f(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] {\n"
#define LORA "kernel f(x: f32[M,K], W: f32[K,N], b: f32[N], A: f32[K,R], B: f32[R,N], s: f32) -> y: f32[M,N] {\n"
#define GATE "kernel f(x: f32[M,K], w: f32[K,F=2*N], m: f32[M,N]) -> y: f32[M,N] {\n"
#define OUTS "kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], t: f32[M], i: i64[M]) {\n"
#define MLP "kernel f(x: f32[M,K], w: f32[K,H], v: f32[H,N]) -> y: f32[M,N] {\n"

static const struct spec_text {
    const char *text, *extents; /* of R, which is small; or NULL */
    int n_terms;
} specs[] = {
    {LN " y = gelu(layernorm[K](x) @ w + b) }", NULL, 5},
    {LORA " y = relu(x @ W + b + s * (x @ A @ B)) }", "R=2", 6},
    {GATE " l, r = halves[F->N](x @ w)\n y = sigmoid(l) * tanh(r) + m }", NULL, 3},
    {OUTS " h = x @ w\n y = 2 * h\n t = sum[N](h)\n i = argmax[N](h) }", NULL, 3},
    {MLP " y = softmax[H](relu(x @ w)) @ v }", NULL, 4},
    {LN " m = mean[K](x)\n y = ((x - m) @ w) * rsqrt(mean[K]((x - mean[K](x)) * (x - m))) + b }", NULL, 9},
    {LN " y = x @ w + sum[K](x * b) }", NULL, 3},
};

static const struct case_of {
    int spec, number;
    const char *place, *what, *instead, *left; /* left: as a person would write it */
} cases[] = {
    {0, 1, "statistics", "sum of x", "1",
        LN " d = x - 1.0 / size(K)\n y = gelu((d * rsqrt(sum[K](d * d) / size(K) + 1e-5)) @ w + b) }"},
    {0, 2, "statistics", "sum of d * d", "1",
        LN " y = gelu(((x - mean[K](x)) * rsqrt(1.0 / size(K) + 1e-5)) @ w + b) }"},
    {0, 3, "prologue", "layernorm[K](x)", "x", LN " y = gelu(x @ w + b) }"},
    {0, 4, "epilogue", "layernorm[K](x) @ w + b", "layernorm[K](x) @ w", LN " y = gelu(layernorm[K](x) @ w) }"},
    {0, 5, "epilogue", "gelu(layernorm[K](x) @ w + b)", "layernorm[K](x) @ w + b", LN " y = layernorm[K](x) @ w + b }"},
    {1, 1, "epilogue", "x @ W + b", "x @ W", LORA " y = relu(x @ W + s * (x @ A @ B)) }"},
    {1, 2, "contraction", "x @ A", "1", LORA " y = relu(x @ W + b + s * sum[R](B)) }"},
    {1, 3, "contraction", "(x @ A @ B)", "1", LORA " y = relu(x @ W + b + s) }"},
    {1, 4, "beside", "s * (x @ A @ B)", "x @ A @ B", LORA " y = relu(x @ W + b + x @ A @ B) }"},
    {1, 5, "epilogue", "x @ W + b + s * (x @ A @ B)", "x @ W + b", LORA " y = relu(x @ W + b) }"},
    {1, 6, "epilogue", "relu(x @ W + b + s * (x @ A @ B))", "x @ W + b + s * x @ A @ B",
        LORA " y = x @ W + b + s * (x @ A @ B) }"},
    {2, 1, "epilogue", "sigmoid(l)", "l", GATE " l, r = halves[F->N](x @ w)\n y = l * tanh(r) + m }"},
    {2, 2, "epilogue", "tanh(r)", "r", GATE " l, r = halves[F->N](x @ w)\n y = sigmoid(l) * r + m }"},
    {2, 3, "epilogue", "sigmoid(l) * tanh(r) + m", "sigmoid(l) * tanh(r)",
        GATE " l, r = halves[F->N](x @ w)\n y = sigmoid(l) * tanh(r) }"},
    {3, 1, "epilogue", "2 * h", "h", OUTS " h = x @ w\n y = h\n t = sum[N](h)\n i = argmax[N](h) }"},
    {3, 2, "statistics", "sum of h", "1", OUTS " h = x @ w\n y = 2 * h\n t = 1.0\n i = argmax[N](h) }"},
    {3, 3, "statistics", "argmax of h", "0", OUTS " h = x @ w\n y = 2 * h\n t = sum[N](h)\n i = 0 }"},
    {4, 1, "between", "relu(x @ w)", "x @ w", MLP " y = softmax[H](x @ w) @ v }"},
    {4, 2, "statistics", "max of relu(x @ w)", "1", MLP " e = exp(relu(x @ w) - 1)\n y = (e / sum[H](e)) @ v }"},
    {4, 3, "statistics", "sum of exp(v - row_shift[K](v))", "1", MLP " h = relu(x @ w)\n y = exp(h - max[H](h)) @ v }"},
    {4, 4, "between", "softmax[H](relu(x @ w))", "relu(x @ w)", MLP " y = relu(x @ w) @ v }"},
    /* a sum over what one factor alone has is no contraction */
    {6, 2, "statistics", "sum of x * b", "1", LN " y = x @ w + 1 }"},
    /* a mean that is written twice is one statistic */
    {5, 1, "statistics", "sum of x", "1",
        LN " m = 1.0 / size(K)\n y = ((x - m) @ w) * rsqrt(mean[K]((x - m) * (x - m))) + b }"},
};

static const struct fx_ablation *terms_of(const fx_compilation *c, const struct spec_text *s, int *n) {
    const char *extents[] = {s->extents};
    const struct fx_ablation *list = fx_ablations(c, "f", extents, s->extents != NULL, n);
    ck_assert_msg(list != NULL, "no list");
    return list;
}

/* The spec without term `number`, compiled whole or for the oracle alone. */
static fx_compilation *without(const struct spec_text *s, int number, bool oracle_only) {
    const char *extents[] = {s->extents};
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.kernel = "f";
    options.oracle_only = oracle_only;
    options.ablate = number;
    options.ablate_extents = extents;
    options.n_ablate_extents = s->extents != NULL;
    fx_status status = fx_compile(s->text, strlen(s->text), "spec.fx", &options, &c);
    ck_assert_msg(status == FX_OK, "%s: term %d: %s", s->text, number, fx_messages(c));
    return c;
}

/* Both on the same small whole numbers and fractions; labels bound by name, F twice N. */
static void compare_values(fx_compilation *const c[2], const char *what) {
    static const struct {
        char label;
        int64_t extent;
    } sizes[] = {{'M', 5}, {'K', 7}, {'N', 4}, {'H', 6}, {'R', 2}, {'F', 8}};
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c[0]), "f");
    struct fx_host inputs[FX_MAX_PARAMS];
    uint64_t random = 12345;
    int n_inputs = 0, n_outputs = 0, n_finite = 0;
    for (int p = 0; p < k->n_params; p++) {
        struct fx_host h = {.dtype = k->params[p].dtype, .rank = k->params[p].is_scalar ? 0 : k->params[p].rank};
        int64_t n = 1;
        for (int i = 0; i < h.rank; i++)
            for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
                if (*k->extents[k->params[p].extents[i]].name == sizes[j].label) h.extents[i] = sizes[j].extent;
        for (int i = 0; i < h.rank; i++) n *= h.extents[i];
        if (k->params[p].is_input) {
            float *data = calloc((size_t)n, sizeof *data);
            for (int64_t i = 0; i < n; i++) data[i] = (float)((double)random_below(&random, 33) / 8 - 2);
            h.data = data;
            inputs[n_inputs++] = h;
            continue;
        }
        double *value[2], *bound[2];
        int64_t *integer[2];
        for (int side = 0; side < 2; side++) {
            char message[256] = "";
            value[side] = calloc((size_t)n, 8), bound[side] = calloc((size_t)n, 8),
            integer[side] = calloc((size_t)n, 8);
            fx_status status = fx_evaluate(c[side], "f", inputs, n_inputs, n_outputs, NULL, n, value[side],
                integer[side], FX_BOUND_WORST, bound[side], message, sizeof message);
            ck_assert_msg(status == FX_OK, "%s: %s", what, message);
        }
        pair_compare(what, &k->params[p], n, value, integer, bound, &(int){0}, &n_finite);
        for (int side = 0; side < 2; side++) free(value[side]), free(bound[side]), free(integer[side]);
        n_outputs++;
    }
    for (int i = 0; i < n_inputs; i++) free((void *)inputs[i].data);
    ck_assert_msg(n_finite > 0, "%s: nothing was compared", what);
}

START_TEST(what_is_left) {
    const struct case_of *x = &cases[_i];
    const struct spec_text *s = &specs[x->spec];
    int n;
    fx_compilation *whole = pair_compile(s->text, "spec.fx", "f", true);
    const struct fx_ablation *list = terms_of(whole, s, &n);
    ck_assert_msg(x->number <= n, "%s has %d terms", s->text, n);
    const struct fx_ablation *t = &list[x->number - 1];
    ck_assert_msg(!strcmp(t->place, x->place) && !strcmp(t->text, x->what) && !strcmp(t->instead, x->instead),
        "term %d of %s: %s %s, instead %s", x->number, s->text, t->place, t->text, t->instead);
    fx_compilation *c[2] = {without(s, x->number, true), pair_compile(x->left, "left.fx", "f", true)};
    compare_values(c, x->left);
    fx_close(c[0]), fx_close(c[1]), fx_close(whole);
}
END_TEST

/* A term left out is another kernel: were it not so, what_is_left would compare a spec with itself. */
START_TEST(how_many_terms) {
    const struct spec_text *s = &specs[_i];
    int n;
    fx_compilation *whole = pair_compile(s->text, "spec.fx", "f", true);
    const struct fx_ablation *list = terms_of(whole, s, &n);
    for (int i = 0; i < n && n != s->n_terms; i++)
        fprintf(stderr, "%d: line %d, %s: %s; instead %s\n", i + 1, list[i].line, list[i].place, list[i].text,
            list[i].instead);
    ck_assert_msg(n == s->n_terms, "%s has %d terms", s->text, n);
    for (int i = 0; i < n; i++) {
        fx_compilation *c = without(s, i + 1, false);
        ck_assert_msg(strcmp(fx_text(c, FX_TEXT_FX), fx_text(whole, FX_TEXT_FX)) != 0,
            "%s: term %d makes no difference", s->text, i + 1);
        fx_close(c);
    }
    fx_close(whole);
}
END_TEST

START_TEST(no_such_term) {
    const char *text = specs[0].text;
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    options.kernel = "f";
    for (int i = 0; i < 3; i++) {
        options.ablate = i == 0 ? 6 : i == 1 ? -1 : 1;
        if (i == 2) options.kernel = NULL;
        ck_assert_int_eq(fx_compile(text, strlen(text), "spec.fx", &options, &c), FX_ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(fx_messages(c), "there is no term"));
        fx_close(c);
    }
}
END_TEST

/* R decides what the spine is: a detour of low rank is a term, one as wide as the rest belongs to it. */
START_TEST(the_spine_goes_by_extents) {
    static const char *const small[] = {"M=512", "K=512", "N=512", "R=8"}, *const wide[] = {
                                                                               "M=512", "K=512", "N=512", "R=512"};
    int n_small, n_wide;
    fx_compilation *c = pair_compile(specs[1].text, "spec.fx", "f", true);
    ck_assert_ptr_nonnull(fx_ablations(c, "f", small, 4, &n_small));
    ck_assert_ptr_nonnull(fx_ablations(c, "f", wide, 4, &n_wide));
    ck_assert_int_eq(n_small, 6);
    ck_assert_int_eq(n_wide, 3); /* + b, s *, relu: the sum joins two of the spine */
    fx_close(c);
}
END_TEST

/* ---- every term there is ---- */

static const char *const patterns[] = {"examples/*.fx", "examples/*/*.fx", "tests/language/*.fx"};

static int leave_out_all(const char *text, const char *path, const char *kernel, const char *whole) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    int n;
    options.kernel = kernel;
    options.oracle_only = true;
    ck_assert_int_eq(fx_compile(text, strlen(text), path, &options, &c), FX_OK);
    ck_assert_ptr_nonnull(fx_ablations(c, kernel, NULL, 0, &n));
    fx_close(c);
    options.oracle_only = false;
    for (int i = 1; i <= n; i++) {
        options.ablate = i;
        fx_status status = fx_compile(text, strlen(text), path, &options, &c);
        /* fewer kernels would do, but what is left need not be one where one is asked for */
        ck_assert_msg(status == FX_OK || (status == FX_ERR_COMPILE && strstr(fx_messages(c), "FX3001")),
            "%s: %s without term %d: status %d\n%s", path, kernel, i, status, fx_messages(c));
        ck_assert_msg(status != FX_OK || strcmp(fx_text(c, FX_TEXT_FX), whole) != 0,
            "%s: term %d of %s makes no difference", path, i, kernel);
        fx_close(c);
    }
    return n;
}

START_TEST(all_terms_of_all_specs) {
    glob_t found;
    int n_terms = 0;
    ck_assert_int_eq(glob(patterns[_i], 0, NULL, &found), 0);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        static char text[1 << 20];
        FILE *file = fopen(found.gl_pathv[f], "rb");
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        struct fx_options options = FX_OPTIONS;
        fx_compilation *all, *c;
        options.oracle_only = true;
        if (fx_compile(text, strlen(text), found.gl_pathv[f], &options, &all) == FX_OK) {
            for (int k = 0; k < fx_get_plan(all)->n_kernels; k++) {
                options = (struct fx_options)FX_OPTIONS;
                options.kernel = fx_get_plan(all)->kernels[k].name;
                if (fx_compile(text, strlen(text), found.gl_pathv[f], &options, &c) == FX_OK)
                    n_terms += leave_out_all(text, found.gl_pathv[f], options.kernel, fx_text(c, FX_TEXT_FX));
                fx_close(c);
            }
        }
        fx_close(all);
    }
    ck_assert_int_gt(n_terms, 2);
    globfree(&found);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ablate");
    TCase *t = tcase_create("ablate");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, what_is_left, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(t, how_many_terms, 0, (int)(sizeof specs / sizeof *specs));
    tcase_add_test(t, no_such_term);
    tcase_add_test(t, the_spine_goes_by_extents);
    tcase_add_loop_test(t, all_terms_of_all_specs, 0, (int)(sizeof patterns / sizeof *patterns));
    suite_add_tcase(s, t);
    return run_suite(s);
}
