# A linear layer, less 2, times 1.5, relu. As the benchmark draws its inputs no sum comes near 2 and every result is 0: the third test draws others.
kernel sub_mul_relu(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  y = relu((x @ w + b - 2.0) * 1.5)
}
kernel sub_mul_relu_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  y = relu((x @ w + b - 2.0) * 1.5)
}

test sub_mul_relu { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) tol: exact }
test sub_mul_relu { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) tol: exact }
test sub_mul_relu { M=20 K=36 N=68 init: normal(0,3) }
test sub_mul_relu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) tol: exact }
test sub_mul_relu_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) tol: exact }
test sub_mul_relu_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) tol: exact }
test sub_mul_relu_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test sub_mul_relu_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) tol: exact }
bench sub_mul_relu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench sub_mul_relu_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
