// Written by fxc 0.1.0 from one.fx for sm_90a. Self-contained: compile with nvcc or NVRTC, no headers.
// How to launch (cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; more than 48 KB of shared memory needs the
// kernel's maximum raised). Of several entries take the first that its needs allow, or the one that suits the extents best;
// [1] among them stands for the conditions listed so.
//
// kernel one(q: bf16[B=16,H=8,S=1,D=128], k: bf16[B=16,H=8,T=8192,D=128], v: bf16[B=16,H=8,T=8192,E=128], scale: f32) -> (y: bf16[B=16,H=8,S=1,E=128])
//   workspace buffer0_: 4194304 bytes, 256-byte aligned
//   workspace buffer1_: 4194304 bytes, 256-byte aligned
//   workspace flags_: SMs * 16 bytes, 256-byte aligned; flags: of any contents
//   launch (cooperative: all blocks resident at once; fewer may be launched) one of these, with arguments (q, k, v, scale, y, buffer0_, buffer1_, flags_), tensors row-major, extents as long long
//     [1]: 16 <= align(q) && 16 <= align(k) && 16 <= align(v)
//     fx_one_32x8: block 256, grid min(32768, SMs * 2), dynamic shared memory 4096
//       needs [1]
//     fx_one_8x32: block 256, grid min(131072, SMs * 2), dynamic shared memory 4096
//       needs [1]
//     fx_one_1x256: block 256, grid min(1048576, SMs * 2), dynamic shared memory 4096
//       needs [1]
//     fx_one_32x8_any: block 256, grid min(32768, SMs * 2), dynamic shared memory 1536
//       needs nothing
//     fx_one_8x32_any: block 256, grid min(131072, SMs * 2), dynamic shared memory 1536
//       needs nothing
//     fx_one_1x256_any: block 256, grid min(1048576, SMs * 2), dynamic shared memory 1536
//       needs nothing
//     fx_one_1x256_big: block 256, grid min(1048576, SMs * 2), dynamic shared memory 1536
//       needs nothing

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

// fx_bits: the bits of a float
FX_DEVICE unsigned fx_bits(float x) { return __float_as_uint(x); }

// fx_from_bits: the float with the given bits
FX_DEVICE float fx_from_bits(unsigned bits) { return __uint_as_float(bits); }

// fx_max: the larger operand, NaN if either is
FX_DEVICE float fx_max(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// fx_f32_to_bf16: x rounded to the nearest bf16, ties to even
FX_DEVICE unsigned short fx_f32_to_bf16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
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

#endif  // FX_PTX

// ---- the hardware of sm_90a ----
#ifndef FX_PTX

// fx_mbarrier_init: a memory barrier of 8 bytes of shared memory: a phase ends with so many arrivals and the bytes expected
FX_DEVICE void fx_mbarrier_init(unsigned at, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory"); }

// fx_mbarrier_publish: what was initialised is seen by copies and, behind a barrier, by other threads
FX_DEVICE void fx_mbarrier_publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// fx_mbarrier_expect: arrives, and lets the phase wait for so many more bytes of copies
FX_DEVICE void fx_mbarrier_expect(unsigned at, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

// fx_cluster_rank: which block of its cluster this one is
FX_DEVICE int fx_cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// fx_cluster_blocks: blocks of a cluster, 1 where the launch has none
FX_DEVICE int fx_cluster_blocks() {
  int n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}

// fx_cluster_arrive: arrives at the barrier of all threads of the cluster
FX_DEVICE void fx_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }

// fx_cluster_wait: waits until all threads of the cluster have arrived
FX_DEVICE void fx_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// fx_shared_of: the address, within the cluster, of what lies at this one in the shared memory of block `rank`
FX_DEVICE unsigned fx_shared_of(unsigned at, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at), "r"(rank));
  return address;
}

// fx_send2: starts writing two floats to shared memory of a block of the cluster, whose memory barrier is told of the 8 bytes; both addresses are of fx_shared_of
FX_DEVICE void fx_send2(unsigned to, float x, float y, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to), "f"(x), "f"(y), "r"(barrier) : "memory");
}

// fx_mbarrier_wait_sent: as fx_mbarrier_wait, for what blocks of the cluster send
FX_DEVICE void fx_mbarrier_wait_sent(unsigned at, unsigned parity) {
  asm volatile("{ .reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}

#endif  // FX_PTX

// ---- mathematics ----

// fx_divisor: what elements of a row are divided by: 1 / d is (high + low) * scale; low has high's sign, so that an infinity times either is one
struct fx_divisor {
  float high, low, scale;
};

// fx_divisor_of: that of d; scale keeps 1 / d among normal numbers
FX_DEVICE fx_divisor fx_divisor_of(float d) {
  const float scale = fabsf(d) < 0x1p-100f ? 0x1p64f : fabsf(d) > 0x1p100f ? 0x1p-64f : 1.0f, scaled = d * scale;
  float high = 1.0f / scaled, low = high;
  if (fabsf(high) <= 0x1p126f && high != 0.0f) {
    if (fmaf(-high, scaled, 1.0f) < 0.0f) high = fx_from_bits(fx_bits(high) - 1);  // no more than it is
    low = fmaf(-high, scaled, 1.0f) / scaled;
    if (low == 0.0f) low = high * 0x1p-60f;
  }
  return fx_divisor{high, low, scale};
}

// fx_divided: x / d, rounded to nearest but for what is within 2^-20 ulp of the middle between two numbers, and for the least of numbers
FX_DEVICE float fx_divided(float x, const fx_divisor &d) { return fmaf(x, d.high, x * d.low) * d.scale; }

// ---- elements of tensors ----

// fx_bf16: a bfloat16 as stored
struct fx_bf16 {
  unsigned short bits;  // sign, 8 bits of exponent, 7 of mantissa
};

// fx_to_float: the value of an element
FX_DEVICE float fx_to_float(float x) { return x; }
FX_DEVICE float fx_to_float(fx_bf16 x) { return fx_from_bits((unsigned)x.bits << 16); }

// fx_from_float: the element of type T nearest to x, ties to even
template <class T> FX_DEVICE T fx_from_float(float x);
template <> FX_DEVICE float fx_from_float<float>(float x) { return x; }
template <> FX_DEVICE fx_bf16 fx_from_float<fx_bf16>(float x) { return fx_bf16{fx_f32_to_bf16(x)}; }

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

// fx_store_one: one element, rounded to nearest even
template <class T>
FX_DEVICE void fx_store_one(T *p, float x) {
  *p = fx_from_float<T>(x);
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

// fx_nothing: stands for what a problem reads, adds up or knows of a row where there is nothing of the kind
struct fx_nothing {};

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

// fx_from_lane_below: what the lane `delta` below holds; a lane with none below gets its own
template <class T>
FX_DEVICE T fx_from_lane_below(const T &x, int delta) {
  return fx_words<T>::of(x).each([=](unsigned w) { return fx_shuffle_up(w, delta); });
}

// ---- the row driver ----

// fx_pass: names the reductions of pass P
template <int P> struct fx_pass {};

// fx_scan: names running sum I
template <int I> struct fx_scan {};

// fx_held: V adjacent elements as stored, in words, so that narrow ones share registers
template <class T, int V>
struct fx_held {
  unsigned w[(V * (int)sizeof(T) + 3) / 4];
  FX_DEVICE T get(int v) const {
    T x;
    if constexpr (sizeof(T) == 8) {
      const unsigned long long bits = (unsigned long long)w[2 * v + 1] << 32 | w[2 * v];
      memcpy(&x, &bits, 8);
    } else if constexpr (sizeof(T) == 4) {
      memcpy(&x, &w[v], 4);
    } else if constexpr (sizeof(T) == 2) {
      const unsigned short bits = (unsigned short)(w[v / 2] >> v % 2 * 16);
      memcpy(&x, &bits, 2);
    } else {
      const unsigned char bits = (unsigned char)(w[v / 4] >> v % 4 * 8);
      memcpy(&x, &bits, 1);
    }
    return x;
  }
};

// fx_hold: V adjacent elements from p, which is aligned to all of them, or to 16 bytes
template <class T, int V>
FX_DEVICE void fx_hold(fx_held<T, V> &h, const T *p) {
  if constexpr (V * sizeof(T) >= 4) {
    fx_load_words(h.w, p);
  } else {
    h.w[0] = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const T x = p[v];
      unsigned bits = 0;
      memcpy(&bits, &x, sizeof x);
      h.w[0] |= bits << v * (int)sizeof(T) * 8;
    }
  }
}

// fx_row_joins: whether the pass behind this one may be taken with it; a problem of which none may has no JOINS
template <class PROBLEM> FX_DEVICE constexpr auto fx_row_joins(int pass, int) -> decltype((bool)PROBLEM::JOINS[0]) { return PROBLEM::JOINS[pass]; }
template <class PROBLEM> FX_DEVICE constexpr bool fx_row_joins(int, ...) { return false; }

// fx_row_joined: the sums of a pass and of the one behind it, of so many elements
template <class FIRST, class SECOND>
struct fx_row_joined {
  FIRST first;
  SECOND second;
  int n;
};

// fx_row_share: a thread's share of its row, or rows; TURNED: teams take turns in memory, as where V elements lie across rows
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM, class SENT = fx_nothing, bool TURNED = PROBLEM::ALONG_ROWS>
struct fx_row_share {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::template frag<V> frag;
  static constexpr bool ALONG_ROWS = PROBLEM::ALONG_ROWS;
  static constexpr int SUMS = ALONG_ROWS ? V : 1;                          // rows of this thread
  static constexpr int STEP = ALONG_ROWS ? 1 : V;                          // elements of a row in a chunk
  static constexpr int THREADS = LANES * ACROSS, ROWS = ACROSS * SUMS;     // of a block
  static_assert(TURNED || LANES <= 32 || ACROSS == 1, "more than a warp shares a row: it must be the block");
  static constexpr int WITHIN = ACROSS < 32 && 32 % ACROSS == 0 ? LANES < 32 / ACROSS ? LANES : 32 / ACROSS : 1, GROUPS = LANES / WITHIN;  // TURNED: lanes of a row in a warp, and such groups
  static constexpr int SETS = TURNED ? GROUPS * ROWS : 64;                                                                             // of sums in shared memory
  static constexpr bool SCANS_DOWN = ALONG_ROWS && PROBLEM::SCANS > 0, AHEAD = SCANS_DOWN && !RESIDENT;
  static constexpr index ROUND = CHUNKS * LANES * STEP;                      // elements of a row that are read at once
  static constexpr int PART = (RESIDENT ? 1 : CHUNKS) * LANES * STEP;        // of which a block of a cluster has whole ones
  static constexpr bool HAS_WHOLE = !RESIDENT && PROBLEM::SCANS == 0;        // rounds of which all exist are taken by themselves
  const PROBLEM &p;                              // the problem
  const index cols;                              // elements of a row
  index begin, end;                              // those of the part at hand
  int part;                                      // its number
  const int lane, team;                          // this thread's place
  index row;                                     // its first row
  bool is_inside;                                // whether there is such a row; if not, it points at one there is
  frag f[CHUNKS];                                // what was read of the chunks at hand
  SENT sent;                                     // where blocks share a row: what they tell each other
  typename PROBLEM::results r[SUMS];             // what is known of each row

  FX_DEVICE fx_row_share(const PROBLEM &problem)
      : p(problem), cols(problem.cols()), begin(0), end(cols), part(0), lane(TURNED ? threadIdx.x / ACROSS : threadIdx.x % LANES), team(TURNED ? threadIdx.x % ACROSS : threadIdx.x / LANES) {}

  FX_DEVICE void start(index first) {
    row = first + (index)team * SUMS;
    is_inside = row < p.rows();
    if (!is_inside) row = first;
  }
  FX_DEVICE index col(index first, int c) const { return first + (SCANS_DOWN ? lane * CHUNKS + c : (c * LANES + lane) * STEP); }
  FX_DEVICE bool has(index at) const { return is_inside && at < end; }
  FX_DEVICE void take_part(int number, int parts, int whole = CHUNKS * LANES * STEP) {  // so many elements at once, of which there are whole ones
    const long long each = (long long)parts * whole, size = (cols + (each - 1)) / each * whole;
    part = number;
    begin = part * size < cols ? (index)(part * size) : cols;
    end = begin + size < cols ? (index)(begin + size) : cols;
  }

  // IS_WHOLE: all chunks from `first` on exist; a row that does not is read where the first one is
  template <bool IS_WHOLE = false>
  FX_DEVICE void fetch(frag (&to)[CHUNKS], index first) const {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      to[c] = frag{};
      if constexpr (!__is_empty(frag))
        if (IS_WHOLE || has(col(first, c))) p.fetch(to[c], row, col(first, c));
    }
  }
  // the chunks of another row: what all rows have in common stays
  FX_DEVICE void fetch_again(frag (&to)[CHUNKS]) const {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      if constexpr (!__is_empty(frag))
        if (has(col(begin, c))) p.fetch_again(to[c], row, col(begin, c));
    }
  }
  // the chunks of the next round, fetched while lanes wait for each other
  struct round_ahead {
    frag f[CHUNKS];
  };
  FX_DEVICE void turn(const round_ahead &next) {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) f[c] = next.f[c];
  }

  template <int P>
  FX_DEVICE void prepare() {
    if constexpr (PROBLEM::PREPARES[P]) {
#pragma unroll
      for (int s = 0; s < SUMS; ++s) p.prepare(fx_pass<P>(), r[s], row + s);
    }
  }

  // what the lanes of a row before this one add up to, and all of them; scans run along the row
  template <int I, class T>
  FX_DEVICE void scan_lanes(const T &mine, T &before, T &all) const {
    const int in_warp = lane % 32;
    T sum = mine;
#pragma unroll
    for (int d = 1; d < (LANES < 32 ? LANES : 32); d *= 2) {
      const T below = fx_from_lane_below(sum, d);
      if (in_warp >= d) sum = p.combine(fx_scan<I>(), below, sum);
    }
    T warps = p.identity(fx_scan<I>());
    if constexpr (LANES > 32) {
      unsigned *slots = (unsigned *)fx_smem();
      fx_barrier();  // everyone has read what stood there, of the scan before or of sums
      if (in_warp == 31) fx_words<T>::of(sum).put(slots, 33, lane / 32);
      fx_barrier();  // the warps' totals are there
      all = warps;
      for (int w = 0; w < LANES / 32; ++w) {
        if (w == lane / 32) warps = all;
        all = p.combine(fx_scan<I>(), all, fx_words<T>::from(slots, 33, w));
      }
    } else {
      all = sum;
#pragma unroll
      for (int m = 1; m < LANES; m *= 2) {  // the last lane's
        const T other = fx_from_lane_xor(all, m);
        if (!(lane & m)) all = other;
      }
    }
    const T below = fx_from_lane_below(sum, 1);
    before = in_warp == 0 ? warps : p.combine(fx_scan<I>(), warps, below);
  }

  // what stands before this lane's elements of V columns, and so far with those of all lanes; scans run down columns
  template <int I, class T>
  FX_DEVICE void scan_lanes_down(const T (&mine)[V], T (&before)[V], T (&so_far)[V]) const {
    if constexpr (LANES == 1) {
#pragma unroll
      for (int v = 0; v < V; ++v) before[v] = so_far[v], so_far[v] = p.combine(fx_scan<I>(), so_far[v], mine[v]);
    } else {
      constexpr int WORDS = V * (int)sizeof(T) / 4, PIECE = WORDS < 4 ? WORDS : 4;
      static_assert(LANES % WITHIN == 0, "warps share no columns in part");
      const int within = lane % WITHIN, group = lane / WITHIN;
      const unsigned slots = fx_shared(fx_smem()) + team * (PIECE * 4);
      unsigned w[WORDS];
      T sum[V], groups[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum[v] = mine[v];
#pragma unroll
        for (int d = 1; d < WITHIN; d *= 2) {
          const T below = fx_from_lane_below(sum[v], d * ACROSS);
          if (within >= d) sum[v] = p.combine(fx_scan<I>(), below, sum[v]);
        }
        before[v] = p.identity(fx_scan<I>());
        groups[v] = so_far[v];
        if constexpr (WITHIN > 1) {
          const T below = fx_from_lane_below(sum[v], ACROSS);
          if (within > 0) before[v] = below;
        }
      }
      memcpy(w, sum, sizeof w);
      fx_barrier();  // everyone has read what stood there, of the scan before or of sums
      if (within == WITHIN - 1) {
#pragma unroll
        for (int i = 0; i < WORDS; i += PIECE) fx_shared_put<PIECE>(slots + (group * WORDS + i) * (ACROSS * 4), &w[i]);
      }
      fx_barrier();  // the groups' totals are there
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int i = 0; i < WORDS; i += PIECE) fx_shared_get<PIECE>(&w[i], slots + (g * WORDS + i) * (ACROSS * 4));
        memcpy(sum, w, sizeof w);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (g == group) groups[v] = so_far[v];
          so_far[v] = p.combine(fx_scan<I>(), so_far[v], sum[v]);
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) before[v] = p.combine(fx_scan<I>(), groups[v], before[v]);
    }
  }

  // running sums I to LAST that pass P reads, down columns: at all chunks
  template <int P, int I, int LAST = PROBLEM::SCANS>
  FX_DEVICE void scan_down(typename PROBLEM::template scans<V> (&s)[CHUNKS], typename PROBLEM::template scans<SUMS> &carry, index first) {
    if constexpr (I < LAST) {
      if constexpr (PROBLEM::SCANNED[I][P]) {
        auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
          auto &x = p.values(fx_scan<I>(), s[c]);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            x[v] = p.identity(fx_scan<I>());
            if (has(col(first, c))) x[v] = p.template term<V>(fx_scan<I>(), f[c], s[c], v, r[v], row + v, col(first, c));
            if (c > 0) x[v] = p.combine(fx_scan<I>(), p.values(fx_scan<I>(), s[c > 0 ? c - 1 : 0])[v], x[v]);
          }
        }
        typename PROBLEM::template scans<V> below;
        auto &before = p.values(fx_scan<I>(), below);
        scan_lanes_down<I>(p.values(fx_scan<I>(), s[CHUNKS - 1]), before, so_far);
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
          for (int v = 0; v < V; ++v) p.values(fx_scan<I>(), s[c])[v] = p.combine(fx_scan<I>(), before[v], p.values(fx_scan<I>(), s[c])[v]);
        }
      }
      scan_down<P, I + 1, LAST>(s, carry, first);
    }
  }

  // running sums I to LAST that pass P reads, along the row: at chunk c
  template <int P, int I, int LAST = PROBLEM::SCANS>
  FX_DEVICE void scan(typename PROBLEM::template scans<V> &s, typename PROBLEM::template scans<SUMS> &carry, int c, index at) {
    if constexpr (I < LAST) {
      if constexpr (PROBLEM::SCANNED[I][P]) {
        auto &x = p.values(fx_scan<I>(), s);
        auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          x[v] = p.identity(fx_scan<I>());
          if (has(at)) x[v] = p.template term<V>(fx_scan<I>(), f[c], s, v, r[0], row, at + v);
        }
#pragma unroll
        for (int v = 1; v < V; ++v) x[v] = p.combine(fx_scan<I>(), x[v - 1], x[v]);
        auto before = x[0], all = x[0];
        scan_lanes<I>(x[V - 1], before, all);
        before = p.combine(fx_scan<I>(), so_far[0], before);
#pragma unroll
        for (int v = 0; v < V; ++v) x[v] = p.combine(fx_scan<I>(), before, x[v]);
        so_far[0] = p.combine(fx_scan<I>(), so_far[0], all);
      }
      scan<P, I + 1, LAST>(s, carry, c, at);
    }
  }
  // what the parts before this one left of running sum I
  template <int I, class T>
  FX_DEVICE void scan_parts(T (&so_far)[SUMS]) const {
    const int each = (part + (LANES - 1)) / LANES, first = lane * each, last = first + each < part ? first + each : part;
    T mine[SUMS], before[SUMS];
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      mine[s] = p.identity(fx_scan<I>());
      for (int i = first; i < last; ++i) mine[s] = p.combine(fx_scan<I>(), mine[s], fx_words<T>::from(p.partial(PROBLEM::PASSES + I, row + s, i), 1, 0));
    }
    if constexpr (ALONG_ROWS) scan_lanes_down<I>(mine, before, so_far);
    else scan_lanes<I>(mine[0], before[0], so_far[0]);
  }
  // running sums ahead of pass P: nothing, or of the first KNOWN those that it reads what earlier parts left
  template <int I, int P, int KNOWN = PROBLEM::SCANS>
  FX_DEVICE void start_scans(typename PROBLEM::template scans<SUMS> &carry) const {
    if constexpr (I < PROBLEM::SCANS) {
      auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) so_far[s] = p.identity(fx_scan<I>());
      if constexpr (PROBLEM::IN_PARTS && I < KNOWN && PROBLEM::SCANNED[I][P]) scan_parts<I>(so_far);
      start_scans<I + 1, P, KNOWN>(carry);
    }
  }

  // whether pass P and the one behind it are one over these rows; how often lanes join ahead of pass P
  static FX_DEVICE constexpr bool joins(int pass) { return !RESIDENT && fx_row_joins<PROBLEM>(pass, 0); }
  static FX_DEVICE constexpr int joins_before(int pass) {
    int n = 0;
    for (int i = 0; i < pass; i += joins(i) ? 2 : 1) ++n;
    return n;
  }
  // what would be known of a row all of which is as the n elements of which pass P gave this
  template <int P, class FIRST>
  FX_DEVICE typename PROBLEM::results known_of(typename PROBLEM::results of, FIRST a, int n) const {
    p.extend(fx_pass<P>(), a, (float)cols / (float)n);
    p.finish(fx_pass<P>(), of, a);
    if constexpr (PROBLEM::PREPARES[P + 1]) p.prepare(fx_pass<P + 1>(), of, row);
    return of;
  }
  template <int P, class SUM>
  FX_DEVICE void combine(SUM &a, const SUM &b) const {
    p.combine(fx_pass<P>(), a, b);
  }
  template <int P, class FIRST, class SECOND>
  FX_DEVICE void combine(fx_row_joined<FIRST, SECOND> &a, const fx_row_joined<FIRST, SECOND> &b) const {
    FIRST first = a.first;
    SECOND second = b.second;
    p.combine(fx_pass<P>(), first, b.first);
    const typename PROBLEM::results all = known_of<P>(r[0], first, a.n + b.n);
    if (a.n) p.rescale(fx_pass<P + 1>(), a.second, known_of<P>(r[0], a.first, a.n), all, a.n);
    if (b.n) p.rescale(fx_pass<P + 1>(), second, known_of<P>(r[0], b.first, b.n), all, b.n);
    p.combine(fx_pass<P + 1>(), a.second, second);
    a.first = first;
    a.n += b.n;
  }

  // every lane gets what all lanes of its row hold together
  template <int P, int TURN, class SUM>
  FX_DEVICE void join_lanes(SUM (&a)[SUMS]) const {
    if constexpr (TURNED) {
      if constexpr (LANES > 1) {
#pragma unroll
        for (int s = 0; s < SUMS; ++s) {
#pragma unroll
          for (int m = ACROSS; m < WITHIN * ACROSS; m *= 2) combine<P>(a[s], fx_from_lane_xor(a[s], m));
        }
        if constexpr (GROUPS > 1) {
          unsigned *slots = (unsigned *)fx_smem();
          fx_barrier();  // everyone has read the sets before
          if (lane % WITHIN == 0) {
#pragma unroll
            for (int s = 0; s < SUMS; ++s) fx_words<SUM>::of(a[s]).put(slots, SETS, (lane / WITHIN * SUMS + s) * ACROSS + team);
          }
          fx_barrier();  // the groups' sets are there
          for (int i = threadIdx.x; i < ROWS; i += THREADS) {
            SUM all = fx_words<SUM>::from(slots, SETS, i);
#pragma unroll 4
            for (int g = 1; g < GROUPS; ++g) combine<P>(all, fx_words<SUM>::from(slots, SETS, g * ROWS + i));
            fx_words<SUM>::of(all).put(slots, SETS, i);
          }
          fx_barrier();  // the results are there
#pragma unroll
          for (int s = 0; s < SUMS; ++s) a[s] = fx_words<SUM>::from(slots, SETS, s * ACROSS + team);
        }
      }
    } else {
#pragma unroll
      for (int m = (LANES < 32 ? LANES : 32) / 2; m > 0; m /= 2) combine<P>(a[0], fx_from_lane_xor(a[0], m));
      if constexpr (LANES > 32) {
        constexpr int WARPS = LANES / 32;
        unsigned *slots = (unsigned *)fx_smem() + TURN % 2 * (32 * PROBLEM::SUM_WORDS);  // taking turns: nobody writes where another may still read
        if (PROBLEM::SCANS > 0) fx_barrier();                                       // everyone has read what scans have in the same memory, or the set before
        if (lane % 32 == 0) fx_words<SUM>::of(a[0]).put(slots, 32, lane / 32);
        fx_barrier();  // the warps' sums are there
        a[0] = fx_words<SUM>::from(slots, 32, lane % WARPS);
#pragma unroll
        for (int m = WARPS / 2; m > 0; m /= 2) combine<P>(a[0], fx_from_lane_xor(a[0], m));
      }
    }
  }

  // Blocks of a cluster that share a row: the memory barriers are there, in all of them.
  FX_DEVICE void begin_sending() {
    sent = SENT{fx_shared(fx_smem()) + SETS * PROBLEM::SUM_WORDS * 4, 0, 0};
    if (threadIdx.x == 0) {
      fx_mbarrier_init(sent.at, 1);
      fx_mbarrier_init(sent.at + 8, 1);
      fx_mbarrier_publish();
    }
    fx_cluster_arrive();
    fx_cluster_wait();
  }

  // Where blocks share a row, each gets what all of them hold together, added up in the order of their ranks. Whoever sends for the join after the next has joined the
  // next, for which this block sent when it had read what it was sent for this one.
  template <int P, class SUM>
  FX_DEVICE void join_blocks(SUM (&a)[SUMS]) {
    if constexpr (!__is_empty(SENT)) {
      typedef fx_words<SUM> words;
      constexpr int PAIRS = (words::N + 1) / 2;
      static_assert(PAIRS * 2 <= PROBLEM::SUM_WORDS && LANES >= SENT::MOST && THREADS > 32, "no room for what is sent, or nobody to send it");
      const int blocks = fx_cluster_blocks(), rank = fx_cluster_rank();
      const unsigned barrier = sent.at + sent.turn * 8, sets = sent.at + 16 + (sent.turn * SENT::MOST * ROWS * PROBLEM::SUM_WORDS + team * 2) * 4;
      if (threadIdx.x == 0) fx_mbarrier_expect(barrier, blocks * ROWS * PAIRS * 8);
      if (lane < blocks) {
#pragma unroll
        for (int i = 0; i < SUMS * PAIRS; ++i) {
          float x[PAIRS * 2] = {};
          memcpy(x, &a[i / PAIRS], sizeof(SUM));
          fx_send2(fx_shared_of(sets + (rank * SUMS * PAIRS + i) * (ACROSS * 8), lane), x[i % PAIRS * 2], x[i % PAIRS * 2 + 1], fx_shared_of(barrier, lane));
        }
      }
      fx_mbarrier_wait_sent(barrier, sent.parity);
#pragma unroll 1
      for (int b = 0; b < blocks; ++b) {
#pragma unroll
        for (int s = 0; s < SUMS; ++s) {
          unsigned w[PAIRS * 2];
#pragma unroll
          for (int k = 0; k < PAIRS; ++k) fx_shared_get<2>(&w[k * 2], sets + ((b * SUMS + s) * PAIRS + k) * (ACROSS * 8));
          SUM one;
          memcpy(&one, w, sizeof one);
          if (b == 0) a[s] = one;
          else combine<P>(a[s], one);
        }
      }
      sent.parity ^= sent.turn;
      sent.turn ^= 1;
    }
  }

  // pass P, over the part at hand: rounds of which all chunks exist look for no end, so that addresses are computed once
  template <int P, bool IS_FETCHED = false, class SUM>
  FX_DEVICE void fold(SUM (&a)[SUMS]) {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, P>(carry);
    if (AHEAD) fetch(f, begin);
    index first = begin;
    if constexpr (HAS_WHOLE) {
#pragma unroll 1
      for (; end - first >= ROUND; first += ROUND) fold_round<P, true, false>(a, carry, first);
    }
#pragma unroll 1
    for (; first < end; first += ROUND) {
      fold_round<P, false, IS_FETCHED>(a, carry, first);
      if (RESIDENT) break;
    }
  }
  template <int P, bool IS_WHOLE, bool IS_FETCHED, class SUM>
  FX_DEVICE void fold_round(SUM (&a)[SUMS], typename PROBLEM::template scans<SUMS> &carry, index first) {
    if (!AHEAD && !IS_FETCHED && (!RESIDENT || P == 0)) fetch<IS_WHOLE>(f, first);
    round_ahead next;
    if (AHEAD) fetch(next.f, first + ROUND);
    typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
    if constexpr (SCANS_DOWN) scan_down<P, 0>(sums, carry, first);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if constexpr (!SCANS_DOWN) scan<P, 0>(sums[0], carry, c, at);
      if (IS_WHOLE || has(at)) {
#pragma unroll
        for (int v = 0; v < V; ++v)
          p.template fold<RESIDENT == 1, V>(fx_pass<P>(), a[ALONG_ROWS ? v : 0], f[c], sums[SCANS_DOWN ? c : 0], v, r[ALONG_ROWS ? v : 0], row + (ALONG_ROWS ? v : 0), at + (ALONG_ROWS ? 0 : v));
      }
    }
    if (AHEAD) turn(next);
  }

  // Pass P and the one behind it over rows that are read again: of each round first what pass P takes of it, to which the sums of the other are brought.
  template <int P, class FIRST, class SECOND>
  FX_DEVICE void fold_joined(fx_row_joined<FIRST, SECOND> (&a)[SUMS]) {
    index first = begin;
#pragma unroll 1
    for (; end - first >= ROUND; first += ROUND) fold_joined_round<P, true>(a, first);
#pragma unroll 1
    for (; first < end; first += ROUND) fold_joined_round<P, false>(a, first);
  }
  template <int P, bool IS_WHOLE, class FIRST, class SECOND>
  FX_DEVICE void fold_joined_round(fx_row_joined<FIRST, SECOND> (&a)[SUMS], index first) {
    typedef typename PROBLEM::template scans<V> scans;
    FIRST next[SUMS];
    int n = 0;
    fetch<IS_WHOLE>(f, first);
#pragma unroll
    for (int s = 0; s < SUMS; ++s) next[s] = a[s].first;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if (IS_WHOLE || has(at)) {
        n += STEP;
#pragma unroll
        for (int v = 0; v < V; ++v)
          p.template fold<RESIDENT == 1, V>(fx_pass<P>(), next[ALONG_ROWS ? v : 0], f[c], scans(), v, r[ALONG_ROWS ? v : 0], row + (ALONG_ROWS ? v : 0), at + (ALONG_ROWS ? 0 : v));
      }
    }
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      const int before = a[s].n;
      const typename PROBLEM::results was = known_of<P>(r[s], a[s].first, before);
      r[s] = known_of<P>(r[s], next[s], before + n);
      if (before) p.rescale(fx_pass<P + 1>(), a[s].second, was, r[s], before);
      a[s].first = next[s];
      a[s].n = before + n;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if (IS_WHOLE || has(at)) {
#pragma unroll
        for (int v = 0; v < V; ++v)
          p.template fold<RESIDENT == 1, V>(fx_pass<P + 1>(), a[ALONG_ROWS ? v : 0].second, f[c], scans(), v, r[ALONG_ROWS ? v : 0], row + (ALONG_ROWS ? v : 0), at + (ALONG_ROWS ? 0 : v));
      }
    }
  }

  // pass P and those after it; IS_FETCHED: what is kept of the row is there
  template <int P, bool IS_FETCHED = false>
  FX_DEVICE void reduce() {
    prepare<P>();
    if constexpr (joins(P)) {
      fx_row_joined<decltype(p.identity(fx_pass<P>())), decltype(p.identity(fx_pass<P + 1>()))> a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = {p.identity(fx_pass<P>()), p.identity(fx_pass<P + 1>()), 0};
      fold_joined<P>(a);
      join_lanes<P, joins_before(P)>(a);
      join_blocks<P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) {
        r[s] = known_of<P>(r[s], a[s].first, a[s].n);
        p.finish(fx_pass<P + 1>(), r[s], a[s].second);
      }
      reduce<P + 2, IS_FETCHED>();
    } else if constexpr (P < PROBLEM::PASSES) {
      decltype(p.identity(fx_pass<P>())) a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = p.identity(fx_pass<P>());
      fold<P, IS_FETCHED>(a);
      join_lanes<P, joins_before(P)>(a);
      join_blocks<P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) p.finish(fx_pass<P>(), r[s], a[s]);
      reduce<P + 1, IS_FETCHED>();
    }
  }

  // what the part at hand adds to running sum I, of which pass P reads elements
  template <int P, int I>
  FX_DEVICE void scan_part() {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, P, I>(carry);
    if (AHEAD) fetch(f, begin);
#pragma unroll 1
    for (index first = begin; first < end; first += ROUND) {
      if (!AHEAD) fetch(f, first);
      round_ahead next;
      if (AHEAD) fetch(next.f, first + CHUNKS * LANES * STEP);
      typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
      if constexpr (SCANS_DOWN) {
        scan_down<P, 0, I + 1>(sums, carry, first);
      } else {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) scan<P, 0, I + 1>(sums[0], carry, c, col(first, c));
      }
      if (AHEAD) turn(next);
    }
    auto &all = p.values(fx_scan<I>(), carry);
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      const auto sum = all[s];
      if (is_inside && lane == 0) fx_words<decltype(p.identity(fx_scan<I>()))>::of(sum).put(p.partial(PROBLEM::PASSES + I, row + s, part), 1, 0);
    }
  }

  // the same for one part of the row: the sums of passes before PASS come from memory, those of PASS go there; or, SCAN being the number of a running sum, what the part
  // adds to that
  template <int P, int PASS, int SCAN>
  FX_DEVICE void reduce_part() {
    prepare<P>();
    if constexpr (P == PASS && SCAN >= 0) {
      scan_part<P, SCAN>();
    } else if constexpr (P < PROBLEM::PASSES && P <= PASS) {
      typedef decltype(p.identity(fx_pass<P>())) sum;
      sum a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = p.identity(fx_pass<P>());
      if constexpr (P < PASS) {
#pragma unroll 4
        for (int i = lane; is_inside && i < p.parts(); i += LANES) {
#pragma unroll
          for (int s = 0; s < SUMS; ++s) p.combine(fx_pass<P>(), a[s], fx_words<sum>::from(p.partial(P, row + s, i), 1, 0));
        }
      }
      if constexpr (P == PASS) fold<P>(a);
      join_lanes<P, P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) {
        if (P < PASS) p.finish(fx_pass<P>(), r[s], a[s]);
        else if (is_inside && lane == 0) fx_words<sum>::of(a[s]).put(p.partial(P, row + s, part), 1, 0);
      }
      reduce_part<P + 1, PASS, SCAN>();
    }
  }

  // the same for a part without elements
  template <int PASS, int SCAN>
  FX_DEVICE void skip_part() const {
    if (!is_inside || lane != 0) return;
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      if constexpr (SCAN >= 0) {
        const auto none = p.identity(fx_scan<SCAN>());
        fx_words<decltype(p.identity(fx_scan<SCAN>()))>::of(none).put(p.partial(PROBLEM::PASSES + SCAN, row + s, part), 1, 0);
      } else if constexpr (PASS < PROBLEM::PASSES) {
        const auto none = p.identity(fx_pass<PASS>());
        fx_words<decltype(p.identity(fx_pass<PASS>()))>::of(none).put(p.partial(PASS, row + s, part), 1, 0);
      }
    }
  }

  template <bool IS_WHOLE = false, class TAIL>
  FX_DEVICE void fetch_tail(TAIL &t, index at) const {
    if constexpr (!__is_empty(TAIL))
      if (IS_WHOLE || has(at)) p.fetch_tail(t, row, at);
  }

  // the last pass, which stores elements; what only it reads is under way for all chunks at once where registers allow
  FX_DEVICE void store() {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, PROBLEM::PASSES>(carry);
    if (AHEAD) fetch(f, begin);
    index first = begin;
    if constexpr (HAS_WHOLE) {
#pragma unroll 1
      for (; end - first >= ROUND; first += ROUND) store_round<true>(carry, first);
    }
#pragma unroll 1
    for (; first < end; first += ROUND) {
      store_round<false>(carry, first);
      if (RESIDENT) break;
    }
  }
  template <bool IS_WHOLE>
  FX_DEVICE void store_round(typename PROBLEM::template scans<SUMS> &carry, index first) {
    typedef typename PROBLEM::template tail<V> tail;
    constexpr bool ALL = CHUNKS * sizeof(tail) <= 64;
    tail t[ALL ? CHUNKS : 1];
    if (!AHEAD && (!RESIDENT || PROBLEM::PASSES == 0)) fetch<IS_WHOLE>(f, first);
    round_ahead next;
    if (AHEAD) fetch(next.f, first + ROUND);
#pragma unroll
    for (int c = 0; c < (ALL ? CHUNKS : 0); ++c) {
      t[c] = tail{};
      fetch_tail<IS_WHOLE>(t[c], col(first, c));
    }
    typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
    if constexpr (SCANS_DOWN) scan_down<PROBLEM::PASSES, 0>(sums, carry, first);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if constexpr (!SCANS_DOWN) scan<PROBLEM::PASSES, 0>(sums[0], carry, c, at);
      if (IS_WHOLE ? !is_inside : !has(at)) continue;
      if (!ALL) fetch_tail<IS_WHOLE>(t[0], at);
      p.template store<RESIDENT == 1, V>(f[c], t[ALL ? c : 0], sums[SCANS_DOWN ? c : 0], r, row, at);
    }
    if (AHEAD) turn(next);
  }

  // what teams have of the same columns, joined
  template <class SIDES>
  FX_DEVICE void join_teams(SIDES (&a)[CHUNKS]) const {
    typedef fx_words<SIDES> words;
    unsigned *slots = (unsigned *)fx_smem();
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      fx_barrier();  // everyone has read the sums of rows, or the chunk before
      words::of(a[c]).put(slots, THREADS, threadIdx.x);
      fx_barrier();  // all teams' are there
      if (team == 0) {
#pragma unroll 1
        for (int t = 1; t < ACROSS; ++t) p.combine_sides(a[c], words::from(slots, THREADS, t * LANES + lane));
      }
    }
  }

  // row i of a run of so many
  FX_DEVICE void take_row(index first, index rows, int i) {
    is_inside = i < (int)rows;
    row = is_inside ? first + i : first;
  }

  // The rows of a run, and what is added up over them; the next row is fetched while lanes wait for each other.
  FX_DEVICE void take_run(index run) {
    typedef typename PROBLEM::template sides<V> sides;
    constexpr int KEPT = RESIDENT ? CHUNKS : 1;
    index first, rows;
    sides a[KEPT];
    p.rows_of(run, first, rows);
#pragma unroll
    for (int c = 0; c < KEPT; ++c) a[c] = p.template no_sides<V>();
    round_ahead next;
    take_row(first, rows, team);
    if (RESIDENT) fetch(next.f, begin);
#pragma unroll 1
    for (int i = 0; i < (int)rows; i += ACROSS) {
      take_row(first, rows, i + team);
      const bool was_inside = is_inside;
      const index was_row = row;
      if (RESIDENT) {
        turn(next);
        take_row(first, rows, i + ACROSS + team);
        fetch_again(next.f);
        is_inside = was_inside, row = was_row;
      }
      reduce<0, RESIDENT>();
      store_beside<KEPT>(a, run, i == 0);
      if constexpr (PROBLEM::STORES_RESULTS) store_results();
      if (PROBLEM::SCANS > 0 || PROBLEM::PASSES % 2) fx_barrier();  // everyone has read the last sums of this row
    }
    if constexpr (RESIDENT) {
      if (ACROSS > 1) join_teams(a);
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c)
        if (team == 0 && col(begin, c) < end) p.template put_sides<V>(a[c], run, col(begin, c));
    }
  }

  // the last pass over a row of a run
  template <int KEPT, class SIDES>
  FX_DEVICE void store_beside(SIDES (&a)[KEPT], index run, bool is_first) {
    typedef typename PROBLEM::template tail<V> tail;
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, PROBLEM::PASSES>(carry);
#pragma unroll 1
    for (index at_round = begin; at_round < end; at_round += CHUNKS * LANES * STEP) {
      if (!RESIDENT) fetch(f, at_round);
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c) {
        const index at = col(at_round, c);
        typename PROBLEM::template scans<V> sums;
        tail t = tail{};
        scan<PROBLEM::PASSES, 0>(sums, carry, c, at);
        if (!has(at)) continue;
        fetch_tail(t, at);
        if (!RESIDENT) a[0] = is_first ? p.template no_sides<V>() : p.template get_sides<V>(run, at);
        p.template store<RESIDENT == 1, V>(f[c], t, sums, r, row, at, a[RESIDENT ? c : 0]);
        if (!RESIDENT) p.template put_sides<V>(a[0], run, at);
      }
      if (RESIDENT) break;
    }
  }

  FX_DEVICE void store_results() const {
    if (!is_inside || lane != 0) return;
#pragma unroll
    for (int s = 0; s < SUMS; ++s) p.results_of(r[s], row + s);
  }
};

// fx_row_all: every row of the problem, by shares of this type
template <class pass, class PROBLEM>
FX_DEVICE void fx_row_all(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = p.rows();
  for (index first = (index)blockIdx.x * pass::ROWS; first < rows; first += (index)gridDim.x * pass::ROWS) {
    pass w(p);
    w.start(first);
    w.template reduce<0>();
    if constexpr (PROBLEM::STORES_ELEMENTS) w.store();
    if constexpr (PROBLEM::STORES_RESULTS) w.store_results();
    if (first + (index)gridDim.x * pass::ROWS < rows) fx_barrier();  // everyone has read the last sums of these rows
  }
}

// fx_row: every row of the problem
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row(const PROBLEM &p) {
  fx_row_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM>>(p);
}

// ==== generated from one.fx ====

template <class INDEX>
struct one_0_ {
  typedef INDEX index;
  const fx_bf16 *q_;  // [B_, H_, S_, D_]
  const fx_bf16 *k_;  // [B_, H_, T_, D_]
  float *buffer1_;  // [B_, H_, S_, T_]
  static constexpr long long B_ = 16;
  static constexpr long long H_ = 8;
  static constexpr long long D_ = 128;
  static constexpr long long T_ = 8192;
  static constexpr bool ALONG_ROWS = false, STORES_ELEMENTS = false, STORES_RESULTS = true;
  static constexpr int PASSES = 1, SCANS = 0, SUM_WORDS = 2;
  static constexpr bool PREPARES[PASSES + 1] = {false, false};  // whether values of a row are made ahead of a pass
  FX_DEVICE index rows() const { return (index)B_ * H_ * T_; }
  FX_DEVICE index cols() const { return (index)D_; }
  template <int V> struct frag {  // what V adjacent elements hold for the passes
    fx_held<fx_bf16, V> q_;
    fx_held<fx_bf16, V> k_;
  };
  template <int V> using tail = fx_nothing;  // what the last pass alone reads of them
  struct results {  // what is known of a row
    float sum_mul_;  // line 1: q @[D] k
  };
  template <int N> using scans = fx_nothing;  // running sums
  struct sums0 {  // what pass 0 over a row adds up
    float sum_mul_;  // line 1: q @[D] k
  };
  template <int V> FX_DEVICE void fetch(frag<V> &f, index row, index col) const {
    fx_hold(f.q_, q_ + (long long)(row / (index)T_) * D_ + (long long)col);
    fx_hold(f.k_, k_ + (long long)row * D_ + (long long)col);
  }
  FX_DEVICE sums0 identity(fx_pass<0>) const {
    sums0 a;
    a.sum_mul_ = 0.0f;
    return a;
  }
  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<0>, sums0 &a, frag<V> &f, const scans<V> &, int v, const results &, index, index) const {
    const float mul_ = fx_to_float(f.q_.get(v)) * fx_to_float(f.k_.get(v));  // line 1: q @[D] k
    a.sum_mul_ = a.sum_mul_ + mul_;
  }
  FX_DEVICE void combine(fx_pass<0>, sums0 &a, const sums0 &b) const {
    a.sum_mul_ = a.sum_mul_ + b.sum_mul_;
  }
  FX_DEVICE void finish(fx_pass<0>, results &r, const sums0 &a) const {
    r.sum_mul_ = a.sum_mul_;
  }
  FX_DEVICE void results_of(const results &r, index row) const {
    fx_store_one(buffer1_ + (long long)row, r.sum_mul_);
  }
};

template <class INDEX>
struct one_1_ {
  typedef INDEX index;
  float scale_;
  float *buffer0_;  // [B_, H_, S_, T_]
  const float *buffer1_;  // [B_, H_, S_, T_]
  static constexpr long long B_ = 16;
  static constexpr long long H_ = 8;
  static constexpr long long T_ = 8192;
  static constexpr bool ALONG_ROWS = false, STORES_ELEMENTS = true, STORES_RESULTS = false;
  static constexpr int PASSES = 2, SCANS = 0, SUM_WORDS = 6;
  static constexpr bool PREPARES[PASSES + 1] = {false, true, true};  // whether values of a row are made ahead of a pass
  static constexpr bool JOINS[PASSES + 1] = {true, false, false};  // whether the pass behind may be taken with it
  FX_DEVICE index rows() const { return (index)B_ * H_; }
  FX_DEVICE index cols() const { return (index)T_; }
  template <int V> struct frag {  // what V adjacent elements hold for the passes
    fx_held<float, V> buffer1_;
    float exp_[V];
  };
  template <int V> using tail = fx_nothing;  // what the last pass alone reads of them
  struct results {  // what is known of a row
    float max_mul_;  // line 1: softmax[T]((q @[D] k) * scale)
    float row_shift_;  // line 1: softmax[T]((q @[D] k) * scale)
    float sum_exp_;  // line 1: softmax[T]((q @[D] k) * scale)
    float where_;  // line 1: softmax[T]((q @[D] k) * scale)
    fx_divisor where_divisor_;
  };
  template <int N> using scans = fx_nothing;  // running sums
  struct sums0 {  // what pass 0 over a row adds up
    float max_mul_;  // line 1: softmax[T]((q @[D] k) * scale)
  };
  struct sums1 {  // what pass 1 over a row adds up
    float sum_exp_;  // line 1: softmax[T]((q @[D] k) * scale)
  };
  template <int V> FX_DEVICE void fetch(frag<V> &f, index row, index col) const {
    fx_hold(f.buffer1_, buffer1_ + (long long)row * T_ + (long long)col);
  }
  FX_DEVICE void prepare(fx_pass<1>, results &r, index) const {
    const float abs_ = fabsf(r.max_mul_);  // line 1: softmax[T]((q @[D] k) * scale)
    const bool lt_ = abs_ < fx_from_bits(0x7f800000u);  // line 1: softmax[T]((q @[D] k) * scale)
    r.row_shift_ = lt_ ? r.max_mul_ : 0.0f;  // line 1: softmax[T]((q @[D] k) * scale)
  }
  FX_DEVICE void prepare(fx_pass<2>, results &r, index) const {
    const bool eq_ = r.sum_exp_ == 0.0f;  // line 1: softmax[T]((q @[D] k) * scale)
    r.where_ = eq_ ? 1.0f : r.sum_exp_;  // line 1: softmax[T]((q @[D] k) * scale)
    r.where_divisor_ = fx_divisor_of(r.where_);
  }
  FX_DEVICE sums0 identity(fx_pass<0>) const {
    sums0 a;
    a.max_mul_ = fx_from_bits(0xff800000u);
    return a;
  }
  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<0>, sums0 &a, frag<V> &f, const scans<V> &, int v, const results &, index, index) const {
    const float mul_ = scale_ * f.buffer1_.get(v);  // line 1: q @[D] k * scale
    a.max_mul_ = fx_max(a.max_mul_, mul_);
  }
  FX_DEVICE void combine(fx_pass<0>, sums0 &a, const sums0 &b) const {
    a.max_mul_ = fx_max(a.max_mul_, b.max_mul_);
  }
  FX_DEVICE void finish(fx_pass<0>, results &r, const sums0 &a) const {
    r.max_mul_ = a.max_mul_;
  }
  FX_DEVICE void extend(fx_pass<0>, sums0 &, float) const {}
  FX_DEVICE sums1 identity(fx_pass<1>) const {
    sums1 a;
    a.sum_exp_ = 0.0f;
    return a;
  }
  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<1>, sums1 &a, frag<V> &f, const scans<V> &, int v, const results &r, index, index) const {
    const float mul_ = scale_ * f.buffer1_.get(v);  // line 1: q @[D] k * scale
    const float sub_ = mul_ - r.row_shift_;  // line 1: softmax[T]((q @[D] k) * scale)
    f.exp_[v] = expf(sub_);  // line 1: softmax[T]((q @[D] k) * scale)
    a.sum_exp_ = a.sum_exp_ + f.exp_[v];
  }
  FX_DEVICE void combine(fx_pass<1>, sums1 &a, const sums1 &b) const {
    a.sum_exp_ = a.sum_exp_ + b.sum_exp_;
  }
  FX_DEVICE void finish(fx_pass<1>, results &r, const sums1 &a) const {
    r.sum_exp_ = a.sum_exp_;
  }
  FX_DEVICE void rescale(fx_pass<1>, sums1 &a, const results &before, const results &after, int) const {
    if (before.max_mul_ != after.max_mul_) a.sum_exp_ = before.max_mul_ == fx_from_bits(0xff800000u) ? 0.0f : a.sum_exp_ * expf(before.row_shift_ - after.row_shift_);
  }
  template <bool KEPT, int V> FX_DEVICE void store(frag<V> &f, const tail<V> &, const scans<V> &, const results *r, index row, index col) const {
    float buffer0_out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float mul_ = scale_ * f.buffer1_.get(v);  // line 1: q @[D] k * scale
      const float sub_ = mul_ - r[0].row_shift_;  // line 1: softmax[T]((q @[D] k) * scale)
      const float exp_ = KEPT ? f.exp_[v] : expf(sub_);  // line 1: softmax[T]((q @[D] k) * scale)
      buffer0_out[v] = fx_divided(exp_, r[0].where_divisor_);  // line 1: softmax[T](q @[D] k * scale)
    }
    fx_store<V, true>(buffer0_ + (long long)row * T_ + (long long)col, buffer0_out, V);
  }
};

template <class INDEX>
struct one_2_ {
  typedef INDEX index;
  const fx_bf16 *v_;  // [B_, H_, T_, E_]
  fx_bf16 *y_;  // [B_, H_, S_, E_]
  const float *buffer0_;  // [B_, H_, S_, T_]
  static constexpr long long B_ = 16;
  static constexpr long long H_ = 8;
  static constexpr long long T_ = 8192;
  static constexpr long long E_ = 128;
  static constexpr bool ALONG_ROWS = true, STORES_ELEMENTS = false, STORES_RESULTS = true;
  static constexpr int PASSES = 1, SCANS = 0, SUM_WORDS = 2;
  static constexpr bool PREPARES[PASSES + 1] = {false, false};  // whether values of a row are made ahead of a pass
  FX_DEVICE index rows() const { return (index)B_ * H_ * E_; }
  FX_DEVICE index cols() const { return (index)T_; }
  template <int V> struct frag {  // what V adjacent elements hold for the passes
    fx_held<fx_bf16, V> v_;
  };
  template <int V> using tail = fx_nothing;  // what the last pass alone reads of them
  struct results {  // what is known of a row
    float y_;  // line 1: softmax[T](q @[D] k * scale) @[T] v
  };
  template <int N> using scans = fx_nothing;  // running sums
  struct sums0 {  // what pass 0 over a row adds up
    float y_;  // line 1: softmax[T](q @[D] k * scale) @[T] v
  };
  template <int V> FX_DEVICE void fetch(frag<V> &f, index row, index col) const {
    fx_hold(f.v_, v_ + (long long)(row / (index)E_) * T_ * E_ + (long long)col * E_ + (long long)(row % (index)E_));
  }
  FX_DEVICE sums0 identity(fx_pass<0>) const {
    sums0 a;
    a.y_ = 0.0f;
    return a;
  }
  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<0>, sums0 &a, frag<V> &f, const scans<V> &, int v, const results &, index row, index col) const {
    const float mul_ = fx_to_float(f.v_.get(v)) * buffer0_[(long long)((row / (index)(H_ * E_))) * H_ * T_ + (long long)((row / (index)E_ % (index)H_)) * T_ + col];  // line 1: softmax[T](q @[D] k * scale) @[T] v
    a.y_ = a.y_ + mul_;
  }
  FX_DEVICE void combine(fx_pass<0>, sums0 &a, const sums0 &b) const {
    a.y_ = a.y_ + b.y_;
  }
  FX_DEVICE void finish(fx_pass<0>, results &r, const sums0 &a) const {
    r.y_ = a.y_;
  }
  FX_DEVICE void results_of(const results &r, index row) const {
    fx_store_one(y_ + (long long)row, r.y_);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 0
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_32x8(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 8, 2, 8, 32>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<true, 4, 8, 256, 1>(one_1_<int>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 8, 8, 32, 8>(one_2_<int>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 1
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_8x32(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 8, 8, 32, 8>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<true, 4, 8, 256, 1>(one_1_<int>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 8, 8, 32, 8>(one_2_<int>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 2
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_1x256(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 8, 8, 256, 1>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<true, 4, 8, 256, 1>(one_1_<int>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 8, 8, 32, 8>(one_2_<int>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 3
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_32x8_any(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 1, 8, 8, 32>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<false, 1, 32, 256, 1>(one_1_<long long>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 1, 32, 128, 2>(one_2_<long long>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 4
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_8x32_any(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 1, 32, 32, 8>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<false, 1, 32, 256, 1>(one_1_<long long>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 1, 32, 128, 2>(one_2_<long long>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 5
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_1x256_any(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 1, 32, 256, 1>(one_0_<int>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<false, 1, 32, 256, 1>(one_1_<long long>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 1, 32, 128, 2>(one_2_<long long>{v_, y_, buffer0_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 6
extern "C" __global__ void __launch_bounds__(256, 2)
fx_one_1x256_big(const fx_bf16 *q_, const fx_bf16 *k_, const fx_bf16 *v_, float scale_, fx_bf16 *y_, float *buffer0_, float *buffer1_, unsigned long long *flags_) {
  fx_row<false, 1, 32, 256, 1>(one_0_<long long>{q_, k_, buffer1_});
  fx_grid_barrier(flags_);  // buffer1_ is whole from here on
  fx_row<false, 1, 32, 256, 1>(one_1_<long long>{scale_, buffer0_, buffer1_});
  fx_grid_barrier(flags_);  // buffer0_ is whole from here on
  fx_row<false, 1, 32, 128, 2>(one_2_<long long>{v_, y_, buffer0_});
}
#endif
