/* Operands of 8 bits of the contraction driver of sm_90a (driver_wgmma.cuh): integers, summed in i32, and f8, summed in f32. Both have k contiguous. */

// fx_bytes: two integers of 8 bits that one instruction multiplies; KIND as fx_wgmma_bytes_64 has it
template <int KIND_>
struct fx_bytes {
  typedef int sum;
  static constexpr int KIND = KIND_;
  char bits;  // as stored
};

// fx_bytes_by_64: the instruction of 64 columns, of 8 bits
struct fx_bytes_by_64 {
  static constexpr int N = 64;
  template <int KIND, class SUM>
  static FX_DEVICE void multiply(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) { fx_wgmma_bytes_64<KIND>(d, a, b, adds); }
};

// fx_bytes_by_128: the instruction of 128 columns, of 8 bits
struct fx_bytes_by_128 {
  static constexpr int N = 128;
  template <int KIND, class SUM>
  static FX_DEVICE void multiply(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) { fx_wgmma_bytes_128<KIND>(d, a, b, adds); }
};

// fx_bytes_by_192: the instruction of 192 columns, of 8 bits
struct fx_bytes_by_192 {
  static constexpr int N = 192;
  template <int KIND, class SUM>
  static FX_DEVICE void multiply(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) { fx_wgmma_bytes_192<KIND>(d, a, b, adds); }
};

// fx_bytes_by_256: the instruction of 256 columns, of 8 bits
struct fx_bytes_by_256 {
  static constexpr int N = 256;
  template <int KIND, class SUM>
  static FX_DEVICE void multiply(SUM (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) { fx_wgmma_bytes_256<KIND>(d, a, b, adds); }
};

// fx_f8, fx_wgmma_promoter: likewise two f8, and the mainloop as consumers run it: the products of a block of k are added up in registers of their own, as the sums of such instructions keep few bits, and then
// to the sums, in f32. Consumers stand side by side: while one adds, the other one's products run.
template <int KIND_>
struct fx_f8 {
  typedef float sum;
  static constexpr int KIND = KIND_;
  char bits;  // as stored
};
template <class ENGINE>
struct fx_wgmma_promoter {
  static constexpr bool TAKES_MAPS = true;
  static constexpr int EACH = ENGINE::BESIDE * ENGINE::BN / 2;

  fx_wgmma_sums<ENGINE> &acc;    // the sums
  fx_wgmma_ring<ENGINE> &ring;   // of the block
  unsigned a_offset;             // of the consumer's rows in a stage
  int before, adds[1];           // as in fx_wgmma_consumer, of no use here
  fx_tile at;                    // likewise

  template <class SEGMENT, int J>
  FX_DEVICE void multiply(unsigned long long a, unsigned b_address) {
    if constexpr (J < SEGMENT::SUMS) {
      const unsigned long long b = fx_wgmma_operand<FX_K_MAJOR>::at(b_address + J * ENGINE::B_BYTES);
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) {
        float fresh[EACH];
        fx_wgmma_begin();
#pragma unroll
        for (int step = 0; step < 4; ++step) ENGINE::columns::template multiply<ENGINE::T::KIND>(fresh, a + part * (ENGINE::BOX_BYTES >> 4) + step * 2, b + step * 2, step > 0);
        fx_wgmma_commit();
        fx_wgmma_wait<0>();
#pragma unroll
        for (int i = 0; i < EACH; ++i) acc.of[SEGMENT::sum(J) / ENGINE::BESIDE][part][i] += fresh[i];
      }
      multiply<SEGMENT, J + ENGINE::BESIDE>(a, b_address);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      fx_mbarrier_wait(ring.full(), ring.parity);
      multiply<SEGMENT, 0>(fx_wgmma_operand<FX_K_MAJOR>::at(ring.address() + a_offset), ring.address() + ENGINE::A_BYTES);
      ENGINE::cluster::give_back(ring.empty());
      ring.next();
    }
  }
  FX_DEVICE void next_segment() {}
  FX_DEVICE void end() {}
};
template <int KIND, class ENGINE>
struct fx_wgmma_mainloop<fx_f8<KIND>, ENGINE> {
  typedef fx_wgmma_promoter<ENGINE> type;
};
