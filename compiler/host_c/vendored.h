/* What a vendored .cu has besides its kernels: the few names of the driver API that launchers use, over the runtime API. vendor.c writes the first part into the file, behind
 * tensor_maps.h and above launcher.h, then the second; of the third, functions that stand in the place of those of launcher.h. A function is a paragraph, as there. */
/* ==== types ==== */
typedef cudaError_t CUresult;
typedef unsigned long long CUdeviceptr;
typedef const void *CUfunction; /* a kernel, by its function */
typedef cudaStream_t CUstream;
enum : int { FX_MAX_DEVICES = 64 };
constexpr CUresult CUDA_SUCCESS = cudaSuccess, CUDA_ERROR_INVALID_VALUE = cudaErrorInvalidValue;
/* ==== devices ==== */
struct fx_gpu {
    bool is_open, starts_early; /* early: graphs hold launches that start early, as of CUDA 12.3 */
    int number, max_shared;
    int64_t sm_count;
};
static fx_gpu fx_devices[FX_MAX_DEVICES]; /* changed under the lock alone, and not any more once it is open */
static std::mutex fx_lock;

/* The driver's functions for tensor maps, found once. */
static CUresult (*cuTensorMapEncodeTiled)(CUtensorMap *map, int type, cuuint32_t rank, void *base, const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                          const cuuint32_t *steps, int interleave, int swizzle, int promotion, int fill);
static CUresult (*cuTensorMapEncodeIm2col)(CUtensorMap *map, int type, cuuint32_t rank, void *base, const cuuint64_t *extents, const cuuint64_t *strides, const int *lower,
                                           const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps, int interleave, int swizzle, int promotion, int fill);

static CUresult fx_driver_function(const char *name, void *at) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    CUresult r = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
    CUresult r = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (r == cudaSuccess && (result != cudaDriverEntryPointSuccess || !found)) r = cudaErrorNotSupported;
    if (r == cudaSuccess) std::memcpy(at, &found, sizeof found);
    return r;
}

static CUresult fx_open_device(fx_gpu *d) {
    int sm_count = 0, version = 0;
    CUresult r = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, d->number);
    if (r == cudaSuccess) r = cudaDeviceGetAttribute(&d->max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number);
    if (r == cudaSuccess) r = cudaDriverGetVersion(&version);
    if (r == cudaSuccess && !cuTensorMapEncodeTiled) r = fx_driver_function("cuTensorMapEncodeTiled", &cuTensorMapEncodeTiled);
    if (r == cudaSuccess && !cuTensorMapEncodeIm2col) r = fx_driver_function("cuTensorMapEncodeIm2col", &cuTensorMapEncodeIm2col);
    d->sm_count = sm_count, d->starts_early = version >= 12030, d->is_open = r == cudaSuccess;
    return r;
}

/* The current device with a kernel ready on it. */
static CUresult fx_use(CUresult (*allow)(const fx_gpu *m), bool *is_ready, const fx_gpu **out) {
    int number = 0;
    CUresult r = cudaGetDevice(&number);
    if (r != cudaSuccess) return r;
    if (number >= FX_MAX_DEVICES) return cudaErrorInvalidDevice;
    fx_gpu *const d = &fx_devices[number];
    const std::lock_guard<std::mutex> locked(fx_lock);
    d->number = number;
    if (!d->is_open) r = fx_open_device(d);
    if (r == cudaSuccess && !is_ready[number]) {
        r = allow(d);
        is_ready[number] = r == cudaSuccess;
    }
    *out = d;
    return r;
}

/* ==== functions ==== */
/* Lets a kernel have the shared memory it needs: none where the device has not so much, for there it is not chosen. */
static CUresult fx_allow(const fx_gpu *m, CUfunction entry, int shared) {
    return shared <= 48 * 1024 || shared > m->max_shared ? cudaSuccess : cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
}

/* An empty grid has nothing to do. */
static CUresult fx_start(const struct fx_ready *r, CUstream stream, void **args) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    if (r->grid == 0) return cudaSuccess;
    config.gridDim = r->grid, config.blockDim = r->block;
    config.dynamicSmemBytes = r->shared, config.stream = stream;
    config.attrs = attributes;
    if (r->cluster > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = r->cluster;
        attributes[config.numAttrs].val.clusterDim.y = attributes[config.numAttrs].val.clusterDim.z = 1;
        config.numAttrs++;
    }
    if (r->starts_early) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs].val.programmaticStreamSerializationAllowed = 1;
        config.numAttrs++;
    }
    return cudaLaunchKernelExC(&config, r->entry, args);
}

/* All blocks at once: no more than the device holds. An empty grid has nothing to do. */
static CUresult fx_start_resident(const struct fx_ready *r, int64_t sm_count, CUstream stream, void **args) {
    int held = 0;
    if (r->grid == 0) return cudaSuccess;
    const CUresult e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, r->entry, (int)r->block, r->shared);
    if (e != cudaSuccess) return e;
    const unsigned most = (unsigned)(held * sm_count), grid = r->grid < most ? r->grid : most;
    return cudaLaunchCooperativeKernel(r->entry, grid, r->block, args, r->shared, stream);
}
