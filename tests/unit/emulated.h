/* Kernels that a test writes, on the emulator: compiled and launched through the table that stands for the driver. */
#ifndef FX_TESTS_EMULATED_H
#define FX_TESTS_EMULATED_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fx_runtime.h"
#include "lib/runtime.h"

#define ENTRY "extern \"C\" __global__ void __launch_bounds__(256, 1)\n"

static void *function;   /* compiled last */
static char words[4096]; /* of the launch that failed, "" where it did not */

static inline void setup_watched(void) {
    ck_assert_int_eq(fx_emulate(&(struct fx_emulation){.sm_count = 3, .is_watched = true}), FX_OK);
    ck_assert_int_eq(driver_open(), FX_OK);
}

static inline void setup(void) {
    ck_assert_int_eq(fx_emulate(&(struct fx_emulation){.sm_count = 3}), FX_OK);
    ck_assert_int_eq(driver_open(), FX_OK);
}

static inline void *compile(const char *source, const char *entry) {
    struct compile c = {.source = source, .file = "test.cu", .arch = "sm_90a", .only = NO_ENTRY, .entry = entry};
    void *module;
    ck_assert_msg(nvrtc_compile(&c) == FX_OK, "%s", fx_last_error());
    ck_assert_int_eq(cuda_driver.cuModuleLoadData(&module, c.image), 0);
    ck_assert_int_eq(cuda_driver.cuModuleGetFunction(&function, module, entry), 0);
    free(c.image);
    free(c.log);
    return module;
}

static inline void *take(size_t n_bytes, const void *from) {
    uint64_t at;
    ck_assert_int_eq(cuda_driver.cuMemAlloc(&at, n_bytes), 0);
    if (from) memcpy((void *)(uintptr_t)at, from, n_bytes);
    return (void *)(uintptr_t)at;
}

static unsigned cluster = 1; /* blocks of one, of the launches to come */

static inline bool launch(unsigned grid, unsigned block, unsigned shared_bytes, bool is_cooperative, void **arguments) {
    struct cuda_launch_attribute a = {.id = LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = is_cooperative};
    if (cluster > 1)
        a = (struct cuda_launch_attribute){.id = LAUNCH_ATTRIBUTE_CLUSTER, .value.cluster = {cluster, 1, 1}};
    struct cuda_launch_config c = {.grid = {grid, 1, 1},
        .block = {block, 1, 1},
        .shared_bytes = shared_bytes,
        .attributes = &a,
        .n_attributes = 1};
    int code = cuda_driver.cuLaunchKernelEx(&c, function, arguments, NULL);
    const char *said = "";
    if (code) cuda_driver.cuGetErrorString(code, &said);
    snprintf(words, sizeof words, "%s", said);
    return code == 0;
}

#endif
