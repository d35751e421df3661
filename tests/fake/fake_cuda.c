/* A stand-in for libcuda.so.1: the entry points the runtime uses, over host memory. Every call is written to a log, and
 * a test may have any call fail. Invariant: what is handed out is counted until it is given back. */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 1 << 16, MAX_DEPTH = 16, MAX_ARGS = 16, MAX_OBJECTS = 4096, NOT_CURRENT = 201, INVALID = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[LOG_BYTES];
static size_t calls_len;
static int n_live;               /* objects handed out */
static unsigned long long n_taken; /* bytes of them that are memory */
static void *objects[MAX_OBJECTS]; /* they themselves, as a driver would keep them after an error */
static char failing[64];         /* the entry point that is to fail, "" for none */
static int fails_in, fail_code;  /* at its n-th call from now, with this code */
static int has_failed;           /* that call was made */
static int n_args;               /* of the kernels launched */
static uint64_t arguments[MAX_ARGS];
static int primary, foreign, static_shared;
static int resident = 2;         /* blocks an SM holds of any kernel */
static int version = 13000, capability = 90, most_shared = 232448;
static void *launched;           /* what was launched last */
static char spilling[64];        /* the entry whose threads have local memory, "" for none */
static int spilled_bytes;        /* so much */
static _Thread_local void *stack[MAX_DEPTH];
static _Thread_local int depth;

/* ---- what a test calls ---- */

void fake_cuda_fail(const char *name, int nth, int code) {
    snprintf(failing, sizeof failing, "%s", name);
    fails_in = nth;
    fail_code = code;
    has_failed = 0;
}
int fake_cuda_has_failed(void) { return has_failed; }
const char *fake_cuda_log(void) { return calls; }
void fake_cuda_clear(void) {
    calls_len = 0;
    calls[0] = failing[0] = 0;
}
int fake_cuda_live(void) { return n_live; }
int fake_cuda_depth(void) { return depth; }
void fake_cuda_take_arguments(int n) { n_args = n; }
uint64_t fake_cuda_argument(int i) { return arguments[i]; }
void *fake_cuda_launched(void) { return launched; }
void fake_cuda_device(int driver_version, int compute_capability) {
    version = driver_version;
    capability = compute_capability;
}
void fake_cuda_share(int n_bytes) { most_shared = n_bytes; }
void fake_cuda_spill(const char *entry, int n_bytes) {
    snprintf(spilling, sizeof spilling, "%s", entry);
    spilled_bytes = n_bytes;
}
void fake_cuda_hold(int n_blocks) { resident = n_blocks; }
/* What is still handed out as the process ends, into the file that FAKE_CUDA_LEFT names. */
__attribute__((destructor)) static void say_left(void) {
    const char *path = getenv("FAKE_CUDA_LEFT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f) return;
    fprintf(f, "%d\n", n_live);
    fclose(f);
}
/* A context of the test's own, made current on this thread. */
void *fake_cuda_make_current(void) { return stack[depth++] = &foreign; }

/* ---- the entry points ---- */

/* Writes the call down; returns what it is to return instead of working, or 0. */
__attribute__((format(printf, 2, 3))) static int call(const char *name, const char *fmt, ...) {
    int code = 0;
    va_list ap;
    pthread_mutex_lock(&lock);
    calls_len += (size_t)snprintf(calls + calls_len, LOG_BYTES - calls_len, "%s", name);
    va_start(ap, fmt);
    if (calls_len < LOG_BYTES) calls_len += (size_t)vsnprintf(calls + calls_len, LOG_BYTES - calls_len, fmt, ap);
    va_end(ap);
    if (calls_len < LOG_BYTES) calls_len += (size_t)snprintf(calls + calls_len, LOG_BYTES - calls_len, "\n");
    if (calls_len >= LOG_BYTES) calls_len = 0;
    if (!strcmp(name, failing) && --fails_in == 0) {
        code = fail_code;
        has_failed = 1;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static void *hand_out(size_t n_bytes) {
    void *p = aligned_alloc(256, (n_bytes + 256) & ~(size_t)255);
    int i = 0;
    pthread_mutex_lock(&lock);
    while (objects[i]) i++;
    objects[i] = p;
    n_live++;
    pthread_mutex_unlock(&lock);
    return p;
}

static int take_back(void *p) {
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < MAX_OBJECTS && objects[i] != p) i++;
    if (i < MAX_OBJECTS) objects[i] = NULL;
    n_live--;
    pthread_mutex_unlock(&lock);
    free(p);
    return i < MAX_OBJECTS ? 0 : INVALID;
}

#define CALL(...)                           \
    do {                                    \
        int code_ = call(__func__, __VA_ARGS__); \
        if (code_) return code_;            \
    } while (0)
#define IN_CONTEXT(...)                     \
    CALL(__VA_ARGS__);                      \
    if (depth == 0) return NOT_CURRENT

int cuInit(unsigned flags) { CALL(" %u", flags); return 0; }
int cuDriverGetVersion(int *v) { CALL("%s", ""); *v = version; return 0; }
int cuGetErrorName(int code, const char **name) {
    *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
    return 0;
}
int cuGetErrorString(int code, const char **words) {
    *words = code == 2 ? "out of memory" : "something else";
    return 0;
}

int cuDeviceGet(int *device, int ordinal) { CALL(" %d", ordinal); *device = ordinal; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char *name, int size, int device) {
    CALL(" %d", device);
    snprintf(name, (size_t)size, "Fake GPU");
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    CALL(" %d %d", attribute, device);
    *value = attribute == 16   ? 132
             : attribute == 75 ? capability / 10
             : attribute == 76 ? capability % 10
             : attribute == 97 ? most_shared
                               : 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    CALL(" %d", device);
    n_live++;
    *context = &primary;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) { CALL(" %d", device); n_live--; return 0; }

int cuCtxGetCurrent(void **context) { CALL("%s", ""); *context = depth ? stack[depth - 1] : NULL; return 0; }
int cuCtxGetDevice(int *device) { IN_CONTEXT("%s", ""); *device = 0; return 0; }
int cuCtxPushCurrent_v2(void *context) {
    CALL("%s", "");
    if (depth == MAX_DEPTH) return INVALID;
    stack[depth++] = context;
    return 0;
}
int cuCtxPopCurrent_v2(void **context) {
    int code = call(__func__, "%s", "");
    if (depth == 0) return NOT_CURRENT;
    *context = stack[--depth];
    return code;
}

int cuModuleLoadData(void **module, const void *image) {
    IN_CONTEXT(" %.60s", (const char *)image);
    *module = hand_out(1);
    return 0;
}
int cuModuleUnload(void *module) { IN_CONTEXT("%s", ""); return take_back(module); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    IN_CONTEXT(" %s", name);
    *function = module;
    *(int *)module = strcmp(name, spilling) ? 0 : spilled_bytes;
    return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    IN_CONTEXT(" %d %s", attribute, function ? "" : "NULL");
    *value = attribute == 0   ? 1024
             : attribute == 1 ? static_shared
             : attribute == 3 ? *(int *)function
             : attribute == 4 ? 40
                              : 0;
    return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    IN_CONTEXT(" %d %d%s", attribute, value, function ? "" : " NULL");
    return 0;
}

int cuLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned n, int *library_options,
    void **library_values, unsigned n_library) {
    CALL(" %.60s%s", (const char *)image, options || values || library_options || library_values || n || n_library ? " options" : "");
    *library = hand_out(1);
    return 0;
}
int cuLibraryUnload(void *library) { CALL("%s", ""); return take_back(library); }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    CALL(" %s%s", name, library ? "" : " NULL");
    *kernel = (void *)name; /* what is emitted holds it */
    return 0;
}
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device) {
    CALL(" %d %d %s %d", attribute, value, (const char *)kernel, device);
    return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, void *function, int block, size_t shared) {
    IN_CONTEXT(" block %d shared %zu%s", block, shared, function ? "" : " NULL");
    *n_blocks = resident;
    return 0;
}

static void keep_arguments(void *function, void **given) {
    launched = function;
    for (int i = 0; i < n_args && i < MAX_ARGS; i++) memcpy(&arguments[i], given[i], sizeof arguments[i]);
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **given, void **extra) {
    IN_CONTEXT(" grid %u %u %u block %u %u %u shared %u stream %d%s%s", gx, gy, gz, bx, by, bz, shared, stream != NULL,
               function ? "" : " NULL", extra ? " extra" : "");
    keep_arguments(function, given);
    return 0;
}
int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **given) {
    IN_CONTEXT(" grid %u %u %u block %u %u %u shared %u stream %d%s", gx, gy, gz, bx, by, bz, shared, stream != NULL,
               function ? "" : " NULL");
    keep_arguments(function, given);
    return 0;
}
struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct {
        int id, pad;
        unsigned cluster[16];
    } * attributes;
    unsigned n;
};
int cuLaunchKernelEx(const struct config *c, void *function, void **given, void **extra) {
    IN_CONTEXT(" grid %u block %u shared %u stream %d attributes %u id %d cluster %u %u %u%s%s", c->grid[0],
        c->block[0], c->shared, c->stream != NULL, c->n, c->attributes->id, c->attributes->cluster[0],
        c->attributes->id == 4 ? c->attributes->cluster[1] : 0, c->attributes->id == 4 ? c->attributes->cluster[2] : 0,
        function ? "" : " NULL", extra ? " extra" : "");
    keep_arguments(function, given);
    return 0;
}

int cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, void *address, const uint64_t *extents, const uint64_t *strides,
    const unsigned *box, const unsigned *steps, int interleave, int swizzle, int l2, int fill) {
    IN_CONTEXT(" %d %u %llu %llu %llu %u %u %u %d %d %d %d", dtype, rank, (unsigned long long)extents[0], (unsigned long long)extents[1],
        (unsigned long long)strides[0], box[0], box[1], steps[0], interleave, swizzle, l2, fill);
    memset(map, 0x5A, 128);
    *(uint64_t *)map = (uintptr_t)address + 31 * extents[0] + 37 * extents[1] + 41 * strides[0]; /* one map differs from another */
    return 0;
}
int cuTensorMapEncodeIm2col(void *map, int dtype, unsigned rank, void *address, const uint64_t *extents, const uint64_t *strides,
    const int *lower, const int *upper, unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle, int l2, int fill) {
    IN_CONTEXT(" %d %u %llu %llu %llu %d %d %u %u %u %d %d %d %d", dtype, rank, (unsigned long long)extents[0], (unsigned long long)extents[1],
        (unsigned long long)strides[0], lower[0], upper[0], channels, pixels, steps[1], interleave, swizzle, l2, fill);
    memset(map, 0x5A, 128);
    *(uint64_t *)map = (uintptr_t)address + 31 * extents[0] + 37 * extents[1] + 41 * strides[0]; /* one map differs from another */
    return 0;
}
/* Of as many bytes as FAKE_CUDA_MEMORY says, if it says so. */
int cuMemAlloc_v2(uint64_t *address, size_t n) {
    const char *most = getenv("FAKE_CUDA_MEMORY");
    IN_CONTEXT(" %zu", n);
    pthread_mutex_lock(&lock);
    const int is_short = most && n_taken + n > strtoull(most, NULL, 10);
    if (!is_short) n_taken += n;
    pthread_mutex_unlock(&lock);
    if (is_short) return 2;
    size_t *p = hand_out(n + 256); /* its size stands ahead of it */
    *p = n;
    *address = (uintptr_t)p + 256;
    return 0;
}
int cuMemFree_v2(uint64_t address) {
    IN_CONTEXT("%s", "");
    size_t *p = (size_t *)(uintptr_t)(address - 256);
    pthread_mutex_lock(&lock);
    n_taken -= *p;
    pthread_mutex_unlock(&lock);
    return take_back(p);
}
int cuMemcpyHtoD_v2(uint64_t device, const void *host, size_t n) {
    IN_CONTEXT(" %zu", n);
    memcpy((void *)(uintptr_t)device, host, n);
    return 0;
}
int cuMemcpyDtoH_v2(void *host, uint64_t device, size_t n) {
    IN_CONTEXT(" %zu", n);
    memcpy(host, (void *)(uintptr_t)device, n);
    return 0;
}
int cuMemsetD8Async(uint64_t device, unsigned char byte, size_t n, void *stream) {
    IN_CONTEXT(" %d %zu stream %d", byte, n, stream != NULL);
    memset((void *)(uintptr_t)device, byte, n);
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags) { IN_CONTEXT(" %u", flags); *stream = hand_out(1); return 0; }
int cuStreamDestroy_v2(void *stream) { IN_CONTEXT("%s", ""); return take_back(stream); }
int cuStreamSynchronize(void *stream) { IN_CONTEXT(" %d", stream != NULL); return 0; }
int cuEventCreate(void **event, unsigned flags) { IN_CONTEXT(" %u", flags); *event = hand_out(1); return 0; }
int cuEventDestroy_v2(void *event) { IN_CONTEXT("%s", ""); return take_back(event); }
int cuEventRecord(void *event, void *stream) { IN_CONTEXT(" %d %d", event != NULL, stream != NULL); return 0; }
int cuEventSynchronize(void *event) { IN_CONTEXT(" %d", event != NULL); return 0; }
int cuEventElapsedTime(float *ms, void *start, void *stop) {
    IN_CONTEXT(" %d %d", start != NULL, stop != NULL);
    *ms = 1.5f;
    return 0;
}
