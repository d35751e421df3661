/* Every kernel of every plan, on the GPU, against the oracle. Input: specs generated here, drawn data. Output: a line a
 * section, `N passed, M failed`, and a status that is not 0 where anything failed or nothing was compared.
 * Invariant: outputs and workspace hold NaN before a launch and everything beside them must still do so after it; what
 * lies beside inputs is NaN too; every variant whose `needs` holds runs, not only the one that would be chosen.
 *
 *   test_gpu [FILTER]       the sections whose names contain FILTER; `smallest` is made for compute-sanitizer:
 *                           each tensor is an allocation of its own, so that its ends are seen
 *   FX_DRY=right|wrong|outside test_gpu    without a GPU: the oracle's results stand for the launch's, kept as they are
 *                           or spoilt, which must pass and must fail: a test of this program alone */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command/draw.h"
#include "fx.h"
#include "fx_runtime.h"

enum {
    MAX_THREADS = 64,
    MAX_PARAMS = 40,
    MAX_EXTENTS = 26,    /* labels are single capitals */
    TEXT_SIZE = 16384,   /* of a spec */
    GUARD = 512,         /* bytes beside every output */
    MOAT = 8192,         /* bytes beside every input */
    MAX_REPORTS = 12,    /* failures told in full, a section */
    TABLE_SIZE = 1 << 16, /* drawn normals that large tensors are filled from */
    MOST_SLOTS = 32,      /* launches that are read back together */
    SLOTS_BYTES = 8 << 20 /* of their outputs */
};

static fx_context *context; /* NULL when dry */
static enum { DRY_NOT, DRY_RIGHT, DRY_WRONG, DRY_OUTSIDE } dry;
static const char *section_name;
static atomic_long n_launches, n_compared, n_failed, n_reports; /* of the section */
static long total_passed, total_failed, total_compared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards stdout and the table of resources */
static float normals[TABLE_SIZE];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&lock);
    printf("%s: ", section_name ? section_name : "test_gpu");
    vprintf(fmt, args);
    printf("\n0 passed, 1 failed\n");
    fflush(stdout);
    _exit(1);
}

static void *need(void *p) {
    if (!p) die("out of memory");
    return p;
}

/* One failed check, told unless many were. */
__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...) {
    va_list args;
    n_failed++;
    if (n_reports++ >= MAX_REPORTS) return;
    va_start(args, fmt);
    pthread_mutex_lock(&lock);
    printf("  %s: ", section_name);
    vprintf(fmt, args);
    printf("\n");
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

/* ---- the device; without one, host memory ---- */

static void must(fx_status status, const char *what) {
    if (status != FX_OK) die("%s: %s", what, fx_last_error());
}

static void *device_alloc(size_t n_bytes) {
    void *p;
    if (dry) return need(aligned_alloc(256, (n_bytes + 255) / 256 * 256));
    must(fx_device_alloc(context, n_bytes, &p), "cannot allocate");
    return p;
}

static void device_free(void *p) {
    if (dry) free(p);
    else fx_device_free(context, p);
}

static void device_write(void *device, const void *host, size_t n_bytes) {
    if (dry) memcpy(device, host, n_bytes);
    else must(fx_device_write(context, device, host, n_bytes), "cannot write");
}

static void device_read(void *host, const void *device, size_t n_bytes) {
    if (dry) memcpy(host, device, n_bytes);
    else must(fx_device_read(context, host, device, n_bytes), "cannot read");
}

static void device_fill(void *device, unsigned char byte, size_t n_bytes, void *stream) {
    if (dry) memset(device, byte, n_bytes);
    else must(fx_device_fill(context, device, byte, n_bytes, stream), "cannot fill");
}

static void *stream_open(void) {
    void *stream = NULL;
    if (!dry) must(fx_stream_open(context, &stream), "cannot open a stream");
    return stream;
}

/* A failure here is that of a kernel. */
static void stream_wait(void *stream, const char *entry, const char *text) {
    if (!dry && fx_stream_wait(context, stream) != FX_OK) die("%s failed: %s\n%s", entry, fx_last_error(), text);
}

/* ---- workers ---- */

struct block { /* device memory and its image */
    unsigned char *device, *host;
    size_t size, host_size;
};

struct worker { /* a thread with memory of its own, kept for the whole run */
    void *stream;
    struct block in, out, workspace;
    unsigned char *want; /* the image the output block should have */
    size_t want_size;
};

typedef void task(struct worker *w, int i);

static struct worker workers[MAX_THREADS];
static int n_threads;
static task *current_task;
static atomic_int next_task;
static int n_tasks;

static void block_reserve(struct block *b, size_t n, bool with_host) {
    if (b->size < n) {
        if (b->device) device_free(b->device);
        b->size = n + n / 2;
        b->device = device_alloc(b->size);
    }
    if (!with_host || b->host_size >= n) return;
    free(b->host);
    b->host_size = (n + n / 2 + 255) / 256 * 256;
    b->host = need(aligned_alloc(256, b->host_size));
}

static void block_release(struct block *b) {
    if (b->device) device_free(b->device);
    free(b->host);
    *b = (struct block){0};
}

static void *work(void *arg) {
    int i;
    while ((i = next_task++) < n_tasks) current_task(arg, i);
    return NULL;
}

/* Runs t(worker, 0 .. n-1), each on whatever worker is free. */
static void run_tasks(task *t, int n) {
    pthread_t threads[MAX_THREADS];
    int n_started = 0;
    current_task = t;
    n_tasks = n;
    next_task = 0;
    for (; n_started < n_threads && n_started < n; n_started++) {
        if (!dry && !workers[n_started].stream) workers[n_started].stream = stream_open();
        if (pthread_create(&threads[n_started], NULL, work, &workers[n_started])) die("cannot start a thread");
    }
    for (int i = 0; i < n_started; i++) pthread_join(threads[i], NULL);
}

/* ---- what every kernel takes of the device ---- */

enum { N_SEEN = 1 << 14, MAX_SPILLS = 256 };

struct usage { /* of one configuration, over all kernels met */
    char config[96];
    int n, registers, local_bytes, shared_bytes; /* how many kernels; the largest of each */
    char worst[64];                              /* the entry of most registers */
};
static struct usage usages[64];
static int n_usages;
static uint64_t seen[N_SEEN]; /* kernels noted, by hash: several tasks share a spec */
static char *spills[MAX_SPILLS]; /* told by section_resources, so that they hide no wrong result */
static int n_spills;

/* Whether the key is new; from then on it is not. A full table takes everything for new. */
static bool is_new(uint64_t key) {
    for (uint64_t i = 0; i < N_SEEN; i++) {
        uint64_t *slot = &seen[(key + i) % N_SEEN];
        if (*slot == key) return false;
        if (*slot) continue;
        *slot = key;
        return true;
    }
    return true;
}

static struct usage *usage_of(const char *config) {
    const int most = sizeof usages / sizeof *usages;
    int i = 0;
    while (i < n_usages && strcmp(usages[i].config, config) != 0) i++;
    if (i == most) return &usages[most - 1];
    if (i == n_usages) snprintf(usages[n_usages++].config, sizeof usages->config, "%s", config);
    return &usages[i];
}

static void note_resources(const char *driver, const struct fx_variant *v, const struct fx_resources *r, int shared) {
    char config[sizeof usages->config];
    snprintf(config, sizeof config, "%s: %s", driver, v->config);
    struct usage *u = usage_of(config);
    u->n++;
    if (r->registers > u->registers) {
        u->registers = r->registers;
        snprintf(u->worst, sizeof u->worst, "%s", v->entry);
    }
    if (r->local_bytes > u->local_bytes) u->local_bytes = r->local_bytes;
    if (shared > u->shared_bytes) u->shared_bytes = shared;
}

static void note_spill(const struct fx_variant *v, const struct fx_resources *r, const char *text) {
    if (n_spills == MAX_SPILLS) return;
    size_t n = strlen(text) + 256;
    spills[n_spills] = need(malloc(n));
    snprintf(spills[n_spills++], n, "%s (%s) has %d bytes of local memory, %d registers\n%s", v->entry, v->config,
        r->local_bytes, r->registers, text);
}

/* ---- specs ---- */

struct spec { /* compiled and prepared */
    const char *text;
    fx_compilation *compilation;
    const struct fx_kernel *kernel;
    fx_prepared *prepared; /* NULL when dry */
    int frame_bytes;       /* local memory that is no spill: sinf and cosf of large arguments keep an array */
};

static bool spec_open(struct spec *s, const char *text) {
    struct fx_options options = FX_OPTIONS;
    *s = (struct spec){.text = text, .frame_bytes = strstr(text, "sin(") || strstr(text, "cos(") ? 32 : 0};
    if (!dry) options.arch = fx_context_arch(context);
    fx_status status = fx_compile(text, strlen(text), "test.fx", &options, &s->compilation);
    if (status != FX_OK) {
        fail("does not compile (%d): %s\n%s", status, s->compilation ? fx_messages(s->compilation) : "", text);
        fx_close(s->compilation);
        return false;
    }
    s->kernel = fx_find_kernel(fx_get_plan(s->compilation), NULL);
    if (s->kernel->n_params > MAX_PARAMS || s->kernel->n_extents > MAX_EXTENTS) die("too many parameters\n%s", text);
    if (dry || fx_prepare(context, fx_get_plan(s->compilation), NULL, NULL, 0, &s->prepared) == FX_OK) return true;
    fail("cannot be prepared: %s\n%s", fx_last_error(), text);
    fx_close(s->compilation);
    return false;
}

static uint64_t key_of(const char *text, int l, int v) {
    uint64_t key = (uint64_t)(l * 64 + v + 1);
    for (; *text; text++) key = (key ^ (unsigned char)*text) * 0x100000001b3u;
    return key | 1;
}

static void note_variant(const struct spec *s, int l, int v) {
    const struct fx_launch *launch = &s->kernel->launches[l];
    const struct fx_variant *variant = &launch->variants[v];
    int64_t zeros[MAX_EXTENTS] = {0}, shared = 0;
    struct fx_env env = {.extents = zeros, .sm_count = fx_context_sm_count(context)};
    struct fx_resources r;
    if (fx_variant_resources(s->prepared, l, v, &r) != FX_OK) {
        fail("%s: no resources: %s\n%s", variant->entry, fx_last_error(), s->text);
        return;
    }
    fx_expr_eval(&variant->smem, &env, &shared);
    pthread_mutex_lock(&lock);
    if (is_new(key_of(s->text, l, v))) {
        note_resources(launch->driver, variant, &r, (int)shared + r.shared_bytes);
        /* one that prepare passes over is launched only where there is no other */
        if (r.local_bytes > s->frame_bytes && !fx_is_passed_over(launch, v, &r)) note_spill(variant, &r, s->text);
    }
    pthread_mutex_unlock(&lock);
}

static void spec_close(struct spec *s) {
    for (int l = 0; !dry && l < s->kernel->n_launches; l++)
        for (int v = 0; v < s->kernel->launches[l].n_variants; v++) note_variant(s, l, v);
    fx_prepared_release(s->prepared);
    fx_close(s->compilation);
}

/* ---- data ---- */

static uint32_t hash(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) >> 16);
}

enum data {
    DATA_INTEGERS, /* -4..4: every sum here is exact */
    DATA_UNITS,    /* -1..1: so that chains of contractions are exact too */
    DATA_NORMAL,
    DATA_POSITIVE, /* |normal| */
    DATA_SWEEP,    /* what functions find hard; of 16-bit types every value */
};

/* Where functions change their form, lose accuracy or leave the range. */
static const float landmarks[] = {0.0f, 1.0f, 0.5f, 2.0f, 3.0f, 0.25f, 0x1p-149f, 0x1.8p-140f, 0x1.fffffcp-127f,
    0x1p-126f, 0x1p-100f, 0x1p-30f, 0x1p-24f, 0x1p-12f, 1e-3f, 0.1f, 0.3f, 0.55f, 0.625f, 0.7071067f, 0.9999999f,
    1.0000001f, 1.5f, 1.5707964f, 2.5f, 3.1415927f, 4.0f, 5.0f, 5.5f, 6.2831855f, 8.0f, 9.01f, 10.0f, 13.0f, 16.5f,
    20.0f, 44.0f, 80.0f, 87.3f, 88.72f, 88.73f, 89.5f, 103.97f, 104.0f, 126.0f, 127.5f, 128.0f, 149.5f, 150.0f, 256.5f,
    1e3f, 65504.0f, 65520.0f, 1e5f, 8388607.5f, 8388608.5f, 16777217.0f, 2147483648.0f, 1e10f, 1e20f, 0x1p64f, 0x1p100f,
    3.3895314e38f, 3.4028235e38f, INFINITY, NAN};
enum { N_LANDMARKS = sizeof landmarks / sizeof *landmarks };

static double sweep_value(size_t i) {
    if (i < 2 * N_LANDMARKS) return i & 1 ? -landmarks[i / 2] : landmarks[i / 2];
    uint32_t h = hash(i);
    /* Every exponent alike, then the range in which functions are curved. */
    if (h & 1) return ldexp(h & 2 ? -1 - (h >> 9) * 0x1p-23 : 1 + (h >> 9) * 0x1p-23, (int)(i % 277) - 149);
    return ((double)(h >> 2) * 0x1p-30 - 0.5) * 2 * (i % 3 ? 12 : 110);
}

static double data_value(enum data d, uint64_t seed, size_t i) {
    uint32_t h = hash(seed * 0x9e3779b97f4a7c15u + i);
    switch (d) {
    case DATA_INTEGERS: return (double)(int)(h % 9) - 4;
    case DATA_UNITS: return (double)(int)(h % 3) - 1;
    case DATA_POSITIVE: return fabs((double)normals[h % TABLE_SIZE]);
    case DATA_SWEEP: return sweep_value(i);
    default: return (double)normals[h % TABLE_SIZE];
    }
}

static void data_fill(enum data d, uint64_t seed, enum fx_dtype t, void *array, size_t n) {
    if (d == DATA_SWEEP && fx_dtype_bits(t) == 16) {
        for (size_t i = 0; i < n; i++) ((uint16_t *)array)[i] = (uint16_t)i;
        return;
    }
    for (size_t i = 0; i < n; i++) fx_store_double(t, array, i, data_value(d, seed, i));
}

/* ---- trials: a spec with arguments ---- */

struct setup { /* what makes the arguments of a spec */
    int64_t size[26];         /* extent of label 'A' + i */
    unsigned shift[MAX_PARAMS]; /* elements each parameter is moved from a 16-byte boundary */
    enum data data;
    uint64_t seed;
    int64_t n_sampled;  /* elements compared of an output that has more; 0: all */
    bool is_exact;      /* the oracle's bounds must all be 0 */
    bool is_big;        /* outputs are read a sampled element at a time */
    bool tries_refused; /* variants whose `needs` does not hold must be refused */
    bool is_tight;      /* every tensor is an allocation of its own, for tools that watch their ends */
};

struct argument {
    const struct fx_param *param;
    struct fx_shape shape;
    size_t n, n_bytes, at; /* elements, bytes, offset in the block of inputs or outputs */
    DLTensor tensor;
    unsigned char *own;    /* its own allocation, of a tight trial */
    int64_t *elements;     /* those compared, NULL: all */
    int64_t n_expected;
    double *value, *bound; /* of an output, by the oracle */
};

struct trial {
    struct worker *w;
    const struct spec *spec;
    const struct setup *setup;
    const struct fx_kernel *kernel;
    struct argument args[MAX_PARAMS];
    struct fx_value values[MAX_PARAMS];
    int64_t extents[MAX_EXTENTS];
    unsigned align[MAX_PARAMS];
    size_t in_bytes, out_bytes, workspace_bytes;
    bool is_exact; /* no bound is other than 0: bytes may be compared */
    /* Launches whose outputs lie one behind the other, not yet compared. */
    const char *pending[MOST_SLOTS];
    int n_pending, n_slots;
    size_t slot_bytes; /* a multiple of 256, so that alignments are those of the first slot */
};

static size_t element_bytes(enum fx_dtype t) { return (size_t)fx_dtype_bits(t) / 8; }

/* "M=3 N=5": the sizes of a trial. */
static const char *sizes_text(const struct trial *t, char *buffer, size_t size) {
    size_t n = 0;
    *buffer = 0;
    for (int e = 0; e < t->kernel->n_extents && n < size; e++)
        n += (size_t)snprintf(
            buffer + n, size - n, "%s%s=%lld", e ? " " : "", t->kernel->extents[e].name, (long long)t->extents[e]);
    return buffer;
}

static void trial_fail(const struct trial *t, const char *entry, const char *what) {
    char sizes[256];
    fail("%s with %s: %s\n%s", entry, sizes_text(t, sizes, sizeof sizes), what, t->spec->text);
}

/* An odd multiple of 16, so that no more alignment holds by chance, then the shift. */
static size_t place(size_t *end, size_t gap, const struct argument *a, unsigned shift) {
    size_t at = (*end + gap + 31) / 32 * 32 + 16 + shift * element_bytes(a->shape.dtype);
    *end = at + a->n_bytes + gap;
    return at;
}

static void shape_arguments(struct trial *t) {
    const struct fx_shape *shapes[MAX_PARAMS];
    char message[256];
    size_t in_end = 0, out_end = 0;
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        a->param = &t->kernel->params[p];
        a->shape = (struct fx_shape){.dtype = a->param->dtype, .rank = a->param->rank};
        a->n = 1;
        for (int i = 0; i < a->shape.rank; i++) {
            const struct fx_extent *e = &t->kernel->extents[a->param->extents[i]];
            a->shape.extents[i] = e->value >= 0 ? e->value : t->setup->size[e->name[0] - 'A'];
            a->n *= (size_t)a->shape.extents[i];
        }
        a->n_bytes = a->n * element_bytes(a->shape.dtype);
        bool is_output = a->param->is_output;
        a->at = place(is_output ? &out_end : &in_end, is_output ? GUARD : MOAT, a, t->setup->shift[p]);
        shapes[p] = a->param->is_scalar ? NULL : &a->shape;
    }
    t->in_bytes = in_end + 16;
    t->out_bytes = out_end + 16;
    if (fx_bind_extents(t->kernel, shapes, t->extents, message, sizeof message) != FX_OK)
        die("%s\n%s", message, t->spec->text);
}

static DLDataType tensor_dtype(enum fx_dtype t) {
    int code = t == FX_BF16     ? 4
               : t == FX_F8E4M3 ? 10
               : t == FX_F8E5M2 ? 12
               : fx_is_float(t) ? 2
                                : fx_dtype_class_of(t) == FX_CLASS_U;
    return (DLDataType){.code = (uint8_t)code, .bits = (uint8_t)fx_dtype_bits(t), .lanes = 1};
}

static unsigned alignment(const void *p) {
    uintptr_t a = (uintptr_t)p, lowest = a & (~a + 1);
    return lowest == 0 || lowest > 256 ? 256 : (unsigned)lowest;
}

static void fill_inputs(struct trial *t) {
    struct worker *w = t->w;
    memset(w->in.host, 0xFF, t->in_bytes);
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (a->param->is_input)
            data_fill(t->setup->data, t->setup->seed + (uint64_t)p, a->shape.dtype, w->in.host + a->at, a->n);
    }
    device_write(w->in.device, w->in.host, t->in_bytes);
}

static size_t own_offset(const struct trial *t, int p) {
    return t->setup->shift[p] * element_bytes(t->args[p].shape.dtype);
}

static void open_own(struct trial *t) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (a->param->is_scalar || a->n == 0) continue;
        a->own = device_alloc(own_offset(t, p) + a->n_bytes);
        if (a->param->is_input) device_write(a->own + own_offset(t, p), t->w->in.host + a->at, a->n_bytes);
    }
}

/* The values a launch takes, its outputs in `out`. */
static void bind_values(struct trial *t, unsigned char *out) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (a->param->is_scalar) {
            t->values[p] = (struct fx_value){.number = fx_load_double(a->shape.dtype, t->w->in.host + a->at, 0)};
            t->align[p] = 256;
            continue;
        }
        unsigned char *data = a->own ? a->own + own_offset(t, p)
                                     : (a->param->is_output ? out : t->w->in.device) + a->at;
        a->tensor = (DLTensor){.data = data, .device = {.device_type = 2}, .ndim = a->shape.rank,
                               .dtype = tensor_dtype(a->shape.dtype), .shape = a->shape.extents};
        t->values[p] = (struct fx_value){.tensor = &a->tensor};
        t->align[p] = alignment(a->tensor.data);
    }
}

/* ---- which elements are compared ---- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t draw_word(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    return (uint64_t)hash(*state) << 32 | hash(~*state);
}

/* An index, one in two at an end of the axis or beside a multiple of a tile. */
static int64_t draw_index(uint64_t *state, int64_t extent) {
    static const int64_t tiles[] = {8, 64, 128, 256};
    uint64_t choice = draw_word(state);
    if (choice % 2) return (int64_t)(draw_word(state) % (uint64_t)extent);
    if (choice % 16 == 0) return 0;
    if (choice % 16 == 2) return extent - 1;
    int64_t tile = tiles[choice / 16 % 4];
    int64_t at = (int64_t)(draw_word(state) % (uint64_t)(extent / tile + 1)) * tile + (int64_t)(choice / 64 % 3) - 1;
    return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}

/* Ascending, each once; the corners are among them. */
static int64_t *sample(const struct fx_shape *shape, int64_t *n) {
    int64_t *elements = need(malloc((size_t)*n * sizeof *elements)), n_distinct = 0;
    uint64_t state = 1;
    for (int64_t i = 0; i < *n; i++) {
        int64_t flat = 0;
        for (int a = 0; a < shape->rank; a++) {
            int64_t e = shape->extents[a];
            flat = flat * e + (i < 1 << shape->rank ? (i >> a & 1 ? e - 1 : 0) : draw_index(&state, e));
        }
        elements[i] = flat;
    }
    qsort(elements, (size_t)*n, sizeof *elements, by_value);
    for (int64_t i = 0; i < *n; i++)
        if (n_distinct == 0 || elements[n_distinct - 1] != elements[i]) elements[n_distinct++] = elements[i];
    *n = n_distinct;
    return elements;
}

/* ---- what they should be ---- */

static void ask_oracle(struct trial *t) {
    struct fx_host inputs[MAX_PARAMS];
    char message[256];
    int n_inputs = 0, output = 0;
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        if (!a->param->is_input) continue;
        struct fx_host *h = &inputs[n_inputs++];
        *h = (struct fx_host){.dtype = a->shape.dtype, .rank = a->shape.rank, .data = t->w->in.host + a->at};
        memcpy(h->extents, a->shape.extents, sizeof h->extents);
    }
    t->is_exact = true;
    for (int p = 0; p < t->kernel->n_params; p++) {
        struct argument *a = &t->args[p];
        if (!a->param->is_output) continue;
        a->n_expected = (int64_t)a->n;
        if (t->setup->n_sampled && a->n_expected > t->setup->n_sampled) {
            a->n_expected = t->setup->n_sampled;
            a->elements = sample(&a->shape, &a->n_expected);
        }
        a->value = need(malloc((size_t)(a->n_expected + 1) * sizeof *a->value));
        a->bound = need(malloc((size_t)(a->n_expected + 1) * sizeof *a->bound));
        if (fx_evaluate(t->spec->compilation, t->kernel->name, inputs, n_inputs, output++, a->elements, a->n_expected,
                a->value, NULL, FX_BOUND_WORST, a->bound, message, sizeof message) != FX_OK)
            die("the oracle: %s\n%s", message, t->spec->text);
        for (int64_t i = 0; i < a->n_expected; i++) t->is_exact &= a->bound[i] == 0;
    }
    if (t->setup->is_exact && !t->is_exact) trial_fail(t, "the oracle", "a bound is not 0 though all sums are exact");
}

static void make_want(struct trial *t) {
    struct worker *w = t->w;
    if (t->setup->is_big) return;
    if (w->want_size < t->out_bytes) {
        free(w->want);
        w->want_size = t->out_bytes + t->out_bytes / 2;
        w->want = need(malloc(w->want_size));
    }
    memset(w->want, 0xFF, t->out_bytes);
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        for (int64_t i = 0; i < a->n_expected; i++)
            fx_store_double(a->shape.dtype, w->want + a->at, (size_t)(a->elements ? a->elements[i] : i), a->value[i]);
        t->is_exact &= !a->elements;
    }
}

static void trial_open(struct trial *t, struct worker *w, const struct spec *s, const struct setup *u) {
    *t = (struct trial){.w = w, .spec = s, .setup = u, .kernel = s->kernel};
    shape_arguments(t);
    t->slot_bytes = (t->out_bytes + 255) / 256 * 256, t->n_slots = 1;
    while (!u->is_big && !u->is_tight && t->n_slots < MOST_SLOTS && t->slot_bytes * (size_t)t->n_slots < SLOTS_BYTES)
        t->n_slots++;
    block_reserve(&w->in, t->in_bytes, true);
    block_reserve(&w->out, t->slot_bytes * (size_t)t->n_slots, !u->is_big);
    fill_inputs(t);
    if (u->is_tight) open_own(t);
    bind_values(t, w->out.device);
    ask_oracle(t);
    make_want(t);
    struct fx_env env = {.extents = t->extents, .sm_count = dry ? 132 : fx_context_sm_count(context)};
    const struct fx_partition taken = fx_get_partition(t->kernel, fx_choose_partition(t->kernel, &env));
    if (dry) fx_workspace_layout(t->kernel, &taken, &env, NULL, &t->workspace_bytes);
    else
        must(fx_workspace_bytes(s->prepared, t->values, t->kernel->n_params, &t->workspace_bytes),
            "no size of the workspace");
    if (t->workspace_bytes) block_reserve(&w->workspace, t->workspace_bytes + GUARD, true);
}

static void trial_close(struct trial *t) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        if (t->args[p].own) device_free(t->args[p].own);
        free(t->args[p].elements);
        free(t->args[p].value);
        free(t->args[p].bound);
    }
}

/* ---- running a trial ---- */

/* Stores what the oracle says; then spoils the last element compared, or the byte behind the last output. */
static void dry_launch(const struct trial *t) {
    const struct argument *last = NULL;
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        for (int64_t i = 0; i < a->n_expected; i++)
            fx_store_double(a->shape.dtype, a->tensor.data, (size_t)(a->elements ? a->elements[i] : i), a->value[i]);
        if (a->n_expected) last = a;
    }
    if (!last) return;
    unsigned char *data = last->tensor.data;
    int64_t at = last->elements ? last->elements[last->n_expected - 1] : last->n_expected - 1;
    if (dry == DRY_WRONG) data[(size_t)(at + 1) * element_bytes(last->shape.dtype) - 1] ^= 0x55;
    if (dry == DRY_OUTSIDE && !last->own) data[last->n_bytes] = 0;
}

static fx_status trial_launch(struct trial *t, void *workspace, void *stream) {
    n_launches++;
    if (!dry)
        return fx_launch(t->spec->prepared, t->values, t->kernel->n_params, workspace, t->workspace_bytes, stream);
    dry_launch(t);
    return FX_OK;
}

/* Compares one output in `data`; false with the first wrong element in what[]. */
static bool output_is_right(const struct argument *a, const unsigned char *data, char *what, size_t size) {
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < a->n_expected; i++) {
        int64_t at = a->elements ? a->elements[i] : i;
        double got = fx_load_double(a->shape.dtype, data, (size_t)at);
        if (fx_is_right(a->shape.dtype, got, a->value[i], a->bound[i])) continue;
        if (n_wrong++ == 0)
            snprintf(what, size, "%s[%lld] is %.9g, expected %.9g, bound %.3g", a->param->name, (long long)at, got,
                a->value[i], a->bound[i]);
    }
    if (n_wrong == 0) return true;
    size_t n = strlen(what);
    snprintf(what + n, size - n, "; %lld of %lld wrong", (long long)n_wrong, (long long)a->n_expected);
    return false;
}

/* Whether all bytes of the block that belong to no output are still poison. */
static bool guards_hold(const struct trial *t, const unsigned char *block, char *what, size_t size) {
    size_t at = 0;
    for (int p = 0; p <= t->kernel->n_params; p++) {
        const struct argument *a = p < t->kernel->n_params ? &t->args[p] : NULL;
        if (a && !a->param->is_output) continue;
        for (size_t end = a ? a->at : t->out_bytes; at < end; at++)
            if (block[at] != 0xFF) {
                snprintf(what, size, "byte %zu of the outputs' block, outside of every output, was written", at);
                return false;
            }
        if (a) at = a->at + a->n_bytes;
    }
    return true;
}

static bool block_is_right(const struct trial *t, const unsigned char *block, char *what, size_t size) {
    if (t->is_exact && memcmp(block, t->w->want, t->out_bytes) == 0) return true;
    for (int p = 0; p < t->kernel->n_params; p++)
        if (t->args[p].param->is_output && !output_is_right(&t->args[p], block + t->args[p].at, what, size))
            return false;
    return guards_hold(t, block, what, size);
}

/* As above, for outputs too large to be read whole. */
static bool big_is_right(const struct trial *t, char *what, size_t size) {
    for (int p = 0; p < t->kernel->n_params; p++) {
        const struct argument *a = &t->args[p];
        const unsigned char *data = a->tensor.data;
        unsigned char got[16], edges[2 * GUARD];
        size_t bytes = element_bytes(a->shape.dtype);
        if (!a->param->is_output) continue;
        device_read(edges, data - GUARD, GUARD);
        device_read(edges + GUARD, data + a->n_bytes, GUARD);
        for (size_t i = 0; i < sizeof edges; i++)
            if (edges[i] != 0xFF) return snprintf(what, size, "beside %s memory was written", a->param->name), false;
        for (int64_t i = 0; i < a->n_expected; i++) {
            int64_t at = a->elements ? a->elements[i] : i;
            device_read(got, data + (size_t)at * bytes, bytes);
            double v = fx_load_double(a->shape.dtype, got, 0);
            if (fx_is_right(a->shape.dtype, v, a->value[i], a->bound[i])) continue;
            snprintf(what, size, "%s[%lld] is %.9g, expected %.9g", a->param->name, (long long)at, v, a->value[i]);
            return false;
        }
    }
    return true;
}

static bool workspace_holds(const struct trial *t) {
    if (!t->workspace_bytes) return true;
    unsigned char *image = t->w->workspace.host;
    device_read(image, t->w->workspace.device + t->workspace_bytes, GUARD);
    for (size_t i = 0; i < GUARD; i++)
        if (image[i] != 0xFF) return false;
    return true;
}

static void poison(const struct trial *t) {
    struct worker *w = t->w;
    device_fill(w->out.device, 0xFF, t->out_bytes, w->stream);
    for (int p = 0; p < t->kernel->n_params; p++)
        if (t->args[p].own && t->args[p].param->is_output)
            device_fill(t->args[p].tensor.data, 0xFF, t->args[p].n_bytes, w->stream);
    if (t->workspace_bytes) device_fill(w->workspace.device, 0xFF, t->workspace_bytes + GUARD, w->stream);
}

/* The block of outputs as the launch left it, to its image. */
static void read_outputs(const struct trial *t) {
    struct worker *w = t->w;
    device_read(w->out.host, w->out.device, t->out_bytes);
    for (int p = 0; p < t->kernel->n_params; p++)
        if (t->args[p].own && t->args[p].param->is_output)
            device_read(w->out.host + t->args[p].at, t->args[p].tensor.data, t->args[p].n_bytes);
}

/* Poisons, launches, compares; `entry` names what is pinned. */
static bool trial_run(struct trial *t, const char *entry) {
    struct worker *w = t->w;
    char what[512] = "";
    poison(t);
    fx_status status = trial_launch(t, t->workspace_bytes ? w->workspace.device : NULL, w->stream);
    if (status == FX_ERR_GPU) die("%s: %s\n%s", entry, fx_last_error(), t->spec->text);
    if (status != FX_OK) return trial_fail(t, entry, fx_last_error()), false;
    stream_wait(w->stream, entry, t->spec->text);
    if (!t->setup->is_big) read_outputs(t);
    bool is_right = t->setup->is_big ? big_is_right(t, what, sizeof what)
                                     : block_is_right(t, w->out.host, what, sizeof what);
    if (is_right && !workspace_holds(t))
        is_right = false, snprintf(what, sizeof what, "memory behind the workspace was written");
    for (int p = 0; p < t->kernel->n_params; p++) n_compared += t->args[p].n_expected;
    if (!is_right) trial_fail(t, entry, what);
    return is_right;
}

/* Compares what the pending launches wrote. The guard behind the workspace is poisoned once for all of them. */
static void slots_compare(struct trial *t) {
    struct worker *w = t->w;
    char entries[64];
    int n = t->n_pending;
    if (n == 0) return;
    snprintf(entries, sizeof entries, "one of %d from %.40s", n, t->pending[0]);
    stream_wait(w->stream, entries, t->spec->text);
    device_read(w->out.host, w->out.device, t->slot_bytes * (size_t)n);
    for (int i = 0; i < n; i++) {
        char what[512] = "";
        if (!block_is_right(t, w->out.host + t->slot_bytes * (size_t)i, what, sizeof what))
            trial_fail(t, t->pending[i], what);
        for (int p = 0; p < t->kernel->n_params; p++) n_compared += t->args[p].n_expected;
    }
    if (!workspace_holds(t)) trial_fail(t, entries, "memory behind the workspace was written");
    bind_values(t, w->out.device);
    t->n_pending = 0;
}

/* As trial_run, but compared later, together with others: a copy and a wait each would take most of the time. */
static void trial_enqueue(struct trial *t, const char *entry) {
    struct worker *w = t->w;
    if (t->n_slots == 1) {
        trial_run(t, entry);
        return;
    }
    if (t->n_pending == t->n_slots) slots_compare(t);
    if (t->n_pending == 0) device_fill(w->out.device, 0xFF, t->slot_bytes * (size_t)t->n_slots, w->stream);
    bind_values(t, w->out.device + t->slot_bytes * (size_t)t->n_pending);
    if (t->workspace_bytes)
        device_fill(w->workspace.device, 0xFF, t->workspace_bytes + (t->n_pending ? 0 : GUARD), w->stream);
    fx_status status = trial_launch(t, t->workspace_bytes ? w->workspace.device : NULL, w->stream);
    if (status == FX_ERR_GPU) die("%s: %s\n%s", entry, fx_last_error(), t->spec->text);
    if (status != FX_OK) trial_fail(t, entry, fx_last_error());
    else t->pending[t->n_pending++] = entry;
}

static void pin(const struct trial *t, int l, int v) {
    if (!dry && fx_pin_variant(t->spec->prepared, l, v) != FX_OK)
        fail("cannot pin: %s\n%s", fx_last_error(), t->spec->text);
}

/* A variant that must not take these arguments must say so, whatever pins it. */
static void check_refusal(struct trial *t, const char *entry) {
    if (dry || !t->setup->tries_refused) return;
    fx_status status = trial_launch(t, t->w->workspace.device, t->w->stream);
    if (status == FX_ERR_USAGE) return;
    trial_fail(t, entry, "launched though its needs do not hold");
    stream_wait(t->w->stream, entry, t->spec->text);
}

/* A partition, whichever these extents would take, where it fits them: as the plan chooses, then every variant that can, one launch at a
 * time. */
static void trial_run_partition(struct trial *t, const struct fx_env *env, int number) {
    const struct fx_partition taken = fx_get_partition(t->kernel, number);
    if (!fx_partition_fits(t->kernel, &taken, env)) return;
    if (!dry && fx_partition_count(t->kernel) > 1) {
        must(fx_pin_partition(t->spec->prepared, number), "cannot pin a partition");
        must(fx_workspace_bytes(t->spec->prepared, t->values, t->kernel->n_params, &t->workspace_bytes),
            "no size of the workspace");
        if (t->workspace_bytes) block_reserve(&t->w->workspace, t->workspace_bytes + GUARD, true);
    }
    trial_enqueue(t, "as chosen");
    for (int l = taken.first_launch; l < taken.first_launch + taken.n_launches; l++) {
        for (int v = 0; v < t->kernel->launches[l].n_variants; v++) {
            const struct fx_variant *variant = &t->kernel->launches[l].variants[v];
            bool holds = fx_expr_holds(&variant->needs, env);
            if (!holds && !t->setup->tries_refused) continue;
            pin(t, l, v);
            if (holds) trial_enqueue(t, variant->entry);
            else check_refusal(t, variant->entry);
        }
        pin(t, l, -1);
    }
    slots_compare(t);
}

/* Every partition. */
static void trial_run_variants(struct trial *t) {
    struct fx_env env = {
        .extents = t->extents, .align = t->align, .sm_count = dry ? 132 : fx_context_sm_count(context)};
    for (int i = 0; i < fx_partition_count(t->kernel); i++) trial_run_partition(t, &env, i);
    if (!dry) fx_pin_partition(t->spec->prepared, -1);
}

static void try(struct worker *w, const struct spec *s, const struct setup *u) {
    struct trial t;
    trial_open(&t, w, s, u);
    trial_run_variants(&t);
    trial_close(&t);
}

/* One setup of one text. */
static void try_text(struct worker *w, const char *text, const struct setup *u) {
    struct spec s;
    if (!spec_open(&s, text)) return;
    try(w, &s, u);
    spec_close(&s);
}

/* size(u, "MN", 3, 4) */
static void size(struct setup *u, const char *labels, ...) {
    va_list args;
    va_start(args, labels);
    for (; *labels; labels++) u->size[*labels - 'A'] = va_arg(args, int);
    va_end(args);
}

/* ---- gemm: every shape, dtype and order ---- */

enum { N_SHAPES = 10, N_LINEAR = 40 };
static const int shapes[N_SHAPES] = {0, 1, 7, 8, 16, 17, 31, 64, 65, 129};

/* Spec i of N_LINEAR: y = x @[K] w + b in every order of x, w and y; f32 with f32,
 * f16 and bf16 with f32 and their own. */
static const char *linear_text(int i, char *text) {
    static const char *const dtypes[5][2] = {
        {"f32", "f32"}, {"f16", "f32"}, {"f16", "f16"}, {"bf16", "f32"}, {"bf16", "bf16"}};
    const char *in = dtypes[i / 8][0], *out = dtypes[i / 8][1];
    snprintf(text, TEXT_SIZE, "kernel linear(x: %s[%s], w: %s[%s], b: %s[N]) -> y: %s[%s] {\n  y = x @[K] w + b\n}\n",
        in, i & 1 ? "K,M" : "M,K", in, i & 2 ? "N,K" : "K,N", in, out, i & 4 ? "N,M" : "M,N");
    return text;
}

/* What spec i computes by plain loops, the oracle's own check. */
static void check_loops(const struct trial *t, int i) {
    const struct argument *x = &t->args[0], *w = &t->args[1], *b = &t->args[2], *y = &t->args[3];
    int64_t n_m = t->setup->size['M' - 'A'], n_n = t->setup->size['N' - 'A'], n_k = t->setup->size['K' - 'A'];
    static _Thread_local float xs[129 * 129], ws[129 * 129];
    for (size_t e = 0; e < x->n; e++) xs[e] = (float)fx_load_double(x->shape.dtype, t->w->in.host + x->at, e);
    for (size_t e = 0; e < w->n; e++) ws[e] = (float)fx_load_double(w->shape.dtype, t->w->in.host + w->at, e);
    for (int64_t m = 0; m < n_m; m++)
        for (int64_t n = 0; n < n_n; n++) {
            float sum = (float)fx_load_double(b->shape.dtype, t->w->in.host + b->at, (size_t)n);
            for (int64_t k = 0; k < n_k; k++)
                sum += xs[i & 1 ? k * n_m + m : m * n_k + k] * ws[i & 2 ? n * n_k + k : k * n_n + n];
            if (y->value[i & 4 ? n * n_m + m : m * n_n + n] != (double)sum) {
                trial_fail(t, "the oracle", "it differs from plain loops");
                return;
            }
        }
}

static void task_gemm(struct worker *w, int at) {
    int i = at % N_LINEAR, m = at / N_LINEAR;
    char text[TEXT_SIZE];
    struct spec s;
    if (!spec_open(&s, linear_text(i, text))) return;
    for (int n = 0; n < N_SHAPES; n++)
        for (int k = 0; k < N_SHAPES; k++) {
            struct setup u = {.data = DATA_INTEGERS, .seed = (uint64_t)(at * 100 + n * 10 + k), .is_exact = true};
            struct trial t;
            size(&u, "MNK", shapes[m], shapes[n], shapes[k]);
            trial_open(&t, w, &s, &u);
            check_loops(&t, i);
            trial_run_variants(&t);
            trial_close(&t);
        }
    spec_close(&s);
}

static void section_gemm(void) { run_tasks(task_gemm, N_LINEAR * N_SHAPES); }

/* ---- smallest: a case of each engine and driver, for compute-sanitizer ---- */

static void task_smallest(struct worker *w, int i) {
    static const int linear[] = {0, 7, 16, 23, 34};
    char text[TEXT_SIZE];
    const char *pointwise =
        "kernel p(x: f32[M,K], w: bf16[K]) -> (y: f32[M,K], z: f16[M,K]) {\n  y = relu(x * w)\n  z = y + 1\n}\n";
    struct spec s;
    if (!spec_open(&s, i < 5 ? linear_text(linear[i], text) : pointwise)) return;
    for (int odd = 0; odd < 2; odd++) {
        struct setup u = {.data = DATA_INTEGERS, .is_exact = true, .is_tight = true};
        size(&u, "MNK", odd ? 17 : 24, odd ? 9 : 16, odd ? 33 : 40);
        for (int p = 0; odd && p < MAX_PARAMS; p++) u.shift[p] = 1;
        try(w, &s, &u);
    }
    spec_close(&s);
}

static void section_smallest(void) { run_tasks(task_smallest, 6); }

/* ---- bases: every residue of every address ---- */

static void task_bases(struct worker *w, int i) {
    static const int sizes[][3] = {{64, 64, 64}, {7, 9, 31}, {17, 129, 8}, {65, 8, 16}};
    char text[TEXT_SIZE];
    struct spec s;
    if (!spec_open(&s, linear_text(i, text))) return;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 48; r++) {
            struct setup u = {
                .data = DATA_INTEGERS, .seed = (uint64_t)r, .is_exact = true, .tries_refused = r % 8 == 1};
            size(&u, "MNK", sizes[c][0], sizes[c][1], sizes[c][2]);
            /* One parameter through all residues, then all of them at random. */
            for (int p = 0; p < 4; p++) {
                unsigned n = 16 / (unsigned)element_bytes(s.kernel->params[p].dtype);
                u.shift[p] = r >= 32 ? hash((uint64_t)(r * 4 + p)) % n : r / 8 == p ? (unsigned)r % n : 0;
            }
            try(w, &s, &u);
        }
    spec_close(&s);
}

static void section_bases(void) { run_tasks(task_bases, N_LINEAR); }

/* ---- forms: contractions of every form, epilogues of every kind ---- */

struct form { /* $: a dtype, or in turn f32, f16 and bf16 */
    bool is_exact; /* with values -1..1 */
    const char *text;
};

static const struct form forms[] = {
    /* batch axes, at every place */
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N]) -> y: f32[B,M,N] { y = x @ w }"},
    {true, "kernel t(x: $[M,B,K,C], w: $[C,K,B,N]) -> y: $[B,C,M,N] { y = x @[K] w }"},
    {true, "kernel t(x: $[M,K,B], w: $[K,N,B]) -> y: f32[M,N,B] { y = x @[K] w }"},
    {true, "kernel t(x: $[B,K,M], w: $[N,B,K]) -> y: f32[M,B,N] { y = x @[K] w }"},
    {true, "kernel t(x: $[B,M,K], w: $[K,N]) -> y: $[B,M,N] { y = x @ w }"},
    {true, "kernel t(x: $[B,M,K], w: $[K,N]) -> y: f32[M,B,N] { y = x @ w }"},
    {true, "kernel t(x: $[B,K], w: $[B,K]) -> y: f32[B] { y = x @[K] w }"},
    /* k over several axes, that merge and that do not */
    {true, "kernel t(x: $[M,K,L], w: $[K,L,N]) -> y: f32[M,N] { y = x @[K,L] w }"},
    {true, "kernel t(x: $[M,K,L], w: $[L,K,N]) -> y: f32[M,N] { y = x @[K,L] w }"},
    {true, "kernel t(x: $[K,M,L], w: $[N,L,K]) -> y: $[N,M] { y = x @[K,L] w }"},
    {true, "kernel t(x: $[J,M,K,L], w: $[L,N,K,J]) -> y: f32[M,N] { y = x @[J,K,L] w }"},
    {true, "kernel t(x: $[A,M,K,L,C], w: $[A,L,K,N,D], g: f32[M,N]) -> y: f32[C,A,N,M,D] { y = (x @[K,L] w) * g }"},
    /* several m and n axes */
    {true, "kernel t(x: $[L,M,K], w: $[K,N,P]) -> y: f32[L,M,N,P] { y = x @ w }"},
    {true, "kernel t(x: $[L,M,K], w: $[K,N,P]) -> y: $[M,P,L,N] { y = x @ w }"},
    {true, "kernel t(x: $[M,K], w: $[P,N,K]) -> y: f32[N,M,P] { y = x @[K] w }"},
    {true, "kernel t(x: $[M,K,L], w: $[K,P,N]) -> y: $[P,M,N,L] { y = x @[K] w }"},
    /* vectors, scalars */
    {true, "kernel t(x: $[M,K], w: $[K]) -> y: f32[M] { y = x @ w }"},
    {true, "kernel t(x: $[K,M], w: $[K]) -> y: $[M] { y = x @[K] w }"},
    {true, "kernel t(x: $[K], w: $[K,N]) -> y: f32[N] { y = x @ w }"},
    {true, "kernel t(x: $[K], w: $[K]) -> y: f32[] { y = x @ w }"},
    {true, "kernel t(x: $[M,K], w: $[K,N], s: f32, d: f32[]) -> y: f32[M,N] { y = s * (x @ w) + d }"},
    /* broadcasts into the epilogue along each subset of axes */
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[B]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[M]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[N]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[M,B]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[B,N]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[N,M]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true, "kernel t(x: $[B,M,K], w: $[B,K,N], e: $[B,M,N]) -> y: f32[B,M,N] { y = x @ w + e }"},
    {true,
        "kernel t(x: $[B,M,K], w: $[B,K,N], a: f32[], b: f16[B], c: bf16[M], d: $[N], e: $[B,M], f: $[B,N], g: $[M,N], h: f32[N,M,B])\n"
        "  -> y: $[B,M,N] { y = ((x @ w + a) + b + c + d) + e + f + g * h }"},
    {true, "kernel t(x: $[M,K], w: $[K,N], r: f32[N,M]) -> y: $[N,M] { y = relu(x @ w + r) }"},
    /* several outputs */
    {true, "kernel t(x: $[M,K], w: $[K,N]) -> (y: f32[M,N], z: $[M,N], u: f16[N,M], s: bf16[M,N]) {\n"
           "  y = x @ w\n  z = relu(y)\n  u = 2 * y\n  s = where(y > 0, 1, -1)\n}"},
    {true, "kernel t(x: $[M,K], w: $[K,N], b: $[N]) -> (y: $[M,N], z: f32[N]) {\n  y = x @ w + b\n  z = 2 * b\n}"},
    /* two contractions in one value, one contraction in two */
    {true, "kernel t(x: $[M,K], w: $[K,N], v: $[K,N]) -> y: f32[M,N] { y = (x @ w) * max(x @ v, 0) }"},
    {true,
        "kernel t(x: $[M,K], w: $[K,N], v: $[N,P]) -> (h: f32[M,N], y: f32[M,P]) {\n  h = x @ w\n  y = relu(h) @ v\n}"},
    {true, "kernel t(x: $[M,K], w: $[K,N], b: f32[B]) -> y: f32[B,M,N] { y = (x @ w) * b }"},
    /* computed operands, chains through workspace */
    {true, "kernel t(x: $[M,K], w: $[K,N]) -> y: f32[M,N] { y = relu(x) @ w }"},
    {true, "kernel t(x: $[K,M], w: $[K,N], r: $[K]) -> y: $[M,N] { y = (x * r) @[K] abs(w) }"},
    {true, "kernel t(x: $[M,K], w: $[K,N], v: $[N,P]) -> y: $[M,P] { y = relu(x @ w) @ v }"},
    {true,
        "kernel t(x: $[M,K], w: $[N,K], v: $[P,N], b: $[N], c: $[P]) -> y: f32[M,P] { y = relu(x @ w + b) @ v + c }"},
    {true,
        "kernel t(x: bf16[M,K], w: bf16[K,N], v: bf16[N,P]) -> y: bf16[M,P] {\n  h = bf16(relu(x @ w))\n  y = h @ v\n}"},
    {true, "kernel t(x: f16[M,K], w: f16[K,N], v: f16[N,P]) -> y: f16[P,M] {\n  h = f16(x @ w)\n  y = h @ v\n}"},
    {false, "kernel t(x: $[M,K], w: $[K,N], v: $[N,P], u: $[P,L]) -> y: f32[M,L] { y = relu(relu(x @ w) @ v) @ u }"},
    /* operands of different dtypes */
    {true, "kernel t(x: f16[M,K], w: bf16[K,N], b: f32[N]) -> y: f32[M,N] { y = x @ w + b }"},
    {true, "kernel t(x: f32[M,K], w: f16[K,N]) -> y: bf16[M,N] { y = x @ w }"},
    {true, "kernel t(x: bf16[K,M], w: f32[N,K]) -> y: f16[N,M] { y = x @[K] w }"},
};
enum { N_FORMS = sizeof forms / sizeof *forms, N_LONG = 3 };
static const char *const float_names[] = {"f32", "f16", "bf16"};

/* A long epilogue: 12 more tensors, 60 ops, small integers throughout. */
static void long_text(int dtype, char *text) {
    static const char *const axes[] = {"N", "M", "M,N", "N,M"};
    const char *t = float_names[dtype];
    size_t n = (size_t)snprintf(text, TEXT_SIZE, "kernel t(x: %s[M,K], w: %s[K,N]", t, t);
    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(text + n, TEXT_SIZE - n, ", e%d: %s[%s]", i, float_names[i % 3], axes[i % 4]);
    n += (size_t)snprintf(text + n, TEXT_SIZE - n, ") -> y: %s[M,N] {\n  v = x @ w\n", t);
    for (int i = 0; i < 15; i++)
        n += (size_t)snprintf(text + n, TEXT_SIZE - n, "  v = min(max(v * %d + e%d, -7), 9)\n", i % 2 ? -1 : 2, i % 12);
    snprintf(text + n, TEXT_SIZE - n, "  y = v\n}");
}

static void substitute(const char *form, const char *dtype, char *text) {
    size_t n = 0;
    for (; *form && n < TEXT_SIZE - 8; form++) {
        if (*form != '$') text[n++] = *form;
        else n += (size_t)sprintf(text + n, "%s", dtype);
    }
    text[n] = 0;
}

enum { SIZES_WHOLE, SIZES_RAGGED, SIZES_ODD, SIZES_ONE, N_SIZES };

/* The extent of a label where n are in play, so that the oracle's work stays small: M, N and K the largest. */
static int form_size(int which, char label, int n) {
    static const int whole[] = {64, 40, 24, 16}, ragged[] = {131, 67, 35, 19};
    int rank = n <= 3 ? 0 : n >= 6 ? 3 : n - 3;
    bool is_large = label == 'M' || label == 'N' || label == 'K';
    switch (which) {
    case SIZES_WHOLE: return is_large ? whole[rank] : 8;
    case SIZES_RAGGED: return is_large ? ragged[rank] + 4 * (label % 3) : 2 + label % 4;
    case SIZES_ODD: return is_large ? 5 + 2 * (label % 7) : 3;
    default: return 1;
    }
}

/* The axes of a spec in several combinations: whole tiles, ragged, small at odd addresses, all 1,
 * and each in turn 0. */
static void try_sizes(struct worker *w, const struct spec *s, bool is_exact) {
    int n = s->kernel->n_extents;
    for (int c = 0; c < N_SIZES + n; c++) {
        struct setup u = {.data = DATA_UNITS, .seed = (uint64_t)c, .is_exact = is_exact};
        for (int i = 0; i < 26; i++) u.size[i] = form_size(c < N_SIZES ? c : SIZES_ODD, (char)('A' + i), n);
        if (c >= N_SIZES) u.size[s->kernel->extents[c - N_SIZES].name[0] - 'A'] = 0;
        for (int p = 0; c == SIZES_ODD && p < MAX_PARAMS; p++) u.shift[p] = (unsigned)p % 4;
        try(w, s, &u);
    }
}

/* Each form in f32 and in one of the 16-bit types, in turn. */
static void task_forms(struct worker *w, int i) {
    char text[TEXT_SIZE];
    bool is_exact = true;
    struct spec s;
    if (i < N_LONG) long_text(i, text);
    else {
        int f = (i - N_LONG) / 2;
        if ((i - N_LONG) % 2 && !strchr(forms[f].text, '$')) return;
        substitute(forms[f].text, (i - N_LONG) % 2 ? float_names[1 + f % 2] : "f32", text);
        is_exact = forms[f].is_exact;
    }
    if (!spec_open(&s, text)) return;
    try_sizes(w, &s, is_exact);
    spec_close(&s);
}

static void section_forms(void) { run_tasks(task_forms, N_LONG + 2 * N_FORMS); }

/* ---- scales: sums of blocks of products of f8, scaled and added up, at edges of tiles and at odd addresses ---- */

static const struct scales {
    const char *scales, *product; /* the parameters that are scales, $ the extent of G, and what multiplies a block */
} scales[] = {
    {"s: f32[B,M,G=$], t: f32[J=N/128,G]", "* s * t[J: N/128]"},
    {"s: bf16[G=$,M,B]", "* s"},
    {"t: f32[J=N/64,G=$]", "* t[J: N/64]"},
    {"t: f16[G=$,N]", "* t"},
    {"s: f32[B,G=$,M], t: f32[N,G], u: f32[G]", "* t * s * u"},
    {"s: i8[B,M,G=$], t: f32[J=N/128,G]", "* f32(s) * t[J: N/128]"},
};
enum { N_SCALES = sizeof scales / sizeof *scales, N_SCALED = 4 * N_SCALES };

static void task_scales(struct worker *w, int i) {
    static const int sizes[][4] = {{1, 136, 128, 256}, {3, 21, 128, 256}, {1, 1, 128, 512}}; /* of B, M, N and K */
    static const char *const outs[] = {"f32", "bf16"};
    const struct scales *x = &scales[i / 4];
    const int block = i & 1 ? 256 : 128;
    char text[TEXT_SIZE], parameters[256];
    struct spec s;
    substitute(x->scales, block == 128 ? "K/128" : "K/256", parameters);
    snprintf(text, TEXT_SIZE,
        "kernel t(x: %s[B,M,K], w: %s[N,K], %s) -> y: %s[B,M,N] with { fuse: require } {\n"
        "  y = sum[G]((x{K->(G,R=%d)} @[R] w{K->(G,R=%d)}) %s)\n}\n",
        i & 2 ? "f8e5m2" : "f8e4m3", i & 4 ? "f8e5m2" : "f8e4m3", parameters, outs[i / 2 % 2], block, block, x->product);
    if (!spec_open(&s, text)) return;
    for (int c = 0; c < 3; c++)
        for (int shift = 0; shift < 2; shift++) {
            const int *at = sizes[c], columns = strstr(x->scales, "N/64") ? 64 : 128;
            struct setup u = {.data = DATA_UNITS, .seed = (uint64_t)(i * 6 + c * 2 + shift), .is_exact = true};
            size(&u, "BMNKGJ", at[0], at[1], at[2], at[3], at[3] / block, at[2] / columns);
            for (int p = 0; shift && p < MAX_PARAMS; p++) u.shift[p] = (unsigned)(p + i) % 4;
            try(w, &s, &u);
        }
    spec_close(&s);
}

static void section_scales(void) { run_tasks(task_scales, N_SCALED); }

/* ---- pointwise ---- */

enum { N_SUBSETS = 127, N_ORDERS = 2 + 6 + 24, N_DTYPES = 9, N_LENGTHS = 6 };

/* "A,C": the labels of a subset, among the first 26. */
static const char *labels(unsigned subset, char *buffer) {
    char *p = buffer;
    for (int i = 0; i < 26; i++)
        if (subset >> i & 1) p += sprintf(p, "%s%c", p == buffer ? "" : ",", 'A' + i);
    *p = 0;
    return buffer;
}

/* Permutation number `which` of the first n labels. */
static const char *order(int n, int which, char *buffer) {
    char left[] = "ABCDEF";
    char *p = buffer;
    for (int i = n; i > 0; i--) {
        int at = which % i;
        which /= i;
        p += sprintf(p, "%s%c", i == n ? "" : ",", left[at]);
        memmove(left + at, left + at + 1, strlen(left + at));
    }
    return buffer;
}

static void try_pointwise(struct worker *w, const char *text) {
    static const int sizes[][6] = {{8, 16, 8, 4, 2, 8}, {7, 5, 3, 2, 3, 9},  {3, 1, 1, 5, 1, 64},
                                   {0, 2, 2, 2, 2, 2},  {1, 1, 1, 1, 1, 1},  {2, 3, 2, 5, 4, 65}};
    struct spec s;
    if (!spec_open(&s, text)) return;
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (int shifted = 0; shifted < 2; shifted++) {
            struct setup u = {.data = DATA_INTEGERS, .seed = c, .is_exact = true, .tries_refused = true};
            for (int i = 0; i < 6; i++) u.size[i] = sizes[c][i];
            for (int p = 0; shifted && p < MAX_PARAMS; p++) u.shift[p] = (unsigned)p * 2 + 1;
            try(w, &s, &u);
        }
    spec_close(&s);
}

/* Rank r, every subset of axes for the second operand: 2^r of each r = 0 .. 6. */
static void subset_text(int i, char *text) {
    char all[64], some[64];
    int rank = 0;
    while (i >= 1 << rank) i -= 1 << rank++;
    labels((1u << rank) - 1, all);
    snprintf(text, TEXT_SIZE, "kernel t(x: %s[%s], w: %s[%s]) -> y: %s[%s] { y = x * 2 - w }", float_names[i % 3], all,
        float_names[(i + rank) % 3], labels((unsigned)i, some), float_names[i / 3 % 3], all);
}

static void order_text(int i, char *text) {
    char in[64], out[64];
    int rank = i < 2 ? 2 : i < 8 ? 3 : 4, which = i < 2 ? i : i < 8 ? i - 2 : i - 8;
    snprintf(text, TEXT_SIZE, "kernel t(x: %s[%s], w: f32[B], v: bf16[%s]) -> y: %s[%s] { y = x + w * v }",
        float_names[i % 3], order(rank, 0, in), order(rank, which / 2, out), float_names[i / 3 % 3],
        order(rank, which, out + 32));
}

static void length_task(struct worker *w, int i) {
    static const int lengths[] = {0, 1, 7, 8, 63, 64, 65, 127, 4096, 1000003};
    static const char *const texts[N_LENGTHS] = {"kernel t(x: f32[A], w: f32[A]) -> y: f32[A] { y = max(x * w, 0) }",
        "kernel t(x: bf16[A], w: bf16[A]) -> y: bf16[A] { y = max(x * w, 0) }",
        "kernel t(x: f16[A,B], w: f32[B]) -> y: f16[A,B] { y = x * w }",
        "kernel t(x: f32[A,B], w: f16[A]) -> y: f32[A,B] { y = x * w }",
        "kernel t(x: bf16[B,A], w: f32[A]) -> y: bf16[A,B] { y = x * w }",
        "kernel t(x: f32[A,B]) -> (y: f16[A,B], z: f32[B,A], u: bf16[A,B]) {\n  y = x + 1\n  z = x * 2\n  u = y * z\n}"};
    struct spec s;
    if (!spec_open(&s, texts[i])) return;
    for (int a = 0; a < 10; a++)
        for (int b = 0; b < (i < 2 ? 1 : 9); b++) {
            struct setup u = {.data = DATA_INTEGERS, .seed = (uint64_t)a, .is_exact = true};
            size(&u, "AB", lengths[a], lengths[a] > 65 ? 3 : lengths[b]);
            if (lengths[a] > 65 && b > 0) break;
            try(w, &s, &u);
            if (lengths[a] <= 4096) continue;
            size(&u, "AB", i < 2 ? lengths[a] : 3, lengths[a]);
            try(w, &s, &u);
        }
    spec_close(&s);
}

/* Many operands, many ops: registers. */
static void wide_text(char *text) {
    size_t n = (size_t)snprintf(text, TEXT_SIZE, "kernel t(");
    static const char *const axes[] = {"A,B", "A,B", "A,B", "A", "B"};
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(
            text + n, TEXT_SIZE - n, "%se%d: %s[%s]", i ? ", " : "", i, float_names[i % 3], axes[i % 5]);
    n += (size_t)snprintf(text + n, TEXT_SIZE - n, ") -> (y: f32[A,B], z: bf16[A,B]) {\n  v = e0\n");
    for (int i = 1; i < 20; i++)
        n += (size_t)snprintf(text + n, TEXT_SIZE - n, "  v = min(max(v * %d + e%d, -7), 9)\n", i % 2 ? -1 : 2, i);
    snprintf(text + n, TEXT_SIZE - n, "  y = v\n  z = v * e0\n}");
}

static void task_pointwise(struct worker *w, int i) {
    char text[TEXT_SIZE];
    if (i < N_LENGTHS) {
        length_task(w, i);
        return;
    }
    i -= N_LENGTHS;
    if (i < N_SUBSETS) subset_text(i, text);
    else if ((i -= N_SUBSETS) < N_ORDERS) order_text(i, text);
    else if ((i -= N_ORDERS) < N_DTYPES)
        snprintf(text, TEXT_SIZE, "kernel t(x: %s[A,B,C], w: %s[A,B,C]) -> y: %s[A,B,C] { y = x * w - x }",
            float_names[i % 3], float_names[i % 3], float_names[i / 3]);
    else wide_text(text);
    try_pointwise(w, text);
}

static void section_pointwise(void) { run_tasks(task_pointwise, N_LENGTHS + N_SUBSETS + N_ORDERS + N_DTYPES + 1); }

/* ---- ops: every one over a sweep of values ---- */

static const struct op {
    const char *name;
    int arity;
    const char *rule;
} ops[] = {
#define OP(id, name, arity, rule, eval, integer, cuda, cuda_integer, ulps, derivative) {name, arity, #rule},
#include "base/ops.def"
#undef OP
};
enum { N_OPS = sizeof ops / sizeof *ops };

/* Operands a, b, c are each an axis of their own, so that every combination is met. */
static void op_text(const struct op *op, const char *in, const char *out, char *text) {
    static const char *const axes[] = {"", "A", "A,B", "A,B,C"}, *const operands[] = {"", "(a)", "(a, b)", "(a, b, c)"};
    bool is_infix = strspn(op->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(op->name);
    bool is_logic = !strcmp(op->rule, "LOGIC"), gives_bool = is_logic || !strcmp(op->rule, "COMPARE");
    size_t n = (size_t)snprintf(text, TEXT_SIZE, "kernel t(");
    for (int i = 0; i < op->arity; i++)
        n += (size_t)snprintf(text + n, TEXT_SIZE - n, "%sx%d: %s[%c]", i ? ", " : "", i, in, 'A' + i);
    n += (size_t)snprintf(text + n, TEXT_SIZE - n, ") -> y: %s[%s] {\n", out, axes[op->arity]);
    for (int i = 0; i < op->arity; i++) {
        bool is_condition = is_logic || (i == 0 && !strcmp(op->rule, "SELECT"));
        n += (size_t)snprintf(text + n, TEXT_SIZE - n, "  %c = x%d%s\n", 'a' + i, i, is_condition ? " > 0.5" : "");
    }
    n += (size_t)snprintf(text + n, TEXT_SIZE - n, "  r = %s%s\n", op->name, is_infix ? "" : operands[op->arity]);
    snprintf(text + n, TEXT_SIZE - n, "  y = %s\n}\n", gives_bool ? "where(r, 1.0, 0.0)" : "r");
}

static void task_ops(struct worker *w, int i) {
    const struct op *op = &ops[i / 3];
    char text[TEXT_SIZE];
    struct setup u = {.data = DATA_SWEEP};
    /* Of two or more operands the first values suffice: landmarks of both signs. */
    int first = op->arity == 1 ? (i % 3 ? 1 << 16 : 60000) : op->arity == 2 ? 2 * N_LANDMARKS + 200 : 2 * N_LANDMARKS;
    if (i % 3 && op->arity > 1) return;
    if (!strcmp(op->rule, "INTEGER") || !strcmp(op->rule, "BITS")) return; /* of floats there is none */
    size(&u, "ABC", first, first, 40);
    op_text(op, float_names[i % 3], i % 3 ? float_names[i % 3] : "f32", text);
    try_text(w, text, &u);
}

static void section_ops(void) { run_tasks(task_ops, 3 * N_OPS); }

/* ---- random data, within the oracle's bounds ---- */

static const char *const epilogues[] = {
    "gelu(x @ w + b)",        "gelu_tanh(x @ w + b)", "silu(x @ w) * sigmoid(b)",
    "tanh((x @ w) / 16 + b)", "exp(-abs(x @ w + b))", "(x @ w) * rsqrt(1 + b * b)",
};
enum { N_EPILOGUES = sizeof epilogues / sizeof *epilogues, N_SQUARES = 4 };

static void task_random(struct worker *w, int i) {
    char text[TEXT_SIZE];
    const char *t = float_names[i % 3];
    struct setup u = {.data = i % 2 ? DATA_NORMAL : DATA_POSITIVE, .seed = (uint64_t)i};
    size(&u, "MNK", 512, 384, 257);
    snprintf(text, sizeof text, "kernel t(x: %s[M,K], w: %s[K,N], b: %s[N]) -> y: %s[M,N] { y = %s }", t, t, t, t,
        epilogues[i / 3]);
    try_text(w, text, &u);
}

/* 4096^3, large enough for every path of the launch; a few elements of it. */
static void task_square(struct worker *w, int i) {
    char text[TEXT_SIZE];
    const char *t = i % 2 ? "bf16" : "f32";
    struct setup u = {.data = DATA_NORMAL, .seed = (uint64_t)i, .n_sampled = dry ? 2000 : 20000};
    int n = dry ? 300 : 4096;
    size(&u, "MNK", n, n, n);
    snprintf(text, sizeof text, "kernel t(x: %s[M,K], w: %s[%s], b: %s[N]) -> y: %s[M,N] { y = gelu(x @[K] w + b) }", t,
        t, i / 2 ? "N,K" : "K,N", t, t);
    try_text(w, text, &u);
}

static void section_random(void) {
    run_tasks(task_random, 3 * N_EPILOGUES);
    run_tasks(task_square, N_SQUARES);
}

/* ---- repeatability ---- */

static const char *const repeated[] = {
    "kernel t(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }",
    "kernel t(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }",
    "kernel t(x: f16[M,K], w: f16[K,N], v: f16[N,P], c: f16[P]) -> y: f16[M,P] { y = silu(relu(x @ w) @ v + c) }",
    "kernel t(x: f32[M,K], w: f32[K]) -> y: bf16[K,M] { y = exp(-x) * w }",
    /* phases of one launch, whose blocks wait for each other */
    "kernel t(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } { r = rsqrt(mean[K](x * x) + 0.001); y = r * (x @ w) }",
    "kernel t(x: bf16[M,K], a: bf16[K,R=16], b: bf16[R,N]) -> y: bf16[M,N] with { fuse: require } { y = x @ a @ b }",
    "kernel t(x: f32[M,K]) -> (y: f32[M,K], v: f32[]) with { fuse: require } { v = var[M,K](x); y = x * rsqrt(v) }",
    "kernel t(x: f32[M,K], w: f32[K,N], v: f32[K,P]) -> (y: f32[M,N], z: f32[M,P]) with { fuse: require } { y = x @ w; z = x @ v }",
};
enum { N_REPEATED = sizeof repeated / sizeof *repeated, N_REPEATS = 100 };

struct lane { /* a stream with outputs and workspace of its own */
    void *stream;
    unsigned char *out, *workspace;
};

/* The launch again, the workspace holding something else; `first` is what it gave the first time. */
static void repeat(struct trial *t, const struct lane *lanes, int n_lanes, const unsigned char *first) {
    for (int i = 0; i < N_REPEATS; i++) {
        const struct lane *l = &lanes[i % n_lanes];
        bind_values(t, l->out);
        device_fill(l->out, 0xFF, t->out_bytes, l->stream);
        if (t->workspace_bytes) device_fill(l->workspace, (unsigned char)(i * 37 + 1), t->workspace_bytes, l->stream);
        if (trial_launch(t, t->workspace_bytes ? l->workspace : NULL, l->stream) != FX_OK)
            trial_fail(t, "as chosen", fx_last_error());
        if (n_lanes > 1 && i < N_REPEATS - n_lanes) continue; /* the streams run freely until their last launch */
        stream_wait(l->stream, "as chosen", t->spec->text);
        device_read(t->w->out.host, l->out, t->out_bytes);
        for (int p = 0; p < t->kernel->n_params; p++) n_compared += t->args[p].n_expected;
        if (memcmp(t->w->out.host, first, t->out_bytes) != 0)
            trial_fail(t, "as chosen", "a repetition gave other bits");
    }
}

/* ---- capture into a graph: the driver's own calls, which the runtime needs none of ---- */

struct graph_calls {
    int (*stream_context)(void *stream, void **ctx), (*push)(void *ctx), (*pop)(void **ctx);
    int (*begin)(void *stream, int mode), (*end)(void *stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags), (*launch)(void *exec, void *stream);
    int (*exec_destroy)(void *exec), (*destroy)(void *graph);
};

static void *driver_symbol(const char *name) {
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) die("the driver has no %s", name);
    return symbol;
}

static struct graph_calls graph_calls(void) {
    struct graph_calls c;
    *(void **)&c.stream_context = driver_symbol("cuStreamGetCtx");
    *(void **)&c.push = driver_symbol("cuCtxPushCurrent_v2");
    *(void **)&c.pop = driver_symbol("cuCtxPopCurrent_v2");
    *(void **)&c.begin = driver_symbol("cuStreamBeginCapture_v2");
    *(void **)&c.end = driver_symbol("cuStreamEndCapture");
    *(void **)&c.instantiate = driver_symbol("cuGraphInstantiateWithFlags");
    *(void **)&c.launch = driver_symbol("cuGraphLaunch");
    *(void **)&c.exec_destroy = driver_symbol("cuGraphExecDestroy");
    *(void **)&c.destroy = driver_symbol("cuGraphDestroy");
    return c;
}

/* Captures the launch once and replays it: what a launch may not do (allocate, synchronise, load) would end the
 * capture. */
static void replay(struct trial *t, const struct lane *l, const unsigned char *first) {
    enum { THREAD_LOCAL = 1, N_REPLAYS = 3 };
    struct graph_calls c = graph_calls();
    void *ctx = NULL, *graph = NULL, *exec = NULL;
    bind_values(t, l->out);
    if (c.stream_context(l->stream, &ctx) || c.push(ctx)) die("no context of a stream");
    bool ok = c.begin(l->stream, THREAD_LOCAL) == 0 &&
              trial_launch(t, t->workspace_bytes ? l->workspace : NULL, l->stream) == FX_OK;
    ok = c.end(l->stream, &graph) == 0 && ok && c.instantiate(&exec, graph, 0) == 0;
    for (int i = 0; ok && i < N_REPLAYS; i++) {
        device_fill(l->out, 0xFF, t->out_bytes, l->stream);
        ok = c.launch(exec, l->stream) == 0;
        stream_wait(l->stream, "a replayed graph", t->spec->text);
        device_read(t->w->out.host, l->out, t->out_bytes);
        for (int p = 0; p < t->kernel->n_params; p++) n_compared += t->args[p].n_expected;
        ok = ok && memcmp(t->w->out.host, first, t->out_bytes) == 0;
    }
    if (!ok) trial_fail(t, "as chosen", "captured into a graph it failed, or a replay gave other bits");
    if (exec) c.exec_destroy(exec);
    if (graph) c.destroy(graph);
    c.pop(&ctx);
}

static void task_repeat(struct worker *w, int i) {
    struct setup u = {.data = DATA_NORMAL, .seed = (uint64_t)i, .n_sampled = 20000};
    struct spec s;
    struct trial t;
    size(&u, "MNKP", 1000, 777, 520, 264);
    if (!spec_open(&s, repeated[i])) return;
    trial_open(&t, w, &s, &u);
    trial_run_variants(&t);
    trial_run(&t, "as chosen");
    unsigned char *first = need(malloc(t.out_bytes));
    memcpy(first, w->out.host, t.out_bytes);
    struct lane lanes[2] = {{w->stream, w->out.device, w->workspace.device},
                            {stream_open(), device_alloc(t.out_bytes), device_alloc(t.workspace_bytes + 1)}};
    repeat(&t, lanes, 1, first);
    repeat(&t, lanes, 2, first);
    if (!dry) replay(&t, &lanes[1], first);
    device_free(lanes[1].out);
    device_free(lanes[1].workspace);
    if (!dry) fx_stream_close(context, lanes[1].stream);
    free(first);
    trial_close(&t);
    spec_close(&s);
}

static void section_repeat(void) { run_tasks(task_repeat, N_REPEATED); }

/* ---- big: more than 2^31 elements ---- */

enum { PERIOD = 1048583 }; /* a prime: an index that lost its upper bits meets another value */

/* Runs the one launch of s on n elements of x, period PERIOD, compares all with the oracle's PERIOD values,
 * and frees. */
static void run_periodic(struct worker *w, const struct spec *s, int64_t n, const uint16_t *x, const uint16_t *y) {
    unsigned char *in = device_alloc((size_t)n * 2), *out = device_alloc((size_t)n * 2 + GUARD),
                  *got = need(malloc(PERIOD * 2 + GUARD));
    DLTensor tensors[2];
    struct fx_value values[2];
    for (int64_t at = 0; at < n; at += PERIOD)
        device_write(in + at * 2, x, (size_t)(n - at < PERIOD ? n - at : PERIOD) * 2);
    for (int p = 0; p < 2; p++) {
        tensors[p] = (DLTensor){
            .data = p ? out : in, .device = {.device_type = 2}, .ndim = 1, .dtype = tensor_dtype(FX_BF16), .shape = &n};
        values[p] = (struct fx_value){.tensor = &tensors[p]};
    }
    for (int v = -1; v < s->kernel->launches[0].n_variants; v++) {
        const char *entry = v < 0 ? "as chosen" : s->kernel->launches[0].variants[v].entry;
        struct fx_env env = {.extents = &n, .sm_count = 132};
        if (v >= 0 && !fx_expr_holds(&s->kernel->launches[0].variants[v].needs, &env)) continue;
        device_fill(out, 0xFF, (size_t)n * 2 + GUARD, w->stream);
        n_launches++;
        for (int64_t at = 0; dry && at < n; at += PERIOD)
            memcpy(out + at * 2, y, (size_t)(n - at < PERIOD ? n - at : PERIOD) * 2);
        if (dry == DRY_WRONG) out[n * 2 - 1] ^= 1;
        if (!dry && v >= 0) must(fx_pin_variant(s->prepared, 0, v), "cannot pin");
        if (!dry) must(fx_launch(s->prepared, values, 2, NULL, 0, w->stream), entry);
        stream_wait(w->stream, entry, s->text);
        bool is_right = true;
        for (int64_t at = 0; is_right && at < n; at += PERIOD) {
            size_t bytes = (size_t)(n - at < PERIOD ? n - at : PERIOD) * 2;
            device_read(got, out + at * 2, bytes);
            is_right = memcmp(got, y, bytes) == 0;
            if (!is_right)
                fail("%s: wrong among the elements from %lld of %lld\n%s", entry, (long long)at, (long long)n, s->text);
        }
        device_read(got, out + n * 2, GUARD);
        for (size_t i = 0; is_right && i < GUARD; i++) is_right = got[i] == 0xFF;
        if (!is_right) fail("%s: wrong, or memory behind the output was written", entry);
        n_compared += n;
    }
    free(got);
    device_free(in);
    device_free(out);
}

static void big_pointwise(struct worker *w) {
    const char *text = "kernel t(x: bf16[A]) -> y: bf16[A] { y = x * 3 - 1 }";
    struct spec s;
    uint16_t *x = need(malloc(PERIOD * sizeof *x)), *y = need(malloc(PERIOD * sizeof *y));
    double *value = need(malloc(PERIOD * sizeof *value));
    struct fx_host host = {.dtype = FX_BF16, .rank = 1, .extents = {PERIOD}, .data = x};
    char message[256];
    if (!spec_open(&s, text)) return;
    data_fill(DATA_INTEGERS, 5, FX_BF16, x, PERIOD);
    if (fx_evaluate(s.compilation, "t", &host, 1, 0, NULL, PERIOD, value, NULL, FX_BOUND_WORST, NULL, message,
            sizeof message) != FX_OK)
        die("the oracle: %s", message);
    for (size_t i = 0; i < PERIOD; i++) fx_store_double(FX_BF16, y, i, value[i]);
    run_periodic(w, &s, dry ? 3 * PERIOD + 77 : 2200000016, x, y);
    spec_close(&s);
    free(x);
    free(y);
    free(value);
}

/* The output alone is larger than 2^31 elements; aligned, then odd. */
static void big_gemm(struct worker *w, int i) {
    char text[TEXT_SIZE];
    struct setup u = {.data = DATA_INTEGERS, .n_sampled = dry ? 1000 : 30000, .is_exact = true, .is_big = true};
    const char *t = i == 2 ? "f32" : "bf16";
    snprintf(text, sizeof text, "kernel t(x: %s[M,K], w: %s[K,N], b: %s[N]) -> y: %s[M,N] { y = relu(x @ w + b) }", t,
        t, t, t);
    size(&u, "MNK", dry ? 999 : i ? 46351 : 46352, dry ? 1001 : i ? 46349 : 46352, i ? 7 : 8);
    try_text(w, text, &u);
    block_release(&w->out);
}

static void task_big(struct worker *w, int i) {
    if (i == 3) big_pointwise(w);
    else big_gemm(w, i);
}

static void section_big(void) { run_tasks(task_big, 4); }

/* ---- resources: no kernel spills ---- */

static void task_examples(struct worker *w, int i) {
    static const char *const files[] = {"examples/linear_gelu.fx", "examples/mlp.fx"};
    char text[TEXT_SIZE];
    struct spec s;
    (void)w;
    FILE *f = fopen(files[i], "r");
    if (!f) return fail("cannot read %s", files[i]);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    if (!spec_open(&s, text)) return;
    n_compared++;
    spec_close(&s);
}

static void section_resources(void) {
    run_tasks(task_examples, 2);
    for (int i = 0; i < n_spills; i++) {
        fail("%s", spills[i]);
        free(spills[i]);
    }
    n_spills = 0;
    printf("  %-66s %8s %9s %7s %6s  %s\n", "configuration", "kernels", "registers", "shared", "local",
        "most registers in");
    for (int i = 0; i < n_usages; i++)
        printf("  %-66s %8d %9d %7d %6d  %s\n", usages[i].config, usages[i].n, usages[i].registers,
            usages[i].shared_bytes, usages[i].local_bytes, usages[i].worst);
}

/* ---- all of them ---- */

static const struct section {
    const char *name;
    void (*run)(void);
} sections[] = {
    {"smallest", section_smallest}, {"gemm", section_gemm},     {"bases", section_bases}, {"forms", section_forms},
    {"scales", section_scales},     {"pointwise", section_pointwise}, {"ops", section_ops}, {"random", section_random},
    {"repeat", section_repeat},
    {"big", section_big},           {"resources", section_resources},
};

static void run_section(const struct section *s) {
    double start = now();
    section_name = s->name;
    n_launches = n_compared = n_failed = n_reports = 0;
    s->run();
    double seconds = now() - start;
    printf("%s: %ld launches, %ld elements compared, %ld failures, %.1f seconds (%.0f launches/s)\n", s->name,
        (long)n_launches, (long)n_compared, (long)n_failed, seconds, (double)n_launches / seconds);
    fflush(stdout);
    total_failed += n_failed;
    total_passed += n_launches > n_failed ? n_launches - n_failed : 0;
    total_compared += n_compared;
}

static void open_device(void) {
    const char *mode = getenv("FX_DRY");
    if (mode) {
        dry = !strcmp(mode, "wrong") ? DRY_WRONG : !strcmp(mode, "outside") ? DRY_OUTSIDE : DRY_RIGHT;
        printf("dry run: no kernel is launched\n");
        return;
    }
    must(fx_context_open(0, &context), "no GPU");
    printf("%s, %s, %d multiprocessors\n", fx_context_device(context), fx_context_arch(context),
        fx_context_sm_count(context));
}

static void close_device(void) {
    for (int i = 0; i < MAX_THREADS; i++) {
        block_release(&workers[i].in);
        block_release(&workers[i].out);
        block_release(&workers[i].workspace);
        free(workers[i].want);
        if (workers[i].stream) fx_stream_close(context, workers[i].stream);
    }
    fx_context_close(context);
}

int main(int argc, char **argv) {
    struct draw normal = {DRAW_NORMAL, 0, 1};
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    n_threads = n_cores < 1 ? 1 : n_cores > MAX_THREADS ? MAX_THREADS : (int)n_cores;
    draw_fill(&normal, 1, FX_F32, normals, TABLE_SIZE);
    open_device();
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (argc < 2 || strstr(sections[i].name, argv[1])) run_section(&sections[i]);
    close_device();
    printf("%ld passed, %ld failed\n", total_passed, total_failed);
    return total_failed || !total_compared;
}
