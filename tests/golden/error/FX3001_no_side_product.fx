kernel mlp(x: f16[M,K], w: f16[K,H], v: f32[H,N]) -> y: f16[M,N] with { fuse: require } {
  y = relu(x @ w) @ v
}
kernel lora(x: f16[M,K], _w: f16[K,N], a: f16[K,R], b: f32[R,N]) -> y: f16[M,N] with { fuse: require } {
  y = x @ a @ b
}
kernel three(x: f16[M,K], w: f16[K,H], v: f32[H,N], s: f32[M,N]) -> (y: f16[M,N], t: f32[]) with { kernels: 1 } {
  y = relu(x @ w) @ v
  t = sum[M,N](s)
}
