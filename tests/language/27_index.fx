# 27 running indices and extents as values
kernel iota[N=5]() -> y: i64[N] { y = idx(N) }
kernel flat(x: f32[M,N]) -> (i: i64[M,N], s: i64[], y: f32[M,N]) {
  i = idx(M) * size(N) + idx(N)
  s = size(M) * 10 + size(N)
  y = x * idx(M) - idx(N) / 2.0
}
kernel checkered(x: f32[M,N]) -> y: f32[M,N] { y = where((idx(M) + idx(N) // 2) % 2 == 0, x, -x) }
kernel below(x: f32[M,N]) -> y: f32[M,N] { y = idx(N) - 2 <= idx(M) && idx(M) != 1 ? x : -inf }
kernel lengths(x: f32[B,T], n: i32[B]) -> (s: f32[B], m: f32[B]) {
  inside = idx(T) < n
  s = sum[T](where(inside, x, 0))
  m = sum[T](where(inside, x, 0)) / max(n, 1)
}
kernel one_hot(ids: i64[B], w: f32[V,E]) -> (h: bool[B,V], y: f32[B,E]) {
  h = ids == idx(V)
  y = where(ids == idx(V), 1.0, 0.0) @[V] w
}
