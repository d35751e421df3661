# By maximum, exponential and sum; a row without a finite maximum is not shifted, one whose sum is 0 gives 0.
kernel softmax_rows(x: f32[R,C]) -> z: f32[R,C] with { fuse: require } {
  top = max[C](x)
  e = exp(x - where(-inf < top && top < inf, top, 0))
  total = sum[C](e)
  z = where(total == 0, 0, e / total)
}
