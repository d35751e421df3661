/* The chain driver for few rows on mma: a problem as for driver_chain.cuh, of one first contraction of 16-bit floats and one pass. There are so few rows that what takes time is reading B and C.
   The blocks of the intermediate of all tiles are shared out among blocks of threads, and put together, as driver_chain_pieces.cuh does it. B and C are copied asynchronously, STAGES - 1 blocks
   ahead, in chunks of 16 bytes: of operands in memory as their strides say, of others, which are elements of a tensor at positions, as the problem's fetch_held does. Where their rows are
   adjacent in memory (FINDS), where each begins is looked up once, by one thread, a block further ahead. Where C's elements are B's first columns (SHARES), they are copied once.
   Blocks that the limits of all of a tile's rows leave out take C alone: P is 0 there, and 0 times what is not finite is no 0.
   A's rows are fragments in registers throughout a tile. Warps share k of the first contraction out among them, and the columns of the second; S is added up in shared memory, LANES
   neighbouring threads own a row of it.
   Grid: any number of blocks of ENGINE::THREADS threads up to the blocks of the intermediate. Dynamic shared memory: ENGINE::SHARED_BYTES. Memory: see fx_chain_piece_store.
   Invariant: any m, n and t, k up to BK; k and n are multiples of 8; what lies outside an operand counts as zero, and nothing outside the tensors is read or written. */

// fx_chain_few: 16 * ROWS rows, BT of the intermediate at a time, BN columns, k up to BK, by WK warps along k and WT along the intermediate; SHARES: C's columns are B's first k;
// FINDS: operands that are not in memory have adjacent rows
template <class T_, int ROWS_, int BT_, int BN_, int BK_, int WK_, int WT_, int STAGES_, bool SHARES_, bool FINDS_>
struct fx_chain_few {
  typedef float sum;
  typedef T_ T;
  static constexpr int ROWS = ROWS_, BM = 16 * ROWS, BT = BT_, BN = BN_, BK = BK_, WK = WK_, WT = WT_, STAGES = STAGES_, THREADS = WK * WT * 32, CONSUMER_THREADS = THREADS;
  static constexpr bool SHARES = SHARES_, FINDS = FINDS_;
  static constexpr int FIRST = 1, ALONG_BYTES = 0;  // as fx_chain_rows asks for it
  static constexpr int LANES = THREADS / BM, V = BT / LANES;  // threads that share a row of the intermediate, and what one of them owns of a block of it
  static constexpr int STEPS = BK / 16 / WK, COLUMNS = BN / (WK * WT);  // of a warp: steps of k, columns
  // In shared memory, in bytes: stages of B and C, sums of every warp along k, P, scales of the rows, how many pieces are stored, limits that warps found, where rows of B and C begin.
  static constexpr int B_PITCH = BK * 2, B_BYTES = BT * B_PITCH, C_PITCH = SHARES ? B_PITCH : BN * 2, STAGE_BYTES = B_BYTES + (SHARES ? 0 : BT * C_PITCH);
  static constexpr int PITCH = (BT + 8) * 4, SUMS = STAGES * STAGE_BYTES, P = SUMS + WK * BM * PITCH, SCALES = P + BM * BT * 2, COUNT = SCALES + BM * 4, LIMITS = COUNT + 16;
  static constexpr int PLACES = LIMITS + WK * WT * 8, PLACES_BYTES = FINDS ? 2 * BT * 8 : 0, SHARED_BYTES = PLACES + STAGES * PLACES_BYTES;
  static_assert(BK % 64 == 0 && BK % (16 * WK) == 0, "the warps do not share k evenly");
  static_assert(BT % (16 * WT) == 0 && COLUMNS % 16 == 0 && (V == 2 || V == 4 || V == 8) && LANES <= 32 && (!SHARES || BN <= BK), "no such tile");
  // Rows of 16-byte chunks, which an exclusive or with the row's number permutes, so that eight rows' at one place lie in all banks.
  static FX_DEVICE unsigned chunk(int pitch, int row, int c) { return row * pitch + (c ^ (pitch >= 128 ? row & 7 : row >> 1 & 3)) * 16; }
};

// fx_few_chunk: 8 adjacent elements of an operand on their way to shared memory: where they are is found out for several at a time, as it may have to be read, then they are copied
// `place` says where to and whether they exist; `fx_few_find`, from where; `read` starts copying, of what does not exist zeros.
struct fx_few_chunk {
  unsigned to;
  bool exists;
  const void *from;
  FX_DEVICE void place(unsigned at, int is_there, int) { to = at, exists = is_there; }
  FX_DEVICE void read() const { fx_cp_async16(to, from, exists); }
};
template <class T>
struct fx_staged<8, T, 0> : fx_few_chunk {
  FX_DEVICE void load(const T *p, int n_valid) { from = p, exists &= n_valid > 0; }
};

// fx_few_in_memory: whether an operand lies in memory by strides
template <class OPERAND> FX_DEVICE constexpr auto fx_few_in_memory(int) -> decltype(&OPERAND::stride_mn, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_few_in_memory(long) { return false; }

// fx_few_chunk_of: the type of an operand's chunks: of one in memory, which has strides, of others as the problem's fetch_held finds them
template <class OPERAND> FX_DEVICE auto fx_few_chunk_of(int) -> decltype(&OPERAND::stride_mn, fx_few_chunk()) { return {}; }
template <class OPERAND> FX_DEVICE auto fx_few_chunk_of(long) -> typename OPERAND::template staged<8, 0> { return {}; }

// fx_few_row_of: where rows of an operand begin, on their way to shared memory; null: one counts as zero. Of an operand in memory nothing is kept
// `place` says where to; `fx_few_find`, what; `read` puts it there.
struct fx_few_row {
  unsigned to;
  const void *from;
  FX_DEVICE void place(unsigned at, int, int) { to = at, from = nullptr; }
  FX_DEVICE void read() const { fx_shared_put<1>(to, &from); }
};
template <class T>
struct fx_staged<8, T, -1> : fx_few_row {
  FX_DEVICE void load(const T *p, int n_valid) { from = n_valid > 0 ? p : nullptr; }
};
template <class OPERAND> FX_DEVICE auto fx_few_row_of(int) -> decltype(&OPERAND::stride_mn, fx_nothing()) { return {}; }
template <class OPERAND> FX_DEVICE auto fx_few_row_of(long) -> typename OPERAND::template staged<8, -1> { return {}; }

// fx_few_find: where a chunk is, whose first element has these m or n and k, which exist
template <class OPERAND, class PROBLEM>
FX_DEVICE void fx_few_find(const PROBLEM &p, fx_few_chunk &h, int batch, int mn, int k) {
  h.from = OPERAND::at(p, 0, batch, 0) + mn * OPERAND::stride_mn(p, 0) + k * OPERAND::stride_k(p, 0);
}
template <class OPERAND, class PROBLEM, class CHUNK>
FX_DEVICE void fx_few_find(const PROBLEM &p, CHUNK &h, int batch, int mn, int k) {
  OPERAND::template fetch_held<8, true>(p, h, batch, mn, 0, k, 8);
}

// fx_chain_few_block: a block of threads over the pieces of its run
template <class ENGINE, class PROBLEM>
struct fx_chain_few_block {
  typedef typename ENGINE::T T;
  typedef typename PROBLEM::first_segment::a operand_a;
  typedef typename PROBLEM::first_segment::template b<0> operand_b;
  typedef typename PROBLEM::second_segment::template b<0> operand_c;
  typedef fx_chain_piece_store<ENGINE, PROBLEM> store_type;
  static constexpr bool SKIPS = PROBLEM::LIMITS && PROBLEM::LOOKS == 0;
  static constexpr int BM = ENGINE::BM, BT = ENGINE::BT, V = ENGINE::V, ROWS = ENGINE::ROWS, STEPS = ENGINE::STEPS, COLUMNS = ENGINE::COLUMNS;
  typedef fx_chain_pass<0> pass;

  const PROBLEM &p;                      // the problem
  fx_tile at;                            // the tile of the result
  const int lane, warp, row, place;      // of the thread: in its warp; its row of the intermediate, and its place among those that share it
  bool is_row;                           // whether the row exists
  int start, end;                        // of the intermediate, what some row of the tile takes
  typename PROBLEM::results r;           // as in fx_chain_block
  typename PROBLEM::values q;
  typename store_type::sums_type sums;
  unsigned a[STEPS][ROWS][4];            // A's rows, of the warp's k
  float d[ROWS][COLUMNS / 8][4];         // D, of the warp's columns

  FX_DEVICE fx_chain_few_block(const PROBLEM &problem)
      : p(problem), lane((int)threadIdx.x % 32), warp((int)threadIdx.x / 32), row((int)threadIdx.x / ENGINE::LANES), place((int)threadIdx.x % ENGINE::LANES) {}
  static FX_DEVICE unsigned shared(int offset) { return fx_shared(fx_smem()) + offset; }
  static FX_DEVICE float *scales() { return (float *)(fx_smem() + ENGINE::SCALES); }
  FX_DEVICE int first_k() const { return warp % ENGINE::WK * STEPS * 16; }
  FX_DEVICE int first_column() const { return warp * COLUMNS; }

  // Where rows of the block from t0 on begin, of B, then of C, a thread those of a row: found, then put where copies read it.
  static constexpr int LOOKUPS = (BT + ENGINE::THREADS - 1) / ENGINE::THREADS;
  struct places {
    decltype(fx_few_row_of<operand_b>(0)) b[LOOKUPS];
    decltype(fx_few_row_of<operand_c>(0)) c[LOOKUPS];
  };
  static FX_DEVICE unsigned place_of(int number, int row) { return shared(ENGINE::PLACES + number % ENGINE::STAGES * ENGINE::PLACES_BYTES + row * 8); }
  template <class OPERAND, bool ALONG_K, class ROWS>
  FX_DEVICE void look_up(ROWS &x, unsigned to, int t, int first) const {
    if constexpr (!fx_few_in_memory<OPERAND>(0)) {
      x.place(to, 0, 0);
      if (t < p.t()) fx_few_find<OPERAND>(p, x, at.batch, ALONG_K ? t : first, ALONG_K ? first : t);
    }
  }
  FX_DEVICE void look_up_rows(places &x, int number, int t0) const {
#pragma unroll
    for (int i = 0; i < LOOKUPS; ++i) {
      const int row = i * ENGINE::THREADS + (int)threadIdx.x;
      if (row >= BT) continue;
      look_up<operand_b, true>(x.b[i], place_of(number, row), t0 + row, 0);
      if constexpr (!ENGINE::SHARES) look_up<operand_c, false>(x.c[i], place_of(number, BT + row), t0 + row, at.n);
    }
  }
  FX_DEVICE void put_rows(places &x) const {
#pragma unroll
    for (int i = 0; i < LOOKUPS; ++i) {
      if (i * ENGINE::THREADS + (int)threadIdx.x >= BT) continue;
      if constexpr (!fx_few_in_memory<operand_b>(0)) x.b[i].read();
      if constexpr (!fx_few_in_memory<operand_c>(0) && !ENGINE::SHARES) x.c[i].read();
    }
  }

  // Starts copying a block of the intermediate, from t0 on, into a stage. A thread has the same chunks of several rows.
  template <class OPERAND, bool ALONG_K, int ACROSS>
  FX_DEVICE void copy_rows(int number, unsigned to, int pitch, int t0, int first, int end) const {
    constexpr int CHUNKS = ACROSS / 8, WARPS = ENGINE::THREADS / 32;
    constexpr bool IS_EVEN = ENGINE::THREADS % CHUNKS == 0;
    constexpr int ABREAST = IS_EVEN ? ENGINE::THREADS / CHUNKS : WARPS, EACH = IS_EVEN ? 1 : (CHUNKS + 31) / 32;
    static_assert(BT % ABREAST == 0, "rows are not shared evenly");
    const int first_row = IS_EVEN ? (int)threadIdx.x / CHUNKS : warp, first_chunk = IS_EVEN ? (int)threadIdx.x % CHUNKS : lane, left = p.t() - t0;
    const T *from[BT / ABREAST];
    if constexpr (fx_few_in_memory<OPERAND>(0)) {
      const long long stride = ALONG_K ? OPERAND::stride_mn(p, 0) : OPERAND::stride_k(p, 0);
      from[0] = OPERAND::at(p, 0, at.batch, 0) + first + (t0 + first_row) * stride;
#pragma unroll
      for (int j = 1; j < BT / ABREAST; ++j) from[j] = from[0] + j * ABREAST * stride;
    } else {
#pragma unroll
      for (int j = 0; j < BT / ABREAST; ++j) fx_shared_get<1>(&from[j], place_of(number, (ALONG_K ? 0 : BT) + first_row + j * ABREAST));
    }
#pragma unroll
    for (int j = 0; j < BT / ABREAST; ++j) {
      const int row = first_row + j * ABREAST;
      const bool exists = fx_few_in_memory<OPERAND>(0) ? row < left : from[j] != nullptr;
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        const int c = first_chunk + i * 32;
        if (IS_EVEN || c < CHUNKS) fx_cp_async16(to + ENGINE::chunk(pitch, row, c), from[j] + c * 8, exists && first + c * 8 < end);
      }
    }
  }
  // The same, each chunk looked up for itself.
  template <class OPERAND, bool ALONG_K, int ACROSS>
  FX_DEVICE void copy_chunks(unsigned to, int pitch, int t0, int first, int end) const {
    constexpr int CHUNKS = ACROSS / 8, COPIES = (BT * CHUNKS + ENGINE::THREADS - 1) / ENGINE::THREADS, AT_ONCE = COPIES <= 8 ? COPIES : 4;
    const int last = p.t() - 1;
#pragma unroll 1
    for (int i = 0; i < COPIES; i += AT_ONCE) {
      decltype(fx_few_chunk_of<OPERAND>(0)) h[AT_ONCE];
#pragma unroll
      for (int j = 0; j < AT_ONCE; ++j) {
        const int n = (i + j) * ENGINE::THREADS + (int)threadIdx.x, row = n / CHUNKS, c = n % CHUNKS, t = min(t0 + row, last), x = first + c * 8 < end ? first + c * 8 : first;
        h[j].place(to + ENGINE::chunk(pitch, row, c), t0 + row <= last && first + c * 8 < end, 0);
        fx_few_find<OPERAND>(p, h[j], at.batch, ALONG_K ? t : x, ALONG_K ? x : t);
      }
#pragma unroll
      for (int j = 0; j < AT_ONCE; ++j) {
        if ((COPIES % AT_ONCE == 0 || i + j < COPIES) && (BT * CHUNKS % ENGINE::THREADS == 0 || (i + j) * ENGINE::THREADS + (int)threadIdx.x < BT * CHUNKS)) h[j].read();
      }
    }
  }
  template <class OPERAND, bool ALONG_K, int ACROSS>
  FX_DEVICE void copy(int number, unsigned to, int pitch, int t0, int first, int end) const {
    if constexpr (fx_few_in_memory<OPERAND>(0) || ENGINE::FINDS) copy_rows<OPERAND, ALONG_K, ACROSS>(number, to, pitch, t0, first, end);
    else copy_chunks<OPERAND, ALONG_K, ACROSS>(to, pitch, t0, first, end);
  }
  // Whether some row takes any of the block from t on.
  FX_DEVICE bool takes(int t) const { return !SKIPS || (t < end && start < t + BT); }
  FX_DEVICE void find_limits() {
    int *found = (int *)(fx_smem() + ENGINE::LIMITS);
    start = p.t(), end = 0;
    if (is_row) {
      const int first = p.start(q, r, at.batch, at.m + row), last = p.end(q, r, at.batch, at.m + row);
      if (first < last) start = first, end = last;
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      start = min(start, (int)fx_shuffle_xor((unsigned)start, mask));
      end = max(end, (int)fx_shuffle_xor((unsigned)end, mask));
    }
    if (lane == 0) found[warp * 2] = start, found[warp * 2 + 1] = end;
    fx_barrier();  // every warp's are there; nobody writes them before the next tile
#pragma unroll
    for (int w = 0; w < ENGINE::THREADS / 32; ++w) start = min(start, found[w * 2]), end = max(end, found[w * 2 + 1]);
  }
  FX_DEVICE void bring(int number, int t0) const {
    const unsigned stage = shared(number % ENGINE::STAGES * ENGINE::STAGE_BYTES);
    if (ENGINE::SHARES || takes(t0)) copy<operand_b, true, ENGINE::BK>(number, stage, ENGINE::B_PITCH, t0, 0, PROBLEM::first_segment::k(p));
    if constexpr (!ENGINE::SHARES) copy<operand_c, false, ENGINE::BN>(number, stage + ENGINE::B_BYTES, ENGINE::C_PITCH, t0, at.n, p.n());
  }

  FX_DEVICE void begin(const fx_tile &tile) {
    const int k_end = PROBLEM::first_segment::k(p);
    at = tile;
    is_row = at.m + row < p.m();
    r = {}, q = {};
    if constexpr (PROBLEM::PREPARES[0]) {
      if (is_row) p.prepare(pass(), q, r, at.batch, at.m + row);
    }
    sums = p.identity(pass());
    if constexpr (SKIPS) find_limits();
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int m = at.m + i * 16 + lane / 4 + j % 2 * 8, k = first_k() + s * 16 + lane % 4 * 2 + j / 2 * 8;
          a[s][i][j] = m < p.m() && k < k_end ? *(const unsigned *)(operand_a::at(p, 0, at.batch, 0) + m * operand_a::stride_mn(p, 0) + k) : 0;
        }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < COLUMNS / 8; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k) d[i][j][k] = 0.0f;
    if (!is_row) put_nothing();
  }
  // P of 0.
  FX_DEVICE void put_nothing() const {
    const float zeros[V] = {};
    put_intermediate(zeros);
    if (PROBLEM::SCALED && place == 0) scales()[row] = 1.0f;
  }
  FX_DEVICE void put_intermediate(const float (&x)[V]) const {
    unsigned w[V / 2];
    fx_pack<V>(w, x, (T *)0);
    fx_shared_put<V / 2>(shared(ENGINE::P) + ENGINE::chunk(BT * 2, row, place * V / 8) + place * V % 8 * 2, w);
  }

  // This warp's part of S, of its k, into shared memory.
  FX_DEVICE void first_contraction(unsigned stage) const {
    constexpr int SHARE = BT / ENGINE::WT;
    const int first_t = warp / ENGINE::WK * SHARE;
    float s[ROWS][SHARE / 8][4] = {};
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
      for (int j = 0; j < SHARE / 16; ++j) {
        unsigned b[4];
        fx_ldmatrix(b, stage + ENGINE::chunk(ENGINE::B_PITCH, first_t + j * 16 + lane / 16 * 8 + lane % 8, (first_k() + step * 16) / 8 + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < ROWS; ++i) fx_multiply(s[i][j * 2], a[step][i], b[0], b[1], T()), fx_multiply(s[i][j * 2 + 1], a[step][i], b[2], b[3], T());
      }
    const unsigned to = shared(ENGINE::SUMS) + warp % ENGINE::WK * BM * ENGINE::PITCH;
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int j = 0; j < SHARE / 8; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          fx_shared_put2(to + (i * 16 + lane / 4 + h * 8) * ENGINE::PITCH + (first_t + j * 8 + lane % 4 * 2) * 4, s[i][j][h * 2], s[i][j][h * 2 + 1]);
  }

  // This thread's share of the row: what shifts exponentials, then sums and P.
  FX_DEVICE void intermediate(int t0) {
    const int t = t0 + place * V, left = p.t() - t;
    float x[1][V];
    typename PROBLEM::along u[V];
    if (is_row) {
#pragma unroll
      for (int w = 0; w < ENGINE::WK; ++w) {
        float y[V];
        fx_shared_get<V>(y, shared(ENGINE::SUMS) + (w * BM + row) * ENGINE::PITCH + place * V * 4);
#pragma unroll
        for (int v = 0; v < V; ++v) x[0][v] = w ? x[0][v] + y[v] : y[v];
      }
      if constexpr (!__is_empty(typename PROBLEM::along)) {
#pragma unroll
        for (int v = 0; v < V; ++v) p.prepare_along(u[v], at.batch, v < left ? t + v : p.t() - 1);
      }
    }
    if constexpr (PROBLEM::FINDS_MAXIMA[0]) {
      auto maxima = p.maxima(pass());
      if (is_row) {
        if constexpr (PROBLEM::FACTORED[0]) {
          if (p.late(pass()) != p.factor(pass())) {
#pragma unroll
            for (int v = 0; v < V; ++v) x[0][v] *= p.factor(pass());
          }
        }
        p.find_maxima(pass(), maxima, x, r, q, u, at.batch, at.m + row, t, left);
      }
      if constexpr (PROBLEM::FACTORED[0]) p.multiply(pass(), maxima);
#pragma unroll
      for (int mask = 1; mask < ENGINE::LANES; mask *= 2) p.combine(pass(), maxima, fx_from_lane_xor(maxima, mask));
      const float scale = p.rescale(pass(), sums, maxima, r, q);
      if (PROBLEM::SCALED && place == 0) scales()[row] = scale;
    }
    if (!is_row) return;
    p.fold(pass(), sums, x, r, q, u, at.batch, at.m + row, t, left);
    put_intermediate(x[0]);
  }

  FX_DEVICE void second_contraction(unsigned stage) {
    const unsigned columns = stage + (ENGINE::SHARES ? 0 : ENGINE::B_BYTES);
    if constexpr (PROBLEM::SCALED) {
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        const float scale[2] = {scales()[i * 16 + lane / 4], scales()[i * 16 + lane / 4 + 8]};
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j)
#pragma unroll
          for (int k = 0; k < 4; ++k) d[i][j][k] *= scale[k / 2];
      }
    }
#pragma unroll
    for (int step = 0; step < BT / 16; ++step) {
      unsigned f[ROWS][4];
#pragma unroll
      for (int i = 0; i < ROWS; ++i) fx_ldmatrix(f[i], shared(ENGINE::P) + ENGINE::chunk(BT * 2, i * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < COLUMNS / 16; ++j) {
        unsigned c[4];
        fx_ldmatrix_trans(c, columns + ENGINE::chunk(ENGINE::C_PITCH, step * 16 + lane % 16, first_column() / 8 + j * 2 + lane / 16));
#pragma unroll
        for (int i = 0; i < ROWS; ++i) fx_multiply(d[i][j * 2], f[i], c[0], c[1], T()), fx_multiply(d[i][j * 2 + 1], f[i], c[2], c[3], T());
      }
    }
  }

  // Blocks `first` up to `end` of the tile's intermediate.
  FX_DEVICE void multiply(int first, int end) {
    places rows;
    if constexpr (ENGINE::FINDS) {
#pragma unroll 1
      for (int i = 0; i < ENGINE::STAGES; ++i) look_up_rows(rows, i, (first + i) * BT), put_rows(rows);
      fx_barrier();  // they are there
    }
#pragma unroll 1
    for (int i = 0; i < ENGINE::STAGES - 1; ++i) {
      if (first + i < end) bring(i, (first + i) * BT);
      fx_cp_async_commit();
    }
#pragma unroll 1
    for (int i = first; i < end; ++i) {
      const unsigned stage = shared((i - first) % ENGINE::STAGES * ENGINE::STAGE_BYTES);
      fx_cp_async_wait<ENGINE::STAGES - 2>();
      fx_barrier();  // the block has arrived; nobody reads the one before, P or the scales any more
      if (i + ENGINE::STAGES - 1 < end) bring(i - first + ENGINE::STAGES - 1, (i + ENGINE::STAGES - 1) * BT);
      fx_cp_async_commit();
      if constexpr (ENGINE::FINDS) look_up_rows(rows, i - first, (i + ENGINE::STAGES) * BT);  // in the place of this block's, which are copied
      if (takes(i * BT)) {
        first_contraction(stage);
        fx_barrier();  // all parts of S are there
        intermediate(i * BT);
      } else {
        put_nothing();
      }
      if constexpr (ENGINE::FINDS) put_rows(rows);
      fx_barrier();  // P and the scales are there, and where rows begin
      second_contraction(stage);
    }
  }
  // Stores the rows that there are as a piece.
  FX_DEVICE void put(const store_type &pieces, bool is_first) {
    if constexpr (store_type::WORDS) {
#pragma unroll
      for (int mask = 1; mask < ENGINE::LANES; mask *= 2) p.combine(pass(), sums, fx_from_lane_xor(sums, mask));
      if (is_row && place == 0) pieces.put(pieces.row_of(blockIdx.x, is_first, row), sums);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int own = i * 16 + lane / 4 + h * 8;
        if (at.m + own >= p.m()) continue;
        float *to = pieces.sums(pieces.row_of(blockIdx.x, is_first, own)) + first_column() + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) fx_store<2, true>(to + j * 8, {d[i][j][h * 2], d[i][j][h * 2 + 1]}, 2);
      }
  }
  FX_DEVICE void run(fx_chain_run<ENGINE, PROBLEM> run, unsigned long long *memory) {
    const store_type pieces(memory, run.tiles, p.m());
    unsigned *count = (unsigned *)(fx_smem() + ENGINE::COUNT);
#pragma unroll 1
    for (; run.left > 0; run.next()) {
      begin(fx_nth_tile<ENGINE>(p, run.tile));
      multiply((int)run.first, run.end());
      put(pieces, run.first == 0);
      const unsigned first_run = run.run_of(run.tile * run.blocks), last_run = run.run_of((run.tile + 1) * run.blocks - 1), most = last_run - first_run + 1;
      fx_barrier();  // the piece is stored; the count of the one before was read; nobody reads shared memory any more
      if (threadIdx.x == 0) *count = most == 1 ? 1 : fx_chain_count(pieces.counts + run.tile, most);
      fx_barrier();  // it is counted
      if (*count != most) continue;
      fx_chain_join<ENGINE>(p, at, pieces, first_run, last_run);
      fx_barrier();  // pieces were read: another one may take their place
    }
  }
};

// fx_chain_by_few: computes this block's run of the tiles of all `batches`; memory: as fx_chain_piece_store says
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_by_few(const PROBLEM &p, long long batches, unsigned long long *memory) {
  fx_chain_few_block<ENGINE, PROBLEM>(p).run(fx_chain_run<ENGINE, PROBLEM>(p, batches), memory);
}
