/* The tensor-core engine of doubles, sm_90a: as engine_mma.cuh has it, of which it says how operands come to fragments, what multiplies them, and how sums are staged.
   A step is four k. Fragments of A and B have one form: of 16 m or n and four k a lane has two doubles, those of m or n lane / 4 and of 8 more, at k lane % 4.
   Invariant: beyond the last k there are zeros in shared memory; nothing outside an operand is read. */

// fx_mma_doubles: an operand of doubles
// In shared memory a block is rows in the order of memory: MN rows of BK doubles, or BK rows of MN where mn is contiguous. Half a warp reads two chunks of 16 bytes of four
// rows at a time, in either order; an exclusive or of the chunk's number with twice the row's puts them in all 32 banks. Copies are asynchronous always: 16
// bytes where aligned, else double by double.
template <class ENGINE, int MN, int WARP_MN, int LAYOUT, bool ALIGNED>
struct fx_mma_doubles {
  static constexpr int BK = ENGINE::BK;
  static constexpr bool ROWS_ARE_K = LAYOUT == FX_MN_MAJOR;
  static constexpr int ROWS = ROWS_ARE_K ? BK : MN, LENGTH = ROWS_ARE_K ? MN : BK;
  static constexpr int WIDTH = ALIGNED && LAYOUT != FX_STRIDED ? 2 : 1;   // doubles a copy
  static constexpr int ACROSS = LENGTH / WIDTH;                           // threads along a row
  static constexpr int STEP = ENGINE::THREADS / ACROSS;                   // rows from one copy of a thread to the next
  static constexpr int COPIES = ROWS / STEP;
  static constexpr int PITCH = LENGTH * 8;
  static constexpr bool IS_COPIED = true;                                 // asynchronously, as doubles always can
  static constexpr bool ALONG_MN = ROWS_ARE_K;                            // what the elements of a chunk run along
  static constexpr int CHUNK = WIDTH;
  static constexpr int ABREAST = 1;                                      // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n
  static constexpr int SLICES = WIDTH == 2 ? ENGINE::STEPS / 2 : ENGINE::STEPS - 1;
  static constexpr int SLICE = (COPIES + SLICES - 1) / SLICES;
  static_assert(LENGTH >= 16 && STEP >= 1 && ROWS % STEP == 0, "the threads do not cover the block evenly");
  static_assert(WARP_MN >= 32 && (WARP_MN & (WARP_MN - 1)) == 0, "a warp's share is a power of two, and halves into 16 x 4 blocks");

  typedef unsigned fragment[WARP_MN / 16][4];

  const double *from;       // this thread's next double
  long long stride_row;     // doubles from one row to the next
  long long stride_along;   // and along a row
  int mn_left, k_left;      // valid m or n, and k, from the thread's first double on
  unsigned slot;            // offset of that double in a stage
  unsigned lane_slot;       // offset of what this lane reads first in the warp's first block

  // Rows that differ in one bit differ in one bit here: a sum of rows that have no bit in common is an exclusive or.
  static FX_DEVICE constexpr int permuted(int row) { return (row & 3) * 2; }
  static FX_DEVICE unsigned offset(int row, int along) { return row * PITCH + (along / 2 ^ permuted(row)) * 16 + along % 2 * 8; }
  static FX_DEVICE int first_row(int thread = threadIdx.x) { return thread / ACROSS; }
  static FX_DEVICE int first_along(int thread = threadIdx.x) { return thread % ACROSS * WIDTH; }

  FX_DEVICE fx_mma_doubles(long long stride_mn, long long stride_k, int tile_mn, int mn_end, int warp_mn) {
    const int mn = warp_mn + (threadIdx.x & 31) / 4, k = threadIdx.x & 3;
    stride_row = ROWS_ARE_K ? stride_k : stride_mn;
    stride_along = ROWS_ARE_K ? stride_mn : stride_k;
    mn_left = mn_end - tile_mn - (ROWS_ARE_K ? first_along() : first_row());
    slot = offset(first_row(), first_along());
    lane_slot = ROWS_ARE_K ? offset(k, mn) : offset(mn, k);
  }

  // Chunk c of a thread: its first m or n and k, from the block's on, where it lies in a stage, and how its doubles, or zeros, get there.
  static FX_DEVICE int chunk_mn(int c, int thread = threadIdx.x) { return ROWS_ARE_K ? first_along(thread) : first_row(thread) + c * STEP; }
  static FX_DEVICE int chunk_k(int c, int thread = threadIdx.x) { return ROWS_ARE_K ? first_row(thread) + c * STEP : first_along(thread); }
  FX_DEVICE unsigned chunk_slot(int c) const { return (slot ^ permuted(c * STEP) * 16) + c * STEP * PITCH; }
  static FX_DEVICE void put_chunk(unsigned to, const double (&x)[CHUNK], bool exists) {
    double y[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) y[i] = exists ? x[i] : 0.0;
    fx_shared_put<CHUNK>(to, y);
  }

  // Begins a walk along k; base is the element at the tile's first m or n.
  FX_DEVICE void start(const double *base, int k_end) {
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
      if constexpr (WIDTH == 2) {
        fx_cp_async16(to, from, valid);
      } else {
        fx_cp_async8(to, from, valid);
      }
      from += STEP * stride_row;
      fx_hide(from);
    }
  }
  FX_DEVICE void load() {}
  FX_DEVICE void store(unsigned) const {}

  // Half of the warp's fragments for step k of the block in a stage: blocks of 8 m or n are rows, or four chunks, apart; steps are two chunks, or rows, apart.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int half) const {
#pragma unroll
    for (int i = half * WARP_MN / 32; i < (half + 1) * WARP_MN / 32; ++i)
#pragma unroll
      for (int right = 0; right < 2; ++right) {
        if constexpr (ROWS_ARE_K) {
          fx_shared_get<2>(&f[i][right * 2], (stage + lane_slot ^ i * 128 + right * 64) + k * 4 * PITCH);
        } else {
          fx_shared_get<2>(&f[i][right * 2], (stage + lane_slot ^ k * 32) + (i * 16 + right * 8) * PITCH);
        }
      }
  }
};

// fx_mma_64: operands and sums are doubles
struct fx_mma_64 {
  typedef double a, b;   // elements of the operands
  typedef double sum;
  static constexpr int SIZE = 8;
  template <class ENGINE, class ELEMENT, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_doubles<ENGINE, MN, WARP_MN, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(double *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_mma_f64(d, x, y0, y1); }
};

// fx_mma_wide: fx_mma whose sums are doubles
// The staged tile has rows 16 banks apart, so that the two rows that a quarter of a warp writes fill all banks.
template <class KIND, int BM_, int BN_, int BK_, int WARPS_M, int WARPS_N, int STAGES_>
struct fx_mma_wide : fx_mma<KIND, BM_, BN_, BK_, WARPS_M, WARPS_N, STAGES_> {
  typedef fx_mma<KIND, BM_, BN_, BK_, WARPS_M, WARPS_N, STAGES_> engine;
  static constexpr int MAX_V = 4;   // columns the epilogue may take at a time

  static FX_DEVICE constexpr int staging_pitch(int sums) { return (sums * BN_ + 8) * 8; }
  template <int SUMS>
  static FX_DEVICE unsigned staged(int row, int col) {
    return fx_shared(fx_smem()) + row * staging_pitch(SUMS) + col * 8;
  }
  template <int SUMS>
  static FX_DEVICE void put(const double (&acc)[engine::ACCUMULATORS], int from_col) {
#pragma unroll
    for (int i = 0; i < engine::ACCUMULATORS; i += 2) fx_shared_put<2>(staged<SUMS>(engine::acc_row(i), from_col + engine::acc_col(i)), acc + i);
  }
  template <int SUMS, int V>
  static FX_DEVICE void get(double (&x)[V], int row, int col) {
    constexpr int PIECE = V < 2 ? V : 2;
#pragma unroll
    for (int v = 0; v < V; v += PIECE) fx_shared_get<PIECE>(x + v, staged<SUMS>(row, col + v));
  }
};
