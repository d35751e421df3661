/* What one thread does of a row, or of V rows: reads, scans, reduces and stores its elements, and tells the other threads of the row what it has. One struct,
   whose parts all name its place in the row and what it has read; driver_row.cuh has its parameters, and runs it. */

// fx_row_sent: where the blocks of a cluster that share rows send each other sums: two memory barriers, each with its sets, in turns
struct fx_row_sent {
  static constexpr int MOST = 8;  // blocks of a cluster
  unsigned at;                    // the memory barriers, then the sets
  int turn, parity;
};

// fx_row_joins: whether the pass behind this one may be taken with it; a problem of which none may has no JOINS
template <class PROBLEM> FX_DEVICE constexpr auto fx_row_joins(int pass, int) -> decltype((bool)PROBLEM::JOINS[0]) { return PROBLEM::JOINS[pass]; }
template <class PROBLEM> FX_DEVICE constexpr bool fx_row_joins(int, ...) { return false; }

// fx_row_in_place: whether rows are written where they are read; a problem that writes others has no IN_PLACE
template <class PROBLEM> FX_DEVICE constexpr auto fx_row_in_place(int) -> decltype((bool)PROBLEM::IN_PLACE) { return PROBLEM::IN_PLACE; }
template <class PROBLEM> FX_DEVICE constexpr bool fx_row_in_place(...) { return false; }

// fx_row_joined: the sums of a pass and of the one behind it, of so many elements
template <class FIRST, class SECOND>
struct fx_row_joined {
  FIRST first;
  SECOND second;
  int n;
};

// fx_row_share: a thread's share of its row, or rows; TURNED: teams take turns in memory, as where V elements lie across rows; SKEWED: chunks begin at
// boundaries of memory, wherever rows do, so that a row begins and ends within chunks
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM, class SENT = fx_nothing, bool TURNED = PROBLEM::ALONG_ROWS, bool SKEWED = false>
struct fx_row_share {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::template frag<V> frag;
  static constexpr bool ALONG_ROWS = PROBLEM::ALONG_ROWS;
  static constexpr int SUMS = ALONG_ROWS ? V : 1;                          // rows of this thread
  static constexpr int STEP = ALONG_ROWS ? 1 : V;                          // elements of a row in a chunk
  static constexpr int THREADS = LANES * ACROSS, ROWS = ACROSS * SUMS;     // of a block
  static_assert(TURNED || LANES <= 32 || ACROSS == 1, "more than a warp shares a row: it must be the block");
  static constexpr int WITHIN = ACROSS < 32 && 32 % ACROSS == 0 ? LANES < 32 / ACROSS ? LANES : 32 / ACROSS : 1, GROUPS = LANES / WITHIN;  // TURNED: lanes of a row in a warp, and such groups
  static constexpr int SETS = TURNED ? GROUPS * ROWS : 64;                                                                             // of sums in shared memory
  static constexpr bool SCANS_DOWN = ALONG_ROWS && PROBLEM::SCANS > 0, AHEAD = SCANS_DOWN && !RESIDENT;
  static constexpr index ROUND = CHUNKS * LANES * STEP;                      // elements of a row that are read at once
  static constexpr int PART = (RESIDENT ? 1 : CHUNKS) * LANES * STEP;        // of which a block of a cluster has whole ones
  static constexpr bool HAS_WHOLE = !RESIDENT && PROBLEM::SCANS == 0;        // rounds of which all exist are taken by themselves
  const PROBLEM &p;                              // the problem
  const index cols;                              // elements of a row
  index begin, end;                              // those of the part at hand
  int part;                                      // its number
  const int lane, team;                          // this thread's place
  index row;                                     // its first row
  bool is_inside;                                // whether there is such a row; if not, it reads one there is, and stores nothing
  frag f[CHUNKS];                                // what was read of the chunks at hand
  SENT sent;                                     // where blocks share a row: what they tell each other
  typename PROBLEM::results r[SUMS];             // what is known of each row

  FX_DEVICE fx_row_share(const PROBLEM &problem)
      : p(problem), cols(problem.cols()), begin(0), end(cols), part(0), lane(TURNED ? thread() / ACROSS : threadIdx.x % LANES), team(TURNED ? threadIdx.x % ACROSS : threadIdx.x / LANES) {}
  // this thread's number, of which the compiler is to know that it is one of THREADS: chunks that all threads have are then not asked for
  static FX_DEVICE int thread() { return THREADS & (THREADS - 1) ? threadIdx.x : threadIdx.x % THREADS; }

  FX_DEVICE void start(index first) {
    row = first + (index)team * SUMS;
    is_inside = row < p.rows();
    if (!is_inside) row = first;
    if constexpr (SKEWED) begin = -(index)((unsigned)row * (unsigned)cols % V);
  }
  FX_DEVICE index col(index first, int c) const { return first + (SCANS_DOWN ? lane * CHUNKS + c : (c * LANES + lane) * STEP); }
  // Whether a chunk is there to read. Of a row that there is not, teams of a block read another one, unless its thread writes where it reads; with vectors, or a block a row,
  // it is asked for, as the compiler would take more registers.
  static constexpr bool ASKS = ACROSS == 1 || (V > 1 && PROBLEM::SCANS == 0) || fx_row_in_place<PROBLEM>(0);
  FX_DEVICE bool has(index at) const { return (!ASKS || is_inside) && at < end; }
  // whether all elements of a chunk that there is are of this row, and which are
  FX_DEVICE bool has_all(index at) const { return !SKEWED || (at >= 0 && at + V <= end); }
  FX_DEVICE fx_cut cut(index at) const { return {at < 0 ? (int)-at : 0, at + V <= end ? V : (int)(end - at)}; }
  FX_DEVICE bool is_whole_round(index first) const { return (!SKEWED || first >= 0) && end - first >= ROUND; }
  FX_DEVICE void take_part(int number, int parts, int whole = CHUNKS * LANES * STEP) {  // so many elements at once, of which there are whole ones
    const long long each = (long long)parts * whole, size = (cols + (each - 1)) / each * whole;
    part = number;
    begin = part * size < cols ? (index)(part * size) : cols;
    end = begin + size < cols ? (index)(begin + size) : cols;
  }

  // IS_WHOLE: all chunks from `first` on exist; a row that does not is read where the first one is
  template <bool IS_WHOLE = false>
  FX_DEVICE void fetch(frag (&to)[CHUNKS], index first) const {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      to[c] = frag{};
      if constexpr (!__is_empty(frag))
        if (IS_WHOLE || has(col(first, c))) fetch_chunk<IS_WHOLE>(to[c], col(first, c));
    }
  }
  template <bool IS_WHOLE>
  FX_DEVICE void fetch_chunk(frag &f, index at) const {
    if constexpr (!SKEWED) p.fetch(f, row, at);
    else if (IS_WHOLE || has_all(at)) p.fetch(f, row, at, fx_skewed());
    else p.fetch(f, row, at, cut(at));
  }
  // the chunks of another row: what all rows have in common stays
  FX_DEVICE void fetch_again(frag (&to)[CHUNKS]) const {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      if constexpr (!__is_empty(frag))
        if (is_inside && has(col(begin, c))) p.fetch_again(to[c], row, col(begin, c));
    }
  }
  // the chunks of the next round, fetched while lanes wait for each other
  struct round_ahead {
    frag f[CHUNKS];
  };
  FX_DEVICE void turn(const round_ahead &next) {
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) f[c] = next.f[c];
  }

  template <int P>
  FX_DEVICE void prepare() {
    if constexpr (PROBLEM::PREPARES[P]) {
#pragma unroll
      for (int s = 0; s < SUMS; ++s) p.prepare(fx_pass<P>(), r[s], row + s);
    }
  }

  // what the lanes of a row before this one add up to, and all of them; scans run along the row
  template <int I, class T>
  FX_DEVICE void scan_lanes(const T &mine, T &before, T &all) const {
    const int in_warp = lane % 32;
    T sum = mine;
#pragma unroll
    for (int d = 1; d < (LANES < 32 ? LANES : 32); d *= 2) {
      const T below = fx_from_lane_below(sum, d);
      if (in_warp >= d) sum = p.combine(fx_scan<I>(), below, sum);
    }
    T warps = p.identity(fx_scan<I>());
    if constexpr (LANES > 32) {
      unsigned *slots = (unsigned *)fx_smem();
      fx_barrier();  // everyone has read what stood there, of the scan before or of sums
      if (in_warp == 31) fx_words<T>::of(sum).put(slots, 33, lane / 32);
      fx_barrier();  // the warps' totals are there
      all = warps;
      for (int w = 0; w < LANES / 32; ++w) {
        if (w == lane / 32) warps = all;
        all = p.combine(fx_scan<I>(), all, fx_words<T>::from(slots, 33, w));
      }
    } else {
      all = sum;
#pragma unroll
      for (int m = 1; m < LANES; m *= 2) {  // the last lane's
        const T other = fx_from_lane_xor(all, m);
        if (!(lane & m)) all = other;
      }
    }
    const T below = fx_from_lane_below(sum, 1);
    before = in_warp == 0 ? warps : p.combine(fx_scan<I>(), warps, below);
  }

  // what stands before this lane's elements of V columns, and so far with those of all lanes; scans run down columns
  template <int I, class T>
  FX_DEVICE void scan_lanes_down(const T (&mine)[V], T (&before)[V], T (&so_far)[V]) const {
    if constexpr (LANES == 1) {
#pragma unroll
      for (int v = 0; v < V; ++v) before[v] = so_far[v], so_far[v] = p.combine(fx_scan<I>(), so_far[v], mine[v]);
    } else {
      constexpr int WORDS = V * (int)sizeof(T) / 4, PIECE = WORDS < 4 ? WORDS : 4;
      static_assert(LANES % WITHIN == 0, "warps share no columns in part");
      const int within = lane % WITHIN, group = lane / WITHIN;
      const unsigned slots = fx_shared(fx_smem()) + team * (PIECE * 4);
      unsigned w[WORDS];
      T sum[V], groups[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum[v] = mine[v];
#pragma unroll
        for (int d = 1; d < WITHIN; d *= 2) {
          const T below = fx_from_lane_below(sum[v], d * ACROSS);
          if (within >= d) sum[v] = p.combine(fx_scan<I>(), below, sum[v]);
        }
        before[v] = p.identity(fx_scan<I>());
        groups[v] = so_far[v];
        if constexpr (WITHIN > 1) {
          const T below = fx_from_lane_below(sum[v], ACROSS);
          if (within > 0) before[v] = below;
        }
      }
      memcpy(w, sum, sizeof w);
      fx_barrier();  // everyone has read what stood there, of the scan before or of sums
      if (within == WITHIN - 1) {
#pragma unroll
        for (int i = 0; i < WORDS; i += PIECE) fx_shared_put<PIECE>(slots + (group * WORDS + i) * (ACROSS * 4), &w[i]);
      }
      fx_barrier();  // the groups' totals are there
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int i = 0; i < WORDS; i += PIECE) fx_shared_get<PIECE>(&w[i], slots + (g * WORDS + i) * (ACROSS * 4));
        memcpy(sum, w, sizeof w);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (g == group) groups[v] = so_far[v];
          so_far[v] = p.combine(fx_scan<I>(), so_far[v], sum[v]);
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) before[v] = p.combine(fx_scan<I>(), groups[v], before[v]);
    }
  }

  // running sums I to LAST that pass P reads, down columns: at all chunks
  template <int P, int I, int LAST = PROBLEM::SCANS>
  FX_DEVICE void scan_down(typename PROBLEM::template scans<V> (&s)[CHUNKS], typename PROBLEM::template scans<SUMS> &carry, index first) {
    if constexpr (I < LAST) {
      if constexpr (PROBLEM::SCANNED[I][P]) {
        auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
          auto &x = p.values(fx_scan<I>(), s[c]);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            x[v] = p.identity(fx_scan<I>());
            if (has(col(first, c))) x[v] = p.template term<V>(fx_scan<I>(), f[c], s[c], v, r[v], row + v, col(first, c));
            if (c > 0) x[v] = p.combine(fx_scan<I>(), p.values(fx_scan<I>(), s[c > 0 ? c - 1 : 0])[v], x[v]);
          }
        }
        typename PROBLEM::template scans<V> below;
        auto &before = p.values(fx_scan<I>(), below);
        scan_lanes_down<I>(p.values(fx_scan<I>(), s[CHUNKS - 1]), before, so_far);
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
          for (int v = 0; v < V; ++v) p.values(fx_scan<I>(), s[c])[v] = p.combine(fx_scan<I>(), before[v], p.values(fx_scan<I>(), s[c])[v]);
        }
      }
      scan_down<P, I + 1, LAST>(s, carry, first);
    }
  }

  // running sums I to LAST that pass P reads, along the row: at chunk c
  template <int P, int I, int LAST = PROBLEM::SCANS>
  FX_DEVICE void scan(typename PROBLEM::template scans<V> &s, typename PROBLEM::template scans<SUMS> &carry, int c, index at) {
    if constexpr (I < LAST) {
      if constexpr (PROBLEM::SCANNED[I][P]) {
        auto &x = p.values(fx_scan<I>(), s);
        auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          x[v] = p.identity(fx_scan<I>());
          if (has(at)) x[v] = p.template term<V>(fx_scan<I>(), f[c], s, v, r[0], row, at + v);
        }
#pragma unroll
        for (int v = 1; v < V; ++v) x[v] = p.combine(fx_scan<I>(), x[v - 1], x[v]);
        auto before = x[0], all = x[0];
        scan_lanes<I>(x[V - 1], before, all);
        before = p.combine(fx_scan<I>(), so_far[0], before);
#pragma unroll
        for (int v = 0; v < V; ++v) x[v] = p.combine(fx_scan<I>(), before, x[v]);
        so_far[0] = p.combine(fx_scan<I>(), so_far[0], all);
      }
      scan<P, I + 1, LAST>(s, carry, c, at);
    }
  }
  // what the parts before this one left of running sum I
  template <int I, class T>
  FX_DEVICE void scan_parts(T (&so_far)[SUMS]) const {
    const int each = (part + (LANES - 1)) / LANES, first = lane * each, last = first + each < part ? first + each : part;
    T mine[SUMS], before[SUMS];
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      mine[s] = p.identity(fx_scan<I>());
      for (int i = first; i < last; ++i) mine[s] = p.combine(fx_scan<I>(), mine[s], fx_words<T>::from(p.partial(PROBLEM::PASSES + I, row + s, i), 1, 0));
    }
    if constexpr (ALONG_ROWS) scan_lanes_down<I>(mine, before, so_far);
    else scan_lanes<I>(mine[0], before[0], so_far[0]);
  }
  // running sums ahead of pass P: nothing, or of the first KNOWN those that it reads what earlier parts left
  template <int I, int P, int KNOWN = PROBLEM::SCANS>
  FX_DEVICE void start_scans(typename PROBLEM::template scans<SUMS> &carry) const {
    if constexpr (I < PROBLEM::SCANS) {
      auto &so_far = p.values(fx_scan<I>(), carry);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) so_far[s] = p.identity(fx_scan<I>());
      if constexpr (PROBLEM::IN_PARTS && I < KNOWN && PROBLEM::SCANNED[I][P]) scan_parts<I>(so_far);
      start_scans<I + 1, P, KNOWN>(carry);
    }
  }

  // whether pass P and the one behind it are one over these rows; how often lanes join ahead of pass P
  static FX_DEVICE constexpr bool joins(int pass) { return !RESIDENT && fx_row_joins<PROBLEM>(pass, 0); }
  static FX_DEVICE constexpr int joins_before(int pass) {
    int n = 0;
    for (int i = 0; i < pass; i += joins(i) ? 2 : 1) ++n;
    return n;
  }
  // what would be known of a row all of which is as the n elements of which pass P gave this
  template <int P, class FIRST>
  FX_DEVICE typename PROBLEM::results known_of(typename PROBLEM::results of, FIRST a, int n) const {
    p.extend(fx_pass<P>(), a, (float)cols / (float)n);
    p.finish(fx_pass<P>(), of, a);
    if constexpr (PROBLEM::PREPARES[P + 1]) p.prepare(fx_pass<P + 1>(), of, row);
    return of;
  }
  template <int P, class SUM>
  FX_DEVICE void combine(SUM &a, const SUM &b) const {
    p.combine(fx_pass<P>(), a, b);
  }
  template <int P, class FIRST, class SECOND>
  FX_DEVICE void combine(fx_row_joined<FIRST, SECOND> &a, const fx_row_joined<FIRST, SECOND> &b) const {
    FIRST first = a.first;
    SECOND second = b.second;
    p.combine(fx_pass<P>(), first, b.first);
    const typename PROBLEM::results all = known_of<P>(r[0], first, a.n + b.n);
    if (a.n) p.rescale(fx_pass<P + 1>(), a.second, known_of<P>(r[0], a.first, a.n), all, a.n);
    if (b.n) p.rescale(fx_pass<P + 1>(), second, known_of<P>(r[0], b.first, b.n), all, b.n);
    p.combine(fx_pass<P + 1>(), a.second, second);
    a.first = first;
    a.n += b.n;
  }

  // every lane gets what all lanes of its row hold together
  template <int P, int TURN, class SUM>
  FX_DEVICE void join_lanes(SUM (&a)[SUMS]) const {
    if constexpr (TURNED) {
      if constexpr (LANES > 1) {
#pragma unroll
        for (int s = 0; s < SUMS; ++s) {
#pragma unroll
          for (int m = ACROSS; m < WITHIN * ACROSS; m *= 2) combine<P>(a[s], fx_from_lane_xor(a[s], m));
        }
        if constexpr (GROUPS > 1) {
          unsigned *slots = (unsigned *)fx_smem();
          fx_barrier();  // everyone has read the sets before
          if (lane % WITHIN == 0) {
#pragma unroll
            for (int s = 0; s < SUMS; ++s) fx_words<SUM>::of(a[s]).put(slots, SETS, (lane / WITHIN * SUMS + s) * ACROSS + team);
          }
          fx_barrier();  // the groups' sets are there
          for (int i = threadIdx.x; i < ROWS; i += THREADS) {
            SUM all = fx_words<SUM>::from(slots, SETS, i);
#pragma unroll 4
            for (int g = 1; g < GROUPS; ++g) combine<P>(all, fx_words<SUM>::from(slots, SETS, g * ROWS + i));
            fx_words<SUM>::of(all).put(slots, SETS, i);
          }
          fx_barrier();  // the results are there
#pragma unroll
          for (int s = 0; s < SUMS; ++s) a[s] = fx_words<SUM>::from(slots, SETS, s * ACROSS + team);
        }
      }
    } else {
#pragma unroll
      for (int m = (LANES < 32 ? LANES : 32) / 2; m > 0; m /= 2) combine<P>(a[0], fx_from_lane_xor(a[0], m));
      if constexpr (LANES > 32) {
        constexpr int WARPS = LANES / 32;
        unsigned *slots = (unsigned *)fx_smem() + TURN % 2 * (32 * PROBLEM::SUM_WORDS);  // taking turns: nobody writes where another may still read
        if (PROBLEM::SCANS > 0) fx_barrier();                                       // everyone has read what scans have in the same memory, or the set before
        if (lane % 32 == 0) fx_words<SUM>::of(a[0]).put(slots, 32, lane / 32);
        fx_barrier();  // the warps' sums are there
        a[0] = fx_words<SUM>::from(slots, 32, lane % WARPS);
#pragma unroll
        for (int m = WARPS / 2; m > 0; m /= 2) combine<P>(a[0], fx_from_lane_xor(a[0], m));
      }
    }
  }

  // Blocks of a cluster that share a row: the memory barriers are there, in all of them.
  FX_DEVICE void begin_sending() {
    sent = SENT{fx_shared(fx_smem()) + SETS * PROBLEM::SUM_WORDS * 4, 0, 0};
    if (threadIdx.x == 0) {
      fx_mbarrier_init(sent.at, 1);
      fx_mbarrier_init(sent.at + 8, 1);
      fx_mbarrier_publish();
    }
    fx_cluster_arrive();
    fx_cluster_wait();
  }

  // Where blocks share a row, each gets what all of them hold together, added up in the order of their ranks. Whoever sends for the join after the next has joined the
  // next, for which this block sent when it had read what it was sent for this one.
  template <int P, class SUM>
  FX_DEVICE void join_blocks(SUM (&a)[SUMS]) {
    if constexpr (!__is_empty(SENT)) {
      typedef fx_words<SUM> words;
      constexpr int PAIRS = (words::N + 1) / 2;
      static_assert(PAIRS * 2 <= PROBLEM::SUM_WORDS && LANES >= SENT::MOST && THREADS > 32, "no room for what is sent, or nobody to send it");
      const int blocks = fx_cluster_blocks(), rank = fx_cluster_rank();
      const unsigned barrier = sent.at + sent.turn * 8, sets = sent.at + 16 + (sent.turn * SENT::MOST * ROWS * PROBLEM::SUM_WORDS + team * 2) * 4;
      if (threadIdx.x == 0) fx_mbarrier_expect(barrier, blocks * ROWS * PAIRS * 8);
      if (lane < blocks) {
#pragma unroll
        for (int i = 0; i < SUMS * PAIRS; ++i) {
          float x[PAIRS * 2] = {};
          memcpy(x, &a[i / PAIRS], sizeof(SUM));
          fx_send2(fx_shared_of(sets + (rank * SUMS * PAIRS + i) * (ACROSS * 8), lane), x[i % PAIRS * 2], x[i % PAIRS * 2 + 1], fx_shared_of(barrier, lane));
        }
      }
      fx_mbarrier_wait_sent(barrier, sent.parity);
#pragma unroll 1
      for (int b = 0; b < blocks; ++b) {
#pragma unroll
        for (int s = 0; s < SUMS; ++s) {
          unsigned w[PAIRS * 2];
#pragma unroll
          for (int k = 0; k < PAIRS; ++k) fx_shared_get<2>(&w[k * 2], sets + ((b * SUMS + s) * PAIRS + k) * (ACROSS * 8));
          SUM one;
          memcpy(&one, w, sizeof one);
          if (b == 0) a[s] = one;
          else combine<P>(a[s], one);
        }
      }
      sent.parity ^= sent.turn;
      sent.turn ^= 1;
    }
  }

  // pass P, over the part at hand: rounds of which all chunks exist look for no end, so that addresses are computed once
  template <int P, bool IS_FETCHED = false, class SUM>
  FX_DEVICE void fold(SUM (&a)[SUMS]) {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, P>(carry);
    if (AHEAD) fetch(f, begin);
    index first = begin;
    if constexpr (SKEWED && HAS_WHOLE) {
      if (!is_whole_round(first)) fold_round<P, false, false>(a, carry, first), first += ROUND;
    }
    if constexpr (HAS_WHOLE) {
#pragma unroll 1
      for (; is_whole_round(first); first += ROUND) fold_round<P, true, false>(a, carry, first);
    }
#pragma unroll 1
    for (; first < end; first += ROUND) {
      fold_round<P, false, IS_FETCHED>(a, carry, first);
      if (RESIDENT) break;
    }
  }
  template <int P, bool IS_WHOLE, bool IS_FETCHED, class SUM>
  FX_DEVICE void fold_round(SUM (&a)[SUMS], typename PROBLEM::template scans<SUMS> &carry, index first) {
    if (!AHEAD && !IS_FETCHED && (!RESIDENT || P == 0)) fetch<IS_WHOLE>(f, first);
    round_ahead next;
    if (AHEAD) fetch(next.f, first + ROUND);
    typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
    if constexpr (SCANS_DOWN) scan_down<P, 0>(sums, carry, first);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if constexpr (!SCANS_DOWN) scan<P, 0>(sums[0], carry, c, at);
      if (IS_WHOLE || has(at)) {
        if (IS_WHOLE || has_all(at)) {
#pragma unroll
          for (int v = 0; v < V; ++v) fold_element<P>(a[ALONG_ROWS ? v : 0], c, sums[SCANS_DOWN ? c : 0], v, at);
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v)
            if (!fx_is_cut(v, cut(at))) fold_element<P>(a[0], c, sums[0], v, at);
        }
      }
    }
    if (AHEAD) turn(next);
  }
  template <int P, class SUM>
  FX_DEVICE void fold_element(SUM &a, int c, const typename PROBLEM::template scans<V> &sums, int v, index at) {
    p.template fold<RESIDENT == 1, V>(fx_pass<P>(), a, f[c], sums, v, r[ALONG_ROWS ? v : 0], row + (ALONG_ROWS ? v : 0), at + (ALONG_ROWS ? 0 : v));
  }

  // Pass P and the one behind it over rows that are read again: of each round first what pass P takes of it, to which the sums of the other are brought.
  template <int P, class FIRST, class SECOND>
  FX_DEVICE void fold_joined(fx_row_joined<FIRST, SECOND> (&a)[SUMS]) {
    index first = begin;
    if constexpr (SKEWED) {
      if (!is_whole_round(first)) fold_joined_round<P, false>(a, first), first += ROUND;
    }
#pragma unroll 1
    for (; is_whole_round(first); first += ROUND) fold_joined_round<P, true>(a, first);
#pragma unroll 1
    for (; first < end; first += ROUND) fold_joined_round<P, false>(a, first);
  }
  template <int P, bool IS_WHOLE, class FIRST, class SECOND>
  FX_DEVICE void fold_joined_round(fx_row_joined<FIRST, SECOND> (&a)[SUMS], index first) {
    typedef typename PROBLEM::template scans<V> scans;
    FIRST next[SUMS];
    int n = 0;
    fetch<IS_WHOLE>(f, first);
#pragma unroll
    for (int s = 0; s < SUMS; ++s) next[s] = a[s].first;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if (IS_WHOLE || has(at)) {
        if (IS_WHOLE || has_all(at)) {
          n += STEP;
#pragma unroll
          for (int v = 0; v < V; ++v) fold_element<P>(next[ALONG_ROWS ? v : 0], c, scans(), v, at);
        } else {
          n += cut(at).to - cut(at).from;
#pragma unroll
          for (int v = 0; v < V; ++v)
            if (!fx_is_cut(v, cut(at))) fold_element<P>(next[0], c, scans(), v, at);
        }
      }
    }
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      const int before = a[s].n;
      const typename PROBLEM::results was = known_of<P>(r[s], a[s].first, before);
      r[s] = known_of<P>(r[s], next[s], before + n);
      if (before) p.rescale(fx_pass<P + 1>(), a[s].second, was, r[s], before);
      a[s].first = next[s];
      a[s].n = before + n;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if (IS_WHOLE || has(at)) {
        if (IS_WHOLE || has_all(at)) {
#pragma unroll
          for (int v = 0; v < V; ++v) fold_element<P + 1>(a[ALONG_ROWS ? v : 0].second, c, scans(), v, at);
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v)
            if (!fx_is_cut(v, cut(at))) fold_element<P + 1>(a[0].second, c, scans(), v, at);
        }
      }
    }
  }

  // pass P and those after it; IS_FETCHED: what is kept of the row is there
  template <int P, bool IS_FETCHED = false>
  FX_DEVICE void reduce() {
    prepare<P>();
    if constexpr (joins(P)) {
      fx_row_joined<decltype(p.identity(fx_pass<P>())), decltype(p.identity(fx_pass<P + 1>()))> a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = {p.identity(fx_pass<P>()), p.identity(fx_pass<P + 1>()), 0};
      fold_joined<P>(a);
      join_lanes<P, joins_before(P)>(a);
      join_blocks<P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) {
        r[s] = known_of<P>(r[s], a[s].first, a[s].n);
        p.finish(fx_pass<P + 1>(), r[s], a[s].second);
      }
      reduce<P + 2, IS_FETCHED>();
    } else if constexpr (P < PROBLEM::PASSES) {
      decltype(p.identity(fx_pass<P>())) a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = p.identity(fx_pass<P>());
      fold<P, IS_FETCHED>(a);
      join_lanes<P, joins_before(P)>(a);
      join_blocks<P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) p.finish(fx_pass<P>(), r[s], a[s]);
      reduce<P + 1, IS_FETCHED>();
    }
  }

  // what the part at hand adds to running sum I, of which pass P reads elements
  template <int P, int I>
  FX_DEVICE void scan_part() {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, P, I>(carry);
    if (AHEAD) fetch(f, begin);
#pragma unroll 1
    for (index first = begin; first < end; first += ROUND) {
      if (!AHEAD) fetch(f, first);
      round_ahead next;
      if (AHEAD) fetch(next.f, first + CHUNKS * LANES * STEP);
      typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
      if constexpr (SCANS_DOWN) {
        scan_down<P, 0, I + 1>(sums, carry, first);
      } else {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) scan<P, 0, I + 1>(sums[0], carry, c, col(first, c));
      }
      if (AHEAD) turn(next);
    }
    auto &all = p.values(fx_scan<I>(), carry);
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      const auto sum = all[s];
      if (is_inside && lane == 0) fx_words<decltype(p.identity(fx_scan<I>()))>::of(sum).put(p.partial(PROBLEM::PASSES + I, row + s, part), 1, 0);
    }
  }

  // the same for one part of the row: the sums of passes before PASS come from memory, those of PASS go there; or, SCAN being the number of a running sum, what the part
  // adds to that
  template <int P, int PASS, int SCAN>
  FX_DEVICE void reduce_part() {
    prepare<P>();
    if constexpr (P == PASS && SCAN >= 0) {
      scan_part<P, SCAN>();
    } else if constexpr (P < PROBLEM::PASSES && P <= PASS) {
      typedef decltype(p.identity(fx_pass<P>())) sum;
      sum a[SUMS];
#pragma unroll
      for (int s = 0; s < SUMS; ++s) a[s] = p.identity(fx_pass<P>());
      if constexpr (P < PASS) {
#pragma unroll 4
        for (int i = lane; is_inside && i < p.parts(); i += LANES) {
#pragma unroll
          for (int s = 0; s < SUMS; ++s) p.combine(fx_pass<P>(), a[s], fx_words<sum>::from(p.partial(P, row + s, i), 1, 0));
        }
      }
      if constexpr (P == PASS) fold<P>(a);
      join_lanes<P, P>(a);
#pragma unroll
      for (int s = 0; s < SUMS; ++s) {
        if (P < PASS) p.finish(fx_pass<P>(), r[s], a[s]);
        else if (is_inside && lane == 0) fx_words<sum>::of(a[s]).put(p.partial(P, row + s, part), 1, 0);
      }
      reduce_part<P + 1, PASS, SCAN>();
    }
  }

  // the same for a part without elements
  template <int PASS, int SCAN>
  FX_DEVICE void skip_part() const {
    if (!is_inside || lane != 0) return;
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
      if constexpr (SCAN >= 0) {
        const auto none = p.identity(fx_scan<SCAN>());
        fx_words<decltype(p.identity(fx_scan<SCAN>()))>::of(none).put(p.partial(PROBLEM::PASSES + SCAN, row + s, part), 1, 0);
      } else if constexpr (PASS < PROBLEM::PASSES) {
        const auto none = p.identity(fx_pass<PASS>());
        fx_words<decltype(p.identity(fx_pass<PASS>()))>::of(none).put(p.partial(PASS, row + s, part), 1, 0);
      }
    }
  }

  template <bool IS_WHOLE = false, class TAIL>
  FX_DEVICE void fetch_tail(TAIL &t, index at) const {
    if constexpr (!__is_empty(TAIL))
      if (IS_WHOLE || has(at)) {
        if constexpr (!SKEWED) p.fetch_tail(t, row, at);
        else if (IS_WHOLE || has_all(at)) p.fetch_tail(t, row, at, fx_skewed());
        else p.fetch_tail(t, row, at, cut(at));
      }
  }

  // the last pass, which stores elements; what only it reads is under way for all chunks at once where registers allow
  FX_DEVICE void store() {
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, PROBLEM::PASSES>(carry);
    if (AHEAD) fetch(f, begin);
    index first = begin;
    if constexpr (SKEWED && HAS_WHOLE) {
      if (!is_whole_round(first)) store_round<false>(carry, first), first += ROUND;
    }
    if constexpr (HAS_WHOLE) {
#pragma unroll 1
      for (; is_whole_round(first); first += ROUND) store_round<true>(carry, first);
    }
#pragma unroll 1
    for (; first < end; first += ROUND) {
      store_round<false>(carry, first);
      if (RESIDENT) break;
    }
  }
  template <bool IS_WHOLE>
  FX_DEVICE void store_round(typename PROBLEM::template scans<SUMS> &carry, index first) {
    typedef typename PROBLEM::template tail<V> tail;
    constexpr bool ALL = CHUNKS * sizeof(tail) <= 64;
    tail t[ALL ? CHUNKS : 1];
    if (!AHEAD && (!RESIDENT || PROBLEM::PASSES == 0)) fetch<IS_WHOLE>(f, first);
    round_ahead next;
    if (AHEAD) fetch(next.f, first + ROUND);
#pragma unroll
    for (int c = 0; c < (ALL ? CHUNKS : 0); ++c) {
      t[c] = tail{};
      fetch_tail<IS_WHOLE>(t[c], col(first, c));
    }
    typename PROBLEM::template scans<V> sums[SCANS_DOWN ? CHUNKS : 1];
    if constexpr (SCANS_DOWN) scan_down<PROBLEM::PASSES, 0>(sums, carry, first);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      const index at = col(first, c);
      if constexpr (!SCANS_DOWN) scan<PROBLEM::PASSES, 0>(sums[0], carry, c, at);
      if (!is_inside || !(IS_WHOLE || has(at))) continue;
      if (!ALL) fetch_tail<IS_WHOLE>(t[0], at);
      if constexpr (SKEWED) {
        if (!IS_WHOLE && !has_all(at)) {
          p.template store<RESIDENT == 1, V>(f[c], t[ALL ? c : 0], sums[0], r, row, at, cut(at));
          continue;
        }
      }
      p.template store<RESIDENT == 1, V>(f[c], t[ALL ? c : 0], sums[SCANS_DOWN ? c : 0], r, row, at);
    }
    if (AHEAD) turn(next);
  }

  // what teams have of the same columns, joined
  template <class SIDES>
  FX_DEVICE void join_teams(SIDES (&a)[CHUNKS]) const {
    typedef fx_words<SIDES> words;
    unsigned *slots = (unsigned *)fx_smem();
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
      fx_barrier();  // everyone has read the sums of rows, or the chunk before
      words::of(a[c]).put(slots, THREADS, threadIdx.x);
      fx_barrier();  // all teams' are there
      if (team == 0) {
#pragma unroll 1
        for (int t = 1; t < ACROSS; ++t) p.combine_sides(a[c], words::from(slots, THREADS, t * LANES + lane));
      }
    }
  }

  // row i of a run of so many
  FX_DEVICE void take_row(index first, index rows, int i) {
    is_inside = i < (int)rows;
    row = is_inside ? first + i : first;
  }

  // The rows of a run, and what is added up over them; the next row is fetched while lanes wait for each other.
  FX_DEVICE void take_run(index run) {
    typedef typename PROBLEM::template sides<V> sides;
    constexpr int KEPT = RESIDENT ? CHUNKS : 1;
    index first, rows;
    sides a[KEPT];
    p.rows_of(run, first, rows);
#pragma unroll
    for (int c = 0; c < KEPT; ++c) a[c] = p.template no_sides<V>();
    round_ahead next;
    take_row(first, rows, team);
    if (RESIDENT) fetch(next.f, begin);
#pragma unroll 1
    for (int i = 0; i < (int)rows; i += ACROSS) {
      take_row(first, rows, i + team);
      const bool was_inside = is_inside;
      const index was_row = row;
      if (RESIDENT) {
        turn(next);
        take_row(first, rows, i + ACROSS + team);
        fetch_again(next.f);
        is_inside = was_inside, row = was_row;
      }
      reduce<0, RESIDENT>();
      store_beside<KEPT>(a, run, i == 0);
      if constexpr (PROBLEM::STORES_RESULTS) store_results();
      if (PROBLEM::SCANS > 0 || PROBLEM::PASSES % 2) fx_barrier();  // everyone has read the last sums of this row
    }
    if constexpr (RESIDENT) {
      if (ACROSS > 1) join_teams(a);
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c)
        if (team == 0 && col(begin, c) < end) p.template put_sides<V>(a[c], run, col(begin, c));
    }
  }

  // the last pass over a row of a run
  template <int KEPT, class SIDES>
  FX_DEVICE void store_beside(SIDES (&a)[KEPT], index run, bool is_first) {
    typedef typename PROBLEM::template tail<V> tail;
    typename PROBLEM::template scans<SUMS> carry;
    start_scans<0, PROBLEM::PASSES>(carry);
#pragma unroll 1
    for (index at_round = begin; at_round < end; at_round += CHUNKS * LANES * STEP) {
      if (!RESIDENT) fetch(f, at_round);
#pragma unroll
      for (int c = 0; c < CHUNKS; ++c) {
        const index at = col(at_round, c);
        typename PROBLEM::template scans<V> sums;
        tail t = tail{};
        scan<PROBLEM::PASSES, 0>(sums, carry, c, at);
        if (!is_inside || !has(at)) continue;
        fetch_tail(t, at);
        if (!RESIDENT) a[0] = is_first ? p.template no_sides<V>() : p.template get_sides<V>(run, at);
        p.template store<RESIDENT == 1, V>(f[c], t, sums, r, row, at, a[RESIDENT ? c : 0]);
        if (!RESIDENT) p.template put_sides<V>(a[0], run, at);
      }
      if (RESIDENT) break;
    }
  }

  FX_DEVICE void store_results() const {
    if (!is_inside || lane != 0) return;
#pragma unroll
    for (int s = 0; s < SUMS; ++s) p.results_of(r[s], row + s);
  }
};
