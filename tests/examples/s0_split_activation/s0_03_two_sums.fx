# The right product first, both as sums over products; activations by exp.
kernel two_sums(a: f32[I,C], bl: f32[J,C], br: f32[J,C]) -> d: f32[I,J] with { precision: ieee, fuse: require } {
  r = sum[C](br * a)
  l = sum[C](a * bl)
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
