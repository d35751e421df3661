# A linear layer, relu, halved. Written out.
kernel relu_div(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = b + x @[L] w
  y = max(h, 0) / 2.0
}
kernel relu_div_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = b + x @[L] w
  y = max(h, 0) / 2.0
}
