# 6 both activations written out, weights on the left
kernel mlp2(x: f32[I,C], W1: f32[E,C], b1: f32[E], W2: f32[J,E], b2: f32[J]) -> y: f32[I,J] with { fuse: prefer } {
  h = max(b1 + W1 @[C] x, 0)
  o = sum[E](W2 * h) + b2
  y = 1 / (exp(-o) + 1)
}
