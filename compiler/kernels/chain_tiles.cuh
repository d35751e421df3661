/* The tiles of the chain driver of sm_90a, and what of the intermediate each takes: a problem as for driver_chain_wgmma.cuh, whose engine says how large they are.
   Of rows without limits everybody knows the next tile. Where rows have limits, three warps of each block are the scheduler, which takes tiles from a tally in memory and writes them, with
   the blocks of the intermediate that they need, into shared memory for the producer and the consumers. */

// fx_chain_first: first contraction number J: its factors, where their tensor maps are, where A's rows lie, as number of those of a consumer, and which of the segment's B's it has
template <class PROBLEM, int J, bool IS_NEXT = J != 0>
struct fx_chain_first {
  typedef typename PROBLEM::first_segment segment;
  typedef typename segment::a a;
  typedef typename segment::template b<0> b;
  static constexpr bool HAS_A = true;
  static constexpr int SUM = segment::sum(0), MAP_A = 0, MAP_B = 1, A = 0, B = 0;
};
template <class PROBLEM, int J>
struct fx_chain_first<PROBLEM, J, true> {
  typedef typename PROBLEM::next_segment segment;
  static constexpr bool HAS_A = PROBLEM::first_segment::SUMS == 1;  // else it has that of number 0
  typedef typename segment::a a;
  static constexpr int B = HAS_A ? 0 : 1;
  typedef typename segment::template b<B> b;
  static constexpr int SUM = segment::sum(B), MAP_A = HAS_A ? 2 : 0, MAP_B = HAS_A ? 3 : 2, A = HAS_A ? 1 : 0;
};

// fx_chain_map_c: which tensor map is C's
template <class PROBLEM>
FX_DEVICE constexpr int fx_chain_map_c() { return PROBLEM::INNER_SUMS == 1 ? 2 : PROBLEM::first_segment::SUMS == 1 ? 4 : 3; }

// fx_chain_tile: where rows have limits the last ones come first, as they take longest where masks are causal, of as many batches in turns as have their B and C in the L2 cache together
// Limits recur every period() rows: rows of the same place in it come together.
template <class ENGINE, class PROBLEM>
FX_DEVICE fx_tile fx_chain_tile(const PROBLEM &p, int number, long long batches) {
  if constexpr (!PROBLEM::LIMITS) return fx_find_tile(number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
  else {
    const long long CACHE = 40 << 20;
    const int tiles_m = (p.m() - 1) / ENGINE::BM + 1, tiles_n = (p.n() - 1) / ENGINE::BN + 1, tiles = tiles_m * tiles_n;
    const long long bytes = (long long)p.t() * (ENGINE::BK + p.n()) * (int)sizeof(typename ENGINE::T), fitting = CACHE / bytes;
    const int group = fitting < 1 ? 1 : fitting < batches ? (int)fitting : (int)batches;
    const int first = (unsigned)number / (tiles * group) * group, in_group = (unsigned)number % (tiles * group);
    const int n_batches = batches - first < group ? (int)(batches - first) : group, tile = in_group / n_batches;
    const int period = p.period() % ENGINE::BM == 0 ? p.period() / ENGINE::BM : tiles_m, periods = tiles_m / period, row = tile / tiles_n;
    return fx_tile{first + in_group % n_batches, (row % periods * period + period - 1 - row / periods) * ENGINE::BM, tile % tiles_n * ENGINE::BN};
  }
}

// fx_chain_work: a tile, and the blocks of the intermediate that it takes
struct fx_chain_work {
  fx_tile at;
  int first, end;              // blocks, at least one
  int whole_first, whole_end;  // those of which all of a consumer's rows take every element
};

// fx_chain_nth: which block of the intermediate is taken as number i of those from `first` up to `end`
// Where rows have no limits it is the last one first: only that one may end beyond the axis, and what looks at that is compiled once, outside of the loop.
template <class PROBLEM>
FX_DEVICE int fx_chain_nth(int i, int first, int end) { return PROBLEM::LIMITS ? i : i == first ? end - 1 : i - 1; }

// fx_chain_list: the tiles of a block of threads, one after the other, as the producer and the consumers walk over them
// Of rows without limits everybody knows them; else the scheduler writes them into two places of shared memory in turns.
template <class ENGINE, class PROBLEM>
struct fx_chain_list {
  int i;  // how many were asked for

  static FX_DEVICE int *place(int i) { return (int *)(fx_smem() + ENGINE::WORK) + i % 2 * ENGINE::WORK_WORDS; }
  static FX_DEVICE int *beside() { return (int *)(fx_smem() + ENGINE::WORK) + 2 * ENGINE::WORK_WORDS; }  // a word of every tile, then the scheduler's own
  static FX_DEVICE int *kept() { return beside() + 8; }  // of a tile that is not yet counted, as in a place; 5: whether D is not finite
  static FX_DEVICE unsigned full(int i) { return fx_shared(fx_smem()) + ENGINE::WORK_BARRIERS + i % 2 * 8; }
  static FX_DEVICE unsigned empty(int i) { return full(i) + 16; }
  // The next tile. None: what is under way is finished; twice none: there are no more.
  FX_DEVICE bool next(const PROBLEM &p, long long batches, fx_chain_work &work, int consumer) {
    if constexpr (PROBLEM::LIMITS) {
      fx_mbarrier_wait(full(i), i / 2 & 1);
      const int *x = place(i++);
      if (x[0] < 0) {
        give_back(i - 1);
        return false;
      }
      work = fx_chain_work{fx_tile{x[0], x[1], x[2]}, x[3], x[4], x[5 + consumer * 2], x[6 + consumer * 2]};
      return true;
    } else {
      const unsigned number = blockIdx.x + (unsigned)i++ * gridDim.x;
      if (number >= fx_count_tiles<ENGINE>(p, batches)) return false;
      work = fx_chain_work{fx_chain_tile<ENGINE>(p, (int)number, batches), 0, (p.t() + (ENGINE::BT - 1)) / ENGINE::BT, 0, p.t() / ENGINE::BT};
      return true;
    }
  }
  // Of tile number i there is nothing left to read or to write, for this warp.
  static FX_DEVICE void give_back(int i) {
    if (PROBLEM::LIMITS && threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty(i));
  }
};

// fx_add_marked: adds 1 to a count in a double word of global memory, below a mark in its high bits, and gives what was there; the word needs no preparation: it may hold anything
// without the mark, which is then put there, with a count of 0. Only what has the mark is added to: what many go on adding to nobody can mark.
template <int BITS>
FX_DEVICE unsigned long long fx_add_marked(unsigned long long *at, unsigned long long mark) {
  unsigned long long before = fx_fetch_add(at, 1);
  while (before >> BITS != mark) {
    const unsigned long long seen = fx_load_acquire(at);
    if (seen >> BITS == mark) before = fx_fetch_add(at, 1);
    else fx_compare_exchange(at, seen, mark << BITS);
  }
  return before;
}

// fx_chain_tally: counts in a double word of global memory, for all blocks, up to `most`; whoever gets there clears it
struct fx_chain_tally {
  static constexpr unsigned long long MARK = 0xa5ced7e1u;
  static constexpr unsigned SPECIAL = 1u << 31;
  // Gives the count with this one; SPECIAL is set once any was.
  static FX_DEVICE unsigned add(unsigned long long *at, unsigned most, bool is_special) {
    unsigned long long before = is_special ? fx_load_acquire(at) : fx_add_marked<32>(at, MARK);
    while (is_special) {
      const unsigned long long from = before >> 32 == MARK ? before : MARK << 32, seen = fx_compare_exchange(at, before, (from | SPECIAL) + 1);
      is_special = seen != before;
      before = is_special ? seen : from | SPECIAL;
    }
    const unsigned after = (unsigned)before + 1;
    if ((after & ~SPECIAL) == most) fx_store_release(at, 0ull);
    return after;
  }
};

// fx_chain_scheduler: finds the block's tiles and what of the intermediate each takes
// Where no row of a tile takes anything, C may yet hold what is not 0 when multiplied by 0. The tiles of a batch and columns share the rows of C among them, each looks at its own: D has
// seen those that were multiplied, the scheduler reads the others. Every tile is counted once it is stored; where C holds such a thing, whoever counts the last one has them all done anew,
// with all blocks.
template <class ENGINE, class PROBLEM>
struct fx_chain_scheduler {
  typedef fx_chain_list<ENGINE, PROBLEM> list;
  static constexpr int WARPS = 3, NONE = -1;

  const PROBLEM &p;
  const long long batches;
  unsigned long long *const tallies;  // of tiles taken, then of tiles stored for every batch and columns
  fx_tile again, then, last;          // of a batch and columns that are done anew the next tile, or none; those after that: two tiles are out when the first are found
  unsigned found;                     // by place, whether this thread has found what is not 0 when multiplied by 0
  bool has_taken, has_all;            // a tile from the tally; all that there were

  FX_DEVICE int tiles_m() const { return (p.m() - 1) / ENGINE::BM + 1; }
  // What the first thread says, for all.
  FX_DEVICE unsigned tell(unsigned x) const {
    unsigned *told = (unsigned *)list::beside() + 2;
    if (threadIdx.x == 32) *told = x;
    fx_named_barrier(15, WARPS * 32);
    x = *told;
    fx_named_barrier(15, WARPS * 32);
    return x;
  }
  FX_DEVICE fx_tile take() {
    if (again.batch != NONE) {
      const fx_tile at = again;
      again.m += ENGINE::BM;
      if (again.m >= p.m()) again = then, then = last, last.batch = NONE;
      return at;
    }
    const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
    unsigned number = blockIdx.x;
    if (has_all || number >= tiles) return fx_tile{NONE, 0, 0};
    if (has_taken) number = tell(threadIdx.x == 32 ? gridDim.x - 1 + fx_chain_tally::add(tallies, tiles, false) : 0);
    has_taken = true;
    has_all = number >= tiles;
    return has_all ? fx_tile{NONE, 0, 0} : fx_chain_tile<ENGINE>(p, (int)number, batches);
  }
  // Says which tile is the next, by the limits of its rows.
  FX_DEVICE void put(int i, const fx_tile &at, bool is_anew) const {
    if (threadIdx.x >= 64) return;
    int *x = list::place(i);
    const int lane = threadIdx.x % 32, blocks = (p.t() + ENGINE::BT - 1) / ENGINE::BT;
    int start = p.t(), end = 0;
    for (int c = 0; c < ENGINE::CONSUMERS && at.batch != NONE; ++c) {
      int whole_start = 0, whole_end = p.t();
#pragma unroll 1
      for (int row = lane; row < 64; row += 32) {
        const int m = at.m + c * 64 + row < p.m() ? at.m + c * 64 + row : p.m() - 1;
        typename PROBLEM::values q;
        const typename PROBLEM::results r = {};
        if constexpr (PROBLEM::PREPARES[0]) p.prepare(fx_chain_pass<0>(), q, r, at.batch, m);
        const int s = p.start(q, r, at.batch, m), e = p.end(q, r, at.batch, m);
        if (s < e) start = min(start, s), end = max(end, e);
        whole_start = max(whole_start, s), whole_end = min(whole_end, e);
      }
#pragma unroll
      for (int mask = 1; mask < 32; mask *= 2) {
        whole_start = max(whole_start, (int)fx_shuffle_xor((unsigned)whole_start, mask));
        whole_end = min(whole_end, (int)fx_shuffle_xor((unsigned)whole_end, mask));
      }
      if (lane == 0) x[5 + c * 2] = (whole_start + ENGINE::BT - 1) / ENGINE::BT, x[6 + c * 2] = whole_end / ENGINE::BT;
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      start = min(start, (int)fx_shuffle_xor((unsigned)start, mask));
      end = max(end, (int)fx_shuffle_xor((unsigned)end, mask));
    }
    if (lane != 0) return;
    x[0] = at.batch, x[1] = at.m, x[2] = at.n;
    x[3] = is_anew || start >= end ? 0 : start / ENGINE::BT;
    x[4] = is_anew ? blocks : start >= end ? 1 : (end + ENGINE::BT - 1) / ENGINE::BT;
    x[11] = at.batch != NONE && !is_anew;
    fx_mbarrier_arrive(list::full(i));
  }
  // Whether this thread finds in rows `t` up to `end` of a factor, so many of its columns from the first on, what is not 0 when multiplied by 0; SIDE_BY_SIDE: columns are.
  template <bool SIDE_BY_SIDE, class T>
  static FX_DEVICE bool look_at(const T *from, long long row_step, long long column_step, int n_columns, int t, int end) {
    constexpr int V = 8;
    const int thread = threadIdx.x - 32;
    float x[V], z = 0.0f;
    if constexpr (SIDE_BY_SIDE) {
      const int across = (n_columns + V - 1) / V, col = thread % across * V, turns = WARPS * 32 / across;
      if (thread / across >= turns) return false;
#pragma unroll 2
      for (int i = t + thread / across; i < end; i += turns) {
        fx_load<V, true>(x, from + col + i * row_step, V);
#pragma unroll
        for (int v = 0; v < V; ++v) z = fmaf(x[v], 0.0f, z);
      }
    } else {
#pragma unroll 1
      for (int col = thread / 32; col < n_columns; col += WARPS) {
#pragma unroll 4
        for (int i = t / V * V + thread % 32 * V; i < end; i += 32 * V) {
          fx_load<V, true>(x, from + col * column_step + i, V);
#pragma unroll
          for (int v = 0; v < V; ++v) z = fmaf(x[v], 0.0f, z);
        }
      }
    }
    return z != 0.0f;
  }
  // The same of rows of C, of a tile's columns, and of the first contractions' columns where those count.
  FX_DEVICE bool look(const fx_tile &at, int t, int end) const {
    typedef typename PROBLEM::second_segment::template b<0> operand;
    if (t >= end) return false;
    if constexpr (ENGINE::IS_TWIN) {  // C's are B's
      const bool is_in_first = look_at_first<0>(at, t, end);
      return look_at_first<1>(at, t, end) || is_in_first;
    }
    bool is_found = look_at<operand::LAYOUT == FX_MN_MAJOR>(operand::at(p, 0, at.batch, 0) + at.n * operand::stride_mn(p, 0), operand::stride_k(p, 0), operand::stride_mn(p, 0),
                                                            ENGINE::BN < p.n() - at.n ? ENGINE::BN : p.n() - at.n, t, end);
    if constexpr ((PROBLEM::LOOKS & 1) != 0) is_found |= look_at_first<0>(at, t, end);
    if constexpr ((PROBLEM::LOOKS & 2) != 0) is_found |= look_at_first<1>(at, t, end);
    return is_found;
  }
  template <int SUM>
  FX_DEVICE bool look_at_first(const fx_tile &at, int t, int end) const {
    typedef fx_chain_first<PROBLEM, fx_chain_first<PROBLEM, 0>::SUM == SUM ? 0 : 1> first;
    typedef typename first::b operand;
    return look_at<operand::LAYOUT == FX_K_MAJOR>(operand::at(p, first::B, at.batch, 0), operand::stride_mn(p, first::B), operand::stride_k(p, first::B), first::segment::k(p), t, end);
  }
  // Of the own rows of C of a tile those that it takes, or the others.
  FX_DEVICE bool look_at_own(const int *x, bool taken) const {
    const fx_tile at = {x[0], x[1], x[2]};
    const int number = at.m / ENGINE::BM, own = (int)((long long)p.t() * number / tiles_m()), own_end = (int)((long long)p.t() * (number + 1) / tiles_m());
    const int from = max(own, x[3] * ENGINE::BT), to = min(own_end, x[4] * ENGINE::BT);
    if (taken) return look(at, from, to);
    if (from >= to) return look(at, own, own_end);
    const bool is_found = look(at, own, from);
    return look(at, to, own_end) || is_found;
  }
  // Keeps what was said of tile number i, which is stored; the thread that writes its place next does.
  FX_DEVICE void keep(int i) const {
    const int *x = list::place(i);
    int *kept = list::kept();
    if (threadIdx.x != 32) return;
    for (int k = 0; k < 5; ++k) kept[k] = x[k];
    kept[5] = x[11] && list::beside()[i % 2], kept[11] = x[11];
  }
  // Counts a tile that is stored.
  FX_DEVICE void settle(const int *x, bool is_special, unsigned is_found) {
    if (!x[11]) return;
    const int batch = x[0], n = x[2];
    if (is_special) is_found |= look_at_own(x, true);
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) is_found |= fx_shuffle_xor(is_found, mask);
    unsigned *own = (unsigned *)list::beside() + 3;
    if (threadIdx.x % 32 == 0) own[threadIdx.x / 32 - 1] = is_found;
    fx_named_barrier(15, WARPS * 32);
    unsigned count = 0;
    if (threadIdx.x == 32) {
      const long long tiles_n = fx_count_columns<ENGINE>(p);
      count = fx_chain_tally::add(tallies + 1 + batch * tiles_n + n / ENGINE::BN, (unsigned)tiles_m(), own[0] | own[1] | own[2]);
    }
    if (tell(count) != (fx_chain_tally::SPECIAL | (unsigned)tiles_m())) return;
    const fx_tile first = {batch, 0, n};
    if (again.batch == NONE) again = first;
    else if (then.batch == NONE) then = first;
    else last = first;
  }
  // A tile is taken while the ones before it are computed, and said as soon as its place is free; the one that was there is counted afterwards, while others are computed: what
  // memory is asked for, nobody waits for. Where there is no further tile, it is counted first: all of a batch may have to be done anew.
  FX_DEVICE void run() {
    bool was_none = false, is_anew = false;
    fx_tile at = take();
#pragma unroll 1
    for (int i = 0;; ++i) {
      bool is_before = i >= 2;
      const unsigned was_found = found >> i % 2 & 1;
      found &= ~(1u << i % 2);
      if (is_before) fx_mbarrier_wait(list::empty(i), (i / 2 - 1) & 1);  // tile number i - 2 is stored
      if (is_before && at.batch == NONE) {
        const int *x = list::place(i);
        settle(x, x[11] && list::beside()[i % 2], was_found);
        is_before = false;
        is_anew = again.batch != NONE;
        at = take();
      }
      fx_named_barrier(15, WARPS * 32);  // nobody reads any more what stood in the place, and what was kept
      if (is_before) keep(i);
      put(i, at, is_anew);
      fx_named_barrier(15, WARPS * 32);  // the tile is written
      if (at.batch == NONE && was_none) return;
      was_none = at.batch == NONE;
      if (is_before) settle(list::kept(), list::kept()[5], was_found);
      if (!is_anew && !was_none && look_at_own(list::place(i), false)) found |= 1u << i % 2;
      is_anew = again.batch != NONE;
      at = take();
    }
  }
};
