/* The folder of the disk cache. In: the environment. Out: a folder that nobody else can write to, or none, with the
 * reason. After entries are added, removes the least recently used ones beyond the size limit. Invariant: a file is
 * checked after it was opened, by its descriptor. */
#include "lib/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lib/cuda_api.h"

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, ABANDONED_SECONDS = 3600 };
static const int64_t default_bytes = 1 << 30;
static const char lock_name[] = "lock";

/* ---- which folder ---- */

__attribute__((format(printf, 2, 3))) static void refuse(struct cache *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->why_not, sizeof c->why_not, fmt, ap);
    va_end(ap);
}

static bool set_path(struct cache *c, const char *folder, const char *below) {
    int n = snprintf(c->path, sizeof c->path, "%s%s", folder, below);
    if (n < 0 || (size_t)n >= sizeof c->path) {
        c->path[0] = 0;
        refuse(c, "its path is too long");
        return false;
    }
    /* Behind a slash a link would be followed. */
    while (n > 1 && c->path[n - 1] == '/') c->path[--n] = 0;
    return true;
}

/* A relative path in the two general variables is to be ignored, as the XDG base directory specification has it. */
static bool find_path(struct cache *c) {
    const char *off = secure_getenv("FX_CACHE"), *own = secure_getenv("FX_CACHE_DIR");
    const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (off && !strcmp(off, "off")) {
        refuse(c, "FX_CACHE is off");
        return false;
    }
    if (own && *own) return set_path(c, own, "");
    if (xdg && *xdg == '/') return set_path(c, xdg, "/fx");
    if (home && *home == '/') return set_path(c, home, "/.cache/fx");
    refuse(c, "neither FX_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder");
    return false;
}

static void read_limit(struct cache *c) {
    const char *given = secure_getenv("FX_CACHE_MAX_BYTES");
    char *end;
    c->max_bytes = default_bytes;
    if (!given || *given < '0' || *given > '9') return;
    errno = 0;
    long long n = strtoll(given, &end, 10);
    if (!*end && errno == 0) c->max_bytes = n;
}

/* ---- opening it ---- */

bool cache_trusts(const struct stat *s, char *why_not, size_t size) {
    if (s->st_uid != geteuid() && s->st_uid != 0) snprintf(why_not, size, "it belongs to user %ld", (long)s->st_uid);
    else if (s->st_mode & (S_IWGRP | S_IWOTH))
        snprintf(why_not, size, "others may write it: its mode is %03o", s->st_mode & 0777);
    else return true;
    return false;
}

void make_folders(const char *path, const char *end) {
    char part[PATH_MAX];
    for (const char *at = path; at < end && (at = strchrnul(at + 1, '/')) <= end;) {
        snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        (void)mkdir(part, FOLDER_MODE);
    }
}

static void open_folder(struct cache *c) {
    struct stat s;
    int fd = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        refuse(c, "%s",
            errno == ENOENT                      ? "not there yet"
            : errno == ELOOP || errno == ENOTDIR ? "it is a link, or no folder"
                                                 : strerror(errno));
        return;
    }
    if (fstat(fd, &s) == 0 && cache_trusts(&s, c->why_not, sizeof c->why_not)) c->folder = fd;
    else close(fd);
}

void cache_open(struct cache *c, bool is_computed) {
    c->folder = -1;
    c->path[0] = c->why_not[0] = c->library[0] = 0;
    c->major = c->minor = 0;
    atomic_init(&c->has_grown, false);
    read_limit(c);
    if (!find_path(c)) return;
    if (is_computed) make_folders(c->path, strchr(c->path, 0));
    open_folder(c);
    if (c->folder >= 0) nvrtc_foresee(c->library, &c->major, &c->minor);
}

/* ---- what is in it ---- */

struct found { /* an entry */
    char name[CACHE_NAME];
    int64_t bytes;
    struct timespec used; /* put in, or found again */
};

struct listing {
    struct found *entries;
    size_t n, room;
    int64_t bytes; /* of all */
};

static void add_entry(struct listing *l, const char *name, const struct stat *s) {
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 256;
        struct found *more = realloc(l->entries, room * sizeof *more);
        if (!more) return;
        l->entries = more;
        l->room = room;
    }
    struct found *f = &l->entries[l->n++];
    memcpy(f->name, name, sizeof f->name);
    f->bytes = s->st_size;
    f->used = s->st_mtim;
    l->bytes += s->st_size;
}

/* Lists the entries; what a writer left behind that did not live to finish is removed if wanted. */
static void list(const struct cache *c, bool is_cleaned, struct listing *l) {
    struct stat s;
    int fd = openat(c->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = fd >= 0 ? fdopendir(fd) : NULL;
    *l = (struct listing){0};
    if (!all && fd >= 0) close(fd);
    if (!all) return;
    for (const struct dirent *d; (d = readdir(all));) {
        bool is_temporary = cache_is_temporary(d->d_name);
        if (!is_temporary && !cache_is_entry(d->d_name)) continue;
        if (fstatat(c->folder, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!is_temporary) add_entry(l, d->d_name, &s);
        else if (is_cleaned && s.st_mtim.tv_sec < time(NULL) - ABANDONED_SECONDS)
            (void)unlinkat(c->folder, d->d_name, 0);
    }
    closedir(all);
}

static int by_use(const void *a, const void *b) {
    const struct found *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One process at a time; another that comes meanwhile need not wait to find nothing left to do. */
static void evict(const struct cache *c) {
    struct listing l;
    int lock = openat(c->folder, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, FILE_MODE);
    if (lock < 0) return;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
        list(c, true, &l);
        if (l.bytes > c->max_bytes) qsort(l.entries, l.n, sizeof *l.entries, by_use);
        for (size_t i = 0; i < l.n && l.bytes > c->max_bytes; i++)
            if (unlinkat(c->folder, l.entries[i].name, 0) == 0) l.bytes -= l.entries[i].bytes;
        free(l.entries);
    }
    close(lock);
}

void cache_close(struct cache *c) {
    if (c->folder < 0) return;
    if (atomic_load(&c->has_grown)) evict(c);
    close(c->folder);
    c->folder = -1;
}

/* ---- for people ---- */

void fx_cache_describe(char *text, size_t size) {
    struct cache c;
    struct listing l;
    if (!text) size = 0;
    cache_open(&c, false);
    if (c.folder < 0) {
        snprintf(text, size, c.path[0] ? "none (%s: %s)" : "none (%s%s)", c.path, c.why_not);
        return;
    }
    list(&c, false, &l);
    snprintf(text, size, "%s, %zu %s, %lld bytes of at most %lld", c.path, l.n, l.n == 1 ? "entry" : "entries",
        (long long)l.bytes, (long long)c.max_bytes);
    free(l.entries);
    cache_close(&c);
}
