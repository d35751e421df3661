/* Reading UTF-8: strict (no overlong forms, surrogates or values past U+10FFFF), never past the end given. */
#ifndef FX_UTF8_H
#define FX_UTF8_H

#include <stdbool.h>
#include <stdint.h>

enum { UTF8_BAD = -1 };

/* The code point at *s, which moves past it; UTF8_BAD moves past one byte. *s < end. */
static inline int32_t utf8_next(const char **s, const char *end) {
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)(*s)++;
    if (*p < 0x80) return *p;
    int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
    if (*p < 0xc2 || *p > 0xf4 || end - *s < more) return UTF8_BAD;
    int32_t c = *p & (0x3f >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return UTF8_BAD;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return UTF8_BAD;
    *s += more;
    return c;
}

/* Code points that reorder the text around them, so that it reads otherwise than it is. */
static inline bool utf8_is_bidi(int32_t c) {
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* What a terminal must not be sent: controls, reordering, what is no code point at all. */
static inline bool utf8_is_unprintable(int32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || utf8_is_bidi(c);
}

#endif
