/* Device memory, streams and timing for programs without their own. In: a context. Out: objects of the driver, to be
 * released here. Every call restores the thread's current context. On a lost context releasing does nothing. */
#include <stdlib.h>

#include "lib/runtime.h"

struct fx_timer {
    fx_context *ctx;
    void *start, *stop; /* events */
};

/* The event of a call about n bytes. */
static fx_status told(uint64_t began, const char *what, size_t n_bytes, fx_status status) {
    const struct timeline_arg args[] = {
        {.key = "bytes", .number = (int64_t)n_bytes}, {.key = "status", .number = status}};
    if (began) timeline_end(began, what, "", args, sizeof args / sizeof *args);
    return status;
}

static uint64_t address_of(const void *p) { return (uint64_t)(uintptr_t)p; }

fx_status fx_device_alloc(fx_context *ctx, size_t n_bytes, void **out) {
    struct context_scope s;
    uint64_t address = 0, began = timeline_begin();
    if (!out) return error_null("the place for an address");
    *out = NULL;
    fx_status status = scope_enter(ctx, &s);
    if (status == FX_OK) status = scope_leave(ctx, &s, CU(ctx, cuMemAlloc(&address, n_bytes)));
    *out = (void *)(uintptr_t)address;
    return told(began, "allocate", n_bytes, status);
}

void fx_device_free(fx_context *ctx, void *p) {
    struct context_scope s;
    if (!p || !ctx || atomic_load(&ctx->lost) || scope_enter(ctx, &s) != FX_OK) return;
    (void)scope_leave(ctx, &s, CU(ctx, cuMemFree(address_of(p))));
}

/* Before a copy of n_bytes. */
static fx_status copy_begin(
    fx_context *ctx, const void *device, const void *host, size_t n_bytes, struct context_scope *s) {
    if (!ctx || (n_bytes && (!device || !host)))
        return error_null(!ctx ? "the context" : !device ? "the device's address" : "the host's address");
    return n_bytes ? scope_enter(ctx, s) : FX_OK;
}

fx_status fx_device_write(fx_context *ctx, void *device, const void *host, size_t n_bytes) {
    struct context_scope s;
    uint64_t began = timeline_begin();
    fx_status status = copy_begin(ctx, device, host, n_bytes, &s);
    if (status != FX_OK || n_bytes == 0) return status;
    status = CU(ctx, cuMemcpyHtoD(address_of(device), host, n_bytes));
    /* A copy from pageable memory may still be under way when the call returns, and our streams do not wait for the
     * default one. */
    if (status == FX_OK) status = CU(ctx, cuStreamSynchronize(NULL));
    return told(began, "write", n_bytes, scope_leave(ctx, &s, status));
}

fx_status fx_device_read(fx_context *ctx, void *host, const void *device, size_t n_bytes) {
    struct context_scope s;
    uint64_t began = timeline_begin();
    fx_status status = copy_begin(ctx, device, host, n_bytes, &s);
    if (status != FX_OK || n_bytes == 0) return status;
    status = CU(ctx, cuMemcpyDtoH(host, address_of(device), n_bytes));
    return told(began, "read", n_bytes, scope_leave(ctx, &s, status));
}

fx_status fx_device_fill(fx_context *ctx, void *device, unsigned char byte, size_t n_bytes, void *stream) {
    struct context_scope s;
    uint64_t began = timeline_begin();
    if (!ctx || (n_bytes && !device)) return error_null(!ctx ? "the context" : "the device's address");
    if (n_bytes == 0) return FX_OK;
    fx_status status = scope_enter(ctx, &s);
    if (status == FX_OK)
        status = scope_leave(ctx, &s, CU(ctx, cuMemsetD8Async(address_of(device), byte, n_bytes, stream)));
    return told(began, "fill", n_bytes, status);
}

/* ---- streams ---- */

fx_status fx_stream_open(fx_context *ctx, void **stream) {
    struct context_scope s;
    if (!stream) return error_null("the place for a stream");
    *stream = NULL;
    fx_status status = scope_enter(ctx, &s);
    return status == FX_OK ? scope_leave(ctx, &s, CU(ctx, cuStreamCreate(stream, STREAM_NON_BLOCKING))) : status;
}

void fx_stream_close(fx_context *ctx, void *stream) {
    struct context_scope s;
    if (!stream || !ctx || atomic_load(&ctx->lost) || scope_enter(ctx, &s) != FX_OK) return;
    (void)scope_leave(ctx, &s, CU(ctx, cuStreamDestroy(stream)));
}

fx_status fx_stream_wait(fx_context *ctx, void *stream) {
    struct context_scope s;
    uint64_t began = timeline_begin();
    fx_status status = scope_enter(ctx, &s);
    if (status == FX_OK) status = scope_leave(ctx, &s, CU(ctx, cuStreamSynchronize(stream)));
    return told(began, "wait", 0, status);
}

/* ---- timers ---- */

fx_status fx_timer_open(fx_context *ctx, fx_timer **out) {
    struct context_scope s;
    if (!out) return error_null("the place for a timer");
    *out = NULL;
    fx_timer *t = calloc(1, sizeof *t);
    if (!t) return error_nomem();
    t->ctx = ctx;
    fx_status status = scope_enter(ctx, &s);
    if (status == FX_OK) {
        status = CU(ctx, cuEventCreate(&t->start, 0));
        if (status == FX_OK) status = CU(ctx, cuEventCreate(&t->stop, 0));
        status = scope_leave(ctx, &s, status);
    }
    if (status == FX_OK) *out = t;
    else fx_timer_close(t);
    return status;
}

void fx_timer_close(fx_timer *t) {
    struct context_scope s;
    if (!t) return;
    if ((t->start || t->stop) && !atomic_load(&t->ctx->lost) && scope_enter(t->ctx, &s) == FX_OK) {
        if (t->start) (void)cuda_driver.cuEventDestroy(t->start);
        if (t->stop) (void)cuda_driver.cuEventDestroy(t->stop);
        (void)scope_leave(t->ctx, &s, FX_OK);
    }
    free(t);
}

static fx_status record(fx_timer *t, void *event, void *stream) {
    struct context_scope s;
    fx_status status = scope_enter(t->ctx, &s);
    return status == FX_OK ? scope_leave(t->ctx, &s, CU(t->ctx, cuEventRecord(event, stream))) : status;
}

fx_status fx_timer_start(fx_timer *t, void *stream) {
    return t ? record(t, t->start, stream) : error_null("the timer");
}
fx_status fx_timer_stop(fx_timer *t, void *stream) {
    return t ? record(t, t->stop, stream) : error_null("the timer");
}

fx_status fx_timer_read(fx_timer *t, double *microseconds) {
    struct context_scope s;
    float milliseconds = 0;
    uint64_t began = timeline_begin();
    if (!microseconds) return error_null("the place for a time");
    *microseconds = 0;
    if (!t) return error_null("the timer");
    fx_status status = scope_enter(t->ctx, &s);
    if (status != FX_OK) return status;
    status = CU(t->ctx, cuEventSynchronize(t->stop));
    if (status == FX_OK) status = CU(t->ctx, cuEventElapsedTime(&milliseconds, t->start, t->stop));
    *microseconds = 1e3 * (double)milliseconds;
    status = scope_leave(t->ctx, &s, status);
    timeline_end(
        began, "timer", "", &(struct timeline_arg){.key = "gpu_ns", .number = (int64_t)(1e3 * *microseconds)}, 1);
    return status;
}
