# Attention in the prelude's words, by hand with renamed axes and operands commuted, a perceptron, and one whose hidden layer is also stored.
kernel causal(q: f16[B,H,S,D=128], k: f16[B,H,T,D], v: f16[B,H,T,D], scale: f32) -> (o: f16[B,H,S,D], lse: f32[B,H,S]) {
  s   = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
kernel by_hand(q: bf16[B,Q,D=64], k: bf16[B,L,D], v: bf16[B,L,N=64]) -> o: bf16[B,Q,N] {
  a = sum[D](k * q)
  e = exp(a - max[L](a))
  o = sum[L](v * e) / sum[L](e)
}
kernel mlp(x: bf16[M,K=256], w: bf16[K,H=1024], b: bf16[H], v: bf16[N=256,H], c: bf16[N]) -> (y: bf16[M,N], top: f32[M]) {
  h = relu(x @ w + b)
  y = h @ v + c
  top = max[H](h)
}
kernel normed(q: bf16[S,D=64], k: bf16[T,D], v: bf16[T,N=64], g: bf16[S,D]) -> o: bf16[S,N] {
  o = softmax[T](q @ k * sum[D](g * g)) @ v
}
