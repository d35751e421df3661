# Logsumexp over the columns of a perceptron of two layers, sigmoid between them.
# The hidden layer is too wide to stay on the chip without being computed again for every tile of columns: three kernels.
kernel mlp_logsumexp(x: f32[M,K], w: f32[H,K], b: f32[H], w2: f32[N,H], b2: f32[N]) -> y: f32[M] with { precision: ieee } {
  h = sigmoid(x @ w + b)
  y = logsumexp[N](h @ w2 + b2)
}
kernel mlp_logsumexp_tf32(x: f32[M,K], w: f32[H,K], b: f32[H], w2: f32[N,H], b2: f32[N]) -> y: f32[M] with { precision: tf32 } {
  h = sigmoid(x @ w + b)
  y = logsumexp[N](h @ w2 + b2)
}

test mlp_logsumexp { M=33 K=65 H=70 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) w2.init: uniform(-0.12,0.12) }
test mlp_logsumexp { M=5 K=7 H=6 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test mlp_logsumexp { M=16384 K=2048 H=4096 N=1024 init: uniform(0,1) w.init: uniform(-0.0221,0.0221) b.init: uniform(-0.0221,0.0221) w2.init: uniform(-0.01562,0.01562) b2.init: uniform(-0.01562,0.01562) }
test mlp_logsumexp_tf32 { M=33 K=65 H=70 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) w2.init: uniform(-0.12,0.12) tol: abs <= 0.001 }
test mlp_logsumexp_tf32 { M=5 K=7 H=6 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test mlp_logsumexp_tf32 { M=16384 K=2048 H=4096 N=1024 init: uniform(0,1) w.init: uniform(-0.0221,0.0221) b.init: uniform(-0.0221,0.0221) w2.init: uniform(-0.01562,0.01562) b2.init: uniform(-0.01562,0.01562) }
bench mlp_logsumexp { M=16384 K=2048 H=4096 N=1024 init: uniform(0,1) w.init: uniform(-0.0221,0.0221) b.init: uniform(-0.0221,0.0221) w2.init: uniform(-0.01562,0.01562) b2.init: uniform(-0.01562,0.01562) vs: [unfused] }
bench mlp_logsumexp_tf32 { M=16384 K=2048 H=4096 N=1024 init: uniform(0,1) w.init: uniform(-0.0221,0.0221) b.init: uniform(-0.0221,0.0221) w2.init: uniform(-0.01562,0.01562) b2.init: uniform(-0.01562,0.01562) vs: [unfused] }
