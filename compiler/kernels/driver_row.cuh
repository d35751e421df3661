/* The row driver: rows() rows of cols() elements; reductions of every row in PASSES passes over it, each of which may read what those before gave, then a pass that
   stores elements, then the results. V adjacent elements lie along the row, or, ALONG_ROWS, one in each of V adjacent rows. LANES threads share a row (or V),
   ACROSS such teams make a block: team ids run fastest where V elements lie along the row and slowest otherwise, so that a warp touches adjacent memory.
   RESIDENT: cols() is at most CHUNKS chunks a lane, the row is read once and kept in registers, and unless it is 2 with what passes share; else it is read again by every pass, CHUNKS chunks at a time.
   Grid: any; ceil(rows / ROWS) blocks visit every row in one round, ROWS = ACROSS, times V where ALONG_ROWS. V > 1 needs vectors that begin and end on V elements.
   Every sum has one order, given by the shape alone. LANES is a power of two; up to 32, or the whole block where V elements lie along the row. ALONG_ROWS with scans
   a thread's chunks are adjacent elements, so that it adds up its own before lanes tell each other.
   Shared memory: along the row with more than 32 lanes 64 sets of SUM_WORDS words (and 33 running sums for scans), ALONG_ROWS with several lanes a set for each row of a warp, or of a lane, whichever is less often (and
   V running sums a team and warp). JOINS[P]: of rows that are read again, pass P + 1 may be taken with pass P, its sums brought from what part of the row gives to what more of it does. SPREAD: a cluster of blocks shares the rows of a block, each block a part of every row; behind the above two memory barriers and what
   the blocks send each other, 16 sets a row. */

// fx_row_all: every row of the problem, by shares of this type
template <class pass, class PROBLEM>
FX_DEVICE void fx_row_all(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = p.rows();
  for (index first = (index)blockIdx.x * pass::ROWS; first < rows; first += (index)gridDim.x * pass::ROWS) {
    pass w(p);
    w.start(first);
    w.template reduce<0>();
    if constexpr (PROBLEM::STORES_ELEMENTS) w.store();
    if constexpr (PROBLEM::STORES_RESULTS) w.store_results();
    if (first + (index)gridDim.x * pass::ROWS < rows) fx_barrier();  // everyone has read the last sums of these rows
  }
}

// fx_row: every row of the problem
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row(const PROBLEM &p) {
  fx_row_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM>>(p);
}

// fx_row_turned: the same where V elements lie along the row and those behind them in another one
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_turned(const PROBLEM &p) {
  fx_row_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM, fx_nothing, true>>(p);
}

// fx_row_skewed: the same where rows begin and end anywhere, and vectors at boundaries of memory
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_skewed(const PROBLEM &p) {
  fx_row_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM, fx_nothing, false, true>>(p);
}

// fx_row_cluster_all: every row of the problem, each shared by the blocks of a cluster; the grid is that of whole rows times the blocks of a cluster
template <class pass, class PROBLEM>
FX_DEVICE void fx_row_cluster_all(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = p.rows(), step = (index)(gridDim.x / fx_cluster_blocks()) * pass::ROWS;
  pass w(p);
  w.take_part(fx_cluster_rank(), fx_cluster_blocks(), pass::PART);
  w.begin_sending();
  for (index first = (index)(blockIdx.x / fx_cluster_blocks()) * pass::ROWS; first < rows; first += step) {
    w.start(first);
    w.template reduce<0>();
    if constexpr (PROBLEM::STORES_ELEMENTS) w.store();
    if constexpr (PROBLEM::STORES_RESULTS)
      if (fx_cluster_rank() == 0) w.store_results();
    if (first + step < rows) fx_barrier();  // everyone has read the last sums of these rows
  }
}

// fx_row_cluster: the same, with V elements in the place that the problem has for them
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_cluster(const PROBLEM &p) {
  fx_row_cluster_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM, fx_row_sent>>(p);
}

// fx_row_cluster_turned: the same where V elements lie along the row and those behind them in another one
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_cluster_turned(const PROBLEM &p) {
  fx_row_cluster_all<fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM, fx_row_sent, true>>(p);
}

// fx_row_runs: every row, a run of rows a block, which also adds its columns up over the run: in registers where the row is RESIDENT, else in memory
template <int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_runs(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef fx_row_share<RESIDENT, V, CHUNKS, LANES, ACROSS, PROBLEM> pass;
  const index runs = p.runs();
  for (index run = blockIdx.x; run < runs; run += gridDim.x) {
    pass w(p);
    w.take_run(run);
    if (run + gridDim.x < runs) fx_barrier();  // everyone has read the last sums of these rows
  }
}

// fx_row_part: pass PASS over rows that are too few to occupy the GPU, each cut in parts, or what the parts add to running sum SCAN of that pass; the grid is that of
// whole rows times the parts, where nothing but results is stored that of whole rows
template <int PASS, int SCAN, int RESIDENT, int V, int CHUNKS, int LANES, int ACROSS, class PROBLEM>
FX_DEVICE void fx_row_part(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef fx_row_share<false, V, CHUNKS, LANES, ACROSS, PROBLEM> pass;
  constexpr bool READS = PASS < PROBLEM::PASSES || SCAN >= 0 || PROBLEM::STORES_ELEMENTS;
  constexpr int WHOLE = PROBLEM::ALONG_ROWS ? 64 : 1024;  // of elements of a part: the same in all launches, whatever their entries
  const int parts = READS ? p.parts() : 1;
  const long long blocks = ((long long)p.rows() + (pass::ROWS - 1)) / pass::ROWS * parts;
  for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
    pass w(p);
    w.start((index)(block / parts * pass::ROWS));
    w.take_part((int)(block % parts), parts, WHOLE);
    if (w.part > 0 && w.begin == w.end) {
      w.template skip_part<PASS, SCAN>();
      continue;
    }
    w.template reduce_part<0, PASS, SCAN>();
    if constexpr (PASS == PROBLEM::PASSES && SCAN < 0) {
      if constexpr (PROBLEM::STORES_ELEMENTS) w.store();
      if constexpr (PROBLEM::STORES_RESULTS)
        if (w.part == 0) w.store_results();
    }
    fx_barrier();  // everyone has read the last sums of this part
  }
}
