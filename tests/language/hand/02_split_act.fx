# 2 the halves as an axis of two, read at 1 and 0; both activations by exp
kernel split_act(a: f32[I,C], w: f32[C, G=2*J]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  pair = sum[C](w * a){G->(Z=2,J)}
  r = pair[Z: 1]
  l = pair[Z: 0]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
