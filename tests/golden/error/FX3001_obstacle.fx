# The reason is what stands in the way, not the product before it: an access, a gather, a reduction over another axis.
kernel shifted(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } {
  h = x @ w
  y = h + h[M: idx(M) - 1] ?? 0
}
kernel gathered(x: bf16[M,K], w: bf16[K,N], i: i64[T]) -> y: f32[T,N] with { fuse: require } {
  y = (x @ w)[M: i] ?? 0
}
kernel across(x: bf16[M,K], w: bf16[K,F=2*N]) -> (a: f32[M,N], b: f32[M,N]) with { fuse: require } {
  l, r = halves[F->N](x @ w)
  a = l * r
  b = softmax[M](r)
}
