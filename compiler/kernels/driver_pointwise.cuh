/* The pointwise driver: every element of the output space once, V adjacent columns at a time. The space is rows() x cols(), cols the innermost axis after
   merging. Grid: any; ceil(rows * ceil(cols / V) / THREADS) blocks of THREADS threads visit nearly every chunk in one pass.
   PROBLEM::index is int where rows * cols < 2**30, else long long. ALIGNED: cols is a multiple of V, rows begin at vector boundaries. Otherwise
   PROBLEM::skew<V>(row) says how far the first output's row lies past such a boundary; its chunks begin and end at boundaries all the same. */

// fx_pointwise: each thread takes a chunk and those a whole grid on
template <int V, bool ALIGNED, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = (index)p.rows(), cols = (index)p.cols();
  const index across = (cols + (ALIGNED ? 0 : 2 * (V - 1))) / V, chunks = rows * across;  // unaligned rows may begin and end with part of a chunk
  for (index chunk = (index)blockIdx.x * THREADS + threadIdx.x; chunk < chunks; chunk += (index)gridDim.x * THREADS) {
    const index row = rows == 1 ? 0 : chunk / across;
    const index begin = (chunk - row * across) * V - (ALIGNED ? 0 : p.template skew<V>(row));
    const index col = begin > 0 ? begin : 0, end = begin + V < cols ? begin + V : cols;
    if (end <= col) continue;
    typedef typename PROBLEM::template frag<V> frag;
    frag f;
    if constexpr (!__is_empty(frag)) p.template fetch<V, ALIGNED>(f, row, col, (int)(end - col));
    p.template store<V, ALIGNED>(f, row, col, (int)(end - col));
  }
}
