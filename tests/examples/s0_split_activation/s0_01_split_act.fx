# The halves as an axis of two, read at 1 and 0; both activations by exp; factors the other way round.
kernel split_act(a: f32[I,C], w: f32[C, G=2*J]) -> d: f32[I,J] with { precision: ieee, fuse: require } {
  pair = sum[C](w * a){G->(Z=2,J)}
  r = pair[Z: 1]
  l = pair[Z: 0]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
kernel split_act_tf32(a: f32[I,C], w: f32[C, G=2*J]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  h = sum[C](w * a)
  r = h[G: J + size(J)]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-h[G: J]) + 1)
}
kernel split_act_f16(a: f16[I,C], w: f16[C, G=2*J]) -> d: f16[I,J] with { fuse: require } {
  pair = sum[C](w * a){G->(Z=2,J)}
  r = pair[Z: 1]
  l = pair[Z: 0]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
kernel split_act_bf16(a: bf16[I,C], w: bf16[C, G=2*J]) -> d: bf16[I,J] with { fuse: require } {
  right = w[G: J + size(J)]
  left = w[G: J]
  r = sum[C](right * a)
  l = sum[C](a * left)
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
