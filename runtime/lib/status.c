/* The last failure of each thread. In: formatted text, or a driver call and its code. Out: fx_last_error(). A text is
 * as long as it is (NVRTC's log is part of it) and lives until the next failure on its thread. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/runtime.h"

static _Thread_local char *owned;             /* malloc'ed text, or NULL */
static _Thread_local const char *current = "";

/* The key exists for its destructor alone: it frees a thread's text when the thread ends. */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void forget(void *text) {
    free(text);
    owned = NULL;
    current = "";
}

static void make_key(void) { has_key = pthread_key_create(&key, forget) == 0; }

/* Threads that outlive an unloaded library must not call into it. */
__attribute__((destructor)) static void delete_key(void) {
    if (has_key) pthread_key_delete(key);
    has_key = false;
}

const char *fx_last_error(void) { return current; }

fx_status error_set(fx_status status, const char *fmt, ...) {
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) text = NULL;
    va_end(ap);
    pthread_once(&key_once, make_key);
    if (text && (!has_key || pthread_setspecific(key, text) != 0)) {
        free(text);
        text = NULL;
    }
    current = text ? text : "out of memory for the message of an error";
    if (text) {
        free(owned);
        owned = text;
    }
    return status;
}

fx_status error_nomem(void) { return error_set(FX_ERR_NOMEM, "out of memory"); }
fx_status error_null(const char *what) { return error_set(FX_ERR_USAGE, "%s is NULL", what); }

/* Codes after which the driver refuses every call in the context. */
static bool is_fatal(int code) { return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719); }

fx_status driver_failed(fx_context *ctx, int code, const char *call, const char *file, int line) {
    const char *name = NULL, *words = NULL;
    int alive = 0;
    cuda_driver.cuGetErrorName(code, &name);
    cuda_driver.cuGetErrorString(code, &words);
    error_set(FX_ERR_GPU, "%s (%d, %s) from %s at %s:%d", words ? words : "unknown error", code,
        name ? name : "no name", call, file, line);
    if (!ctx || !is_fatal(code) || !atomic_compare_exchange_strong(&ctx->lost, &alive, code)) return FX_ERR_GPU;
    const struct module_entry *last = atomic_load(&ctx->last);
    return error_set(FX_ERR_GPU, "%s; the CUDA context is lost, the kernel launched last was %s", fx_last_error(),
                     last ? last->name : "none of ours");
}
