/* Integers as a spec means them: sums, differences and products wrap, division floors and by zero gives 0, conversions from floats truncate and saturate;
   fields of packed words; the generator of random words. Each is written over unsigned types where C++ leaves signed overflow undefined. */

// fx_add: a + b, wrapping
FX_DEVICE int fx_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
FX_DEVICE unsigned fx_add(unsigned a, unsigned b) { return a + b; }
FX_DEVICE long long fx_add(long long a, long long b) { return (long long)((unsigned long long)a + (unsigned long long)b); }
FX_DEVICE unsigned long long fx_add(unsigned long long a, unsigned long long b) { return a + b; }

// fx_sub: a - b, wrapping
FX_DEVICE int fx_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
FX_DEVICE unsigned fx_sub(unsigned a, unsigned b) { return a - b; }
FX_DEVICE long long fx_sub(long long a, long long b) { return (long long)((unsigned long long)a - (unsigned long long)b); }
FX_DEVICE unsigned long long fx_sub(unsigned long long a, unsigned long long b) { return a - b; }

// fx_mul: a b, wrapping
FX_DEVICE int fx_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
FX_DEVICE unsigned fx_mul(unsigned a, unsigned b) { return a * b; }
FX_DEVICE long long fx_mul(long long a, long long b) { return (long long)((unsigned long long)a * (unsigned long long)b); }
FX_DEVICE unsigned long long fx_mul(unsigned long long a, unsigned long long b) { return a * b; }

// fx_neg: -a, wrapping
template <class T>
FX_DEVICE T fx_neg(T a) {
  return fx_sub((T)0, a);
}

// fx_floor_div: a / b rounded down; 0 for b = 0
template <class T>
FX_DEVICE T fx_floor_div(T a, T b) {
  if (b == 0) return 0;
  if constexpr ((T)-1 < (T)1) {  // signed
    if (b == -1) return fx_neg(a);  // the least value has no positive counterpart
    const T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else {
    return a / b;
  }
}

// fx_quotient: a / b of what is not negative; 0 for b = 0
template <class T>
FX_DEVICE T fx_quotient(T a, T b) {
  if constexpr (sizeof(T) == 4) return b == 0 ? 0 : (T)((unsigned)a / (unsigned)b);
  else return b == 0 ? 0 : (T)((unsigned long long)a / (unsigned long long)b);
}

// fx_remainder: a % b of what is not negative; 0 for b = 0
template <class T>
FX_DEVICE T fx_remainder(T a, T b) {
  if constexpr (sizeof(T) == 4) return b == 0 ? 0 : (T)((unsigned)a % (unsigned)b);
  else return b == 0 ? 0 : (T)((unsigned long long)a % (unsigned long long)b);
}

// fx_quotient_down: a / b rounded down, b not negative; 0 for b = 0
template <class T>
FX_DEVICE T fx_quotient_down(T a, T b) {
  const T sign = a < 0 ? (T)-1 : (T)0;  // -1 - (-1 - a) / b is a / b rounded down
  return b == 0 ? 0 : fx_quotient((T)(a ^ sign), b) ^ sign;
}

// fx_remainder_down: a - b * (a / b rounded down), b not negative; 0 for b = 0
template <class T>
FX_DEVICE T fx_remainder_down(T a, T b) {
  return b == 0 ? 0 : a - b * fx_quotient_down(a, b);
}

// fx_floor_mod: a - b * floor(a / b), of b's sign; 0 for b = 0
template <class T>
FX_DEVICE T fx_floor_mod(T a, T b) {
  if (b == 0) return 0;
  if constexpr ((T)-1 < (T)1) {  // signed
    if (b == -1) return 0;
    const T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    return a % b;
  }
}

// fx_clamp_f64: x truncated to what lies between lo and hi, NaN to 0
FX_DEVICE double fx_clamp_f64(double x, double lo, double hi) { return x != x ? 0.0 : x < lo ? lo : x > hi ? hi : x; }

// fx_clamp_f32: the same in f32, where conversions to doubles would take most of the time
FX_DEVICE float fx_clamp_f32(float x, float lo, float hi) { return x != x ? 0.0f : fminf(fmaxf(x, lo), hi); }

// fx_round_in: x rounded to the nearest integer, of two the even one, and saturated to lo and hi, whose magnitudes lie below 2^22; NaN to 0. The unit of the sum is 1
FX_DEVICE int fx_round_in(float x, float lo, float hi) { return (int)fx_bits(fx_clamp_f32(x, lo, hi) + 12582912.0f) - 0x4b400000; }

// fx_saturate_i4: x truncated and saturated
FX_DEVICE int fx_saturate_i4(double x) { return (int)fx_clamp_f64(x, -8.0, 7.0); }
FX_DEVICE int fx_saturate_i4(float x) { return (int)fx_clamp_f32(x, -8.0f, 7.0f); }

// fx_saturate_u4: x truncated and saturated
FX_DEVICE int fx_saturate_u4(double x) { return (int)fx_clamp_f64(x, 0.0, 15.0); }
FX_DEVICE int fx_saturate_u4(float x) { return (int)fx_clamp_f32(x, 0.0f, 15.0f); }

// fx_saturate_i8: x truncated and saturated
FX_DEVICE int fx_saturate_i8(double x) { return (int)fx_clamp_f64(x, -128.0, 127.0); }
FX_DEVICE int fx_saturate_i8(float x) { return (int)fx_clamp_f32(x, -128.0f, 127.0f); }

// fx_saturate_u8: x truncated and saturated
FX_DEVICE int fx_saturate_u8(double x) { return (int)fx_clamp_f64(x, 0.0, 255.0); }
FX_DEVICE int fx_saturate_u8(float x) { return (int)fx_clamp_f32(x, 0.0f, 255.0f); }

// fx_saturate_i16: x truncated and saturated
FX_DEVICE int fx_saturate_i16(double x) { return (int)fx_clamp_f64(x, -32768.0, 32767.0); }
FX_DEVICE int fx_saturate_i16(float x) { return (int)fx_clamp_f32(x, -32768.0f, 32767.0f); }

// fx_saturate_i32: x truncated and saturated
FX_DEVICE int fx_saturate_i32(double x) { return (int)fx_clamp_f64(x, -2147483648.0, 2147483647.0); }
FX_DEVICE int fx_saturate_i32(float x) { return x >= 2147483648.0f ? 2147483647 : (int)fx_clamp_f32(x, -2147483648.0f, 2147483520.0f); }

// fx_saturate_u32: x truncated and saturated
FX_DEVICE unsigned fx_saturate_u32(double x) { return (unsigned)fx_clamp_f64(x, 0.0, 4294967295.0); }
FX_DEVICE unsigned fx_saturate_u32(float x) { return x >= 4294967296.0f ? 4294967295u : (unsigned)fx_clamp_f32(x, 0.0f, 4294967040.0f); }

// fx_saturate_i64: x truncated and saturated
FX_DEVICE long long fx_saturate_i64(double x) {
  return x >= 9223372036854775808.0 ? 9223372036854775807ll : (long long)fx_clamp_f64(x, -9223372036854775808.0, 9223372036854774784.0);
}

// fx_saturate_u64: x truncated and saturated
FX_DEVICE unsigned long long fx_saturate_u64(double x) {
  return x >= 18446744073709551616.0 ? 18446744073709551615ull : (unsigned long long)fx_clamp_f64(x, 0.0, 18446744073709549568.0);
}

// fx_wrap_i4: the low 4 bits, signed
FX_DEVICE int fx_wrap_i4(int x) { return (int)((unsigned)x << 28) >> 28; }

// fx_wrap_u4: the low 4 bits
FX_DEVICE int fx_wrap_u4(int x) { return x & 15; }

// fx_wrap_i8: the low 8 bits, signed
FX_DEVICE int fx_wrap_i8(int x) { return (signed char)x; }

// fx_wrap_u8: the low 8 bits
FX_DEVICE int fx_wrap_u8(int x) { return x & 255; }

// fx_wrap_i16: the low 16 bits, signed
FX_DEVICE int fx_wrap_i16(int x) { return (short)x; }

// fx_field: field i of BITS bits of a word, counted from its low end, or from its high end where MSB
template <int BITS, bool SIGNED, bool MSB, class WORD>
FX_DEVICE int fx_field(WORD word, int i) {
  const int shift = MSB ? (int)sizeof(WORD) * 8 - BITS * (i + 1) : BITS * i;
  const unsigned field = (unsigned)((unsigned long long)word >> shift) << (32 - BITS);
  return SIGNED ? (int)field >> (32 - BITS) : (int)(field >> (32 - BITS));
}

// fx_philox: word element % 4 of Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011), key `seed`, counter (element / 4, offset)
FX_DEVICE unsigned fx_philox(unsigned long long element, unsigned long long seed, unsigned long long offset) {
  unsigned x0 = (unsigned)(element >> 2), x1 = (unsigned)(element >> 34), x2 = (unsigned)offset, x3 = (unsigned)(offset >> 32);
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p = 0xD2511F53ull * x0, q = 0xCD9E8D57ull * x2;
    x0 = (unsigned)(q >> 32) ^ x1 ^ k0, x1 = (unsigned)q, x2 = (unsigned)(p >> 32) ^ x3 ^ k1, x3 = (unsigned)p;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  const int word = (int)(element & 3);
  return word == 0 ? x0 : word == 1 ? x1 : word == 2 ? x2 : x3;
}
