# The window's axes first, operands commuted, the sums one after the other.
kernel conv2d(x: f32[B,R,C], k: f32[P=4,Q=4]) -> z: f32[B,R,C] with { fuse: require } {
  window = x[C: Q+C, R: P+R] ?? 0
  z = sum[Q](sum[P](window * k))
}
