# A linear layer, less 2, times 1.5, relu. As the benchmark draws its inputs no sum comes near 2 and every result is 0: the third test draws others. Written out.
kernel sub_mul_relu(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = b + w @[L] x
  y = max(0, 1.5 * (-2.0 + h))
}
kernel sub_mul_relu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = b + w @[L] x
  y = max(0, 1.5 * (-2.0 + h))
}
