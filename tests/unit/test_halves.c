/* f32 stored as two f16: which products are, and that data made against it comes out as f32 does: elements of a block
 * of k far apart, zeros among them, subnormal numbers, infinities, NaN, and numbers near either end of the range. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"

static fx_compilation *compile_without(const char *text, const char *with, const char *skip) {
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    o.arch = "sm_90a", o.with = with, o.skip = skip;
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &o, &c) == FX_OK, "%s", fx_messages(c));
    return c;
}

static fx_compilation *compile(const char *text, const char *with) { return compile_without(text, with, "split_k"); }

/* ---- which products are ---- */

#define WITH "fuse.split,fuse.halves"

static const struct choice {
    const char *text, *with;
    const char *taken; /* drivers that the text calls, of `halves` and `split` */
} choices[] = {
    {"kernel f(x: f32[M=4096,K=4096], w: f32[K,N=4096]) -> y: f32[M,N] { y = x @ w }", NULL, "halves"},
    {"kernel f(x: f32[M=4096,K=4096], w: f32[K,N=4096]) -> y: f32[M,N] { y = x @ w }", "fuse.halves", "halves"},
    {"kernel f(x: f32[M=64,K=64], w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }", "fuse.halves", ""},
    {"kernel f(x: f32[M=64,K=64], w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }", WITH, "halves"},
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }", WITH, "halves"},
    {"kernel f(x: f32[B,M,K], w: f32[B,N,K]) -> y: f32[B,M,N] { y = x @[K] w }", NULL, "halves"},
    {"kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = exp(x) @ w }", WITH, ""},
    {"kernel f(x: f32[M=64,K=64], w: f32[K,N=64]) -> y: f32[M,N] with { precision: fma } { y = x @ w }", WITH, ""},
    {"kernel f(x: f32[K=64,M=64], w: const f32[N=64,K]) -> y: f32[M,N] { y = x @[K] w }", WITH, "halves"},
    {"kernel f(x: f32[B=4,M=64,K=64], w: f32[B,K,N=64]) -> y: f32[B,M,N] { y = x @[K] w }", WITH, "halves"},
    {"kernel f(x: f32[B=4,M=64,K=64], w: f32[K,N=64]) -> y: f32[B,M,N] { y = x @ w }", WITH, "halves"},
    /* labels of batches among those of a matrix; k in two; strides that the launch gives; a factor that is turned, one
     * that is computed, one that is cast */
    {"kernel f(x: f32[M=64,B=4,K=64], w: f32[B,K,N=64]) -> y: f32[B,M,N] { y = x @[K] w }", WITH, "split"},
    {"kernel f(x: f32[M=64,K=8,L=8], w: f32[K,L,N=64]) -> y: f32[M,N] { y = x @[K,L] w }", WITH, "split"},
    {"kernel f(x: f32[M=64,K=64] strided, w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }", WITH, "split"},
    {"kernel f(x: f32[M=64,K=64], w: f32[K,N=65]) -> y: f32[M,N] { y = x @ w }", WITH, "halves"},
    {"kernel f(x: f32[M=64,K=64], w: f32[K,N=64]) -> y: f32[M,N] { y = exp(x) @ w }", WITH, "split"},
    {"kernel f(x: f16[M=64,K=64], w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }", WITH, "split"},
};
enum { N_CHOICES = sizeof choices / sizeof *choices };

START_TEST(which_are) {
    const struct choice *x = &choices[_i];
    fx_compilation *c = compile(x->text, x->with);
    const char *source = fx_get_plan(c)->source;
    const bool is_halved = strstr(source, "fx_gemm_halves<fx_"), is_split = strstr(source, "fx_gemm_split<fx_");
    ck_assert_msg(is_halved == !strcmp(x->taken, "halves") && is_split == !strcmp(x->taken, "split"),
        "%s with %s: halves %d, split %d, not %s", x->text, x->with ? x->with : "nothing", is_halved, is_split,
        x->taken);
    fx_close(c);
}
END_TEST

START_TEST(none_is_where_the_rule_is_skipped) {
    fx_compilation *c = compile_without(choices[0].text, NULL, "fuse.halves");
    const char *source = fx_get_plan(c)->source;
    ck_assert(!strstr(source, "fx_gemm_halves<fx_") && strstr(source, "fx_gemm_split<fx_"));
    fx_close(c);
}
END_TEST

/* ---- what comes of them ---- */

enum { M = 72, K = 200, N = 136, TENSORS = 3 };

static const struct layout {
    const char *text;
    bool x_turned, w_turned; /* stored as [K,M], as [N,K] */
} layouts[] = {
    {"kernel f(x: f32[M=72,K=200], w: f32[K,N=136]) -> y: f32[M,N] { y = x @[K] w }", false, false},
    {"kernel f(x: f32[K=200,M=72], w: f32[N=136,K]) -> y: f32[M,N] { y = x @[K] w }", true, true},
};

static unsigned long long state = 1;
static double uniform(void) { /* from -1 to 1 */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}
static int below(int n) { return (int)((uniform() + 1) / 2 * n); }

/* An element of row (column) mn. */
typedef float fill(int mn, int k);
static float even(int mn, int k) { return (void)mn, (void)k, (float)uniform(); }
static float wide(int mn, int k) { return (void)mn, (void)k, (float)ldexp(uniform(), -below(100)); }
static float sparse(int mn, int k) { return (void)mn, (void)k, below(10) ? 0.0f : (float)uniform(); }
static float nothing(int mn, int k) { return (void)mn, (void)k, 0.0f; }
static float rising(int mn, int k) { return (void)mn, (float)ldexp(uniform(), k % 64 - 32); }
static float falling(int mn, int k) { return (void)mn, (float)ldexp(uniform(), 32 - k % 64); }
static float one_large(int mn, int k) { return (float)(uniform() * (k == mn * 2 ? 1e20 : 1)); }
static float but_there(int mn, int k) { return (void)mn, k % 2 ? (float)uniform() : 0.0f; }
static float subnormal(int mn, int k) { return (void)mn, (void)k, (float)(uniform() * 1e-40); }
static float some_subnormal(int mn, int k) { return (void)mn, (float)(uniform() * (k % 3 ? 1 : 1e-40)); }
static float large(int mn, int k) { return (void)mn, (void)k, (float)(uniform() * 3.4e38); }
static float rows_apart(int mn, int k) { return (void)k, (float)ldexp(uniform(), mn * 2 - 130); }
static float rows_against(int mn, int k) { return (void)k, (float)ldexp(uniform(), 100 - mn); }
/* rows whose powers of two are one within 2^6, and not; one that is next to too small */
static float near(int mn, int k) { return (void)k, (float)ldexp(uniform(), mn % 7); }
static float less_near(int mn, int k) { return (void)k, (float)ldexp(uniform(), mn % 12); }
static float low(int mn, int k) { return (void)mn, (void)k, (float)ldexp(uniform(), -58); }
static float lower(int mn, int k) { return (void)mn, (void)k, (float)ldexp(uniform(), -62); }
static float small(int mn, int k) { return (void)mn, (void)k, (float)(uniform() * 1e-10); }
static float infinite(int mn, int k) { return k == mn * 2 ? INFINITY : (float)uniform(); }
static float negative_infinite(int mn, int k) { return k == mn ? -INFINITY : (float)below(3); }
static float not_a_number(int mn, int k) { return mn == 65 && k == 130 ? NAN : (float)uniform(); }

static float twelve_bits(int mn, int k) { return (void)mn, (void)k, (float)(below(8191) - 4095); }
static float one_term(int mn, int k) { return k == mn * 2 ? twelve_bits(mn, k) : 0.0f; }
static float one_long_term(int mn, int k) { return k == mn ? (float)(below(1 << 24) - (1 << 23) + 1) : 0.0f; }
static float sign(int mn, int k) { return (void)mn, (void)k, (float)(below(3) - 1); }

static float long_integer(int mn, int k) { return (void)mn, (void)k, (float)(below(1 << 25) - (1 << 24) + 1); }
static float one_hot(int mn, int k) { return k == mn * 2 % K ? 1.0f : 0.0f; }

static const struct data {
    fill *x, *w;
} pairs[] = {
    /* sums that are exact: of one term, or of integers of few bits */
    {one_term, twelve_bits}, {twelve_bits, one_term}, {one_long_term, sign}, {sign, one_long_term}, {one_hot, even},
    {even, one_hot}, {one_hot, long_integer}, {long_integer, one_hot},
    {even, even}, {wide, even}, {even, wide}, {wide, wide}, {wide, sparse}, {sparse, wide}, {nothing, wide},
    {wide, nothing}, {rising, falling}, {falling, rising}, {rising, rising}, {one_large, but_there},
    {but_there, one_large}, {subnormal, large}, {large, subnormal}, {some_subnormal, sparse}, {small, large},
    {rows_apart, rows_against}, {rows_against, rows_apart}, {near, near}, {less_near, near}, {near, less_near},
    {low, low}, {low, lower}, {lower, lower}, {infinite, even}, {infinite, sparse},
    {even, infinite}, {negative_infinite, infinite},
    {not_a_number, even}, {wide, not_a_number},
};
enum { N_EXACT = 8, N_PAIRS = sizeof pairs / sizeof *pairs, N_LAYOUTS = sizeof layouts / sizeof *layouts };

struct world {
    fx_context *ctx;
    fx_prepared *p;
    DLTensor tensors[TENSORS];
    int64_t shapes[TENSORS][2];
    struct fx_value args[TENSORS];
    void *workspace;
    size_t workspace_bytes;
};

static void open_tensor(struct world *w, int i, int64_t rows, int64_t cols) {
    w->shapes[i][0] = rows, w->shapes[i][1] = cols;
    w->tensors[i] = (DLTensor){.device = {.device_type = 2}, .ndim = 2, .dtype = {2, 32, 1}, .shape = w->shapes[i]};
    ck_assert_int_eq(fx_device_alloc(w->ctx, (size_t)(rows * cols) * sizeof(float), &w->tensors[i].data), FX_OK);
    w->args[i].tensor = &w->tensors[i];
}

/* false: there is no emulator here. */
static bool open_world(struct world *w, const struct layout *l) {
    if (fx_emulate(&(struct fx_emulation){.sm_count = 4, .n_schedules = 1, .is_watched = true}) != FX_OK) return false;
    fx_compilation *c = compile(l->text, WITH);
    ck_assert_int_eq(fx_context_open(0, &w->ctx), FX_OK);
    ck_assert_msg(fx_prepare(w->ctx, fx_get_plan(c), NULL, NULL, 0, &w->p) == FX_OK, "%s", fx_last_error());
    fx_close(c);
    open_tensor(w, 0, l->x_turned ? K : M, l->x_turned ? M : K);
    open_tensor(w, 1, l->w_turned ? N : K, l->w_turned ? K : N);
    open_tensor(w, 2, M, N);
    ck_assert_int_eq(fx_workspace_bytes(w->p, w->args, TENSORS, &w->workspace_bytes), FX_OK);
    ck_assert_int_eq(fx_device_alloc(w->ctx, w->workspace_bytes, &w->workspace), FX_OK);
    return true;
}

static void close_world(struct world *w) {
    for (int i = 0; i < TENSORS; i++) fx_device_free(w->ctx, w->tensors[i].data);
    fx_device_free(w->ctx, w->workspace);
    fx_prepared_release(w->p);
    fx_context_close(w->ctx);
}

/* Of a sum of K products in any order with f32 accumulators, with products to 2^-22: what each rounding may come to,
 * and what lies below the least subnormal number. */
static double bound_of(double magnitude) { return magnitude * (K + 8) * 0x1p-24 + K * 0x1p-149; }

static void compare(const float *x, const float *w, const float *y, int pair) {
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double exact = 0, magnitude = 0;
            float in_order = 0;
            for (int k = 0; k < K; k++) {
                const double product = (double)x[m * K + k] * w[k * N + n];
                exact += product, magnitude += fabs(product);
                in_order = fmaf(x[m * K + k], w[k * N + n], in_order);
            }
            const float got = y[m * N + n];
            if (pair < N_EXACT)
                ck_assert_msg(got == exact, "pair %d: y[%d,%d] is %.9g, not %.17g", pair, m, n, got, exact);
            const bool is_right = isfinite(in_order) ? fabs(got - exact) <= bound_of(magnitude)
                                  : isnan(in_order)  ? isnan(got)
                                                     : got == in_order;
            ck_assert_msg(is_right, "pair %d: y[%d,%d] is %.9g, in order %.9g, exactly %.17g, of %.3g", pair, m, n, got,
                in_order, exact, magnitude);
        }
}

START_TEST(as_f32_is) {
    static float x[M * K], w[K * N], y[M * N], stored[K * N];
    const struct layout *l = &layouts[_i];
    struct world world = {0};
    if (!open_world(&world, l)) SKIP_TEST("%s", fx_last_error());
    for (int i = 0; i < N_PAIRS; i++) {
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++) x[m * K + k] = pairs[i].x(m, k);
        for (int n = 0; n < N; n++)
            for (int k = 0; k < K; k++) w[k * N + n] = pairs[i].w(n, k);
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++) stored[l->x_turned ? k * M + m : m * K + k] = x[m * K + k];
        ck_assert_int_eq(fx_device_write(world.ctx, world.tensors[0].data, stored, sizeof x), FX_OK);
        for (int n = 0; n < N; n++)
            for (int k = 0; k < K; k++) stored[l->w_turned ? n * K + k : k * N + n] = w[k * N + n];
        ck_assert_int_eq(fx_device_write(world.ctx, world.tensors[1].data, stored, sizeof w), FX_OK);
        memset(y, 0x7b, sizeof y);
        ck_assert_int_eq(fx_device_write(world.ctx, world.tensors[2].data, y, sizeof y), FX_OK);
        ck_assert_msg(
            fx_launch(world.p, world.args, TENSORS, world.workspace, world.workspace_bytes, NULL) == FX_OK, "%s",
            fx_last_error());
        ck_assert_int_eq(fx_stream_wait(world.ctx, NULL), FX_OK);
        ck_assert_int_eq(fx_device_read(world.ctx, y, world.tensors[2].data, sizeof y), FX_OK);
        compare(x, w, y, i);
    }
    close_world(&world);
}
END_TEST

int main(void) {
    Suite *s = suite_create("halves");
    TCase *t = tcase_create("halves");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, which_are, 0, N_CHOICES);
    tcase_add_test(t, none_is_where_the_rule_is_skipped);
    tcase_add_loop_test(t, as_f32_is, 0, N_LAYOUTS);
    suite_add_tcase(s, t);
    return run_suite(s);
}
