# A linear layer, silu, doubled. 128 rows only: one row of tiles, which reads 4 GB of weights once.
kernel silu_scale(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  y = silu(x @ w + b) * 2.0
}
kernel silu_scale_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  y = silu(x @ w + b) * 2.0
}

test silu_scale { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test silu_scale { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test silu_scale { M=20 K=36 N=68 init: normal(0,3) }
test silu_scale { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) }
test silu_scale_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test silu_scale_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test silu_scale_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test silu_scale_tf32 { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) }
bench silu_scale { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) vs: [unfused] }
bench silu_scale_tf32 { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) vs: [unfused] }
