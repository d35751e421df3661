# Half the sum over all pairs of adjacent columns of a linear layer of the larger of the two.
kernel pair_max_sum(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { kernels: 2, precision: ieee } {
  h = x @ w + b
  y = 0.5 * sum[H](max[P](h{N->(H,P=2)}))
}
kernel pair_max_sum_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { kernels: 2, precision: tf32 } {
  h = x @ w + b
  y = 0.5 * sum[H](max[P](h{N->(H,P=2)}))
}

test pair_max_sum { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test pair_max_sum { M=5 K=7 N=6 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test pair_max_sum { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) }
test pair_max_sum_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test pair_max_sum_tf32 { M=5 K=7 N=6 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test pair_max_sum_tf32 { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) }
bench pair_max_sum { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) vs: [unfused] }
bench pair_max_sum_tf32 { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) vs: [unfused] }
