# What elements share with their run: computed a run at a time, by lanes together, in the epilogue.
kernel group_norm(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { tile: [64, 64] } {
  h = (x @ w + b){N->(G,C=32)}
  d = h - mean[C](h)
  y = (d * rsqrt(mean[C](d * d) + 1e-5)){(G,C)->N}
}
