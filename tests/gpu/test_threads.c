/* Eight threads that compile, prepare and launch the same and different specs through one context, round after round.
 * In a round every thread takes one spec that all share and one that no other thread and no other round has, and
 * launches both on a stream of its own; then the context is closed. Input: [SECONDS [emu | blind]], 60 by default;
 * blind looks at no element, for a driver that computes nothing. Output: what was done, how memory grew from the end of
 * the first fifth of the time on, and `N passed, M failed`. A failure is an error, a wrong element, or memory that is
 * lost: MAX_LOST bytes for every kernel prepared, of the C library's heaps or of the device. What NVRTC and the driver
 * lose by themselves does not count: the programs of the last round are compiled and loaded again by as many threads,
 * with nothing of fx in between. The resident size is told and not judged: most of it is free memory of the heaps that
 * threads had, of which NVRTC leaves behind one for each thread. Exit 1 where something failed, 77 without a GPU.
 * Nothing is taken from the disk cache. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fx.h"
#include "fx_runtime.h"
#include "lib/runtime.h"

enum { N_THREADS = 8, M = 48, K = 64, N = 40, N_LAUNCHES = 25, MAX_PROGRAMS = 256, MAX_OPTIONS = 8, MAX_LOST = 8192 };

static const char shared_spec[] =
    "kernel shared(x: f16[M,K], w: f16[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }\n"
    "kernel total(x: f32[M,N]) -> s: f32[M] { s = sum[N](x) }\n";

static fx_context *context;
static pthread_barrier_t start;
static atomic_long n_prepared, n_launched, n_passed, n_failed;
static int round_number;
static bool is_blind;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(int thread, const char *what, const char *why) {
    n_failed++;
    printf("round %d, thread %d: %s: %s\n", round_number, thread, what, why);
}

/* ---- memory ---- */

/* Bytes of all heaps that somebody has not given back. */
static double in_use(void) {
    struct mallinfo2 all = mallinfo2();
    return (double)all.uordblks + (double)all.hblkhd;
}

static double resident(void) {
    long pages = 0, all;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Of the current device; 0 where there is none to ask. */
static double device_used(void) {
    static int (*info)(size_t *, size_t *);
    size_t left, all;
    void *driver = info ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    if (driver) *(void **)&info = dlsym(driver, "cuMemGetInfo_v2");
    return info && info(&left, &all) == 0 ? (double)(all - left) : 0;
}

/* ---- NVRTC alone ---- */

static struct program { /* as fx gave it to NVRTC in the last round */
    void *handle;
    char *source, *options[MAX_OPTIONS];
    int n_options;
} programs[MAX_PROGRAMS];
static int n_programs;
static atomic_long n_compiled, next_program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvrtc_table real;

static int create(
    void **handle, const char *source, const char *name, int n, const char *const *headers, const char *const *names) {
    int code = real.nvrtcCreateProgram(handle, source, name, n, headers, names);
    pthread_mutex_lock(&lock);
    if (n_programs < MAX_PROGRAMS)
        programs[n_programs++] = (struct program){.handle = *handle, .source = strdup(source)};
    pthread_mutex_unlock(&lock);
    return code;
}

static int compile(void *handle, int n, const char *const *options) {
    n_compiled++;
    pthread_mutex_lock(&lock);
    for (int p = n_programs - 1; p >= 0; p--) {
        if (programs[p].handle != handle) continue;
        for (int i = 0; i < n && i < MAX_OPTIONS; i++)
            programs[p].options[programs[p].n_options++] = strdup(options[i]);
        break;
    }
    pthread_mutex_unlock(&lock);
    return real.nvrtcCompileProgram(handle, n, options);
}

static void forget_programs(void) {
    for (int p = 0; p < n_programs; p++) {
        free(programs[p].source);
        for (int i = 0; i < programs[p].n_options; i++) free(programs[p].options[i]);
    }
    n_programs = 0;
}

/* What fx asks NVRTC goes through the two functions above. */
static void watch_nvrtc(void) {
    real = cuda_nvrtc;
    cuda_nvrtc.nvrtcCreateProgram = create;
    cuda_nvrtc.nvrtcCompileProgram = compile;
}

/* Compiles a program and loads it, as fx does. */
static bool build_alone(const struct program *p) {
    void *program = NULL, *module = NULL, *popped;
    size_t n_bytes = 0;
    if (real.nvrtcCreateProgram(&program, p->source, "alone.cu", 0, NULL, NULL) != 0) return false;
    bool is_made = real.nvrtcCompileProgram(program, p->n_options, (const char *const *)p->options) == 0 &&
                   real.nvrtcGetCUBINSize(program, &n_bytes) == 0;
    char *image = malloc(n_bytes + 1);
    is_made = is_made && image && real.nvrtcGetCUBIN(program, image) == 0;
    real.nvrtcDestroyProgram(&program);
    if (is_made) is_made = cuda_driver.cuCtxPushCurrent(context->cuda) == 0;
    if (is_made) {
        is_made = cuda_driver.cuModuleLoadData(&module, image) == 0 && cuda_driver.cuModuleUnload(module) == 0;
        cuda_driver.cuCtxPopCurrent(&popped);
    }
    free(image);
    return is_made;
}

static void *build_next(void *argument) {
    if (!build_alone(&programs[*(const long *)argument])) fail(-1, "NVRTC alone", "it does not compile, or load");
    return NULL;
}

/* Each program by a thread of its own, as NVRTC keeps something of every thread. */
static void *build_some(void *argument) {
    pthread_t thread;
    for (long i; (i = next_program++) < n_programs;) {
        if (pthread_create(&thread, NULL, build_next, &i) != 0) abort();
        pthread_join(thread, NULL);
    }
    return argument;
}

/* ---- what a thread does ---- */

struct tensor {
    DLTensor t;
    int64_t shape[2];
};

static bool put(struct tensor *t, int bits, int64_t rows, int64_t columns, const void *data) {
    *t = (struct tensor){.shape = {rows, columns}};
    t->t = (DLTensor){.device = {2, 0}, .ndim = columns ? 2 : 1, .dtype = {2, (uint8_t)bits, 1}, .shape = t->shape};
    size_t n_bytes = (size_t)(rows * (columns ? columns : 1) * bits / 8);
    return fx_device_alloc(context, n_bytes, &t->t.data) == FX_OK &&
           (!data || fx_device_write(context, t->t.data, data, n_bytes) == FX_OK);
}

/* f16 of a small whole number. */
static uint16_t half(int value) {
    uint16_t sign = value < 0 ? 0x8000 : 0, exponent = 25;
    int v = value < 0 ? -value : value;
    if (v == 0) return sign;
    for (; v < 1024; v <<= 1) exponent--;
    return (uint16_t)(sign | exponent << 10 | (v & 1023));
}

static int x_of(int thread, int m, int k) { return (m * 7 + k * 3 + thread) % 9 - 4; }
static int w_of(int k, int n) { return (k * 5 + n * 11) % 7 - 3; }

struct work { /* of a thread, in a round */
    int thread;
    struct tensor x, w, b, y;
    float want[M * N], got[M * N];
    void *stream;
};

static bool fill(struct work *c) {
    uint16_t x[M * K], w[K * N];
    float b[N];
    for (int i = 0; i < M * K; i++) x[i] = half(x_of(c->thread, i / K, i % K));
    for (int i = 0; i < K * N; i++) w[i] = half(w_of(i / N, i % N));
    for (int n = 0; n < N; n++) b[n] = (float)(n - 8);
    for (int i = 0; i < M * N; i++) {
        int sum = i % N - 8;
        for (int k = 0; k < K; k++) sum += x_of(c->thread, i / N, k) * w_of(k, i % N);
        c->want[i] = (float)sum;
    }
    return put(&c->x, 16, M, K, x) && put(&c->w, 16, K, N, w) && put(&c->b, 32, N, 0, b) &&
           put(&c->y, 32, M, N, NULL) && fx_stream_open(context, &c->stream) == FX_OK;
}

/* Compiles a spec and launches its first kernel again and again; y is a * relu(x @ w + b) + a. */
static void run_spec(struct work *c, const char *spec, const char *what, int a) {
    struct fx_options options = FX_OPTIONS;
    fx_compilation *compiled = NULL;
    fx_prepared *p = NULL;
    void *workspace = NULL;
    size_t workspace_bytes = 0;
    struct fx_value args[4] = {{.tensor = &c->x.t}, {.tensor = &c->w.t}, {.tensor = &c->b.t}, {.tensor = &c->y.t}};
    options.arch = fx_context_arch(context);
    fx_status status = fx_compile(spec, strlen(spec), what, &options, &compiled);
    if (status != FX_OK) {
        fail(c->thread, what, compiled ? fx_messages(compiled) : "out of memory");
        fx_close(compiled);
        return;
    }
    const struct fx_hint hints[] = {{"M", M}, {"K", K}, {"N", N}};
    status = fx_prepare(context, fx_get_plan(compiled), NULL, hints, 3, &p);
    fx_close(compiled);
    if (status == FX_OK) n_prepared++;
    if (status == FX_OK) status = fx_workspace_bytes(p, args, 4, &workspace_bytes);
    if (status == FX_OK && workspace_bytes) status = fx_device_alloc(context, workspace_bytes, &workspace);
    for (int i = 0; i < N_LAUNCHES && status == FX_OK; i++) {
        status = fx_launch(p, args, 4, workspace, workspace_bytes, c->stream);
        n_launched++;
    }
    if (status == FX_OK) status = fx_stream_wait(context, c->stream);
    if (status == FX_OK) status = fx_device_read(context, c->got, c->y.t.data, sizeof c->got);
    if (status != FX_OK) fail(c->thread, what, fx_last_error());
    for (int i = 0; i < M * N && status == FX_OK && !is_blind; i++) {
        float want = (float)a * (c->want[i] > 0 ? c->want[i] : 0) + (a == 1 ? 0 : (float)a);
        if (c->got[i] != want) {
            fail(c->thread, what, "a wrong element");
            status = FX_ERR_INTERNAL;
        }
    }
    if (status == FX_OK) n_passed++;
    fx_device_free(context, workspace);
    fx_prepared_release(p);
}

static void *run_thread(void *argument) {
    struct work c = {.thread = *(const int *)argument};
    char own[256];
    int a = 2 + (round_number * N_THREADS + c.thread) % 4000;
    snprintf(own, sizeof own,
        "kernel own(x: f16[M,K], w: f16[K,N], b: f32[N]) -> y: f32[M,N] { y = %d * relu(x @ w + b) + %d }\n", a, a);
    if (!fill(&c)) fail(c.thread, "memory", fx_last_error());
    pthread_barrier_wait(&start);
    run_spec(&c, c.thread % 2 ? own : shared_spec, c.thread % 2 ? "own" : "shared", c.thread % 2 ? a : 1);
    run_spec(&c, c.thread % 2 ? shared_spec : own, c.thread % 2 ? "shared" : "own", c.thread % 2 ? 1 : a);
    struct tensor *all[] = {&c.x, &c.w, &c.b, &c.y};
    for (int i = 0; i < 4; i++) fx_device_free(context, all[i]->t.data);
    fx_stream_close(context, c.stream);
    return NULL;
}

static bool run_threads(void *(*run)(void *)) {
    pthread_t threads[N_THREADS];
    int numbers[N_THREADS];
    if (fx_context_open(0, &context) != FX_OK) return false;
    for (int i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) abort();
    }
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    fx_context_close(context);
    return true;
}

/* Bytes of the heap that a program costs where fx has no part in it, after a first turn of all. */
static double lost_alone(void) {
    enum { N_TURNS = 4 };
    double before = 0;
    if (n_programs == 0) return 0;
    for (int turn = 0; turn <= N_TURNS; turn++) {
        if (turn == 1) before = in_use();
        next_program = 0;
        if (!run_threads(build_some)) fail(-1, "context", fx_last_error());
    }
    return (in_use() - before) / (N_TURNS * n_programs);
}

int main(int n_args, char **args) {
    double seconds = n_args > 1 ? atof(args[1]) : 60, began = now(), host = 0, all = 0, device = 0;
    bool is_emulated = n_args > 2 && !strcmp(args[2], "emu");
    is_blind = n_args > 2 && !is_emulated;
    long first_compiled = 0, first_prepared = 0;
    int first_round = 0;
    fx_context *kept; /* the primary context outlives the rounds, or its memory would come and go */
    setenv("FX_CACHE", "off", 1);
    fx_status status = is_emulated ? fx_emulate(NULL) : FX_OK;
    if (status == FX_OK) status = fx_context_open(0, &kept);
    if (status == FX_OK && !is_emulated && (status = nvrtc_open()) == FX_OK) watch_nvrtc();
    if (status != FX_OK) {
        fprintf(stderr, "threads: %s\n", fx_last_error());
        return 77;
    }
    pthread_barrier_init(&start, NULL, N_THREADS);
    do {
        forget_programs();
        if (!run_threads(run_thread)) fail(-1, "context", fx_last_error());
        round_number++;
        if (first_round || now() - began < seconds / 5) continue;
        forget_programs();
        host = in_use(), all = resident(), device = device_used(), first_round = round_number;
        first_compiled = n_compiled, first_prepared = n_prepared;
    } while ((now() - began < seconds || round_number < first_round + 2) && n_failed == 0);
    int n_rounds = round_number - first_round;
    double grown = in_use() - host, resident_grown = resident() - all, used = device_used() - device;
    double kept_bytes = 0;
    for (int p = 0; p < n_programs; p++) kept_bytes += (double)malloc_usable_size(programs[p].source);
    double alone = lost_alone(), lost = grown - kept_bytes - alone * (double)(n_compiled - first_compiled);
    double most = (double)MAX_LOST * (double)(n_prepared - first_prepared);
    printf("%d rounds of %d threads in %.0f s: %ld prepared, %ld launches, %ld compilations\n", round_number, N_THREADS,
        now() - began, (long)n_prepared, (long)n_launched, (long)n_compiled);
    printf(
        "in %d rounds the heap in use grew by %.0f bytes, of which NVRTC and driver alone would lose %.0f a program; "
        "the device's memory by %.0f; the resident size by %.1f MB to %.0f\n",
        n_rounds, grown - kept_bytes, alone, used, resident_grown / 1e6, resident() / 1e6);
    if (lost > most) fail(-1, "memory", "the heap in use grows");
    if (used > most) fail(-1, "memory", "what is in use of the device grows");
    forget_programs();
    fx_context_close(kept);
    printf("%ld passed, %ld failed\n", (long)n_passed, (long)n_failed);
    return n_failed != 0;
}
