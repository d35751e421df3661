# A linear layer plus a vector, silu, tanh, gelu, hardtanh. Written out.
kernel silu_tanh_gelu(x: f32[R,L], w: f32[J,L], b: f32[J], a: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = a + (b + w @[L] x)
  y = max(min(gelu(tanh(silu(h))), 1), -1)
}
kernel silu_tanh_gelu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J], a: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = a + (b + w @[L] x)
  y = max(min(gelu(tanh(silu(h))), 1), -1)
}
