/* A hash table from names to values of any kind (names.c). It lives in an arena. */
#ifndef FX_NAMES_H
#define FX_NAMES_H

#include "base/base.h"

struct names { /* zero is an empty table */
    struct names_slot *slots; /* a power of two of them, at most half in use */
    int n, n_slots;
};

/* What the name stands for, or NULL. */
void *names_get(const struct names *t, struct name name);
/* Gives the name a meaning; returns the one it had before, or NULL. */
void *names_put(struct names *t, struct arena *a, struct name name, void *meaning);
/* The next name of the table from slot *at on, in no order that means anything; false at the end. */
bool names_next(const struct names *t, int *at, struct name *name);

/* ---- names of a spec as C identifiers ----
 * C and C++ reserve what begins with an underscore or has two in a row. Nothing else that they, CUDA or a compiler
 * define ends in an underscore. So an identifier written NAME_ after name_encoded, numbered NAME_2_ where that is
 * taken, is no keyword and no macro whatever the spec's name is. */
struct identifiers { /* taken in one scope */
    struct arena *arena;
    const struct identifiers *around; /* the scope it lies in, whose names are taken here too; or NULL */
    struct names table;               /* to struct identifier */
    struct taken_name *taken;              /* in order */
    int n, most;                      /* how many; how many there is room for */
};

/* A letter, a digit or an underscore. */
bool is_word_byte(char c);
/* The name with an `x` before an underscore that begins it or follows another, and behind one that ends it: "a__b" is
 * "a_x_b". */
const char *name_encoded(struct arena *a, struct name name);
/* `base`, or where that is taken it with 2, 3, ..: "x2" of "x", but "x_2_" of "x_". */
const char *identifiers_take(struct identifiers *s, const char *base);
/* Whether the name is taken, there or around it. */
bool identifiers_have(const struct identifiers *s, const char *name);
/* Gives back what was taken when s->n was more than n: a block ends. */
void identifiers_give_back(struct identifiers *s, int n);

#endif
