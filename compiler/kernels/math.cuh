/* Pointwise functions that are no one-liners, in f32. NaN in, NaN out; the errors stated are relative to the exact value of the f32 argument, and hold
   wherever that value is a normal number. compiler/base/ops.def states the same errors in units of 2**-24. */

// fx_bits_of: WIDTH bits of a word from `shift` on, none of them beyond its half
template <int WIDTH>
struct fx_bits_of {
  unsigned word;  // the word
  int shift;      // where they begin
};

// fx_small_to_float: an integer of magnitude below 2^22, exactly: added to the bits of 1.5 * 2^23, whose units are ones; converting takes several times longer
// Of two their difference. Bits of a word need not be shifted to its end: they are units of a power of two, which an exact multiply-add divides by.
FX_DEVICE float fx_small_to_float(int x) { return fx_from_bits(0x4b400000u + (unsigned)x) - 12582912.0f; }
FX_DEVICE float fx_small_to_float(int x, int y) { return fx_from_bits(0x4b400000u + (unsigned)x) - fx_from_bits(0x4b400000u + (unsigned)y); }
template <int WIDTH>
FX_DEVICE float fx_small_to_float(fx_bits_of<WIDTH> x, int y = 0) {
  const int low = x.shift % 16;
  const unsigned half = x.shift >= 16 ? x.word >> 16 : x.word;
  const float unit = fx_from_bits((unsigned)(127 - low) << 23);
  return fmaf(fx_from_bits(fx_and_or(half, ((1u << WIDTH) - 1) << low, 0x4b000000u)), unit, -(8388608.0f * unit + fx_small_to_float(y)));
}

// fx_divisor: what elements of a row are divided by: 1 / d is (high + low) * scale; low has high's sign, so that an infinity times either is one
struct fx_divisor {
  float high, low, scale;
};

// fx_divisor_of: that of d; scale keeps 1 / d among normal numbers
FX_DEVICE fx_divisor fx_divisor_of(float d) {
  const float scale = fabsf(d) < 0x1p-100f ? 0x1p64f : fabsf(d) > 0x1p100f ? 0x1p-64f : 1.0f, scaled = d * scale;
  float high = 1.0f / scaled, low = high;
  if (fabsf(high) <= 0x1p126f && high != 0.0f) {
    if (fmaf(-high, scaled, 1.0f) < 0.0f) high = fx_from_bits(fx_bits(high) - 1);  // no more than it is
    low = fmaf(-high, scaled, 1.0f) / scaled;
    if (low == 0.0f) low = high * 0x1p-60f;
  }
  return fx_divisor{high, low, scale};
}

// fx_divided: x / d, rounded to nearest but for what is within 2^-20 ulp of the middle between two numbers, and for the least of numbers
FX_DEVICE float fx_divided(float x, const fx_divisor &d) { return fmaf(x, d.high, x * d.low) * d.scale; }

// fx_ratio: a / b, rounded to nearest but for what is within 2^-22 ulp of the middle between two numbers, and for the least of numbers
// Without the branch that a / b has for what is not normal, so that quotients of several elements run beside each other. Both are scaled so that nothing on the way is below normal numbers;
// an infinity, a NaN or a zero is what the first product says.
FX_DEVICE float fx_ratio(float a, float b) {
  const float by = fabsf(b) < 0x1p-62f ? 0x1p64f : fabsf(b) > 0x1p64f ? 0x1p-64f : 1.0f;
  const bool is_small = fabsf(a) < 0x1p-40f;
  const float of = is_small ? a * 0x1p64f : a, d = b * by, inverse = fx_rcp_approx(d), first = of * inverse, rest = fmaf(-first, d, of);
  const bool is_plain = fx_bits(rest) + fx_bits(rest) - 1u < 0xfeffffffu;  // neither zero nor infinite nor a NaN
  return (is_plain ? fmaf(rest, inverse, first) : first) * (is_small ? by * 0x1p-64f : by);
}

// fx_gelu: x Phi(x), the erf form; within 7e-7 for |x| <= 4, within 1.1e-5 in the farther negative tail
// With a = |x|, gelu(x) = max(x, 0) - a Phi(-a), and Phi(-a) = exp(-a a / 2) t P(t), t = 1 / (1 + 0.305 a); P is a weighted least-squares fit driven to the
// minimax of the relative error, 9.5e-8 on a in [0, 13.3], below which the result is 0. The tail's error is that of an exponent which reaches -126.
FX_DEVICE float fx_gelu(float x) {
  const float HALF_LOG2E = 0.72134751f;
  const float a = fminf(fabsf(x), 20.0f);
  const float t = fx_rcp_approx(fmaf(0.305f, a, 1.0f));
  float p = 0.03672657534480095f;
  p = fmaf(p, t, -0.15311689674854279f);
  p = fmaf(p, t, 0.18597152829170227f);
  p = fmaf(p, t, -0.03825300931930542f);
  p = fmaf(p, t, 0.1211995780467987f);
  p = fmaf(p, t, 0.10335222631692886f);
  p = fmaf(p, t, 0.12248177826404572f);
  p = fmaf(p, t, 0.12163826078176498f);
  const float e = fx_exp2_approx(a * a * -HALF_LOG2E);
  return fmaf(-(p * t * a), e, fx_max(x, 0.0f));
}

// fx_gelu_cubic: likewise with P of degree 3 and t = 1 / (1 + c a), for results that are rounded to 16 bits at once
FX_DEVICE float fx_gelu_cubic(float x, float c, float p0, float p1, float p2, float p3) {
  const float a = fminf(fabsf(x), 20.0f), t = fx_rcp_approx(fmaf(c, a, 1.0f));
  const float p = fmaf(fmaf(fmaf(p3, t, p2), t, p1), t, p0);
  return fmaf(-(p * t * a), fx_exp2_approx(a * a * -0.72134751f), fx_max(x, 0.0f));
}

// fx_gelu_bf16: gelu within 2^-12 of the result, an eighth of half a unit of bf16; P is the minimax of the relative error, 2^-12.09 on a in [0, 13.4]
FX_DEVICE float fx_gelu_bf16(float x) { return fx_gelu_cubic(x, 0.3f, 0.118204362f, 0.137478327f, 0.0355874378f, 0.208844942f); }

// fx_gelu_f16: gelu within 2^-13 of the result, half of half a unit of f16 at most; P likewise, 2^-13.5 on a in [0, 6.2], beyond which a Phi(-a) is less than 2^-28
FX_DEVICE float fx_gelu_f16(float x) { return fx_gelu_cubic(x, 0.29f, 0.110323659f, 0.160568229f, -0.0302169458f, 0.25936817f); }

// fx_sigmoid: 1 / (1 + exp(-x)); within 3e-7
FX_DEVICE float fx_sigmoid(float x) { return fx_rcp_approx(1.0f + expf(-x)); }

// fx_sigmoid_16: likewise within 2^-16, for results that are rounded to 16 bits at once
FX_DEVICE float fx_sigmoid_16(float x) { return fx_rcp_approx(1.0f + fx_exp2_approx(x * -1.44269504f)); }

// fx_silu_of: x sigmoid(x), of a = min(|x|, 110) and e = 2^40 exp(-a): x / (1 + exp(-a)), times exp(-a) where x < 0
// 2^40 keeps exp(-a) and its product with x among normal numbers where the result is one.
FX_DEVICE float fx_silu_of(float x, float a, float e) {
  const float inverse = fx_rcp_approx(fmaf(e, 0x1p-40f, 1.0f));
  return (x < 0.0f ? -a * e : x) * inverse * (x < 0.0f ? 0x1p-40f : 1.0f);
}

// fx_silu: x sigmoid(x); within 6e-7. exp(-a) = 2^n 2^f, n the integer that is nearest to -a log2(e)
FX_DEVICE float fx_silu(float x) {
  const float a = fminf(fabsf(x), 110.0f), with_n = fmaf(a, -1.44269504f, 0x1.8p23f), n = with_n - 0x1.8p23f;
  const float f = fmaf(a, -1.925963033500921e-08f, fmaf(a, -1.44269502162933349609375f, -n));
  return fx_silu_of(x, a, fx_from_bits(fx_bits(fx_exp2_approx(f)) + (fx_bits(with_n) << 23) + (40u << 23)));
}

// fx_silu_16: likewise within 2^-16, for results that are rounded to 16 bits at once
FX_DEVICE float fx_silu_16(float x) {
  const float a = fminf(fabsf(x), 110.0f);
  return fx_silu_of(x, a, fx_exp2_approx(fmaf(a, -1.44269504f, 40.0f)));
}

// fx_tanh: within 3e-7; below 0.6 an odd polynomial (minimax 3.4e-9), where 1 - 2 / (exp(2 |x|) + 1) would cancel
FX_DEVICE float fx_tanh(float x) {
  const float a = fabsf(x), s = x * x;
  float p = -0.0058190831914544106f;
  p = fmaf(p, s, 0.020734749734401703f);
  p = fmaf(p, s, -0.053767044097185135f);
  p = fmaf(p, s, 0.13331745564937592f);
  p = fmaf(p, s, -0.33333292603492737f);
  const float small = fmaf(x * s, p, x);
  const float big = fmaf(-2.0f, fx_rcp_approx(fx_exp2_approx(2.8853900818f * a) + 1.0f), 1.0f);
  return a < 0.6f ? small : copysignf(big, x);
}

// fx_sign: -1, 0 or 1
FX_DEVICE float fx_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

// fx_max_f64: the larger operand, NaN if either is
FX_DEVICE double fx_max_f64(double x, double y) { return x != x || y != y ? x + y : fmax(x, y); }

// fx_min_f64: the smaller operand, NaN if either is
FX_DEVICE double fx_min_f64(double x, double y) { return x != x || y != y ? x + y : fmin(x, y); }

// fx_sign_f64: -1, 0 or 1
FX_DEVICE double fx_sign_f64(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }

// fx_tanh_f64: tanh
FX_DEVICE double fx_tanh_f64(double x) { return tanh(x); }

// fx_sigmoid_f64: 1 / (1 + exp(-x))
FX_DEVICE double fx_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

// fx_silu_f64: x sigmoid(x), 0 at -inf
FX_DEVICE double fx_silu_f64(double x) { return x < -800.0 ? -0.0 : x / (1.0 + exp(-x)); }

// fx_gelu_f64: x Phi(x), 0 at -inf
FX_DEVICE double fx_gelu_f64(double x) { return x < -40.0 ? -0.0 : 0.5 * x * erfc(-x * 0.70710678118654752440); }

// fx_angle, fx_angle_of: the sine and the cosine of x
struct fx_angle {
  float sin, cos;
};
FX_DEVICE fx_angle fx_angle_of(float x) {
  fx_angle a;
  sincosf(x, &a.sin, &a.cos);
  return a;
}
