# A linear layer and mish twice. Six transcendental functions an element, in the epilogue of the product. Written out.
kernel mish_mish(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  u = b + sum[L](w * x)
  v = tanh(log(exp(-abs(u)) + 1) + max(0, u)) * u
  y = tanh(log(exp(-abs(v)) + 1) + max(0, v)) * v
}
kernel mish_mish_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  u = b + sum[L](w * x)
  v = tanh(log(exp(-abs(u)) + 1) + max(0, u)) * u
  y = tanh(log(exp(-abs(v)) + 1) + max(0, v)) * v
}
