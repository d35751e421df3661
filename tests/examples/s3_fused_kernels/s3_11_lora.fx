# the small product first, the scale last, activations written out
kernel lora_relu(x: f32[I,C], W: f32[C,J], b: f32[J], A: f32[C,Q=5], B: f32[Q,J], alpha: f32 = 0.5) -> y: f32[I,J] with { fuse: require } {
  t = sum[C](A * x)
  u = sum[Q](B * t) * alpha
  y = max(0, u + (b + sum[C](W * x)))
}

kernel lora_sigmoid(x: f32[I,C], W: f32[C,J], b: f32[J], A: f32[C,Q=5], B: f32[Q,J], alpha: f32 = 0.5) -> y: f32[I,J] with { fuse: require } {
  t = sum[C](A * x)
  u = sum[Q](B * t) * alpha
  y = 1 / (exp(-(u + (b + sum[C](W * x)))) + 1)
}

kernel lora_mlp(x: f32[I,C=16], W1: f32[C,L=8], b1: f32[L], A1: f32[C,Q=5], B1: f32[Q,L],
                W2: f32[L,J=4], b2: f32[J], A2: f32[L,Q], B2: f32[Q,J], alpha: f32 = 0.5) -> y: f32[I,J] with { fuse: require } {
  t = sum[C](A1 * x)
  h = max(0, sum[Q](B1 * t) * alpha + (b1 + sum[C](W1 * x)))
  o = b2 + sum[L](W2 * h)
  u = sum[L](A2 * h)
  y = 1 / (exp(-(sum[Q](B2 * u) * alpha + o)) + 1)
}
