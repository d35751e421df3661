/* Memory of one compilation: taken in chunks, given back all at once.
 *
 * In: sizes. Out: zeroed memory, 16-byte aligned. A failed allocation jumps to `oom` and never returns; everything
 * allocated before stays valid until arena_release. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *older;
    size_t n_bytes;
    _Alignas(16) char bytes[];
};

enum { ALIGN = 16, CHUNK_BYTES = 64 * 1024 };

/* Chunks given back are taken again by what asks for as many bytes: the C library would return their pages to the
 * system. Prices of many points allocate the same pieces over and over. The address sanitizer is told that nobody may
 * read them until then. Large pieces are rounded up to one of eight sizes between powers of two, each of which has a
 * list; beyond 1 GiB there is none. */
#if defined __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define IS_WATCHED
#endif
#elif defined __SANITIZE_ADDRESS__ /* gcc */
#define IS_WATCHED
#endif
#ifdef IS_WATCHED
#include <sanitizer/asan_interface.h>
static void watch(struct arena_chunk *c) { ASAN_POISON_MEMORY_REGION(c->bytes, c->n_bytes); }
static void unwatch(struct arena_chunk *c) { ASAN_UNPOISON_MEMORY_REGION(c->bytes, c->n_bytes); }
#else
static void watch(struct arena_chunk *c) { (void)c; }
static void unwatch(struct arena_chunk *c) { (void)c; }
#endif

void arena_init(struct arena *a, jmp_buf *oom) { *a = (struct arena){.oom = oom}; }

static void free_chunks(struct arena_chunk *c) {
    for (struct arena_chunk *older; c; c = older) {
        older = c->older;
        free(c);
    }
}

void arena_release(struct arena *a) {
    free_chunks(a->chunks);
    free_chunks(a->spare);
    for (int i = 0; i < ARENA_SIZES; i++) free_chunks(a->large[i]);
    *a = (struct arena){.oom = a->oom};
}

struct arena_mark arena_marked(const struct arena *a) {
    return (struct arena_mark){a->chunks, a->chunks ? a->chunks->older : NULL, a->at, a->end, a->held};
}

/* The list of chunks of so many bytes, all but those of one size above CHUNK_BYTES / 4; NULL: there is none. */
static struct arena_chunk **list_of(struct arena *a, size_t n_bytes) {
    if (n_bytes == CHUNK_BYTES) return &a->spare;
    const int log = 63 - __builtin_clzll(n_bytes), i = (log - 14) * 8 + (int)(n_bytes >> (log - 3) & 7);
    return i < ARENA_SIZES ? &a->large[i] : NULL;
}

static size_t rounded_up(size_t n_bytes) {
    const size_t step = (size_t)1 << (60 - __builtin_clzll(n_bytes));
    return (n_bytes + step - 1) / step * step;
}

static struct arena_chunk *give_back_until(struct arena *a, struct arena_chunk *c, const struct arena_chunk *end) {
    while (c != end) {
        struct arena_chunk *older = c->older;
        struct arena_chunk **spare = list_of(a, c->n_bytes);
        if (spare) {
            c->older = *spare;
            *spare = c;
            watch(c);
        } else free(c);
        c = older;
    }
    return c;
}

/* Chunks since then lie ahead of the one that was the newest, large ones also right behind it. */
void arena_rewind(struct arena *a, const struct arena_mark *mark) {
    struct arena_chunk *newest = mark->chunks;
    bool is_newest = a->chunks == newest;
    give_back_until(a, a->chunks, newest);
    if (newest) newest->older = give_back_until(a, newest->older, mark->older);
    if (mark->at) memset(mark->at, 0, (size_t)((is_newest ? a->at : mark->end) - mark->at));
    a->chunks = newest;
    a->at = mark->at, a->end = mark->end;
    a->held = mark->held;
}

static struct arena_chunk *new_chunk(struct arena *a, size_t n_bytes) {
    struct arena_chunk **from = list_of(a, n_bytes), *c = from ? *from : NULL;
    if (c) {
        *from = c->older;
        unwatch(c);
        memset(c->bytes, 0, n_bytes);
    } else {
        c = calloc(1, sizeof *c + n_bytes);
        a->refused = c ? 0 : n_bytes;
        if (!c) longjmp(*a->oom, 1);
        c->n_bytes = n_bytes;
    }
    a->held += n_bytes;
    return c;
}

void *arena_alloc(struct arena *a, size_t n_bytes) {
    if (n_bytes > SIZE_MAX / 2) a->refused = n_bytes, longjmp(*a->oom, 1);
    n_bytes = n_bytes ? (n_bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
    if (n_bytes > CHUNK_BYTES / 4) {
        /* A large piece gets a chunk of its own, behind the newest, whose free room stays in use. */
        struct arena_chunk *c = new_chunk(a, rounded_up(n_bytes));
        struct arena_chunk **link = a->chunks ? &a->chunks->older : &a->chunks;
        c->older = *link;
        *link = c;
        return c->bytes;
    }
    if (!a->at || n_bytes > (size_t)(a->end - a->at)) {
        struct arena_chunk *c = new_chunk(a, CHUNK_BYTES);
        c->older = a->chunks;
        a->chunks = c;
        a->at = c->bytes;
        a->end = c->bytes + CHUNK_BYTES;
    }
    void *p = a->at;
    a->at += n_bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len) {
    char *copy = arena_alloc(a, len + 1);
    if (len) memcpy(copy, s, len);
    return copy;
}

void *arena_push(struct arena *a, void **array, int *n, size_t size) {
    /* The capacity is the least power of two >= n, so a full array is one whose length is a power of two. */
    if ((*n & (*n - 1)) == 0) {
        void *wider = arena_alloc(a, (*n ? 2 * (size_t)*n : 1) * size);
        if (*n) memcpy(wider, *array, (size_t)*n * size);
        *array = wider;
    }
    return (char *)*array + (size_t)(*n)++ * size;
}
