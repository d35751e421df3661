kernel k(s: f32[M], x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {
  y = s * x @ w + q
}
