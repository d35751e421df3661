# The layout of s0_02's halves taken for that of turns.
kernel interleaved(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
