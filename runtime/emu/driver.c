/* The driver API of the emulator. In: the runtime's calls of a driver. Out: a device whose memory is the process's own.
 * A launch runs on the CPU, several times under different schedules, all of which must leave the same bytes. Invariant:
 * an error in a launch is reported by the launch itself, not by a later call, and nothing is lost by it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arch.h"
#include "emu/emu.h"

enum {
    OUT_OF_MEMORY = 2,
    INVALID_HANDLE = 400,
    FAILED = 999,
    RANDOM_SEED = 20260,
    MAX_REGIONS = 64
};

static struct fx_emulation emulation;
static _Thread_local char failure[MACHINE_TEXT + 512]; /* of the last launch on this thread that failed */
static char a_context;

/* The machine that the device claims to be. */
static const struct arch *claimed(void) { return arch_find("sm_90a"); }
static unsigned most_shared(void) { return (unsigned)claimed()->block_shared; }
static int capability(void) { return atoi(claimed()->name + strlen("sm_")); } /* 90 */

bool emu_is_watched(void) { return emulation.is_watched; }

/* ---- the memory of a launch ---- */

struct reach { /* what the arguments of a launch point into */
    const struct region *regions[MAX_REGIONS];
    int n;
    char *before, *after; /* its bytes, region after region: as they were, as the first schedule left them */
};

static void find_reach(const struct emu_launch *l, struct reach *r) {
    const struct emu_entry *e = l->module->entry;
    *r = (struct reach){.n = 0};
    for (int i = 0; i < e->n_parameters; i++) {
        const char *p;
        bool is_known = false;
        if (e->n_bytes[i] != sizeof p) continue;
        memcpy(&p, l->arguments[i], sizeof p);
        const struct region *found = memory_find(p);
        for (int j = 0; j < r->n; j++) is_known |= r->regions[j] == found;
        if (found && !is_known && r->n < MAX_REGIONS) r->regions[r->n++] = found;
    }
}

static char *save(const struct reach *r) {
    size_t n = 0, at = 0;
    for (int i = 0; i < r->n; i++) n += r->regions[i]->n_bytes;
    char *bytes = malloc(n + 1);
    for (int i = 0; bytes && i < r->n; at += r->regions[i++]->n_bytes)
        memcpy(bytes + at, r->regions[i]->at, r->regions[i]->n_bytes);
    return bytes;
}

static void restore(const struct reach *r) {
    size_t at = 0;
    for (int i = 0; i < r->n; at += r->regions[i++]->n_bytes)
        memcpy(r->regions[i]->at, r->before + at, r->regions[i]->n_bytes);
}

/* The first byte that is not as the first schedule left it, or NULL. */
static const char *find_difference(const struct reach *r) {
    size_t at = 0;
    for (int i = 0; i < r->n; at += r->regions[i++]->n_bytes) {
        const struct region *g = r->regions[i];
        if (memcmp(g->at, r->after + at, g->n_bytes) == 0) continue;
        for (size_t b = 0; b < g->n_bytes; b++)
            if (g->at[b] != r->after[at + b]) return g->at + b;
    }
    return NULL;
}

/* ---- launches ---- */

static const char *const order_names[] = {"ascending", "descending", "random"};

/* Under one schedule; false with the failure written. */
static bool run_once(const struct emu_launch *l, const struct emu_schedule *s, const struct reach *r) {
    char error[MACHINE_TEXT];
    const char *when = s->is_late ? "when waited for" : "at once";
    long offset;
    if (!machine_run(l, s, error, sizeof error)) {
        snprintf(
            failure, sizeof failure, "%s (threads in %s order, copies landing %s)", error, order_names[s->order], when);
        return false;
    }
    for (int i = 0; i < r->n; i++) {
        if (!memory_is_broken(r->regions[i], &offset)) continue;
        char where[256];
        fault_describe(l, r->regions[i]->at + offset, where, sizeof where);
        snprintf(failure, sizeof failure, "%s writes outside of what it was given: %s", l->module->name, where);
        return false;
    }
    return true;
}

static bool agrees(const struct emu_launch *l, const struct emu_schedule *s, const struct reach *r) {
    char where[256];
    const char *byte = find_difference(r);
    if (!byte) return true;
    fault_describe(l, byte, where, sizeof where);
    snprintf(failure, sizeof failure,
        "%s leaves something else when its threads run in %s order and copies land %s than in "
        "ascending order with copies landing at once: %s",
        l->module->name, order_names[s->order], s->is_late ? "when waited for" : "at once", where);
    return false;
}

/* Where two accesses are in conflict it runs once more, to see where the other was. */
static bool run_watched(const struct emu_launch *l, const struct emu_schedule *s, const struct reach *r) {
    seen_begin(l->watch);
    bool is_fine = run_once(l, s, r);
    seen_end(l->watch, is_fine);
    if (is_fine || !l->watch->other.at || l->watch->other.pc) return is_fine;
    l->watch->seeks = true;
    restore(r);
    return run_once(l, s, r);
}

/* Under all schedules, from the same memory. */
static bool run_all(struct emu_launch *l) {
    static const struct emu_schedule schedules[] = {
        {.order = ORDER_UP},
        {.order = ORDER_RANDOM, .seed = RANDOM_SEED, .is_late = true},
        {.order = ORDER_DOWN, .is_late = true},
    };
    enum { N_SCHEDULES = sizeof schedules / sizeof *schedules };
    int n = emulation.n_schedules > 0 && emulation.n_schedules < N_SCHEDULES ? emulation.n_schedules : N_SCHEDULES;
    struct reach r;
    struct watch watch;
    bool is_watched = emulation.is_watched && l->module->entry->source;
    find_reach(l, &r);
    bool is_fine = (n == 1 && !is_watched) || (r.before = save(&r)) != NULL;
    if (is_fine && is_watched && (is_fine = watch_open(&watch, l))) l->watch = &watch;
    if (!is_fine) snprintf(failure, sizeof failure, "out of memory");
    for (int i = 0; is_fine && i < n; i++) {
        struct emu_schedule s = schedules[((uint64_t)i + emulation.seed) % N_SCHEDULES];
        s.seed += emulation.seed;
        s.is_watched = l->watch && i == 0;
        if (i > 0) restore(&r);
        is_fine = s.is_watched ? run_watched(l, &s, &r) : run_once(l, &s, &r);
        if (is_fine && i > 0) is_fine = agrees(l, &s, &r);
        if (is_fine && i == 0 && n > 1) is_fine = (r.after = save(&r)) != NULL;
    }
    if (l->watch) watch_close(l->watch);
    free(r.before);
    free(r.after);
    return is_fine;
}

static int launch(
    const struct cuda_launch_config *c, void *function, void **arguments, bool is_cooperative, unsigned cluster) {
    enum { MOST_CLUSTER = 8 };
    struct module *m = function;
    struct emu_launch l = {.module = m,
        .grid = c->grid[0],
        .n_threads = c->block[0],
        .shared_bytes = c->shared_bytes,
        .cluster = cluster,
        .is_cooperative = is_cooperative,
        .arguments = arguments};
    if (c->grid[1] != 1 || c->grid[2] != 1 || c->block[1] != 1 || c->block[2] != 1 || !l.grid || !l.n_threads ||
        l.n_threads > 1024 || l.shared_bytes > most_shared() || !cluster || cluster > MOST_CLUSTER ||
        l.grid % cluster || (is_cooperative && cluster > 1))
        return 1;
    pthread_mutex_lock(&m->lock);
    bool is_fine = run_all(&l);
    pthread_mutex_unlock(&m->lock);
    return is_fine ? 0 : FAILED;
}

static int emu_launch_ex(const struct cuda_launch_config *c, void *function, void **arguments, void **extra) {
    bool is_cooperative = false;
    unsigned cluster = 1;
    (void)extra;
    for (unsigned i = 0; i < c->n_attributes; i++) {
        if (c->attributes[i].id == LAUNCH_ATTRIBUTE_COOPERATIVE)
            is_cooperative = c->attributes[i].value.cooperative != 0;
        if (c->attributes[i].id == LAUNCH_ATTRIBUTE_CLUSTER) cluster = c->attributes[i].value.cluster[0];
    }
    return launch(c, function, arguments, is_cooperative, cluster);
}

static int emu_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
    unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    struct cuda_launch_config c = {.grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_bytes = shared_bytes,
        .stream = stream};
    (void)extra;
    return launch(&c, function, arguments, false, 1);
}

/* ---- the device ---- */

static int emu_init(unsigned flags) {
    (void)flags;
    return 0;
}

static int emu_version(int *version) {
    *version = 13000;
    return 0;
}

static int emu_error_name(int code, const char **name) {
    *name = code == FAILED ? "on the emulator" : "of the emulator";
    return 0;
}

static int emu_error_string(int code, const char **words) {
    *words = code == FAILED ? failure : code == OUT_OF_MEMORY ? "out of memory" : "the emulator cannot do that";
    return 0;
}

static int emu_device_get(int *device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? 0 : 101;
}

static int emu_device_name(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "the emulator");
    return 0;
}

static int emu_device_attribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case DEVICE_ATTRIBUTE_SM_COUNT: *value = emulation.sm_count; break;
    case DEVICE_ATTRIBUTE_CC_MAJOR: *value = capability() / 10; break;
    case DEVICE_ATTRIBUTE_CC_MINOR: *value = capability() % 10; break;
    case DEVICE_ATTRIBUTE_MAX_SHARED: *value = claimed()->block_shared; break;
    default: return 1;
    }
    return 0;
}

static int emu_retain(void **context, int device) {
    (void)device;
    *context = &a_context;
    return 0;
}

static int emu_release(int device) {
    (void)device;
    return 0;
}

static _Thread_local void *current;

static int emu_current(void **context) {
    *context = current;
    return 0;
}

static int emu_current_device(int *device) {
    *device = 0;
    return 0;
}

static int emu_push(void *context) {
    current = context;
    return 0;
}

static int emu_pop(void **context) {
    *context = current;
    current = NULL;
    return 0;
}

/* ---- modules ---- */

static int emu_module_load(void **module, const void *image) { return module_open((struct module **)module, image); }

static int emu_module_unload(void *module) {
    module_close(module);
    return 0;
}

static int emu_module_function(void **function, void *module, const char *name) {
    int code = module_take(module, name);
    if (code == 0) *function = module;
    return code;
}

static int emu_function_attribute(int *value, int attribute, void *function) {
    (void)function;
    *value = attribute == FUNCTION_ATTRIBUTE_MAX_THREADS ? 1024 : 0;
    return 0;
}

static int emu_function_set(void *function, int attribute, int value) {
    (void)function, (void)attribute;
    return value > claimed()->block_shared;
}

/* One an SM: a cooperative launch has all its blocks alive. */
static int emu_occupancy(int *n_blocks, void *function, int block, size_t shared_bytes) {
    (void)function, (void)block, (void)shared_bytes;
    *n_blocks = 1;
    return 0;
}

/* ---- memory, streams, events ---- */

static int emu_alloc(uint64_t *address, size_t n_bytes) {
    char *p = memory_take(n_bytes);
    *address = (uint64_t)(uintptr_t)p;
    return p ? 0 : OUT_OF_MEMORY;
}

static int emu_free(uint64_t address) { return memory_give((char *)(uintptr_t)address) ? 0 : INVALID_HANDLE; }

static int emu_write(uint64_t device, const void *host, size_t n_bytes) {
    memcpy((void *)(uintptr_t)device, host, n_bytes);
    return 0;
}

static int emu_read(void *host, uint64_t device, size_t n_bytes) {
    memcpy(host, (const void *)(uintptr_t)device, n_bytes);
    return 0;
}

static int emu_fill(uint64_t device, unsigned char byte, size_t n, void *stream) {
    (void)stream;
    memset((void *)(uintptr_t)device, byte, n);
    return 0;
}

static int emu_stream_create(void **stream, unsigned flags) {
    (void)flags;
    *stream = &a_context;
    return 0;
}

static int emu_stream_nothing(void *stream) {
    (void)stream;
    return 0;
}

static int emu_event_create(void **event, unsigned flags) {
    (void)flags;
    return (*event = calloc(1, sizeof(struct timespec))) ? 0 : OUT_OF_MEMORY;
}

static int emu_event_destroy(void *event) {
    free(event);
    return 0;
}

static int emu_event_record(void *event, void *stream) {
    (void)stream;
    return clock_gettime(CLOCK_MONOTONIC, event);
}

static int emu_event_nothing(void *event) {
    (void)event;
    return 0;
}

static int emu_event_elapsed(float *milliseconds, void *start, void *stop) {
    const struct timespec *a = start, *b = stop;
    *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return 0;
}

/* ---- turning it on ---- */

fx_status fx_emulate(const struct fx_emulation *e) {
    fx_status status = emu_find_compiler();
    if (status != FX_OK) return status;
    if (!stand_in_get() && !fault_watch()) return error_set(FX_ERR_USAGE, "the emulator cannot catch faults");
    emulation = e ? *e : (struct fx_emulation){0};
    if (emulation.sm_count <= 0) emulation.sm_count = claimed()->sms;
    cuda_driver = (struct driver_table){.cuInit = emu_init,
        .cuDriverGetVersion = emu_version,
        .cuGetErrorName = emu_error_name,
        .cuGetErrorString = emu_error_string,
        .cuDeviceGet = emu_device_get,
        .cuDeviceGetName = emu_device_name,
        .cuDeviceGetAttribute = emu_device_attribute,
        .cuDevicePrimaryCtxRetain = emu_retain,
        .cuDevicePrimaryCtxRelease = emu_release,
        .cuCtxGetCurrent = emu_current,
        .cuCtxGetDevice = emu_current_device,
        .cuCtxPushCurrent = emu_push,
        .cuCtxPopCurrent = emu_pop,
        .cuModuleLoadData = emu_module_load,
        .cuModuleUnload = emu_module_unload,
        .cuModuleGetFunction = emu_module_function,
        .cuFuncGetAttribute = emu_function_attribute,
        .cuFuncSetAttribute = emu_function_set,
        .cuLaunchKernel = emu_launch,
        .cuLaunchKernelEx = emu_launch_ex,
        .cuOccupancyMaxActiveBlocksPerMultiprocessor = emu_occupancy,
        .cuTensorMapEncodeTiled = emu_encode_map,
        .cuTensorMapEncodeIm2col = emu_encode_im2col,
        .cuMemAlloc = emu_alloc,
        .cuMemFree = emu_free,
        .cuMemcpyHtoD = emu_write,
        .cuMemcpyDtoH = emu_read,
        .cuMemsetD8Async = emu_fill,
        .cuStreamCreate = emu_stream_create,
        .cuStreamDestroy = emu_stream_nothing,
        .cuStreamSynchronize = emu_stream_nothing,
        .cuEventCreate = emu_event_create,
        .cuEventDestroy = emu_event_destroy,
        .cuEventRecord = emu_event_record,
        .cuEventSynchronize = emu_event_nothing,
        .cuEventElapsedTime = emu_event_elapsed};
    static const struct stand_in plain = {.compile = emu_compile}, watched = {emu_compile, emu_announce, emu_conclude};
    stand_in_set(emulation.is_watched ? &watched : &plain);
    return FX_OK;
}
