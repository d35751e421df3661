/* The hardware of sm_90a, as ptx.cuh is that of all: memory barriers, copies of boxes by the tensor memory accelerator, clusters of blocks, products by warpgroups of 128 threads.
   Both files together are what another implementation replaces. */

// fx_tensor_map: how a tensor lies in global memory and which box of it is copied at a time; the driver encodes it (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col)
struct __align__(64) fx_tensor_map {
  unsigned long long words[16];  // opaque
};

// fx_tensor_maps: those of a launch, an argument of the entry in constant memory
template <int N>
struct fx_tensor_maps {
  fx_tensor_map of[N];  // in the order in which the problem's segments name their operands
};

// fx_mbarrier_init: a memory barrier of 8 bytes of shared memory: a phase ends with so many arrivals and the bytes expected
FX_DEVICE void fx_mbarrier_init(unsigned at, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory"); }

// fx_mbarrier_end: the memory barrier is none any more; nobody waits at it, and its memory is free
FX_DEVICE void fx_mbarrier_end(unsigned at) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_publish: what was initialised is seen by copies and, behind a barrier, by other threads
FX_DEVICE void fx_mbarrier_publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// fx_mbarrier_expect: arrives, and lets the phase wait for so many more bytes of copies
FX_DEVICE void fx_mbarrier_expect(unsigned at, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

// fx_mbarrier_arrive: arrives; what the thread read and wrote before is ahead of what whoever waits does after
FX_DEVICE void fx_mbarrier_arrive(unsigned at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_wait: waits until a phase of that parity has ended: 0 for the first, then 1, in turns; before the first, 1 does not wait
FX_DEVICE void fx_mbarrier_wait(unsigned at, unsigned parity) {
  asm volatile("{ .reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}

// fx_tma_prefetch: asks for a tensor map ahead of its first use
FX_DEVICE void fx_tma_prefetch(const fx_tensor_map *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

// fx_tma_load: starts copying the box at these coordinates, the contiguous axis first, into shared memory, zeros for what lies outside the tensor; the barrier is told of its bytes
// The first coordinate is a multiple of 16 bytes.
template <int RANK>
FX_DEVICE void fx_tma_load(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_LOAD(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2];" ::"r"(to), \
               "l"(map), "r"(barrier), __VA_ARGS__ \
               : "memory")
  if constexpr (RANK == 2) FX_TMA_LOAD("2", "%3, %4", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_LOAD("3", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_LOAD("4", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_LOAD("5", "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_LOAD
}

// fx_bulk_load: starts copying adjacent bytes into shared memory, a multiple of 16, from and to such; the barrier is told of them
FX_DEVICE void fx_bulk_load(unsigned to, const void *from, int bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier) : "memory");
}

// fx_tma_load_cluster: as fx_tma_load, to the same place in shared memory of every block of the cluster whose bit is set, where the memory barrier at the same place is told of the bytes
template <int RANK>
FX_DEVICE void fx_tma_load_cluster(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK], unsigned short blocks) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_LOAD(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" coordinates "}], [%2], %3;" ::"r"(to), \
               "l"(map), "r"(barrier), "h"(blocks), __VA_ARGS__ \
               : "memory")
  if constexpr (RANK == 2) FX_TMA_LOAD("2", "%4, %5", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_LOAD("3", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_LOAD("4", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_LOAD("5", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_LOAD
}

// fx_tma_load_im2col: starts copying a column of pixels by a tensor map in im2col mode: from the pixel at these coordinates on (the channel, the innermost spatial axis first, the image), row by row of the map's
// bounding box and image by image; each is read so far behind its place as the offsets say, zeros for what lies outside the tensor; the barrier is told of the bytes. The channel is a multiple of 16 bytes.
template <int RANK>
FX_DEVICE void fx_tma_load_im2col(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK], const unsigned short (&offset)[RANK - 2]) {
  static_assert(RANK >= 3 && RANK <= 5, "no such tensor map");
#define FX_TMA_LOAD(rank, coordinates, offsets, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2], {" offsets "};" ::"r"(to), \
               "l"(map), "r"(barrier), __VA_ARGS__ \
               : "memory")
  if constexpr (RANK == 3) FX_TMA_LOAD("3", "%3, %4, %5", "%6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "h"(offset[0]));
  if constexpr (RANK == 4) FX_TMA_LOAD("4", "%3, %4, %5, %6", "%7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "h"(offset[0]), "h"(offset[1]));
  if constexpr (RANK == 5)
    FX_TMA_LOAD("5", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "h"(offset[0]), "h"(offset[1]), "h"(offset[2]));
#undef FX_TMA_LOAD
}

// fx_tma_store: starts copying a box from shared memory to these coordinates, the contiguous axis first; what lies outside the tensor is not written
// Of the contiguous axis 16 bytes are written, or none: its extent is a multiple of them.
template <int RANK>
FX_DEVICE void fx_tma_store(const fx_tensor_map *map, unsigned from, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_STORE(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.global.shared::cta.tile.bulk_group [%0, {" coordinates "}], [%1];" ::"l"(map), "r"(from), __VA_ARGS__ : "memory")
  if constexpr (RANK == 2) FX_TMA_STORE("2", "%2, %3", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_STORE("3", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_STORE("4", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_STORE("5", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_STORE
}

// fx_tma_publish: what the thread wrote to shared memory is seen by the boxes that are stored behind a barrier
FX_DEVICE void fx_tma_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// fx_tma_publish_all: what the thread wrote to memory of any kind, and what it sees of others, is ahead of copies that start behind a barrier
FX_DEVICE void fx_tma_publish_all() { asm volatile("fence.proxy.async;" ::: "memory"); }

// fx_tma_commit: closes the thread's group of stored boxes
FX_DEVICE void fx_tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// fx_tma_wait: waits until the boxes of all but the N latest groups have been read: shared memory may be written again, or the block may end
template <int N>
FX_DEVICE void fx_tma_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// fx_named_barrier: waits for so many threads of the block, whole warps, at the barrier of that number, 1 to 15
FX_DEVICE void fx_named_barrier(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

// fx_named_arrive: one of those threads that does not wait
FX_DEVICE void fx_named_arrive(int number, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

// fx_take_registers: the warpgroup, whose threads all call it, has N registers a thread from here on, N a multiple of 8, once others have given some back
template <int N>
FX_DEVICE void fx_take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// fx_give_registers: likewise it has no more than N
template <int N>
FX_DEVICE void fx_give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// fx_reduce_max, fx_reduce_and, fx_reduce_or: the largest of the words of a warp; the bits that all have, that some have; all lanes of the warp take part
FX_DEVICE unsigned fx_reduce_max(unsigned w) { return __reduce_max_sync(0xffffffffu, w); }
FX_DEVICE unsigned fx_reduce_and(unsigned w) { return __reduce_and_sync(0xffffffffu, w); }
FX_DEVICE unsigned fx_reduce_or(unsigned w) { return __reduce_or_sync(0xffffffffu, w); }

// fx_wait_for_kernel: waits until the kernel ahead in the stream has ended and its writes are seen; of one that was not started early there is nothing to wait for
FX_DEVICE void fx_wait_for_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// fx_let_next_start: lets the kernel behind in the stream start, where it may start early: once all blocks have called this or have ended
FX_DEVICE void fx_let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// fx_cluster_rank: which block of its cluster this one is
FX_DEVICE int fx_cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// fx_cluster_blocks: blocks of a cluster, 1 where the launch has none
FX_DEVICE int fx_cluster_blocks() {
  int n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}

// fx_cluster_arrive: arrives at the barrier of all threads of the cluster
FX_DEVICE void fx_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }

// fx_cluster_wait: waits until all threads of the cluster have arrived
FX_DEVICE void fx_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// fx_shared_of: the address, within the cluster, of what lies at this one in the shared memory of block `rank`
FX_DEVICE unsigned fx_shared_of(unsigned at, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at), "r"(rank));
  return address;
}

// fx_send2: starts writing two floats to shared memory of a block of the cluster, whose memory barrier is told of the 8 bytes; both addresses are of fx_shared_of
FX_DEVICE void fx_send2(unsigned to, float x, float y, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to), "f"(x), "f"(y), "r"(barrier) : "memory");
}

// fx_mbarrier_arrive_of: arrives at the memory barrier of a block of the cluster, an address of fx_shared_of; what the thread read before has been read
FX_DEVICE void fx_mbarrier_arrive_of(unsigned at) { asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_wait_sent: as fx_mbarrier_wait, for what blocks of the cluster send
FX_DEVICE void fx_mbarrier_wait_sent(unsigned at, unsigned parity) {
  asm volatile("{ .reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}

// fx_mma_f64: d += a b over 16 x 4 x 8 doubles, which are two words each, the fragments as PTX lays them out for m16n8k4
FX_DEVICE void fx_mma_f64(double *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("{ .reg .f64 a0, a1, b; mov.b64 a0, {%4, %5}; mov.b64 a1, {%6, %7}; mov.b64 b, {%8, %9};\n\t"
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {a0, a1}, {b}, {%0, %1, %2, %3}; }"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// fx_wgmma_begin: before the first product of a batch, so that what was written to registers is seen by it
FX_DEVICE void fx_wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// fx_wgmma_commit: closes the warpgroup's batch of started products
FX_DEVICE void fx_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// fx_wgmma_wait: waits until all but the N latest batches are done: their sums are there, their operands are read
template <int N>
FX_DEVICE void fx_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// fx_wgmma_64: starts d = a b, or d += a b where it adds, over 64 x 64 x 16 elements, bf16 or f16, of the warpgroup whose threads all call it; a and b in shared memory as their descriptors say
// d is of an accumulator fragment as PTX lays it out: thread t has of row 16 (t / 32 % 4) + t % 32 / 4, and of the row 8 below it, elements 8 i + 2 (t % 4) and the next, four numbers for every i.
// TF32: over 8 k of f32 whose low 13 bits are cut off, both with k contiguous.
// A_MN, B_MN: 1 where that operand's m or n is contiguous, not its k. Until it is waited for, d may not be touched. PTX ISA, "wgmma.mma_async".
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_64(float (&d)[32], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %34, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n64k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31" \
               "}, %32, %33, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %35, %36");
  else FX_WGMMA("16", "f16", ", %35, %36");
#undef FX_WGMMA
}

// fx_wgmma_128: starts d = a b, or d += a b where it adds, over 64 x 128 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_128(float (&d)[64], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %66, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n128k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63" \
               "}, %64, %65, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %67, %68");
  else FX_WGMMA("16", "f16", ", %67, %68");
#undef FX_WGMMA
}

// fx_wgmma_192: starts d = a b, or d += a b where it adds, over 64 x 192 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_192(float (&d)[96], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %98, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n192k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
               "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
               "}, %96, %97, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
                 "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), \
                 "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), \
                 "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %99, %100");
  else FX_WGMMA("16", "f16", ", %99, %100");
#undef FX_WGMMA
}

// fx_wgmma_256: starts d = a b, or d += a b where it adds, over 64 x 256 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_256(float (&d)[128], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %130, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n256k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
               "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, " \
               "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
               "}, %128, %129, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
                 "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), \
                 "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), \
                 "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), \
                 "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
                 "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), \
                 "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %131, %132");
  else FX_WGMMA("16", "f16", ", %131, %132");
#undef FX_WGMMA
}

// fx_wgmma_bytes_64: starts d = a b, or d += a b where it adds, over 64 x 64 x 32 elements of 8 bits, both with k contiguous; see fx_wgmma_64
// Floats are summed from f8, integers from such, wrapping. KIND: 1 where a is f8e5m2 and not f8e4m3, u8 and not i8, 2 where b is, 3 where both are. Of floats
// the sum of an instruction keeps but some 13 bits below its largest term.
#define FX_WGMMA(c, sum, a_type, b_type, signs) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %34, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n64k32." sum "." a_type "." b_type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
               "%30, %31" \
               "}, %32, %33, adds" signs "; }" \
               : c(d[0]), c(d[1]), c(d[2]), c(d[3]), c(d[4]), c(d[5]), c(d[6]), c(d[7]), c(d[8]), c(d[9]), c(d[10]), c(d[11]), c(d[12]), c(d[13]), \
                 c(d[14]), c(d[15]), c(d[16]), c(d[17]), c(d[18]), c(d[19]), c(d[20]), c(d[21]), c(d[22]), c(d[23]), c(d[24]), c(d[25]), c(d[26]), \
                 c(d[27]), c(d[28]), c(d[29]), c(d[30]), c(d[31]) \
               : "l"(a), "l"(b), "r"(adds))
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_64(float (&d)[32], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+f", "f32", "e4m3", "e4m3", ", 1, 1");
  if constexpr (KIND == 1) FX_WGMMA("+f", "f32", "e5m2", "e4m3", ", 1, 1");
  if constexpr (KIND == 2) FX_WGMMA("+f", "f32", "e4m3", "e5m2", ", 1, 1");
  if constexpr (KIND == 3) FX_WGMMA("+f", "f32", "e5m2", "e5m2", ", 1, 1");
}
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_64(int (&d)[32], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+r", "s32", "s8", "s8", "");
  if constexpr (KIND == 1) FX_WGMMA("+r", "s32", "u8", "s8", "");
  if constexpr (KIND == 2) FX_WGMMA("+r", "s32", "s8", "u8", "");
  if constexpr (KIND == 3) FX_WGMMA("+r", "s32", "u8", "u8", "");
}
#undef FX_WGMMA

// fx_wgmma_bytes_128: starts d = a b, or d += a b where it adds, over 64 x 128 x 32 elements of 8 bits; see fx_wgmma_bytes_64
#define FX_WGMMA(c, sum, a_type, b_type, signs) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %66, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n128k32." sum "." a_type "." b_type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
               "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
               "%58, %59, %60, %61, %62, %63" \
               "}, %64, %65, adds" signs "; }" \
               : c(d[0]), c(d[1]), c(d[2]), c(d[3]), c(d[4]), c(d[5]), c(d[6]), c(d[7]), c(d[8]), c(d[9]), c(d[10]), c(d[11]), c(d[12]), c(d[13]), \
                 c(d[14]), c(d[15]), c(d[16]), c(d[17]), c(d[18]), c(d[19]), c(d[20]), c(d[21]), c(d[22]), c(d[23]), c(d[24]), c(d[25]), c(d[26]), \
                 c(d[27]), c(d[28]), c(d[29]), c(d[30]), c(d[31]), c(d[32]), c(d[33]), c(d[34]), c(d[35]), c(d[36]), c(d[37]), c(d[38]), c(d[39]), \
                 c(d[40]), c(d[41]), c(d[42]), c(d[43]), c(d[44]), c(d[45]), c(d[46]), c(d[47]), c(d[48]), c(d[49]), c(d[50]), c(d[51]), c(d[52]), \
                 c(d[53]), c(d[54]), c(d[55]), c(d[56]), c(d[57]), c(d[58]), c(d[59]), c(d[60]), c(d[61]), c(d[62]), c(d[63]) \
               : "l"(a), "l"(b), "r"(adds))
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_128(float (&d)[64], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+f", "f32", "e4m3", "e4m3", ", 1, 1");
  if constexpr (KIND == 1) FX_WGMMA("+f", "f32", "e5m2", "e4m3", ", 1, 1");
  if constexpr (KIND == 2) FX_WGMMA("+f", "f32", "e4m3", "e5m2", ", 1, 1");
  if constexpr (KIND == 3) FX_WGMMA("+f", "f32", "e5m2", "e5m2", ", 1, 1");
}
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_128(int (&d)[64], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+r", "s32", "s8", "s8", "");
  if constexpr (KIND == 1) FX_WGMMA("+r", "s32", "u8", "s8", "");
  if constexpr (KIND == 2) FX_WGMMA("+r", "s32", "s8", "u8", "");
  if constexpr (KIND == 3) FX_WGMMA("+r", "s32", "u8", "u8", "");
}
#undef FX_WGMMA

// fx_wgmma_bytes_192: starts d = a b, or d += a b where it adds, over 64 x 192 x 32 elements of 8 bits; see fx_wgmma_bytes_64
#define FX_WGMMA(c, sum, a_type, b_type, signs) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %98, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n192k32." sum "." a_type "." b_type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
               "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
               "%58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
               "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
               "}, %96, %97, adds" signs "; }" \
               : c(d[0]), c(d[1]), c(d[2]), c(d[3]), c(d[4]), c(d[5]), c(d[6]), c(d[7]), c(d[8]), c(d[9]), c(d[10]), c(d[11]), c(d[12]), c(d[13]), \
                 c(d[14]), c(d[15]), c(d[16]), c(d[17]), c(d[18]), c(d[19]), c(d[20]), c(d[21]), c(d[22]), c(d[23]), c(d[24]), c(d[25]), c(d[26]), \
                 c(d[27]), c(d[28]), c(d[29]), c(d[30]), c(d[31]), c(d[32]), c(d[33]), c(d[34]), c(d[35]), c(d[36]), c(d[37]), c(d[38]), c(d[39]), \
                 c(d[40]), c(d[41]), c(d[42]), c(d[43]), c(d[44]), c(d[45]), c(d[46]), c(d[47]), c(d[48]), c(d[49]), c(d[50]), c(d[51]), c(d[52]), \
                 c(d[53]), c(d[54]), c(d[55]), c(d[56]), c(d[57]), c(d[58]), c(d[59]), c(d[60]), c(d[61]), c(d[62]), c(d[63]), c(d[64]), c(d[65]), \
                 c(d[66]), c(d[67]), c(d[68]), c(d[69]), c(d[70]), c(d[71]), c(d[72]), c(d[73]), c(d[74]), c(d[75]), c(d[76]), c(d[77]), c(d[78]), \
                 c(d[79]), c(d[80]), c(d[81]), c(d[82]), c(d[83]), c(d[84]), c(d[85]), c(d[86]), c(d[87]), c(d[88]), c(d[89]), c(d[90]), c(d[91]), \
                 c(d[92]), c(d[93]), c(d[94]), c(d[95]) \
               : "l"(a), "l"(b), "r"(adds))
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_192(float (&d)[96], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+f", "f32", "e4m3", "e4m3", ", 1, 1");
  if constexpr (KIND == 1) FX_WGMMA("+f", "f32", "e5m2", "e4m3", ", 1, 1");
  if constexpr (KIND == 2) FX_WGMMA("+f", "f32", "e4m3", "e5m2", ", 1, 1");
  if constexpr (KIND == 3) FX_WGMMA("+f", "f32", "e5m2", "e5m2", ", 1, 1");
}
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_192(int (&d)[96], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+r", "s32", "s8", "s8", "");
  if constexpr (KIND == 1) FX_WGMMA("+r", "s32", "u8", "s8", "");
  if constexpr (KIND == 2) FX_WGMMA("+r", "s32", "s8", "u8", "");
  if constexpr (KIND == 3) FX_WGMMA("+r", "s32", "u8", "u8", "");
}
#undef FX_WGMMA

// fx_wgmma_bytes_256: starts d = a b, or d += a b where it adds, over 64 x 256 x 32 elements of 8 bits; see fx_wgmma_bytes_64
#define FX_WGMMA(c, sum, a_type, b_type, signs) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %130, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n256k32." sum "." a_type "." b_type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, " \
               "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
               "%58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
               "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
               "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
               "}, %128, %129, adds" signs "; }" \
               : c(d[0]), c(d[1]), c(d[2]), c(d[3]), c(d[4]), c(d[5]), c(d[6]), c(d[7]), c(d[8]), c(d[9]), c(d[10]), c(d[11]), c(d[12]), c(d[13]), \
                 c(d[14]), c(d[15]), c(d[16]), c(d[17]), c(d[18]), c(d[19]), c(d[20]), c(d[21]), c(d[22]), c(d[23]), c(d[24]), c(d[25]), c(d[26]), \
                 c(d[27]), c(d[28]), c(d[29]), c(d[30]), c(d[31]), c(d[32]), c(d[33]), c(d[34]), c(d[35]), c(d[36]), c(d[37]), c(d[38]), c(d[39]), \
                 c(d[40]), c(d[41]), c(d[42]), c(d[43]), c(d[44]), c(d[45]), c(d[46]), c(d[47]), c(d[48]), c(d[49]), c(d[50]), c(d[51]), c(d[52]), \
                 c(d[53]), c(d[54]), c(d[55]), c(d[56]), c(d[57]), c(d[58]), c(d[59]), c(d[60]), c(d[61]), c(d[62]), c(d[63]), c(d[64]), c(d[65]), \
                 c(d[66]), c(d[67]), c(d[68]), c(d[69]), c(d[70]), c(d[71]), c(d[72]), c(d[73]), c(d[74]), c(d[75]), c(d[76]), c(d[77]), c(d[78]), \
                 c(d[79]), c(d[80]), c(d[81]), c(d[82]), c(d[83]), c(d[84]), c(d[85]), c(d[86]), c(d[87]), c(d[88]), c(d[89]), c(d[90]), c(d[91]), \
                 c(d[92]), c(d[93]), c(d[94]), c(d[95]), c(d[96]), c(d[97]), c(d[98]), c(d[99]), c(d[100]), c(d[101]), c(d[102]), c(d[103]), c(d[104]), \
                 c(d[105]), c(d[106]), c(d[107]), c(d[108]), c(d[109]), c(d[110]), c(d[111]), c(d[112]), c(d[113]), c(d[114]), c(d[115]), c(d[116]), \
                 c(d[117]), c(d[118]), c(d[119]), c(d[120]), c(d[121]), c(d[122]), c(d[123]), c(d[124]), c(d[125]), c(d[126]), c(d[127]) \
               : "l"(a), "l"(b), "r"(adds))
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_256(float (&d)[128], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+f", "f32", "e4m3", "e4m3", ", 1, 1");
  if constexpr (KIND == 1) FX_WGMMA("+f", "f32", "e5m2", "e4m3", ", 1, 1");
  if constexpr (KIND == 2) FX_WGMMA("+f", "f32", "e4m3", "e5m2", ", 1, 1");
  if constexpr (KIND == 3) FX_WGMMA("+f", "f32", "e5m2", "e5m2", ", 1, 1");
}
template <int KIND>
FX_DEVICE void fx_wgmma_bytes_256(int (&d)[128], unsigned long long a, unsigned long long b, int adds) {
  if constexpr (KIND == 0) FX_WGMMA("+r", "s32", "s8", "s8", "");
  if constexpr (KIND == 1) FX_WGMMA("+r", "s32", "u8", "s8", "");
  if constexpr (KIND == 2) FX_WGMMA("+r", "s32", "s8", "u8", "");
  if constexpr (KIND == 3) FX_WGMMA("+r", "s32", "u8", "u8", "");
}
#undef FX_WGMMA

// fx_wgmma_held_64: as fx_wgmma_64, with a in registers of the warpgroup: thread t has of row 16 (t / 32 % 4) + t % 32 / 4 elements 2 (t % 4) and the next, the same of the row 8 below, and of both
// those 8 further along k. Until it is waited for, a may not be changed either.
template <bool BF16, int B_MN>
FX_DEVICE void fx_wgmma_held_64(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int adds) {
#define FX_WGMMA(type) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %37, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
               "%27, %28, %29, %30, %31" \
               "}, {%32, %33, %34, %35}, %36, adds, 1, 1, %38; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(B_MN))
  if constexpr (BF16) FX_WGMMA("bf16");
  else FX_WGMMA("f16");
#undef FX_WGMMA
}

// fx_wgmma_held_128: starts d = a b, or d += a b where it adds, over 64 x 128 x 16 elements of a warpgroup, a in registers; see fx_wgmma_held_64
template <bool BF16, int B_MN>
FX_DEVICE void fx_wgmma_held_128(float (&d)[64], const unsigned (&a)[4], unsigned long long b, int adds) {
#define FX_WGMMA(type) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %69, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
               "%27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
               "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
               "}, {%64, %65, %66, %67}, %68, adds, 1, 1, %70; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(B_MN))
  if constexpr (BF16) FX_WGMMA("bf16");
  else FX_WGMMA("f16");
#undef FX_WGMMA
}

// fx_wgmma_held_256: starts d = a b, or d += a b where it adds, over 64 x 256 x 16 elements of a warpgroup, a in registers; see fx_wgmma_held_64
template <bool BF16, int B_MN>
FX_DEVICE void fx_wgmma_held_256(float (&d)[128], const unsigned (&a)[4], unsigned long long b, int adds) {
#define FX_WGMMA(type) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %133, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
               "%27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
               "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, " \
               "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, " \
               "%101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, " \
               "%122, %123, %124, %125, %126, %127" \
               "}, {%128, %129, %130, %131}, %132, adds, 1, 1, %134; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
                 "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), \
                 "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), \
                 "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), \
                 "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
                 "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), \
                 "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(B_MN))
  if constexpr (BF16) FX_WGMMA("bf16");
  else FX_WGMMA("f16");
#undef FX_WGMMA
}
