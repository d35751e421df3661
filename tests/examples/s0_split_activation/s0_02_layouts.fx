# Sums over products, halves and turns by positions, the right one first; activations by exp.
kernel split_halves(a: f32[I,C], w: f32[G=2*J, C]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  h = sum[C](w * a)
  r = h[G: J + size(J)]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-h[G: J]) + 1)
}
kernel split_pair(a: f32[I,C], wl: f32[J,C], wr: f32[J,C]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  r = sum[C](wr * a)
  l = sum[C](a * wl)
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
kernel split_interleaved(a: f32[I,C], w: f32[G=2*J, C]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  h = sum[C](w * a)
  r = h[G: 2 * J + 1]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-h[G: J * 2]) + 1)
}
kernel split_axis_halves(a: f32[I,C], w: f32[Z=2,J,C]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  r = sum[C](w[Z: 1] * a)
  l = sum[C](a * w[Z: 0])
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
kernel split_axis_interleaved(a: f32[I,C], w: f32[J,Z=2,C]) -> d: f32[I,J] with { precision: tf32, fuse: require } {
  h = sum[C](w * a)
  r = h[Z: 1]
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-h[Z: 0]) + 1)
}
