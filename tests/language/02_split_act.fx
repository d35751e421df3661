# 2 split activation: F is an axis of extent 2*N; both halves meet in one tile, one kernel, no [M,2N] in memory
kernel split_act(a: f32[M,K], w: f32[K, F=2*N]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  l, r = halves[F->N](a @ w)               # columns [0,N) and [N,2N); evenodd[F->N] for interleaved weights
  d = sigmoid(l) * tanh(r)
}
