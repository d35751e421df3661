/* Compiles source to a cubin or PTX. In: CUDA text and an arch. Out: the image and NVRTC's log, or the log within the
 * error. The options are fixed: a spec reaches NVRTC only through the source. If the disk cache has the image, nothing
 * is compiled and NVRTC is not opened. Any number of threads may compile at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx_build.h"
#include "lib/runtime.h"

static fx_status nvrtc_failed(int code, const char *call) {
    return error_set(code == NVRTC_OUT_OF_MEMORY ? FX_ERR_NOMEM : FX_ERR_TOOLCHAIN, "%s returned %s (%d)", call,
                     nvrtc_error_name(code), code);
}

/* ---- options ---- */

struct options {
    char arch[64], only[32];
    const char *list[8];
    int n;
};

/* "sm_90a": anything else would be an option of its own. */
static bool is_arch(const char *arch) {
    if (strncmp(arch, "sm_", 3) != 0) return false;
    size_t n = strspn(arch + 3, "0123456789");
    const char *suffix = arch + 3 + n;
    return n >= 2 && n <= 4 && (!*suffix || (strchr("af", *suffix) && !suffix[1]));
}

static void make_options(const struct compile *c, struct options *o) {
    *o = (struct options){0};
    snprintf(o->arch, sizeof o->arch, "--gpu-architecture=%s_%s", c->ptx ? "compute" : "sm", c->arch + 3);
    o->list[o->n++] = o->arch;
    o->list[o->n++] = "--std=c++17";
    if (!c->ptx) o->list[o->n++] = "--ptxas-options=--warn-on-spills";
    if (c->only != NO_ENTRY) {
        snprintf(o->only, sizeof o->only, "-DFX_ONLY=%d", c->only);
        o->list[o->n++] = o->only;
    }
    if (getenv("FX_LINEINFO")) o->list[o->n++] = "-lineinfo";
}

/* ---- results ---- */

typedef int size_function(void *program, size_t *n_bytes);
typedef int get_function(void *program, char *bytes);

/* One byte more than NVRTC says is there, and 0, so that a log always ends. */
static fx_status get_bytes(
    void *program, size_function *get_size, get_function *get, const char *call, char **bytes, size_t *n) {
    int code = get_size(program, n);
    *bytes = NULL;
    if (code) return nvrtc_failed(code, call);
    if (*n == SIZE_MAX || !(*bytes = calloc(*n + 1, 1))) return error_nomem();
    code = *n ? get(program, *bytes) : 0;
    if (code == 0) return FX_OK;
    free(*bytes);
    *bytes = NULL;
    return nvrtc_failed(code, call);
}

static fx_status get_image(struct compile *c, void *program) {
    char *image;
    fx_status status = c->ptx ? get_bytes(program, cuda_nvrtc.nvrtcGetPTXSize, cuda_nvrtc.nvrtcGetPTX, "nvrtcGetPTX",
                                    &image, &c->n_bytes)
                              : get_bytes(program, cuda_nvrtc.nvrtcGetCUBINSize, cuda_nvrtc.nvrtcGetCUBIN,
                                    "nvrtcGetCUBIN", &image, &c->n_bytes);
    if (status == FX_OK && c->n_bytes == 0) {
        free(image);
        return error_set(FX_ERR_TOOLCHAIN, "NVRTC made an empty image of %s", c->file);
    }
    c->image = image;
    /* The size of PTX counts its NUL. */
    if (status == FX_OK && c->ptx) c->n_bytes = strlen(image);
    return status;
}

static fx_status compile_program(struct compile *c, const struct options *o, void *program) {
    size_t n;
    int code = cuda_nvrtc.nvrtcCompileProgram(program, o->n, o->list);
    fx_status status = get_bytes(
        program, cuda_nvrtc.nvrtcGetProgramLogSize, cuda_nvrtc.nvrtcGetProgramLog, "nvrtcGetProgramLog", &c->log, &n);
    if (code)
        return error_set(code == NVRTC_OUT_OF_MEMORY ? FX_ERR_NOMEM : FX_ERR_TOOLCHAIN,
            "NVRTC cannot compile %s for %s: %s (%d)%s%s", c->file, c->arch, nvrtc_error_name(code), code,
            c->log && *c->log ? "\n" : "", c->log ? c->log : "");
    return status == FX_OK ? get_image(c, program) : status;
}

static fx_status compile(struct compile *c, const struct options *o) {
    void *program = NULL;
    int code = cuda_nvrtc.nvrtcCreateProgram(&program, c->source, c->file, 0, NULL, NULL);
    if (code) return nvrtc_failed(code, "nvrtcCreateProgram");
    fx_status status = compile_program(c, o, program);
    code = cuda_nvrtc.nvrtcDestroyProgram(&program);
    if (status == FX_OK && code) status = nvrtc_failed(code, "nvrtcDestroyProgram");
    nvrtc_version(&c->major, &c->minor);
    if (status == FX_OK) return FX_OK;
    free(c->image);
    free(c->log);
    c->image = c->log = NULL;
    return status;
}

/* ---- the disk cache ---- */

static struct cache_key key_of(const struct compile *c, const struct options *o, const char *library) {
    return (struct cache_key){.source = c->source,
        .file = c->file,
        .arch = c->arch,
        .options = o->list,
        .n_options = o->n,
        .library = library,
        .build = FX_BUILD};
}

/* An empty name of a library is that of none: another might have it too. */
static bool take_cached(struct compile *c, const struct options *o, const char *library) {
    struct cache_key key = key_of(c, o, library);
    struct cache_entry e;
    if (!c->cache || !*library || !cache_get(c->cache, &key, &e)) return false;
    c->image = e.image;
    c->n_bytes = e.n_bytes;
    c->log = e.log;
    c->major = e.major;
    c->minor = e.minor;
    return c->was_cached = true;
}

static void keep(const struct compile *c, const struct options *o) {
    struct cache_key key = key_of(c, o, nvrtc_library());
    struct cache_entry e = {c->major, c->minor, c->image, c->n_bytes, c->log};
    if (c->cache && *nvrtc_library()) cache_put(c->cache, &key, &e);
}

/* Which library would be opened is a guess; where the one that was is another, it has a say of its own. */
static fx_status compile_or_take(struct compile *c) {
    struct options o;
    const char *foreseen = c->cache ? c->cache->library : "";
    c->image = c->log = NULL;
    c->n_bytes = 0;
    if (!is_arch(c->arch)) return error_set(FX_ERR_USAGE, "no arch is called '%.32s': sm_90a would be one", c->arch);
    make_options(c, &o);
    if (take_cached(c, &o, foreseen)) return FX_OK;
    fx_status status = nvrtc_open();
    if (status != FX_OK) return status;
    if (strcmp(nvrtc_library(), foreseen) != 0 && take_cached(c, &o, nvrtc_library())) return FX_OK;
    status = compile(c, &o);
    if (status == FX_OK) keep(c, &o);
    return status;
}

static void tell(uint64_t began, const struct compile *c, bool is_emulated, fx_status status) {
    const struct timeline_arg args[] = {{.key = "by", .text = is_emulated ? "host compiler" : "NVRTC"},
        {.key = "arch", .text = is_emulated ? "emulator" : c->arch},
        {.key = "cache",
            .text = c->was_cached                       ? "hit"
                    : c->cache && c->cache->folder >= 0 ? "miss"
                                                        : "none"},
        {.key = "bytes", .number = (int64_t)c->n_bytes}, {.key = "status", .number = status}};
    timeline_end(began, "build", c->entry ? c->entry : c->file, args, sizeof args / sizeof *args);
}

fx_status nvrtc_compile_together(struct compile *const *c, int n) {
    const struct stand_in *emulator = c[0]->entry ? stand_in_get() : NULL;
    fx_status status = FX_OK;
    uint64_t began = timeline_begin();
    for (int i = 0; i < n; i++) c[i]->was_cached = false;
    if (emulator) status = emulator->compile(c, n);
    for (int i = 0; i < n && (emulator || status == FX_OK); i++) {
        if (!emulator) began = timeline_begin(), status = compile_or_take(c[i]);
        tell(began, c[i], emulator != NULL, status);
    }
    return status;
}

fx_status nvrtc_compile(struct compile *c) { return nvrtc_compile_together(&c, 1); }

fx_status fx_nvrtc(
    const char *source, const char *file, const char *arch, bool ptx, void **image, size_t *n_bytes, char **log) {
    struct compile c = {.source = source, .file = file ? file : "source.cu", .arch = arch, .only = NO_ENTRY,
                        .ptx = ptx};
    if (!image || !n_bytes || !log) return error_null("a place for the image");
    *image = *log = NULL, *n_bytes = 0;
    if (!source || !arch) return error_null(!source ? "the source" : "the arch");
    fx_status status = nvrtc_compile(&c);
    *image = c.image;
    *n_bytes = c.n_bytes;
    *log = c.log;
    return status;
}
