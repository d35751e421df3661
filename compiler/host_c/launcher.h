/* What every launcher may need, written into it by host_c.c: the part above the mark always, then each function that is called.
 *
 * A function is a paragraph without an empty line; it calls no other. This file compiles as it stands, behind the driver API's header. */
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FX_MAX_EXTENT (INT64_C(1) << 40)
#define FX_BAD INT64_MIN /* what an overflow gives; it spreads to every result, and no condition accepts it */

struct fx_choice { /* one way to run a launch */
    bool needs, prefers; /* it is right for these arguments; it is the faster choice */
    bool has_cost; /* the cheapest of its kind is preferred */
    int kind;
    int64_t cost;
    int64_t grid, shared; /* blocks; bytes of dynamic shared memory */
    int64_t cluster; /* blocks a cluster */
    unsigned block; /* threads */
    bool takes_maps; /* tensor maps are its last argument */
    bool starts_early; /* before the kernel ahead of it has ended, for which it waits itself */
    bool spills; /* more than it may: where it would be taken, another of its kind is, if one can be */
};

struct fx_ready { /* a launch, chosen */
    CUfunction entry;
    unsigned grid, block, cluster, shared;
    bool takes_maps, starts_early;
};

/* ==== functions ==== */

/* Of a module. */
static CUresult fx_find_in(void *user, const char *entry, CUfunction *out) { return cuModuleGetFunction(out, (CUmodule)user, entry); }

static int64_t fx_add(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD || (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)) return FX_BAD;
    return a + b;
}

static int64_t fx_sub(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD || (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b)) return FX_BAD;
    return a - b;
}

static int64_t fx_mul(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD) return FX_BAD;
    if (a == 0 || b == 0) return 0;
    const bool is_negative = (a < 0) != (b < 0);
    const int64_t size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;
    if (size_a > INT64_MAX / size_b) return FX_BAD;
    return is_negative ? -(size_a * size_b) : size_a * size_b;
}

/* Rounded down; by zero it is 0. */
static int64_t fx_div(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD) return FX_BAD;
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The remainder of fx_div. */
static int64_t fx_mod(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD) return FX_BAD;
    if (b == 0) return 0;
    return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;
}

/* Rounded up; by zero it is 0. */
static int64_t fx_cdiv(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD) return FX_BAD;
    if (b == 0) return 0;
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

/* No value where b does not divide a. */
static int64_t fx_exact(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD || b == 0 || a % b != 0) return FX_BAD;
    return a / b;
}

static int64_t fx_min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t fx_max(int64_t a, int64_t b) {
    if (a == FX_BAD || b == FX_BAD) return FX_BAD;
    return a > b ? a : b;
}

static int64_t fx_lt(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a < b; }

static int64_t fx_le(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a <= b; }

static int64_t fx_eq(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a == b; }

static int64_t fx_and(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a != 0 && b != 0; }

static int64_t fx_or(int64_t a, int64_t b) { return a == FX_BAD || b == FX_BAD ? FX_BAD : a != 0 || b != 0; }

static int64_t fx_not(int64_t a) { return a == FX_BAD ? FX_BAD : a == 0; }

static bool fx_holds(int64_t a) { return a != FX_BAD && a != 0; }

/* The largest power of two up to 256 that divides the address. */
static int64_t fx_align(CUdeviceptr p) { return p % 256 == 0 ? 256 : (int64_t)(p & (~p + 1)); }

/* The value of a float of few bits. */
static long double fx_small(unsigned bits, int n_exponent, int n_fraction, bool is_finite) {
    const unsigned most = (1u << n_exponent) - 1, exponent = bits >> n_fraction & most, fraction = bits & ((1u << n_fraction) - 1);
    long double v = fraction + (exponent != 0 ? 1u << n_fraction : 0);
    int e = (int)(exponent != 0 ? exponent : 1) - (int)(most >> 1) - n_fraction;
    if (exponent == most && (!is_finite || fraction == (1u << n_fraction) - 1)) v = fraction != 0 ? 0.0L / 0.0L : 1.0L / 0.0L, e = 0;
    for (; e > 0; e--) v *= 2;
    for (; e < 0; e++) v /= 2;
    return bits >> (n_exponent + n_fraction) != 0 ? -v : v;
}

/* A whole number, exact up to 64 bits. */
static long double fx_whole(bool *ok, long double v) {
    if (!(v >= -(long double)UINT64_MAX && v <= (long double)UINT64_MAX)) *ok = false;
    return *ok ? v : 0;
}

/* Of whole numbers, rounded down, or the remainder that goes with it; by zero both are 0. */
static long double fx_quotient(long double a, long double b, bool is_rest) {
    const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b);
    const bool is_apart = (a < 0) != (b < 0);
    if (y == 0) return 0;
    const long double rest = (long double)(is_apart && x % y != 0 ? y - x % y : x % y), quotient = (long double)(x / y);
    if (is_rest) return b < 0 ? -rest : rest;
    return is_apart ? -quotient - (x % y != 0) : quotient;
}

/* The quotient of whole numbers, where there is one. */
static long double fx_exactly(bool *ok, long double a, long double b) {
    const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b);
    if (y == 0 || x % y != 0) return *ok = false, 0;
    return (a < 0) != (b < 0) ? -(long double)(x / y) : (long double)(x / y);
}

/* A quotient rounded down, or the remainder that goes with it; by zero both are 0. A zero keeps its sign. */
static long double fx_floored(long double a, long double b, bool is_rest) {
    long double q = b == 0 ? 0 : a / b;
    if (b == 0) return 0;
    if (q > -9223372036854775808.0L && q < 9223372036854775808.0L && q != 0) q = (long double)(int64_t)q - ((long double)(int64_t)q > q);
    return is_rest ? a - b * q : q;
}

static bool fx_is_extent(long long n) { return n >= 0 && n <= FX_MAX_EXTENT; }

/* Places buffers one after another, each on 256 bytes; the bytes of all, SIZE_MAX where that overflows. */
static size_t fx_place(const int64_t *bytes, int n, size_t *offsets) {
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (bytes[i] < 0 || (uint64_t)bytes[i] > SIZE_MAX - 255 - at) return SIZE_MAX;
        offsets[i] = at;
        at = (at + (size_t)bytes[i] + 255) / 256 * 256;
    }
    return at;
}

/* Finds a kernel and raises its limit of dynamic shared memory where it needs more than it has unasked. */
static CUresult fx_entry(CUresult (*find)(void *user, const char *entry, CUfunction *out), void *user, const char *entry, int shared,
                         CUfunction *out) {
    const CUresult r = find(user, entry, out);
    if (r != CUDA_SUCCESS || shared <= 48 * 1024) return r;
    return cuFuncSetAttribute(*out, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
}

/* The first variant that is right and preferred, or the cheapest of its kind that is; else the first that is right. False when there is none. */
static bool fx_choose(const struct fx_choice *v, int n, const CUfunction *entries, struct fx_ready *out) {
    int chosen = -1, spilling = -1;
    for (int round = 0; round < 2; round++) {
        int first = -1, best = -1;
        for (int i = 0; i < n; i++) {
            if (spilling >= 0 && (v[i].spills || v[i].kind != v[spilling].kind)) continue;
            if (!v[i].needs || (best >= 0 && (!v[i].has_cost || v[i].kind != v[best].kind))) continue;
            if (first < 0 || (v[i].prefers && best < 0)) first = i;
            if (!v[i].prefers) continue;
            if (!v[i].has_cost) break;
            const int64_t cost = v[i].cost == FX_BAD ? INT64_MAX : v[i].cost, least = best >= 0 && v[best].cost != FX_BAD ? v[best].cost : INT64_MAX;
            if (best < 0 || cost < least) first = best = i;
        }
        if (first >= 0) chosen = first;
        if (chosen < 0 || !v[chosen].spills) break;
        spilling = chosen;
    }
    if (chosen < 0) return false;
    v += chosen;
    if (v->grid < 0 || v->grid > INT32_MAX || v->shared < 0 || v->shared > INT32_MAX || v->cluster < 1 || v->cluster > 8) return false;
    out->entry = entries[chosen];
    out->grid = (unsigned)v->grid, out->block = v->block, out->cluster = (unsigned)v->cluster, out->shared = (unsigned)v->shared;
    out->takes_maps = v->takes_maps, out->starts_early = v->starts_early;
    return true;
}

/* A tensor map: base and type, then in elements where the tensor begins, extents and strides, the contiguous axis first, and a box. */
struct fx_tensor_box {
    CUdeviceptr base;
    CUtensorMapDataType type;
    int bytes, rank;
    int64_t offset, extents[5], strides[5];
    cuuint32_t box[5];
    bool is_tail;   /* of the second axis the box has what is left of box[1] at its end */
    bool is_im2col; /* a column of box[1] pixels of box[0] elements */
    int64_t first[3], last[3]; /* then the first and the last pixel along the axes between the first and the last one, */
    cuuint32_t steps[3];       /* and elements from pixel to pixel */
};
/* Of a tensor without elements the map is empty, and of one that lies at no multiples of 16 bytes: entries that read it need these. Of an axis of one element any stride will do. The L2 cache fetches 256 bytes at a time where rows begin at multiples of them. */
static CUresult fx_encode(const struct fx_tensor_box *m, int n, CUtensorMap *out) {
    for (int i = 0; i < n; i++) {
        cuuint64_t extents[5], strides[5];
        cuuint32_t steps[5] = {1, 1, 1, 1, 1};
        int lower[3] = {0}, upper[3] = {0};
        bool is_empty = (m[i].base + (CUdeviceptr)(m[i].offset * m[i].bytes)) % 16 != 0;
        for (int w = 0; w < 16; w++) out[i].opaque[w] = 0;
        if (m[i].offset == FX_BAD) return CUDA_ERROR_INVALID_VALUE;
        cuuint32_t box[5];
        for (int d = 0; d < m[i].rank; d++) {
            if (m[i].extents[d] == FX_BAD || m[i].strides[d] == FX_BAD) return CUDA_ERROR_INVALID_VALUE;
            is_empty |= m[i].extents[d] == 0;
            extents[d] = (cuuint64_t)m[i].extents[d];
            strides[d] = m[i].extents[d] == 1 ? 16 : (cuuint64_t)(m[i].strides[d] * m[i].bytes);
            is_empty |= d && strides[d] % 16;
            box[d] = m[i].box[d];
        }
        if (m[i].is_tail && extents[1] % box[1]) box[1] = (cuuint32_t)(extents[1] % box[1]);
        for (int d = 0; m[i].is_im2col && d < m[i].rank - 2; d++) {
            if (m[i].first[d] == FX_BAD || m[i].last[d] == FX_BAD) return CUDA_ERROR_INVALID_VALUE;
            lower[d] = (int)m[i].first[d], upper[d] = (int)(m[i].last[d] - m[i].extents[1 + d] + 1), steps[1 + d] = m[i].steps[d];
        }
        if (is_empty) continue;
        void *const base = (void *)(uintptr_t)(m[i].base + (CUdeviceptr)(m[i].offset * m[i].bytes));
        const CUtensorMapL2promotion fetched = strides[1] % 256 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
        const CUresult r = m[i].is_im2col ? cuTensorMapEncodeIm2col(&out[i], m[i].type, (cuuint32_t)m[i].rank, base, extents, strides + 1, lower, upper, m[i].box[0], m[i].box[1], steps,
                                                                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, fetched, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                                          : cuTensorMapEncodeTiled(&out[i], m[i].type, (cuuint32_t)m[i].rank, base, extents, strides + 1, box, steps,
                                                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, fetched, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (r != CUDA_SUCCESS) return r;
    }
    return CUDA_SUCCESS;
}

/* The tensor maps that have room there: they lie at multiples of 64 bytes. */
static CUtensorMap *fx_maps_in(uint64_t *room) { return (CUtensorMap *)(void *)(room + (64 - (uintptr_t)room % 64) % 64 / 8); }

/* An empty grid has nothing to do. */
static CUresult fx_start(const struct fx_ready *r, CUstream stream, void **args) {
    CUlaunchAttribute early;
    CUlaunchConfig config;
    if (r->grid == 0) return CUDA_SUCCESS;
    if (!r->starts_early) return cuLaunchKernel(r->entry, r->grid, 1, 1, r->block, 1, 1, r->shared, stream, args, NULL);
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    config.gridDimX = r->grid, config.blockDimX = r->block;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = r->shared, config.hStream = stream;
    config.attrs = &early, config.numAttrs = 1;
    return cuLaunchKernelEx(&config, r->entry, args, NULL);
}

/* All blocks at once: no more than the device holds. An empty grid has nothing to do. */
static CUresult fx_start_resident(const struct fx_ready *r, int64_t sm_count, CUstream stream, void **args) {
    int held = 0;
    if (r->grid == 0) return CUDA_SUCCESS;
    const CUresult e = cuOccupancyMaxActiveBlocksPerMultiprocessor(&held, r->entry, (int)r->block, r->shared);
    if (e != CUDA_SUCCESS) return e;
    const unsigned most = (unsigned)(held * sm_count), grid = r->grid < most ? r->grid : most;
    return cuLaunchCooperativeKernel(r->entry, grid, 1, 1, r->block, 1, 1, r->shared, stream, args);
}

/* An empty grid has nothing to do. */
static CUresult fx_start_clusters(const struct fx_ready *r, CUstream stream, void **args) {
    CUlaunchAttribute attributes[2];
    CUlaunchConfig config;
    if (r->grid == 0) return CUDA_SUCCESS;
    const bool has_none = r->cluster <= 1;
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim.x = r->cluster;
    attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[1].value.programmaticStreamSerializationAllowed = 1;
    config.gridDimX = r->grid, config.blockDimX = r->block;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = r->shared, config.hStream = stream;
    config.attrs = attributes + has_none, config.numAttrs = !has_none + (unsigned)r->starts_early;
    return cuLaunchKernelEx(&config, r->entry, args, NULL);
}
