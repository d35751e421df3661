# By masked sums over pairs.
kernel split_mul(x: f32[I, G=2*J]) -> z: f32[I,J] with { fuse: require } {
  p = x{G->(J,Z=2)}
  z = sum[Z](where(idx(Z) == 1, p, 0)) * sum[Z](where(idx(Z) == 0, p, 0))
}
