/* The hardware: every instruction that C does not name, as one small function. Nothing else in the kernels holds asm, a barrier, a conversion of
   16-bit floats or an access wider than four bytes, so another implementation of this file alone runs every kernel elsewhere.
   Shared memory is addressed by 32-bit addresses as fx_shared returns them; pointers are to global memory. */

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

// fx_warp_barrier: waits for all lanes of the warp; what they wrote and read before is ahead of what they do after
FX_DEVICE void fx_warp_barrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// fx_store_release: a double word into global memory, after everything that this thread has written or seen written before
FX_DEVICE void fx_store_release(unsigned long long *p, unsigned long long x) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(x) : "memory");
}

// fx_load_acquire: a double word of global memory; what was written before it was stored is visible after
FX_DEVICE unsigned long long fx_load_acquire(const unsigned long long *p) {
  unsigned long long x;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}

// fx_compare_exchange: puts x into a double word of global memory if it is `expected`, and gives what was there, in one step for all threads of the GPU
// What this thread has written, or seen written, is visible to whoever sees x; what was written before what it finds is visible after.
FX_DEVICE unsigned long long fx_compare_exchange(unsigned long long *p, unsigned long long expected, unsigned long long x) {
  unsigned long long found;
  asm volatile("atom.acq_rel.gpu.global.cas.b64 %0, [%1], %2, %3;" : "=l"(found) : "l"(__cvta_generic_to_global(p)), "l"(expected), "l"(x) : "memory");
  return found;
}

// fx_fetch_add: adds x to a double word of global memory, and gives what was there; otherwise as fx_compare_exchange
FX_DEVICE unsigned long long fx_fetch_add(unsigned long long *p, unsigned long long x) {
  unsigned long long found;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;" : "=l"(found) : "l"(__cvta_generic_to_global(p)), "l"(x) : "memory");
  return found;
}

// fx_grid_barrier: waits for all blocks of the grid, all of which must be resident; what they wrote to memory before is visible after
// A block says in its flag that it has arrived. The first block, once it has seen and cleared all of them, changes the first flag, which every block had read
// before it arrived: that lets them go. So flags need no preparation: they may hold anything but ARRIVED, which nothing leaves behind.
FX_DEVICE void fx_grid_barrier(unsigned long long *flags) {
  const unsigned long long ARRIVED = 0xb10cd09e5ca1ab1eull;
  fx_barrier();  // this block has written everything, and has read what its shared memory held
  if (blockIdx.x == 0) {
    for (unsigned i = threadIdx.x + 1; i < gridDim.x; i += blockDim.x) {
      while (fx_load_acquire(flags + i) != ARRIVED) continue;
      flags[i] = 0;
    }
    fx_barrier();  // all blocks have arrived: none is let go before
    if (threadIdx.x == 0) fx_store_release(flags, fx_load_acquire(flags) + 1);
  } else {
    if (threadIdx.x == 0) {
      const unsigned long long before = fx_load_acquire(flags);
      fx_store_release(flags + blockIdx.x, ARRIVED);
      while (fx_load_acquire(flags) == before) continue;
    }
    fx_barrier();  // this block was let go: none of its threads reads before
  }
}

// fx_shuffle_xor: the word held by the lane whose number differs in the bits of mask; all lanes of the warp take part
FX_DEVICE unsigned fx_shuffle_xor(unsigned w, int mask) { return __shfl_xor_sync(0xffffffffu, w, mask); }

// fx_shuffle_up: the word held by the lane `delta` below; a lane with none below gets its own; all lanes of the warp take part
FX_DEVICE unsigned fx_shuffle_up(unsigned w, int delta) { return __shfl_up_sync(0xffffffffu, w, delta); }

// fx_shuffle_from: w of another lane of the warp
FX_DEVICE unsigned fx_shuffle_from(unsigned w, int lane) { return __shfl_sync(0xffffffffu, w, lane); }

// fx_ballot: a bit for each lane: whether it says yes; all lanes of the warp take part
FX_DEVICE unsigned fx_ballot(bool yes) { return __ballot_sync(0xffffffffu, yes); }

// fx_count_bits: how many bits of w are set
FX_DEVICE int fx_count_bits(unsigned w) { return __popc(w); }

// fx_bits: the bits of a float
FX_DEVICE unsigned fx_bits(float x) { return __float_as_uint(x); }

// fx_from_bits: the float with the given bits
FX_DEVICE float fx_from_bits(unsigned bits) { return __uint_as_float(bits); }

// fx_f64_from_bits: the double with the given bits
FX_DEVICE double fx_f64_from_bits(unsigned long long bits) { return __longlong_as_double((long long)bits); }

// fx_f64_to_f32_odd: x cut to a float, its last bit set where that lost anything: rounding it further rounds x once
FX_DEVICE float fx_f64_to_f32_odd(double x) {
  const float f = __double2float_rz(x);
  return (double)f == x || x != x ? f : fx_from_bits(fx_bits(f) | 1u);
}

// fx_i64_to_f64_odd: x cut to a double, its last bit set where that lost anything
FX_DEVICE double fx_i64_to_f64_odd(long long x) {
  const double d = __ll2double_rz(x);
  return (long long)d == x ? d : __longlong_as_double(__double_as_longlong(d) | 1);
}

// fx_u64_to_f64_odd: likewise
FX_DEVICE double fx_u64_to_f64_odd(unsigned long long x) {
  const double d = __ull2double_rz(x);
  return (unsigned long long)d == x ? d : __longlong_as_double(__double_as_longlong(d) | 1);
}

// fx_funnel: the word that begins `bits` bits into the double word hi:lo; bits < 32
FX_DEVICE unsigned fx_funnel(unsigned lo, unsigned hi, int bits) { return __funnelshift_r(lo, hi, bits); }

// fx_hide: makes a value opaque, so that the compiler neither keeps what it computes from it in registers nor derives it anew
template <class T>
FX_DEVICE void fx_hide(const T *&p) {
  asm volatile("" : "+l"(p));
}
FX_DEVICE void fx_hide(int &i) { asm volatile("" : "+r"(i)); }
FX_DEVICE void fx_hide(long long &i) { asm volatile("" : "+l"(i)); }

// fx_max: the larger operand, NaN if either is
FX_DEVICE float fx_max(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// fx_min: the smaller operand, NaN if either is
FX_DEVICE float fx_min(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// fx_exp2_approx: 2**x within 2**-22 relative, 0 below the normal range
FX_DEVICE float fx_exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// fx_rcp_approx: 1/x within one unit in the last place, 0 for |x| > 2**126
FX_DEVICE float fx_rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
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

// fx_fma_f16x2: a * b + c of the f16 in either half of words, rounded once
FX_DEVICE unsigned fx_fma_f16x2(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// fx_fma_bf16x2: likewise of bf16
FX_DEVICE unsigned fx_fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// fx_f32_to_e4m3: x rounded to the nearest f8e4m3, ties to even, infinities too to the largest one; from sm_89 on
FX_DEVICE unsigned char fx_f32_to_e4m3(float x) {
  unsigned short two;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(x));
  return (unsigned char)two;
}

// fx_f32_to_e5m2: likewise f8e5m2
FX_DEVICE unsigned char fx_f32_to_e5m2(float x) {
  unsigned short two;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(x));
  return (unsigned char)two;
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

// fx_load_once: a multiple of 4 adjacent words, aligned to 16 bytes, that nobody reads again: not kept in the first cache, and fetched 256 bytes at a time to the second
template <int N>
FX_DEVICE void fx_load_once(unsigned (&w)[N], const void *p) {
  static_assert(N % 4 == 0, "no such vector");
#pragma unroll
  for (int i = 0; i < N; i += 4)
    asm volatile("ld.global.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3])
                 : "l"(__cvta_generic_to_global((const unsigned *)p + i)));
}

// fx_store_words: the counterpart of loading N adjacent words; as one store, which the compiler takes apart where it is not told
template <int N>
FX_DEVICE void fx_store_words(void *p, const unsigned (&w)[N]) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  if constexpr (N == 1) {
    *(unsigned *)p = w[0];
  } else if constexpr (N == 2) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1]) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global((uint4 *)p + i / 4)), "r"(w[i]), "r"(w[i + 1]), "r"(w[i + 2]), "r"(w[i + 3]) : "memory");
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

// fx_load_u8_if: likewise of a byte
FX_DEVICE unsigned fx_load_u8_if(const void *p, bool valid) {
  unsigned x;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %2, 0; mov.b32 %0, 0; @valid ld.global.u8 %0, [%1]; }"
               : "=r"(x)
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
  return x;
}

// fx_load_u32_if: likewise of a word, aligned to 4 bytes
FX_DEVICE unsigned fx_load_u32_if(const void *p, bool valid) {
  unsigned x;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %2, 0; mov.b32 %0, 0; @valid ld.global.b32 %0, [%1]; }"
               : "=r"(x)
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
  return x;
}

// fx_and_or: the bits of x that are in the mask, and those of y: one instruction, which compilers make two where both are constants
FX_DEVICE unsigned fx_and_or(unsigned x, unsigned mask, unsigned y) {
  unsigned z;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(z) : "r"(x), "r"(mask), "r"(y));
  return z;
}

// fx_permute: four of the eight bytes of hi:lo, each named by a nibble of the selector
FX_DEVICE unsigned fx_permute(unsigned lo, unsigned hi, unsigned selector) { return __byte_perm(lo, hi, selector); }

// fx_pack_bytes: the low bytes of four integers, x0 in the lowest of the word
FX_DEVICE unsigned fx_pack_bytes(int x0, int x1, int x2, int x3) {
  return fx_permute(fx_permute((unsigned)x0, (unsigned)x1, 0x0040), fx_permute((unsigned)x2, (unsigned)x3, 0x0040), 0x5410);
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

// fx_shared_put_byte: a byte into shared memory
FX_DEVICE void fx_shared_put_byte(unsigned to, int x) { asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(x) : "memory"); }

// fx_shared_put1: a word into shared memory
FX_DEVICE void fx_shared_put1(unsigned to, unsigned w) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(w) : "memory"); }

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

// fx_shared_put: N adjacent elements of 4 or 8 bytes into shared memory: a word, two or four
template <int N, class T>
FX_DEVICE void fx_shared_put(unsigned to, const T *x) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS == 4, "no such vector");
  unsigned w[WORDS];
  memcpy(w, x, sizeof w);
  if constexpr (WORDS == 1) fx_shared_put1(to, w[0]);
  else if constexpr (WORDS == 2) fx_shared_put2(to, (int)w[0], (int)w[1]);
  else fx_shared_put4(to, w);
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

// fx_shared_add: adds to a word of shared memory, in one step for all threads of the block
FX_DEVICE void fx_shared_add(unsigned to, unsigned w) { asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(to), "r"(w) : "memory"); }

// fx_unwritten: these bytes of shared memory may be read before anything is written to them: no result depends on what they hold. No instruction
FX_DEVICE void fx_unwritten(unsigned at, int n_bytes) {}

// fx_overwrites: whether what this thread writes to global memory may take the place of results, of any block: these are known to be stored. No instruction
FX_DEVICE void fx_overwrites(bool may) {}

// fx_cp_async16: starts copying 16 bytes into shared memory; zeros, and nothing is read, where not valid
FX_DEVICE void fx_cp_async16(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
               : "memory");
}

// fx_cp_async8: starts copying 8 bytes into shared memory; zeros, and nothing is read, where not valid
FX_DEVICE void fx_cp_async8(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 8 : 0) : "memory");
}

// fx_cp_async4: starts copying 4 bytes into shared memory; zeros, and nothing is read, where not valid
FX_DEVICE void fx_cp_async4(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 4 : 0) : "memory");
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

// fx_cvt_tf32: the float nearest to one given by its bits that tf32 holds, 10 bits of fraction; ties away from zero. Two instructions, through a predicate
// A NaN is cut off: one with no bit among the upper 10 of its fraction, which only a signalling one can be, becomes an infinity.
FX_DEVICE unsigned fx_cvt_tf32(unsigned bits) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(fx_from_bits(bits)));
  return rounded;
}

// fx_round_tf32: the same in three instructions without a predicate, so that neighbours need not wait for each other
// Half a unit is added to the bits and what lies below cut off; the product, too small to change a number, makes a NaN of what was one.
FX_DEVICE unsigned fx_round_tf32(unsigned bits) {
  return fx_bits(fmaf(fx_from_bits(bits), 0x1p-126f, fx_from_bits((bits + 0x1000u) & 0xffffe000u)));
}

// fx_mma_tf32: d += a b over 16 x 8 x 8 tf32 elements, d in f32; the fragments as PTX lays them out for m16n8k8
FX_DEVICE void fx_mma_tf32(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_i8_i8: d += a b over 16 x 8 x 32 bytes, both signed, d in i32, wrapping; the fragments as PTX lays them out for m16n8k32
FX_DEVICE void fx_mma_i8_i8(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_i8_u8: the same, a signed, b unsigned
FX_DEVICE void fx_mma_i8_u8(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_u8_i8: the same, a unsigned, b signed
FX_DEVICE void fx_mma_u8_i8(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_u8_u8: the same, a unsigned, b unsigned
FX_DEVICE void fx_mma_u8_u8(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_e4m3_e4m3: d += a b over 16 x 8 x 32 f8e4m3 elements, d in f32; the fragments as PTX lays them out for m16n8k32; from sm_89 on
FX_DEVICE void fx_mma_e4m3_e4m3(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_e5m2_e4m3: the same, a f8e5m2, b f8e4m3
FX_DEVICE void fx_mma_e5m2_e4m3(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_e4m3_e5m2: the same, a f8e4m3, b f8e5m2
FX_DEVICE void fx_mma_e4m3_e5m2(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_mma_e5m2_e5m2: the same, a f8e5m2, b f8e5m2
FX_DEVICE void fx_mma_e5m2_e5m2(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
