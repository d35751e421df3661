/* The driver and NVRTC as tables of functions found by dlopen (cuda_api.c). Input: the machine. Output: the tables,
 * filled once a process. Invariant: a table is used only after its _open returned FX_OK. */
#ifndef CUDA_API_H
#define CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "lib/cache.h"
#include "plan.h"

/* ---- what cuda.h would declare ---- */
enum {
    CUDA_ERROR_STUB_LIBRARY = 34,
    DEVICE_ATTRIBUTE_SM_COUNT = 16,
    DEVICE_ATTRIBUTE_CC_MAJOR = 75,
    DEVICE_ATTRIBUTE_CC_MINOR = 76,
    DEVICE_ATTRIBUTE_MAX_SHARED = 97, /* bytes a block may opt in to */
    FUNCTION_ATTRIBUTE_MAX_THREADS = 0,
    FUNCTION_ATTRIBUTE_STATIC_SHARED = 1,
    FUNCTION_ATTRIBUTE_LOCAL = 3,
    FUNCTION_ATTRIBUTE_REGISTERS = 4,
    FUNCTION_ATTRIBUTE_MAX_DYNAMIC_SHARED = 8,
    LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
    LAUNCH_ATTRIBUTE_CLUSTER = 4,
    LAUNCH_ATTRIBUTE_EARLY = 6, /* PROGRAMMATIC_STREAM_SERIALIZATION */
    STREAM_NON_BLOCKING = 1,
    TENSOR_MAP_U8 = 0,
    TENSOR_MAP_U32 = 2,
    TENSOR_MAP_F16 = 6,
    TENSOR_MAP_F32 = 7,
    TENSOR_MAP_BF16 = 9,
    TENSOR_MAP_TF32 = 11, /* f32, rounded as it is copied */
    TENSOR_MAP_SWIZZLE_128B = 3,
    TENSOR_MAP_L2_128B = 2,
    TENSOR_MAP_L2_256B = 3,
    NVRTC_OUT_OF_MEMORY = 1,
};

struct cuda_launch_attribute { /* CUlaunchAttribute */
    int id;
    char pad[4];
    union {
        char bytes[64];
        unsigned cluster[3]; /* blocks in x, y, z */
        int cooperative;     /* whether all blocks are to be resident at once */
        int early;           /* whether it may start before the kernel ahead of it has ended */
    } value;
};

struct cuda_launch_config { /* CUlaunchConfig */
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void *stream;
    struct cuda_launch_attribute *attributes;
    unsigned n_attributes;
};

struct cuda_tensor_map { /* CUtensorMap */
    _Alignas(64) uint64_t words[16];
};

struct driver_table {
#define DRIVER(name, symbol, parameters) int (*name) parameters;
#include "lib/cuda_api.def"
};

struct nvrtc_table {
#define NVRTC(name, parameters) int (*name) parameters;
#include "lib/cuda_api.def"
};

extern struct driver_table cuda_driver;
extern struct nvrtc_table cuda_nvrtc;

/* Loads the library on first use. FX_ERR_TOOLCHAIN, with a reason recorded, when there is none that works. */
fx_status driver_open(void);
fx_status nvrtc_open(void);
/* Major and minor version of the NVRTC that was loaded. */
void nvrtc_version(int *major, int *minor);
/* Its library_identity, "" where that cannot be said. */
const char *nvrtc_library(void);
/* The library_identity of the NVRTC that a compilation would use, and its version if it is open already, else 0. What
 * is not open is not opened, but where only the loader can say which it is, it is loaded. The guess may be wrong, where
 * the first candidate does not work. */
void nvrtc_foresee(char text[LIBRARY_TEXT], int *major, int *minor);
/* "NVRTC_ERROR_COMPILATION"; a name for codes yet unknown too. */
const char *nvrtc_error_name(int code);

#endif
