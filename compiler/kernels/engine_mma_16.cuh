/* Operands of the mma engine that are 16-bit floats, on their way from memory to fragments. What every kind of operand has is what
   engine_mma.cuh asks of it: how one block of k is loaded, how it is read, and the instruction that multiplies.
   Invariant: as of that file. */

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

// fx_mma_window: the 24 bytes from an 8-byte boundary on in which 8 adjacent elements lie, zeros where they are not readable, and behind them how many elements come before the first of the 8
template <class T>
FX_DEVICE void fx_mma_window(unsigned (&window)[8], const T *p, bool readable) {
  unsigned words[6];
  const int skew = fx_skew<4>(p);
  fx_load_24_if(words, p - skew, readable);
#pragma unroll
  for (int i = 0; i < 6; ++i) window[i] = words[i];
  window[6] = skew, window[7] = 0;
}

// fx_mma_of_window: its eight elements as words
FX_DEVICE void fx_mma_of_window(unsigned (&w)[4], const unsigned (&window)[8]) {
  unsigned u[5];
  const int skew = window[6];
#pragma unroll
  for (int i = 0; i < 5; ++i) u[i] = skew & 2 ? window[i + 1] : window[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = fx_funnel(u[i], u[i + 1], skew % 2 * 16);
}

// fx_mma_put_window: likewise into shared memory
FX_DEVICE void fx_mma_put_window(unsigned to, const unsigned (&window)[8]) {
  unsigned w[4];
  fx_mma_of_window(w, window);
  fx_shared_put4(to, w);
}

// fx_mma_operand: one operand (A: MN = BM, B: MN = BN) on its way from memory to fragments
// In shared memory a block is rows of 16-byte chunks in the order of memory: MN rows of BK elements, or BK rows of MN where mn is contiguous. The chunks
// of a row are permuted by an exclusive or with the row's number, so that the eight rows ldmatrix reads at one chunk index lie in all 32 banks.
// A thread brings COPIES chunks of a block, STEP rows apart. Copies are asynchronous, issued in SLICES steps of the mainloop. Otherwise load() reads a block
// into registers, a whole block before store() puts it in shared memory: as windows of whole words where elements lie side by side, which are readable in an inner block,
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
  unsigned held[COPIES][8];            // that block: windows of an inner one, else elements

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
    put_words(to, w, exists);
  }
  static FX_DEVICE void put_words(unsigned to, unsigned (&w)[CHUNK / 2], bool exists) {
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

  // A window reaches at most 3 elements back and 12 on, into the row before or the next where rows follow each other without a gap. All loads of a block are on their way at once.
  FX_DEVICE void load() {
    inner = WINDOWS && (ROWS_ARE_K ? stride_k == mn_end && k > 0 && k_end - k >= 2 * BK : k > 0 && k_end - k >= BK + 4);
    if (inner) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) {
        fx_mma_window(held[c], from, valid(c) > 0);
        advance();
      }
    } else {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) {
        fx_mma_gather(held[c], from, WINDOWS ? 1 : ROWS_ARE_K ? stride_mn : stride_k, valid(c));
        advance();
      }
    }
  }
  FX_DEVICE void store(unsigned stage) const {
    if (inner) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) fx_mma_put_window(stage + slot + c * STEP * PITCH, held[c]);
    } else {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) fx_mma_put(stage + slot + c * STEP * PITCH, held[c]);
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
