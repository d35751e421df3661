# both activations written out, weights on the left
kernel mlp_one(x: f32[I,C], W1: f32[C,L], b1: f32[L], W2: f32[L,J], b2: f32[J]) -> y: f32[I,J] with { fuse: require } {
  o = b2 + sum[L](W2 * max(0, b1 + sum[C](W1 * x)))
  y = 1 / (exp(-o) + 1)
}

kernel mlp_best(x: f32[I,C], W1: f32[C,L], b1: f32[L], W2: f32[L,J], b2: f32[J]) -> y: f32[I,J] with { fuse: prefer } {
  o = b2 + sum[L](W2 * max(0, b1 + sum[C](W1 * x)))
  y = 1 / (exp(-o) + 1)
}
