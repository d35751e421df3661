# args: --arch=sm_90
# Reductions of a product's result begin in its epilogue where nothing else needs the result whole, and where they leave one element.
kernel rows(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[M] { y = sum[N](gelu(x @ w + b)) }
kernel stored(x: f16[M,K], w: f16[K,N=200]) -> (y: f16[M,N], db: f32[N], amax: f32) {
  y = x @ w
  db = sum[M](y)
  amax = max[M,N](abs(y))
}
kernel scaled(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = x @ w
  y = h / max[M,N](abs(h))
}
kernel centred(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = x @ w
  y = h - mean[M](h)
}
kernel softmax_needs_it_whole(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = softmax[N](x @ w) }
kernel a_part_of_n(x: f16[M,K], w: f16[K,G,L]) -> y: f32[M,G] { y = sum[L](x @ w) }
kernel sum_of_exponentials(x: f16[M,K], w: f16[K,N]) -> y: f32[M] { y = logsumexp[N](x @ w) }
kernel places(x: f16[M,K], w: f16[K,N]) -> (a: i64[M], i: i64[M], m: f32[M]) {
  z = x @ w
  a = argmax[N](z)
  i = argmin[N](z)
  m = max[N](z)
}
kernel loss(h: bf16[M,K], w: bf16[V,K], t: i32[M]) -> l: f32 {
  z = h @ w
  l = mean[M](logsumexp[V](z) - (z[V: t] ?? 0))
}
kernel both_sides(a: bf16[B,D], b: bf16[J,D]) -> (l: f32[B], m: f32[J]) {
  z = a @ b
  l = logsumexp[J](z)
  m = logsumexp[B](z)
}
kernel probability_besides(x: f16[M,K], w: f16[K,N]) -> (y: f32[M], p: f32[M,N]) {
  y = logsumexp[N](x @ w)
  p = exp(x @ w - row_shift[N](x @ w))
}
kernel apart(x: f16[M,K], w: f16[K,N]) -> y: f32[M] with { fuse: never } { y = sum[N](x @ w) }
kernel variance(x: f16[M=4096,K], w: f16[K,N]) -> (y: f16[M,N], v: f32[N]) {
  h = x @ w
  y = relu(h)
  v = var[M](h)
}
kernel about_an_input(x: f16[M,K], w: f16[K,N], c: f32[N]) -> v: f32[N] { h = x @ w; v = sum[M]((h - c) * (h - c)) }
kernel about_a_cut_run(x: f16[M=100,K], w: f16[K,N]) -> v: f32[N] { h = x @ w; m = max[M](h); v = sum[M]((h - m) * (h - m)) }
# runs of one label of several of the product's rows are a row program's: rows of a tile are of all of them
kernel of_several(x: bf16[P=16,Q=2100,K=8], w: bf16[K,N=128], d: f32[P,Q,N]) -> (t: f32[P,N], r: f32[P,Q]) { v = x @ w + d; t = sum[Q](v); r = logsumexp[N](v) }
