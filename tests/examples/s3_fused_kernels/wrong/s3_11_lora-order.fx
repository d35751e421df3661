# alpha times the whole: the scale belongs to the product of low rank alone.
kernel lora_relu(x: f32[M,K], W: f32[K,N], b: f32[N], A: f32[K,R=5], B: f32[R,N], alpha: f32 = 0.5) -> y: f32[M,N] {
  y = relu(alpha * (x @ W + b + x @ A @ B))
}
