/* Two devices in one process: a kernel compiled once, prepared on both, launched from one thread by turns and from two
 * threads at once, by the runtime and by a file compiled ahead of time, which is loaded where it is first launched.
 * Where there is one GPU a second CUDA context on it stands for the other. Input: the folder of the specs. Output: a
 * line about the devices, what failed, as the last line how many launches had all elements right; exit 0 where all
 * were, 1 where not, 77 where there is no GPU. tests/gpu/loading.sh builds and runs it. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ahead_linear.h"
#include "fx.h"
#include "fx_runtime.h"

enum { N_DEVICES = 2, M = 200, K = 512, N = 264, N_LAUNCHES = 50 };

static struct {
    int (*init)(unsigned), (*count)(int *), (*retain)(void **, int), (*create)(void **, unsigned, int);
    int (*get)(void **), (*set)(void *);
} cu;

static struct place { /* a device, or a context that stands for one */
    int number, device;
    void *cuda;
    fx_context *context;
    fx_prepared *kernel;
    DLTensor tensors[4];
    int64_t shapes[4][2];
    void *workspace, *stream;
    size_t workspace_bytes;
    float want[M * N];
    int n_right, n_wrong;
} places[N_DEVICES];

static void need(fx_status status, const char *what) {
    if (status == FX_OK) return;
    fprintf(stderr, "devices: %s: %s\n", what, fx_last_error());
    exit(1);
}

static void fail(struct place *p, const char *what) {
    p->n_wrong++;
    printf("FAILED device %d: %s\n", p->number, what);
}

/* ---- the driver's contexts ---- */

static int find_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int n = 0;
    if (!driver) fprintf(stderr, "devices: there is no driver\n"), exit(77);
    const struct {
        const char *name;
        void *place;
    } all[] = {{"cuInit", &cu.init}, {"cuDeviceGetCount", &cu.count}, {"cuDevicePrimaryCtxRetain", &cu.retain},
        {"cuCtxCreate_v2", &cu.create}, {"cuCtxGetCurrent", &cu.get}, {"cuCtxSetCurrent", &cu.set}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(driver, all[i].name);
        if (!found) fprintf(stderr, "devices: the driver has no %s\n", all[i].name), exit(1);
        memcpy(all[i].place, &found, sizeof found);
    }
    if (cu.init(0) || cu.count(&n) || n == 0) fprintf(stderr, "devices: there is no GPU\n"), exit(77);
    return n;
}

static void make_current(void *context) {
    if (cu.set(context)) fprintf(stderr, "devices: cuCtxSetCurrent failed\n"), exit(1);
}

static bool is_current(void *context) {
    void *current = NULL;
    return cu.get(&current) == 0 && current == context;
}

/* ---- data ---- */

static uint16_t bf16(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t v) {
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int x_of(const struct place *p, int m, int k) { return (m * 7 + k * 3 + 5 * p->number) % 9 - 4; }
static int w_of(int k, int n) { return (k * 5 + n * 11) % 7 - 3; }

static void put(struct place *p, int i, int64_t rows, int64_t columns, const uint16_t *data) {
    DLTensor *t = &p->tensors[i];
    size_t n_bytes = (size_t)(rows * (columns ? columns : 1)) * 2;
    p->shapes[i][0] = rows, p->shapes[i][1] = columns;
    *t = (DLTensor){.device = {2, p->device}, .ndim = columns ? 2 : 1, .dtype = {4, 16, 1}, .shape = p->shapes[i]};
    need(fx_device_alloc(p->context, n_bytes, &t->data), "memory");
    if (data) need(fx_device_write(p->context, t->data, data, n_bytes), "a copy");
}

static void fill(struct place *p) {
    static uint16_t x[M * K], w[K * N], b[N];
    for (int i = 0; i < M * K; i++) x[i] = bf16((float)x_of(p, i / K, i % K) / 16);
    for (int i = 0; i < K * N; i++) w[i] = bf16((float)w_of(i / N, i % N) / 16);
    for (int n = 0; n < N; n++) b[n] = bf16((float)(n % 16 - 8) / 4);
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) sum += x_of(p, i / N, k) * w_of(k, i % N);
        sum = sum / 256 + (i % N % 16 - 8) / 4.0;
        p->want[i] = (float)(sum * (1 + erf(sum / sqrt(2))) / 2);
    }
    put(p, 0, M, K, x), put(p, 1, K, N, w), put(p, 2, N, 0, b), put(p, 3, M, N, NULL);
}

static void arguments(const struct place *p, struct fx_value *args) {
    for (int i = 0; i < 4; i++) args[i] = (struct fx_value){.tensor = &p->tensors[i]};
}

static void open_place(struct place *p, int number, int n_devices, const struct fx_plan *plan) {
    struct fx_value args[4];
    p->number = number, p->device = number < n_devices ? number : 0;
    if (number == p->device ? cu.retain(&p->cuda, p->device) : cu.create(&p->cuda, 0, p->device))
        fprintf(stderr, "devices: no context on device %d\n", p->device), exit(1);
    /* the first is opened by its number, as a program that has no context does, the second by its context */
    make_current(number ? p->cuda : NULL);
    need(fx_context_open(p->device, &p->context), "a context");
    make_current(NULL);
    need(fx_prepare(p->context, plan, "linear", NULL, 0, &p->kernel), "fx_prepare");
    fill(p);
    arguments(p, args);
    need(fx_workspace_bytes(p->kernel, args, 4, &p->workspace_bytes), "fx_workspace_bytes");
    if (p->workspace_bytes) need(fx_device_alloc(p->context, p->workspace_bytes, &p->workspace), "memory");
    need(fx_stream_open(p->context, &p->stream), "a stream");
    if (!is_current(NULL)) fail(p, "a call left another context current");
}

static void close_place(struct place *p) {
    for (int i = 0; i < 4; i++) fx_device_free(p->context, p->tensors[i].data);
    fx_device_free(p->context, p->workspace);
    fx_stream_close(p->context, p->stream);
    fx_prepared_release(p->kernel);
    fx_context_close(p->context);
}

/* ---- launches ---- */

static fx_status launch_runtime(const struct place *p) {
    struct fx_value args[4];
    arguments(p, args);
    return fx_launch(p->kernel, args, 4, p->workspace, p->workspace_bytes, p->stream);
}

/* It goes to the device of the current context, of which nothing was prepared. */
static int launch_ahead(const struct place *p) {
    void *before = NULL;
    cu.get(&before);
    make_current(p->cuda);
    int r = linear_launch(
        p->stream, p->tensors[0].data, p->tensors[1].data, p->tensors[2].data, p->tensors[3].data, p->workspace, M, N);
    make_current(before);
    return r;
}

static void clear(struct place *p) {
    need(fx_device_fill(p->context, p->tensors[3].data, 0xff, M * N * 2, p->stream), "fx_device_fill");
}

static void look(struct place *p, const char *what) {
    static _Thread_local uint16_t got[M * N];
    need(fx_stream_wait(p->context, p->stream), what);
    need(fx_device_read(p->context, got, p->tensors[3].data, sizeof got), what);
    for (int i = 0; i < M * N; i++) {
        float off = fabsf(from_bf16(got[i]) - p->want[i]);
        if (!(off <= fabsf(p->want[i]) / 128 + 1e-5f)) {
            fail(p, what);
            return;
        }
    }
    p->n_right++;
}

static void launch_both(struct place *p) {
    clear(p);
    if (launch_runtime(p) != FX_OK) fail(p, fx_last_error());
    look(p, "fx_launch: a wrong element");
    clear(p);
    int r = launch_ahead(p);
    if (r) fail(p, ahead_linear_error_name(r));
    look(p, "ahead of time: a wrong element");
}

static void *run_thread(void *place) {
    for (int i = 0; i < N_LAUNCHES; i++) launch_both(place);
    return NULL;
}

/* Enqueued on all before any is waited for. */
static void run_in_turns(void) {
    for (int i = 0; i < N_LAUNCHES; i++) {
        for (int d = 0; d < N_DEVICES; d++) clear(&places[d]);
        for (int d = 0; d < N_DEVICES; d++)
            if (i % 2 ? launch_runtime(&places[d]) != FX_OK : launch_ahead(&places[d])) fail(&places[d], "no launch");
        for (int d = 0; d < N_DEVICES; d++) look(&places[d], "by turns: a wrong element");
    }
}

/* A tensor of one device handed to the kernel of the other. */
static void refuse_strangers(int n_devices) {
    struct fx_value args[4];
    if (n_devices < 2) return;
    arguments(&places[0], args);
    args[1].tensor = &places[1].tensors[1];
    fx_status status = fx_launch(
        places[0].kernel, args, 4, places[0].workspace, places[0].workspace_bytes, places[0].stream);
    if (status != FX_ERR_USAGE || !strstr(fx_last_error(), "w is on CUDA device 1, but the kernel is on device 0"))
        fail(&places[0], "a tensor of the other device is not refused");
    else places[0].n_right++;
}

static char *read_text(const char *folder) {
    char path[1000];
    snprintf(path, sizeof path, "%s/linear.fx", folder);
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || fread(text, 1, (1 << 16) - 1, f) == 0) perror(path), exit(1);
    fclose(f);
    return text;
}

int main(int argc, char **argv) {
    static const char *define = "K=512";
    struct fx_options options = FX_OPTIONS;
    fx_compilation *c;
    fx_context *first;
    pthread_t threads[N_DEVICES];
    if (argc != 2) return fprintf(stderr, "usage: devices FOLDER\n"), 2;
    int n_devices = find_driver(), n_right = 0, n_wrong = 0;
    char *text = read_text(argv[1]);
    need(fx_context_open(0, &first), "a context");
    options.arch = fx_context_arch(first);
    options.defines = &define, options.n_defines = 1;
    if (fx_compile(text, strlen(text), "linear", &options, &c) != FX_OK)
        return fprintf(stderr, "%s", fx_messages(c)), 1;
    for (int d = 0; d < N_DEVICES; d++) open_place(&places[d], d, n_devices, fx_get_plan(c));
    fx_close(c);
    free(text);
    printf("%d %s: %s and %s\n", n_devices, n_devices > 1 ? "devices" : "device, in two contexts",
        fx_context_device(places[0].context), fx_context_device(places[1].context));
    run_in_turns();
    refuse_strangers(n_devices);
    if (ahead_linear_unload()) fail(&places[0], "unloading");
    for (int d = 0; d < N_DEVICES; d++)
        if (pthread_create(&threads[d], NULL, run_thread, &places[d]) != 0) return 1;
    for (int d = 0; d < N_DEVICES; d++) pthread_join(threads[d], NULL);
    if (ahead_linear_unload()) fail(&places[0], "unloading");
    for (int d = 0; d < N_DEVICES; d++) {
        n_right += places[d].n_right, n_wrong += places[d].n_wrong;
        close_place(&places[d]);
    }
    fx_context_close(first);
    printf("%d right on %d device%s, %d wrong\n", n_right, n_devices, n_devices > 1 ? "s" : "", n_wrong);
    return n_wrong != 0;
}
