/* The language's examples beside the same computations written out by hand: no prelude function, other labels, operands
 * commuted, statements in another order. A compiler that goes by structure makes the same kernels of both.
 *
 * In: tests/language/NN_NAME.fx, NN_NAME.values, tests/language/hand/NN_NAME.fx, which has the same kernels with the
 * same parameters in the same order. Compared of every kernel: how many GPU kernels it takes and by which drivers,
 * whatever their order; every output by the oracle, on the data of the .values file and on whole numbers of the same
 * shapes. `fuse: require` is compared as written and as `prefer`; what the compiler refuses is listed below, and a list
 * that no longer holds fails. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "pair.h"
#include "spec_gen.h"
#include "suite.h"
#include "values_file.h"

#define FOLDER "tests/language"

enum { N_EXAMPLES = 17 };

static struct values examples, hand;

/* What is refused as it is written, and why: to be taken out once it compiles. */
static const struct refusal {
    const char *kernel, *code;
} refused[] = {
    {"", ""}, /* none */
};

/* What each example takes as `fuse: prefer` at nominal extents, drivers in alphabetical order. A change that makes it
 * fewer changes its row; one that makes it more says why. conv_relu: planes of channels are copied, which tensor maps
 * then bring. top1: four million terms are cut in slices of k, which keep all multiprocessors busy, and added up. */
static const struct {
    const char *kernel, *drivers;
} taken[] = {
    {"linear_gelu", "gemm"},
    {"split_act", "gemm pointwise pointwise"},
    {"geglu", "gemm"},
    {"ln_linear_gelu", "gemm row"},
    {"lora", "gemm gemm"},
    {"mlp2", "gemm gemm pointwise+pointwise"},
    {"res_drop", "gemm pointwise"},
    {"softmax_rows", "row"},
    {"flash", "chain"},
    {"w4", "gemm pointwise"},
    {"bmm", "gemm pointwise+pointwise"},
    {"conv_relu", "gemm pointwise+pointwise"},
    {"mul_relu", "pointwise"},
    {"mul_relu_bwd", "pointwise"},
    {"row_sum", "row"},
    {"maxpool", "pointwise"},
    {"embed", "pointwise"},
    {"top1", "gemm row"},
    {"add_mul_act", "pointwise"},
    {"dlinear", "gemm pointwise row row row"},
};

static const char *code_of_refusal(const struct refusal *list, size_t n, const char *kernel) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].kernel, kernel) == 0) return list[i].code;
    return NULL;
}

/* ---- the same kernels ---- */

static char *relaxed(const char *text) {
    char *copy = strdup(text);
    for (char *at = copy; (at = strstr(at, "fuse: require"));) memcpy(at, "fuse: prefer ", 13);
    return copy;
}

static void check_taken(const char *kernel, const char *drivers) {
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i].kernel, kernel) == 0) {
            ck_assert_msg(strcmp(taken[i].drivers, drivers) == 0,
                "%s takes the kernels %s, its row in this file says %s", kernel, drivers, taken[i].drivers);
            return;
        }
    ck_abort_msg("%s takes the kernels %s and has no row in this file", kernel, drivers);
}

static void compare_kernels(
    const char *file, const char *kernel, const char *text, const char *hand_text, const char *code, bool is_relaxed) {
    char got[2][512];
    const char *const texts[2] = {text, hand_text};
    for (int side = 0; side < 2; side++) {
        fx_compilation *c = pair_compile(texts[side], file, kernel, false);
        pair_drivers(c, kernel, true, got[side], sizeof got[side]);
        ck_assert_msg(code || fx_get_plan(c), "%s: %s%s is refused, which the list of refusals does not say:\n%s", file,
            kernel, side ? " by hand" : "", fx_messages(c));
        ck_assert_msg(!code || !fx_get_plan(c), "%s: %s%s compiles: take it off the list of refusals", file, kernel,
            side ? " by hand" : "");
        fx_close(c);
    }
    ck_assert_msg(!code || strcmp(got[0], code) == 0, "%s: %s is refused with %s, by the list of refusals with %s",
        file, kernel, got[0], code);
    ck_assert_msg(strcmp(got[0], got[1]) == 0, "%s: %s takes the kernels %s, by hand %s", file, kernel, got[0], got[1]);
    if (is_relaxed) check_taken(kernel, got[0]);
}

/* A kernel of an example, its text and that by hand; the last case of it that needs no definition. */
struct pair {
    const char *text, *hand_text, *file;
    const struct sample *sample;
};

/* Cases of one kernel stand together: pair i is that of the first of them. */
static bool find_pair(int i, struct pair *p) {
    const struct sample *s = examples.samples[i];
    if (s->spec >= N_EXAMPLES || s->n_defines || s->error[0]) return false;
    for (int j = 0; j < i; j++)
        if (examples.samples[j]->spec == s->spec && !examples.samples[j]->n_defines &&
            !strcmp(examples.samples[j]->kernel, s->kernel))
            return false;
    *p = (struct pair){examples.specs[s->spec].text, hand.specs[s->spec].text, examples.specs[s->spec].name, s};
    ck_assert_msg(p->text && p->hand_text, "%s: a text is missing", p->file);
    return true;
}

START_TEST(same_kernels) {
    struct pair p;
    if (!find_pair(_i, &p)) return;
    const char *kernel = p.sample->kernel;
    char *text = relaxed(p.text), *hand_text = relaxed(p.hand_text);
    compare_kernels(
        p.file, kernel, p.text, p.hand_text, code_of_refusal(refused, sizeof refused / sizeof *refused, kernel), false);
    compare_kernels(p.file, kernel, text, hand_text, NULL, true);
    free(text), free(hand_text);
}
END_TEST

/* ---- the same values ---- */

static const struct fx_kernel *kernel_of(const fx_compilation *c, const char *name) {
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), name);
    ck_assert_msg(k != NULL, "there is no kernel %s", name);
    return k;
}

/* The inputs of k in order, as the case gives them; floats as small whole numbers where `random` is given, whose data
 * is drawn[input], else NULL. Returns how many. */
static int inputs_of(
    const struct fx_kernel *k, const struct sample *s, uint64_t *random, struct fx_host *inputs, void **drawn) {
    int n = 0;
    for (int p = 0; p < k->n_params; p++) {
        if (!k->params[p].is_input) continue;
        const struct array *a = sample_find(s, k->params[p].name, false);
        ck_assert_msg(a != NULL, "no values of %s", k->params[p].name);
        struct fx_host *in = &inputs[n];
        *in = a->host;
        drawn[n++] = NULL;
        if (!random || !fx_is_float(in->dtype) || k->params[p].is_scalar) continue;
        int64_t size = 1;
        for (int i = 0; i < in->rank; i++) size *= in->extents[i];
        void *data = calloc((size_t)size + 1, 8);
        for (int64_t i = 0; i < size; i++) fx_store_double(in->dtype, data, (size_t)i, random_below(random, 5) - 2);
        in->data = drawn[n - 1] = data;
    }
    return n;
}

static int64_t elements_of(const struct sample *s, const struct fx_param *p) {
    const struct array *a = sample_find(s, p->name, true);
    ck_assert_msg(a != NULL, "no values of %s", p->name);
    return a->n;
}

static void compare_values(const struct pair *p, uint64_t *random, int *n_exact) {
    fx_compilation *c[2] = {pair_compile(p->text, p->file, p->sample->kernel, true),
        pair_compile(p->hand_text, p->file, p->sample->kernel, true)};
    const struct fx_kernel *k = kernel_of(c[0], p->sample->kernel), *by_hand = kernel_of(c[1], p->sample->kernel);
    struct fx_host inputs[VALUES_MAX_ARRAYS];
    void *drawn[VALUES_MAX_ARRAYS];
    char message[256];
    int n_inputs = inputs_of(k, p->sample, random, inputs, drawn), n_outputs = 0;
    ck_assert_int_eq(k->n_params, by_hand->n_params);
    for (int i = 0; i < k->n_params; i++) {
        ck_assert_str_eq(k->params[i].name, by_hand->params[i].name);
        ck_assert_int_eq(k->params[i].dtype, by_hand->params[i].dtype);
        if (!k->params[i].is_output) continue;
        int64_t n = elements_of(p->sample, &k->params[i]);
        double *value[2], *bound[2];
        int64_t *integer[2];
        for (int side = 0; side < 2; side++) {
            value[side] = calloc((size_t)n + 1, 8), bound[side] = calloc((size_t)n + 1, 8),
            integer[side] = calloc((size_t)n + 1, 8);
            fx_status status = fx_evaluate(c[side], k->name, inputs, n_inputs, n_outputs, NULL, n, value[side],
                integer[side], FX_BOUND_WORST, bound[side], message, sizeof message);
            ck_assert_msg(status == FX_OK, "%s%s: %s", p->file, side ? " by hand" : "", message);
        }
        pair_compare(p->file, &k->params[i], n, value, integer, bound, n_exact, &(int){0});
        for (int side = 0; side < 2; side++) free(value[side]), free(bound[side]), free(integer[side]);
        n_outputs++;
    }
    ck_assert_int_gt(n_outputs, 0);
    for (int i = 0; i < n_inputs; i++) free(drawn[i]);
    fx_close(c[0]), fx_close(c[1]);
}

/* On every case of the file, and on whole numbers, of which what only adds and multiplies is exact. */
START_TEST(same_values) {
    static const char *const sums_alone[] = {"lora", "w4", "bmm", "conv_relu", "mul_relu", "mul_relu_bwd", "row_sum",
        "maxpool", "embed", "top1", "add_mul_act"};
    struct pair p;
    uint64_t random = 0x5DEECE66Du + (uint64_t)_i;
    int n_exact = 0;
    if (!find_pair(_i, &p)) return;
    for (int i = 0; i < examples.n_samples; i++) {
        const struct sample *s = examples.samples[i];
        if (s->spec != p.sample->spec || s->n_defines || strcmp(s->kernel, p.sample->kernel) != 0) continue;
        struct pair one = p;
        one.sample = s;
        compare_values(&one, NULL, &(int){0});
        compare_values(&one, &random, &n_exact);
    }
    for (size_t i = 0; i < sizeof sums_alone / sizeof *sums_alone; i++)
        ck_assert_msg(strcmp(sums_alone[i], p.sample->kernel) != 0 || n_exact > 0,
            "%s: nothing was exact on whole numbers", p.sample->kernel);
}
END_TEST

/* Both folders have the seventeen, and every kernel of them was compared. */
START_TEST(pairs_are_complete) {
    struct pair p;
    int n = 0;
    ck_assert_int_eq(hand.n_specs, N_EXAMPLES);
    for (int i = 0; i < N_EXAMPLES; i++) {
        bool is_met = false;
        ck_assert_str_eq(examples.specs[i].name, hand.specs[i].name);
        for (int j = 0; j < examples.n_samples; j++)
            if (find_pair(j, &p) && p.sample->spec == i) is_met = true, n++;
        ck_assert_msg(is_met, "%s: no case was compared", hand.specs[i].name);
    }
    ck_assert_int_eq(n, N_EXAMPLES + 3); /* 13, 14 and 15 have two kernels each */
}
END_TEST

int main(void) {
    Suite *s = suite_create("pairs");
    TCase *t = tcase_create("by hand");
    values_read(&examples, FOLDER);
    values_read(&hand, FOLDER "/hand");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, pairs_are_complete);
    tcase_add_loop_test(t, same_kernels, 0, examples.n_samples);
    tcase_add_loop_test(t, same_values, 0, examples.n_samples);
    suite_add_tcase(s, t);
    return run_suite(s);
}
