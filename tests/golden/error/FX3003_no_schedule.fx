kernel k(x: f32[M,K]) -> y: f32[M] {
  y = max[K](x)
}
kernel l(x: f32[M,K], w: f32[K,N]) -> y: f32[N] {
  y = sum[M](relu(x @ w))
}
