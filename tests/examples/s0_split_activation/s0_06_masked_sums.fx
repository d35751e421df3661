# The masks the other way round, of the weights rather than of the product.
kernel masked_sums(a: f32[I,C], w: f32[G=2*J, C]) -> d: f32[I,J] with { precision: ieee, fuse: require } {
  pairs = w{G->(J,Z=2)}
  odd = sum[Z](where(idx(Z) != 1, 0, pairs))
  even = sum[Z](where(0 == idx(Z), pairs, 0))
  r = sum[C](odd * a)
  l = sum[C](a * even)
  d = (1 - 2 / (1 + exp(2 * r))) / (exp(-l) + 1)
}
