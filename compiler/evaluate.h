/* A call of fx_evaluate, whose arguments fx.c has checked (evaluate.c). */
#ifndef FX_EVALUATE_H
#define FX_EVALUATE_H

#include "check/check.h"
#include "fx.h"

struct evaluation { /* one call of fx_evaluate */
    const struct kernel *kernel;
    const struct fx_kernel *plan;
    const struct fx_host *inputs;
    int n_inputs, param;
    const int64_t *elements;
    int64_t n_elements;
    double *value;
    int64_t *integer;
    enum fx_bound kind;
    double *bound;
    char *message;
    size_t size; /* of message */
};

/* FX_ERR_USAGE, FX_ERR_NOMEM, FX_ERR_INTERNAL: with a message. */
fx_status evaluation_run(const struct evaluation *r);

#endif
