/* Constants: which kernels of a plan are computed once, what the API refuses, and that launches which read what was
 * computed ahead give the bits of those that compute it themselves. */
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"
#include "suite.h"

/* ---- which launches are once ---- */

static const struct plan_of {
    const char *text;
    const char *once; /* drivers of the launches that are done once, */
    const char *each; /* and of those that are done each time */
} plans[] = {
    /* the column sums of a folded norm, apart from the phases that one kernel is asked for */
    {"kernel f(x: f16[M,K], w: const f16[K,N]) -> y: f16[M,N] with { fuse: require } "
     "{ y = (x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) }", "row", "row, gemm"},
    {"kernel f(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } "
     "{ y = (x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) }", "", "row, row, gemm"},
    /* an output is written each time, whatever it depends on */
    {"kernel f(w: const f32[K,N]) -> s: f32[N] { s = sum[K](w) }", "", "row"},
    /* what depends on a scalar, or on another tensor, is no constant */
    {"kernel f(x: f32[M,N], w: const f32[K,N], a: f32) -> y: f32[M,N] { y = x * sum[K](w * a) }", "", "row pointwise"},
    {"kernel f(x: f32[M,N], w: const f32[K,N], v: f32[K]) -> y: f32[M,N] { y = x * sum[K](w * v) }", "", "gemm pointwise"},
    {"kernel f(x: f32[M,N], w: const f32[K,N], v: const f32[K]) -> y: f32[M,N] { y = x * sum[K](w * v) }", "gemm",
        "pointwise"},
    /* nor what an extent decides that a later launch may change; one that is compiled in is known */
    {"kernel f(x: f32[M,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * sum[K](w * f32(size(M))) }", "", "row pointwise"},
    {"kernel f(x: f32[M=64,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * sum[K](w * f32(size(M))) }", "row",
        "pointwise"},
    /* one constant of another, a row in parts */
    {"kernel f(x: f32[M,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * (sum[K](w) - sum[N](sum[K](w))) }", "row row row",
        "pointwise"},
    /* a reduction of `const` tensors shares no row program with one of others */
    {"kernel f(x: f32[M,N], w: const f32[K,N], v: f32[K,N]) -> y: f32[M,N] { y = x * sum[K](w) + sum[K](v) }", "row",
        "row pointwise"},
    /* weights repacked, converted, in parts, turned: where that saves what it costs nothing to do */
    {"kernel f(x: bf16[M=4096,K=4096], w: const bf16[K,N=4093]) -> y: bf16[M,N] { y = x @ w }", "pointwise", "gemm"},
    {"kernel f(x: bf16[M=4096,K=4097], w: const bf16[N=4093,K]) -> y: bf16[M,N] { y = x @ w }", "pointwise",
        "pointwise gemm"},
    {"kernel f(x: bf16[M=4096,K=4096], w: const i8[N=4096,K], s: const bf16[N]) -> y: bf16[M,N] { y = x @ (w * s) }",
        "pointwise", "gemm"},
    {"kernel f(x: bf16[M=1,K=4096], w: const i8[N=4096,K]) -> y: bf16[M,N] { y = x @ w }", "", "gemm"},
    {"kernel f(x: f32[M=4096,K=4096], w: const f32[K,N=4096]) -> y: f32[M,N] { y = x @ w }", "pointwise",
        "pointwise gemm"},
    {"kernel f(x: f32[M=4096,K=4096], w: const f32[K,N=4096]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }",
        "pointwise", "gemm"},
};
enum { N_PLANS = sizeof plans / sizeof *plans };

static fx_compilation *compile(const char *text) {
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c;
    o.arch = "sm_90a";
    ck_assert_msg(fx_compile(text, strlen(text), "spec.fx", &o, &c) == FX_OK, "%s", fx_messages(c));
    return c;
}

START_TEST(which_are_once) {
    fx_compilation *c = compile(plans[_i].text);
    const struct fx_kernel *k = &fx_get_plan(c)->kernels[0];
    const struct fx_partition p = fx_get_partition(k, fx_partition_count(k) - 1);
    char found[2][256] = {"", ""};
    bool is_each = false;
    for (int i = p.first_launch; i < p.first_launch + p.n_launches; i++) {
        const struct fx_launch *l = &k->launches[i];
        char *to = found[!l->is_once];
        ck_assert_msg(!(is_each && l->is_once), "%s is once behind one that is not", l->name);
        is_each |= !l->is_once;
        snprintf(to + strlen(to), sizeof *found - strlen(to), "%s%s", *to ? " " : "", l->driver);
        /* what is done once reads and writes nothing but `const` tensors and constants; the others write none of them */
        for (int a = 0; a < l->n_args; a++) {
            const struct fx_arg *arg = &l->args[a];
            if (arg->kind == FX_ARG_PARAM && l->is_once) ck_assert(k->params[arg->index].is_const);
            if (arg->kind == FX_ARG_BUFFER && l->is_once) ck_assert_int_eq(k->buffers[arg->index].kind, FX_BUFFER_CONST);
        }
    }
    ck_assert_str_eq(found[0], plans[_i].once);
    ck_assert_str_eq(found[1], plans[_i].each);
    fx_close(c);
}
END_TEST

/* ---- running them ---- */

enum { M = 9, K = 40, N = 24, TENSORS = 3 };
static const char spec[] =
    "kernel f(x: f32[M,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * (sum[K](w) + sum[N](sum[K](w))) }";

struct world {
    fx_context *ctx;
    fx_prepared *p;
    DLTensor tensors[TENSORS];
    int64_t shapes[TENSORS][2];
    struct fx_value args[TENSORS];
    size_t const_bytes;
    unsigned char *kept; /* twice as long as needed */
    void *workspace;
    size_t workspace_bytes;
};

static void open_tensor(struct world *w, int i, int64_t rows, int64_t cols, float from) {
    float data[K * N];
    w->shapes[i][0] = rows, w->shapes[i][1] = cols;
    for (int64_t e = 0; e < rows * cols; e++) data[e] = from + (float)(e % 7);
    w->tensors[i] = (DLTensor){.device = {.device_type = 2}, .ndim = 2, .dtype = {2, 32, 1}, .shape = w->shapes[i]};
    ck_assert_int_eq(fx_device_alloc(w->ctx, (size_t)(rows * cols) * 4, &w->tensors[i].data), FX_OK);
    ck_assert_int_eq(fx_device_write(w->ctx, w->tensors[i].data, data, (size_t)(rows * cols) * 4), FX_OK);
    w->args[i].tensor = &w->tensors[i];
}

/* false: there is no emulator here. */
static bool open_world(struct world *w) {
    if (fx_emulate(&(struct fx_emulation){.sm_count = 4, .n_schedules = 1, .is_watched = true}) != FX_OK) return false;
    fx_compilation *c = compile(spec);
    void *kept;
    ck_assert_int_eq(fx_context_open(0, &w->ctx), FX_OK);
    ck_assert_msg(fx_prepare(w->ctx, fx_get_plan(c), NULL, NULL, 0, &w->p) == FX_OK, "%s", fx_last_error());
    fx_close(c);
    open_tensor(w, 0, M, N, -3);
    open_tensor(w, 1, K, N, 1);
    open_tensor(w, 2, M, N, 0);
    ck_assert_msg(fx_const_bytes(w->p, w->args, TENSORS, &w->const_bytes) == FX_OK, "%s", fx_last_error());
    ck_assert_uint_gt(w->const_bytes, 0);
    ck_assert_int_eq(fx_device_alloc(w->ctx, 2 * w->const_bytes + 256, &kept), FX_OK);
    w->kept = kept;
    ck_assert_int_eq(fx_workspace_bytes(w->p, w->args, TENSORS, &w->workspace_bytes), FX_OK);
    ck_assert_int_eq(fx_device_alloc(w->ctx, w->workspace_bytes, &w->workspace), FX_OK);
    return true;
}

static fx_constants *prepare(struct world *w) {
    fx_constants *c;
    ck_assert_msg(fx_const_prepare(w->p, w->args, TENSORS, w->kept, w->const_bytes, NULL, &c) == FX_OK, "%s",
        fx_last_error());
    return c;
}

static void read_output(const struct world *w, float *out) {
    ck_assert_int_eq(fx_stream_wait(w->ctx, NULL), FX_OK);
    ck_assert_int_eq(
        fx_device_read(w->ctx, out, w->tensors[2].data, (size_t)(w->shapes[2][0] * w->shapes[2][1]) * 4), FX_OK);
}

/* The launch with constants, in as much workspace as it asks for. */
static fx_status launch(const struct world *w, const fx_constants *c) {
    size_t n;
    ck_assert_msg(fx_const_workspace_bytes(c, w->args, TENSORS, &n) == FX_OK, "%s", fx_last_error());
    return fx_const_launch(c, w->args, TENSORS, w->workspace, n, NULL);
}

START_TEST(the_same_bits) {
    static struct world w;
    float plain[M * N], kept[M * N];
    size_t n;
    if (!open_world(&w)) SKIP_TEST("%s", fx_last_error());
    ck_assert_msg(fx_launch(w.p, w.args, TENSORS, w.workspace, w.workspace_bytes, NULL) == FX_OK, "%s", fx_last_error());
    read_output(&w, plain);
    fx_constants *c = prepare(&w);
    for (int again = 0; again < 2; again++) {
        ck_assert_msg(launch(&w, c) == FX_OK, "%s", fx_last_error());
        read_output(&w, kept);
        ck_assert_mem_eq(plain, kept, sizeof plain);
    }
    /* they need no workspace, and take rows of another number */
    ck_assert(fx_const_workspace_bytes(c, w.args, TENSORS, &n) == FX_OK && n == 0);
    ck_assert_uint_gt(w.workspace_bytes, 0);
    w.shapes[0][0] = w.shapes[2][0] = M - 4;
    ck_assert_msg(launch(&w, c) == FX_OK, "%s", fx_last_error());
    ck_assert_msg(fx_launch(w.p, w.args, TENSORS, w.workspace, w.workspace_bytes, NULL) == FX_OK, "%s", fx_last_error());
    fx_constants_release(c);
}
END_TEST

/* What was promised not to change is read once: what it holds later has no part in a launch. */
START_TEST(computed_once) {
    static struct world w;
    float before[M * N], after[M * N], zero[K * N] = {0};
    if (!open_world(&w)) SKIP_TEST("%s", fx_last_error());
    fx_constants *c = prepare(&w);
    ck_assert_int_eq(launch(&w, c), FX_OK);
    read_output(&w, before);
    ck_assert_int_eq(fx_device_write(w.ctx, w.tensors[1].data, zero, sizeof zero), FX_OK);
    ck_assert_int_eq(launch(&w, c), FX_OK);
    read_output(&w, after);
    ck_assert_mem_eq(before, after, sizeof before);
    fx_constants_release(c);
}
END_TEST

#define REFUSED(call, words)                                                                            \
    do {                                                                                                \
        ck_assert_int_eq(call, FX_ERR_USAGE);                                                           \
        ck_assert_msg(strstr(fx_last_error(), words) != NULL, "not %s: %s", words, fx_last_error());    \
    } while (0)

START_TEST(what_is_refused) {
    static struct world w;
    fx_constants *c, *none;
    size_t n;
    if (!open_world(&w)) SKIP_TEST("%s", fx_last_error());
    c = prepare(&w);
    /* another pointer, another shape */
    void *own = w.tensors[1].data, *other;
    ck_assert_int_eq(fx_device_alloc(w.ctx, (K + 1) * N * 4, &other), FX_OK);
    w.tensors[1].data = other;
    REFUSED(launch(&w, c), "w is `const` and lies at ");
    w.tensors[1].data = own, w.shapes[1][0] = K - 1;
    REFUSED(launch(&w, c), "axis K of w, which is `const`, is 39, but was 40");
    w.shapes[1][0] = K;
    ck_assert_int_eq(launch(&w, c), FX_OK);
    /* an output among the constants */
    void *y = w.tensors[2].data;
    w.tensors[2].data = w.kept;
    REFUSED(launch(&w, c), "y shares memory with its constants");
    w.tensors[2].data = y;
    /* memory: too small, none, not aligned, that of the tensor */
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS, w.kept, w.const_bytes - 1, NULL, &none), "bytes for its constants, but ");
    ck_assert_ptr_null(none);
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS, NULL, w.const_bytes, NULL, &none), "but 0 are given");
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS, w.kept + 16, w.const_bytes, NULL, &none), "not aligned to 256 bytes");
    if ((uintptr_t)own % 256 == 0)
        REFUSED(fx_const_prepare(w.p, w.args, TENSORS, own, w.const_bytes, NULL, &none), "is shared with w");
    /* contents of what is `const` have to be there, those of others need not */
    w.tensors[1].data = NULL;
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS, w.kept, w.const_bytes, NULL, &none), "its address is NULL");
    ck_assert_int_eq(fx_const_bytes(w.p, w.args, TENSORS, &n), FX_OK);
    w.tensors[1].data = own, w.tensors[0].data = NULL, w.args[2].tensor = NULL;
    ck_assert_msg(fx_const_prepare(w.p, w.args, TENSORS, w.kept, w.const_bytes, NULL, &none) == FX_OK, "%s", fx_last_error());
    fx_constants_release(none);
    w.args[2].tensor = &w.tensors[2];
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS - 1, w.kept, w.const_bytes, NULL, &none), "takes 3 arguments");
    fx_constants_release(c);
}
END_TEST

START_TEST(what_is_null) {
    static struct world w;
    fx_constants *c;
    size_t n;
    if (!open_world(&w)) SKIP_TEST("%s", fx_last_error());
    REFUSED(fx_const_bytes(NULL, w.args, TENSORS, &n), "what was prepared is NULL");
    REFUSED(fx_const_bytes(w.p, w.args, TENSORS, NULL), "NULL");
    REFUSED(fx_const_prepare(NULL, w.args, TENSORS, w.kept, 1, NULL, &c), "what was prepared is NULL");
    REFUSED(fx_const_prepare(w.p, w.args, TENSORS, w.kept, w.const_bytes, NULL, NULL), "NULL");
    REFUSED(fx_const_launch(NULL, w.args, TENSORS, NULL, 0, NULL), "the handle of constants is NULL");
    REFUSED(fx_const_workspace_bytes(NULL, w.args, TENSORS, &n), "NULL");
    REFUSED(fx_const_prepare(w.p, NULL, TENSORS, w.kept, w.const_bytes, NULL, &c), "3 arguments");
    fx_constants_release(NULL);
}
END_TEST

int main(void) {
    Suite *s = suite_create("constants");
    TCase *t = tcase_create("plans"), *r = tcase_create("runs");
    tcase_add_loop_test(t, which_are_once, 0, N_PLANS);
    tcase_set_timeout(r, 120);
    tcase_add_test(r, the_same_bits);
    tcase_add_test(r, computed_once);
    tcase_add_test(r, what_is_refused);
    tcase_add_test(r, what_is_null);
    suite_add_tcase(s, t);
    suite_add_tcase(s, r);
    return run_suite(s);
}
