kernel k(x: f32[M,N], i: i32[M]) -> (a: f32[M,N], b: f32[M], c: f32[M]) {
  a = x[N: N+1]
  b = x[M, -1]
  c = x[N: i]
}
