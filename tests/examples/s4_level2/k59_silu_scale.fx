# A linear layer, silu, doubled. 128 rows only: one row of tiles, which reads 4 GB of weights once. Written out.
kernel silu_scale(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = w @[L] x
  y = 2.0 * silu(b + h)
}
kernel silu_scale_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = w @[L] x
  y = 2.0 * silu(b + h)
}
