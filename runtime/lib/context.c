/* A context: a device and the CUDA context used on it. In: the context current on the thread, or an ordinal. Out: the
 * facts about the device that plans need. Invariant: no CUDA context is created except the primary one, and every call
 * leaves the thread's current context unchanged. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/runtime.h"

enum {
    CAPTURES_EARLY_STARTS = 12030
}; /* the driver's version as of which a graph may hold launches that start early */

fx_status scope_enter(fx_context *ctx, struct context_scope *s) {
    void *current = NULL;
    s->is_pushed = false;
    if (!ctx) return error_null("the context");
    int lost = atomic_load(&ctx->lost);
    if (lost) {
        const struct module_entry *last = atomic_load(&ctx->last);
        return error_set(FX_ERR_GPU, "the CUDA context is lost since error %d; the kernel launched last was %s", lost,
                         last ? last->name : "none of ours");
    }
    fx_status status = CU(ctx, cuCtxGetCurrent(&current));
    if (status != FX_OK || current == ctx->cuda) return status;
    status = CU(ctx, cuCtxPushCurrent(ctx->cuda));
    s->is_pushed = status == FX_OK;
    return status;
}

fx_status scope_leave(fx_context *ctx, struct context_scope *s, fx_status status) {
    void *popped;
    if (!s->is_pushed) return status;
    s->is_pushed = false;
    if (status != FX_OK) { /* the first failure is the one to be told */
        (void)cuda_driver.cuCtxPopCurrent(&popped);
        return status;
    }
    return CU(ctx, cuCtxPopCurrent(&popped));
}

/* ---- opening ---- */

static fx_status take_context(fx_context *ctx, int ordinal) {
    fx_status status = CU(NULL, cuInit(0));
    if (status == FX_OK) status = CU(NULL, cuCtxGetCurrent(&ctx->cuda));
    if (status != FX_OK) return status;
    if (ctx->cuda) return CU(NULL, cuCtxGetDevice(&ctx->device));
    status = CU(NULL, cuDeviceGet(&ctx->device, ordinal));
    if (status == FX_OK) status = CU(NULL, cuDevicePrimaryCtxRetain(&ctx->cuda, ctx->device));
    ctx->is_primary = status == FX_OK;
    return status;
}

static fx_status read_device(fx_context *ctx) {
    int major = 0, minor = 0, version = 0;
    const struct { int attribute, *value; } wanted[] = {{DEVICE_ATTRIBUTE_CC_MAJOR, &major},
                                                        {DEVICE_ATTRIBUTE_CC_MINOR, &minor},
                                                        {DEVICE_ATTRIBUTE_SM_COUNT, &ctx->sm_count},
                                                        {DEVICE_ATTRIBUTE_MAX_SHARED, &ctx->max_shared}};
    fx_status status = CU(NULL, cuDeviceGetName(ctx->name, sizeof ctx->name, ctx->device));
    ctx->name[sizeof ctx->name - 1] = 0;
    for (size_t i = 0; status == FX_OK && i < sizeof wanted / sizeof *wanted; i++)
        status = CU(NULL, cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, ctx->device));
    if (status == FX_OK) status = CU(NULL, cuDriverGetVersion(&version));
    ctx->starts_early = version >= CAPTURES_EARLY_STARTS;
    ctx->cc = 10 * major + minor;
    /* From 9.0 on the instructions worth having belong to one architecture alone. */
    snprintf(ctx->arch, sizeof ctx->arch, "sm_%d%s", ctx->cc, ctx->cc >= 90 ? "a" : "");
    return status;
}

fx_status fx_context_open(int ordinal, fx_context **out) {
    if (!out) return error_null("the place for a context");
    *out = NULL;
    fx_status status = driver_open();
    if (status != FX_OK) return status;
    fx_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return error_nomem();
    pthread_mutex_init(&ctx->lock, NULL);
    pthread_cond_init(&ctx->changed, NULL);
    uint64_t began = timeline_begin();
    status = take_context(ctx, ordinal);
    if (status == FX_OK) status = read_device(ctx);
    timeline_end(began, "open", ctx->name, &(struct timeline_arg){.key = "arch", .text = ctx->arch}, 1);
    if (status == FX_OK) *out = ctx;
    else fx_context_close(ctx);
    return status;
}

void fx_context_close(fx_context *ctx) {
    if (!ctx) return;
    programs_release(ctx);
    if (ctx->is_primary && !atomic_load(&ctx->lost)) (void)cuda_driver.cuDevicePrimaryCtxRelease(ctx->device);
    pthread_cond_destroy(&ctx->changed);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

const char *fx_context_arch(const fx_context *ctx) { return ctx ? ctx->arch : ""; }
const char *fx_context_device(const fx_context *ctx) { return ctx ? ctx->name : ""; }
int fx_context_sm_count(const fx_context *ctx) { return ctx ? ctx->sm_count : 0; }
