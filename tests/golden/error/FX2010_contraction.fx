kernel k(x: f32[M,K], w: f32[J,N], v: f32[M,N], s: f32) -> y: f32[M,N] {
  a = x @ w
  b = x @ v
  c = s @ x
  d = (x + v) @ w
  y = v
}
