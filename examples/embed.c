/* fx inside a program: compiles a spec from a string, prepares it, launches it on device memory and a stream of the
 * program's own, prints the result. Input: nothing, or `emu`, which runs it on the emulator and needs no GPU. Output:
 * y = gelu(x @ w + b) of a small example; exits with the fx_status of the first call that failed. C99 and C++.
 * Build: cc embed.c -lfx */
#include <stdio.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"

static const char spec[] =
    "kernel linear_gelu(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] {\n"
    "  y = gelu(x @ w + b)\n"
    "}\n";

enum { M = 2, K = 3, N = 4 };
static const float x[M * K] = {1, 2, 3, 4, 5, 6}, w[K * N] = {.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f, .9f, 1, 1.1f, 1.2f},
                   b[N] = {-3, -4, -5, -6};
static float y[M * N];

/* One argument: a tensor in device memory of its own, filled from host. */
static fx_status put(fx_context *context, DLTensor *t, int rank, int64_t *shape, const float *host, size_t n_bytes) {
    memset(t, 0, sizeof *t);
    t->device.device_type = 2; /* DLPack: CUDA */
    t->ndim = rank, t->shape = shape;
    t->dtype.code = 2, t->dtype.bits = 32, t->dtype.lanes = 1; /* float */
    fx_status status = fx_device_alloc(context, n_bytes, &t->data);
    return status == FX_OK && host ? fx_device_write(context, t->data, host, n_bytes) : status;
}

static fx_status run(const fx_compilation *c, fx_context *context) {
    int64_t shape[][2] = {{M, K}, {K, N}, {N, 0}, {M, N}};
    DLTensor t[4];
    fx_prepared *kernel = NULL;
    void *stream = NULL, *workspace = NULL;
    size_t workspace_bytes = 0;
    struct fx_value args[4];
    memset(t, 0, sizeof t), memset(args, 0, sizeof args);
    for (int i = 0; i < 4; i++) args[i].tensor = &t[i];
    fx_status status = fx_prepare(context, fx_get_plan(c), "linear_gelu", NULL, 0, &kernel);
    if (status == FX_OK) status = fx_stream_open(context, &stream);
    if (status == FX_OK) status = put(context, &t[0], 2, shape[0], x, sizeof x);
    if (status == FX_OK) status = put(context, &t[1], 2, shape[1], w, sizeof w);
    if (status == FX_OK) status = put(context, &t[2], 1, shape[2], b, sizeof b);
    if (status == FX_OK) status = put(context, &t[3], 2, shape[3], NULL, sizeof y);
    if (status == FX_OK) status = fx_workspace_bytes(kernel, args, 4, &workspace_bytes);
    if (status == FX_OK && workspace_bytes) status = fx_device_alloc(context, workspace_bytes, &workspace);
    if (status == FX_OK) status = fx_launch(kernel, args, 4, workspace, workspace_bytes, stream);
    if (status == FX_OK) status = fx_stream_wait(context, stream);
    if (status == FX_OK) status = fx_device_read(context, y, t[3].data, sizeof y);
    if (status != FX_OK) fprintf(stderr, "embed: %s\n", fx_last_error());
    for (int i = 0; i < 4; i++) if (t[i].data) fx_device_free(context, t[i].data);
    if (workspace) fx_device_free(context, workspace);
    if (stream) fx_stream_close(context, stream);
    fx_prepared_release(kernel);
    return status;
}

int main(int n_args, char **args) {
    struct fx_options options = FX_OPTIONS;
    fx_context *context = NULL;
    fx_compilation *c = NULL;
    fx_status status = n_args > 1 && strcmp(args[1], "emu") == 0 ? fx_emulate(NULL) : FX_OK;
    if (status == FX_OK) status = fx_context_open(0, &context);
    if (status != FX_OK) return fprintf(stderr, "embed: %s\n", fx_last_error()), status;
    options.arch = fx_context_arch(context);
    status = fx_compile(spec, strlen(spec), "embedded", &options, &c);
    if (status != FX_OK) fprintf(stderr, "%s", c ? fx_messages(c) : "embed: out of memory\n");
    if (status == FX_OK) status = run(c, context);
    for (int i = 0; status == FX_OK && i < M * N; i++) printf("%g%c", y[i], i % N == N - 1 ? '\n' : ' ');
    fx_close(c);
    fx_context_close(context);
    return status;
}
