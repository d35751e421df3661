kernel scaled(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } {
  r = rsqrt(mean[K](x * x) + 1e-5)
  y = r * (x @ w)
}
kernel low(x: f16[M,K], a: f16[K,R=16], b: f16[R,N]) -> y: f16[M,N] with { kernels: 1 } { y = relu(x @ a @ b) }
kernel channels(x: bf16[B,S,C=3]) -> (y: bf16[B,S,C], v: f32[C]) with { fuse: require } {
  v = var[B,S](x)
  y = x * rsqrt(v + 1e-5)
}
kernel apart(x: bf16[M,K], w: bf16[K,N], g: f32[M,N]) -> (y: bf16[M,N], z: f32[M]) with { fuse: require } {
  y = x @ w
  z = sum[N](g)
}
kernel mixed(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], t: f32[]) with { kernels: 2 } {
  y = x @ w
  t = sum[M,K](x)
}
