// Written by fxc 0.1.0 from c.fx for sm_90a. Self-contained: compile with nvcc or NVRTC, no headers.
// How to launch (cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; more than 48 KB of shared memory needs the
// kernel's maximum raised). Of several entries take the first that its needs allow, or the one that suits the extents best.
//
// kernel f(a: f32[S,T] strided, q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> (o: f16[S,N])
//   launch one of these, with arguments (a, q, k, v, o, S, T, D, N, stride(a, S), stride(a, T)), tensors row-major, extents and strides (of axes of one element 0) as long long
//     fx_f_64x64x64_k64: block 128, grid cdiv(S, 64) * cdiv(N, 64), dynamic shared memory 52224
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && D % 8 == 0 && 16 <= align(q) && 16 <= align(k) && D <= 64 && N <= 2147418112 && N % 8 == 0 && 16 <= align(v) && 16 <= align(o)
//     fx_f_64x64x128_k128: block 128, grid cdiv(S, 64) * cdiv(N, 128), dynamic shared memory 76800
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && D % 8 == 0 && 16 <= align(q) && 16 <= align(k) && D <= 128 && N <= 2147418112 && N % 8 == 0 && 16 <= align(v) && 16 <= align(o)
//     fx_f_64x64x64: block 128, grid cdiv(S, 64) * cdiv(N, 64), dynamic shared memory 66560
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && D % 8 == 0 && 16 <= align(q) && 16 <= align(k) && N <= 2147418112 && N % 8 == 0 && 16 <= align(v) && 16 <= align(o)
//     fx_f_64x64x128: block 128, grid cdiv(S, 64) * cdiv(N, 128), dynamic shared memory 74752
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && D % 8 == 0 && 16 <= align(q) && 16 <= align(k) && N <= 2147418112 && N % 8 == 0 && 16 <= align(v) && 16 <= align(o)
//     fx_f_64x128x256: block 256, grid cdiv(S, 64) * cdiv(N, 256), dynamic shared memory 156672
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && D % 8 == 0 && 16 <= align(q) && 16 <= align(k) && N <= 2147418112 && N % 8 == 0 && 16 <= align(v) && 16 <= align(o)
//     fx_f_64x64x64_any: block 128, grid cdiv(S, 64) * cdiv(N, 64), dynamic shared memory 66560
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && N <= 2147418112
//     fx_f_64x64x128_any: block 128, grid cdiv(S, 64) * cdiv(N, 128), dynamic shared memory 74752
//       needs S <= 2147418112 && T <= 2147418112 && D <= 2147418112 && N <= 2147418112

// ---- the hardware ----
#ifndef FX_PTX

// FX_DEVICE: how a device function is declared
#define FX_DEVICE __device__ __forceinline__

// fx_smem: the block's shared memory, one dynamic piece aligned to 1024 bytes
FX_DEVICE char *fx_smem() {
  extern __shared__ __align__(1024) char fx_smem_block[];
  return fx_smem_block;
}

// fx_shared: the shared-memory address of a pointer into the block's shared memory
FX_DEVICE unsigned fx_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// fx_barrier: waits for all threads of the block; what they wrote to memory before is visible after
FX_DEVICE void fx_barrier() { __syncthreads(); }

// fx_shuffle_xor: the word held by the lane whose number differs in the bits of mask; all lanes of the warp take part
FX_DEVICE unsigned fx_shuffle_xor(unsigned w, int mask) { return __shfl_xor_sync(0xffffffffu, w, mask); }

// fx_bits: the bits of a float
FX_DEVICE unsigned fx_bits(float x) { return __float_as_uint(x); }

// fx_from_bits: the float with the given bits
FX_DEVICE float fx_from_bits(unsigned bits) { return __uint_as_float(bits); }

// fx_funnel: the word that begins `bits` bits into the double word hi:lo; bits < 32
FX_DEVICE unsigned fx_funnel(unsigned lo, unsigned hi, int bits) { return __funnelshift_r(lo, hi, bits); }

// fx_hide: makes a value opaque, so that the compiler neither keeps what it computes from it in registers nor derives it anew
template <class T>
FX_DEVICE void fx_hide(const T *&p) {
  asm volatile("" : "+l"(p));
}
FX_DEVICE void fx_hide(int &i) { asm volatile("" : "+r"(i)); }

// fx_max: the larger operand, NaN if either is
FX_DEVICE float fx_max(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// fx_exp2_approx: 2**x within 2**-22 relative, 0 below the normal range
FX_DEVICE float fx_exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// fx_f16_to_f32: the value of an f16 given by its bits
FX_DEVICE float fx_f16_to_f32(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

// fx_f32_to_f16: x rounded to the nearest f16, ties to even
FX_DEVICE unsigned short fx_f32_to_f16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// fx_f32_to_bf16: x rounded to the nearest bf16, ties to even
FX_DEVICE unsigned short fx_f32_to_bf16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// fx_pack_f16: two floats rounded to f16, lo in the low half of the word
FX_DEVICE unsigned fx_pack_f16(float lo, float hi) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(hi), "f"(lo));
  return word;
}

// fx_pack_bf16: two floats rounded to bf16, lo in the low half of the word
FX_DEVICE unsigned fx_pack_bf16(float lo, float hi) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(hi), "f"(lo));
  return word;
}

// fx_load_words: N adjacent words; 1, 2 or a multiple of 4, aligned to 4, 8 or 16 bytes
template <int N>
FX_DEVICE void fx_load_words(unsigned (&w)[N], const void *p) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  if constexpr (N == 1) {
    w[0] = *(const unsigned *)p;
  } else if constexpr (N == 2) {
    const uint2 v = *(const uint2 *)p;
    w[0] = v.x, w[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const uint4 v = ((const uint4 *)p)[i / 4];
      w[i] = v.x, w[i + 1] = v.y, w[i + 2] = v.z, w[i + 3] = v.w;
    }
  }
}

// fx_store_words: the counterpart of loading N adjacent words
template <int N>
FX_DEVICE void fx_store_words(void *p, const unsigned (&w)[N]) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  if constexpr (N == 1) {
    *(unsigned *)p = w[0];
  } else if constexpr (N == 2) {
    *(uint2 *)p = make_uint2(w[0], w[1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      ((uint4 *)p)[i / 4] = make_uint4(w[i], w[i + 1], w[i + 2], w[i + 3]);
  }
}

// fx_load_u16_if: a 16-bit value where valid, 0 and no access where not; of memory that the kernel does not write
FX_DEVICE unsigned short fx_load_u16_if(const void *p, bool valid) {
  unsigned short x;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %2, 0; mov.b16 %0, 0; @valid ld.global.b16 %0, [%1]; }"
               : "=h"(x)
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
  return x;
}

// fx_load_24_if: the 24 bytes from p, which is aligned to 8, where valid; zeros and no access where not; of memory that the kernel does not write
FX_DEVICE void fx_load_24_if(unsigned (&w)[6], const void *p, bool valid) {
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = 0;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %7, 0;\n\t"
               "@valid ld.global.v2.b32 {%0, %1}, [%6]; @valid ld.global.v2.b32 {%2, %3}, [%6 + 8]; @valid ld.global.v2.b32 {%4, %5}, [%6 + 16]; }"
               : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3]), "+r"(w[4]), "+r"(w[5])
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
}

// fx_shared_put2: two adjacent floats or integers into shared memory
FX_DEVICE void fx_shared_put2(unsigned to, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x), "f"(y) : "memory");
}
FX_DEVICE void fx_shared_put2(unsigned to, int x, int y) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

// fx_shared_put4: four adjacent floats or words into shared memory
FX_DEVICE void fx_shared_put4(unsigned to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}
FX_DEVICE void fx_shared_put4(unsigned to, const unsigned (&w)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// fx_shared_get: N adjacent elements of 4 or 8 bytes from shared memory: a word, two, or a multiple of four
template <int N, class T>
FX_DEVICE void fx_shared_get(T *x, unsigned from) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS % 4 == 0, "no such vector");
  unsigned w[WORDS];
  if constexpr (WORDS == 1) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(from));
  } else if constexpr (WORDS == 2) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(from));
  } else {
#pragma unroll
    for (int i = 0; i < WORDS; i += 4)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3]) : "r"(from + i * 4));
  }
  memcpy(x, w, sizeof w);
}

// fx_unwritten: these bytes of shared memory may be read before anything is written to them: no result depends on what they hold. No instruction
FX_DEVICE void fx_unwritten(unsigned at, int n_bytes) {}

// fx_cp_async16: starts copying 16 bytes into shared memory; zeros, and nothing is read, where not valid
FX_DEVICE void fx_cp_async16(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
               : "memory");
}

// fx_cp_async_commit: closes this thread's group of started copies; the group may be empty
FX_DEVICE void fx_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// fx_cp_async_wait: waits until all but the thread's N latest groups have landed
template <int N>
FX_DEVICE void fx_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// fx_ldmatrix: four 8 x 8 matrices of 16-bit elements; lane 8i + r holds the address of row r of matrix i, and gets elements
// 2 (lane % 4) and the next of row lane / 4 of matrix i in r[i]
FX_DEVICE void fx_ldmatrix(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
}

// fx_ldmatrix_trans: the same with each matrix transposed on the way
FX_DEVICE void fx_ldmatrix_trans(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}

// fx_mma_bf16: d += a b over 16 x 8 x 16 bf16 elements, d in f32; the fragments as PTX lays them out for m16n8k16
FX_DEVICE void fx_mma_bf16(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_f16: d += a b over 16 x 8 x 16 f16 elements, d in f32
FX_DEVICE void fx_mma_f16(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif  // FX_PTX

// ---- elements of tensors ----

// FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED: how an operand of a contraction is stored: k contiguous, m or n contiguous, or neither
enum { FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED };

// fx_bf16: a bfloat16 as stored
struct fx_bf16 {
  unsigned short bits;  // sign, 8 bits of exponent, 7 of mantissa
};

// fx_f16: an IEEE half as stored
struct fx_f16 {
  unsigned short bits;  // sign, 5 bits of exponent, 10 of mantissa
};

// fx_to_float: the value of an element
FX_DEVICE float fx_to_float(float x) { return x; }
FX_DEVICE float fx_to_float(fx_bf16 x) { return fx_from_bits((unsigned)x.bits << 16); }
FX_DEVICE float fx_to_float(fx_f16 x) { return fx_f16_to_f32(x.bits); }

// fx_from_float: the element of type T nearest to x, ties to even
template <class T> FX_DEVICE T fx_from_float(float x);
template <> FX_DEVICE float fx_from_float<float>(float x) { return x; }
template <> FX_DEVICE fx_bf16 fx_from_float<fx_bf16>(float x) { return fx_bf16{fx_f32_to_bf16(x)}; }
template <> FX_DEVICE fx_f16 fx_from_float<fx_f16>(float x) { return fx_f16{fx_f32_to_f16(x)}; }

// fx_unpack: the floats that V elements of the pointer's type, stored in words, stand for
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V], const float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = fx_from_bits(w[v]);
}
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V / 2], const fx_bf16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) x[v] = fx_from_bits(w[v / 2] << 16), x[v + 1] = fx_from_bits(w[v / 2] & 0xffff0000u);
}
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V / 2], const fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) x[v] = fx_f16_to_f32((unsigned short)w[v / 2]), x[v + 1] = fx_f16_to_f32((unsigned short)(w[v / 2] >> 16));
}

// fx_pack: the words that V floats become when stored as elements of the pointer's type
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V], const float (&x)[V], float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) w[v] = fx_bits(x[v]);
}
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V / 2], const float (&x)[V], fx_bf16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) w[v / 2] = fx_pack_bf16(x[v], x[v + 1]);
}
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V / 2], const float (&x)[V], fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) w[v / 2] = fx_pack_f16(x[v], x[v + 1]);
}

// fx_load_one: one element
template <class T>
FX_DEVICE float fx_load_one(const T *p) {
  return fx_to_float(*p);
}

// fx_store_one: one element, rounded to nearest even
template <class T>
FX_DEVICE void fx_store_one(T *p, float x) {
  *p = fx_from_float<T>(x);
}

// fx_load_strided: V elements a stride apart, zeros from n_valid on
template <int V, class T>
FX_DEVICE void fx_load_strided(float (&x)[V], const T *p, long long stride, int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = v < n_valid ? fx_load_one(p + v * stride) : 0.0f;
}

// fx_store_strided: the first n_valid of V elements, a stride apart
template <int V, class T>
FX_DEVICE void fx_store_strided(T *p, long long stride, const float (&x)[V], int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (v < n_valid) fx_store_one(p + v * stride, x[v]);
}

// fx_is_aligned: whether V elements at p may be accessed as vectors
template <int V, class T>
FX_DEVICE bool fx_is_aligned(const T *p) {
  constexpr int BYTES = V * (int)sizeof(T) < 16 ? V * (int)sizeof(T) : 16;
  return (unsigned long long)p % BYTES == 0;
}

// fx_skew: how many elements p lies past a multiple of V of them
template <int V, class T>
FX_DEVICE int fx_skew(const T *p) {
  return (int)((unsigned long long)p / sizeof(T) % V);
}

// fx_load: V adjacent elements, zeros from n_valid on
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_load(float (&x)[V], const T *p, int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_load_words(w, p);
      fx_unpack<V>(x, w, p);
      return;
    }
  }
  fx_load_strided(x, p, 1, ALIGNED ? V : n_valid);
}

// fx_store: V adjacent elements, the first n_valid of them where not aligned
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_store(T *p, const float (&x)[V], int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_pack<V>(w, x, p);
      fx_store_words(p, w);
      return;
    }
  }
  fx_store_strided(p, 1, x, ALIGNED ? V : n_valid);
}

// fx_choose: the first of two types, or the second
template <bool FIRST, class A, class B> struct fx_choose { typedef A type; };
template <class A, class B> struct fx_choose<false, A, B> { typedef B type; };

// fx_words: a value as words, to be passed between threads
template <class T>
struct fx_words {
  static constexpr int N = ((int)sizeof(T) + 3) / 4;
  unsigned w[N];
  FX_DEVICE static fx_words of(const T &x) {
    fx_words r;
    r.w[N - 1] = 0;
    memcpy(r.w, &x, sizeof x);
    return r;
  }
  FX_DEVICE T get() const {
    T x;
    memcpy(&x, w, sizeof x);
    return x;
  }
  template <class F>
  FX_DEVICE T each(F f) const {  // what f makes of every word
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = f(w[k]);
    return r.get();
  }
  FX_DEVICE void put(unsigned *slots, int n, int i) const {  // as set i of n
#pragma unroll
    for (int k = 0; k < N; ++k) slots[k * n + i] = w[k];
  }
  FX_DEVICE static T from(const unsigned *slots, int n, int i) {
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = slots[k * n + i];
    return r.get();
  }
};

// fx_from_lane_xor: what the lane whose number differs by the bits of mask holds
template <class T>
FX_DEVICE T fx_from_lane_xor(const T &x, int mask) {
  return fx_words<T>::of(x).each([=](unsigned w) { return fx_shuffle_xor(w, mask); });
}

// ---- the mma engine ----

// fx_multiply: d += a b over 16 x 8 x 16 floats of the last argument's type
FX_DEVICE void fx_multiply(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_bf16) { fx_mma_bf16(d, a, b0, b1); }
FX_DEVICE void fx_multiply(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f16) { fx_mma_f16(d, a, b0, b1); }

// fx_mma_gather: n_valid elements a stride apart and zeros up to 8, as words
template <class T>
FX_DEVICE void fx_mma_gather(unsigned (&element)[8], const T *p, long long stride, int n_valid) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    element[e] = fx_load_u16_if(p, e < n_valid);
    p += stride;
    fx_hide(p);
  }
}

// fx_mma_put: eight elements, one a word, into shared memory
FX_DEVICE void fx_mma_put(unsigned to, const unsigned (&element)[8]) {
  unsigned w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = element[2 * i] | element[2 * i + 1] << 16;
  fx_shared_put4(to, w);
}

// fx_mma_window: the 24 bytes from an 8-byte boundary on in which 8 adjacent elements lie
struct fx_mma_window {
  unsigned words[6];  // the bytes, zeros where they were not to be read
  int skew;           // elements before the first of the 8

  template <class T>
  FX_DEVICE void read(const T *p, bool readable) {
    skew = fx_skew<4>(p);
    fx_load_24_if(words, p - skew, readable);
  }
  FX_DEVICE void put(unsigned to) const {
    unsigned w[4], u[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) u[i] = skew & 2 ? words[i + 1] : words[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = fx_funnel(u[i], u[i + 1], skew % 2 * 16);
    fx_shared_put4(to, w);
  }
};

// fx_mma_operand: one operand (A: MN = BM, B: MN = BN) on its way from memory to fragments
// In shared memory a block is rows of 16-byte chunks in the order of memory: MN rows of BK elements, or BK rows of MN where mn is contiguous. The chunks
// of a row are permuted by an exclusive or with the row's number, so that the eight rows ldmatrix reads at one chunk index lie in all 32 banks.
// A thread brings COPIES chunks of a block, STEP rows apart. Copies are asynchronous, issued in SLICES steps of the mainloop. Otherwise load() reads a block
// into registers, a whole block before land() stores it: as windows of whole words where elements lie side by side, which are readable in an inner block,
// one around which the operand goes on; element by element where not. Fragments are read as 16 (mn) x 16 (k) blocks of four 8 x 8
// matrices: A's in the order (mn, k) = (0, 0) (8, 0) (0, 8) (8, 8), one m16n8k16 fragment; with K_FIRST (0, 0) (0, 8) (8, 0) (8, 8), two neighbouring
// fragments of B, each in adjacent registers.
template <class ENGINE, class T, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
struct fx_mma_operand {
  static constexpr int BK = ENGINE::BK;
  static constexpr bool ROWS_ARE_K = LAYOUT == FX_MN_MAJOR;
  static constexpr int ROWS = ROWS_ARE_K ? BK : MN;
  static constexpr int CHUNKS = (ROWS_ARE_K ? MN : BK) / 8;
  static constexpr int PITCH = CHUNKS * 16;
  static constexpr int STEP = ENGINE::THREADS / CHUNKS;
  static constexpr int COPIES = ROWS / STEP;
  static constexpr bool WINDOWS = LAYOUT != FX_STRIDED;
  static constexpr bool IS_COPIED = ALIGNED && LAYOUT != FX_STRIDED;  // asynchronously
  static constexpr bool ALONG_MN = ROWS_ARE_K;                        // what the elements of a chunk run along
  static constexpr int CHUNK = 8;
  static constexpr int ABREAST = 1;                                  // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n
  static constexpr int SLICES = BK / 32;   // together, copies cost the tensor cores less than spread out
  static constexpr int SLICE = (COPIES + SLICES - 1) / SLICES;
  static_assert(CHUNKS % 4 == 0 && STEP % 8 == 0 && ROWS % STEP == 0, "the threads do not cover the block evenly");
  static_assert(WARP_MN >= 32 && (WARP_MN & (WARP_MN - 1)) == 0, "a warp's share is a power of two, and halves into 16 x 16 blocks");

  typedef unsigned fragment[WARP_MN / 16][4];

  const T *from;                       // this thread's next chunk
  long long stride_mn;                 // elements from one m or n to the next
  long long stride_k;                  // elements from one k to the next
  int mn_left, k_left;                 // valid m or n, and k, from the thread's first chunk on
  unsigned slot;                       // offset of that chunk in a stage
  unsigned lane_slot;                  // offset of the row this lane names in the warp's first 16 x 16 block
  int mn_end, k_end;                   // extents of the operand
  int k;                               // where the next block begins
  bool inner;                          // whether the block in registers is an inner one
  fx_mma_window window[COPIES];        // that block
  unsigned element[COPIES][8];         // likewise, element by element

  static FX_DEVICE unsigned chunk_offset(int row, int chunk) {
    const int permuted = chunk ^ (CHUNKS >= 8 ? row & 7 : row >> 1 & 3);
    return row * PITCH + permuted * 16;
  }
  static FX_DEVICE int first_mn(int thread = threadIdx.x) { return ROWS_ARE_K ? thread % CHUNKS * 8 : thread / CHUNKS; }
  static FX_DEVICE int first_k(int thread = threadIdx.x) { return ROWS_ARE_K ? thread / CHUNKS : thread % CHUNKS * 8; }

  FX_DEVICE fx_mma_operand(long long a_stride_mn, long long a_stride_k, int tile_mn, int a_mn_end, int warp_mn) {
    const int lane = threadIdx.x & 31;
    stride_mn = a_stride_mn;
    stride_k = a_stride_k;
    mn_end = a_mn_end;
    mn_left = mn_end - tile_mn - first_mn();
    slot = chunk_offset(threadIdx.x / CHUNKS, threadIdx.x % CHUNKS);
    const int row = lane & 7, right = K_FIRST ? lane >> 4 : lane >> 3 & 1, down = K_FIRST ? lane >> 3 & 1 : lane >> 4;
    lane_slot = ROWS_ARE_K ? chunk_offset(row + down * 8, warp_mn / 8 + right) : chunk_offset(warp_mn + row + right * 8, down);
  }

  // Chunk c of a thread: its first m or n and k, from the block's on, where it lies in a stage, and how eight elements, or zeros, get there.
  static FX_DEVICE int chunk_mn(int c, int thread = threadIdx.x) { return first_mn(thread) + (ROWS_ARE_K ? 0 : c * STEP); }
  static FX_DEVICE int chunk_k(int c, int thread = threadIdx.x) { return first_k(thread) + (ROWS_ARE_K ? c * STEP : 0); }
  FX_DEVICE unsigned chunk_slot(int c) const { return slot + c * STEP * PITCH; }
  static FX_DEVICE void put_chunk(unsigned to, const float (&x)[CHUNK], bool exists) {
    unsigned w[CHUNK / 2];
    fx_pack<CHUNK>(w, x, (T *)0);
#pragma unroll
    for (int i = 0; i < CHUNK / 2; ++i) w[i] = exists ? w[i] : 0;
    fx_shared_put4(to, w);
  }

  // Begins a walk along k; base is the element at the tile's first m or n.
  FX_DEVICE void start(const T *base, int a_k_end) {
    from = base + first_mn() * stride_mn + first_k() * stride_k;
    k_end = a_k_end;
    k_left = k_end - first_k();
    k = 0;
  }
  FX_DEVICE void next() {
    if (!ROWS_ARE_K) from += BK * stride_k - ROWS * stride_mn;
    k_left -= BK;
    k += BK;
  }

  // Row c * STEP of the thread: how many elements are valid from its chunk on, if the row is.
  FX_DEVICE int valid(int c) const { return c * STEP < (ROWS_ARE_K ? k_left : mn_left) ? (ROWS_ARE_K ? mn_left : k_left) : 0; }

  FX_DEVICE void advance() {
    from += STEP * (ROWS_ARE_K ? stride_k : stride_mn);
    fx_hide(from);
  }

  FX_DEVICE void issue(int step, unsigned stage) {
#pragma unroll
    for (int c = step * SLICE; c < (step + 1) * SLICE && c < COPIES; ++c) {
      fx_cp_async16(stage + slot + c * STEP * PITCH, from, valid(c) > 0);
      advance();
    }
  }

  // A window reaches at most 3 elements back and 12 on, into the row before or the next where rows follow each other without a gap.
  FX_DEVICE void load() {
    inner = ROWS_ARE_K ? stride_k == mn_end && k > 0 && k_end - k >= 2 * BK : k > 0 && k_end - k >= BK + 4;
#pragma unroll
    for (int c = 0; c < COPIES; ++c) {
      if constexpr (WINDOWS) window[c].read(from, inner && valid(c) > 0);
      else fx_mma_gather(element[c], from, ROWS_ARE_K ? stride_mn : stride_k, valid(c));
      advance();
    }
  }
  FX_DEVICE void land(unsigned stage) const {
#pragma unroll
    for (int c = 0; c < COPIES; ++c) {
      if constexpr (WINDOWS) window[c].put(stage + slot + c * STEP * PITCH);
      else fx_mma_put(stage + slot + c * STEP * PITCH, element[c]);
    }
    if (!WINDOWS || inner) return;
    const T *p = from - COPIES * STEP * (ROWS_ARE_K ? stride_k : stride_mn);
#pragma unroll 1
    for (int c = 0; c < COPIES; ++c) {
      unsigned one_by_one[8];
      fx_mma_gather(one_by_one, p, 1, valid(c));
      fx_mma_put(stage + slot + c * STEP * PITCH, one_by_one);
      p += STEP * (ROWS_ARE_K ? stride_k : stride_mn);
    }
  }

  // Half of the warp's fragments for step k of the block in a stage. Blocks along the permuted direction differ in bits that the exclusive or only flips.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int half) const {
#pragma unroll
    for (int i = half * WARP_MN / 32; i < (half + 1) * WARP_MN / 32; ++i) {
      if constexpr (ROWS_ARE_K) {
        fx_ldmatrix_trans(f[i], (stage + lane_slot ^ i * 32) + k * 16 * PITCH);
      } else {
        fx_ldmatrix(f[i], (stage + lane_slot ^ k * 32) + i * 16 * PITCH);
      }
    }
  }
};

// fx_mma_16: operands that are 16-bit floats, sums in f32
template <class T>
struct fx_mma_16 {
  typedef T a, b;     // elements of the operands
  typedef float sum;
  static constexpr int SIZE = 2;
  template <class ENGINE, class ELEMENT, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_operand<ENGINE, ELEMENT, MN, WARP_MN, K_FIRST, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(float *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_multiply(d, x, y0, y1, T()); }
};

// fx_mma: a BM x BN tile by WARPS_M x WARPS_N warps, k-blocks of BK, STAGES of them in shared memory
// KIND: what it multiplies. Shared memory for S sums: max(STAGES * (BM + S * BN) * BK * KIND::SIZE, BM * (S * BN + 8) * 4) bytes.
template <class KIND, int BM_, int BN_, int BK_, int WARPS_M, int WARPS_N, int STAGES_>
struct fx_mma {
  typedef typename KIND::a element_a;                          // of operand A
  typedef typename KIND::b element_b;                          // of operand B
  typedef typename KIND::sum sum;                              // of an accumulator
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N;   // a warp's share of the tile
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int MAX_V = 8;                              // columns the epilogue may take at a time
  static constexpr int STEPS = BK * KIND::SIZE / 32;           // steps of the mainloop in a k-block
  static constexpr int PARTS = 2;                              // in which the fragments of a step are read
  static constexpr bool IS_STAGING = false;                    // see fx_staging
  static constexpr int ACCUMULATORS = WM * WN / 32;            // of a thread
  static constexpr int A_BYTES = BM * BK * KIND::SIZE, B_BYTES = BN * BK * KIND::SIZE;
  static_assert(STEPS % 2 == 0 && STAGES >= 3, "the mainloop alternates two sets of fragments and copies two blocks ahead");

  template <int LAYOUT, bool ALIGNED> using operand_a = typename KIND::template operand<fx_mma, element_a, BM, WM, false, LAYOUT, ALIGNED>;
  template <int LAYOUT, bool ALIGNED> using operand_b = typename KIND::template operand<fx_mma, element_b, BN, WN, true, LAYOUT, ALIGNED>;

  static FX_DEVICE int warp_m() { return (int)threadIdx.x / 32 % WARPS_M * WM; }
  static FX_DEVICE int warp_n() { return (int)threadIdx.x / 32 / WARPS_M * WN; }

  // The place of accumulator i in the tile.
  static FX_DEVICE int acc_row(int i) { return warp_m() + i / (WN / 2) * 16 + i % 4 / 2 * 8 + (threadIdx.x & 31) / 4; }
  static FX_DEVICE int acc_col(int i) { return warp_n() + i / 4 % (WN / 8) * 8 + (threadIdx.x & 3) * 2 + i % 2; }

  // A quarter of the products of a step, so that other work can stand between; the parts of the next fragments then find their registers free one after the
  // other. Serpentine within, so that neighbouring instructions share an operand.
  static constexpr int QUARTERS = 4;
  static FX_DEVICE void multiply(sum (&acc)[ACCUMULATORS], const unsigned (&a)[WM / 16][4], const unsigned (&b)[WN / 16][4], int q) {
#pragma unroll
    for (int r = 0; r < WM / 32; ++r)
#pragma unroll
      for (int s = 0; s < WN / 16; ++s) {
        const int i = q % 2 * (WM / 32) + r, j = q / 2 * (WN / 16) + (r % 2 ? WN / 16 - 1 - s : s);
        KIND::multiply(acc + (i * (WN / 8) + j) * 4, a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
  }

  // The staged tile: rows 8 banks apart, so that the four rows that half a warp writes fill all banks; in every other 32 columns the two 16-byte halves of
  // each 8 columns change places, so that neighbouring lanes read from all banks.
  static FX_DEVICE constexpr int staging_pitch(int sums) { return (sums * BN + 8) * 4; }
  template <int SUMS>
  static FX_DEVICE unsigned staged(int row, int col) {
    return fx_shared(fx_smem()) + row * staging_pitch(SUMS) + (col ^ (col >> 3 & 4)) * 4;
  }
  template <int SUMS>
  static FX_DEVICE void put(const sum (&acc)[ACCUMULATORS], int from_col) {
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i += 2) fx_shared_put2(staged<SUMS>(acc_row(i), from_col + acc_col(i)), acc[i], acc[i + 1]);
  }
  template <int SUMS, int V>
  static FX_DEVICE void get(sum (&x)[V], int row, int col) {
    constexpr int PIECE = V < 4 ? V : 4;
#pragma unroll
    for (int v = 0; v < V; v += PIECE) fx_shared_get<PIECE>(x + v, staged<SUMS>(row, col + v));
  }
};

// ---- the gemm driver ----

// fx_tile: which output tile a block computes
struct fx_tile {
  int batch;  // index over all batch axes
  int m;      // first row
  int n;      // first column
};

// fx_find_tile: tiles in groups of 8 rows of tiles, column by column within a group, so that concurrent blocks share operands in the L2 cache
FX_DEVICE fx_tile fx_find_tile(int number, int m, int n, int BM, int BN) {
  const int GROUP = 8;
  const int tiles_m = (m - 1) / BM + 1, tiles_n = (n - 1) / BN + 1;
  const int batch = (unsigned)number / (tiles_m * tiles_n), tile = (unsigned)number % (tiles_m * tiles_n);
  const int group_m = tile / (GROUP * tiles_n) * GROUP, in_group = tile % (GROUP * tiles_n);
  const int rows = tiles_m - group_m < GROUP ? tiles_m - group_m : GROUP;
  return fx_tile{batch, (group_m + in_group % rows) * BM, in_group / rows * BN};
}

// fx_gemm_copied: an operand that lies in memory; copied asynchronously where the engine can, else by way of registers
template <class ENGINE, class ENGINE_OPERAND, class PROBLEM, class SEGMENT, class OPERAND, bool ALIGNED>
struct fx_gemm_copied : ENGINE_OPERAND {
  static constexpr bool IS_MADE = false;

  const PROBLEM &p;   // the problem
  const int j;        // which of the segment's
  const int batch;    // index over the batch axes
  const int tile_mn;  // first m or n of the tile
  int outer;          // index over the outer k axes
  int left;           // k not yet begun at this index

  FX_DEVICE fx_gemm_copied(const PROBLEM &problem, int a_j, int a_batch, int a_tile_mn, int mn_end, int warp_mn)
      : ENGINE_OPERAND(OPERAND::stride_mn(problem, a_j), OPERAND::stride_k(problem, a_j), a_tile_mn, mn_end, warp_mn),
        p(problem),
        j(a_j),
        batch(a_batch),
        tile_mn(a_tile_mn) {}
  FX_DEVICE void start_outer() {
    left = SEGMENT::k(p);
    ENGINE_OPERAND::start(OPERAND::at(p, j, batch, outer) + tile_mn * OPERAND::stride_mn(p, j), left);
  }
  FX_DEVICE void start() {
    outer = 0;
    start_outer();
  }
  FX_DEVICE void next() {
    left -= ENGINE_OPERAND::BK;
    if (outer + 1 < SEGMENT::k_outer(p) && left <= 0) {
      ++outer;
      start_outer();
    } else {
      ENGINE_OPERAND::next();
    }
  }
};

// fx_gemm_a, fx_gemm_b: the operands of a segment in an engine
template <class ENGINE, bool ALIGNED, class SEGMENT> struct fx_gemm_a {
  typedef typename SEGMENT::a a;
  typedef typename a::template moved<ENGINE, typename ENGINE::template operand_a<a::LAYOUT, ALIGNED>, SEGMENT, ALIGNED> type;
};
template <class ENGINE, bool ALIGNED, class SEGMENT, int J> struct fx_gemm_b {
  typedef typename SEGMENT::template b<J> b;
  typedef typename b::template moved<ENGINE, typename ENGINE::template operand_b<b::LAYOUT, ALIGNED>, SEGMENT, ALIGNED> type;
};

// fx_gemm_operand: one operand on its way through the mainloop, in whichever manner
template <int STEPS, class OPERAND>
struct fx_gemm_operand {
  OPERAND x;  // the operand

  template <class PROBLEM>
  FX_DEVICE fx_gemm_operand(const PROBLEM &p, int j, int batch, int tile_mn, int mn_end, int warp_mn) : x(p, j, batch, tile_mn, mn_end, warp_mn) {
    x.start();
  }
  // Shared memory from there on that is its own, besides the stages; returns where that ends.
  FX_DEVICE unsigned place(unsigned at) {
    if constexpr (OPERAND::IS_MADE) return x.place(at);
    return at;
  }
  // A block before the mainloop.
  FX_DEVICE void fill(unsigned stage) {
    if constexpr (OPERAND::IS_MADE) {
      x.fill(stage);
    } else if constexpr (OPERAND::IS_COPIED) {
#pragma unroll
      for (int step = 0; step < STEPS - 1; ++step) x.issue(step, stage);
      x.next();
    } else {
      x.load();
      x.land(stage);
      x.next();
    }
  }
  FX_DEVICE void begin() {
    if constexpr (OPERAND::IS_MADE) x.begin();
    else if constexpr (!OPERAND::IS_COPIED) x.load();
  }
  // In a step of the mainloop, before the products.
  FX_DEVICE void issue(int step, unsigned stage) {
    if constexpr (OPERAND::IS_MADE) {
      x.ready_step(step);
    } else if constexpr (OPERAND::IS_COPIED) {
      if (step < STEPS - 1) x.issue(step, stage);
      else x.next();
    }
  }
  // Likewise at the end of a block, before its barrier: what is loaded here stays before it.
  FX_DEVICE void load() {
    if constexpr (!OPERAND::IS_MADE && !OPERAND::IS_COPIED) {
      x.next();
      x.load();
    }
  }
  // And after the products; the last step of a block belongs to the stage that it began with.
  FX_DEVICE void land(int step, unsigned stage, bool is_late) {
    if constexpr (OPERAND::IS_MADE) x.work(step, stage);
    else if constexpr (!OPERAND::IS_COPIED)
      if (step == (is_late ? STEPS - 2 : (STEPS - 2) / 2)) x.land(stage);
  }
};

// fx_gemm_all_b: the B's of a segment's sums from number J on; they lie in a stage one after the other
template <class ENGINE, bool ALIGNED, class PROBLEM, class SEGMENT, int J, bool IS_END>
struct fx_gemm_all_b {
  typedef typename fx_gemm_b<ENGINE, ALIGNED, SEGMENT, J>::type operand;

  fx_gemm_operand<ENGINE::STEPS, operand> first;                                                     // number J
  fx_gemm_all_b<ENGINE, ALIGNED, PROBLEM, SEGMENT, J + 1, J + 1 == SEGMENT::SUMS> rest;  // those after it

  FX_DEVICE fx_gemm_all_b(const PROBLEM &p, int batch, int tile_n) : first(p, J, batch, tile_n, p.n(), ENGINE::warp_n()), rest(p, batch, tile_n) {}
  FX_DEVICE void place(unsigned at) { rest.place(first.place(at)); }
  FX_DEVICE void fill(unsigned stage) { first.fill(stage), rest.fill(stage + ENGINE::B_BYTES); }
  FX_DEVICE void begin() { first.begin(), rest.begin(); }
  FX_DEVICE void issue(int step, unsigned stage) { first.issue(step, stage), rest.issue(step, stage + ENGINE::B_BYTES); }
  FX_DEVICE void load() { first.load(), rest.load(); }
  FX_DEVICE void land(int step, unsigned stage) { first.land(step, stage, true), rest.land(step, stage + ENGINE::B_BYTES); }
  template <class FRAGMENT>
  FX_DEVICE void fetch(FRAGMENT *f, unsigned stage, int step, int part) const {
    first.x.fetch(f[J], stage, step, part);
    rest.fetch(f, stage + ENGINE::B_BYTES, step, part);
  }
};
template <class ENGINE, bool ALIGNED, class PROBLEM, class SEGMENT, int J>
struct fx_gemm_all_b<ENGINE, ALIGNED, PROBLEM, SEGMENT, J, true> {
  FX_DEVICE fx_gemm_all_b(const PROBLEM &, int, int) {}
  FX_DEVICE void place(unsigned) {}
  FX_DEVICE void fill(unsigned) {}
  FX_DEVICE void begin() {}
  FX_DEVICE void issue(int, unsigned) {}
  FX_DEVICE void load() {}
  FX_DEVICE void land(int, unsigned) {}
  template <class FRAGMENT>
  FX_DEVICE void fetch(FRAGMENT *, unsigned, int, int) const {}
};

// fx_gemm_source: the operands of one tile in a segment, walking through the k-blocks; past the last block there are only zeros
template <class ENGINE, bool ALIGNED, class PROBLEM, class SEGMENT>
struct fx_gemm_source {
  typedef typename fx_gemm_a<ENGINE, ALIGNED, SEGMENT>::type operand_a;
  typedef fx_gemm_all_b<ENGINE, ALIGNED, PROBLEM, SEGMENT, 0, false> operands_b;
  typedef typename operand_a::fragment fragment_a;
  typedef typename operands_b::operand::fragment fragment_b;
  static constexpr int SUMS = SEGMENT::SUMS;
  static constexpr unsigned STAGE_BYTES = ENGINE::A_BYTES + SUMS * ENGINE::B_BYTES;

  fx_gemm_operand<ENGINE::STEPS, operand_a> a;  // A's rows of the tile
  operands_b b;                              // the columns of the tile of every B

  FX_DEVICE fx_gemm_source(const PROBLEM &p, const fx_tile &at) : a(p, 0, at.batch, at.m, p.m(), ENGINE::warp_m()), b(p, at.batch, at.n) {}
  FX_DEVICE void place(unsigned at) { b.place(a.place(at)); }
  FX_DEVICE void fill(unsigned stage) { a.fill(stage), b.fill(stage + ENGINE::A_BYTES); }
  FX_DEVICE void begin() { a.begin(), b.begin(); }
  FX_DEVICE void issue(int step, unsigned stage) { a.issue(step, stage), b.issue(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void load() { a.load(), b.load(); }
  FX_DEVICE void land(int step, unsigned stage) { a.land(step, stage, false), b.land(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void fetch(fragment_a &fa, fragment_b (&fb)[SUMS], unsigned stage, int step) const {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      a.x.fetch(fa, stage, step, part);
      b.fetch(fb, stage + ENGINE::A_BYTES, step, part);
    }
  }
};

// fx_gemm_ring: the stages of a mainloop in shared memory, offsets
struct fx_gemm_ring {
  unsigned first, end;  // of all
  unsigned read;        // the stage of the block at hand
  unsigned write;       // the one that is filled meanwhile
  unsigned from;        // the one that the next fragments are read from
};

// fx_gemm_steps: the steps of a block from STEP on. Written out by recursion: a compiler leaves a long loop rolled, and what its number chooses then lies in local memory
template <class ENGINE, class SEGMENT, int STEP, class SOURCE, int SUMS>
FX_DEVICE void fx_gemm_steps(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], SOURCE &source, typename SOURCE::fragment_a (&a)[2],
                             typename SOURCE::fragment_b (&b)[2][SOURCE::SUMS], fx_gemm_ring &ring) {
  constexpr int STEPS = ENGINE::STEPS, STAGES = ENGINE::STAGES;
  constexpr bool IS_STAGING = ENGINE::IS_STAGING;
  if constexpr (STEP < STEPS) {
    if constexpr (STEP == STEPS - 1) {
      ring.from = ring.read + SOURCE::STAGE_BYTES == ring.end ? ring.first : ring.read + SOURCE::STAGE_BYTES;
      fx_cp_async_wait<STAGES - 2 - IS_STAGING>();
      source.load();
      fx_barrier();  // everyone's part of the next block has landed, and everyone has read all of this one: its stage may be overwritten
    }
    source.fetch(a[(STEP + 1) % 2], b[(STEP + 1) % 2], ring.from, (STEP + 1) % STEPS);
    source.issue(STEP, ring.write);
    if constexpr (STEP == STEPS - 2 && !IS_STAGING) fx_cp_async_commit();
#pragma unroll
    for (int q = 0; q < ENGINE::QUARTERS; ++q) {
#pragma unroll
      for (int j = 0; j < SEGMENT::SUMS; ++j) ENGINE::multiply(acc[SEGMENT::sum(j)], a[STEP % 2], b[STEP % 2][j], q);
      if (q == ENGINE::QUARTERS / 2) source.land(STEP, ring.write);
    }
    if constexpr (STEP == STEPS - 1 && IS_STAGING) fx_cp_async_commit();
    fx_gemm_steps<ENGINE, SEGMENT, STEP + 1>(acc, source, a, b, ring);
  }
}

// fx_gemm_accumulate: the mainloop of a segment; the fragments of a step are read under the products of the one before
// STAGES - 1 blocks are in shared memory or on their way there. Operands that pass through registers land in the stage of a block that everyone has read. Where
// some are staged, copies begin in the last step of a block too: its group ends behind it, and one group fewer may be on its way.
template <class ENGINE, bool ALIGNED, class SEGMENT, class PROBLEM, int SUMS>
FX_DEVICE void fx_gemm_accumulate(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], const PROBLEM &p, const fx_tile &at) {
  typedef fx_gemm_source<ENGINE, ALIGNED, PROBLEM, SEGMENT> source_type;
  constexpr int STAGES = ENGINE::STAGES;
  int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  if (blocks == 0) return;  // nothing to add up, and with an empty outer axis no element to point at
  fx_hide(blocks);          // were it known to be 1, compilers would keep what the one block reads in registers, all of it

  source_type source(p, at);
  const unsigned first = fx_shared(fx_smem()), end = first + STAGES * source_type::STAGE_BYTES;
  fx_gemm_ring ring = {first, end, first, first, first};

  if constexpr (ENGINE::IS_STAGING) {
    source.place(end);
    fx_cp_async_commit();
    fx_cp_async_wait<0>();
    fx_barrier();  // what lanes copied for each other has landed
  }
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    source.fill(ring.write);
    fx_cp_async_commit();
    ring.write += source_type::STAGE_BYTES;
  }
  fx_cp_async_wait<STAGES - 2>();
  fx_barrier();  // everyone's part of block 0 has landed
  source.begin();

  typename source_type::fragment_a a[2];
  typename source_type::fragment_b b[2][SEGMENT::SUMS];
  source.fetch(a[0], b[0], first, 0);

#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    ring.from = ring.read;
    fx_gemm_steps<ENGINE, SEGMENT, 0>(acc, source, a, b, ring);
    ring.write = ring.read;
    ring.read = ring.from;
  }
}

// fx_gemm_epilogue: hands the staged sums to the problem, V columns of a row at a time; what it reads from memory is asked for AHEAD rows early
// where registers allow
template <class ENGINE, bool ALIGNED, int SUMS, class PROBLEM>
FX_DEVICE void fx_gemm_epilogue(const PROBLEM &p, const fx_tile &at) {
  constexpr int V = PROBLEM::V, ACROSS = ENGINE::BN / V, STEP = ENGINE::THREADS / ACROSS;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr int AHEAD = sizeof(frag) <= 64 ? 2 : sizeof(frag) <= 96 ? 1 : 0;
  static_assert(V <= ENGINE::MAX_V && ENGINE::THREADS % ACROSS == 0, "the threads do not cover a row evenly");
  const int rows = p.m() - at.m < ENGINE::BM ? p.m() - at.m : ENGINE::BM;
  const int col = (int)threadIdx.x % ACROSS * V;
  const int n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
  if (n_valid <= 0) return;
  int row = threadIdx.x / ACROSS;
  frag ahead[AHEAD + 1];
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    if (row + i * STEP < rows) p.template fetch<V, ALIGNED>(ahead[i], at.batch, at.m + row + i * STEP, at.n + col, n_valid);
#pragma unroll 1
  for (; row < rows; row += STEP) {
    if (row + AHEAD * STEP < rows) p.template fetch<V, ALIGNED>(ahead[AHEAD], at.batch, at.m + row + AHEAD * STEP, at.n + col, n_valid);
    typename ENGINE::sum acc[SUMS][V];
#pragma unroll
    for (int j = 0; j < SUMS; ++j) ENGINE::template get<SUMS>(acc[j], row, j * ENGINE::BN + col);
    p.template store<V, ALIGNED>(acc, ahead[0], at.batch, at.m + row, at.n + col, n_valid);
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = ahead[i + 1];
  }
}

// ---- the chain driver ----

// fx_middle_pass: names pass W over the middle axis
template <int W> struct fx_middle_pass {};

// fx_chain_shift: what the exponentials of a pass are shifted by, where the whole row's shift may yet turn out not finite
FX_DEVICE float fx_chain_shift(float c) { return fabsf(c) < fx_from_bits(0x7f800000u) ? c : 0.0f; }

// fx_chain_rescale: exp2(by), by which sums go on after a shift has moved; 0 where they are empty so far, never infinite, so that 0 stays 0
FX_DEVICE float fx_chain_rescale(bool is_empty, float by) { return is_empty ? 0.0f : fminf(exp2f(by), 3.402823466e38f); }

// fx_chain_inner: the first contractions as the gemm driver sees them; their columns are the middle axis
template <class PROBLEM>
struct fx_chain_inner {
  const PROBLEM &p;  // the chain
  FX_DEVICE operator const PROBLEM &() const { return p; }  // what operands and segments ask
  FX_DEVICE int m() const { return p.m(); }
  FX_DEVICE int n() const { return p.t(); }
};

// fx_chain_outer: the second contraction as the gemm driver's epilogue sees one; what is known of the BM rows stands in shared memory, word by word
template <class PROBLEM, int BM>
struct fx_chain_outer {
  static constexpr int V = PROBLEM::V;
  template <int N> using frag = typename PROBLEM::template frag<N>;
  const PROBLEM &p;      // the chain
  const unsigned *rows;  // results of the tile's rows
  FX_DEVICE int m() const { return p.m(); }
  FX_DEVICE int n() const { return p.n(); }
  template <int N, bool ALIGNED>
  FX_DEVICE void fetch(frag<N> &f, int batch, int m, int n, int n_valid) const {
    p.template fetch<N, ALIGNED>(f, batch, m, n, n_valid);
  }
  template <int N, bool ALIGNED>
  FX_DEVICE void store(const float (&acc)[1][N], const frag<N> &f, int batch, int m, int n, int n_valid) const {
    p.template store<N, ALIGNED>(acc, f, fx_words<typename PROBLEM::results>::from(rows, BM, m % BM), batch, m, n, n_valid);
  }
};

// fx_chain_mma: a chain by tensor cores: BM rows, BT of the middle axis at a time, BN columns; k in blocks of BK, or, KEPT, at most BK and A's rows kept
template <class T, int BM_, int BT_, int BN_, int BK_, int WARPS_M, int WARPS_N, bool KEPT_>
struct fx_chain_mma {
  typedef fx_mma<fx_mma_16<T>, BM_, BT_, BK_, WARPS_M, WARPS_N, 3> inner;
  typedef fx_mma<fx_mma_16<T>, BM_, BN_, BT_, WARPS_M, WARPS_N, 3> outer;
  typedef fx_mma_operand<outer, T, BM_, outer::WM, false, FX_K_MAJOR, true> middle;  // the second contraction's A
  static constexpr bool KEPT = KEPT_;
  static constexpr int V = 8;
  static FX_DEVICE void put(int at, int row, int t, const float (&x)[V]) {
    unsigned w[4];
    fx_pack<V>(w, x, (T *)0);
    fx_shared_put4(fx_shared(fx_smem()) + at + middle::chunk_offset(row, t / 8), w);
  }
  static FX_DEVICE void leave(int at, int row, int t) { fx_unwritten(fx_shared(fx_smem()) + at + middle::chunk_offset(row, t / 8), 16); }
};

// fx_chain_map: what lies where in a block's shared memory, in bytes; SUMS first contractions, of which at most BESIDE share an A
template <class CHAIN, int SUMS, int BESIDE, int RESULT_WORDS>
struct fx_chain_map {
  typedef typename CHAIN::inner inner;
  typedef typename CHAIN::outer outer;
  static FX_DEVICE constexpr int up(int bytes) { return (bytes + 1023) / 1024 * 1024; }
  static FX_DEVICE constexpr int max(int x, int y) { return x > y ? x : y; }
  static constexpr int STAGED = inner::BM * inner::staging_pitch(SUMS), STAGES = inner::STAGES * (inner::A_BYTES + BESIDE * inner::B_BYTES);
  static constexpr int A = up(CHAIN::KEPT ? STAGED : max(STAGES, STAGED));                        // at 0: the staged middle, over the mainloop's stages; A's rows
  static constexpr int B = A + (CHAIN::KEPT ? up(inner::A_BYTES) : 0);                            // a block of B
  static constexpr int C = B + (CHAIN::KEPT ? up(BESIDE * inner::B_BYTES) : 0);                   // a block of C
  static constexpr int P = C + up(outer::B_BYTES);                                                // the middle as a factor
  static constexpr int SCALES = max(P + up(outer::A_BYTES), up(outer::BM * outer::staging_pitch(1)));  // behind what the staged result takes at the end
  static constexpr int ROWS = SCALES + inner::BM * 4;                                             // results of the rows
  static constexpr int BYTES = ROWS + inner::BM * RESULT_WORDS * 4;
};

// fx_chain_nothing: in the place of an operand that is not kept
struct fx_chain_nothing {
  template <class PROBLEM>
  FX_DEVICE fx_chain_nothing(const PROBLEM &, int, int, int, int, int) {}
};

// fx_chain_multiply: adds the products of blocks in shared memory; the fragments of a step are read under the products of the one before
template <class ENGINE, int SUMS, class OPERAND_A, class OPERANDS_B>
FX_DEVICE void fx_chain_multiply(float (&acc)[SUMS][ENGINE::ACCUMULATORS], const OPERAND_A &oa, unsigned at_a, const OPERANDS_B &ob, unsigned at_b) {
  constexpr int STEPS = ENGINE::STEPS, UNROLL = STEPS < 8 ? STEPS : 8 / ENGINE::PARTS;
  typename OPERAND_A::fragment a[2];
  typename OPERANDS_B::operand::fragment b[2][SUMS];
#pragma unroll
  for (int part = 0; part < ENGINE::PARTS; ++part) oa.fetch(a[0], at_a, 0, part), ob.fetch(b[0], at_b, 0, part);
#pragma unroll(UNROLL)
  for (int step = 0; step < STEPS; ++step) {
    if (step + 1 < STEPS) {
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) oa.fetch(a[(step + 1) % 2], at_a, step + 1, part), ob.fetch(b[(step + 1) % 2], at_b, step + 1, part);
    }
#pragma unroll
    for (int q = 0; q < ENGINE::QUARTERS; ++q)
#pragma unroll
      for (int j = 0; j < SUMS; ++j) ENGINE::multiply(acc[j], a[step % 2], b[step % 2][j], q);
  }
}

// fx_chain_block: one block of the chain
template <class CHAIN, bool ALIGNED, class PROBLEM>
struct fx_chain_block {
  typedef typename CHAIN::inner inner;
  typedef typename CHAIN::outer outer;
  typedef fx_chain_inner<PROBLEM> first;
  typedef fx_chain_outer<PROBLEM, inner::BM> second;
  typedef typename PROBLEM::first_segment first_segment;
  typedef typename PROBLEM::second_segment second_segment;
  typedef fx_gemm_operand<inner::STEPS, typename fx_gemm_a<inner, ALIGNED, first_segment>::type> kept_rows;
  typedef fx_gemm_all_b<inner, ALIGNED, first, first_segment, 0, false> all_b;
  static constexpr int SUMS = PROBLEM::INNER_SUMS;        // first contractions
  typedef fx_chain_map<CHAIN, SUMS, PROBLEM::BESIDE, PROBLEM::RESULT_WORDS> map;
  static constexpr int BM = inner::BM, BT = inner::BN, V = CHAIN::V;
  static constexpr int LANES = inner::THREADS / BM;      // threads that share a row of the middle
  static constexpr int SHARE = BT / LANES;               // what one of them owns of a block of it
  static_assert(inner::THREADS % BM == 0 && (LANES & (LANES - 1)) == 0 && LANES <= 32 && SHARE % V == 0, "the threads do not cover the rows evenly");

  const PROBLEM &p;                      // the problem
  const fx_tile at;                      // the tile of the result
  const int row, lane;                   // of the tile: this thread's row of the middle, and its place among those that share it
  const bool is_row;                     // whether the row exists
  typename PROBLEM::results r;           // what is known of it: reductions
  typename PROBLEM::values q;            // and values made of them that elements read
  typename fx_choose<CHAIN::KEPT, kept_rows, fx_chain_nothing>::type a;  // A's rows
  fx_gemm_all_b<outer, ALIGNED, PROBLEM, second_segment, 0, false> c;    // C's columns
  typename CHAIN::middle middle;         // the middle as a factor
  float acc[1][outer::ACCUMULATORS];     // of D

  FX_DEVICE fx_chain_block(const PROBLEM &problem, const fx_tile &tile)
      : p(problem),
        at(tile),
        row((int)threadIdx.x / LANES),
        lane((int)threadIdx.x % LANES),
        is_row(at.m + row < p.m()),
        r(),
        q(),
        a(problem, 0, tile.batch, tile.m, problem.m(), inner::warp_m()),
        c(problem, tile.batch, tile.n),
        middle(0, 0, 0, 0, outer::warp_m()) {
#pragma unroll
    for (int i = 0; i < outer::ACCUMULATORS; ++i) acc[0][i] = 0.0f;
  }
  static FX_DEVICE unsigned shared(int offset) { return fx_shared(fx_smem()) + offset; }
  static FX_DEVICE float *scales() { return (float *)(fx_smem() + map::SCALES); }
  static FX_DEVICE unsigned *rows() { return (unsigned *)(fx_smem() + map::ROWS); }

  // B's rows t .. t + BT - 1 as the first contractions' columns.
  FX_DEVICE void bring_b(int t) const {
    if (t < p.t()) all_b(first{p}, at.batch, t).fill(shared(map::B));
    fx_cp_async_commit();
  }
  FX_DEVICE void bring_c() {
    c.fill(shared(map::C));
    fx_cp_async_commit();
  }

  // S over a block of the middle, staged; A's rows are kept and B's block is on its way, or both come through the gemm driver's stages.
  template <bool LAST>
  FX_DEVICE void first_contraction(int t) {
    float s[SUMS][inner::ACCUMULATORS];
#pragma unroll
    for (int i = 0; i < SUMS * inner::ACCUMULATORS; ++i) s[i / inner::ACCUMULATORS][i % inner::ACCUMULATORS] = 0.0f;
    if constexpr (CHAIN::KEPT) {
      fx_cp_async_wait<0>();
      fx_barrier();  // A's rows and B's block have landed; nobody reads C's block or P of the block before any more
      if (LAST) bring_c();
      fx_chain_multiply<inner, SUMS>(s, a.x, shared(map::A), all_b(first{p}, at.batch, t), shared(map::B));
    } else {
      if (LAST) bring_c();
      p.template accumulate<inner, ALIGNED>(s, first{p}, fx_tile{at.batch, at.m, t});
      fx_cp_async_wait<0>();
      fx_barrier();  // nobody reads or fills the stages any more: the sums take their place
    }
#pragma unroll
    for (int j = 0; j < SUMS; ++j) inner::template put<SUMS>(s[j], j * BT);
    fx_barrier();  // the sums are staged; nobody reads B's block any more
    if constexpr (CHAIN::KEPT) bring_b(t + BT);
  }

  // The staged sums of V elements of this thread's row.
  FX_DEVICE void get(float (&x)[SUMS][V], int i) const {
#pragma unroll
    for (int j = 0; j < SUMS; ++j) inner::template get<SUMS>(x[j], row, j * BT + i);
  }

  // This thread's share of a block of the middle: first what shifts exponentials, then sums and P. WHOLE: none of it lies beyond the axis.
  template <int W, bool LAST, bool WHOLE, class RUNNING>
  FX_DEVICE void middle_of(RUNNING &sums, int t) {
    const int begin = lane * SHARE;
    float x[SUMS][V];
    if constexpr (PROBLEM::LOOKS[W]) {
      auto tops = p.tops(fx_middle_pass<W>());
      if (is_row) {
#pragma unroll 1
        for (int i = begin; i < begin + SHARE; i += V) {
          get(x, i);
          p.look(fx_middle_pass<W>(), tops, x, r, q, at.batch, at.m + row, t + i, WHOLE ? V : p.t() - t - i);
          if constexpr (PROBLEM::KEEPS[W]) {
#pragma unroll
            for (int v = 0; v < V; v += 4) fx_shared_put4(inner::template staged<SUMS>(row, i + v), x[0][v], x[0][v + 1], x[0][v + 2], x[0][v + 3]);
          }
        }
      }
#pragma unroll
      for (int mask = 1; mask < LANES; mask *= 2) p.join(fx_middle_pass<W>(), tops, fx_from_lane_xor(tops, mask));
      const float scale = p.move(fx_middle_pass<W>(), sums, tops, r, q);
      if (LAST && PROBLEM::SCALED && lane == 0) scales()[row] = scale;
    }
    if (is_row) {
#pragma unroll 1
      for (int i = begin; i < begin + SHARE; i += V) {
        get(x, i);
        p.fold(fx_middle_pass<W>(), sums, x, r, q, at.batch, at.m + row, t + i, WHOLE ? V : p.t() - t - i);
        if constexpr (LAST) CHAIN::put(map::P, row, i, x[0]);
      }
    }
  }

  FX_DEVICE void second_contraction() {
    if constexpr (CHAIN::KEPT) fx_cp_async_wait<1>();
    fx_barrier();  // P, the rows' scales and C's block are there; nobody reads the staged sums any more
    if constexpr (PROBLEM::SCALED) {
#pragma unroll
      for (int i = 0; i < outer::ACCUMULATORS; ++i) acc[0][i] *= scales()[outer::acc_row(i)];
    }
    fx_chain_multiply<outer, 1>(acc, middle, shared(map::P), c, shared(map::C));
    if constexpr (!CHAIN::KEPT) fx_barrier();  // nobody reads P, the scales and C's block any more
  }

  // The largest x of the block.
  static FX_DEVICE int largest(int x) {
    unsigned *words = (unsigned *)scales();
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) x = max(x, (int)fx_shuffle_xor((unsigned)x, mask));
    fx_barrier();  // nobody reads the rows' scales any more
    if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = (unsigned)x;
    fx_barrier();  // every warp's is there
#pragma unroll
    for (int w = 0; w < inner::THREADS / 32; ++w) x = max(x, (int)words[w]);
    fx_barrier();  // nobody reads them any more
    return x;
  }

  // Whether C, from row t of the middle on, holds what is not 0 when multiplied by 0.
  FX_DEVICE bool is_tail_special(int t) const {
    typedef typename second_segment::template b<0> operand;
    constexpr int N = ALIGNED && operand::LAYOUT == FX_MN_MAJOR ? V : 1, ACROSS = outer::BN / N, STEP = inner::THREADS / ACROSS;
    const int col = (int)threadIdx.x % ACROSS * N;
    float z = 0.0f;
    if (at.n + col < p.n()) {
      const auto *from = operand::at(p, 0, at.batch, 0) + (at.n + col) * operand::stride_mn(p, 0);
#pragma unroll 4
      for (int i = t + (int)threadIdx.x / ACROSS; i < p.t(); i += STEP) {
        float x[N];
        fx_load<N, N != 1>(x, from + i * operand::stride_k(p, 0), N);
#pragma unroll
        for (int v = 0; v < N; ++v) z = fmaf(x[v], 0.0f, z);
      }
    }
    return largest(z != 0.0f) != 0;
  }

  // From which element of the middle on no row of the block takes any.
  FX_DEVICE int find_end() const {
    if constexpr (PROBLEM::ENDS) return largest(is_row && p.t() > 0 ? p.end(q, r, at.batch, at.m + row) : 0);
    return p.t();
  }

  template <int W>
  FX_DEVICE void passes() {
    constexpr bool LAST = W + 1 == PROBLEM::PASSES;
    if (is_row) p.prepare(fx_middle_pass<W>(), q, r, at.batch, at.m + row);
    auto sums = p.identity(fx_middle_pass<W>());
    if constexpr (CHAIN::KEPT) bring_b(0);
    int end = find_end();
#pragma unroll 1
    for (int t = 0;; t += BT) {
      if (t >= end) {
        if constexpr (!PROBLEM::ENDS) break;
        else if (t >= p.t() || !is_tail_special(t)) break;
        end = p.t();
      }
      first_contraction<LAST>(t);
      if (t + BT <= p.t()) middle_of<W, LAST, true>(sums, t);
      else middle_of<W, LAST, false>(sums, t);
      if constexpr (LAST) second_contraction();
      else fx_barrier();  // nobody reads the staged sums any more
    }
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) p.join(fx_middle_pass<W>(), sums, fx_from_lane_xor(sums, mask));
    p.finish(fx_middle_pass<W>(), r, sums, q);
    if constexpr (!LAST) passes<W + 1>();
  }

  FX_DEVICE void run() {
    if constexpr (CHAIN::KEPT) {
      if (p.t() > 0) a.fill(shared(map::A));
    }
    if (!is_row)  // of rows that do not exist P is never written: it makes rows of the result that are never stored
      for (int i = lane * SHARE; i < (lane + 1) * SHARE; i += V) CHAIN::leave(map::P, row, i);
    passes<0>();
    if (lane == 0 && is_row) fx_words<typename PROBLEM::results>::of(r).put(rows(), BM, row);
    if constexpr (PROBLEM::STORES_ROWS) {
      if (lane == 0 && is_row && at.n == 0) p.store_row(r, at.batch, at.m + row);
    }
    fx_cp_async_wait<0>();
    fx_barrier();  // nobody reads or fills what the passes used any more: the result takes its place
    outer::template put<1>(acc[0], 0);
    fx_barrier();  // the whole tile is staged, the rows' results are there
    fx_gemm_epilogue<outer, ALIGNED, 1>(second{p, rows()}, at);
  }
};

// fx_chain: computes this block's tile
template <class CHAIN, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_chain(const PROBLEM &p) {
  fx_chain_block<CHAIN, ALIGNED, PROBLEM>(p, fx_find_tile(blockIdx.x, p.m(), p.n(), CHAIN::inner::BM, CHAIN::outer::BN)).run();
}

// ==== generated from c.fx ====

struct f_ {
  const float *a_;  // [S_, T_], strided
  const fx_f16 *q_;  // [S_, D_]
  const fx_f16 *k_;  // [T_, D_]
  const fx_f16 *v_;  // [T_, N_]
  fx_f16 *o_;  // [S_, N_]
  long long S_;
  long long T_;
  long long D_;
  long long N_;
  long long a_stride_S_;
  long long a_stride_T_;
  static constexpr int INNER_SUMS = 1, BESIDE = 1, SUMS = 1;  // first contractions, and of those how many share an A; sums of the result
  static constexpr int V = 8;  // columns the epilogue takes at a time
  FX_DEVICE int m() const { return (int)S_; }
  FX_DEVICE int n() const { return (int)N_; }
  FX_DEVICE int t() const { return (int)T_; }
  struct a0 {  // q
    static constexpr int LAYOUT = FX_K_MAJOR;
    static FX_DEVICE const fx_f16 *at(const f_ &p, int j, int batch, int ko) { return p.q_; }
    static FX_DEVICE long long stride_mn(const f_ &p, int j) { return p.D_; }
    static FX_DEVICE long long stride_k(const f_ &p, int j) { return 1; }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using moved = fx_gemm_copied<ENGINE, BASE, f_, SEGMENT, a0, ALIGNED>;
  };
  struct b0 {  // k
    static constexpr int LAYOUT = FX_K_MAJOR;
    static FX_DEVICE const fx_f16 *at(const f_ &p, int j, int batch, int ko) { return p.k_; }
    static FX_DEVICE long long stride_mn(const f_ &p, int j) { return p.D_; }
    static FX_DEVICE long long stride_k(const f_ &p, int j) { return 1; }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using moved = fx_gemm_copied<ENGINE, BASE, f_, SEGMENT, b0, ALIGNED>;
  };
  struct segment0 {
    static constexpr int SUMS = 1;
    typedef a0 a;
    template <int J> using b = b0;
    static FX_DEVICE constexpr int sum(int j) { return 0; }  // where B number j is added
    static FX_DEVICE int k(const f_ &p) { return (int)p.D_; }
    static FX_DEVICE int k_outer(const f_ &p) { return 1; }
  };
  struct b1 {  // v
    static constexpr int LAYOUT = FX_MN_MAJOR;
    static FX_DEVICE const fx_f16 *at(const f_ &p, int j, int batch, int ko) { return p.v_; }
    static FX_DEVICE long long stride_mn(const f_ &p, int j) { return 1; }
    static FX_DEVICE long long stride_k(const f_ &p, int j) { return p.N_; }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using moved = fx_gemm_copied<ENGINE, BASE, f_, SEGMENT, b1, ALIGNED>;
  };
  struct segment1 {
    static constexpr int SUMS = 1;
    template <int J> using b = b1;
    static FX_DEVICE int k(const f_ &p) { return (int)p.T_; }
    static FX_DEVICE int k_outer(const f_ &p) { return 1; }
  };
  typedef segment0 first_segment;
  typedef segment1 second_segment;
  template <class ENGINE, bool ALIGNED, class FIRST> FX_DEVICE void accumulate(typename ENGINE::sum (&acc)[INNER_SUMS][ENGINE::ACCUMULATORS], const FIRST &first, const fx_tile &at) const {
    fx_gemm_accumulate<ENGINE, ALIGNED, segment0>(acc, first, at);
  }
  static constexpr int PASSES = 1;  // over the middle; the last adds the result up
  static constexpr bool LOOKS[PASSES] = {true}, KEEPS[PASSES] = {true};  // whether a pass finds shifts first, and leaves what they were found in
  static constexpr bool SCALED = true, STORES_ROWS = false, ENDS = false;
  static constexpr int RESULT_WORDS = 3;
  struct results {  // of the reductions of a row
    float max_add_;  // line 1: softmax[T](q @ k + a)
    float sum_exp_;  // line 1: softmax[T](q @ k + a)
    float last;  // by which sums are scaled at the end: 1, unless the row's shift is not finite
  };
  struct values {  // of a row, read by its elements
  };
  static_assert(sizeof(results) <= RESULT_WORDS * 4, "");
  struct sums0 {  // what pass 0 over a row adds up
    float max_add_;  // line 1: softmax[T](q @ k + a)
    float sum_exp_;  // line 1: softmax[T](q @ k + a)
    float shift_;  // of the exponentials of max_add_, so far
  };
  struct tops0 {  // the extremes of a block of the middle
    float max_add_;
  };
  FX_DEVICE void prepare(fx_middle_pass<0>, values &q, const results &r, int batch, int m) const {
  }
  FX_DEVICE sums0 identity(fx_middle_pass<0>) const {
    sums0 a;
    a.max_add_ = fx_from_bits(0xff800000u);
    a.sum_exp_ = 0.0f;
    a.shift_ = 0.0f;
    return a;
  }
  FX_DEVICE tops0 tops(fx_middle_pass<0>) const {
    tops0 b;
    b.max_add_ = fx_from_bits(0xff800000u);
    return b;
  }
  template <int N> FX_DEVICE void look(fx_middle_pass<0>, tops0 &b, float (&acc)[INNER_SUMS][N], const results &r, const values &q, int batch, int m, int t, int n_valid) const {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      if (v >= n_valid) break;
      const float a_v_ = a_[(long long)m * a_stride_S_ + (long long)((t + v)) * a_stride_T_];
      const float add_ = a_v_ + acc[0][v];  // line 1: q @ k + a
      b.max_add_ = fx_max(b.max_add_, add_);
      acc[0][v] = add_;
    }
  }
  FX_DEVICE void join(fx_middle_pass<0>, tops0 &a, const tops0 &b) const {
    a.max_add_ = fx_max(a.max_add_, b.max_add_);
  }
  FX_DEVICE float move(fx_middle_pass<0>, sums0 &a, const tops0 &b, const results &r, const values &q) const {
    const float max_add_ = fx_max(a.max_add_, b.max_add_);
    const float abs_ = fabsf(max_add_);  // line 1: softmax[T](q @ k + a)
    const bool lt_ = abs_ < fx_from_bits(0x7f800000u);  // line 1: softmax[T](q @ k + a)
    const float row_shift_ = lt_ ? max_add_ : 0.0f;  // line 1: softmax[T](q @ k + a)
    const float moved_ = fx_chain_shift(row_shift_);
    const float scale_ = fx_chain_rescale(a.max_add_ == fx_from_bits(0xff800000u), (a.shift_ - moved_) * 1.44269504f);
    a.sum_exp_ *= scale_;
    a.shift_ = moved_;
    a.max_add_ = max_add_;
    return scale_;
  }
  template <int N> FX_DEVICE void fold(fx_middle_pass<0>, sums0 &a, float (&acc)[INNER_SUMS][N], const results &r, const values &q, int batch, int m, int t, int n_valid) const {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      if (v >= n_valid) {
        acc[0][v] = 0.0f;
        continue;
      }
      const float exp_ = fx_exp2_approx((acc[0][v] - a.shift_) * 1.44269504f);  // line 1: softmax[T](q @ k + a)
      a.sum_exp_ = a.sum_exp_ + exp_;
      acc[0][v] = exp_;
    }
  }
  FX_DEVICE void join(fx_middle_pass<0>, sums0 &a, const sums0 &b) const {
    a.sum_exp_ = a.sum_exp_ + b.sum_exp_;
  }
  FX_DEVICE void finish(fx_middle_pass<0>, results &r, const sums0 &a, const values &q) const {
    r.max_add_ = a.max_add_;
    const float abs_ = fabsf(r.max_add_);  // line 1: softmax[T](q @ k + a)
    const bool lt_ = abs_ < fx_from_bits(0x7f800000u);  // line 1: softmax[T](q @ k + a)
    const float row_shift_ = lt_ ? r.max_add_ : 0.0f;  // line 1: softmax[T](q @ k + a)
    const float last_ = a.shift_ == row_shift_ || t() == 0 ? 1.0f : exp2f((a.shift_ - row_shift_) * 1.44269504f);
    r.last = last_;
    r.sum_exp_ = a.sum_exp_ * last_;
  }
  template <int V> struct frag {};  // nothing is read besides the operands
  template <int V, bool ALIGNED> FX_DEVICE void fetch(frag<V> &f, int batch, int m, int n, int n_valid) const {
  }
  template <int V, bool ALIGNED> FX_DEVICE void store(const float (&acc)[SUMS][V], const frag<V> &f, const results &r, int batch, int m, int n, int n_valid) const {
    float o_out[V];
    const bool eq_ = r.sum_exp_ == 0.0f;  // line 1: softmax[T](q @ k + a)
    const float where_ = eq_ ? 1.0f : r.sum_exp_;  // line 1: softmax[T](q @ k + a)
#pragma unroll
    for (int v = 0; v < V; ++v) {
      o_out[v] = t() == 0 ? 0.0f : acc[0][v] * r.last / where_;
    }
    fx_store<V, ALIGNED>(o_ + m * N_ + n, o_out, n_valid);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 0
extern "C" __global__ void __launch_bounds__(128, 3)
fx_f_64x64x64_k64(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 64, 64, 2, 2, true>, true>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 1
extern "C" __global__ void __launch_bounds__(128, 3)
fx_f_64x64x128_k128(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 128, 128, 2, 2, true>, true>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 2
extern "C" __global__ void __launch_bounds__(128, 2)
fx_f_64x64x64(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 64, 64, 2, 2, false>, true>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 3
extern "C" __global__ void __launch_bounds__(128, 2)
fx_f_64x64x128(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 128, 64, 2, 2, false>, true>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 4
extern "C" __global__ void __launch_bounds__(256, 1)
fx_f_64x128x256(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 128, 256, 64, 2, 4, false>, true>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 5
extern "C" __global__ void __launch_bounds__(128, 2)
fx_f_64x64x64_any(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 64, 64, 2, 2, false>, false>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 6
extern "C" __global__ void __launch_bounds__(128, 2)
fx_f_64x64x128_any(const float *a_, const fx_f16 *q_, const fx_f16 *k_, const fx_f16 *v_, fx_f16 *o_, long long S_, long long T_, long long D_, long long N_, long long a_stride_S_, long long a_stride_T_) {
  fx_chain<fx_chain_mma<fx_f16, 64, 64, 128, 64, 2, 2, false>, false>(f_{a_, q_, k_, v_, o_, S_, T_, D_, N_, a_stride_S_, a_stride_T_});
}
#endif
