/* Identifies an NVRTC library without running it. In: its path, or the loaded library. Out: a line of text that differs
 * for another library, another version or a rebuilt one. */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cache.h"

enum { BUILD_ID_MAX = 64, NOTES_MAX = 4096, HEADERS_MAX = 64 };

struct build_id {
    unsigned char bytes[BUILD_ID_MAX];
    size_t n; /* 0: there is none */
};

/* ---- the build id ---- */

static size_t padded(size_t n) { return (n + 3) & ~(size_t)3; }

/* Looks for the note among notes[0..n). */
static void read_notes(const unsigned char *notes, size_t n, struct build_id *id) {
    ElfW(Nhdr) note;
    while (id->n == 0 && n >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        if (note.n_namesz > n || note.n_descsz > n) return;
        size_t name = padded(note.n_namesz), whole = sizeof note + name + padded(note.n_descsz);
        if (whole > n) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + sizeof note, "GNU", 4) &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(id->bytes, notes + sizeof note + name, note.n_descsz);
            id->n = note.n_descsz;
        }
        notes += whole;
        n -= whole;
    }
}

static void read_file(const char *path, struct build_id *id) {
    ElfW(Ehdr) elf;
    ElfW(Phdr) headers[HEADERS_MAX];
    unsigned char notes[NOTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    bool is_elf = pread(fd, &elf, sizeof elf, 0) == sizeof elf && !memcmp(elf.e_ident, ELFMAG, SELFMAG) &&
                  elf.e_phentsize == sizeof *headers && elf.e_phnum <= HEADERS_MAX;
    ssize_t wanted = is_elf ? elf.e_phnum * (ssize_t)sizeof *headers : 0;
    if (wanted > 0 && pread(fd, headers, (size_t)wanted, (off_t)elf.e_phoff) == wanted)
        for (int i = 0; i < elf.e_phnum && id->n == 0; i++) {
            size_t n = headers[i].p_filesz;
            if (headers[i].p_type == PT_NOTE && n <= sizeof notes &&
                pread(fd, notes, n, (off_t)headers[i].p_offset) == (ssize_t)n)
                read_notes(notes, n, id);
        }
    close(fd);
}

struct loaded { /* which library is looked for among those loaded */
    uintptr_t symbol;
    struct build_id *id;
};

static int read_loaded(struct dl_phdr_info *info, size_t size, void *user) {
    const struct loaded *l = user;
    bool is_it = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        is_it |= p->p_type == PT_LOAD && l->symbol - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
    }
    for (int i = 0; is_it && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE) read_notes((const unsigned char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, l->id);
    }
    return is_it;
}

/* ---- files ---- */

static int is_builtins(const struct dirent *d) { return !strncmp(d->d_name, "libnvrtc-builtins.so.", 21); }

static bool print_file(FILE *to, const char *name, const char *path) {
    struct stat s;
    if (stat(path, &s) != 0) return false;
    fprintf(to, " %s %lld %lld.%09ld", name, (long long)s.st_size, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    return true;
}

/* NVRTC takes of these the ones of its own version; which that is would take opening it. */
static bool print_builtins(FILE *to, const char *library) {
    char folder[PATH_MAX], path[PATH_MAX + 256];
    struct dirent **found;
    bool is_whole = true;
    const char *slash = strrchr(library, '/');
    if (!slash || (size_t)snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - library), library) >= sizeof folder)
        return false;
    int n = scandir(folder, &found, is_builtins, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s%s", folder, found[i]->d_name);
        is_whole = is_whole && print_file(to, found[i]->d_name, path);
        free(found[i]);
    }
    if (n >= 0) free(found);
    return is_whole && n >= 0;
}

bool library_identity(const char *path, const void *symbol, char text[LIBRARY_TEXT]) {
    struct build_id id = {.n = 0};
    text[0] = 0;
    if (symbol) dl_iterate_phdr(read_loaded, &(struct loaded){(uintptr_t)symbol, &id});
    else read_file(path, &id);
    text[LIBRARY_TEXT - 1] = 0;
    FILE *to = id.n > 0 ? fmemopen(text, LIBRARY_TEXT - 1, "w") : NULL;
    if (!to) return false;
    fputs("build id ", to);
    for (size_t i = 0; i < id.n; i++) fprintf(to, "%02x", id.bytes[i]);
    bool is_whole = print_file(to, "libnvrtc", path) && print_builtins(to, path) && !ferror(to);
    if (fclose(to) != 0 || !is_whole) text[0] = 0;
    return text[0] != 0;
}
