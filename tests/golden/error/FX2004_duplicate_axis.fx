kernel k(x: f32[M,M], w: f32[K,N]) -> y: f32[K,N] {
  y = w @[K,K] w
}
