# The largest magnitude as the larger of two extremes' magnitudes would be another computation: only labels and orders differ.
kernel quantise_token(x: bf16[A,B]) -> (q: i8[A,B], s: f32[A]) with { fuse: require } {
  t = max[B](abs(x)) / 127
  q = i8(round(x / max(1e-12, t)))
  s = t
}
kernel quantise_group[V=128](x: bf16[A,B=U*V]) -> (q: f8e4m3[A,B], s: f32[A,U]) with { fuse: require } {
  h = x{B->(U,V)}
  t = max(1e-4, max[V](abs(h))) / 448
  q = (h / t){(U,V)->B}
  s = t
}
kernel rmsnorm_quantise(x: bf16[A,B], r: bf16[A,B], g: bf16[B]) -> (h: bf16[A,B], q: i8[A,B], s: f32[A]) with { fuse: require } {
  t = r + x
  n = g * (t * rsqrt(sum[B](t * t) / size(B) + 1e-5))
  m = max[B](abs(n)) / 127
  q = i8(round(n / max(m, 1e-12)))
  h = t
  s = m
}
