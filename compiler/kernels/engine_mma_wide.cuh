/* The tensor-core engine of doubles, sm_90a: as engine_mma.cuh has it, of which it says how operands come to fragments, what multiplies them, and how
   sums are staged. A step is four k. Fragments of A and B have one form: of 16 m or n and four k a lane has two doubles, those of m or n lane / 4 and of
   8 more, at k lane % 4.
   Invariant: beyond the last k there are zeros in shared memory; nothing outside an operand is read. */

// fx_mma_doubles: an operand of doubles
// Half a warp reads two chunks of four rows at a time, in either order.
template <class ENGINE, int MN, int WARP_MN, int LAYOUT, bool ALIGNED>
struct fx_mma_doubles : fx_mma_rows<ENGINE, double, MN, WARP_MN, LAYOUT, ALIGNED, false> {
  typedef fx_mma_rows<ENGINE, double, MN, WARP_MN, LAYOUT, ALIGNED, false> rows;
  static constexpr bool ROWS_ARE_K = rows::ROWS_ARE_K;
  static constexpr int PITCH = rows::PITCH;
  typedef typename rows::fragment fragment;

  unsigned lane_slot;   // offset of what this lane reads first in the warp's first block

  FX_DEVICE fx_mma_doubles(long long stride_mn, long long stride_k, int tile_mn, int mn_end, int warp_mn) : rows(stride_mn, stride_k, tile_mn, mn_end) {
    const int mn = warp_mn + (threadIdx.x & 31) / 4, k = threadIdx.x & 3;
    lane_slot = ROWS_ARE_K ? rows::offset(k, mn) : rows::offset(mn, k);
  }

  // Half of the warp's fragments for step k of the block in a stage: blocks of 8 m or n are rows, or four chunks, apart; steps are two chunks, or rows,
  // apart.
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
