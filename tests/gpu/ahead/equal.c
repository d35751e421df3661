/* Kernels compiled ahead of time beside the same ones compiled by the runtime: the same bytes, and what a launch costs
 * the host. Input: the folder of the specs; `-t` times too. Output: a line a kernel and shape; exit 0 where all bytes
 * are the same, 1 where not, 77 where there is no GPU. tests/gpu/loading.sh builds and runs it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef VENDORED
#include "ahead_attention.h"
#include "ahead_linear.h"
#include "ahead_norm.h"
#else /* kernels of vendored files: through the CUDA runtime */
int linear_prepare(void), attention_prepare(void), norm_prepare(void);
int linear_workspace(size_t *, long long, long long);
int attention_workspace(size_t *, long long, long long, long long, long long);
int norm_workspace(size_t *, long long, long long);
int linear_launch(void *, const void *, const void *, const void *, void *, void *, long long, long long);
int attention_launch(void *, const void *, const void *, const void *, void *, void *, long long, long long, long long, long long);
int norm_launch(void *, const void *, const void *, float, void *, void *, long long, long long);
const char *cudaGetErrorName(int);
#define ahead_linear_error_name cudaGetErrorName
#define ahead_attention_error_name cudaGetErrorName
#define ahead_norm_error_name cudaGetErrorName
static int ahead_linear_unload(void) { return 0; }
static int ahead_attention_unload(void) { return 0; }
static int ahead_norm_unload(void) { return 0; }
#endif
#include "fx.h"
#include "fx_runtime.h"

enum { MAX_ARGS = 5, MAX_RANK = 4, N_TIMED = 2000 };

struct argument {
    DLTensor t;
    int64_t shape[MAX_RANK];
    size_t n_bytes;
    double scalar;
    int is_scalar;
};

struct call { /* of one kernel at one shape */
    struct argument a[MAX_ARGS];
    int n;
    long long extents[4];
    void *workspace;
    size_t workspace_bytes;
    void *stream;
};

static int launch_linear(const struct call *c) {
    return linear_launch(c->stream, c->a[0].t.data, c->a[1].t.data, c->a[2].t.data, c->a[3].t.data, c->workspace,
        c->extents[0], c->extents[1]);
}
static int size_linear(const struct call *c, size_t *bytes) {
    return linear_workspace(bytes, c->extents[0], c->extents[1]);
}
static int launch_attention(const struct call *c) {
    return attention_launch(c->stream, c->a[0].t.data, c->a[1].t.data, c->a[2].t.data, c->a[3].t.data, c->workspace,
        c->extents[0], c->extents[1], c->extents[2], c->extents[3]);
}
static int size_attention(const struct call *c, size_t *bytes) {
    return attention_workspace(bytes, c->extents[0], c->extents[1], c->extents[2], c->extents[3]);
}
static int launch_norm(const struct call *c) {
    return norm_launch(c->stream, c->a[0].t.data, c->a[1].t.data, (float)c->a[2].scalar, c->a[3].t.data, c->workspace,
        c->extents[0], c->extents[1]);
}
static int size_norm(const struct call *c, size_t *bytes) {
    return norm_workspace(bytes, c->extents[0], c->extents[1]);
}

static const struct kernel {
    const char *name, *define;          /* of the spec; what was compiled in */
    const char *const shapes[MAX_ARGS]; /* of tensors: a letter an axis, from the extents given below; "" is a scalar */
    const char *letters;
    int (*prepare)(void), (*size)(const struct call *, size_t *), (*launch)(const struct call *);
    const char *(*error)(int);
    int n_rows;
    long long rows[5][4];
} kernels[] = {
    {"linear", "K=512", {"MK", "KN", "N", "MN", NULL}, "MNK", linear_prepare, size_linear, launch_linear,
        ahead_linear_error_name, 5,
        {{1, 4096, 512, 0}, {16, 1024, 512, 0}, {129, 264, 512, 0}, {33, 17, 512, 0}, {4096, 4096, 512, 0}}},
    {"attention", NULL, {"BHSD", "BHTD", "BHTD", "BHSD", NULL}, "BHSTD", attention_prepare, size_attention,
        launch_attention, ahead_attention_error_name, 4,
        {{1, 1, 64, 64}, {2, 4, 512, 512}, {1, 3, 200, 333}, {4, 8, 2048, 2048}}},
    {"norm", NULL, {"MN", "N", "", "MN", NULL}, "MN", norm_prepare, size_norm, launch_norm, ahead_norm_error_name, 4,
        {{1, 4096, 0, 0}, {4096, 4096, 0, 0}, {77, 333, 0, 0}, {16, 65536, 0, 0}}},
};

static void need(fx_status status) {
    if (status == FX_OK) return;
    fprintf(stderr, "equal: %s\n", fx_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The primary context of device 0, current, as a program around the kernels has it. Exits with 77 where there is none.
 */
static void make_current(void) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
    if (!cuda) fprintf(stderr, "equal: there is no driver\n"), exit(77);
    *(void **)&init = dlsym(cuda, "cuInit");
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(cuda, "cuCtxSetCurrent");
    if (init(0) || retain(&context, 0) || set(context)) fprintf(stderr, "equal: there is no GPU\n"), exit(77);
}

static char *read_text(const char *folder, const char *name) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%s.fx", folder, name);
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || fread(text, 1, (1 << 16) - 1, f) == 0) perror(path), exit(1);
    fclose(f);
    return text;
}

static int64_t extent(const struct kernel *k, const long long *row, char letter) {
    return letter == 'D' ? 128 : row[strchr(k->letters, letter) - k->letters];
}

static void fill(fx_context *context, const struct argument *a) {
    static unsigned state = 1;
    uint16_t *host = malloc(a->n_bytes);
    if (!host) exit(1);
    for (size_t i = 0; i < a->n_bytes / 2; i++) {
        state = state * 1664525u + 1013904223u;
        float v = (float)(int)(state >> 8) / (float)(1 << 23) - 1;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        host[i] = (uint16_t)(bits >> 16);
    }
    need(fx_device_write(context, a->t.data, host, a->n_bytes));
    free(host);
}

static void open_call(fx_context *context, const struct kernel *k, const long long *row, struct call *c) {
    *c = (struct call){.extents = {row[0], row[1], row[2], row[3]}};
    for (; k->shapes[c->n]; c->n++) {
        struct argument *a = &c->a[c->n];
        a->is_scalar = !*k->shapes[c->n], a->scalar = 0.5, a->n_bytes = 2;
        if (a->is_scalar) continue;
        a->t = (DLTensor){.device = {2, 0}, .dtype = {4, 16, 1}, .shape = a->shape};
        for (const char *s = k->shapes[c->n]; *s; s++)
            a->n_bytes *= (size_t)(a->shape[a->t.ndim++] = extent(k, row, *s));
        need(fx_device_alloc(context, a->n_bytes, &a->t.data));
        fill(context, a);
    }
    need(fx_stream_open(context, &c->stream));
}

static void close_call(fx_context *context, struct call *c) {
    for (int i = 0; i < c->n; i++)
        if (!c->a[i].is_scalar) fx_device_free(context, c->a[i].t.data);
    if (c->workspace) fx_device_free(context, c->workspace);
    fx_stream_close(context, c->stream);
}

static void *result(fx_context *context, const struct call *c) {
    const struct argument *y = &c->a[c->n - 1];
    void *host = malloc(y->n_bytes);
    if (!host) exit(1);
    need(fx_stream_wait(context, c->stream));
    need(fx_device_read(context, host, y->t.data, y->n_bytes));
    return host;
}

static int compare(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Nanoseconds that a launch takes the host, the median of single ones. */
static double cost(fx_context *context, const struct call *c, const struct kernel *k, const fx_prepared *p,
    const struct fx_value *args) {
    static double ns[N_TIMED];
    for (int i = 0; i < N_TIMED; i++) {
        double began = now();
        int r = p ? (int)fx_launch(p, args, c->n, c->workspace, c->workspace_bytes, c->stream) : k->launch(c);
        ns[i] = 1e9 * (now() - began);
        if (r) exit(1);
        if (i % 64 == 63) need(fx_stream_wait(context, c->stream)); /* the queue is never full */
    }
    qsort(ns, N_TIMED, sizeof *ns, compare);
    return ns[N_TIMED / 2];
}

/* Whether both gave the same bytes. */
static int check(
    fx_context *context, const struct kernel *k, const long long *row, const fx_prepared *p, int is_timed) {
    struct call c;
    struct fx_value args[MAX_ARGS] = {{0}};
    size_t bytes = 0;
    open_call(context, k, row, &c);
    for (int i = 0; i < c.n; i++)
        args[i] = (struct fx_value){.tensor = c.a[i].is_scalar ? NULL : &c.a[i].t, .number = c.a[i].scalar};
    need(fx_workspace_bytes(p, args, c.n, &c.workspace_bytes));
    int r = k->size(&c, &bytes);
    if (c.workspace_bytes) need(fx_device_alloc(context, c.workspace_bytes, &c.workspace));
    const struct argument *y = &c.a[c.n - 1];
    need(fx_device_fill(context, y->t.data, 0xff, y->n_bytes, c.stream));
    need(fx_launch(p, args, c.n, c.workspace, c.workspace_bytes, c.stream));
    void *want = result(context, &c);
    need(fx_device_fill(context, y->t.data, 0x55, y->n_bytes, c.stream));
    if (r == 0) r = k->launch(&c);
    void *got = result(context, &c);
    int is_same = r == 0 && bytes == c.workspace_bytes && memcmp(want, got, y->n_bytes) == 0;
    printf("%s %lld %lld %lld %lld by %s: %s", k->name, row[0], row[1], row[2], row[3],
        fx_chosen_entry(p, 0, args, c.n),
        r                            ? k->error(r)
        : is_same                    ? "the same bytes"
        : bytes != c.workspace_bytes ? "another workspace"
                                     : "other bytes");
    if (is_timed && is_same) {
        double ahead = cost(context, &c, k, NULL, args), jit = cost(context, &c, k, p, args);
        printf("; a launch takes the host %.0f ns, fx_launch %.0f ns", ahead, jit);
    }
    printf("\n");
    free(want);
    free(got);
    close_call(context, &c);
    return is_same;
}

int main(int argc, char **argv) {
    fx_context *context;
    int n_wrong = 0, is_timed = argc == 3 && !strcmp(argv[2], "-t");
    if (argc != 2 && !is_timed) return fprintf(stderr, "usage: equal FOLDER [-t]\n"), 2;
    make_current();
    need(fx_context_open(0, &context));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernel *k = &kernels[i];
        char *text = read_text(argv[1], k->name);
        struct fx_options options = FX_OPTIONS;
        fx_compilation *c;
        fx_prepared *p;
        options.arch = fx_context_arch(context);
        options.defines = &k->define, options.n_defines = k->define != NULL;
        if (fx_compile(text, strlen(text), k->name, &options, &c) != FX_OK)
            return fprintf(stderr, "%s", fx_messages(c)), 1;
        need(fx_prepare(context, fx_get_plan(c), NULL, NULL, 0, &p));
        double began = now();
        int r = k->prepare();
        printf("%s: prepare took %.1f ms\n", k->name, 1e3 * (now() - began));
        if (r) return fprintf(stderr, "%s\n", k->error(r)), 1;
        for (int row = 0; row < k->n_rows; row++) n_wrong += !check(context, k, k->rows[row], p, is_timed);
        fx_prepared_release(p);
        fx_close(c);
        free(text);
    }
    n_wrong += ahead_linear_unload() || ahead_attention_unload() || ahead_norm_unload();
    printf("%d wrong\n", n_wrong);
    return n_wrong != 0;
}
