/* Random input data: the same values for the same seed on every machine (draw.c). */
#ifndef DRAW_H
#define DRAW_H

#include "dtype.h"

enum draw_kind { DRAW_NORMAL, DRAW_UNIFORM, DRAW_INTEGERS, DRAW_OUTLIER, DRAW_FILL, DRAW_BITS };

struct draw {
    enum draw_kind kind;
    double a, b; /* mean and deviation; bounds, b excluded; bounds, both included; mean, of a deviation of 1, and how
                  * far above one element of each row lies besides; a alone: the value; nothing: every bit of a word is
                  * drawn, as for packed tensors */
};

/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): four words from a 128-bit counter and a 64-bit key. */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Reads `normal`, `normal(mean,std)`, `uniform(a,b)`, `integers(a,b)`, `outlier(mean,distance)`, `ones` or a number.
 * False when text is none of these; message[0] is then 0 if it does not even begin like one (it may be a path), else
 * says what is wrong. */
bool draw_parse(const char *text, struct draw *out, char *message, size_t size);
/* What a parameter of dtype t is drawn from when nothing is said: floats normal, bool 0 or 1, integers from -4
 * (unsigned: 0) to 4. */
struct draw draw_default(enum fx_dtype t);
/* Fills array[0..n) of dtype t, each element rounded once, without outliers. */
void draw_fill(const struct draw *d, uint64_t seed, enum fx_dtype t, void *array, size_t n);
/* Likewise, and the outliers: of each row of `row` elements, the last of which may be cut off, one at a drawn place. */
void draw_rows(const struct draw *d, uint64_t seed, enum fx_dtype t, void *array, size_t n, size_t row);

#endif
