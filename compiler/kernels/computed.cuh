/* Operands of the gemm driver that are computed on their way to shared memory, chunk by chunk, beside the products. What a chunk reads and what becomes of it the problem says
   (docs/kernels.md, "Operands"); an engine says how its elements are stored there.
   Invariant: past the last k zeros are stored, whatever was read; what waits in shared memory is read by nobody before it has arrived. */

// fx_gemm_block: a k-block of a segment
struct fx_gemm_block {
  int ko;  // index over the outer k axes
  int k;   // first k
};

// fx_staging: an engine before which what computed operands read side by side comes to shared memory as it lies, not to registers
template <class ENGINE> struct fx_staging : ENGINE { static constexpr bool IS_STAGING = true; };

// fx_makes_halves: whether two 16-bit floats of a computed operand are made at a time
template <class OPERAND> FX_DEVICE constexpr auto fx_makes_halves(int) -> decltype(OPERAND::MAKES_HALVES, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_makes_halves(long) { return false; }

// fx_computed_held, fx_computed_context: what of an operand waits in shared memory, for so many threads; else nothing
template <bool IS_USED, class OPERAND, int V, int THREADS> struct fx_computed_held { typedef fx_nothing type; };
template <class OPERAND, int V, int THREADS> struct fx_computed_held<true, OPERAND, V, THREADS> {
  typedef typename OPERAND::template staged<V, THREADS> type;
};
template <bool IS_USED, class OPERAND, int V, int THREADS> struct fx_computed_context { typedef fx_nothing type; };
template <class OPERAND, int V, int THREADS> struct fx_computed_context<true, OPERAND, V, THREADS> {
  typedef typename OPERAND::template staged_context<V, THREADS> type;
};

// fx_gemm_computed: an operand that is computed: what a chunk reads is fetched ahead, and the chunk stored where the engine's copies would put it
// The chunks of a block go by slices, one a step of the mainloop. A slice is stored AHEAD steps after it was fetched, while registers hold AHEAD slices: a whole
// block of them, or half of one where its chunks read more than 64 bytes. What is the same for every row of chunks is the context: read once a tile where chunks
// run along m or n, else once a block; for every chunk where a thread's do not lie in line. Values that are the same for all k are read, and what follows from them is
// computed, once a tile. In fx_staging, what is read side by side is copied asynchronously STAGES - 1 blocks before it is stored, so is the context of a block, once for
// all threads, and values that are the same for all k wait in shared memory, not in registers. Lanes of a warp copy pieces for each other, so that an instruction
// copies what lies together.
template <class ENGINE, class ENGINE_OPERAND, class PROBLEM, class SEGMENT, class OPERAND, bool ALIGNED>
struct fx_gemm_computed : ENGINE_OPERAND {
  static constexpr int V = ENGINE_OPERAND::CHUNK, COPIES = ENGINE_OPERAND::COPIES, STEPS = ENGINE::STEPS, THREADS = ENGINE::THREADS;
  static constexpr int TURNS = ENGINE::STAGES - 1, ABREAST = ENGINE_OPERAND::ABREAST;
  typedef typename OPERAND::template raw<V, ALIGNED> raw;
  typedef typename OPERAND::template held<V, ALIGNED> held;
  typedef typename OPERAND::template context<V, ALIGNED> context;
  static constexpr bool IS_STAGING = ALIGNED && ENGINE::IS_STAGING, IS_HELD_STAGED = IS_STAGING && !__is_empty(held), IS_RAW_FIXED = OPERAND::IS_FIXED && !__is_empty(raw);
  static constexpr bool IS_RAW_KEPT = IS_RAW_FIXED && IS_STAGING;  // in shared memory
  static constexpr bool IS_CONTEXT_STAGED = IS_STAGING && !ENGINE_OPERAND::ALONG_MN && ABREAST == 1 && !__is_empty(context);
  static constexpr int CHUNK_BYTES = IS_HELD_STAGED ? THREADS * (int)sizeof(held) : 0;                                   // of all threads for chunk c
  static constexpr int SLOT_BYTES = COPIES * CHUNK_BYTES + (IS_CONTEXT_STAGED ? ENGINE::BK / V * (int)sizeof(context) : 0);  // for a block
  static constexpr int SLICE = (COPIES + STEPS - 1) / STEPS;
  static constexpr int RAW_BYTES = (__is_empty(raw) || IS_RAW_FIXED ? 0 : (int)sizeof(raw)) + (__is_empty(held) || IS_HELD_STAGED ? 0 : (int)sizeof(held));  // of registers a chunk
  static constexpr int AHEAD = RAW_BYTES * COPIES <= 64 ? STEPS : STEPS / 2;
  static constexpr bool IS_COPIED = false, IS_COMPUTED = true, IS_READY_EARLY = sizeof(held) <= 16;  // more takes too many registers over products
  typedef typename fx_computed_held<IS_HELD_STAGED, OPERAND, V, THREADS>::type staged;
  typedef typename fx_computed_context<IS_CONTEXT_STAGED, OPERAND, V, ENGINE::BK / V>::type staged_context;

  const PROBLEM &p;           // the problem
  const int batch;            // index over the batch axes
  const int tile_mn, mn_end;  // first m or n of the tile, and how many there are
  int k_end;                  // how many k there are
  fx_gemm_block current, following;  // the block whose slices are stored in this turn of the mainloop, and the one after it
  fx_gemm_block copied;       // the block whose slices are copied in this turn
  unsigned slots, slot;       // of all blocks, of the one that is stored
  raw values[IS_RAW_FIXED && !IS_RAW_KEPT ? COPIES / ABREAST : AHEAD * SLICE];  // what the slices on their way read, unless it waits in shared memory; where it is the same for all k, that of all chunks
  held pieces[AHEAD * SLICE];
  staged ready[SLICE];        // what the slice that is stored read, from there
  typename fx_choose<IS_CONTEXT_STAGED, staged_context, context>::type shared;  // what is the same for all chunks that are stored

  FX_DEVICE fx_gemm_computed(const PROBLEM &problem, int, int a_batch, int a_tile_mn, int a_mn_end, int warp_mn)
      : ENGINE_OPERAND(0, 0, a_tile_mn, a_mn_end, warp_mn), p(problem), batch(a_batch), tile_mn(a_tile_mn), mn_end(a_mn_end) {}

  FX_DEVICE fx_gemm_block after(fx_gemm_block b) const {
    b.k += ENGINE::BK;
    if (b.k >= k_end && b.ko + 1 < SEGMENT::k_outer(p)) b.k = 0, ++b.ko;
    return b;
  }
  // For chunk c and all that lie like it.
  FX_DEVICE void read_context(int c) {
    if constexpr (IS_CONTEXT_STAGED) {
      shared.place(slot + COPIES * CHUNK_BYTES, ENGINE_OPERAND::chunk_k(c) / V, 0);
      shared.read();
    } else if constexpr (!__is_empty(context)) {
      const int mn = tile_mn + ENGINE_OPERAND::chunk_mn(c), k = current.k + ENGINE_OPERAND::chunk_k(c);
      OPERAND::template fetch_context<V, ALIGNED>(p, shared, batch, mn, current.ko, k, ENGINE_OPERAND::ALONG_MN ? mn_end - mn : k_end - k);
    }
  }
  FX_DEVICE void advance_copies() {
    copied = after(copied);
    slot = slot + SLOT_BYTES == slots + TURNS * SLOT_BYTES ? slots : slot + SLOT_BYTES;
  }
  FX_DEVICE void advance() {
    current = following;
    following = after(following);
    if (SLOT_BYTES) advance_copies();
  }

  static FX_DEVICE constexpr int value_of(int slice, int i) { return IS_RAW_FIXED && !IS_RAW_KEPT ? (slice * SLICE + i) / ABREAST : slice % AHEAD * SLICE + i; }

  // How many elements of a chunk exist.
  FX_DEVICE int valid(int mn, int k) const { return mn >= mn_end || k >= k_end ? 0 : ENGINE_OPERAND::ALONG_MN ? mn_end - mn : k_end - k; }
  FX_DEVICE void load(int slice, const fx_gemm_block &from) {
#pragma unroll
    for (int i = 0; i < SLICE; ++i) {
      const int c = slice * SLICE + i;
      if (c >= COPIES) break;
      int mn = tile_mn + ENGINE_OPERAND::chunk_mn(c), k = from.k + ENGINE_OPERAND::chunk_k(c);
      fx_hide(mn);
      if constexpr (!IS_RAW_FIXED && !__is_empty(raw))
        OPERAND::template fetch<V, ALIGNED>(p, values[value_of(slice, i)], batch, mn, from.ko, k, valid(mn, k));
      if constexpr (!IS_HELD_STAGED && !__is_empty(held))
        OPERAND::template fetch_held<V, ALIGNED>(p, pieces[slice % AHEAD * SLICE + i], batch, mn, from.ko, k,
                                                 valid(mn, k));
    }
  }
  // Chunk c of a later block, into what has been read.
  FX_DEVICE void copy(int c) {
    if constexpr (IS_HELD_STAGED) {
      constexpr int PIECES = staged::PIECES;
      if (PIECES > 1) fx_warp_barrier();  // other lanes have read what this one copies there
#pragma unroll
      for (int i = 0; i < PIECES; ++i) {
        const int lane = threadIdx.x % 32, thread = PIECES > 1 ? threadIdx.x - lane + (i * 32 + lane) / PIECES : threadIdx.x;
        int mn = tile_mn + ENGINE_OPERAND::chunk_mn(c, thread), k = copied.k + ENGINE_OPERAND::chunk_k(c, thread);
        fx_hide(mn);
        staged h;
        h.place(slot + c * CHUNK_BYTES, thread, lane % PIECES);
        OPERAND::template fetch_held<V, ALIGNED>(p, h, batch, mn, copied.ko, k, valid(mn, k));
      }
    }
  }
  // And its context, by the threads that have the first row of chunks; everyone has read what lay there.
  FX_DEVICE void copy_context() {
    if constexpr (IS_CONTEXT_STAGED) {
      const int k = ENGINE_OPERAND::chunk_k(0);
#pragma unroll
      for (int i = 0; i < staged_context::PIECES; ++i) {
        staged_context h;
        h.place(slot + COPIES * CHUNK_BYTES, k / V, i);
        if (ENGINE_OPERAND::chunk_mn(0) == 0) OPERAND::template fetch_context<V, ALIGNED>(p, h, batch, tile_mn, copied.ko, copied.k + k, k_end - copied.k - k);
      }
    }
  }
  // The values of chunk c that are the same for all k, in registers or in shared memory throughout the tile.
  FX_DEVICE void fetch_fixed(raw &r, int c) {
    const int mn = tile_mn + ENGINE_OPERAND::chunk_mn(c), k = ENGINE_OPERAND::chunk_k(c);
    OPERAND::template fetch<V, ALIGNED>(p, r, batch, mn, 0, k, valid(mn, k));
  }
  FX_DEVICE void hold_raw() {
    if constexpr (IS_RAW_FIXED && !IS_RAW_KEPT) {
#pragma unroll
      for (int c = 0; c < COPIES; c += ABREAST) fetch_fixed(values[c / ABREAST], c);
    }
  }
  FX_DEVICE unsigned *kept_raw() const { return (unsigned *)(fx_smem() + (slots - fx_shared(fx_smem()) + TURNS * SLOT_BYTES)); }
  FX_DEVICE void keep_raw() {
    if constexpr (IS_RAW_KEPT) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) {
        raw r;
        fetch_fixed(r, c);
        fx_words<raw>::of(r).put(kept_raw(), COPIES * THREADS, c * THREADS + threadIdx.x);
      }
    }
  }
  // Ahead of storing: what waits in shared memory.
  FX_DEVICE void ready_slice(int slice) {
#pragma unroll
    for (int i = 0; i < SLICE; ++i) {
      const int c = slice * SLICE + i;
      if (c >= COPIES) break;
      if constexpr (IS_HELD_STAGED) {
        ready[i].place(slot + c * CHUNK_BYTES, threadIdx.x, 0);
        ready[i].read();
      }
      if constexpr (IS_RAW_KEPT) values[value_of(slice, i)] = fx_words<raw>::from(kept_raw(), COPIES * THREADS, c * THREADS + threadIdx.x);
    }
  }
  // What chunk i of a slice read side by side.
  template <bool IS_STAGED>
  FX_DEVICE const auto &held_of(int slice, int i) const {
    if constexpr (IS_STAGED) return ready[i];
    else return pieces[slice % AHEAD * SLICE + i];
  }
  FX_DEVICE void store(int slice, unsigned stage) {
#pragma unroll
    for (int i = 0; i < SLICE; ++i) {
      const int c = slice * SLICE + i;
      if (c >= COPIES) break;
      int mn = tile_mn + ENGINE_OPERAND::chunk_mn(c), k = current.k + ENGINE_OPERAND::chunk_k(c);
      fx_hide(mn);
      const int n_valid = valid(mn, k);
      if (ABREAST > 1) read_context(c);
      const raw &r = values[value_of(slice, i)];
      const auto &h = held_of<IS_HELD_STAGED>(slice, i);
      // Past the last k zeros add nothing, whatever they are multiplied by; no branch, so that this runs between products.
      if constexpr (ALIGNED && fx_makes_halves<OPERAND>(0)) {
        unsigned w[V / 2];
        OPERAND::template make_halves<V, ALIGNED>(p, w, r, h, shared, 0, batch, mn, current.ko, k);
        ENGINE_OPERAND::put_words(stage + ENGINE_OPERAND::chunk_slot(c), w, k < k_end);
      } else {
        typename OPERAND::value x[V];
        OPERAND::template make<V, ALIGNED>(p, x, r, h, shared, batch, mn, current.ko, k);
#pragma unroll
        for (int v = 0; v < V && !ALIGNED; ++v)
          if (v >= n_valid) x[v] = 0;
        ENGINE_OPERAND::put_chunk(stage + ENGINE_OPERAND::chunk_slot(c), x, k < k_end);
      }
      copy(c);
    }
  }

  // Shared memory from there on is for what waits there; returns where that ends. The first blocks are on their way.
  FX_DEVICE unsigned place(unsigned at) {
    slots = slot = at;
    copied = current;
#pragma unroll 1
    for (int block = 0; SLOT_BYTES && block < TURNS; ++block) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) copy(c);
      copy_context();
      advance_copies();
    }
    keep_raw();
    return at + TURNS * SLOT_BYTES + (IS_RAW_KEPT ? COPIES * THREADS * 4 * fx_words<raw>::N : 0);
  }
  // The blocks before the mainloop, one at a time, when what they read has arrived; then what is on its way when it begins.
  FX_DEVICE void start() {
    k_end = SEGMENT::k(p);
    current = fx_gemm_block{0, 0};
    following = after(current);
    hold_raw();
    if (ENGINE_OPERAND::ALONG_MN) read_context(0);
  }
  FX_DEVICE void fill(unsigned stage) {
    if (!ENGINE_OPERAND::ALONG_MN) read_context(0);
#pragma unroll
    for (int slice = 0; slice < STEPS; ++slice) {
      load(slice, current);
      ready_slice(slice);
      store(slice, stage);
    }
    if (IS_CONTEXT_STAGED) fx_barrier();  // everyone has read the context that the next one replaces
    copy_context();
    advance();
  }
  FX_DEVICE void begin() {
    if (!ENGINE_OPERAND::ALONG_MN) read_context(0);
#pragma unroll
    for (int slice = STEPS - AHEAD; slice < STEPS; ++slice) load(slice, current);
  }
  // A step of the mainloop: what a slice read is brought from shared memory ahead of the products; then it is stored, and its registers take the one that is stored AHEAD steps on.
  FX_DEVICE void ready_step(int step) {
    if (IS_READY_EARLY) ready_slice((step + STEPS - AHEAD) % STEPS);
  }
  FX_DEVICE void work(int step, unsigned stage) {
    if (!IS_READY_EARLY) ready_slice((step + STEPS - AHEAD) % STEPS);
    store((step + STEPS - AHEAD) % STEPS, stage);
    load(step, step >= STEPS - AHEAD ? following : current);
    if (step < STEPS - 1) return;
    copy_context();  // everyone has read this one before the barrier of this step
    advance();
    if (!ENGINE_OPERAND::ALONG_MN) read_context(0);
  }
};
