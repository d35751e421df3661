kernel scaled(x: f32[B,M,K], w: f32[B,K,N]) -> y: f32[B,M,N] with { fuse: require } {
  r = rsqrt(mean[K](x * x) + 1e-5)
  y = r * (x @ w)
}
kernel total(x: f32[M,N]) -> (y: f32[M,N], t: f32[]) with { fuse: require } {
  t = sum[M,N](x)
  y = x / t
}
