const half = 4
const alpha = 0.5
fn act(v) = relu(v)
kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }
test linear { N=8 }
test linear { N=9 }
kernel pad(x: f32[M]) -> y: f32[M, P=2*half] { y = x }
test pad { P=7 }
