# A LoRA layer, act(x @ W + b + alpha * (x @ A @ B)), as one kernel: x @ A is small, is made once and handed over within the launch. Rank 5 needs no padding in memory.
kernel lora_relu(x: f32[M,K], W: f32[K,N], b: f32[N], A: f32[K,R=5], B: f32[R,N], alpha: f32 = 0.5) -> y: f32[M,N] with { fuse: require } {
  y = relu(x @ W + b + alpha * (x @ A @ B))
}

kernel lora_sigmoid(x: f32[M,K], W: f32[K,N], b: f32[N], A: f32[K,R=5], B: f32[R,N], alpha: f32 = 0.5) -> y: f32[M,N] with { fuse: require } {
  y = sigmoid(x @ W + b + alpha * (x @ A @ B))
}

# both layers, 16 -> 8 -> 4
kernel lora_mlp(x: f32[M,K=16], W1: f32[K,H=8], b1: f32[H], A1: f32[K,R=5], B1: f32[R,H],
                W2: f32[H,N=4], b2: f32[N], A2: f32[H,R], B2: f32[R,N], alpha: f32 = 0.5) -> y: f32[M,N] with { fuse: require } {
  h = relu(x @ W1 + b1 + alpha * (x @ A1 @ B1))
  y = sigmoid(h @ W2 + b2 + alpha * (h @ A2 @ B2))
}

test lora_relu { M=7 K=16 N=8 }
test lora_relu { M=7 K=16 N=8 alpha=2 init: integers(-2,2) tol: exact }
test lora_relu { M=65 K=130 N=67 alpha=0.5 }
test lora_sigmoid { M=7 K=8 N=4 }
test lora_mlp { M=7 }
test lora_mlp { M=130 init: normal(0,0.5) }
bench lora_relu { M=7 K=16 N=8 }
bench lora_relu { M=4096 K=4096 N=4096 init: normal(0,0.02) }
bench lora_sigmoid { M=7 K=8 N=4 }
bench lora_mlp { M=7 }
