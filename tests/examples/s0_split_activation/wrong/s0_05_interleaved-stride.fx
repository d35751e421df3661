# The rows of the weights lie M apart, not K: the stride of the notebook's second kernel.
kernel interleaved(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] {
  flat = w{(F,K)->L}
  l = sum[K](a * (flat[L: 2 * N * size(M) + K] ?? 0))
  r = sum[K](a * (flat[L: (2 * N + 1) * size(M) + K] ?? 0))
  d = sigmoid(l) * tanh(r)
}
