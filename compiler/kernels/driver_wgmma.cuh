/* The contraction driver of sm_90a: a problem as for driver_gemm.cuh, whose operands of 16-bit floats, of f32 as tf32, or of 8 bits, lie in memory as tensor maps say, on wgmma.
   A block walks over output tiles, as many blocks as multiprocessors. One thread of its first warpgroup, the producer, copies boxes of the operands into a ring of stages; two or
   three warpgroups, the consumers, multiply what has landed. In turns (IS_PINGPONG) each of two has a tile of its own, and its epilogue runs under the other's products; else they
   share a tile, as many of its rows each. The engine is that of engine_wgmma.cuh.
   Grid: any number of blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: any m and n, k of at least 1 in every segment; what lies outside an operand counts as zero, and nothing outside the tensors is written. */

// fx_reduces: whether an engine's epilogue reduces elements (driver_wgmma_reduce.cuh)
template <class ENGINE> FX_DEVICE constexpr auto fx_reduces(int) -> decltype(ENGINE::STAGED, true) { return true; }
template <class ENGINE> FX_DEVICE constexpr bool fx_reduces(...) { return false; }

// fx_reduces_columns: whether it does so where the sums are, over rows alone, and stores boxes besides
template <class ENGINE> FX_DEVICE constexpr auto fx_reduces_columns(int) -> decltype(ENGINE::BEHIND, true) { return true; }
template <class ENGINE> FX_DEVICE constexpr bool fx_reduces_columns(...) { return false; }

// fx_wgmma_start: what all threads of a block do once the first has begun the memory barriers
FX_DEVICE void fx_wgmma_start(const fx_tensor_map *maps) {
  if (threadIdx.x == 0) {
    fx_tma_prefetch(maps);
    fx_tma_prefetch(maps + 1);
    fx_mbarrier_publish();
  }
  fx_barrier();  // the memory barriers are there
  fx_let_next_start();
  fx_wait_for_kernel();
}

// fx_wgmma_produce: the work of the first warpgroup: one thread runs a producer over this block's tiles
template <class ENGINE, class PRODUCER, class PROBLEM, class... RINGS>
FX_DEVICE void fx_wgmma_produce(const PROBLEM &p, const fx_tensor_map *maps, unsigned tiles, RINGS &...rings) {
  fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
      const fx_tile at = fx_nth_tile<ENGINE>(p, number);
      PRODUCER producer = {rings..., at, maps};
      p.accumulate(producer);
    }
  }
}

// fx_wgmma_load_tile: what the producer does for a tile
template <class RING>
struct fx_wgmma_load_tile {
  RING ring;  // of the block

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    fx_wgmma_producer<ENGINE> producer = {ring, at, maps};
    p.accumulate(producer);
  }
};

// fx_wgmma_count_tile: how many blocks of k a tile has
struct fx_wgmma_count_tile {
  int n;

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *, const fx_tile &) {
    fx_wgmma_blocks<ENGINE> blocks = {0};
    p.accumulate(blocks);
    n = blocks.n;
  }
};

// fx_wgmma_tile: what a consumer does for a tile: its products, then the epilogue; IS_ALONE: all tiles are of one problem
template <class RING, bool IS_ALONE>
struct fx_wgmma_tile {
  RING ring;         // of the block
  int consumer;      // its number
  unsigned staging;  // of the warp, in shared memory
  int skipped;       // blocks of k of the tile of the other consumer
  bool hands_over;   // whether that one has a tile to come

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
    const int warp = threadIdx.x / 32 % 4, part = IS_PINGPONG ? 0 : consumer * ENGINE::PARTS;  // of the tile's 64 rows each, the first of this consumer
    fx_wgmma_columns<ENGINE, PROBLEM> columns;  // of the first chunk; those of the next are asked for while one is worked on
    if constexpr (ENGINE::HAS_ROOM && !fx_reduces<ENGINE>(0)) columns.fetch(p, at.batch, at.n);
    constexpr bool IS_SET = ENGINE::IS_SET;
    constexpr int EACH = ENGINE::BESIDE * ENGINE::BN / 2;
    fx_wgmma_sums<ENGINE> acc;
#pragma unroll
    for (int i = 0; IS_SET && i < ENGINE::PARTS * EACH; ++i) acc.of[0][i / EACH][i % EACH] = 0;
#pragma unroll
    for (int i = ENGINE::PARTS * EACH; ENGINE::PROMOTES && i < ENGINE::SUMS / ENGINE::BESIDE * ENGINE::PARTS * EACH; ++i) acc.of[i / (ENGINE::PARTS * EACH)][i / EACH % ENGINE::PARTS][i % EACH] = 0;
    if constexpr (IS_PINGPONG) fx_named_barrier(1 + consumer, 256);  // the other one has started all its products
    typename fx_wgmma_mainloop<typename ENGINE::T, ENGINE>::type mainloop = {acc, ring, (unsigned)part * ENGINE::BOX_BYTES, -1, {IS_SET}, at};
    p.accumulate(mainloop);
    if (IS_PINGPONG && hands_over) fx_named_arrive(2 - consumer, 256);
    typename fx_choose<(ENGINE::SLABS > 0), fx_wgmma_rows<ENGINE, PROBLEM>, fx_nothing>::type rows;
    if constexpr (ENGINE::SLABS > 0) rows.fetch(p, at, part * 64 + warp * 16);
    mainloop.end();
    if constexpr (IS_PINGPONG) ring.skip(skipped);
    if constexpr (!IS_ALONE) {  // the boxes of another problem's tile lay elsewhere
      if (threadIdx.x % 32 == 0) fx_tma_wait<0>();
      fx_warp_barrier();
    }
    if constexpr (fx_reduces<ENGINE>(0)) ENGINE::reduce(p, at, part * 64, acc);
    else if constexpr (fx_reduces_columns<ENGINE>(0)) ENGINE::template chunks<0>(p, maps, at, part * 64, columns, rows, acc, staging);
    else if constexpr (ENGINE::SLABS > 0) fx_wgmma_boxes<0, ENGINE>(p, maps, at, part * 64 + warp * 16, columns, rows, acc, staging);
    else fx_wgmma_epilogue<ENGINE>(p, at, part * 64 + warp * 16, columns, acc, staging);
  }
};

// fx_wgmma_alone: one problem, as a list
template <class ENGINE_, class PROBLEM>
struct fx_wgmma_alone {
  typedef ENGINE_ ENGINE;
  static constexpr bool IS_LAST = true;

  const PROBLEM &p;           // the problem
  const fx_tensor_map *maps;  // of the launch

  static FX_DEVICE constexpr int staging_bytes() { return ENGINE::STAGING_BYTES; }
  FX_DEVICE int columns() const { return (fx_count_columns<ENGINE>(p) - 1) / ENGINE::cluster::COLUMNS + 1; }
  template <class ACTION>
  FX_DEVICE void at_column(ACTION &action, int batch, int row, int column) const {
    typedef typename ENGINE::cluster cluster;
    action.template run<ENGINE>(p, maps, fx_tile{batch, (row * cluster::ROWS + cluster::row()) * ENGINE::BM, (column * cluster::COLUMNS + cluster::column()) * ENGINE::BN});
  }
};

// fx_gemm_wgmma_beside: computes this block's tile and those a whole grid on, of all problems of a list (beside.cuh) and all `batches`; tiles are fewer than 2**31. The engines of a list have one ring
// IS_INNER: phases behind this one need the registers as they lie
template <class LIST, bool IS_INNER = false>
FX_DEVICE void fx_gemm_wgmma_beside(const LIST &list, long long batches) {
  typedef typename LIST::ENGINE ENGINE;
  typedef fx_wgmma_ring<ENGINE> ring;
  constexpr int CONSUMERS = ENGINE::CONSUMERS;
  constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
  constexpr unsigned STAGING_BYTES = LIST::staging_bytes();
  const unsigned stages = fx_shared(fx_smem()), staging = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const ring begin = {stages, staging + CONSUMERS * 4 * STAGING_BYTES, 0, 0};
  typedef typename ENGINE::cluster cluster;  // what follows counts clusters, and tiles as many at a time
  const unsigned first = blockIdx.x / cluster::BLOCKS, step = gridDim.x / cluster::BLOCKS;
  const int rows = (fx_count_rows<ENGINE>(list.p) - 1) / cluster::ROWS + 1, columns = list.columns();
  const unsigned tiles = (unsigned)((long long)rows * columns * batches);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) begin.begin(1, (IS_PINGPONG ? 4 : 4 * CONSUMERS) * cluster::SHARING);
  fx_wgmma_start(list.maps);
  cluster::meet();  // all blocks have their memory barriers

  if (group == 0) {
    if constexpr (!IS_INNER) fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
      fx_wgmma_load_tile<ring> load = {begin};
#pragma unroll 1
      for (unsigned number = first; number < tiles; number += step) {
        const fx_tile at = fx_find_place((int)number, rows, columns);
        list.at_column(load, at.batch, at.m, at.n);
      }
    }
    cluster::meet();  // nobody ends while others send it boxes or give it stages back
    return;
  }

  if constexpr (!IS_INNER) fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1;
  const unsigned turn = IS_PINGPONG ? step : 0;
  fx_wgmma_tile<ring, LIST::IS_LAST> tile = {begin, consumer, staging + (consumer * 4 + threadIdx.x / 32 % 4) * STAGING_BYTES, 0, false};
  fx_wgmma_count_tile blocks = {0};
  if ((LIST::IS_LAST || IS_PINGPONG) && first < tiles) {  // a phase may have no tile
    const fx_tile at = fx_find_place((int)first, rows, columns);
    list.at_column(blocks, at.batch, at.m, at.n);
  }
  if (IS_PINGPONG && consumer == 1) {
    tile.ring.skip(blocks.n);
    if (first < tiles) fx_named_arrive(1, 256);  // the first consumer goes first
  }
#pragma unroll 1
  for (unsigned number = first + consumer * turn; number < tiles; number += step + turn) {
    tile.hands_over = number + step < tiles;
    if (IS_PINGPONG && !LIST::IS_LAST && tile.hands_over) {
      const fx_tile next = fx_find_place((int)(number + step), rows, columns);
      list.at_column(blocks, next.batch, next.m, next.n);
    }
    tile.skipped = blocks.n;
    const fx_tile at = fx_find_place((int)number, rows, columns);
    list.at_column(tile, at.batch, at.m, at.n);
  }
  if ((ENGINE::SLABS > 0 || !LIST::IS_LAST) && threadIdx.x % 32 == 0) fx_tma_wait<0>();
  cluster::meet();
}

// fx_gemm_wgmma: likewise of one problem
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  fx_gemm_wgmma_beside(fx_wgmma_alone<ENGINE, PROBLEM>{p, maps}, batches);
}

// fx_gemm_wgmma_inner: likewise, as a phase of a launch that has others behind it, which have the block's shared memory to themselves
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma_inner(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  typedef fx_wgmma_alone<ENGINE, PROBLEM> list;
  fx_gemm_wgmma_beside<list, true>(list{p, maps}, batches);
  fx_barrier();  // nobody waits at a memory barrier
  const unsigned stages = fx_shared(fx_smem());
  const fx_wgmma_ring<ENGINE> ring = {stages, stages + ENGINE::STAGES * ENGINE::STAGE_BYTES + ENGINE::CONSUMERS * 4 * ENGINE::STAGING_BYTES, 0, 0};
  if (threadIdx.x == 0) ring.end();
}
