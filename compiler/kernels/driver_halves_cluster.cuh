/* The contraction driver of sm_90a for f32 stored as two f16, for few tiles and a long k: a cluster of blocks computes a tile, each a slice of its blocks of k.
   The ring, the slots, the producer and the consumers are those of driver_halves.cuh, what warps send each other and the epilogue those of driver_wgmma_cluster.cuh.
   Grid: any number of clusters of 1, 2, 4 or 8 blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: as of driver_halves.cuh; slices are added up as f32 are, in the order of ranks. The order of additions depends on the extents and the size of a cluster alone. A block may have no
   block of k. */

// fx_wgmma_halves_cluster: as fx_wgmma_halves; in the place of staged sums each warp has room for what it is sent
template <class SPLIT>
struct fx_wgmma_halves_cluster : fx_wgmma_halves<SPLIT> {
  typedef fx_wgmma_halves<SPLIT> halves;
  static constexpr int WARPS = 4 * SPLIT::CONSUMERS, GROUPS = SPLIT::BN / 8, GROUPS_SHIFT = GROUPS == 8 ? 3 : 4, GROUP_BYTES = 16 * 32 + 32;  // as of fx_wgmma_cluster
  static constexpr int SENT_BYTES = SPLIT::SUMS * GROUPS * 16 * 32, ROOM_BYTES = SPLIT::SUMS * GROUPS * GROUP_BYTES;
  static constexpr int SHARED_BYTES = SPLIT::STAGES * SPLIT::STAGE_BYTES + WARPS * ROOM_BYTES + (2 * SPLIT::STAGES + 2 * WARPS) * 8 + halves::SLOTS * halves::SLOT_BYTES;
  static constexpr int PRODUCER_REGISTERS = 56, CONSUMER_REGISTERS = 224;
  static_assert(SPLIT::BM == 128 && GROUPS == 1 << GROUPS_SHIFT, "no such tile");
};

// fx_gemm_halves_cluster: computes this cluster's tile and those a whole grid of clusters on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_halves_cluster(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  constexpr int SUMS = PROBLEM::SUMS;
  const unsigned stages = fx_shared(fx_smem()), rooms = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const unsigned barriers = rooms + ENGINE::WARPS * ENGINE::ROOM_BYTES, of_warps = barriers + 2 * ENGINE::STAGES * 8;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int rank = fx_cluster_rank(), blocks = fx_cluster_blocks();
  const unsigned first_tile = blockIdx.x / blocks, step = gridDim.x / blocks;  // of clusters
  fx_wgmma_ring<ENGINE> ring = {stages, barriers, 0, 0};
  fx_halves_slots<ENGINE> slots = {of_warps + ENGINE::WARPS * 16, 0};
  if (threadIdx.x == 0) {
    ring.begin(1, ENGINE::WARPS);
    for (int w = 0; w < ENGINE::WARPS; ++w) {
      fx_mbarrier_init(of_warps + w * 16, 1);
      fx_mbarrier_init(of_warps + w * 16 + 8, blocks);
    }
  }
  fx_wgmma_start(maps);
  if (blocks > 1) fx_cluster_arrive();  // the memory barriers are there for the other blocks, too, once waited for
  if (threadIdx.x < 128) {
    fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (unsigned number = first_tile; number < tiles; number += step) {
        const fx_tile at = fx_nth_tile<ENGINE>(p, number);
        fx_wgmma_sliced<fx_halves_producer<ENGINE>> producer({ring, slots, at, maps}, fx_wgmma_share<ENGINE>(p, rank, blocks));
        p.accumulate(producer);
      }
    }
    if (blocks > 1) fx_cluster_wait();
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = threadIdx.x / 128 - 1;
  unsigned parity = 0;
  if (consumer == 1) fx_named_arrive(1, 256);  // the first consumer goes first
#pragma unroll 1
  for (unsigned number = first_tile; number < tiles; number += step) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_sums<ENGINE> acc;
    float first[SUMS][ENGINE::BN / 2], rest[SUMS][ENGINE::BN / 2];
#pragma unroll
    for (int i = 0; i < SUMS * ENGINE::BN / 2; ++i) acc.of[i / (ENGINE::BN / 2)][0][i % (ENGINE::BN / 2)] = 0;
    fx_wgmma_sliced<fx_halves_consumer<ENGINE, SUMS>> mainloop({acc, first, rest, ring, slots, consumer, at}, fx_wgmma_share<ENGINE>(p, rank, blocks));
    p.accumulate(mainloop);
    int warp = threadIdx.x / 32 - 4, n_blocks = blocks;
    fx_hide(warp), fx_hide(n_blocks);   // else what follows is kept in registers throughout the mainloop
    const int first_row = warp * 16;    // of a tile
    if (first_row >= p.m()) continue;   // in every tile: no row of the only ones that there are
    const unsigned received = of_warps + warp * 16;
    const int share_shift = ENGINE::GROUPS_SHIFT - (n_blocks > 1) - (n_blocks > 2) - (n_blocks > 4);
    const fx_wgmma_room<ENGINE, SUMS> room = {rooms + warp * ENGINE::ROOM_BYTES, received, received + 8, n_blocks, 1 << share_shift, share_shift};
    if (blocks > 1) {
      if (number == first_tile) fx_cluster_wait();   // all blocks have their memory barriers
      else fx_mbarrier_wait(room.free, parity ^ 1);  // all blocks have read what this warp sent them
      if (threadIdx.x % 32 == 0) fx_mbarrier_expect(room.received, ENGINE::SENT_BYTES / blocks * (blocks - 1));
    }
    room.send(acc, rank);
    if (blocks > 1) fx_mbarrier_wait_sent(room.received, parity);
    fx_warp_barrier();  // what the warp keeps is there, too
    fx_wgmma_cluster_epilogue<ENGINE, SUMS>(p, at, first_row, rank << (share_shift + 3), room);
    fx_warp_barrier();  // all lanes have read what was sent
    if (blocks > 1 && number + step < tiles && threadIdx.x % 32 < blocks) fx_mbarrier_arrive_of(fx_shared_of(room.free, threadIdx.x % 32));
    parity ^= 1;
  }
  if (consumer == 0) fx_named_barrier(1, 256);  // takes what the other one arrived with last
  if (blocks > 1 && ((int)threadIdx.x / 32 * 16 - 64 >= p.m() || first_tile >= tiles)) fx_cluster_wait();
}
