# The statistics written out; other labels.
kernel residual_rmsnorm(x: bf16[A,B], r: bf16[A,B], g: bf16[B]) -> (s: bf16[A,B], y: bf16[A,B]) with { fuse: require } {
  t = r + x
  y = g * (t * rsqrt(sum[B](t * t) / size(B) + 1e-5))
  s = t
}
kernel ada_layernorm(x: bf16[A,S,C], shift: bf16[A,C], scale: bf16[A,C]) -> y: bf16[A,S,C] with { fuse: require } {
  d = x - sum[C](x) / size(C)
  y = shift + (scale + 1) * (rsqrt(sum[C](d * d) / size(C) + 1e-5) * d)
}
kernel dropout_layernorm(x: bf16[A,B], r: bf16[A,B], g: bf16[B], b: bf16[B], p: f32 = 0.1, seed: u64) -> (s: bf16[A,B], y: bf16[A,B]) with { fuse: require } {
  require 0 <= p && p < 1
  t = where(rand[A,B](seed, 0) < p, 0, x / (1 - p)) + r
  d = t - sum[B](t) / size(B)
  y = b + g * (d * rsqrt(sum[B](d ** 2) / size(B) + 1e-5))
  s = t
}
kernel layernorm_backward(x: bf16[A,B], g: bf16[B], dy: bf16[A,B]) -> (dx: bf16[A,B], dg: f32[B], db: f32[B]) {
  c = x - sum[B](x) / size(B)
  q = rsqrt(sum[B](c * c) / size(B) + 1e-5)
  v = c * q
  k = g * dy
  dx = q * (k - sum[B](k) / size(B) - (sum[B](v * k) / size(B)) * v)
  db = sum[A](f32(dy))
  dg = sum[A](v * dy)
}
