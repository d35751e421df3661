/* What a problem of rows and the row driver both name: passes and running sums by number, elements as they are held, steps of a recurrence,
   which of two extremes comes first, in how many parts rows are cut. */

// fx_pass: names the reductions of pass P
template <int P> struct fx_pass {};

// fx_scan: names running sum I
template <int I> struct fx_scan {};

// fx_row_parts: in how many parts each of few rows is cut: so many that there are about BLOCKS blocks of so many ROWS, at most MOST; given by the rows alone
template <int MOST, int BLOCKS, int ROWS>
FX_DEVICE int fx_row_parts(long long rows) {
  const long long blocks = (rows + (ROWS - 1)) / ROWS;
  return blocks * MOST <= BLOCKS ? MOST : blocks >= BLOCKS ? 1 : BLOCKS / (int)blocks;
}

// fx_step: of a recurrence from h to a h + b; a run of elements is one, whose b is what it gives from 0
template <class T>
struct fx_step {
  T a, b;
};

// fx_held: V adjacent elements as stored, in words, so that narrow ones share registers
template <class T, int V>
struct fx_held {
  unsigned w[(V * (int)sizeof(T) + 3) / 4];
  FX_DEVICE T get(int v) const {
    T x;
    if constexpr (sizeof(T) == 8) {
      const unsigned long long bits = (unsigned long long)w[2 * v + 1] << 32 | w[2 * v];
      memcpy(&x, &bits, 8);
    } else if constexpr (sizeof(T) == 4) {
      memcpy(&x, &w[v], 4);
    } else if constexpr (sizeof(T) == 2) {
      const unsigned short bits = (unsigned short)(w[v / 2] >> v % 2 * 16);
      memcpy(&x, &bits, 2);
    } else {
      const unsigned char bits = (unsigned char)(w[v / 4] >> v % 4 * 8);
      memcpy(&x, &bits, 1);
    }
    return x;
  }
};

// fx_narrow_bits: those of a value of one or two bytes, as a wider number, so that what was loaded needs no masking
template <class T>
FX_DEVICE unsigned fx_narrow_bits(T x) {
  static_assert(sizeof(T) < 4, "narrower than a word");
  if constexpr (sizeof(T) == 2) {
    unsigned short bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  } else {
    unsigned char bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
}

// fx_hold: V adjacent elements from p, which is aligned to all of them, or to 16 bytes
template <class T, int V>
FX_DEVICE void fx_hold(fx_held<T, V> &h, const T *p) {
  if constexpr (V * sizeof(T) >= 4) {
    fx_load_words(h.w, p);
  } else {
    h.w[0] = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) h.w[0] |= fx_narrow_bits(p[v]) << v * (int)sizeof(T) * 8;
  }
}

// fx_hold_some: of V adjacent elements from p those from number `from` to before `to`; no others are read
template <class T, int V>
FX_DEVICE void fx_hold_some(fx_held<T, V> &h, const T *p, int from, int to) {
  h = {};
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (v < from || v >= to) continue;
    const T x = p[v];
    if constexpr (sizeof(T) >= 4) memcpy(&h.w[v * (int)sizeof(T) / 4], &x, sizeof x);
    else h.w[v * (int)sizeof(T) / 4] |= fx_narrow_bits(x) << v * (int)sizeof(T) % 4 * 8;
  }
}

// fx_skewed: of vectors that begin and end at boundaries of memory, wherever rows do, one whose elements are all of one row
struct fx_skewed {};

// fx_cut: one of which only the elements from number `from` to before `to` are
struct fx_cut {
  int from, to;
};

// fx_is_cut: whether element number v is not of the row
FX_DEVICE bool fx_is_cut(int) { return false; }
FX_DEVICE bool fx_is_cut(int v, fx_cut cut) { return v < cut.from || v >= cut.to; }

// fx_hold_skewed: V elements from p, which is such a boundary
template <class T, int V>
FX_DEVICE void fx_hold_skewed(fx_held<T, V> &h, const T *p) { fx_hold(h, p); }
template <class T, int V>
FX_DEVICE void fx_hold_skewed(fx_held<T, V> &h, const T *p, fx_skewed) { fx_hold(h, p); }
template <class T, int V>
FX_DEVICE void fx_hold_skewed(fx_held<T, V> &h, const T *p, fx_cut cut) { fx_hold_some(h, p, cut.from, cut.to); }

// fx_hold_apart: the same of a tensor with boundaries of its own: words around the elements, where they are known to exist, are shifted into place
template <class T, int V>
FX_DEVICE void fx_hold_apart(fx_held<T, V> &h, const T *p, bool) { fx_hold(h, p); }
template <class T, int V>
FX_DEVICE void fx_hold_apart(fx_held<T, V> &h, const T *p, bool, fx_cut cut) { fx_hold_some(h, p, cut.from, cut.to); }
template <class T, int V>
FX_DEVICE void fx_hold_apart(fx_held<T, V> &h, const T *p, bool is_within, fx_skewed) {
  constexpr int BYTES = V * (int)sizeof(T), PIECE = BYTES < 16 ? BYTES : 16, N = BYTES / 4, MORE = PIECE / 4;
  static_assert(BYTES % 4 == 0, "a vector is words");
  const int skew = (int)((unsigned long long)p % PIECE);
  if (skew == 0) {
    fx_hold(h, p);
  } else if (is_within) {
    unsigned w[N + MORE], first[N], last[MORE];
    fx_load_words(first, (const char *)p - skew);
    fx_load_words(last, (const char *)p - skew + BYTES);
#pragma unroll
    for (int i = 0; i < N + MORE; ++i) w[i] = i < N ? first[i < N ? i : 0] : last[i < N ? 0 : i - N];
#pragma unroll
    for (int by = MORE / 2; by > 0; by /= 2) {
#pragma unroll
      for (int i = 0; i < N + MORE - by; ++i) w[i] = skew / 4 & by ? w[i + by] : w[i];
    }
#pragma unroll
    for (int i = 0; i < N; ++i) h.w[i] = fx_funnel(w[i], w[i + 1], skew % 4 * 8);
  } else {
    fx_hold_some(h, p, 0, V);
  }
}

// fx_store_skewed, fx_store_items_skewed: the counterparts
template <int V, class T>
FX_DEVICE void fx_store_skewed(T *p, const float (&x)[V]) { fx_store<V, true>(p, x, V); }
template <int V, class T>
FX_DEVICE void fx_store_skewed(T *p, const float (&x)[V], fx_cut cut) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (!fx_is_cut(v, cut)) fx_store_one(p + v, x[v]);
}
template <int V, class T>
FX_DEVICE void fx_store_items_skewed(T *p, const T (&x)[V]) { fx_store_items<V, true>(p, x, V); }
template <int V, class T>
FX_DEVICE void fx_store_items_skewed(T *p, const T (&x)[V], fx_cut cut) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (!fx_is_cut(v, cut)) p[v] = x[v];
}

// fx_first_extreme: whether y, met at index j, comes before x at i: greater, or less where not MAX; of equal ones the first; a NaN before anything else
template <bool MAX, class T, class INDEX>
FX_DEVICE bool fx_first_extreme(T x, INDEX i, T y, INDEX j) {
  if (i < 0 || j < 0) return i < 0 && j >= 0;
  if (x != x || y != y) return y != y && (x == x || j < i);
  return (MAX ? y > x : y < x) || (y == x && j < i);
}

// fx_next_extreme: the same of a y met behind x; i < 0 where there was no x
template <bool MAX, class T, class INDEX>
FX_DEVICE bool fx_next_extreme(T x, INDEX i, T y) {
  return (i < 0) | ((x == x) & (MAX ? !(y <= x) : !(y >= x)));
}
