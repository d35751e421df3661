kernel k(x: f32[M,K], w: f32[K,N], v: f32[N,P]) -> y: f32[M,P] with { fuse: require } {
  h = relu(x @ w)
  y = (h / max[M,N](h)) @ v
}
kernel l(x: f32[M,K], w: f32[K,N], v: f16[N,P]) -> y: f32[M,P] with { fuse: require } {
  h = relu(x @ w)
  y = h @ v
}
kernel m(x: f32[M,K], a: f32[K,N], b: f32[K,N], c: f32[K,N], d: f32[K,N], v: f32[N,P]) -> y: f32[M,P] with { fuse: require } {
  h = (x @ a) * (x @ b) * (x @ c) * (x @ d)
  y = h @ v
}
