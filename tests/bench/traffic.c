/* Launches kernels on tensors far larger than L2, once each, for tests/bench/traffic.sh to count their bytes. Output:
 * for every launch a line of its entry, grid, predicted bytes read and written, registers, shared memory, blocks an SM,
 * predicted microseconds, and what it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"

static const struct {
    const char *what, *text;
    const char *extents[3];
} cases[] = {
    {"pointwise", "kernel p(x: f32[M,N], w: f32[M,N], b: f32[N]) -> y: f32[M,N] { y = relu(x * w + b) }",
        {"M=16384", "N=8192"}},
    {"halves", "kernel h(x: bf16[M,F=2*N]) -> y: bf16[M,N] { l, r = halves[F->N](x); y = l * r }",
        {"M=32768", "N=8192"}},
    {"softmax", "kernel s(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }", {"B=32768", "T=8192"}},
    {"layernorm", "kernel l(x: bf16[B,T], g: bf16[T]) -> z: bf16[B,T] { z = layernorm[T](x) * g }",
        {"B=32768", "T=8192"}},
    {"row sum", "kernel r(x: f32[B,T]) -> z: f32[B] { z = sum[T](x) }", {"B=65536", "T=8192"}},
    {"column sum", "kernel c(x: f32[B,T]) -> z: f32[T] { z = sum[B](x) }", {"B=65536", "T=8192"}},
    {"few rows", "kernel f(x: f32[B,T]) -> z: f32[B] { z = sum[T](x) }", {"B=4", "T=134217728"}},
    {"matmul gelu, few columns",
        "kernel g(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
        {"M=262144", "K=1024", "N=512"}},
    {"matmul gelu, square", "kernel q(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
        {"M=16384", "K=8192", "N=16384"}},
    {"matmul relu f32", "kernel i(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = relu(x @ w) }",
        {"M=524288", "K=256", "N=256"}},
};

static bool failed(const char *what, const char *why) {
    fprintf(stderr, "traffic: %s: %s\n", what, why);
    return false;
}

struct call {
    DLTensor tensors[8];
    int64_t shapes[8][FX_MAX_RANK];
    struct fx_value values[8];
};

static bool make_call(fx_context *context, const struct fx_kernel *k, struct call *c) {
    *c = (struct call){0};
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        size_t n = (size_t)fx_dtype_bits(p->dtype) / 8;
        for (int a = 0; a < p->rank; a++) n *= (size_t)(c->shapes[i][a] = k->extents[p->extents[a]].value);
        c->tensors[i] = (DLTensor){.device = {2, 0},
            .ndim = p->rank,
            .dtype = {p->dtype == FX_BF16 ? 4 : 2, (uint8_t)fx_dtype_bits(p->dtype), 1},
            .shape = c->shapes[i]};
        c->values[i].tensor = &c->tensors[i];
        if (fx_device_alloc(context, n, &c->tensors[i].data) != FX_OK ||
            fx_device_fill(context, c->tensors[i].data, 0, n, NULL) != FX_OK)
            return false;
    }
    return true;
}

/* Without spills the predicted choice is the one launched. */
static bool print_launch(
    const fx_prepared *p, const struct fx_kernel *k, int i, const struct call *c, const char *what) {
    const struct fx_launch *l = &k->launches[i];
    int64_t extents[FX_MAX_EXTENTS], grid, shared, bytes, written;
    struct fx_env env = {.extents = extents, .sm_count = 132};
    struct fx_resources r;
    for (int e = 0; e < k->n_extents; e++) extents[e] = k->extents[e].value;
    int v = fx_choose_variant(l, &env);
    const char *launched = fx_chosen_entry(p, i, c->values, k->n_params);
    if (v < 0 || !launched || strcmp(launched, l->variants[v].entry) != 0)
        return failed(what, "another entry is launched");
    if (fx_variant_resources(p, i, v, &r) != FX_OK || !fx_expr_eval(&l->variants[v].grid, &env, &grid) ||
        !fx_expr_eval(&l->variants[v].smem, &env, &shared) || !fx_expr_eval(&l->bytes, &env, &bytes) ||
        !fx_expr_eval(&l->written, &env, &written))
        return failed(what, "no figures");
    printf("%s %lld %lld %lld %d %lld %s\n", launched, (long long)grid, (long long)(bytes - written),
        (long long)written, r.registers, (long long)shared + r.shared_bytes, what);
    return true;
}

static bool run_case(fx_context *context, int number) {
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c = NULL;
    fx_prepared *p = NULL;
    struct call call;
    size_t n = 0;
    void *workspace = NULL;
    const char *what = cases[number].what;
    o.defines = cases[number].extents;
    while (o.n_defines < 3 && cases[number].extents[o.n_defines]) o.n_defines++;
    if (fx_compile(cases[number].text, strlen(cases[number].text), what, &o, &c) != FX_OK)
        return failed(what, c ? fx_messages(c) : "not compiled");
    const struct fx_kernel *k = fx_get_plan(c)->kernels;
    bool ok = make_call(context, k, &call) && fx_prepare(context, fx_get_plan(c), NULL, NULL, 0, &p) == FX_OK;
    ok = ok && fx_workspace_bytes(p, call.values, k->n_params, &n) == FX_OK &&
         (n == 0 || fx_device_alloc(context, n, &workspace) == FX_OK);
    for (int i = 0; ok && i < k->n_launches; i++) ok = print_launch(p, k, i, &call, what);
    ok = ok && fx_launch(p, call.values, k->n_params, workspace, n, NULL) == FX_OK &&
         fx_stream_wait(context, NULL) == FX_OK;
    if (!ok) failed(what, fx_last_error());
    for (int i = 0; i < k->n_params; i++) fx_device_free(context, call.tensors[i].data);
    fx_device_free(context, workspace);
    fx_prepared_release(p);
    fx_close(c);
    return ok;
}

int main(void) {
    fx_context *context;
    bool ok = true;
    if (fx_context_open(0, &context) != FX_OK) return !failed("no GPU", fx_last_error());
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) ok &= run_case(context, i);
    fx_context_close(context);
    return !ok;
}
