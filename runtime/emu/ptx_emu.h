/* The hardware once more, in C++ for the host: every function of kernels/ptx.cuh, and what the other kernel files use
 * of CUDA. It stands ahead of an emitted file whose own hardware section FX_PTX leaves out, behind calls.h. Invariant:
 * whatever a GPU would refuse or leave undefined (an address beyond shared memory, a wide access that is not aligned, a
 * lane that stays away) ends the run with an error. */
extern "C" {
typedef decltype(sizeof 0) size_t;
void *memcpy(void *, const void *, size_t) noexcept;
void *memset(void *, int, size_t) noexcept;
#define FX_EMU_MATH1(name) float name##f(float) noexcept; double name(double) noexcept;
#define FX_EMU_MATH2(name) float name##f(float, float) noexcept; double name(double, double) noexcept;
// Functions of math.h that CUDA has under the same names, also those that no op calls yet: a row of ops.def may.
// clang-format off
FX_EMU_MATH1(exp) FX_EMU_MATH1(exp2) FX_EMU_MATH1(expm1) FX_EMU_MATH1(log) FX_EMU_MATH1(log2) FX_EMU_MATH1(log10)
FX_EMU_MATH1(log1p) FX_EMU_MATH1(sqrt) FX_EMU_MATH1(cbrt) FX_EMU_MATH1(erf) FX_EMU_MATH1(erfc) FX_EMU_MATH1(lgamma)
FX_EMU_MATH1(tgamma) FX_EMU_MATH1(sin) FX_EMU_MATH1(cos) FX_EMU_MATH1(tan) FX_EMU_MATH1(asin) FX_EMU_MATH1(acos)
FX_EMU_MATH1(atan) FX_EMU_MATH1(sinh) FX_EMU_MATH1(cosh) FX_EMU_MATH1(tanh) FX_EMU_MATH1(asinh) FX_EMU_MATH1(acosh)
FX_EMU_MATH1(atanh) FX_EMU_MATH1(fabs) FX_EMU_MATH1(floor) FX_EMU_MATH1(ceil) FX_EMU_MATH1(rint) FX_EMU_MATH1(round)
FX_EMU_MATH1(trunc) FX_EMU_MATH2(pow) FX_EMU_MATH2(hypot) FX_EMU_MATH2(atan2) FX_EMU_MATH2(fmin) FX_EMU_MATH2(fmax)
FX_EMU_MATH2(fdim) FX_EMU_MATH2(copysign) FX_EMU_MATH2(fmod) FX_EMU_MATH2(remainder)
// clang-format on
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
float ldexpf(float, int) noexcept;
double ldexp(double, int) noexcept;
void sincosf(float, float *, float *) noexcept;
}

// ---- CUDA's words ----
#define __device__
#define __host__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
// Where everything is inlined fewer variables are taken for what others may see, and a place tells lines: the code is
// faster, but its compilation takes half as long again. FX_EMU_CALLS leaves calls.
#if defined FX_EMU_WATCHED && !defined FX_EMU_CALLS
#define FX_DEVICE inline __attribute__((always_inline))
#else
#define FX_DEVICE inline
#endif

// The thread that runs: the machine sets it whenever another one does. Code of one thread may count on it: it finds the
// same one whenever it runs. (Weak, so that nothing is derived from what it is before any runs.)
extern "C" {
__attribute__((visibility("hidden"))) emu_thread emu_nobody;
__attribute__((visibility("hidden"), weak)) emu_thread *emu_running = &emu_nobody;
extern __attribute__((visibility("hidden"), weak, alias("emu_running"))) emu_thread *const emu_self;
}
#define threadIdx (emu_self->thread)
#define blockIdx (emu_self->block)
#define blockDim (emu_self->block_dim)
#define gridDim (emu_self->grid_dim)

// ---- what is seen ----

// Compiled to be watched, every load and store that might reach what another thread reaches calls one of these first;
// so do copies of more than 16 bytes.
#ifdef FX_EMU_WATCHED
#define FX_EMU_UNSEEN __attribute__((no_sanitize("thread")))

// emu_see: reports an access, unless it is to the thread's own stack, or to what it shares with the machine alone
FX_EMU_UNSEEN inline __attribute__((always_inline)) void emu_see(
    const void *p, size_t n, emu_access access, const void *pc) {
    emu_thread *self = emu_self;
    if (self->is_watched && (size_t)p - (size_t)self->stack >= EMU_STACK && (size_t)p - (size_t)self >= sizeof *self)
        self->calls->touch(self, p, (unsigned)n, access, pc);
}
#define FX_EMU_SEE(name, n, access)                                                   \
    FX_EMU_UNSEEN __attribute__((visibility("hidden"))) void __tsan_##name(void *p) { \
        emu_see(p, n, access, (char *)__builtin_return_address(0) - 1);               \
    }
#define FX_EMU_SEE_EACH(n)                                                        \
    FX_EMU_SEE(read##n, n, EMU_READ)                                              \
    FX_EMU_SEE(write##n, n, EMU_WRITE) FX_EMU_SEE(unaligned_read##n, n, EMU_READ) \
        FX_EMU_SEE(unaligned_write##n, n, EMU_WRITE)
extern "C" {
FX_EMU_SEE_EACH(1)
FX_EMU_SEE_EACH(2) FX_EMU_SEE_EACH(4) FX_EMU_SEE_EACH(8) FX_EMU_SEE_EACH(16) FX_EMU_UNSEEN
    __attribute__((visibility("hidden"))) void __tsan_read_range(void *p, size_t n) {
    emu_see(p, n, EMU_READ, (char *)__builtin_return_address(0) - 1);
}
FX_EMU_UNSEEN __attribute__((visibility("hidden"))) void __tsan_write_range(void *p, size_t n) {
    emu_see(p, n, EMU_WRITE, (char *)__builtin_return_address(0) - 1);
}
FX_EMU_UNSEEN __attribute__((visibility("hidden"))) void __tsan_init() {}
FX_EMU_UNSEEN __attribute__((visibility("hidden"))) void __tsan_func_entry(void *) {}
FX_EMU_UNSEEN __attribute__((visibility("hidden"))) void __tsan_func_exit() {}
}
#else
#define FX_EMU_UNSEEN
#endif

struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// emu_same: the bits of one type as another
template <class TO, class FROM>
inline TO emu_same(FROM x) {
  static_assert(sizeof(TO) == sizeof(FROM), "no such bits");
  TO to;
  __builtin_memcpy(&to, &x, sizeof to);
  return to;
}

// ---- memory ----

inline char *fx_smem() { return emu_self->shared; }
inline unsigned fx_shared(const void *p) { return (unsigned)((const char *)p - emu_self->shared) + EMU_ADDRESS_0; }

// emu_check: an access of N bytes is aligned to N, at most 16
template <int N>
inline void emu_check(const void *p, emu_access access) {
  constexpr size_t ALIGN = N < 16 ? N : 16;
  if ((size_t)p % ALIGN) emu_self->calls->bad_alignment(emu_self, p, N, access);
}

// emu_at: the bytes of shared memory at an address
template <int N>
inline char *emu_at(unsigned address, emu_access access) {
    if (address < EMU_ADDRESS_0 || address - EMU_ADDRESS_0 + N > emu_self->shared_bytes)
        emu_self->calls->bad_shared(emu_self, address, N, access);
    char *p = emu_self->shared + (address - EMU_ADDRESS_0);
    emu_check<N>(p, access);
    return p;
}

// emu_get, emu_put: N bytes of any memory that generic addresses reach, N at most 16
template <int N>
inline void emu_get(void *to, const void *from) {
  emu_check<N>(from, EMU_READ);
  __builtin_memcpy(to, from, N);
}
template <int N>
inline void emu_put(void *to, const void *from) {
  emu_check<N>(to, EMU_WRITE);
  __builtin_memcpy(to, from, N);
}

template <int N>
inline void fx_load_words(unsigned (&w)[N], const void *p) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  constexpr int EACH = N < 4 ? N : 4;
  for (int i = 0; i < N; i += EACH) emu_get<4 * EACH>(w + i, (const unsigned *)p + i);
}
template <int N>
inline void fx_load_once(unsigned (&w)[N], const void *p) {
  static_assert(N % 4 == 0, "no such vector");
  for (int i = 0; i < N; i += 4) emu_get<16>(w + i, (const unsigned *)p + i);
}
template <int N>
inline void fx_store_words(void *p, const unsigned (&w)[N]) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  constexpr int EACH = N < 4 ? N : 4;
  for (int i = 0; i < N; i += EACH) emu_put<4 * EACH>((unsigned *)p + i, w + i);
}

inline unsigned fx_load_u8_if(const void *p, bool valid) {
  unsigned char x = 0;
  if (valid) emu_get<1>(&x, p);
  return x;
}
inline unsigned short fx_load_u16_if(const void *p, bool valid) {
  unsigned short x = 0;
  if (valid) emu_get<2>(&x, p);
  return x;
}
inline unsigned fx_load_u32_if(const void *p, bool valid) {
  unsigned x = 0;
  if (valid) emu_get<4>(&x, p);
  return x;
}
inline void fx_load_24_if(unsigned (&w)[6], const void *p, bool valid) {
  for (int i = 0; i < 6; i += 2) {
    w[i] = w[i + 1] = 0;
    if (valid) emu_get<8>(w + i, (const unsigned *)p + i);
  }
}

inline void fx_shared_put_byte(unsigned to, int x) {
  const signed char byte = (signed char)x;
  __builtin_memcpy(emu_at<1>(to, EMU_WRITE), &byte, 1);
}
template <class... T>
inline void emu_shared_put(unsigned to, T... x) {
  const unsigned w[] = {emu_same<unsigned>(x)...};
  __builtin_memcpy(emu_at<sizeof w>(to, EMU_WRITE), w, sizeof w);
}
inline void fx_shared_put1(unsigned to, float x) { emu_shared_put(to, x); }
inline void fx_shared_put1(unsigned to, unsigned x) { emu_shared_put(to, x); }
inline void fx_shared_put2(unsigned to, float x, float y) { emu_shared_put(to, x, y); }
inline void fx_shared_put2(unsigned to, int x, int y) { emu_shared_put(to, x, y); }
inline void fx_shared_put4(unsigned to, float x, float y, float z, float w) { emu_shared_put(to, x, y, z, w); }
inline void fx_shared_put4(unsigned to, const unsigned (&w)[4]) { emu_shared_put(to, w[0], w[1], w[2], w[3]); }
template <int N, class T>
inline void fx_shared_put(unsigned to, const T *x) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS == 4, "no such vector");
  __builtin_memcpy(emu_at<4 * WORDS>(to, EMU_WRITE), x, 4 * WORDS);
}
template <int N, class T>
inline void fx_shared_get(T *x, unsigned from) {
  constexpr int WORDS = N * (int)sizeof(T) / 4, EACH = WORDS < 4 ? WORDS : 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS % 4 == 0, "no such vector");
  for (int i = 0; i < WORDS; i += EACH)
      __builtin_memcpy((unsigned *)x + i, emu_at<4 * EACH>(from + i * 4, EMU_READ), 4 * EACH);
}

// What they hold stays what it is, so that a result which depends on it shows.
inline void fx_unwritten(unsigned at, int n_bytes) {
  if (emu_self->is_watched) emu_self->calls->unwritten(emu_self, at, n_bytes);
}

__attribute__((noinline, no_sanitize("thread"))) inline void fx_overwrites(bool may) { emu_self->overwrites = may; }

// ---- copies ----

template <int N>
inline void emu_copy(unsigned to, const void *from, bool valid) {
  emu_at<N>(to, EMU_COPY);
  if (valid) {
    emu_check<N>(from, EMU_COPY);
#ifndef FX_EMU_WATCHED  // there the copy is reported
    char bytes[N];
    for (int i = 0; i < N; ++i) bytes[i] = ((const volatile char *)from)[i];  // outside a tensor this is where it shows
#endif
  }
  emu_self->calls->copy(emu_self, to, from, N, valid);
}
inline void fx_cp_async16(unsigned to, const void *from, bool valid) { emu_copy<16>(to, from, valid); }
inline void fx_cp_async8(unsigned to, const void *from, bool valid) { emu_copy<8>(to, from, valid); }
inline void fx_cp_async4(unsigned to, const void *from, bool valid) { emu_copy<4>(to, from, valid); }
inline void fx_cp_async_commit() { emu_self->calls->commit(emu_self); }
template <int N>
inline void fx_cp_async_wait() {
  emu_self->calls->wait(emu_self, N);
}

// ---- threads ----

inline void fx_barrier() { emu_self->calls->barrier(emu_self); }
inline void fx_warp_barrier() { emu_self->calls->together(emu_self, EMU_WARP_BARRIER, 0); }
// Of flags, which two blocks may touch at once: not reported as accesses.
__attribute__((noinline, no_sanitize("thread"))) inline void emu_put_flag(unsigned long long *p, unsigned long long x) {
    *(volatile unsigned long long *)p = x;
}
__attribute__((noinline, no_sanitize("thread"))) inline unsigned long long emu_get_flag(const unsigned long long *p) {
    return *(const volatile unsigned long long *)p;
}
inline void fx_store_release(unsigned long long *p, unsigned long long x) {
  emu_check<8>(p, EMU_WRITE);
  if (emu_self->is_watched) emu_self->calls->release(emu_self, p);
  emu_put_flag(p, x);
}
inline unsigned long long fx_compare_exchange(
    unsigned long long *p, unsigned long long expected, unsigned long long x) {
  emu_check<8>(p, EMU_WRITE);
  const unsigned long long found = emu_get_flag(p);
  if (emu_self->is_watched) emu_self->calls->acquire(emu_self, p);
  if (found != expected) return found;
  if (emu_self->is_watched) emu_self->calls->release(emu_self, p);
  emu_put_flag(p, x);
  return found;
}
inline unsigned long long fx_fetch_add(unsigned long long *p, unsigned long long x) {
  const unsigned long long found = emu_get_flag(p);
  fx_compare_exchange(p, found, found + x);
  return found;
}
inline unsigned long long fx_load_acquire(const unsigned long long *p) {
  emu_check<8>(p, EMU_READ);
  const unsigned long long x = emu_get_flag(p);
  if (emu_self->is_watched) emu_self->calls->acquire(emu_self, p);
  emu_self->calls->give_way(emu_self);
  return x;
}
inline void fx_grid_barrier(unsigned long long *flags) { emu_self->calls->grid_barrier(emu_self, flags); }

__attribute__((noinline)) FX_EMU_UNSEEN inline void emu_add(unsigned *p, unsigned w) { *p += w; }
inline void fx_shared_add(unsigned to, unsigned w) { emu_add((unsigned *)emu_at<4>(to, EMU_WRITE), w); }

inline unsigned emu_shuffle(emu_operation operation, unsigned w, int operand) {
  emu_thread *self = emu_self;
  self->words[0] = w;
  self->calls->together(self, operation, (unsigned)operand);
  return self->words[0];
}
inline unsigned fx_shuffle_xor(unsigned w, int mask) { return emu_shuffle(EMU_SHUFFLE_XOR, w, mask); }
inline unsigned fx_shuffle_up(unsigned w, int delta) { return emu_shuffle(EMU_SHUFFLE_UP, w, delta); }
inline unsigned fx_shuffle_from(unsigned w, int lane) {
  emu_self->words[1] = (unsigned)lane;
  return emu_shuffle(EMU_SHUFFLE_FROM, w, 0);
}
inline unsigned fx_ballot(bool yes) {
  unsigned w = yes ? 1u << emu_self->thread.x % 32 : 0u;
  for (int mask = 1; mask < 32; mask *= 2) w |= fx_shuffle_xor(w, mask);
  return w;
}
inline unsigned fx_reduce_max(unsigned w) {
  for (int mask = 1; mask < 32; mask *= 2) {
    const unsigned other = fx_shuffle_xor(w, mask);
    w = other > w ? other : w;
  }
  return w;
}
inline unsigned fx_reduce_and(unsigned w) {
  for (int mask = 1; mask < 32; mask *= 2) w &= fx_shuffle_xor(w, mask);
  return w;
}
inline unsigned fx_reduce_or(unsigned w) {
  for (int mask = 1; mask < 32; mask *= 2) w |= fx_shuffle_xor(w, mask);
  return w;
}
inline int fx_count_bits(unsigned w) { return __builtin_popcount(w); }

// ---- matrices ----

inline void emu_ldmatrix(emu_operation operation, unsigned (&r)[4], unsigned from) {
  emu_thread *self = emu_self;
  emu_at<16>(from, EMU_READ);
  self->words[0] = from;
  self->calls->together(self, operation, 0);
  for (int i = 0; i < 4; ++i) r[i] = self->words[i];
}
inline void fx_ldmatrix(unsigned (&r)[4], unsigned from) { emu_ldmatrix(EMU_LDMATRIX, r, from); }
inline void fx_ldmatrix_trans(unsigned (&r)[4], unsigned from) { emu_ldmatrix(EMU_LDMATRIX_TRANS, r, from); }

#define FX_EMU_FRAGMENTS(T) T *d, const unsigned (&a)[4], unsigned b0, unsigned b1
template <class T>
inline void emu_mma(emu_operation operation, FX_EMU_FRAGMENTS(T)) {
  emu_thread *self = emu_self;
  for (int i = 0; i < 4; ++i) self->words[i] = emu_same<unsigned>(d[i]), self->words[4 + i] = a[i];
  self->words[8] = b0, self->words[9] = b1;
  self->calls->together(self, operation, 0);
  for (int i = 0; i < 4; ++i) d[i] = emu_same<T>(self->words[i]);
}
inline void fx_mma_bf16(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_BF16, d, a, b0, b1); }
inline void fx_mma_f16(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_F16, d, a, b0, b1); }
inline void fx_mma_tf32(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_TF32, d, a, b0, b1); }
inline void fx_mma_i8_i8(FX_EMU_FRAGMENTS(int)) { emu_mma(EMU_MMA_I8_I8, d, a, b0, b1); }
inline void fx_mma_i8_u8(FX_EMU_FRAGMENTS(int)) { emu_mma(EMU_MMA_I8_U8, d, a, b0, b1); }
inline void fx_mma_u8_i8(FX_EMU_FRAGMENTS(int)) { emu_mma(EMU_MMA_U8_I8, d, a, b0, b1); }
inline void fx_mma_u8_u8(FX_EMU_FRAGMENTS(int)) { emu_mma(EMU_MMA_U8_U8, d, a, b0, b1); }
inline void fx_mma_e4m3_e4m3(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_E4M3_E4M3, d, a, b0, b1); }
inline void fx_mma_e5m2_e4m3(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_E5M2_E4M3, d, a, b0, b1); }
inline void fx_mma_e4m3_e5m2(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_E4M3_E5M2, d, a, b0, b1); }
inline void fx_mma_e5m2_e5m2(FX_EMU_FRAGMENTS(float)) { emu_mma(EMU_MMA_E5M2_E5M2, d, a, b0, b1); }
inline void fx_mma_f64(FX_EMU_FRAGMENTS(double)) {
  emu_thread *self = emu_self;
  __builtin_memcpy(self->words, d, 32);
  for (int i = 0; i < 4; ++i) self->words[8 + i] = a[i];
  self->words[12] = b0, self->words[13] = b1;
  self->calls->together(self, EMU_MMA_F64, 0);
  __builtin_memcpy(d, self->words, 32);
}
#undef FX_EMU_FRAGMENTS

// ---- sm_90a ----

struct __align__(64) fx_tensor_map { unsigned long long words[16]; };
template <int N> struct fx_tensor_maps { fx_tensor_map of[N]; };

inline void fx_mbarrier_init(unsigned at, int arrivals) {
    emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_INIT, at, (unsigned)arrivals);
}
inline void fx_mbarrier_end(unsigned at) { emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_END, at, 0); }
inline void fx_mbarrier_publish() {}
inline void fx_mbarrier_expect(unsigned at, unsigned bytes) {
    emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_EXPECT, at, bytes);
}
inline void fx_mbarrier_arrive(unsigned at) { emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_ARRIVE, at, 0); }
inline void fx_mbarrier_wait(unsigned at, unsigned parity) {
    emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_WAIT, at, parity);
}
inline int fx_cluster_rank() { return (int)(emu_self->block.x % emu_self->cluster); }
inline int fx_cluster_blocks() { return (int)emu_self->cluster; }
inline void fx_cluster_arrive() { emu_self->calls->cluster(emu_self, 0); }
inline void fx_cluster_wait() { emu_self->calls->cluster(emu_self, 1); }
inline unsigned fx_shared_of(unsigned at, int rank) { return at + (unsigned)(rank + 1) * EMU_WINDOW; }
inline void fx_send2(unsigned to, float x, float y, unsigned barrier) {
    emu_self->words[0] = emu_same<unsigned>(x), emu_self->words[1] = emu_same<unsigned>(y);
    emu_self->calls->put(emu_self, to, barrier);
}
inline void fx_mbarrier_arrive_of(unsigned at) { emu_self->calls->mbarrier(emu_self, EMU_MBARRIER_ARRIVE, at, 0); }
inline void fx_mbarrier_wait_sent(unsigned at, unsigned parity) { fx_mbarrier_wait(at, parity); }
inline void fx_tma_prefetch(const fx_tensor_map *) {}
inline void fx_wait_for_kernel() {}  // kernels run one after the other
inline void fx_let_next_start() {}
template <int RANK>
inline void fx_tma_load(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK]) {
    emu_self->calls->box(emu_self, to, map, barrier, at, RANK, 0);
}
inline void fx_bulk_load(unsigned to, const void *from, int bytes, unsigned barrier) {
    emu_self->calls->bulk(emu_self, to, from, bytes, barrier);
}
template <int RANK>
inline void fx_tma_load_cluster(
    unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK], unsigned short blocks) {
    emu_self->calls->box(emu_self, to, map, barrier, at, RANK, blocks);
}
template <int RANK>
inline void fx_tma_load_im2col(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK],
    const unsigned short (&offset)[RANK - 2]) {
    emu_self->calls->pixels(emu_self, to, map, barrier, at, offset, RANK);
}
template <int RANK> inline void fx_tma_store(const fx_tensor_map *map, unsigned from, const int (&at)[RANK]) {
  emu_self->calls->send(emu_self, from, map, at, RANK);
}
inline void fx_tma_publish() {}
inline void fx_tma_publish_all() {}
inline void fx_tma_commit() { emu_self->calls->sent(emu_self, -1); }
template <int N> inline void fx_tma_wait() { emu_self->calls->sent(emu_self, N); }
inline void fx_named_barrier(int number, int threads) { emu_self->calls->named(emu_self, number, threads, 1); }
inline void fx_named_arrive(int number, int threads) { emu_self->calls->named(emu_self, number, threads, 0); }
template <int N> inline void fx_take_registers() { emu_self->calls->together(emu_self, EMU_REGISTERS, N); }
template <int N> inline void fx_give_registers() { emu_self->calls->together(emu_self, EMU_REGISTERS, N); }
inline void fx_wgmma_begin() { emu_self->calls->together(emu_self, EMU_WGMMA_BEGIN, 0); }
inline void fx_wgmma_commit() { emu_self->calls->together(emu_self, EMU_WGMMA_COMMIT, 0); }
template <int N> inline void fx_wgmma_wait() { emu_self->calls->together(emu_self, EMU_WGMMA_WAIT, N); }

// emu_wgmma: the warp's share of a product; the sums lie where d says until they are waited for, as do the elements of a
// where `held` says
template <int N>
inline void emu_wgmma_start(void *sums, unsigned long long a, const unsigned *held, unsigned long long b, unsigned what) {
  emu_thread *self = emu_self;
  __builtin_memcpy(self->words, &sums, sizeof sums);
  __builtin_memcpy(self->words + 2, &held, sizeof held);
  __builtin_memcpy(self->words + 4, &a, sizeof a);
  __builtin_memcpy(self->words + 6, &b, sizeof b);
  self->words[8] = N;
  self->words[9] = what;
  self->calls->together(self, EMU_WGMMA, 0);
}
template <int N, bool BF16, int A_MN, int B_MN, bool TF32>
inline void emu_wgmma(float (&d)[N / 2], unsigned long long a, const unsigned *held, unsigned long long b, int adds) {
  emu_wgmma_start<N>(d, a, held, b, (unsigned)BF16 | A_MN << 1 | B_MN << 2 | (adds != 0) << 3 | (held != nullptr) << 4 | TF32 << 5);
}
template <int N, int KIND, class SUM>
inline void emu_wgmma_bytes(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
  emu_wgmma_start<N>(d, a, nullptr, b, (adds != 0) << 3 | 1 << 6 | (SUM(1) / 2 == 0) << 7 | KIND << 8);
}
#define FX_EMU_STARTS template <bool BF16, int A_MN, int B_MN, bool TF32 = false> inline void
#define FX_EMU_OPERANDS unsigned long long a, unsigned long long b, int adds
FX_EMU_STARTS fx_wgmma_64(float (&d)[32], FX_EMU_OPERANDS) { emu_wgmma<64, BF16, A_MN, B_MN, TF32>(d, a, nullptr, b, adds); }
FX_EMU_STARTS fx_wgmma_128(float (&d)[64], FX_EMU_OPERANDS) { emu_wgmma<128, BF16, A_MN, B_MN, TF32>(d, a, nullptr, b, adds); }
FX_EMU_STARTS fx_wgmma_192(float (&d)[96], FX_EMU_OPERANDS) { emu_wgmma<192, BF16, A_MN, B_MN, TF32>(d, a, nullptr, b, adds); }
FX_EMU_STARTS fx_wgmma_256(float (&d)[128], FX_EMU_OPERANDS) { emu_wgmma<256, BF16, A_MN, B_MN, TF32>(d, a, nullptr, b, adds); }
#undef FX_EMU_STARTS
#define FX_EMU_STARTS template <int KIND, class SUM> inline void
FX_EMU_STARTS fx_wgmma_bytes_64(SUM (&d)[32], FX_EMU_OPERANDS) { emu_wgmma_bytes<64, KIND>(d, a, b, adds); }
FX_EMU_STARTS fx_wgmma_bytes_128(SUM (&d)[64], FX_EMU_OPERANDS) { emu_wgmma_bytes<128, KIND>(d, a, b, adds); }
FX_EMU_STARTS fx_wgmma_bytes_192(SUM (&d)[96], FX_EMU_OPERANDS) { emu_wgmma_bytes<192, KIND>(d, a, b, adds); }
FX_EMU_STARTS fx_wgmma_bytes_256(SUM (&d)[128], FX_EMU_OPERANDS) { emu_wgmma_bytes<256, KIND>(d, a, b, adds); }
#undef FX_EMU_STARTS
#undef FX_EMU_OPERANDS
#define FX_EMU_STARTS template <bool BF16, int B_MN> inline void
#define FX_EMU_OPERANDS const unsigned (&a)[4], unsigned long long b, int adds
FX_EMU_STARTS fx_wgmma_held_64(float (&d)[32], FX_EMU_OPERANDS) { emu_wgmma<64, BF16, 0, B_MN, false>(d, 0, a, b, adds); }
FX_EMU_STARTS fx_wgmma_held_128(float (&d)[64], FX_EMU_OPERANDS) { emu_wgmma<128, BF16, 0, B_MN, false>(d, 0, a, b, adds); }
FX_EMU_STARTS fx_wgmma_held_256(float (&d)[128], FX_EMU_OPERANDS) { emu_wgmma<256, BF16, 0, B_MN, false>(d, 0, a, b, adds); }
#undef FX_EMU_STARTS
#undef FX_EMU_OPERANDS

// ---- numbers ----

inline unsigned fx_bits(float x) { return emu_same<unsigned>(x); }
inline float fx_from_bits(unsigned bits) { return emu_same<float>(bits); }
inline double fx_f64_from_bits(unsigned long long bits) { return emu_same<double>(bits); }

// emu_odd: what lies between 0 and x of what rounding x to nearest gave, the last bit set where that is not x
template <class T, class BITS>
inline T emu_odd(T nearest, bool is_beyond, bool is_exact) {
  BITS bits = emu_same<BITS>(nearest);
  if (is_beyond) --bits;  // one step nearer to 0, whatever the sign
  return is_exact ? nearest : emu_same<T>((BITS)(bits | 1));
}
inline float fx_f64_to_f32_odd(double x) {
  const float f = (float)x;
  if (x != x) return f;
  return emu_odd<float, unsigned>(f, fabs((double)f) > fabs(x), (double)f == x);
}
inline double fx_i64_to_f64_odd(long long x) {
  const double d = (double)x;
  const __int128 back = (__int128)d, exact = x;
  return emu_odd<double, unsigned long long>(d, exact < 0 ? back < exact : back > exact, back == exact);
}
inline double fx_u64_to_f64_odd(unsigned long long x) {
  const double d = (double)x;
  const __int128 back = (__int128)d, exact = x;
  return emu_odd<double, unsigned long long>(d, back > exact, back == exact);
}

inline unsigned fx_funnel(unsigned lo, unsigned hi, int bits) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (bits & 31));
}
inline unsigned fx_and_or(unsigned x, unsigned mask, unsigned y) { return (x & mask) | y; }
inline unsigned fx_permute(unsigned lo, unsigned hi, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)hi << 32 | lo;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    r |= ((unsigned)(bytes >> 8 * (selector >> 4 * i & 7)) & 255) << 8 * i;  // a nibble's highest bit does not count
  }
  return r;
}
inline unsigned fx_pack_bytes(int x0, int x1, int x2, int x3) {
    return (x0 & 255u) | (x1 & 255u) << 8 | (x2 & 255u) << 16 | (x3 & 255u) << 24;
}

template <class T> inline void fx_hide(const T *&) {}
inline void fx_hide(int &) {}
inline void fx_hide(long long &) {}

inline float fx_max(float x, float y) {
    return x != x || y != y ? fx_from_bits(0x7fffffffu) : x > y || (x == y && !(fx_bits(x) >> 31)) ? x : y;
}
inline float fx_min(float x, float y) {
    return x != x || y != y ? fx_from_bits(0x7fffffffu) : x < y || (x == y && fx_bits(x) >> 31) ? x : y;
}

// emu_flush: 0 of its sign for what is below the normal range
inline float emu_flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
inline float fx_exp2_approx(float x) { return emu_flush(exp2f(emu_flush(x))); }
inline float fx_rcp_approx(float x) { return emu_flush(1.0f / emu_flush(x)); }

// emu_to_small: x rounded to a float of FRACTION bits and an exponent of BIAS, ties to even; its bits, without the sign
template <int FRACTION, int BIAS>
inline unsigned emu_to_small(unsigned magnitude) {
  constexpr unsigned LEAST = (unsigned)(127 - BIAS + 1) << 23, INFINITE = (unsigned)(2 * BIAS + 1) << FRACTION;
  if (magnitude > 0x7f800000u) return INFINITE | ((1u << FRACTION) - 1);
  if (magnitude < LEAST) {  // what is added leaves the fraction where it belongs, rounded
    const float unit = fx_from_bits((unsigned)(127 - BIAS + 1 + 23 - FRACTION) << 23);
    return fx_bits(fx_from_bits(magnitude) + unit) - fx_bits(unit);
  }
  const unsigned from_bias = magnitude - ((unsigned)(127 - BIAS) << 23);
  const unsigned rounded = (from_bias + (1u << (22 - FRACTION)) - 1 + (from_bias >> (23 - FRACTION) & 1)) >>
                           (23 - FRACTION);
  return rounded > INFINITE ? INFINITE : rounded;
}
inline float fx_f16_to_f32(unsigned short bits) {
  const unsigned magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) return fx_from_bits(magnitude > 0x7c00u ? 0x7fffffffu : sign | 0x7f800000u);
  return fx_from_bits(sign | fx_bits(fx_from_bits(magnitude << 13) * 0x1p112f));
}
inline unsigned short fx_f32_to_f16(float x) {
  const unsigned bits = fx_bits(x), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  return (unsigned short)((bits >> 16 & 0x8000u) | emu_to_small<10, 15>(magnitude));
}
inline unsigned short fx_f32_to_bf16(float x) {
  const unsigned bits = fx_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
// emu_to_f8: likewise of magnitudes below MOST, to which others are saturated; NaN has all bits but the sign
template <int FRACTION, int BIAS, unsigned MOST>
inline unsigned char emu_to_f8(float x) {
  const unsigned bits = fx_bits(x), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  constexpr unsigned LEAST = (unsigned)(127 - BIAS + 1) << 23;
  const unsigned from_bias = magnitude - ((unsigned)(127 - BIAS) << 23);
  const unsigned r = magnitude < LEAST ? emu_to_small<FRACTION, BIAS>(magnitude)
                                       : (from_bias + (1u << (22 - FRACTION)) - 1 + (from_bias >> (23 - FRACTION) & 1)) >> (23 - FRACTION);
  return (unsigned char)((bits >> 24 & 0x80u) | (r > MOST ? MOST : r));
}
inline unsigned char fx_f32_to_e4m3(float x) { return emu_to_f8<3, 7, 0x7e>(x); }
inline unsigned char fx_f32_to_e5m2(float x) { return emu_to_f8<2, 15, 0x7b>(x); }
inline unsigned fx_pack_f16(float lo, float hi) { return fx_f32_to_f16(lo) | (unsigned)fx_f32_to_f16(hi) << 16; }
inline unsigned fx_pack_bf16(float lo, float hi) { return fx_f32_to_bf16(lo) | (unsigned)fx_f32_to_bf16(hi) << 16; }

// emu_fma: a * b + c, a number of at most 11 digits each: the double nearest, the last bit set where it is not exact, as an odd float
inline float emu_fma(float a, float b, float c) {
  const double product = (double)a * b, sum = product + c, of_c = sum - product, rest = (product - (sum - of_c)) + (c - of_c);
  if (!(fabs(sum) <= 0x1.fffffffffffffp1023)) return (float)sum;
  return fx_f64_to_f32_odd(emu_odd<double, unsigned long long>(sum, (rest < 0) == (sum > 0), rest == 0));
}
inline unsigned fx_fma_f16x2(unsigned a, unsigned b, unsigned c) {
  float d[2];
  for (int i = 0; i < 2; ++i) d[i] = emu_fma(fx_f16_to_f32((unsigned short)(a >> 16 * i)), fx_f16_to_f32((unsigned short)(b >> 16 * i)), fx_f16_to_f32((unsigned short)(c >> 16 * i)));
  return fx_pack_f16(d[0], d[1]);
}
inline unsigned fx_fma_bf16x2(unsigned a, unsigned b, unsigned c) {
  float d[2];
  for (int i = 0; i < 2; ++i) d[i] = emu_fma(fx_from_bits(a >> 16 * i << 16), fx_from_bits(b >> 16 * i << 16), fx_from_bits(c >> 16 * i << 16));
  return fx_pack_bf16(d[0], d[1]);
}

inline unsigned fx_cvt_tf32(unsigned bits) {
  // A NaN is cut off, as an H200 does: one whose upper 10 bits of fraction are 0 becomes an infinity.
  return ((bits & 0x7fffffffu) > 0x7f800000u ? bits : bits + 0x1000u) & 0xffffe000u;
}
inline unsigned fx_round_tf32(unsigned bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
  return fx_bits(fmaf(fx_from_bits(bits), 0x1p-126f, fx_from_bits((bits + 0x1000u) & 0xffffe000u)));
}

// ---- the entry ----

// What is done between the machine and the entry is nobody's access.
template <class T>
FX_EMU_UNSEEN inline T &emu_argument(void *at) {
  return *(T *)at;
}
template <int... I> struct emu_numbers {};
template <int N, int... I> struct emu_count : emu_count<N - 1, N - 1, I...> {};
template <int... I> struct emu_count<0, I...> { typedef emu_numbers<I...> type; };

template <class... A, int... I>
FX_EMU_UNSEEN inline void emu_apply(void (*f)(A...), void **arguments, emu_numbers<I...>) {
  f(emu_argument<A>(arguments[I])...);
}
template <class... A>
FX_EMU_UNSEEN inline void emu_call(void (*f)(A...), void **arguments) {
  emu_apply(f, arguments, typename emu_count<sizeof...(A)>::type());
}
template <class... A>
inline const unsigned *emu_sizes(void (*)(A...)) {
  static const unsigned sizes[] = {(unsigned)sizeof(A)..., 0};
  return sizes;
}
template <class... A>
constexpr int emu_arity(void (*)(A...)) {
  return sizeof...(A);
}

#define FX_EMU_ENTRY(name, parameters, source)                                               \
    extern "C" __attribute__((visibility("default"))) emu_entry emu_entry_of_##name;         \
    FX_EMU_UNSEEN static void emu_call_##name(void **arguments) { emu_call(name, arguments); } \
    emu_entry emu_entry_of_##name = {emu_call_##name, parameters, emu_sizes(name), emu_arity(name), &emu_running, source};
