# 5 the small product first, the maximum written out
kernel lora(x: f16[I,C], W: f16[C,J], b: f16[J], A: f16[C,Q], B: f16[Q,J], alpha: f32 = 0.5) -> y: f16[I,J] {
  t = sum[C](A * x)
  u = sum[Q](B * t) * alpha
  y = max(0, u + (b + sum[C](W * x)))
}
