kernel k(x: f32[M,K], w: f32[K,N], v: f32[N,P]) -> y: f32[M,P] with { fuse: require } {
  h = relu(x @ w)
  y = h @ v
}
