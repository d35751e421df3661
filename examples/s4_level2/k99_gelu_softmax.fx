# Softmax over the columns of gelu of a linear layer: the row program does gelu and softmax in one reading.
kernel gelu_softmax(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { kernels: 2, precision: ieee } {
  y = softmax[N](gelu(x @ w + b))
}
kernel gelu_softmax_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { kernels: 2, precision: tf32 } {
  y = softmax[N](gelu(x @ w + b))
}

test gelu_softmax { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test gelu_softmax { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test gelu_softmax { M=20 K=36 N=68 init: normal(0,3) }
test gelu_softmax { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
test gelu_softmax_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test gelu_softmax_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test gelu_softmax_tf32 { M=20 K=36 N=68 init: normal(0,0.5) }
test gelu_softmax_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench gelu_softmax { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench gelu_softmax_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
