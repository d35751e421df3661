# Reductions over short runs of a product's columns, and what is made of them, are elements of its epilogue: one kernel.
kernel of_label(x: f16[M,K], w: f16[K,N=192]) -> y: f16[M,N] {
  h = (x @ w){N->(G=3,C)}
  d = h - mean[C](h)
  y = (d * rsqrt(mean[C](d * d) + 1e-5)){(G,C)->N}
}
kernel by_hand(x: f16[M,K], w: f16[K,N=192], a: f32[A=3,B=64]) -> y: f16[M,N] {
  h = x @ w
  t = h[N: 64 * idx(A) + idx(B)] + a
  y = h - (max[B](t))[A: idx(N) // 64]
}
kernel native(x: f16[M,K], w: f16[C=16,K,G], s: f32[G]) -> y: f16[M,G,C] { y = softmax[C](s * (x @ w)) }
kernel then_whole_rows(x: f16[M,K], w: f16[K,N]) -> (y: f16[M,N], z: f32[M]) {
  h = (x @ w){N->(G,C=8)}
  y = (h - max[C](h)){(G,C)->N}
  z = sum[N](y)
}
kernel squares(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } {
  h = (x @ w){N->(G,C=32)}
  y = (h * rsqrt(sum[C](h * h))){(G,C)->N}
}
# Not where something else reads what a run shares, or the product whole; not runs that a tile might cut; not what a chain computes.
kernel read_by_run(x: f16[M,K], w: f16[K,N]) -> (y: f16[M,N], z: f32[M,G]) {
  h = (x @ w){N->(G,C=16)}
  z = sum[C](h)
  y = (h - z){(G,C)->N}
}
kernel read_whole(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = (x @ w){N->(G,C=16)}
  y = softmax[N]((h - max[C](h)){(G,C)->N})
}
kernel too_long(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = (x @ w){N->(G,C=128)}
  y = (h - max[C](h)){(G,C)->N}
}
kernel no_power_of_two(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = (x @ w){N->(G,C=24)}
  y = (h - max[C](h)){(G,C)->N}
}
kernel two_ways(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = x @ w
  g = h{N->(G,C=16)}
  r = h{M->(R,S=16)}
  y = h - (max[C](g))[G: idx(N) // 16] - (max[S](r))[R: idx(M) // 16]
}
kernel across(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = (x @ w){M->(G,C=16)}
  y = (h - max[C](h)){(G,C)->M}
}
kernel apart(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: never } {
  h = (x @ w){N->(G,C=16)}
  y = (h - max[C](h)){(G,C)->N}
}
