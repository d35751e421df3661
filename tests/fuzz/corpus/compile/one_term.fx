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

# one_term: one term of a sum by its index, the columns of a product masked and summed by turns, a diagonal, a row looked up
kernel term(x: f32[M,K]) -> y: f32[M] { y = sum[K](where(idx(K) == 3, x, 0)) }
kernel turns(a: f32[M,K], w: f32[K,F=2*N]) -> d: f32[M,N] {
  p = (a @ w){F->(N,P=2)}
  d = sum[P](where(idx(P) == 0, p, 0)) * sum[P](where(idx(P) != 1, 0, p))
}
kernel trace(x: f32[M,K]) -> t: f32[] { t = sum[M,K](where(idx(M) == idx(K), x, 0)) }
kernel looked_up(i: i32[B], table: f32[V,E]) -> e: f32[B,E] { e = sum[V](where(i == idx(V), table, 0)) }
