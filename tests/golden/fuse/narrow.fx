# args: --stop-after=narrow
# Sums of a few columns that share a reduction or a running sum: a sum a column. Not where nothing is shared, of more columns, of products of matrices with other columns, or where what is shared is itself such a product.
kernel forces(p: f32[N,C=3], m: f32[N]) -> f: f32[N,C] {
  d = p{N->J} - p
  f = sum[J](m{N->J} * d * rsqrt(sum[C](d * d) + 0.01) ** 3)
}
kernel rays(s: f32[R,N], c: f32[R,N,C=3]) -> (y: f32[R,C], o: f32[R]) {
  t = cumprod[N](1 - s)[N: N-1] ?? 1
  y = sum[N](s * t * c)
  o = sum[N](s * t)
}
kernel few(x: f32[P,G], c: f32[G,C=4]) -> y: f32[P,C] { y = sum[G](cumsum[G](x) * c) }
kernel most(x: f32[P,G,C=2]) -> y: f32[P,C] { y = max[G](x - max[G,C](abs(x)) * cumsum[G](sum[C](x))) }
kernel apart(x: f32[N,J,C=3]) -> y: f32[N,C] { y = sum[J](x * x) }
kernel many(x: f32[P,G], c: f32[G,C=5]) -> y: f32[P,C] { y = sum[G](cumsum[G](x) * c) }
kernel wide(x: f32[P,G], c: f32[G,C=3,E]) -> y: f32[P,C,E] { y = sum[G](cumsum[G](x) * c) }
kernel chained(x: f32[M,K], w: f32[K,H], v: f32[H,C=3]) -> y: f32[M,C] { y = relu(x @ w) @ v }
# A filter by channel by its taps: nine sums of the same elements.
kernel filter_by_taps(d: f32[B,C,H,W], x: f32[B,C,H,W]) -> k: f32[C,U=3,V=3] { k = sum[B,H,W](d * (x[H: H+U-1, W: W+V-1] ?? 0)) }
# A tap alone stays: others read it along its label.
kernel filter_by_one(d: f32[B,C,H], x: f32[B,C,H]) -> (k: f32[C,U=1], m: f32[C]) {
  k = sum[B,H](d * (x[H: H+U-1] ?? 0))
  m = max[U](k)
}
