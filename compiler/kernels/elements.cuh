/* Elements of other types than float and the 16-bit floats: conditions, 8-bit floats, integers, doubles. They are read and written as they are stored, V
   adjacent ones as words where they lie so, and converted where they are used. */

// fx_bool: a condition as stored
struct fx_bool {
  unsigned char byte;  // 0 is false; 1 when written here
};

// fx_is_true: the condition an element stands for
FX_DEVICE bool fx_is_true(fx_bool x) { return x.byte != 0; }

// fx_to_bool: the element of a condition
FX_DEVICE fx_bool fx_to_bool(bool x) { return fx_bool{(unsigned char)(x ? 1 : 0)}; }

// fx_small_to_f32: the value of a float of 1 + E + M bits; the largest exponent stands for infinity and NaN where HAS_INF, else only all ones for NaN
// Its magnitude, in the place of a float's, is the value times a power of two, of subnormal ones too.
template <int E, int M, bool HAS_INF>
FX_DEVICE float fx_small_to_f32(unsigned bits) {
  const int BIAS = (1 << (E - 1)) - 1;
  const unsigned magnitude = bits & ((1u << (E + M)) - 1), infinity = ((1u << E) - 1) << M;
  const unsigned value = fx_bits(fx_from_bits(magnitude << (23 - M)) * fx_from_bits((unsigned)(254 - BIAS) << 23));
  const unsigned special = HAS_INF && magnitude == infinity ? 0x7f800000u : 0x7fffffffu;
  return fx_from_bits((bits >> (E + M)) << 31 | (magnitude >= (HAS_INF ? infinity : (1u << (E + M)) - 1) ? special : value));
}

// fx_f32_to_small: x rounded to the nearest such float, ties to even, saturated at MOST, the largest finite one; NaN as the bits NOT_A_NUMBER
template <int E, int M, unsigned MOST, unsigned NOT_A_NUMBER>
FX_DEVICE unsigned char fx_f32_to_small(float x) {
  const int BIAS = (1 << (E - 1)) - 1;
  const unsigned sign = fx_bits(x) >> 31 << (E + M), magnitude = fx_bits(x) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (unsigned char)(sign | NOT_A_NUMBER);
  unsigned r;
  if (magnitude < (unsigned)(128 - BIAS) << 23) {  // subnormal there: counted in units of the least value
    r = (unsigned)rintf(fx_from_bits(magnitude) * fx_from_bits((unsigned)(126 + BIAS + M) << 23));
  } else {
    const unsigned shifted = magnitude - ((unsigned)(127 - BIAS) << 23);
    r = (shifted + (1u << (22 - M)) - 1 + (shifted >> (23 - M) & 1)) >> (23 - M);
  }
  return (unsigned char)(sign | (r > MOST ? MOST : r));
}

// fx_f8e4m3: a float of 8 bits, 4 of exponent and 3 of mantissa, without infinities, and its conversions
struct fx_f8e4m3 {
  unsigned char bits;  // as stored
};
FX_DEVICE float fx_to_float(fx_f8e4m3 x) { return fx_small_to_f32<4, 3, false>(x.bits); }
template <> FX_DEVICE fx_f8e4m3 fx_from_float<fx_f8e4m3>(float x) { return fx_f8e4m3{fx_f32_to_small<4, 3, 0x7e, 0x7f>(x)}; }

// fx_round_f8e4m3: fx_from_float of it, by the instruction
FX_DEVICE fx_f8e4m3 fx_round_f8e4m3(float x) { return fx_f8e4m3{fx_f32_to_e4m3(x)}; }

// fx_f8e5m2: a float of 8 bits, 5 of exponent and 2 of mantissa, and its conversions
struct fx_f8e5m2 {
  unsigned char bits;  // as stored
};
FX_DEVICE float fx_to_float(fx_f8e5m2 x) { return fx_small_to_f32<5, 2, true>(x.bits); }
template <> FX_DEVICE fx_f8e5m2 fx_from_float<fx_f8e5m2>(float x) { return fx_f8e5m2{fx_f32_to_small<5, 2, 0x7b, 0x7e>(x)}; }

// fx_round_f8e5m2: fx_from_float of it, by the instruction
FX_DEVICE fx_f8e5m2 fx_round_f8e5m2(float x) { return fx_f8e5m2{fx_f32_to_e5m2(x)}; }

// fx_halves_of: x, which a 16-bit float of type T holds exactly, as one in both halves of a word
template <class T>
FX_DEVICE unsigned fx_halves_of(float x) {
  if constexpr (fx_is_bf16<T>::VALUE) return fx_permute(fx_bits(x), 0, 0x3232);
  else return fx_pack_f16(x, x);
}

// fx_halves_fma, fx_halves_less, fx_halves_times: a * b + c, a - b, a * b of the 16-bit floats in either half of words, each rounded once
template <class T>
FX_DEVICE unsigned fx_halves_fma(unsigned a, unsigned b, unsigned c) {
  if constexpr (fx_is_bf16<T>::VALUE) return fx_fma_bf16x2(a, b, c);
  else return fx_fma_f16x2(a, b, c);
}
template <class T> FX_DEVICE unsigned fx_halves_less(unsigned a, unsigned b) { return fx_halves_fma<T>(b, fx_is_bf16<T>::VALUE ? 0xbf80bf80u : 0xbc00bc00u, a); }
template <class T> FX_DEVICE unsigned fx_halves_times(unsigned a, unsigned b) { return fx_halves_fma<T>(a, b, 0x80008000u); }

// fx_halves_of_bytes: bytes 2 i and 2 i + 1 of words, as 16-bit floats: put into the mantissa of a number whose units are ones
// A bf16 has room for seven bits there: the eighth is the exponent's last bit of what is subtracted, 128 or 256.
template <class T, bool SIGNED, int N>
FX_DEVICE unsigned fx_halves_of_bytes(const unsigned (&w)[N], int i) {
  const unsigned selector = i % 2 ? 0x4342 : 0x4140;
  if constexpr (fx_is_bf16<T>::VALUE) {
    const unsigned x = fx_permute(SIGNED ? w[i / 2] : w[i / 2] ^ 0x80808080u, 0, selector);
    const unsigned y = fx_halves_less<T>(fx_and_or(x, 0x007f007fu, 0x43004300u), fx_and_or(x, 0x00800080u, 0x43004300u));
    return SIGNED ? y : fx_halves_less<T>(y, fx_halves_of<T>(-128));
  } else {
    return fx_halves_less<T>(fx_permute(SIGNED ? w[i / 2] ^ 0x80808080u : w[i / 2], 0x64646464u, selector), fx_halves_of<T>(SIGNED ? 1152 : 1024));
  }
}

// fx_fields: V adjacent fields of BITS bits, in the words that have them: V fields of one word, or those of several whole ones, which lie aligned where ALIGNED
template <int V, bool ALIGNED, class WORD, int BITS, bool SIGNED, bool MSB>
struct fx_fields {
  static constexpr int EACH = (int)sizeof(WORD) * 8 / BITS, WORDS = V > EACH ? V / EACH : 1;
  WORD w[WORDS];  // the words

  // From p on; those without a field before n_valid are 0.
  FX_DEVICE void load(const WORD *p, int n_valid) {
#pragma unroll
    for (int i = 0; i < WORDS; ++i) w[i] = 0;
    if constexpr (ALIGNED && WORDS > 1) {
      unsigned all[WORDS * sizeof(WORD) / 4];
      if (n_valid <= 0) return;
      if constexpr (V > 8 && sizeof all % 16 == 0) fx_load_once(all, p);  // longer chunks than tiles have: nobody else reads them
      else fx_load_words(all, p);
      memcpy(w, all, sizeof all);
    } else {
#pragma unroll
      for (int i = 0; i < WORDS; ++i)
        if (i * EACH < n_valid) w[i] = p[i];
    }
  }
  // Field v of a chunk that begins at index `first` of the tensor, as bits of a word or as its value.
  FX_DEVICE fx_bits_of<BITS> bits(int first, int v) const {
    const int i = V % EACH == 0 ? v % EACH : first % EACH + v, shift = MSB ? (int)sizeof(WORD) * 8 - BITS * (i + 1) : BITS * i;
    const WORD word = V % EACH == 0 ? w[v / EACH] : w[0];
    if constexpr (sizeof(WORD) == 8) return {(unsigned)((unsigned long long)word >> shift / 32 * 32), shift % 32};
    else return {(unsigned)word, shift};
  }
  // Fields 2 i and 2 i + 1 of 4 bits of a chunk of whole words, as 16-bit floats to which 128 (bf16) or 1024 is added, where SIGNED 8 more.
  template <class T>
  FX_DEVICE unsigned halves(int i) const {
    static_assert(BITS == 4 && V % EACH == 0 && sizeof(WORD) == 4, "fields of whole words");
    const unsigned byte = MSB ? 3 - i % 4 : i % 4, word = (unsigned)w[i / 4] ^ (SIGNED ? 0x88888888u : 0);
    return fx_and_or(fx_permute(MSB ? word >> 4 : word, MSB ? word : word >> 4, byte * 0x1111 + 0x4400), 0x000f000fu, fx_is_bf16<T>::VALUE ? 0x43004300u : 0x64006400u);
  }
  FX_DEVICE int get(int first, int v) const {
    if constexpr (V % EACH == 0) return fx_field<BITS, SIGNED, MSB>(w[v / EACH], v % EACH);
    else return fx_field<BITS, SIGNED, MSB>(w[0], first % EACH + v);
  }
};

// fx_load_items: V adjacent elements as stored, zeros from n_valid on; ALIGNED as in fx_load
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_load_items(T (&x)[V], const T *p, int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (ALIGNED && WORDS > 0) {
    unsigned w[WORDS];
    fx_load_words(w, p);
    memcpy(x, w, sizeof w);
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = ALIGNED || v < n_valid ? p[v] : T{};
  }
}

// fx_store_items: the counterpart; where not ALIGNED the first n_valid elements
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_store_items(T *p, const T (&x)[V], int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (ALIGNED && WORDS > 0) {
    unsigned w[WORDS];
    memcpy(w, x, sizeof w);
    fx_store_words(p, w);
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (ALIGNED || v < n_valid) p[v] = x[v];
  }
}

// fx_transpose_bytes: word j becomes byte j of each of the four
FX_DEVICE void fx_transpose_bytes(unsigned (&w)[4]) {
  const unsigned low01 = fx_permute(w[0], w[1], 0x5140), low23 = fx_permute(w[2], w[3], 0x5140);
  const unsigned high01 = fx_permute(w[0], w[1], 0x7362), high23 = fx_permute(w[2], w[3], 0x7362);
  w[0] = fx_permute(low01, low23, 0x5410);
  w[1] = fx_permute(low01, low23, 0x7632);
  w[2] = fx_permute(high01, high23, 0x5410);
  w[3] = fx_permute(high01, high23, 0x7632);
}

// fx_load_turned: V elements of each of R adjacent rows, to a member of R fragments; p is that of the first row, and a word has R rows of a column, `step` before the next one's
template <int V, int R, class T, class FRAG, class X, class INDEX>
FX_DEVICE void fx_load_turned(FRAG (&f)[R], X (FRAG::*to)[V], const T *p, INDEX step) {
  static_assert(R * sizeof(T) == 4 && V % R == 0, "no words");
  unsigned w[V / R][R];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    unsigned word[1];
    fx_load_words(word, p + v * step);
    w[v / R][v % R] = word[0];
  }
#pragma unroll
  for (int i = 0; i < V / R; ++i) {
    if constexpr (R == 4) {
      fx_transpose_bytes(w[i]);
    } else {
      const unsigned first = w[i][0], second = w[i][1];
      w[i][0] = fx_permute(first, second, 0x5410), w[i][1] = fx_permute(first, second, 0x7632);
    }
#pragma unroll
    for (int row = 0; row < R; ++row) {
      if constexpr (sizeof(X) == sizeof(T)) {
        memcpy(&(f[row].*to)[i * R], &w[i][row], 4);
      } else {
        const unsigned word[1] = {w[i][row]};
        fx_unpack<R>(fx_part<R>(f[row].*to, i * R), word, p);
      }
    }
  }
}

// fx_split_part: the bf16 nearest to a finite x, as a float; the largest one where x lies beyond it
FX_DEVICE float fx_split_part(float x) {
  const float most = fx_from_bits(0x7f7f0000u), part = fx_to_float(fx_from_float<fx_bf16>(x));
  return part > most ? most : part < -most ? -most : part;
}

// fx_split: an f32 stored in three bf16, each in a plane of N elements: x = x0 + (x1 + x2 / 256) / 256 to the bit; x0 is x cut off, x1 what is nearest to the rest, of either sign
// Where x is subnormal, infinite or NaN x0 is a NaN, so that whatever is multiplied by it is one, and the others are the halves of x.
template <long long N>
struct fx_split {
  unsigned short bits;  // of x0; those of x1 and x2 lie N and 2 N elements on
};
template <int V, bool ALIGNED, long long N>
FX_DEVICE void fx_store(fx_split<N> *p, const float (&x)[V], int n_valid) {
  fx_bf16 part[3][V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const float size = fabsf(x[v]), first = fx_from_bits(fx_bits(x[v]) & 0xffff0000u), rest = (x[v] - first) * 256.0f, second = fx_split_part(rest), third = (rest - second) * 256.0f;
    const bool is_split = size == 0.0f || (size >= 0x1p-126f && size < fx_from_bits(0x7f800000u));
    part[0][v].bits = (unsigned short)(is_split ? fx_bits(first) >> 16 : 0x7fff);
    part[1][v].bits = (unsigned short)(fx_bits(is_split ? second : x[v]) >> 16);
    part[2][v].bits = (unsigned short)(is_split ? fx_bits(third) >> 16 : fx_bits(x[v]));
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) fx_store_items<V, ALIGNED>((fx_bf16 *)p + i * N, part[i], n_valid);
}
template <long long N>
FX_DEVICE void fx_store_one(fx_split<N> *p, float x) {
  const float value[1] = {x};
  fx_store<1, false>(p, value, 1);
}

// fx_split_value: the f32 that is stored there
FX_DEVICE float fx_split_value(const float *p) { return *p; }
template <long long N>
FX_DEVICE float fx_split_value(const fx_split<N> *p) {
  const unsigned first = p[0].bits, second = p[N].bits, third = p[2 * N].bits;
  if (first == 0x7fff) return fx_from_bits(second << 16 | third);
  return fx_from_bits(first << 16) + (fx_from_bits(second << 16) + fx_from_bits(third << 16) * 0x1p-8f) * 0x1p-8f;
}
