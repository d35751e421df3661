# What the notebook's second kernel stores.
kernel interleaved(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] {
  l, _r = evenodd[F->N](a @ w)
  d = l
}
