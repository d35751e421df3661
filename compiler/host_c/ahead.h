/* What a file compiled ahead of time has of the driver: declarations of its own, and functions found by dlopen. aot.c writes it into the file, in two parts, each behind
 * its mark; tensor_maps.h stands above the first, launcher.h and the machine code between them. */
/* ==== the driver ==== */
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUkern_st *CUfunction; /* a kernel of a library, which the driver takes for a function in any context */
typedef struct CUlib_st *CUlibrary;
typedef struct CUstream_st *CUstream;
typedef struct {
    int id;
    char pad[4];
    union {
        char pad[64];
        struct { unsigned x, y, z; } clusterDim;
        int programmaticStreamSerializationAllowed;
    } value;
} CUlaunchAttribute;
typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

/* The driver's functions, found once. */
static CUresult (*cuInit)(unsigned flags);
static CUresult (*cuDriverGetVersion)(int *version);
static CUresult (*cuGetErrorName)(CUresult error, const char **name);
static CUresult (*cuCtxGetDevice)(CUdevice *device);
static CUresult (*cuDeviceGetAttribute)(int *value, int attribute, CUdevice device);
static CUresult (*cuLibraryLoadData)(CUlibrary *library, const void *code, int *options, void **values, unsigned n_options, int *library_options, void **library_values,
                                     unsigned n_library_options);
static CUresult (*cuLibraryUnload)(CUlibrary library);
static CUresult (*cuLibraryGetKernel)(CUfunction *kernel, CUlibrary library, const char *name);
static CUresult (*cuKernelSetAttribute)(int attribute, int value, CUfunction kernel, CUdevice device);
static CUresult (*cuLaunchKernel)(CUfunction entry, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **args,
                                  void **extra);
static CUresult (*cuLaunchKernelEx)(const CUlaunchConfig *config, CUfunction entry, void **args, void **extra);
static CUresult (*cuLaunchCooperativeKernel)(CUfunction entry, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                             void **args);
static CUresult (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, CUfunction entry, int block, size_t shared);
static CUresult (*cuTensorMapEncodeTiled)(CUtensorMap *map, int type, cuuint32_t rank, void *base, const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                          const cuuint32_t *steps, int interleave, int swizzle, int promotion, int fill);
static CUresult (*cuTensorMapEncodeIm2col)(CUtensorMap *map, int type, cuuint32_t rank, void *base, const cuuint64_t *extents, const cuuint64_t *strides, const int *lower,
                                           const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps, int interleave, int swizzle, int promotion, int fill);
static const struct fx_symbol {
    const char *name;
    void *at; /* of the pointer above */
} fx_symbols[] = {
    {"cuInit", &cuInit},
    {"cuDriverGetVersion", &cuDriverGetVersion},
    {"cuGetErrorName", &cuGetErrorName},
    {"cuCtxGetDevice", &cuCtxGetDevice},
    {"cuDeviceGetAttribute", &cuDeviceGetAttribute},
    {"cuLibraryLoadData", &cuLibraryLoadData},
    {"cuLibraryUnload", &cuLibraryUnload},
    {"cuLibraryGetKernel", &cuLibraryGetKernel},
    {"cuKernelSetAttribute", &cuKernelSetAttribute},
    {"cuLaunchKernel", &cuLaunchKernel},
    {"cuLaunchKernelEx", &cuLaunchKernelEx},
    {"cuLaunchCooperativeKernel", &cuLaunchCooperativeKernel},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &cuOccupancyMaxActiveBlocksPerMultiprocessor},
    {"cuTensorMapEncodeTiled", &cuTensorMapEncodeTiled},
    {"cuTensorMapEncodeIm2col", &cuTensorMapEncodeIm2col},
};

enum { FX_NO_DRIVER = -1, FX_OLD_DRIVER = -2, FX_NO_CODE = -3, FX_DEVICE_NUMBER = -4, FX_MAX_DEVICES = 64 };
/* ==== loading ==== */
/* What follows is changed under the lock alone, and not any more once it is open. */
static pthread_mutex_t fx_lock = PTHREAD_MUTEX_INITIALIZER;
static bool fx_has_driver, fx_is_early; /* early: its graphs hold launches that start early, as of CUDA 12.3 */
static CUlibrary fx_libraries[FX_CODES];
static struct fx_device {
    bool is_open;
    CUdevice number;
    int code; /* of fx_codes */
    int64_t sm_count;
    int max_shared;
    bool starts_early;
} fx_devices[FX_MAX_DEVICES];

static int fx_open_driver(void) {
    static const char *const places[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"};
    void *library = NULL;
    int version = 0;
    if (!fx_has_driver) {
        for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++) library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) return FX_NO_DRIVER;
        for (size_t i = 0; i < sizeof fx_symbols / sizeof *fx_symbols; i++) {
            void *const found = dlsym(library, fx_symbols[i].name);
            if (!found) return FX_OLD_DRIVER;
            memcpy(fx_symbols[i].at, &found, sizeof found);
        }
        CUresult r = cuInit(0);
        if (r == CUDA_SUCCESS) r = cuDriverGetVersion(&version);
        if (r != CUDA_SUCCESS) return r;
        fx_is_early = version >= 12030;
        fx_has_driver = true;
    }
    return 0;
}

/* The best code for a device: its own, else of the same major version and not newer. Jetson's runs nowhere else, nor does any other there. */
static int fx_code_of(int major, int minor) {
    const int capability = 10 * major + minor;
    for (int i = 0; i < FX_CODES; i++) {
        const int of = fx_codes[i].capability;
        if (of == capability || (!fx_codes[i].is_exact && of / 10 == major && of < capability && of != 87 && capability != 87)) return i;
    }
    return FX_NO_CODE;
}

/* The device of the current context, with its code loaded. */
static int fx_open_device(struct fx_device **out) {
    CUdevice number = 0;
    int major = 0, minor = 0, sm_count = 0;
    int r = fx_open_driver();
    if (r == CUDA_SUCCESS) r = cuCtxGetDevice(&number);
    if (r != CUDA_SUCCESS) return r;
    if (number < 0 || number >= FX_MAX_DEVICES) return FX_DEVICE_NUMBER;
    struct fx_device *const d = *out = &fx_devices[number];
    if (d->is_open) return CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, number);
    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, number);
    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, number);
    if (r == CUDA_SUCCESS) r = cuDeviceGetAttribute(&d->max_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, number);
    if (r != CUDA_SUCCESS) return r;
    d->number = number, d->sm_count = sm_count, d->starts_early = fx_is_early;
    d->code = fx_code_of(major, minor);
    if (d->code < 0) return d->code;
    if (!fx_libraries[d->code]) r = cuLibraryLoadData(&fx_libraries[d->code], fx_codes[d->code].image, NULL, NULL, 0, NULL, NULL, 0);
    if (r != CUDA_SUCCESS) fx_libraries[d->code] = NULL;
    d->is_open = r == CUDA_SUCCESS;
    return r;
}

/* Finds an entry, unless another device had it found, and lets it have the shared memory it needs: none where the device has not so much, for there it is not chosen. */
static CUresult fx_find(const struct fx_device *m, const char *name, int shared, CUfunction *out) {
    const CUresult r = *out ? CUDA_SUCCESS : cuLibraryGetKernel(out, fx_libraries[m->code], name);
    if (r != CUDA_SUCCESS || shared <= 48 * 1024 || shared > m->max_shared) return r;
    return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared, *out, m->number);
}

/* The current device with a kernel ready on it; `find` finds its entries, by code. */
static int fx_use(CUresult (*const *find)(const struct fx_device *m), bool *is_ready, const struct fx_device **out) {
    struct fx_device *d = NULL;
    pthread_mutex_lock(&fx_lock);
    int r = fx_open_device(&d);
    if (r == CUDA_SUCCESS && !is_ready[d->number]) {
        r = find[d->code](d);
        is_ready[d->number] = r == CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&fx_lock);
    *out = d;
    return r;
}

/* Unloads all code. */
static int fx_unload_all(void) {
    int first = CUDA_SUCCESS;
    for (int i = 0; i < FX_CODES; i++) {
        const CUresult r = fx_libraries[i] ? cuLibraryUnload(fx_libraries[i]) : CUDA_SUCCESS;
        if (first == CUDA_SUCCESS) first = r;
        fx_libraries[i] = NULL;
    }
    for (int i = 0; i < FX_MAX_DEVICES; i++) fx_devices[i].is_open = false;
    return first;
}
