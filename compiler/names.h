/* A table from names to whatever they stand for: looked up at the same cost however many there are. Lives in an arena. */
#ifndef FX_NAMES_H
#define FX_NAMES_H

#include "base.h"

struct names { /* zero is an empty table */
    struct names_slot *slots; /* a power of two of them, at most half in use */
    int n, n_slots;
};

/* What the name stands for, or NULL. */
void *names_get(const struct names *t, struct name name);
/* Gives the name a meaning; returns the one it had before, or NULL. */
void *names_put(struct names *t, struct arena *a, struct name name, void *meaning);

#endif
