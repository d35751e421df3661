kernel k(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } {
  y = (x + 2) @ w
}
kernel l(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] with { fuse: require } {
  y = x @ w + x @ v
}
