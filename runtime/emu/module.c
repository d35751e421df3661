/* Loads compiled code. In: a shared object in memory, the name of an entry. Out: the entry. Invariant: the file is held
 * open as long as it is loaded, so that lines can be reported. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emu.h"

extern char **environ;

enum { OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, NOT_FOUND = 500 };

/* The section headers end the file. */
static size_t image_bytes(const void *image) {
    ElfW(Ehdr) h;
    memcpy(&h, image, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    return (size_t)h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
}

static bool write_image(int file, const char *image, size_t n) {
    while (n > 0) {
        ssize_t done = write(file, image, n);
        if (done <= 0) return false;
        image += done;
        n -= (size_t)done;
    }
    return true;
}

int module_open(struct module **out, const void *image) {
    size_t n = image_bytes(image);
    struct module *m = n ? calloc(1, sizeof *m) : NULL;
    *out = NULL;
    if (!m) return n ? OUT_OF_MEMORY : INVALID_IMAGE;
    pthread_mutex_init(&m->lock, NULL);
    m->file = memfd_create("fx_emu", 0);
    snprintf(m->path, sizeof m->path, "/proc/%ld/fd/%d", (long)getpid(), m->file);
    if (m->file >= 0 && write_image(m->file, image, n)) m->library = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
    if (m->library) return *out = m, 0;
    module_close(m);
    return INVALID_IMAGE;
}

int module_take(struct module *m, const char *entry) {
    char symbol[512];
    if ((size_t)snprintf(symbol, sizeof symbol, "emu_entry_of_%s", entry) >= sizeof symbol) return NOT_FOUND;
    if (!(m->entry = dlsym(m->library, symbol))) return NOT_FOUND;
    free(m->name);
    m->name = strdup(entry);
    return m->name ? 0 : OUT_OF_MEMORY;
}

void module_close(struct module *m) {
    if (m->library) dlclose(m->library);
    if (m->file >= 0) close(m->file);
    pthread_mutex_destroy(&m->lock);
    free(m->name);
    free(m);
}

bool module_holds(const struct module *m, const void *address) {
    Dl_info own, info;
    return dladdr(m->entry, &own) && dladdr(address, &info) && own.dli_fbase == info.dli_fbase;
}

/* ---- lines ---- */

/* Starts `addr2line -a -i -e FILE ADDRESS ..`; the end of a pipe from which to read, or NULL. */
static FILE *ask_lines(const char *file, char *const *addresses, int n, pid_t *child) {
    posix_spawn_file_actions_t actions;
    int ends[2];
    char **argv = calloc((size_t)n + 6, sizeof *argv);
    if (!argv || pipe(ends) != 0) return free(argv), NULL;
    argv[0] = "addr2line", argv[1] = "-a", argv[2] = "-i", argv[3] = "-e", argv[4] = (char *)file;
    for (int i = 0; i < n; i++) argv[5 + i] = addresses[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    bool is_there = posix_spawnp(child, argv[0], &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    free(argv);
    if (is_there) return fdopen(ends[0], "r");
    close(ends[0]);
    return NULL;
}

/* An address stands alone in a line, behind it where it comes from, inmost first. */
static void read_lines(FILE *f, int n, struct emu_line *out) {
    char text[1024];
    int i = -1, depth = 0, line;
    while (fgets(text, sizeof text, f)) {
        const char *at = strstr(text, "kernel.cu:");
        if (strncmp(text, "0x", 2) == 0) i++, depth = 0;
        else if (at && i >= 0 && i < n && depth < EMU_DEPTH && (line = atoi(at + 10))) out[i].lines[depth++] = line;
    }
}

void module_lines(const struct module *m, const void *const *pcs, int n, struct emu_line *out) {
    enum { TEXT = 32 };
    Dl_info info;
    int status;
    pid_t child;
    if (n == 0 || !dladdr(m->entry, &info)) return;
    const char *base = info.dli_fbase;
    char *texts = calloc((size_t)n, TEXT), **addresses = calloc((size_t)n, sizeof *addresses);
    for (int i = 0; texts && addresses && i < n; i++) {
        bool is_own = dladdr(pcs[i], &info) && info.dli_fbase == base;
        addresses[i] = texts + (size_t)i * TEXT;
        snprintf(addresses[i], TEXT, "%#lx", is_own ? (unsigned long)((const char *)pcs[i] - base) : 1ul);
    }
    FILE *f = texts && addresses ? ask_lines(m->path, addresses, n, &child) : NULL;
    if (f) {
        read_lines(f, n, out);
        fclose(f);
        waitpid(child, &status, 0);
    }
    free(texts);
    free(addresses);
}
