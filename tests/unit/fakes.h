/* The stand-ins for driver and NVRTC (fake_cuda.so, fake_nvrtc.so in $FX_TEST_FAKES, else in the folder of the tests):
 * the runtime is told to take them, and a test may open them too and ask them. */
#ifndef FX_TESTS_FAKES_H
#define FX_TESTS_FAKES_H

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FX_TEST_DIR
#define FX_TEST_DIR "build/tests"
#endif

/* The environment variable then names the stand-in. */
static inline void take_fake(const char *name, const char *variable) {
    char path[PATH_MAX], whole[PATH_MAX];
    const char *folder = getenv("FX_TEST_FAKES");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : FX_TEST_DIR, name);
    ck_assert_msg(realpath(path, whole) != NULL, "%s is not there", path);
    setenv(variable, whole, 1);
}

/* Both, without disk cache: what is compiled is counted. */
static inline void take_fakes(void) {
    setenv("FX_CACHE", "off", 1);
    take_fake("fake_cuda.so", "FX_LIBCUDA");
    take_fake("fake_nvrtc.so", "FX_LIBNVRTC");
}

/* One that was taken, by its variable. */
static inline void *open_fake(const char *variable) {
    void *library = dlopen(getenv(variable), RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    return library;
}

static inline void find(void *library, const char *name, void *slot) {
    void *symbol = dlsym(library, name);
    ck_assert_msg(symbol != NULL, "%s is missing", name);
    memcpy(slot, &symbol, sizeof symbol);
}

/* What a test asks of them, once use_fakes has opened them. */
static struct {
    void (*let_fail)(const char *name, int nth, int code);
    const char *(*log)(void);
    void (*clear)(void);
    int (*has_failed)(void);
    int (*live)(void);
    int (*depth)(void);
    void (*take_arguments)(int n);
    uint64_t (*argument)(int i);
    void (*device)(int version, int capability);
    void (*spill)(const char *entry, int n_bytes);
    void (*hold)(int n_blocks);
    void *(*make_current)(void);
} cuda;
static struct {
    void (*let_fail)(const char *name, int nth, int code);
    const char *(*log)(void);
    void (*clear)(void);
    int (*live)(void);
    void (*behave)(size_t log_bytes, unsigned microseconds, int major);
} nvrtc;

static inline void use_fakes(void) {
    take_fakes();
    void *library = open_fake("FX_LIBCUDA");
    find(library, "fake_cuda_fail", &cuda.let_fail);
    find(library, "fake_cuda_log", &cuda.log);
    find(library, "fake_cuda_clear", &cuda.clear);
    find(library, "fake_cuda_has_failed", &cuda.has_failed);
    find(library, "fake_cuda_live", &cuda.live);
    find(library, "fake_cuda_depth", &cuda.depth);
    find(library, "fake_cuda_take_arguments", &cuda.take_arguments);
    find(library, "fake_cuda_argument", &cuda.argument);
    find(library, "fake_cuda_device", &cuda.device);
    find(library, "fake_cuda_spill", &cuda.spill);
    find(library, "fake_cuda_hold", &cuda.hold);
    find(library, "fake_cuda_make_current", &cuda.make_current);
    library = open_fake("FX_LIBNVRTC");
    find(library, "fake_nvrtc_fail", &nvrtc.let_fail);
    find(library, "fake_nvrtc_log", &nvrtc.log);
    find(library, "fake_nvrtc_clear", &nvrtc.clear);
    find(library, "fake_nvrtc_live", &nvrtc.live);
    find(library, "fake_nvrtc_behave", &nvrtc.behave);
}

#endif
