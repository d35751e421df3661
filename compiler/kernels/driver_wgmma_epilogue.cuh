/* The epilogue of the gemm driver of sm_90a: a consumer's sums, staged row by row in shared memory, are handed to the problem, which stores by
   itself; or the problem's results go into boxes of shared memory, which tensor maps store. */

// fx_wgmma_get: V staged sums; lanes whose bit 2 is set read the upper half of eight first: eight lanes then read all banks
template <class T, int V>
FX_DEVICE void fx_wgmma_get(T (&x)[V], unsigned from) {
  if constexpr (V == 8) {
    const bool is_swapped = threadIdx.x & 4;
    T first[4], second[4];
    fx_shared_get<4>(first, from + (is_swapped ? 16 : 0));
    fx_shared_get<4>(second, from + (is_swapped ? 0 : 16));
#pragma unroll
    for (int v = 0; v < 4; ++v) x[v] = is_swapped ? second[v] : first[v], x[v + 4] = is_swapped ? first[v] : second[v];
  } else {
    fx_shared_get<V>(x, from);
  }
}

// fx_wgmma_epilogue: hands a consumer's sums to the problem, V columns of a row at a time; each warp stages its 16 rows of a chunk of columns after another in shared memory of its own
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, V = fx_wgmma_columns<ENGINE, PROBLEM>::V, CHUNK = ENGINE::CHUNK, ACROSS = CHUNK / V, STEP = 32 / ACROSS, STEPS = 16 / STEP;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr bool IS_AHEAD = sizeof(frag) * STEPS <= 128 && ENGINE::HAS_ROOM && ENGINE::ALIGNED;  // registers allow asking for what all steps read before the sums are staged
  constexpr int AT_ONCE = ENGINE::HAS_ROOM ? STEPS : 1;  // steps whose sums are read ahead of their use
  static_assert(V <= 8 && ACROSS <= 32 && STEP <= 16, "a warp does not cover whole rows of a chunk");
  const int lane = threadIdx.x % 32, row = lane / ACROSS, col = lane % ACROSS * V;
  const unsigned put = staging + fx_sum_row<ENGINE>(lane, 0) * ENGINE::PITCH + lane % 4 * 8, get = staging + row * ENGINE::PITCH + col * 4;
#pragma unroll
  for (int chunk = 0; chunk < ENGINE::BN / CHUNK; ++chunk) {
    const int n = at.n + chunk * CHUNK + col, n_valid = p.n() - n < V ? p.n() - n : V;
    if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, at.n + chunk * CHUNK);
    const typename PROBLEM::template columns<V> c = columns.of[0];
    if (ENGINE::HAS_ROOM && chunk + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, at.n + (chunk + 1) * CHUNK);
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      const int m = at.m + first_row + part * 64 + row, rows = n_valid > 0 ? p.m() - m : 0;
      frag read[IS_AHEAD ? STEPS : 1] = {};  // what is not asked for has no value to be kept from chunk to chunk
      if constexpr (IS_AHEAD) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
          if (s * STEP < rows) fx_fetch<V, ENGINE::ALIGNED>(p, read[s], at.batch, m + s * STEP, n, n_valid);
      }
      fx_warp_barrier();  // every lane has read the rows staged before
#pragma unroll
      for (int j = 0; j < SUMS; ++j) {
#pragma unroll
        for (int i = 0; i < CHUNK / 8; ++i) {
          const int x = (chunk * (CHUNK / 8) + i) * 4;
          fx_shared_put2(put + (j * CHUNK + i * 8) * 4, acc.get(j, part, x), acc.get(j, part, x + 1));
          fx_shared_put2(put + 8 * ENGINE::PITCH + (j * CHUNK + i * 8) * 4, acc.get(j, part, x + 2), acc.get(j, part, x + 3));
        }
      }
      fx_warp_barrier();  // the chunk of these rows is staged
      if constexpr (ENGINE::ALIGNED) {
#pragma unroll
        for (int first = 0; first < STEPS; first += AT_ONCE) {
          typename ENGINE::sum x[AT_ONCE][SUMS][V];
#pragma unroll
          for (int i = 0; i < AT_ONCE * SUMS; ++i)
            fx_wgmma_get(x[i / SUMS][i % SUMS], get + (first + i / SUMS) * STEP * ENGINE::PITCH + i % SUMS * CHUNK * 4);
#pragma unroll
          for (int s = first; s < first + AT_ONCE; ++s) {
            if (s * STEP >= rows) continue;
            if constexpr (!IS_AHEAD) fx_fetch<V, true>(p, read[0], at.batch, m + s * STEP, n, n_valid);
            p.template store<V, true>(x[s - first], c, read[IS_AHEAD ? s : 0], at.batch, m + s * STEP, n, n_valid);
          }
        }
      } else {
#pragma unroll ENGINE::HAS_ROOM ? 4 : 1
        for (int s = 0; s < STEPS && s * STEP < rows; ++s) {
          typename ENGINE::sum x[SUMS][V];
#pragma unroll
          for (int j = 0; j < SUMS; ++j) fx_wgmma_get(x[j], get + s * STEP * ENGINE::PITCH + j * CHUNK * 4);
          fx_fetch<V, false>(p, read[0], at.batch, m + s * STEP, n, n_valid);
          p.template store<V, false>(x, c, read[0], at.batch, m + s * STEP, n, n_valid);
        }
      }
    }
  }
}

// fx_to_slabs: where store leaves what it has computed of two adjacent columns of tensor number I: in a box of shared memory
template <class ENGINE>
struct fx_to_slabs {
  unsigned at;  // in the box of the first tensor

  template <int I, int V, bool ALIGNED, class T>
  FX_DEVICE void put(T *p, const float (&x)[V], int) const {
    unsigned w[V * (int)sizeof(T) / 4];
    fx_pack<V>(w, x, p);
    fx_shared_put<V * (int)sizeof(T) / 4>(at + I * ENGINE::SLAB_BYTES, w);
  }
};

// fx_wgmma_send: starts copying a warp's boxes of 16 rows, which all its lanes have written, to tensor number I and those behind
template <int I, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_send(const PROBLEM &p, const fx_tensor_map *maps, unsigned slab, int batch, int m, int n) {
  if constexpr (I < PROBLEM::STORED) {
    typedef typename PROBLEM::template stored<I> stored;
    int at[stored::RANK];
    at[0] = n, at[1] = m;
    if constexpr (stored::RANK > 2) stored::place(p, batch, at);
    fx_tma_store(maps + stored::MAP, slab, at);
    fx_wgmma_send<I + 1, ENGINE>(p, maps, slab + ENGINE::SLAB_BYTES, batch, m, n);
  }
}

// fx_wgmma_boxes: the epilogue of a problem that stores by tensor maps: computes where the sums are, two columns at a time, and packs a chunk of a warp's 16 rows into a box while the one before is read; then the chunks behind
template <int CHUNK_NUMBER, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_boxes(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns,
                              const fx_wgmma_rows<ENGINE, PROBLEM> &rows, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, CHUNK = ENGINE::CHUNK, PIECE = 128 / (CHUNK / 8);
  constexpr int BOXES = ENGINE::BN / CHUNK * ENGINE::PARTS, TURNS = BOXES % 2 ? 1 : ENGINE::SLABS / PROBLEM::STORED;  // the first box of the next tile takes the next turn, too
  const int lane = threadIdx.x % 32, row = fx_sum_row<ENGINE>(lane, 0), n = at.n + CHUNK_NUMBER * CHUNK;
  const fx_wgmma_columns<ENGINE, PROBLEM> c = columns;
  if (ENGINE::HAS_ROOM && CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, n + CHUNK);
#pragma unroll
  for (int part = 0; part < ENGINE::PARTS; ++part) {
    const unsigned slab = staging + (CHUNK_NUMBER * ENGINE::PARTS + part) % TURNS * PROBLEM::STORED * ENGINE::SLAB_BYTES;
    const int m = at.m + first_row + part * 64;
    if (lane == 0) fx_tma_wait<TURNS - 1>();
    fx_warp_barrier();  // the box has been read
#pragma unroll
    for (int i = 0; i < CHUNK / 8; ++i) {
      if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, n, i);
      const unsigned to = slab + row * 128 + ((i * PIECE + lane % 4 * (PIECE / 4)) ^ row << 4);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        typename ENGINE::sum x[SUMS][2];
#pragma unroll
        for (int v = 0; v < SUMS * 2; ++v) x[v / 2][v % 2] = acc.get(v / 2, part, (CHUNK_NUMBER * (CHUNK / 8) + i) * 4 + half * 2 + v % 2);
        p.template store<2, true>(x, ENGINE::HAS_ROOM ? c.of[i] : columns.of[i], rows.of[part][half], at.batch, m + row + half * 8, n + i * 8 + lane % 4 * 2, 2,
                                  fx_to_slabs<ENGINE>{to + half * 1024});
      }
    }
    fx_tma_publish();
    fx_warp_barrier();  // the box is whole
    if (lane == 0) {
      if (n < p.n() && m < p.m()) fx_wgmma_send<0, ENGINE>(p, maps, slab, at.batch, m, n);
      fx_tma_commit();
    }
  }
  if constexpr (CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) fx_wgmma_boxes<CHUNK_NUMBER + 1, ENGINE>(p, maps, at, first_row, columns, rows, acc, staging);
}
