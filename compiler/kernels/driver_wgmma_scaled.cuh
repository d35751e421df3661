/* Operands of f8 with scales of the contraction driver of sm_90a (driver_wgmma_bytes.cuh): what the products of a block of k come to is multiplied by scale_m of its row and scale_n of its column on the way to the sums.
   The segment has the block's number as the outer index of k, and of k whole blocks of a stage. */

// fx_block_scales: those of a block of k, as far as a thread takes them: of its two rows of every 64, and of the tile's columns where these have one
template <class ENGINE, class SEGMENT>
struct fx_block_scales {
  static constexpr bool IS_ONE = SEGMENT::SCALED_COLUMNS % ENGINE::BN == 0;

  float row[ENGINE::PARTS][2], column;

  template <class PROBLEM>
  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int first_row, int outer) {
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) row[i / 2][i % 2] = SEGMENT::scale_m(p, at.batch, min(at.m + first_row + i / 2 * 64 + i % 2 * 8, p.m() - 1), outer);
    if constexpr (IS_ONE) column = SEGMENT::scale_n(p, at.batch, min(at.n, p.n() - 1), outer);
  }
};

// fx_column_scales: likewise of every column of a thread where they have several: one for each eight, or each its own
template <class ENGINE, class SEGMENT>
struct fx_column_scales {
  static constexpr int EACH = SEGMENT::SCALED_COLUMNS % 8 == 0 ? 1 : 2;

  float of[ENGINE::BN / 8 * EACH];

  template <class PROBLEM>
  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int outer) {
#pragma unroll
    for (int i = 0; i < ENGINE::BN / 8 * EACH; ++i)
      of[i] = SEGMENT::scale_n(p, at.batch, min(at.n + i / EACH * 8 + (EACH > 1 ? (int)threadIdx.x % 4 * 2 + i % EACH : 0), p.n() - 1), outer);
  }
  FX_DEVICE float get(int i) const { return of[i / 4 * EACH + (EACH > 1 ? i % 2 : 0)]; }
};

// fx_scaled_f8, fx_wgmma_scaler: two f8 that one instruction multiplies, and the mainloop as consumers run it: as fx_wgmma_promoter, and the scales of a block are asked for a block ahead, as far as registers allow
template <int KIND_>
struct fx_scaled_f8 {
  typedef float sum;
  static constexpr int KIND = KIND_;
  char bits;  // as stored
};
template <class ENGINE>
struct fx_wgmma_scaler {
  static constexpr bool TAKES_MAPS = true;
  static constexpr int EACH = ENGINE::BN / 2;
  static_assert(ENGINE::SUMS == 1, "scales are of one sum");

  fx_wgmma_sums<ENGINE> &acc;   // the sums
  fx_wgmma_ring<ENGINE> &ring;  // of the block
  unsigned a_offset;            // of the consumer's rows in a stage
  int before, adds[1];          // as in fx_wgmma_consumer, of no use here
  fx_tile at;                   // the tile

  // The products of the stage at hand, of 64 rows.
  FX_DEVICE void multiply(float (&fresh)[EACH], int part) {
    const unsigned long long a = fx_wgmma_operand<FX_K_MAJOR>::at(ring.address() + a_offset + part * ENGINE::BOX_BYTES),
                             b = fx_wgmma_operand<FX_K_MAJOR>::at(ring.address() + ENGINE::A_BYTES);
    fx_wgmma_begin();
#pragma unroll
    for (int step = 0; step < 4; ++step) ENGINE::columns::template multiply<ENGINE::T::KIND>(fresh, a + step * 2, b + step * 2, step > 0);
    fx_wgmma_commit();
    fx_wgmma_wait<0>();
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    typedef fx_block_scales<ENGINE, SEGMENT> scales;
    typedef typename fx_choose<scales::IS_ONE, fx_nothing, fx_column_scales<ENGINE, SEGMENT>>::type column_scales;
    const int n_outer = SEGMENT::k_outer(p), blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    const int first_row = a_offset / 128 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    scales next;
    next.fetch(p, at, first_row, 0);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
      const scales s = next;
      if (outer + 1 < n_outer) next.fetch(p, at, first_row, outer + 1);
      column_scales columns;
      if constexpr (!scales::IS_ONE) columns.fetch(p, at, outer);
#pragma unroll 1
      for (int block = 0; block < blocks; ++block) {
        fx_mbarrier_wait(ring.full(), ring.parity);
#pragma unroll
        for (int part = 0; part < ENGINE::PARTS; ++part) {
          float fresh[EACH];
          multiply(fresh, part);
#pragma unroll
          for (int i = 0; i < EACH; ++i) {
            float by = s.row[part][i / 2 % 2];
            if constexpr (scales::IS_ONE) by *= s.column;
            else by *= columns.get(i);
            acc.of[0][part][i] += by * fresh[i];
          }
        }
        ENGINE::cluster::give_back(ring.empty());
        ring.next();
      }
    }
  }
  FX_DEVICE void next_segment() {}
  FX_DEVICE void end() {}
};
template <int KIND, class ENGINE>
struct fx_wgmma_mainloop<fx_scaled_f8<KIND>, ENGINE> {
  typedef fx_wgmma_scaler<ENGINE> type;
};
