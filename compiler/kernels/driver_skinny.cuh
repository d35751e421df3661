/* The skinny driver: contractions of which one side has a few rows, under the problem of the gemm driver. The other side, the wide one, goes from memory to registers once,
   16 bytes a lane, several of them on their way at a time; the few rows come from the caches. Nothing waits in shared memory but the sums of the warps at the end.
   Where the wide side has k contiguous, a group of lanes takes some rows of it and its lanes neighbouring chunks of k: for tensor cores a group is four lanes, else the warp. Where
   it has m or n contiguous, a group of four lanes takes some adjacent columns and each lane four k of them. The warps of a block take turns along k; their sums are added up in
   shared memory, in the order of the warps. Where k is short a block takes several tiles, as beginning one takes longer than its products.
   Which k a lane takes is the same for both sides, so any order of k will do.
   Grid: ceil(m / BM) * ceil(n / BN) * batches blocks of ENGINE::THREADS threads. Dynamic shared memory: WARPS sets of sums. ALIGNED: as for the gemm driver; what k
   is contiguous is a multiple of CHUNK of the wide side.
   Invariant: any m, n, k, strides; nothing outside the tensors is read or written; every sum has one order, given by the shape alone. */

// fx_skinny_pack: the words of N elements of the pointer's type
template <int N>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 2], const float (&x)[N], fx_bf16 *to) { fx_pack<N>(w, x, to); }
template <int N>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 2], const float (&x)[N], fx_f16 *to) { fx_pack<N>(w, x, to); }
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack_bytes(unsigned (&w)[N / 4], const VALUE (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N / 4; ++i) w[i] = fx_pack_bytes((int)x[4 * i], (int)x[4 * i + 1], (int)x[4 * i + 2], (int)x[4 * i + 3]);
}
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 4], const VALUE (&x)[N], signed char *) { fx_skinny_pack_bytes<N>(w, x); }
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 4], const VALUE (&x)[N], unsigned char *) { fx_skinny_pack_bytes<N>(w, x); }
template <int N, class T>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N * sizeof(T) / 4], const T (&x)[N], T *) { memcpy(w, x, sizeof x); }

// fx_skinny_mma: products of tensor cores, the wide side's 16 rows at a time with SMALL of the other, 8 or 16
// Where k is contiguous a lane has ROWS rows, 2 or 4. Sums of a lane: [pair of its rows][eight of the small side][row of the pair][neighbour]
template <class PRODUCT, int SMALL_, int ROWS_ = 2>
struct fx_skinny_mma {
  typedef typename PRODUCT::a wide;
  typedef typename PRODUCT::b small;
  typedef typename PRODUCT::sum sum;
  static constexpr int SIZE = PRODUCT::SIZE, SMALL = SMALL_, LINES = SMALL / 8;  // rows of the small side that a lane reads
  static constexpr int EACH = SMALL / 4;                                         // sums a row of the wide side
  static constexpr int GROUP = 4, ROWS = ROWS_;                                  // lanes that share rows where these have k contiguous, and how many rows
  static_assert(SMALL % 8 == 0, "tensor cores take eight");

  static FX_DEVICE int line(int l) { return l * 8 + threadIdx.x % 32 / 4; }
  // 16 bytes along k of the lane's rows, and of the small side.
  static FX_DEVICE void multiply(sum *d, const unsigned (&w)[ROWS][4], const unsigned (&x)[LINES][4]) {
#pragma unroll
    for (int i = 0; i < ROWS * 2; i += 2) {
      const int h = i % 4, r = i / 4 * 2;
      const unsigned rows[4] = {w[r][h], w[r + 1][h], w[r][h + 1], w[r + 1][h + 1]};
#pragma unroll
      for (int l = 0; l < LINES; ++l) PRODUCT::multiply(d + (r / 2 * LINES + l) * 4, rows, x[l][h], x[l][h + 1]);
    }
  }
  // NV adjacent columns at four k, 16-bit elements: their halves trade places, so that a word has two k of one column.
  template <int NV>
  static FX_DEVICE void multiply_columns(sum *d, const unsigned (&w)[4][NV / 2], const unsigned (&x)[LINES][2]) {
    static_assert(SIZE == 2, "columns of halves");
#pragma unroll
    for (int j = 0; j < NV / 2; ++j) {
      const unsigned rows[4] = {fx_permute(w[0][j], w[1][j], 0x5410), fx_permute(w[0][j], w[1][j], 0x7632), fx_permute(w[2][j], w[3][j], 0x5410), fx_permute(w[2][j], w[3][j], 0x7632)};
#pragma unroll
      for (int l = 0; l < LINES; ++l) PRODUCT::multiply(d + (j * LINES + l) * 4, rows, x[l][0], x[l][1]);
    }
  }
  // Which row of the lane's, and which of the small side, its sum number i is.
  static FX_DEVICE int row(int i) { return i / (4 * LINES) * 2 + i % 4 / 2; }
  static FX_DEVICE int column(int i) { return i / 4 % LINES * 8 + threadIdx.x % 4 * 2 + i % 2; }
  template <int LANES, int N> static FX_DEVICE void join(sum (&)[N]) {}
  template <int LANES> static FX_DEVICE bool speaks() { return true; }
};

// fx_skinny_values: the values of elements in words
template <int N, class T>
FX_DEVICE void fx_skinny_values(T (&x)[N], const unsigned (&w)[N * sizeof(T) / 4], T *) { memcpy(x, w, sizeof x); }
template <int N>
FX_DEVICE void fx_skinny_values(float (&x)[N], const unsigned (&w)[N / 2], fx_bf16 *of) { fx_unpack<N>(x, w, of); }
template <int N>
FX_DEVICE void fx_skinny_values(float (&x)[N], const unsigned (&w)[N / 2], fx_f16 *of) { fx_unpack<N>(x, w, of); }

// fx_skinny_fma: products of ordinary multiply-adds; lanes of a group share their rows, each with k of its own
template <class T, class SUM, int SMALL_, int ROWS_>
struct fx_skinny_fma {
  typedef T wide, small;
  typedef SUM sum;
  static constexpr int SIZE = sizeof(T), SMALL = SMALL_, LINES = SMALL, EACH = SMALL, GROUP = 32, ROWS = ROWS_, E = 16 / SIZE;

  static FX_DEVICE int line(int l) { return l; }
  static FX_DEVICE void multiply(sum *d, const unsigned (&w)[ROWS][4], const unsigned (&x)[LINES][4]) {
    sum row[ROWS][E], column[E];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) fx_skinny_values<E>(row[r], w[r], (T *)0);
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      fx_skinny_values<E>(column, x[l], (T *)0);
#pragma unroll
      for (int i = 0; i < E * ROWS; ++i) d[i % ROWS * SMALL + l] = fx_multiply_add(row[i % ROWS][i / ROWS], column[i / ROWS], d[i % ROWS * SMALL + l]);
    }
  }
  template <int NV>
  static FX_DEVICE void multiply_columns(sum *d, const unsigned (&w)[4][NV * SIZE / 4], const unsigned (&x)[LINES][SIZE]) {
    sum rows[4][NV], column[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) fx_skinny_values<NV>(rows[i], w[i], (T *)0);
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      fx_skinny_values<4>(column, x[l], (T *)0);
#pragma unroll
      for (int i = 0; i < 4 * NV; ++i) d[i % NV * SMALL + l] = fx_multiply_add(rows[i / NV][i % NV], column[i / NV], d[i % NV * SMALL + l]);
    }
  }
  static FX_DEVICE int row(int i) { return i / SMALL; }
  static FX_DEVICE int column(int i) { return i % SMALL; }
  template <int LANES, int N> static FX_DEVICE void join(sum (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int m = 1; m < LANES; m *= 2) d[i] = fx_multiply_add(d[i], (sum)1, fx_from_lane_xor(d[i], m));
  }
  template <int LANES> static FX_DEVICE bool speaks() { return threadIdx.x % LANES == 0; }
};

// fx_skinny_engine: a block of the driver: PRODUCT's products, WARPS warps, AHEAD chunks of a row on their way in each lane
// CHUNK elements of k a lane where K_MAJOR, else NV = CHUNK adjacent columns. SWAPS: the wide side is A. ONCE: it is read past the first cache. TURNS: tiles of a block, one after the other.
template <class PRODUCT_, bool K_MAJOR_, int CHUNK_, int AHEAD_, int WARPS_, bool SWAPS_, bool ONCE_, int TURNS_ = 1>
struct fx_skinny_engine {
  typedef PRODUCT_ PRODUCT;
  typedef typename PRODUCT::sum sum;
  static constexpr bool K_MAJOR = K_MAJOR_, SWAPS = SWAPS_, ONCE = ONCE_ && K_MAJOR;
  static constexpr int CHUNK = CHUNK_, AHEAD = AHEAD_, WARPS = WARPS_, THREADS = WARPS * 32;
  static constexpr int GROUP = K_MAJOR ? PRODUCT::GROUP : 4;             // lanes that share rows of the wide side
  static constexpr int ROWS = K_MAJOR ? PRODUCT::ROWS : CHUNK;           // of which a lane has sums
  static constexpr int WIDE = 32 / GROUP * ROWS;                         // and a block
  static constexpr int LINES = K_MAJOR ? ROWS : 4;                       // chunks read for one product
  static constexpr int E = K_MAJOR ? 16 / PRODUCT::SIZE : 4;             // k of a product, in a lane
  static constexpr int STEP = GROUP * (K_MAJOR ? CHUNK : 4);             // and k of a chunk, in a warp
  static constexpr int WORDS = K_MAJOR ? 4 : CHUNK * PRODUCT::SIZE / 4;  // that go into a product, of each chunk
  static constexpr int TURNS = TURNS_;
  static constexpr int TILE_M = SWAPS ? WIDE : PRODUCT::SMALL, TILE_N = SWAPS ? PRODUCT::SMALL : WIDE;
  static constexpr int BM = SWAPS ? WIDE * TURNS : TILE_M, BN = SWAPS ? TILE_N : WIDE * TURNS;  // of a block
  static constexpr int SUMS = ROWS * PRODUCT::EACH;                      // of a lane
  static_assert(!K_MAJOR || CHUNK % E == 0, "a chunk is whole products");

  // Row r of the lane's.
  static FX_DEVICE int row(int r) { return threadIdx.x % 32 / GROUP * (K_MAJOR ? 1 : CHUNK) + (K_MAJOR ? 32 / GROUP : 1) * r; }
  // The first k of the lane in chunk u of a warp.
  static FX_DEVICE int k(int u) { return u * STEP + threadIdx.x % GROUP * (K_MAJOR ? CHUNK : 4); }
};

// fx_skinny_place: where a block stands in a segment
template <int LINES>
struct fx_skinny_place {
  int batch, ko, k_end;  // indices over the batch axes and the outer k, extent of k
  int wide_end;          // extent of the wide side
  int rows[LINES];       // the first m or n of each line of chunks on it
  int small, small_end;  // first m or n of the tile on the small side, and its extent
};

// fx_skinny_is_computed: whether an operand is made as it is loaded
template <class OPERAND> FX_DEVICE constexpr auto fx_skinny_is_computed(int) -> decltype(OPERAND::IS_FIXED, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_skinny_is_computed(long) { return false; }

// fx_skinny_copied: chunks of an operand that lies in memory; LINES of them beside each other, AHEAD times
// ONCE: past the first cache. Halves that lie anyhow along k are read as windows of whole words, where these lie in the row.
template <class OPERAND, class T, int V, int LINES, int AHEAD, bool ALONG_K, bool ALIGNED, bool ONCE>
struct fx_skinny_copied {
  static constexpr bool WINDOWS = !ALIGNED && ALONG_K && OPERAND::LAYOUT == FX_K_MAJOR && sizeof(T) == 2 && V == 8;
  static constexpr int WORDS = WINDOWS ? 8 : V * (int)sizeof(T) / 4;
  const T *from[ALONG_K ? LINES : 1];  // the first element of each line of chunks, at k = 0
  long long stride_mn, stride_k;       // elements from one m or n, one k to the next
  int mn, mn_end, k_end;
  unsigned w[AHEAD][LINES][WORDS];     // what was read

  template <class PROBLEM>
  FX_DEVICE void start(const PROBLEM &p, int j, const fx_skinny_place<LINES> &at) {
    stride_mn = OPERAND::stride_mn(p, j), stride_k = OPERAND::stride_k(p, j);
    mn = at.rows[0], mn_end = at.wide_end, k_end = at.k_end;
    const T *const base = OPERAND::at(p, j, at.batch, at.ko);
#pragma unroll
    for (int i = 0; i < (ALONG_K ? LINES : 1); ++i) from[i] = at.rows[i] < mn_end ? base + at.rows[i] * stride_mn : nullptr;
  }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &, int u, int k) {
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const T *const p = from[ALONG_K ? i : 0];
      const int at = ALONG_K ? k : k + i;
      if constexpr (ALIGNED) {
#pragma unroll
        for (int x = 0; x < WORDS; ++x) w[u][i][x] = 0;
        if (!p || at >= k_end) continue;
        if constexpr (ONCE) fx_load_once(w[u][i], p + (ALONG_K ? at : at * stride_k));
        else fx_load_words(w[u][i], p + (ALONG_K ? at : at * stride_k));
      } else if constexpr (WINDOWS) {
        if (p && at >= 3 && at + 12 <= k_end) {
          fx_mma_window(w[u][i], p + at, true);
        } else {
          T x[2 * V];
#pragma unroll
          for (int v = 0; v < 2 * V; ++v) x[v] = v < V && p && at + v < k_end ? p[at + v] : T{};
          memcpy(w[u][i], x, sizeof x);  // a window that begins with the first
        }
      } else {
        T x[V];
#pragma unroll
        for (int v = 0; v < V; ++v) x[v] = p && (ALONG_K ? at + v < k_end : at < k_end && mn + v < mn_end) ? p[ALONG_K ? (at + v) * stride_k : at * stride_k + v * stride_mn] : T{};
        memcpy(w[u][i], x, sizeof x);
      }
    }
  }
  template <int N, class PROBLEM>
  FX_DEVICE void get(const PROBLEM &, unsigned (&to)[LINES][N], int u, int part, int) const {
    if constexpr (WINDOWS) {
#pragma unroll
      for (int i = 0; i < LINES; ++i) fx_mma_of_window(to[i], w[u][i]);
    } else {
#pragma unroll
      for (int x = 0; x < LINES * N; ++x) to[x / N][x % N] = w[u][x / N][part * N + x % N];
    }
  }
};

// fx_skinny_computed: chunks of one that is made of what was read
template <class OPERAND, class T, int V, int LINES, int AHEAD, bool ALONG_K, bool ALIGNED>
struct fx_skinny_computed {
  typedef typename OPERAND::template raw<V, ALIGNED> raw;
  typedef typename OPERAND::template held<V, ALIGNED> held;
  typedef typename OPERAND::template context<V, ALIGNED> context;
  static constexpr bool IS_FIXED = OPERAND::IS_FIXED && !__is_empty(raw);  // then it is read once
  static constexpr int WORDS = V * (int)sizeof(T) / 4;
  int batch, ko, k_end, mn_end;
  int mn[LINES];  // first m or n of each line of chunks
  raw r[IS_FIXED ? 1 : AHEAD][LINES];
  held h[AHEAD][LINES];
  context c[ALONG_K ? AHEAD : 1];
  static constexpr bool MAKES_HALVES = ALIGNED && fx_makes_halves<OPERAND>(0);  // then a product's words are made at a time
  unsigned made[LINES][MAKES_HALVES ? 1 : WORDS];  // the chunks at hand

  FX_DEVICE int valid(int i, int k) const { return mn[i] >= mn_end || k >= k_end ? 0 : ALONG_K ? k_end - k : mn_end - mn[i]; }
  template <class PROBLEM>
  FX_DEVICE void start(const PROBLEM &p, int, const fx_skinny_place<LINES> &at) {
    batch = at.batch, ko = at.ko, k_end = at.k_end, mn_end = at.wide_end;
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      mn[i] = at.rows[i];
      if constexpr (IS_FIXED) OPERAND::template fetch<V, ALIGNED>(p, r[0][i], batch, mn[i], 0, 0, valid(i, 0));
    }
    if constexpr (!ALONG_K && !__is_empty(context)) OPERAND::template fetch_context<V, ALIGNED>(p, c[0], batch, mn[0], ko, 0, mn_end - mn[0]);
  }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int u, int k) {
    if constexpr (ALONG_K && !__is_empty(context)) OPERAND::template fetch_context<V, ALIGNED>(p, c[u], batch, mn[0], ko, k, k_end - k);
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const int at = ALONG_K ? k : k + i;
      if constexpr (!IS_FIXED && !__is_empty(raw)) OPERAND::template fetch<V, ALIGNED>(p, r[u][i], batch, mn[i], ko, at, valid(i, at));
      if constexpr (!__is_empty(held)) OPERAND::template fetch_held<V, ALIGNED>(p, h[u][i], batch, mn[i], ko, at, valid(i, at));
    }
  }
  // Past the last k there are zeros, whatever they are multiplied by.
  template <int N, class PROBLEM>
  FX_DEVICE void get(const PROBLEM &p, unsigned (&to)[LINES][N], int u, int part, int k) {
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const int at = ALONG_K ? k : k + i;
      if constexpr (MAKES_HALVES) {  // past the last k finite numbers, by which zeros are multiplied
        OPERAND::template make_halves<V, ALIGNED>(p, to[i], r[IS_FIXED ? 0 : u][i], h[u][i], c[ALONG_K ? u : 0], part * N, batch, mn[i], ko, at);
      } else {
        if (part == 0 && at < k_end) {
          typename OPERAND::value x[V];
          OPERAND::template make<V, ALIGNED>(p, x, r[IS_FIXED ? 0 : u][i], h[u][i], c[ALONG_K ? u : 0], batch, mn[i], ko, at);
#pragma unroll
          for (int v = 0; v < V && !ALIGNED; ++v)
            if (ALONG_K ? at + v >= k_end : mn[i] + v >= mn_end) x[v] = 0;
          fx_skinny_pack<V>(made[i], x, (T *)0);
        } else if (part == 0) {
#pragma unroll
          for (int n = 0; n < WORDS; ++n) made[i][n] = 0;
        }
#pragma unroll
        for (int n = 0; n < N; ++n) to[i][n] = made[i][part * N + n];
      }
    }
  }
};

// fx_skinny_lines: N elements along k of LINES rows of the small side, as words
template <class PRODUCT, class OPERAND, int N, bool ALIGNED>
struct fx_skinny_lines {
  typedef typename PRODUCT::small T;
  static constexpr int LINES = PRODUCT::LINES, WORDS = N * PRODUCT::SIZE / 4;
  static constexpr bool IS_COMPUTED = fx_skinny_is_computed<OPERAND>(0), ALONG_K = OPERAND::LAYOUT == FX_K_MAJOR;
  static constexpr bool WINDOWS = !ALIGNED && ALONG_K && PRODUCT::SIZE == 2 && N == 8;
  int j, batch, ko, k_end, mn, mn_end;

  template <class PROBLEM, class PLACE>
  FX_DEVICE void start(const PROBLEM &, int number, const PLACE &at) { j = number, batch = at.batch, ko = at.ko, k_end = at.k_end, mn = at.small, mn_end = at.small_end; }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &, int, int) {}
  template <class PROBLEM>
  FX_DEVICE void get(const PROBLEM &p, unsigned (&w)[LINES][WORDS], int, int part, int k0) const {
    const int k = k0 + part * N;
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      const int row = mn + PRODUCT::line(l);
#pragma unroll
      for (int i = 0; i < WORDS; ++i) w[l][i] = 0;
      if (row >= mn_end || k >= k_end) continue;
      if constexpr (IS_COMPUTED) {
        typedef typename OPERAND::value value;
        constexpr int V = !ALONG_K ? 1 : N < 8 ? N : 8;
        value x[N];
#pragma unroll
        for (int n = 0; n < N; n += V) {
          typename OPERAND::template raw<V, ALIGNED && ALONG_K> r;
          typename OPERAND::template held<V, ALIGNED && ALONG_K> h;
          typename OPERAND::template context<V, ALIGNED && ALONG_K> c;
          value y[V];
          const int at = k + n, n_valid = at >= k_end ? 0 : ALONG_K ? k_end - at : 1;
          if constexpr (!__is_empty(decltype(r))) OPERAND::template fetch<V, ALIGNED && ALONG_K>(p, r, batch, row, ko, at, n_valid);
          if constexpr (!__is_empty(decltype(h))) OPERAND::template fetch_held<V, ALIGNED && ALONG_K>(p, h, batch, row, ko, at, n_valid);
          if constexpr (!__is_empty(decltype(c))) OPERAND::template fetch_context<V, ALIGNED && ALONG_K>(p, c, batch, row, ko, at, n_valid);
          OPERAND::template make<V, ALIGNED && ALONG_K>(p, y, r, h, c, batch, row, ko, at);
#pragma unroll
          for (int v = 0; v < V; ++v) x[n + v] = at + v < k_end ? y[v] : (value)0;
        }
        fx_skinny_pack<N>(w[l], x, (T *)0);
      } else {
        const long long stride = OPERAND::stride_k(p, j);
        const T *const from = OPERAND::at(p, j, batch, ko) + row * OPERAND::stride_mn(p, j) + k * stride;
        if constexpr (ALIGNED && ALONG_K && WORDS <= 4) {
          fx_load_words(w[l], from);
        } else if constexpr (ALIGNED && ALONG_K) {  // of 8-byte elements two loads of 16 bytes: k may end between them
#pragma unroll
          for (int i = 0; i < WORDS; i += 4) {
            unsigned half[4] = {};
            if (k + i * 4 / PRODUCT::SIZE < k_end) fx_load_words(half, from + i * 4 / PRODUCT::SIZE);
            memcpy(w[l] + i, half, sizeof half);
          }
        } else {
          if constexpr (WINDOWS) {
            if (k >= 3 && k + 12 <= k_end) {
              unsigned window[8];
              fx_mma_window(window, from, true);
              fx_mma_of_window(w[l], window);
              continue;
            }
          }
          T x[N];
#pragma unroll
          for (int n = 0; n < N; ++n) x[n] = k + n < k_end ? from[n * stride] : T{};
          memcpy(w[l], x, sizeof x);
        }
      }
    }
  }
};

// fx_skinny_wide: the wide side of a segment in an engine: its operand number J
template <class ENGINE, class OPERAND, bool ALIGNED>
using fx_skinny_wide = typename fx_choose<fx_skinny_is_computed<OPERAND>(0),
                                          fx_skinny_computed<OPERAND, typename ENGINE::PRODUCT::wide, ENGINE::CHUNK, ENGINE::LINES, ENGINE::AHEAD, ENGINE::K_MAJOR, ALIGNED>,
                                          fx_skinny_copied<OPERAND, typename ENGINE::PRODUCT::wide, ENGINE::CHUNK, ENGINE::LINES, ENGINE::AHEAD, ENGINE::K_MAJOR, ALIGNED, ENGINE::ONCE>>::type;

// fx_skinny_products: adds a product of both sides' words
template <class ENGINE>
FX_DEVICE void fx_skinny_products(typename ENGINE::sum *d, const unsigned (&w)[ENGINE::LINES][ENGINE::WORDS],
                                  const unsigned (&x)[ENGINE::PRODUCT::LINES][ENGINE::E * ENGINE::PRODUCT::SIZE / 4]) {
  if constexpr (ENGINE::K_MAJOR) ENGINE::PRODUCT::multiply(d, w, x);
  else ENGINE::PRODUCT::template multiply_columns<ENGINE::CHUNK>(d, w, x);
}

// fx_skinny_sides: what a segment reads: one side for all of its sums, the other for every one, from number J on
template <class ENGINE, class SEGMENT, bool ALIGNED, int J, bool IS_END>
struct fx_skinny_sides {
  typedef typename SEGMENT::template b<J> b;
  typedef typename fx_choose<ENGINE::SWAPS, fx_skinny_lines<typename ENGINE::PRODUCT, b, ENGINE::E, ALIGNED>, fx_skinny_wide<ENGINE, b, ALIGNED>>::type side;
  side first;                                                                      // number J
  fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, J + 1, J + 1 == SEGMENT::SUMS> rest;  // those after it

  template <class PROBLEM, class PLACE>
  FX_DEVICE void start(const PROBLEM &p, const PLACE &at) { first.start(p, J, at), rest.start(p, at); }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int u, int k) { first.load(p, u, k), rest.load(p, u, k); }
  // Adds the products of every one with `shared`, the words of the other side.
  template <class SHARED, class PROBLEM, int SUMS>
  FX_DEVICE void multiply(typename ENGINE::sum (&acc)[SUMS][ENGINE::SUMS], const PROBLEM &p, const SHARED &shared, int u, int part, int k) {
    constexpr int INTO = SEGMENT::sum(J);
    if constexpr (ENGINE::SWAPS) {
      unsigned x[ENGINE::PRODUCT::LINES][ENGINE::E * ENGINE::PRODUCT::SIZE / 4];
      first.get(p, x, u, part, k);
      fx_skinny_products<ENGINE>(acc[INTO], shared, x);
    } else {
      unsigned w[ENGINE::LINES][ENGINE::WORDS];
      first.get(p, w, u, part, k);
      fx_skinny_products<ENGINE>(acc[INTO], w, shared);
    }
    rest.multiply(acc, p, shared, u, part, k);
  }
};
template <class ENGINE, class SEGMENT, bool ALIGNED, int J>
struct fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, J, true> {
  template <class PROBLEM, class PLACE> FX_DEVICE void start(const PROBLEM &, const PLACE &) {}
  template <class PROBLEM> FX_DEVICE void load(const PROBLEM &, int, int) {}
  template <class SHARED, class PROBLEM, int SUMS>
  FX_DEVICE void multiply(typename ENGINE::sum (&)[SUMS][ENGINE::SUMS], const PROBLEM &, const SHARED &, int, int, int) {}
};

// fx_skinny_mainloop: what a problem hands its segments to, one after the other; IS_RAGGED: this one is never aligned
template <class ENGINE, bool ALIGNED_, int SUMS>
struct fx_skinny_mainloop {
  typedef typename ENGINE::PRODUCT PRODUCT;
  typename ENGINE::sum (&acc)[SUMS][ENGINE::SUMS];  // the sums
  const fx_tile &at;                                // the tile

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    constexpr bool ALIGNED = ALIGNED_ && !IS_RAGGED, SWAPS = ENGINE::SWAPS;
    constexpr int LINES = ENGINE::LINES, E = ENGINE::E, PARTS = ENGINE::K_MAJOR ? ENGINE::CHUNK / E : 1;
    constexpr int AHEAD = ENGINE::AHEAD, ROUND = AHEAD * ENGINE::STEP;
    typedef typename SEGMENT::a a;
    typedef fx_skinny_lines<PRODUCT, a, E, ALIGNED> small_a;
    typename fx_choose<SWAPS, fx_skinny_wide<ENGINE, a, ALIGNED>, small_a>::type one;
    fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, 0, false> others;
    const int outer = SEGMENT::k_outer(p), first = threadIdx.x / 32 * ROUND;
    fx_skinny_place<LINES> place = {at.batch, 0, fx_k_left<SEGMENT>(p, at.batch, 0), SWAPS ? p.m() : p.n(), {}, SWAPS ? at.n : at.m, SWAPS ? p.n() : p.m()};
#pragma unroll
    for (int i = 0; i < LINES; ++i) place.rows[i] = (SWAPS ? at.m : at.n) + ENGINE::row(ENGINE::K_MAJOR ? i : 0);

#pragma unroll 1
    for (; place.ko < outer && place.k_end > 0; ++place.ko) {  // without k nothing lies there to be read ahead
      one.start(p, 0, place), others.start(p, place);
#pragma unroll
      for (int u = 0; u < AHEAD; ++u) one.load(p, u, first + ENGINE::k(u)), others.load(p, u, first + ENGINE::k(u));
#pragma unroll 1
      for (int k0 = first; k0 < place.k_end; k0 += ENGINE::WARPS * ROUND) {
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
          const int k = k0 + ENGINE::k(u), next = k + ENGINE::WARPS * ROUND;
#pragma unroll
          for (int part = 0; part < PARTS; ++part) {
            unsigned shared[SWAPS ? LINES : PRODUCT::LINES][SWAPS ? ENGINE::WORDS : E * PRODUCT::SIZE / 4];
            one.get(p, shared, u, part, k);
            others.multiply(acc, p, shared, u, part, k);
          }
          one.load(p, u, next), others.load(p, u, next);
        }
      }
    }
  }
  FX_DEVICE void next_segment() {}
};

// fx_skinny_epilogue: hands the problem the sums of all warps, V columns of a row at a time
template <class ENGINE, int SUMS, class PROBLEM>
FX_DEVICE void fx_skinny_epilogue(const PROBLEM &p, const fx_tile &at) {
  typedef typename ENGINE::sum sum;
  constexpr int BM = ENGINE::TILE_M, BN = ENGINE::TILE_N, MOST = PROBLEM::V < BN ? PROBLEM::V : BN, WANTED = BM * BN / ENGINE::THREADS;
  constexpr int V = WANTED <= 1 ? 1 : WANTED < MOST ? WANTED : MOST, ACROSS = BN / V;
  constexpr bool ALIGNED = false;  // whatever the epilogue reads and writes may lie anyhow
  const sum *const slots = (const sum *)fx_smem();
#pragma unroll 1
  for (int i = threadIdx.x; i < BM * ACROSS; i += ENGINE::THREADS) {
    const int row = i / ACROSS, col = i % ACROSS * V, n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
    if (at.m + row >= p.m() || n_valid <= 0) continue;
    typename PROBLEM::template columns<V> c;
    typename PROBLEM::template frag<V> f;
    fx_fetch_columns<V, ALIGNED>(p, c, at.batch, at.n + col, n_valid);
    fx_fetch<V, ALIGNED>(p, f, at.batch, at.m + row, at.n + col, n_valid);
    sum acc[SUMS][V];
#pragma unroll
    for (int j = 0; j < SUMS * V; ++j) {
      acc[j / V][j % V] = 0;
#pragma unroll
      for (int w = 0; w < ENGINE::WARPS; ++w) acc[j / V][j % V] = fx_multiply_add(slots[((w * SUMS + j / V) * BM + row) * BN + col + j % V], (sum)1, acc[j / V][j % V]);
    }
    p.template store<V, ALIGNED>(acc, c, f, at.batch, at.m + row, at.n + col, n_valid);
  }
}

// fx_skinny_turn: computes a tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_skinny_turn(const PROBLEM &p, const fx_tile &at) {
  constexpr int SUMS = PROBLEM::SUMS;
  typedef typename ENGINE::sum sum;
  sum acc[SUMS][ENGINE::SUMS];
#pragma unroll
  for (int i = 0; i < SUMS * ENGINE::SUMS; ++i) acc[i / ENGINE::SUMS][i % ENGINE::SUMS] = 0;
  fx_skinny_mainloop<ENGINE, ALIGNED, SUMS> mainloop = {acc, at};
  p.accumulate(mainloop);
  sum *const slots = (sum *)fx_smem();
#pragma unroll
  for (int j = 0; j < SUMS; ++j) {
    ENGINE::PRODUCT::template join<ENGINE::GROUP>(acc[j]);
#pragma unroll
    for (int i = 0; i < ENGINE::SUMS; ++i) {
      const int wide = ENGINE::row(ENGINE::PRODUCT::row(i)), small = ENGINE::PRODUCT::column(i), row = ENGINE::SWAPS ? wide : small, col = ENGINE::SWAPS ? small : wide;
      if (ENGINE::PRODUCT::template speaks<ENGINE::GROUP>()) slots[((threadIdx.x / 32 * SUMS + j) * ENGINE::TILE_M + row) * ENGINE::TILE_N + col] = acc[j][i];
    }
  }
  fx_barrier();  // the sums of all warps are there
  fx_skinny_epilogue<ENGINE, SUMS>(p, at);
}

// fx_skinny: computes the tiles of this block
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_skinny(const PROBLEM &p, int number = blockIdx.x) {
  fx_tile at = fx_find_tile(number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
  fx_skinny_turn<ENGINE, ALIGNED>(p, at);
#pragma unroll 1
  for (int turn = 1; turn < ENGINE::TURNS; ++turn) {
    int &wide = ENGINE::SWAPS ? at.m : at.n;
    wide += ENGINE::WIDE;
    if (wide >= (ENGINE::SWAPS ? p.m() : p.n())) break;
    fx_barrier();  // the sums of the tile before are read
    fx_skinny_turn<ENGINE, ALIGNED>(p, at);
  }
}

// fx_skinny_early: likewise, started before the kernel ahead has ended
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_skinny_early(const PROBLEM &p) {
  fx_let_next_start();
  fx_wait_for_kernel();
  fx_skinny<ENGINE, ALIGNED>(p);
}
