/* The contraction driver of sm_90a for f32 that splits its operands on the way, for few tiles: a cluster of blocks computes a tile, each a slice of its blocks of k.
   The rings, the producer, the converter and the consumers are those of driver_parts.cuh, what warps send each other and the epilogue those of driver_wgmma_cluster.cuh.
   Grid: any number of clusters of 1, 2, 4 or 8 blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: as of driver_parts.cuh; slices are added up as f32 are, in the order of ranks. The order of additions depends on the extents and the size of a cluster alone. A block may have no
   block of k. */

// fx_wgmma_parts_cluster: as fx_wgmma_parts, of one sum; in the place of staged sums each warp has room for what it is sent
template <class WHOLE>
struct fx_wgmma_parts_cluster : WHOLE {
  static constexpr int WARPS = 4 * WHOLE::CONSUMERS, GROUPS = WHOLE::BN / 8, GROUPS_SHIFT = GROUPS == 8 ? 3 : 4, GROUP_BYTES = 16 * 32 + 32;  // as of fx_wgmma_cluster
  static constexpr int SENT_BYTES = GROUPS * 16 * 32, ROOM_BYTES = GROUPS * GROUP_BYTES;
  static constexpr int BARRIERS_AT = WHOLE::STAGING_AT + WARPS * ROOM_BYTES;
  static constexpr int SHARED_BYTES = BARRIERS_AT + 2 * (WHOLE::A_STAGES + WHOLE::B_STAGES + WHOLE::PLANES + WARPS) * 8;
  static constexpr int PRODUCER_REGISTERS = 32, CONVERTER_REGISTERS = 64, CONSUMER_REGISTERS = 208;
  static_assert(WHOLE::SUMS == 1 && GROUPS == 1 << GROUPS_SHIFT, "no such tile");
};

// fx_parts_turns: the tiles of a cluster, found anew by each role: kept for all of them they would be spilled
struct fx_parts_turns {
  unsigned first, step;

  FX_DEVICE fx_parts_turns(int blocks) {
    fx_hide(blocks);
    const int shift = (blocks > 1) + (blocks > 2) + (blocks > 4);
    first = blockIdx.x >> shift, step = gridDim.x >> shift;
  }
};

// fx_gemm_parts_cluster: computes this cluster's tile and those a whole grid of clusters on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_parts_cluster(const PROBLEM &problem, const fx_tensor_map *maps, long long batches) {
  typedef fx_split_problem<PROBLEM> amended;
  typedef fx_parts_rings<ENGINE> rings;
  const amended p = {problem};
  const unsigned memory = fx_shared(fx_smem()), of_warps = memory + ENGINE::BARRIERS_AT + rings::BARRIERS * 8;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128, rank = fx_cluster_rank(), blocks = fx_cluster_blocks();
  rings of(memory);
  if (threadIdx.x == 0) {
    of.begin();
    for (int w = 0; w < ENGINE::WARPS; ++w) {
      fx_mbarrier_init(of_warps + w * 16, 1);
      fx_mbarrier_init(of_warps + w * 16 + 8, blocks);
    }
  }
  fx_wgmma_start(maps);
  if (blocks > 1) fx_cluster_arrive();  // the memory barriers are there for the other blocks, too, once waited for
  if (group == 0) {
    fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
      const fx_parts_turns turns(blocks);
#pragma unroll 1
      for (unsigned number = turns.first; number < tiles; number += turns.step) {
        const fx_tile at = fx_nth_tile<ENGINE>(p, number);
        fx_wgmma_sliced<fx_parts_producer<ENGINE>> producer({of.a, of.b, at, maps}, fx_wgmma_share<ENGINE>(p, rank, blocks));
        p.accumulate(producer);
      }
    }
    if (blocks > 1) fx_cluster_wait();
    return;
  }
  if (group == 1) {
    fx_give_registers<ENGINE::CONVERTER_REGISTERS>();
    const fx_parts_turns turns(blocks);
#pragma unroll 1
    for (unsigned number = turns.first; number < tiles; number += turns.step) {
      fx_wgmma_sliced<fx_parts_converter<ENGINE>> converter({of.b, of.planes}, fx_wgmma_share<ENGINE>(p, rank, blocks));
      p.accumulate(converter);
    }
    if (blocks > 1) fx_cluster_wait();
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 2;
  const fx_parts_turns turns(blocks);
  unsigned parity = 0;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = turns.first; number < tiles; number += turns.step) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_sums<ENGINE> acc;
    float total[ENGINE::N / 2];
#pragma unroll
    for (int i = 0; i < ENGINE::N / 2; ++i) acc.of[0][0][i] = 0;
    fx_wgmma_sliced<fx_parts_consumer<ENGINE>> mainloop({acc, total, of.a, of.planes, consumer}, fx_wgmma_share<ENGINE>(p, rank, blocks));
    p.accumulate(mainloop);
    if (!fx_wgmma_join<ENGINE>(p, at, acc, (int)threadIdx.x / 32 - 8, {memory + ENGINE::STAGING_AT, of_warps, blocks, rank}, parity, number == turns.first, number + turns.step >= tiles)) continue;
    parity ^= 1;
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
  if (blocks > 1 && ((int)threadIdx.x / 32 * 16 - 128 >= p.m() || turns.first >= tiles)) fx_cluster_wait();
}
