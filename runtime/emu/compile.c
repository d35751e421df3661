/* Compiles an emitted file to a shared object, by the host's C++ compiler. In: the text, and the requested entries.
 * Out: the bytes of the shared object, shared by these entries, or the compiler's messages within the error. The text
 * is compiled unchanged, after the C++ form of its hardware functions. Invariant: input and output are in memory only,
 * so that no file remains, whatever ends the process. */
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
    "-fvisibility=hidden", "-fno-stack-protector", "-fno-optimize-sibling-calls", "-nodefaultlibs", "-DFX_PTX"};
/* Where every access is to be seen, by the functions of ptx_emu.h and no library's. */
static const char *const watched_options[] = {"-fsanitize=thread", "-DFX_EMU_WATCHED"};
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

static bool write_bytes(int fd, const char *text, size_t left) {
    while (left > 0) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

static bool write_text(int fd, const char *text) { return write_bytes(fd, text, strlen(text)); }

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

/* ---- the entries ---- */

struct together { /* what is compiled at once: entries of one source */
    struct compile *wanted[MOST_TOGETHER];
    int n;
};

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

static bool is_wanted(const struct together *u, long number) {
    bool is = false;
    for (int i = 0; i < u->n; i++) is |= u->wanted[i]->only == number || u->wanted[i]->only == NO_ENTRY;
    return is;
}

/* The emitted text. It asks of each entry whether FX_ONLY, of which there is one, is its number: the answer for all
 * that are wanted stands in the place of the question. */
static bool write_emitted(const struct together *u, int fd) {
    static const char question[] = "|| FX_ONLY == ";
    const char *from = u->wanted[0]->source;
    for (const char *at; (at = strstr(from, question));) {
        char *end;
        long number = strtol(at + strlen(question), &end, 10);
        if (!write_bytes(fd, from, (size_t)(at - from)) || !write_text(fd, is_wanted(u, number) ? "|| 1" : "|| 0"))
            return false;
        from = end;
    }
    return write_text(fd, from);
}

static bool write_entry(int fd, const char *entry, const char *parameters) {
    const char *const texts[] = {"FX_EMU_ENTRY(", entry, ", \"", parameters,
        emu_is_watched() ? "\", emu_emitted)\n" : "\", 0)\n"};
    bool is_fine = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) is_fine = is_fine && write_text(fd, texts[i]);
    return is_fine;
}

/* What is compiled: the twin, the text, the entries. Their lines are counted apart, by the names that messages and
 * debug information then have. */
static fx_status write_source(const struct together *u, int fd) {
    const struct compile *first = u->wanted[0];
    bool is_fine = write_text(fd, "#line 1 \"ptx_emu.h\"\n") && write_text(fd, fx_text_emu_calls) &&
                   write_text(fd, fx_text_ptx_emu) && write_text(fd, "\n#line 1 \"kernel.cu\"\n") &&
                   write_emitted(u, fd) && write_text(fd, "\n#line 1 \"entry.cc\"\n");
    if (is_fine && emu_is_watched())
        is_fine = write_text(fd, "static const char emu_emitted[] = R\"emitted(") && write_text(fd, first->source) &&
                  write_text(fd, ")emitted\";\n");
    for (int i = 0; i < u->n && is_fine; i++) {
        char parameters[4096];
        const char *entry = u->wanted[i]->entry;
        if (!entry || !find_parameters(first->source, entry, parameters, sizeof parameters))
            return error_set(
                FX_ERR_USAGE, "%s declares no entry %s", first->file, entry ? entry : "that was asked for");
        is_fine = write_entry(fd, entry, parameters);
    }
    return is_fine && lseek(fd, 0, SEEK_SET) == 0 ? FX_OK : error_nomem();
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

static void make_argv(const char *path, char **argv) {
    int n = 0;
    argv[n++] = (char *)path;
    const char *list[MOST_OPTIONS];
    for (int i = 0, n_options = list_options(list); i < n_options; i++) argv[n++] = (char *)list[i];
    argv[n++] = "-DFX_ONLY", argv[n++] = "-o", argv[n++] = "/proc/self/fd/3", argv[n++] = "-", argv[n++] = "-lm",
    argv[n++] = "-lc", argv[n++] = "-lgcc", argv[n] = NULL;
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

static fx_status refused(const char *path, const char *file, int code, int log) {
    size_t n;
    char *said = read_bytes(log, &n);
    fx_status status = error_set(FX_ERR_TOOLCHAIN, "%s cannot compile %s for the emulator (%d)\n%.8000s", path, file,
        code, said ? said : "");
    free(said);
    return status;
}

static fx_status compile_in(const struct together *u, const char *path, const struct files *f, struct cache_entry *e) {
    char *argv[MOST_OPTIONS + 10];
    size_t n;
    if (f->source < 0 || f->image < 0 || f->log < 0) return error_nomem();
    fx_status status = write_source(u, f->source);
    if (status != FX_OK) return status;
    make_argv(path, argv);
    int code = run_compiler(f, argv);
    if (code != 0) return refused(path, u->wanted[0]->file, code, f->log);
    e->log = read_bytes(f->log, &n);
    e->image = read_bytes(f->image, &e->n_bytes);
    if (e->image && e->log) return FX_OK;
    free(e->image);
    free(e->log);
    return error_nomem();
}

static fx_status compile(const struct together *u, const char *path, struct cache_entry *e) {
    struct files f = {open_memory(), open_memory(), open_memory()};
    const int fds[] = {f.source, f.image, f.log};
    fx_status status = compile_in(u, path, &f, e);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0) close(fds[i]);
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

/* Gives the image, or a copy of it, to every entry of the unit. */
static fx_status hand_out(const struct together *u, struct cache_entry *e, bool was_cached) {
    fx_status status = FX_OK;
    for (int i = 0; i < u->n; i++) {
        struct compile *c = u->wanted[i];
        c->was_cached = was_cached, c->n_bytes = e->n_bytes;
        c->image = i ? malloc(e->n_bytes + 1) : e->image;
        c->log = i ? strdup(e->log) : e->log;
        if (c->image && i) memcpy(c->image, e->image, e->n_bytes);
        if (!c->image || !c->log) status = error_nomem();
    }
    for (int i = 0; status != FX_OK && i < u->n; i++) {
        free(u->wanted[i]->image);
        free(u->wanted[i]->log);
        u->wanted[i]->image = u->wanted[i]->log = NULL;
    }
    return status;
}

/* The cache knows a unit by all its entries: what code is made for one of them depends on the others. */
static void key_of(const struct together *u, char *only, size_t size) {
    size_t n = (size_t)snprintf(only, size, "-DFX_ONLY=");
    for (int i = 0; i < u->n && n < size; i++)
        n += (size_t)snprintf(only + n, size - n, "%s%d", i ? "," : "", u->wanted[i]->only);
}

fx_status emu_compile(struct compile *const *wanted, int n) {
    char path[PATH_MAX], library[LIBRARY_TEXT], only[16 * (MOST_TOGETHER + 1)];
    const char *list[MOST_OPTIONS];
    const struct compile *first = wanted[0];
    struct together u = {.n = n};
    struct cache_entry e = {0};
    struct stat s;
    for (int i = 0; i < n; i++) {
        u.wanted[i] = wanted[i];
        wanted[i]->image = wanted[i]->log = NULL, wanted[i]->n_bytes = 0;
    }
    fx_status status = need_compiler(path);
    if (status != FX_OK) return status;
    if (stat(path, &s) != 0) return error_set(FX_ERR_TOOLCHAIN, "cannot look at the C++ compiler %s", path);
    snprintf(library, sizeof library, "%.500s %lld %lld", path, (long long)s.st_size, (long long)s.st_mtime);
    int n_options = list_options(list);
    key_of(&u, only, sizeof only);
    list[n_options++] = only;
    struct cache_key key = {.source = first->source,
        .file = first->file,
        .arch = "emulator",
        .options = list,
        .n_options = n_options,
        .library = library,
        .build = FX_BUILD};
    bool was_cached = first->cache && cache_get(first->cache, &key, &e);
    if (!was_cached) status = compile(&u, path, &e);
    if (status != FX_OK) return status;
    if (first->cache && !was_cached) cache_put(first->cache, &key, &e);
    return hand_out(&u, &e, was_cached);
}
