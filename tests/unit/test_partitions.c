/* Partitions that the extents of a launch choose between: which there are, where each is taken, that all of them
 * compute the same, and that nothing is chosen where extents are compiled in. */
#include <math.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"
#include "symbolic/plan_expr.h"

enum { MOST_EXTENTS = 24, MOST_PARAMS = 4 };

struct place { /* where a partition is taken */
    int64_t extents[MOST_EXTENTS]; /* by label */
    const char *drivers;           /* of its launches */
};
static const struct subject {
    const char *text;
    struct place places[2];
    int64_t small[MOST_EXTENTS]; /* extents that the emulator takes */
} subjects[] = {
    /* few rows read weights once, many have them converted first */
    {"kernel f(x: f16[M,K], w: i8[N,K], s: f32[N]) -> y: f16[M,N] { y = (x @ w) * s }",
        {{{1, 4096, 4096}, "gemm"}, {{4096, 4096, 4096}, "pointwise gemm"}}, {3, 40, 24}},
    /* a narrow middle stays on the chip */
    {"kernel f(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N]) -> y: bf16[M,N] { y = relu(x @ w) @ v }",
        {{{4096, 64, 16, 1024}, "chain"}, {{4096, 1024, 4096, 1024}, "gemm gemm"}}, {20, 24, 16, 40}},
    /* few long columns are cut in parts */
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> (y: f32[N], s: f32[M]) { h = x @ w\n y = max[M](h)\n s = sum[N](h) }",
        {{{4096, 16, 4096}, "gemm row row"}, {{4096, 1024, 4096}, "pointwise, pointwise gemm row row"}}, {9, 12, 20}},
    /* rows of lengths that are no whole 16 bytes are repacked: of one product, of batches, of two with a common factor */
    {"kernel f(x: bf16[M,K], w: bf16[N,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }",
        {{{2017, 3193, 263}, "pointwise pointwise gemm"}, {{4096, 4096, 4096}, "gemm"}}, {20, 77, 37}},
    {"kernel f(x: f16[B,M,K], w: f16[B,K,N]) -> y: f16[B,M,N] { y = x @ w }",
        {{{16, 1000, 1003, 1001}, "pointwise pointwise gemm"}, {{16, 1000, 1000, 1000}, "gemm"}}, {3, 20, 43, 24}},
    {"kernel f(x: bf16[K,M], w: bf16[N,K], v: bf16[N,K]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }",
        {{{4095, 4095, 4096}, "pointwise pointwise pointwise gemm"}, {{4096, 4096, 4096}, "gemm"}}, {35, 20, 24}},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

static fx_compilation *compile(const char *text, const char *const *defines, int n_defines) {
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    o.arch = "sm_90a", o.defines = defines, o.n_defines = n_defines;
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &o, &c) == FX_OK, "%s", fx_messages(c));
    return c;
}

/* All extents of k: those given, and what follows. */
static void solve(const struct fx_kernel *k, const int64_t *given, int64_t *extents) {
    char message[200];
    for (int e = 0; e < k->n_extents; e++) extents[e] = given[e] ? given[e] : k->extents[e].value;
    ck_assert_msg(fx_solve_extents(k, extents, message, sizeof message) == FX_OK, "%s", message);
}

static const char *drivers_of(const struct fx_kernel *k, const struct fx_partition *p) {
    static char text[256];
    *text = '\0';
    for (int i = p->first_launch; i < p->first_launch + p->n_launches; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "", k->launches[i].driver);
    return text;
}

/* Which partition is taken at a place: another one at each. */
START_TEST(where_which) {
    const struct subject *s = &subjects[_i];
    fx_compilation *c = compile(s->text, NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int taken[2];
    ck_assert_int_ge(k->n_partitions, 2);
    for (int i = 0; i < 2; i++) {
        int64_t extents[MOST_EXTENTS];
        solve(k, s->places[i].extents, extents);
        struct fx_env env = {.extents = extents, .sm_count = 132};
        const struct fx_partition p = fx_get_partition(k, taken[i] = fx_choose_partition(k, &env));
        ck_assert_str_eq(drivers_of(k, &p), s->places[i].drivers);
    }
    ck_assert_int_ne(taken[0], taken[1]);
    fx_close(c);
}
END_TEST

/* Launches, buffers and numbers of entries are each of one partition; every condition is over extents, and the receipt
 * states it. */
START_TEST(one_after_another) {
    fx_compilation *c = compile(subjects[_i].text, NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int n_launches = 0, n_buffers = 0;
    for (int i = 0; i < k->n_partitions; i++) {
        const struct fx_partition *p = &k->partitions[i];
        ck_assert(p->first_launch == n_launches && p->first_buffer == n_buffers && p->n_launches > 0);
        n_launches += p->n_launches, n_buffers += p->n_buffers;
        ck_assert(i + 1 < k->n_partitions ? p->takes.n > 0 : p->takes.n == 0);
        for (int t = 0; t < p->takes.n; t++)
            ck_assert(p->takes.terms[t].op != FX_T_ALIGN && p->takes.terms[t].op != FX_T_STRIDE);
        for (int l = p->first_launch; l < n_launches; l++)
            for (int a = 0; a < k->launches[l].n_args; a++) {
                const struct fx_arg *arg = &k->launches[l].args[a];
                ck_assert(arg->kind != FX_ARG_BUFFER || (arg->index >= p->first_buffer && arg->index < n_buffers));
            }
    }
    ck_assert(n_launches == k->n_launches && n_buffers == k->n_buffers);
    ck_assert_ptr_nonnull(strstr(k->receipt, "  where "));
    ck_assert_ptr_nonnull(strstr(k->receipt, "; elsewhere `"));
    ck_assert_ptr_nonnull(strstr(fx_text(c, FX_TEXT_PLAN), ", taken where "));
    ck_assert_ptr_nonnull(strstr(fx_text(c, FX_TEXT_CU), "//   elsewhere:"));
    fx_close(c);
}
END_TEST

/* No partition asks what one ahead of it asks: it would never be taken. Slices of k that go on to rows in two ways. */
START_TEST(each_can_be_taken) {
    fx_compilation *c =
        compile("kernel f(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { precision: ieee } {\n"
                "  y = sum[N](x @ w + b)\n}", NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    int n_sliced = 0;
    for (int i = 0; i < k->n_partitions; i++) {
        const struct fx_expr *a = &k->partitions[i].takes;
        for (int t = 0; t < a->n; t++)
            if (a->terms[t].op == FX_T_EXTENT && k->extents[a->terms[t].v].is_made) {
                n_sliced++;
                break;
            }
        for (int j = 0; j < i; j++) {
            ck_assert(!expr_equal(a, &k->partitions[j].takes));
        }
    }
    ck_assert_int_gt(n_sliced, 0);
    fx_close(c);
}
END_TEST

/* Extents that are compiled in leave one, that which they would choose. */
START_TEST(compiled_in) {
    const struct subject *s = &subjects[_i];
    fx_compilation *free_ones = compile(s->text, NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(free_ones)->kernels[0];
    for (int i = 0; i < 2; i++) {
        char texts[MOST_EXTENTS][32];
        const char *defines[MOST_EXTENTS];
        int n = 0;
        for (; s->places[i].extents[n]; n++) {
            snprintf(texts[n], sizeof texts[n], "%s=%lld", k->extents[n].name, (long long)s->places[i].extents[n]);
            defines[n] = texts[n];
        }
        fx_compilation *c = compile(s->text, defines, n);
        ck_assert_int_eq(fx_get_plan(c)->kernels[0].n_partitions, 0);
        fx_close(c);
    }
    fx_close(free_ones);
}
END_TEST

/* A contract that asks for one kernel has one in every partition; one that asks for separate ones has no choice. */
START_TEST(contracts_hold) {
    static const char *const texts[] = {
        "kernel f(x: f16[M,K], w: i8[N,K], s: f32[N]) -> y: f16[M,N] with { fuse: require } { y = (x @ w) * s }",
        "kernel f(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N]) -> y: bf16[M,N] with { kernels: 2 } { y = relu(x @ w) @ v }",
        "kernel f(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N]) -> y: bf16[M,N] with { fuse: never } { y = relu(x @ w) @ v }"};
    static const int n_launches[] = {1, 2, 3};
    fx_compilation *c = compile(texts[_i], NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    for (int i = 0; i < fx_partition_count(k); i++)
        ck_assert_int_eq(fx_get_partition(k, i).n_launches, n_launches[_i]);
    ck_assert(_i < 2 || fx_partition_count(k) == 1);
    fx_close(c);
}
END_TEST

/* Launches at fixed extents of products of 16 bits with rows of odd length: few tiles are cut in slices, those of more
 * products have their factors repacked. */
static const struct odd_product {
    const char *defines[3];
    int n_launches;
} odd_products[] = {{{"M=84", "N=86", "K=4269"}, 2}, {{"M=300", "N=300", "K=2001"}, 2},
    {{"M=700", "N=700", "K=701"}, 3}, {{"M=200", "N=3000", "K=901"}, 3}};

START_TEST(odd_rows_compiled_in) {
    fx_compilation *c =
        compile("kernel f(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }", odd_products[_i].defines, 3);
    ck_assert_int_eq(fx_get_plan(c)->kernels[0].n_launches, odd_products[_i].n_launches);
    fx_close(c);
}
END_TEST

/* ---- values ---- */

struct argument {
    DLTensor tensor;
    struct fx_value value;
    int64_t shape[FX_MAX_RANK], n;
    size_t n_bytes;
    unsigned char data[1 << 14];
};

static void open_argument(fx_context *ctx, const struct fx_param *p, const int64_t *extents, struct argument *a) {
    uint64_t seed = 88172645463325252u + (uint64_t)p->line + (uint64_t)strlen(p->name) + (unsigned char)*p->name;
    a->n = 1;
    for (int i = 0; i < p->rank; i++) a->n *= a->shape[i] = extents[p->extents[i]];
    a->n_bytes = (size_t)(a->n * fx_dtype_bits(p->dtype) / 8);
    ck_assert(a->n_bytes <= sizeof a->data);
    for (int64_t i = 0; i < a->n; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        int64_t v = (int64_t)(seed % 5) - 2;
        if (fx_is_float(p->dtype)) fx_store_double(p->dtype, a->data, (size_t)i, (double)v);
        else fx_store_integer(p->dtype, a->data, (size_t)i, v);
    }
    a->tensor = (DLTensor){.device = {.device_type = 2},
        .ndim = p->rank,
        .dtype = {p->dtype == FX_BF16 ? 4 : fx_is_float(p->dtype) ? 2 : 0, (uint8_t)fx_dtype_bits(p->dtype), 1},
        .shape = a->shape};
    a->value.tensor = &a->tensor;
    ck_assert_int_eq(fx_device_alloc(ctx, a->n_bytes, &a->tensor.data), FX_OK);
}

/* What partition `number` computes, compared with the oracle, element by element. */
static void check_partition(fx_context *ctx, const fx_compilation *c, fx_prepared *p, int number,
    struct argument *args) {
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    struct fx_value values[MOST_PARAMS];
    struct fx_host inputs[MOST_PARAMS];
    void *workspace = NULL;
    size_t n_bytes;
    int n_inputs = 0, output = 0;
    for (int i = 0; i < k->n_params; i++) {
        values[i] = args[i].value;
        if (k->params[i].is_output) memset(args[i].data, 0xFF, args[i].n_bytes);
        ck_assert_int_eq(fx_device_write(ctx, args[i].tensor.data, args[i].data, args[i].n_bytes), FX_OK);
        if (!k->params[i].is_input) continue;
        struct fx_host *h = &inputs[n_inputs++];
        *h = (struct fx_host){.dtype = k->params[i].dtype, .rank = k->params[i].rank, .data = args[i].data};
        memcpy(h->extents, args[i].shape, sizeof h->extents);
    }
    ck_assert_msg(fx_pin_partition(p, number) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(fx_workspace_bytes(p, values, k->n_params, &n_bytes), FX_OK);
    if (n_bytes) ck_assert_int_eq(fx_device_alloc(ctx, n_bytes, &workspace), FX_OK);
    ck_assert_msg(fx_launch(p, values, k->n_params, workspace, n_bytes, NULL) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(fx_stream_wait(ctx, NULL), FX_OK);
    for (int i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_output) continue;
        ck_assert_int_eq(fx_device_read(ctx, args[i].data, args[i].tensor.data, args[i].n_bytes), FX_OK);
        for (int64_t e = 0; e < args[i].n; e++) {
            double want, bound, got = fx_load_double(k->params[i].dtype, args[i].data, (size_t)e);
            int64_t integer;
            char message[200];
            ck_assert_int_eq(fx_evaluate(c, k->name, inputs, n_inputs, output, &e, 1, &want, &integer,
                                 FX_BOUND_INDEPENDENT, &bound, message, sizeof message), FX_OK);
            ck_assert_msg(fx_is_right(k->params[i].dtype, got, want, bound), "partition %d: %s[%lld] is %g, not %g",
                number, k->params[i].name, (long long)e, got, want);
        }
        output++;
    }
    if (workspace) fx_device_free(ctx, workspace);
}

START_TEST(every_one_is_right) {
    const struct subject *s = &subjects[_i];
    static struct argument args[MOST_PARAMS];
    struct fx_hint hints[MOST_EXTENTS];
    int64_t extents[MOST_EXTENTS];
    fx_context *ctx;
    fx_prepared *p;
    if (fx_emulate(&(struct fx_emulation){.sm_count = 4, .n_schedules = 1}) != FX_OK) SKIP_TEST("%s", fx_last_error());
    fx_compilation *c = compile(s->text, NULL, 0);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    ck_assert_int_eq(fx_context_open(0, &ctx), FX_OK);
    ck_assert(k->n_params <= MOST_PARAMS);
    solve(k, s->small, extents);
    for (int e = 0; e < k->n_extents; e++) hints[e] = (struct fx_hint){k->extents[e].name, extents[e]};
    ck_assert_msg(
        fx_prepare(ctx, fx_get_plan(c), NULL, hints, k->n_extents, &p) == FX_OK, "%s", fx_last_error());
    for (int i = 0; i < k->n_params; i++) open_argument(ctx, &k->params[i], extents, &args[i]);
    for (int i = 0; i < k->n_partitions; i++) check_partition(ctx, c, p, i, args);
    for (int i = 0; i < k->n_params; i++) fx_device_free(ctx, args[i].tensor.data);
    fx_prepared_release(p);
    fx_context_close(ctx);
    fx_close(c);
}
END_TEST

int main(void) {
    Suite *s = suite_create("partitions");
    TCase *t = tcase_create("plans"), *v = tcase_create("values");
    tcase_add_loop_test(t, where_which, 0, N_SUBJECTS);
    tcase_add_loop_test(t, one_after_another, 0, N_SUBJECTS);
    tcase_add_test(t, each_can_be_taken);
    tcase_add_loop_test(t, compiled_in, 0, N_SUBJECTS);
    tcase_add_loop_test(t, contracts_hold, 0, 3);
    tcase_add_loop_test(t, odd_rows_compiled_in, 0, sizeof odd_products / sizeof *odd_products);
    tcase_set_timeout(v, 240);
    tcase_add_loop_test(v, every_one_is_right, 0, N_SUBJECTS);
    suite_add_tcase(s, t);
    suite_add_tcase(s, v);
    return run_suite(s);
}
