/* The mainloop of the gemm driver of sm_90a, as the producer runs it and as consumers do: blocks of k through a ring of stages.
   A stage holds 128 bytes of k of A's rows and of the columns of every B in boxes of 64 x 64 elements, of tf32 64 x 32 and of 8 bits 64 x 128 with k contiguous, 8 KB, swizzled in
   128 bytes. Two memory barriers a stage say that it is full, by the bytes of its boxes, and that it is empty, by a lane of every warp that read it; both count phases throughout the
   tiles. */

// fx_ring: where a thread stands in a ring of stages
template <int STAGES, int BYTES>
struct fx_ring {
  unsigned first;     // of the stages, in shared memory
  unsigned barriers;  // likewise: of every stage that it is full, then that it is empty
  int stage;          // at hand
  unsigned parity;    // of its phase: turns when the ring has been walked once

  // Every phase that a stage is full, or empty, ends with so many arrivals.
  FX_DEVICE void begin(int fills, int empties) const {
    for (int s = 0; s < STAGES; ++s) {
      fx_mbarrier_init(barriers + s * 8, fills);
      fx_mbarrier_init(empty(s), empties);
    }
  }
  FX_DEVICE void end() const {
    for (int s = 0; s < 2 * STAGES; ++s) fx_mbarrier_end(barriers + s * 8);
  }
  FX_DEVICE unsigned address() const { return first + stage * BYTES; }
  FX_DEVICE unsigned full() const { return barriers + stage * 8; }
  FX_DEVICE unsigned empty() const { return empty(stage); }
  FX_DEVICE unsigned empty(int of) const { return barriers + (STAGES + of) * 8; }
  FX_DEVICE void next() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
  FX_DEVICE void skip(int blocks) {
    stage += blocks % STAGES, parity ^= blocks / STAGES & 1;
    if (stage >= STAGES) stage -= STAGES, parity ^= 1;
  }
};

// fx_wgmma_ring: the ring of an engine
template <class ENGINE>
using fx_wgmma_ring = fx_ring<ENGINE::STAGES, ENGINE::STAGE_BYTES>;

// fx_takes_maps: whether a mainloop takes the operands of a segment by tensor maps
template <class MAINLOOP> FX_DEVICE constexpr auto fx_takes_maps(int) -> decltype(MAINLOOP::TAKES_MAPS, true) { return true; }
template <class MAINLOOP> FX_DEVICE constexpr bool fx_takes_maps(...) { return false; }

// fx_wgmma_blocks: counts the blocks of k that a problem's segments have together
template <class ENGINE>
struct fx_wgmma_blocks {
  static constexpr bool TAKES_MAPS = true;

  int n;  // so far

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    n += SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  }
  FX_DEVICE void next_segment() {}
};

// fx_is_im2col: whether an operand comes by a tensor map in im2col mode, as columns of pixels, and has a function that loads one
template <class OPERAND> FX_DEVICE constexpr auto fx_is_im2col(int) -> decltype(&OPERAND::load_pixels, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_im2col(...) { return false; }

// fx_is_placed: whether an operand's tensor map is indexed by more than m or n and k
template <class OPERAND> FX_DEVICE constexpr auto fx_is_placed(int) -> decltype(&OPERAND::place, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_placed(...) { return false; }

// fx_has_tail: whether an operand has a tensor map of its last rows, those beyond multiples of 64
template <class OPERAND> FX_DEVICE constexpr auto fx_has_tail(int) -> decltype(OPERAND::TAIL, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_has_tail(...) { return false; }

// fx_wgmma_bytes: how many bytes the boxes of one operand of a tile have, whose m or n ends `left` behind the tile's first: a box that lies outside as a whole is not copied, nor are rows beyond a tail.
// What stays in the stage there reaches no sum inside.
template <int SIZE, class OPERAND>
FX_DEVICE unsigned fx_wgmma_bytes(int left) {
  if (left <= 0) return 0;  // of a tile that a cluster has too much
  if constexpr (fx_has_tail<OPERAND>(0)) return min(left, SIZE) * 128;
  else if constexpr (fx_is_im2col<OPERAND>(0)) return SIZE * 128;
  else return min((left + 63) / 64, SIZE / 64) * 8192;
}

// fx_wgmma_load: starts copying the boxes of one operand of a tile, SIZE of its m or n, which ends `left` behind the first, and a block of k, of a tile's the one of this number; tail: the map of its last rows
template <int SIZE, class OPERAND, class CLUSTER = fx_wgmma_single, bool IS_A = true, class PROBLEM>
FX_DEVICE void fx_wgmma_load(const PROBLEM &p, const fx_tensor_map *map, const fx_tensor_map *tail, unsigned to, unsigned full, int j, int batch, int outer, int mn, int left, int k, int block = 0) {
  if (fx_is_im2col<OPERAND>(0) && left <= 0) return;  // of a tile that a cluster has too much
#pragma unroll
  for (int i = 0; i < SIZE / 64; ++i) {
    if constexpr (!fx_is_im2col<OPERAND>(0)) {
      const int rows = fx_has_tail<OPERAND>(0) || left <= i * 64 ? left - i * 64 : 64;
      if (rows < 64) fx_unwritten(to + i * 8192 + max(rows, 0) * 128, 8192 - max(rows, 0) * 128);
      if (rows <= 0) continue;
    }
    if (!CLUSTER::template copies<IS_A>(block * (SIZE / 64) + i)) continue;
    if constexpr (fx_is_im2col<OPERAND>(0)) {
      if constexpr (OPERAND::LAYOUT == FX_MN_MAJOR) OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, k, mn + i * 64);
      else OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, mn + i * 64, k);
    } else {
      int at[OPERAND::RANK];
      at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 64 : k;
      at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i * 64;
      if constexpr (fx_is_placed<OPERAND>(0)) OPERAND::place(p, j, batch, outer, at);
      CLUSTER::template load<IS_A>(to + i * 8192, fx_has_tail<OPERAND>(0) && i * 64 + 64 > left ? tail : map, full, at);
    }
  }
}

// fx_wgmma_producer: the mainloop as the producer runs it: every block of k of a tile into the next stage
template <class ENGINE>
struct fx_wgmma_producer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_ring<ENGINE> &ring;  // of the block
  const fx_tile &at;            // the tile
  const fx_tensor_map *maps;    // of the launch
  const fx_tensor_map *map = maps;  // of the segment's first operand
  int block = 0;                    // of the tile

  template <class OPERAND>
  FX_DEVICE const fx_tensor_map *tail(int j) const {
    if constexpr (fx_has_tail<OPERAND>(0)) return maps + (OPERAND::TAIL + j);
    else return nullptr;
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::template b<J> operand;
      fx_wgmma_load<ENGINE::BN, operand, typename ENGINE::cluster, false>(p, map + 1 + J, tail<operand>(J), ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), J, at.batch, outer, at.n, p.n() - at.n, k, block);
      load_b<SEGMENT, J + 1>(p, outer, k);
    }
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int outer, int k) {
    typedef typename SEGMENT::a operand;
    fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
    fx_mbarrier_expect(ring.full(), fx_wgmma_bytes<ENGINE::BM, operand>(p.m() - at.m) + SEGMENT::SUMS * fx_wgmma_bytes<ENGINE::BN, typename SEGMENT::template b<0>>(p.n() - at.n));
    fx_wgmma_load<ENGINE::BM, operand, typename ENGINE::cluster, true>(p, map, tail<operand>(0), ring.address(), ring.full(), 0, at.batch, outer, at.m, p.m() - at.m, k, block);
    load_b<SEGMENT, 0>(p, outer, k);
    ++block;
    ring.next();
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int n_outer = SEGMENT::k_outer(p), k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
      for (int k = 0; k < k_end; k += ENGINE::BK) load<SEGMENT>(p, outer, k);
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_wgmma_operand: the descriptor of an operand that begins at an address: boxes of 64 rows of 128 swizzled bytes; steps of 16 k within it, of 8 of tf32
// PTX ISA, "Matrix descriptor format": address, leading and stride byte offsets in units of 16 bytes, and the swizzle. Where m or n is contiguous, the next 64 of it are the next box.
template <int LAYOUT>
struct fx_wgmma_operand {
  static constexpr unsigned LEADING = LAYOUT == FX_MN_MAJOR ? 8192 : 16, STEP = LAYOUT == FX_MN_MAJOR ? 2048 : 32;
  static FX_DEVICE unsigned long long at(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4 | LEADING >> 4 << 16) | (unsigned long long)(1024 >> 4 | 1u << 30) << 32;
  }
};

// fx_wgmma_consumer: the mainloop as a consumer runs it: the products of a block start while those of the one before end, whose stage is given back then
template <class ENGINE>
struct fx_wgmma_consumer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_sums<ENGINE> &acc;            // the sums
  fx_wgmma_ring<ENGINE> &ring;           // of the block
  unsigned a_offset;                     // of the consumer's rows in a stage
  int before;                            // the stage of the block before; -1: none
  int adds[ENGINE::SUMS / ENGINE::BESIDE];  // whether there is something to add to
  fx_tile at;                            // the tile

  template <class SEGMENT, int J>
  FX_DEVICE void multiply(unsigned long long a, unsigned b_address, int step) {
    if constexpr (J < SEGMENT::SUMS) {
      constexpr int SUM = SEGMENT::sum(J) / ENGINE::BESIDE;
      typedef fx_wgmma_operand<SEGMENT::a::LAYOUT> operand_a;
      typedef fx_wgmma_operand<SEGMENT::template b<J>::LAYOUT> operand_b;
      const unsigned long long b = operand_b::at(b_address + J * ENGINE::B_BYTES) + step * (operand_b::STEP >> 4);
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) {
        const unsigned long long of_part = a + part * (ENGINE::BOX_BYTES >> 4) + step * (operand_a::STEP >> 4);
        if constexpr (sizeof(typename ENGINE::T) == 1) ENGINE::columns::template multiply<ENGINE::T::KIND>(acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
        else
          ENGINE::columns::template multiply<fx_is_bf16<typename ENGINE::T>::VALUE, SEGMENT::a::LAYOUT == FX_MN_MAJOR, SEGMENT::template b<J>::LAYOUT == FX_MN_MAJOR, sizeof(typename ENGINE::T) == 4>(
              acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
      }
      multiply<SEGMENT, J + ENGINE::BESIDE>(a, b_address, step);
      adds[SUM] = 1;
    }
  }
  FX_DEVICE void give_back() {
    if (before >= 0) ENGINE::cluster::give_back(ring.empty(before));
  }
  template <class SEGMENT>
  FX_DEVICE void run(int blocks) {
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      fx_mbarrier_wait(ring.full(), ring.parity);
      const unsigned long long a = fx_wgmma_operand<SEGMENT::a::LAYOUT>::at(ring.address() + a_offset);
      fx_wgmma_begin();
#pragma unroll
      for (int step = 0; step < 4; ++step) multiply<SEGMENT, 0>(a, ring.address() + ENGINE::A_BYTES, step);
      fx_wgmma_commit();
      fx_wgmma_wait<1>();
      give_back();
      before = ring.stage;
      ring.next();
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK));
  }
  FX_DEVICE void next_segment() {}
  FX_DEVICE void end() {
    fx_wgmma_wait<0>();
    give_back();
  }
};

// fx_wgmma_mainloop: the mainloop as consumers run it, of operands of type T
template <class T, class ENGINE>
struct fx_wgmma_mainloop {
  typedef fx_wgmma_consumer<ENGINE> type;
};
