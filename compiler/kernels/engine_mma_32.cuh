/* Operands of the mma engine that are floats or doubles, which lie in shared memory as in memory; floats are rounded to tf32 where
   fragments are read. Invariant: as of engine_mma.cuh. */

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
