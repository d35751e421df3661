/* A call of fx_evaluate: arrays of the host laid out for the oracle.
 *
 * In: a checked kernel, its plan, arrays by input, the elements of an output. Out: their values and bounds, or a
 * message for people. All memory is that of the call. */
#include "evaluate.h"

#include <stdio.h>
#include <string.h>

#include "oracle/eval.h"

static bool is_empty(const struct fx_host *h) {
    for (int i = 0; i < h->rank && i < FX_MAX_RANK; i++)
        if (h->extents[i] == 0) return true;
    return false;
}

/* Binds the kernel's extents from the inputs' shapes, lays the inputs out by parameter, and checks the conditions on
 * scalars. */
static fx_status bind_inputs(const struct fx_kernel *k, const struct fx_host *inputs, int n_inputs, int64_t *extents,
    struct oracle_input *by_param, struct arena *a, char *message, size_t size) {
    const struct fx_shape **shapes = NEW_ARRAY(a, const struct fx_shape *, k->n_params + 1);
    const void **scalars = NEW_ARRAY(a, const void *, k->n_params + 1);
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        if (!k->params[i].is_input) continue;
        if (n >= n_inputs) {
            snprintf(message, size, "%s needs its input %s", k->name, k->params[i].name);
            return FX_ERR_USAGE;
        }
        const struct fx_host *h = &inputs[n++];
        if (!h->data && !is_empty(h)) {
            snprintf(message, size, "%s is given no data", k->params[i].name);
            return FX_ERR_USAGE;
        }
        by_param[i] = (struct oracle_input){h->dtype, h->data};
        if (k->params[i].is_scalar && h->dtype != k->params[i].dtype) {
            snprintf(message, size, "%s is %s, but %s is expected", k->params[i].name, fx_dtype_name(h->dtype),
                fx_dtype_name(k->params[i].dtype));
            return FX_ERR_USAGE;
        }
        if (k->params[i].is_scalar) {
            scalars[i] = h->data;
            continue;
        }
        struct fx_shape *s = NEW(a, struct fx_shape);
        s->dtype = h->dtype;
        s->rank = h->rank;
        memcpy(s->extents, h->extents, sizeof s->extents);
        shapes[i] = s;
    }
    if (n != n_inputs) {
        snprintf(message, size, "%s takes %d inputs, %d were given", k->name, n, n_inputs);
        return FX_ERR_USAGE;
    }
    fx_status status = fx_bind_extents(k, shapes, extents, message, size);
    return status == FX_OK ? fx_check_scalars(k, extents, scalars, message, size) : status;
}

static fx_status evaluate(struct arena *a, const struct evaluation *r) {
    int64_t *extents = NEW_ARRAY(a, int64_t, r->plan->n_extents + 1);
    struct oracle_input *by_param = NEW_ARRAY(a, struct oracle_input, r->plan->n_params + 1);
    fx_status status = bind_inputs(r->plan, r->inputs, r->n_inputs, extents, by_param, a, r->message, r->size);
    if (status) return status;
    status = oracle_eval(
        a, r->kernel, extents, by_param, r->param, r->elements, r->n_elements, r->value, r->integer, r->kind, r->bound);
    if (status == FX_ERR_USAGE)
        snprintf(r->message, r->size, "an element index lies outside %s", r->plan->params[r->param].name);
    if (status == FX_ERR_NOMEM)
        snprintf(r->message, r->size,
            "%s: the elements of %s asked for need more intermediate values at a time than the oracle keeps, %d, or "
            "more "
            "memory than there is: ask for fewer",
            r->plan->name, r->plan->params[r->param].name, ORACLE_MAX_SHARED);
    if (status == FX_ERR_INTERNAL)
        snprintf(r->message, r->size, "the checked tree of %s is malformed: a bug of fx", r->plan->name);
    return status;
}

fx_status evaluation_run(const struct evaluation *r) {
    struct arena a;
    jmp_buf oom;
    if (setjmp(oom)) {
        snprintf(r->message, r->size,
            "%s: the oracle holds %zu bytes of tables for its output %s, and host memory has not %zu more",
            r->plan->name, a.held, r->plan->params[r->param].name, a.refused);
        arena_release(&a);
        return FX_ERR_NOMEM;
    }
    arena_init(&a, &oom);
    fx_status status = evaluate(&a, r);
    arena_release(&a);
    return status;
}
