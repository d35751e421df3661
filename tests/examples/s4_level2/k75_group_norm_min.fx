# The least element of each row of a group norm, 512 groups of 16 columns each, of a linear layer, plus a vector: an outer sum, columns first. Written out.
kernel group_norm_min(x: f32[R,L], w: f32[J=8192,L], b: f32[J], g: f32[J], be: f32[J], a: f32[J]) -> y: f32[J,R] with { kernels: 2, precision: ieee } {
  h = (w @[L] x + b){J->(A,B=16)}
  d = h - sum[B](h) / 16
  v = sum[B](d * d) / 16
  n = g * (d * rsqrt(v + 1e-5)){(A,B)->J} + be
  y = a + min[J](n)
}
kernel group_norm_min_tf32(x: f32[R,L], w: f32[J=8192,L], b: f32[J], g: f32[J], be: f32[J], a: f32[J]) -> y: f32[J,R] with { kernels: 2, precision: tf32 } {
  h = (w @[L] x + b){J->(A,B=16)}
  d = h - sum[B](h) / 16
  v = sum[B](d * d) / 16
  n = g * (d * rsqrt(v + 1e-5)){(A,B)->J} + be
  y = a + min[J](n)
}
