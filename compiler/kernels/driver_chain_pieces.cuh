/* The chain driver of sm_90a for few rows: a problem as for driver_chain_wgmma.cuh. There are too few tiles to occupy the GPU, or too few rows in a tile to wait for anything but B and C.
   The blocks of the intermediate of all tiles, one tile after another, are shared out evenly: each block of threads takes a run of them, however tiles end in it. What a run adds up of
   a tile is a piece: D, and the sums of its rows with the maxima that shift them. Pieces go to memory. Whoever stores a tile's last one puts all of them together, in the order of the
   intermediate, so that results do not depend on who that is. Nobody waits.
   A warpgroup, the consumer, owns 64 rows and walks over its run as that driver's consumers do; a thread of one more warp copies blocks of B and of C ahead of it.
   Grid: any number of blocks of ENGINE::THREADS threads up to the blocks of the intermediate. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Memory: see fx_chain_piece_store. Invariant: as there. */

// fx_wgmma_chain_pieces: 64 rows, INNER::N of the intermediate at a time, OUTER::N columns, k up to BK
template <class T_, class INNER, class OUTER, int BK_, int STAGES_>
struct fx_wgmma_chain_pieces {
  typedef float sum;
  typedef T_ T;
  typedef INNER inner;
  typedef OUTER outer;
  static constexpr int BK = BK_, BT = INNER::N, BN = OUTER::N, CONSUMERS = 1, BM = 64, CONSUMER_THREADS = 128, THREADS = CONSUMER_THREADS + 32;
  static constexpr int BOX_BYTES = 64 * 64 * (int)sizeof(T), STAGES = STAGES_, SUMS = 1, BESIDE = 1, PARTS = 1;
  static constexpr int FIRST = 1, A_STAGES = 1, A_BYTES = BK / 64 * BOX_BYTES;
  static constexpr bool HAS_ROOM = true;  // for addresses, beside sums: the epilogue has none of its own
  typedef fx_chain_stages<STAGES, BK / 64 * (BT / 64) * BOX_BYTES> b_stages;
  typedef fx_chain_stages<STAGES, BT / 64 * (BN / 64) * BOX_BYTES> c_stages;
  // In shared memory, in bytes: A's rows, B's blocks, C's blocks, barriers, how many pieces are stored.
  static constexpr int B = A_BYTES, C = B + STAGES * b_stages::STAGE_BYTES, A_BARRIERS = C + STAGES * c_stages::STAGE_BYTES, B_BARRIERS = A_BARRIERS + 16;
  static constexpr int C_BARRIERS = B_BARRIERS + STAGES * 16, COUNT = C_BARRIERS + STAGES * 16, SHARED_BYTES = COUNT + 16;
  static constexpr int STAGING = C, STAGING_BYTES = 0, ALONG_BYTES = 0;  // there is no room for what is the same for all rows
  static constexpr bool IS_TWIN = false;
  static_assert(BK % 64 == 0 && BT % 64 == 0 && BN % 64 == 0, "no such tile");
};

// fx_chain_run: the blocks of the intermediate that a block of threads takes, of all tiles one after another; all of them are fewer than 2**31
template <class ENGINE, class PROBLEM>
struct fx_chain_run {
  const unsigned tiles, blocks;  // blocks of the intermediate: of a tile
  const unsigned share, longer;  // a run has `share` of them, so many of the first runs one more
  unsigned tile, first;          // at hand, and the first of its blocks
  int left;                      // blocks from there on

  FX_DEVICE fx_chain_run(const PROBLEM &p, long long batches)
      : tiles(fx_count_tiles<ENGINE>(p, batches)),
        blocks((unsigned)(p.t() + (ENGINE::BT - 1)) / ENGINE::BT),
        share(tiles * blocks / gridDim.x),
        longer(tiles * blocks % gridDim.x),
        left((int)(share + (blockIdx.x < longer))) {
    const unsigned at = blockIdx.x * share + min(blockIdx.x, longer);
    tile = at / blocks, first = at % blocks;
  }
  // Which run has block number `at` of all.
  FX_DEVICE unsigned run_of(unsigned at) const {
    const unsigned of_longer = longer * (share + 1);
    return at < of_longer ? at / (share + 1) : longer + (at - of_longer) / share;
  }
  FX_DEVICE int end() const { return min((int)first + left, (int)blocks); }
  FX_DEVICE void next() {
    left -= end() - (int)first;
    ++tile, first = 0;
  }
};

// fx_chain_count: counts in a double word of global memory, up to `most`; whoever gets there clears it
FX_DEVICE unsigned fx_chain_count(unsigned long long *at, unsigned most) {
  const unsigned count = (unsigned)(fx_add_marked<16>(at, 0xa5ced7e1b0c5ull) & 0xffff) + 1;
  if (count == most) fx_store_release(at, 0ull);
  return count;
}

// fx_chain_piece_store: where pieces are: for every tile a count of those that are stored, then what they are
// A block of threads has two places: that of a piece which begins within a tile, and that of others, of which only the last is not put together at once. A place has as many rows as a
// tile has at most, each BN sums of D; behind all of these are the rows' other sums.
template <class ENGINE, class PROBLEM>
struct fx_chain_piece_store {
  typedef typename fx_chain_rows<ENGINE, PROBLEM>::sums_type sums_type;
  static constexpr int BN = ENGINE::BN, WORDS = __is_empty(sums_type) ? 0 : fx_words<sums_type>::N;
  static_assert(WORDS <= PROBLEM::RESULT_WORDS + 8, "the plan has no room for a row's sums");

  unsigned long long *const counts;
  const unsigned tiles;
  const int n_rows;  // of a place

  FX_DEVICE fx_chain_piece_store(unsigned long long *memory, unsigned n_tiles, int m) : counts(memory), tiles(n_tiles), n_rows(m < ENGINE::BM ? m : ENGINE::BM) {}
  FX_DEVICE long long row_of(long long run, bool is_first, int row) const { return (run * 2 + is_first) * n_rows + row; }
  FX_DEVICE float *sums(long long row) const { return (float *)(counts + (tiles / 2 + 1) * 2) + row * BN; }
  FX_DEVICE unsigned *words() const { return (unsigned *)sums(n_rows * 2ll * gridDim.x); }
  FX_DEVICE void put(long long row, const sums_type &a) const {
    if constexpr (WORDS) {
      const fx_words<sums_type> w = fx_words<sums_type>::of(a);
#pragma unroll
      for (int k = 0; k < WORDS; ++k) words()[row * WORDS + k] = w.w[k];
    }
  }
  FX_DEVICE void get(sums_type &a, long long row) const {
    if constexpr (WORDS) {
      fx_words<sums_type> w;
#pragma unroll
      for (int k = 0; k < WORDS; ++k) w.w[k] = words()[row * WORDS + k];
      a = w.get();
    }
  }
};

// fx_chain_maxima: what a pass that finds maxima begins with
template <class PROBLEM>
FX_DEVICE auto fx_chain_maxima(const PROBLEM &p) {
  if constexpr (PROBLEM::FINDS_MAXIMA[0]) return p.maxima(fx_chain_pass<0>());
  else return fx_nothing();
}

// fx_chain_item: sums of V columns of a row
template <int V>
struct fx_chain_item {
  float of[1][V];
};

// fx_chain_join: puts the pieces of a tile together, runs `first` to `last`, and hands the result over
// V columns of a row are an item. Where there are more threads than items, neighbouring lanes share one, each of which takes every so many pieces; several are on their way at once.
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_join(const PROBLEM &p, const fx_tile &at, const fx_chain_piece_store<ENGINE, PROBLEM> &pieces, unsigned first, unsigned last) {
  typedef typename fx_chain_piece_store<ENGINE, PROBLEM>::sums_type sums_type;
  constexpr int V = PROBLEM::V, ACROSS = ENGINE::BN / V, AT_ONCE = 4;
  const int rows = p.m() - at.m < ENGINE::BM ? p.m() - at.m : ENGINE::BM, items = rows * ACROSS;
  const fx_chain_pass<0> pass;
  int lanes = 1;
  while (lanes < 32 && lanes * items < ENGINE::CONSUMER_THREADS && (unsigned)lanes <= last - first) lanes *= 2;
  const unsigned place = threadIdx.x % lanes;
#pragma unroll 1
  for (int begin = threadIdx.x / 32 * (32 / lanes); begin < items; begin += ENGINE::CONSUMER_THREADS / lanes) {  // alike for all lanes of a warp
    const int own = begin + (int)threadIdx.x % 32 / lanes, i = min(own, items - 1), row = i / ACROSS, m = at.m + row, n = at.n + i % ACROSS * V, n_valid = min(p.n() - n, V);
    const bool is_stored = own < items && n_valid > 0 && place == 0;
    typename PROBLEM::results r = {};
    typename PROBLEM::values q = {};
    if constexpr (PROBLEM::PREPARES[0]) p.prepare(pass, q, r, at.batch, m);
    sums_type sums = p.identity(pass);
    fx_chain_item<V> x = {};
    auto maxima = fx_chain_maxima(p);
    if constexpr (PROBLEM::FINDS_MAXIMA[0]) {
#pragma unroll 1
      for (unsigned run = first + place; run <= last; run += AT_ONCE * lanes) {
        sums_type piece[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
          const unsigned one = min(run + k * lanes, last);
          pieces.get(piece[k], pieces.row_of(one, one == first, row));
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) p.combine(pass, maxima, p.found(pass, piece[k]));
      }
#pragma unroll 1
      for (int mask = 1; mask < lanes; mask *= 2) p.combine(pass, maxima, fx_from_lane_xor(maxima, mask));
      p.rescale(pass, sums, maxima, r, q);
    }
#pragma unroll 1
    for (unsigned run = first + place; run <= last; run += AT_ONCE * lanes) {
      sums_type piece[AT_ONCE];
      float d[AT_ONCE][V];
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        const unsigned one = min(run + k * lanes, last);
        const long long at_row = pieces.row_of(one, one == first, row);
        fx_load<V, true>(d[k], pieces.sums(at_row) + i % ACROSS * V, V);
        pieces.get(piece[k], at_row);
      }
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        if (run + k * lanes > last) continue;
        float scale = 1.0f;
        if constexpr (PROBLEM::FINDS_MAXIMA[0]) scale = p.rescale(pass, piece[k], maxima, r, q);
        if constexpr (!__is_empty(sums_type)) p.combine(pass, sums, piece[k]);
#pragma unroll
        for (int v = 0; v < V; ++v) x.of[0][v] = PROBLEM::FINDS_MAXIMA[0] && PROBLEM::SCALED ? fmaf(d[k][v], scale, x.of[0][v]) : x.of[0][v] + d[k][v];
      }
    }
#pragma unroll 1
    for (int mask = 1; mask < lanes; mask *= 2) {
      const fx_chain_item<V> other = fx_from_lane_xor(x, mask);
#pragma unroll
      for (int v = 0; v < V; ++v) x.of[0][v] += other.of[0][v];
      if constexpr (!__is_empty(sums_type)) p.combine(pass, sums, fx_from_lane_xor(sums, mask));
    }
    if (!is_stored) continue;
    typename PROBLEM::template columns<V> c;
    typename PROBLEM::template frag<V> f;
    fx_fetch_columns<V, true>(p, c, at.batch, n, n_valid);  // not ahead of the pieces: they need the registers
    fx_fetch<V, true>(p, f, at.batch, m, n, n_valid);
    if constexpr (!__is_empty(sums_type)) p.finish(pass, r, sums, q);
    p.template store<V, true>(x.of, c, f, r, at.batch, m, n, n_valid);
    if constexpr (PROBLEM::STORES_ROWS) {
      if (n == 0) p.store_row(r, at.batch, m);
    }
  }
}

// fx_chain_pieces_consumer: the products of 64 rows, tile by tile
template <class ENGINE, class PROBLEM>
struct fx_chain_pieces_consumer : fx_chain_consumer<ENGINE, PROBLEM> {
  typedef fx_chain_consumer<ENGINE, PROBLEM> base;
  static constexpr int BT = ENGINE::BT;

  FX_DEVICE fx_chain_pieces_consumer(const PROBLEM &p) : base(p, 0) {}

  // Blocks `first` up to `end` of the tile's intermediate.
  FX_DEVICE void multiply(const fx_tile &at, int first, int end) {
    const int whole_end = PROBLEM::LIMITS ? 0 : this->rows.p.t() / BT;
#pragma unroll
    for (int i = 0; i < BT / 2; ++i) this->s[0][i] = 0.0f;  // what it held of another tile would take registers until here
    this->wait_a();
    fx_mbarrier_wait(this->b.full(), this->b.parity);
    fx_wgmma_begin();
    this->start_first();
    fx_wgmma_wait<0>();
    this->give_back(this->b);
    this->begin(fx_chain_work{at, first, end, 0, whole_end});
#pragma unroll 1
    for (int i = first + 1; i < end; ++i) this->template next_block<!PROBLEM::LIMITS>(i, end);
    fx_mbarrier_wait(this->c.full(), this->c.parity);
    fx_wgmma_begin();
    this->start_second();
    fx_wgmma_wait<0>();
    this->give_back(this->c);
  }
  // Stores the rows that there are as a piece.
  FX_DEVICE void put(const fx_chain_piece_store<ENGINE, PROBLEM> &pieces, bool is_first) {
    auto &rows = this->rows;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if constexpr (fx_chain_rows<ENGINE, PROBLEM>::HAS_SUMS) {
#pragma unroll
        for (int mask = 1; mask < 4; mask *= 2) rows.p.combine(fx_chain_pass<0>(), rows.sums[h], fx_from_lane_xor(rows.sums[h], mask));
      }
      if (rows.at.m + rows.row + 8 * h >= rows.p.m()) continue;
      const long long row = pieces.row_of(blockIdx.x, is_first, rows.row + 8 * h);
      float *to = pieces.sums(row) + threadIdx.x % 4 * 2;
#pragma unroll
      for (int j = 0; j < ENGINE::BN / 8; ++j) fx_store<2, true>(to + j * 8, {this->d.of[0][0][j * 4 + h * 2], this->d.of[0][0][j * 4 + h * 2 + 1]}, 2);
      if (threadIdx.x % 4 == 0) pieces.put(row, rows.sums[h]);
    }
  }
  FX_DEVICE void run(fx_chain_run<ENGINE, PROBLEM> run, unsigned long long *memory) {
    const PROBLEM &p = this->rows.p;
    const fx_chain_piece_store<ENGINE, PROBLEM> pieces(memory, run.tiles, p.m());
    unsigned *count = (unsigned *)(fx_smem() + ENGINE::COUNT);
#pragma unroll 1
    for (; run.left > 0; run.next()) {
      const fx_tile at = fx_nth_tile<ENGINE>(p, run.tile);
      multiply(at, (int)run.first, run.end());
      put(pieces, run.first == 0);
      const unsigned first_run = run.run_of(run.tile * run.blocks), last_run = run.run_of((run.tile + 1) * run.blocks - 1);
      fx_named_barrier(1, ENGINE::CONSUMER_THREADS);  // the piece is stored, the count of the one before was read
      const unsigned most = last_run - first_run + 1;
      if (threadIdx.x == 0) *count = most == 1 ? 1 : fx_chain_count(pieces.counts + run.tile, most);
      fx_named_barrier(1, ENGINE::CONSUMER_THREADS);  // it is counted
      if (*count != most) continue;
      fx_chain_join<ENGINE>(p, at, pieces, first_run, last_run);
      fx_named_barrier(1, ENGINE::CONSUMER_THREADS);  // pieces were read: another one may take their place
    }
  }
};

// fx_chain_pieces: computes this block's run of the tiles of all `batches`; memory: as fx_chain_piece_store says
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_chain_pieces(const PROBLEM &p, const fx_tensor_map *maps, long long batches, unsigned long long *memory) {
  fx_chain_start<ENGINE>(maps);
  fx_chain_run<ENGINE, PROBLEM> run(p, batches);
  if (threadIdx.x >= ENGINE::CONSUMER_THREADS) {
    if (threadIdx.x == ENGINE::CONSUMER_THREADS) {
      fx_chain_copies<ENGINE, PROBLEM> copies = {p, maps};
#pragma unroll 1
      for (; run.left > 0; run.next()) copies.start(fx_nth_tile<ENGINE>(p, run.tile), (int)run.first, run.end());
    }
    return;
  }
  fx_chain_pieces_consumer<ENGINE, PROBLEM> consumer(p);
  consumer.run(run, memory);
}
