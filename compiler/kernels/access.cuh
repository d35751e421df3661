/* Elements of tensors: the 16-bit types, their conversion to and from float, and reading and writing V adjacent (or strided) elements as floats.
   ALIGNED accesses touch whole aligned vectors and ignore n_valid; the others touch the first n_valid elements and nothing else, as vectors where they can. */

// FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED: how an operand of a contraction is stored: k contiguous, m or n contiguous, or neither
enum { FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED };

// FX_KNOWN: extents of an entry which whoever compiles it for a launch has set to numbers; by itself it does nothing
#ifndef FX_KNOWN
#define FX_KNOWN(...)
#endif

// fx_bf16: a bfloat16 as stored
struct fx_bf16 {
  unsigned short bits;  // sign, 8 bits of exponent, 7 of mantissa
};

// fx_is_bf16: whether a type is bf16
template <class T> struct fx_is_bf16 { static constexpr bool VALUE = false; };
template <> struct fx_is_bf16<fx_bf16> { static constexpr bool VALUE = true; };

// fx_f16: an IEEE half as stored
struct fx_f16 {
  unsigned short bits;  // sign, 5 bits of exponent, 10 of mantissa
};

// fx_to_float: the value of an element
FX_DEVICE float fx_to_float(float x) { return x; }
FX_DEVICE float fx_to_float(fx_bf16 x) { return fx_from_bits((unsigned)x.bits << 16); }
FX_DEVICE float fx_to_float(fx_f16 x) { return fx_f16_to_f32(x.bits); }

// fx_from_float: the element of type T nearest to x, ties to even
template <class T> FX_DEVICE T fx_from_float(float x);
template <> FX_DEVICE float fx_from_float<float>(float x) { return x; }
template <> FX_DEVICE fx_bf16 fx_from_float<fx_bf16>(float x) { return fx_bf16{fx_f32_to_bf16(x)}; }
template <> FX_DEVICE fx_f16 fx_from_float<fx_f16>(float x) { return fx_f16{fx_f32_to_f16(x)}; }

// fx_unpack: the floats that V elements of the pointer's type, stored in words, stand for
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V], const float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = fx_from_bits(w[v]);
}
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V / 2], const fx_bf16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) x[v] = fx_from_bits(w[v / 2] << 16), x[v + 1] = fx_from_bits(w[v / 2] & 0xffff0000u);
}
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V / 2], const fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) x[v] = fx_f16_to_f32((unsigned short)w[v / 2]), x[v + 1] = fx_f16_to_f32((unsigned short)(w[v / 2] >> 16));
}

// fx_pack: the words that V floats become when stored as elements of the pointer's type
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V], const float (&x)[V], float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) w[v] = fx_bits(x[v]);
}
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V / 2], const float (&x)[V], fx_bf16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) w[v / 2] = fx_pack_bf16(x[v], x[v + 1]);
}
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V / 2], const float (&x)[V], fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) w[v / 2] = fx_pack_f16(x[v], x[v + 1]);
}

// fx_load_one: one element
template <class T>
FX_DEVICE float fx_load_one(const T *p) {
  return fx_to_float(*p);
}

// fx_store_one: one element, rounded to nearest even
template <class T>
FX_DEVICE void fx_store_one(T *p, float x) {
  *p = fx_from_float<T>(x);
}

// fx_load_strided: V elements a stride apart, zeros from n_valid on
template <int V, class T>
FX_DEVICE void fx_load_strided(float (&x)[V], const T *p, long long stride, int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = v < n_valid ? fx_load_one(p + v * stride) : 0.0f;
}

// fx_store_strided: the first n_valid of V elements, a stride apart
template <int V, class T>
FX_DEVICE void fx_store_strided(T *p, long long stride, const float (&x)[V], int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (v < n_valid) fx_store_one(p + v * stride, x[v]);
}

// fx_part: W of V elements, from number `at` on
template <int W, class T, int V>
FX_DEVICE T (&fx_part(T (&x)[V], int at))[W] {
  return *(T(*)[W])(x + at);
}

// fx_is_aligned: whether V elements at p may be accessed as vectors
template <int V, class T>
FX_DEVICE bool fx_is_aligned(const T *p) {
  constexpr int BYTES = V * (int)sizeof(T) < 16 ? V * (int)sizeof(T) : 16;
  return (unsigned long long)p % BYTES == 0;
}

// fx_skew: how many elements p lies past a multiple of V of them
template <int V, class T>
FX_DEVICE int fx_skew(const T *p) {
  return (int)((unsigned long long)p / sizeof(T) % V);
}

// fx_load: V adjacent elements, zeros from n_valid on
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_load(float (&x)[V], const T *p, int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_load_words(w, p);
      fx_unpack<V>(x, w, p);
      return;
    }
  }
  fx_load_strided(x, p, 1, ALIGNED ? V : n_valid);
}

// fx_fill: V elements of one value
template <int V>
FX_DEVICE void fx_fill(float (&x)[V], float value) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = value;
}

// fx_store: V adjacent elements, the first n_valid of them where not aligned
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_store(T *p, const float (&x)[V], int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_pack<V>(w, x, p);
      fx_store_words(p, w);
      return;
    }
  }
  fx_store_strided(p, 1, x, ALIGNED ? V : n_valid);
}

// fx_to_memory: where store leaves what it has computed of tensor number I: in memory
struct fx_to_memory {
  template <int I, int V, bool ALIGNED, class T>
  static FX_DEVICE void put(T *p, const float (&x)[V], int n_valid) {
    fx_store<V, ALIGNED>(p, x, n_valid);
  }
};

// fx_chunk: V adjacent elements on their way, as they lie in memory: in words where ALIGNED, which stay packed until get() takes them apart
template <int V, bool ALIGNED, class T>
struct fx_chunk {
  static constexpr int BYTES = V * (int)sizeof(T), EACH = ((int)sizeof(T) + 3) / 4;
  static constexpr bool IS_PACKED = ALIGNED && BYTES % 4 == 0;
  unsigned w[IS_PACKED ? BYTES / 4 : V * EACH];  // the bytes; else every element in words of its own

  // Zeros from n_valid on; ALIGNED: all or, where n_valid is not positive, none.
  FX_DEVICE void load(const T *p, int n_valid) {
#pragma unroll
    for (int i = 0; i < (int)(sizeof w / sizeof *w); ++i) w[i] = 0;
    if constexpr (IS_PACKED && V > 8 && BYTES % 16 == 0) {  // longer than chunks of tiles are: nobody else reads it
      if (n_valid > 0) fx_load_once(w, p);
    } else if constexpr (IS_PACKED) {
      if (n_valid > 0) fx_load_words(w, p);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (v < n_valid) memcpy(&w[v * EACH], p + v, sizeof(T));
    }
  }
  FX_DEVICE void get(T (&x)[V]) const {
    if constexpr (IS_PACKED) {
      memcpy(x, w, sizeof x);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) memcpy(&x[v], &w[v * EACH], sizeof(T));
    }
  }
};

// fx_staged: V elements that lie side by side on their way through shared memory, as they are, in pieces of 16 bytes at most
// A thread copies one piece of them, and may do so for another; the one whose they are reads them all. They lie by thread, as they did in memory, so that a line is copied
// at once; within 128 bytes pieces are permuted so that eight threads read theirs from different banks.
template <int V, class T, int THREADS>
struct fx_staged {
  static constexpr int BYTES = V * (int)sizeof(T), PIECES = BYTES > 16 ? BYTES / 16 : 1, EACH = BYTES / PIECES;
  unsigned slot;          // of the thread's elements
  int turn, piece;        // what numbers of pieces are permuted by; which to copy
  unsigned w[BYTES / 4];  // what was read

  // In shared memory from there on, as elements of that thread; returns where those of all threads end.
  FX_DEVICE unsigned place(unsigned at, int thread, int a_piece) {
    slot = at + thread * BYTES;
    turn = thread / (8 / PIECES) % PIECES;
    piece = a_piece;
    return at + THREADS * BYTES;
  }
  // All elements, or zeros where n_valid is not positive.
  FX_DEVICE void load(const T *p, int n_valid) const {
    const unsigned to = slot + (piece ^ turn) * EACH;
    const char *from = (const char *)p + piece * EACH;
    if (piece >= PIECES) return;
    if constexpr (EACH == 16) fx_cp_async16(to, from, n_valid > 0);
    else if constexpr (EACH == 8) fx_cp_async8(to, from, n_valid > 0);
    else fx_cp_async4(to, from, n_valid > 0);
  }
  FX_DEVICE void read() {
#pragma unroll
    for (int i = 0; i < PIECES; ++i) fx_shared_get<EACH / 4>(&w[i * (EACH / 4)], slot + (i ^ turn) * EACH);
  }
  FX_DEVICE void get(T (&x)[V]) const { memcpy(x, w, sizeof x); }
};

// fx_elements: V values on their way, each by itself
template <int V, class T>
struct fx_elements {
  T x[V];  // the values

  FX_DEVICE void get(T (&to)[V]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) to[v] = x[v];
  }
};

// fx_nothing: stands for what a problem reads, adds up or knows of a row where there is nothing of the kind
struct fx_nothing {};

// fx_choose: the first of two types, or the second
template <bool FIRST, class A, class B> struct fx_choose { typedef A type; };
template <class A, class B> struct fx_choose<false, A, B> { typedef B type; };

// fx_strip: of one row of EXTENT elements those at FACTOR * v + LEAST to FACTOR * v + MOST for V adjacent v, and what stands outside of it
// They are loaded in whole vectors, which lie at multiples of V, each inside or outside: where ALIGNED the row begins at one, and is a multiple of V long.
template <int FACTOR, int LEAST, int MOST, int V>
struct fx_strip {
  static constexpr int FIRST = LEAST - (LEAST % V + V) % V, N = ((FACTOR * (V - 1) + MOST - FIRST) / V + 1) * V;
  float x[N];  // from FIRST on

  template <bool ALIGNED, class T, class INDEX>
  FX_DEVICE void load(const T *row, INDEX col, INDEX extent, bool is_inside, float outside) {
    typedef typename fx_choose<sizeof(INDEX) == 4, unsigned, unsigned long long>::type positive;
#pragma unroll
    for (int i = 0; i < N; i += V) {
      const positive at = (positive)FACTOR * (positive)col + (positive)(FIRST + i);
      if constexpr (ALIGNED) {
        if (is_inside && at < (positive)extent) fx_load<V, true>(fx_part<V>(x, i), row + at, V);
        else fx_fill<V>(fx_part<V>(x, i), outside);
      } else {
#pragma unroll
        for (int v = i; v < i + V; ++v) {
          if (v < LEAST - FIRST || v > FACTOR * (V - 1) + MOST - FIRST) continue;
          const positive one = at + (positive)(v - i);
          x[v] = is_inside && one < (positive)extent ? fx_load_one(row + one) : outside;
        }
      }
    }
  }
  FX_DEVICE float get(int i) const { return x[i - FIRST]; }
};

// fx_words: a value as words, to be passed between threads
template <class T>
struct fx_words {
  static constexpr int N = ((int)sizeof(T) + 3) / 4;
  unsigned w[N];
  FX_DEVICE static fx_words of(const T &x) {
    fx_words r;
    r.w[N - 1] = 0;
    memcpy(r.w, &x, sizeof x);
    return r;
  }
  FX_DEVICE T get() const {
    T x;
    memcpy(&x, w, sizeof x);
    return x;
  }
  template <class F>
  FX_DEVICE T each(F f) const {  // what f makes of every word
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = f(w[k]);
    return r.get();
  }
  FX_DEVICE void put(unsigned *slots, int n, int i) const {  // as set i of n
#pragma unroll
    for (int k = 0; k < N; ++k) slots[k * n + i] = w[k];
  }
  FX_DEVICE static T from(const unsigned *slots, int n, int i) {
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = slots[k * n + i];
    return r.get();
  }
};

// fx_from_lane_xor: what the lane whose number differs by the bits of mask holds
template <class T>
FX_DEVICE T fx_from_lane_xor(const T &x, int mask) {
  return fx_words<T>::of(x).each([=](unsigned w) { return fx_shuffle_xor(w, mask); });
}

// fx_from_lane_below: what the lane `delta` below holds; a lane with none below gets its own
template <class T>
FX_DEVICE T fx_from_lane_below(const T &x, int delta) {
  return fx_words<T>::of(x).each([=](unsigned w) { return fx_shuffle_up(w, delta); });
}
