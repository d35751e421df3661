# 6 two-layer MLP
kernel mlp2(x: f32[M,K], W1: f32[H,K], b1: f32[H], W2: f32[N,H], b2: f32[N]) -> y: f32[M,N] with { fuse: prefer } {
  h = relu(x @ W1 + b1)
  y = sigmoid(h @ W2 + b2)
}
