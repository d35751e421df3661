/* The bins driver: sums by key. Every one of depth() elements has a key, the number of one of bins() bins or none, and adds what it has of each of cols() columns
   to that bin, in each of batches(). Two launches: fx_bins reads keys and elements, each block a part of them for a tile of bins and columns, and leaves its sums in
   the workspace; fx_bins_finish combines the parts of a bin and stores the results. Every sum has one order, given by the shape alone.
   A block has a set of sums for each TEAM of its warps, TILE bins of COLS columns, in shared memory; a team takes a part of the block's elements. A column of a set
   belongs to one lane, so no two lanes meet. ALONG: lanes stand along the elements, and each has a column of its own, which are combined when all are added.
   Otherwise lanes stand along the columns, V each, 32 apart, and all see the same key; warps of a team share a set, and each has the bins whose number modulo TEAM
   is its own: the team reads keys together, a warp a part, and lists those of the tile in order; each warp then lists the elements of its own bins, and takes them 32 at a time. PROBLEM::ADDS_WORDS: all sums are of integers of 32 bits, whose
   order does not matter: all warps of a block add to one set.
   UNROLL elements, or 32 times as many, are read at a time; keys one round ahead, as they say which elements are read.
   PROBLEM: sums, what is added up; key(batch, n), the bin or -1; take(a, batch, n, col), what an element adds; identity, combine, store; parts() of the elements;
   workspace(), for each part a plane of every word of all sums. IS_WHOLE: there is one part, whose sums fx_bins stores. Grid: any; a round is a block for each part, tile and batch, of fx_bins_finish one for 32 sums. */

// fx_bins_place: which sums a block adds up, and of which elements
template <int SHARES, int COLS, int TILE, class PROBLEM>
struct fx_bins_place {
  typedef typename PROBLEM::index index;
  index batch, first_bin, first_col;  // where they begin
  index n_bins, n_cols;               // how many there are
  int part;                           // of the elements

  static FX_DEVICE long long blocks(const PROBLEM &p) { return (long long)p.batches() * p.parts() * ((p.bins() + (TILE - 1)) / TILE) * ((p.cols() + (COLS - 1)) / COLS); }
  FX_DEVICE fx_bins_place(const PROBLEM &p, long long block) {
    const index across = (p.cols() + (COLS - 1)) / COLS, tiles = (p.bins() + (TILE - 1)) / TILE;
    first_col = (index)(block % across) * COLS;
    block /= across;
    first_bin = (index)(block % tiles) * TILE;
    block /= tiles;
    part = (int)(block % p.parts());
    batch = (index)(block / p.parts());
    n_bins = p.bins() - first_bin < TILE ? p.bins() - first_bin : (index)TILE;
    n_cols = p.cols() - first_col < COLS ? p.cols() - first_col : (index)COLS;
  }
  // elements of a team: whole groups of 32, and fewer at the end
  FX_DEVICE long long share(const PROBLEM &p) const {
    const long long all = (long long)p.parts() * SHARES * 32;
    return (p.depth() + (all - 1)) / all * 32;
  }
  FX_DEVICE void range(const PROBLEM &p, int team, index &begin, index &end) const {
    const long long depth = p.depth(), size = share(p), at = (long long)(part * SHARES + team) * size;
    begin = (index)(at < depth ? at : depth);
    end = (index)(at + size < depth ? at + size : depth);
  }
  // the bin of an element within the tile, or -1
  FX_DEVICE int bin(const PROBLEM &p, index n, index end) const {
    if (n >= end) return -1;
    const index k = p.key(batch, n);
    return k >= first_bin && k - first_bin < n_bins ? (int)(k - first_bin) : -1;
  }
};

// fx_bins_add: adds x to one of the sums of a set
template <int SLOTS, class PROBLEM, class SUM>
FX_DEVICE void fx_bins_add(const PROBLEM &p, unsigned *set, int slot, const SUM &x) {
  if constexpr (PROBLEM::ADDS_WORDS) {
    const fx_words<SUM> words = fx_words<SUM>::of(x);
#pragma unroll
    for (int k = 0; k < fx_words<SUM>::N; ++k) fx_shared_add(fx_shared(set + (k * SLOTS + slot)), words.w[k]);
  } else {
    SUM a = fx_words<SUM>::from(set, SLOTS, slot);
    p.combine(a, x);
    fx_words<SUM>::of(a).put(set, SLOTS, slot);
  }
}

// fx_bins_along: lanes along the elements
template <int UNROLL, int SLOTS, class PROBLEM, class PLACE>
FX_DEVICE void fx_bins_along(const PROBLEM &p, const PLACE &at, unsigned *set, typename PROBLEM::index begin, typename PROBLEM::index end) {
  typedef typename PROBLEM::index index;
  const int lane = threadIdx.x % 32;
  int bin[UNROLL], next[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) next[u] = at.bin(p, begin + (u * 32 + lane), end);
#pragma unroll 1
  for (index n = begin; n < end; n += UNROLL * 32) {
    typename PROBLEM::sums x[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) bin[u] = next[u];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      x[u] = p.identity();
      if (bin[u] >= 0) p.take(x[u], at.batch, n + (u * 32 + lane), at.first_col);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) next[u] = at.bin(p, n + (UNROLL * 32 + u * 32 + lane), end);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      if (bin[u] >= 0) fx_bins_add<SLOTS>(p, set, bin[u] * 32 + lane, x[u]);
  }
}

// fx_bins_take: adds elements n[u] to bins bin[u], lanes along the columns
template <int V, int UNROLL, int SLOTS, class PROBLEM, class PLACE>
FX_DEVICE void fx_bins_take(const PROBLEM &p, const PLACE &at, unsigned *set, const typename PROBLEM::index (&n)[UNROLL], const int (&bin)[UNROLL]) {
  const int lane = threadIdx.x % 32;
  typename PROBLEM::sums x[UNROLL][V];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[u][v] = p.identity();
      if (bin[u] >= 0 && v * 32 + lane < at.n_cols) p.take(x[u][v], at.batch, n[u], at.first_col + (v * 32 + lane));
    }
  }
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) {
    if (bin[u] < 0) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) fx_bins_add<SLOTS>(p, set, bin[u] * (V * 32) + v * 32 + lane, x[u][v]);
  }
}

// fx_bins_across: lanes along the columns, a set for this warp
template <int V, int UNROLL, int SLOTS, class PROBLEM, class PLACE>
FX_DEVICE void fx_bins_across(const PROBLEM &p, const PLACE &at, unsigned *set, typename PROBLEM::index begin, typename PROBLEM::index end) {
  typedef typename PROBLEM::index index;
  index place[UNROLL];
  int bin[UNROLL], next[UNROLL];
#pragma unroll
  for (int u = 0; u < UNROLL; ++u) next[u] = at.bin(p, begin + u, end);
#pragma unroll 1
  for (index n = begin; n < end; n += UNROLL) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) bin[u] = next[u], place[u] = n + u;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) next[u] = at.bin(p, n + (UNROLL + u), end);
    fx_bins_take<V, UNROLL, SLOTS>(p, at, set, place, bin);
  }
}

// fx_bins_list: elements that a warp has found and not taken yet; 32 at most before the next 32 are looked at
template <class INDEX>
struct fx_bins_list {
  INDEX place[64];  // a ring
  int bin[64];
};

// fx_bins_sift: of the keys that a team reads in a round, those of the tile, in order: a bin, and behind it in 16 bits which of them it is
template <int TEAM>
struct fx_bins_sift {
  static constexpr int KEYS = 4, ROUND = TEAM * KEYS * 32;  // keys of a lane, and of all
  unsigned found[ROUND];
  int counts[TEAM];
};

// fx_bins_listed: lanes along the columns, a set for TEAM warps; each of them reads a part of the keys, and finds its own bins among those of the tile
template <int TEAM, int V, int UNROLL, int SLOTS, class PROBLEM, class PLACE>
FX_DEVICE void fx_bins_listed(const PROBLEM &p, const PLACE &at, unsigned *set, fx_bins_list<typename PROBLEM::index> &list, fx_bins_sift<TEAM> &sift, typename PROBLEM::index begin, typename PROBLEM::index end, int rounds) {
  typedef typename PROBLEM::index index;
  constexpr int KEYS = fx_bins_sift<TEAM>::KEYS, ROUND = fx_bins_sift<TEAM>::ROUND;
  const int lane = threadIdx.x % 32, member = threadIdx.x / 32 % TEAM, own = member * (KEYS * 32) + lane;
  const unsigned before = (1u << lane) - 1;
  int first = 0, count = 0, next[KEYS];
#pragma unroll
  for (int k = 0; k < KEYS; ++k) next[k] = at.bin(p, begin + (own + k * 32), end);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const index at_keys = begin + (index)r * ROUND;
    int bins[KEYS], n_own = 0, n_before = 0, n_found = 0;
#pragma unroll
    for (int k = 0; k < KEYS; ++k) bins[k] = next[k], n_own += fx_count_bits(fx_ballot(bins[k] >= 0));
#pragma unroll
    for (int k = 0; k < KEYS; ++k) next[k] = at.bin(p, at_keys + (ROUND + own + k * 32), end);
    if (lane == 0) sift.counts[member] = n_own;
    fx_barrier();  // what each warp found is known; nobody reads what the last round found
#pragma unroll
    for (int w = 0; w < TEAM; ++w) {
      const int n = sift.counts[w];
      n_before += w < member ? n : 0, n_found += n;
    }
#pragma unroll
    for (int k = 0; k < KEYS; ++k) {
      const unsigned mask = fx_ballot(bins[k] >= 0);
      if (bins[k] >= 0) sift.found[n_before + fx_count_bits(mask & before)] = (unsigned)bins[k] << 16 | (unsigned)(own + k * 32);
      n_before += fx_count_bits(mask);
    }
    fx_barrier();  // what was found stands in order
    const bool is_last = r + 1 == rounds;
#pragma unroll 1
    for (int i = 0; i < n_found || (is_last && i == 0); i += 32) {
      const unsigned word = i + lane < n_found ? sift.found[i + lane] : 0;
      const bool is_own = i + lane < n_found && (word >> 16) % TEAM == (unsigned)member, is_end = is_last && i + 32 >= n_found;
      const unsigned mask = fx_ballot(is_own);
      if (mask == 0 && !is_end) continue;
      if (is_own) {
        const int to = (first + count + fx_count_bits(mask & before)) % 64;
        list.place[to] = at_keys + (index)(word & 0xffffu);
        list.bin[to] = (int)(word >> 16);
      }
      count += fx_count_bits(mask);
      fx_warp_barrier();  // the list has what was found
#pragma unroll 1
      while (count >= 32 || (is_end && count > 0)) {
        const int taken = count < 32 ? count : 32;
#pragma unroll 1
        for (int j = 0; j < taken; j += UNROLL) {
          index place[UNROLL];
          int to[UNROLL];
#pragma unroll
          for (int u = 0; u < UNROLL; ++u) {
            to[u] = -1, place[u] = 0;
            if (j + u < taken) to[u] = list.bin[(first + j + u) % 64], place[u] = list.place[(first + j + u) % 64];
          }
          fx_bins_take<V, UNROLL, SLOTS>(p, at, set, place, to);
        }
        first = (first + taken) % 64;
        count -= taken;
      }
      fx_warp_barrier();  // what follows may overwrite what was taken
    }
  }
}

// fx_bins: the sums of parts of the elements
template <bool ALONG, int WARPS, int TEAM, int V, int UNROLL, int TILE, class PROBLEM>
FX_DEVICE void fx_bins(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::sums SUM;
  constexpr int SHARES = WARPS / TEAM, SETS = PROBLEM::ADDS_WORDS ? 1 : SHARES, WIDTH = ALONG ? 32 : 32 * V, SLOTS = TILE * WIDTH, WORDS = fx_words<SUM>::N, THREADS = 32 * WARPS;
  typedef fx_bins_place<SHARES, (ALONG ? 1 : WIDTH), TILE, PROBLEM> PLACE;
  static_assert(WARPS % TEAM == 0 && (TEAM == 1 || !(ALONG || PROBLEM::ADDS_WORDS)) && (!ALONG || V == 1), "no such teams");
  unsigned *sets = (unsigned *)fx_smem();
  const int team = threadIdx.x / 32 / TEAM;
  const long long blocks = PLACE::blocks(p), all = (long long)p.batches() * p.bins() * p.cols();
  for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
    const PLACE at(p, block);
    for (int i = threadIdx.x; i < SETS * SLOTS; i += THREADS) fx_words<SUM>::of(p.identity()).put(sets + i / SLOTS * (SLOTS * WORDS), SLOTS, i % SLOTS);
    fx_barrier();  // the sums begin
    index begin, end;
    at.range(p, team, begin, end);
    unsigned *own = sets + (SETS > 1 ? team : 0) * (SLOTS * WORDS);
    if constexpr (ALONG) fx_bins_along<UNROLL, SLOTS>(p, at, own, begin, end);
    else if constexpr (TEAM == 1) fx_bins_across<V, UNROLL, SLOTS>(p, at, own, begin, end);
    else {
      constexpr int LISTS = (SETS * SLOTS * WORDS + 1) / 2 * 2;
      fx_bins_sift<TEAM> *sifts = (fx_bins_sift<TEAM> *)((fx_bins_list<index> *)(sets + LISTS) + WARPS);
      const int rounds = (int)((at.share(p) + (fx_bins_sift<TEAM>::ROUND - 1)) / fx_bins_sift<TEAM>::ROUND);
      fx_bins_listed<TEAM, V, UNROLL, SLOTS>(p, at, own, ((fx_bins_list<index> *)(sets + LISTS))[threadIdx.x / 32], sifts[team], begin, end, rounds);
    }
    fx_barrier();  // all is added
    if constexpr (ALONG) {
      for (int i = threadIdx.x; i < SETS * (int)at.n_bins; i += THREADS) {
        unsigned *slots = sets + i / (int)at.n_bins * (SLOTS * WORDS);
        const int bin = i % (int)at.n_bins;
        SUM a = p.identity();
        for (int c = 0; c < 32; ++c) p.combine(a, fx_words<SUM>::from(slots, SLOTS, bin * 32 + (c + bin) % 32));  // lanes begin at different banks
        fx_words<SUM>::of(a).put(slots, SLOTS, bin * 32 + bin % 32);
      }
      fx_barrier();  // every bin of a set has one sum
    }
    const int n_cols = (int)at.n_cols, n = (int)at.n_bins * n_cols;
    for (int i = threadIdx.x; i < n; i += THREADS) {
      const int bin = i / n_cols, col = i % n_cols, slot = bin * WIDTH + (ALONG ? bin % 32 : col);
      SUM a = fx_words<SUM>::from(sets, SLOTS, slot);
      for (int s = 1; s < SETS; ++s) p.combine(a, fx_words<SUM>::from(sets + s * (SLOTS * WORDS), SLOTS, slot));
      if constexpr (PROBLEM::IS_WHOLE) {
        p.store(at.batch, at.first_bin + bin, at.first_col + col, a);
      } else {
        const fx_words<SUM> words = fx_words<SUM>::of(a);
        const long long to = ((long long)at.batch * p.bins() + at.first_bin + bin) * p.cols() + at.first_col + col;
#pragma unroll
        for (int k = 0; k < WORDS; ++k) p.workspace()[((long long)at.part * WORDS + k) * all + to] = words.w[k];
      }
    }
    fx_barrier();  // everyone has read the sums
  }
}

// fx_bins_finish: combines the parts of every sum, a warp every WARPS-th part, and stores what is made of it
template <int WARPS, class PROBLEM>
FX_DEVICE void fx_bins_finish(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::sums SUM;
  constexpr int WORDS = fx_words<SUM>::N, SLOTS = 32 * WARPS;
  unsigned *slots = (unsigned *)fx_smem();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, parts = p.parts();
  const long long all = (long long)p.batches() * p.bins() * p.cols();
  for (long long first = (long long)blockIdx.x * 32; first < all; first += (long long)gridDim.x * 32) {
    const long long i = first + lane;
    SUM a = p.identity();
#pragma unroll 8
    for (int part = i < all ? warp : parts; part < parts; part += WARPS) {
      fx_words<SUM> words;
#pragma unroll
      for (int k = 0; k < WORDS; ++k) words.w[k] = p.workspace()[((long long)part * WORDS + k) * all + i];
      p.combine(a, words.get());
    }
    fx_words<SUM>::of(a).put(slots, SLOTS, warp * 32 + lane);
    fx_barrier();  // the warps' sums are there
    if (warp == 0 && i < all) {
      for (int w = 1; w < WARPS; ++w) p.combine(a, fx_words<SUM>::from(slots, SLOTS, w * 32 + lane));
      const index col = (index)(i % p.cols()), bin = (index)(i / p.cols() % p.bins());
      p.store((index)(i / p.cols() / p.bins()), bin, col, a);
    }
    fx_barrier();  // everyone has read the sums
  }
}
