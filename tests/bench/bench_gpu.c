/* What our kernels take beside cuBLAS or a device copy, in one process. Input: the cases below, drawn data. Output: a
 * table and, with -o, a line of JSON a figure. Every variant that can run is timed, interleaved with its peer in random
 * order and alone. Invariant: nothing is timed whose result was not found right just before.
 *
 *   bench_gpu [-o FILE] [FILTER [ROUNDS]]      the cases whose names contain FILTER
 *
 * A row begins with > where the plan chooses that variant, * where it could be pinned, = for the peer. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/draw.h"
#include "fx.h"
#include "fx_runtime.h"

enum {
    MAX_PARAMS = 16,
    MAX_EXTENTS = 16,
    MAX_SETS = 32,
    MAX_ENTRIES = 40,
    MAX_ROUNDS = 200,
    MAX_BATCH = 512,       /* launches between two events */
    N_CHECKED = 2000,      /* elements compared before a case is timed */
    TABLE_SIZE = 1 << 16,  /* drawn normals that inputs are filled from */
    MLP_BYTES = 16384 * 512 * 4, /* the largest layer of the largest batch */
};
static const size_t ROTATED_BYTES =
    200u << 20; /* beyond the L2 cache: inputs smaller than it are copied and taken in turn */
static const size_t CUBLAS_WORKSPACE = 64u << 20;
static const double WARM_UP_SECONDS = 0.2, ALONE_SECONDS = 0.4, BATCH_MICROSECONDS = 1000;
static const double HOPELESS = 1.5; /* times the fastest: kept out of the rounds, whose clocks it would change */

static fx_context *context;
static void *stream;
static fx_timer *timer;
static FILE *json;
static const char *filter = "";
static int n_rounds = 25, n_timed, n_refused;
static unsigned char tables[FX_N_DTYPES][TABLE_SIZE * 4]; /* the same normals as f32, f16 and bf16 */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "bench_gpu: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    exit(1);
}

static void must(fx_status status, const char *what) {
    if (status != FX_OK) die("%s: %s", what, fx_last_error());
}

static void *need(void *p) {
    if (!p) die("out of memory");
    return p;
}

static uint32_t hash(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) >> 16);
}

/* ---- the peers: a few entry points of the driver and of cuBLAS, as their headers declare them ---- */

enum { OP_N = 0, OP_T = 1, R_32F = 0, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, GEMM_DEFAULT = -1, DEFAULT_MATH = 0 };

static struct {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int *, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuMemcpyDtoDAsync_v2)(uint64_t, uint64_t, size_t, void *);
} driver;

static struct {
    void *handle; /* NULL: no cuBLAS */
    int (*cublasCreate_v2)(void **);
    int (*cublasSetStream_v2)(void *, void *);
    int (*cublasSetMathMode)(void *, int);
    int (*cublasSetWorkspace_v2)(void *, void *, size_t);
    int (*cublasGetVersion_v2)(void *, int *);
    int (*cublasSgemm_v2)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
        const float *, float *, int);
    int (*cublasGemmEx)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
        const void *, void *, int, int, int, int);
} cublas;

struct symbol {
    const char *name;
    void *slot; /* of a function pointer */
};

static bool resolve(void *library, const struct symbol *symbols, int n) {
    for (int i = 0; i < n; i++) {
        void *p = dlsym(library, symbols[i].name);
        if (!p) return false;
        memcpy(symbols[i].slot, &p, sizeof p);
    }
    return true;
}

#define SYMBOL(table, name) {#name, &table.name}

/* cuBLAS works in the context current on the thread: the primary one, which fx_context_open then takes too. */
static void open_driver(void) {
    const struct symbol symbols[] = {SYMBOL(driver, cuInit), SYMBOL(driver, cuDeviceGet),
        SYMBOL(driver, cuDevicePrimaryCtxRetain), SYMBOL(driver, cuCtxSetCurrent),
        SYMBOL(driver, cuMemcpyDtoDAsync_v2)};
    const char *given = getenv("FX_LIBCUDA");
    void *library = dlopen(given ? given : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *primary;
    int device;
    if (!library || !resolve(library, symbols, sizeof symbols / sizeof *symbols)) {
        memset(&driver, 0, sizeof driver);
        return;
    }
    if (driver.cuInit(0) || driver.cuDeviceGet(&device, 0) || driver.cuDevicePrimaryCtxRetain(&primary, device) ||
        driver.cuCtxSetCurrent(primary))
        die("the driver gives no primary context");
}

static void *open_library(const char *name) {
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"};
    char path[256];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folders[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (library) return library;
    }
    return NULL;
}

static void open_cublas(void) {
    const struct symbol symbols[] = {SYMBOL(cublas, cublasCreate_v2), SYMBOL(cublas, cublasSetStream_v2),
        SYMBOL(cublas, cublasSetMathMode), SYMBOL(cublas, cublasSetWorkspace_v2), SYMBOL(cublas, cublasGetVersion_v2),
        SYMBOL(cublas, cublasSgemm_v2), SYMBOL(cublas, cublasGemmEx)};
    void *library = NULL, *workspace;
    int version = 0;
    for (int major = 13; driver.cuInit && !library && major >= 12; major--) {
        char lt[32], name[32];
        snprintf(lt, sizeof lt, "libcublasLt.so.%d", major);
        snprintf(name, sizeof name, "libcublas.so.%d", major);
        if (open_library(lt)) library = open_library(name);
    }
    if (!library || !resolve(library, symbols, sizeof symbols / sizeof *symbols) ||
        cublas.cublasCreate_v2(&cublas.handle)) {
        printf("no cuBLAS to stand beside\n");
        cublas.handle = NULL;
        return;
    }
    must(fx_device_alloc(context, CUBLAS_WORKSPACE, &workspace), "cannot allocate cuBLAS's workspace");
    if (cublas.cublasSetStream_v2(cublas.handle, stream) ||
        cublas.cublasSetWorkspace_v2(cublas.handle, workspace, CUBLAS_WORKSPACE) ||
        cublas.cublasSetMathMode(cublas.handle, DEFAULT_MATH))
        die("cuBLAS refuses its settings");
    cublas.cublasGetVersion_v2(cublas.handle, &version);
    printf("cuBLAS %d, TF32 off\n", version);
}

/* Row-major y[m,n] = x[m,k] w, where w is [k,n] or [n,k]: to cuBLAS, which is column-major, the transposed product. */
static int peer_gemm(enum fx_dtype t, bool w_is_nk, int m, int n, int k, const void *x, const void *w, void *y) {
    const float one = 1, zero = 0;
    int op = w_is_nk ? OP_T : OP_N, ldw = w_is_nk ? k : n, type = t == FX_F16 ? R_16F : R_16BF;
    if (t == FX_F32) return cublas.cublasSgemm_v2(cublas.handle, op, OP_N, n, m, k, &one, w, ldw, x, k, &zero, y, n);
    return cublas.cublasGemmEx(
        cublas.handle, op, OP_N, n, m, k, &one, w, type, ldw, x, type, k, &zero, y, type, n, COMPUTE_32F, GEMM_DEFAULT);
}

/* ---- cases ---- */

enum form { LINEAR_GELU, MATMUL, ADD_MUL_RELU, GELU, MLP };

struct bench_case {
    const char *name;
    enum form form;
    enum fx_dtype dtype;
    bool w_is_nk;
    int m, n, k;
};

static const struct bench_case cases[] = {
    {"linear_gelu_bf16_4096_kn", LINEAR_GELU, FX_BF16, false, 4096, 4096, 4096},
    {"linear_gelu_bf16_4096_nk", LINEAR_GELU, FX_BF16, true, 4096, 4096, 4096},
    {"matmul_bf16_4096_kn", MATMUL, FX_BF16, false, 4096, 4096, 4096},
    {"linear_gelu_f32_4096_kn", LINEAR_GELU, FX_F32, false, 4096, 4096, 4096},
    {"linear_gelu_f32_4096_nk", LINEAR_GELU, FX_F32, true, 4096, 4096, 4096},
    {"linear_gelu_f16_4096_kn", LINEAR_GELU, FX_F16, false, 4096, 4096, 4096},
    {"linear_gelu_bf16_8192_kn", LINEAR_GELU, FX_BF16, false, 8192, 8192, 8192},
    {"linear_gelu_bf16_8192_nk", LINEAR_GELU, FX_BF16, true, 8192, 8192, 8192},
    {"linear_gelu_bf16_2048_kn", LINEAR_GELU, FX_BF16, false, 2048, 2048, 2048},
    {"linear_gelu_bf16_2048_nk", LINEAR_GELU, FX_BF16, true, 2048, 2048, 2048},
    {"linear_gelu_bf16_512x4096x1024_kn", LINEAR_GELU, FX_BF16, false, 512, 4096, 1024},
    {"linear_gelu_bf16_512x4096x1024_nk", LINEAR_GELU, FX_BF16, true, 512, 4096, 1024},
    {"linear_gelu_f32_2048_kn", LINEAR_GELU, FX_F32, false, 2048, 2048, 2048},
    {"linear_gelu_f32_1024x8192x8192_kn", LINEAR_GELU, FX_F32, false, 1024, 8192, 8192},
    {"add_mul_relu_f32_65536x512", ADD_MUL_RELU, FX_F32, false, 65536, 512, 0},
    {"gelu_bf16_8192x8192", GELU, FX_BF16, false, 8192, 8192, 0},
    {"mlp_f32_128", MLP, FX_F32, false, 128, 0, 0},
    {"mlp_f32_16384", MLP, FX_F32, false, 16384, 0, 0},
};

static bool is_product(const struct bench_case *c) { return c->form == LINEAR_GELU || c->form == MATMUL; }

static void case_text(const struct bench_case *c, char *text, size_t size) {
    const char *t = fx_dtype_name(c->dtype), *w = c->w_is_nk ? "N,K" : "K,N";
    FILE *f;
    switch (c->form) {
    case LINEAR_GELU:
        snprintf(text, size,
            "kernel linear_gelu(x: %s[M,K], w: %s[%s], b: %s[N]) -> y: %s[M,N] { y = gelu(x @[K] w + b) }", t, t, w, t,
            t);
        break;
    case MATMUL:
        snprintf(text, size, "kernel matmul(x: %s[M,K], w: %s[%s]) -> y: %s[M,N] { y = x @[K] w }", t, t, w, t);
        break;
    case ADD_MUL_RELU:
        snprintf(text, size,
            "kernel add_mul_relu(x: %s[M,N], b: %s[N], t: %s[M,N], s: f32) -> y: %s[M,N] { y = relu(x + b + s * t) }",
            t, t, t, t);
        break;
    case GELU: snprintf(text, size, "kernel gelu_only(x: %s[M,N]) -> y: %s[M,N] { y = gelu(x) }", t, t); break;
    case MLP:
        f = fopen("examples/mlp.fx", "r");
        if (!f) die("cannot read examples/mlp.fx: run from the top of the tree");
        text[fread(text, 1, size - 1, f)] = 0;
        fclose(f);
    }
}

/* ---- a case on the device ---- */

struct device_set { /* copies of the arguments */
    void *data[MAX_PARAMS];
    DLTensor tensors[MAX_PARAMS];
    struct fx_value values[MAX_PARAMS];
};

struct entry { /* a row of the table */
    char name[80];
    bool is_peer, is_preferred, is_hopeless;
    int launch, variant;               /* pinned; -1: as the plan chooses */
    int batch;                         /* launches between two events */
    double estimate;                   /* microseconds, from the warm-up */
    double samples[2 * MAX_ROUNDS];    /* microseconds a launch, interleaved */
    int n_samples;
    double alone;                      /* microseconds, 0: not taken */
};

struct bench {
    const struct bench_case *c;
    fx_compilation *compilation;
    const struct fx_kernel *kernel;
    fx_prepared *prepared;
    struct fx_shape shapes[MAX_PARAMS];
    size_t n_elements[MAX_PARAMS], n_bytes[MAX_PARAMS];
    void *host[MAX_PARAMS];            /* of inputs */
    int64_t extents[MAX_EXTENTS];
    struct device_set sets[MAX_SETS];
    int n_sets, next_set;
    void *workspace;
    size_t workspace_bytes;
    int64_t elements[N_CHECKED];       /* of the output, compared */
    double value[N_CHECKED], bound[N_CHECKED];
    struct entry entries[MAX_ENTRIES];
    int n_entries;
    double flops, bytes;
};

static fx_status compile(const char *text, fx_compilation **out) {
    struct fx_options options = FX_OPTIONS;
    options.arch = fx_context_arch(context);
    return fx_compile(text, strlen(text), "bench.fx", &options, out);
}

static int64_t extent_of(const struct bench_case *c, const struct fx_extent *e) {
    if (e->value >= 0) return e->value;
    return *e->name == 'N' ? c->n : *e->name == 'K' ? c->k : c->m;
}

static void shape_arguments(struct bench *b) {
    for (int e = 0; e < b->kernel->n_extents; e++) b->extents[e] = extent_of(b->c, &b->kernel->extents[e]);
    for (int p = 0; p < b->kernel->n_params; p++) {
        const struct fx_param *param = &b->kernel->params[p];
        struct fx_shape *s = &b->shapes[p];
        *s = (struct fx_shape){.dtype = param->dtype, .rank = param->rank};
        b->n_elements[p] = 1;
        for (int i = 0; i < param->rank; i++) {
            s->extents[i] = b->extents[param->extents[i]];
            b->n_elements[p] *= (size_t)s->extents[i];
        }
        b->n_bytes[p] = b->n_elements[p] * (size_t)fx_dtype_bits(param->dtype) / 8;
    }
}

/* Standard normals, of every tensor others. */
static void draw_inputs(struct bench *b) {
    for (int p = 0; p < b->kernel->n_params; p++) {
        if (!b->kernel->params[p].is_input) continue;
        b->host[p] = need(malloc(b->n_bytes[p] + 1));
        const unsigned char *table = tables[b->shapes[p].dtype];
        uint64_t seed = (uint64_t)(p + 1) << 40;
        if (fx_dtype_bits(b->shapes[p].dtype) == 32)
            for (size_t i = 0; i < b->n_elements[p]; i++)
                ((uint32_t *)b->host[p])[i] = ((const uint32_t *)table)[hash(seed + i) % TABLE_SIZE];
        else
            for (size_t i = 0; i < b->n_elements[p]; i++)
                ((uint16_t *)b->host[p])[i] = ((const uint16_t *)table)[hash(seed + i) % TABLE_SIZE];
    }
}

static void open_set(struct bench *b, struct device_set *s) {
    for (int p = 0; p < b->kernel->n_params; p++) {
        enum fx_dtype t = b->shapes[p].dtype;
        s->values[p] = (struct fx_value){.number = b->host[p] ? fx_load_double(t, b->host[p], 0) : 0};
        if (b->kernel->params[p].is_scalar) continue;
        must(fx_device_alloc(context, b->n_bytes[p], &s->data[p]), "cannot allocate");
        if (b->host[p]) must(fx_device_write(context, s->data[p], b->host[p], b->n_bytes[p]), "cannot write");
        s->tensors[p] = (DLTensor){.data = s->data[p],
            .device = {.device_type = 2},
            .ndim = b->shapes[p].rank,
            .shape = b->shapes[p].extents,
            .dtype = {.code = t == FX_BF16 ? 4 : 2, .bits = (uint8_t)fx_dtype_bits(t), .lanes = 1}};
        s->values[p].tensor = &s->tensors[p];
    }
}

static void open_sets(struct bench *b) {
    size_t bytes = 1;
    for (int p = 0; p < b->kernel->n_params; p++) bytes += b->n_bytes[p];
    size_t n = ROTATED_BYTES / bytes + 1;
    b->n_sets = n > MAX_SETS ? MAX_SETS : (int)n;
    for (int i = 0; i < b->n_sets; i++) open_set(b, &b->sets[i]);
    must(fx_workspace_bytes(b->prepared, b->sets[0].values, b->kernel->n_params, &b->workspace_bytes),
        "no size of the workspace");
    if (b->workspace_bytes)
        must(fx_device_alloc(context, b->workspace_bytes, &b->workspace), "cannot allocate the workspace");
}

static void count_work(struct bench *b) {
    struct fx_env env = {.extents = b->extents, .sm_count = fx_context_sm_count(context)};
    for (int l = 0; l < b->kernel->n_launches; l++) {
        int64_t flops = 0, bytes = 0;
        fx_expr_eval(&b->kernel->launches[l].flops, &env, &flops);
        fx_expr_eval(&b->kernel->launches[l].bytes, &env, &bytes);
        b->flops += (double)flops;
        b->bytes += (double)bytes;
    }
}

static void bench_open(struct bench *b, const struct bench_case *c) {
    char text[4096];
    *b = (struct bench){.c = c};
    case_text(c, text, sizeof text);
    if (compile(text, &b->compilation) != FX_OK) die("%s does not compile: %s", c->name, fx_messages(b->compilation));
    b->kernel = fx_find_kernel(fx_get_plan(b->compilation), NULL);
    if (b->kernel->n_params > MAX_PARAMS || b->kernel->n_extents > MAX_EXTENTS)
        die("%s has too many parameters", c->name);
    /* Without hints all variants are compiled, at once. */
    must(fx_prepare(context, fx_get_plan(b->compilation), NULL, NULL, 0, &b->prepared), c->name);
    shape_arguments(b);
    draw_inputs(b);
    open_sets(b);
    count_work(b);
}

static void bench_close(struct bench *b) {
    for (int i = 0; i < b->n_sets; i++)
        for (int p = 0; p < b->kernel->n_params; p++) fx_device_free(context, b->sets[i].data[p]);
    for (int p = 0; p < b->kernel->n_params; p++) free(b->host[p]);
    fx_device_free(context, b->workspace);
    fx_prepared_release(b->prepared);
    fx_close(b->compilation);
}

/* ---- entries ---- */

static struct entry *add_entry(struct bench *b, const char *name, int launch, int variant) {
    if (b->n_entries == MAX_ENTRIES) die("%s has too many variants", b->c->name);
    struct entry *e = &b->entries[b->n_entries++];
    *e = (struct entry){.launch = launch, .variant = variant, .batch = 1};
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

static bool has_peer(const struct bench *b) {
    return b->c->form == ADD_MUL_RELU || b->c->form == GELU ? driver.cuInit != NULL : cublas.handle != NULL;
}

/* The plan's choice first, then each variant that can run in its stead, then the peer. */
static void list_entries(struct bench *b) {
    struct fx_env env = {.extents = b->extents, .sm_count = fx_context_sm_count(context)};
    const struct fx_kernel *k = b->kernel;
    add_entry(b, k->n_launches == 1 ? "" : "plan", 0, -1)->is_preferred = true;
    for (int l = 0; l < k->n_launches; l++) {
        const char *chosen = fx_chosen_entry(b->prepared, l, b->sets[0].values, k->n_params);
        for (int v = 0; v < k->launches[l].n_variants; v++) {
            const struct fx_variant *variant = &k->launches[l].variants[v];
            bool is_chosen = chosen && !strcmp(chosen, variant->entry);
            if (is_chosen && k->n_launches == 1)
                snprintf(b->entries[0].name, sizeof b->entries[0].name, "%s", variant->entry);
            if (!is_chosen && fx_expr_holds(&variant->needs, &env)) add_entry(b, variant->entry, l, v);
        }
    }
    if (has_peer(b))
        add_entry(b,
            b->c->form == MLP  ? "4 x cuBLAS"
            : is_product(b->c) ? "cuBLAS"
                               : "device copy",
            0, -1)
            ->is_peer = true;
}

/* ---- launching ---- */

/* The four products alone, without bias and relu: x, then w and b of each layer, then y. */
static int launch_mlp_peer(struct bench *b, struct device_set *s) {
    static void *between[2]; /* what one layer hands to the next */
    const void *in = s->data[0];
    int status = 0;
    for (int l = 0; l < 4 && !status; l++) {
        const struct fx_shape *w = &b->shapes[1 + 2 * l];
        if (l < 2 && !between[l]) must(fx_device_alloc(context, MLP_BYTES, &between[l]), "cannot allocate");
        void *out = l == 3 ? s->data[b->kernel->n_params - 1] : between[l % 2];
        status = peer_gemm(FX_F32, true, b->c->m, (int)w->extents[0], (int)w->extents[1], in, s->data[1 + 2 * l], out);
        in = out;
    }
    return status;
}

/* As many bytes read and written as the kernel reads and writes. */
static int launch_copy(struct bench *b) {
    static void *ends[2];
    static size_t size;
    size_t half = (size_t)(b->bytes / 2);
    for (int i = 0; i < 2 && size < half; i++) {
        fx_device_free(context, ends[i]);
        must(fx_device_alloc(context, half, &ends[i]), "cannot allocate");
        must(fx_device_fill(context, ends[i], 0x3C, half, stream), "cannot fill");
        if (i == 1) size = half;
    }
    return driver.cuMemcpyDtoDAsync_v2((uint64_t)(uintptr_t)ends[1], (uint64_t)(uintptr_t)ends[0], half, stream);
}

static int launch_peer(struct bench *b, struct device_set *s) {
    const struct bench_case *c = b->c;
    if (c->form == MLP) return launch_mlp_peer(b, s);
    if (!is_product(c)) return launch_copy(b);
    return peer_gemm(c->dtype, c->w_is_nk, c->m, c->n, c->k, s->data[0], s->data[1], s->data[b->kernel->n_params - 1]);
}

static void launch(struct bench *b, const struct entry *e) {
    struct device_set *s = &b->sets[b->next_set];
    b->next_set = (b->next_set + 1) % b->n_sets;
    if (!e->is_peer) {
        must(fx_launch(b->prepared, s->values, b->kernel->n_params, b->workspace, b->workspace_bytes, stream), e->name);
        return;
    }
    int status = launch_peer(b, s);
    if (status) die("%s: the peer returned status %d", b->c->name, status);
}

static void pin(struct bench *b, const struct entry *e, bool is_pinned) {
    if (e->variant >= 0) must(fx_pin_variant(b->prepared, e->launch, is_pinned ? e->variant : -1), e->name);
}

/* Microseconds a launch, of n between two events. */
static double time_batch(struct bench *b, const struct entry *e, int n) {
    double us;
    pin(b, e, true);
    must(fx_timer_start(timer, stream), "cannot time");
    for (int i = 0; i < n; i++) launch(b, e);
    must(fx_timer_stop(timer, stream), "cannot time");
    must(fx_timer_read(timer, &us), e->name);
    pin(b, e, false);
    return us / n;
}

/* ---- checking ---- */

static void ask_oracle(struct bench *b, const char *text, double *value, double *bound, int n) {
    struct fx_host inputs[MAX_PARAMS];
    fx_compilation *c = b->compilation;
    char message[256];
    int n_inputs = 0;
    if (text && compile(text, &c) != FX_OK) die("%s does not compile: %s", text, fx_messages(c));
    const struct fx_kernel *k = fx_find_kernel(fx_get_plan(c), NULL);
    for (int p = 0; p < k->n_params - 1; p++) {
        inputs[n_inputs] = (struct fx_host){.dtype = b->shapes[p].dtype, .rank = b->shapes[p].rank, .data = b->host[p]};
        memcpy(inputs[n_inputs++].extents, b->shapes[p].extents, sizeof inputs->extents);
    }
    if (fx_evaluate(c, k->name, inputs, n_inputs, 0, b->elements, n, value, NULL, FX_BOUND_INDEPENDENT, bound, message,
            sizeof message) != FX_OK)
        die("the oracle: %s", message);
    if (text) fx_close(c);
}

/* Ends of the output, then anything, in ascending order. */
static void draw_elements(struct bench *b) {
    int64_t n = (int64_t)b->n_elements[b->kernel->n_params - 1], step = n / N_CHECKED;
    for (int i = 0; i < N_CHECKED; i++)
        b->elements[i] = step ? i * step + (int64_t)(hash((uint64_t)i) % (uint64_t)step) : i % n;
    b->elements[0] = 0;
    b->elements[N_CHECKED - 1] = n - 1;
}

/* Launches once over poison and compares n elements; the first wrong one is told. */
static bool is_right(struct bench *b, const struct entry *e, const double *value, const double *bound, int n) {
    int p = b->kernel->n_params - 1, n_wrong = 0;
    size_t bytes = (size_t)fx_dtype_bits(b->shapes[p].dtype) / 8;
    b->next_set = 0;
    must(fx_device_fill(context, b->sets[0].data[p], 0xFF, b->n_bytes[p], stream), "cannot fill");
    pin(b, e, true);
    launch(b, e);
    must(fx_stream_wait(context, stream), e->name);
    pin(b, e, false);
    for (int i = 0; i < n; i++) {
        unsigned char raw[8];
        must(fx_device_read(context, raw, (char *)b->sets[0].data[p] + (size_t)b->elements[i] * bytes, bytes),
            "cannot read");
        double got = fx_load_double(b->shapes[p].dtype, raw, 0);
        if (fx_is_right(b->shapes[p].dtype, got, value[i], bound[i])) continue;
        if (n_wrong++ == 0)
            printf("%s: %s: element %lld is %.9g, expected %.9g, bound %.3g\n", b->c->name, e->name,
                (long long)b->elements[i], got, value[i], bound[i]);
    }
    if (n_wrong) printf("%s: %s: %d of %d elements wrong, not timed\n", b->c->name, e->name, n_wrong, n);
    return n_wrong == 0;
}

/* A product without its epilogue is what cuBLAS computes. */
static bool peer_is_right(struct bench *b, const struct entry *e) {
    static double value[N_CHECKED], bound[N_CHECKED];
    struct bench_case plain = *b->c;
    char text[1024];
    if (!is_product(b->c)) return true;
    plain.form = MATMUL;
    case_text(&plain, text, sizeof text);
    ask_oracle(b, text, value, bound, N_CHECKED / 10);
    return is_right(b, e, value, bound, N_CHECKED / 10);
}

/* Drops what is wrong; false if nothing of ours is left. */
static bool keep_right(struct bench *b) {
    int n = 0;
    draw_elements(b);
    ask_oracle(b, NULL, b->value, b->bound, N_CHECKED);
    for (int i = 0; i < b->n_entries; i++) {
        struct entry *e = &b->entries[i];
        if (e->is_peer ? peer_is_right(b, e) : is_right(b, e, b->value, b->bound, N_CHECKED)) b->entries[n++] = *e;
        else n_refused++;
    }
    b->n_entries = n;
    return n > 0 && !b->entries[0].is_peer;
}

/* ---- timing ---- */

static int batch_of(double us) {
    double n = ceil(BATCH_MICROSECONDS / (us > 0.01 ? us : 0.01));
    return n > MAX_BATCH ? MAX_BATCH : (int)n;
}

/* Until the clocks have settled; the last estimate counts. */
static void warm_up(struct bench *b) {
    double start = now(), fastest = INFINITY;
    do
        for (int i = 0; i < b->n_entries; i++) {
            struct entry *e = &b->entries[i];
            e->estimate = time_batch(b, e, e->batch);
            e->batch = batch_of(e->estimate);
        }
    while (now() - start < WARM_UP_SECONDS);
    for (int i = 0; i < b->n_entries; i++)
        if (!b->entries[i].is_peer && b->entries[i].estimate < fastest) fastest = b->entries[i].estimate;
    for (int i = 0; i < b->n_entries; i++) {
        struct entry *e = &b->entries[i];
        e->is_hopeless = !e->is_peer && !e->is_preferred && e->estimate > HOPELESS * fastest;
    }
}

/* Rounds in random order, the peer twice in each. */
static void time_interleaved(struct bench *b) {
    uint64_t state = 1;
    for (int r = 0; r < n_rounds; r++) {
        struct entry *order[MAX_ENTRIES + 1];
        int n = 0;
        for (int i = 0; i < b->n_entries; i++)
            for (int twice = 0; !b->entries[i].is_hopeless && twice <= b->entries[i].is_peer; twice++)
                order[n++] = &b->entries[i];
        for (int i = n - 1; i > 0; i--) {
            int j = (int)(hash(state += 0x9e3779b97f4a7c15u) % (uint32_t)(i + 1));
            struct entry *t = order[i];
            order[i] = order[j], order[j] = t;
        }
        for (int i = 0; i < n; i++) order[i]->samples[order[i]->n_samples++] = time_batch(b, order[i], order[i]->batch);
    }
}

/* Each by itself, clocks and caches its own; a third of the time to settle, the rest measured. */
static void time_alone(struct bench *b) {
    for (int i = 0; i < b->n_entries; i++) {
        struct entry *e = &b->entries[i];
        bool is_pinned_stage = b->kernel->n_launches > 1 && e->variant >= 0;
        double budget = e->is_hopeless ? ALONE_SECONDS / 4 : ALONE_SECONDS, start = now(), total = 0;
        int n = 0;
        if (is_pinned_stage) continue;
        while (now() - start < budget || n == 0) {
            double us = time_batch(b, e, e->batch);
            if (now() - start < budget / 3) continue;
            total += us;
            n++;
        }
        e->alone = total / n;
    }
}

/* ---- figures ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median and interquartile range of sorted samples; 0 where there are none. */
static double median_of(const struct entry *e) { return e->n_samples ? e->samples[e->n_samples / 2] : 0; }
static double spread_of(const struct entry *e) {
    return e->n_samples ? (e->samples[e->n_samples * 3 / 4] - e->samples[e->n_samples / 4]) / median_of(e) : 0;
}

static const char *number(double v, const char *format, char *buffer) {
    snprintf(buffer, 32, v > 0 ? format : "-", v);
    return buffer;
}

static void print_entry(const struct bench *b, const struct entry *e, const struct entry *peer) {
    char text[6][32];
    bool is_compute = is_product(b->c) || b->c->form == MLP;
    double us = median_of(e), alone = e->alone, best = us > 0 && (alone <= 0 || us < alone) ? us : alone;
    double ratio = peer && us > 0 ? median_of(peer) / us : 0, ratio_alone = peer && alone > 0 ? peer->alone / alone : 0;
    double rate = best > 0 ? (is_compute ? b->flops : b->bytes) / best * 1e-6 : 0;
    printf("%c %-34s %-32s %9s %6s %7s %9s %7s %8s %s\n",
        e->is_peer        ? '='
        : e->is_preferred ? '>'
                          : '*',
        b->c->name, e->name, number(us, "%.2f", text[0]), number(100 * spread_of(e), "%.1f%%", text[1]),
        number(ratio, "%.3f", text[2]), number(alone, "%.2f", text[3]), number(ratio_alone, "%.3f", text[4]),
        number(rate, is_compute ? "%.1f" : "%.3f", text[5]), is_compute ? "TFLOP/s" : "TB/s");
    if (!json) return;
    fprintf(json,
        "{\"case\": \"%s\", \"entry\": \"%s\", \"kind\": \"%s\", \"interleaved_us\": %.4f, \"spread\": %.4f, \"ratio\": %.4f, "
        "\"alone_us\": %.4f, \"alone_ratio\": %.4f, \"rate\": %.4f, \"unit\": \"%s\", \"rounds\": %d, \"batch\": %d, \"sets\": %d}\n",
        b->c->name, e->name,
        e->is_peer        ? "peer"
        : e->is_preferred ? "preferred"
                          : "variant",
        us, spread_of(e), ratio, alone, ratio_alone, rate, is_compute ? "TFLOP/s" : "TB/s", n_rounds, e->batch,
        b->n_sets);
}

static void print_bench(struct bench *b) {
    const struct entry *peer = NULL;
    for (int i = 0; i < b->n_entries; i++) {
        qsort(b->entries[i].samples, (size_t)b->entries[i].n_samples, sizeof *b->entries[i].samples, by_value);
        if (b->entries[i].is_peer) peer = &b->entries[i];
    }
    for (int i = 0; i < b->n_entries; i++) print_entry(b, &b->entries[i], peer);
    fflush(stdout);
}

static void run_case(const struct bench_case *c) {
    struct bench *b = need(malloc(sizeof *b));
    bench_open(b, c);
    list_entries(b);
    if (keep_right(b)) {
        warm_up(b);
        time_interleaved(b);
        time_alone(b);
        print_bench(b);
        n_timed++;
    }
    bench_close(b);
    free(b);
}

/* ---- what the host pays ---- */

static void print_cost(const char *what, double v, const char *unit) {
    printf("  %-62s %10.3f %s\n", what, v, unit);
    if (json)
        fprintf(json, "{\"case\": \"host\", \"entry\": \"%s\", \"value\": %.6f, \"unit\": \"%s\"}\n", what, v, unit);
}

/* From text to the first result, nothing of it in memory yet. */
static void time_cold(void) {
    struct bench_case c = {"linear_gelu", LINEAR_GELU, FX_BF16, false, 256, 256, 256};
    const struct fx_hint hints[] = {{"M", 256}, {"N", 256}, {"K", 256}};
    char text[1024];
    fx_compilation *compilation;
    fx_prepared *prepared;
    case_text(&c, text, sizeof text);
    double start = now();
    if (compile(text, &compilation) != FX_OK) die("%s", fx_messages(compilation));
    double compiled = now();
    must(fx_prepare(context, fx_get_plan(compilation), NULL, hints, 3, &prepared), "cannot prepare");
    double ready = now();
    print_cost("linear_gelu, fx_compile, cold", (compiled - start) * 1e3, "ms");
    print_cost("linear_gelu, fx_prepare with hints, cold", (ready - compiled) * 1e3, "ms");
    fx_prepared_release(prepared);
    start = now();
    must(fx_prepare(context, fx_get_plan(compilation), NULL, NULL, 0, &prepared), "cannot prepare");
    print_cost("linear_gelu, fx_prepare of the other variants", (now() - start) * 1e3, "ms");
    fx_prepared_release(prepared);
    start = now();
    must(fx_prepare(context, fx_get_plan(compilation), NULL, NULL, 0, &prepared), "cannot prepare");
    print_cost("linear_gelu, fx_prepare again", (now() - start) * 1e3, "ms");
    fx_prepared_release(prepared);
    fx_close(compilation);
    start = now();
    if (compile(text, &compilation) != FX_OK) die("%s", fx_messages(compilation));
    print_cost("linear_gelu, fx_compile again", (now() - start) * 1e3, "ms");
    fx_close(compilation);
}

/* In bursts, so that the queue of the device never fills. */
static void time_launches(void) {
    enum { BURSTS = 40, BURST = 250, N = 64 };
    const char *text = "kernel tiny(x: f32[A], w: f32[A]) -> y: f32[A] { y = x + w }";
    int64_t extent = N;
    DLTensor tensors[3];
    struct fx_value values[3];
    fx_compilation *compilation;
    fx_prepared *prepared;
    double total = 0;
    if (compile(text, &compilation) != FX_OK) die("%s", fx_messages(compilation));
    must(fx_prepare(context, fx_get_plan(compilation), NULL, NULL, 0, &prepared), "cannot prepare");
    for (int i = 0; i < 3; i++) {
        tensors[i] = (DLTensor){.device = {.device_type = 2}, .ndim = 1, .dtype = {2, 32, 1}, .shape = &extent};
        must(fx_device_alloc(context, N * 4, &tensors[i].data), "cannot allocate");
        must(fx_device_fill(context, tensors[i].data, 0, N * 4, stream), "cannot fill");
        values[i] = (struct fx_value){.tensor = &tensors[i]};
    }
    for (int burst = -1; burst < BURSTS; burst++) {
        double start = now();
        for (int i = 0; i < BURST; i++) must(fx_launch(prepared, values, 3, NULL, 0, stream), "cannot launch");
        if (burst >= 0) total += now() - start;
        must(fx_stream_wait(context, stream), "tiny");
    }
    print_cost("fx_launch of a tiny kernel, host time", total / (BURSTS * BURST) * 1e9, "ns");
    for (int i = 0; i < 3; i++) fx_device_free(context, tensors[i].data);
    fx_prepared_release(prepared);
    fx_close(compilation);
}

/* ---- the whole ---- */

static void draw_tables(void) {
    static const enum fx_dtype dtypes[] = {FX_F32, FX_F16, FX_BF16};
    struct draw normal = {DRAW_NORMAL, 0, 1};
    for (int i = 0; i < 3; i++) draw_fill(&normal, 1, dtypes[i], tables[dtypes[i]], TABLE_SIZE);
}

static void read_arguments(int argc, char **argv) {
    int n = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc) {
            json = fopen(argv[++i], "w");
            if (!json) die("cannot write %s", argv[i]);
        } else if (argv[i][0] == '-' || n == 2) {
            die("usage: bench_gpu [-o FILE] [FILTER [ROUNDS]]");
        } else if (n++ == 0) {
            filter = argv[i];
        } else if ((n_rounds = atoi(argv[i])) < 1 || n_rounds > MAX_ROUNDS) {
            die("rounds are from 1 to %d", MAX_ROUNDS);
        }
    }
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    draw_tables();
    double start = now();
    open_driver();
    must(fx_context_open(0, &context), "no GPU");
    must(fx_stream_open(context, &stream), "cannot open a stream");
    must(fx_timer_open(context, &timer), "cannot time");
    printf("%s, %s, %d multiprocessors\n", fx_context_device(context), fx_context_arch(context),
        fx_context_sm_count(context));
    if (strstr("host", filter)) {
        print_cost("opening the driver and a context", (now() - start) * 1e3, "ms");
        time_cold();
        time_launches();
    }
    open_cublas();
    printf("  %-34s %-32s %9s %6s %7s %9s %7s %8s\n", "case", "entry", "us", "spread", "ratio", "alone us", "ratio",
        "rate");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(cases[i].name, filter)) run_case(&cases[i]);
    printf("%d cases timed, %d entries refused\n", n_timed, n_refused);
    fx_timer_close(timer);
    fx_stream_close(context, stream);
    fx_context_close(context);
    if (json && fclose(json)) die("cannot write the figures");
    return n_refused > 0 || (n_timed == 0 && !strstr("host", filter));
}
