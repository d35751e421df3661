kernel k(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {
  a = x.T
  b = x.sum(1)
  c = x[:,0]
  x += 1
  d = x and w
  e = x if w else x
  f = 0 < x < 1
  y = layernorm(x, eps=1e-5)
}
