kernel k(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {
  y = x @[Q] w
  z = x @[M] w
}
