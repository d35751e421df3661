const alpha = 0.5
fn act(v) = relu(v)
kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }
test linear { q=3 x=3 seed=2 y=1 s.init=1 }
test linear { z.init: ones y.init: ones }
