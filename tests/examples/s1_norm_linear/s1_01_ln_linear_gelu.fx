# The norm by sums, gelu by tanh.
kernel ln_linear_gelu(x: f16[I,C], w: f16[C,J], b: f16[J]) -> y: f16[I,J] with { fuse: require } {
  mu = sum[C](x) / size(C)
  d = x - mu
  s2 = sum[C](d * d) / size(C)
  h = b + sum[C](w * (rsqrt(s2 + 1e-5) * d))
  y = (tanh(0.7978845608028654 * (0.044715 * h * h * h + h)) + 1) * h * 0.5
}

# The terms of the fold in another order, the scale taken into both.
kernel ln_linear_gelu_folded(x: f16[I,C], w: f16[C,J], b: f16[J]) -> y: f16[I,J] with { fuse: require } {
  t = sum[C](w)
  mu = sum[C](x) / size(C)
  d = x - mu
  s2 = sum[C](d * d) / size(C)
  h = b + rsqrt(1e-5 + s2) * (sum[C](w * x) - t * mu)
  y = (tanh(0.7978845608028654 * (0.044715 * h * h * h + h)) + 1) * h * 0.5
}
