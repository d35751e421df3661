# The mean over the columns of a linear layer less a vector, a logsumexp over that one column, gelu; the column then stands beside every column of x. Written out.
kernel mean_logsumexp_gelu(x: f32[R,L], w: f32[J,L], b: f32[J], s: f32[J]) -> y: f32[R,L] with { kernels: 2, fast_math: true, precision: ieee } {
  t = sum[J](w @[L] x + (b - s)) / size(J)
  p = t{R->(A,B=1)}
  m = max[B](p)
  z = abs(m) < inf ? m : 0
  e = sum[B](exp(p - z))
  l = e == 0 ? -inf : z + log(e == 0 ? 1 : e)
  y = x + gelu(l{A->R})
}
kernel mean_logsumexp_gelu_tf32(x: f32[R,L], w: f32[J,L], b: f32[J], s: f32[J]) -> y: f32[R,L] with { kernels: 2, fast_math: true, precision: tf32 } {
  t = sum[J](w @[L] x + (b - s)) / size(J)
  p = t{R->(A,B=1)}
  m = max[B](p)
  z = abs(m) < inf ? m : 0
  e = sum[B](exp(p - z))
  l = e == 0 ? -inf : z + log(e == 0 ? 1 : e)
  y = x + gelu(l{A->R})
}
kernel mean_logsumexp_gelu_const(x: f32[R,L], w: const f32[J,L], b: f32[J], s: f32[J]) -> y: f32[R,L] with { fuse: require, fast_math: true, precision: ieee } {
  t = sum[J](w @[L] x + (b - s)) / size(J)
  p = t{R->(A,B=1)}
  m = max[B](p)
  z = abs(m) < inf ? m : 0
  e = sum[B](exp(p - z))
  l = e == 0 ? -inf : z + log(e == 0 ? 1 : e)
  y = x + gelu(l{A->R})
}
