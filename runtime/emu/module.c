/* Compiled code. In: a shared object in memory. Out: the entry within. Invariant: its file is held open as long as it is loaded, so that lines can be told. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"

extern char **environ;

enum { INVALID_IMAGE = 200 };

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
    if (!m) return n ? 2 : INVALID_IMAGE;
    pthread_mutex_init(&m->lock, NULL);
    m->file = memfd_create("fx_emu", 0);
    snprintf(m->path, sizeof m->path, "/proc/%ld/fd/%d", (long)getpid(), m->file);
    if (m->file >= 0 && write_image(m->file, image, n)) m->library = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
    if (m->library) m->entry = dlsym(m->library, "emu_entry_of");
    if (m->entry) return *out = m, 0;
    module_close(m);
    return INVALID_IMAGE;
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

/* The output of `addr2line -i -e FILE ADDRESS`, "" without one. */
static void ask_lines(const char *file, const char *address, char *text, size_t size) {
    char *argv[] = {"addr2line", "-i", "-e", (char *)file, (char *)address, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t child;
    size_t n = 0;
    text[0] = 0;
    if (pipe(ends) != 0) return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    bool is_there = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) == 0;
    close(ends[1]);
    for (ssize_t more; is_there && n + 1 < size && (more = read(ends[0], text + n, size - 1 - n)) > 0;) n += (size_t)more;
    text[n] = 0;
    close(ends[0]);
    if (is_there) waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
}

void module_line(const struct module *m, const void *pc, char *text, size_t size) {
    Dl_info info;
    char lines[4096], address[32];
    size_t n = 0;
    text[0] = 0;
    if (!dladdr(m->entry, &info)) return;
    const void *base = info.dli_fbase;
    if (!dladdr(pc, &info) || info.dli_fbase != base) return;
    snprintf(address, sizeof address, "%#lx", (unsigned long)((const char *)pc - (const char *)base));
    ask_lines(m->path, address, lines, sizeof lines);
    for (const char *at = lines; n < size && (at = strstr(at, "kernel.cu:")); at++) {
        int line = atoi(at + 10);
        if (line) n += (size_t)snprintf(text + n, size - n, n ? ", within line %d" : "line %d", line);
    }
}
