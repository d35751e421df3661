/* Operands of the mma engine that are 8-bit integers or f8: bytes, transposed on the way where k is not contiguous.
   Invariant: as of engine_mma.cuh. */

// fx_mma_bytes: an operand of 8-bit integers
// In shared memory a block is MN rows of BK bytes whatever the order in memory, as a fragment's word is four bytes along k. 16-byte chunks of a row are
// permuted by an exclusive or, such that ldmatrix's eight rows and the transposing stores lie in all 32 banks. Copies are asynchronous where k is contiguous
// and aligned. Otherwise load() reads a block into registers, which store() puts in shared memory, in groups of 16 bytes: where mn is contiguous and aligned 4 (k) x 4 (mn),
// as words that are transposed on the way; else a chunk, gathered byte by byte. Computed operands come in half chunks, those along mn byte by byte.
template <class ENGINE, class T, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
struct fx_mma_bytes {
  static constexpr int BK = ENGINE::BK, THREADS = ENGINE::THREADS;
  static constexpr int CHUNKS = BK / 16, PITCH = BK;
  static constexpr int STEP = THREADS / CHUNKS;             // rows from one copy of a thread to the next
  static constexpr int GROUPS = MN / STEP;                  // copies, or groups, of a thread
  static constexpr int SLICES = ENGINE::STEPS / 2;          // together, copies cost the tensor cores less than spread out
  static constexpr int SLICE = (GROUPS + SLICES - 1) / SLICES;
  static constexpr bool IS_COPIED = ALIGNED && LAYOUT == FX_K_MAJOR;  // asynchronously
  static constexpr bool SQUARES = ALIGNED && LAYOUT == FX_MN_MAJOR;
  static constexpr bool ALONG_MN = LAYOUT == FX_MN_MAJOR;   // what the elements of a computed chunk run along
  static constexpr int CHUNK = 8;
  static constexpr int ABREAST = 1;                        // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n
  static constexpr int COPIES = GROUPS * 16 / CHUNK;        // such chunks of a thread
  static constexpr int CHUNK_STEP = ALONG_MN ? THREADS * CHUNK / MN : THREADS * CHUNK / BK;  // from one of them to the next, along what they do not run along
  static constexpr bool ALONG_K = LAYOUT == FX_K_MAJOR;     // what the lanes that bring groups lie along
  static constexpr int STEP_K = THREADS / MN * 16;          // where not along k: from one group of a thread to the next
  static_assert(CHUNKS == 8 && STEP % 8 == 0 && MN % STEP == 0 && MN % 64 == 0 && (ALONG_K || THREADS % MN == 0), "the threads do not cover the block evenly");
  static_assert(WARP_MN >= 32 && (WARP_MN & (WARP_MN - 1)) == 0, "a warp's share is a power of two, and halves into 16 x 32 blocks");

  typedef unsigned fragment[WARP_MN / 16][4];

  const T *from;                            // this thread's next chunk to copy
  const T *block;                           // the element at the block's first m or n and k
  long long stride_mn;                      // elements from one m or n to the next
  long long stride_k;                       // elements from one k to the next
  int mn_left, k_left;                      // valid m or n, and k, from the block's first on
  unsigned slot;                            // offset of the thread's first chunk in a stage
  unsigned lane_slot;                       // offset of the row this lane names in the warp's first 16 x 32 block
  unsigned held_slot;                       // offset of the thread's first group in a stage
  unsigned held[GROUPS][4];                 // a block in registers
  unsigned computed_slot;                       // offset of the thread's first chunk that is computed in a stage

  // Rows without a bit in common have none here: that of their sum is an exclusive or.
  static FX_DEVICE constexpr int permuted(int row) { return (row ^ row / 8) & 7; }
  static FX_DEVICE unsigned offset(int row, int chunk) { return row * PITCH + (chunk ^ permuted(row)) * 16; }
  static FX_DEVICE int first_row() { return (int)threadIdx.x / CHUNKS; }
  static FX_DEVICE int first_chunk() { return (int)threadIdx.x % CHUNKS; }

  FX_DEVICE fx_mma_bytes(long long a_stride_mn, long long a_stride_k, int tile_mn, int mn_end, int warp_mn) {
    const int lane = threadIdx.x & 31;
    stride_mn = a_stride_mn;
    stride_k = a_stride_k;
    mn_left = mn_end - tile_mn;
    slot = offset(first_row(), first_chunk());
    held_slot = offset(group_mn(), group_k() / 16) + group_k() % 16;
    computed_slot = offset(first_mn(), first_k() / 16) + first_k() % 16;
    const int row = lane & 7, right = K_FIRST ? lane >> 4 : lane >> 3 & 1, down = K_FIRST ? lane >> 3 & 1 : lane >> 4;
    lane_slot = offset(warp_mn + row + right * 8, down);
  }

  // Chunk c that a thread makes: its first m or n and k, from the block's on, where it lies in a stage, and how eight elements, or zeros, get there. Along mn
  // a warp takes 8 chunks beside each other at 4 k, whose bytes are those of eight words in different banks.
  static FX_DEVICE int first_mn(int i = threadIdx.x) {
    return ALONG_MN ? i % 8 * CHUNK + i / 32 % (MN / 64) * 64 : i / (BK / CHUNK);
  }
  static FX_DEVICE int first_k(int i = threadIdx.x) {
    return ALONG_MN ? i / 8 % 4 + i / 32 / (MN / 64) * 4 : i % (BK / CHUNK) * CHUNK;
  }
  static FX_DEVICE int chunk_mn(int c, int thread = threadIdx.x) { return first_mn(thread) + (ALONG_MN ? 0 : c * CHUNK_STEP); }
  static FX_DEVICE int chunk_k(int c, int thread = threadIdx.x) { return first_k(thread) + (ALONG_MN ? c * CHUNK_STEP : 0); }
  FX_DEVICE unsigned chunk_slot(int c) const {
    return ALONG_MN ? computed_slot ^ c * CHUNK_STEP : (computed_slot ^ permuted(c * CHUNK_STEP) * 16) + c * CHUNK_STEP * PITCH;
  }
  static FX_DEVICE void put_chunk(unsigned to, const int (&x)[CHUNK], bool exists) {
    if constexpr (ALONG_MN) {
#pragma unroll
      for (int i = 0; i < CHUNK; ++i) fx_shared_put_byte((to ^ i * 16) + i * PITCH, exists ? x[i] : 0);
    } else {
      unsigned w[CHUNK / 4];
#pragma unroll
      for (int i = 0; i < CHUNK / 4; ++i) w[i] = exists ? fx_pack_bytes(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]) : 0;
      fx_shared_put<CHUNK / 4>(to, w);
    }
  }

  // Begins a walk along k; base is the element at the tile's first m or n.
  FX_DEVICE void start(const T *base, int k_end) {
    from = base + first_row() * stride_mn + first_chunk() * 16 * stride_k;
    block = base;
    k_left = k_end;
  }
  FX_DEVICE void next() {
    from += BK * stride_k - MN * stride_mn;
    block += BK * stride_k;
    k_left -= BK;
  }

  FX_DEVICE void issue(int step, unsigned stage) {
#pragma unroll
    for (int c = step * SLICE; c < (step + 1) * SLICE && c < GROUPS; ++c) {
      fx_cp_async16(stage + (slot ^ permuted(c * STEP) * 16) + c * STEP * PITCH, from, first_row() + c * STEP < mn_left && first_chunk() * 16 < k_left);
      from += STEP * stride_mn;
      fx_hide(from);
    }
  }

  // The thread's first group: its first m or n, and k. Neighbouring lanes lie along what is contiguous in memory, and the thread's groups across it.
  static FX_DEVICE int group_mn() {
    const int i = threadIdx.x;
    return SQUARES ? i / 32 % (MN / 32) * 32 + i % 8 * 4 : ALONG_K ? i / CHUNKS : i % MN;
  }
  static FX_DEVICE int group_k() {
    const int i = threadIdx.x;
    return ALONG_K ? i % CHUNKS * 16 : i / MN * 16 + (SQUARES ? i / 8 % 4 * 4 : 0);
  }
  FX_DEVICE void load() {
    const int mn = group_mn(), k = group_k();
    const T *group = block + mn * stride_mn + k * stride_k;
#pragma unroll
    for (int c = 0; c < GROUPS; ++c) {
      const bool in_mn = ALONG_K ? mn + c * STEP < mn_left : mn < mn_left;
      const int k_valid = k_left - k - (ALONG_K ? 0 : c * STEP_K);
      const T *p = group;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (SQUARES) {
          held[c][i] = fx_load_u32_if(p, in_mn && i < k_valid);
          p += stride_k;
        } else {
          held[c][i] = 0;
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            held[c][i] |= fx_load_u8_if(p, in_mn && 4 * i + e < k_valid) << 8 * e;
            p += stride_k;
            fx_hide(p);
          }
        }
      }
      group += ALONG_K ? STEP * stride_mn : STEP_K * stride_k;
      fx_hide(group);
    }
  }
  FX_DEVICE void store(unsigned stage) const {
#pragma unroll
    for (int c = 0; c < GROUPS; ++c) {
      const unsigned to = stage + (ALONG_K ? (held_slot ^ permuted(c * STEP) * 16) + c * STEP * PITCH : held_slot ^ c * STEP_K);
      unsigned w[4] = {held[c][0], held[c][1], held[c][2], held[c][3]};
      if constexpr (SQUARES) {
        fx_transpose_bytes(w);
#pragma unroll
        for (int i = 0; i < 4; ++i) fx_shared_put1((to ^ i * 16) + i * PITCH, w[i]);
      } else {
        fx_shared_put4(to, w);
      }
    }
  }

  // Half of the warp's fragments for step k of the block in a stage.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int half) const {
#pragma unroll
    for (int i = half * WARP_MN / 32; i < (half + 1) * WARP_MN / 32; ++i)
      fx_ldmatrix(f[i], (stage + lane_slot ^ k * 32 ^ permuted(i * 16) * 16) + i * 16 * PITCH);
  }
};

// fx_multiply_bytes: d += a b over 16 x 8 x 32 bytes of the last arguments' types
FX_DEVICE void fx_multiply_bytes(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1, signed char, signed char) { fx_mma_i8_i8(d, a, b0, b1); }
FX_DEVICE void fx_multiply_bytes(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1, signed char, unsigned char) { fx_mma_i8_u8(d, a, b0, b1); }
FX_DEVICE void fx_multiply_bytes(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1, unsigned char, signed char) { fx_mma_u8_i8(d, a, b0, b1); }
FX_DEVICE void fx_multiply_bytes(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1, unsigned char, unsigned char) { fx_mma_u8_u8(d, a, b0, b1); }

// fx_mma_8: operands that are 8-bit integers, sums in i32
template <class A, class B>
struct fx_mma_8 {
  typedef A a;           // elements of the operands
  typedef B b;
  typedef int sum;
  static constexpr int SIZE = 1;
  template <class ENGINE, class T, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_bytes<ENGINE, T, MN, WARP_MN, K_FIRST, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(int *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_multiply_bytes(d, x, y0, y1, A(), B()); }
};

// fx_multiply_f8: d += a b over 16 x 8 x 32 f8 of the last arguments' types
FX_DEVICE void fx_multiply_f8(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f8e4m3, fx_f8e4m3) { fx_mma_e4m3_e4m3(d, a, b0, b1); }
FX_DEVICE void fx_multiply_f8(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f8e4m3, fx_f8e5m2) { fx_mma_e4m3_e5m2(d, a, b0, b1); }
FX_DEVICE void fx_multiply_f8(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f8e5m2, fx_f8e4m3) { fx_mma_e5m2_e4m3(d, a, b0, b1); }
FX_DEVICE void fx_multiply_f8(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f8e5m2, fx_f8e5m2) { fx_mma_e5m2_e5m2(d, a, b0, b1); }

// fx_mma_f8: operands that are f8 in memory, sums in f32
template <class A, class B>
struct fx_mma_f8 {
  typedef A a;           // elements of the operands
  typedef B b;
  typedef float sum;
  static constexpr int SIZE = 1;
  template <class ENGINE, class T, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_bytes<ENGINE, T, MN, WARP_MN, K_FIRST, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(float *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_multiply_f8(d, x, y0, y1, A(), B()); }
};
