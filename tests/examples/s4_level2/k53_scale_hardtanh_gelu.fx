# A linear layer, halved, clamped to [-2, 2], gelu (the one with erf). Written out.
kernel scale_hardtanh_gelu(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = sum[L](x * w) + b
  y = gelu(max(min(h * 0.5, 2), -2))
}
kernel scale_hardtanh_gelu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = sum[L](x * w) + b
  y = gelu(max(min(h * 0.5, 2), -2))
}
