const alpha = 0.5
fn act(v) = relu(v)
kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }
test linear { M=3 M=4 init: ones x.init: ones
  init: normal x.init: ones s=1 s.init: 2 }
