# Group norm, 64 groups of 64 columns each, of silu of a linear layer plus a vector. Written out.
kernel silu_group_norm(x: f32[R,L], w: f32[J=4096,L], b: f32[J], a: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  h = (a + silu(w @[L] x + b)){J->(A,B=64)}
  d = h - sum[B](h) / 64
  v = sum[B](d * d) / 64
  y = be + g * (d * rsqrt(1e-5 + v)){(A,B)->J}
}
kernel silu_group_norm_tf32(x: f32[R,L], w: f32[J=4096,L], b: f32[J], a: f32[J], g: f32[J], be: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  h = (a + silu(w @[L] x + b)){J->(A,B=64)}
  d = h - sum[B](h) / 64
  v = sum[B](d * d) / 64
  y = be + g * (d * rsqrt(1e-5 + v)){(A,B)->J}
}
