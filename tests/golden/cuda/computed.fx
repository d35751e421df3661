# operands computed as they are loaded: a scale along k that chunks share, a cast of bytes, pieces of rows at positions; two sums of one segment, two segments
kernel scaled(x: bf16[M,K], s: f32[K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = (x * s) @ w }
kernel dequantised(x: bf16[M,K], q: i8[N,K], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = x @ bf16(q * s) }
kernel looked_up(t: f16[V,K], ids: i32[M], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } { y = (t[V: ids] ?? 0) @ w }
kernel gated(x: bf16[M,K], w: bf16[K,F=2*N], h: bf16[M,L], u: bf16[L,N]) -> y: bf16[M,N] with { fuse: require } {
  l, r = halves[F->N](x @ w)
  y = sigmoid(l) * r + h @ u
}

# f32, whose chunks along k are single elements: statistics of a row are handed over, and what follows from them alone is computed once a tile
kernel norm(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  m = mean[K](x)
  v = sum[K]((x - m) * (x - m)) / size(K)
  y = ((x - m) * rsqrt(v + 1e-5)) @ w
}
