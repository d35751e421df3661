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

// fx_hold: V adjacent elements from p, which is aligned to all of them, or to 16 bytes
template <class T, int V>
FX_DEVICE void fx_hold(fx_held<T, V> &h, const T *p) {
  if constexpr (V * sizeof(T) >= 4) {
    fx_load_words(h.w, p);
  } else {
    h.w[0] = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const T x = p[v];
      unsigned bits = 0;
      memcpy(&bits, &x, sizeof x);
      h.w[0] |= bits << v * (int)sizeof(T) * 8;
    }
  }
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
