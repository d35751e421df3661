/* The f32 engine: ordinary multiply-adds over operands that cp.async brings into a ring of shared-memory stages. It says how one k-block of each operand
   is loaded, read and multiplied, and which (accumulator, lane, warp) is which (row, column); the gemm driver owns the loops.
   Invariant: whatever lies outside an operand is zero in shared memory, and is not read from memory. */

// fx_simt_operand: one operand (A: MN = BM, B: MN = BN) on its way from memory to fragments
// In shared memory a block is BK rows of MN floats, so that a fragment is float4 reads; four floats of padding a row keep the transposing copies
// free of bank conflicts. Operands with mn contiguous are copied as they lie, 16 bytes at a time where aligned; the others float by float, a warp taking
// 8 k x 4 mn, which are four whole 32-byte sectors of memory and 32 different banks. Of each mn share a thread owns SHARE, spread over LANES lanes.
template <class ENGINE, int MN, int SHARE, int LANES, int LAYOUT, bool ALIGNED>
struct fx_simt_operand {
  static constexpr int BK = ENGINE::BK;
  static constexpr bool TRANSPOSED = LAYOUT != FX_MN_MAJOR;
  static constexpr int WIDTH = ALIGNED && !TRANSPOSED ? 4 : 1;            // floats a copy
  static constexpr int ACROSS = TRANSPOSED ? 8 : MN / WIDTH;              // threads along the direction that is contiguous in memory
  static constexpr int STEP = ENGINE::THREADS / ACROSS;                   // and along the other, a copy
  static constexpr int ROWS = TRANSPOSED ? MN : BK;                       // extent of the block along that other direction
  static constexpr int AGAIN = TRANSPOSED ? BK / ACROSS : 1;              // copies beside each other
  static constexpr int COPIES = ROWS / STEP * AGAIN;
  static constexpr int SLICE = (COPIES + ENGINE::STEPS - 2) / (ENGINE::STEPS - 1);
  static constexpr int PITCH = (MN + 4) * 4;
  static_assert(ENGINE::THREADS % ACROSS == 0 && ROWS % STEP == 0 && BK % 8 == 0, "the threads do not cover the block evenly");

  static constexpr bool IS_COPIED = true;         // asynchronously, as floats always can
  static constexpr bool ALONG_MN = !TRANSPOSED;   // what the elements of a chunk run along
  static constexpr int CHUNK = WIDTH;
  static constexpr bool IN_LINE = AGAIN == 1;     // a thread's chunks begin at one k, or at one m or n

  typedef float fragment[SHARE];

  const float *from;      // this thread's next float
  long long stride_mn;    // floats from one m or n to the next
  long long stride_k;     // floats from one k to the next
  int mn_left;            // valid m or n from the thread's first float on
  int k_left;             // valid k from there on
  unsigned slot;          // offset of that float in a stage
  unsigned lane_slot;     // offset of the first float of the thread's fragments

  static FX_DEVICE int first_mn() { return TRANSPOSED ? (int)threadIdx.x / ACROSS : (int)threadIdx.x % ACROSS * WIDTH; }
  static FX_DEVICE int first_k() { return TRANSPOSED ? (int)threadIdx.x % ACROSS : (int)threadIdx.x / ACROSS; }

  FX_DEVICE fx_simt_operand(long long a_stride_mn, long long a_stride_k, int tile_mn, int mn_end, int thread_mn) {
    stride_mn = a_stride_mn;
    stride_k = a_stride_k;
    mn_left = mn_end - tile_mn - first_mn();
    slot = first_k() * PITCH + first_mn() * 4;
    lane_slot = thread_mn * 4;
  }

  // Chunk c of the thread: its first m or n and k, from the block's on, where it lies in a stage, and how its elements, or zeros, get there.
  static FX_DEVICE int chunk_row(int c) { return c / AGAIN * STEP; }
  static FX_DEVICE int chunk_mn(int c) { return first_mn() + (TRANSPOSED ? chunk_row(c) : 0); }
  static FX_DEVICE int chunk_k(int c) { return first_k() + (TRANSPOSED ? c % AGAIN * ACROSS : chunk_row(c)); }
  FX_DEVICE unsigned chunk_slot(int c) const { return slot + (chunk_k(c) - first_k()) * PITCH + (chunk_mn(c) - first_mn()) * 4; }
  static FX_DEVICE void put_chunk(unsigned to, const float (&x)[CHUNK], bool exists) {
    if constexpr (CHUNK == 4) fx_shared_put4(to, exists ? x[0] : 0.0f, exists ? x[1] : 0.0f, exists ? x[2] : 0.0f, exists ? x[3] : 0.0f);
    else fx_shared_put1(to, exists ? x[0] : 0.0f);
  }

  // Begins a walk along k over k_valid floats; base is the float at the tile's first m or n.
  FX_DEVICE void start(const float *base, int k_valid) {
    from = base + first_mn() * stride_mn + first_k() * stride_k;
    k_left = k_valid - first_k();
  }
  FX_DEVICE void next() {
    if (TRANSPOSED) from += BK * stride_k - ROWS * stride_mn;
    k_left -= BK;
  }

  FX_DEVICE void issue(int slice, unsigned stage) {
#pragma unroll
    for (int i = 0; i < SLICE; ++i) {
      const int c = slice * SLICE + i;
      if (c >= COPIES) break;
      const int row = c / AGAIN * STEP, mn = TRANSPOSED ? row : 0, k = TRANSPOSED ? c % AGAIN * ACROSS : row;
      const float *p = from + c % AGAIN * ACROSS * stride_k;
      const unsigned to = stage + slot + k * PITCH + mn * 4;
      if constexpr (WIDTH == 4) {
        fx_cp_async16(to, p, mn < mn_left && k < k_left);
      } else {
        fx_cp_async4(to, p, mn < mn_left && k < k_left);
      }
      if (c % AGAIN == AGAIN - 1) {
        from += STEP * (TRANSPOSED ? stride_mn : stride_k);
        fx_hide(from);
      }
    }
  }
  FX_DEVICE void load() {}
  FX_DEVICE void land(unsigned) const {}

  // The thread's fragment at one k: groups of four, LANES * 4 apart.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int) const {
#pragma unroll
    for (int i = 0; i < SHARE / 4; ++i) fx_shared_get<4>(f + 4 * i, stage + lane_slot + k * PITCH + i * LANES * 16);
  }
};

// fx_simt: a BM x BN tile by WARPS_M x WARPS_N warps of 4 x 8 lanes, k-blocks of BK, STAGES of them in shared memory
// Shared memory for S sums: max(STAGES * (BM + 4 + S * (BN + 4)) * BK * 4, BM * S * BN * 4) bytes.
template <int BM_, int BN_, int BK_, int WARPS_M, int WARPS_N, int STAGES_>
struct fx_simt {
  typedef float element;
  typedef float sum;                                                   // of an accumulator
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int TM = BM / WARPS_M / 4, TN = BN / WARPS_N / 8;   // a thread's share of the tile
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int MAX_V = 4;                                      // columns the epilogue may take at a time
  static constexpr int STEPS = BK;                                     // steps of the mainloop in a k-block
  static constexpr int PARTS = 1;                                      // in which the fragments of a step are read
  static constexpr int ACCUMULATORS = TM * TN;                         // of a thread
  static constexpr int A_BYTES = (BM + 4) * BK * 4, B_BYTES = (BN + 4) * BK * 4;
  static_assert(TM % 4 == 0 && TN % 4 == 0 && STAGES >= 3, "fragments are read four floats at a time, and blocks copied two ahead");

  template <int LAYOUT, bool ALIGNED> using operand_a = fx_simt_operand<fx_simt, BM, TM, 4, LAYOUT, ALIGNED>;
  template <int LAYOUT, bool ALIGNED> using operand_b = fx_simt_operand<fx_simt, BN, TN, 8, LAYOUT, ALIGNED>;

  static FX_DEVICE int warp_m() { return (int)threadIdx.x / 32 % WARPS_M * (TM * 4) + (threadIdx.x & 31) / 8 * 4; }
  static FX_DEVICE int warp_n() { return (int)threadIdx.x / 32 / WARPS_M * (TN * 8) + (threadIdx.x & 7) * 4; }

  // The place of accumulator i in the tile.
  static FX_DEVICE int acc_row(int i) { return warp_m() + i / TN / 4 * 16 + i / TN % 4; }
  static FX_DEVICE int acc_col(int i) { return warp_n() + i % TN / 4 * 32 + i % 4; }

  // Serpentine, so that neighbouring instructions share an operand.
  static constexpr int QUARTERS = 1;
  static FX_DEVICE void multiply(sum (&acc)[ACCUMULATORS], const float (&a)[TM], const float (&b)[TN], int) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int s = 0; s < TN; ++s) {
        const int j = i % 2 ? TN - 1 - s : s;
        acc[i * TN + j] = fmaf(a[i], b[j], acc[i * TN + j]);
      }
  }

  static FX_DEVICE constexpr int staging_pitch(int sums) { return sums * BN * 4; }
  template <int SUMS>
  static FX_DEVICE unsigned staged(int row, int col) {
    return fx_shared(fx_smem()) + row * staging_pitch(SUMS) + col * 4;
  }
  template <int SUMS>
  static FX_DEVICE void put(const sum (&acc)[ACCUMULATORS], int from_col) {
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i += 4) fx_shared_put4(staged<SUMS>(acc_row(i), from_col + acc_col(i)), acc[i], acc[i + 1], acc[i + 2], acc[i + 3]);
  }
  template <int SUMS, int V>
  static FX_DEVICE void get(sum (&x)[V], int row, int col) {
    fx_shared_get<V>(x, staged<SUMS>(row, col));
  }
};
