# Batch norm of a linear layer, gelu, relu. Written out.
kernel batch_norm_gelu_relu(x: f32[R,L], w: f32[J,L], b: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { precision: ieee } {
  h = b + x @[L] w
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  n = be + g * (rsqrt(1e-5 + v) * d)
  y = max(0, gelu(n))
}
kernel batch_norm_gelu_relu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { precision: tf32 } {
  h = b + x @[L] w
  mean = sum[R](h) / size(R)
  d = h - mean
  v = sum[R](d * d) / size(R)
  n = be + g * (rsqrt(1e-5 + v) * d)
  y = max(0, gelu(n))
}
