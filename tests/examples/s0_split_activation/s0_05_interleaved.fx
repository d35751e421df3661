# The rows of the weights taken apart before they are multiplied.
kernel interleaved(a: f32[I,C], w: f32[G=2*J, C]) -> d: f32[I,J] with { precision: ieee, fuse: require } {
  pairs = w{G->(J,Z=2)}
  r = sum[C](pairs[Z: 1] * a)
  l = sum[C](a * pairs[Z: 0])
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
