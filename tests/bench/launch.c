/* What fx_launch costs the host beside the call of the driver that it makes: every call of the driver is timed within
 * the launch that makes it, and the launch once more with a driver that does nothing. Output: a line a kernel:
 * microseconds of fx_launch, of the driver's call in it, what the one is above the other, and of fx_launch above no
 * driver; the least of several medians. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fx.h"
#include "fx_runtime.h"
#include "lib/cuda_api.h"

enum { N_TIMED = 1000, N_ROUNDS = 5, MAX_ARGS = 8 };

static const struct {
    const char *what, *text;
    bool is_dynamic; /* compiled for any extents, and prepared without hints */
    const char *extents[4];
} cases[] = {
    {"three vectors", "kernel add(x: f32[N], y: f32[N], z: f32[N]) -> s: f32[N] { s = x + y * z }", false, {"N=1024"}},
    {"three vectors, any extents", "kernel add(x: f32[N], y: f32[N], z: f32[N]) -> s: f32[N] { s = x + y * z }", true,
        {"N=1024"}},
    {"norm", "kernel norm(x: bf16[M,N], g: bf16[N]) -> y: bf16[M,N] { y = rmsnorm[N](x) * g }", false,
        {"M=8", "N=4096"}},
    {"product, gelu", "kernel g(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }", false,
        {"M=128", "K=256", "N=128"}},
    {"product, gelu, any extents",
        "kernel g(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }", true,
        {"M=128", "K=256", "N=128"}},
    {"product, gelu, odd, any extents",
        "kernel g(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }", true,
        {"M=129", "K=264", "N=17"}},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- the driver, timed or idle ---- */

static struct driver_table real;
static double in_driver; /* microseconds of the calls since it was set to 0 */

#define TIMED(call)               \
    double began = now();         \
    int code = real.call;         \
    in_driver += now() - began;   \
    return code

static int timed_launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **args, void **extra) {
    TIMED(cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, args, extra));
}
static int timed_launch_ex(const struct cuda_launch_config *config, void *f, void **args, void **extra) {
    TIMED(cuLaunchKernelEx(config, f, args, extra));
}
static int idle_launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **args, void **extra) {
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)args,
        (void)extra;
    return 0;
}
static int idle_launch_ex(const struct cuda_launch_config *config, void *f, void **args, void **extra) {
    (void)config, (void)f, (void)args, (void)extra;
    return 0;
}

/* ---- a kernel ---- */

struct call {
    DLTensor tensors[MAX_ARGS];
    int64_t shapes[MAX_ARGS][FX_MAX_RANK];
    struct fx_value values[MAX_ARGS];
    int n;
    void *workspace, *stream;
    size_t workspace_bytes;
};

static void need(fx_status status) {
    if (status == FX_OK) return;
    fprintf(stderr, "launch: %s\n", fx_last_error());
    exit((int)status);
}

static int64_t given(const char *const *extents, const char *name) {
    for (; *extents; extents++)
        if (!strncmp(*extents, name, strlen(name)) && (*extents)[strlen(name)] == '=')
            return atoll(*extents + strlen(name) + 1);
    return 0;
}

static void open_call(fx_context *context, const struct fx_kernel *k, const char *const *extents, struct call *c) {
    *c = (struct call){.n = k->n_params};
    for (int i = 0; i < k->n_params; i++) {
        const struct fx_param *p = &k->params[i];
        size_t n = (size_t)fx_dtype_bits(p->dtype) / 8;
        for (int a = 0; a < p->rank; a++)
            n *= (size_t)(c->shapes[i][a] = given(extents, k->extents[p->extents[a]].name));
        c->tensors[i] = (DLTensor){.device = {2, 0},
            .ndim = p->rank,
            .dtype = {p->dtype == FX_BF16 ? 4 : 2, (uint8_t)fx_dtype_bits(p->dtype), 1},
            .shape = c->shapes[i]};
        c->values[i].tensor = &c->tensors[i];
        need(fx_device_alloc(context, n, &c->tensors[i].data));
    }
    need(fx_stream_open(context, &c->stream));
}

static void close_call(fx_context *context, struct call *c) {
    for (int i = 0; i < c->n; i++) fx_device_free(context, c->tensors[i].data);
    fx_device_free(context, c->workspace);
    fx_stream_close(context, c->stream);
}

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Medians of a launch as a whole, and of what the driver takes of it. */
static void time_launches(
    fx_context *context, const fx_prepared *p, const struct call *c, double *whole, double *driver) {
    static double all[N_TIMED], within[N_TIMED];
    for (int i = 0; i < N_TIMED; i++) {
        in_driver = 0;
        double began = now();
        fx_status status = fx_launch(p, c->values, c->n, c->workspace, c->workspace_bytes, c->stream);
        all[i] = now() - began;
        within[i] = in_driver;
        need(status);
        if (i % 64 == 63) need(fx_stream_wait(context, c->stream)); /* the queue is never full */
    }
    qsort(all, N_TIMED, sizeof *all, ascending);
    qsort(within, N_TIMED, sizeof *within, ascending);
    if (all[N_TIMED / 2] < *whole) *whole = all[N_TIMED / 2];
    if (within[N_TIMED / 2] < *driver) *driver = within[N_TIMED / 2];
}

static void time_case(fx_context *context, size_t i) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *compiled;
    fx_prepared *p;
    struct call c;
    options.arch = fx_context_arch(context);
    for (options.n_defines = 0; cases[i].extents[options.n_defines] && !cases[i].is_dynamic;) options.n_defines++;
    options.defines = cases[i].extents;
    if (fx_compile(cases[i].text, strlen(cases[i].text), cases[i].what, &options, &compiled) != FX_OK) {
        fprintf(stderr, "%s", fx_messages(compiled));
        exit(1);
    }
    const struct fx_plan *plan = fx_get_plan(compiled);
    need(fx_prepare(context, plan, NULL, NULL, 0, &p));
    open_call(context, &plan->kernels[0], cases[i].extents, &c);
    need(fx_workspace_bytes(p, c.values, c.n, &c.workspace_bytes));
    if (c.workspace_bytes) need(fx_device_alloc(context, c.workspace_bytes, &c.workspace));
    double whole = 1e9, driver = 1e9, timed = 1e9, idle = 1e9, nothing = 1e9;
    for (int round = 0; round < N_ROUNDS; round++) {
        cuda_driver = real;
        time_launches(context, p, &c, &whole, &nothing);
        cuda_driver.cuLaunchKernel = timed_launch, cuda_driver.cuLaunchKernelEx = timed_launch_ex;
        time_launches(context, p, &c, &timed, &driver);
        cuda_driver.cuLaunchKernel = idle_launch, cuda_driver.cuLaunchKernelEx = idle_launch_ex;
        time_launches(context, p, &c, &idle, &nothing);
    }
    cuda_driver = real;
    printf(
        "%-32s fx_launch %5.2f us, of it the driver's call %5.2f, above it %5.2f; with a driver that does nothing %5.2f\n",
        cases[i].what, whole, driver, whole - driver, idle);
    close_call(context, &c);
    fx_prepared_release(p);
    fx_close(compiled);
}

int main(void) {
    fx_context *context;
    if (fx_context_open(0, &context) != FX_OK) {
        fprintf(stderr, "launch: %s\n", fx_last_error());
        return 77;
    }
    real = cuda_driver;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) time_case(context, i);
    fx_context_close(context);
    return 0;
}
