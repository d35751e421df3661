kernel attention(q: f16[S,D], k: f16[T,D], v: f16[T,N], mask: bool[S,T]) -> (o: f16[S,N], lse: f32[S]) with { fuse: require } {
  s   = where(mask, (q @ k) * 0.125, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
kernel mlp(x: f32[M,K], w1: f32[K,H], b1: f32[H], w2: f32[H,N]) -> (y: f32[M,N], top: f32[M]) with { fuse: require } {
  h = relu(x @ w1 + b1)
  y = h @ w2
  top = max[H](h)
}
