# Rules that are on by default, and what they leave alone.
kernel scaled(q: f16[S,D], k: f16[T,D], x: f32[S,D]) -> (a: f32[S,T], b: f32[S,T]) {
  a = (0.125 * q) @ k
  b = (0.125 * x) @ k            # may be rounded to f16 with its scale, not without
}
kernel summed(x: f32[M,K], w: f32[K,N]) -> (y: f32[M], z: f32[M]) {
  y = sum[N](x @ w)
  h = x @ w + 1
  z = sum[N](h) + max[N](h)
}
kernel one(x: f32[M,O=1]) -> y: f32[M] { y = sum[O](x) }
