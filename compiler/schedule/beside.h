/* Contractions of one A in one launch (beside.c). */
#ifndef FX_BESIDE_H
#define FX_BESIDE_H

#include "schedule/schedule.h"

enum { MOST_BESIDE = 8 }; /* contractions of a launch */

/* Joins launches of contractions of one A where that is predicted to take less time, another launch taking so many
 * seconds; where the contract wants a number of launches, as long as there are more. */
void beside_join(struct cx *cx, struct scheduled_graph *c, int wanted, double launch_seconds);

/* Whether kernel number `at` may run as early as number `first`: it has no need of what runs from there on, which
 * leaves it what it reads. */
bool beside_is_free(const struct scheduled_graph *c, int first, int at);
bool beside_same_labels(const struct axis_list *a, const struct axis_list *b);
/* The configuration of s that is like f, or NULL. */
struct config *beside_find_config(struct scheduled *s, const struct config *f);
/* Puts launch number j, of one kernel, which has become `joined` with those before it, behind launch i. */
void beside_put(struct scheduled_graph *c, int i, int j, const struct scheduled *joined);

/* twins.c: likewise joins launches of two chains that have first contractions in common. */
void twins_join(struct cx *cx, struct scheduled_graph *c, int wanted, double launch_seconds);

#endif
