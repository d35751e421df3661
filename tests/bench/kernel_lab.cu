/* The kernels by themselves, before any compiler: hand-written problems (problems.cuh), checked on integer data (bit-equal, outputs poisoned,
   operands surrounded by NaN) and timed against cuBLAS.
   Build: make build/tests/bench/kernel_lab
   Run: build/tests/bench/kernel_lab [check] [time] [alone]; without arguments all three. Exit status 1 where a check fails. */

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../../compiler/kernels/ptx.cuh"
#include "../../compiler/kernels/math.cuh"
#include "../../compiler/kernels/integer.cuh"
#include "../../compiler/kernels/access.cuh"
#include "../../compiler/kernels/elements.cuh"
#include "../../compiler/kernels/engine_simt.cuh"
#include "../../compiler/kernels/engine_mma_16.cuh"
#include "../../compiler/kernels/engine_mma_32.cuh"
#include "../../compiler/kernels/engine_mma_8.cuh"
#include "../../compiler/kernels/engine_mma.cuh"
#include "../../compiler/kernels/computed.cuh"
#include "../../compiler/kernels/driver_gemm.cuh"
#include "../../compiler/kernels/driver_pointwise.cuh"

#define CUDA(call)                                                                                   \
  do {                                                                                               \
    cudaError_t status = (call);                                                                     \
    if (status != cudaSuccess) {                                                                     \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));     \
      exit(2);                                                                                       \
    }                                                                                                \
  } while (0)
#define CUBLAS(call)                                                                                 \
  do {                                                                                               \
    cublasStatus_t status = (call);                                                                  \
    if (status != CUBLAS_STATUS_SUCCESS) {                                                           \
      fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, (int)status);             \
      exit(2);                                                                                       \
    }                                                                                                \
  } while (0)

#include "problems.cuh"

// ---- launches

template <class ENGINE, bool ALIGNED, int BLOCKS, class PROBLEM>
__global__ void __launch_bounds__(ENGINE::THREADS, BLOCKS) gemm_kernel(PROBLEM p) {
  fx_gemm<ENGINE, ALIGNED>(p);
}

template <class ENGINE, bool ALIGNED, int BLOCKS, class PROBLEM>
static void launch_gemm(const PROBLEM &p, int batches) {
  auto kernel = gemm_kernel<ENGINE, ALIGNED, BLOCKS, PROBLEM>;
  const int stages = ENGINE::STAGES * (ENGINE::A_BYTES + PROBLEM::SUMS * ENGINE::B_BYTES), staged = ENGINE::BM * ENGINE::staging_pitch(PROBLEM::SUMS);
  const int smem = std::max(stages, staged);
  static bool prepared = false;
  if (!prepared) CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  prepared = true;
  const int grid = (p.M + ENGINE::BM - 1) / ENGINE::BM * ((p.N + ENGINE::BN - 1) / ENGINE::BN) * batches;
  kernel<<<grid, ENGINE::THREADS, smem>>>(p);
  CUDA(cudaGetLastError());
}

template <int V, bool ALIGNED, class PROBLEM>
__global__ void __launch_bounds__(256) pointwise_kernel(PROBLEM p) {
  fx_pointwise<V, ALIGNED>(p);
}

template <int V, bool ALIGNED, class PROBLEM>
static void launch_pointwise(const PROBLEM &p) {
  const long long chunks = p.n_rows * ((p.n_cols + V - 1) / V);
  pointwise_kernel<V, ALIGNED><<<(unsigned)((chunks + 255) / 256), 256>>>(p);
  CUDA(cudaGetLastError());
}

// ---- reference, independent of the kernels' own conversions

__host__ __device__ static unsigned hash(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}
__device__ static float integer_at(unsigned seed, long long i) { return (float)(int)(hash(seed + (unsigned)i * 2654435761u) % 9) - 4.0f; }

__device__ static void round_to(float x, float &out) { out = x; }
__device__ static void round_to(float x, fx_bf16 &out) { out.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
__device__ static void round_to(float x, fx_f16 &out) { out.bits = __half_as_ushort(__float2half_rn(x)); }
__device__ static float widen(float x) { return x; }
__device__ static float widen(fx_bf16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }
__device__ static float widen(fx_f16 x) { return __half2float(__ushort_as_half(x.bits)); }

template <class T>
__device__ static bool same_bits(const T &x, const T &y) {
  bool same = true;
  for (size_t b = 0; b < sizeof(T); ++b) same &= ((const unsigned char *)&x)[b] == ((const unsigned char *)&y)[b];
  return same;
}

template <class T>
__global__ void fill_bytes(T *p, long long count, unsigned char byte) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) memset(p + i, byte, sizeof(T));
}

// Four nested extents at given strides filled with integers.
template <class T>
__global__ void fill_integers(T *p, unsigned seed, int e0, int e1, int e2, int e3, long long s0, long long s1, long long s2, long long s3) {
  const long long count = (long long)e0 * e1 * e2 * e3;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const int i3 = (int)(i % e3), i2 = (int)(i / e3 % e2), i1 = (int)(i / e3 / e2 % e1), i0 = (int)(i / e3 / e2 / e1);
    round_to(integer_at(seed, i), p[i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3]);
  }
}

template <class T>
__global__ void fill_normal(T *p, unsigned seed, long long count) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const float u = (hash(seed + 2 * (unsigned)i) + 1.0f) * 2.3283064e-10f, v = hash(seed + 2 * (unsigned)i + 1) * 2.3283064e-10f;
    round_to(sqrtf(-2 * logf(u)) * cospif(2 * v), p[i]);
  }
}

// Compares the whole output buffer: elements of the result with the sums over k, everything else with the poison.
template <class PROBLEM>
__device__ static float sum_at(const PROBLEM &p, int j, int segment, long long batch, long long m, long long n) {
  float sum = 0;
  for (int ko = 0; ko < p.KO; ++ko)
    for (int k = 0; k < (segment ? p.K1 : p.K); ++k) {
      const float a = widen(p.x[batch * p.x_batch + ko * p.x_ko + segment * p.x_segment + m * p.x_m + k * p.x_k]);
      const float b = widen(p.w[j * p.w_sum + batch * p.w_batch + ko * p.w_ko + segment * p.w_segment + k * p.w_k + n * p.w_n]);
      sum += a * b;
    }
  return sum;
}
template <class PROBLEM, class T>
__global__ void compare_matmul(PROBLEM p, int batches, const T *buffer, long long count, int which, unsigned long long *errors) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const long long at = i - (p.y - buffer), batch = at / p.y_batch, m = at % p.y_batch / p.y_m, n = at % p.y_m;
    T expected;
    memset(&expected, 0xff, sizeof(T));
    if (at >= 0 && batch < batches && m < p.M && n < p.N) {
      float total = widen(p.bias[n]);
      for (int j = 0; j < PROBLEM::SUMS; ++j)
        for (int segment = 0; segment < PROBLEM::N_SEGMENTS; ++segment) total += (1 + 2 * j) * sum_at(p, j, segment, batch, m, n);
      round_to(total, expected);
    }
    if (!same_bits(expected, buffer[i])) {
      if (!atomicAdd(errors, 1ull))
        printf("  first error: case %d, m %lld n %lld batch %lld of %d x %d x %d: %g, not %g\n", which, m, n, batch, p.M, p.N, p.K, widen(buffer[i]),
               widen(expected));
    }
  }
}

// ---- checks

static int failures;
static unsigned long long *error_count;
static char *pool;                       // device memory that the checks carve
static const size_t POOL_BYTES = 64u << 20;

static void report(const char *name, int cases) {
  unsigned long long errors = 0;
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(&errors, error_count, sizeof errors, cudaMemcpyDeviceToHost));
  CUDA(cudaMemset(error_count, 0, sizeof errors));
  if (errors) ++failures;
  printf("%-6s %-52s %4d cases", errors ? "FAIL" : "ok", name, cases);
  if (errors) printf("  %llu elements", errors);
  printf("\n");
  fflush(stdout);
}

static const char *layout_name(int layout) { return layout == FX_K_MAJOR ? "k" : layout == FX_MN_MAJOR ? "mn" : "strided"; }

template <class T>
static T *carve(size_t *used, long long count) {
  T *p = (T *)(pool + *used);
  *used += (count * sizeof(T) + 1023) / 1024 * 1024;
  if (*used > POOL_BYTES) fprintf(stderr, "pool too small\n"), exit(2);
  return p;
}

// Lays out x as [segment, batch, ko, m, k] in the order the layout asks for, with padded rows and, unless aligned, odd bases and pitches; w likewise by sums.
template <class ENGINE, bool ALIGNED, int BLOCKS, class PROBLEM>
static void check_case(int m, int n, int k, int ko, int batches, int which) {
  typedef typename PROBLEM::element T;
  constexpr int A = PROBLEM::A_LAYOUT, B = PROBLEM::B_LAYOUT;
  const int pad = ALIGNED ? 16 : 3, shift = ALIGNED ? 16 : 1, segments = PROBLEM::N_SEGMENTS, sums = PROBLEM::SUMS;
  PROBLEM p;
  p.M = m, p.N = n, p.K = k, p.KO = ko, p.K1 = k / 16 * 8;
  const int step_a = A == FX_STRIDED ? 2 : 1, step_b = B == FX_STRIDED ? 3 : 1, unit = ALIGNED ? 16 : 1;  // of any type at least 16 bytes
  const long long pitch_a = (long long)step_a * ((A == FX_MN_MAJOR ? m : k) + unit - 1) / unit * unit + pad;
  const long long pitch_b = (long long)step_b * ((B == FX_MN_MAJOR ? n : k) + unit - 1) / unit * unit + pad;
  p.x_m = A == FX_MN_MAJOR ? 1 : pitch_a, p.x_k = A == FX_MN_MAJOR ? pitch_a : step_a;
  p.w_n = B == FX_MN_MAJOR ? 1 : pitch_b, p.w_k = B == FX_MN_MAJOR ? pitch_b : step_b;
  p.x_ko = pitch_a * (A == FX_MN_MAJOR ? k : m), p.w_ko = pitch_b * (B == FX_MN_MAJOR ? k : n);
  p.x_batch = p.x_ko * ko, p.w_batch = p.w_ko * ko;
  p.x_segment = p.x_batch * batches, p.w_segment = p.w_batch * batches, p.w_sum = p.w_segment * segments;
  p.y_m = n + pad, p.y_batch = p.y_m * (m + 1);
  const long long x_count = p.x_segment * segments + 64, w_count = p.w_sum * sums + 64, y_count = p.y_batch * batches + 64;
  size_t used = 0;
  T *x = carve<T>(&used, x_count), *w = carve<T>(&used, w_count);
  T *bias = carve<T>(&used, n + 64), *y = carve<T>(&used, y_count);
  fill_bytes<<<256, 256>>>(pool, (long long)used, 0xff);  // NaN in every type that has one
  p.x = x + shift, p.w = w + shift, p.bias = bias + shift, p.y = y + shift;
  for (int s = 0; s < segments; ++s) {
    fill_integers<<<64, 256>>>(x + shift + s * p.x_segment, 1 + s, batches, ko, m, s ? p.K1 : k, p.x_batch, p.x_ko, p.x_m, p.x_k);
    for (int j = 0; j < sums; ++j)
      fill_integers<<<64, 256>>>(w + shift + s * p.w_segment + j * p.w_sum, 11 + s + 2 * j, batches, ko, s ? p.K1 : k, n, p.w_batch, p.w_ko, p.w_k, p.w_n);
  }
  fill_integers<<<4, 256>>>(bias + shift, 3, 1, 1, 1, n, 0, 0, 0, 1);
  launch_gemm<ENGINE, ALIGNED, BLOCKS>(p, batches);
  compare_matmul<<<256, 256>>>(p, batches, (const T *)y, y_count, which, error_count);
  CUDA(cudaGetLastError());
}

template <class ENGINE, bool ALIGNED, int BLOCKS, class PROBLEM>
static void check_problem(const char *name, const char *what) {
  static const int ODD[] = {1, 7, 8, 17, 64, 65, 129, 200}, EVEN[] = {8, 16, 64, 72, 136, 264};
  const int *list = ALIGNED ? EVEN : ODD, count = ALIGNED ? 6 : 8;
  int cases = 0;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(list[i], list[j], list[(i * 3 + j) % count], 1, 1, cases), ++cases;
      check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(list[i], list[j], list[(i + j * 3 + 1) % count], 1, 1, cases), ++cases;
    }
  check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(72, 136, 0, 1, 1, cases), ++cases;
  check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(136, 72, 40, 3, 2, cases), ++cases;
  check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(264, 520, 1000, 1, 1, cases), ++cases;
  check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(1096, 264, 72, 2, 3, cases), ++cases;
  if (!ALIGNED) check_case<ENGINE, ALIGNED, BLOCKS, PROBLEM>(131, 259, 77, 3, 2, cases), ++cases;
  char text[128];
  snprintf(text, sizeof text, "%s A %s B %s %s%s", name, layout_name(PROBLEM::A_LAYOUT), layout_name(PROBLEM::B_LAYOUT), what, ALIGNED ? "aligned" : "any");
  report(text, cases);
}
template <class ENGINE, bool ALIGNED, int BLOCKS, int A, int B>
static void check_pair(const char *name) {
  check_problem<ENGINE, ALIGNED, BLOCKS, plain<typename ENGINE::element_a, A, B, false, true>>(name, "");
}

template <class ENGINE, bool ALIGNED, int BLOCKS>
static void check_engine(const char *name) {
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_K_MAJOR, FX_K_MAJOR>(name);
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_K_MAJOR, FX_MN_MAJOR>(name);
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_MN_MAJOR, FX_K_MAJOR>(name);
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_MN_MAJOR, FX_MN_MAJOR>(name);
}
template <class ENGINE, bool ALIGNED, int BLOCKS>
static void check_strided(const char *name) {
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_STRIDED, FX_STRIDED>(name);
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_STRIDED, FX_MN_MAJOR>(name);
  check_pair<ENGINE, ALIGNED, BLOCKS, FX_K_MAJOR, FX_STRIDED>(name);
}
// Two sums over one A, two segments, both.
template <class ENGINE, bool ALIGNED, int BLOCKS>
static void check_sums(const char *name) {
  typedef typename ENGINE::element_a T;
  check_problem<ENGINE, ALIGNED, BLOCKS, matmul<T, FX_K_MAJOR, FX_MN_MAJOR, 2, 1, false, true>>(name, "two sums ");
  check_problem<ENGINE, ALIGNED, BLOCKS, matmul<T, FX_K_MAJOR, FX_K_MAJOR, 1, 2, false, true>>(name, "two segments ");
  check_problem<ENGINE, ALIGNED, BLOCKS, matmul<T, FX_K_MAJOR, FX_MN_MAJOR, 2, 2, false, true>>(name, "two of both ");
}

template <class T, class INDEX, int V, bool ALIGNED>
static void check_pointwise(const char *name) {
  static const int EXTENTS[] = {1, 7, 8, 16, 17, 64, 1000, 1024};
  int cases = 0;
  for (int rows : EXTENTS)
    for (int cols : EXTENTS) {
      if (ALIGNED && cols % V) continue;
      const long long pitch = cols + (ALIGNED ? 8 : 3), count = pitch * rows + 64;
      const int shift = ALIGNED ? 8 : 1;
      size_t used = 0;
      T *x = carve<T>(&used, count), *y = carve<T>(&used, count), *z0 = carve<T>(&used, count), *z = carve<T>(&used, count);
      fill_bytes<<<256, 256>>>(pool, (long long)used, 0xff);
      fill_integers<<<64, 256>>>(x + shift, 1, 1, 1, rows, cols, 0, 0, pitch, 1);
      fill_integers<<<64, 256>>>(y + shift, 2, 1, 1, rows, cols, 0, 0, pitch, 1);
      fill_integers<<<64, 256>>>(z0 + shift, 3, 1, 1, rows, cols, 0, 0, pitch, 1);
      multiply_add<T, INDEX> p{x + shift, y + shift, z0 + shift, z + shift, rows, cols, pitch};
      launch_pointwise<V, ALIGNED>(p);
      std::vector<T> hx(count), hy(count), hz0(count), hz(count);
      CUDA(cudaMemcpy(hx.data(), x, count * sizeof(T), cudaMemcpyDeviceToHost));
      CUDA(cudaMemcpy(hy.data(), y, count * sizeof(T), cudaMemcpyDeviceToHost));
      CUDA(cudaMemcpy(hz0.data(), z0, count * sizeof(T), cudaMemcpyDeviceToHost));
      CUDA(cudaMemcpy(hz.data(), z, count * sizeof(T), cudaMemcpyDeviceToHost));
      unsigned long long errors = 0;
      auto value = [](const T &e) {  // small integers only: exact in every type
        if (sizeof(T) == 4) { float f; memcpy(&f, &e, 4); return f; }
        unsigned short b; memcpy(&b, &e, 2);
        unsigned u = (unsigned)b << 16; float f; memcpy(&f, &u, 4); return f;
      };
      for (long long i = 0; i < count; ++i) {
        const long long at = i - shift;
        if (at >= 0 && at / pitch < rows && at % pitch < cols) {
          const float expected = std::max(value(hx[i]) * value(hy[i]) + value(hz0[i]), 0.0f);
          if (value(hz[i]) != expected && !errors++) printf("  %d x %d at %lld: %g * %g + %g gave %g\n", rows, cols, at, value(hx[i]), value(hy[i]), value(hz0[i]), value(hz[i]));
        } else
          for (size_t b = 0; b < sizeof(T); ++b) errors += ((unsigned char *)&hz[i])[b] != 0xff;
      }
      if (errors) CUDA(cudaMemcpy(error_count, &errors, sizeof errors, cudaMemcpyHostToDevice));
      ++cases;
    }
  report(name, cases);
}

// Largest relative error over a sample of all finite floats whose result is normal.
template <class F, class G>
__global__ void math_error(F f, G g, unsigned *worst, unsigned *worst_at) {
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < (1ull << 32); i += gridDim.x * 256ull) {
    if (hash((unsigned)i) % 61) continue;
    const float x = __uint_as_float((unsigned)i);
    if (!isfinite(x)) continue;
    const double exact = g((double)x);
    const float y = f(x);
    if (fabs(exact) < 1.2e-38 || fabs(exact) > 3.4e38) continue;
    const float error = (float)fabs((y - exact) / exact);
    if (atomicMax(worst, __float_as_uint(error == error ? error : 9e9f)) < __float_as_uint(error)) *worst_at = (unsigned)i;
  }
}

template <class F, class G>
static void check_math(const char *name, float bound, F f, G g) {
  unsigned *d, h[2];
  CUDA(cudaMalloc(&d, 8));
  CUDA(cudaMemset(d, 0, 8));
  math_error<<<1024, 256>>>(f, g, d, d + 1);
  CUDA(cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost));
  CUDA(cudaFree(d));
  float error, at;
  memcpy(&error, &h[0], 4), memcpy(&at, &h[1], 4);
  if (!(error <= bound)) ++failures;
  printf("%-6s %-20s relative error %.3g (bound %.3g) near x = %g\n", error <= bound ? "ok" : "FAIL", name, error, bound, at);
}

struct f_gelu { __device__ float operator()(float x) const { return fx_gelu(x); } };
struct g_gelu { __device__ double operator()(double x) const { return 0.5 * x * erfc(-x * 0.70710678118654752440); } };
struct f_tanh { __device__ float operator()(float x) const { return fx_tanh(x); } };
struct g_tanh { __device__ double operator()(double x) const { return tanh(x); } };
struct f_sigmoid { __device__ float operator()(float x) const { return fx_sigmoid(x); } };
struct g_sigmoid { __device__ double operator()(double x) const { return 1 / (1 + exp(-x)); } };
struct f_silu { __device__ float operator()(float x) const { return fx_silu(x); } };
struct g_silu { __device__ double operator()(double x) const { return x / (1 + exp(-x)); } };

static void check_all() {
  CUDA(cudaMalloc(&pool, POOL_BYTES));
  CUDA(cudaMalloc(&error_count, 8));
  CUDA(cudaMemset(error_count, 0, 8));
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 128, 256, 64, 2, 4, 3>, true, 1>("mma bf16 128x256x64");
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 2, 3>, true, 2>("mma bf16 128x128x64");
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 64, 128, 64, 2, 2, 3>, true, 3>("mma bf16 64x128x64");
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, true, 3>("mma bf16 64x64x64");
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 4, 3>, false, 1>("mma bf16 128x128x64");
  check_engine<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, false, 2>("mma bf16 64x64x64");
  check_strided<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, true, 2>("mma bf16 64x64x64");
  check_strided<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, false, 2>("mma bf16 64x64x64");
  check_engine<fx_mma<fx_mma_16<fx_f16>, 128, 256, 64, 2, 4, 3>, true, 1>("mma f16 128x256x64");
  check_engine<fx_mma<fx_mma_16<fx_f16>, 64, 64, 64, 2, 2, 4>, false, 2>("mma f16 64x64x64");
  check_engine<fx_simt<float, 128, 256, 16, 2, 4, 3>, true, 1>("simt 128x256x16");
  check_engine<fx_simt<float, 128, 256, 16, 2, 4, 3>, false, 1>("simt 128x256x16");
  check_engine<fx_simt<float, 64, 128, 16, 2, 2, 3>, true, 3>("simt 64x128x16");
  check_engine<fx_simt<float, 64, 128, 16, 2, 2, 3>, false, 3>("simt 64x128x16");
  check_engine<fx_simt<float, 64, 64, 16, 2, 2, 3>, true, 4>("simt 64x64x16");
  check_engine<fx_simt<float, 64, 64, 16, 2, 2, 3>, false, 4>("simt 64x64x16");
  check_strided<fx_simt<float, 128, 256, 16, 2, 4, 3>, false, 1>("simt 128x256x16");
  check_strided<fx_simt<float, 64, 64, 16, 2, 2, 3>, false, 4>("simt 64x64x16");
  check_sums<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 4, 3>, true, 1>("mma bf16 128x128x64");
  check_sums<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, false, 1>("mma bf16 64x64x64");
  check_sums<fx_simt<float, 128, 64, 16, 4, 2, 3>, true, 1>("simt 128x64x16");
  check_sums<fx_simt<float, 64, 64, 16, 2, 2, 3>, false, 1>("simt 64x64x16");
  check_pointwise<float, int, 4, true>("pointwise f32 aligned");
  check_pointwise<float, long long, 4, false>("pointwise f32 any");
  check_pointwise<fx_bf16, int, 8, true>("pointwise bf16 aligned");
  check_pointwise<fx_bf16, long long, 8, false>("pointwise bf16 any");
  check_pointwise<fx_bf16, long long, 1, false>("pointwise bf16 any, one by one");
  check_math("gelu", 1.1e-5f, f_gelu(), g_gelu());
  check_math("tanh", 3e-7f, f_tanh(), g_tanh());
  check_math("sigmoid", 3e-7f, f_sigmoid(), g_sigmoid());
  check_math("silu", 7e-7f, f_silu(), g_silu());
  CUDA(cudaFree(pool));
  CUDA(cudaFree(error_count));
  printf("%d failures\n\n", failures);
}

// ---- timing

struct contender {
  std::string name;
  std::function<void()> run;
  std::vector<float> times;  // microseconds, one a round
};

static double median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Rounds in random order; the first contender, given twice, is the yardstick and shows the noise. work: operations or bytes of one run.
static void compete(const char *title, std::vector<contender> &c, int rounds, double work, const char *unit, bool alone) {
  std::mt19937 random(1);
  std::vector<int> order;
  for (size_t i = 0; i < c.size(); ++i) order.push_back((int)i);
  std::vector<cudaEvent_t> events(c.size() + 1);
  for (auto &e : events) CUDA(cudaEventCreate(&e));
  for (auto &x : c) x.run();
  for (int round = -2; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    CUDA(cudaEventRecord(events[0]));
    for (size_t i = 0; i < order.size(); ++i) {
      c[order[i]].run();
      CUDA(cudaEventRecord(events[i + 1]));
    }
    CUDA(cudaDeviceSynchronize());
    for (size_t i = 0; i < order.size(); ++i) {
      float ms;
      CUDA(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
      if (round >= 0) c[order[i]].times.push_back(ms * 1000);
    }
  }
  printf("%s\n  %-34s %10s %10s %8s%s\n", title, "", "us", unit, "ratio", alone ? "   alone us    ratio" : "");
  double yardstick = median(c[0].times), yardstick_alone = 0;
  for (auto &x : c) {
    const double us = median(x.times);
    printf("  %-34s %10.2f %10.1f %8.3f", x.name.c_str(), us, work / us * 1e-6, yardstick / us);
    if (alone) {
      const int n = (int)(400e3 / us) + 1;
      float ms;
      for (int part = 0; part < 2; ++part) {  // the first quarter warms up
        CUDA(cudaEventRecord(events[0]));
        for (int i = 0; i < (part ? n : n / 4 + 1); ++i) x.run();
        CUDA(cudaEventRecord(events[1]));
        CUDA(cudaDeviceSynchronize());
      }
      CUDA(cudaEventElapsedTime(&ms, events[0], events[1]));
      const double us_alone = ms * 1000 / n;
      if (&x == &c[0]) yardstick_alone = us_alone;
      printf(" %10.2f %8.3f", us_alone, yardstick_alone / us_alone);
    }
    printf("\n");
    fflush(stdout);
  }
  for (auto &e : events) CUDA(cudaEventDestroy(e));
}

static cublasHandle_t blas;
static char *arena;  // x, w, bias, y of the timed problems, in that order

template <class PROBLEM>
static PROBLEM timed_problem(int m, int n, int k) {
  constexpr int A = PROBLEM::A_LAYOUT, B = PROBLEM::B_LAYOUT;
  typedef typename PROBLEM::element T;
  PROBLEM p{};
  T *x = (T *)arena, *w = x + (long long)m * k, *bias = w + (long long)k * n * PROBLEM::SUMS;
  p.x = x, p.w = w;
  p.bias = bias, p.y = bias + n, p.M = m, p.N = n, p.K = p.K1 = k / PROBLEM::N_SEGMENTS, p.KO = 1;
  p.x_m = A == FX_MN_MAJOR ? 1 : k, p.x_k = A == FX_MN_MAJOR ? m : 1;
  p.w_n = B == FX_MN_MAJOR ? 1 : k, p.w_k = B == FX_MN_MAJOR ? n : 1;
  p.x_segment = p.K * p.x_k, p.w_segment = p.K * p.w_k, p.w_sum = (long long)k * n;
  p.y_m = n;
  return p;
}

template <class T>
static void run_cublas(int m, int n, int k) {
  const T *x = (T *)arena, *w = x + (long long)m * k;
  T *y = (T *)w + (long long)k * n + n;
  const float one = 1, zero = 0;
  const cudaDataType type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_16BF;
  const cublasComputeType_t compute = sizeof(T) == 4 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  CUBLAS(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w, type, n, x, type, k, &zero, y, type, n, compute, CUBLAS_GEMM_DEFAULT));
}

template <class ENGINE, int BLOCKS, int A, int B, bool GELU, bool ALIGNED = true>
static contender ours(const char *name, int m, int n, int k) {
  const auto p = timed_problem<plain<typename ENGINE::element_a, A, B, GELU, false>>(m, n, k);
  return contender{name, [p] { launch_gemm<ENGINE, ALIGNED, BLOCKS>(p, 1); }, {}};
}

static void time_bf16(int m, int n, int k, bool wide, bool alone) {
  fill_normal<<<1024, 256>>>((fx_bf16 *)arena, 7, (long long)m * k + (long long)k * n + n);
  std::vector<contender> c;
  c.push_back({"cublas", [=] { run_cublas<fx_bf16>(m, n, k); }, {}});
  c.push_back({"cublas again", [=] { run_cublas<fx_bf16>(m, n, k); }, {}});
#define OURS(name, blocks, ...) c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, __VA_ARGS__>, blocks, FX_K_MAJOR, FX_MN_MAJOR, true>(name, m, n, k))
  OURS("128x256x64 s3 gelu", 1, 128, 256, 64, 2, 4, 3);
  OURS("128x128x64 s3 gelu", 2, 128, 128, 64, 2, 2, 3);
  if (wide) {
    compete("bf16 4096 x 4096 x 4096, bias + gelu, the best two; cublas plain", c, 61, 2.0 * m * n * k, "TFLOP/s", alone);
    for (auto &x : c) x.times.clear();
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 256, 64, 2, 4, 3>, 1, FX_K_MAJOR, FX_MN_MAJOR, false>("128x256x64 s3 bias only", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 256, 64, 2, 4, 3>, 1, FX_K_MAJOR, FX_K_MAJOR, true>("128x256x64 s3 gelu A k B k", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 256, 64, 2, 4, 3>, 1, FX_MN_MAJOR, FX_MN_MAJOR, true>("128x256x64 s3 gelu A mn B mn", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 256, 64, 2, 4, 3>, 1, FX_MN_MAJOR, FX_K_MAJOR, true>("128x256x64 s3 gelu A mn B k", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 4, 3>, 1, FX_K_MAJOR, FX_MN_MAJOR, true, false>("128x128x64 s3 gelu any", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4>, 2, FX_K_MAJOR, FX_MN_MAJOR, true, false>("64x64x64 s4 gelu any", m, n, k));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 4, 3>, 1, FX_K_MAJOR, FX_MN_MAJOR, true, false>("128x128x64 s3 gelu any, less 1", m - 1, n - 1, k - 1));
    c.push_back(ours<fx_mma<fx_mma_16<fx_bf16>, 128, 128, 64, 2, 4, 3>, 1, FX_K_MAJOR, FX_K_MAJOR, true, false>("the same, A k B k", m - 1, n - 1, k - 1));
  } else {
    OURS("64x128x64 s3 gelu", 3, 64, 128, 64, 2, 2, 3);
    OURS("64x64x64 s4 gelu", 3, 64, 64, 64, 2, 2, 4);
  }
#undef OURS
  char title[96];
  snprintf(title, sizeof title, "bf16 %d x %d x %d, bias + gelu; cublas plain", m, n, k);
  compete(title, c, wide ? 41 : 61, 2.0 * m * n * k, "TFLOP/s", alone);
}

static void time_f32(int m, int n, int k, bool wide, bool alone) {
  fill_normal<<<1024, 256>>>((float *)arena, 7, (long long)m * k + (long long)k * n + n);
  std::vector<contender> c;
  c.push_back({"cublas f32", [=] { run_cublas<float>(m, n, k); }, {}});
  c.push_back({"cublas f32 again", [=] { run_cublas<float>(m, n, k); }, {}});
#define OURS(name, blocks, ...) c.push_back(ours<fx_simt<float, __VA_ARGS__>, blocks, FX_K_MAJOR, FX_MN_MAJOR, true>(name, m, n, k))
  OURS("128x256x16 s3 gelu", 1, 128, 256, 16, 2, 4, 3);
  OURS("64x128x16 s3 gelu", 3, 64, 128, 16, 2, 2, 3);
  OURS("64x64x16 s3 gelu", 4, 64, 64, 16, 2, 2, 3);
  c.push_back(ours<fx_simt<float, 128, 256, 16, 2, 4, 3>, 1, FX_K_MAJOR, FX_MN_MAJOR, true, false>("128x256x16 s3 gelu any", m, n, k));
  if (wide) {
    c.push_back(ours<fx_simt<float, 128, 256, 16, 2, 4, 3>, 1, FX_K_MAJOR, FX_K_MAJOR, true>("128x256x16 s3 gelu A k B k", m, n, k));
    c.push_back(ours<fx_simt<float, 128, 256, 16, 2, 4, 3>, 1, FX_MN_MAJOR, FX_MN_MAJOR, true>("128x256x16 s3 gelu A mn B mn", m, n, k));
  }
#undef OURS
  char title[96];
  snprintf(title, sizeof title, "f32 %d x %d x %d, bias + gelu; cublas plain", m, n, k);
  compete(title, c, wide ? 15 : 41, 2.0 * m * n * k, "TFLOP/s", alone);
}

// Two sums and two segments beside one product of as many operations.
template <class PROBLEM, class ENGINE>
static contender product(const char *name, int m, int n, int k) {
  const auto p = timed_problem<PROBLEM>(m, n, k);
  return contender{name, [p] { launch_gemm<ENGINE, true, 1>(p, 1); }, {}};
}
static void time_sums(int m, int n, int k, bool alone) {
  typedef fx_bf16 T;
  typedef fx_mma<fx_mma_16<T>, 128, 256, 64, 2, 4, 3> wide;
  typedef fx_mma<fx_mma_16<T>, 128, 128, 64, 2, 4, 3> narrow;
  fill_normal<<<1024, 256>>>((T *)arena, 7, (long long)m * k + (long long)k * n + n);
  std::vector<contender> c;
  char title[96];
  c.push_back(product<plain<T, FX_K_MAJOR, FX_MN_MAJOR, false, false>, wide>("one product", m, n, k));
  c.push_back(product<plain<T, FX_K_MAJOR, FX_MN_MAJOR, false, false>, wide>("one product again", m, n, k));
  c.push_back(product<matmul<T, FX_K_MAJOR, FX_MN_MAJOR, 2, 1, false, false>, narrow>("two sums of half the columns", m, n / 2, k));
  c.push_back(product<matmul<T, FX_K_MAJOR, FX_MN_MAJOR, 1, 2, false, false>, wide>("two segments of half the k", m, n, k));
  snprintf(title, sizeof title, "bf16 %d x %d x %d, sums and segments", m, n, k);
  compete(title, c, 41, 2.0 * m * n * k, "TFLOP/s", alone);
}

template <class T, int V>
static void time_pointwise(const char *title) {
  const long long rows = 8192, cols = 4096, odd_cols = 4095, bytes = rows * cols * sizeof(T);
  fill_normal<<<1024, 256>>>((T *)arena, 7, 3 * rows * cols);
  multiply_add<T, int> p{(T *)arena, (T *)(arena + bytes), (T *)(arena + 2 * bytes), (T *)(arena + 3 * bytes), 1, rows * cols, 0};
  multiply_add<T, int> rows_too = p;
  rows_too.n_rows = rows, rows_too.n_cols = rows_too.pitch = cols;
  multiply_add<T, long long> any{p.x, p.y, p.z0, p.z, rows, odd_cols, odd_cols};
  multiply_add<T, long long> askew = any;
  ++askew.y;
  std::vector<contender> c;
  c.push_back({"copy of the same bytes", [=] { CUDA(cudaMemcpyAsync(arena + 2 * bytes, arena, 2 * bytes, cudaMemcpyDeviceToDevice)); }, {}});
  c.push_back({"aligned", [=] { launch_pointwise<V, true>(p); }, {}});
  c.push_back({"aligned, rows x cols", [=] { launch_pointwise<V, true>(rows_too); }, {}});
  c.push_back({"any, odd columns", [=] { launch_pointwise<V, false>(any); }, {}});
  c.push_back({"any, odd columns, one operand askew", [=] { launch_pointwise<V, false>(askew); }, {}});
  compete(title, c, 31, 4.0 * bytes, "TB/s", false);
}

int main(int argc, char **argv) {
  auto wanted = [&](const char *what) {
    for (int i = 1; i < argc; ++i)
      if (!strcmp(argv[i], what)) return true;
    return argc == 1;
  };
  if (wanted("check")) check_all();
  if (wanted("time") || wanted("alone")) {
    const bool alone = wanted("alone");
    CUBLAS(cublasCreate(&blas));
    CUDA(cudaMalloc(&arena, 1ull << 30));
    time_bf16(4096, 4096, 4096, true, alone);
    time_sums(4096, 4096, 4096, alone);
    time_f32(4096, 4096, 4096, true, alone);
    time_bf16(2048, 2048, 2048, false, false);
    time_bf16(1024, 1024, 1024, false, false);
    time_bf16(512, 4096, 1024, false, false);
    time_f32(1024, 1024, 1024, false, false);
    time_pointwise<fx_bf16, 8>("pointwise bf16 8192 x 4096, max(x * y + z, 0)");
    time_pointwise<float, 4>("pointwise f32 8192 x 4096, max(x * y + z, 0)");
    CUDA(cudaFree(arena));
    CUBLAS(cublasDestroy(blas));
  }
  return failures != 0;
}
