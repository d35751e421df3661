const alpha = 0.5
fn act(v) = relu(v)
kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = act(alpha * s * (x @ w)) }
test linear { M=-1 K=2.5 s=big alpha=relu act=nosuch init: cauchy seed: -2 tol: ulp <= 1 }
test linear { M=true act=1 x.init: uniform(2,1) w.init: integers(0.5,2) s.init: normal(0) init: [ones] seed: abs <= 1 tol: 3 }
bench linear { warmup: 0 rep: 1e3 vs: [unfused, eager] }
