/* The pointwise driver: every element of the output space once, V adjacent columns at a time. The space is rows() x cols(), cols the innermost axis after
   merging. Grid: any; ceil(chunks / (256 * UNROLL)) blocks of 256 threads visit each chunk in one pass, chunks = rows * ceil(cols / V).
   PROBLEM::index is int where rows * cols < 2**30, else long long. ALIGNED: cols is a multiple of V, rows begin at vector boundaries. */

// fx_pointwise: all loads of UNROLL chunks are under way before the first is used
template <int V, int UNROLL, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_pointwise(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  constexpr int THREADS = 256;
  const index rows = (index)p.rows(), cols = (index)p.cols();
  const index across = (cols + (V - 1)) / V, chunks = rows * across, stride = (index)gridDim.x * (THREADS * UNROLL);
  const index rows_on = UNROLL == 1 || rows == 1 ? 0 : THREADS / across, chunks_on = THREADS - rows_on * across;  // from one of a thread's chunks to its next
  for (index first = (index)blockIdx.x * (THREADS * UNROLL) + threadIdx.x; first < chunks; first += stride) {
    typename PROBLEM::template frag<V> f[UNROLL];
    index row[UNROLL], col[UNROLL];
    int n_valid[UNROLL];
    index at_row = rows == 1 ? 0 : first / across, at = first - at_row * across;
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      row[u] = at_row, col[u] = at * V;
      n_valid[u] = at_row >= rows || at >= across ? 0 : cols - col[u] < V ? (int)(cols - col[u]) : V;
      if (n_valid[u] > 0) p.template fetch<V, ALIGNED>(f[u], row[u], col[u], n_valid[u]);
      at_row += rows_on, at += chunks_on;
      if (at >= across && rows > 1) at -= across, ++at_row;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      if (n_valid[u] > 0) p.template store<V, ALIGNED>(f[u], row[u], col[u], n_valid[u]);
  }
}
