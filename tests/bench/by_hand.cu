/* Kernels of rows.fx as one writes them by hand for a few rows of bf16: a block a row, the row in registers, 16 bytes a
 * load, one barrier a reduction; silumul: a thread 8 elements, or 2. In: which kernel, threads of a block, pointers in
 * the order of the spec, extents, a stream. Out: 0, or 1 where there is none such. rows.py builds and times it. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

enum { CHUNKS = 4, WIDE = 8 }; // of a thread; elements of a chunk

struct chunk {
    uint4 w;
    __device__ float2 get(int i) const { return __bfloat1622float2(((const __nv_bfloat162 *)&w)[i]); }
    __device__ void set(int i, float a, float b) { ((__nv_bfloat162 *)&w)[i] = __floats2bfloat162_rn(a, b); }
};

/* All threads get the result; each of several reductions has its own `parts`, so that one barrier is enough. */
template <bool IS_MAX> __device__ float reduced(float v, float *parts) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = blockDim.x / 32;
    for (int d = 16; d; d /= 2) {
        const float o = __shfl_xor_sync(~0u, v, d);
        v = IS_MAX ? fmaxf(v, o) : v + o;
    }
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = lane < n ? parts[lane] : IS_MAX ? -INFINITY : 0;
    for (int d = 16; d; d /= 2) {
        const float o = __shfl_xor_sync(~0u, v, d);
        v = IS_MAX ? fmaxf(v, o) : v + o;
    }
    return v;
}

template <int N_CHUNKS> __global__ void rmsres(const chunk *x, const chunk *r, const chunk *g, chunk *s, chunk *y, int n) {
    __shared__ float parts[32];
    const int64_t row = (int64_t)blockIdx.x * n;
    chunk a[N_CHUNKS], b[N_CHUNKS], w[N_CHUNKS];
    float sum = 0;
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i < n) a[c] = x[row + i], b[c] = r[row + i], w[c] = g[i];
    }
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i >= n) continue;
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) {
            const float2 p = a[c].get(k), q = b[c].get(k);
            a[c].set(k, p.x + q.x, p.y + q.y);
            sum += (p.x + q.x) * (p.x + q.x) + (p.y + q.y) * (p.y + q.y);
        }
        s[row + i] = a[c];
    }
    const float scale = rsqrtf(reduced<false>(sum, parts) / (n * WIDE) + 1e-5f);
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i >= n) continue;
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) {
            const float2 p = a[c].get(k), q = w[c].get(k);
            a[c].set(k, p.x * scale * q.x, p.y * scale * q.y);
        }
        y[row + i] = a[c];
    }
}

template <int N_CHUNKS> __global__ void softmax(const chunk *x, chunk *y, int n) {
    __shared__ float parts[2][32];
    const int64_t row = (int64_t)blockIdx.x * n;
    chunk a[N_CHUNKS];
    float most = -INFINITY, sum = 0, e[N_CHUNKS][WIDE];
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i < n) a[c] = x[row + i];
    }
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++)
        if (c * blockDim.x + threadIdx.x < n)
#pragma unroll
            for (int k = 0; k < WIDE / 2; k++) most = fmaxf(most, fmaxf(a[c].get(k).x, a[c].get(k).y));
    most = reduced<true>(most, parts[0]) * 1.44269504f;
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++)
        if (c * blockDim.x + threadIdx.x < n)
#pragma unroll
            for (int k = 0; k < WIDE / 2; k++) {
                const float2 p = a[c].get(k);
                e[c][2 * k] = exp2f(p.x * 1.44269504f - most), e[c][2 * k + 1] = exp2f(p.y * 1.44269504f - most);
                sum += e[c][2 * k] + e[c][2 * k + 1];
            }
    const float scale = 1 / reduced<false>(sum, parts[1]);
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i >= n) continue;
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) a[c].set(k, e[c][2 * k] * scale, e[c][2 * k + 1] * scale);
        y[row + i] = a[c];
    }
}

template <int N_CHUNKS> __global__ void q_token(const chunk *x, uint2 *q, float *s, int n) {
    __shared__ float parts[32];
    const int64_t row = (int64_t)blockIdx.x * n;
    chunk a[N_CHUNKS];
    float most = 0;
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i < n) a[c] = x[row + i];
    }
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++)
        if (c * blockDim.x + threadIdx.x < n)
#pragma unroll
            for (int k = 0; k < WIDE / 2; k++) most = fmaxf(most, fmaxf(fabsf(a[c].get(k).x), fabsf(a[c].get(k).y)));
    const float scale = reduced<true>(most, parts) / 127, inverse = 1 / fmaxf(scale, 1e-12f);
    if (threadIdx.x == 0) s[blockIdx.x] = scale;
#pragma unroll
    for (int c = 0; c < N_CHUNKS; c++) {
        const int i = c * blockDim.x + threadIdx.x;
        if (i >= n) continue;
        uint2 out;
        signed char *b = (signed char *)&out;
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) {
            const float2 p = a[c].get(k);
            b[2 * k] = (signed char)__float2int_rn(p.x * inverse), b[2 * k + 1] = (signed char)__float2int_rn(p.y * inverse);
        }
        q[row + i] = out;
    }
}

template <class T> __global__ void silumul(const T *x, const T *u, T *y, int64_t n) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T a = x[i], b = u[i];
#pragma unroll
    for (int k = 0; k < (int)sizeof(T) / 4; k++) {
        const float2 p = __bfloat1622float2(((__nv_bfloat162 *)&a)[k]), q = __bfloat1622float2(((__nv_bfloat162 *)&b)[k]);
        ((__nv_bfloat162 *)&a)[k] =
            __floats2bfloat162_rn(p.x / (1 + __expf(-p.x)) * q.x, p.y / (1 + __expf(-p.y)) * q.y);
    }
    y[i] = a;
}

template <int N_CHUNKS> static int row(int which, int threads, void **p, int64_t m, int n, cudaStream_t stream) {
    if (which == 0) rmsres<N_CHUNKS><<<m, threads, 0, stream>>>((chunk *)p[0], (chunk *)p[1], (chunk *)p[2], (chunk *)p[3], (chunk *)p[4], n);
    if (which == 1) softmax<N_CHUNKS><<<m, threads, 0, stream>>>((chunk *)p[0], (chunk *)p[1], n);
    if (which == 2) q_token<N_CHUNKS><<<m, threads, 0, stream>>>((chunk *)p[0], (uint2 *)p[1], (float *)p[2], n);
    return cudaGetLastError() != cudaSuccess;
}

extern "C" int by_hand(int which, int threads, void **p, int64_t m, int64_t n, cudaStream_t stream) {
    if (n % WIDE) return 1;
    if (which == 3) { // of odd numbers of threads, 4 bytes a thread
        const int64_t wide = m * n / WIDE, narrow = m * n / 2;
        const int t = threads & ~1;
        if (threads & 1) silumul<<<(narrow + t - 1) / t, t, 0, stream>>>((unsigned *)p[0], (unsigned *)p[1], (unsigned *)p[2], narrow);
        else silumul<<<(wide + t - 1) / t, t, 0, stream>>>((uint4 *)p[0], (uint4 *)p[1], (uint4 *)p[2], wide);
        return cudaGetLastError() != cudaSuccess;
    }
    const int chunks = (int)((n / WIDE + threads - 1) / threads);
    if (chunks == 1) return row<1>(which, threads, p, m, (int)(n / WIDE), stream);
    if (chunks == 2) return row<2>(which, threads, p, m, (int)(n / WIDE), stream);
    if (chunks <= CHUNKS) return row<CHUNKS>(which, threads, p, m, (int)(n / WIDE), stream);
    return 1;
}
