/* An entry of the disk cache: one file, so that its parts cannot come from different writers. In: a key, and a compiled
 * image. Out: the same image for an equal key, in this process or a later one.
 *
 * A file is magic, format, NVRTC's version, two lengths, all little-endian; SHA-256 of the key's text, the log, the
 * image; SHA-256 of all before it. Its name is SHA-256 of the key's text in hex. The text itself, which holds the
 * source, would be most of the file. Invariant: a file gets such a name only when it is complete, and is used only if
 * it still is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/cache.h"

enum {
    MAGIC_BYTES = 8,
    HEADER_BYTES = MAGIC_BYTES + 3 * 4 + 2 * 8 + DIGEST_BYTES,
    N_PARTS = 2,
    TEMPORARY_NAME = 64,
    FILE_MODE = 0600
};
static const char magic[MAGIC_BYTES + 1] = "fxcubin\n", suffix[] = ".cubin", temporary[] = ".new-";

struct file_part { /* of a file: the log, the image */
    const void *bytes;
    size_t n;
};

/* ---- the key as text ---- */

static void print_field(FILE *to, const char *name, const char *value) {
    fprintf(to, "%s %zu\n%s\n", name, strlen(value), value);
}

/* Lengths stand before the values, so that no two keys have one text. malloc'ed; NULL when out of memory. */
static char *key_text(const struct cache_key *key, size_t *n) {
    char *text = NULL;
    FILE *to = open_memstream(&text, n);
    if (!to) return NULL;
    print_field(to, "fx", key->build);
    print_field(to, "nvrtc", key->library);
    print_field(to, "arch", key->arch);
    for (int i = 0; i < key->n_options; i++) print_field(to, "option", key->options[i]);
    print_field(to, "file", key->file);
    print_field(to, "source", key->source);
    bool is_whole = !ferror(to);
    if (fclose(to) == 0 && is_whole) return text;
    free(text);
    return NULL;
}

static void digest_of(const void *bytes, size_t n, unsigned char out[DIGEST_BYTES]) {
    struct digest d;
    digest_begin(&d);
    digest_add(&d, bytes, n);
    digest_end(&d, out);
}

/* False when out of memory. */
static bool key_digest(const struct cache_key *key, unsigned char out[DIGEST_BYTES]) {
    size_t n;
    char *text = key_text(key, &n);
    if (text) digest_of(text, n, out);
    free(text);
    return text != NULL;
}

static void name_of(const unsigned char digest[DIGEST_BYTES], char name[CACHE_NAME]) {
    for (int i = 0; i < DIGEST_BYTES; i++) snprintf(name + 2 * i, 3, "%02x", digest[i]);
    strcpy(name + 2 * DIGEST_BYTES, suffix);
}

bool cache_is_entry(const char *name) {
    return strspn(name, "0123456789abcdef") == 2 * DIGEST_BYTES && !strcmp(name + 2 * DIGEST_BYTES, suffix);
}

bool cache_is_temporary(const char *name) { return !strncmp(name, temporary, sizeof temporary - 1); }

/* ---- numbers in a file ---- */

static unsigned char *put_number(unsigned char *at, uint64_t v, int n_bytes) {
    for (int i = 0; i < n_bytes; i++) *at++ = (unsigned char)(v >> 8 * i);
    return at;
}

static uint64_t take_number(const unsigned char **at, int n_bytes) {
    uint64_t v = 0;
    for (int i = 0; i < n_bytes; i++) v |= (uint64_t)*(*at)++ << 8 * i;
    return v;
}

/* ---- reading ---- */

static bool read_all(int fd, unsigned char *bytes, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, bytes + at, n - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

/* Splits a whole file. False when any byte of it is not as it was written, or it has another key. */
static bool split(const unsigned char *file, size_t n, const unsigned char key[DIGEST_BYTES], int *major, int *minor,
    struct file_part parts[N_PARTS]) {
    const unsigned char *at = file + MAGIC_BYTES;
    unsigned char digest[DIGEST_BYTES];
    size_t left = n - HEADER_BYTES - DIGEST_BYTES;
    digest_of(file, n - DIGEST_BYTES, digest);
    if (memcmp(digest, file + n - DIGEST_BYTES, DIGEST_BYTES) != 0) return false;
    if (memcmp(file, magic, MAGIC_BYTES) != 0 || take_number(&at, 4) != CACHE_FORMAT) return false;
    *major = (int)take_number(&at, 4);
    *minor = (int)take_number(&at, 4);
    const unsigned char *bytes = file + HEADER_BYTES;
    if (memcmp(bytes - DIGEST_BYTES, key, DIGEST_BYTES) != 0) return false;
    for (int i = 0; i < N_PARTS; i++) {
        uint64_t length = take_number(&at, 8);
        if (length > left) return false;
        parts[i] = (struct file_part){bytes, (size_t)length};
        bytes += length;
        left -= (size_t)length;
    }
    return left == 0;
}

static void *copy(const struct file_part *p) {
    char *bytes = malloc(p->n + 1);
    if (!bytes) return NULL;
    memcpy(bytes, p->bytes, p->n);
    bytes[p->n] = 0;
    return bytes;
}

enum lookup { MISS, HIT, DAMAGED };

static enum lookup read_entry(const struct cache *c, const unsigned char *file, size_t n,
    const unsigned char key[DIGEST_BYTES], struct cache_entry *out) {
    struct file_part parts[N_PARTS];
    if (!split(file, n, key, &out->major, &out->minor, parts)) return DAMAGED;
    /* One build id, two versions: not heard of, but the rule is that the version counts. */
    if (c->major && (out->major != c->major || out->minor != c->minor)) return MISS;
    out->log = copy(&parts[0]);
    out->image = copy(&parts[1]);
    out->n_bytes = parts[1].n;
    if (out->log && out->image) return HIT;
    free(out->log);
    free(out->image);
    return MISS;
}

/* A file of another's is left alone; one of ours of an impossible size is damaged. */
static enum lookup read_file(
    const struct cache *c, int fd, const unsigned char key[DIGEST_BYTES], struct cache_entry *out) {
    struct stat s;
    char why_not[64];
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || !cache_trusts(&s, why_not, sizeof why_not)) return MISS;
    if (s.st_size < HEADER_BYTES + DIGEST_BYTES || s.st_size > CACHE_ENTRY_MAX) return DAMAGED;
    unsigned char *file = malloc((size_t)s.st_size);
    if (!file) return MISS;
    enum lookup verdict = read_all(fd, file, (size_t)s.st_size)
                               ? read_entry(c, file, (size_t)s.st_size, key, out)
                               : MISS;
    free(file);
    return verdict;
}

bool cache_get(const struct cache *c, const struct cache_key *key, struct cache_entry *out) {
    char name[CACHE_NAME];
    unsigned char digest[DIGEST_BYTES];
    if (c->folder < 0 || !key_digest(key, digest)) return false;
    name_of(digest, name);
    /* NONBLOCK: a pipe by that name must not stop us. */
    int fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    enum lookup verdict = fd >= 0 ? read_file(c, fd, digest, out) : MISS;
    if (verdict == HIT) (void)futimens(fd, NULL);
    if (verdict == DAMAGED) (void)unlinkat(c->folder, name, 0);
    if (fd >= 0) close(fd);
    return verdict == HIT;
}

/* ---- writing ---- */

static bool write_all(int fd, const unsigned char *bytes, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t put = write(fd, bytes + at, n - at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        at += (size_t)put;
    }
    return true;
}

/* The whole file; NULL when it would be too large, for us or for what the process may write:
 * a signal would tell it so. */
static unsigned char *assemble(const unsigned char key[DIGEST_BYTES], const struct file_part parts[N_PARTS], int major,
    int minor, size_t *n) {
    struct rlimit limit;
    *n = HEADER_BYTES + DIGEST_BYTES;
    for (int i = 0; i < N_PARTS; i++) {
        if (parts[i].n > CACHE_ENTRY_MAX - *n) return NULL;
        *n += parts[i].n;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && *n > limit.rlim_cur) return NULL;
    unsigned char *file = malloc(*n), *at = file;
    if (!file) return NULL;
    memcpy(at, magic, MAGIC_BYTES);
    at = put_number(at + MAGIC_BYTES, CACHE_FORMAT, 4);
    at = put_number(at, (uint64_t)major, 4);
    at = put_number(at, (uint64_t)minor, 4);
    for (int i = 0; i < N_PARTS; i++) at = put_number(at, parts[i].n, 8);
    memcpy(at, key, DIGEST_BYTES);
    at += DIGEST_BYTES;
    for (int i = 0; i < N_PARTS; i++) {
        if (parts[i].n) memcpy(at, parts[i].bytes, parts[i].n);
        at += parts[i].n;
    }
    digest_of(file, *n - DIGEST_BYTES, at);
    return file;
}

/* A new file under a name nobody else has; -1 when there can be none. */
static int open_temporary(const struct cache *c, char name[TEMPORARY_NAME]) {
    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) return -1;
        snprintf(name, TEMPORARY_NAME, "%s%ld-%016llx", temporary, (long)getpid(), (unsigned long long)random);
        int fd = openat(c->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* The bytes are on the disk before the name is: no crash leaves a name on half a file. */
static bool publish(const struct cache *c, const char *name, const unsigned char *file, size_t n) {
    char at_first[TEMPORARY_NAME];
    int fd = open_temporary(c, at_first);
    if (fd < 0) return false;
    bool is_whole = write_all(fd, file, n) && fsync(fd) == 0;
    is_whole = close(fd) == 0 && is_whole;
    if (is_whole && renameat(c->folder, at_first, c->folder, name) == 0) return true;
    (void)unlinkat(c->folder, at_first, 0);
    return false;
}

void cache_put(struct cache *c, const struct cache_key *key, const struct cache_entry *e) {
    char name[CACHE_NAME];
    unsigned char digest[DIGEST_BYTES];
    size_t n;
    if (c->folder < 0 || !key_digest(key, digest)) return;
    const struct file_part parts[N_PARTS] = {{e->log, strlen(e->log)}, {e->image, e->n_bytes}};
    unsigned char *file = assemble(digest, parts, e->major, e->minor, &n);
    name_of(digest, name);
    if (file && publish(c, name, file, n)) atomic_store(&c->has_grown, true);
    free(file);
}
