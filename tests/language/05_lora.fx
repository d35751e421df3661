# 5 LoRA: any rank; the compiler may concatenate along K: [x | alpha*(x@A)] @ [W ; B]
kernel lora(x: f16[M,K], W: f16[K,N], b: f16[N], A: f16[K,R], B: f16[R,N], alpha: f32 = 0.5) -> y: f16[M,N] {
  y = relu(x @ W + b + alpha * (x @ A @ B))
}
