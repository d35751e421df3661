/* The disk cache of cubins: SHA-256 (digest.c), where the cache is and what must go (cache.c), an entry in a file
 * (cache_entry.c), what the NVRTC library at hand is (library.c).
 *
 * Nothing here fails as far as a caller is concerned: where a folder, a file or memory does not serve there is a miss,
 * or nothing is kept. Any number of threads and processes may use a folder at once. */
#ifndef CACHE_H
#define CACHE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ---- digest.c: SHA-256 (FIPS 180-4) ---- */
enum { DIGEST_BYTES = 32 };
struct digest {
    uint32_t state[8];
    uint64_t n_bytes;        /* added so far */
    unsigned char block[64]; /* its first n_bytes % 64 bytes wait for the rest */
};
void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
void digest_end(struct digest *d, unsigned char out[DIGEST_BYTES]);

/* ---- library.c ---- */
enum { LIBRARY_TEXT = 1024 };
/* What tells this library at `path` and the builtins beside it from any other: build id, sizes, times of change. The
 * build id is that of the loaded library that has `symbol`, which need no longer be what lies at the path; NULL: of the
 * file. False, with an empty text, when it has none. */
bool library_identity(const char *path, const void *symbol, char text[LIBRARY_TEXT]);

/* ---- cache.c: the folder ---- */
struct cache {
    int folder;                 /* an open descriptor, or -1: there is no cache */
    char path[PATH_MAX];        /* of the folder, "" when none is to be used */
    char why_not[256];          /* there is none, or "" */
    int64_t max_bytes;          /* of all entries */
    char library[LIBRARY_TEXT]; /* the NVRTC that would compile, "" if that cannot be said */
    int major, minor;           /* version of that NVRTC if it is open, else 0 */
    atomic_bool has_grown;      /* an entry was put in */
};

/* Finds the folder by the environment; makes it, if it is not there and that is wanted. */
void cache_open(struct cache *c, bool is_computed);
/* If an entry was put in, removes those used longest ago until what is left keeps to max_bytes. */
void cache_close(struct cache *c);
/* Whether nobody but this process's user and root can have written what `s` is about; says why not. */
bool cache_trusts(const struct stat *s, char *why_not, size_t size);

/* Makes every folder of the path up to `end`; what goes wrong shows when something in the last is opened. */
void make_folders(const char *path, const char *end);

/* ---- cache_entry.c ---- */
struct cache_key { /* everything an image depends on; compared by SHA-256 */
    const char *source, *file; /* as NVRTC gets them */
    const char *arch;
    const char *const *options; /* of NVRTC, in order */
    int n_options;
    const char *library;       /* library_identity */
    const char *build;         /* version of fx, and a digest of its device texts */
};

struct cache_entry { /* what was compiled */
    int major, minor; /* version of the NVRTC that did */
    void *image;      /* malloc'ed by cache_get, a NUL behind it */
    size_t n_bytes;   /* of image */
    char *log;        /* malloc'ed by cache_get */
};

enum {
    CACHE_NAME = 2 * DIGEST_BYTES + sizeof ".cubin", /* the digest of the key in hex, with the suffix and a NUL */
    CACHE_FORMAT = 2,
    CACHE_ENTRY_MAX = 256 << 20 /* bytes; larger files are no entries */
};

/* True when there is an entry for the key that is whole; its time is set to now. A damaged one is removed. */
bool cache_get(const struct cache *c, const struct cache_key *key, struct cache_entry *out);
/* Publishes an entry, complete or not at all. */
void cache_put(struct cache *c, const struct cache_key *key, const struct cache_entry *e);
/* Whether a name is an entry's; one that another process is writing, or left behind. */
bool cache_is_entry(const char *name);
bool cache_is_temporary(const char *name);

#endif
