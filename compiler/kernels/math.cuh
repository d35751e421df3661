/* Pointwise functions that are no one-liners, in f32. NaN in, NaN out; the errors stated are relative to the exact value of the f32 argument. */

// fx_gelu: x Phi(x), the erf form; within 1e-6 over the whole normal range, the negative tail included
// With a = |x|, Phi(-a) = exp(-a a / 2) t P(t), t = 1 / (1 + c a); P is a weighted least-squares fit driven to the minimax of the relative error,
// 1.4e-8 on a in [0, 14.5]. The exponent reaches -126, so its rounding errors (of a a, of log2(e) / 2 and of their product) are carried in rest.
FX_DEVICE float fx_gelu(float x) {
  const float HALF_LOG2E = 0.7213475108146667f, HALF_LOG2E_REST = 9.629815e-9f, LN2 = 0.6931471806f;
  const float a = fminf(fabsf(x), 20.0f);
  const float t = fx_rcp_approx(fmaf(0.265f, a, 1.0f));
  float p = 0.03062448464334011f;
  p = fmaf(p, t, -0.14330071210861206f);
  p = fmaf(p, t, 0.21595056354999542f);
  p = fmaf(p, t, -0.11428660154342651f);
  p = fmaf(p, t, 0.1365550309419632f);
  p = fmaf(p, t, 0.06089498847723007f);
  p = fmaf(p, t, 0.10255508869886398f);
  p = fmaf(p, t, 0.10526677221059799f);
  p = fmaf(p, t, 0.10574039071798325f);
  const float square = a * a, y = square * -HALF_LOG2E;
  const float rest = fmaf(fmaf(a, a, -square), -HALF_LOG2E, fmaf(square, -HALF_LOG2E_REST, fmaf(square, -HALF_LOG2E, -y)));
  const float e = fx_exp2_approx(y);
  const float q = p * t * fmaf(e, rest * LN2, e);
  return x * (x < 0.0f ? q : 1.0f - q);
}

// fx_sigmoid: 1 / (1 + exp(-x)); within 1e-6 down to the end of the normal range, 0 below
FX_DEVICE float fx_sigmoid(float x) { return fx_rcp_approx(1.0f + expf(-x)); }

// fx_silu: x sigmoid(x)
FX_DEVICE float fx_silu(float x) { return x * fx_sigmoid(x); }

// fx_gelu_tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))), which is x sigmoid(2 sqrt(2 / pi) (..)) and so exact in the negative tail
FX_DEVICE float fx_gelu_tanh(float x) { return x * fx_sigmoid(1.5957691216f * fmaf(0.044715f * x * x, x, x)); }

// fx_tanh: within 4e-7; below 0.6 an odd polynomial (minimax 3.4e-9), where 1 - 2 / (exp(2 |x|) + 1) would cancel
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

// fx_softplus: log(1 + exp(x)) without overflow
FX_DEVICE float fx_softplus(float x) { return fx_max(x, 0.0f) + log1pf(expf(-fabsf(x))); }

// fx_sign: -1, 0 or 1
FX_DEVICE float fx_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

// fx_round: to the nearest integer, ties to even
FX_DEVICE float fx_round(float x) { return rintf(x); }

// fx_pow: x**y
FX_DEVICE float fx_pow(float x, float y) { return powf(x, y); }
