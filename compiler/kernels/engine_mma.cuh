/* The tensor-core engine: mma.sync over operands that cp.async brings into a ring of shared-memory stages; 16-bit floats, floats rounded to tf32, or 8-bit
   integers. Their fragments have one form, 32 bytes along k, four of them in a lane's word. It says how one k-block of each operand is loaded, read and
   multiplied, and which (accumulator, lane, warp) is which (row, column); the gemm driver owns the loops.
   Invariant: beyond the last k there are zeros in shared memory; nothing outside an operand is read. */

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
