/* Device memory of the emulator. In: sizes. Out: allocations that end where an unreadable page begins, preceded by a
 * pattern and then by such a page. Invariant: every access of a kernel outside its tensors gives a fault, or changes
 * the pattern within a page before a tensor. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/emu.h"

enum { PAGE = 4096, APART = 1 << 20, PATTERN = 0xA5 };

static struct region *regions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t whole_pages(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

/* What lies around the pages that may be touched stays unreadable. */
static char *map(size_t n_bytes, size_t apart, size_t *n_mapped) {
    *n_mapped = n_bytes + 2 * apart;
    char *p = mmap(NULL, *n_mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    /* Of a number of bytes so large that the sum has wrapped this fails. */
    if (mprotect(p + apart, n_bytes, PROT_READ | PROT_WRITE) == 0) return p;
    munmap(p, *n_mapped);
    return NULL;
}

char *memory_take(size_t n_bytes) {
    struct region *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->n_bytes = n_bytes;
    r->n_pages_bytes = n_bytes > SIZE_MAX / 4 ? n_bytes : whole_pages(n_bytes);
    if (!(r->mapped = map(r->n_pages_bytes, APART, &r->n_mapped))) return free(r), NULL;
    r->pages = r->mapped + APART;
    r->at = r->pages + (r->n_pages_bytes - n_bytes);
    memset(r->pages, PATTERN, (size_t)(r->at - r->pages));
    memset(r->at, 0xFF, n_bytes); /* nobody may count on zeros */
    pthread_mutex_lock(&lock);
    r->next = regions;
    regions = r;
    pthread_mutex_unlock(&lock);
    return r->at;
}

/* ---- shadows ---- */

void *memory_zeros(size_t n_bytes) {
    void *p = mmap(
        NULL, n_bytes ? n_bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void memory_zeros_give(void *at, size_t n_bytes) {
    if (at) munmap(at, n_bytes ? n_bytes : 1);
}

static void forget(struct region *r) {
    if (r->shadow) memory_zeros_give(r->shadow->written, r->shadow->n_bytes);
    free(r->shadow);
    r->shadow = NULL;
}

struct shadow *memory_shadow(const struct region *region) {
    struct region *r = (struct region *)region;
    size_t n = 3 * sizeof(uint64_t) * r->n_bytes;
    pthread_mutex_lock(&lock);
    struct shadow *s = r->shadow;
    if (!s && (s = calloc(1, sizeof *s))) {
        *s = (struct shadow){.written = memory_zeros(n), .n_bytes = n};
        s->read[0] = s->written + r->n_bytes, s->read[1] = s->read[0] + r->n_bytes;
        if (s->written) r->shadow = s;
        else free(s), s = NULL;
    }
    pthread_mutex_unlock(&lock);
    return s;
}

void memory_forget(void) {
    pthread_mutex_lock(&lock);
    for (struct region *r = regions; r; r = r->next) forget(r);
    pthread_mutex_unlock(&lock);
}

bool memory_give(char *at) {
    struct region *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct region **r = &regions; *r && !found; r = *r ? &(*r)->next : r)
        if ((*r)->at == at) found = *r, *r = found->next;
    pthread_mutex_unlock(&lock);
    if (!found) return false;
    forget(found);
    munmap(found->mapped, found->n_mapped);
    free(found);
    return true;
}

const struct region *memory_find(const void *address) {
    uintptr_t a = (uintptr_t)address;
    pthread_mutex_lock(&lock);
    struct region *r = regions;
    while (r && !(a >= (uintptr_t)r->mapped && a < (uintptr_t)r->mapped + r->n_mapped)) r = r->next;
    pthread_mutex_unlock(&lock);
    return r;
}

bool memory_is_broken(const struct region *r, long *offset) {
    for (char *p = r->pages; p < r->at; p++)
        if (*(unsigned char *)p != PATTERN) return *(unsigned char *)p = PATTERN, *offset = p - r->at, true;
    return false;
}

enum { MAX_SPARE = 8 };
static struct shared spare[MAX_SPARE]; /* of launches that have ended last, whose pages are there already */
static unsigned next_spare;

/* What lies in it is whatever was left there: a block begins by filling it. What lies behind it is 0. */
bool shared_open(struct shared *s, size_t n_bytes) {
    size_t n_pages_bytes = whole_pages(n_bytes + 1), rounded = (n_bytes + 1023) / 1024 * 1024;
    *s = (struct shared){0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_SPARE && !s->mapped; i++)
        if (spare[i].mapped && spare[i].n_mapped == n_pages_bytes + 2 * PAGE) *s = spare[i], spare[i].mapped = NULL;
    pthread_mutex_unlock(&lock);
    if (!s->mapped && !(s->mapped = map(n_pages_bytes, PAGE, &s->n_mapped))) return false;
    s->at = s->mapped + PAGE + n_pages_bytes - rounded;
    memset(s->at + n_bytes, 0, rounded - n_bytes);
    return true;
}

void shared_close(struct shared *s) {
    if (!s->mapped) return;
    pthread_mutex_lock(&lock);
    struct shared *slot = &spare[next_spare++ % MAX_SPARE], oldest = *slot;
    *slot = *s;
    pthread_mutex_unlock(&lock);
    if (oldest.mapped) munmap(oldest.mapped, oldest.n_mapped);
    s->mapped = NULL;
}
