/* Finds libcuda and libnvrtc and fills their tables. In: environment and file system. Out: the tables, and a log of
 * every candidate for fx_doctor. Each library is searched for once per process, and again if memory ran out during the
 * search. No library is ever closed, since others may use it.
 *
 * A candidate counts only if it works. The toolkit's stub of libcuda has the real one's name and answers cuInit with
 * 34. NVRTC opens its builtins by bare name, so they must be loaded first, from NVRTC's own folder. */
#include "lib/cuda_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/runtime.h"

struct driver_table cuda_driver;
static const struct stand_in *_Atomic stand_in;

const struct stand_in *stand_in_get(void) { return atomic_load(&stand_in); }
void stand_in_set(const struct stand_in *s) { atomic_store(&stand_in, s); }
struct nvrtc_table cuda_nvrtc;

struct search {
    const char *what;                     /* "NVRTC" */
    void (*run)(struct search *);         /* tries one candidate after the other */
    pthread_mutex_t lock;                 /* guards what follows until the search is over */
    bool is_over;                         /* nothing of it changes any more */
    bool is_short;                        /* memory ran out: then nothing more is tried, since what was asked for may be
                                           * what could not be tried */
    bool (*accept)(struct search *, void *); /* fills the table if the library works; says in `result` either way */
    bool is_foresight; /* nothing is opened: the first candidate that is there is `chosen`, accept is NULL */
    bool is_found;                        /* then nothing more is tried */
    char result[512];                     /* of the candidate tried last */
    char why_not[512];                    /* of the candidate that came closest */
    bool was_opened;                      /* why_not is of a library that could be opened */
    char chosen[PATH_MAX];                /* path of the library taken */
    char log[16384];                      /* a line a candidate */
    size_t log_len;                       /* of log */
};

static bool accept_driver(struct search *s, void *library);
static bool accept_nvrtc(struct search *s, void *library);
static void search_driver(struct search *s);
static void search_nvrtc(struct search *s);
static struct search driver_search = {.what = "the CUDA driver", .run = search_driver,
                                      .lock = PTHREAD_MUTEX_INITIALIZER, .accept = accept_driver};
static struct search nvrtc_search = {.what = "NVRTC", .run = search_nvrtc, .lock = PTHREAD_MUTEX_INITIALIZER,
                                     .accept = accept_nvrtc};
static int nvrtc_major, nvrtc_minor;
static char nvrtc_identity[LIBRARY_TEXT];
static atomic_bool nvrtc_is_open; /* then the three above are constant */

/* ---- trying one candidate ---- */

static void log_line(struct search *s, const char *candidate, const char *result) {
    size_t room = sizeof s->log - s->log_len;
    int n = snprintf(s->log + s->log_len, room, "  %s: %s\n", candidate, result);
    s->log_len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void refuse(struct search *s, const char *path, bool was_opened) {
    if (s->why_not[0] && (s->was_opened || !was_opened)) return;
    s->was_opened = was_opened;
    snprintf(s->why_not, sizeof s->why_not, was_opened ? "%s: %s" : "%.0s%s", path, s->result);
}

static void find_path(void *symbol, char *path, size_t size) {
    Dl_info info;
    snprintf(path, size, "%s", dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "");
}

/* A candidate without folder is what is loaded, or what the loader finds: loading it is the one way to know. */
static void foresee(struct search *s, const char *path, int flags) {
    if (strchr(path, '/')) {
        s->is_found = access(path, F_OK) == 0;
        snprintf(s->chosen, sizeof s->chosen, "%s", path);
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags),
         *symbol = library ? dlsym(library, "nvrtcVersion") : NULL;
    s->is_found = library != NULL;
    find_path(symbol, s->chosen, sizeof s->chosen);
}

/* The loader says so in words of the user's language; what it called has set errno. */
static void *open_library(struct search *s, const char *path, int flags) {
    errno = 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (!library && errno == ENOMEM) s->is_short = true;
    return library;
}

/* A path is tried only if it is there: the loader's own message would be the same for all. */
static void try_library(struct search *s, const char *path, int flags) {
    if (s->is_found || s->is_short) return;
    if (s->is_foresight) {
        foresee(s, path, flags);
        return;
    }
    if (strchr(path, '/') && access(path, F_OK) != 0) {
        log_line(s, path, "not there");
        return;
    }
    void *library = open_library(s, path, flags);
    if (!library && flags & RTLD_NOLOAD) return;
    if (library) {
        s->is_found = s->accept(s, library);
    } else {
        const char *reason = dlerror();
        snprintf(s->result, sizeof s->result, "%s", reason ? reason : "cannot be opened");
    }
    log_line(s, path, s->result);
    if (!s->is_found) refuse(s, path, library != NULL);
}

static bool find_symbol(struct search *s, void *library, const char *name, void *slot) {
    void *symbol = dlsym(library, name);
    if (!symbol) snprintf(s->result, sizeof s->result, "it has no %s", name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* ---- libcuda ---- */

static bool accept_driver(struct search *s, void *library) {
    struct driver_table t;
    int version = 0;
#define DRIVER(name, symbol, parameters) \
    if (!find_symbol(s, library, symbol, &t.name)) return false;
#include "lib/cuda_api.def"
    int code = t.cuInit(0);
    if (code == CUDA_ERROR_STUB_LIBRARY) {
        snprintf(s->result, sizeof s->result, "it is the toolkit's stub");
        return false;
    }
    t.cuDriverGetVersion(&version);
    snprintf(s->result, sizeof s->result, "driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (code) {
        size_t n = strlen(s->result);
        snprintf(s->result + n, sizeof s->result - n, ", cuInit returns %d", code);
    }
    find_path((void *)t.cuInit, s->chosen, sizeof s->chosen);
    cuda_driver = t;
    return true;
}

static void search_driver(struct search *s) {
    static const char *const places[] = {"/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
        /* A stub once opened answers to the bare name from then on, but not to these. */
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1"};
    const char *given = secure_getenv("FX_LIBCUDA");
    if (given && *given) try_library(s, given, 0);
    try_library(s, "libcuda.so.1", RTLD_NOLOAD);
    try_library(s, "libcuda.so.1", 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) try_library(s, places[i], 0);
}

/* ---- libnvrtc ---- */

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
enum { N_SONAMES = sizeof sonames / sizeof *sonames };

static void load_builtins(struct search *s, const char *library, int major, int minor) {
    char path[PATH_MAX];
    const char *slash = strrchr(library, '/');
    int n = snprintf(path, sizeof path, "%.*slibnvrtc-builtins.so.%d.%d", slash ? (int)(slash + 1 - library) : 0,
        library, major, minor);
    /* Where it is not there NVRTC may still find it by itself: the test compile decides. */
    if (n > 0 && (size_t)n < sizeof path) (void)!open_library(s, path, 0);
}

/* Compiles a line: what is missing beside the library shows only then. */
static int compile_a_line(const struct nvrtc_table *t) {
    void *program = NULL;
    int code = t->nvrtcCreateProgram(&program, "extern \"C\" __global__ void fx_probe() {}", "probe.cu", 0, NULL, NULL);
    if (code == 0) code = t->nvrtcCompileProgram(program, 0, NULL);
    if (program) t->nvrtcDestroyProgram(&program);
    return code;
}

static bool accept_nvrtc(struct search *s, void *library) {
    struct nvrtc_table t;
    char path[PATH_MAX];
    int major = 0, minor = 0, code;
#define NVRTC(name, parameters) \
    if (!find_symbol(s, library, #name, &t.name)) return false;
#include "lib/cuda_api.def"
    if ((code = t.nvrtcVersion(&major, &minor)) != 0) {
        snprintf(s->result, sizeof s->result, "nvrtcVersion returns %d", code);
        return false;
    }
    find_path((void *)t.nvrtcVersion, path, sizeof path);
    load_builtins(s, path, major, minor);
    if (!s->is_short && (code = compile_a_line(&t)) != 0) {
        s->is_short = code == NVRTC_OUT_OF_MEMORY;
        snprintf(s->result, sizeof s->result, "it cannot compile a line: %s (%d)", nvrtc_error_name(code), code);
        return false;
    }
    errno = 0;
    if (!s->is_short && !library_identity(path, (const void *)t.nvrtcVersion, nvrtc_identity))
        s->is_short = errno == ENOMEM;
    if (s->is_short) {
        snprintf(s->result, sizeof s->result, "out of memory");
        return false;
    }
    snprintf(s->result, sizeof s->result, "NVRTC %d.%d", major, minor);
    snprintf(s->chosen, sizeof s->chosen, "%s", path);
    nvrtc_major = major;
    nvrtc_minor = minor;
    cuda_nvrtc = t;
    atomic_store(&nvrtc_is_open, true);
    return true;
}

__attribute__((format(printf, 2, 3))) static void try_folder(struct search *s, const char *fmt, ...) {
    char folder[PATH_MAX], path[PATH_MAX + 32];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(folder, sizeof folder, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof folder) return;
    for (int i = 0; i < N_SONAMES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, sonames[i]);
        try_library(s, path, 0);
    }
}

static void try_toolkit(struct search *s, const char *root) {
    static const char *const folders[] = {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
    for (size_t i = 0; root && *root && i < sizeof folders / sizeof *folders; i++)
        try_folder(s, "%s/%s", root, folders[i]);
}

/* Where pip puts the wheels of CUDA 13 and 12, below a folder of packages. */
static void try_wheels(struct search *s, const char *packages) {
    try_folder(s, "%s/nvidia/cu13/lib", packages);
    try_folder(s, "%s/nvidia/cuda_nvrtc/lib", packages);
}

static void try_pattern(struct search *s, const char *pattern, void (*try)(struct search *, const char *)) {
    glob_t found;
    int code = s->is_found || s->is_short ? GLOB_NOMATCH : glob(pattern, 0, NULL, &found);
    if (code == GLOB_NOSPACE) s->is_short = true;
    if (code != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) try(s, found.gl_pathv[i]);
    globfree(&found);
}

/* Beside the file that holds this code, the library or the program: what `make setup` installed,
 * or a wheel it came in. */
static void try_beside(struct search *s, const char *file) {
    char own[PATH_MAX], folder[PATH_MAX + 16];
    if (!realpath(file, own)) return;
    char *slash = strrchr(own, '/');
    *slash = 0;
    snprintf(folder, sizeof folder, "%s/nvrtc", own);
    try_wheels(s, folder);
    snprintf(folder, sizeof folder, "%s/..", own);
    try_wheels(s, folder);
}

static void search_nvrtc(struct search *s) {
    static const char *const roots[] = {"FX_CUDA_PATH", "CUDA_PATH", "CUDA_HOME"};
    char own[PATH_MAX], pattern[PATH_MAX];
    const char *given = secure_getenv("FX_LIBNVRTC"), *venv = secure_getenv("VIRTUAL_ENV");
    if (given && *given) try_library(s, given, 0);
    for (int i = 0; i < N_SONAMES; i++) try_library(s, sonames[i], RTLD_NOLOAD);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) try_toolkit(s, secure_getenv(roots[i]));
    find_path((void *)search_nvrtc, own, sizeof own);
    try_beside(s, "/proc/self/exe");
    try_beside(s, own);
    if (venv && *venv &&
        (size_t)snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages", venv) < sizeof pattern)
        try_pattern(s, pattern, try_wheels);
    for (int i = 0; i < N_SONAMES; i++) try_library(s, sonames[i], 0);
    try_pattern(s, "/usr/local/cuda*", try_toolkit);
    try_toolkit(s, "/opt/cuda");
}

/* ---- what the rest of the runtime calls ---- */

static void search_again(struct search *s) {
    s->is_short = s->was_opened = false;
    s->result[0] = s->why_not[0] = s->log[0] = 0;
    s->log_len = 0;
    s->run(s);
    s->is_over = !s->is_short;
}

static fx_status search(struct search *s) {
    fx_status status = FX_OK;
    pthread_mutex_lock(&s->lock);
    if (!s->is_over) search_again(s);
    if (s->is_short)
        status = error_set(FX_ERR_NOMEM, "out of memory while a library of %s was looked for: %s", s->what, s->result);
    else if (!s->is_found)
        status = error_set(FX_ERR_TOOLCHAIN, "no library of %s works: %s", s->what,
                           s->why_not[0] ? s->why_not : "none was found");
    pthread_mutex_unlock(&s->lock);
    return status;
}

fx_status driver_open(void) {
    return stand_in_get() ? FX_OK : search(&driver_search);
}

fx_status nvrtc_open(void) {
    return search(&nvrtc_search);
}

void nvrtc_version(int *major, int *minor) {
    *major = nvrtc_major;
    *minor = nvrtc_minor;
}

const char *nvrtc_library(void) { return nvrtc_identity; }

void nvrtc_foresee(char text[LIBRARY_TEXT], int *major, int *minor) {
    *major = *minor = 0;
    text[0] = 0;
    if (atomic_load(&nvrtc_is_open)) {
        nvrtc_version(major, minor);
        memcpy(text, nvrtc_identity, LIBRARY_TEXT);
        return;
    }
    struct search *s = calloc(1, sizeof *s);
    if (!s) return;
    s->is_foresight = true;
    search_nvrtc(s);
    if (s->is_found) (void)library_identity(s->chosen, NULL, text);
    free(s);
}

const char *nvrtc_error_name(int code) {
    static const char *const names[] = {"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM",
        "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
        "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED", "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED", "NVRTC_ERROR_PCH_CREATE",
        "NVRTC_ERROR_CANCELLED", "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED"};
    return code >= 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : "an unknown NVRTC error";
}

static void describe(struct search *s, const char *name, char *text, size_t size) {
    size_t n = size ? strlen(text) : 0;
    pthread_mutex_lock(&s->lock);
    if (n < size) snprintf(text + n, size - n, "%s: %s\n%s", name, s->is_found ? s->chosen : "none", s->log);
    pthread_mutex_unlock(&s->lock);
}

fx_status fx_doctor(char *text, size_t size) {
    if (!text) size = 0;
    if (size) text[0] = 0;
    (void)driver_open();
    fx_status status = nvrtc_open();
    describe(&nvrtc_search, "libnvrtc", text, size);
    describe(&driver_search, "libcuda", text, size);
    return status;
}
