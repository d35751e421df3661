# 8 by maximum, exponential and sum; a row without a finite maximum is not shifted, one whose sum is 0 gives 0
kernel softmax_rows(x: f32[I,C]) -> z: f32[I,C] {
  top = max[C](x)
  e = exp(x - where(top < inf && -inf < top, top, 0))
  t = sum[C](e)
  z = where(t == 0, 0, e / t)
}
