/* Kernels of kernels.fx, vendored, beside the same functions as inference engines write them by hand: a block a row,
 * 16 bytes a load, warp shuffles. Both are held to the functions in double precision, in sampled rows. Input: `-t`
 * times them too. Output: a line a kernel and shape, what failed, and as the last line how many checks held; exit 1
 * where one did not, 77 without a GPU. tests/gpu/loading.sh builds and runs it. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

extern "C" cudaError_t add_norm_launch(
    cudaStream_t stream, void *x, void *r, const void *w, float eps, void *workspace, long long M, long long N);
extern "C" cudaError_t masked_softmax_launch(cudaStream_t stream, const void *x, const void *mask, const void *slope,
    float scale, void *y, void *workspace, long long H, long long S, long long T);
extern "C" cudaError_t gated_launch(
    cudaStream_t stream, const void *x, void *y, void *workspace, long long M, long long C, long long N);
extern "C" cudaError_t quantise_launch(
    cudaStream_t stream, const void *x, void *q, void *s, void *workspace, long long M, long long N, long long G);
extern "C" cudaError_t add_norm_workspace(size_t *bytes, long long M, long long N);
extern "C" cudaError_t masked_softmax_workspace(size_t *bytes, long long H, long long S, long long T);
extern "C" cudaError_t gated_workspace(size_t *bytes, long long M, long long C, long long N);
extern "C" cudaError_t quantise_workspace(size_t *bytes, long long M, long long N, long long G);

static void need(cudaError_t r, int line) {
    if (r == cudaSuccess) return;
    fprintf(stderr, "engine: line %d: %s\n", line, cudaGetErrorString(r));
    exit(r == cudaErrorNoDevice || r == cudaErrorInsufficientDriver ? 77 : 1);
}
#define NEED(call) need(call, __LINE__)

/* ---- by hand ---- */

enum { LANES = 32, GROUP = 128 };

template <class OP> __device__ float warp_reduce(float v, OP op, int width = LANES) {
    for (int d = width / 2; d > 0; d /= 2) v = op(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

/* All threads of the block get the result; `parts` has a place a warp. */
template <class OP> __device__ float block_reduce(float v, OP op, float nothing, float *parts) {
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, n_warps = blockDim.x / LANES;
    v = warp_reduce(v, op);
    __syncthreads(); // parts may still be read for the last one
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    return warp_reduce(lane < n_warps ? parts[lane] : nothing, op);
}

struct add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

union halves8 {
    uint4 all;
    __half2 h[4];
    __nv_bfloat162 b[4];
};

__global__ void hand_add_norm(__half *x, __half *r, const __half *w, float eps, int n) {
    __shared__ float parts[LANES];
    uint4 *xs = (uint4 *)(x + (size_t)blockIdx.x * n), *rs = (uint4 *)(r + (size_t)blockIdx.x * n);
    float squares = 0;
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
        halves8 a, b;
        a.all = xs[i], b.all = rs[i];
        for (int j = 0; j < 4; j++) {
            b.h[j] = __hadd2(a.h[j], b.h[j]);
            const float2 z = __half22float2(b.h[j]);
            squares += z.x * z.x + z.y * z.y;
        }
        rs[i] = b.all;
    }
    const float scale = rsqrtf(block_reduce(squares, add(), 0, parts) / n + eps);
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
        halves8 b, c;
        b.all = rs[i], c.all = ((const uint4 *)w)[i];
        for (int j = 0; j < 4; j++) {
            const float2 z = __half22float2(b.h[j]), g = __half22float2(c.h[j]);
            b.h[j] = __floats2half2_rn(z.x * scale * g.x, z.y * scale * g.y);
        }
        xs[i] = b.all;
    }
}

/* A row a block; the row stays in shared memory. */
__global__ void hand_masked_softmax(
    const float *x, const __half *mask, const float *slope, float scale, float *y, int s, int t) {
    extern __shared__ float row[];
    __shared__ float parts[LANES];
    const float *xs = x + (size_t)blockIdx.x * t, of_head = slope[blockIdx.x / s];
    const __half *ms = mask + (size_t)(blockIdx.x % s) * t;
    float *ys = y + (size_t)blockIdx.x * t, top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < t; i += blockDim.x) {
        row[i] = xs[i] * scale + of_head * __half2float(ms[i]);
        top = fmaxf(top, row[i]);
    }
    top = block_reduce(top, largest(), -INFINITY, parts);
    for (int i = threadIdx.x; i < t; i += blockDim.x) sum += row[i] = expf(row[i] - top);
    const float factor = 1 / block_reduce(sum, add(), 0, parts);
    for (int i = threadIdx.x; i < t; i += blockDim.x) ys[i] = row[i] * factor;
}

__device__ float silu(float v) { return v / (1 + expf(-v)); }

__global__ void hand_gated(const __nv_bfloat16 *x, __nv_bfloat16 *y, int n) {
    const uint4 *a = (const uint4 *)(x + (size_t)blockIdx.x * 2 * n), *b = a + n / 8;
    uint4 *to = (uint4 *)(y + (size_t)blockIdx.x * n);
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
        halves8 u, v;
        u.all = a[i], v.all = b[i];
        for (int j = 0; j < 4; j++) {
            const float2 f = __bfloat1622float2(u.b[j]), g = __bfloat1622float2(v.b[j]);
            u.b[j] = __floats2bfloat162_rn(silu(f.x) * g.x, silu(f.y) * g.y);
        }
        to[i] = u.all;
    }
}

/* 16 threads a group. */
__global__ void hand_quantise(const __nv_bfloat16 *x, __nv_fp8_e4m3 *q, float *s, int n_groups) {
    const int lane = threadIdx.x % 16, group = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    halves8 v;
    float top = 0;
    v.all = group < n_groups ? ((const uint4 *)x)[(size_t)group * 16 + lane] : make_uint4(0, 0, 0, 0);
    for (int j = 0; j < 4; j++) {
        const float2 f = __bfloat1622float2(v.b[j]);
        top = fmaxf(top, fmaxf(fabsf(f.x), fabsf(f.y)));
    }
    const float scale = fmaxf(warp_reduce(top, largest(), 16), 1e-10f) / 448;
    if (group >= n_groups) return;
    union {
        uint2 all;
        __nv_fp8x2_storage_t two[4];
    } to;
    for (int j = 0; j < 4; j++) {
        const float2 f = __bfloat1622float2(v.b[j]);
        to.two[j] = __nv_cvt_float2_to_fp8x2(make_float2(f.x / scale, f.y / scale), __NV_SATFINITE, __NV_E4M3);
    }
    ((uint2 *)q)[(size_t)group * 16 + lane] = to.all;
    if (lane == 0) s[group] = scale;
}

static int threads_of(long long n) { return (int)std::min(1024LL, std::max(32LL, (n + 31) / 32 * 32)); }

/* ---- data ---- */

template <class T> struct number;
template <> struct number<float> {
    static __device__ float of(float v) { return v; }
};
template <> struct number<__half> {
    static __device__ __half of(float v) { return __float2half_rn(v); }
};
template <> struct number<__nv_bfloat16> {
    static __device__ __nv_bfloat16 of(float v) { return __float2bfloat16_rn(v); }
};

/* Sums of two uniform numbers, by a hash of the position. */
template <class T> __global__ void draw(T *to, size_t n, unsigned seed, float width) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
        h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull, h = (h ^ h >> 27) * 0x94d049bb133111ebull, h ^= h >> 31;
        to[i] = number<T>::of(width * ((unsigned)h * 0x1p-32f + (unsigned)(h >> 32) * 0x1p-32f - 1));
    }
}

struct memory { /* device memory, freed together */
    std::vector<void *> all;
    template <class T> T *take(size_t n) {
        void *p;
        NEED(cudaMalloc(&p, std::max(n, (size_t)1) * sizeof(T)));
        return all.push_back(p), (T *)p;
    }
    template <class T> T *drawn(size_t n, unsigned seed, float width = 2) {
        T *p = take<T>(n);
        draw<<<1024, 256>>>(p, n, seed, width);
        NEED(cudaGetLastError());
        return p;
    }
    ~memory() {
        for (void *p : all) cudaFree(p);
    }
};

template <class T> static std::vector<T> fetch(const T *from, size_t n) {
    std::vector<T> v(n);
    NEED(cudaMemcpy(v.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

/* ---- checks ---- */

static int n_held, n_failed;

/* Elements, each within its own bound. */
struct check {
    double worst = 0;
    bool is_right = true;
    void operator()(double got, double want, double bound) {
        const double off = std::fabs(got - want);
        if (!(off <= bound)) is_right = false;
        if (bound > 0) worst = std::max(worst, off / bound);
    }
};

static bool close(const char *kernel, const char *shape, const char *whose, const check &c) {
    (c.is_right ? n_held : n_failed)++;
    if (!c.is_right) printf("FAILED %s %s, %s: off by %.3g of what is allowed\n", kernel, shape, whose, c.worst);
    return c.is_right;
}

static std::vector<long long> some_rows(long long n) {
    std::vector<long long> rows;
    for (long long i = 0; i < std::min(n, 5LL); i++) rows.push_back(n <= 5 ? i : i * (n - 1) / 4);
    return rows;
}

/* ---- times ---- */

typedef std::function<void(cudaStream_t, int)> way; /* one launch on set number i */

/* Microseconds a launch: a graph of launches on sets in turns, the least of its times. */
static double time_graph(cudaStream_t stream, const way &launch, int n_sets, int n_launches, cudaGraphExec_t *made) {
    if (!*made) {
        cudaGraph_t graph;
        launch(stream, 0); // code is loaded ahead of the capture
        NEED(cudaStreamSynchronize(stream));
        NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < n_launches; i++) launch(stream, i % n_sets);
        NEED(cudaStreamEndCapture(stream, &graph));
        NEED(cudaGraphInstantiate(made, graph, 0));
        NEED(cudaGraphDestroy(graph));
        NEED(cudaGraphLaunch(*made, stream));
    }
    cudaEvent_t from, to;
    float ms;
    NEED(cudaEventCreate(&from)), NEED(cudaEventCreate(&to));
    NEED(cudaEventRecord(from, stream));
    NEED(cudaGraphLaunch(*made, stream));
    NEED(cudaEventRecord(to, stream));
    NEED(cudaEventSynchronize(to));
    NEED(cudaEventElapsedTime(&ms, from, to));
    NEED(cudaEventDestroy(from)), NEED(cudaEventDestroy(to));
    return 1e3 * ms / n_launches;
}

static bool is_timed;

/* Both ways in turns, in CUDA graphs; medians, and the median of the rounds' own ratios. */
static void report(
    const char *kernel, const char *shape, const way &ours, const way &by_hand, int n_sets, double n_bytes) {
    enum { N_ROUNDS = 11 };
    if (!is_timed) {
        printf("%s %s: checked\n", kernel, shape);
        return;
    }
    cudaStream_t stream;
    cudaGraphExec_t graphs[2] = {};
    std::vector<double> a, b, ratios;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const int n = (int)std::min(200.0, std::max(2.0 * n_sets, 600e-6 / (n_bytes / 3e12 + 2e-6)));
    for (int round = 0; round < N_ROUNDS; round++) {
        double t[2];
        for (int turn = 0; turn < 2; turn++) {
            const int which = (turn + round) % 2;
            t[which] = time_graph(stream, which ? by_hand : ours, n_sets, n, &graphs[which]);
        }
        a.push_back(t[0]), b.push_back(t[1]), ratios.push_back(t[1] / t[0]);
    }
    for (auto *v : {&a, &b, &ratios}) std::sort(v->begin(), v->end());
    printf("%-14s %-20s ours %8.2f us, by hand %8.2f us, by hand / ours %.2f, ours moves %.2f TB/s\n", kernel, shape,
        a[N_ROUNDS / 2], b[N_ROUNDS / 2], ratios[N_ROUNDS / 2], n_bytes / a[N_ROUNDS / 2] / 1e6);
    for (cudaGraphExec_t g : graphs) NEED(cudaGraphExecDestroy(g));
    NEED(cudaStreamDestroy(stream));
}

/* Operands beyond the L2 cache, but 32 sets at most. */
static int sets_of(double n_bytes) {
    return is_timed ? (int)std::min(32.0, std::max(1.0, std::ceil(200e6 / n_bytes))) : 1;
}

/* What none of them needs at these shapes; a plan may. */
static void *workspace_of(memory &m, cudaError_t r, size_t n_bytes) {
    NEED(r);
    return n_bytes ? m.take<char>(n_bytes) : nullptr;
}

/* ---- the four ---- */

static void run_add_norm(long long m, long long n) {
    memory at;
    char shape[64];
    const float eps = 1e-5f;
    const double n_bytes = 8.0 * (double)m * (double)n;
    const size_t all = (size_t)(m * n);
    const int n_sets = sets_of(n_bytes);
    size_t size = 0;
    snprintf(shape, sizeof shape, "%lld x %lld", m, n);
    std::vector<__half *> x, r;
    for (int i = 0; i < n_sets; i++) x.push_back(at.drawn<__half>(all, 1)), r.push_back(at.drawn<__half>(all, 2));
    __half *w = at.drawn<__half>((size_t)n, 3);
    cudaError_t status = add_norm_workspace(&size, m, n);
    void *workspace = workspace_of(at, status, size);
    const way ours = [&](cudaStream_t s, int i) { NEED(add_norm_launch(s, x[i], r[i], w, eps, workspace, m, n)); };
    const way by_hand = [&](cudaStream_t s, int i) {
        hand_add_norm<<<(unsigned)m, threads_of(n / 8), 0, s>>>(x[i], r[i], w, eps, (int)n);
    };
    const std::vector<__half> x0 = fetch(x[0], all), r0 = fetch(r[0], all), w0 = fetch(w, (size_t)n);
    for (int which = 0; which < 2; which++) {
        draw<<<1024, 256>>>(x[0], all, 1, 2.f), draw<<<1024, 256>>>(r[0], all, 2, 2.f);
        (which ? by_hand : ours)(nullptr, 0);
        const std::vector<__half> x1 = fetch(x[0], all), r1 = fetch(r[0], all);
        check c;
        for (long long row : some_rows(m)) {
            double squares = 0;
            for (long long i = row * n; i < (row + 1) * n; i++) {
                const double z = (double)__half2float(x0[i]) + (double)__half2float(r0[i]);
                squares += z * z;
                c((double)__half2float(r1[i]), z, std::fabs(z) * 0x1p-11 + 0x1p-25);
            }
            /* z itself may have been rounded to f16 before it is scaled */
            for (long long i = row * n; i < (row + 1) * n; i++) {
                const double z = (double)__half2float(x0[i]) + (double)__half2float(r0[i]);
                const double want = z / std::sqrt(squares / (double)n + (double)eps) *
                                    (double)__half2float(w0[i - row * n]);
                c((double)__half2float(x1[i]), want, std::fabs(want) * (0x1p-10 + 0x1p-12) + 0x1p-24);
            }
        }
        close("add_norm", shape, which ? "by hand" : "ours", c);
    }
    report("add_norm", shape, ours, by_hand, n_sets, n_bytes);
}

static void run_masked_softmax(long long h, long long s, long long t) {
    memory at;
    char shape[64];
    const float scale = 0.125f;
    const double n_bytes = 8.0 * (double)(h * s * t) + 2.0 * (double)(s * t);
    const size_t all = (size_t)(h * s * t);
    const int n_sets = sets_of(n_bytes);
    size_t size = 0;
    snprintf(shape, sizeof shape, "%lld x %lld x %lld", h, s, t);
    std::vector<float *> x, y;
    for (int i = 0; i < n_sets; i++) x.push_back(at.drawn<float>(all, 1, 20)), y.push_back(at.take<float>(all));
    __half *mask = at.drawn<__half>((size_t)(s * t), 2, 8);
    float *slope = at.drawn<float>((size_t)h, 3);
    cudaError_t status = masked_softmax_workspace(&size, h, s, t);
    void *workspace = workspace_of(at, status, size);
    if (t * 4 > 48 << 10)
        NEED(cudaFuncSetAttribute(hand_masked_softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)t * 4));
    const way ours = [&](cudaStream_t stream, int i) {
        NEED(masked_softmax_launch(stream, x[i], mask, slope, scale, y[i], workspace, h, s, t));
    };
    const way by_hand = [&](cudaStream_t stream, int i) {
        hand_masked_softmax<<<(unsigned)(h * s), threads_of(t), (size_t)t * 4, stream>>>(
            x[i], mask, slope, scale, y[i], (int)s, (int)t);
    };
    const std::vector<float> x0 = fetch(x[0], all), slopes = fetch(slope, (size_t)h);
    const std::vector<__half> masks = fetch(mask, (size_t)(s * t));
    for (int which = 0; which < 2; which++) {
        NEED(cudaMemset(y[0], 0xff, all * sizeof(float)));
        (which ? by_hand : ours)(nullptr, 0);
        const std::vector<float> y0 = fetch(y[0], all);
        check c;
        for (long long row : some_rows(h * s)) {
            std::vector<double> v((size_t)t);
            double top = -INFINITY, sum = 0;
            for (long long i = 0; i < t; i++) {
                v[i] = (double)x0[row * t + i] * (double)scale +
                       (double)slopes[row / s] * (double)__half2float(masks[row % s * t + i]);
                top = std::max(top, v[i]);
            }
            for (double &a : v) sum += a = std::exp(a - top);
            /* scores of at most 20 are off by 3 roundings, and exp by as much of itself; then its own and those of the
             * sum */
            for (long long i = 0; i < t; i++)
                c((double)y0[row * t + i], v[i] / sum, v[i] / sum * (2 * 3 * 20 + 64) * 0x1p-24 + 1e-38);
        }
        close("masked_softmax", shape, which ? "by hand" : "ours", c);
    }
    report("masked_softmax", shape, ours, by_hand, n_sets, n_bytes);
}

static void run_gated(long long m, long long n) {
    memory at;
    char shape[64];
    const double n_bytes = 6.0 * (double)m * (double)n;
    const size_t all = (size_t)(m * n);
    const int n_sets = sets_of(n_bytes);
    size_t size = 0;
    snprintf(shape, sizeof shape, "%lld x %lld", m, n);
    std::vector<__nv_bfloat16 *> x, y;
    for (int i = 0; i < n_sets; i++)
        x.push_back(at.drawn<__nv_bfloat16>(2 * all, 1, 4)), y.push_back(at.take<__nv_bfloat16>(all));
    cudaError_t status = gated_workspace(&size, m, 2 * n, n);
    void *workspace = workspace_of(at, status, size);
    const way ours = [&](cudaStream_t s, int i) { NEED(gated_launch(s, x[i], y[i], workspace, m, 2 * n, n)); };
    const way by_hand = [&](cudaStream_t s, int i) {
        hand_gated<<<(unsigned)m, threads_of(n / 8), 0, s>>>(x[i], y[i], (int)n);
    };
    const std::vector<__nv_bfloat16> x0 = fetch(x[0], 2 * all);
    for (int which = 0; which < 2; which++) {
        NEED(cudaMemset(y[0], 0xff, all * 2));
        (which ? by_hand : ours)(nullptr, 0);
        const std::vector<__nv_bfloat16> y0 = fetch(y[0], all);
        check c;
        for (long long row : some_rows(m))
            for (long long i = 0; i < n; i++) {
                const double a = (double)__bfloat162float(x0[row * 2 * n + i]),
                             b = (double)__bfloat162float(x0[row * 2 * n + n + i]);
                const double want = a / (1 + std::exp(-a)) * b;
                c((double)__bfloat162float(y0[row * n + i]), want, std::fabs(want) * (0x1p-8 + 0x1p-20) + 1e-38);
            }
        close("gated", shape, which ? "by hand" : "ours", c);
    }
    report("gated", shape, ours, by_hand, n_sets, n_bytes);
}

static void run_quantise(long long m, long long n) {
    memory at;
    char shape[64];
    const long long groups = n / GROUP;
    const double n_bytes = 3.0 * (double)m * (double)n + 4.0 * (double)(m * groups);
    const size_t all = (size_t)(m * n);
    const int n_sets = sets_of(n_bytes);
    size_t size = 0;
    snprintf(shape, sizeof shape, "%lld x %lld", m, n);
    std::vector<__nv_bfloat16 *> x;
    std::vector<__nv_fp8_e4m3 *> q;
    std::vector<float *> s;
    for (int i = 0; i < n_sets; i++) {
        x.push_back(at.drawn<__nv_bfloat16>(all, 1, 4)), q.push_back(at.take<__nv_fp8_e4m3>(all));
        s.push_back(at.take<float>((size_t)(m * groups)));
    }
    cudaError_t status = quantise_workspace(&size, m, n, groups);
    void *workspace = workspace_of(at, status, size);
    const way ours = [&](cudaStream_t stream, int i) {
        NEED(quantise_launch(stream, x[i], q[i], s[i], workspace, m, n, groups));
    };
    const way by_hand = [&](cudaStream_t stream, int i) {
        hand_quantise<<<(unsigned)((m * groups + 15) / 16), 256, 0, stream>>>(x[i], q[i], s[i], (int)(m * groups));
    };
    const std::vector<__nv_bfloat16> x0 = fetch(x[0], all);
    for (int which = 0; which < 2; which++) {
        NEED(cudaMemset(q[0], 0xff, all)), NEED(cudaMemset(s[0], 0xff, (size_t)(m * groups) * 4));
        (which ? by_hand : ours)(nullptr, 0);
        const std::vector<__nv_fp8_e4m3> q0 = fetch(q[0], all);
        const std::vector<float> s0 = fetch(s[0], (size_t)(m * groups));
        check c;
        for (long long row : some_rows(m))
            for (long long g = row * groups; g < (row + 1) * groups; g++) {
                double top = 1e-10;
                for (long long i = g * GROUP; i < (g + 1) * GROUP; i++)
                    top = std::max(top, std::fabs((double)__bfloat162float(x0[i])));
                c((double)s0[g], top / 448, top / 448 * 0x1p-22);
                for (long long i = g * GROUP; i < (g + 1) * GROUP; i++) {
                    const double v = (double)__bfloat162float(x0[i]) / (double)s0[g];
                    const int exponent = std::max(v == 0 ? -6 : std::ilogb(v), -6);
                    c((double)(float)q0[i], v,
                        std::ldexp(0.5 + 1e-5, exponent - 3)); /* half of the last place, and v's own */
                }
            }
        close("quantise", shape, which ? "by hand" : "ours", c);
    }
    report("quantise", shape, ours, by_hand, n_sets, n_bytes);
}

int main(int n_args, char **args) {
    is_timed = n_args > 1 && !strcmp(args[1], "-t");
    cudaDeviceProp device;
    NEED(cudaGetDeviceProperties(&device, 0));
    for (long long m : {1, 16, 256, 8192}) run_add_norm(m, 4096);
    run_add_norm(4096, 8192);
    run_masked_softmax(32, 1, 4096);
    run_masked_softmax(32, 512, 512);
    run_masked_softmax(32, 1024, 2048);
    for (long long m : {1, 16, 256, 4096}) run_gated(m, 11008);
    for (long long m : {1, 16, 256, 8192}) run_quantise(m, 4096);
    printf("%d checks hold, %d fail, on one %s\n", n_held, n_failed, device.name);
    return n_failed != 0;
}
