/* Pins, the attributes `tile`, `stages` and `warps` of a kernel. The configuration of every contraction must match
 * them. */
#ifndef FX_PINS_H
#define FX_PINS_H

#include "schedule/schedule.h"

/* Whether the kernel has no pins, or a contraction that they can hold for; says what is wrong. */
bool pins_have_subject(struct cx *cx, const struct graph *g);
/* Leaves the configurations of s that the pins allow; false, with the reason, where none fits. Where operands are not
 * aligned and no configuration that fits takes them, the others stay: a pin makes no launch fail. */
bool pins_apply(const struct graph *g, struct scheduled *s, const char **why_not);
/* The error that no configuration fits, with those that fit best; tried: the schedules that pins_apply refused. */
void pins_refuse(struct cx *cx, const struct graph *g, const struct scheduled *const *tried, int n_tried);

#endif
