# Batch norm of a linear layer, plus a number that lies on the device, silu. Written out.
kernel batch_norm_bias_silu(x: f32[R,L], w: f32[J,L], b: f32[J], g: f32[J], be: f32[J], c: f32[]) -> y: f32[R,J] with { precision: ieee } {
  h = sum[L](w * x) + b
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  n = be + g * (rsqrt(1e-5 + v) * d)
  y = silu(c + n)
}
kernel batch_norm_bias_silu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J], g: f32[J], be: f32[J], c: f32[]) -> y: f32[R,J] with { precision: tf32 } {
  h = sum[L](w * x) + b
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  n = be + g * (rsqrt(1e-5 + v) * d)
  y = silu(c + n)
}
