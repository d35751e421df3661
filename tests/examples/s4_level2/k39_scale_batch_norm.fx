# Batch norm of a linear layer scaled column by column, as k33, of more rows. Written out.
kernel scale_batch_norm(x: f32[R,L], w: f32[J,L], b: f32[J], s: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { precision: ieee } {
  h = (x @[L] w + b) * s
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  y = be + g * (rsqrt(1e-5 + v) * d)
}
kernel scale_batch_norm_tf32(x: f32[R,L], w: f32[J,L], b: f32[J], s: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { precision: tf32 } {
  h = (x @[L] w + b) * s
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  y = be + g * (rsqrt(1e-5 + v) * d)
}
