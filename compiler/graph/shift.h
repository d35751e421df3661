/* The shift of exponentials in chains and row programs, which compute sums of exponentials while the maximum is still
 * being found. */
#ifndef FX_SHIFT_H
#define FX_SHIFT_H

#include "graph/ir.h"

/* Whether a condition that compares `of` with a number is the same for every `of` within [low, high]: which. */
bool shift_decides(const struct node *n, const struct node *of, double low, double high, bool *is_true);
/* Whether n, made of `of` and numbers, is `of` itself wherever that lies within [low, high]. */
bool shift_is_like(const struct node *n, const struct node *of, double low, double high);
/* Whether n is made of `of` and numbers alone. */
bool shift_is_made_of(const struct node *n, const struct node *of, int depth);

#endif
