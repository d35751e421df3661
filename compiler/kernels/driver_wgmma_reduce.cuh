/* Epilogues of the contraction driver of sm_90a (driver_wgmma.cuh) that reduce elements, or whose elements share something with their runs: each consumer stages 64 rows of 64 columns of its sums and
   runs fx_gemm_reduce over them, by itself, so that in turns the other one's products run meanwhile.
   Invariant: as in driver_gemm.cuh: runs are 64 columns and 64 rows of a tile. */

// fx_wgmma_staged: the staged sums of 64 rows and columns, as fx_gemm_reduce sees an engine; the threads of one consumer run it
template <class ENGINE>
struct fx_wgmma_staged {
  typedef float sum;
  static constexpr int BM = 64, BN = 64, THREADS = 128, MAX_V = 8, PITCH = ENGINE::SUMS * BN * 4 + 16;

  static FX_DEVICE constexpr int staging_pitch(int) { return PITCH; }
  static FX_DEVICE int consumer() { return (int)threadIdx.x / 128 - 1; }
  static FX_DEVICE int at() { return ENGINE::STAGES * ENGINE::STAGE_BYTES + consumer() * ENGINE::STAGED; }
  static FX_DEVICE unsigned staged(int row, int col) { return fx_shared(fx_smem()) + at() + row * PITCH + col * 4; }
  template <int SUMS, int V>
  static FX_DEVICE void get(float (&x)[V], int row, int col) {
    fx_shared_get<V>(x, staged(row, col));
  }
};
template <class ENGINE>
struct fx_team<fx_wgmma_staged<ENGINE>> {
  static FX_DEVICE int thread() { return (int)threadIdx.x % 128; }
  static FX_DEVICE void wait() { fx_named_barrier(3 + fx_wgmma_staged<ENGINE>::consumer(), 128); }
  static FX_DEVICE char *memory() { return fx_smem() + fx_wgmma_staged<ENGINE>::at(); }
};

// fx_wgmma_reduce: the epilogue of a consumer whose first row of the tile is first_row
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_reduce(const PROBLEM &p, const fx_tile &tile, int first_row, const fx_wgmma_sums<ENGINE> &acc) {
  typedef fx_wgmma_staged<ENGINE> staged;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
  for (int first = 0; first < ENGINE::BN; first += staged::BN) {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < ENGINE::SUMS * (staged::BN / 8); ++i) {
        const int sum = i / (staged::BN / 8), column = i % (staged::BN / 8) * 8, x = first / 2 + i % (staged::BN / 8) * 4;
        fx_shared_put2(staged::staged(row, sum * staged::BN + column + lane % 4 * 2), acc.get(sum, part, x), acc.get(sum, part, x + 1));
        fx_shared_put2(staged::staged(row + 8, sum * staged::BN + column + lane % 4 * 2), acc.get(sum, part, x + 2), acc.get(sum, part, x + 3));
      }
      fx_team<staged>::wait();  // the columns are staged
      fx_tile at = tile;
      at.m += first_row + part * 64, at.n += first;
      fx_gemm_reduce<staged, ENGINE::ALIGNED, ENGINE::SUMS>(p, at);
      fx_team<staged>::wait();  // everyone has read them
    }
  }
}

// fx_wgmma_reducing: ENGINE with such an epilogue, for which each consumer has STAGED bytes: the staged sums and the slots behind them
template <class ENGINE, int STAGED_>
struct fx_wgmma_reducing : ENGINE {
  static constexpr int STAGED = STAGED_, STAGING_BYTES = STAGED / 4;  // of a warp, as the driver counts
  static constexpr int SHARED_BYTES = ENGINE::STAGES * ENGINE::STAGE_BYTES + ENGINE::CONSUMERS * STAGED + 2 * ENGINE::STAGES * 8;
  static_assert(STAGED % 64 == 0 && ENGINE::SLABS == 0, "no such epilogue");

  template <class PROBLEM, class SUMS>
  static FX_DEVICE void reduce(const PROBLEM &p, const fx_tile &at, int first_row, const SUMS &acc) {
    fx_wgmma_reduce<fx_wgmma_reducing>(p, at, first_row, acc);
  }
};
