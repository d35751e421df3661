# A linear layer, relu, halved.
kernel relu_div(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  y = relu(x @ w + b) / 2.0
}
kernel relu_div_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  y = relu(x @ w + b) / 2.0
}

test relu_div { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test relu_div { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test relu_div { M=20 K=36 N=68 init: normal(0,3) }
test relu_div { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
test relu_div_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test relu_div_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test relu_div_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test relu_div_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench relu_div { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench relu_div_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
