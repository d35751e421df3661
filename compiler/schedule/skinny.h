/* Configurations of the skinny driver (skinny.c), which engines of the gemm driver put before their own. */
#ifndef FX_SKINNY_H
#define FX_SKINNY_H

#include "schedule/schedule.h"

struct skinny {          /* what an engine multiplies */
    const char *element; /* device type of an element */
    const char
        *product; /* of tensor cores' products, the wide side being A: "fx_mma_16<fx_bf16>"; NULL: multiply-adds */
    const char *swapped; /* likewise where it is B; NULL: the same */
    int size;            /* bytes of an element */
    enum fx_dtype sum;
    int vector;          /* of the engine's own configurations */
};

/* That of the mma engine. */
struct skinny mma_skinny(const struct graph *g, const struct partition *p, const struct scheduled *s);
/* Adds those that take the group, with operands of that alignment. */
void skinny_add(
    const struct graph *g, const struct partition *p, struct scheduled *s, const struct skinny *x, bool is_aligned);
/* What configuration f takes for s, which reads and writes so many bytes; -1: at nominal extents it does not take it.
 */
double skinny_seconds(const struct graph *g, const struct scheduled *s, const struct config *f, double bytes);

#endif
