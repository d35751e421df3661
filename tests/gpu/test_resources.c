/* What fx_cubin_resources reads from a cubin against what the driver says of it once loaded: every entry of the
 * examples and of what is written here, and entries with static shared memory, arrays and spills, which fx emits none
 * of. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx.h"
#include "fx_runtime.h"

static int n_passed, n_failed;

static void fail(const char *what, const char *why) {
    n_failed++;
    printf("FAIL resources: %s: %s\n", what, why);
}

static void compare(const char *entry, const struct fx_resources *read, const struct fx_resources *driver) {
    if (memcmp(read, driver, sizeof *read) == 0) {
        n_passed++;
        return;
    }
    char why[256];
    snprintf(why, sizeof why, "the cubin says %d registers, %d local, %d shared, %d threads, the driver %d, %d, %d, %d",
        read->registers, read->local_bytes, read->shared_bytes, read->max_threads, driver->registers,
        driver->local_bytes, driver->shared_bytes, driver->max_threads);
    fail(entry, why);
}

/* All variants of the kernel that the device has room for. */
static void compare_kernel(fx_context *context, const struct fx_plan *plan, const struct fx_kernel *k) {
    size_t n = (size_t)fx_entry_count(plan) + 1;
    struct fx_resources *read = calloc(n, sizeof *read), driver;
    bool *wanted = calloc(n, sizeof *wanted);
    fx_prepared *p = NULL;
    if (fx_prepare(context, plan, k->name, NULL, 0, &p) != FX_OK) fail(k->name, fx_last_error());
    for (int i = 0; p && i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++)
            wanted[k->launches[i].variants[v].number] = fx_variant_resources(p, i, v, &driver) == FX_OK;
    if (p && fx_compile_resources(plan, k, true, wanted, read) != FX_OK) fail(k->name, fx_last_error());
    for (int i = 0; p && i < k->n_launches; i++)
        for (int v = 0; v < k->launches[i].n_variants; v++)
            if (fx_variant_resources(p, i, v, &driver) == FX_OK)
                compare(k->launches[i].variants[v].entry, &read[k->launches[i].variants[v].number], &driver);
    fx_prepared_release(p);
    free(read);
    free(wanted);
}

static void compare_text(fx_context *context, const char *name, const char *text, size_t len) {
    struct fx_options o = FX_OPTIONS;
    fx_compilation *c = NULL;
    o.arch = fx_context_arch(context);
    if (fx_compile(text, len, name, &o, &c) != FX_OK) fail(name, c ? fx_messages(c) : "not compiled");
    else
        for (int i = 0; i < fx_get_plan(c)->n_kernels; i++)
            compare_kernel(context, fx_get_plan(c), &fx_get_plan(c)->kernels[i]);
    fx_close(c);
}

static void compare_files(fx_context *context, const char *pattern) {
    static char text[1 << 20];
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return fail(pattern, "no file");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *f = fopen(found.gl_pathv[i], "rb");
        size_t len = f ? fread(text, 1, sizeof text, f) : 0;
        if (f) fclose(f);
        compare_text(context, found.gl_pathv[i], text, len);
    }
    globfree(&found);
}

static const char specs[] =
    "kernel softmax_rows(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }\n"
    "kernel norm(x: f32[B,T], g: f32[T]) -> z: f32[B,T] { z = layernorm[T](x) * g }\n"
    "kernel columns(x: f32[B,T]) -> z: f32[T] { z = sum[B](x) }\n"
    "kernel split(a: f32[M,K], w: f32[K,F=2*N]) -> d: f32[M,N] { l, r = halves[F->N](a @ w); d = sigmoid(l) * tanh(r) }\n"
    "kernel geglu(x: bf16[M,K], w: bf16[F=2*N,K]) -> y: bf16[M,N] { z, g = halves[F->N](x @ w); y = z * gelu(g) }\n";

/* Entries that use what fx's own never do. */
static const char made[] =
    "extern \"C\" __global__ void __launch_bounds__(192) made_shared(float *p) {\n"
    "  __shared__ float s[100]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[99 - threadIdx.x]; }\n"
    "extern \"C\" __global__ void made_array(float *p, int n) {\n"
    "  float a[64]; for (int i = 0; i < 64; i++) a[i] = p[i * i % 61 + n]; for (int i = 0; i < n; i++) a[(i * 7 + n) % 64] += a[i * 3 % 64]; p[0] = a[n % 64]; }\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) made_spills(float *p, int n) {\n"
    "  float a[80]; _Pragma(\"unroll\") for (int i = 0; i < 80; i++) a[i] = p[i * n];\n"
    "  __syncthreads(); _Pragma(\"unroll\") for (int i = 0; i < 80; i++) p[i * 7] = a[i] * a[79 - i] + a[i * 3 % 80]; }\n";

static void compare_made(fx_context *context) {
    static const struct fx_term none[] = {{FX_T_CONST, 0}};
    static const char *const entries[] = {"made_shared", "made_array", "made_spills"};
    struct fx_variant variants[3] = {0};
    for (int i = 0; i < 3; i++)
        variants[i] = (struct fx_variant){
            .entry = entries[i], .number = i, .smem = {1, none}, .grid = {1, none}, .block = 32};
    const struct fx_launch launch = {.name = "made", .n_variants = 3, .variants = variants};
    const struct fx_kernel kernel = {.name = "made", .n_launches = 1, .launches = &launch};
    const struct fx_plan plan = {.file = "made.fx",
        .arch = fx_context_arch(context),
        .source = made,
        .source_len = strlen(made),
        .n_kernels = 1,
        .kernels = &kernel};
    compare_kernel(context, &plan, &kernel);
}

int main(void) {
    fx_context *context;
    if (fx_context_open(0, &context) != FX_OK) {
        printf("no GPU: %s\nresources: 0 passed, 1 failed\n", fx_last_error());
        return 1;
    }
    compare_files(context, "examples/*.fx");
    compare_text(context, "specs", specs, strlen(specs));
    compare_made(context);
    fx_context_close(context);
    printf("resources: %d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0 || n_passed == 0;
}
