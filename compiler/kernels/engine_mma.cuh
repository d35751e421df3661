/* The tensor-core engine: mma.sync over operands that cp.async brings into a ring of shared-memory stages; 16-bit floats, floats rounded to tf32, or 8-bit
   integers. Their fragments have one form, 32 bytes along k, four of them in a lane's word. It says how one k-block of each operand is loaded, read and
   multiplied, and which (accumulator, lane, warp) is which (row, column); the gemm driver owns the loops.
   Invariant: beyond the last k there are zeros in shared memory; nothing outside an operand is read. */

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

// fx_mma_rows: an operand of floats or doubles on its way to shared memory, as it lies
// There a block is rows of 16-byte chunks in the order of memory, as those of fx_mma_operand: MN rows of BK elements, or BK rows of MN where mn is
// contiguous. An exclusive or of the chunk's number, with the row's where eight rows are read at one place, else with twice the row's for two places
// of four rows, puts what lanes read together in all 32 banks. Copies are asynchronous always: 16 bytes where aligned, else one element.
template <class ENGINE, class T, int MN, int WARP_MN, int LAYOUT, bool ALIGNED, bool READS_EIGHT>
struct fx_mma_rows {
  static constexpr int BK = ENGINE::BK, FULL = 16 / sizeof(T);            // elements of a chunk
  static constexpr bool ROWS_ARE_K = LAYOUT == FX_MN_MAJOR;
  static constexpr int ROWS = ROWS_ARE_K ? BK : MN, LENGTH = ROWS_ARE_K ? MN : BK;
  static constexpr int WIDTH = ALIGNED && LAYOUT != FX_STRIDED ? FULL : 1;   // elements a copy
  static constexpr int ACROSS = LENGTH / WIDTH;                           // threads along a row
  static constexpr int STEP = ENGINE::THREADS / ACROSS;                   // rows from one copy of a thread to the next
  static constexpr int COPIES = ROWS / STEP;
  static constexpr int PITCH = LENGTH * sizeof(T);
  static constexpr bool IS_COPIED = true;                                 // asynchronously, as elements of 4 and 8 bytes always can
  static constexpr bool ALONG_MN = ROWS_ARE_K;                            // what the elements of a chunk run along
  static constexpr int CHUNK = WIDTH;
  static constexpr int ABREAST = 1;   // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n
  static constexpr int SLICES = WIDTH == FULL ? ENGINE::STEPS / 2 : ENGINE::STEPS - 1;
  static constexpr int SLICE = (COPIES + SLICES - 1) / SLICES;
  static_assert(PITCH >= 128 && STEP >= 1 && ROWS % STEP == 0, "the threads do not cover the block evenly");
  static_assert(WARP_MN >= 32 && (WARP_MN & (WARP_MN - 1)) == 0, "a warp's share is a power of two, and halves into rows of 16");

  typedef unsigned fragment[WARP_MN / 16][4];

  const T *from;            // this thread's next element
  long long stride_row;     // elements from one row to the next
  long long stride_along;   // and along a row
  int mn_left, k_left;      // valid m or n, and k, from the thread's first element on
  unsigned slot;            // offset of that element in a stage

  // Rows that differ in one bit differ in one bit here: a sum of rows that have no bit in common is an exclusive or.
  static FX_DEVICE constexpr int permuted(int row) { return READS_EIGHT ? row & 7 : (row & 3) * 2; }
  static FX_DEVICE unsigned offset(int row, int along) {
    return row * PITCH + (along / FULL ^ permuted(row)) * 16 + along % FULL * sizeof(T);
  }
  static FX_DEVICE int first_row(int thread = threadIdx.x) { return thread / ACROSS; }
  static FX_DEVICE int first_along(int thread = threadIdx.x) { return thread % ACROSS * WIDTH; }

  FX_DEVICE fx_mma_rows(long long stride_mn, long long stride_k, int tile_mn, int mn_end) {
    stride_row = ROWS_ARE_K ? stride_k : stride_mn;
    stride_along = ROWS_ARE_K ? stride_mn : stride_k;
    mn_left = mn_end - tile_mn - (ROWS_ARE_K ? first_along() : first_row());
    slot = offset(first_row(), first_along());
  }

  // Chunk c of a thread: its first m or n and k, from the block's on, where it lies in a stage, and how its elements, or zeros, get there.
  static FX_DEVICE int chunk_mn(int c, int thread = threadIdx.x) { return ROWS_ARE_K ? first_along(thread) : first_row(thread) + c * STEP; }
  static FX_DEVICE int chunk_k(int c, int thread = threadIdx.x) { return ROWS_ARE_K ? first_row(thread) + c * STEP : first_along(thread); }
  FX_DEVICE unsigned chunk_slot(int c) const { return (slot ^ permuted(c * STEP) * 16) + c * STEP * PITCH; }
  static FX_DEVICE void put_chunk(unsigned to, const T (&x)[CHUNK], bool exists) {
    T y[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) y[i] = exists ? x[i] : (T)0;
    fx_shared_put<CHUNK>(to, y);
  }

  // Begins a walk along k; base is the element at the tile's first m or n.
  FX_DEVICE void start(const T *base, int k_end) {
    from = base + first_row() * stride_row + first_along() * stride_along;
    k_left = k_end - (ROWS_ARE_K ? first_row() : first_along());
  }
  FX_DEVICE void next() {
    if (!ROWS_ARE_K) from += BK * stride_along - ROWS * stride_row;
    k_left -= BK;
  }

  FX_DEVICE void issue(int step, unsigned stage) {
#pragma unroll
    for (int c = step * SLICE; c < (step + 1) * SLICE && c < COPIES; ++c) {
      const bool valid = ROWS_ARE_K ? c * STEP < k_left && mn_left > 0 : c * STEP < mn_left && k_left > 0;
      const unsigned to = stage + chunk_slot(c);
      if constexpr (WIDTH == FULL) {
        fx_cp_async16(to, from, valid);
      } else if constexpr (sizeof(T) == 8) {
        fx_cp_async8(to, from, valid);
      } else {
        fx_cp_async4(to, from, valid);
      }
      from += STEP * stride_row;
      fx_hide(from);
    }
  }
  FX_DEVICE void load() {}
  FX_DEVICE void store(unsigned) const {}
};

// fx_mma_words: an operand of floats that are rounded to tf32 where fragments are read
// Rows of k are read by ldmatrix, to which four floats are a row of eight halves. Rows of mn are read word by word: of a row, which is one k, the lanes want
// 8 adjacent floats, two chunks, and of four rows at a time.
template <class ENGINE, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
struct fx_mma_words : fx_mma_rows<ENGINE, float, MN, WARP_MN, LAYOUT, ALIGNED, LAYOUT != FX_MN_MAJOR> {
  typedef fx_mma_rows<ENGINE, float, MN, WARP_MN, LAYOUT, ALIGNED, LAYOUT != FX_MN_MAJOR> rows;
  static constexpr bool ROWS_ARE_K = rows::ROWS_ARE_K;
  static constexpr int PITCH = rows::PITCH;
  typedef typename rows::fragment fragment;

  unsigned lane_slot;   // offset of what this lane reads first in the warp's first block

  FX_DEVICE fx_mma_words(long long stride_mn, long long stride_k, int tile_mn, int mn_end, int warp_mn) : rows(stride_mn, stride_k, tile_mn, mn_end) {
    const int lane = threadIdx.x & 31;
    const int row = lane & 7, right = K_FIRST ? lane >> 4 : lane >> 3 & 1, down = K_FIRST ? lane >> 3 & 1 : lane >> 4;
    lane_slot = ROWS_ARE_K ? rows::offset(lane & 3, warp_mn + lane / 4) : rows::offset(warp_mn + row + right * 8, down * 4);
  }

  // Half of the warp's fragments for step k of the block in a stage.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int half) const {
#pragma unroll
    for (int i = half * WARP_MN / 32; i < (half + 1) * WARP_MN / 32; ++i) {
      if constexpr (ROWS_ARE_K) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const int right = K_FIRST ? w / 2 : w % 2, down = K_FIRST ? w % 2 : w / 2;
          fx_shared_get<1>(&f[i][w], (stage + lane_slot ^ i * 64 + right * 32) + (k * 8 + down * 4) * PITCH);
        }
      } else {
        fx_ldmatrix(f[i], (stage + lane_slot ^ k * 32) + i * 16 * PITCH);
      }
      // Where words arrive one after the other the shorter way is the faster, where four come at once the other.
#pragma unroll
      for (int w = 0; w < 4; ++w) f[i][w] = ROWS_ARE_K ? fx_cvt_tf32(f[i][w]) : fx_round_tf32(f[i][w]);
    }
  }
};

// fx_mma_32: operands that are floats, rounded to tf32, sums in f32
struct fx_mma_32 {
  typedef float a, b;   // elements of the operands
  typedef float sum;
  static constexpr int SIZE = 4;
  template <class ENGINE, class ELEMENT, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_words<ENGINE, MN, WARP_MN, K_FIRST, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(float *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_mma_tf32(d, x, y0, y1); }
};

// fx_transpose_bytes: word j becomes byte j of each of the four
FX_DEVICE void fx_transpose_bytes(unsigned (&w)[4]) {
  const unsigned low01 = fx_permute(w[0], w[1], 0x5140), low23 = fx_permute(w[2], w[3], 0x5140);
  const unsigned high01 = fx_permute(w[0], w[1], 0x7362), high23 = fx_permute(w[2], w[3], 0x7362);
  w[0] = fx_permute(low01, low23, 0x5410);
  w[1] = fx_permute(low01, low23, 0x7632);
  w[2] = fx_permute(high01, high23, 0x5410);
  w[3] = fx_permute(high01, high23, 0x7632);
}

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
