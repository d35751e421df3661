# A linear layer, halved, clamped to [-2, 2], gelu (the one with erf).
kernel scale_hardtanh_gelu(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  y = gelu(hardtanh(0.5 * (x @ w + b), lo: -2, hi: 2))
}
kernel scale_hardtanh_gelu_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  y = gelu(hardtanh(0.5 * (x @ w + b), lo: -2, hi: 2))
}

test scale_hardtanh_gelu { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test scale_hardtanh_gelu { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test scale_hardtanh_gelu { M=20 K=36 N=68 init: normal(0,3) }
test scale_hardtanh_gelu { M=2048 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
test scale_hardtanh_gelu_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test scale_hardtanh_gelu_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test scale_hardtanh_gelu_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test scale_hardtanh_gelu_tf32 { M=2048 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench scale_hardtanh_gelu { M=2048 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench scale_hardtanh_gelu_tf32 { M=2048 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
