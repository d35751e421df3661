const alpha = 0.5
fn act(v) = relu(v)
kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }
test linear { M: 7 size: 3 rep: 4 warmup: 4 vs: unfused }
bench linear { s.tol: exact rep: 4 }
