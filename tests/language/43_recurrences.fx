# 43 recurrences and running extremes, along any axis
kernel last(a: f32[M,N], b: f32[M,N]) -> h: f32[M,N] { h = recur[N](a, b) }
kernel first(a: f32[M,N], b: f32[M,N], s: f32[N]) -> (h: f32[M,N], g: f32[M,N]) {
  h = recur[M](a, b)
  g = recur[M](a, b, from: s)
}
kernel decays(a: f32[H], x: f16[B,T,H,D], g: f16[B,T,H], s: f32) -> y: f16[B,T,H,D] { y = silu(g) * recur[T](a, x * (1 - a), s) }
kernel of_integers(a: i32[N], b: i32[N]) -> h: i32[N] { h = recur[N](a, b) }
kernel of_factors(a: f32[M,N], b: f32[M]) -> h: f32[M,N] { h = recur[N](a, b) }
kernel extremes(x: f32[M,N]) -> (a: f32[M,N], b: f32[M,N], c: f32[M,N], d: f32[M,N]) {
  a = cummax[N](x)
  b = cummin[N](x)
  c = cummax[M](x)
  d = cummin[M](x)
}
kernel of_conditions(x: f32[M,N]) -> y: i32[M,N] { y = cummax[N](x > 0) }
kernel last_bwd = grad(last, wrt: a, b)
kernel largest(x: f32[N]) -> y: f32[N] { y = cummax[N](x) }
kernel largest_bwd = grad(largest, wrt: x)
