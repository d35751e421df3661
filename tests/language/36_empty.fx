# 36 zero extents: a reduction over nothing is its neutral value, an output without elements has none
kernel reduced(x: f32[M,N]) -> (s: f32[M], p: f32[M], hi: f32[M], lo: f32[M], l: f32[M], m: f32[M], some: bool[M], every: bool[M], n: i32[M]) {
  s = sum[N](x)
  p = prod[N](x)
  hi = max[N](x)
  lo = min[N](x)
  l = logsumexp[N](x)
  m = mean[N](x)
  some = any[N](x > 0)
  every = all[N](x > 0)
  n = sum[N](x > 0)
}
kernel dense(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel joined(a: f32[M,A], b: f32[M,B]) -> y: f32[M, P=A+B] { y = concat[P](a{A->P}, b{B->P}) }
kernel outside(ids: i32[B], t: f32[V,E]) -> y: f32[B,E] { y = t[V: ids] ?? 3 }
kernel scanned(x: f32[M,N]) -> y: f32[M,N] { y = cumsum[N](softmax[N](x)) }
