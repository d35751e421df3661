/* An emitted file to a shared object, by the host's C++ compiler. In: the text, and the entry wanted. Out: the shared object's bytes, or the compiler's
 * messages within the error. The text is compiled as it stands, behind the C++ twin of its hardware section. */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"
#include "fx_build.h"

extern char **environ;
extern const char fx_text_emu_calls[], fx_text_ptx_emu[];

enum { LOG_BYTES = 16384 };

static const char *const options[] = {"-x", "c++", "-std=c++17", "-O1", "-g1", "-gdwarf-4", "-include", "ptx_emu.h", "-w", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
                                      "-fno-exceptions", "-fno-rtti", "-fno-gnu-unique", "-fvisibility=hidden", "-fno-stack-protector", "-fno-optimize-sibling-calls", "-DFX_PTX"};
/* Where every access is to be seen, by the functions of ptx_emu.h and no library's. */
static const char *const watched_options[] = {"-fsanitize=thread", "-DFX_EMU_WATCHED", "-nodefaultlibs"};
enum { N_OPTIONS = sizeof options / sizeof *options, N_WATCHED = sizeof watched_options / sizeof *watched_options, MOST_OPTIONS = N_OPTIONS + N_WATCHED + 2 };

/* ---- files ---- */

static void name_file(char path[PATH_MAX], const char *folder, const char *name) { snprintf(path, PATH_MAX, "%.4000s/%.32s", folder, name); }

static bool write_text(const char *folder, const char *name, const char *const *texts, int n) {
    char path[PATH_MAX];
    name_file(path, folder, name);
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < n; i++) fputs(texts[i], f);
    bool is_whole = f && !ferror(f);
    return (!f || fclose(f) == 0) && is_whole;
}

/* The file's bytes, malloc'ed, with a NUL behind them; NULL where it cannot be read. */
static char *read_bytes(const char *folder, const char *name, size_t *n) {
    char path[PATH_MAX];
    struct stat s;
    name_file(path, folder, name);
    FILE *f = fopen(path, "r");
    char *bytes = f && fstat(fileno(f), &s) == 0 ? calloc((size_t)s.st_size + 1, 1) : NULL;
    *n = bytes ? fread(bytes, 1, (size_t)s.st_size, f) : 0;
    if (f) fclose(f);
    return bytes;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {"kernel.cu", "ptx_emu.h", "entry.cc", "kernel.so", "log"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        name_file(path, folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
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

static fx_status write_sources(const struct compile *c, const char *folder) {
    char parameters[4096];
    if (!c->entry || !find_parameters(c->source, c->entry, parameters, sizeof parameters))
        return error_set(FX_ERR_USAGE, "%s declares no entry %s", c->file, c->entry ? c->entry : "that was asked for");
    const char *const twin[] = {fx_text_emu_calls, fx_text_ptx_emu};
    const char *const entry[] = {"#include \"kernel.cu\"\nFX_EMU_ENTRY(", c->entry, ", \"", parameters, emu_is_watched() ? "\", R\"emitted(" : "\", 0",
                                 emu_is_watched() ? c->source : "", emu_is_watched() ? ")emitted\")\n" : ")\n"};
    if (write_text(folder, "kernel.cu", &c->source, 1) && write_text(folder, "ptx_emu.h", twin, 2) && write_text(folder, "entry.cc", entry, (int)(sizeof entry / sizeof *entry))) return FX_OK;
    return error_set(FX_ERR_TOOLCHAIN, "cannot write to %s", folder);
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
    argv[n++] = "-o", argv[n++] = "kernel.so", argv[n++] = "entry.cc", argv[n++] = "-lm", argv[n++] = "-lc", argv[n++] = "-lgcc", argv[n] = NULL;
}

/* Its exit status, or -1 where it could not be started. */
static int run_compiler(const char *folder, char **argv) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    char log[PATH_MAX];
    name_file(log, folder, "log");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (posix_spawn(&child, argv[0], &actions, NULL, argv, environ) != 0 || waitpid(child, &status, 0) != child) status = -1;
    posix_spawn_file_actions_destroy(&actions);
    return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static fx_status compile_in(struct compile *c, const char *path, const char *folder) {
    char only[32], *argv[MOST_OPTIONS + 10];
    size_t n;
    fx_status status = write_sources(c, folder);
    if (status != FX_OK) return status;
    make_argv(c, path, only, sizeof only, argv);
    int code = run_compiler(folder, argv);
    c->log = read_bytes(folder, "log", &n);
    if (code != 0) return error_set(FX_ERR_TOOLCHAIN, "%s cannot compile %s for the emulator (%d)\n%.8000s", path, c->file, code, c->log ? c->log : "");
    c->image = read_bytes(folder, "kernel.so", &c->n_bytes);
    return c->image && c->log ? FX_OK : error_nomem();
}

static fx_status compile(struct compile *c, const char *path) {
    char folder[PATH_MAX];
    const char *temporary = secure_getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fx_emu_XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) return error_set(FX_ERR_TOOLCHAIN, "the emulator cannot make a folder in %s", temporary && *temporary ? temporary : "/tmp");
    fx_status status = compile_in(c, path, folder);
    remove_folder(folder);
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
    return error_set(FX_ERR_TOOLCHAIN, "the emulator needs a C++ compiler of the host: there is no %s; FX_CXX names another", compiler());
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
    struct cache_key key = {.source = c->source, .file = c->file, .arch = "emulator", .options = list, .n_options = n_options, .library = library, .build = FX_BUILD};
    if (c->cache && cache_get(c->cache, &key, &e)) {
        c->image = e.image, c->n_bytes = e.n_bytes, c->log = e.log, c->was_cached = true;
        return FX_OK;
    }
    fx_status status = compile(c, path);
    if (status == FX_OK && c->cache) cache_put(c->cache, &key, &(struct cache_entry){0, 0, c->image, c->n_bytes, c->log});
    return status;
}
