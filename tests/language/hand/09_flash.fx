# 9 attention by maximum, exponential and sums; a row without a score has the maximum -inf
kernel flash(q: f16[A,E,I,C], k: f16[A,E,J,C], v: f16[A,E,J,C], scale: f32)
    -> (o: f16[A,E,I,C], lse: f32[A,E,I]) with { fuse: require } {
  s = where(idx(J) + size(I) > idx(I) + size(J), -inf, scale * sum[C](k * q))
  m = max[J](s)
  top = where(m > -inf, m, 0)
  e = exp(s - top)
  t = sum[J](e)
  o = sum[J](v * where(t == 0, 0, e / t))
  lse = log(t) + top
}
