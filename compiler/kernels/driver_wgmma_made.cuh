/* The contraction driver of sm_90a where consumers make one operand: a problem as for driver_wgmma.cuh, of one segment of 16-bit floats. One operand is copied; the other is computed of one
   tensor, which has k contiguous and comes by a tensor map as it lies, of what is the same for all k or for so many of it, and of what is the same for all its rows. A consumer reads elements of 16 k from shared
   memory two steps ahead, makes 16-bit floats of them in registers, and starts the products of the step, whose first factor these registers are, while those of the step before run.
   The made operand may be A or B; in the latter case the consumers compute the turned tile, rows for columns. Consumers stand side by side, each has 64 rows.
   There are two rings: a stage of the copied operand has 64 k, one of the made operand 128 bytes of k.
   Grid: any number of blocks of ENGINE::THREADS threads. Dynamic shared memory: ENGINE::SHARED_BYTES.
   Invariant: as in driver_wgmma.cuh; a row of the made operand is a multiple of 16 bytes and of 8 elements. */

// fx_wgmma_made: 128 rows of the made operand, whose elements have SIZE bytes, 0: fields of 4 bits in words, by COLUMNS_::N of the copied one; IS_TURNED: the made one is B; otherwise as fx_wgmma
template <class T_, class COLUMNS_, bool IS_TURNED_, int SIZE_, int MADE_STAGES_, int STAGES_, int CHUNK_, int SLABS_, bool ALIGNED_>
struct fx_wgmma_made {
  typedef T_ T;
  typedef float sum;
  typedef COLUMNS_ columns;
  static constexpr bool IS_TURNED = IS_TURNED_, ALIGNED = ALIGNED_, HAS_ROOM = true;
  static constexpr int CONSUMERS = 2, THREADS = 128 * (1 + CONSUMERS), ROWS = 64 * CONSUMERS, COLUMNS = COLUMNS_::N;
  static constexpr int SUMS = 1, BESIDE = 1, PARTS = 1, BK = 64, BM = IS_TURNED ? COLUMNS : ROWS, BN = IS_TURNED ? ROWS : COLUMNS;
  static constexpr int SIZE = SIZE_, MADE_STAGES = MADE_STAGES_, STAGES = STAGES_, CHUNK = CHUNK_, SLABS = SLABS_;
  static constexpr int MADE_K = SIZE ? 128 / (SIZE ? SIZE : 1) : 256, TURNS = MADE_K > BK ? MADE_K / BK : 1;  // k of a stage of the made operand, and blocks that read it in turn
  static constexpr int MADE_BYTES = ROWS * 128, STAGE_BYTES = COLUMNS * BK * 2, PITCH = CHUNK * 4 + 32, SLAB_BYTES = 16 * 128;
  static constexpr int TURNED_PITCH = 16 * 4 + 16;  // bytes of a staged column of a warp's 16 rows
  static constexpr int STAGING_BYTES = SLABS ? SLABS * SLAB_BYTES : IS_TURNED ? CHUNK * TURNED_PITCH : 16 * PITCH;
  static constexpr int STAGING_AT = MADE_STAGES * MADE_BYTES + STAGES * STAGE_BYTES, BARRIERS_AT = STAGING_AT + CONSUMERS * 4 * STAGING_BYTES;
  static constexpr int SHARED_BYTES = BARRIERS_AT + 2 * (MADE_STAGES + STAGES) * 8;
  static constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
  static_assert((SIZE == 0 || SIZE == 1 || SIZE == 2 || SIZE == 4) && CHUNK % 8 == 0 && COLUMNS % CHUNK == 0 && !(IS_TURNED && SLABS), "no such tile");

  // Of 4 bytes eight rows of pairs would meet in half of the banks: every other row stands in the lower half of the eight.
  static FX_DEVICE constexpr int sum_row(int lane) { return SIZE == 4 ? lane / 4 % 4 * 2 + lane / 16 : lane / 4; }
};

// fx_made_run: for how many k values of a made operand are the same; 0: for all
template <class OPERAND> FX_DEVICE constexpr auto fx_made_run(int) -> decltype(OPERAND::RUN) { return OPERAND::RUN; }
template <class OPERAND> FX_DEVICE constexpr int fx_made_run(long) { return 0; }

// fx_made_sides: which operand of a segment is made, and which is copied
template <bool IS_TURNED, class SEGMENT>
struct fx_made_sides {
  typedef typename SEGMENT::a made;
  typedef typename SEGMENT::template b<0> copied;
};
template <class SEGMENT>
struct fx_made_sides<true, SEGMENT> {
  typedef typename SEGMENT::template b<0> made;
  typedef typename SEGMENT::a copied;
};

// fx_made_sums: those that a thread of a consumer has of a turned tile
template <class ENGINE>
struct fx_made_sums {
  float of[1][1][ENGINE::COLUMNS / 2];
};

// fx_made_producer: the mainloop as the producer runs it
template <class ENGINE, class MADE, class RING>
struct fx_made_producer {
  static constexpr bool TAKES_MAPS = true;

  MADE &made;
  RING &ring;
  const fx_tile &at;          // the tile
  const fx_tensor_map *maps;  // of A, then of B

  template <class OPERAND>
  FX_DEVICE const fx_tensor_map *tail() const {
    if constexpr (fx_has_tail<OPERAND>(0)) return maps + OPERAND::TAIL;
    else return nullptr;
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    typedef fx_made_sides<ENGINE::IS_TURNED, SEGMENT> sides;
    const int k_end = SEGMENT::k(p), row = ENGINE::IS_TURNED ? at.n : at.m, column = ENGINE::IS_TURNED ? at.m : at.n;
    const int rows = (ENGINE::IS_TURNED ? p.n() : p.m()) - row, columns = (ENGINE::IS_TURNED ? p.m() : p.n()) - column;
#pragma unroll 1
    for (int k = 0; k < k_end; k += ENGINE::BK) {
#pragma unroll
      for (int i = 0; i < ENGINE::BK; i += ENGINE::MADE_K) {
        if (ENGINE::TURNS > 1 && k % ENGINE::MADE_K) continue;  // came with a block before
        fx_mbarrier_wait(made.empty(), made.parity ^ 1);
        fx_mbarrier_expect(made.full(), fx_wgmma_bytes<ENGINE::ROWS, typename sides::made>(rows));
        fx_wgmma_load<ENGINE::ROWS, typename sides::made>(p, maps + ENGINE::IS_TURNED, nullptr, made.address(), made.full(), 0, at.batch, 0, row, rows, ENGINE::SIZE ? k + i : k / 8);
        made.next();
      }
      fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
      fx_mbarrier_expect(ring.full(), fx_wgmma_bytes<ENGINE::COLUMNS, typename sides::copied>(columns));
      fx_wgmma_load<ENGINE::COLUMNS, typename sides::copied>(p, maps + !ENGINE::IS_TURNED, tail<typename sides::copied>(), ring.address(), ring.full(), 0, at.batch, 0, column, columns, k);
      ring.next();
    }
  }
  FX_DEVICE void next_segment() {}
};

// fx_made_consumer: the mainloop as a consumer runs it
template <class ENGINE, class MADE, class RING>
struct fx_made_consumer {
  static constexpr bool TAKES_MAPS = true;
  static constexpr int SIZE = ENGINE::SIZE, WORDS = SIZE == 4 ? 2 : 1, V = SIZE == 0 ? 8 : SIZE == 1 ? 4 : 2;  // V: elements that are made at a time, of bytes those of a step; fields of a word, two of which are
  static constexpr int POSITIONS = ENGINE::MADE_K / 16;                                                        // steps of a stage of the made operand

  float (&acc)[ENGINE::COLUMNS / 2];  // the sums
  MADE &made;                         // where it is read
  RING &ring;
  const fx_tile &at;  // the tile
  int row;            // the thread's first in the tile; the other one is 8 below

  typedef unsigned words[2][2][WORDS];  // of either row, of either half of 16 k

  // Elements of step `position` of the stage: two adjacent ones of every half; of bytes the four around them, of fields the eight.
  FX_DEVICE void read(words &w, int position) const {
    if constexpr (SIZE == 0) {
      const unsigned at = made.address() + row * 128 + ((position / 2 ^ row % 8) << 4) + position % 2 * 8;
#pragma unroll
      for (int below = 0; below < 2; ++below) {
        unsigned both[2];
        fx_shared_get<2>(both, at + below * 8 * 128);
        w[below][0][0] = both[0], w[below][1][0] = both[1];
      }
    } else {
      const int byte = threadIdx.x % 4 * 2 * SIZE;  // of a half's, the thread's
      const unsigned at = made.address() + row * 128 + byte % 16 / 4 * 4 + (position * 16 * SIZE ^ (row % 8 ^ byte / 16) << 4);
#pragma unroll
      for (int below = 0; below < 2; ++below) {
#pragma unroll
        for (int half = 0; half < 2; ++half) fx_shared_get<WORDS>(w[below][half], (at ^ half * 8 * SIZE) + below * 8 * 128);
      }
    }
  }
  // Likewise of the next block but one; waits where a stage begins.
  FX_DEVICE void read_next(words &w, int position) const {
    if (position == 0) fx_mbarrier_wait(made.full(), made.parity);
    read(w, position);
  }
  template <class OPERAND, class PROBLEM, class RAW, class HELD, class CONTEXT>
  static FX_DEVICE void make_one(const PROBLEM &p, unsigned (&a)[V / 2], const RAW &raw, const HELD &held, const CONTEXT &context, int batch, int mn, int k) {
    if constexpr (fx_makes_halves<OPERAND>(0)) {
      OPERAND::template make_halves<V, true>(p, a, raw, held, context, 0, batch, mn, 0, k);
    } else {
      float x[V];
      OPERAND::template make<V, true>(p, x, raw, held, context, batch, mn, 0, k);
      fx_pack<V>(a, x, (typename ENGINE::T *)nullptr);
    }
  }
  // The first factor of a step's products, beyond the last k zeros.
  template <class OPERAND, class PROBLEM, class RAW, class CONTEXT>
  FX_DEVICE void make(const PROBLEM &p, unsigned (&a)[4], const words &w, const RAW (&raw)[2], const CONTEXT (&context)[2], int first, int k, int k_end) const {
    typename OPERAND::template held<V, true> held;
    const int lane = threadIdx.x % 32;
    const bool is_whole = k_end % ENGINE::BK == 0;
#pragma unroll
    for (int below = 0; below < 2; ++below) {
      const int mn = first + row + below * 8;
      if constexpr (SIZE == 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unsigned made_[1];
          RAW of = raw[below];
          OPERAND::template set_fields<V, true>(of, w[below][half][0]);
          OPERAND::template make_halves<V, true>(p, made_, of, held, context[half], lane % 4, at.batch, mn, 0, k + half * 8);
          a[half * 2 + below] = is_whole || k + half * 8 < k_end ? made_[0] : 0;
        }
      } else if constexpr (SIZE == 1) {
        unsigned made_[2];
        const unsigned both = fx_permute(w[below][0][0], w[below][1][0], lane % 2 ? 0x7632 : 0x5410);
        memcpy(&held, &both, 4);
        make_one<OPERAND>(p, made_, raw[below], held, context[0], at.batch, mn, k);
#pragma unroll
        for (int half = 0; half < 2; ++half) a[half * 2 + below] = is_whole || k < k_end ? made_[half] : 0;
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unsigned made_[1];
          memcpy(&held, w[below][half], WORDS * 4);
          make_one<OPERAND>(p, made_, raw[below], held, context[half], at.batch, mn, k + half * 8 + lane % 4 * 2);
          a[half * 2 + below] = is_whole || k + half * 8 < k_end ? made_[0] : 0;
        }
      }
    }
  }
  template <class OPERAND, class PROBLEM, class CONTEXT>
  FX_DEVICE void read_context(const PROBLEM &p, CONTEXT (&context)[2], int k, int k_end) const {
    if constexpr (!__is_empty(CONTEXT)) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int of = k + half * 8 + threadIdx.x % 4 * 2;
        OPERAND::template fetch_context<V, true>(p, context[half], at.batch, 0, 0, of, k_end - of);
      }
    }
  }
  // What is the same for a run of k, of either row.
  template <class OPERAND, class PROBLEM, class RAW>
  FX_DEVICE void read_values(const PROBLEM &p, RAW (&r)[2], int first, int end, int k, int k_end) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int mn = first + row + i * 8;
      OPERAND::template fetch_values<V, true>(p, r[i], at.batch, mn, 0, k, mn < end && k < k_end ? V : 0);
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    typedef fx_made_sides<ENGINE::IS_TURNED, SEGMENT> sides;
    typedef typename sides::made operand;
    typedef fx_wgmma_operand<sides::copied::LAYOUT> copied;
    typedef typename operand::template raw<V, true> raw;
    typedef typename operand::template context<V, true> context;
    const int k_end = SEGMENT::k(p), blocks = (k_end + (ENGINE::BK - 1)) / ENGINE::BK, first = ENGINE::IS_TURNED ? at.n : at.m, end = ENGINE::IS_TURNED ? p.n() : p.m();
    constexpr int RUN = fx_made_run<operand>(0);
    static_assert(RUN % ENGINE::BK == 0, "values change within a block of k");
    raw fixed[2], later[2];  // of either row; of the run of k behind this one
    if constexpr (RUN > 0) {
      read_values<operand>(p, fixed, first, end, 0, k_end);
      read_values<operand>(p, later, first, end, RUN, k_end);
    } else if constexpr (!__is_empty(raw)) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int mn = first + row + i * 8;
        operand::template fetch<V, true>(p, fixed[i], at.batch, mn, 0, 0, mn < end ? V : 0);
      }
    }
    MADE used = made;  // whose stages are given back
    words w[2];
    context shared[2][2];
    int before = -1;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      read_next(w[step], step);
      read_context<operand>(p, shared[step], step * 16, k_end);
      if ((step + 1) % POSITIONS == 0) made.next();
    }
    unsigned a[2][4];  // of two steps, kept over blocks: a product may still read one while the other is made
    int block = 0;
#pragma unroll 1
    do {  // k is at least 1: the sums have one way to the end
      const unsigned long long b = copied::at(ring.address());
      if constexpr (RUN > 0) {
        if (block && block * ENGINE::BK % RUN == 0) {
          fixed[0] = later[0], fixed[1] = later[1];
          read_values<operand>(p, later, first, end, block * ENGINE::BK + RUN, k_end);
        }
      }
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        make<operand>(p, a[step % 2], w[step % 2], fixed, shared[step % 2], first, block * 64 + step * 16, k_end);
        if (ENGINE::TURNS > 1 ? step == 3 && ((block + 1) % ENGINE::TURNS == 0 || block + 1 == blocks) : (step + 1) % POSITIONS == 0) {
          fx_warp_barrier();  // every lane has what it read
          if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(used.empty());
          used.next();
        }
        if (step < 2 || block + 1 < blocks) {
          const int next = (step + 2) % 4, of = ENGINE::TURNS > 1 ? (block + (step >= 2)) % ENGINE::TURNS * 4 + next : next % POSITIONS;
          read_next(w[step % 2], of);
          read_context<operand>(p, shared[step % 2], block * 64 + (step + 2) * 16, k_end);
          if (of == POSITIONS - 1) made.next();
        }
        if (step == 0) fx_mbarrier_wait(ring.full(), ring.parity);
        fx_wgmma_begin();
        ENGINE::columns::template multiply<fx_is_bf16<typename ENGINE::T>::VALUE, sides::copied::LAYOUT == FX_MN_MAJOR>(acc, a[step % 2], b + step * (copied::STEP >> 4), 1);
        fx_wgmma_commit();
        fx_wgmma_wait<1>();
        if (step == 0 && before >= 0 && threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty(before));
      }
      before = ring.stage;
      ring.next();
    } while (++block < blocks);
    if (ENGINE::TURNS > 1 && blocks % ENGINE::TURNS) made.next();
    fx_wgmma_wait<0>();
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(ring.empty(before));
  }
  FX_DEVICE void next_segment() {}
};

// fx_made_epilogue: hands a consumer's turned sums to the problem, V adjacent rows of a column at a time, which are columns of the result; each warp stages CHUNK columns of its 16 rows after others
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_made_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, const float (&acc)[ENGINE::COLUMNS / 2], unsigned staging) {
  constexpr int V = ENGINE::ALIGNED ? PROBLEM::V : 1, CHUNK = ENGINE::CHUNK, ACROSS = 16 / V, STEP = 32 / ACROSS, STEPS = CHUNK / STEP;
  static_assert(V <= 16 && CHUNK % STEP == 0, "a warp does not cover whole columns of a chunk");
  const int lane = threadIdx.x % 32, n = at.n + first_row + lane % ACROSS * V, n_valid = p.n() - n < V ? p.n() - n : V;
  const unsigned put = staging + lane % 4 * 2 * ENGINE::TURNED_PITCH + ENGINE::sum_row(lane) * 4, get = staging + lane / ACROSS * ENGINE::TURNED_PITCH + lane % ACROSS * V * 4;
  typename PROBLEM::template columns<V> columns;
  if (n_valid > 0) fx_fetch_columns<V, ENGINE::ALIGNED>(p, columns, at.batch, n, n_valid);
#pragma unroll
  for (int chunk = 0; chunk < ENGINE::COLUMNS / CHUNK; ++chunk) {
    int m = at.m + chunk * CHUNK + lane / ACROSS;
    fx_hide(m);  // addresses are computed for each chunk, not kept beside the sums
    const int rows = n_valid > 0 ? p.m() - m : 0;
    fx_warp_barrier();  // every lane has read the columns staged before
#pragma unroll
    for (int i = 0; i < CHUNK / 8; ++i) {
#pragma unroll
      for (int v = 0; v < 4; ++v) fx_shared_put<1>(put + (i * 8 + v % 2) * ENGINE::TURNED_PITCH + v / 2 * 32, &acc[(chunk * (CHUNK / 8) + i) * 4 + v]);
    }
    fx_warp_barrier();  // the columns are staged
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      if (s * STEP >= rows) continue;
      float x[1][V];
      typename PROBLEM::template frag<V> read;
      fx_shared_get<V>(x[0], get + s * STEP * ENGINE::TURNED_PITCH);
      fx_fetch<V, ENGINE::ALIGNED>(p, read, at.batch, m + s * STEP, n, n_valid);
      p.template store<V, ENGINE::ALIGNED>(x, columns, read, at.batch, m + s * STEP, n, n_valid);
    }
  }
}

// fx_gemm_wgmma_made: computes this block's tile and those a whole grid on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma_made(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  typedef fx_ring<ENGINE::MADE_STAGES, ENGINE::MADE_BYTES> ring_of_made;
  typedef fx_ring<ENGINE::STAGES, ENGINE::STAGE_BYTES> ring_of_copied;
  const unsigned stages = fx_shared(fx_smem()), copied = stages + ENGINE::MADE_STAGES * ENGINE::MADE_BYTES, staging = stages + ENGINE::STAGING_AT, barriers = stages + ENGINE::BARRIERS_AT;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int group = threadIdx.x / 128;
  ring_of_made made = {stages, barriers, 0, 0};
  ring_of_copied ring = {copied, barriers + 2 * ENGINE::MADE_STAGES * 8, 0, 0};
  if (threadIdx.x == 0) {
    made.begin(1, 4 * ENGINE::CONSUMERS);
    ring.begin(1, 4 * ENGINE::CONSUMERS);
  }
  fx_wgmma_start(maps);

  if (group == 0) {
    fx_wgmma_produce<ENGINE, fx_made_producer<ENGINE, ring_of_made, ring_of_copied>>(p, maps, tiles, made, ring);
    return;
  }

  fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1, warp = threadIdx.x / 32 % 4, first_row = consumer * 64 + warp * 16;
  const unsigned own = staging + (consumer * 4 + warp) * ENGINE::STAGING_BYTES;
#pragma unroll 1
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_columns<ENGINE, PROBLEM> columns;
    if (!ENGINE::IS_TURNED) columns.fetch(p, at.batch, at.n);
    typename fx_choose<(ENGINE::SLABS > 0), fx_wgmma_rows<ENGINE, PROBLEM>, fx_nothing>::type rows;
    if constexpr (ENGINE::SLABS > 0) rows.fetch(p, at, first_row);
    typename fx_choose<ENGINE::IS_TURNED, fx_made_sums<ENGINE>, fx_wgmma_sums<ENGINE>>::type acc;
#pragma unroll
    for (int i = 0; i < ENGINE::COLUMNS / 2; ++i) acc.of[0][0][i] = 0;
    fx_made_consumer<ENGINE, ring_of_made, ring_of_copied> mainloop = {acc.of[0][0], made, ring, at, first_row + ENGINE::sum_row(threadIdx.x % 32)};
    p.accumulate(mainloop);
    if constexpr (ENGINE::IS_TURNED) fx_made_epilogue<ENGINE>(p, at, first_row, acc.of[0][0], own);
    else if constexpr (ENGINE::SLABS > 0) fx_wgmma_boxes<0, ENGINE>(p, maps, at, first_row, columns, rows, acc, own);
    else fx_wgmma_epilogue<ENGINE>(p, at, first_row, columns, acc, own);
  }
  if (ENGINE::SLABS > 0 && threadIdx.x % 32 == 0) fx_tma_wait<0>();
}
