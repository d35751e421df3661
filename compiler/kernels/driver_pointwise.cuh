/* The pointwise driver: every element of the output space once, V adjacent columns at a time. The space is rows() x cols(), cols the innermost axis after
   merging. Grid: any; ceil(rows * ceil(cols / V) / THREADS) blocks of THREADS threads visit nearly every chunk in one pass, of turned tiles a block a tile.
   PROBLEM::index is int where rows * cols < 2**30, else long long. ALIGNED: cols is a multiple of V, rows begin at vector boundaries. Otherwise
   PROBLEM::skew<V>(row) says how far the first output's row lies past such a boundary; its chunks begin and end at boundaries all the same. */

// fx_chunks_across: chunks of a row; unaligned rows may begin and end with part of one
template <int V, bool ALIGNED, class PROBLEM>
FX_DEVICE typename PROBLEM::index fx_chunks_across(const PROBLEM &p) {
  return ((typename PROBLEM::index)p.cols() + (ALIGNED ? 0 : 2 * (V - 1))) / V;
}

// fx_pointwise_chunk: one chunk of a row
template <int V, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_pointwise_chunk(const PROBLEM &p, typename PROBLEM::index row, typename PROBLEM::index chunk) {
  typedef typename PROBLEM::index index;
  const index cols = (index)p.cols(), begin = chunk * V - (ALIGNED ? 0 : p.template skew<V>(row));
  const index col = begin > 0 ? begin : 0, end = begin + V < cols ? begin + V : cols;
  if (end <= col) return;
  typedef typename PROBLEM::template frag<V> frag;
  frag f;
  if constexpr (!__is_empty(frag)) p.template fetch<V, ALIGNED>(f, row, col, (int)(end - col));
  p.template store<V, ALIGNED>(f, row, col, (int)(end - col));
}

// fx_pointwise: each thread takes a chunk and those a whole grid on
template <int V, bool ALIGNED, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = (index)p.rows(), across = fx_chunks_across<V, ALIGNED>(p), chunks = rows * across;
  for (index chunk = (index)blockIdx.x * THREADS + threadIdx.x; chunk < chunks; chunk += (index)gridDim.x * THREADS) {
    const index row = rows == 1 ? 0 : chunk / across;
    fx_pointwise_chunk<V, ALIGNED>(p, row, chunk - row * across);
  }
}

// fx_pointwise_rows: likewise, aligned, where adjacent rows read much in common: a thread takes R of them, a divisor of the number of rows, at once
template <int V, int R, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise_rows(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::template frag<V> frag;
  const index across = fx_chunks_across<V, true>(p), chunks = (index)p.rows() / R * across;
  for (index chunk = (index)blockIdx.x * THREADS + threadIdx.x; chunk < chunks; chunk += (index)gridDim.x * THREADS) {
    const index row = chunk / across, col = (chunk - row * across) * V;
    frag f[R];
    if constexpr (!__is_empty(frag)) {
#pragma unroll
      for (int i = 0; i < R; ++i) p.template fetch<V, true>(f[i], row * R + i, col, V);
    }
    p.template store_rows<V, true>(f, row * R, col, V);
  }
}

// fx_pointwise_ahead: likewise, aligned, where threads are few: each fetches AHEAD chunks before it stores them
template <int V, int AHEAD, int THREADS, class PROBLEM>
FX_DEVICE void fx_pointwise_ahead(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = (index)p.rows(), across = fx_chunks_across<V, true>(p), chunks = rows * across, step = (index)gridDim.x * THREADS;
  for (index first = (index)blockIdx.x * THREADS + threadIdx.x; first < chunks; first += AHEAD * step) {
    typename PROBLEM::template frag<V> f[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const index chunk = first + i * step, row = rows == 1 ? 0 : chunk / across;
      if (chunk < chunks) p.template fetch<V, true>(f[i], row, (chunk - row * across) * V, V);
    }
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const index chunk = first + i * step, row = rows == 1 ? 0 : chunk / across;
      if (chunk < chunks) p.template store<V, true>(f[i], row, (chunk - row * across) * V, V);
    }
  }
}

// fx_pointwise_turned: likewise where some tensor has its rows contiguous, not its columns: a block takes a tile of ROWS rows, a warp 16 of them and two chunks of each, so that
// either kind of tensor is read and written in whole sectors of 32 bytes
template <int V, bool ALIGNED, int ROWS, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise_turned(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  constexpr int CHUNKS = THREADS / ROWS;
  static_assert(ROWS % 16 == 0 && CHUNKS % 2 == 0 && THREADS % ROWS == 0, "no such tile");
  const index rows = (index)p.rows(), across = fx_chunks_across<V, ALIGNED>(p), tiles_across = (across + (CHUNKS - 1)) / CHUNKS;
  const index tiles = (rows + (ROWS - 1)) / ROWS * tiles_across;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const index down = tile / tiles_across, row = down * ROWS + warp % (ROWS / 16) * 16 + lane / 2;
    const index chunk = (tile - down * tiles_across) * CHUNKS + warp / (ROWS / 16) * 2 + lane % 2;
    if (row < rows && chunk < across) fx_pointwise_chunk<V, ALIGNED>(p, row, chunk);
  }
}

// fx_pointwise_words: likewise, aligned, where a word of each such tensor has R rows: a thread takes as many, and reads these tensors by words where p.by_words()
template <int V, int ROWS, int R, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise_words(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr int CHUNKS = THREADS / ROWS;
  static_assert(ROWS % 16 == 0 && CHUNKS % 2 == 0 && THREADS % ROWS == 0, "no such tile");
  const index rows = (index)p.rows(), across = fx_chunks_across<V, true>(p), tiles_across = (across + (CHUNKS - 1)) / CHUNKS;
  const index tiles = (rows + (ROWS * R - 1)) / (ROWS * R) * tiles_across;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool by_words = p.by_words();
  for (index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const index down = tile / tiles_across, row = (down * ROWS + warp % (ROWS / 16) * 16 + lane / 2) * R;
    const index chunk = (tile - down * tiles_across) * CHUNKS + warp / (ROWS / 16) * 2 + lane % 2;
    if (row >= rows || chunk >= across) continue;
    if (by_words) {
      frag f[R];
      p.template fetch_rows<V, R>(f, row, chunk * V);
#pragma unroll
      for (int i = 0; i < R; ++i) p.template store<V, true>(f[i], row + i, chunk * V, V);
    } else {
#pragma unroll 1
      for (int i = 0; i < R && row + i < rows; ++i) fx_pointwise_chunk<V, true>(p, row + i, chunk);
    }
  }
}
