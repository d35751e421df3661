/* An emitted file to a shared object, by the host's C++ compiler. In: the text, and the entry wanted. Out: the shared
 * object's bytes, or the compiler's messages within the error. The text is compiled as it stands, behind the C++ twin
 * of its hardware section. Invariant: what goes in and out lies in memory alone, so that nothing remains in any folder,
 * whatever ends the process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emu.h"
#include "fx_build.h"

extern char **environ;
extern const char fx_text_emu_calls[], fx_text_ptx_emu[];

static const char *const options[] = {"-x", "c++", "-std=c++17", "-O1", "-g1", "-gdwarf-4", "-w", "-fPIC", "-shared",
    "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti", "-fno-gnu-unique",
    "-fvisibility=hidden", "-fno-stack-protector", "-fno-optimize-sibling-calls", "-DFX_PTX"};
/* Where every access is to be seen, by the functions of ptx_emu.h and no library's. */
static const char *const watched_options[] = {"-fsanitize=thread", "-DFX_EMU_WATCHED", "-nodefaultlibs"};
enum {
    N_OPTIONS = sizeof options / sizeof *options,
    N_WATCHED = sizeof watched_options / sizeof *watched_options,
    MOST_OPTIONS = N_OPTIONS + N_WATCHED + 2
};

/* ---- files in memory ---- */

enum { LEAST_FD = 10 }; /* those below are the compiler's */

/* An empty file, or -1. */
static int open_memory(void) {
    int low = memfd_create("fx_emu", MFD_CLOEXEC), fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LEAST_FD);
    if (low >= 0) close(low);
    return fd;
}

static bool write_text(int fd, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

/* The file's bytes, malloc'ed, with a NUL behind them; NULL when memory runs out. */
static char *read_bytes(int fd, size_t *n) {
    struct stat s;
    char *bytes = fstat(fd, &s) == 0 ? calloc((size_t)s.st_size + 1, 1) : NULL;
    for (*n = 0; bytes && *n < (size_t)s.st_size;) {
        ssize_t got = pread(fd, bytes + *n, (size_t)s.st_size - *n, (off_t)*n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *n += (size_t)got;
    }
    return bytes;
}

/* ---- the entry ---- */

/* The parameters of the entry as the text declares them; false where it declares none of the name. */
static bool find_parameters(const char *source, const char *entry, char *text, size_t size) {
    size_t n = strlen(entry);
    for (const char *at = source; (at = strstr(at, "__global__")); at++) {
        const char *name = strchr(at, '\n'), *end;
        if (!name || strncmp(++name, entry, n) != 0 || name[n] != '(' || !(end = strchr(name, ')'))) continue;
        snprintf(text, size, "%.*s", (int)(end - (name + n + 1)), name + n + 1);
        return true;
    }
    return false;
}

/* What is compiled: the twin, the text, the entry. Their lines are counted apart, by the names that messages and debug
 * information then have. */
static fx_status write_source(const struct compile *c, int fd) {
    char parameters[4096];
    if (!c->entry || !find_parameters(c->source, c->entry, parameters, sizeof parameters))
        return error_set(FX_ERR_USAGE, "%s declares no entry %s", c->file, c->entry ? c->entry : "that was asked for");
    const char *const texts[] = {"#line 1 \"ptx_emu.h\"\n", fx_text_emu_calls, fx_text_ptx_emu,
        "\n#line 1 \"kernel.cu\"\n", c->source, "\n#line 1 \"entry.cc\"\nFX_EMU_ENTRY(", c->entry, ", \"", parameters,
        emu_is_watched() ? "\", R\"emitted(" : "\", 0", emu_is_watched() ? c->source : "",
        emu_is_watched() ? ")emitted\")\n" : ")\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!write_text(fd, texts[i])) return error_nomem();
    return lseek(fd, 0, SEEK_SET) == 0 ? FX_OK : error_nomem();
}

/* ---- the compiler ---- */

/* The options, and what makes fma() one instruction where the processor has it; the library's function is slow. */
static int list_options(const char *list[MOST_OPTIONS]) {
    int n = N_OPTIONS;
    memcpy(list, options, sizeof options);
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma")) list[n++] = "-mfma";
#endif
    for (int i = 0; emu_is_watched() && i < N_WATCHED; i++) list[n++] = watched_options[i];
    return n;
}

static const char *compiler(void) {
    const char *given = secure_getenv("FX_CXX");
    return given && *given ? given : "g++";
}

/* Where the compiler lies, or "". */
static void find_compiler(char path[PATH_MAX]) {
    char place[PATH_MAX];
    const char *name = compiler(), *folders = getenv("PATH");
    path[0] = 0;
    if (strchr(name, '/')) {
        if (!realpath(name, path)) path[0] = 0;
        return;
    }
    for (const char *at = folders ? folders : ""; *at && !*path;) {
        size_t n = strcspn(at, ":");
        snprintf(place, sizeof place, "%.*s/%.100s", n < 3900 ? (int)n : 3900, at, name);
        if (access(place, X_OK) != 0 || !realpath(place, path)) path[0] = 0;
        at += n + (at[n] == ':');
    }
}

static void make_argv(const struct compile *c, const char *path, char *only, size_t only_size, char **argv) {
    int n = 0;
    argv[n++] = (char *)path;
    const char *list[MOST_OPTIONS];
    for (int i = 0, n_options = list_options(list); i < n_options; i++) argv[n++] = (char *)list[i];
    snprintf(only, only_size, "-DFX_ONLY=%d", c->only);
    if (c->only != NO_ENTRY) argv[n++] = only;
    argv[n++] = "-o", argv[n++] = "/proc/self/fd/3", argv[n++] = "-", argv[n++] = "-lm", argv[n++] = "-lc",
    argv[n++] = "-lgcc", argv[n] = NULL;
}

struct files { /* of one run of the compiler; -1: none */
    int source, image, log;
};

/* Its exit status, or -1 where it could not be started. */
static int run_compiler(const struct files *f, char **argv) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    /* The folder is recorded in debug information. */
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawn_file_actions_adddup2(&actions, f->source, 0);
    posix_spawn_file_actions_adddup2(&actions, f->log, 1);
    posix_spawn_file_actions_adddup2(&actions, f->log, 2);
    posix_spawn_file_actions_adddup2(&actions, f->image, 3);
    if (posix_spawn(&child, argv[0], &actions, NULL, argv, environ) != 0 || waitpid(child, &status, 0) != child)
        status = -1;
    posix_spawn_file_actions_destroy(&actions);
    return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static fx_status compile_in(struct compile *c, const char *path, const struct files *f) {
    char only[32], *argv[MOST_OPTIONS + 10];
    size_t n;
    if (f->source < 0 || f->image < 0 || f->log < 0) return error_nomem();
    fx_status status = write_source(c, f->source);
    if (status != FX_OK) return status;
    make_argv(c, path, only, sizeof only, argv);
    int code = run_compiler(f, argv);
    c->log = read_bytes(f->log, &n);
    if (code != 0)
        return error_set(FX_ERR_TOOLCHAIN, "%s cannot compile %s for the emulator (%d)\n%.8000s", path, c->file, code,
            c->log ? c->log : "");
    c->image = read_bytes(f->image, &c->n_bytes);
    return c->image && c->log ? FX_OK : error_nomem();
}

static fx_status compile(struct compile *c, const char *path) {
    struct files f = {open_memory(), open_memory(), open_memory()};
    const int fds[] = {f.source, f.image, f.log};
    fx_status status = compile_in(c, path, &f);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0) close(fds[i]);
    if (status == FX_OK) return FX_OK;
    free(c->image);
    free(c->log);
    c->image = c->log = NULL;
    return status;
}

/* Sets `path` to where the compiler lies. */
static fx_status need_compiler(char path[PATH_MAX]) {
    find_compiler(path);
    if (*path) return FX_OK;
    return error_set(FX_ERR_TOOLCHAIN,
        "the emulator needs a C++ compiler of the host: there is no %s; FX_CXX names another", compiler());
}

fx_status emu_find_compiler(void) {
    char path[PATH_MAX];
    return need_compiler(path);
}

fx_status emu_compile(struct compile *c) {
    char path[PATH_MAX], library[LIBRARY_TEXT], only[32];
    const char *list[MOST_OPTIONS];
    struct cache_entry e;
    struct stat s;
    c->image = c->log = NULL;
    c->n_bytes = 0;
    fx_status found = need_compiler(path);
    if (found != FX_OK) return found;
    if (stat(path, &s) != 0) return error_set(FX_ERR_TOOLCHAIN, "cannot look at the C++ compiler %s", path);
    snprintf(library, sizeof library, "%.500s %lld %lld", path, (long long)s.st_size, (long long)s.st_mtime);
    int n_options = list_options(list);
    snprintf(only, sizeof only, "-DFX_ONLY=%d", c->only);
    list[n_options++] = only;
    struct cache_key key = {.source = c->source,
        .file = c->file,
        .arch = "emulator",
        .options = list,
        .n_options = n_options,
        .library = library,
        .build = FX_BUILD};
    if (c->cache && cache_get(c->cache, &key, &e)) {
        c->image = e.image, c->n_bytes = e.n_bytes, c->log = e.log, c->was_cached = true;
        return FX_OK;
    }
    fx_status status = compile(c, path);
    if (status == FX_OK && c->cache)
        cache_put(c->cache, &key, &(struct cache_entry){0, 0, c->image, c->n_bytes, c->log});
    return status;
}
