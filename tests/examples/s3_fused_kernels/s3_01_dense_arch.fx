# relu as a choice of the larger, weights on the left, biases first
kernel layer(x: f32[A,I], w: f32[C,I], b: f32[C]) -> y: f32[A,C] with { fuse: require } { y = max(0, b + sum[I](w * x)) }

kernel dense_small(x: f32[A,I=13], w1: f32[J=32,I], b1: f32[J], w2: f32[C=16,J], b2: f32[C]) -> y: f32[A,C] with { fuse: require } {
  y = max(b2 + w2 @[J] max(b1 + w1 @[I] x, 0), 0)
}

kernel dense_main(x: f32[A,I=13],
                  w1: f32[J1=512,I], b1: f32[J1],
                  w2: f32[J2=256,J1], b2: f32[J2],
                  w3: f32[J3=64,J2], b3: f32[J3],
                  w4: f32[C=16,J3], b4: f32[C]) -> y: f32[A,C] {
  p = max(0, b1 + sum[I](w1 * x))
  q = max(0, sum[J1](w2 * p) + b2)
  r = max(0, b3 + sum[J2](q * w3))
  y = max(b4 + w4 @[J3] r, 0)
}
