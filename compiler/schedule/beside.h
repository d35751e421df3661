/* Contractions of one A in one launch (beside.c). */
#ifndef FX_BESIDE_H
#define FX_BESIDE_H

#include "schedule/schedule.h"

enum { MOST_BESIDE = 8 }; /* contractions of a launch */

/* Joins launches of contractions of one A where that is predicted to take less time, another launch taking so many
 * seconds; where the contract wants a number of launches, as long as there are more. */
void beside_join(struct cx *cx, struct scheduled_graph *c, int wanted, double launch_seconds);

#endif
