/* Operands of f8 with scales of the contraction driver of sm_90a (driver_wgmma_bytes.cuh): what the products of a block of k come to is multiplied by scale_m of its row and scale_n of its column on the way to the sums.
   The segment has the block's number as the outer index of k, and of k whole blocks of a stage. */

// fx_row_scales: those of a block of k of a thread's two rows of every 64
template <class ENGINE, class SEGMENT>
struct fx_row_scales {
  float of[ENGINE::PARTS][2];

  template <class PROBLEM>
  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int first_row, int outer) {
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) of[i / 2][i % 2] = SEGMENT::scale_m(p, at.batch, min(at.m + first_row + i / 2 * 64 + i % 2 * 8, p.m() - 1), outer);
  }
};

// fx_column_scales: likewise of the tile's columns: each thread of a consumer asks for that of one column in 128, a block ahead, and leaves it in shared memory for all
// There is room behind the memory barriers for two blocks of k of every consumer, so that a block's are read while the next one's are left.
template <class ENGINE, class SEGMENT, bool IS_ONE>
struct fx_column_scales {
  static constexpr int EACH = (ENGINE::BN + 127) / 128, BYTES = ENGINE::BN * 4;

  unsigned first;     // where this consumer's begin
  float asked[EACH];  // of the next block

  FX_DEVICE void begin(const fx_wgmma_ring<ENGINE> &ring) {
    const int consumer = (int)threadIdx.x / 128 - 1;
    first = ring.barriers + 2 * ENGINE::STAGES * 8 + consumer * 2 * BYTES;
    fx_named_barrier(1 + consumer, 128);  // everyone has read those of the tile before
  }
  template <class PROBLEM>
  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int outer) {
#pragma unroll
    for (int i = 0; i < EACH; ++i) asked[i] = SEGMENT::scale_n(p, at.batch, min(at.n + i * 128 + (int)threadIdx.x % 128, p.n() - 1), outer);
  }
  // Leaves those of block `outer`, which were asked for.
  FX_DEVICE void put(int outer) {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int column = i * 128 + (int)threadIdx.x % 128;
      if (ENGINE::BN % 128 == 0 || column < ENGINE::BN) fx_shared_put1(first + outer % 2 * BYTES + column * 4, fx_bits(asked[i]));
    }
    fx_named_barrier((int)threadIdx.x / 128, 128);  // all of them are there, and everyone has read those of two blocks before
  }
  // Those of a thread's two columns of eight.
  FX_DEVICE void get(float (&of)[2], int outer, int eight) const { fx_shared_get<2>(of, first + outer % 2 * BYTES + eight * 32 + (int)threadIdx.x % 4 * 8); }
};
template <class ENGINE, class SEGMENT>
struct fx_column_scales<ENGINE, SEGMENT, true> {  // all columns of the tile have one
  float asked, left;

  FX_DEVICE void begin(const fx_wgmma_ring<ENGINE> &) {}
  template <class PROBLEM>
  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int outer) {
    asked = SEGMENT::scale_n(p, at.batch, min(at.n, p.n() - 1), outer);
  }
  FX_DEVICE void put(int) { left = asked; }
  FX_DEVICE void get(float (&of)[2], int, int) const { of[0] = of[1] = left; }
};

// fx_wgmma_turns: two consumers side by side start products in turns, so that the other one's run while one scales and adds up what its own came to
// Not of narrow tiles, whose products are short, nor where all columns have one scale: registers are few there, and little is scaled.
template <class ENGINE, bool IS_ONE>
struct fx_wgmma_turns {
  static constexpr bool ARE = ENGINE::CONSUMERS == 2 && ENGINE::BN >= 128 && !IS_ONE;
  enum { FIRST = 4 };  // the barrier at which the first consumer waits for its turn; the second one's is behind it

  int left;  // of this consumer

  // Both have so many.
  FX_DEVICE void begin(int n) {
    left = n;
    if (ARE && threadIdx.x / 128 == 2) fx_named_arrive(FIRST, 256);  // the first one begins
  }
  FX_DEVICE void wait() const {
    if (ARE) fx_named_barrier(FIRST - 1 + (int)threadIdx.x / 128, 256);  // the other one has started its products
  }
  FX_DEVICE void hand_over() {
    if (ARE && (--left > 0 || threadIdx.x / 128 == 1)) fx_named_arrive(FIRST + 2 - (int)threadIdx.x / 128, 256);
  }
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
  static constexpr bool IS_AHEAD = ENGINE::CONSUMERS == 2;  // registers hold a thread's scales of columns beside what its products come to
  static_assert(ENGINE::SUMS == 1, "scales are of one sum");

  fx_wgmma_sums<ENGINE> &acc;   // the sums
  fx_wgmma_ring<ENGINE> &ring;  // of the block
  unsigned a_offset;            // of the consumer's rows in a stage
  int before, adds[1];          // as in fx_wgmma_consumer, of no use here
  fx_tile at;                   // the tile

  // Starts the products of the stage at hand, of 64 rows.
  FX_DEVICE void multiply(float (&fresh)[EACH], int part) {
    const unsigned long long a = fx_wgmma_operand<FX_K_MAJOR>::at(ring.address() + a_offset + part * ENGINE::BOX_BYTES),
                             b = fx_wgmma_operand<FX_K_MAJOR>::at(ring.address() + ENGINE::A_BYTES);
    fx_wgmma_begin();
#pragma unroll
    for (int step = 0; step < 4; ++step) ENGINE::columns::template multiply<ENGINE::T::KIND>(fresh, a + step * 2, b + step * 2, step > 0);
    fx_wgmma_commit();
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    constexpr bool IS_ONE = SEGMENT::SCALED_COLUMNS % ENGINE::BN == 0;
    const int n_outer = SEGMENT::k_outer(p), blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    const int first_row = a_offset / 128 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    fx_row_scales<ENGINE, SEGMENT> next;
    fx_column_scales<ENGINE, SEGMENT, IS_ONE> columns;
    fx_wgmma_turns<ENGINE, IS_ONE> turns;
    turns.begin(n_outer * blocks * ENGINE::PARTS);
    columns.begin(ring);
    next.fetch(p, at, first_row, 0);
    columns.fetch(p, at, 0);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
      const fx_row_scales<ENGINE, SEGMENT> rows = next;
      columns.put(outer);
      if (outer + 1 < n_outer) next.fetch(p, at, first_row, outer + 1), columns.fetch(p, at, outer + 1);
#pragma unroll 1
      for (int block = 0; block < blocks; ++block) {
        fx_mbarrier_wait(ring.full(), ring.parity);
#pragma unroll
        for (int part = 0; part < ENGINE::PARTS; ++part) {
          float fresh[EACH], by[EACH / 4][2];
          turns.wait();
          multiply(fresh, part);
          turns.hand_over();
#pragma unroll
          for (int i = 0; IS_AHEAD && i < EACH / 4; ++i) columns.get(by[i], outer, i);
          fx_wgmma_wait<0>();
#pragma unroll
          for (int i = 0; i < EACH; i += 4) {
            if constexpr (!IS_AHEAD) columns.get(by[i / 4], outer, i / 4);
#pragma unroll
            for (int j = 0; j < 4; ++j) acc.of[0][part][i + j] += rows.of[part][j / 2] * by[i / 4][j % 2] * fresh[i + j];
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
