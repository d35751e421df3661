/* The stand-ins for driver and NVRTC (fake_cuda.so, fake_nvrtc.so in $FX_TEST_FAKES, else in the folder of the tests):
 * the runtime is told to take them, and a test may open them too and ask them. */
#ifndef FX_TESTS_FAKES_H
#define FX_TESTS_FAKES_H

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
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

#endif
