/* Text that grows in an arena.
 *
 * In: bytes and printf formats. Out: `s[0..len)`, always followed by NUL. Numbers print the same under every locale of
 * the host program. Text outgrown stays in the arena. */
#include "base/base.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct buf *b, size_t more) {
    if (more < b->cap - b->len) return;
    size_t cap = b->cap;
    while (cap - b->len <= more) cap *= 2;
    char *wider = arena_alloc(b->arena, cap);
    memcpy(wider, b->s, b->len + 1);
    b->s = wider;
    b->cap = cap;
}

void buf_init(struct buf *b, struct arena *a) {
    *b = (struct buf){.arena = a, .cap = 256};
    b->s = arena_alloc(a, b->cap);
}

bool buf_is_full(const struct buf *b) { return b->most && b->len >= b->most; }

/* Drops what went beyond the limit. */
static void cut(struct buf *b) {
    if (buf_is_full(b)) b->len = b->most;
    b->s[b->len] = 0;
}

void buf_put(struct buf *b, const char *s, size_t len) {
    if (buf_is_full(b)) return;
    reserve(b, len);
    if (len) memcpy(b->s + b->len, s, len);
    b->len += len;
    cut(b);
}

void buf_puts(struct buf *b, const char *s) { buf_put(b, s, strlen(s)); }

void buf_putc(struct buf *b, char c) { buf_put(b, &c, 1); }

void buf_vprintf(struct buf *b, const char *fmt, va_list ap) {
    va_list again;
    if (buf_is_full(b)) return;
    va_copy(again, ap);
    /* The C locale is a constant of the library: newlocale allocates nothing for it. */
    locale_t users = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    int n = vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
    if (n >= 0 && (size_t)n >= b->cap - b->len) {
        uselocale(users); /* reserve may jump */
        reserve(b, (size_t)n);
        uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
        vsnprintf(b->s + b->len, b->cap - b->len, fmt, again);
    }
    uselocale(users);
    va_end(again);
    if (n > 0) b->len += (size_t)n;
    cut(b);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_line(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
    buf_putc(b, '\n');
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    struct buf b;
    buf_init(&b, a);
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return b.s;
}

double text_to_double(const char *s, char **end) {
    locale_t users = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    double v = strtod(s, end);
    uselocale(users);
    return v;
}
