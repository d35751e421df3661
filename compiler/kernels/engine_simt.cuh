/* The engine of ordinary multiply-adds: f32, f64, and integers of 32 and 64 bits, which wrap, over operands that cp.async brings into a ring of
   shared-memory stages. It says how one k-block of each operand is loaded, read and multiplied, and which (accumulator, lane, warp) is which (row, column);
   the gemm driver owns the loops.
   Invariant: whatever lies outside an operand is zero in shared memory, and is not read from memory. */

// fx_multiply_add: a b + c; integers wrap
FX_DEVICE float fx_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
FX_DEVICE double fx_multiply_add(double a, double b, double c) { return fma(a, b, c); }
FX_DEVICE int fx_multiply_add(int a, int b, int c) { return (int)((unsigned)a * (unsigned)b + (unsigned)c); }
FX_DEVICE unsigned fx_multiply_add(unsigned a, unsigned b, unsigned c) { return a * b + c; }
FX_DEVICE long long fx_multiply_add(long long a, long long b, long long c) {
  return (long long)((unsigned long long)a * (unsigned long long)b + (unsigned long long)c);
}
FX_DEVICE unsigned long long fx_multiply_add(unsigned long long a, unsigned long long b, unsigned long long c) { return a * b + c; }

// fx_simt_operand: one operand (A: MN = BM, B: MN = BN) on its way from memory to fragments
// In shared memory a block is BK rows of MN elements, so that a fragment is reads of 16 bytes; 16 bytes of padding a row keep the transposing copies
// free of bank conflicts. Operands with mn contiguous are copied as they lie, 16 bytes at a time where aligned; the others element by element, a warp taking
// 8 k x 4 mn, which are whole 32-byte sectors of memory and different banks. Of each mn share a thread owns SHARE, spread over LANES lanes.
template <class ENGINE, int MN, int SHARE, int LANES, int LAYOUT, bool ALIGNED>
struct fx_simt_operand {
  typedef typename ENGINE::sum T;
  static constexpr int BK = ENGINE::BK, SIZE = sizeof(T), GROUP = 16 / SIZE;   // elements in 16 bytes
  static constexpr bool TRANSPOSED = LAYOUT != FX_MN_MAJOR;
  static constexpr int WIDTH = ALIGNED && !TRANSPOSED ? GROUP : 1;        // elements a copy
  static constexpr int ACROSS = TRANSPOSED ? 8 : MN / WIDTH;              // threads along the direction that is contiguous in memory
  static constexpr int STEP = ENGINE::THREADS / ACROSS;                   // and along the other, a copy
  static constexpr int ROWS = TRANSPOSED ? MN : BK;                       // extent of the block along that other direction
  static constexpr int AGAIN = TRANSPOSED ? BK / ACROSS : 1;              // copies beside each other
  static constexpr int COPIES = ROWS / STEP * AGAIN;
  static constexpr int SLICE = (COPIES + ENGINE::STEPS - 2) / (ENGINE::STEPS - 1);
  static constexpr int PITCH = MN * SIZE + 16;
  static_assert(ENGINE::THREADS % ACROSS == 0 && ROWS % STEP == 0 && BK % 8 == 0, "the threads do not cover the block evenly");

  static constexpr bool IS_COPIED = true;         // asynchronously, as elements of 4 and 8 bytes always can
  static constexpr bool ALONG_MN = !TRANSPOSED;   // what the elements of a chunk run along
  static constexpr int CHUNK = WIDTH;
  static constexpr int ABREAST = AGAIN;           // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n

  typedef T fragment[SHARE];

  const T *from;          // this thread's next element
  long long stride_mn;    // elements from one m or n to the next
  long long stride_k;     // elements from one k to the next
  int mn_left;            // valid m or n from the thread's first element on
  int k_left;             // valid k from there on
  unsigned slot;          // offset of that element in a stage
  unsigned lane_slot;     // offset of the first element of the thread's fragments

  static FX_DEVICE int first_mn() { return TRANSPOSED ? (int)threadIdx.x / ACROSS : (int)threadIdx.x % ACROSS * WIDTH; }
  static FX_DEVICE int first_k() { return TRANSPOSED ? (int)threadIdx.x % ACROSS : (int)threadIdx.x / ACROSS; }

  FX_DEVICE fx_simt_operand(long long a_stride_mn, long long a_stride_k, int tile_mn, int mn_end, int thread_mn) {
    stride_mn = a_stride_mn;
    stride_k = a_stride_k;
    mn_left = mn_end - tile_mn - first_mn();
    slot = first_k() * PITCH + first_mn() * SIZE;
    lane_slot = thread_mn * SIZE;
  }

  // Chunk c of the thread: its first m or n and k, from the block's on, where it lies in a stage, and how its elements, or zeros, get there.
  static FX_DEVICE int chunk_row(int c) { return c / AGAIN * STEP; }
  static FX_DEVICE int chunk_mn(int c) { return first_mn() + (TRANSPOSED ? chunk_row(c) : 0); }
  static FX_DEVICE int chunk_k(int c) { return first_k() + (TRANSPOSED ? c % AGAIN * ACROSS : chunk_row(c)); }
  FX_DEVICE unsigned chunk_slot(int c) const { return slot + (chunk_k(c) - first_k()) * PITCH + (chunk_mn(c) - first_mn()) * SIZE; }
  static FX_DEVICE void put_chunk(unsigned to, const T (&x)[CHUNK], bool exists) {
    T y[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) y[i] = exists ? x[i] : 0;
    fx_shared_put<CHUNK>(to, y);
  }

  // Begins a walk along k over k_valid elements; base is the one at the tile's first m or n.
  FX_DEVICE void start(const T *base, int k_valid) {
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
      const T *p = from + c % AGAIN * ACROSS * stride_k;
      const unsigned to = stage + slot + k * PITCH + mn * SIZE;
      if constexpr (WIDTH == GROUP) {
        fx_cp_async16(to, p, mn < mn_left && k < k_left);
      } else if constexpr (SIZE == 8) {
        fx_cp_async8(to, p, mn < mn_left && k < k_left);
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
  FX_DEVICE void store(unsigned) const {}

  // The thread's fragment at one k: 16 bytes of each LANES * 16.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int) const {
#pragma unroll
    for (int i = 0; i < SHARE / GROUP; ++i) fx_shared_get<GROUP>(f + GROUP * i, stage + lane_slot + k * PITCH + i * LANES * 16);
  }
};

// fx_simt_product: what fx_simt adds up where nothing else is said
struct fx_simt_product {
  template <class T> static FX_DEVICE T add(T sum, T a, T b) { return fx_multiply_add(a, b, sum); }
};

// fx_simt: a BM x BN tile by WARPS_M x WARPS_N warps of 4 x 8 lanes, k-blocks of BK, STAGES of them in shared memory
// TERM: add(sum, a, b) adds what a and b give, nothing where both are 0.
// Shared memory for S sums: max(STAGES * (BM * sizeof(T) + 16 + S * (BN * sizeof(T) + 16)) * BK, BM * S * BN * sizeof(T)) bytes.
template <class T, int BM_, int BN_, int BK_, int WARPS_M, int WARPS_N, int STAGES_, class TERM = fx_simt_product>
struct fx_simt {
  typedef T element_a, element_b, sum;                                 // of the operands, of an accumulator
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int SIZE = sizeof(T), GROUP = 16 / SIZE;            // elements in 16 bytes
  static constexpr int TM = BM / WARPS_M / 4, TN = BN / WARPS_N / 8;   // a thread's share of the tile
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int MAX_V = 4;                                      // columns the epilogue may take at a time
  static constexpr int STEPS = BK;                                     // steps of the mainloop in a k-block
  static constexpr int PARTS = 1;                                      // in which the fragments of a step are read
  static constexpr bool IS_STAGING = false;                            // see fx_staging
  static constexpr int ACCUMULATORS = TM * TN;                         // of a thread
  static constexpr int A_BYTES = (BM * SIZE + 16) * BK, B_BYTES = (BN * SIZE + 16) * BK;
  static_assert(TM % GROUP == 0 && TN % GROUP == 0 && STAGES >= 3, "fragments are read 16 bytes at a time, and blocks copied two ahead");

  template <int LAYOUT, bool ALIGNED> using operand_a = fx_simt_operand<fx_simt, BM, TM, 4, LAYOUT, ALIGNED>;
  template <int LAYOUT, bool ALIGNED> using operand_b = fx_simt_operand<fx_simt, BN, TN, 8, LAYOUT, ALIGNED>;

  static FX_DEVICE int warp_m() { return (int)threadIdx.x / 32 % WARPS_M * (TM * 4) + (threadIdx.x & 31) / 8 * GROUP; }
  static FX_DEVICE int warp_n() { return (int)threadIdx.x / 32 / WARPS_M * (TN * 8) + (threadIdx.x & 7) * GROUP; }

  // The place of accumulator i in the tile.
  static FX_DEVICE int acc_row(int i) { return warp_m() + i / TN / GROUP * (4 * GROUP) + i / TN % GROUP; }
  static FX_DEVICE int acc_col(int i) { return warp_n() + i % TN / GROUP * (8 * GROUP) + i % GROUP; }

  // Serpentine, so that neighbouring instructions share an operand.
  static constexpr int QUARTERS = 1;
  static FX_DEVICE void multiply(sum (&acc)[ACCUMULATORS], const T (&a)[TM], const T (&b)[TN], int) {
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int s = 0; s < TN; ++s) {
        const int j = i % 2 ? TN - 1 - s : s;
        acc[i * TN + j] = TERM::add(acc[i * TN + j], a[i], b[j]);
      }
  }

  static FX_DEVICE constexpr int staging_pitch(int sums) { return sums * BN * SIZE; }
  template <int SUMS>
  static FX_DEVICE unsigned staged(int row, int col) {
    return fx_shared(fx_smem()) + row * staging_pitch(SUMS) + col * SIZE;
  }
  template <int SUMS>
  static FX_DEVICE void put(const sum (&acc)[ACCUMULATORS], int from_col) {
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i += GROUP) fx_shared_put<GROUP>(staged<SUMS>(acc_row(i), from_col + acc_col(i)), acc + i);
  }
  template <int SUMS, int V>
  static FX_DEVICE void get(sum (&x)[V], int row, int col) {
    fx_shared_get<V>(x, staged<SUMS>(row, col));
  }
};
