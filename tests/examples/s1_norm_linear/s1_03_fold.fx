# The terms of the fold in another order, the scale taken into both.
kernel folded(x: f32[I,C], w: f32[C,J], b: f32[J]) -> y: f32[I,J] with { precision: ieee, fuse: require } {
  t = sum[C](w)
  mu = sum[C](x) / size(C)
  d = x - mu
  s2 = sum[C](d * d) / size(C)
  h = b + rsqrt(1e-5 + s2) * (sum[C](w * x) - t * mu)
  y = (tanh(0.7978845608028654 * (0.044715 * h * h * h + h)) + 1) * h * 0.5
}
